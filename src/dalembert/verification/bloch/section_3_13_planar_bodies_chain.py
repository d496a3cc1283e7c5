"""Bloch and others, Internet Supplement, section 3.13: chains and trees of N bodies (Theorem 3.13.3, 3.13.56 to 3.13.58).

Random chains of two to five bodies and a tree of four. The library gives rates by Hamilton's equations of the absolute angles,
the reduced bracket by pushing the canonical one forward, and motions by Routh's function. Independent implementations are
complex steps of energies, and the same bodies with coordinates of their own and multipliers at the hinges.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import sympy

from ...analysis.symmetry.planar_reduction import reduced_hamiltonian, reduced_structure
from ...geometry.poisson import PoissonStructure, jacobi_identity
from ...integrate.simulate import simulate
from ...model.constraints import holonomic
from ...model.forces import body
from ...model.symbols import Coordinate
from ...model.system import System
from ..independent.hinged_bodies import CHAIN, TREE, Bodies, Lowered, bodies, library_rates, shape, states
from ..numeric import distance, largest, worst
from ..row_registry import Corrected, claim

SHAPES = (CHAIN[2], CHAIN[3], CHAIN[5], TREE)
RANDOM = "random chains of two, three and five bodies and a random tree of four"


def over_shapes(residual: Callable[[Bodies, Any], float], count: int = 2, shapes: Any = SHAPES) -> float:
    """The worst residual over random bodies and states."""
    return worst(residual(twin, x) for parents in shapes for twin, x in states(parents, count))


@cache
def _energy(parents: tuple[int, ...]) -> Lowered:
    found = shape(parents)
    return Lowered([reduced_hamiltonian(found)], (*found.joints, *found.momenta))


@cache
def _structure(parents: tuple[int, ...]) -> PoissonStructure:
    return reduced_structure(shape(parents))


def _reduced_rates(twin: Bodies, x: Any) -> Any:
    """Pi dH of the library's reduced bracket and Hamiltonian."""
    return _structure(twin.parents).at({}) @ _energy(twin.parents)(x, twin.values)[1][0]


@claim(
    "B-3.13.56",
    "H = 1/2 mu^T J^-1 mu is the kinetic energy; the print has no 1/2",
    how=f"{RANDOM}: the library's H against 1/2 sum I w^2 + 1/2 sum m_i m_j / M |r_i_dot - r_j_dot|^2 over pairs of bodies",
)
def hamiltonian() -> Corrected:
    def residual(twin: Bodies, x: Any, factor: float) -> float:
        return distance(factor * _energy(twin.parents)(x, twin.values)[0][0], _energy_of_pairs(twin, x))

    return Corrected(over_shapes(lambda b, x: residual(b, x, 1.0)), over_shapes(lambda b, x: residual(b, x, 2.0)))


def _energy_of_pairs(twin: Bodies, x: Any) -> float:
    """The kinetic energy by velocities of bodies relative to each other."""
    joints, _ = twin.split(x)
    angles, w, total = twin.angles(joints), twin.rates(x), sum(twin.masses)
    velocities = [np.zeros(2)]
    for child, parent in enumerate(twin.parents, start=2):
        near = _velocity(angles[parent - 1], w[parent - 1], twin.hinges[parent, child])
        far = _velocity(angles[child - 1], w[child - 1], twin.hinges[child, parent])
        velocities.append(velocities[parent - 1] + near - far)
    pairs = sum(
        twin.masses[i] * twin.masses[j] / total * np.sum((velocities[i] - velocities[j]) ** 2)
        for i, j in combinations(range(twin.count), 2)
    )
    return float(twin.inertias @ w**2 + pairs) / 2


def _velocity(angle: float, rate: float, vector: Any) -> Any:
    """The velocity of the end of a vector that turns with a body."""
    c, s = np.cos(angle), np.sin(angle)
    return rate * np.array([-s * vector[0] - c * vector[1], c * vector[0] - s * vector[1]])


@claim(
    "B-3.13.57",
    "mu_i_dot = H_theta_(i+1,i) - H_theta_(i,i-1), without what is not there at the ends; theta_(i+1,i)_dot = H_mu_(i+1) -"
    " H_mu_i, where the print has H_theta_(i+1,i) for H_mu_(i+1)",
    how="random chains of two to five bodies: the library's rates against complex steps of H",
)
def chain_equations() -> Corrected:
    def residual(twin: Bodies, x: Any, printed: bool) -> float:
        by_angle, by_momentum = twin.split(twin.gradient(x))
        momenta = np.append(by_angle, 0.0) - np.append(0.0, by_angle)
        angles = (by_angle if printed else by_momentum[1:]) - by_momentum[:-1]
        return distance(library_rates(twin, x), np.concatenate([angles, momenta]))

    chains = [CHAIN[count] for count in (2, 3, 4, 5)]
    return Corrected(
        over_shapes(lambda b, x: residual(b, x, False), shapes=chains),
        over_shapes(lambda b, x: residual(b, x, True), shapes=chains),
    )


