"""Bloch and others, Internet Supplement, section 3.13: stability of two hinged bodies (3.13.52 to Theorem 3.13.2).

Random collinear pairs, stretched (theta = 0) and folded (theta = pi). The library gives second variations (`energy_casimir`),
proved relative equilibria with their eigenvalues, and motions; independent implementations are closed forms, complex steps and
quadrature.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...analysis.stability.energy_casimir import EnergyCasimir, energy_casimir
from ...analysis.symmetry.planar_reduction import reduced_hamiltonian, reduced_structure, relative_equilibria
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ..independent.hinged_bodies import Lowered, collinear, shape, states
from ..numeric import Probe, derivative, distance, excess, largest, panel_nodes, worst
from ..row_registry import Corrected, claim
from .section_3_13_planar_bodies import PAIR, Pair

COLLINEAR = "random collinear pairs, stretched and folded"
SEEDS = range(3)


@cache
def _hessian() -> Lowered:
    """The library's Hamiltonian, differentiated in symbols once and by its graph again."""
    pair = shape(PAIR)
    symbols = (*pair.joints, *pair.momenta)
    energy = reduced_hamiltonian(pair)
    return Lowered([sympy.diff(energy, symbol) for symbol in symbols], symbols)


def _at(p: Pair, x: Any) -> Any:
    return _hessian()(x, p.twin.values)[1]


def _turning() -> Iterator[tuple[Pair, Any, float, float]]:
    """Pairs that turn at a rate, stretched (sign 1) and folded (-1): the pair, the state, the rate, the sign."""
    for seed in SEEDS:
        p = Pair(collinear(2, seed))
        for theta, sign in ((0.0, 1.0), (np.pi, -1.0)):
            rate = 0.7 + 0.2 * seed
            yield p, p.turning(theta, rate), rate, sign


def _method(p: Pair, x: Any) -> EnergyCasimir:
    """The library's energy-Casimir method at a state."""
    pair = shape(PAIR)
    symbols = (*pair.joints, *pair.momenta)
    point = dict(zip(symbols, map(float, x), strict=True)) | {sympy.Symbol(k): v for k, v in p.twin.values.items()}
    return energy_casimir(reduced_structure(pair), reduced_hamiltonian(pair), [sum(pair.momenta)], point)


def _lengths(p: Pair) -> float:
    """d1 d2."""
    first, second = p.hinges
    return float(np.linalg.norm(first) * np.linalg.norm(second))


@claim(
    "B-3.13.52",
    "Equilibria are critical points of H + Phi(mu_1 + mu_2) with Phi' = -H_mu_1 = -H_mu_2; Phi'' is arbitrary",
    how=f"{COLLINEAR}: the library's Phi' against the rate of the bodies, and dH by complex steps",
)
def multiplier() -> float:
    found = []
    for p, x, rate, _ in _turning():
        phi = _method(p, x).multipliers
        found += [distance(phi, [-rate]), worst(p.twin.gradient(x) + np.array([0.0, phi[0], phi[0]]))]
    return worst(found)


@claim(
    "B-3.13.53",
    "The second variation of H + Phi(C) is the Hessian of H, with Phi'' added in the block of the momenta; H has J^-1 there",
    how=f"{COLLINEAR}, Phi'' = 0.3: the library's matrix against complex steps of dH, and J^-1 in closed form",
)
def second_variation() -> float:
    found = []
    for p, x, _, _ in _turning():
        (i1, i2), c = p.own, p.eps * p.lam(x[0])
        added = np.zeros((3, 3))
        added[1:, 1:] = 0.3
        matrix = _method(p, x).second_variation(0.3)
        inverse = np.array([[i2, -c], [-c, i1]]) / p.delta(x[0])
        found += [distance(matrix, derivative(p.gradient, x) + added), distance(matrix[1:, 1:], inverse + 0.3)]
    return worst(found)


