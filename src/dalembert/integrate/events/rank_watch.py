"""Constraints whose gradient vanishes along a motion: a rank drop that steps pass over.

The minors of the section of a reduction are watched in the same way.

A gradient a(t) that goes through zero comes out reversed, with a(t0) . a(t1) < 0 for the two ends
of a step, however long or short the step and in whatever units. Where native code sees a row
reversed that has been longer, the motion is followed from the beginning of the step by shorter and
shorter ones, none of which changes the row by more than half of its length. A row that turns
without vanishing comes through; one that vanishes is approached without end, and the motion is
singular there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ...codegen.dense_function import DenseFunction
from ...codegen.program import straight_line
from ...errors import RunError
from ...formulations.constraint_equations import velocity_level
from ...model.system import System
from ...model.work_clock import work
from ...runtime.gauss.constrained_solve import rank
from ...runtime.kernel import Kernel
from ...typing import Array
from .watches import RowWatch, row_watch, unwatched_rows

if TYPE_CHECKING:
    from ..driver import Driver
    from ..run_loop import RunLoop

__all__ = [
    "Vanishing",
    "compiled_watch",
    "constraint_rows",
    "least_unwatched_row",
    "unwatched_entries",
    "vanished_row",
    "vanishing_row",
]

#: A row is changed by no more than this part of its length in a step of the approach.
CHANGE = 0.5
#: A row vanishes that changes so in this part of the step in which it reversed.
INSTANT = 1e-10
#: A row below this part of the largest length that it had is next to zero.
VANISHED = 1e-6
#: What it means that all minors of the section of a reduction vanish.
DEGENERATE = "the section of the reduction degenerates, so that the momenta do not fix the velocity"
#: The most entries of all rows that are watched.
MOST_ENTRIES = 4000
#: The most steps of an approach.
MOST_STEPS = 2000


@dataclass(frozen=True)
class Vanishing:
    """Where the gradient of a constraint, or the section of a reduction, vanishes.

    `clause` is the cause, as a clause.
    """

    t: float
    clause: str


def _constraint_rows(kernel: Kernel) -> tuple[ca.SX, tuple[str, ...]]:
    """The constraint gradients in the state (m, n), and what it means that each vanishes.

    They are the form's, if it has any; a reduction has the minors of its section.
    """
    system, algebra, graph = kernel.equations.system, kernel.algebra, kernel.graph
    if graph.section is not None:
        names = tuple(kernel.equations.row_names)
        both = ca.diagcat(ca.SX(graph.rows), ca.SX(graph.section))
        return ca.sparsify(both), (*(_vanishes(name) for name in names), DEGENERATE)
    rows, names = ca.SX(graph.rows), tuple(kernel.equations.row_names)
    if (
        not rows.shape[0]
        and isinstance(system, System)
        and system.image is None
        and system.bilateral
    ):
        level = velocity_level(system, algebra)
        symbols = ca.vertcat(algebra.vector(system.velocities), algebra.vector(system.momenta))
        rows, names = ca.jacobian(level.residual, symbols), tuple(c.name for c in system.bilateral)
        values = ca.vertcat(graph.velocities, graph.momenta)
        rows = ca.substitute(rows, symbols, ca.densify(values))
    return ca.sparsify(rows), tuple(_vanishes(name) for name in names)


def _vanishes(name: str) -> str:
    return f"the gradient of the constraint `{name}` vanishes"


def _may_vanish(rows: ca.SX) -> list[int]:
    """The numbers of the rows with entries that may all be zero."""
    entries: list[list[Any]] = [[] for _ in range(rows.shape[0])]
    for owner, entry in zip(rows.sparsity().row(), rows.nonzeros(), strict=True):
        entries[owner].append(entry)
    return [k for k, row in enumerate(entries) if row and not _cannot_vanish(row)]


def _cannot_vanish(entries: Sequence[Any]) -> bool:
    """Whether a gradient has a nonzero constant entry, or sine and cosine of one angle."""
    angles: dict[int, list[Any]] = {ca.OP_SIN: [], ca.OP_COS: []}
    for entry in map(ca.SX, entries):
        bare = entry.dep(0) if entry.is_op(ca.OP_NEG) else entry
        if bare.is_constant():
            return True
        for operation, found in angles.items():
            if bare.is_op(operation):
                found.append(bare.dep(0))
    return any(ca.is_equal(a, b, 4) for a in angles[ca.OP_SIN] for b in angles[ca.OP_COS])


def _is_too_large(kernel: Kernel) -> bool:
    """Whether the rows of a kernel are too many for a watch."""
    return _constraint_rows(kernel)[0].nnz() > MOST_ENTRIES


class UnwatchedRow(NamedTuple):
    """Of the rows that can vanish and were not watched, the one of least norm.

    Attributes
    ----------
    rows, entries : int
        The number of such rows, and of their entries.
    name : str
        What it means that this row vanishes.
    part : float
        Its least length at the points of the motion, as a part of its largest.
    """

    rows: int
    entries: int
    name: str
    part: float


def least_unwatched_row(
    kernel: Kernel, times: Array, states: Array, parameters: Array
) -> UnwatchedRow:
    """The unwatched row of least norm at states of a motion, (k, n)."""
    unwatched = unwatched_rows(kernel)
    assert unwatched is not None
    entries, owners, names = unwatched
    u, observed = np.zeros(len(kernel.free_inputs)), np.zeros(0)
    points = zip(times.tolist(), states, strict=True)
    values = [np.asarray(entries(t, y, parameters, u, observed)).ravel() for t, y in points]
    lengths = np.sqrt([np.bincount(owners, value**2) for value in values])
    largest = np.max(lengths, axis=0)
    parts = np.divide(np.min(lengths, axis=0), largest, out=np.zeros(len(names)), where=largest > 0)
    least = int(np.argmin(parts))
    return UnwatchedRow(len(names), len(owners), names[least], float(parts[least]))


_Unwatched = tuple[ca.Function, Array, tuple[str, ...]]


def unwatched_entries(kernel: Kernel) -> _Unwatched | None:
    """The entries of rows that can vanish as a function, the rows that they are of, and names; None
    if they are watched.
    """
    rows, names = _constraint_rows(kernel)
    numbers = _may_vanish(rows) if _is_too_large(kernel) else []
    if not numbers:
        return None
    kept = rows[numbers, :]
    entries: list[Any] = kept.nonzeros()
    function = ca.Function("unwatched", kernel._inputs(), [ca.densify(ca.vertcat(*entries))])
    return function, np.array(kept.sparsity().row(), dtype=int), tuple(names[k] for k in numbers)


@work("compile")
def compiled_watch(kernel: Kernel) -> RowWatch | None:
    """Compile the program that watches the rows of a kernel; None where none can vanish."""
    if _is_too_large(kernel):
        return None
    time, y, parameters, u, _ = kernel._inputs()
    every, _ = _constraint_rows(kernel)
    entries: list[Any] = every.nonzeros()
    state = ca.vertcat(time, y)
    moves = ca.which_depends(ca.vertcat(*entries), state, 1, True) if entries else []
    moving = {k for k, one in zip(every.sparsity().row(), moves, strict=True) if one}
    numbers = [k for k in _may_vanish(every) if k in moving]
    rows = every[numbers, :]
    m, count = len(numbers), rows.nnz()
    if not count:
        return None
    old = ca.SX.sym("watched", count + 2 * m)
    before = ca.SX(rows.sparsity(), old[:count])
    products, lengths = ca.sum2(rows * before), ca.sum2(rows**2)
    kept: list[Any] = rows.nonzeros()
    results = ca.vertcat(*kept, products, lengths)
    program = straight_line("row_watch", [time, y, parameters, u, old], [ca.densify(results)])
    return RowWatch(kernel.load_program(program), count, tuple(numbers))


def vanishing_row(driver: Driver) -> Vanishing | None:
    """Where the row found reversed vanishes; None if it only rotated, or was already reported."""
    run, kernel, watch = driver.run, driver.kernel, row_watch(driver.kernel)
    assert watch is not None
    number = watch.numbers[int(run.context.fields.arrays["watch_largest"][-1])]
    t, *state = run.context.fields.arrays["watch_state"].tolist()
    y = np.array(state)
    name = _constraint_rows(kernel)[1][number]
    if not _counts(driver, number, t, y):
        return None
    if _is_short(driver, number, constraint_rows(driver, run.t, run.y)[number]):
        return Vanishing(run.t, name)
    held = run.context.fields.arrays
    kept = {field: held[field].copy() for field in ("active_rows", "info") if field in held}
    found = _approach(driver, number, t, y, run.t)
    for field, values in kept.items():
        held[field][...] = values
    return None if found is None else Vanishing(found, name)


def vanished_row(driver: RunLoop) -> Vanishing | None:
    """The constraint whose gradient nearly vanished at a run's end, relative to before, or None."""
    run, kernel, watch = driver.run, driver.kernel, row_watch(driver.kernel)
    if watch is None or not run.context.fields.watch_program:
        return None
    rows = constraint_rows(driver, run.t, run.y)
    for number in watch.numbers:
        if _is_short(driver, number, rows[number]) and _counts(
            driver, number, driver.task.span[0], driver.start_state
        ):
            return Vanishing(run.t, _constraint_rows(kernel)[1][number])
    return None


