"""A motion made again from its file, and compared with what the file holds."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DalembertError, FileError, ModelError
from ...model.names import shortened
from ...typing import Array
from ..call import made_with, task_of
from ..motion import Motion
from .save import load

__all__ = ["Rerun", "rerun"]

#: Runs with fixed steps are equal within this, relative to the size of a symbol.
FIXED_RTOL = 1e-9


@dataclass(frozen=True, repr=False)
class Rerun:
    """A motion from a file beside the same run made now.

    Attributes
    ----------
    kept, motion : Motion
        What the file holds, and the new run.
    same_bits : bool
        Whether times, states, steps, events, impacts, ending and its sentence are the same, bit by
        bit.
    within : bool
        Whether both ended alike, and no symbol differs by more than the tolerance.
    differences : mapping of symbol to float
        The largest difference along the motion; nan where they cannot be compared.
    allowed : mapping of symbol to float
        The tolerance of each: atol + rtol times the largest value along the motion.
    changed : mapping of name to (then, now)
        Versions, and what is known of the machine, that are not those of the first run.
    notes : tuple of sentences
        What differs beside the states: endings, times of steps, events, impacts.
    """

    kept: Motion
    motion: Motion
    same_bits: bool
    within: bool
    differences: Mapping[str, float]
    allowed: Mapping[str, float]
    changed: Mapping[str, tuple[str, str]]
    notes: tuple[str, ...]

    def text(self) -> str:
        """The comparison in a few lines."""
        if self.same_bits:
            lines = ["The rerun gives the same bits."]
        else:
            symbol = max(self.differences, key=self._excess, default="")
            worst = f": {symbol} differs most, by {self.differences[symbol]:.3g}" if symbol else ""
            limit = f" (allowed {self.allowed[symbol]:.3g})" if symbol else ""
            verdict = "agrees within the tolerance" if self.within else "does not agree"
            lines = [f"The rerun {verdict}{worst}{limit}.", *self.notes]
        lines += [f"{name}: {then} then, {now} now." for name, (then, now) in self.changed.items()]
        return "\n".join(lines)

    def _excess(self, symbol: str) -> float:
        ratio = self.differences[symbol] / self.allowed[symbol]
        return ratio if np.isfinite(ratio) else np.inf

    def to_json(self) -> dict[str, Any]:
        """The comparison as plain data; what ``dalembert rerun --json`` prints."""
        return {
            "same_bits": self.same_bits,
            "within_tolerance": self.within,
            "differences": dict(self.differences),
            "allowed": dict(self.allowed),
            "changed": {
                name: {"then": then, "now": now} for name, (then, now) in self.changed.items()
            },
            "notes": list(self.notes),
            "outcome": self.motion.outcome.value,
            "message": self.motion.message,
        }

    def __repr__(self) -> str:
        return self.text()


def rerun(path: Path, *, rtol: float | None = None) -> Rerun:
    """Make a saved motion again by the call that its file holds, and compare.

    The same version on the same machine gives the same bits. Elsewhere the last digits may differ,
    and where a motion is sensitive to them it may leave the first one after a while.

    Parameters
    ----------
    path : path
        A file that `Motion.save` wrote.
    rtol : float
        Up to which difference two runs agree, relative to the largest value of a symbol along the
        motion; by default the tolerance of the run itself, 1e-9 for methods with fixed steps.

    Returns
    -------
    Rerun

    Raises
    ------
    FileError
        Where the file lacks what is needed: it is older than calls are kept, or inputs were
        functions of Python.

    Examples
    --------
    >>> import dalembert as da, tempfile
    >>> motion = da.simulate(da.gallery.load("chaplygin-sleigh"), span=(0, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     motion.save(f"{folder}/sleigh.nc")
    ...     da.rerun(f"{folder}/sleigh.nc")
    The rerun gives the same bits.
    """
    from ..task import run_task

    shown = shortened(os.fspath(path), 100)
    if rtol is not None and not 0 <= rtol < np.inf:
        raise ModelError(
            "The allowed difference must be a number, at least 0",
            seen=rtol,
            remedy="pass rtol=1e-9, say",
        )
    if Path(path).is_dir():
        raise FileError(
            f"{shown} is a folder, such as the store of a sweep",
            seen="no motion",
            remedy="name a file that Motion.save wrote",
        )
    kept = load(path)
    if not kept.call:
        raise FileError(
            f"The file {shown} does not hold the call of its run",
            seen="a file of an earlier version",
            remedy="simulate again and save the motion; load and scenario_of still read this file",
        )
    try:
        task = task_of(kept.call, kept.equations, kept.parameters)
    except FileError:
        raise
    except (DalembertError, KeyError, TypeError, ValueError) as error:
        seen = (
            error.what if isinstance(error, DalembertError) else f"{type(error).__name__}: {error}"
        )
        raise FileError(
            f"The file {shown} holds a call that cannot be read",
            seen=shortened(seen, 120),
            remedy="simulate again",
        ) from error
    return compared(kept, run_task(task), rtol)


def compared(kept: Motion, motion: Motion, rtol: float | None = None) -> Rerun:
    """Two runs of one call, side by side."""
    same = is_same(kept, motion)
    notes = [] if same else _notes(kept, motion)
    allowed, differences = _allowed(kept, rtol), _differences(kept, motion)
    alike = kept.outcome == motion.outcome and [len(t) for t in kept.t_events] == [
        len(t) for t in motion.t_events
    ]
    alike = alike and [name for _, name in kept.impacts] == [name for _, name in motion.impacts]
    within = alike and all(differences[name] <= allowed[name] for name in differences)
    then, now = kept.call.get("made_with", {}), made_with()
    changed = {
        name: (then.get(name, "unknown"), now[name]) for name in now if then.get(name) != now[name]
    }
    return Rerun(kept, motion, same, same or within, differences, allowed, changed, tuple(notes))


def is_same(first: Motion, second: Motion) -> bool:
    """Whether two motions are the same, bit by bit; how long they took does not count."""
    if (first.outcome, first.message, first.impacts, first.switches) != (
        second.outcome,
        second.message,
        second.impacts,
        second.switches,
    ):
        return False
    blocks = [_blocks(motion) for motion in (first, second)]
    return len(blocks[0]) == len(blocks[1]) and all(
        _same_bits(a, b) for a, b in zip(*blocks, strict=True)
    )


def _blocks(motion: Motion) -> list[Any]:
    steps = [block for segment in motion.segments for block in (segment.step_t, segment.step_y)]
    return [motion.t, motion.y, *steps, *motion.t_events, *motion.y_events]


def _same_bits(first: Array, second: Array) -> bool:
    a, b = (np.ascontiguousarray(block, dtype=float) for block in (first, second))
    return a.shape == b.shape and bool(np.array_equal(a.view(np.uint64), b.view(np.uint64)))


def _allowed(kept: Motion, rtol: float | None) -> dict[str, float]:
    relative = rtol if rtol is not None else kept.statistics.get("rtol", FIXED_RTOL)
    absolute = kept.statistics.get("atol", 1e-2 * relative)
    largest = np.max(np.abs(kept.y), axis=1, initial=0.0)
    return {
        symbol.name: float(absolute + relative * size)
        for symbol, size in zip(kept.state, largest, strict=True)
    }


def _differences(kept: Motion, motion: Motion) -> dict[str, float]:
    """The largest difference of each symbol at the first run's times; by dense output if needed."""
    names = [symbol.name for symbol in kept.state]
    if kept.t.shape == motion.t.shape and np.array_equal(kept.t, motion.t):
        states, times = motion.y, np.arange(len(kept.t))
    else:
        ends = [segment.step_t[place] for segment in motion.segments for place in (0, -1)]
        times = np.flatnonzero((kept.t >= min(ends)) & (kept.t <= max(ends)))
        states = motion.sol(kept.t[times])
    apart = np.abs(states - kept.y[:, times])
    return {
        name: float(np.max(row)) if row.size else 0.0
        for name, row in zip(names, apart, strict=True)
    }


def _notes(kept: Motion, motion: Motion) -> list[str]:
    found = []
    if kept.message != motion.message:
        found.append(f"Then: {kept.message} Now: {motion.message}")
    for name, then, now in zip(kept.event_names, kept.t_events, motion.t_events, strict=False):
        if len(then) != len(now):
            found.append(
                f"The event `{name}` was met {len(then)} times then, {len(now)} times now."
            )
        elif len(then) and not np.array_equal(then, now):
            found.append(
                f"Times of the event `{name}` differ by at most {np.max(np.abs(then - now)):.3g}."
            )
    if len(kept.impacts) != len(motion.impacts):
        found.append(f"There were {len(kept.impacts)} impacts then, {len(motion.impacts)} now.")
    counts = [sum(len(segment.step_t) - 1 for segment in each.segments) for each in (kept, motion)]
    if counts[0] != counts[1]:
        found.append(f"{counts[0]} steps were kept then, {counts[1]} now.")
    return found
