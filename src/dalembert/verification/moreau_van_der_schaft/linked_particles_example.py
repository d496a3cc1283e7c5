"""Moreau and van der Schaft, Implicit Lagrangian equations, section IV: two particles with a fixed distance (32 to 39).

The joint Lagrangian is random and couples the particles, L = v^T M(x) v / 2 + m(x)^T v - V(x); it is stated to the library with
the image of three speeds, and once with the row of the same constraint. The independent implementation differentiates by
complex steps. Motions are those of the gallery.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.symmetry.dirac_structures import dirac_residual, dirac_structure
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.constraints import Constraint, image, velocity
from ...model.symbols import coordinates, speeds
from ...model.system import System
from ..independent.random_systems import Wave
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import claim

RANDOM = "random joint Lagrangians at random places"
EVERYWHERE = f"{RANDOM}, some with the particles at one point"
APART = 1e-3


# -- the joint Lagrangian, twice ---------------------------------------------------------------------------------------


@cache
def _sinusoids() -> tuple[Wave, ...]:
    random = np.random.default_rng(33)

    def wave() -> Wave:
        amplitude, phase = (round(float(a), 3) for a in random.uniform(0.2, 0.5, 2))
        return Wave(amplitude, tuple(round(float(a), 3) for a in random.uniform(-1, 1, 4)), 0.0, phase)

    return tuple(wave() for _ in range(10))


def _mass(x: Any) -> list[list[Any]]:
    a, b, c, d, e = (wave(x, 0) for wave in _sinusoids()[:5])
    return [[2 + a, b, c, 0], [b, 2 + d, 0, e], [c, 0, 3 + b, a], [0, e, a, 3 + c]]


def _shift(x: Any) -> list[Any]:
    return [wave(x, 0) for wave in _sinusoids()[5:9]]


def _lagrangian(x: Any, v: Any) -> Any:
    return v @ np.array(_mass(x)) @ v / 2 + np.array(_shift(x)) @ v - 2 * _sinusoids()[9](x, 0)


def _momenta(x: Any, v: Any) -> Any:
    return np.array(_mass(x)) @ v + np.array(_shift(x))


def _hamiltonian(x: Any, p: Any) -> Any:
    rest = p - np.array(_shift(x))
    return rest @ np.linalg.solve(np.array(_mass(x)), rest) / 2 + 2 * _sinusoids()[9](x, 0)


def _frame(x: Any) -> Any:
    """E of the image (4, 3)."""
    zero, one = 0 * x[0], 1 + 0 * x[0]
    return np.array([[one, zero, zero], [zero, one, zero], [one, zero, x[1] - x[3]], [zero, one, x[2] - x[0]]])


def _euler(x: Any, v: Any, z: Any) -> Any:
    """d/dt L_v - L_x along the path with velocity v and acceleration z (4,)."""
    inertia = derivative(lambda w: _momenta(x + w[0] * v, v + w[0] * z), [0.0])[:, 0]
    return inertia - derivative(lambda y: _lagrangian(y, v), x)


@cache
def _stated(constraint: str) -> System:
    """The joint Lagrangian under the "image", the "kernel" of the same constraint, or "none"."""
    x, (u1, u2, u3) = coordinates("x1 x2 x3 x4"), speeds("u1 u2 u3")
    v = sympy.Matrix([q.dot for q in x])
    lagrangian = (v.T * sympy.Matrix(_mass(x)) * v)[0] / 2 + sum(a * w for a, w in zip(_shift(x), v, strict=True))
    velocities = {x[0]: u1, x[1]: u2, x[2]: u1 + (x[1] - x[3]) * u3, x[3]: u2 - (x[0] - x[2]) * u3}
    row = (x[0] - x[2]) * (v[0] - v[2]) + (x[1] - x[3]) * (v[1] - v[3])
    tables: dict[str, list[Constraint]] = {
        "image": [image(velocities, [u1, u2, u3], name="link")],
        "kernel": [velocity(row, name="link")],
        "none": [],
    }
    return System(
        x, lagrangian=lagrangian - 2 * _sinusoids()[9](x, 0), constraints=tables[constraint], name=f"pair, {constraint}"
    )


@cache
def _probe(form: str, constraint: str = "image") -> Probe:
    return Probe(derive(_stated(constraint), form), {})


@dataclass(frozen=True)
class Pair:
    """A place x of the two particles and three speeds u."""

    x: Any
    u: Any

    @property
    def v(self) -> Any:
        """v = E u (4,)."""
        return _frame(self.x) @ self.u

    @property
    def p(self) -> Any:
        """p = L_v (4,)."""
        return _momenta(self.x, self.v)

    @property
    def state(self) -> Any:
        """(x, u)."""
        return np.concatenate([self.x, self.u])

    @property
    def accelerations(self) -> Any:
        """The library's x_ddot in image representation (4,)."""
        return _probe("implicit-lagrangian").observe(0.0, self.state)["accelerations"]


