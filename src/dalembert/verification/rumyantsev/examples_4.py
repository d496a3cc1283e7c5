"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: examples 4.1 (Appell's particle) and 4.2 (rolling disk).

The disk is judged by a rigid body: rotations and angular velocities by complex steps of a rotation matrix, and the balances of
momentum and angular momentum with an unknown force at the contact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...formulations.registry import derive
from ...gallery._shared import TiltedWheel
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.forces import rate
from ...model.system import System
from ..independent.instant_samples import ReductionProbe
from ..numeric import Probe, derivative, distance, excess, gallery_probe, largest, worst
from ..row_registry import Corrected, claim

APPELL = "library accelerations of Appell's particle at random admissible states"


# -- example 4.1 -----------------------------------------------------------------------------------------------------------


def climbs() -> Iterator[tuple[Probe, Any, dict[str, float]]]:
    """Appell's particle with random derivatives at random states on its constraint."""
    random = np.random.default_rng(61)
    for _ in range(4):
        values = dict(zip(("m", "g", "a"), (float(x) for x in random.uniform(0.5, 2, 3)), strict=True))
        q, w = random.uniform(-1, 1, 3), random.uniform(0.4, 2, 2)
        state = np.concatenate([q, w, [values["a"] * np.hypot(*w)]])
        yield gallery_probe("appell", "lagrange").with_parameters(**values), state, values


def _turn(w: Any, z: Any) -> Any:
    """The rate of the heading w / |w| for accelerations z, by complex steps."""
    return derivative(lambda e: (w + e[0] * z) / np.sqrt(np.sum((w + e[0] * z) ** 2)), [0.0])[:, 0]


@claim(
    "R-ex4.1-equations",
    "m q_ddot_s = -mu a q_dot_s / w, m q_ddot_3 = -m g + mu, with w the horizontal speed; mu = m g / (1 + a^2)",
    how=f"{APPELL}, with the library's multiplier",
)
def climb_equations() -> float:
    found = []
    for probe, state, v in climbs():
        mu, heading = probe.observe(0.0, state)["multipliers"][0], state[3:5] / np.hypot(*state[3:5])
        force = np.array([*(-mu * v["a"] * heading), -v["m"] * v["g"] + mu])
        found += [distance(v["m"] * probe.rates(0.0, state)[3:], force), distance(mu, v["m"] * v["g"] / (1 + v["a"] ** 2))]
    return worst(found)


@claim(
    "R-ex4.1-heading",
    "The heading q_dot_s / w is constant",
    how=f"rate of the heading by complex steps along {APPELL}; spread of the heading on a library motion",
    tolerance=1e-9,
)
def constant_heading() -> float:
    found = [worst(_turn(state[3:5], probe.rates(0.0, state)[3:5])) for probe, state, _ in climbs()]
    motion = _climb("lagrange")
    heading = np.array([motion["q1_dot"], motion["q2_dot"]]) / motion["horizontal_speed"]
    return largest(worst(found), float(np.max(np.ptp(heading, axis=1))))


@cache
def _climb(form: str, chi: float = 0.0) -> Motion:
    scenario = gallery.load("appell")
    start = dict(scenario.start) | ({"chi_slope": chi} if form == "vakonomic" else {})
    equations, times = derive(scenario.system, form), np.linspace(0, 1.1, 12)
    return simulate(equations, start, (0, 1.1), parameters=scenario.parameters, rtol=1e-12, at=times)


@claim(
    "R-ex4.1-motion",
    "w = w_0 - g a t / (1 + a^2) along a constant heading, with q_dot_3 = a w",
    how="library motion over 1.1 s against the closed form",
    tolerance=1e-9,
)
def climb_motion() -> float:
    motion, values = _climb("lagrange"), gallery.load("appell").parameters
    g, a = values["g"], values["a"]
    way = 5 * motion.t - g * a / (1 + a**2) * motion.t**2 / 2
    speed = 5 - g * a / (1 + a**2) * motion.t
    return distance(motion.y, [0.6 * way, 0.8 * way, a * way, 0.6 * speed, 0.8 * speed, a * speed])


@claim(
    "R-ex4.1-conditions",
    "The conditions (4.4) to (4.6) hold on all motions, though not for other accelerations",
    how=f"f_q - d/dt f_v by complex steps, and the library's symbols and momenta, with {APPELL}",
)
def climb_conditions() -> float:
    found = []
    for probe, state, v in climbs():
        symbols = ReductionProbe(probe.equations.system, v, ("q1", "q2"))
        z, w = probe.rates(0.0, state)[3:], state[3:5]
        here, other = (symbols(0.0, state[:3], w, pull) for pull in (z[:2], z[:2] + np.array([1.0, -2.0])))
        found += [worst(v["a"] * _turn(w, z[:2])), worst(here["symbols"]), worst(here["momenta"][2] * here["symbols"])]
        found.append(excess(1e-3 - worst(other["symbols"])))
    return worst(found)


