"""Bloch and others, Internet Supplement, section 5.9, the theory up to theorem 5.9.2: both sides, before and after reduction.

M = FL(D) and H = F and TM on T*Q, D and K = C and TD on TQ, and the two-form on each. The systems are those of section 5.8; the
library's two-form lives in its own chart (q, y) of M, the independent implementations are dq ^ dp pulled back by complex steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

from ...analysis.symmetry.restricted_two_form import restricted_two_form
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ..independent.planar_bundles import Spot, frame, over_spots, planar_probe, spots
from ..independent.planar_charts import (
    canonical_rates,
    coordinate_metric,
    directions,
    embedded_frame,
    free_momenta,
    gap_of_preimage,
    gap_of_spans,
    library_form,
    on_tangent_bundle,
)
from ..numeric import derivative, distance, excess, largest, null_space, worst
from ..row_registry import Corrected, claim

EVERY = "random planar system with a constraint on shape velocities, snakeboard, bicycle"
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


def _hamiltonian(s: Spot, q: Any, p: Any) -> Any:
    """H(q, p) of a hyperregular L in closed form."""
    E = frame(q[2])
    body = np.concatenate([p[3:], E.T @ p[:3]])
    return body @ np.linalg.solve(s.planar.mass(q[3:]), body) / 2 + s.planar.potential(q[3:])


def _differential(s: Spot, state: Any) -> Any:
    """dH at (q, p) (10,)."""
    return derivative(lambda y: _hamiltonian(s, y[:5], y[5:]), state)


@claim(
    "B-5.9.1",
    "p_dot = -dH/dq + lambda_a omega^a is i_X Omega = dH - lambda_a pi^*omega^a; the print has +",
    how="random planar system and snakeboard: rates and reactions of the library's Hamiltonian form, dH by complex steps",
)
def multiplier_form() -> Corrected:
    right, printed = [], []
    for s in (*spots("random"), *spots("snakeboard")):
        p = s.planar.momenta(s.q, s.u)
        state = np.concatenate([s.q, p])
        probe = planar_probe(s.planar.kind, "hamilton")
        rates, reaction = probe.rates(0.0, state), np.concatenate([probe.reaction(0.0, state), np.zeros(5)])
        left = np.concatenate([-rates[5:], rates[:5]])
        differential = _differential(s, state)
        right.append(distance(left, differential - reaction))
        printed.append(distance(left, differential + reaction))
    return Corrected(worst(right), worst(printed))


# -- the spaces ------------------------------------------------------------------------------------------------------------


@claim(
    "B-5.9.2",
    "M = {p : omega^a(FL^-1 p) = 0}",
    how="random planar system and snakeboard, whose L is regular: momenta of the library's chart (q, y) turned into velocities"
    " by the dense inverse mass matrix",
)
def constraint_manifold() -> float:
    def residual(s: Spot) -> float:
        state = np.concatenate([s.q, free_momenta(s.planar, s.q, s.u)])
        p = planar_probe(s.planar.kind, "bates-sniatycki").blocks(0.0, state).momenta
        return worst(s.planar.full_rows(s.q) @ np.linalg.solve(coordinate_metric(s.planar, s.q), p))

    return over_spots(residual, "random", "snakeboard")


@claim(
    "B-5.9.3",
    "F = {u in T T*Q : <pi^*omega^a, u> = 0}; H is F and TM",
    how=f"{EVERY}: the constraints' rows on the library's frame of H, and its span along q",
)
def lifted_constraints() -> float:
    return over_spots(gap_of_preimage)


@claim(
    "B-5.9.4",
    "i_X Omega_H = dH_H with X in H determines the motion: Omega_H is nondegenerate, though L itself may be singular",
    how=f"{EVERY}: rates of the library's form on M against multipliers; its 2k x 2k matrix against dq ^ dp by complex steps on"
    " its own frame, and its X against theirs",
)
def restricted_equation() -> float:
    def residual(s: Spot) -> float:
        form, (q_dot, y_dot) = library_form(s), canonical_rates(s)
        z, _ = s.planar.accelerations(s.q, s.u)
        exact = derivative(lambda w: free_momenta(s.planar, s.q + w[0] * s.u, s.u + w[0] * z), [0.0])[:, 0]
        embedded = embedded_frame(s)
        half = embedded[:5].T @ embedded[5:]
        return largest(
            distance(q_dot, s.u),
            distance(y_dot, exact),
            distance(form.field, np.concatenate([s.u, exact])),
            distance(form.matrix, half - half.T),
            float(np.linalg.cond(form.matrix) > 1e8),
        )

    return over_spots(residual)


@claim(
    "B-5.9.4-closed",
    "The fibre-restricted form is not a form that could be closed: extended by zero it has a derivative, and its brackets break"
    " Jacobi's identity; for integrable constraints both vanish",
    how="snakeboard and random planar system: the library's d omega on triples against curvature of the constraints times dp/dy"
    " by complex steps; the same on a system whose rows are derivatives of functions",
)
def failure_to_close() -> float:
    def residual(s: Spot) -> float:
        form, found = library_form(s), s.planar
        k = form.frame.shape[1] // 2
        F = directions(found, s.q)
        turned = derivative(lambda x: directions(found, x).ravel(), s.q).reshape(5, k, 5) @ F  # component, field, along field
        bend = np.swapaxes(turned, 1, 2) - turned  # [X_s, X_t] = X_s X_t - X_t X_s, all along dependent coordinates
        by_momenta = np.linalg.solve(
            F.T @ coordinate_metric(s.planar, s.q) @ F, (coordinate_metric(s.planar, s.q) @ F).T
        ).T  # dp/dy (5, k)
        expected = np.einsum("ast,au->stu", bend, by_momenta)
        return distance(form.derivative[:k, :k, k:], expected)

    gaps = [float(np.max(np.abs(f))) for s in spots("snakeboard") for f in (library_form(s).derivative, library_form(s).jacobi)]
    return largest(over_spots(residual, "random", "snakeboard"), excess(APART - min(gaps)), _integrable())


def _integrable() -> float:
    """d omega and Jacobi's failure of a system whose constraints are derivatives of functions."""
    x, y, z, w = coordinates("x y z w")
    surfaces = (z - sympy.sin(x) * y**2, w + x * y + z**2)
    rows = [sum(sympy.diff(g, q) * q.dot for q in (x, y, z, w)) for g in surfaces]
    kinetic = ((1 + x**2) * x.dot**2 + y.dot**2 + z.dot**2 * (2 + sympy.cos(w)) + w.dot**2 + x.dot * z.dot) / 2
    system = System([x, y, z, w], kinetic=kinetic, constraints=[velocity(row, name=f"f{k}") for k, row in enumerate(rows)])
    found = restricted_two_form(system, {"x": 0.4, "y": 0.7, "z": 0.2, "w": -0.3, "x_dot": 0.5, "y_dot": -0.8})
    return largest(worst(found.derivative.ravel()), worst(found.jacobi.ravel()))


