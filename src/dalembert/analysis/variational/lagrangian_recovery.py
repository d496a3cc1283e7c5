r"""The Lagrangian of equations that obey Helmholtz's conditions, by quadratures.

Such equations are R = g(q, v, t) a + h(q, v, t) with g symmetric, and L = K + A . v - V with

    K_{v_i v_j} = g_ij,
    B_ij(q, t) v_j + c_i(q, t) = R_i - E_i(K)
        what Euler's equations of K leave, affine in v by condition 2,
    A_i,j - A_j,i = B_ij,     V_,i = c_i - A_i,t          closed by condition 3.

A is built one coordinate after the other, by primitives in single symbols. L is unique up to the
total derivative of a function of (q, t), and is returned only after its Euler equations were
compared with R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import sympy

from ...algebra.simplify.simplifier import expansion_size, simplify
from ...algebra.structure import Verdict
from ...errors import ModelError
from ...geometry.integrals import UNDEFINED
from ...model.symbols import t
from ..hamilton_jacobi.primitives import at_numbers, potential, primitive
from ..proofs.bounded import differs_nowhere
from .helmholtz_conditions import SecondOrder, euler_lagrange

__all__ = ["Recovered", "recover"]

ZERO = sympy.S.Zero
#: The most terms of the expansion of the mass matrix.
MOST_TERMS = 400


@dataclass(frozen=True)
class Recovered:
    """A Lagrangian, and how it was compared with the equations; or why there is none.

    Attributes
    ----------
    lagrangian : sympy.Expr or None
    verdict : Verdict or None
        That Euler's equations of it are the given ones.
    note : str
    """

    lagrangian: sympy.Expr | None
    verdict: Verdict | None
    note: str


def recover(equations: SecondOrder) -> Recovered:
    """L with d/dt L_v - L_q = R, for equations that obey the conditions."""
    if not equations.is_small:
        return Recovered(None, None, "the equations are too large to be integrated in symbols")
    quadratic = _kinetic(equations)
    if quadratic is None:
        return _not_found("K with K_vv = dR/da was not found in closed form")
    rest = _rest(equations, quadratic)
    if rest is None:
        return _not_found("what the part with K leaves is not defined at rest")
    gyroscopic, force = rest
    covector = _covector(gyroscopic, equations.coordinates)
    if covector is None:
        return _not_found("A with the curl of the gyroscopic part was not found in closed form")
    pushes = [simplify(c - sympy.diff(entry, t)) for c, entry in zip(force, covector, strict=True)]
    height = potential(pushes, equations.coordinates)
    if height is None:
        return _not_found("the potential was not found in closed form")
    pairs = zip(covector, equations.velocities, strict=True)
    linear = sympy.Add(*(entry * v for entry, v in pairs))
    lagrangian = _gathered(simplify(quadratic) + simplify(linear) - simplify(height))
    own = euler_lagrange(lagrangian, equations.coordinates).residuals
    try:
        verdict = differs_nowhere(zip(own, equations.residuals, strict=True))
    except ModelError as error:
        return Recovered(None, None, f"cannot be verified: {error}")
    if not verdict.holds:
        return _not_found("Euler's equations of what was found are not the given ones")
    return Recovered(lagrangian, verdict, f"certified {verdict.by}: its Euler equations are these")


def _not_found(why: str) -> Recovered:
    return Recovered(None, None, f"cannot be integrated: {why}")


def _gathered(lagrangian: sympy.Expr) -> sympy.Expr:
    """The sum, as it is or without common factors."""
    return min([lagrangian, simplify(lagrangian)], key=lambda candidate: candidate.count_ops())


def _kinetic(equations: SecondOrder) -> sympy.Expr | None:
    """K(q, v, t) with K_vv = dR/da, zero with its first derivatives at rest if possible."""
    n, v = len(equations.coordinates), equations.velocities
    R, a = equations.residuals, equations.accelerations
    still = dict.fromkeys(a, ZERO)
    metric = sympy.Matrix(n, n, lambda i, j: simplify(sympy.diff(R[i], a[j]).xreplace(still)))
    if metric.has(*UNDEFINED):
        return None
    if all(entry.is_polynomial(*v) and expansion_size(entry) <= MOST_TERMS for entry in metric):
        return _polynomial_kinetic(metric, v)
    momenta = [potential(list(metric.row(i)), v) for i in range(n)]
    if any(entry is None for entry in momenta):
        return None
    return potential([entry for entry in momenta if entry is not None], v)


def _polynomial_kinetic(metric: sympy.Matrix, v: Sequence[sympy.Symbol]) -> sympy.Expr:
    """A term of degree d in v of g_ij gives v_i v_j times it, divided by (d + 1) (d + 2)."""
    total: sympy.Expr = ZERO
    for i, j in product(range(len(v)), repeat=2):
        for powers, coefficient in sympy.Poly(metric[i, j], *v).terms():
            degree = sum(powers)
            term = sympy.Mul(*(x**power for x, power in zip(v, powers, strict=True)))
            total += coefficient * term * v[i] * v[j] / ((degree + 1) * (degree + 2))
    return total


def _rest(
    equations: SecondOrder, quadratic: sympy.Expr
) -> tuple[sympy.Matrix, list[sympy.Expr]] | None:
    """B (n x n) and c (n,) of R - E(K) = B v + c, read off at rest or at the velocities one."""
    n, v = len(equations.coordinates), equations.velocities
    own = euler_lagrange(quadratic, equations.coordinates).residuals
    still = dict.fromkeys(equations.accelerations, ZERO)
    pairs = zip(equations.residuals, own, strict=True)
    left = [simplify((given - mine).xreplace(still)) for given, mine in pairs]
    for number in (ZERO, sympy.S.One):
        here = dict.fromkeys(v, number)
        rows = [[simplify(sympy.diff(entry, x).subs(here)) for x in v] for entry in left]
        derivatives = sympy.Matrix(n, n, [entry for row in rows for entry in row])
        pairs = zip(left, rows, strict=True)
        values = [simplify(e.subs(here) - number * sympy.Add(*row)) for e, row in pairs]
        if not any(entry.has(*UNDEFINED) for entry in (*derivatives, *values)):
            return derivatives, values
    return None


def _covector(
    gyroscopic: sympy.Matrix, coordinates: Sequence[sympy.Symbol]
) -> list[sympy.Expr] | None:
    """A with A_i,j - A_j,i = B_ij for closed B, integrated along each coordinate in turn."""
    n = len(coordinates)
    covector: list[sympy.Expr] = [ZERO] * n
    for k in range(n):
        for j in range(k + 1, n):
            curl = sympy.diff(covector[j], coordinates[k]) - sympy.diff(covector[k], coordinates[j])
            left = at_numbers(simplify(gyroscopic[j, k] - curl), coordinates[:k])
            part = None if left is None else primitive(simplify(left), coordinates[k])
            if part is None:
                return None
            covector[j] += part
    return covector
