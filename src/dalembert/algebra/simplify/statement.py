"""Keep a model short before anything is derived from it: fewer angles, fewer constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice, product

import sympy

from ...model.quantities import distinct_nodes
from .quotients import AngleSubstitution, Generators
from .trigonometric_ring import TooMuchWorkError, Work

__all__ = ["LONG_STATEMENT", "helpful_turns", "with_constants"]

#: Expressions of a model with more operations get names for sums of constants.
LONG_STATEMENT = 300
#: The most angle differences to substitute, and the work on each part in choosing them.
MOST_TURNS, TURN_EFFORT = 4, 20_000


def helpful_turns(
    expressions: Sequence[sympy.Expr], constants: Iterable[sympy.Symbol] = ()
) -> tuple[AngleSubstitution, ...]:
    """Sums and differences of angles in which the expressions have fewer terms.

    Sums of constants count as one.

    >>> a, b, m = sympy.symbols("a b m")
    >>> helpful_turns([m + sympy.cos(a - b) ** 2])
    (AngleSubstitution(first=a, second=b, sign=1),)
    """
    turns: tuple[AngleSubstitution, ...] = ()
    fixed = frozenset(constants)
    expressions = [with_constants(e, fixed, {}) if _is_long(e) else e for e in expressions]
    fewest = _terms(expressions, turns)
    for _ in range(MOST_TURNS):
        candidates = [
            AngleSubstitution(first, second, sign)
            for first, second, sign in product(*[_angles(expressions)] * 2, (1, -1))
            if first != second and all(first not in (turn.first, turn.second) for turn in turns)
        ]
        rated = [(_terms(expressions, (*turns, turn)), k) for k, turn in enumerate(candidates)]
        count, best = min(rated, default=(fewest, 0))
        if count >= fewest:
            break
        fewest, turns = count, (*turns, candidates[best])
    return turns


def _is_long(expression: sympy.Expr) -> bool:
    """Whether an expression has more than LONG_STATEMENT operations, without counting them all."""
    nodes = sympy.preorder_traversal(expression)
    some = next(islice(nodes, 8 * LONG_STATEMENT, None), None)
    return some is not None or expression.count_ops() > LONG_STATEMENT


def _angles(expressions: Sequence[sympy.Expr]) -> list[sympy.Symbol]:
    """Symbols that occur together with others inside sines and cosines."""
    functions = (sympy.sin, sympy.cos)
    nodes = (node for e in expressions for node in distinct_nodes(e))
    arguments = {node.args[0] for node in nodes if isinstance(node, functions)}
    found = {
        s
        for argument in arguments
        if argument.is_Add
        for s in argument.args
        if s.is_Symbol or (-s).is_Symbol
    }
    return sorted({s if s.is_Symbol else -s for s in found}, key=str)


def _terms(expressions: Sequence[sympy.Expr], turns: Sequence[AngleSubstitution]) -> int:
    """The number of terms of some expressions, or of their parts where these are large."""
    total = 0
    for expression in expressions:
        for parts in ([expression], sympy.Add.make_args(expression)):
            try:
                quotients = [
                    Generators([part], Work(TURN_EFFORT), turns).read(part) for part in parts
                ]
            except TooMuchWorkError:  # too long this way; the other split may do
                continue
            total += sum(
                len(q.above) + sum(len(factor) for factor, _ in q.below) for q in quotients
            )
            break
    return total


def with_constants(
    expression: sympy.Expr,
    constants: frozenset[sympy.Symbol],
    meanings: dict[sympy.Symbol, sympy.Expr],
) -> sympy.Expr:
    """Name the largest parts of an expression that are sums of constants, or products with such."""
    names = {meaning: name for name, meaning in meanings.items()}
    # Long expressions share their parts: each is looked at once.
    known: dict[sympy.Basic, bool] = {}
    results: dict[sympy.Basic, sympy.Basic] = {}

    def is_fixed(node: sympy.Basic) -> bool:
        if node not in known:
            is_plain = node.is_Add or node.is_Mul or node.is_Pow or node.is_Function
            known[node] = (
                all(is_fixed(argument) for argument in node.args)
                if is_plain
                else node.free_symbols <= constants
            )
        return known[node]

    def named(part: sympy.Expr) -> sympy.Expr:
        if not part.has(sympy.Add):
            return part
        if part.is_Pow:
            return named(part.base) ** part.exp
        sign = -1 if part.could_extract_minus_sign() else 1
        if sign * part not in names:
            names[sign * part] = sympy.Dummy("k", real=True)
            meanings[names[sign * part]] = sign * part
        return sign * names[sign * part]

    def changed(node: sympy.Expr) -> sympy.Expr:
        if node not in results:
            results[node] = rewritten(node)
        return results[node]

    def rewritten(node: sympy.Expr) -> sympy.Expr:
        if not node.args:
            return node
        if is_fixed(node):
            return named(node)
        if not (node.is_Add or node.is_Mul):
            return node.func(*map(changed, node.args))
        fixed = node.func(*(argument for argument in node.args if is_fixed(argument)))
        number, rest = fixed.as_coeff_Mul(rational=True) if node.is_Mul else (node.identity, fixed)
        moving = (changed(argument) for argument in node.args if not is_fixed(argument))
        return node.func(number, named(rest), *moving)

    return changed(expression)
