r"""How far a particle in a potential can come, and that its motion never ends (Bloch and others, Supplement, section 2.1).

A particle of mass m in n dimensions with V(q) / m >= a - b |q|^2, b >= 0, has |q_dot| <= sqrt(2 (beta - a + b |q|^2)), where
beta = E / m is its energy a unit of mass. So |q(t)| <= r(t), the solution of r'' = 2 b r that starts at |q(0)| with that speed,

    r(t) = r_0 cosh(s t) + r_0' / s sinh(s t),      s = sqrt(2 b)        (r_0 + r_0' t where b = 0),
    t = integral from r_0 to r(t) of du / sqrt(2 (beta - a + b u^2))                                    (2.1.4)

for either sign of t, since (q(-t), -p(-t)) is a motion too. The inequality has to hold only as far as r reaches: proved within
the radius r(T), it proves the motion from -T to T. Proved everywhere, the motion exists for all times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import sympy

from ..errors import FormError, ModelError
from ..model.scenario import Scenario
from ..model.symbols import Coordinate
from ..model.system import System
from ..model.values import numbers_by_name, refuse_unknown_parameters
from .intervals import IntervalFunction

__all__ = ["ExistenceBound", "Hypothesis", "existence_bound"]

#: How far below zero the bounds of V / m - a + b |q|^2 may be, relative to the sizes of its terms: equality is allowed.
SLACK = 1e-9
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
    """

    holds: bool | None
    by: str
    radius: float
    counterexample: dict[str, float] | None = None


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
        The motion is proved to exist from -time to time; infinite where the hypothesis holds everywhere.
    """

    a: float
    b: float
    beta: float
    distance: float
    speed: float
    hypothesis: Hypothesis
    time: float = field(default=0.0)

    def radius(self, times: Any) -> Any:
        """r(|t|), of the shape of `times`."""
        t = np.abs(np.asarray(times, dtype=float))
        s = np.sqrt(2 * self.b)
        if s == 0:
            return self.distance + self.speed * t
        return self.distance * np.cosh(s * t) + self.speed / s * np.sinh(s * t)

    def largest_speed(self, times: Any) -> Any:
        """sqrt(2 (beta - a + b r(|t|)^2)), which bounds |q_dot(t)|."""
        return np.sqrt(np.maximum(2 * (self.beta - self.a + self.b * self.radius(times) ** 2), 0.0))

    def time_to(self, radius: Any) -> Any:
        """The least time in which |q| can reach `radius` (2.1.4); 0 inside the start, infinite where it never can."""
        u = np.maximum(np.asarray(radius, dtype=float), self.distance)
        s, rest = np.sqrt(2 * self.b), 2 * (self.beta - self.a)
        with np.errstate(divide="ignore", invalid="ignore"):
            if s == 0:
                found = (u - self.distance) / self.speed
            else:
                reached = s * u + np.sqrt(np.maximum(rest + 2 * self.b * u**2, 0.0))
                found = np.log(reached / (s * self.distance + self.speed)) / s
        return np.where(u == self.distance, 0.0, found)


def existence_bound(
    system: System | Scenario | sympy.Expr,
    a: float,
    b: float,
    start: Mapping[Any, float] | None = None,
    *,
    mass: float | None = None,
    parameters: Mapping[Any, float] | None = None,
    until: float = 10.0,
) -> ExistenceBound:
    """The bound r(t) of a particle in a potential, with a check of its hypothesis.

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
    ('everywhere: a polynomial in one letter without a change of sign', inf, 3.449)
    >>> existence_bound(-q**4 / 2, 0.0, 1.0, {"q": 1.0, "q_dot": 1.0}, mass=1.0).hypothesis.holds
    False
    """
    if isinstance(system, Scenario):
        stated = system.parameters
        start = start if start is not None else system.start
        system = system.system
    else:
        stated = {}
    given = numbers_by_name(parameters)
    if isinstance(system, System):
        refuse_unknown_parameters(given, [symbol.name for symbol in system.parameters])
    names = numbers_by_name(stated) | given
    if not (np.isfinite(a) and np.isfinite(b) and b >= 0):
        raise ModelError("The constants must be finite, with b >= 0", seen=f"a = {a}, b = {b}", remedy="choose others")
    potential, letters, m = _particle(system, mass, names)
    values = _values(potential, letters, names)
    point, velocity = _start(start or {}, letters, m)
    here = _number(potential.xreplace(dict(zip(letters, map(sympy.Float, point), strict=True))), values)
    if not np.isfinite(here):
        raise ModelError("The potential has no value at the start", seen=point.tolist(), remedy="start where it is defined")
    beta = float(velocity @ velocity) / 2 + here / m
    distance = float(np.sqrt(point @ point))
    square = 2 * (beta - a + b * distance**2)
    if square < -SLACK * (abs(beta) + abs(a) + b * distance**2):
        raise ModelError(
            "The start breaks V / m >= a - b |q|^2",
            seen=f"V / m = {here / m:g}, a - b |q|^2 = {a - b * distance**2:g}",
            remedy="choose a smaller a, or a larger b",
        )
    bare = ExistenceBound(a, b, beta, distance, float(np.sqrt(max(square, 0.0))), Hypothesis(None, "", 0.0))
    gap = potential / _exact(m) - _exact(a) + _exact(b) * sum(q**2 for q in letters)
    hypothesis = _check(gap, letters, values, float(bare.radius(until)))
    time = np.inf if hypothesis.radius == np.inf else until if hypothesis.holds else 0.0
    return ExistenceBound(a, b, beta, distance, bare.speed, hypothesis, float(time))


# -- reading the particle ------------------------------------------------------------------------------------------------


def _exact(number: float) -> sympy.Expr:
    """A float as the fraction that it is."""
    return sympy.Rational(*float(number).as_integer_ratio())


def _particle(
    system: System | sympy.Expr, mass: float | None, names: Mapping[str, float]
) -> tuple[sympy.Expr, tuple[Coordinate, ...], float]:
    """V, the coordinates and the mass."""
    if isinstance(system, sympy.Expr):
        if mass is None:
            raise ModelError("A potential needs the mass of its particle", remedy="pass mass=")
        return system, tuple(sorted(system.atoms(Coordinate), key=lambda q: q.name)), float(mass)
    if system.kinetic is None or system.potential is None or system.constraints or system.forces or system.dissipation != 0:
        raise FormError(
            "The estimate is for a free particle in a potential",
            seen=system.name,
            remedy="give kinetic and potential energy only",
        )
    sizes = [sympy.diff(system.kinetic, v, 2) for v in system.velocities]
    rest = system.kinetic - sum(size * v**2 / 2 for size, v in zip(sizes, system.velocities, strict=True))
    values = {symbol: _exact(names[symbol.name]) for symbol in system.kinetic.free_symbols if symbol.name in names}
    masses = {sympy.simplify(size.xreplace(values)) for size in sizes}
    if sympy.expand(rest) != 0 or len(masses) != 1 or not next(iter(masses)).is_Number:
        raise FormError(
            "The estimate is for one mass in Cartesian coordinates",
            seen=str(system.kinetic)[:80],
            remedy="write T = m/2 |q_dot|^2, and give the mass a value",
        )
    return system.potential, system.coordinates, float(masses.pop())


def _values(potential: sympy.Expr, letters: Sequence[Coordinate], names: Mapping[str, float]) -> dict[sympy.Symbol, float]:
    others = potential.free_symbols - {*letters}
    missing = sorted(symbol.name for symbol in others if symbol.name not in names)
    if missing:
        raise ModelError("Parameters have no value", seen=", ".join(missing), remedy="pass parameters={name: value}")
    return {symbol: names[symbol.name] for symbol in others}


def _start(start: Mapping[Any, float], letters: Sequence[Coordinate], mass: float) -> tuple[Any, Any]:
    names = numbers_by_name(start)
    unknown = sorted({*names} - {name for q in letters for name in (q.name, q.dot.name, q.momentum.name)})
    if unknown:
        raise ModelError("The start names what the particle does not have", seen=", ".join(unknown), remedy="check the names")
    point = np.array([names.get(q.name, 0.0) for q in letters])
    velocity = np.array([names.get(q.dot.name, names.get(q.momentum.name, 0.0) / mass) for q in letters])
    return point, velocity


def _number(expression: sympy.Expr, values: Mapping[sympy.Symbol, float]) -> float:
    value = sympy.N(expression.xreplace({symbol: sympy.Float(number) for symbol, number in values.items()}))
    return float(value) if value.is_real and value.is_finite else float("nan")


# -- the hypothesis ------------------------------------------------------------------------------------------------------


def _check(gap: sympy.Expr, letters: Sequence[Coordinate], values: Mapping[sympy.Symbol, float], radius: float) -> Hypothesis:
    """Whether gap(q) >= 0: everywhere where that can be proved, within a radius otherwise."""
    exact = gap.xreplace({symbol: _exact(number) for symbol, number in values.items()})
    everywhere = _everywhere(exact, letters)
    if everywhere:
        return Hypothesis(True, everywhere, float("inf"))
    if not np.isfinite(radius):
        return Hypothesis(None, "the radius is too large for a proof", 0.0)
    return _within(exact, letters, radius)


def _everywhere(gap: sympy.Expr, letters: Sequence[Coordinate]) -> str:
    """A proof that a polynomial is nowhere negative, or nothing."""
    if not gap.is_polynomial(*letters):
        return ""
    polynomial = sympy.Poly(gap, *letters)
    if polynomial.is_ground:
        return "everywhere: a constant" if polynomial.as_expr() >= 0 else ""
    if not all(coefficient.is_Rational for coefficient in polynomial.coeffs()):
        return ""
    if len(letters) == 1:
        odd = [factor for factor, power in polynomial.factor_list()[1] if power % 2 and factor.count_roots()]
        if polynomial.LC() > 0 and polynomial.degree() % 2 == 0 and not odd:
            return "everywhere: a polynomial in one letter without a change of sign"
        return ""
    squares = all(all(power % 2 == 0 for power in powers) and c >= 0 for powers, c in polynomial.terms())
    if squares:
        return "everywhere: a sum of even powers"
    return _quadratic(polynomial)


def _quadratic(polynomial: sympy.Poly) -> str:
    """A proof that a polynomial of degree two is nowhere negative: its matrix, with the constant, is semidefinite."""
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


def _within(gap: sympy.Expr, letters: Sequence[Coordinate], radius: float) -> Hypothesis:
    """Halve the cube around the ball |q| <= radius until bounds of the gap, or of its slope, decide."""
    slopes = [sympy.diff(gap, q) for q in letters]
    function, slope = IntervalFunction([gap], letters), IntervalFunction(slopes, letters)
    n = len(letters)
    low, high = np.full((1, n), -radius), np.full((1, n), radius)
    examined, scale = 0, SLACK * (1 + float(np.max(np.abs(function.at(np.zeros((1, n)))))))
    while len(low):
        examined += len(low)
        if examined > MOST_BOXES:
            return Hypothesis(None, f"undecided after {examined} boxes", 0.0)
        nearest = np.sqrt((np.where(low * high <= 0, 0.0, np.minimum(np.abs(low), np.abs(high))) ** 2).sum(axis=1))
        low, high = low[nearest <= radius * (1 + 1e-12)], high[nearest <= radius * (1 + 1e-12)]
        center = (low + high) / 2
        middle, most = function.at(center)
        bad = np.nonzero((most[:, 0] < -scale) & (np.sqrt((center**2).sum(axis=1)) <= radius))[0]
        if len(bad):
            point = center[bad[0]]
            where = {q.name: float(x) for q, x in zip(letters, point, strict=True)}
            return Hypothesis(False, f"V / m - a + b |q|^2 = {float(most[bad[0], 0]):.3g} at a point", 0.0, where)
        slope_low, slope_high = slope(low, high)
        steep = np.maximum(np.abs(slope_low), np.abs(slope_high))
        mean = middle[:, 0] - (steep * (high - low)).sum(axis=1) / 2 * (1 + 1e-14)
        least = np.maximum(function(low, high)[0][:, 0], np.where(np.isnan(mean), -np.inf, mean))
        low, high = low[least < -scale], high[least < -scale]
        widest = np.argmax(high - low, axis=1)
        rows = np.arange(len(low))
        cut = (low[rows, widest] + high[rows, widest]) / 2
        left_high, right_low = high.copy(), low.copy()
        left_high[rows, widest], right_low[rows, widest] = cut, cut
        low, high = np.concatenate([low, right_low]), np.concatenate([left_high, high])
    return Hypothesis(True, f"within |q| <= {radius:.6g}: bounds over {examined} box{'es' * (examined > 1)}", radius)
