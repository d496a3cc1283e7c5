r"""What expressions are: zero, independent of a variable, of a degree, homogeneous, of a rank.

The one place that answers such questions. An answer is a `Verdict`:

- *proved*: the identity holds in exact arithmetic modulo a prime of 61 bits at random residues
  (`finite_field`). An expression of degree d for which it is false passes with probability below
  (d/p)^6; units, small coefficients and the domain play no part, and functions that switch
  (``Max``, ``Piecewise``, ``Abs``) are taken as unknown ones;
- *refuted*: a point where the identity fails by more than the rounding errors (`running_error`),
  or exact arithmetic with functions that follow their own rules;
- *not established*: neither. Callers then take the general path.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import cached_property
from itertools import islice
from math import comb
from random import Random
from typing import Any

import casadi as ca
import numpy as np
import sympy
from numpy.typing import ArrayLike, NDArray

from ..model.atoms import leaves
from .field_numbers import PRIME, NoPointError, is_represented, rank_modulo
from .finite_field import Instructions, Residues
from .running_error import UNIT, Bounded, bounded_values
from .verdicts import Rank, Verdict, conjunction

__all__ = [
    "UNIT",
    "Rank",
    "Verdict",
    "conjunction",
    "constant_values",
    "degree",
    "equilibrated",
    "homogeneity",
    "independence",
    "numeric_rank",
    "rank",
    "step_residues",
    "vanishing",
    "without_unrepresented",
]

#: Points of the field; more where roots have signs that a point may choose by chance.
POINTS, POINTS_WITH_ROOTS = 6, 40
#: How often a point is drawn again where the expressions are not defined.
DRAWS = 400
#: Floating-point samples that may refute, how many are drawn to find them, and their sizes.
SAMPLES, SAMPLE_DRAWS = 12, 96
SIZES = (-2.0, 2.0)

Symbols = Mapping[sympy.Symbol, ca.SX]
FloatArray = NDArray[np.float64]


def without_unrepresented(expression: sympy.Expr) -> sympy.Expr:
    """An expression with symbols for the rational numbers that a float does not stand for.

    What is proved of it holds for these numbers as well; what is refuted may not be.

    >>> x = sympy.Symbol("x", real=True)
    >>> without_unrepresented(x / 3), len(without_unrepresented(x / (10**30 + 1)).free_symbols)
    (x/3, 2)
    """
    numbers = [
        n
        for n in leaves(expression)
        if isinstance(n, sympy.Rational) and not is_represented(Fraction(int(n.p), int(n.q)))
    ]
    return (
        expression.xreplace({n: sympy.Dummy("c", real=True, positive=bool(n > 0)) for n in numbers})
        if numbers
        else expression
    )


def vanishing(symbols: Symbols, block: ca.SX, accuracy: float = UNIT) -> Verdict:
    """Whether every entry of a block is zero for all values of the symbols.

    A lower `accuracy` of its constants, where they are fitted, relatively, leaves more to be not
    established.

    >>> x = sympy.Symbol("x", real=True)
    >>> node = ca.SX.sym("x")
    >>> vanishing({x: node}, ca.sin(node) ** 2 + ca.cos(node) ** 2 - 1).status
    'proved'
    >>> vanishing({x: node}, 1e-30 * node).status
    'refuted'
    >>> vanishing({x: node}, ca.fmax(node - 1e9, 0)).status
    'not established'
    """
    return _Question(symbols, block, accuracy).identity([], lambda at, _: at(1, 0), "is zero")


def independence(symbols: Symbols, block: ca.SX, variables: ca.SX) -> Verdict:
    """Whether a block has the same value for all values of some variables, f(v) = f(w).

    >>> x, y = sympy.symbols("x y", real=True)
    >>> nodes = {x: ca.SX.sym("x"), y: ca.SX.sym("y")}
    >>> independence(nodes, nodes[x] * nodes[y] / nodes[y], nodes[y]).status
    'proved'
    >>> independence(nodes, ca.sign(nodes[y]) * nodes[x], nodes[y]).status
    'refuted'
    """
    return degree(symbols, block, variables, 0)


def degree(symbols: Symbols, block: ca.SX, variables: ca.SX, at_most: int) -> Verdict:
    r"""Whether a block is a polynomial of at most a degree k in some variables.

    Restricted to every line, its difference of order k + 1 vanishes:

        sum_i (-1)^i C(k+1, i) f(v + i w) = 0.

    >>> x = sympy.Symbol("x", real=True)
    >>> node = ca.SX.sym("x")
    >>> [degree({x: node}, (node + 1) ** 2, node, k).status for k in (1, 2)]
    ['refuted', 'proved']
    """
    moved = _places(symbols, variables)
    if not moved or not ca.depends_on(block, variables):
        return Verdict(
            "proved", "the expressions do not contain the variables", holds_to_rounding=True
        )
    order = at_most + 1

    def difference(at: _OnLine, scale: int) -> list[_Combination]:
        terms = [
            [comb(order, i) * (-1) ** i * entry for entry in at(1, i)] for i in range(order + 1)
        ]
        return [sum(column[1:], column[0]) for column in zip(*terms, strict=True)]

    claim = "does not depend on them" if at_most == 0 else f"is of degree {at_most} at most"
    return _Question(symbols, block).identity(moved, difference, claim)


def homogeneity(symbols: Symbols, block: ca.SX, variables: ca.SX, of_degree: int) -> Verdict:
    """Whether f(s v) = s^k f(v) for all s.

    >>> x = sympy.Symbol("x", real=True)
    >>> node = ca.SX.sym("x")
    >>> homogeneity({x: node}, node**2 / (node + 3 * node), node, 1).status
    'proved'
    >>> homogeneity({x: node}, node + ca.fmax(node - 2, 0), node, 1).status
    'refuted'
    """

    def difference(at: _OnLine, scale: int) -> list[_Combination]:
        factor = scale**of_degree
        return [one - factor * other for one, other in zip(at(scale, 0), at(1, 0), strict=True)]

    moved = _places(symbols, variables)
    return _Question(symbols, block).identity(
        moved, difference, f"is homogeneous of degree {of_degree}"
    )


def rank(symbols: Symbols, matrix: ca.SX) -> Rank:
    """The rank of a matrix at almost every point: proved where exact and floating arithmetic agree.

    >>> x = sympy.Symbol("x", real=True)
    >>> node = ca.SX.sym("x")
    >>> matrix = ca.vertcat(ca.horzcat(1, node), ca.horzcat(node, node**2))
    >>> rank({x: node}, matrix), rank({x: node}, matrix + 1e-14 * ca.DM.eye(2)).value
    (Rank(value=1, at_most=1), 2)
    """
    if 0 in matrix.shape:
        return Rank(0, 0)
    question, shape, highest = _Question(symbols, matrix), matrix.shape, 0
    for residues in question.field_values():
        rows = np.array(residues, dtype=object).reshape(shape, order="F").tolist()
        highest = max(highest, rank_modulo(rows))
        if highest == min(shape):
            break
    highest = highest if question.points_found else min(shape)
    known = question.instructions
    if known.is_exact and question.points_found and (known.has_plain_constants or highest == 0):
        return Rank(highest, highest)
    lowest = states = 0
    for values in question.samples():
        numbers, bounds = (np.reshape(part, shape, order="F") for part in zip(*values, strict=True))
        if np.all(np.isfinite(bounds)):
            lowest, states = max(lowest, _certain_rank(numbers, bounds)), states + 1
        if lowest >= highest:
            break
    if lowest >= highest or not (known.is_exact and lowest):
        return Rank(min(lowest, highest), highest)
    return Rank(lowest, lowest, states)


def constant_values(symbols: Symbols, block: ca.SX) -> FloatArray | None:
    """The values of a constant block; None if no sample point is in its domain.

    Values within rounding of a whole number are that number.

    >>> x = sympy.Symbol("x", real=True)
    >>> node = ca.SX.sym("x")
    >>> constant_values({x: node}, 3 * node / node - 1e-20 * ca.horzcat(0, node) / node).tolist()
    [[3.0, 3.0]]
    """
    samples = (np.array(values) for values in _Question(symbols, block).samples())
    found = min(samples, key=lambda pairs: float(np.max(pairs[:, 1], initial=0.0)))
    values, bounds = (np.reshape(part, block.shape, order="F") for part in found.T)
    if not np.all(np.isfinite(bounds)):
        return None
    whole = np.round(values)
    return np.where(np.abs(values - whole) <= 4.0 * bounds, whole, values)


def numeric_rank(matrix: ArrayLike) -> int:
    """The rank of a matrix of numbers, for hypotheses; solving decides rank elsewhere.

    Rows and columns are brought to size one first, so that units do not matter.
    """
    scaled, _ = equilibrated(np.array(matrix, dtype=float))
    sizes = np.linalg.svd(scaled, compute_uv=False)
    return int(np.sum(sizes > 1e-11 * max(1e-300, float(sizes.max(initial=0.0)))))


def _certain_rank(matrix: FloatArray, bounds: FloatArray) -> int:
    """How many singular values exceed what the errors of the entries can make of zero."""
    scaled, scales = equilibrated(np.where(np.abs(matrix) > 4.0 * bounds, matrix, 0.0))
    sizes = np.linalg.svd(scaled, compute_uv=False)
    error = float(np.linalg.norm(bounds * scales)) + 1e-14 * float(sizes.max(initial=0.0))
    return int(np.sum(sizes > 4.0 * error))


def equilibrated(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A matrix with rows and columns of size one, and what each entry was multiplied by."""
    scaled, scales = matrix.copy(), np.ones_like(matrix)
    for _ in range(8):
        for axis in (0, 1):
            largest = np.max(np.abs(scaled), axis=axis, keepdims=True, initial=0.0)
            factor = 1.0 / np.sqrt(np.where(largest > 0, largest, 1.0))
            scaled, scales = scaled * factor, scales * factor
    return scaled, scales


