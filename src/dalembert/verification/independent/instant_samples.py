"""A random nonholonomic motion at one instant: what the library and its independent implementations say about rates, variations
and symbols.

An `Instant` is a state on the constraints with accelerations z and a virtual displacement dq = frame @ sigma that changes with
sigma_dot. Rates follow the motion by complex steps; variations follow the displacement. A `QuasiInstant` is a state with
quasi-velocities, on or off the constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...formulations.forms.hamel import QuasiVelocities, transitivity_of_inverse
from ...formulations.forms.hamel import transitivity as quasi_transitivity
from ...formulations.forms.voronets import transitivity
from ...formulations.independent_velocities import Reduction, choose_split
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.system import System
from ..numeric import Probe, derivative, panel_nodes, worst
from .quasi_velocities import KINDS, BoundTwin, QuasiTwin, bound_twin, quasi_twin

__all__ = [
    "Instant",
    "QuasiInstant",
    "ReductionProbe",
    "bound_probe",
    "free_quasi_instants",
    "instants",
    "interval_of",
    "library_definition",
    "library_quasi",
    "library_reduction",
    "over_instants",
    "over_interval",
    "over_quasi_instants",
    "quasi_instants",
    "solved_near",
]


class ReductionProbe:
    """The library's split of a system into independent and dependent velocities, as functions of numbers.

    Each value is a function of (time, q, w, z) with independent velocities w and accelerations z, both (k,).
    """

    def __init__(self, system: System, parameters: Mapping[str, float], independent: tuple[str, ...]) -> None:
        self.values = [float(parameters[symbol.name]) for symbol in system.parameters]
        places = tuple(k for k, q in enumerate(system.coordinates) if q.name in independent)
        split = choose_split(system, allowed=lambda candidate: candidate.independent == places)
        self.reduction = reduction = Reduction(system, GraphAlgebra(), split)
        algebra = reduction.algebra
        frame = reduction.frame
        turns = [reduction.rate(algebra.part(frame, range(len(system.coordinates)), [s])) for s in range(len(places))]
        constrained = reduction.here(reduction.lagrangian)
        outputs = {
            "solved": reduction.solved,
            "velocities": reduction.velocities,
            "frame": frame,
            "frame_rate": algebra.columns(turns),
            "symbols": transitivity(reduction).T,
            "momenta": reduction.here(reduction.momenta_at_velocity),
            "constrained": ca.vertcat(constrained),
            "constrained_by_q": algebra.gradient(constrained, reduction.q),
            "constrained_by_w": algebra.gradient(constrained, reduction.independent),
        }
        inputs = [reduction.time, reduction.q, reduction.independent, reduction.z, algebra.vector(system.parameters)]
        self._names, self._function = tuple(outputs), ca.Function("reduction", inputs, list(outputs.values()))

    def __call__(self, time: float, q: Any, w: Any, z: Any) -> dict[str, Any]:
        """Everything at a state: vectors as (n,), matrices as they are; ``symbols`` is A_s^{k+l} (r, k) of (1.10)."""
        found = self._function([time], q, w, z, self.values)
        return {name: _array(value) for name, value in zip(self._names, found, strict=True)}


def _array(value: Any) -> Any:
    """A vector as (n,), a matrix as it is; blocks of one column that are matrices are reshaped by who asks."""
    found = np.array(value, dtype=float)
    return found[:, 0] if found.shape[1] == 1 else found


@cache
def library_reduction(kind: str) -> ReductionProbe:
    """The library's reduction of a random system."""
    twin = bound_twin(kind)
    return ReductionProbe(twin.system, {}, tuple(f"q{s + 1}" for s in range(twin.k)))


