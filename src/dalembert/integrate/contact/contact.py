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
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...errors import DalembertError, ModelError
from ...model.constraints import FrictionLimit
from ...model.constraints.held_contacts import ContactPhase
from ...model.system import System
from ...typing import Array
from .. import advance as loop
from ..events.events import Event
from ..outcome import Outcome, Termination
from .contact_events import ContactEvent, contact_columns, contact_events, phases_of
from .contact_modes import ContactLog, several_solutions, undetermined
from .contact_values import ContactValues
from .coulomb import solve_contacts
from .coulomb_states import CoulombContact, NoSolutionError
from .impact_laws import jam
from .instant import Instant
from .resting import held_contacts, held_records, labels_of, stopped_state
from .simultaneous_impacts import struck_together
from .slip_end import slip_end

if TYPE_CHECKING:
    from ..driver import Driver

__all__ = ["Contacts"]

#: Impacts that follow from each other at one instant are resolved in at most this many rounds.
MOST_ROUNDS = 50
#: A flight shorter than this part of the longest one is no flight: the contact rests.
SHORT_FLIGHT = 1e-9
#: A gap at the start counts as closed where it is below this part of the way that it goes during
#: the run, at the speed and acceleration of the start.
TOUCHING = 1e-12
#: The most impacts and releases at one instant.
MOST_AT_ONCE = 200


