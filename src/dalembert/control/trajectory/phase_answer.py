"""A trajectory of several phases that was found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...analysis.tables import Report, Section
from ...errors import ModelError
from ...integrate.input_table import InputTable
from ...integrate.motion import Motion
from ...typing import Array, Path
from .answer import MeshRound, Trajectory

if TYPE_CHECKING:
    from ...plotting.style import Picture, Style

__all__ = ["PhasedTrajectory", "PlannedImpact"]


class PlannedImpact(NamedTuple):
    """An impact between two phases: its time, and the impulses of constraints and contacts.

    A positive impulse of a contact pushes its bodies apart.
    """

    time: float
    impulses: Mapping[str, float]


@dataclass(frozen=True, eq=False, repr=False)
class PhasedTrajectory(Report):
    """A trajectory that `optimise_phases` found.

    Attributes
    ----------
    phases : tuple of Trajectory
        One for each phase, with its own replay, inputs and costates.
    cost : float
        Of the replayed motions.
    transcribed_cost : float
        The cost that the nonlinear program reports.
    motion : Motion or None
        The whole run by `simulate` with its own impacts and contact modes, where all phases are
        modes of one system; None else.
    impacts : tuple of PlannedImpact
    replay_distance : float
        The largest distance between the plan and its replays: phase by phase, and of `motion` at
        the nodes and impacts.
    bound_violation, loss, tolerance, parameters, rounds, status, notes
        As in `Trajectory`; losses are added up.

    Examples
    --------
    >>> import dalembert as da
    >>> from dalembert.control import Phase, at_start, optimise_phases
    >>> h = da.coordinates("h")
    >>> floor = da.unilateral(h >= 0, restitution=0.5, name="floor")
    >>> ball = da.System([h], kinetic=h.dot**2 / 2, potential=9.81 * h, constraints=[floor])
    >>> flights = [Phase(ball, hits=["floor"]), Phase(ball)]
    >>> found = optimise_phases(flights, at_start(h), {h.dot: 0}, {h: 1, h.dot: 0})
    >>> round(found.cost, 6), [name for _, name in found.motion.impacts]
    (4.0, ['floor'])
    """

    phases: tuple[Trajectory, ...]
    cost: float
    transcribed_cost: float
    motion: Motion | None
    impacts: tuple[PlannedImpact, ...]
    replay_distance: float
    tolerance: float
    rounds: tuple[MeshRound, ...]
    status: str
    notes: tuple[str, ...] = field(default=())

    @property
    def span(self) -> tuple[float, float]:
        """When the trajectory starts and ends."""
        return self.phases[0].span[0], self.phases[-1].span[1]

    @property
    def parameters(self) -> Mapping[str, float]:
        """The parameters of all phases, the optimised ones among them."""
        found: dict[str, float] = {}
        for phase in self.phases:
            found |= dict(phase.parameters)
        return found

    @property
    def iterations(self) -> int:
        """Iterations of IPOPT on all meshes."""
        return sum(each.iterations for each in self.rounds)

    @property
    def bound_violation(self) -> float:
        """How far the motion of a phase exceeds a bound on states or expressions."""
        return max(phase.bound_violation for phase in self.phases)

    @property
    def loss(self) -> float:
        """An estimate of what the inputs lose against the minimum of the Hamiltonian."""
        return float(sum(phase.loss for phase in self.phases))

    @property
    def is_within_tolerance(self) -> bool:
        """Whether replay distance, violation and loss are all below the tolerance."""
        worst = max(self.replay_distance, self.bound_violation)
        size = max(1.0, abs(self.cost))
        return worst <= self.tolerance and not self.loss > self.tolerance * size

    @property
    def inputs(self) -> Mapping[str, InputTable]:
        """The inputs of all phases one after the other, where all have the same."""
        names = set(self.phases[0].inputs)
        if any(set(phase.inputs) != names for phase in self.phases):
            raise ModelError(
                "The phases have different inputs", ", ".join(sorted(names)),
                "take those of each phase: answer.phases[0].inputs",
            )  # fmt: skip
        return {name: joined([p.inputs[name] for p in self.phases]) for name in sorted(names)}

    def plot(
        self, *, path: Path | None = None, style: str | Style = "light", title: str | None = None
    ) -> Picture:
        """Draw coordinates, velocities and inputs of all phases over time.

        Parameters
        ----------
        path : path, optional
            A .png, .svg or .pdf to write.
        style : "light", "dark" or Style
        title : str, optional
        """
        from ...plotting.trajectory_plot import plot_phases

        return plot_phases(self.phases, path=path, style=style, title=title)

    def _title(self) -> str:
        return f"Trajectory of {len(self.phases)} phases"

    def _sections(self) -> Sequence[Section]:
        first, last = self.span
        found = [
            ("cost", f"{self.cost:.10g} of the replayed motion; the program says"
             f" {self.transcribed_cost:.10g}"),
            ("time", f"from {first:.10g} to {last:.10g}"),
            ("replay", f"{self.replay_distance:.1e} from the plan at most (tolerance"
             f" {self.tolerance:.0e})"
             + (", with the impacts of simulate" if self.motion is not None else "")),
            ("bounds", "kept along the motion" if self.bound_violation <= 0
             else f"exceeded by {self.bound_violation:.1e} at most along the motion"),
        ]  # fmt: skip
        phases = [
            (f"phase {k}", f"from {own.span[0]:.8g} to {own.span[1]:.8g}, {len(own.t) - 1}"
             " intervals")
            for k, own in enumerate(self.phases, start=1)
        ]  # fmt: skip
        impacts = [
            (f"t = {own.time:.8g}", ", ".join(f"{n} {v:.6g}" for n, v in own.impulses.items()))
            for own in self.impacts
        ]
        return [
            ("Result", found),
            ("Phases", phases),
            ("Impulses", impacts),
            ("Notes", [(f"note {k}", note) for k, note in enumerate(self.notes, start=1)]),
        ]


def joined(tables: Sequence[InputTable]) -> InputTable:
    """Tables that follow each other as one."""
    times = [tables[0].times, *(table.times[1:] for table in tables[1:])]
    whole: Array = np.concatenate(times)
    return InputTable(whole, np.concatenate([table.coefficients for table in tables]))