@cache
def library_quasi(kind: str, stated: bool = True) -> Callable[..., dict[str, Any]]:
    """The library's quasi-velocities of a random system: the random straight ones, or the independent velocities.

    A function of (time, q, eta, eta_dot) with eta (n,) and eta_dot (k,). Its values are F ``velocities`` (n,), ``frame``
    (n, k), ``W`` and ``T`` (n, k), ``lagrangian_by_eta`` (n,), ``lagrangian_by_pi`` (k,).
    """
    reduction = library_reduction(kind).reduction
    algebra, n = reduction.algebra, len(reduction.system.coordinates)
    quasi = QuasiVelocities(reduction, quasi_twin(kind).expressions() if stated else None)
    lagrangian = quasi.at(reduction.lagrangian)
    outputs = {
        "velocities": quasi.velocities,
        "frame": quasi.frame,
        "W": quasi_transitivity(quasi),
        "T": transitivity_of_inverse(quasi),
        "lagrangian_by_eta": quasi.bound_to_zero(algebra.gradient(lagrangian, quasi.eta)),
        "lagrangian_by_pi": quasi.frame.T @ quasi.bound_to_zero(algebra.gradient(lagrangian, reduction.q)),
    }
    inputs = [reduction.time, reduction.q, quasi.eta, quasi.rates]
    function = ca.Function("quasi", inputs, list(outputs.values()))

    def values(time: float, q: Any, eta: Any, rates: Any) -> dict[str, Any]:
        found = [np.array(value, dtype=float) for value in function([time], q, eta, rates)]
        table = dict(zip(outputs, found, strict=True))
        flat = ("velocities", "lagrangian_by_eta", "lagrangian_by_pi")
        return {name: value.ravel() if name in flat else value.reshape(n, -1) for name, value in table.items()}

    return values


@cache
def library_definition(kind: str) -> Callable[..., Any]:
    """The library's eta = f(q, v, t) as a function of (time, q, v)."""
    reduction = library_reduction(kind).reduction
    quasi = QuasiVelocities(reduction, quasi_twin(kind).expressions())
    function = ca.Function("definition", [reduction.time, reduction.q, reduction.v], [quasi.definition])
    return lambda time, q, v: np.array(function([time], q, v), dtype=float).ravel()


@cache
def bound_probe(constraints: str, form: str = "lagrange", **options: Any) -> Probe:
    """The library's equations of a random system in one form, on the velocities q1_dot .. qk_dot where it chooses some."""
    twin = bound_twin(constraints)
    equations = derive(twin.system, form, **options)
    if equations.rechoose is not None:
        equations = equations.rechoose([f"q{s + 1}_dot" for s in range(twin.k)])
    return Probe(equations, {})


def solved_near(function: Callable[[Any], Any], base: Any, target: Any, jacobian: Any) -> Any:
    """x with function(x) = target next to a base point whose value is known, for complex steps of an inverse function."""
    x = np.array(base, dtype=complex)
    for _ in range(4):
        x = x - np.linalg.solve(jacobian, function(x) - target)
    return x


