r"""Lie brackets of control fields, one for each Lyndon word, at a point and at generic ones.

The symbols of a word are f, g_1, ..., g_m. A Lyndon word is less than all of its proper ends; w = u
v, with v its longest end that is one, stands for [u, v], and these brackets are a basis of the free
Lie algebra (Chen, Fox and Lyndon). What is asked of all brackets of a degree needs to be asked of
these alone. Brackets are those of `geometry.distributions`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

import casadi as ca
import numpy as np

from ...geometry.distributions import bracket
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from .input_fields import NOISY, ControlAffine

__all__ = ["Bracket", "Brackets", "bracketing", "is_spanned", "lyndon_words", "rank_of"]

#: A bracket below this part of its terms is rounding.
ROUNDING = 1e-10
#: A column whose part outside the span of the others is below this depends on them.
DEPENDENT = 1e-8
#: The most brackets that are made, and the most nodes that their graphs may have together.
MOST, MOST_NODES = 900, 1_000_000

#: A symbol (0 is the drift, a the input a), or a pair of trees.
Tree: TypeAlias = "int | tuple[Tree, Tree]"


def lyndon_words(symbols: int, length: int) -> Iterator[tuple[int, ...]]:
    """The Lyndon words of one length over 0, ..., symbols - 1, ascending (Duval).

    >>> ["".join(map(str, w)) for w in lyndon_words(2, 4)]
    ['0001', '0011', '0111']
    """
    word = [-1]
    while word:
        word[-1] += 1
        if len(word) == length:
            yield tuple(word)
        period = len(word)
        while len(word) < length:
            word.append(word[-period])
        while word and word[-1] == symbols - 1:
            word.pop()


def bracketing(word: Sequence[int]) -> Tree:
    """The standard bracketing of a Lyndon word."""
    if len(word) == 1:
        return word[0]
    cut = next(k for k in range(1, len(word)) if _is_lyndon(word[k:]))
    return bracketing(word[:cut]), bracketing(word[cut:])


def _is_lyndon(word: Sequence[int]) -> bool:
    return all(tuple(word) < tuple(word[k:]) for k in range(1, len(word)))


@dataclass(frozen=True, eq=False)
class Bracket:
    """One bracket.

    Attributes
    ----------
    name : str
        Such as ``[g2, [f, [f, g1]]]``.
    counts : tuple of int (1 + m,)
        How often the drift and each input stand in it.
    values : array (places, n)
        Entries that are rounding are zero.
    tree : int, or pair of trees
        Its symbols: 0 is the drift, a the input a.
    """

    name: str
    counts: tuple[int, ...]
    values: Array
    tree: Tree

    @property
    def length(self) -> int:
        """How many symbols it has."""
        return sum(self.counts)

    @property
    def is_bad(self) -> bool:
        """Drift an odd number of times, each input an even number (Sussmann)."""
        return self.counts[0] % 2 == 1 and all(count % 2 == 0 for count in self.counts[1:])

    def degree(self, weight: float) -> float:
        """The number of inputs, plus `weight` for each drift."""
        return weight * self.counts[0] + sum(self.counts[1:])


class Brackets:
    """The brackets of a control system, made length by length and kept."""

    def __init__(self, system: ControlAffine) -> None:
        self.system = system
        m = len(system.inputs)
        self._names = ["f", *([f"g{a}" for a in range(1, m + 1)] if m > 1 else ["g"])]
        self._fields: dict[Tree, ca.SX] = {0: system.drift}
        self._fields |= {a + 1: system.fields[:, a] for a in range(m)}
        self._values: dict[Tree, Array] = {}
        self._levels: list[tuple[Bracket, ...]] = []
        self._first = 1 if system.is_driftless else 0
        self._made = self._nodes = 0

    @property
    def is_exhausted(self) -> bool:
        """Whether no more brackets may be made."""
        return self._made > MOST or self._nodes > MOST_NODES

    @property
    def longest(self) -> int:
        """The length up to which all brackets were made."""
        return len(self._levels)

    def of_length(self, length: int) -> tuple[Bracket, ...]:
        """All brackets of one length; without drift where that vanishes."""
        while len(self._levels) < length and not self.is_exhausted:
            count = len(self._names) - self._first
            words = list(lyndon_words(count, len(self._levels) + 1))
            self._made += len(words)
            level: list[Bracket] = []
            for word in words:
                if self.is_exhausted:
                    return ()
                level.append(self._bracket(bracketing([k + self._first for k in word])))
            self._levels.append(tuple(level))
        return self._levels[length - 1] if len(self._levels) >= length else ()

    def up_to(self, length: int) -> list[Bracket]:
        """All brackets that are not longer."""
        return [one for k in range(1, length + 1) for one in self.of_length(k)]

    def symmetrised(self, one: Bracket) -> Array:
        """The sum over all permutations of the inputs, at the point (n,)."""
        inputs = range(1, len(self._names))
        total = np.zeros(len(self.system.symbols))
        for chosen in permutations(inputs):
            renamed = _renamed(one.tree, dict(zip(inputs, chosen, strict=True)))
            total = total + self._value(renamed)[0]
        return total

    def _bracket(self, tree: Tree) -> Bracket:
        counts = [0] * len(self._names)
        _count(tree, counts)
        return Bracket(self._name(tree), tuple(counts), self._value(tree), tree)

    def _name(self, tree: Tree) -> str:
        if isinstance(tree, int):
            return self._names[tree]
        return f"[{self._name(tree[0])}, {self._name(tree[1])}]"

    def _value(self, tree: Tree) -> Array:
        """A bracket at all places, (places, n)."""
        if tree not in self._values:
            self._values[tree] = self._evaluate(tree)
        return self._values[tree]

    def _evaluate(self, tree: Tree) -> Array:
        system = self.system
        if isinstance(tree, int):
            found = system.values(self._fields[tree])[:, :, 0]
            rounding = ROUNDING * np.abs(found).max() + self._noise(self._fields[tree])
            return np.where(np.abs(found) > rounding, found, 0.0)
        first, second = (self._field(part) for part in tree)
        field = bracket(system.chart, first, second)
        self._nodes += int(ca.n_nodes(field))
        terms = system.algebra.along(second, system.state, first)
        values = system.values(ca.horzcat(field, terms, first, second))
        sizes = np.linalg.norm(values, axis=1)
        scale = sizes[:, 1] + sizes[:, 2] * sizes[:, 3] + sizes[:, 0]
        rounding = ROUNDING * scale[:, None] + self._noise(field)
        found = np.where(np.abs(values[:, :, 0]) > rounding, values[:, :, 0], 0.0)
        # A bracket that vanishes everywhere becomes a sparse zero: longer ones of it stay small.
        self._fields[tree] = field if np.any(found) else ca.SX(len(system.symbols), 1)
        return found

    def _noise(self, field: ca.SX) -> Array:
        return NOISY * self.system.noise(field)[:, :, 0]

    def _field(self, tree: Tree) -> ca.SX:
        if tree not in self._fields:
            self._value(tree)
        return self._fields[tree]


def _count(tree: Tree, counts: list[int]) -> None:
    if isinstance(tree, int):
        counts[tree] += 1
        return
    for part in tree:
        _count(part, counts)


def _renamed(tree: Tree, table: dict[int, int]) -> Tree:
    if isinstance(tree, int):
        return table.get(tree, tree)
    return _renamed(tree[0], table), _renamed(tree[1], table)


def rank_of(vectors: Sequence[Array]) -> int:
    """The dimension of the span of some vectors."""
    table = [vector for vector in vectors if np.any(vector)]
    return int(rank(np.array(table), DEPENDENT).rank) if table else 0


def is_spanned(vector: Array, by: Sequence[Array]) -> bool:
    """Whether a vector lies in the span of others."""
    if not np.any(vector):
        return True
    return rank_of(list(by)) == rank_of([*by, vector])
