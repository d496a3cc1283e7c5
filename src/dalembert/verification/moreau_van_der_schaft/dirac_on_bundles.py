"""Moreau and van der Schaft, section III: Dirac structures on V and on V* (eqs. 27 to 31).

Random systems of `image_systems`. The library gives the forms "implicit-lagrangian" and
"implicit-hamiltonian" and the structures on both bundles; the independent implementation pulls the
canonical form back by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...analysis.symmetry.dirac_structures import dirac_structure
from ...errors import DalembertError
from ...formulations.registry import derive
from ...geometry.dirac import DiracStructure
from ...typing import Array
from ..independent.image_systems import FIBRE, SIZE, ImageSample, image_system, samples
from ..numeric import Probe, Residual, derivative, distance, excess, null_space
from ..row_registry import listed
from .homomorphism import HAMILTONIAN, canonical_rates, energy_derivatives, fibre_rate
from .pontryagin_extremals import (
    APART,
    blocks_of,
    every,
    lagrangian_state,
    probe,
    regular,
)

CANONICAL = np.block(
    [[np.zeros((SIZE, SIZE)), -np.eye(SIZE)], [np.eye(SIZE), np.zeros((SIZE, SIZE))]]
)
Momenta = Callable[[Array, Array], Array]


def _pulled_back(s: ImageSample, fibre: Array, momenta: Momenta) -> Any:
    """The canonical form pulled back by (x, w) -> (x, sigma^T momenta(x, w)) (n + 3, n + 3)."""

    def lifted(y: Array) -> Array:
        x = y[:SIZE]
        return np.concatenate([x, s.model.sigma(x).T @ momenta(x, y[SIZE:])])

    tangent = derivative(lifted, np.concatenate([s.x, fibre]))
    return tangent.T @ CANONICAL @ tangent


def _form_on_momenta(s: ImageSample) -> Any:
    return _pulled_back(s, s.p, lambda x, p: p)


def _structure(s: ImageSample, form: Array) -> DiracStructure:
    """Lemma 1 for a form of the independent implementation and the image."""
    E = s.model.frame(s.x)
    zeros = np.zeros((SIZE, FIBRE)), np.zeros((FIBRE, E.shape[1]))
    return DiracStructure.induced(form, np.block([[E, zeros[0]], [zeros[1], np.eye(FIBRE)]]))


def _on_momenta(s: ImageSample) -> DiracStructure:
    """D on V* by the independent implementation's form."""
    return _structure(s, _form_on_momenta(s))


def _on_velocities(s: ImageSample) -> DiracStructure:
    """D^L on V by the independent implementation's form."""
    return _structure(s, _pulled_back(s, s.v, s.model.momenta))


def _library_structure(s: ImageSample, side: str) -> DiracStructure:
    """The library's structure at a sample."""
    names = [x.name for x in probe(s.model.kind, "implicit-lagrangian").equations.state]
    at = dict(zip(names, lagrangian_state(s), strict=True))
    return dirac_structure(s.model.system, at, side=side)


@listed("M-sec3-structure", over=every)
def structures(s: ImageSample) -> Residual:
    momenta, velocities = _library_structure(s, "hamiltonian"), _library_structure(s, "lagrangian")
    dimensions = [float(made.dimension - SIZE - FIBRE) for made in (momenta, velocities)]
    return momenta.distance(_on_momenta(s)), velocities.distance(_on_velocities(s)), dimensions


@listed("M-27", over=every)
def legendre_map(s: ImageSample) -> Residual:
    by_steps, sigma = derivative(lambda w: s.model.lagrangian(s.x, w), s.v), s.model.sigma(s.x)
    back = distance(sigma @ canonical_rates(s)[0], s.v)
    return distance(blocks_of(s).momenta, sigma.T @ by_steps), back


@listed("M-28", over=every)
def energy_on_the_bundle(s: ImageSample) -> Residual:
    along = derivative(lambda w: s.model.lagrangian(s.x, s.v * (1 + w[0])), [0.0])[0]
    hamilton = distance(blocks_of(s, HAMILTONIAN).energy, s.model.hamiltonian(s.x, s.p))
    return distance(blocks_of(s).energy, along - s.model.lagrangian(s.x, s.v)), hamilton


