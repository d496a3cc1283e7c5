"""The symbols a model is written in: coordinates, parameters, inputs, speeds and time.

Every symbol is a real SymPy symbol, so that any SymPy expression can be built from them. A
coordinate knows the names of its derivatives and of its momentum: ``x``, ``x_dot``, ``x_ddot``,
``p_x``. These names are the same in Python, in model files and in results.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import sympy

from ..errors import ExpressionError, ModelError
from .labels import labelled
from .names import shortened

if TYPE_CHECKING:
    from ..typing import Expression, Matrix, Symbol, Vector

__all__ = [
    "Acceleration",
    "Coordinate",
    "Input",
    "Momentum",
    "Multiplier",
    "Parameter",
    "Speed",
    "Velocity",
    "as_expression",
    "as_matrix",
    "by_name",
    "coordinates",
    "inputs",
    "name_of",
    "parameters",
    "speeds",
    "t",
]


class _RealSymbol(sympy.Symbol):
    """A symbol that is real unless it says otherwise."""

    __slots__ = ()

    def __new__(cls, name: str, **assumptions: bool) -> Self:
        assumptions.setdefault("real", True)
        return super().__new__(cls, name, **assumptions)  # type: ignore[no-any-return]

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        """Sort among plain symbols by name, so that products print as k*x and not by class."""
        return sympy.Symbol.class_key()  # type: ignore[no-any-return]


class Coordinate(_RealSymbol):
    """A generalised coordinate q.

    >>> x = Coordinate("x")
    >>> x.dot, x.ddot, x.momentum
    (x_dot, x_ddot, p_x)
    """

    __slots__ = ()

    @property
    def dot(self) -> Velocity:
        """The velocity of this coordinate."""
        return Velocity(f"{self.name}_dot")

    @property
    def ddot(self) -> Acceleration:
        """The acceleration of this coordinate."""
        return Acceleration(f"{self.name}_ddot")

    @property
    def momentum(self) -> Momentum:
        """The canonical momentum of this coordinate."""
        return Momentum(f"p_{self.name}")

    @property
    def before(self) -> Coordinate:
        """This coordinate of the part before, in a system of equal parts; see `repeat`."""
        return Coordinate(
            self.name.removesuffix("_after")
            if self.name.endswith("_after")
            else f"{self.name}_before"
        )

    @property
    def after(self) -> Coordinate:
        """This coordinate of the part after, in a system of equal parts; see `repeat`.

        >>> x = Coordinate("x")
        >>> x.after, x.after.before, x.after.after.neighbour
        (x_after, x, ('x', 2))
        """
        return Coordinate(
            self.name.removesuffix("_before")
            if self.name.endswith("_before")
            else f"{self.name}_after"
        )

    @property
    def neighbour(self) -> tuple[str, int]:
        """The name in the part itself, and how many parts further this is."""
        name, offset = self.name, 0
        while name.endswith(("_before", "_after")):
            offset += -1 if name.endswith("_before") else 1
            name = name.rpartition("_")[0]
        return name, offset


class Velocity(_RealSymbol):
    """The time derivative of a coordinate."""

    __slots__ = ()

    @property
    def coordinate(self) -> Coordinate:
        """The coordinate this is the velocity of."""
        return Coordinate(self.name.removesuffix("_dot"))


class Acceleration(_RealSymbol):
    """The second time derivative of a coordinate."""

    __slots__ = ()


class Momentum(_RealSymbol):
    """The canonical momentum of a coordinate."""

    __slots__ = ()

    @property
    def coordinate(self) -> Coordinate:
        """The coordinate this is the momentum of."""
        return Coordinate(self.name.removeprefix("p_"))


class Multiplier(_RealSymbol):
    """The multiplier of a constraint, ``mu_<name>``, which no expression of a model may contain."""

    __slots__ = ()


class Parameter(_RealSymbol):
    """A constant whose value is given when the system is simulated.

    >>> m = Parameter("m", positive=True)
    >>> m.name, m.is_positive
    ('m', True)
    """

    __slots__ = ()


class Input(_RealSymbol):
    """A quantity imposed from outside as a function of time and state.

    >>> import dalembert as da
    >>> x, u = da.coordinates("x"), Input("u")
    >>> pushed = da.System([x], kinetic=x.dot**2/2, forces={x: u}, inputs=[u])
    >>> round(float(da.simulate(pushed, span=(0, 1), inputs={u: 6*da.t})["x"][-1]), 9)
    1.0
    """

    __slots__ = ()


class Speed(_RealSymbol):
    """A quasi-velocity: a component of the velocity in a frame of the user's choice.

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> along = Speed("u")
    >>> da.image({x: along, y: 2*along}, speeds=[along]).velocities
    {x: u, y: 2*u}
    """

    __slots__ = ()


#: Time.
t = _RealSymbol("t")


def as_expression(value: Expression) -> sympy.Expr:
    """A number or an expression as a SymPy expression. Text is refused: SymPy would execute it.

    >>> as_expression(2) / 3
    2/3
    """
    match value:
        case sympy.Basic():
            return value
        case numbers.Integral():
            return sympy.Integer(int(value))
        case numbers.Rational():
            return sympy.Rational(int(value.numerator), int(value.denominator))
        case numbers.Real():
            return sympy.Float(float(value))
        case str():
            raise ExpressionError(
                "An expression was given as text",
                seen=repr(value)[:60],
                remedy="read it with parse(...)",
            )
    raise ExpressionError(
        "An expression must be made of numbers and symbols", seen=f"a {type(value).__name__}"
    )


def as_matrix(values: Matrix | Vector) -> Any:
    """A matrix, or a sequence of expressions or rows, as a SymPy matrix without reading text."""
    if isinstance(values, sympy.MatrixBase):
        return values
    values = values.tolist() if hasattr(values, "tolist") else values  # an array of numbers
    rows = [
        (
            [as_expression(entry) for entry in row]
            if isinstance(row, Sequence) and not isinstance(row, str)
            else as_expression(row)
        )
        for row in values
    ]
    return sympy.Matrix(rows)


def name_of(symbol: Symbol) -> str:
    """The name of a symbol that is given as a symbol or by its name.

    >>> name_of(coordinates("x").dot), name_of("x_dot")
    ('x_dot', 'x_dot')
    """
    name: str | None = getattr(
        symbol, "name", None
    )  # writing a symbol out is slow, and its name is there
    return str(symbol) if name is None else name


def by_name(given: Any, what: str) -> dict[str, Any]:
    """Values by name, from a mapping of symbols or names, or from `labelled` values.

    >>> by_name({coordinates("x"): 1.0, "y": 2.0}, "start")
    {'x': 1.0, 'y': 2.0}
    """
    table = (
        {} if given is None or (isinstance(given, (list, tuple)) and not given) else labelled(given)
    )
    if not isinstance(table, Mapping):
        raise ModelError(
            f"The {what} must give values by name",
            seen=shortened(given),
            remedy="pass {x: 1.0, ...}",
        )
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = name_of(key)
        if name in found and not _same(found[name], value):
            seen = f"{found[name]} and {value}"[:120]
            raise ModelError(
                f"The {what} gives `{name}` twice", seen, remedy="give it once, by name or symbol"
            )
        found[name] = value
    return found


def _same(first: Expression, second: Expression) -> bool:
    try:
        return first is second or bool(first == second)
    except ValueError:  # arrays, of which one would not be used
        return False


def _named(kind: type[Any], names: str, assumptions: dict[str, Any]) -> Any:
    found = sympy.symbols(
        names, cls=lambda name, **rest: kind(name, **rest), seq=True, **assumptions
    )
    return found[0] if len(found) == 1 else tuple(found)


def coordinates(names: str) -> Any:
    """Coordinates by name: one coordinate, or a tuple of them.

    >>> coordinates("x y theta")
    (x, y, theta)
    >>> coordinates("q1:4")
    (q1, q2, q3)
    """
    return _named(Coordinate, names, {})


def parameters(names: str, **assumptions: bool) -> Any:
    """Parameters by name, with SymPy assumptions such as ``positive=True``.

    >>> m, g = parameters("m g", positive=True)
    >>> m.is_positive
    True
    """
    return _named(Parameter, names, assumptions)


def inputs(names: str) -> Any:
    """Inputs by name: quantities that the user imposes on the motion.

    >>> inputs("u")
    u
    """
    return _named(Input, names, {})


def speeds(names: str, positive: bool = False) -> Any:
    """Speeds by name: the free components of the velocity in an image constraint.

    Parameters
    ----------
    positive : bool
        Whether the speeds are positive, for statements that hold only then, such as sqrt(w**2) = w.

    >>> speeds("u1 u2")
    (u1, u2)
    """
    return _named(Speed, names, {"positive": True} if positive else {})
