"""The algebra of CasADi's SX graph: automatic differentiation on shared subexpressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import casadi as ca
import sympy
from sympy.core.relational import Relational

from ..errors import ModelError
from ..model.quantities import Quantity, definitions_in
from . import structure
from .scalars import over, plus, times
from .sparse_factor import SparseFactor, columns_of, dense

__all__ = ["GraphAlgebra"]

_SAME_NAMES = "sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh exp log sign floor"
_RECIPROCALS = {"sec": "cos", "csc": "sin", "cot": "tan"}
_RECIPROCALS |= {f"{name}h": f"{of}h" for name, of in _RECIPROCALS.items()}


def _reciprocal(function: Callable[[ca.SX], ca.SX], value: ca.SX) -> ca.SX:
    return 1 / function(value)


_UNARY: dict[type, Callable[[ca.SX], ca.SX]] = {
    **{getattr(sympy, name): getattr(ca, name) for name in _SAME_NAMES.split()},
    **{getattr(sympy, k): partial(_reciprocal, getattr(ca, v)) for k, v in _RECIPROCALS.items()},
    sympy.Abs: ca.fabs,
    sympy.ceiling: ca.ceil,
}

_COMPARISONS: dict[type, Callable[[ca.SX, ca.SX], ca.SX]] = {
    sympy.StrictLessThan: lambda a, b: a < b,
    sympy.LessThan: lambda a, b: a <= b,
    sympy.StrictGreaterThan: lambda a, b: a > b,
    sympy.GreaterThan: lambda a, b: a >= b,
    sympy.Equality: lambda a, b: a == b,
    sympy.Unequality: lambda a, b: a != b,
}


class GraphAlgebra:
    """Expressions as nodes of a CasADi SX graph; every symbol of the model is one symbolic node."""

    def __init__(self) -> None:
        self._nodes = _Nodes()
        self._sums: dict[sympy.Basic, list[tuple[frozenset[sympy.Basic], ca.SX]]] = {}
        self._ranks: dict[sympy.Basic, int] = {}
        self._beginnings: dict[tuple[int, sympy.Basic], int] = {}
        self._partial: list[ca.SX] = [ca.SX(0)]
        self.symbols: dict[sympy.Symbol, ca.SX] = {}

    # -- from the model ----------------------------------------------------------------------------

    def scalar(self, expression: sympy.Expr) -> ca.SX:
        known = self._nodes[expression] if expression.is_Number else self._nodes.get(expression)
        if known is not None:
            return known
        for quantity in definitions_in([expression]):
            if quantity not in self._nodes:
                self._nodes[quantity] = self._tree(quantity.definition)
        return self._tree(expression)

    def _tree(self, expression: sympy.Expr) -> ca.SX:
        """An expression whose quantities are known."""
        sums = _sums_by_length(expression)
        self._rank_terms(sums)
        for part in sums:
            self._lower_with_arguments(part)
        self._lower_with_arguments(expression)
        return self._nodes[expression]

    def _lower_with_arguments(self, expression: sympy.Basic) -> None:
        pending: list[tuple[sympy.Basic, bool]] = [(expression, False)]
        while pending:  # post-order without recursion: expressions may be deep
            node, ready = pending.pop()
            if node.is_Number or node in self._nodes:
                continue
            if ready or not node.args:
                self._nodes[node] = self._lower(node)
            else:
                pending.append((node, True))
                pending.extend((argument, False) for argument in node.args)

    def _lower(self, node: sympy.Basic) -> ca.SX:
        nodes = self._nodes
        match node:
            case sympy.Symbol():
                self.symbols[node] = ca.SX.sym(node.name)
                return self.symbols[node]
            case sympy.NumberSymbol():
                return ca.SX(float(node))
            case sympy.Add():
                return self._sum(node)
            case sympy.Mul():
                return _product(node, nodes)
            case sympy.Pow():
                return _power(nodes[node.base], node.exp, nodes)
            case sympy.atan2():
                return ca.atan2(nodes[node.args[0]], nodes[node.args[1]])
            case sympy.Min() | sympy.Max():
                combine = ca.fmin if isinstance(node, sympy.Min) else ca.fmax
                value = nodes[node.args[0]]
                for argument in node.args[1:]:
                    value = combine(value, nodes[argument])
                return value
            case sympy.Piecewise():
                value = ca.SX(float("nan"))
                for pair in reversed(node.args):
                    value = ca.if_else(nodes[pair.args[1]], nodes[pair.args[0]], value)
                return value
            case sympy.Heaviside():
                return (nodes[node.args[0]] > 0) + (nodes[node.args[0]] == 0) * nodes[node.args[1]]
            case Relational():
                return _COMPARISONS[type(node)](nodes[node.args[0]], nodes[node.args[1]])
            case sympy.And() | sympy.Or():
                logic = ca.logic_and if isinstance(node, sympy.And) else ca.logic_or
                value = nodes[node.args[0]]
                for argument in node.args[1:]:
                    value = logic(value, nodes[argument])
                return value
            case sympy.Not():
                return ca.logic_not(nodes[node.args[0]])
            case sympy.logic.boolalg.BooleanTrue() | sympy.logic.boolalg.BooleanFalse():
                return ca.SX(float(bool(node)))
            case sympy.functions.elementary.piecewise.ExprCondPair():
                return ca.SX()  # read by Piecewise, part by part
        unary = _UNARY.get(type(node))
        if unary is None:
            raise ModelError(
                f"The function `{type(node).__name__}` cannot be compiled",
                seen=str(node)[:80],
                remedy="write the model in elementary functions",
            )
        return unary(nodes[node.args[0]])

    def _rank_terms(self, sums: Sequence[sympy.Add]) -> None:
        """Number new terms of sums: the most frequent first, then in SymPy's order."""
        counts: dict[sympy.Basic, int] = {}
        for node in sums:
            for term in node.args:
                if term not in self._ranks:
                    counts[term] = counts.get(term, 0) + 1
        for term in sorted(counts, key=lambda term: -counts[term]):
            self._ranks[term] = len(self._ranks)

    def _sum(self, node: sympy.Add) -> ca.SX:
        """Build a sum from the longest prefix, or the largest whole sum, that already exists.

        SymPy flattens sums, so that the partial sums of a chain's velocities share nothing; this
        gives the sharing back. Terms that occur in many sums are added first: what a chain passes
        on to its next link comes before what is a link's own.
        """
        terms = sorted(node.args, key=self._ranks.__getitem__)
        place, known = 0, 0
        for term in terms:
            following = self._beginnings.get((place, term))
            if following is None:
                break
            place, known = following, known + 1
        if known < len(terms) - 1:
            best = self._largest_part(node, known)
            if best is not None:
                rest = frozenset(node.args) - best[0]
                value = best[1]
                for term in terms:
                    value = plus(value, self._nodes[term]) if term in rest else value
                return self._keep_sum(node, value)
        for term in terms[known:]:
            entry = self._nodes[term]
            self._partial.append(plus(self._partial[place], entry) if place else entry)
            self._beginnings[place, term] = place = len(self._partial) - 1
        return self._keep_sum(node, self._partial[place])

    def _keep_sum(self, node: sympy.Add, value: ca.SX) -> ca.SX:
        kept = (frozenset(node.args), value)
        for term in node.args:
            self._sums.setdefault(term, []).append(kept)
        return value

    def _largest_part(
        self, node: sympy.Add, least: int
    ) -> tuple[frozenset[sympy.Basic], ca.SX] | None:
        """Return the largest recent sum with only these terms and more than `least` of them."""
        terms = frozenset(node.args)
        best: tuple[frozenset[sympy.Basic], ca.SX] | None = None
        for term in node.args:
            for candidate in self._sums.get(term, ())[-2:]:
                if len(candidate[0]) > least and candidate[0] < terms:
                    best, least = candidate, len(candidate[0])
        return best

    def vector(self, expressions: Iterable[sympy.Expr]) -> ca.SX:
        entries = [self.scalar(expression) for expression in expressions]
        return ca.vertcat(*entries) if entries else ca.SX(0, 1)

    # -- many equal parts --------------------------------------------------------------------------

    def for_parts(self, symbols: Mapping[sympy.Symbol, Sequence[sympy.Symbol]]) -> _PartsAlgebra:
        """Return an algebra of one part; `symbols` maps its symbols in every part."""
        return _PartsAlgebra(self, symbols)

    def know(self, expressions: Sequence[sympy.Expr], column: ca.SX) -> None:
        """Take the entries of a column for expressions of the model."""
        self._nodes.update(zip(expressions, ca.vertsplit(column), strict=True))

    def know_sum(self, expression: sympy.Expr, column: ca.SX, others: Iterable[sympy.Expr]) -> None:
        """Take the sum of a column, and of other expressions, for an expression of the model."""
        total = ca.sum1(column)
        for other in others:
            total = total + self.scalar(other)
        self._nodes[expression] = total

    def zeros(self, rows: int, columns: int = 1) -> ca.SX:
        return ca.SX(rows, columns)

    # -- derivatives -------------------------------------------------------------------------------

    def gradient(self, scalar: ca.SX, symbols: ca.SX) -> ca.SX:
        return ca.gradient(scalar, symbols) if symbols.numel() else ca.SX(0, 1)

    def hessian(self, scalar: ca.SX, symbols: ca.SX) -> tuple[ca.SX, ca.SX]:
        second, first = ca.hessian(scalar, symbols)
        return second, first

    def jacobian(self, vector: ca.SX, symbols: ca.SX) -> ca.SX:
        return ca.jacobian(vector, symbols)

    def along(self, vector: ca.SX, symbols: ca.SX, direction: ca.SX) -> ca.SX:
        if vector.numel() == 0 or symbols.numel() == 0:
            return ca.SX(vector.numel(), 1)
        return ca.jtimes(vector, symbols, direction)

    # -- matrices ----------------------------------------------------------------------------------

    def stack(self, blocks: Sequence[ca.SX]) -> ca.SX:
        return ca.vertcat(*blocks)

    def columns(self, blocks: Sequence[ca.SX]) -> ca.SX:
        return ca.horzcat(*blocks)

    def inner(self, left: ca.SX, right: ca.SX) -> ca.SX:
        return ca.dot(left, right) if left.numel() else ca.SX(0)

    def root(self, scalar: ca.SX) -> ca.SX:
        return ca.sqrt(scalar)

    def solve(self, matrix: ca.SX, right: ca.SX) -> ca.SX:
        found = SparseFactor(ca.sparsify(matrix))
        columns = [
            dense(found.solve(column), matrix.shape[0])
            for column in columns_of(ca.sparsify(ca.SX(right)))
        ]
        return ca.horzcat(*columns) if columns else ca.SX(matrix.shape[0], 0)

    def solve_square(self, matrix: ca.SX, right: ca.SX | ca.DM) -> ca.SX:
        if matrix.shape[0] == 1:
            return right / matrix
        return ca.solve(matrix, right)

    def determinant(self, matrix: ca.SX) -> ca.SX:
        return ca.det(matrix)

    def split_columns(self, matrix: ca.SX) -> Sequence[ca.SX]:
        return ca.horzsplit(matrix) if matrix.shape[1] else []  # type: ignore[no-any-return]

    def part(self, matrix: ca.SX, rows: Sequence[int], columns: Sequence[int]) -> ca.SX:
        return matrix[list(rows), list(columns)]

    def substitute(self, block: ca.SX, symbols: ca.SX, values: ca.SX | ca.DM) -> ca.SX:
        return ca.substitute(block, symbols, ca.densify(values))

    def without(self, block: ca.SX, symbols: ca.SX) -> ca.SX | None:
        if not self.depends(block, symbols):
            return block
        if not self.independence(block, symbols).is_proved:
            return None
        fixed = ca.DM([0.3 + 0.7 * ((k * 0.618034) % 1.0) for k in range(symbols.numel())])
        return ca.substitute(block, symbols, fixed)

    def layer(self, block: ca.SX) -> ca.SX:
        return block

    def depends(self, block: ca.SX, symbols: ca.SX) -> bool:
        return bool(ca.depends_on(block, symbols))

    # -- what expressions are (see `structure`) ----------------------------------------------------

    def vanishing(self, block: ca.SX, accuracy: float = structure.UNIT) -> structure.Verdict:
        """Decide whether a block vanishes identically; `accuracy` is that of its constants."""
        return structure.vanishing(self.symbols, block, accuracy)

    def independence(self, block: ca.SX, variables: ca.SX) -> structure.Verdict:
        """Whether a block has the same value for all values of some variables."""
        return structure.independence(self.symbols, block, variables)

    def degree(self, block: ca.SX, variables: ca.SX, at_most: int) -> structure.Verdict:
        """Whether a block is a polynomial of at most this degree in some variables."""
        return structure.degree(self.symbols, block, variables, at_most)

    def homogeneity(self, block: ca.SX, variables: ca.SX, of_degree: int) -> structure.Verdict:
        """Whether a block is homogeneous of a degree in some variables."""
        return structure.homogeneity(self.symbols, block, variables, of_degree)

    def rank(self, matrix: ca.SX) -> structure.Rank:
        """The rank of a matrix at almost all values of its symbols; for hypotheses, not solves."""
        return structure.rank(self.symbols, matrix)


