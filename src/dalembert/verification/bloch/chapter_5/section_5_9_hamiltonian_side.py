"""Bloch and others, Internet Supplement, section 5.9, the theory up to theorem 5.9.2: both sides,
before and after reduction.

M = FL(D) and H = F and TM on T*Q, D and K = C and TD on TQ, and the two-form on each. The systems
are those of section 5.8; the library's two-form lives in its own chart (q, y) of M, the independent
implementations are dq ^ dp pulled back by complex steps.
"""

from __future__ import annotations

import numpy as np
import sympy

from ....analysis.symmetry.restricted_two_form import restricted_two_form
from ....model.constraints import velocity
from ....model.symbols import coordinates
from ....model.system import System
from ....typing import Array
from ...independent.planar_bundles import PlanarSample, frame, planar_probe
from ...independent.planar_charts import (
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
from ...numeric import Residual, derivative, distance, excess, null_space, worst
from ...row_registry import Corrected, listed
from .section_5_9_states import (
    APART,
    library_blocks,
    library_rates,
    library_state,
    points,
    rate,
    velocities_at,
)

regular = points.of("random", "snakeboard")


@listed("B-5.9.1", over=regular)
def multiplier_form(s: PlanarSample) -> Corrected:
    def hamiltonian(y: Array) -> Array:
        """H(q, p) of a hyperregular L in closed form."""
        body = np.concatenate([y[8:], frame(y[2]).T @ y[5:8]])
        mass, potential = s.planar.mass(y[3:5]), s.planar.potential(y[3:5])
        return np.asarray(body @ np.linalg.solve(mass, body) / 2 + potential)

    state = library_state(s, "hamilton")
    probe = planar_probe(s.planar.kind, "hamilton")
    rates = probe.rates(0.0, state)
    reaction = np.concatenate([probe.reaction(0.0, state), np.zeros(5)])
    left, differential = np.concatenate([-rates[5:], rates[:5]]), derivative(hamiltonian, state)
    right, printed = differential - reaction, differential + reaction
    return Corrected(distance(left, right), distance(left, printed))


# -- the spaces ------------------------------------------------------------------------------------


@listed("B-5.9.2", over=regular)
def constraint_manifold(s: PlanarSample) -> Residual:
    p = library_blocks(s, "bates-sniatycki").momenta
    return worst(s.planar.full_rows(s.q) @ np.linalg.solve(coordinate_metric(s.planar, s.q), p))


@listed("B-5.9.3", over=points)
def lifted_constraints(s: PlanarSample) -> Residual:
    return gap_of_preimage(s)


@listed("B-5.9.4", over=points)
def restricted_equation(s: PlanarSample) -> Residual:
    form, (q_dot, y_dot) = library_form(s), canonical_rates(s)
    z, _ = s.planar.accelerations(s.q, s.u)
    exact = rate(lambda w: free_momenta(s.planar, s.q + w * s.u, s.u + w * z))
    embedded = embedded_frame(s)
    half = embedded[:5].T @ embedded[5:]
    return (
        distance(q_dot, s.u),
        distance(y_dot, exact),
        distance(form.field, np.concatenate([s.u, exact])),
        distance(form.matrix, half - half.T),
        float(np.linalg.cond(form.matrix) > 1e8),
    )


@listed("B-5.9.4-closed")
def failure_to_close() -> Residual:
    def residual(s: PlanarSample) -> Residual:
        form, found = library_form(s), s.planar
        k = form.frame.shape[1] // 2
        F, metric = directions(found, s.q), coordinate_metric(s.planar, s.q)
        by_place = derivative(lambda x: directions(found, x).ravel(), s.q).reshape(5, k, 5)
        turned = by_place @ F  # component, field, along field
        # [X_s, X_t] = X_s X_t - X_t X_s, all along dependent coordinates
        bend = np.swapaxes(turned, 1, 2) - turned
        by_momenta = np.linalg.solve(F.T @ metric @ F, (metric @ F).T).T  # dp/dy (5, k)
        expected = np.einsum("ast,au->stu", bend, by_momenta)
        return distance(form.derivative[:k, :k, k:], expected)

    forms = [library_form(s) for s in points("snakeboard")]
    gap = min(np.max(np.abs(table)) for f in forms for table in (f.derivative, f.jacobi))
    return regular.worst(residual), excess(APART - gap), _integrable()


def _integrable() -> Residual:
    """d omega and Jacobi's failure of a system whose constraints are derivatives of functions."""
    x, y, z, w = coordinates("x y z w")
    surfaces = (z - sympy.sin(x) * y**2, w + x * y + z**2)
    rows = [sum(sympy.diff(g, q) * q.dot for q in (x, y, z, w)) for g in surfaces]
    squares = (1 + x**2) * x.dot**2 + y.dot**2 + z.dot**2 * (2 + sympy.cos(w)) + w.dot**2
    constraints = [velocity(row, name=f"f{k}") for k, row in enumerate(rows)]
    system = System([x, y, z, w], kinetic=(squares + x.dot * z.dot) / 2, constraints=constraints)
    place = {"x": 0.4, "y": 0.7, "z": 0.2, "w": -0.3, "x_dot": 0.5, "y_dot": -0.8}
    found = restricted_two_form(system, place)
    return found.derivative, found.jacobi


# -- the Lagrangian side ---------------------------------------------------------------------------


@listed("B-5.9.5", over=points)
def lifted_constraints_on_velocities(s: PlanarSample) -> Residual:
    C = on_tangent_bundle(s)[2]
    table = np.column_stack(
        [library_rates(s, "lagrange"), np.vstack([np.zeros((5, 5)), np.eye(5)])]
    )
    return (table - C @ (C.T @ table), C.shape[1] - 10 + len(s.planar.full_rows(s.q)))


@listed("B-5.9.6", over=points)
def allowed_on_velocities(s: PlanarSample) -> Residual:
    K, field = on_tangent_bundle(s)[3], library_rates(s, "lagrange")
    # The frame of K in the chart (g, r, r_dot, p), carried to TQ.
    carried = derivative(lambda z: np.concatenate([z[:5], velocities_at(s, z)]), s.z)
    pushed = carried @ s.planar.allowed(s.z)
    return gap_of_spans(pushed, K), field - K @ (K.T @ field)


@listed("B-5.9.6-images", over=points)
def legendre_images(s: PlanarSample) -> Residual:
    state = library_state(s, "lagrange")
    carried = derivative(lambda y: np.concatenate([y[:5], s.planar.momenta(y[:5], y[5:])]), state)
    return gap_of_spans(carried @ on_tangent_bundle(s)[3], embedded_frame(s))


def _solved_on_velocities(s: PlanarSample) -> Array:
    """X in K with i_X Omega_K = dE_K, densely (10,)."""
    form, energy, _, K = on_tangent_bundle(s)
    return np.asarray(K @ np.linalg.solve((K.T @ form @ K).T, K.T @ energy))


@listed("B-5.9.7", over=points)
def equation_on_velocities(s: PlanarSample) -> Residual:
    return distance(_solved_on_velocities(s), library_rates(s, "lagrange"))


@listed("B-5.9.8", over=points)
def principle_behind_the_form(s: PlanarSample) -> Residual:
    form, energy, _, K = on_tangent_bundle(s)
    blocks = library_blocks(s, "lagrange")
    free = null_space(blocks.A)
    z = s.planar.accelerations(s.q, s.u)[0] + free @ np.linspace(0.4, -0.7, 5 - len(blocks.A))
    X = np.concatenate([s.u, z])
    return distance(K.T @ (energy - form.T @ X), K[:5].T @ (blocks.G @ z - blocks.f))


@listed("B-Theorem-5.9.1")
def equivalence() -> Residual:
    def residual(s: PlanarSample) -> Residual:
        z, _ = s.planar.accelerations(s.q, s.u)
        state = library_state(s, "bates-sniatycki")
        on_M = planar_probe(s.planar.kind, "bates-sniatycki").observe(0.0, state)["accelerations"]
        return distance(_solved_on_velocities(s)[5:], z), distance(on_M, z)

    metrics = [coordinate_metric(s.planar, s.q) for s in points("bicycle")]
    return points.worst(residual), *(np.linalg.matrix_rank(metric) - 4 for metric in metrics)
