"""The laws that are asked of a random system: forms, native code, energy, virtual work, other words
and methods, reversal.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dalembert as da
from agreement import (
    LIMIT,
    Comparison,
    Instant,
    against,
    by_speeds,
    compared,
    evidence,
    extremals,
    gap_of,
)
from core_systems import values_of
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import DalembertError

from .random_endings import is_explained
from .random_methods import another_run
from .random_powers import PANELS, Along, Statement, quadrature_times
from .random_specimens import Specimen
from .random_variants import Variant, variant_of

__all__ = ["BOUNDS", "Findings", "look_at"]

#: The tolerance of the motions, and how long they are.
RTOL, SPAN = 1e-10, 1.0
#: A motion that needs more steps than this is past a state that is nearly singular, which has to
#: show.
MOST_STEPS = 30_000
#: What is left open is at most so much, relatively. Native code and interpreted forms agree to
#: rounding times the condition that `agreement.is_generic` allows; what is integrated may lie apart
#: by a multiple of the tolerance, see MULTIPLE.
BOUNDS = {
    "forms": LIMIT,
    "start": 1e-9,
    "native": LIMIT,
    "energy": LIMIT,
    "balance": 1e-7,
    "own balance": 1e-7,
    "virtual work": 1e-9,
}
#: Two runs over the same motion may lie as far apart as runs whose starts differ by this many times
#: the tolerance. Every step is held to a fiftieth of the tolerance, so that a run with some tens of
#: steps is off by about the tolerance times the growth of errors, and two runs by twice of it. The
#: growth is seen by three moved starts, which show a part of it; the rest of the factor covers
#: that, and steps beyond some tens.
MULTIPLE = 100.0
#: Where errors grow to more than this, relatively, two runs have nothing to do with each other in
#: the end.
UNRELATED = 0.1
#: The growth where a moved start runs into a singular state.
BEYOND = 1e18
#: Two states that are further apart than this, relatively, are on two motions.
ANOTHER_MOTION = 1e-6


@dataclass
class Findings:
    """What was found of one system; `row` is what is kept of it."""

    specimen: Specimen
    gaps: dict[str, float] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    ending: str = "none"
    counts: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0

    def gap(self, law: str, value: float, detail: str = "", bound: float | None = None) -> None:
        """What a law leaves open; more than its bound is a fault."""
        limit = BOUNDS[law] if bound is None else bound
        self.gaps[law] = max(value, self.gaps.get(law, 0.0)) if np.isfinite(value) else float("inf")
        if not value <= limit:
            self.fault(
                f"{law}: {value:.2e} is open, at most {limit:.1e} may be{detail and ' '}{detail}"
            )

    def fault(self, sentence: str) -> None:
        self.faults.append(f"{sentence} ({self.specimen.label})")

    def row(self) -> dict[str, Any]:
        """The line of the file of results."""
        s = self.specimen
        words = [
            w for w in ("gyroscopic", "forced", "parametric", "driven", "contact") if getattr(s, w)
        ]
        words += [w for w in ("switching", "in_units") if getattr(s, w, False)]
        topic = getattr(s, "topic", "")
        made = {
            "number": s.number,
            "n": s.n,
            "kinds": s.kinds,
            "stated": s.stated,
            "with": words,
            "topic": topic,
        }
        return made | {
            "gaps": {law: float(f"{gap:.2e}") for law, gap in self.gaps.items()},
            "counts": self.counts,
            "ending": self.ending,
            "faults": self.faults,
            "notes": self.notes,
            "seconds": round(self.seconds, 3),
        }


def look_at(specimen: Specimen) -> Findings:
    """All laws on one system."""
    found = Findings(specimen)
    began = time.process_time()
    try:
        _look(specimen, found)
    except DalembertError as error:
        found.ending = f"refused: {type(error).__name__}"
        found.fault(f"refused with {type(error).__name__}: {error}")
    found.seconds = time.process_time() - began
    return found


def _look(specimen: Specimen, found: Findings) -> None:
    system = specimen.system()
    instant = compare_forms(specimen, system, found)
    if instant is None:
        _without_state(system, specimen, found)
        return
    Trial(specimen, system, instant, found).run()


def compare_forms(specimen: Specimen, system: da.System, found: Findings) -> Instant | None:
    """Law 1: every form that applies says the same at a consistent state, which is given back."""
    comparison, instant = Comparison(), None
    for instant in compared(comparison, system, specimen.number, "", LIMIT, 1):
        if "d" in specimen.kinds:
            fewer = system.replacing(
                constraints=[c for c in system.constraints if not c.name.startswith("d")]
            )
            against(comparison, system, fewer, instant, ("with", "without what is implied"), "")
        if (
            set(specimen.kinds) == {"c"}
            and len(specimen.kinds) < specimen.n
            and not specimen.contact
        ):
            against(
                comparison,
                system,
                by_speeds(system, specimen.number),
                instant,
                ("by rows", "by an image"),
                "",
            )
        if specimen.number % 2 == 0 and specimen.kinds and "w" not in specimen.kinds:
            extremals(comparison, system, instant, specimen.number, "")
    found.gap("forms", comparison.worst, comparison.where)
    found.counts |= {
        "pairs": comparison.pairs,
        "silent": comparison.silent.total(),
        "states": int(instant is not None),
    }
    return instant


def _without_state(system: da.System, specimen: Specimen, found: Findings) -> None:
    """The search has found no generic consistent state: what the library says to that."""
    random = np.random.default_rng(specimen.number)
    start = {
        s.name: float(random.uniform(-0.8, 0.8)) for s in (*system.coordinates, *system.velocities)
    }
    try:
        da.simulate(system, start, (0.4, 0.4), parameters=values_of(system))
    except DalembertError as error:
        found.ending = f"no consistent state: {type(error).__name__}"
        return
    found.ending = "no generic state"


class Trial:
    """A motion of a system, and the laws that are asked along it."""

    def __init__(
        self, specimen: Specimen, system: da.System, instant: Instant, found: Findings
    ) -> None:
        self.specimen, self.system, self.instant, self.found = specimen, system, instant, found
        self.parameters = values_of(system)
        self.random = np.random.default_rng([3, specimen.number])
        self.first, self.last = instant.time, instant.time + SPAN
        algebra = system.__dict__.get("_shared_algebra") or GraphAlgebra()
        self.statement = Statement(system, algebra)

    def run(self) -> None:
        motion = self.simulate()
        self.found.ending = motion.outcome.value
        if not motion.success:
            motion = self.shortened(motion)
            if motion is None:
                return
        self.native(motion)
        along = self.balance(motion)
        self.virtual_work(motion, along)
        if self.specimen.number % 10 == 0 and not self.system.unilateral:
            self.own_balance(motion)
        if len(motion.impacts) > 1:
            self.found.notes.append("more than one impact: not compared with other runs")
            return
        self.other_words(motion)
        another_run(self, motion)
        if not self.system.unilateral:  # impacts have no way back: the library refuses that
            self.reversal(motion)

    def edges(self) -> Any:
        """The panels of the quadrature that is tried first."""
        return np.linspace(self.first, self.last, PANELS + 1)

    def simulate(self, edges: Any = None) -> da.Motion:
        """The motion from the consistent state, at the nodes of a quadrature."""
        symbols = (*self.system.coordinates, *self.system.velocities)
        values = np.concatenate([self.instant.q, self.instant.v])
        start = {symbol.name: float(value) for symbol, value in zip(symbols, values, strict=True)}
        at = quadrature_times(self.edges() if edges is None else edges)
        span = (self.first, self.last)
        motion = da.simulate(
            self.system,
            start,
            span,
            parameters=self.parameters,
            rtol=RTOL,
            at=at,
            max_steps=MOST_STEPS,
        )
        self.found.counts["steps"] = int(sum(len(segment.step_t) for segment in motion.segments))
        return motion

    def shortened(self, motion: da.Motion) -> da.Motion | None:
        """A motion that ended early must say why, and the state it has reached must bear that out;
        half of it is looked at.
        """
        self.found.notes.append(motion.message)
        reached = float(motion.segments[-1].step_t[-1])
        if not is_explained(motion, self.parameters):
            self.found.fault(f"an ending that its state does not explain: {motion.message}")
        self.last = self.first + (reached - self.first) / 2
        if self.last - self.first < 1e-3:
            return None
        again = self.simulate()
        if not again.success:
            self.found.fault(f"half of a motion that ended early ends early, too: {again.message}")
            return None
        return again

    def native(self, motion: da.Motion) -> None:
        """What native code says at the start: the state that was given, and what Lagrange's form
        says there, interpreted.
        """
        shown = np.array(
            [motion[s][0] for s in (*self.system.coordinates, *self.system.velocities)]
        )
        given = np.concatenate([self.instant.q, self.instant.v])
        self.found.gap("start", float(np.abs(shown - given).max() / max(1.0, np.abs(given).max())))
        form = "lagrange"
        word = evidence(da.derive(self.system, form), self.instant)
        if word is None or motion.segments[0].mode:
            return
        native = {
            "accelerations": np.array([motion[q.ddot][0] for q in self.system.coordinates]),
            "energy": np.array([motion.energy[0]]),
            "momenta": np.array([motion[p][0] for p in self.system.momenta]),
        }
        if self.system.constraints:
            reaction = motion.total_reaction[:, 0]
            native |= {"reaction": reaction, "power": np.array([reaction @ self.instant.v])}
        gap, what = gap_of(native, word)
        self.found.gap("native", gap, f"in {what}, form {motion.equations.form}")

    def balance(self, motion: da.Motion) -> Along:
        """Law 2: the energy changes by the work that is done; an impact may take some away and adds
        none.
        """
        along = self.statement.along(motion)
        largest = max(1.0, float(np.abs(motion.energy).max()))
        self.found.gap("energy", float(np.abs(along.energy - motion.energy).max()) / largest)
        gap = self.open_work(along, motion, self.edges())
        if (
            not gap <= BOUNDS["balance"] and not motion.impacts
        ):  # the panels may be too wide: the steps of the motion are not
            steps = np.unique(np.concatenate([segment.step_t for segment in motion.segments]))
            finer = self.simulate(steps)
            gap = self.open_work(self.statement.along(finer, 1), finer, steps)
        self.found.gap("balance", gap, f"form {motion.equations.form}")
        return along

    def open_work(self, along: Along, motion: da.Motion, edges: Any) -> float:
        """What the balance leaves open, relatively; an energy that an impact has taken away counts
        as none.
        """
        rest = float(along.energy[-1] - along.energy[0]) - along.work(edges)
        size = along.size(edges)
        if motion.impacts:  # a quadrature across an impact is as coarse as its panels
            return max(0.0, rest - 1e-2 * size * len(motion.impacts)) / size
        return abs(rest) / size

    def own_balance(self, motion: da.Motion) -> None:
        """The library's own balance, where it gives one: constraints that do work are refused."""
        try:
            balance = da.control.energy_balance(motion)
        except DalembertError:
            return
        self.found.counts["own balances"] = 1
        self.found.gap("own balance", balance.worst)

    def virtual_work(self, motion: da.Motion, along: Along) -> None:
        """Law 3: the ideal part of the reaction does no work on any virtual displacement
        (Chetaev's, where f is nonlinear).
        """
        if self.system.unilateral and (
            motion.impacts or any(segment.mode for segment in motion.segments)
        ):
            return
        for place, virtual in along.virtual:
            force = along.ideal[:, place]
            done = np.abs(virtual @ force).max(initial=0.0)
            self.found.gap(
                "virtual work",
                float(done / (1.0 + np.abs(force).max())),
                f"at t = {motion.t[place]:.6g}",
            )

    # -- runs against runs -------------------------------------------------------------------------

    def other_words(self, motion: da.Motion) -> None:
        """Law 4: the motion does not depend on units, nor on order, factors and repetition of
        constraints.
        """
        variant, last = variant_of(self.system, self.random), self.last
        other = self.in_other_words(variant, last)
        ended = other if not other.success else None
        if ended is not None:
            self.found.notes.append(f"in other words: {ended.message}")
            last = self.short_of(ended, self.first)
            other = self.in_other_words(variant, last)
            motion = self.rerun(motion, self.named(motion, motion.y[:, 0]), (self.first, last))
        symbols = (*self.system.coordinates, *self.system.velocities)
        scales = np.concatenate([variant.scales, variant.scales])
        there = np.array([other[s][-1] for s in symbols]) * scales
        here = np.array([motion[s][-1] for s in symbols])
        gap = float(np.abs(there - here).max() / max(1.0, np.abs(here).max()))
        if ended is not None and not self.is_excused(motion, ended, gap):
            self.found.fault(f"in other words the motion ends early: {ended.message}")
            return
        self.against_growth("other words", gap, lambda: self.growth(motion, self.first, last))

    def in_other_words(self, variant: Variant, last: float) -> da.Motion:
        """The motion of a variant up to a time."""
        start = variant.start(self.instant.q, self.instant.v)
        atol = RTOL * 1e-2 / max(1.0, float(variant.scales.max()))
        span, values = (self.first, last), self.parameters
        return da.simulate(
            variant.system, start, span, parameters=values, rtol=RTOL, atol=atol, at=span
        )

    def reversal(self, motion: da.Motion) -> None:
        """Law 5: back in time to the start."""
        end = {s.name: float(motion.y[k, -1]) for k, s in enumerate(motion.state)}
        back = self.rerun(motion, end, (self.last, self.first))
        if not back.success:
            self.lost_way_back(motion, back)
            return
        gap = float(np.abs(back.y[:, -1] - motion.y[:, 0]).max() / max(1.0, np.abs(motion.y).max()))
        self.against_growth("reversal", gap, lambda: self.growth(motion, self.last, self.first))

    def lost_way_back(self, motion: da.Motion, back: da.Motion) -> None:
        """The way back ends early: both ways are compared shortly before."""
        self.found.notes.append(f"back in time: {back.message}")
        before = self.short_of(back, self.last)
        forth, shorter = (
            self.rerun(motion, self.named(motion, motion.y[:, k]), (first, before)).y[:, -1]
            for k, first in ((0, self.first), (-1, self.last))
        )
        gap = float(np.abs(shorter - forth).max() / max(1.0, np.abs(motion.y).max()))
        if not self.is_excused(motion, back, gap):
            self.found.fault(f"back in time the motion ends early: {back.message}")
            return
        self.against_growth("reversal", gap, lambda: self.growth(motion, self.last, before))

    @staticmethod
    def short_of(ended: da.Motion, first: float) -> float:
        """A time shortly before the end of a motion from `first`."""
        reached = float(ended.segments[-1].step_t[-1])
        return reached - (reached - first) / 20

    def is_excused(self, motion: da.Motion, ended: da.Motion, gap: float) -> bool:
        """Whether a run may end where the motion goes on: its last state must be singular, and the
        motion another one by then,
        or nearly singular at this time, too."""
        if not is_explained(ended, self.parameters):
            return False
        reached = float(ended.segments[-1].step_t[-1])
        passing = self.rerun(motion, self.named(motion, motion.y[:, 0]), (self.first, reached))
        excused = (
            gap > ANOTHER_MOTION or not passing.success or is_explained(passing, self.parameters)
        )
        self.found.counts["ended in one run"] = int(excused)
        return excused

    def against_growth(self, law: str, gap: float, growth: Callable[[], float]) -> None:
        """A difference of two runs; where it is not small, it is measured by what small differences
        of the start become.
        """
        if gap <= 10 * RTOL:
            self.found.gap(law, gap, bound=10 * RTOL)
            return
        size = growth()
        self.found.counts[f"growth of {law}"] = round(size)
        if MULTIPLE * RTOL * size > UNRELATED:
            self.found.counts[f"unrelated: {law}"] = 1
            return
        self.found.gap(
            law, gap, f"with errors that grow {size:.3g} times", bound=MULTIPLE * RTOL * size
        )
        self.found.gaps[f"{law} by growth"] = gap / RTOL / size

    def rerun(
        self, motion: da.Motion, start: Mapping[str, float], span: tuple[float, float]
    ) -> da.Motion:
        return da.simulate(
            motion.equations, start, span, parameters=self.parameters, rtol=RTOL, at=span
        )

    def growth(self, motion: da.Motion, first: float, last: float) -> float:
        """How much small differences grow from one time to another, at least 1: by runs whose start
        is moved a little.

        It is moved by the difference that the law allows, so that also what is beyond linear growth
        is seen as it is.
        """
        base = motion.y[:, 0 if abs(motion.t[0] - first) < abs(motion.t[-1] - first) else -1]
        plain = self.rerun(motion, self.named(motion, base), (first, last))
        worst, size = 1.0, MULTIPLE * RTOL
        for _ in range(3):
            moved = base + size * self.random.standard_normal(len(base))
            other = self.rerun(motion, self.named(motion, moved), (first, last))
            if plain.success and not other.success and is_explained(other, self.parameters):
                return BEYOND  # it does not even get there
            if plain.success and other.success:
                worst = max(worst, float(np.abs(other.y[:, -1] - plain.y[:, -1]).max() / size))
        return worst

    @staticmethod
    def named(motion: da.Motion, values: Any) -> dict[str, float]:
        return {s.name: float(value) for s, value in zip(motion.state, values, strict=True)}
