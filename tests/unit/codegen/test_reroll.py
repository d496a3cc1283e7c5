"""RepeatedRun found in programs: loops compute what the straight line computes, bit for bit, and
nothing else changes.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

import dalembert as da
from dalembert.codegen.backends import llvm, llvm_loops
from dalembert.codegen.backends.interpreter import interpret
from dalembert.codegen.passes.reroll import RepeatedRun, find_runs, stream_of
from dalembert.codegen.program import Instruction, Program
from dalembert.errors import SingularError
from dalembert.runtime import context as context
from dalembert.runtime.kernel import Kernel, compile_equations

SIZES = (1, 400, 3, 1, 1)


def run_native(program: Program, inputs: list[Any], fused: bool) -> Any:
    """The outputs by native code; where it is not `fused`, each operation is rounded, as in
    NumPy.
    """
    text = llvm.module_text([program])
    code = llvm.object_code(text if fused else text.replace(" contract", ""), 2)
    library = llvm.NativeLibrary(code, [program.name])
    out = np.full(len(program.outputs), np.nan)
    kept = [np.ascontiguousarray(block, dtype=float) for block in (*inputs, out)]
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(kept))(
        library.addresses[program.name]
    )
    function(*[block.ctypes.data for block in kept])
    return kept[-1]


def is_rolled(program: Program) -> bool:
    return llvm_loops.rolled_text(program, "", []) is not None


def random_inputs(seed: int) -> list[Any]:
    random = np.random.default_rng(seed)
    return [random.uniform(0.5, 2.0, size) for size in SIZES]


class Builder:
    """Instructions one after the other."""

    def __init__(self) -> None:
        self.steps: list[Instruction] = []
        self.known: dict[Any, int] = {}

    def load(self, operation: str, data: Any) -> int:
        if (operation, data) not in self.known:
            self.known[operation, data] = self.add(operation, data=data)
        return self.known[operation, data]

    def add(self, operation: str, *arguments: int, data: Any = None) -> int:
        self.steps.append(Instruction(operation, len(self.steps), arguments, data))
        return len(self.steps) - 1


OPERATIONS = ("add", "sub", "mul", "fmin", "fmax", "neg", "fabs", "sq")
OPERAND = st.tuples(
    st.sampled_from(["own", "carried", "older", "input", "parameter", "constant", "before"]),
    st.integers(0, 7),
)
BODY = st.lists(st.tuples(st.sampled_from(OPERATIONS), OPERAND, OPERAND), min_size=1, max_size=7)


def repeated_program(first: list[Any], second: list[Any], count: int, step: int) -> Program:
    """Two loops over random bodies; the second goes backwards through the results of the first."""
    build = Builder()
    start = [build.add("sqrt", build.load("input", (1, k))) for k in range(16)]
    loops: list[list[list[int]]] = []
    for body in (first, second):
        earlier = loops[-1] if loops else None
        done: list[list[int]] = [start[:8], start[8:]]
        for i in range(count):
            mine: list[int] = []
            for operation, *operands in body:
                arguments = [
                    _operand(build, kind, k, i, count, step, mine, done, earlier)
                    for kind, k in operands
                ]
                unary = operation in ("neg", "fabs", "sq")
                scaled = build.add(
                    "mul", arguments[0], build.load("constant", 0.25)
                )  # so that nothing overflows
                mine.append(build.add(operation, scaled, *([] if unary else arguments[1:])))
            mine[-1] = build.add(
                "fmin",
                build.add("fmax", mine[-1], build.load("constant", -8.0)),
                build.load("constant", 8.0),
            )
            done.append(mine)
        loops.append(done[2:])
    outputs: list[int | None] = [iteration[-1] for iteration in loops[0]]
    outputs += [iteration[0] for iteration in reversed(loops[1])] + [
        None,
        build.load("input", (2, 1)),
    ]
    return Program("repeated", SIZES, tuple(build.steps), tuple(outputs))


def _operand(
    build: Builder,
    kind: str,
    k: int,
    i: int,
    count: int,
    step: int,
    mine: Any,
    done: Any,
    earlier: Any,
) -> int:
    if kind == "own" and mine:
        return mine[k % len(mine)]
    if kind == "older":
        return done[-2][k % len(done[-2])]
    if kind == "input":
        return build.load("input", (1, k + step * i))
    if kind == "parameter":
        return build.load("input", (2, k % 3))
    if kind == "constant":
        return build.load("constant", 0.5 + k)
    if kind == "before" and earlier is not None:
        row = earlier[count - 1 - i]
        return row[k % len(row)]
    return done[-1][k % len(done[-1])]


@pytest.fixture
def loops_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llvm_loops, "SHORT_PROGRAM", 20)
    monkeypatch.setenv("DALEMBERT_CACHE", "off")


@pytest.mark.long
@given(
    first=BODY,
    second=BODY,
    count=st.integers(40, 60),
    step=st.sampled_from([1, 2, 3, 5]),
    seed=st.integers(0, 99),
)
@settings(max_examples=20, deadline=None, derandomize=True)
def test_loops_are_the_straight_line(
    first: Any, second: Any, count: int, step: int, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_loops, "SHORT_PROGRAM", 20)
        patch.setenv("DALEMBERT_CACHE", "off")
        program, inputs = repeated_program(first, second, count, step), random_inputs(seed)
        expected = interpret(program, inputs)
        assert np.array_equal(run_native(program, inputs, fused=False), expected)
        assert np.allclose(run_native(program, inputs, fused=True), expected, rtol=1e-9, atol=1e-9)


def test_two_simple_bodies_become_two_loops(loops_at_once: None) -> None:
    first = [("add", ("carried", 0), ("input", 0))]
    second = [("sub", ("carried", 0), ("before", 0))]
    program = repeated_program(first, second, 50, 2)
    runs = find_runs(stream_of(program))
    assert is_rolled(program) and sum(run.count >= 40 for run in runs) >= 2


@given(seed=st.integers(0, 10**6))
@settings(max_examples=8, deadline=None, derandomize=True)
def test_programs_without_repetition_stay_as_they_are(seed: int) -> None:
    random = np.random.default_rng(seed)
    build = Builder()
    values = [build.load("input", (1, k)) for k in range(40)]
    for _ in range(400):
        operation = str(random.choice(["add", "sub", "fmin", "mul"]))
        a, b = (int(k) for k in random.choice(values[-60:], 2))
        values.append(build.add(operation, a, b))
    program = Program("irregular", SIZES, tuple(build.steps), tuple(values[-30:]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(llvm_loops, "SHORT_PROGRAM", 20)
        patch.setenv("DALEMBERT_CACHE", "off")
        assert not is_rolled(program)
        inputs = random_inputs(seed)
        assert np.array_equal(run_native(program, inputs, fused=False), interpret(program, inputs))


def test_a_run_ends_where_a_step_changes() -> None:
    build = Builder()
    places = [*range(30), *range(100, 160, 2)]
    sums = [build.add("sq", build.load("input", (1, place))) for place in places]
    program = Program("two", SIZES, tuple(build.steps), tuple(sums))
    runs = find_runs(stream_of(program))
    assert len(runs) == 2 and all(29 <= run.count <= 30 for run in runs)
    assert all(run.period == 2 for run in runs)  # the square, and the output it goes to


def test_constants_that_change_are_read_from_a_table(loops_at_once: None) -> None:
    build = Builder()
    total = build.load("input", (1, 0))
    for k in range(60):
        total = build.add(
            "fmax",
            build.add("mul", total, build.load("constant", 1 / (3.0 + k))),
            build.load("constant", -1.0),
        )
    program = Program("constants", SIZES, tuple(build.steps), (total,))
    assert is_rolled(program)
    assert np.array_equal(
        run_native(program, random_inputs(1), fused=False), interpret(program, random_inputs(1))
    )


def test_a_run_knows_its_end() -> None:
    assert RepeatedRun(3, 4, 5).stop == 23


# -- systems ---------------------------------------------------------------------------------------


def chain(n: int, redundant: int | None = None) -> da.System:
    x, y = da.coordinates("x y")
    m, g = da.parameters("m g", positive=True)
    rod = da.holonomic((x - x.before) ** 2 + (y - y.before) ** 2 - 1, name="rod")
    system = da.repeat(
        n,
        [x, y],
        kinetic=m / 2 * (x.dot**2 + y.dot**2),
        potential=m * g * y,
        constraints=[rod],
        first={x.before: 0, y.before: 0},
    )
    if redundant is None:
        return system
    again = 3 * system.constraints[redundant].expression
    return system.replacing(constraints=[*system.constraints, da.holonomic(again, name="again")])


def ring(n: int) -> da.System:
    x, y = da.coordinates("x y")
    rod = da.holonomic((x - x.before) ** 2 + (y - y.before) ** 2 - 1, name="rod")
    return da.repeat(
        n,
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=x**2 * y / 9,
        constraints=[rod],
        ring=True,
    )


def tree(n: int) -> da.System:
    """Masses on rods, each hanging from the one at half its number."""
    q = [da.coordinates(f"x{k} y{k}") for k in range(n)]
    rods = []
    for k in range(1, n):
        (x, y), (a, b) = q[k], q[k // 2]
        rods.append(da.holonomic((x - a) ** 2 + (y - b) ** 2 - 1, name=f"rod{k}"))
    symbols = [symbol for pair in q for symbol in pair]
    kinetic = sympy.Add(
        *[(1 + sympy.Rational(k % 3, 2)) * symbol.dot**2 / 2 for k, symbol in enumerate(symbols)]
    )
    return da.System(
        symbols, kinetic=kinetic, potential=sympy.Add(*[y for _, y in q]), constraints=rods
    )


def grid(rows: int, columns: int) -> da.System:
    """Particles in a plane, each on springs to its neighbours."""
    u = [[da.coordinates(f"u{i}_{j}") for j in range(columns)] for i in range(rows)]
    k = da.parameters("k", positive=True)
    pairs = [(u[i][j], u[i][j + 1]) for i in range(rows) for j in range(columns - 1)]
    pairs += [(u[i][j], u[i + 1][j]) for i in range(rows - 1) for j in range(columns)]
    symbols = [symbol for row in u for symbol in row]
    stored = sympy.Add(*[k / 2 * (a - b) ** 2 + (a - b) ** 4 / 4 for a, b in pairs])
    return da.System(
        symbols, kinetic=sympy.Add(*[symbol.dot**2 / 2 for symbol in symbols]), potential=stored
    )


def rates_and_reference(system: da.System, state: Any = None) -> tuple[Kernel, Any, Any]:
    equations = da.derive(system, "lagrange")
    kernel, reference = compile_equations(equations), compile_equations(equations, "numpy")
    random = np.random.default_rng(5)
    y = random.uniform(-1, 1, kernel.n_state) if state is None else state
    p = random.uniform(0.5, 2.0, len(kernel.parameters))
    return kernel, kernel.rates(0.0, y, p), reference.rates(0.0, y, p)


SYSTEMS = {
    "chain": (lambda: chain(60), True),
    "ring": (lambda: ring(60), True),
    "tree": (lambda: tree(40), False),
    "grid": (lambda: grid(4, 40), True),
}


@pytest.mark.long
@pytest.mark.parametrize("name", SYSTEMS)
def test_systems_against_the_dense_solve(name: str) -> None:
    make, repeats = SYSTEMS[name]
    kernel, found, expected = rates_and_reference(make())
    assert kernel.large is not None
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * np.max(np.abs(expected)))
    program = kernel.program("fast")
    assert is_rolled(program) or not repeats
    inputs = [np.random.default_rng(3).uniform(0.3, 1.1, size) for size in program.sizes]
    assert np.array_equal(run_native(program, inputs, fused=False), interpret(program, inputs))


@pytest.mark.long
def test_the_text_of_a_chain_does_not_grow_with_it() -> None:
    short, long = (
        len(llvm.module_text([da.derive(chain(n), "lagrange").compile().program("fast")]))
        for n in (60, 240)
    )
    assert long < 1.05 * short


BOTH = [pytest.param(40, id="short"), pytest.param(200, id="long", marks=pytest.mark.long)]


@pytest.mark.long
@pytest.mark.parametrize("n", BOTH)
def test_a_redundant_rod_changes_nothing(n: int) -> None:
    plain = da.derive(chain(n), "lagrange").compile()
    kernel, found, _ = rates_and_reference(chain(n, redundant=20))
    assert kernel.large is None  # its pivot vanishes at every state
    random = np.random.default_rng(5)  # the numbers of the independent rates
    y, parameters = random.uniform(-1, 1, kernel.n_state), random.uniform(0.5, 2.0, 2)
    expected = plain.rates(0.0, y, parameters)
    assert np.allclose(found, expected, rtol=1e-8, atol=1e-8 * np.max(np.abs(expected)))


def flat_ring(n: int) -> Any:
    """A ring folded onto a line, where its rods depend on each other, at rest."""
    places = np.minimum(np.arange(n), n - np.arange(n)).astype(float)
    return np.concatenate([np.stack([places, np.zeros(n)], 1).ravel(), np.zeros(2 * n)])


@pytest.mark.long
@pytest.mark.parametrize("n", BOTH)
def test_a_folded_ring_goes_to_the_solve_that_decides_rank(n: int) -> None:
    kernel, found, expected = rates_and_reference(ring(n), flat_ring(n))
    inputs = [np.zeros(1), flat_ring(n), np.zeros(0), np.zeros(0), np.zeros(0)]
    health = interpret(kernel.program("fast"), inputs)[-1]
    assert kernel.large is not None and not health > 1e-7
    assert np.allclose(found, expected, atol=1e-9)
    places, pushes = flat_ring(n)[: 2 * n : 2], -(flat_ring(n)[: 2 * n : 2] ** 2) / 9
    assert np.allclose(
        found[2 * n + 1 :: 2], pushes, atol=1e-9
    )  # across the line the rods do nothing
    along = found[2 * n :: 2]
    assert (
        np.allclose(along, along[0], atol=1e-9) and np.ptp(places) > 0
    )  # along it they make one body


def test_what_is_too_large_for_the_dense_solve_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "MOST_DENSE", 1000)
    kernel = da.derive(ring(60), "lagrange").compile()
    generic = np.random.default_rng(1).uniform(-1, 1, kernel.n_state)
    assert np.all(np.isfinite(kernel.rates(0.0, generic)))
    with pytest.raises(SingularError, match="dense one is too large"):
        kernel.rates(0.0, flat_ring(60))


@pytest.mark.parametrize("lengths", [(20, 45, 25), (45, 20, 25), (20, 25, 45)])
def test_a_loop_that_reads_across_three_others_keeps_its_longest_steady_part(
    lengths: tuple[int, ...], loops_at_once: None
) -> None:
    """The second loop stores twice as much as its neighbours, so that the steps through memory
    change at its edges.
    """
    build = Builder()
    for k in range(sum(lengths)):
        build.load("input", (1, k))
    pairs: list[tuple[int, int]] = []
    for operation, length in zip(("add", "sub", "mul"), lengths, strict=True):
        for _ in range(length):
            square = build.add("sq", build.load("input", (1, len(pairs))))
            pairs.append((square, build.add(operation, square, build.load("input", (2, 0)))))
    read = [build.add("neg", square) for square, _ in pairs]
    inside = pairs[lengths[0] : lengths[0] + lengths[1]]
    others = [build.add("fabs", follower) for _, follower in inside]
    program = Program("across", SIZES, tuple(build.steps), tuple(read + others))
    stream = stream_of(program)
    plan = llvm_loops.plan_of(stream, find_runs(stream))
    loops = [part for part in plan.parts if isinstance(part, RepeatedRun)]
    negative = stream.operations.index("neg")
    kept = [
        run.count for run in loops if negative in stream.codes[run.first : run.first + run.period]
    ]
    assert kept and max(lengths) - 1 <= kept[0] <= max(lengths) + 1
    assert np.array_equal(
        run_native(program, random_inputs(1), fused=False), interpret(program, random_inputs(1))
    )


@pytest.mark.parametrize("count", [12, 13, 40])
def test_a_run_takes_every_iteration_that_belongs_to_it(count: int) -> None:
    build = Builder()
    places = [build.load("input", (1, 3 * k)) for k in range(count)]
    values = [
        build.add("fmax", build.add("sin", place), build.load("constant", 0.5)) for place in places
    ]
    program = Program("all", SIZES, tuple(build.steps), tuple(values))
    assert find_runs(stream_of(program)) == [RepeatedRun(0, 3, count)]


def test_a_rolled_program_leaves_skipped_places_alone(loops_at_once: None) -> None:
    build = Builder()
    values = [build.add("sq", build.load("input", (1, k))) for k in range(60)]
    outputs = (*values, build.load("input", (2, 1)), values[3])
    program = Program("skipped", SIZES, tuple(build.steps), outputs, frozenset([60, 61]))
    assert is_rolled(program)
    found, expected = (
        run_native(program, random_inputs(1), fused=False),
        interpret(program, random_inputs(1)),
    )
    assert np.array_equal(found[:60], expected[:60]) and np.isnan(found[60:]).all()
