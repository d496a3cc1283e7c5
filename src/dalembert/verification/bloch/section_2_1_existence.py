"""Bloch and others, Internet Supplement, section 2.1: motions of a particle in a potential exist for all time.

Potentials with V/m >= a - b |q|^2 in one to three dimensions, stated for the library and as NumPy functions, masses other than
one, random starts. Bounds are the library's (`existence_bound`), motions come from its integrator, and SciPy's is the
independent implementation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.proofs.existence import ExistenceBound, existence_bound
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.symbols import coordinates
from ...model.system import System
from ..numeric import derivative, distance, excess, largest, panel_nodes, worst
from ..row_registry import Corrected, claim

RANDOM = "random starts in potentials of one, two and three dimensions"
SPAN = 3.0
TIMES = np.linspace(0.0, SPAN, 13)


@dataclass(frozen=True)
class Particle:
    """A particle, the constants of its estimate, and a start."""

    system: System
    numeric: Callable[[Any], Any]
    mass: float
    a: float
    b: float
    start: dict[str, float]

    @property
    def symbols(self) -> list[str]:
        return [q.name for q in self.system.coordinates]

    def vector(self, motion: Motion, suffix: str = "") -> Any:
        """Coordinates or velocities of a motion (n, times)."""
        return np.array([motion[f"{name}{suffix}"] for name in self.symbols])


@cache
def particles() -> tuple[Particle, ...]:
    """One particle in each dimension."""
    x, y, z = coordinates("x y z")
    shapes = (
        ((x,), 0.4 * sympy.cos(3 * x) - x**2 / 2, lambda q: 0.4 * np.cos(3 * q[0]) - q[0] ** 2 / 2, -0.4, 0.5),
        (
            (x, y),
            2 * x**2 * y**2 - (x**2 + y**2) / 5 + x / 10,
            lambda q: 2 * q[0] ** 2 * q[1] ** 2 - (q[0] ** 2 + q[1] ** 2) / 5 + q[0] / 10,
            -0.5,
            0.3,
        ),
        (
            (x, y, z),
            sympy.sin(x * y) ** 2 - x * z / 2 + sympy.cos(z) / 3,
            lambda q: np.sin(q[0] * q[1]) ** 2 - q[0] * q[2] / 2 + np.cos(q[2]) / 3,
            -0.4,
            0.3,
        ),
    )
    random = np.random.default_rng(21)
    found = []
    for symbols, potential, numeric, a, b in shapes:
        mass = float(random.uniform(0.3, 0.8))
        start = {q.name: float(random.uniform(-1, 1)) for q in symbols}
        start |= {q.dot.name: float(random.uniform(-1, 1)) for q in symbols}
        kinetic = mass / 2 * sum(q.dot**2 for q in symbols)
        found.append(Particle(System(symbols, kinetic=kinetic, potential=mass * potential), numeric, mass, a, b, start))
    return tuple(found)


@cache
def _motion(number: int) -> Motion:
    particle = particles()[number]
    return simulate(particle.system, start=particle.start, span=(0, SPAN), at=TIMES, rtol=1e-12)


@cache
def _bound(number: int) -> ExistenceBound:
    particle = particles()[number]
    return existence_bound(particle.system, particle.a, particle.b, particle.start, until=SPAN)


@cache
def _steepest(mass: float = 0.6, b: float = 0.8) -> tuple[Particle, Motion, ExistenceBound]:
    """A particle where V/m = a - b |q|^2, which starts outwards: the estimate is sharp."""
    x, y = coordinates("x y")
    system = System([x, y], kinetic=mass / 2 * (x.dot**2 + y.dot**2), potential=mass * (0.1 - b * (x**2 + y**2)))
    start = {"x": 0.15, "y": 0.2, "x_dot": 0.06, "y_dot": 0.08}
    particle = Particle(system, lambda q: 0.1 - b * (q[0] ** 2 + q[1] ** 2), mass, 0.1, b, start)
    motion = simulate(system, start=start, span=(0, SPAN), at=TIMES, rtol=1e-12)
    return particle, motion, existence_bound(system, 0.1, b, start, until=SPAN)


def _lengths(vectors: Any) -> Any:
    return np.sqrt((vectors**2).sum(axis=0))


@claim(
    "B-2.1-energy",
    "E = |p|^2 / (2m) + V is a first integral, so that beta = E(q(0), p(0)) for all time, and E >= V(q(0))",
    how=f"{RANDOM}: E from the library's momenta and V by NumPy, along motions",
)
def energy_is_conserved() -> float:
    found = []
    for k, particle in enumerate(particles()):
        motion = _motion(k)
        momenta = np.array([motion[f"p_{name}"] for name in particle.symbols])
        potential = particle.mass * particle.numeric(particle.vector(motion))
        energy = (momenta**2).sum(axis=0) / (2 * particle.mass) + potential
        found += [distance(energy, energy[0]), excess(potential[0] - energy[0])]
    return worst(found)


@claim(
    "B-2.1-speed",
    "|q_dot|^2 = 2 (beta - V/m) with beta = E/m, the energy a unit of mass; the print has beta = E",
    how=f"{RANDOM}: velocities and energies of the library's motions, V by NumPy",
)
def speed_from_energy() -> Corrected:
    right, printed = [], []
    for k, particle in enumerate(particles()):
        motion = _motion(k)
        squares = (particle.vector(motion, "_dot") ** 2).sum(axis=0)
        potential = particle.numeric(particle.vector(motion))
        right.append(distance(squares, 2 * (_bound(k).beta - potential)))
        printed.append(distance(squares, 2 * (motion.energy - potential)))
    return Corrected(worst(right), min(printed))


@claim(
    "B-2.1.3",
    "t >= the integral from |q(0)| to |q(t)| of du / sqrt(2 (beta - a + b u^2)); the sides are equal for V/m = a - b |q|^2 and"
    " a start outwards",
    how=f"{RANDOM}: the library's closed form of the integral against quadrature, along motions",
)
def time_bounds_distance() -> float:
    found = []
    for k, particle in enumerate(particles()):
        reached = _lengths(particle.vector(_motion(k)))
        needed = _bound(k).time_to(reached)
        found += [excess(float(np.max(needed - TIMES))), distance(needed, [_quadrature(_bound(k), u) for u in reached])]
    steepest, motion, bound = _steepest()
    found.append(distance(bound.time_to(_lengths(steepest.vector(motion))), TIMES))
    return worst(found)


def _quadrature(bound: ExistenceBound, radius: float) -> float:
    """The integral of 2.1.3 up to a radius, 0 below the start."""
    if radius <= bound.distance:
        return 0.0
    nodes, weights = panel_nodes(bound.distance, radius, 40)
    return float(weights @ (1 / np.sqrt(2 * (bound.beta - bound.a + bound.b * nodes**2))))


@claim(
    "B-2.1-comparison",
    "r'' = 2 b r from r(0) = |q(0)|, r'(0)^2 = 2 (beta - a + b |q(0)|^2) keeps r'^2/2 + a - b r^2 = beta",
    how=f"{RANDOM}: the library's closed form of r against its integration of r'' = 2 b r, and the first integral",
)
def comparison_motion() -> float:
    r = coordinates("r")
    found = []
    for k in range(len(particles())):
        bound = _bound(k)
        line = System([r], kinetic=r.dot**2 / 2, potential=-bound.b * r**2)
        start = {"r": bound.distance, "r_dot": bound.speed}
        motion = simulate(line, start=start, span=(0, SPAN), at=TIMES, rtol=1e-12)
        found += [
            distance(motion["r"], bound.radius(TIMES)),
            distance(motion["r_dot"], bound.largest_speed(TIMES)),
            distance(motion["r_dot"] ** 2 / 2 + bound.a - bound.b * motion["r"] ** 2, bound.beta),
        ]
    return worst(found)


@claim(
    "B-2.1.4",
    "t = the integral from |q(0)| to r(t) of du / sqrt(2 (beta - a + b u^2))",
    how=f"{RANDOM}: quadrature up to the library's r(t), and its closed form of the integral",
)
def time_of_the_comparison() -> float:
    found = []
    for k in range(len(particles())):
        bound = _bound(k)
        radii = bound.radius(TIMES)
        found += [distance([_quadrature(bound, r) for r in radii], TIMES), distance(bound.time_to(radii), TIMES)]
    return worst(found)


@claim(
    "B-2.1-theorem",
    "Where V/m >= a - b |q|^2, b >= 0, every solution exists for all time, with |q(t)| <= r(t); equality is reached",
    how=f"{RANDOM}: motions against the library's r(t), with its proof of the hypothesis; V/m = a - b |q|^2 outwards",
)
def existence() -> float:
    found = []
    for k, particle in enumerate(particles()):
        motion, bound = _motion(k), _bound(k)
        reached = _lengths(particle.vector(motion))
        proved = bool(motion.success and bound.hypothesis.holds and bound.time >= SPAN)
        found += [excess(float(np.max(reached - bound.radius(TIMES)))), float(not proved)]
    steepest, motion, bound = _steepest()
    found += [distance(_lengths(steepest.vector(motion)), bound.radius(TIMES)), float(bound.time != np.inf)]
    return worst(found)


@claim(
    "B-2.1-velocity",
    "|q_dot(t)| <= sqrt(2 (beta - a + b |q|^2)), so that it stays in a compact set too; the print has no square root",
    how=f"{RANDOM}, and V/m = a - b |q|^2 where both sides are equal and small",
)
def velocity_bound() -> Corrected:
    found, printed = [], []
    for k, particle in enumerate(particles()):
        found.append(_over(particle, _motion(k), _bound(k))[0])
    sharp = _over(*_steepest())
    found.append(sharp[0])
    printed.append(sharp[1])
    return Corrected(worst(found), worst(printed))


def _over(particle: Particle, motion: Motion, bound: ExistenceBound) -> tuple[float, float]:
    """By how much a speed exceeds the bound, and the bound without its square root."""
    speed, reached = _lengths(particle.vector(motion, "_dot")), _lengths(particle.vector(motion))
    square = 2 * (bound.beta - bound.a + bound.b * reached**2)
    return excess(float(np.max(speed - np.sqrt(square)))), excess(float(np.max(speed - square)))


@claim(
    "B-2.1-backwards",
    "(q(-t), -p(-t)) is the motion from (q(0), -p(0)); the print has (q(-t), p(-t)) from (-q(0), -p(0))",
    how=f"{RANDOM}: the library's motions from both starts against SciPy's integration backwards in time",
    tolerance=1e-8,
)
def backwards() -> Corrected:
    right: list[float] = []
    printed: list[float] = []
    for particle in particles():
        past = _backwards(particle)
        n = len(particle.symbols)
        for residuals, signs, sign in ((right, (1.0, -1.0), -1.0), (printed, (-1.0, -1.0), 1.0)):
            start = {key: value * signs[key.endswith("_dot")] for key, value in particle.start.items()}
            motion = simulate(particle.system, start=start, span=(0, SPAN), at=TIMES, rtol=1e-12)
            state = np.concatenate([particle.vector(motion), sign * particle.vector(motion, "_dot")])
            residuals.append(distance(state, past[: 2 * n]))
    return Corrected(worst(right), min(printed))


def _backwards(particle: Particle) -> Any:
    """q and q_dot (2n, times) at the times -t, by SciPy."""
    from scipy.integrate import solve_ivp

    n = len(particle.symbols)
    start = [particle.start[f"{name}{suffix}"] for suffix in ("", "_dot") for name in particle.symbols]

    def rates(_: float, y: Any) -> Any:
        return np.concatenate([y[n:], -derivative(particle.numeric, y[:n])])

    return solve_ivp(rates, (0, -SPAN), start, method="DOP853", t_eval=-TIMES, rtol=1e-11, atol=1e-12).y


@claim(
    "B-2.1-blow-up",
    "V = -eps^2 q^(2 + 4/eps) / 8 gives q'' = eps (eps + 2) q^(1 + 4/eps) / 4, solved by q = (1 - t)^(-eps/2), which ends at"
    " t = 1; the print has t - 1, which is not real before t = 1 for eps = 1",
    how="gallery system with eps = 2, 1 and 2/3: motions before the end, rates, and the time of the blow-up that is reported",
    tolerance=1e-8,
)
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
        right.append(float(end.outcome.value != "blew up") + 1e-3 * excess(abs(end.t[-1] - 1) - 1e-4))
        if eps != 2.0:
            printed.append(distance(motion["q"], ((times - 1 + 0j) ** (-eps / 2)).real))
    return Corrected(worst(right), min(printed))


@claim(
    "B-2.1-counterexample",
    "The potential of the blow-up is below a - b q^2 somewhere, whatever a and b are",
    how="gallery system with eps = 2 and 1: the library's counterexamples for growing constants, checked by substitution",
)
def hypothesis_fails() -> float:
    scenario, found = gallery.load("blow-up"), []
    for eps in (2.0, 1.0):
        for b in (1.0, 10.0, 100.0):
            bound = existence_bound(scenario, -b, b, {"q": 1.0, "q_dot": eps / 2}, parameters={"eps": eps}, until=1.0)
            point = (bound.hypothesis.counterexample or {"q": 0.0})["q"]
            below = -(eps**2) * point ** (2 + 4 / eps) / 8 < -b - b * point**2
            found.append(float(bound.hypothesis.holds is not False or not below))
    return largest(*found)
