r"""A frame of the allowed body velocities: columns that span the kernel of rows a(r), (m x k).

A zero column of the rows leaves its field free. For one free direction among the other ones the
signed minors are regular wherever the rows are independent. For more, no frame is regular for all
rows (on the sphere no tangent field is), but how often it degenerates differs:

    joined minors       where one minor D(r) of order m vanishes: many motions pass there, unless D
    is constant reflections         where a row is opposite to an axis: as many conditions on the
    shape as it leaves free directions

A reflection takes row by row: with weights mu_i = M_ref/M_i from the inertia of the body
velocities, n^2 = sum mu_i a_i^2,

    e_j = c_j - sigma (a_j/n) c_ref - sum over i /= ref of a_j mu_i a_i/(n (n + sigma a_ref)) c_i,
    j /= ref,

so that units do not matter, and the axis ref and the sign sigma keep away from n + sigma a_ref = 0
(Householder's).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import lowest_terms, simplify
from ...algebra.structure import numeric_rank

if TYPE_CHECKING:
    from ...typing import Array

__all__ = ["kernel_frame", "oriented", "signed_minors"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
#: Shapes at which axes of reflections are compared.
SAMPLES = 64


def kernel_frame(
    rows: sympy.Matrix, sample: Array, shape: Sequence[sympy.Symbol], inertia: Sequence[sympy.Expr]
) -> sympy.Matrix:
    """Columns (k x (k - m)) that span the kernel of independent rows (m x k).

    Parameters
    ----------
    sample : array (m, k)
        The rows at a generic shape.
    inertia : sequence of k expressions
        Positive weights of the components.

    >>> r = sympy.Symbol("r", real=True)
    >>> kernel_frame(
    ...     sympy.Matrix([[sympy.sin(r), sympy.cos(r), 0]]),
    ...     np.array([[0.6, 0.8, 0.0]]),
    ...     [r],
    ...     [1, 1, 1],
    ... )
    Matrix([
    [ cos(r), 0],
    [-sin(r), 0],
    [      0, 1]])
    """
    count, k = rows.shape
    held = [place for place in range(k) if any(entry != 0 for entry in rows.col(place))]
    within = rows.extract(list(range(count)), held)
    chosen = _dependent(within, sample[:, held], shape)
    weights = [inertia[place] for place in held]
    inner = _reflected(within, shape, weights) if chosen is None else _joined_minors(within, chosen)
    columns = [(place, _unit(place, k)) for place in range(k) if place not in held]
    for number, column in inner:
        whole = [ZERO] * k
        for place, entry in zip(held, column, strict=True):
            whole[place] = entry
        columns.append((held[number], oriented(whole)))
    columns.sort(key=lambda pair: pair[0])
    return sympy.Matrix([column for _, column in columns]).T if columns else sympy.zeros(k, 0)


def _dependent(
    rows: sympy.Matrix, sample: Array, shape: Sequence[sympy.Symbol]
) -> tuple[int, ...] | None:
    """Components that the others determine at every shape; None if there are none."""
    count: int = rows.rows
    k: int = rows.cols
    for places in combinations(range(k), count):
        if numeric_rank(sample[:, list(places)]) < count:
            continue
        if k <= count + 1 or not _minor(rows, places).free_symbols & set(shape):
            return places
    return None


def _minor(rows: sympy.Matrix, places: Sequence[int]) -> sympy.Expr:
    return (
        lowest_terms(rows.extract(list(range(rows.rows)), list(places)).det(method="berkowitz"))
        if places
        else ONE
    )


def _joined_minors(
    rows: sympy.Matrix, dependent: Sequence[int]
) -> list[tuple[int, list[sympy.Expr]]]:
    """Each free component joined to the dependent ones: the signed minors of these."""
    k = rows.cols
    found = []
    for free in (place for place in range(k) if place not in dependent):
        places = sorted([*dependent, free])
        column = [ZERO] * k
        minors = signed_minors(rows.extract(list(range(rows.rows)), places))
        for place, minor in zip(places, minors, strict=True):
            column[place] = simplify(minor)
        found.append((free, column))
    return found


def signed_minors(rows: sympy.Matrix) -> list[sympy.Expr]:
    """The vector that m rows of m + 1 columns annihilate: their minors with alternating signs.

    >>> signed_minors(sympy.Matrix([[1, 2, 3], [0, 1, 4]]))
    [5, -4, 1]
    """
    places = range(rows.cols)
    return [(-1) ** k * _minor(rows, [p for p in places if p != k]) for k in places]


def _reflected(
    rows: sympy.Matrix, shape: Sequence[sympy.Symbol], inertia: Sequence[sympy.Expr]
) -> list[tuple[int, list[sympy.Expr]]]:
    """The same by a reflection for each row, in the components that earlier rows have left."""
    k = rows.cols
    left, frame = list(range(k)), sympy.eye(k)
    for number in range(rows.rows):
        row = list(rows.row(number) * frame)
        ref, sign = _axis(row, [inertia[place] for place in left], shape)
        weights = [inertia[left[ref]] / inertia[place] for place in left]
        squares = sympy.Add(*(w * a**2 for w, a in zip(weights, row, strict=True)))
        length = sympy.sqrt(squares if number else simplify(squares))
        turned = sympy.eye(len(left))
        for j, entry in enumerate(row):
            for i, other in enumerate(row):
                part = (
                    sign / length
                    if i == ref
                    else weights[i] * other / (length * (length + sign * row[ref]))
                )
                turned[i, j] -= entry * part
        turned.col_del(ref)
        frame = frame * turned
        del left[ref]
    return list(zip(left, (list(frame.col(j)) for j in range(frame.cols)), strict=True))


def _axis(
    row: Sequence[sympy.Expr], inertia: Sequence[sympy.Expr], shape: Sequence[sympy.Symbol]
) -> tuple[int, int]:
    """The axis, and the sign, from whose opposite the row stays away, at shapes all around."""
    algebra = GraphAlgebra()
    table = algebra.columns([algebra.vector(row), algebra.vector(inertia)])
    function = ca.Function("rows", list(algebra.symbols.values()), [ca.densify(table)])
    random, cosines = np.random.default_rng(9), []
    for _ in range(SAMPLES):
        values = [
            random.uniform(-np.pi, np.pi) if s in shape else random.uniform(0.3, 1.1)
            for s in algebra.symbols
        ]
        entries, weights = np.asarray(function.call(values)[0], dtype=float).T
        scaled = entries / np.sqrt(np.abs(weights))
        cosines.append(scaled / np.linalg.norm(scaled))
    known = [cosine for cosine in cosines if np.all(np.isfinite(cosine))] or [np.eye(len(row))[0]]
    worst = {
        (k, sign): float(np.min(sign * np.array(known)[:, k]))
        for k in range(len(row))
        for sign in (1, -1)
    }
    return max(worst, key=worst.__getitem__)


def _unit(place: int, k: int) -> list[sympy.Expr]:
    return [ONE if other == place else ZERO for other in range(k)]


def oriented(column: list[sympy.Expr]) -> list[sympy.Expr]:
    """A column of the kernel, by its sign: along one basis vector it is that vector."""
    present = [entry for entry in column if entry != 0]
    if len(present) == 1:
        return [ONE if entry != 0 else ZERO for entry in column]
    negative = all(entry.could_extract_minus_sign() for entry in present)
    return [-entry for entry in column] if negative else column
