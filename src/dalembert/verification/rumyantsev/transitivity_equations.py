"""Rumyantsev: section 1.1, transitivity equations (eqs. 1.1 to 1.13).

Every row compares the library with a `ConstrainedSystem`: linear, affine and nonlinear random
constraints that depend on time, with derivatives by complex steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev

from ... import gallery
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...typing import Array, ArrayLike
from ..independent.instant_samples import (
    MotionSample,
    ReductionProbe,
    motions,
    over_interval,
)
from ..independent.quasi_velocity_references import KINDS
from ..independent.random_systems import random_states, random_system
from ..numeric import Residual, Residuals, derivative, distance, excess, gallery_probe, null_space
from ..row_registry import Corrected, listed
from ..samples import Sampler

SOLVED = tuple(kind for kind in KINDS if kind != "general")


def _on_and_off(kind: str) -> Iterator[MotionSample]:
    for s in motions(kind):
        yield s
        yield s.elsewhere


#: Random states on the constraints, with accelerations of the motion and with others.
on_and_off = Sampler(_on_and_off, KINDS, keep=False)
linear = motions.of("linear", "affine")


def run(s: MotionSample, state: ArrayLike, span: float, at: Array | None = None) -> Motion:
    """The library's motion of a sample's system from a state, without projection."""
    names, tolerance = [x.name for x in s.probe.equations.state], 1e-11 if at is None else 1e-12
    start = dict(zip(names, np.asarray(state), strict=True))
    times = (s.time, s.time + span)
    return simulate(s.probe.equations, start, times, rtol=tolerance, at=at, project=at is not None)


@listed("R-1.1", over=motions.first(1))
def constraints_hold(s: MotionSample) -> Residuals:
    n, motion = len(s.q), run(s, s.state, 1)
    for time, y in zip(motion.t[::4], motion.y.T[::4], strict=True):
        rows = s.model.constraint_rows(y[:n], y[n:], time)
        yield s.model.constraint(y[:n], y[n:], time)
        yield excess(1e-3 - np.linalg.svd(rows)[1][-1])


@listed("R-1.2", over=motions.of(*SOLVED))
def solved_constraints(s: MotionSample) -> Corrected:
    v = s.v + np.concatenate([np.zeros(s.k), s.sigma[0] * np.ones(s.model.r)])
    value = s.model.constraint(s.q, v, s.time)
    return Corrected(distance(v[s.k :] - s.library["solved"], value), distance(v[s.k :], value))


listed("R-1.3", over=motions)(lambda s: s.euler @ null_space(s.rows))
listed("R-1.4", over=motions)(
    lambda s: (
        s.rows @ s.library["frame"],
        s.probe.reaction(s.time, s.state) @ null_space(s.rows),
    )
)


@listed("R-1.5", over=motions)
def chetaev_solved(s: MotionSample) -> Residual:
    by_steps = derivative(lambda w: s.model.solved(s.q, w, s.time), s.w)
    return distance(s.library["frame"][s.k :] @ s.sigma, by_steps @ s.sigma)


def _integrand(s: MotionSample) -> float:
    """L_q . dq + L_v . d(dq)/dt, with the library's momenta."""
    by_position = derivative(lambda x: s.model.lagrangian(x, s.v, s.time), s.q)
    return float(by_position @ s.dq + s.library["momenta"] @ s.dq_rate)


listed("R-1.6")(
    lambda: (
        over_interval(_integrand),
        motions.worst(lambda s: _integrand(s) - s.boundary_rate),
    )
)


@listed("R-1.7", over=motions.first(1))
def commutation(s: MotionSample) -> Residual:
    n, points = len(s.q), chebyshev.chebpts2(24)
    times = s.time + 0.4 * (points + 1)

    def neighbour(sign: int) -> Array:
        q, w = s.q + sign * 0.03, s.w + sign * 0.05
        state = np.concatenate([q, s.model.on_constraints(q, w, s.time)])
        start = dict(zip([x.name for x in s.probe.equations.state], state, strict=True))
        span = (times[0], times[-1])
        return simulate(s.probe.equations, start, span, rtol=1e-12, at=times).y

    change = neighbour(1) - neighbour(-1)
    series = chebyshev.chebfit(points, change[:n].T, len(points) - 1)
    return distance(chebyshev.chebval(points, chebyshev.chebder(series)) / 0.4, change[n:])


