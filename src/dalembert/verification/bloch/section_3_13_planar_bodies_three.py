"""Bloch and others, Internet Supplement, section 3.13: three hinged bodies (3.13.59, 3.13.60, and what the text says of them).

Random chains of three bodies. The library gives J, rates, proved relative equilibria and their bifurcations, and motions.
Independent implementations are the closed entries of J, complex steps of the energy, and a criterion for collinear hinges: with
l_12 = A cos, l_23 = B cos and l_31 = C cos, the critical points of A cos a + B cos b + C cos(a + b) are the four with a and b
in {0, pi}, and two more just where 1/A, 1/B and 1/C are the sides of a triangle, since A sin a = B sin b = -C sin(a + b) there.
For any hinges there are at most six, the doubled area of the Newton polygon, and as many maxima and minima together as saddles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...analysis.proofs.zeros import find_zeros
from ...analysis.stability.bifurcation import zero_diagram
from ...analysis.symmetry.planar_reduction import relative_equilibria
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.builders.planar_bodies import planar_chain
from ..independent.hinged_bodies import CHAIN, Bodies, Lowered, bodies, collinear, library_rates, shape, states, turn
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

TRIPLE = CHAIN[3]
RANDOM = "random chains of three bodies at random states"
APART = 1e-3


@cache
def _lowered() -> Lowered:
    found = shape(TRIPLE)
    return Lowered(list(found.inertia), found.joints)


def _inertia(twin: Bodies, x: Any) -> Any:
    """J of the library (3, 3)."""
    return _lowered()(x[:2], twin.values)[0].reshape(3, 3)


def _reduced_masses(twin: Bodies) -> tuple[float, float, float]:
    """eps_12, eps_23 and eps_31."""
    m1, m2, m3 = twin.masses
    return tuple(float(p / sum(twin.masses)) for p in (m1 * m2, m2 * m3, m3 * m1))  # type: ignore[return-value]


def lam(x: Any, y: Any, angle: float) -> float:
    """lambda_(x,y)(angle) = x . y cos + (x cross y) sin."""
    return float(x @ y * np.cos(angle) + (x[0] * y[1] - x[1] * y[0]) * np.sin(angle))


def _over_triples(residual: Callable[[Bodies, Any], float]) -> float:
    return worst(residual(twin, x) for twin, x in states(TRIPLE, 4))


def _either(residual: Callable[[Bodies, Any, bool], float]) -> Corrected:
    """The residuals of the corrected form and of the print."""
    return Corrected(_over_triples(lambda b, x: residual(b, x, False)), _over_triples(lambda b, x: residual(b, x, True)))


# -- the entries of J --------------------------------------------------------------------------------------------------


@claim(
    "B-3.13.59",
    "J is symmetric, with I~_1, I~_2, I~_3 on its diagonal, l_12(theta_21), l_23(theta_32), l_31(theta_21 + theta_32) off it;"
    " the print has I~_1 for I~_2",
    how=f"{RANDOM}: the library's J against sums of squares of velocities, and its dependence on the angles",
)
def inertia_matrix() -> Corrected:
    def residual(twin: Bodies, x: Any, printed: bool) -> float:
        table, library = twin.inertia(x[:2]), _inertia(twin, x)
        moved = [_inertia(twin, x + step) for step in (np.array([0, 0.4, 0, 0, 0]), np.array([0.4, -0.4, 0, 0, 0]))]
        kept = [moved[0][0, 1] - library[0, 1], moved[1][0, 2] - library[0, 2]]
        if printed:
            table = table.copy()
            table[1, 1] = table[0, 0]
        return largest(distance(library, table), worst(kept))

    return _either(residual)


@claim(
    "B-3.13.59-I1",
    "I~_1 = I_1 + (eps_12 + eps_31) |d12|^2; the print multiplies eps_12 by eps_31",
    how=f"{RANDOM}: the library's entry against the closed forms",
)
def first_inertia() -> Corrected:
    def residual(twin: Bodies, x: Any, printed: bool) -> float:
        (e12, _, e31), d = _reduced_masses(twin), twin.hinges[1, 2]
        return distance(_inertia(twin, x)[0, 0], twin.inertias[0] + (e12 * e31 if printed else e12 + e31) * d @ d)

    return _either(residual)


@claim(
    "B-3.13.59-I2",
    "I~_2 = I_2 + eps_12 |d21|^2 + eps_23 |d23|^2 + eps_31 |d23 - d21|^2; the print has d23 - d23 in the second term",
    how=f"{RANDOM}: the library's entry against the closed forms",
)
def second_inertia() -> Corrected:
    def residual(twin: Bodies, x: Any, printed: bool) -> float:
        (e12, e23, e31), back, ahead = _reduced_masses(twin), twin.hinges[2, 1], twin.hinges[2, 3]
        between = 0.0 if printed else e23 * ahead @ ahead
        found = twin.inertias[1] + e12 * back @ back + between + e31 * (ahead - back) @ (ahead - back)
        return distance(_inertia(twin, x)[1, 1], found)

    return _either(residual)


@claim(
    "B-3.13.59-I3",
    "I~_3 = I_3 + (eps_23 + eps_31) |d32|^2, with eps_ij = m_i m_j / (m_1 + m_2 + m_3)",
    how=f"{RANDOM}: the library's entry against the closed form",
)
def third_inertia() -> float:
    def residual(twin: Bodies, x: Any) -> float:
        (_, e23, e31), d = _reduced_masses(twin), twin.hinges[3, 2]
        return distance(_inertia(twin, x)[2, 2], twin.inertias[2] + (e23 + e31) * d @ d)

    return _over_triples(residual)


@claim(
    "B-3.13.59-lambda12",
    "l_12 = eps_12 lambda_(-d21, d12) + eps_31 lambda_(d23 - d21, d12), at theta_21",
    how=f"{RANDOM}: the library's entry against the closed form; d23 - d21 is one vector, where the print has a comma too many",
)
def first_coupling() -> float:
    def residual(twin: Bodies, x: Any) -> float:
        (e12, _, e31), h = _reduced_masses(twin), twin.hinges
        found = e12 * lam(-h[2, 1], h[1, 2], x[0]) + e31 * lam(h[2, 3] - h[2, 1], h[1, 2], x[0])
        return distance(_inertia(twin, x)[0, 1], found)

    return _over_triples(residual)


@claim(
    "B-3.13.59-lambda23",
    "l_23 = eps_23 lambda_(-d32, d23) + eps_31 lambda_(-d32, d23 - d21), at theta_32",
    how=f"{RANDOM}: the library's entry against the closed form; d23 - d21 is one vector, where the print has a comma",
)
def second_coupling() -> float:
    def residual(twin: Bodies, x: Any) -> float:
        (_, e23, e31), h = _reduced_masses(twin), twin.hinges
        found = e23 * lam(-h[3, 2], h[2, 3], x[1]) + e31 * lam(-h[3, 2], h[2, 3] - h[2, 1], x[1])
        return distance(_inertia(twin, x)[1, 2], found)

    return _over_triples(residual)


@claim(
    "B-3.13.59-lambda31",
    "l_31 = eps_31 lambda_(-d32, d12), at theta_21 + theta_32; the print has d32",
    how=f"{RANDOM}: the library's entry against both forms",
)
def third_coupling() -> Corrected:
    def residual(twin: Bodies, x: Any, printed: bool) -> float:
        (_, _, e31), h = _reduced_masses(twin), twin.hinges
        return distance(_inertia(twin, x)[0, 2], e31 * lam((1 if printed else -1) * h[3, 2], h[1, 2], x[0] + x[1]))

    return _either(residual)


@claim(
    "B-3.13.59-lambda",
    "lambda_(x,y)(angle) = x . y cos + (x cross y) sin = y . R(angle) x",
    how="random vectors and angles: both forms",
)
def coupling_function() -> float:
    random = np.random.default_rng(6)
    draws = [(random.normal(size=2), random.normal(size=2), float(random.uniform(-3, 3))) for _ in range(5)]
    return worst(distance(lam(x, y, angle), y @ turn(angle) @ x) for x, y, angle in draws)


# -- dynamics ----------------------------------------------------------------------------------------------------------


@claim(
    "B-3.13.60",
    "mu_1_dot = H_theta_21, mu_2_dot = -H_theta_21 + H_theta_32, mu_3_dot = -H_theta_32, theta_21_dot = H_mu_2 - H_mu_1,"
    " theta_32_dot = H_mu_3 - H_mu_2",
    how=f"{RANDOM}: the library's rates against complex steps of H",
)
def equations() -> float:
    def residual(twin: Bodies, x: Any) -> float:
        a, b, w1, w2, w3 = twin.gradient(x)
        return distance(library_rates(twin, x), [w2 - w1, w3 - w2, a, b - a, -b])

    return _over_triples(residual)


@claim(
    "B-3.13.60-sum",
    "mu_1 + mu_2 + mu_3 is constant in time",
    how="a random chain of three bodies: momenta along the library's motion in absolute angles",
    tolerance=1e-9,
)
def total_momentum() -> float:
    twin = bodies(TRIPLE, 2)
    start = {"theta1": 0.2, "theta2": 0.9, "theta3": -0.4, "p_theta1": 1.0, "p_theta2": -0.3, "p_theta3": 0.6}
    motion = simulate(shape(TRIPLE).system(), start=start, span=(0, 8), parameters=twin.values, rtol=1e-11)
    momenta = np.array([motion[f"p_theta{i}"] for i in (1, 2, 3)])
    return largest(distance(momenta.sum(axis=0), 1.3), excess(APART - float(np.ptp(momenta[0]))))


@claim(
    "B-3.13-magnetic",
    "For three bodies the leaves have magnetic terms, mu d((1^T J S) / (1^T J 1)), which two bodies have not",
    how="random chains at random angles: derivatives of the library's reduced momenta at rest, against complex steps of J",
)
def magnetic_terms() -> float:
    found = []
    for count in (2, 3):
        system = shape(CHAIN[count]).reduced_system()
        probe = Probe(derive(system, "lagrange"), {p.name: 1.0 for p in system.parameters})
        momenta = Lowered(
            [sympy.diff(system.lagrangian, v).xreplace(_rest(system)) for v in system.velocities], system.coordinates
        )
        for twin, x in states(CHAIN[count], 2):
            values = twin.values | {"mu": 1.3}
            bend = momenta(x[: count - 1], values)[1]
            beyond = np.tril(np.ones((count, count)), 0)[:, 1:]

            def form(joints: Any, twin: Bodies = twin, beyond: Any = beyond) -> Any:
                table = twin.inertia(joints)
                return 1.3 * (table.sum(axis=0) @ beyond) / table.sum()

            reference = derivative(form, x[: count - 1])
            found.append(distance(bend - bend.T, reference - reference.T))
            if count == 3:
                found.append(excess(APART - abs(float(bend[0, 1] - bend[1, 0]))))
        found.append(float(len(probe.equations.state) != 2 * (count - 1)))
    return worst(found)


def _rest(system: Any) -> dict[Any, Any]:
    return dict.fromkeys(system.velocities, sympy.Integer(0))


# -- relative equilibria -----------------------------------------------------------------------------------------------


def _amplitudes(twin: Bodies) -> Any:
    """A, B and C of a collinear chain (3,)."""
    table = twin.inertia(np.zeros(2))
    return np.array([table[0, 1], table[1, 2], table[0, 2]])


def _expected_count(twin: Bodies) -> int:
    """4, or 6 where the inverse amplitudes are the sides of a triangle."""
    sides = 1 / np.abs(_amplitudes(twin))
    return 6 if 2 * np.max(sides) < np.sum(sides) else 4


def _light_middle(seed: int, mass: float) -> Bodies:
    """A collinear chain whose middle body is light and short, so that the outer ones pull at each other."""
    other = collinear(3, seed)
    hinges = {pair: d * (0.5 if pair[0] == 2 else 1.0) for pair, d in other.hinges.items()}
    return Bodies(TRIPLE, np.array([other.masses[0], mass, other.masses[2]]), other.inertias, hinges)


@claim(
    "B-3.13-count",
    "Three bodies have 4 or 6 relative equilibria: w_1 = w_2 = w_3 and 1^T J 1 critical in the angles",
    how="random chains, collinear and not: all zeros of the derivative of the library's 1^T J 1 by proof, with indices "
    "that sum to"
    " 0; for collinear hinges their number against the triangle of 1/A, 1/B and 1/C",
)
def four_or_six() -> float:
    found, counts = [], set()
    locked = shape(TRIPLE).locked_inertia
    joints = shape(TRIPLE).joints
    derivatives = [sympy.diff(locked, joint) for joint in joints]
    straight = [*(collinear(3, seed) for seed in range(2)), *(_light_middle(seed, 0.15) for seed in range(2))]
    for twin in [*straight, bodies(TRIPLE, 0), bodies(TRIPLE, 1)]:
        zeros = find_zeros(derivatives, joints, parameters=twin.values)
        counts.add(len(zeros))
        expected = _expected_count(twin) if any(twin is other for other in straight) else len(zeros)
        found.append(float(not zeros.complete or zeros.index != 0 or len(zeros) not in (4, 6) or len(zeros) != expected))
    found.append(float(counts != {4, 6}))
    return largest(*found)


@claim(
    "B-3.13-equilibrium-rates",
    "In these states nothing moves on the reduced space, all bodies turn at mu / 1^T J 1, and the stretched one is stable",
    how="random collinear chains: the library's rates at its relative equilibria, and their stability",
)
def standing_states() -> float:
    found = []
    for twin in (collinear(3, 0), _light_middle(0, 0.15)):
        for e in relative_equilibria(shape(TRIPLE), twin.values, 1.7).found:
            x = np.concatenate([e.angles, e.momenta])
            found += [worst(library_rates(twin, x)), distance(twin.rates(x), e.rate), distance(sum(e.momenta), 1.7)]
            stretched = bool(np.max(np.abs(e.angles)) < 1e-9)
            found.append(float((e.stability == "stable") != stretched))
    return worst(found)


@claim(
    "B-3.13-bifurcation",
    "The parameters determine the change between 4 and 6: for collinear hinges where 1/A, 1/B and 1/C form a flat triangle",
    how="a symmetric collinear chain with a varied middle mass: the library's critical value against the flat triangle",
    tolerance=1e-9,
)
def critical_mass() -> float:
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
    return largest(distance(change.value, critical), float(change.counts != (6, 4)), float(not diagram.complete))


# -- periodic orbits ---------------------------------------------------------------------------------------------------


@cache
def _symmetric() -> dict[str, float]:
    """Parameters of a chain that is the same from both ends, and its momentum."""
    ahead, half = np.array([0.9, 0.0]), np.array([0.7, 0.0])
    hinges = {(1, 2): ahead, (2, 1): -half, (2, 3): half, (3, 2): -ahead}
    twin = Bodies(TRIPLE, np.array([1.1, 0.8, 1.1]), np.array([0.5, 0.7, 0.5]), hinges)
    return twin.values | {"mu": 2.0}


def _crossing(speeds: Any, time: float) -> Any:
    """Angles and rates (4,) of the hinges a time after both were at zero."""
    start = {"theta_21_dot": float(speeds[0]), "theta_32_dot": float(speeds[1])}
    motion = simulate(
        shape(TRIPLE).reduced_system(), start=start, span=(0, time), at=[time], parameters=_symmetric(), rtol=1e-12
    )
    return np.array([motion[name][-1] for name in ("theta_21", "theta_32", "theta_21_dot", "theta_32_dot")])


def _half_orbit(sign: float, frequency: float, speed: float) -> tuple[Any, float]:
    """Rates at zero angles and half the period of an orbit near a mode, by Newton's method on the return to zero angles."""
    unknowns = np.array([sign * speed, np.pi / frequency])
    for _ in range(8):
        here = _crossing([speed, unknowns[0]], float(unknowns[1]))
        there = _crossing([speed, unknowns[0] + 1e-7], float(unknowns[1]))
        table = np.column_stack([(there - here)[:2] / 1e-7, here[2:]])
        unknowns = unknowns - np.linalg.solve(table, here[:2])
        if np.max(np.abs(here[:2])) < 1e-10:
            break
    return np.array([speed, unknowns[0]]), float(unknowns[1])


