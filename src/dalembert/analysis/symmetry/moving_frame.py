r"""Tensors of a constrained system with symmetry in a moving basis of its Lie algebra.

The basis is the section e_1(r) .. e_m(r) of g^D, completed by fixed directions b_j less their
orthogonal part along it,

    e_j = b_j - e_b I^{bc} <<e_c, b_j>>,     j = m+1 .. k,

so that it stays metric-orthogonal where the kinetic energy of the group is degenerate, as long as
that of the section is not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import sympy

from ...algebra.simplify.lowest_terms import lowest_terms
from ...algebra.simplify.simplifier import simplify
from ...algebra.simplify.trigonometric_ring import TooMuchWorkError, Work
from ...errors import FormError
from ...formulations.reduction.bundle_equations import ReducedFunctions
from .reduced_formulas import inverse_symbol

if TYPE_CHECKING:
    from ...algebra.protocol import Block
    from .reduced_tensors import ReducedCoefficients

__all__ = ["bracket", "check_hypotheses", "constrained_lagrangian", "generic_completion"]
__all__ += ["moving_tensors", "smallest"]

#: How much an expression may cost to be brought to lowest terms, in products of terms.
EFFORT = 150_000

#: Expressions with more operations are not brought to lowest terms.
MOST_OPERATIONS = 300


def moving_tensors(reduced: ReducedFunctions, completion: Sequence[int]) -> list[Block]:
    """The tensors of `ReducedCoefficients` as matrices; further lower indices along the columns."""
    algebra, e, l = reduced.algebra, reduced.section, reduced.lagrangian
    k, m, s = len(reduced.bundle.group), e.shape[1], len(reduced.bundle.shape)
    derivative = algebra.gradient(l, reduced.xi)
    metric = algebra.jacobian(derivative, reduced.xi)
    unit = algebra.jacobian(reduced.xi, reduced.xi)
    inertia = e.T @ metric @ e
    unit_momenta = algebra.jacobian(reduced.p, reduced.p)
    inverse = algebra.solve(inertia, unit_momenta) if m else algebra.zeros(0, 0)
    added = algebra.part(unit, range(k), completion)
    frame = algebra.columns([e, added - e @ inverse @ (e.T @ metric @ added)]) if m else added
    A, lift = reduced.connection, reduced.momentum_lift

    def column(matrix: Block, place: int) -> Block:
        return algebra.part(matrix, range(matrix.shape[0]), [place])

    def along(vector: Block, place: int) -> Block:
        return column(algebra.jacobian(vector, reduced.shape), place)

    def moving(columns: list[Block]) -> Block:
        if columns:
            return algebra.solve_square(frame, algebra.columns(columns))
        return algebra.zeros(k, 0)

    def curved(x: int, y: int) -> Block:
        first, second = column(A, x), column(A, y)
        return along(first, y) - along(second, x) - bracket(reduced, second, first)

    structure = moving(
        [bracket(reduced, column(frame, a), column(frame, b)) for a in range(k) for b in range(k)]
    )
    gamma = moving([along(column(e, b), x) for b in range(m) for x in range(s)])
    curvature = moving([curved(x, y) for x in range(s) for y in range(s)])
    turning = moving(
        [along(column(lift, i), x) - bracket(reduced, column(A, x), column(lift, i)) for i in
        range(m) for x in range(s)]
    )  # fmt: skip
    lam = algebra.zeros(k, 0)
    if s:
        lam = frame.T @ (algebra.jacobian(derivative, reduced.shape_velocities) - metric @ A)
    entries = algebra.stack([column(inverse, d) for d in range(m)]) if m else algebra.zeros(0)
    inverse_derivative = algebra.jacobian(entries, reduced.shape)
    in_frame = [moving([column(table, j) for j in range(table.shape[1])]) for table in (A, lift)]
    tables = [frame, structure, inertia, inverse, inverse_derivative, gamma]
    return [*tables, *in_frame, lam, curvature, turning]


def generic_completion(reduced: ReducedFunctions) -> list[int]:
    """The first fixed directions that complete the section at almost all shapes."""
    algebra, k = reduced.algebra, len(reduced.bundle.group)
    unit, chosen = algebra.jacobian(reduced.xi, reduced.xi), list[int]()
    for place in range(k):
        wider = algebra.columns([reduced.section, algebra.part(unit, range(k), [*chosen, place])])
        if wider.shape[1] <= k and algebra.rank(wider).value == wider.shape[1]:
            chosen.append(place)
    return chosen


def bracket(reduced: ReducedFunctions, first: Block, second: Block) -> Block:
    """[first, second] in the basis of the group, (k x 1)."""
    algebra, constants, k = reduced.algebra, reduced.bundle.constants, len(reduced.bundle.group)
    total = algebra.zeros(k)
    for a, b in zip(*np.nonzero(np.any(constants != 0, axis=2)), strict=True):
        whole = [round(c) for c in constants[a, b]]
        pairs = zip(constants[a, b], whole, strict=True)
        value = algebra.vector([sympy.Float(c) if c != n else sympy.Integer(n) for c, n in pairs])
        parts = algebra.part(first, [int(a)], [0]), algebra.part(second, [int(b)], [0])
        total = total + value @ (parts[0] @ parts[1])
    return total


def check_hypotheses(reduced: ReducedFunctions) -> None:
    """Require linear constraints and kinetic less potential energy, without time."""
    algebra = reduced.algebra
    moving = algebra.stack([reduced.shape_velocities, reduced.xi])
    still = algebra.zeros(moving.shape[0])

    def require(what: str, seen: str | None = None) -> None:
        what = f"The coefficients of the reduced equations need {what}"
        raise FormError(what, seen, "use da.symmetry.reduce, which takes such systems")

    timed = (algebra.depends(x, reduced.time) for x in (reduced.lagrangian, reduced.residual))
    if any(timed):
        require("a system that does not depend on time")
    momenta = algebra.substitute(algebra.gradient(reduced.lagrangian, moving), moving, still)
    if not algebra.vanishing(momenta).holds:
        require("a Lagrangian that is kinetic less potential energy", "terms linear in velocities")
    at_rest = algebra.substitute(reduced.residual, moving, still)
    if reduced.residual.numel() and not algebra.vanishing(at_rest).holds:
        require("constraints that are linear in the velocities", "an affine constraint")


def constrained_lagrangian(reduced: ReducedFunctions, found: ReducedCoefficients) -> sympy.Expr:
    """l_c(r, r_dot, p) = 1/2 g_c r_dot r_dot + 1/2 I^{ab} p_a p_b - V, by coefficient.

    g_c is the kinetic metric of horizontal velocities; horizontal and vertical ones are orthogonal.
    """
    algebra, v = reduced.algebra, reduced.shape_velocities
    moving = algebra.stack([v, reduced.xi])
    potential = algebra.substitute(reduced.lagrangian, moving, algebra.zeros(moving.shape[0]))
    lifted = algebra.substitute(reduced.lagrangian, reduced.xi, -reduced.connection @ v)
    metric = algebra.jacobian(algebra.gradient(lifted, v), v)
    total, m, s = simplify(_scalar(potential)), found.count, len(reduced.bundle.shape)
    for a in range(s):
        for b in range(a, s):
            value = simplify(metric[a, b]) * (sympy.Rational(1, 2) if a == b else 1)
            total += value * v[a] * v[b]
    for a in range(m):
        for b in range(a, m):
            value = simplify(found.inverse[a, b]) if m == 1 else inverse_symbol(a, b)
            total += value * (sympy.Rational(1, 2) if a == b else 1) * reduced.p[a] * reduced.p[b]
    return total


def _scalar(block: Block) -> sympy.Expr:
    return block[0] if isinstance(block, sympy.MatrixBase) else block


def smallest(expression: sympy.Expr, known: dict[sympy.Expr, sympy.Expr]) -> sympy.Expr:
    """The expression in lowest terms, where that takes bounded work; `known` has earlier ones."""
    if expression.count_ops() > MOST_OPERATIONS:
        return expression
    if expression not in known and -expression not in known:
        try:
            known[expression] = lowest_terms(expression, Work(EFFORT))
        except TooMuchWorkError:
            known[expression] = expression
    return known[expression] if expression in known else -known[-expression]
