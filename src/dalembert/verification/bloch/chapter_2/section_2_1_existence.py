"""Bloch and others, Internet Supplement, section 2.1: particles in a potential move for all time.

Potentials with V/m >= a - b |q|^2 in one to three dimensions, stated for the library and as NumPy
functions, masses other than one, random starts. Bounds are the library's (`existence_bound`),
motions come from its integrator, and SciPy's is the independent implementation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import sympy

from .... import gallery
from ....analysis.proofs.existence import ExistenceBound, existence_bound
from ....integrate.motion import Motion
from ....integrate.simulate import simulate
from ....model.symbols import coordinates
from ....model.system import System
from ....typing import Array
from ...numeric import Residual, Residuals, derivative, distance, excess, panel_nodes
from ...row_registry import Corrected, listed
from ...samples import Sampler

SPAN = 3.0
TIMES = np.linspace(0.0, SPAN, 13)


@dataclass(frozen=True)
class ParticleSample:
    """A particle, the constants of its estimate, and a start."""

    system: System
    numeric: Callable[[Array], Any]
    mass: float
    a: float
    b: float
    start: dict[str, float]

    @property
    def symbols(self) -> list[str]:
        """The names of the coordinates."""
        return [q.name for q in self.system.coordinates]

    def moved(self, start: dict[str, float]) -> Motion:
        """The library's motion from a start."""
        return simulate(self.system, start=start, span=(0, SPAN), at=TIMES, rtol=1e-12)

    @cached_property
    def motion(self) -> Motion:
        """The library's motion."""
        return self.moved(self.start)

    @cached_property
    def bound(self) -> ExistenceBound:
        """The library's bound."""
        return existence_bound(self.system, self.a, self.b, self.start, until=SPAN)

    def vector(self, suffix: str = "", prefix: str = "", motion: Motion | None = None) -> Array:
        """Coordinates, velocities or momenta of a motion (n, times)."""
        found = motion or self.motion
        return np.array([found[f"{prefix}{name}{suffix}"] for name in self.symbols])

    @property
    def reached(self) -> Any:
        """|q| along the motion."""
        return np.sqrt((self.vector() ** 2).sum(axis=0))

    @property
    def square_bound(self) -> Any:
        """2 (beta - a + b |q|^2) along the motion."""
        return 2 * (self.bound.beta - self.bound.a + self.bound.b * self.reached**2)


def _draw(_: str) -> Iterator[ParticleSample]:
    """One particle in each dimension."""
    x, y, z = coordinates("x y z")
    flat, saddle = 0.4 * sympy.cos(3 * x) - x**2 / 2, 2 * x**2 * y**2 - (x**2 + y**2) / 5 + x / 10
    folded = sympy.sin(x * y) ** 2 - x * z / 2 + sympy.cos(z) / 3
    cases: tuple[tuple[Any, sympy.Expr, Callable[[Any], Any], float, float], ...] = (
        ((x,), flat, lambda q: 0.4 * np.cos(3 * q[0]) - q[0] ** 2 / 2, -0.4, 0.5),
        ((x, y), saddle, _saddle, -0.5, 0.3),
        ((x, y, z), folded, _folded, -0.4, 0.3),
    )
    random = np.random.default_rng(21)
    for symbols, potential, numeric, a, b in cases:
        mass = float(random.uniform(0.3, 0.8))
        names = [q.name for q in symbols] + [q.dot.name for q in symbols]
        start = {name: float(random.uniform(-1, 1)) for name in names}
        kinetic = mass / 2 * sum(q.dot**2 for q in symbols)
        system = System(symbols, kinetic=kinetic, potential=mass * potential)
        yield ParticleSample(system, numeric, mass, a, b, start)


def _saddle(q: Array) -> Any:
    return 2 * q[0] ** 2 * q[1] ** 2 - (q[0] ** 2 + q[1] ** 2) / 5 + q[0] / 10


def _folded(q: Array) -> Any:
    return np.sin(q[0] * q[1]) ** 2 - q[0] * q[2] / 2 + np.cos(q[2]) / 3


def _sharp(_: str, mass: float = 0.6, b: float = 0.8) -> Iterator[ParticleSample]:
    """A particle where V/m = a - b |q|^2, which starts outwards: the estimate is sharp."""
    x, y = coordinates("x y")
    kinetic, potential = mass / 2 * (x.dot**2 + y.dot**2), mass * (0.1 - b * (x**2 + y**2))
    system = System([x, y], kinetic=kinetic, potential=potential)
    start = {"x": 0.15, "y": 0.2, "x_dot": 0.06, "y_dot": 0.08}
    numeric = partial(lambda b, q: 0.1 - b * (q[0] ** 2 + q[1] ** 2), b)
    yield ParticleSample(system, numeric, mass, 0.1, b, start)


particles = Sampler(_draw)
steepest = Sampler(_sharp)


@listed("B-2.1-energy", over=particles)
def energy_is_conserved(s: ParticleSample) -> Residual:
    potential = s.mass * s.numeric(s.vector())
    energy = (s.vector(prefix="p_") ** 2).sum(axis=0) / (2 * s.mass) + potential
    return distance(energy, energy[0]), excess(potential[0] - energy[0])


@listed("B-2.1-speed")
def speed_from_energy() -> Corrected:
    def gap(s: ParticleSample, beta: float | Array) -> float:
        return distance((s.vector("_dot") ** 2).sum(axis=0), 2 * (beta - s.numeric(s.vector())))

    printed = min(gap(s, s.motion.energy) for s in particles)
    return Corrected([gap(s, s.bound.beta) for s in particles], printed)


