"""Moreau and van der Schaft: Legendre's map and a homomorphism v = sigma x_dot (eqs. 15 to 26).

Random systems of `image_systems`, and the rigid body, whose fibre velocity is the angular velocity
in the body. The library gives the forms "implicit-lagrangian" and "implicit-hamiltonian"; the
independent implementation differentiates by complex steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...formulations.registry import derive
from ...model.symbols import coordinates, parameters, speeds
from ...model.system import System
from ...typing import Array
from ..independent.image_systems import FIBRE, SIZE, ImageSample, kernel_system, samples
from ..numeric import Probe, Residual, derivative, distance, excess, null_space
from ..row_registry import listed
from .costate_elimination import flat, turning_of_fields
from .pontryagin_extremals import (
    REGULAR,
    blocks_of,
    every,
    hamiltonian_state,
    lagrangian_state,
    probe,
)

HAMILTONIAN = "implicit-hamiltonian"


def accelerations(s: ImageSample) -> Any:
    """The library's x_ddot in image representation (n,)."""
    context = probe(s.model.kind, "implicit-lagrangian")
    return context.observe(0.0, lagrangian_state(s))["accelerations"]


def canonical_rates(s: ImageSample) -> tuple[Array, Array]:
    """x_dot (n,) and p_dot (3,), the library's rates in Hamiltonian form."""
    rates = probe(s.model.kind, HAMILTONIAN).rates(0.0, hamiltonian_state(s))
    return rates[:SIZE], rates[SIZE : SIZE + FIBRE]


def fibre_rate(s: ImageSample) -> Array:
    """The rate of v = sigma x_dot along the library's motion (3,)."""
    z = accelerations(s)
    along = derivative(lambda w: s.model.sigma(s.x + w[0] * s.rate) @ (s.rate + w[0] * z), [0.0])
    return along[:, 0]


def _turning(s: ImageSample) -> Any:
    """(d sigma_mj/dx_i - d sigma_mi/dx_j) x_dot_j, (3, n) over m and i."""
    flat = derivative(lambda y: s.model.sigma(y).ravel(), s.x)
    table = flat.reshape(FIBRE, SIZE, SIZE)  # m, column, direction
    return np.einsum("mji,j->mi", table, s.rate) - np.einsum("mij,j->mi", table, s.rate)


def energy_derivatives(s: ImageSample) -> tuple[Array, Array]:
    """H_x (n,) and H_p (3,) by complex steps."""
    by_place = derivative(lambda y: s.model.hamiltonian(y, s.p), s.x)
    return by_place, derivative(lambda y: s.model.hamiltonian(s.x, y), s.p)


# -- Legendre's map --------------------------------------------------------------------------------


@listed("M-15", over=every)
def fibre_momenta(s: ImageSample) -> Residual:
    p = derivative(lambda w: s.model.lagrangian(s.x, w), s.v)
    blocks, sigma = blocks_of(s, HAMILTONIAN), s.model.sigma(s.x)
    return distance(sigma @ blocks.velocities, s.v), distance(blocks.momenta, sigma.T @ p)


listed("M-16", over=flat)(lambda s: distance(canonical_rates(s)[0], s.rate))


@listed("M-17", over=flat)
def equations_by_momenta(s: ImageSample) -> Residual:
    F, (table, _) = s.model.fibre_frame(s.x), s.model.structure(s.x)
    left = canonical_rates(s)[1] @ F + energy_derivatives(s)[0] @ s.model.frame(s.x)
    bent = np.einsum("b,bad,md->ma", s.u, table, F)
    return distance(left, s.p @ (bent + turning_of_fields(s, s.u)))


@listed("M-18", over=flat)
def velocities_by_momenta(s: ImageSample) -> Residual:
    blocks = blocks_of(s, HAMILTONIAN)
    return (
        distance(blocks.energy, s.p @ s.v - s.model.lagrangian(s.x, s.v)),
        distance(energy_derivatives(s)[1], s.v),
        distance(s.model.sigma(s.x) @ blocks.velocities, s.v),
    )


# -- a homomorphism --------------------------------------------------------------------------------


def _fibre_values(s: ImageSample, u: Array) -> Array:
    """The library's bundle velocities at (x, u) (3,)."""
    bundle, context = s.model.system.bundle, probe(s.model.kind, "implicit-lagrangian")
    return context.value(list(bundle.values()), 0.0, np.concatenate([s.x, u]))


listed("M-19", over=every)(lambda s: distance(_fibre_values(s, s.u), s.v))
listed("M-20", over=every)(
    lambda s: distance(
        np.stack([_fibre_values(s, unit) for unit in np.eye(len(s.u))], axis=1),
        s.model.fibre_frame(s.x),
    )
)


# -- Lagrangian equations --------------------------------------------------------------------------


