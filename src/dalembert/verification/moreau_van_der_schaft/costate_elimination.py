"""Moreau and van der Schaft, Implicit Lagrangian equations: the costate differentiated and eliminated (7 to 14).

Random systems of `image_systems`. The library gives extremals with their costate, extremals with the costate eliminated, and
motions by d'Alembert's principle; the independent implementation takes brackets and rates by complex steps.
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
from ..independent.image_systems import SIZE, ImageSystem, Spot, image_system, over_spots, spots
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import claim
from .pontryagin_extremals import (
    APART,
    INDEPENDENT,
    REGULAR,
    dalembert_motion,
    extremal_motion,
    extremal_rates,
    lagrangian_state,
    probe,
)


def _speeds(twin: ImageSystem, x: Any, rate: Any) -> Any:
    """Speeds of the image with a given velocity (k,)."""
    return np.linalg.lstsq(twin.frame(x), rate, rcond=None)[0]


def _speed_rates(twin: ImageSystem, x: Any, u: Any, second: Any) -> Any:
    """Rates of the speeds with a given x_ddot (k,)."""
    return np.linalg.lstsq(twin.frame(x), second - twin.second(x, u, np.zeros(len(u))), rcond=None)[0]


# -- the differentiated equations --------------------------------------------------------------------------------------


@claim(
    "M-7",
    "Differentiating eq. 5 leaves x_dot = E_a u_a as it is: x_ddot is E u_dot plus the turning of E",
    how=f"{INDEPENDENT}: what the library's x_ddot along extremals leaves outside the image",
)
def differentiated_positions() -> float:
    def residual(s: Spot) -> float:
        rate, _, second = extremal_rates(s)
        u = _speeds(s.twin, s.x, rate)
        u_dot = _speed_rates(s.twin, s.x, u, second)
        return distance(second, s.twin.second(s.x, u, u_dot))

    return over_spots(residual, *REGULAR)


def _left(s: Spot, u: Any, u_dot: Any) -> Any:
    """F_a d/dt L_v - E_a L_x along the path with speeds u and their rates (k,)."""
    twin, rate = s.twin, s.twin.frame(s.x) @ u

    def momenta(w: Any) -> Any:
        x = s.x + w[0] * rate
        return twin.momenta(x, twin.fibre_frame(x) @ (u + w[0] * u_dot))

    v = twin.fibre_frame(s.x) @ u
    by_place = derivative(lambda y: twin.lagrangian(y, v), s.x)
    return derivative(momenta, [0.0])[:, 0] @ twin.fibre_frame(s.x) - by_place @ twin.frame(s.x)


def turning_of_fields(s: Spot, u: Any) -> Any:
    """{E_a dF_b/dx - E_b dF_a/dx} u_b (3, k), indexed by fibre and a."""
    twin, E = s.twin, s.twin.frame(s.x)
    along = np.stack([twin.along(twin.fibre_frame, s.x, E[:, a]) @ u for a in range(E.shape[1])], axis=1)
    return along - twin.along(twin.fibre_frame, s.x, E @ u)


@claim(
    "M-8",
    "F_a d/dt L_v - E_a L_x = xi {E_b dE_a - E_a dE_b} u_b + L_v {E_a dF_b - E_b dF_a} u_b",
    how=f"{INDEPENDENT}: both sides by complex steps at the library's velocities and accelerations along extremals",
)
def differentiated_condition() -> float:
    def residual(s: Spot) -> float:
        twin, (rate, _, second) = s.twin, extremal_rates(s)
        u = _speeds(twin, s.x, rate)
        u_dot = _speed_rates(twin, s.x, u, second)
        k = len(u)
        brackets = np.array([[s.xi @ twin.bracket(s.x, b, a) for a in range(k)] for b in range(k)])
        p = twin.momenta(s.x, twin.fibre_frame(s.x) @ u)
        return distance(_left(s, u, u_dot), u @ brackets + p @ turning_of_fields(s, u))

    return over_spots(residual, *REGULAR)


@claim(
    "M-9",
    "L_v F_a = xi E_a holds all along",
    how=f"{INDEPENDENT}: the complex-step rate of both sides along the library's (x_dot, x_ddot, xi_dot)",
)
def condition_along_extremals() -> float:
    def residual(s: Spot) -> float:
        rate, xi_dot, second = extremal_rates(s)

        def gap(w: Any) -> Any:
            x, xi = s.x + w[0] * rate, s.xi + w[0] * xi_dot
            v = s.twin.sigma(x) @ (rate + w[0] * second)
            return s.twin.momenta(x, v) @ s.twin.fibre_frame(x) - xi @ s.twin.frame(x)

        return worst(derivative(gap, [0.0])[:, 0])

    return over_spots(residual, *REGULAR)


@claim(
    "M-10",
    "v = F_a u_a all along, with the u of eq. 5",
    how="library extremals of random systems over one second: velocities of the stored motion against the independent "
    "implementation's",
    tolerance=1e-9,
)
def fibre_velocity_along_extremals() -> float:
    found = []
    for kind in REGULAR:
        twin, motion = image_system(kind), extremal_motion(kind)
        rates = np.array([motion[f"{q.name}_dot"] for q in twin.system.coordinates])
        for y, rate in zip(motion.y.T, rates.T, strict=True):
            x = y[:SIZE]
            found.append(distance(twin.sigma(x) @ rate, twin.fibre_frame(x) @ twin.optimal_speeds(x, y[SIZE:])))
    return worst(found)


# -- elimination of the costate ----------------------------------------------------------------------------------------


@cache
def _costate_free(kind: str) -> Probe:
    """The library's extremals with the costate eliminated, in (x, u)."""
    return Probe(derive(image_system(kind).system, "pontryagin", eliminate_costate=True), {})


