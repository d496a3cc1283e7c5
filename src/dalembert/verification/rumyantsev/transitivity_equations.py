"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 1.1, transitivity equations (eqs. 1.1 to 1.13).

Every row compares the library with `BoundTwin`: random systems under linear, affine and nonlinear constraints that depend on
time, with derivatives by complex steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import gallery
from ...integrate.simulate import simulate
from ..independent.instant_samples import (
    Instant,
    ReductionProbe,
    instants,
    over_instants,
    over_interval,
)
from ..independent.quasi_velocities import KINDS
from ..independent.random_systems import random_states, twin
from ..numeric import derivative, distance, excess, gallery_probe, largest, null_space, worst
from ..row_registry import Corrected, claim

BOUND = "random linear, affine and nonlinear constraints"
SOLVED = tuple(kind for kind in KINDS if kind != "general")


@claim(
    "R-1.1",
    "Constraints f(q, q_dot, t) = 0 may be nonlinear in the velocities; their rows f_v have rank r along the motion",
    how=f"{BOUND}: f and the least singular value of f_v by hand along library motions without projection",
    tolerance=1e-9,
)
def constraints_hold() -> float:
    found = []
    for s in instants(count=1):
        n, names = len(s.q), [symbol.name for symbol in s.probe.equations.state]
        start = dict(zip(names, s.state, strict=True))
        motion = simulate(s.probe.equations, start, (s.time, s.time + 1), rtol=1e-11, project=False)
        for time, y in zip(motion.t[::4], motion.y.T[::4], strict=True):
            rows = s.twin.constraint_rows(y[:n], y[n:], time)
            found += [worst(s.twin.constraint(y[:n], y[n:], time)), excess(1e-3 - np.linalg.svd(rows)[1][-1])]
    return worst(found)


@claim(
    "R-1.2",
    "Solved constraints read f_l = q_dot_{k+l} - phi_l = 0; the print has a comma that splits the difference",
    how=f"{BOUND}, at velocities off them: f by hand against q_dot_{{k+l}} less the library's phi; as printed, q_dot_{{k+l}}"
    " alone",
)
def solved_constraints() -> Corrected:
    right, printed = [], []
    for s in instants(SOLVED):
        v = s.v + np.concatenate([np.zeros(s.k), s.sigma[0] * np.ones(s.twin.r)])
        value = s.twin.constraint(s.q, v, s.time)
        right.append(distance(v[s.k :] - s.library["solved"], value))
        printed.append(distance(v[s.k :], value))
    return Corrected(worst(right), worst(printed))


@claim(
    "R-1.3",
    "The principle of d'Alembert and Lagrange: (L_q - d/dt L_v) . dq = 0 for every virtual displacement",
    how=f"{BOUND}: Euler's operator by complex steps at library accelerations, on all vectors that f_v takes to zero",
)
def dalembert_lagrange() -> float:
    return over_instants(lambda s: worst(s.euler @ null_space(s.rows)))


@claim(
    "R-1.4",
    "Virtual displacements satisfy f_v dq = 0 (Chetaev); the reaction does no work on them",
    how=f"{BOUND}: f_v by hand on the library's displacements, and the library's reaction on a null space of f_v",
)
def chetaev() -> float:
    def residual(s: Instant) -> float:
        reaction = s.probe.reaction(s.time, s.state)
        return largest(worst((s.rows @ s.library["frame"]).ravel()), worst(reaction @ null_space(s.rows)))

    return over_instants(residual)


@claim(
    "R-1.5",
    "For solved constraints dq_{k+l} = phi_{l, q_dot_s} dq_s",
    how=f"{BOUND}: the library's displacements against complex steps of phi",
)
def chetaev_solved() -> float:
    def residual(s: Instant) -> float:
        by_steps = derivative(lambda w: s.twin.solved(s.q, w, s.time), s.w)
        return distance(s.library["frame"][s.k :] @ s.sigma, by_steps @ s.sigma)

    return over_instants(residual)


def _integrand(s: Instant) -> float:
    """L_q . dq + L_v . d(dq)/dt, with the library's momenta."""
    by_position = derivative(lambda x: s.twin.lagrangian(x, s.v, s.time), s.q)
    return float(by_position @ s.dq + s.library["momenta"] @ s.dq_rate)


@claim(
    "R-1.6",
    "Along a motion the integral of L_q dq + L_v d(dq)/dt vanishes for virtual displacements that vanish at both ends",
    how=f"{BOUND}: quadrature along library motions; the integrand less d/dt (L_v dq) at random states",
    tolerance=1e-9,
)
def integrated_principle() -> float:
    return largest(over_interval(_integrand), over_instants(lambda s: _integrand(s) - s.boundary_rate))


