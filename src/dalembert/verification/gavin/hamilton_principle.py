"""Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints: Hamilton's principle (eqs. 24 to 31)."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ..independent.elastic_pendulum_model import Pendulum, Swing, over_swings, pendulum_motion, swings
from ..numeric import STEP, Probe, derivative, distance, largest, panel_nodes, worst
from ..row_registry import claim
from .lagrange_equations import cartesian_system

SPAN = 3.0
VARIATIONS = "five random variations that vanish at both ends"


@cache
def _cartesian_probe() -> Probe:
    return Probe(derive(cartesian_system(), "lagrange"), gallery.load("elastic-pendulum").parameters)


def _flat(s: Swing) -> tuple[Probe, Any, Any]:
    """The Cartesian statement of a swing: its equations, r and r_dot."""
    values = {key: s.probe.parameters[key] for key in ("M", "l", "K", "g")}
    J = s.pendulum.jacobian(s.q)
    return _cartesian_probe().with_parameters(**values), s.pendulum.position(s.q), J @ s.v


@claim(
    "G-24",
    "The variation of V is the sum of V_r dr = f dr, where f balances the force of the potential",
    how="complex steps of V along random dr against minus the library's force, random particles on springs",
)
def variation_of_potential() -> float:
    def residual(s: Swing) -> float:
        probe, r, r_dot = _flat(s)
        by_steps = derivative(lambda w: s.pendulum.potential_at(r + w[0] * s.z), [0.0])[0]
        return distance(-probe.blocks(0.0, np.concatenate([r, r_dot])).f @ s.z, by_steps)

    return over_swings(residual)


@claim(
    "G-25",
    "T = sum m r_dot^2 / 2 in Cartesian coordinates",
    how="library energies of both statements less V, random states",
)
def cartesian_kinetic_energy() -> float:
    def residual(s: Swing) -> float:
        probe, r, r_dot = _flat(s)
        closed = s.pendulum.M / 2 * r_dot @ r_dot
        flat = probe.blocks(0.0, np.concatenate([r, r_dot])).energy - s.pendulum.potential_at(r)
        swung = s.probe.blocks(0.0, s.state).energy - s.pendulum.potential(s.q)
        return largest(distance(flat, closed), distance(swung, closed))

    return over_swings(residual)


@claim(
    "G-26",
    "The variation of T is the sum of m r_dot dr_dot",
    how="complex steps of the kinetic energy along random changes against the library's momenta",
)
def variation_of_kinetic_energy() -> float:
    def residual(s: Swing) -> float:
        probe, r, r_dot = _flat(s)
        by_steps = derivative(lambda w: s.pendulum.M / 2 * np.sum((r_dot + w[0] * s.z) ** 2), [0.0])[0]
        return distance(probe.blocks(0.0, np.concatenate([r, r_dot])).momenta @ s.z, by_steps)

    return over_swings(residual)


@claim(
    "G-27",
    "sum m r_ddot dr + sum f dr = 0 for forces of a potential",
    how="library accelerations of the Cartesian statement, V_r by complex steps, random dr",
)
def dalembert_for_a_potential() -> float:
    def residual(s: Swing) -> float:
        probe, r, r_dot = _flat(s)
        acceleration = probe.rates(0.0, np.concatenate([r, r_dot]))[2:]
        return float((s.pendulum.M * acceleration + derivative(s.pendulum.potential_at, r)) @ s.z)

    return over_swings(residual)


class _Bump:
    """A random variation of two coordinates that vanishes at 0 and at `SPAN`."""

    def __init__(self, seed: int) -> None:
        self.amplitudes = np.random.default_rng([29, seed]).uniform(-1, 1, (2, 4))
        self.sinusoids = np.pi * np.arange(1, 5) / SPAN

    def at(self, times: Any) -> Any:
        return self.amplitudes @ np.sin(np.outer(self.sinusoids, times))

    def rate(self, times: Any) -> Any:
        return self.amplitudes @ (self.sinusoids[:, None] * np.cos(np.outer(self.sinusoids, times)))


def _first_variation(lagrangian: Any, path: Any, bump: _Bump) -> float:
    """d/de of the action along path + e bump, by a complex step under the integral."""
    times, weights = panel_nodes(0.0, SPAN)
    q, v = path(times)
    varied = lagrangian(q + 1j * STEP * bump.at(times), v + 1j * STEP * bump.rate(times))
    return float(np.imag(varied) @ weights / STEP)


@cache
def _values() -> Pendulum:
    return Pendulum.of(gallery.load("elastic-pendulum").parameters)


def _lagrangian(q: Any, v: Any) -> Any:
    return _values().kinetic(q, v) - _values().potential(q)


def _motion_path(times: Any) -> tuple[Any, Any]:
    state = pendulum_motion("elastic-pendulum", SPAN).sol(times)
    return state[:2], state[2:]


def _wrong_path(times: Any) -> tuple[Any, Any]:
    """A path with the same ends that is not a motion."""
    q, v = _motion_path(times)
    bump = _Bump(100)
    return q + 0.2 * bump.at(times), v + 0.2 * bump.rate(times)


@claim(
    "G-28",
    "A motion makes the integral of T - V stationary: its first variation vanishes where the ends are held",
    how=f"library motion of the Cartesian particle, {VARIATIONS}, complex step under Gauss-Legendre quadrature",
    tolerance=1e-8,
)
def hamilton_principle_in_the_plane() -> float:
    start = {"x": 0.0, "y": -2.0, "x_dot": 1.0, "y_dot": 0.0}
    values = gallery.load("elastic-pendulum").parameters
    motion = simulate(cartesian_system(), start, (0, SPAN), parameters=values, rtol=1e-12)

    def lagrangian(r: Any, w: Any) -> Any:
        return _values().M / 2 * np.sum(w**2, axis=0) - _values().potential_at(r)

    def path(times: Any) -> tuple[Any, Any]:
        state = motion.sol(times)
        return state[:2], state[2:]

    return worst(_first_variation(lagrangian, path, _Bump(k)) for k in range(5))


@claim(
    "G-29",
    "L(q, q_dot, t) = T - V",
    how="the library's Lagrangian as momenta . velocities less its energy, against T - V, random states",
)
def lagrangian_of_energies() -> float:
    def residual(s: Swing) -> float:
        blocks = s.probe.blocks(0.0, s.state)
        closed = s.pendulum.kinetic(s.q, s.v) - s.pendulum.potential(s.q)
        return distance(blocks.momenta @ s.v - blocks.energy, closed)

    return over_swings(residual)


@claim(
    "G-30",
    "The action is the integral of L, the same number in every coordinate system",
    how="quadrature of L along a library motion in (theta, u), and of T - V along its image in (x, y)",
)
def action() -> float:
    times, weights = panel_nodes(0.0, SPAN)
    q, v = _motion_path(times)
    r = np.array([_values().position(x) for x in q.T]).T
    r_dot = np.array([_values().jacobian(x) @ w for x, w in zip(q.T, v.T, strict=True)]).T
    flat = _values().M / 2 * np.sum(r_dot**2, axis=0) - _values().potential_at(r)
    return distance(_lagrangian(q, v) @ weights, flat @ weights)


@claim(
    "G-31",
    "Variation and time derivative commute for a family of paths q(t, e)",
    how="mixed derivatives of random smooth families by SymPy, at random times",
)
def transposition() -> float:
    t, e = sympy.symbols("t e", real=True)
    random, found = np.random.default_rng(31), []
    for a, b, c in random.uniform(0.5, 1.5, (4, 3)):
        family = sympy.sin(a * t + e * sympy.cos(b * t)) + e**2 * sympy.exp(-c * t) + e * t**3
        varied_rate = sympy.diff(family, t).diff(e).subs(e, 0)
        rate_of_variation = sympy.diff(sympy.diff(family, e).subs(e, 0), t)
        gap = sympy.lambdify(t, varied_rate - rate_of_variation, "numpy")
        found += [float(gap(time)) for time in random.uniform(0, 3, 3)]
    return worst(found)


@claim(
    "G-sec7-principle",
    "The action is stationary on motions and only there: off a motion its variation is minus the work of Lagrange's"
    " equations on the variation",
    how=f"library motion and a varied path with the same ends, {VARIATIONS}; the variation there against the library's"
    " equations integrated",
    tolerance=1e-8,
)
def hamilton_principle() -> float:
    bumps = [_Bump(k) for k in range(5)]
    on_motion = worst(_first_variation(_lagrangian, _motion_path, bump) for bump in bumps)
    times, weights = panel_nodes(0.0, SPAN)
    q, v = _wrong_path(times)
    z = _wrong_accelerations(times)
    euler = np.array([_library_euler(*item) for item in zip(q.T, v.T, z.T, strict=True)]).T
    found, sizes = [on_motion], []
    for bump in bumps:
        varied = _first_variation(_lagrangian, _wrong_path, bump)
        work = np.sum(euler * bump.at(times), axis=0) @ weights
        found.append(distance(varied, -work))
        sizes.append(abs(varied))
    return worst([*found, 0.0 if min(sizes) > 1e-3 else 1.0])


def _wrong_accelerations(times: Any) -> Any:
    """Accelerations of the path that is not a motion: those of the motion by the library, plus the bump's."""
    q, v = _motion_path(times)
    probe, bump = _library(), _Bump(100)
    base = np.array([probe.rates(0.0, np.concatenate(item))[2:] for item in zip(q.T, v.T, strict=True)]).T
    second = -bump.amplitudes @ (bump.sinusoids[:, None] ** 2 * np.sin(np.outer(bump.sinusoids, times)))
    return base + 0.2 * second


