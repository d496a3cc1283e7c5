"""Derivatives across impacts, sticking and slipping, against closed forms and differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

G = 9.81
X, Y, TURN = da.coordinates("x y theta")
E, MU, M = da.parameters("e mu m", positive=True)


def differences(
    system: da.System, name: str, start: dict[Any, float], end: float, values: dict[Any, float]
) -> Any:
    """The derivative of the last state by central differences with one extrapolation."""

    def last(shift: float) -> Any:
        moved, given = dict(start), dict(values)
        table: Any = given if name in {str(k) for k in given} else moved
        key = next(k for k in table if str(k) == name)
        table[key] += shift
        return da.simulate(system, moved, (0, end), parameters=given, rtol=1e-13).y[:, -1]

    wide, narrow = ((last(h) - last(-h)) / (2 * h) for h in (2e-4, 1e-4))
    return (4 * narrow - wide) / 3


def test_a_bouncing_ball_by_its_restitution_and_height() -> None:
    floor = da.unilateral(Y >= 0, restitution=E, name="floor")
    ball = da.System([Y], kinetic=Y.dot**2 / 2, potential=G * Y, constraints=[floor])
    found = da.analysis.sensitivities(ball, [E, Y], {Y: 1.0}, (0, 1), parameters={E: 0.8}, at=[1.0])
    h, e = sympy.symbols("h e")
    first = sympy.sqrt(2 * h / G)
    flight = 1 - first
    height = e * G * first * flight - G * flight**2 / 2
    for key, symbol in ((E, e), (Y, h)):
        exact = float(sympy.diff(height, symbol).subs({h: 1, e: 0.8}))
        assert found["y", key][-1] == pytest.approx(exact, abs=1e-9)
    pulled = da.analysis.gradient(ball, [E, Y], {Y: 1.0}, (0, 1), parameters={E: 0.8}, final=Y)
    assert pulled.values == pytest.approx(found["y"][:, -1], abs=1e-9)


def test_a_ball_that_slides_and_then_rolls() -> None:
    floor = da.unilateral(Y >= 0.1, friction=MU, tangent=X.dot - 0.1 * TURN.dot, name="floor")
    ball = da.System(
        [X, Y, TURN],
        kinetic=M * (X.dot**2 + Y.dot**2 + 0.4 * 0.01 * TURN.dot**2) / 2,
        potential=M * G * Y,
        constraints=[floor],
    )
    start, values = {X.dot: 2.0, TURN.dot: -10.0, Y: 0.1}, {MU: 0.3, M: 1.5}
    wrt = [MU, M, X.dot, TURN.dot]
    found = da.analysis.sensitivities(ball, wrt, start, (0, 1), parameters=values, at=[1.0])
    v, w, mu = sympy.symbols("v w mu")
    ends = (v - w / 10) / (sympy.Rational(7, 2) * mu * G)
    rolls = v - mu * G * ends
    way = v * ends - mu * G * ends**2 / 2 + rolls * (1 - ends)
    point = {v: 2, w: -10, mu: 0.3}
    for key, symbol in ((MU, mu), (X.dot, v), (TURN.dot, w)):
        for name, value in (("x", way), ("x_dot", rolls)):
            exact = float(sympy.diff(value, symbol).subs(point))
            assert found[name, key][-1] == pytest.approx(exact, abs=1e-9)
    assert found["x", M][-1] == pytest.approx(0, abs=1e-9)


def test_sticking_with_a_larger_static_friction_and_slipping() -> None:
    slide = da.friction_loss(X.dot, MU, name="slide", static=1.5)
    system = da.System([X], kinetic=X.dot**2 / 2, forces={X: E * da.t}, constraints=[slide])
    found = da.analysis.sensitivities(
        system, [MU, E], {}, (0, 4), parameters={MU: 1.0, E: 0.5}, at=[4.0]
    )
    # It slips from t0 = 1.5/e on: v = e (t^2 - t0^2)/2 - mu (t - t0).
    e, mu = sympy.symbols("e mu")
    begins = sympy.Rational(3, 2) / e
    speed = e * (16 - begins**2) / 2 - mu * (4 - begins)
    for key, symbol in ((MU, mu), (E, e)):
        exact = float(sympy.diff(speed, symbol).subs({e: 0.5, mu: 1}))
        assert found["x_dot", key][-1] == pytest.approx(exact, abs=1e-8)


def test_a_plank_that_hits_the_floor_with_friction() -> None:
    tip = (X - 0.5 * sympy.cos(TURN), Y - 0.5 * sympy.sin(TURN))
    slip = sum(sympy.diff(tip[0], q) * q.dot for q in (X, Y, TURN))
    floor = da.unilateral(tip[1] >= 0, E, "tip", friction=MU, tangent=slip)
    plank = da.System(
        [X, Y, TURN],
        kinetic=(X.dot**2 + Y.dot**2 + TURN.dot**2 / 12) / 2,
        potential=G * Y,
        constraints=[floor],
    )
    start = {Y: 1.0, TURN: 0.6, X.dot: 1.0, TURN.dot: 0.5}
    values = {E: 0.5, MU: 0.2}
    end = 0.5
    wrt = [MU, E, Y, TURN, X.dot, TURN.dot]
    found = da.analysis.sensitivities(plank, wrt, start, (0, end), parameters=values, at=[end])
    assert len(found.motion.impacts) == 1
    for k, name in enumerate(map(str, wrt)):
        exact = differences(plank, name, start, end, values)
        mine = np.array([found[symbol.name][k, -1] for symbol in found.motion.state])
        assert mine == pytest.approx(exact, abs=2e-7 * max(1.0, np.abs(exact).max()))


def test_what_is_not_differentiated_says_so() -> None:
    floor = da.unilateral(Y >= 0, restitution=0.5, name="floor")
    ball = da.System([Y], kinetic=Y.dot**2 / 2, potential=G * Y, constraints=[floor])
    with pytest.raises(ModelError, match="infinitely many impacts"):
        da.analysis.sensitivities(ball, [Y], {Y: 1.0}, (0, 3))
    z = da.coordinates("z")
    table = da.unilateral(z >= 0, friction=0.3, tangent=(X.dot, Y.dot), name="table")
    puck = da.System(
        [X, Y, z],
        kinetic=(X.dot**2 + Y.dot**2 + z.dot**2) / 2,
        potential=G * z,
        constraints=[table],
    )
    with pytest.raises(ModelError, match="slip in space"):
        da.analysis.sensitivities(puck, [X.dot], {X.dot: 1.0, Y.dot: 0.2}, (0, 1))


def test_the_period_of_a_bounce_is_that_of_its_height() -> None:
    """A ball that is differentiated over two impacts, by its closed form."""
    floor = da.unilateral(Y >= 0, restitution=0.9, name="floor")
    ball = da.System([Y], kinetic=Y.dot**2 / 2, potential=G * Y, constraints=[floor])
    found = da.analysis.sensitivities(ball, [Y], {Y: 1.0}, (0, 1.5), at=[1.5])
    assert len(found.motion.impacts) == 2
    h = sympy.symbols("h")
    fall = sympy.sqrt(2 * h / G)
    flight = sympy.Float(1.5) - fall - 2 * sympy.Float(0.9) * fall
    height = sympy.Float(0.81) * G * fall * flight - G * flight**2 / 2
    exact = float(sympy.diff(height, h).subs(h, 1))
    assert found["y", Y][-1] == pytest.approx(exact, rel=1e-8)
