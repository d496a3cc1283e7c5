"""The part of a report in which the model runs: its record for ``page_modules/live.js``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ...errors import DalembertError, FormError, ModelError
from ...export.export_task import ExportTask, read_export
from ...export.web_model import WebModel, web_model
from ...formulations.registry import derive
from ...model.drawing import drawing_of
from ...model.energy_changes import energy_changes
from ..motion_samples import finite_span
from ..scenes.graph_scene import graph_scene

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["live_record"]

#: The observed column with the numbers of the drawing, and curves of one panel.
DRAWING, MOST_CURVES = "the drawing", 6
USUAL_RTOL = 1e-10


def live_record(motion: Motion, file: str) -> dict[str, Any]:
    """A motion's model as a page runs it: compiled code, drawing, ranges of sliders, notes.

    `file` names the page's downloads.

    Raises
    ------
    ModelError
        Where the run needs Python between its steps: contacts, sampled laws, inputs that are Python
        functions.
    """
    task = _task(motion)
    notes, further, scene = _notes(motion, task), {}, None
    drawing = drawing_of(motion.scenario, motion.system)
    if drawing is not None:
        try:
            scene, further[DRAWING] = graph_scene(motion, drawing, task.kernel)
        except DalembertError as error:
            notes.append(f"The drawing is left out. {error}")
    for name, energy in _energies(task).items():
        further[name] = task.kernel.lower([energy])
    model = web_model(task, further)
    return model.record() | {
        "name": motion.system.name,
        "file": file,
        "scene": scene,
        "panels": _panels(model),
        "ranges": _ranges(task),
        "conserves": not energy_changes(motion.system),
        "notes": notes,
    }


def _task(motion: Motion) -> ExportTask:
    if motion.samples is not None:
        what = "A sampled law is computed by Python, which a page does not have"
        raise ModelError(what, remedy="write the report without live=True")
    free = [symbol.name for symbol, value in motion.system.inputs.items() if value is None]
    if free:
        what = "A page cannot call Python for the inputs of a run"
        remedy = "state them as expressions of time and state, or write it without live=True"
        raise ModelError(what, ", ".join(free), remedy)
    equations = motion.equations
    if equations.rechoose is not None and not equations.chart_is_steady:
        try:  # a form that never has to choose other velocities
            equations = derive(motion.system, "lagrange")
        except FormError:
            equations = motion.equations
    rtol = float(motion.statistics.get("rtol") or USUAL_RTOL)
    return read_export(
        equations, motion.parameters, motion.start, finite_span(motion), rtol=min(rtol, 1e-3)
    )


def _notes(motion: Motion, task: ExportTask) -> list[str]:
    """What a run in the page does otherwise than the run of the report."""
    method, form = motion.statistics.get("method"), task.kernel.equations.form
    notes = [
        f"The page integrates the form {form} by dop853 with rtol = {task.rtol:g}, with the same"
        " compiled equations as dalembert. A start off the constraints is moved to the nearest"
        " state on them in the kinetic metric."
    ]
    if method != "dop853":
        notes.append(f"The run of this report was integrated by {method}.")
    if motion.event_names:
        notes.append("A run in the page does not stop at events.")
    if task.threshold is not None:
        notes.append("A run in the page ends where its independent velocities degenerate.")
    return notes


def _energies(task: ExportTask) -> dict[str, sympy.Expr]:
    """The parts of the energy that the system states."""
    system = task.kernel.equations.system
    parts = {name: getattr(system, name, None) for name in ("kinetic", "potential")}
    found = {name: part for name, part in parts.items() if part is not None and part != 0}
    return found if len(found) == len(parts) else {}


def _panels(model: WebModel) -> list[dict[str, Any]]:
    """Titles of plots, and the place of each curve among what is observed; None for the state."""
    kernel, observed = model.task.kernel, model.observed
    system = kernel.equations.system
    state = [symbol.name for symbol in kernel.equations.state]
    coordinates = [q.name for q in system.coordinates]
    found: list[tuple[str, dict[str, int | None]]] = [
        ("Coordinates", {name: None for name in state if name in coordinates}),
    ]
    first, count = observed["velocities"]
    if count == len(coordinates):
        rates = {q.dot.name: first + k for k, q in enumerate(system.coordinates)}
        found.append(("Velocities", dict(rates)))
    if observed["energy"][1]:
        parts = ("energy", "kinetic", "potential")
        found.append(("Energy", {name: observed[name][0] for name in parts if name in observed}))
    first, count = observed["multipliers"]
    names = [f"mu_{name}" for name in kernel.multiplier_names][:count]
    found.append(("Multipliers", {name: first + k for k, name in enumerate(names)}))
    return [
        {"title": title, "names": dict(list(names.items())[:MOST_CURVES])}
        for title, names in found
        if names
    ]


def _ranges(task: ExportTask) -> dict[str, list[list[float]]]:
    """Ends of the sliders."""
    assert task.parameters is not None and task.start is not None

    def about(value: float, is_positive: bool) -> list[float]:
        if is_positive and value > 0:
            return [0.2 * value, 3.0 * value]
        reach = 2 * abs(value) or 1.0
        return [value - reach, value + reach]

    positive = [bool(symbol.is_positive) for symbol in task.kernel.parameters]
    pairs = zip(task.parameters, positive, strict=True)
    parameters = [about(float(value), sign) for value, sign in pairs]
    reach = np.maximum(1.0, 2 * np.abs(task.start))
    start = [[float(y - r), float(y + r)] for y, r in zip(task.start, reach, strict=True)]
    return {"parameters": parameters, "start": start}
