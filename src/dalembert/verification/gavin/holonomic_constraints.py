"""Gavin: section 12.1, holonomic systems (eqs. 46 to 58).

The pendulum on the arc g = 1 - theta^2 - u/l = 0. The independent implementation eliminates u = l -
l theta^2 and has one coordinate.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from ... import gallery
from ...errors import StartError
from ...formulations.registry import derive
from ...gallery.shared_parts import ElasticPendulum
from ...integrate.events.events import event
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.constraints import holonomic
from ...typing import Array
from ..independent.elastic_pendulum_model import Pendulum, pendulum_motion
from ..numeric import Probe, Residual, dense_solution, derivative, distance, null_space
from ..row_registry import Corrected, listed
from .pendulum_samples import ARC, DIGITS, PendulumSample, by_column, gallery_pendulum, on_arc


def _gap(l: float, q: Array) -> Any:
    return 1 - q[0] ** 2 - q[1] / l


def _lifted(l: float, theta: float, turn: float) -> tuple[Array, Array]:
    """q and v on the arc for an angle and its rate."""
    return np.array([theta, l - l * theta**2]), np.array([turn, -2 * l * theta * turn])


def eliminated_acceleration(pendulum: Pendulum, theta: float, turn: float) -> Any:
    """q_ddot of the one-coordinate Lagrange equation, by complex steps of T and V on the arc."""
    tangent = np.array([1.0, -2 * pendulum.l * theta])

    def momentum(w: Array) -> Any:
        q, v = _lifted(pendulum.l, w[0], w[1])
        return pendulum.momenta(q, v) @ np.array([1.0, -2 * pendulum.l * w[0]])

    def energy(w: Array) -> Any:
        q, v = _lifted(pendulum.l, w[0], turn)
        return pendulum.kinetic(q, v) - pendulum.potential(q)

    by_angle, inertia = derivative(momentum, [theta, turn])
    z = (derivative(energy, [theta])[0] - by_angle * turn) / inertia
    return tangent * z + np.array([0.0, -2 * pendulum.l * turn**2])


def _reference(s: PendulumSample) -> tuple[Array, Array]:
    """Accelerations by elimination, and the force on both coordinates that they require."""
    z = eliminated_acceleration(s.pendulum, s.q[0], s.v[0])
    return z, s.pendulum.euler(s.q, s.v, z)


def _row(s: PendulumSample) -> Array:
    return derivative(lambda x: _gap(s.pendulum.l, x), s.q)


@listed("G-46", over=on_arc)
def admissible_variations(s: PendulumSample) -> Residual:
    basis = null_space(s.blocks.A)[:, 0]
    return derivative(lambda w: _gap(s.pendulum.l, s.q + w[0] * basis), [0.0])


listed("G-sec12-work", over=on_arc)(lambda s: s.reaction @ null_space(_row(s)[None, :])[:, 0])


@listed("G-47", over=on_arc)
def lagrange_with_multipliers(s: PendulumSample) -> Residual:
    z, force = _reference(s)
    forces = distance(s.reaction, force), distance(s.multiplier * _row(s), force)
    return distance(s.accelerations, z), forces


listed("G-48")(lambda: _gap(1.0, pendulum_motion(ARC, 5.0).y[:2]))


@cache
def _other_way() -> Probe:
    shape = ElasticPendulum()
    arc = holonomic(shape.stretch - shape.length + shape.length * shape.angle**2, name="arc")
    return Probe(derive(shape.system([arc]), "lagrange"), gallery.load(ARC).parameters)


@listed("G-49", over=on_arc)
def two_ways_of_writing(s: PendulumSample) -> Residual:
    probe = _other_way().with_parameters(**s.probe.parameters)
    multiplier = probe.observe(0.0, s.state)["multipliers"][0]
    return (
        distance(probe.rates(0.0, s.state), s.probe.rates(0.0, s.state)),
        distance(probe.reaction(0.0, s.state), s.reaction),
        distance(-s.pendulum.l * multiplier, s.multiplier),
    )


listed("G-50", over=on_arc)(lambda s: distance(s.blocks.A[0, 0], -2 * s.q[0]))
listed("G-51", over=on_arc)(lambda s: distance(s.blocks.A[0, 1], -1 / s.pendulum.l))


@listed("G-12.1-sign", over=on_arc, misprint={"sign": 1})
def sign_in_the_text(s: PendulumSample, sign: int = -1) -> Residual:
    stated = np.array([2 * s.q[0], 1 / s.pendulum.l]) * s.multiplier
    return distance(sign * stated, _reference(s)[1])


@listed("G-12.1-guide", over=on_arc)
def force_of_the_guide(s: PendulumSample) -> Corrected:
    J, sine, cosine = s.pendulum.jacobian(s.q), np.sin(s.q[0]), np.cos(s.q[0])
    force = s.pendulum.M * s.r_ddot + s.pull
    found = np.array([force @ np.array([sine, -cosine]), force @ np.array([cosine, sine])])
    along_guide = force @ (J @ np.array([1.0, -2 * s.pendulum.l * s.q[0]]))
    stated = s.multiplier * np.array([1 / s.pendulum.l, 2 * s.q[0] / s.reach])
    return Corrected((distance(found, -stated), along_guide), distance(found, stated))


@listed("G-12.1-units", over=on_arc)
def units_of_the_multiplier(s: PendulumSample) -> Residual:
    length, time, mass = 1.7, 0.6, 2.3
    values = s.probe.parameters
    other = s.probe.with_parameters(
        M=values["M"] * mass,
        l=values["l"] * length,
        K=values["K"] * mass / time**2,
        g=values["g"] * length / time**2,
    )
    state = s.state * np.array([1, length, 1 / time, length / time])
    scaled = other.observe(0.0, state)["multipliers"][0]
    return distance(scaled, s.multiplier * mass * length**2 / time**2)


@listed("G-12.1-elimination")
def elimination() -> Residual:
    pendulum, motion = gallery_pendulum(ARC), pendulum_motion(ARC, 5.0)

    def field(_: float, x: Array) -> list[float]:
        return [x[1], eliminated_acceleration(pendulum, x[0], x[1])[0]]

    reference = solve_ivp(field, (0, 5), [0.0, 1.0], "DOP853", motion.t, **DIGITS)
    return distance([motion["theta"], motion["theta_dot"]], reference.y)


@listed("G-52", over=on_arc)
def differentiated_arc(s: PendulumSample) -> Residual:
    z, l = s.accelerations, s.pendulum.l
    return distance(2 * l * s.q[0] * z[0] + z[1], -2 * l * s.v[0] ** 2)


listed("G-53", over=on_arc)(lambda s: distance(s.unbalanced[0], -2 * s.q[0] * s.multiplier))
listed("G-54", over=on_arc)(lambda s: distance(s.unbalanced[1], -s.multiplier / s.pendulum.l))


@listed("G-55", over=on_arc)
def three_equations(s: PendulumSample) -> Residual:
    l, M = s.pendulum.l, s.pendulum.mass(s.q)
    matrix = [[*M[0], 2 * s.q[0]], [0, s.pendulum.M, 1 / l], [2 * l * s.q[0], 1, 0]]
    right = [*s.pendulum.forcing(s.q, s.v), -2 * l * s.v[0] ** 2]
    return distance([*s.accelerations, s.multiplier], np.linalg.solve(np.array(matrix), right))


@listed("G-56", over=on_arc)
def arc_matrix_form(s: PendulumSample) -> Residual:
    row, right = np.array([[2 * s.q[0], 1 / s.pendulum.l]]), np.array([-2 * s.v[0] ** 2])
    z, last = dense_solution(s.pendulum.mass(s.q), s.pendulum.forcing(s.q, s.v), row, right)
    return distance(s.accelerations, z), distance(s.multiplier, last[0])


@cache
def _from_wrong_start() -> Motion:
    """A start that breaks both conditions, which the library moves to a consistent one."""
    wrong = {"theta": 0.3, "u": 0.7, "theta_dot": 1.0, "u_dot": 0.4}
    return simulate(gallery.load(ARC), wrong, (0, 1), rtol=1e-12)


def _is_refused(start: dict[str, float]) -> float:
    """0 where the library refuses a start as it stands, 1 where it takes it."""
    try:
        simulate(gallery.load(ARC), start, (0, 0.1), project_start=False)
    except StartError:
        return 0.0
    return 1.0


@listed("G-57")
def admissible_positions() -> Residual:
    start = _from_wrong_start().start
    refused = _is_refused({"theta": 0.0, "u": 0.9, "theta_dot": 1.0, "u_dot": 0.0})
    return start["theta"] ** 2 + start["u"] - 1, refused


@listed("G-58")
def admissible_velocities() -> Residual:
    start, p = _from_wrong_start().start, gallery_pendulum(ARC)
    wrong = {"theta": 0.0, "u": 1.0, "theta_dot": 1.0, "u_dot": 0.05}

    def field(_: float, x: Array) -> list[float]:
        row, right = np.array([[2 * x[0], 1.0]]), np.array([-2 * x[2] ** 2])
        return [*x[2:], *dense_solution(p.mass(x), p.forcing(x[:2], x[2:]), row, right)[0]]

    drift = solve_ivp(field, (0, 1), list(wrong.values()), "DOP853", **DIGITS)
    grown = distance(_gap(1.0, drift.y[:2]), -0.05 * drift.t)
    return 2 * start["theta"] * start["theta_dot"] + start["u_dot"], _is_refused(wrong), grown


@cache
def _periodic_motion() -> Motion:
    scenario = gallery.load(ARC)
    theta = scenario.system.coordinates[0]
    return simulate(scenario, span=(0.0, 8.0), rtol=1e-12, events=[event(theta, direction=1)])


@listed("G-Figure-3")
def figure_three() -> Residual:
    motion = _periodic_motion()
    later = [k for k, time in enumerate(motion.t_events[0]) if time > 1e-6]
    return motion.y_events[0][later[0]] - motion.y[:, 0], float(np.ptp(motion.energy))


listed("G-Figure-4")(
    lambda: distance(_periodic_motion()["u"], 1 - _periodic_motion()["theta"] ** 2)
)


@listed("G-Figure-5")
def figure_five() -> Residual:
    motion, p = pendulum_motion(ARC, 5.0), gallery_pendulum(ARC)

    def required(theta: float, turn: float) -> Any:
        return p.euler(*_lifted(p.l, theta, turn), eliminated_acceleration(p, theta, turn))

    expected = by_column(required, motion["theta"], motion["theta_dot"])
    return distance(motion.reactions["arc"].force, expected)
