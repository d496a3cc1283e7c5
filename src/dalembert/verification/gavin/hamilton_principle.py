"""Gavin: Hamilton's principle (eqs. 24 to 31)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.variational.transitivity import transitivity
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...typing import Array
from ..independent.elastic_pendulum_model import pendulum_motion
from ..numeric import STEP, Probe, Residual, derivative, distance, gallery_probe, panel_nodes
from ..row_registry import listed
from ..samples import State
from .lagrange_equations import cartesian_system
from .pendulum_samples import FREE, PendulumSample, by_column, free, gallery_pendulum

SPAN = 3.0


@cache
def _cartesian_probe() -> Probe:
    return Probe(derive(cartesian_system(), "lagrange"), gallery.load(FREE).parameters)


def _flat(s: PendulumSample) -> State:
    """The Cartesian statement of a swing, at (r, r_dot)."""
    values = {key: s.probe.parameters[key] for key in ("M", "l", "K", "g")}
    r, r_dot = s.pendulum.position(s.q), s.pendulum.jacobian(s.q) @ s.v
    return State(_cartesian_probe().with_parameters(**values), 0.0, np.concatenate([r, r_dot]))


@listed("G-24", over=free)
def variation_of_potential(s: PendulumSample) -> Residual:
    flat = _flat(s)
    by_steps = derivative(lambda w: s.pendulum.potential_at(flat.state[:2] + w[0] * s.z), [0.0])[0]
    return distance(-flat.blocks.f @ s.z, by_steps)


@listed("G-25", over=free)
def cartesian_kinetic_energy(s: PendulumSample) -> Residual:
    flat, p = _flat(s), s.pendulum
    closed = p.M / 2 * flat.state[2:] @ flat.state[2:]
    in_plane = flat.blocks.energy - p.potential_at(flat.state[:2])
    return distance(in_plane, closed), distance(s.blocks.energy - p.potential(s.q), closed)


@listed("G-26", over=free)
def variation_of_kinetic_energy(s: PendulumSample) -> Residual:
    flat, M = _flat(s), s.pendulum.M
    by_steps = derivative(lambda w: M / 2 * np.sum((flat.state[2:] + w[0] * s.z) ** 2), [0.0])[0]
    return distance(flat.blocks.momenta @ s.z, by_steps)


@listed("G-27", over=free)
def dalembert_for_a_potential(s: PendulumSample) -> Residual:
    flat = _flat(s)
    pull = derivative(s.pendulum.potential_at, flat.state[:2])
    return float((s.pendulum.M * flat.rates[2:] + pull) @ s.z)


class _Bump:
    """A random variation of two coordinates that vanishes at 0 and at `SPAN`."""

    def __init__(self, seed: int) -> None:
        self.amplitudes = np.random.default_rng([29, seed]).uniform(-1, 1, (2, 4))
        self.sinusoids = np.pi * np.arange(1, 5) / SPAN

    def at(self, times: Array) -> Array:
        return self.amplitudes @ np.sin(np.outer(self.sinusoids, times))

    def rate(self, times: Array) -> Array:
        return self.amplitudes @ (self.sinusoids[:, None] * np.cos(np.outer(self.sinusoids, times)))

    def second_rate(self, times: Array) -> Array:
        sines = np.sin(np.outer(self.sinusoids, times))
        return -self.amplitudes @ (self.sinusoids[:, None] ** 2 * sines)


BUMPS = [_Bump(k) for k in range(5)]
WRONG = _Bump(100)
Lagrangian = Callable[[Array, Array], Array]
Path = Callable[[Array], tuple[Array, Array]]


def _first_variation(lagrangian: Lagrangian, path: Path, bump: _Bump) -> float:
    """d/de of the action along path + e bump, by a complex step under the integral."""
    times, weights = panel_nodes(0.0, SPAN)
    q, v = path(times)
    varied = lagrangian(q + 1j * STEP * bump.at(times), v + 1j * STEP * bump.rate(times))
    return float(np.imag(varied) @ weights / STEP)


def _lagrangian(q: Array, v: Array) -> Any:
    return gallery_pendulum().kinetic(q, v) - gallery_pendulum().potential(q)


def _flat_lagrangian(r: Array, w: Array) -> Any:
    p = gallery_pendulum()
    return p.M / 2 * np.sum(w**2, axis=0) - p.potential_at(r)


def _path(motion: Motion) -> Path:
    return lambda times: (motion.sol(times)[:2], motion.sol(times)[2:])


def _motion_path(times: Array) -> tuple[Array, Array]:
    return _path(pendulum_motion(FREE, SPAN))(times)


def _wrong_path(times: Array) -> tuple[Array, Array]:
    """A path with the same ends that is not a motion."""
    q, v = _motion_path(times)
    return q + 0.2 * WRONG.at(times), v + 0.2 * WRONG.rate(times)


@listed("G-28")
def hamilton_principle_in_the_plane() -> Residual:
    start = {"x": 0.0, "y": -2.0, "x_dot": 1.0, "y_dot": 0.0}
    values = gallery.load(FREE).parameters
    motion = simulate(cartesian_system(), start, (0, SPAN), parameters=values, rtol=1e-12)
    return [_first_variation(_flat_lagrangian, _path(motion), bump) for bump in BUMPS]


listed("G-29", over=free)(
    lambda s: distance(
        s.blocks.momenta @ s.v - s.blocks.energy,
        s.pendulum.kinetic(s.q, s.v) - s.pendulum.potential(s.q),
    )
)


@listed("G-30")
def action() -> Residual:
    times, weights = panel_nodes(0.0, SPAN)
    (q, v), p = _motion_path(times), gallery_pendulum()
    r, r_dot = by_column(p.position, q), by_column(lambda x, w: p.jacobian(x) @ w, q, v)
    return distance(_lagrangian(q, v) @ weights, _flat_lagrangian(r, r_dot) @ weights)


@listed("G-31")
def transposition() -> Residual:
    t, e = sympy.symbols("t e", real=True)
    random, found = np.random.default_rng(31), []
    for a, b, c in random.uniform(0.5, 1.5, (4, 3)):
        family = sympy.sin(a * t + e * sympy.cos(b * t)) + e**2 * sympy.exp(-c * t) + e * t**3
        varied_rate = sympy.diff(family, t).diff(e).subs(e, 0)
        rate_of_variation = sympy.diff(sympy.diff(family, e).subs(e, 0), t)
        gap = sympy.lambdify(t, varied_rate - rate_of_variation, "numpy")
        found += [float(gap(time)) for time in random.uniform(0, 3, 3)]
    # They commute under constraints on positions, and not on a rolling disk.
    commute = {"elastic-pendulum-arc": True, "spherical-pendulum": True, "rolling-disk": False}
    judged = [transitivity(gallery.load(name)).vanishes is yes for name, yes in commute.items()]
    return found, float(not all(judged))


@listed("G-sec7-principle")
def hamilton_principle() -> Residual:
    times, weights = panel_nodes(0.0, SPAN)
    probe = gallery_probe(FREE, "lagrange")

    def euler(q: Array, v: Array, z: Array) -> Array:
        blocks = probe.blocks(0.0, np.concatenate([q, v]))
        return blocks.G @ z - blocks.f

    motion = by_column(lambda *x: probe.rates(0.0, np.concatenate(x))[2:], *_motion_path(times))
    forces = by_column(euler, *_wrong_path(times), motion + 0.2 * WRONG.second_rate(times))
    varied = [_first_variation(_lagrangian, _wrong_path, bump) for bump in BUMPS]
    works = [np.sum(forces * bump.at(times), axis=0) @ weights for bump in BUMPS]
    return (
        [_first_variation(_lagrangian, _motion_path, bump) for bump in BUMPS],
        [distance(change, -work) for change, work in zip(varied, works, strict=True)],
        0.0 if min(map(abs, varied)) > 1e-3 else 1.0,
    )


@listed("G-sec7-parts")
def integration_by_parts() -> Residual:
    times, weights = panel_nodes(0.0, SPAN)
    q, v = _motion_path(times)
    momenta = by_column(gallery_pendulum().momenta, q, v)
    rates = by_column(lambda x, w: derivative(lambda y: _lagrangian(y, w), x), q, v)
    return [
        distance(
            np.sum(momenta * bump.rate(times), axis=0) @ weights,
            -np.sum(rates * bump.at(times), axis=0) @ weights,
        )
        for bump in BUMPS
    ]


listed("G-sec7-lagrange", over=free)(lambda s: s.pendulum.euler(s.q, s.v, s.accelerations))
