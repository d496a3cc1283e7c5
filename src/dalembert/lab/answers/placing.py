"""The start at which a point of the drawing lies where the reader drags it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...integrate.simulate import simulate
from ...model.drawing import Drawing, drawing_of
from ...plotting.motion_samples import Array
from ...plotting.scenes.solids import solids_of
from ..job_progress import JobProgress
from .scenarios import options_of, scenario_of, span_of

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["placed"]

#: The step of differences.
STEP = 1e-6
#: Steps of Gauss and Newton, and the largest change of coordinates of one.
MOST_STEPS, LARGEST = 20, 0.5


def placed(request: dict[str, Any], job_context: JobProgress) -> dict[str, Any]:
    """Values of the coordinates that bring a point of a plane drawing closest to a place, by the
    smallest change. The constraints are satisfied by the start that follows from them.
    """
    scenario = scenario_of(request)
    drawing = drawing_of(scenario, scenario.system)
    if drawing is None or drawing.dimension != 2:
        raise ModelError("Only points of a plane drawing can be dragged")
    first, _last = span_of(scenario, request)
    options = options_of(request) | {"span": (first, first)}
    kept = {key: value for key, value in scenario.simulate.items() if key != "at"}
    motion = simulate(scenario.replacing(simulate=kept), **options)
    names = [symbol.name for symbol in motion.state]
    coordinates = [names.index(q.name) for q in motion.system.coordinates if q.name in names]
    target = np.array(request["to"])
    state = motion.y[:, 0].copy()
    start = state[coordinates].copy()
    for _ in range(MOST_STEPS):
        job_context.check()
        trials = np.repeat(state[:, None], 1 + len(coordinates), axis=1)
        for column, row in enumerate(coordinates, start=1):
            trials[row, column] += STEP
        points = _points(motion, drawing, trials, request["shape"], request["point"])
        jacobian, away = (points[1:] - points[0]).T / STEP, target - points[0]
        metric = jacobian @ jacobian.T
        metric += 1e-9 * max(float(np.trace(metric)), 1e-12) * np.eye(2)
        change = jacobian.T @ np.linalg.solve(metric, away)
        change *= min(1.0, LARGEST / max(float(np.max(np.abs(change), initial=0.0)), 1e-300))
        state[coordinates] += change
        if np.max(np.abs(change), initial=0.0) < 1e-9:
            break
    moved = np.abs(state[coordinates] - start) > 1e-9
    found = zip(coordinates, moved, strict=True)
    return {"start": {names[row]: float(state[row]) for row, is_moved in found if is_moved}}


def _points(motion: Motion, drawing: Drawing, states: Array, shape: int, point: int) -> Array:
    """A point of a shape in every state, (number, 2), all at the start time."""
    times = np.full(states.shape[1], motion.t[0])
    owner = np.zeros(len(times), dtype=motion.owner.dtype)
    trial = replace(motion, t=times, y=np.ascontiguousarray(states), owner=owner)
    solids = solids_of(trial, drawing.shapes, times, drawing.dimension)
    if not (shape < len(solids) and point < solids[shape].points.shape[1]):
        raise ModelError("The drawing has no such point", f"shape {shape}, point {point}")
    return np.asarray(solids[shape].points[:, point, :2], dtype=float)
