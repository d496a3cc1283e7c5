"""Blocks of CasADi's graph as short expressions of SymPy, with definitions for what they share.

The graph has every operation once, so that its size, and the work here, grow with the system and
not with the length of what a tree would say. Operations are joined to expressions as long as these
stay short; an operand that would make one long gets a name, and so does a sum that recurs. A
definition contains names of earlier ones only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import casadi as ca
import sympy

from ..errors import ExpressionError, ModelError
from .graph_expressions import OPERATIONS, number_of
from .simplify.lowest_terms import lowest_terms
from .simplify.quotient_printer import LOOKS, QuotientPrinter
from .simplify.quotients import AngleSubstitution, Generators
from .simplify.simplifier import simplify
from .simplify.simplifying_algebra import NamedInverse
from .simplify.trigonometric_ring import TooMuchWorkError, Work
from .simplify.written_terms import primitive_sum, size, sums_in
from .value_classes import ValueClasses

__all__ = ["GraphLayers"]

#: Expressions that are longer than the first, in units of `size`, are brought to lowest terms;
#: operands that are longer than the second are named where the result is longer than the third.
SIMPLIFIED, NAMED, LONG = 14, 16, 90
#: The longest expression that a part without a second use is put back into.
LONGEST = 130
#: The work that joining operations may take, for one of them and for all.
PART_EFFORT, JOINING_EFFORT = 2_000, 300_000
#: The work that writing an expression in simplified form may take, and writing all of them.
PRINTED_EFFORT, PRINTING_EFFORT = 40_000, 800_000
#: The number of terms that are looked at to simplify expressions.
MOST_LOOKS = 40_000
#: The work that an operation may take on the way to a closed form, and all of them.
CLOSED_EFFORT, CLOSING_EFFORT = 10_000, 400_000
#: The longest intermediate result on the way to a closed form, and the longest closed form.
LONGEST_STEP, CLOSED = 600, 260
#: Graphs with more operations than the first are written with the part of all this work that the
#: second divides it by: searching more has not made them shorter.
LARGE, LARGE_SHARE = 1_500, 20
#: Graphs with more operations are left to programs: each takes about a millisecond here.
MOST_OPERATIONS = 40_000
#: Entries of a matrix that are longer than this are named by their place.
LONG_ENTRY = 40
#: What a name for a sum that recurs must save, in units of `size`.
SAVED = 20


class GraphLayers:
    """Blocks as matrices of SymPy.

    Parameters
    ----------
    symbols : mapping of symbol to node
        The symbols of the graph.
    turns : sequence of AngleSubstitution
        Differences of angles to work in.
    collected : iterable of symbols
        Symbols by which sums are grouped: velocities, momenta.
    operations : int
        The number of operations of all blocks, about; those of large systems get less work.

    Attributes
    ----------
    meanings : mapping of symbol to expression
        The definitions, each in symbols of the graph and earlier names.
    places : mapping of symbol to (kind, place)
        The names that are entries of matrices.

    >>> x, y = sympy.symbols("x y")
    >>> nodes = {x: ca.SX.sym("x"), y: ca.SX.sym("y")}
    >>> layers = GraphLayers(nodes)
    >>> layers.matrices([ca.sin(nodes[x]) ** 2 + ca.cos(nodes[x]) ** 2 + nodes[y]])
    [Matrix([[y + 1]])]
    """

    def __init__(
        self,
        symbols: Mapping[sympy.Symbol, ca.SX],
        turns: Sequence[AngleSubstitution] = (),
        collected: Iterable[sympy.Symbol] = (),
        operations: int = 0,
    ) -> None:
        self._symbols, self._turns, self._collected = symbols, tuple(turns), tuple(collected)
        share = LARGE_SHARE if operations > LARGE else 1
        self._closing_work, self._joining_work = (
            Work(CLOSING_EFFORT // share),
            Work(JOINING_EFFORT // min(share, 5)),
        )
        self._printing_work, self._looks = (
            Work(PRINTING_EFFORT // share),
            Work(MOST_LOOKS // share),
        )
        self._names: dict[sympy.Expr, sympy.Symbol] = {}
        self.meanings: dict[sympy.Symbol, sympy.Expr] = {}
        self.places: dict[sympy.Symbol, tuple[str, str]] = {}
        self.inverses: tuple[NamedInverse, ...] = ()

    def matrices(self, blocks: Sequence[ca.SX]) -> list[sympy.MatrixBase]:
        """The blocks, with closed forms where these are short and names for parts elsewhere."""
        flat = _column(blocks)
        found = list(self._closed_entries(flat))
        rest = [place for place, entry in enumerate(found) if entry is None]
        for place, entry in zip(rest, self._entries(flat[rest], self._combined), strict=True):
            found[place] = self._simplified(entry)
        self.meanings = {name: self._simplified(meaning) for name, meaning in self.meanings.items()}
        pending = iter(found)
        return [_matrix(block.shape, pending) for block in blocks]

    def finished(self, blocks: Sequence[sympy.MatrixBase]) -> list[sympy.MatrixBase]:
        """The blocks with names for sums that recur, and without names that are used once."""
        entries = self._with_names_for_sums([entry for block in blocks for entry in block])
        pending = iter(self._without_single_names(entries))
        return [
            sympy.Matrix(*block.shape, [next(pending) for _ in range(len(block))])
            for block in blocks
        ]

    def closed(self, blocks: Sequence[ca.SX]) -> list[sympy.MatrixBase] | None:
        """The blocks with entries in closed form, or None where one of them is long."""
        entries = list(self._closed_entries(_column(blocks), until_long=True))
        kept = iter([entry for entry in entries if entry is not None])
        if None in entries:
            return None
        return [_matrix(block.shape, kept) for block in blocks]

    def _closed_entries(
        self, column: ca.SX, until_long: bool = False
    ) -> Iterator[sympy.Expr | None]:
        """The entries of a column in lowest terms; None for those that are long."""
        for entry in self._entries(column, self._closing):
            found = None if entry is sympy.nan else self._simplified(entry)
            if found is not None and size(found) <= CLOSED:
                yield found
            else:
                yield None
                if until_long:
                    return

    # -- one operation after another ---------------------------------------------------------------

    def _entries(
        self, block: ca.SX, combined: Callable[[int, Sequence[sympy.Expr]], sympy.Expr]
    ) -> list[sympy.Expr]:
        """The entries of a block; `combined` makes an expression of an operation."""
        classes, names = ValueClasses(self._symbols, block), list(self._symbols)
        if len(classes.chosen) > MOST_OPERATIONS:
            raise ModelError(
                "These equations take too much work to be written out",
                seen=f"{len(classes.chosen)} different operations, and at most {MOST_OPERATIONS}",
                remedy="ask for the format c",
            )
        values: dict[int, sympy.Expr] = {}
        for name, (code, sign, operands, datum) in classes.chosen.items():
            if code == ca.OP_INPUT:
                found = names[int(datum)]
            elif code == ca.OP_CONST:
                found = number_of(datum)
            elif code in OPERATIONS:
                found = combined(code, [s * values[k] for s, k in operands])
            else:
                raise ExpressionError(
                    "An operation has no expression",
                    seen=f"CasADi's code {code}",
                    remedy="write the model in elementary functions",
                )
            values[name] = sign * found
        return [
            sympy.S.Zero if output is None else output[0] * values[output[1]]
            for output in classes.outputs
        ]

    def _closing(self, code: int, operands: Sequence[sympy.Expr]) -> sympy.Expr:
        """The result of an operation in lowest terms; not a number where it is long."""
        if sympy.nan in operands or self._closing_work.left < 0:
            return sympy.nan
        work = Work(CLOSED_EFFORT, self._closing_work)
        found = self._lowest(OPERATIONS[code](*operands), work)
        return sympy.nan if size(found) > LONGEST_STEP else found

    def _combined(self, code: int, operands: Sequence[sympy.Expr]) -> sympy.Expr:
        operation = OPERATIONS[code]
        found = operation(*operands)
        if self._joining_work.left > 0:
            found = self._lowest(found, Work(PART_EFFORT, self._joining_work))
        if size(found) <= LONG:
            return found
        return operation(*(self._named(operand) for operand in operands))

    def _lowest(self, expression: sympy.Expr, work: Work) -> sympy.Expr:
        """The expression, or its lowest terms where these are shorter."""
        if size(expression) <= SIMPLIFIED:
            return expression
        try:
            found = lowest_terms(expression, work, self._turns)
        except TooMuchWorkError:
            return expression
        return min(expression, found, key=size)

    def _named(self, expression: sympy.Expr) -> sympy.Expr:
        """A name for a long expression, times the number that all its terms share."""
        if size(expression) <= NAMED:
            return expression
        scale, rest = _scaled(expression)
        if rest not in self._names:
            self._names[rest] = sympy.Dummy("name", real=True)
            self.meanings[self._names[rest]] = rest
        return scale * self._names[rest]

    def name_entry(self, expression: sympy.Expr, kind: str, place: str) -> sympy.Expr:
        """A name for a long entry of a matrix, by its place."""
        if size(expression) <= LONG_ENTRY and expression not in self.meanings:
            return expression
        if expression not in self.meanings or expression in self.places:
            name = sympy.Dummy("entry", real=True)
            self.meanings[name] = expression
            expression = name
        self.places[expression] = (kind, place)
        return expression

    # -- all of them -------------------------------------------------------------------------------

    def _simplified(self, expression: sympy.Expr) -> sympy.Expr:
        """The expression, or a simplified form that is shorter, within little work."""
        if size(expression) <= SIMPLIFIED or min(self._printing_work.left, self._looks.left) < 0:
            return expression
        try:
            work = Work(PRINTED_EFFORT, self._printing_work)
            generators = Generators([expression], work, self._turns, simplify)
            printer = QuotientPrinter(generators, self._collected, Work(LOOKS, self._looks))
            found = printer.quotient(generators.read(expression))
        except TooMuchWorkError:
            return expression
        return min(expression, found, key=size)

    def _with_names_for_sums(self, entries: list[sympy.Expr]) -> list[sympy.Expr]:
        """Names for sums that recur, where they save much."""
        counts: dict[sympy.Expr, int] = {}
        for expression in (*self.meanings.values(), *entries):
            for total in sums_in(expression, top=True):
                counts[total] = counts.get(total, 0) + 1
        for total, count in counts.items():
            if (count - 1) * size(total) >= SAVED and total not in self._names:
                self._names[total] = sympy.Dummy("name", real=True)
        before, self.meanings = self.meanings, {}
        for name, meaning in before.items():
            self._define(name, meaning)
        return [self._exchanged(entry) for entry in entries]

    def _define(self, name: sympy.Symbol, meaning: sympy.Expr) -> None:
        parts = [self._exchanged(part) for part in meaning.args]
        self.meanings[name] = meaning.func(*parts)

    def _exchanged(self, expression: sympy.Expr) -> sympy.Expr:
        """The expression with names for the sums in it that have one."""
        if not expression.args or not isinstance(expression, sympy.Expr):
            return expression
        scale, rest = _scaled(expression)
        name = self._names.get(rest)
        if name is not None:
            if name not in self.meanings:
                self._define(name, rest)
            return scale * name
        if not (expression.is_Add or expression.is_Mul or expression.is_Pow):
            return expression
        return expression.func(*(self._exchanged(part) for part in expression.args))

    def _without_single_names(self, entries: list[sympy.Expr]) -> list[sympy.Expr]:
        """Put back what is used once and leaves the expression short, and what says little."""
        uses: dict[sympy.Symbol, int] = dict.fromkeys(self.meanings, 0)
        for expression in (*self.meanings.values(), *entries):
            for node in sympy.preorder_traversal(expression):
                if node in uses:
                    uses[node] += 1
        spelt: dict[sympy.Symbol, sympy.Expr] = {}
        order = {name: place for place, name in enumerate(self.meanings)}

        def put_back(expression: sympy.Expr) -> sympy.Expr:
            present = [s for s in expression.free_symbols if s in spelt]
            for name in sorted(present, key=lambda s: (size(spelt[s]), order[s])):
                longer = expression.xreplace({name: spelt[name]})
                if size(longer) <= LONGEST or size(spelt[name]) <= SIMPLIFIED:
                    expression = longer
                else:
                    kept[name] = spelt[name]
            return expression

        kept: dict[sympy.Symbol, sympy.Expr] = {}
        for name, meaning in self.meanings.items():
            meaning = put_back(meaning)
            if (uses[name] - 1) * size(meaning) < SAVED:
                spelt[name] = meaning
            else:
                kept[name] = meaning
        found = [put_back(entry) for entry in entries]
        self.meanings = {name: kept[name] for name in self.meanings if name in kept}
        return found


def _column(blocks: Sequence[ca.SX]) -> ca.SX:
    return ca.vertcat(*(ca.densify(ca.vec(block)) for block in blocks))


def _matrix(shape: tuple[int, int], entries: Iterator[sympy.Expr]) -> sympy.MatrixBase:
    """A matrix of entries that are given column by column."""
    rows, columns = shape
    return sympy.Matrix(columns, rows, [next(entries) for _ in range(rows * columns)]).T


def _scaled(expression: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """A number, and the expression without it."""
    if expression.is_Add:
        return primitive_sum(expression)
    return expression.as_coeff_Mul(rational=True)  # type: ignore[no-any-return]
