"""Moreau and van der Schaft, Implicit Lagrangian equations: Legendre's map and a homomorphism v = sigma x_dot (15 to 26).

Random systems of `image_systems`, and the rigid body, whose fibre velocity is the angular velocity in the body. The library
gives the forms "implicit-lagrangian" and "implicit-hamiltonian"; the independent implementation differentiates by complex
steps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy

from ...formulations.registry import derive
from ...model.symbols import coordinates, parameters, speeds
from ...model.system import System
from ..independent.image_systems import FIBRE, SIZE, Spot, kernel_system, over_spots, spots
from ..numeric import Probe, derivative, distance, excess, largest, null_space, worst
from ..row_registry import claim
from .costate_elimination import turning_of_fields
from .pontryagin_extremals import EVERY, RANDOM, lagrangian_state, probe

INVOLUTIVE = "a random involutive image with structure functions"


def accelerations(s: Spot) -> Any:
    """The library's x_ddot in image representation (n,)."""
    return probe(s.twin.kind, "implicit-lagrangian").observe(0.0, lagrangian_state(s))["accelerations"]


def canonical_rates(s: Spot) -> tuple[Any, Any]:
    """x_dot (n,) and the rate of p = L_v (3,) along the library's rates in the form "implicit-hamiltonian"."""
    rates = probe(s.twin.kind, "implicit-hamiltonian").rates(0.0, lagrangian_state(s))

    def momenta(w: Any) -> Any:
        x = s.x + w[0] * rates[:SIZE]
        return s.twin.momenta(x, s.twin.fibre_frame(x) @ (s.u + w[0] * rates[SIZE:]))

    return rates[:SIZE], derivative(momenta, [0.0])[:, 0]


def fibre_rate(s: Spot) -> Any:
    """The rate of v = sigma x_dot along the library's motion (3,)."""
    z = accelerations(s)
    return derivative(lambda w: s.twin.sigma(s.x + w[0] * s.rate) @ (s.rate + w[0] * z), [0.0])[:, 0]


def _turning(s: Spot) -> Any:
    """(d sigma_mj/dx_i - d sigma_mi/dx_j) x_dot_j, (3, n) over m and i."""
    derivatives = derivative(lambda y: s.twin.sigma(y).ravel(), s.x).reshape(FIBRE, SIZE, SIZE)  # m, column, direction
    return np.einsum("mji,j->mi", derivatives, s.rate) - np.einsum("mij,j->mi", derivatives, s.rate)


def energy_derivatives(s: Spot) -> tuple[Any, Any]:
    """H_x (n,) and H_p (3,) by complex steps."""
    by_place = derivative(lambda y: s.twin.hamiltonian(y, s.p), s.x)
    return by_place, derivative(lambda y: s.twin.hamiltonian(s.x, y), s.p)


# -- Legendre's map ----------------------------------------------------------------------------------------------------


@claim(
    "M-15",
    "p_m = L_v_m",
    how=f"{RANDOM}: the library's momenta of x in Hamiltonian form against sigma^T L_v, complex steps",
)
def fibre_momenta() -> float:
    def residual(s: Spot) -> float:
        p = derivative(lambda w: s.twin.lagrangian(s.x, w), s.v)
        blocks = probe(s.twin.kind, "implicit-hamiltonian").blocks(0.0, lagrangian_state(s))
        return largest(distance(s.twin.sigma(s.x) @ blocks.velocities, s.v), distance(blocks.momenta, s.twin.sigma(s.x).T @ p))

    return over_spots(residual, *EVERY)


@claim(
    "M-16",
    "x_dot = E_a u_a in the symbols (x, p, u)",
    how=f"{INVOLUTIVE}: library rates of x in Hamiltonian form against E u",
)
def image_by_momenta() -> float:
    return over_spots(lambda s: distance(canonical_rates(s)[0], s.rate), "flat")


@claim(
    "M-17",
    "F_a p_dot + E_a H_x = p {F_d c_bad + E_a dF_b - E_b dF_a} u_b",
    how=f"{INVOLUTIVE}: library rates of p, complex steps of H, E and F",
)
def equations_by_momenta() -> float:
    def residual(s: Spot) -> float:
        F, (table, _) = s.twin.fibre_frame(s.x), s.twin.structure(s.x)
        left = canonical_rates(s)[1] @ F + energy_derivatives(s)[0] @ s.twin.frame(s.x)
        bent = np.einsum("b,bad,md->ma", s.u, table, F)
        return distance(left, s.p @ (bent + turning_of_fields(s, s.u)))

    return over_spots(residual, "flat")


