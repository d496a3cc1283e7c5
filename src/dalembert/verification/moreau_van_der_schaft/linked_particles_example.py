"""Moreau and van der Schaft, section IV: two particles with a fixed distance (eqs. 32 to 39).

The joint Lagrangian is random and couples the particles, L = v^T M(x) v / 2 + m(x)^T v - V(x); it
is stated to the library with the image of three speeds, and once with the row of the same
constraint. The independent implementation differentiates by complex steps. Motions are those of the
gallery.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import sympy

from ... import gallery
from ...analysis.symmetry.dirac_structures import dirac_residual, dirac_structure
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.constraints import Constraint, image, velocity
from ...model.symbols import coordinates, speeds
from ...model.system import System
from ...typing import Array
from ..independent.random_systems import Sinusoid, draw_sinusoids
from ..numeric import Probe, Residual, Residuals, StateBlocks, derivative, distance, excess
from ..row_registry import listed
from ..samples import Generator, Sampler, sampler

APART = 1e-3
PLACES = ("x1", "x2", "x3", "x4")


# -- the joint Lagrangian, twice -------------------------------------------------------------------


@cache
def _sinusoids() -> tuple[Sinusoid, ...]:
    return draw_sinusoids(np.random.default_rng(33), 10, 4, 0.2, 0.5)


def _mass(x: Sequence[Any] | Array) -> list[list[Any]]:
    a, b, c, d, e = (f(x, 0) for f in _sinusoids()[:5])
    return [[2 + a, b, c, 0], [b, 2 + d, 0, e], [c, 0, 3 + b, a], [0, e, a, 3 + c]]


def _shift(x: Sequence[Any] | Array) -> list[Any]:
    return [f(x, 0) for f in _sinusoids()[5:9]]


def _potential(x: Sequence[Any] | Array) -> Any:
    return 2 * _sinusoids()[9](x, 0)


def _lagrangian(x: Array, v: Array) -> Any:
    return v @ np.array(_mass(x)) @ v / 2 + np.array(_shift(x)) @ v - _potential(x)


def _momenta(x: Array, v: Array) -> Any:
    return np.array(_mass(x)) @ v + np.array(_shift(x))


def _hamiltonian(x: Array, p: Array) -> Any:
    rest = p - np.array(_shift(x))
    return rest @ np.linalg.solve(np.array(_mass(x)), rest) / 2 + _potential(x)


def _frame(x: Array) -> Array:
    """E of the image (4, 3)."""
    zero, one = 0 * x[0], 1 + 0 * x[0]
    return np.array(
        [[one, zero, zero], [zero, one, zero], [one, zero, x[1] - x[3]], [zero, one, x[2] - x[0]]]
    )


def _euler(x: Array, v: Array, z: Array) -> Any:
    """d/dt L_v - L_x along the path with velocity v and acceleration z (4,)."""
    inertia = derivative(lambda w: _momenta(x + w[0] * v, v + w[0] * z), [0.0])[:, 0]
    return inertia - derivative(lambda y: _lagrangian(y, v), x)


@cache
def _stated(constraint: str) -> System:
    """The joint Lagrangian under the "image", the "kernel" of the same constraint, or "none"."""
    x, (u1, u2, u3) = coordinates("x1 x2 x3 x4"), speeds("u1 u2 u3")
    v = sympy.Matrix([q.dot for q in x])
    linear = sum(a * w for a, w in zip(_shift(x), v, strict=True))
    lagrangian = (v.T * sympy.Matrix(_mass(x)) * v)[0] / 2 + linear - _potential(x)
    velocities = {x[0]: u1, x[1]: u2, x[2]: u1 + (x[1] - x[3]) * u3, x[3]: u2 - (x[0] - x[2]) * u3}
    row = (x[0] - x[2]) * (v[0] - v[2]) + (x[1] - x[3]) * (v[1] - v[3])
    imposed: dict[str, list[Constraint]] = {
        "image": [image(velocities, [u1, u2, u3], name="link")],
        "kernel": [velocity(row, name="link")],
        "none": [],
    }
    name = f"pair, {constraint}"
    return System(x, lagrangian=lagrangian, constraints=imposed[constraint], name=name)


@cache
def _probe(form: str, constraint: str = "image") -> Probe:
    return Probe(derive(_stated(constraint), form), {})


class LinkedSample(NamedTuple):
    """A place x of the two particles and three speeds u."""

    x: Array
    u: Array

    @property
    def v(self) -> Array:
        """v = E u (4,)."""
        return _frame(self.x) @ self.u

    @property
    def p(self) -> Any:
        """p = L_v (4,)."""
        return _momenta(self.x, self.v)

    @property
    def state(self) -> Array:
        """(x, u)."""
        return np.concatenate([self.x, self.u])

    @property
    def hamiltonian_state(self) -> Array:
        """(x, p, u)."""
        return np.concatenate([self.x, self.p, self.u])

    def blocks(self, form: str = "implicit-lagrangian") -> StateBlocks:
        """The library's blocks of an implicit form."""
        by_momenta = form == "implicit-hamiltonian"
        return _probe(form).blocks(0.0, self.hamiltonian_state if by_momenta else self.state)

    @property
    def accelerations(self) -> Any:
        """The library's x_ddot in image representation (4,)."""
        return _probe("implicit-lagrangian").observe(0.0, self.state)["accelerations"]

    @property
    def arms(self) -> tuple[float, float]:
        """x2 - x4 and x1 - x3."""
        return self.x[1] - self.x[3], self.x[0] - self.x[2]

    def combinations(self, e: Array) -> Residual:
        """The sums of both particles' components, and the moment about the link."""
        down, across = self.arms
        return e[0] + e[2], e[1] + e[3], down * e[2] - across * e[3]


