"""Udwadia, Constrained motion of Hamiltonian systems: section 3, the explicit equations (eqs. 25 to 36) and remarks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..errors import ContradictionError
from ..formulations.registry import derive
from ..integrate.simulate import simulate
from ..model.constraints import momentum
from ..model.symbols import coordinates, parameters, t
from ..model.system import System
from .document_u import CONSTRAINED, RANDOM, Sample, over_samples, samples
from .numeric import (
    Blocks,
    Probe,
    distance,
    gallery_probe,
    largest,
    least_norm_solution,
    null_space,
    pseudo_inverse,
    slope,
    symmetric_power,
    worst,
)
from .registry import claim
from .sampled import random_states, twin, twin_probe

EXAMPLES = ("spherical-pendulum", "nonholonomic-particle", "two-particles-incline", "driven-double-pendulum")


def example_states(name: str, count: int = 4, consistent: bool = True) -> Iterator[tuple[Probe, float, Any]]:
    """Random states (q, p) of an example of the paper with random parameters, on its constraints unless told otherwise."""
    random = np.random.default_rng([11, EXAMPLES.index(name)])
    base = gallery_probe(name, "hamilton")
    for _ in range(count):
        values = {key: float(random.uniform(0.6, 1.8)) for key in base.parameters}
        probe = base.with_parameters(**values)
        time, state = float(random.uniform(0, 2)), random.uniform(-1, 1, len(base.equations.state))
        yield probe, time, probe.projected(time, state) if consistent else state


def root_quantities(s: Sample) -> tuple[Any, Any, Any]:
    """B_p = A_p H_pp^-1/2, its pseudo-inverse, and H_pp^1/2, from the library's blocks."""
    B = s.blocks.A @ symmetric_power(s.blocks.G, -0.5)
    return B, pseudo_inverse(B), symmetric_power(s.blocks.G, 0.5)


def by_root(blocks: Blocks, slope_of_energy: Any) -> Any:
    """p_dot of eq. 35, with the symmetric square root of H_pp."""
    root = symmetric_power(blocks.G, -0.5)
    return -slope_of_energy + root @ pseudo_inverse(blocks.A @ root) @ (blocks.b + blocks.A @ slope_of_energy)


def by_product(blocks: Blocks, slope_of_energy: Any) -> Any:
    """p_dot of eq. 36, with the pseudo-inverse of A_p H_pp^-1 A_p^T."""
    dual = np.linalg.solve(blocks.G, blocks.A.T)
    error = blocks.b + blocks.A @ slope_of_energy
    return -slope_of_energy + dual @ pseudo_inverse(blocks.A @ dual) @ error


@claim(
    "U-25",
    "With B_p = A_p H_pp^-1/2 and u = H_pp^-1/2 w, virtual displacements are B_p u = 0",
    how=f"{RANDOM}: u of virtual displacements by velocity rows, in B_p of the library",
)
def scaled_virtual_displacements() -> float:
    def residual(s: Sample) -> float:
        basis = null_space(s.twin.velocity_rows(s.q, s.v, s.time)[0])
        return worst((root_quantities(s)[0] @ symmetric_power(s.blocks.G, -0.5) @ basis).ravel())

    return over_samples(residual)


@claim(
    "U-26",
    "u = (I - B_p^+ B_p) y with y arbitrary gives all solutions of B_p u = 0",
    how=f"{RANDOM}: B_p on the projector, and the projector on a basis of the null space by singular values",
)
def projector_onto_null_space() -> float:
    def residual(s: Sample) -> float:
        B, inverse, _ = root_quantities(s)
        projector, basis = np.eye(3) - inverse @ B, null_space(B)
        return largest(worst((B @ projector).ravel()), distance(projector, basis @ basis.T))

    return over_samples(residual)


@claim("U-27", "A_p p_dot = B_p (H_pp^1/2 p_dot) = b_p", how=f"{RANDOM}: p_dot by multipliers in velocity space")
def scaled_constraint() -> float:
    def residual(s: Sample) -> float:
        B, _, root = root_quantities(s)
        return distance(B @ (root @ s.twin.momentum_rates(s.q, s.p, s.time)), s.blocks.b)

    return over_samples(residual)


