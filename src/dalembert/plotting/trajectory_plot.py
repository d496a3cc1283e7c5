"""A trajectory that was optimised: states with the nodes of the plan, and inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..integrate.input_table import InputTable
from ..typing import Array, Path
from .axis_labels import mathtext
from .style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..integrate.motion import Motion

__all__ = ["plot_phases", "plot_trajectory"]

#: Points of an input on each of its pieces.
POINTS = 12


class PlannedTrajectory(Protocol):
    """What `da.control.optimise` gives."""

    @property
    def motion(self) -> Motion: ...
    @property
    def inputs(self) -> Mapping[str, InputTable]: ...
    @property
    def t(self) -> Array: ...
    @property
    def states(self) -> Array: ...
    @property
    def state_names(self) -> tuple[str, ...]: ...


def plot_trajectory(
    plan: PlannedTrajectory, *, path: Path | None = None, style: str | Style = "light",
    title: str | None = None,
) -> Picture:  # fmt: skip
    """Draw a trajectory: coordinates and velocities with the nodes of the plan, then the inputs.

    Parameters
    ----------
    plan : Trajectory
        Of `da.control.optimise`.
    path : path, optional
        A .png, .svg or .pdf to write.
    style : "light", "dark" or Style
    title : str, optional
    """
    return plot_phases([plan], path=path, style=style, title=title)


def plot_phases(
    plans: Sequence[PlannedTrajectory], *, path: Path | None = None, style: str | Style = "light",
    title: str | None = None,
) -> Picture:  # fmt: skip
    """Draw phases one after the other, with a line where one ends and the next begins.

    Parameters
    ----------
    plans : sequence of Trajectory
        The phases of `da.control.optimise_phases`.
    path, style, title
        As in `plot_trajectory`.
    """
    look = style_named(style)
    coordinates = {q.name for plan in plans for q in plan.motion.system.coordinates}
    shown = list(dict.fromkeys(name for plan in plans for name in plan.state_names))
    driven = list(dict.fromkeys(name for plan in plans for name in plan.inputs))
    groups = [[n for n in shown if (n in coordinates) is kind] for kind in (True, False)]
    groups = [group for group in groups if group]
    count = len(groups) + bool(driven)
    picture = Picture(look, figsize=(7.2, 1.9 * count + 0.6), layout="constrained")
    with look.context():
        panels = np.atleast_1d(picture.subplots(count, 1, sharex=True))
        for axes, names in zip(panels, groups, strict=False):
            for k, name in enumerate(names):
                _draw_state(axes, plans, name, f"C{k % 10}")
            axes.legend(loc="best")
        for k, name in enumerate(driven):
            _draw_input(panels[-1], plans, name, f"C{k % 10}")
        if driven:
            panels[-1].legend(loc="best")
        for plan in plans[1:]:
            for axes in panels:
                axes.axvline(plan.t[0], linewidth=0.8, linestyle=":", color="0.5")
        panels[-1].set_xlabel("$t$")
    return finished(picture, path, title)


def _draw_state(axes: Axes, plans: Sequence[PlannedTrajectory], name: str, colour: str) -> None:
    label: str | None = mathtext(name)
    for plan in plans:
        if name not in plan.state_names:
            continue
        axes.plot(plan.motion.t, plan.motion[name], color=colour, label=label)
        planned = plan.states[plan.state_names.index(name)]
        axes.plot(plan.t, planned, ".", color=colour, markersize=3)
        label = None


def _draw_input(axes: Axes, plans: Sequence[PlannedTrajectory], name: str, colour: str) -> None:
    label: str | None = mathtext(name)
    for plan in plans:
        if name not in plan.inputs:
            continue
        table, parts = plan.inputs[name], np.linspace(0.0, 1.0 - 1e-9, POINTS)
        times = (table.times[:-1, None] + np.diff(table.times)[:, None] * parts).ravel()
        axes.plot(times, table.at(times), linewidth=1.5, color=colour, label=label)
        label = None
