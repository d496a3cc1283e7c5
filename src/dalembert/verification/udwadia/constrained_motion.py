"""Udwadia, section 3: the explicit equations (eqs. 25 to 36)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...typing import Array
from ..numeric import (
    Residual,
    StateBlocks,
    distance,
    gallery_probe,
    least_norm_solution,
    null_space,
    pseudo_inverse,
    symmetric_power,
)
from ..row_registry import listed
from ..samples import Sampler, State
from .explicit_equations import Sample, samples

EXAMPLES = (
    "spherical-pendulum",
    "nonholonomic-particle",
    "two-particles-incline",
    "driven-double-pendulum",
)


def _example_states(name: str, consistent: bool = True) -> Iterator[State]:
    random = np.random.default_rng([11, EXAMPLES.index(name)])
    base = gallery_probe(name, "hamilton")
    for _ in range(4):
        values = {key: float(random.uniform(0.6, 1.8)) for key in base.parameters}
        probe = base.with_parameters(**values)
        time, state = float(random.uniform(0, 2)), random.uniform(-1, 1, len(base.equations.state))
        yield State(probe, time, probe.projected(time, state) if consistent else state)


#: Random states (q, p) of the examples with random parameters, on their constraints and off.
examples = Sampler(_example_states, EXAMPLES)
examples_off = Sampler(partial(_example_states, consistent=False), EXAMPLES)


def root_quantities(s: Sample) -> tuple[Array, Array, Array]:
    """B_p = A_p H_pp^-1/2, its pseudo-inverse, and H_pp^1/2, from the library's blocks."""
    B = s.blocks.A @ symmetric_power(s.blocks.G, -0.5)
    return B, pseudo_inverse(B), symmetric_power(s.blocks.G, 0.5)


def by_root(blocks: StateBlocks, derivative_of_energy: Array) -> Array:
    """p_dot of eq. 35, with the symmetric square root of H_pp."""
    root = symmetric_power(blocks.G, -0.5)
    return -derivative_of_energy + root @ pseudo_inverse(blocks.A @ root) @ (
        blocks.b + blocks.A @ derivative_of_energy
    )


def by_product(blocks: StateBlocks, derivative_of_energy: Array) -> Array:
    """p_dot of eq. 36, with the pseudo-inverse of A_p H_pp^-1 A_p^T."""
    dual = np.linalg.solve(blocks.G, blocks.A.T)
    error = blocks.b + blocks.A @ derivative_of_energy
    return -derivative_of_energy + dual @ pseudo_inverse(blocks.A @ dual) @ error


@listed("U-25", over=samples)
def scaled_virtual_displacements(s: Sample) -> Residual:
    basis = null_space(s.velocity_rows)
    return root_quantities(s)[0] @ symmetric_power(s.blocks.G, -0.5) @ basis


@listed("U-26", over=samples)
def projector_onto_null_space(s: Sample) -> Residual:
    B, inverse, _ = root_quantities(s)
    projector, basis = np.eye(3) - inverse @ B, null_space(B)
    return B @ projector, distance(projector, basis @ basis.T)


@listed("U-27", over=samples)
def scaled_constraint(s: Sample) -> Residual:
    B, _, root = root_quantities(s)
    return distance(B @ (root @ s.model_rates), s.blocks.b)


@listed("U-28", over=samples)
def general_solution(s: Sample) -> Residual:
    B, inverse, root = root_quantities(s)
    rate = root @ s.model_rates
    free = (np.eye(3) - inverse @ B) @ np.array([0.3, -0.8, 0.6])
    possible = np.linalg.solve(root, inverse @ s.blocks.b + free)
    in_range = distance(inverse @ B @ rate, inverse @ s.blocks.b)
    return in_range, distance(s.blocks.A @ possible, s.blocks.b)


@listed("U-29", over=samples)
def principle_of_dalembert(s: Sample) -> Any:
    basis = null_space(s.blocks.A @ np.linalg.inv(s.blocks.G))
    w = basis @ np.random.default_rng(5).uniform(-1, 1, (basis.shape[1], 4))
    return np.asarray(s.reaction @ w)


