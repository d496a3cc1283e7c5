"""Bloch and others, Internet Supplement, section 3.13: chains and trees of N hinged bodies.

Theorem 3.13.3 and 3.13.56 to 3.13.58, with random chains of two to five bodies and a tree of four.
The library gives rates by Hamilton's equations of the absolute angles, the reduced bracket by
pushing the canonical one forward, and motions by Routh's function. Independent implementations are
complex steps of energies, and the same bodies with coordinates of their own and multipliers at the
hinges.
"""

from __future__ import annotations

from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import sympy

from ....analysis.symmetry.planar_reduction import reduced_hamiltonian, reduced_structure
from ....geometry.poisson import PoissonStructure, jacobi_identity
from ....integrate.simulate import simulate
from ....model.constraints import holonomic
from ....model.forces import body
from ....model.symbols import Coordinate
from ....model.system import System
from ....typing import Array
from ...independent.hinged_bodies import (
    CHAIN,
    TREE,
    Bodies,
    BodySample,
    Lowered,
    bodies,
    library_rates,
    shape,
    states,
    turn,
)
from ...numeric import Residual, distance
from ...row_registry import Corrected, listed

SHAPES = (CHAIN[2], CHAIN[3], CHAIN[5], TREE)
samples = states(*SHAPES, count=2)


@cache
def _energy(parents: tuple[int, ...]) -> Lowered:
    found = shape(parents)
    return Lowered([reduced_hamiltonian(found)], (*found.joints, *found.momenta))


@cache
def _structure(parents: tuple[int, ...]) -> PoissonStructure:
    return reduced_structure(shape(parents))


@listed("B-3.13.56", over=samples, misprint={"factor": 2.0})
def hamiltonian(s: BodySample, factor: float = 1.0) -> Residual:
    energy = _energy(s.model.parents)(s.x, s.model.values)[0][0]
    return distance(factor * energy, _energy_of_pairs(s.model, s.x))


def _energy_of_pairs(model: Bodies, x: Array) -> float:
    """The kinetic energy by velocities of bodies relative to each other."""
    angles, w, total = model.angles(model.split(x)[0]), model.rates(x), sum(model.masses)
    velocities = [np.zeros(2)]
    for child, parent in enumerate(model.parents, start=2):
        near = _velocity(angles[parent - 1], w[parent - 1], model.hinges[parent, child])
        far = _velocity(angles[child - 1], w[child - 1], model.hinges[child, parent])
        velocities.append(velocities[parent - 1] + near - far)
    pairs = sum(
        model.masses[i] * model.masses[j] / total * np.sum((velocities[i] - velocities[j]) ** 2)
        for i, j in combinations(range(model.count), 2)
    )
    return float(model.inertias @ w**2 + pairs) / 2


def _velocity(angle: float, rate: float, vector: Array) -> Any:
    """The velocity of the end of a vector that turns with a body."""
    c, s = np.cos(angle), np.sin(angle)
    return rate * np.array([-s * vector[0] - c * vector[1], c * vector[0] - s * vector[1]])


@listed("B-3.13.57", over=states(*CHAIN.values(), count=2), misprint={"printed": True})
def chain_equations(s: BodySample, printed: bool = False) -> Residual:
    by_angle, by_momentum = s.model.split(s.model.gradient(s.x))
    momenta = np.append(by_angle, 0.0) - np.append(0.0, by_angle)
    angles = (by_angle if printed else by_momentum[1:]) - by_momentum[:-1]
    return distance(library_rates(s.model, s.x), np.concatenate([angles, momenta]))


@listed("B-3.13.58")
def bracket() -> Corrected:
    right, printed = [], []
    random = np.random.default_rng(4)
    for count in (3, 5):
        matrix = _structure(CHAIN[count]).at({})
        f, g = random.normal(size=(2, 2 * count - 1))
        (fa, fm), (ga, gm) = ((v[: count - 1], v[count - 1 :]) for v in (f, g))
        first, second = -np.diff(fm) * ga, -fa * -np.diff(gm)
        lift = np.diff(np.eye(count), axis=0)
        canonical, total = (lift.T @ fa) @ gm - fm @ (lift.T @ ga), first.sum() + second.sum()
        right += [distance(f @ matrix @ g, total), distance(canonical, total)]
        printed.append(distance(f @ matrix @ g, first.sum() + second[-1]))
    return Corrected(right, min(printed))