@cache
def _pairs(apart: bool) -> tuple[Pair, ...]:
    random = np.random.default_rng(34)
    drawn = [Pair(random.uniform(-1, 1, 4), random.uniform(-1, 1, 3)) for _ in range(3)]
    return tuple(drawn if apart else [Pair(np.tile(pair.x[:2], 2), pair.u) for pair in drawn])


def _over(residual: Callable[[Pair], float], *, also_together: bool = True) -> float:
    """The worst residual over random places, and over places where the particles coincide."""
    together = _pairs(False) if also_together else ()
    return worst(residual(pair) for pair in (*_pairs(True), *together))


# -- the implicit Lagrangian system ------------------------------------------------------------------------------------


@claim(
    "M-32",
    "With sigma = 1 the fibre velocities are the velocities, x_dot_i = v_i, and p = L_v is the canonical momentum",
    how=f"{EVERYWHERE}: library momenta and energy against L_v and L_v . v - L at v = x_dot, complex steps",
)
def identity_homomorphism() -> float:
    def residual(pair: Pair) -> float:
        blocks = _probe("implicit-lagrangian").blocks(0.0, pair.state)
        momenta = derivative(lambda w: _lagrangian(pair.x, w), blocks.velocities)
        energy = momenta @ blocks.velocities - _lagrangian(pair.x, blocks.velocities)
        return largest(distance(blocks.momenta, momenta), distance(blocks.energy, energy))

    return _over(residual)


@claim(
    "M-33",
    "The fixed distance as an image: both particles move by (u1, u2), and the second turns about the first at the rate u3;"
    " every velocity that keeps the distance is one of them",
    how=f"{RANDOM}: library velocities against E u and in the row of the distance; the rank of E against the row's kernel",
)
def image_representation() -> float:
    def residual(pair: Pair) -> float:
        found = _probe("implicit-lagrangian").blocks(0.0, pair.state).velocities
        row = derivative(lambda y: (y[0] - y[2]) ** 2 + (y[1] - y[3]) ** 2, pair.x)
        missing = 3 - np.linalg.matrix_rank(_frame(pair.x), tol=1e-9)
        return largest(distance(found, pair.v), worst(row @ _frame(pair.x)), row @ found, missing)

    return _over(residual, also_together=False)


def _turned(x: Any, direction: Any) -> Any:
    """The derivative of E along a direction (4, 3)."""
    return derivative(lambda w: _frame(x + w[0] * direction).ravel(), [0.0])[:, 0].reshape(4, 3)


@claim(
    "M-sec4-problem",
    "The motion solves the optimal control problem: the three fields commute, so that the image is involutive and the extremals"
    " are the motions by d'Alembert's principle, whatever part of the costate the image does not see",
    how=f"{RANDOM}: brackets by complex steps; library extremals from random costates against the library's motion in (x, u)",
)
def linked_extremals() -> float:
    def residual(pair: Pair) -> float:
        E = _frame(pair.x)
        turned = [_turned(pair.x, E[:, k]) for k in range(3)]
        brackets = [turned[b][:, a] - turned[a][:, b] for a in range(3) for b in range(3)]
        row = np.array([pair.x[0] - pair.x[2], pair.x[1] - pair.x[3], pair.x[2] - pair.x[0], pair.x[3] - pair.x[1]])
        found = [worst(np.concatenate(brackets))]
        for chi in (0.0, 0.8):
            state = np.concatenate([pair.x, pair.p + chi * row])
            seen = _probe("pontryagin").observe(0.0, state)
            found += [distance(seen["velocities"], pair.v), distance(seen["accelerations"], pair.accelerations)]
        return worst(found)

    return _over(residual, also_together=False)


@claim(
    "M-34",
    "v = (u1, u2, u1 + (x2 - x4) u3, u2 - (x1 - x3) u3)",
    how=f"{EVERYWHERE}: library velocities against the formula",
)
def fibre_velocities() -> float:
    def residual(pair: Pair) -> float:
        (x1, x2, x3, x4), (u1, u2, u3) = pair.x, pair.u
        printed = [u1, u2, u1 + (x2 - x4) * u3, u2 - (x1 - x3) * u3]
        return distance(_probe("implicit-lagrangian").blocks(0.0, pair.state).velocities, printed)

    return _over(residual)


