"""Kills without warning while files, stores and the cache are written: by the clock, and at every
call of the system.
"""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dalembert as da
from dalembert.codegen.object_cache import ObjectCache
from dalembert.integrate.native_run import native_functions
from dalembert.model.io.atomic_file import YOUNGEST_LEFTOVER, drop_leftovers
from dalembert.runtime.native_functions import functions

from .fault_children import HAS_STRACE, WRITING, Board, Ended, calls_of, commanded, forked, started
from .fault_state import State
from .fault_work import (
    Writer,
    emptied,
    files_of,
    hidden,
    parts_of,
    scenario,
    swept,
    writers,
    written,
)

#: How often a writer is taken: those that draw take long.
WEIGHTS = {
    "Motion.save": 10,
    "Ensemble.save": 5,
    "model file": 8,
    "picture .png": 1,
    "picture .svg": 1,
    "animation": 2,
}


def killed(
    state: State, name: str, work: Callable[[Board], None], clean: Callable[[], None]
) -> Ended:
    """Kill a piece of work at a moment that is drawn: of its time, or of its calls of the
    system.
    """
    if name not in state.durations:
        clean()
        state.durations[name] = forked(work).seconds
        clean()
    if HAS_STRACE and state.draw.random() < 0.5:
        if name not in state.calls:
            state.calls[name] = calls_of(work)
            clean()
        call = state.draw.randint(1, max(1, state.calls[name]))
        state.counts["kills at a call of the system"] += 1
        return forked(work, inject=f"{WRITING}:signal=SIGKILL:when={call}")
    state.counts["kills by the clock"] += 1
    return forked(work, after=state.draw.uniform(0.0, 1.1 * state.durations[name]))


def drawn_writer(state: State) -> Writer:
    """A writer, those that are slow less often."""
    known = writers()
    return state.draw.choices(known, [WEIGHTS.get(writer.name, 1) for writer in known])[0]


def kill_while_a_file_is_written(state: State) -> None:
    """The old file or the new one, the new one where the call has returned, and nothing left that
    is not removed.
    """
    writer = drawn_writer(state)
    folder = emptied(state.folder / "file")
    reference, target = folder / f"reference{writer.suffix}", folder / f"target{writer.suffix}"
    if f"{writer.name} reference" not in _KNOWN:
        writer.write(reference)
        _KNOWN[f"{writer.name} reference"] = reference.read_bytes()
    new, old = _KNOWN[f"{writer.name} reference"], b"the old file"

    def clean() -> None:
        target.write_bytes(old)

    clean()
    ended = killed(state, writer.name, written(writer, target), clean)
    found, trouble = target.read_bytes(), None
    if found not in (old, new):
        trouble = (
            f"{writer.name} left a file of {len(found)} bytes that is neither the old nor the"
            " new one"
        )
    elif ended.reported and found != new:
        trouble = f"{writer.name} had returned, and the file is the old one"
    elif found == new and not writer.is_whole(target):
        trouble = f"{writer.name} wrote a file that cannot be read"
    elif len(hidden(folder)) > 1:
        trouble = f"{writer.name} left {hidden(folder)}"
    else:
        trouble = leftovers_go(folder)
    state.judge("kills while a file was written", trouble)


_KNOWN: dict[str, bytes] = {}


def leftovers_go(folder: Path) -> str | None:
    """Whether what a kill left is removed by the next one who writes."""
    for name in hidden(folder):
        os.utime(folder / name, (1.0, 1.0))
    drop_leftovers(folder)
    return f"{hidden(folder)} stayed after {YOUNGEST_LEFTOVER:g} s" if hidden(folder) else None


def kill_while_a_store_is_written(state: State) -> None:
    """What was reported is in the store, it can be read, and going on gives the files of an
    undisturbed sweep.
    """
    folder, reference = emptied(state.folder / "store"), reference_store(state)
    path = folder / "runs.zarr"
    ended = killed(state, "sweep", sweeping(path), lambda: _removed(path))
    state.judge(
        "kills while a store was written",
        after_a_broken_sweep(path, ended, reference) or leftovers_go(folder),
    )


def sweeping(path: Path, resume: bool = False) -> Callable[[Board], None]:
    """A sweep that reports how many runs it has stored."""
    return lambda board: (
        swept(path, resume=resume, progress=lambda _, count: board.put(int(count))) and None
    )


def reference_store(state: State) -> dict[str, bytes]:
    """The files of a sweep that nobody disturbed."""
    place = state.folder / "reference.zarr"
    if not place.exists():
        swept(place)
    return files_of(place)


