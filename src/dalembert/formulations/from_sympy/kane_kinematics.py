r"""Speeds of Kane's method as functions of velocities, and constraints on them.

The kinematic differential equations K_u u + K_q q_dot + f = 0 are solved for the speeds,
u = W q_dot + w. Equations and speeds are paired at one random state: a pivot that is not zero there
is not zero identically. Equations that are left over become constraints on velocities; speeds that
are left over become velocities of coordinates of their own.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.structure import rank
from ...errors import ModelError
from ...model.symbols import Coordinate
from .kane_inertia import KaneKinematics
from .sympy_symbols import Translation

if TYPE_CHECKING:
    from sympy.physics.mechanics import KanesMethod

__all__ = ["check_accelerations", "independent_rows", "kinematics_of"]

ZERO = sympy.Integer(0)
#: A pivot below this fraction of its row counts as zero; the equation is then a constraint.
LEAST_PIVOT = 1e-9
#: Larger blocks are solved by LU, smaller ones by determinants: these have no pivots that vanish.
LARGEST_DETERMINANT = 4


def kinematics_of(
    method: KanesMethod, translation: Translation
) -> tuple[KaneKinematics, list[sympy.Expr]]:
    """What the speeds of a method are, and velocity equations that were not needed to find them."""
    plain, own = translation.in_speeds, len(translation.coordinates)
    on_speeds = method._k_ku_implicit.applyfunc(plain)
    on_rates = method._k_kqdot_implicit.applyfunc(plain)
    rest = method._f_k_implicit.applyfunc(plain)
    pairs = _pairs(on_speeds)
    free = [k for k in range(len(method.u)) if k not in pairs.values()]
    alone = [*(method.u[k] for k in free), *method._uaux]
    added = {u: translation.new_coordinate(u) for u in alone}
    velocities = [q.dot for q in translation.coordinates]
    # One column for each velocity, those of new coordinates included, and one without.
    on_added = on_speeds.extract(list(range(own)), free)
    known = on_rates.row_join(on_added).row_join(sympy.zeros(own, len(method._uaux))).row_join(rest)
    solution = _solved(on_speeds, known, pairs)
    unit = sympy.eye(len(velocities)).tolist()
    speeds, matrix = {}, {}
    for k, u in enumerate((*method.u, *method._uaux)):
        if k in solution:
            *matrix[u], offset = solution[k]
        else:
            matrix[u], offset = unit[translation.coordinates.index(added[u])], ZERO
        speeds[u] = sum((c * v for c, v in zip(matrix[u], velocities, strict=True)), offset)
        translation.set_speed(u, speeds[u])
    rates = method.q.diff(translation.clock)
    inverse = {v: plain(method._qdot_u_map[r]) for v, r in zip(velocities, rates, strict=False)}
    inverse |= {q.dot: translation.speeds[u] for u, q in added.items()}
    equations = on_speeds * sympy.Matrix([speeds[u] for u in method.u]) + rest
    equations += on_rates * sympy.Matrix(velocities[:own])
    unsolved = [equations[r] for r in range(own) if r not in pairs]
    held = {u: added[u].dot for u in method._uaux}
    return KaneKinematics(speeds, matrix, inverse, held), unsolved


def _pairs(matrix: sympy.Matrix) -> dict[int, int]:
    """Rows with the column that each is solved for, by complete pivoting at a random state."""
    algebra = GraphAlgebra()
    block = ca.vertcat(*(ca.horzcat(*map(algebra.scalar, row)) for row in matrix.tolist()))
    source = random.Random(0)
    function = ca.Function("coefficients", list(algebra.symbols.values()), [ca.densify(block)])
    state = [source.uniform(0.3, 1.3) for _ in algebra.symbols]
    numbers = np.array(function.call(state)[0], dtype=float)
    sizes = np.abs(numbers).max(axis=1, initial=0.0)
    found: dict[int, int] = {}
    while True:
        rows = [r for r in range(matrix.rows) if r not in found and sizes[r] > 0]
        columns = [c for c in range(matrix.cols) if c not in found.values()]
        if not rows or not columns:
            return found
        part = np.abs(numbers[np.ix_(rows, columns)]) / sizes[rows][:, None]
        place = np.unravel_index(int(np.argmax(part)), part.shape)
        if not part[place] > LEAST_PIVOT:
            return found
        r, c = rows[place[0]], columns[place[1]]
        found[r] = c
        for other in rows:
            if other != r:
                numbers[other] -= numbers[other, c] / numbers[r, c] * numbers[r]


def _solved(
    matrix: sympy.Matrix, known: sympy.Matrix, pairs: dict[int, int]
) -> dict[int, list[sympy.Expr]]:
    """The rows of -A^-1 B by column of A, for the paired rows and columns, block by block."""
    rows, columns = list(pairs), list(pairs.values())
    square, right = matrix.extract(rows, columns), known.extract(rows, list(range(known.cols)))
    found: dict[int, sympy.Matrix] = {}
    for block in square.strongly_connected_components():
        part, side = square.extract(block, block), right.extract(block, list(range(right.cols)))
        for column, solution in found.items():
            side += square.extract(block, [column]) * solution
        if len(block) == 1:
            solved = -side / part[0]
        elif len(block) <= LARGEST_DETERMINANT:
            solved = -part.adjugate() * side / part.det(method="berkowitz")
        else:
            solved = -part.LUsolve(side)
        found |= {place: solved[k, :] for k, place in enumerate(block)}
    return {columns[place]: list(row) for place, row in found.items()}


def independent_rows(
    rows: Sequence[sympy.Expr], known: Sequence[sympy.Expr], coordinates: Sequence[Coordinate]
) -> list[sympy.Expr]:
    """The velocity equations without those that are proved to follow from known and kept ones."""
    if not rows:
        return []
    algebra = GraphAlgebra()
    rates = algebra.vector([q.dot for q in coordinates])
    stacked = _affine(algebra.vector(known), rates)
    kept: list[sympy.Expr] = []
    for row in rows:
        candidate = ca.vertcat(stacked, _affine(algebra.vector([row]), rates))
        if rank(algebra.symbols, candidate).at_most == candidate.shape[0]:
            kept.append(row)
            stacked = candidate
    return kept


def check_accelerations(
    method: KanesMethod, translation: Translation, kinematics: KaneKinematics
) -> None:
    """Raise unless acceleration constraints are proved to be rates of the velocity constraints."""
    clock, plain, algebra = translation.clock, translation.in_speeds, GraphAlgebra()
    rates_of_speeds = method.u.diff(clock)
    given = method._k_dnh * rates_of_speeds + method._f_dnh
    derived = (method._k_nh * method.u + method._f_nh).diff(clock)
    unknown = algebra.vector(plain(rate) for rate in rates_of_speeds)
    velocities = algebra.vector(kinematics.velocities)
    block = _affine(algebra.vector(plain(row) for row in (*derived, *given)), unknown)
    block = algebra.substitute(block, velocities, algebra.vector(kinematics.velocities.values()))
    if rank(algebra.symbols, block).at_most > len(derived):
        raise ModelError(
            "The acceleration constraints are not the rates of the velocity constraints",
            remedy="leave acceleration_constraints out: they follow",
        )


def _affine(rows: ca.SX, unknown: ca.SX) -> ca.SX:
    """Coefficients of rows that are affine in some unknowns, with the rest in the last column."""
    rest = ca.substitute(rows, unknown, ca.SX.zeros(unknown.numel()))
    return ca.horzcat(ca.jacobian(rows, unknown), rest)
