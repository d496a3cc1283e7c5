r"""Functions that a set of constraints keeps constant although none of them is integrable alone.

The one-forms that annihilate the closure of the allowed directions under brackets are combinations
of the constraints, and together they are integrable (Frobenius). Two rolling wheels on one axle are
an example: 2 b theta - r (phi_r - phi_l).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import sympy

from ...algebra.simplify.simplifier import simplify
from ...geometry.flow_integrals import find_integrals
from ...geometry.integrals import Equal, shortened
from ...geometry.vanishing import generic_rank, vanish

__all__ = ["combined_integrals"]

#: The most coordinates, and operations of the forms, for which the closure is written out.
MOST_COORDINATES, MOST_OPERATIONS = 9, 400


def combined_integrals(
    forms: Sequence[Sequence[sympy.Expr]], symbols: Sequence[sympy.Symbol], count: int, equal: Equal
) -> tuple[sympy.Expr, ...]:
    """The functions, at most `count`, that all forms together keep constant; each is proved.

    Parameters
    ----------
    forms : sequences of expressions (m, n)
    symbols : sequence of symbols (n,)
    count : int
        n less the dimension of the closure.

    >>> x, y, z, w = sympy.symbols("x y z w", real=True)
    >>> def same(pairs):
    ...     return all(sympy.simplify(left - right) == 0 for left, right in pairs)
    >>> combined_integrals([[y, 0, 1, 1], [y, 0, 1, -1]], [x, y, z, w], 1, same)
    (w,)
    """
    rows = sympy.Matrix([list(form) for form in forms])
    size = sum(int(entry.count_ops()) for entry in rows)
    # As many functions as forms: the forms themselves are integrable, which `find_integrals` tries.
    if not 0 < count < len(forms) or len(symbols) > MOST_COORDINATES or size > MOST_OPERATIONS:
        return ()
    fields = _closure(rows, symbols, len(symbols) - count)
    if fields is None:
        return ()
    left = _kernel(fields.T)
    if left is None or left.shape[1] != count:
        return ()
    written = [[simplify(entry) for entry in left.col(k)] for k in range(count)]
    found = find_integrals(written, symbols, equal).functions
    # A function counts only if its differential annihilates the closure.
    gradient = [[sympy.diff(function, s) for s in symbols] for function in found]
    if not found or not vanish(list(sympy.Matrix(gradient) * fields)).holds_to_rounding:
        return ()
    return tuple(_without_divisor(function, symbols) for function in found)


def _without_divisor(function: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> sympy.Expr:
    """The function times its denominator, where that is constant."""
    above, below = sympy.fraction(sympy.together(function))
    return function if below.free_symbols & set(symbols) else simplify(above)


def _closure(
    rows: sympy.Matrix, symbols: Sequence[sympy.Symbol], dimension: int
) -> sympy.Matrix | None:
    """Independent fields of the closure under brackets (n x dimension)."""
    found = _kernel(rows)
    if found is None:
        return None
    columns = [found.col(k) for k in range(found.cols)]
    while len(columns) < dimension:
        before = len(columns)
        for first, second in combinations(columns[:], 2):
            bracket = second.jacobian(symbols) * first - first.jacobian(symbols) * second
            bracket = bracket.applyfunc(shortened)
            if generic_rank(sympy.Matrix.hstack(*columns, bracket)) == len(columns) + 1:
                columns.append(bracket)
            if len(columns) == dimension:
                break
        if len(columns) == before:
            return None
    return sympy.Matrix.hstack(*columns)


def _kernel(rows: sympy.Matrix) -> sympy.Matrix | None:
    """Columns that span the kernel of a matrix of expressions at almost all points."""
    n, r = rows.cols, generic_rank(rows)
    chosen: list[int] = []
    for k in range(rows.rows):
        if generic_rank(rows.extract([*chosen, k], list(range(n)))) == len(chosen) + 1:
            chosen.append(k)
    whole = rows.extract(chosen, list(range(n)))
    # The divisor is the minor with the fewest operations, so that coefficients stay short.
    sized = []
    for columns in combinations(range(n), r):
        block = whole.extract(list(range(r)), list(columns))
        sized.append((sum(int(e.count_ops()) + (e != 0) for e in block), columns))
    regular = (c for _, c in sorted(sized) if generic_rank(whole[:, list(c)]) == r)
    places = next(regular, None) if r else ()
    if places is None:
        return None
    free = [k for k in range(n) if k not in places]
    square = whole.extract(list(range(r)), list(places))
    solved = (square.adjugate() * whole.extract(list(range(r)), free)).applyfunc(shortened)
    divisor = shortened(square.det(method="berkowitz")) if r else sympy.Integer(1)
    found = []
    for k, place in enumerate(free):
        column = [sympy.Integer(0)] * n
        column[place] = sympy.Integer(1)
        for j, bound in enumerate(places):
            column[bound] = shortened(-solved[j, k] / divisor)
        found.append(column)
    return sympy.Matrix(found).T if found else sympy.zeros(n, 0)
