"""Motions through positions where constraints lose rank, along the branch of continuous velocity.

Where the constraint Jacobian A loses rank, branches of configurations may meet: a four-bar whose
rods align can fold. The accelerations are not determined there, and their rounding errors grow like
1/s on the way, where s is the least singular value of A. A motion on one branch is an analytic
function of time all the same. It is read at nodes that end where s is still large, and continued by
Hermite's interpolation to a time as far behind the singular position, where the equations determine
the accelerations again. The continued state is moved to the constraints there and compared: a small
correction, and rates that agree with the derivative of the polynomial, certify that it is on the
same branch. Where they do not, the motion ends, and the reason is said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...runtime.gauss.constrained_solve import rank
from ...runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from .. import advance as loop
from ..outcome import Outcome, Termination
from .events import find_root
from .rank_watch import constraint_rows

if TYPE_CHECKING:
    from ...typing import Array
    from ..driver import Driver

__all__ = ["SingularCrossings", "drop_undetermined"]

#: Least singular values, relative to the largest, at which the interpolation may end.
SINGULAR_VALUES = (0.02, 0.05, 0.007, 0.002)
#: The length of the interpolation, in distances to the singular position, where the motion is long
#: enough, and the least; the number of nodes.
LENGTH, LEAST_LENGTH, NODES = 40.0, 8.0, 6
#: A correction is below this many relative tolerances, and this part of the singular value.
CORRECTION, PART = 1e3, 1e-3
#: Rates agree with the derivative of the polynomial to this part of their size.
RATES = 1e-5
#: The singular value behind the position is at least this part of the one before it.
RETURNS = 0.3
#: Velocities are determined where the singular value is at least this part of its largest.
DETERMINED = 1e-4
#: Halvings of the distance to the singular position at which steps are looked at.
HALVINGS = 60
#: Branches that cross have s proportional to the distance; a larger exponent means a tangency.
TANGENT = 1.5
#: How a solve ends that determines no accelerations.
UNDETERMINED = (SINGULAR, CONTRADICTORY)
#: Looks at a sign change of an event on the way.
LOOKS = 16


class NotCrossedError(Exception):
    """Why a singular position is not crossed, as a clause."""


@dataclass(frozen=True)
class HermitePolynomial:
    """The polynomial through states and rates at nodes, in Newton's form with divided differences.

    Attributes
    ----------
    nodes : array (2 k,)
        Times since `origin`, each twice, in units of `unit`.
    coefficients : array (2 k, n)
    """

    origin: float
    unit: float
    nodes: Array
    coefficients: Array

    @classmethod
    def through(cls, times: Array, states: Array, rates: Array) -> HermitePolynomial:
        """Interpolate states (k, n) and rates (k, n) at times (k,)."""
        origin, unit = float(times[-1]), float(abs(times[-1] - times[0]))
        nodes = np.repeat((times - origin) / unit, 2)
        table = np.repeat(states, 2, axis=0)
        coefficients = [table[0]]
        for order in range(1, len(nodes)):
            apart = nodes[order:] - nodes[:-order]
            same = apart == 0.0
            quotients = np.diff(table, axis=0) / np.where(same, 1.0, apart)[:, None]
            quotients[same] = unit * rates if order == 1 else 0.0
            table = quotients
            coefficients.append(table[0])
        return cls(origin, unit, nodes, np.array(coefficients))

    def __call__(self, t: float) -> tuple[Array, Array]:
        """The state and its rate at a time."""
        x = (t - self.origin) / self.unit
        value, rate = self.coefficients[-1], np.zeros_like(self.coefficients[-1])
        for node, coefficient in zip(self.nodes[-2::-1], self.coefficients[-2::-1], strict=True):
            rate = value + (x - node) * rate
            value = coefficient + (x - node) * value
        return value, rate / self.unit


class SingularCrossings:
    """The singular positions that a run has crossed.

    Attributes
    ----------
    times : list of float
    corrections : list of float
        What moved the continued states to the constraints, relative to their size.
    """

    def __init__(self) -> None:
        self.times: list[float] = []
        self.corrections: list[float] = []

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a user must know of a motion that crossed singular positions."""
        count = len(self.times)
        if not count:
            return ()
        return (
            f"The run was continued through {count} position{'s' * (count != 1)} where the"
            f" constraints lose rank (first near t = {self.times[0]:.9g}) and branches of the"
            " motion may meet: the branch with continuous velocity was taken (largest correction"
            f" {max(self.corrections):.1g}).",
        )

    def cross(self, driver: Driver, ending: Termination) -> Termination | None:
        """Go on behind the singular position at which a run ended; the termination if it cannot."""
        run, segment = driver.run, len(driver.record.segments)
        reason = _unsuited(driver)
        driver.record.flush(run)
        at, tried = run.t, []
        if reason is None:
            times, sizes = _approach(driver)
            for value in SINGULAR_VALUES:
                try:
                    return self._continued(driver, at, value * sizes.max(), times, sizes)
                except NotCrossedError as error:
                    tried.append(str(error))
                if len(driver.record.segments) != segment:
                    break
            reason = tried[0]
        sentence = f"{ending.sentence[:-1]}; it was not crossed, because {reason}."
        return Termination(ending.outcome, sentence, ending.diagnostics)

    def _continued(
        self, driver: Driver, at: float, least: float, times: Array, sizes: Array
    ) -> Termination | None:
        """Continue a run across the singular time `at` from where s falls below `least`."""
        large = np.flatnonzero(sizes >= least)
        if not large.size or large[-1] + 1 >= len(times):
            raise NotCrossedError("the constraints were nearly dependent all the way")
        last, after = large[-1], large[-1] + 1
        share = (sizes[last] - least) / max(sizes[last] - sizes[after], np.finfo(float).tiny)
        gap = at - (times[last] + share * (times[after] - times[last]))
        end = at - gap
        first = end - np.sign(gap) * min(LENGTH * abs(gap), abs(end - times[0]))
        _check_crossing(np.abs(times - at), sizes, abs(gap))
        if (end - first) * np.sign(gap) < LEAST_LENGTH * abs(gap) or gap == 0.0:
            raise NotCrossedError("the motion is too short before it to be continued")
        cosines = np.cos(np.pi * np.arange(NODES) / (NODES - 1))
        nodes = first + (end - first) * 0.5 * (1.0 - cosines)
        polynomial = _read_nodes(driver, nodes)
        before, behind = float(driver.run.t), at + gap
        driver.record.forget_events(before)
        y, correction = _landed(driver, polynomial, before, behind)
        stop = _events(driver, polynomial, before, behind)
        t, ended = (behind, None) if stop is None else stop
        y = y if stop is None else polynomial(t)[0]
        if (t - at) * gap >= 0.0:
            self.times.append(at)
            self.corrections.append(correction)
        cosines = np.cos(np.pi * np.arange(2 * NODES) / (2 * NODES - 1))
        inside = before + 0.5 * (t - before) * (1.0 - cosines)
        inside[-1] = t
        driver.record.interpolate(driver.run, driver.mode, inside, lambda s: polynomial(s)[0])
        driver.enter(driver.mode, t, y)
        return ended


