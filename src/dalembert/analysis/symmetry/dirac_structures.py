r"""The Dirac structure of a system at each of its states, and whether a motion obeys it.

A Lagrangian L(x, v) on a bundle V with v = sigma(x) x_dot (sigma = 1 where none is stated) and
constraints x_dot in E(x) or A(x) x_dot = 0 give two fields of Dirac structures (Moreau and van der
Schaft, theorems 1 and 2). With the canonical form Omega(x_dot, xi_dot) = (-xi_dot, x_dot) on T*X
and the maps

    V* -> T*X : (x, p) -> (x, sigma^T p),          V -> T*X : (x, v) -> (x, sigma^T L_v)

with tangents T, both are lemma 1 for omega = T^T Omega T and Sigma = {x_dot allowed, any rate of
the fibre}:

    (pi_dot, dH) in D on V*,   dH = (-L_x, v)                                                   (29)
    (nu_dot, dE) in D^L on V,  E = L_v . v - L,   with v = sigma x_dot                    (30), (31)

Generalised forces Q act as dH - (Q, 0). The dimension of D is that of V, for any rank of E or A.
Motions under constraints that are not homogeneous in the velocities do not obey it, nor do
vakonomic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from ...algebra.protocol import Block

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
        Coordinates, and velocities, momenta, speeds of the image and ``t`` where they occur.
    parameters : mapping of name or symbol to float
        Those that the structure depends on.
    side : str
        "hamiltonian" for D on V* in (x, p), "lagrangian" for D^L on V in (x, v).

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
        remedy = "pass da.System(...)"
        raise ModelError("A System or a Scenario is needed", type(model).__name__, remedy)
    chart = _chart(system, side)
    state: dict[str, Any] = {}
    values: dict[str, Any] = {}
    if isinstance(model, Scenario):
        state = {k: v for k, v in model.start.items() if k in chart.state_names}
        values = dict(model.parameters)
    table: Table = {"t": 0.0}
    table |= _numbers(values | _named(parameters), [p.name for p in system.parameters], "parameter")
    table |= _numbers(state | _named(at), chart.state_names, "state symbol")
    return chart.structure(table)


def dirac_residual(motion: Motion, side: str = "hamiltonian") -> Array:
    """The distance (nt,) of (state rate, energy derivative) from the Dirac structure on a motion.

    The relative distance is rounding where (29) or (30) holds. The rates are the run's own; the
    structure and the derivatives come from the model. One-sided constraints are no part of it.

    Examples
    --------
    >>> import dalembert as da
    >>> motion = da.simulate(da.gallery.load("rolling-disk"), span=(0, 1), at=[0, 0.5, 1])
    >>> bool(dirac_residual(motion).max() < 1e-12)
    True
    """
    system, chart = motion.system, _chart(motion.system, side)
    accelerations = (q.ddot for q in system.coordinates)
    moving = (*system.velocities, *accelerations, *system.momenta)
    symbols = (*system.coordinates, *moving, *system.inputs)
    columns = {symbol.name: motion[symbol.name] for symbol in symbols} | {"t": motion.t}
    residuals = np.zeros(len(motion.t))
    for k in range(len(motion.t)):
        table = {name: float(column[k]) for name, column in columns.items()}
        table |= dict(motion.parameters)
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
    omega: ca.SX
    frame: ca.SX | None
    rows: ca.SX | None
    flow: ca.SX
    effort: ca.SX
    completions: tuple[_Completion, ...]
    functions: dict[int, tuple[ca.Function, list[str], list[str]]] = field(
        default_factory=dict, repr=False
    )

    @property
    def state_names(self) -> list[str]:
        """Every name that a state may be given by."""
        rules = (name for rule in self.completions for name in (*rule.sources, *rule.targets))
        return list(dict.fromkeys(["t", *self.labels, *rules]))

    def structure(self, table: Table) -> DiracStructure:
        """D where the symbols have the values of `table`."""
        n, fibre = len(self.system.coordinates), len(self.labels) - len(self.system.coordinates)
        made = DiracStructure.from_two_form(self._values(self.omega, table), self.labels)
        if self.frame is not None:
            frame = self._values(self.frame, table)
            upper = np.hstack([frame, np.zeros((n, fibre))])
            lower = np.hstack([np.zeros((fibre, frame.shape[1])), np.eye(fibre)])
            made = made.restricted(directions=np.vstack([upper, lower]))
        if self.rows is not None:
            rows = self._values(self.rows, table)
            made = made.restricted(rows=np.hstack([rows, np.zeros((len(rows), fibre))]))
        return made

    def pair(self, table: Table) -> tuple[Array, Array]:
        """The rate of the state and the derivative of the energy, ((n + k),) each."""
        return self._values(self.flow, table)[:, 0], self._values(self.effort, table)[:, 0]

    def _values(self, block: ca.SX, table: Table) -> Array:
        """A block of expressions as numbers; missing symbols are completed from the others."""
        full = dict(table)
        for rule in self.completions:
            missing = any(name not in full for name in rule.targets)
            if missing and all(name in full for name in rule.sources):
                values = self._plain(rule.expressions(), full)
                full |= dict(zip(rule.targets, map(float, values[:, 0]), strict=True))
        return self._plain(block, full)

    def _plain(self, block: ca.SX, table: Table) -> Array:
        if id(block) not in self.functions:
            symbols = self.algebra.symbols
            function = ca.Function("block", list(symbols.values()), [ca.densify(block)])
            depends = self.algebra.depends
            needed = [symbol.name for symbol, node in symbols.items() if depends(block, node)]
            self.functions[id(block)] = function, [symbol.name for symbol in symbols], needed
        function, names, needed = self.functions[id(block)]
        missing = sorted({name for name in needed if name not in table})
        if missing:
            what = f"The Dirac structure depends on {', '.join(missing)}"
            raise ModelError(what, ", ".join(table), "give values for them in at= or parameters=")
        found = function(*(table.get(name, 0.0) for name in names))
        values = np.asarray(found, dtype=float).reshape(block.shape)
        if not np.all(np.isfinite(values)):
            remedy = "choose another state"
            raise ModelError("The Dirac structure is not defined at this state", table, remedy)
        return values


@dataclass(frozen=True)
class _Completion:
    """Symbols that follow from others, such as velocities from speeds or momenta."""

    targets: tuple[str, ...]
    sources: tuple[str, ...]
    expressions: Callable[[], ca.SX]


def _chart(system: System, side: str) -> _Chart:
    """The chart of one side."""
    if side not in SIDES:
        near = nearest(str(side), SIDES)
        remedy = f"did you mean {near}" if near else "take one"
        raise ModelError(f"A Dirac structure has no side `{side}`", ", ".join(SIDES), remedy)
    if system.is_hamiltonian and side == "hamiltonian":
        return _canonical_chart(system)
    return _bundle_chart(system, side)


def _bundle_chart(system: System, side: str) -> _Chart:
    """Both sides from a Lagrangian L(x, v), with v = sigma(x) x_dot if a bundle is stated."""
    algebra = GraphAlgebra()
    bundle, written = system.bundle, system.bundle_lagrangian
    names = tuple(v.name for v in bundle) or tuple(v.name for v in system.velocities)
    x, rate, second = _vectors(algebra, system)
    time = algebra.vector([t])
    v = algebra.vector(bundle) if bundle else rate
    follows = algebra.vector(bundle.values()) if bundle else rate
    if written is not None:
        lagrangian = algebra.scalar(written)
    else:
        lagrangian, _ = lagrangian_and_momenta(system, algebra)
    sigma = algebra.jacobian(follows, rate)
    metric, p = algebra.hessian(lagrangian, v)
    costate = sigma.T @ p
    fibre_rate = algebra.along(follows, x, rate) + sigma @ second + algebra.jacobian(follows, time)
    force = applied_force(system, algebra, costate)
    if side == "hamiltonian":
        held = algebra.vector([Parameter(f"held {name}") for name in names])
        turned = algebra.substitute(algebra.jacobian(sigma.T @ held, x), held, p)
        omega = _pulled_back(algebra, turned, sigma.T)
        momentum_rate = algebra.along(p, x, rate) + metric @ fibre_rate + algebra.jacobian(p, time)
        flow = algebra.stack([rate, momentum_rate])
        effort = algebra.stack([-algebra.gradient(lagrangian, x) - force, v])
    else:
        energy = algebra.inner(p, v) - lagrangian
        omega = _pulled_back(algebra, algebra.jacobian(costate, x), algebra.jacobian(costate, v))
        flow = algebra.stack([rate, fibre_rate])
        derivative = algebra.gradient(energy, x) - force + algebra.jacobian(costate, time)
        effort = algebra.stack([derivative, algebra.gradient(energy, v)])
    on_rates = algebra.substitute(costate, v, follows) if bundle else costate
    residual = velocity_level(system, algebra, on_rates).residual
    momenta = tuple(f"p_{name}" for name in bundle) or tuple(p.name for p in system.momenta)
    symbols = algebra.vector([Parameter(name) for name in momenta])
    inverse = cache(lambda: conjugate_symbols(algebra, lagrangian, v, symbols))
    rules = [_Completion(names, momenta, inverse)]
    if bundle:
        rules.append(_Completion(names, tuple(s.name for s in system.velocities), lambda: follows))
    labels, rows = momenta if side == "hamiltonian" else names, algebra.jacobian(residual, rate)
    return _finished(algebra, system, labels, omega, rows, flow, effort, rules)


def _canonical_chart(system: System) -> _Chart:
    """The Hamiltonian side of a system stated by its Hamiltonian; only H_pp is inverted."""
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
    labels, names = tuple(s.name for s in system.momenta), tuple(s.name for s in system.velocities)
    inverse = cache(lambda: conjugate_symbols(algebra, energy, p, rate))
    rules = [_Completion(labels, names, inverse), _Completion(names, labels, lambda: velocities)]
    return _finished(algebra, system, labels, omega, blocks.dual_rows.T, flow, effort, rules)


def _finished(
    algebra: GraphAlgebra,
    system: System,
    labels: Sequence[str],
    omega: ca.SX,
    rows: ca.SX,
    flow: ca.SX,
    effort: ca.SX,
    rules: Sequence[_Completion],
) -> _Chart:
    """A chart with the image of the constraints, if there is one."""
    image, frame = system.image, None
    first: list[_Completion] = []
    if image is not None:
        moved = algebra.vector([image.velocities[q] for q in system.coordinates])
        frame = algebra.jacobian(moved, algebra.vector(image.speeds))
        targets = tuple(s.name for s in system.velocities)
        sources = tuple(s.name for s in image.speeds)
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


def _pulled_back(algebra: GraphAlgebra, along_base: ca.SX, along_fibre: ca.SX) -> Block:
    """T^T Omega T for a map (x, w) -> (x, xi) with derivatives xi_x (n x n), xi_w (n x k)."""
    k = along_fibre.shape[1]
    upper = algebra.columns([along_base.T - along_base, -along_fibre])
    return algebra.stack([upper, algebra.columns([along_fibre.T, algebra.zeros(k, k)])])


def _vectors(algebra: GraphAlgebra, system: System) -> tuple[ca.SX, ca.SX, ca.SX]:
    """x, x_dot and x_ddot."""
    symbols = (system.coordinates, system.velocities, [q.ddot for q in system.coordinates])
    x, rate, second = (algebra.vector(group) for group in symbols)
    return x, rate, second


def _named(given: Values | None) -> dict[str, Any]:
    return by_name(given, "mapping")


def _numbers(given: Mapping[str, Any], known: Sequence[str], what: str) -> Table:
    """Finite numbers by name; raises for a name that is not known."""
    for name, value in given.items():
        if name not in known:
            near = nearest(name, known)
            remedy = f"did you mean {near}" if near else "remove it"
            raise ModelError(f"The system has no {what} `{name}`", ", ".join(known), remedy)
        is_number = isinstance(value, (int, float, np.number, sympy.Number))
        if not is_number or not np.isfinite(float(value)):
            raise ModelError(f"The {what} `{name}` must be a finite number", value, "give a number")
    return {name: float(value) for name, value in given.items()}
