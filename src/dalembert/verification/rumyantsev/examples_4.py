"""Rumyantsev: examples 4.1 (Appell's particle) and 4.2 (rolling disk).

The disk is judged by a rigid body (`rigid_disk`): rotations and angular velocities by complex
steps, and the balances of momentum and angular momentum with an unknown force at the contact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy

from ... import gallery
from ...formulations.registry import derive
from ...gallery.shared_parts import TiltedWheel
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.forces import rate
from ...model.system import System
from ...typing import Array
from ..independent.instant_samples import ReductionProbe
from ..numeric import Probe, Residual, Residuals, derivative, distance, excess, gallery_probe
from ..row_registry import Corrected, listed
from ..samples import Generator, sampler
from .rigid_disk import Disk

DISK = "rolling-disk"


# -- example 4.1 -----------------------------------------------------------------------------------


class ClimbSample(NamedTuple):
    """Appell's particle with random parameters at a random state on its constraint."""

    probe: Probe
    state: Array
    values: dict[str, float]

    @property
    def w(self) -> Array:
        """The horizontal velocity."""
        return self.state[3:5]

    @property
    def z(self) -> Any:
        """The library's accelerations."""
        return self.probe.rates(0.0, self.state)[3:]

    @property
    def turn(self) -> Array:
        """The rate of the heading w / |w|, by complex steps."""
        w, z = self.w, self.z[:2]
        return derivative(lambda e: (w + e[0] * z) / np.sqrt(np.sum((w + e[0] * z) ** 2)), [0.0])


@sampler(seed=61, count=4)
def climbs(_: str, random: Generator) -> ClimbSample:
    values = dict(zip("mga", map(float, random.uniform(0.5, 2, 3)), strict=True))
    q, w = random.uniform(-1, 1, 3), random.uniform(0.4, 2, 2)
    state = np.concatenate([q, w, [values["a"] * np.hypot(*w)]])
    return ClimbSample(gallery_probe("appell", "lagrange").with_parameters(**values), state, values)


@listed("R-ex4.1-equations", over=climbs)
def climb_equations(c: ClimbSample) -> Residual:
    mu, (m, g, a) = c.probe.observe(0.0, c.state)["multipliers"][0], c.values.values()
    force = np.array([*(-mu * a * (c.w / np.hypot(*c.w))), -m * g + mu])
    return distance(m * c.z, force), distance(mu, m * g / (1 + a**2))


@listed("R-ex4.1-heading")
def constant_heading() -> Residual:
    motion = _climb("lagrange")
    heading = np.array([motion["q1_dot"], motion["q2_dot"]]) / motion["horizontal_speed"]
    return [c.turn for c in climbs], np.ptp(heading, axis=1)


@cache
def _climb(form: str, chi: float = 0.0) -> Motion:
    scenario, times = gallery.load("appell"), np.linspace(0, 1.1, 12)
    start = dict(scenario.start) | ({"chi_slope": chi} if form == "vakonomic" else {})
    equations, values = derive(scenario.system, form), scenario.parameters
    return simulate(equations, start, (0, 1.1), parameters=values, rtol=1e-12, at=times)


@listed("R-ex4.1-motion")
def climb_motion() -> Residual:
    motion, values = _climb("lagrange"), gallery.load("appell").parameters
    g, a = values["g"], values["a"]
    way = 5 * motion.t - g * a / (1 + a**2) * motion.t**2 / 2
    speed = 5 - g * a / (1 + a**2) * motion.t
    return distance(motion.y, [0.6 * way, 0.8 * way, a * way, 0.6 * speed, 0.8 * speed, a * speed])


