"""Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints: section 12.2, velocity constraints (eqs. 59 to 69).

The printed constraint is u_dot cos B - l theta_dot sin B = 0 with B = theta + b u / l; as worded it has l + u for l.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ... import gallery
from ...integrate.events.events import event
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ..independent.elastic_pendulum_model import Pendulum, Swing, over_swings, pendulum_motion, swings
from ..independent.random_systems import random_states, twin, twin_probe
from ..numeric import dense_solution, derivative, distance, gallery_probe, largest, worst
from ..row_registry import Corrected, claim

PRINTED, STEERED, PARTICLE = "elastic-pendulum-printed", "elastic-pendulum-steered", "constrained-particle"
ON_PRINT = "random pendulums and states that obey the printed constraint"


def _heading(p: Pendulum, q: Any) -> Any:
    return q[0] + p.b * q[1] / p.l


def _condition(p: Pendulum, q: Any, v: Any) -> Any:
    return v[1] * np.cos(_heading(p, q)) - p.l * v[0] * np.sin(_heading(p, q))


def _row(p: Pendulum, q: Any) -> Any:
    return np.array([-p.l * np.sin(_heading(p, q)), np.cos(_heading(p, q))])


def _right(p: Pendulum, q: Any, v: Any) -> Any:
    s, c = np.sin(_heading(p, q)), np.cos(_heading(p, q))
    return p.l * v[0] ** 2 * c + v[0] * v[1] * (s + p.b * c) + p.b * v[1] ** 2 * s / p.l


def _multiplier(s: Swing) -> float:
    """The library's multiplier, the lambda of eq. 61."""
    return float(s.probe.observe(0.0, s.state)["multipliers"][0])


def _integral(p: Pendulum, q: Any) -> Any:
    """u/l - b theta + ln(cos B + b sin B), without the modulus; complex arguments keep its derivative."""
    B = _heading(p, q)
    return q[1] / p.l - p.b * q[0] + np.log(np.cos(B) + p.b * np.sin(B) + 0j)


@claim(
    "G-59",
    "Velocity constraints hold along the motion, integrable or not",
    how="both steered pendulums and the particle z' = y x', library motions at velocity level",
    tolerance=1e-9,
)
def velocity_constraints_hold() -> float:
    motions = [pendulum_motion(PRINTED, 5.0), pendulum_motion(STEERED, 1.5), simulate(gallery.load(PARTICLE))]
    return worst(motion.worst_residual["velocity"] for motion in motions)


@claim(
    "G-60",
    "g_qdot dq = 0 is Chetaev's postulate: with such variations the constraint itself varies by (g_q - d/dt g_qdot) dq,"
    " which vanishes for integrable constraints only; the text calls the two conditions equivalent",
    how="variations of the particle z' = y x' and of an integrable constraint along random paths, by complex steps",
)
def chetaev() -> Corrected:
    random, right, printed = np.random.default_rng(60), [], []
    for _ in range(4):
        q, v, eta, eta_dot = random.uniform(-1, 1, (4, 3))
        eta[2], eta_dot[2] = q[1] * eta[0], v[1] * eta[0] + q[1] * eta_dot[0]

        def varied(w: Any, q: Any = q, v: Any = v, eta: Any = eta, eta_dot: Any = eta_dot) -> Any:
            return v[2] + w[0] * eta_dot[2] - (q[1] + w[0] * eta[1]) * (v[0] + w[0] * eta_dot[0])

        row_rate, by_position = np.array([-v[1], 0, 0]), np.array([0, -v[0], 0])
        change = derivative(varied, [0.0])[0]
        right.append(distance(change, (by_position - row_rate) @ eta))
        printed.append(abs(change))
        right.append(_varied_arc(q[:2], v[:2], eta[0], eta_dot[0]))
    return Corrected(worst(right), min(printed))


def _varied_arc(q: Any, v: Any, d: float, d_dot: float) -> float:
    """The change of 2 theta theta_dot + u_dot, which is integrable, for variations along its null direction."""
    eta = np.array([d, -2 * q[0] * d])
    eta_dot = np.array([d_dot, -2 * v[0] * d - 2 * q[0] * d_dot])

    def varied(w: Any) -> Any:
        return 2 * (q[0] + w[0] * eta[0]) * (v[0] + w[0] * eta_dot[0]) + v[1] + w[0] * eta_dot[1]

    return float(derivative(varied, [0.0])[0])


