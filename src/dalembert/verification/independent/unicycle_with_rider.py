"""The unicycle with rider of Bloch's section 9.4, as NumPy functions and by the library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import sympy
from numpy import cos, sin

from ... import gallery
from ...analysis.symmetry.reduced_coefficients import CoefficientField, ReducedCoefficients
from ...formulations.reduction.bundle_equations import Bundle, bundle_of, equations_on
from ...formulations.registry import derive
from ...typing import Array
from ..numeric import Probe, derivative
from ..samples import Generator, sampler

#: The torque on the limb.
TORQUE = 0.37


@cache
def bodies() -> dict[str, float]:
    """The parameters of the gallery."""
    return {name: float(value) for name, value in gallery.load("unicycle-rider").parameters.items()}


@cache
def whole() -> Probe:
    """Lagrange's equations with multipliers, driven by the torque."""
    scenario = gallery.load("unicycle-rider")
    return Probe(derive(scenario.system.driven({"u": TORQUE}), "lagrange"), scenario.parameters)


@cache
def bundle() -> Bundle:
    """SO(2) x SE(2) with the section that belongs to p_1 and p_2."""
    system = gallery.load("unicycle-rider").system
    _, _, psi, phi, x, y = system.coordinates
    R = next(symbol for symbol in system.parameters if symbol.name == "R")
    ahead, aside = {x: sympy.cos(phi), y: sympy.sin(phi)}, {x: -sympy.sin(phi), y: sympy.cos(phi)}
    group = {"xi_x": ahead, "xi_y": aside, "xi_turn": {phi: 1}, "xi_roll": {psi: 1}}
    return bundle_of(system, group, section=[[0, 0, 1, 0], [-R, 0, 0, 1]])


@cache
def reduced_probe() -> Probe:
    """The library's equations on D/G: state (theta, kappa, theta_dot, kappa_dot, p_1, p_2)."""
    return Probe(equations_on(bundle(), reconstruct=False), bodies())


# -- what is printed -------------------------------------------------------------------------------


def printed_potential(theta: float, kappa: float) -> Any:
    """U."""
    b = bodies()
    M, R, m, l, mu, r, rho, g = (b[name] for name in ("M", "R", "m", "l", "mu", "r", "rho", "g"))
    return (M * R + m * (R + l)) * g * cos(theta) + mu * g * (
        (R + r) * cos(theta) - rho * cos(kappa - theta)
    )


def printed_lagrangian(q: Sequence[float] | Array, v: Sequence[float] | Array) -> Any:
    """L at q, v (6,), off the constraints."""
    b = bodies()
    M, R, A, B, m, l, mu, r, rho = (
        b[name] for name in ("M", "R", "A", "B", "m", "l", "mu", "r", "rho")
    )
    theta, kappa, _, phi, _, _ = q
    theta_, kappa_, psi_, phi_, x_, y_ = v
    s, c = sin(phi), cos(phi)
    across = y_ * c - x_ * s

    def square(height: float) -> Any:
        return (x_ - height * phi_ * c) ** 2 + (y_ - height * phi_ * s) ** 2

    spin = A * (theta_**2 + phi_**2 * cos(theta) ** 2) + B * (phi_ * sin(theta) + psi_) ** 2
    disk = spin / 2 + M / 2 * (
        R**2 * theta_**2 + 2 * R * across * theta_ * cos(theta) + square(R * sin(theta))
    )
    rider = (R + l) ** 2 * theta_**2 + 2 * (R + l) * across * theta_ * cos(theta)
    rider = rider + square((R + l) * sin(theta))
    swing = kappa_ - theta_
    limb = (R + r) ** 2 * theta_**2 + rho**2 * swing**2
    limb = limb + 2 * rho * (R + r) * swing * theta_ * cos(kappa)
    limb = limb + 2 * ((R + r) * theta_ * cos(theta) + rho * swing * cos(kappa - theta)) * across
    limb = limb + square((R + r) * sin(theta) + rho * sin(kappa - theta))
    return disk + m / 2 * rider + mu / 2 * limb - printed_potential(theta, kappa)


def rolling(phi: float, psi_: float) -> tuple[Any, Any]:
    """x_dot and y_dot of a wheel that does not slip."""
    return -psi_ * bodies()["R"] * cos(phi), -psi_ * bodies()["R"] * sin(phi)


def constrained_lagrangian(z: Array) -> Any:
    """L_c of (theta, kappa, theta_dot, kappa_dot, phi_dot, psi_dot), by the printed L."""
    theta, kappa, theta_, kappa_, phi_, psi_ = z
    heading = 0.83
    q = [theta, kappa, 0.0, heading, 0.0, 0.0]
    return printed_lagrangian(q, [theta_, kappa_, psi_, phi_, *rolling(heading, psi_)])