@claim(
    "B-3.13.53-mixed",
    "H_theta_mu_1 = -eps lambda' (I~_2 w_2 - eps lambda w_1) / Delta, and H_theta_mu_2 likewise; the print has Delta^2",
    how="random pairs at random states: the library's Hessian against the closed forms",
)
def mixed_derivatives() -> Corrected:
    right, printed = [], []
    for twin, x in states(PAIR, 4):
        p = Pair(twin)
        (i1, i2), c, w = p.own, p.eps * p.lam(x[0]), p.rates(x)
        terms = -p.eps * p.lam(x[0], 1) * np.array([i2 * w[1] - c * w[0], i1 * w[0] - c * w[1]])
        library, delta = _at(p, x)[0, 1:], p.delta(x[0])
        right.append(distance(library, terms / delta))
        printed.append(distance(library, terms / delta**2))
    return Corrected(worst(right), worst(printed))


@claim(
    "B-3.13.53-angle",
    "H_theta_theta = -eps lambda'' w_1 w_2 - eps lambda' (H_theta_mu_1 w_2 + w_1 H_theta_mu_2)",
    how="random pairs at random states: the library's Hessian in the closed form",
)
def angular_derivative() -> float:
    found = []
    for twin, x in states(PAIR, 4):
        p, w = Pair(twin), Pair(twin).rates(x)
        library = _at(p, x)
        mixed = library[0, 1] * w[1] + library[0, 2] * w[0]
        found.append(distance(library[0, 0], -p.eps * (p.lam(x[0], 2) * w[0] * w[1] + p.lam(x[0], 1) * mixed)))
    return worst(found)


@claim(
    "B-3.13.54-inverse",
    "In equilibrium lambda = +- d1 d2, + for theta = 0, the mixed derivatives vanish, H_theta_theta = +- eps d1 d2 w^2, and"
    " J^-1 has -+ eps d1 d2 / Delta off its diagonal",
    how=f"{COLLINEAR}: the library's Hessian against the closed forms",
)
def hessian_in_equilibrium() -> float:
    found = []
    for p, x, rate, sign in _turning():
        (i1, i2), c, library = p.own, sign * p.eps * _lengths(p), _at(p, x)
        inverse = np.array([[i2, -c], [-c, i1]]) / (i1 * i2 - c**2)
        found += [worst(library[0, 1:]), distance(library[0, 0], c * rate**2), distance(library[1:, 1:], inverse)]
    return worst(found)


@claim(
    "B-3.13.54",
    "The second variation is diag(+- eps d1 d2 w^2, J^-1 + Phi'' 1 1^T); the print has a factor lambda in its first entry",
    how=f"{COLLINEAR}, Phi'' = 0.3: the library's matrix against both forms",
)
def second_variation_in_equilibrium() -> Corrected:
    right, printed = [], []
    for p, x, rate, sign in _turning():
        matrix = np.zeros((3, 3))
        matrix[0, 0] = sign * p.eps * _lengths(p) * rate**2
        matrix[1:, 1:] = np.linalg.inv(p.twin.inertia(x[:1])) + 0.3
        wrong = matrix.copy()
        wrong[0, 0] *= p.lam(x[0])
        library = _method(p, x).second_variation(0.3)
        right.append(distance(library, matrix))
        printed.append(distance(library, wrong))
    return Corrected(worst(right), min(printed))


@claim(
    "B-3.13.54-definite",
    "At theta = 0 the second variation is positive definite for Phi'' >= 0, and more precisely for Phi'' > -1 / 1^T J 1; at"
    " theta = pi it is indefinite for every Phi''",
    how=f"{COLLINEAR}: eigenvalues of the library's matrices for several Phi'', and its least Phi''",
)
def definiteness() -> float:
    found = []
    for p, x, _, sign in _turning():
        method = _method(p, x)
        values = {phi: np.linalg.eigvalsh(method.second_variation(phi)) for phi in (-10.0, 0.0, 1.0, 100.0)}
        if sign > 0:
            found += [excess(-float(values[phi][0])) for phi in (0.0, 1.0, 100.0)]
            least = -1 / p.twin.locked(x[:1])
            found.append(distance(method.least_curvature, least))
            found += [excess(-float(np.linalg.eigvalsh(method.second_variation(0.999 * least))[0]))]
            found += [excess(float(np.linalg.eigvalsh(method.second_variation(1.001 * least))[0]))]
        else:
            found += [excess(float(v[0])) + excess(-float(v[-1])) for v in values.values()]
            found.append(float(method.least_curvature is not None))
    return worst(found)


