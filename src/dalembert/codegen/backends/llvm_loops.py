"""LLVM text of a program with repetition: loops for the runs of `reroll`, straight code between.

Inside a loop, values that only their own iteration uses stay in registers, values that the next
iteration uses are carried over to it, and all others go through a work array. Its layout keeps the
results of one iteration together:

    home(i, slot) = base + i * width + rank(slot)

so that affine steps between rows are affine steps in memory as well. Where a loop reads across the
edge of another one they are not; those iterations are peeled off and written straight-line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...model.without_gc import without_gc
from ..passes.reroll import (
    CONSTANT,
    INPUT,
    LEAST_COUNT,
    NOTHING,
    OUTPUT,
    STORE,
    VALUE,
    RepeatedRun,
    Stream,
    Table,
    find_runs,
    stream_of,
)
from ..program import INPUTS, Program
from .llvm_operations import float_text, step_text

__all__ = ["SHORT_PROGRAM", "LoopPlan", "plan_of", "rolled_text", "worthwhile_runs"]

#: Shorter programs stay as they are, and so do those that loops would not shorten to this share.
SHORT_PROGRAM, WORTH = 768, 0.4
#: Straight-line parts are cut into functions of this many rows.
PIECE = 256
#: A larger work array is taken from the heap, not from the stack.
STACK_DOUBLES = 8192


@dataclass(frozen=True)
class LoopPlan:
    """The parts of a stream, loops or row stretches, and the slots of results (-1: none)."""

    parts: tuple[RepeatedRun | range, ...]
    homes: Table
    size: int


@without_gc
def rolled_text(program: Program, signature: str, clear: Sequence[str]) -> list[str] | None:
    """The functions of a program with loops, or None where too little in it repeats.

    `signature` is that of every program, `clear` what sets structural zeros.
    """
    if len(program.instructions) <= SHORT_PROGRAM:
        return None
    stream = stream_of(program)
    if len(stream) <= SHORT_PROGRAM:
        return None
    runs = worthwhile_runs(stream)
    if runs is None:
        return None
    plan = plan_of(stream, runs)
    table = ", ".join(f"double {float_text(value)}" for value in stream.constants)
    lines = [
        f"@{program.name}.constants = internal constant [{len(stream.constants)} x double]"
        f" [{table}]"
    ]
    for number, part in enumerate(plan.parts):
        lines.append(
            f"define internal void @{program.name}.{number}({signature}, ptr noalias nocapture"
            " %work) noinline #1 {"
        )
        if isinstance(part, RepeatedRun):
            lines += [
                "entry:",
                f"%constants = getelementptr double, ptr @{program.name}.constants, i64 0",
            ]
            lines += _LoopWriter(stream, plan, part).lines()
        else:
            lines += _straight(stream, plan, part)
        lines += ["ret void", "}"]
    passed = ", ".join(f"ptr %{name}" for name in (*INPUTS, "out", "work"))
    calls = [f"call void @{program.name}.{number}({passed})" for number in range(len(plan.parts))]
    return [
        *lines,
        f"define void @{program.name}({signature}) #1 {{",
        *clear,
        *_with_work(plan.size, calls, program),
        "}",
    ]


def worthwhile_runs(stream: Stream) -> list[RepeatedRun] | None:
    """The runs of a program, or None where loops would not shorten it enough."""
    runs = find_runs(stream)
    left = len(stream) - sum((run.count - 1) * run.period for run in runs)
    return runs if left <= WORTH * len(stream) else None


def _with_work(size: int, calls: Sequence[str], program: Program) -> list[str]:
    """The calls with a work array; where there is no memory for it, the result is not a number."""
    if size <= STACK_DOUBLES:
        return [f"%work = alloca double, i64 {max(1, size)}", *calls, "ret void"]
    return [
        f"%work = call ptr @malloc(i64 {8 * size})",
        "%none = icmp eq ptr %work, null",
        "br i1 %none, label %failed, label %given",
        "failed:",
        f"call void @llvm.memset.p0.i64(ptr %out, i8 -1, i64 {8 * len(program.outputs)}, i1 false)",
        "ret void",
        "given:",
        *calls,
        "call void @free(ptr %work)",
        "ret void",
    ]


# -- where things are kept -------------------------------------------------------------------------


def plan_of(stream: Stream, runs: Sequence[RepeatedRun]) -> LoopPlan:
    """Plan loops for runs, straight pieces between, and a slot for values passed between parts."""
    n = len(stream)
    homes = np.full(n, -1, dtype=np.int64)
    needed = _used_elsewhere(stream, _groups(n, _parts(n, runs)))
    size = 0
    for run in runs:
        rows = slice(run.first, run.stop)
        slots = needed[rows].reshape(run.count, run.period).any(axis=0)
        width = int(slots.sum())
        ranks = np.where(slots, np.cumsum(slots) - 1, -1)
        places = size + width * np.arange(run.count)[:, None] + ranks
        homes[rows] = np.where(slots, places, -1).ravel()
        size += width * run.count
    size = _house(homes, needed, size)
    peeled = [
        kept
        for run in runs
        for kept in [_steady_part(stream, homes, run)]
        if kept.count >= LEAST_COUNT
    ]
    parts = _parts(n, peeled)
    size = _house(homes, _used_elsewhere(stream, _groups(n, parts)), size)
    return LoopPlan(tuple(parts), homes, size)


def _house(homes: Table, needed: np.ndarray, size: int) -> int:  # type: ignore[type-arg]
    """Give every result that needs one a place of its own; returns the size of the work array."""
    homeless = np.flatnonzero(needed & (homes < 0))
    homes[homeless] = size + np.arange(len(homeless))
    return size + len(homeless)


def _parts(n: int, runs: Sequence[RepeatedRun]) -> list[RepeatedRun | range]:
    parts: list[RepeatedRun | range] = []
    end = 0
    for run in (*runs, RepeatedRun(n, 1, 0)):
        parts += [
            range(first, min(first + PIECE, run.first)) for first in range(end, run.first, PIECE)
        ]
        if run.count:
            parts.append(run)
        end = run.stop
    return parts


def _groups(n: int, parts: Sequence[RepeatedRun | range]) -> Table:
    """A number for each row; rows with the same number see each other's registers."""
    groups = np.zeros(n, dtype=np.int64)
    last = 0
    for part in parts:
        if isinstance(part, RepeatedRun):
            groups[part.first : part.stop] = last + np.repeat(np.arange(part.count), part.period)
            last += part.count
        else:
            groups[part.start : part.stop] = last
            last += 1
    return groups


