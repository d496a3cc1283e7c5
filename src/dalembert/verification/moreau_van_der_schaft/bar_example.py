"""Moreau and van der Schaft, section V: a bar on a massless pendulum (eqs. 40 to 49).

The Legendre map of L(theta, theta_dot) is singular where sin(theta) = 0. Stated with the bar's
velocity l sin(theta) theta_dot as fibre velocity v and the image theta_dot = u, L is regular. The
bar falls freely, so that the motion is known: l cos(theta) = l cos(theta_0) - v_0 t + g t^2 / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.symmetry.dirac_structures import dirac_residual, dirac_structure
from ...formulations.fibre_velocities import legendre_state
from ...formulations.registry import derive
from ...geometry.two_forms import is_closed
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.constraints import image
from ...model.symbols import coordinates, parameters, speeds
from ...model.system import System
from ...typing import Array, Numbers
from ..numeric import (
    STEP,
    Probe,
    Residual,
    Residuals,
    StateBlocks,
    derivative,
    distance,
    gallery_probe,
    panel_nodes,
)
from ..row_registry import listed
from ..samples import Generator, sampler

GALLERY = "bar-pendulum"


@cache
def _bundled() -> System:
    """L(theta, v) with v = l sin(theta) theta_dot and theta_dot = u."""
    theta, (v, u) = coordinates("theta"), speeds("v u")
    m, l, g = parameters("m l g", positive=True)
    return System(
        [theta],
        lagrangian=m / 2 * v**2 + m * g * l * sympy.cos(theta),
        bundle={v: l * sympy.sin(theta) * theta.dot},
        constraints=[image({theta: u}, [u], name="turn")],
        name="Bar with its velocity as fibre",
    )


@cache
def _probe(form: str) -> Probe:
    return Probe(derive(_bundled(), form), gallery.load(GALLERY).parameters)


@dataclass(frozen=True)
class Bar:
    """Parameters, an angle, a rate of it, and an angular acceleration that it need not have."""

    m: float
    l: float
    g: float
    theta: float
    rate: float
    second: float

    @property
    def values(self) -> dict[str, float]:
        """The parameters by name."""
        return {"m": self.m, "l": self.l, "g": self.g}

    @property
    def state(self) -> list[float]:
        """(theta, theta_dot)."""
        return [self.theta, self.rate]

    @property
    def hamiltonian_state(self) -> list[float]:
        """(theta, p, u)."""
        return [self.theta, self.m * self.v, self.rate]

    @property
    def arm(self) -> float:
        """l sin(theta)."""
        return float(self.l * np.sin(self.theta))

    @property
    def v(self) -> float:
        """The bar's velocity."""
        return float(self.l * np.sin(self.theta) * self.rate)

    def lagrangian(self, theta: Numbers, rate: Numbers) -> Numbers:
        """L(theta, theta_dot)."""
        kinetic = self.m / 2 * (self.l * np.sin(theta) * rate) ** 2
        return kinetic + self.m * self.g * self.l * np.cos(theta)

    def fibre_lagrangian(self, theta: Numbers, v: Numbers) -> Numbers:
        """L(theta, v)."""
        return self.m / 2 * v**2 + self.m * self.g * self.l * np.cos(theta)

    def hamiltonian(self, theta: Numbers, p: Numbers) -> Numbers:
        """H(theta, p)."""
        return p**2 / (2 * self.m) - self.m * self.g * self.l * np.cos(theta)

    def plain(self) -> Probe:
        """Lagrange's equations of the gallery's system with these parameters."""
        return gallery_probe(GALLERY, "lagrange").with_parameters(**self.values)

    def bundled(self, form: str) -> Probe:
        """A form of the system with fibre velocity with these parameters."""
        return _probe(form).with_parameters(**self.values)

    @property
    def plain_blocks(self) -> StateBlocks:
        """The library's blocks of Lagrange's equations."""
        return self.plain().blocks(0.0, self.state)

    def blocks(self, form: str = "implicit-lagrangian") -> StateBlocks:
        """The library's blocks with fibre velocity."""
        by_momenta = form == "implicit-hamiltonian"
        return self.bundled(form).blocks(0.0, self.hamiltonian_state if by_momenta else self.state)

    def momentum_rate(self, rate: float, second: float) -> float:
        """The rate of p = m v along rates of theta and of theta_dot."""

        def momentum(w: Array) -> Any:
            return self.m * self.l * np.sin(self.theta + w[0] * rate) * (self.rate + w[0] * second)

        return float(derivative(momentum, [0.0])[0])

    def canonical_rates(self) -> Array:
        """theta_dot and p_dot, the library's rates in Hamiltonian form (2,)."""
        form = self.bundled("implicit-hamiltonian")
        return np.array(form.rates(0.0, self.hamiltonian_state)[:2])


