"""Gavin: sections 1 to 5 (eqs. 1 to 23)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, cast

import numpy as np
import sympy

from ... import gallery
from ...analysis.variational.principles import principle_integrands
from ...formulations.registry import derive
from ...gallery.shared_parts import ElasticPendulum
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.forces import force, gravity, particle, rate, spring
from ...model.symbols import coordinates, parameters, t
from ...model.system import System
from ...typing import Array
from ..independent.elastic_pendulum_model import pendulum_motion
from ..numeric import Probe, Residual, StateBlocks, derivative, distance
from ..row_registry import Corrected, listed
from .pendulum_samples import FREE, PendulumSample, PushedSample, free, pushed

SHAPE = ElasticPendulum()


@cache
def cartesian_system() -> System:
    """The same pendulum as a particle in the plane, on a spring of rest length l."""
    x, y = coordinates("x y")
    M, l, K, g = parameters("M l K g", positive=True)
    parts = [particle(M, [x, y]), gravity(M, l + y, g), spring(K, sympy.sqrt(x**2 + y**2) - l)]
    return System([x, y], parts=parts, name="Particle on a spring")


def _at_rest(s: PendulumSample) -> StateBlocks:
    """The library's blocks of the pendulum at rest, where M and Q have no terms of velocities."""
    return s.probe.blocks(0.0, np.concatenate([s.q, np.zeros(2)]))


@listed("G-1", over=free)
def horizontal_position(s: PendulumSample) -> Residual:
    x, y = s.probe.value(SHAPE.position, 0.0, s.state)
    torque = -s.pendulum.M * s.pendulum.g * x
    return distance(_at_rest(s).f[0], torque), distance(np.arctan2(x, -y), s.q[0])


@listed("G-2", over=free)
def vertical_position(s: PendulumSample) -> Residual:
    x, y = s.probe.value(SHAPE.position, 0.0, s.state)
    p = s.pendulum
    height = (_at_rest(s).energy - p.K * s.q[1] ** 2 / 2) / (p.M * p.g) - p.l
    return distance(y, height), distance(np.hypot(x, y), s.reach)


@listed("G-3")
def two_coordinate_systems() -> Residual:
    values, swung = gallery.load(FREE).parameters, pendulum_motion(FREE, 10.0)
    start = {"x": 0.0, "y": -2.0, "x_dot": 1.0, "y_dot": 0.0}
    flat = simulate(cartesian_system(), start, (0, 10), parameters=values, at=swung.t, rtol=1e-12)
    reach = 1 + swung["u"]
    return distance(flat.y[:2], [reach * np.sin(swung["theta"]), -reach * np.cos(swung["theta"])])


@listed("G-4", over=free)
def regular_coordinates(s: PendulumSample) -> Residual:
    J = derivative(s.pendulum.position, s.q)
    mass = distance(s.blocks.G, s.pendulum.M * J.T @ J)
    return distance(np.linalg.det(J), -s.reach), mass


@listed("G-5", over=free)
def cartesian_velocities(s: PendulumSample) -> Residual:
    (turn, stretch), sine, cosine = s.v, np.sin(s.q[0]), np.cos(s.q[0])
    printed = [
        stretch * sine + s.reach * cosine * turn,
        -stretch * cosine + s.reach * sine * turn,
    ]
    return distance(s.probe.value([rate(x) for x in SHAPE.position], 0.0, s.state), printed)


def _moved(s: PendulumSample) -> Array:
    """dr for the variation dq = z, by complex steps."""
    return derivative(lambda w: s.pendulum.position(s.q + w[0] * s.z), [0.0])[:, 0]


listed("G-6", over=free)(
    lambda s: distance(s.reach * np.cos(s.q[0]) * s.z[0] + np.sin(s.q[0]) * s.z[1], _moved(s)[0])
)
listed("G-7", over=free)(
    lambda s: distance(s.reach * np.sin(s.q[0]) * s.z[0] - np.cos(s.q[0]) * s.z[1], _moved(s)[1])
)
listed("G-8", over=pushed)(lambda s: s.newton @ s.pendulum.jacobian(s.q) @ s.z)