@listed("U-30", over=samples)
def principle_in_scaled_form(s: Sample) -> Any:
    B, _, root = root_quantities(s)
    return null_space(B).T @ root @ (s.momentum_rates + s.derivative_of_energy)


@listed("U-31", over=samples)
def work_split(s: Sample) -> Residual:
    B, inverse, root = root_quantities(s)
    xi, u = np.random.default_rng(6).uniform(-1, 1, (2, 3))
    free = (np.eye(3) - inverse @ B) @ xi
    rate = np.linalg.solve(root, inverse @ s.blocks.b + free)
    split = inverse @ s.blocks.b + free + root @ s.derivative_of_energy
    return distance(u @ root @ (rate + s.derivative_of_energy), u @ split)


@listed("U-32", over=samples)
def orthogonality_of_scaled_displacements(s: Sample) -> Residual:
    B, inverse, root = root_quantities(s)
    xi, u = root @ s.model_rates, null_space(B)
    return u.T @ inverse, u.T @ (xi + root @ s.derivative_of_energy)


@listed("U-33", over=samples)
def free_part(s: Sample) -> Residual:
    B, inverse, root = root_quantities(s)
    projector = np.eye(3) - inverse @ B
    free = -projector @ root @ s.derivative_of_energy
    return distance(projector @ root @ s.model_rates, free)


@listed("U-34", over=samples)
def explicit_equation_with_root(s: Sample) -> Residual:
    B, inverse, root = root_quantities(s)
    error = s.blocks.b + B @ root @ s.derivative_of_energy
    force = np.linalg.solve(root, inverse @ error)
    return distance(s.momentum_rates, -s.derivative_of_energy + force)


Formula = Callable[[StateBlocks, Array], Array]


def _on_example(e: State, formula: Formula) -> Array:
    """The rates of a formula for the library's blocks and free rates."""
    blocks = e.probe.blocks(e.time, e.state)
    free = np.asarray(np.linalg.solve(blocks.G, blocks.f), dtype=float)
    return formula(blocks, -free)


def _formula_residuals(formula: Formula) -> list[float]:
    """Library p_dot against a formula, in the examples and in random systems."""
    found = [distance(e.rates[len(e.state) // 2 :], _on_example(e, formula)) for e in examples]
    return found + [
        distance(s.momentum_rates, formula(s.blocks, s.derivative_of_energy)) for s in samples
    ]


listed("U-35")(lambda: _formula_residuals(by_root))


def _velocity_space_rates(e: State, name: str) -> tuple[Array, Array]:
    """q_ddot and the reaction by Lagrange's equations with multipliers, as one dense system."""
    reference = gallery_probe(name, "lagrange").with_parameters(**e.probe.parameters)
    v = e.probe.blocks(e.time, e.state).velocities
    blocks = reference.blocks(e.time, np.concatenate([e.state[: len(v)], v]))
    z, multipliers = least_norm_solution(blocks.G, blocks.f, blocks.A, blocks.b)
    return z, blocks.A.T @ multipliers


@listed("U-36")
def explicit_equation_36() -> Residual:
    pairs = [(e, *_velocity_space_rates(e, name)) for name in EXAMPLES for e in examples(name)]
    pairs += [
        (State(s.probe, s.time, s.state), *s.model.accelerations(s.q, s.v, s.time)) for s in samples
    ]
    return [_formula_residuals(by_product)] + [
        [
            distance(e.probe.observe(e.time, e.state)["accelerations"], z),
            distance(e.probe.reaction(e.time, e.state), reaction),
        ]
        for e, z, reaction in pairs
    ]


@listed("U-35=36")
def both_forms_agree() -> Residual:
    found = [distance(_on_example(e, by_root), _on_example(e, by_product)) for e in examples]
    return found + [
        distance(
            by_root(s.blocks, s.derivative_of_energy), by_product(s.blocks, s.derivative_of_energy)
        )
        for s in samples
    ]
