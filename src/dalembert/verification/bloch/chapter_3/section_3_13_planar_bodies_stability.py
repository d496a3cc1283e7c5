"""Bloch and others, Internet Supplement, section 3.13: stability of two hinged bodies.

Equations 3.13.52 to Theorem 3.13.2, with random collinear pairs, stretched (theta = 0) and folded
(theta = pi). The library gives second variations (`energy_casimir`), proved relative equilibria
with their eigenvalues, and motions; independent implementations are closed forms, complex steps and
quadrature.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy

from ....analysis.stability.energy_casimir import EnergyCasimir, energy_casimir
from ....analysis.symmetry.planar_reduction import (
    reduced_hamiltonian,
    reduced_structure,
    relative_equilibria,
)
from ....formulations.registry import derive
from ....integrate.motion import Motion
from ....integrate.simulate import simulate
from ....typing import Array
from ...independent.hinged_bodies import Lowered, collinear, shape
from ...numeric import Probe, Residual, Residuals, derivative, distance, excess, panel_nodes
from ...row_registry import Corrected, listed
from ...samples import Sampler
from .section_3_13_planar_bodies import PAIR, HingedPair, PairSample, pairs


class TurningPair(NamedTuple):
    """A pair that turns at a rate, stretched (sign 1) or folded (-1), with its state x."""

    p: HingedPair
    x: Array
    rate: float
    sign: float

    @property
    def method(self) -> EnergyCasimir:
        """The library's energy-Casimir method at the state."""
        return _method(self.p, self.x)

    @property
    def coupling(self) -> float:
        """+- eps d1 d2."""
        return self.sign * self.p.eps * self.p.lengths


def _draw_turning(_: str) -> Iterator[TurningPair]:
    for seed, p in enumerate(straight):
        for theta, sign in ((0.0, 1.0), (np.pi, -1.0)):
            rate = 0.7 + 0.2 * seed
            yield TurningPair(p, p.turning(theta, rate), rate, sign)


straight = Sampler(lambda _: [HingedPair(collinear(2, seed)) for seed in range(3)])
turning = Sampler(_draw_turning)


@cache
def _hessian() -> Lowered:
    """The library's Hamiltonian, differentiated in symbols once and by its graph again."""
    pair = shape(PAIR)
    symbols, energy = (*pair.joints, *pair.momenta), reduced_hamiltonian(pair)
    return Lowered([sympy.diff(energy, symbol) for symbol in symbols], symbols)


def _at(p: HingedPair, x: Array) -> Any:
    """The library's Hessian of H (3, 3)."""
    return _hessian()(x, p.model.values)[1]


def _method(p: HingedPair, x: Array) -> EnergyCasimir:
    pair = shape(PAIR)
    point = dict(zip((*pair.joints, *pair.momenta), map(float, x), strict=True))
    point |= {sympy.Symbol(k): v for k, v in p.model.values.items()}
    structure, energy = reduced_structure(pair), reduced_hamiltonian(pair)
    return energy_casimir(structure, energy, [sum(pair.momenta)], point)


@listed("B-3.13.52", over=turning)
def multiplier(s: TurningPair) -> Residual:
    phi = s.method.multipliers
    rest = s.p.model.gradient(s.x) + np.array([0.0, phi[0], phi[0]])
    return distance(phi, [-s.rate]), rest


@listed("B-3.13.53", over=turning)
def second_variation(s: TurningPair) -> Residual:
    (i1, i2), c = s.p.own, s.p.eps * s.p.lam(s.x[0])
    expected = derivative(s.p.gradient, s.x)
    expected[1:, 1:] += 0.3
    matrix = s.method.second_variation(0.3)
    inverse = np.array([[i2, -c], [-c, i1]]) / s.p.delta(s.x[0])
    return distance(matrix, expected), distance(matrix[1:, 1:], inverse + 0.3)


@listed("B-3.13.53-mixed", over=pairs, misprint={"power": 2})
def mixed_derivatives(s: PairSample, power: int = 1) -> Residual:
    p, theta = s.p, s.x[0]
    (i1, i2), c, w = p.own, p.eps * p.lam(theta), p.rates(s.x)
    terms = -p.eps * p.lam(theta, 1) * np.array([i2 * w[1] - c * w[0], i1 * w[0] - c * w[1]])
    return distance(_at(p, s.x)[0, 1:], terms / p.delta(theta) ** power)