@listed("G-9", over=pushed)
def total_potential(s: PushedSample) -> Residual:
    p = s.pendulum
    by_steps = derivative(lambda x: p.potential(x) - s.push @ p.position(x), s.q)
    return distance(-s.probe.blocks(0.0, np.concatenate([s.q, [0, 0]])).f, by_steps)


@listed("G-10", over=pushed)
def stationary_potential(s: PushedSample) -> Residual:
    pull = s.push + np.array([0, -s.pendulum.M * s.pendulum.g])
    q = np.array([np.arctan2(pull[0], -pull[1]), np.hypot(*pull) / s.pendulum.K])
    gradient = derivative(s.pendulum.potential_at, s.pendulum.position(q)) - s.push
    return gradient, s.probe.rates(0.0, np.concatenate([q, [0, 0]]))


listed("G-11", over=pushed)(lambda s: distance(s.pull, -s.pendulum.M * s.r_ddot + s.push))
listed("G-12", over=pushed)(lambda s: s.newton @ s.z)
listed("G-13", over=pushed)(lambda s: s.newton)


class VariedPath:
    """A path q(t) with a variation eta(t) = eta + eta_dot t, and what they do to r, at time 0."""

    def __init__(self, s: PendulumSample) -> None:
        self.s, self.mass = s, s.pendulum.M
        self.eta, self.eta_dot = np.array([0.7, -0.4]), np.array([0.3, 0.9])
        self.jacobian = s.pendulum.jacobian(s.q)
        self.r_dot = self.jacobian @ s.v
        self.r_ddot = s.pendulum.cartesian_acceleration(s.q, s.v, s.z)
        by_position = derivative(lambda x: s.pendulum.jacobian(x) @ s.v, s.q)
        self.full = by_position @ self.eta + self.jacobian @ self.eta_dot

    def displacement(self, time: float) -> Any:
        """dr = r_q eta."""
        return self.s.pendulum.jacobian(self.s.path(time)[0]) @ (self.eta + self.eta_dot * time)

    def misprinted(self, time: float) -> Any:
        """r_q eta_dot, which the print has for dr."""
        return self.s.pendulum.jacobian(self.s.path(time)[0]) @ self.eta_dot

    def velocity(self, time: float) -> Any:
        """dr_dot, the variation of the velocity."""
        (q, v), pendulum = self.s.path(time), self.s.pendulum
        eta = self.eta + self.eta_dot * time
        return pendulum.jacobian_rate(q, v) @ eta + pendulum.jacobian(q) @ self.eta_dot

    def rate(self, function: Callable[[float], Array]) -> Array:
        """The time derivative at 0."""
        return derivative(lambda w: function(w[0]), [0.0])[:, 0]

    def momentum_times(self, function: Callable[[float], Array]) -> Array:
        """d/dt (m r_dot_i x_i) for each i."""

        def product(time: float) -> Any:
            q, v = self.s.path(time)
            return self.mass * (self.s.pendulum.jacobian(q) @ v) * function(time)

        return self.rate(product)


varied_paths = free.map(VariedPath)


@listed("G-14", over=varied_paths)
def varied_positions(v: VariedPath) -> Corrected:
    displacement, velocity = v.displacement(0.0), v.rate(v.displacement)
    right = (
        distance(v.jacobian @ v.eta, displacement),
        distance(v.full, velocity),
        distance(v.velocity(0.0), velocity),
    )
    printed = v.jacobian @ v.eta_dot
    return Corrected(right, min(distance(printed, displacement), distance(printed, velocity)))


def cartesian_motion(v: VariedPath, end: float) -> Motion:
    """The library's motion of the particle in the plane, from the point and velocity of a path."""
    p, angle, place = v.s.pendulum, v.s.q[0], {"x_dot": v.r_dot[0], "y_dot": v.r_dot[1]}
    place |= {"x": v.s.reach * np.sin(angle), "y": -v.s.reach * np.cos(angle)}
    values = {"M": p.M, "l": p.l, "K": p.K, "g": p.g}
    model = cartesian_system()
    motion: Motion = simulate(model, place, (0, end), parameters=values, rtol=1e-12)
    return motion


