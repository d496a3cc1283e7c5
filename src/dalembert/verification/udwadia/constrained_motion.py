"""Udwadia, Constrained motion of Hamiltonian systems: section 3, the explicit equations (eqs. 25 to 36) and diagnostics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..numeric import (
    Blocks,
    Probe,
    distance,
    gallery_probe,
    largest,
    least_norm_solution,
    null_space,
    pseudo_inverse,
    symmetric_power,
    worst,
)
from ..row_registry import claim
from .explicit_equations import RANDOM, Sample, over_samples, samples

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


def by_root(blocks: Blocks, derivative_of_energy: Any) -> Any:
    """p_dot of eq. 35, with the symmetric square root of H_pp."""
    root = symmetric_power(blocks.G, -0.5)
    return -derivative_of_energy + root @ pseudo_inverse(blocks.A @ root) @ (blocks.b + blocks.A @ derivative_of_energy)


def by_product(blocks: Blocks, derivative_of_energy: Any) -> Any:
    """p_dot of eq. 36, with the pseudo-inverse of A_p H_pp^-1 A_p^T."""
    dual = np.linalg.solve(blocks.G, blocks.A.T)
    error = blocks.b + blocks.A @ derivative_of_energy
    return -derivative_of_energy + dual @ pseudo_inverse(blocks.A @ dual) @ error


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
    how=f"{RANDOM}: the part of the independent implementation's rate in the range of B_p^+ against B_p^+ b_p; a random xi "
    "in A_p p_dot = b_p",
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
        return worst(null_space(B).T @ root @ (s.momentum_rates + s.derivative_of_energy))

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
        split = inverse @ s.blocks.b + free + root @ s.derivative_of_energy
        return distance(u @ root @ (rate + s.derivative_of_energy), u @ split)

    return over_samples(residual)


@claim(
    "U-32",
    "u with B_p u = 0 is orthogonal to B_p^+, which leaves u . (xi + H_pp^1/2 H_q) = 0 for the actual xi",
    how=f"{RANDOM}: xi read off the independent implementation's rate",
)
def orthogonality_of_scaled_displacements() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        xi = root @ s.twin.momentum_rates(s.q, s.p, s.time)
        u = null_space(B)
        return largest(worst((u.T @ inverse).ravel()), worst(u.T @ (xi + root @ s.derivative_of_energy)))

    return over_samples(residual)


@claim(
    "U-33",
    "The free part of the rate is that of the unconstrained one: (I - B_p^+ B_p) xi = -(I - B_p^+ B_p) H_pp^1/2 H_q",
    how=f"{RANDOM}: xi read off the independent implementation's rate",
)
def free_part() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        projector = np.eye(3) - inverse @ B
        return distance(projector @ root @ s.twin.momentum_rates(s.q, s.p, s.time), -projector @ root @ s.derivative_of_energy)

    return over_samples(residual)


@claim(
    "U-34",
    "p_dot = -H_q + H_pp^-1/2 B_p^+ (b_p + B_p H_pp^1/2 H_q)",
    how=f"{RANDOM}: library p_dot against the formula with pseudo-inverses by singular values",
)
def explicit_equation_with_root() -> float:
    def residual(s: Sample) -> float:
        B, inverse, root = root_quantities(s)
        error = s.blocks.b + B @ root @ s.derivative_of_energy
        return distance(s.momentum_rates, -s.derivative_of_energy + np.linalg.solve(root, inverse @ error))

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
        over_samples(lambda s: distance(s.momentum_rates, by_root(s.blocks, s.derivative_of_energy))),
    )


def _velocity_space_rates(probe: Probe, time: float, state: Any, name: str) -> tuple[Any, Any]:
    """q_ddot and the reaction by Lagrange's equations with multipliers, solved as one dense system."""
    reference = gallery_probe(name, "lagrange").with_parameters(**probe.parameters)
    n = len(state) // 2
    blocks = reference.blocks(time, np.concatenate([state[:n], probe.blocks(time, state).velocities]))
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
        found.append(distance(s.momentum_rates, by_product(s.blocks, s.derivative_of_energy)))
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
    found += [
        distance(by_root(s.blocks, s.derivative_of_energy), by_product(s.blocks, s.derivative_of_energy)) for s in samples()
    ]
    return worst(found)
