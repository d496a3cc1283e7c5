"""Dormand and Prince's method of order 8 with step control and dense output, as native code.

E. Hairer, S. P. Norsett, G. Wanner: Solving Ordinary Differential Equations I, 2nd ed., section II.10. Which model
is integrated is in the kernel's context. Stages K are rows of n_state + 1 places.
"""

from __future__ import annotations

from math import sqrt

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import SINGULAR
from ....runtime.kernel_fields import KernelFields
from ....runtime.projection import MISSING, evaluate
from .dop853_coefficients import E3, E5, A, C, D

__all__ = ["EXPONENT", "ORDER", "dense_coefficients", "error_norm", "interpolate", "interpolate_rate", "step"]

ORDER = 8
#: The error of a step grows like h to the inverse of this power.
EXPONENT = 1.0 / 8.0


@native
def stage_state(ns: int, s: int, h: float, y: Reals, K: Reals, stage: Reals) -> None:
    """stage <- y + h sum_j A[s, j] K[j] over the stages before s."""
    for i in range(ns):
        stage[i] = 0.0
    for j in range(s):
        weight = A[s, j]
        if weight != 0.0:
            row = K + j * (ns + 1)
            for i in range(ns):
                stage[i] += weight * row[i]
    for i in range(ns):
        stage[i] = y[i] + h * stage[i]


@native
def step(context: KernelFields, t: float, h: float, y: Reals, K: Reals, stage: Reals, y_new: Reals) -> int:
    """One step from (t, y) with K[0] known: fills K[1:12] and y_new. Returns REGULAR, SINGULAR or MISSING."""
    ns = context.n_state
    for s in range(1, 12):
        stage_state(ns, s, h, y, K, stage)
        status = evaluate(context, t + C[s] * h, stage, K + s * (ns + 1))
        if status == SINGULAR or status == MISSING:
            return status
    stage_state(ns, 12, h, y, K, y_new)
    return 0


@native
def error_norm(ns: int, h: float, y: Reals, y_new: Reals, K: Reals, rtol: float, atol: Reals) -> float:
    """The error of a step relative to the tolerance; a step with at most 1 is accepted."""
    total5, total3 = 0.0, 0.0
    for i in range(ns):
        scale = atol[i] + rtol * max(abs(y[i]), abs(y_new[i]))
        e5, e3 = 0.0, 0.0
        for s in range(12):
            value = K[s * (ns + 1) + i]
            e5 += E5[s] * value
            e3 += E3[s] * value
        total5 += (e5 / scale) ** 2
        total3 += (e3 / scale) ** 2
    if total5 == 0.0 and total3 == 0.0:
        return 0.0
    return abs(h) * total5 / sqrt((total5 + 0.01 * total3) * ns)


@native
def dense_coefficients(
    context: KernelFields, t: float, h: float, y: Reals, y_new: Reals, K: Reals, stage: Reals, F: Reals
) -> int:
    """The polynomial of a finished step, F (7, n_state), from K[0:13] and three more stages."""
    ns = context.n_state
    width = ns + 1
    for s in range(13, 16):
        stage_state(ns, s, h, y, K, stage)
        status = evaluate(context, t + C[s] * h, stage, K + s * width)
        if status == SINGULAR or status == MISSING:
            return status
    for i in range(ns):
        delta = y_new[i] - y[i]
        F[i] = delta
        F[ns + i] = h * K[i] - delta
        F[2 * ns + i] = 2.0 * delta - h * (K[12 * width + i] + K[i])
        for r in range(4):
            total = 0.0
            for s in range(16):
                total += D[r, s] * K[s * width + i]
            F[(3 + r) * ns + i] = h * total
    return 0


@native
def interpolate(ns: int, x: float, y: Reals, F: Reals, out: Reals) -> None:
    """out <- the state at the fraction x of a step that began at y."""
    for i in range(ns):
        value = 0.0
        for r in range(6, -1, -1):
            value += F[r * ns + i]
            value *= x if r % 2 == 0 else 1.0 - x
        out[i] = y[i] + value


@native
def interpolate_rate(ns: int, x: float, h: float, F: Reals, out: Reals) -> None:
    """out <- the time derivative of the interpolated state at the fraction x of a step h."""
    for i in range(ns):
        value, rate = 0.0, 0.0
        for r in range(6, -1, -1):
            value += F[r * ns + i]
            weight = x if r % 2 == 0 else 1.0 - x
            rate = rate * weight + (value if r % 2 == 0 else -value)
            value *= weight
        out[i] = rate / h
