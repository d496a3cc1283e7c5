r"""Integrals along a motion by Gauss's rule on dense output.

    I(t) = int_{t_0}^{t} f dt,    t_0 the start of the motion

The rule is applied on every step. Where a run with fixed steps stored only every k-th of them, the
stored intervals are halved until the integrals agree, at most down to single steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..model.read_only import ReadOnlyArrays
from ..typing import Array, IntArray

if TYPE_CHECKING:
    from .motion import Motion

__all__ = ["Integrals", "integrate_along"]

#: Times at which the integrand is evaluated at once.
AT_ONCE = 50_000
#: Two refinements agree if they differ by this part of int |f| dt.
AGREE = 1e-10


@dataclass(frozen=True)
class Integrals(ReadOnlyArrays):
    """Integrals along a motion.

    Attributes
    ----------
    values : array (k, nt)
        From the start of the motion to its stored times.
    integrand : array (k, nodes)
        At the nodes of the rule.
    """

    values: Array
    integrand: Array


def integrate_along(
    motion: Motion, integrand: Callable[[Array], Array], *, nodes: int = 5
) -> Integrals:
    """Integrate functions of time from the start of a motion to each of its stored times.

    Parameters
    ----------
    integrand : function of times (m,) giving an array (k, m)
    nodes : int
        Of Gauss's rule on each step.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> fall = da.System([x], kinetic=x.dot**2 / 2, potential=2 * x)
    >>> motion = da.simulate(fall, {x: 0.0}, (0, 3), at=[1, 3])
    >>> integrate_along(motion, lambda t: motion.sol(t)[1:]).values.round(9)  # of the velocity
    array([[-1., -9.]])
    """
    edges, places, skipped = _panels(motion)
    result = _gauss(integrand, edges, nodes)
    parts = 1
    while parts < skipped:
        parts = min(2 * parts, skipped)
        before, result = result, _gauss(integrand, _divided(edges, parts), nodes)
        result = result.joined(parts)
        if np.all(np.abs(result.pieces - before.pieces) <= AGREE * result.scale):
            break
    sums = np.cumsum(result.pieces, axis=1)
    totals = np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)
    return Integrals(totals[:, places], result.integrand)


def _panels(motion: Motion) -> tuple[Array, IntArray, int]:
    """Ends of steps from the start to the last stored time, the places of the stored times among
    them, and how many steps lie between two that were stored.
    """
    first, last = float(motion.segments[0].step_t[0]), float(motion.t[-1])
    low, high = min(first, last), max(first, last)
    every = np.unique(np.concatenate([motion.t, *(part.step_t for part in motion.segments)]))
    edges = every[(every >= low) & (every <= high)]
    places = np.searchsorted(edges, motion.t)
    if first > last:
        edges, places = edges[::-1], len(edges) - 1 - places
    return edges, places, int(motion.statistics.get("every", 1))


def _divided(edges: Array, parts: int) -> Array:
    """The same edges with every interval cut into equal parts."""
    inner = np.arange(parts) / parts
    return np.append((edges[:-1, None] + np.diff(edges)[:, None] * inner).ravel(), edges[-1])


@dataclass(frozen=True)
class _Pieces:
    """Integrals over single intervals (k, n), of |f| over all of them (k, 1), f at the nodes."""

    pieces: Array
    scale: Array
    integrand: Array

    def joined(self, parts: int) -> _Pieces:
        summed = self.pieces.reshape(len(self.pieces), -1, parts).sum(axis=2)
        return _Pieces(summed, self.scale, self.integrand)


def _gauss(integrand: Callable[[Array], Array], edges: Array, count: int) -> _Pieces:
    """Gauss's rule on each interval between neighbouring edges."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    middles, halves = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    times = (middles[:, None] + halves[:, None] * nodes).ravel()
    chunks = [times[k : k + AT_ONCE] for k in range(0, len(times), AT_ONCE)] or [times]
    values = np.concatenate([np.atleast_2d(integrand(chunk)) for chunk in chunks], axis=1)
    weighted = values.reshape(len(values), len(middles), count) * weights
    scale = np.sum(np.abs(weighted).sum(axis=2) * np.abs(halves), axis=1, keepdims=True)
    return _Pieces(weighted.sum(axis=2) * halves, scale, values)
