"""Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints: section 12.1, holonomic systems (eqs. 46 to 58).

The pendulum on the arc g = 1 - theta^2 - u/l = 0. The independent implementation eliminates u = l - l theta^2 and has one
coordinate.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ... import gallery
from ...errors import StartError
from ...formulations.registry import derive
from ...gallery._shared import ElasticPendulum
from ...integrate.events.events import event
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.constraints import holonomic
from ..independent.elastic_pendulum_model import Pendulum, Swing, over_swings, pendulum_motion, swings
from ..numeric import Probe, dense_solution, derivative, distance, largest, null_space, worst
from ..row_registry import Corrected, claim

ARC = "elastic-pendulum-arc"
ON_ARC = "random pendulums and states on the arc"


def _gap(l: float, q: Any) -> Any:
    return 1 - q[0] ** 2 - q[1] / l


def _lifted(l: float, theta: Any, turn: Any) -> tuple[Any, Any]:
    """q and v on the arc for an angle and its rate."""
    return np.array([theta, l - l * theta**2]), np.array([turn, -2 * l * theta * turn])


def eliminated_acceleration(pendulum: Pendulum, theta: float, turn: float) -> Any:
    """theta_ddot and u_ddot of the one-coordinate Lagrange equation, by complex steps of T and V on the arc."""
    tangent = np.array([1.0, -2 * pendulum.l * theta])

    def momentum(w: Any) -> Any:
        q, v = _lifted(pendulum.l, w[0], w[1])
        return pendulum.momenta(q, v) @ np.array([1.0, -2 * pendulum.l * w[0]])

    def energy(w: Any) -> Any:
        q, v = _lifted(pendulum.l, w[0], turn)
        return pendulum.kinetic(q, v) - pendulum.potential(q)

    by_angle, inertia = derivative(momentum, [theta, turn])
    z = (derivative(energy, [theta])[0] - by_angle * turn) / inertia
    return tangent * z + np.array([0.0, -2 * pendulum.l * turn**2])


def _reference(s: Swing) -> tuple[Any, Any]:
    """Accelerations by elimination, and the force on both coordinates that they require."""
    z = eliminated_acceleration(s.pendulum, s.q[0], s.v[0])
    return z, s.pendulum.euler(s.q, s.v, z)


def _multiplier(s: Swing) -> float:
    return float(s.probe.observe(0.0, s.state)["multipliers"][0])


@claim(
    "G-46",
    "Admissible variations obey g_q dq = 0",
    how=f"the derivative of g by complex steps along the null space of the library's row, {ON_ARC}",
)
def admissible_variations() -> float:
    def residual(s: Swing) -> float:
        basis = null_space(s.probe.blocks(0.0, s.state).A)[:, 0]
        return float(derivative(lambda w: _gap(s.pendulum.l, s.q + w[0] * basis), [0.0])[0])

    return over_swings(residual, ARC)


@claim(
    "G-sec12-work",
    "The forces of constraints do no work on admissible variations: they are combinations of the rows g_q",
    how=f"library reactions on the null space of g_q by complex steps, {ON_ARC}",
)
def no_virtual_work() -> float:
    def residual(s: Swing) -> float:
        basis = null_space(derivative(lambda x: _gap(s.pendulum.l, x), s.q)[None, :])[:, 0]
        return float(s.probe.reaction(0.0, s.state) @ basis)

    return over_swings(residual, ARC)


@claim(
    "G-47",
    "d/dt T_qdot - T_q + V_q - sum lambda g_q - Q = 0, with lambda g_q the force of the constraint",
    how=f"library accelerations, multiplier and reaction against the elimination of u, {ON_ARC}",
)
def lagrange_with_multipliers() -> float:
    def residual(s: Swing) -> float:
        z, force = _reference(s)
        row = derivative(lambda x: _gap(s.pendulum.l, x), s.q)
        return largest(
            distance(s.accelerations, z),
            distance(s.probe.reaction(0.0, s.state), force),
            distance(_multiplier(s) * row, force),
        )

    return over_swings(residual, ARC)


@claim("G-48", "g(q, t) = 0 holds along the motion", how="library motion on the arc over five seconds", tolerance=1e-9)
def constraint_holds() -> float:
    return worst(_gap(1.0, pendulum_motion(ARC, 5.0).y[:2]))


@claim(
    "G-49",
    "u = l - l theta^2 and 1 - theta^2 - u/l = 0 are one constraint: equal motion and force, multipliers in the ratio of"
    " the rows",
    how=f"library equations with either way of writing it, {ON_ARC}",
)
def two_ways_of_writing() -> float:
    shape = ElasticPendulum()
    length = shape.length
    other = shape.system([holonomic(shape.stretch - length + length * shape.angle**2, name="arc")])
    reference = Probe(derive(other, "lagrange"), gallery.load(ARC).parameters)

    def residual(s: Swing) -> float:
        probe = reference.with_parameters(**s.probe.parameters)
        multiplier = probe.observe(0.0, s.state)["multipliers"][0]
        return largest(
            distance(probe.rates(0.0, s.state), s.probe.rates(0.0, s.state)),
            distance(probe.reaction(0.0, s.state), s.probe.reaction(0.0, s.state)),
            distance(-s.pendulum.l * multiplier, _multiplier(s)),
        )

    return over_swings(residual, ARC)


@claim("G-50", "g_theta = -2 theta", how=f"the library's row, {ON_ARC}")
def row_by_angle() -> float:
    return over_swings(lambda s: distance(s.probe.blocks(0.0, s.state).A[0, 0], -2 * s.q[0]), ARC)


@claim("G-51", "g_u = -1/l", how=f"the library's row, {ON_ARC}")
def row_by_stretch() -> float:
    return over_swings(lambda s: distance(s.probe.blocks(0.0, s.state).A[0, 1], -1 / s.pendulum.l), ARC)


@claim(
    "G-12.1-sign",
    "The constraint's moment and force are -2 theta lambda and -lambda / l, with the lambda of eqs. 47 and 53 to 56; the"
    " text has both with a plus",
    how=f"the force that the elimination of u requires against the library's multiplier, {ON_ARC}",
)
def sign_in_the_text() -> Corrected:
    def residual(s: Swing, sign: float) -> float:
        stated = np.array([2 * s.q[0], 1 / s.pendulum.l]) * _multiplier(s)
        return distance(sign * stated, _reference(s)[1])

    return Corrected(over_swings(lambda s: residual(s, -1), ARC), over_swings(lambda s: residual(s, 1), ARC))


@claim(
    "G-12.1-guide",
    "The physical force has components -lambda / l along the spring and -2 theta lambda / (l + u) across it, and acts at"
    " right angles to the guide; the text has plus signs",
    how=f"M r_ddot less weight and spring in Cartesian components, from library accelerations, {ON_ARC}",
)
def force_of_the_guide() -> Corrected:
    def forces(s: Swing) -> tuple[Any, Any, float]:
        J, unit = s.pendulum.jacobian(s.q), np.array([np.sin(s.q[0]), -np.cos(s.q[0])])
        pull = derivative(s.pendulum.potential_at, s.pendulum.position(s.q))
        force = s.pendulum.M * s.pendulum.cartesian_acceleration(s.q, s.v, s.accelerations) + pull
        across = np.array([np.cos(s.q[0]), np.sin(s.q[0])])
        tangent = J @ np.array([1.0, -2 * s.pendulum.l * s.q[0]])
        stated = _multiplier(s) * np.array([1 / s.pendulum.l, 2 * s.q[0] / (s.pendulum.l + s.q[1])])
        return np.array([force @ unit, force @ across]), stated, float(force @ tangent)

    found = [forces(s) for s in swings(ARC)]
    right = worst([*(distance(force, -stated) for force, stated, _ in found), *(along for *_, along in found)])
    return Corrected(right, worst(distance(force, stated) for force, stated, _ in found))


@claim(
    "G-12.1-units",
    "The multiplier of this constraint is a moment: it scales as mass times length squared over time squared",
    how=f"library multipliers in units of length, time and mass changed by random factors, {ON_ARC}",
)
def units_of_the_multiplier() -> float:
    length, time, mass = 1.7, 0.6, 2.3

    def residual(s: Swing) -> float:
        values = s.probe.parameters
        other = s.probe.with_parameters(
            M=values["M"] * mass,
            l=values["l"] * length,
            K=values["K"] * mass / time**2,
            g=values["g"] * length / time**2,
        )
        state = s.state * np.array([1, length, 1 / time, length / time])
        scaled = other.observe(0.0, state)["multipliers"][0]
        return distance(scaled, _multiplier(s) * mass * length**2 / time**2)

    return over_swings(residual, ARC)


@claim(
    "G-12.1-elimination",
    "Eliminating u gives the same motion with one coordinate, without the force of the constraint",
    how="library motion over five seconds against SciPy's integration of the one-coordinate equation",
    tolerance=1e-8,
)
def elimination() -> float:
    from scipy.integrate import solve_ivp

    pendulum = Pendulum.of(gallery.load(ARC).parameters)
    motion = pendulum_motion(ARC, 5.0)

    def field(_: float, x: Any) -> Any:
        return [x[1], eliminated_acceleration(pendulum, x[0], x[1])[0]]

    reference = solve_ivp(field, (0, 5), [0.0, 1.0], "DOP853", motion.t, rtol=1e-12, atol=1e-13)
    return distance([motion["theta"], motion["theta_dot"]], reference.y)


@claim(
    "G-52",
    "2 l theta theta_ddot + u_ddot = -2 l theta_dot^2",
    how=f"library accelerations, {ON_ARC}",
)
def differentiated_arc() -> float:
    def residual(s: Swing) -> float:
        z, l = s.accelerations, s.pendulum.l
        return distance(2 * l * s.q[0] * z[0] + z[1], -2 * l * s.v[0] ** 2)

    return over_swings(residual, ARC)


def _multiplied(s: Swing) -> Any:
    """M q_ddot - Q for library accelerations."""
    return s.pendulum.mass(s.q) @ s.accelerations - s.pendulum.forcing(s.q, s.v)


@claim(
    "G-53",
    "M (l + u)^2 theta_ddot + 2 theta lambda = -M g (l + u) sin(theta) - 2 M (l + u) u_dot theta_dot",
    how=f"library accelerations and multiplier, {ON_ARC}",
)
def arc_moments() -> float:
    return over_swings(lambda s: distance(_multiplied(s)[0], -2 * s.q[0] * _multiplier(s)), ARC)


@claim(
    "G-54",
    "M u_ddot + lambda / l = M (l + u) theta_dot^2 - K u + M g cos(theta)",
    how=f"library accelerations and multiplier, {ON_ARC}",
)
def arc_forces() -> float:
    return over_swings(lambda s: distance(_multiplied(s)[1], -_multiplier(s) / s.pendulum.l), ARC)


@claim(
    "G-55",
    "The differentiated constraint closes the system of three equations",
    how=f"eqs. 53 to 55 solved as one dense system against library accelerations, {ON_ARC}",
)
def three_equations() -> float:
    def residual(s: Swing) -> float:
        l = s.pendulum.l
        matrix = np.array([[*s.pendulum.mass(s.q)[0], 2 * s.q[0]], [0, s.pendulum.M, 1 / l], [2 * l * s.q[0], 1, 0]])
        right = [*s.pendulum.forcing(s.q, s.v), -2 * l * s.v[0] ** 2]
        return distance([*s.accelerations, _multiplier(s)], np.linalg.solve(matrix, right))

    return over_swings(residual, ARC)


@claim(
    "G-56",
    "The symmetric matrix form gives accelerations and multiplier at once",
    how=f"the printed system solved densely against library accelerations and multiplier, {ON_ARC}",
)
def arc_matrix_form() -> float:
    def residual(s: Swing) -> float:
        row, right = np.array([[2 * s.q[0], 1 / s.pendulum.l]]), np.array([-2 * s.v[0] ** 2])
        z, multiplier = dense_solution(s.pendulum.mass(s.q), s.pendulum.forcing(s.q, s.v), row, right)
        return largest(distance(s.accelerations, z), distance(_multiplier(s), multiplier[0]))

    return over_swings(residual, ARC)


@cache
def _from_wrong_start() -> Motion:
    """A start that breaks both conditions, which the library moves to the nearest consistent one."""
    wrong = {"theta": 0.3, "u": 0.7, "theta_dot": 1.0, "u_dot": 0.4}
    return simulate(gallery.load(ARC), wrong, (0, 1), rtol=1e-12)


def _is_refused(start: dict[str, float]) -> float:
    """0 where the library refuses a start as it stands, 1 where it takes it."""
    try:
        simulate(gallery.load(ARC), start, (0, 0.1), project_start=False)
    except StartError:
        return 0.0
    return 1.0


@claim(
    "G-57",
    "An admissible start has l theta_0^2 + u_0 = l",
    how="the start that the library moves an inadmissible one to, and its refusal of one with u_0 off the arc",
    tolerance=1e-9,
)
def admissible_positions() -> float:
    start = _from_wrong_start().start
    refused = _is_refused({"theta": 0.0, "u": 0.9, "theta_dot": 1.0, "u_dot": 0.0})
    return worst([start["theta"] ** 2 + start["u"] - 1, refused])


@claim(
    "G-58",
    "An admissible start has 2 l theta_0 theta_dot_0 + u_dot_0 = 0; the differentiated constraint alone keeps what is left"
    " of it, and g then grows with time",
    how="the start that the library moves an inadmissible one to, its refusal of one with a wrong u_dot_0, and eq. 56"
    " integrated by SciPy from that one: g against g_dot(0) t",
    tolerance=1e-9,
)
def admissible_velocities() -> float:
    from scipy.integrate import solve_ivp

    start = _from_wrong_start().start
    wrong = {"theta": 0.0, "u": 1.0, "theta_dot": 1.0, "u_dot": 0.05}
    pendulum = Pendulum.of(gallery.load(ARC).parameters)

    def field(_: float, x: Any) -> Any:
        row, right = np.array([[2 * x[0], 1.0]]), np.array([-2 * x[2] ** 2])
        return [*x[2:], *dense_solution(pendulum.mass(x), pendulum.forcing(x[:2], x[2:]), row, right)[0]]

    drift = solve_ivp(field, (0, 1), list(wrong.values()), "DOP853", rtol=1e-12, atol=1e-13)
    return worst(
        [
            2 * start["theta"] * start["theta_dot"] + start["u_dot"],
            _is_refused(wrong),
            distance(_gap(1.0, drift.y[:2]), -0.05 * drift.t),
        ]
    )


@cache
def _periodic_motion() -> Motion:
    scenario = gallery.load(ARC)
    theta = scenario.system.coordinates[0]
    return simulate(scenario, span=(0.0, 8.0), rtol=1e-12, events=[event(theta, direction=1)])


@claim(
    "G-Figure-3",
    "The motion on the arc is periodic and conserves the energy",
    how="state at the first upward zero crossing of theta = 0 against the start, and energy over eight seconds, library motion",
    tolerance=1e-8,
)
def figure_three() -> float:
    motion = _periodic_motion()
    later = [k for k, time in enumerate(motion.t_events[0]) if time > 1e-6]
    back = motion.y_events[0][later[0]]
    return worst([*(back - motion.y[:, 0]), float(np.ptp(motion.energy))])


@claim("G-Figure-4", "The path is u = l - l theta^2", how="library motion over eight seconds", tolerance=1e-9)
def figure_four() -> float:
    motion = _periodic_motion()
    return distance(motion["u"], 1 - motion["theta"] ** 2)


@claim(
    "G-Figure-5",
    "Moment and force of the constraint along the motion",
    how="library reactions over five seconds against the force that the elimination of u requires",
    tolerance=1e-8,
)
def figure_five() -> float:
    motion, pendulum = pendulum_motion(ARC, 5.0), Pendulum.of(gallery.load(ARC).parameters)
    expected = []
    for theta, turn in zip(motion["theta"], motion["theta_dot"], strict=True):
        q, v = _lifted(pendulum.l, theta, turn)
        expected.append(pendulum.euler(q, v, eliminated_acceleration(pendulum, theta, turn)))
    return distance(motion.reactions["arc"].force, np.array(expected).T)
