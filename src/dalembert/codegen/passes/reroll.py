"""Find runs of instructions that differ only by affine steps of their reads and writes.

A model of many equal parts gives the same few instructions again and again. A *run* is a stretch of
rows

    first, first + 1, ..., first + period * count - 1

in which row j + period has the operation of row j, and each operand moves by the same step from one
iteration to the next:

    place(j + i * period) = place(j) + i * step(j)          i = 0 .. count - 1

where a place is that of an earlier result, of an entry of an input, of an output, or of a constant,
numbered as they first occur. The steps of the operands may differ, and they are negative in a back
substitution. `llvm_loops` writes a run as a loop.

The search is by sorting, not by trial: rows are hashed with those behind them, equal hashes propose
a period, and comparing shifted columns shows where it holds. On machine code the same is known as
loop rerolling (Stitt and Vahid, "New decompilation techniques for binary-level co-processor
generation", ICCAD 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..program import INPUTS, Program

__all__ = [
    "CONSTANT",
    "INPUT",
    "NOTHING",
    "OUTPUT",
    "STORE",
    "VALUE",
    "RepeatedRun",
    "Stream",
    "find_runs",
    "stream_of",
]

#: Kinds of operands: none, a row's result, a constant, an input entry (by input), an output entry.
NOTHING, VALUE, CONSTANT, INPUT = -1, 0, 1, 2
OUTPUT = INPUT + len(INPUTS)
#: The operation that writes its first operand to the output place in its second.
STORE = "store"

#: Shorter runs are not worth a loop.
LEAST_COUNT = 12
#: Rows hashed together, repetitions of a hash that propose periods, and periods tried.
WINDOW, REPETITIONS, PERIODS = 8, 4, 24
LONGEST_PERIOD = 4096

Table = np.ndarray[Any, np.dtype[np.int64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Stream:
    """A program as a table with one row per operation and per written output entry.

    Attributes
    ----------
    operations : tuple of str
        The operations by code.
    codes : array of int (n,)
        The operation of each row.
    kinds, places : arrays of int (n, 2)
        The two operands of each row: what they are, and where; a result is known by its row.
    constants : tuple of float
        The constants by place.
    """

    operations: tuple[str, ...]
    codes: Table
    kinds: Table
    places: Table
    constants: tuple[float, ...]

    def __len__(self) -> int:
        return len(self.codes)


@dataclass(frozen=True, order=True)
class RepeatedRun:
    """`count` iterations of `period` rows, from the row `first` on."""

    first: int
    period: int
    count: int

    @property
    def stop(self) -> int:
        """The first row behind the run."""
        return self.first + self.period * self.count


def stream_of(program: Program) -> Stream:
    """The rows of a program; outputs follow their source, copies of inputs come last."""
    codes: dict[str, int] = {STORE: 0}
    constants: dict[str, int] = {}
    values: list[float] = []
    operands: dict[int, tuple[int, int]] = {}
    written: dict[int, list[int]] = {}
    for place, source in enumerate(program.outputs):
        if source is not None and place not in program.untouched:
            written.setdefault(source, []).append(place)
    rows: list[tuple[int, int, int, int, int]] = []
    copies: list[tuple[int, int]] = []
    for step in program.instructions:
        if step.operation == "input":
            operand = (INPUT + step.data[0], step.data[1])
        elif step.operation == "constant":
            known = constants.setdefault(float(step.data).hex(), len(values))
            if known == len(values):
                values.append(step.data)
            operand = (CONSTANT, known)
        else:
            first = operands[step.arguments[0]]
            second = operands[step.arguments[1]] if len(step.arguments) > 1 else (NOTHING, 0)
            operand = (VALUE, len(rows))
            rows.append((codes.setdefault(step.operation, len(codes)), *first, *second))
            for place in written.get(step.target, ()):
                rows.append((0, *operand, OUTPUT, place))
        operands[step.target] = operand
        if operand[0] != VALUE:
            copies += [(place, step.target) for place in written.get(step.target, ())]
    rows += [(0, *operands[source], OUTPUT, place) for place, source in sorted(copies)]
    table = np.array(rows, dtype=np.int64).reshape(-1, 5)
    return Stream(
        tuple(codes), table[:, 0], table[:, 1::2].copy(), table[:, 2::2].copy(), tuple(values)
    )


def find_runs(stream: Stream, least: int = LEAST_COUNT) -> list[RepeatedRun]:
    """Runs that do not overlap, the longest first served; in the order of the program.

    >>> from ..program import Instruction, Program
    >>> loads = [Instruction("input", k, (), (1, k)) for k in range(40)]
    >>> sums = [Instruction("add", 40 + k, (0 if k == 0 else 39 + k, k)) for k in range(40)]
    >>> find_runs(stream_of(Program("sum", (1, 40, 0, 0, 0), (*loads, *sums), (79,))))
    [RepeatedRun(first=1, period=1, count=39)]
    """
    found: list[RepeatedRun] = []
    for period in _periods(stream):
        found += _runs_of_period(stream, period, least)
    found.sort(key=lambda run: (run.first - run.stop, run.period, run.first))
    taken = np.zeros(len(stream), dtype=bool)
    chosen: list[RepeatedRun] = []
    for run in found:
        fitting = _clipped(run, taken)
        if fitting is not None and fitting.count >= least:
            taken[fitting.first : fitting.stop] = True
            chosen.append(fitting)
    return sorted(chosen)


def _periods(stream: Stream) -> Sequence[int]:
    """The most frequent distances between equal row sequences; 1 if a row repeats at once."""
    n = len(stream)
    if n < WINDOW + 1:
        return (1,)
    kinds, rows = stream.kinds, np.arange(n)[:, None]
    near = np.minimum(rows - stream.places, 64)
    told = np.where(kinds == VALUE, near, 0)
    mark = np.uint64(0x9E3779B97F4A7C15)
    single = stream.codes.astype(np.uint64)
    with np.errstate(over="ignore"):
        for column in (kinds[:, 0], kinds[:, 1], told[:, 0], told[:, 1]):
            single = (single ^ (single >> np.uint64(29))) * mark + column.astype(np.uint64)
        together = np.zeros(n - WINDOW + 1, dtype=np.uint64)
        for ahead in range(WINDOW):
            together = (together ^ (together >> np.uint64(31))) * mark + single[
                ahead : n - WINDOW + 1 + ahead
            ]
    order = np.argsort(together, kind="stable")
    ordered = together[order]
    gaps = [
        (order[k:] - order[:-k])[ordered[k:] == ordered[:-k]]
        for k in range(1, min(REPETITIONS, len(order) - 1) + 1)
    ]
    distances, counts = np.unique(np.concatenate(gaps), return_counts=True)
    fitting = distances <= min(LONGEST_PERIOD, n // 3)
    distances, counts = distances[fitting], counts[fitting]
    best = distances[np.argsort(-counts, kind="stable")][:PERIODS]
    return sorted({1, *(int(distance) for distance in best)})


def _runs_of_period(stream: Stream, period: int, least: int) -> list[RepeatedRun]:
    """Where three iterations in a row belong together, and so on: the longest stretches."""
    n = len(stream)
    if n < period * least:
        return []
    later, sooner = slice(period, None), slice(None, n - period)
    steps = stream.places[later] - stream.places[sooner]
    same: Flags = (stream.codes[later] == stream.codes[sooner]) & np.all(
        stream.kinds[later] == stream.kinds[sooner], axis=1
    )
    steady = same[period:] & same[:-period] & np.all(steps[period:] == steps[:-period], axis=1)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], steady, [False]])))
    lengths = (edges[1::2] - edges[::2]) // period + 2
    return [
        RepeatedRun(int(first), period, int(count))
        for first, count in zip(edges[::2], lengths, strict=True)
        if count >= max(3, least)
    ]


def _clipped(run: RepeatedRun, taken: Flags) -> RepeatedRun | None:
    """The run on the longest stretch of its rows that is still free."""
    inside = taken[run.first : run.stop]
    if not inside.any():
        return run
    edges = np.flatnonzero(np.diff(np.concatenate([[True], inside, [True]])))
    starts, stops = edges[::2], edges[1::2]
    if not len(starts):
        return None
    best = int(np.argmax(stops - starts))
    return RepeatedRun(
        run.first + int(starts[best]), run.period, int(stops[best] - starts[best]) // run.period
    )
