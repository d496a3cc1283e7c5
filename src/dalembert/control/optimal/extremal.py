"""An extremal between two ends, with what is known of its being a minimum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from ...analysis.tables import Report, Section
from ...errors import RunError
from ...integrate.motion import Motion
from ...model.flow_system import Flow
from .group_conjugate_points import ConjugatePoint
from .shooting import LIMIT, Shot

__all__ = ["Branch", "ControlExtremal", "raise_unconverged"]


@dataclass(frozen=True)
class Branch:
    """One of the ways that were tried: its cost, and the residual of its boundary conditions."""

    name: str
    cost: float
    residual: float

    @property
    def converged(self) -> bool:
        return self.residual <= 1e-10

    @property
    def rank(self) -> tuple[bool, float]:
        """Sorts the ways that converged first, the cheapest before others."""
        return not self.converged, self.cost if self.converged else self.residual


def raise_unconverged(tried: Sequence[tuple[Branch, Shot]], what: str, remedy: str) -> NoReturn:
    """Raise the error of a search in which no way converged."""
    seen = "no arc could be followed"
    if tried:
        seen = f"residual {tried[0][0].residual:.2g} (limit {LIMIT:g})"
    raise RunError(what, seen, remedy)


@dataclass(frozen=True, eq=False, repr=False)
class ControlExtremal(Report):
    """A normal extremal that meets its boundary conditions.

    Attributes
    ----------
    flow : Flow
        Symbols and costates; simulate, derive and describe take it.
    motion : Motion
        The extremal itself; inputs and ``running_cost`` are among its quantities.
    span : (t0, t1)
    cost : float
        The integral of the cost.
    costates : mapping of name to float
        The costates at the start, in the symbols of the flow.
    residual : float
        The largest of the boundary conditions and of the gaps between arcs, relative to symbols
        that are larger than one.
    conjugate_points : tuple of ConjugatePoint
        Where neighbours with the same start meet it again, up to its end.
    branch : str
        Which of several ways this one is; empty where only one was looked for.
    branches : tuple of Branch
        The ways that were tried, the cheapest first.
    rank_deficit : int
        In how many directions the inputs do not move the end in the first order, within rounding.
        These are not conjugate points: neighbours do not leave in them.
    steps : int
        Newton steps of the search.
    notes : tuple of str
        How the search went.
    """

    flow: Flow
    motion: Motion
    span: tuple[float, float]
    cost: float
    costates: Mapping[str, float]
    residual: float
    conjugate_points: tuple[ConjugatePoint, ...]
    steps: int
    branch: str = ""
    branches: tuple[Branch, ...] = ()
    notes: tuple[str, ...] = ()
    has_free_end: bool = False
    rank_deficit: int = 0
    search: Callable[[float], tuple[ConjugatePoint, ...]] = field(default=lambda _: (), repr=False)

    @property
    def is_minimum(self) -> bool:
        """Whether no conjugate point lies before the end: a minimum among neighbouring curves."""
        return not self._points_before_the_end()

    def conjugate_until(self, time: float) -> tuple[ConjugatePoint, ...]:
        """Conjugate points of the same extremal followed to another time."""
        return self.search(time)

    def _points_before_the_end(self) -> list[ConjugatePoint]:
        end, near = self.span[1], 1e-6 * abs(self.span[1] - self.span[0])
        return [point for point in self.conjugate_points if abs(end - point.time) > near]

    def _title(self) -> str:
        return f"Extremal of {self.flow.name.removeprefix('extremals of ')}"

    def _sections(self) -> Sequence[Section]:
        found = [("cost", f"{self.cost:.10g} from t = {self.span[0]:g} to {self.span[1]:g}")]
        integrals = [name for name in ("H", "hamiltonian") if name in self.flow.integrals]
        found += [(name, f"{self.motion[name][0]:.10g}, constant") for name in integrals]
        found.append(("boundary", f"met to {self.residual:.0e} after {self.steps} Newton steps"))
        if self.branch:
            found.append(("branch", self.branch))
        costates = [(name, f"{value:.10g}") for name, value in self.costates.items()]
        ways = [(way.name, self._said(way)) for way in self.branches]
        return [
            ("Extremal", found),
            ("Costates at the start", costates),
            ("Minimum", [("second variation", self.verdict), *self._abnormal()]),
            ("Ways tried", ways if len(ways) > 1 else []),
            ("Search", [(f"note {k}", note) for k, note in enumerate(self.notes, start=1)]),
        ]

    def _abnormal(self) -> list[tuple[str, str]]:
        """What is known of abnormal extremals; this one is abnormal where the map loses rank."""
        if not self.rank_deficit:
            return [("abnormal", "extremals of this kind are not looked for")]
        count = f"{self.rank_deficit} direction{'s' * (self.rank_deficit > 1)}"
        said = f"inputs do not move the end in {count}: costates there are not unique"
        return [("endpoint map", said)]

    @staticmethod
    def _said(way: Branch) -> str:
        if way.converged:
            return f"cost {way.cost:.10g}"
        return f"did not converge, boundary off by {way.residual:.1e}"

    @property
    def verdict(self) -> str:
        """What the conjugate points say, in a sentence."""
        before = self._points_before_the_end()
        if before:
            others = f", and {len(before) - 1} more after it" if len(before) > 1 else ""
            return f"conjugate point at t = {before[0].time:.10g}{others}: not a minimum beyond it"
        if self.conjugate_points:
            said = "the end is conjugate to the start: a minimum up to there"
            return f"{said}, but neighbours of the same cost may arrive with it"
        said = "no conjugate point up to the end: a minimum among neighbouring curves"
        held = " (symbols with a free end were held in this test)" if self.has_free_end else ""
        return f"{said}; others may be cheaper{held}"
