"""What the native language refuses, and names that meet in one module."""

# The functions below are written to be refused.
# ruff: noqa: F841
from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest

from dalembert.codegen.native.language import Reals, native
from dalembert.codegen.native.native_module import NativeModule

_UNKNOWN = "text"


def not_native(x: float) -> float:
    return x


@native
def entry(n: int, values: Reals) -> float:
    return values[n]


@native
def changes_its_kind(n: int) -> int:
    value = 0.0
    value = n
    return n


@native
def reads_text(n: int) -> int:
    return _UNKNOWN  # type: ignore[return-value]


@native
def calls_python(x: float) -> float:
    return not_native(x)


@native
def rounds_in_silence(x: float) -> int:
    return x  # type: ignore[return-value]


@native
def indexes_with_a_real(values: Reals, x: float) -> float:
    return values[x]  # type: ignore[index]


@native
def indexes_a_number(x: float) -> float:
    return x[0]  # type: ignore[index]


@native
def branches_on_a_real(x: float) -> int:
    if x:
        return 1
    return 0


@native
def compares_in_a_chain(x: float) -> bool:
    return 0.0 < x < 1.0


@native
def loops_over_values(n: int, values: Reals) -> float:
    total = 0.0
    for value in values:  # type: ignore[attr-defined]
        total += value
    return total


@native
def loops_with_a_rest(n: int) -> int:
    for _ in range(n):
        pass
    else:
        n = 7
    return n


@native
def strides_by_a_variable(n: int, step: int) -> int:
    for k in range(0, n, step):
        n = k
    return n


@native
def calls_by_keyword(n: int, values: Reals) -> float:
    return entry(n=n, values=values)


@native
def passes_too_few(n: int) -> float:
    return entry(n)  # type: ignore[call-arg]


@native
def uses_an_unknown_name(n: int) -> int:
    return n + nowhere  # type: ignore[name-defined]  # noqa: F821


@native
def makes_a_list(n: int) -> int:
    values = [n, n]
    return values[0]


@native
def catches(n: int) -> int:
    try:
        n += 1
    finally:
        n += 2
    return n


@native
def shifts(n: int) -> int:
    return n << 2


@native
def divides_reals_down(x: float) -> float:
    return x // 2.0


@pytest.mark.parametrize(
    "function",
    [
        changes_its_kind, reads_text, calls_python, rounds_in_silence, indexes_with_a_real,
        indexes_a_number, branches_on_a_real, compares_in_a_chain, loops_over_values,
        loops_with_a_rest, strides_by_a_variable, calls_by_keyword, uses_an_unknown_name,
        makes_a_list, catches, shifts, divides_reals_down,
    ],
    ids=lambda function: function.__name__,
)  # fmt: skip
def test_what_is_not_in_the_language_is_a_type_error(function: Any) -> None:
    with pytest.raises(TypeError, match=r"\w"):
        NativeModule([function])


def test_wrong_number_of_arguments() -> None:
    with pytest.raises((TypeError, ValueError)):
        NativeModule([passes_too_few])


def test_two_functions_of_one_name_are_refused() -> None:
    first = native_copy("def twin(n: int) -> int:\n    return n\n")
    with pytest.raises(TypeError, match="twin"):
        NativeModule([first, native_copy("def twin(n: int) -> int:\n    return 2 * n\n")])


def native_copy(text: str) -> Any:
    """A native function from text, as another module would bring it."""
    name = f"<twin {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return native(space["twin"])


def test_tables_of_one_name_in_two_modules_stay_apart() -> None:
    texts = [f"def twin_{k}(n: int) -> float:\n    return T[n]\n" for k in (1, 2)]
    found = []
    for k, text in enumerate(texts):
        space: dict[str, Any] = {"T": np.array([10.0 * (k + 1), 5.0 + k])}
        name = f"<tables {k}>"
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        exec(compile(text, name, "exec"), space)
        found.append(native(space[f"twin_{k + 1}"]))
    functions = NativeModule(found).functions
    assert [functions["twin_1"](0), functions["twin_2"](0), functions["twin_2"](1)] == [
        10.0,
        20.0,
        6.0,
    ]