@listed("B-3.13.53-angle", over=pairs)
def angular_derivative(s: PairSample) -> Residual:
    p, theta, w, library = s.p, s.x[0], s.p.rates(s.x), _at(s.p, s.x)
    mixed = library[0, 1] * w[1] + library[0, 2] * w[0]
    expected = -p.eps * (p.lam(theta, 2) * w[0] * w[1] + p.lam(theta, 1) * mixed)
    return distance(library[0, 0], expected)


@listed("B-3.13.54-inverse", over=turning)
def hessian_in_equilibrium(s: TurningPair) -> Residual:
    (i1, i2), c, library = s.p.own, s.coupling, _at(s.p, s.x)
    inverse = np.array([[i2, -c], [-c, i1]]) / (i1 * i2 - c**2)
    by_angle = distance(library[0, 0], c * s.rate**2)
    return library[0, 1:], by_angle, distance(library[1:, 1:], inverse)


@listed("B-3.13.54")
def second_variation_in_equilibrium() -> Corrected:
    def gap(s: TurningPair, factor: float) -> float:
        matrix = np.zeros((3, 3))
        matrix[0, 0] = s.coupling * s.rate**2 * factor
        matrix[1:, 1:] = np.linalg.inv(s.p.model.inertia(s.x[:1])) + 0.3
        return distance(s.method.second_variation(0.3), matrix)

    printed = min(gap(s, s.p.lam(s.x[0])) for s in turning)
    return Corrected([gap(s, 1.0) for s in turning], printed)


@listed("B-3.13.54-definite", over=turning)
def definiteness(s: TurningPair) -> Residual:
    method = s.method

    def sizes(phi: float) -> Any:
        return np.linalg.eigvalsh(method.second_variation(phi))

    if s.sign < 0:
        values = [sizes(phi) for phi in (-10.0, 0.0, 1.0, 100.0)]
        indefinite = [excess(float(v[0])) + excess(-float(v[-1])) for v in values]
        return indefinite, float(method.least_curvature is not None)
    least = -1 / s.p.model.locked(s.x[:1])
    return (
        [excess(-float(sizes(phi)[0])) for phi in (0.0, 1.0, 100.0, 0.999 * least)],
        distance(method.least_curvature, least),
        excess(float(sizes(1.001 * least)[0])),
    )


@cache
def _reduced() -> Probe:
    system = shape(PAIR).reduced_system()
    return Probe(derive(system, "lagrange"), {p.name: 1.0 for p in system.parameters})


def _potential(p: HingedPair, theta: float, total: float) -> float:
    """V of the library: the energy of the reduced system at rest."""
    return _reduced().with_parameters(**p.model.values, mu=total).blocks(0.0, [theta, 0.0]).energy


@listed("B-3.13.55")
def amended_potential() -> Corrected:
    right, printed = [], []
    for p, x in pairs:
        total, theta = float(x[1] + x[2]), float(x[0])
        (i1, i2), c = p.own, p.eps * p.lam(theta)
        plus, minus, delta = i1 + i2 + 2 * c, i1 + i2 - 2 * c, p.delta(theta)
        library = _potential(p, theta, total)
        inverse = np.linalg.inv(p.model.inertia([theta]))
        least = total**2 / 2 / np.sum(np.linalg.inv(inverse))
        written = total**2 * (minus / 4 - (i1 - i2) ** 2 / (4 * plus)) / (2 * delta)
        wrong = total**2 * (minus / 4 + (i1 + i2) ** 2 / (4 * plus)) / (2 * delta)
        right += [distance(library, form) for form in (total**2 / (2 * plus), written, least)]
        printed.append(distance(library, wrong))
    return Corrected(right, min(printed))


