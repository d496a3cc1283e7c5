"""One-sided constraints: impacts with restitution, resting contact, release.

Each set of closed contacts is a mode of its own: the system with those constraints held as two-sided. A gap g <= 0 that
reaches zero is an impact, whose jump of the velocities is the Gauss problem with right side -(1 + e) g_dot on the rows that
hit. A contact that would fly for too short a time, or that is pressed together, closes; it opens when its multiplier changes
sign, because it cannot pull.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..compiled.constrained_solve import solve
from ..compiled.unrolled import unrolled_solve
from ..errors import DalembertError, ModelError, StartError
from ..model.forces import rate
from ..model.system import System
from . import advance as loop
from .events import Event
from .outcome import Outcome

__all__ = ["Contacts"]

#: Impacts that follow from each other at one instant are resolved in at most this many rounds.
MOST_ROUNDS = 50
#: A flight shorter than this part of the longest one is no flight: the contact rests.
SHORT_FLIGHT = 1e-9
#: A gap at the start counts as closed, and one on the wrong side as rounding, where it is below these parts of the way that it
#: goes during the run, at the speed and acceleration of the start.
TOUCHING, WITHIN = 1e-12, 1e-9


class Contacts:
    """The one-sided constraints of a run and what happened at them."""

    def __init__(self, system: System) -> None:
        self.constraints = {c.name: c for c in system.unilateral}
        self.impacts: list[tuple[float, str]] = []
        self.longest = 0.0

    def __bool__(self) -> bool:
        return bool(self.constraints)

    # -- events --------------------------------------------------------------------------------------------------

    def events(self, mode: tuple[str, ...]) -> list[Event]:
        """For each constraint its gap where it is open, and its multiplier where it is closed; both end at zero upwards."""
        return [
            Event(c.expression, 1, True, ("release " if name in mode else "impact ") + name)
            for name, c in self.constraints.items()
        ]

    def event_columns(self, kernel: Any, mode: tuple[str, ...]) -> list[Any]:
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
    def _multipliers(kernel: Any) -> Any:
        if kernel.solved is not None:
            return kernel.solved.multipliers
        g = kernel.graph
        return unrolled_solve(g.metric, g.force, g.rows, g.right, augment=True).multipliers

    # -- the start -----------------------------------------------------------------------------------------------

    def check_start(self, driver: Any) -> None:
        """Refuse restitutions that are none, and runs backwards, in which an impact has no unique state before it."""
        first, last = driver.task.span
        if self and last < first:
            raise ModelError(
                f"A motion with the one-sided constraint `{next(iter(self.constraints))}` is followed forwards in time",
                seen=f"span {first:g} to {last:g}",
                remedy="start at the earlier time",
            )
        for name, constraint in self.constraints.items():
            if not 0 <= self._restitution(driver, name) <= 1:
                raise ModelError(
                    f"The restitution of the one-sided constraint `{name}` must lie between 0 and 1",
                    seen=f"{constraint.restitution} = {self._restitution(driver, name):g}",
                    remedy="0 is a plastic and 1 an elastic impact",
                )

    def settle_start(self, driver: Any, t: float) -> None:
        """Close the contacts that the start rests on, and let those hit that it moves into.

        What is near is told by the way that a gap goes during the run, so that units do not matter.
        """
        y = driver.run.y.copy()
        length = abs(driver.task.span[1] - t)
        hitting: list[str] = []
        resting: list[str] = []
        leaving: list[str] = []
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
            else:
                (hitting if speed > 0 else leaving).append(name)
        if hitting:
            self._impact(driver, tuple(hitting), t, y)
        else:
            closed = self._pressed(driver, tuple(resting), t, y)
            if closed:
                driver.enter(closed, t, y)
        for name in (*leaving, *resting):
            if name not in driver.mode:
                self._mark_open(driver, name)

    def _gap_and_rates(self, driver: Any, expression: sympy.Expr, t: float, y: Any) -> tuple[float, float, float]:
        """A gap and its first two derivatives along the motion that the run begins with."""
        kernel = driver.kernel
        time, state, *_ = inputs = kernel._inputs()
        rates = ca.SX.sym("rates", kernel.n_state)
        gap, speed = kernel.lower([expression]), kernel.lower([rate(expression)])
        acceleration = ca.jtimes(speed, state, rates) + ca.jacobian(speed, time)
        function = ca.Function("gap", [*inputs[:-1], rates], [gap, speed, acceleration])
        values = function(t, y, driver.task.parameters, driver.input_values(t, y), driver.run.stages[0, : kernel.n_state])
        found = [float(value) for value in values]
        return found[0], found[1], found[2]

    def _short(self, t: float) -> float:
        """The time of a flight that is none: a part of the longest one, and more than the clock can tell apart."""
        return SHORT_FLIGHT * self.longest + 16 * float(np.spacing(abs(t)))

    # -- on the way ----------------------------------------------------------------------------------------------

    def handle(self, driver: Any, event: Event, t: float, y: Any) -> tuple[Outcome, str] | None:
        """An impact or a release at (t, y)."""
        kind, name = event.name.split(" ", 1)
        if kind == "release":
            driver.switch(tuple(n for n in driver.mode if n != name), t, y)
            self._mark_open(driver, name)
            return None
        return self._impact(driver, (name,), t, y)

    def _impact(self, driver: Any, names: tuple[str, ...], t: float, y: Any) -> tuple[Outcome, str] | None:
        resting_before = driver.mode
        since = self.impacts[-1][0] if self.impacts else driver.task.span[0]
        self.longest = max(self.longest, t - since) or driver.task.span[1] - t
        try:
            names, closed, after = self._collide(driver, names, t, y)
        except DalembertError as error:
            return Outcome.SINGULAR, f"The impact at t = {t:.9g} is not determined: {error}"
        self.impacts += [(t, name) for name in names]
        resting, flight = list(closed), np.inf
        for name in names:
            leaving = -self._number(driver, rate(self.constraints[name].expression), t, after)
            inward = self._inward(driver, closed, name, t, after)
            time = 2 * leaving / inward if inward > 0 else np.inf
            if time < self._short(t):
                resting.append(name)
            else:
                flight = min(flight, time)
        mode = self._pressed(driver, tuple(n for n in self.constraints if n in resting), t, after)
        if mode != closed:
            after, _ = self._jump(driver, mode, (), t, after)
        step = min(abs(driver.run.clock[loop.H]), 0.5 * flight)
        driver.switch(mode, t, after, step)
        for name in (*names, *resting_before):
            if name not in mode:
                self._mark_open(driver, name)
        return None

    def _collide(self, driver: Any, names: tuple[str, ...], t: float, y: Any) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
        """Who hit, which closed contacts still hold, and the state after: all that touch and approach hit together.

        An impulse may drive others together, which hit in the next round, and a closed contact cannot hold by pulling.
        """
        closed, after, hit = driver.mode, y, list(names)
        fastest = max(self._number(driver, rate(self.constraints[n].expression), t, y) for n in names)
        hitting = tuple(n for n in self.constraints if n in names or n in self._approaching(driver, closed, t, y, fastest))
        for _ in range(MOST_ROUNDS):
            together = tuple(n for n in self.constraints if n in closed or n in hitting)
            before = after
            after, impulses = self._jump(driver, together, hitting, t, before)
            pulled = [n for n in closed if impulses[n] > 1e-12 * max(abs(value) for value in impulses.values())]
            if pulled:
                closed = tuple(n for n in closed if n not in pulled)
                after = before
                continue
            hit += [n for n in hitting if n not in hit]
            hitting = self._approaching(driver, closed, t, after, fastest)
            if not hitting:
                break
        return tuple(hit), closed, after

    def _approaching(self, driver: Any, closed: tuple[str, ...], t: float, y: Any, fastest: float) -> tuple[str, ...]:
        """The open contacts that touch at this instant and move towards each other."""
        found = []
        for name, constraint in self.constraints.items():
            if name in closed:
                continue
            speed = self._number(driver, rate(constraint.expression), t, y)
            gap = self._number(driver, constraint.expression, t, y)
            if speed > 1e-9 * fastest and gap + speed * self._short(t) >= 0:
                found.append(name)
        return tuple(found)

    def _mark_open(self, driver: Any, name: str) -> None:
        """A contact that has just opened stands at zero; its gap counts as negative until it is."""
        place = len(driver.task.events) + list(self.constraints).index(name)
        driver.run.events_old[place] = -loop.JUST_OFF

    def _pressed(self, driver: Any, names: tuple[str, ...], t: float, y: Any) -> tuple[str, ...]:
        """The contacts among `names` that stay closed: those whose multiplier pushes."""
        kept = names
        while kept:
            kernel = driver.kernel_for(kept)
            function = ca.Function("mu", kernel._inputs(), [self._multipliers(kernel)])
            values = np.asarray(self._call(driver, function, t, y)).ravel()
            pulling = [n for n in kept if values[kernel.equations.row_names.index(n)] > 0]
            if not pulling:
                break
            kept = tuple(n for n in kept if n not in pulling)
        return kept

    def _jump(
        self, driver: Any, mode: tuple[str, ...], hitting: tuple[str, ...], t: float, y: Any
    ) -> tuple[Any, dict[str, float]]:
        """The state after an impact and the impulses: the nearest velocities, in the kinetic metric, with restitution."""
        if not mode:
            return y, {}
        kernel = driver.kernel_for(mode)
        g = kernel.graph
        function = ca.Function("impact", kernel._inputs(), [g.metric, g.velocity.rows, g.velocity.residual, g.velocity.lift])
        metric, rows, residual, lift = (np.asarray(b, dtype=float) for b in self._call(driver, function, t, y))
        right = -residual.ravel()
        for name in hitting:
            place = kernel.equations.row_names.index(name)
            right[place] *= 1.0 + self._restitution(driver, name)
        solution = solve(metric, np.zeros(len(metric)), rows, right, gauge=True)
        impulses = dict(zip(kernel.equations.row_names, solution.multipliers, strict=True))
        return y + lift @ solution.z, {name: float(impulses[name]) for name in mode}

    def _inward(self, driver: Any, closed: tuple[str, ...], name: str, t: float, y: Any) -> float:
        """The second derivative of a gap when its contact is left open."""
        mode = tuple(n for n in self.constraints if n in closed or n == name)
        kernel = driver.kernel_for(mode)
        place = kernel.equations.row_names.index(name)
        g = kernel.graph
        function = ca.Function("gap", kernel._inputs(), [g.metric, g.force, g.rows, g.right])
        metric, force, rows, right = (np.asarray(b, dtype=float) for b in self._call(driver, function, t, y))
        others = [k for k in range(len(right)) if k != place]
        free = solve(metric, force.ravel(), rows[others], right.ravel()[others], gauge=True).z
        return float(rows[place] @ free - right[place, 0])

    def _restitution(self, driver: Any, name: str) -> float:
        value = self.constraints[name].restitution
        return float(value) if value.is_number else self._number(driver, value, 0.0, driver.start_state)

    def _number(self, driver: Any, expression: sympy.Expr, t: float, y: Any) -> float:
        kernel = driver.kernel
        function = ca.Function("number", kernel._inputs(), [kernel.lower([expression])])
        return float(np.asarray(self._call(driver, function, t, y)).ravel()[0])

    @staticmethod
    def _call(driver: Any, function: Any, t: float, y: Any) -> Any:
        return function(t, y, driver.task.parameters, driver.input_values(t, y), np.zeros(0))
