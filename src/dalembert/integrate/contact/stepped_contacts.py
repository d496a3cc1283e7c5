"""Contacts of a run by time steps: they open and close within steps, without events and modes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError, StartError
from ...model.constraints import UnilateralConstraint
from ...model.system import System
from ...typing import Array
from ..outcome import Termination
from .contact_modes import ContactLog
from .contact_values import ContactValues

if TYPE_CHECKING:
    import casadi as ca

    from ..driver import Driver
    from ..events.events import Event
    from .contact_events import ContactEvent

__all__ = ["SteppedContacts"]

#: Solids overlap at the start where they do by more than this part of the largest of them.
OVERLAP = 1e-6
#: The step that looks at the contacts of the start, as a part of the first one.
TINY = 1e-9


class SteppedContacts:
    """The one-sided constraints of a run by time steps, and how well its steps solved them.

    It has the place of `Contacts` in a run.
    """

    def __init__(self, system: System) -> None:
        self.constraints = {
            c.name: c for c in system.unilateral if isinstance(c, UnilateralConstraint)
        }
        self.values = ContactValues(system.unilateral)
        self.impacts: list[tuple[float, str]] = []
        self.log = ContactLog()
        self.has_shapes = bool(system.shape_contacts)
        self.statistics: dict[str, float] = {}
        self.sentences: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.values.stated) or self.has_shapes

    def check_start(self, driver: Driver) -> None:
        """Reject coefficients that are none, and runs backwards in time."""
        first, last = driver.task.span
        if self and last < first:
            raise ModelError(
                "A motion with contacts is followed forwards in time",
                seen=f"span {first:g} to {last:g}",
                remedy="start at the earlier time",
            )
        if self.values.stated:
            self.values.check(driver, first)

    def consistent_values(self, driver: Driver, t: float) -> Termination | None:
        """Reject a start on the wrong side of a contact."""
        y, length = driver.run.y.copy(), abs(driver.task.span[1] - t)
        for constraint in self.constraints.values():
            self.values.start_gap(driver, constraint, t, y, length)
        if driver.task.equations.system.shape_contacts:
            self._check_shapes(driver, t)
        return None

    def _check_shapes(self, driver: Driver, t: float) -> None:
        """Reject solids that overlap at the start, by a step of almost no length."""
        run = driver.run
        shapes, before, stepping = run.context.fields.shapes, run.y.copy(), driver.task.stepping
        assert stepping is not None
        run.call("step_from", t, TINY * stepping.step, before, np.zeros(len(before)))
        run.y[:] = before
        size = float(np.max(shapes.arrays["radii"]))
        if shapes.deepest > OVERLAP * size:
            raise StartError(
                "Solids overlap at the start",
                seen=f"by {shapes.deepest:.3g}",
                remedy="move their bodies apart",
            )
        run.counts.evaluations = 0
        for name in ("n_sweeps", "n_unconverged", "n_simultaneous"):
            setattr(run.context.fields.contact, name, 0)
        run.context.fields.contact.worst = 0.0

    def violated(self, driver: Driver) -> Termination | None:
        """Report how the contacts of the steps were solved; steps end outside of contacts."""
        fields = driver.run.context.fields.contact
        self.statistics = {
            "contact_sweeps": fields.n_sweeps,
            "unconverged_steps": fields.n_unconverged,
            "contact_residual": fields.worst,
        }
        found = []
        if fields.n_unconverged:
            found.append(
                f"In {fields.n_unconverged} steps the contacts were solved to"
                f" {fields.worst:.2g} of their largest velocity only."
            )
        laws = {c.law for c in self.constraints.values() if c.restitution != 0}
        if fields.n_simultaneous and "newton" in laws:
            found.append(
                f"In {fields.n_simultaneous} steps several contacts with restitution hit at once:"
                " time steps decide that by Moreau's law, not by Newton's."
            )
        self.sentences = tuple(found)
        return None

    # -- what runs with events have ----------------------------------------------------------------

    def events(self, mode: tuple[str, ...]) -> list[ContactEvent]:
        """No events."""
        return []

    def event_columns(self, driver: Driver) -> list[ca.SX]:
        """No events."""
        return []

    def watch(self, driver: Driver) -> None:
        """Watch nothing."""

    def refined(
        self, driver: Driver, event: Event, elapsed: float, t: float, y: Array
    ) -> tuple[float, Any]:
        """The time and state of an event as they are."""
        return t, y

    def handle(self, driver: Driver, event: Event, t: float, y: Array) -> Termination | None:
        """Nothing happens at events."""
        return None
