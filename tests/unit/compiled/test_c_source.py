"""The C source of every built-in system gives the rates that our native code gives, by straight-line code and by solve."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.compiled.c_language import c_functions
from dalembert.compiled.c_source import c_source
from dalembert.compiled.gauss_problem import gauss_solve
from dalembert.compiled.language import Integers, Reals, native
from dalembert.compiled.native_module import NativeModule

COMPILER = shutil.which("gcc") or shutil.which("cc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler on this machine")
STRICT = ("-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-shared", "-fPIC")


def compiled(text: str, folder: Path, name: str) -> ctypes.CDLL:
    """A shared library from C text; warnings are errors."""
    source, target = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text, encoding="utf-8")
    run = subprocess.run([COMPILER, *STRICT, "-o", target, source, "-lm"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return ctypes.CDLL(str(target))


def rates(library: ctypes.CDLL, time: float, y, p, u=()) -> tuple[int, np.ndarray]:
    arrays = [np.ascontiguousarray([*block, 0.0], dtype=float) for block in (y, p, u)]
    out = np.full(len(y), np.nan)
    pointers = [ctypes.c_void_p(block.ctypes.data) for block in (*arrays, out)]
    return library.dalembert_rates(ctypes.c_double(time), *pointers), out


def sample(motion: da.Motion, count: int = 5) -> list[int]:
    return sorted({int(k) for k in np.linspace(0, 0.9 * (len(motion.t) - 1), count)})


#: Systems whose C code is compiled in every run of the tests; the others in the long ones.
USUAL = ("rolling-disk", "spherical-pendulum", "linked-particles-zero-distance", "two-particles-incline", "snakeboard",
         "bicycle", "appell-vakonomic", "toda-lattice", "rigid-body", "planar-chain", "elastic-pendulum-wall")  # fmt: skip


@needs_compiler
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in USUAL else [pytest.mark.long]) for name in da.gallery.names()]
)
def test_rates_agree_along_the_motion(name: str, tmp_path: Path) -> None:
    motion = da.simulate(da.gallery.load(name))
    kernel, values = motion.equations.compile(), list(motion.parameters.values())
    text = c_source(kernel)
    by_solve = re.sub(r"(fast\[\d+\]) > 1e-07", r"\1 > 2.0", text)  # straight-line code is never healthy enough
    assert (by_solve != text) == (kernel.solved is not None)
    for variant, source in (("fast", text), ("solve", by_solve)):
        library = compiled(source, tmp_path, variant)
        for k in sample(motion):
            state = np.array([motion[letter.name][k] for letter in motion.equations.state])
            expected = kernel.rates(motion.t[k], state, values)
            status, found = rates(library, motion.t[k], state, values)
            assert status in (0, 1)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * (1 + np.max(np.abs(expected))))


@needs_compiler
def test_statuses_tell_dependent_contradictory_and_undetermined_apart(tmp_path: Path) -> None:
    x, y = da.coordinates("x y")
    kinetic = (x.dot**2 + y.dot**2) / 2
    for constraints, expected in (
        ([da.velocity(x.dot - y.dot), da.velocity(2 * x.dot - 2 * y.dot)], 1),
        ([da.velocity(x.dot - y.dot), da.velocity(x.dot - y.dot - da.t)], 2),
    ):
        system = da.System(coordinates=[x, y], kinetic=kinetic, constraints=constraints)
        library = compiled(c_source(da.derive(system).compile()), tmp_path, f"status{expected}")
        assert rates(library, 0.0, [0.0, 0.0, 1.0, 1.0], [])[0] == expected
    massless = da.System(coordinates=[x, y], kinetic=x.dot**2 / 2, potential=y**2 / 2)
    library = compiled(c_source(da.derive(massless).compile()), tmp_path, "status3")
    status, found = rates(library, 0.0, [0.0, 1.0, 1.0, 1.0], [])
    assert status == 3 and np.all(np.isnan(found))


@needs_compiler
def test_free_inputs_and_every_kind_of_function(tmp_path: Path) -> None:
    import sympy

    x, y = da.coordinates("x y")
    u = da.inputs("u")
    k = da.parameters("k")
    force = (
        sympy.Abs(x) + sympy.Min(x, y) * sympy.Max(x, k) + sympy.atan2(y, x) + sympy.sqrt(2 + x) + sympy.sign(y)
        + sympy.Piecewise((sympy.exp(x), x < y), (sympy.tanh(y), True)) + (2 + x) ** k + sympy.asin(x / 9) * u
    )  # fmt: skip
    system = da.System(coordinates=[x, y], kinetic=(x.dot**2 + y.dot**2) / 2, forces={x: force, y: -u}, inputs=[u])
    kernel = da.derive(system).compile()
    library = compiled(c_source(kernel), tmp_path, "functions")
    for state in ([0.3, -0.7, 0.1, 0.2], [-0.4, 0.9, 1.0, -2.0]):
        status, found = rates(library, 0.5, state, [1.7], [0.25])
        assert status == 0
        np.testing.assert_allclose(found, kernel.rates(0.5, state, [1.7], [0.25]), rtol=1e-14)


@needs_compiler
def test_conditions_joined_by_and_or(tmp_path: Path) -> None:
    import sympy

    x = da.coordinates("x")
    force = sympy.Piecewise((x**2, sympy.And(x > 0, x < 1)), (3 * x, sympy.Or(x < -1, x > 2)), (7, True))
    kernel = da.derive(da.System(coordinates=[x], kinetic=x.dot**2 / 2, forces={x: force})).compile()
    library = compiled(c_source(kernel), tmp_path, "conditions")
    found = [rates(library, 0.0, [place, 0.0], [])[1][1] for place in (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0)]
    assert found == [-6.0, 7.0, 7.0, 0.25, 7.0, 9.0]


def test_names_and_comments_cannot_break_out() -> None:
    x = da.coordinates("x")
    system = da.System(coordinates=[x], kinetic=x.dot**2 / 2, name='a */ int main() {} /* "\\\n#include <b>')
    text = c_source(da.derive(system).compile())
    head = text[: text.index("#include <math.h>")]
    assert head.count("*/") == 1 and head.count("/*") == 1 and "\\" not in head
    assert all(line.startswith((" *", "/*")) for line in head.strip().splitlines())


@native
def every_statement(n: int, values: Reals, order: Integers, flag: bool) -> float:
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
    return max(total, float(count)) if n < 0 else abs(total)


@needs_compiler
def test_the_translation_to_c_follows_the_native_one(tmp_path: Path) -> None:
    text = "#include <math.h>\n" + c_functions([every_statement]).replace("static double every", "double every")
    function = compiled(text, tmp_path, "statements").every_statement
    function.restype = ctypes.c_double
    ours = NativeModule([every_statement]).functions["every_statement"]
    for flag in (False, True):
        first, second = np.array([1.5, -2.0, 3.0, 7.0, 0.5]), np.array([1.5, -2.0, 3.0, 7.0, 0.5])
        order = np.zeros(5, np.int64)
        pointers = ctypes.c_void_p(second.ctypes.data), ctypes.c_void_p(order.ctypes.data)
        assert function(5, *pointers, flag) == ours(5, first, np.zeros(5, np.int64), flag)
        np.testing.assert_array_equal(first, second)


def test_every_function_is_written_before_it_is_called() -> None:
    text = c_functions([gauss_solve])
    places = {m.group(1): m.start() for m in re.finditer(r"^static \w+ \*?(\w+)\(", text, re.MULTILINE)}
    for call in re.finditer(r"\b(\w+)\(", text):
        if call.group(1) in places:
            assert places[call.group(1)] <= call.start()