@claim(
    "R-ex4.1-extremals",
    "The motions are those of the Lagrange problem, whatever the start of chi, apart from chi = m w_0 / a",
    how="library vakonomic motions from four chi against the mechanical one",
    tolerance=1e-8,
)
def climb_extremals() -> float:
    mechanical = _climb("lagrange").y
    return worst(distance(_climb("vakonomic", chi).y[:6], mechanical) for chi in (-3.0, 0.0, 0.7, 4.0))


@claim(
    "R-ex4.1-exception",
    "At chi = m w / a the Lagrange problem does not determine the heading: L_vv + chi f_vv is zero across it",
    how="the library's vakonomic matrix and rows at random states, on the horizontal direction across the heading",
)
def climb_exception() -> float:
    vakonomic, found = gallery_probe("appell-vakonomic", "vakonomic"), []
    for _, state, v in climbs():
        probe, speed = vakonomic.with_parameters(**v), float(np.hypot(*state[3:5]))
        across = np.array([-state[4], state[3], 0]) / speed
        for chi, expected in ((v["m"] * speed / v["a"], 0.0), (0.3, v["m"] - 0.3 * v["a"] / speed)):
            blocks = probe.blocks(0.0, np.concatenate([state, [chi]]))
            found += [distance(blocks.G @ across, expected * across), worst(blocks.A @ across)]
    return worst(found)


# -- example 4.2 -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Disk:
    """A rigid disk that touches the plane at (x, y): q = (theta, psi, phi, x, y)."""

    m: float
    r: float
    g: float
    A: float
    C: float

    def axes(self, q: Any) -> tuple[Any, Any, Any]:
        """The way it heads, from the contact to the centre, and its axle."""
        theta, phi = q[0], q[2]
        ahead = np.array([np.cos(phi), np.sin(phi), 0])
        up = np.array([-np.sin(theta) * np.sin(phi), np.sin(theta) * np.cos(phi), np.cos(theta)])
        return ahead, up, np.cross(ahead, up)

    def rotation(self, q: Any) -> Any:
        """Its rotation matrix, turned by psi about the axle."""
        ahead, up, axle = self.axes(q)
        c, s = np.cos(q[1]), np.sin(q[1])
        return np.stack([c * ahead + s * up, c * up - s * ahead, axle], axis=1)

    def centre(self, q: Any) -> Any:
        """The centre, (3,)."""
        return np.array([q[3], q[4], 0]) + self.r * self.axes(q)[1]

    def twist(self, q: Any) -> tuple[Any, Any]:
        """Jacobians (3, 5) of the angular velocity, from R_dot R^T, and of the centre's velocity."""
        turns = derivative(self.rotation, q)
        spins = [turns[:, :, j] @ self.rotation(q).T for j in range(5)]
        angular = np.array([[s[2, 1], s[0, 2], s[1, 0]] for s in spins]).T
        return angular, derivative(self.centre, q)

    def inertia(self, q: Any) -> Any:
        """The tensor of inertia about the centre, in space."""
        axle = self.axes(q)[2]
        return self.A * np.eye(3) + (self.C - self.A) * np.outer(axle, axle)

    def kinetic(self, q: Any, v: Any) -> float:
        """T of the rigid body, whether it rolls or not."""
        angular, linear = (jacobian @ v for jacobian in self.twist(q))
        return float(self.m * linear @ linear + angular @ self.inertia(q) @ angular) / 2

    def angular_velocity(self, q: Any, v: Any) -> Any:
        """In closed form, for rates: -theta_dot ahead + phi_dot up the vertical + psi_dot along the axle."""
        ahead, _, axle = self.axes(q)
        return -v[0] * ahead + v[2] * np.array([0, 0, 1]) + v[1] * axle

    def velocity(self, q: Any, v: Any) -> Any:
        """Of the centre, in closed form, for rates."""
        _, up, axle = self.axes(q)
        return np.array([v[3], v[4], 0]) + self.r * (-v[0] * axle + v[2] * np.cross(np.array([0, 0, 1]), up))

    def slip(self, q: Any, v: Any) -> Any:
        """The velocity of the material point at the contact, (3,)."""
        return self.velocity(q, v) - self.r * np.cross(self.angular_velocity(q, v), self.axes(q)[1])

    def angular_momentum(self, q: Any, v: Any) -> Any:
        """About the centre, (3,)."""
        spin, axle = self.angular_velocity(q, v), self.axes(q)[2]
        return self.A * spin + (self.C - self.A) * (spin @ axle) * axle

    def accelerations(self, q: Any, v: Any) -> Any:
        """q_ddot (5,) by Newton and Euler, with the force at the contact among the unknowns."""
        lever = -self.r * self.axes(q)[1]
        cross = np.array([[0, -lever[2], lever[1]], [lever[2], 0, -lever[0]], [-lever[1], lever[0], 0]])
        force, given = np.concatenate([np.eye(3), cross, np.zeros((2, 3))]), np.zeros(8)
        given[2] = -self.m * self.g
        both = derivative(lambda w: self._balances(w[:5], w[5:]), np.concatenate([q, v]))
        return np.linalg.solve(np.concatenate([both[:, 5:], -force], axis=1), given - both[:, :5] @ v)[:5]

    def _balances(self, q: Any, v: Any) -> Any:
        """What changes by forces and their moments alone, and what stays zero: momenta and slip, (8,)."""
        return np.concatenate([self.m * self.velocity(q, v), self.angular_momentum(q, v), self.slip(q, v)[:2]])


