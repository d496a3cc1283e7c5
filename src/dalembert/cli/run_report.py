"""What ``dalembert run`` says of a motion."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .entry import FINE, UNFINISHED, Failure, tell
from .signals import KeptInterruptError
from .terminal import print_json, show

if TYPE_CHECKING:
    from ..errors import DalembertError
    from ..integrate.motion import Motion

__all__ = ["motion_json", "report_motion", "reported"]


def reported(
    motion: Motion, as_json: bool, written: Sequence[Path] = ()
) -> dict[str, Any] | list[Any]:
    """What is to be printed of a motion: values of JSON by name, or parts of a text."""
    if as_json:
        return motion_json(motion)
    from .summary import summary

    return summary(motion, written)


def report_motion(
    motion: Motion, shown: dict[str, Any] | list[Any], trouble: DalembertError | None = None
) -> int:
    """Print what was made of a motion; the exit status."""
    if isinstance(shown, dict):
        print_json(shown if trouble is None else shown | {"error": Failure.of(trouble).to_json()})
        if trouble is not None:
            return tell(Failure.of(trouble))
    else:
        show(*shown)
    if trouble is not None:
        raise trouble
    if motion.success:
        return FINE
    if motion.outcome.value == "interrupted":
        raise KeptInterruptError(motion.message)
    print(motion.message, file=sys.stderr)
    return UNFINISHED


def motion_json(motion: Motion) -> dict[str, Any]:
    """A motion as ``run --json`` prints it."""
    system = motion.system
    symbols = [symbol.name for symbol in motion.state]
    symbols += [symbol.name for symbol in system.velocities if symbol.name not in symbols]
    if system.is_hamiltonian:
        symbols += [symbol.name for symbol in system.momenta if symbol.name not in symbols]
    shown = ["energy"] if "energy" in motion.names else []
    shown += [*motion.columns.energy_names, *system.outputs]
    shown += [*(symbol.name for symbol in system.inputs), *motion.own_names]
    coordinates = [q.name for q in system.coordinates]
    return {
        "t": motion.t,
        "state": {name: motion[name] for name in symbols},
        "outputs": {name: motion[name] for name in shown},
        "residual": motion.worst_residual,
        "reactions": {
            name: {
                "force": dict(zip(coordinates, reaction.force, strict=True)),
                "multiplier": reaction.multiplier,
            }
            for name, reaction in motion.reactions.items()
        },
        "events": dict(zip(motion.event_names, motion.t_events, strict=True)),
        "impacts": [{"t": time, "constraint": name} for time, name in motion.impacts],
        "modes": [
            {"t": time, "constraint": name, "mode": mode, "reason": reason}
            for time, name, mode, reason in motion.modes
        ],
        "parameters": motion.parameters,
        "start": motion.start,
        "start_report": motion.start_report,
        "statistics": motion.statistics,
        "outcome": motion.outcome.value,
        "message": motion.message,
    }
