"""What a book holds, as a C structure: programs by number, sizes that are constants, arrays of fixed length.

Natively a book is an array of addresses and sizes. In C it is a structure that the caller owns; every size in it is known when
the text is written, and it holds no address of its own, so that it can be copied as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..compiled import native
from ..compiled.c_language import BookInC
from ..compiled.c_programs import CProgram, c_program
from ..compiled.gauss_problem import order_size, work_size
from ..compiled.program import Program, straight_line
from ..integrate import advance as loop
from ..integrate.steppers import taylor_places
from ..integrate.watch_places import WATCH_PROGRAM
from .run_in_c import CAPACITY

__all__ = ["Layout", "layout_of"]

#: The largest work array of the dense solve, in doubles: beyond, a system with a sparse solve goes without it.
MOST_DENSE = 2_000_000


class NamedNumber(int):
    """A number that is written by its name."""

    name: str

    def __new__(cls, value: int, name: str) -> NamedNumber:
        """A number and its name."""
        found = super().__new__(cls, value)
        found.name = name
        return found

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Layout:
    """The structure that stands for the book of a kernel.

    Attributes
    ----------
    book : BookInC
    programs : tuple of CProgram
    numbers : dict of str to str
        The function of each program by the name of its number.
    fields : tuple of (str, str)
        The fields of the structure, and what each holds.
    has_dense_solve : bool
        Whether the solve that decides rank is part of the text.
    """

    book: BookInC
    programs: tuple[CProgram, ...]
    numbers: dict[str, str]
    fields: tuple[tuple[str, str], ...]
    has_dense_solve: bool


def layout_of(kernel: Any, prefix: str, threshold: float | None) -> Layout:
    """The layout for a kernel; `threshold` is the quality at which its choice of independent velocities is given up."""
    sizes = _Sizes(kernel)
    has_fast = kernel.large is not None or kernel.solved is not None
    dense = sizes.work <= MOST_DENSE or not has_fast
    wanted = _wanted(kernel, has_fast, dense, threshold)
    programs: list[CProgram] = []
    entries: dict[int, int | str] = dict.fromkeys((*native_programs(), native.INPUTS, native.SPARSE), 0)
    numbers: dict[str, str] = {}
    for number, (place, make) in enumerate(wanted.items(), start=1):
        written = c_program(make())
        programs.append(written)
        name = written.name.upper()
        numbers[name] = written.name
        entries[place] = NamedNumber(number, name)
    entries |= _constants(kernel, prefix, sizes, int(threshold is not None))
    fields = _fields(kernel, sizes, dense, max(written.scratch for written in programs))
    entries |= {place: f"book->{name}" for place, (name, _, _) in fields.items() if place >= 0}
    entries |= {loop.AT: "book->at", loop.AT_STATES: "book->at_states", loop.N_AT: "book->n_at"}
    entries[loop.EXACT_AT] = "book->exact_at"
    declared = [(declaration, what) for _, declaration, what in fields.values()]
    declared += [
        ("double *at, *at_states", "during a call: times that were asked for, and the states at them"),
        ("long n_at, exact_at", "how many, and whether each is reached by a step of its own"),
    ]
    return Layout(BookInC(f"{prefix}_work", entries), tuple(programs), numbers, tuple(declared), dense)


def native_programs() -> tuple[int, ...]:
    """The places of programs in a book."""
    return (
        native.FAST, native.BLOCKS, native.RATES, native.POSITION_STEP, native.VELOCITY_STEP, native.POSITION_PARTS,
        native.VELOCITY_PARTS, native.OBSERVE, native.EVENTS,
    )  # fmt: skip


class _Sizes:
    """The lengths of the working arrays, as in `dalembert.compiled.book`."""

    def __init__(self, kernel: Any) -> None:
        ns, n, m = kernel.n_state, kernel.n, kernel.m
        self.position, self.velocity = (int(part.rows.shape[1]) for part in (kernel.graph.position, kernel.graph.velocity))
        widest, count = max(n, self.position, self.velocity), max(m, kernel.n_positions, kernel.n_velocities)
        blocks = n * n + n + m * n + m
        parts = 2 * count + count * widest + widest * widest + ns * widest + count + widest
        self.work = max(blocks, parts) + work_size(widest, count)
        self.order = order_size(widest, count)
        self.solution = widest + count + 1
        self.out = ns + 2 * count + 2
        self.choices = 3 + m + kernel.n_velocities
        self.observed = max((place.stop for place in kernel.observed.values()), default=0)


def _wanted(kernel: Any, has_fast: bool, dense: bool, threshold: float | None) -> dict[int, Callable[[], Program]]:
    """The programs that go into the text, by their places in a book."""
    names: dict[int, str] = {native.OBSERVE: "observe"}
    if has_fast:
        names[native.FAST] = "fast"
        names |= {native.POSITION_STEP: "position_step"} if kernel.n_positions else {}
        names |= {native.VELOCITY_STEP: "velocity_step"} if kernel.n_velocities else {}
    if kernel.has_unknowns:
        names[native.SPARSE] = "unknowns"
    if dense:
        names |= {native.BLOCKS: "blocks", native.RATES: "rates"}
        names |= {native.POSITION_PARTS: "position_parts"} if kernel.n_positions else {}
        names |= {native.VELOCITY_PARTS: "velocity_parts"} if kernel.n_velocities else {}
    wanted: dict[int, Callable[[], Program]] = {place: _maker(kernel, name) for place, name in sorted(names.items())}
    if threshold is not None:
        quality = kernel.graph.chart_quality - threshold
        wanted[native.EVENTS] = lambda: straight_line("quality", kernel._inputs(), [quality])
    return wanted


def _maker(kernel: Any, name: str) -> Callable[[], Program]:
    return lambda: kernel.program(name)  # type: ignore[no-any-return]


def _constants(kernel: Any, prefix: str, sizes: _Sizes, events: int) -> dict[int, int | str]:
    """Entries of a book that are numbers."""
    head, expansion = prefix.upper(), taylor_places
    named = {
        native.STATE: (kernel.n_state, "N_STATE"),
        native.UNKNOWNS: (kernel.n, "N_UNKNOWNS"),
        native.ROWS: (kernel.m, "N_ROWS"),
        native.POSITIONS: (kernel.n_positions, "N_POSITION_CONSTRAINTS"),
        native.VELOCITIES: (kernel.n_velocities, "N_VELOCITY_CONSTRAINTS"),
    }
    entries: dict[int, int | str] = {place: NamedNumber(value, f"{head}_{name}") for place, (value, name) in named.items()}
    entries |= {
        native.DEFINITE: int(kernel.equations.is_definite),
        native.GAUGE: int(kernel.equations.has_gauge),
        native.FREE_INPUTS: len(kernel.free_inputs),
        native.OBSERVED: sizes.observed,
        native.POSITION_UNKNOWNS: sizes.position,
        native.VELOCITY_UNKNOWNS: sizes.velocity,
        loop.CAPACITY: CAPACITY,
        loop.N_EVENTS: events,
        loop.N_SEARCHED: 0,
        loop.CONTROLLED: 0,
        loop.PROJECT: int(kernel.is_constrained),
        expansion.EXPANSION: 0,
        WATCH_PROGRAM: 0,  # rows that vanish are looked at by the driver
    }
    return entries


def _fields(kernel: Any, sizes: _Sizes, dense: bool, scratch: int) -> dict[int, tuple[str, str, str]]:
    """The arrays of the structure: place in a book, then name, declaration and meaning; a negative place is not in books."""
    ns = kernel.n_state
    arrays = [
        (native.TIME, "double", "time", 1, "the time of the evaluation"),
        (native.PARAMETERS, "double", "parameters", len(kernel.parameters), "in the order of the parameter structure"),
        (native.INPUT_VALUES, "double", "inputs", len(kernel.free_inputs), "held until they are set again"),
        (native.SOLUTION, "double", "solution", sizes.solution, "unknowns and multipliers"),
        (native.WORK, "double", "work", sizes.work if dense else 1, "of the dense solve"),
        (native.ORDER, "long", "order", sizes.order, "of its pivots"),
        (native.INFO, "double", "info", 4, "rank, least pivot ratio, contradictory row or -1, least diagonal entry"),
        (native.OUT, "double", "out", sizes.out, "of the projection"),
        (native.CHOICES, "long", "choices", sizes.choices, "of rows that count: in the rates, in the projection of velocities"),
        (
            loop.CLOCK,
            "double",
            "clock",
            loop.CLOCK_SIZE,
            "t, next step, end, last t, last step, longest, rtol, cap, least pivot",
        ),
        (loop.COUNTS, "long", "counts", 8, "evaluations, accepted, rejected, projections, recorded, next time, status, dense"),
        (loop.Y, "double", "y", ns, "the state that was reached"),
        (loop.Y_OLD, "double", "y_old", ns, "before the last step"),
        (loop.Y_NEW, "double", "y_new", ns, "of the attempt"),
        (loop.STAGES, "double", "stages", 16 * (ns + 1), ""),
        (loop.SPARE_STAGES, "double", "spare_stages", 16 * (ns + 1), ""),
        (loop.DENSE, "double", "dense", 7 * ns, "the polynomial of the last step"),
        (loop.STAGE, "double", "stage", ns, ""),
        (loop.STEP_TIMES, "double", "step_times", CAPACITY, ""),
        (loop.STEP_STATES, "double", "step_states", CAPACITY * ns, ""),
        (loop.EVENTS_OLD, "double", "events_old", 1, "quality of the independent velocities, less its threshold"),
        (loop.EVENTS_NEW, "double", "events_new", 1, ""),
        (loop.EVENTS_TRIED, "double", "events_tried", 1, ""),
        (loop.ATOL, "double", "atol", ns, "absolute tolerance of a step"),
        (-1, "double", "given", ns, "the state that a call was given"),
        (-2, "double", "reached", max(ns + 1, sizes.observed), "what a call found"),
        (-3, "double", "scratch", scratch, "of long programs"),
    ]
    return {place: (name, f"{kind} {name}[{max(1, size)}]", what) for place, kind, name, size, what in arrays}
