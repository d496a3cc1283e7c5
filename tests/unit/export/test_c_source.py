"""The C translation: of native functions, and of every operation that a program may hold."""

from __future__ import annotations

import ctypes
import math
import re
from pathlib import Path

import numpy as np
import pytest
import sympy

import dalembert as da
from c_library import CLibrary, needs_compiler, shared_library
from dalembert.codegen.backends import c_programs
from dalembert.codegen.native.c_language import c_functions
from dalembert.codegen.native.c_text import ContextInC, c_structure
from dalembert.codegen.native.language import Integers, Reals, Record, native
from dalembert.codegen.native.native_module import NativeModule
from dalembert.codegen.program import Instruction, Program
from dalembert.runtime.gauss.gauss_problem import gauss_solve


@pytest.mark.long
@needs_compiler
def test_every_kind_of_function_and_condition(tmp_path: Path) -> None:
    x, y = da.coordinates("x y")
    k = da.parameters("k")
    force = (
        sympy.Abs(x) + sympy.Min(x, y) * sympy.Max(x, k) + sympy.atan2(y, x) + sympy.sqrt(2 + x) +
        sympy.sign(y) + sympy.Piecewise((sympy.exp(x), x < y), (sympy.tanh(y), True)) + (2 + x) ** k
        + sympy.asin(x / 9)
    )  # fmt: skip
    conditions = sympy.Piecewise(
        (x**2, sympy.And(x > 0, x < 1)), (3 * x, sympy.Or(x < -1, x > 2)), (7, True)
    )
    system = da.System(
        coordinates=[x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        forces={x: force, y: conditions},
        name="functions",
    )
    equations = da.derive(system)
    kernel, library = (
        equations.compile(),
        CLibrary(equations.to_c(parameters={k: 1.7}), tmp_path, "-O0"),
    )
    for state in ([0.3, -0.7, 0.1, 0.2], [-0.4, 0.9, 1.0, -2.0]):
        status, found = library.rates(0.5, state)
        assert status == 0
        np.testing.assert_allclose(found, kernel.rates(0.5, state, [1.7]), rtol=1e-14)
    pieces = [
        library.rates(0.0, [place, 0.1, 0.0, 0.0])[1][3]
        for place in (-1.5, -1.0, 0.0, 0.5, 1.0, 3.0)
    ]
    assert pieces == [-4.5, 7.0, 7.0, 0.25, 7.0, 9.0]


@native
def every_statement(n: int, values: Reals, order: Integers, flag: bool) -> float:
    """Something of everything."""
    total, count = 0.0, 0
    for k in range(n - 1, -1, -1):
        if values[k] < 0.0 and not flag:
            continue
        elif k > 40 or values[k] == 7.0:
            break
        values[k], order[k] = values[k] ** 2, k
        total += values[k] if flag else -values[k]
    while count < min(n, 3):
        count += 1
        total, count = total / count, count + 0
    total *= TABLE[n % 2, n // 2 - 1] * abs(total) ** -0.5
    return max(total, float(count)) if n < 0 else abs(total)


TABLE = np.array([[1.5, 2.5], [0.5, -3.25]])


@needs_compiler
def test_the_translation_to_c_follows_the_native_one(tmp_path: Path) -> None:
    text = "#include <math.h>\n" + c_functions([every_statement]).replace(
        "static double every", "double every"
    )
    text = text.replace(
        "double every_statement(",
        "double every_statement(long, double *, long *, int);\ndouble every_statement(",
        1,
    )
    function = shared_library(text, tmp_path, "statements").every_statement
    function.restype = ctypes.c_double
    ours = NativeModule([every_statement]).functions["every_statement"]
    for flag in (False, True):
        first, second = np.array([1.5, -2.0, 3.0, 7.0, 0.5]), np.array([1.5, -2.0, 3.0, 7.0, 0.5])
        order = np.zeros(5, np.int64)
        pointers = ctypes.c_void_p(second.ctypes.data), ctypes.c_void_p(order.ctypes.data)
        assert function(5, *pointers, flag) == ours(5, first, np.zeros(5, np.int64), flag)
        np.testing.assert_array_equal(first, second)


class Ticks(Record):
    seen: int
    last: float


class Box(Record):
    size: int
    option: int
    values: Reals
    ticks: Ticks


@native
def costly(n: int) -> float:
    """Nothing that is called where the option is off."""
    return float(n)


@native
def reads_a_context(context: Box) -> float:
    """The sum of some values, and more where an option is on."""
    values, more, total = context.values, context.size, 0.0
    for k in range(context.size):
        total += values[k]
    if context.option != 0 and context.size > 1:
        return total + costly(more)
    return total


@native
def ticks_once(context: Box) -> float:
    """A record within the context is a structure."""
    ticks = context.ticks
    ticks.seen += 1
    context.ticks.last = ticks.last + context.values[0]
    return ticks.last


def test_what_is_known_beforehand_decides_what_is_written() -> None:
    known: dict[str, int | str] = {"size": 3, "option": 0, "values": "context->values"}
    without = c_functions([reads_a_context], ContextInC("box", known))
    assert (
        "costly" not in without
        and "if (" not in without
        and "k < 3" in without
        and "box *context" in without
    )
    assert "long more" not in without
    with_option = c_functions([reads_a_context], ContextInC("box", known | {"option": 1}))
    assert "return total + costly(more);" in with_option and with_option.count("return total") == 1
    open_option = c_functions(
        [reads_a_context], ContextInC("box", known | {"option": "context->option"})
    )
    assert "if (context->option != 0) {" in open_option.replace(
        "((context->option != 0))", "(context->option != 0)"
    )
    assert open_option.count("return total") == 2


def test_records_within_the_context_are_structures() -> None:
    text = c_functions(
        [ticks_once], ContextInC("box", {"values": "context->values", "ticks": "context->ticks"})
    )
    assert c_structure(Ticks, "ticks") == "struct { long seen; double last; } ticks"
    assert "context->ticks.seen += 1;" in text and "return context->ticks.last;" in text
    assert "context->ticks.last = context->ticks.last + context->values[0];" in text


def test_every_function_is_written_before_it_is_called() -> None:
    text = re.sub(r"/\*.*?\*/", "", c_functions([gauss_solve]), flags=re.DOTALL)
    places = {
        m.group(1): m.start() for m in re.finditer(r"^static \w+ \*?(\w+)\(", text, re.MULTILINE)
    }
    assert len(places) > 10
    for call in re.finditer(r"\b(\w+)\(", text):
        if call.group(1) in places:
            assert places[call.group(1)] <= call.start()


@native
def by_full_name(x: float) -> float:
    """A function by the name of its module."""
    return math.sqrt(x)


def test_functions_may_be_called_by_the_names_of_their_modules() -> None:
    assert "return sqrt(x);" in c_functions([by_full_name])
    assert NativeModule([by_full_name]).functions["by_full_name"](2.0) == math.sqrt(2.0)


@needs_compiler
def test_constants_that_change_in_a_loop_are_read_from_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(c_programs, "SHORT_PROGRAM", 20)
    count = 50
    steps = [Instruction("input", 0, (), (1, 0))]
    for k in range(count):
        steps.append(Instruction("constant", 2 * k + 1, (), 1 / (3.0 + k)))
        steps.append(Instruction("mul", 2 * k + 2, (0, 2 * k + 1)))
    program = Program("table", (1, 1, 0, 0, 0), tuple(steps), tuple(range(2, 2 * count + 2, 2)))
    found = c_programs.c_program(program)
    assert "for (" in found.text and "program_table_constants[" in found.text
    pointers = "const double *x, double *out, double *scratch"
    call = f"void table({pointers})\n{{\n    program_table(x, x, x, x, x, out, scratch);\n}}\n"
    library = shared_library(f"{found.text}\n\nvoid table({pointers});\n{call}", tmp_path, "table")
    x, out, scratch = np.array([0.7]), np.zeros(count), np.zeros(found.scratch + 1)
    library.table(*(ctypes.c_void_p(block.ctypes.data) for block in (x, out, scratch)))
    assert out.tolist() == [0.7 * (1 / (3.0 + k)) for k in range(count)]
