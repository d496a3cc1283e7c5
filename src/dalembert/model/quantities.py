"""Named intermediate quantities: ordered definitions that expressions share.

A quantity is an expression with a name, ``w = define("w", x.dot*cos(x))``. Other expressions, and
other definitions, contain it as one node. SymPy neither expands nor simplifies what is behind the
name; substitutions, derivatives and questions about symbols reach it. The graph algebra evaluates
each quantity once, so that the velocities of a tree of bodies are passed on from body to body and
the work grows linearly with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import sympy
from sympy.core.symbol import Str

from .symbols import as_expression

if TYPE_CHECKING:
    from ..typing import Expression

__all__ = ["Quantity", "define", "definitions_in", "inlined"]


class Quantity(sympy.Expr):
    """A real expression with a name; `define` makes it.

    Attributes
    ----------
    name : str
    definition : sympy.Expr
        What the name stands for; it may contain other quantities.
    symbols : frozenset of sympy.Symbol
        The symbols that the definition depends on, through other quantities as well.
    """

    is_Atom = True  # expand() and simplify() leave definitions as they are
    is_real = True

    name: str
    definition: sympy.Expr
    symbols: frozenset[sympy.Symbol]
    _derivatives: dict[sympy.Symbol, sympy.Expr]
    _replaced: dict[Any, tuple[sympy.Expr, bool]]

    def __new__(cls, name: str | Str, definition: Expression) -> Quantity:
        label, value = name if isinstance(name, Str) else Str(name), as_expression(definition)
        known = _INTERNED.get((label, value))
        if known is not None:
            return known
        made: Quantity = super().__new__(cls, label, value)
        made.name, made.definition = label.name, value
        made.symbols = frozenset(value.free_symbols)
        made._derivatives, made._replaced = {}, {}
        _INTERNED[label, value] = made
        return made

    @property
    def free_symbols(self) -> set[sympy.Symbol]:
        """The symbols that the definition depends on."""
        return set(self.symbols)

    def _eval_derivative(self, symbol: sympy.Symbol) -> sympy.Expr:
        if symbol not in self.symbols:
            return sympy.S.Zero
        if symbol not in self._derivatives:
            self._derivatives[symbol] = self.definition.diff(symbol)
        return self._derivatives[symbol]

    def _xreplace(self, rule: Mapping[Any, Any]) -> tuple[sympy.Expr, bool]:
        if self in rule:
            return rule[self], True
        if all(isinstance(key, sympy.Symbol) for key in rule):
            relevant = frozenset((key, rule[key]) for key in self.symbols if key in rule)
            if not relevant:
                return self, False
            if relevant not in self._replaced:
                self._replaced[relevant] = self._rebuilt(rule)
            return self._replaced[relevant]
        return self._rebuilt(rule)

    def _rebuilt(self, rule: Mapping[Any, Any]) -> tuple[sympy.Expr, bool]:
        value, changed = self.definition._xreplace(rule)
        return (named(self.name, value), True) if changed else (self, False)

    def _eval_subs(self, old: sympy.Basic, new: sympy.Basic) -> sympy.Expr | None:
        value = self.definition._subs(old, new)
        return self if value == self.definition else named(self.name, value)

    def _eval_evalf(self, precision: int) -> sympy.Expr:
        return self.definition._evalf(precision)  # type: ignore[no-any-return]

    def sort_key(self, order: Any = None) -> Any:
        """Sort among symbols, by name."""
        return sympy.Symbol(self.name).sort_key()

    def _sympystr(self, printer: Any) -> str:
        return self.name

    _sympyrepr = _sympystr

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        text: str = printer._print(sympy.Symbol(self.name))
        return text if exp is None else f"{text}^{{{exp}}}"

    def __hash__(self) -> int:
        return int(super().__hash__())

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Quantity)
            and self.name == other.name
            and bool(self.definition == other.definition)
        )


_INTERNED: WeakValueDictionary[tuple[Str, sympy.Expr], Quantity] = WeakValueDictionary()


def define(name: str, expression: Expression) -> sympy.Expr:
    """Give an expression a name, under which other expressions share it.

    Numbers and symbols are as short as a name, and are returned as they are.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> w = da.define("w", x.dot * sympy.cos(x))
    >>> 2 * w**2, (2 * w**2).diff(x)
    (2*w**2, -4*w*x_dot*sin(x))
    """
    return named(name, as_expression(expression))


def named(name: str, value: sympy.Expr) -> sympy.Expr:
    """A quantity, or the expression itself where it is a number, a symbol or a quantity."""
    core = -value if value.could_extract_minus_sign() else value
    if not core.args or isinstance(core, Quantity) or not value.free_symbols:
        return value
    return Quantity(name, value)


def definitions_in(expressions: Iterable[sympy.Basic]) -> Iterator[Quantity]:
    """The quantities that expressions contain, each after those that its definition contains.

    >>> x = sympy.Symbol("x")
    >>> a = define("a", x**2)
    >>> b = define("b", a + 1)
    >>> list(definitions_in([a * b]))
    [a, b]
    """
    done: set[sympy.Basic] = set()
    pending = [(expression, False) for expression in reversed(list(expressions))]
    while pending:
        node, ready = pending.pop()
        if ready:
            yield node  # type: ignore[misc]
            continue
        if node in done or not node.args:
            continue
        done.add(node)
        if isinstance(node, Quantity):
            pending += [(node, True), (node.definition, False)]
        else:
            pending.extend((argument, False) for argument in reversed(node.args))


def inlined(expression: sympy.Expr) -> sympy.Expr:
    """An expression with the definitions in place of the names.

    >>> x = sympy.Symbol("x")
    >>> inlined(2 * define("a", x + 1) ** 2)
    2*(x + 1)**2
    """
    found: dict[sympy.Basic, sympy.Expr] = {}
    for quantity in definitions_in([expression]):
        found[quantity] = quantity.definition.xreplace(found)
    return expression.xreplace(found) if found else expression
