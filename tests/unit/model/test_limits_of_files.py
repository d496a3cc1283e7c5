"""The bounds of model files: what stands at a bound is no fault, one more is; a fault never hides
the others.
"""

from __future__ import annotations

from typing import Any

import pytest

from dalembert.errors import DalembertError
from dalembert.model.io.file_reader import read_scenario

PENDULUM = {
    "coordinates": ["x", "y"],
    "kinetic": "m*(x_dot**2 + y_dot**2)/2",
    "parameters": {"m": 2.0},
}
NAMES = [f"q{k}" for k in range(1001)]


def faults(**changes: Any) -> str:
    """What is said of the model with these changes, and with one more key that is always a fault:
    then nothing is built.
    """
    with pytest.raises(DalembertError) as caught:
        read_scenario({**PENDULUM, **changes, "stray": 1})
    assert "stray" in str(caught.value)
    return str(caught.value)


def simulated(**options: Any) -> str:
    return faults(simulate=options)


WALL = {"expression": "y >= 0", "name": "floor"}

CASES = {
    "coordinates": (
        {"coordinates": NAMES[:1000], "kinetic": 0},
        {"coordinates": NAMES, "kinetic": 0},
        "more than 1000 names",
    ),
    "entries": (
        {"outputs": {f"o{k}": 1 for k in range(5000)}},
        {"outputs": {f"o{k}": 1 for k in range(5001)}},
        "more than 5000 entries",
    ),
    "constraints": (
        {"constraints": ["x = y"] * 1000},
        {"constraints": ["x = y"] * 1001},
        "more than 1000 constraints",
    ),
    "name of a constraint": (
        {"constraints": [{"expression": "x = y", "name": "n" * 100}]},
        {"constraints": [{"expression": "x = y", "name": "n" * 101}]},
        "one line of text",
    ),
    "empty name": (
        {"constraints": [{"expression": "x = y"}]},
        {"constraints": [{"expression": "x = y", "name": ""}]},
        "one line of text",
    ),
    "plastic": (
        {"constraints": [{**WALL, "restitution": 0}]},
        {"constraints": [{**WALL, "restitution": -1e-9}]},
        "between 0 and 1",
    ),
    "elastic": (
        {"constraints": [{**WALL, "restitution": 1}]},
        {"constraints": [{**WALL, "restitution": 1.001}]},
        "between 0 and 1",
    ),
    "restitution by a parameter": (
        {"constraints": [{**WALL, "restitution": "m/2"}]},
        {"constraints": [{**WALL, "restitution": "m"}]},
        "between 0 and 1",
    ),
    "restitution of an equality": (
        {"constraints": [WALL]},
        {"constraints": [{"expression": "y = 0", "restitution": 1}]},
        "not one-sided",
    ),
    "work of a wall": (
        {"constraints": [WALL]},
        {"constraints": [{**WALL, "work": {"x": "1"}}]},
        "has work",
    ),
    "kind of a bare expression": (
        {"constraints": [{"expression": "y", "kind": "unilateral"}]},
        {"constraints": [{"expression": "y = 0", "kind": "unilateral"}]},
        "its relation is not",
    ),
    "kind of a wall": (
        {"constraints": [{**WALL, "kind": "unilateral"}]},
        {"constraints": [{**WALL, "kind": "holonomic"}]},
        "its relation is not",
    ),
    "integers": ({"potential": 2**998}, {"potential": 2**1000}, "a finite number"),
    "truth is no number": (
        {"parameters": {"m": 1}},
        {"parameters": {"m": True}},
        "must be a number",
    ),
    "truth is no expression": ({"potential": 1}, {"potential": True}, "an expression in quotes"),
    "infinite parameter": (
        {"parameters": {"m": 1e308}},
        {"parameters": {"m": float("inf")}},
        "must be finite",
    ),
    "huge parameter": (
        {"parameters": {"m": 10**308}},
        {"parameters": {"m": 10**309}},
        "must be finite",
    ),
    "twice": ({"coordinates": ["x", "y"]}, {"coordinates": ["x", "y", "x"]}, "twice"),
    "names in one text": ({"coordinates": ["x", "y"]}, {"coordinates": "xy"}, "an array of names"),
    "names that are numbers": (
        {"coordinates": ["x", "y"]},
        {"coordinates": ["x", 1]},
        "an array of names",
    ),
    "free input": (
        {"inputs": {"u": {"free": True}}},
        {"inputs": {"u": {"free": False}}},
        "an expression in quotes",
    ),
    "image": (
        {"image": {"speeds": ["u"], "x": "u", "y": "u"}},
        {"image": {"speeds": [], "x": "1", "y": "1"}},
        "image has no speeds",
    ),
    "span": ({"simulate": {"t": [0, 1]}}, {"simulate": {"t": [1, 1]}}, "two different times"),
    "span of three": (
        {"simulate": {"t": [1, 0]}},
        {"simulate": {"t": [0, 1, 2]}},
        "two different times",
    ),
    "times": (
        {"simulate": {"t": [0, 1], "at": [0, 1]}},
        {"simulate": {"t": [0, 1], "at": [0, 1.01]}},
        "times outside",
    ),
    "times before": (
        {"simulate": {"t": [1, 0], "at": [0, 1]}},
        {"simulate": {"t": [1, 0], "at": [-0.01, 1]}},
        "times outside",
    ),
    "no times": ({"simulate": {"at": [0.5]}}, {"simulate": {"at": []}}, "an array of numbers"),
    "rtol": ({"simulate": {"rtol": 1e-300}}, {"simulate": {"rtol": 0}}, "rtol` must be positive"),
    "atol": ({"simulate": {"atol": 1e-300}}, {"simulate": {"atol": 0}}, "atol` must be positive"),
    "step": (
        {"simulate": {"method": "gauss4", "step": 1e-9, "every": 1}},
        {"simulate": {"method": "gauss4", "step": 0}},
        "step` must be positive",
    ),
    "no step": (
        {"simulate": {"method": "auto"}},
        {"simulate": {"method": "gauss4"}},
        "needs a step",
    ),
    "step of a method that chooses": (
        {"simulate": {"method": "dop853", "rtol": 1e-8}},
        {"simulate": {"method": "dop853", "step": 0.1}},
        "chooses its steps",
    ),
    "tolerance of a method that is told": (
        {"simulate": {"method": "gauss4", "step": 0.1}},
        {"simulate": {"method": "gauss4", "step": 0.1, "atol": 1e-8}},
        "takes fixed steps",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_at_the_bound_there_is_no_fault_and_beyond_there_is(case: str) -> None:
    allowed, refused, part = CASES[case]
    said = faults(**allowed)
    assert part not in said
    assert part in faults(**refused)


def test_reading_stops_after_thirty_faults() -> None:
    with pytest.raises(DalembertError) as caught:
        read_scenario({**PENDULUM, **{f"stray{k}": 1 for k in range(40)}})
    assert str(caught.value).count("stray") == 30


def test_parameters_by_each_other_come_in_the_right_order() -> None:
    """A chain of formulas, written backwards; a circle is refused."""
    chain = {"m": "a + b", "b": "2*a", "a": "c**2", "c": 3}
    assert read_scenario({**PENDULUM, "parameters": chain}).parameters == {
        "m": 27.0,
        "b": 18.0,
        "a": 9.0,
        "c": 3.0,
    }
    assert "defined by each other" in faults(parameters={"m": "a", "a": "2*m"})


@pytest.mark.parametrize("value", ["1/0", float("inf"), True, "sqrt(-m)"], ids=str)
def test_a_parameter_without_a_value_does_not_bring_further_faults(value: Any) -> None:
    """A restitution by that parameter is not held against its bounds, and a parameter that divides
    by it is no second fault.
    """
    bouncing = {
        "parameters": {"m": 2.0, "e": value, "k": "1/e"},
        "constraints": [{**WALL, "restitution": "e"}],
    }
    assert (
        "parameters.e" in (said := faults(**bouncing))
        and "restitution" not in said
        and "parameters.k" not in said
    )


def test_symbols_have_names_and_every_strange_one_is_told() -> None:
    said = faults(
        parameters={"m": 2.0, "a-b": 1.0, "2x": 1.0}, start={"x": 1.0, "zz": 1.0, "ww": 2.0}
    )
    assert all(f"'{name}' is not a name" in said for name in ("a-b", "2x"))
    assert "start names 'zz'" in said and "start names 'ww'" in said