@sampler(seed=34)
def apart(_: str, random: Generator) -> LinkedSample:
    return LinkedSample(random.uniform(-1, 1, 4), random.uniform(-1, 1, 3))


together = apart.map(lambda s: LinkedSample(np.tile(s.x[:2], 2), s.u))
everywhere = Sampler(lambda _: [*apart, *together], keep=False)


# -- the implicit Lagrangian system ----------------------------------------------------------------


@listed("M-32", over=everywhere)
def identity_homomorphism(s: LinkedSample) -> Residual:
    blocks = s.blocks()
    momenta = derivative(lambda w: _lagrangian(s.x, w), blocks.velocities)
    energy = momenta @ blocks.velocities - _lagrangian(s.x, blocks.velocities)
    return distance(blocks.momenta, momenta), distance(blocks.energy, energy)


@listed("M-33", over=apart)
def image_representation(s: LinkedSample) -> Residual:
    found, E = s.blocks().velocities, _frame(s.x)
    row = derivative(lambda y: (y[0] - y[2]) ** 2 + (y[1] - y[3]) ** 2, s.x)
    missing = float(3 - np.linalg.matrix_rank(E, tol=1e-9))
    return distance(found, s.v), row @ E, row @ found, missing


def _turned(x: Array, direction: Array) -> Array:
    """The derivative of E along a direction (4, 3)."""
    return derivative(lambda w: _frame(x + w[0] * direction).ravel(), [0.0])[:, 0].reshape(4, 3)


@listed("M-sec4-problem", over=apart)
def linked_extremals(s: LinkedSample) -> Residuals:
    turned = [_turned(s.x, direction) for direction in _frame(s.x).T]
    yield [turned[b][:, a] - turned[a][:, b] for a in range(3) for b in range(3)]
    row = np.concatenate([s.x[:2] - s.x[2:], s.x[2:] - s.x[:2]])
    for chi in (0.0, 0.8):
        state = np.concatenate([s.x, s.p + chi * row])
        values = _probe("pontryagin").observe(0.0, state)
        yield distance(values["velocities"], s.v)
        yield distance(values["accelerations"], s.accelerations)


@listed("M-34", over=everywhere)
def fibre_velocities(s: LinkedSample) -> Residual:
    (down, across), (u1, u2, u3) = s.arms, s.u
    return distance(s.blocks().velocities, [u1, u2, u1 + down * u3, u2 - across * u3])


@listed("M-35")
def relative_velocity() -> Residual:
    motion = simulate(gallery.load("linked-particles"), rtol=1e-11)
    across = [motion["x3"] - motion["x1"], motion["x4"] - motion["x2"]]
    rates = [motion["x3_dot"] - motion["x1_dot"], motion["x4_dot"] - motion["x2_dot"]]
    turning = rates[0] + across[1] * motion["u3"], rates[1] - across[0] * motion["u3"]
    return float(np.ptp(across[0] ** 2 + across[1] ** 2)), turning


listed("M-36", over=everywhere)(lambda s: s.combinations(_euler(s.x, s.v, s.accelerations)))


