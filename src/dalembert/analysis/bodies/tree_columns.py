r"""First derivatives of the inverse dynamics of a tree, column by column of its coordinates.

The rates along the steps of a tree are r(q, v), with r' = dr/dt, T = r_v and the forces phi along
the steps; then tau = T^T phi, and with `spatial_derivatives`

    d tau = T^T (phi_motion T dq + phi_rate dr + phi_acceleration dr') + d(T^T) phi,

which is bilinear in what belongs to the row and what belongs to the column. So each coordinate has
columns of its own, and an entry takes inner products of two of them: with the column of a
coordinate that hangs on the other one (`LOWER`), or that the other one hangs on (`UPPER`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import casadi as ca

from ...codegen.pair_products import PairProducts, PairRule
from .spatial_derivatives import SpatialTree, StepColumns, cross_force

__all__ = ["DerivativeLoops", "TreeColumns", "tree_columns"]

Block: TypeAlias = Any  # SX, for which CasADi has no types

#: The columns of numbers that a coordinate has, and their sizes.
_SIZES = {
    "motion": 6,  # J
    "pushed": 6,  # I J
    "twisted": 3,  # B^T J
    "motion_q": 6,  # the motions that pushed and twisted meet in derivatives by q and v
    "turning_q": 3,
    "motion_v": 6,
    "force_q": 6,  # the forces that motions meet there
    "force_v": 6,
}
_FIRST = {name: sum(list(_SIZES.values())[:place]) for place, name in enumerate(_SIZES)}
WIDTH = sum(_SIZES.values())


def _inner(*pairs: tuple[str, str]) -> tuple[tuple[int, int], ...]:
    """The inner products of columns by name, as pairs of numbers."""
    return tuple(
        (_FIRST[row] + k, _FIRST[column] + k)
        for row, column in pairs
        for k in range(min(_SIZES[row], _SIZES[column]))
    )


#: Derivatives by q, v and a: of the force along what hangs on the column, or equals it ...
LOWER = (
    _inner(("pushed", "motion_q"), ("twisted", "turning_q")),
    _inner(("pushed", "motion_v"), ("twisted", "motion")),
    _inner(("pushed", "motion")),
)
#: ... and of the force along what the column hangs on.
UPPER = (
    _inner(("motion", "force_q")),
    _inner(("motion", "force_v")),
    _inner(("motion", "pushed")),
)


@dataclass(frozen=True)
class StepRates:
    """Rates r (s x 1) along the steps of a tree, and the derivatives that forces are mapped by.

    Attributes
    ----------
    by_v : block (s x n)
        T = r_v, which is also the derivative of r' by the accelerations.
    by_q, drift_by_q, drift_by_v : blocks (s x n)
        r_q, r'_q and r'_v.
    """

    by_v: Block
    by_q: Block
    drift_by_q: Block
    drift_by_v: Block

    def coordinates(self, unit: StepColumns) -> list[int]:
        """The coordinates that the rates of a step depend on."""
        parts = (self.by_v, self.by_q, self.drift_by_q, self.drift_by_v)
        return sorted(
            {k for part in parts for k in part[unit.places, :].sparsity().get_triplet()[1]}
        )


@dataclass(frozen=True)
class _Column:
    """What one coordinate moves through one step: `numbers` (WIDTH x 1)."""

    coordinate: int
    unit: StepColumns
    numbers: Block


@dataclass(frozen=True)
class DerivativeLoops:
    """A matrix in native loops: the numbers that they need, what they compute, its shape."""

    numbers: Block
    products: PairProducts
    shape: tuple[int, int]


class TreeColumns:
    """The columns of all coordinates of a tree."""

    def __init__(self, units: Sequence[StepColumns], rates: StepRates) -> None:
        self._size = int(rates.by_v.shape[1])
        self._columns = [column for unit in units for column in _columns(unit, rates)]

    def _numbers(self) -> Block:
        """The numbers of all columns, (columns x WIDTH)."""
        return ca.horzcat(*(column.numbers for column in self._columns)).T

    def matrix(self) -> Block:
        """The derivatives of the forces by q, v and a, (n x 3 n)."""
        numbers, count = self._numbers(), len(self._columns)
        chosen = ca.DM(count, self._size)
        for k, column in enumerate(self._columns):
            chosen[k, column.coordinate] = 1
        blocks = [ca.SX(count, count) for _ in range(3)]
        for rule, pairs in ((LOWER, self._lower()), (UPPER, self._upper())):
            for k, rows in pairs:
                for block, inner in zip(blocks, rule, strict=True):
                    left, right = ([pair[side] for pair in inner] for side in (0, 1))
                    block[rows, k] = numbers[rows, left] @ numbers[k, right].T
        return ca.horzcat(*(chosen.T @ block @ chosen for block in blocks))

    def loops(self, rest: Block) -> DerivativeLoops | None:
        """The same matrix and `rest` (n x 3 n) as native loops.

        None where a coordinate moves several steps, as that of a screw does.
        """
        place, n = [column.coordinate for column in self._columns], self._size
        if len(set(place)) < len(place):
            return None
        numbers = ca.SX(n, WIDTH)
        numbers[place, :] = self._numbers()
        rules = tuple(
            PairRule(rule, tuple(_runs(place, pairs)))
            for rule, pairs in ((LOWER, self._lower()), (UPPER, self._upper()))
        )
        rows, columns = rest.sparsity().get_triplet()
        added = tuple(row + n * column for row, column in zip(rows, columns, strict=True))
        column = ca.vertcat(ca.densify(ca.vec(numbers)), *rest.nonzeros())
        return DerivativeLoops(column, PairProducts(n, WIDTH, rules, added), (n, 3 * n))

    def _lower(self) -> list[tuple[int, list[int]]]:
        """Each column with those of its own step and of all that hang on it."""
        found: dict[int, list[int]] = {k: [] for k in range(len(self._columns))}
        for row, column in enumerate(self._columns):
            for k in self._of(column.unit, *column.unit.way()):
                found[k].append(row)
        return list(found.items())

    def _upper(self) -> list[tuple[int, list[int]]]:
        """Each column with all those that it hangs on."""
        return [(k, self._of(*column.unit.way())) for k, column in enumerate(self._columns)]

    def _of(self, *units: StepColumns) -> list[int]:
        first = {unit.first for unit in units}
        return [k for k, column in enumerate(self._columns) if column.unit.first in first]


def tree_columns(tree: SpatialTree, q: Block, v: Block, drift: Block) -> tuple[TreeColumns, Block]:
    """The columns of a tree, where `drift` is r', and d(T^T) phi (n x 3 n)."""
    units, r, n = tree.units(tree.rates, drift), tree.rates, int(q.numel())
    derivatives = ((r, v), (r, q), (drift, q), (drift, v))
    rates = StepRates(*(ca.jacobian(column, symbols) for column, symbols in derivatives))
    fixed = ca.SX.sym("phi", r.numel())
    turned = ca.jacobian(rates.by_v.T @ fixed, q)
    turned = ca.substitute(turned, fixed, tree.force(units))
    return TreeColumns(units, rates), ca.horzcat(turned, ca.SX(n, 2 * n))


