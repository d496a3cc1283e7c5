"""The elastic pendulum of Gavin's sections, as NumPy functions and as the library's systems.

q = (theta, u); the mass is at r = (l + u) (sin theta, -cos theta). Functions take complex
arguments, for complex steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ... import gallery
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...typing import Array
from ..numeric import derivative


@dataclass(frozen=True)
class Pendulum:
    """Values of the parameters: mass, length, stiffness, gravity, and the steering constant b."""

    M: float
    l: float
    K: float
    g: float
    b: float = 0.0

    @staticmethod
    def of(values: Mapping[str, float]) -> Pendulum:
        """From a table that may hold other parameters."""
        return Pendulum(**{key: values[key] for key in ("M", "l", "K", "g", "b") if key in values})

    def position(self, q: Array) -> Any:
        """r (2,)."""
        return (self.l + q[1]) * np.array([np.sin(q[0]), -np.cos(q[0])])

    def jacobian(self, q: Array) -> Any:
        """r_q (2, 2)."""
        c, s, reach = np.cos(q[0]), np.sin(q[0]), self.l + q[1]
        return np.array([[reach * c, s], [reach * s, -c]])

    def jacobian_rate(self, q: Array, v: Array) -> Any:
        """The derivative of r_q along v, (2, 2)."""
        c, s, reach = np.cos(q[0]), np.sin(q[0]), self.l + q[1]
        by_angle = np.array([-reach * s * v[0] + c * v[1], reach * c * v[0] + s * v[1]])
        return np.stack([by_angle, np.array([c * v[0], s * v[0]])], axis=1)

    def cartesian_acceleration(self, q: Array, v: Array, z: Array) -> Any:
        """r_ddot for the accelerations z, (2,)."""
        return self.jacobian(q) @ z + self.jacobian_rate(q, v) @ v

    def potential_at(self, r: Array) -> Any:
        """V(r): weight from the level y = -l, and the spring."""
        stretch = np.sqrt(r[0] ** 2 + r[1] ** 2) - self.l
        return self.M * self.g * (self.l + r[1]) + self.K * stretch**2 / 2

    def potential(self, q: Array) -> Any:
        """V(q)."""
        return self.M * self.g * (self.l - (self.l + q[1]) * np.cos(q[0])) + self.K * q[1] ** 2 / 2

    def kinetic(self, q: Array, v: Array) -> Any:
        """T(q, v)."""
        return self.M / 2 * (((self.l + q[1]) * v[0]) ** 2 + v[1] ** 2)

    def momenta(self, q: Array, v: Array) -> Any:
        """T_v (2,)."""
        return self.M * np.array([(self.l + q[1]) ** 2 * v[0], v[1]])

    def mass(self, q: Array) -> Any:
        """M(q) (2, 2)."""
        return self.M * np.diag([(self.l + q[1]) ** 2, 1.0])

    def forcing(self, q: Array, v: Array) -> Any:
        """Q(q, v) with M(q) q_ddot = Q for the free pendulum (Gavin, eq. 42)."""
        reach = self.l + q[1]
        turning = -self.M * self.g * reach * np.sin(q[0]) - 2 * self.M * reach * v[1] * v[0]
        pull = self.M * reach * v[0] ** 2 - self.K * q[1] + self.M * self.g * np.cos(q[0])
        return np.array([turning, pull])

    def euler(self, q: Array, v: Array, z: Array) -> Any:
        """d/dt T_v - T_q + V_q along the path with velocity v and acceleration z."""
        inertia = derivative(lambda w: self.momenta(q + w[0] * v, v + w[0] * z), [0.0])[:, 0]
        return inertia - derivative(lambda x: self.kinetic(x, v) - self.potential(x), q)


@cache
def pendulum_motion(name: str, span: float, points: int = 201) -> Motion:
    """A gallery pendulum over a span, to twelve digits."""
    times = np.linspace(0, span, points)
    return simulate(gallery.load(name), span=(0.0, span), at=times, rtol=1e-12)
