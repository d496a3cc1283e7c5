"""A run: simulated, sampled at the frames of the page, and kept for downloads."""

from __future__ import annotations

import time as clock
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...control.ports.energy_balance import energy_balance
from ...errors import DalembertError
from ...integrate.energy_columns import sampled_at
from ...integrate.simulate import simulate
from ...model.drawing import drawing_of
from ...model.energy_changes import energy_changes
from ...model.scenario import Scenario
from ...plotting.motion_samples import Array, evaluate, event_marks, finite_span
from ...plotting.scenes.page_scene import scene_of
from ...typing import ArrayLike
from ..job_progress import JobProgress
from ..packed_columns import packed
from .character import conserved_of
from .scenarios import RecentItems, options_of, scenario_of, span_of

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["column", "motion_of", "run"]

#: Steps of a run up to which its action is shown, an integral over all of them.
MOST_STEPS_OF_ACTION = 100_000

#: Numbers of a result, about: beyond it there are fewer frames; and those that a shape may take at
#: one of them.
MOST_NUMBERS, NUMBERS_OF_SHAPE = 4_000_000, 230
#: Constraints of which the page is sent the reaction.
MOST_REACTIONS = 64
#: Steps at which residuals are looked at.
MOST_RESIDUALS = 4000
MOST_EVENTS = 1000
#: Numbers that the states at all steps may be.
MOST_STORED = 50_000_000

_motions: RecentItems[Motion] = RecentItems(3)


def run(request: dict[str, Any], job_context: JobProgress) -> dict[str, Any]:
    """RESULT of the interface."""
    began = clock.perf_counter()
    scenario = scenario_of(request)
    motion = _simulated(scenario, request, job_context)
    _motions.put(request["id"], motion)
    integrals = bool(request.get("integrals", True))
    answer = _result(motion, scenario, int(request["frames"]), job_context, integrals)
    head = {"id": request["id"], "label": request.get("label", "")}
    found = packed(answer) if request.get("packed") else answer
    return head | {"seconds": clock.perf_counter() - began} | found


def motion_of(request: dict[str, Any], job_context: JobProgress) -> Motion:
    """The motion of a run: the one that is kept, or made again, number for number."""
    kept: Motion | None = _motions.get(request["id"])
    return kept if kept is not None else _simulated(scenario_of(request), request, job_context)


