r"""Complete sets of integrals of involutive one-forms, by successive integration along flows.

Forms omega_i = A_i(x) dx of rank r, solved for r of the dx, read

    du = G_1(u, s) ds_1 + ... + G_d(u, s) ds_d.

Where Frobenius' condition holds, the fields d/ds_k + G_k d/du commute, so that u can be carried
back along s_1 to a base value, then along s_2 with s_1 at its base value, and so on (Mayer's
method). What arrives is constant on the leaves: r independent integrals. Each step is a system of
ordinary differential equations, solved one unknown after the other by first integrals in closed
form: linear equations, Bernoulli's, homogeneous ones, those that separate, and those of
`integrals.find_integral`; unknowns that depend on each other by `linear_flows`. Every result is
verified, d I . X = 0 on the kernel, before it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, permutations

import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.tree_derivatives import partial_derivative
from ..errors import ModelError
from .integrals import EFFORT, UNDEFINED, Equal, antiderivative, find_integral, shortened
from .linear_flows import coupled_integrals

__all__ = ["IntegralSet", "find_integrals"]

#: The most solved forms and orders of integration that are tried, and rows of a set.
MOST_CHARTS, MOST_ORDERS, MOST_FORMS = 6, 4, 4
#: The search for short forms of intermediate results.
FEW_LOOKS = 100
#: Base values of a variable, the first at which everything is defined.
BASES = (sympy.S.Zero, sympy.S.One, sympy.S.Half)
#: Functions that `inverse` undoes.
INVERSES = {
    sympy.exp: sympy.log,
    sympy.log: sympy.exp,
    sympy.tan: sympy.atan,
    sympy.atan: sympy.tan,
    sympy.sin: sympy.asin,
    sympy.asin: sympy.sin,
}
Table = Mapping[sympy.Symbol, sympy.Expr]


@dataclass(frozen=True)
class IntegralSet:
    """Integrals of a set of forms.

    Attributes
    ----------
    functions : tuple of expressions
        As many as the forms have rank; empty where none were found.
    tried : str
        What was tried.
    """

    functions: tuple[sympy.Expr, ...]
    tried: str


def find_integrals(
    rows: Sequence[Sequence[sympy.Expr]], symbols: Sequence[sympy.Symbol], equal: Equal
) -> IntegralSet:
    """Functions constant wherever all rows . d(symbols) vanish, for independent involutive rows.

    Parameters
    ----------
    rows : sequences of expressions (r, n)
    symbols : sequence of symbols (n,)
    equal : callable
        Whether the two sides of every pair are shown to be equal.

    Examples
    --------
    >>> x, y, z = sympy.symbols("x y z")
    >>> def same(pairs):
    ...     return all(sympy.simplify(left - right) == 0 for left, right in pairs)
    >>> find_integrals([[1, y, 0], [0, 0, 1]], [x, z, y], same).functions
    (y, x + y*z)
    """
    matrix = sympy.Matrix([[sympy.S.Zero + entry for entry in row] for row in rows])
    small = len(rows) <= MOST_FORMS and sum(e.count_ops() for e in matrix) <= 4 * EFFORT
    charts = 0
    for solved in islice(_charts(matrix, symbols), MOST_CHARTS) if small else ():
        charts += 1
        for order in islice(permutations(solved.independent), MOST_ORDERS):
            found = _carried(solved, order)
            if found is not None and _are_integrals(found, solved, equal):
                return IntegralSet(found, "")
    tried = (
        f"flows in {charts} solved forms: linear, Bernoulli, homogeneous, separable equations, and"
        " coupled linear ones with constant ratios of their coefficients"
    )
    return IntegralSet((), tried if small else "nothing: the forms are too large")


@dataclass(frozen=True)
class _SolvedForms:
    """du = G ds: unknowns, independent symbols, and G by unknown and independent symbol."""

    unknown: tuple[sympy.Symbol, ...]
    independent: tuple[sympy.Symbol, ...]
    rates: Mapping[tuple[sympy.Symbol, sympy.Symbol], sympy.Expr]


def _charts(matrix: sympy.MatrixBase, symbols: Sequence[sympy.Symbol]) -> Iterator[_SolvedForms]:
    """The forms solved for some of the differentials, those with the fewest operations first."""
    r, n = matrix.shape
    found: list[tuple[int, _SolvedForms]] = []
    for places in islice(combinations(range(n), r), 40):
        rest = [k for k in range(n) if k not in places]
        block = matrix.extract(list(range(r)), list(places))
        determinant = shortened(block.det(method="berkowitz"), FEW_LOOKS)
        if determinant == 0:
            continue
        above = -block.adjugate() * matrix.extract(list(range(r)), rest)
        rates = {
            (symbols[p], symbols[k]): shortened(above[i, j] / determinant, FEW_LOOKS)
            for i, p in enumerate(places)
            for j, k in enumerate(rest)
        }
        unknown, free = tuple(symbols[p] for p in places), tuple(symbols[k] for k in rest)
        size = sum(rate.count_ops() for rate in rates.values())
        found.append((size, _SolvedForms(unknown, free, rates)))
    yield from (solved for _, solved in sorted(found, key=lambda item: item[0]))


def _carried(solved: _SolvedForms, order: Sequence[sympy.Symbol]) -> tuple[sympy.Expr, ...] | None:
    """The unknowns carried back along the independent symbols in turn; None where it fails."""
    rates = dict(solved.rates)
    values: dict[sympy.Symbol, sympy.Expr] = {u: u for u in solved.unknown}
    for k, s in enumerate(order):
        step = _step({u: rates[u, s] for u in values}, s, is_last=k == len(order) - 1)
        if step is None:
            return None
        along = {
            (c, x): partial_derivative(own, x)
            + sum(partial_derivative(own, u) * rates[u, x] for u in values)
            for c, own in step.integrals.items()
            for x in order[k + 1 :]
        }
        at = {**step.back, s: step.base}
        rates = {pair: shortened(_at(rate, at)) for pair, rate in along.items()}
        if any(rate.has(*UNDEFINED) for rate in rates.values()):
            return None
        values = {c: own.xreplace(values) for c, own in step.integrals.items()}
    return tuple(shortened(value) for value in values.values())


def _at(expression: sympy.Expr, table: Table) -> sympy.Expr:
    """An expression with symbols replaced, also where a factor cancels a pole."""
    plain = expression.xreplace(dict(table))
    return shortened(expression).xreplace(dict(table)) if plain.has(*UNDEFINED) else plain


# -- one flow --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Step:
    """Carry unknowns u along s.

    Attributes
    ----------
    integrals : mapping of new symbol c to C(u, s)
    back : mapping of u to u(c) where s has its base value
    base : expression
    """

    integrals: Table
    back: Table
    base: sympy.Expr


def _step(rates: Mapping[sympy.Symbol, sympy.Expr], s: sympy.Symbol, is_last: bool) -> _Step | None:
    """First integrals of du/ds = rates(u, s), one after the other, coupled ones together."""
    left = dict(rates)
    solution: dict[sympy.Symbol, sympy.Expr] = {}
    firsts: dict[sympy.Symbol, tuple[sympy.Symbol, sympy.Expr]] = {}
    coupled: dict[sympy.Symbol, sympy.Expr] = {}
    full: dict[sympy.Symbol, sympy.Expr] = {}
    while left:
        own = {u: shortened(rate.xreplace(solution)) for u, rate in left.items()}
        closed = (u for u, rate in own.items() if not rate.has(*({*rates} - {u})))
        unknown = next(closed, None)
        group = [unknown] if unknown is not None else list(own)
        constants = [sympy.Dummy(f"C_{u.name}", real=True) for u in group]
        if unknown is not None:
            first = first_integral(own[unknown], unknown, s)
            found = None if first is None else [first]
            explicit = None if first is None else inverse(first, unknown, constants[0])
            solution |= {} if explicit is None else {unknown: explicit}
        else:
            together = coupled_integrals(own, s, constants)
            found = None if together is None else together.functions
            coupled |= {} if together is None else together.solution
            solution |= coupled
        if found is None:
            return None
        for u, c, function in zip(group, constants, found, strict=True):
            del left[u]
            firsts[u] = (c, function)
            full[c] = function.xreplace(full)
    if is_last:
        return _Step(full, {}, sympy.S.Zero)
    for base in BASES:
        back = {}
        for u, (c, first) in firsts.items():
            start = first.xreplace({s: base})
            explicit = coupled[u].xreplace({s: base}) if u in coupled else inverse(start, u, c)
            back[u] = None if start.has(*UNDEFINED) else explicit
        if not any(value is None or value.has(*UNDEFINED) for value in back.values()):
            return _Step(full, {u: value for u, value in back.items() if value is not None}, base)
    return None


def first_integral(rate: sympy.Expr, u: sympy.Symbol, s: sympy.Symbol) -> sympy.Expr | None:
    """F(u, s) that is constant where du/ds = rate; None where no rule gives one.

    >>> u, s = sympy.symbols("u s", positive=True)
    >>> first_integral(-2 * u / s, u, s)
    s**2*u
    >>> first_integral(u / s + u**2, u, s)
    s**2/2 + s/u
    """
    if rate == 0:
        return u
    ways = (_linear, _bernoulli, _homogeneous, _by_rules)
    candidates = (way(rate, u, s) for way in ways)
    for candidate in candidates:
        if candidate is not None and candidate.has(u) and not candidate.has(*UNDEFINED):
            plain = _without_logarithms(candidate.replace(sympy.Abs, lambda x: x), u)
            if _same([(partial_derivative(plain, u) * rate, -partial_derivative(plain, s))]):
                return plain
    return None


def _linear(rate: sympy.Expr, u: sympy.Symbol, s: sympy.Symbol) -> sympy.Expr | None:
    """u' = p(s) u + q(s): F = u e^(-P) - int q e^(-P) ds."""
    p = shortened(partial_derivative(rate, u))
    if p.has(u):
        return None
    exponent = antiderivative(p, s)
    if exponent is None:
        return None
    factor = sympy.exp(-sympy.expand(exponent.replace(sympy.Abs, lambda x: x)))
    rest = shortened(rate - p * u)
    part = antiderivative(sympy.expand(rest * factor), s) if rest != 0 else sympy.S.Zero
    return None if part is None else u * factor - part


