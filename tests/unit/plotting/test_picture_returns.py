"""Returns to the start, on a motion whose period is known: cos(t)."""

from __future__ import annotations

import numpy as np
import pytest
from picture_motions import oscillator, wheel

from dalembert.errors import ModelError
from dalembert.plotting import closest_return, period, return_distance, section_through_start


def test_distance_from_the_start_is_a_chord():
    motion = oscillator(end=20.0)
    t = np.linspace(0, 20, 7)
    np.testing.assert_allclose(return_distance(motion, t), 2 * np.abs(np.sin(t / 2)), atol=1e-12)
    assert isinstance(return_distance(motion, 1.0), float)


def test_the_mirror_image_is_met_half_a_period_later():
    motion = oscillator(end=20.0)
    found = closest_return(motion, near=3.0, mirror=("x", "x_dot"))
    assert found.time == pytest.approx(np.pi, abs=1e-6) and found.distance < 1e-6
    assert closest_return(motion, near=6.0).time == pytest.approx(2 * np.pi, abs=1e-6)


def test_a_time_beyond_the_motion_is_refused():
    with pytest.raises(ModelError, match="simulate a longer span"):
        closest_return(oscillator(end=4.0), near=30.0)


def test_the_period_is_the_first_event_that_is_a_return():
    motion = oscillator(end=20.0)
    motion.t_events = [np.array([0.0, np.pi, 2 * np.pi, 4 * np.pi])]
    found = period(motion)
    assert found.time == pytest.approx(2 * np.pi) and found.distance < 1e-12


def test_a_motion_without_returns_says_how_to_find_them():
    motion = oscillator(end=5.0)
    with pytest.raises(ModelError, match="section_through_start"):
        period(motion)


def test_the_section_is_crossed_at_the_start_and_only_along_the_velocity():
    motion = wheel()
    start = {
        symbol.name: float(value)
        for symbol, value in zip(motion.state, motion.y[:, 0], strict=True)
    }
    section = section_through_start(motion.system.coordinates, start)
    values = {symbol: start[symbol.name] for symbol in motion.system.coordinates}
    assert section.subs(values) == 0
    ahead = {q: start[q.name] + 0.1 * start[q.dot.name] for q in motion.system.coordinates}
    assert section.subs(ahead) > 0
