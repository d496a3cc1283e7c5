"""Rumyantsev, Forms of Hamilton's principle for nonholonomic systems: section 4, the Lagrange problem (eqs. 4.1 to 4.6).

Accelerations and rates of the multipliers chi come from the library's vakonomic form, those of the mechanical motion from its
form with multipliers mu; complex steps of the same systems judge them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ..independent.instant_samples import Instant, ReductionProbe, bound_probe, instants
from ..numeric import Probe, derivative, distance, excess, largest, null_space, panel_nodes, worst
from ..row_registry import Corrected, claim
from .transitivity_equations import BOUND

#: Kinds with more constraints than degrees of freedom: some chi != 0 satisfies (4.4) at every state.
QUIET = ("affine", "general")


@dataclass(frozen=True)
class Extremal:
    """A state with multipliers chi, and the library's accelerations and rates of chi on its vakonomic motion."""

    mechanical: Instant
    motion: Instant
    chi: Any
    chi_dot: Any

    @staticmethod
    def of(s: Instant, chi: Any) -> Extremal:
        """The vakonomic motion through an instant."""
        n = len(s.q)
        rates = bound_probe(s.twin.kind, "vakonomic").rates(s.time, np.concatenate([s.q, s.v, chi]))
        return Extremal(s, replace(s, z=rates[n : 2 * n]), np.asarray(chi), rates[2 * n :])

    @property
    def pull(self) -> Any:
        """chi_l (f_l,q - d/dt f_l,v) on virtual displacements, (k,), which (4.4) wants to vanish."""
        return self.chi @ self.motion.turning @ self.motion.frame

    @property
    def momenta_rate(self) -> Any:
        """The rate of pi = p + chi f_v, (n,)."""
        return self.motion.rate(lambda q, v, time: self.motion.twin.momenta(q, v, time)) + (
            self.chi_dot @ self.motion.rows + self.chi @ self.motion.rate(self.motion.twin.constraint_rows)
        )


@cache
def extremals() -> tuple[Extremal, ...]:
    """Random states of all kinds with random chi."""
    random = np.random.default_rng(51)
    return tuple(Extremal.of(s, random.uniform(0.3, 1, s.twin.r)) for s in instants())


def quiet_chi(s: Instant) -> Any:
    """chi (r,) of length one that satisfies (4.4) at a state of the mechanical motion."""
    return null_space((s.turning @ s.frame).T)[:, 0]


def quiet_extremals() -> Iterator[Extremal]:
    """Random states with a chi that satisfies (4.4)."""
    for s in instants(QUIET):
        yield Extremal.of(s, quiet_chi(s))


@claim(
    "R-4.1",
    "The Lagrange problem: on its motions the integral of d(L + chi_l f_l) vanishes for any dq that vanish at both ends",
    how=f"{BOUND}: quadrature along library motions, with variations that break the constraints",
    tolerance=1e-9,
)
def lagrange_problem() -> float:
    found = []
    for item in (extremals()[2], extremals()[4]):
        s, n, span = item.mechanical, len(item.mechanical.q), 0.8
        nodes, weights = panel_nodes(s.time, s.time + span, 5)
        equations = bound_probe(s.twin.kind, "vakonomic").equations
        start = dict(zip([x.name for x in equations.state], [*s.state, *item.chi], strict=True))
        motion = simulate(equations, start, (s.time, s.time + span), rtol=1e-12, at=nodes)
        angles, total = np.pi / span * np.arange(1, n + 1), 0.0
        for time, y, weight in zip(nodes, motion.y.T, weights, strict=True):
            dq, dv = np.sin(angles * (time - s.time)), angles * np.cos(angles * (time - s.time))
            at = replace(s, time=time, q=y[:n], w=y[n : n + s.k])
            change = at.varied(at.twin.lagrangian, dq, dv) + y[2 * n :] @ at.varied(at.twin.constraint, dq, dv)
            total += weight * float(change)
        found.append(total)
    return worst(found)


