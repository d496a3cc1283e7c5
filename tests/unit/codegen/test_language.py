"""The native language against Python itself: the same function, once interpreted by Python and once
compiled.
"""

# The functions below are written to be translated, not to be short.
# ruff: noqa: SIM108, SIM201, B007
from __future__ import annotations

import math
from math import cos, nextafter, sin, sqrt
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.codegen.native.language import Integers, Reals, Record, native
from dalembert.codegen.native.native_module import NativeModule
from dalembert.runtime.gauss.constrained_solve import solve
from dalembert.runtime.gauss.gauss_problem import gauss_solve, order_size, work_size
from dalembert.runtime.gauss.solve_status import DEPENDENT, REGULAR

INTEGERS = st.integers(-60, 60)
NUMBERS = st.floats(-100, 100, allow_subnormal=False)
TABLE = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
FACTOR = 3
SCALE = 0.5
FLAG = True


class Pointer:
    """What `Reals` and `Integers` are in Python: a list with an offset; leaving it is an error."""

    def __init__(self, values: Any, offset: int = 0) -> None:
        self.values, self.offset = values, offset

    def _place(self, place: int) -> int:
        assert type(place) is int and 0 <= self.offset + place < len(self.values)
        return self.offset + place

    def __getitem__(self, place: int) -> Any:
        return self.values[self._place(place)]

    def __setitem__(self, place: int, value: Any) -> None:
        self.values[self._place(place)] = value

    def __add__(self, places: int) -> Pointer:
        return Pointer(self.values, self.offset + places)


class Ticker(Record):
    time: float
    step: float


class Plain(Record):
    size: int
    clock: Ticker
    values: Reals


class Counted(Plain):
    seen: int


# -- the functions ---------------------------------------------------------------------------------


@native
def whole_arithmetic(a: int, b: int, out: Integers) -> None:
    out[0] = a + b
    out[1] = a - b
    out[2] = a * b
    out[3] = -a
    out[4] = abs(a)
    out[5] = min(a, b)
    out[6] = max(a, 3)
    if b != 0:
        out[7] = a // b
        out[8] = a % b


@native
def real_arithmetic(a: float, b: float, out: Reals) -> None:
    out[0] = a + b
    out[1] = a - b
    out[2] = a * b
    out[3] = -a
    out[4] = abs(a)
    out[5] = min(a, b)
    out[6] = max(a, 0.25)
    out[7] = sqrt(abs(a))
    out[8] = nextafter(a, b)
    if b != 0.0:
        out[9] = a / b
    out[10] = a**2
    out[11] = abs(a) ** 1.5
    out[12] = abs(b) ** 3
    out[13] = sin(a)
    out[14] = cos(b)


@native
def mixed_arithmetic(k: int, x: float, flag: bool, out: Reals) -> None:
    out[0] = k + x
    out[1] = x * k
    out[2] = k / 7
    out[3] = k
    out[4] = float(k) / 2
    out[5] = 1.0 if flag else 0
    out[6] = FACTOR * x + SCALE
    out[7] = x - k if k > x else k * x
    total = 0.0
    total += k
    total -= x
    total *= 2
    total /= 3
    out[8] = total


@native
def comparisons(a: float, b: float, k: int, out: Integers) -> None:
    out[0] = a < b
    out[1] = a <= b
    out[2] = a > b
    out[3] = a >= b
    out[4] = a == b
    out[5] = a != b
    out[6] = k < a
    out[7] = k == 3
    out[8] = not a < b
    out[9] = a < b and k > 0
    out[10] = a < b or k > 0
    out[11] = (not (a < b and k > 0)) or (b > 1 and not k == 2)
    out[12] = FLAG and k != 0


@native
def nested_loops(n: int, m: int, out: Reals) -> int:
    count = 0
    for i in range(n):
        for j in range(i, m):
            if j == 2 * i:
                continue
            if i * j > 12:
                break
            out[i * m + j] += 1.0 + i - 0.5 * j
            count += 1
    return count


@native
def strides(n: int, out: Integers) -> int:
    place = 0
    for i in range(n - 1, -1, -1):
        out[place] = i
        place += 1
    for i in range(0, n, 3):
        out[place] = i
        place += 1
    for i in range(n, 2, -2):
        out[place] = i
        place += 1
    for i in range(5, 2):
        out[place] = -1
        place += 1
    return place


@native
def same_symbol_twice(n: int, out: Integers) -> int:
    """Python's loops run on, whatever the body does to their variable or to their end."""
    place = 0
    for i in range(n):
        for i in range(2):
            out[place] = i
            place += 1
        i = 100
        n = 1
    return place


@native
def tick(context: Plain) -> float:
    clock = context.clock
    clock.time += clock.step
    total = 0.0
    for k in range(context.size):
        context.values[k] *= context.clock.time
        total += context.values[k]
    return total


@native
def count_ticks(context: Counted, n: int) -> float:
    total = 0.0
    for _ in range(n):
        total += tick(context)
        context.seen += 1
    return total


