"""Text to expression by a whitelist, and back.

The language is arithmetic as Python writes it: numbers, names, ``+ - * / **``, parentheses and a
few functions. Text goes through a scanner and an operator-precedence machine of our own; no part of
it ever reaches an interpreter.

======================
================================================================================== numbers
``2`` and ``1/2`` are exact, ``0.5`` and ``1e-3`` are floating constant                ``pi``
functions               ``sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log
sqrt``
                        ``Abs sign Min Max`` (also ``abs min max``)
cases                   ``where(x > 0, a, b)``; comparisons ``< <= > >= == !=``, one in each
``where``
======================
==================================================================================

Every size is bounded, so that hostile text ends in an `ExpressionError` and in little time. A
constant nested in another, such as ``sin(sqrt(2))``, becomes a floating number at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy

from ...errors import DalembertError, ExpressionError, nearest
from ..names import shortened
from ..symbols import Acceleration, Multiplier
from .expression_rules import (
    CONSTANTS,
    FUNCTIONS,
    apply_function,
    cases,
    check_result,
    evaluate,
    power,
    product,
    total,
)
from .expression_scanner import COMPARISONS, RELATIONS, Token, fault_at, number, scan
from .expression_text import format

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Relation", "evaluate", "format", "parse", "parse_relation"]

DEEPEST_NESTING = 100
DEEPEST_CALLS = 40
#: Terms and factors that may stand in parentheses, counted again in each parenthesis around them.
MOST_ENCLOSED = 100_000
MINUS_ONE = sympy.Integer(-1)


class Relation(NamedTuple):
    """A statement about an expression: it vanishes ("equality"), or is not positive ("at most")."""

    kind: str
    expression: sympy.Expr


def parse(text: str, symbols: Mapping[str, sympy.Expr]) -> sympy.Expr:
    """The expression that `text` states in the symbols of `symbols`.

    A declared symbol wins over a constant or a function of the same name, except where it is
    called.

    Raises
    ------
    ExpressionError
        For anything that is not in the language, with the place and the nearest known name.

    Examples
    --------
    >>> x, m = sympy.symbols("x m", real=True)
    >>> parse("m*x**2/2", {"x": x, "m": m})
    m*x**2/2
    >>> parse("lambda + 1", {"lambda": x})
    x + 1
    >>> parse("2*y", {"x": x})
    Traceback (most recent call last):
    ...
    dalembert.errors.ExpressionError: The name `y` is not known (seen: '2*y' at character 3): use
    one of pi, x.
    """
    return _guarded(text, symbols, relates=False).left


def parse_relation(text: str, symbols: Mapping[str, sympy.Symbol]) -> Relation:
    """The relation that `text` states; a bare expression is one that vanishes.

    >>> x, y = sympy.symbols("x y", real=True)
    >>> parse_relation("x = y", {"x": x, "y": y})
    Relation(kind='equality', expression=x - y)
    >>> parse_relation("y >= 0", {"x": x, "y": y})
    Relation(kind='at most', expression=-y)
    """
    left, operator, right = _guarded(text, symbols, relates=True)
    if operator in (">=", ">"):
        left, right = right, left
    kind = "equality" if operator in ("", "=", "==") else "at most"
    return Relation(kind, left if right == 0 else total([left, product([MINUS_ONE, right])]))


class _Comparison(NamedTuple):
    left: sympy.Expr
    operator: str
    right: sympy.Expr


def _guarded(text: str, symbols: Mapping[str, sympy.Symbol], relates: bool) -> _Comparison:
    """What the machine reads, with SymPy's own failures as errors of ours."""
    try:
        outcome = _Machine(text, symbols, relates).run()
        check_result(outcome.left, text)
        check_result(outcome.right, text)
    except DalembertError:
        raise
    except (RecursionError, MemoryError) as error:
        raise ExpressionError(
            "An expression is too large to be read",
            seen=shortened(text),
            remedy="split it into parts",
        ) from error
    except (TypeError, ValueError, ArithmeticError, AttributeError, NotImplementedError) as error:
        raise ExpressionError(
            "An expression cannot be evaluated",
            seen=shortened(text),
            remedy="keep to the domain of its functions",
        ) from error
    return outcome