def disk_states(rolling: bool = True) -> Iterator[tuple[Probe, Disk, Any]]:
    """Random disks at random states (q, v), rolling or with any velocities."""
    random = np.random.default_rng(71)
    for _ in range(4):
        values = dict(zip(("m", "r", "g", "A", "C"), (float(x) for x in random.uniform(0.5, 2, 5)), strict=True))
        q, v = random.uniform(-1, 1, (2, 5))
        if rolling:
            v[3:] = -values["r"] * v[1] * np.array([np.cos(q[2]), np.sin(q[2])])
        yield gallery_probe("rolling-disk", "lagrange").with_parameters(**values), Disk(**values), np.concatenate([q, v])


def _printed_kinetic(d: Disk, q: Any, v: Any) -> float:
    """T as it stands in print."""
    (theta, _, phi, _, _), (theta_dot, _, phi_dot, x_dot, y_dot) = q, v
    first = x_dot - d.r * (np.cos(theta) * np.sin(phi) * theta_dot + np.sin(theta) * np.cos(phi) * phi_dot)
    second = y_dot + d.r * (np.cos(theta) * np.cos(phi) * theta_dot + np.sin(theta) * np.sin(phi) * phi_dot)
    turning = d.A * (theta_dot**2 + phi_dot**2 * np.cos(theta) ** 2) + d.C * (phi_dot + phi_dot * np.sin(theta)) ** 2
    return float(d.m * (first**2 + second**2) + turning) / 2


@claim(
    "R-ex4.2-energy",
    "T of the disk has -sin(theta) sin(phi) phi_dot, C (psi_dot + phi_dot sin(theta))^2 and the vertical m r^2 sin^2(theta)"
    " theta_dot^2 / 2; the print has a plus, phi_dot for psi_dot, and no vertical part",
    how="library energy less m g r cos(theta) at random velocities, slipping or not, against a rigid body; the printed T"
    " likewise",
)
def disk_energy() -> Corrected:
    right, printed = [], []
    for probe, d, state in disk_states(rolling=False):
        kinetic = d.kinetic(state[:5], state[5:])
        found = probe.blocks(0.0, state).energy - d.m * d.g * d.r * np.cos(state[0])
        right.append(distance(found, kinetic))
        printed.append(distance(_printed_kinetic(d, state[:5], state[5:]), kinetic))
    return Corrected(worst(right), worst(printed))


@claim(
    "R-ex4.2-centre",
    "The centre moves with y_dot + r (cos(theta) cos(phi) theta_dot - sin(theta) sin(phi) phi_dot) along y and -r sin(theta)"
    " theta_dot upwards; the print has a plus in the first and lacks the second",
    how="the library's velocity of the centre against complex steps of the position and these formulas, random states",
)
def disk_centre() -> Corrected:
    system = gallery.load("rolling-disk").system
    theta, psi, phi, x, y = system.coordinates
    radius = next(symbol for symbol in system.parameters if symbol.name == "r")
    expressions = [rate(component) for component in TiltedWheel(theta, psi, phi, (x, y)).axle(radius)]
    right, printed = [], []
    for probe, d, state in disk_states(rolling=False):
        (a, _, c), (a_dot, _, c_dot, _, y_dot) = state[:3], state[5:]
        moved = derivative(d.centre, state[:5]) @ state[5:]
        signs = [y_dot + d.r * (np.cos(a) * np.cos(c) * a_dot + s * np.sin(a) * np.sin(c) * c_dot) for s in (-1, 1)]
        right += [distance(probe.value(expressions, 0.0, state), moved)]
        right.append(distance([signs[0], -d.r * np.sin(a) * a_dot], moved[1:]))
        printed.append(min(distance(signs[1], moved[1]), distance(0.0, moved[2])))
    return Corrected(worst(right), worst(printed))