@dataclass(frozen=True)
class Instant:
    """A state on the constraints with accelerations that keep it there, and a virtual displacement."""

    twin: BoundTwin
    time: float
    q: Any
    w: Any
    z: Any
    sigma: Any
    sigma_dot: Any
    probe: Probe

    # -- the motion ------------------------------------------------------------------------------------------------

    @cached_property
    def v(self) -> Any:
        """All velocities, (n,)."""
        return self.twin.on_constraints(self.q, self.w, self.time)

    @property
    def state(self) -> Any:
        """(q, v)."""
        return np.concatenate([self.q, self.v])

    @property
    def k(self) -> int:
        """The number of independent velocities."""
        return self.twin.k

    def moved(self, z: Any) -> Instant:
        """The same state with other accelerations of the independent velocities."""
        along = derivative(
            lambda s: self.twin.on_constraints(self.q + s[0] * self.v, self.w + s[0] * z, self.time + s[0]), [0.0]
        )
        return replace(self, z=along[:, 0])

    @property
    def elsewhere(self) -> Instant:
        """The same state with accelerations that are not those of the motion."""
        return self.moved(self.z[: self.k] + np.array([0.7, -0.4])[: self.k])

    def rate(self, function: Callable[[Any, Any, Any], Any]) -> Any:
        """The time derivative of a function of (q, v, t) along the motion."""
        return derivative(lambda s: function(self.q + s[0] * self.v, self.v + s[0] * self.z, self.time + s[0]), [0.0])[..., 0]

    def rate_on(self, function: Callable[[Any, Any, Any], Any]) -> Any:
        """The time derivative of a function of (q, w, t) along the motion."""
        z = self.z[: self.k]
        return derivative(lambda s: function(self.q + s[0] * self.v, self.w + s[0] * z, self.time + s[0]), [0.0])[..., 0]

    # -- variations ------------------------------------------------------------------------------------------------

    @cached_property
    def frame(self) -> Any:
        """dv/dw, (n, k)."""
        return self.twin.frame(self.q, self.w, self.time)

    @cached_property
    def dq(self) -> Any:
        """The virtual displacement, (n,)."""
        return self.frame @ self.sigma

    @cached_property
    def dq_rate(self) -> Any:
        """Its time derivative, (n,)."""
        return self.rate_on(self.twin.frame) @ self.sigma + self.frame @ self.sigma_dot

    def varied(self, function: Callable[[Any, Any, Any], Any], dq: Any, dv: Any) -> Any:
        """The variation of a function of (q, v, t) for variations dq of the coordinates and dv of the velocities."""
        return derivative(lambda s: function(self.q + s[0] * dq, self.v + s[0] * dv, self.time), [0.0])[..., 0]

    def varied_on(self, function: Callable[[Any, Any, Any], Any], dq: Any, dw: Any) -> Any:
        """The variation of a function of (q, w, t)."""
        return derivative(lambda s: function(self.q + s[0] * dq, self.w + s[0] * dw, self.time), [0.0])[..., 0]

    # -- mechanics -------------------------------------------------------------------------------------------------

    @cached_property
    def p(self) -> Any:
        """dL/dv, (n,)."""
        return self.twin.momenta(self.q, self.v, self.time)

    @cached_property
    def euler(self) -> Any:
        """d/dt dL/dv - dL/dq, (n,)."""
        return self.rate(self.twin.momenta) - derivative(lambda x: self.twin.lagrangian(x, self.v, self.time), self.q)

    @property
    def boundary_rate(self) -> float:
        """d/dt (p . dq), whose integral vanishes with dq at both ends."""
        return float(self.rate(self.twin.momenta) @ self.dq + self.p @ self.dq_rate)

    @cached_property
    def rows(self) -> Any:
        """f_v (r, n)."""
        return self.twin.constraint_rows(self.q, self.v, self.time)

    @cached_property
    def constraint_by_state(self) -> Any:
        """(f_q, f_v), (r, 2 n)."""
        by_position = derivative(lambda x: self.twin.constraint(x, self.v, self.time), self.q)
        return np.concatenate([by_position, self.rows], axis=1)

    @cached_property
    def turning(self) -> Any:
        """f_q - d/dt f_v, (r, n), the bracket of (1.8)."""
        return self.constraint_by_state[:, : len(self.q)] - self.rate(self.twin.constraint_rows)

    @cached_property
    def symbols(self) -> Any:
        """A_s^{k+l} of (1.10), (r, k), by complex steps."""
        by_position = derivative(lambda x: self.twin.solved(x, self.w, self.time), self.q)
        return self.rate_on(self.twin.solved_rows) - by_position @ self.frame

    @cached_property
    def library(self) -> dict[str, Any]:
        """The library's reduction here; ``symbols`` as (r, k), ``frame`` and ``frame_rate`` as (n, k)."""
        found = library_reduction(self.twin.kind)(self.time, self.q, self.w, self.z[: self.k])
        shapes = {"symbols": (self.twin.r, self.k), "frame": (-1, self.k), "frame_rate": (-1, self.k)}
        return {name: value.reshape(shapes[name]) if name in shapes else value for name, value in found.items()}


def instants(kinds: Iterable[str] = KINDS, count: int = 2) -> Iterator[Instant]:
    """Random states of random systems with the library's accelerations and random displacements."""
    for kind in kinds:
        yield from _instants_of(kind)[:count]


@cache
def _instants_of(kind: str, count: int = 3) -> tuple[Instant, ...]:
    twin, probe = bound_twin(kind), bound_probe(kind)
    random = np.random.default_rng([3, list(KINDS).index(kind)])
    found = []
    for _ in range(count):
        time, n = float(random.uniform(0, 2)), twin.k + twin.r
        q, w = random.uniform(-1, 1, n), random.uniform(0.3, 1.2, twin.k)
        sigma, sigma_dot = random.uniform(0.4, 1, (2, twin.k))
        z = probe.rates(time, np.concatenate([q, twin.on_constraints(q, w, time)]))[n:]
        found.append(Instant(twin, time, q, w, z, sigma, sigma_dot, probe))
    return tuple(found)


def over_instants(residual: Callable[[Instant], Any], kinds: Iterable[str] = KINDS) -> float:
    """The worst residual over random states of all kinds."""
    return worst(residual(instant) for instant in instants(kinds))


