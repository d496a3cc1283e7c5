"""Bloch and others, Internet Supplement, section 3.13: three hinged bodies (3.13.59, 3.13.60).

Random chains of three bodies. The library gives J, rates, proved relative equilibria and their
bifurcations, and motions. Independent implementations are the closed entries of J, complex steps of
the energy, and a criterion for collinear hinges: with l_12 = A cos, l_23 = B cos and l_31 = C cos,
the critical points of A cos a + B cos b + C cos(a + b) are the four with a and b in {0, pi}, and
two more just where 1/A, 1/B and 1/C are the sides of a triangle, since A sin a = B sin b = -C sin(a
+ b) there. For any hinges there are at most six, the doubled area of the Newton polygon, and as
many maxima and minima together as saddles.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np
import sympy

from ....analysis.proofs.zeros import find_zeros
from ....analysis.stability.bifurcation import zero_diagram
from ....analysis.stability.equilibria import Equilibrium
from ....analysis.symmetry.planar_reduction import relative_equilibria
from ....integrate.simulate import simulate
from ....model.builders.planar_bodies import planar_chain
from ....typing import Array
from ...independent.hinged_bodies import (
    CHAIN,
    Bodies,
    BodySample,
    Lowered,
    bodies,
    collinear,
    library_rates,
    shape,
    states,
    turn,
)
from ...numeric import Residual, Residuals, apart, derivative, distance, excess, worst
from ...row_registry import listed

TRIPLE = CHAIN[3]


@cache
def _lowered() -> Lowered:
    found = shape(TRIPLE)
    return Lowered(list(found.inertia), found.joints)


def _inertia(model: Bodies, x: Array) -> Any:
    """J of the library (3, 3)."""
    return _lowered()(x[:2], model.values)[0].reshape(3, 3)


def _reduced_masses(model: Bodies) -> list[float]:
    """eps_12, eps_23 and eps_31."""
    m1, m2, m3 = model.masses
    return [float(p / sum(model.masses)) for p in (m1 * m2, m2 * m3, m3 * m1)]


def lam(x: Array, y: Array, angle: float) -> float:
    """lambda_(x,y)(angle) = x . y cos + (x cross y) sin."""
    return float(x @ y * np.cos(angle) + (x[0] * y[1] - x[1] * y[0]) * np.sin(angle))


# -- the entries of J ------------------------------------------------------------------------------


@listed("B-3.13.59", over=states(TRIPLE, count=4), misprint={"second": 0})
def inertia_matrix(s: BodySample, second: int = 1) -> Residual:
    table, library = s.model.inertia(s.x[:2]), _inertia(s.model, s.x)
    steps = np.array([0, 0.4, 0, 0, 0]), np.array([0.4, -0.4, 0, 0, 0])
    moved = [_inertia(s.model, s.x + step) for step in steps]
    kept = moved[0][0, 1] - library[0, 1], moved[1][0, 2] - library[0, 2]
    table[1, 1] = table[second, second]
    return distance(library, table), kept


@listed("B-3.13.59-I1", over=states(TRIPLE, count=4), misprint={"printed": True})
def first_inertia(s: BodySample, printed: bool = False) -> Residual:
    (e12, _, e31), d = _reduced_masses(s.model), s.model.hinges[1, 2]
    own = s.model.inertias[0] + (e12 * e31 if printed else e12 + e31) * d @ d
    return distance(_inertia(s.model, s.x)[0, 0], own)


@listed("B-3.13.59-I2", over=states(TRIPLE, count=4), misprint={"printed": True})
def second_inertia(s: BodySample, printed: bool = False) -> Residual:
    (e12, e23, e31), h = _reduced_masses(s.model), s.model.hinges
    back, ahead, across = h[2, 1], h[2, 3], h[2, 3] - h[2, 1]
    between = 0.0 if printed else e23 * ahead @ ahead
    own = s.model.inertias[1] + e12 * back @ back + between + e31 * across @ across
    return distance(_inertia(s.model, s.x)[1, 1], own)


@listed("B-3.13.59-I3", over=states(TRIPLE, count=4))
def third_inertia(s: BodySample) -> Residual:
    (_, e23, e31), d = _reduced_masses(s.model), s.model.hinges[3, 2]
    return distance(_inertia(s.model, s.x)[2, 2], s.model.inertias[2] + (e23 + e31) * d @ d)


@listed("B-3.13.59-lambda12", over=states(TRIPLE, count=4))
def first_coupling(s: BodySample) -> Residual:
    (e12, _, e31), h, angle = _reduced_masses(s.model), s.model.hinges, s.x[0]
    found = e12 * lam(-h[2, 1], h[1, 2], angle) + e31 * lam(h[2, 3] - h[2, 1], h[1, 2], angle)
    return distance(_inertia(s.model, s.x)[0, 1], found)


@listed("B-3.13.59-lambda23", over=states(TRIPLE, count=4))
def second_coupling(s: BodySample) -> Residual:
    (_, e23, e31), h, angle = _reduced_masses(s.model), s.model.hinges, s.x[1]
    found = e23 * lam(-h[3, 2], h[2, 3], angle) + e31 * lam(-h[3, 2], h[2, 3] - h[2, 1], angle)
    return distance(_inertia(s.model, s.x)[1, 2], found)


@listed("B-3.13.59-lambda31", over=states(TRIPLE, count=4), misprint={"sign": 1})
def third_coupling(s: BodySample, sign: int = -1) -> Residual:
    e31, h = _reduced_masses(s.model)[2], s.model.hinges
    found = e31 * lam(sign * h[3, 2], h[1, 2], s.x[0] + s.x[1])
    return distance(_inertia(s.model, s.x)[0, 2], found)


@listed("B-3.13.59-lambda")
def coupling_function() -> Residuals:
    random = np.random.default_rng(6)
    for _ in range(5):
        x, y, angle = random.normal(size=2), random.normal(size=2), float(random.uniform(-3, 3))
        yield distance(lam(x, y, angle), y @ turn(angle) @ x)


# -- dynamics --------------------------------------------------------------------------------------


@listed("B-3.13.60", over=states(TRIPLE, count=4))
def equations(s: BodySample) -> Residual:
    a, b, w1, w2, w3 = s.model.gradient(s.x)
    return distance(library_rates(s.model, s.x), [w2 - w1, w3 - w2, a, b - a, -b])


@listed("B-3.13.60-sum")
def total_momentum() -> Residual:
    values, system = bodies(TRIPLE, 2).values, shape(TRIPLE).system()
    start = {"theta1": 0.2, "theta2": 0.9, "theta3": -0.4}
    start |= {"p_theta1": 1.0, "p_theta2": -0.3, "p_theta3": 0.6}
    motion = simulate(system, start=start, span=(0, 8), parameters=values, rtol=1e-11)
    momenta = np.array([motion[f"p_theta{i}"] for i in (1, 2, 3)])
    return distance(momenta.sum(axis=0), 1.3), apart(float(np.ptp(momenta[0])))


@listed("B-3.13-magnetic")
def magnetic_terms() -> Residuals:
    for count in (2, 3):
        system, beyond = shape(CHAIN[count]).reduced_system(), np.tril(np.ones((count, count)))
        rest = dict.fromkeys(system.velocities, sympy.Integer(0))
        momenta = [sympy.diff(system.lagrangian, v).xreplace(rest) for v in system.velocities]
        lowered = Lowered(momenta, system.coordinates)
        for model, x in states(CHAIN[count], count=2):

            def form(joints: Array, model: Bodies = model, beyond: Array = beyond[:, 1:]) -> Any:
                table = model.inertia(joints)
                return 1.3 * (table.sum(axis=0) @ beyond) / table.sum()

            bend = lowered(x[: count - 1], model.values | {"mu": 1.3})[1]
            reference = derivative(form, x[: count - 1])
            yield distance(bend - bend.T, reference - reference.T)
            if count == 3:
                yield apart(abs(float(bend[0, 1] - bend[1, 0])))
        yield float(len(system.coordinates) != count - 1)


# -- relative equilibria ---------------------------------------------------------------------------


def _expected_count(model: Bodies) -> int:
    """4, or 6 where 1/A, 1/B and 1/C of a collinear chain are the sides of a triangle."""
    table = model.inertia(np.zeros(2))
    sides = 1 / np.abs([table[0, 1], table[1, 2], table[0, 2]])
    return 6 if 2 * np.max(sides) < np.sum(sides) else 4


def _light_middle(seed: int, mass: float) -> Bodies:
    """A collinear chain with a light and short middle body, so that the outer ones interact."""
    other = collinear(3, seed)
    hinges = {pair: d * (0.5 if pair[0] == 2 else 1.0) for pair, d in other.hinges.items()}
    masses = np.array([other.masses[0], mass, other.masses[2]])
    return Bodies(TRIPLE, masses, other.inertias, hinges)


@listed("B-3.13-count")
def four_or_six() -> Residual:
    found, counts, bent = [], set(), [bodies(TRIPLE, 0), bodies(TRIPLE, 1)]
    locked, joints = shape(TRIPLE).locked_inertia, shape(TRIPLE).joints
    derivatives = [sympy.diff(locked, joint) for joint in joints]
    straight = [
        make for seed in range(2) for make in (collinear(3, seed), _light_middle(seed, 0.15))
    ]
    for model in (*straight, *bent):
        zeros = find_zeros(derivatives, joints, parameters=model.values)
        counts.add(len(zeros))
        allowed = (4, 6) if model in bent else (_expected_count(model),)
        found.append(float(not zeros.complete or zeros.index != 0 or len(zeros) not in allowed))
    return found, float(counts != {4, 6})


@listed("B-3.13-equilibrium-rates")
def standing_states() -> Residuals:
    for model in (collinear(3, 0), _light_middle(0, 0.15)):
        for e in relative_equilibria(shape(TRIPLE), model.values, 1.7).found:
            x = np.concatenate([e.angles, e.momenta])
            stretched = bool(np.max(np.abs(e.angles)) < 1e-9)
            yield library_rates(model, x), distance(model.rates(x), e.rate)
            yield distance(sum(e.momenta), 1.7), float((e.stability == "stable") != stretched)


@listed("B-3.13-bifurcation")
def critical_mass() -> Residual:
    middle = sympy.Symbol("m", positive=True)
    ends = {(1, 2): (0.9, 0), (2, 1): (-0.4, 0), (2, 3): (0.4, 0), (3, 2): (-0.9, 0)}
    chain = planar_chain(3, masses=[1.2, middle, 1.2], inertias=[1, 1, 1], hinges=ends)
    derivatives = [sympy.diff(chain.locked_inertia, joint) for joint in chain.joints]
    diagram = zero_diagram(derivatives, chain.joints, middle, [0.6, 3.9])
    if len(diagram.bifurcations) != 1:
        return 1.0
    (change,) = diagram.bifurcations
    # 1/C = 2/A with A = d (eps_12 h + eps_31 2 h) and C = eps_31 d^2, eps_12 / eps_31 = m / 1.2
    critical = 1.2 * (2 * 0.9 - 2 * 0.4) / 0.4
    wrong = float(change.counts != (6, 4)), float(not diagram.complete)
    return distance(change.value, critical), wrong


# -- periodic orbits -------------------------------------------------------------------------------


@cache
def _symmetric() -> dict[str, float]:
    """Parameters of a chain that is the same from both ends, and its momentum."""
    ahead, half = np.array([0.9, 0.0]), np.array([0.7, 0.0])
    hinges = {(1, 2): ahead, (2, 1): -half, (2, 3): half, (3, 2): -ahead}
    model = Bodies(TRIPLE, np.array([1.1, 0.8, 1.1]), np.array([0.5, 0.7, 0.5]), hinges)
    return model.values | {"mu": 2.0}


def _crossing(speeds: Array, time: float) -> Array:
    """Angles and rates (4,) of the hinges a time after both were at zero."""
    start = {"theta_21_dot": float(speeds[0]), "theta_32_dot": float(speeds[1])}
    system, run = shape(TRIPLE).reduced_system(), partial(simulate, rtol=1e-12)
    motion = run(system, start=start, span=(0, time), at=[time], parameters=_symmetric())
    names = ("theta_21", "theta_32", "theta_21_dot", "theta_32_dot")
    return np.array([motion[name][-1] for name in names])


def _half_orbit(sign: float, frequency: float, speed: float) -> tuple[Array, float]:
    """Rates at zero angles and half the period of an orbit near a mode, by Newton's method."""
    unknowns = np.array([sign * speed, np.pi / frequency])
    for _ in range(8):
        here = _crossing(np.array([speed, unknowns[0]]), float(unknowns[1]))
        there = _crossing(np.array([speed, unknowns[0] + 1e-7]), float(unknowns[1]))
        table = np.column_stack([(there - here)[:2] / 1e-7, here[2:]])
        unknowns = unknowns - np.linalg.solve(table, here[:2])
        if np.max(np.abs(here[:2])) < 1e-10:
            break
    return np.array([speed, unknowns[0]]), float(unknowns[1])