class _Combination:
    """A linear combination of values, in the field or in floating point with its error bound."""

    __slots__ = ("bound", "value")

    def __init__(self, value: float, bound: float = 0.0) -> None:
        self.value, self.bound = value, bound

    def __add__(self, other: _Combination) -> _Combination:
        value = self.value + other.value
        return _Combination(value, self.bound + other.bound + 2.0**-52 * abs(value))

    def __sub__(self, other: _Combination) -> _Combination:
        return self + (-1) * other

    def __rmul__(self, factor: int) -> _Combination:
        return _Combination(factor * self.value, abs(factor) * self.bound)


#: The values of all entries at the point c v + d w of the line through two random points.
_OnLine = Callable[[int, int], list[_Combination]]
#: What has to vanish, for a random number that scales.
_Identity = Callable[[_OnLine, int], list[_Combination]]


class _Question:
    """An identity among the values of expressions at related points."""

    def __init__(self, symbols: Symbols, block: ca.SX, accuracy: float = UNIT) -> None:
        self.symbols, self.block, self.accuracy = list(symbols), block, accuracy
        self.nodes = list(symbols.values())
        self.points_found = self.samples_found = 0

    @cached_property
    def instructions(self) -> Instructions:
        return Instructions(self.nodes, self.block)

    def identity(self, moved: Sequence[int], claim: _Identity, words: str) -> Verdict:
        """Ask an identity in which the symbols at some places move along a line."""
        if self.block.nnz() == 0:
            return Verdict("proved", "every entry is zero as it is written", holds_to_rounding=True)
        entry = self._fails_in_field(moved, claim)
        if entry is None and self.points_found:
            return Verdict(
                "proved", f"it {words} in exact arithmetic modulo a prime", holds_to_rounding=True
            )
        refuting = self._fails_in_samples(moved, claim)
        if refuting is not None:
            return refuting
        known = self.instructions
        if (
            entry is not None
            and known.is_exact
            and known.has_plain_constants
            and self.accuracy == UNIT
        ):
            return Verdict("refuted", "it fails in exact arithmetic modulo a prime", entry)
        if not self.samples_found:
            return Verdict(
                "not established",
                f"no proof was found that it {words}, and no sample where it is defined",
            )
        if entry is not None and known.is_exact:
            return Verdict.to_rounding(self.samples_found, self.accuracy)
        return Verdict(
            "not established", f"no proof was found that it {words}, and no point where not"
        )

    def _fails_in_field(self, moved: Sequence[int], claim: _Identity) -> int | None:
        """Return an entry where the identity fails, or None if it holds at all points found."""
        for point, direction, evaluator, scale in self._field_points():

            def values(place: list[int], evaluator: Residues = evaluator) -> list[_Combination]:
                return [_Combination(value) for value in evaluator.at([k % PRIME for k in place])]

            try:
                found = claim(_line(values, point, direction, moved), scale)
            except NoPointError:  # a pole at this point; others follow
                continue
            self.points_found += 1
            entry = next((k for k, one in enumerate(found) if one.value % PRIME), None)
            if entry is not None or self.points_found >= self._points_wanted:
                return entry
        return None

    @property
    def _points_wanted(self) -> int:
        return POINTS_WITH_ROOTS if self.instructions.has_roots else POINTS

    def _field_points(self) -> Iterator[tuple[list[int], list[int], Residues, int]]:
        random = Random(2305)
        for seed in range(DRAWS):
            point, direction = (
                [_residue(symbol, random) for symbol in self.symbols] for _ in range(2)
            )
            yield point, direction, Residues(self.instructions, seed), random.randrange(2, PRIME)

    def field_values(self) -> Iterator[list[int]]:
        """The residues of all entries at some points."""
        for point, _, evaluator, _ in self._field_points():
            try:
                values = evaluator.at(point)
            except NoPointError:  # a pole at this point; others follow
                continue
            self.points_found += 1
            yield values
            if self.points_found == POINTS:
                return

    def samples(self) -> Iterator[list[Bounded]]:
        """Values with error bounds at floating-point samples of many sizes."""
        for point, _ in islice(self._sample_points(), SAMPLES):
            yield bounded_values(self.instructions, point)

    def _sample_points(self) -> Iterator[tuple[list[float], list[float]]]:
        random = Random(71)
        for k in range(SAMPLE_DRAWS):
            span = SIZES if k % 2 else (-0.5, 0.2)
            point, direction = (
                [_sample(symbol, random, span) for symbol in self.symbols] for _ in range(2)
            )
            yield point, direction

    def _fails_in_samples(self, moved: Sequence[int], claim: _Identity) -> Verdict | None:
        """What refutes the identity beyond rounding."""

        def values(place: list[float]) -> list[_Combination]:
            return [
                _Combination(*pair)
                for pair in bounded_values(self.instructions, place, self.accuracy)
            ]

        for point, direction in self._sample_points():
            found = claim(_line(values, point, direction, moved), 3)
            for entry, one in enumerate(found):
                if math.isfinite(one.bound) and abs(one.value) > 4.0 * one.bound:
                    pairs = zip(self.symbols[:6], point, strict=False)
                    shown = ", ".join(f"{symbol} = {value:.4g}" for symbol, value in pairs)
                    return Verdict("refuted", f"it fails by {abs(one.value):.2g} at {shown}", entry)
            self.samples_found += all(math.isfinite(one.bound) for one in found)
            if self.samples_found == SAMPLES:
                break
        return None


