"""Moreau and van der Schaft, Implicit Lagrangian equations, section V: a bar on a massless pendulum (40 to 49).

The Legendre map of L(theta, theta_dot) is singular where sin(theta) = 0. Stated with the bar's velocity l sin(theta) theta_dot
as fibre velocity v and the image theta_dot = u, L is regular. The bar falls freely, so that the motion is known:
l cos(theta) = l cos(theta_0) - v_0 t + g t^2 / 2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
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
from ..numeric import STEP, Probe, derivative, distance, excess, gallery_probe, largest, panel_nodes, worst
from ..row_registry import Corrected, claim

RANDOM = "random parameters and states"


@cache
def _bundled() -> System:
    """L(theta, v) with v = l sin(theta) theta_dot and theta_dot = u."""
    theta, (v, u), (m, l, g) = coordinates("theta"), speeds("v u"), parameters("m l g", positive=True)
    return System(
        [theta],
        lagrangian=m / 2 * v**2 + m * g * l * sympy.cos(theta),
        bundle={v: l * sympy.sin(theta) * theta.dot},
        constraints=[image({theta: u}, [u], name="turn")],
        name="Bar with its velocity as fibre",
    )


@cache
def _probe(form: str) -> Probe:
    return Probe(derive(_bundled(), form), gallery.load("bar-pendulum").parameters)


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
    def v(self) -> float:
        """The bar's velocity."""
        return float(self.l * np.sin(self.theta) * self.rate)

    def lagrangian(self, theta: Any, rate: Any) -> Any:
        """L(theta, theta_dot)."""
        return self.m / 2 * (self.l * np.sin(theta) * rate) ** 2 + self.m * self.g * self.l * np.cos(theta)

    def fibre_lagrangian(self, theta: Any, v: Any) -> Any:
        """L(theta, v)."""
        return self.m / 2 * v**2 + self.m * self.g * self.l * np.cos(theta)

    def hamiltonian(self, theta: Any, p: Any) -> Any:
        """H(theta, p)."""
        return p**2 / (2 * self.m) - self.m * self.g * self.l * np.cos(theta)

    def plain(self) -> Probe:
        """Lagrange's equations of the gallery's system with these parameters."""
        return gallery_probe("bar-pendulum", "lagrange").with_parameters(**self.values)

    def bundled(self, form: str) -> Probe:
        """A form of the system with fibre velocity with these parameters."""
        return _probe(form).with_parameters(**self.values)

    def canonical_rates(self) -> Any:
        """theta_dot and the rate of p = m v along the library's rates in Hamiltonian form (2,)."""
        rate, second = self.bundled("implicit-hamiltonian").rates(0.0, [self.theta, self.rate])

        def momentum(w: Any) -> Any:
            return self.m * self.l * np.sin(self.theta + w[0] * rate) * (self.rate + w[0] * second)

        return np.array([rate, derivative(momentum, [0.0])[0]])


def _bars(count: int = 4) -> Iterator[Bar]:
    random = np.random.default_rng(40)
    for _ in range(count):
        m, l, g = random.uniform(0.6, 1.8, 3)
        yield Bar(m, l, g, float(random.uniform(0.4, 2.7)), *random.uniform(-1.5, 1.5, 2))


def _over(residual: Callable[[Bar], float]) -> float:
    return worst(residual(bar) for bar in _bars())


@claim(
    "M-40",
    "L = m (l sin(theta) theta_dot)^2 / 2 + m g l cos(theta)",
    how=f"the library's momentum times velocity less its energy, {RANDOM}",
)
def plain_lagrangian() -> float:
    def residual(bar: Bar) -> float:
        blocks = bar.plain().blocks(0.0, [bar.theta, bar.rate])
        return distance(blocks.momenta[0] * bar.rate - blocks.energy, bar.lagrangian(bar.theta, bar.rate))

    return _over(residual)


@claim(
    "M-41",
    "m l^2 sin^2 theta_ddot + m l^2 sin cos theta_dot^2 + m g l sin(theta) = 0",
    how=f"the library's equations at random accelerations and at its own, {RANDOM}",
)
def plain_equation() -> float:
    def residual(bar: Bar) -> float:
        s, c = np.sin(bar.theta), np.cos(bar.theta)
        inertia, rest = bar.m * bar.l**2 * s**2, bar.m * bar.l**2 * s * c * bar.rate**2 + bar.m * bar.g * bar.l * s
        blocks = bar.plain().blocks(0.0, [bar.theta, bar.rate])
        own = bar.plain().rates(0.0, [bar.theta, bar.rate])[1]
        return largest(distance(blocks.G[0] * bar.second - blocks.f, inertia * bar.second + rest), inertia * own + rest)

    return _over(residual)