@listed("B-3.13-periodic")
def periodic_orbits() -> Residuals:
    equilibria = relative_equilibria(shape(TRIPLE), _symmetric(), 2.0).found
    (stretched,) = (e for e in equilibria if e.stability == "stable")
    for sign in (-1.0, 1.0):
        frequency, gaps = _frequency(stretched.linear, sign), []
        for speed in (0.02, 0.01):
            speeds, half = _half_orbit(sign, frequency, speed)
            early, late, returned = (_crossing(speeds, part * half) for part in (0.3, 1.3, 2.0))
            gaps.append(abs(half * frequency / np.pi - 1))
            same, other = (early, late) if sign < 0 else (late, early)
            swapped = -early[[1, 0, 3, 2]]
            yield returned - np.array([0, 0, *speeds]), same - swapped
            yield apart(worst(other - swapped), 1e-3 * speed)
        yield distance(np.min(np.abs(stretched.linear.frequencies - frequency)), 0.0)
        yield 1e-4 * excess(gaps[0] - 1e-2) + 1e-4 * excess(gaps[1] - gaps[0] / 3.5)


def _frequency(linear: Equilibrium, sign: float) -> float:
    """The frequency of the mode with theta_32 = sign theta_21, from M and K on that line."""
    direction = np.array([1.0, sign])
    stiffness, mass = (direction @ table @ direction for table in (linear.stiffness, linear.mass))
    return float(np.sqrt(stiffness / mass))
