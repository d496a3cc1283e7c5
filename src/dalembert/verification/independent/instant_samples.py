"""Random nonholonomic motions at one instant: rates, variations and symbols, by both sides.

A `MotionSample` is a state on the constraints with accelerations z and a virtual displacement dq =
frame @ sigma that changes with sigma_dot. Rates follow the motion by complex steps; variations
follow the displacement. A `QuasiSample` is a state with quasi-velocities, on or off the
constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, TypeAlias

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...analysis.variational.transitivity import Transitivity, TransitivitySymbols
from ...analysis.variational.transitivity import transitivity as public_transitivity
from ...formulations.forms.hamel import bound_symbols, quasi_momenta, transitivity_of_inverse
from ...formulations.forms.hamel import transitivity as quasi_transitivity
from ...formulations.forms.voronets import transitivity
from ...formulations.independent_velocities import Reduction, choose_split
from ...formulations.quasi_velocities import stated_speeds
from ...formulations.registry import derive
from ...formulations.velocity_maps import velocities_at
from ...integrate.simulate import simulate
from ...model.system import System
from ...typing import Array
from ..numeric import Probe, derivative, panel_nodes, worst
from ..samples import Generator, sampler
from .quasi_velocity_references import (
    KINDS,
    ConstrainedSystem,
    QuasiSystem,
    constrained_system,
    quasi_system,
)

#: Numbers (n,), as an array or in a list.
Components: TypeAlias = "Array | list[float]"
#: A function of (q, v, t), (q, w, t) or (q, eta, t).
StateFunction: TypeAlias = Callable[[Any, Any, Any], Any]


class ReductionProbe:
    """The library's independent and dependent velocities of a system, as functions of numbers.

    Each value is a function of (time, q, w, z) with independent velocities w and accelerations z,
    both (k,).
    """

    def __init__(
        self, system: System, parameters: Mapping[str, float], independent: tuple[str, ...]
    ) -> None:
        self.values = [float(parameters[symbol.name]) for symbol in system.parameters]
        indices = tuple(k for k, q in enumerate(system.coordinates) if q.name in independent)
        split = choose_split(system, allowed=lambda candidate: candidate.independent == indices)
        self.reduction = reduction = Reduction(system, GraphAlgebra(), split)
        algebra, frame, every = reduction.algebra, reduction.frame, range(len(system.coordinates))
        turns = [reduction.rate(algebra.part(frame, every, [s])) for s in range(len(indices))]
        constrained, w = reduction.here(reduction.lagrangian), reduction.independent
        outputs = {
            "solved": reduction.solved,
            "velocities": reduction.velocities,
            "frame": frame,
            "frame_rate": algebra.columns(turns),
            "symbols": transitivity(reduction).T,
            "momenta": reduction.here(reduction.momenta_at_velocity),
            "constrained": ca.vertcat(constrained),
            "constrained_by_q": algebra.gradient(constrained, reduction.q),
            "constrained_by_w": algebra.gradient(constrained, w),
        }
        inputs = [reduction.time, reduction.q, w, reduction.z, algebra.vector(system.parameters)]
        self._names = tuple(outputs)
        self._function = ca.Function("reduction", inputs, list(outputs.values()))

    def __call__(self, time: float, q: Components, w: Components, z: Components) -> dict[str, Any]:
        """Vectors as (n,), matrices as they are; ``symbols`` is A_s^{k+l} (r, k) of (1.10)."""
        found = [np.array(x, dtype=float) for x in self._function([time], q, w, z, self.values)]
        columns = [x[:, 0] if x.shape[1] == 1 else x for x in found]
        return dict(zip(self._names, columns, strict=True))


@cache
def library_reduction(kind: str) -> ReductionProbe:
    """The library's reduction of a random system."""
    model = constrained_system(kind)
    return ReductionProbe(model.system, {}, tuple(f"q{s + 1}" for s in range(model.k)))


@cache
def _quasi_reduction(kind: str) -> Reduction:
    """The library's reduction to the random quasi-velocities of a system."""
    stated = stated_speeds(constrained_system(kind).system, quasi_system(kind).expressions())
    return Reduction(stated.system, GraphAlgebra(), stated.near())


