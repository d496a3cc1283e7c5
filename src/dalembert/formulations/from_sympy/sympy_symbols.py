r"""Symbols of `sympy.physics.mechanics` as symbols of a model, with names that are identifiers.

Functions q(t), their derivatives and plain symbols become coordinates, velocities, parameters and
inputs. A name that is not an identifier, or that is taken, is changed by one rule (`legal_name`):
backslashes and braces go, ``I_{1zz}`` is ``I_1zz`` and ``\theta`` is ``theta``, other characters
become underscores, and a name that is then taken gets a number, ``m_2``. `SympyNames` leads back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import sympy
from sympy.core.function import AppliedUndef

from ...errors import ModelError
from ...model.symbols import Acceleration, Coordinate, Input, Parameter, Speed, t

__all__ = ["SympyNames", "Translation", "legal_name"]


def legal_name(name: str) -> str:
    r"""The identifier that stands for a name of SymPy.

    >>> [legal_name(name) for name in (r"\theta", "I_{1zz}", r"\dot{q}", "x'", "m")]
    ['theta', 'I_1zz', 'dot_q', 'x_', 'm']
    """
    plain = re.sub(r"\\+", "", name)
    plain = re.sub(r"(?<=\w)(?<!_)\{", "_", plain)
    plain = re.sub(r"[^\w]", lambda found: "" if found.group() in "{}" else "_", plain)
    return plain if plain.isidentifier() else f"_{plain}"


@dataclass(frozen=True)
class SympyNames:
    """Which symbols of SymPy the names of a model stand for.

    Attributes
    ----------
    symbols : mapping of str to sympy.Expr
        The symbol or function of time behind each name: coordinates, speeds, inputs, parameters.
    """

    symbols: Mapping[str, sympy.Expr]

    @property
    def changed(self) -> dict[str, str]:
        """The names that are not SymPy's, with SymPy's own."""
        own = {name: _own_name(symbol) for name, symbol in self.symbols.items()}
        return {name: other for name, other in own.items() if other != name}

    def by_name(self, values: Mapping[sympy.Expr, Any]) -> dict[str, Any]:
        """Values of SymPy's symbols under the names of the model, as `simulate` takes them.

        >>> import warnings
        >>> from sympy.physics.mechanics import LagrangesMethod, dynamicsymbols
        >>> from dalembert.formulations.from_sympy.sympy_methods import from_sympy
        >>> x, k = dynamicsymbols("x"), sympy.Symbol("k^2")
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     system = from_sympy(LagrangesMethod(x.diff()**2/2 - k*x**2/2, [x]))
        >>> system.sympy_names.by_name({k: 4.0})
        {'k_2': 4.0}
        """
        names = {symbol: name for name, symbol in self.symbols.items()}
        unknown = [str(symbol) for symbol in values if symbol not in names]
        if unknown:
            raise ModelError(
                f"The model does not contain {', '.join(unknown)}",
                seen=", ".join(map(str, names)),
                remedy="give values of these symbols",
            )
        return {names[symbol]: value for symbol, value in values.items()}


def _own_name(symbol: sympy.Expr) -> str:
    """The name that SymPy has for a symbol, or for a function of time."""
    return str(symbol.name if isinstance(symbol, sympy.Symbol) else symbol.func.__name__)


class Translation:
    """Takes expressions of dynamic symbols to expressions of a model, each subexpression once.

    Attributes
    ----------
    clock : sympy.Symbol
        SymPy's time.
    coordinates : list of Coordinate
    speeds : dict of dynamic symbol to Speed
    inputs : list of Input
        Every other function of time that was met.
    """

    def __init__(
        self, coordinates: Iterable[sympy.Expr], speeds: Iterable[sympy.Expr] = ()
    ) -> None:
        from sympy.physics.mechanics import dynamicsymbols

        self.clock: sympy.Symbol = dynamicsymbols._t
        self._symbols: dict[str, sympy.Expr] = {}
        self._taken = {"t", "energy"}
        self._atoms: dict[sympy.Basic, sympy.Basic] = {self.clock: t}
        self._speed_values: dict[sympy.Basic, sympy.Expr] = {}
        self._in_speeds: dict[sympy.Basic, sympy.Basic] = {}
        self._in_rates: dict[sympy.Basic, sympy.Basic] = {}
        self.coordinates: list[Coordinate] = []
        self.inputs: list[Input] = []
        self.speeds: dict[sympy.Expr, Speed] = {}
        for dynamic in coordinates:
            self._add_coordinate(dynamic)
        for dynamic in speeds:
            self.speeds[dynamic] = speed = Speed(self._name(dynamic))
            rate = Acceleration(f"{speed.name}_dot")
            self._atoms |= {dynamic: speed, dynamic.diff(self.clock): rate}

    @property
    def names(self) -> SympyNames:
        """The names that were given until now."""
        return SympyNames(MappingProxyType(dict(self._symbols)))

    def in_speeds(self, expression: sympy.Basic) -> sympy.Expr:
        """The expression with speeds as symbols of their own."""
        return self._translated(expression, self._in_speeds, {})

    def in_rates(self, expression: sympy.Basic) -> sympy.Expr:
        """The expression with speeds as functions of coordinates and velocities."""
        return self._translated(expression, self._in_rates, self._speed_values)

    def set_speed(self, dynamic: sympy.Expr, value: sympy.Expr) -> None:
        """Say what a speed is in coordinates and velocities, for `in_rates`."""
        self._speed_values[dynamic] = value

    def new_coordinate(self, speed: sympy.Expr) -> Coordinate:
        """A coordinate whose velocity is a speed that has none."""
        name = f"{self.speeds[speed].name}_integral"
        self.coordinates.append(Coordinate(self._free_name(name, _names_of_coordinate)))
        return self.coordinates[-1]

    def output(self, key: object) -> str:
        """The name of an output."""
        return self._name(sympy.Symbol(str(key)))

    # -- symbols -----------------------------------------------------------------------------------

    def _add_coordinate(self, dynamic: sympy.Expr) -> None:
        if not isinstance(dynamic, AppliedUndef) or dynamic.args != (self.clock,):
            remedy = "use dynamicsymbols"
            raise ModelError("A coordinate must be a function of time", seen=dynamic, remedy=remedy)
        q = Coordinate(self._name(dynamic, _names_of_coordinate))
        first, second = dynamic.diff(self.clock), dynamic.diff(self.clock, 2)
        self._atoms |= {dynamic: q, first: q.dot, second: q.ddot}
        self.coordinates.append(q)

    def _name(self, symbol: sympy.Expr, derived: Callable[[str], set[str]] | None = None) -> str:
        name = self._free_name(legal_name(_own_name(symbol)), derived or _itself)
        self._symbols[name] = symbol
        return name

    def _free_name(self, name: str, derived: Callable[[str], set[str]]) -> str:
        candidate, number = name, 1
        while self._taken & derived(candidate):
            number += 1
            candidate = f"{name}_{number}"
        self._taken |= derived(candidate)
        return candidate

    # -- expressions -------------------------------------------------------------------------------

    def _translated(
        self,
        expression: sympy.Basic,
        known: dict[sympy.Basic, sympy.Basic],
        values: Mapping[sympy.Basic, sympy.Expr],
    ) -> sympy.Expr:
        pending: list[tuple[sympy.Basic, Sequence[sympy.Basic] | None]] = [(expression, None)]
        while pending:  # post-order without recursion
            node, parts = pending.pop()
            if node in known:
                continue
            if parts is not None:
                found = [known[part] for part in parts]
                is_evaluated = isinstance(node, sympy.Derivative)
                known[node] = found[0] if is_evaluated else _rebuilt(node, found)
                continue
            atom = values[node] if node in values else self._atom(node)
            if atom is not None:
                known[node] = atom
                continue
            parts = (node.doit(),) if isinstance(node, sympy.Derivative) else node.args
            pending.append((node, parts))
            pending.extend((part, None) for part in parts)
        return known[expression]

    def _atom(self, node: sympy.Basic) -> sympy.Basic | None:
        """What stands for a symbol, a function of time or its derivative; None for the rest."""
        if node in self._atoms:
            return self._atoms[node]
        if isinstance(node, AppliedUndef):
            if node.args != (self.clock,):
                remedy = "write out the expression that it stands for"
                raise ModelError(f"`{node}` is an undefined function", remedy=remedy)
            symbol = Input(self._name(node))
            self.inputs.append(symbol)
        elif isinstance(node, sympy.Derivative) and isinstance(node.expr, AppliedUndef):
            remedy = "give the rate a symbol of its own"
            raise ModelError(f"The rates of inputs have no symbol: {node}", remedy=remedy)
        elif isinstance(node, sympy.Symbol):
            symbol = Parameter(self._name(node), **node._assumptions_orig)
        else:
            return None if node.args else node
        self._atoms[node] = symbol
        return symbol


def _rebuilt(node: sympy.Basic, arguments: list[sympy.Basic]) -> sympy.Basic:
    same = all(new is old for new, old in zip(arguments, node.args, strict=True))
    return node if same else node.func(*arguments)


def _itself(name: str) -> set[str]:
    return {name}


def _names_of_coordinate(name: str) -> set[str]:
    q = Coordinate(name)
    return {name, q.dot.name, q.ddot.name, q.momentum.name}
