r"""The algebra of formulas for reading: trees whose intermediate results are kept in lowest terms, with names for large inverses.

A derivation on plain trees carries every detour along: the same pivot divided out and multiplied in again, sines and cosines
whose squares add up to one. Here each intermediate result is brought to lowest terms, and the inverse K of a matrix M that is too
large to be written out stays a matrix of letters. So does the solution w = K r of M w = r. They are differentiated by

    dK = -K dM K,        dw = K (dr - dM w)

and what multiplies dw is brought to zero by r = M w where that is so: the derivative of a Legendre transform then needs no inverse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import sympy

from ..errors import ModelError
from .circle import TooMuchWork, Work
from .quotients import Alphabet, Turn, eliminated, lowest_terms
from .tree import TreeAlgebra

__all__ = ["BriefAlgebra", "NamedInverse", "helpful_turns"]

#: The work that a derivation may take, and after which an inverse gets a name.
EFFORT, INVERSE_EFFORT = 3_000_000, 60_000
#: Expressions with fewer operations are not worth a look.
SHORT = 12
#: An inverse with more operations gets a name.
WRITTEN_INVERSE = 400
#: The largest number of differences of angles that stand for angles.
MOST_TURNS = 3


def helpful_turns(expressions: Sequence[sympy.Expr]) -> tuple[Turn, ...]:
    """Differences and sums of angles in which the expressions have fewer terms than in the angles themselves.

    >>> a, b, m = sympy.symbols("a b m")
    >>> helpful_turns([m + sympy.cos(a - b) ** 2])
    (Turn(first=a, second=b, sign=1),)
    """
    turns: tuple[Turn, ...] = ()
    fewest = _terms(expressions, turns)
    for _ in range(MOST_TURNS):
        candidates = [
            Turn(first, second, sign)
            for first, second, sign in product(*[_angles(expressions)] * 2, (1, -1))
            if first != second and all(first not in (turn.first, turn.second) for turn in turns)
        ]
        rated = [(_terms(expressions, (*turns, turn)), k) for k, turn in enumerate(candidates)]
        count, best = min(rated, default=(fewest, 0))
        if count >= fewest:
            break
        fewest, turns = count, (*turns, candidates[best])
    return turns


def _angles(expressions: Sequence[sympy.Expr]) -> list[sympy.Symbol]:
    """Letters that occur together with others inside sines and cosines."""
    arguments = {node.args[0] for e in expressions for node in e.atoms(sympy.sin, sympy.cos)}
    found = {s for argument in arguments if argument.is_Add for s in argument.args if s.is_Symbol or (-s).is_Symbol}
    return sorted({s if s.is_Symbol else -s for s in found}, key=str)


def _terms(expressions: Sequence[sympy.Expr], turns: Sequence[Turn]) -> int:
    total = 0
    for expression in expressions:
        alphabet = Alphabet([expression], Work(INVERSE_EFFORT), turns)
        try:
            quotient = alphabet.read(expression)
            total += len(quotient.above) + sum(len(factor) for factor, _ in quotient.below)
        except TooMuchWork:
            total += INVERSE_EFFORT
    return total


@dataclass(frozen=True)
class NamedInverse:
    """K = M^-1 by name, and the solutions w = K r that were asked for.

    Attributes
    ----------
    letters : matrix (n x n) of symbols
        K, symmetric.
    matrix : matrix (n x n)
        M.
    solutions : list of pairs of columns (n x 1)
        w and r.
    """

    letters: Any
    matrix: Any
    solutions: list[tuple[Any, Any]]


class BriefAlgebra:
    """Expressions as SymPy matrices in lowest terms.

    Parameters
    ----------
    named : bool
        Whether large inverses get names; they are an error otherwise.
    turns : sequence of Turn
        Differences of angles to work in.
    """

    def __init__(self, named: bool = True, turns: Sequence[Turn] = ()) -> None:
        self._plain, self._may_name, self._turns, self.work = TreeAlgebra(), named, tuple(turns), Work(EFFORT)
        self.inverses: list[NamedInverse] = []
        self._rates: dict[tuple[sympy.Symbol, sympy.Symbol], sympy.Expr] = {}
        self._homes: dict[sympy.Symbol, tuple[NamedInverse, Any]] = {}

    def _lowest(self, expression: sympy.Expr) -> sympy.Expr:
        return lowest_terms(expression, self.work, self._turns)

    def _kept(self, expression: sympy.Expr) -> sympy.Expr:
        return self._lowest(expression) if expression.count_ops() > SHORT else expression

    # -- as in plain trees -------------------------------------------------------------------------------------------

    def scalar(self, expression: sympy.Expr) -> Any:
        return expression

    def vector(self, expressions: Iterable[sympy.Expr]) -> Any:
        return self._plain.vector(expressions)

    def zeros(self, rows: int, columns: int = 1) -> Any:
        return self._plain.zeros(rows, columns)

    def stack(self, blocks: Sequence[Any]) -> Any:
        return self._plain.stack(blocks)

    def columns(self, blocks: Sequence[Any]) -> Any:
        return self._plain.columns(blocks)

    def inner(self, left: Any, right: Any) -> Any:
        return self._plain.inner(left, right)

    def root(self, scalar: Any) -> Any:
        return self._plain.root(_each(scalar, self._lowest))

    def part(self, matrix: Any, rows: Sequence[int], columns: Sequence[int]) -> Any:
        return self._plain.part(matrix, rows, columns)

    def determinant(self, matrix: Any) -> Any:
        return self._plain.determinant(matrix)

    # -- derivatives -------------------------------------------------------------------------------------------------

    def gradient(self, scalar: Any, letters: Any) -> Any:
        entry = scalar[0] if isinstance(scalar, sympy.MatrixBase) else scalar
        return sympy.Matrix(len(letters), 1, [self._kept(self._derivative(entry, letter)) for letter in letters])

    def hessian(self, scalar: Any, letters: Any) -> tuple[Any, Any]:
        first = self.gradient(scalar, letters)
        return self.jacobian(first, letters), first

    def jacobian(self, vector: Any, letters: Any) -> Any:
        return sympy.Matrix(len(vector), len(letters), lambda i, j: self._kept(self._derivative(vector[i], letters[j])))

    def along(self, vector: Any, letters: Any, direction: Any) -> Any:
        pairs = [(letter, rate) for letter, rate in zip(letters, direction, strict=True) if rate != 0]
        entries = [sympy.Add(*(self._derivative(entry, letter) * rate for letter, rate in pairs)) for entry in vector]
        return sympy.Matrix(len(entries), 1, [self._kept(entry) for entry in entries])

    def _derivative(self, expression: sympy.Expr, letter: sympy.Symbol) -> sympy.Expr:
        found = sympy.diff(expression, letter)
        named = [s for s in self._homes if s in expression.free_symbols]
        for symbol in named:
            slope = self._at_solutions(sympy.diff(expression, symbol))
            if slope != 0:
                found += slope * self._rate(symbol, letter)
        return found

    def _rate(self, symbol: sympy.Symbol, letter: sympy.Symbol) -> sympy.Expr:
        """d symbol / d letter of a letter of K or w."""
        if (symbol, letter) not in self._rates:
            home, place = self._homes[symbol]
            matrix = home.matrix.applyfunc(lambda entry: self._derivative(entry, letter))
            if isinstance(place, tuple):
                i, j = place
                value = -(home.letters.row(i) @ matrix @ home.letters.col(j))[0]
            else:
                solution, right = home.solutions[place // matrix.rows]
                change = right.applyfunc(lambda entry: self._derivative(entry, letter)) - matrix @ solution
                value = (home.letters.row(place % matrix.rows) @ change)[0]
            self._rates[symbol, letter] = value
        return self._rates[symbol, letter]

    def _at_solutions(self, expression: sympy.Expr) -> sympy.Expr:
        """Zero where the expression vanishes by M w = r, for r whose entries are letters up to known terms."""
        for home in self.inverses:
            for solution, right in home.solutions:
                if not expression.has(*solution):
                    continue
                known = home.matrix @ solution
                exchange = {}
                for entry, value in zip(right, known, strict=True):
                    letter = next((s for s in sympy.Add.make_args(entry) if s.is_Symbol and s not in self._homes), None)
                    if letter is not None:
                        exchange[letter] = value - (entry - letter)
                if self._lowest(expression.xreplace(exchange)) == 0:
                    return sympy.S.Zero
        return expression

    # -- solving -----------------------------------------------------------------------------------------------------

    def solve(self, matrix: Any, right: Any) -> Any:
        matrix = _each(matrix, self._lowest)
        try:
            inverse = eliminated(matrix, sympy.eye(matrix.rows), Work(INVERSE_EFFORT, self.work), self._turns)
            if sum(entry.count_ops() for entry in inverse) <= WRITTEN_INVERSE:
                return _each(inverse @ right, self._lowest)
        except TooMuchWork:
            pass
        if not self._may_name:
            size = sum(entry.count_ops() for entry in matrix)
            raise ModelError(
                "These equations are too large to be written out without names for their parts",
                seen=f"a matrix of {matrix.rows} x {matrix.cols} with {size} operations to invert",
                remedy='let parts have names (compact=True), ask for a form that inverts nothing, such as "lagrange", '
                "or for the format c",
            )
        return self._named_solution(matrix, _each(right, self._lowest))

    def _named_solution(self, matrix: Any, right: Any) -> Any:
        home = next((known for known in self.inverses if known.matrix == matrix), None)
        n = matrix.rows
        if home is None:
            count = len(self.inverses)
            letters = sympy.Matrix(n, n, lambda i, j: sympy.Dummy(f"K{count}_{min(i, j)}_{max(i, j)}", real=True))
            for i in range(n):
                for j in range(i):
                    letters[i, j] = letters[j, i]
            home = NamedInverse(letters, matrix, [])
            self.inverses.append(home)
            for i in range(n):
                for j in range(i, n):
                    self._homes[letters[i, j]] = (home, (i, j))
        if right.cols > 1:
            return home.letters @ right
        for solution, known in home.solutions:
            if known == right:
                return solution
        place = len(home.solutions)
        solution = sympy.Matrix(n, 1, lambda i, _: sympy.Dummy(f"w{len(self._homes)}_{i}", real=True))
        home.solutions.append((solution, right))
        for i in range(n):
            self._homes[solution[i]] = (home, place * n + i)
        return solution

    def solve_square(self, matrix: Any, right: Any) -> Any:
        try:
            return eliminated(_each(matrix, self._lowest), right, Work(INVERSE_EFFORT, self.work), self._turns)
        except TooMuchWork:
            return self._plain.solve_square(matrix, right)

    # -- substitution ------------------------------------------------------------------------------------------------

    def substitute(self, block: Any, letters: Any, values: Any) -> Any:
        exchange = {letter: value for letter, value in zip(letters, values, strict=True) if letter != value}
        if not exchange:
            return block
        exchange |= self._changed_names(block, exchange)
        return _each(block.xreplace(exchange), self._kept)

    def _changed_names(self, block: Any, exchange: dict[sympy.Symbol, sympy.Expr]) -> dict[sympy.Symbol, sympy.Expr]:
        """Names in the block whose meaning depends on what is exchanged, with what they become."""
        found: dict[sympy.Symbol, sympy.Expr] = {}
        present = block.free_symbols
        for home in list(self.inverses):
            touched = home.matrix.has(*exchange)
            if touched and any(letter in present for letter in home.letters):
                new = self.solve(home.matrix.xreplace(exchange), sympy.eye(home.matrix.rows))
                found |= dict(zip(home.letters, new, strict=True))
            for solution, right in list(home.solutions):
                if (touched or right.has(*exchange)) and any(letter in present for letter in solution):
                    new = self.solve(home.matrix.xreplace(exchange), right.xreplace(exchange))
                    found |= dict(zip(solution, new, strict=True))
        return found

    def without(self, block: Any, letters: Any) -> Any | None:
        if not self.depends(block, letters):
            return block
        plain = _each(block, self._lowest)
        return None if self.depends(plain, letters) else plain

    def depends(self, block: Any, letters: Any) -> bool:
        return self._plain.depends(block, letters)


def _each(block: Any, change: Any) -> Any:
    return block.applyfunc(change) if isinstance(block, sympy.MatrixBase) else change(block)
