r"""Matching for two coordinates where the metric depends on the unactuated one: the lambda-method.

With a force of the closed loop that does no work, one condition is left for lambda = g~^-1 g_x,

    lambda(g_x . lambda) = (dg/dx)(lambda, lambda),     lambda(U~) = dU/dx

(Bloch and others, Supplement, 9.4.21; Auckly and Kapitanski). If dU/dx = f(chi), chi = y + k x, and
lambda(chi) = mu is constant, then U~ = F(chi)/mu + phi(eta) with F' = f and lambda(eta) = 0. The
condition is then an ordinary equation for lambda^x that can be solved in two cases:

    k = 0, g_xx = a, g_xy = 0, g_yy = b(x):     (lambda^x)^2 = 2 mu^2 b/a        (ball and beam)
    k = 1, g_xx = c, g_xy = c + b(x), g_yy = d + c + 2 b(x):                     (pendubot)
        lambda^y = mu P/b,  P^2 + (2 b - K) P + b^2 = 0

so that g~ = g_x g_x^T/(g_x . lambda) + I n n^T with n . lambda = 0. In the second case d eta = dy -
P/(b - P) dx is integrated as a Fourier series in x.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

from ...algebra.simplify.simplifier import simplify
from ...algebra.tabulate import tabulated
from ...analysis.hamilton_jacobi.primitives import primitive
from ...model.symbols import Coordinate
from ...typing import Array
from .matching_classes import UnsuitedError, stiffness_for, weight_across
from .mechanics import Mechanics
from .shaped import Shaped, gyroscopic_force

__all__ = ["unactuated_shape"]

#: Samples of a period for the Fourier coefficients, and the part of the largest that is kept.
SAMPLES, KEPT = 512, 1e-16
#: The least weight of n n^T beside g_x g_x^T.
LEAST_WEIGHT = 0.05
#: Ratios of P to the edge of definiteness that are tried.
RATIOS = (1.5, 2.0, 2.5, 3.0, 4.0, 6.0)


@dataclass(frozen=True)
class _ShapeProblem:
    """dU/dx = push(chi) with chi = y or x + y: x is not actuated, y is."""

    here: Mechanics
    gains: Mapping[str, float]
    x: Coordinate
    y: Coordinate
    push: sympy.Expr
    chi: sympy.Dummy

    @property
    def push_derivative(self) -> float:
        """The derivative of the push at the equilibrium."""
        return float(self.push.diff(self.chi).subs(self.chi, 0))


def unactuated_shape(here: Mechanics, gains: Mapping[str, float]) -> Shaped:
    """One unactuated and one actuated coordinate, the metric a function of the unactuated one."""
    if (len(here.unactuated), len(here.actuated)) != (1, 1):
        counts = f"{len(here.unactuated)} unactuated and {len(here.actuated)} actuated"
        raise UnsuitedError(f"{counts} coordinates")
    varying = here.depends_on(here.metric, here.actuated)
    if varying:
        raise UnsuitedError(f"the metric depends on actuated {', '.join(varying)}")
    if any(here.equilibrium.values()):
        raise UnsuitedError("the equilibrium is not at zero: count coordinates from it")
    numbers = {p: sympy.Float(here.values[p.name]) for p in here.system.parameters}
    metric, potential = here.metric.xreplace(numbers), here.potential.xreplace(numbers)
    fixed = replace(here, metric=metric.applyfunc(simplify), potential=potential)
    (i,), (j,) = here.unactuated, here.actuated
    x, y = here.coordinates[i], here.coordinates[j]
    push = simplify(sympy.diff(potential, x))
    for k, solve in ((0, _diagonal), (1, _two_links)):
        chi = sympy.Dummy("chi", real=True)
        along = simplify(push.xreplace({y: chi - k * x}))
        if not along.has(x) and along.has(chi):
            return solve(_ShapeProblem(fixed, gains, x, y, along, chi))
    raise UnsuitedError(f"the derivative of U by {x.name} is no function of {y.name} or their sum")


def _diagonal(given: _ShapeProblem) -> Shaped:
    """lambda = (sqrt(2 b/a), mu): b = A + B x^2."""
    here, x, y = given.here, given.x, given.y
    (i,), (j,) = here.unactuated, here.actuated
    a, b = here.metric[i, i], sympy.Poly(sympy.expand(here.metric[j, j]), x)
    mixed = here.metric[i, j]
    if mixed != 0 or a.has(x) or b.degree() != 2 or float(b.coeff_monomial(x)):
        raise UnsuitedError("the metric is not diag(a, A + B x^2)")
    mu = float(np.sign(given.push_derivative))
    square, least = 2 * b.coeff_monomial(x**2) / a, 2 * b.coeff_monomial(1) / a
    if mu == 0 or square <= 0:
        raise UnsuitedError("U has no derivative along the unactuated coordinate")
    across = sympy.sqrt(least + square * x**2)
    turn = sympy.asinh(x * sympy.sqrt(square / least)) / sympy.sqrt(square)
    field = _column(i, across, sympy.Float(mu))
    return _assembled(given, field, y - mu * turn, y, mu, {})


def _two_links(given: _ShapeProblem) -> Shaped:
    """lambda = mu (1 - P/b, P/b) for a periodic b(x)."""
    here, x, y = given.here, given.x, given.y
    (i,), (j,) = here.unactuated, here.actuated
    c, b = here.metric[i, i], simplify(here.metric[i, j] - here.metric[i, i])
    rest = simplify(here.metric[j, j] - c - 2 * b)
    if c.has(x) or rest.has(x) or not b.has(x):
        raise UnsuitedError("the metric is not that of two links")
    if given.push_derivative >= 0:
        raise UnsuitedError("U is not greatest at the equilibrium along the unactuated coordinate")
    places = 2 * np.pi * np.arange(SAMPLES) / SAMPLES
    table = tabulated([x], [b])
    values = np.asarray(table([places]))[0]
    if not np.allclose(values, table([places + 2 * np.pi])[0], rtol=0, atol=1e-12):
        raise UnsuitedError(f"{b} does not repeat itself after a turn")
    start, inertia = float(values[0]), float(c)
    wanted = given.gains.get("ratio")
    for ratio in (wanted,) if wanted is not None else RATIOS:
        P0 = -float(ratio) * max(inertia, abs(start))
        K = (P0 + start) ** 2 / P0
        if np.all(abs(K) + 4 * values > 1e-3 * abs(K)):
            break
    else:
        raise UnsuitedError("no ratio keeps lambda regular all around", f"K = {K:.3g}")
    P, sampled = _root(b, K, sympy.sqrt), _root(values, K, np.sqrt)
    # lambda^y / lambda^x = P/(b - P)
    turn = _series(np.asarray(sampled / (values - sampled)), x)
    field = _column(i, -(b - P) / b, -P / b)
    return _assembled(given, field, y - turn, x + y, -1.0, {"ratio": float(ratio)})


def _root(b: Any, K: float, sqrt: Callable[[Any], Any]) -> Any:
    """P of P^2 - (K - 2 b) P + b^2 = 0, for an expression or for samples of b."""
    return ((K - 2 * b) - sqrt(K * (K - 4 * b))) / 2


def _series(rates: Array, x: sympy.Symbol) -> sympy.Expr:
    """The integral from 0 of a periodic function, by its Fourier coefficients."""
    found = np.fft.rfft(rates) / len(rates)
    total = sympy.Float(found[0].real) * x
    least = KEPT * np.max(np.abs(found))
    for n in range(1, len(found) - 1):
        if abs(found[n]) > least:
            cosine, sine = 2 * found[n].real, -2 * found[n].imag
            total += sympy.Float(cosine / n) * sympy.sin(n * x)
            if abs(sine) > least:
                total += sympy.Float(sine / n) * (1 - sympy.cos(n * x))
    return total


def _column(i: int, unactuated: sympy.Expr, actuated: sympy.Expr) -> sympy.Matrix:
    field = sympy.zeros(2, 1)
    field[i], field[1 - i] = unactuated, actuated
    return field


def _assembled(
    given: _ShapeProblem,
    field: sympy.Matrix,
    eta: sympy.Expr,
    place: sympy.Expr,
    mu: float,
    chosen: dict[str, float],
) -> Shaped:
    """g~, U~ and the force without power that lambda gives."""
    here, gains, push, chi = given.here, given.gains, given.push, given.chi
    (i,), (j,) = here.unactuated, here.actuated
    lifted = primitive(sympy.expand(push), chi)
    if lifted is None:
        raise UnsuitedError(f"no primitive of {push} was found")
    bare = (lifted / mu).xreplace({chi: place})
    bare = bare - bare.xreplace(dict.fromkeys(here.coordinates, sympy.Integer(0)))
    row = here.metric.row(i).T
    pairing = (row.T * field)[0]
    ratio = field[j] / field[i]
    normal = _column(i, -ratio, sympy.Integer(1))
    spring = eta**2 / 2
    along, across = row * row.T / pairing, normal * normal.T
    # A small weight decays fastest, but asks for gains without bound.
    least = LEAST_WEIGHT * float(np.trace(here.numbers(along)) / np.trace(here.numbers(across)))
    weight = float(gains.get("inertia", 0.0))
    weight = weight or max(least, weight_across(here, along, across, bare, spring))
    metric = along + weight * across
    eps = stiffness_for(here, metric, bare, spring, gains.get("stiffness"))
    force = gyroscopic_force(here, metric, field, i, i)
    chosen = {**chosen, "inertia": weight, "stiffness": eps}
    return Shaped(here, "unactuated shape", metric, bare + eps * spring, force, chosen)
