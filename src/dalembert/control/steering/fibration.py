r"""Base and fibre of a control system: symbols that the inputs steer, and symbols that follow them.

    b_dot = D(y) u                                       (kinematic, order 1)
    b_dot = s,   s_dot = a(y) + D(y) u                   (its dynamic extension, order 2)
    z_dot = A(b, z) b_dot                                (the fibre follows, whichever it is)

The base b goes where one wants it to, D being invertible; a closed path of it leaves the fibre z
displaced by the holonomy (Bloch and others, Supplement, section 6.6: b = (z_1, z_2), z_3' = -z_1
z_2'). A purely kinematic system with a symmetry group is of this kind, with shapes for its base
(`da.symmetry.connection`); so are chained forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TypeAlias

import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.tree import TreeAlgebra
from ...analysis.symmetry.connections import Connection
from ...errors import FormError, ModelError
from ...formulations.equations import Equations
from ...formulations.forms import maggi
from ...formulations.independent_velocities import reduced_equations
from ...formulations.reduction.bundle_equations import ReducedFunctions
from ...formulations.registry import derive
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, Parameter, t
from ...model.system import System
from ...typing import Symbols

__all__ = ["Fibration", "fibration", "kinematic_flow"]

ZERO = sympy.Integer(0)
#: The rate of each symbol.
Rates: TypeAlias = Mapping[Coordinate, sympy.Expr]


@dataclass(frozen=True, eq=False)
class Fibration:
    """A flow with its base and fibre; s base symbols, k fibre symbols.

    Attributes
    ----------
    flow : Flow
    base, fibre : tuples of Coordinate (s,), (k,)
    speeds : tuple of Coordinate
        s of the dynamic extension, by base symbol; empty for a kinematic one.
    inputs : tuple of Input (s,)
    gain : Matrix (s x s)
        D.
    offset : Matrix (s x 1)
        a; zero for a kinematic one.
    coefficients : Matrix (k x s)
        A.
    """

    flow: Flow
    base: tuple[Coordinate, ...]
    fibre: tuple[Coordinate, ...]
    speeds: tuple[Coordinate, ...]
    inputs: tuple[Input, ...]
    gain: sympy.ImmutableMatrix
    offset: sympy.ImmutableMatrix
    coefficients: sympy.ImmutableMatrix

    @property
    def order(self) -> int:
        """1 where the inputs are rates of the base, 2 where they are accelerations."""
        return 2 if self.speeds else 1

    @cached_property
    def depends_on_fibre(self) -> bool:
        """Whether A does: the holonomy is then no surface integral."""
        return bool(self.coefficients.free_symbols & set(self.fibre))

    @cached_property
    def curvature(self) -> dict[tuple[int, int], sympy.ImmutableMatrix]:
        """B = dA_j/db_i - dA_i/db_j (k x 1) for base symbols i < j; horizontal derivatives."""
        found = {}
        for i, j in combinations(range(len(self.base)), 2):
            bent = self._along(j, i) - self._along(i, j)
            found[i, j] = sympy.ImmutableMatrix(bent.applyfunc(sympy.simplify))
        return found

    def _along(self, column: int, direction: int) -> sympy.Matrix:
        """The derivative of a column of A along the horizontal lift of a base direction."""
        coefficients = self.coefficients[:, column]
        derivative = coefficients.diff(self.base[direction])
        if not self.fibre:
            return sympy.Matrix(derivative)
        bent = coefficients.jacobian(list(self.fibre)) * self.coefficients[:, direction]
        return sympy.Matrix(derivative + bent)

    def inputs_for(self, wanted: Sequence[sympy.Expr]) -> dict[Input, sympy.Expr]:
        """The inputs that give the base these rates (order 1) or accelerations (order 2)."""
        rest = sympy.Matrix(list(wanted)) - self.offset
        solved = self.gain.adjugate() * rest / self.gain.det(method="berkowitz")
        return dict(zip(self.inputs, solved, strict=True))

    @cached_property
    def chain(self) -> tuple[int, tuple[int, ...]] | None:
        """For chained forms, b_2 = z_0, z_k' = z_{k-1} b_1': the index of b_1, and the fibre."""
        if len(self.base) != 2 or self.speeds:
            return None
        for driver in (0, 1):
            order: list[int] = []
            last = self.base[1 - driver]
            rows = [(k, *self.coefficients[k, :]) for k in range(len(self.fibre))]
            while True:
                following = [k for k, *row in rows if row[driver] == last and row[1 - driver] == 0]
                if len(following) != 1 or following[0] in order:
                    break
                order.append(following[0])
                last = self.fibre[following[0]]
            if order and len(order) == len(self.fibre):
                return driver, tuple(order)
        return None

    @cached_property
    def kinematic(self) -> Flow:
        """b_dot = w, z_dot = A w with inputs w of its own."""
        inputs = [Input(f"w_{symbol.name}") for symbol in self.base]
        rates = dict(zip(self.base, inputs, strict=True))
        rates |= dict(zip(self.fibre, self.coefficients * sympy.Matrix(inputs), strict=True))
        return Flow(rates, inputs=inputs, name=f"{self.flow.name}, kinematic")

    @cached_property
    def line(self) -> dict[Coordinate, sympy.Expr]:
        """A straight leg over 0 <= t <= 1, by parameters leg_from_b and leg_step_b."""
        ends = {q: (f"leg_from_{q.name}", f"leg_step_{q.name}") for q in self.base}
        return {q: Parameter(first) + t * Parameter(step) for q, (first, step) in ends.items()}

    def following(self, place: Mapping[Coordinate, sympy.Expr]) -> Equations:
        """z_dot = A(b, z) b_dot(t) along a path of the base, which is carried along; lines are not.

        A straight leg is kept, and stands in the rates: b = b(t).
        """
        if place is self.line:
            return self._on_line
        speeds = [sympy.diff(place[q], t) for q in self.base]
        rates = dict(zip(self.base, speeds, strict=True))
        rates |= dict(zip(self.fibre, self.coefficients * sympy.Matrix(speeds), strict=True))
        return derive(Flow(rates))

    @cached_property
    def _on_line(self) -> Equations:
        speed = sympy.Matrix([sympy.diff(self.line[q], t) for q in self.base])
        rates = self.coefficients.xreplace(dict(self.line)) * speed
        return derive(Flow(dict(zip(self.fibre, rates, strict=True))))


def fibration(model: Flow | Connection | Fibration, base: Symbols = ()) -> Fibration:
    """The base and the fibre of a model.

    Parameters
    ----------
    model : Flow, Connection or Fibration
        A flow with as many inputs as base symbols; or a connection of `da.symmetry.connection` that
        is purely kinematic or whose momenta stay zero, like the mechanical connection at J = 0.
    base : sequence of symbols
        Those whose rates, or whose speeds' rates, the inputs set; by default the symbols whose rate
        is an input or a speed.

    Raises
    ------
    FormError
        Where the model has no such form; the message says what is in the way.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> u, w = da.inputs("u w")
    >>> found = fibration(da.Flow({x: u, y: w, z: -x*w}, inputs=[u, w]))
    >>> found.base, found.fibre, found.curvature[0, 1]
    ((x, y), (z,), Matrix([[-1]]))
    """
    if isinstance(model, Fibration):
        return model
    if isinstance(model, Connection):
        return _of_connection(model)
    if not isinstance(model, Flow):
        raise ModelError(
            "Base and fibre are those of a Flow or of a connection",
            type(model).__name__,
            "state its kinematics as a Flow, or pass da.symmetry.connection(system, group)",
        )
    inputs = tuple(symbol for symbol, value in model.inputs.items() if value is None)
    imposed = {symbol: value for symbol, value in model.inputs.items() if value is not None}
    rates = {symbol: rate.xreplace(imposed) for symbol, rate in model.rates.items()}
    if not inputs or any(rate.has(t) for rate in rates.values()):
        what = "Base and fibre need free inputs, and rates without time"
        raise FormError(what, model.name, "leave inputs free")
    steered = [symbol for symbol, rate in rates.items() if rate.free_symbols & set(inputs)]
    chosen = _named(model, base)
    slow = [symbol for symbol in steered if not any(rates[other] == symbol for other in rates)]
    if len(slow) < len(steered) or (chosen and not set(chosen) & set(steered)):
        return _dynamic(model, rates, inputs, steered, chosen)
    return _kinematic(model, rates, inputs, chosen)


def _named(model: Flow, base: Symbols) -> tuple[Coordinate, ...]:
    table = {symbol.name: symbol for symbol in model.coordinates}
    names = [str(getattr(item, "name", item)) for item in base]
    strange = [name for name in names if name not in table]
    if strange:
        what = f"The flow has no symbol `{strange[0]}`"
        raise ModelError(what, ", ".join(table), "choose the base among these")
    return tuple(table[name] for name in names)


def _with_rates(rates: Rates, wanted: Sequence[sympy.Symbol]) -> tuple[Coordinate, ...]:
    """The symbols whose rates are these symbols, in their order, as many as there are."""
    found = [[q for q, rate in rates.items() if rate == symbol][:1] for symbol in wanted]
    return tuple(q for first in found for q in first)


def _kinematic(
    model: Flow, rates: Rates, inputs: tuple[Input, ...], chosen: tuple[Coordinate, ...]
) -> Fibration:
    base = chosen or _with_rates(rates, inputs)
    if len(base) != len(inputs):
        remedy = f"pass base= with {len(inputs)} of its symbols"
        raise FormError("The base could not be read off the rates", model.name, remedy)
    fibre = tuple(q for q in rates if q not in base)
    gain = sympy.Matrix([rates[q] for q in base]).jacobian(list(inputs))
    follow = sympy.zeros(0, len(inputs))
    if fibre:
        follow = sympy.Matrix([rates[q] for q in fibre]).jacobian(list(inputs))
    for q, rate in rates.items():
        rest = rate.xreplace(dict.fromkeys(inputs, ZERO))
        if sympy.simplify(rest) != 0:
            what = f"`{q}` drifts without inputs"
            raise FormError(what, str(rest)[:60], "state its kinematics alone")
    determinant = _checked_gain(gain, inputs, model)
    solved = gain.adjugate() / determinant
    coefficients = (follow * solved).applyfunc(sympy.simplify)
    blocks = gain, sympy.zeros(len(base), 1), coefficients
    return Fibration(model, base, fibre, (), inputs, *map(sympy.ImmutableMatrix, blocks))


def _dynamic(
    model: Flow, rates: Rates, inputs: tuple[Input, ...], speeds: Sequence[Coordinate],
    chosen: tuple[Coordinate, ...],
) -> Fibration:  # fmt: skip
    base = chosen or _with_rates(rates, speeds)
    if len(base) != len(inputs) or len(speeds) != len(inputs):
        raise FormError(
            "The base could not be read off the rates",
            f"inputs in the rates of {', '.join(q.name for q in speeds)}",
            f"a base of {len(inputs)} symbols must have these as its rates",
        )
    order = tuple(rates[q] for q in base)
    fibre = tuple(q for q in rates if q not in (*base, *speeds))
    pushed = sympy.Matrix([rates[s] for s in order])
    follow = sympy.Matrix([rates[q] for q in fibre])
    coefficients, left = sympy.zeros(0, len(base)), sympy.zeros(0, 1)
    if fibre:
        coefficients = follow.jacobian(list(order))
        left = (follow - coefficients * sympy.Matrix(order)).applyfunc(sympy.simplify)
    if any(left) or coefficients.free_symbols & set(order):
        remedy = "its rates must be linear in those of the base"
        raise FormError("The fibre does not follow the base alone", str(list(left))[:80], remedy)
    gain = pushed.jacobian(list(inputs))
    _checked_gain(gain, inputs, model)
    offset = (pushed - gain * sympy.Matrix(inputs)).applyfunc(sympy.expand)
    blocks = map(sympy.ImmutableMatrix, (gain, offset, coefficients))
    return Fibration(model, base, fibre, order, inputs, *blocks)


def _checked_gain(gain: sympy.MatrixBase, inputs: tuple[Input, ...], model: Flow) -> sympy.Expr:
    """det D, for D square, without inputs and not singular everywhere."""
    if gain.shape[0] != gain.shape[1] or gain.free_symbols & set(inputs):
        what = "The inputs must set the base, and affinely"
        raise FormError(what, model.name, "as many base symbols as inputs")
    determinant = sympy.simplify(gain.det(method="berkowitz"))
    if determinant == 0:
        seen = f"{model.name}: det D = 0"
        raise FormError("The inputs cannot set the base", seen, "choose another base")
    return determinant


def _of_connection(connection: Connection) -> Fibration:
    """Shapes over the group: g_dot follows r_dot where the momenta, if there are any, stay zero."""
    if any(connection.drift) or not _stays_at_zero(connection):
        raise FormError(
            "The group follows the shape alone only while the momenta stay zero",
            f"{connection.system.name} is {connection.kind}: momenta move it, too",
            "follow its shape with da.symmetry.follow_shape, which carries the momenta along",
        )
    shape = connection.bundle.shape
    group = [q for k, q in enumerate(connection.system.coordinates) if k not in shape]
    inputs = [Input(f"w_{q.name}") for q in connection.shape]
    lift = sympy.Matrix(connection.horizontal_lift)[len(connection.shape) :, :]
    moved = lift * sympy.Matrix(inputs)
    by_name = dict(zip((q.name for q in connection.group.symbols), moved, strict=True))
    rates = dict(zip(connection.shape, inputs, strict=True)) | {q: by_name[q.name] for q in group}
    how = "at zero momentum" if connection.bundle.momenta else "kinematic"
    return fibration(Flow(rates, inputs=inputs, name=f"{connection.system.name}, {how}"))


def _stays_at_zero(connection: Connection) -> bool:
    """Whether p = 0 is kept by every motion of the shape, as J = 0 is without constraints."""
    if not connection.bundle.momenta:
        return True
    algebra = GraphAlgebra()
    reduced = ReducedFunctions(connection.bundle, algebra)
    still = algebra.zeros(len(connection.bundle.momenta))
    rate = algebra.substitute(reduced.momentum_rate, reduced.p, still)
    return algebra.vanishing(rate).holds


def kinematic_flow(system: System) -> Flow:
    """The kinematics of a system with velocity constraints, by its independent velocities.

    These become inputs; they are chosen as in Maggi's form and are called ``w_x``.

    Examples
    --------
    >>> import dalembert as da
    >>> from sympy import cos, sin
    >>> x, y, theta = da.coordinates("x y theta")
    >>> blade = da.velocity(x.dot*sin(theta) - y.dot*cos(theta))
    >>> energy = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    >>> flow = kinematic_flow(da.System([x, y, theta], kinetic=energy, constraints=[blade]))
    >>> sorted(map(str, flow.inputs))
    ['w_theta', 'w_y']
    """
    if not isinstance(system, System):
        what = "Kinematics are those of a System"
        raise ModelError(what, type(system).__name__, "a Flow is kinematic already")
    maggi.hypotheses(system)
    equations = reduced_equations(system, maggi.FORM, maggi.derive_on)
    blocks = equations.blocks(TreeAlgebra())
    chosen = [symbol for symbol in system.velocities if symbol.name in equations.chart]
    free = {symbol: Input(f"w_{symbol.coordinate.name}") for symbol in chosen}
    rates = [sympy.simplify(rate.xreplace(free)) for rate in blocks.velocities]
    for q, rate in zip(system.coordinates, rates, strict=True):
        rest = rate.xreplace(dict.fromkeys(free.values(), ZERO))
        if sympy.simplify(rest) != 0 or rate.has(t):
            what = f"The constraints move `{q}` by themselves"
            raise FormError(what, str(rest)[:60], "they must be homogeneous")
    moved = dict(zip(system.coordinates, rates, strict=True))
    return Flow(moved, inputs=list(free.values()), name=f"{system.name}, kinematic")
