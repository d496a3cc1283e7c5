"""Every gallery system can be drawn from its real motion, with its drawing inside the window."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import dalembert as da
from dalembert.plotting import animate, phase, plot
from dalembert.plotting.curves.panels import chosen_panels
from dalembert.plotting.motion_samples import evaluate

FILMS = [
    pytest.param(name, marks=[pytest.mark.long] * (k % 4 > 0))
    for k, name in enumerate(da.gallery.names())
]


@pytest.mark.parametrize("name", FILMS)
def test_every_system_has_an_animation(name):
    motion = da.simulate(da.gallery.load(name), rtol=1e-7)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        animation = animate(motion, fps=4, size=(240, 180))
        film = animation.frame_source()
        frame = film.frame(animation.frames // 2)
        assert frame.std() > 1.0
        assert animation.drawing is not None
        assert chosen_panels(motion, None, None)
    scene = film.scene
    (left, right), (bottom, top) = scene.window
    if animation.drawing.limits is None:
        for part in (*scene.parts, *scene.traces):
            x, y = part.points[..., 0], part.points[..., 1]
            assert (
                left <= np.nanmin(x)
                and np.nanmax(x) <= right
                and bottom <= np.nanmin(y)
                and np.nanmax(y) <= top
            )


@pytest.mark.long
def test_a_motion_draws_itself(tmp_path):
    motion = da.simulate(da.gallery.load("rolling-disk"), span=(0, 1), rtol=1e-8)
    motion.plot(path=tmp_path / "plot.svg")
    motion.phase("theta", "theta_dot", path=tmp_path / "phase.png")
    motion.animate(tmp_path / "film.gif", fps=10, duration=0.5, size=(160, 120))
    assert len(list(tmp_path.iterdir())) == 3


def test_curves_of_the_state_do_not_depend_on_where_it_was_stored():
    scenario = da.gallery.load("elastic-pendulum")
    whole = da.simulate(scenario, span=(0, 4))
    sparse = da.simulate(scenario, span=(0, 4), at=[0, 4])
    theta, u = whole.system.coordinates
    times = np.linspace(0, 4, 77)
    np.testing.assert_allclose(
        evaluate(whole, [theta, u.dot], times), evaluate(sparse, [theta, u.dot], times), atol=1e-12
    )


def test_momenta_are_shown_where_they_are_the_state():
    motion = da.simulate(da.gallery.load("spherical-pendulum"), span=(0, 1))
    titles = [panel.title for panel in chosen_panels(motion, None, None)]
    assert "momenta" in titles and "velocities" not in titles
    assert phase(motion, "x", "p_x").axes[0].get_ylabel() == "$p_{x}$"


def test_backward_motions_are_plotted():
    motion = da.simulate(da.gallery.load("elastic-pendulum-arc"), span=(2, 0))
    for axes in plot(motion).axes:
        low, high = axes.get_xlim()
        assert (low, high) == (0, 2)