@claim(
    "M-35",
    "x3_dot - x1_dot = (x2 - x4) u3 and x4_dot - x2_dot = -(x1 - x3) u3: the distance stays",
    how="the gallery's linked particles: distance along a library motion; relative velocity against the rate of the link's"
    " angle",
    tolerance=1e-9,
)
def relative_velocity() -> float:
    motion = simulate(gallery.load("linked-particles"), rtol=1e-11)
    across = [motion["x3"] - motion["x1"], motion["x4"] - motion["x2"]]
    rates = [motion["x3_dot"] - motion["x1_dot"], motion["x4_dot"] - motion["x2_dot"]]
    return largest(
        float(np.ptp(across[0] ** 2 + across[1] ** 2)),
        worst(rates[0] + across[1] * motion["u3"]),
        worst(rates[1] - across[0] * motion["u3"]),
    )


@claim(
    "M-36",
    "The Euler expressions of both particles add up to zero, and their moment about the link vanishes",
    how=f"{EVERYWHERE}: complex steps of L along the library's accelerations, in the three printed combinations",
)
def implicit_lagrangian_system() -> float:
    def residual(pair: Pair) -> float:
        e = _euler(pair.x, pair.v, pair.accelerations)
        x1, x2, x3, x4 = pair.x
        return worst([e[0] + e[2], e[1] + e[3], (x2 - x4) * e[2] - (x1 - x3) * e[3]])

    return _over(residual)


# -- the implicit Hamiltonian system -----------------------------------------------------------------------------------


def _canonical_rates(pair: Pair) -> tuple[Any, Any]:
    """x_dot and the rate of p = L_v along the library's rates in the form "implicit-hamiltonian" (4,) each."""
    rates = _probe("implicit-hamiltonian").rates(0.0, pair.state)

    def momenta(w: Any) -> Any:
        x = pair.x + w[0] * rates[:4]
        return _momenta(x, _frame(x) @ (pair.u + w[0] * rates[4:]))

    return rates[:4], derivative(momenta, [0.0])[:, 0]


def _derivatives(pair: Pair) -> tuple[Any, Any]:
    """H_x and H_p by complex steps (4,) each."""
    by_place = derivative(lambda y: _hamiltonian(y, pair.p), pair.x)
    return by_place, derivative(lambda y: _hamiltonian(pair.x, y), pair.p)


@claim(
    "M-37",
    "x_dot_i = H_p_i for all four coordinates",
    how=f"{EVERYWHERE}: library rates of x in Hamiltonian form against complex steps of H",
)
def hamiltonian_velocities() -> float:
    return _over(lambda pair: distance(_canonical_rates(pair)[0], _derivatives(pair)[1]))


@claim(
    "M-38",
    "x3_dot - x1_dot = (x2 - x4) u3 and x4_dot - x2_dot = -(x1 - x3) u3 in the Hamiltonian description too",
    how=f"{EVERYWHERE}: library rates of x in Hamiltonian form against E u",
)
def hamiltonian_image() -> float:
    def residual(pair: Pair) -> float:
        rate, (x1, x2, x3, x4) = _canonical_rates(pair)[0], pair.x
        printed = [(x2 - x4) * pair.u[2], -(x1 - x3) * pair.u[2]]
        return distance([rate[2] - rate[0], rate[3] - rate[1]], printed)

    return _over(residual)


@claim(
    "M-39",
    "p_dot + H_x of both particles add up to zero, and their moment about the link vanishes",
    how=f"{EVERYWHERE}: library rates of p with complex steps of H, in the three printed combinations",
)
def implicit_hamiltonian_system() -> float:
    def residual(pair: Pair) -> float:
        e = _canonical_rates(pair)[1] + _derivatives(pair)[0]
        x1, x2, x3, x4 = pair.x
        return worst([e[0] + e[2], e[1] + e[3], (x2 - x4) * e[2] - (x1 - x3) * e[3]])

    return _over(residual)


