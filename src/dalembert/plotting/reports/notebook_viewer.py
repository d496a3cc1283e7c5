"""A viewer of motions in notebooks: an anywidget with the modules of the lab's page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...errors import MissingExtraError, ModelError
from ...model.drawing import drawing_of
from ..motion_samples import Array, finite_span, series
from ..page_bundle import MODULES, bundle
from ..scenes.page_scene import scene_of

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["MotionViewer", "viewer", "viewer_record", "viewer_script"]

#: Samples of a recorded motion, and curves of one panel.
FRAMES, MOST_CURVES = 600, 6


class MotionViewer(Protocol):
    """An anywidget that shows a motion; other names are those of `anywidget.AnyWidget`."""

    #: The time that is shown; setting it moves the drawing and the cursors.
    time: float

    def observe(self, handler: Callable[..., None], names: str) -> None:
        """Call a function when a trait, such as "time", changes."""


def viewer(motion: Motion, *, live: bool = False, frames: int = FRAMES) -> MotionViewer:
    """An interactive viewer of a motion for Jupyter, VS Code and marimo.

    Parameters
    ----------
    motion : Motion
    live : bool
        Whether the model runs in the notebook, with sliders for its parameters and its start; see
        `report`.
    frames : int
        Times at which the motion is shown.

    Returns
    -------
    MotionViewer
        The drawing, a slider of time, and plots whose cursors follow. Its trait `time` is read and
        set from Python, and linked to other widgets.

    Raises
    ------
    MissingExtraError
        Without the extra `notebook`.
    ModelError
        For fewer than two frames; with `live`, for a model that cannot run in a page.

    Examples
    --------
    >>> import dalembert as da
    >>> motion = da.simulate(da.gallery.load("knife-edge"))
    >>> shown = da.plotting.viewer(motion)  # doctest: +SKIP
    >>> shown.time = 2.5  # doctest: +SKIP
    """
    if frames < 2:
        raise ModelError("A viewer shows at least two frames", frames, "pass frames=600")
    if live:
        from .live import live_record

        record = live_record(motion, "motion")
    else:
        record = viewer_record(motion, frames)
    found: MotionViewer = _widget_class()(record=record, time=float(finite_span(motion)[0]))
    return found


def viewer_script() -> str:
    """The module that a notebook loads; every viewer of a page has a clock of its own."""
    return (
        f"function makePage() {{\n{bundle('notebook')}return page;\n}}\n"
        "export default { render: (context) => makePage().render(context) };\n"
    )


def viewer_record(motion: Motion, frames: int = FRAMES) -> dict[str, Any]:
    """A motion as ``page_modules/viewer.js`` shows it: plain data for JSON."""
    times = np.linspace(*finite_span(motion), frames)
    names = [symbol.name for symbol in motion.state]
    coordinates = [q.name for q in motion.system.coordinates]
    velocities = [f"{name}_dot" for name in coordinates if f"{name}_dot" in motion.names]
    energies = [name for name in ("energy", "kinetic", "potential") if name in motion.names]
    titles = {"Coordinates": coordinates, "Velocities": velocities, "Energy": energies}
    wanted = list(dict.fromkeys([*names, *(name for group in titles.values() for name in group)]))
    columns = {name: _numbers(x) for name, x in series(motion, wanted, times).items()}
    panels = [
        {"title": title, "series": {name: columns[name] for name in group[:MOST_CURVES]}}
        for title, group in titles.items()
        if group
    ]
    drawing = drawing_of(motion.scenario, motion.system)
    scene = None if drawing is None else scene_of(motion, drawing, times)
    if scene is not None:
        for shape in scene["shapes"]:
            shape["points"]["data"] = _numbers(np.asarray(shape["points"]["data"]))
    return {
        "model": motion.system.name,
        "t": times.tolist(),
        "state": {name: columns[name] for name in names},
        "scene": scene,
        "panels": panels,
    }


def _numbers(values: Array) -> list[float | None]:
    """Numbers for JSON, which has none that are not finite."""
    return [float(value) if np.isfinite(value) else None for value in values]


@cache
def _widget_class() -> type[Any]:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingExtraError("anywidget", "notebook") from error

    class MotionWidget(anywidget.AnyWidget):
        """The viewer of a motion; `time` is where it stands."""

        _esm = viewer_script()
        _css = (MODULES / "viewer.css").read_text(encoding="utf-8")
        record = traitlets.Dict().tag(sync=True)
        time = traitlets.Float().tag(sync=True)

    return MotionWidget
