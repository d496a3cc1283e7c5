"""What a run watches between its steps, as native code and numbers, found once for a kernel.

How it is found in the expressions of a model is in `rank_watch` and `stop_times`, which are loaded
where a kernel does not know it yet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...codegen.native.language import Reals, call_program, rare
from ..run_fields import RunFields

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel
    from ..native_run import AdaptiveRun
    from ..task_record import Task

__all__ = [
    "CONTROLLED",
    "RowWatch",
    "has_unwatched_rows",
    "hold_watch",
    "is_controlled",
    "is_watched",
    "row_reversed",
    "row_watch",
    "unwatched_rows",
]

#: The key under which a kernel knows whether its steps are controlled, by other than expansion.
CONTROLLED = ("controlled", False)
#: A row that reverses is looked at where its length is below this part of the largest that it had.
SHORTER = 0.5
#: A row that falls to this part of the largest length that it had is gone.
GONE = 1e-9


@rare
def row_reversed(context: RunFields, time: float, y: Reals) -> bool:
    """Whether a constraint row reversed or vanished since the last check; stores the rows at y."""
    if context.watch_program == 0:
        return False
    clock, old, new = context.time, context.watch_old, context.watch_new
    clock[0] = time
    call_program(
        context.watch_program, clock, y, context.parameters, context.input_values, old, new
    )
    context.watch_old, context.watch_new = context.watch_new, context.watch_old
    count, largest, state = context.n_watched, context.watch_largest, context.watch_state
    products, here = new + context.n_watch_entries, new + (context.n_watch_entries + count)
    there = old + (context.n_watch_entries + count)
    found = -1
    for k in range(count):
        if here[k] > largest[k]:
            largest[k] = here[k]
        if products[k] < 0.0 and min(here[k], there[k]) < SHORTER * SHORTER * largest[k]:
            found = k
        if here[k] <= GONE * GONE * largest[k] and there[k] > GONE * GONE * largest[k]:
            found = k
    if found >= 0:
        largest[count] = float(found)
        return True
    state[0] = time
    for i in range(context.n_state):
        state[1 + i] = y[i]
    return False


@dataclass(frozen=True)
class RowWatch:
    """The program that compares rows with those of the last look.

    It takes and gives their entries, and gives the products with the rows before (m) and the
    squared lengths (m). Rows that cannot vanish are left out; `numbers` are those of the others
    among all.
    """

    address: int
    entries: int
    numbers: tuple[int, ...]


def is_watched(kernel: Kernel) -> bool:
    """Whether a kernel's rows can vanish, as they depend on the state; not for large systems."""
    return row_watch(kernel) is not None


def hold_watch(run: AdaptiveRun, kernel: Kernel, t: float) -> None:
    """Begin to watch the rows of a run at its state."""
    watch = row_watch(kernel)
    if watch is None:
        return
    count, fields = len(watch.numbers), run.context.fields
    for name, size in (
        ("watch_old", watch.entries + 2 * count),
        ("watch_new", watch.entries + 2 * count),
        ("watch_largest", count + 1),
        ("watch_state", 1 + kernel.n_state),
    ):
        run.context.fields.bind(name, np.zeros(size))
    fields.n_watch_entries, fields.n_watched = watch.entries, count
    fields.watch_program = watch.address
    run.call("row_reversed", t, run.y)


def row_watch(kernel: Kernel) -> RowWatch | None:
    """The program that watches rows, compiled once and kept with the kernel; None for none."""

    def compiled() -> RowWatch | None:
        from .rank_watch import compiled_watch

        return compiled_watch(kernel)

    return kernel.cache.get("row watch", compiled)


def has_unwatched_rows(kernel: Kernel) -> bool:
    """Whether a kernel has rows that can vanish and are too many to be watched."""
    return unwatched_rows(kernel) is not None


def unwatched_rows(kernel: Kernel) -> Any:
    """The function of unwatched rows, made once and kept with the kernel; None for none."""

    def entries() -> Any:
        from .rank_watch import unwatched_entries

        return unwatched_entries(kernel)

    return kernel.cache.get("unwatched rows", entries)


def is_controlled(kernel: Kernel, task: Task) -> bool:
    """Whether steps also control the residual of dense output, lest they skip something narrow.

    That costs evaluations, so that it is done where the structure of the model leaves room for it:
    inputs that are functions of Python, narrow functions of the state; and by the Taylor method,
    which knows the beginnings of its steps alone, also where time stands in the equations.
    """
    by_expansion = task.method == "taylor"

    def may_pass() -> bool:
        from .stop_times import may_pass_unseen

        return may_pass_unseen(kernel, by_expansion)

    functions = any(not hasattr(function, "breaks") for function in task.inputs.values())
    key = ("controlled", True) if by_expansion else CONTROLLED
    return functions or kernel.cache.get(key, may_pass)
