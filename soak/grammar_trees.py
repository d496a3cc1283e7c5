"""Expressions grown from a grammar, and systems made of them, without any module of the library.

A tree has two readings: text, which the library parses, and a SymPy expression with exact numbers,
which the oracle differentiates. Numbers come from wide distributions: integers, fractions, and
decimals from 1e-12 to 1e12. The grammar has branches (where, Max, Min, abs), poles, plateaus (tanh,
atan, exp of a negative square) and roots.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Any

import mpmath
import sympy

__all__ = ["DIGITS", "Statement", "Tree", "grown", "number", "statement", "symbol"]

DIGITS = 40
#: Names that SymPy or Python keep for themselves, among plain ones.
NAMES = ("x", "y", "lambda", "I", "beta", "E", "S", "theta", "Q2", "N", "gamma", "is_1", "α")


@dataclass(frozen=True)
class Tree:
    """A function of trees, a number (its text) or a symbol (its name)."""

    head: str
    parts: tuple[Tree, ...] = ()
    word: str = ""

    @property
    def text(self) -> str:
        """As a model file writes it."""
        inner = [part.text for part in self.parts]
        if self.head in ("number", "symbol"):
            return f"({self.word})" if self.word.startswith("-") or "/" in self.word else self.word
        if self.head in ("+", "*", "/", "-"):
            return "(" + f" {self.head} ".join(inner) + ")"
        if self.head == "**":
            return f"({inner[0]})**{inner[1]}"
        if self.head == "where":
            return f"where({inner[0]} < {inner[1]}, {inner[2]}, {inner[3]})"
        return f"{self.head}({', '.join(inner)})"

    def expression(self, symbols: dict[str, Any]) -> Any:
        """As SymPy writes it, with exact numbers."""
        if self.head == "symbol":
            return symbols[self.word]
        if self.head == "number":
            return sympy.Rational(Fraction(self.word))
        parts = [part.expression(symbols) for part in self.parts]
        if self.head in _OPERATIONS:
            return _OPERATIONS[self.head](*parts)
        return getattr(sympy, {"abs": "Abs"}.get(self.head, self.head))(*parts)

    def put(self, places: dict[str, Tree]) -> Tree:
        """The tree with symbols replaced."""
        if self.head == "symbol":
            return places.get(self.word, self)
        return replace(self, parts=tuple(part.put(places) for part in self.parts))

    @property
    def names(self) -> set[str]:
        """Symbols that stand in it."""
        own = {self.word} if self.head == "symbol" else set()
        return own.union(*(part.names for part in self.parts))


_OPERATIONS = {
    "+": lambda *a: sympy.Add(*a),
    "*": lambda *a: sympy.Mul(*a),
    "-": lambda a, b: a - b,
    "/": lambda a, b: a / b,
    "**": lambda a, b: a**b,
    "where": lambda a, b, c, d: sympy.Piecewise((c, a < b), (d, True)),
}


def number(value: Any) -> Tree:
    """A number as a tree; a float in all of its digits."""
    return Tree("number", word=repr(value) if isinstance(value, float) else str(value))


def symbol(name: str) -> Tree:
    """A symbol as a tree."""
    return Tree("symbol", word=name)


#: What a tree may begin with; the common operations stand twice.
BINARY = ("+", "+", "*", "*", "-", "/", "Max", "Min")
UNARY = ("sin", "cos", "tanh", "atan", "abs")
MADE = ("square", "power", "bell", "root", "log", "pole", "cubic", "scaled", "plateau")
HEADS = (*BINARY, *UNARY, *MADE, "where")


def drawn_number(chance: Random) -> Tree:
    """An integer, a fraction, a short decimal, or a decimal of any size."""
    kind = chance.random()
    if kind < 0.4:
        return number(chance.choice((1, 2, 3, 5, 7, -1, -2)))
    if kind < 0.55:
        return number(f"{chance.randint(1, 9)}/{chance.randint(2, 9)}")
    if kind < 0.85:
        return number(round(chance.uniform(0.1, 4.0), 3))
    return number(float(f"{10 ** chance.uniform(-12, 12):.6e}"))


def grown(chance: Random, names: tuple[str, ...], depth: int) -> Tree:
    """An expression in some symbols."""
    if depth <= 0 or chance.random() < 0.12:
        return symbol(chance.choice(names)) if chance.random() < 0.75 else drawn_number(chance)

    def part(less: int = 1) -> Tree:
        return grown(chance, names, depth - less)

    head = chance.choice(HEADS)
    one = number(1)
    if head in BINARY:
        return Tree(head, (part(), part()))
    if head in UNARY:
        return Tree(head, (part(),))
    if head == "where":
        # The language has no where(...) inside a comparison.
        return Tree(head, (symbol(chance.choice(names)), drawn_number(chance), part(), part()))
    inner = part()
    square = Tree("**", (inner, number(2)))
    return {
        "square": lambda: square,
        "cubic": lambda: Tree("**", (inner, number(3))),
        "power": lambda: Tree("**", (Tree("+", (one, square)), number(chance.choice((-1, -2, 3))))),
        "bell": lambda: Tree("exp", (Tree("*", (number(-1), square)),)),
        "root": lambda: Tree("sqrt", (Tree("+", (drawn_number(chance), square)),)),
        "log": lambda: Tree("log", (Tree("+", (one, square)),)),
        "pole": lambda: Tree("/", (one, Tree("-", (inner, drawn_number(chance))))),
        "scaled": lambda: Tree("*", (drawn_number(chance), inner)),
        "plateau": lambda: Tree("tanh", (Tree("*", (number(200), inner)),)),
    }[head]()


@dataclass(frozen=True)
class Statement:
    """A system as trees, and a state: names of the coordinates, kinetic energy, potential, forces,
    constraints (`position` or `velocity`) and the values of t, coordinates and velocities.
    """

    names: tuple[str, ...]
    kinetic: Tree
    potential: Tree
    forces: tuple[Tree, ...]
    constraints: tuple[tuple[str, Tree], ...]
    time: float
    q: tuple[float, ...]
    v: tuple[float, ...]

    def toml(self, stated: str = "parts") -> str:
        """The model file, its energies as `parts` or as one `lagrangian`."""
        lines = [f"coordinates = {list(self.names)}".replace("'", '"')]
        if stated == "parts":
            lines += [f'kinetic = "{self.kinetic.text}"', f'potential = "{self.potential.text}"']
        else:
            lines.append(f'lagrangian = "{self.kinetic.text} - {self.potential.text}"')
        rows = [f'{{expression = "{tree.text} = 0"}}' for _, tree in self.constraints]
        lines.append(f"constraints = [{', '.join(rows)}]")
        lines.append("[forces]")
        pairs = zip(self.names, self.forces, strict=True)
        lines += [f'"{name}" = "{tree.text}"' for name, tree in pairs]
        return "\n".join(lines) + "\n"

    def symbols(self) -> dict[str, Any]:
        """Plain SymPy symbols by their names in the text."""
        names = ["t", *self.names, *(f"{name}_dot" for name in self.names)]
        return {name: sympy.Symbol(name, real=True) for name in names}

    def values(self) -> dict[str, float]:
        """The state by name."""
        speeds = [f"{name}_dot" for name in self.names]
        pairs = zip((*self.names, *speeds), (*self.q, *self.v), strict=True)
        return {"t": self.time, **dict(pairs)}


def statement(seed: int) -> Statement:
    """A random system; its constraints hold at its state to rounding."""
    chance = Random(seed)
    n = chance.choice((1, 2, 2, 3, 3, 4))
    names = tuple(chance.sample(NAMES, n))
    speeds = tuple(f"{name}_dot" for name in names)
    reach = 10 ** chance.uniform(-3, 3) if chance.random() < 0.3 else 1.0
    q = tuple(round(reach * chance.uniform(-2, 2), 6) for _ in names)
    v = tuple(round(chance.uniform(-2, 2), 6) for _ in names)
    time = round(chance.choice((0.0, 1.0, 100.0)) * chance.uniform(0, 3), 6)
    squares = []
    for name in names:
        terms = [symbol(f"{name}_dot")]
        if chance.random() < 0.6:
            other = symbol(chance.choice(speeds))
            terms.append(Tree("*", (grown(chance, names, 2), other)))
        row = Tree("+", tuple(terms)) if len(terms) > 1 else terms[0]
        mass = number(float(f"{10 ** chance.uniform(-2, 2):.4e}"))
        squares.append(Tree("*", (mass, Tree("**", (row, number(2))))))
    if chance.random() < 0.3:
        squares.append(Tree("*", (grown(chance, (*names, "t"), 2), symbol(chance.choice(speeds)))))
    found = Statement(
        names,
        Tree("+", tuple(squares)) if len(squares) > 1 else squares[0],
        grown(chance, names if chance.random() < 0.7 else (*names, "t"), 4),
        tuple(
            grown(chance, (*names, *speeds, "t"), 3) if chance.random() < 0.4 else number(0)
            for _ in names
        ),
        (),
        time,
        q,
        v,
    )
    rows = []
    for _ in range(chance.randint(0, n - 1)):
        kind = chance.choice(("position", "velocity"))
        if kind == "position":
            tree = Tree(
                "+",
                (
                    grown(chance, names, 3),
                    *(Tree("*", (drawn_number(chance), symbol(x))) for x in names),
                ),
            )
        else:
            terms = [Tree("*", (grown(chance, names, 2), symbol(s))) for s in speeds]
            tree = Tree("+", (*terms, grown(chance, names, 2)))
        rows.append((kind, tree))
    return _held(replace(found, constraints=tuple(rows)))


def _held(found: Statement) -> Statement:
    """The statement with the value of each constraint at the state subtracted, and velocities that
    fulfil the differentiated position constraints.
    """
    symbols, values = found.symbols(), found.values()
    point = {symbols[name]: sympy.Rational(Fraction(value)) for name, value in values.items()}
    rows = []
    with mpmath.workdps(DIGITS):
        for kind, tree in found.constraints:
            own = tree.expression(symbols)
            if kind == "position":
                # a function of time makes up for the velocity: f(q) - f(q0) - rate (t - t0)
                rate = sum(own.diff(symbols[name]) * symbols[f"{name}_dot"] for name in found.names)
                moved = Tree(
                    "*",
                    (
                        number(float(rate.subs(point).evalf(30))),
                        Tree("-", (symbol("t"), number(found.time))),
                    ),
                )
                tree = Tree("-", (tree, moved))
            rows.append((kind, Tree("-", (tree, number(float(own.subs(point).evalf(30)))))))
    return replace(found, constraints=tuple(rows))
