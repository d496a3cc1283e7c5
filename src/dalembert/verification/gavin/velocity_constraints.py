"""Gavin: section 12.2, velocity constraints (eqs. 59 to 69).

The printed constraint is u_dot cos B - l theta_dot sin B = 0 with B = theta + b u / l; as worded it
has l + u for l.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from ... import gallery
from ...integrate.events.events import event
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...typing import Array
from ..independent.elastic_pendulum_model import Pendulum, pendulum_motion
from ..independent.random_systems import random_probe, random_states, random_system
from ..numeric import Residual, Residuals, dense_solution, derivative, distance
from ..row_registry import Corrected, listed
from .pendulum_samples import (
    PRINTED,
    STEERED,
    PendulumSample,
    by_column,
    gallery_pendulum,
    on_print,
    pendulums,
)

Field = Callable[[Array], Array]


def _heading(p: Pendulum, q: Array) -> Any:
    return q[0] + p.b * q[1] / p.l


def _condition(p: Pendulum, q: Array, v: Array) -> Any:
    return v[1] * np.cos(_heading(p, q)) - p.l * v[0] * np.sin(_heading(p, q))


def _row(p: Pendulum, q: Array) -> Array:
    return np.array([-p.l * np.sin(_heading(p, q)), np.cos(_heading(p, q))])


def _right(p: Pendulum, q: Array, v: Array) -> Any:
    s, c = np.sin(_heading(p, q)), np.cos(_heading(p, q))
    return p.l * v[0] ** 2 * c + v[0] * v[1] * (s + p.b * c) + p.b * v[1] ** 2 * s / p.l


def _dense(p: Pendulum, q: Array, v: Array) -> tuple[Array, Array]:
    """Accelerations and the last unknown of the matrix form of eq. 69."""
    row, right = _row(p, q)[None, :], np.array([_right(p, q, v)])
    return dense_solution(p.mass(q), p.forcing(q, v), row, right)


def _integral(p: Pendulum, q: Array) -> Any:
    """u/l - b theta + ln(cos B + b sin B), without the modulus, for complex arguments."""
    B = _heading(p, q)
    return q[1] / p.l - p.b * q[0] + np.log(np.cos(B) + p.b * np.sin(B) + 0j)


@listed("G-59")
def velocity_constraints_hold() -> Residual:
    motions = [pendulum_motion(PRINTED, 5.0), pendulum_motion(STEERED, 1.5)]
    motions.append(simulate(gallery.load("constrained-particle")))
    return [motion.worst_residual["velocity"] for motion in motions]


@listed("G-60")
def chetaev() -> Corrected:
    random, right, printed = np.random.default_rng(60), [], []

    def particle(q: Array, v: Array) -> Any:
        return v[2] - q[1] * v[0]

    def arc(q: Array, v: Array) -> Any:
        return 2 * q[0] * v[0] + v[1]

    def change(g: Callable[[Array, Array], Array], *path: Array) -> float:
        q, v, eta, eta_dot = path
        return float(derivative(lambda w: g(q + w[0] * eta, v + w[0] * eta_dot), [0.0])[0])

    for _ in range(4):
        q, v, eta, eta_dot = random.uniform(-1, 1, (4, 3))
        eta[2], eta_dot[2] = q[1] * eta[0], v[1] * eta[0] + q[1] * eta_dot[0]
        row_rate, by_position = np.array([-v[1], 0, 0]), np.array([0, -v[0], 0])
        found = change(particle, q, v, eta, eta_dot)
        right.append(distance(found, (by_position - row_rate) @ eta))
        printed.append(abs(found))
        d, d_dot = eta[0], eta_dot[0]
        along = np.array([d, -2 * q[0] * d])
        right.append(
            change(arc, q[:2], v[:2], along, np.array([d_dot, -2 * v[0] * d - 2 * q[0] * d_dot]))
        )
    return Corrected(right, min(printed))


@listed("G-61")
def lagrange_with_velocity_constraints() -> Residuals:
    system, probe = random_system("velocity"), random_probe("velocity", "lagrange")
    for time, q, p in random_states("velocity"):
        v = system.velocities(q, p, time)
        z, reaction = system.accelerations(q, v, time)
        state = np.concatenate([q, v])
        yield distance(probe.rates(time, state)[3:], z)
        yield distance(probe.reaction(time, state), reaction)
    for s in pendulums(PRINTED, STEERED):
        force = s.pendulum.euler(s.q, s.v, s.accelerations)
        yield distance(s.multiplier * s.blocks.A[0], force), distance(s.reaction, force)


@listed("G-62")
def steering_as_worded() -> Corrected:
    def across(name: str, span: float) -> Array:
        p = gallery_pendulum(name)

        def component(y: Array) -> Any:
            heading = -p.b * y[1] / p.l
            return (p.jacobian(y[:2]) @ y[2:]) @ np.array([-np.sin(heading), np.cos(heading)])

        return by_column(component, pendulum_motion(name, span).y)

    return Corrected(across(STEERED, 1.5), across(PRINTED, 5.0))


@listed("G-62-integrable")
def printed_constraint_is_integrable() -> Corrected:
    found, missing = [], []
    for s in pendulums(PRINTED):
        allowed = _allowed_field(s.pendulum)
        found.append(float(derivative(partial(_integral, s.pendulum), s.q) @ allowed(s.q)))
        missing.append(2 - _reached_dimension([allowed], s.q))
    found.append(3 - _reached_dimension(_PARTICLE_FIELDS, np.array([0.4, -0.2, 0.3])))
    return Corrected(found, min(missing))


def _allowed_field(p: Pendulum) -> Field:
    """The direction that the printed constraint allows at a point."""
    return lambda x: np.array([np.cos(_heading(p, x)), p.l * np.sin(_heading(p, x))])


#: The directions that z' = y x' allows.
_PARTICLE_FIELDS: list[Field] = [
    lambda x: np.array([1 + 0 * x[0], 0 * x[0], x[1]]),
    lambda x: np.array([0 * x[0], 1 + 0 * x[0], 0 * x[0]]),
]


def _reached_dimension(fields: list[Field], x: Array) -> int:
    """The dimension of the span of some fields and their brackets at a point."""
    span = [field(x) for field in fields]
    for k, first in enumerate(fields):
        for second in fields[k + 1 :]:
            span.append(derivative(second, x) @ first(x) - derivative(first, x) @ second(x))
    return int(np.linalg.matrix_rank(np.array(span), tol=1e-9))


@listed("G-62-leaf")
def special_leaf() -> Residuals:
    scenario = gallery.load(PRINTED)
    b = scenario.parameters["b"]
    for u in (0.1, -0.2):
        angle = -np.arctan(1 / b) - b * u
        start = {"theta": angle, "u": u, "theta_dot": -b * 0.3, "u_dot": 0.3}
        motion = simulate(scenario, start, (0, 2), rtol=1e-12)
        B = motion["theta"] + b * motion["u"]
        yield np.cos(B) + b * np.sin(B)


listed("G-63", over=on_print)(lambda s: distance(s.blocks.A[0, 0], _row(s.pendulum, s.q)[0]))
listed("G-64", over=on_print)(lambda s: distance(s.blocks.A[0, 1], _row(s.pendulum, s.q)[1]))


@listed("G-65", over=on_print)
def rate_of_condition(s: PendulumSample) -> Residual:
    printed = _row(s.pendulum, s.q) @ s.z - _right(s.pendulum, s.q, s.v)
    by_steps = derivative(lambda w: _condition(s.pendulum, *s.path(w[0])), [0.0])[0]
    rate = distance(s.blocks.A[0] @ s.z - s.blocks.b[0], printed)
    return rate, distance(by_steps, printed)


@listed("G-66", over=on_print, given={"component": 0}, misprint={"sign": 1})
@listed("G-67", over=on_print, given={"component": 1}, misprint={"sign": 1})
def steered_force(s: PendulumSample, component: int, sign: int = -1) -> Residual:
    force = -sign * _row(s.pendulum, s.q)[component] * s.multiplier
    return distance(s.unbalanced[component], force)


listed("G-68", over=on_print)(
    lambda s: distance(_row(s.pendulum, s.q) @ s.accelerations, _right(s.pendulum, s.q, s.v))
)


@listed("G-69", over=on_print, misprint={"sign": 1})
def steered_matrix_form(s: PendulumSample, sign: int = -1) -> Residual:
    z, last = _dense(s.pendulum, s.q, s.v)
    return distance(s.accelerations, z), distance(sign * last[0], s.multiplier)


listed("G-12.2-force", over=on_print)(
    lambda s: distance(s.reaction, s.multiplier * _row(s.pendulum, s.q))
)


@listed("G-12.2-velocities", over=on_print)
def force_depends_on_velocities(s: PendulumSample) -> Corrected:
    slow, fast = (s.probe.reaction(0.0, np.concatenate([s.q, k * s.v])) for k in (0.5, 2.0))
    sizes = 1 + float(np.linalg.norm(slow) * np.linalg.norm(fast))
    return Corrected(float(np.cross(slow, fast)) / sizes, distance(fast, slow))


@listed("G-12.2-start", over=on_print)
def admissible_start(s: PendulumSample) -> Residual:
    speed = s.pendulum.l * s.v[0] * np.tan(_heading(s.pendulum, s.q))
    return s.probe.blocks(0.0, np.concatenate([s.q, [s.v[0], speed]])).constraint


@cache
def _figure_motion() -> Motion:
    """Figure 6's motion with its crossings of the plane through its start."""
    scenario = gallery.load(PRINTED)
    start = scenario.start
    section = sum(start[q.dot.name] * (q - start[q.name]) for q in scenario.system.coordinates)
    return simulate(scenario, span=(0.0, 6.0), rtol=1e-12, events=[event(section, direction=1)])


