"""Moreau and van der Schaft: the costate differentiated and eliminated (eqs. 7 to 14).

Random systems of `image_systems`. The library gives extremals with their costate, extremals with
the costate eliminated, and motions by d'Alembert's principle; the independent implementation takes
brackets and rates by complex steps.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from ...analysis.anatomy import take_apart
from ...analysis.overview.integrability import classify
from ...errors import FormError
from ...formulations.forms.pontryagin import is_involutive
from ...formulations.registry import derive
from ...typing import Array
from ..independent.image_systems import SIZE, ImageSample, ImageSystem, image_system, samples
from ..numeric import Probe, Residual, Residuals, derivative, distance, excess
from ..row_registry import listed
from .pontryagin_extremals import (
    APART,
    REGULAR,
    dalembert_motion,
    extremal_motion,
    extremal_rates,
    lagrangian_state,
    probe,
    regular,
)

flat = samples.of("flat")


def _speeds(s: ImageSample) -> tuple[Array, Array]:
    """Speeds and their rates on the library's extremal (k,) each."""
    (rate, _, second), model, E = extremal_rates(s), s.model, s.model.frame(s.x)
    u = np.linalg.lstsq(E, rate, rcond=None)[0]
    drift = model.second(s.x, u, np.zeros(len(u)))
    return u, np.linalg.lstsq(E, second - drift, rcond=None)[0]


# -- the differentiated equations ------------------------------------------------------------------


listed("M-7", over=regular)(
    lambda s: distance(extremal_rates(s)[2], s.model.second(s.x, *_speeds(s)))
)


def _left(s: ImageSample, u: Array, u_dot: Array) -> Any:
    """F_a d/dt L_v - E_a L_x along the path with speeds u and their rates (k,)."""
    model, rate = s.model, s.model.frame(s.x) @ u

    def momenta(w: Array) -> Any:
        x = s.x + w[0] * rate
        return model.momenta(x, model.fibre_frame(x) @ (u + w[0] * u_dot))

    v = model.fibre_frame(s.x) @ u
    by_place = derivative(lambda y: model.lagrangian(y, v), s.x)
    return derivative(momenta, [0.0])[:, 0] @ model.fibre_frame(s.x) - by_place @ model.frame(s.x)


def turning_of_fields(s: ImageSample, u: Array) -> Any:
    """{E_a dF_b/dx - E_b dF_a/dx} u_b (3, k), indexed by fibre and a."""
    model, E = s.model, s.model.frame(s.x)
    along = [model.along(model.fibre_frame, s.x, direction) @ u for direction in E.T]
    return np.stack(along, axis=1) - model.along(model.fibre_frame, s.x, E @ u)


@listed("M-8", over=regular)
def differentiated_condition(s: ImageSample) -> Residual:
    model, (u, u_dot) = s.model, _speeds(s)
    k = range(len(u))
    brackets = np.array([[s.xi @ model.bracket(s.x, b, a) for a in k] for b in k])
    p = model.momenta(s.x, model.fibre_frame(s.x) @ u)
    return distance(_left(s, u, u_dot), u @ brackets + p @ turning_of_fields(s, u))


@listed("M-9", over=regular)
def condition_along_extremals(s: ImageSample) -> Residual:
    rate, xi_dot, second = extremal_rates(s)

    def gap(w: Array) -> Any:
        x, xi = s.x + w[0] * rate, s.xi + w[0] * xi_dot
        v = s.model.sigma(x) @ (rate + w[0] * second)
        return s.model.momenta(x, v) @ s.model.fibre_frame(x) - xi @ s.model.frame(x)

    return derivative(gap, [0.0])


@listed("M-10")
def fibre_velocity_along_extremals() -> Residuals:
    for kind in REGULAR:
        model, motion = image_system(kind), extremal_motion(kind)
        rates = np.array([motion[f"{q.name}_dot"] for q in model.system.coordinates])
        for y, rate in zip(motion.y.T, rates.T, strict=True):
            x, xi = np.split(y, 2)
            v = model.fibre_frame(x) @ model.optimal_speeds(x, xi)
            yield distance(model.sigma(x) @ rate, v)


# -- elimination of the costate --------------------------------------------------------------------


@cache
def _costate_free(kind: str) -> Probe:
    """The library's extremals with the costate eliminated, in (x, u)."""
    return Probe(derive(image_system(kind).system, "pontryagin", eliminate_costate=True), {})


def _is_refused(model: ImageSystem) -> float:
    try:
        _costate_free(model.kind)
    except FormError:
        return 0.0
    return 1.0


@listed("M-11")
def involutivity() -> Residuals:
    yield [_is_refused(image_system("curved"))]
    for kind in REGULAR:
        system = image_system(kind).system
        integrable = classify(take_apart(system, {}, {})).constraints[0].integrable
        judged = {integrable, is_involutive(system)}
        for s in samples(kind):
            table, rest = s.model.structure(s.x)
            yield float(judged != {rest < 1e-10}), excess(APART - float(np.max(np.abs(table))))
            yield rest if kind == "flat" else excess(APART - rest)


@listed("M-sec2-costate")
def costate_elimination() -> Residual:
    def moved(s: ImageSample) -> float:
        other = replace(s, xi=s.xi + np.array([0.7, -0.4]) @ s.model.rows(s.x))
        return distance(extremal_rates(other)[2], extremal_rates(s)[2])

    return samples.of("flat").worst(moved), excess(APART - min(moved(s) for s in samples("curved")))


@listed("M-12")
def motion_without_costate() -> Residual:
    extremal, other = extremal_motion("flat"), dalembert_motion("flat")
    model, x = image_system("flat"), other.y[:SIZE, -1]
    rates = [extremal[f"{q.name}_dot"][-1] for q in model.system.coordinates]
    velocities = distance(rates, model.frame(x) @ other.y[SIZE:, -1])
    return distance(extremal.y[:SIZE, -1], x), velocities


@listed("M-13", over=flat)
def closed_equations(s: ImageSample) -> Residual:
    forms = (_costate_free(s.model.kind), probe(s.model.kind, "implicit-lagrangian"))
    u_dot, other = (form.rates(0.0, lagrangian_state(s))[SIZE:] for form in forms)
    table, _ = s.model.structure(s.x)
    bent = np.einsum("b,bad,md->ma", s.u, table, s.model.fibre_frame(s.x))
    right = s.p @ (bent + turning_of_fields(s, s.u))
    return distance(_left(s, s.u, u_dot), right), distance(u_dot, other)


@listed("M-14", over=flat)
def closed_fibre_velocity(s: ImageSample) -> Residual:
    blocks = _costate_free(s.model.kind).blocks(0.0, lagrangian_state(s))
    return (
        distance(s.model.sigma(s.x) @ blocks.velocities, s.v),
        distance(blocks.momenta, s.model.plain_momenta(s.x, s.rate)),
        distance(blocks.energy, s.model.energy(s.x, s.v)),
    )
