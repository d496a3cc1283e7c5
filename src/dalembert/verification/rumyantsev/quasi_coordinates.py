"""Rumyantsev: section 1.2, quasi-coordinates (eqs. 1.14 to 1.23)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...typing import Array
from ..independent.instant_samples import (
    MotionSample,
    QuasiSample,
    free_quasi_instants,
    library_definition,
    library_quasi,
    motions,
)
from ..numeric import Residual, derivative, distance, excess
from ..row_registry import Corrected, listed
from ..samples import Sampler
from .quasi_motions import QuasiMotion, bent, quasi, straight
from .transitivity_equations import SOLVED

solved = motions.of(*SOLVED)
off_bent = Sampler(lambda _: free_quasi_instants(bent=True), keep=False)
off_straight = Sampler(lambda _: free_quasi_instants(bent=False), keep=False)


@listed("R-1.14")
def quasi_velocities() -> Residual:
    def regular(view: QuasiSample) -> Residual:
        by_steps = derivative(lambda v: view.quasi.definition(view.q, v, view.time), view.v)
        return distance(view.rows, by_steps), excess(1e-3 - abs(np.linalg.det(view.rows)))

    def library(view: QuasiSample) -> Residual:
        found = library_definition(view.quasi.model.kind)(view.time, view.q, view.v)
        return distance(found, view.eta)

    def public(view: QuasiSample) -> Residual:
        return distance(view.public.derivatives, view.rows)

    return off_bent.worst(regular), off_straight.worst(library), off_bent.worst(public)


@listed("R-1.15", over=off_straight)
def inverse_of_quasi_velocities(view: QuasiSample) -> Residual:
    model = view.quasi.model
    v = library_quasi(model.kind)(view.time, view.q, view.eta, np.zeros(model.k))["velocities"]
    newton = view.quasi.inverse(view.q, view.eta, view.time, v + 0.01).real
    return distance(view.quasi.definition(view.q, v, view.time), view.eta), distance(v, newton)


@listed("R-1.16")
def inverse_matrices() -> Residual:
    def residual(view: QuasiSample) -> Residual:
        F, one = view.by_eta(view.velocities), np.eye(len(view.q))
        return distance(view.rows @ F, one), distance(F @ view.rows, one)

    def library(m: QuasiMotion) -> Residual:
        return distance(m.view.rows @ m.view.library["frame"], np.eye(len(m.s.q))[:, : m.k])

    def public(view: QuasiSample) -> Residual:
        return distance(view.public.derivatives @ view.by_eta(view.velocities), np.eye(len(view.q)))

    return straight.worst(library), off_bent.worst(residual), off_bent.worst(public)


@listed("R-1.17", over=straight)
def quasi_coordinates(m: QuasiMotion) -> Residual:
    view = m.view

    def value(q: Array) -> Any:
        return m.lagrangian(q, view.eta, view.time)

    def directional(way: Array) -> float:
        return float(derivative(lambda e: value(view.q + e[0] * way), [0.0])[0])

    along = [directional(way) for way in view.frame.T]
    by_pi = distance(view.library["lagrangian_by_pi"], along[: m.k])
    return by_pi, distance(np.array(along) @ view.rows, derivative(value, view.q))


@listed("R-1.18", over=straight)
def displacements_in_quasi_coordinates(m: QuasiMotion) -> Residual:
    dq, dpi = m.view.library["frame"] @ m.s.sigma, _padded(m.s, m.s.sigma)
    return distance(m.view.rows @ dq, dpi), distance(dq, m.s.frame @ dq[: m.k])


def _padded(s: MotionSample, free: Array) -> Array:
    return np.concatenate([free, np.zeros(s.model.r)])


def _quasi_variation(view: QuasiSample, dpi: Array, dpi_rate: Array) -> Array:
    """d eta for dq = F_eta dpi with d(dq)/dt = d(q_dot), (n,)."""
    turning = view.rate(lambda q, v, time: np.linalg.inv(view.quasi.rows(q, v, time)))
    dq, dv = view.frame @ dpi, turning @ dpi + view.frame @ dpi_rate
    return derivative(
        lambda e: view.quasi.definition(view.q + e[0] * dq, view.v + e[0] * dv, view.time), [0.0]
    )[:, 0]


@listed("R-1.19")
def quasi_transitivity() -> Residual:
    random, found = np.random.default_rng(21), []
    for view in off_bent:
        dpi, dpi_rate = random.uniform(-1, 1, (2, len(view.q)))
        left = dpi_rate - _quasi_variation(view, dpi, dpi_rate)
        found += [distance(view.W @ dpi, left), distance(-view.rows @ view.T @ dpi, left)]

    def library(m: QuasiMotion) -> Residual:
        dpi, dpi_rate = _padded(m.s, m.s.sigma), _padded(m.s, m.s.sigma_dot)
        left = dpi_rate - _quasi_variation(m.view, dpi, dpi_rate)
        return distance(m.view.public.W @ m.s.sigma, left)

    return found, [points.worst(library) for points in (bent, straight)]


listed("R-1.20")(
    lambda: (
        off_bent.worst(lambda view: distance(-view.rows @ view.T, view.W)),
        quasi.worst(lambda m: distance(m.view.public.W, -m.view.rows @ m.view.public.T)),
    )
)
listed("R-1.21", over=quasi)(
    lambda m: (distance(m.view.public.W, m.W), distance(m.view.public.T, m.T))
)


@listed("R-1.22", over=quasi)
def variation_of_bound_quasi_velocities(m: QuasiMotion) -> Residual:
    s, view = m.s, m.view
    varied = _quasi_variation(view, _padded(s, s.sigma), _padded(s, s.sigma_dot))[s.k :]
    by_inverse = view.rows[s.k :] @ view.public.T @ s.sigma
    return distance(-view.public.W[s.k :] @ s.sigma, varied), distance(by_inverse, varied)


@listed("R-1.23", over=solved)
def symbols_agree(s: MotionSample) -> Corrected:
    bound, symbols = s.public.W[s.k :], s.public.coefficients.T
    return Corrected(
        (distance(-bound, symbols), distance(-bound, s.symbols)), distance(bound, symbols)
    )


@listed("R-1.23-identities")
def free_transitivity() -> Residual:
    turned = straight.worst(lambda m: m.view.public.W[: m.k])
    return [s.public.W[: s.k] for s in motions(*SOLVED)], excess(1e-3 - turned)