@listed("G-Figure-6-caption")
def caption_of_figure_six() -> Corrected:
    motion = _figure_motion()
    B, turn, stretch = motion["theta"] + 5 * motion["u"], motion["theta_dot"], motion["u_dot"]
    right, printed = stretch * np.cos(B) - turn * np.sin(B), turn * np.cos(B) - stretch * np.sin(B)
    return Corrected(right, printed)


@listed("G-Figure-6")
def figure_six() -> Corrected:
    motion = _figure_motion()
    later = [k for k, time in enumerate(motion.t_events[0]) if time > 1e-6]
    back = min(later, key=lambda k: abs(motion.t_events[0][k] - 2.7722))
    gap = float(np.linalg.norm(motion.y_events[0][back] - motion.y[:, 0]))
    size = float(np.linalg.norm(np.ptp(motion.y, axis=1)))
    return Corrected([gap, motion.t_events[0][back] - 2.7722], 1 - gap / size)


listed("G-Figure-6-energy")(
    lambda: (
        float(np.ptp(_figure_motion().energy)),
        _figure_motion().worst_residual["velocity"],
    )
)


@listed("G-Figure-7")
def figure_seven() -> Corrected:
    motion, pendulum = _figure_motion(), gallery_pendulum(PRINTED)
    theta, u = motion["theta"], motion["u"]
    spread = float(np.ptp(_integral(pendulum, np.array([theta, u])).real))
    grid = np.meshgrid(np.linspace(theta.min(), theta.max(), 41), np.linspace(u.min(), u.max(), 41))
    extent = float(np.ptp(_integral(pendulum, np.array(grid)).real))
    return Corrected(spread, 1 - spread / extent)


@listed("G-Figure-8")
def figure_eight() -> Residual:
    motion, p = pendulum_motion(PRINTED, 5.0), gallery_pendulum(PRINTED)

    def force(y: Array) -> Any:
        return -_dense(p, y[:2], y[2:])[1][0] * _row(p, y[:2])

    return distance(motion.reactions["steering"].force, by_column(force, motion.y))