@cache
def library_quasi(kind: str, stated: bool = True) -> Callable[..., dict[str, Any]]:
    """The library's quasi-velocities of a system: random straight ones, or independent velocities.

    A function of (time, q, eta, eta_dot) with eta (n,) and eta_dot (k,). Its values are F
    ``velocities`` (n,), ``frame`` (n, k), ``W`` and ``T`` (n, k), ``lagrangian_by_eta`` (n,),
    ``lagrangian_by_pi`` (k,).
    """
    reduction = _quasi_reduction(kind) if stated else library_reduction(kind).reduction
    algebra, n = reduction.algebra, len(reduction.system.coordinates)
    bound = algebra.vector(bound_symbols(reduction))
    by_position = reduction.map.place_gradient(reduction.here(reduction.lagrangian))
    vectors = {
        "velocities": velocities_at(reduction, bound),
        "lagrangian_by_eta": quasi_momenta(reduction),
        "lagrangian_by_pi": reduction.frame.T @ by_position,
    }
    matrices = {
        "frame": reduction.frame,
        "W": quasi_transitivity(reduction),
        "T": transitivity_of_inverse(reduction),
    }
    eta = algebra.stack([reduction.independent, bound])
    inputs = [reduction.time, reduction.q, eta, reduction.z]
    function = ca.Function("quasi", inputs, [*vectors.values(), *matrices.values()])

    def values(time: float, q: Array, eta: Array, rates: Array) -> dict[str, Any]:
        found = [np.array(value, dtype=float) for value in function([time], q, eta, rates)]
        table = dict(zip((*vectors, *matrices), found, strict=True))
        return {
            name: value.ravel() if name in vectors else value.reshape(n, -1)
            for name, value in table.items()
        }

    return values


@cache
def public_symbols(kind: str, bent: bool | None = None) -> Transitivity:
    """What `transitivity` finds in random quasi-velocities, or in independent velocities."""
    model = constrained_system(kind)
    stated = None if bent is None else quasi_system(kind, bent).expressions()
    names = [f"q{s + 1}" for s in range(model.k)]
    return public_transitivity(model.system, independent=names, quasi_velocities=stated, n=1)


@cache
def library_definition(kind: str) -> Callable[..., Any]:
    """The library's eta = f(q, v, t) as a function of (time, q, v)."""
    reduction = _quasi_reduction(kind)
    inputs = [reduction.time, reduction.q, reduction.v]
    function = ca.Function("definition", inputs, [reduction.definition])
    return lambda time, q, v: np.array(function([time], q, v), dtype=float).ravel()


@cache
def bound_probe(constraints: str, form: str = "lagrange", **options: Any) -> Probe:
    """The library's equations of a random system in one form, with q1_dot .. qk_dot independent."""
    model = constrained_system(constraints)
    equations = derive(model.system, form, **options)
    if equations.rechoose is not None:
        equations = equations.rechoose([f"q{s + 1}_dot" for s in range(model.k)])
    return Probe(equations, {})


def solved_near(function: Callable[[Any], Any], base: Array, target: Array, jacobian: Array) -> Any:
    """x with function(x) = target near a base point, for complex steps of an inverse function."""
    x = np.array(base, dtype=complex)
    for _ in range(4):
        x = x - np.linalg.solve(jacobian, function(x) - target)
    return x


def _rate_along(function: StateFunction, q: Any, v: Any, time: Any, rates: Any) -> Any:
    """The derivative of a function of (q, v, t) along rates of q, v and t, by complex steps."""
    by_q, by_v, by_time = rates
    return derivative(
        lambda s: function(q + s[0] * by_q, v + s[0] * by_v, time + s[0] * by_time), [0.0]
    )[..., 0]