def _unsuited(driver: Driver) -> str | None:
    """Why a run cannot be continued across a position, or None."""
    if driver.task.stepping is not None or not hasattr(driver.run, "stages"):
        return "the method does not choose its steps"
    if driver.kernel.equations.rechoose is not None:
        return 'the form has no multipliers; use form="lagrange"'
    if driver.sampler is not None:
        return "a sampled law acts"
    if not driver.kernel.is_constrained or not driver.task.project:
        return "states are not projected onto constraints"
    return None


def _approach(driver: Driver) -> tuple[Array, Array]:
    """Times of the open segment, each half as far from its end as the one before, with s."""
    times, states = driver.record.open_steps
    left = np.abs(times - times[-1])
    halves = left[0] * 0.5 ** np.arange(HALVINGS)
    places = np.unique(np.searchsorted(-left, -halves))
    return times[places], _singular_values(driver, times[places], states[places])


def drop_undetermined(driver: Driver) -> None:
    """Drop the last steps of a run that became singular, whose velocities rounding decides."""
    driver.record.flush(driver.run)
    if _unsuited(driver) is not None or not driver.kernel.n_positions:
        return
    times, sizes = _approach(driver)
    large = np.flatnonzero(sizes >= DETERMINED * sizes.max())
    if sizes[-1] < DETERMINED * sizes.max() and large.size:
        driver.record.drop_after(driver.run, float(times[large[-1]]))


def _singular_values(driver: Driver, times: Array, states: Array) -> Array:
    """The least singular value of A that the generic rank counts, at each step."""
    rows = np.array([constraint_rows(driver, t, y) for t, y in zip(times, states, strict=True)])
    longest = np.max(np.linalg.norm(rows, axis=2), axis=0)
    scaled = rows / np.where(longest > 0.0, longest, 1.0)[:, None]
    counted = max(rank(each).rank for each in scaled)
    squares = np.linalg.eigvalsh(scaled @ scaled.transpose(0, 2, 1))
    return np.asarray(np.sqrt(np.maximum(squares[:, -counted], 0.0)), dtype=float)