@claim(
    "M-42",
    "The Legendre map takes theta_dot to xi = m l^2 sin^2(theta) theta_dot, and all of them to zero where sin(theta) = 0: it"
    " cannot be inverted there",
    how=f"the library's momentum and Hessian, {RANDOM}, and where the pendulum is vertical",
)
def singular_legendre_map() -> float:
    def residual(bar: Bar) -> float:
        blocks = bar.plain().blocks(0.0, [bar.theta, bar.rate])
        upright = bar.plain().blocks(0.0, [0.0, bar.rate])
        squared = bar.m * bar.l**2 * np.sin(bar.theta) ** 2
        return largest(
            distance(blocks.momenta, [squared * bar.rate]), distance(blocks.G, [[squared]]), upright.momenta[0], upright.G[0, 0]
        )

    return _over(residual)


@claim(
    "M-43",
    "L(theta, v) = m v^2 / 2 + m g l cos(theta), regular at every angle",
    how=f"the library's energy with fibre velocity against L_v v - L, {RANDOM}; its verdict on the Legendre map of L(theta, v)",
)
def fibre_lagrangian() -> float:
    def residual(bar: Bar) -> float:
        found = bar.bundled("implicit-lagrangian").blocks(0.0, [bar.theta, bar.rate]).energy
        p = derivative(lambda w: bar.fibre_lagrangian(bar.theta, w[0]), [bar.v])[0]
        return distance(found, p * bar.v - bar.fibre_lagrangian(bar.theta, bar.v))

    return largest(_over(residual), float(legendre_state(_bundled()).is_hyperregular is not True))


@claim(
    "M-44",
    "v = l sin(theta) theta_dot is the bar's vertical velocity: with it L(theta, v) is L(theta, theta_dot)",
    how=f"the library's fibre velocity and its plain Lagrangian by complex steps, {RANDOM}",
)
def bar_velocity() -> float:
    def residual(bar: Bar) -> float:
        (found,) = bar.bundled("implicit-lagrangian").value(list(_bundled().bundle.values()), 0.0, [bar.theta, bar.rate])
        height = derivative(lambda w: -bar.l * np.cos(bar.theta + w[0] * bar.rate), [0.0])[0]
        by_plain = bar.plain().blocks(0.0, [bar.theta, bar.rate]).energy
        energy = bar.bundled("implicit-lagrangian").blocks(0.0, [bar.theta, bar.rate]).energy
        return largest(distance(found, height), distance(energy, by_plain))

    return _over(residual)


@claim("M-45", "theta_dot = u", how=f"the library's velocity in (theta, u), {RANDOM}")
def turning() -> float:
    return _over(
        lambda bar: distance(bar.bundled("implicit-lagrangian").blocks(0.0, [bar.theta, bar.rate]).velocities, [bar.rate])
    )


@cache
def _motion(form: str) -> Motion:
    """The library's motion with fibre velocity from the gallery's start."""
    start = {"theta": np.pi / 2, "u": 1.0}
    return simulate(derive(_bundled(), form), start, (0.0, 0.5), parameters=gallery.load("bar-pendulum").parameters, rtol=1e-11)


@claim(
    "M-46",
    "The motion makes the integral of L(theta, v) stationary among all controls with the same ends",
    how="library motion with fibre velocity: first variations that vanish at both ends, complex step under quadrature",
    tolerance=1e-8,
)
def stationary_integral() -> float:
    motion, bar = _motion("implicit-lagrangian"), _standard()
    times, weights = panel_nodes(0.0, 0.5, 20)
    theta, rate = motion.sol(times)
    found = []
    for k in range(1, 5):
        wave = k * np.pi / 0.5
        varied, turned = theta + 1j * STEP * np.sin(wave * times), rate + 1j * STEP * wave * np.cos(wave * times)
        v = bar.l * np.sin(varied) * turned
        found.append(np.imag(bar.fibre_lagrangian(varied, v)) @ weights / STEP)
    return worst(found)


def _standard() -> Bar:
    """The gallery's parameters and start."""
    values = gallery.load("bar-pendulum").parameters
    return Bar(values["m"], values["l"], values["g"], np.pi / 2, 1.0, 0.0)


@claim(
    "M-47",
    "v = l sin(theta) u: the same fibre velocity from the control",
    how=f"the library's canonical momentum of theta over l sin(theta) against m v, {RANDOM}",
)
def fibre_velocity_from_control() -> float:
    def residual(bar: Bar) -> float:
        found = bar.bundled("implicit-lagrangian").blocks(0.0, [bar.theta, bar.rate]).momenta[0]
        return distance(found, bar.l * np.sin(bar.theta) * bar.m * bar.v)

    return _over(residual)


@claim(
    "M-48",
    "l sin(theta) d/dt L_v = L_theta with v = l sin(theta) theta_dot",
    how=f"complex steps of L_v along the library's angular acceleration in (theta, u), {RANDOM}; extremals give the same",
)
def implicit_lagrangian_description() -> float:
    def residual(bar: Bar) -> float:
        second = bar.bundled("implicit-lagrangian").rates(0.0, [bar.theta, bar.rate])[1]

        def momentum(w: Any) -> Any:
            return bar.m * bar.l * np.sin(bar.theta + w[0] * bar.rate) * (bar.rate + w[0] * second)

        by_angle = derivative(lambda y: bar.fibre_lagrangian(y[0], bar.v), [bar.theta])[0]
        arm = bar.l * np.sin(bar.theta)
        costate = arm * bar.m * bar.v
        extremal = bar.bundled("pontryagin").observe(0.0, [bar.theta, costate])["accelerations"][0]
        return largest(distance(arm * derivative(momentum, [0.0])[0], by_angle), distance(extremal, second))

    return _over(residual)