def _used_elsewhere(stream: Stream, groups: Table) -> np.ndarray:  # type: ignore[type-arg]
    needed = np.zeros(len(stream), dtype=bool)
    for column in (0, 1):
        rows = np.flatnonzero(stream.kinds[:, column] == VALUE)
        sources = stream.places[rows, column]
        needed[sources[groups[rows] != groups[sources]]] = True
    return needed


def _steady_part(stream: Stream, homes: Table, run: RepeatedRun) -> RepeatedRun:
    """The longest stretch of iterations whose reads of the work array move by equal steps."""
    unsteady = np.zeros(max(0, run.count - 2), dtype=bool)
    starts = run.first + run.period * np.arange(run.count)
    for slot in range(run.period):
        for column in (0, 1):
            if stream.kinds[run.first + slot, column] != VALUE:
                continue
            sources = stream.places[starts + slot, column]
            if np.all(sources >= starts):  # its own iteration
                continue
            unsteady |= np.diff(homes[sources], n=2) != 0
    edges = np.flatnonzero(np.diff(np.concatenate([[True], unsteady, [True]])))
    if not len(edges):
        return RepeatedRun(run.first, run.period, 0)
    lengths = edges[1::2] - edges[::2]
    best = int(np.argmax(lengths))
    return RepeatedRun(
        run.first + run.period * int(edges[2 * best]), run.period, int(lengths[best]) + 2
    )


# -- text ------------------------------------------------------------------------------------------


def _straight(stream: Stream, plan: LoopPlan, rows: range) -> list[str]:
    lines: list[str] = []
    known: dict[tuple[int, int], str] = {}

    def value(kind: int, place: int) -> str:
        if kind == CONSTANT:
            return float_text(stream.constants[place])
        if (kind, place) not in known:
            array, index = (
                ("work", int(plan.homes[place])) if kind == VALUE else (INPUTS[kind - INPUT], place)
            )
            name = known[kind, place] = f"%l{len(lines)}"
            lines.append(f"{name}p = getelementptr double, ptr %{array}, i64 {index}")
            lines.append(f"{name} = load double, ptr {name}p")
        return known[kind, place]

    def write(name: str, array: str, index: int) -> None:
        address = f"%s{len(lines)}"
        lines.append(f"{address} = getelementptr double, ptr %{array}, i64 {index}")
        lines.append(f"store double {name}, ptr {address}")

    for row in rows:
        operation = stream.operations[stream.codes[row]]
        operands = list(zip(stream.kinds[row].tolist(), stream.places[row].tolist(), strict=True))
        if operation == STORE:
            write(value(*operands[0]), "out", operands[1][1])
            continue
        lines += step_text(
            operation, row, [value(*operand) for operand in operands if operand[0] != NOTHING]
        )
        known[VALUE, row] = f"%v{row}"
        if plan.homes[row] >= 0:
            write(f"%v{row}", "work", int(plan.homes[row]))
    return lines


