r"""What inputs do to a state: the control-affine field of a System or a Flow, in symbols.

    x_dot = f(x, t) + g(x, t) u

x is (q, q_dot) of a System stated by its Lagrangian, (q, p) of one stated by its Hamiltonian, and
the symbols of a Flow. The accelerations come out of the Gauss problem of the system, with the
reactions of its constraints: the rows

    [ M  A^T ] [ q_ddot ]   [ Q + L_q - L_vq v - L_vt ]
    [ A   0  ] [  -mu   ] = [            b            ]

solved in the algebra of quotients that every formula of the library goes through.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.simplify.lowest_terms import eliminated
from ...algebra.simplify.statement import helpful_turns
from ...algebra.simplify.trigonometric_ring import TooMuchWorkError, Work
from ...algebra.structure import Verdict
from ...algebra.tree import TreeAlgebra
from ...errors import ModelError
from ...model.flow_system import Flow
from ...model.symbols import Input, Parameter, t
from ...model.system import System
from ...typing import Array

__all__ = ["AffineField", "Instants", "affine_field", "applied_forces", "small_solve"]

#: Products of terms that inverting a mass matrix may take before it is left unsimplified.
SOLVE_EFFORT = 60_000


@dataclass(frozen=True)
class AffineField:
    """x_dot = f(x, t) + g(x, t) u.

    Attributes
    ----------
    model : System or Flow
    symbols : tuple of symbols (n,)
    drift : tuple of expressions (n,)
    fields : sympy.Matrix (n x k)
        A column for each input.
    inputs : tuple of Input (k,)
    dimension : int
        Of the states that the constraints allow: n without constraints.
    metric : sympy.Matrix or None
        The mass matrix of a System.
    velocities : mapping
        q_dot as expressions of the symbols, where these are momenta.
    relations : tuple of expressions
        What vanishes on the states by the constraints of the model.
    """

    model: System | Flow
    symbols: tuple[sympy.Symbol, ...]
    drift: tuple[sympy.Expr, ...]
    fields: sympy.MatrixBase
    inputs: tuple[Input, ...]
    dimension: int
    metric: sympy.MatrixBase | None
    velocities: Mapping[sympy.Symbol, sympy.Expr]
    relations: tuple[sympy.Expr, ...] = ()

    def along_drift(self, function: sympy.Expr) -> sympy.Expr:
        """The rate of a function of state and time without inputs, L_f h + dh/dt."""
        parts = zip(self.symbols, self.drift, strict=True)
        moved = sum((sympy.diff(function, x) * f for x, f in parts), sympy.S.Zero)
        return sympy.diff(function, t) + moved

    def along_fields(self, function: sympy.Expr) -> sympy.MatrixBase:
        """What each input adds to the rate of a function, L_g h, (1 x k)."""
        derivatives = [sympy.diff(function, x) for x in self.symbols]
        return sympy.Matrix(1, len(self.symbols), derivatives) * self.fields


class Instants:
    """Generic instants of a field: random states, times and parameters.

    A statement about the rank of analytic functions that holds at one of them holds almost
    everywhere.
    """

    def __init__(
        self, near: Mapping[str, float] | None = None, count: int = 6, seed: int = 11
    ) -> None:
        self.count, self._random = count, np.random.default_rng(seed)
        self._algebra = GraphAlgebra()
        self._values: dict[sympy.Symbol, Array] = {}
        self._near = dict(near or {})
        self._functions: dict[tuple[sympy.Expr, ...], tuple[ca.Function, list[sympy.Symbol]]] = {}

    def _draw(self, symbol: sympy.Symbol) -> Array:
        return (-1.0 if symbol.is_negative else 1.0) * self._random.uniform(0.35, 1.25, self.count)

    @property
    def has_place(self) -> bool:
        """Whether a place was named near which the choices are to be good."""
        return bool(self._near)

    def here(
        self,
        expressions: Sequence[sympy.Expr],
        rows: int = 1,
        moved: Mapping[sympy.Symbol, float] | None = None,
    ) -> Array:
        """Values (rows, columns) at the named place; other symbols are zero, parameters one."""
        function, symbols = self._function(expressions)
        default = {s: 1.0 if isinstance(s, Parameter) else 0.0 for s in symbols}
        table = {s: self._near.get(s.name, x) for s, x in default.items()} | dict(moved or {})
        found = _called(function, [table[s] for s in symbols])
        return found.reshape(rows, len(expressions) // rows)

    def _function(
        self, expressions: Sequence[sympy.Expr]
    ) -> tuple[ca.Function, list[sympy.Symbol]]:
        key = tuple(expressions)
        if key not in self._functions:
            block = ca.vertcat(*(self._algebra.scalar(e) for e in key)) if key else ca.SX(0, 1)
            symbols = list(self._algebra.symbols)
            inputs = [self._algebra.symbols[s] for s in symbols]
            self._functions[key] = (ca.Function("instants", inputs, [ca.densify(block)]), symbols)
        return self._functions[key]

    def __call__(self, expressions: Sequence[sympy.Expr], rows: int = 1) -> Array:
        """Values (points, rows, columns) at the instants at which all of them are finite."""
        function, symbols = self._function(expressions)
        for symbol in symbols:
            if symbol not in self._values:
                self._values[symbol] = self._draw(symbol)
        places = [[self._values[s][k] for s in symbols] for k in range(self.count)]
        found = np.array([_called(function, place) for place in places])
        kept = found[np.all(np.isfinite(found), axis=1)]
        return kept.reshape(len(kept), rows, len(expressions) // rows)

    def vanishing(self, expression: sympy.Expr) -> Verdict:
        """Whether an expression is zero for all states, times and parameters."""
        return self._algebra.vanishing(self._algebra.scalar(expression))

    def rank(self, rows: Sequence[sympy.MatrixBase]) -> int:
        """The rank of rows (1 x k) of expressions at almost every instant."""
        lowered = [self._algebra.vector(list(row)).T for row in rows]
        return self._algebra.rank(self._algebra.stack(lowered)).value if lowered else 0


def _called(function: ca.Function, values: Sequence[float]) -> Array:
    found = function(*values) if values else function()["o0"]
    return np.asarray(found, dtype=float).ravel()


def small_solve(matrix: sympy.MatrixBase, right: sympy.MatrixBase) -> sympy.MatrixBase:
    """X with matrix @ X = right, in lowest terms where that is little work, else as quotients."""
    turns = helpful_turns([*matrix, *right])
    try:
        return eliminated(matrix, right, Work(SOLVE_EFFORT), turns)
    except TooMuchWorkError:
        return TreeAlgebra().solve_square(matrix, right)


def affine_field(model: System | Flow, inputs: Sequence[Input]) -> AffineField:
    """The field of a model with `inputs` free; its other inputs must be imposed.

    Raises
    ------
    ModelError
        Where an input without a law is not among them, or the rates are not affine in them.
    """
    chosen = tuple(inputs)
    idle = [s for s, law in model.inputs.items() if law is None and s not in chosen]
    if idle:
        raise ModelError(
            "An input has neither a law nor a place among the actuators",
            ", ".join(map(str, idle)),
            "impose it with driven({...}), or list it in actuators",
        )
    laws = {s: law for s, law in model.inputs.items() if law is not None and s not in chosen}
    if isinstance(model, Flow):
        rates = sympy.Matrix([rate.xreplace(laws) for rate in model.rates.values()])
        fields, drift = _affine(rates, chosen)
        held = tuple(c.expression for c in model.constraints)
        size = len(drift) - len(held)
        symbols = model.coordinates
        return AffineField(model, symbols, tuple(drift), fields, chosen, size, None, {}, held)
    if model.image is not None or model.unilateral:
        raise ModelError(
            "A control-affine field needs a system with two-sided constraints in its velocities",
            type(model.image or model.unilateral[0]).__name__,
            "state the constraints as equations",
        )
    if model.is_hamiltonian:
        return _hamiltonian(model, chosen, laws)
    return _lagrangian(model, chosen, laws)


def _affine(
    vector: sympy.MatrixBase, inputs: Sequence[Input]
) -> tuple[sympy.MatrixBase, sympy.MatrixBase]:
    """The columns of a vector that is affine in the inputs, and what is left without them."""
    fields = vector.jacobian(list(inputs)) if inputs else sympy.zeros(vector.rows, 0)
    if inputs and fields.has(*inputs):
        what = "The inputs must enter linearly"
        raise ModelError(what, ", ".join(map(str, inputs)), "take u for their function")
    return fields, vector.xreplace(dict.fromkeys(inputs, sympy.S.Zero))


def applied_forces(system: System) -> sympy.MatrixBase:
    """Q of a system (n x 1), with the forces of its dissipation function."""
    given, damping = system.forces, system.dissipation
    found = [given.get(q, sympy.S.Zero) - sympy.diff(damping, q.dot) for q in system.coordinates]
    return sympy.Matrix(found)


def _lagrangian(
    system: System, inputs: Sequence[Input], laws: Mapping[Input, sympy.Expr]
) -> AffineField:
    q, v = list(system.coordinates), list(system.velocities)
    L = system.lagrangian
    assert L is not None
    p = sympy.Matrix([sympy.diff(L, w) for w in v])
    M = p.jacobian(v)
    if M.has(*v):
        M = M.applyfunc(sympy.expand)
    conservative = sympy.Matrix([sympy.diff(L, x) for x in q])
    carried = p.jacobian(q) * sympy.Matrix(v)
    push = applied_forces(system).xreplace(laws) + conservative - carried - p.diff(t)
    columns, force = _affine(push, inputs)
    A, b, held = _rows(system)
    m = A.rows
    matrix = sympy.Matrix(sympy.BlockMatrix([[M, A.T], [A, sympy.zeros(m, m)]])) if m else M
    right = sympy.Matrix.hstack(force.col_join(b), columns.col_join(sympy.zeros(m, columns.cols)))
    found = small_solve(matrix, right)[: len(q), :]
    drift = (*v, *found[:, 0])
    fields = sympy.zeros(len(q), columns.cols).col_join(found[:, 1:])
    size = 2 * len(q) - len(held)
    return AffineField(system, (*q, *v), drift, fields, tuple(inputs), size, M, {}, held)


def _rows(
    system: System,
) -> tuple[sympy.MatrixBase, sympy.MatrixBase, tuple[sympy.Expr, ...]]:
    """The rows A, b of the constraints on accelerations, and what they let vanish on the states."""
    q, v = list(system.coordinates), sympy.Matrix(system.velocities)
    rows, right, held = [], [], []
    for constraint in system.bilateral:
        if constraint.is_momentum_level:
            what = "A control-affine field in velocities has no place for a constraint on momenta"
            raise ModelError(what, constraint.name, "state it as velocity(...)")
        speed = constraint.expression
        if constraint.is_position_level:
            g = constraint.expression
            speed = (sympy.Matrix([g]).jacobian(q) * v)[0] + sympy.diff(g, t)
            held.append(g)
        held.append(speed)
        if constraint.work:
            what = "Servo and ports need ideal constraints"
            raise ModelError(what, constraint.name, "write the work as a force")
        line = sympy.Matrix([speed])
        rows.append(line.jacobian(list(v)))
        right.append(-(line.jacobian(q) * v)[0] - sympy.diff(speed, t))
    if not rows:
        return sympy.zeros(0, len(q)), sympy.zeros(0, 1), ()
    return sympy.Matrix.vstack(*rows), sympy.Matrix(right), tuple(held)


def _hamiltonian(
    system: System, inputs: Sequence[Input], laws: Mapping[Input, sympy.Expr]
) -> AffineField:
    if system.bilateral:
        raise ModelError(
            "Constraints of a system stated by its Hamiltonian are not taken here",
            ", ".join(c.name for c in system.bilateral),
            "state the system by its Lagrangian",
        )
    q, p, H = list(system.coordinates), list(system.momenta), system.hamiltonian
    assert H is not None
    speed = {x.dot: sympy.diff(H, x.momentum) for x in q}
    applied = applied_forces(system).xreplace(laws).xreplace(speed)
    push = applied - sympy.Matrix([sympy.diff(H, x) for x in q])
    columns, force = _affine(push, inputs)
    drift = (*speed.values(), *force)
    fields = sympy.zeros(len(q), columns.cols).col_join(columns)
    metric = sympy.Matrix(list(speed.values())).jacobian(p).inv() if len(q) <= 3 else None
    return AffineField(system, (*q, *p), drift, fields, tuple(inputs), 2 * len(q), metric, speed)