@cache
def interval_of(kind: str, span: float = 1.0) -> tuple[tuple[Instant, ...], Any]:
    """A motion of the library at the nodes of a quadrature, with a displacement that vanishes at both ends; and the weights."""
    begin, n = _instants_of(kind)[0], len(_instants_of(kind)[0].q)
    nodes, weights = panel_nodes(begin.time, begin.time + span, 5)
    names = [symbol.name for symbol in begin.probe.equations.state]
    start = dict(zip(names, begin.state, strict=True))
    motion = simulate(begin.probe.equations, start, (begin.time, begin.time + span), rtol=1e-12, at=nodes)
    pulls = np.array([motion[f"q{i + 1}_ddot"] for i in range(n)]).T
    angles = np.pi / span * np.arange(1, begin.k + 1)
    found = []
    for time, y, z in zip(nodes, motion.y.T, pulls, strict=True):
        phase = angles * (time - begin.time)
        sigma, sigma_dot = begin.sigma * np.sin(phase), begin.sigma * angles * np.cos(phase)
        found.append(replace(begin, time=time, q=y[:n], w=y[n : n + begin.k], z=z, sigma=sigma, sigma_dot=sigma_dot))
    return tuple(found), weights


def over_interval(integrand: Callable[[Instant], Any], kinds: Iterable[str] = KINDS) -> float:
    """The worst integral over motions of the library."""
    return worst(np.dot(interval_of(kind)[1], [integrand(s) for s in interval_of(kind)[0]]) for kind in kinds)


@dataclass(frozen=True)
class QuasiInstant:
    """A state with velocities v and accelerations z, seen in quasi-velocities; all matrices are (n, n)."""

    quasi: QuasiTwin
    time: float
    q: Any
    v: Any
    z: Any

    @cached_property
    def eta(self) -> Any:
        """The quasi-velocities, (n,)."""
        return self.quasi.definition(self.q, self.v, self.time)

    def rate(self, function: Callable[[Any, Any, Any], Any]) -> Any:
        """The time derivative of a function of (q, v, t) along the motion."""
        return derivative(lambda s: function(self.q + s[0] * self.v, self.v + s[0] * self.z, self.time + s[0]), [0.0])[..., 0]

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

    def velocities(self, q: Any, eta: Any, time: Any) -> Any:
        """F(q, eta, t) near this state, for complex steps."""
        return solved_near(lambda v: self.quasi.definition(q, v, time), self.v, eta, self.rows)

    def by_pi(self, function: Callable[[Any, Any, Any], Any]) -> Any:
        """d/dpi_s = F_is d/dq_i of a function of (q, eta, t), along the last axis (Rumyantsev 1.17)."""
        return derivative(lambda x: function(x, self.eta, self.time), self.q) @ self.frame

    def by_eta(self, function: Callable[[Any, Any, Any], Any]) -> Any:
        """d/d eta_s of a function of (q, eta, t)."""
        return derivative(lambda e: function(self.q, e, self.time), self.eta)

    @cached_property
    def W(self) -> Any:
        """W_j^i = F_rj (d f_ir/dt - d f_i/dq_r), rows i (Rumyantsev 1.21)."""
        by_position = derivative(lambda x: self.quasi.definition(x, self.v, self.time), self.q)
        return (self.rate(self.quasi.rows) - by_position) @ self.frame

    @cached_property
    def T(self) -> Any:
        """T_j^r = d F_rj/dt - d F_r/dpi_j, rows r (Rumyantsev 1.21), by way of the inverse alone."""
        return self.rate(lambda q, v, s: np.linalg.inv(self.quasi.rows(q, v, s))) - self.by_pi(self.velocities)

    @cached_property
    def library(self) -> dict[str, Any]:
        """The library's quasi-velocities at this state and these rates; see `library_quasi`."""
        k = self.quasi.model.k
        return library_quasi(self.quasi.model.kind)(self.time, self.q, self.eta, self.eta_rate[:k])


@cache
def quasi_instants(bent: bool) -> tuple[tuple[Instant, QuasiInstant], ...]:
    """Random instants on the constraints of all kinds, each with its view in random quasi-velocities."""
    return tuple((s, QuasiInstant(quasi_twin(s.twin.kind, bent), s.time, s.q, s.v, s.z)) for s in instants())


def over_quasi_instants(residual: Callable[[Instant, QuasiInstant], Any], bent: bool = False) -> float:
    """The worst residual over random states and quasi-velocities of all kinds."""
    return worst(residual(s, view) for s, view in quasi_instants(bent))


@cache
def free_quasi_instants(bent: bool) -> tuple[QuasiInstant, ...]:
    """States off the constraints with any accelerations."""
    random, found = np.random.default_rng(11), []
    for s, view in quasi_instants(bent):
        change = random.uniform(-0.2, 0.2, (2, len(s.q)))
        found.append(replace(view, v=s.v + change[0], z=s.z + change[1]))
    return tuple(found)
