"""Functions that stay constant where a one-form vanishes, found by simple rules.

The form is exact, or becomes so when it is divided by one or two of its own coefficients, by their
common factor, or by a function of one symbol; or it is a form in two symbols that separates as it
stands, or whose coefficients depend on one linear combination of them. Every result is verified to
be an integral.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, combinations_with_replacement, islice

import sympy
from sympy.integrals.manualintegrate import manualintegrate
from sympy.integrals.rationaltools import ratint

from ..algebra.simplify.quotient_printer import LOOKS
from ..algebra.simplify.simplifier import simplify
from ..algebra.tree_derivatives import partial_derivative

__all__ = ["antiderivative", "find_integral", "generic_branch", "shortened"]
__all__ += ["trigonometric_quotient", "twists"]

#: The largest expression that is integrated, and the work of the simplifier on one expression.
EFFORT, WORK = 80, 10_000
#: Values that a function has where it is not defined.
UNDEFINED = (sympy.nan, sympy.zoo, sympy.oo, -sympy.oo)

Equal = Callable[[Sequence[tuple[sympy.Expr, sympy.Expr]]], bool]


def find_integral(
    coefficients: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol], equal: Equal
) -> sympy.Expr | None:
    """I with dI proportional to sum_k coefficients[k] d symbols[k]; None where none is found.

    Parameters
    ----------
    coefficients : sequence of expressions (n,)
    symbols : sequence of symbols (n,)
    equal : callable
        Whether the two sides of every pair are shown to be equal.

    Examples
    --------
    >>> x, y = sympy.symbols("x y")
    >>> def same(pairs):
    ...     return all(sympy.simplify(left - right) == 0 for left, right in pairs)
    >>> find_integral([y, -x], [x, y], same)
    x/y
    """
    if sum(coefficient.count_ops() for coefficient in coefficients) > 4 * EFFORT:
        return None
    for candidate in _candidates(coefficients, symbols, equal):
        if candidate is not None and _is_integral(candidate, coefficients, symbols, equal):
            return _simplify(candidate, symbols)
    return None


def twists(
    form: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """The components of form ^ d form with zero, all equal where the form is integrable by itself.

    >>> x, y, z = sympy.symbols("x y z")
    >>> twists([-y, x, sympy.S.One], [x, y, z])
    [(2, 0)]
    """
    found = []
    for i, j, k in combinations(range(len(symbols)), 3):
        turns = ((i, j, k), (j, k, i), (k, i, j))
        terms = [
            form[a]
            * (partial_derivative(form[c], symbols[b]) - partial_derivative(form[b], symbols[c]))
            for a, b, c in turns
        ]
        found.append((sympy.Add(*terms), sympy.S.Zero))
    return found


def _is_integral(
    candidate: sympy.Expr, form: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol], equal: Equal
) -> bool:
    """Whether dI is parallel to the form and not zero."""

    def without_modulus(u: sympy.Expr) -> sympy.Expr:  # d log|u| = du/u
        return sympy.log(u.args[0] if isinstance(u, sympy.Abs) else u)

    plain = candidate.replace(sympy.log, without_modulus)
    derivatives = [partial_derivative(plain, symbol) for symbol in symbols]
    minors = [
        (derivatives[i] * form[j], derivatives[j] * form[i])
        for i, j in combinations(range(len(symbols)), 2)
    ]
    flat = [(derivative, sympy.S.Zero) for derivative in derivatives]
    return equal(minors) and not equal(flat)


def _candidates(
    coefficients: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol], equal: Equal
) -> Iterator[sympy.Expr | None]:
    present = [c for c in coefficients if c != 0]
    pairs = (a * b for a, b in combinations_with_replacement(present, 2))
    for factor in (*islice((sympy.S.One, *present, *pairs), 16), *_divisors(coefficients, symbols)):
        scaled = [c / factor for c in coefficients]
        crossed = [
            (partial_derivative(scaled[i], symbols[j]), partial_derivative(scaled[j], symbols[i]))
            for i, j in combinations(range(len(symbols)), 2)
        ]
        if equal(crossed):
            yield _potential(scaled, symbols)
    places = [k for k, c in enumerate(coefficients) if c != 0]
    if len(places) == 2:
        pair = [symbols[k] for k in places]
        if not {*symbols} - {*pair} & set().union(*(coefficients[k].free_symbols for k in places)):
            a, b = (coefficients[k] for k in places)
            yield _product_form(a / b, pair[0], pair[1], equal)
            yield from _one_combination(a, b, pair[0], pair[1], equal)


def _divisors(form: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]) -> Iterator[sympy.Expr]:
    """The common factor of the coefficients, and mu(x_k) with form / mu closed.

    d log mu = f(x_k) dx_k needs da_j/dx_k - da_k/dx_j = f a_j for every j other than k.
    """
    if sum(coefficient.count_ops() for coefficient in form) <= EFFORT:
        common = sympy.gcd_list([sympy.expand(coefficient) for coefficient in form])
        if common.has(*symbols):
            yield common
    for k, x in enumerate(symbols):
        other = next((j for j, c in enumerate(form) if j != k and c != 0), None)
        if other is None:
            continue
        twist = partial_derivative(form[other], x) - partial_derivative(form[k], symbols[other])
        rate = shortened(twist / form[other])
        if rate != 0 and not rate.has(*(set(symbols) - {x})):
            exponent = antiderivative(rate, x)
            if exponent is not None:
                yield sympy.exp(exponent.replace(sympy.Abs, lambda u: u))


def shortened(expression: sympy.Expr, looks: int = LOOKS) -> sympy.Expr:
    """An expression simplified within little work, or as it is where it is long.

    `looks` bounds the work of the printer: few for what nobody reads.
    """
    is_long = expression.count_ops() > 2 * EFFORT
    return expression if is_long else simplify(expression, WORK, looks=looks)


def _potential(form: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]) -> sympy.Expr | None:
    """I with dI = form, for an exact form, symbol by symbol.

    The rest for a symbol does not depend on the symbols before it, which are set to a number.
    """
    total: sympy.Expr = sympy.S.Zero
    for k, symbol in enumerate(symbols):
        rest = form[k] - partial_derivative(total, symbol)
        for base in (sympy.S.Zero, sympy.S.One, sympy.Rational(1, 2)):
            fixed = rest.subs(dict.fromkeys(symbols[:k], base))
            if not fixed.has(*UNDEFINED):
                break
        else:
            return None
        part = antiderivative(fixed, symbol)
        if part is None:
            return None
        total += part
    return total


def _product_form(
    ratio: sympy.Expr, x: sympy.Symbol, y: sympy.Symbol, equal: Equal
) -> sympy.Expr | None:
    """For ratio dx + dy with ratio = F(x) G(y): I = int F dx + int dy / G."""
    at_x, at_y = ratio.subs(y, 1), ratio.subs(x, 1)
    fixed = at_x.subs(x, 1)
    if fixed == 0 or any(side.has(*UNDEFINED) for side in (at_x, at_y, fixed)):
        return None
    if not equal([(ratio * fixed, at_x * at_y)]):
        return None
    parts = antiderivative(at_x, x), antiderivative(sympy.simplify(fixed / at_y), y)
    return None if parts[0] is None or parts[1] is None else parts[0] + parts[1]


def _one_combination(
    a: sympy.Expr, b: sympy.Expr, x: sympy.Symbol, y: sympy.Symbol, equal: Equal
) -> Iterator[sympy.Expr | None]:
    """For a dx + b dy, a/b a function of B = alpha x + beta y: x - int b/(alpha b - beta a) dB."""
    for alpha, beta in _linear_combinations(a, b, x, y):
        turn = [(partial_derivative(a, z) * b, a * partial_derivative(b, z)) for z in (x, y)]
        left, right = (first - second for first, second in turn)
        if not equal([(beta * left, alpha * right)]):
            continue
        s = sympy.Dummy("s", real=True)
        along = {x: s / alpha, y: sympy.S.Zero}
        derivative = alpha * b - beta * a
        if equal([(alpha * b, beta * a)]):
            yield alpha * x + beta * y
            continue
        part = antiderivative((b / derivative).subs(along), s)
        yield None if part is None else x - part.subs(s, alpha * x + beta * y)


def _linear_combinations(
    a: sympy.Expr, b: sympy.Expr, x: sympy.Symbol, y: sympy.Symbol
) -> list[tuple[sympy.Expr, sympy.Expr]]:
    """alpha, beta of every sum inside a and b that is linear in both symbols."""
    found: dict[tuple[sympy.Expr, sympy.Expr], None] = {}
    for node in (*sympy.preorder_traversal(a), *sympy.preorder_traversal(b)):
        if isinstance(node, sympy.Add) and node.has(x) and node.has(y):
            alpha, beta = partial_derivative(node, x), partial_derivative(node, y)
            if not (alpha.has(x, y) or beta.has(x, y)):
                found[alpha, beta] = None
    return list(found)


def antiderivative(expression: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr | None:
    """A primitive by rules, with logarithms of absolute values; None where the rules give none."""
    if not expression.has(symbol):
        return expression * symbol
    if expression.count_ops() > EFFORT:
        return None
    quotient = trigonometric_quotient(expression, symbol)
    if quotient is not None:
        return quotient
    found = manualintegrate(expression, symbol)
    if found.has(sympy.Integral):
        found = _by_half_angle(expression, symbol)
    if found is None:
        return None
    found = found.replace(lambda node: isinstance(node, sympy.Piecewise), generic_branch)
    return found.replace(sympy.log, lambda argument: sympy.log(sympy.Abs(argument)))


def generic_branch(pieces: sympy.Piecewise) -> sympy.Expr:
    """The first branch that does not rest on an equality of parameters."""
    return next(own for own, where in pieces.args if not isinstance(where, sympy.Eq))


def trigonometric_quotient(expression: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr | None:
    """The integral of (c1 cos B + s1 sin B)/(c2 cos B + s2 sin B), B linear; None otherwise.

    With D the denominator, the numerator is p D + q D', and the integral (p B + q log|D|) / B'.

    >>> x = sympy.Symbol("x")
    >>> trigonometric_quotient(sympy.cos(x) / (sympy.cos(x) + sympy.sin(x)), x)
    x/2 + log(Abs(sin(x) + cos(x)))/2
    """
    angles = _angles(expression, symbol)
    if len(angles) != 1:
        return None
    angle = angles.pop()
    rate = partial_derivative(angle, symbol)
    if rate.has(symbol):
        return None
    c, s = sympy.symbols("c s", cls=sympy.Dummy)
    plain = expression.xreplace({sympy.cos(angle): c, sympy.sin(angle): s, sympy.tan(angle): s / c})
    above, below = sympy.fraction(sympy.cancel(sympy.together(plain)))
    (c1, s1), (c2, s2) = (
        (partial_derivative(side, c), partial_derivative(side, s)) for side in (above, below)
    )
    rests = (above - c1 * c - s1 * s, below - c2 * c - s2 * s)
    linear = all(sympy.expand(rest) == 0 for rest in rests)
    if not linear or any(item.has(c, s, symbol) for item in (c1, s1, c2, s2)):
        return None
    size = c2**2 + s2**2
    bottom = c2 * sympy.cos(angle) + s2 * sympy.sin(angle)
    whole, wave = (c1 * c2 + s1 * s2) / size, (c1 * s2 - s1 * c2) / size
    return (whole * angle + wave * sympy.log(sympy.Abs(bottom))) / rate


def _angles(expression: sympy.Expr, symbol: sympy.Symbol) -> set[sympy.Expr]:
    nodes = expression.atoms(sympy.sin, sympy.cos, sympy.tan)
    return {node.args[0] for node in nodes if node.has(symbol)}


def _by_half_angle(expression: sympy.Expr, symbol: sympy.Symbol) -> sympy.Expr | None:
    """The integral of a rational function of sin B and cos B, B linear, through tan(B/2)."""
    angles = _angles(expression, symbol)
    if len(angles) != 1:
        return None
    angle = angles.pop()
    rate, half = partial_derivative(angle, symbol), sympy.Dummy("h", real=True)
    sine, cosine = 2 * half / (1 + half**2), (1 - half**2) / (1 + half**2)
    ratios = {sympy.sin(angle): sine, sympy.cos(angle): cosine, sympy.tan(angle): sine / cosine}
    plain = expression.xreplace(ratios)
    if rate.has(symbol) or plain.has(symbol):
        return None
    whole = sympy.cancel(sympy.together(plain * 2 / (1 + half**2) / rate))
    if not whole.is_rational_function(half) or whole.count_ops() > EFFORT:
        return None
    found = ratint(whole, half)
    if found.has(sympy.RootSum, sympy.Integral):
        return None
    return found.subs(half, sympy.tan(angle / 2))


def _simplify(expression: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
    """Collect terms in the symbols and scale so that one coefficient is one."""
    gathered: dict[sympy.Expr, sympy.Expr] = {}
    for term in sympy.Add.make_args(sympy.expand(expression)):
        constant, varying = term.as_independent(*symbols, as_Add=False)
        if varying != 1:
            gathered[varying] = gathered.get(varying, sympy.S.Zero) + constant
    simple = {varying: sympy.simplify(constant) for varying, constant in gathered.items()}
    simple = {varying: constant for varying, constant in simple.items() if constant != 0}
    places = {symbol: k for k, symbol in enumerate(symbols)}

    def rank(varying: sympy.Expr) -> tuple[bool, int, int]:
        first = min(places[symbol] for symbol in varying.free_symbols if symbol in places)
        return not varying.has(sympy.log), first, varying.count_ops()

    lead = simple[min(simple, key=rank)]
    return sympy.Add(*(sympy.simplify(constant / lead) * x for x, constant in simple.items()))