@claim(
    "G-61",
    "d/dt T_qdot - T_q + V_q - sum lambda g_qdot - Q = 0, with lambda g_qdot the force of the constraint",
    how="library accelerations and reactions of random systems with nonlinear velocity constraints, and of both steered"
    " pendulums, against dense systems by complex steps",
)
def lagrange_with_velocity_constraints() -> float:
    found = []
    system, probe = twin("velocity"), twin_probe("velocity", "lagrange")
    for time, q, p in random_states("velocity"):
        v = system.velocities(q, p, time)
        z, reaction = system.accelerations(q, v, time)
        state = np.concatenate([q, v])
        found += [distance(probe.rates(time, state)[3:], z), distance(probe.reaction(time, state), reaction)]
    for name in (PRINTED, STEERED):
        for s in swings(name):
            blocks = s.probe.blocks(0.0, s.state)
            force = s.pendulum.euler(s.q, s.v, s.accelerations)
            found += [distance(_multiplier(s) * blocks.A[0], force), distance(s.probe.reaction(0.0, s.state), force)]
    return worst(found)


@claim(
    "G-62",
    "A mass steered in the direction -b u / l obeys u_dot cos B - (l + u) theta_dot sin B = 0; the print has l for l + u",
    how="velocity across that direction along library motions with either constraint",
    tolerance=1e-9,
)
def steering_as_worded() -> Corrected:
    def across(name: str, span: float) -> float:
        motion, pendulum = pendulum_motion(name, span), Pendulum.of(gallery.load(name).parameters)
        found = []
        for y in motion.y.T:
            r_dot = pendulum.jacobian(y[:2]) @ y[2:]
            heading = -pendulum.b * y[1] / pendulum.l
            found.append(r_dot @ np.array([-np.sin(heading), np.cos(heading)]))
        return worst(found)

    return Corrected(across(STEERED, 1.5), across(PRINTED, 5.0))


@claim(
    "G-62-integrable",
    "The printed constraint is holonomic: u/l - b theta + ln|cos B + b sin B| does not change in any direction that it"
    " allows; the text calls it nonholonomic",
    how="complex steps of that integral along allowed directions at random points; as printed, the dimension that the"
    " allowed fields and their brackets lack, which is 1 here and 0 for the particle z' = y x'",
)
def printed_constraint_is_integrable() -> Corrected:
    found, missing = [], []
    for s in swings(PRINTED):
        allowed = _allowed_field(s.pendulum)
        found.append(float(_integral_derivative(s.pendulum, s.q) @ allowed(s.q)))
        missing.append(2 - _reached_dimension([allowed], s.q))
    found.append(3 - _reached_dimension(_PARTICLE_FIELDS, [0.4, -0.2, 0.3]))
    return Corrected(worst(found), min(missing))


def _integral_derivative(p: Pendulum, q: Any) -> Any:
    return derivative(lambda x: _integral(p, x), q)


def _allowed_field(p: Pendulum) -> Callable[[Any], Any]:
    """The direction that the printed constraint allows at a point."""
    return lambda x: np.array([np.cos(_heading(p, x)), p.l * np.sin(_heading(p, x))])


#: The directions that z' = y x' allows.
_PARTICLE_FIELDS: list[Callable[[Any], Any]] = [
    lambda x: np.array([1 + 0 * x[0], 0 * x[0], x[1]]),
    lambda x: np.array([0 * x[0], 1 + 0 * x[0], 0 * x[0]]),
]


def _reached_dimension(fields: list[Callable[[Any], Any]], point: Any) -> int:
    """The dimension of the span of some fields and their brackets at a point."""
    x = np.asarray(point, dtype=float)
    span = [field(x) for field in fields]
    for k, first in enumerate(fields):
        for second in fields[k + 1 :]:
            span.append(derivative(second, x) @ first(x) - derivative(first, x) @ second(x))
    return int(np.linalg.matrix_rank(np.array(span), tol=1e-9))


@claim(
    "G-62-leaf",
    "The straight line cos B + b sin B = 0, where the integral is undefined, is one of its curves: a motion on it stays",
    how="library motion from random points of that line: cos B + b sin B over two seconds",
    tolerance=1e-8,
)
def special_leaf() -> float:
    scenario, found = gallery.load(PRINTED), []
    b = scenario.parameters["b"]
    angle = -np.arctan(1 / b)
    for u in (0.1, -0.2):
        start = {"theta": angle - b * u, "u": u, "theta_dot": -b * 0.3, "u_dot": 0.3}
        motion = simulate(scenario, start, (0, 2), rtol=1e-12)
        B = motion["theta"] + b * motion["u"]
        found.append(worst(np.cos(B) + b * np.sin(B)))
    return worst(found)