class Contacts:
    """The one-sided constraints of a run and what happened at them."""

    def __init__(self, system: System) -> None:
        self.impacts: list[tuple[float, str]] = []
        self.log = ContactLog()
        self.longest = 0.0
        self.values = ContactValues(system.unilateral)
        self.stated, self.constraints = self.values.stated, self.values.constraints
        self.statistics: dict[str, float] = {}
        self.sentences: tuple[str, ...] = ()
        self._instant, self._decisions = -np.inf, 0
        self._watched = 0

    def __bool__(self) -> bool:
        return bool(self.stated)

    # -- events ------------------------------------------------------------------------------------

    def events(self, mode: tuple[str, ...]) -> list[ContactEvent]:
        """The events of the contacts in a mode, which end at zero upwards."""
        found = contact_events(mode, tuple(self.stated.values()))
        self._watched = len(found)
        return found

    def event_columns(self, driver: Driver) -> list[ca.SX]:
        """The events of the contacts as functions of the state."""
        first, last = driver.task.span
        return contact_columns(
            driver.kernel, driver.mode, tuple(self.stated.values()), abs(last - first)
        )

    def _phases(self, mode: Sequence[str]) -> dict[str, ContactPhase]:
        return phases_of(mode, tuple(self.stated.values()))

    # -- the start ---------------------------------------------------------------------------------

    def check_start(self, driver: Driver) -> None:
        """Reject invalid coefficients, and backward runs, where impacts have no unique past."""
        first, last = driver.task.span
        if self and last < first:
            raise ModelError(
                f"A motion with {self._first()} is followed forwards in time",
                seen=f"span {first:g} to {last:g}",
                remedy="start at the earlier time",
            )
        if not self:
            return
        self.values.check(driver, first)

    def _first(self) -> str:
        name, stated = next(iter(self.stated.items()))
        what = "friction limit" if isinstance(stated, FrictionLimit) else "one-sided constraint"
        return f"the {what} `{name}`"

    def consistent_values(self, driver: Driver, t: float) -> Termination | None:
        """Close resting contacts and let approaching ones hit; the termination if that fails.

        What is near is told by the way that a gap goes during the run, so that units do not matter.
        """
        y = driver.run.y.copy()
        length = abs(driver.task.span[1] - t)
        hitting: list[str] = []
        resting: list[str] = []
        for name, constraint in self.constraints.items():
            gap, speed, acceleration, way = self.values.start_gap(driver, constraint, t, y, length)
            if gap < -TOUCHING * way:
                continue
            if abs(speed) <= SHORT_FLIGHT * abs(acceleration) * length:
                resting.append(name)
            elif speed > 0:
                hitting.append(name)
        if hitting:
            return self._impact(driver, tuple(hitting), t, y)
        if resting or self.values.active_limits(()):
            try:
                instant = self.values.instant(driver, tuple(resting), t, y)
                mode, y = self._closing(driver, instant, resting, t, y)
            except DalembertError as error:
                return undetermined(t, error)
            self._note(driver, mode, t, "at the start")
            driver.enter(mode, t, y)
        return None

    def violated(self, driver: Driver) -> Termination | None:
        """End a motion along which a gap had the wrong sign; None if none had."""
        return self.values.violated(driver) if self else None

    def _short(self, t: float) -> float:
        """The least flight time: a fraction of the longest one, above clock resolution."""
        return SHORT_FLIGHT * self.longest + 16 * float(np.spacing(abs(t)))

    # -- on the way --------------------------------------------------------------------------------

    def watch(self, driver: Driver) -> None:
        """Start watching the contacts; values beyond zero by rounding have yet to cross it."""
        first = len(driver.task.events)
        values = driver.run.events_old[first : first + self._watched]
        np.minimum(values, -loop.JUST_OFF, out=values)

    def refined(
        self, driver: Driver, event: Event, elapsed: float, t: float, y: Array
    ) -> tuple[float, Any]:
        """The time and state of an event; those of the end of a slip in space come from before it.

        The direction of the slip is not defined at its end, where steps across it have noise.
        """
        if not isinstance(event, ContactEvent) or event.what not in ("stop", "turn"):
            return t, y
        constraint = self.stated[event.contact]
        phase = self._phases(driver.mode)[event.contact]
        if len(constraint.tangent) < 2 or phase.start is not None:
            return t, y
        found = slip_end(driver.run, self.values.slip_function(driver, constraint), elapsed)
        if found is None or (event.what == "turn" and found[0] > elapsed):
            return t, y
        return driver.run.clock.t_old + found[0], found[1]

    def handle(self, driver: Driver, event: Event, t: float, y: Array) -> Termination | None:
        """What a contact does at an event at (t, y)."""
        assert isinstance(event, ContactEvent)
        name, phases = event.contact, self._phases(driver.mode)
        if event.what == "impact":
            return self._impact(driver, (name,), t, y)
        if event.what == "release" and not self.values.rough & set(phases):
            mode = tuple(n for n in driver.mode if n != name)
            return self._switch(driver, mode, t, y, "its normal force vanished")
        try:
            mode, y, reason = self._changed(driver, event, phases, t, y)
        except DalembertError as error:
            return undetermined(t, error)
        return self._switch(driver, mode, t, y, reason, named="" if event.what == "turn" else name)

    def _changed(
        self,
        driver: Driver,
        event: ContactEvent,
        phases: Mapping[str, ContactPhase],
        t: float,
        y: Array,
    ) -> tuple[tuple[str, ...], Any, str]:
        """The mode after an event of closed contacts, the state in it, and why."""
        name, closed = event.contact, [n for n in phases if n in self.constraints]
        together = {n for n, p in phases.items() if name in (n, p.leader)}
        if event.what == "release":
            closed.remove(name)
        touching = tuple(n for n in phases if n in self.constraints)
        instant = self.values.instant(driver, touching, t, y)
        reasons = {
            "release": "its normal force vanished",
            "slide": "its friction reached the limit",
            "stop": "its slip ended",
            "turn": "its slip turned",
            "reverse": "the force that presses on it changed its sign",
        }
        if any(p.carried for p in phases.values()) and event.what in ("release", "slide"):
            # Others may take over what leaves its cone in this split of the forces.
            found, after = self._closing(driver, instant, touching, t, y)
            if found != tuple(driver.mode):
                return found, after, reasons[event.what]
        mode, y = self._closing(
            driver,
            instant,
            closed,
            t,
            y,
            stopped=[name] if event.what == "stop" else [],
            sliding=together if event.what == "slide" else (),
        )
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
        self.log.note(t, self._phases(driver.mode), self._phases(mode), reason, named)

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
        slow = 1e-9 * max(abs(gap.rate) for gap in self.values.gaps(driver, t, y).values())
        after = self.values.moved_aside(driver, mode, t, after, slow)
        step = min(abs(driver.run.clock.h), 0.5 * flight)
        return self._switch(driver, mode, t, after, "impact", step)

    def _collide(
        self, driver: Driver, names: tuple[str, ...], t: float, y: Array
    ) -> tuple[tuple[str, ...], tuple[str, ...], Any]:
        """Who hits, which closed contacts persist, and the state after; approaching ones hit.

        An impulse may drive others together, which hit in the next round. Rounds without end, as
        between two walls that meet, lose all their speed: they end as a plastic impact.
        """
        closed, after = self._loaded(driver, t, y), y
        hit: list[str] = []
        fastest = max(self.values.gaps(driver, t, y)[name].rate for name in names)
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
            after, opened = struck_together(self.values, driver, together, hitting, t, after)
            closed = tuple(n for n in closed if n not in opened)
            hit += [n for n in hitting if n not in hit]
            hitting = self._approaching(driver, closed, t, after, fastest)
        touching = self._touching(driver, t, after)
        after, opened = struck_together(self.values, driver, touching, (), t, after)
        return tuple(hit), tuple(n for n in closed if n not in opened), after

    def _loaded(self, driver: Driver, t: float, y: Array) -> tuple[str, ...]:
        """The closed contacts that push; the others only touch, and may be hit as open ones are."""
        closed = tuple(n for n in self._phases(driver.mode) if n in self.constraints)
        if not closed:
            return ()
        instant = self.values.instant(driver, closed, t, y)
        forces = held_contacts(instant, closed).forces
        noise = 1e-12 * np.abs(forces).max(initial=0.0)
        return tuple(
            n for n in closed if forces[instant.normal(n)] > max(noise, instant.force_rounding(n))
        )

    def _approaching(
        self, driver: Driver, closed: tuple[str, ...], t: float, y: Array, fastest: float
    ) -> tuple[str, ...]:
        """The open contacts that touch at this instant and move towards each other."""
        gaps = self.values.gaps(driver, t, y)
        touching = self._touching(driver, t, y)
        return tuple(n for n in touching if n not in closed and gaps[n].rate > 1e-9 * fastest)

    def _touching(self, driver: Driver, t: float, y: Array) -> tuple[str, ...]:
        """The contacts whose gap is closed, or will be within the least flight time."""
        short, closed = self._short(t), self._phases(driver.mode)
        gaps = self.values.gaps(driver, t, y).items()
        return tuple(n for n, g in gaps if n in closed or g.is_closed_within(short))

    def _rest(
        self, driver: Driver, closed: tuple[str, ...], t: float, y: Array
    ) -> tuple[tuple[str, ...], Any, float]:
        """The mode from here on, the state in it, and the least flight time.

        A contact rests that is held, or whose flight is too short for the clock or too low for the
        rounding of its gap.
        """
        touching = self._touching(driver, t, y)
        if not touching and not self.values.active_limits(()):
            return (), y, np.inf
        instant, gaps, flight = (
            self.values.instant(driver, touching, t, y),
            self.values.gaps(driver, t, y),
            np.inf,
        )
        values = self.values.coefficients(driver, t, y)
        inward = -held_contacts(instant, closed).accelerations
        resting = list(closed)
        still = [1e-12 * np.abs(each).max() for each in (instant.free, instant.velocity)]
        for name in touching:
            pull, leaving = float(inward[instant.normal(name)]), -gaps[name].rate
            if name in closed:
                continue
            if abs(pull) <= still[0] and abs(leaving) <= still[1]:
                resting.append(name)
            if pull <= 0 or name in resting:
                continue
            time, depth = 2 * leaving / pull, 0.5 * leaving**2 / pull
            if time < self._short(t) or depth < gaps[name].rounding:
                resting.append(name)
                if 0 < values[name][0] < 1 and leaving > 0:
                    self.log.accumulated[name] = t + time / (1 - values[name][0])
            else:
                flight = min(flight, time)
        ordered = [n for n in self.constraints if n in resting]
        mode, y = self._closing(driver, instant, ordered, t, y)
        return mode, y, flight

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
        values = self.values.coefficients(driver, t, y)
        sticking = {n for n, p in self._phases(driver.mode).items() if p.leading == 0}
        records = [
            self.values.record(
                instant,
                name,
                values[name],
                slips=name not in (*stopped, *sticking),
                grips=name not in sliding,
            )
            for name in (*resting, *self.values.active_limits(resting))
        ] + held_records(instant)
        span = abs(driver.task.span[1] - driver.task.span[0])
        try:
            found = solve_contacts(instant.matrix, instant.free, records)
        except NoSolutionError:
            return self._jammed(driver, instant, records, t, y)
        if found.others:
            self.log.explain(several_solutions(found, resting), [*resting, *instant.limits])
        rows = labels_of(instant, records, found, span)
        return rows.labels, stopped_state(instant, rows, y)

    def _jammed(
        self,
        driver: Driver,
        instant: Instant,
        records: Sequence[CoulombContact],
        t: float,
        y: Array,
    ) -> tuple[tuple[str, ...], Any]:
        """The mode after the tangential impact of contacts whose law has no accelerations."""
        # A given load has no impulse.
        pressed = [instant.struck(c) for c in records if c.normal >= 0 or c.presses is not None]
        found = jam(instant.velocity_matrix, instant.velocity, pressed)
        after = y + instant.change(found.impulses)
        names = [c.name for c in records if c.kind == "contact" and c.name not in found.opened]
        self.impacts += [
            (t, c.name) for c in pressed if c.kind != "limit" and found.impulses[c.normal] != 0
        ]
        there = self.values.instant(driver, tuple(instant.rows), t, after)
        moved = [c.name for c in records if c.tangents]
        stopped = [n for n in moved if not np.any(found.after[list(instant.tangents(n))])]
        mode, after = self._closing(driver, there, names, t, after, stopped=stopped)
        self.log.explain(
            "no solution of Coulomb's law was found (Painleve): tangential impact",
            [*names, *instant.limits],
        )
        return mode, after

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
            f"{', '.join(f'`{name}`' for name in self.stated)} do not converge there.",
        )
