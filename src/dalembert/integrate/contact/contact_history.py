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

__all__ = ["ContactHistory", "contact_history"]


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


def contact_history(
    motion: Motion, contact: UnilateralConstraint | FrictionLimit
) -> ContactHistory:
    """What a contact or a friction limit does along a motion.

    The reaction of a contact is F = A^T mu + W^T P with the friction P, so that
    P = (W W^T)^-1 W (F - A^T mu); that of a friction limit is W^T P.
    """
    system, algebra = motion.system, GraphAlgebra()
    count, k = len(motion.t), len(contact.tangent)
    symbols = (t, *system.coordinates, *system.velocities, *system.parameters)
    inputs = algebra.vector(symbols)
    q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
    is_limit = isinstance(contact, FrictionLimit)
    gap = algebra.vector([sympy.Integer(0) if is_limit else contact.expression])
    load = algebra.vector([getattr(contact, "load", sympy.Integer(0))])
    slip = algebra.vector(contact.tangent)
    blocks = [-gap, slip, ca.jacobian(gap, q), ca.vec(ca.jacobian(slip, v)), load]
    function = ca.Function("contact", [inputs], [ca.densify(block) for block in blocks])
    table = [
        np.full(count, motion.parameters[s.name]) if s in system.parameters else motion[s.name]
        for s in symbols
    ]
    found = [np.asarray(each) for each in function(np.array(table))]
    reaction = motion.reactions[contact.name]
    normal = _pressing(motion, contact, found[4].ravel())
    n = len(system.coordinates)
    normals = found[2].reshape(count, n)
    rows = found[3].reshape(n, k, count).transpose(2, 1, 0)
    rest = np.asarray(reaction.force).T + normals * normal[:, None]
    rubbing = np.zeros((count, k))
    if k:
        pushed = (rows @ rest[:, :, None])[:, :, 0]
        closed = np.abs(pushed).max(axis=1) > 0
        square = rows[closed] @ rows[closed].transpose(0, 2, 1)
        rubbing[closed] = np.linalg.solve(square, pushed[closed][:, :, None])[:, :, 0]
    return ContactHistory(found[0].ravel(), normal, found[1].reshape(k, count), rubbing.T)


def _pressing(motion: Motion, contact: UnilateralConstraint | FrictionLimit, load: Array) -> Any:
    """The normal force of a contact, or the load of a friction limit, (nt,)."""
    if isinstance(contact, UnilateralConstraint):
        return -np.asarray(motion.reactions[contact.name].multiplier).reshape(-1, len(motion.t))[0]
    if not contact.normal:
        return load
    return np.abs(motion.reactions[contact.normal].multiplier).reshape(-1, len(motion.t))[0]
