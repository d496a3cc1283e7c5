r"""The multiplier problem: for which equations a = F(q, v, t) there is a multiplier g.

g (a - F) are Euler's equations of a regular Lagrangian just where g is symmetric and regular with

    g Phi = (g Phi)^T,     nabla g = 0,     dg_ij/dv_k = dg_ik/dv_j                     (Helmholtz)

    N = -F_v / 2,    Phi = -F_q - N N - Gamma(N),     Gamma = d/dt along the motion,
    nabla g = Gamma(g) - g N - N^T g,     nabla Phi = Gamma(Phi) + N Phi - Phi N.

It follows that g nabla^k Phi is symmetric for every k: linear equations for the entries of g at
each point. For two degrees of freedom Douglas (1941) told four cases apart by their rank:

    I    rank 0, Phi = lambda 1         there are multipliers
    II   rank 1                         `douglas_second_case.py`, `multiplier_completion.py`
    III  rank 2, g = mu g_0             all derivatives of ln mu are determined, see below
    IV   rank 3                         there is none

In case III the symmetry of dg_ij/dv_k determines d ln mu/dv, nabla g = 0 then Gamma(ln mu), and
their commutators d ln mu/dq: a multiplier exists just where this form is closed, and it is found by
quadratures. For more degrees of freedom the rank may refute, too (Crampin, Sarlet and others); what
is left is decided by completing the conditions to a passive system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import expansion_size, simplify
from ...algebra.tree_derivatives import partial_derivative
from ...algebra.verdicts import Rank, Verdict
from ...geometry.vanishing import vanish
from ...model.symbols import t
from ..hamilton_jacobi.primitives import potential
from .douglas_second_case import second_case
from .helmholtz_conditions import SecondOrder
from .multiplier_completion import by_completion

__all__ = ["DouglasConditions", "douglas"]

#: The most derivatives nabla^k Phi, operations of their entries, and terms that are simplified.
MOST_DERIVATIVES, MOST_OPERATIONS, MOST_TERMS = 4, 6000, 300
#: The most operations of conditions, and of the g_0 that they leave, that case III goes on with.
CONDITIONS_OPERATIONS, METRIC_OPERATIONS = 1200, 120


@dataclass(frozen=True)
class DouglasConditions:
    """The algebraic conditions on a multiplier, and what follows.

    Attributes
    ----------
    case : str
        "I", "II", "III" or "IV" for two degrees of freedom, else "".
    rank : Rank
        Of the linear equations for the n (n + 1) / 2 entries of g.
    existence : Verdict
        Whether there is a regular multiplier.
    multiplier : matrix (n x n) or None
        g of case III, where it was found in closed form.
    """

    case: str
    rank: Rank
    existence: Verdict
    multiplier: sympy.Matrix | None


def douglas(equations: SecondOrder, accelerations: Sequence[sympy.Expr]) -> DouglasConditions:
    """The algebraic conditions for a = F, and what they decide.

    >>> from ...model.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> frame = SecondOrder((), (x, y))
    >>> douglas(frame, [x**2 + y**2, sympy.S.Zero]).existence.status      # Douglas's example
    'refuted'
    """
    F = sympy.Matrix(list(accelerations))
    n = len(F)
    rows, rank = _rows(equations, F)
    count = n * (n + 1) // 2
    if rank.value >= count:
        words = f"the {count} entries of a multiplier obey {rank.value} independent equations"
        return DouglasConditions("IV" if n == 2 else "", rank, Verdict("refuted", words), None)
    if n != 2:
        words = f"{rank.value} independent equations leave entries of a multiplier free"
        return DouglasConditions("", rank, by_completion(equations, list(F), words), None)
    if rank.at_most == 0:
        words = "case I of Douglas: Phi is a multiple of the identity"
        return DouglasConditions("I", rank, Verdict("proved", words, holds_to_rounding=True), None)
    if rank.value < 2:
        words = "case II of Douglas, unless the rank is more than the 1 found at samples"
        decided = Verdict("not established", words)
        if rank.at_most == 1:
            decided = second_case(equations.velocities, rows[0])
        if not decided.is_proved:
            decided = by_completion(equations, list(F), decided.grounds)
        return DouglasConditions("II", rank, decided, None)
    existence, multiplier = _third_case(equations, F, rows)
    return DouglasConditions("III", rank, existence, multiplier)


def _rate(equations: SecondOrder, F: sympy.Matrix, entry: sympy.Expr) -> sympy.Expr:
    """Gamma: d/dt along a = F."""
    moved = zip(equations.coordinates, equations.velocities, strict=True)
    pushed = zip(equations.velocities, F, strict=True)
    terms = (partial_derivative(entry, x) * rate for x, rate in (*moved, *pushed))
    return sympy.Add(partial_derivative(entry, t), *terms)


def _rows(equations: SecondOrder, F: sympy.Matrix) -> tuple[list[list[sympy.Expr]], Rank]:
    """The equations g nabla^k Phi = (g nabla^k Phi)^T for g_11, g_12, ..., and their rank."""
    q, v, n = equations.coordinates, equations.velocities, len(F)

    def along(matrix: sympy.Matrix) -> sympy.Matrix:
        return matrix.applyfunc(lambda entry: _rate(equations, F, entry))

    N = -F.jacobian(list(v)) / 2
    Phi = (-F.jacobian(list(q)) - N * N - along(N)).applyfunc(simplify)
    pairs = list(combinations(range(n), 2))
    places = [(i, j) for i in range(n) for j in range(i, n)]
    rows: list[list[sympy.Expr]] = []
    algebra = GraphAlgebra()
    rank = Rank(0, 0)
    for k in range(max(3, MOST_DERIVATIVES if n > 2 else 3)):
        for i, j in pairs:
            row = dict.fromkeys(places, sympy.S.Zero)
            for m in range(n):
                row[min(i, m), max(i, m)] += Phi[m, j]
                row[min(j, m), max(j, m)] -= Phi[m, i]
            rows.append([row[place] for place in places])
        block = algebra.stack([algebra.vector(row).T for row in rows])
        before, rank = rank.value, algebra.rank(block)
        if rank.value >= len(places) or (k and rank.value == before == rank.at_most):
            break
        Phi = (along(Phi) + N * Phi - Phi * N).applyfunc(_shortened)
        if any(entry.count_ops() > MOST_OPERATIONS for entry in Phi):
            return rows, Rank(rank.value, len(places))
    return rows, rank


def _shortened(entry: sympy.Expr) -> sympy.Expr:
    return simplify(entry) if expansion_size(entry) <= MOST_TERMS else entry


def _third_case(
    equations: SecondOrder, F: sympy.Matrix, rows: Sequence[Sequence[sympy.Expr]]
) -> tuple[Verdict, sympy.Matrix | None]:
    """Whether g = mu g_0 exists for the g_0 that the algebraic conditions leave, and g."""
    g = _direction(rows)
    if g is None:
        return Verdict("not established", "case III of Douglas: the conditions are too large"), None
    determinant = vanish([g.det()])
    if determinant.holds:
        return Verdict("refuted", "every g that obeys the algebraic conditions is singular"), None
    form, consistent = _logarithmic_form(equations, F, g)
    if consistent.is_refuted:
        words = "case III of Douglas: nabla g is no multiple of the g that is left"
        return Verdict("refuted", words), None
    symbols = (*equations.coordinates, *equations.velocities, t)
    curls = [
        partial_derivative(form[i], symbols[j]) - partial_derivative(form[j], symbols[i])
        for i, j in combinations(range(len(symbols)), 2)
    ]
    closed = vanish(curls)
    if closed.is_refuted:
        words = (
            "case III of Douglas: the form of d ln mu is not closed, mu g_0 being all that is left"
        )
        return Verdict("refuted", words), None
    if not (closed.holds and consistent.holds):
        return Verdict("not established", "case III of Douglas: closedness is not decided"), None
    words = "case III of Douglas: the form of d ln mu is closed"
    proved = Verdict("proved", words, holds_to_rounding=True)
    exponent = potential([simplify(entry) for entry in form], symbols)
    if exponent is None:
        return proved, None
    factor = sympy.exp(sympy.expand_log(exponent)).replace(sympy.Abs, lambda inner: inner)
    return proved, (g * sympy.powsimp(factor)).applyfunc(simplify)


def _direction(rows: Sequence[Sequence[sympy.Expr]]) -> sympy.Matrix | None:
    """g_0 orthogonal to the first two independent rows; None where these or it are too large."""
    for first, second in combinations(rows, 2):
        if sum(entry.count_ops() for entry in (*first, *second)) > CONDITIONS_OPERATIONS:
            continue
        cross = sympy.Matrix(list(first)).cross(sympy.Matrix(list(second)))
        if vanish(list(cross)).is_refuted:
            entries = [simplify(entry) for entry in cross]
            base = next(entry for entry in entries if entry != 0)
            a, b, c = (simplify(entry / base) for entry in entries)
            short = sum(entry.count_ops() for entry in (a, b, c)) <= METRIC_OPERATIONS
            return sympy.Matrix([[a, b], [b, c]]) if short else None
    return None


def _logarithmic_form(
    equations: SecondOrder, F: sympy.Matrix, g: sympy.Matrix
) -> tuple[list[sympy.Expr], Verdict]:
    """d ln mu by (q, v, t), and whether nabla g is a multiple of g."""
    v = equations.velocities
    N = -F.jacobian(list(v)) / 2
    change = g.applyfunc(lambda entry: _rate(equations, F, entry)) - g * N - N.T * g
    entries = [(i, j) for i in range(2) for j in range(i, 2)]
    minors = [change[a] * g[b] - change[b] * g[a] for a, b in combinations(entries, 2)]
    pivot = next(place for place in entries if g[place] != 0)
    along = simplify(-change[pivot] / g[pivot])
    turned = [
        partial_derivative(g[i, 0], v[1]) - partial_derivative(g[i, 1], v[0]) for i in range(2)
    ]
    # mu_v1 g_i2 - mu_v2 g_i1 = mu (dg_i1/dv_2 - dg_i2/dv_1)
    table = sympy.Matrix([[g[0, 1], -g[0, 0]], [g[1, 1], -g[1, 0]]])
    by_v = [simplify(e) for e in table.adjugate() * sympy.Matrix(turned) / table.det()]
    by_q = [
        simplify(
            partial_derivative(along, v[i])
            - _rate(equations, F, by_v[i])
            - sum(partial_derivative(F[j], v[i]) * by_v[j] for j in range(2))
        )
        for i in range(2)
    ]
    rest = along - sum(x * c for x, c in zip(v, by_q, strict=True))
    rest -= sum(f * c for f, c in zip(F, by_v, strict=True))
    return [*by_q, *by_v, simplify(rest)], vanish(minors)