@claim(
    "M-11",
    "The image is involutive where E_b dE_a - E_a dE_b = c_bad E_d; the structure functions need not vanish",
    how="brackets by complex steps, projected on E; the library's verdicts on each image, and its refusal",
)
def involutivity() -> float:
    found = []
    for kind in REGULAR:
        system = image_system(kind).system
        judged = {classify(take_apart(system, {}, {})).constraints[0].integrable, is_involutive(system)}
        for s in spots(kind):
            table, rest = s.twin.structure(s.x)
            found += [float(judged != {rest < 1e-10}), excess(APART - float(np.max(np.abs(table))))]
            found.append(rest if kind == "flat" else excess(APART - rest))
    try:
        _costate_free("curved")
        found.append(1.0)
    except FormError:
        found.append(0.0)
    return worst(found)


@claim(
    "M-sec2-costate",
    "On an involutive image the part of xi that annihilates the image does not matter and can be eliminated; on another it"
    " does",
    how="the library's x_ddot along extremals with two costates that differ by such a part",
)
def costate_elimination() -> float:
    def moved(s: Spot) -> float:
        other = replace(s, xi=s.xi + np.array([0.7, -0.4]) @ s.twin.rows(s.x))
        return distance(extremal_rates(other)[2], extremal_rates(s)[2])

    return largest(over_spots(moved, "flat"), excess(APART - min(moved(s) for s in spots("curved"))))


@claim(
    "M-12",
    "Without the costate x_dot = E_a u_a still: the extremals of an involutive image are motions in (x, u) alone",
    how="library extremals and library motions in (x, u) of a random involutive image, from one start over one second",
    tolerance=1e-8,
)
def motion_without_costate() -> float:
    extremal, other = extremal_motion("flat"), dalembert_motion("flat")
    twin = image_system("flat")
    rate = twin.frame(other.y[:SIZE, -1]) @ other.y[SIZE:, -1]
    return largest(
        distance(extremal.y[:SIZE, -1], other.y[:SIZE, -1]),
        distance([extremal[f"{q.name}_dot"][-1] for q in twin.system.coordinates], rate),
    )


@claim(
    "M-13",
    "F_a d/dt L_v - E_a L_x = L_v {F_d c_bad + E_a dF_b - E_b dF_a} u_b",
    how="a random involutive image: both sides by complex steps at the library's u_dot with the costate eliminated, which is"
    " that of its motion by d'Alembert's principle",
)
def closed_equations() -> float:
    def residual(s: Spot) -> float:
        u_dot = _costate_free(s.twin.kind).rates(0.0, lagrangian_state(s))[SIZE:]
        other = probe(s.twin.kind, "implicit-lagrangian").rates(0.0, lagrangian_state(s))[SIZE:]
        table, _ = s.twin.structure(s.x)
        bent = np.einsum("b,bad,md->ma", s.u, table, s.twin.fibre_frame(s.x))
        right = s.p @ (bent + turning_of_fields(s, s.u))
        return largest(distance(_left(s, s.u, u_dot), right), distance(u_dot, other))

    return over_spots(residual, "flat")


@claim(
    "M-14",
    "v = F_a u_a closes the system in (x, v, u): x_dot, momenta and energy follow from x and u alone",
    how="a random involutive image: the library's velocities, momenta and energy with the costate eliminated against sigma E u,"
    " sigma^T L_v and L_v . v - L at v = F u",
)
def closed_fibre_velocity() -> float:
    def residual(s: Spot) -> float:
        blocks = _costate_free(s.twin.kind).blocks(0.0, lagrangian_state(s))
        return largest(
            distance(s.twin.sigma(s.x) @ blocks.velocities, s.v),
            distance(blocks.momenta, s.twin.plain_momenta(s.x, s.rate)),
            distance(blocks.energy, s.twin.energy(s.x, s.v)),
        )

    return over_spots(residual, "flat")