@listed("R-ex4.1-conditions", over=climbs)
def climb_conditions(c: ClimbSample) -> Residual:
    symbols = ReductionProbe(c.probe.equations.system, c.values, ("q1", "q2"))
    on, off = c.z[:2], c.z[:2] + np.array([1.0, -2.0])
    here, other = (symbols(0.0, c.state[:3], c.w, z) for z in (on, off))
    missed = excess(1e-3 - np.max(np.abs(other["symbols"])))
    return c.values["a"] * c.turn, here["symbols"], here["momenta"][2] * here["symbols"], missed


@listed("R-ex4.1-extremals")
def climb_extremals() -> Residual:
    motions = [_climb("vakonomic", chi).y[:6] for chi in (-3.0, 0.0, 0.7, 4.0)]
    return [distance(motion, _climb("lagrange").y) for motion in motions]


@listed("R-ex4.1-exception", over=climbs)
def climb_exception(c: ClimbSample) -> Residuals:
    probe = gallery_probe("appell-vakonomic", "vakonomic").with_parameters(**c.values)
    (m, _, a), speed = c.values.values(), float(np.hypot(*c.w))
    across = np.array([-c.state[4], c.state[3], 0]) / speed
    for chi, expected in ((m * speed / a, 0.0), (0.3, m - 0.3 * a / speed)):
        blocks = probe.blocks(0.0, np.concatenate([c.state, [chi]]))
        yield distance(blocks.G @ across, expected * across), blocks.A @ across


# -- example 4.2 -----------------------------------------------------------------------------------


class DiskSample(NamedTuple):
    """A random disk at a random state (q, v)."""

    probe: Probe
    disk: Disk
    state: Array

    @property
    def q(self) -> Array:
        return self.state[:5]

    @property
    def v(self) -> Array:
        return self.state[5:]

    @property
    def rates(self) -> Any:
        """The library's accelerations (5,)."""
        return self.probe.rates(0.0, self.state)[5:]


@sampler(seed=71, count=4)
def slipping(_: str, random: Generator) -> DiskSample:
    values = dict(zip("mrgAC", map(float, random.uniform(0.5, 2, 5)), strict=True))
    q, v = random.uniform(-1, 1, (2, 5))
    probe = gallery_probe(DISK, "lagrange").with_parameters(**values)
    return DiskSample(probe, Disk(**values), np.concatenate([q, v]))


def _rolling(s: DiskSample) -> DiskSample:
    ahead = np.array([np.cos(s.q[2]), np.sin(s.q[2])])
    return s._replace(state=np.concatenate([s.state[:8], -s.disk.r * s.v[1] * ahead]))


rolling = slipping.map(_rolling)


def _printed_kinetic(d: Disk, q: Array, v: Array) -> float:
    """T as it stands in print."""
    (theta_dot, _, phi_dot, x_dot, y_dot), sin, cos = v, np.sin(q), np.cos(q)
    first = x_dot - d.r * (cos[0] * sin[2] * theta_dot + sin[0] * cos[2] * phi_dot)
    second = y_dot + d.r * (cos[0] * cos[2] * theta_dot + sin[0] * sin[2] * phi_dot)
    spin = d.C * (phi_dot + phi_dot * sin[0]) ** 2
    turning = d.A * (theta_dot**2 + phi_dot**2 * cos[0] ** 2) + spin
    return float(d.m * (first**2 + second**2) + turning) / 2


@listed("R-ex4.2-energy", over=slipping)
def disk_energy(s: DiskSample) -> Corrected:
    d, kinetic = s.disk, s.disk.kinetic(s.q, s.v)
    found = s.probe.blocks(0.0, s.state).energy - d.m * d.g * d.r * np.cos(s.q[0])
    return Corrected(distance(found, kinetic), distance(_printed_kinetic(d, s.q, s.v), kinetic))


@cache
def _centre_rates() -> list[sympy.Expr]:
    system = gallery.load(DISK).system
    theta, psi, phi, x, y = system.coordinates
    radius = next(symbol for symbol in system.parameters if symbol.name == "r")
    return [rate(component) for component in TiltedWheel(theta, psi, phi, (x, y)).axle(radius)]


