"""Rumyantsev: section 4, the Lagrange problem (eqs. 4.1 to 4.6).

Accelerations and rates of the multipliers chi come from the library's vakonomic form, those of the
mechanical motion from its form with multipliers mu; complex steps of the same systems judge them.
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
from ...typing import Array
from ..independent.instant_samples import MotionSample, ReductionProbe, bound_probe, motions
from ..numeric import (
    Probe,
    Residual,
    Residuals,
    derivative,
    distance,
    excess,
    null_space,
    panel_nodes,
)
from ..row_registry import Corrected, listed
from ..samples import Sampler

#: Kinds with more constraints than degrees of freedom: some chi != 0 satisfies (4.4) everywhere.
QUIET = ("affine", "general")


@dataclass(frozen=True)
class VakonomicSample:
    """A state with multipliers chi, and the library's rates on its vakonomic motion."""

    mechanical: MotionSample
    motion: MotionSample
    chi: Array
    chi_dot: Array

    @staticmethod
    def of(s: MotionSample, chi: Array) -> VakonomicSample:
        """The vakonomic motion through an instant."""
        n, state = len(s.q), np.concatenate([s.q, s.v, chi])
        rates = bound_probe(s.model.kind, "vakonomic").rates(s.time, state)
        return VakonomicSample(s, replace(s, z=rates[n : 2 * n]), np.asarray(chi), rates[2 * n :])

    @property
    def pull(self) -> Any:
        """chi_l (f_l,q - d/dt f_l,v) on virtual displacements, (k,), zero in (4.4)."""
        return self.chi @ self.motion.turning @ self.motion.frame

    @property
    def momenta_rate(self) -> Any:
        """The rate of pi = p + chi f_v, (n,)."""
        m = self.motion
        rows_rate = m.rate(m.model.constraint_rows)
        return m.rate(m.model.momenta) + (self.chi_dot @ m.rows + self.chi @ rows_rate)


def _extremals(_: str) -> Iterator[VakonomicSample]:
    random = np.random.default_rng(51)
    for s in motions:
        yield VakonomicSample.of(s, random.uniform(0.3, 1, s.model.r))


def quiet_chi(s: MotionSample) -> Array:
    """chi (r,) of length one that satisfies (4.4) at a state of the mechanical motion."""
    return null_space((s.turning @ s.frame).T)[:, 0]


def symbol_chi(s: MotionSample) -> Array:
    """chi (r,) of length one in the null space of the library's symbols."""
    return null_space(s.library["symbols"].T)[:, 0]


#: Random states of all kinds with random chi, and with a chi that satisfies (4.4).
extremals = Sampler(_extremals)
quiet = motions.of(*QUIET).map(lambda s: VakonomicSample.of(s, quiet_chi(s)))
affine = motions.of("affine").map(lambda s: VakonomicSample.of(s, symbol_chi(s)))


@listed("R-4.1")
def lagrange_problem() -> Residuals:
    for item in (extremals()[2], extremals()[4]):
        s, n, span = item.mechanical, len(item.mechanical.q), 0.8
        nodes, weights = panel_nodes(s.time, s.time + span, 5)
        equations = bound_probe(s.model.kind, "vakonomic").equations
        start = dict(zip([x.name for x in equations.state], [*s.state, *item.chi], strict=True))
        motion = simulate(equations, start, (s.time, s.time + span), rtol=1e-12, at=nodes)
        angles, total = np.pi / span * np.arange(1, n + 1), 0.0
        for time, y, weight in zip(nodes, motion.y.T, weights, strict=True):
            dq, dv = np.sin(angles * (time - s.time)), angles * np.cos(angles * (time - s.time))
            at = replace(s, time=time, q=y[:n], w=y[n : n + s.k])
            broken = y[2 * n :] @ at.varied(at.model.constraint, dq, dv)
            total += weight * float(at.varied(at.model.lagrangian, dq, dv) + broken)
        yield total


@listed("R-4.2", over=extremals)
def euler_equations(item: VakonomicSample) -> Residual:
    s = item.motion
    right = item.chi @ s.turning - item.chi_dot @ s.rows
    return distance(s.euler, right), s.rate(s.model.constraint)


@listed("R-4.2-constants", over=extremals)
def more_constants(item: VakonomicSample) -> Residual:
    s = item.mechanical
    states = [float(len(derive(s.model.system, form).state)) for form in ("vakonomic", "voronets")]
    constants = states[0] - np.linalg.matrix_rank(s.constraint_by_state)
    return constants - 2 * len(s.q), constants - states[1] - s.model.r


