"""Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints: sections 1 to 5 (eqs. 1 to 23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...formulations.registry import derive
from ...gallery._shared import ElasticPendulum
from ...integrate.simulate import simulate
from ...model.forces import force, gravity, particle, rate, spring
from ...model.symbols import coordinates, parameters
from ...model.system import System
from ..independent.elastic_pendulum_model import Swing, over_swings, pendulum_motion, pushed_swings, swings
from ..numeric import Probe, derivative, distance, largest, worst
from ..row_registry import Corrected, claim

RANDOM = "random pendulums and states"


def cartesian_system() -> System:
    """The same pendulum as a particle in the plane, on a spring of rest length l."""
    x, y = coordinates("x y")
    M, l, K, g = parameters("M l K g", positive=True)
    parts = [particle(M, [x, y]), gravity(M, l + y, g), spring(K, sympy.sqrt(x**2 + y**2) - l)]
    return System([x, y], parts=parts, name="Particle on a spring")


@claim(
    "G-1",
    "x = (l + u) sin(theta): the component of the reach l + u across the vertical",
    how=f"angle and distance of the library's pendulum mass recovered from x and y, {RANDOM}",
)
def horizontal_position() -> float:
    shape = ElasticPendulum()

    def residual(s: Swing) -> float:
        x, y = s.probe.value(shape.position, 0.0, s.state)
        reach = s.pendulum.l + s.q[1]
        return largest(distance(x, reach * np.sin(s.q[0])), distance(np.arctan2(x, -y), s.q[0]))

    return over_swings(residual)


@claim(
    "G-2",
    "y = -(l + u) cos(theta): the mass hangs below the pivot",
    how=f"distance of the library's pendulum mass recovered from x and y, {RANDOM}",
)
def vertical_position() -> float:
    shape = ElasticPendulum()

    def residual(s: Swing) -> float:
        x, y = s.probe.value(shape.position, 0.0, s.state)
        reach = s.pendulum.l + s.q[1]
        return largest(distance(y, -reach * np.cos(s.q[0])), distance(np.hypot(x, y), reach))

    return over_swings(residual)


@claim(
    "G-3",
    "The motion in (x, y) is the motion in (theta, u) seen through r(q)",
    how="library motions of both statements over ten seconds, one mapped onto the other",
    tolerance=1e-7,
)
def two_coordinate_systems() -> float:
    values = gallery.load("elastic-pendulum").parameters
    swung = pendulum_motion("elastic-pendulum", 10.0)
    start = {"x": 0.0, "y": -2.0, "x_dot": 1.0, "y_dot": 0.0}
    flat = simulate(cartesian_system(), start, (0, 10), parameters=values, at=swung.t, rtol=1e-12)
    reach = 1 + swung["u"]
    return distance(flat.y[:2], [reach * np.sin(swung["theta"]), -reach * np.cos(swung["theta"])])


@claim(
    "G-4",
    "(theta, u) are coordinates of the plane wherever l + u is not zero: det r_q = -(l + u)",
    how=f"complex-step Jacobian of r, and the library's mass matrix M r_q^T r_q, {RANDOM}",
)
def regular_coordinates() -> float:
    def residual(s: Swing) -> float:
        J = derivative(s.pendulum.position, s.q)
        M = s.probe.blocks(0.0, s.state).G
        return largest(distance(np.linalg.det(J), -(s.pendulum.l + s.q[1])), distance(M, s.pendulum.M * J.T @ J))

    return over_swings(residual)


@claim(
    "G-5",
    "Velocities r_dot depend on both q_dot and q",
    how=f"the library's total time derivative of r against the printed formula, {RANDOM}",
)
def cartesian_velocities() -> float:
    rates = [rate(component) for component in ElasticPendulum().position]

    def residual(s: Swing) -> float:
        theta, (turn, stretch), reach = s.q[0], s.v, s.pendulum.l + s.q[1]
        printed = [
            stretch * np.sin(theta) + reach * np.cos(theta) * turn,
            -stretch * np.cos(theta) + reach * np.sin(theta) * turn,
        ]
        return distance(s.probe.value(rates, 0.0, s.state), printed)

    return over_swings(residual)


def _variation_residual(component: int, printed: Callable[[float, float, Any], float]) -> float:
    def residual(s: Swing) -> float:
        step = s.z
        by_step = derivative(lambda w: s.pendulum.position(s.q + w[0] * step), [0.0])[component, 0]
        return distance(printed(s.q[0], s.pendulum.l + s.q[1], step), by_step)

    return over_swings(residual)


@claim("G-6", "dx = (l + u) cos(theta) dtheta + sin(theta) du", how=f"complex steps of r along random dq, {RANDOM}")
def horizontal_variation() -> float:
    return _variation_residual(0, lambda theta, reach, d: reach * np.cos(theta) * d[0] + np.sin(theta) * d[1])


@claim("G-7", "dy = (l + u) sin(theta) dtheta - cos(theta) du", how=f"complex steps of r along random dq, {RANDOM}")
def vertical_variation() -> float:
    return _variation_residual(1, lambda theta, reach, d: reach * np.sin(theta) * d[0] - np.cos(theta) * d[1])


def _newton(s: Swing, push: Any) -> Any:
    """m r_ddot + V_r - p with the library's accelerations, in Cartesian components."""
    acceleration = s.pendulum.cartesian_acceleration(s.q, s.v, s.accelerations)
    return s.pendulum.M * acceleration + derivative(s.pendulum.potential_at, s.pendulum.position(s.q)) - push


