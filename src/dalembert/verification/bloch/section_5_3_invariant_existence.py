"""Bloch and others, Internet Supplement, section 5.3: the constrained motion exists and is determined (5.3.27 to 5.3.32).

Random systems of `tangent` under linear, affine, nonlinear and homogeneous conditions. The library gives rates, multipliers
and reactions; Omega_L, dH_L and the constraint forms theta_i are taken by complex steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import gallery
from ..independent.tangent_bundle_systems import Place, over_places, places
from ..independent.tangent_forms import energy_form, lagrangian_form, pulled
from ..numeric import distance, excess, gallery_probe, largest, worst
from ..row_registry import Corrected, claim
from .section_5_3_invariant_constraints import APART, BOUND, RANDOM


def _horizontal(force: Any) -> Any:
    """The one-form Q dq on TQ (2n,)."""
    return np.concatenate([force, np.zeros(len(force))])


@claim(
    "B-Theorem-5.3.7",
    "With a positive definite Hessian and admissible constraints there is one second-order field and one set of multipliers; it"
    " is enough that Hessian and b determine them together",
    how=f"{RANDOM}: eigenvalues of the library's Hessian, its accelerations and multipliers against a dense system; the"
    " bicycle, whose Hessian has rank 4 of 5",
)
def motion_exists() -> float:
    def residual(p: Place) -> float:
        z, multipliers = p.twin.accelerations(p.q, p.v)
        least = np.linalg.eigvalsh(p.probe.blocks(0.0, p.state).G)[0]
        return largest(distance(p.accelerations, z), distance(p.multipliers, multipliers), excess(APART - least))

    return largest(over_places(residual, *BOUND), _bicycle())


def _bicycle() -> float:
    """Accelerations and reaction of the bicycle at its start: blocks of the library in one dense system."""
    probe, start = gallery_probe("bicycle", "lagrange"), gallery.load("bicycle").start
    names = [symbol.name for symbol in probe.equations.state]
    state = probe.projected(0.0, np.array([start.get(name, 0.0) for name in names]) + 0.05)
    blocks = probe.blocks(0.0, state)
    n, m = len(blocks.f), len(blocks.b)
    dense = np.block([[blocks.G, -blocks.A.T], [blocks.A, np.zeros((m, m))]])
    solution = np.linalg.solve(dense, np.concatenate([blocks.f, blocks.b]))
    singular = float(np.linalg.matrix_rank(blocks.G, tol=1e-9) != n - 1)
    return largest(
        distance(probe.rates(0.0, state)[n:], solution[:n]),
        distance(probe.reaction(0.0, state), blocks.A.T @ solution[n:]),
        singular,
    )


@claim(
    "B-5.3.27",
    "i_X Omega_L = dH_L + omega, where the constraint force is -omega; with omega as the force itself, as in 5.3.28, the sign"
    " is wrong",
    how=f"{RANDOM}: the library's field and reactions in Omega_L and dH_L by complex steps, with either sign",
)
def principle_with_constraints() -> Corrected:
    def residual(p: Place, sign: float) -> float:
        left = lagrangian_form(p).T @ p.probe.rates(0.0, p.state)
        return distance(left, energy_form(p) + sign * _horizontal(p.reaction))

    right = over_places(lambda p: residual(p, -1.0), *BOUND)
    return Corrected(right, over_places(lambda p: residual(p, 1.0), *BOUND))


@claim(
    "B-5.3.28",
    "d/dt L_v - L_q = lambda_j P^*theta_j = lambda_j b_j; the print has theta_j, whose q-components are a_j",
    how=f"{RANDOM}: library accelerations and multipliers, L and theta by complex steps",
)
def local_equations() -> Corrected:
    def residual(p: Place, place: int) -> float:
        return distance(p.twin.euler(p.q, p.v, p.accelerations), p.multipliers @ p.twin.forms(p.q, p.v)[place])

    right = over_places(lambda p: residual(p, 1), *BOUND)
    return Corrected(right, over_places(lambda p: residual(p, 0), *BOUND))


def _raised(place: Place, form: Any) -> Any:
    """pi_L(rho): the vector with Omega_L(pi_L(rho), Y) = rho(Y) for every Y (2n,)."""
    return np.linalg.solve(lagrangian_form(place).T, form)


@claim(
    "B-5.3.29",
    "Omega_L is nondegenerate where the Hessian is: each one-form rho has one vector with Omega_L(pi_L rho, Y) = rho(Y); a"
    " force Q dq goes to -L_vv^-1 Q d/dv",
    how="random systems: vectors of the forms lambda P^*theta by Omega_L from complex steps, against the change of the"
    " library's accelerations that its reactions make",
)
def raising() -> float:
    def residual(p: Place) -> float:
        free = np.linalg.solve(p.probe.blocks(0.0, p.state).G, p.probe.blocks(0.0, p.state).f)
        change = np.concatenate([np.zeros(p.twin.size), p.accelerations - free])
        raised, rho = _raised(p, _horizontal(p.reaction)), energy_form(p)
        return largest(distance(-raised, change), distance(lagrangian_form(p).T @ _raised(p, rho), rho))

    return over_places(residual, *BOUND)


@claim(
    "B-5.3.30",
    "X = pi_L(dH_L + omega), with minus the constraint force for omega",
    how=f"{RANDOM}: Omega_L and dH_L by complex steps with the library's reactions, against the library's rates",
)
def field_of_the_principle() -> float:
    return over_places(
        lambda p: distance(_raised(p, energy_form(p) - _horizontal(p.reaction)), p.probe.rates(0.0, p.state)), *BOUND
    )


@claim(
    "B-5.3.31",
    "theta_i(pi_L(dH_L) + pi_L(omega)) = 0: the constraint force makes the field compatible, which it is not without",
    how=f"{RANDOM}: theta, Omega_L and dH_L by complex steps with the library's reactions",
)
def compatibility_of_the_field() -> float:
    def residual(p: Place) -> float:
        free = p.constraint_forms @ _raised(p, energy_form(p))
        held = p.constraint_forms @ _raised(p, -_horizontal(p.reaction))
        return largest(worst(free + held), excess(APART - float(np.max(np.abs(free)))))

    return over_places(residual, *BOUND)


def _gram(place: Place) -> Any:
    """theta_i(pi_L P^*theta_j) (m, m)."""
    forms = place.constraint_forms
    return np.array([[first @ _raised(place, pulled(second)) for second in forms] for first in forms])


@claim(
    "B-5.3.32",
    "theta_i(pi_L dH_L) = -lambda_j theta_i(pi_L P^*theta_j) determines multipliers, which are minus those of 5.3.28",
    how=f"{RANDOM}: the system solved densely with forms by complex steps, against the library's multipliers",
)
def multiplier_equations() -> Corrected:
    def residual(p: Place, sign: float) -> float:
        right = np.array([form @ _raised(p, energy_form(p)) for form in p.constraint_forms])
        return distance(np.linalg.solve(-_gram(p), right), sign * p.multipliers)

    right = over_places(lambda p: residual(p, -1.0), *BOUND)
    return Corrected(right, over_places(lambda p: residual(p, 1.0), *BOUND))


@claim(
    "B-5.3.32-definite",
    "The matrix theta_i(pi_L P^*theta_j) is -b L_vv^-1 b^T, negative definite where b has full rank, so that it can be solved;"
    " the text calls pi_L positive definite there",
    how=f"{RANDOM}: the matrix by complex steps against the library's Hessian and rows; its eigenvalues",
)
def definite_matrix() -> Corrected:
    right, printed = [], []
    for kind in BOUND:
        for p in places(kind):
            blocks, gram = p.probe.blocks(0.0, p.state), _gram(p)
            sizes = np.linalg.eigvalsh((gram + gram.T) / 2)
            right += [distance(gram, -blocks.A @ np.linalg.solve(blocks.G, blocks.A.T)), excess(float(sizes[-1]))]
            printed.append(excess(-float(sizes[-1])))
    return Corrected(worst(right), min(printed))