@dataclass(frozen=True)
class MotionSample:
    """A state on the constraints, accelerations that keep it there, and a virtual displacement."""

    model: ConstrainedSystem
    time: float
    q: Array
    w: Array
    z: Array
    sigma: Array
    sigma_dot: Array
    probe: Probe

    # -- the motion --------------------------------------------------------------------------------

    @cached_property
    def v(self) -> Any:
        """All velocities, (n,)."""
        return self.model.on_constraints(self.q, self.w, self.time)

    @property
    def state(self) -> Any:
        """(q, v)."""
        return np.concatenate([self.q, self.v])

    @property
    def k(self) -> int:
        """The number of independent velocities."""
        return self.model.k

    def moved(self, z: Array) -> MotionSample:
        """The same state with other accelerations of the independent velocities."""
        rates = (self.v, z, 1)
        return replace(
            self, z=_rate_along(self.model.on_constraints, self.q, self.w, self.time, rates)
        )

    @property
    def elsewhere(self) -> MotionSample:
        """The same state with accelerations that are not those of the motion."""
        return self.moved(self.z[: self.k] + np.array([0.7, -0.4])[: self.k])

    def rate(self, function: StateFunction) -> Any:
        """The time derivative of a function of (q, v, t) along the motion."""
        return _rate_along(function, self.q, self.v, self.time, (self.v, self.z, 1))

    def rate_on(self, function: StateFunction) -> Any:
        """The time derivative of a function of (q, w, t) along the motion."""
        return _rate_along(function, self.q, self.w, self.time, (self.v, self.z[: self.k], 1))

    # -- variations --------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> Any:
        """dv/dw, (n, k)."""
        return self.model.frame(self.q, self.w, self.time)

    @cached_property
    def dq(self) -> Any:
        """The virtual displacement, (n,)."""
        return self.frame @ self.sigma

    @cached_property
    def dq_rate(self) -> Any:
        """Its time derivative, (n,)."""
        return self.rate_on(self.model.frame) @ self.sigma + self.frame @ self.sigma_dot

    def varied(self, function: StateFunction, dq: Array, dv: Array) -> Any:
        """The variation of a function of (q, v, t) for variations dq and dv."""
        return _rate_along(function, self.q, self.v, self.time, (dq, dv, 0))

    def varied_on(self, function: StateFunction, dq: Array, dw: Array) -> Any:
        """The variation of a function of (q, w, t)."""
        return _rate_along(function, self.q, self.w, self.time, (dq, dw, 0))

    # -- mechanics ---------------------------------------------------------------------------------

    @cached_property
    def p(self) -> Any:
        """dL/dv, (n,)."""
        return self.model.momenta(self.q, self.v, self.time)

    @cached_property
    def euler(self) -> Any:
        """d/dt dL/dv - dL/dq, (n,)."""
        by_position = derivative(lambda x: self.model.lagrangian(x, self.v, self.time), self.q)
        return self.rate(self.model.momenta) - by_position

    @property
    def boundary_rate(self) -> float:
        """d/dt (p . dq), whose integral vanishes with dq at both ends."""
        return float(self.rate(self.model.momenta) @ self.dq + self.p @ self.dq_rate)

    @cached_property
    def rows(self) -> Any:
        """f_v (r, n)."""
        return self.model.constraint_rows(self.q, self.v, self.time)

    @cached_property
    def constraint_by_state(self) -> Any:
        """(f_q, f_v), (r, 2 n)."""
        by_position = derivative(lambda x: self.model.constraint(x, self.v, self.time), self.q)
        return np.concatenate([by_position, self.rows], axis=1)

    @cached_property
    def turning(self) -> Any:
        """f_q - d/dt f_v, (r, n), the bracket of (1.8)."""
        return self.constraint_by_state[:, : len(self.q)] - self.rate(self.model.constraint_rows)

    @cached_property
    def symbols(self) -> Any:
        """A_s^{k+l} of (1.10), (r, k), by complex steps."""
        by_position = derivative(lambda x: self.model.solved(x, self.w, self.time), self.q)
        return self.rate_on(self.model.solved_rows) - by_position @ self.frame

    @cached_property
    def library(self) -> dict[str, Any]:
        """The library's reduction here; ``symbols`` (r, k), ``frame`` and ``frame_rate`` (n, k)."""
        found = library_reduction(self.model.kind)(self.time, self.q, self.w, self.z[: self.k])
        for name, count in (("symbols", self.model.r), ("frame", -1), ("frame_rate", -1)):
            found[name] = found[name].reshape(count, self.k)
        return found

    @cached_property
    def public(self) -> TransitivitySymbols:
        """A, W and T of the library's `transitivity` in independent velocities."""
        state = {f"q{i + 1}": value for i, value in enumerate(self.q)} | {"t": self.time}
        state |= {f"q{s + 1}_dot": self.w[s] for s in range(self.k)}
        state |= {f"q{s + 1}_ddot": self.z[s] for s in range(self.k)}
        return public_symbols(self.model.kind).at(state)


@sampler(*KINDS, seed=3, count=2)
def motions(kind: str, random: Generator) -> MotionSample:
    """Random states of random systems with the library's accelerations and random displacements."""
    model, probe = constrained_system(kind), bound_probe(kind)
    time, n = float(random.uniform(0, 2)), model.k + model.r
    q, w = random.uniform(-1, 1, n), random.uniform(0.3, 1.2, model.k)
    sigma, sigma_dot = random.uniform(0.4, 1, (2, model.k))
    z = probe.rates(time, np.concatenate([q, model.on_constraints(q, w, time)]))[n:]
    return MotionSample(model, time, q, w, z, sigma, sigma_dot, probe)


@cache
def interval_of(kind: str, span: float = 1.0) -> tuple[tuple[MotionSample, ...], Any]:
    """A library motion at quadrature nodes, displacements that vanish at both ends, and weights."""
    begin = motions(kind)[0]
    n = len(begin.q)
    nodes, weights = panel_nodes(begin.time, begin.time + span, 5)
    names = [symbol.name for symbol in begin.probe.equations.state]
    start, ends = dict(zip(names, begin.state, strict=True)), (begin.time, begin.time + span)
    motion = simulate(begin.probe.equations, start, ends, rtol=1e-12, at=nodes)
    pulls = np.array([motion[f"q{i + 1}_ddot"] for i in range(n)]).T
    angles = np.pi / span * np.arange(1, begin.k + 1)
    found = []
    for time, y, z in zip(nodes, motion.y.T, pulls, strict=True):
        phase = angles * (time - begin.time)
        sigma, sigma_dot = begin.sigma * np.sin(phase), begin.sigma * angles * np.cos(phase)
        moved = replace(begin, time=time, q=y[:n], w=y[n : n + begin.k], z=z)
        found.append(replace(moved, sigma=sigma, sigma_dot=sigma_dot))
    return tuple(found), weights