# -- the implicit Hamiltonian system ---------------------------------------------------------------


def _canonical_rates(s: LinkedSample) -> tuple[Array, Array]:
    """x_dot and p_dot, the library's rates in Hamiltonian form (4,) each."""
    rates = _probe("implicit-hamiltonian").rates(0.0, s.hamiltonian_state)
    return rates[:4], rates[4:8]


def _derivatives(s: LinkedSample) -> tuple[Array, Array]:
    """H_x and H_p by complex steps (4,) each."""
    by_place = derivative(lambda y: _hamiltonian(y, s.p), s.x)
    return by_place, derivative(lambda y: _hamiltonian(s.x, y), s.p)


listed("M-37", over=everywhere)(lambda s: distance(_canonical_rates(s)[0], _derivatives(s)[1]))


@listed("M-38", over=everywhere)
def hamiltonian_image(s: LinkedSample) -> Residual:
    rate, (down, across) = _canonical_rates(s)[0], s.arms
    return distance(rate[2:] - rate[:2], [down * s.u[2], -across * s.u[2]])


listed("M-39", over=everywhere)(
    lambda s: s.combinations(_canonical_rates(s)[1] + _derivatives(s)[0])
)


@listed("M-sec4-hamiltonian", over=everywhere)
def hamiltonian_of_the_pair(s: LinkedSample) -> Residual:
    energy = s.blocks("implicit-hamiltonian").energy
    by_legendre = s.p @ s.v - _lagrangian(s.x, s.v)
    return distance(energy, _hamiltonian(s.x, s.p)), distance(energy, by_legendre)


@listed("M-sec4-unconstrained", over=apart)
def only_the_structure_differs(s: LinkedSample) -> Residual:
    names = [*PLACES, *(f"p_{name}" for name in PLACES)]
    at = dict(zip(names, (*s.x, *s.p), strict=True))
    tied, free = (dirac_structure(_stated(name), at) for name in ("image", "none"))
    effort, moved = np.concatenate(_derivatives(s)), np.concatenate(_canonical_rates(s))
    unmoved = _probe("hamilton", "none").rates(0.0, np.concatenate([s.x, s.p]))
    return (
        tied.residual(moved, effort),
        free.residual(unmoved, effort),
        float(tied.labels != free.labels),
        excess(APART - float(free.residual(moved, effort))),
    )


# -- image and kernel ------------------------------------------------------------------------------


@listed("M-sec4-kernel", over=apart)
def kernel_representation(s: LinkedSample) -> Residual:
    by_row = _probe("lagrange", "kernel").rates(0.0, np.concatenate([s.x, s.v]))[4:]
    return distance(by_row, s.accelerations)


@listed("M-sec4-zero", over=together)
def zero_distance(s: LinkedSample) -> Residual:
    v, z, state = s.blocks().velocities, s.accelerations, np.concatenate([s.x, s.v])
    free = np.linalg.solve(np.array(_mass(s.x)), -_euler(s.x, s.v, np.zeros(4)))
    at = dict(zip((*PLACES, "u1", "u2", "u3"), s.state, strict=True))
    structure = dirac_structure(_stated("image"), at)
    dimensions = structure.dimension - 8, structure.admissible_flows.shape[1] - 6
    return (
        distance(v[2:], v[:2]),
        distance(z[2:], z[:2]),
        _probe("lagrange", "kernel").blocks(0.0, state).A,
        distance(_probe("lagrange", "none").rates(0.0, state)[4:], free),
        excess(APART - distance(free[2:], free[:2])),
        dimensions,
    )


@listed("M-sec4-zero-motion")
def motion_at_zero_distance() -> Residual:
    scenario = gallery.load("linked-particles-zero-distance")
    motion, c, start = simulate(scenario, rtol=1e-11), scenario.parameters, scenario.start
    rate = np.sqrt((c["k1"] + c["k2"]) / (c["m1"] + c["m2"]))
    found = []
    for first, second, speed, rest in (
        ("x1", "x3", "u1", 0.0),
        ("x2", "x4", "u2", -c["g"] / rate**2),
    ):
        swing = (start[first] - rest) * np.cos(rate * motion.t)
        exact = rest + swing + start[speed] / rate * np.sin(rate * motion.t)
        found += [distance(motion[first], exact), distance(motion[second], exact)]
    return found, dirac_residual(motion)
