r"""Multipliers that turn equations into Euler's equations, within simple families.

For equations solved as a = F(q, v, t) a multiplier g(q, v, t) makes g (a - F) obey Helmholtz's
conditions only if

    d/dt ln det g = -tr dF/dv            along the motion,

which is Jacobi's last multiplier. Tried are, on the equations as they are given and on a - F,

    g = S                                constant
    g = mu(q, t) S              with the scalar mu that the condition above determines, if it is one
    g = S diag(mu_1(q, t), ...)          row by row

with constant S (n x n) from linear equations, and for one degree of freedom also g = 1/f(v) where F
= f(v) k(q, t). For one degree of freedom some multiplier always exists (Darboux), though not always
in these families.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import sympy

from ...algebra.simplify.simplifier import expansion_size, simplify
from ...model.symbols import t
from ..hamilton_jacobi.primitives import at_numbers, potential, primitive
from ..proofs.bounded import differs_nowhere, factored
from .helmholtz_conditions import (
    SecondOrder,
    accelerations_matrix,
    condition_places,
    condition_sides,
    conditions,
)

__all__ = ["Multiplied", "SolvedAccelerations", "search_multiplier", "solved_accelerations"]

ZERO, ONE = sympy.S.Zero, sympy.S.One
#: The most degrees of freedom for a constant matrix, and terms of the equations for it.
MOST_FREEDOM, MOST_TERMS = 3, 600
#: The most operations of dR/da that is inverted.
INVERTED_OPERATIONS = 60


@dataclass(frozen=True)
class Multiplied:
    """Equations that obey the conditions, with their multiplier: matrix @ given = equations."""

    matrix: sympy.Matrix
    equations: SecondOrder


def search_multiplier(equations: SecondOrder) -> Multiplied | None:
    """A multiplier of one of the families; None where there is none among them."""
    solved = solved_accelerations(equations) if equations.is_small else None
    if solved is None:
        return None
    for matrix in _scalings(equations, solved):
        scaled = _scaled(equations, matrix)
        if scaled is None:
            continue
        if all(condition.holds for condition in conditions(scaled)):
            return Multiplied(matrix, scaled)
        for constant in _constant_matrices(scaled):
            trial = _scaled(equations, (constant @ matrix).applyfunc(simplify))
            if trial is not None and all(condition.holds for condition in conditions(trial)):
                return Multiplied((constant @ matrix).applyfunc(simplify), trial)
    return None


@dataclass(frozen=True)
class SolvedAccelerations:
    """a = F, and (dR/da)^-1 with its determinant."""

    accelerations: list[sympy.Expr]
    inverse: sympy.Matrix
    determinant: sympy.Expr


def solved_accelerations(equations: SecondOrder) -> SolvedAccelerations | None:
    """The equations solved for the accelerations, where they are affine in them and few."""
    n, a = len(equations.coordinates), equations.accelerations
    metric = accelerations_matrix(equations)
    size = sum(entry.count_ops() for entry in metric)
    is_small = n <= MOST_FREEDOM and size <= INVERTED_OPERATIONS
    if metric.has(*a) or not (metric.is_diagonal() or is_small):
        return None
    determinant = simplify(metric.det(method="berkowitz"))
    if not differs_nowhere([(determinant, ZERO)]).is_refuted:
        return None
    still = dict.fromkeys(a, ZERO)
    force = sympy.Matrix([-residual.xreplace(still) for residual in equations.residuals])
    if force.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
        return None
    inverse = metric.adjugate() / determinant
    if metric.is_diagonal():
        inverse = sympy.diag(*(1 / entry for entry in metric.diagonal()))
    return SolvedAccelerations([simplify(entry) for entry in inverse @ force], inverse, determinant)


def _scaled(equations: SecondOrder, matrix: sympy.Matrix) -> SecondOrder | None:
    """matrix @ R with short coefficients of the accelerations; None where it grows too large."""
    products = matrix @ sympy.Matrix(equations.residuals)
    if any(expansion_size(entry) > MOST_TERMS for entry in products):
        return None
    short = tuple(simplify(sympy.expand(entry)) for entry in products)
    found = SecondOrder(short, equations.coordinates)
    return found if found.is_small else None


# -- scalings --------------------------------------------------------------------------------------


def _scalings(equations: SecondOrder, solved: SolvedAccelerations) -> Iterator[sympy.Matrix]:
    """Matrices to try before a constant one, on the equations as they are given."""
    n, v = len(equations.coordinates), equations.velocities
    identity = sympy.eye(n)
    yield identity
    pairs = zip(solved.accelerations, v, strict=True)
    derivatives = [simplify(-sympy.diff(force, symbol)) for force, symbol in pairs]
    mean = _exponential(simplify(sympy.Add(*derivatives) / n), equations)
    if mean is not None:
        root = solved.determinant if n == 1 else solved.determinant ** sympy.Rational(1, n)
        yield identity * _varying(mean / root, equations)
    if n > 1:
        yield solved.inverse.applyfunc(simplify)
        if mean is not None:
            yield (solved.inverse * mean).applyfunc(simplify)
        every = (_exponential(derivative, equations) for derivative in derivatives)
        each = [entry for entry in every if entry is not None]
        if len(each) == n:
            yield (sympy.diag(*each) @ solved.inverse).applyfunc(simplify)
        return
    by_velocity = _velocity_factor(solved.accelerations[0], equations)
    if by_velocity is not None:
        yield sympy.Matrix([[_varying(by_velocity / solved.determinant, equations)]])


def _varying(factor: sympy.Expr, equations: SecondOrder) -> sympy.Expr:
    """A factor without its constant part."""
    symbols = (*equations.coordinates, *equations.velocities, t)
    return simplify(factor).as_independent(*symbols, as_Add=False)[1]


def _exponential(rate: sympy.Expr, equations: SecondOrder) -> sympy.Expr | None:
    """mu(q, t) with d/dt ln mu = rate, where the rate is c(q, t) + phi(q, t) . v and closed."""
    v, symbols = equations.velocities, (*equations.coordinates, t)
    derivatives = [simplify(sympy.diff(rate, symbol)) for symbol in v]
    rest = simplify(rate.subs(dict.fromkeys(v, ZERO)))
    form = [*derivatives, rest]
    if any(entry.has(*v, sympy.nan, sympy.zoo, sympy.oo, -sympy.oo) for entry in form):
        return None
    crossed = [
        (sympy.diff(form[i], symbols[j]), sympy.diff(form[j], symbols[i]))
        for i in range(len(symbols))
        for j in range(i)
    ]
    if not differs_nowhere(crossed).holds:
        return None
    exponent = potential(form, symbols)
    if exponent is None:
        return None
    # The sign of a multiplier does not matter, so |x| may be x.
    factor = sympy.exp(sympy.expand_log(exponent))
    return sympy.powsimp(factor.replace(sympy.Abs, lambda inner: inner))


def _velocity_factor(force: sympy.Expr, equations: SecondOrder) -> sympy.Expr | None:
    """1/f(v) for F = f(v) k(q, t) of one coordinate."""
    (v,) = equations.velocities
    if force == 0:
        return None
    logarithmic = factored(sympy.diff(force, v) / force)
    others = [equations.coordinates[0], t]
    constant = differs_nowhere([(sympy.diff(logarithmic, symbol), ZERO) for symbol in others])
    fixed = at_numbers(logarithmic, others) if constant.holds else None
    exponent = None if fixed is None else primitive(simplify(fixed), v)
    if exponent is None:
        return None
    return sympy.exp(-exponent).replace(sympy.Abs, lambda inner: inner)


# -- constant matrices -----------------------------------------------------------------------------


def _constant_matrices(equations: SecondOrder) -> Iterator[sympy.Matrix]:
    """Regular constant S for which S R may obey the conditions, by linear equations."""
    n = len(equations.coordinates)
    if not 1 < n <= MOST_FREEDOM:
        return
    symbols = [[sympy.Dummy(f"s{i}{j}") for j in range(n)] for i in range(n)]
    unknowns = [entry for row in symbols for entry in row]
    combined = equations.times(sympy.Matrix(symbols))
    rows = _linear_rows(combined, unknowns)
    if rows is None:
        return
    basis = [sympy.Matrix(unit) for unit in sympy.eye(n * n).tolist()]
    if rows:
        basis = sympy.Matrix(rows).nullspace(simplify=simplify)
    for weights in product((1, 0, 2, -1), repeat=min(len(basis), 4)):
        if any(weights):
            terms = (w * vector for w, vector in zip(weights, basis, strict=False))
            chosen = sum(terms, sympy.zeros(n * n, 1))
            matrix = sympy.Matrix(n, n, [simplify(entry) for entry in chosen])
            determinant = matrix.det(method="berkowitz")
            if differs_nowhere([(determinant, ZERO)]).is_refuted:
                yield matrix
                return


def _linear_rows(
    equations: SecondOrder, unknowns: Sequence[sympy.Symbol]
) -> list[list[sympy.Expr]] | None:
    """Coefficients of every function of (q, v, a, jerk, t) in Helmholtz's conditions."""
    places = (*equations.coordinates, *equations.velocities)
    moving = [*places, *equations.accelerations, *equations.jerks, t]
    coefficients: list[sympy.Expr] = []
    for family, i, j in condition_places(len(equations.coordinates)):
        left, right = condition_sides(equations, family, i, j)
        difference = left - right
        if expansion_size(difference) > MOST_TERMS:
            return None
        own: dict[sympy.Expr, sympy.Expr] = {}
        for term in sympy.Add.make_args(sympy.expand(difference)):
            constant, varying = term.as_independent(*moving, as_Add=False)
            own[varying] = own.get(varying, ZERO) + constant
        coefficients += own.values()
    unknown_rates = ([sympy.diff(entry, x) for x in unknowns] for entry in coefficients)
    rows = [[simplify(entry) for entry in row] for row in unknown_rates]
    return [row for row in rows if any(entry != 0 for entry in row)]