@claim(
    "M-18",
    "H_p = F_a u_a, with H = p . v - L at v(x, p)",
    how=f"{INVOLUTIVE}: the library's energy in Hamiltonian form against p . v - L, complex steps of H against F u, library"
    " velocities",
)
def velocities_by_momenta() -> float:
    def residual(s: Spot) -> float:
        blocks = probe(s.twin.kind, "implicit-hamiltonian").blocks(0.0, lagrangian_state(s))
        by_legendre = s.p @ s.v - s.twin.lagrangian(s.x, s.v)
        return largest(
            distance(blocks.energy, by_legendre),
            distance(energy_derivatives(s)[1], s.v),
            distance(s.twin.sigma(s.x) @ blocks.velocities, s.v),
        )

    return over_spots(residual, "flat")


# -- a homomorphism ----------------------------------------------------------------------------------------------------


@claim(
    "M-19",
    "A homomorphism sigma from TX to the bundle gives v = sigma(x) x_dot",
    how=f"{RANDOM}: the library's bundle velocities at (x, u) against sigma E u",
)
def homomorphism() -> float:
    def residual(s: Spot) -> float:
        bundle = list(s.twin.system.bundle.values())
        return distance(probe(s.twin.kind, "implicit-lagrangian").value(bundle, 0.0, lagrangian_state(s)), s.v)

    return over_spots(residual, *EVERY)


@claim(
    "M-20",
    "F_a = sigma E_a",
    how=f"{RANDOM}: the library's bundle velocities for one speed at a time against the columns of sigma E",
)
def fibre_fields() -> float:
    def residual(s: Spot) -> float:
        bundle, k = list(s.twin.system.bundle.values()), len(s.u)
        states = [np.concatenate([s.x, np.eye(k)[a]]) for a in range(k)]
        found = np.stack([probe(s.twin.kind, "implicit-lagrangian").value(bundle, 0.0, state) for state in states], axis=1)
        return distance(found, s.twin.fibre_frame(s.x))

    return over_spots(residual, *EVERY)


# -- Lagrangian equations ----------------------------------------------------------------------------------------------


@claim(
    "M-21",
    "x_dot = E_a u_a, whatever u is; where the fields depend on each other u is not unique, but the motion is",
    how=f"{RANDOM}: the library's velocities and accelerations; with a null vector of E added to u they stay",
)
def image_with_homomorphism() -> float:
    def residual(s: Spot) -> float:
        context = probe(s.twin.kind, "implicit-lagrangian")
        found = context.observe(0.0, lagrangian_state(s))
        gaps = [distance(found["velocities"], s.rate)]
        for direction in null_space(s.twin.frame(s.x)).T:
            other = context.observe(0.0, np.concatenate([s.x, s.u + 0.7 * direction]))
            gaps += [distance(other["velocities"], s.rate), distance(other["accelerations"], found["accelerations"])]
        return worst(gaps)

    rank = [null_space(s.twin.frame(s.x)).shape[1] for s in spots("crowded")]
    return largest(over_spots(residual, *EVERY), excess(1.0 - min(rank)))


@claim(
    "M-22",
    "E_a {sigma^T d/dt L_v - L_x} = E_ai L_v {d sigma_mj/dx_i - d sigma_mi/dx_j} x_dot_j",
    how=f"{RANDOM}: both sides by complex steps along the library's accelerations",
)
def implicit_lagrangian_equations() -> float:
    def residual(s: Spot) -> float:
        twin, v_dot = s.twin, fibre_rate(s)
        p_dot = derivative(lambda w: twin.momenta(s.x + w[0] * s.rate, s.v + w[0] * v_dot), [0.0])[:, 0]
        by_place = derivative(lambda y: twin.lagrangian(y, s.v), s.x)
        left = (p_dot @ twin.sigma(s.x) - by_place) @ twin.frame(s.x)
        return distance(left, s.p @ _turning(s) @ twin.frame(s.x))

    return over_spots(residual, *EVERY)


@claim(
    "M-23",
    "With v = sigma x_dot these are d'Alembert's equations of L(x, sigma x_dot) on any image, involutive or not",
    how=f"{RANDOM}: library accelerations with the image against its Lagrange's equations with the same constraint as rows, and"
    " against complex steps of L(x, sigma x_dot)",
)
def dalembert_on_any_image() -> float:
    def residual(s: Spot) -> float:
        z = accelerations(s)
        by_rows = _kernel_probe(s.twin.kind).rates(0.0, np.concatenate([s.x, s.rate]))[SIZE:]
        return largest(distance(z, by_rows), distance(z, s.twin.dalembert(s.x, s.u)))

    return over_spots(residual, *EVERY)