@sampler(seed=40, count=4)
def bars(_: str, random: Generator) -> Bar:
    m, l, g = random.uniform(0.6, 1.8, 3)
    return Bar(m, l, g, float(random.uniform(0.4, 2.7)), *random.uniform(-1.5, 1.5, 2))


listed("M-40", over=bars)(
    lambda b: distance(
        b.plain_blocks.momenta[0] * b.rate - b.plain_blocks.energy, b.lagrangian(b.theta, b.rate)
    )
)


@listed("M-41", over=bars)
def plain_equation(b: Bar) -> Residual:
    s, c, blocks = np.sin(b.theta), np.cos(b.theta), b.plain_blocks
    inertia = b.m * b.l**2 * s**2
    rest = b.m * b.l**2 * s * c * b.rate**2 + b.m * b.g * b.l * s
    stated = distance(blocks.G[0] * b.second - blocks.f, inertia * b.second + rest)
    return stated, inertia * b.plain().rates(0.0, b.state)[1] + rest


@listed("M-42", over=bars)
def singular_legendre_map(b: Bar) -> Residual:
    blocks, upright = b.plain_blocks, b.plain().blocks(0.0, [0.0, b.rate])
    squared = b.m * b.l**2 * np.sin(b.theta) ** 2
    hessian = distance(blocks.G, [[squared]])
    return distance(blocks.momenta, [squared * b.rate]), hessian, upright.momenta, upright.G


@listed("M-43")
def fibre_lagrangian() -> Residual:
    def residual(b: Bar) -> float:
        p = derivative(lambda w: b.fibre_lagrangian(b.theta, w[0]), [b.v])[0]
        return distance(b.blocks().energy, p * b.v - b.fibre_lagrangian(b.theta, b.v))

    return bars.worst(residual), float(legendre_state(_bundled()).is_hyperregular is not True)


@listed("M-44", over=bars)
def bar_velocity(b: Bar) -> Residual:
    fibre = list(_bundled().bundle.values())
    (found,) = b.bundled("implicit-lagrangian").value(fibre, 0.0, b.state)
    height = derivative(lambda w: -b.l * np.cos(b.theta + w[0] * b.rate), [0.0])[0]
    return distance(found, height), distance(b.blocks().energy, b.plain_blocks.energy)


listed("M-45", over=bars)(lambda b: distance(b.blocks().velocities, [b.rate]))


@cache
def _motion(form: str, span: float = 0.5, rtol: float = 1e-11) -> Motion:
    """The library's motion with fibre velocity from the gallery's start."""
    start, values = {"theta": np.pi / 2, "u": 1.0}, gallery.load(GALLERY).parameters
    return simulate(derive(_bundled(), form), start, (0.0, span), parameters=values, rtol=rtol)