@claim(
    "U-28",
    "H_pp^1/2 p_dot = B_p^+ b_p + (I - B_p^+ B_p) xi for some xi, and every xi gives a possible rate",
    how=f"{RANDOM}: the part of the rival's rate in the range of B_p^+ against B_p^+ b_p; a random xi in A_p p_dot = b_p",
)
def general_solution() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        rate = root @ s.twin.momentum_rates(s.q, s.p, s.time)
        free = (np.eye(3) - inverse @ B) @ np.array([0.3, -0.8, 0.6])
        possible = np.linalg.solve(root, inverse @ s.blocks.b + free)
        return largest(distance(inverse @ B @ rate, inverse @ s.blocks.b), distance(s.blocks.A @ possible, s.blocks.b))

    return over_samples(residual)


@claim(
    "U-29",
    "w . Q^C = 0 for every w with A_p H_pp^-1 w = 0",
    how=f"{RANDOM}: library reactions on random vectors of that null space",
)
def principle_of_dalembert() -> float:
    def residual(s: Sample) -> float:
        basis = null_space(s.blocks.A @ np.linalg.inv(s.blocks.G))
        w = basis @ np.random.default_rng(5).uniform(-1, 1, (basis.shape[1], 4))
        return worst(s.probe.reaction(s.time, s.state) @ w)

    return over_samples(residual)


@claim(
    "U-30",
    "u . H_pp^1/2 (p_dot + H_q) = 0 for every u with B_p u = 0",
    how=f"{RANDOM}: library p_dot, H_q by complex steps",
)
def principle_in_scaled_form() -> float:
    def residual(s: Sample) -> float:
        B, _, root = root_quantities(s)
        return worst(null_space(B).T @ root @ (s.momentum_rates + s.slope_of_energy))

    return over_samples(residual)


@claim(
    "U-31",
    "The scaled virtual work splits into the parts with b_p, with xi and with H_q",
    how=f"{RANDOM}: both sides with a random xi, for random u",
)
def work_split() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        xi, u = np.random.default_rng(6).uniform(-1, 1, (2, 3))
        free = (np.eye(3) - inverse @ B) @ xi
        rate = np.linalg.solve(root, inverse @ s.blocks.b + free)
        split = inverse @ s.blocks.b + free + root @ s.slope_of_energy
        return distance(u @ root @ (rate + s.slope_of_energy), u @ split)

    return over_samples(residual)


@claim(
    "U-32",
    "u with B_p u = 0 is orthogonal to B_p^+, which leaves u . (xi + H_pp^1/2 H_q) = 0 for the actual xi",
    how=f"{RANDOM}: xi read off the rival's rate",
)
def orthogonality_of_scaled_displacements() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        xi = root @ s.twin.momentum_rates(s.q, s.p, s.time)
        u = null_space(B)
        return largest(worst((u.T @ inverse).ravel()), worst(u.T @ (xi + root @ s.slope_of_energy)))

    return over_samples(residual)


@claim(
    "U-33",
    "The free part of the rate is that of the unconstrained one: (I - B_p^+ B_p) xi = -(I - B_p^+ B_p) H_pp^1/2 H_q",
    how=f"{RANDOM}: xi read off the rival's rate",
)
def free_part() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        projector = np.eye(3) - inverse @ B
        return distance(projector @ root @ s.twin.momentum_rates(s.q, s.p, s.time), -projector @ root @ s.slope_of_energy)

    return over_samples(residual)


@claim(
    "U-34",
    "p_dot = -H_q + H_pp^-1/2 B_p^+ (b_p + B_p H_pp^1/2 H_q)",
    how=f"{RANDOM}: library p_dot against the formula with pseudo-inverses by singular values",
)
def explicit_equation_with_root() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        error = s.blocks.b + B @ root @ s.slope_of_energy
        return distance(s.momentum_rates, -s.slope_of_energy + np.linalg.solve(root, inverse @ error))

    return over_samples(residual)


def _example_residual(formula: Any) -> float:
    found = []
    for name in EXAMPLES:
        for probe, time, state in example_states(name):
            blocks, n = probe.blocks(time, state), len(state) // 2
            free = np.linalg.solve(blocks.G, blocks.f)
            found.append(distance(probe.rates(time, state)[n:], formula(blocks, -free)))
    return worst(found)


@claim(
    "U-35",
    "p_dot = -H_q + H_pp^-1/2 (A_p H_pp^-1/2)^+ (b_p + A_p H_q)",
    how="library p_dot against the formula: four examples and random systems, random states and parameters",
)
def explicit_equation_35() -> float:
    return largest(
        _example_residual(by_root),
        over_samples(lambda s: distance(s.momentum_rates, by_root(s.blocks, s.slope_of_energy))),
    )