@claim(
    "M-sec4-hamiltonian",
    "H(x, p) = p . v - L",
    how=f"{EVERYWHERE}: the library's energy in Hamiltonian form against H in closed form and against p . v - L",
)
def hamiltonian_of_the_pair() -> float:
    def residual(pair: Pair) -> float:
        energy = _probe("implicit-hamiltonian").blocks(0.0, pair.state).energy
        by_legendre = pair.p @ pair.v - _lagrangian(pair.x, pair.v)
        return largest(distance(energy, _hamiltonian(pair.x, pair.p)), distance(energy, by_legendre))

    return _over(residual)


@claim(
    "M-sec4-unconstrained",
    "Tied and free particles have the same state space and the same energy; only the Dirac structure differs",
    how=f"{RANDOM}: library structures of both systems at one state, with the library's rates of each in its own, and those of"
    " the tied particles in the other",
)
def only_the_structure_differs() -> float:
    def residual(pair: Pair) -> float:
        at = dict(zip(["x1", "x2", "x3", "x4", "p_x1", "p_x2", "p_x3", "p_x4"], (*pair.x, *pair.p), strict=True))
        tied, free = (dirac_structure(_stated(name), at) for name in ("image", "none"))
        effort = np.concatenate(_derivatives(pair))
        moved = np.concatenate(_canonical_rates(pair))
        unmoved = _probe("hamilton", "none").rates(0.0, np.concatenate([pair.x, pair.p]))
        return largest(
            tied.residual(moved, effort),
            free.residual(unmoved, effort),
            float(tied.labels != free.labels),
            excess(APART - float(free.residual(moved, effort))),
        )

    return _over(residual, also_together=False)


# -- image and kernel --------------------------------------------------------------------------------------------------


@claim(
    "M-sec4-kernel",
    "Where the particles are apart the kernel (x1 - x3)(x1_dot - x3_dot) + (x2 - x4)(x2_dot - x4_dot) = 0 gives the same"
    " motion",
    how=f"{RANDOM}: library accelerations with the row against those with the image",
)
def kernel_representation() -> float:
    def residual(pair: Pair) -> float:
        by_row = _probe("lagrange", "kernel").rates(0.0, np.concatenate([pair.x, pair.v]))[4:]
        return distance(by_row, pair.accelerations)

    return _over(residual, also_together=False)


@claim(
    "M-sec4-zero",
    "At zero distance the image still says x1_dot = x3_dot and x2_dot = x4_dot, and the particles move on as one; the kernel's"
    " row vanishes there and says nothing: by it each would follow its own forces",
    how=f"{RANDOM} with the particles at one point: library velocities and accelerations, and the library's row, free"
    " accelerations against the kernel's; the dimension of the library's Dirac structure stays 8",
)
def zero_distance() -> float:
    def residual(pair: Pair) -> float:
        v, z = _probe("implicit-lagrangian").blocks(0.0, pair.state).velocities, pair.accelerations
        state = np.concatenate([pair.x, pair.v])
        row = _probe("lagrange", "kernel").blocks(0.0, state).A
        free = np.linalg.solve(np.array(_mass(pair.x)), -_euler(pair.x, pair.v, np.zeros(4)))
        at = dict(zip(["x1", "x2", "x3", "x4"], pair.x, strict=True)) | {f"u{k + 1}": pair.u[k] for k in range(3)}
        structure = dirac_structure(_stated("image"), at)
        return largest(
            distance(v[2:], v[:2]),
            distance(z[2:], z[:2]),
            worst(row.ravel()),
            distance(_probe("lagrange", "none").rates(0.0, state)[4:], free),
            excess(APART - distance(free[2:], free[:2])),
            structure.dimension - 8,
            structure.admissible_flows.shape[1] - 6,
        )

    return worst(residual(pair) for pair in _pairs(False))


@claim(
    "M-sec4-zero-motion",
    "Two particles at one point on different springs move as one particle with the sum of both: harmonically",
    how="the gallery's linked particles at zero distance: library motion over five seconds against the closed form",
    tolerance=1e-8,
)
def motion_at_zero_distance() -> float:
    scenario = gallery.load("linked-particles-zero-distance")
    motion, c, start = simulate(scenario, rtol=1e-11), scenario.parameters, scenario.start
    rate = np.sqrt((c["k1"] + c["k2"]) / (c["m1"] + c["m2"]))
    found = []
    for first, second, speed, rest in (("x1", "x3", "u1", 0.0), ("x2", "x4", "u2", -c["g"] / rate**2)):
        exact = rest + (start[first] - rest) * np.cos(rate * motion.t) + start[speed] / rate * np.sin(rate * motion.t)
        found += [distance(motion[first], exact), distance(motion[second], exact)]
    return worst([*found, *dirac_residual(motion)])