@listed("M-46")
def stationary_integral() -> Residuals:
    motion, bar = _motion("implicit-lagrangian"), _standard()
    times, weights = panel_nodes(0.0, 0.5, 20)
    theta, rate = motion.sol(times)
    for k in range(1, 5):
        wave = k * np.pi / 0.5
        varied: Any = theta + 1j * STEP * np.sin(wave * times)
        turned = rate + 1j * STEP * wave * np.cos(wave * times)
        v = bar.l * np.sin(varied) * turned
        yield np.asarray(bar.fibre_lagrangian(varied, v)).imag @ weights / STEP


def _standard() -> Bar:
    """The gallery's parameters and start."""
    values = gallery.load(GALLERY).parameters
    return Bar(values["m"], values["l"], values["g"], np.pi / 2, 1.0, 0.0)


listed("M-47", over=bars)(
    lambda b: distance(b.blocks().momenta[0], b.l * np.sin(b.theta) * b.m * b.v)
)


@listed("M-48", over=bars)
def implicit_lagrangian_description(b: Bar) -> Residual:
    second = b.bundled("implicit-lagrangian").rates(0.0, b.state)[1]
    by_angle = derivative(lambda y: b.fibre_lagrangian(y[0], b.v), [b.theta])[0]
    costate = [b.theta, b.arm * b.m * b.v]
    extremal = b.bundled("pontryagin").observe(0.0, costate)["accelerations"][0]
    left = b.arm * b.momentum_rate(b.rate, second)
    return distance(left, by_angle), distance(extremal, second)


@listed("M-49", over=bars, misprint={"dotted": False})
def implicit_hamiltonian_description(b: Bar, dotted: bool = True) -> Residual:
    (rate, p_dot), p = b.canonical_rates(), b.m * b.v
    matrix = np.array([[0.0, -b.arm], [b.arm, 0.0]])
    derivatives = derivative(lambda y: b.hamiltonian(y[0], y[1]), [b.theta, p])
    return distance(matrix @ [rate, p_dot if dotted else p], derivatives)


listed("M-sec5-hamiltonian", over=bars)(
    lambda b: (
        distance(b.blocks("implicit-hamiltonian").energy, b.hamiltonian(b.theta, b.m * b.v)),
        distance(b.canonical_rates(), [b.rate, -b.m * b.g]),
    )
)


@listed("M-sec5-motion")
def exact_motion() -> Residual:
    motions = [_motion("implicit-lagrangian"), _motion("implicit-hamiltonian")]
    motions.append(simulate(gallery.load(GALLERY), rtol=1e-11))
    bar = _standard()

    def height(times: Array) -> Any:
        return bar.l * np.cos(bar.theta) - bar.v * times + bar.g * times**2 / 2

    return [distance(bar.l * np.cos(m["theta"]), height(m.t)) for m in motions]


@listed("M-sec5-end")
def singular_end() -> Residual:
    bar = _standard()
    latest = (bar.v + np.sqrt(bar.v**2 + 2 * bar.g * bar.l)) / bar.g
    plain = simulate(gallery.load(GALLERY), span=(0.0, 2.0), rtol=1e-10)
    other = _motion("implicit-lagrangian", 2.0, 1e-10)
    return [motion.t[-1] - latest for motion in (plain, other)]


@listed("M-sec5-structure")
def singular_structure() -> Residual:
    def residual(b: Bar) -> Residual:
        found, upright = (
            dirac_structure(_bundled(), {"theta": theta, "u": b.rate}, b.values)
            for theta in (b.theta, 0.0)
        )
        form = distance(found.two_form(), [[0.0, -b.arm], [b.arm, 0.0]])
        flows = float(upright.effortless_flows.shape[1] - 2)
        return form, float(not found.is_symplectic), upright.two_form(), flows

    theta, p, l = sympy.symbols("theta p l", real=True)
    form = sympy.Matrix([[0, -l * sympy.sin(theta)], [l * sympy.sin(theta), 0]])
    obeyed = dirac_residual(_motion("implicit-lagrangian")).max()
    return bars.worst(residual), float(not is_closed(form, [theta, p])), obeyed
