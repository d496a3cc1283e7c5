r"""The Dirac structure of a system at each of its states, and whether a motion obeys it.

A Lagrangian L(x, v) on a bundle V with v = sigma(x) x_dot (sigma = 1 where none is stated) and constraints x_dot in E(x) or
A(x) x_dot = 0 give two fields of Dirac structures (Moreau and van der Schaft, theorems 1 and 2). With the canonical form
Omega(x_dot, xi_dot) = (-xi_dot, x_dot) on T*X and the maps

    V* -> T*X : (x, p) -> (x, sigma^T p),          V -> T*X : (x, v) -> (x, sigma^T L_v)

with tangents T, both are lemma 1 for omega = T^T Omega T and Sigma = {x_dot allowed, any rate of the fibre}:

    (pi_dot, dH) in D on V*,   dH = (-L_x, v)                                                   (29)
    (nu_dot, dE) in D^L on V,  E = L_v . v - L,   with v = sigma x_dot                          (30), (31)

Generalised forces Q act as dH - (Q, 0). The dimension of D is that of V, whatever the rank of E or A is. Two kinds of motion do
not obey it: those under constraints that are not homogeneous in the velocities, whose x_dot is no virtual displacement, and
vakonomic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, nearest
from ...formulations.constraint_equations import velocity_level
from ...formulations.forms import hamilton
from ...formulations.forms.lagrange import applied_force, lagrangian_and_momenta
from ...geometry.dirac import DiracStructure
from ...integrate.motion import Motion
from ...model.legendre import conjugate_symbols
from ...model.scenario import Scenario
from ...model.symbols import Parameter, by_name, t
from ...model.system import System
from ...typing import Array, Values

__all__ = ["dirac_residual", "dirac_structure"]

SIDES = ("hamiltonian", "lagrangian")

Table = dict[str, float]


def dirac_structure(
    model: System | Scenario,
    at: Values | None = None,
    parameters: Values | None = None,
    side: str = "hamiltonian",
) -> DiracStructure:
    """The Dirac structure of a system at one state.

    Parameters
    ----------
    model : System or Scenario
        A scenario brings its parameters and its start, which the arguments override.
    at : mapping of name or symbol to float
        Coordinates, and as far as the structure depends on them velocities, momenta, speeds of the image, and ``t``.
    parameters : mapping of name or symbol to float
        Those that the structure depends on.
    side : str
        "hamiltonian" for D on V* with coordinates (x, p), "lagrangian" for D^L on V with coordinates (x, v).

    Examples
    --------
    Two linked particles at one place: the image still ties them, and the dimension stays 8.

    >>> import dalembert as da
    >>> together = da.gallery.load("linked-particles-zero-distance")
    >>> structure = dirac_structure(together)
    >>> structure.dimension, structure.admissible_flows.shape[1]
    (8, 6)
    """
    system = model.system if isinstance(model, Scenario) else model
    if not isinstance(system, System):
        raise ModelError("A System or a Scenario is needed", seen=type(model).__name__, remedy="pass da.System(...)")
    chart = _chart(system, side)
    state: dict[str, Any] = {}
    values: dict[str, Any] = {}
    if isinstance(model, Scenario):
        state, values = {k: v for k, v in model.start.items() if k in chart.state_names}, dict(model.parameters)
    table: Table = {"t": 0.0}
    table |= _numbers(values | _named(parameters), [p.name for p in system.parameters], "parameter")
    table |= _numbers(state | _named(at), chart.state_names, "state symbol")
    return chart.structure(table)


def dirac_residual(motion: Motion, side: str = "hamiltonian") -> Array:
    """How far (state rate, derivative of the energy) is from the Dirac structure at each time of a motion, (nt,).

    The distance is a part of the length of the pair: rounding where (29) or (30) holds. The rates are those of the run's own
    accelerations; the structure and the derivatives are made from the model alone. One-sided constraints are no part of it.

    Examples
    --------
    >>> import dalembert as da
    >>> motion = da.simulate(da.gallery.load("rolling-disk"), span=(0, 1), at=[0, 0.5, 1])
    >>> bool(dirac_residual(motion).max() < 1e-12)
    True
    """
    system, chart = motion.system, _chart(motion.system, side)
    symbols = (*system.coordinates, *system.velocities, *(q.ddot for q in system.coordinates), *system.momenta, *system.inputs)
    columns = {symbol.name: motion[symbol.name] for symbol in symbols} | {"t": motion.t}
    residuals = np.zeros(len(motion.t))
    for k in range(len(motion.t)):
        table = {name: float(column[k]) for name, column in columns.items()} | dict(motion.parameters)
        residuals[k] = chart.structure(table).residual(*chart.pair(table))
    return residuals


@dataclass(frozen=True)
class _Chart:
    """The field on one of the two bundles, as expressions of the system's symbols.

    Attributes
    ----------
    labels : names of the coordinates (n + k) of the bundle
    omega : matrix ((n + k) x (n + k)), T^T Omega T
    frame, rows : E (n x j) and A (m x n); None where there is none
    flow, effort : columns ((n + k) x 1): the state's rate and the derivative of the energy
    completions : symbols that follow from others, in the order they are tried
    """

    algebra: GraphAlgebra
    system: System
    labels: tuple[str, ...]
    omega: Any
    frame: Any
    rows: Any
    flow: Any
    effort: Any
    completions: tuple[_Completion, ...]
    functions: dict[int, tuple[Any, list[str], list[str]]] = field(default_factory=dict, repr=False)

    @property
    def state_names(self) -> list[str]:
        """Every name that a state may be given by."""
        return list(dict.fromkeys(["t", *self.labels, *(name for c in self.completions for name in (*c.sources, *c.targets))]))

    def structure(self, table: Table) -> DiracStructure:
        """D where the symbols have the values of `table`."""
        n, fibre = len(self.system.coordinates), len(self.labels) - len(self.system.coordinates)
        made = DiracStructure.from_two_form(self._values(self.omega, table), self.labels)
        if self.frame is not None:
            frame = self._values(self.frame, table)
            wide = np.block([[frame, np.zeros((n, fibre))], [np.zeros((fibre, frame.shape[1])), np.eye(fibre)]])
            made = made.restricted(directions=wide)
        if self.rows is not None:
            rows = self._values(self.rows, table)
            made = made.restricted(rows=np.hstack([rows, np.zeros((len(rows), fibre))]))
        return made

    def pair(self, table: Table) -> tuple[Any, Any]:
        """The rate of the state and the derivative of the energy, ((n + k),) each."""
        return self._values(self.flow, table)[:, 0], self._values(self.effort, table)[:, 0]

    def _values(self, block: Any, table: Table) -> Any:
        """A block of expressions as numbers; symbols that are not in the table follow from those that are."""
        full = dict(table)
        for rule in self.completions:
            if any(name not in full for name in rule.targets) and all(name in full for name in rule.sources):
                values = self._plain(rule.expressions(), full)
                full |= {name: float(value) for name, value in zip(rule.targets, values[:, 0], strict=True)}
        return self._plain(block, full)

    def _plain(self, block: Any, table: Table) -> Any:
        if id(block) not in self.functions:
            symbols = self.algebra.symbols
            function = ca.Function("block", list(symbols.values()), [ca.densify(block)])
            needed = [symbol.name for symbol, node in symbols.items() if self.algebra.depends(block, node)]
            self.functions[id(block)] = function, [symbol.name for symbol in symbols], needed
        function, names, needed = self.functions[id(block)]
        missing = sorted({name for name in needed if name not in table})
        if missing:
            raise ModelError(
                f"The Dirac structure depends on {', '.join(missing)}",
                seen=", ".join(table),
                remedy="give values for them in at= or parameters=",
            )
        values = np.asarray(function(*(table.get(name, 0.0) for name in names)), dtype=float).reshape(block.shape)
        if not np.all(np.isfinite(values)):
            raise ModelError("The Dirac structure is not defined at this state", seen=table, remedy="choose another state")
        return values


@dataclass(frozen=True)
class _Completion:
    """Symbols that follow from others: velocities from speeds, velocities from momenta, a fibre from velocities."""

    targets: tuple[str, ...]
    sources: tuple[str, ...]
    expressions: Callable[[], Any]


def _chart(system: System, side: str) -> _Chart:
    """The chart of one side."""
    if side not in SIDES:
        near = nearest(str(side), SIDES)
        raise ModelError(
            f"A Dirac structure has no side `{side}`",
            seen=", ".join(SIDES),
            remedy=f"did you mean {near}" if near else "take one",
        )
    if system.is_hamiltonian and side == "hamiltonian":
        return _canonical_chart(system)
    return _bundle_chart(system, side)


def _bundle_chart(system: System, side: str) -> _Chart:
    """Both sides from a Lagrangian L(x, v), with v = sigma(x) x_dot where the system states a bundle."""
    algebra = GraphAlgebra()
    bundle, written = system.bundle, system.bundle_lagrangian
    names = tuple(v.name for v in bundle) or tuple(v.name for v in system.velocities)
    x, rate, second = _vectors(algebra, system)
    time = algebra.vector([t])
    v = algebra.vector(bundle) if bundle else rate
    follows = algebra.vector(bundle.values()) if bundle else rate
    lagrangian = algebra.scalar(written) if written is not None else lagrangian_and_momenta(system, algebra)[0]
    sigma = algebra.jacobian(follows, rate)
    metric, p = algebra.hessian(lagrangian, v)
    costate = sigma.T @ p
    fibre_rate = algebra.along(follows, x, rate) + sigma @ second + algebra.jacobian(follows, time)
    force = applied_force(system, algebra, costate)
    if side == "hamiltonian":
        held = algebra.vector([Parameter(f"held {name}") for name in names])
        omega = _pulled_back(algebra, algebra.substitute(algebra.jacobian(sigma.T @ held, x), held, p), sigma.T)
        momentum_rate = algebra.along(p, x, rate) + metric @ fibre_rate + algebra.jacobian(p, time)
        flow = algebra.stack([rate, momentum_rate])
        effort = algebra.stack([-algebra.gradient(lagrangian, x) - force, v])
    else:
        energy = algebra.inner(p, v) - lagrangian
        omega = _pulled_back(algebra, algebra.jacobian(costate, x), algebra.jacobian(costate, v))
        flow = algebra.stack([rate, fibre_rate])
        derivative = algebra.gradient(energy, x) - force + algebra.jacobian(costate, time)
        effort = algebra.stack([derivative, algebra.gradient(energy, v)])
    level = velocity_level(system, algebra, algebra.substitute(costate, v, follows) if bundle else costate)
    momenta = tuple(f"p_{name}" for name in bundle) or tuple(p.name for p in system.momenta)
    symbols = algebra.vector([Parameter(name) for name in momenta])
    rules = [_Completion(names, momenta, cache(lambda: conjugate_symbols(algebra, lagrangian, v, symbols)))]
    if bundle:
        rules.append(_Completion(names, tuple(s.name for s in system.velocities), lambda: follows))
    labels = momenta if side == "hamiltonian" else names
    return _finished(algebra, system, labels, omega, algebra.jacobian(level.residual, rate), flow, effort, rules)


def _canonical_chart(system: System) -> _Chart:
    """The Hamiltonian side of a system that was stated by its Hamiltonian: nothing is inverted but H_pp for the rate of p."""
    algebra = GraphAlgebra()
    x, rate, second = _vectors(algebra, system)
    p, time, n = algebra.vector(system.momenta), algebra.vector([t]), len(system.coordinates)
    blocks = hamilton.derive_with(system, algebra)
    assert blocks.dual_rows is not None
    energy, force = blocks.energy, applied_force(system, algebra, p)
    velocities = blocks.velocities
    turned = second - algebra.along(velocities, x, rate) - algebra.jacobian(velocities, time)
    flow = algebra.stack([rate, algebra.solve(blocks.metric, turned)])
    effort = algebra.stack([algebra.gradient(energy, x) - force, algebra.gradient(energy, p)])
    omega = _pulled_back(algebra, algebra.zeros(n, n), algebra.jacobian(p, p))
    labels, names = [s.name for s in system.momenta], [s.name for s in system.velocities]
    rules = [
        _Completion(tuple(labels), tuple(names), cache(lambda: conjugate_symbols(algebra, energy, p, rate))),
        _Completion(tuple(names), tuple(labels), lambda: velocities),
    ]
    return _finished(algebra, system, labels, omega, blocks.dual_rows.T, flow, effort, rules)


def _finished(
    algebra: GraphAlgebra,
    system: System,
    labels: Sequence[str],
    omega: Any,
    rows: Any,
    flow: Any,
    effort: Any,
    rules: Sequence[_Completion],
) -> _Chart:
    """A chart with the image of the constraints, if there is one."""
    image, frame = system.image, None
    first: list[_Completion] = []
    if image is not None:
        moved = algebra.vector([image.velocities[q] for q in system.coordinates])
        frame = algebra.jacobian(moved, algebra.vector(image.speeds))
        targets, sources = tuple(s.name for s in system.velocities), tuple(s.name for s in image.speeds)
        first.append(_Completion(targets, sources, lambda: moved))
    return _Chart(
        algebra=algebra,
        system=system,
        labels=(*(q.name for q in system.coordinates), *labels),
        omega=omega,
        frame=frame,
        rows=rows if system.bilateral else None,
        flow=flow,
        effort=effort,
        completions=(*first, *rules),
    )


def _pulled_back(algebra: GraphAlgebra, along_base: Any, along_fibre: Any) -> Any:
    """T^T Omega T for a map (x, w) -> (x, xi) with the derivatives xi_x (n x n) and xi_w (n x k)."""
    k = along_fibre.shape[1]
    upper = algebra.columns([along_base.T - along_base, -along_fibre])
    return algebra.stack([upper, algebra.columns([along_fibre.T, algebra.zeros(k, k)])])


def _vectors(algebra: GraphAlgebra, system: System) -> tuple[Any, Any, Any]:
    """x, x_dot and x_ddot."""
    symbols = (system.coordinates, system.velocities, [q.ddot for q in system.coordinates])
    x, rate, second = (algebra.vector(group) for group in symbols)
    return x, rate, second


def _named(given: Values | None) -> dict[str, Any]:
    return by_name(given, "mapping")


def _numbers(given: Mapping[str, Any], known: Sequence[str], what: str) -> Table:
    """Finite numbers by name; a name that is not known is refused."""
    for name, value in given.items():
        if name not in known:
            near = nearest(name, known)
            raise ModelError(
                f"The system has no {what} `{name}`",
                seen=", ".join(known),
                remedy=f"did you mean {near}" if near else "remove it",
            )
        if not isinstance(value, (int, float, np.number, sympy.Number)) or not np.isfinite(float(value)):
            raise ModelError(f"The {what} `{name}` must be a finite number", seen=value, remedy="give a number")
    return {name: float(value) for name, value in given.items()}
