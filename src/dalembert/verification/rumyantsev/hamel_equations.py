"""Rumyantsev: section 3, Hamel's equations and their canonical form (eqs. 3.1 to 3.8).

Formulas are tried on quasi-velocities without an inverse in closed form, at accelerations of the
library; the library's own form is tried on quasi-velocities that it can invert.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...typing import Array
from ..independent.instant_samples import MotionSample, QuasiSample, bound_probe, motions
from ..independent.quasi_velocity_references import constrained_system, quasi_system
from ..numeric import Probe, Residual, derivative, distance, excess
from ..row_registry import listed
from .quasi_motions import QuasiMotion, bent, quasi, straight

#: Systems whose T on the constraints is quadratic: the momenta are the state of canonical forms.
quadratic = motions.of("linear", "affine")


@cache
def quasi_probe(kind: str, equations_kind: str, form: str = "hamel", bent: bool = False) -> Probe:
    """The library's equations of a random system in random quasi-velocities."""
    stated = quasi_system(kind, bent).expressions()
    options: dict[str, Any] = {"quasi_velocities": stated, "kind": equations_kind}
    return Probe(derive(constrained_system(kind).system, form, **options), {})


def implicit_accelerations(m: QuasiMotion, equations_kind: str, form: str = "hamel") -> float:
    """The library's q_ddot in quasi-velocities without a closed inverse, against a dense system."""
    s = m.s
    rates = quasi_probe(s.model.kind, equations_kind, form, bent=True).rates(s.time, s.state)
    return distance(rates[len(s.q) :], dense_accelerations(s))


def dense_accelerations(s: MotionSample) -> Any:
    """q_ddot by one dense system, (n,)."""
    return s.model.accelerations(s.q, s.v, s.time)[0]


def _library_hamel(equations_kind: str) -> float:
    """The library's rates of q and eta against those along dense accelerations."""

    def residual(m: QuasiMotion) -> float:
        s, z = m.s, dense_accelerations(m.s)
        eta_rate = QuasiSample(m.view.quasi, s.time, s.q, s.v, z).eta_rate
        probe, state = quasi_probe(s.model.kind, equations_kind), [s.q, m.view.eta[: s.k]]
        expected = np.concatenate([s.v, eta_rate[: s.k]])
        return distance(probe.rates(s.time, np.concatenate(state)), expected)

    return max(
        straight.worst(residual), bent.worst(lambda m: implicit_accelerations(m, equations_kind))
    )


@listed("R-3.1")
def maggi_equations() -> Residual:
    def library(s: MotionSample) -> float:
        rates = bound_probe(s.model.kind, "maggi").rates(s.time, np.concatenate([s.q, s.w]))
        return distance(rates[len(s.q) :], dense_accelerations(s)[: s.k])

    return bent.worst(lambda m: m.s.euler @ m.frame), motions.worst(library)


@listed("R-3.2-chain")
def lagrangian_in_quasi_velocities() -> Residual:
    def residual(m: QuasiMotion) -> Residual:
        s, view = m.s, m.view
        at_eta = derivative(lambda x: m.lagrangian(x, view.eta, s.time), s.q)
        by_definition = derivative(lambda x: view.quasi.definition(x, s.v, s.time), s.q)
        by_position = derivative(lambda x: s.model.lagrangian(x, s.v, s.time), s.q)
        rate = m.y_rate @ view.rows + m.y @ view.rate(view.quasi.rows)
        return (
            distance(at_eta + m.y @ by_definition, by_position),
            distance(view.by_eta(m.lagrangian) @ view.rows, s.p),
            distance(rate, s.rate(s.model.momenta)),
        )

    def library(m: QuasiMotion) -> float:
        return distance(m.view.library["lagrangian_by_eta"] @ m.view.rows, m.s.p)

    return bent.worst(residual), straight.worst(library)


listed("R-3.2")(
    lambda: (
        bent.worst(lambda m: m.y_rate[: m.k] + m.y @ m.W - m.by_pi),
        _library_hamel("first"),
    )
)
listed("R-3.3")(
    lambda: (
        bent.worst(lambda m: m.y_rate[: m.k] - m.y @ m.view.rows @ m.T - m.by_pi),
        _library_hamel("second"),
    )
)
listed("R-3.3-momenta", over=bent)(
    lambda m: m.y_rate[: m.k] - m.s.library["momenta"] @ m.T - m.by_pi
)


@listed("R-3.3-order", over=bent)
def order_of_substitution(m: QuasiMotion) -> Residual:
    early = m.y_rate[: m.k] + m.y[: m.k] @ m.W[: m.k] - m.by_pi
    missing = m.y[m.k :] @ m.W[m.k :]
    return distance(early, -missing), excess(1e-3 - np.max(np.abs(missing)))


