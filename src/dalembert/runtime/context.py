"""The context of a kernel: fields and work arrays for native code, with its Python interface."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..codegen.native.language import address_of
from ..codegen.passes.solve_limits import MOST_DENSE
from ..errors import SingularError
from ..typing import Array, IntArray
from . import projection as native
from .gauss.gauss_problem import order_size, work_size
from .gauss.solve_status import CONTRADICTORY, SINGULAR
from .kernel_fields import KernelFields
from .native_functions import functions

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["Context", "kernel_layout"]

_ROBUST = ("blocks", "rates", "position_parts", "velocity_parts")


class NativeCallback(Protocol):
    """A function that native code calls at an address."""

    @property
    def address(self) -> int: ...
    @property
    def tables(self) -> tuple[IntArray, Array] | None: ...


class Context:
    """A kernel with working arrays and parameter values; one for each thread that runs it.

    Attributes
    ----------
    fields : KernelFields
        What native code finds: those of the kernel, and of what is run with it.
    callback : InputCallback or None
        What native code calls for the free inputs, kept alive here.
    """

    def __init__(
        self, kernel: Kernel, parameters: Array, record: type[KernelFields] = KernelFields
    ) -> None:
        self.kernel = kernel
        self.parameters = np.array(parameters, dtype=float)
        fast = kernel.address("fast") if kernel.has_fast else None
        numbers, lengths, self.work_size = kernel_layout(kernel)
        self._is_projecting = False
        self._out = np.empty(kernel.n_state + 1)
        self._out_address = address_of(self._out)
        self.callback: Any = None
        self.fields: Any = record()
        for name, value in numbers.items():
            setattr(self.fields, name, value)
        self.fields.bind("parameters", self.parameters)
        for name, (length, kind) in lengths.items():
            self.fields.bind(name, np.zeros(length, kind))
        if fast is not None:
            self.fields.fast = fast
        else:
            self.complete()

    def call_for_inputs(self, callback: NativeCallback) -> None:
        """Ask a callback, or its tables, for the free inputs at every evaluation; keep it alive."""
        self.callback = callback
        self.fields.inputs = callback.address
        if callback.tables is not None:
            sizes, data = callback.tables
            self.fields.bind("table_sizes", sizes)
            self.fields.bind("table_data", data)
            self.fields.n_tables = len(sizes) // 4

    @property
    def info(self) -> Array:
        """The last Gauss solve: rank, least pivot ratio, contradictory row, least diagonal."""
        found: Array = self.fields.arrays["info"]
        return found

    def prepare_projection(self) -> None:
        """Compile what projection needs."""
        if self._is_projecting:
            return
        self._is_projecting, kernel = True, self.kernel
        if kernel.has_written_solve:
            if kernel.n_positions:
                self.fields.position_step = kernel.address("position_step")
            if kernel.n_velocities:
                self.fields.velocity_step = kernel.address("velocity_step")
        elif kernel.is_constrained:
            self.complete()

    def complete(self) -> None:
        """Compile the programs that the Gauss solve needs."""
        self._make_room()
        names = self._robust_programs
        self.kernel.load(names)
        for name in names:
            setattr(self.fields, name, self.kernel.address(name))

    @property
    def _robust_programs(self) -> list[str]:
        """The programs that the Gauss solve needs."""
        kernel = self.kernel
        unneeded = [] if kernel.n_positions else ["position_parts"]
        unneeded += [] if kernel.n_velocities else ["velocity_parts"]
        return [name for name in _ROBUST if name not in unneeded]

    def _make_room(self) -> None:
        """Allocate the work array of the dense Gauss solve on first use; reject excessive sizes."""
        if len(self.fields.arrays["work"]) >= self.work_size:
            return
        if self.work_size > MOST_DENSE:
            n, m = self.kernel.n, self.kernel.m
            raise SingularError(
                f"The sparse solve of {n} unknowns and {m} constraints cannot be trusted, and the"
                " dense one is too large",
                seen=(
                    f"{8e-9 * self.work_size:.1f} GB of working memory for the dense one, which"
                    " decides rank"
                ),
                remedy=(
                    "remove constraints that depend on others, or keep away from states where"
                    " they do"
                ),
            )
        self.fields.bind("work", np.zeros(self.work_size))

    @cached_property
    def _evaluate(self) -> Callable[..., int]:
        """`evaluate` by addresses; MISSING where native functions run as Python."""
        evaluate = functions()["evaluate"]
        found: Callable[..., int] = getattr(evaluate, "by_address", lambda *_: native.MISSING)
        return found

    # -- one state ---------------------------------------------------------------------------------

    def evaluate(self, time: float, y: Array, out: Array) -> int:
        """The rates into out (n_state + 1,); returns the status of the solve."""
        return self._call("evaluate", time, y, out)

    def evaluate_on_constraints(self, time: float, y: Array, out: Array) -> int:
        """The rates on the constraints; selects the active rows up to the next such state."""
        return self._call("evaluate_on_constraints", time, y, out)

    def evaluate_points(self, times: Array, states: Array) -> Array:
        """Status, rank and least pivot ratio (k, 3) at times (k,) and states (k, n_state)."""
        found, out, place = np.zeros((len(times), 3)), np.zeros(self.kernel.n_state + 1), 0
        while (
            place := functions()["evaluate_points"](
                self.fields, place, len(times), times, states, out, found
            )
        ) < len(times):
            self.complete()
        return found

    def _call(self, name: str, *arguments: Array | float) -> int:
        """Call a native function; if it misses a program, compile them all and call it again."""
        function = functions()[name]
        status = function(self.fields, *arguments)
        if status == native.MISSING:
            self.complete()
            status = function(self.fields, *arguments)
        return int(status)

    def forget_choices(self) -> None:
        """Begin with a motion of its own, for which no row was left out yet."""
        self.fields.arrays["active_rows"][:] = 0

    def project(
        self,
        time: float,
        y: Array,
        first: int = 0,
        last: int = 1,
        most: int = native.MOST_PROJECTIONS,
    ) -> int:
        """Bring y to its constraints in place; returns the status."""
        self.prepare_projection()
        return self._call("project", time, y, first, last, most)

    def rates(self, time: float, y: Array, inputs: Array | tuple[()] = ()) -> Array:
        """The rates at one state and free inputs; raises where they are not determined."""
        arrays = self.fields.arrays
        if len(inputs):
            arrays["input_values"][: len(inputs)] = inputs
        choice = arrays["active_rows"]
        chosen = choice.item(0)
        choice[0] = 0  # what a run has chosen is for its own states
        out = self._out
        status = self._evaluate(self.fields.address, time, address_of(y), self._out_address)
        if status == native.MISSING:
            status = self.evaluate(time, y, out)
        choice[0] = chosen
        if status in (SINGULAR, CONTRADICTORY):
            from .diagnosis import explain

            raise explain(self.kernel, status, time, y, self.parameters, self.info)
        return out[:-1].copy()

    def events(self, time: float, y: Array, count: int) -> Array:
        """The event functions at a state."""
        values = np.zeros(count)
        functions()["call_events"](self.fields, time, y, values)
        return values

    # -- many --------------------------------------------------------------------------------------

    def time_rates(self, time: float, y: Array, repeats: int) -> float:
        """Processor seconds for one evaluation in a native loop."""
        repeat = functions()["repeat_rates"]
        state, out = y.copy(), np.zeros(self.kernel.n_state + 1)
        if repeat(self.fields, 1, time, state, out) == native.MISSING:
            self.complete()
        began = clock.process_time()
        repeat(self.fields, repeats, time, state, out)
        return (clock.process_time() - began) / repeats

    def observe(self, times: Array, states: Array, inputs: Array) -> tuple[Array, IntArray]:
        """Observed quantities (nt, n_observed) and statuses, for states (nt, n_state)."""
        if not self.kernel.has_unknowns:
            self.kernel.load([*self._robust_programs, "observe"])
            self.complete()
        else:
            self.fields.sparse = self.kernel.address("unknowns")
        self.fields.observe = self.kernel.address("observe")
        width = max((place.stop for place in self.kernel.observed.values()), default=0)
        self.fields.n_observed = width
        results = np.full((len(times), width), np.nan)
        statuses = np.zeros(len(times), np.int64)
        observe = functions()["observe_points"]
        observe(self.fields, len(times), times, states, inputs, statuses, results)
        if np.any(statuses == native.MISSING):
            self.complete()
            observe(self.fields, len(times), times, states, inputs, statuses, results)
        return results, statuses


#: Numbers of the fields, lengths of the arrays with their types, and the length of a work array.
Layout = tuple[dict[str, int], dict[str, tuple[int, type]], int]


def kernel_layout(kernel: Kernel) -> Layout:
    """What the contexts of a kernel hold, found once; the work array is that of a dense solve."""
    return kernel.cache.get("layout", lambda: _layout(kernel))


def _layout(kernel: Kernel) -> Layout:
    ns, n, m, graph = kernel.n_state, kernel.n, kernel.m, kernel.graph
    position, velocity = (int(part.rows.shape[1]) for part in (graph.position, graph.velocity))
    widest, count = max(n, position, velocity), max(m, kernel.n_positions, kernel.n_velocities)
    numbers = {
        "n_state": ns,
        "n_coordinates": kernel.n_coordinates,
        "n_unknowns": n,
        "n_constraints": m,
        "n_positions": kernel.n_positions,
        "n_velocities": kernel.n_velocities,
        "n_position_unknowns": position,
        "n_velocity_unknowns": velocity,
        "is_definite": int(kernel.equations.is_definite),
        "has_gauge": int(kernel.equations.has_gauge),
        "n_inputs": len(kernel.free_inputs),
    }
    lengths: dict[str, tuple[int, type]] = {
        "time": (1, float),
        "input_values": (max(1, len(kernel.free_inputs)), float),
        "solution": (widest + count + 1, float),
        "work": (0, float),
        "order": (order_size(widest, count), np.int64),
        "info": (4, float),
        "out": (ns + 2 * count + 2, float),
        "active_rows": (3 + m + kernel.n_velocities, np.int64),
    }
    blocks = n * n + n + m * n + m
    parts = 2 * count + count * widest + widest * widest + ns * widest + count + widest
    return numbers, lengths, max(blocks, parts) + work_size(widest, count)
