"""The letters a model is written in: coordinates, parameters, inputs, speeds and time.

Every letter is a real SymPy symbol, so that any SymPy expression can be built from them. A coordinate knows the
names of its derivatives and of its momentum: ``x``, ``x_dot``, ``x_ddot``, ``p_x``. These names are the same in
Python, in model files and in results.
"""

from __future__ import annotations

from typing import Any

import sympy

__all__ = [
    "Acceleration",
    "Coordinate",
    "Input",
    "Momentum",
    "Parameter",
    "Speed",
    "Velocity",
    "coordinates",
    "inputs",
    "parameters",
    "speeds",
    "t",
]


class _RealSymbol(sympy.Symbol):
    """A symbol that is real unless it says otherwise."""

    __slots__ = ()

    def __new__(cls, name: str, **assumptions: Any) -> _RealSymbol:
        assumptions.setdefault("real", True)
        return super().__new__(cls, name, **assumptions)  # type: ignore[no-any-return]

    @classmethod
    def class_key(cls) -> tuple[int, int, str]:
        """Sorted among plain symbols by name, so that products print as k*x and not by kind of letter."""
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


class Parameter(_RealSymbol):
    """A constant whose value is given when the system is simulated."""

    __slots__ = ()


class Input(_RealSymbol):
    """A quantity imposed from outside as a function of time and state."""

    __slots__ = ()


class Speed(_RealSymbol):
    """A quasi-velocity: a component of the velocity in a frame of the user's choice."""

    __slots__ = ()


#: Time.
t = _RealSymbol("t")


def _named(kind: type[Any], names: str, assumptions: dict[str, Any]) -> Any:
    found = sympy.symbols(names, cls=lambda name, **rest: kind(name, **rest), seq=True, **assumptions)
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


def speeds(names: str) -> Any:
    """Speeds by name: the free components of the velocity in an image constraint.

    >>> speeds("u1 u2")
    (u1, u2)
    """
    return _named(Speed, names, {})