def _runs(
    place: Sequence[int], pairs: Iterable[tuple[int, Sequence[int]]]
) -> Iterable[tuple[int, int, int]]:
    """Rows next to each other: ``(column, first, stop)``."""
    for k, rows in pairs:
        start = stop = -1
        for row in sorted(place[row] for row in rows):
            if row != stop:
                if stop > start:
                    yield place[k], start, stop
                start = row
            stop = row + 1
        if stop > start:
            yield place[k], start, stop


def _columns(unit: StepColumns, rates: StepRates) -> list[_Column]:
    """The columns of all coordinates that move a step."""
    below, own = unit.hanging, unit.columns
    each = range(own.shape[1])
    pushed = ca.horzcat(*(below.inertia(own[:, k]) for k in each))
    # a B = (D^T a_w - 2 a_v x f) . psi_w
    twisted = below.turning.T @ own[:3, :] + 2 * ca.skew(below.momentum) @ own[3:, :]
    carried = ca.horzcat(*(_carried(unit, k) for k in each))
    driven = ca.horzcat(*(below.inertia(unit.chi[:, k]) + below.rotating(own[:, k]) for k in each))
    found = []
    for coordinate in rates.coordinates(unit):
        T, by_q, drift_by_q, drift_by_v = (
            part[unit.places, coordinate]
            for part in (rates.by_v, rates.by_q, rates.drift_by_q, rates.drift_by_v)
        )
        numbers = {
            "motion": own @ T,
            "pushed": pushed @ T,
            "twisted": twisted @ T,
            "motion_q": unit.alpha @ T + unit.chi @ by_q + own @ drift_by_q,
            "turning_q": (unit.psi @ T + own @ by_q)[:3],
            "motion_v": unit.chi @ T + own @ drift_by_v,
            "force_q": carried @ T + driven @ by_q + pushed @ drift_by_q,
            "force_v": driven @ T + pushed @ drift_by_v,
        }
        column = ca.vertcat(*(ca.densify(numbers[name]) for name in _SIZES))
        found.append(_Column(coordinate, unit, column))
    return found


def _carried(unit: StepColumns, k: int) -> Block:
    """How the force of all that hangs on a step changes with a motion along a column of it."""
    below = unit.hanging
    change = below.inertia(unit.alpha[:, k]) + below.rotating(unit.psi[:, k])
    return change + cross_force(unit.columns[:, k], below.force)
