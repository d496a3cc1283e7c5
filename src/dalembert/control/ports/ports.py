r"""Ports: where a system takes in and gives out energy.

Every System with inputs has the port-Hamiltonian form on x = (q, p)

    x_dot = (J(x) - R(x)) dH/dx + g(x) u + rest + [0, A^T] mu,    y = g^T dH/dx,    A dH/dp = 0,

with J skew and R symmetric: gyroscopic forces go into J, damping that is linear in the velocities
into R. The outputs y are the velocities at which the inputs do work, so that

    dH/dt = y . u - dH/dx^T R dH/dx + dH/dx^T rest + dH/dt|_x

(passive where R >= 0 and the rest is nothing).

The Hamiltonian control systems of Bloch 4.7.2, x_dot = X_H(x,u), y = dH/du, are another family: a
force u on q belongs to H - u q and has the output -q, a position, whose rate is (up to its sign)
the output of the port.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy

from ...algebra.simplify.simplifier import simplify
from ...analysis.tables import Report, Section
from ...errors import ModelError
from ...geometry.vanishing import vanish
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, Momentum, Parameter, as_expression, t
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Array, ArrayLike, Expression, Values
from ..servo.affine import Instants, applied_forces, small_solve

__all__ = ["PortForm", "hamiltonian_control", "port_forces", "port_form"]


@dataclass(frozen=True, repr=False)
class PortForm(Report):
    """x_dot = (J - R) dH/dx + g u + rest, y = g^T dH/dx, in symbols.

    Attributes
    ----------
    symbols : tuple of symbols (n,)
        (q, p) of a System.
    hamiltonian : expression
    structure, damping : sympy.Matrix (n x n)
        J, skew, and R, symmetric.
    ports : sympy.Matrix (n x k)
        g.
    inputs : tuple of Input (k,)
    rest : sympy.Matrix (n x 1)
        Forces that are neither: prescribed ones, and those that are nonlinear in the velocities.
    rows : sympy.Matrix (m x n)
        [0, A] of the constraints A q_dot = 0, whose reactions are their transposes; m = 0 without
        constraints.
    """

    symbols: tuple[sympy.Symbol, ...]
    hamiltonian: sympy.Expr
    structure: sympy.MatrixBase
    damping: sympy.MatrixBase
    ports: sympy.MatrixBase
    inputs: tuple[Input, ...]
    rest: sympy.MatrixBase
    rows: sympy.MatrixBase
    name: str = "ports"

    @property
    def gradient(self) -> sympy.MatrixBase:
        """dH/dx, (n x 1)."""
        return sympy.Matrix([sympy.diff(self.hamiltonian, x) for x in self.symbols])

    @property
    def outputs(self) -> sympy.MatrixBase:
        """y = g^T dH/dx, (k x 1)."""
        return self.ports.T * self.gradient

    @property
    def rates(self) -> sympy.MatrixBase:
        """x_dot without reactions, (n x 1)."""
        u = sympy.Matrix(len(self.inputs), 1, list(self.inputs))
        return (self.structure - self.damping) * self.gradient + self.ports * u + self.rest

    @property
    def dissipated(self) -> sympy.Expr:
        """The power dH/dx^T R dH/dx that damping takes out."""
        return (self.gradient.T * self.damping * self.gradient)[0]

    def is_power_conserving(self) -> bool:
        """Whether J is proved to be skew and R to be symmetric."""
        skew, even = self.structure + self.structure.T, self.damping - self.damping.T
        return vanish([*skew, *even]).holds

    def functions(
        self, parameters: Values | None = None
    ) -> dict[str, Callable[[ArrayLike], Array]]:
        """J, R, g and dH/dx as functions of a state (n,), at time 0 where they depend on it."""
        values = numbers_by_name(parameters)
        named = {"J": self.structure, "R": self.damping, "g": self.ports}
        blocks = {**named, "gradient": self.gradient}
        needed = set().union(*(block.atoms(Parameter) for block in blocks.values()))
        missing = sorted(symbol.name for symbol in needed if symbol.name not in values)
        if missing:
            remedy = "pass parameters={name: value}"
            raise ModelError("Parameters have no value", ", ".join(missing), remedy)
        probe = Instants(values)

        def at(block: sympy.MatrixBase) -> Callable[[ArrayLike], Array]:
            def value(x: ArrayLike) -> Array:
                state = dict(zip(self.symbols, np.asarray(x, dtype=float).tolist(), strict=True))
                return probe.here(list(block), block.rows, state)

            return value

        return {key: at(block) for key, block in blocks.items()}

    @property
    def flow_symbols(self) -> dict[sympy.Symbol, Coordinate]:
        """The symbols of `flow`: coordinates as they are, ``momentum_x`` for the momentum of x."""
        momenta = [x for x in self.symbols if not isinstance(x, Coordinate)]
        own = {x: Coordinate(f"momentum_{x.name.removeprefix('p_')}") for x in momenta}
        return {x: own.get(x, x) for x in self.symbols}

    def flow(self) -> Flow:
        """A Flow of q and ``momentum_q`` with outputs ``stored``, ``dissipated``, ``y_<input>``.

        Raises
        ------
        ModelError
            Where constraints remain; simulate the System instead.
        """
        if self.rows.rows:
            rows = f"{self.rows.rows} rows"
            raise ModelError("Ports with constraints make no flow", rows, "simulate the System")
        renamed = self.flow_symbols
        named = {f"y_{u.name}": y for u, y in zip(self.inputs, self.outputs, strict=True)}
        outputs = {"stored": self.hamiltonian, "dissipated": self.dissipated, **named}
        rates = zip(self.symbols, self.rates, strict=True)
        return Flow(
            {renamed[x]: rate.xreplace(renamed) for x, rate in rates},
            inputs=self.inputs,
            outputs={key: as_expression(value).xreplace(renamed) for key, value in outputs.items()},
            name=self.name,
        )

    def _title(self) -> str:
        return f"Ports of {self.name}"

    def _sections(self) -> list[Section]:
        lines = [("state", ", ".join(map(str, self.symbols))), ("H", sympy.sstr(self.hamiltonian))]
        blocks = {"J": self.structure, "R": self.damping, "g": self.ports}
        lines += [(name, sympy.sstr(block.tolist())) for name, block in blocks.items()]
        outputs = zip(self.inputs, self.outputs, strict=True)
        lines += [(f"y of {u}", sympy.sstr(y)) for u, y in outputs]
        return [("x_dot = (J - R) dH/dx + g u", lines)]


@dataclass(frozen=True)
class PortForces:
    """The forces of a System told apart, in (q, q_dot): Q = B u - K q_dot + rest.

    Attributes
    ----------
    columns : sympy.Matrix (n x k)
    friction : sympy.Matrix (n x n)
        K, whose symmetric part damps and whose skew part is gyroscopic.
    rest : sympy.Matrix (n x 1)
    inputs : tuple of Input
    """

    columns: sympy.MatrixBase
    friction: sympy.MatrixBase
    rest: sympy.MatrixBase
    inputs: tuple[Input, ...] = field(default=())


def port_forces(system: System, inputs: Sequence[Input] | None = None) -> PortForces:
    """Q = B(q) u - K(q) q_dot + rest; laws of inputs that are not among `inputs` are put in."""
    chosen = tuple(system.inputs) if inputs is None else tuple(inputs)
    laws = {s: law for s, law in system.inputs.items() if s not in chosen and law is not None}
    v = list(system.velocities)
    force = applied_forces(system).xreplace(laws)
    columns = force.jacobian(list(chosen)) if chosen else sympy.zeros(len(v), 0)
    if chosen and columns.has(*chosen):
        what = "The inputs of ports must enter linearly"
        raise ModelError(what, ", ".join(map(str, chosen)), "take u for their function")
    plain = force.xreplace(dict.fromkeys(chosen, sympy.S.Zero)).applyfunc(sympy.expand)
    friction = -plain.jacobian(v)
    still = dict.fromkeys(v, sympy.S.Zero)
    friction = friction.applyfunc(lambda e: e if not e.has(*v) else e.xreplace(still))
    rest = (plain + friction * sympy.Matrix(v)).applyfunc(sympy.expand)
    return PortForces(columns, friction, rest, chosen)


def port_form(system: System) -> PortForm:
    """The port-Hamiltonian form of a System; its inputs are the ports.

    Raises
    ------
    ModelError
        For images and one-sided constraints, for constraints that are not linear and homogeneous in
        the velocities, and for energies that are not quadratic in them.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k, c = da.parameters("m k c", positive=True)
    >>> u = da.inputs("u")
    >>> energies = {"kinetic": m / 2 * x.dot**2, "potential": k / 2 * x**2}
    >>> spring = da.System([x], dissipation=c/2*x.dot**2, forces={x: u}, inputs=[u], **energies)
    >>> form = port_form(spring)
    >>> form.structure, form.damping, form.outputs[0]
    (Matrix([
    [ 0, 1],
    [-1, 0]]), Matrix([
    [0, 0],
    [0, c]]), p_x/m)
    """
    if not isinstance(system, System):
        kind = type(system).__name__
        raise ModelError("Ports are those of a System", kind, "pass da.System(...)")
    if system.image is not None or system.unilateral:
        what = "Ports need two-sided constraints in the velocities"
        raise ModelError(what, remedy="state the constraints as equations")
    q, p = list(system.coordinates), list(system.momenta)
    n = len(q)
    speed = velocities_from_momenta(system)
    if system.is_hamiltonian:
        H = system.energy_function
    else:
        moved = sum((x * speed[c.dot] for x, c in zip(p, q, strict=True)), sympy.S.Zero)
        H = simplify(moved - system.energy_function.xreplace(speed))
    forces = port_forces(system)
    blocks = (forces.columns, forces.friction, forces.rest)
    columns, friction, rest = (block.xreplace(speed) for block in blocks)
    zero, one = sympy.zeros(n, n), sympy.eye(n)
    skew, even = (friction - friction.T) / 2, (friction + friction.T) / 2
    structure = sympy.Matrix(sympy.BlockMatrix([[zero, one], [-one, -skew]]))
    damping = sympy.Matrix(sympy.BlockMatrix([[zero, zero], [zero, even]]))
    ports = sympy.zeros(n, columns.cols).col_join(columns)
    rows = linear_rows(system)
    return PortForm(
        (*q, *p), H, structure, damping, ports, forces.inputs, sympy.zeros(n, 1).col_join(rest),
        sympy.zeros(rows.rows, n).row_join(rows), system.name,
    )  # fmt: skip


def velocities_from_momenta(system: System) -> dict[sympy.Symbol, sympy.Expr]:
    """q_dot by coordinates and momenta: H_p, or M^-1 (p - m) for L = q_dot^T M q_dot / 2 + ..."""
    if system.is_hamiltonian:
        return {x.dot: sympy.diff(system.energy_function, x.momentum) for x in system.coordinates}
    v = list(system.velocities)
    momenta = sympy.Matrix([sympy.diff(system.energy_function, w) for w in v])
    mass = momenta.jacobian(v).applyfunc(sympy.expand)
    if mass.has(*v):
        what = "Ports need an energy that is quadratic in the velocities"
        raise ModelError(what, remedy="state it by its Hamiltonian")
    shift = momenta.xreplace(dict.fromkeys(v, sympy.S.Zero))
    return dict(zip(v, small_solve(mass, sympy.Matrix(system.momenta) - shift), strict=True))


def linear_rows(system: System) -> sympy.MatrixBase:
    """A (m x n) of the constraints A q_dot = 0, homogeneous ones alone."""
    v = list(system.velocities)
    rows = []
    for constraint in system.bilateral:
        if constraint.is_position_level and not constraint.expression.has(t):
            rows.append([sympy.diff(constraint.expression, q) for q in system.coordinates])
        elif constraint.is_velocity_level and not constraint.work:
            row = [sympy.diff(constraint.expression, w) for w in v]
            linear = sum(a * w for a, w in zip(row, v, strict=True))
            if any(e.has(*v) for e in row) or sympy.expand(constraint.expression - linear):
                raise _moving(constraint.name)
            rows.append(row)
        else:
            raise _moving(constraint.name)
    return sympy.Matrix(rows) if rows else sympy.zeros(0, len(v))


def _moving(name: str) -> ModelError:
    return ModelError(
        "Ports need constraints that are linear and homogeneous in the velocities, whose reactions"
        " do no work",
        name,
        "hold it with a servo, whose effort is an input",
    )


def hamiltonian_control(
    hamiltonian: Expression,
    pairs: Sequence[tuple[Coordinate, Coordinate]],
    inputs: Sequence[Input],
    name: str = "Hamiltonian control",
) -> Flow:
    """The Hamiltonian control system x_dot = X_H(x, u), y = dH/du (Bloch 4.7.2) as a Flow.

    Its outputs are ``y_<input>``.

    Parameters
    ----------
    hamiltonian : expression
        H(q, p, u, t), not necessarily affine in u.
    pairs : sequence of (position, momentum)
        Canonical pairs, both made with `coordinates`.

    Examples
    --------
    >>> import dalembert as da
    >>> q, p = da.coordinates("q p")
    >>> u = da.inputs("u")
    >>> flow = hamiltonian_control(p**2/2 + q**2 - u*q, [(q, p)], [u])
    >>> flow.rates[p], flow.outputs["y_u"]
    (-2*q + u, -q)
    """
    H = as_expression(hamiltonian)
    paired = {symbol for pair in pairs for symbol in pair}
    loose = [s for s in H.atoms(Coordinate, Momentum) if s not in paired]
    if loose:
        what = "The Hamiltonian contains symbols without a partner"
        raise ModelError(what, ", ".join(map(str, loose)), "list the pair")
    rates = {q: sympy.diff(H, p) for q, p in pairs} | {p: -sympy.diff(H, q) for q, p in pairs}
    outputs = {f"y_{u.name}": sympy.diff(H, u) for u in inputs}
    return Flow(rates, inputs=list(inputs), outputs=outputs, name=name)
