"""Times at which expressions of time switch, against closed forms and against dense sampling."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import (
    Abs,
    Heaviside,
    Max,
    Min,
    Piecewise,
    cos,
    exp,
    floor,
    log,
    sign,
    sin,
    sqrt,
    tan,
    tanh,
)

import dalembert as da
from dalembert.model.switches import narrow_functions, switches, switches_of
from dalembert.model.time_zeros import UnknownTimesError, switch_times, times_of_value

T = da.t

EXPRESSIONS = [
    sign(sin(3 * T + 1)),
    floor(T / sympy.Rational(3, 10)),
    Abs(T**2 - 2),
    Heaviside(exp(-T) - sympy.Rational(1, 2)),
    Piecewise((1, T / 2 - floor(T / 2) < sympy.Rational(3, 10)), (0, True)),
    sign(sin(T) + T / 4 - 1),
    Max(sin(T), cos(T)),
    sign(cos(T**2) - sympy.Rational(1, 3)),
    Max(0, Min(1, T - 1, 3 - T)),
    sign(T * exp(-T) - sympy.Rational(1, 5)),
    floor(3 * sin(T)),
    sign(tanh(T) - T / 2),
    sign(log(T + 1) - 1),
    sign(sqrt(T + 1) - sympy.Rational(3, 2)),
    sign(1 / (T - 2)),
    sign(tan(T)),
    sign(Abs(sin(T)) - sympy.Rational(1, 2)),
    Piecewise((T, sign(sin(2 * T)) > 0), (0, True)),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=str)
def test_every_change_of_a_dense_sample_is_listed(expression: sympy.Expr) -> None:
    low, high = 0.01, 7.3
    found = switch_times(expression, low, high)
    for switch in switches_of(expression):
        side = sympy.lambdify(
            T,
            sympy.floor(switch.expression) if switch.at_integers else sympy.sign(switch.expression),
            "numpy",
        )
        times = np.linspace(low, high, 200_001)
        values = np.broadcast_to(side(times), times.shape)
        for place in np.flatnonzero(values[1:] != values[:-1]):
            inside = (found >= times[place] - 1e-9) & (found <= times[place + 1] + 1e-9)
            assert inside.any(), (switch.expression, times[place])


def test_closed_forms_are_exact() -> None:
    assert switch_times(sign(sin(sympy.pi * T)), 0.5, 3.5).tolist() == [1.0, 2.0, 3.0]
    assert times_of_value(T - floor(T), [0.25], 0, 3).tolist() == [0.25, 1.25, 2.25]
    assert switch_times(sign(T**2 - 2), 0, 3).tolist() == [np.sqrt(2)]
    assert switch_times(sign(sin(T) - 2), 0, 10).size == 0


def test_what_cannot_be_listed_is_said() -> None:
    with pytest.raises(UnknownTimesError):
        switch_times(sign(sin(1e9 * T)), 0, 1)
    with pytest.raises(UnknownTimesError):
        switch_times(sign(T * sin(1 / T)), 0, 1)


def test_switches_of_a_model() -> None:
    x = da.coordinates("x")
    c = da.parameters("c", positive=True)
    system = da.System(
        [x],
        kinetic=x.dot**2 / 2,
        potential=Abs(x),
        forces={x: Max(T - c, 0) - sign(x.dot) + Abs(c - 1)},
    )
    found = {str(switch.expression): switch for switch in switches(system)}
    assert set(found) == {"x", "x_dot", "-c + t"} or set(found) == {"x", "x_dot", "c - t"}
    assert (
        found["x"].jumps and found["x_dot"].jumps
    )  # a potential with a kink has a force with a jump
    assert not next(switch for name, switch in found.items() if "c" in name).jumps


def test_narrow_functions_of_a_model() -> None:
    x, y = da.coordinates("x y")
    toda = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=exp(x - y))
    assert not narrow_functions(toda)
    bump = da.System([x], kinetic=x.dot**2 / 2, potential=exp(-(x**2)), forces={x: 1 / (1 + T**2)})
    assert len(narrow_functions(bump)) == 2
