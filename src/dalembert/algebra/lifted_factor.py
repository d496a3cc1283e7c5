"""The elimination of a lifted Hessian, see `lifted`; constraints may take part in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import casadi as ca

from .lifted import Lifting, add_both, add_to
from .scalars import minus, over, plus, times
from .sparse_factor import Budget, Column

__all__ = ["LiftedFactor", "bordered"]

#: The least number of symbols behind a constraint that are eliminated before it.
SYMBOLS_BEHIND = 2

_ONE, _HALF = ca.SX(1), ca.SX(0.5)


class LiftedFactor:
    """L D L^T of a lifted Hessian as scalars of the graph, with the interface of a `SparseFactor`.

    The next symbol is always one that the fewest remaining nodes depend on: tips of a tree come
    first. There is no search for pivots by size; the caller looks at the health. Multipliers among
    the symbols (see `bordered`) have no inertia; `after` says which symbols come before each.

    Attributes
    ----------
    pivots : dict (n,)
        D, by symbol.
    scales : dict (n,)
        The size of each pivot before anything was eliminated: sums of squares that are passed on
        through the nodes without their products. They are the diagonal of the Hessian where nodes
        turn components into each other. Velocities that N nodes add up can make that N times
        larger; where they cancel, the scale is larger and the pivot looks worse than it is. The
        diagonal itself would take as many operations as the factorisation.
    """

    def __init__(
        self,
        lifting: Lifting,
        budget: Budget | None = None,
        after: Mapping[int, set[int]] | None = None,
    ) -> None:
        self.n, self.budget = lifting.n, budget or Budget()
        self._after = after or {}
        self._definitions = lifting.definitions
        self._form = [dict(row) for row in lifting.form]
        self._sizes = [self._first_size(i, row) for i, row in enumerate(lifting.form)]
        self.pivots: dict[int, Any] = {}
        self.scales: dict[int, Any] = {}
        self._inverses: dict[int, Any] = {}
        self._columns: dict[int, Column] = {}
        self.order = list(self._order())

    def _first_size(self, unknown: int, row: Column) -> Any:
        """The sum of a row's magnitudes; multipliers get theirs while symbols are eliminated."""
        size: Any = ca.SX(0)
        if unknown not in self._after:
            for other, entry in row.items():
                if other not in self._after:
                    part: Any = entry if other == unknown else ca.fabs(entry)
                    size = plus(size, part)
        return size

    def _order(self) -> Iterator[int]:
        """Eliminate, and give the unknowns in the order in which it happens."""
        depending = self._depending()
        left = (1 << len(self._definitions)) - 1
        waiting = set(range(self.n))
        while waiting:
            symbol = min(
                (i for i in waiting if i not in self._after or not self._after[i] & waiting),
                key=lambda i: ((depending[i] & left).bit_count(), len(self._form[i]), i),
            )
            waiting.remove(symbol)
            nodes = depending[symbol] & left
            while nodes:
                last = nodes.bit_length() - 1
                nodes ^= 1 << last
                left ^= 1 << last
                self._put_in(self.n + last)
                yield self.n + last
            self._eliminate(symbol)
            yield symbol

    def _depending(self) -> list[int]:
        """The nodes that depend on each unknown, as bits."""
        found = [0] * len(self._form)
        for k in reversed(range(len(self._definitions))):
            here = found[self.n + k] | 1 << k
            for i in self._definitions[k]:
                found[i] |= here
        return found

    def _put_in(self, node: int) -> None:
        """Q with the definition of a node in place of it."""
        form = self._form
        row, form[node] = form[node], {}
        own = row.pop(node, None)
        for other in row:
            del form[other][node]
        parents = list(self._definitions[node - self.n].items())
        for i, coefficient in parents:
            own_part = times(times(coefficient, coefficient), self._sizes[node])
            self._sizes[i] = plus(self._sizes[i], own_part)
        self.budget.spend(len(parents) * (len(row) + len(parents)))
        others = [
            (j, entry) for j, entry in row.items() if j not in self._definitions[node - self.n]
        ]
        for number, (i, coefficient) in enumerate(parents):
            for j, entry in others:
                add_both(form, i, j, times(coefficient, entry))
            cross = row.get(i)
            for j, further in parents[number:]:
                # Q_ij + D_i (Q_kk D_j + Q_kj) + Q_ki D_j
                value = None if own is None else times(further, own)
                if j in row:
                    value = row[j] if value is None else plus(value, row[j])
                value = None if value is None else times(coefficient, value)
                if cross is not None:
                    second = times(cross, further)
                    value = second if value is None else plus(value, second)
                if value is not None:
                    add_both(form, i, j, value)

    def _eliminate(self, symbol: int) -> None:
        row, self._form[symbol] = self._form[symbol], {}
        self.pivots[symbol] = pivot = row.pop(symbol, ca.SX(0))
        self.scales[symbol] = self._sizes[symbol]
        # so written, products with it are not taken for quotients, which take longer
        inverse = self._inverses[symbol] = over(_HALF, times(_HALF, pivot))
        others = [(other, entry, ca.is_equal(entry, pivot)) for other, entry in row.items()]
        column = self._columns[symbol] = {
            other: _ONE if is_pivot else times(entry, inverse) for other, entry, is_pivot in others
        }
        self.budget.spend(len(others) * (len(others) + 3) // 2 + 1)
        for number, (i, entry, is_pivot) in enumerate(others):
            del self._form[i][symbol]
            if i in self._after and symbol not in self._after:
                self._sizes[i] = plus(self._sizes[i], times(entry, column[i]))
            for j, other, _ in others[number:]:
                value = other if is_pivot else times(entry, column[j])
                known = self._form[i].pop(j, None)
                self._form[j].pop(i, None)
                value = -value if known is None else minus(known, value)
                if not value.is_zero():
                    self._form[i][j] = self._form[j][i] = value

    def forward(self, right: Column) -> Column:
        """L^-1 of a column over the symbols; entries that are missing are zero."""
        loads, found = dict(right), {}
        for unknown in self.order:
            value = loads.pop(unknown, None)
            if value is None:
                continue
            if unknown >= self.n:
                for i, coefficient in self._definitions[unknown - self.n].items():
                    add_to(loads, i, times(coefficient, value))
                continue
            found[unknown] = value
            for other, entry in self._columns[unknown].items():
                step = times(entry, value)
                loads[other] = minus(loads[other], step) if other in loads else -step
        return found

    def divided(self, column: Column) -> Column:
        """D^-1 of a column."""
        return {place: times(value, self._inverses[place]) for place, value in column.items()}

    def backward(self, right: Column) -> Column:
        """L^-T of a column."""
        found: Column = {}
        for unknown in reversed(self.order):
            if unknown >= self.n:
                terms = [
                    times(entry, found[i])
                    for i, entry in self._definitions[unknown - self.n].items()
                    if i in found
                ]
                value = None
                for term in terms:
                    value = term if value is None else plus(value, term)
            else:
                value = right.get(unknown)
                for other, entry in self._columns[unknown].items():
                    if other in found:
                        step = times(entry, found[other])
                        value = -step if value is None else minus(value, step)
            if value is not None:
                found[unknown] = value
        return {place: value for place, value in found.items() if place < self.n}

    def solve(self, right: Column) -> Column:
        """The solution of Hessian x = right, by symbol."""
        return self.backward(self.divided(self.forward(right)))

    @cached_property
    def health(self) -> ca.SX:
        """The least |pivot / scale|, as one scalar; 1 at best."""
        largest = _ONE
        for symbol, size in self.scales.items():
            if not ca.is_equal(self.pivots[symbol], size, 1):
                largest = ca.fmax(largest, ca.fabs(times(size, self._inverses[symbol])))
        return over(_ONE, largest)


def bordered(lifting: Lifting) -> tuple[Lifting, dict[int, set[int]]]:
    """G z - A^T mu = f, A z = b as one symmetric form in (z, -mu), and what comes before each mu.

    The multipliers of the rows are the symbols n ... n + m - 1, and nodes come after them. Once a
    node is given by others, a row that speaks of it determines nothing: a multiplier waits for
    symbols behind its nodes. With two of them its pivot vanishes in few directions.
    """
    n, m = lifting.n, len(lifting.rows)

    def moved(column: Column) -> Column:
        return {i if i < n else i + m: entry for i, entry in column.items()}

    form = [moved(row) for row in lifting.form]
    form[n:n] = [moved(row) for row in lifting.rows]
    for k, row in enumerate(lifting.rows):
        for i, entry in moved(row).items():
            form[i][n + k] = entry
    after = {n + k: _symbols_behind(lifting, row) for k, row in enumerate(lifting.rows)}
    definitions = [moved(definition) for definition in lifting.definitions]
    return Lifting(n + m, definitions, form, []), after


def _symbols_behind(lifting: Lifting, row: Column) -> set[int]:
    found, last = set[int](), set(row)
    while last and len(found) < SYMBOLS_BEHIND:
        found |= {i for i in last if i < lifting.n}
        nodes = [i - lifting.n for i in last if i >= lifting.n]
        last = {j for node in nodes for j in lifting.definitions[node]}
    return found
