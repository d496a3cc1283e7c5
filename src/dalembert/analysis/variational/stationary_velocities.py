r"""Stationary values of functions of velocities: quadratic ones, and those with one radical."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from math import prod

import sympy
from sympy.core.relational import Relational

from ...algebra.simplify.simplifier import expansion_size, simplify
from ...errors import FormError
from ..proofs.bounded import differs_nowhere

__all__ = ["Stationary", "with_radical", "without_radical"]

#: The most terms of a block's determinant.
DETERMINANT_TERMS = 600
ZERO = sympy.S.Zero


@dataclass(frozen=True)
class Stationary:
    """The stationary point of pi . v - L on the constraints."""

    value: sympy.Expr
    symbols: Mapping[sympy.Expr, sympy.Expr]
    branch: tuple[Relational, ...]


# -- quadratic in the independent velocities -------------------------------------------------------


def without_radical(function: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> Stationary | None:
    """The stationary point of a function quadratic in its symbols; the Hessian may contain pi."""
    pieces = _quadratic(function, symbols)
    if pieces is None:
        return None
    constant, derivative, metric = pieces
    blocks = _inverses(metric)
    values = _applied(blocks, derivative)
    terms = [simplify(part) for part in sympy.Add.make_args(constant)]
    terms += [_energy(block, derivative) for block in blocks]
    table = dict(zip(symbols, values, strict=True))
    return Stationary(sympy.Add(*terms), table, _regularity(blocks))


def _quadratic(
    function: sympy.Expr, symbols: Sequence[sympy.Symbol]
) -> tuple[sympy.Expr, list[sympy.Expr], sympy.Matrix] | None:
    """c, s and K of function = c + s . v - v^T K v / 2; None where it is not of this form."""
    derivatives = [sympy.diff(function, symbol) for symbol in symbols]
    seconds = [
        [simplify(-sympy.diff(entry, symbol)) for symbol in symbols[k:]]
        for k, entry in enumerate(derivatives)
    ]
    n = len(symbols)
    metric = sympy.Matrix(n, n, lambda i, j: seconds[min(i, j)][abs(i - j)])
    if symbols and metric.has(*symbols):
        return None
    nowhere = dict.fromkeys(symbols, ZERO)
    constant = function.xreplace(nowhere)
    derivative = [simplify(entry.xreplace(nowhere)) for entry in derivatives]
    if any(part.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo) for part in (constant, *derivative)):
        return None
    return constant, derivative, metric


@dataclass(frozen=True)
class _Inverse:
    """The inverse adjugate / determinant of one connected block of K."""

    places: Sequence[int]
    adjugate: sympy.MatrixBase
    determinant: sympy.Expr


def _inverses(metric: sympy.MatrixBase) -> list[_Inverse]:
    """K^-1 by connected blocks of K.

    Raises
    ------
    FormError
        Where K is singular: the Lagrangian on the constraints does not determine its velocities.
    """
    found = []
    for block in _blocks(metric):
        part = metric.extract(block, block)
        if len(block) > 1 and _determinant_terms(part) > DETERMINANT_TERMS:
            size = sum(entry.count_ops() for entry in part)
            what = "The mass matrix on the constraints is too large to be inverted in symbols"
            seen = f"{len(block)} x {len(block)} with {size} operations"
            raise FormError(what, seen, remedy='use the form "vakonomic"')
        determinant = simplify(part.det(method="berkowitz"))
        if not differs_nowhere([(determinant, ZERO)]).is_refuted:
            what = "The mass matrix of the Lagrangian on the constraints may be singular"
            remedy = "add the missing inertia or a constraint"
            raise FormError(what, f"det = {determinant}", remedy)
        found.append(_Inverse(block, part.adjugate(), determinant))
    return found


def _regularity(blocks: Sequence[_Inverse]) -> tuple[Relational, ...]:
    """det K != 0, where it is not a matter of course."""

    def moves(determinant: sympy.Expr) -> bool:
        return any(symbol.name.startswith("pi_") for symbol in determinant.atoms(sympy.Symbol))

    return tuple(sympy.Ne(block.determinant, 0) for block in blocks if moves(block.determinant))


def _applied(blocks: Sequence[_Inverse], right: Sequence[sympy.Expr]) -> list[sympy.Expr]:
    """K^-1 right."""
    values: list[sympy.Expr] = [ZERO] * len(right)
    for block in blocks:
        above = block.adjugate * sympy.Matrix([right[k] for k in block.places])
        for k, entry in zip(block.places, above, strict=True):
            values[k] = (simplify(entry) if len(block.places) > 1 else entry) / block.determinant
    return values


def _energy(block: _Inverse, right: Sequence[sympy.Expr]) -> sympy.Expr:
    """s^T K^-1 s / 2 of one block, simplified as a form in the sums P that `right` consists of."""
    sums = [right[k] for k in block.places]
    symbols = list(sums)
    for k, own in enumerate(sums):
        whole = own.is_Add and not any(power.exp.is_negative for power in own.atoms(sympy.Pow))
        if whole and len(sums) > 1:
            symbols[k] = sympy.Dummy(f"P{k}", real=True)
    vector = sympy.Matrix(symbols)
    form = simplify((vector.T * block.adjugate * vector)[0] / (2 * block.determinant))
    return form.xreplace(dict(zip(symbols, sums, strict=True)))


def _determinant_terms(matrix: sympy.MatrixBase) -> float:
    """About how many terms a determinant has; one of two rows is always written out."""
    if matrix.rows > 5:
        return float("inf")
    if matrix.rows == 2:
        return float(sum(entry.count_ops() for entry in matrix))
    rows = matrix.tolist()
    sizes = [[0.0 if entry == 0 else expansion_size(entry) for entry in row] for row in rows]
    orders = permutations(range(matrix.rows))
    return float(sum(prod(sizes[k][place] for k, place in enumerate(order)) for order in orders))


def _blocks(matrix: sympy.MatrixBase) -> list[list[int]]:
    """Places that the entries of a symmetric matrix connect."""
    left, found = set(range(matrix.rows)), []
    while left:
        group, pending = set(), [min(left)]
        while pending:
            k = pending.pop()
            if k not in group:
                group.add(k)
                pending += [j for j in left if matrix[k, j] != 0 or matrix[j, k] != 0]
        left -= group
        found.append(sorted(group))
    return found


# -- with one radical ------------------------------------------------------------------------------


def with_radical(function: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> Stationary | None:
    """The stationary point with a radical w = sqrt(v^T N v), N a multiple of the masses."""
    w = sympy.Dummy("w", positive=True)
    opened = _open_radical(function, symbols, w)
    if opened is None:
        return None
    inside, plain, nodes = opened
    form = _quadratic(-inside, symbols)
    pieces = _quadratic(plain, (*symbols, w))
    if form is None or pieces is None or any(entry != 0 for entry in form[1]):
        return None
    if form[0] != 0:
        return _on_a_sphere(-form[0], -form[2] / 2, pieces, symbols, (nodes, w))
    n, norm = len(symbols), form[2] / 2
    constant, derivative, extended = pieces
    if any(extended[k, n] != 0 for k in range(n)):
        return None
    metric = (extended[:n, :n] + extended[n, n] * norm).applyfunc(simplify)
    acting = [k for k in range(n) if any(norm[k, j] != 0 for j in range(n))]
    others = [k for k in range(n) if k not in acting]
    factor = _proportion(metric, norm, acting, others)
    if factor is None:
        return None
    push, pull = [derivative[k] for k in acting], derivative[n]
    raised = _applied(_inverses(norm.extract(acting, acting)), push)
    length = sympy.sqrt(simplify(sum((a * b for a, b in zip(push, raised, strict=True)), ZERO)))
    rest = _applied(_inverses(metric.extract(others, others)), [derivative[k] for k in others])
    speed = (pull + length) / factor
    values = [ZERO] * n
    for k, value in zip(acting, raised, strict=True):
        values[k] = speed * value / length
    for k, value in zip(others, rest, strict=True):
        values[k] = value
    remainder = constant + sum((derivative[k] * values[k] for k in others), ZERO) / 2
    value = (length + pull) ** 2 / (2 * factor) + simplify(remainder)
    table = dict(zip(symbols, values, strict=True))
    table |= {node: power.xreplace({w: speed}) for node, power in nodes.items()}
    return Stationary(value, table, (sympy.Gt(factor * sympy.sqrt(inside), pull),))


def _on_a_sphere(
    size: sympy.Expr,
    norm: sympy.MatrixBase,
    pieces: tuple[sympy.Expr, list[sympy.Expr], sympy.Matrix],
    symbols: Sequence[sympy.Symbol],
    radical: tuple[Mapping[sympy.Expr, sympy.Expr], sympy.Symbol],
) -> Stationary | None:
    """The stationary point of Pi . v + sigma w - v^T K v / 2 - k w^2 / 2 with w^2 = c - v^T N v.

    Where K = k N the last terms are the constant -k c / 2.
    """
    constant, derivative, extended = pieces
    n, factor = len(symbols), extended[len(symbols), len(symbols)]
    entries = product(range(n), repeat=2)
    pairs = [(extended[i, j], factor * norm[i, j]) for i, j in entries]
    pairs += [(extended[k, n], ZERO) for k in range(n)]
    if not differs_nowhere(pairs).holds:
        return None
    push, pull = derivative[:n], derivative[n]
    raised = _applied(_inverses(norm), push)
    squares = (a * b for a, b in zip(push, raised, strict=True))
    value = sympy.sqrt(simplify(size * sum(squares, pull**2)))
    scale = size / value
    table = {symbol: scale * value for symbol, value in zip(symbols, raised, strict=True)}
    nodes, w = radical
    table |= {node: power.xreplace({w: scale * pull}) for node, power in nodes.items()}
    total = value + simplify(constant - factor * size / 2)
    return Stationary(total, table, (sympy.Gt(pull, 0),))


def _open_radical(
    function: sympy.Expr, symbols: Sequence[sympy.Symbol], w: sympy.Symbol
) -> tuple[sympy.Expr, sympy.Expr, dict[sympy.Expr, sympy.Expr]] | None:
    """The radicand of the one radical, the function with w in its place, and what w replaced."""
    powers = (node for node in function.atoms(sympy.Pow) if node.has(*symbols))
    roots = {node for node in powers if node.exp.is_Rational and node.exp.q == 2}
    lengths = {node for node in function.atoms(sympy.Abs) if node.has(*symbols)}
    insides = {node.base for node in roots} | {node.args[0] ** 2 for node in lengths}
    if len(insides) != 1:
        return None
    inside = insides.pop()
    table = {node: w ** (2 * node.exp) for node in roots} | dict.fromkeys(lengths, w)
    return inside, sympy.expand(function.xreplace(table)), table


def _proportion(
    metric: sympy.MatrixBase, norm: sympy.MatrixBase, acting: Sequence[int], others: Sequence[int]
) -> sympy.Expr | None:
    """rho with K = rho N where N acts, and K decoupled from the rest; None where there is none."""
    if any(metric[i, j] != 0 for i in acting for j in others):
        return None
    pairs = list(product(acting, repeat=2))
    first = next(pair for pair in pairs if norm[pair] != 0)
    crossed = [(metric[pair] * norm[first], metric[first] * norm[pair]) for pair in pairs]
    if not differs_nowhere(crossed).holds:
        return None
    return sympy.factor_terms(simplify(metric[first] / norm[first]))
