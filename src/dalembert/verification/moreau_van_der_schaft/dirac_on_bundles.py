"""Moreau and van der Schaft, Implicit Lagrangian equations, section III: Dirac structures on V and on V* (27 to 31).

Random systems of `image_systems`. The library gives the forms "implicit-lagrangian" and "implicit-hamiltonian" and the
structures on both bundles; the independent implementation pulls the canonical form back by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...analysis.symmetry.dirac_structures import dirac_structure
from ...errors import DalembertError
from ...formulations.registry import derive
from ...geometry.dirac import DiracStructure
from ..independent.image_systems import FIBRE, SIZE, Spot, image_system, over_spots, spots
from ..numeric import Probe, derivative, distance, excess, largest, null_space, worst
from ..row_registry import claim
from .homomorphism import canonical_rates, energy_derivatives, fibre_rate
from .pontryagin_extremals import APART, EVERY, RANDOM, REGULAR, lagrangian_state, probe

CANONICAL = np.block([[np.zeros((SIZE, SIZE)), -np.eye(SIZE)], [np.eye(SIZE), np.zeros((SIZE, SIZE))]])


def _lifted(s: Spot, momenta: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """The map (x, w) -> (x, sigma^T momenta(x, w)) to the costates."""

    def lifted(y: Any) -> Any:
        x = y[:SIZE]
        return np.concatenate([x, s.twin.sigma(x).T @ momenta(x, y[SIZE:])])

    return lifted


def _structure(s: Spot, fibre: Any, momenta: Callable[[Any, Any], Any]) -> DiracStructure:
    """Lemma 1 for the canonical form pulled back by the independent implementation, and the image."""
    tangent = derivative(_lifted(s, momenta), np.concatenate([s.x, fibre]))
    E = s.twin.frame(s.x)
    allowed = np.block([[E, np.zeros((SIZE, FIBRE))], [np.zeros((FIBRE, E.shape[1])), np.eye(FIBRE)]])
    return DiracStructure.induced(tangent.T @ CANONICAL @ tangent, allowed)


def _on_momenta(s: Spot) -> DiracStructure:
    """D on V* by the independent implementation's form."""
    return _structure(s, s.p, lambda x, p: p)


def _on_velocities(s: Spot) -> DiracStructure:
    """D^L on V by the independent implementation's form."""
    return _structure(s, s.v, s.twin.momenta)


@cache
def _structures(kind: str, side: str) -> tuple[DiracStructure, ...]:
    """The library's structures at the spots of one kind."""
    system = image_system(kind).system
    names = [symbol.name for symbol in probe(kind, "implicit-lagrangian").equations.state]
    return tuple(dirac_structure(system, dict(zip(names, lagrangian_state(s), strict=True)), side=side) for s in spots(kind))


def _library_structure(s: Spot, side: str) -> DiracStructure:
    place = next(k for k, other in enumerate(spots(s.twin.kind)) if other is s)
    return _structures(s.twin.kind, side)[place]


@claim(
    "M-sec3-structure",
    "sigma^* pulls the canonical form back to V*, and the image restricts it to a Dirac structure D of dimension n_x + n_v",
    how=f"{RANDOM}: the library's structures on V* and on V against lemma 1 with forms by complex steps",
)
def structures() -> float:
    def residual(s: Spot) -> float:
        both = (_library_structure(s, "hamiltonian"), _library_structure(s, "lagrangian"))
        gaps = [both[0].distance(_on_momenta(s)), both[1].distance(_on_velocities(s))]
        return largest(*gaps, *(made.dimension - SIZE - FIBRE for made in both))

    return over_spots(residual, *EVERY)


@claim(
    "M-27",
    "The Legendre map FL takes (x, v) to (x, L_v)",
    how=f"{RANDOM}: the momenta of x that the library reports against sigma^T L_v, complex steps; its velocity in Hamiltonian"
    " form gives back v",
)
def legendre_map() -> float:
    def residual(s: Spot) -> float:
        found = probe(s.twin.kind, "implicit-lagrangian").blocks(0.0, lagrangian_state(s)).momenta
        by_steps = derivative(lambda w: s.twin.lagrangian(s.x, w), s.v)
        return largest(
            distance(found, s.twin.sigma(s.x).T @ by_steps), distance(s.twin.sigma(s.x) @ canonical_rates(s)[0], s.v)
        )

    return over_spots(residual, *EVERY)


@claim(
    "M-28",
    "The energy on V is <FL(v), v> - L, and H is the same number at p = L_v",
    how=f"{RANDOM}: the library's energies in both forms against complex steps of L and against H in closed form",
)
def energy_on_the_bundle() -> float:
    def residual(s: Spot) -> float:
        along = derivative(lambda w: s.twin.lagrangian(s.x, s.v * (1 + w[0])), [0.0])[0]
        energy = probe(s.twin.kind, "implicit-lagrangian").blocks(0.0, lagrangian_state(s)).energy
        other = probe(s.twin.kind, "implicit-hamiltonian").blocks(0.0, lagrangian_state(s)).energy
        return largest(distance(energy, along - s.twin.lagrangian(s.x, s.v)), distance(other, s.twin.hamiltonian(s.x, s.p)))

    return over_spots(residual, *EVERY)


@claim(
    "M-29",
    "(pi_dot, dH) lies in D",
    how=f"{RANDOM}: the library's rates in Hamiltonian form with dH by complex steps, in the library's structure on V*",
)
def hamiltonian_system() -> float:
    def residual(s: Spot) -> float:
        flow, effort = np.concatenate(canonical_rates(s)), np.concatenate(energy_derivatives(s))
        return float(_library_structure(s, "hamiltonian").residual(flow, effort))

    return over_spots(residual, *EVERY)


