r"""The free rigid body in three dimensions in closed form, in Jacobi's elliptic functions.

With the moments of inertia I_1 = Lambda_2 + Lambda_3, ... the momentum m of the body obeys m_dot =
m x omega, omega = m/I. Let the axes be named so that m_c never vanishes, b is the middle axis and a
the third one (c is the axis of the largest inertia where L^2 > 2 E I_b, of the smallest where L^2 <
2 E I_b). Then (E. T. Whittaker, Analytical Dynamics, section 69)

    m_a = A cn(s),    m_b = B sn(s),    m_c = C dn(s),      s = rate (t - t_0)

and on the separatrix, L^2 = 2 E I_b, the functions are hyperbolic. The body turns about its fixed
spatial momentum by an angle psi beside the direction in which the axis a stands off it,

    psi_dot = L (m_b^2/I_b + m_c^2/I_c)/(m_b^2 + m_c^2) = L/I_a - L (1/I_a - 1/I_c)/(1 - n sn^2 s),
        n = -(A/C)^2,

whose integral is of the third kind. No step is taken: the accuracy does not depend on how far t is,
but for the rounding of s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ...geometry.matrix_groups import Rotations
from ...geometry.rigid_rotations import (
    Side,
    checked_inertias,
    checked_momentum,
    velocity_of_momentum,
)
from ...typing import Array, ArrayLike
from .elliptic import Jacobi, first_kind, jacobi, quarter_period, third_kind

__all__ = ["FreeBody", "exact_free_body"]

#: A difference below this many roundings of its terms is zero: the motion is on the separatrix.
ROUNDINGS = 8 * np.finfo(float).eps


@dataclass(frozen=True)
class FreeBody:
    """The exact motion of a free rigid body at some times.

    Attributes
    ----------
    t : array (nt,)
    Q, M : arrays (nt, 3, 3)
        Attitudes and momenta.
    case : str
        "about the axis of largest inertia", "about the axis of smallest inertia", "separatrix" or
        "steady".
    period : float
        Of the momentum: infinite on the separatrix, zero where the momentum is constant.
    """

    t: Array
    Q: Array
    M: Array
    case: str
    period: float


def exact_free_body(
    Lambda: ArrayLike,
    M: ArrayLike,
    Q: ArrayLike | None = None,
    *,
    t: ArrayLike,
    side: Side = "left",
) -> FreeBody:
    """The motion of the free rigid body on SO(3) from momentum M and attitude Q at time 0.

    Parameters
    ----------
    Lambda : three numbers with positive sums
    M, Q : matrices (3, 3)
        Start; the identity where Q is not given.
    t : array (nt,)
    side : "left" or "right"

    Examples
    --------
    >>> start = [[0, -0.9, -0.8], [0.9, 0, -0.6], [0.8, 0.6, 0]]
    >>> motion = exact_free_body([1, 2, 3], start, t=[0.0, 10.0])
    >>> motion.case, motion.Q[1].round(6).tolist()[0]
    ('about the axis of smallest inertia', [-0.732328, -0.010911, 0.680865])
    """
    inertias = checked_inertias(Lambda)
    if inertias.size != 3:
        what = "Elliptic functions solve the free body in three dimensions alone"
        seen, remedy = f"{inertias.size} inertias", "simulate rigid_body(...) in other dimensions"
        raise ModelError(what, seen, remedy)
    momentum = checked_momentum(M, 3)
    attitude = np.eye(3) if Q is None else np.asarray(Q, dtype=float)
    times = np.atleast_1d(np.asarray(t, dtype=float))
    if side == "right":  # (Q^T, -M) is the motion of a body on the left
        turned = exact_free_body(inertias, -momentum, attitude.T, t=times)
        return FreeBody(times, np.swapaxes(turned.Q, 1, 2), -turned.M, turned.case, turned.period)
    inertia = np.roll(inertias, -1) + np.roll(inertias, -2)
    start = np.array([momentum[2, 1], momentum[0, 2], momentum[1, 0]])
    axes = _axes(inertia, start)
    if axes is None:
        return _steady(inertias, momentum, attitude, times)
    solution = _EllipticSolution(inertia, start, *axes)
    s, functions = solution.at(times)
    momenta = np.empty((times.size, 3))
    parts = (functions.cn, functions.sn, functions.dn)
    for axis, amplitude, part in zip(axes, solution.amplitudes, parts, strict=True):
        momenta[:, axis] = amplitude * part
    angle = solution.angle(times, s, functions.phi)
    cosine, sine, zero = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    rows = [cosine, -sine, zero, sine, cosine, zero, zero, zero, zero + 1]
    about = np.stack(rows, axis=-1).reshape(-1, 3, 3)
    space = attitude @ _frame(start[None], axes[0])[0]
    attitudes = space @ about @ np.swapaxes(_frame(momenta, axes[0]), 1, 2)
    return FreeBody(times, attitudes, _hat(momenta), solution.case, solution.period)


def _axes(inertia: Array, m: Array) -> tuple[int, int, int] | None:
    """The axes a, b, c of the module's docstring; None where the momentum stays."""
    scale = np.linalg.norm(m) * np.linalg.norm(m / inertia)
    if np.all(np.abs(np.cross(m, m / inertia)) <= ROUNDINGS * scale):
        return None
    low, middle, high = (int(k) for k in np.argsort(inertia, kind="stable"))
    above = m[high] ** 2 * (inertia[high] - inertia[middle]) / inertia[high]
    below = m[low] ** 2 * (inertia[middle] - inertia[low]) / inertia[low]
    return (low, middle, high) if above >= below else (high, middle, low)


