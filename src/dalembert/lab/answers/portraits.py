"""Orbits from several starts in the plane of two quantities."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...analysis.stability.equilibria import equilibria
from ...errors import DalembertError, ModelError, nearest
from ...integrate.energy_columns import sampled_at
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...plotting.motion_samples import finite_span
from ..job_progress import JobProgress
from .running import column
from .scenarios import options_of, scenario_of, span_of

__all__ = ["portrait"]

#: Points of an orbit.
POINTS = 600
#: Steps of an orbit.
STEPS = 200_000
#: Equilibria are looked for in windows of such widths, and a little beside the orbits.
WIDTHS, MARGIN = (1e-9, 1e3), 0.1


def portrait(request: dict[str, Any], job_context: JobProgress) -> dict[str, Any]:
    """An orbit from each point, whose two values take the place of those of the start."""
    scenario = scenario_of(request)
    x, y, points = request["x"], request["y"], request["points"]
    names = {
        *(q.name for q in scenario.system.coordinates),
        *(s.name for s in scenario.system.velocities),
    }
    names |= {s.name for s in scenario.system.momenta} | set(scenario.start)
    for axis in (x, y):
        if axis not in names:
            near = nearest(axis, names)
            remedy = f"did you mean {near}" if near else "name two symbols of the state"
            raise ModelError(f"No start can be given by `{axis}`", ", ".join(sorted(names)), remedy)
    orbits = []
    for place, (across, upward) in enumerate(points):
        job_context.progress(place / len(points), 0.0)
        orbits.append(_orbit(request, {x: across, y: upward}, job_context))
    return {"x": x, "y": y, "orbits": orbits, "equilibria": _rests(scenario, x, y, orbits)}


def _rests(
    scenario: Scenario, x: str, y: str, orbits: list[dict[str, Any]]
) -> list[tuple[float, float, str]]:
    """Equilibria among the orbits with their stability, for a system with one coordinate in the
    plane with its velocity.
    """
    system: Any = scenario.system
    places = [value for orbit in orbits for value in orbit["x"]]
    if (
        isinstance(system, Flow)
        or not places
        or [(q.name, q.dot.name) for q in system.coordinates] != [(x, y)]
    ):
        return []
    low, high = min(places), max(places)
    if not WIDTHS[0] < high - low < WIDTHS[1]:
        return []
    room = MARGIN * (high - low)
    try:
        found = equilibria(scenario, within={x: (low - room, high + room)}).found
    except DalembertError:  # the portrait is drawn without points of rest
        return []
    return [(rest.point[x], 0.0, rest.stability) for rest in found]


def _orbit(
    request: dict[str, Any], start: dict[str, float], job_context: JobProgress
) -> dict[str, Any]:
    scenario = scenario_of(request | {"start": {**(request.get("start") or {}), **start}})
    kept = {key: value for key, value in scenario.simulate.items() if key != "at"}
    options = options_of(request) | {"span": span_of(scenario, request)}

    def progress(_: float, __: float) -> None:
        job_context.check()
        if job_context.is_late:
            raise KeyboardInterrupt

    names = list(start)
    try:
        motion = simulate(
            scenario.replacing(simulate=kept), max_steps=STEPS, progress=progress, **options
        )
        first, last = finite_span(motion)
    except DalembertError as error:
        return {"x": [], "y": [], "outcome": "no motion", "message": str(error)}
    sampled = sampled_at(motion, np.linspace(first, last, POINTS if last != first else 1))
    across, upward = (column(sampled[name]) for name in names)
    return {"x": across, "y": upward, "outcome": motion.outcome.value, "message": motion.message}
