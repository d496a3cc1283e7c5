"""A motion from a file: values as stored, native code remade only for dense output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import FileError, ModelError
from ...formulations.equations import Equations
from ...formulations.registry import derive
from ...model.io.files import loads
from ...model.system import System
from ...runtime.context import Context
from ...runtime.kernel import kernel_of
from ...typing import Array, ArrayLike
from ..contact.contact_modes import ContactChange
from ..energy_columns import MEANINGS
from ..motion import Motion
from ..outcome import Outcome, Termination
from ..segment import Computed, Segment
from ..state_symbols import reported_symbols
from .stored_drawing import drawing_from
from .stored_options import options_from
from .stored_record import check_record, read_record

if TYPE_CHECKING:
    from .stored_arrays import StoredArrays

__all__ = ["input_note", "stored_motion", "without_native_code"]

#: The versions of the record that we read, and the first one whose files are sealed.
FORMATS, SEALED = (2, 3), 3

#: What to do with a file that contradicts itself.
DAMAGED = "the file is damaged: take a copy of it, or run the motion again"


def stored_motion(public: StoredArrays, private: StoredArrays, is_sealed: bool) -> Motion:
    """The motion of a file's two groups (`StoredArrays`); `is_sealed` if its seal was intact."""
    record = _checked_record(private["record"], is_sealed)
    scenario = loads(record["model"])
    equations = derive(
        scenario.system, record["form"], **options_from(record.get("options", {}), scenario.system)
    )
    state = reported_symbols(equations)
    if [symbol.name for symbol in state] != record["state"]:
        raise FileError(
            "The state of the motion is not that of its model", seen=", ".join(record["state"])
        )
    if set(record["parameters"]) != {symbol.name for symbol in scenario.system.parameters}:
        raise FileError(
            "The parameters of the motion are not those of its model",
            seen=", ".join(record["parameters"])[:60],
        )
    t = _array(public["t"])
    places = np.cumsum([0, *record["passages"]])
    motion = Motion(
        equations=equations,
        parameters=record["parameters"],
        t=t,
        y=np.array([_column(public, record, name) for name in record["state"]]).reshape(
            len(record["state"]), len(t)
        ),
        segments=_segments(equations, record, private),
        owner=np.asarray(private["owner"], dtype=np.int64),
        termination=_termination(record),
        event_names=tuple(record["events"]),
        t_events=[_array(private["passage_t"])[a:b] for a, b in pairwise(places)],
        y_events=[_array(private["passage_y"])[a:b] for a, b in pairwise(places)],
        impacts=tuple((time, name) for time, name in record["impacts"]),
        modes=tuple(ContactChange(*change) for change in record.get("contact_changes", ())),
        switches=tuple((time, sentence) for time, sentence in record["switches"]),
        state=state,
        start=record["start"],
        start_report=tuple(record["start_report"]),
        statistics=record["statistics"],
        scenario=replace(scenario, drawing=drawing_from(record["drawing"], scenario.system)),
        call=_call(record, private),
    )
    if not _fits(motion, record, _array(private["passage_y"])):
        raise FileError("The file holds a motion whose parts do not fit together", remedy=DAMAGED)
    # The names and values of a motion come from what was observed; here that is read, not computed.
    own = {name for symbols in record["letters"] for name in symbols} - set(record["state"])
    own_symbols = {
        name: _column(public, record, name)
        for name in record["variables"]
        if name in own and equations.rechoose is not None
    }
    energies = {
        name: _column(public, record, name) for name in MEANINGS if name in record["variables"]
    }
    observed = _observed(public, record, equations.system)
    return replace(motion, computed=Computed(observed, own_symbols, energies))


def _termination(record: Mapping[str, Any]) -> Termination:
    """How the run ended; files of earlier versions have one message."""
    told = record.get("termination", {"sentence": record["message"], "diagnostics": []})
    return Termination(Outcome(record["outcome"]), told["sentence"], tuple(told["diagnostics"]))


def _checked_record(text: str, is_sealed: bool) -> dict[str, Any]:
    """The record of a file; an error where it is not one that can be read."""
    record = read_record(text)
    if record["format"] not in FORMATS:
        raise FileError(
            "The motion was saved by another version of dalembert",
            seen=f"format {record['format']}, version {record['version']}",
            remedy="install that version",
        )
    if record["format"] >= SEALED and not is_sealed:
        raise FileError(
            "The file has lost its seal: it is damaged, or was changed", remedy="save it again"
        )
    check_record(record)
    if not record["model"]:
        raise FileError(
            "The motion was saved without its model",
            seen=record["model_note"],
            remedy="open the file with xarray",
        )
    return record


def _fits(motion: Motion, record: Mapping[str, Any], crossings: Array) -> bool:
    """Whether the arrays of a motion fit together."""
    segments, owner = len(motion.segments), motion.owner
    return bool(
        motion.t.ndim == 1
        and owner.shape == motion.t.shape
        and segments > 0
        and min(record["steps"]) > 0
        and np.all((owner >= 0) & (owner < segments))
        and len(record["events"]) == len(record["passages"])
        and crossings.shape == (sum(record["passages"]), len(motion.state))
    )


def input_note(system: System) -> str:
    """What neither a file nor another process has of a system; empty where it has all."""
    free = [symbol.name for symbol, value in system.inputs.items() if value is None]
    if free:
        return f"The inputs {', '.join(free)} were Python functions, which a file cannot keep."
    return ""


