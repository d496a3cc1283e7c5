"""A trajectory that was optimised: states with the nodes of the plan, and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ..integrate.input_table import InputTable
from ..typing import Array, Path
from .axis_labels import mathtext
from .style import Picture, Style, finished, style_named

if TYPE_CHECKING:
    from ..integrate.motion import Motion

__all__ = ["plot_trajectory"]

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
    look = style_named(style)
    coordinates = {q.name for q in plan.motion.system.coordinates}
    groups = [[n for n in plan.state_names if (n in coordinates) is kind] for kind in (True, False)]
    groups = [group for group in groups if group]
    count = len(groups) + bool(plan.inputs)
    picture = Picture(look, figsize=(7.2, 1.9 * count + 0.6), layout="constrained")
    with look.context():
        panels = np.atleast_1d(picture.subplots(count, 1, sharex=True))
        for axes, names in zip(panels, groups, strict=False):
            for name in names:
                (line,) = axes.plot(plan.motion.t, plan.motion[name], label=mathtext(name))
                planned = plan.states[plan.state_names.index(name)]
                axes.plot(plan.t, planned, ".", color=line.get_color(), markersize=3)
            axes.legend(loc="best")
        for name, table in plan.inputs.items():
            parts = np.linspace(0.0, 1.0 - 1e-9, POINTS)
            times = (table.times[:-1, None] + np.diff(table.times)[:, None] * parts).ravel()
            panels[-1].plot(times, table.at(times), linewidth=1.5, label=mathtext(name))
        if plan.inputs:
            panels[-1].legend(loc="best")
        panels[-1].set_xlabel("$t$")
    return finished(picture, path, title)