def _bernoulli(rate: sympy.Expr, u: sympy.Symbol, s: sympy.Symbol) -> sympy.Expr | None:
    """u' = p u + q u^n: linear in w = u^(1 - n)."""
    powers = {
        term.as_independent(u, as_Add=False)[1] for term in sympy.Add.make_args(sympy.expand(rate))
    }
    exponents = {power.as_base_exp()[1] for power in powers if power.as_base_exp()[0] == u}
    bent = exponents - {sympy.S.One}
    if len(exponents) != len(powers) or len(bent) != 1 or bent == {sympy.S.Zero}:
        return None
    (n,) = bent
    w = sympy.Dummy("w", positive=True)
    inner = sympy.expand((1 - n) * rate * u**-n).xreplace({u: w ** (1 / (1 - n))})
    found = _linear(sympy.powsimp(sympy.expand(inner)), w, s)
    return None if found is None else found.xreplace({w: u ** (1 - n)})


def _homogeneous(rate: sympy.Expr, u: sympy.Symbol, s: sympy.Symbol) -> sympy.Expr | None:
    """u' = h(u/s): F = int dv/(h - v) - log s with v = u/s."""
    v = sympy.Dummy("v", real=True)
    h = shortened(rate.xreplace({u: v * s}))
    if h.has(s) or not h.has(v):
        return None
    part = antiderivative(shortened(1 / (h - v)), v)
    return None if part is None else part.xreplace({v: u / s}) - sympy.log(s)


