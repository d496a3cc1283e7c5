"""The rows f_v of the constraints at generic states, by which independent velocities are chosen.

Some constraints follow from the others only where these hold, such as the third crank of a
parallelogram. Their rows depend on each other on the constraints alone, so that rank is asked for
there too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ..algebra.graph import GraphAlgebra
from ..algebra.structure import numeric_rank
from ..model.system import System
from .constraint_equations import velocity_level
from .forms import lagrange

if TYPE_CHECKING:
    from ..typing import Array

__all__ = [
    "ConstraintRows",
    "GenericRank",
    "constraint_rows",
    "generic_rank",
    "independent_rows",
    "median",
    "rank_is_assumed",
]

Rows = Sequence[int] | slice

#: How many generic states are looked at, and how near to zero some of them are.
STATES, NEAR = 24, 0.1
#: An entry of a row vanishes on the constraints where it is this much smaller than elsewhere.
VANISHING = 1e-9
#: Most conditions of a Newton step with a dense matrix; beyond, this many generic states are moved
#: to the constraints beside those near zero.
MOST_DENSE, FEW = 120, 2
#: A row that follows from others leaves no more than this where they hold.
AGREEMENT = 1e-8


class GenericRank(NamedTuple):
    """The rank of constraints at generic states.

    Attributes
    ----------
    samples : list of arrays (m, n)
        Rows of length one, at states on the constraints if the rank is lower there.
    rank : int
    states : int
        At how many states on the constraints it was looked at; one is enough for a rank as high as
        elsewhere.
    is_assumed : bool
        Whether no state on the constraints was found, so that the rank is that off them.
    """

    samples: list[Any]
    rank: int
    states: int = 0
    is_assumed: bool = False


@dataclass(frozen=True)
class ConstraintRows:
    """The rows of a system's constraints in a graph of their own.

    Attributes
    ----------
    residual, matrix : expressions (m x 1), (m x n)
        f of all constraints at velocity level, and f_v.
    function : callable
        The symbols of the algebra to f_v.
    landing : callable
        The symbols to what must vanish, (k x 1), and its derivatives by coordinates and velocities,
        (k x 2n); each row in a unit, a power of 1000, in which its derivatives at a generic state
        are not far from one.
    movable : list of int
        The places of the coordinates and velocities among the symbols.
    positions : int
        How many of what must vanish speak of positions; the constraints at velocity level follow.
    """

    algebra: GraphAlgebra
    residual: ca.SX
    matrix: ca.SX
    function: ca.Function
    landing: ca.Function
    movable: list[int]
    positions: int

    def near(self, values: Mapping[str, float]) -> list[Any]:
        """The rows at one state, (m x n), each of length one; empty where they are not defined."""
        return self._scaled(
            [np.array([values.get(symbol.name, 0.0) for symbol in self.algebra.symbols])]
        )

    def generic(self) -> GenericRank:
        """The rows at generic states and their rank; on the constraints if it is lower there."""
        random = np.random.default_rng(3)
        points = [random.uniform(0.2, 1.4, len(self.algebra.symbols)) for _ in range(STATES)]
        samples = self._scaled(points)
        near = [
            point.copy() for point in points[:4]
        ]  # a closed mechanism is often stated where it is assembled
        for point in near:
            point[self.movable] *= NEAR
        most = min(self.matrix.shape)
        rank = _largest_rank(samples[:4], most)
        if self.matrix.shape[0] < 2:
            return GenericRank(samples, rank)
        typical = median(np.abs(samples)) if samples else np.zeros(self.matrix.shape)
        if len(typical) > MOST_DENSE // 2:
            points = points[:FEW]
        for some in (near, points):
            landed = 0
            for sample in self._on_constraints(some, typical):
                landed += 1
                if numeric_rank(sample) >= rank:
                    return GenericRank(samples, rank, landed)
            if landed:
                break
        else:
            return GenericRank(samples, rank, is_assumed=True)
        everywhere = list(self._on_constraints([*near, *points], typical))
        ranks = [numeric_rank(sample) for sample in everywhere]
        lower = max(ranks)
        if lower >= rank:
            return GenericRank(samples, rank, len(ranks))
        regular = [s for s, found in zip(everywhere, ranks, strict=True) if found == lower]
        return GenericRank(_best_half(regular, lower), lower, len(ranks))

    def contradicted(self, chosen: Sequence[int]) -> tuple[int, float] | None:
        """A row that fails where positions and chosen rows hold, with its residual; or None."""
        count = self.matrix.shape[0]
        dropped = [k for k in range(count) if k not in chosen]
        kept = [*range(self.positions), *(self.positions + k for k in chosen)]
        random = np.random.default_rng(5)
        for _ in range(4 if dropped else 0):
            place = self._landed(random.uniform(0.2, 1.4, len(self.algebra.symbols)), kept)
            if place is None:
                continue
            value = np.abs(
                np.asarray(self.landing(place)[0], dtype=float).ravel()[self.positions :]
            )
            worst = max(dropped, key=lambda k: value[k])
            if value[worst] > AGREEMENT:
                return worst, float(value[worst])
        return None

    def _on_constraints(self, points: list[Any], typical: Array) -> Iterator[Any]:
        """The rows at states on the constraints, without rounding beside `typical` entries.

        A constraint f g = 0 beside g = 0 has the row f g_q + g f_q: its second part is no direction
        where g vanishes.
        """
        for point in points:
            place = self._landed(point)
            for sample in self._scaled([place]) if place is not None else ():
                yield np.where(np.abs(sample) < VANISHING * typical, 0.0, sample)

    def _scaled(self, points: list[Any]) -> list[Any]:
        samples = []
        for point in points:
            value = np.asarray(self.function(point), dtype=float)
            lengths = np.linalg.norm(value, axis=1, keepdims=True)
            if np.all(np.isfinite(value)) and np.all(lengths > 0):
                samples.append(value / lengths)
        return samples

    def _landed(self, point: Array, kept: Rows = slice(None)) -> Any | None:
        """A point moved to constraints by Newton's method; None if it does not converge."""
        place, solve = point.copy(), _least_change
        if self.landing.size1_out(0) > MOST_DENSE:
            from ..algebra.sparse_newton import least_change as solve
        for _ in range(20):
            value, derivative = self.landing(place)
            residual = np.asarray(value, dtype=float).ravel()[kept]
            worst = np.max(np.abs(residual))
            if worst < 1e-13:
                return place
            entries = np.asarray(derivative.nonzeros())
            size = float(np.max(np.abs(entries), initial=0.0))
            if not (worst < 1e50 and 0 < size < 1e50):
                return None
            place[self.movable] -= solve(derivative, kept, residual, 1e-13 * size**2)
        return None