@dataclass
class _Group:
    """What stands between two parentheses, while it is read: a sum of products of powers.

    `chain` holds the base and the exponents of the power being read, each with its own sign, to be
    taken from the right: ``-a**-b**c`` is ``-(a**(-(b**c)))``.
    """

    function: str = ""
    position: int = 0
    arguments: list[Any] = field(default_factory=list)
    compared: tuple[sympy.Expr, str] | None = None
    terms: list[sympy.Expr] = field(default_factory=list)
    factors: list[sympy.Expr] = field(default_factory=list)
    chain: list[tuple[bool, sympy.Expr]] = field(default_factory=list)
    negative: bool = False
    divides: bool = False

    def accept(self, value: sympy.Expr) -> None:
        self.chain.append((self.negative, value))
        self.negative = False

    def end_factor(self) -> None:
        negative, value = self.chain.pop()
        while self.chain:
            exponent = product([MINUS_ONE, value]) if negative else value
            negative, base = self.chain.pop()
            value = power(base, exponent)
        if self.divides:
            value = power(value, MINUS_ONE)
        self.divides = False
        self.factors += [MINUS_ONE, value] if negative else [value]

    def end_term(self) -> None:
        self.end_factor()
        self.terms.append(product(self.factors))
        self.factors = []

    def end_sum(self) -> sympy.Expr:
        self.end_term()
        terms, self.terms = self.terms, []
        return total(terms)

    def end_argument(self) -> None:
        value = self.end_sum()
        if self.compared is None:
            self.arguments.append(value)
        else:
            self.arguments.append(_Comparison(*self.compared, value))
            self.compared = None


