r"""Shapes at which the connection ends: S = D n T Orb grows, or section or inertia degenerate.

A matrix of the shape loses rank where all its largest minors vanish. Their common zeros are looked
for from many starts by damped Gauss-Newton steps, and every place found is judged by the rank of
the matrix itself. On the snakeboard the constraints on body velocities become dependent at phi =
pi/2, where the section e and the locked inertia vanish (Bloch, Supplement 5.9).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...formulations.reduction.bundle_equations import Bundle, ReducedFunctions
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from ..named_blocks import NamedBlocks

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["RankJump", "rank_jumps"]

#: Rows whose parts outside the span of the others are smaller depend on them at a refined place.
JUMP = 1e-5
#: Starts for each shape coordinate that matters, steps from each, and the most places reported.
STARTS, STEPS, MOST = 24, 60, 24
#: What may end a connection, in the order of the report.
CAUSES = ("S", "section", "inertia")
#: Minors below this part of their usual size vanish.
ZERO = 1e-13


@dataclass(frozen=True)
class RankJump:
    """A shape at which the connection ends.

    Attributes
    ----------
    place : mapping of name to value
        The shape coordinates that matter.
    dimension, generic : int
        Of S there, and elsewhere; equal where only the section degenerates.
    section_rank, inertia_rank : int
        The ranks of the section and of the locked inertia there.
    freedom : int
        The dimension of the set of such shapes around the place, among the coordinates that matter.
    """

    place: Mapping[str, float]
    dimension: int
    generic: int
    section_rank: int
    inertia_rank: int
    freedom: int

    @property
    def cause(self) -> str:
        """What ends the connection: "S", the "section" alone (choose another), or the "inertia"."""
        if self.dimension != self.generic:
            return "S"
        return "section" if self.section_rank < self.generic else "inertia"

    def __str__(self) -> str:
        where = ", ".join(f"{name} = {value:.6g}" for name, value in self.place.items())
        if self.cause == "S":
            return f"{where}: S has dimension {self.dimension}, and {self.generic} elsewhere"
        part, rank = ("section", self.section_rank)
        if self.cause != "section":
            part, rank = ("locked inertia", self.inertia_rank)
        return f"{where}: the {part} has rank {rank} of {self.generic}, and S keeps its dimension"


def rank_jumps(
    bundle: Bundle,
    parameters: Mapping[str, float],
    within: Mapping[str, tuple[float, float]],
    seed: int = 3,
) -> tuple[RankJump, ...]:
    """Shapes at which body-velocity constraints, section or locked inertia lose rank.

    Parameters
    ----------
    within : mapping of shape coordinate to lower and upper end
        Where to look; from -pi to pi for those that are not named.
    """
    names = [bundle.system.coordinates[k].name for k in bundle.shape]
    strange = [name for name in within if name not in names]
    if strange:
        remedy = "use one of these"
        raise ModelError(f"`{strange[0]}` is no shape coordinate", ", ".join(names), remedy)
    algebra = GraphAlgebra()
    reduced = ReducedFunctions(bundle, algebra)
    bonds = algebra.jacobian(reduced.residual, reduced.xi)
    held = algebra.part(bonds, bundle.rows, range(len(bundle.group))) if bundle.rows else None
    section = reduced.section
    metric = algebra.jacobian(algebra.gradient(reduced.lagrangian, reduced.xi), reduced.xi)
    speeds = algebra.stack([reduced.xi, reduced.shape_velocities])
    inertia = section.T @ algebra.without(metric, speeds) @ section
    tables = [table for table in (held, section.T, inertia) if table is not None and table.numel()]
    blocks = {"bonds": bonds, "section": section.T, "inertia": inertia}
    judge = _Judge(bundle, algebra, blocks, parameters)
    found: list[RankJump] = []
    for table in tables:
        search = _ZeroSearch(algebra, _minors(algebra, table), names, parameters, within, seed)
        for place, freedom in search.zeros():
            jump = judge(place, freedom)
            if jump is not None and not any(_is_near(jump, other) for other in found):
                found.append(jump)
    return tuple(sorted(found, key=lambda jump: (CAUSES.index(jump.cause), *jump.place.values())))


def _minors(algebra: GraphAlgebra, table: ca.SX) -> Block:
    """The determinants of all choices of as many columns as rows, (c x 1)."""
    rows, columns = table.shape
    chosen = combinations(range(columns), rows)
    parts = (algebra.part(table, range(rows), places) for places in chosen)
    return algebra.stack([algebra.determinant(part) for part in parts])


class _Judge:
    """Ranks of body-velocity constraints and section at a point, beside usual sizes."""

    def __init__(
        self,
        bundle: Bundle,
        algebra: GraphAlgebra,
        blocks: Mapping[str, ca.SX],
        parameters: Mapping[str, float],
    ) -> None:
        self.bundle, self.parameters = bundle, dict(parameters)
        names = [bundle.system.coordinates[k].name for k in bundle.shape]
        self.usual = dict.fromkeys(names, 0.0)
        self.blocks = NamedBlocks(algebra, blocks, [*names, *parameters])
        random = np.random.default_rng(7)
        places = [{name: float(random.uniform(0.3, 1.1)) for name in names} for _ in range(5)]
        drawn = zip(*(self._rows(place) for place in places), strict=True)
        sizes = ([np.max(np.abs(x), axis=1, initial=0.0) for x in tables] for tables in drawn)
        self.sizes = [np.median(table, axis=0) for table in sizes]

    def _rows(self, place: Mapping[str, float]) -> list[Array]:
        return list(self.blocks(self.usual | dict(place) | self.parameters, finite=False).values())

    def __call__(self, place: Mapping[str, float], freedom: int) -> RankJump | None:
        """The jump at a place; None where the ranks are the usual ones."""
        rows = self._rows(place)
        if not all(np.all(np.isfinite(table)) for table in rows):
            return None
        pairs = zip(rows, self.sizes, strict=True)
        bound, spans, weighs = (self._rank(table, sizes) for table, sizes in pairs)
        k, m = self.bundle.section.shape
        if k - bound == m == spans == weighs:
            return None
        return RankJump(place, k - bound, m, spans, weighs, freedom)

    @staticmethod
    def _rank(rows: Array, sizes: Array) -> int:
        """The rank after rows that vanish beside their usual size are set to zero."""
        if not rows.size:
            return 0
        present = np.max(np.abs(rows), axis=1) > JUMP * sizes
        return int(rank(np.where(present[:, None], rows, 0.0), JUMP).rank)


def _is_near(first: RankJump, second: RankJump) -> bool:
    shared = first.place.keys() & second.place.keys()
    near = (abs(first.place[name] - second.place[name]) < 1e-4 for name in shared)
    return bool(shared) and all(near)


class _ZeroSearch:
    """Zeros of a column of expressions of the shape."""

    def __init__(
        self,
        algebra: GraphAlgebra,
        column: ca.SX,
        names: Sequence[str],
        parameters: Mapping[str, float],
        within: Mapping[str, tuple[float, float]],
        seed: int,
    ) -> None:
        by_name = {symbol.name: node for symbol, node in algebra.symbols.items()}
        nodes = {name: by_name[name] for name in names if name in by_name}
        self.names = [name for name, node in nodes.items() if ca.depends_on(column, node)]
        self.random = np.random.default_rng(seed)
        ends = [within.get(name, (-np.pi, np.pi)) for name in self.names]
        self.low = np.array([end[0] for end in ends], dtype=float)
        self.high = np.array([end[1] for end in ends], dtype=float)
        derivative = ca.jacobian(column, ca.vertcat(*(by_name[name] for name in self.names)))
        blocks = {"value": column, "derivative": derivative}
        self.blocks = NamedBlocks(algebra, blocks, [*names, *parameters])
        self.parameters = dict(parameters)

    def _at(self, point: Array) -> tuple[Array, Array]:
        values = self.parameters | dict(zip(self.names, point, strict=True))
        found = self.blocks(values, finite=False)
        return found["value"][:, 0], found["derivative"]

    def zeros(self) -> list[tuple[dict[str, float], int]]:
        """Places with the dimension of the set of zeros around them."""
        d = len(self.names)
        if not d:
            return []
        starts = self.random.uniform(self.low, self.high, (STARTS * d, d))
        sizes = [np.max(np.abs(self._at(start)[0])) for start in starts]
        scale = float(np.median([size for size in sizes if np.isfinite(size)] or [1.0])) or 1.0
        kept: list[tuple[Array, int]] = []
        margin = 1e-9 * (1 + np.abs(self.high - self.low))
        for start in starts:
            point = self._refined(start, scale)
            if point is None:
                continue
            if np.any(point < self.low - margin) or np.any(point > self.high + margin):
                continue
            freedom = d - self._rank_of_derivative(point)
            apart = 0.1 * float(np.max(self.high - self.low)) if freedom else 1e-4
            if all(np.max(np.abs(point - other)) > apart for other, _ in kept):
                kept.append((point, freedom))
            if len(kept) == MOST:
                break
        names = self.names
        return [(dict(zip(names, map(float, point), strict=True)), d) for point, d in kept]

    def _rank_of_derivative(self, point: Array) -> int:
        derivative = self._at(point)[1]
        largest = float(np.max(np.abs(derivative), initial=0.0))
        if not largest:
            return 0
        return int(rank(np.where(np.abs(derivative) > 1e-6 * largest, derivative, 0.0), JUMP).rank)

    def _refined(self, start: Array, scale: float) -> Array | None:
        """Damped Gauss-Newton steps to a zero; None where they end elsewhere."""
        point, damping = np.array(start), 1e-3
        value, derivative = self._at(point)
        if not (np.all(np.isfinite(value)) and np.all(np.isfinite(derivative))):
            return None
        for _ in range(STEPS):
            if np.max(np.abs(value)) <= ZERO * scale:
                return point
            normal = derivative.T @ derivative
            weight = damping * max(float(np.trace(normal)), 1e-300) * np.eye(len(point))
            trial = point - np.linalg.solve(normal + weight, derivative.T @ value)
            new_value, new_derivative = self._at(trial)
            is_finite = np.all(np.isfinite(new_derivative))
            if is_finite and np.linalg.norm(new_value) < np.linalg.norm(value):
                point, value, derivative = trial, new_value, new_derivative
                damping = max(damping / 10, 1e-14)
            else:
                damping *= 10
        return None