class _PartsAlgebra(GraphAlgebra):
    """Expressions of one part as columns: an entry for every part."""

    def __init__(
        self, whole: GraphAlgebra, symbols: Mapping[sympy.Symbol, Sequence[sympy.Symbol]]
    ) -> None:
        super().__init__()
        self._whole, self._symbols = whole, symbols

    def _lower(self, node: sympy.Basic) -> ca.SX:
        if isinstance(node, sympy.Symbol):
            if node in self._symbols:
                return self._whole.vector(self._symbols[node])
            return self._whole.scalar(node)
        return super()._lower(node)

    def column(self, expression: sympy.Expr) -> ca.SX:
        """The expression in every part, (count x 1)."""
        value, count = self.scalar(expression), len(next(iter(self._symbols.values())))
        return value if value.numel() == count else ca.repmat(value, count, 1)


def _sums_by_length(expression: sympy.Basic) -> list[sympy.Add]:
    """Every sum inside an expression, short ones first, so that long ones can start from them."""
    seen: set[sympy.Basic] = {expression}
    pending = [expression]
    found: list[sympy.Add] = []
    while pending:
        node = pending.pop()
        if isinstance(node, sympy.Add):
            found.append(node)
        if isinstance(node, Quantity):
            continue
        for argument in node.args:
            if argument.args and argument not in seen:
                seen.add(argument)
                pending.append(argument)
    return sorted(found, key=lambda node: len(node.args))


