"""At the edges of time a motion is right, or says what is wrong: events at one instant, ends, far
times, backwards.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

x, y = da.coordinates("x y")
OSCILLATOR = da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2)
PAIR = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + y**2) / 2)
METHODS = ("dop853", "taylor")


@pytest.mark.parametrize("method", METHODS)
def test_an_event_that_is_zero_exactly_where_it_is_looked_at_is_met_there(method):
    searched = [da.event(da.t - 0.5), da.event(da.t - 2, name="end"), da.event(0.5 - da.t, -1)]
    motion = da.simulate(OSCILLATOR, {x: 1.0}, (0, 2), events=searched, method=method)
    assert [times.tolist() for times in motion.t_events] == [[0.5], [2.0], [0.5]]


@pytest.mark.parametrize("method", METHODS)
def test_an_event_that_is_zero_over_a_stretch_is_met_where_that_begins(method):
    motion = da.simulate(
        OSCILLATOR, {x: 1.0}, (0, 1.5), events=[da.event(sympy.floor(2 * x))], method=method
    )
    assert motion.t_events[0] == pytest.approx([math.acos(0.5)], abs=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_events_at_the_instant_of_the_last_one_are_kept(method):
    searched = [da.event(x, terminal=True), da.event(y), da.event(x + y), da.event(x - 0.5)]
    motion = da.simulate(PAIR, {x: 1.0, y: 1.0}, (0, 3), events=searched, method=method)
    assert [len(times) for times in motion.t_events] == [1, 1, 1, 1]
    assert motion.t_events[0] == motion.t_events[1] == motion.t_events[2] == motion.t[-1]


def test_a_pole_is_no_crossing_and_a_constant_no_event():
    motion = da.simulate(OSCILLATOR, {x: 1.0}, (0, 3), events=[da.event(1 / x, terminal=True)])
    assert motion.t[-1] == 3.0 and len(motion.t_events[0]) == 0
    with pytest.raises(ModelError, match="constant"):
        da.simulate(OSCILLATOR, {x: 1.0}, (0, 3), events=[da.event(x - x)])
    told = da.simulate(
        OSCILLATOR, {x: 1.0}, (0, 3), events=[da.event(sympy.log(x - 0.2), name="depth")]
    )
    assert "event `depth` has no value" in told.message


@pytest.mark.parametrize("method", METHODS)
def test_far_from_zero_states_belong_to_the_times_that_the_clock_can_tell(method):
    begin = 1e12
    motion = da.simulate(OSCILLATOR, {x: 1.0}, (begin, begin + 5), method=method)
    assert np.max(np.abs(motion["x"] - np.cos(motion.t - begin))) < 1e-9
    assert "lie 0.00012 apart" in motion.message
    ended = da.simulate(OSCILLATOR, {x: 1.0}, (1e15, 1e15 + 5), method=method)
    assert not ended.success


@pytest.mark.long
def test_many_runs_far_from_zero_keep_their_times():
    begin = 1e12
    many = da.simulate(
        OSCILLATOR,
        {x: np.array([1.0, 2.0])},
        (begin, begin + 5),
        at=[begin + 5],
        method="taylor",
        rtol=1e-6,
    )
    np.testing.assert_allclose(many.final["x"], np.cos(5) * np.array([1.0, 2.0]), atol=1e-6)


def test_a_step_that_the_clock_cannot_tell_is_refused():
    with pytest.raises(ModelError, match="lost beside the times"):
        da.simulate(OSCILLATOR, {x: 1.0}, (1e15, 1e15 + 8), method="gauss4", step=0.25)
    assert da.simulate(OSCILLATOR, {x: 1.0}, (1e6, 1e6 + 8), method="gauss4", step=0.25).success


def test_a_span_of_nothing_says_so_and_one_outside_shows_its_digits():
    assert "The span has no length" in da.simulate(OSCILLATOR, {x: 1.0}, (1e17, 1e17 + 5)).message
    with pytest.raises(ModelError, match=r"2\.0000000000000004 in `at`"):
        da.simulate(OSCILLATOR, {x: 1.0}, (0, 2), at=[2.0000000000000004])


def test_impacts_are_not_followed_backwards():
    ball = da.System(
        [x],
        kinetic=x.dot**2 / 2,
        potential=10 * x,
        constraints=[da.unilateral(-x, restitution=0.5, name="floor")],
    )
    with pytest.raises(ModelError, match="forwards in time"):
        da.simulate(ball, {x: 1.0}, (1, 0))
    far = da.simulate(ball, {x: 1.0}, (1e6, 1e6 + 1.4))
    assert (
        far.impacts[0][0] - 1e6 == pytest.approx(math.sqrt(0.2), abs=1e-9) and len(far.impacts) > 20
    )