@claim(
    "G-8",
    "The work of inertia and inner forces on virtual displacements equals that of the outer forces",
    how="library accelerations of random pushed pendulums, mapped to Cartesian components, on random r_q dq",
)
def virtual_displacements() -> float:
    return worst(_newton(s, push) @ s.pendulum.jacobian(s.q) @ s.z for s, push in pushed_swings())


def _equilibrium(s: Swing, push: Any) -> Any:
    pull = push + np.array([0, -s.pendulum.M * s.pendulum.g])
    return np.array([np.arctan2(pull[0], -pull[1]), np.hypot(*pull) / s.pendulum.K])


@claim(
    "G-9",
    "With constant forces f the total potential is V - f . r",
    how="its gradient by complex steps in q against minus the library's generalised force at rest, random pushed pendulums",
)
def total_potential() -> float:
    def residual(s: Swing, push: Any) -> float:
        by_steps = derivative(lambda x: s.pendulum.potential(x) - push @ s.pendulum.position(x), s.q)
        at_rest = s.probe.blocks(0.0, np.concatenate([s.q, [0, 0]]))
        return distance(-at_rest.f, by_steps)

    return worst(residual(s, push) for s, push in pushed_swings())


@claim(
    "G-10",
    "At equilibrium the total potential is stationary: sum V_r dr - sum f dr = 0",
    how="equilibrium of random pushed pendulums in closed form: gradient of V - f . r there, and the library's accelerations",
)
def stationary_potential() -> float:
    found = []
    for s, push in pushed_swings():
        q = _equilibrium(s, push)
        found += [*(derivative(s.pendulum.potential_at, s.pendulum.position(q)) - push)]
        found += [*s.probe.rates(0.0, np.concatenate([q, [0, 0]]))]
    return worst(found)


@claim(
    "G-11",
    "In motion the forces include inertia, f = -m r_ddot + p",
    how="V_r against -m r_ddot + p with library accelerations, random pushed pendulums",
)
def inertial_forces() -> float:
    found = []
    for s, push in pushed_swings():
        inertia = -s.pendulum.M * s.pendulum.cartesian_acceleration(s.q, s.v, s.accelerations)
        found.append(distance(derivative(s.pendulum.potential_at, s.pendulum.position(s.q)), inertia + push))
    return worst(found)


@claim(
    "G-12",
    "sum (m r_ddot + V_r - p) dr = 0 for every dr",
    how="library accelerations of random pushed pendulums, random Cartesian dr",
)
def dalembert() -> float:
    return worst(_newton(s, push) @ s.z for s, push in pushed_swings())


@claim(
    "G-13",
    "Independent dr give m r_ddot + V_r - p = 0 for each coordinate",
    how="library accelerations of random pushed pendulums, each Cartesian component",
)
def newton() -> float:
    return worst(component for s, push in pushed_swings() for component in _newton(s, push))