def _by_rules(rate: sympy.Expr, u: sympy.Symbol, s: sympy.Symbol) -> sympy.Expr | None:
    """An integral of du - rate ds by integrating factors, separation or a linear combination."""
    return find_integral([sympy.S.One, -rate], [u, s], _same)


def _same(pairs: Sequence[tuple[sympy.Expr, sympy.Expr]]) -> bool:
    algebra = GraphAlgebra()
    try:
        block = algebra.vector([left - right for left, right in pairs])
    except ModelError:
        return False
    return algebra.vanishing(block).holds_to_rounding


def _without_logarithms(function: sympy.Expr, u: sympy.Symbol) -> sympy.Expr:
    """The exponential of a function in which u stands under logarithms alone."""
    terms = sympy.Add.make_args(sympy.expand(function))
    scales = []
    for term in terms:
        scale, rest = term.as_independent(u, as_Add=False)
        if rest != 1:
            if not isinstance(rest, sympy.log):
                return function
            scales.append(scale)
    if not scales or not all((scale / scales[0]).is_Integer for scale in scales):
        return function
    return sympy.Mul(*(sympy.exp(term / scales[0]) for term in terms))


def inverse(function: sympy.Expr, u: sympy.Symbol, value: sympy.Expr) -> sympy.Expr | None:
    """u with function(u) = value where u can be isolated step by step; None otherwise.

    >>> u, c, s = sympy.symbols("u c s", positive=True)
    >>> inverse(sympy.log(u) * s + 1, u, c)
    exp((c - 1)/s)
    """
    for _ in range(12):
        if function == u:
            return value
        if function.is_Add:
            rest, own = function.as_independent(u, as_Add=True)
            derivative = shortened(partial_derivative(own, u)) if own.is_Add else sympy.S.Zero
            if own.is_Add and (derivative.has(u) or derivative == 0):
                return None
            if own.is_Add:
                return (value - shortened(function.xreplace({u: sympy.S.Zero}))) / derivative
            function, value = own, value - rest
        elif function.is_Mul:
            rest, own = function.as_independent(u, as_Add=False)
            if own.is_Mul:
                derivative = shortened(partial_derivative(function, u))
                if derivative.has(u) or derivative == 0:
                    return None
                return (value - shortened(function.xreplace({u: sympy.S.Zero}))) / derivative
            function, value = own, value / rest
        elif function.is_Pow and not function.exp.has(u):
            function, value = function.base, value ** (1 / function.exp)
        elif function.func in INVERSES:
            function, value = function.args[0], INVERSES[function.func](value)
        else:
            return None
    return None


# -- proof -----------------------------------------------------------------------------------------


def _are_integrals(found: Sequence[sympy.Expr], solved: _SolvedForms, equal: Equal) -> bool:
    """Whether dI . X = 0 on the kernel, and dI/du is regular."""
    if any(function.has(*UNDEFINED) for function in found):
        return False
    pairs = []
    for function in found:
        by_unknown = {u: partial_derivative(function, u) for u in solved.unknown}
        for s in solved.independent:
            along = sympy.Add(*(by_unknown[u] * solved.rates[u, s] for u in solved.unknown))
            pairs.append((partial_derivative(function, s), -along))
    entries = [[partial_derivative(function, u) for u in solved.unknown] for function in found]
    determinant = sympy.Matrix(entries).det(method="berkowitz")
    return equal(pairs) and not equal([(determinant, sympy.S.Zero)])
