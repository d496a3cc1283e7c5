r"""Jacobi's theorem in numbers: the motion from dS/d(constant) = beta of a complete integral.

With S = sum_j W_j(x_j) and dW_j/dx_j = shift_j + sign sqrt(R_j), each equation is a sum of
quadratures

    sum_j  int (d shift_j/dc + dR_j/dc / (2 sign sqrt(R_j))) dx_j  =  beta_c

over the curves (x_j, pi_j) that the constants fix. A curve that turns where R_j vanishes is run
through by a phase in which the integrands are smooth, so that the sign takes care of itself:

    none             x = s,                      one sign for good
    one turn         x = x* + side s^2,          pi = shift + s rho,         rho^2 = R / s^2
    between two  x = middle - reach cos s,  pi = shift + reach sin(s) rho,
        rho^2 = R / ((x - low) (high - x))

The phases at a time are found by Newton's method from those a little earlier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, RunError, nearest
from ...typing import Array, ArrayLike, Symbol
from .separation import CompleteIntegral, Derivative

__all__ = ["JacobiMotion", "jacobi_motion"]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)
#: A quadrature is refined until halving it changes it by less than this, relatively.
QUADRATURE = 3e-12
#: Halving gains nothing where what it changes does not fall below this part: that is rounding.
GAIN = 0.1
#: Newton's method has converged where the phases change by less than this, relatively.
CONVERGED = 1e-14
#: Newton's method has reached the rounding of the integrands where steps below this stop shrinking.
NOISE = 1e-7
#: The longest step of a phase between two turns, in radians.
LONGEST = 1.0
#: Nearer to a turn than this part of its distance to the start, R is taken from its derivative.
NEAR = 1e-5
#: The nearest and farthest turns looked for, and the growth of the steps of the search.
FIRST, FARTHEST, GROWTH = 1e-9, 1e7, 1.06


@dataclass(frozen=True)
class JacobiMotion:
    """A motion by Jacobi's theorem; n coordinates, nt times.

    Attributes
    ----------
    t : array (nt,)
    coordinates, momenta : arrays (n, nt)
        q, and pi of the variational problem.
    constants : mapping of name to float
        The constants of the complete integral on this motion.
    turns : mapping of name to tuple of float
        Where each coordinate turns, as far as that was found.

    ``motion["x"]`` and ``motion["pi_x"]`` are rows of these.
    """

    t: Array
    coordinates: Array
    momenta: Array
    constants: Mapping[str, float]
    turns: Mapping[str, tuple[float, ...]]
    names: tuple[str, ...]

    def __getitem__(self, key: Symbol) -> Any:
        name = str(getattr(key, "name", key))
        if name not in self.names:
            near = nearest(name, self.names)
            remedy = f"did you mean {near}" if near else "use one of these names"
            raise ModelError(f"The motion has no quantity `{name}`", ", ".join(self.names), remedy)
        return np.vstack([self.coordinates, self.momenta])[self.names.index(name)]


def jacobi_motion(
    integral: CompleteIntegral,
    momenta: Sequence[sympy.Symbol],
    parameters: Mapping[sympy.Symbol, float],
    times: Array,
    coordinates: Array,
    impulses: Array,
) -> JacobiMotion:
    """The motion at `times` from coordinates q (n,) and momenta pi (n,) at the first of them.

    Raises
    ------
    RunError
        Where Jacobi's equations do not determine it: on an equilibrium of a separated coordinate,
        at a singular point, or on another branch than that of the integral.
    """
    variables = [derivative.variable for derivative in integral.derivatives]
    values = [float(times[0]), *coordinates, *impulses]
    start = dict(zip([*variables, *momenta], values, strict=True))
    constants = _constants(integral, parameters, start)
    number = np.array(list(constants.values()))
    curves = []
    for derivative, momentum in zip(integral.derivatives, [None, *momenta], strict=True):
        known = None if momentum is None else start[momentum]
        function = _functions(derivative, list(constants), parameters)
        curves.append(_Curve(function, number, derivative, start[derivative.variable], known))
    clock, *others = curves
    phases = _follow(clock, others, np.asarray(times, dtype=float))
    q = np.array([curve.places(phases[:, k]) for k, curve in enumerate(others)])
    pi = np.array([curve.momenta(phases[:, k]) for k, curve in enumerate(others)])
    return JacobiMotion(
        t=np.asarray(times, dtype=float),
        coordinates=q,
        momenta=pi,
        constants={symbol.name: value for symbol, value in constants.items()},
        turns={curve.name: curve.turns for curve in others},
        names=(*(x.name for x in variables[1:]), *(pi.name for pi in momenta)),
    )


def _constants(
    integral: CompleteIntegral,
    parameters: Mapping[sympy.Symbol, float],
    start: Mapping[sympy.Symbol, float],
) -> dict[sympy.Symbol, float]:
    """The values of the constants at the start, one after the other."""
    known = dict(parameters) | dict(start)
    found = {}
    for symbol, definition in integral.constants.items():
        algebra = GraphAlgebra()
        block = algebra.vector([definition])
        symbols = list(algebra.symbols)
        function = ca.Function("constant", [algebra.vector(symbols)], [block])
        found[symbol] = known[symbol] = float(function([known[symbol] for symbol in symbols]))
    return found


def _functions(
    derivative: Derivative,
    constants: Sequence[sympy.Symbol],
    parameters: Mapping[sympy.Symbol, float],
) -> Callable[[ArrayLike, Array], Array]:
    """x (k,), c (n,) to rows shift, d shift/dc (n), R, R_x, R_xx, dR/dc (n): (2 n + 4, k)."""
    algebra = GraphAlgebra()
    x, c = algebra.vector([derivative.variable]), algebra.vector(constants)
    inside = sympy.S.Zero if derivative.radicand is None else derivative.radicand
    shift, radicand = algebra.vector([derivative.shift]), algebra.vector([inside])
    first = algebra.jacobian(radicand, x)
    by_constants = [algebra.jacobian(block, c).T for block in (shift, radicand)]
    second = algebra.jacobian(first, x)
    rows = [shift, by_constants[0], radicand, first, second, by_constants[1]]
    symbols = list(parameters)
    block = ca.densify(algebra.stack(rows))
    function = ca.Function("derivative", [x, c, algebra.vector(symbols)], [block])
    values = np.array([parameters[symbol] for symbol in symbols])

    def evaluate(places: ArrayLike, numbers: Array) -> Array:
        row = np.atleast_1d(places)[None, :]
        return np.asarray(function(row, numbers, values), dtype=float)

    return evaluate


class _Curve:
    """One variable on the curve that the constants fix, by its phase."""

    def __init__(
        self,
        function: Callable[[ArrayLike, Array], Array],
        constants: Array,
        derivative: Derivative,
        place: float,
        momentum: float | None,
    ) -> None:
        self.function, self.constants, self.n = function, constants, len(constants)
        self.name, self.place = derivative.variable.name, place
        self.sign, self.side, self.kind = 1.0, 1.0, "smooth"
        self.turns: tuple[float, ...] = ()
        self.first_phase = place
        if derivative.radicand is None or momentum is None:
            return
        offset = momentum - float(self._values(place)[0][0])
        self.sign = 1.0 if offset >= 0 else -1.0
        self.turns, self.side = self._find_turns(offset)
        self.kind = ("rooted", "one", "two")[len(self.turns)]
        if self.kind == "one":
            self.first_phase = self.sign * np.sqrt(max((place - self.turns[0]) * self.side, 0.0))
        elif self.kind == "two":
            middle, reach = self._middle
            angle = float(np.arccos(np.clip((middle - place) / reach, -1.0, 1.0)))
            self.first_phase = self.sign * angle

    # -- the functions -----------------------------------------------------------------------------

    def _values(self, places: ArrayLike) -> tuple[Array, Array, Array, Array, Array, Array]:
        """shift, R, R_x, R_xx as (k,), d shift/dc, dR/dc as (n, k)."""
        table, n = self.function(places, self.constants), self.n
        return table[0], table[n + 1], table[n + 2], table[n + 3], table[1 : n + 1], table[n + 4 :]

    @property
    def _middle(self) -> tuple[float, float]:
        low, high = self.turns
        return (low + high) / 2, (high - low) / 2

    def places(self, phases: ArrayLike) -> Any:
        """x at phases, (k,)."""
        phases = np.atleast_1d(np.asarray(phases, dtype=float))
        if self.kind == "one":
            return self.turns[0] + self.side * phases**2
        if self.kind == "two":
            middle, reach = self._middle
            return middle - reach * np.cos(phases)
        return phases

    def _rho(self, places: Array, radicand: Array) -> Array:
        """sqrt(R) divided by the vanishing factors, smooth and positive on the curve."""
        product = np.ones_like(places)
        for turn, inwards in self._inwards:
            product = product * (places - turn) * inwards
        with np.errstate(all="ignore"):
            quotient = radicand / product
        for turn, inwards in self._inwards:
            extent = abs(self.place - turn) + abs(np.ptp([*self.turns, self.place]))
            near = np.abs(places - turn) < NEAR * extent
            if np.any(near):
                _, _, derivative, bend, _, _ = self._values(turn)
                others = np.ones_like(places)
                for other, side in self._inwards:
                    if other != turn:
                        others = others * (places - other) * side
                expanded = inwards * (derivative + bend * (places - turn) / 2)
                with np.errstate(all="ignore"):
                    quotient = np.where(near, expanded / others, quotient)
        with np.errstate(invalid="ignore"):
            return np.sqrt(quotient)

    @property
    def _inwards(self) -> list[tuple[float, float]]:
        if self.kind == "one":
            return [(self.turns[0], self.side)]
        return [(self.turns[0], 1.0), (self.turns[1], -1.0)] if self.kind == "two" else []

    def momenta(self, phases: Array) -> Array:
        """pi at phases, (k,)."""
        phases = np.atleast_1d(phases)
        places = self.places(phases)
        shift, radicand, *_ = self._values(places)
        if self.kind == "smooth":
            return shift
        if self.kind == "rooted":
            return shift + self.sign * np.sqrt(radicand)
        if self.kind == "one":
            return shift + phases * self._rho(places, radicand)
        return shift + self._middle[1] * np.sin(phases) * self._rho(places, radicand)

    def integrand(self, phases: Array) -> Any:
        """d pi/dc dx/dphase, (n, k)."""
        phases = np.atleast_1d(phases)
        places = self.places(phases)
        _, radicand, _, _, by_shift, by_radicand = self._values(places)
        if self.kind == "smooth":
            return by_shift
        with np.errstate(all="ignore"):
            if self.kind == "rooted":
                return by_shift + self.sign * by_radicand / (2 * np.sqrt(radicand))
            rho = self._rho(places, radicand)
            if self.kind == "one":
                return by_shift * 2 * self.side * phases + self.side * by_radicand / rho
            return by_shift * self._middle[1] * np.sin(phases) + by_radicand / (2 * rho)

    def integral(self, first: float, last: float, before: float = np.inf) -> Any:
        """The integral of the integrand between two phases, (n,), by repeated halving."""
        whole = self._panel(first, last)
        middle = (first + last) / 2
        halves = self._panel(first, middle) + self._panel(middle, last)
        gap = float(np.max(np.abs(whole - halves)))
        if not gap > QUADRATURE * self._scale(first, last) or gap > GAIN * before:
            return halves
        return self.integral(first, middle, gap) + self.integral(middle, last, gap)

    def _panel(self, first: float, last: float) -> Any:
        half = (last - first) / 2
        return half * (self.integrand((first + last) / 2 + half * NODES) @ WEIGHTS)

    def _scale(self, first: float, last: float) -> float:
        ends = self.integrand(np.array([first, last]))
        return float(np.max(np.abs(ends))) * abs(last - first) + 1e-300

    # -- turns -------------------------------------------------------------------------------------

    def _find_turns(self, offset: float) -> tuple[tuple[float, ...], float]:
        """Find the zeros of R on either side of the start, and the side of a single one."""
        table = self._values(self.place)
        radicand, derivative, bend = (float(part[0]) for part in table[1:4])
        size = abs(self.place) + abs(derivative / bend if bend else 0.0) + 1e-12
        at_turn = abs(radicand) <= 1e-10 * abs(derivative) * size
        flat = abs(derivative) <= 1e-8 * abs(bend) * size
        if flat and abs(radicand) <= 1e-10 * abs(bend) * size**2:
            raise RunError(
                f"`{self.name}` starts on an equilibrium of its own, where Jacobi's equations do"
                " not determine the motion",
                seen=f"{self.name} = {self.place:.6g}, radicand {radicand:.2g}",
                remedy="start beside it, or simulate it",
            )
        terms = offset**2 + abs(radicand) + abs(derivative) * size
        if not abs(offset**2 - radicand) <= 1e-8 * terms:
            raise RunError(
                f"The start lies on another branch of the momentum of `{self.name}` than that of"
                " the complete integral",
                seen=f"squared momentum {offset**2:.6g}, {radicand:.6g} by the integral",
                remedy="start with other velocities or multipliers, or simulate it",
            )
        found = {}
        for side in (-1.0, 1.0):
            if at_turn and derivative * side < 0:
                found[side] = self.place - radicand / derivative
            else:
                turn = self._search(side, at_turn, size if size > 1e-9 else 1.0)
                if turn is not None:
                    found[side] = turn
        turns = tuple(float(found[side]) for side in (-1.0, 1.0) if side in found)
        return turns, -next(iter(found)) if len(found) == 1 else 1.0

    def _search(self, side: float, skip_first: bool, unit: float) -> float | None:
        """The nearest zero of R on one side, by growing steps and the derivative."""
        from scipy.optimize import brentq

        count = int(np.log(FARTHEST / FIRST) / np.log(GROWTH))
        steps = FIRST * (GROWTH ** np.arange(count) - 1) / (GROWTH - 1) * unit
        steps = steps[1:] if skip_first else steps
        places = self.place + side * steps
        with np.errstate(all="ignore"):
            _, radicand, derivative, *_ = self._values(places)
        usable = np.isfinite(radicand)
        if not np.all(usable):
            end = int(np.argmin(usable))
            places, radicand, derivative = places[:end], radicand[:end], derivative[:end]

        def value(x: float) -> float:
            return float(self._values(x)[1][0])

        def rate(x: float) -> float:
            return float(self._values(x)[2][0])

        for k in range(1, len(places)):
            a, b = places[k - 1], places[k]
            if radicand[k] < 0:
                if radicand[k - 1] > 0:
                    return float(brentq(value, a, b, xtol=1e-300, rtol=8.9e-16))
                return float(a)
            if derivative[k - 1] * side < 0 < derivative[k] * side:
                lowest = float(brentq(rate, a, b, rtol=8.9e-16))
                if value(lowest) < 0:
                    return float(brentq(value, a, lowest, xtol=1e-300, rtol=8.9e-16))
        return None


def _follow(clock: _Curve, curves: Sequence[_Curve], times: Array) -> Array:
    """Phases (nt, n) at the times, from Jacobi's equations."""
    phases = np.array([curve.first_phase for curve in curves], dtype=float)
    found, now, balance = [phases], float(times[0]), np.zeros(len(curves))
    for target in times[1:]:
        step = float(target) - now
        failures = 0
        while now != target:
            ahead = target if abs(target - now) <= abs(step) else now + step
            attempt = _newton(clock, curves, phases, now, ahead, balance)
            if attempt is None:
                step, failures = (ahead - now) / 2, failures + 1
                if failures > 60:
                    what = "Jacobi's equations could not be followed"
                    remedy = "ask for times before the motion meets a singular point"
                    raise RunError(what, f"t = {now:.6g}", remedy)
                continue
            phases, balance = attempt
            now, step = float(ahead), 2 * step
        found.append(phases)
    return np.array(found)