def printed_metric(r: Array) -> Any:
    """g_ab (2, 2)."""
    b = bodies()
    M, R, A, m, l, mu, h, rho = (b[name] for name in ("M", "R", "A", "m", "l", "mu", "r", "rho"))
    kappa = r[1]
    limb = (R + h) ** 2 - 2 * (R + h) * rho * cos(kappa) + rho**2
    first = M * R**2 + m * (R + l) ** 2 + mu * limb + A
    cross = mu * ((R + h) * rho * cos(kappa) - rho**2)
    return np.array([[first, cross], [cross, mu * rho**2 + 0 * kappa]])


def printed_inertia(r: Array) -> Any:
    """I_ab (2, 2)."""
    b = bodies()
    M, R, A, B, m, l, mu, h, rho = (
        b[name] for name in ("M", "R", "A", "B", "m", "l", "mu", "r", "rho")
    )
    theta, kappa = r
    limb = (R + h) * sin(theta) + rho * sin(kappa - theta)
    s = sin(theta)
    first = (M * R**2 + m * (R + l) ** 2) * s**2 + mu * limb**2 + A * cos(theta) ** 2 + B * s**2
    cross = (M * R**2 + m * R * (R + l)) * s + mu * R * limb + B * s
    return np.array([[first, cross], [cross, M * R**2 + m * R**2 + mu * R**2 + B + 0 * theta]])


def printed_routhian(z: Array) -> Any:
    """R of (theta, kappa, theta_dot, kappa_dot, p_1, p_2)."""
    r, v, p = z[:2], z[2:4], z[4:]
    turning = p @ np.linalg.solve(printed_inertia(r), p) / 2
    return v @ printed_metric(r) @ v / 2 - turning - printed_potential(*r)


def swing_factors(r: Array) -> Any:
    """A cos(theta) - B cos(kappa - theta) and B cos(kappa - theta), as printed (2,)."""
    b = bodies()
    M, R, m, l, mu, h, rho = (b[name] for name in ("M", "R", "m", "l", "mu", "r", "rho"))
    script_a, script_b = M * R**2 + m * R * (R + l) + mu * R * (R + h), mu * R * rho
    by_limb = script_b * cos(r[1] - r[0])
    return np.array([script_a * cos(r[0]) - by_limb, by_limb])


# -- states ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class UnicycleSample:
    """A state on the constraints: q, and the velocities of theta, kappa, psi and phi."""

    q: Array
    free: Array

    @cached_property
    def v(self) -> Any:
        """q_dot (6,)."""
        return np.concatenate([self.free, rolling(self.q[3], self.free[2])])

    @cached_property
    def accelerations(self) -> Any:
        """Those of the library's Lagrange equations with multipliers (6,)."""
        return whole().observe(0.0, np.concatenate([self.q, self.v]))["accelerations"]

    @property
    def r(self) -> Any:
        """Shape (2,)."""
        return self.q[:2]

    @property
    def turning(self) -> Any:
        """(phi_dot, psi_dot)."""
        return np.array([self.free[3], self.free[2]])

    @cached_property
    def p(self) -> Any:
        """The printed momenta."""
        return printed_inertia(self.r) @ self.turning

    @cached_property
    def p_rates(self) -> Any:
        """Their rates along the motion."""
        turns = np.array([self.accelerations[3], self.accelerations[2]])
        place, motion = np.concatenate([self.r, self.turning]), np.concatenate([self.v[:2], turns])
        return derivative(lambda z: printed_inertia(z[:2]) @ z[2:], place) @ motion

    @property
    def z(self) -> Any:
        """(theta, kappa, theta_dot, kappa_dot, p_1, p_2)."""
        return np.concatenate([self.r, self.v[:2], self.p])

    def covariant(self, function: Callable[[Any], Any]) -> Any:
        """nabla_theta and nabla_kappa of a function of z, as printed (2,)."""
        by = derivative(function, self.z)
        turn = np.linalg.solve(printed_inertia(self.r), self.p)  # (I^1b p_b, I^2b p_b)
        return by[:2] + swing_factors(self.r) * (turn[1] * by[4] - turn[0] * by[5])

    @cached_property
    def coefficients(self) -> ReducedCoefficients:
        """The library's coefficients of the reduced equations."""
        return coefficient_field().at(dict(zip(("theta", "kappa"), self.r, strict=True)), bodies())


@cache
def coefficient_field() -> CoefficientField:
    """The coefficients as functions of the shape."""
    return CoefficientField(bundle())


@sampler(seed=94, count=6)
def rides(_: str, random: Generator) -> UnicycleSample:
    """Random states on the constraints."""
    return UnicycleSample(random.uniform(-0.7, 0.7, 6), random.uniform(-1.5, 1.5, 4))


def library_lagrangian(q: Array, v: Array) -> float:
    """L of the gallery at any state."""
    energy = whole().equations.system.energy_function
    return float(whole().value([energy], 0.0, np.concatenate([q, v]))[0])