def _velocity_space_rates(probe: Probe, time: float, state: Any, name: str) -> tuple[Any, Any]:
    """q_ddot and the reaction by Lagrange's equations with multipliers, solved as one dense system."""
    rival = gallery_probe(name, "lagrange").with_parameters(**probe.parameters)
    n = len(state) // 2
    blocks = rival.blocks(time, np.concatenate([state[:n], probe.blocks(time, state).velocities]))
    z, multipliers = least_norm_solution(blocks.G, blocks.f, blocks.A, blocks.b)
    return z, blocks.A.T @ multipliers


@claim(
    "U-36",
    "p_dot = -H_q + H_pp^-1 A_p^T (A_p H_pp^-1 A_p^T)^+ (b_p + A_p H_q)",
    how="library accelerations and reactions against multipliers in velocity space, and p_dot against the formula: four"
    " examples and random systems, random states and parameters",
)
def explicit_equation_36() -> float:
    found = [_example_residual(by_product)]
    for name in EXAMPLES:
        for probe, time, state in example_states(name):
            z, reaction = _velocity_space_rates(probe, time, state, name)
            seen = probe.observe(time, state)
            found += [distance(seen["accelerations"], z), distance(probe.reaction(time, state), reaction)]
    for s in samples():
        z, reaction = s.twin.accelerations(s.q, s.v, s.time)
        found.append(distance(s.probe.observe(s.time, s.state)["accelerations"], z))
        found.append(distance(s.probe.reaction(s.time, s.state), reaction))
        found.append(distance(s.momentum_rates, by_product(s.blocks, s.slope_of_energy)))
    return worst(found)


@claim(
    "U-35=36",
    "Both explicit equations are one, because X^+ = X^T (X X^T)^+, also for dependent rows",
    how="the two formulas with pseudo-inverses by singular values: four examples and random systems",
)
def both_forms_agree() -> float:
    found = []
    for name in EXAMPLES:
        for probe, time, state in example_states(name):
            blocks = probe.blocks(time, state)
            free = np.linalg.solve(blocks.G, blocks.f)
            found.append(distance(by_root(blocks, -free), by_product(blocks, -free)))
    found += [distance(by_root(s.blocks, s.slope_of_energy), by_product(s.blocks, s.slope_of_energy)) for s in samples()]
    return worst(found)


@claim(
    "U-36-error",
    "The constraint force is linear in the error b_p + A_p H_q and vanishes with it",
    how=f"{RANDOM}: reactions against the gain times the error; random forces that cancel the error leave no reaction",
)
def force_follows_error() -> float:
    def residual(s: Sample) -> float:
        root = symmetric_power(s.blocks.G, -0.5)
        gain = root @ pseudo_inverse(s.blocks.A @ root)
        error = s.blocks.b + s.blocks.A @ s.slope_of_energy
        force = s.probe.reaction(s.time, s.state)
        helped = s.blocks.G @ (force - s.slope_of_energy)
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
        along = slope(
            lambda w, q=q, p=p, time=time, r=rates: system.phi(q + w[0] * r[:3], p + w[0] * r[3:], time + w[0]), [0.0]
        )
        found.append(worst(along[:, 0]))
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

        by_time = slope(lambda w: s.twin.hamiltonian(s.q, s.p, w[0]), [s.time])[0]
        return distance(slope(along, [0.0])[0], by_time + s.v @ s.probe.reaction(s.time, s.state))

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
            found += [distance(probe.rates(time, state)[n:], rate), largest(0.0, -bracket)]
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
        error = s.blocks.b + s.blocks.A @ s.slope_of_energy
        return distance(s.momentum_rates, -s.slope_of_energy + dual @ np.linalg.solve(s.blocks.A @ dual, error))

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
        p, slope_of_energy = w[2:], stiffness * np.array([w[0], 2 * w[1]])
        A = np.array([p[1], p[0]])
        return np.concatenate([p / mass, -slope_of_energy + A * (1 + A @ slope_of_energy) / (A @ A)])

    start = {"x": 0.3, "y": -0.2, "p_x": 0.8, "p_y": 1.25}
    motion = simulate(system, start, (0, 2), parameters={"m": 1.4, "k": 2.0}, rtol=1e-11, at=np.linspace(0, 2, 9))
    rival = solve_ivp(by_hand, (0, 2), list(start.values()), "DOP853", motion.t, rtol=1e-12, atol=1e-13)
    return distance(motion.y, rival.y)


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
        return largest(0.0, float(force @ s.blocks.G @ force - costs.min()))

    return over_samples(residual)