def _line(
    values: Callable[[list[Any]], list[_Combination]],
    point: Sequence[float],
    direction: Sequence[float],
    moved: Sequence[int],
) -> _OnLine:
    """Values on the line c v + d w of the moved symbols; the others stay where they are."""

    def at(c: int, d: int) -> list[_Combination]:
        place = list(point)
        for k in moved:
            place[k] = c * point[k] + d * direction[k]
        return values(place)

    return at


def step_residues(symbols: Symbols, instructions: Instructions) -> list[tuple[int, ...]]:
    """The residues of every step at as many points as prove an identity; empty where too few are.

    Steps with the same residues have the same value for all values of the symbols.
    """
    wanted = POINTS_WITH_ROOTS if instructions.has_roots else POINTS
    random, found = Random(2305), list[list[int]]()
    for seed in range(DRAWS):
        point = [_residue(symbol, random) for symbol in symbols]
        with suppress(NoPointError):
            found.append(Residues(instructions, seed).steps_at(point))
        if len(found) == wanted:
            return list(zip(*found, strict=True))
    return []


def _residue(symbol: sympy.Symbol, random: Random) -> int:
    residue = random.randrange(1, PRIME)
    return residue * residue % PRIME if symbol.is_positive else residue


def _sample(symbol: sympy.Symbol, random: Random, span: tuple[float, float]) -> float:
    size: float = 10.0 ** random.uniform(*span)
    if symbol.is_integer:
        size = float(math.ceil(size))
    if symbol.is_nonnegative:
        return size
    return -size if symbol.is_nonpositive or random.random() < 0.5 else size


def _places(symbols: Symbols, variables: ca.SX) -> list[int]:
    """The places of variables among the symbols."""
    places = {node.element_hash(): k for k, node in enumerate(symbols.values())}
    if variables.numel():
        return [places[node.element_hash()] for node in ca.vertsplit(ca.vec(variables))]
    return []
