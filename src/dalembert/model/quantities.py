"""Named intermediate quantities: ordered definitions that expressions share.

A quantity is an expression with a name, ``w = define("w", x.dot*cos(x))``. Other expressions, and
other definitions, contain it as one node, whose arguments are the symbols that it depends on. SymPy
neither expands nor simplifies what is behind the name; substitutions, derivatives and questions
about symbols reach it. Whoever looks for functions inside an expression asks `distinct_nodes`,
which looks into definitions, each once; written out they may be exponentially long. The graph
algebra evaluates each quantity once, so that the velocities of a tree of bodies are passed on from
body to body and the work grows linearly with their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import sympy
from sympy.core.symbol import Str

from .symbols import as_expression

if TYPE_CHECKING:
    from ..typing import Expression

__all__ = ["Quantity", "define", "definitions_in", "distinct_nodes", "inlined"]
__all__ += ["inlined_if_short", "inlined_length"]

#: Substitutions that a quantity remembers.
_REMEMBERED = 8


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
        symbols = sorted(value.free_symbols, key=lambda symbol: symbol.name)
        made: Quantity = super().__new__(cls, *symbols)
        made.name, made.definition = label.name, value
        made.symbols = frozenset(symbols)
        made._derivatives, made._replaced = {}, {}
        _INTERNED[label, value] = made
        return made

    def __getnewargs__(self) -> tuple[Str, sympy.Expr]:
        return (Str(self.name), self.definition)

    def _hashable_content(self) -> tuple[str, sympy.Expr]:
        return (self.name, self.definition)  # SymPy sorts long sums by it, again and again

    @property
    def func(self) -> Any:
        """A quantity is rebuilt from its symbols only where they stay the same."""
        return self._with_symbols

    def _with_symbols(self, *symbols: sympy.Expr) -> sympy.Expr:
        return self.xreplace(dict(zip(self.args, symbols, strict=True)))

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
        else:
            relevant = frozenset(rule.items())

        def make() -> tuple[sympy.Expr, bool]:
            value, changed = self.definition._xreplace(rule)
            return (named(self.name, value), True) if changed else (self, False)

        return self._remembered(relevant, make)

    def _eval_subs(self, old: sympy.Basic, new: sympy.Basic) -> sympy.Expr | None:
        def make() -> tuple[sympy.Expr, bool]:
            value = self.definition._subs(old, new)
            return (self, False) if value == self.definition else (named(self.name, value), True)

        return self._remembered((old, new), make)[0]

    def _remembered(
        self, key: Any, make: Callable[[], tuple[sympy.Expr, bool]]
    ) -> tuple[sympy.Expr, bool]:
        """What a substitution gives; quantities that share this one ask again."""
        if key not in self._replaced:
            if len(self._replaced) >= _REMEMBERED:
                self._replaced.clear()
            self._replaced[key] = make()
        return self._replaced[key]

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
    is_negated = value.is_Mul and len(value.args) == 2 and value.args[0] is sympy.S.NegativeOne
    core = value.args[1] if is_negated else value
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


def distinct_nodes(expression: sympy.Basic) -> Iterator[sympy.Basic]:
    """Every node of an expression and of the definitions in it, once."""
    seen, pending = {expression}, [expression]
    while pending:
        node = pending.pop()
        yield node
        inner = (node.definition,) if isinstance(node, Quantity) else node.args
        fresh = [argument for argument in inner if argument not in seen]
        seen.update(fresh)
        pending += fresh


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


def inlined_if_short(expression: sympy.Expr, most: int) -> sympy.Expr | None:
    """An expression without names, or None where it would have more than `most` operations.

    >>> x = sympy.Symbol("x")
    >>> inlined_if_short(2 * define("a", x + 1), 10), inlined_if_short(define("a", x + 1), 0)
    (2*x + 2, None)
    """
    if not expression.has(Quantity):
        return expression
    return inlined(expression) if inlined_length(expression) <= most else None


def inlined_length(expression: sympy.Expr) -> int:
    """The operations that an expression would have with the definitions in place of the names.

    >>> x = sympy.Symbol("x")
    >>> a = define("a", x**2 + 1)
    >>> inlined_length(a * define("b", a + x))
    6
    """
    lengths: dict[sympy.Basic, int] = {}

    def length(part: sympy.Expr) -> int:
        total, pending = 0, [part]
        while pending:
            node = pending.pop()
            if isinstance(node, Quantity):
                total += lengths[node]
            elif node.args:
                total += max(1, len(node.args) - 1)
                pending += node.args
        return total

    for quantity in definitions_in([expression]):
        lengths[quantity] = length(quantity.definition)
    return length(expression)