def after_a_broken_sweep(path: Path, ended: Ended, reference: dict[str, bytes]) -> str | None:
    """What is wrong with a store after a sweep was broken off, and gone on with."""
    if path.exists():
        found = files_of(path)
        wrong = [name for name, content in found.items() if reference.get(name) != content]
        if wrong:
            return f"the store has wrong files, {wrong[:2]}"
        stored = sum(
            np.count_nonzero(np.frombuffer(c[:-4], np.int8) != -1)
            for n, c in found.items()
            if n.startswith("outcome")
        )
        if stored < ended.reported:
            return f"{ended.reported} runs were reported as stored, and {stored} are there"
    elif ended.reported:
        return f"{ended.reported} runs were reported as stored, and there is no store"
    again = forked(sweeping(path, resume=True))
    if again.status != 0:
        return f"going on ended with {again.status}: {again.said[-300:]}"
    if files_of(path) != reference:
        return "going on gave another store than an undisturbed sweep"
    return f"{parts_of(path)} were left" if parts_of(path) else None


def _removed(path: Path) -> None:
    emptied(path)
    path.rmdir()


def bits_of_a_run(board: Board) -> None:
    """Derive, compile and run a model of its own, and report a digest of the numbers."""
    made = da.simulate(scenario(), span=(0, 1))
    board.put(int.from_bytes(hashlib.sha256(made.y.tobytes()).digest()[:7], "little"))


def with_cache(
    folder: Path, work: Callable[[Board], None], anew: bool = False
) -> Callable[[Board], None]:
    """Work that finds its object code in a folder; `anew` also that of the loops which all models
    share.
    """

    def inside(board: Board) -> None:
        os.environ["DALEMBERT_CACHE"] = str(folder)
        if anew:
            native_functions.cache_clear()
            functions.cache_clear()
        work(board)

    return inside


def reference_bits(state: State) -> int:
    """The digest of the run without any cache."""
    if "bits" not in state.calls:
        emptied(state.folder / "unused").rmdir()
        state.calls["bits"] = forked(with_cache(Path("off"), bits_of_a_run)).reported
    return state.calls["bits"]


def kill_while_the_cache_is_written(state: State) -> None:
    """Every entry under its name is whole, few leftovers, and the next run has the bits of one
    without a cache.
    """
    folder = emptied(state.folder / "cache")
    anew = state.draw.random() < 0.2
    work = with_cache(folder, bits_of_a_run, anew)
    killed(state, "cache with loops" if anew else "cache", work, lambda: emptied(folder) and None)
    state.judge("kills while the cache was written", cache_is_sound(state, folder))


def cache_is_sound(state: State, folder: Path) -> str | None:
    """What is wrong with a cache, and with a run that uses it."""
    before = os.environ.get("DALEMBERT_CACHE")
    os.environ["DALEMBERT_CACHE"] = str(folder)
    try:
        broken = [path.name for path in folder.glob("*.o") if ObjectCache().get(path.stem) is None]
    finally:
        (
            os.environ.pop("DALEMBERT_CACHE")
            if before is None
            else os.environ.update(DALEMBERT_CACHE=before)
        )
    if broken:
        return f"the entries {broken} are not whole"
    if len(list(folder.glob("*.part"))) > 1:
        return f"{len(list(folder.glob('*.part')))} files were left"
    again = forked(with_cache(folder, bits_of_a_run))
    if again.status != 0 or again.reported != reference_bits(state):
        return f"the next run ended with {again.status}, and its bits differ: {again.said[-300:]}"
    return None


def kill_the_command(state: State) -> None:
    """``dalembert run -o`` in a process of its own: the file is the old one or whole, and whole
    once that was printed.
    """
    folder = emptied(state.folder / "command")
    target = folder / "motion.nc"
    target.write_bytes(b"the old file")
    arguments = ["run", "chaplygin-sleigh", "--t", "0,1", "-o", str(target)]
    kind, run = ("started", started) if state.draw.random() < 0.1 else ("command", commanded)
    if kind not in state.durations:
        state.durations[kind] = run(arguments).seconds
        target.write_bytes(b"the old file")
    ended = run(
        arguments, after=state.draw.uniform(0.0, 1.05) * state.durations[kind], send=signal.SIGKILL
    )
    trouble = None
    if target.read_bytes() == b"the old file":
        if str(target) in ended.said:
            trouble = "the file was reported as written, and it is the old one"
    else:
        da.load(target)
    state.judge("kills of `dalembert run`", trouble or leftovers_go(folder))
