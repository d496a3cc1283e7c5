"""One-sided constraints: impacts with restitution, resting contact, release.

Each set of closed contacts is a mode of its own: the system with those constraints held as
two-sided. A gap g <= 0 that reaches zero is an impact, whose jump of the velocities is the Gauss
problem with right side -(1 + e) g_dot on the rows that hit. A contact that would fly for too short
a time, or that is pressed together, closes; it opens when its multiplier changes sign, because it
cannot pull. Which of several contacts stay closed is a complementarity problem (`contact_problem`).

What a rebuild of contact as complementarity, with friction, should replace: several contacts that
hit at one instant do so by Newton's law in rounds (`_collide`), whose result depends on the order
in which impulses drive others together, and each mode is a system derived and compiled for itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
import sympy

from ...codegen.dense_function import DenseFunction
from ...codegen.passes.magnitudes import magnitudes
from ...codegen.passes.unrolled import unrolled_solve
from ...errors import DalembertError, ModelError, StartError
from ...model.forces import rate
from ...model.system import System
from ...typing import Array
from .. import advance as loop
from ..events.events import Event
from ..outcome import Outcome, Termination
from .contact_problem import ContactProblem, active_set

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel
    from ..driver import Driver

__all__ = ["Contacts"]

#: Impacts that follow from each other at one instant are resolved in at most this many rounds.
MOST_ROUNDS = 50
#: A flight shorter than this part of the longest one is no flight: the contact rests.
SHORT_FLIGHT = 1e-9
#: A gap at the start counts as closed, and one on the wrong side as rounding, where it is below
#: these parts of the way that it goes during the run, at the speed and acceleration of the start.
TOUCHING, WITHIN = 1e-12, 1e-9
#: A gap above this part of its largest term violates contact: with projection, and without.
VIOLATED, VIOLATED_UNPROJECTED = 1e-9, 1e-6
#: What is below this part of the terms of a gap is rounding.
ROUNDING = 16 * 2.0**-52
#: The most impacts and releases at one instant.
MOST_AT_ONCE = 200


class Gap(NamedTuple):
    """A gap at an instant: its value, its rate, and what rounding makes of it."""

    gap: float
    rate: float
    rounding: float


class Contacts:
    """The one-sided constraints of a run and what happened at them."""

    def __init__(self, system: System) -> None:
        self.constraints = {c.name: c for c in system.unilateral}
        self.impacts: list[tuple[float, str]] = []
        self.longest = 0.0
        self._functions: dict[tuple[Any, str], Any] = {}
        self._sizes = np.zeros(len(self.constraints))
        self._instant, self._decisions = -np.inf, 0

    def __bool__(self) -> bool:
        return bool(self.constraints)

    # -- events ------------------------------------------------------------------------------------

    def events(self, mode: tuple[str, ...]) -> list[Event]:
        """Each constraint's gap if open, its multiplier if closed; both end at zero upwards."""
        return [
            Event(c.expression, 1, True, ("release " if name in mode else "impact ") + name)
            for name, c in self.constraints.items()
        ]

    def event_columns(self, kernel: Kernel, mode: tuple[str, ...]) -> list[sympy.Expr]:
        """The events of the contacts as functions of the state."""
        columns = []
        multipliers: Any = self._multipliers(kernel) if mode else None
        for name, constraint in self.constraints.items():
            if name in mode:
                columns.append(multipliers[kernel.equations.row_names.index(name)])
            else:
                columns.append(kernel.lower([constraint.expression]))
        return columns

    @staticmethod
    def _multipliers(kernel: Kernel) -> ca.SX:
        if kernel.solved is not None:
            return kernel.solved.multipliers
        g = kernel.graph
        return unrolled_solve(g.metric, g.force, g.rows, g.right, augment=True).multipliers

    # -- the start ---------------------------------------------------------------------------------

    def check_start(self, driver: Driver) -> None:
        """Reject invalid restitutions, and backward runs, where impacts have no unique past."""
        first, last = driver.task.span
        if self and last < first:
            raise ModelError(
                f"A motion with the one-sided constraint `{next(iter(self.constraints))}` is"
                " followed forwards in time",
                seen=f"span {first:g} to {last:g}",
                remedy="start at the earlier time",
            )
        for name, constraint in self.constraints.items():
            if not 0 <= self._restitution(driver, name) <= 1:
                raise ModelError(
                    f"The restitution of the one-sided constraint `{name}` must lie between 0"
                    " and 1",
                    seen=f"{constraint.restitution} = {self._restitution(driver, name):g}",
                    remedy="0 is a plastic and 1 an elastic impact",
                )

    def consistent_values(self, driver: Driver, t: float) -> Termination | None:
        """Close resting contacts and let approaching ones hit; the termination if that fails.

        What is near is told by the way that a gap goes during the run, so that units do not matter.
        """
        y = driver.run.y.copy()
        length = abs(driver.task.span[1] - t)
        hitting: list[str] = []
        resting: list[str] = []
        for name, constraint in self.constraints.items():
            gap, speed, acceleration = self._gap_and_rates(driver, constraint.expression, t, y)
            way = abs(speed) * length + 0.5 * abs(acceleration) * length**2
            if gap > (WITHIN * way if way > 0 else WITHIN):
                raise StartError(
                    f"The start breaks the one-sided constraint `{name}`",
                    seen=f"{constraint.expression} = {gap:.3g}, which must not be positive",
                    remedy="start on the allowed side",
                )
            if gap < -TOUCHING * way:
                continue
            if abs(speed) <= SHORT_FLIGHT * abs(acceleration) * length:
                resting.append(name)
            elif speed > 0:
                hitting.append(name)
        if hitting:
            return self._impact(driver, tuple(hitting), t, y)
        if resting:
            closed = active_set(resting, self._at(driver, tuple(resting), t, y).accelerations)
            driver.enter(closed, t, y)
        return None

    def _gap_and_rates(
        self, driver: Driver, expression: sympy.Expr, t: float, y: Array
    ) -> tuple[float, float, float]:
        """A gap and its first two derivatives along the motion that the run begins with."""
        kernel = driver.kernel
        time, state, *_ = inputs = kernel._inputs()
        rates = ca.SX.sym("rates", kernel.n_state)
        gap, speed = kernel.lower([expression]), kernel.lower([rate(expression)])
        acceleration = ca.jtimes(speed, state, rates) + ca.jacobian(speed, time)
        function = ca.Function("gap", [*inputs[:-1], rates], [gap, speed, acceleration])
        values = function(
            t,
            y,
            driver.task.parameters,
            driver.input_values(t, y),
            driver.run.stages[0, : kernel.n_state],
        )
        found = [float(value) for value in values]
        return found[0], found[1], found[2]

    def _short(self, t: float) -> float:
        """The least flight time: a fraction of the longest one, above clock resolution."""
        return SHORT_FLIGHT * self.longest + 16 * float(np.spacing(abs(t)))

    # -- on the way --------------------------------------------------------------------------------

    def watch(self, driver: Driver) -> None:
        """Start watching the contacts; values beyond zero by rounding have yet to cross it."""
        first = len(driver.task.events)
        values = driver.run.events_old[first : first + len(self.constraints)]
        np.minimum(values, -loop.JUST_OFF, out=values)

    def handle(self, driver: Driver, event: Event, t: float, y: Array) -> Termination | None:
        """An impact or a release at (t, y)."""
        kind, name = event.name.split(" ", 1)
        if kind == "impact":
            return self._impact(driver, (name,), t, y)
        driver.switch(tuple(n for n in driver.mode if n != name), t, y)
        return self._undecided(t)

    def _impact(
        self, driver: Driver, names: tuple[str, ...], t: float, y: Array
    ) -> Termination | None:
        since = self.impacts[-1][0] if self.impacts else driver.task.span[0]
        self.longest = max(self.longest, t - since) or driver.task.span[1] - t
        try:
            hit, closed, after = self._collide(driver, names, t, y)
            mode, after, flight = self._rest(driver, closed, t, after)
        except DalembertError as error:
            return Termination(
                Outcome.SINGULAR, f"The impact at t = {t:.9g} is not determined: {error}"
            )
        self.impacts += [(t, name) for name in hit]
        driver.switch(mode, t, after, min(abs(driver.run.clock.h), 0.5 * flight))
        return self._undecided(t)

    def _collide(
        self, driver: Driver, names: tuple[str, ...], t: float, y: Array
    ) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
        """Who hits, which closed contacts persist, and the state after; approaching ones hit.

        An impulse may drive others together, which hit in the next round, and a closed contact
        cannot hold by pulling. Rounds without end, as between two walls that meet, lose all their
        speed: they end as a plastic impact.
        """
        closed, after = driver.mode, y
        hit: list[str] = []
        fastest = max(self._gaps(driver, t, y)[name].rate for name in names)
        hitting = self._approaching(driver, closed, t, y, fastest) if fastest > 0 else ()
        for _ in range(MOST_ROUNDS):
            if not hitting:
                return tuple(hit), closed, after
            together = tuple(n for n in self.constraints if n in closed or n in hitting)
            factors = {name: 1.0 + self._restitution(driver, name) for name in hitting}
            found = self._at(driver, together, t, after).velocities(together, factors)
            pulled = [n for n in closed if found.multipliers[n] > 0]
            if pulled:
                closed = tuple(n for n in closed if n not in pulled)
                continue
            after = after + found.change
            hit += [n for n in hitting if n not in hit]
            hitting = self._approaching(driver, closed, t, after, fastest)
        touching = self._touching(driver, t, after)
        instant = self._at(driver, touching, t, after)
        return (
            tuple(hit),
            closed,
            after + instant.velocities(active_set(touching, instant.velocities)).change,
        )

    def _approaching(
        self, driver: Driver, closed: tuple[str, ...], t: float, y: Array, fastest: float
    ) -> tuple[str, ...]:
        """The open contacts that touch at this instant and move towards each other."""
        gaps = self._gaps(driver, t, y)
        touching = self._touching(driver, t, y)
        return tuple(n for n in touching if n not in closed and gaps[n].rate > 1e-9 * fastest)

    def _touching(self, driver: Driver, t: float, y: Array) -> tuple[str, ...]:
        """The contacts whose gap is closed, or will be within the least flight time."""
        short, gaps = self._short(t), self._gaps(driver, t, y)
        return tuple(
            n
            for n, g in gaps.items()
            if n in driver.mode or g.gap + abs(g.rate) * short + g.rounding >= 0
        )

    def _rest(
        self, driver: Driver, closed: tuple[str, ...], t: float, y: Array
    ) -> tuple[tuple[str, ...], Any, float]:
        """Contacts closed from here on, the state with zero gap rates, and the least flight time.

        A contact rests that is held, or whose flight is too short for the clock or too low for the
        rounding of its gap.
        """
        touching = self._touching(driver, t, y)
        if not touching:
            return (), y, np.inf
        instant, gaps, flight = self._at(driver, touching, t, y), self._gaps(driver, t, y), np.inf
        inward = instant.accelerations(closed).rates
        resting = list(closed)
        for name in touching:
            if name in closed or inward[name] <= 0:
                continue
            leaving = -gaps[name].rate
            time, depth = 2 * leaving / inward[name], 0.5 * leaving**2 / inward[name]
            if time < self._short(t) or depth < gaps[name].rounding:
                resting.append(name)
            else:
                flight = min(flight, time)
        mode = active_set([n for n in self.constraints if n in resting], instant.accelerations)
        if mode != closed:
            others = [n for n in touching if n not in mode]
            also = active_set(others, instant.velocities, fixed=mode)
            y = y + instant.velocities((*mode, *also)).change
        return mode, y, flight

    def _at(self, driver: Driver, names: tuple[str, ...], t: float, y: Array) -> ContactProblem:
        """The contact problem of some contacts at a state."""
        kernel = driver.kernel_for(names)
        function = self._functions.get((kernel, "instant"))
        if function is None:
            g = kernel.graph
            blocks = [
                g.metric,
                g.force,
                g.rows,
                g.right,
                g.velocity.rows,
                g.velocity.residual,
                g.velocity.lift,
            ]
            function = self._functions[kernel, "instant"] = DenseFunction(kernel._inputs(), blocks)
        metric, force, rows, right, velocity_rows, residual, lift = self._call(
            driver, function, t, y
        )
        places = {name: kernel.equations.row_names.index(name) for name in names}
        return ContactProblem(
            metric,
            force.ravel(),
            rows,
            right.ravel(),
            velocity_rows,
            residual.ravel(),
            lift,
            places,
        )

    def _restitution(self, driver: Driver, name: str) -> float:
        value = self.constraints[name].restitution
        if value.is_number:
            return float(value)
        kernel = driver.kernel
        function = DenseFunction(kernel._inputs(), [kernel.lower([value])])
        return float(self._call(driver, function, 0.0, driver.start_state)[0].item())

    @staticmethod
    def _call(driver: Driver, function: DenseFunction, t: float, y: Array) -> Any:
        return function(t, y, driver.task.parameters, driver.input_values(t, y), ())

    # -- what must hold ----------------------------------------------------------------------------

    def _gaps(self, driver: Driver, t: float, y: Array) -> dict[str, Gap]:
        """The gaps at a state of the current mode."""
        found = self._gap_table(driver, driver.kernel, np.array([t]), np.array([y]))
        self._sizes = np.maximum(self._sizes, found[2, 0])
        columns = zip(*found[:2, 0].tolist(), (ROUNDING * self._sizes).tolist(), strict=True)
        return {name: Gap(*values) for name, values in zip(self.constraints, columns, strict=True)}

    def _gap_table(self, driver: Driver, kernel: Kernel, times: Array, states: Array) -> Array:
        """Gaps, their rates, and term sizes at a kernel's states: (3, times, contacts)."""
        function = self._functions.get((kernel, "gaps"))
        if function is None:
            inputs = kernel._inputs()
            expressions = [c.expression for c in self.constraints.values()]
            gaps = kernel.lower(expressions)
            rates = kernel.lower([rate(expression) for expression in expressions])
            blocks = [ca.densify(block) for block in (gaps, rates, magnitudes(inputs, gaps))]
            function = self._functions[kernel, "gaps"] = ca.Function("gaps", inputs[:3], blocks)
        return np.array(
            [
                np.asarray(block).T
                for block in function(times[None], states.T, driver.task.parameters)
            ]
        )

    def _undecided(self, t: float) -> Termination | None:
        """End a run that decides on its contacts too often at one instant; else None."""
        if t - self._instant > self._short(t):
            self._instant, self._decisions = t, 0
        self._decisions += 1
        if self._decisions <= MOST_AT_ONCE:
            return None
        return Termination(
            Outcome.UNSOLVED,
            f"More than {MOST_AT_ONCE} impacts and releases fall on t = {t:.9g}: the contacts "
            f"{', '.join(f'`{name}`' for name in self.constraints)} do not converge there.",
        )

    def violated(self, driver: Driver) -> Termination | None:
        """End a motion along which a gap had the wrong sign; None if none had."""
        least = VIOLATED if driver.task.project else VIOLATED_UNPROJECTED
        for segment in driver.record.segments:
            times = segment.step_t
            gaps, rates, sizes = self._gap_table(
                driver, segment.context.kernel, times, segment.step_y
            )
            self._sizes = np.maximum(self._sizes, sizes.max(axis=0))
            # An impact is met no finer than the clock goes.
            wrong = ~(
                gaps
                <= least * self._sizes + 16 * np.abs(rates) * np.spacing(np.abs(times))[:, None]
            )
            if wrong.any():
                place = int(np.argmax(wrong.any(axis=1)))
                number = int(np.argmax(wrong[place]))
                return Termination(
                    Outcome.UNSOLVED,
                    f"The one-sided constraint `{list(self.constraints)[number]}` is violated"
                    f" by {gaps[place, number]:.3g} at t = {times[place]:.9g}: an impact was"
                    " missed, and what follows is not a motion of the system.",
                )
        return None