@cache
def _reduced() -> Probe:
    system = shape(PAIR).reduced_system()
    return Probe(derive(system, "lagrange"), {p.name: 1.0 for p in system.parameters})


def _potential(p: Pair, theta: float, total: float) -> float:
    """V of the library: the energy of the reduced system at rest."""
    return _reduced().with_parameters(**p.twin.values, mu=total).blocks(0.0, [theta, 0.0]).energy


@claim(
    "B-3.13.55",
    "V = mu^2 / (2 s) with s = I~_1 + I~_2 + 2 eps lambda; that is [I~_1 + I~_2 - 2 eps lambda - (I~_1 - I~_2)^2 / s] mu^2 /"
    " (8 Delta), where the print has + (I~_1 + I~_2)^2 / s",
    how="random pairs: the library's reduced energy at rest, and the least H over momenta of one sum, against all forms",
)
def amended_potential() -> Corrected:
    right, printed = [], []
    for twin, x in states(PAIR, 4):
        p, total, theta = Pair(twin), float(x[1] + x[2]), float(x[0])
        (i1, i2), c = p.own, p.eps * p.lam(theta)
        plus, minus, delta = i1 + i2 + 2 * c, i1 + i2 - 2 * c, p.delta(theta)
        library = _potential(p, theta, total)
        inverse = np.linalg.inv(twin.inertia([theta]))
        least = total**2 / 2 / np.sum(np.linalg.inv(inverse))
        right += [
            distance(library, total**2 / (2 * plus)),
            distance(library, total**2 * (minus / 4 - (i1 - i2) ** 2 / (4 * plus)) / (2 * delta)),
            distance(library, least),
        ]
        printed.append(distance(library, total**2 * (minus / 4 + (i1 + i2) ** 2 / (4 * plus)) / (2 * delta)))
    return Corrected(worst(right), min(printed))


@claim(
    "B-3.13.55-stability",
    "Minima of V are stable and maxima unstable: the frequency at theta = 0 and the growth rate at theta = pi have the square"
    " eps d1 d2 w^2 (I~_1 + I~_2 +- 2 eps d1 d2) / Delta",
    how="random collinear pairs: eigenvalues of the library's reduced motion and of its energy-Casimir matrix against them",
)
def stability_by_the_potential() -> float:
    found = []
    for p, x, rate, sign in _turning():
        total = float(x[1] + x[2])
        (e,) = (e for e in relative_equilibria(shape(PAIR), p.twin.values, total).found if (abs(e.angles[0]) < 1) == (sign > 0))
        c = p.eps * _lengths(p)
        square = c * rate**2 * (sum(p.own) + 2 * sign * c) / (p.own[0] * p.own[1] - c**2)
        expected = np.sqrt(square + 0j) * (1j if sign > 0 else 1)
        linear = [e.linear.eigenvalues, _method(p, x).eigenvalues]
        found += [float(np.min(np.abs(values - expected))) for values in linear]
        found += [distance(e.rate, rate), float(e.stability != ("stable" if sign > 0 else "unstable"))]
        derivative_of_force = _second_difference(p, float(x[0]), total)
        found.append(float(np.sign(derivative_of_force) != sign))
    return worst(found)


def _second_difference(p: Pair, theta: float, total: float) -> float:
    left, here, right = (_potential(p, theta + step, total) for step in (-0.05, 0.0, 0.05))
    return left + right - 2 * here


@claim(
    "B-Theorem-3.13.2",
    "Two bodies have one stable relative equilibrium, stretched out, and one unstable one, folded over",
    how="random collinear pairs: the library's relative equilibria, complete by proof, with their stability by two methods",
)
def two_relative_equilibria() -> float:
    found = []
    for seed in SEEDS:
        p = Pair(collinear(2, seed))
        library = relative_equilibria(shape(PAIR), p.twin.values, 1.1)
        verdicts = [(round(abs(float(e.angles[0])), 9), e.stability) for e in library.found]
        methods = [_method(p, np.array([*e.angles, *e.momenta])).stability for e in library.found]
        expected = [(0.0, "stable"), (round(np.pi, 9), "unstable")]
        found.append(float(not library.complete or verdicts != expected or methods != ["stable", "unstable"]))
    return largest(*found)