class _Variation:
    """A path q(t) with a variation eta(t) = eta + eta_dot t, and what they do to r, at time 0 of a swing."""

    def __init__(self, s: Swing) -> None:
        self.s, self.mass = s, s.pendulum.M
        self.eta, self.eta_dot = np.array([0.7, -0.4]), np.array([0.3, 0.9])
        self.jacobian = s.pendulum.jacobian(s.q)
        self.r_dot = self.jacobian @ s.v
        self.r_ddot = s.pendulum.cartesian_acceleration(s.q, s.v, s.z)
        self.by_position = derivative(lambda x: s.pendulum.jacobian(x) @ s.v, s.q)

    def displacement(self, time: Any) -> Any:
        """dr = r_q eta."""
        return self.s.pendulum.jacobian(self.s.path(time)[0]) @ (self.eta + self.eta_dot * time)

    def velocity(self, time: Any) -> Any:
        """dr_dot, the variation of the velocity."""
        (q, v), pendulum = self.s.path(time), self.s.pendulum
        return pendulum.jacobian_rate(q, v) @ (self.eta + self.eta_dot * time) + pendulum.jacobian(q) @ self.eta_dot

    def rate(self, function: Callable[[Any], Any]) -> Any:
        """The time derivative at 0."""
        return derivative(lambda w: function(w[0]), [0.0])[:, 0]

    def momentum_times(self, function: Callable[[Any], Any]) -> Any:
        """d/dt (m r_dot_i x_i) for each i."""

        def product(time: Any) -> Any:
            q, v = self.s.path(time)
            return self.mass * (self.s.pendulum.jacobian(q) @ v) * function(time)

        return self.rate(product)


def _corrected(pair: Callable[[_Variation], tuple[float, float]]) -> Corrected:
    found = [pair(_Variation(s)) for s in swings()]
    return Corrected(worst(a for a, _ in found), worst(b for _, b in found))


VARIED = f"complex steps along varied paths, {RANDOM}"


@claim(
    "G-14",
    "dr_i is sum r_dot_i,qdot_j dq_j, and its rate is sum r_dot_i,q_j dq_j + sum r_dot_i,qdot_j dq_dot_j; the print puts"
    " dq_dot into the first and drops the first term of the second",
    how=VARIED,
)
def varied_positions() -> Corrected:
    def pair(v: _Variation) -> tuple[float, float]:
        displacement, velocity = v.displacement(0.0), v.rate(v.displacement)
        right = largest(
            distance(v.jacobian @ v.eta, displacement),
            distance(v.by_position @ v.eta + v.jacobian @ v.eta_dot, velocity),
            distance(v.velocity(0.0), velocity),
        )
        printed = v.jacobian @ v.eta_dot
        return right, min(distance(printed, displacement), distance(printed, velocity))

    return _corrected(pair)


@claim("G-15", "T_rdot_i dr_dot_i = m r_dot_i dr_dot_i", how=VARIED)
def varied_kinetic_energy() -> float:
    def residual(s: Swing) -> float:
        v = _Variation(s)
        change = v.velocity(0.0)
        by_steps = derivative(lambda w: v.mass / 2 * np.sum(w**2), v.r_dot)
        return distance(by_steps * change, v.mass * v.r_dot * change)

    return over_swings(residual)


@claim(
    "G-16",
    "d/dt (m r_dot_i dr_i) = m r_ddot_i dr_i + m r_dot_i d(dr_i)/dt; the print has dr_dot_i under the derivative",
    how=VARIED,
)
def product_rule() -> Corrected:
    def pair(v: _Variation) -> tuple[float, float]:
        right = v.mass * (v.r_ddot * v.displacement(0.0) + v.r_dot * v.rate(v.displacement))
        return distance(v.momentum_times(v.displacement), right), distance(v.momentum_times(v.velocity), right)

    return _corrected(pair)


@claim(
    "G-17",
    "d/dt (T_rdot_i sum r_dot_i,qdot_j dq_j) = m r_ddot_i dr_i + T_rdot_i dr_dot_i; the print has dq_dot_j on the left",
    how=VARIED,
)
def product_rule_in_coordinates() -> Corrected:
    def pair(v: _Variation) -> tuple[float, float]:
        right = v.mass * (v.r_ddot * v.displacement(0.0) + v.r_dot * v.velocity(0.0))

        def printed(time: Any) -> Any:
            return v.s.pendulum.jacobian(v.s.path(time)[0]) @ v.eta_dot

        return distance(v.momentum_times(v.displacement), right), distance(v.momentum_times(printed), right)

    return _corrected(pair)