@claim(
    "M-Theorem-1",
    "For a regular L eqs. 24 to 26 are the Hamiltonian system of D: the pairs (m_dot, dH) in D are their solutions and no"
    " others",
    how=f"{RANDOM}: all flows with effort dH in lemma 1's structure with the independent implementation's form, against the "
    "library's rates; a flow"
    " that breaks one of the equations is outside",
)
def theorem_on_momenta() -> float:
    def residual(s: Spot) -> float:
        made, effort = _on_momenta(s), np.concatenate(energy_derivatives(s))
        of_flows, of_efforts = made.kernel
        rate = np.concatenate(canonical_rates(s))
        solved = np.linalg.lstsq(of_flows, -of_efforts @ effort, rcond=None)[0]
        gaps = [worst(of_flows @ rate + of_efforts @ effort), worst(of_flows @ solved + of_efforts @ effort)]
        open_directions = null_space(of_flows)  # flows without effort: what dH leaves undetermined at this instant
        rest = rate - solved
        gaps.append(worst(rest - open_directions @ (open_directions.T @ rest)))
        sideways = np.concatenate([s.twin.rows(s.x)[0], np.zeros(FIBRE)])
        return largest(*gaps, excess(APART - float(made.residual(rate + sideways, effort))))

    return over_spots(residual, *REGULAR)


def _energy_derivative(s: Spot, v: Any) -> Any:
    """dE at (x, v) by complex steps (n + 3,)."""
    return derivative(lambda y: s.twin.energy(y[:SIZE], y[SIZE:]), np.concatenate([s.x, v]))


def _velocity_pair(s: Spot) -> tuple[Any, Any]:
    """(nu_dot, dE) on V along the library's motion."""
    return np.concatenate([s.rate, fibre_rate(s)]), _energy_derivative(s, s.v)


@claim(
    "M-30",
    "(nu_dot, dE) lies in D^L",
    how=f"{RANDOM}: the library's rates of (x, v) with dE by complex steps, in the library's structure on V",
)
def lagrangian_system() -> float:
    return over_spots(lambda s: float(_library_structure(s, "lagrangian").residual(*_velocity_pair(s))), *EVERY)


@claim(
    "M-31",
    "nu = sigma x_dot; for a regular L it follows from (nu_dot, dE) in D^L and need not be asked",
    how=f"{RANDOM}: every x_dot that the library's structure on V pairs with dE against the one with sigma x_dot = v",
)
def redundant_condition() -> float:
    def residual(s: Spot) -> float:
        made = _library_structure(s, "lagrangian")
        of_flows, of_efforts = made.kernel
        solved = np.linalg.lstsq(of_flows, -of_efforts @ _velocity_pair(s)[1], rcond=None)[0]
        undetermined = null_space(of_flows)
        sigma = s.twin.sigma(s.x)
        return largest(distance(sigma @ solved[:SIZE], s.v), worst((sigma @ undetermined[:SIZE]).ravel()))

    return over_spots(residual, *REGULAR)


@claim(
    "M-Theorem-2",
    "Eqs. 21 to 23 are (nu_dot, dE) in D^L with nu = sigma x_dot, for singular L too; there the last condition does not follow"
    " from the first, and there is no Hamiltonian description",
    how="random L that are linear in one fibre velocity: the library's motion in the library's structure on V; at another"
    " value of that velocity the structure still has a flow, and its sigma x_dot is not v; the library refuses the Hamiltonian"
    " form",
)
def theorem_on_velocities() -> float:
    def residual(s: Spot) -> float:
        made = _library_structure(s, "lagrangian")
        flow, effort = _velocity_pair(s)
        v = s.v + np.array([0.0, 0.0, 0.7])
        other = dirac_structure(s.twin.system, _at(s, v), side="lagrangian")
        of_flows, of_efforts = other.kernel
        derivative_of_energy = _energy_derivative(s, v)
        strayed = np.linalg.lstsq(of_flows, -of_efforts @ derivative_of_energy, rcond=None)[0]
        missed = distance(s.twin.sigma(s.x) @ strayed[:SIZE], v)
        return largest(
            float(made.residual(flow, effort)),
            made.distance(_on_velocities(s)),
            float(other.residual(strayed, derivative_of_energy)),
            excess(APART - missed),
        )

    try:
        Probe(derive(image_system("singular").system, "implicit-hamiltonian"), {})
        refused = 1.0
    except DalembertError:
        refused = 0.0
    return largest(over_spots(residual, "singular"), refused)


def _at(s: Spot, v: Any) -> dict[str, float]:
    """A point (x, v) of the bundle by name."""
    names = (*s.twin.system.coordinates, *s.twin.system.bundle)
    return {symbol.name: float(value) for symbol, value in zip(names, (*s.x, *v), strict=True)}


@claim(
    "M-sec3-presymplectic",
    "Where the fields span every direction the structures are presymplectic; where they do not, they are not",
    how="library structures of random systems with their image and without it: verdicts, and forms by complex steps",
)
def presymplectic_where_free() -> float:
    def residual(s: Spot) -> float:
        free = s.twin.system.replacing(constraints=())
        names = [q.name for q in free.coordinates] + [f"{q.name}_dot" for q in free.coordinates]
        at = dict(zip(names, np.concatenate([s.x, s.rate]), strict=True))
        whole = dirac_structure(free, at)
        tangent = derivative(_lifted(s, lambda x, p: p), np.concatenate([s.x, s.p]))
        tied = _library_structure(s, "hamiltonian")
        form = tangent.T @ CANONICAL @ tangent
        return largest(distance(whole.two_form(), form), float(not whole.is_presymplectic), float(tied.is_presymplectic))

    return over_spots(residual, *EVERY)
