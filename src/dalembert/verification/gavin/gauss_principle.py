"""Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints: Gauss's principle (eq. 70 and section 13)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..independent.elastic_pendulum_model import swings
from ..independent.random_systems import random_states, twin, twin_probe
from ..numeric import Probe, dense_solution, derivative, distance, excess, largest, null_space, worst
from ..row_registry import Corrected, claim

EVERYWHERE = "random systems with nonlinear rheonomic constraints, and pendulums on the arc and steered"


@dataclass(frozen=True)
class Instant:
    """M, Q, A, b of a constrained system at one state, with what the library makes of them."""

    M: Any
    Q: Any
    A: Any
    b: Any
    accelerations: Any
    reaction: Any
    multipliers: Any

    @property
    def free(self) -> Any:
        """a = M^-1 Q."""
        return np.linalg.solve(self.M, self.Q)

    @property
    def gauss(self) -> Callable[[Any], Any]:
        """Gauss's function of the accelerations."""
        return lambda z: (z - self.free) @ self.M @ (z - self.free) / 2

    @property
    def compliance(self) -> Any:
        """A M^-1 A^T."""
        return self.A @ np.linalg.solve(self.M, self.A.T)


def _instants() -> Iterator[Instant]:
    for kind in ("holonomic", "velocity", "momentum"):
        system, probe = twin(kind), twin_probe(kind, "lagrange")
        for time, q, p in random_states(kind, 3):
            v = system.velocities(q, p, time)
            A, b = system.velocity_rows(q, v, time)
            force = system.generalised_force(q, v, time)
            yield _seen(probe, time, np.concatenate([q, v]), system.mass(q, time), force, A, b)
    for name in ("elastic-pendulum-arc", "elastic-pendulum-printed", "elastic-pendulum-steered"):
        for s in swings(name):
            blocks = s.probe.blocks(0.0, s.state)
            forcing = s.pendulum.forcing(s.q, s.v)
            yield _seen(s.probe, 0.0, s.state, s.pendulum.mass(s.q), forcing, blocks.A, blocks.b)


def _seen(probe: Probe, time: float, state: Any, M: Any, Q: Any, A: Any, b: Any) -> Instant:
    seen = probe.observe(time, state)
    return Instant(M, Q, A, b, seen["accelerations"], probe.reaction(time, state), seen["multipliers"])


def _over_instants(residual: Callable[[Instant], float]) -> float:
    return worst(residual(instant) for instant in _instants())


@claim(
    "G-70",
    "[[M, A^T], [A, 0]] (q_ddot, lambda) = (Q, b) gives accelerations and multipliers of every constrained system",
    how=f"the dense system against library accelerations and (with the opposite sign) multipliers, {EVERYWHERE}",
)
def saddle_system() -> float:
    def residual(i: Instant) -> float:
        z, multipliers = dense_solution(i.M, i.Q, i.A, i.b)
        return largest(distance(i.accelerations, z), distance(i.multipliers, -multipliers))

    return _over_instants(residual)


@claim(
    "G-71",
    "Gauss's function with multipliers expands to z^T M z / 2 - z^T M a + a^T M a / 2 + lambda^T A z - lambda^T b; the"
    " print has +z^T M a",
    how=f"both expansions against the function at random z and lambda, {EVERYWHERE}",
)
def augmented_function() -> Corrected:
    random = np.random.default_rng(71)
    right, printed = [], []
    for i in _instants():
        z, multipliers = random.uniform(-1, 1, len(i.Q)), random.uniform(-1, 1, len(i.b))
        whole = i.gauss(z) + multipliers @ (i.A @ z - i.b)
        rest = z @ i.M @ z / 2 + i.free @ i.M @ i.free / 2 + multipliers @ i.A @ z - multipliers @ i.b
        right.append(distance(rest - z @ i.M @ i.free, whole))
        printed.append(distance(rest + z @ i.M @ i.free, whole))
    return Corrected(worst(right), worst(printed))


