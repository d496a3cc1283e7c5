"""Udwadia, Constrained motion of Hamiltonian systems: what section 3 says about the explicit equation, and section 5."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ContradictionError
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.constraints import momentum
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ..independent.random_systems import random_states, twin, twin_probe
from ..numeric import (
    Probe,
    derivative,
    distance,
    excess,
    gallery_probe,
    largest,
    least_norm_solution,
    null_space,
    pseudo_inverse,
    symmetric_power,
    worst,
)
from ..row_registry import claim
from .constrained_motion import by_product, example_states
from .explicit_equations import CONSTRAINED, RANDOM, Sample, over_samples


@claim(
    "U-36-error",
    "The constraint force is linear in the error b_p + A_p H_q and vanishes with it",
    how=f"{RANDOM}: reactions against the gain times the error; random forces that cancel the error leave no reaction",
)
def force_follows_error() -> float:
    def residual(s: Sample) -> float:
        root = symmetric_power(s.blocks.G, -0.5)
        gain = root @ pseudo_inverse(s.blocks.A @ root)
        error = s.blocks.b + s.blocks.A @ s.derivative_of_energy
        force = s.probe.reaction(s.time, s.state)
        helped = s.blocks.G @ (force - s.derivative_of_energy)
        _, multipliers = least_norm_solution(s.blocks.G, helped, s.blocks.A, s.blocks.b)
        return largest(distance(force, gain @ error), worst(s.blocks.A.T @ multipliers))

    return over_samples(residual)


@claim(
    "U-36-value",
    "The equation preserves whatever value phi has at the start, so a start off the constraint stays off it",
    how="random momentum constraints, inconsistent random states: the library's rates along phi; and a driven double"
    " pendulum from phi = 0.3",
)
def value_is_preserved() -> float:
    found = []
    system, probe = twin("momentum"), twin_probe("momentum")
    for time, q, p in random_states("momentum", 5, consistent=False):
        rates = probe.rates(time, np.concatenate([q, p]))
        found.append(worst(system.constraint_along(q, p, time, rates)))
    from scipy.integrate import solve_ivp

    pendulum = gallery_probe("driven-double-pendulum", "hamilton")
    motion = solve_ivp(pendulum.rates, (0, 3), [0.4, -0.3, 0.3, 1.2], method="DOP853", rtol=1e-12, atol=1e-13)
    alpha, omega = pendulum.parameters["alpha"], pendulum.parameters["omega"]
    found.append(distance(motion.y[2] - alpha * motion.y[3] * np.sin(omega * motion.t), 0.3 + 0 * motion.t))
    return worst(found)


@claim(
    "U-36-unique",
    "Dependent rows leave the constraint force unique although the multipliers are not",
    how="random system with a third row that combines the others: reactions with and without it, multipliers moved"
    " along the left null vector",
)
def unique_force() -> float:
    system = twin("dependent").system
    shorter = Probe(derive(system.replacing(constraints=system.constraints[:2]), "hamilton"), {})
    found = []
    for time, q, p in random_states("dependent"):
        state = np.concatenate([q, p])
        force = twin_probe("dependent").reaction(time, state)
        blocks = twin_probe("dependent").blocks(time, state)
        multipliers = twin_probe("dependent").observe(time, state)["multipliers"]
        other = multipliers + 0.7 * null_space(blocks.A.T)[:, 0]
        found.append(distance(force, shorter.reaction(time, state)))
        found.append(distance(np.linalg.solve(blocks.G, blocks.A.T @ other), force))
        found.append(0.0 if np.linalg.norm(other - multipliers) > 0.1 else 1.0)
    return worst(found)


@claim(
    "U-36-energy",
    "dH/dt = H_t + q_dot . Q^C; constraints homogeneous in p do no work, whether or not they contain time",
    how="random systems: rate of the closed-form H along the library's motion; a homogeneous rheonomic constraint",
)
def energy_balance() -> float:
    def residual(s: Sample) -> float:
        rates = s.probe.rates(s.time, s.state)

        def along(w: Any) -> Any:
            return s.twin.hamiltonian(s.q + w[0] * rates[:3], s.p + w[0] * rates[3:], s.time + w[0])

        by_time = derivative(lambda w: s.twin.hamiltonian(s.q, s.p, w[0]), [s.time])[0]
        return distance(derivative(along, [0.0])[0], by_time + s.v @ s.probe.reaction(s.time, s.state))

    works = [
        probe.blocks(time, state).velocities @ probe.reaction(time, state)
        for probe, time, state in example_states("driven-double-pendulum")
    ]
    return largest(over_samples(residual), worst(works))


@claim(
    "U-remark-1",
    "For one constraint with A_p not zero the bracket is a positive number, and its pseudo-inverse the reciprocal",
    how="examples with one constraint: library p_dot against the scalar form of eq. 36",
)
def single_constraint() -> float:
    found = []
    for name in ("spherical-pendulum", "nonholonomic-particle", "driven-double-pendulum"):
        for probe, time, state in example_states(name):
            blocks, n = probe.blocks(time, state), len(state) // 2
            free = np.linalg.solve(blocks.G, blocks.f)
            dual = np.linalg.solve(blocks.G, blocks.A[0])
            bracket = float(blocks.A[0] @ dual)
            rate = free + dual * (blocks.b[0] - blocks.A[0] @ free) / bracket
            found += [distance(probe.rates(time, state)[n:], rate), excess(-bracket)]
    return worst(found)


@claim(
    "U-remark-1-zero",
    "Where A_p vanishes at a state, nothing is enforced there: the rates are those of the free motion",
    how="oscillator with phi = p_x^2 / 2 at random states with p_x = 0: library p_dot against -H_q",
)
def vanishing_row() -> float:
    x, y = coordinates("x y")
    energy = (x.momentum**2 + y.momentum**2 + x**2 + x * y + y**2) / 2
    system = System([x, y], hamiltonian=energy, constraints=[momentum(x.momentum**2 / 2, name="flat")])
    probe = Probe(derive(system, "hamilton"), {})
    found = []
    for a, b, p in np.random.default_rng(9).uniform(-1, 1, (4, 3)):
        found.append(distance(probe.rates(0.0, [a, b, 0.0, p]), [0.0, p, -a - b / 2, -b - a / 2]))
    return worst(found)


@claim(
    "U-36-consistent",
    "The constraints must be consistent: for rows that contradict each other the formula gives a compromise that obeys"
    " neither, and the library refuses",
    how="p_x = 0 and p_x = t together: the formula with pseudo-inverses against 1/2, and the library's refusal",
)
def contradictory_rows() -> float:
    x = coordinates("x")
    rows = [momentum(x.momentum, name="still"), momentum(x.momentum - t, name="moving")]
    probe = Probe(derive(System([x], hamiltonian=x.momentum**2 / 2, constraints=rows), "hamilton"), {})
    compromise = distance(by_product(probe.blocks(0.0, [0.3, 0.0]), np.zeros(1)), [0.5])
    try:
        probe.rates(0.0, [0.3, 0.0])
    except ContradictionError:
        return compromise
    return 1.0


@claim(
    "U-remark-2",
    "For independent constraints the pseudo-inverse is the inverse",
    how=f"{RANDOM} with two independent rows: library p_dot against the formula with a linear solve",
)
def independent_constraints() -> float:
    def residual(s: Sample) -> float:
        dual = np.linalg.solve(s.blocks.G, s.blocks.A.T)
        error = s.blocks.b + s.blocks.A @ s.derivative_of_energy
        return distance(s.momentum_rates, -s.derivative_of_energy + dual @ np.linalg.solve(s.blocks.A @ dual, error))

    return over_samples(residual, CONSTRAINED[:3])


@claim(
    "U-3.2",
    "Three steps suffice: Hamilton's equations, then A_p, b_p and H_pp, then the explicit equation",
    how="particle in a potential with p_x p_y = 1 + t, stated by H and phi only: library motion against the three steps by"
    " hand, integrated by SciPy",
    tolerance=1e-8,
)
def three_steps() -> float:
    from scipy.integrate import solve_ivp

    x, y = coordinates("x y")
    m, k = parameters("m k", positive=True)
    energy = (x.momentum**2 + y.momentum**2) / (2 * m) + k * (x**2 + 2 * y**2) / 2
    system = System([x, y], hamiltonian=energy, constraints=[momentum(x.momentum * y.momentum - 1 - t, name="tie")])

    def by_hand(time: float, w: Any, mass: float = 1.4, stiffness: float = 2.0) -> Any:
        p, derivative_of_energy = w[2:], stiffness * np.array([w[0], 2 * w[1]])
        A = np.array([p[1], p[0]])
        return np.concatenate([p / mass, -derivative_of_energy + A * (1 + A @ derivative_of_energy) / (A @ A)])

    start = {"x": 0.3, "y": -0.2, "p_x": 0.8, "p_y": 1.25}
    motion = simulate(system, start, (0, 2), parameters={"m": 1.4, "k": 2.0}, rtol=1e-11, at=np.linspace(0, 2, 9))
    reference = solve_ivp(by_hand, (0, 2), list(start.values()), "DOP853", motion.t, rtol=1e-12, atol=1e-13)
    return distance(motion.y, reference.y)


@claim(
    "U-sec5-control",
    "Seen as a control force, the constraint force is the least that enforces the constraints, in the norm of H_pp",
    how=f"{RANDOM}: cost of the library's reaction against that of random other forces that enforce them",
)
def least_force() -> float:
    def residual(s: Sample) -> float:
        force, basis = s.probe.reaction(s.time, s.state), null_space(s.blocks.A)
        others = force[:, None] + basis @ np.random.default_rng(8).uniform(-1, 1, (basis.shape[1], 20))
        costs = np.sum(others * (s.blocks.G @ others), axis=0)
        return excess(float(force @ s.blocks.G @ force - costs.min()))

    return over_samples(residual)
