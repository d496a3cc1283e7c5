"""A rigid disk on a plane by rotation matrices, independent of the library (Rumyantsev, 4.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...typing import Array
from ..numeric import derivative


@dataclass(frozen=True)
class Disk:
    """A rigid disk that touches the plane at (x, y): q = (theta, psi, phi, x, y)."""

    m: float
    r: float
    g: float
    A: float
    C: float

    def axes(self, q: Array) -> tuple[Array, Array, Array]:
        """Its heading, from the contact to the centre, and its axle."""
        theta, phi = q[0], q[2]
        ahead = np.array([np.cos(phi), np.sin(phi), 0])
        up = np.array([-np.sin(theta) * np.sin(phi), np.sin(theta) * np.cos(phi), np.cos(theta)])
        return ahead, up, np.cross(ahead, up)

    def rotation(self, q: Array) -> Array:
        """Its rotation matrix, turned by psi about the axle."""
        ahead, up, axle = self.axes(q)
        c, s = np.cos(q[1]), np.sin(q[1])
        return np.stack([c * ahead + s * up, c * up - s * ahead, axle], axis=1)

    def centre(self, q: Array) -> Array:
        """The centre, (3,)."""
        return np.array([q[3], q[4], 0]) + self.r * self.axes(q)[1]

    def twist(self, q: Array) -> tuple[Array, Array]:
        """Jacobians (3, 5) of the angular velocity, from R_dot R^T, and of the centre's."""
        turns = derivative(self.rotation, q)
        spins = [turns[:, :, j] @ self.rotation(q).T for j in range(5)]
        angular = np.array([[s[2, 1], s[0, 2], s[1, 0]] for s in spins]).T
        return angular, derivative(self.centre, q)

    def inertia(self, q: Array) -> Array:
        """The tensor of inertia about the centre, in space."""
        axle = self.axes(q)[2]
        return self.A * np.eye(3) + (self.C - self.A) * np.outer(axle, axle)

    def kinetic(self, q: Array, v: Array) -> float:
        """T of the rigid body, whether it rolls or not."""
        angular, linear = (jacobian @ v for jacobian in self.twist(q))
        return float(self.m * linear @ linear + angular @ self.inertia(q) @ angular) / 2

    def angular_velocity(self, q: Array, v: Array) -> Any:
        """In closed form: -theta_dot ahead + phi_dot up the vertical + psi_dot along the axle."""
        ahead, _, axle = self.axes(q)
        return -v[0] * ahead + v[2] * np.array([0, 0, 1]) + v[1] * axle

    def velocity(self, q: Array, v: Array) -> Any:
        """Of the centre, in closed form, for rates."""
        _, up, axle = self.axes(q)
        turning = -v[0] * axle + v[2] * np.cross(np.array([0, 0, 1]), up)
        return np.array([v[3], v[4], 0]) + self.r * turning

    def slip(self, q: Array, v: Array) -> Any:
        """The velocity of the material point at the contact, (3,)."""
        return self.velocity(q, v) - self.r * np.cross(self.angular_velocity(q, v), self.axes(q)[1])

    def angular_momentum(self, q: Array, v: Array) -> Any:
        """About the centre, (3,)."""
        spin, axle = self.angular_velocity(q, v), self.axes(q)[2]
        return self.A * spin + (self.C - self.A) * (spin @ axle) * axle

    def accelerations(self, q: Array, v: Array) -> Array:
        """q_ddot (5,) by Newton and Euler, with the force at the contact among the unknowns."""
        lever = -self.r * self.axes(q)[1]
        a, b, c = lever
        cross = np.array([[0, -c, b], [c, 0, -a], [-b, a, 0]])
        force, given = np.concatenate([np.eye(3), cross, np.zeros((2, 3))]), np.zeros(8)
        given[2] = -self.m * self.g
        both = derivative(lambda w: self._balances(w[:5], w[5:]), np.concatenate([q, v]))
        matrix = np.concatenate([both[:, 5:], -force], axis=1)
        return np.linalg.solve(matrix, given - both[:, :5] @ v)[:5]

    def _balances(self, q: Array, v: Array) -> Array:
        """Momenta, which change by forces and their moments alone, and slip, (8,)."""
        return np.concatenate(
            [self.m * self.velocity(q, v), self.angular_momentum(q, v), self.slip(q, v)[:2]]
        )