@claim(
    "M-49",
    "(H_theta, H_p) = [[0, -l sin], [l sin, 0]] (theta_dot, p_dot); the vector in print is (theta_dot, p)",
    how=f"the library's rates in Hamiltonian form, complex steps of H, {RANDOM}",
)
def implicit_hamiltonian_description() -> Corrected:
    def residual(bar: Bar, printed: bool) -> float:
        p, arm = bar.m * bar.v, bar.l * np.sin(bar.theta)
        rate, p_dot = bar.canonical_rates()
        derivatives = derivative(lambda y: bar.hamiltonian(y[0], y[1]), [bar.theta, p])
        return distance(np.array([[0.0, -arm], [arm, 0.0]]) @ [rate, p if printed else p_dot], derivatives)

    return Corrected(_over(lambda bar: residual(bar, False)), _over(lambda bar: residual(bar, True)))


@claim(
    "M-sec5-hamiltonian",
    "p = L_v = m v and H = p^2 / (2 m) - m g l cos(theta); the bar falls freely, p_dot = -m g",
    how=f"the library's energy and rates in Hamiltonian form, {RANDOM}",
)
def free_fall() -> float:
    def residual(bar: Bar) -> float:
        p = bar.m * bar.v
        energy = bar.bundled("implicit-hamiltonian").blocks(0.0, [bar.theta, bar.rate]).energy
        rate, p_dot = bar.canonical_rates()
        return largest(distance(energy, bar.hamiltonian(bar.theta, p)), distance([rate, p_dot], [bar.rate, -bar.m * bar.g]))

    return _over(residual)


def _exact_height(times: Any) -> Any:
    """l cos(theta) of the gallery's start."""
    bar = _standard()
    return bar.l * np.cos(bar.theta) - bar.v * times + bar.g * times**2 / 2


@claim(
    "M-sec5-motion",
    "All descriptions have one motion, l cos(theta) = l cos(theta_0) - v_0 t + g t^2 / 2",
    how="library motions of the plain system and of three forms with fibre velocity against the closed form",
    tolerance=1e-9,
)
def exact_motion() -> float:
    motions = [
        simulate(gallery.load("bar-pendulum"), rtol=1e-11),
        _motion("implicit-lagrangian"),
        _motion("implicit-hamiltonian"),
    ]
    bar = _standard()
    return worst(distance(bar.l * np.cos(motion["theta"]), _exact_height(motion.t)) for motion in motions)


@claim(
    "M-sec5-end",
    "Every description is singular where sin(theta) = 0: the motion ends there, and is not carried on",
    how="library motions asked for two seconds: where they stop against the time at which the closed form reaches |cos| = 1",
    tolerance=1e-7,
)
def singular_end() -> float:
    bar = _standard()
    latest = (bar.v + np.sqrt(bar.v**2 + 2 * bar.g * bar.l)) / bar.g
    plain = simulate(gallery.load("bar-pendulum"), span=(0.0, 2.0), rtol=1e-10)
    values = gallery.load("bar-pendulum").parameters
    start = {"theta": np.pi / 2, "u": 1.0}
    other = simulate(derive(_bundled(), "implicit-lagrangian"), start, (0.0, 2.0), parameters=values, rtol=1e-10)
    return worst(excess(abs(motion.t[-1] - latest)) for motion in (plain, other))


@claim(
    "M-sec5-structure",
    "The singularity is that of the structure and not of the force: the presymplectic form l sin(theta) d theta ^ dp is closed"
    " and vanishes where sin(theta) = 0, where the equations say 0 = 0 and v = 0",
    how="the library's structure on (theta, p): its two-form at random angles and upright; motions obey it",
    tolerance=1e-9,
)
def singular_structure() -> float:
    def residual(bar: Bar) -> float:
        arm = bar.l * np.sin(bar.theta)
        found = dirac_structure(_bundled(), {"theta": bar.theta, "u": bar.rate}, bar.values)
        upright = dirac_structure(_bundled(), {"theta": 0.0, "u": bar.rate}, bar.values)
        return largest(
            distance(found.two_form(), [[0.0, -arm], [arm, 0.0]]),
            float(not found.is_symplectic),
            worst(upright.two_form().ravel()),
            upright.effortless_flows.shape[1] - 2,
        )

    theta, p, l = sympy.symbols("theta p l", real=True)
    form = sympy.Matrix([[0, -l * sympy.sin(theta)], [l * sympy.sin(theta), 0]])
    obeyed = dirac_residual(_motion("implicit-lagrangian")).max()
    return largest(_over(residual), float(not is_closed(form, [theta, p])), obeyed)
