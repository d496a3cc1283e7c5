r"""Whether a multiplier exists, by completing Helmholtz's conditions to a passive system.

The conditions on g for a = F(q, v, t) are linear partial differential equations of first order,

    (g Phi)_ij = (g Phi)_ji,    Gamma(g_ij) = (g N + N^T g)_ij,    dg_ij/dv_k = dg_ik/dv_j,

for n (n + 1) / 2 functions of t, q and v. Completed to a passive system (`geometry.linear_pde`, the
method of Douglas 1941), their solutions are power series whose parametric derivatives at a point
are arbitrary. So the values of g at almost every point are those that obey the equations of order
zero of the passive system: a regular multiplier exists near almost every point just where these
leave a regular matrix. No case has to be told apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import sympy

from ...algebra.verdicts import Verdict
from ...geometry.differential_fields import (
    DifferentialField,
    UnrepresentedError,
    differential_field,
)
from ...geometry.linear_pde import PassiveSystem, Row, TooLargeError, complete
from ...model.symbols import t
from .helmholtz_conditions import SecondOrder

__all__ = ["by_completion"]


def by_completion(
    equations: SecondOrder, accelerations: Sequence[sympy.Expr], case: str
) -> Verdict:
    """Whether a regular multiplier exists for a = F, near almost every point.

    >>> from ...model.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> frame = SecondOrder((), (x, y))
    >>> by_completion(frame, [y + x.dot * y.dot, sympy.S.Zero], "case II").grounds
    'case II: every g that the completed conditions leave is singular'
    >>> by_completion(frame, [-x * y.dot, sympy.S.Zero], "IIa2").grounds.partition(" leave ")[2]
    'multipliers with 1 arbitrary function of 2 variables'
    """
    q, v = equations.coordinates, equations.velocities
    try:
        field, force = differential_field(accelerations, (t, *q, *v))
        passive = complete(field, _conditions(field, force), len(q) * (len(q) + 1) // 2)
    except UnrepresentedError as error:
        words = f"{case}: the conditions are not completed with the function {error.args[0]}"
        return Verdict("not established", words)
    except TooLargeError:
        words = f"{case}: the completion of the conditions grows beyond its limits"
        return Verdict("not established", words)
    if not _has_regular(field, passive, len(q)):
        words = f"{case}: every g that the completed conditions leave is singular"
        return Verdict("refuted", words)
    functions, variables = passive.arbitrariness
    of = f"functions of {variables} variables" if variables else "constants"
    if functions == 1:
        of = of.replace("functions", "function").replace("constants", "constant")
    of = of.replace("of 1 variables", "of 1 variable")
    words = f"{case}: the completed conditions leave multipliers with {functions} arbitrary {of}"
    return Verdict("proved", words, holds_to_rounding=True)


def _conditions(field: DifferentialField, F: Sequence[Any]) -> list[Row]:
    """Helmholtz's conditions on g_11, g_12, ..., as equations of a field in (t, q, v)."""
    n = len(F)
    size = 2 * n + 1
    q, v = range(1, n + 1), range(n + 1, size)
    places = {pair: k for k, pair in enumerate((i, j) for i in range(n) for j in range(i, n))}
    zero, one = field.field.zero, field.field.one
    rates = [one, *(field.field.from_expr(field.variables[k]) for k in v), *F]

    def along(element: Any) -> Any:
        return sum((r * field.derivative(element, k) for k, r in enumerate(rates)), zero)

    def entry(i: int, j: int, by: int | None = None) -> tuple[tuple[int, ...], int]:
        return tuple(int(k == by) for k in range(size)), places[min(i, j), max(i, j)]

    def row(*terms: tuple[tuple[tuple[int, ...], int], Any]) -> Row:
        found: Row = {}
        for derivative, c in terms:
            found[derivative] = found.get(derivative, zero) + c
        return {derivative: c for derivative, c in found.items() if c}

    N = [[-field.derivative(F[i], v[j]) / 2 for j in range(n)] for i in range(n)]
    squares = [
        [sum((N[i][m] * N[m][j] for m in range(n)), zero) for j in range(n)] for i in range(n)
    ]
    Phi = [
        [-field.derivative(F[i], q[j]) - squares[i][j] - along(N[i][j]) for j in range(n)]
        for i in range(n)
    ]
    found = []
    for i, j in combinations(range(n), 2):
        terms = [(entry(i, m), Phi[m][j]) for m in range(n)]
        found.append(row(*terms, *((entry(j, m), -Phi[m][i]) for m in range(n))))
    for i, j in places:
        terms = [(entry(i, j, k), rate) for k, rate in enumerate(rates)]
        terms += [(entry(i, m), -N[m][j]) for m in range(n)]
        found.append(row(*terms, *((entry(j, m), -N[m][i]) for m in range(n))))
    for i in range(n):
        for j, k in combinations(range(n), 2):
            found.append(row((entry(i, j, v[k]), one), (entry(i, k, v[j]), -one)))
    return [own for own in found if own]


def _has_regular(field: DifferentialField, passive: PassiveSystem, n: int) -> bool:
    """Whether the equations between the values of g leave a regular matrix."""
    places = [(i, j) for i in range(n) for j in range(i, n)]
    relations = {}
    for relation in passive.values:
        lead = max(k for k, c in enumerate(relation) if c)
        relations[lead] = relation
    free = [k for k in range(len(places)) if k not in relations]
    symbols = sympy.symbols(f"g:{len(free)}") if free else ()
    values: dict[int, sympy.Expr] = dict(zip(free, symbols, strict=True))
    for lead, relation in relations.items():
        values[lead] = sympy.Add(
            *(-c.as_expr() * values[k] for k, c in enumerate(relation) if c and k != lead)
        )
    g = sympy.Matrix(n, n, lambda i, j: values[places.index((min(i, j), max(i, j)))])
    return bool(sympy.cancel(sympy.expand(g.det(method="berkowitz"))) != 0)