@listed("R-ex4.2-centre", over=slipping)
def disk_centre(s: DiskSample) -> Corrected:
    (a, _, c), (a_dot, _, c_dot, _, y_dot), r = s.q[:3], s.v, s.disk.r
    moved = derivative(s.disk.centre, s.q) @ s.v
    right, printed = (
        y_dot + r * (np.cos(a) * np.cos(c) * a_dot + sign * np.sin(a) * np.sin(c) * c_dot)
        for sign in (-1, 1)
    )
    library = distance(s.probe.value(_centre_rates(), 0.0, s.state), moved)
    formulas = distance([right, -r * np.sin(a) * a_dot], moved[1:])
    missed = min(distance(printed, moved[1]), distance(0.0, moved[2]))
    return Corrected((library, formulas), missed)


@listed("R-ex4.2-spin", over=slipping)
def disk_spin(s: DiskSample) -> Corrected:
    spin = s.disk.axes(s.q)[2] @ s.disk.twist(s.q)[0] @ s.v
    library = distance(s.probe.blocks(0.0, s.state).momenta[1] / s.disk.C, spin)
    formula = distance(s.v[1] + s.v[2] * np.sin(s.q[0]), spin)
    return Corrected((library, formula), distance(s.v[2] * (1 + np.sin(s.q[0])), spin))


@cache
def _printed_probe() -> Probe:
    """The library's equations of the Lagrangian in print, under the same constraints."""
    scenario = gallery.load(DISK)
    system = scenario.system
    theta, _, phi, x, y = system.coordinates
    symbols = {symbol.name: symbol for symbol in system.parameters}
    m, r, g, A, C = (symbols[name] for name in "mrgAC")
    sin, cos = sympy.sin, sympy.cos
    first = x.dot - r * (cos(theta) * sin(phi) * theta.dot + sin(theta) * cos(phi) * phi.dot)
    second = y.dot + r * (cos(theta) * cos(phi) * theta.dot + sin(theta) * sin(phi) * phi.dot)
    spin = C * (phi.dot + phi.dot * sin(theta)) ** 2
    turning = A * (theta.dot**2 + phi.dot**2 * cos(theta) ** 2) + spin
    printed = System(
        system.coordinates,
        kinetic=m * (first**2 + second**2) / 2 + turning / 2,
        potential=m * g * r * cos(theta),
        constraints=system.constraints,
        name="As printed",
    )
    return Probe(derive(printed, "lagrange"), scenario.parameters)


@listed("R-ex4.2-motion", over=rolling)
def disk_motion(s: DiskSample) -> Corrected:
    d, expected = s.disk, s.disk.accelerations(s.q, s.v)
    wrong = _printed_probe().with_parameters(**s.probe.parameters).rates(0.0, s.state)[5:]
    angular, linear = (jacobian @ s.v for jacobian in d.twist(s.q))
    turning = distance(d.angular_velocity(s.q, s.v), angular)
    rolled = d.slip(s.q, s.v), turning, distance(d.velocity(s.q, s.v), linear)
    return Corrected((distance(s.rates, expected), rolled), distance(wrong, expected))


@listed("R-ex4.2-4.6", over=rolling)
def disk_conditions(s: DiskSample) -> Residual:
    d, names = s.disk, ("theta", "psi", "phi")
    symbols = ReductionProbe(gallery.load(DISK).system, s.probe.parameters, names)
    table = symbols(0.0, s.q, s.v[:3], s.rates[:3])
    (theta_dot, psi_dot, phi_dot), factor = s.v[:3], d.m * d.r**2 * np.cos(s.q[0])
    side = d.r * np.array([np.sin(s.q[2]), -np.cos(s.q[2])])
    expected = np.array([0 * side, phi_dot * side, -psi_dot * side]).T
    printed = [0, -factor * theta_dot * phi_dot, factor * theta_dot * psi_dot]
    found = table["momenta"][3:] @ table["symbols"]
    return distance(table["symbols"], expected), distance(found, printed)