def _newton(
    clock: _Curve, curves: Sequence[_Curve], before: Array, now: float, ahead: float, balance: Array
) -> tuple[Array, Array] | None:
    """Phases at the time `ahead` and the residual; None where the step is too long."""
    elapsed = balance + clock.integral(now, ahead)

    def derivatives(phases: Array) -> Array:
        pairs = zip(curves, phases, strict=True)
        return np.column_stack([curve.integrand(phase)[:, 0] for curve, phase in pairs])

    def residual(phases: Array) -> Any:
        parts = zip(curves, before, phases, strict=True)
        found: Array = elapsed + sum(curve.integral(a, b) for curve, a, b in parts)
        return found

    phases, change, jacobian = before.copy(), np.inf, derivatives(before)
    is_angle = np.array([curve.kind == "two" for curve in curves], dtype=bool)
    for _ in range(14):
        left = residual(phases)
        if not np.all(np.isfinite(left)) or not np.all(np.isfinite(jacobian)):
            return None
        try:
            step = np.linalg.solve(jacobian, -left)
        except np.linalg.LinAlgError:  # singular: Newton's method fails here
            return None
        phases = phases + step
        moved = np.abs(phases - before)
        if np.max(moved[is_angle], initial=0.0) > LONGEST:
            return None
        previous, change = change, float(np.max(np.abs(step) / (np.abs(phases) + moved + 1e-300)))
        if change < CONVERGED or (change < NOISE and change >= 0.5 * previous):
            return phases, residual(phases)
        jacobian = derivatives(phases)
    return None
