r"""Deviations of the motions in the lanes: native loops beside `lane_steps`.

A deviation w obeys w' = f_y w and stands behind the state of its lane. It is a vector times a power
of two, so that its growth is known without rounding, however far it goes. Along constraints it is
made tangent to them at the end of each step, as the state is brought to them.

With l(t) = log |w(t)| of the first deviation the expansion also carries L' = l. Then (P. M.
Cincotta, C. M. Giordano and C. Simó, Physica D 182 (2003) 151-178)

    Y(T) = 2/T int t l' dt = 2 l(T) - 2/T L(T),      mean Y(T) = 2/T (L(T) - int L/t dt)

and the last integral is found by Gauss's rule from the expansion of L in each step.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from ...codegen.native.language import Reals, call_program, native
from ...codegen.passes.solve_limits import HEALTHY
from ...runtime.projection import is_finite
from ..run_fields import LaneFields

__all__ = ["LANES", "POWER", "begin_deviations", "bound_deviations", "end_deviations", "look_at"]

LANES = 8

#: Deviations are multiplied by two to this power, or divided by it, where they leave its square.
POWER = 128
LARGE, SMALL = 2.0**POWER, 2.0**-POWER
LOG_TWO = float(np.log(2.0))
#: The error of a step in the integral of the logarithm, which nothing else depends on.
MEAN_ERROR = 1e-7
#: Gauss's rule of three points on (0, 1).
POINTS = np.array([0.5 - 0.15**0.5, 0.5, 0.5 + 0.15**0.5])
WEIGHTS = np.array([5.0, 8.0, 5.0]) / 18.0


@native
def pushed_back(context: LaneFields, address: int, y: Reals) -> bool:
    """Make the deviations behind y tangent to the constraints of one level; whether it went."""
    count, room = context.n_deviations * context.n_state, context.deviation_room
    own = y + context.n_state
    call_program(address, context.time, y, context.parameters, context.input_values, own, room)
    if not room[count] > HEALTHY or not is_finite(count, room):
        return False
    for i in range(count):
        own[i] += room[i]
    return True


@native
def make_tangent(context: LaneFields, t: float, y: Reals) -> bool:
    """Make the deviations behind y tangent to the constraints; whether that went well."""
    clock = context.time
    clock[0] = t
    if context.position_tangent != 0 and not pushed_back(context, context.position_tangent, y):
        return False
    return context.velocity_tangent == 0 or pushed_back(context, context.velocity_tangent, y)


@native
def squared(count: int, values: Reals) -> float:
    """The sum of squares."""
    total = 0.0
    for i in range(count):
        total += values[i] * values[i]
    return total


@native
def begin_deviations(context: LaneFields, lane: int, t: float, y: Reals) -> bool:
    """Make the first deviations tangent to the constraints and orthonormal."""
    ns, count, powers = context.n_state, context.n_deviations, context.lane_powers
    largest, means = context.lane_largest, context.lane_means
    largest[lane], means[lane] = 1.0, 0.0
    fine = make_tangent(context, t, y)
    for c in range(count):
        powers[c * LANES + lane] = 0.0
        own = y + (c + 1) * ns
        for d in range(c):
            other, product = y + (d + 1) * ns, 0.0
            for i in range(ns):
                product += own[i] * other[i]
            for i in range(ns):
                own[i] -= product * other[i]
        size = sqrt(squared(ns, own))
        fine = fine and size > 1e-10
        for i in range(ns):
            own[i] /= size
    return fine


@native
def bound_deviations(
    context: LaneFields, last: Reals, other: Reals, most: Reals, before: Reals
) -> None:
    """most, before <- the larger of them and the last two terms of the deviations, relative."""
    ns, count, rtol = context.n_state, context.n_deviations, context.clock.rtol
    states, sizes = context.lane_states, context.deviation_sizes
    for c in range(count):
        for lane in range(LANES):
            sizes[lane] = 0.0
        for i in range((c + 1) * ns, (c + 2) * ns):
            for lane in range(LANES):
                sizes[lane] = max(sizes[lane], abs(states[i * LANES + lane]))
        for lane in range(LANES):
            sizes[lane] = 1.0 / (rtol * sizes[lane])
        for i in range((c + 1) * ns, (c + 2) * ns):
            for lane in range(LANES):
                most[lane] = max(most[lane], abs(last[i * LANES + lane]) * sizes[lane])
                before[lane] = max(before[lane], abs(other[i * LANES + lane]) * sizes[lane])
    if context.is_averaged > 0:
        i = (count + 1) * ns
        for lane in range(LANES):
            size = 1.0 / (max(rtol, MEAN_ERROR) * (1.0 + abs(states[i * LANES + lane])))
            most[lane] = max(most[lane], abs(last[i * LANES + lane]) * size)
            before[lane] = max(before[lane], abs(other[i * LANES + lane]) * size)


@native
def mean_integral(context: LaneFields, lane: int, elapsed: float) -> float:
    """The integral of L/t over the first part of the step of a lane, t from the start."""
    order, times, states = context.lane_order, context.lane_times, context.lane_states
    stride = context.n_full * LANES
    found = context.lane_found + (context.n_full * LANES + lane)
    first, rise = states[stride - LANES + lane], LOG_TWO * context.lane_powers[lane]
    begin = times[lane] - context.clock.t
    x0, x1, x2 = POINTS[0] * elapsed, POINTS[1] * elapsed, POINTS[2] * elapsed
    s0, s1, s2 = 0.0, 0.0, 0.0
    for k in range(order, 0, -1):  # side by side: each sum waits for itself alone
        term = found[k * stride]
        s0, s1, s2 = (s0 + term) * x0, (s1 + term) * x1, (s2 + term) * x2
    total = WEIGHTS[0] * (first + s0 + rise * x0) / (begin + x0)
    total += WEIGHTS[1] * (first + s1 + rise * x1) / (begin + x1)
    total += WEIGHTS[2] * (first + s2 + rise * x2) / (begin + x2)
    return float(total * elapsed)


@native
def look_at(context: LaneFields, lane: int, elapsed: float, y: Reals, found: Reals) -> bool:
    """Make the deviations behind a state in a step tangent, and note what they say so far.

    found <- the powers of two (k), the largest squared length of the first deviation, and the
    integral of L/t. The time has passed from the beginning of the step.
    """
    ns, count, powers = context.n_state, context.n_deviations, context.lane_powers
    largest, means, times = context.lane_largest, context.lane_means, context.lane_times
    if not make_tangent(context, times[lane] + elapsed, y):
        return False
    for c in range(count):
        found[c] = powers[c * LANES + lane]
    found[count] = max(largest[lane], squared(ns, y + ns))
    found[count + 1] = 0.0
    if context.is_averaged > 1:
        found[count + 1] = means[lane] + mean_integral(context, lane, elapsed)
    if context.is_averaged > 0:
        y[context.n_full - 1] += LOG_TWO * powers[lane] * elapsed
    return True


@native
def end_deviations(context: LaneFields, lane: int, y: Reals, found: Reals) -> None:
    """Take over what `look_at` found at the end of a step, and bring deviations back to size."""
    ns, count, powers = context.n_state, context.n_deviations, context.lane_powers
    largest, means = context.lane_largest, context.lane_means
    largest[lane], means[lane] = found[count], found[count + 1]
    for c in range(count):
        own = y + (c + 1) * ns
        size, factor = squared(ns, own), 1.0
        if size > LARGE:
            factor = SMALL
            powers[c * LANES + lane] += float(POWER)
        elif size < SMALL:
            factor = LARGE
            powers[c * LANES + lane] -= float(POWER)
        if factor != 1.0:
            for i in range(ns):
                own[i] *= factor
            if c == 0:
                largest[lane] *= factor * factor
