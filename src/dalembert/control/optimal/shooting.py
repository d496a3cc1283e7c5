r"""Indirect multiple shooting: the unknown start of an extremal, by damped Newton steps.

    y(t0) = b + Z a,      y_k+1 = arc(y_k),      r(y(t1)) = 0

in the unknowns a (d,) and the states at nodes on the way, y_1 ... y_N-1 (n, each).

The steps are those of Levenberg and Marquardt with the damping m |F| of Fan and Yuan: they minimise
|J s + F|^2 + m |F| |s|^2, so that more conditions than unknowns (entries of a matrix that moves on
an orbit) and whole families of solutions (ends that are conjugate to the start) need no decision of
rank, and convergence stays quadratic in both cases. The minimum is a Gauss problem in (s, w) with
the rows J s - w = -F. Symbols and costates that are larger than one are measured by their own size,
both as unknowns and in the conditions: costates of 1e8 can meet at a node to 1e-10 of their size,
not to 1e-10.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...errors import RunError
from ...runtime.gauss.constrained_solve import solve
from ...typing import Array, ArrayLike
from .arc_sensitivities import Arcs

__all__ = ["LIMIT", "Boundary", "Shot", "damped_step", "shoot"]

#: The largest residual of boundary conditions that are met, relative to symbols larger than one.
LIMIT = 1e-10
#: Where the search stops: nothing is gained below.
GOAL = 1e-13
MOST_STEPS = 60


@dataclass(frozen=True)
class Boundary:
    """Where extremals start and what is asked of their end; n symbols, d unknowns.

    Attributes
    ----------
    base, directions : arrays (n,) and (n, d)
        b and Z.
    end : callable
        r (q,) and its derivative (q, n) at a state.
    """

    base: Array
    directions: Array
    end: Callable[[Array], tuple[Array, Array]]


@dataclass(frozen=True)
class Shot:
    """What the search found.

    Attributes
    ----------
    unknowns : array (d,)
        a.
    nodes : array (N, n)
        The state at the start of each arc.
    residual : float
        The largest of the conditions, gaps between arcs included, relative to symbols that are
        larger than one.
    cost : float
    steps : int
    """

    unknowns: Array
    nodes: Array
    residual: float
    cost: float
    steps: int

    @property
    def converged(self) -> bool:
        return bool(self.residual <= LIMIT)


def damped_step(derivatives: Array, values: Array, damping: float) -> Array:
    """s that minimises |J s + F|^2 + damping |s|^2, for J (q, p) and F (q,)."""
    q, p = derivatives.shape
    weights = np.concatenate([np.full(p, damping), np.ones(q)])
    rows = np.hstack([derivatives, -np.eye(q)])
    step: Array = solve(np.diag(weights), np.zeros(p + q), rows, -values).z[:p]
    return step


class _Conditions:
    """F and J of a chain of arcs."""

    def __init__(self, arcs: Arcs, boundary: Boundary, times: Array) -> None:
        self.arcs, self.boundary, self.times = arcs, boundary, times
        self.n, self.d = boundary.directions.shape
        self.count = len(times) - 1

    def nodes(self, unknowns: Array) -> Array:
        first = self.boundary.base + self.boundary.directions @ unknowns[: self.d]
        return np.vstack([first, unknowns[self.d :].reshape(self.count - 1, self.n)])

    def scales(self, unknowns: Array) -> tuple[Array, Array]:
        """The sizes of the conditions (q,) and of the unknowns (p,), one at least."""
        nodes = self.nodes(unknowns)
        symbols = np.maximum(np.max(np.abs(nodes), axis=0), 1.0)
        derivatives = self.boundary.end(nodes[-1])[1]
        end = np.maximum(np.max(np.abs(derivatives) * symbols, axis=1, initial=1.0), 1.0)
        moved = np.abs(self.boundary.directions) * symbols[:, None]
        first = np.maximum(np.max(moved, axis=0, initial=1.0), 1.0)
        inner = np.tile(symbols, self.count - 1)
        return np.concatenate([inner, end]), np.concatenate([first, inner])

    def at(self, unknowns: Array) -> tuple[Array, Array, float]:
        """F, J and the cost."""
        nodes, n, d = self.nodes(unknowns), self.n, self.d
        values, rows, cost = [], [], 0.0
        for k in range(self.count):
            # Several arcs all have n directions: one set of compiled equations serves them.
            columns = self.boundary.directions if self.count == 1 else np.eye(n)
            arc = self.arcs.run(self.times[k], self.times[k + 1], nodes[k], columns)
            cost += arc.cost
            derivatives = arc.derivatives
            if k == 0 and self.count > 1:
                derivatives = derivatives @ self.boundary.directions
            state = arc.state
            row = np.zeros((n, d + n * (self.count - 1)))
            own = slice(0, d) if k == 0 else slice(d + n * (k - 1), d + n * k)
            if k < self.count - 1:
                row[:, own] = derivatives
                row[:, d + n * k : d + n * (k + 1)] = -np.eye(n)
                values.append(state - nodes[k + 1])
                rows.append(row)
            else:
                missed, derivative = self.boundary.end(state)
                row = np.zeros((len(missed), row.shape[1]))
                row[:, own] = derivative @ derivatives
                values.append(missed)
                rows.append(row)
        return np.concatenate(values), np.vstack(rows), cost


def shoot(
    arcs: Arcs,
    boundary: Boundary,
    times: ArrayLike,
    unknowns: ArrayLike,
    nodes: ArrayLike | None = None,
) -> Shot:
    """Search the unknown start, and the states at inner times, from a guess.

    Parameters
    ----------
    times : array (N + 1,)
        The ends of the arcs.
    unknowns : array (d,)
    nodes : array (N - 1, n)
        States at the inner times; none for one arc.

    Returns
    -------
    Shot
        Also where the search did not converge.
    """
    conditions = _Conditions(arcs, boundary, np.asarray(times, dtype=float))
    inner = np.zeros(0) if nodes is None else np.asarray(nodes, dtype=float).ravel()
    here = np.concatenate([np.asarray(unknowns, dtype=float), inner])
    values, derivatives, cost = conditions.at(here)
    rows, columns = conditions.scales(here)
    damping, steps = 1e-3, 0
    while steps < MOST_STEPS and np.max(np.abs(values / rows)) > GOAL and damping < 1e12:
        steps += 1
        scaled = derivatives * columns / rows[:, None]
        size = float(np.linalg.norm(values / rows))
        step = damped_step(scaled, values / rows, max(damping * size, 1e-30))
        try:
            moved = conditions.at(here + columns * step)
            gain = size**2 - float(np.linalg.norm(moved[0] / rows)) ** 2
        except RunError:
            gain = -1.0
        promised = size**2 - float(np.linalg.norm(values / rows + scaled @ step)) ** 2
        ratio = gain / promised if promised > 0 else -1.0
        if ratio > 1e-4:
            here, (values, derivatives, cost) = here + columns * step, moved
            rows, columns = conditions.scales(here)
        elif np.max(np.abs(values / rows)) <= LIMIT:
            break  # only rounding is left
        damping = damping * 4 if ratio < 0.25 else damping / 4 if ratio > 0.75 else damping
        damping = max(damping, 1e-8)
    found = conditions.nodes(here)
    return Shot(here[: conditions.d], found, float(np.max(np.abs(values / rows))), cost, steps)