@listed("R-4.2-apart", over=extremals)
def not_equivalent(item: VakonomicSample) -> Residual:
    gap = np.max(np.abs(item.motion.z - item.mechanical.z))
    return distance(item.motion.euler @ item.motion.frame, item.pull), excess(1e-3 - gap)


@listed("R-4.3", over=quiet)
def agreeing_multipliers(item: VakonomicSample) -> Residual:
    s = item.mechanical
    multipliers = s.probe.observe(s.time, s.state)["multipliers"]
    return distance((multipliers + item.chi_dot) @ s.rows, item.chi @ s.turning)


@listed("R-4.4", over=quiet)
def coincidence(item: VakonomicSample) -> Residual:
    s = item.mechanical
    across = (s.turning @ s.frame)[:, 0]
    other = VakonomicSample.of(s, item.chi + across / np.linalg.norm(across))
    return distance(item.motion.z, s.z), excess(1e-3 - np.max(np.abs(other.motion.z - s.z)))


@listed("R-4.5")
def coincidence_by_symbols() -> Residual:
    def gap(item: VakonomicSample) -> float:
        s = item.mechanical
        mass = s.frame.T @ s.model.mass(s.q, s.time) @ s.frame
        return distance(mass @ (item.motion.z - s.z)[: s.k], item.chi @ s.library["symbols"])

    linear = [gap(x) for x in extremals if x.mechanical.model.kind in ("linear", "affine")]
    return linear, affine.worst(lambda item: distance(item.motion.z, item.mechanical.z))


@listed("R-4.5-rates", over=affine)
def rates_of_multipliers(item: VakonomicSample) -> Residual:
    s = item.mechanical
    by_position = derivative(lambda x: s.model.solved(x, s.w, s.time), s.q)[:, s.k :]
    multipliers = s.probe.observe(s.time, s.state)["multipliers"]
    return distance(item.chi_dot, -multipliers - item.chi @ by_position)


# -- a particle with z_dot = y x_dot ---------------------------------------------------------------


@cache
def tilted_particle() -> System:
    """L = |q_dot|^2 / 2 with z_dot = y x_dot."""
    x, y, z = coordinates("x y z")
    kinetic, tilt = (x.dot**2 + y.dot**2 + z.dot**2) / 2, velocity(z.dot - y * x.dot, name="tilt")
    return System([x, y, z], kinetic=kinetic, constraints=[tilt], name="Tilted particle")


def _tilted_motions(y_dot: float, chi: float) -> tuple[Array, Array]:
    """The mechanical and the vakonomic motion from one start, (6, 9) each."""
    start = {"x": 0.1, "y": 0.7, "z": -0.2, "x_dot": 1.3, "y_dot": y_dot, "z_dot": 0.91}
    starts = {"lagrange": start, "vakonomic": start | {"chi_tilt": chi}}
    times = np.linspace(0, 1.5, 9)
    mechanical, extremal = (
        simulate(derive(tilted_particle(), form), begin, (0, 1.5), rtol=1e-12, at=times).y[:6]
        for form, begin in starts.items()
    )
    return mechanical, extremal


@listed("R-4.6")
def condition_of_suslov() -> Corrected:
    mechanical, extremal = _tilted_motions(0.0, 0.0)
    symbols = ReductionProbe(tilted_particle(), {}, ("x", "y"))
    found = [symbols(0.0, y[:3], y[3:5], np.zeros(2)) for y in mechanical.T]
    conditions = [item["momenta"][2] * item["symbols"] for item in found]
    return Corrected(distance(extremal, mechanical), conditions)


@listed("R-4.6-moving")
def moving_particle() -> Residual:
    q, w = [0.1, 0.7, -0.2], np.array([1.3, 0.4])
    probe = ReductionProbe(tilted_particle(), {}, ("x", "y"))
    found = probe(0.0, q, w, np.zeros(2))["symbols"]
    vakonomic = Probe(derive(tilted_particle(), "vakonomic"), {})
    chi_dot = vakonomic.rates(0.0, [*q, *w, 0.91, 0.0])[-1]
    motions = [_tilted_motions(0.4, chi) for chi in (-1.0, 0.0, 0.5)]
    apart = min(np.max(np.abs(extremal - mechanical)) for mechanical, extremal in motions)
    return distance(found, [w[1], -w[0]]), excess(1e-3 - abs(chi_dot)), excess(1e-3 - apart)