@claim(
    "R-1.7",
    "For displacements to a neighbouring curve d(dq)/dt = d(q_dot) in all coordinates",
    how=f"{BOUND}: differences of neighbouring library motions, differentiated in time through Chebyshev points, against the"
    " differences of their velocities",
    tolerance=1e-8,
)
def commutation() -> float:
    found = []
    for kind in KINDS:
        s = next(instants([kind]))
        n, names = len(s.q), [symbol.name for symbol in s.probe.equations.state]
        points = np.polynomial.chebyshev.chebpts2(24)
        times = s.time + 0.4 * (points + 1)
        sides = []
        for sign in (1, -1):
            w = s.w + sign * 0.05
            state = np.concatenate([s.q + sign * 0.03, s.twin.on_constraints(s.q + sign * 0.03, w, s.time)])
            start = dict(zip(names, state, strict=True))
            sides.append(simulate(s.probe.equations, start, (times[0], times[-1]), rtol=1e-12, at=times).y)
        change = sides[0] - sides[1]
        series = np.polynomial.chebyshev.chebfit(points, change[:n].T, len(points) - 1)
        rate = np.polynomial.chebyshev.chebval(points, np.polynomial.chebyshev.chebder(series)) / 0.4
        found.append(distance(rate, change[n:]))
    return worst(found)


@claim(
    "R-1.8",
    "With d(dq)/dt = d(q_dot) and f_v dq = 0, the variation of f is (f_q - d/dt f_v) . dq",
    how=f"{BOUND}: complex steps of f along the library's displacement and its rate, against the bracket",
)
def variation_of_constraints() -> float:
    def residual(s: Instant) -> float:
        dq = s.library["frame"] @ s.sigma
        dq_rate = s.library["frame_rate"] @ s.sigma + s.library["frame"] @ s.sigma_dot
        return distance(s.varied(s.twin.constraint, dq, dq_rate), s.turning @ dq)

    return worst(residual(item) for s in instants() for item in (s, s.elsewhere))


@claim(
    "R-1.8-integrable",
    "The variations of integrable constraints vanish identically, and then agree with d(dq)/dt = d(q_dot); others do not"
    " vanish",
    how="the library's symbols A of random rheonomic holonomic constraints at random accelerations; those of random"
    " nonholonomic constraints must not vanish",
)
def integrable_constraints() -> float:
    probe, found = ReductionProbe(twin("holonomic").system, {}, ("q3",)), []
    for time, q, p in random_states("holonomic", 4, consistent=False):
        found.append(worst(probe(time, q, p[:1], p[1:2])["symbols"]))
    found += [excess(1e-3 - np.max(np.abs(s.library["symbols"]))) for s in instants()]
    return worst(found)


@claim(
    "R-1.8-motion",
    "The variation of a nonlinear nonintegrable constraint may vanish by the equations of motion, though not identically",
    how="the library's symbols A of Appell's constraint: zero at library accelerations of random states, not at others",
)
def constraint_varied_on_motion() -> float:
    scenario = gallery.load("appell")
    symbols = ReductionProbe(scenario.system, scenario.parameters, ("q1", "q2"))
    probe, found = gallery_probe("appell", "lagrange"), []
    for q, w in zip(*np.random.default_rng(5).uniform(0.5, 2, (2, 4, 3)), strict=True):
        state = np.concatenate([q, w[:2], [scenario.parameters["a"] * np.hypot(*w[:2])]])
        z = probe.rates(0.0, state)[3:5]
        found.append(worst(symbols(0.0, q, w[:2], z)["symbols"]))
        found.append(excess(1e-3 - worst(symbols(0.0, q, w[:2], z + np.array([1.0, -2.0]))["symbols"])))
    return worst(found)


@claim(
    "R-1.9",
    "For solved constraints the variation is d(q_dot_{k+l}) - d(phi_l) = A_s^{k+l} dq_s",
    how=f"{BOUND}: complex steps of phi along varied curves against the library's symbols, on and off the motion",
)
def variation_of_solved_constraints() -> float:
    def residual(s: Instant) -> float:
        varied = s.dq_rate[s.k :] - s.varied_on(s.twin.solved, s.dq, s.dq_rate[: s.k])
        return distance(s.library["symbols"] @ s.sigma, varied)

    return worst(residual(item) for s in instants() for item in (s, s.elsewhere))


