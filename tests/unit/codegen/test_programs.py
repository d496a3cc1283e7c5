"""Straight-line programs: native code and NumPy against CasADi's own virtual machine, on random
expressions.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.codegen.backends.interpreter import interpret
from dalembert.codegen.backends.llvm import PIECE, native_library
from dalembert.codegen.program import Program, straight_line
from dalembert.codegen.program_builder import ProgramWriter
from dalembert.errors import ModelError

SIZES = (1, 3, 2, 1, 2)
UNARY = [
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "exp",
    "log",
    "log1p",
    "expm1",
    "sqrt",
    "fabs",
    "sign",
    "floor",
    "ceil",
]
BINARY = [
    "plus",
    "minus",
    "times",
    "rdivide",
    "power",
    "atan2",
    "fmin",
    "fmax",
    "lt",
    "le",
    "eq",
    "ne",
    "logic_and",
    "logic_or",
    "hypot",
    "copysign",
    "fmod",
]


def inputs() -> list[Any]:
    return [ca.SX.sym(name, size) for name, size in zip("typuw", SIZES, strict=True)]


def run_native(program: Program, values: list[Any]) -> np.ndarray:
    """Call the compiled program through its address, as the native loops do."""
    library = native_library([program])
    out = np.full(len(program.outputs), 77.0)
    pointer = ctypes.POINTER(ctypes.c_double)
    arrays = [np.ascontiguousarray(v, dtype=float) for v in values]
    call = ctypes.CFUNCTYPE(None, *[pointer] * 6)(library.addresses[program.name])
    call(*(array.ctypes.data_as(pointer) for array in (*arrays, out)))
    return out


def rounding_apart(found: Any, expected: Any, tolerance: float) -> bool:
    found, expected = np.asarray(found).ravel(), np.asarray(expected).ravel()
    same = (np.isnan(found) & np.isnan(expected)) | (found == expected)
    with np.errstate(invalid="ignore"):
        near = np.abs(found - expected) <= tolerance * (1.0 + np.abs(expected))
    return bool(np.all(same | near))


@st.composite
def expressions(draw: Any) -> tuple[list[Any], list[Any]]:
    """A random graph with shared nodes: each step takes earlier nodes."""
    symbols = inputs()
    nodes = [entry for block in symbols for entry in ca.vertsplit(block)] + [
        ca.SX(0.5),
        ca.SX(-2.0),
    ]
    for _ in range(draw(st.integers(3, 25))):
        pick = st.integers(0, len(nodes) - 1)
        if draw(st.booleans()):
            nodes.append(getattr(ca, draw(st.sampled_from(UNARY)))(nodes[draw(pick)]))
        else:
            nodes.append(
                getattr(ca, draw(st.sampled_from(BINARY)))(nodes[draw(pick)], nodes[draw(pick)])
            )
    chosen = [nodes[draw(st.integers(0, len(nodes) - 1))] for _ in range(4)] + [
        nodes[-1],
        ca.SX(0),
        ca.SX(3.5),
    ]
    return symbols, chosen


VALUES = st.lists(st.floats(-2, 2), min_size=sum(SIZES), max_size=sum(SIZES))


@pytest.mark.long
@settings(max_examples=120)
@given(expressions(), VALUES)
def test_numpy_against_casadi(graph: tuple[list[Any], list[Any]], numbers: list[float]) -> None:
    symbols, outputs = graph
    values = np.split(np.array(numbers), np.cumsum(SIZES)[:-1])
    expected = ca.Function("f", symbols, [ca.vertcat(*outputs)])(*values)
    found = interpret(straight_line("f", symbols, outputs), values)
    assert rounding_apart(found, expected, 1e-12)


@pytest.mark.long
@settings(max_examples=40)
@given(expressions(), VALUES)
def test_native_code_against_casadi(
    graph: tuple[list[Any], list[Any]], numbers: list[float]
) -> None:
    """Without the functions that jump, a fused multiplication changes only the last digits."""
    symbols, outputs = graph
    values = np.split(np.array(numbers), np.cumsum(SIZES)[:-1])
    function = ca.Function("f", symbols, [ca.vertcat(*outputs)])
    expected = np.asarray(function(*values)).ravel()
    nudged = [
        np.asarray(function(*[v * (1 + s * 1e-13) for v in values])).ravel() for s in (-1, 1, 3)
    ]
    found = run_native(straight_line("f", symbols, outputs), values)
    steady = np.array(
        [
            rounding_apart([n[k] for n in nudged], [expected[k]] * 3, 1e-9)
            for k in range(len(expected))
        ]
    )
    assert rounding_apart(found[steady], expected[steady], 1e-9)


@pytest.mark.parametrize("name", UNARY)
def test_every_unary_operation(name: str) -> None:
    symbols = inputs()
    program = straight_line("f", symbols, [getattr(ca, name)(symbols[1])])
    function = ca.Function("f", symbols, [getattr(ca, name)(symbols[1])])
    for row in ([-1.5, -0.5, 0.0], [0.25, 1.0, 1.75], [2.5, -2.5, -0.0]):
        values = [[0.0], row, [0.0] * 2, [0.0], [0.0] * 2]
        expected = function(*values)
        assert rounding_apart(run_native(program, values), expected, 4e-15), row
        assert rounding_apart(interpret(program, [np.array(v) for v in values]), expected, 4e-15), (
            row
        )


@pytest.mark.parametrize("name", BINARY)
def test_every_binary_operation(name: str) -> None:
    symbols = inputs()
    node = getattr(ca, name)(symbols[1], ca.vertcat(symbols[2], symbols[3]))
    program, function = straight_line("f", symbols, [node]), ca.Function("f", symbols, [node])
    for left, right in (([1.5, -0.5, 0.0], [0.5, -0.5, 0.0]), ([2.0, -2.0, 3.0], [3.0, 2.0, -1.5])):
        values = [[0.0], left, right[:2], right[2:], [0.0] * 2]
        expected = function(*values)
        assert rounding_apart(run_native(program, values), expected, 4e-15), (left, right)
        assert rounding_apart(interpret(program, [np.array(v) for v in values]), expected, 4e-15), (
            left,
            right,
        )


def test_outputs_that_are_inputs_constants_zeros_or_repeated() -> None:
    symbols = inputs()
    outputs = [
        symbols[1],
        symbols[1][1],
        ca.SX(2, 2),
        ca.SX([3.25]),
        symbols[4],
        symbols[1][0] * 2,
        symbols[1][0] * 2,
    ]
    program = straight_line("f", symbols, outputs)
    values = [[0.0], [1.0, 2.0, 3.0], [0.0] * 2, [0.0], [7.0, 8.0]]
    expected = [1, 2, 3, 2, 0, 0, 0, 0, 3.25, 7, 8, 2, 2]
    assert run_native(program, values).tolist() == expected
    assert interpret(program, [np.array(v) for v in values]).tolist() == expected


def test_places_that_are_skipped_stay_untouched() -> None:
    symbols = inputs()
    program = straight_line("f", symbols, [symbols[1], ca.SX([1.0, 2.0])], skip=(1, 4))
    out = run_native(program, [[0.0], [1.0, 2.0, 3.0], [0.0] * 2, [0.0], [0.0] * 2])
    assert out.tolist() == [1.0, 77.0, 3.0, 1.0, 77.0]


@pytest.mark.long
def test_a_program_that_is_cut_into_pieces() -> None:
    """Longer than the longest single function: values cross from one piece to the next."""
    symbols = inputs()
    x, y, z = ca.vertsplit(symbols[1])
    history = [x, y, z]
    for k in range(5 * PIECE):
        history.append(
            ca.sin(history[-1] * history[-3]) + history[k // 2] * 0.3 + symbols[2][k % 2]
        )
    outputs = [ca.vertcat(*history[::97]), symbols[1], ca.SX(1, 1)]
    program = straight_line("f", symbols, outputs)
    assert program.operation_count > 3 * PIECE
    values = [[0.0], [0.3, -0.4, 0.9], [0.1, -0.2], [0.0], [0.0] * 2]
    expected = ca.Function("f", symbols, [ca.vertcat(*[ca.vec(o) for o in outputs])])(*values)
    assert rounding_apart(run_native(program, values), ca.densify(expected), 1e-12)


def test_numpy_runs_a_batch_at_once() -> None:
    symbols = inputs()
    node = ca.sin(symbols[1]) * symbols[2][0] + symbols[0]
    program = straight_line("f", symbols, [node, ca.SX(1, 1)])
    random = np.random.default_rng(3)
    states, clocks = random.normal(size=(3, 5, 2)), random.normal(size=(1, 5, 1))
    found = interpret(program, [clocks, states, np.array([2.0, 0.0]), np.zeros(1), np.zeros(2)])
    assert found.shape == (4, 5, 2)
    assert np.allclose(found[:3], 2 * np.sin(states) + clocks, atol=1e-15)
    assert not found[3].any()


def test_numpy_does_not_compute_with_whole_numbers() -> None:
    symbols = inputs()
    program = straight_line("f", symbols, [1 / symbols[1]])
    found = interpret(
        program,
        [np.array([0]), np.array([1, 2, 4]), np.array([0, 0]), np.array([0]), np.array([0, 0])],
    )
    assert found.tolist() == [1.0, 0.5, 0.25]


def test_instructions_are_in_single_assignment_form() -> None:
    symbols = inputs()
    x = symbols[1]
    program = straight_line("f", symbols, [ca.sin(x[0] * x[1]) + ca.cos(x[0] * x[1]) * x[2]])
    targets = [step.target for step in program.instructions]
    assert targets == list(range(len(targets)))
    assert all(a < step.target for step in program.instructions for a in step.arguments)
    assert sum(step.operation == "mul" for step in program.instructions) == 2  # x0*x1 is shared


def test_a_value_that_is_written_at_once_for_several_uses_stands_once() -> None:
    """The first value of a program included, which is used twice by its square and is an output as
    well.
    """
    writer = ProgramWriter()
    x = writer.entry(1, 0)
    program = writer.program("square", SIZES, [x * x, x, x])
    assert [step.operation for step in program.instructions] == ["input", "mul"]
    assert program.outputs == (1, 0, 0)
    assert interpret(
        program, [np.zeros(1), np.array([3.0, 0.0, 0.0]), *map(np.zeros, SIZES[2:])]
    ).tolist() == [9.0, 3.0, 3.0]


def test_an_operation_without_code_is_an_error() -> None:
    symbols = inputs()
    with pytest.raises(ModelError, match="cannot be compiled"):
        straight_line("f", symbols, [ca.erf(symbols[1])])


def test_the_native_code_is_exact_about_constants() -> None:
    symbols = inputs()
    numbers = [0.1, 1e-308, 5e-324, -0.0, math.pi, 1e300, math.inf, -math.inf]
    program = straight_line("f", symbols, [ca.SX(numbers)])
    found = run_native(program, [[0.0], [0.0] * 3, [0.0] * 2, [0.0], [0.0] * 2])
    assert found.tolist() == numbers