@claim(
    "R-4.2",
    "Euler's equations of that problem: d/dt L_v - L_q = chi_l (f_l,q - d/dt f_l,v) - chi_dot_l f_l,v",
    how=f"{BOUND}: both sides by complex steps at the library's vakonomic accelerations and chi_dot; the rate of f there",
)
def euler_equations() -> float:
    def residual(item: Extremal) -> float:
        s = item.motion
        right = item.chi @ s.turning - item.chi_dot @ s.rows
        return largest(distance(s.euler, right), worst(s.rate(s.twin.constraint)))

    return worst(residual(item) for item in extremals())


@claim(
    "R-4.2-constants",
    "Its general solution has 2 n arbitrary constants, r more than the mechanical motion",
    how=f"{BOUND}: states of the library's vakonomic form less the rank of f's derivative by them, against 2 n, and against its"
    " Voronets form",
)
def more_constants() -> float:
    found = []
    for item in extremals():
        s, n = item.mechanical, len(item.mechanical.q)
        vakonomic = len(derive(s.twin.system, "vakonomic").state) - np.linalg.matrix_rank(s.constraint_by_state)
        mechanical = len(derive(s.twin.system, "voronets").state)
        found += [float(vakonomic - 2 * n), float(vakonomic - mechanical - s.twin.r)]
    return worst(found)


@claim(
    "R-4.2-apart",
    "The mechanical equations are not equivalent to (4.2), to which the text refers as (4.1): on a vakonomic motion the left"
    " side of Voronets' equations is chi_l (f_l,q - d/dt f_l,v) on virtual displacements",
    how=f"{BOUND}: Euler's operator projected at the library's vakonomic accelerations, which must differ from the mechanical"
    " ones",
)
def not_equivalent() -> float:
    def residual(item: Extremal) -> float:
        gap = np.max(np.abs(item.motion.z - item.mechanical.z))
        return largest(distance(item.motion.euler @ item.motion.frame, item.pull), excess(1e-3 - gap))

    return worst(residual(item) for item in extremals())


@claim(
    "R-4.3",
    "Where the motions agree, (mu_l + chi_dot_l) f_l,v = chi_l (f_l,q - d/dt f_l,v)",
    how=f"{BOUND}, chi from (4.4): mu of the library's mechanical form and chi_dot of its vakonomic form, brackets by complex"
    " steps",
)
def agreeing_multipliers() -> float:
    def residual(item: Extremal) -> float:
        s = item.mechanical
        multipliers = s.probe.observe(s.time, s.state)["multipliers"]
        return distance((multipliers + item.chi_dot) @ s.rows, item.chi @ s.turning)

    return worst(residual(item) for item in quiet_extremals())


@claim(
    "R-4.4",
    "The motions agree if and only if chi_l (f_l,q - d/dt f_l,v) . dq = 0 for all virtual dq",
    how=f"{BOUND} with more constraints than freedom: the library's vakonomic and mechanical accelerations agree for a chi of"
    " the null space, and differ for any other",
)
def coincidence() -> float:
    def residual(item: Extremal) -> float:
        s = item.mechanical
        kept = distance(item.motion.z, s.z)
        across = (s.turning @ s.frame)[:, 0]
        other = Extremal.of(s, item.chi + across / np.linalg.norm(across))
        return largest(kept, excess(1e-3 - np.max(np.abs(other.motion.z - s.z))))

    return worst(residual(item) for item in quiet_extremals())


@claim(
    "R-4.5",
    "For solved constraints the condition is chi_l A_s^{k+l} = 0",
    how="random linear and affine constraints: the gap of the library's vakonomic and mechanical accelerations, times the"
    " constrained mass matrix, against chi times the library's symbols; zero for a chi of their null space",
)
def coincidence_by_symbols() -> float:
    found = []
    for item in extremals():
        s = item.mechanical
        if s.twin.kind in ("linear", "affine"):
            mass = s.frame.T @ s.twin.mass(s.q, s.time) @ s.frame
            found.append(distance(mass @ (item.motion.z - s.z)[: s.k], item.chi @ s.library["symbols"]))
    for s in instants(("affine",)):
        quiet = Extremal.of(s, null_space(s.library["symbols"].T)[:, 0])
        found.append(distance(quiet.motion.z, s.z))
    return worst(found)


