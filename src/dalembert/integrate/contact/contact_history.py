"""Contacts along a motion: gap, normal force, slip and friction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...model.constraints import FrictionLimit, UnilateralConstraint
from ...model.read_only import ReadOnlyArrays
from ...model.symbols import t
from ...typing import Array

if TYPE_CHECKING:
    from ..motion import Motion

__all__ = ["ContactHistory", "contact_history", "stepped_forces", "stepped_reaction"]


@dataclass(frozen=True)
class ContactHistory(ReadOnlyArrays):
    """A contact along a motion of nt points, with k tangent directions.

    Attributes
    ----------
    gap : array (nt,)
        The distance -g, which is positive where the contact is open; zero for friction limits.
    normal : array (nt,)
        The normal force, zero where it is open; the load of a friction limit.
    slip, friction : arrays (k, nt)
        The velocity of the contact point in the tangent plane, and the friction on it. Where
        contacts that stick depend on each other, one of them has the friction of both.
    """

    gap: Any
    normal: Any
    slip: Any
    friction: Any


@dataclass(frozen=True)
class _Rows:
    """Gap and load (nt,), slip (k, nt), the rows g_q (nt, n) and W (nt, k, n) of a contact."""

    gap: Array
    load: Array
    slip: Array
    normals: Array
    tangents: Array


def _rows(motion: Motion, contact: UnilateralConstraint | FrictionLimit) -> _Rows:
    system, algebra = motion.system, GraphAlgebra()
    count, k, n = len(motion.t), len(contact.tangent), len(motion.system.coordinates)
    symbols = (t, *system.coordinates, *system.velocities, *system.parameters)
    inputs = algebra.vector(symbols)
    q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
    is_limit = isinstance(contact, FrictionLimit)
    gap = algebra.vector([sympy.Integer(0) if is_limit else contact.expression])
    load = algebra.vector([getattr(contact, "load", sympy.Integer(0))])
    stated = contact.tangent
    if isinstance(contact, UnilateralConstraint) and contact.anisotropy != 1:
        stated = (stated[0], stated[1] / contact.anisotropy)
    slip = algebra.vector(stated)
    blocks = [-gap, slip, ca.jacobian(gap, q), ca.vec(ca.jacobian(slip, v)), load]
    function = ca.Function("contact", [inputs], [ca.densify(block) for block in blocks])
    table = [
        np.full(count, motion.parameters[s.name]) if s in system.parameters else motion[s.name]
        for s in symbols
    ]
    found = [np.asarray(each) for each in function(np.array(table))]
    return _Rows(
        found[0].ravel(),
        found[4].ravel(),
        found[1].reshape(k, count),
        found[2].reshape(count, n),
        found[3].reshape(n, k, count).transpose(2, 1, 0),
    )


def contact_history(
    motion: Motion, contact: UnilateralConstraint | FrictionLimit
) -> ContactHistory:
    """What a contact or a friction limit does along a motion.

    The reaction of a contact is F = A^T mu + W^T P with the friction P, so that
    P = (W W^T)^-1 W (F - A^T mu); that of a friction limit is W^T P. A motion by time steps has the
    impulses of the steps instead.
    """
    count, k, rows = len(motion.t), len(contact.tangent), _rows(motion, contact)
    if motion.stepped_forces is not None:
        forces = motion.stepped_forces[contact.name]
        return ContactHistory(rows.gap, forces[0], rows.slip, forces[1 : 1 + k])
    reaction = motion.reactions[contact.name]
    normal = _pressing(motion, contact, rows.load)
    rest = np.asarray(reaction.force).T + rows.normals * normal[:, None]
    rubbing = np.zeros((count, k))
    if k:
        pushed = (rows.tangents @ rest[:, :, None])[:, :, 0]
        closed = np.abs(pushed).max(axis=1) > 0
        square = rows.tangents[closed] @ rows.tangents[closed].transpose(0, 2, 1)
        rubbing[closed] = np.linalg.solve(square, pushed[closed][:, :, None])[:, :, 0]
    return ContactHistory(rows.gap, normal, rows.slip, rubbing.T)


def _pressing(motion: Motion, contact: UnilateralConstraint | FrictionLimit, load: Array) -> Any:
    """The normal force of a contact, or the load of a friction limit, (nt,)."""
    if isinstance(contact, UnilateralConstraint):
        return -np.asarray(motion.reactions[contact.name].multiplier).reshape(-1, len(motion.t))[0]
    if not contact.normal:
        return load
    parts = [
        np.asarray(motion.reactions[name].multiplier).reshape(-1, len(motion.t))[0]
        for name in contact.normal
    ]
    return np.linalg.norm(parts, axis=0)


def stepped_reaction(motion: Motion, contact: UnilateralConstraint | FrictionLimit) -> Array:
    """The generalised force of a contact in a motion by time steps, (n, nt)."""
    assert motion.stepped_forces is not None
    forces, rows = motion.stepped_forces[contact.name], _rows(motion, contact)
    pushing: Array = -rows.normals * forces[0][:, None]
    for k in range(len(contact.tangent)):
        pushing = pushing + rows.tangents[:, k] * forces[1 + k][:, None]
    return pushing.T


def stepped_forces(motion: Motion) -> dict[str, Array]:
    """Normal force and friction of each contact, (3, nt): impulses of the step from each point.

    The steps are taken again, from the states of the motion.
    """
    from .. import advance as loop
    from ..methods.fixed.fixed_dense import run_from

    step, contacts = float(motion.statistics["step"]), motion.system.unilateral
    found = np.zeros((len(contacts), 3, len(motion.t)))
    for number, segment in enumerate(motion.segments):
        run, result = run_from(motion, segment, 0, step), np.zeros(segment.step_y.shape[1])
        impulses = run.context.fields.contact.arrays["remembered_impulses"]
        for place in np.flatnonzero(motion.owner == number):
            state = np.ascontiguousarray(motion.y[:, place])
            code = run.call("step_from", float(motion.t[place]), step, state, result)
            if code == loop.BUDGET:
                found[:, :, place] = impulses[: 3 * len(contacts)].reshape(-1, 3) / step
            else:
                found[:, :, place] = np.nan
    for k, c in enumerate(contacts):
        if isinstance(c, UnilateralConstraint):
            found[k, 2] *= _number(motion, c.anisotropy)
    return {c.name: found[k] for k, c in enumerate(contacts)}


def _number(motion: Motion, value: sympy.Expr) -> float:
    """The number that an expression of parameters has in a motion."""
    return float(value.subs({s: motion.parameters[s.name] for s in motion.system.parameters}))