@claim("G-63", "g_thetadot = -l sin(theta + b u / l)", how=f"the library's row, {ON_PRINT}")
def row_by_angle() -> float:
    return over_swings(lambda s: distance(s.probe.blocks(0.0, s.state).A[0, 0], _row(s.pendulum, s.q)[0]), PRINTED)


@claim("G-64", "g_udot = cos(theta + b u / l)", how=f"the library's row, {ON_PRINT}")
def row_by_stretch() -> float:
    return over_swings(lambda s: distance(s.probe.blocks(0.0, s.state).A[0, 1], _row(s.pendulum, s.q)[1]), PRINTED)


@claim(
    "G-65",
    "g_dot = -b u_dot^2 s / l + u_ddot c - l theta_dot^2 c - l theta_ddot s - theta_dot u_dot (s + b c)",
    how="the library's A q_ddot - b and complex steps of g along random paths against the formula",
)
def rate_of_condition() -> float:
    def residual(s: Swing) -> float:
        p, blocks = s.pendulum, s.probe.blocks(0.0, s.state)
        printed = _row(p, s.q) @ s.z - _right(p, s.q, s.v)
        by_steps = derivative(lambda w: _condition(p, *s.path(w[0])), [0.0])[0]
        return largest(distance(blocks.A[0] @ s.z - blocks.b[0], printed), distance(by_steps, printed))

    return over_swings(residual, PRINTED)


def _unbalanced(s: Swing) -> Any:
    """M q_ddot - Q for library accelerations."""
    return s.pendulum.mass(s.q) @ s.accelerations - s.pendulum.forcing(s.q, s.v)


def _signed(component: int) -> Corrected:
    """M q_ddot + sign * row * lambda = Q with the lambda of eq. 61: sign -1 is right, +1 is printed."""

    def residual(s: Swing, sign: float) -> float:
        return distance(_unbalanced(s)[component], -sign * _row(s.pendulum, s.q)[component] * _multiplier(s))

    return Corrected(over_swings(lambda s: residual(s, -1), PRINTED), over_swings(lambda s: residual(s, 1), PRINTED))


@claim(
    "G-66",
    "M (l + u)^2 theta_ddot + l s lambda = Q_theta with the lambda of eq. 61; the print has -l s lambda",
    how=f"library accelerations and multiplier, {ON_PRINT}",
)
def steered_moments() -> Corrected:
    return _signed(0)


@claim(
    "G-67",
    "M u_ddot - c lambda = Q_u with the lambda of eq. 61; the print has +c lambda",
    how=f"library accelerations and multiplier, {ON_PRINT}",
)
def steered_forces() -> Corrected:
    return _signed(1)


@claim(
    "G-68",
    "-l s theta_ddot + c u_ddot = l theta_dot^2 c + theta_dot u_dot (s + b c) + b u_dot^2 s / l",
    how=f"library accelerations, {ON_PRINT}",
)
def steered_constraint() -> float:
    return over_swings(lambda s: distance(_row(s.pendulum, s.q) @ s.accelerations, _right(s.pendulum, s.q, s.v)), PRINTED)


@claim(
    "G-69",
    "The matrix form gives the accelerations; its last unknown is minus the lambda of eq. 61",
    how=f"the printed system solved densely against library accelerations and multiplier, {ON_PRINT}",
)
def steered_matrix_form() -> Corrected:
    def residual(s: Swing, sign: float) -> float:
        row, right = _row(s.pendulum, s.q)[None, :], np.array([_right(s.pendulum, s.q, s.v)])
        z, last = dense_solution(s.pendulum.mass(s.q), s.pendulum.forcing(s.q, s.v), row, right)
        return largest(distance(s.accelerations, z), distance(sign * last[0], _multiplier(s)))

    return Corrected(over_swings(lambda s: residual(s, -1), PRINTED), over_swings(lambda s: residual(s, 1), PRINTED))


@claim(
    "G-12.2-force",
    "By eq. 61 the moment is -lambda l s and the force lambda c",
    how=f"library reactions and multiplier, {ON_PRINT}",
)
def steered_reaction() -> float:
    return over_swings(lambda s: distance(s.probe.reaction(0.0, s.state), _multiplier(s) * _row(s.pendulum, s.q)), PRINTED)


@claim(
    "G-12.2-velocities",
    "The direction of the constraint force depends on the position only; the force itself depends on the velocities too,"
    " through lambda; the text says that it does not",
    how=f"library reactions at one position and two admissible velocities, {ON_PRINT}",
)
def force_depends_on_velocities() -> Corrected:
    right, printed = [], []
    for s in swings(PRINTED):
        slow, fast = (s.probe.reaction(0.0, np.concatenate([s.q, factor * s.v])) for factor in (0.5, 2.0))
        right.append(float(np.cross(slow, fast)) / (1 + float(np.linalg.norm(slow) * np.linalg.norm(fast))))
        printed.append(distance(fast, slow))
    return Corrected(worst(right), worst(printed))