@native
def collatz(k: int, most: int) -> int:
    steps = 0
    while k != 1 and steps < most:
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        steps += 1
    while True:
        steps += 1
        if steps > 10:
            break
    return steps


@native
def guarded(n: int, k: int, values: Reals) -> int:
    """The second condition reads outside the array unless the first one guards it."""
    found = 0
    if k >= 0 and k < n and values[k] > 0.5:
        found += 1
    if k < 0 or k >= n or values[k] <= 0.5:
        found += 2
    if not (k < 0 or k >= n) and values[k] > 0.25:
        found += 4
    picked = values[k] if k >= 0 and k < n else -1.0
    if picked > 0.75:
        found += 8
    return found


@native
def branches(x: float) -> int:
    if x < -1.0:
        return -1
    elif x < 0.0:
        result = 0
    elif x < 1.0:
        result = 1
    else:
        result = 2
        if x > 10.0:
            return 3
    return result


@native
def swaps(n: int, values: Reals, order: Integers) -> None:
    for i in range(n):
        for j in range(n - 1 - i):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
                order[j], order[j + 1] = order[j + 1], order[j]


@native
def tail_sum(n: int, values: Reals) -> float:
    total = 0.0
    for k in range(n):
        total += values[k]
    return total


@native
def calls(n: int, values: Reals, out: Reals) -> float:
    rest = values + 1
    out[0] = tail_sum(n - 1, rest)
    out[1] = tail_sum(2, values + (n - 2))
    fill(n, out + 2, n)
    return tail_sum(n, values) + out[0]


@native
def fill(n: int, out: Reals, value: float) -> None:
    for k in range(n):
        out[k] = value
        if k == 2:
            return


@native
def tables(i: int, j: int) -> float:
    return TABLE[i, j] + 10.0 * TABLE[1, 2]


@native
def names_like_registers(x1: float, x2: float) -> float:
    x3 = x1 * x2
    then5 = x3 + 1.0
    v = then5
    for after in range(3):
        v += x1 * after
    return v + x3


NATIVE = NativeModule(
    [
        whole_arithmetic, real_arithmetic, mixed_arithmetic, comparisons, nested_loops, strides,
        same_symbol_twice, collatz, guarded, branches, swaps, calls, tables, names_like_registers,
    ]
).functions  # fmt: skip


def both(function: Any, *arguments: Any) -> tuple[Any, Any]:
    """(result, arrays) of Python and of native code; arrays are given as NumPy arrays."""
    shims = [Pointer(a.tolist()) if isinstance(a, np.ndarray) else a for a in arguments]
    plain = function(*shims)
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    compiled = NATIVE[function.__name__](*copies)
    plain_arrays = [list(s.values) for s in shims if isinstance(s, Pointer)]
    return (plain, plain_arrays), (
        compiled,
        [c.tolist() for c in copies if isinstance(c, np.ndarray)],
    )


def assert_alike(function: Any, *arguments: Any, tolerance: float = 0.0) -> None:
    """Equal; where multiplications and additions may be fused, equal to rounding."""
    (plain, plain_arrays), (compiled, arrays) = both(function, *arguments)
    assert (plain is None) == (compiled is None)
    if plain is not None:
        assert compiled == pytest.approx(plain, rel=tolerance, abs=tolerance)
    for left, right in zip(plain_arrays, arrays, strict=True):
        assert right == pytest.approx([float(x) for x in left], rel=tolerance, abs=tolerance)


# -- the comparisons -------------------------------------------------------------------------------


@given(INTEGERS, INTEGERS)
def test_whole_numbers(a: int, b: int) -> None:
    assert_alike(whole_arithmetic, a, b, np.zeros(9, np.int64))


@given(NUMBERS, NUMBERS)
def test_real_numbers(a: float, b: float) -> None:
    assert_alike(real_arithmetic, a, b, np.zeros(15), tolerance=1e-15)


@given(INTEGERS, NUMBERS, st.booleans())
def test_conversions(k: int, x: float, flag: bool) -> None:
    assert_alike(mixed_arithmetic, k, x, flag, np.zeros(9), tolerance=1e-13)


@given(NUMBERS, NUMBERS, st.integers(-2, 4))
def test_comparisons_and_logic(a: float, b: float, k: int) -> None:
    assert_alike(comparisons, a, b, k, np.zeros(13, np.int64))
    assert_alike(comparisons, a, a, k, np.zeros(13, np.int64))


def test_comparisons_with_what_is_not_a_number() -> None:
    assert_alike(comparisons, math.nan, 1.0, 3, np.zeros(13, np.int64))
    out = np.zeros(15)
    NATIVE["real_arithmetic"](math.nan, 1.0, out)
    expected = Pointer([0.0] * 15)
    real_arithmetic(math.nan, 1.0, expected)
    assert np.array_equal(out, expected.values, equal_nan=True)