class _EllipticSolution:
    """The constants of one motion."""

    def __init__(self, inertia: Array, m: Array, a: int, b: int, c: int) -> None:
        Ia, Ib, Ic = inertia[a], inertia[b], inertia[c]
        ab, bc, ac = abs(Ib - Ia), abs(Ic - Ib), abs(Ic - Ia)
        around = m[a] ** 2 * ac / Ia + m[b] ** 2 * bc / Ib  # |2 E I_c - L^2|
        along = m[b] ** 2 * ab / Ib + m[c] ** 2 * ac / Ic  # |L^2 - 2 E I_a|
        off, on = m[c] ** 2 * bc / Ic, m[a] ** 2 * ab / Ia
        self.m1 = 0.0 if off - on <= ROUNDINGS * (off + on) else ac * (off - on) / (bc * along)
        A, C = np.sqrt(around * Ia / ac), np.copysign(np.sqrt(along * Ic / ac), m[c])
        handed = 1.0 if (b - a) % 3 == 1 else -1.0
        B = np.copysign(np.sqrt(around * Ib / bc), handed * C * (1 / Ia - 1 / Ic))
        if self.m1 == 0.0 and ab > 0:  # there A and C are tied to B
            A = abs(B) * np.sqrt(Ia * bc / (Ib * ac))
            C = np.copysign(abs(B) * np.sqrt(Ic * ab / (Ib * ac)), C)
        self.amplitudes, self.length = (A, B, C), float(np.linalg.norm(m))
        self.rate = np.sqrt(bc * along / (inertia[0] * inertia[1] * inertia[2]))
        self.slow, self.fast = self.length / Ia, self.length * (1 / Ia - 1 / Ic) / self.rate
        self.n = -((A / C) ** 2)
        if self.m1 == 0.0 and m[a] < 0:  # cn has one sign on the separatrix: reverse the axis a
            self.amplitudes = (-A, -B, C)
        sine = m[b] / self.amplitudes[1]
        phi = float(np.arctan2(sine, m[a] / self.amplitudes[0]))
        on_separatrix = self.m1 == 0
        hyperbolic = float(np.arctanh(np.clip(sine, -1, 1))) if on_separatrix else 0.0
        self.first = hyperbolic if on_separatrix else first_kind(phi, self.m1)
        self.before = third_kind(self.n, self.first, phi, self.m1)
        self.period = np.inf if self.m1 == 0 else 4 * quarter_period(self.m1) / self.rate
        named = "largest" if Ic > Ia else "smallest"
        self.case = "separatrix" if self.m1 == 0 else f"about the axis of {named} inertia"

    def at(self, times: Array) -> tuple[Array, Jacobi]:
        """s and Jacobi's functions at each time."""
        s = self.first + self.rate * times
        return s, jacobi(s, self.m1)

    def angle(self, times: Array, s: Array, phi: Array) -> Any:
        """psi, zero at the start."""
        return self.slow * times - self.fast * (third_kind(self.n, s, phi, self.m1) - self.before)


def _steady(inertias: Array, momentum: Array, attitude: Array, times: Array) -> FreeBody:
    """A rotation about an axis that stays."""
    velocity = velocity_of_momentum(inertias, momentum)
    turned = np.stack([attitude @ Rotations(3).exponential(time * velocity) for time in times])
    return FreeBody(times, turned, np.broadcast_to(momentum, turned.shape).copy(), "steady", 0.0)


def _frame(m: Array, a: int) -> Array:
    """Three axes (nt, 3, 3) in columns, made from the axis a and the momentum (third column)."""
    along = m / np.linalg.norm(m, axis=-1, keepdims=True)
    off = -along[:, a, None] * along
    off[:, a] = np.sum(np.delete(along, a, axis=1) ** 2, axis=1)
    off /= np.linalg.norm(off, axis=-1, keepdims=True)
    return np.stack([off, np.cross(along, off), along], axis=-1)


def _hat(m: Array) -> Array:
    x, y, z = m.T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)
