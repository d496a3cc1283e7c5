r"""Conjugate points of an extremal, counted by the phases of a path of Lagrangian planes.

The neighbours of an extremal that leave the same start span a plane of variations (X a, P a) with
X^T P symmetric. With an orthonormal basis of it W = P + i X is unitary, and the eigenvalues of the
symmetric unitary matrix

    U(t) = W W^T,      exp(i theta_j)

do not depend on the basis. A direction with X a = 0 has the eigenvalue one. By Legendre's condition
H_pp >= 0 phases pass through multiples of a full turn upwards only, so that a conjugate point is
where one of them completes a turn (Arnold 1967). Phases that have not left zero yet are no
conjugate points: near the start, where they grow like high powers of time, and for directions in
which the inputs never move the place, where they stay. No rank is decided.

The total phase, arg det U, is followed continuously. With the phases taken between 0 and 2 pi the
number of completed turns is

    N(t) = (arg det U - sum_j theta_j) / 2 pi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ...errors import RunError
from ...integrate.motion import Motion
from ...typing import Array
from .arc_sensitivities import Arcs
from .group_conjugate_points import ConjugatePoint

__all__ = ["CanonicalVariables", "ConjugateSearch", "symbols_and_costates"]

TURN = 2 * np.pi
#: Times of an extremal that are sampled, and arcs that carry the plane, each with a new basis.
SAMPLES, ARCS = 256, 16
#: Phases this near to a full turn have completed it; rounding moves fixed directions by less.
NEAR = 1e-7
#: Phases below this have not moved.
STILL = 1e-9
#: Times are halved until no phase moves further than this between two of them.
FARTHEST = 0.7
MOST_HALVINGS = 12
#: Units are chosen again until they change by less than this factor, and at most so often.
CONVERGED, MOST_UNITS = 30.0, 5
#: Points nearer to each other, or to the end, than this part of the span are one.
SAME = 1e-6


@dataclass(frozen=True)
class CanonicalVariables:
    """How variations of a state are read in canonical variables; N symbols, d directions.

    Attributes
    ----------
    read : callable
        X (d, k) and P (d, k) of a state (N,) and k of its variations (N, k): X^T P is symmetric on
        isotropic ones.
    sizes : callable
        The sizes (N,) of variations where those of X are `scale` (d,) and those of P their
        inverses.
    size : int
        d.
    is_fixed : bool
        Whether the rows of X belong to the same variables at all times, so that each may have its
        own unit.
    """

    read: Callable[[Array, Array], tuple[Array, Array]]
    sizes: Callable[[Array], Array]
    size: int
    is_fixed: bool


def symbols_and_costates(n: int, count: int, frame: Callable[[Array], Array]) -> CanonicalVariables:
    """Symbols x (n,) and costates, with a basis (n, d) of the directions in which x may move."""

    def read(state: Array, derivatives: Array) -> tuple[Array, Array]:
        basis = frame(state[:n])
        return basis.T @ derivatives[:n], basis.T @ derivatives[n : 2 * n]

    def sizes(scale: Array) -> Array:
        own = scale if count == n else np.full(n, scale[0])
        return np.concatenate([own, 1 / own])

    return CanonicalVariables(read, sizes, count, count == n)


@dataclass(frozen=True)
class _Sample:
    """One time with the phases (d,) there, in [-NEAR, 2 pi - NEAR), and the total phase."""

    time: float
    phases: Array
    total: float

    @property
    def turns(self) -> int:
        return round((self.total - float(np.sum(self.phases))) / TURN)


@dataclass(frozen=True, eq=False)
class ConjugateSearch:
    """The search for conjugate points of an extremal up to any time.

    Attributes
    ----------
    nodes, times : arrays (k, N) and (k,)
        States of the extremal on its way, the first one at its start.
    directions : array (N, d)
        In which the start may be changed: an isotropic plane.
    """

    arcs: Arcs
    nodes: Array
    times: Array
    directions: Array
    canonical: CanonicalVariables

    def points_and_deficit(self, until: float) -> tuple[tuple[ConjugatePoint, ...], int]:
        """Conjugate points, and in how many directions nothing moves the place in first order."""
        length = until - self.times[0]
        try:  # a little further, so that rounding does not hide a point at the end
            path = _Path(self, until + SAME * length)
        except RunError:
            path = _Path(self, until)
        samples = path.samples()
        found: list[ConjugatePoint] = []
        for time in path.completed(samples):
            time = min(time, until)
            if found and abs(time - found[-1].time) <= SAME * abs(length):
                found[-1] = ConjugatePoint(found[-1].time, found[-1].multiplicity + 1)
            else:
                found.append(ConjugatePoint(float(time), 1))
        return tuple(found), min(int(np.sum(np.abs(sample.phases) < STILL)) for sample in samples)

    def __call__(self, until: float) -> tuple[ConjugatePoint, ...]:
        return self.points_and_deficit(until)[0]


class _Path:
    """The plane of neighbours along one extremal, and its phases."""

    def __init__(self, search: ConjugateSearch, until: float) -> None:
        self.canonical, times = search.canonical, search.times
        self.first, self.last = float(times[0]), float(until)
        inner = [time for time in times[1:] if time < until]
        edges = np.concatenate([np.linspace(self.first, self.last, ARCS + 1), inner])
        self.edges = np.unique(edges)
        self.scale = np.ones(self.canonical.size)
        known = dict(zip(map(float, times), search.nodes, strict=True))
        for _ in range(MOST_UNITS):
            self.motions = self._followed(search, known)
            scale, self.scale = self.scale, self._scale()
            if np.max(np.abs(np.log(self.scale / scale))) < np.log(CONVERGED):
                break

    def _followed(self, search: ConjugateSearch, known: Mapping[float, Array]) -> list[Motion]:
        """Arcs that carry a basis of the plane, orthonormal at the start of each in its units."""
        found, state = [], known[self.first]
        sizes = self.canonical.sizes(self.scale)
        plane = search.directions
        for low, high in pairwise(self.edges):
            plane = np.linalg.qr(plane / sizes[:, None])[0] * sizes[:, None]
            arc = search.arcs.run(low, high, known.get(float(low), state), plane, sizes=sizes)
            found.append(arc.motion)
            state, plane = arc.state, arc.derivatives
        return found

    def _at(self, times: Array) -> Iterator[tuple[Array, Array]]:
        """X (d, d) and P (d, d) at times that rise, in a basis of each arc."""
        places = np.clip(np.searchsorted(self.edges, times) - 1, 0, len(self.motions) - 1)
        d = self.canonical.size
        for place in np.unique(places):
            for state in self.motions[place].sol(times[places == place]).T:
                size = (len(state) - 1) // (1 + d)
                plane = state[size : size * (1 + d)].reshape(d, size).T
                yield self.canonical.read(state[:size], plane)

    def _scale(self) -> Array:
        """Units of x in which X and P have the same size, those of P being their inverses."""
        ratios = []
        for X, P in self._at(np.linspace(self.first, self.last, 33)[8:]):
            rows = np.linalg.norm(X, axis=1) / np.maximum(np.linalg.norm(P, axis=1), 1e-300)
            whole = np.full(len(X), np.linalg.norm(X) / np.linalg.norm(P))
            ratios.append(rows if self.canonical.is_fixed else whole)
        middle = np.median(ratios, axis=0)
        scale: Array = np.sqrt(np.where((middle > 1e-100) & (middle < 1e100), middle, 1.0))
        return scale

    def _sample(
        self, time: float, before: _Sample | None, known: tuple[Array, Array] | None = None
    ) -> _Sample:
        X, P = next(iter(self._at(np.array([time])))) if known is None else known
        basis, _ = np.linalg.qr(np.vstack([X / self.scale[:, None], P * self.scale[:, None]]))
        d = len(X)
        W = basis[d:] + 1j * basis[:d]
        phases = np.angle(np.linalg.eigvals(W @ W.T))
        phases = np.sort(np.where(phases < -NEAR, phases + TURN, phases))
        total = float(np.sum(phases))
        if before is not None:
            total = before.total + _wrapped(total - before.total)
        return _Sample(float(time), phases, total)

    def samples(self) -> list[_Sample]:
        """The phases on a grid that is refined where they move fast."""
        times = np.linspace(self.first, self.last, SAMPLES + 1)
        found: list[_Sample] = []
        for time, known in zip(times, self._at(times), strict=True):
            if not found:
                found.append(self._sample(time, None, known))
                continue
            waiting, halvings = [time], 0
            while waiting:
                sample = self._sample(waiting[-1], found[-1], known if len(waiting) == 1 else None)
                is_far = _farthest(found[-1].phases, sample.phases) > FARTHEST
                if halvings < MOST_HALVINGS and is_far:
                    waiting.append(0.5 * (found[-1].time + waiting[-1]))
                    halvings += 1
                else:
                    found.append(sample)
                    waiting.pop()
        return found

    def completed(self, samples: list[_Sample]) -> list[float]:
        """The times at which phases complete a turn, in their order."""
        found, reached = list[float](), 0
        for before, after in pairwise(samples):
            while reached < after.turns:
                reached += 1
                found.append(self._time(before, after, reached))
        return found

    def _time(self, before: _Sample, after: _Sample, wanted: int) -> float:
        """When the number of turns reaches `wanted`: by halving, then by extrapolation."""
        low, high = before, after
        for _ in range(60):
            sample = self._sample(0.5 * (low.time + high.time), low)
            low, high = (low, sample) if sample.turns >= wanted else (sample, high)
            if abs(high.time - low.time) < 1e-14 * max(abs(self.last), abs(self.first)):
                break
        width = 3e-4 * (after.time - before.time)
        nearby = [self._sample(low.time - k * width, low) for k in (1, 2, 3)]
        behind = np.array([sample.phases[-1] - TURN for sample in nearby])
        is_close = abs(low.time - before.time) < 3 * abs(width)
        if is_close or np.any(np.diff(behind) >= 0) or behind[0] >= 0:
            return high.time
        origin = nearby[0].time
        return float(origin + _extrapolated([sample.time - origin for sample in nearby], behind))


def _wrapped(angle: float) -> float:
    return float((angle + np.pi) % TURN - np.pi)


def _farthest(first: Array, second: Array) -> float:
    """The least possible largest move of points on a circle that keep their order."""
    moves = (np.roll(second, k) - first for k in range(len(second)))
    return float(min(np.abs((move + np.pi) % TURN - np.pi).max() for move in moves))


def _extrapolated(times: list[float], values: Array) -> float:
    """Where the parabola t(v) through three points has v = 0 (Lagrange)."""
    found = 0.0
    for k, time in enumerate(times):
        others = [v for j, v in enumerate(values) if j != k]
        found += time * float(np.prod([v / (v - values[k]) for v in others]))
    return found