@listed("B-3.13.58-poisson", over=SHAPES)
def structure(parents: tuple[int, ...]) -> Residual:
    s, n = _structure(parents), len(parents) + 1
    matrix, bent = s.at({}), sympy.Matrix(s.matrix)
    bent[0, n - 1] += s.symbols[-1]
    bent[n - 1, 0] -= s.symbols[-1]
    judged = jacobi_identity(bent, s.symbols).holds == (n == 2)
    return (
        matrix + matrix.T,
        float(s.certificate.by != "symbolically" or not judged),
        float(s.generic_rank != 2 * (n - 1) or np.linalg.matrix_rank(matrix) != 2 * (n - 1)),
        float(s.casimirs() != (sum(s.symbols[n - 1 :]),)),
        matrix @ np.append(np.zeros(n - 1), np.ones(n)),
    )


@listed("B-Theorem-3.13.3", over=samples)
def reduced_dynamics(s: BodySample) -> Residual:
    by_state = _energy(s.model.parents)(s.x, s.model.values)[1][0]
    rates = _structure(s.model.parents).at({}) @ by_state
    return [distance(rates, library_rates(s.model, s.x, offset)) for offset in (0.0, 2.1)]


@listed("B-3.13-tree")
def motion_of_a_tree() -> Residual:
    model, found, times = bodies(TREE, 1), shape(TREE), np.linspace(0.0, 3.0, 7)
    random = np.random.default_rng(8)
    joints, momenta = random.uniform(-1, 1, model.count - 1), random.uniform(-0.5, 1.0, model.count)
    start, values = found.reduced_start(joints, momenta), model.values | {"mu": sum(momenta)}
    run = partial(simulate, span=(0, 3), at=times, rtol=1e-11)
    reduced = run(found.reduced_system(), start=start, parameters=values)
    system, start = _hinged(model, joints, np.linalg.solve(model.inertia(joints), momenta))
    whole = run(system, start=start)
    angles = np.array([whole[f"theta{i}"] for i in range(1, model.count + 1)])
    return (
        distance([reduced[joint.name] for joint in found.joints], model.relative(angles)),
        distance(reduced["theta1_rate"], whole["theta1_dot"]),
        distance(reduced.energy, whole.energy),
    )


def _hinged(model: Bodies, joints: Array, w: Array) -> tuple[System, dict[str, float]]:
    """Bodies with coordinates of their own, joined at the hinges, and their start at rest."""
    axes, count = ("x", "y", "theta"), range(model.count)
    symbols = [tuple(Coordinate(f"{name}{i + 1}") for name in axes) for i in count]
    parts = [
        body(float(m), float(inertia), q[:2], angle=q[2])
        for m, inertia, q in zip(model.masses, model.inertias, symbols, strict=True)
    ]

    def end(i: int, vector: Array) -> sympy.Matrix:
        x, y, angle = symbols[i - 1]
        c, s = sympy.cos(angle), sympy.sin(angle)
        return sympy.Matrix([x + c * vector[0] - s * vector[1], y + s * vector[0] + c * vector[1]])

    constraints = []
    for child, parent in enumerate(model.parents, start=2):
        gap = end(parent, model.hinges[parent, child]) - end(child, model.hinges[child, parent])
        constraints += [holonomic(gap[k], name=f"hinge{child}{'xy'[k]}") for k in range(2)]
    angles, arms = model.angles(joints), model.arms()
    start: dict[str, float] = {}
    for i in count:
        place = sum(turn(angles[k]) @ arms[i, k] for k in count)
        speed = sum(_velocity(angles[k], w[k], arms[i, k]) for k in count)
        names = [f"{name}{i + 1}{suffix}" for suffix in ("", "_dot") for name in axes]
        start |= dict(zip(names, map(float, (*place, angles[i], *speed, w[i])), strict=True))
    q = [symbol for group in symbols for symbol in group]
    return System(q, parts=parts, constraints=constraints), start