# -- motions of the disk ---------------------------------------------------------------------------


def rolled(
    form: str, speeds: Sequence[float], chi: Sequence[float] = (), span: float = 1.0
) -> Motion:
    """A library motion of the gallery's disk from theta = 0.3, phi = 0.2 with given speeds."""
    scenario = gallery.load(DISK)
    ahead = -scenario.parameters["r"] * speeds[1]
    start = {"theta": 0.3, "psi": 0.0, "phi": 0.2, "x": 0.0, "y": 0.0}
    start |= dict(zip(("theta_dot", "psi_dot", "phi_dot"), speeds, strict=True))
    start |= {"x_dot": ahead * np.cos(0.2), "y_dot": ahead * np.sin(0.2)}
    if form == "vakonomic":
        start |= {"chi_rolling_x": chi[0], "chi_rolling_y": chi[1]}
    equations, values = derive(scenario.system, form), scenario.parameters
    times = np.linspace(0, span, 9)
    return simulate(equations, start, (0, span), parameters=values, rtol=1e-12, at=times)


@cache
def steady_speed(turning: float = 0.9) -> float:
    """The psi_dot of rolling with constant tilt, because theta_ddot is affine in it."""
    probe, radius = gallery_probe(DISK, "lagrange"), gallery.load(DISK).parameters["r"]

    def fall(speed: float) -> float:
        ahead = -radius * speed * np.array([np.cos(0.2), np.sin(0.2)])
        return float(probe.rates(0.0, [0.3, 0, 0.2, 0, 0, 0, speed, turning, *ahead])[5])

    return -fall(0.0) / (fall(1.0) - fall(0.0))


@listed("R-ex4.2-steady")
def steady_rolling() -> Residual:
    speeds = (0.0, steady_speed(), 0.9)
    mechanical = rolled("lagrange", speeds)
    momenta = np.array([mechanical["p_x"], mechanical["p_y"]])
    extremal = rolled("vakonomic", speeds, list(-momenta[:, 0]))
    same = distance(extremal.y[:10], mechanical.y)
    return float(np.ptp(mechanical["theta"])), same, distance(extremal.y[10:], -momenta)


@listed("R-ex4.2-falling")
def falling() -> Residual:
    speeds, v = (0.4, 0.0, 0.0), gallery.load(DISK).parameters
    mechanical = rolled("lagrange", speeds, span=0.25)
    extremal = rolled("vakonomic", speeds, (0.7, -0.4), span=0.25)
    pull = v["m"] * v["g"] * v["r"] * np.sin(mechanical["theta"]) / (v["A"] + v["m"] * v["r"] ** 2)
    fallen = distance(mechanical["theta_ddot"], pull)
    return distance(extremal.y[:10], mechanical.y), fallen


@listed("R-ex4.2-others")
def other_rolling() -> Residual:
    speeds, v = (0.4, 3.0, 0.7), gallery.load(DISK).parameters
    motion = rolled("lagrange", speeds)
    phi, pull = motion["phi"], v["m"] * v["r"] * np.cos(motion["theta"]) * motion["theta_dot"]
    across = motion["p_y"] * np.cos(phi) - motion["p_x"] * np.sin(phi)
    table = np.array([-np.sin(phi), np.cos(phi)]).T
    misfit = float(np.max(np.abs(table @ np.linalg.lstsq(table, pull, rcond=None)[0] - pull)))
    chosen = ((0.4, -0.3), (-motion["p_x"][0], -motion["p_y"][0]))
    others = [rolled("vakonomic", speeds, chi).y[:10] for chi in chosen]
    apart = min(np.max(np.abs(other - motion.y)) for other in others)
    return distance(across, pull), excess(1e-3 - misfit), excess(1e-3 - apart)