@claim(
    "G-18",
    "m r_ddot_i dr_i = d/dt (T_rdot_i sum r_dot_i,qdot_j dq_j) - T_rdot_i sum (r_dot_i,q_j dq_j + r_dot_i,qdot_j dq_dot_j);"
    " the print has dq_dot_j in the first and lacks the term with dq_j in the second",
    how=VARIED,
)
def work_of_inertia() -> Corrected:
    def pair(v: _Variation) -> tuple[float, float]:
        work = v.mass * v.r_ddot * v.displacement(0.0)
        momentum = v.mass * v.r_dot

        def misprinted(time: Any) -> Any:
            return v.s.pendulum.jacobian(v.s.path(time)[0]) @ v.eta_dot

        full = v.by_position @ v.eta + v.jacobian @ v.eta_dot
        right = v.momentum_times(v.displacement) - momentum * full
        printed = v.momentum_times(misprinted) - momentum * (v.jacobian @ v.eta_dot)
        return distance(right, work), distance(printed, work)

    return _corrected(pair)


@claim(
    "G-19",
    "V_r_i dr_i = sum_j V_q_j (dq_j/dr_i) dr_i; the print's last form has dr_i/dq_j dq_j",
    how=f"complex steps of V in both coordinates, {RANDOM}",
)
def potential_in_coordinates() -> Corrected:
    def pair(v: _Variation) -> tuple[float, float]:
        s, displacement = v.s, v.displacement(0.0)
        work = derivative(s.pendulum.potential_at, s.pendulum.position(s.q)) * displacement
        by_coordinate = derivative(s.pendulum.potential, s.q)
        right = (by_coordinate @ np.linalg.inv(v.jacobian)) * displacement
        return distance(right, work), distance(v.jacobian @ (by_coordinate * v.eta), work)

    return _corrected(pair)


@claim(
    "G-20",
    "Forces p_i at the points r_i have the generalised forces Q_j = sum_i p_i dr_i/dq_j, with the same virtual work",
    how=f"the library's force at a point against complex steps of r, {RANDOM}",
)
def generalised_forces() -> float:
    shape = ElasticPendulum()
    push = np.array([0.8, -1.3])
    table = force(push.tolist(), shape.position).forces
    expressions = [table[shape.angle], table[shape.stretch]]

    def residual(s: Swing) -> float:
        found = s.probe.value(expressions, 0.0, s.state)
        moved = derivative(lambda w: s.pendulum.position(s.q + w[0] * s.z), [0.0])[:, 0]
        return largest(distance(found, push @ derivative(s.pendulum.position, s.q)), distance(found @ s.z, push @ moved))

    return over_swings(residual)


@claim(
    "G-21",
    "d/dt T_qdot - T_q + V_q - Q = 0 in any coordinates: it is r_q^T (m r_ddot + V_r - p)",
    how="the library's equations of random pushed pendulums at accelerations they need not have, against the projection",
)
def lagrange_equations() -> float:
    found = []
    for s, push in pushed_swings():
        acceleration = s.pendulum.cartesian_acceleration(s.q, s.v, s.z)
        newton_force = s.pendulum.M * acceleration + derivative(s.pendulum.potential_at, s.pendulum.position(s.q)) - push
        found.append(distance(s.library_euler, s.pendulum.jacobian(s.q).T @ newton_force))
    return worst(found)


@claim(
    "G-22",
    "L = T - V is all that Lagrange's equations need of the energies",
    how=f"library equations stated by T and V against those stated by L, {RANDOM}",
)
def lagrangian_is_enough() -> float:
    plain = gallery.load("elastic-pendulum").system
    stated = System(plain.coordinates, lagrangian=plain.lagrangian)
    reference = Probe(derive(stated, "lagrange"), gallery.load("elastic-pendulum").parameters)

    def residual(s: Swing) -> float:
        other = reference.with_parameters(**s.probe.parameters)
        difference = s.pendulum.kinetic(s.q, s.v) - s.pendulum.potential(s.q)
        value = other.value([plain.lagrangian], 0.0, s.state)[0]  # type: ignore[list-item]
        return largest(distance(other.rates(0.0, s.state), s.probe.rates(0.0, s.state)), distance(value, difference))

    return over_swings(residual)


@claim(
    "G-23",
    "d/dt L_qdot - L_q - Q = 0",
    how="the library's equations of random pushed pendulums against complex steps of L along a path",
)
def lagrange_equations_by_lagrangian() -> float:
    return worst(
        distance(s.library_euler, s.pendulum.euler(s.q, s.v, s.z) - s.pendulum.jacobian(s.q).T @ push)
        for s, push in pushed_swings()
    )
