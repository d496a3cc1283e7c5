"""Random elastic pendulums of the gallery, free and under Gavin's constraints, at random states."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from ... import gallery
from ...formulations.registry import derive
from ...gallery.shared_parts import ElasticPendulum
from ...model.forces import force
from ...model.symbols import parameters
from ...model.system import System
from ...typing import Array, ArrayLike
from ..independent.elastic_pendulum_model import Pendulum
from ..numeric import Probe, StateBlocks, derivative, gallery_probe
from ..samples import Sampler

FREE, ARC = "elastic-pendulum", "elastic-pendulum-arc"
PRINTED, STEERED = "elastic-pendulum-printed", "elastic-pendulum-steered"
#: Tolerances of reference motions by SciPy.
DIGITS = {"rtol": 1e-12, "atol": 1e-13}


@dataclass(frozen=True)
class PendulumSample:
    """A random pendulum at a random state, with accelerations z that it need not have."""

    pendulum: Pendulum
    probe: Probe
    q: Array
    v: Array
    z: Array

    @property
    def state(self) -> Array:
        """(q, v)."""
        return np.concatenate([self.q, self.v])

    @property
    def accelerations(self) -> Any:
        """The library's q_ddot."""
        return self.probe.rates(0.0, self.state)[2:]

    def path(self, time: float) -> tuple[Any, Any]:
        """q and v at a time near 0 on the path with acceleration z."""
        return self.q + self.v * time + self.z * time**2 / 2, self.v + self.z * time

    @property
    def library_euler(self) -> Any:
        """The library's left side of Lagrange's equations at z, without constraints."""
        return self.blocks.G @ self.z - self.blocks.f

    @cached_property
    def blocks(self) -> StateBlocks:
        """The library's M, Q, A and b."""
        return self.probe.blocks(0.0, self.state)

    @cached_property
    def reaction(self) -> Any:
        """The library's force of the constraint (2,)."""
        return self.probe.reaction(0.0, self.state)

    @cached_property
    def multiplier(self) -> float:
        """The library's multiplier, the lambda of eqs. 47 and 61."""
        return float(self.probe.observe(0.0, self.state)["multipliers"][0])

    @property
    def reach(self) -> Any:
        """l + u."""
        return self.pendulum.l + self.q[1]

    @cached_property
    def unbalanced(self) -> Any:
        """M q_ddot - Q for the library's accelerations (2,)."""
        p = self.pendulum
        return p.mass(self.q) @ self.accelerations - p.forcing(self.q, self.v)

    @cached_property
    def pull(self) -> Array:
        """V_r by complex steps (2,)."""
        return derivative(self.pendulum.potential_at, self.pendulum.position(self.q))

    @cached_property
    def r_ddot(self) -> Any:
        """The library's accelerations in Cartesian components (2,)."""
        return self.pendulum.cartesian_acceleration(self.q, self.v, self.accelerations)


@dataclass(frozen=True)
class PushedSample(PendulumSample):
    """A random pendulum with a constant force at its mass."""

    push: Array

    @property
    def newton(self) -> Any:
        """m r_ddot + V_r - p with the library's accelerations."""
        return self.pendulum.M * self.r_ddot + self.pull - self.push


def _drawn(base: Probe) -> Iterator[tuple[Pendulum, Probe, Array, Array, Array]]:
    """Four random pendulums and states on the constraints of some equations."""
    random = np.random.default_rng(23)
    for _ in range(4):
        values = {key: float(random.uniform(0.6, 1.8)) for key in base.parameters}
        probe = base.with_parameters(**values)
        state, z = random.uniform(-0.5, 0.5, 4), random.uniform(-1, 1, 2)
        state[2:] *= 3
        if probe.equations.row_names:
            state = probe.projected(0.0, state)
        yield Pendulum.of(values), probe, state[:2], state[2:], z


def _pushed(_: str) -> Iterator[PushedSample]:
    pendulum = ElasticPendulum()
    plain, push = pendulum.system(), parameters("Px Py")
    parts, energies = [force(push, pendulum.position)], (plain.kinetic, plain.potential)
    system = System(plain.coordinates, kinetic=energies[0], potential=energies[1], parts=parts)
    probe = Probe(derive(system, "lagrange"), {**pendulum.values, "Px": 0.7, "Py": -0.4})
    for fields in _drawn(probe):
        values = fields[1].parameters
        yield PushedSample(*fields, push=np.array([values["Px"], values["Py"]]))


pendulums = Sampler(
    lambda name: [PendulumSample(*fields) for fields in _drawn(gallery_probe(name, "lagrange"))],
    (FREE, ARC, PRINTED, STEERED),
)
free, on_arc, on_print = (pendulums.of(name) for name in (FREE, ARC, PRINTED))
pushed = Sampler(_pushed)


@cache
def gallery_pendulum(name: str = FREE) -> Pendulum:
    """A gallery pendulum as NumPy functions."""
    return Pendulum.of(gallery.load(name).parameters)


def by_column(function: Callable[..., ArrayLike], *arrays: Array) -> Array:
    """A function of vectors for each column of some arrays, (k, n)."""
    return np.array([function(*item) for item in zip(*(a.T for a in arrays), strict=True)]).T