@claim(
    "R-1.10",
    "A_s^{k+l} = d/dt phi_{l, q_dot_s} - phi_{l, q_s} - phi_{l, q_{k+v}} phi_{v, q_dot_s}",
    how=f"{BOUND}: the library's symbols against complex steps of phi, on and off the motion",
)
def symbols_of_constraints() -> float:
    def residual(s: Instant) -> float:
        by_position = derivative(lambda x: s.twin.solved(x, s.w, s.time), s.q)
        formula = s.rate_on(s.twin.solved_rows) - by_position[:, : s.k]
        return distance(s.library["symbols"], formula - by_position[:, s.k :] @ s.twin.solved_rows(s.q, s.w, s.time))

    return worst(residual(item) for s in instants() for item in (s, s.elsewhere))


def _suslov_velocities(s: Instant) -> Any:
    """The variations of all velocities in the sense of Appell and Suslov: (1.11), and df = 0 for the others."""
    return np.concatenate([s.dq_rate[: s.k], s.varied_on(s.twin.solved, s.dq, s.dq_rate[: s.k])])


@claim(
    "R-1.11",
    "Where df = 0 is required, d(dq_s)/dt = d(q_dot_s) can hold for the independent velocities only",
    how=f"{BOUND}: f stays zero along the library's displacement with the dependent variations from phi, and moves where all"
    " velocities commute",
)
def appell_suslov() -> float:
    def residual(s: Instant) -> float:
        dq = s.library["frame"] @ s.sigma
        kept = worst(s.varied(s.twin.constraint, dq, _suslov_velocities(s)))
        return largest(kept, excess(1e-3 - worst(s.varied(s.twin.constraint, dq, s.dq_rate))))

    return over_instants(residual)


@claim(
    "R-1.12",
    "Then d(dq_{k+l})/dt less the variation of q_dot_{k+l} is A_s^{k+l} dq_s",
    how=f"{BOUND}: rate of the displacement and complex steps of phi against the library's symbols",
)
def suslov_transitivity() -> float:
    def residual(s: Instant) -> float:
        return distance(s.library["symbols"] @ s.sigma, (s.dq_rate - _suslov_velocities(s))[s.k :])

    return worst(residual(item) for s in instants() for item in (s, s.elsewhere))


class _Linear:
    """Constraints v_{k+l} = a_ls(q, t) w_s + a_l(q, t) as functions of numbers."""

    def __init__(self, s: Instant) -> None:
        self.s, self.zero = s, np.zeros(s.k)

    def derivatives(self, q: Any, time: Any) -> Any:
        """a_ls (r, k)."""
        return self.s.twin.solved_rows(q, self.zero, time)

    def rest(self, q: Any, time: Any) -> Any:
        """a_l (r,)."""
        return self.s.twin.solved(q, self.zero, time)

    def rate(self) -> Any:
        """d a_ls/dt, (r, k)."""
        return self.s.rate(lambda q, v, time: self.derivatives(q, time))


@claim(
    "R-1.13",
    "For phi_l = a_ls q_dot_s + a_l the symbols are d a_ls/dt - a_li,q_s q_dot_i - a_l,q_s - a_js (a_li,q_{k+j} q_dot_i +"
    " a_l,q_{k+j})",
    how="random linear and affine constraints: the library's symbols against complex steps of the coefficients",
)
def linear_symbols() -> float:
    def residual(s: Instant) -> float:
        a = _Linear(s)
        by_position = derivative(lambda x: a.derivatives(x, s.time) @ s.w + a.rest(x, s.time), s.q)
        own, other = by_position[:, : s.k], by_position[:, s.k :]
        return distance(s.library["symbols"], a.rate() - own - other @ a.derivatives(s.q, s.time))

    return over_instants(residual, ("linear", "affine"))


@claim(
    "R-1.13-suslov",
    "For linear constraints A_s^{k+l} dq_s = (d a_ls/dt) dq_s - q_dot_s d(a_ls) - d(a_l)",
    how="random linear and affine constraints: the library's symbols against variations of the coefficients",
)
def linear_symbols_varied() -> float:
    def residual(s: Instant) -> float:
        a = _Linear(s)
        varied = derivative(lambda e: a.derivatives(s.q + e[0] * s.dq, s.time), [0.0])[..., 0]
        rest = derivative(lambda e: a.rest(s.q + e[0] * s.dq, s.time), [0.0])[..., 0]
        return distance(s.library["symbols"] @ s.sigma, a.rate() @ s.sigma - varied @ s.w - rest)

    return over_instants(residual, ("linear", "affine"))