@claim(
    "R-ex4.2-spin",
    "The disk spins about its axle at psi_dot + phi_dot sin(theta); the print has phi_dot for psi_dot",
    how="the library's momentum of psi by C, and the rotation matrix by complex steps, random states",
)
def disk_spin() -> Corrected:
    right, printed = [], []
    for probe, d, state in disk_states(rolling=False):
        spin = d.axes(state[:5])[2] @ d.twist(state[:5])[0] @ state[5:]
        right += [distance(probe.blocks(0.0, state).momenta[1] / d.C, spin)]
        right.append(distance(state[6] + state[7] * np.sin(state[0]), spin))
        printed.append(distance(state[7] * (1 + np.sin(state[0])), spin))
    return Corrected(worst(right), worst(printed))


@cache
def _printed_probe() -> Probe:
    """The library's equations of the Lagrangian in print, under the same constraints."""
    scenario = gallery.load("rolling-disk")
    system = scenario.system
    theta, _, phi, x, y = system.coordinates
    m, r, g, A, C = (next(s for s in system.parameters if s.name == name) for name in ("m", "r", "g", "A", "C"))
    sin, cos = sympy.sin, sympy.cos
    first = x.dot - r * (cos(theta) * sin(phi) * theta.dot + sin(theta) * cos(phi) * phi.dot)
    second = y.dot + r * (cos(theta) * cos(phi) * theta.dot + sin(theta) * sin(phi) * phi.dot)
    turning = A * (theta.dot**2 + phi.dot**2 * cos(theta) ** 2) + C * (phi.dot + phi.dot * sin(theta)) ** 2
    kinetic = m * (first**2 + second**2) / 2 + turning / 2
    printed = System(
        system.coordinates, kinetic=kinetic, potential=m * g * r * cos(theta), constraints=system.constraints, name="As printed"
    )
    return Probe(derive(printed, "lagrange"), scenario.parameters)


@claim(
    "R-ex4.2-motion",
    "The corrected Lagrangian gives the motion of a rolling rigid body; the printed one does not",
    how="library accelerations of both under the same constraints against Newton's and Euler's balances, random rolling states",
)
def disk_motion() -> Corrected:
    right, printed = [], []
    for probe, d, state in disk_states():
        expected = d.accelerations(state[:5], state[5:])
        wrong = _printed_probe().with_parameters(**probe.parameters)
        angular, linear = (jacobian @ state[5:] for jacobian in d.twist(state[:5]))
        right += [distance(probe.rates(0.0, state)[5:], expected), worst(d.slip(state[:5], state[5:]))]
        right.append(distance(d.angular_velocity(state[:5], state[5:]), angular))
        right.append(distance(d.velocity(state[:5], state[5:]), linear))
        printed.append(distance(wrong.rates(0.0, state)[5:], expected))
    return Corrected(worst(right), worst(printed))


def _disk_symbols(values: dict[str, float]) -> ReductionProbe:
    return ReductionProbe(gallery.load("rolling-disk").system, values, ("theta", "psi", "phi"))


@claim(
    "R-ex4.2-4.6",
    "T_q_dot_alpha A_s^alpha is 0, -m r^2 theta_dot phi_dot cos(theta) and m r^2 theta_dot psi_dot cos(theta)",
    how="library momenta and symbols at random rolling states; the symbols against phi_dot r (sin, -cos)(phi) and psi_dot r"
    " (-sin, cos)(phi)",
)
def disk_conditions() -> float:
    found = []
    for probe, d, state in disk_states():
        table = _disk_symbols(probe.parameters)(0.0, state[:5], state[5:8], probe.rates(0.0, state)[5:8])
        (theta_dot, psi_dot, phi_dot), factor = state[5:8], d.m * d.r**2 * np.cos(state[0])
        side = d.r * np.array([np.sin(state[2]), -np.cos(state[2])])
        expected = np.array([0 * side, phi_dot * side, -psi_dot * side]).T
        printed = [0, -factor * theta_dot * phi_dot, factor * theta_dot * psi_dot]
        found += [distance(table["symbols"], expected), distance(table["momenta"][3:] @ table["symbols"], printed)]
    return worst(found)


# -- motions of the disk -----------------------------------------------------------------------------------------------------