@given(st.integers(0, 7), st.integers(0, 7))
def test_nested_loops_with_break_and_continue(n: int, m: int) -> None:
    assert_alike(nested_loops, n, m, np.zeros(max(1, n * m + m)))


@given(st.integers(0, 12))
def test_strides_of_both_signs(n: int) -> None:
    assert_alike(strides, n, np.zeros(40, np.int64))


@given(st.integers(0, 6))
def test_a_loop_keeps_its_own_count(n: int) -> None:
    assert_alike(same_symbol_twice, n, np.zeros(12, np.int64))


@given(st.integers(1, 400), st.integers(0, 200))
def test_while(k: int, most: int) -> None:
    assert_alike(collatz, k, most)


@given(st.integers(-3, 6))
def test_conditions_are_read_only_as_far_as_needed(k: int) -> None:
    assert_alike(guarded, 4, k, np.array([0.1, 0.3, 0.6, 0.9]))


def test_an_address_that_must_not_be_read_is_not_read() -> None:
    """One terabyte past the array: reading it would end the process."""
    assert NATIVE["guarded"](4, 1 << 37, np.zeros(4)) == 2


@given(st.floats(-20, 20))
def test_branches_and_early_returns(x: float) -> None:
    assert_alike(branches, x)


@given(st.lists(NUMBERS, min_size=1, max_size=9))
def test_swaps_and_arrays(values: list[float]) -> None:
    assert_alike(swaps, len(values), np.array(values), np.arange(len(values), dtype=np.int64))


@given(st.lists(NUMBERS, min_size=3, max_size=9))
def test_calls_and_offsets(values: list[float]) -> None:
    assert_alike(calls, len(values), np.array(values), np.zeros(len(values) + 2), tolerance=1e-13)


@pytest.mark.parametrize(("i", "j"), [(0, 0), (0, 2), (1, 1)])
def test_constant_tables(i: int, j: int) -> None:
    assert_alike(tables, i, j)


def test_names_may_look_like_those_of_the_compiler() -> None:
    assert_alike(names_like_registers, 2.0, 3.0)


@pytest.mark.parametrize("seed", range(5))
def test_a_whole_algorithm(seed: int) -> None:
    """The Gauss solve itself, which is native code: Python runs the same text and finds the same
    answer.
    """
    random = np.random.default_rng(seed)
    n, m = int(random.integers(2, 6)), int(random.integers(0, 4))
    factor = random.normal(size=(n, n))
    G, f = factor @ factor.T + np.eye(n), random.normal(size=n)
    A = random.normal(size=(m, n))
    if m > 1:
        A[-1] = A[0]
    b = A @ random.normal(size=n)
    work, order = np.zeros(work_size(n, m)), np.zeros(order_size(n, m), np.int64)
    arrays = [G.ravel(), f, A.ravel(), b, np.zeros(n), np.zeros(m)]
    shims = [
        Pointer(a.tolist()) for a in (*arrays, work, order, np.zeros(4), np.zeros(1, np.int64))
    ]
    status = gauss_solve(n, m, *shims[:6], True, False, *shims[6:])
    solution = solve(G, f, A, b)
    assert status == (DEPENDENT if m > 1 else REGULAR)
    assert np.allclose(shims[4].values, solution.z, atol=1e-11)
    assert np.allclose(shims[5].values, solution.multipliers, atol=1e-11)


def test_fields_of_records_are_found_by_name() -> None:
    """A record that derives from another is passed in its place; nested ones are addresses."""
    record = Counted()
    record.size, record.seen = 3, 7
    record.clock.time, record.clock.step = 0.5, 0.25
    values = record.bind("values", np.array([1.0, 2.0, 4.0]))
    plain = SimpleNamespace(size=3, seen=7, values=Pointer([1.0, 2.0, 4.0]))
    plain.clock = SimpleNamespace(time=0.5, step=0.25)
    assert NativeModule([count_ticks]).functions["count_ticks"](record, 2) == count_ticks(plain, 2)
    assert (record.clock.time, record.clock.step) == (plain.clock.time, plain.clock.step)
    assert record.seen == plain.seen == 9 and list(values) == plain.values.values


def test_fields_keep_to_their_kinds() -> None:
    record = Counted()
    with pytest.raises(TypeError, match="`values` is an address: use bind"):
        record.values = np.zeros(2)
    with pytest.raises(TypeError, match="`size` is a number"):
        record.bind("size", np.zeros(2))
    record.bind("values", np.zeros(2))
    record.release("values")
    assert record.words[record.fields["values"][0]] == 0 and "values" not in record.arrays


def test_a_field_that_is_not_there_is_refused() -> None:
    @native
    def reads(context: Plain) -> int:
        return context.length

    with pytest.raises(TypeError, match="Plain has no field `length`"):
        NativeModule([reads])


def test_a_record_in_the_place_of_one_that_derives_from_it_is_refused() -> None:
    @native
    def passes(context: Plain) -> float:
        return count_ticks(context, 1)

    with pytest.raises(TypeError, match="@Plain cannot become @Counted"):
        NativeModule([passes])
