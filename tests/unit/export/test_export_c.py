"""Exported C says what native code says: rates, accelerations, reactions, projections, whole
runs; and it is clean.
"""

from __future__ import annotations

import csv
import ctypes
import math
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from c_library import COMPILER, CLibrary, needs_compiler, observed, run_compiler
from dalembert.errors import FileError, ModelError, StartError
from dalembert.export.c_names import identifiers
from dalembert.export.export_task import read_export

VALGRIND = shutil.which("valgrind")


def exported(
    name: str, form: str | None = None, **options: Any
) -> tuple[da.gallery.Scenario, da.Equations, dict[str, Any]]:
    """A gallery system in a form, with what `to_c` takes from its scenario."""
    scenario = da.gallery.load(name)
    equations = da.derive(scenario.system, form or scenario.simulate.get("form"))
    known = {symbol.name for symbol in equations.system.parameters}
    values = {key: value for key, value in scenario.parameters.items() if key in known}
    given = {
        "parameters": values,
        "start": scenario.start,
        "span": scenario.simulate["span"],
        "rtol": scenario.simulate["rtol"],
    }
    return scenario, equations, {**given, "name": "model", **options}


def start_of(library: CLibrary, size: int) -> Any:
    y = np.zeros(size)
    library.default_start(y.ctypes.data_as(ctypes.c_void_p))
    return y


def chosen_kernel(equations: da.Equations, given: dict[str, Any]) -> Any:
    """The kernel with the independent velocities that an export chooses at its start."""
    return read_export(equations, *(given[key] for key in ("parameters", "start", "span"))).kernel


def assert_close(found: Any, expected: Any, digits: float = 1e-12) -> None:
    np.testing.assert_allclose(
        found, expected, rtol=0, atol=digits * (1 + np.max(np.abs(expected), initial=0.0))
    )


#: Systems and forms: multipliers, no multipliers, quasi-velocities, momenta, vakonomic, dependent
#: constraints, a flow, a chain.
FORMS = [
    ("rolling-disk", "lagrange", True), ("rolling-disk", "maggi", False),
    ("chaplygin-sleigh", "hamel", True),
    ("spherical-pendulum", "hamilton", True), ("appell-vakonomic", "vakonomic", True),
    ("linked-particles-zero-distance", None, False), ("two-particles-incline", "lagrange", True),
    ("snakeboard", "hamel", False), ("bicycle", "kane", False), ("lc-circuit", None, False),
    ("toda-lattice", None, False),
    ("ball-on-rotating-plate", "gibbs-appell", False), ("appell", "voronets", False),
    ("planar-chain", None, False),
    ("knife-edge", "lagrange", False), ("snakeboard-gait", None, False),
    ("rigid-body", None, False),
]  # fmt: skip


@needs_compiler
@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(name, form, marks=[] if quick else [pytest.mark.long], id=f"{name}-{form}")
        for name, form, quick in FORMS
    ],
)
def test_rates_accelerations_and_reactions_at_random_states(
    name: str, form: str | None, tmp_path: Path
) -> None:
    scenario, equations, given = exported(name, form)
    source = equations.to_c(**given)
    library, kernel = CLibrary(source, tmp_path, "-O0"), chosen_kernel(equations, given)
    assert source.state == tuple(symbol.name for symbol in kernel.equations.state)
    values = [given["parameters"][symbol.name] for symbol in kernel.parameters]
    middle, random = start_of(library, kernel.n_state), np.random.default_rng(3)
    regular = 0
    for _ in range(6):
        y, t = middle + random.uniform(-0.2, 0.2, kernel.n_state), random.uniform(0, 0.5)
        status, found = library.rates(t, y)
        seen_status, seen = library.observe(t, y)
        assert seen_status in (0, 1, 2) and status in (0, 1, 2)
        if (
            status < 2
        ):  # random states may break dependent constraints, and then nothing is said of them
            regular += 1
            assert_close(found, kernel.rates(t, y, values))
            assert_close(seen, observed(kernel, values, t, y))
    assert regular or name == "linked-particles-zero-distance"
    assert_close(library.rates(0.0, middle)[1], kernel.rates(0.0, middle, values))
    assert_close(library.observe(0.0, middle)[1], observed(kernel, values, 0.0, middle))
    assert scenario.system.name in str(source)