@claim(
    "G-12.2-start",
    "A start with u_dot_0 = l theta_dot_0 tan(theta_0 + b u_0 / l) is admissible",
    how=f"the library's constraint at that velocity, {ON_PRINT}",
)
def admissible_start() -> float:
    def residual(s: Swing) -> float:
        speed = s.pendulum.l * s.v[0] * np.tan(_heading(s.pendulum, s.q))
        state = np.concatenate([s.q, [s.v[0], speed]])
        return worst(s.probe.blocks(0.0, state).constraint)

    return over_swings(residual, PRINTED)


@cache
def _figure_motion() -> Motion:
    """Figure 6's motion with its zero crossings through the plane across its start."""
    scenario = gallery.load(PRINTED)
    start = scenario.start
    section = sum(start[q.dot.name] * (q - start[q.name]) for q in scenario.system.coordinates)
    return simulate(scenario, span=(0.0, 6.0), rtol=1e-12, events=[event(section, direction=1)])


@claim(
    "G-Figure-6-caption",
    "The trajectory obeys u_dot / (l theta_dot) = tan(theta + b u / l); the caption has the ratio upside down",
    how="both ratios, cleared of fractions, along a library motion over six seconds",
    tolerance=1e-9,
)
def caption_of_figure_six() -> Corrected:
    motion = _figure_motion()
    B = motion["theta"] + 5 * motion["u"]
    right = motion["u_dot"] * np.cos(B) - motion["theta_dot"] * np.sin(B)
    return Corrected(worst(right), worst(motion["theta_dot"] * np.cos(B) - motion["u_dot"] * np.sin(B)))


@claim(
    "G-Figure-6",
    "The motion is periodic, with period 2.7722 s; the caption says that it is not",
    how="return of a library motion through the plane across its start: distance from the start, and period to the"
    " digits given; as printed, the part of the motion's size that this return recovers",
    tolerance=1e-4,
)
def figure_six() -> Corrected:
    motion = _figure_motion()
    later = [k for k, time in enumerate(motion.t_events[0]) if time > 1e-6]
    back = min(later, key=lambda k: abs(motion.t_events[0][k] - 2.7722))
    gap = float(np.linalg.norm(motion.y_events[0][back] - motion.y[:, 0]))
    size = float(np.linalg.norm(np.ptp(motion.y, axis=1)))
    return Corrected(worst([gap, motion.t_events[0][back] - 2.7722]), 1 - gap / size)


@claim(
    "G-Figure-6-energy",
    "The energy is conserved and the constraint satisfied at all times",
    how="library motion over six seconds",
    tolerance=1e-9,
)
def energy_of_figure_six() -> float:
    motion = _figure_motion()
    return largest(float(np.ptp(motion.energy)), motion.worst_residual["velocity"])


@claim(
    "G-Figure-7",
    "u and theta keep to one fixed curve; the caption says that there is none",
    how="spread of the integral along a library motion; as printed, the part of its range over the visited rectangle that"
    " the motion never reaches",
    tolerance=1e-8,
)
def figure_seven() -> Corrected:
    motion, pendulum = _figure_motion(), Pendulum.of(gallery.load(PRINTED).parameters)
    theta, u = motion["theta"], motion["u"]
    spread = float(np.ptp(_integral(pendulum, np.array([theta, u])).real))
    grid = np.meshgrid(np.linspace(theta.min(), theta.max(), 41), np.linspace(u.min(), u.max(), 41))
    extent = float(np.ptp(_integral(pendulum, np.array(grid)).real))
    return Corrected(spread, 1 - spread / extent)


@claim(
    "G-Figure-8",
    "Moment and force of the constraint along the motion",
    how="library reactions over five seconds against the dense system of eq. 69",
    tolerance=1e-8,
)
def figure_eight() -> float:
    motion, pendulum = pendulum_motion(PRINTED, 5.0), Pendulum.of(gallery_probe(PRINTED, "lagrange").parameters)
    expected = []
    for y in motion.y.T:
        row, right = _row(pendulum, y[:2])[None, :], np.array([_right(pendulum, y[:2], y[2:])])
        _, last = dense_solution(pendulum.mass(y), pendulum.forcing(y[:2], y[2:]), row, right)
        expected.append(-last[0] * row[0])
    return distance(motion.reactions["steering"].force, np.array(expected).T)
