r"""The inertia forces of Kane's method beside those of Lagrange's equations.

SymPy forms Kane's inertia forces from velocities and angular velocities as they are declared,

    F*_k = - sum_b [ v_b,k . (m a_b + m' v_b) + w_b,k . (I alpha_b + w_b x I w_b + I' w_b) ],

with partial velocities v_b,k = dv_b/du_k for the speeds u. A declared velocity need not be the rate
of any position, as for a disk whose rolling is built into the velocity of its centre, and a
declared angular velocity need not be that of the orientation. With u = W q_dot + w, Lagrange's
equations of the kinetic energy T then miss the force

    G_j = (d/dt dT/dq_dot_j - dT/dq_j) + sum_k W_kj F*_k        at q_ddot = 0, u' = u'(q, q_dot, t),

which `missing_forces` finds on the graph. Where the velocities are rates, G vanishes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.graph_expressions import expressions_of
from ...algebra.structure import vanishing
from ...model.symbols import Coordinate, Velocity, as_expression, t
from .sympy_symbols import Translation

if TYPE_CHECKING:
    from sympy.physics.mechanics import Body, ReferenceFrame
    from sympy.physics.vector import Dyadic, Vector

__all__ = ["KaneKinematics", "is_particle", "mass_point", "missing_forces"]


@dataclass(frozen=True)
class KaneKinematics:
    """How speeds and velocities are related. Speeds, as keys, are dynamic symbols of SymPy.

    Attributes
    ----------
    speeds : dict of speed to expression
        u(q, q_dot, t).
    matrix : dict of speed to list of expressions
        W, a row for each speed.
    velocities : dict of Velocity to expression
        q_dot(q, u, t), where speeds are symbols of the model.
    held : dict of speed to Velocity
        The velocities of auxiliary speeds, which vanish.
    """

    speeds: Mapping[sympy.Expr, sympy.Expr]
    matrix: Mapping[sympy.Expr, Sequence[sympy.Expr]]
    velocities: Mapping[Velocity, sympy.Expr]
    held: Mapping[sympy.Expr, Velocity]


def is_particle(body: Body) -> bool:
    """Whether a body has a mass and no inertia."""
    from sympy.physics.mechanics import RigidBody

    return not isinstance(body, RigidBody)


def mass_point(body: Body) -> Any:
    """The point at which the mass of a body is."""
    return body.point if is_particle(body) else body.masscenter


def missing_forces(
    kinetic: sympy.Expr,
    bodies: Sequence[Any],
    frame: ReferenceFrame,
    translation: Translation,
    kinematics: KaneKinematics,
) -> dict[Coordinate, sympy.Expr]:
    """The forces G_j that are not proved to vanish."""
    graph = _Graph(frame, translation, kinematics)
    force = graph.lagrange(kinetic) - graph.kane(bodies)
    held = graph.algebra.vector(kinematics.held.values())
    if held.numel():
        force = graph.algebra.substitute(force, held, ca.SX(held.numel(), 1))
    symbols = graph.algebra.symbols
    if vanishing(symbols, force).is_proved:
        return {}
    entries = ca.vertsplit(force)
    rows = [j for j, entry in enumerate(entries) if not vanishing(symbols, entry).is_proved]
    found = expressions_of(symbols, force[rows])
    return {translation.coordinates[j]: value for j, value in zip(rows, found, strict=True)}


class _Graph:
    """Vectors of SymPy's mechanics in the inertial frame, and inertia forces, on CasADi's graph."""

    def __init__(
        self, frame: ReferenceFrame, translation: Translation, kinematics: KaneKinematics
    ) -> None:
        self.algebra = GraphAlgebra()
        self.frame, self.translation = frame, translation
        lower, clock = self.algebra.vector, translation.clock
        coordinates, speeds = translation.coordinates, translation.speeds
        self.positions = lower([*coordinates, t])
        self.q = lower(coordinates)
        self.q_dot = lower(q.dot for q in coordinates)
        self.q_ddot = lower(q.ddot for q in coordinates)
        self.u = lower(speeds.values())
        self.u_dot = lower(translation.in_speeds(u.diff(clock)) for u in speeds)
        self.speeds = lower(kinematics.speeds[u] for u in speeds)
        self.speed_rates = self._rate(self.speeds)
        self.velocities = lower(kinematics.velocities[q.dot] for q in coordinates)
        self._frames: dict[Any, ca.SX] = {}

    # -- forces ------------------------------------------------------------------------------------

    def lagrange(self, kinetic: sympy.Expr) -> Any:
        """d/dt dT/dq_dot - dT/dq without accelerations, (n x 1)."""
        energy = self.algebra.scalar(kinetic)
        return self._rate(ca.gradient(energy, self.q_dot)) - ca.gradient(energy, self.q)

    def kane(self, bodies: Sequence[Any]) -> Any:
        """-W^T F* without accelerations, (n x 1)."""
        total = ca.SX(self.u.numel(), 1)
        for body in bodies:
            total += self._translation_of(body)
            if not is_particle(body):
                total += self._rotation_of(body)
        total = self.algebra.substitute(total, self.u, self.speeds)
        return ca.jacobian(self.speeds, self.q_dot).T @ total

    def _translation_of(self, body: Body) -> Any:
        point, mass = mass_point(body), as_expression(body.mass)
        number, change = self._scalar(mass), self._scalar(mass.diff(self.translation.clock))
        velocity = self._vector(point.vel(self.frame))
        acceleration = self._declared_or_rate(point._acc_dict, point.vel(self.frame))
        force = number * acceleration + change * velocity
        partial = self._partial(velocity)
        force = self._without_speed_rates(force) + number * (partial @ self.speed_rates)
        return partial.T @ force

    def _rotation_of(self, body: Body) -> Any:
        inertia = body.central_inertia
        tensor, change = self._dyadic(inertia), self._dyadic(inertia.dt(body.frame))
        spin = body.frame.ang_vel_in(self.frame)
        omega = self._vector(spin)
        torque = tensor @ self._declared_or_rate(body.frame._ang_acc_dict, spin)
        torque += ca.cross(omega, tensor @ omega) + change @ omega
        partial = self._partial(omega)
        torque = self._without_speed_rates(torque) + tensor @ (partial @ self.speed_rates)
        return partial.T @ torque

    def _rate(self, vector: ca.SX) -> Any:
        """The rate of functions of q, q_dot and t along a motion without accelerations."""
        return ca.jtimes(vector, self.positions, ca.vertcat(self.q_dot, 1))

    def _partial(self, vector: ca.SX) -> Any:
        """dv/du of a velocity, (3 x n_u)."""
        in_speeds = self.algebra.substitute(vector, self.q_dot, self.velocities)
        return ca.jacobian(in_speeds, self.u)

    def _without_speed_rates(self, vector: ca.SX) -> Any:
        """A vector of accelerations in coordinates and speeds, at u' = 0."""
        velocities = self.velocities
        accelerations = ca.jtimes(velocities, self.positions, ca.vertcat(velocities, 1))
        moving = ca.vertcat(self.q_ddot, self.u_dot, self.q_dot)
        values = ca.vertcat(accelerations, ca.SX(self.u_dot.numel(), 1), velocities)
        return self.algebra.substitute(vector, moving, values)

    # -- vectors -----------------------------------------------------------------------------------

    def _scalar(self, expression: sympy.Expr) -> Any:
        return self.algebra.scalar(self.translation.in_speeds(expression))

    def _vector(self, vector: Vector) -> ca.SX:
        """A vector in the inertial frame, (3 x 1)."""
        found = ca.SX(3, 1)
        for components, frame in vector.args:
            found += self._axes(frame) @ ca.vertcat(*map(self._scalar, components))
        return found

    def _declared_or_rate(self, declared: Mapping[Any, Vector], velocity: Vector) -> Any:
        """An acceleration as declared, or the rate of a velocity in the inertial frame, (3 x 1)."""
        if self.frame in declared:
            return self._vector(declared[self.frame])
        moving = ca.vertcat(self.positions, self.u, self.q_dot)
        rates = ca.vertcat(self.q_dot, 1, self.u_dot, self.q_ddot)
        found = ca.SX(3, 1)
        for components, frame in velocity.args:
            part = ca.vertcat(*map(self._scalar, components))
            found += self._axes(frame) @ ca.jtimes(part, moving, rates)
            omega = self._vector(frame.ang_vel_in(self.frame))
            found += ca.cross(omega, self._axes(frame) @ part)
        return found

    def _dyadic(self, dyadic: Dyadic) -> ca.SX:
        """A dyadic in the inertial frame, (3 x 3)."""
        found = ca.SX(3, 3)
        for factor, left, right in dyadic.args:
            outer = self._vector(left) @ self._vector(right).T
            found += self._scalar(as_expression(factor)) * outer
        return found

    def _axes(self, frame: ReferenceFrame) -> ca.SX:
        """The matrix from a frame to the inertial frame, (3 x 3)."""
        if frame not in self._frames:
            entries = self.frame.dcm(frame).tolist()
            rows = [ca.horzcat(*map(self._scalar, row)) for row in entries]
            self._frames[frame] = ca.vertcat(*rows)
        return self._frames[frame]
