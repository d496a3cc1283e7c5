r"""The algebra of formulas for reading: results in lowest terms, large inverses by name.

A derivation on plain trees carries every detour along: the same pivot divided out and multiplied in
again, sines and cosines whose squares add up to one. Here each intermediate result is brought to
lowest terms, and the inverse K of a matrix M that is too large to be written out stays a matrix of
symbols. So does the solution w = K r of M w = r. They are differentiated by

    dK = -K dM K,        dw = K (dr - dM w)

and what multiplies dw is brought to zero by r = M w where that is so: the derivative of a Legendre
transform needs no inverse.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from sympy import MatrixBase

from ...errors import ModelError
from ...model.quantities import inlined_if_short
from ..lazy import Lazy, LazyBlock, each, entries_of, now
from ..tree import TreeAlgebra
from .lowest_terms import eliminated, lowest_terms
from .quotients import NODE, AngleSubstitution, Generators
from .statement import LONG_STATEMENT, with_constants
from .trigonometric_ring import TooMuchWorkError, Work

__all__ = ["NamedInverse", "SimplifyingAlgebra"]

#: The work that a derivation and a part of it may take, and after which an inverse gets a name.
EFFORT, PART_EFFORT, INVERSE_EFFORT = 300_000, 150_000, 40_000
#: Expressions with fewer operations are not worth a look.
SHORT = 12
#: Above this many operations of an inverse solutions get names; above the second the inverse does.
SHORT_INVERSE, WRITTEN_INVERSE = 60, 150
#: The most operations of an expression of the model without the names of its quantities.
LONGEST_INLINED = 4000
#: The longest inverse that is written out where there are no names.
LONGEST_INVERSE = 1000


@dataclass(frozen=True)
class NamedInverse:
    """K = M^-1, and names for the solutions w = K r that were asked for.

    Attributes
    ----------
    symbols : matrix (n x n)
        K, symmetric: symbols where it `is_named`, written out otherwise.
    matrix : matrix (n x n)
        M.
    solutions : list of pairs of columns (n x 1)
        w and r.
    """

    symbols: Any
    matrix: Any
    solutions: list[tuple[Any, Any]]
    is_named: bool


_Pairs = tuple[tuple[sympy.Symbol, sympy.Expr], ...]


class SimplifyingAlgebra:
    """Expressions as SymPy matrices in lowest terms.

    Parameters
    ----------
    named : bool
        Whether large inverses get names; they are an error otherwise.
    turns : sequence of AngleSubstitution
        Differences of angles to work in.
    layered : bool
        Whether the entries of layers get names.
    """

    def __init__(
        self,
        named: bool = True,
        turns: Sequence[AngleSubstitution] = (),
        effort: int = EFFORT,
        constants: Iterable[sympy.Symbol] = (),
        layered: bool = False,
    ) -> None:
        self._layered = layered
        self._plain, self._may_name, self._turns = TreeAlgebra(), named, tuple(turns)
        self.work = Work(effort)
        self._effort, self._constants, self.has_long_inverse = effort, frozenset(constants), False
        self.inverses: list[NamedInverse] = []
        self.meanings: dict[sympy.Symbol, sympy.Expr] = {}
        self._rates: dict[tuple[sympy.Symbol, _Pairs], sympy.Expr] = {}
        self._pushed: dict[sympy.Symbol, sympy.Expr] = {}
        self._pushes: dict[tuple[int, int, _Pairs], Any] = {}
        self._homes: dict[sympy.Symbol, tuple[NamedInverse, Any]] = {}

    def _lowest(self, expression: sympy.Expr) -> sympy.Expr:
        try:
            return lowest_terms(expression, Work(PART_EFFORT, self.work), self._turns)
        except TooMuchWorkError:
            raise self._refusal(expression) from None

    def _refusal(self, expression: sympy.Expr) -> ModelError:
        seen = (
            f"more than {self._effort} operations"
            if self.work.left < 0
            else f"a part with {expression.count_ops()} operations"
        )
        return ModelError(
            "These equations are too large to be written out",
            seen=seen,
            remedy='ask for a form that inverts nothing, such as "lagrange", or for the format c',
        )

    def _kept(self, expression: sympy.Expr) -> sympy.Expr:
        return self._lowest(expression) if expression.count_ops() > SHORT else expression

    # -- as in plain trees -------------------------------------------------------------------------

    def scalar(self, expression: sympy.Expr) -> Lazy:
        return Lazy(lambda: self._stated(expression))

    def vector(self, expressions: Iterable[sympy.Expr]) -> Lazy:
        entries = list(expressions)
        return Lazy(lambda: self._plain.vector(self._stated(now(entry)) for entry in entries))

    def _stated(self, expression: sympy.Expr) -> sympy.Expr:
        """An expression of the model; where it is long, with names for sums of constants in it.

        Named quantities of the model are spelt out, so that what they share cancels.
        """
        spelt = inlined_if_short(expression, LONGEST_INLINED)
        if spelt is None:
            raise self._refusal(expression)
        expression = spelt
        if not self._constants or expression.count_ops() <= LONG_STATEMENT:
            return expression
        return with_constants(expression, self._constants, self.meanings)

    def zeros(self, rows: int, columns: int = 1) -> Lazy:
        return Lazy(lambda: self._plain.zeros(rows, columns))

    def stack(self, blocks: Sequence[LazyBlock]) -> Lazy:
        return Lazy(lambda: self._plain.stack([now(block) for block in blocks]))

    def columns(self, blocks: Sequence[LazyBlock]) -> Lazy:
        return Lazy(lambda: self._plain.columns([now(block) for block in blocks]))

    def inner(self, left: LazyBlock, right: LazyBlock) -> Lazy:
        return Lazy(lambda: self._plain.inner(now(left), now(right)))

    def root(self, scalar: LazyBlock) -> Lazy:
        return Lazy(lambda: self._plain.root(each(now(scalar), self._lowest)))

    def split_columns(self, matrix: LazyBlock) -> Sequence[MatrixBase]:
        whole = now(matrix)
        return [whole.col(k) for k in range(whole.cols)]

    def part(self, matrix: LazyBlock, rows: Sequence[int], columns: Sequence[int]) -> Lazy:
        return Lazy(lambda: self._plain.part(now(matrix), rows, columns))

    def determinant(self, matrix: LazyBlock) -> Lazy:
        return Lazy(lambda: self._plain.determinant(now(matrix)))

    # -- derivatives -------------------------------------------------------------------------------

    def gradient(self, scalar: LazyBlock, symbols: LazyBlock) -> Lazy:
        return self.jacobian(scalar, symbols).T

    def hessian(self, scalar: LazyBlock, symbols: LazyBlock) -> tuple[Lazy, Lazy]:
        first = self.gradient(scalar, symbols)
        return self.jacobian(first, symbols), first

    def jacobian(self, vector: LazyBlock, symbols: LazyBlock) -> Lazy:
        def made() -> MatrixBase:
            entries, variables = entries_of(vector), list(now(symbols))
            derivatives = [self._derivatives(entry, variables) for entry in entries]
            return sympy.Matrix(
                len(entries),
                len(variables),
                [derivative for row in derivatives for derivative in row],
            )

        return Lazy(made)

    def along(self, vector: LazyBlock, symbols: LazyBlock, direction: LazyBlock) -> Lazy:
        def made() -> MatrixBase:
            pairs = tuple(
                (symbol, rate)
                for symbol, rate in zip(now(symbols), now(direction), strict=True)
                if rate != 0
            )
            changes = [self._kept(self._change(entry, pairs)) for entry in entries_of(vector)]
            return sympy.Matrix(len(changes), 1, changes)

        return Lazy(made)

    def _derivatives(
        self, expression: sympy.Expr, symbols: Sequence[sympy.Symbol]
    ) -> list[sympy.Expr]:
        """The derivatives by some symbols, in lowest terms."""
        partial, steep = self._partial_derivatives(expression, symbols)
        found = []
        for symbol in symbols:
            rates = [
                derivative * self._rate(name, ((symbol, sympy.S.One),))
                for name, derivative in steep.items()
            ]
            total = sympy.Add(partial.get(symbol, sympy.S.Zero), *rates)
            found.append(self._kept(total) if rates else total)
        return found

    def _change(self, expression: sympy.Expr, pairs: _Pairs) -> sympy.Expr:
        """The derivative along a direction, given by symbols and their rates."""
        partial, steep = self._partial_derivatives(expression, [symbol for symbol, _ in pairs])
        terms = [partial[symbol] * rate for symbol, rate in pairs if symbol in partial]
        return sympy.Add(
            *terms,
            *(derivative * self._rate(symbol, pairs) for symbol, derivative in steep.items()),
        )

    def _partial_derivatives(
        self, expression: sympy.Expr, symbols: Sequence[sympy.Symbol]
    ) -> tuple[dict[sympy.Symbol, sympy.Expr], dict[sympy.Symbol, sympy.Expr]]:
        """Differentiate by symbols and by the names that occur, as if they were independent."""
        expression = self.spelt_out(expression)
        present = expression.free_symbols
        named = [symbol for symbol in self._homes if symbol in present]
        wanted = [symbol for symbol in (*symbols, *named) if symbol in present]
        found = (
            dict(zip(wanted, self._plain_derivatives(expression, wanted), strict=True))
            if wanted
            else {}
        )
        steep = {
            symbol: derivative
            for symbol in named
            if (derivative := self._at_solutions(found.pop(symbol))) != 0
        }
        return found, steep

    def spelt_out(self, expression: sympy.Expr) -> sympy.Expr:
        """The expression without the names of `meanings` that are not constant."""
        while any(symbol in self._pushed for symbol in expression.free_symbols):
            expression = expression.xreplace(self._pushed)
        return expression

    def _plain_derivatives(
        self, expression: sympy.Expr, symbols: Sequence[sympy.Symbol]
    ) -> list[sympy.Expr]:
        try:
            generators = Generators(
                [expression], Work(INVERSE_EFFORT, self.work), self._turns, self._lowest
            )
            if all(map(generators.is_smooth_in, symbols)):
                quotient = generators.read(expression)
                return [
                    generators.expression(generators.derivative(quotient, symbol))
                    for symbol in symbols
                ]
        except TooMuchWorkError:
            pass  # as a whole it is too large, its derivatives may not be
        try:
            self.work.spend(NODE * len(symbols) * expression.count_ops())
        except TooMuchWorkError:
            raise self._refusal(expression) from None
        return [self._kept(sympy.diff(expression, symbol)) for symbol in symbols]

    def _rate(self, symbol: sympy.Symbol, pairs: _Pairs) -> sympy.Expr:
        """The change of a symbol of K or w along a direction."""
        if (symbol, pairs) not in self._rates:
            home, place = self._homes[symbol]
            if isinstance(place, tuple):
                i, j = place
                value = -(
                    home.symbols.row(i) @ self._matrix_change(home, pairs) @ home.symbols.col(j)
                )[0]
            else:
                n = home.matrix.rows
                value = (home.symbols.row(place % n) @ self._push(home, place // n, pairs))[0]
            self._rates[symbol, pairs] = value
        return self._rates[symbol, pairs]

    def _matrix_change(self, home: NamedInverse, pairs: _Pairs) -> MatrixBase:
        return home.matrix.applyfunc(lambda entry: self._change(entry, pairs))

    def _push(self, home: NamedInverse, place: int, pairs: _Pairs) -> MatrixBase:
        """Return dr - dM w of a solution along a direction, naming entries that are long."""
        key = (id(home), place, pairs)
        if key not in self._pushes:
            solution, right = home.solutions[place]
            change = (
                right.applyfunc(lambda entry: self._change(entry, pairs))
                - self._matrix_change(home, pairs) @ solution
            )
            self._pushes[key] = change.applyfunc(lambda entry: self._named_part(self._kept(entry)))
        return self._pushes[key]

    def _named_part(self, expression: sympy.Expr) -> sympy.Expr:
        if expression.count_ops() <= SHORT:
            return expression
        name = sympy.Dummy("n", real=True)
        self.meanings[name] = self._pushed[name] = expression
        return name

    def layer(self, block: LazyBlock) -> LazyBlock:
        if not self._layered:
            return block
        return Lazy(lambda: each(now(block), lambda entry: self._named_part(self._kept(entry))))

    def _at_solutions(self, expression: sympy.Expr) -> sympy.Expr:
        """Return zero if the expression vanishes by M w = r, for r of symbols and known terms."""
        for home in self.inverses:
            for solution, right in home.solutions:
                if not expression.has(*solution):
                    continue
                exchange = {}
                for entry, value in zip(right, home.matrix @ solution, strict=True):
                    symbol = next(
                        (
                            s
                            for s in sympy.Add.make_args(entry)
                            if s.is_Symbol and s not in self._homes
                        ),
                        None,
                    )
                    if symbol is not None:
                        exchange[symbol] = value - (entry - symbol)
                try:
                    if (
                        lowest_terms(
                            expression.xreplace(exchange),
                            Work(INVERSE_EFFORT, self.work),
                            self._turns,
                        )
                        == 0
                    ):
                        return sympy.S.Zero
                except TooMuchWorkError:  # another exchange may be shorter
                    continue
        return expression

    # -- solving -----------------------------------------------------------------------------------

    def solve(self, matrix: LazyBlock, right: LazyBlock) -> Lazy:
        return Lazy(lambda: self._solved(each(now(matrix), self._lowest), now(right)))

    def solve_square(self, matrix: LazyBlock, right: LazyBlock) -> Lazy:
        def made() -> MatrixBase:
            table, column = each(now(matrix), self._lowest), now(right)
            try:
                return eliminated(table, column, Work(INVERSE_EFFORT, self.work), self._turns)
            except TooMuchWorkError:
                return self._plain.solve_square(table, column)

        return Lazy(made)

    def _solved(self, matrix: MatrixBase, right: MatrixBase) -> MatrixBase:
        """Solve each connected set of unknowns, with names unless the whole inverse is short."""
        sets = [
            (places, matrix.extract(places, places).as_immutable())
            for places in _components(matrix)
        ]
        known = {home.matrix: home for home in self.inverses}
        inverses = {
            part: known[part].symbols if part in known else self._inverse(part) for _, part in sets
        }
        lengths = [
            _operations(inverse)
            for part, inverse in inverses.items()
            if inverse is not None and part not in known
        ]
        is_long = None in inverses.values() or sum(lengths) > SHORT_INVERSE
        self.has_long_inverse |= is_long
        named = self._may_name and is_long
        named = named and not any(home.symbols.as_immutable() in inverses for home in self.inverses)
        found = sympy.zeros(matrix.rows, right.cols)
        for places, part in sets:
            rows = right.extract(places, range(right.cols))
            inverse = inverses[part]
            home = known.get(part)
            if home is None and (named or inverse is None):
                home = self._named_inverse(part, inverse)
            if home is None:
                values = each(inverse @ rows, self._lowest)
            else:
                values = (
                    home.symbols @ rows
                    if rows.cols > 1
                    else self._named_solution(home, each(rows, self._lowest))
                )
            for row, place in enumerate(places):
                found[place, :] = values.row(row)
        return found

    def _inverse(self, matrix: MatrixBase) -> MatrixBase | None:
        """The inverse written out, or None where it is too long and may have a name."""
        for home in self.inverses:
            if home.symbols.as_immutable() == matrix:
                return home.matrix
        try:
            inverse = eliminated(
                matrix, sympy.eye(matrix.rows), Work(INVERSE_EFFORT, self.work), self._turns
            )
            if _operations(inverse) <= (WRITTEN_INVERSE if self._may_name else LONGEST_INVERSE):
                return inverse
        except TooMuchWorkError:  # the inverse gets a name instead
            pass
        self.has_long_inverse = True
        if self._may_name:
            return None
        raise ModelError(
            "These equations are too large to be written out without names for their parts",
            seen=(
                f"a matrix of {matrix.rows} x {matrix.cols} with {_operations(matrix)} operations"
                " to invert"
            ),
            remedy="let parts have names (compact=True)",
        )

    def _named_solution(self, home: NamedInverse, right: MatrixBase) -> MatrixBase:
        for solution, known in home.solutions:
            if known == right:
                return solution
        n, place = right.rows, len(home.solutions)
        solution = sympy.Matrix(n, 1, lambda i, _: sympy.Dummy(f"w_{i + 1}", real=True))
        home.solutions.append((solution, right))
        self._homes |= {solution[i]: (home, place * n + i) for i in range(n)}
        return solution

    def _named_inverse(self, matrix: MatrixBase, inverse: MatrixBase | None) -> NamedInverse:
        if inverse is not None:
            home = NamedInverse(inverse, matrix, [], is_named=False)
        else:
            n = matrix.rows
            upper = {
                (i, j): sympy.Dummy(f"K_{i + 1}{j + 1}", real=True)
                for i in range(n)
                for j in range(i, n)
            }
            home = NamedInverse(
                sympy.Matrix(n, n, lambda i, j: upper[min(i, j), max(i, j)]),
                matrix,
                [],
                is_named=True,
            )
            self._homes |= {symbol: (home, place) for place, symbol in upper.items()}
        self.inverses.append(home)
        return home

    # -- substitution ------------------------------------------------------------------------------

    def substitute(self, block: LazyBlock, symbols: LazyBlock, values: LazyBlock) -> Lazy:
        return Lazy(lambda: self._substituted(now(block), now(symbols), now(values)))

    def _substituted(
        self, block: MatrixBase, symbols: MatrixBase, values: MatrixBase
    ) -> MatrixBase:
        exchange = {
            symbol: value for symbol, value in zip(symbols, values, strict=True) if symbol != value
        }
        if not exchange:
            return block
        if any(not exchange.keys().isdisjoint(self._symbols([name])) for name in self._pushed):
            block = each(block, self.spelt_out)
        exchange |= self._changed_names(block, exchange)
        return each(block.xreplace(exchange), self._kept)

    def _changed_names(
        self, block: MatrixBase, exchange: dict[sympy.Symbol, sympy.Expr]
    ) -> dict[sympy.Symbol, sympy.Expr]:
        """Names in the block whose meaning depends on what is exchanged, with what they become."""
        found: dict[sympy.Symbol, sympy.Expr] = {}
        present = block.free_symbols
        for home in list(self.inverses):
            touched = home.matrix.has(*exchange)
            matrix = home.matrix.xreplace(exchange)
            if home.is_named and touched and any(symbol in present for symbol in home.symbols):
                found |= dict(
                    zip(home.symbols, self._solved(matrix, sympy.eye(matrix.rows)), strict=True)
                )
            for solution, right in list(home.solutions):
                if (touched or right.has(*exchange)) and any(
                    symbol in present for symbol in solution
                ):
                    found |= dict(
                        zip(solution, self._solved(matrix, right.xreplace(exchange)), strict=True)
                    )
        return found

    def without(self, block: LazyBlock, symbols: LazyBlock) -> Any | None:
        if not self.depends(block, symbols):
            return block
        plain, variables = each(now(block), self._lowest), now(symbols)
        if self.depends(plain, variables):
            if any(
                self._lowest(derivative) != 0
                for entry in entries_of(plain)
                for derivative in self._derivatives(entry, list(variables))
            ):
                return None
            plain = self._substituted(plain, variables, sympy.zeros(len(variables), 1))
        return Lazy(lambda: plain)

    def depends(self, block: LazyBlock, symbols: LazyBlock) -> bool:
        value = now(block)
        return bool(self._symbols(value.free_symbols) & set(now(symbols)))

    def _symbols(self, symbols: Iterable[sympy.Symbol]) -> set[sympy.Symbol]:
        """The symbols of the model on which some symbols and names depend."""
        found: set[sympy.Symbol] = set()
        for symbol in symbols:
            if symbol in self._pushed:
                found |= self._symbols(self._pushed[symbol].free_symbols)
            elif symbol in self._homes:
                home, place = self._homes[symbol]
                found |= self._symbols(home.matrix.free_symbols)
                if not isinstance(place, tuple):
                    found |= self._symbols(
                        home.solutions[place // home.matrix.rows][1].free_symbols
                    )
            else:
                found.add(symbol)
        return found


def _operations(matrix: MatrixBase) -> int:
    return int(sum(entry.count_ops() for entry in matrix))


def _components(matrix: MatrixBase) -> list[list[int]]:
    """Sets of places that the entries of a symmetric matrix connect."""
    pending, found = list(range(matrix.rows)), list[list[int]]()
    while pending:
        places = [pending.pop(0)]
        for place in places:
            joined = [k for k in pending if matrix[place, k] != 0 or matrix[k, place] != 0]
            places += joined
            pending = [k for k in pending if k not in joined]
        found.append(sorted(places))
    return found
