"""Gavin: Gauss's principle (eq. 70 and section 13)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...typing import Array
from ..independent.random_systems import random_probe, random_states, random_system
from ..numeric import (
    Probe,
    Residual,
    dense_solution,
    derivative,
    distance,
    excess,
    null_space,
    worst,
)
from ..row_registry import Corrected, listed
from ..samples import Sampler
from .pendulum_samples import ARC, PRINTED, STEERED, pendulums


@dataclass(frozen=True)
class GaussSample:
    """M, Q, A, b of a constrained system at one state, with what the library makes of them."""

    M: Array
    Q: Array
    A: Array
    b: Array
    accelerations: Array
    reaction: Array
    multipliers: Array

    @property
    def free(self) -> Array:
        """a = M^-1 Q."""
        return np.asarray(np.linalg.solve(self.M, self.Q), dtype=float)

    def gauss(self, z: Array) -> Array:
        """Gauss's function of the accelerations."""
        return (z - self.free) @ self.M @ (z - self.free) / 2

    def augmented(self, z: Array, multipliers: Array) -> Array:
        """Gauss's function with multipliers."""
        return self.gauss(z) + multipliers @ (self.A @ z - self.b)

    @property
    def compliance(self) -> Array:
        """A M^-1 A^T."""
        return self.A @ np.linalg.solve(self.M, self.A.T)


def _problems(kind: str) -> Iterator[GaussSample]:
    if kind in (ARC, PRINTED, STEERED):
        for s in pendulums(kind):
            p, blocks = s.pendulum, s.blocks
            stated = (p.mass(s.q), p.forcing(s.q, s.v), blocks.A, blocks.b)
            yield GaussSample(*stated, *_library(s.probe, 0.0, s.state))
        return
    system, probe = random_system(kind), random_probe(kind, "lagrange")
    for time, q, momenta in random_states(kind, 3):
        v = system.velocities(q, momenta, time)
        M, Q = system.mass(q, time), system.generalised_force(q, v, time)
        rows, state = system.velocity_rows(q, v, time), np.concatenate([q, v])
        yield GaussSample(M, Q, *rows, *_library(probe, time, state))


def _library(probe: Probe, time: float, state: Array) -> tuple[Array, Array, Array]:
    found = probe.observe(time, state)
    return found["accelerations"], probe.reaction(time, state), found["multipliers"]


problems = Sampler(_problems, ("holonomic", "velocity", "momentum", ARC, PRINTED, STEERED))


@listed("G-70", over=problems)
def saddle_system(i: GaussSample) -> Residual:
    z, multipliers = dense_solution(i.M, i.Q, i.A, i.b)
    return distance(i.accelerations, z), distance(i.multipliers, -multipliers)


@listed("G-71")
def augmented_function() -> Corrected:
    random = np.random.default_rng(71)
    right, printed = [], []
    for i in problems:
        z, multipliers = random.uniform(-1, 1, len(i.Q)), random.uniform(-1, 1, len(i.b))
        squares = z @ i.M @ z / 2 + i.free @ i.M @ i.free / 2
        rest = squares + multipliers @ i.A @ z - multipliers @ i.b
        whole, mixed = i.augmented(z, multipliers), z @ i.M @ i.free
        right.append(distance(rest - mixed, whole))
        printed.append(distance(rest + mixed, whole))
    return Corrected(right, printed)


@listed("G-72", over=problems)
def stationary_in_accelerations(i: GaussSample) -> Residual:
    gradient = derivative(lambda z: i.augmented(z, -i.multipliers), i.accelerations)
    return gradient, distance(i.M @ i.accelerations, i.Q - i.A.T @ -i.multipliers)


@listed("G-73", over=problems)
def stationary_in_multipliers(i: GaussSample) -> Residual:
    gradient = derivative(lambda w: i.augmented(i.accelerations, w), -i.multipliers)
    return gradient, distance(i.A @ i.accelerations, i.b)


@listed("G-sec13-gauss")
def least_constraint() -> Residual:
    random = np.random.default_rng(13)
    surplus, unit_gaps = [], []
    for i in problems:
        basis = null_space(i.A)
        others = i.accelerations[:, None] + basis @ random.uniform(-1, 1, (basis.shape[1], 30))
        least = min(float(i.gauss(z)) for z in others.T)
        surplus.append(excess(float(i.gauss(i.accelerations)) - least))
        unit, _ = dense_solution(np.eye(len(i.Q)), i.free, i.A, i.b)
        unit_gaps.append(distance(unit, i.accelerations))
    return worst(surplus), 0.0 if max(unit_gaps) > 1e-3 else 1.0


listed("G-sec13-multiplier", over=problems)(
    lambda i: distance(-i.multipliers, -np.linalg.solve(i.compliance, i.b - i.A @ i.free))
)
listed("G-sec13-force", over=problems)(
    lambda i: distance(i.reaction, -i.A.T @ np.linalg.solve(i.compliance, i.A @ i.free - i.b))
)


@listed("G-sec13-gain", over=problems)
def gain_formula(i: GaussSample) -> Residual:
    gain = -i.A.T @ np.linalg.inv(i.compliance)
    identity = distance(-i.A @ np.linalg.solve(i.M, gain), np.eye(len(i.b)))
    return distance(i.reaction, gain @ (i.A @ i.free - i.b)), identity


@listed("G-sec13-zero", over=problems)
def no_force_without_violation(i: GaussSample) -> Residual:
    helped = i.Q + i.reaction
    z, multipliers = dense_solution(i.M, helped, i.A, i.b)
    same = distance(z, np.linalg.solve(i.M, helped)), distance(z, i.accelerations)
    return i.A.T @ multipliers, same


listed("G-sec13-newton", over=problems)(lambda i: distance(i.M @ i.accelerations, i.Q + i.reaction))