def without_native_code(motion: Motion) -> tuple[Segment, ...]:
    """The segments of a motion for another process, which remakes native code on demand."""
    record = {"parameters": dict(motion.parameters), "model_note": input_note(motion.system)}
    modes: dict[Any, Equations] = {}
    found = []
    for segment in motion.segments:
        context: Any = segment.context
        if isinstance(context, Context):
            equations = context.kernel.equations
            symbols = tuple(symbol.name for symbol in equations.state)
            context = LazyContext(
                motion.equations, segment.mode, symbols, tuple(equations.chart), modes, record
            )
        found.append(replace(segment, context=context))
    return tuple(found)


def _call(record: Mapping[str, Any], private: StoredArrays) -> dict[str, Any]:
    """What the run was asked to do; empty where the file is older than that."""
    call: dict[str, Any] = record.get("call") or {}
    return (
        call | {"at": _array(private["asked_t"]) if "asked_t" in private else None} if call else {}
    )


def _array(values: ArrayLike) -> Array:
    return np.ascontiguousarray(values, dtype=float)


def _column(public: StoredArrays, record: Mapping[str, Any], name: str) -> Array:
    return _array(public[record["variables"][name]])


def _observed(public: StoredArrays, record: Mapping[str, Any], system: System) -> dict[str, Array]:
    """Everything observed by key, as `Motion` keeps it."""
    count = len(_array(public["t"]))
    roles = record["roles"]

    def stacked(names: Sequence[str]) -> Any:
        return np.array([_column(public, record, name) for name in names]).reshape(
            len(names), count
        )

    def table(role: str) -> Any | None:
        return _array(public[roles[role]]) if roles[role] in public else None

    found: dict[str, Any] = {
        "velocities": stacked([v.name for v in system.velocities]),
        "accelerations": stacked([q.ddot.name for q in system.coordinates]),
        "momenta": stacked([p.name for p in system.momenta]),
    }
    found["energy"] = (
        stacked(["energy"]) if "energy" in record["variables"] else np.full((1, count), np.nan)
    )
    for level, rows in (
        ("position", [c for c in system.bilateral if c.is_position_level]),
        ("velocity", list(system.bilateral)),
    ):
        residual = table(f"{level}_residual")
        found[f"{level} residual"] = (
            np.zeros((0, count)) if residual is None else residual.reshape(len(rows), count)
        )
    forces = table("reaction")
    for number, name in enumerate(record["reactions"]):
        found[f"reaction {name}"] = forces[number] if forces is not None else np.zeros((0, count))
    multipliers = table("multiplier")
    if multipliers is not None:
        names = [str(name) for name in public[roles["row"]]]
        found |= {
            f"multiplier {name}": multipliers[number : number + 1]
            for number, name in enumerate(names)
        }
    found |= {f"output {name}": stacked([name]) for name in system.outputs}
    found |= {f"input {symbol}": stacked([symbol.name]) for symbol in system.inputs}
    return found


def _segments(
    equations: Equations, record: Mapping[str, Any], private: StoredArrays
) -> tuple[Segment, ...]:
    times, states = _array(private["step_t"]), _array(private["step_y"])
    width = max(len(symbols) for symbols in record["letters"])
    interpolated = record.get("interpolated", [False] * len(record["steps"]))
    if (
        states.shape != (len(times), width)
        or sum(record["steps"]) != len(times)
        or len(interpolated) != len(record["steps"])
    ):
        seen = f"{len(times)} times, {len(states)} states, {sum(record['steps'])} steps"
        raise FileError("The file holds steps that do not fit together", seen, DAMAGED)
    modes: dict[Any, Equations] = {}
    segments, first = [], 0
    kinds = (record[name] for name in ("modes", "letters", "charts", "steps"))
    for names, symbols, chart, count, is_interpolated in zip(*kinds, interpolated, strict=True):
        here = slice(first, first + count)
        context = LazyContext(equations, tuple(names), tuple(symbols), tuple(chart), modes, record)
        segments.append(
            Segment(
                context,
                tuple(names),
                times[here],
                np.ascontiguousarray(states[here][:, : len(symbols)]),
                is_interpolated,
            )
        )
        first += count
    return tuple(segments)


class LazyContext:
    """Stands for the `Context` of a segment, and makes it when it is first used.

    `modes` is shared by the segments of a motion, so that each mode of contact and choice of
    symbols is derived once.
    """

    def __init__(
        self,
        whole: Equations,
        mode: tuple[str, ...],
        symbols: tuple[str, ...],
        chart: tuple[str, ...],
        modes: dict[Any, Equations],
        record: Mapping[str, Any],
    ) -> None:
        self._whole, self._mode, self._symbols, self._chart = whole, mode, symbols, chart
        self._modes, self._record = modes, record
        self._context: Context | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        symbols = self._mode, self._symbols, self._chart
        return LazyContext, (self._whole, *symbols, {}, self._record)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._made(), name)

    def _made(self) -> Context:
        if self._context is None:
            self._context = self._make()
        return self._context

    def _make(self) -> Context:
        system = self._whole.system
        if any(value is None for value in system.inputs.values()):
            raise ModelError(
                self._record["model_note"].rstrip("."), remedy="simulate again for dense output"
            )
        key = (self._mode, self._symbols, self._chart)
        if key not in self._modes:
            self._modes[key] = self._equations()
        kernel = kernel_of(self._modes[key], system.parameters)
        values = [self._record["parameters"][symbol.name] for symbol in system.parameters]
        return Context(kernel, np.array(values, float))

    def _equations(self) -> Equations:
        """The equations of this mode in the symbols that the segment was integrated in."""
        system, form = self._whole.system, self._whole.form
        found = derive(system.touching(self._mode), form) if system.unilateral else self._whole
        if found.rechoose is not None and found.chart != self._chart:
            found = found.rechoose(self._chart)
        if tuple(symbol.name for symbol in found.state) != self._symbols:
            raise FileError(
                "The symbols of a saved motion cannot be found again", seen=", ".join(self._symbols)
            )
        return found
