r"""Ports: where a system takes in and gives out energy.

Every System with inputs has the port-Hamiltonian form on x = (q, p)

    x_dot = (J(x) - R(x)) dH/dx + g(x) u + rest + [0, A^T] mu,        y = g^T dH/dx,        A dH/dp = 0,

with J skew and R symmetric: gyroscopic forces go into J, damping that is linear in the velocities into R. The outputs y are the
velocities at which the inputs do work, so that

    dH/dt = y . u - dH/dx^T R dH/dx + dH/dx^T rest + dH/dt|_x                  (passive where R >= 0 and the rest is nothing).

The Hamiltonian control systems of Bloch 4.7.2, x_dot = X_H(x,u), y = dH/du, are another family: a force u on q belongs to
H - u q and has the output -q, a position, whose rate is (up to its sign) the output of the port.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import sympy

from ...algebra.simplify.simplifier import simplify
from ...analysis.tables import Report, Section
from ...errors import ModelError
from ...geometry.vanishing import vanish
from ...model.constraints import HolonomicConstraint, VelocityConstraint
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, Momentum, Parameter, as_expression, t
from ...model.system import System
from ...model.values import numbers_by_name
from ...typing import Expression
from ..servo.affine import Instants, small_solve

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
        [0, A] of the constraints A q_dot = 0, whose reactions are their transposes; m = 0 without constraints.
    """

    symbols: tuple[sympy.Symbol, ...]
    hamiltonian: sympy.Expr
    structure: Any
    damping: Any
    ports: Any
    inputs: tuple[Input, ...]
    rest: Any
    rows: Any
    name: str = "ports"

    @property
    def gradient(self) -> Any:
        """dH/dx, (n x 1)."""
        return sympy.Matrix([sympy.diff(self.hamiltonian, x) for x in self.symbols])

    @property
    def outputs(self) -> Any:
        """y = g^T dH/dx, (k x 1)."""
        return self.ports.T * self.gradient

    @property
    def rates(self) -> Any:
        """x_dot without reactions, (n x 1)."""
        u = sympy.Matrix(len(self.inputs), 1, list(self.inputs))
        return (self.structure - self.damping) * self.gradient + self.ports * u + self.rest

    @property
    def dissipated(self) -> sympy.Expr:
        """The power dH/dx^T R dH/dx that damping takes out."""
        return (self.gradient.T * self.damping * self.gradient)[0]

    def is_power_conserving(self) -> bool:
        """Whether J is proved to be skew and R to be symmetric."""
        return vanish([*(self.structure + self.structure.T), *(self.damping - self.damping.T)]).holds

    def functions(self, parameters: Mapping[Any, Any] | None = None) -> dict[str, Callable[[Any], Any]]:
        """J, R, g and dH/dx as functions of a state (n,), at time 0 where they depend on it."""
        values = numbers_by_name(parameters)
        needed = set().union(*(block.free_symbols for block in (self.structure, self.damping, self.ports, self.gradient)))
        missing = sorted(symbol.name for symbol in needed if isinstance(symbol, Parameter) and symbol.name not in values)
        if missing:
            raise ModelError("Parameters have no value", seen=", ".join(missing), remedy="pass parameters={name: value}")
        probe = Instants(values)

        def at(block: Any) -> Callable[[Any], Any]:
            entries = list(block)
            return lambda x: probe.here(entries, block.rows, dict(zip(self.symbols, map(float, x), strict=True)))

        blocks = {"J": self.structure, "R": self.damping, "g": self.ports, "gradient": self.gradient}
        return {key: at(block) for key, block in blocks.items()}

    @property
    def flow_symbols(self) -> dict[sympy.Symbol, Coordinate]:
        """The symbols of `flow`: coordinates as they are, ``momentum_x`` for the momentum of x."""
        return {
            x: x if isinstance(x, Coordinate) else Coordinate(f"momentum_{x.name.removeprefix('p_')}") for x in self.symbols
        }

    def flow(self) -> Flow:
        """The same as a Flow: symbols q and ``momentum_q``, outputs ``stored`` (H), ``dissipated``, ``y_<input>``.

        Raises
        ------
        ModelError
            Where constraints remain; simulate the System instead.
        """
        if self.rows.rows:
            raise ModelError("Ports with constraints make no flow", seen=f"{self.rows.rows} rows", remedy="simulate the System")
        renamed = self.flow_symbols
        named = {f"y_{u.name}": y for u, y in zip(self.inputs, self.outputs, strict=True)}
        outputs = {"stored": self.hamiltonian, "dissipated": self.dissipated, **named}
        return Flow(
            {renamed[x]: rate.xreplace(renamed) for x, rate in zip(self.symbols, self.rates, strict=True)},
            inputs=self.inputs,
            outputs={key: as_expression(value).xreplace(renamed) for key, value in outputs.items()},
            name=self.name,
        )

    def _title(self) -> str:
        return f"Ports of {self.name}"

    def _sections(self) -> list[Section]:
        lines = [("state", ", ".join(map(str, self.symbols))), ("H", sympy.sstr(self.hamiltonian))]
        lines += [
            (name, sympy.sstr(block.tolist()))
            for name, block in (("J", self.structure), ("R", self.damping), ("g", self.ports))
        ]
        lines += [(f"y of {u}", sympy.sstr(y)) for u, y in zip(self.inputs, self.outputs, strict=True)]
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

    columns: Any
    friction: Any
    rest: Any
    inputs: tuple[Input, ...] = field(default=())