@listed("M-21")
def image_with_homomorphism() -> Residual:
    def residual(s: ImageSample) -> Residual:
        context = probe(s.model.kind, "implicit-lagrangian")
        found = context.observe(0.0, lagrangian_state(s))
        gaps = [distance(found["velocities"], s.rate)]
        for direction in null_space(s.model.frame(s.x)).T:
            other = context.observe(0.0, np.concatenate([s.x, s.u + 0.7 * direction]))
            gaps.append(distance(other["velocities"], s.rate))
            gaps.append(distance(other["accelerations"], found["accelerations"]))
        return gaps

    rank = [null_space(s.model.frame(s.x)).shape[1] for s in samples("crowded")]
    return samples.of(*REGULAR, "crowded").worst(residual), excess(1.0 - min(rank))


@listed("M-22", over=every)
def implicit_lagrangian_equations(s: ImageSample) -> Residual:
    model, v_dot, E = s.model, fibre_rate(s), s.model.frame(s.x)
    along = derivative(lambda w: model.momenta(s.x + w[0] * s.rate, s.v + w[0] * v_dot), [0.0])
    by_place = derivative(lambda y: model.lagrangian(y, s.v), s.x)
    left = (along[:, 0] @ model.sigma(s.x) - by_place) @ E
    return distance(left, s.p @ _turning(s) @ E)


@listed("M-23", over=every)
def dalembert_on_any_image(s: ImageSample) -> Residual:
    z, kernel = accelerations(s), _kernel_probe(s.model.kind)
    by_rows = kernel.rates(0.0, np.concatenate([s.x, s.rate]))[SIZE:]
    return distance(z, by_rows), distance(z, s.model.dalembert(s.x, s.u))


@cache
def _kernel_probe(kind: str) -> Probe:
    return Probe(derive(kernel_system(kind), "lagrange"), {})


# -- Hamiltonian equations -------------------------------------------------------------------------


listed("M-24", over=every)(lambda s: distance(canonical_rates(s)[0], s.rate))


@listed("M-25", over=every)
def implicit_hamiltonian_equations(s: ImageSample) -> Residual:
    E, sigma = s.model.frame(s.x), s.model.sigma(s.x)
    left = (canonical_rates(s)[1] @ sigma + energy_derivatives(s)[0]) @ E
    return distance(left, s.p @ _turning(s) @ E)


@listed("M-26", over=every)
def hamiltonian_velocities(s: ImageSample) -> Residual:
    rate, p_dot = canonical_rates(s)
    turned = derivative(
        lambda w: s.model.fibre_velocity(s.x + w[0] * rate, s.p + w[0] * p_dot), [0.0]
    )
    velocity = distance(s.model.sigma(s.x) @ rate, energy_derivatives(s)[1])
    return velocity, distance(turned[:, 0], fibre_rate(s))


# -- the rigid body --------------------------------------------------------------------------------


def _angular_velocity(q: Sequence[Any] | Array, rate: Sequence[Any] | Array) -> list[Any]:
    """The angular velocity in the body for Euler's angles, in symbols or in numbers."""
    sine, cosine = (sympy.sin, sympy.cos) if isinstance(q[1], sympy.Expr) else (np.sin, np.cos)
    s, c, sp, cp = sine(q[1]), cosine(q[1]), sine(q[2]), cosine(q[2])
    return [rate[0] * s * sp + rate[1] * cp, rate[0] * s * cp - rate[1] * sp, rate[0] * c + rate[2]]


@cache
def _body() -> Probe:
    """A free rigid body by its angular velocity, with every direction allowed."""
    q, w = coordinates("phi theta psi"), speeds("w1 w2 w3")
    inertia = parameters("I1 I2 I3", positive=True)
    bundle = dict(zip(w, _angular_velocity(q, [x.dot for x in q]), strict=True))
    lagrangian = sum(a * v**2 for a, v in zip(inertia, w, strict=True)) / 2
    system = System(q, lagrangian=lagrangian, bundle=bundle, name="rigid body")
    return Probe(derive(system, HAMILTONIAN), {"I1": 1.3, "I2": 2.1, "I3": 0.8})


@listed("M-sec3-body")
def rigid_body() -> Residual:
    random, inertia = np.random.default_rng(23), np.array([1.3, 2.1, 0.8])

    def residual(q: Array, rate: Array) -> Residual:
        w = np.array(_angular_velocity(q, rate))
        rates = _body().rates(0.0, [*q, *(inertia * w)])
        return distance(rates[:3], rate), distance(rates[3:], np.cross(inertia * w, w))

    drawn = [(random.uniform(0.4, 1.4, 3), random.uniform(-1, 1, 3)) for _ in range(4)]
    return [residual(q, rate) for q, rate in drawn]
