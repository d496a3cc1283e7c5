r"""The Lagrangian of equations that obey Helmholtz's conditions, by quadratures.

Such equations are R = g(q, v, t) a + h(q, v, t) with g symmetric, and L = K + A . v - V with

    K_{v_i v_j} = g_ij,
    B_ij(q, t) v_j + c_i(q, t) = R_i - E_i(K)             what Euler's equations of K leave, affine in v by condition 2,
    A_i,j - A_j,i = B_ij,     V_,i = c_i - A_i,t          closed by condition 3.

A is built one coordinate after the other, so that only primitives by single letters are needed. L is unique up to the total
derivative of a function of (q, t), and is returned only after Euler's equations of it were compared with R.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import sympy

from ...algebra.simplify.simplifier import expansion_size, simplify
from ...errors import ModelError
from ...model.symbols import t
from ..hamilton_jacobi.primitives import at_numbers, potential, primitive
from ..proofs.bounded import Verdict, differs_nowhere
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
        return Recovered(None, None, "cannot be integrated: K with K_vv = dR/da was not found in closed form")
    rest = _rest(equations, quadratic)
    if rest is None:
        return Recovered(None, None, "cannot be integrated: what the part with K leaves is not defined at rest")
    gyroscopic, force = rest
    covector = _covector(gyroscopic, equations.coordinates)
    if covector is None:
        return Recovered(
            None, None, "cannot be integrated: A with the curl of the gyroscopic part was not found in closed form"
        )
    pushes = [simplify(c - sympy.diff(entry, t)) for c, entry in zip(force, covector, strict=True)]
    height = potential(pushes, equations.coordinates)
    if height is None:
        return Recovered(None, None, "cannot be integrated: the potential was not found in closed form")
    linear = sympy.Add(*(entry * v for entry, v in zip(covector, equations.velocities, strict=True)))
    lagrangian = _gathered(simplify(quadratic) + simplify(linear) - simplify(height))
    try:
        verdict = differs_nowhere(
            zip(euler_lagrange(lagrangian, equations.coordinates).residuals, equations.residuals, strict=True)
        )
    except ModelError as error:
        return Recovered(None, None, f"cannot be verified: {error}")
    if not verdict.holds:
        return Recovered(None, None, "cannot be integrated: Euler's equations of what was found are not the given ones")
    return Recovered(lagrangian, verdict, f"certified {verdict.by}: its Euler equations are these")


def _gathered(lagrangian: sympy.Expr) -> sympy.Expr:
    """The sum, as it is or without common factors."""
    return min([lagrangian, simplify(lagrangian)], key=lambda candidate: candidate.count_ops())


def _kinetic(equations: SecondOrder) -> sympy.Expr | None:
    """K(q, v, t) with K_vv = dR/da, zero with its first derivatives at rest where that is possible."""
    n, v = len(equations.coordinates), equations.velocities
    still = dict.fromkeys(equations.accelerations, ZERO)
    metric = sympy.Matrix(n, n, lambda i, j: sympy.diff(equations.residuals[i], equations.accelerations[j]).xreplace(still))
    metric = metric.applyfunc(simplify)
    if metric.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo):
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
    for i, first in enumerate(v):
        for j, second in enumerate(v):
            for powers, coefficient in sympy.Poly(metric[i, j], *v).terms():
                degree = sum(powers)
                product = sympy.Mul(*(symbol**power for symbol, power in zip(v, powers, strict=True)))
                total += coefficient * product * first * second / ((degree + 1) * (degree + 2))
    return total


def _rest(equations: SecondOrder, quadratic: sympy.Expr) -> tuple[sympy.Matrix, list[sympy.Expr]] | None:
    """B (n x n) and c (n,) of R - E(K) = B v + c, read off at rest or at the velocities one."""
    n, v = len(equations.coordinates), equations.velocities
    own = euler_lagrange(quadratic, equations.coordinates).residuals
    still = dict.fromkeys(equations.accelerations, ZERO)
    left = [simplify((given - mine).xreplace(still)) for given, mine in zip(equations.residuals, own, strict=True)]
    for number in (ZERO, sympy.S.One):
        here = dict.fromkeys(v, number)
        derivatives = sympy.Matrix(n, n, lambda i, j: simplify(sympy.diff(left[i], v[j]).subs(here)))  # noqa: B023
        values = [simplify(entry.subs(here) - number * sympy.Add(*derivatives.row(i))) for i, entry in enumerate(left)]
        if not any(entry.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo) for entry in (*derivatives, *values)):
            return derivatives, values
    return None


def _covector(gyroscopic: sympy.Matrix, coordinates: Sequence[sympy.Symbol]) -> list[sympy.Expr] | None:
    """A with A_i,j - A_j,i = B_ij for closed B: the part along each coordinate in turn is integrated into the later entries."""
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
