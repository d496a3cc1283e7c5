"""Verdicts on control systems are the same in all units of the symbols, the inputs and time."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.control.ports.impulse_response import is_hamiltonian_impulse_response
from dalembert.control.steering.input_fields import control_affine
from dalembert.control.steering.stabilisability import brockett_condition, linear_part
from dalembert.errors import ModelError

UNITS = [1e-12, 1.0, 1e12]
x, y, z, theta = SYMBOLS = da.coordinates("x y z theta")
a, b = da.inputs("a b")


def in_units(rates, lengths, inputs=1.0, time=1.0):
    """The same flow with symbols measured in units: X = unit x."""
    by_symbol = dict(zip(SYMBOLS, lengths, strict=True))
    change = {q: q / unit for q, unit in by_symbol.items()} | {u: u / inputs for u in (a, b)}
    flow = {q: by_symbol[q] / time * rate.xreplace(change) for q, rate in rates.items()}
    return da.Flow(flow, inputs=[u for u in (a, b) if any(rate.has(u) for rate in flow.values())])


CHAIN = {x: y, y: z + a, z: sin(x) - z}
WHEEL = {x: a * cos(theta), y: a * sin(theta), theta: b}
#: One direction is missing to first order, and bends to both sides, or to one.
SADDLE = {x: a, y: b, z: x**2 - y**2}
BOWL = {x: a, y: b, z: x**2 + y**2}
#: An unstable symbol that no input moves.
FIXED = {x: y, y: a - x, z: z}


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("rates", [CHAIN, WHEEL, SADDLE, BOWL, FIXED])
def test_linear_parts_and_brocketts_condition(rates, unit):
    def verdicts(*units):
        system = control_affine(in_units(rates, *units))
        linear = linear_part(system)
        return linear.rank, linear.is_controllable, brockett_condition(system, linear).verdict

    expected = verdicts([1.0] * 4)
    assert verdicts([unit] * 4) == expected
    assert verdicts([unit, 1.0, 1.0, 1.0], unit) == expected
    assert verdicts([1.0, unit, 1.0, 1.0], 1.0, unit) == expected


@pytest.mark.parametrize("unit", UNITS)
def test_a_point_is_on_the_relations_or_not(unit):
    circle = da.holonomic(x**2 + y**2 - unit**2, name="circle")
    bead = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, forces={x: a}, inputs=[a], constraints=[circle]
    )
    assert control_affine(bead, {x: unit * np.cos(0.3), y: unit * np.sin(0.3)}).dimension == 2
    with pytest.raises(ModelError, match="does not obey the relations"):
        control_affine(bead, {x: unit * 1.1})


@pytest.mark.parametrize("unit", UNITS)
def test_a_rate_is_at_rest_or_not(unit):
    falling = da.Flow({x: y, y: unit + 0 * x, z: a}, inputs=[a])
    assert da.control.controllability(falling).small_time == "no equilibrium"
    swinging = da.Flow({theta: z, z: unit * sin(theta) + a}, inputs=[a])
    assert da.control.controllability(swinging, {theta: np.pi}).small_time == "controllable"
    held = da.Flow({x: y, y: 3 * unit * a - unit}, inputs=[a])
    assert da.control.controllability(held, {a: 1 / 3}).small_time == "controllable"


@pytest.mark.parametrize("unit", UNITS)
def test_times_of_an_impulse_response(unit):
    times = unit * np.linspace(0, 2, 21)
    assert is_hamiltonian_impulse_response(np.sin(times / unit), times)
    with pytest.raises(ModelError, match="begin at t = 0"):
        is_hamiltonian_impulse_response(np.sin(times[1:] / unit), times[1:])
