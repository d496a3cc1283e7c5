"""Ctrl-C and requests to end, at any moment: a sentence, the exit status of the signal, what
was done is kept.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading

import numpy as np

import dalembert as da

from .fault_children import Board, Ended, commanded, forked, started
from .fault_kills import after_a_broken_sweep, leftovers_go, reference_store, sweeping
from .fault_state import State
from .fault_work import GRID, PENDULUM, emptied, scenario

#: Up to here the interpreter starts, and no line of ours has been read: a share of the time that a
#: command takes.
STARTING = 0.25


def sentence_trouble(ended: Ended, number: int) -> str | None:
    """What is wrong with the end of an interrupted command."""
    if ended.status == 0:
        return None
    if ended.status == -number and not ended.said:
        return None  # at the very end, where there is nothing left to keep
    errors = [line for line in ended.said.splitlines() if "nterrupted" in line]
    if ended.status != 128 + number:
        return f"exit status {ended.status} after signal {number}: {ended.said[-300:]}"
    if "Traceback" in ended.said or "Exception ignored" in ended.said or len(errors) not in (1, 2):
        return f"not one sentence: {ended.said[-400:]}"
    return None


def interrupt_the_command(state: State) -> None:
    """``dalembert run`` with all that it can write."""
    number = state.draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    folder = emptied(state.folder / "interrupted")
    target, picture = folder / "motion.nc", folder / "motion.png"
    arguments = ["run", "chaplygin-sleigh", "--t", "0,1", "-o", str(target)]
    arguments += ["--plot", str(picture)] if state.draw.random() < 0.3 else []
    is_whole = state.draw.random() < 0.1
    kind, run, first = (
        ("interrupted, started", started, STARTING) if is_whole else ("interrupted", commanded, 0.0)
    )
    if kind not in state.durations:
        state.durations[kind] = run(arguments).seconds
        emptied(folder)
    ended = run(
        arguments, after=state.draw.uniform(first, 1.05) * state.durations[kind], send=number
    )
    if run is commanded and not ended.reported:
        return  # it had not begun
    trouble = sentence_trouble(ended, number)
    if target.exists():
        da.load(target)
    if trouble is None and ended.status == 128 + number:
        trouble = leftovers_go(folder)
    state.judge("interrupts of `dalembert run`", trouble)


def interrupt_the_sweep(state: State) -> None:
    """``dalembert sweep``, then ``--resume``."""
    number = state.draw.choice([signal.SIGINT, signal.SIGTERM])
    folder = emptied(state.folder / "interrupted")
    model, path = folder / "pendulum.toml", folder / "runs.zarr"
    model.write_text(PENDULUM)
    values = [f"{name}={values[0]}:{values[-1]}:{5 * len(values)}" for name, values in GRID.items()]
    arguments = [
        "sweep",
        str(model),
        "--t",
        "0,2",
        "--chunk",
        "100",
        "--workers",
        "2",
        "-o",
        str(path),
    ]
    arguments += [word for value in values for word in ("--over", value)]
    if "interrupted sweep" not in state.durations:
        state.durations["interrupted sweep"] = commanded(arguments).seconds
        emptied(path).rmdir()
    ended = commanded(
        arguments,
        after=state.draw.uniform(0.0, 1.05) * state.durations["interrupted sweep"],
        send=number,
    )
    if not ended.reported:
        return
    trouble = sentence_trouble(ended, number)
    again = commanded([*arguments, *(["--resume"] if path.exists() else [])])
    if trouble is None and again.status != 0:
        trouble = f"going on ended with {again.status}: {again.said[-300:]}"
    if trouble is None and f"{25 * 48} finished" not in again.said:
        trouble = f"going on did not finish: {again.said[-300:]}"
    state.judge("interrupts of `dalembert sweep`", trouble)


def interrupt_a_run(state: State) -> None:
    """`da.simulate` gives what it has, or KeyboardInterrupt before there is anything."""

    def work(board: Board) -> None:
        motion = da.simulate(scenario(), span=(0, 1500))
        assert np.isfinite(motion.y).all() and np.all(np.diff(motion.t) > 0)
        assert motion.outcome in (da.Outcome.FINISHED, da.Outcome.INTERRUPTED), motion.message
        board.put(1 + (motion.outcome is da.Outcome.INTERRUPTED))

    if "simulate" not in state.durations:
        state.durations["simulate"] = forked(work).seconds
    ended = forked(
        work, after=state.draw.uniform(0.02, 1.0) * state.durations["simulate"], send=signal.SIGINT
    )
    state.counts["motions kept after an interrupt"] += ended.reported == 2
    trouble = (
        None
        if ended.status in (0, 130) and not ended.said
        else f"it ended with {ended.status}: {ended.said[-300:]}"
    )
    state.judge("interrupts of da.simulate", trouble)


def interrupt_a_sweep(state: State) -> None:
    """`da.sweep` into a store, in the main thread of its process, and going on with it."""
    reference, path = reference_store(state), emptied(state.folder / "interrupted") / "runs.zarr"
    if "sweep" not in state.durations:
        state.durations["sweep"] = forked(sweeping(path)).seconds
        path = emptied(state.folder / "interrupted") / "runs.zarr"
    ended = forked(
        sweeping(path),
        after=state.draw.uniform(0.0, 1.1) * state.durations["sweep"],
        send=signal.SIGINT,
    )
    trouble = (
        None if ended.status in (0, 130) else f"it ended with {ended.status}: {ended.said[-300:]}"
    )
    state.judge("interrupts of da.sweep", trouble or after_a_broken_sweep(path, ended, reference))


def interrupt_a_thread(state: State) -> None:
    """Ctrl-C while a thread computes: the main thread has it, the thread ends its run
    undisturbed.
    """

    def work(board: Board) -> None:
        found: list[da.Motion] = []
        is_done = threading.Event()

        def compute() -> None:
            try:
                found.append(da.simulate(scenario(), span=(0, 300)))
            finally:
                is_done.set()

        threading.Thread(target=compute).start()
        try:
            is_done.wait()
        except KeyboardInterrupt:
            # after an interrupt Python 3.11 takes any thread that is joined for ended
            is_done.wait()
        assert found and found[0].outcome is da.Outcome.FINISHED
        board.put(1)

    if "thread" not in state.durations:
        state.durations["thread"] = forked(work).seconds
    ended = forked(
        work, after=state.draw.uniform(0.0, 1.0) * state.durations["thread"], send=signal.SIGINT
    )
    good = ended.status == 130 or (ended.status == 0 and ended.reported == 1)
    state.judge(
        "interrupts beside a thread",
        None if good else f"it ended with {ended.status}: {ended.said[-300:]}",
    )


def children_of(process: int) -> list[str]:
    """The processes that a process has left, by their commands."""
    listed = subprocess.run(
        ["ps", "-o", "args=", "--ppid", str(process)], capture_output=True, text=True
    )
    return [line for line in listed.stdout.splitlines() if not line.startswith("ps ")]


def nobody_is_left(state: State) -> None:
    """No process of a command that was interrupted goes on without it."""
    left = [line for line in children_of(os.getpid()) if "dalembert.cli" in line]
    state.judge("looks for processes that were left", f"{left}" if left else None)