# -- the Lagrangian side ---------------------------------------------------------------------------------------------------


def _special(s: Spot) -> Any:
    """The library's field on TQ, (q_dot, q_ddot) (10,)."""
    return planar_probe(s.planar.kind, "lagrange").rates(0.0, np.concatenate([s.q, s.u]))


@claim(
    "B-5.9.5",
    "C = {u in TTQ : <tau^*omega^a, u> = 0} contains every motion and every vertical vector",
    how=f"{EVERY}: the library's field and the vertical vectors against a basis of C",
)
def lifted_constraints_on_velocities() -> float:
    def residual(s: Spot) -> float:
        C = on_tangent_bundle(s)[2]
        table = np.column_stack([_special(s), np.vstack([np.zeros((5, 5)), np.eye(5)])])
        return largest(worst((table - C @ (C.T @ table)).ravel()), abs(C.shape[1] - 10 + len(s.planar.full_rows(s.q))))

    return over_spots(residual)


@claim(
    "B-5.9.6",
    "K = C and TD contains the motion and is spanned by the fields e_b, lifts of d/dr, d/dr_dot and d/dp",
    how=f"{EVERY}: the library's field, and the frame of the independent implementation's chart of D, against a basis of K "
    "on TQ",
)
def allowed_on_velocities() -> float:
    return over_spots(_spans_allowed)