def port_forces(system: System, inputs: Sequence[Input] | None = None) -> PortForces:
    """Q = B(q) u - K(q) q_dot + rest; laws of inputs that are not among `inputs` are put in."""
    chosen = tuple(system.inputs) if inputs is None else tuple(inputs)
    laws = {s: law for s, law in system.inputs.items() if s not in chosen and law is not None}
    v = list(system.velocities)
    force = sympy.Matrix(
        [system.forces.get(q, sympy.S.Zero) - sympy.diff(system.dissipation, q.dot) for q in system.coordinates]
    )
    force = force.xreplace(laws)
    columns = force.jacobian(list(chosen)) if chosen else sympy.zeros(len(v), 0)
    if chosen and columns.has(*chosen):
        raise ModelError(
            "The inputs of ports must enter linearly", seen=", ".join(map(str, chosen)), remedy="take u for their function"
        )
    plain = force.xreplace(dict.fromkeys(chosen, sympy.S.Zero)).applyfunc(sympy.expand)
    friction = -plain.jacobian(v)
    still = dict.fromkeys(v, sympy.S.Zero)
    friction = friction.applyfunc(lambda entry: entry if not entry.has(*v) else entry.xreplace(still))
    rest = (plain + friction * sympy.Matrix(v)).applyfunc(sympy.expand)
    return PortForces(columns, friction, rest, chosen)


def port_form(system: System) -> PortForm:
    """The port-Hamiltonian form of a System; its inputs are the ports.

    Raises
    ------
    ModelError
        For images and one-sided constraints, for constraints that are not linear and homogeneous in the velocities, and for
        energies that are not quadratic in them.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> m, k, c = da.parameters("m k c", positive=True)
    >>> u = da.inputs("u")
    >>> spring = da.System([x], kinetic=m/2*x.dot**2, potential=k/2*x**2, dissipation=c/2*x.dot**2, forces={x: u}, inputs=[u])
    >>> form = port_form(spring)
    >>> form.structure, form.damping, form.outputs[0]
    (Matrix([
    [ 0, 1],
    [-1, 0]]), Matrix([
    [0, 0],
    [0, c]]), p_x/m)
    """
    if not isinstance(system, System):
        raise ModelError("Ports are those of a System", seen=type(system).__name__, remedy="pass da.System(...)")
    if system.image is not None or system.unilateral:
        raise ModelError("Ports need two-sided constraints in the velocities", remedy="state the constraints as equations")
    q, p = list(system.coordinates), list(system.momenta)
    n = len(q)
    speed = velocities_from_momenta(system)
    if system.is_hamiltonian:
        H = system.energy_function
    else:
        moved = sum((x * speed[c.dot] for x, c in zip(p, q, strict=True)), sympy.S.Zero)
        H = simplify(moved - system.energy_function.xreplace(speed))
    forces = port_forces(system)
    columns, friction, rest = (b.xreplace(speed) for b in (forces.columns, forces.friction, forces.rest))
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
    """q_dot as expressions of coordinates and momenta: H_p, or M^-1 (p - m) for L = q_dot^T M q_dot / 2 + m^T q_dot - V."""
    if system.is_hamiltonian:
        return {x.dot: sympy.diff(system.energy_function, x.momentum) for x in system.coordinates}
    v = list(system.velocities)
    momenta = sympy.Matrix([sympy.diff(system.energy_function, w) for w in v])
    mass = momenta.jacobian(v).applyfunc(sympy.expand)
    if mass.has(*v):
        raise ModelError("Ports need an energy that is quadratic in the velocities", remedy="state it by its Hamiltonian")
    shift = momenta.xreplace(dict.fromkeys(v, sympy.S.Zero))
    return dict(zip(v, small_solve(mass, sympy.Matrix(system.momenta) - shift), strict=True))


def linear_rows(system: System) -> Any:
    """A (m x n) of the constraints A q_dot = 0, homogeneous ones alone."""
    v = list(system.velocities)
    rows = []
    for constraint in system.bilateral:
        if isinstance(constraint, HolonomicConstraint) and not constraint.expression.has(t):
            rows.append([sympy.diff(constraint.expression, q) for q in system.coordinates])
        elif isinstance(constraint, VelocityConstraint) and not constraint.work:
            row = [sympy.diff(constraint.expression, w) for w in v]
            if any(e.has(*v) for e in row) or sympy.expand(
                constraint.expression - sum(a * w for a, w in zip(row, v, strict=True))
            ):
                raise _moving(constraint.name)
            rows.append(row)
        else:
            raise _moving(constraint.name)
    return sympy.Matrix(rows) if rows else sympy.zeros(0, len(v))


def _moving(name: str) -> ModelError:
    return ModelError(
        "Ports need constraints that are linear and homogeneous in the velocities, whose reactions do no work",
        seen=name,
        remedy="hold it with a servo, whose effort is an input",
    )


def hamiltonian_control(
    hamiltonian: Expression,
    pairs: Sequence[tuple[Coordinate, Coordinate]],
    inputs: Sequence[Input],
    name: str = "Hamiltonian control",
) -> Flow:
    """The Hamiltonian control system x_dot = X_H(x, u), y = dH/du (Bloch 4.7.2) as a Flow with outputs ``y_<input>``.

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
    loose = [s for s in H.free_symbols if isinstance(s, (Coordinate, Momentum)) and all(s not in pair for pair in pairs)]
    if loose:
        raise ModelError(
            "The Hamiltonian contains symbols without a partner", seen=", ".join(map(str, loose)), remedy="list the pair"
        )
    rates = {q: sympy.diff(H, p) for q, p in pairs} | {p: -sympy.diff(H, q) for q, p in pairs}
    return Flow(rates, inputs=list(inputs), outputs={f"y_{u.name}": sympy.diff(H, u) for u in inputs}, name=name)
