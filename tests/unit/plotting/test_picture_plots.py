"""Plots and phase portraits: the right panels, labels and data, for systems of every size."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
from picture_motions import many, oscillator, wheel

from dalembert.errors import ModelError
from dalembert.plotting import mathtext, phase, plot
from dalembert.plotting.curves.panels import PANELS, chosen_panels
from dalembert.plotting.curves.plots import spread
from dalembert.plotting.motion_samples import (
    curve_times,
    evaluate,
    event_marks,
    finite_span,
    series,
    through,
)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("theta", r"$\theta$"),
        ("theta_dot", r"$\dot{\theta}$"),
        ("theta1_ddot", r"$\ddot{\theta}_{1}$"),
        ("p_x", "$p_{x}$"),
        ("p_theta1", r"$p_{\theta_{1}}$"),
        ("x_1_dot", r"$\dot{x}_{1}$"),
        ("energy", "$E$"),
        ("lambda", r"$\lambda$"),
        ("xc", "xc"),
        ("leaf", "leaf"),
    ],
)
def test_names_become_mathtext(name, label):
    assert mathtext(name) == label


def test_every_label_can_be_drawn():
    from matplotlib.mathtext import MathTextParser

    names = [
        "theta_dot",
        "p_theta1",
        "chi_rolling_x",
        "chi_c1",
        "I",
        "beta",
        "Omega3_dot",
        "q12_ddot",
        "x_a1",
        "é_dot",
    ]
    for name in names:
        MathTextParser("agg").parse(mathtext(name))


def test_default_panels_of_a_free_and_a_constrained_system():
    assert [p.title.split(",")[0] for p in chosen_panels(oscillator(), None, None)] == [
        "coordinates",
        "velocities",
        "energy drift",
    ]
    titles = [p.title for p in chosen_panels(wheel(), None, None) if p.title]
    assert titles[0] == "coordinates" and titles[-2:] == [
        "reaction of rolling x",
        "reaction of rolling y",
    ]
    assert "constraint residuals" in titles


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8, 12, 13, 40])
def test_systems_of_every_size_are_plotted_whole(count, tmp_path):
    motion = many(count)
    picture = plot(motion, path=tmp_path / "plot.png")
    labels = [line.get_label() for axes in picture.axes for line in axes.lines]
    assert {mathtext(f"q{k}") for k in range(1, count + 1)} <= set(labels)
    assert (tmp_path / "plot.png").stat().st_size > 5_000
    for axes in picture.axes:
        colors = [line.get_color() for line in axes.lines if not line.get_label().startswith("_")]
        assert len(set(colors)) == len(colors)


def test_curves_are_smooth_between_long_steps():
    motion = oscillator(steps=9)
    t = curve_times(motion)
    assert t.size > 1000 and t[0] == 0 and t[-1] == motion.t[-1]
    np.testing.assert_allclose(series(motion, ["x"], t)["x"], np.cos(t), atol=1e-14)
    assert set(motion.t) <= set(t)


def test_stored_quantities_are_drawn_through_their_values():
    t = np.linspace(0, 6, 80)
    fine = np.linspace(0, 6, 1000)
    assert np.max(np.abs(through(t, np.sin(t), fine) - np.sin(fine))) < 1e-3
    back = through(t[::-1], np.sin(t[::-1]), fine)
    np.testing.assert_allclose(back, through(t, np.sin(t), fine))
    shuffled = np.random.default_rng(3).permutation(t.size)
    np.testing.assert_allclose(
        through(t[shuffled], np.sin(t[shuffled]), fine), through(t, np.sin(t), fine)
    )


def test_no_curve_is_smoothed_across_an_impact():
    before, after = np.linspace(0, 1, 9), np.linspace(1, 2, 9)
    t, v = np.concatenate([before, after]), np.concatenate([before**2, -after])
    fine = np.array([0.3, 0.999, 1.001, 1.7])
    np.testing.assert_allclose(through(t, v, fine), [0.09, 0.998, -1.001, -1.7], atol=1e-3)


def test_times_in_any_order_are_drawn_in_order():
    motion = oscillator()
    shuffled = np.random.default_rng(4).permutation(motion.t.size)
    motion.t = motion.t[shuffled]
    motion.derived = {name: values[shuffled] for name, values in motion.derived.items()}
    assert (np.diff(curve_times(motion)) > 0).all()
    assert finite_span(motion) == (0.0, 4.0)
    for panel in chosen_panels(motion, None, ["coordinates", "energy"]):
        assert (np.diff(panel.curves[0].t) > 0).all()


def test_energy_drift_is_relative_and_scaled():
    (panel,) = PANELS["energy"](oscillator())
    assert "10^{-11}" in panel.title
    assert panel.curves[0].y[-1] == pytest.approx(3.0, rel=1e-3)


def test_energy_itself_is_shown_where_it_changes():
    motion = oscillator()
    motion.derived["energy"] = np.exp(-motion.t)
    (panel,) = PANELS["energy"](motion)
    assert panel.title == "energy" and panel.curves[0].y[0] == pytest.approx(1.0)


def test_residuals_are_logarithmic_without_gaps():
    motion = wheel()
    motion.velocity["rolling_x"] = np.zeros_like(motion.t)
    motion.velocity["rolling_y"][3:7] = 0.0
    picture = plot(motion, panels=["residuals"])
    (axes,) = picture.axes
    assert axes.get_yscale() == "log" and len(axes.lines) == 1
    drawn = axes.lines[0].get_ydata()
    assert (drawn > 0).all() and drawn[3] < 1e-16 < drawn[0]


def test_reactions_show_the_coordinates_they_act_on():
    first, second = PANELS["reactions"](wheel())
    assert [c.label for c in first.curves] == ["$Q_{x}$"] and [c.label for c in second.curves] == [
        "$Q_{y}$"
    ]
    assert max(first.curves[0].y) == pytest.approx(3.0, rel=1e-3)


def test_names_and_groups_of_names_choose_panels():
    picture = plot(wheel(), ["phi", ("x", "y")])
    assert [len(axes.lines) for axes in picture.axes] == [1, 2]
    assert picture.axes[-1].get_xlabel() == "$t$"


def test_events_are_marked():
    motion = oscillator()
    picture = plot(motion, ["x"])
    marks = [line for line in picture.axes[0].lines if len(set(line.get_xdata())) == 1]
    assert [line.get_xdata()[0] for line in marks] == pytest.approx(list(motion.t_events[0]))
    motion.impacts = ((1.0, "floor"), (2.0, "wall"), (3.0, "floor"))
    assert [(mark.name, mark.times.size) for mark in event_marks(motion)][1:] == [
        ("impact floor", 2),
        ("impact wall", 1),
    ]
    motion.t_events = [np.linspace(0, 4, 100)]
    assert any(line.get_marker() == "|" for line in plot(motion, ["x"]).axes[0].lines)


def test_unknown_names_and_panels_suggest_the_nearest():
    with pytest.raises(ModelError, match="did you mean `x_dot`"):
        plot(oscillator(), ["x_dott"])
    with pytest.raises(ModelError, match="did you mean `reactions`"):
        plot(oscillator(), panels=["reaction"])


@pytest.mark.long
def test_phase_portrait_has_the_data_and_the_labels(tmp_path):
    picture = phase(oscillator(end=7.0), "x", "x_dot", path=tmp_path / "phase.pdf")
    (axes,) = picture.axes
    corners = np.concatenate(axes.collections[0].get_segments())
    np.testing.assert_allclose(np.hypot(*corners.T), 1.0, atol=1e-12)
    assert axes.get_ylabel() == r"$\dot{x}$"
    assert (tmp_path / "phase.pdf").exists()


def test_phase_portrait_in_space(tmp_path):
    picture = phase(wheel(), "x", "y", "phi", path=tmp_path / "phase.png", style="dark")
    assert picture.axes[0].get_zlabel() == r"$\phi$"
    with pytest.raises(ModelError, match="different quantities"):
        phase(wheel(), "x", "x")


def test_expressions_follow_the_motion():
    motion = wheel()
    x, y, *_ = motion.system.coordinates
    t = np.linspace(0, 6, 50)
    squared, constant = evaluate(motion, [x**2 + y**2, 2], t)
    np.testing.assert_allclose(squared, 2.25, rtol=1e-12)
    assert constant.shape == t.shape and (constant == 2).all()


def test_labels_are_moved_apart_and_no_more():
    placed = spread([0.5, 0.5, 0.52, 0.95], 0.1)
    assert np.diff(sorted(placed)).min() >= 0.1 - 1e-12
    assert placed[3] == 0.95 and np.mean(placed[:3]) == pytest.approx(np.mean([0.5, 0.5, 0.52]))


def test_labels_stay_beside_their_panel():
    for heights in ([0.0, 0.01, 0.02], [1.0, 1.0, 0.99], [0.0, 1.0, 0.5, 0.5]):
        placed = spread(heights, 0.2)
        assert min(placed) >= -1e-12 and max(placed) <= 1 + 1e-12
        assert np.diff(sorted(placed)).min() >= 0.2 - 1e-12


def test_pyplot_is_never_needed():
    import subprocess

    code = "import sys, dalembert.plotting; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
