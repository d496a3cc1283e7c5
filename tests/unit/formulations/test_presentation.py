"""What is written is what is computed: lines with their names put back against the kernel's blocks,
in every form.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from core_systems import BASIC_FORMS, equations_of, every_form, parameter_numbers
from dalembert.algebra.graph import GraphAlgebra
from dalembert.errors import ModelError
from dalembert.presentation.equation_printer import Written
from dalembert.presentation.naming import Naming

#: The systems whose forms are all written out in a quick run; the others only in some.
QUICK = (
    "snakeboard",
    "nonholonomic-particle",
    "spherical-pendulum",
    "appell",
)
QUICK_FORMS = BASIC_FORMS
#: Systems whose equations take seconds to write out.
LARGE = (
    "planar-chain",
    "three-planar-bodies",
    "unicycle-rider",
    "rolling-disk",
    "rolling-disk-vakonomic",
)
#: Pairs whose expressions take seconds to write.
HEAVY = {
    ("driven-double-pendulum", "implicit-lagrangian"),
    ("driven-double-pendulum", "voronets"),
    ("snakeboard", "pontryagin"),
    ("snakeboard", "hamel-orthonormal"),
}


def is_quick(name: str, form: str) -> bool:
    return (name, form) not in HEAVY and (
        name in QUICK or (form in QUICK_FORMS and name not in LARGE)
    )


PAIRS = [
    pytest.param(name, form, marks=[] if is_quick(name, form) else [pytest.mark.long])
    for name, form in every_form()
]


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
        self.multipliers = (
            [f"mu_{name}" for name in equations.row_names] if blocks.multipliers.numel() else []
        )
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
    assert same_rows(dynamics, expected) < 1e-8
    if m:
        bound = np.array([affine(numbers, line, value) for line in rest[n:]])
        expected = np.hstack([blocks["rows"].reshape(m, n), np.zeros((m, m)), -blocks["right"]])
        assert same_rows(bound, expected) < 1e-8


@pytest.mark.parametrize(("name", "form"), PAIRS)
def test_what_is_written_is_what_is_computed(name: str, form: str) -> None:
    equations = equations_of(name, form)
    try:
        written = equations.written()
    except ModelError as refusal:
        assert "too large to be written out" in str(refusal)
        return
    compared(equations, written, parameter_numbers(name, equations.system))


def test_the_symbol_of_a_name_says_what_it_depends_on() -> None:
    """Constants, functions of the configuration, of the state, and denominators have symbols of
    their own.
    """
    x, y = da.coordinates("x y")
    m, g, r = da.parameters("m g r", positive=True)
    equations = da.derive(
        da.System([x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=g * r * y)
    )
    constant, place = m * g + r**2 + g**2 * r, m * sympy.sin(x) + r * sympy.cos(y)
    state, below = x.dot * y + m * y.dot * sympy.sin(x), m + r * sympy.sin(x) ** 2 * sympy.cos(y)
    parts = [
        constant * x + state / below,
        constant * y,
        place * x.dot,
        place * y.dot,
        state * r,
        place**2 * g + 1 / below,
    ]
    parts += [constant * place * state / below, 1 / x]
    naming = Naming(equations, [[part] for part in parts])
    names = dict(naming.names())
    assert {meaning: symbol.name for symbol, meaning in names.items()} == {
        constant: "k",
        place: "S",
        state: "W",
        below: "D",
    }
    for part, (line,) in zip(parts, naming.lines(), strict=True):
        assert sympy.expand(line.xreplace(names) - part) == 0
