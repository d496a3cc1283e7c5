r"""Casimirs of a Poisson tensor by linear algebra: combinations f = sum_a c_a f_a of given functions with Pi df = 0.

With polynomials the coefficients of Pi df are compared exactly, over the rational functions of any parameters. With other
functions the c_a are taken from values at random points, and read as fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import sympy
from sympy.polys.matrices import DomainMatrix

from ..errors import ModelError
from . import subspaces
from .vanishing import drawn_points, generic_rank, value

__all__ = ["independent_functions", "polynomial_casimirs"]

#: The most functions that are combined.
MOST_FUNCTIONS = 400
#: Coefficients that are read from numbers are fractions with denominators up to this, within this distance.
LARGEST_DENOMINATOR, NEAR = 60, 1e-7


def polynomial_casimirs(
    matrix: sympy.Matrix, symbols: Sequence[sympy.Symbol], degree: int, among: Sequence[sympy.Expr] | None = None
) -> list[sympy.Expr]:
    """A basis of the combinations f of monomials of `symbols` up to `degree`, or of the functions `among`, with Pi df = 0.

    Those of lower degree come first. Coefficients that were read from numbers are candidates that the caller has to check.
    """
    if degree < 1:
        raise ModelError(
            "Casimirs are looked for among polynomials of degree 1 or more", seen=degree, remedy="raise the degree"
        )
    basis = list(among) if among is not None else _monomials(symbols, degree)
    if len(basis) > MOST_FUNCTIONS:
        raise ModelError(
            "There are too many functions to look for Casimirs among them",
            seen=len(basis),
            remedy=f"lower the degree, or pass among= with {MOST_FUNCTIONS} functions or fewer",
        )
    fields = [matrix * sympy.Matrix([sympy.diff(f, x) for x in symbols]) for f in basis]
    exact = all(entry.is_polynomial(*symbols) for field in fields for entry in field)
    weights = _exact_kernel(fields, symbols) if exact else _sampled_kernel(fields)
    return [_scaled(sum(c * f for c, f in zip(row, basis, strict=True)), symbols) for row in weights]


def _monomials(symbols: Sequence[sympy.Symbol], degree: int) -> list[sympy.Expr]:
    return [sympy.Mul(*chosen) for power in range(1, degree + 1) for chosen in combinations_with_replacement(symbols, power)]


def _exact_kernel(fields: Sequence[sympy.Matrix], symbols: Sequence[sympy.Symbol]) -> list[list[sympy.Expr]]:
    """Weights (k, number of fields) of the combinations that vanish, by comparing the coefficients of polynomials."""
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
        return [[sympy.Integer(int(i == j)) for j in range(len(fields))] for i in range(len(fields))]
    table = sympy.Matrix(len(rows), len(fields), lambda i, j: sympy.nsimplify(columns[j].get(rows[i], 0), rational=True))
    kernel = DomainMatrix.from_Matrix(table).to_field().nullspace().to_Matrix()
    reduced, _ = kernel[:, ::-1].rref() if kernel.rows else (kernel, ())
    return [list(reversed(list(reduced.row(k)))) for k in reversed(range(reduced.rows))]


def _sampled_kernel(fields: Sequence[sympy.Matrix]) -> list[list[sympy.Expr]]:
    """The same from values at random points, with fractions for the numbers."""
    symbols = sorted(set().union(*(field.free_symbols for field in fields)), key=lambda symbol: symbol.name)
    size = fields[0].rows
    points = drawn_points(symbols, 2 + -(-2 * len(fields) // size))
    table = np.array([[float(value(entry, point)) for field in fields for entry in field] for point in points])
    table = table.reshape(len(points), len(fields), size).transpose(0, 2, 1).reshape(-1, len(fields))
    kernel = subspaces.annihilator(table.T).T
    found: list[list[sympy.Expr]] = []
    for row in _echelon(kernel):
        fractions = [Fraction(float(c)).limit_denominator(LARGEST_DENOMINATOR) for c in row]
        if all(abs(float(f) - c) < NEAR for f, c in zip(fractions, row, strict=True)):
            found.append([sympy.Rational(f.numerator, f.denominator) for f in fractions])
    return found


def _echelon(kernel: np.ndarray) -> np.ndarray:
    """Combinations of the rows (k, n) with a one in k columns and zeros there in the other rows, from the last column on."""
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
    order = sorted(range(len(table)), key=lambda k: int(np.max(np.nonzero(np.abs(table[k]) > NEAR)[0])))
    return table[order]


def _scaled(function: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
    """A multiple whose first term has a plain coefficient."""
    terms = sympy.Add.make_args(sympy.expand(function))
    lead, _ = min(terms, key=lambda term: str(term.as_independent(*symbols, as_Add=False)[1])).as_independent(
        *symbols, as_Add=False
    )
    return sympy.expand(function / lead)


def independent_functions(functions: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]) -> tuple[sympy.Expr, ...]:
    """Those functions that are no functions of the ones before: their gradients add to the rank at generic points."""
    kept: list[sympy.Expr] = []
    for function in functions:
        derivatives = sympy.Matrix([[sympy.diff(f, x) for x in symbols] for f in (*kept, function)])
        if generic_rank(derivatives) == len(kept) + 1:
            kept.append(function)
    return tuple(kept)
