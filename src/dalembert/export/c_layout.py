"""A context as a C structure: numbered programs, constant sizes, arrays of fixed length.

Natively a context is an array of addresses and sizes. In C it is a structure that the caller owns;
every size in it is known when the text is written, and it holds no address of its own, so that it
can be copied as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..codegen.backends.c_programs import CProgram, c_program
from ..codegen.native.c_text import ContextInC, c_structure
from ..codegen.program import Program, straight_line
from ..integrate.run_fields import Clock, Counts
from ..runtime.gauss.gauss_problem import order_size, work_size
from ..runtime.kernel import Kernel
from ..runtime.kernel_fields import KernelFields
from .run_in_c import CAPACITY

__all__ = ["CLayout", "context_arrays", "context_numbers", "exported_programs", "layout_of"]

#: The most doubles of a dense solve: beyond, a system with a sparse solve goes without it.
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
class CLayout:
    """The structure that stands for the context of a kernel.

    Attributes
    ----------
    context : ContextInC
    programs : tuple of CProgram
    numbers : dict of str to str
        The function of each program by the name of its number.
    fields : tuple of (str, str)
        The fields of the structure, and what each holds.
    has_dense_solve : bool
        Whether the solve that decides rank is part of the text.
    """

    context: ContextInC
    programs: tuple[CProgram, ...]
    numbers: dict[str, str]
    fields: tuple[tuple[str, str], ...]
    has_dense_solve: bool


def layout_of(kernel: Kernel, prefix: str, threshold: float | None) -> CLayout:
    """The layout for a kernel; below the quality `threshold` its velocities are given up."""
    dense = has_dense_solve(kernel)
    programs: list[CProgram] = []
    entries: dict[str, int | str] = dict.fromkeys((*native_programs(), "inputs", "sparse"), 0)
    numbers: dict[str, str] = {}
    wanted = exported_programs(kernel, threshold)
    for number, (place, make) in enumerate(wanted.items(), start=1):
        written = c_program(make())
        programs.append(written)
        name = written.name.upper()
        numbers[name] = written.name
        entries[place] = NamedNumber(number, name)
    entries |= context_numbers(kernel, prefix, threshold)
    fields = _fields(kernel, max(written.scratch for written in programs))
    entries |= {name: f"context->{name}" for name in fields}
    entries |= {"at": "context->at", "at_states": "context->at_states", "n_at": "context->n_at"}
    entries["exact_at"] = "context->exact_at"
    declared = list(fields.values())
    asked = "during a call: times that were asked for, and the states at them"
    declared.append(("double *at, *at_states", asked))
    exact = "how many, and whether each is reached by a step of its own"
    declared.append(("long n_at, exact_at", exact))
    context = ContextInC(f"{prefix}_work", entries)
    return CLayout(context, tuple(programs), numbers, tuple(declared), dense)


def native_programs() -> tuple[str, ...]:
    """The fields of programs."""
    return (
        "fast", "blocks", "rates", "position_step", "velocity_step", "position_parts",
        "velocity_parts", "observe", "events",
    )  # fmt: skip


class _Sizes:
    """The lengths of the working arrays, as in `dalembert.runtime.context`."""

    def __init__(self, kernel: Kernel) -> None:
        ns, n, m = kernel.n_state, kernel.n, kernel.m
        parts = (kernel.graph.position, kernel.graph.velocity)
        self.position, self.velocity = (int(part.rows.shape[1]) for part in parts)
        widest = max(n, self.position, self.velocity)
        count = max(m, kernel.n_positions, kernel.n_velocities)
        blocks = n * n + n + m * n + m
        whole = 2 * count + count * widest + widest * widest + ns * widest + count + widest
        self.work = max(blocks, whole) + work_size(widest, count)
        self.order = order_size(widest, count)
        self.solution = widest + count + 1
        self.out = ns + 2 * count + 2
        self.choices = 3 + m + kernel.n_velocities
        self.observed = max((place.stop for place in kernel.observed.values()), default=0)


def has_dense_solve(kernel: Kernel) -> bool:
    """Whether an export has the solve that decides rank; a large one is left out if possible."""
    return _Sizes(kernel).work <= MOST_DENSE or not _has_straight_solve(kernel)


def _has_straight_solve(kernel: Kernel) -> bool:
    return kernel.large is not None or kernel.solved is not None


def exported_programs(kernel: Kernel, threshold: float | None) -> dict[str, Callable[[], Program]]:
    """The programs that an export needs, by their fields."""
    names: dict[str, str] = {"observe": "observe"}
    if _has_straight_solve(kernel):
        names["fast"] = "fast"
        names |= {"position_step": "position_step"} if kernel.n_positions else {}
        names |= {"velocity_step": "velocity_step"} if kernel.n_velocities else {}
    if kernel.has_unknowns:
        names["sparse"] = "unknowns"
    if has_dense_solve(kernel):
        names |= {"blocks": "blocks", "rates": "rates"}
        names |= {"position_parts": "position_parts"} if kernel.n_positions else {}
        names |= {"velocity_parts": "velocity_parts"} if kernel.n_velocities else {}
    ordered = sorted(names.items(), key=_order)
    wanted = {place: _maker(kernel, name) for place, name in ordered}
    if threshold is not None:
        quality = kernel.graph.chart_quality - threshold
        wanted["events"] = lambda: straight_line("quality", kernel._inputs(), [quality])
    return wanted


def _order(item: tuple[str, str]) -> int:
    """The order of programs: that of their fields."""
    return KernelFields.fields[item[0]][0]


def _maker(kernel: Kernel, name: str) -> Callable[[], Program]:
    return lambda: kernel.program(name)


def context_numbers(
    kernel: Kernel, prefix: str, threshold: float | None
) -> dict[str, NamedNumber | int]:
    """Fields of the context that are numbers; those that the header states have their names."""
    head, sizes = prefix.upper(), _Sizes(kernel)
    named = {
        "n_state": (kernel.n_state, "N_STATE"),
        "n_unknowns": (kernel.n, "N_UNKNOWNS"),
        "n_constraints": (kernel.m, "N_ROWS"),
        "n_positions": (kernel.n_positions, "N_POSITION_CONSTRAINTS"),
        "n_velocities": (kernel.n_velocities, "N_VELOCITY_CONSTRAINTS"),
    }
    entries: dict[str, NamedNumber | int] = {}
    for place, (value, name) in named.items():
        entries[place] = NamedNumber(value, f"{head}_{name}")
    entries |= {
        "is_definite": int(kernel.equations.is_definite),
        "has_gauge": int(kernel.equations.has_gauge),
        "n_coordinates": kernel.n_coordinates,
        "n_inputs": len(kernel.free_inputs),
        "n_observed": sizes.observed,
        "n_position_unknowns": sizes.position,
        "n_velocity_unknowns": sizes.velocity,
        "capacity": CAPACITY,
        "n_events": int(threshold is not None),
        "n_searched": 0,
        "n_parts": 0,  # of steps that are searched for events
        "is_controlled": 0,
        "projects": int(kernel.is_constrained),
        "watch_program": 0,  # rows that vanish are looked at by the driver
    }
    return entries


def context_arrays(kernel: Kernel, scratch: int = 0) -> list[tuple[str, str, int, str]]:
    """The arrays of the context: name, "double" or "long", length and meaning."""
    ns, sizes, dense = kernel.n_state, _Sizes(kernel), has_dense_solve(kernel)
    return [
        ("time", "double", 1, "the time of the evaluation"),
        ("parameters", "double", len(kernel.parameters), "in the order of the parameter structure"),
        ("input_values", "double", len(kernel.free_inputs), "held until they are set again"),
        ("solution", "double", sizes.solution, "unknowns and multipliers"),
        ("work", "double", sizes.work if dense else 1, "of the dense solve"),
        ("order", "long", sizes.order, "of its pivots"),
        ("info", "double", 4, "rank, least pivot ratio, contradictory row or -1, least diagonal"),
        ("out", "double", sizes.out, "of the projection"),
        ("active_rows", "long", sizes.choices, "of the rates, of the projection of velocities"),
        ("y", "double", ns, "the state that was reached"),
        ("y_old", "double", ns, "before the last step"),
        ("y_new", "double", ns, "of the attempt"),
        ("stages", "double", 16 * (ns + 1), ""),
        ("spare_stages", "double", 16 * (ns + 1), ""),
        ("dense", "double", 7 * ns, "the polynomial of the last step"),
        ("stage", "double", ns, ""),
        ("step_times", "double", CAPACITY, ""),
        ("step_states", "double", CAPACITY * ns, ""),
        ("events_old", "double", 1, "quality of the independent velocities, less its threshold"),
        ("events_new", "double", 1, ""),
        ("events_tried", "double", 1, ""),
        ("atol", "double", ns, "absolute tolerance of a step"),
        ("given", "double", ns, "the state that a call was given"),
        ("reached", "double", max(ns + 1, sizes.observed), "what a call found"),
        ("scratch", "double", scratch, "of long programs"),
    ]


def _fields(kernel: Kernel, scratch: int) -> dict[str, tuple[str, str]]:
    """The fields of the structure: name, declaration and meaning."""
    arrays = context_arrays(kernel, scratch)
    found = {name: (f"{kind} {name}[{max(1, size)}]", what) for name, kind, size, what in arrays}
    found["clock"] = c_structure(Clock, "clock"), "times and tolerances of the run"
    found["counts"] = c_structure(Counts, "counts"), "what the run counts"
    return found