class _LoopWriter:
    """Writes one run: a block before the loop, and the loop."""

    def __init__(self, stream: Stream, plan: LoopPlan, run: RepeatedRun) -> None:
        self.stream, self.plan, self.run = stream, plan, run
        self.before: list[str] = []
        self.carried: dict[int, str] = {}
        self.body: list[str] = []
        self.steps: dict[int, str] = {}
        self.pointers: dict[tuple[str, int], str] = {}
        self.loaded: dict[tuple[str, int, int], str] = {}

    def lines(self) -> list[str]:
        """The body of a function behind the label of its first block, but for its return."""
        for slot in range(self.run.period):
            self._row(slot)
        head = ["%i = phi i64 [0, %entry], [%next, %loop]"]
        head += [
            f"%c{slot} = phi double [{first}, %entry], [%v{slot}, %loop]"
            for slot, first in self.carried.items()
        ]
        return [
            *self.before, "br label %loop", "loop:", *head, *self.body,
            "%next = add nuw nsw i64 %i, 1", f"%more = icmp ult i64 %next, {self.run.count}",
            "br i1 %more, label %loop, label %done", "done:",
        ]  # fmt: skip

    def _row(self, slot: int) -> None:
        row = self.run.first + slot
        operation = self.stream.operations[self.stream.codes[row]]
        if operation == STORE:
            self._write(self._operand(row, 0), "out", *self._affine(self.stream.places[:, 1], row))
            return
        columns = [column for column in (0, 1) if self.stream.kinds[row, column] != NOTHING]
        self.body += step_text(operation, slot, [self._operand(row, column) for column in columns])
        if self.plan.homes[row] >= 0:
            self._write(f"%v{slot}", "work", *self._affine(self.plan.homes, row))

    def _operand(self, row: int, column: int) -> str:
        kind, place = int(self.stream.kinds[row, column]), int(self.stream.places[row, column])
        if kind == CONSTANT:
            first, step = self._affine(self.stream.places[:, column], row)
            if step:
                return self._read("constants", first, step)
            return float_text(self.stream.constants[place])
        if kind != VALUE:
            assert kind != OUTPUT
            return self._read(
                INPUTS[kind - INPUT], *self._affine(self.stream.places[:, column], row)
            )
        following = int(self.stream.places[row + self.run.period, column])
        if following - place == self.run.period:
            slot = place - self.run.first
            if slot >= 0:
                return f"%v{slot}"
            if slot >= -self.run.period:
                return self._carry(slot + self.run.period, int(self.plan.homes[place]))
        first = int(self.plan.homes[place])
        return self._read("work", first, int(self.plan.homes[following]) - first)

    def _affine(self, places: Table, row: int) -> tuple[int, int]:
        return int(places[row]), int(places[row + self.run.period] - places[row])

    def _carry(self, slot: int, home: int) -> str:
        """A value of the iteration before; for the first one it is read from the work array."""
        if slot not in self.carried:
            name = self.carried[slot] = f"%b{slot}"
            self.before.append(f"{name}p = getelementptr double, ptr %work, i64 {home}")
            self.before.append(f"{name} = load double, ptr {name}p")
        return f"%c{slot}"

    def _pointer(self, array: str, first: int, step: int) -> str:
        """The address array + 8 (first + i * step)."""
        origin = self.pointers.get((array, step)) if step else f"%{array}"
        if origin is None:
            if step not in self.steps:
                self.steps[step] = f"%i{len(self.steps)}"
                self.body.append(f"{self.steps[step]} = mul nsw i64 %i, {step}")
            origin = self.pointers[array, step] = f"%o{len(self.pointers)}"
            self.body.append(
                f"{origin} = getelementptr double, ptr %{array}, i64 {self.steps[step]}"
            )
        name = f"%p{len(self.body)}"
        self.body.append(f"{name} = getelementptr double, ptr {origin}, i64 {first}")
        return name

    def _read(self, array: str, first: int, step: int) -> str:
        key = (array, first, step)
        if key not in self.loaded:
            address = self._pointer(array, first, step)
            self.loaded[key] = f"%l{len(self.body)}"
            self.body.append(f"{self.loaded[key]} = load double, ptr {address}")
        return self.loaded[key]

    def _write(self, name: str, array: str, first: int, step: int) -> None:
        address = self._pointer(array, first, step)
        self.body.append(f"store double {name}, ptr {address}")
