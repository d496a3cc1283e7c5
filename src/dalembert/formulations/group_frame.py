r"""Frames of Lie groups: vector fields e_a(q) with [e_a, e_b] = C_ab^c e_c, on all coordinates or on those of the group.

A frame is given by its fields, by a chart of a group, or by an action. The generators K_a of a left action are right-invariant,
and the frame of body velocities is the one that they leave alone:

    [K_a, K_b] = -C_ab^c K_c,     e(g) = K(g) Ad_g,     [K_a, e_b] = 0,     [e_a, e_b] = C_ab^c e_c,     e = K at the identity

(Bloch, Supplement 2.9, 5.5). With the product of the group read backwards right-invariant fields are left-invariant ones, so
that e comes from K as the generators of translations come from a frame (`GroupCoordinates`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..errors import FormError, ModelError
from ..geometry.actions import GroupAction, field_bracket
from ..geometry.group_coordinates import GroupCoordinates
from ..model.symbols import Parameter, as_expression
from ..model.system import System

__all__ = ["GroupFrame", "fields_of", "given_frame", "structure_constants"]

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


def given_frame(system: System, group: Any, identity: Mapping[Any, Any] | None = None) -> GroupFrame:
    """The frame of a group, with its components checked: independent fields, as many as coordinates that they move.

    Parameters
    ----------
    group : mapping of speed name to a mapping of coordinate to component, or see `fields_of`
    identity : mapping of group coordinate to number
        Where the body velocities of an action are its generators; zero by default.
    """
    fields = {}
    taken = _taken(system)
    for name, components in fields_of(system, group, identity).items():
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


def fields_of(system: System, group: Any, identity: Mapping[Any, Any] | None = None) -> Mapping[Any, Mapping[Any, Any]]:
    """The left-invariant fields by the names of their speeds.

    Parameters
    ----------
    group : mapping, GroupAction, or object with a mapping as `frame` or a GroupAction as `action`
        Charts of groups have the first, what `discover_symmetries` returns has the second.

    Raises
    ------
    FormError
        Where an action has no such fields in these coordinates, and for anything else.
    """
    action = group if isinstance(group, GroupAction) else getattr(group, "action", None)
    fields = getattr(group, "frame", group)
    if isinstance(action, GroupAction):
        return _body_frame(system, action, identity)
    if not isinstance(fields, Mapping) or not all(isinstance(components, Mapping) for components in fields.values()):
        raise FormError(
            "The group is given by its left-invariant fields, or by its action",
            seen=type(group).__name__,
            remedy="give {speed: {coordinate: component}}, a GroupAction, or a chart like LieGroup.SE(2).chart((x, y, theta))",
        )
    return fields


def _taken(system: System) -> set[str]:
    state = (*system.coordinates, *system.velocities, *system.momenta, *(q.ddot for q in system.coordinates))
    return {"t", "energy", *system.outputs, *(s.name for s in state)}


# -- actions ------------------------------------------------------------------------------------------------------------


def _body_frame(system: System, action: GroupAction, identity: Mapping[Any, Any] | None) -> dict[str, dict[Any, Any]]:
    """The fields of the body velocities of an action on the coordinates that it moves."""
    letters = _moved_letters(system, action)
    places = [[str(q) for q in action.coordinates].index(q.name) for q in letters]
    renamed = {old: q for old in action.coordinates for q in system.coordinates if q.name == str(old)}
    generators = sympy.ImmutableMatrix(action.fields.extract(places, list(range(action.dimension))).xreplace(renamed))
    given = {str(getattr(key, "name", key)): as_expression(value) for key, value in (identity or {}).items()}
    unit = tuple(given.get(q.name, ZERO) for q in letters)
    _check_identity(action, generators.xreplace(dict(zip(letters, unit, strict=True))), letters, unit)
    names = _speed_names(system, action)
    backwards = GroupCoordinates(names, letters, generators, -action.algebra.constants, unit)
    try:
        frame = backwards.generators
    except ModelError as error:
        raise FormError(
            f"The body velocities of this action of {action.name} have no closed form in these coordinates",
            seen=", ".join(q.name for q in letters),
            remedy="give the left-invariant fields themselves, or use the letters of LieGroup.chart",
        ) from error
    _check_commuting(generators, frame, letters)
    return {name: {q: frame[i, a] for i, q in enumerate(letters) if frame[i, a] != 0} for a, name in enumerate(names)}


def _moved_letters(system: System, action: GroupAction) -> tuple[Any, ...]:
    """The coordinates of the group: those that the action moves, as many as its dimension, whatever the others are."""
    known = {q.name: q for q in system.coordinates}
    strange = [str(q) for q in action.coordinates if str(q) not in known]
    if strange:
        raise FormError(
            "The action moves coordinates that the system does not have",
            seen=", ".join(strange),
            remedy=f"make it with GroupAction(system, ...), on {', '.join(known)}",
        )
    d = action.dimension
    if action.orbit_dimension < d or not d:
        raise FormError(
            f"The action of {action.name} is not free, so that it has no frame of body velocities",
            seen=f"orbits of dimension {action.orbit_dimension} of a group of dimension {d}",
            remedy="choose a subgroup without isotropy, see GroupAction.isotropy",
        )
    rows = [any(entry != 0 for entry in action.fields[i, :]) for i in range(len(action.coordinates))]
    moved = [str(q) for q, moves in zip(action.coordinates, rows, strict=True) if moves]
    within = {str(s) for s in action.fields.free_symbols} & {str(q) for q in action.coordinates} - set(moved)
    if len(moved) != d or within:
        raise FormError(
            f"These coordinates do not split into a shape and the group {action.name}",
            seen=f"{d} generators move {', '.join(moved)}" + (f" and depend on {', '.join(sorted(within))}" if within else ""),
            remedy="state the system in coordinates of which the group moves as many as its dimension, such as one angle and "
            "differences to it",
        )
    return tuple(q for q in system.coordinates if q.name in moved)


def _check_identity(action: GroupAction, here: Any, letters: Sequence[Any], unit: Sequence[Any]) -> None:
    algebra = GraphAlgebra()
    finite = not here.has(sympy.zoo, sympy.nan, sympy.oo)
    if finite and algebra.generic_rank(algebra.columns([algebra.vector(here.col(a)) for a in range(here.cols)])) == here.cols:
        return
    raise FormError(
        f"The generators of {action.name} are no frame at the identity that was chosen",
        seen=", ".join(f"{q.name} = {value}" for q, value in zip(letters, unit, strict=True)),
        remedy="choose another place as identity={coordinate: value}",
    )


def _check_commuting(generators: Any, frame: Any, letters: Sequence[Any]) -> None:
    """[K_a, e_b] = 0: the group leaves its body velocities alone."""
    algebra = GraphAlgebra()
    size = generators.cols
    brackets = [field_bracket(generators[:, a], frame[:, b], letters) for a in range(size) for b in range(size)]
    if not algebra.vanishes(algebra.stack([algebra.vector(bracket) for bracket in brackets])):
        raise FormError(
            "The fields that were found for the body velocities are not invariant under the action",
            seen=", ".join(q.name for q in letters),
            remedy="give the left-invariant fields themselves",
        )


def _speed_names(system: System, action: GroupAction) -> tuple[str, ...]:
    """xi_x for e_x, as charts name them, moved away from names that the system has."""
    names = [f"xi{name[1:]}" if name.startswith("e") else f"xi_{name}" for name in action.algebra.names]
    if not all(name.isidentifier() for name in names):
        names = [f"xi_{k + 1}" for k in range(action.dimension)]
    return tuple(f"{name}_body" if name in _taken(system) else name for name in names)


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
