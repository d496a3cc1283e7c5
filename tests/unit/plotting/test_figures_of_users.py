"""Plots on the user's own axes, with the user's own settings, and in pyplot's windows."""

from __future__ import annotations

import sys
import types

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import dalembert as da
from dalembert.errors import ModelError


@pytest.fixture(scope="module")
def motion():
    x, y = da.coordinates("x y")
    well = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=(x**2 + 3 * y**2) / 2, name="well"
    )
    return da.simulate(well, {x: 1.0, y: 0.5}, (0, 40))


def test_curves_are_drawn_on_one_axes(motion) -> None:
    axes = Figure().add_subplot()
    assert motion.plot(["x", "y"], ax=axes, title="both") is axes.figure
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == ["$x$", "$y$"] and axes.get_title() == "both"
    times, values = axes.lines[0].get_data()
    np.testing.assert_allclose(values, np.cos(times), atol=1e-4)


def test_panels_are_drawn_on_axes_each(motion) -> None:
    figure = Figure()
    rows = figure.subplots(2, 1)
    assert motion.plot(["x", "y"], ax=rows) is figure
    assert [len(axes.lines) for axes in rows] == [1, 1]
    with pytest.raises(ModelError, match="2 axes, 1 panels"):
        motion.plot(["x"], ax=rows)


def test_other_plots_take_axes(motion) -> None:
    figure = Figure()
    plane, section, lines = figure.subplots(1, 3)
    space = figure.add_subplot(projection="3d")
    assert motion.phase("x", "y", ax=plane) is figure and plane.collections
    assert motion.phase("x", "y", "x_dot", ax=space) is figure and space.collections
    assert motion.poincare("x = 0", "y", "y_dot", ax=section) is figure and section.lines
    assert motion.spectrum("x", ax=lines) is figure and lines.get_yscale() == "log"
    with pytest.raises(ModelError, match="projection"):
        motion.phase("x", "y", "x_dot", ax=plane)
    with pytest.raises(ModelError, match="one quantity"):
        motion.spectrum(ax=lines)


def test_a_path_or_another_object_with_axes_is_refused(motion, tmp_path) -> None:
    axes = Figure().add_subplot()
    with pytest.raises(ModelError, match="savefig"):
        motion.phase("x", "y", ax=axes, path=tmp_path / "a.png")
    with pytest.raises(ModelError, match="no Axes"):
        motion.phase("x", "y", ax="axes")


def test_the_users_settings_are_kept(motion) -> None:
    colour = "#123456"
    settings = {"axes.prop_cycle": matplotlib.cycler(color=[colour]), "axes.grid": False}
    with matplotlib.rc_context({**settings, "axes.facecolor": "#fafafa"}):
        picture = motion.plot(["x"], style="matplotlib")
        axes = picture.axes[0]
        assert axes.lines[0].get_color() == colour
        assert matplotlib.colors.to_hex(axes.get_facecolor()) == "#fafafa"
        own = Figure().add_subplot()
        motion.plot(["x"], ax=own)
        assert own.lines[0].get_color() == colour
        assert motion.plot(["x"]).axes[0].lines[0].get_color() != colour


@pytest.fixture()
def windows(monkeypatch):
    """A backend of Matplotlib that opens windows which nobody sees."""
    shown = []

    class Manager(FigureManagerBase):
        @classmethod
        def pyplot_show(cls, *, block=None) -> None:
            shown.extend(pyplot.figure(number) for number in pyplot.get_fignums())

    class Canvas(FigureCanvasAgg):
        required_interactive_framework = "unseen"
        manager_class = Manager

    module = types.ModuleType("unseen_windows")
    module.FigureCanvas, module.FigureManager = Canvas, Manager
    monkeypatch.setitem(sys.modules, "unseen_windows", module)
    before = matplotlib.get_backend()
    monkeypatch.setattr("matplotlib.cbook._get_running_interactive_framework", lambda: None)
    pyplot.switch_backend("module://unseen_windows")
    yield shown
    pyplot.close("all")
    pyplot.switch_backend(before)


def test_a_picture_is_a_figure_of_pyplot_where_there_are_windows(motion, windows) -> None:
    picture = motion.plot(["x"])
    assert pyplot.gcf() is picture
    pyplot.show()
    assert windows == [picture]
    picture.show()
    assert windows == [picture, picture]


def test_a_picture_that_is_saved_opens_no_window(motion, windows, tmp_path) -> None:
    motion.plot(["x"], path=tmp_path / "x.png")
    assert not pyplot.get_fignums()


def test_without_windows_pyplot_keeps_nothing(motion) -> None:
    motion.plot(["x"])
    assert not pyplot.get_fignums()
    with pytest.raises(ModelError, match="no window"):
        motion.plot(["x"]).show()
