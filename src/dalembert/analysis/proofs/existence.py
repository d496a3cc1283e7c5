r"""A bound for a particle in a potential, and completeness of its motion (Bloch, Supplement 2.1).

A particle of mass m in n dimensions with V(q) / m >= a - b |q|^2, b >= 0, has |q_dot| <= sqrt(2
(beta - a + b |q|^2)), where beta = E / m is its energy a unit of mass. So |q(t)| <= r(t), the
solution of r'' = 2 b r that starts at |q(0)| with that speed,

    r(t) = r_0 cosh(s t) + r_0' / s sinh(s t),      s = sqrt(2 b)        (r_0 + r_0' t where b = 0),
    t = integral from r_0 to r(t) of du / sqrt(2 (beta - a + b u^2))                         (2.1.4)

for either sign of t, since (q(-t), -p(-t)) is a motion too. The inequality has to hold only as far
as r reaches: proved within the radius r(T) for a potential that is smooth there, it proves the
motion from -T to T. Proved everywhere, the motion exists for all times.

Proofs within a radius are by interval arithmetic with outward rounding, from the energy of the
start to r(T). Bounds cannot tell equality from a small deficit; where V / m comes that close, V / m
>= (a - slack) - b |q|^2 is proved with a small slack, and r is that of a - slack.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import sympy

from ...errors import FormError, ModelError
from ...model.scenario import Scenario
from ...model.symbols import Coordinate, t
from ...model.system import System
from ...model.values import numbers_by_name, used_parameters
from ...typing import Array, ArrayLike, Values
from .intervals import Bounds, IntervalFunction, add, halved, multiply

__all__ = ["ExistenceBound", "Hypothesis", "existence_bound"]

#: The slacks of a proof by bounds, tried in turn, relative to the energies of the start and a.
SLACKS = (0.0, 1e-14, 1e-9)
#: Boxes narrower than this part of the radius are not halved any more.
NARROWEST = 1e-12
#: The most boxes that a proof may take.
MOST_BOXES = 200_000


@dataclass(frozen=True)
class Hypothesis:
    """Whether V / m >= a - b |q|^2.

    Attributes
    ----------
    holds : bool or None
        None where neither a proof nor a counterexample was found.
    by : str
        What that rests on.
    radius : float
        Up to which |q| it is proved; infinite where it is proved everywhere.
    counterexample : dict of coordinate name to float, or None
    slack : float
        It is proved for a - slack in place of a, and r(t) takes that into account.
    """

    holds: bool | None
    by: str
    radius: float
    counterexample: dict[str, float] | None = None
    slack: float = 0.0


@dataclass(frozen=True)
class ExistenceBound:
    """The estimate |q(t)| <= r(t); see `existence_bound`.

    Attributes
    ----------
    a, b : float
    beta : float
        The energy a unit of mass.
    distance, speed : float
        r(0) = |q(0)| and r'(0).
    hypothesis : Hypothesis
    time : float
        The motion is proved to exist from -time to time; infinite if proved everywhere.
    """

    a: float
    b: float
    beta: float
    distance: float
    speed: float
    hypothesis: Hypothesis
    time: float = field(default=0.0)

    def radius(self, times: ArrayLike) -> Any:
        """r(|t|), of the shape of `times`."""
        past = np.abs(np.asarray(times, dtype=float))
        s = np.sqrt(2 * self.b)
        if s == 0:
            return self.distance + self.speed * past
        return self.distance * np.cosh(s * past) + self.speed / s * np.sinh(s * past)

    def largest_speed(self, times: ArrayLike) -> Any:
        """sqrt(2 (beta - a + slack + b r(|t|)^2)), which bounds |q_dot(t)|."""
        return np.sqrt(np.maximum(2 * (self._surplus + self.b * self.radius(times) ** 2), 0.0))

    def time_to(self, radius: ArrayLike) -> Array:
        """The least time in which |q| can reach `radius` (2.1.4); infinite where it never can."""
        u = np.maximum(np.asarray(radius, dtype=float), self.distance)
        s, rest = np.sqrt(2 * self.b), 2 * self._surplus
        with np.errstate(divide="ignore", invalid="ignore"):
            if s == 0:
                found = (u - self.distance) / self.speed
            else:
                reached = s * u + np.sqrt(np.maximum(rest + 2 * self.b * u**2, 0.0))
                found = np.log(reached / (s * self.distance + self.speed)) / s
        return np.where(u == self.distance, 0.0, found)

    @property
    def _surplus(self) -> float:
        """beta - a, with the slack of the proof."""
        return self.beta - self.a + self.hypothesis.slack


def existence_bound(
    system: System | Scenario | sympy.Expr,
    a: float,
    b: float,
    start: Values | None = None,
    *,
    mass: float | None = None,
    parameters: Values | None = None,
    until: float = 10.0,
) -> ExistenceBound:
    """The bound r(t) of a particle in a potential, with a proof of its hypothesis if one is found.

    Parameters
    ----------
    system : System, Scenario, or the potential V as an expression of coordinates
        With a system the mass is read from its kinetic energy m/2 |q_dot|^2.
    a, b : float
        Of V / m >= a - b |q|^2, b >= 0.
    start : mapping of names to numbers
        Coordinates, and velocities ``x_dot`` or momenta ``p_x``; what is missing is zero.
    mass : float
        With a potential only.
    until : float
        The time for which the hypothesis is proved where it cannot be proved everywhere.

    Returns
    -------
    ExistenceBound
        `hypothesis.holds` is True (proved), False (refuted, with a counterexample) or None (not
        established, for instance where the potential is singular or has a kink).

    Raises
    ------
    FormError
        Where the system is no particle in a potential.
    ModelError
        Where the start itself breaks the hypothesis, or b < 0.

    Examples
    --------
    >>> import dalembert as da
    >>> q = da.coordinates("q")
    >>> bound = existence_bound(q**4 / 4 - q**2, -1.0, 0.0, {"q": 1.0, "q_dot": 1.0}, mass=1.0)
    >>> bound.hypothesis.by, bound.time, round(float(bound.radius(2.0)), 3)
    ('everywhere: a polynomial in one symbol without a change of sign', inf, 3.449)
    >>> existence_bound(-q**4 / 2, 0.0, 1.0, {"q": 1.0, "q_dot": 1.0}, mass=1.0).hypothesis.holds
    False

    Nothing is proved where the potential has a singularity that the motion might reach:

    >>> bound = existence_bound(sympy.sin(1 / q), -1.0, 0.0, {"q": 1.0, "q_dot": -3.0}, mass=1.0)
    >>> bound.hypothesis.holds is None, bound.time
    (True, 0.0)
    """
    if isinstance(system, Scenario) and start is None:
        start = system.start
    names = _numbers(system, parameters)
    system = system.system if isinstance(system, Scenario) else system
    _check_constants(a, b, until)
    potential, symbols, m = _particle(system, mass, names)
    point, velocity = _start(start or {}, symbols, m)
    square = _exact(b) * sum(q**2 for q in symbols)
    gap = _with_values(potential, symbols, names) / m - _exact(a) + square
    beta, surplus = _at_start(gap, a, b, symbols, point, velocity)
    slacks = [part * (abs(a) + abs(beta) + b * float(point @ point)) for part in SLACKS]
    if surplus[1] < -slacks[-1]:
        what = "The start breaks V / m >= a - b |q|^2"
        seen = f"energy a unit of mass {beta:g}, a - b |q|^2 = {a - b * float(point @ point):g}"
        raise ModelError(what, seen, "choose a smaller a, or a larger b")
    distance = float(np.nextafter(math.hypot(*point) * (1 + 4e-16), np.inf))
    everywhere = _everywhere(gap, symbols)
    bounds: list[ExistenceBound] = []
    for slack in slacks:
        hypothesis = Hypothesis(True if everywhere else None, everywhere, math.inf, slack=slack)
        speed = _sure_speed(surplus[1], slack)
        bound = ExistenceBound(a, b, beta, distance, speed, hypothesis, math.inf)
        if everywhere:
            return bound
        hypothesis = _within(gap, symbols, bound, until)
        time = float(until) if hypothesis.holds else 0.0
        bounds.append(replace(bound, hypothesis=hypothesis, time=time))
        if hypothesis.holds:
            return bounds[-1]
    return bounds[0]


# -- reading the particle --------------------------------------------------------------------------


def _numbers(system: System | Scenario | sympy.Expr, parameters: Values | None) -> dict[str, float]:
    """Values of parameters by name; arguments override those of a scenario."""
    given, stated = numbers_by_name(parameters), {}
    if isinstance(system, Scenario):
        stated, system = numbers_by_name(system.parameters), system.system
    if isinstance(system, System):
        given = used_parameters(given, [symbol.name for symbol in system.parameters])
    return stated | given


def _check_constants(a: float, b: float, until: float) -> None:
    if not (np.isfinite(a) and np.isfinite(b) and b >= 0):
        remedy = "choose others"
        raise ModelError("The constants must be finite, with b >= 0", f"a = {a}, b = {b}", remedy)
    if not (np.isfinite(until) and until > 0):
        remedy = "pass until > 0"
        raise ModelError("The time of the proof must be positive", f"until = {until}", remedy)


def _exact(number: float) -> sympy.Expr:
    """A float as the fraction that it is."""
    return sympy.Rational(*float(number).as_integer_ratio())


def _particle(
    system: System | sympy.Expr, mass: float | None, names: Mapping[str, float]
) -> tuple[sympy.Expr, tuple[Coordinate, ...], sympy.Expr]:
    """V, the coordinates and the mass."""
    if isinstance(system, sympy.Expr):
        if mass is None or not (np.isfinite(mass) and mass > 0):
            remedy = "pass mass= with mass > 0"
            raise ModelError("A potential needs the mass of its particle", mass, remedy)
        symbols = tuple(sorted(system.atoms(Coordinate), key=lambda q: q.name))
        return _autonomous(system), symbols, _exact(mass)
    kinetic, potential = system.kinetic, system.potential
    acted_on = system.constraints or system.forces or system.dissipation != 0
    if kinetic is None or potential is None or acted_on:
        remedy = "give kinetic and potential energy only"
        raise FormError("The estimate is for a free particle in a potential", system.name, remedy)
    sizes = [sympy.diff(kinetic, v, 2) for v in system.velocities]
    squares = zip(sizes, system.velocities, strict=True)
    rest = kinetic - sum(size * v**2 / 2 for size, v in squares)
    known = [symbol for symbol in kinetic.free_symbols if symbol.name in names]
    values = {symbol: _exact(names[symbol.name]) for symbol in known}
    size, *others = {sympy.simplify(size.xreplace(values)) for size in sizes}
    if sympy.expand(rest) != 0 or others or not size.is_Number or not size > 0:
        what = "The estimate is for one mass in Cartesian coordinates"
        remedy = "write T = m/2 |q_dot|^2, and give the mass a positive value"
        raise FormError(what, str(kinetic)[:80], remedy)
    return _autonomous(potential), system.coordinates, _exact(size) if size.is_Float else size


def _autonomous(potential: sympy.Expr) -> sympy.Expr:
    """The potential, unless it depends on time, when the energy is not conserved."""
    if potential.has(t):
        what = "The estimate rests on the conservation of energy"
        raise FormError(what, seen=str(potential)[:80], remedy="give a potential without t")
    return potential


def _with_values(
    potential: sympy.Expr, symbols: Sequence[Coordinate], names: Mapping[str, float]
) -> sympy.Expr:
    """The potential with its parameters replaced by their values, as fractions."""
    others = potential.free_symbols - {*symbols}
    missing = sorted(symbol.name for symbol in others if symbol.name not in names)
    if missing:
        remedy = "pass parameters={name: value}"
        raise ModelError("Parameters have no value", ", ".join(missing), remedy)
    return potential.xreplace({symbol: _exact(names[symbol.name]) for symbol in others})


def _start(
    start: Values, symbols: Sequence[Coordinate], mass: sympy.Expr
) -> tuple[Array, list[sympy.Expr]]:
    """The position as floats, and the velocity as fractions."""
    names = numbers_by_name(start)
    known = {name for q in symbols for name in (q.name, q.dot.name, q.momentum.name)}
    unknown = sorted({*names} - known)
    if unknown:
        what = "The start names what the particle does not have"
        raise ModelError(what, seen=", ".join(unknown), remedy="check the names")
    twice = [q for q in symbols if q.dot.name in names and q.momentum.name in names]
    if twice:
        seen = ", ".join(f"{q.dot.name} and {q.momentum.name}" for q in twice)
        remedy = "give the velocity or the momentum"
        raise ModelError("The start gives a velocity twice", seen, remedy)
    point, velocity = np.array([names.get(q.name, 0.0) for q in symbols]), []
    for q in symbols:
        momentum = _exact(names.get(q.momentum.name, 0.0)) / mass
        velocity.append(_exact(names[q.dot.name]) if q.dot.name in names else momentum)
    return point, velocity


def _at_start(
    gap: sympy.Expr,
    a: float,
    b: float,
    symbols: Sequence[Coordinate],
    point: Array,
    velocity: Sequence[sympy.Expr],
) -> tuple[float, tuple[float, float]]:
    """The energy a unit of mass, and bounds of its surplus over a - b |q|^2."""
    kinetic = sum((v**2 for v in velocity), sympy.S.Zero) / 2
    low, high = (side[0, 0] for side in IntervalFunction([gap + kinetic], symbols).at(point[None]))
    if not (np.isfinite(low) and np.isfinite(high)):
        remedy = "start where it is defined"
        raise ModelError("The potential has no value at the start", point.tolist(), remedy)
    energy = float((low + high) / 2 + a - b * float(point @ point))
    return energy, (float(low), float(high))


def _sure_speed(surplus: float, slack: float) -> float:
    """An upper bound of sqrt(2 (surplus + slack)), and of 0."""
    square = np.nextafter(2 * np.nextafter(surplus + slack, np.inf), np.inf)
    return float(np.nextafter(np.sqrt(square), np.inf)) if square > 0 else 0.0


def _sure_radius(distance: float, speed: float, b: float, until: float) -> float:
    """An upper bound of r(until)."""
    r0, v0, s, time = (sympy.Dummy(name, positive=True) for name in ("r", "v", "s", "t"))
    grown = r0 * sympy.cosh(s * time) + v0 * sympy.sinh(s * time) / s if b else r0 + v0 * time
    root = np.sqrt(2 * b)
    box = np.array([[distance, speed, np.nextafter(root, end), until] for end in (-np.inf, np.inf)])
    return float(IntervalFunction([grown], [r0, v0, s, time])(box[:1], box[1:])[1][0, 0])


# -- the hypothesis --------------------------------------------------------------------------------


def _everywhere(gap: sympy.Expr, symbols: Sequence[Coordinate]) -> str:
    """A proof that a polynomial is nowhere negative, or nothing."""
    if not gap.is_polynomial(*symbols):
        return ""
    polynomial = sympy.Poly(gap, *symbols)
    if polynomial.is_ground:
        return "everywhere: a constant" if polynomial.as_expr() >= 0 else ""
    if not all(coefficient.is_Rational for coefficient in polynomial.coeffs()):
        return ""
    if len(symbols) == 1:
        factors = polynomial.factor_list()[1]
        odd = any(power % 2 and factor.count_roots() for factor, power in factors)
        if polynomial.LC() > 0 and polynomial.degree() % 2 == 0 and not odd:
            return "everywhere: a polynomial in one symbol without a change of sign"
        return ""
    if all(c >= 0 and not any(p % 2 for p in powers) for powers, c in polynomial.terms()):
        return "everywhere: a sum of even powers"
    return _quadratic(polynomial)


def _quadratic(polynomial: sympy.Poly) -> str:
    """Prove a polynomial of degree two nonnegative: its matrix is semidefinite."""
    if polynomial.total_degree() > 2:
        return ""
    n = len(polynomial.gens)
    table = sympy.zeros(n + 1, n + 1)
    for powers, c in polynomial.terms():
        places = [k for k, power in enumerate(powers) for _ in range(power)]
        i, j = (*places, n, n)[:2]
        table[i, j] += c / 2
        table[j, i] += c / 2
    return "everywhere: a semidefinite quadratic form" if table.is_positive_semidefinite else ""


def _within(
    gap: sympy.Expr, symbols: Sequence[Coordinate], bound: ExistenceBound, until: float
) -> Hypothesis:
    """Halve the cube around |q| <= r(until) until bounds of the gap or its derivatives decide."""
    radius = _sure_radius(bound.distance, bound.speed, bound.b, until)
    slack = bound.hypothesis.slack
    if not np.isfinite(radius):
        return Hypothesis(None, "the radius is too large for a proof", 0.0, slack=slack)
    function = IntervalFunction([gap], symbols, smooth=True)
    derivative, n = _gradient(gap, symbols), len(symbols)
    low, high = np.full((1, n), -radius), np.full((1, n), radius)
    examined = 0
    while len(low):
        examined += len(low)
        if examined > MOST_BOXES:
            return Hypothesis(None, f"undecided after {examined} boxes", 0.0, slack=slack)
        corner = np.where(low * high <= 0, 0.0, np.minimum(np.abs(low), np.abs(high)))
        near = np.linalg.norm(corner, axis=1) <= radius * (1 + 1e-12)
        low, high = low[near], high[near]
        center = (low + high) / 2
        middle = function.at(center)
        bad = np.nonzero((middle[1][:, 0] < -slack) & (np.linalg.norm(center, axis=1) <= radius))[0]
        if len(bad):
            where = {q.name: float(x) for q, x in zip(symbols, center[bad[0]], strict=True)}
            seen = f"V / m - a + b |q|^2 = {float(middle[1][bad[0], 0]):.3g} at a point"
            return Hypothesis(False, seen, 0.0, where, slack)
        least = _least(function, derivative, low, high, center, middle)
        low, high = low[~(least >= -slack)], high[~(least >= -slack)]
        widths = np.max(high - low, axis=1, initial=0.0)
        if np.any(widths < NARROWEST * radius):
            point = zip(symbols, low[np.argmin(widths)], strict=True)
            place = ", ".join(f"{q.name} = {x:.6g}" for q, x in point)
            why = f"not established near {place}: singular, not smooth, or too close"
            return Hypothesis(None, why, 0.0, slack=slack)
        low, high = halved(low, high, np.argmax(high - low, axis=1), 0.5)
    proof = f"within |q| <= {radius:.6g}: bounds over {examined} box{'es' * (examined > 1)}"
    return Hypothesis(True, proof, radius, slack=slack)


def _gradient(gap: sympy.Expr, symbols: Sequence[Coordinate]) -> IntervalFunction | None:
    """Bounds of the derivatives, or None where a derivative has no bounds (that of Abs)."""
    try:
        return IntervalFunction([sympy.diff(gap, q) for q in symbols], symbols, smooth=True)
    except ModelError:
        return None


def _least(
    function: IntervalFunction,
    derivative: IntervalFunction | None,
    low: Array,
    high: Array,
    center: Array,
    middle: Bounds,
) -> Array:
    """Lower bounds (m,) over boxes: natural ones, and mean-value ones where smooth."""
    below, above = (side[:, 0] for side in function(low, high))
    if derivative is None:
        return below
    reach = np.nextafter(np.maximum(high - center, center - low), np.inf)
    derivatives = derivative(low, high)
    mean: Bounds = (middle[0][:, 0], middle[1][:, 0])
    with np.errstate(all="ignore"):
        for k in range(low.shape[1]):
            rate: Bounds = (derivatives[0][:, k], derivatives[1][:, k])
            mean = add(mean, multiply(rate, (-reach[:, k], reach[:, k])))
    smooth = np.isfinite(below) & np.isfinite(above) & ~np.isnan(mean[0])
    return np.where(smooth, np.fmax(below, mean[0]), below)