@needs_compiler
@pytest.mark.parametrize(
    "name", ["rolling-disk", pytest.param("snakeboard", marks=pytest.mark.long)]
)
def test_the_solve_that_decides_rank_agrees_with_straight_line_code(
    name: str, tmp_path: Path
) -> None:
    _, equations, given = exported(name, "lagrange")

    def never_healthy(text: str) -> str:
        changed = re.sub(r"(out\[ns\]) > 1e-07", r"\1 > 2.0", text)
        assert changed != text
        return changed

    library = CLibrary(equations.to_c(**given), tmp_path, "-O0", never_healthy)
    y = start_of(library, len(equations.state))
    expected = equations.compile().rates(0.0, y, given["parameters"])
    assert_close(library.rates(0.0, y)[1], expected)


@pytest.mark.long
@needs_compiler
def test_statuses_tell_dependent_contradictory_and_undetermined_apart(tmp_path: Path) -> None:
    x, y = da.coordinates("x y")
    kinetic, potential = (x.dot**2 + y.dot**2) / 2, -x
    same, twice, later = x.dot - y.dot, 2 * x.dot - 2 * y.dot, x.dot - y.dot - da.t
    for constraints, expected in (([same, twice], 1), ([same, later], 2)):
        rows = [da.velocity(expression) for expression in constraints]
        system = da.System(
            coordinates=[x, y], kinetic=kinetic, potential=potential, constraints=rows, name="two"
        )
        library = CLibrary(da.derive(system).to_c(name=f"two{expected}"), tmp_path, "-O0")
        assert library.rates(0.0, [0.0, 0.0, 1.0, 1.0])[0] == expected
        # Half the force is shared by the rows like 1 to 2: the least multipliers.
        if expected == 1:
            seen = library.observe(0.0, [0.0, 0.0, 1.0, 1.0])[1]
            np.testing.assert_allclose(
                seen[da.derive(system).compile().observed["multipliers"]], [-0.1, -0.2], rtol=1e-13
            )
    massless = da.System(
        coordinates=[x, y], kinetic=x.dot**2 / 2, potential=y**2 / 2, name="massless"
    )
    library = CLibrary(da.derive(massless).to_c(), tmp_path, "-O0")
    status, found = library.rates(0.0, [0.0, 1.0, 1.0, 1.0])
    assert status == 3 and np.all(np.isnan(found))
    status, state, reached = library.run(0.0, [0.0, 1.0, 1.0, 1.0], 1.0)
    assert status == 3 and reached == 0.0 and state.tolist() == [0.0, 1.0, 1.0, 1.0]
    library.message.restype = ctypes.c_char_p
    assert b"not determined" in library.message(3)


@pytest.mark.long
@needs_compiler
def test_projection_is_that_of_native_code(tmp_path: Path) -> None:
    from dalembert.runtime.context import Context

    _, equations, given = exported("spherical-pendulum", "lagrange")
    library, kernel = CLibrary(equations.to_c(**given), tmp_path, "-O0"), equations.compile()
    y = start_of(library, kernel.n_state) + np.linspace(-0.1, 0.2, kernel.n_state)
    status, found = library.project(0.3, y)
    ours = y.copy()
    assert (
        status
        == Context(kernel, [given["parameters"][s.name] for s in kernel.parameters]).project(
            0.3, ours
        )
        == 0
    )
    np.testing.assert_allclose(found, ours, rtol=1e-13)
    seen = library.observe(0.3, found)[1]
    assert (
        np.max(np.abs(seen[kernel.observed["position residual"]]))
        < 1e-14
        < np.max(np.abs(found - y))
    )


def printed(
    source: Any, folder: Path, optimise: str = "-O2"
) -> tuple[list[str], Any, subprocess.CompletedProcess[str]]:
    """The program of an export, compiled from its files and run: the head of its table, the
    table, and how it ended.
    """
    _, path = source.write(folder)
    program = folder / "program"
    run_compiler(optimise, f"-D{source.name.upper()}_MAIN", "-o", program, path, "-lm")
    ending = subprocess.run([str(program)], capture_output=True, text=True)
    head, *rows = csv.reader(ending.stdout.splitlines())
    return head, np.array(rows, dtype=float), ending