def _check_crossing(left: Array, sizes: Array, gap: float) -> None:
    """Reject branches that touch: continuous velocity does not tell them apart."""
    near, far = (np.interp(distance, left[::-1], sizes[::-1]) for distance in (gap, 2.0 * gap))
    if far > 2.0**TANGENT * near:
        raise NotCrossedError(
            "branches touch there, and continuous velocity does not tell them apart"
        )


def _read_nodes(driver: Driver, nodes: Array) -> HermitePolynomial:
    """Take the run back to the first node, and read states and rates at each."""
    run, record = driver.run, driver.record
    record.drop_after(run, float(nodes[0]))
    run.context.fields.watch_program = 0
    run.context.forget_choices()
    size = len(run.y)
    found: list[tuple[float, Array, Array]] = []
    out = np.zeros(size + 1)
    run.context.evaluate_on_constraints(run.t, run.y, run.stages[0])
    run.clock.h = float(nodes[1] - nodes[0])
    for node in nodes:
        run.clock.t_end = float(node)
        while run.t != node:
            code = run.call(run.entry, 64)
            if code == loop.EVENT:  # it was met before
                run.call("commit")
            elif code in (loop.NOT_COMPILED, loop.FULL):
                driver.decide(code)
            elif code not in (loop.BUDGET, loop.END):
                raise NotCrossedError("the steps before it failed")
        if run.context.evaluate(run.t, run.y, out) in UNDETERMINED:
            raise NotCrossedError("the accelerations before it are not determined")
        found.append((run.t, run.y.copy(), out[:size].copy()))
    record.flush(run)
    times, states, rates = (np.array(part) for part in zip(*found, strict=True))
    return HermitePolynomial.through(times, states, rates)


def _landed(
    driver: Driver, polynomial: HermitePolynomial, before: float, behind: float
) -> tuple[Array, float]:
    """The state on the constraints behind a singular position, and its relative correction."""
    context, (expected, rate) = driver.run.context, polynomial(behind)
    y, out = expected.copy(), np.zeros(len(expected) + 1)
    context.forget_choices()
    status = context.project(behind, y, 0, 1)
    if status != 0 or context.evaluate(behind, y, out) in UNDETERMINED:
        raise NotCrossedError("no configuration of this branch lies behind it")
    pair = np.array([before, behind]), np.array([driver.run.y, y])
    at_start, at_end = _singular_values(driver, *pair)
    correction = float(np.max(np.abs(y - expected)) / (1.0 + np.max(np.abs(expected))))
    differs = float(np.max(np.abs(out[:-1] - rate)) / (1.0 + np.max(np.abs(rate))))
    if at_end < RETURNS * at_start:
        raise NotCrossedError("the constraints remain nearly dependent behind it")
    if correction > min(CORRECTION * driver.task.rtol, PART * at_end) or differs > RATES:
        raise NotCrossedError(
            f"the smooth continuation does not satisfy the equations behind it (correction"
            f" {correction:.1g}, rates off by {differs:.1g})"
        )
    return y, correction


def _events(
    driver: Driver, polynomial: HermitePolynomial, before: float, behind: float
) -> tuple[float, Termination] | None:
    """Record the user's events on the way; where and how the run ends if one of them stops it."""
    context, count = driver.run.context, len(driver.mode_events)
    if not count:
        return None
    times = np.linspace(before, behind, LOOKS + 1)
    values = np.array([context.events(t, polynomial(t)[0], count) for t in times])
    met = []
    for number, place in zip(*np.nonzero((values[:-1] * values[1:] < 0).T), strict=True):
        event = driver.mode_events[number]
        if number >= len(driver.record.found):
            raise NotCrossedError("a contact or a switch of the equations is met on the way")
        rises = values[place + 1, number] > values[place, number]
        if event.direction and (event.direction > 0) != rises:
            continue
        value = _value_of(driver, polynomial, int(number))
        ends = times[place], times[place + 1]
        met.append((find_root(value, *ends, *values[place : place + 2, number]), int(number)))
    for t, number in sorted(met, key=lambda pair: abs(pair[0] - before)):
        found = driver.record.found[number]
        found.times.append(t)
        found.states.append(driver.shown(t, polynomial(t)[0]))
        if found.event.terminal:
            sentence = f"Stopped by the event `{found.event.name}` at t = {t:.9g}."
            return t, Termination(Outcome.STOPPED, sentence)
    return None


def _value_of(
    driver: Driver, polynomial: HermitePolynomial, number: int
) -> Callable[[float], float]:
    context, count = driver.run.context, len(driver.mode_events)
    return lambda t: float(context.events(t, polynomial(t)[0], count)[number])
