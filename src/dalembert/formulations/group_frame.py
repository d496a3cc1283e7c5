r"""Frames of Lie groups: vector fields e_a(q) with [e_a, e_b] = C_ab^c e_c, on all coordinates or on those of the group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..errors import FormError
from ..model.symbols import Parameter, as_expression
from ..model.system import System

__all__ = ["GroupFrame", "given_frame", "structure_constants"]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class GroupFrame:
    """Vector fields by the name of their speed; each a tuple of components by coordinate, (n,)."""

    fields: Mapping[str, tuple[sympy.Expr, ...]]
    group: str = "given"

    @property
    def speeds(self) -> tuple[Parameter, ...]:
        """The letters w_a."""
        return tuple(Parameter(name) for name in self.fields)

    def places(self, system: System) -> tuple[int, ...]:
        """The places of the coordinates that some field moves."""
        moved = [any(field[k] != 0 for field in self.fields.values()) for k in range(len(system.coordinates))]
        return tuple(k for k, moves in enumerate(moved) if moves)

    @property
    def matrix(self) -> sympy.Matrix:
        """The fields as columns, (n x n)."""
        return sympy.Matrix([list(field) for field in self.fields.values()]).T


def given_frame(system: System, frame: Mapping[Any, Mapping[Any, Any]]) -> GroupFrame:
    """The caller's frame, with its components checked: independent fields, as many as coordinates that they move."""
    fields = {}
    state = (*system.coordinates, *system.velocities, *system.momenta, *(q.ddot for q in system.coordinates))
    taken = {"t", "energy", *system.outputs, *(s.name for s in state)}
    for name, components in frame.items():
        table = {str(getattr(key, "name", key)): as_expression(value) for key, value in components.items()}
        strange = [key for key in table if key not in {q.name for q in system.coordinates}]
        letters = {s for value in table.values() for s in value.free_symbols}
        moving = sorted(s.name for s in letters - {*system.coordinates, *system.parameters})
        if strange or moving or str(name) in taken or not str(name).isidentifier():
            raise FormError(
                f"The vector field `{name}` of the frame cannot be used",
                seen=", ".join([*strange, *moving]) or str(name),
                remedy="give it a name of its own, and components by coordinate, written in coordinates and parameters",
            )
        fields[str(getattr(name, "name", name))] = tuple(table.get(q.name, ZERO) for q in system.coordinates)
    found = GroupFrame(fields)
    places = found.places(system)
    algebra = GraphAlgebra()
    rank = algebra.generic_rank(algebra.columns([algebra.vector(field) for field in fields.values()])) if fields else 0
    if not fields or len(fields) != len(places) or rank < len(places):
        moved = ", ".join(system.coordinates[k].name for k in places)
        raise FormError(
            "A group frame needs as many independent vector fields as coordinates that they move",
            seen=f"{len(fields)} fields of rank {rank} on {moved or 'no coordinates'}",
            remedy="add the missing ones",
        )
    return found


def structure_constants(system: System, frame: GroupFrame) -> Any | None:
    """c with [e_b, e_a] = c[b, a, :] . e, (k, k, k), where they are constant; None where they depend on the coordinates."""
    algebra = GraphAlgebra()
    places = frame.places(system)
    q = algebra.vector([system.coordinates[k] for k in places])
    columns = [algebra.vector([field[k] for k in places]) for field in frame.fields.values()]
    matrix, n = algebra.columns(columns), len(columns)
    brackets = [
        algebra.along(columns[a], q, columns[b]) - algebra.along(columns[b], q, columns[a]) for b in range(n) for a in range(n)
    ]
    table = algebra.solve_square(matrix, algebra.columns(brackets))
    function = ca.Function("structure", list(algebra.letters.values()), [ca.densify(table)])
    random = np.random.default_rng(5)
    values = [np.asarray(function.call(list(random.uniform(0.3, 1.1, len(algebra.letters))))[0], dtype=float) for _ in range(3)]
    if not all(np.allclose(value, values[0], rtol=1e-10, atol=1e-12) for value in values[1:]):
        return None
    constants = values[0].T.reshape(n, n, n)
    whole = np.round(constants)
    return np.where(np.abs(constants - whole) < 1e-12, whole, constants)
