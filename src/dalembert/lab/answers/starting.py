"""The start of a run, made consistent with the constraints before anything moves."""

from __future__ import annotations

from typing import Any

from ...errors import DalembertError
from ...integrate.simulate import simulate
from ..job_progress import JobProgress
from ..request_errors import refusal
from .scenarios import options_of, scenario_of, span_of

__all__ = ["consistent"]

#: A value is said to be moved where it changed by more than this, relative to one and to itself.
MOVED = 1e-12


def consistent(request: dict[str, Any], _: JobProgress) -> dict[str, Any]:
    """What is given, what was completed, and what had to be moved; or why there is no consistent
    start.
    """
    try:
        return {"ok": True} | _start(request)
    except DalembertError as error:
        return {"ok": False, "error": refusal(error, request.get("text"))}


def _start(request: dict[str, Any]) -> dict[str, Any]:
    scenario = scenario_of(request)
    first, _last = span_of(scenario, request)
    options = {key: value for key, value in options_of(request).items() if key == "form"}
    kept = {key: scenario.simulate[key] for key in ("form",) if key in scenario.simulate}
    motion = simulate(scenario.replacing(simulate=kept), span=(first, first), **options)
    values = {name: float(value) for name, value in motion.start.items()}
    for name in (*scenario.start, *(symbol.name for symbol in motion.system.velocities)):
        if name not in values and name in motion.names and len(motion[name]):
            values[name] = float(motion[name][0])
    given = [name for name in scenario.start if name in values]
    moved = [
        {"name": name, "from": float(scenario.start[name]), "to": values[name]}
        for name in given
        if abs(values[name] - float(scenario.start[name])) > MOVED * (1 + abs(values[name]))
    ]
    return {
        "values": values,
        "given": given,
        "completed": [name for name in values if name not in scenario.start],
        "moved": moved,
        "residual": max(motion.worst_residual.values()),
        "report": list(motion.start_report),
        "energy": float(motion.energy[0]) if "energy" in motion.names else None,
    }