def rolled(form: str, speeds: Sequence[float], chi: Any = None, span: float = 1.0) -> Motion:
    """A library motion of the gallery's disk from theta = 0.3, phi = 0.2 with speeds of theta, psi and phi."""
    scenario = gallery.load("rolling-disk")
    radius = scenario.parameters["r"]
    start = {"theta": 0.3, "psi": 0.0, "phi": 0.2, "x": 0.0, "y": 0.0}
    start |= dict(zip(("theta_dot", "psi_dot", "phi_dot"), speeds, strict=True))
    start |= {"x_dot": -radius * speeds[1] * np.cos(0.2), "y_dot": -radius * speeds[1] * np.sin(0.2)}
    if form == "vakonomic":
        start |= {"chi_rolling_x": chi[0], "chi_rolling_y": chi[1]}
    times = np.linspace(0, span, 9)
    return simulate(derive(scenario.system, form), start, (0, span), parameters=scenario.parameters, rtol=1e-12, at=times)


@cache
def steady_speed(turning: float = 0.9) -> float:
    """The psi_dot at which the gallery's disk rolls with constant tilt, for phi_dot = turning: theta_ddot is affine in it."""
    probe, radius = gallery_probe("rolling-disk", "lagrange"), gallery.load("rolling-disk").parameters["r"]

    def fall(speed: float) -> float:
        ahead = -radius * speed * np.array([np.cos(0.2), np.sin(0.2)])
        return float(probe.rates(0.0, [0.3, 0, 0.2, 0, 0, 0, speed, turning, *ahead])[5])

    return -fall(0.0) / (fall(1.0) - fall(0.0))


@claim(
    "R-ex4.2-steady",
    "Rolling with constant tilt satisfies (4.6) and is a motion of the Lagrange problem, with chi = -T_q_dot_alpha",
    how="library motions of both forms from a steady start: spread of theta, and their distance",
    tolerance=1e-8,
)
def steady_rolling() -> float:
    speeds = (0.0, steady_speed(), 0.9)
    mechanical = rolled("lagrange", speeds)
    chi = [-mechanical["p_x"][0], -mechanical["p_y"][0]]
    extremal = rolled("vakonomic", speeds, chi)
    carried = distance(extremal.y[10:], [-mechanical["p_x"], -mechanical["p_y"]])
    return largest(float(np.ptp(mechanical["theta"])), distance(extremal.y[:10], mechanical.y), carried)


@claim(
    "R-ex4.2-falling",
    "Falling with phi_dot = psi_dot = 0 is a motion of the Lagrange problem for any chi; theta_ddot = m g r sin(theta) /"
    " (A + m r^2)",
    how="library motions of both forms, and library accelerations against the formula",
    tolerance=1e-8,
)
def falling() -> float:
    speeds, v = (0.4, 0.0, 0.0), gallery.load("rolling-disk").parameters
    mechanical, extremal = rolled("lagrange", speeds, span=0.25), rolled("vakonomic", speeds, (0.7, -0.4), span=0.25)
    pull = v["m"] * v["g"] * v["r"] * np.sin(mechanical["theta"]) / (v["A"] + v["m"] * v["r"] ** 2)
    return largest(distance(extremal.y[:10], mechanical.y), distance(mechanical["theta_ddot"], pull))


@claim(
    "R-ex4.2-others",
    "On other motions it is not: (4.5) asks for constants c with m r cos(theta) theta_dot = c_y cos(phi) - c_x sin(phi)",
    how="library momenta along a wobbling motion against m r cos(theta) theta_dot; the best c must miss it, and library"
    " motions of both forms must differ, also for chi = -T_q_dot_alpha",
    tolerance=1e-9,
)
def other_rolling() -> float:
    speeds, v = (0.4, 3.0, 0.7), gallery.load("rolling-disk").parameters
    motion = rolled("lagrange", speeds)
    phi, pull = motion["phi"], v["m"] * v["r"] * np.cos(motion["theta"]) * motion["theta_dot"]
    across = motion["p_y"] * np.cos(phi) - motion["p_x"] * np.sin(phi)
    table = np.array([-np.sin(phi), np.cos(phi)]).T
    misfit = float(np.max(np.abs(table @ np.linalg.lstsq(table, pull, rcond=None)[0] - pull)))
    chosen = ((0.4, -0.3), (-motion["p_x"][0], -motion["p_y"][0]))
    apart = min(np.max(np.abs(rolled("vakonomic", speeds, chi).y[:10] - motion.y)) for chi in chosen)
    return largest(distance(across, pull), excess(1e-3 - misfit), excess(1e-3 - apart))
