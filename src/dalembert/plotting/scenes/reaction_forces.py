"""Reactions of constraints as forces at points of a drawing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sympy

from ...errors import ModelError, nearest
from ...model.drawing import ReactionArrow
from ...runtime.gauss.constrained_solve import solve
from ...typing import Expression
from ..motion_samples import Array, evaluate, in_order, through

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["named_directly", "reaction_force"]


def reaction_force(motion: Motion, shape: ReactionArrow, times: Array) -> Array:
    """A reaction as a force (nt, d) at the point r(q) of its shape, or in its directions."""
    if shape.directions:
        return _contact_force(motion, shape, times)
    names = [q.name for q in motion.system.coordinates]
    if shape.constraint not in motion.reactions:
        guess = nearest(shape.constraint, motion.reactions)
        raise ModelError(
            f"The motion has no reaction of a constraint `{shape.constraint}`",
            ", ".join(motion.reactions) or "no constraints",
            f"did you mean `{guess}`" if guess else "name one of its constraints",
        )
    force = np.asarray(motion.reactions[shape.constraint].force, dtype=float)
    along = shape.along or named_directly(shape.position, names)
    if along is not None:
        missing = [name for name in along if name is not None and name not in names]
        if missing:
            guess = nearest(missing[0], names)
            other = "name a coordinate, or 0 in a direction without force"
            raise ModelError(
                f"A reaction goes along `{missing[0]}`, which is not a coordinate",
                ", ".join(names),
                f"did you mean `{guess}`" if guess else other,
            )
        still = np.zeros(len(motion.t))
        rows = np.array([still if name is None else force[names.index(name)] for name in along])
    else:
        rows = _acting_at(motion, shape, force)
    return np.stack([through(motion.t, row, times) for row in rows], axis=-1)


def _contact_force(motion: Motion, shape: ReactionArrow, times: Array) -> Array:
    """Normal force and friction (nt, 1 + k) of a contact; straight between the stored times."""
    if shape.constraint not in motion.contacts:
        raise ModelError(
            f"The motion has no contact `{shape.constraint}` whose force has directions",
            ", ".join(motion.contacts) or "no contacts",
            "name a one-sided constraint, or leave directions out",
        )
    history = motion.contacts[shape.constraint]
    parts = [history.normal, *history.friction]
    if len(parts) != len(shape.directions):
        raise ModelError(
            f"The force of the contact `{shape.constraint}` has {len(parts)} components",
            f"{len(shape.directions)} directions",
            "give the normal, and a tangent for each component of its friction",
        )
    order = in_order(motion.t)
    return np.stack(
        [np.interp(times, motion.t[order], np.asarray(part)[order]) for part in parts], axis=-1
    )


def named_directly(
    position: Sequence[Expression], names: Sequence[str]
) -> tuple[str | None, ...] | None:
    """The names of a position made of coordinates: generalised forces on them are the force."""
    found = tuple(str(getattr(entry, "name", "")) for entry in position)
    return found if all(name in names for name in found) else None


def _acting_at(motion: Motion, shape: ReactionArrow, force: Array) -> Array:
    """The least force F (d, nt) at r(q) with Q = J^T F, J = dr/dq; refused where Q has more to it.

    At each time min |z - Q|^2 with J z = 0 leaves z, what no force at r can be, and has the
    multipliers -F. Where J has a lower rank than along most of the motion, F is left open (nan).
    """
    entries = [e if isinstance(e, sympy.Basic) else sympy.Float(e) for e in shape.position]
    derivatives = [sympy.diff(entry, q) for entry in entries for q in motion.system.coordinates]
    jacobian = evaluate(motion, derivatives, np.asarray(motion.t, dtype=float))
    jacobian = np.moveaxis(jacobian.reshape(len(entries), -1, len(motion.t)), 2, 0)
    finite = np.isfinite(jacobian).all(axis=(1, 2)) & np.isfinite(force).all(axis=0)
    metric, none = np.eye(len(force)), np.zeros(len(entries))
    solved = [solve(metric, force[:, k], jacobian[k], none) for k in np.flatnonzero(finite)]
    most = max((solution.rank for solution in solved), default=0)
    found, left = np.full((len(motion.t), len(entries)), np.nan), np.zeros(force.T.shape)
    for k, solution in zip(np.flatnonzero(finite), solved, strict=True):
        if solution.rank == most:
            found[k], left[k] = -solution.multipliers, solution.z
    if np.abs(left).max(initial=0.0) > 1e-6 * np.nanmax(np.abs(force), initial=1e-300):
        raise ModelError(
            f"The reaction of `{shape.constraint}` is no force at this point alone",
            "generalised forces that no force there has",
            "name coordinates whose generalised forces are its components, along=(x, y), or 0",
        )
    return found.T