@listed("G-15", over=varied_paths)
def varied_kinetic_energy(v: VariedPath) -> Residual:
    motion = cartesian_motion(v, 1e-3)
    momenta = np.array([motion["p_x"][0], motion["p_y"][0]])
    return distance(momenta * v.velocity(0.0), v.mass * v.r_dot * v.velocity(0.0))


@listed("G-16", over=varied_paths, misprint={"under": "velocity"})
def product_rule(
    v: VariedPath, under: Literal["displacement", "velocity"] = "displacement"
) -> Residual:
    right = v.mass * (v.r_ddot * v.displacement(0.0) + v.r_dot * v.rate(v.displacement))
    instant = distance(v.momentum_times(getattr(v, under)), right)
    motion = cartesian_motion(v, 0.2)
    found = principle_integrands(motion, dict(zip("xy", v.eta + v.eta_dot * t, strict=True)))
    varied = found.displacements if under == "displacement" else found.hoelder_velocities
    product = v.mass * np.sum(np.array([motion["x_dot"], motion["y_dot"]]) * varied, axis=0)
    return instant, distance(product[-1] - product[0], found.integral)


@listed("G-17", over=varied_paths, misprint={"under": VariedPath.misprinted})
def product_rule_in_coordinates(
    v: VariedPath, under: Callable[[VariedPath, float], Array] = VariedPath.displacement
) -> Residual:
    right = v.mass * (v.r_ddot * v.displacement(0.0) + v.r_dot * v.velocity(0.0))
    return distance(v.momentum_times(lambda time: under(v, time)), right)


@listed("G-18", over=varied_paths)
def work_of_inertia(v: VariedPath) -> Corrected:
    work, momentum = v.mass * v.r_ddot * v.displacement(0.0), v.mass * v.r_dot
    right = v.momentum_times(v.displacement) - momentum * v.full
    printed = v.momentum_times(v.misprinted) - momentum * (v.jacobian @ v.eta_dot)
    return Corrected(distance(right, work), distance(printed, work))


@listed("G-19", over=varied_paths)
def potential_in_coordinates(v: VariedPath) -> Corrected:
    displacement, by_coordinate = v.displacement(0.0), derivative(v.s.pendulum.potential, v.s.q)
    work = v.s.pull * displacement
    right = (by_coordinate @ np.linalg.inv(v.jacobian)) * displacement
    return Corrected(distance(right, work), distance(v.jacobian @ (by_coordinate * v.eta), work))


PUSH = np.array([0.8, -1.3])


@listed("G-20", over=free)
def generalised_forces(s: PendulumSample) -> Residual:
    table = force(PUSH.tolist(), SHAPE.position).forces
    found = s.probe.value([table[SHAPE.angle], table[SHAPE.stretch]], 0.0, s.state)
    by_steps = distance(found, PUSH @ derivative(s.pendulum.position, s.q))
    return by_steps, distance(found @ s.z, PUSH @ _moved(s))


@listed("G-21", over=pushed)
def lagrange_equations(s: PushedSample) -> Residual:
    acceleration = s.pendulum.cartesian_acceleration(s.q, s.v, s.z)
    newton = s.pendulum.M * acceleration + s.pull - s.push
    return distance(s.library_euler, s.pendulum.jacobian(s.q).T @ newton)


@cache
def _by_lagrangian() -> Probe:
    plain = gallery.load(FREE)
    stated = System(plain.system.coordinates, lagrangian=plain.system.lagrangian)
    return Probe(derive(stated, "lagrange"), plain.parameters)


@listed("G-22", over=free)
def lagrangian_is_enough(s: PendulumSample) -> Residual:
    other = _by_lagrangian().with_parameters(**s.probe.parameters)
    difference = s.pendulum.kinetic(s.q, s.v) - s.pendulum.potential(s.q)
    lagrangian = cast("sympy.Expr", gallery.load(FREE).system.lagrangian)
    value = other.value([lagrangian], 0.0, s.state)[0]
    rates = distance(other.rates(0.0, s.state), s.probe.rates(0.0, s.state))
    return rates, distance(value, difference)


listed("G-23", over=pushed)(
    lambda s: distance(
        s.library_euler, s.pendulum.euler(s.q, s.v, s.z) - s.pendulum.jacobian(s.q).T @ s.push
    )
)
