r"""Frames of Lie groups: vector fields e_a(q) with [e_a, e_b] = C_ab^c e_c.

A frame is given by its fields, by a chart of a group, or by an action (`action_frame.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.structure import Verdict, constant_values
from ...errors import FormError
from ...model.symbols import Parameter, as_expression
from ...model.system import System
from ...typing import Values

__all__ = ["CLOSED", "GroupFrame", "fields_of", "given_frame", "structure_constants", "taken_names"]

ZERO = sympy.Integer(0)
#: The hypothesis of constant structure coefficients.
CLOSED = "the fields of the frame close with constant coefficients"


@dataclass(frozen=True)
class GroupFrame:
    """Vector fields by the name of their speed; each a tuple of components by coordinate, (n,).

    `hypotheses` are the verdicts on what the frame was found by.
    """

    fields: Mapping[str, tuple[sympy.Expr, ...]]
    group: str = "given"
    hypotheses: Mapping[str, Verdict] = field(default_factory=dict, compare=False)

    @property
    def speeds(self) -> tuple[Parameter, ...]:
        """The symbols w_a."""
        return tuple(Parameter(name) for name in self.fields)

    def places(self, system: System) -> tuple[int, ...]:
        """The places of the coordinates that some field moves."""
        moved = [
            any(field[k] != 0 for field in self.fields.values())
            for k in range(len(system.coordinates))
        ]
        return tuple(k for k, moves in enumerate(moved) if moves)

    @property
    def matrix(self) -> sympy.Matrix:
        """The fields as columns, (n x n)."""
        return sympy.Matrix([list(field) for field in self.fields.values()]).T


def given_frame(system: System, group: Any, identity: Values | None = None) -> GroupFrame:
    """The checked frame of a group: independent fields, as many as coordinates that they move.

    Parameters
    ----------
    group : mapping of speed name to a mapping of coordinate to component, or see `fields_of`
    identity : mapping of group coordinate to number
        Where the body velocities of an action are its generators; zero by default.
    """
    fields = {}
    taken = taken_names(system)
    stated, hypotheses = fields_of(system, group, identity)
    for name, components in stated.items():
        table = {
            str(getattr(key, "name", key)): as_expression(value)
            for key, value in components.items()
        }
        strange = [key for key in table if key not in {q.name for q in system.coordinates}]
        symbols = {s for value in table.values() for s in value.free_symbols}
        moving = sorted(s.name for s in symbols - {*system.coordinates, *system.parameters})
        if strange or moving or str(name) in taken or not str(name).isidentifier():
            raise FormError(
                f"The vector field `{name}` of the frame cannot be used",
                seen=", ".join([*strange, *moving]) or str(name),
                remedy=(
                    "give it a name of its own, and components by coordinate, written in"
                    " coordinates and parameters"
                ),
            )
        fields[str(getattr(name, "name", name))] = tuple(
            table.get(q.name, ZERO) for q in system.coordinates
        )
    found = GroupFrame(fields, hypotheses=hypotheses)
    places = found.places(system)
    algebra = GraphAlgebra()
    rank = (
        algebra.rank(algebra.columns([algebra.vector(field) for field in fields.values()])).value
        if fields
        else 0
    )
    if not fields or len(fields) != len(places) or rank < len(places):
        moved = ", ".join(system.coordinates[k].name for k in places)
        raise FormError(
            "A group frame needs as many independent vector fields as coordinates that they move",
            seen=f"{len(fields)} fields of rank {rank} on {moved or 'no coordinates'}",
            remedy="add the missing ones",
        )
    return found


def fields_of(
    system: System, group: Any, identity: Values | None = None
) -> tuple[Mapping[Any, Mapping[Any, Any]], dict[str, Verdict]]:
    """The left-invariant fields by the names of their speeds, and verdicts on an action.

    Parameters
    ----------
    group : mapping, GroupAction, or object with a mapping as `frame` or a GroupAction as `action`
        Charts of groups have the first, what `discover_symmetries` returns has the second.

    Raises
    ------
    FormError
        Where an action has no such fields in these coordinates, and for anything else.
    """
    fields = getattr(group, "frame", group)
    if not isinstance(fields, Mapping):
        # The mathematics of groups is imported where it is needed.
        from .action_frame import body_frame, given_action

        action = given_action(group)
        if action is not None:
            found, invariance = body_frame(system, action, identity)
            return found, {"the body velocities are invariant under the action": invariance}
    if not isinstance(fields, Mapping) or not all(
        isinstance(components, Mapping) for components in fields.values()
    ):
        raise FormError(
            "The group is given by its left-invariant fields, or by its action",
            seen=type(group).__name__,
            remedy=(
                "give {speed: {coordinate: component}}, a GroupAction, or a chart like"
                " LieGroup.SE(2).chart((x, y, theta))"
            ),
        )
    return fields, {}


def taken_names(system: System) -> set[str]:
    """Names that a speed cannot have."""
    state = (
        *system.coordinates,
        *system.velocities,
        *system.momenta,
        *(q.ddot for q in system.coordinates),
    )
    return {"t", "energy", *system.outputs, *(s.name for s in state)}


def structure_constants(system: System, frame: GroupFrame) -> tuple[Any | None, Verdict]:
    """c with [e_b, e_a] = c[b, a, :] . e, (k, k, k), and whether it is constant; or None."""
    algebra = GraphAlgebra()
    places = frame.places(system)
    q = algebra.vector([system.coordinates[k] for k in places])
    columns = [algebra.vector([field[k] for k in places]) for field in frame.fields.values()]
    matrix, n = algebra.columns(columns), len(columns)
    brackets = [
        algebra.along(columns[a], q, columns[b]) - algebra.along(columns[b], q, columns[a])
        for b in range(n)
        for a in range(n)
    ]
    table = algebra.solve_square(matrix, algebra.columns(brackets))
    symbols = list(algebra.symbols.values())
    found = algebra.independence(table, ca.vertcat(*symbols))
    if not found.holds_to_rounding:
        return None, found
    constants = constant_values(algebra.symbols, ca.densify(table))
    if constants is None:
        return None, Verdict("not established", "no sample was found at which the frame is defined")
    return constants.T.reshape(n, n, n), found