@cache
def _library() -> Probe:
    scenario = gallery.load("elastic-pendulum")
    return Probe(derive(scenario.system, "lagrange"), scenario.parameters)


def _library_euler(q: Any, v: Any, z: Any) -> Any:
    blocks = _library().blocks(0.0, np.concatenate([q, v]))
    return blocks.G @ z - blocks.f


def _force_of_lagrangian(q: Any, v: Any) -> Any:
    """L_q by complex steps, which is the rate of the momenta along a motion."""
    return derivative(lambda x: _lagrangian(x, v), q)


@claim(
    "G-sec7-parts",
    "Integration by parts moves the derivative from the variation to the momentum, without a term from the ends",
    how=f"both integrals along a library motion, {VARIATIONS}; the rate of the momentum by the library's equations",
    tolerance=1e-8,
)
def integration_by_parts() -> float:
    times, weights = panel_nodes(0.0, SPAN)
    q, v = _motion_path(times)
    momenta = np.array([_values().momenta(x, w) for x, w in zip(q.T, v.T, strict=True)]).T
    by_position = np.array([_force_of_lagrangian(x, w) for x, w in zip(q.T, v.T, strict=True)]).T
    found = []
    for bump in (_Bump(k) for k in range(5)):
        left = np.sum(momenta * bump.rate(times), axis=0) @ weights
        found.append(distance(left, -np.sum(by_position * bump.at(times), axis=0) @ weights))
    return worst(found)


@claim(
    "G-sec7-lagrange",
    "Arbitrary variations leave d/dt T_qdot - T_q + V_q = 0",
    how="the library's equations without forces at its own accelerations, by complex steps along the path",
)
def equations_from_the_principle() -> float:
    return worst(component for s in swings() for component in s.pendulum.euler(s.q, s.v, s.accelerations))
