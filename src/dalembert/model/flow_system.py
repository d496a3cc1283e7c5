r"""First-order systems: symbols and their rates.

    x_dot = X(x, t, u)

Kinematic systems, Lie-Poisson and bracket equations, matrix flows, and what has no energies at all
are stated in this way. A flow stands where a `System` stands and goes the same road: its Gauss
problem has the rates as unknowns and the identity for a metric.

Symbols may be entries of matrices, and these may move by a group,

    X_dot = U X - X V                      (X_dot = [X, u] is U = V = -u; X_dot = X u is U = 0, V =
    -u),

which the methods that stay on orbits of the group must know: a flow says it with `Action`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import sympy

from ..errors import Faults, ModelError, raise_collected
from ..typing import BySymbol, Expression, Matrix, Values
from .cache import Cache
from .constraints import Constraint, UnilateralConstraint
from .drawing import Drawing, Drawn
from .flow_matrices import check_action, read_matrix, symbols_of
from .frozen_table import FrozenTable
from .named_points import drawn_outputs, merged_outputs
from .quantities import Quantity, definitions_in
from .symbols import (
    Acceleration,
    Coordinate,
    Input,
    Momentum,
    Multiplier,
    Parameter,
    Velocity,
    t,
)
from .system_checks import check_names
from .system_reader import Reader

__all__ = ["Action", "Flow"]


@dataclass(frozen=True)
class Action:
    """How a matrix of a flow moves: X_dot = left X - X right.

    Attributes
    ----------
    matrix : str
        The name of X among the matrices of the flow.
    left, right : sympy.Matrix or None
        Elements of the Lie algebra as expressions of the symbols; None is zero.

    Examples
    --------
    >>> import dalembert as da, sympy
    >>> X = sympy.Matrix(2, 2, da.coordinates("x1 x2 x3 x4"))
    >>> turn = sympy.ImmutableMatrix([[0, -1], [1, 0]])
    >>> U = turn * X - X * turn
    >>> flow = da.Flow(dict(zip(X, U)), matrices={"X": X}, actions=[Action("X", turn, turn)])
    >>> flow.actions[0].is_conjugation
    True
    """

    matrix: str
    left: sympy.ImmutableMatrix | None = None
    right: sympy.ImmutableMatrix | None = None

    @property
    def is_conjugation(self) -> bool:
        """Whether X_dot = [left, X], so that the spectrum of X stays."""
        return self.left is not None and self.left == self.right


@dataclass(frozen=True, init=False, eq=False)
class Flow:
    """A first-order system. It is equal to itself alone, and can be pickled.

    Parameters
    ----------
    rates : mapping of Coordinate to expression
        The rate of each symbol, in symbols, parameters, inputs and time.
    inputs : sequence of Input, or mapping of Input to an expression of time and symbols
    integrals : mapping of name to expression
        What stays constant along every motion, and is reported; ``"energy"`` is `Motion.energy`.
    outputs : mapping of name to expression
        Further quantities that every motion reports.
    constraints : sequence of holonomic constraints
        Invariant relations of the flow, such as Q^T Q = 1: a start is brought to them, and every
        step of `dop853`. Methods with fixed steps keep them as far as their structure does;
        `Motion.worst_residual` says how far.
    matrices : mapping of name to matrix
        Matrices whose entries are symbols, multiples of them and numbers; ``motion[name]`` gives
        them as arrays.
    actions : sequence of Action
        Which of the matrices move by a group, and how.
    name : str
    drawing : Drawing, or shapes of `dalembert.draw`
        How it looks, for animations.

    Raises
    ------
    ModelError
        With every fault of the input in one message.

    Examples
    --------
    >>> import dalembert as da
    >>> x, y, z = da.coordinates("x y z")
    >>> s, r, b = da.parameters("s r b")
    >>> lorenz = Flow({x: s*(y - x), y: x*(r - z) - y, z: x*y - b*z}, name="Lorenz")
    >>> motion = da.simulate(lorenz, {x: 1.0}, (0, 1), parameters={s: 10, r: 28, b: 8/3}, at=[0, 1])
    >>> motion["x"].round(3).tolist()
    [1.0, -9.408]
    """

    coordinates: tuple[Coordinate, ...]
    rates: Mapping[Coordinate, sympy.Expr]
    inputs: Mapping[Input, sympy.Expr | None]
    integrals: Mapping[str, sympy.Expr]
    own_outputs: Mapping[str, sympy.Expr]
    constraints: tuple[Constraint, ...]
    matrices: Mapping[str, sympy.ImmutableMatrix]
    actions: tuple[Action, ...]
    name: str

    unilateral: tuple[UnilateralConstraint, ...] = ()
    image: None = None
    lagrangian: None = None
    hamiltonian: None = None
    kinetic: None = None
    potential: None = None
    is_hamiltonian: bool = False
    drawing: Drawing | None = field(default=None, repr=False)
    bundle: Mapping[Any, Any] = field(default_factory=dict)
    #: The SymPy symbols behind the names of a flow that `from_sympy` made: a `SympyNames`.
    sympy_names: Any = field(default=None, init=False, repr=False)
    #: Equations and other results that are computed once from the flow.
    cache: Cache = field(init=False, repr=False)

    def __init__(
        self,
        rates: Values,
        *,
        inputs: BySymbol[Expression | None] | Sequence[Input] = (),
        integrals: Values | None = None,
        outputs: Values | None = None,
        constraints: Sequence[Constraint] = (),
        matrices: Mapping[str, Matrix] | None = None,
        actions: Sequence[Action] = (),
        name: str = "flow",
        drawing: Drawn | None = None,
    ) -> None:
        faults = Faults()
        if not isinstance(rates, Mapping):
            raise ModelError(
                "A flow needs the rate of each symbol",
                seen=type(rates).__name__,
                remedy="pass {x: ..., y: ...}",
            )
        reader = Reader(list(rates), faults)
        listed = (
            inputs
            if isinstance(inputs, Mapping)
            else dict.fromkeys([inputs] if isinstance(inputs, Input) else inputs)
        )
        drawn = reader.drawing(drawing)
        values: dict[str, Any] = {
            "coordinates": reader.coordinates,
            "rates": FrozenTable(
                {
                    q: reader.expression(value, f"rate of `{q}`")
                    for q, value in zip(reader.coordinates, rates.values(), strict=False)
                }
            ),
            "inputs": FrozenTable(
                {
                    s: None if value is None else reader.expression(value, f"input `{s}`")
                    for s, value in listed.items()
                }
            ),
            "integrals": FrozenTable(
                {
                    k: reader.expression(value, f"integral `{k}`")
                    for k, value in (integrals or {}).items()
                }
            ),
            "own_outputs": FrozenTable(
                {
                    k: reader.expression(value, f"output `{k}`")
                    for k, value in merged_outputs(outputs, drawn_outputs(drawn), faults).items()
                }
            ),
            "constraints": tuple(
                reader.constraint(c, k) for k, c in enumerate(constraints, start=1)
            ),
            "matrices": FrozenTable(
                {k: read_matrix(value, k, reader) for k, value in (matrices or {}).items()}
            ),
            "actions": tuple(actions),
            "name": str(name),
            "bundle": FrozenTable({}),
            "drawing": drawn,
        }
        self._set(values)
        if not faults:
            self._check(faults)
        raise_collected(faults)

    def __getstate__(self) -> dict[str, Any]:
        """What was stated; everything else follows from it."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._set(state)

    def _set(self, values: Mapping[str, Any]) -> None:
        for attribute, value in values.items():
            object.__setattr__(self, attribute, value)
        object.__setattr__(self, "cache", Cache("results of a flow"))

    def with_sympy_names(self, names: Any) -> Flow:
        """The same flow, with the SymPy symbols behind its names."""
        flow = object.__new__(Flow)
        flow._set(self.__getstate__() | {"sympy_names": names})
        return flow

    def __copy__(self) -> Flow:
        return self

    def __deepcopy__(self, _: object) -> Flow:
        return self

    def _check(self, faults: Faults) -> None:
        """Check symbols, names, constraints and actions."""
        check_names(self, faults)  # type: ignore[arg-type]
        own = {*self.coordinates, *self.inputs, t}
        for where, expression in self._stated():
            symbols = expression.free_symbols - expression.atoms(
                Parameter, Acceleration, Multiplier
            )
            wrong = sorted(
                (s for s in symbols - own if isinstance(s, (Velocity, Momentum))), key=str
            )
            foreign = sorted((s for s in symbols - own if s not in wrong), key=str)
            if wrong:
                faults.add(
                    f"The {where} contains {', '.join(map(str, wrong))}",
                    remedy="a flow is written in its symbols alone",
                )
            if foreign:
                faults.add(
                    f"The {where} contains {', '.join(map(str, foreign))}",
                    remedy="give these symbols rates, too",
                )
        for constraint in self.constraints:
            if not constraint.is_position_level or constraint.work:
                faults.add(
                    f"The constraint `{constraint.name}` of a flow must be a relation of its"
                    " symbols",
                    seen=type(constraint).__name__,
                    remedy="use holonomic(...), or state a System",
                )
        taken = [
            name
            for name in self.matrices
            if name in {q.name for q in self.coordinates} | {*self.outputs}
        ]
        for name in taken:
            faults.add(
                f"The name `{name}` stands for a matrix and for a number",
                remedy="rename one of them",
            )
        for action in self.actions:
            check_action(self, action, faults)

    def _stated(self) -> Iterable[tuple[str, sympy.Expr]]:
        yield from ((f"rate of `{q}`", value) for q, value in self.rates.items())
        yield from ((f"integral `{k}`", value) for k, value in self.integrals.items())
        yield from ((f"output `{k}`", value) for k, value in self.own_outputs.items())
        yield from ((f"constraint `{c.name}`", c.expression) for c in self.constraints)
        yield from (
            (f"input `{s}`", value) for s, value in self.inputs.items() if value is not None
        )

    # -- what a System answers, too ----------------------------------------------------------------

    @cached_property
    def velocities(self) -> tuple[Velocity, ...]:
        """The rates as symbols."""
        return tuple(q.dot for q in self.coordinates)

    @property
    def momenta(self) -> tuple[Momentum, ...]:
        """There are none."""
        return ()

    @property
    def bilateral(self) -> tuple[Constraint, ...]:
        """The invariant relations."""
        return self.constraints

    @cached_property
    def outputs(self) -> Mapping[str, sympy.Expr]:
        """What motions report beside the symbols: integrals and outputs."""
        integrals = {name: value for name, value in self.integrals.items() if name != "energy"}
        return FrozenTable(integrals | dict(self.own_outputs))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """Every parameter that occurs anywhere in the flow or its drawing, by name."""
        found = {
            symbol for expression in self.expressions() for symbol in expression.atoms(Parameter)
        }
        found |= set() if self.drawing is None else self.drawing.parameters
        return tuple(sorted(found, key=lambda symbol: symbol.name))

    @cached_property
    def definitions(self) -> tuple[Quantity, ...]:
        """The named quantities that the expressions share, each after those that it contains."""
        return tuple(definitions_in(self.expressions()))

    def expressions(self) -> Iterable[sympy.Expr]:
        """Every expression of the flow."""
        return (expression for _, expression in self._stated())

    # -- flows from flows --------------------------------------------------------------------------

    def replacing(self, **changes: Any) -> Flow:
        """The same flow with some of its attributes replaced, checked again."""
        current: dict[str, Any] = {
            "inputs": self.inputs,
            "integrals": self.integrals,
            "outputs": self.own_outputs,
            "constraints": self.constraints,
            "matrices": self.matrices,
            "actions": self.actions,
            "name": self.name,
            "drawing": (
                self.drawing
                if set(changes.get("rates", self.coordinates)) >= set(self.coordinates)
                else None
            ),
        }
        return Flow(changes.pop("rates", self.rates), **(current | changes))

    def driven(self, inputs: Mapping[Any, Any]) -> Flow:
        """The same flow with inputs imposed as expressions of time and symbols."""
        table: dict[Any, Any] = dict(self.inputs)
        by_name = {symbol.name: symbol for symbol in self.inputs}
        for key, value in inputs.items():
            symbol = by_name.get(str(key))
            if symbol is None:
                raise ModelError(
                    f"The flow has no input `{key}`",
                    seen=", ".join(by_name) or "no inputs",
                    remedy="name one of its own",
                )
            table[symbol] = value
        return self.replacing(inputs=table)

    def __repr__(self) -> str:
        from .statement_text import flow_text

        return flow_text(self)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        """What notebooks show."""
        from ..plotting.reports.display import system_bundle

        return system_bundle(self)

    def _repr_html_(self) -> str | None:
        return self._repr_mimebundle_().get("text/html")

    def _repr_latex_(self) -> str | None:
        return self._repr_mimebundle_().get("text/latex")

    def touching(self, names: Sequence[str]) -> Flow:
        """The same: there are no contacts."""
        return self

    def start(self, **matrices: Any) -> dict[str, float]:
        """The symbols that make matrices have these values, as a start for `simulate`.

        >>> import dalembert as da
        >>> a, b = da.coordinates("a b")
        >>> turn = Flow({a: -b, b: a}, matrices={"R": [[a, -b], [b, a]]})
        >>> turn.start(R=[[0.0, -1.0], [1.0, 0.0]])
        {'a': 0.0, 'b': 1.0}
        """
        found: dict[str, float] = {}
        for name, value in matrices.items():
            if name not in self.matrices:
                raise ModelError(
                    f"The flow has no matrix `{name}`", seen=", ".join(self.matrices) or "none"
                )
            found |= symbols_of(name, self.matrices[name], value)
        return {q.name: found[q.name] for q in self.coordinates if q.name in found}
