r"""Conjugate points of an extremal on a group: where neighbours with the same start meet it again.

    det B(t)^T dx(t)/da = 0,      a (d,) the unknown part of the start

with an orthonormal frame B(t) (n, d) of the space of x(t), in first order.

B is carried along the extremal by projection, so that it keeps its orientation. Simple points show
as a change of sign, points of even multiplicity as a minimum where some direction no longer moves
the place. Beyond a conjugate point an extremal is not a minimum (Jacobi). All directions must be
moved at once after the start; canonical symbols need not do that: see `lagrangian_path`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from ...typing import Array
from .arc_sensitivities import Arcs

__all__ = ["ConjugatePoint", "along_arc", "conjugate_points"]

#: x (k, n) and dx/da (k, n, d) at k times.
Sample: TypeAlias = Callable[[Array], tuple[Array, Array]]
#: An orthonormal basis (n, d) of the directions in which a place x (n,) may move.
Frame: TypeAlias = Callable[[Array], Array]

#: How many times of an extremal are looked at.
SAMPLES = 400
#: A direction that moves the place less than this, relatively, does not move it.
FALLEN = 1e-5
#: Extremals all begin in one place: what happens before this part of the span belongs to the start.
BEGINNING = 1e-3


@dataclass(frozen=True)
class ConjugatePoint:
    """Where neighbouring extremals meet: the time, and in how many directions."""

    time: float
    multiplicity: int


def conjugate_points(
    sample: Sample, frame: Frame, span: tuple[float, float], samples: int = SAMPLES
) -> tuple[ConjugatePoint, ...]:
    """Conjugate points of the start, in their order.

    Parameters
    ----------
    sample : callable
        x (k, n) and dx/da (k, n, d) at k times.
    frame : callable
        An orthonormal basis (n, d) of the directions in which a place x may move.
    span : (t0, t1)
    """
    search = _DeterminantSearch(sample, frame, span, samples)
    return search.points() if search.scales.size else ()


def along_arc(
    arcs: Arcs, state: Array, directions: Array, frame: Frame, first: float, place: Sequence[int]
) -> Callable[[float], tuple[ConjugatePoint, ...]]:
    """The search for conjugate points of the extremal from a state (n,) up to any time.

    Parameters
    ----------
    directions : array (n, d)
        In which the start may be changed.
    place : sequence of int
        Which symbols are the place.
    """
    size, count = directions.shape
    where = list(place)

    def search(until: float) -> tuple[ConjugatePoint, ...]:
        motion = arcs.run(first, until, state, directions).motion

        def sample(times: Array) -> tuple[Array, Array]:
            states = motion.sol(times).T
            derivatives = states[:, size : size * (1 + count)].reshape(len(times), count, size)
            return states[:, where], derivatives.transpose(0, 2, 1)[:, where]

        return conjugate_points(sample, frame, (first, until))

    return search


class _DeterminantSearch:
    """The determinant along one extremal, on a grid of times and between them."""

    def __init__(
        self, sample: Sample, frame: Frame, span: tuple[float, float], samples: int
    ) -> None:
        self.sample, self.frame = sample, frame
        first, self.last = span
        self.length = abs(self.last - first)
        self.times = first + (self.last - first) * np.linspace(BEGINNING, 1.0, samples)
        places, derivatives = sample(self.times)
        self.scales = np.max(np.linalg.norm(derivatives, axis=1), axis=0)
        carried, self.frames, self.values = frame(places[0]), [], []
        for place, derivative in zip(places, derivatives, strict=True):
            carried = _carried(frame(place), carried)
            self.frames.append(carried)
            self.values.append(self._determinant(carried, derivative))

    def points(self) -> tuple[ConjugatePoint, ...]:
        values, times, found = self.values, self.times, []
        for k in range(1, len(times)):
            value, low = partial(self.value, k), times[k - 1]
            if values[k - 1] * values[k] < 0:
                found.append(self._point(_zero(value, low, times[k]), least=1))
            elif k < len(times) - 1:
                is_least = abs(values[k]) <= min(abs(values[k - 1]), abs(values[k + 1]))
                if is_least and values[k - 1] * values[k + 1] > 0:
                    found.append(self._point(_least(value, low, times[k + 1])))
        found = [point for point in found if point.multiplicity]
        near = 2 * self.length / len(times)
        if not any(abs(point.time - self.last) < near for point in found):
            found.append(self._point(self.last))
        return tuple(point for point in found if point.multiplicity)

    def value(self, near: int, time: float) -> float:
        places, derivatives = self.sample(np.array([time]))
        return self._determinant(_carried(self.frame(places[0]), self.frames[near]), derivatives[0])

    def _determinant(self, frame: Array, derivatives: Array) -> float:
        if np.all(self.scales > 0):
            return float(np.linalg.det(frame.T @ derivatives / self.scales))
        return 0.0

    def _point(self, time: float, least: int = 0) -> ConjugatePoint:
        """The point at a time with its multiplicity, 0 where no direction keeps the place."""
        places, derivatives = self.sample(np.array([time]))
        scales = np.where(self.scales > 0, self.scales, 1.0)
        square = self.frame(places[0]).T @ derivatives[0] / scales
        moved = np.linalg.eigvalsh(square.T @ square)
        return ConjugatePoint(float(time), max(least, int(np.sum(moved < FALLEN**2))))


def _carried(target: Array, previous: Array) -> Array:
    """The frame of the space that `target` spans, nearest to the previous one."""
    projected = target @ (target.T @ previous)
    frame, triangle = np.linalg.qr(projected)
    return frame * np.where(np.diag(triangle) < 0, -1.0, 1.0)


def _zero(value: Callable[[float], float], low: float, high: float) -> float:
    """A zero of the determinant by regula falsi with halving (Illinois)."""
    a, b = low, high
    fa, fb = value(a), value(b)
    if fa * fb > 0:  # the sign changed by rounding between two frames
        return 0.5 * (a + b)
    for _ in range(80):
        c = b - fb * (b - a) / (fb - fa) if fb != fa else 0.5 * (a + b)
        fc = value(c)
        if fc == 0.0 or abs(c - b) <= 1e-14 * max(1.0, abs(b)):
            return c
        if fc * fb < 0:
            a, fa = b, fb
        else:
            fa *= 0.5
        b, fb = c, fc
    return b


def _least(value: Callable[[float], float], low: float, high: float) -> float:
    """The least absolute value between two times, by golden section."""
    share = (np.sqrt(5) - 1) / 2
    a, b = low, high
    c, d = b - share * (b - a), a + share * (b - a)
    fc, fd = abs(value(c)), abs(value(d))
    for _ in range(45):
        if fc < fd:
            b, d, fd = d, c, fc
            c = b - share * (b - a)
            fc = abs(value(c))
        else:
            a, c, fc = c, d, fd
            d = a + share * (b - a)
            fd = abs(value(d))
    return 0.5 * (a + b)