def _quadrature(p: Pair, total: float, energy: float, first: float, last: float) -> float:
    """The time from one angle to another at an energy: theta_dot^2 = 2 (E - V) 1^T J 1 / Delta."""
    nodes, weights = panel_nodes(first, last, 80)
    plus = np.array([p.twin.locked([theta]) for theta in nodes])
    delta = np.array([p.delta(theta) for theta in nodes])
    return float(weights @ (1 / np.sqrt(2 * (energy - total**2 / (2 * plus)) * plus / delta)))


def _speed(p: Pair, total: float, energy: float, theta: float) -> float:
    plus = p.twin.locked([theta])
    return float(np.sqrt(2 * (energy - total**2 / (2 * plus)) * plus / p.delta(theta)))


def _released(p: Pair, total: float, energy: float, times: Any) -> Motion:
    """The library's reduced motion from theta = 0 with an energy."""
    start = {"theta_21": 0.0, "theta_21_dot": _speed(p, total, energy, 0.0)}
    values = p.twin.values | {"mu": total}
    return simulate(shape(PAIR).reduced_system(), start=start, span=(0, times[-1]), at=times, parameters=values, rtol=1e-12)


@claim(
    "B-Theorem-3.13.2-integrable",
    "The two-body problem is integrable: H and mu_1 + mu_2 commute, leaves have dimension two, and the motion is a quadrature",
    how="random collinear pairs: rank and brackets of the library's structure; its motion against times by quadrature",
    tolerance=1e-9,
)
def integrable() -> float:
    pair = shape(PAIR)
    structure, casimir = reduced_structure(pair), sum(pair.momenta)
    found = [float(structure.generic_rank != 2 or not structure.is_casimir(casimir).holds)]
    for seed in SEEDS:
        p, total = Pair(collinear(2, seed)), 1.4
        low, high = (total**2 / (2 * p.twin.locked([theta])) for theta in (0.0, np.pi))
        energy = (low + high) / 2
        angles = np.array([0.2, 0.5, 0.8])
        times = np.array([_quadrature(p, total, energy, 0.0, theta) for theta in angles])
        motion = _released(p, total, energy, times)
        momenta = motion["mu_1"] + motion["mu_2"]
        found += [distance(motion["theta_21"], angles), distance(motion.energy, energy), distance(momenta, total)]
    return worst(found)


@claim(
    "B-Theorem-3.13.2-homoclinic",
    "An orbit leaves the folded equilibrium and comes back to it: at the energy V(pi) theta goes from -pi to pi, and reaches pi"
    " like the decaying eigenvector",
    how="random collinear pairs: the library's motion from theta = 0 at that energy, forwards and mirrored, against quadrature"
    " and the growth rate at pi",
    tolerance=1e-6,
)
def homoclinic() -> float:
    found = []
    for seed in SEEDS:
        p, total = Pair(collinear(2, seed)), 1.4
        energy = total**2 / (2 * p.twin.locked([np.pi]))
        near = np.pi - np.array([1.0, 0.1, 0.01])
        times = np.array([_quadrature(p, total, energy, 0.0, theta) for theta in near])
        motion = _released(p, total, energy, times)
        c, rate = p.eps * _lengths(p), total / p.twin.locked([np.pi])
        growth = np.sqrt(c * rate**2 * (sum(p.own) - 2 * c) / (p.own[0] * p.own[1] - c**2))
        speeds = motion["theta_21_dot"]
        found += [
            distance(motion["theta_21"], near),
            1e-2 * excess(abs(speeds[-1] / (0.01 * growth) - 1) - 1e-3),
            excess(-float(np.min(speeds))),
        ]
        back = simulate(
            shape(PAIR).reduced_system(),
            start={"theta_21": -motion["theta_21"][-1], "theta_21_dot": speeds[-1]},
            span=(0, times[-1]),
            at=times[-1:],
            parameters=p.twin.values | {"mu": total},
            rtol=1e-12,
        )
        found += [abs(float(back["theta_21"][-1]))]
    return worst(found)