class _Nodes(dict[sympy.Basic, ca.SX]):
    """The nodes of expressions; those of numbers are made on demand, which beats hashing them."""

    def __getitem__(self, expression: sympy.Basic) -> ca.SX:
        return ca.SX(float(expression)) if expression.is_Number else super().__getitem__(expression)


def _product(node: sympy.Mul, nodes: dict[sympy.Basic, Any]) -> ca.SX:
    """Numerator over denominator: one division in place of many reciprocals."""
    above: list[Any] = []
    below: list[Any] = []
    for factor_node in node.args:
        if (
            isinstance(factor_node, sympy.Pow)
            and factor_node.exp.is_Number
            and factor_node.exp.is_negative
        ):
            below.append(_power(nodes[factor_node.base], -factor_node.exp, nodes))
        else:
            above.append(nodes[factor_node])
    numerator = _multiply(above)
    return over(numerator, _multiply(below)) if below else numerator


def _multiply(factors: list[Any]) -> ca.SX:
    value = ca.SX(1) if not factors else factors[0]
    for item in factors[1:]:
        value = times(value, item)
    return value


def _power(base: ca.SX, exponent: sympy.Expr, nodes: dict[sympy.Basic, Any]) -> ca.SX:
    """Powers with small integer and half-integer exponents become products and roots."""
    if exponent.is_Rational:
        if exponent < 0:
            return 1 / _power(base, -exponent, nodes)
        if exponent.q == 2 and exponent.p < 32:
            root = ca.sqrt(base)
            if exponent.p > 1:
                return root * _power(base, sympy.Integer((exponent.p - 1) // 2), nodes)
            return root
        if exponent.is_Integer and exponent < 32:
            return _integer_power(base, int(exponent))
    power: Any = nodes[exponent] if exponent in nodes else ca.SX(float(exponent))
    return ca.power(base, power)


def _integer_power(base: ca.SX, exponent: int) -> ca.SX:
    if exponent == 0:
        return ca.SX(1)
    half = _integer_power(base, exponent // 2) if exponent > 1 else None
    if half is None:
        return base
    square = times(half, half)
    return times(square, base) if exponent % 2 else square