@claim(
    "R-4.5-rates",
    "While it holds, chi_dot_l = -mu_l - chi_v phi_v,q_{k+l}: the condition must last along the motion",
    how="random affine constraints, chi of the null space of the library's symbols: chi_dot of its vakonomic form against mu"
    " of its mechanical form and complex steps of phi",
)
def rates_of_multipliers() -> float:
    def residual(s: Instant) -> float:
        item = Extremal.of(s, null_space(s.library["symbols"].T)[:, 0])
        by_position = derivative(lambda x: s.twin.solved(x, s.w, s.time), s.q)[:, s.k :]
        return distance(item.chi_dot, -s.probe.observe(s.time, s.state)["multipliers"] - item.chi @ by_position)

    return worst(residual(s) for s in instants(("affine",)))


# -- a particle with z_dot = y x_dot ---------------------------------------------------------------------------------------


@cache
def tilted_particle() -> System:
    """L = |q_dot|^2 / 2 with z_dot = y x_dot."""
    x, y, z = coordinates("x y z")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    return System([x, y, z], kinetic=kinetic, constraints=[velocity(z.dot - y * x.dot, name="tilt")], name="Tilted particle")


def _tilted_motions(y_dot: float, chi: float) -> tuple[Any, Any]:
    """The mechanical and the vakonomic motion from one start, (6, 9) each."""
    start = {"x": 0.1, "y": 0.7, "z": -0.2, "x_dot": 1.3, "y_dot": y_dot, "z_dot": 0.91}
    times = np.linspace(0, 1.5, 9)
    mechanical = simulate(derive(tilted_particle(), "lagrange"), start, (0, 1.5), rtol=1e-12, at=times)
    extremal = simulate(derive(tilted_particle(), "vakonomic"), start | {"chi_tilt": chi}, (0, 1.5), rtol=1e-12, at=times)
    return mechanical.y, extremal.y[:6]


@claim(
    "R-4.6",
    "T_q_dot_alpha A_s^alpha = 0 is sufficient, with chi = -T_q_dot_alpha, where q_alpha occurs nowhere; it is not necessary,"
    " as the print has it",
    how="particle with z_dot = y x_dot and chi = 0 on a line y = const: library motions of both forms agree; as printed, the"
    " condition there, from the library's symbols and momenta, which should vanish",
    tolerance=1e-9,
)
def condition_of_suslov() -> Corrected:
    mechanical, extremal = _tilted_motions(0.0, 0.0)
    symbols = ReductionProbe(tilted_particle(), {}, ("x", "y"))
    conditions = []
    for y in mechanical.T:
        found = symbols(0.0, y[:3], y[3:5], np.zeros(2))
        conditions.append(np.max(np.abs(found["momenta"][2] * found["symbols"])))
    return Corrected(distance(extremal, mechanical), worst(conditions))


@claim(
    "R-4.6-moving",
    "Where y moves, A_s = (y_dot, -x_dot) leaves only chi = 0, whose rate is not zero: the motions differ for every chi",
    how="particle with z_dot = y x_dot: the library's symbols, its chi_dot at chi = 0, and its motions from three chi",
)
def moving_particle() -> float:
    w = np.array([1.3, 0.4])
    found = ReductionProbe(tilted_particle(), {}, ("x", "y"))(0.0, [0.1, 0.7, -0.2], w, np.zeros(2))["symbols"]
    probe = Probe(derive(tilted_particle(), "vakonomic"), {})
    chi_dot = probe.rates(0.0, [0.1, 0.7, -0.2, *w, 0.91, 0.0])[-1]
    motions = [_tilted_motions(0.4, chi) for chi in (-1.0, 0.0, 0.5)]
    apart = min(np.max(np.abs(extremal - mechanical)) for mechanical, extremal in motions)
    return largest(distance(found, [w[1], -w[0]]), excess(1e-3 - abs(chi_dot)), excess(1e-3 - apart))
