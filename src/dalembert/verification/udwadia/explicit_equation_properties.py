"""Udwadia: what section 3 says about the explicit equation, and section 5 about its force."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ...errors import ContradictionError
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.constraints import momentum
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ...typing import Array
from ..independent.random_systems import random_probe, random_states, random_system
from ..numeric import (
    Probe,
    Residual,
    Residuals,
    derivative,
    distance,
    excess,
    gallery_probe,
    least_norm_solution,
    null_space,
    pseudo_inverse,
    symmetric_power,
)
from ..row_registry import listed
from ..samples import State
from .constrained_motion import by_product, examples
from .explicit_equations import Sample, samples

SINGLE = ("spherical-pendulum", "nonholonomic-particle", "driven-double-pendulum")
single = examples.of(*SINGLE)


@listed("U-36-error", over=samples)
def force_follows_error(s: Sample) -> Residual:
    root = symmetric_power(s.blocks.G, -0.5)
    gain = root @ pseudo_inverse(s.blocks.A @ root)
    error = s.blocks.b + s.blocks.A @ s.derivative_of_energy
    helped = s.blocks.G @ (s.reaction - s.derivative_of_energy)
    _, multipliers = least_norm_solution(s.blocks.G, helped, s.blocks.A, s.blocks.b)
    return distance(s.reaction, gain @ error), s.blocks.A.T @ multipliers


@listed("U-36-value")
def value_is_preserved() -> Residual:
    system, probe = random_system("momentum"), random_probe("momentum")
    along = [
        system.constraint_along(q, p, time, probe.rates(time, np.concatenate([q, p])))
        for time, q, p in random_states("momentum", 5, consistent=False)
    ]
    pendulum = gallery_probe("driven-double-pendulum", "hamilton")
    start, digits = [0.4, -0.3, 0.3, 1.2], {"rtol": 1e-12, "atol": 1e-13}
    motion = solve_ivp(pendulum.rates, (0, 3), start, method="DOP853", **digits)
    drive = (
        pendulum.parameters["alpha"] * motion.y[3] * np.sin(pendulum.parameters["omega"] * motion.t)
    )
    return along, distance(motion.y[2] - drive, 0.3 + 0 * motion.t)


@listed("U-36-unique")
def unique_force() -> Residuals:
    system, probe = random_system("dependent").system, random_probe("dependent")
    shorter = Probe(derive(system.replacing(constraints=system.constraints[:2]), "hamilton"), {})
    for time, q, p in random_states("dependent"):
        state = np.concatenate([q, p])
        force, blocks = probe.reaction(time, state), probe.blocks(time, state)
        multipliers = probe.observe(time, state)["multipliers"]
        other = multipliers + 0.7 * null_space(blocks.A.T)[:, 0]
        yield distance(force, shorter.reaction(time, state))
        yield distance(np.linalg.solve(blocks.G, blocks.A.T @ other), force)
        yield 0.0 if np.linalg.norm(other - multipliers) > 0.1 else 1.0


@listed("U-36-energy")
def energy_balance() -> Residual:
    def residual(s: Sample) -> float:
        def along(w: Array) -> Any:
            q, p = s.q + w[0] * s.rates[:3], s.p + w[0] * s.rates[3:]
            return s.model.hamiltonian(q, p, s.time + w[0])

        by_time = derivative(lambda w: s.model.hamiltonian(s.q, s.p, w[0]), [s.time])[0]
        return distance(derivative(along, [0.0])[0], by_time + s.v @ s.reaction)

    works = [e.blocks.velocities @ e.reaction for e in examples("driven-double-pendulum")]
    return samples.worst(residual), works


@listed("U-remark-1", over=single)
def single_constraint(e: State) -> Residual:
    blocks = e.blocks
    free = np.linalg.solve(blocks.G, blocks.f)
    dual = np.linalg.solve(blocks.G, blocks.A[0])
    bracket = float(blocks.A[0] @ dual)
    rate = free + dual * (blocks.b[0] - blocks.A[0] @ free) / bracket
    return distance(e.rates[len(rate) :], rate), excess(-bracket)


@listed("U-remark-1-zero")
def vanishing_row() -> Residual:
    x, y = coordinates("x y")
    energy = (x.momentum**2 + y.momentum**2 + x**2 + x * y + y**2) / 2
    # Two lines that cross: the row vanishes at their crossing alone.
    crossing = momentum(x.momentum * y.momentum, name="crossing")
    system = System([x, y], hamiltonian=energy, constraints=[crossing])
    probe = Probe(derive(system, "hamilton"), {})
    return [
        distance(probe.rates(0.0, [a, b, 0.0, 0.0]), [0.0, 0.0, -a - b / 2, -b - a / 2])
        for a, b in np.random.default_rng(9).uniform(-1, 1, (4, 2))
    ]


@listed("U-36-consistent")
def contradictory_rows() -> Residual:
    x = coordinates("x")
    rows = [momentum(x.momentum, name="still"), momentum(x.momentum - t, name="moving")]
    system = System([x], hamiltonian=x.momentum**2 / 2, constraints=rows)
    probe = Probe(derive(system, "hamilton"), {})
    compromise = distance(by_product(probe.blocks(0.0, [0.3, 0.0]), np.zeros(1)), [0.5])
    try:
        probe.rates(0.0, [0.3, 0.0])
    except ContradictionError:
        return compromise
    return 1.0


@listed("U-remark-2", over=samples.of(*samples.kinds[:3]))
def independent_constraints(s: Sample) -> Residual:
    dual = np.linalg.solve(s.blocks.G, s.blocks.A.T)
    error = s.blocks.b + s.blocks.A @ s.derivative_of_energy
    force = dual @ np.linalg.solve(s.blocks.A @ dual, error)
    return distance(s.momentum_rates, -s.derivative_of_energy + force)


@listed("U-3.2")
def three_steps() -> Residual:
    x, y = coordinates("x y")
    m, k = parameters("m k", positive=True)
    energy = (x.momentum**2 + y.momentum**2) / (2 * m) + k * (x**2 + 2 * y**2) / 2
    tie = momentum(x.momentum * y.momentum - 1 - t, name="tie")
    system = System([x, y], hamiltonian=energy, constraints=[tie])

    def by_hand(time: float, w: Array, mass: float = 1.4, stiffness: float = 2.0) -> Array:
        p, H_q = w[2:], stiffness * np.array([w[0], 2 * w[1]])
        A = np.array([p[1], p[0]])
        return np.concatenate([p / mass, -H_q + A * (1 + A @ H_q) / (A @ A)])

    start, values = {"x": 0.3, "y": -0.2, "p_x": 0.8, "p_y": 1.25}, {"m": 1.4, "k": 2.0}
    times, digits = np.linspace(0, 2, 9), {"rtol": 1e-12, "atol": 1e-13}
    motion = simulate(system, start, (0, 2), parameters=values, rtol=1e-11, at=times)
    reference = solve_ivp(by_hand, (0, 2), list(start.values()), "DOP853", motion.t, **digits)
    return distance(motion.y, reference.y)


@listed("U-sec5-control", over=samples)
def least_force(s: Sample) -> Residual:
    basis = null_space(s.blocks.A)
    changes = basis @ np.random.default_rng(8).uniform(-1, 1, (basis.shape[1], 20))
    others = s.reaction[:, None] + changes
    costs = np.sum(others * (s.blocks.G @ others), axis=0)
    return excess(float(s.reaction @ s.blocks.G @ s.reaction - costs.min()))