@listed("R-1.8", over=on_and_off)
def variation_of_constraints(s: MotionSample) -> Residual:
    frame, dq = s.library["frame"], s.library["frame"] @ s.sigma
    dq_rate = s.library["frame_rate"] @ s.sigma + frame @ s.sigma_dot
    return distance(s.varied(s.model.constraint, dq, dq_rate), s.turning @ dq)


@listed("R-1.8-integrable")
def integrable_constraints() -> Residual:
    probe = ReductionProbe(random_system("holonomic").system, {}, ("q3",))
    states = random_states("holonomic", 4, consistent=False)
    return (
        [probe(time, q, p[:1], p[1:2])["symbols"] for time, q, p in states],
        [excess(1e-3 - np.max(np.abs(s.public.coefficients.T))) for s in motions],
    )


@listed("R-1.8-motion")
def constraint_varied_on_motion() -> Residuals:
    scenario = gallery.load("appell")
    symbols = ReductionProbe(scenario.system, scenario.parameters, ("q1", "q2"))
    probe = gallery_probe("appell", "lagrange")
    for q, w in zip(*np.random.default_rng(5).uniform(0.5, 2, (2, 4, 3)), strict=True):
        state = np.concatenate([q, w[:2], [scenario.parameters["a"] * np.hypot(*w[:2])]])
        z = probe.rates(0.0, state)[3:5]
        on, off = (symbols(0.0, q, w[:2], a)["symbols"] for a in (z, z + np.array([1.0, -2.0])))
        yield on, excess(1e-3 - np.max(np.abs(off)))


@listed("R-1.9", over=on_and_off)
def variation_of_solved_constraints(s: MotionSample) -> Residual:
    return distance(s.public.coefficients.T @ s.sigma, (s.dq_rate - suslov_velocities(s))[s.k :])


def suslov_velocities(s: MotionSample) -> Array:
    """Variations of the velocities with df = 0: rates of dq_s, and d(phi) for the dependent."""
    return np.concatenate([s.dq_rate[: s.k], s.varied_on(s.model.solved, s.dq, s.dq_rate[: s.k])])


@listed("R-1.10", over=on_and_off)
def symbols_of_constraints(s: MotionSample) -> Residual:
    by_position = derivative(lambda x: s.model.solved(x, s.w, s.time), s.q)
    formula = s.rate_on(s.model.solved_rows) - by_position[:, : s.k]
    rest = by_position[:, s.k :] @ s.model.solved_rows(s.q, s.w, s.time)
    return distance(s.public.coefficients.T, formula - rest)


@listed("R-1.11", over=motions)
def appell_suslov(s: MotionSample) -> Residual:
    dq = s.library["frame"] @ s.sigma
    moved = np.max(np.abs(s.varied(s.model.constraint, dq, s.dq_rate)))
    return s.varied(s.model.constraint, dq, suslov_velocities(s)), excess(1e-3 - moved)


listed("R-1.12", over=on_and_off)(variation_of_solved_constraints)


def _coefficients(s: MotionSample, q: Array, time: float) -> tuple[Array, Array]:
    """a_ls (r, k) and a_l (r,) of constraints v_{k+l} = a_ls(q, t) w_s + a_l(q, t)."""
    zero = np.zeros(s.k)
    return s.model.solved_rows(q, zero, time), s.model.solved(q, zero, time)


@listed("R-1.13", over=linear)
def linear_symbols(s: MotionSample) -> Residual:
    def solved(q: Array) -> Any:
        a, rest = _coefficients(s, q, s.time)
        return a @ s.w + rest

    by_position = derivative(solved, s.q)
    own, other = by_position[:, : s.k], by_position[:, s.k :]
    rate = s.rate(lambda q, v, time: _coefficients(s, q, time)[0])
    return distance(s.public.coefficients.T, rate - own - other @ _coefficients(s, s.q, s.time)[0])


@listed("R-1.13-suslov", over=linear)
def linear_symbols_varied(s: MotionSample) -> Residual:
    def along(i: int) -> Any:
        return derivative(lambda e: _coefficients(s, s.q + e[0] * s.dq, s.time)[i], [0.0])[..., 0]

    varied, rest = along(0), along(1)
    rate = s.rate(lambda q, v, time: _coefficients(s, q, time)[0])
    return distance(s.public.coefficients.T @ s.sigma, rate @ s.sigma - varied @ s.w - rest)