def over_interval(integrand: Callable[[MotionSample], Any], kinds: Iterable[str] = KINDS) -> float:
    """The worst integral over motions of the library."""
    return worst(
        np.dot(weights, [integrand(s) for s in found]) for found, weights in map(interval_of, kinds)
    )


@dataclass(frozen=True)
class QuasiSample:
    """A state with velocities v and accelerations z in quasi-velocities; all matrices (n, n)."""

    quasi: QuasiSystem
    time: float
    q: Array
    v: Array
    z: Array

    @cached_property
    def eta(self) -> Any:
        """The quasi-velocities, (n,)."""
        return self.quasi.definition(self.q, self.v, self.time)

    def rate(self, function: StateFunction) -> Any:
        """The time derivative of a function of (q, v, t) along the motion."""
        return _rate_along(function, self.q, self.v, self.time, (self.v, self.z, 1))

    @cached_property
    def eta_rate(self) -> Any:
        """d eta/dt, (n,)."""
        return self.rate(self.quasi.definition)

    @cached_property
    def rows(self) -> Any:
        """f_si = d eta_s / d v_i."""
        return self.quasi.rows(self.q, self.v, self.time)

    @cached_property
    def frame(self) -> Any:
        """F_is = d v_i / d eta_s."""
        return np.linalg.inv(self.rows)

    def velocities(self, q: Array, eta: Array, time: float) -> Any:
        """F(q, eta, t) near this state, for complex steps."""
        return solved_near(lambda v: self.quasi.definition(q, v, time), self.v, eta, self.rows)

    def by_pi(self, function: StateFunction) -> Any:
        """d/dpi_s = F_is d/dq_i of a function of (q, eta, t), last axis (Rumyantsev 1.17)."""
        return derivative(lambda x: function(x, self.eta, self.time), self.q) @ self.frame

    def by_eta(self, function: StateFunction) -> Any:
        """d/d eta_s of a function of (q, eta, t)."""
        return derivative(lambda e: function(self.q, e, self.time), self.eta)

    @cached_property
    def W(self) -> Any:
        """W_j^i = F_rj (d f_ir/dt - d f_i/dq_r), rows i (Rumyantsev 1.21)."""
        by_position = derivative(lambda x: self.quasi.definition(x, self.v, self.time), self.q)
        return (self.rate(self.quasi.rows) - by_position) @ self.frame

    @cached_property
    def T(self) -> Any:
        """T_j^r = d F_rj/dt - d F_r/dpi_j, rows r (Rumyantsev 1.21), by the inverse alone."""
        turning = self.rate(lambda q, v, s: np.linalg.inv(self.quasi.rows(q, v, s)))
        return turning - self.by_pi(self.velocities)

    @cached_property
    def library(self) -> dict[str, Any]:
        """The library's quasi-velocities at this state and these rates; see `library_quasi`."""
        model = self.quasi.model
        return library_quasi(model.kind)(self.time, self.q, self.eta, self.eta_rate[: model.k])

    @cached_property
    def public(self) -> TransitivitySymbols:
        """W, T and f_v of the library's `transitivity` at this state and these rates."""
        k = self.quasi.model.k
        state = {f"q{i + 1}": value for i, value in enumerate(self.q)} | {"t": self.time}
        state |= {f"q{i + 1}_dot": value for i, value in enumerate(self.v)}
        state |= {f"q{s + 1}_ddot": self.z[s] for s in range(k)}
        state |= {f"quasi{s + 1}_dot": self.eta_rate[s] for s in range(k)}
        return public_symbols(self.quasi.model.kind, self.quasi.bent).at(state)


@cache
def quasi_instants(bent: bool) -> tuple[tuple[MotionSample, QuasiSample], ...]:
    """Random instants on the constraints of all kinds, each in random quasi-velocities."""

    def view(s: MotionSample) -> QuasiSample:
        return QuasiSample(quasi_system(s.model.kind, bent), s.time, s.q, s.v, s.z)

    return tuple((s, view(s)) for s in motions)


@cache
def free_quasi_instants(bent: bool) -> tuple[QuasiSample, ...]:
    """States off the constraints with any accelerations."""
    random, found = np.random.default_rng(11), []
    for s, view in quasi_instants(bent):
        change = random.uniform(-0.2, 0.2, (2, len(s.q)))
        found.append(replace(view, v=s.v + change[0], z=s.z + change[1]))
    return tuple(found)