@listed("M-29", over=every)
def hamiltonian_system(s: ImageSample) -> Residual:
    flow, effort = np.concatenate(canonical_rates(s)), np.concatenate(energy_derivatives(s))
    return float(_library_structure(s, "hamiltonian").residual(flow, effort))


@listed("M-Theorem-1", over=regular)
def theorem_on_momenta(s: ImageSample) -> Residual:
    made, effort = _on_momenta(s), np.concatenate(energy_derivatives(s))
    of_flows, of_efforts = made.kernel
    rate = np.concatenate(canonical_rates(s))
    solved = np.linalg.lstsq(of_flows, -of_efforts @ effort, rcond=None)[0]
    # flows without effort: what dH leaves undetermined at this instant
    open_directions, rest = null_space(of_flows), rate - solved
    sideways = np.concatenate([s.model.rows(s.x)[0], np.zeros(FIBRE)])
    return (
        of_flows @ rate + of_efforts @ effort,
        of_flows @ solved + of_efforts @ effort,
        rest - open_directions @ (open_directions.T @ rest),
        excess(APART - float(made.residual(rate + sideways, effort))),
    )


def _energy_derivative(s: ImageSample, v: Array) -> Array:
    """dE at (x, v) by complex steps (n + 3,)."""
    return derivative(lambda y: s.model.energy(y[:SIZE], y[SIZE:]), np.concatenate([s.x, v]))


def _velocity_pair(s: ImageSample) -> tuple[Array, Array]:
    """(nu_dot, dE) on V along the library's motion."""
    return np.concatenate([s.rate, fibre_rate(s)]), _energy_derivative(s, s.v)


listed("M-30", over=every)(
    lambda s: float(_library_structure(s, "lagrangian").residual(*_velocity_pair(s)))
)


@listed("M-31", over=regular)
def redundant_condition(s: ImageSample) -> Residual:
    of_flows, of_efforts = _library_structure(s, "lagrangian").kernel
    solved = np.linalg.lstsq(of_flows, -of_efforts @ _velocity_pair(s)[1], rcond=None)[0]
    sigma = s.model.sigma(s.x)
    return distance(sigma @ solved[:SIZE], s.v), sigma @ null_space(of_flows)[:SIZE]


@listed("M-Theorem-2")
def theorem_on_velocities() -> Residual:
    def residual(s: ImageSample) -> Residual:
        made, v = _library_structure(s, "lagrangian"), s.v + np.array([0.0, 0.0, 0.7])
        names = (*s.model.system.coordinates, *s.model.system.bundle)
        at = {x.name: float(value) for x, value in zip(names, (*s.x, *v), strict=True)}
        other, effort = (
            dirac_structure(s.model.system, at, side="lagrangian"),
            _energy_derivative(s, v),
        )
        of_flows, of_efforts = other.kernel
        strayed = np.linalg.lstsq(of_flows, -of_efforts @ effort, rcond=None)[0]
        missed = distance(s.model.sigma(s.x) @ strayed[:SIZE], v)
        return (
            float(made.residual(*_velocity_pair(s))),
            made.distance(_on_velocities(s)),
            float(other.residual(strayed, effort)),
            excess(APART - missed),
        )

    try:
        Probe(derive(image_system("singular").system, HAMILTONIAN), {})
        refused = 1.0
    except DalembertError:
        refused = 0.0
    return samples.of("singular").worst(residual), refused


@listed("M-sec3-presymplectic", over=every)
def presymplectic_where_free(s: ImageSample) -> Residual:
    free = s.model.system.replacing(constraints=())
    names = [q.name for q in free.coordinates] + [f"{q.name}_dot" for q in free.coordinates]
    whole = dirac_structure(free, dict(zip(names, (*s.x, *s.rate), strict=True)))
    tied = _library_structure(s, "hamiltonian")
    verdicts = float(not whole.is_presymplectic), float(tied.is_presymplectic)
    return distance(whole.two_form(), _form_on_momenta(s)), verdicts