@cache
def _kernel_probe(kind: str) -> Probe:
    return Probe(derive(kernel_system(kind), "lagrange"), {})


# -- Hamiltonian equations ---------------------------------------------------------------------------------------------


@claim(
    "M-24",
    "x_dot = E_a u_a in the Hamiltonian description: x_dot lies in the image there too",
    how=f"{RANDOM}: library rates of x in Hamiltonian form against E u",
)
def hamiltonian_image() -> float:
    return over_spots(lambda s: distance(canonical_rates(s)[0], s.rate), *EVERY)


@claim(
    "M-25",
    "E_a {sigma^T p_dot + H_x} = E_ai p_m {d sigma_mj/dx_i - d sigma_mi/dx_j} x_dot_j",
    how=f"{RANDOM}: library rates of p, complex steps of H and sigma",
)
def implicit_hamiltonian_equations() -> float:
    def residual(s: Spot) -> float:
        E, sigma = s.twin.frame(s.x), s.twin.sigma(s.x)
        left = (canonical_rates(s)[1] @ sigma + energy_derivatives(s)[0]) @ E
        return distance(left, s.p @ _turning(s) @ E)

    return over_spots(residual, *EVERY)


@claim(
    "M-26",
    "H_p = sigma x_dot, and it stays so along the motion",
    how=f"{RANDOM}: library rates of x against complex steps of H; the rate of H_p - sigma x_dot with the library's p_dot",
)
def hamiltonian_velocities() -> float:
    def residual(s: Spot) -> float:
        rate, p_dot = canonical_rates(s)
        turned = derivative(lambda w: s.twin.fibre_velocity(s.x + w[0] * rate, s.p + w[0] * p_dot), [0.0])[:, 0]
        return largest(distance(s.twin.sigma(s.x) @ rate, energy_derivatives(s)[1]), distance(turned, fibre_rate(s)))

    return over_spots(residual, *EVERY)


# -- the rigid body ----------------------------------------------------------------------------------------------------


def _angular_velocity(q: Any, rate: Any) -> list[Any]:
    """The angular velocity in the body for Euler's angles (phi, theta, psi), in symbols or in numbers."""
    sine, cosine = (sympy.sin, sympy.cos) if isinstance(q[1], sympy.Expr) else (np.sin, np.cos)
    s, c, sp, cp = sine(q[1]), cosine(q[1]), sine(q[2]), cosine(q[2])
    return [rate[0] * s * sp + rate[1] * cp, rate[0] * s * cp - rate[1] * sp, rate[0] * c + rate[2]]


@cache
def _body() -> Probe:
    """A free rigid body by its angular velocity, with every direction allowed."""
    q, w, inertia = coordinates("phi theta psi"), speeds("w1 w2 w3"), parameters("I1 I2 I3", positive=True)
    bundle = dict(zip(w, _angular_velocity(q, [x.dot for x in q]), strict=True))
    lagrangian = sum(a * v**2 for a, v in zip(inertia, w, strict=True)) / 2
    system = System(q, lagrangian=lagrangian, bundle=bundle, name="rigid body")
    return Probe(derive(system, "implicit-hamiltonian"), {"I1": 1.3, "I2": 2.1, "I3": 0.8})


def _turned(q: Any, rate: Any, second: Any) -> Any:
    """The rate of the angular velocity along a path with this velocity and acceleration (3,)."""
    return derivative(lambda w: np.array(_angular_velocity(q + w[0] * rate, rate + w[0] * second)), [0.0])[:, 0]


@claim(
    "M-sec3-body",
    "With every direction allowed and the angular velocity in the body as fibre velocity these are Euler's equations",
    how="a rigid body by Euler's angles: library rates of p = I w at random attitudes against p x w",
)
def rigid_body() -> float:
    random, inertia, found = np.random.default_rng(23), np.array([1.3, 2.1, 0.8]), []
    for _ in range(4):
        q, rate = random.uniform(0.4, 1.4, 3), random.uniform(-1, 1, 3)
        w = np.array(_angular_velocity(q, rate))
        rates = _body().rates(0.0, np.concatenate([q, rate]))
        p_dot = inertia * _turned(q, rate, rates[3:])
        found += [distance(rates[:3], rate), distance(p_dot, np.cross(inertia * w, w))]
    return worst(found)