class _Machine:
    """Reads tokens from left to right with a stack of open groups, without recursion."""

    def __init__(self, text: str, symbols: Mapping[str, sympy.Symbol], relates: bool) -> None:
        self.text, self.symbols, self.relates = text, symbols, relates
        self.tokens = scan(text)
        self.stack = [_Group()]
        self.calls = self.enclosed = 0
        self.wants_operand = True

    def run(self) -> _Comparison:
        index = 0
        while self.tokens[index].kind != "end":
            token, follower = self.tokens[index], self.tokens[index + 1]
            if not self.wants_operand:
                self._operator(token)
            elif token.kind == "name" and follower.text == "(":
                self._open_call(token)
                index += 1
            else:
                self._operand(token)
            index += 1
        end = self.tokens[-1]
        if self.wants_operand:
            raise self._fault("The expression ends too early", end, "complete it")
        if len(self.stack) > 1:
            raise self._fault(
                "A parenthesis is not closed",
                end._replace(position=self.stack[-1].position),
                "close it",
            )
        group = self.stack[0]
        group.end_argument()
        outcome = group.arguments[0]
        return (
            outcome
            if isinstance(outcome, _Comparison)
            else _Comparison(outcome, "", sympy.Integer(0))
        )

    def _fault(self, what: str, token: Token, remedy: str) -> ExpressionError:
        return fault_at(what, self.text, token.position, remedy)

    # -- where a value is expected -----------------------------------------------------------------

    def _operand(self, token: Token) -> None:
        group = self.stack[-1]
        if token.text == "-":
            group.negative = not group.negative
        elif token.text == "(":
            self._open(_Group(position=token.position), token)
        elif token.kind == "number":
            self._accept(number(token, self.text))
        elif token.kind == "name":
            self._accept(self._symbol(token))
        elif token.text != "+":
            raise self._fault(
                f"A value is missing before `{token.text}`", token, "write a number or a name"
            )

    def _accept(self, value: sympy.Expr) -> None:
        self.stack[-1].accept(value)
        self.wants_operand = False

    def _symbol(self, token: Token) -> sympy.Expr:
        name = token.text
        if name in self.symbols:
            return self.symbols[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS:
            raise self._fault(f"The function `{name}` has no argument", token, f"write {name}(...)")
        raise self._fault(
            f"The name `{name}` is not known",
            token,
            _suggestion(name, [*self._usable(), *CONSTANTS]),
        )

    def _usable(self) -> list[str]:
        """Names worth suggesting; accelerations and multipliers are known only to be refused."""
        return [
            name
            for name, s in self.symbols.items()
            if not isinstance(s, (Acceleration, Multiplier))
        ]

    def _open_call(self, token: Token) -> None:
        if token.text not in FUNCTIONS:
            if token.text in self.symbols or token.text in CONSTANTS:
                raise self._fault(
                    f"`{token.text}` is not a function",
                    token,
                    f"write {token.text}*(...) for a product",
                )
            raise self._fault(
                f"There is no function `{token.text}`", token, _suggestion(token.text, FUNCTIONS)
            )
        self.calls += 1
        self._open(_Group(token.text, token.position), token)

    def _open(self, group: _Group, token: Token) -> None:
        if len(self.stack) > DEEPEST_NESTING or self.calls > DEEPEST_CALLS:
            limit = f"{DEEPEST_NESTING} parentheses or {DEEPEST_CALLS} functions"
            raise self._fault(
                f"An expression is nested deeper than {limit}", token, "write it flatter"
            )
        self.stack.append(group)

    # -- where an operator is expected -------------------------------------------------------------

    def _operator(self, token: Token) -> None:
        group = self.stack[-1]
        self.wants_operand = True
        if token.kind != "operator" or token.text == "(":
            what = f"An operator is missing before {shortened(token.text, 20)}"
            raise self._fault(what, token, "write * for a product")
        match token.text:
            case "+" | "-":
                group.end_term()
                group.factors = [MINUS_ONE] if token.text == "-" else []
            case "*" | "/":
                group.end_factor()
                group.divides = token.text == "/"
            case "**":
                if len(group.chain) > DEEPEST_CALLS:
                    raise self._fault(
                        f"More than {DEEPEST_CALLS} powers stand in a row",
                        token,
                        "write it flatter",
                    )
            case ")":
                self._close(token)
            case ",":
                if not group.function:
                    raise self._fault(
                        "A comma stands outside a function",
                        token,
                        "write a decimal point, as in 0.5",
                    )
                group.end_argument()
            case _:
                self._compare(token)

    def _compare(self, token: Token) -> None:
        group = self.stack[-1]
        at_top = len(self.stack) == 1
        in_where = group.function == "where" and not group.arguments
        if not (at_top and self.relates and token.text in RELATIONS) and not (
            in_where and token.text in COMPARISONS
        ):
            raise self._fault(
                f"The sign `{token.text}` has no place here",
                token,
                "compare inside where(condition, value, other)",
            )
        if group.compared is not None:
            raise self._fault("Two comparisons stand in a row", token, "state one at a time")
        group.compared = (group.end_sum(), token.text)

    def _close(self, token: Token) -> None:
        if len(self.stack) == 1:
            raise self._fault("A parenthesis was never opened", token, "remove it")
        group = self.stack.pop()
        group.end_argument()
        self.enclosed += sum(
            len(value.args) for value in group.arguments if isinstance(value, sympy.Basic)
        )
        if self.enclosed > MOST_ENCLOSED:
            raise self._fault("Long sums stand in too many parentheses", token, "write it flatter")
        if not group.function:
            self._accept(group.arguments[0])
            return
        self.calls -= 1
        least, most = FUNCTIONS[group.function][1:]
        if not least <= len(group.arguments) <= most:
            wanted = {1: "one argument", 2: "two arguments", 3: "three arguments"}.get(
                most, f"at most {most} arguments"
            )
            opened = token._replace(position=group.position)
            what = f"The function `{group.function}` takes {wanted}, not {len(group.arguments)}"
            raise self._fault(what, opened, "give it these")
        self._accept(self._value(group))

    def _value(self, group: _Group) -> sympy.Expr:
        if group.function != "where":
            return apply_function(group.function, group.arguments)
        test, then, otherwise = group.arguments
        if not isinstance(test, _Comparison):
            raise fault_at(
                "where(...) needs a comparison first",
                self.text,
                group.position,
                "write where(x > 0, value, other)",
            )
        return cases(*test, then, otherwise)


def _suggestion(name: str, known: Iterable[str]) -> str:
    match = nearest(name, known)
    if match is not None:
        return f"the nearest known name is `{match}`"
    names = sorted(known)
    listing = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return f"use one of {listing}" if names else "declare it"