def _simulated(scenario: Scenario, request: dict[str, Any], job_context: JobProgress) -> Motion:
    """The motion; where its time is up, as far as it came."""

    def progress(fraction: float, time: float) -> None:
        job_context.progress(fraction, time)
        if job_context.is_late:
            raise KeyboardInterrupt  # by which a run ends with what it has

    options = options_of(request) | {"span": span_of(scenario, request)}
    kept = {key: value for key, value in scenario.simulate.items() if key != "at"}
    most = min(int(request["steps"]), MOST_STORED // (2 * len(scenario.system.coordinates)))
    motion: Motion = simulate(
        scenario.replacing(simulate=kept), max_steps=most, progress=progress, **options
    )
    return motion


# -- the answer ------------------------------------------------------------------------------------


def _result(
    motion: Motion, scenario: Scenario, frames: int, job_context: JobProgress, integrals: bool
) -> dict[str, Any]:
    drawing = drawing_of(scenario, motion.system)
    curves = (
        4 * len(motion.system.coordinates)
        + len(motion.system.constraints)
        + len(motion.system.outputs)
        + 10
    )
    numbers = curves + NUMBERS_OF_SHAPE * (len(drawing.shapes) if drawing is not None else 0)
    times = _frame_times(motion, max(2, min(frames, MOST_NUMBERS // numbers)))
    sampled = sampled_at(motion, times)
    job_context.check()
    notes = list(motion.start_report)
    if job_context.is_late:
        notes.append("The run was stopped because it took as long as a run may take here.")
    scene = None
    if drawing is not None and drawing.shapes:
        try:
            scene = scene_of(sampled, drawing, times)
        except DalembertError as error:
            notes.append(f"There is no picture: {error}")
    job_context.check()
    outputs = [*motion.system.outputs, *(symbol.name for symbol in motion.system.inputs)]
    outputs += [
        name
        for name in sampled.columns.energy_names
        if name != "action" or (integrals and motion.statistics["steps"] <= MOST_STEPS_OF_ACTION)
    ]
    elsewhere = ("t", "energy", *sampled.columns.energy_names, *outputs)
    shown = [name for name in sampled.names if name not in elsewhere]
    return {
        "model": motion.system.name,
        "form": motion.equations.form,
        "method": motion.statistics["method"],
        "outcome": motion.outcome.value,
        "success": motion.success,
        "message": motion.message,
        "notes": notes,
        "parameters": dict(motion.parameters),
        "start": dict(motion.start),
        "t": times,
        "state": {name: column(sampled[name]) for name in shown},
        "outputs": {name: column(sampled[name]) for name in outputs},
        "letters": [symbol.name for symbol in motion.state],
        "energy": column(sampled["energy"]) if "energy" in sampled.names else None,
        "energy_changes": energy_changes(motion.system),
        "balance": _balance(sampled) if integrals else None,
        "conserved": _conserved(sampled, scenario, times) if integrals else {},
        "residual": _residuals(motion, times),
        "reactions": _reactions(sampled),
        "events": _events(motion),
        "modes": [
            {"t": change.time, "words": f"{change.contact} {change.mode}: {change.reason}"}
            for change in motion.modes[:MOST_EVENTS]
        ],
        "statistics": motion.statistics | {"nfev": motion.nfev, "switches": len(motion.switches)},
        "scene": scene,
    }


def _frame_times(motion: Motion, frames: int) -> Array:
    """Equally spaced times of the finite part of the motion."""
    try:
        first, last = finite_span(motion)
    except DalembertError:
        return np.asarray(motion.t[:1], dtype=float)
    return np.linspace(first, last, frames) if last != first else np.array([first])


def column(values: ArrayLike) -> list[float]:
    """Numbers with all their digits, so that runs can be compared to the last one."""
    return list(np.asarray(values, dtype=float).tolist())


def _conserved(sampled: Motion, scenario: Scenario, times: Array) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, expression in conserved_of(scenario):
        try:
            if expression is None:
                found[name] = column(sampled["energy"])
            elif name in sampled.names:
                found[name] = column(sampled[name])
            else:
                found[name] = column(evaluate(sampled, [expression], times)[0])
        except DalembertError:  # a curve that has no values is left out
            continue
    return found


def _balance(sampled: Motion) -> dict[str, list[float]] | None:
    """Where energy came from and went to, and what the sum leaves open; None where nothing
    supplies or takes it, or where that cannot be told.
    """
    if not energy_changes(sampled.system) or sampled.statistics["steps"] > MOST_STEPS_OF_ACTION:
        return None
    try:
        found = energy_balance(sampled)
    except DalembertError:
        return None
    parts = {"stored": found.stored}
    parts |= {f"by {name}": work for name, work in found.supplied.items()}
    lost = {"dissipated": -found.dissipated, "other forces": found.other, "time": found.explicit}
    parts |= {name: work for name, work in lost.items() if np.any(work)}
    return {name: column(values) for name, values in (parts | {"open": found.residual}).items()}


def _residuals(motion: Motion, times: Array) -> dict[str, list[float]]:
    """What is left of the constraints at the step before each frame, the largest of all
    constraints.
    """
    stride = -(-len(motion.t) // MOST_RESIDUALS)
    if stride > 1:
        motion = replace(
            motion,
            t=motion.t[::stride],
            y=np.ascontiguousarray(motion.y[:, ::stride]),
            owner=motion.owner[::stride],
        )
    sign = -1.0 if motion.t[-1] < motion.t[0] else 1.0
    place = np.clip(
        np.searchsorted(sign * motion.t, sign * times, side="right") - 1, 0, len(motion.t) - 1
    )
    found = {}
    for level in ("position", "velocity"):
        rows = [
            np.abs(np.asarray(row, dtype=float))
            for row in getattr(motion.residuals, level).values()
        ]
        found[level] = np.max(rows, axis=0)[place].tolist() if rows else []
    return found


def _reactions(sampled: Motion) -> dict[str, list[float]]:
    """The size of the generalised force of each constraint."""
    names = list(sampled.reactions)[:MOST_REACTIONS]
    return {
        name: column(np.linalg.norm(np.asarray(sampled.reactions[name].force, dtype=float), axis=0))
        for name in names
    }


def _events(motion: Motion) -> list[dict[str, Any]]:
    found = sorted((float(time), mark.name) for mark in event_marks(motion) for time in mark.times)
    return [{"t": time, "name": name} for time, name in found[:MOST_EVENTS]]