@listed("B-3.13.55-stability", over=turning)
def stability_by_the_potential(s: TurningPair) -> Residual:
    p, x, rate, sign = s
    total = float(x[1] + x[2])
    equilibria = relative_equilibria(shape(PAIR), p.model.values, total).found
    (e,) = (e for e in equilibria if (abs(e.angles[0]) < 1) == (sign > 0))
    c = p.eps * p.lengths
    square = c * rate**2 * (sum(p.own) + 2 * sign * c) / (p.own[0] * p.own[1] - c**2)
    expected = np.sqrt(square + 0j) * (1j if sign > 0 else 1)
    left, here, right = (_potential(p, x[0] + step, total) for step in (-0.05, 0.0, 0.05))
    return (
        [np.min(np.abs(v - expected)) for v in (e.linear.eigenvalues, s.method.eigenvalues)],
        distance(e.rate, rate),
        float(e.stability != ("stable" if sign > 0 else "unstable")),
        float(np.sign(left + right - 2 * here) != sign),
    )


@listed("B-Theorem-3.13.2", over=straight)
def two_relative_equilibria(p: HingedPair) -> Residual:
    library = relative_equilibria(shape(PAIR), p.model.values, 1.1)
    verdicts = [(round(abs(float(e.angles[0])), 9), e.stability) for e in library.found]
    methods = [_method(p, np.array([*e.angles, *e.momenta])).stability for e in library.found]
    expected = [(0.0, "stable"), (round(np.pi, 9), "unstable")]
    right = library.complete and verdicts == expected and methods == ["stable", "unstable"]
    return float(not right)


def _speed(p: HingedPair, total: float, energy: float, theta: float) -> float:
    """theta_dot with theta_dot^2 = 2 (E - V) 1^T J 1 / Delta."""
    plus = p.model.locked([theta])
    return float(np.sqrt(2 * (energy - total**2 / (2 * plus)) * plus / p.delta(theta)))


def _quadrature(p: HingedPair, total: float, energy: float, last: float) -> float:
    """The time from the angle 0 to another at an energy."""
    nodes, weights = panel_nodes(0.0, last, 80)
    return float(weights @ (1 / np.array([_speed(p, total, energy, theta) for theta in nodes])))


def _released(p: HingedPair, total: float, theta: float, speed: float, times: Array) -> Motion:
    """The library's reduced motion from an angle and its rate."""
    start, values = {"theta_21": theta, "theta_21_dot": speed}, p.model.values | {"mu": total}
    system, span = shape(PAIR).reduced_system(), (0, times[-1])
    return simulate(system, start=start, span=span, at=times, parameters=values, rtol=1e-12)


@listed("B-Theorem-3.13.2-integrable")
def integrable() -> Residuals:
    pair, total, angles = shape(PAIR), 1.4, np.array([0.2, 0.5, 0.8])
    structure, casimir = reduced_structure(pair), sum(pair.momenta)
    yield float(structure.generic_rank != 2 or not structure.is_casimir(casimir).holds)
    for p in straight:
        low, high = (total**2 / (2 * p.model.locked([theta])) for theta in (0.0, np.pi))
        energy = (low + high) / 2
        times = np.array([_quadrature(p, total, energy, theta) for theta in angles])
        motion = _released(p, total, 0.0, _speed(p, total, energy, 0.0), times)
        yield [
            distance(motion["theta_21"], angles),
            distance(motion.energy, energy),
            distance(motion["mu_1"] + motion["mu_2"], total),
        ]


@listed("B-Theorem-3.13.2-homoclinic", over=straight)
def homoclinic(p: HingedPair) -> Residual:
    total = 1.4
    energy = total**2 / (2 * p.model.locked([np.pi]))
    near = np.pi - np.array([1.0, 0.1, 0.01])
    times = np.array([_quadrature(p, total, energy, theta) for theta in near])
    motion = _released(p, total, 0.0, _speed(p, total, energy, 0.0), times)
    c, rate = p.eps * p.lengths, total / p.model.locked([np.pi])
    growth = np.sqrt(c * rate**2 * (sum(p.own) - 2 * c) / (p.own[0] * p.own[1] - c**2))
    speeds = motion["theta_21_dot"]
    back = _released(p, total, -motion["theta_21"][-1], speeds[-1], times[-1:])
    return (
        distance(motion["theta_21"], near),
        1e-2 * excess(abs(speeds[-1] / (0.01 * growth) - 1) - 1e-3),
        excess(-float(np.min(speeds))),
        float(back["theta_21"][-1]),
    )