def _quadrature(bound: ExistenceBound, radius: float) -> float:
    """The integral of 2.1.3 up to a radius, 0 below the start."""
    if radius <= bound.distance:
        return 0.0
    nodes, weights = panel_nodes(bound.distance, radius, 40)
    return float(weights @ (1 / np.sqrt(2 * (bound.beta - bound.a + bound.b * nodes**2))))


@listed("B-2.1.3")
def time_bounds_distance() -> Residual:
    found: list[Residual] = []
    for s in particles:
        needed = s.bound.time_to(s.reached)
        found.append(excess(float(np.max(needed - TIMES))))
        found.append(distance(needed, [_quadrature(s.bound, u) for u in s.reached]))
    return found, [distance(s.bound.time_to(s.reached), TIMES) for s in steepest]


@listed("B-2.1-comparison", over=particles)
def comparison_motion(s: ParticleSample) -> Residual:
    r, bound = coordinates("r"), s.bound
    line = System([r], kinetic=r.dot**2 / 2, potential=-bound.b * r**2)
    start = {"r": bound.distance, "r_dot": bound.speed}
    motion = simulate(line, start=start, span=(0, SPAN), at=TIMES, rtol=1e-12)
    return (
        distance(motion["r"], bound.radius(TIMES)),
        distance(motion["r_dot"], bound.largest_speed(TIMES)),
        distance(motion["r_dot"] ** 2 / 2 + bound.a - bound.b * motion["r"] ** 2, bound.beta),
    )


@listed("B-2.1.4", over=particles)
def time_of_the_comparison(s: ParticleSample) -> Residual:
    radii = s.bound.radius(TIMES)
    by_quadrature = [_quadrature(s.bound, r) for r in radii]
    return distance(by_quadrature, TIMES), distance(s.bound.time_to(radii), TIMES)


@listed("B-2.1-theorem")
def existence() -> Residuals:
    for s in particles:
        proved = bool(s.motion.success and s.bound.hypothesis.holds and s.bound.time >= SPAN)
        over = excess(float(np.max(s.reached - s.bound.radius(TIMES))))
        yield over, float(not proved)
    for s in steepest:
        yield distance(s.reached, s.bound.radius(TIMES)), float(s.bound.time != np.inf)


@listed("B-2.1-velocity")
def velocity_bound() -> Corrected:
    def over(s: ParticleSample, bound: Array) -> float:
        speed = np.sqrt((s.vector("_dot") ** 2).sum(axis=0))
        return excess(float(np.max(speed - bound)))

    right = [over(s, np.sqrt(s.square_bound)) for s in (*particles, *steepest)]
    return Corrected(right, [over(s, s.square_bound) for s in steepest])


def _backwards(s: ParticleSample) -> Any:
    """q and q_dot (2n, times) at the times -t, by SciPy."""
    from scipy.integrate import solve_ivp

    n = len(s.symbols)
    start = [s.start[f"{name}{suffix}"] for suffix in ("", "_dot") for name in s.symbols]

    def rates(_: float, y: Array) -> Any:
        return np.concatenate([y[n:], -derivative(s.numeric, y[:n])])

    options = {"method": "DOP853", "t_eval": -TIMES, "rtol": 1e-11, "atol": 1e-12}
    return solve_ivp(rates, (0, -SPAN), start, **options).y


@listed("B-2.1-backwards")
def backwards() -> Corrected:
    def gap(s: ParticleSample, position: float, sign: float) -> float:
        signs = {key: -1.0 if key.endswith("_dot") else position for key in s.start}
        motion = s.moved({key: value * signs[key] for key, value in s.start.items()})
        state = [s.vector(motion=motion), sign * s.vector("_dot", motion=motion)]
        return distance(np.concatenate(state), _backwards(s))

    printed = min(gap(s, -1.0, 1.0) for s in particles)
    return Corrected([gap(s, 1.0, -1.0) for s in particles], printed)


@listed("B-2.1-blow-up")
def blow_up() -> Corrected:
    scenario = gallery.load("blow-up")
    times = np.array([0.25, 0.5, 0.75])
    right, printed = [], []
    for eps in (2.0, 1.0, 2.0 / 3.0):
        moving = scenario.replacing(parameters={"eps": eps}, start={"q": 1.0, "q_dot": eps / 2})
        motion = simulate(moving, span=(0, 0.75), at=times, rtol=1e-12)
        path = (1 - times) ** (-eps / 2)
        force = eps * (eps + 2) * path ** (1 + 4 / eps) / 4
        right += [distance(motion["q"], path), distance(motion["q_ddot"], force)]
        end = simulate(moving, span=(0, 2), rtol=1e-12)
        late = 1e-3 * excess(abs(end.t[-1] - 1) - 1e-4)
        right.append(float(end.outcome.value != "blew up") + late)
        if eps != 2.0:
            printed.append(distance(motion["q"], ((times - 1 + 0j) ** (-eps / 2)).real))
    return Corrected(right, min(printed))


@listed("B-2.1-counterexample")
def hypothesis_fails() -> Residuals:
    scenario = gallery.load("blow-up")
    for eps in (2.0, 1.0):
        start = {"q": 1.0, "q_dot": eps / 2}
        for b in (1.0, 10.0, 100.0):
            bound = existence_bound(scenario, -b, b, start, parameters={"eps": eps}, until=1.0)
            point = (bound.hypothesis.counterexample or {"q": 0.0})["q"]
            below = -(eps**2) * point ** (2 + 4 / eps) / 8 < -b - b * point**2
            yield float(bound.hypothesis.holds is not False or not below)