@needs_compiler
@pytest.mark.parametrize(
    ("name", "form", "rows"),
    [
        pytest.param("rolling-disk", "lagrange", 50, id="steps-of-their-own"),
        pytest.param(
            "spherical-pendulum", "hamilton", 400, marks=pytest.mark.long, id="dense-output"
        ),
        pytest.param("appell-vakonomic", "vakonomic", 40, marks=pytest.mark.long, id="vakonomic"),
    ],
)
def test_the_program_repeats_the_run(name: str, form: str, rows: int, tmp_path: Path) -> None:
    scenario, equations, given = exported(name, form)
    length = given["span"][1] - given["span"][0]
    head, table, ending = printed(equations.to_c(**given, step=length / rows), tmp_path)
    assert ending.returncode == 0 and ending.stderr == ""
    assert head == ["t", *(symbol.name for symbol in equations.state), "energy"]
    assert len(table) == rows + 1 and table[-1, 0] == given["span"][1]
    motion = da.simulate(scenario, form=form, at=table[:, 0])
    for place, symbol in enumerate(head[1:], start=1):
        np.testing.assert_allclose(
            table[:, place],
            motion[symbol],
            rtol=0,
            atol=1e-10 * (1 + np.max(np.abs(motion[symbol]))),
        )


@pytest.mark.long
@needs_compiler
def test_a_run_takes_the_steps_of_simulate_and_goes_back(tmp_path: Path) -> None:
    scenario, equations, given = exported("elastic-pendulum", "lagrange", span=(0.0, 4.0))
    library = CLibrary(equations.to_c(**given), tmp_path)
    start = start_of(library, len(equations.state))
    status, end, reached = library.run(0.0, start, 4.0)
    motion = da.simulate(scenario, form="lagrange", span=(0.0, 4.0))
    assert status == 0 and reached == 4.0
    assert_close(end, [motion[symbol.name][-1] for symbol in equations.state])
    counts = np.frombuffer(
        library.work, dtype=np.int64
    )  # evaluations, accepted, rejected stand in a row somewhere in it
    wanted = [motion.nfev, motion.statistics["steps"], motion.statistics["rejected"]]
    rows = [counts[k : k + 3].tolist() for k in range(len(counts) - 2)]
    assert any(abs(row[0] - wanted[0]) <= 12 and row[1:] == wanted[1:] for row in rows)
    status, back, _ = library.run(4.0, end, 0.0)
    assert status == 0
    assert_close(back, start, 1e-9)