@listed("R-3.4", over=bent)
def holder_in_quasi_coordinates(m: QuasiMotion) -> Residual:
    s, varied = m.s, m.y @ m.d_eta + m.by_pi @ m.s.sigma
    dq, dv = m.frame @ s.sigma, m.turning[:, : m.k] @ s.sigma + m.frame @ s.sigma_dot
    public = m.integrands
    return (
        varied - m.boundary_rate,
        distance(varied, s.varied(s.model.lagrangian, dq, dv)),
        distance(public.hoelder[0], varied),
        (public.defect, public.spread),
    )


def canonical_residual(s: MotionSample, form: str, **options: str) -> float:
    """The library's rates of q and of the momenta of w against those along dense accelerations."""
    moving = s.moved(dense_accelerations(s)[: s.k])
    expected = np.concatenate([s.v, moving.rate_on(s.model.constrained_momenta)])
    rates = bound_probe(s.model.kind, form, **options).rates(s.time, canonical_state(s))
    return distance(rates, expected)


def canonical_motion(m: QuasiMotion, equations_kind: str = "first") -> Residual:
    """The library's canonical form in stated quasi-velocities against dense accelerations."""
    s, z = m.s, dense_accelerations(m.s)
    if m.view.quasi.bent:
        return implicit_accelerations(m, equations_kind, "canonical-quasi")
    probe = quasi_probe(s.model.kind, equations_kind, "canonical-quasi")
    if s.model.kind in ("nonlinear", "general"):
        return distance(probe.rates(s.time, s.state)[len(s.q) :], z)
    moving = QuasiMotion(s, QuasiSample(m.view.quasi, s.time, s.q, s.v, z))
    rates = probe.rates(s.time, np.concatenate([s.q, m.y[: s.k]]))
    return distance(rates, np.concatenate([s.v, moving.y_rate[: s.k]]))


def canonical_state(s: MotionSample) -> Array:
    """(q, y_s) for eta_s = q_dot_s on the constraints."""
    return np.concatenate([s.q, s.model.constrained_momenta(s.q, s.w, s.time)])


@listed("R-3.5")
def legendre_in_quasi_velocities() -> Residual:
    def residual(m: QuasiMotion) -> Residual:
        return (
            distance(m.view.by_eta(m.lagrangian), m.y),
            distance(m.hamiltonian_by_y, m.view.eta),
            distance(m.hamiltonian_by_pi, -m.by_pi),
        )

    def library(s: MotionSample) -> float:
        rates = bound_probe(s.model.kind, "canonical-quasi").rates(s.time, canonical_state(s))
        return distance(rates[: len(s.q)], s.v)

    return bent.worst(residual), quadratic.worst(library), bent.worst(_library_momenta)


def _library_momenta(m: QuasiMotion) -> float:
    """The momenta of the canonical form, which are outputs y(q, v, t) without a formula."""
    s, probe = m.s, quasi_probe(m.s.model.kind, "first", "canonical-quasi", bent=True)
    momenta = [probe.equations.system.outputs[f"y_quasi{k + 1}"] for k in range(m.s.k)]
    return distance(probe.value(momenta, s.time, s.state), m.y[: s.k])


@listed("R-3.6")
def canonical_equations() -> Residual:
    def residual(m: QuasiMotion) -> Residual:
        left = m.y_rate[: m.k] + m.y @ m.W + m.hamiltonian_by_pi
        bound = np.concatenate([m.view.eta[: m.k], np.zeros(m.s.model.r)])
        return left, distance(m.hamiltonian_by_y, bound)

    library = [canonical_residual(s, "canonical-quasi") for s in quadratic]
    return bent.worst(residual), library, quasi.worst(canonical_motion)


listed("R-3.7")(
    lambda: (
        bent.worst(lambda m: m.y_rate[: m.k] - m.y @ m.view.rows @ m.T + m.hamiltonian_by_pi),
        [canonical_residual(s, "canonical-quasi", kind="second") for s in quadratic],
        quasi.worst(lambda m: canonical_motion(m, "second")),
    )
)


@listed("R-3.8")
def second_holder_form() -> Residual:
    random = np.random.default_rng(41)

    def residual(m: QuasiMotion) -> float:
        s, dq, dy = m.s, m.frame @ m.s.sigma, random.uniform(-1, 1, len(m.s.q))
        along = derivative(lambda e: m.hamiltonian(s.q + e[0] * dq, m.y + e[0] * dy, s.time), [0.0])
        return float(m.y @ m.d_eta + m.view.eta @ dy - along[0]) - m.boundary_rate

    return bent.worst(residual)