@claim(
    "B-3.13.58",
    "{f, g} = sum over i = 1, ..., N - 1 of (f_mu_i - f_mu_(i+1)) g_theta_(i+1,i) - f_theta_(i+1,i) (g_mu_i - g_mu_(i+1)); the"
    " print begins at a body 0 that is not there, and ends the sum before its second term",
    how="chains of three and five bodies, random derivatives of f and g: the library's bracket and the canonical one of "
    "the absolute"
    " angles, against the sum, and against its first terms with the last of the second",
)
def bracket() -> Corrected:
    right, printed = [], []
    random = np.random.default_rng(4)
    for count in (3, 5):
        matrix = _structure(CHAIN[count]).at({})
        f, g = random.normal(size=(2, 2 * count - 1))
        (fa, fm), (ga, gm) = ((v[: count - 1], v[count - 1 :]) for v in (f, g))
        first, second = -np.diff(fm) * ga, -fa * -np.diff(gm)
        lift = np.diff(np.eye(count), axis=0)
        canonical = (lift.T @ fa) @ gm - fm @ (lift.T @ ga)
        right += [distance(f @ matrix @ g, first.sum() + second.sum()), distance(canonical, first.sum() + second.sum())]
        printed.append(distance(f @ matrix @ g, first.sum() + second[-1]))
    return Corrected(worst(right), min(printed))


@claim(
    "B-3.13.58-poisson",
    "The bracket is skew and obeys Jacobi's identity; its rank is 2 (N - 1), and the sum of the momenta is a Casimir",
    how=f"{RANDOM}: the library's tests and search, also on a bracket that is made wrong; singular values",
)
def structure() -> float:
    found = []
    for parents in SHAPES:
        s, n = _structure(parents), len(parents) + 1
        matrix = s.at({})
        bent = sympy.Matrix(s.matrix)
        bent[0, n - 1] += s.symbols[-1]
        bent[n - 1, 0] -= s.symbols[-1]
        found += [
            worst((matrix + matrix.T).ravel()),
            float(s.certificate.by != "symbolically" or jacobi_identity(bent, s.symbols).holds != (n == 2)),
            float(s.generic_rank != 2 * (n - 1) or np.linalg.matrix_rank(matrix) != 2 * (n - 1)),
            float(s.casimirs() != (sum(s.symbols[n - 1 :]),)),
            worst(matrix @ np.append(np.zeros(n - 1), np.ones(n))),
        ]
    return largest(*found)


@claim(
    "B-Theorem-3.13.3",
    "The reduced dynamics of an open chain is Hamiltonian: mu_dot and theta_dot are Pi dH, functions of hinge angles and mu",
    how=f"{RANDOM}: the library's reduced field against its Hamilton equations, turned by two angles",
)
def reduced_dynamics() -> float:
    return over_shapes(
        lambda b, x: largest(*(distance(_reduced_rates(b, x), library_rates(b, x, offset)) for offset in (0.0, 2.1)))
    )


@claim(
    "B-3.13-tree",
    "The same holds for bodies that form a tree, with parents and children for i and i + 1",
    how="a random tree of four bodies: the motion of the library's reduced system against the same bodies with three"
    " coordinates each and multipliers at the hinges",
    tolerance=1e-8,
)
def motion_of_a_tree() -> float:
    return _difference(bodies(TREE, 1))


def _difference(twin: Bodies) -> float:
    """The largest difference of angles and momenta between the reduced motion and that of hinged bodies."""
    found, times = shape(twin.parents), np.linspace(0.0, 3.0, 7)
    random = np.random.default_rng(8)
    joints, momenta = random.uniform(-1, 1, twin.count - 1), random.uniform(-0.5, 1.0, twin.count)
    reduced = simulate(
        found.reduced_system(),
        start=found.reduced_start(joints, momenta),
        span=(0, 3),
        at=times,
        parameters=twin.values | {"mu": float(sum(momenta))},
        rtol=1e-11,
    )
    system, start = _hinged(twin, joints, np.linalg.solve(twin.inertia(joints), momenta))
    whole = simulate(system, start=start, span=(0, 3), at=times, rtol=1e-11)
    angles = np.array([whole[f"theta{i}"] for i in range(1, twin.count + 1)])
    relative = [angles[child - 1] - angles[parent - 1] for child, parent in enumerate(twin.parents, start=2)]
    return largest(
        distance([reduced[joint.name] for joint in found.joints], relative),
        distance(reduced["theta1_rate"], whole["theta1_dot"]),
        distance(reduced.energy, whole.energy),
    )


def _hinged(twin: Bodies, joints: Any, w: Any) -> tuple[System, dict[str, float]]:
    """Bodies with places and angles of their own, held at the hinges, and their start without linear momentum."""
    symbols = [tuple(Coordinate(f"{name}{i}") for name in ("x", "y", "theta")) for i in range(1, twin.count + 1)]
    parts = [
        body(float(m), float(inertia), q[:2], angle=q[2])
        for m, inertia, q in zip(twin.masses, twin.inertias, symbols, strict=True)
    ]

    def end(i: int, vector: Any) -> sympy.Matrix:
        x, y, angle = symbols[i - 1]
        c, s = sympy.cos(angle), sympy.sin(angle)
        return sympy.Matrix([x + c * vector[0] - s * vector[1], y + s * vector[0] + c * vector[1]])

    constraints = []
    for child, parent in enumerate(twin.parents, start=2):
        gap = end(parent, twin.hinges[parent, child]) - end(child, twin.hinges[child, parent])
        constraints += [holonomic(gap[k], name=f"hinge{child}{'xy'[k]}") for k in range(2)]
    angles, arms = twin.angles(joints), twin.arms()
    start: dict[str, float] = {}
    for i in range(twin.count):
        place = sum(_turned(angles[k], arms[i, k]) for k in range(twin.count))
        speed = sum(_velocity(angles[k], w[k], arms[i, k]) for k in range(twin.count))
        values = (*place, angles[i], *speed, w[i])
        names = [f"{name}{i + 1}{suffix}" for suffix in ("", "_dot") for name in ("x", "y", "theta")]
        start |= dict(zip(names, map(float, values), strict=True))
    return System([q for group in symbols for q in group], parts=parts, constraints=constraints), start


def _turned(angle: float, vector: Any) -> Any:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])
