r"""The free rigid body in three dimensions in closed form: Jacobi's functions for the momentum, an integral for the attitude.

With the moments of inertia I_1 = Lambda_2 + Lambda_3, ... the momentum m of the body obeys m_dot = m x omega, omega = m/I. Let
the axes be named so that m_c never vanishes, b is the middle axis and a the third one (c is the axis of the largest inertia
where L^2 > 2 E I_b, of the smallest where L^2 < 2 E I_b). Then (E. T. Whittaker, Analytical Dynamics, section 69)

    m_a = A cn(s),    m_b = B sn(s),    m_c = C dn(s),      s = rate (t - t_0)

and on the separatrix, L^2 = 2 E I_b, the functions are hyperbolic. The body turns about its fixed spatial momentum by an angle
psi beside the direction in which the axis a stands off it,

    psi_dot = L (m_b^2/I_b + m_c^2/I_c)/(m_b^2 + m_c^2) = L/I_a - L (1/I_a - 1/I_c)/(1 - n sn^2 s),      n = -(A/C)^2,

whose integral is of the third kind. No step is taken: the accuracy does not depend on how far t is, but for the rounding of s.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import ModelError
from ...geometry.matrix_groups import Rotations
from ...geometry.rigid_rotations import Side, checked_inertias, checked_momentum, velocity_of_momentum
from ...typing import ArrayLike
from .elliptic import first_kind, jacobi, quarter_period, third_kind

__all__ = ["FreeBody", "exact_free_body"]

#: A difference of two terms below this many roundings of their sum is zero: the motion is on the separatrix.
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
        ``"about the axis of largest inertia"``, ``"about the axis of smallest inertia"``, ``"separatrix"`` or ``"steady"``.
    period : float
        That of the momentum: infinite on the separatrix, zero where the momentum is constant.
    """

    t: Any
    Q: Any
    M: Any
    case: str
    period: float


def exact_free_body(
    Lambda: ArrayLike, M: ArrayLike, Q: ArrayLike | None = None, *, t: ArrayLike, side: Side = "left"
) -> FreeBody:
    """The motion of the free rigid body on SO(3) from momentum M and attitude Q at time 0, in elliptic functions.

    Parameters
    ----------
    Lambda : three numbers with positive sums
    M, Q : matrices (3, 3)
        Start; the identity where Q is not given.
    t : array (nt,)
    side : "left" or "right"

    Examples
    --------
    >>> import numpy as np
    >>> motion = exact_free_body([1, 2, 3], [[0, -0.9, -0.8], [0.9, 0, -0.6], [0.8, 0.6, 0]], t=[0.0, 10.0])
    >>> motion.case, motion.Q[1].round(6).tolist()[0]
    ('about the axis of smallest inertia', [-0.732328, -0.010911, 0.680865])
    """
    inertias = checked_inertias(Lambda)
    if inertias.size != 3:
        raise ModelError(
            "Elliptic functions solve the free body in three dimensions alone",
            seen=f"{inertias.size} inertias",
            remedy="simulate rigid_body(...) in other dimensions",
        )
    momentum = checked_momentum(M, 3)
    attitude = np.eye(3) if Q is None else np.asarray(Q, dtype=float)
    times = np.atleast_1d(np.asarray(t, dtype=float))
    if side == "right":  # (Q^T, -M) is the motion of a body on the left
        turned = exact_free_body(inertias, -momentum, attitude.T, t=times)
        return FreeBody(times, np.swapaxes(turned.Q, 1, 2), -turned.M, turned.case, turned.period)
    inertia = np.array([inertias[1] + inertias[2], inertias[2] + inertias[0], inertias[0] + inertias[1]])
    start = np.array([momentum[2, 1], momentum[0, 2], momentum[1, 0]])
    axes = _axes(inertia, start)
    if axes is None:
        return _steady(inertias, momentum, attitude, times)
    solution = _Solution(inertia, start, *axes)
    s, functions = solution.at(times)
    momenta = np.empty((times.size, 3))
    momenta[:, axes[0]] = solution.amplitudes[0] * functions.cn
    momenta[:, axes[1]] = solution.amplitudes[1] * functions.sn
    momenta[:, axes[2]] = solution.amplitudes[2] * functions.dn
    angle = solution.angle(times, s, functions.phi)
    cosine, sine, zero = np.cos(angle), np.sin(angle), np.zeros_like(angle)
    about = np.stack([cosine, -sine, zero, sine, cosine, zero, zero, zero, zero + 1], axis=-1).reshape(-1, 3, 3)
    space = attitude @ _frame(start[None], axes[0])[0]
    attitudes = space @ about @ np.swapaxes(_frame(momenta, axes[0]), 1, 2)
    return FreeBody(times, attitudes, _hat(momenta), solution.case, solution.period)


