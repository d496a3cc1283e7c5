"""Printed equations as numbers, names put back, against the blocks of the graph."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.algebra.graph import GraphAlgebra
from dalembert.model.io.expressions import parse
from dalembert.presentation.equation_printer import Line, Written


def read_text(equations: da.Equations, text: str | None = None) -> Written:
    """What the text of equations says: lines that are affine in the unknowns, and definitions.

    A definition may use names that are defined before it or, in short lists, after it.
    """
    lines, _, definitions = _without_cot(text or equations.text()).partition("\nwith\n")
    pairs = [line.strip().split(" = ") for line in definitions.splitlines()]
    names = dict(pairs)
    known = _symbols(equations) | {name: sympy.Symbol(name, real=True) for name in names}
    for name, meaning in names.items():
        if meaning.endswith("**(-1)"):
            places = [f"_{i}{j}" for i in range(1, 10) for j in range(i, 10)]
            entries = [name + place for place in places]
            known |= {entry: sympy.Symbol(entry, real=True) for entry in entries}
    unknowns = [
        known[name]
        for name in (
            *(symbol.name for symbol in equations.unknowns),
            *multipliers_of(equations.blocks(GraphAlgebra())),
        )
    ]
    read = []
    for line in lines.splitlines():
        left, right = (parse(side, known) for side in line.split(" = "))
        read.append(_line(left, right, unknowns, left if left.is_Symbol else None))
    return Written(
        tuple(read), tuple(_definition(name, meaning, known) for name, meaning in names.items())
    )


def multipliers_of(blocks: Any) -> list[str]:
    """The names of the multipliers; those of a form may be rates of its own."""
    column = blocks.multipliers
    return [str(column[k]) for k in range(column.numel())]


def _without_cot(text: str) -> str:
    """The text in functions of the model language, which has no cotangent."""
    while (place := text.find("cot(")) >= 0:
        depth, end = 1, place + 4
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = f"{text[:place]}(1/tan({text[place + 4 : end]}){text[end:]}"
    return text


def _symbols(equations: da.Equations) -> dict[str, sympy.Symbol]:
    system = equations.system
    moving = [s for q in system.coordinates for s in (q, q.dot)]
    found = [da.t, *moving, *equations.state, *equations.unknowns, *system.parameters]
    found += [*system.inputs, *(sympy.Symbol(f"{s.name}_dot", real=True) for s in equations.state)]
    known = {symbol.name: symbol for symbol in found}
    rows = multipliers_of(equations.blocks(GraphAlgebra()))
    return {name: sympy.Symbol(name, real=True) for name in rows} | known


def _line(
    left: sympy.Expr, right: sympy.Expr, unknowns: list[sympy.Symbol], rate: sympy.Symbol | None
) -> Line:
    if rate is not None and rate not in unknowns:
        return Line(((sympy.S.One, rate),), ((right, None),))
    sides = []
    for side in (left, right):
        terms = [(sympy.diff(side, symbol), symbol) for symbol in unknowns if side.has(symbol)]
        rest = side.xreplace(dict.fromkeys(unknowns, sympy.S.Zero))
        sides.append((*terms, (rest, None)))
    return Line(*sides)


def _definition(
    name: str, meaning: str, known: dict[str, sympy.Symbol]
) -> tuple[sympy.Expr, sympy.Expr]:
    if meaning.endswith("**(-1)"):
        base = meaning[:-6]
        n = max(int(other[-1]) for other in known if other[:-2] == f"{base}_")
        return sympy.MatrixSymbol(name, n, n), sympy.MatrixSymbol(base, n, n) ** -1
    return known[name], parse(meaning, known)


class Numbers:
    """A set of equations at one random state, with random unknowns, multipliers left open."""

    def __init__(self, equations: da.Equations, parameters: dict[str, float], seed: int) -> None:
        random, system = np.random.default_rng(seed), equations.system
        algebra = GraphAlgebra()
        blocks = equations.blocks(algebra)
        free = [symbol for symbol, value in system.inputs.items() if value is None]
        symbols = [da.t, *equations.state, *system.parameters, *free]
        point = [
            parameters.get(symbol.name, value)
            for symbol, value in zip(symbols, random.uniform(0.3, 1.1, len(symbols)), strict=True)
        ]
        self.values = {symbol.name: value for symbol, value in zip(symbols, point, strict=True)}
        self.unknowns = [symbol.name for symbol in equations.unknowns]
        self.multipliers = multipliers_of(blocks)
        wanted = {
            name: getattr(blocks, name)
            for name in ("metric", "force", "rows", "right", "velocities", "free", "dual_rows")
        }
        wanted["rates"] = ca.substitute(
            blocks.rates, blocks.unknowns, ca.DM(np.full(blocks.unknowns.numel(), np.nan))
        )
        given = {name: block for name, block in wanted.items() if block is not None}
        inputs = [algebra.vector(symbols), blocks.multipliers]
        function = ca.Function("blocks", inputs, [ca.densify(block) for block in given.values()])
        self.trial = random.uniform(0.3, 1.1, len(self.multipliers))
        found = function.call([ca.DM(point), ca.DM(self.trial)])
        self.blocks = dict(
            zip(given, (np.asarray(item, dtype=float) for item in found), strict=True)
        )
        rates = self.blocks["rates"][:, 0]
        self.rates = {
            f"{symbol.name}_dot": rate for symbol, rate in zip(equations.state, rates, strict=True)
        }
        for coordinate, velocity in zip(
            system.coordinates, self.blocks["velocities"][:, 0], strict=True
        ):
            self.values.setdefault(coordinate.dot.name, velocity)

    def read(self, written: Written) -> Any:
        """A function that gives numbers for expressions with names in them."""
        meanings = {
            name: meaning for name, meaning in written.names if isinstance(name, sympy.Symbol)
        }
        known = dict(self.values)

        def value(expression: sympy.Expr) -> float:
            symbols = sorted(expression.free_symbols, key=str)
            for symbol in symbols:
                if symbol.name not in known:
                    known[symbol.name] = value(meanings[symbol])
            function = sympy.lambdify(symbols, expression, modules="numpy")
            return float(function(*(known[symbol.name] for symbol in symbols)))

        for left, right in written.names:
            if isinstance(left, sympy.MatrixSymbol):
                assert (
                    isinstance(right, sympy.MatPow | sympy.Inverse)
                    or right.func.__name__ == "Inverse"
                )
                self._read_inverse(left, right.args[0], meanings, known, value)
        return value

    @staticmethod
    def _read_inverse(
        left: Any, base: Any, meanings: Any, known: dict[str, float], value: Any
    ) -> None:
        n = left.shape[0]
        places = [(i, j, f"_{i + 1}{j + 1}") for i in range(n) for j in range(i, n)]
        matrix = np.zeros((n, n))
        for i, j, place in places:
            symbol = next((s for s in meanings if s.name == f"{base.name}{place}"), None)
            matrix[i, j] = matrix[j, i] = 0.0 if symbol is None else value(meanings[symbol])
        inverse = np.linalg.inv(matrix)
        known |= {f"{left.name}{place}": inverse[i, j] for i, j, place in places}


def affine(numbers: Numbers, line: Any, value: Any) -> np.ndarray:
    """left - right as coefficients of unknowns, multipliers and one."""
    names = [*numbers.unknowns, *numbers.multipliers]
    row = np.zeros(len(names) + 1)
    for sign, side in ((1, line.left), (-1, line.right)):
        for coefficient, symbol in side:
            assert symbol is not None or not {s.name for s in coefficient.free_symbols} & set(names)
            row[-1 if symbol is None else names.index(symbol.name)] += sign * value(coefficient)
    return row


def same_rows(found: np.ndarray, expected: np.ndarray) -> float:
    """How far two sets of equations are from having the same solutions: the angle between their
    spans.
    """
    assert found.shape == expected.shape
    spans = []
    for rows in (found, expected):
        scaled = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
        _left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
        spans.append(right[: np.sum(sizes > 1e-9)])
    assert len(spans[0]) == len(spans[1])
    outside = spans[0] - spans[0] @ spans[1].T @ spans[1]
    return float(np.max(np.abs(outside), initial=0.0))


def compared(
    equations: da.Equations, written: Written, parameters: dict[str, float], seed: int = 5
) -> None:
    """Kinematic lines are the rates, the other lines have the solutions of the blocks."""
    numbers = Numbers(equations, parameters, seed)
    value, blocks = numbers.read(written), numbers.blocks
    n, m = len(numbers.unknowns), len(numbers.multipliers)
    kinematics, rest = (
        written.lines[: len(written.lines) - n - m],
        written.lines[len(written.lines) - n - m :],
    )
    trial = dict(zip(numbers.multipliers, numbers.trial, strict=True))
    for line in kinematics:
        ((one, name),), ((rate, none),) = line.left, line.right
        assert one == 1 and none is None
        expected = numbers.rates[name.name]
        numbers.values |= trial
        numbers_value = numbers.read(written)
        assert numbers_value(rate) == pytest.approx(expected, rel=1e-9, abs=1e-10), name
    dynamics = np.array([affine(numbers, line, value) for line in rest[:n]])
    if "free" in blocks and "dual_rows" in blocks:
        expected = np.hstack([np.eye(n), -blocks["dual_rows"].reshape(n, m), -blocks["free"]])
    else:
        expected = np.hstack([blocks["metric"], -blocks["rows"].reshape(m, n).T, -blocks["force"]])
    assert same_rows(dynamics, expected) < 1e-10
    if m:
        bound = np.array([affine(numbers, line, value) for line in rest[n:]])
        expected = np.hstack([blocks["rows"].reshape(m, n), np.zeros((m, m)), -blocks["right"]])
        assert same_rows(bound, expected) < 1e-10