@claim(
    "B-3.13-periodic",
    "Near the stable stretched state of three bodies there are relative periodic orbits of different symmetry: with theta_21 ="
    " -theta_32 at all times, and with theta_21 and -theta_32 half a period apart; their periods tend to those of linear modes",
    how="a chain with equal ends: orbits of the library's reduced motion by shooting between its symmetric states; their"
    " symmetry, and periods against its linear modes",
    tolerance=1e-7,
)
def periodic_orbits() -> float:
    (stretched,) = (e for e in relative_equilibria(shape(TRIPLE), _symmetric(), 2.0).found if e.stability == "stable")
    found = []
    for sign in (-1.0, 1.0):
        frequency = _frequency(stretched.linear, sign)
        gaps = []
        for speed in (0.02, 0.01):
            speeds, half = _half_orbit(sign, frequency, speed)
            early, late, returned = (_crossing(speeds, part * half) for part in (0.3, 1.3, 2.0))
            gaps.append(abs(half * frequency / np.pi - 1))
            swapped = -early[[1, 0, 3, 2]]
            found += [worst(returned - np.array([0, 0, *speeds])), worst((early if sign < 0 else late) - swapped)]
            found.append(excess(APART * speed - worst((late if sign < 0 else early) - swapped)))
        found += [distance(np.min(np.abs(stretched.linear.frequencies - frequency)), 0.0)]
        found.append(1e-4 * excess(gaps[0] - 1e-2) + 1e-4 * excess(gaps[1] - gaps[0] / 3.5))
    return worst(found)


def _frequency(linear: Any, sign: float) -> float:
    """The frequency of the mode with theta_32 = sign theta_21, from M and K on that line."""
    direction = np.array([1.0, sign])
    return float(np.sqrt(direction @ linear.stiffness @ direction / (direction @ linear.mass @ direction)))
