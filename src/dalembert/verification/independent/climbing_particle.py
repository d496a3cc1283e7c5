"""Appell's particle in the generalised method of Hamilton and Jacobi (Rumyantsev, example 5.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ... import gallery
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...typing import Array, Numbers


@dataclass(frozen=True)
class Climb:
    """Appell's particle in the variables of section 5."""

    m: float
    g: float
    a: float

    def hamiltonian(self, q: Array, pi: Array) -> Any:
        """H_1 in closed form, on the branch m (1 + a^2) w > a pi_3."""
        length = np.sqrt(pi[0] ** 2 + pi[1] ** 2)
        kinetic = (length + self.a * pi[2]) ** 2 / (2 * self.m * (1 + self.a**2))
        return kinetic + self.m * self.g * q[2]

    def action(self, q: Array, constants: Array, time: float) -> Any:
        """A complete integral S with constants (E, alpha_1, alpha_2)."""
        energy, first, second = constants
        inside = 2 * self.m * (1 + self.a**2) * (energy - self.m * self.g * q[2])
        root = -(inside**1.5) / (3 * self.m**2 * self.g * (1 + self.a**2))
        upwards = (root - np.sqrt(first**2 + second**2) * q[2]) / self.a
        return -energy * time + first * q[0] + second * q[1] + upwards

    def momenta(self, v: Array, chi: Numbers) -> Any:
        """pi = m v + chi f_v, (3, ...)."""
        heading = v[:2] / np.sqrt(v[0] ** 2 + v[1] ** 2)
        return self.m * v + chi * np.concatenate([-self.a * heading, np.ones_like(v[2:])])


@cache
def climb_motion() -> tuple[Climb, Motion]:
    """The library's vakonomic motion of the gallery's particle."""
    scenario = gallery.load("appell-vakonomic")
    times = np.linspace(0, 1.1, 12)
    equations = derive(scenario.system, "vakonomic")
    start, values = scenario.start, scenario.parameters
    motion = simulate(equations, start, (0, 1.1), parameters=values, rtol=1e-12, at=times)
    return Climb(**{name: values[name] for name in ("m", "g", "a")}), motion
