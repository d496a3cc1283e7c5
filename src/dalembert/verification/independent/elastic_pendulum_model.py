"""The elastic pendulum as plain NumPy functions and as the library's systems: the example that Gavin's sections share.

q = (theta, u); the mass is at r = (l + u) (sin theta, -cos theta). Functions take complex arguments, for complex steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ... import gallery
from ...formulations.registry import derive
from ...gallery._shared import ElasticPendulum
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.forces import force
from ...model.symbols import parameters
from ...model.system import System
from ..numeric import Probe, derivative, gallery_probe, worst

__all__ = ["Pendulum", "Swing", "over_swings", "pendulum_motion", "pushed_probe", "pushed_swings", "swings"]


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

    def position(self, q: Any) -> Any:
        """r (2,)."""
        return (self.l + q[1]) * np.array([np.sin(q[0]), -np.cos(q[0])])

    def jacobian(self, q: Any) -> Any:
        """r_q (2, 2)."""
        c, s, reach = np.cos(q[0]), np.sin(q[0]), self.l + q[1]
        return np.array([[reach * c, s], [reach * s, -c]])

    def jacobian_rate(self, q: Any, v: Any) -> Any:
        """The derivative of r_q along v, (2, 2)."""
        c, s, reach = np.cos(q[0]), np.sin(q[0]), self.l + q[1]
        by_angle = np.array([-reach * s * v[0] + c * v[1], reach * c * v[0] + s * v[1]])
        return np.stack([by_angle, np.array([c * v[0], s * v[0]])], axis=1)

    def cartesian_acceleration(self, q: Any, v: Any, z: Any) -> Any:
        """r_ddot for the accelerations z, (2,)."""
        return self.jacobian(q) @ z + self.jacobian_rate(q, v) @ v

    def potential_at(self, r: Any) -> Any:
        """V(r): weight from the level y = -l, and the spring."""
        stretch = np.sqrt(r[0] ** 2 + r[1] ** 2) - self.l
        return self.M * self.g * (self.l + r[1]) + self.K * stretch**2 / 2

    def potential(self, q: Any) -> Any:
        """V(q)."""
        return self.M * self.g * (self.l - (self.l + q[1]) * np.cos(q[0])) + self.K * q[1] ** 2 / 2

    def kinetic(self, q: Any, v: Any) -> Any:
        """T(q, v)."""
        return self.M / 2 * (((self.l + q[1]) * v[0]) ** 2 + v[1] ** 2)

    def momenta(self, q: Any, v: Any) -> Any:
        """T_v (2,)."""
        return self.M * np.array([(self.l + q[1]) ** 2 * v[0], v[1]])

    def mass(self, q: Any) -> Any:
        """M(q) (2, 2)."""
        return self.M * np.diag([(self.l + q[1]) ** 2, 1.0])

    def forcing(self, q: Any, v: Any) -> Any:
        """Q(q, v) with M(q) q_ddot = Q for the free pendulum (Gavin, eq. 42)."""
        reach = self.l + q[1]
        return np.array(
            [
                -self.M * self.g * reach * np.sin(q[0]) - 2 * self.M * reach * v[1] * v[0],
                self.M * reach * v[0] ** 2 - self.K * q[1] + self.M * self.g * np.cos(q[0]),
            ]
        )

    def euler(self, q: Any, v: Any, z: Any) -> Any:
        """d/dt T_v - T_q + V_q along the path with q, v and acceleration z at time 0, by complex steps."""
        inertia = derivative(lambda w: self.momenta(q + w[0] * v, v + w[0] * z), [0.0])[:, 0]
        return inertia - derivative(lambda x: self.kinetic(x, v) - self.potential(x), q)


@dataclass(frozen=True)
class Swing:
    """A random pendulum at a random state, with random accelerations z that it need not have."""

    pendulum: Pendulum
    probe: Probe
    q: Any
    v: Any
    z: Any

    @property
    def state(self) -> Any:
        """(q, v)."""
        return np.concatenate([self.q, self.v])

    @property
    def accelerations(self) -> Any:
        """The library's q_ddot."""
        return self.probe.rates(0.0, self.state)[2:]

    def path(self, time: Any) -> tuple[Any, Any]:
        """q and v at a time near 0 on the path with acceleration z."""
        return self.q + self.v * time + self.z * time**2 / 2, self.v + self.z * time

    @property
    def library_euler(self) -> Any:
        """The library's left side of Lagrange's equations at the accelerations z, constraints aside."""
        blocks = self.probe.blocks(0.0, self.state)
        return blocks.G @ self.z - blocks.f


def swings(name: str = "elastic-pendulum", count: int = 4) -> Iterator[Swing]:
    """Random parameters and states of a gallery pendulum, on its constraints."""
    yield from _swings(gallery_probe(name, "lagrange"), count)


def _swings(base: Probe, count: int) -> Iterator[Swing]:
    random = np.random.default_rng(23)
    for _ in range(count):
        values = {key: float(random.uniform(0.6, 1.8)) for key in base.parameters}
        probe = base.with_parameters(**values)
        state, z = random.uniform(-0.5, 0.5, 4), random.uniform(-1, 1, 2)
        state[2:] *= 3
        if probe.equations.row_names:
            state = probe.projected(0.0, state)
        yield Swing(Pendulum.of(values), probe, state[:2], state[2:], z)


def over_swings(residual: Callable[[Swing], float], name: str = "elastic-pendulum") -> float:
    """The worst residual over random pendulums."""
    return worst(residual(swing) for swing in swings(name))


@cache
def pushed_probe() -> Probe:
    """The pendulum with a constant force (Px, Py) at its mass."""
    pendulum = ElasticPendulum()
    push = parameters("Px Py")
    plain = pendulum.system()
    system = System(plain.coordinates, kinetic=plain.kinetic, potential=plain.potential, parts=[force(push, pendulum.position)])
    return Probe(derive(system, "lagrange"), {**pendulum.values, "Px": 0.7, "Py": -0.4})


def pushed_swings(count: int = 4) -> Iterator[tuple[Swing, Any]]:
    """Random pushed pendulums with their force (2,)."""
    for swing in _swings(pushed_probe(), count):
        yield swing, np.array([swing.probe.parameters["Px"], swing.probe.parameters["Py"]])


@cache
def pendulum_motion(name: str, span: float, points: int = 201) -> Motion:
    """A gallery pendulum over a span, to twelve digits."""
    return simulate(gallery.load(name), span=(0.0, span), at=np.linspace(0, span, points), rtol=1e-12)
