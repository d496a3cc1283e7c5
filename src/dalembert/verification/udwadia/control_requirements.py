"""Udwadia, section 5: control requirements as constraints, their forces in closed form, and the norm that these minimise.

The library's servo gives the forces; independent implementations are dense Karush-Kuhn-Tucker systems from the blocks of the
constrained equations, the closed-form decay of a requirement, and the reaction of the constraint itself.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...control.servo.affine import Instants
from ...control.servo.servo import Servo, servo
from ...formulations.registry import derive
from ...gallery import formation_satellites, tracking_crane, tracking_double_pendulum
from ...integrate.simulate import simulate
from ...model.constraints import holonomic, velocity
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ..numeric import Probe, distance, worst
from ..row_registry import claim

WEIGHTS = {"gauss": None, "one": 1, "full": sympy.Matrix([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.7]])}
VALUES = {"m": 1.3, "l": 0.8, "g": 9.81}


@cache
def swing() -> System:
    """A cart with a pendulum, and a mass that is tied to it: three coordinates with a full mass matrix."""
    x, a, b = coordinates("x a b")
    m, l, g = parameters("m l g", positive=True)
    kinetic = m * x.dot**2 + m / 2 * l**2 * a.dot**2 + m * l * sympy.cos(a) * x.dot * a.dot + b.dot**2 / 2 + x.dot * b.dot / 3
    return System([x, a, b], kinetic=kinetic, potential=-m * g * l * sympy.cos(a) + (x - b) ** 2)


def wanted() -> dict[str, sympy.Expr]:
    """A requirement with velocities and time, and one on positions."""
    x, a, b = coordinates("x a b")
    return {"speed": x.dot * sympy.cos(a) - b.dot - sympy.sin(t) * b, "place": sympy.sin(a) + x * b - sympy.cos(2 * t) / 3}


@cache
def loop(weight: str) -> Servo:
    return servo(swing(), wanted(), weight=WEIGHTS[weight], rate=0)


@cache
def constrained() -> Probe:
    """The same requirements as ideal constraints."""
    speed, place = wanted().values()
    return Probe(derive(swing().replacing(constraints=[velocity(speed, name="speed"), holonomic(place, name="place")])), VALUES)


def instants(count: int = 6) -> list[tuple[float, Any]]:
    random = np.random.default_rng(17)
    return [(float(random.uniform(0, 2)), random.uniform(-0.9, 0.9, 6)) for _ in range(count)]


def effort_at(found: Servo, time: float, state: Any) -> Any:
    """The library's control force at a state, (3,)."""
    table = VALUES | {"t": time} | dict(zip(("x", "a", "b", "x_dot", "a_dot", "b_dot"), map(float, state), strict=True))
    return Instants(table).here(list(found.efforts.values()))[0]


@claim(
    "U-section-5-norm",
    "The explicit control force satisfies the requirements exactly and minimises a chosen weighted norm at each instant",
    how="three coordinates, two requirements, three weights at random states: the library's force against a dense system of the"
    " force, the accelerations and both sets of multipliers",
)
def least_norm() -> float:
    residuals = []
    for name in WEIGHTS:
        found = loop(name)
        for time, state in instants():
            blocks = constrained().blocks(time, state)
            N = np.linalg.inv(blocks.G) if name == "gauss" else np.array(found.weight.tolist(), dtype=float)
            n, m = 3, len(blocks.b)
            # unknowns: force, acceleration, multipliers of dynamics, multipliers of requirements
            zero = np.zeros
            matrix = np.block(
                [
                    [2 * N, zero((n, n)), -np.eye(n), zero((n, m))],
                    [zero((n, n)), zero((n, n)), blocks.G, blocks.A.T],
                    [-np.eye(n), blocks.G, zero((n, n)), zero((n, m))],
                    [zero((m, n)), blocks.A, zero((m, n)), zero((m, m))],
                ]
            )
            right = np.concatenate([zero(2 * n), blocks.f, blocks.b])
            residuals.append(distance(effort_at(found, time, state), np.linalg.solve(matrix, right)[:n]))
    return worst(residuals)


@claim(
    "U-section-5-reaction",
    "With the inverse of the mass matrix for a weight the control force is the force of the ideal constraint, and with another"
    " weight it is not",
    how="the same system at random states on the constraints: the library's control force against the library's reaction",
    tolerance=1e-9,
)
def reaction() -> float:
    residuals = []
    for time, state in instants():
        on = constrained().projected(time, state)
        force = constrained().reaction(time, on)
        residuals.append(distance(effort_at(loop("gauss"), time, on), force))
        residuals.append(max(0.0, 1e-3 - distance(effort_at(loop("one"), time, on), force)))
    return worst(residuals)


@claim(
    "U-section-5-decay",
    "A requirement that does not hold at the start decays by the law that it was given",
    how="double pendulum, crane (index 5) and satellites of the gallery: the errors of the library's motions against"
    " (e + (e_dot + k e) t) exp(-k t), for the requirements that take two differentiations",
    tolerance=1e-9,
)
def decay() -> float:
    residuals = []
    for name, module, errors in (
        ("tracking-double-pendulum", tracking_double_pendulum, ("across", "up")),
        ("tracking-crane", tracking_crane, ("up",)),
        ("formation-satellites", formation_satellites, ("along_x", "along_y")),
    ):
        scenario = gallery.load(name)
        motion = simulate(scenario, span=(0, 4), at=np.linspace(0, 4, 9), rtol=1e-11)
        start = {s.name: scenario.start.get(s.name, 0.0) for s in (*scenario.system.coordinates, *scenario.system.velocities)}
        probe = Instants({**scenario.parameters, **start, "t": 0.0})
        k = scenario.parameters["k"]
        for error in errors:
            phi = module.requirements()[error]
            rate = sum((sympy.diff(phi, q) * q.dot for q in scenario.system.coordinates), sympy.diff(phi, t))
            value, speed = probe.here([phi, rate])[0]
            expected = (value + (speed + k * value) * motion.t) * np.exp(-k * motion.t)
            residuals.append(distance(motion[f"error_{error}"], expected))
    return worst(residuals)