@claim(
    "G-72",
    "Stationarity in the accelerations is M q_ddot = Q - A^T lambda",
    how=f"complex-step gradient of the augmented function at library accelerations and multipliers, {EVERYWHERE}",
)
def stationary_in_accelerations() -> float:
    def residual(i: Instant) -> float:
        multipliers = -i.multipliers
        gradient = derivative(lambda z: i.gauss(z) + multipliers @ (i.A @ z - i.b), i.accelerations)
        return largest(worst(gradient), distance(i.M @ i.accelerations, i.Q - i.A.T @ multipliers))

    return _over_instants(residual)


@claim(
    "G-73",
    "Stationarity in the multipliers is A q_ddot = b",
    how=f"complex-step gradient of the augmented function in lambda at library accelerations, {EVERYWHERE}",
)
def stationary_in_multipliers() -> float:
    def residual(i: Instant) -> float:
        gradient = derivative(lambda w: i.gauss(i.accelerations) + w @ (i.A @ i.accelerations - i.b), -i.multipliers)
        return largest(worst(gradient), distance(i.A @ i.accelerations, i.b))

    return _over_instants(residual)


@claim(
    "G-sec13-gauss",
    "Among all accelerations that the constraints allow, the actual ones are nearest to the free ones in the metric M (in"
    " another metric they are not)",
    how=f"Gauss's function at library accelerations against random allowed ones; the nearest in the unit metric must"
    f" differ, {EVERYWHERE}",
)
def least_constraint() -> float:
    random = np.random.default_rng(13)
    surplus, unit_gaps = [], []
    for i in _instants():
        basis = null_space(i.A)
        others = i.accelerations[:, None] + basis @ random.uniform(-1, 1, (basis.shape[1], 30))
        least = min(float(i.gauss(z)) for z in others.T)
        surplus.append(excess(float(i.gauss(i.accelerations)) - least))
        unit, _ = dense_solution(np.eye(len(i.Q)), i.free, i.A, i.b)
        unit_gaps.append(distance(unit, i.accelerations))
    return worst([*surplus, 0.0 if max(unit_gaps) > 1e-3 else 1.0])


@claim(
    "G-sec13-multiplier",
    "lambda = -(A M^-1 A^T)^-1 (b - A M^-1 Q)",
    how=f"library multipliers with the opposite sign against the formula, {EVERYWHERE}",
)
def multiplier_formula() -> float:
    return _over_instants(lambda i: distance(-i.multipliers, -np.linalg.solve(i.compliance, i.b - i.A @ i.free)))


@claim(
    "G-sec13-force",
    "Q^C = -A^T lambda = -A^T (A M^-1 A^T)^-1 (A a - b)",
    how=f"library reactions against the formula, {EVERYWHERE}",
)
def force_formula() -> float:
    return _over_instants(lambda i: distance(i.reaction, -i.A.T @ np.linalg.solve(i.compliance, i.A @ i.free - i.b)))


@claim(
    "G-sec13-gain",
    "Q^C = K (A a - b) with the gain K = -A^T (A M^-1 A^T)^-1: the force of a violation is the gain times it",
    how=f"library reactions against the gain; A M^-1 K against minus the identity, {EVERYWHERE}",
)
def gain_formula() -> float:
    def residual(i: Instant) -> float:
        gain = -i.A.T @ np.linalg.inv(i.compliance)
        identity = -i.A @ np.linalg.solve(i.M, gain)
        return largest(distance(i.reaction, gain @ (i.A @ i.free - i.b)), distance(identity, np.eye(len(i.b))))

    return _over_instants(residual)


@claim(
    "G-sec13-zero",
    "If the free accelerations satisfy the constraints, there is no constraint force",
    how=f"the formula and a dense solve with Q moved until A M^-1 Q = b, {EVERYWHERE}",
)
def no_force_without_violation() -> float:
    def residual(i: Instant) -> float:
        helped = i.Q + i.reaction
        z, multipliers = dense_solution(i.M, helped, i.A, i.b)
        return largest(worst(i.A.T @ multipliers), distance(z, np.linalg.solve(i.M, helped)), distance(z, i.accelerations))

    return _over_instants(residual)


@claim(
    "G-sec13-newton",
    "M q_ddot = Q + Q^C",
    how=f"library accelerations and reactions in the independent implementation's M and Q, {EVERYWHERE}",
)
def newton_with_reaction() -> float:
    return _over_instants(lambda i: distance(i.M @ i.accelerations, i.Q + i.reaction))
