"""One-sided constraints: impacts, resting contact, sticking and slipping, release.

Each set of closed contacts, with what each does in its tangent plane, is a mode of its own: the
system with those constraints held as two-sided, and the friction of those that slip. A gap g <= 0
that reaches zero is an impact (`impact_laws`). A contact that would fly for too short a time, or
that is pressed together, closes; it opens when its normal force vanishes. A contact that sticks
slips where its friction reaches the limit, and one that slips is decided on where its slip ends.
All decisions are one problem in contact space (`coulomb`).

Where that problem has no solution although nothing approaches (Painleve), the contact jams: a
tangential impact stops the slip. Where it has several, contacts open that can. Both are noted in
`Motion.modes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...codegen.dense_function import DenseFunction
from ...codegen.passes.magnitudes import magnitudes
from ...errors import DalembertError, ModelError, StartError
from ...model.constraints.held_contacts import ContactPhase
from ...model.forces import rate
from ...model.system import System
from ...typing import Array
from .. import advance as loop
from ..events.events import Event
from ..outcome import Outcome, Termination
from .contact_events import ContactEvent, contact_columns, contact_events, phases_of
from .contact_modes import ContactChange, changes
from .coulomb import (
    Contact,
    ContactSolution,
    NoSolutionError,
    solve_contacts,
    solve_rows_of,
)
from .impact_laws import Impact, jam, moreau_impact, poisson_impact
from .instant import Gap, Instant, contact_space
from .resting import StickRows, labels_of

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
#: A slip below this part of its largest terms has stopped.
STOPPED = 1e-11
#: The most impacts and releases at one instant.
MOST_AT_ONCE = 200


class Contacts:
    """The one-sided constraints of a run and what happened at them."""

    def __init__(self, system: System) -> None:
        self.constraints = {c.name: c for c in system.unilateral}
        self.impacts: list[tuple[float, str]] = []
        self.changes: list[ContactChange] = []
        self.longest = 0.0
        self._rough: set[str] = set()
        self._functions: dict[tuple[Any, str], Any] = {}
        self._sizes = np.zeros(len(self.constraints))
        self._slip_sizes: dict[str, float] = dict.fromkeys(self.constraints, 0.0)
        self._instant, self._decisions = -np.inf, 0
        self._watched = 0

    def __bool__(self) -> bool:
        return bool(self.constraints)

    # -- events ------------------------------------------------------------------------------------

    def events(self, mode: tuple[str, ...]) -> list[ContactEvent]:
        """The events of the contacts in a mode, which end at zero upwards."""
        found = contact_events(mode, tuple(self.constraints.values()))
        self._watched = len(found)
        return found

    def event_columns(self, driver: Driver) -> list[ca.SX]:
        """The events of the contacts as functions of the state."""
        first, last = driver.task.span
        return contact_columns(
            driver.kernel, driver.mode, tuple(self.constraints.values()), abs(last - first)
        )

    def _phases(self, mode: Sequence[str]) -> dict[str, ContactPhase]:
        return phases_of(mode, tuple(self.constraints.values()))

    # -- the start ---------------------------------------------------------------------------------

    def check_start(self, driver: Driver) -> None:
        """Reject invalid coefficients, and backward runs, where impacts have no unique past."""
        first, last = driver.task.span
        if self and last < first:
            raise ModelError(
                f"A motion with the one-sided constraint `{next(iter(self.constraints))}` is"
                " followed forwards in time",
                seen=f"span {first:g} to {last:g}",
                remedy="start at the earlier time",
            )
        if not self:
            return
        values = self._coefficients(driver, first, driver.start_state)
        for name, constraint in self.constraints.items():
            number = values[name]
            for word, key in (("restitution", 0), ("tangential restitution", 1)):
                if not 0 <= number[key] <= 1:
                    stated = (constraint.restitution, constraint.tangential_restitution)[key]
                    raise ModelError(
                        f"The {word} of the one-sided constraint `{name}` must lie between 0"
                        " and 1",
                        seen=f"{stated} = {number[key]:g}",
                        remedy="0 is a plastic and 1 an elastic impact",
                    )
            kinetic, static = number[2:]
            if constraint.has_friction and not 0 <= kinetic <= static < np.inf:
                raise ModelError(
                    f"The friction of the one-sided constraint `{name}` must not be negative, and"
                    " not larger than its static friction",
                    seen=f"friction {kinetic:g}, static friction {static:g}",
                    remedy="correct the coefficients",
                )
            changing = (constraint.friction.free_symbols | constraint.static_friction.free_symbols)
            if constraint.has_friction and (static > 0 or changing - set(driver.kernel.parameters)):
                self._rough.add(name)

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
            try:
                instant = self._at(driver, tuple(resting), t, y)
                mode, y = self._closing(driver, instant, resting, t, y)
            except DalembertError as error:
                return _undetermined(t, error)
            self._note(driver, mode, t, "at the start")
            driver.enter(mode, t, y)
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
        values = driver.run.events_old[first : first + self._watched]
        np.minimum(values, -loop.JUST_OFF, out=values)

    def handle(self, driver: Driver, event: Event, t: float, y: Array) -> Termination | None:
        """What a contact does at an event at (t, y)."""
        assert isinstance(event, ContactEvent)
        name, phases = event.contact, self._phases(driver.mode)
        if event.what == "impact":
            return self._impact(driver, (name,), t, y)
        if event.what == "release" and not self._rough & set(phases):
            mode = tuple(n for n in driver.mode if n != name)
            return self._switch(driver, mode, t, y, "its normal force vanished")
        try:
            mode, y, reason = self._changed(driver, event, phases, t, y)
        except DalembertError as error:
            return _undetermined(t, error)
        return self._switch(driver, mode, t, y, reason, named=name)

    def _changed(
        self,
        driver: Driver,
        event: ContactEvent,
        phases: Mapping[str, ContactPhase],
        t: float,
        y: Array,
    ) -> tuple[tuple[str, ...], Any, str]:
        """The mode after an event of closed contacts, the state in it, and why."""
        name, closed = event.contact, list(phases)
        together = {n for n, p in phases.items() if name in (n, p.leader)}
        if event.what == "release":
            closed.remove(name)
        instant = self._at(driver, tuple(phases), t, y)
        mode, y = self._closing(
            driver,
            instant,
            closed,
            t,
            y,
            stopped=[name] if event.what == "stop" else [],
            sliding=together if event.what == "slide" else (),
        )
        reasons = {
            "release": "its normal force vanished",
            "slide": "its friction reached the limit",
            "stop": "its slip ended",
            "turn": "its slip turned",
        }
        return mode, y, reasons[event.what]

    def _switch(
        self,
        driver: Driver,
        mode: tuple[str, ...],
        t: float,
        y: Array,
        reason: str,
        step: float | None = None,
        named: str = "",
    ) -> Termination | None:
        self._note(driver, mode, t, reason, named)
        driver.switch(mode, t, y, step)
        return self._undecided(t)

    def _note(
        self, driver: Driver, mode: Sequence[str], t: float, reason: str, named: str = ""
    ) -> None:
        before, after = self._phases(driver.mode), self._phases(mode)
        self.changes += changes(t, before, after, self._remark or reason, named)
        self._remark = ""

    #: What is to be said of the next change instead of its usual reason.
    _remark = ""

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
        step = min(abs(driver.run.clock.h), 0.5 * flight)
        return self._switch(driver, mode, t, after, "impact", step)

    def _collide(
        self, driver: Driver, names: tuple[str, ...], t: float, y: Array
    ) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
        """Who hits, which closed contacts persist, and the state after; approaching ones hit.

        An impulse may drive others together, which hit in the next round. Rounds without end, as
        between two walls that meet, lose all their speed: they end as a plastic impact.
        """
        closed, after = tuple(self._phases(driver.mode)), y
        hit: list[str] = []
        fastest = max(self._gaps(driver, t, y)[name].rate for name in names)
        hitting = self._approaching(driver, closed, t, y, fastest) if fastest > 0 else ()
        for _ in range(MOST_ROUNDS):
            if not hitting:
                return tuple(hit), closed, after
            at_once = {self.constraints[name].law for name in hitting}
            touching = self._touching(driver, t, after)
            together = tuple(
                n
                for n in self.constraints
                if n in closed or n in hitting or (at_once != {"newton"} and n in touching)
            )
            after, opened = self._struck(driver, together, hitting, t, after)
            closed = tuple(n for n in closed if n not in opened)
            hit += [n for n in hitting if n not in hit]
            hitting = self._approaching(driver, closed, t, after, fastest)
        touching = self._touching(driver, t, after)
        after, opened = self._struck(driver, touching, (), t, after)
        return tuple(hit), tuple(n for n in closed if n not in opened), after

    def _struck(
        self,
        driver: Driver,
        together: tuple[str, ...],
        hitting: tuple[str, ...],
        t: float,
        y: Array,
    ) -> tuple[Any, frozenset[str]]:
        """The state after an impact of some contacts together, and those that open by it."""
        instant, values = self._at(driver, together, t, y), self._coefficients(driver, t, y)
        contacts = [
            replace(self._record(instant, name, values[name]), static=float(values[name][2]))
            for name in together
        ]
        laws = {self.constraints[name].law for name in hitting or together}
        if len(laws) > 1:
            raise ModelError(
                "Contacts that hit at one instant need one impact law",
                seen=", ".join(f"`{n}`: {self.constraints[n].law}" for n in hitting),
                remedy="give them the same law",
            )
        bounce = {name: values[name][0] for name in (hitting or ())}
        matrix, before = instant.velocity_matrix, instant.velocity
        found: Impact
        if laws == {"poisson"} and hitting:
            found = poisson_impact(matrix, before, contacts, bounce)
        else:
            grips = {name: values[name][1] for name in hitting}
            found = moreau_impact(matrix, before, contacts, bounce, grips)
        return y + instant.change(found.impulses), found.opened

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
        closed = self._phases(driver.mode)
        return tuple(
            n for n, g in gaps.items() if n in closed or g.gap + abs(g.rate) * short + g.rounding >= 0
        )

    def _rest(
        self, driver: Driver, closed: tuple[str, ...], t: float, y: Array
    ) -> tuple[tuple[str, ...], Any, float]:
        """The mode from here on, the state in it, and the least flight time.

        A contact rests that is held, or whose flight is too short for the clock or too low for the
        rounding of its gap.
        """
        touching = self._touching(driver, t, y)
        if not touching:
            return (), y, np.inf
        instant, gaps, flight = self._at(driver, touching, t, y), self._gaps(driver, t, y), np.inf
        values = self._coefficients(driver, t, y)
        inward = -self._held(instant, closed)
        resting = list(closed)
        for name in touching:
            pull = float(inward[instant.normal(name)])
            if name in closed or pull <= 0:
                continue
            leaving = -gaps[name].rate
            time, depth = 2 * leaving / pull, 0.5 * leaving**2 / pull
            if time < self._short(t) or depth < gaps[name].rounding:
                resting.append(name)
                if 0 < values[name][0] < 1 and leaving > 0:
                    end = t + time / (1 - values[name][0])
                    self._remark = f"its impacts accumulate at t = {end:.12g}"
            else:
                flight = min(flight, time)
        ordered = [n for n in self.constraints if n in resting]
        mode, y = self._closing(driver, instant, ordered, t, y)
        return mode, y, flight

    def _held(self, instant: Instant, closed: Sequence[str]) -> Array:
        """Accelerations in contact space with some contacts held, without friction."""
        records = [Contact(name, instant.normal(name)) for name in closed]
        found: Array = solve_contacts(instant.matrix, instant.free, records).accelerations
        return found

    def _closing(
        self,
        driver: Driver,
        instant: Instant,
        resting: Sequence[str],
        t: float,
        y: Array,
        stopped: Iterable[str] = (),
        sliding: Iterable[str] = (),
    ) -> tuple[tuple[str, ...], Any]:
        """The mode in which some contacts, whose gaps have no rate, go on; the state in it.

        Parameters
        ----------
        stopped, sliding : the contacts whose slip is over, and those that cannot stick
        """
        values = self._coefficients(driver, t, y)
        sticking = {n for n, p in self._phases(driver.mode).items() if p.leading == 0}
        records = [
            self._record(
                instant,
                name,
                values[name],
                slips=name not in (*stopped, *sticking),
                grips=name not in sliding,
            )
            for name in resting
        ]
        span = abs(driver.task.span[1] - driver.task.span[0])
        try:
            found = solve_contacts(instant.matrix, instant.free, records)
        except NoSolutionError:
            return self._jammed(driver, instant, records, t, y)
        if found.others:
            self._remark = _several(found, resting)
        rows = labels_of(instant, records, found, 1e-11 * span)
        return rows.labels, self._stopped(instant, rows, y)

    def _jammed(
        self, driver: Driver, instant: Instant, records: Sequence[Contact], t: float, y: Array
    ) -> tuple[tuple[str, ...], Any]:
        """The mode after the tangential impact of contacts for which Coulomb's law has no answer."""
        found = jam(instant.velocity_matrix, instant.velocity, records)
        after = y + instant.change(found.impulses)
        names = [c.name for c in records if c.name not in found.opened]
        self.impacts += [(t, c.name) for c in records if found.impulses[c.normal] > 0]
        there = self._at(driver, tuple(instant.rows), t, after)
        moved = [c.name for c in records if c.tangents]
        stopped = [
            n for n in moved if not np.any(found.after[list(instant.tangents(n))])
        ]
        mode, after = self._closing(driver, there, names, t, after, stopped=stopped)
        self._remark = "Coulomb's law had no solution (Painleve): tangential impact"
        return mode, after

    def _stopped(self, instant: Instant, rows: StickRows, y: Array) -> Any:
        """The state with no velocity in the rows of a mode, and none that closes other contacts."""
        wanted = dict.fromkeys(rows.zero, 0.0)
        for name, start in rows.starts.items():
            wanted |= dict(zip(instant.tangents(name), start.tolist(), strict=True))
        matrix, before = instant.velocity_matrix, instant.velocity
        noise = 1e-12 * np.abs(before).max(initial=0.0)
        for _ in range(len(instant.rows) + 1):
            held = sorted(wanted)
            part = Contacts._impulses(matrix, before, wanted)
            after = before + matrix[:, held] @ part
            closing = [
                normal
                for normal, _ in instant.rows.values()
                if normal not in wanted and after[normal] < min(-noise, before[normal] - noise)
            ]
            if not closing:
                break
            wanted |= dict.fromkeys(closing, 0.0)
        impulses = np.zeros(len(before))
        impulses[held] = part
        return y + instant.change(impulses)

    @staticmethod
    def _impulses(matrix: Array, before: Array, wanted: Mapping[int, float]) -> Any:
        """The impulses that give some rows their velocities."""
        held = sorted(wanted)
        if not held:
            return np.zeros(0)
        target = np.array([wanted[row] for row in held])
        return solve_rows_of(matrix[np.ix_(held, held)], target - before[held])

    def _record(
        self,
        instant: Instant,
        name: str,
        values: Sequence[float],
        slips: bool = False,
        grips: bool = True,
    ) -> Contact:
        """A contact as the solver takes it; with the direction of its slip if it `slips`."""
        rows = instant.tangents(name)
        kinetic, static = float(values[2]), float(values[3])
        if not rows:
            return Contact(name, instant.normal(name))
        slip = instant.velocity[list(rows)]
        size = float(np.linalg.norm(slip))
        direction = slip / size if slips and size > STOPPED * self._slip_sizes[name] else None
        return Contact(name, instant.normal(name), rows, kinetic, static, direction, 0.0, grips)

    # -- numbers -----------------------------------------------------------------------------------

    def _at(self, driver: Driver, names: tuple[str, ...], t: float, y: Array) -> Instant:
        """Gauss's problem of a state in the space of some contacts."""
        labels = tuple(
            ContactPhase(name, 0 if name in self._rough else None).label for name in names
        )
        kernel = driver.kernel_for(labels)
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
        found = contact_space(
            self._call(driver, function, t, y), kernel.equations.row_names, names
        )
        self._gaps(driver, t, y)
        return found

    def _coefficients(self, driver: Driver, t: float, y: Array) -> dict[str, Any]:
        """Restitution, tangential restitution, friction and static friction of each contact."""
        kernel = driver.kernel
        function = self._functions.get((kernel, "coefficients"))
        if function is None:
            columns = [
                kernel.lower([c.restitution, c.tangential_restitution, c.friction, c.static_friction])
                for c in self.constraints.values()
            ]
            function = DenseFunction(kernel._inputs(), columns)
            self._functions[kernel, "coefficients"] = function
        found = self._call(driver, function, t, y)
        return {name: block.ravel() for name, block in zip(self.constraints, found, strict=True)}

    @staticmethod
    def _call(driver: Driver, function: DenseFunction, t: float, y: Array) -> Any:
        return function(t, y, driver.task.parameters, driver.input_values(t, y), ())

    def _gaps(self, driver: Driver, t: float, y: Array) -> dict[str, Gap]:
        """The gaps at a state of the current mode."""
        found = self._gap_table(driver, driver.kernel, np.array([t]), np.array([y]))
        self._sizes = np.maximum(self._sizes, found[2, 0])
        for name, size in zip(self.constraints, found[3, 0], strict=True):
            self._slip_sizes[name] = max(self._slip_sizes[name], float(size))
        columns = zip(*found[:2, 0].tolist(), (ROUNDING * self._sizes).tolist(), strict=True)
        return {name: Gap(*values) for name, values in zip(self.constraints, columns, strict=True)}

    def _gap_table(self, driver: Driver, kernel: Kernel, times: Array, states: Array) -> Array:
        """Gaps, their rates, and sizes of the terms of gaps and slips: (4, times, contacts)."""
        function = self._functions.get((kernel, "gaps"))
        if function is None:
            inputs = kernel._inputs()
            expressions = [c.expression for c in self.constraints.values()]
            gaps = kernel.lower(expressions)
            rates = kernel.lower([rate(expression) for expression in expressions])
            slips = [
                ca.mmax(magnitudes(inputs, kernel.lower(list(c.tangent)))) if c.tangent else ca.SX(0)
                for c in self.constraints.values()
            ]
            columns = (gaps, rates, magnitudes(inputs, gaps), ca.vertcat(*slips))
            blocks = [ca.densify(block) for block in columns]
            function = self._functions[kernel, "gaps"] = ca.Function("gaps", inputs[:3], blocks)
        return np.array(
            [
                np.asarray(block).T
                for block in function(times[None], states.T, driver.task.parameters)
            ]
        )

    # -- what must hold ----------------------------------------------------------------------------

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
            gaps, rates, sizes, _ = self._gap_table(
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


def _undetermined(t: float, error: DalembertError) -> Termination:
    return Termination(
        Outcome.SINGULAR, f"The contacts at t = {t:.9g} are not determined: {error}"
    )


def _several(found: ContactSolution, resting: Sequence[str]) -> str:
    """Say that Coulomb's law has several solutions, and which was taken."""
    count = 1 + len(found.others)
    opened = [name for name in resting if not found.states[name].closed]
    taken = f"; {', '.join(f'`{n}`' for n in opened)} opens" if opened else ""
    return f"Coulomb's law had {count} solutions (Painleve){taken}"