def _least_change(derivative: ca.DM, kept: Rows, residual: Array, damping: float) -> Array:
    """The least dx with J dx = r, for the rows of J that are kept."""
    matrix = np.asarray(derivative, dtype=float)[kept]
    normal = matrix @ matrix.T
    change: Array = matrix.T @ np.linalg.solve(normal + damping * np.eye(len(normal)), residual)
    return change


def generic_rank(system: System) -> GenericRank:
    """The rank of the constraints of a system where they hold, found once."""
    return system.cache.get("generic rank", lambda: constraint_rows(system).generic())


def rank_is_assumed(system: System) -> bool:
    """Whether a rank was asked for and no state on the constraints was found to decide it at."""
    return "generic rank" in system.cache and generic_rank(system).is_assumed


def constraint_rows(system: System) -> ConstraintRows:
    """The rows of a system with two-sided constraints, made once."""
    return system.cache.get("constraint rows", lambda: _constraint_rows(system))


def _constraint_rows(system: System) -> ConstraintRows:
    algebra = GraphAlgebra()
    by_momenta = any(c.is_momentum_level for c in system.bilateral)
    momenta = lagrange.lagrangian_and_momenta(system, algebra)[1] if by_momenta else None
    level = velocity_level(system, algebra, momenta)
    rows = algebra.jacobian(level.residual, algebra.vector(system.velocities))
    state = (*system.coordinates, *system.velocities)
    holding = algebra.stack([level.holonomic, level.residual])
    derivatives = algebra.jacobian(holding, algebra.vector(state))
    names, variables = list(algebra.symbols), ca.vertcat(*algebra.symbols.values())
    units = ca.DM(_units(ca.Function("derivatives", [variables], [derivatives])))
    holding, derivatives = holding / units, derivatives / ca.repmat(units, 1, derivatives.shape[1])
    return ConstraintRows(
        algebra,
        level.residual,
        rows,
        ca.Function("rows", [variables], [rows]),
        ca.Function("landing", [variables], [ca.densify(holding), ca.sparsify(derivatives)]),
        [names.index(symbol) for symbol in state],
        int(level.holonomic.numel()),
    )


def _units(derivatives: ca.Function) -> Array:
    """The power of 1000 next to the length of each row at a generic state, (k,)."""
    point = np.random.default_rng(7).uniform(0.2, 1.4, derivatives.numel_in(0))
    lengths = np.linalg.norm(np.asarray(derivatives(point), dtype=float), axis=1)
    usable = np.isfinite(lengths) & (lengths > 0)
    return 1000.0 ** np.round(np.log10(np.where(usable, lengths, 1.0)) / 3)


def median(values: Any) -> Any:
    """The median along the first axis, as `np.median` gives it, without loading `numpy.ma`.

    >>> float(median(np.array([3.0, 1.0, 2.0, 7.0])))
    2.5
    """
    ordered = np.sort(values, axis=0)
    last = len(ordered) - 1
    middle = 0.5 * (ordered[last // 2] + ordered[(last + 1) // 2])
    return np.where(np.isnan(ordered[-1]), np.nan, middle)


def _largest_rank(samples: list[Any], most: int) -> int:
    """The largest rank among samples, none of which can exceed `most`."""
    rank = 0
    for sample in samples:
        rank = max(rank, numeric_rank(sample))
        if rank == most:
            break
    return rank


def independent_rows(sample: Array, rank: int) -> tuple[int, ...]:
    """The first rows that span all of them."""
    chosen: list[int] = []
    for k in range(len(sample)):
        if len(chosen) < rank and numeric_rank(sample[[*chosen, k]]) == len(chosen) + 1:
            chosen.append(k)
    return tuple(chosen)


def _best_half(samples: list[Any], rank: int) -> list[Any]:
    """The samples whose independent rows are far from depending on each other."""
    chosen = list(independent_rows(samples[0], rank))
    volumes = [float(np.linalg.det(sample[chosen] @ sample[chosen].T)) for sample in samples]
    order = sorted(range(len(samples)), key=lambda k: -volumes[k])
    return [samples[k] for k in order[: (len(samples) + 1) // 2]]
