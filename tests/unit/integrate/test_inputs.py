"""Inputs as expressions, as numbers and as Python functions: the same motion, and errors that come
through.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

X = da.coordinates("x")
U, W = da.inputs("u w")
K = da.parameters("k")
DRIVEN = da.System([X], kinetic=X.dot**2 / 2, potential=X**2 / 2, forces={X: U}, inputs=[U])
TIMES = np.linspace(0, 5, 6)


def run(system: da.System = DRIVEN, **options: Any) -> da.Motion:
    return da.simulate(system, {X: 0.3}, (0, 5), at=TIMES, rtol=1e-12, **options)


def closed_form(t: np.ndarray) -> np.ndarray:
    """x'' + x = sin(2 t), x(0) = 0.3, x'(0) = 0."""
    return 0.3 * np.cos(t) + 2 / 3 * np.sin(t) - np.sin(2 * t) / 3


@pytest.mark.parametrize(
    "imposed",
    [sympy.sin(2 * da.t), lambda t, state: np.sin(2 * t)],
    ids=["expression", "function"],
)
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_an_input_of_time(imposed: Any, form: str) -> None:
    motion = run(inputs={U: imposed}, form=form)
    assert np.allclose(motion["x"], closed_form(TIMES), atol=1e-10)
    assert np.allclose(motion["u"], np.sin(2 * TIMES), atol=1e-14)


def test_the_system_may_bring_its_inputs() -> None:
    assert np.allclose(
        run(DRIVEN.driven({"u": sympy.sin(2 * da.t)}))["x"], closed_form(TIMES), atol=1e-10
    )


def test_a_given_input_is_replaced_by_one_that_is_passed() -> None:
    given = DRIVEN.driven({U: 7 * da.t})
    for imposed in (sympy.sin(2 * da.t), lambda t, state: np.sin(2 * t)):
        assert np.allclose(run(given, inputs={"u": imposed})["x"], closed_form(TIMES), atol=1e-10)


def test_a_number() -> None:
    assert np.allclose(run(inputs={"u": 1})["x"], 1 - 0.7 * np.cos(TIMES), atol=1e-10)


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_feedback_of_the_state(form: str) -> None:
    """u = -3 x - 2 x' as an expression of either symbol, and as a function of the state that the
    form has.
    """
    symbols = {"lagrange": X.dot, "hamilton": X.momentum}
    name = symbols[form].name
    expected = run(inputs={U: -3 * X - 2 * X.dot})["x"]
    by_symbol = run(inputs={U: -3 * X - 2 * symbols[form]}, form=form)["x"]
    by_function = run(inputs={U: lambda t, state: -3 * state["x"] - 2 * state[name]}, form=form)[
        "x"
    ]
    assert np.allclose(by_symbol, expected, atol=1e-10)
    assert np.allclose(by_function, expected, atol=1e-10)
    damped = (
        0.3
        * np.exp(-TIMES)
        * (np.cos(np.sqrt(3) * TIMES) + np.sin(np.sqrt(3) * TIMES) / np.sqrt(3))
    )
    assert np.allclose(expected, damped, atol=1e-10)


def test_several_inputs_of_both_kinds() -> None:
    system = da.System(
        [X], kinetic=X.dot**2 / 2, potential=X**2 / 2, forces={X: U + 2 * W}, inputs=[U, W]
    )
    for u, w in (
        (sympy.sin(2 * da.t) / 3, lambda t, s: np.sin(2 * t) / 3),
        (lambda t, s: 0.0, lambda t, s: np.sin(2 * t) / 2),
    ):
        motion = run(system, inputs={U: u, W: w})
        assert np.allclose(motion["x"], closed_form(TIMES), atol=1e-10)
    mixed = da.System(
        [X],
        kinetic=X.dot**2 / 2,
        potential=X**2 / 2,
        forces={X: U + 2 * W},
        inputs={U: 99 * da.t, W: None},
    )
    motion = run(mixed, inputs={U: lambda t, s: np.sin(2 * t), W: lambda t, s: 0.0})
    assert np.allclose(motion["x"], closed_form(TIMES), atol=1e-10)


def test_events_may_name_an_input() -> None:
    for imposed in (sympy.cos(da.t), lambda t, state: np.cos(t)):
        motion = run(inputs={U: imposed}, events=[U])
        assert motion.t_events[0] == pytest.approx([np.pi / 2, 3 * np.pi / 2], abs=1e-10)


def test_the_work_of_an_input_is_the_change_of_energy() -> None:
    times = np.linspace(0, 5, 4001)
    motion = da.simulate(
        DRIVEN, {X: 0.3}, (0, 5), at=times, rtol=1e-12, inputs={U: lambda t, s: np.sin(2 * t)}
    )
    power = motion["u"] * motion["x_dot"]
    work = np.sum((power[1:] + power[:-1]) / 2 * np.diff(times))
    assert motion.energy[-1] - motion.energy[0] == pytest.approx(work, abs=1e-6)


class TroubleError(Exception):
    """Not a number."""


def failing(t: float, state: Any) -> float:
    if t > 2.0:
        raise TroubleError("no force after two")
    return 0.0


def test_what_an_input_function_raises_comes_through() -> None:
    with pytest.raises(ModelError, match="no force after two") as caught:
        run(inputs={U: failing})
    assert isinstance(caught.value.__cause__, TroubleError)


@pytest.mark.parametrize("value", ["text", None, [1.0, 2.0]])
def test_an_input_function_must_return_a_number(value: Any) -> None:
    with pytest.raises(ModelError, match="input"):
        run(inputs={U: lambda t, state: value})


def test_an_input_that_is_not_a_number_anymore_ends_the_run() -> None:
    """NaN from a function is no error of the call: the run ends where it happens, and says so."""
    motion = run(inputs={U: lambda t, state: np.nan if t > 2.0 else 0.0})
    assert not motion.success
    assert motion.t[-1] <= 2.0
    assert "the function of the input `u` returned nan" in motion.message


def test_an_input_that_is_never_a_number_is_said_to_be_none() -> None:
    """The mass matrix was said to be singular, and more inertia asked for."""
    with pytest.raises(da.errors.SingularError, match="input `u` returned inf at t = 0"):
        run(inputs={U: lambda t, state: np.inf})


def test_ctrl_c_inside_an_input_function_interrupts() -> None:
    def pressed(t: float, state: Any) -> float:
        if t > 2.0:
            raise KeyboardInterrupt
        return 0.0

    motion = run(inputs={U: pressed})
    assert motion.outcome is da.Outcome.INTERRUPTED
    assert len(motion.t) > 0 and motion.t[-1] <= 2.0


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, "not imposed"),
        ({}, "not imposed"),
        ({"v": 1.0}, "no input `v`"),
        ({"v": lambda t, s: 0.0, "u": 1.0}, "no input `v`"),
        ({U: "sin(t)"}, r"expression.*without quotes, such as u0\*sin\(w\*da\.t\)"),
        ({U: K * X}, "parameter|value"),
        ({U: U}, "no place"),
        ({U: da.coordinates("y")}, "does not have"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_wrong_inputs_are_named(inputs: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        run(inputs=inputs)


def test_an_input_is_given_once_and_by_name() -> None:
    """Of a symbol and its name the last was taken; a list ended in an AttributeError."""
    x, u = da.coordinates("x"), da.inputs("u")
    pushed = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(da.errors.ModelError, match="`u` twice"):
        da.simulate(pushed, {}, (0, 1), inputs={u: 1, "u": 2})
    with pytest.raises(da.errors.ModelError, match="by name"):
        da.simulate(pushed, {}, (0, 1), inputs=[1.0])
