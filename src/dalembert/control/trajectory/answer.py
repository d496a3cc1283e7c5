"""A trajectory that was found: its motion, inputs, costs, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...analysis.tables import Report, Section
from ...errors import ModelError
from ...integrate.input_table import InputTable
from ...integrate.motion import Motion
from ...typing import Array, Path
from ..optimal.extremal import ControlExtremal

if TYPE_CHECKING:
    from ...plotting.style import Picture, Style
    from .warm_starts import WarmStart

__all__ = ["InputArc", "LocalOptimum", "MeshRound", "Trajectory"]


class MeshRound(NamedTuple):
    """One solution on the way: intervals, iterations, cost of the program, replay distance."""

    intervals: int
    iterations: int
    cost: float
    replay_distance: float
    loss: float


class LocalOptimum(NamedTuple):
    """A local optimum that one of several starts led to."""

    cost: float
    status: str


class InputArc(NamedTuple):
    """A part of a trajectory on which an input is of one kind.

    Attributes
    ----------
    input : str
    kind : "bang", "singular" or "regular"
        At a bound; between bounds where the Hamiltonian is affine in the input; between bounds at
        its minimum.
    start, end : float
    bound : float or None
        The bound of a bang arc.
    switching : float
        The largest derivative of the Hamiltonian by the input on the arc, relative to that on the
        whole trajectory; it vanishes on singular arcs.
    """

    input: str
    kind: str
    start: float
    end: float
    bound: float | None
    switching: float


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory(Report):
    """A trajectory that `optimise` found.

    Attributes
    ----------
    motion : Motion
        What `simulate` makes of the inputs, from the first state of the plan on.
    inputs : mapping of name to InputTable
        Piecewise polynomials; ``simulate(..., inputs=answer.inputs)`` takes them.
    cost : float
        The cost of `motion`.
    transcribed_cost : float
        The cost that the nonlinear program reports.
    replay_distance : float
        The largest distance between `motion` and the plan at its nodes, relative to symbols that
        grow beyond one.
    bound_violation : float
        How far `motion` exceeds a bound on states or expressions, anywhere; inputs never do.
    loss : float
        An estimate of what the inputs lose against the minimum of the Hamiltonian; NaN where it is
        not known.
    parameters : mapping of name to value
        The optimised ones among them.
    t, states : arrays (N + 1,), (n, N + 1)
        The nodes of the plan.
    costates : array (n, N + 1)
        At the nodes, with the sign of `da.optimal`: minus the derivative of the least cost.
    rounds : tuple of MeshRound
    optima : tuple of LocalOptimum
        Where several starts led, the cheapest first.
    arcs : tuple of InputArc
        Where each input lies at a bound ("bang"), follows a singular arc, or the minimum of the
        Hamiltonian between bounds ("regular").
    status : str
        What IPOPT said.
    notes : tuple of str
    reason : str
        Why the transcription was taken, if none was asked for.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> effort = da.control.integral(u**2)
    >>> found = da.control.optimise(mass, effort, {x: 0}, {x: 1}, (0, 1), at_rest=True)
    >>> round(found.cost, 8), round(found.inputs["u"](0.25), 6), found.notes
    (12.0, 3.0, ())
    """

    motion: Motion
    inputs: Mapping[str, InputTable]
    cost: float
    transcribed_cost: float
    replay_distance: float
    bound_violation: float
    loss: float
    tolerance: float
    parameters: Mapping[str, float]
    t: Array
    states: Array
    costates: Array
    state_names: tuple[str, ...]
    transcription: str
    rounds: tuple[MeshRound, ...]
    status: str
    optima: tuple[LocalOptimum, ...] = ()
    arcs: tuple[InputArc, ...] = ()
    notes: tuple[str, ...] = field(default=())
    reason: str = ""
    judge: Callable[[], ControlExtremal] | None = field(default=None, repr=False)
    warm: WarmStart | None = field(default=None, repr=False)

    @property
    def span(self) -> tuple[float, float]:
        """When the trajectory starts and ends."""
        return float(self.t[0]), float(self.t[-1])

    @property
    def iterations(self) -> int:
        """Iterations of IPOPT on all meshes."""
        return sum(each.iterations for each in self.rounds)

    @property
    def is_within_tolerance(self) -> bool:
        """Whether replay distance, violation and loss are all below the tolerance."""
        size = max(1.0, abs(self.cost))
        worst = max(self.replay_distance, self.bound_violation)
        return worst <= self.tolerance and not self.loss > self.tolerance * size

    def extremal(self) -> ControlExtremal:
        """The extremal of Pontryagin that starts from the costates found here, with its judgement.

        It meets the same ends by shooting, and is searched for conjugate points: the second-order
        test, for problems of one integral between given states whose bounds are inactive.
        """
        if self.judge is None:
            raise ModelError("This trajectory does not know its problem", remedy="optimise again")
        return self.judge()

    def report(self) -> str:
        """The trajectory in words; printing it says the same."""
        return self.text()

    def plot(
        self, *, path: Path | None = None, style: str | Style = "light", title: str | None = None
    ) -> Picture:
        """Draw states along the motion with the nodes of the plan, and below them the inputs.

        Parameters
        ----------
        path : path, optional
            A .png, .svg or .pdf to write.
        style : "light", "dark" or Style
        title : str, optional
        """
        from ...plotting.trajectory_plot import plot_trajectory

        return plot_trajectory(self, path=path, style=style, title=title)

    def _title(self) -> str:
        return f"Trajectory of {self.motion.system.name}"

    def _sections(self) -> Sequence[Section]:
        first, last = self.span
        found = [
            ("cost", f"{self.cost:.10g} of the replayed motion; the program says"
             f" {self.transcribed_cost:.10g}"),
            ("time", f"from {first:.10g} to {last:.10g}"),
            ("replay", f"{self.replay_distance:.1e} from the plan at most (tolerance"
             f" {self.tolerance:.0e})"),
            ("bounds", "kept along the motion" if self.bound_violation <= 0
             else f"exceeded by {self.bound_violation:.1e} at most along the motion"),
        ]  # fmt: skip
        if np.isfinite(self.loss):
            found.append(("loss", f"about {self.loss:.1e} above the minimum of the Hamiltonian"))
        mesh = [
            (
                f"{own.intervals} intervals",
                f"{own.iterations} iterations, cost {own.cost:.10g}, replay"
                f" {own.replay_distance:.1e}",
            )
            for own in self.rounds
        ]
        arcs = [
            (f"{own.input} {own.kind}", f"from {own.start:.6g} to {own.end:.6g}"
             + (f" at {own.bound:g}" if own.bound is not None
                else f", switching function at most {own.switching:.1e}"))
            for own in self.arcs
        ]  # fmt: skip
        others = [
            (f"start {k}", f"{own.cost:.8g} ({own.status})")
            for k, own in enumerate(self.optima, start=1)
        ]
        return [
            ("Result", found),
            (f"Meshes ({self.transcription}{self.reason and ': ' + self.reason})", mesh),
            ("Arcs of the inputs", arcs if len(arcs) > 1 else []),
            ("Local optima met", others if len(others) > 1 else []),
            ("Notes", [(f"note {k}", note) for k, note in enumerate(self.notes, start=1)]),
        ]
