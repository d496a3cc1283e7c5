"""Spectra, Poincare sections and pictures of evidence against motions that are known in closed
form.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.plotting import (
    amplitude_spectrum,
    crossings,
    exponents,
    poincare,
    spectrum,
    work_precision,
)


@pytest.fixture(scope="module")
def pair():
    """Two oscillators of frequencies 1 and sqrt(2) (angular), amplitudes 0.7 and 0.2."""
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=x**2 / 2 + y**2, outputs={"sum": x + y}
    )
    return da.simulate(system, {x: 0.7, y: 0.2}, (0, 100), rtol=1e-11)


def test_a_line_has_the_frequency_and_the_height_of_its_oscillation(pair):
    line = amplitude_spectrum(pair, "x").peaks[0]
    assert 2 * np.pi * line.frequency == pytest.approx(1.0, abs=1e-4)
    assert line.amplitude == pytest.approx(0.7, rel=1e-3)


def test_two_lines_are_told_apart(pair):
    first, second = amplitude_spectrum(pair, "sum", peaks=2).peaks
    assert 2 * np.pi * np.array([first.frequency, second.frequency]) == pytest.approx(
        [1.0, np.sqrt(2)], abs=2e-3
    )
    assert (first.amplitude, second.amplitude) == pytest.approx((0.7, 0.2), rel=2e-2)


def test_the_mean_makes_no_line():
    x = da.coordinates("x")
    motion = da.simulate(
        da.System([x], kinetic=x.dot**2 / 2, potential=(x - 5) ** 2 / 2), {x: 5.5}, (0, 60)
    )
    found = amplitude_spectrum(motion, x)
    assert found.peaks[0].amplitude == pytest.approx(0.5, rel=1e-3)
    assert found.amplitude[0] < 1e-2


def test_hanns_window_keeps_the_feet_low(pair):
    """Far from a line that falls between two samples the window is thousands of times lower."""
    hann, bare = (
        amplitude_spectrum(pair, "x", window=window).amplitude for window in ("hann", "none")
    )
    far = slice(300, 500)
    assert hann[far].max() < 1e-3 * bare[far].max()


@pytest.mark.long
def test_the_picture_of_a_spectrum_marks_lines(pair, tmp_path):
    for style in ("light", "dark"):
        picture = spectrum(pair, "x", angular=True, path=tmp_path / f"{style}.svg", style=style)
        marked = [line.get_xdata()[0] for line in picture.axes[0].lines if line.get_marker() == "v"]
        assert marked == pytest.approx([1.0], abs=1e-3)
    assert picture.axes[0].get_yscale() == "log"


def test_wrong_spectra_are_refused(pair):
    with pytest.raises(ModelError, match="did you mean `hann`"):
        amplitude_spectrum(pair, "x", window="han")
    with pytest.raises(ModelError, match="no quantity `xx`"):
        amplitude_spectrum(pair, "xx")
    with pytest.raises(ModelError, match="16 samples"):
        amplitude_spectrum(pair, "x", samples=3)


def test_crossings_lie_on_the_section_at_known_times(pair):
    """x = 0.7 cos t grows through zero at 3 pi / 2 + 2 pi k."""
    found = crossings(pair, "x = 0", direction=1)
    np.testing.assert_allclose(found.t, 1.5 * np.pi + 2 * np.pi * np.arange(len(found)), rtol=1e-9)
    assert len(found) == 16 and (found.direction == 1).all()
    assert np.abs(found.residual).max() < 1e-13
    np.testing.assert_allclose(found["y"], 0.2 * np.cos(np.sqrt(2) * found.t), atol=1e-8)
    np.testing.assert_allclose(found["energy"], pair.energy[0], rtol=1e-9)
    np.testing.assert_allclose(found["sum"], found["y"], atol=1e-12)


def test_both_directions_are_those_apart_together(pair):
    up, down, both = (crossings(pair, da.coordinates("x"), way) for way in (1, -1, 0))
    np.testing.assert_array_equal(np.sort(np.concatenate([up.t, down.t])), both.t)


def test_a_section_may_depend_on_time_and_parameters():
    x = da.coordinates("x")
    k = da.parameters("k")
    motion = da.simulate(
        da.System([x], kinetic=x.dot**2 / 2, potential=k * x**2 / 2),
        {x: 1.0},
        (0, 30),
        parameters={k: 4.0},
    )
    strobe = crossings(motion, "sin(k*t)", direction=1)
    np.testing.assert_allclose(strobe.t, np.arange(1, len(strobe) + 1) * 2 * np.pi / 4, rtol=1e-12)
    assert len(strobe) == 19


def test_near_misses_and_touches_of_a_section(pair):
    """0.7 cos t reaches 0.699 twice about each top; the two crossings are 0.107 apart."""
    tops = crossings(pair, "x = 0.699", direction=0)
    half = np.arccos(0.699 / 0.7)
    expected = np.sort(
        np.concatenate([2 * np.pi * np.arange(16) + half, 2 * np.pi * np.arange(1, 16) - half])
    )
    np.testing.assert_allclose(tops.t, expected, atol=1e-7)
    assert len(crossings(pair, "x = 0.701")) == 0


def test_motions_that_run_backward_are_cut_too():
    x = da.coordinates("x")
    motion = da.simulate(
        da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2), {x: 1.0}, (0, -20)
    )
    found = crossings(motion, "x = 0")
    np.testing.assert_allclose(found.t, -(np.pi / 2 + np.pi * np.arange(len(found))), rtol=1e-9)
    assert len(found) == 6


def test_many_steps_are_looked_at_where_it_matters(pair, monkeypatch):
    every = crossings(pair, "x = 0.699").t
    monkeypatch.setattr(sys.modules["dalembert.plotting.curves.poincare"], "MOST_SAMPLES", 10)
    np.testing.assert_allclose(crossings(pair, "x = 0.699").t, every, rtol=0, atol=1e-12)


@pytest.mark.long
def test_an_integrable_section_is_a_curve(pair, tmp_path):
    """Two uncoupled oscillators: the section is the ellipse of the second one."""
    picture = pair.poincare("x = 0", "y", "y_dot", path=tmp_path / "section.pdf")
    u, v = picture.axes[0].lines[0].get_data()
    np.testing.assert_allclose(v**2 / 2 + u**2, 0.04, rtol=1e-7)
    assert len(poincare([pair, pair], "x = 0", "y", "y_dot", style="dark").axes[0].lines) == 2


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("x <= 0", "equation"),
        (3, "expression"),
        (da.parameters("zz"), "no symbol of the state"),
        ("w = 0", "`w` is not known"),
        ("1 = 2", "does not depend"),
        ("x = 5", "No motion crosses"),
    ],
)
def test_wrong_sections_are_refused(pair, section, message):
    with pytest.raises(ModelError, match=message):
        poincare(pair, section, "y", "y_dot")


@pytest.mark.long
def test_exponents_far_apart_have_panels_of_their_own(tmp_path):
    t = np.linspace(1, 100, 200)
    final = np.array([0.9, 0.0, -14.6])
    history = final + np.outer(1 / t, [1, -1, 2])
    found = SimpleNamespace(
        exponents=final,
        uncertainty=[0.03, 0.01, 0.02],
        t=t,
        history=history,
        motion=SimpleNamespace(system=SimpleNamespace(name="L")),
    )
    picture = exponents(found, path=tmp_path / "exponents.svg")
    assert len(picture.axes) == 2
    np.testing.assert_array_equal(picture.axes[1].lines[0].get_ydata(), history[:, 2])
    assert picture.axes[1].get_ylim()[1] < 0


@pytest.mark.long
def test_work_precision_keeps_what_is_positive(tmp_path):
    runs = {
        "a": [(1e-3, 2.0), (1e-2, 1.0), (0.0, 3.0), (np.nan, 1.0)],
        "b": [(1e-4, 1.0)],
        "c": [(0.0, 0.0)],
    }
    for style in ("light", "dark"):
        picture = work_precision(
            runs, style=style, path=tmp_path / f"{style}.png", groups={"family": ["a", "b"]}
        )
    lines = picture.axes[0].lines
    assert len(lines) == 2 and list(lines[0].get_xdata()) == [1e-2, 1e-3]
    assert (
        lines[0].get_color() == lines[1].get_color()
        and lines[0].get_marker() != lines[1].get_marker()
    )
    with pytest.raises(ModelError, match="nothing to plot"):
        work_precision({"a": [(0.0, 1.0)]})
