"""The book of a kernel: addresses, sizes and working arrays, as native code finds them; and what Python asks of it."""

from __future__ import annotations

import time as clock
from typing import Any

import numpy as np

from ..errors import SingularError
from . import native
from .gauss_problem import order_size, work_size
from .large import MOST_DENSE
from .loops import functions
from .native_module import address_of
from .verdicts import CONTRADICTORY, SINGULAR

__all__ = ["Book"]

_ROBUST = {
    native.BLOCKS: "blocks",
    native.RATES: "rates",
    native.POSITION_PARTS: "position_parts",
    native.VELOCITY_PARTS: "velocity_parts",
}


class Book:
    """A kernel with working arrays and parameter values; one for each thread that runs it.

    Attributes
    ----------
    entries : array of int
        The book itself.
    arrays : dict of arrays
        The working arrays by place, kept alive here.
    callbacks : list
        What native code calls back through an address in the book, kept alive here.
    """

    def __init__(self, kernel: Any, parameters: Any, size: int = native.FIRST_FREE) -> None:
        self.kernel = kernel
        self.parameters = np.array(parameters, dtype=float)
        self.entries = np.zeros(size, np.int64)
        self.arrays: dict[int, Any] = {}
        self.callbacks: list[Any] = []
        ns, n, m = kernel.n_state, kernel.n, kernel.m
        position, velocity = (int(projection.rows.shape[1]) for projection in (kernel.graph.position, kernel.graph.velocity))
        widest, count = max(n, position, velocity), max(m, kernel.n_positions, kernel.n_velocities)
        for place, value in (
            (native.STATE, ns),
            (native.UNKNOWNS, n),
            (native.ROWS, m),
            (native.POSITIONS, kernel.n_positions),
            (native.VELOCITIES, kernel.n_velocities),
            (native.POSITION_UNKNOWNS, position),
            (native.VELOCITY_UNKNOWNS, velocity),
            (native.DEFINITE, int(kernel.equations.is_definite)),
            (native.GAUGE, int(kernel.equations.has_gauge)),
            (native.FREE_INPUTS, len(kernel.free_inputs)),
        ):
            self.entries[place] = value
        blocks = n * n + n + m * n + m
        parts = 2 * count + count * widest + widest * widest + ns * widest + count + widest
        self.hold(native.TIME, np.zeros(1))
        self.hold(native.PARAMETERS, self.parameters)
        self.hold(native.INPUT_VALUES, np.zeros(max(1, len(kernel.free_inputs))))
        self.hold(native.SOLUTION, np.zeros(widest + count + 1))
        self.work_size = max(blocks, parts) + work_size(widest, count)
        self.hold(native.WORK, np.zeros(0))
        self.hold(native.ORDER, np.zeros(order_size(widest, count), np.int64))
        self.hold(native.INFO, np.zeros(4))
        self.hold(native.OUT, np.zeros(ns + 2 * count + 2))
        self.hold(native.CHOICES, np.zeros(3 + m + kernel.n_velocities, np.int64))
        if kernel.has_fast:
            self.entries[native.FAST] = kernel.address("fast")
        else:
            self.complete()

    def hold(self, place: int, array: Any) -> Any:
        """Enter an array, and keep it alive."""
        self.arrays[place] = array
        self.entries[place] = address_of(array)
        return array

    def release(self, place: int) -> None:
        """Give up an array that no native code will touch any more."""
        self.arrays.pop(place, None)
        self.entries[place] = 0

    def call_for_inputs(self, callback: Any) -> None:
        """Ask a callback for the free inputs at every evaluation, and keep it alive."""
        self.callback = callback
        self.entries[native.INPUTS] = callback.address

    @property
    def info(self) -> Any:
        """What the last Gauss solve reported: rank, least pivot ratio, contradictory row, least diagonal entry."""
        return self.arrays[native.INFO]

    def prepare_projection(self) -> None:
        """Compile what projection needs."""
        kernel = self.kernel
        if kernel.large is not None or kernel.solved is not None:
            if kernel.n_positions:
                self.entries[native.POSITION_STEP] = kernel.address("position_step")
            if kernel.n_velocities:
                self.entries[native.VELOCITY_STEP] = kernel.address("velocity_step")
        elif kernel.is_constrained:
            self.complete()

    def complete(self) -> None:
        """Compile the programs that the Gauss solve needs."""
        self._make_room()
        for place, name in _ROBUST.items():
            if place == native.POSITION_PARTS and not self.kernel.n_positions:
                continue
            if place == native.VELOCITY_PARTS and not self.kernel.n_velocities:
                continue
            self.entries[place] = self.kernel.address(name)

    def _make_room(self) -> None:
        """The work array of the dense Gauss solve: made when it is first needed, and refused where it is too large."""
        if len(self.arrays[native.WORK]) >= self.work_size:
            return
        if self.work_size > MOST_DENSE:
            n, m = self.kernel.n, self.kernel.m
            raise SingularError(
                f"The sparse solve of {n} unknowns and {m} constraints cannot be trusted, and the dense one is too large",
                seen=f"{8e-9 * self.work_size:.1f} GB of working memory for the dense one, which decides rank",
                remedy="remove constraints that depend on others, or keep away from states where they do",
            )
        self.hold(native.WORK, np.zeros(self.work_size))

    # -- one state -----------------------------------------------------------------------------------------------

    def evaluate(self, time: float, y: Any, out: Any) -> int:
        """The rates into out (n_state + 1,); returns the status of the solve."""
        return self._call("evaluate", time, y, out)

    def settle(self, time: float, y: Any, out: Any) -> int:
        """The rates at a state on the constraints, where it is decided which of them count up to the next such state."""
        return self._call("settle", time, y, out)

    def settle_points(self, times: Any, states: Any) -> Any:
        """Status, rank and least pivot at points of a motion, (k, 3), for times (k,) and states (k, n_state)."""
        found, out, place = np.zeros((len(times), 3)), np.zeros(self.kernel.n_state + 1), 0
        while (place := functions()["settle_points"](self.entries, place, len(times), times, states, out, found)) < len(times):
            self.complete()
        return found

    def _call(self, name: str, *arguments: Any) -> int:
        """The status of a native function; where it misses a program, all of them are compiled and it is called again."""
        function = functions()[name]
        status = function(self.entries, *arguments)
        if status == native.MISSING:
            self.complete()
            status = function(self.entries, *arguments)
        return int(status)

    def forget_choices(self) -> None:
        """Begin with a motion of its own, for which no row was left out yet."""
        self.arrays[native.CHOICES][:] = 0

    def project(self, time: float, y: Any, first: int = 0, last: int = 1, most: int = native.MOST_PROJECTIONS) -> int:
        """Bring y to its constraints in place; returns the status."""
        self.prepare_projection()
        return self._call("project", time, y, first, last, most)

    def rates(self, time: float, y: Any, inputs: Any = ()) -> Any:
        """The rates at one state; raises where they are not determined."""
        values = np.asarray(inputs, dtype=float).ravel()
        self.arrays[native.INPUT_VALUES][: len(values)] = values
        out = np.zeros(self.kernel.n_state + 1)
        choice = self.arrays[native.CHOICES]
        chosen, choice[0] = choice[0], 0  # by a run, for its own states
        status = self.evaluate(time, y, out)
        choice[0] = chosen
        if status in (SINGULAR, CONTRADICTORY):
            from .trouble import explain

            raise explain(self.kernel, status, time, y, self.parameters, self.info)
        return out[:-1]

    def events(self, time: float, y: Any, count: int) -> Any:
        """The event functions at a state."""
        values = np.zeros(count)
        functions()["call_events"](self.entries, time, y, values)
        return values

    # -- many ----------------------------------------------------------------------------------------------------

    def time_rates(self, time: float, y: Any, repeats: int) -> float:
        """Processor seconds for one evaluation in a native loop."""
        repeat = functions()["repeat_rates"]
        state, out = y.copy(), np.zeros(self.kernel.n_state + 1)
        if repeat(self.entries, 1, time, state, out) == native.MISSING:
            self.complete()
        began = clock.process_time()
        repeat(self.entries, repeats, time, state, out)
        return (clock.process_time() - began) / repeats

    def observe(self, times: Any, states: Any, inputs: Any) -> tuple[Any, Any]:
        """Observed quantities (nt, n_observed) and the status of each point, for states (nt, n_state)."""
        if not self.kernel.has_unknowns:
            self.complete()
        else:
            self.entries[native.SPARSE] = self.kernel.address("unknowns")
        self.entries[native.OBSERVE] = self.kernel.address("observe")
        width = max((place.stop for place in self.kernel.observed.values()), default=0)
        self.entries[native.OBSERVED] = width
        results = np.full((len(times), width), np.nan)
        statuses = np.zeros(len(times), np.int64)
        observe = functions()["observe_points"]
        observe(self.entries, len(times), times, states, inputs, statuses, results)
        if np.any(statuses == native.MISSING):
            self.complete()
            observe(self.entries, len(times), times, states, inputs, statuses, results)
        return results, statuses
