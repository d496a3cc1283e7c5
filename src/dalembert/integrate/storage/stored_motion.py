"""A motion from what a file holds: values as they were stored, native code made again only where dense output is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import FileError, ModelError
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...model.constraints import HolonomicConstraint
from ...model.io.files import loads
from ...model.system import System
from ...runtime.context import Context
from ...runtime.kernel import kernel_of
from ..motion import Motion, Segment
from ..outcome import Outcome
from ..state_symbols import reported_symbols
from .stored_drawing import drawing_from
from .stored_options import options_from
from .stored_record import check_record, read_record

__all__ = ["input_note", "stored_motion", "without_native_code"]

#: The versions of the record that we read, and the first one whose files are sealed.
FORMATS, SEALED = (2, 3), 3


def stored_motion(public: Any, private: Any, is_sealed: bool) -> Motion:
    """The motion of the two groups of a file, as `StoredArrays`; `is_sealed` where it was found to be as it was written."""
    record = read_record(private["record"])
    if record["format"] not in FORMATS:
        raise FileError(
            "The motion was saved by another version of dalembert",
            seen=f"format {record['format']}, version {record['version']}",
            remedy="install that version",
        )
    if record["format"] >= SEALED and not is_sealed:
        raise FileError("The file has lost its seal: it is damaged, or was changed", remedy="save it again")
    check_record(record)
    if not record["model"]:
        raise FileError("The motion was saved without its model", seen=record["model_note"], remedy="open the file with xarray")
    scenario = loads(record["model"])
    equations = derive(scenario.system, record["form"], **options_from(record.get("options", {}), scenario.system))
    state = reported_symbols(equations)
    if [symbol.name for symbol in state] != record["state"]:
        raise FileError("The state of the motion is not that of its model", seen=", ".join(record["state"]))
    if set(record["parameters"]) != {symbol.name for symbol in scenario.system.parameters}:
        raise FileError("The parameters of the motion are not those of its model", seen=", ".join(record["parameters"])[:60])
    t = _array(public["t"])
    places = np.cumsum([0, *record["passages"]])
    motion = Motion(
        equations=equations,
        parameters=record["parameters"],
        t=t,
        y=np.array([_column(public, record, name) for name in record["state"]]).reshape(len(record["state"]), len(t)),
        segments=_segments(equations, record, private),
        owner=np.asarray(private["owner"], dtype=np.int64),
        outcome=Outcome(record["outcome"]),
        message=record["message"],
        event_names=tuple(record["events"]),
        t_events=[_array(private["passage_t"])[a:b] for a, b in pairwise(places)],
        y_events=[_array(private["passage_y"])[a:b] for a, b in pairwise(places)],
        impacts=tuple((time, name) for time, name in record["impacts"]),
        switches=tuple((time, sentence) for time, sentence in record["switches"]),
        state=state,
        start=record["start"],
        start_report=tuple(record["start_report"]),
        statistics=record["statistics"],
        scenario=replace(scenario, drawing=drawing_from(record["drawing"], scenario.system)),
        call=_call(record, private),
    )
    segments, crossings = len(motion.segments), _array(private["passage_y"])
    fits = t.ndim == 1 and motion.owner.shape == t.shape and segments > 0 and min(record["steps"]) > 0
    fits = fits and np.all((motion.owner >= 0) & (motion.owner < segments)) and len(record["events"]) == len(record["passages"])
    if not fits or len(crossings) != places[-1] or crossings.shape[1:] != (len(state),):
        raise FileError("The file holds a motion whose parts do not fit together")
    # The names and values of a motion come from what was observed; here that is read, not computed.
    motion.__dict__["_observed"] = _observed(public, record, equations.system)
    own = {name for symbols in record["letters"] for name in symbols} - set(record["state"])
    motion.__dict__["_own_symbols"] = {
        name: _column(public, record, name) for name in record["variables"] if name in own and equations.rechoose is not None
    }
    return motion


def input_note(system: System) -> str:
    """What neither a file nor another process has of a system; empty where it has all."""
    free = [symbol.name for symbol, value in system.inputs.items() if value is None]
    return f"The inputs {', '.join(free)} were Python functions, which a file cannot keep." if free else ""


def without_native_code(motion: Motion) -> tuple[Segment, ...]:
    """The segments of a motion for another process, where their native code is made again when it is needed."""
    record = {"parameters": dict(motion.parameters), "model_note": input_note(motion.system)}
    modes: dict[Any, Equations] = {}
    found = []
    for segment in motion.segments:
        context: Any = segment.context
        if isinstance(context, Context):
            equations = context.kernel.equations
            symbols = tuple(symbol.name for symbol in equations.state)
            context = LazyContext(motion.equations, segment.mode, symbols, tuple(equations.chart), modes, record)
        found.append(Segment(context, segment.mode, segment.step_t, segment.step_y))
    return tuple(found)


def _call(record: Any, private: Any) -> dict[str, Any]:
    """What the run was asked to do; empty where the file is older than that."""
    call: dict[str, Any] = record.get("call") or {}
    return call | {"at": _array(private["asked_t"]) if "asked_t" in private else None} if call else {}


def _array(values: Any) -> Any:
    return np.ascontiguousarray(values, dtype=float)


def _column(public: Any, record: Any, name: str) -> Any:
    return _array(public[record["variables"][name]])


def _observed(public: Any, record: Any, system: System) -> dict[str, Any]:
    """Everything observed by key, as `Motion` keeps it."""
    count = len(_array(public["t"]))
    roles = record["roles"]

    def stacked(names: Sequence[str]) -> Any:
        return np.array([_column(public, record, name) for name in names]).reshape(len(names), count)

    def table(role: str) -> Any | None:
        return _array(public[roles[role]]) if roles[role] in public else None

    found: dict[str, Any] = {
        "velocities": stacked([v.name for v in system.velocities]),
        "accelerations": stacked([q.ddot.name for q in system.coordinates]),
        "momenta": stacked([p.name for p in system.momenta]),
    }
    found["energy"] = stacked(["energy"]) if "energy" in record["variables"] else np.full((1, count), np.nan)
    for level, rows in (
        ("position", [c for c in system.bilateral if isinstance(c, HolonomicConstraint)]),
        ("velocity", list(system.bilateral)),
    ):
        residual = table(f"{level}_residual")
        found[f"{level} residual"] = np.zeros((0, count)) if residual is None else residual.reshape(len(rows), count)
    forces = table("reaction")
    for number, name in enumerate(record["reactions"]):
        found[f"reaction {name}"] = forces[number] if forces is not None else np.zeros((0, count))
    multipliers = table("multiplier")
    if multipliers is not None:
        names = [str(name) for name in public[roles["row"]]]
        found |= {f"multiplier {name}": multipliers[number : number + 1] for number, name in enumerate(names)}
    found |= {f"output {name}": stacked([name]) for name in system.outputs}
    found |= {f"input {symbol}": stacked([symbol.name]) for symbol in system.inputs}
    return found


def _segments(equations: Equations, record: Any, private: Any) -> tuple[Segment, ...]:
    times, states = _array(private["step_t"]), _array(private["step_y"])
    width = max(len(symbols) for symbols in record["letters"])
    if states.shape != (len(times), width) or sum(record["steps"]) != len(times):
        raise FileError("The file holds steps that do not fit together")
    modes: dict[Any, Equations] = {}
    segments, first = [], 0
    parts = zip(record["modes"], record["letters"], record["charts"], record["steps"], strict=True)
    for names, symbols, chart, count in parts:
        here = slice(first, first + count)
        context = LazyContext(equations, tuple(names), tuple(symbols), tuple(chart), modes, record)
        segments.append(Segment(context, tuple(names), times[here], np.ascontiguousarray(states[here][:, : len(symbols)])))
        first += count
    return tuple(segments)


class LazyContext:
    """Stands for the `Context` of a segment, and makes it when it is first used.

    `modes` is shared by the segments of a motion, so that each mode of contact and choice of symbols is derived once.
    """

    def __init__(
        self,
        whole: Equations,
        mode: tuple[str, ...],
        symbols: tuple[str, ...],
        chart: tuple[str, ...],
        modes: dict[Any, Equations],
        record: Any,
    ) -> None:
        self._whole, self._mode, self._symbols, self._chart = whole, mode, symbols, chart
        self._modes, self._record = modes, record

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_modes": {}, "_context": None}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._made(), name)

    def _made(self) -> Context:
        context = self.__dict__.get("_context")
        if context is None:
            context = self.__dict__["_context"] = self._make()
        return context  # type: ignore[no-any-return]

    def _make(self) -> Context:
        system = self._whole.system
        if any(value is None for value in system.inputs.values()):
            raise ModelError(self._record["model_note"].rstrip("."), remedy="simulate again for dense output")
        key = (self._mode, self._symbols, self._chart)
        if key not in self._modes:
            self._modes[key] = self._equations()
        kernel = kernel_of(self._modes[key], system.parameters)
        return Context(kernel, [self._record["parameters"][symbol.name] for symbol in system.parameters])

    def _equations(self) -> Equations:
        """The equations of this mode in the symbols that the segment was integrated in."""
        system, form = self._whole.system, self._whole.form
        found = derive(system.touching(self._mode), form) if system.unilateral else self._whole
        if found.rechoose is not None and found.chart != self._chart:
            found = found.rechoose(self._chart)
        if tuple(symbol.name for symbol in found.state) != self._symbols:
            raise FileError("The symbols of a saved motion cannot be found again", seen=", ".join(self._symbols))
        return found
