"""Udwadia, section 5: control requirements as constraints, and the norm that their forces minimise.

The library's servo gives the forces; independent implementations are dense Karush-Kuhn-Tucker
systems, the closed-form decay of a requirement, and the reaction of the constraint itself.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy

from ... import gallery
from ...control.servo.affine import Instants
from ...control.servo.servo import Servo, servo
from ...formulations.registry import derive
from ...gallery.controlled import formation_satellites, tracking_crane, tracking_double_pendulum
from ...integrate.simulate import simulate
from ...model.constraints import holonomic, velocity
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, Residual, Residuals, distance
from ..row_registry import listed
from ..samples import Generator, sampler

WEIGHTS = {
    "gauss": None,
    "one": 1,
    "full": sympy.Matrix([[2.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 0.7]]),
}
VALUES = {"m": 1.3, "l": 0.8, "g": 9.81}


@cache
def swing() -> System:
    """A cart with a pendulum and a tied mass: three coordinates with a full mass matrix."""
    x, a, b = coordinates("x a b")
    m, l, g = parameters("m l g", positive=True)
    kinetic = (
        m * x.dot**2
        + m / 2 * l**2 * a.dot**2
        + m * l * sympy.cos(a) * x.dot * a.dot
        + b.dot**2 / 2
        + x.dot * b.dot / 3
    )
    return System([x, a, b], kinetic=kinetic, potential=-m * g * l * sympy.cos(a) + (x - b) ** 2)


def wanted() -> dict[str, sympy.Expr]:
    """A requirement with velocities and time, and one on positions."""
    x, a, b = coordinates("x a b")
    return {
        "speed": x.dot * sympy.cos(a) - b.dot - sympy.sin(t) * b,
        "place": sympy.sin(a) + x * b - sympy.cos(2 * t) / 3,
    }


@cache
def loop(weight: str) -> Servo:
    return servo(swing(), wanted(), weight=WEIGHTS[weight], rate=0)


@cache
def constrained() -> Probe:
    """The same requirements as ideal constraints."""
    speed, place = wanted().values()
    imposed = [velocity(speed, name="speed"), holonomic(place, name="place")]
    return Probe(derive(swing().replacing(constraints=imposed)), VALUES)


class ControlInstant(NamedTuple):
    time: float
    state: Array


@sampler(seed=17, count=6)
def instants(_: str, random: Generator) -> ControlInstant:
    return ControlInstant(float(random.uniform(0, 2)), random.uniform(-0.9, 0.9, 6))


def effort_at(found: Servo, time: float, state: Array) -> Any:
    """The library's control force at a state, (3,)."""
    names = ("x", "a", "b", "x_dot", "a_dot", "b_dot")
    here = dict(zip(names, map(float, state), strict=True))
    return Instants(VALUES | {"t": time} | here).here(list(found.efforts.values()))[0]


@listed("U-section-5-norm", over=instants)
def least_norm(s: ControlInstant) -> Residuals:
    for name in WEIGHTS:
        G, f, A, b = constrained().blocks(s.time, s.state)[:4]
        weight = loop(name).weight
        N = np.linalg.inv(G) if name == "gauss" else np.array(weight.tolist(), dtype=float)
        # unknowns: force, acceleration, multipliers of dynamics, multipliers of requirements
        n, m, zero, one = 3, len(b), np.zeros, np.eye(3)
        matrix = np.block(
            [
                [2 * N, zero((n, n)), -one, zero((n, m))],
                [zero((n, n)), zero((n, n)), G, A.T],
                [-one, G, zero((n, n)), zero((n, m))],
                [zero((m, n)), A, zero((m, n)), zero((m, m))],
            ]
        )
        expected = np.linalg.solve(matrix, np.concatenate([zero(2 * n), f, b]))[:n]
        yield distance(effort_at(loop(name), s.time, s.state), expected)


@listed("U-section-5-reaction", over=instants)
def reaction(s: ControlInstant) -> Residual:
    on = constrained().projected(s.time, s.state)
    force = constrained().reaction(s.time, on)
    same, other = (distance(effort_at(loop(w), s.time, on), force) for w in ("gauss", "one"))
    return same, max(0.0, 1e-3 - other)


@listed("U-section-5-decay")
def decay() -> Residuals:
    for name, module, errors in (
        ("tracking-double-pendulum", tracking_double_pendulum, ("across", "up")),
        ("tracking-crane", tracking_crane, ("up",)),
        ("formation-satellites", formation_satellites, ("along_x", "along_y")),
    ):
        scenario = gallery.load(name)
        motion = simulate(scenario, span=(0, 4), at=np.linspace(0, 4, 9), rtol=1e-11)
        q, k = scenario.system.coordinates, scenario.parameters["k"]
        symbols = (*q, *scenario.system.velocities)
        start = {s.name: scenario.start.get(s.name, 0.0) for s in symbols}
        probe = Instants({**scenario.parameters, **start, "t": 0.0})
        for error in errors:
            phi = module.requirements()[error]
            rate = sum((sympy.diff(phi, x) * x.dot for x in q), sympy.diff(phi, t))
            value, speed = probe.here([phi, rate])[0]
            expected = (value + (speed + k * value) * motion.t) * np.exp(-k * motion.t)
            yield distance(motion[f"error_{error}"], expected)