def _axes(inertia: Any, m: Any) -> tuple[int, int, int] | None:
    """The axes a, b, c of the module's head; None where the momentum stays."""
    if np.all(np.abs(np.cross(m, m / inertia)) <= ROUNDINGS * np.linalg.norm(m) * np.linalg.norm(m / inertia)):
        return None
    low, middle, high = (int(k) for k in np.argsort(inertia, kind="stable"))
    above = m[high] ** 2 * (inertia[high] - inertia[middle]) / inertia[high]
    below = m[low] ** 2 * (inertia[middle] - inertia[low]) / inertia[low]
    return (low, middle, high) if above >= below else (high, middle, low)


class _Solution:
    """The constants of one motion."""

    def __init__(self, inertia: Any, m: Any, a: int, b: int, c: int) -> None:
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
            A, C = abs(B) * np.sqrt(Ia * bc / (Ib * ac)), np.copysign(abs(B) * np.sqrt(Ic * ab / (Ib * ac)), C)
        self.amplitudes, self.length = (A, B, C), float(np.linalg.norm(m))
        self.rate = np.sqrt(bc * along / (inertia[0] * inertia[1] * inertia[2]))
        self.slow, self.fast = self.length / Ia, self.length * (1 / Ia - 1 / Ic) / self.rate
        self.n = -((A / C) ** 2)
        if self.m1 == 0.0 and m[a] < 0:  # cn has one sign on the separatrix: the axis a is counted the other way
            self.amplitudes = (-A, -B, C)
        phi = float(np.arctan2(m[b] / self.amplitudes[1], m[a] / self.amplitudes[0]))
        self.first = float(np.arctanh(np.clip(m[b] / self.amplitudes[1], -1, 1))) if self.m1 == 0 else first_kind(phi, self.m1)
        self.before = third_kind(self.n, self.first, phi, self.m1)
        self.period = np.inf if self.m1 == 0 else 4 * quarter_period(self.m1) / self.rate
        named = "largest" if Ic > Ia else "smallest"
        self.case = "separatrix" if self.m1 == 0 else f"about the axis of {named} inertia"

    def at(self, times: Any) -> tuple[Any, Any]:
        """s and Jacobi's functions at each time."""
        s = self.first + self.rate * times
        return s, jacobi(s, self.m1)

    def angle(self, times: Any, s: Any, phi: Any) -> Any:
        """psi, zero at the start."""
        return self.slow * times - self.fast * (third_kind(self.n, s, phi, self.m1) - self.before)


def _steady(inertias: Any, momentum: Any, attitude: Any, times: Any) -> FreeBody:
    """A rotation about an axis that stays."""
    velocity = velocity_of_momentum(inertias, momentum)
    turned = np.stack([attitude @ Rotations(3).exponential(time * velocity) for time in times])
    return FreeBody(times, turned, np.broadcast_to(momentum, turned.shape).copy(), "steady", 0.0)


def _frame(m: Any, a: int) -> Any:
    """Three axes (nt, 3, 3) as columns: where the axis a stands off the momentum, the third one, and the momentum."""
    along = m / np.linalg.norm(m, axis=-1, keepdims=True)
    off = -along[:, a, None] * along
    off[:, a] = np.sum(np.delete(along, a, axis=1) ** 2, axis=1)
    off /= np.linalg.norm(off, axis=-1, keepdims=True)
    return np.stack([off, np.cross(along, off), along], axis=-1)


def _hat(m: Any) -> Any:
    x, y, z = m.T
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(-1, 3, 3)
