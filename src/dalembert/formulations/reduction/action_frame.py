r"""The frame of body velocities of an action.

The generators K_a of a left action are right-invariant, and the frame of body velocities is the one
that they leave alone:

    [K_a, K_b] = -C_ab^c K_c,     e(g) = K(g) Ad_g,     [K_a, e_b] = 0,     [e_a, e_b] = C_ab^c e_c,
    e = K at the identity

(Bloch, Supplement 2.9, 5.5). With the product of the group read backwards right-invariant fields
are left-invariant ones, so that e comes from K as the generators of translations come from a frame
(`GroupCoordinates`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.structure import Verdict
from ...errors import FormError, ModelError
from ...geometry.actions import GroupAction, field_bracket
from ...geometry.group_coordinates import GroupCoordinates
from ...model.symbols import as_expression
from ...model.system import System
from ...typing import Values
from .group_frame import taken_names

__all__ = ["body_frame", "given_action"]

ZERO = sympy.Integer(0)


def given_action(group: Any) -> GroupAction | None:
    """The action that was given, or that what was given has found."""
    action = group if isinstance(group, GroupAction) else getattr(group, "action", None)
    return action if isinstance(action, GroupAction) else None


def body_frame(
    system: System, action: GroupAction, identity: Values | None
) -> tuple[dict[str, dict[Any, Any]], Verdict]:
    """The fields of the body velocities of an action, and whether it leaves them invariant."""
    symbols = _moved_symbols(system, action)
    places = [[str(q) for q in action.coordinates].index(q.name) for q in symbols]
    renamed = {
        old: q for old in action.coordinates for q in system.coordinates if q.name == str(old)
    }
    generators = sympy.ImmutableMatrix(
        action.fields.extract(places, list(range(action.dimension))).xreplace(renamed)
    )
    given = {
        str(getattr(key, "name", key)): as_expression(value)
        for key, value in (identity or {}).items()
    }
    unit = tuple(given.get(q.name, ZERO) for q in symbols)
    _check_identity(
        action, generators.xreplace(dict(zip(symbols, unit, strict=True))), symbols, unit
    )
    names = _speed_names(system, action)
    backwards = GroupCoordinates(names, symbols, generators, -action.algebra.constants, unit)
    try:
        frame = backwards.generators
    except ModelError as error:
        raise FormError(
            f"The body velocities of this action of {action.name} have no closed form in these"
            " coordinates",
            seen=", ".join(q.name for q in symbols),
            remedy=(
                "give the left-invariant fields themselves, or use the symbols of LieGroup.chart"
            ),
        ) from error
    invariance = _check_commuting(generators, frame, symbols)
    fields = {
        name: {q: frame[i, a] for i, q in enumerate(symbols) if frame[i, a] != 0}
        for a, name in enumerate(names)
    }
    return fields, invariance


def _moved_symbols(system: System, action: GroupAction) -> tuple[Any, ...]:
    """The coordinates that the action moves, as many as the dimension of the group."""
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
    rows = [
        any(entry != 0 for entry in action.fields[i, :]) for i in range(len(action.coordinates))
    ]
    moved = [str(q) for q, moves in zip(action.coordinates, rows, strict=True) if moves]
    within = {str(s) for s in action.fields.free_symbols} & {
        str(q) for q in action.coordinates
    } - set(moved)
    if len(moved) != d or within:
        raise FormError(
            f"These coordinates do not split into a shape and the group {action.name}",
            seen=f"{d} generators move {', '.join(moved)}"
            + (f" and depend on {', '.join(sorted(within))}" if within else ""),
            remedy=(
                "state the system in coordinates of which the group moves as many as its dimension,"
                " such as one angle and differences to it"
            ),
        )
    return tuple(q for q in system.coordinates if q.name in moved)


def _check_identity(
    action: GroupAction, here: sympy.MatrixBase, symbols: Sequence[Any], unit: Sequence[Any]
) -> None:
    algebra = GraphAlgebra()
    finite = not here.has(sympy.zoo, sympy.nan, sympy.oo)
    if (
        finite
        and algebra.rank(
            algebra.columns([algebra.vector(here.col(a)) for a in range(here.cols)])
        ).value
        == here.cols
    ):
        return
    raise FormError(
        f"The generators of {action.name} are no frame at the identity that was chosen",
        seen=", ".join(f"{q.name} = {value}" for q, value in zip(symbols, unit, strict=True)),
        remedy="choose another place as identity={coordinate: value}",
    )


def _check_commuting(
    generators: sympy.MatrixBase, frame: sympy.MatrixBase, symbols: Sequence[Any]
) -> Verdict:
    """[K_a, e_b] = 0: the group leaves its body velocities alone."""
    algebra = GraphAlgebra()
    size = generators.cols
    brackets = [
        field_bracket(generators[:, a], frame[:, b], symbols)
        for a in range(size)
        for b in range(size)
    ]
    found = algebra.vanishing(algebra.stack([algebra.vector(bracket) for bracket in brackets]))
    if not found.holds_to_rounding:
        raise FormError(
            "The fields that were found for the body velocities are not invariant under the action",
            seen=", ".join(q.name for q in symbols),
            remedy="give the left-invariant fields themselves",
        )
    return found


def _speed_names(system: System, action: GroupAction) -> tuple[str, ...]:
    """xi_x for e_x, as charts name them, moved away from names that the system has."""
    names = [
        f"xi{name[1:]}" if name.startswith("e") else f"xi_{name}" for name in action.algebra.names
    ]
    if not all(name.isidentifier() for name in names):
        names = [f"xi_{k + 1}" for k in range(action.dimension)]
    return tuple(f"{name}_body" if name in taken_names(system) else name for name in names)