@needs_compiler
def test_workspaces_are_independent_and_parameters_are_honoured(tmp_path: Path) -> None:
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    spring = da.System(
        coordinates=[x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, name="spring"
    )
    source = da.derive(spring).to_c(parameters={m: 1, k: 4}, start={x: 1}, span=(0, 1))
    library = CLibrary(source, tmp_path, "-O0")
    other = CLibrary.__new__(CLibrary)
    other.__dict__ |= {"name": library.name, "library": library.library}
    other.work = ctypes.create_string_buffer(len(library.work))
    names = [symbol.name for symbol in spring.parameters]
    other.open([{"m": 1.0, "k": 9.0}[name] for name in names])
    first, second = library.run(0.0, [1.0, 0.0], 0.5), other.run(0.0, [1.0, 0.0], 0.5)
    first = library.run(0.5, first[1], 1.0)
    second = other.run(0.5, second[1], 1.0)
    assert abs(first[1][0] - math.cos(2.0)) < 1e-10 and abs(second[1][0] - math.cos(3.0)) < 1e-10


@needs_compiler
def test_inputs_are_held(tmp_path: Path) -> None:
    x = da.coordinates("x")
    u = da.inputs("u")
    cart = da.System(coordinates=[x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u], name="cart")
    library = CLibrary(da.derive(cart).to_c(start={}), tmp_path, "-O0")
    library.set_inputs(library.work, np.array([2.0]).ctypes.data_as(ctypes.c_void_p))
    status, state, _ = library.run(0.0, [0.0, 0.0], 3.0)
    assert status == 0
    np.testing.assert_allclose(state, [9.0, 6.0], rtol=1e-12)


def chain(links: int) -> tuple[da.System, dict[str, float], dict[str, float]]:
    """Particles joined by rods, which close a loop with the ground."""
    x, y = da.coordinates("x y")
    m, g, l = da.parameters("m g l", positive=True)
    rod = da.holonomic((x - x.before) ** 2 + (y - y.before) ** 2 - l**2, name="rod")
    kinetic, potential = m / 2 * (x.dot**2 + y.dot**2), m * g * y
    system = da.repeat(
        links,
        [x, y],
        kinetic=kinetic,
        potential=potential,
        constraints=[rod],
        first={x.before: 0, y.before: 0},
    )
    coordinates = system.coordinates
    last = (
        (coordinates[-2] - 0.6 * links) ** 2
        + (coordinates[-1] - 1) ** 2
        - (1 + 0.64 * links**2 + 1.6 * links)
    )
    system = system.replacing(constraints=[*system.constraints, da.holonomic(last, name="ground")])
    start = {f"x_{i}": 0.6 * i for i in range(1, links + 1)} | {
        f"y_{i}": -0.8 * i for i in range(1, links + 1)
    }
    return system, start, {"m": 1.0, "g": 9.81, "l": 1.0}


@needs_compiler
@pytest.mark.parametrize("links", [30, pytest.param(80, marks=pytest.mark.long)])
def test_a_large_chain_with_a_loop_is_written_as_loops(links: int, tmp_path: Path) -> None:
    system, start, values = chain(links)
    equations = da.derive(system, "lagrange")
    source = equations.to_c(parameters=values, start=start, span=(0, 0.1), name="model")
    assert re.search(
        r"static void program_fast_\d+\(.*\n\{\n(    double c\d+ = scratch.*\n)*    long i;\n   "
        r" for \(i = 0",
        source.source,
    )
    library, kernel = CLibrary(source, tmp_path, "-O0"), equations.compile()
    numbers = [values[symbol.name] for symbol in kernel.parameters]
    y = start_of(library, kernel.n_state)
    y += np.random.default_rng(5).uniform(-0.01, 0.01, len(y))
    assert_close(library.rates(0.0, y)[1], kernel.rates(0.0, y, numbers), 1e-11)
    assert_close(library.observe(0.0, y)[1], observed(kernel, numbers, 0.0, y), 1e-11)
    status, end, _ = library.run(0.0, start_of(library, kernel.n_state), 0.1)
    motion = da.simulate(equations, start, (0, 0.1), parameters=values)
    assert status == 0
    assert_close(end, [motion[symbol.name][-1] for symbol in equations.state], 1e-9)


@pytest.mark.long
@needs_compiler
def test_a_choice_of_velocities_that_degenerates_ends_the_run(tmp_path: Path) -> None:
    scenario, equations, given = exported("chaplygin-sleigh", "voronets")
    _, table, ending = printed(equations.to_c(**given, step=0.1), tmp_path, "-O0")
    assert ending.returncode == 1 and "degenerates" in ending.stderr
    motion = da.simulate(scenario, form="voronets", at=table[:, 0])
    np.testing.assert_allclose(table[:, 1], motion["x"], atol=1e-9)
    assert table[-1, 0] < scenario.simulate["span"][1]


@needs_compiler
@pytest.mark.long
@pytest.mark.skipif(VALGRIND is None, reason="valgrind is not installed")
@pytest.mark.parametrize(
    "name", ["rolling-disk", "linked-particles-zero-distance", "spherical-pendulum"]
)
def test_no_memory_is_read_before_it_is_written(name: str, tmp_path: Path) -> None:
    _, equations, given = exported(name, span=(0.0, 0.2))
    _, path = equations.to_c(**given, step=0.05).write(tmp_path)
    run_compiler("-O1", "-g", "-DMODEL_MAIN", "-o", tmp_path / "program", path, "-lm")
    check = [
        str(VALGRIND),
        "-q",
        "--error-exitcode=1",
        "--leak-check=full",
        str(tmp_path / "program"),
    ]
    ending = subprocess.run(check, capture_output=True, text=True)
    assert ending.returncode == 0, ending.stderr


@needs_compiler
@pytest.mark.long
@pytest.mark.parametrize("name", da.gallery.names())
def test_every_gallery_system_can_be_exported_and_compiled(name: str, tmp_path: Path) -> None:
    _, equations, given = exported(name)
    if equations.system.unilateral:
        equations = da.derive(equations.system.touching(()), equations.form)
        known = {symbol.name for symbol in equations.system.parameters}
        given["parameters"] = {
            key: value for key, value in given["parameters"].items() if key in known
        }
    library = CLibrary(equations.to_c(**given), tmp_path, "-O2")
    y = start_of(library, len(equations.state))
    status, found = library.rates(0.0, y)
    assert status in (0, 1)
    assert_close(found, equations.compile().rates(0.0, y, given["parameters"]))


def test_what_cannot_be_exported_is_refused_in_three_parts(tmp_path: Path) -> None:
    _, equations, given = exported("elastic-pendulum-wall", "lagrange")
    with pytest.raises(
        ModelError,
        match=r"One-sided.*seen: `.*remedy|One-sided.*\(seen: .*\): export the system without",
    ):
        equations.to_c(**given)
    _, equations, given = exported("rolling-disk", "lagrange")
    with pytest.raises(ModelError, match="identifier"):
        equations.to_c(**{**given, "name": "rolling disk"})
    with pytest.raises(ModelError, match="no value"):
        equations.to_c(parameters={"m": 1.0}, start={})
    with pytest.raises(ModelError, match="given parameters"):
        equations.to_c(start={})
    with pytest.raises(StartError, match="no part of the state"):
        equations.to_c(**{**given, "start": {"nothing": 1.0}})
    with pytest.raises(ModelError, match="needs a span"):
        equations.to_c(step=0.1)
    with pytest.raises(ModelError, match="must be positive"):
        equations.to_c(**given, step=-1.0)
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(FileError, match="cannot be written"):
        equations.to_c(tmp_path / "taken", **given)


@pytest.mark.long
@needs_compiler
def test_without_a_run_there_is_no_program(tmp_path: Path) -> None:
    x = da.coordinates("x")
    m = da.parameters("m", positive=True)
    source = da.derive(
        da.System(coordinates=[x], kinetic=m / 2 * x.dot**2, potential=x, name="free")
    ).to_c(tmp_path / "free.c")
    assert (
        source.name == "free" and (tmp_path / "free.h").read_text(encoding="utf-8") == source.header
    )
    run_compiler("-O0", "-c", "-o", tmp_path / "free.o", tmp_path / "free.c")
    asked = [
        str(COMPILER),
        "-DFREE_MAIN",
        "-c",
        "-o",
        str(tmp_path / "free.o"),
        str(tmp_path / "free.c"),
    ]
    assert (
        "exported without parameters, start, span"
        in subprocess.run(asked, capture_output=True, text=True).stderr
    )
    library = CLibrary(source, tmp_path, "-O0")
    assert library.rates(0.0, [0.0, 1.0])[0] == 3  # a parameter without a value is not a number
    library.open([2.0])
    assert library.rates(0.0, [0.0, 1.0])[0] == 0


@pytest.mark.long
@needs_compiler
def test_strange_names_become_identifiers_and_cannot_break_out(tmp_path: Path) -> None:
    q, r, s = da.coordinates("int default H")
    system = da.System(
        coordinates=[q, r, s],
        kinetic=(q.dot**2 + r.dot**2 + s.dot**2) / 2,
        name='a */ int main() {} /* "\\\n#include <b>',
    )
    source = da.derive(system).to_c(start={}, span=(0, 1))
    head = source.source[: source.source.index('#include "')]
    assert head.count("*/") == 1 and head.count("/*") == 1 and "\\" not in head
    table = printed(source, tmp_path, "-O0")
    assert table[0] == ["t", "int", "default", "H", "int_dot", "default_dot", "H_dot", "energy"]
    assert len(set(identifiers(["a b", "a-b", "a_b", "a_b_2", "1", "ä", "NULL"]))) == 7