def constraint_rows(driver: RunLoop, t: float, y: Array) -> Array:
    """The gradients of the constraints (m, n) at a state."""
    kernel = driver.kernel
    function: DenseFunction = kernel.cache.get(
        "row values", lambda: DenseFunction(kernel._inputs(), [_constraint_rows(kernel)[0]])
    )
    return function(t, y, driver.run.context.parameters, np.zeros(len(kernel.free_inputs)), ())[0]


def _counts(driver: RunLoop, number: int, t: float, y: Array) -> bool:
    """Whether a row is independent of the others at a state, so that the rank drops with it."""
    rows = constraint_rows(driver, t, y)
    return rank(np.delete(rows, number, axis=0)).rank < rank(rows).rank if len(rows) > 1 else True


def _approach(driver: Driver, number: int, t: float, y: Array, end: float) -> float | None:
    """The time at which a row vanishes after (t, y); None if it reaches the end without."""
    length, row = end - t, constraint_rows(driver, t, y)[number]
    if _is_short(driver, number, row):
        return t
    h = length / 8
    for _ in range(MOST_STEPS):
        left = end - t
        if abs(left) <= INSTANT * abs(length):
            return None
        h = left if abs(h) > abs(left) else h
        after = _step(driver, t, y, h)
        new = None if after is None else constraint_rows(driver, t + h, after)[number]
        if after is not None and np.linalg.norm(new - row) <= CHANGE * np.linalg.norm(row):
            t, y, row, h = t + h, after, new, 1.5 * h
            continue
        h *= 0.5
        if abs(h) < max(INSTANT * abs(length), 4 * float(np.spacing(abs(t)))):
            return None if new is None and not _is_short(driver, number, row) else t
    return None


def _is_short(driver: RunLoop, number: int, row: Array) -> bool:
    watch = row_watch(driver.kernel)
    assert watch is not None
    largest = driver.run.context.fields.arrays["watch_largest"][watch.numbers.index(number)]
    return bool(np.sum(row**2) < VANISHED**2 * largest)


def _step(driver: Driver, t: float, y: Array, h: float) -> Array | None:
    """The state after a classical Runge-Kutta step, on the constraints; None if it fails."""
    context = driver.run.context
    u = np.zeros(0) if context.fields.inputs else driver.input_values(t, y)
    try:
        first = context.rates(t, y, u)
        second = context.rates(t + h / 2, y + h / 2 * first, u)
        third = context.rates(t + h / 2, y + h / 2 * second, u)
        fourth = context.rates(t + h, y + h * third, u)
    except RunError:  # no rates there; a shorter step is tried
        return None
    after = y + h / 6 * (first + 2 * second + 2 * third + fourth)
    if driver.kernel.is_constrained and context.project(t + h, after, 0, 1, 8) != 0:
        return None
    return after if np.isfinite(after).all() else None
