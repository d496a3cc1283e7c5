r"""A mechanical system with inputs for matching: metric, potential, actuated coordinates.

    L = 1/2 g_ij q_dot^i q_dot^j - U(q),
    d/dt dL/dq_dot^i = dL/dq^i + u_i,      u_a = 0 for unactuated a

(Bloch and others, Supplement, 9.4.17). The inputs of the system act as u_al = B_al^k w_k with an
invertible square B on the actuated coordinates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.simplifier import lowest_terms
from ...algebra.structure import Verdict
from ...algebra.tree_derivatives import partial_derivative
from ...analysis.anatomy import read_model
from ...analysis.named_blocks import NamedBlocks
from ...errors import FormError, ModelError, nearest
from ...model.scenario import Scenario
from ...model.symbols import Coordinate, Input, Velocity, t
from ...model.system import System
from ...model.values import numbers_by_name
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, Matrix, Symbols, Values, Vector

__all__ = ["FITTED", "Mechanics", "read_mechanics", "vanishing_at"]

ZERO = sympy.Integer(0)
#: The largest derivative of U along unactuated coordinates that counts as none, beside its Hessian.
AT_REST = 1e-9
#: Numbers that were fitted, such as gains, are known to this accuracy.
FITTED = 1e-10


@dataclass(frozen=True, eq=False)
class Mechanics:
    """Metric, potential and inputs; n coordinates, k of them actuated.

    Attributes
    ----------
    system : System
    metric : matrix (n x n)
        g(q).
    potential : expression
        U(q).
    unactuated, actuated : tuples of int
        Places among the coordinates.
    acts : matrix (k x k)
        B, the forces on actuated coordinates by the inputs.
    equilibrium : dict of name to float
        q_0.
    values : dict of name to float
        Parameters.
    """

    system: System
    metric: sympy.Matrix
    potential: sympy.Expr
    unactuated: tuple[int, ...]
    actuated: tuple[int, ...]
    acts: sympy.Matrix
    equilibrium: dict[str, float]
    values: dict[str, float]

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """q."""
        return self.system.coordinates

    @property
    def velocities(self) -> tuple[Velocity, ...]:
        """q_dot."""
        return self.system.velocities

    @property
    def inputs(self) -> tuple[Input, ...]:
        """w, as many as actuated coordinates."""
        return tuple(self.system.inputs)

    def symbols(self, places: Sequence[int]) -> list[Coordinate]:
        """Coordinates by place."""
        return [self.coordinates[k] for k in places]

    def block(self, rows: Sequence[int], columns: Sequence[int]) -> sympy.Matrix:
        """A part of the metric."""
        return self.metric.extract(list(rows), list(columns))

    def names(self, places: Sequence[int]) -> str:
        """Coordinates by place, for sentences."""
        return ", ".join(q.name for q in self.symbols(places)) or "none"

    def numbers(self, expressions: Matrix | Vector, at: Mapping[str, float] | None = None) -> Array:
        """Expressions of q at a configuration, the equilibrium by default, (rows, columns)."""
        table, algebra = sympy.Matrix(expressions), GraphAlgebra()
        blocks = NamedBlocks(algebra, {"all": algebra.vector(list(table))}, self.known)
        found: Array = blocks({**self.values, **self.equilibrium, **(at or {})})["all"]
        return found.reshape(table.shape)

    @cached_property
    def known(self) -> list[str]:
        """Names that may be given although an expression does not need them."""
        symbols = (*self.coordinates, *self.velocities, *self.inputs)
        return [*(s.name for s in symbols), *self.values, *self.equilibrium]

    def hessian(self, function: sympy.Expr) -> Array:
        """Second derivatives of a function of q at the equilibrium (n, n)."""
        algebra = GraphAlgebra()
        second, _ = algebra.hessian(algebra.scalar(function), algebra.vector(self.coordinates))
        return self._at_equilibrium(algebra, second)

    def jacobian(self, functions: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]) -> Array:
        """First derivatives of m functions by k symbols at the equilibrium (m, k)."""
        algebra = GraphAlgebra()
        first = algebra.jacobian(algebra.vector(functions), algebra.vector(symbols))
        return self._at_equilibrium(algebra, first)

    def _at_equilibrium(self, algebra: GraphAlgebra, block: ca.SX) -> Array:
        blocks = NamedBlocks(algebra, {"all": block}, self.known)
        found: Array = blocks({**self.values, **self.equilibrium})["all"]
        return found.reshape(block.shape)

    def derivatives(
        self, function: sympy.Expr, places: Sequence[int] | None = None
    ) -> sympy.Matrix:
        """Derivatives of a function by coordinates, (k x 1)."""
        chosen = range(len(self.coordinates)) if places is None else places
        return sympy.Matrix([partial_derivative(function, q) for q in self.symbols(list(chosen))])

    def depends_on(self, expressions: Matrix | Vector, places: Sequence[int]) -> list[str]:
        """The coordinates among `places` that occur."""
        free = set().union(*(sympy.expand(e).free_symbols for e in sympy.Matrix(expressions)))
        return [q.name for q in self.symbols(places) if q in free]


def vanishing_at(algebra: GraphAlgebra, block: ca.SX, values: Mapping[str, float]) -> Verdict:
    """Whether a block vanishes for all values of its symbols, or else for these values of some."""
    found = algebra.vanishing(block)
    given = [symbol for symbol in algebra.symbols if symbol.name in values]
    if found.is_proved:
        return found
    numbers = algebra.vector([sympy.Float(values[symbol.name]) for symbol in given])
    bound = algebra.substitute(block, algebra.vector(given), numbers) if given else block
    return algebra.vanishing(bound, FITTED)


def read_mechanics(
    model: System | Scenario, actuated: Symbols | None, at: Values | None, parameters: Values | None
) -> Mechanics:
    """What matching needs of a model.

    Raises
    ------
    FormError
        Where the model is no such system: constraints, forces beside the inputs, a Lagrangian that
        is not kinetic minus potential energy; or the inputs do not push the actuated coordinates
        one by one.
    """
    system, values, _ = read_model(model, parameters, None)
    metric, potential = _energies(system)
    pushes = _pushes(system)
    places = _actuated(system, pushes, actuated)
    equilibrium = {q.name: 0.0 for q in system.coordinates}
    for name, value in numbers_by_name(at).items():
        if name not in equilibrium:
            what = f"There is no coordinate `{name}`"
            raise ModelError(what, ", ".join(equilibrium), "give the equilibrium by name")
        equilibrium[name] = value
    others = tuple(k for k in range(len(system.coordinates)) if k not in places)
    acts = pushes.extract(list(places), list(range(pushes.cols)))
    here = Mechanics(system, metric, potential, others, places, acts, equilibrium, values)
    missing = [p.name for p in system.parameters if p.name not in values]
    if missing:
        remedy = "pass parameters={name: value}"
        raise ModelError("Parameters have no value", ", ".join(missing), remedy)
    _check_inputs(here)
    _check_rest(here)
    return here


def _energies(system: System) -> tuple[sympy.Matrix, sympy.Expr]:
    """g and U."""
    if system.constraints:
        names = ", ".join(c.name for c in system.constraints)
        raise FormError(
            "Matching is for systems without constraints",
            names,
            "give the Routhian of a symmetric system instead (da.control.match_routhian)",
        )
    if system.lagrangian is None:
        remedy = "state the system by its energies"
        raise FormError("Matching needs a Lagrangian", "a Hamiltonian", remedy)
    v = list(system.velocities)
    rest = dict.fromkeys(v, ZERO)
    L = system.lagrangian
    metric = sympy.hessian(L, v).applyfunc(lowest_terms)
    linear = [lowest_terms(partial_derivative(L, x).xreplace(rest)) for x in v]
    if metric.has(*v) or any(linear) or L.has(t):
        raise FormError(
            "Matching needs L = g(q) q_dot q_dot / 2 - U(q)",
            "time in L" if L.has(t) else "other terms in the velocities",
            "state the system in coordinates in which L is so",
        )
    return metric, lowest_terms(-L.xreplace(rest))


def _pushes(system: System) -> sympy.Matrix:
    """How the inputs enter the forces, (n x k); nothing else may act."""
    inputs = list(system.inputs)
    idle = dict.fromkeys(inputs, ZERO)
    forces = [system.forces.get(q, ZERO) for q in system.coordinates]
    pairs = zip(system.coordinates, forces, strict=True)
    others = [q.name for q, f in pairs if sympy.expand(f.xreplace(idle)) != 0]
    if others or system.dissipation != 0:
        raise FormError(
            "Matching needs a system on which only its inputs act",
            "dissipation" if not others else f"a force on {', '.join(others)}",
            "leave it out here, and see its effect by simulating the closed loop with it",
        )
    if not inputs:
        return sympy.zeros(len(forces), 0)
    pushes = sympy.Matrix(forces).jacobian(inputs)
    if pushes.has(*inputs, *system.velocities):
        what = "Matching needs forces that are linear in the inputs"
        raise FormError(what, str(list(forces)), "restate them")
    return pushes


def _actuated(system: System, pushes: sympy.Matrix, named_ones: Symbols | None) -> tuple[int, ...]:
    """The places that the inputs push, which must be the ones that are named."""
    pushed = tuple(k for k in range(pushes.rows) if any(pushes.row(k)))
    if not pushed:
        remedy = "state System(inputs=[u], forces={q: u})"
        raise FormError("No coordinate is actuated", "forces without inputs", remedy)
    if named_ones is None:
        return pushed
    by_name = {q.name: k for k, q in enumerate(system.coordinates)}
    wanted = [str(getattr(q, "name", q)) for q in named_ones]
    for name in wanted:
        if name not in by_name:
            near = nearest(name, by_name)
            what = f"There is no coordinate `{name}`"
            raise ModelError(what, ", ".join(by_name), f"did you mean {near}")
    if {by_name[name] for name in wanted} != set(pushed):
        found = ", ".join(system.coordinates[k].name for k in pushed)
        raise FormError(
            "The inputs do not push the coordinates that are called actuated",
            f"inputs push {found}; actuated: {', '.join(wanted)}",
            "change coordinates until each input pushes one of them, or name those that are pushed",
        )
    return pushed


def _check_inputs(here: Mechanics) -> None:
    """As many inputs as pushed coordinates, independent."""
    if not here.unactuated:
        return
    table = here.numbers(here.acts)
    found = rank(table).rank
    if not (found == table.shape[0] == table.shape[1]):
        raise FormError(
            "The inputs do not push the actuated coordinates one by one",
            f"{table.shape[1]} inputs push {table.shape[0]} coordinates with rank {found}",
            "choose coordinates of which the inputs push as many as there are independent inputs",
        )


def _check_rest(here: Mechanics) -> None:
    """No input can hold a derivative of U along unactuated coordinates."""
    derivatives = np.zeros((0, 1))
    if here.unactuated:
        derivatives = here.numbers(here.derivatives(here.potential, here.unactuated))
    size = float(np.max(np.abs(here.hessian(here.potential))))
    worst = np.max(np.abs(derivatives), initial=0.0)
    if worst > AT_REST * size:
        name = here.coordinates[here.unactuated[int(np.argmax(np.abs(derivatives)))]].name
        raise FormError(
            "The point is no equilibrium for any input",
            f"dU/d{name} = {worst:.3g} along an unactuated coordinate",
            "give at={coordinate: value} where U is stationary along unactuated coordinates",
        )
