r"""Casimirs of a Poisson tensor: combinations f = sum_a c_a f_a with Pi df = 0.

With polynomials the coefficients of Pi df are compared exactly, over the rational functions of any
parameters. With other functions the c_a are taken from values at random points, and read as
fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import sympy
from sympy.polys.matrices import DomainMatrix

from ..errors import ModelError
from ..typing import Array
from . import subspaces
from .vanishing import drawn_points, generic_rank, value

__all__ = [
    "independent_functions",
    "monomials",
    "polynomial_casimirs",
    "vanishing_combinations",
]

#: The most functions that are combined.
MOST_FUNCTIONS = 400
#: Denominators of coefficients that are read from numbers, and their accuracy.
LARGEST_DENOMINATOR, NEAR = 60, 1e-7


def polynomial_casimirs(
    matrix: sympy.Matrix,
    symbols: Sequence[sympy.Symbol],
    degree: int,
    among: Sequence[sympy.Expr] | None = None,
) -> list[sympy.Expr]:
    """A basis of the f with Pi df = 0 among monomials up to `degree`, or the functions `among`.

    Those of lower degree come first. Coefficients that were read from numbers are candidates that
    the caller has to check.
    """
    if degree < 1:
        raise ModelError("Casimirs need a degree of 1 or more", degree, "raise the degree")
    basis = list(among) if among is not None else monomials(symbols, degree)
    if len(basis) > MOST_FUNCTIONS:
        what = "There are too many functions to look for Casimirs among them"
        remedy = f"lower the degree, or pass among= with {MOST_FUNCTIONS} functions or fewer"
        raise ModelError(what, len(basis), remedy)
    fields = [matrix * sympy.Matrix([sympy.diff(f, x) for x in symbols]) for f in basis]
    weights = vanishing_combinations(fields, symbols)
    sums = (sum(c * f for c, f in zip(row, basis, strict=True)) for row in weights)
    return [_scaled(total, symbols) for total in sums]


def vanishing_combinations(
    fields: Sequence[sympy.Matrix], symbols: Sequence[sympy.Symbol]
) -> list[list[sympy.Expr]]:
    """Constant weights (k, number of fields) of combinations of columns that vanish.

    Those of polynomials are exact; others are read from numbers, and the caller has to check them.
    """
    exact = all(entry.is_polynomial(*symbols) for field in fields for entry in field)
    return _exact_kernel(fields, symbols) if exact else _sampled_kernel(fields)


def monomials(symbols: Sequence[sympy.Symbol], degree: int) -> list[sympy.Expr]:
    """Monomials of the degrees 1 to `degree`, lower degrees first."""
    return [
        sympy.Mul(*chosen)
        for power in range(1, degree + 1)
        for chosen in combinations_with_replacement(symbols, power)
    ]


def _exact_kernel(
    fields: Sequence[sympy.Matrix], symbols: Sequence[sympy.Symbol]
) -> list[list[sympy.Expr]]:
    """Weights (k, number of fields) of vanishing combinations, by polynomial coefficients."""
    columns: list[dict[tuple[int, tuple[int, ...]], sympy.Expr]] = []
    for field in fields:
        terms = {}
        for place, entry in enumerate(field):
            for powers, coefficient in sympy.Poly(entry, *symbols).terms():
                if coefficient != 0:
                    terms[place, powers] = coefficient
        columns.append(terms)
    rows = sorted(set().union(*columns))
    if not rows:
        return [list(row) for row in sympy.eye(len(fields)).tolist()]

    def exact_entry(i: int, j: int) -> sympy.Expr:
        return sympy.nsimplify(columns[j].get(rows[i], 0), rational=True)

    table = sympy.Matrix(len(rows), len(fields), exact_entry)
    kernel = DomainMatrix.from_Matrix(table).to_field().nullspace().to_Matrix()
    reduced, _ = kernel[:, ::-1].rref() if kernel.rows else (kernel, ())
    return [list(reversed(list(reduced.row(k)))) for k in reversed(range(reduced.rows))]


def _sampled_kernel(fields: Sequence[sympy.Matrix]) -> list[list[sympy.Expr]]:
    """The same from values at random points, with fractions for the numbers."""
    found_symbols = set().union(*(field.free_symbols for field in fields))
    symbols = sorted(found_symbols, key=lambda symbol: symbol.name)
    size, count = fields[0].rows, len(fields)
    wanted = 2 + -(-2 * count // size)
    drawn = (
        [value(e, x) for field in fields for e in field] for x in drawn_points(symbols, 4 * wanted)
    )
    real = [[float(number) for number in row] for row in drawn if all(n.is_real for n in row)]
    values = real[:wanted]
    if len(values) < wanted:
        what = "The functions have no real values at random points"
        raise ModelError(what, len(values), "declare symbols positive, or change coordinates")
    by_field = np.array(values).reshape(len(values), count, size)
    table = by_field.transpose(0, 2, 1).reshape(-1, count)
    kernel = subspaces.annihilator(table.T).T
    found: list[list[sympy.Expr]] = []
    for row in _echelon(kernel):
        fractions = [Fraction(float(c)).limit_denominator(LARGEST_DENOMINATOR) for c in row]
        if all(abs(float(f) - c) < NEAR for f, c in zip(fractions, row, strict=True)):
            found.append([sympy.Rational(f.numerator, f.denominator) for f in fractions])
    return found


def _echelon(kernel: Array) -> Array:
    """Rows (k, n) combined to a unit matrix in k columns, from the last column on."""
    table = np.array(kernel, dtype=float)
    free = list(range(len(table)))
    for column in range(table.shape[1] - 1, -1, -1):
        if not free:
            break
        pivot = max(free, key=lambda k: abs(table[k, column]))
        if abs(table[pivot, column]) < NEAR:
            continue
        table[pivot] /= table[pivot, column]
        for k in range(len(table)):
            if k != pivot:
                table[k] -= table[k, column] * table[pivot]
        free.remove(pivot)
    last = [int(np.max(np.nonzero(np.abs(row) > NEAR)[0])) for row in table]
    return table[sorted(range(len(table)), key=last.__getitem__)]


def _scaled(function: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
    """A multiple whose first term has a plain coefficient."""
    parts = [
        term.as_independent(*symbols, as_Add=False)
        for term in sympy.Add.make_args(sympy.expand(function))
    ]
    return sympy.expand(function / min(parts, key=lambda part: str(part[1]))[0])


def independent_functions(
    functions: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]
) -> tuple[sympy.Expr, ...]:
    """The functions whose gradients add to the rank at generic points."""
    kept: list[sympy.Expr] = []
    for function in functions:
        derivatives = sympy.Matrix([[sympy.diff(f, x) for x in symbols] for f in (*kept, function)])
        if generic_rank(derivatives) == len(kept) + 1:
            kept.append(function)
    return tuple(kept)