def _pushed(s: Spot) -> Any:
    """The frame of K in the chart (g, r, r_dot, p), carried to TQ (10, 4 + 2m)."""

    def place(z: Any) -> Any:
        q = z[:5]
        w = np.concatenate([z[5:7], s.planar.body_velocity(z[3:5], z[5:7], z[7:])])
        return np.concatenate([q, s.planar.velocities(q, w)])

    return derivative(place, s.z) @ s.planar.allowed(s.z)


def _spans_allowed(s: Spot) -> float:
    K, field = on_tangent_bundle(s)[3], _special(s)
    return largest(gap_of_spans(_pushed(s), K), worst(field - K @ (K.T @ field)))


@claim(
    "B-5.9.6-images",
    "M = FL(D) and H = TFL(K)",
    how=f"{EVERY}: the library's frame of H in T T*Q against K carried over by complex steps of the momenta",
)
def legendre_images() -> float:
    def residual(s: Spot) -> float:
        K = on_tangent_bundle(s)[3]
        carried = derivative(lambda y: np.concatenate([y[:5], s.planar.momenta(y[:5], y[5:])]), np.concatenate([s.q, s.u])) @ K
        return gap_of_spans(carried, embedded_frame(s))

    return over_spots(residual)


def _solved_on_velocities(s: Spot) -> Any:
    """X in K with i_X Omega_K = dE_K, densely (10,)."""
    form, energy, _, K = on_tangent_bundle(s)
    return K @ np.linalg.solve((K.T @ form @ K).T, K.T @ energy)


@claim(
    "B-5.9.7",
    "i_X Omega_K = dE_K with X in K determines the motion on D",
    how=f"{EVERY}: the dense solution on a basis of K against rates of the library's Lagrange equations",
)
def equation_on_velocities() -> float:
    return over_spots(lambda s: distance(_solved_on_velocities(s), _special(s)))


@claim(
    "B-5.9.8",
    "dE - i_X Omega_L on a vector of K over dq is (d/dt L_u - L_q) . dq, for every second-order field X on D",
    how=f"{EVERY}: random accelerations that keep to D, forms by complex steps, with the inertia and force of the library's"
    " Lagrange equations",
)
def principle_behind_the_form() -> float:
    def residual(s: Spot) -> float:
        form, energy, _, K = on_tangent_bundle(s)
        blocks = planar_probe(s.planar.kind, "lagrange").blocks(0.0, np.concatenate([s.q, s.u]))
        z = s.planar.accelerations(s.q, s.u)[0] + null_space(blocks.A) @ np.linspace(0.4, -0.7, 5 - len(blocks.A))
        X = np.concatenate([s.u, z])
        return distance(K.T @ (energy - form.T @ X), K[:5].T @ (blocks.G @ z - blocks.f))

    return over_spots(residual)


@claim(
    "B-Theorem-5.9.1",
    "The field X_K of i_X Omega_K = dE_K gives the motions of Lagrange and d'Alembert under the constraints; also where FL is"
    " singular and FL on D is not",
    how=f"{EVERY}: dense solution on K, the library's form on M, and multipliers in all coordinates",
)
def equivalence() -> float:
    def residual(s: Spot) -> float:
        z, _ = s.planar.accelerations(s.q, s.u)
        state = np.concatenate([s.q, free_momenta(s.planar, s.q, s.u)])
        on_M = planar_probe(s.planar.kind, "bates-sniatycki").observe(0.0, state)["accelerations"]
        return largest(distance(_solved_on_velocities(s)[5:], z), distance(on_M, z))

    ranks = [abs(int(np.linalg.matrix_rank(coordinate_metric(s.planar, s.q))) - 4) for s in spots("bicycle")]
    return largest(over_spots(residual), *ranks)
