r"""Classes of systems for which the matching conditions are solved in closed form.

With lambda_a = g~^-1 g_a the conditions are L_lambda g~ = d_a g (up to forces without power) and
lambda_a U~ = d_a U:

- *simplified*: x unactuated, theta actuated, g a function of x, g_ab constant, d g_al,a closed
  (Bloch, Leonard and Marsden). lambda_al = -d_al + a tau_al^b d_b with tau = g^ab g_al,b, and g~ =
  (-g_xx + a (c a - 1) tau g tau, (c a - 1) g_xa, c g_ab).
- *one unactuated*: the same with one x and any g_ab(x):  lambda = -d_x + A g_x with A = (g_ab(x) -
  C)^-1, C constant; g~ = g_x g_x / w + k eta eta, w = lambda . g_x, eta = theta_dot + lambda x_dot.
  Needs a force without power where g_ab varies.
- *actuated shape*: one x and one actuated y, g a function of y: w = g_x . lambda is constant and
  lambda^x / lambda^y chosen so.
- *potential*: g~ = g, U~ - U a function of actuated coordinates.

In the first two U~ = -U(x) + eps/2 |y|^2, where y = theta + primitive of lambda stays along lambda.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np
import sympy

from ...algebra.simplify.simplifier import simplify
from ...analysis.hamilton_jacobi.primitives import potential as primitive_of
from ...analysis.hamilton_jacobi.primitives import primitive
from ...errors import RunError
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ComplexArray
from .mechanics import Mechanics
from .shaped import Shaped, gyroscopic_force

__all__ = ["CLASSES", "UnsuitedError", "best_damping", "frozen", "slowest", "stiffness_for"]
__all__ += ["weight_across"]

ZERO = sympy.Integer(0)
HALF = sympy.Rational(1, 2)
#: A number of the equilibrium below this part of its scale is zero.
TINY = 1e-10
#: Factors by which stiffness and damping are tried around their scales.
TRIED = np.geomspace(1e-2, 1e2, 41)
COARSE = np.geomspace(1e-2, 1e2, 13)
#: The most by which one eigenvalue of a closed loop may exceed the decay of another.
FASTEST = 30.0
E = TypeVar("E", sympy.Expr, sympy.Matrix)
Block = tuple[tuple[int, ...], tuple[int, ...]]


class UnsuitedError(RunError):
    """The system does not belong to a class of matching."""


def frozen(here: Mechanics, expression: E, places: Sequence[int]) -> E:
    """An expression, or a matrix of them, with coordinates at their equilibrium."""
    at = {q: sympy.nsimplify(here.equilibrium[q.name]) for q in here.symbols(places)}
    return expression.xreplace(at)


def slowest(values: ComplexArray, spread: float = np.inf) -> float:
    """The largest real part of eigenvalues; 0 where the fastest exceeds it more than `spread`."""
    largest = float(np.max(values.real))
    return largest if float(np.max(np.abs(values))) < spread * max(-largest, 1e-300) else 0.0


def best_damping(
    metric: Array, stiffness: Array, passive: Array, tried: Array = TRIED
) -> tuple[float, float]:
    """d > 0 of the fastest decay of M q'' + d Y^T Y q' + K q = 0 among tried ones, and the rate.

    M and K are definite. Where eigenvalues of very different size are the price, another d is
    preferred, if there is one.
    """
    n = len(metric)
    scale = float(np.sqrt(np.trace(stiffness) * np.trace(metric)) / np.trace(passive.T @ passive))
    upper, lower = np.hstack([np.zeros((n, n)), np.eye(n)]), -np.linalg.solve(metric, stiffness)
    push = -np.linalg.solve(metric, passive.T @ passive)
    drags = [np.hstack([lower, factor * scale * push]) for factor in tried]
    spectra = [np.linalg.eigvals(np.vstack([upper, drag])) for drag in drags]
    rates = [slowest(values, FASTEST) for values in spectra]
    if min(rates) == 0.0:
        rates = [slowest(values) for values in spectra]
    best = int(np.argmin(rates))
    return float(tried[best] * scale), -rates[best]


def _passive(here: Mechanics, metric: Array) -> Array:
    """h~ on actuated coordinates, (k, n)."""
    passive: Array = (metric @ np.linalg.inv(here.numbers(here.metric))).T[list(here.actuated)]
    return passive


def stiffness_for(
    here: Mechanics, metric: sympy.Matrix, bare: sympy.Expr, spring: sympy.Expr, given: float | None
) -> float:
    """eps of bare + eps spring: the given one, or that of the fastest decay with best damping."""
    if given is not None:
        return float(given)
    M, K0, K1 = here.numbers(metric), here.hessian(bare), here.hessian(spring)
    eps, rate = _stiffened(M, K0, K1, _passive(here, M), TRIED)
    if rate <= 0.0:
        raise _indefinite(K0)
    return eps


def _indefinite(stiffness: Array) -> UnsuitedError:
    what = "no stiffness makes the controlled potential definite"
    return UnsuitedError(what, seen=f"eigenvalues {np.linalg.eigvalsh(stiffness)}")


def _stiffened(M: Array, K0: Array, K1: Array, passive: Array, tried: Array) -> tuple[float, float]:
    """eps of the fastest decay, and the rate."""
    scale, best, decay = abs(float(np.trace(K0) / np.trace(K1))), 0.0, 0.0
    for factor in tried:
        K = K0 + factor * scale * K1
        if np.linalg.eigvalsh(K)[0] > 0:
            _, rate = best_damping(M, K, passive, tried)
            if rate > decay:
                best, decay = float(factor * scale), rate
    return best, decay


def weight_across(
    here: Mechanics, bare: sympy.Matrix, more: sympy.Matrix, height: sympy.Expr, spring: sympy.Expr
) -> float:
    """k of g~ = bare + k more: that of the fastest decay with the best stiffness and damping."""
    M0, M1 = here.numbers(bare), here.numbers(more)
    K0, K1 = here.hessian(height), here.hessian(spring)
    scale, best, decay = float(np.trace(M0) / np.trace(M1)), 0.0, 0.0
    for factor in np.geomspace(1e-4, 10.0, 11):
        M = M0 + factor * scale * M1
        rate = _stiffened(M, K0, K1, _passive(here, M), COARSE)[1]
        if rate > decay:
            best, decay = float(factor * scale), rate
    if best == 0.0:
        raise _indefinite(K0)
    return best


def _cyclic(here: Mechanics) -> None:
    seen = here.depends_on(here.metric, here.actuated)
    if seen:
        raise UnsuitedError(f"the metric depends on actuated {', '.join(seen)}")


def _unmixed(here: Mechanics) -> None:
    derivatives = here.derivatives(here.potential, here.unactuated)
    mixed = here.depends_on(derivatives.applyfunc(simplify), here.actuated)
    if mixed:
        what = "the derivative of U along unactuated coordinates depends on actuated"
        raise UnsuitedError(f"{what} {', '.join(mixed)}")


def _unstable(here: Mechanics) -> None:
    """U must be largest at the equilibrium along unactuated coordinates."""
    whole = here.hessian(here.potential)
    values = np.linalg.eigvalsh(whole[np.ix_(here.unactuated, here.unactuated)])
    if values[-1] >= -TINY * np.max(np.abs(whole)):
        seen = f"(second variation {', '.join(f'{v:.3g}' for v in values)})"
        names = here.names(here.unactuated)
        raise UnsuitedError(f"U is not largest at the equilibrium along {names} {seen}")


def _coupling(here: Mechanics) -> tuple[Array, Array]:
    """g_xx and g_xa g^ab g_bx at the equilibrium."""
    G, cross, own = (here.numbers(here.block(*p)) for p in _blocks(here))
    coupled = cross @ np.linalg.solve(G, cross.T)
    found = rank(cross).rank
    if found < len(here.unactuated):
        raise UnsuitedError(
            f"not enough actuators: {len(here.actuated)} actuated coordinates couple to"
            f" {len(here.unactuated)} unactuated ones with rank {found}"
        )
    return own, coupled


def _blocks(here: Mechanics) -> tuple[Block, Block, Block]:
    x, theta = here.unactuated, here.actuated
    return (theta, theta), (x, theta), (x, x)


def _assembled(
    here: Mechanics, xx: sympy.Matrix, xa: sympy.Matrix, aa: sympy.Matrix
) -> sympy.Matrix:
    """A matrix from its blocks, in the order of the coordinates."""
    order = [*here.unactuated, *here.actuated]
    whole = sympy.Matrix(sympy.BlockMatrix([[xx, xa], [xa.T, aa]]))
    places = [order.index(k) for k in range(len(order))]
    return whole.extract(places, places)


def _raised(
    here: Mechanics, carried: list[sympy.Expr], G0: sympy.Matrix
) -> tuple[sympy.Expr, sympy.Expr]:
    """-U(x), and |y|^2 / 2 for y = theta - theta_0 + carried - carried(x_0)."""
    ridge = frozen(here, here.potential, here.actuated)
    bare = frozen(here, ridge, here.unactuated) - ridge
    y = []
    for theta, lift in zip(here.symbols(here.actuated), carried, strict=True):
        rest = sympy.nsimplify(here.equilibrium[theta.name])
        y.append(theta - rest + lift - frozen(here, lift, here.unactuated))
    column = sympy.Matrix(y)
    return bare, (column.T * G0 * column)[0] / 2


def _primitive(here: Mechanics, entry: sympy.Expr, x: sympy.Symbol) -> sympy.Expr | None:
    """A primitive by the rules, or in sin x or cos x with coefficients of known sign."""
    found = primitive(entry, x)
    z = sympy.Dummy("z", real=True)
    for wave, other, sign in ((sympy.sin(x), sympy.cos(x), 1), (sympy.cos(x), sympy.sin(x), -1)):
        inner = sympy.together(sign * entry / other).subs(other**2, 1 - wave**2).xreplace({wave: z})
        if found is None and not inner.has(x):
            names: dict[sympy.Symbol, sympy.Expr] = {}
            parts = [sympy.expand(part) for part in sympy.fraction(inner)]
            above, below = (_with_sizes(here, part, z, names) for part in parts)
            done = primitive(above / below, z)
            found = None if done is None else done.xreplace(names).xreplace({z: wave})
    return found


def _with_sizes(
    here: Mechanics, polynomial: sympy.Expr, z: sympy.Symbol, names: dict[sympy.Symbol, sympy.Expr]
) -> sympy.Expr:
    """A polynomial with positive symbols, kept in `names`, for the sizes of its coefficients."""
    terms = []
    for (power,), coefficient in sympy.Poly(polynomial, z).terms():
        positive = float(here.numbers([coefficient])[0, 0]) > 0
        symbol = sympy.Dummy("k", positive=True)
        names[symbol] = coefficient if positive else -coefficient
        terms.append((symbol if positive else -symbol) * z**power)
    return sympy.Add(*terms)


def simplified(here: Mechanics, gains: Mapping[str, float]) -> Shaped:
    """Simplified matching of Bloch, Leonard and Marsden."""
    _cyclic(here)
    _unmixed(here)
    G, cross, own = (here.block(*p) for p in _blocks(here))
    varying = here.depends_on(G.applyfunc(simplify), here.unactuated)
    if varying:
        raise UnsuitedError(f"g_ab of the actuated coordinates depends on {', '.join(varying)}")
    x = here.symbols(here.unactuated)
    tau = (G.inv() * cross.T).T
    for i in range(len(x)):
        for j in range(i):
            gap = (sympy.diff(tau[i, :], x[j]) - sympy.diff(tau[j, :], x[i])).applyfunc(simplify)
            if any(gap):
                raise UnsuitedError(f"the coupling is not closed: {gap.tolist()[0]}")
    _unstable(here)
    own0, coupled0 = _coupling(here)
    ratio = float(gains.get("ratio", 2.0))
    largest = np.max(np.linalg.eigvals(np.linalg.solve(coupled0, own0)).real)
    a = float(gains.get("a", ratio * largest))
    lifted = a * coupled0 - own0
    largest = np.max(np.linalg.eigvals(np.linalg.solve(lifted, coupled0)).real)
    c = float(gains.get("c", ratio * largest))
    metric = _assembled(here, -own + a * (c * a - 1) * tau * cross.T, (c * a - 1) * cross, c * G)
    carried = [primitive_of([a * tau[i, b] for i in range(len(x))], x) for b in range(tau.cols)]
    if any(lift is None for lift in carried):
        raise UnsuitedError("no primitive of the coupling was found")
    bare, spring = _raised(here, [lift for lift in carried if lift is not None], G)
    eps = stiffness_for(here, metric, bare, spring, gains.get("stiffness"))
    still = sympy.zeros(len(here.coordinates), 1)
    chosen = {"a": a, "c": c, "stiffness": eps}
    return Shaped(here, "simplified matching", metric, bare + eps * spring, still, chosen)


def one_unactuated(here: Mechanics, gains: Mapping[str, float]) -> Shaped:
    """One unactuated coordinate, on which alone the metric depends."""
    if len(here.unactuated) != 1:
        raise UnsuitedError(f"{len(here.unactuated)} unactuated coordinates")
    _cyclic(here)
    _unmixed(here)
    _unstable(here)
    own0, coupled0 = _coupling(here)
    G, cross, own = (here.block(*p) for p in _blocks(here))
    x = here.symbols(here.unactuated)[0]
    ratio = float(gains.get("ratio", 2.0))
    a = float(gains.get("a", ratio * own0[0, 0] / coupled0[0, 0]))
    G0 = frozen(here, G, here.unactuated)
    A = (G - (1 - 1 / sympy.Float(a)) * G0).applyfunc(simplify).inv()
    lift = (A * cross.T).applyfunc(simplify)
    w = (cross * lift)[0] - own[0]
    lifted0 = a * coupled0[0, 0] - own0[0, 0]
    inertia = float(gains.get("inertia", (ratio - 1) * coupled0[0, 0] / lifted0))
    k = inertia * G0
    xx = sympy.Matrix([[own[0] ** 2 / w]]) + lift.T * k * lift
    xa, aa = own[0] * cross / w + lift.T * k, cross.T * cross / w + k
    metric = _assembled(here, xx, xa, aa)
    carried = [_primitive(here, entry, x) for entry in lift]
    if any(entry is None for entry in carried):
        raise UnsuitedError(f"no primitive of {lift.tolist()} was found")
    bare, spring = _raised(here, [entry for entry in carried if entry is not None], G0)
    eps = stiffness_for(here, metric, bare, spring, gains.get("stiffness"))
    field = sympy.zeros(len(here.coordinates), 1)
    field[here.unactuated[0]] = -1
    for place, entry in zip(here.actuated, lift, strict=True):
        field[place] = entry
    force = gyroscopic_force(here, metric, field, here.unactuated[0], here.unactuated[0])
    chosen = {"a": a, "inertia": inertia, "stiffness": eps}
    return Shaped(here, "one unactuated coordinate", metric, bare + eps * spring, force, chosen)


_SHIFT, _DIRECTION = sympy.Dummy("s", real=True), sympy.Dummy("r", real=True, nonzero=True)


@lru_cache(maxsize=8)
def _potential_along(
    potential: sympy.Expr,
    mixed: sympy.Expr,
    own: sympy.Expr,
    x: sympy.Symbol,
    y: sympy.Symbol,
) -> sympy.Expr | None:
    """The integral of U_x (g_xy + r g_xx) along y at x = s + r y, for every direction r."""
    push = sympy.diff(potential, x).xreplace({x: _SHIFT + _DIRECTION * y})
    return primitive(sympy.expand(push * (mixed + _DIRECTION * own)), y)


def actuated_shape(here: Mechanics, gains: Mapping[str, float]) -> Shaped:
    """One unactuated and one actuated coordinate, the metric a function of the actuated one."""
    if (len(here.unactuated), len(here.actuated)) != (1, 1):
        counts = f"{len(here.unactuated)} unactuated and {len(here.actuated)} actuated"
        raise UnsuitedError(f"{counts} coordinates")
    varying = here.depends_on(here.metric, here.unactuated)
    if varying:
        raise UnsuitedError(f"the metric depends on unactuated {', '.join(varying)}")
    (i,), (j,) = here.unactuated, here.actuated
    x, y = here.coordinates[i], here.coordinates[j]
    g, bent = here.numbers(here.metric), here.hessian(here.potential)
    is_bent = abs(bent[i, i]) > TINY * np.max(np.abs(bent))
    ends = (-g[i, j] / g[i, i], -bent[i, j] / bent[i, i] if is_bent else np.inf)
    if not abs(ends[0] - ends[1]) > TINY * max(abs(end) for end in ends if np.isfinite(end)):
        seen = f"derivatives {ends[0]:.3g} and {ends[1]:.3g} coincide"
        raise UnsuitedError(f"the equilibrium is not controllable: {seen}")
    share = float(gains.get("share", 0.5))
    width = ends[1] - ends[0] if np.isfinite(ends[1]) else 1.0
    r = float(gains.get("direction", ends[0] + share * width))
    # lambda^y = 1 / below, lambda^x = r / below, w = 1
    below = here.metric[i, j] + sympy.Float(r) * here.metric[i, i]
    field = sympy.zeros(2, 1)
    field[i], field[j] = r / below, 1 / below
    along = _potential_along(here.potential, here.metric[i, j], here.metric[i, i], x, y)
    if along is None:
        raise UnsuitedError("no primitive of the potential along lambda was found")
    origin = {q: sympy.nsimplify(here.equilibrium[q.name]) for q in (x, y)}
    bare = along.xreplace({_SHIFT: x - r * y}).xreplace({_DIRECTION: sympy.Float(r)})
    bare = bare - bare.xreplace(origin)
    shift = (x - origin[x]) - r * (y - origin[y])
    derivative = here.jacobian([bare], [x])[0, 0]
    bare, spring = bare - derivative * shift, shift**2 / 2
    row = sympy.Matrix([here.metric[i, 0], here.metric[i, 1]])
    normal = sympy.Matrix([1, -r]) if i == 0 else sympy.Matrix([-r, 1])
    across = normal * normal.T
    if "inertia" in gains:
        inertia = float(gains["inertia"])
    else:
        inertia = weight_across(here, row * row.T, across, bare, spring)
    metric = row * row.T + inertia * across
    eps = stiffness_for(here, metric, bare, spring, gains.get("stiffness"))
    force = gyroscopic_force(here, metric, field, i, j)
    chosen = {"direction": r, "inertia": inertia, "stiffness": eps}
    return Shaped(here, "actuated shape", metric, bare + eps * spring, force, chosen)


def potential_shaping(here: Mechanics, gains: Mapping[str, float]) -> Shaped:
    """The metric stays; a spring on actuated coordinates."""
    derivatives = here.jacobian([here.potential], here.coordinates).T
    shifts = sympy.Matrix([q - sympy.nsimplify(here.equilibrium[q.name]) for q in here.coordinates])
    least = TINY * np.max(np.abs(here.hessian(here.potential)))
    pushed = [k for k in here.actuated if abs(derivatives[k, 0]) > least]
    held = sympy.Add(*(float(derivatives[k, 0]) * shifts[k] for k in pushed))
    bare = here.potential - frozen(here, here.potential, range(len(here.coordinates))) - held
    y = shifts.extract(list(here.actuated), [0])
    G0 = frozen(here, here.block(here.actuated, here.actuated), range(len(here.coordinates)))
    spring = (y.T * G0 * y)[0] * HALF
    if here.unactuated:
        whole = here.hessian(bare)
        values = np.linalg.eigvalsh(whole[np.ix_(here.unactuated, here.unactuated)])
        if values[0] <= TINY * np.max(np.abs(whole)):
            seen = f"(second variation {', '.join(f'{v:.3g}' for v in values)})"
            names = here.names(here.unactuated)
            raise UnsuitedError(f"U is not least at the equilibrium along {names} {seen}")
    eps = float(gains["stiffness"]) if "stiffness" in gains else _enough(here, bare, spring)
    still = sympy.zeros(len(here.coordinates), 1)
    energy = bare + eps * spring
    return Shaped(here, "potential shaping", here.metric, energy, still, {"stiffness": eps})


def _enough(here: Mechanics, bare: sympy.Expr, spring: sympy.Expr) -> float:
    """A stiffness that makes U~ definite with some margin."""
    K0, K1 = here.hessian(bare), here.hessian(spring)
    size = max(float(np.max(np.abs(K0)) / np.max(np.abs(K1))), TINY)
    for factor in np.geomspace(0.5, 1e4, 26):
        if np.linalg.eigvalsh(K0 + factor * size * K1)[0] > 0.05 * float(np.max(np.abs(K0))):
            return float(factor * size)
    what = "no spring on actuated coordinates makes U~ definite"
    raise UnsuitedError(what, seen=f"eigenvalues {np.linalg.eigvalsh(K0)}")


#: In the order in which they are tried.
CLASSES: dict[str, Callable[[Mechanics, Mapping[str, float]], Shaped]] = {
    "potential": potential_shaping,
    "simplified": simplified,
    "one-unactuated": one_unactuated,
    "actuated-shape": actuated_shape,
}
