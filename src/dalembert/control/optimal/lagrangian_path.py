r"""Conjugate points of an extremal in canonical letters, counted by the phases of a path of Lagrangian planes.

The neighbours of an extremal that leave the same start span a plane of variations (X a, P a) with X^T P symmetric. With an
orthonormal basis of it W = P + i X is unitary, and the eigenvalues of the symmetric unitary matrix

    U(t) = W W^T,      exp(i theta_j)

do not depend on the basis. A direction with X a = 0 has the eigenvalue one. By Legendre's condition H_pp >= 0 phases pass
through multiples of a full turn upwards only, so that a conjugate point is where one of them completes a turn (Arnold 1967).
Phases that have not left zero yet are no conjugate points: near the start, where they grow like high powers of time, and for
directions in which the inputs never move the place, where they stay. No rank is decided.

The total phase, arg det U, is followed continuously. With the phases taken between 0 and 2 pi the number of completed turns is

    N(t) = (arg det U - sum_j theta_j) / 2 pi.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import RunError
from .conjugate import ConjugatePoint
from .sensitivities import Arcs

__all__ = ["along_extremal", "rank_deficit"]

TURN = 2 * np.pi
#: How many times of an extremal are looked at, and how many arcs carry the plane, with a new basis for each.
SAMPLES, ARCS = 384, 16
#: Phases that are this near to a full turn have completed it: rounding moves those of directions that do not move by less.
NEAR = 1e-7
#: Phases below this have not moved.
STILL = 1e-9
#: Times are halved until no phase moves further than this between two of them.
FARTHEST = 0.7
MOST_HALVINGS = 12
#: Units are chosen again until they change by less than this factor, and at most so often.
SETTLED, MOST_UNITS = 30.0, 5
#: Points nearer to each other, or to the end, than this part of the span are one.
SAME = 1e-6


@dataclass(frozen=True)
class _Sample:
    """One time with the phases (d,) there, in [-NEAR, 2 pi - NEAR), and the total phase."""

    time: float
    phases: Any
    total: float

    @property
    def turns(self) -> int:
        return round((self.total - float(np.sum(self.phases))) / TURN)


def along_extremal(
    arcs: Arcs, nodes: Any, times: Any, directions: Any, frame: Callable[[Any], Any]
) -> Callable[[float], tuple[ConjugatePoint, ...]]:
    """The search for conjugate points of an extremal up to any time.

    Parameters
    ----------
    nodes, times : arrays (N, 2n) and (N,)
        States (x, lambda) of the extremal on its way, the first one at its start.
    directions : array (2n, d)
        In which the start may be changed: a Lagrangian plane, or an isotropic one where relations bind x.
    frame : callable
        An orthonormal basis (n, d) of the directions in which a place x may move.
    """

    def search(until: float) -> tuple[ConjugatePoint, ...]:
        length = until - times[0]
        try:  # a little further, so that rounding does not hide a point at the end
            path = _Path(arcs, nodes, times, directions, frame, until + SAME * length)
        except RunError:
            path = _Path(arcs, nodes, times, directions, frame, until)
        found: list[ConjugatePoint] = []
        for time in path.completed():
            time = min(time, until) if length > 0 else max(time, until)
            if found and abs(time - found[-1].time) <= SAME * abs(length):
                found[-1] = ConjugatePoint(found[-1].time, found[-1].multiplicity + 1)
            else:
                found.append(ConjugatePoint(float(time), 1))
        return tuple(found)

    return search


def rank_deficit(arcs: Arcs, nodes: Any, times: Any, directions: Any, frame: Callable[[Any], Any], until: float) -> int:
    """In how many directions the inputs do not move the place in the first order, within rounding; see `along_extremal`."""
    samples = _Path(arcs, nodes, times, directions, frame, until).samples()
    return min(int(np.sum(np.abs(sample.phases) < STILL)) for sample in samples)


class _Path:
    """The plane of neighbours along one extremal, and its phases."""

    def __init__(self, arcs: Arcs, nodes: Any, times: Any, directions: Any, frame: Any, until: float) -> None:
        self.frame, self.n = frame, len(directions) // 2
        self.count = directions.shape[1]
        self.first, self.last = float(times[0]), float(until)
        self.edges = np.linspace(self.first, self.last, ARCS + 1)
        inner = [time for time in times[1:] if abs(time - self.first) < abs(until - self.first)]
        self.edges = np.unique(np.concatenate([self.edges, inner]))
        if until < self.first:
            self.edges = self.edges[::-1]
        self.scale = np.ones(self.n)
        for _ in range(MOST_UNITS):
            self.motions = self._followed(arcs, dict(zip(map(float, times), nodes, strict=True)), directions)
            scale, self.scale = self.scale, self._scale()
            if np.max(np.abs(np.log(self.scale / scale))) < np.log(SETTLED):
                break

    def _followed(self, arcs: Arcs, known: Mapping[float, Any], directions: Any) -> list[Any]:
        """Arcs that carry a basis of the plane, each with one that is orthonormal at its start in the units of now."""
        found, state = [], known[self.first]
        sizes = np.concatenate([self.scale, 1 / self.scale])
        plane = directions
        for low, high in pairwise(self.edges):
            plane = np.linalg.qr(plane / sizes[:, None])[0] * sizes[:, None]
            arc = arcs.run(low, high, known.get(float(low), state), plane, sizes=sizes)
            found.append(arc.motion)
            state, plane = arc.state, arc.slopes
        return found

    def _at(self, time: float) -> tuple[Any, Any, Any]:
        """x (n,), X (n, d) and P (n, d), in a basis of the arc."""
        place = np.searchsorted(np.abs(self.edges - self.first), abs(time - self.first)) - 1
        motion = self.motions[int(np.clip(place, 0, len(self.motions) - 1))]
        state = motion.sol(np.array([time]))[:, 0]
        n, d = self.n, self.count
        slopes = state[2 * n : 2 * n * (1 + d)].reshape(d, 2 * n).T
        return state[:n], slopes[:n], slopes[n:]

    def _scale(self) -> Any:
        """Units of x in which X and P have the same size, those of P being their inverses: a canonical change of units."""
        ratios = []
        for time in np.linspace(self.first, self.last, 33)[8:]:
            place, X, P = self._at(time)
            if self.frame(place).shape[1] < self.n:  # the tangent spaces stay what they are
                ratios.append(np.full(self.n, np.linalg.norm(X) / np.linalg.norm(P)))
            else:
                ratios.append(np.linalg.norm(X, axis=1) / np.maximum(np.linalg.norm(P, axis=1), 1e-300))
        middle = np.median(ratios, axis=0)
        return np.sqrt(np.where((middle > 1e-100) & (middle < 1e100), middle, 1.0))

    def _sample(self, time: float, before: _Sample | None) -> _Sample:
        place, X, P = self._at(time)
        frame = self.frame(place)
        basis, _ = np.linalg.qr(np.vstack([frame.T @ (X / self.scale[:, None]), frame.T @ (P * self.scale[:, None])]))
        d = frame.shape[1]
        W = basis[d:] + 1j * basis[:d]
        phases = np.angle(np.linalg.eigvals(W @ W.T))
        phases = np.sort(np.where(phases < -NEAR, phases + TURN, phases))
        total = float(np.sum(phases))
        if before is not None:
            total = before.total + _wrapped(total - before.total)
        return _Sample(float(time), phases, total)

    def samples(self) -> list[_Sample]:
        found = [self._sample(self.first, None)]
        for time in np.linspace(self.first, self.last, SAMPLES + 1)[1:]:
            waiting, halvings = [time], 0
            while waiting:
                sample = self._sample(waiting[-1], found[-1])
                if halvings < MOST_HALVINGS and _farthest(found[-1].phases, sample.phases) > FARTHEST:
                    waiting.append(0.5 * (found[-1].time + waiting[-1]))
                    halvings += 1
                else:
                    found.append(sample)
                    waiting.pop()
        return found

    def completed(self) -> list[float]:
        """The times at which phases complete a turn, in their order."""
        samples, found, reached = self.samples(), list[float](), 0
        for before, after in pairwise(samples):
            while reached < after.turns:
                reached += 1
                found.append(self._time(before, after, reached))
        return found

    def _time(self, before: _Sample, after: _Sample, wanted: int) -> float:
        """When the number of turns reaches `wanted`: by halving, then from the phase that approaches its turn."""
        low, high = before, after
        for _ in range(60):
            sample = self._sample(0.5 * (low.time + high.time), low)
            low, high = (low, sample) if sample.turns >= wanted else (sample, high)
            if abs(high.time - low.time) < 1e-14 * max(abs(self.last), abs(self.first)):
                break
        width = 3e-4 * abs(after.time - before.time) * np.sign(self.last - self.first)
        nearby = [self._sample(low.time - k * width, low) for k in (1, 2, 3)]
        behind = np.array([sample.phases[-1] - TURN for sample in nearby])
        if abs(low.time - before.time) < 3 * abs(width) or np.any(np.diff(behind) >= 0) or behind[0] >= 0:
            return high.time
        return float(nearby[0].time + _extrapolated([sample.time - nearby[0].time for sample in nearby], behind))


def _wrapped(angle: float) -> float:
    return float((angle + np.pi) % TURN - np.pi)


def _farthest(first: Any, second: Any) -> float:
    """How far points on a circle have moved at least: the best of the matchings that keep their order."""
    gaps = (np.abs((np.roll(second, k) - first + np.pi) % TURN - np.pi).max() for k in range(len(second)))
    return float(min(gaps))


def _extrapolated(times: list[float], values: Any) -> float:
    """Where the parabola t(v) through three points has v = 0 (Lagrange)."""
    found = 0.0
    for k, time in enumerate(times):
        others = [v for j, v in enumerate(values) if j != k]
        found += time * float(np.prod([v / (v - values[k]) for v in others]))
    return found
