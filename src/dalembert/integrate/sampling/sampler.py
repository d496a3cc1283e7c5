"""The sampled law of one run: its arrays, bound to native code, and its history as tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...codegen.program import straight_line
from ...errors import ModelError, nearest
from ...model.read_only import ReadOnlyArrays
from ...model.symbols import t as time_symbol
from ...typing import Array, IntArray
from ..events.stop_times import SPACINGS
from ..input_table import InputTable
from .loop import HeldInput, SampledLoop

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel
    from ..native_run import AdaptiveRun
    from ..task import Task

__all__ = ["SampleTable", "SampledRun"]

#: The most samples of a run.
MOST_SAMPLES = 20_000_000


@dataclass(frozen=True, eq=False)
class SampleTable(ReadOnlyArrays):
    """What a sampled law measured, commanded and remembered.

    Attributes
    ----------
    times : array (K,)
    measured, commands, memory : mappings of name to array (K,)
        Measured with noise and rounding; commanded within limits; memory before the sample.
    """

    times: Array
    measured: Mapping[str, Array]
    commands: Mapping[str, Array]
    memory: Mapping[str, Array]


class SampledRun:
    """The state of a sampled law along a run; the native loop reads and writes its arrays."""

    def __init__(self, task: Task, kernel: Kernel) -> None:
        held = [law for law in task.inputs.values() if isinstance(law, HeldInput)]
        self.loop, self.task = held[0].loop, task
        self._check(held)
        loop = self.loop
        self.first = kernel
        free = [symbol.name for symbol in kernel.free_inputs]
        self.held = tuple(loop)
        self._places = [free.index(name) for name in self.held]
        self.law = loop.law.fresh() if hasattr(loop.law, "fresh") else loop.law
        self.measured = _measured(loop, kernel)
        self._instants()
        self._arrays()

    @staticmethod
    def of(task: Task, kernel: Kernel) -> SampledRun | None:
        """The sampler of a task that has a sampled law."""
        if not any(isinstance(law, HeldInput) for law in task.inputs.values()):
            return None
        return SampledRun(task, kernel)

    def _check(self, held: list[HeldInput]) -> None:
        task, loop = self.task, self.loop
        if any(each.loop is not loop for each in held):
            raise ModelError(
                "A run has one sampled law", "two of them",
                "command all inputs by one law, or make the other one a function",
            )  # fmt: skip
        if missing := [name for name in loop if not isinstance(task.inputs.get(name), HeldInput)]:
            raise ModelError(
                "All inputs of a sampled law belong to it", missing[0], "pass inputs={**loop, ...}"
            )
        others = [
            name for name, f in task.inputs.items() if not isinstance(f, (HeldInput, InputTable))
        ]
        if others:
            raise ModelError(
                "Beside a sampled law inputs are numbers, expressions or tables",
                f"{others[0]} is a function", "pass it as an expression, or sample it as well",
            )  # fmt: skip
        if task.method != "dop853" or task.span[1] < task.span[0]:
            raise ModelError(
                'A sampled law is followed forwards by the method "dop853"',
                f"{task.method}, span {task.span}", "leave method out",
            )  # fmt: skip

    def _instants(self) -> None:
        """The times at which the law is sampled, and at which inputs change."""
        loop, (first, last) = self.loop, self.task.span
        spacing = float(np.spacing(max(abs(first), abs(last))))
        self.width, apart = SPACINGS * spacing, 4 * SPACINGS * spacing
        if not loop.period > 8 * apart:
            raise ModelError(
                "The period of the law is too short for the clock", loop.period, "lengthen it"
            )
        if (last - first) / loop.period > MOST_SAMPLES:
            raise ModelError(
                f"A run takes at most {MOST_SAMPLES} samples",
                f"{(last - first) / loop.period:.3g}", "shorten the span or lengthen the period",
            )  # fmt: skip
        samples: Array = first + loop.period * np.arange(
            math.ceil((last - first) / loop.period), dtype=float
        )
        self.samples: Array = samples[samples < last - apart]
        effects = self.samples + loop.delay
        times = np.concatenate([self.samples, effects[effects < last - apart]])
        kinds = np.zeros((len(times), 3), dtype=np.int64)
        count = len(self.samples)
        kinds[:count, 0], kinds[count:, 1] = 1, 1
        kinds[:count, 2] = int(any(name in loop.noise for name in self.held))
        order = np.argsort(times, kind="stable")
        times, kinds = times[order], kinds[order]
        begins = (
            np.concatenate([[True], np.diff(times) > apart]) if len(times) else np.zeros(0, bool)
        )
        groups = np.flatnonzero(begins)
        self.instants: Array = times[groups]
        self.kinds: IntArray = np.add.reduceat(kinds, groups) if len(groups) else kinds

    def _arrays(self) -> None:
        loop, count = self.loop, len(self.samples)
        n, m, nz = len(self.measured), len(loop.commands), len(loop.memory)
        width = nz + len(loop.schedule)
        streams = np.random.SeedSequence([loop.seed % 2**63, self.task.run]).spawn(2)
        of_measured, of_inputs = (
            np.array([loop.noise.get(name, 0.0) for name in names])
            for names in (self.measured, self.held)
        )
        draw = [np.random.default_rng(stream) for stream in streams]
        self.noise = np.zeros((count, n))
        if of_measured.any():
            self.noise = draw[0].standard_normal((count, n)) * of_measured
        self.disturbances = np.zeros((0, len(self.held)))
        if of_inputs.any():
            self.disturbances = draw[1].standard_normal((count, len(self.held))) * of_inputs
        self.read = np.zeros((count, n))
        self.quanta = np.array([loop.quantum.get(name, 0.0) for name in self.measured])
        self.commands = np.zeros((count + 1, m))
        self.commands[0] = [loop.initial.get(name, 0.0) for name in loop.commands]
        # Memory, then what is scheduled; an update writes the first of them alone.
        self.memory = np.zeros((count + 1, width))
        self.memory[0, :nz] = [value for value, _ in loop.memory.values()]
        for k, row in enumerate(loop.schedule.values(), start=nz):
            self.memory[:, k] = row[np.minimum(np.arange(count + 1), len(row) - 1)]
        free = (-math.inf, math.inf)
        self.limits = np.array(
            [
                [
                    loop.quantum.get(name, 0.0),
                    loop.rate.get(name, math.inf) * loop.period,
                    *loop.bounds.get(name, free),
                ]
                for name in loop.commands
            ]
        )
        self.pieces = np.zeros((len(self.instants), len(self.held), 4))
        self._fields: Any = None

    # -- during a run ------------------------------------------------------------------------------

    @property
    def inputs(self) -> dict[str, Any]:
        """The inputs of the run as tables; those of the law have one piece, which is rewritten."""
        loop, start = self.loop, self.task.span[0]
        found = dict(self.task.inputs)
        for name in self.held:
            value = loop.initial.get(name, 0.0)
            found[name] = InputTable([start, start + loop.period], [[value, value]])
        return found

    def bind(self, run: AdaptiveRun) -> None:
        """Bind the arrays to a run, which goes on where the one before it has ended."""
        kernel, s = run.context.kernel, run.context.fields.sampling
        data, sizes = (run.context.fields.arrays[name] for name in ("table_data", "table_sizes"))
        places = np.array([sizes[4 * k + 2] for k in self._places], dtype=np.int64)
        if self._fields is not None:
            s.words[:] = self._fields.words
            for place, piece in zip(places, self.pieces[s.n_switches - 1], strict=True):
                if s.n_switches:
                    data[place : place + 4] = piece
        programs = kernel.cache.get(self._key, lambda: _programs(self.loop, kernel, self.measured))
        s.observe_program, s.law_program, s.update_program = (
            0 if program is None else kernel.load_program(program) for program in programs
        )
        s.n_measured, s.n_commands = len(self.measured), len(self.loop.commands)
        s.n_memory, s.n_held = self.memory.shape[1], len(self.held)
        s.n_instants, s.period, s.width = len(self.instants), self.loop.period, self.width
        s.is_linear, s.is_disturbed = int(self.loop.is_linear), int(len(self.disturbances) > 0)
        if self._fields is None:
            s.switched_on = self.task.span[0]
        for name, array in (
            ("instants", self.instants), ("kinds", self.kinds), ("measured", self.read),
            ("noise", self.noise), ("quanta", self.quanta), ("commands", self.commands),
            ("limits", self.limits), ("memory", self.memory),
            ("disturbances", self.disturbances), ("pieces", self.pieces), ("table_places", places),
        ):  # fmt: skip
            s.bind(name, array)
        self._fields = s
        run.entry = "advance_samples"

    @property
    def _key(self) -> tuple[Any, ...]:
        loop = self.loop
        memory = (*loop.memory.items(), *loop.schedule)
        return ("sampled", tuple(self.measured.items()), loop.expressions, memory)

    def answer(self, run: AdaptiveRun) -> None:
        """Ask a law of Python for its commands at the present sample."""
        s = self._fields
        k = s.n_samples
        measured = dict(zip(self.measured, self.read[k].tolist(), strict=True))
        self.commands[k + 1] = self._asked(float(self.samples[k]), measured)
        run.call("limit_commands")
        s.progress = 2

    def _asked(self, time: float, measured: dict[str, float]) -> list[float]:
        names = self.loop.commands
        if isinstance(self.law, tuple):
            found: Any = [law(time, measured) for law in self.law]
        else:
            found = self.law(time, measured)
        if isinstance(found, Mapping):
            table = {getattr(key, "name", key): value for key, value in found.items()}
            found = [table.get(name, math.nan) for name in names]
        values = np.atleast_1d(np.asarray(found, dtype=float)).ravel()
        if len(values) != len(names) or not np.all(np.isfinite(values)):
            raise ModelError(
                f"The sampled law must return finite numbers for {', '.join(names)}",
                f"{str(found)[:60]} at t = {time:.9g}", "return a number for each",
            )  # fmt: skip
        return values.tolist()

    def values(self, time: float) -> dict[str, float]:
        """The held inputs at a time of the present piece."""
        s = self._fields
        if s is None or not s.n_switches:
            return {name: self.loop.initial.get(name, 0.0) for name in self.held}
        found = {}
        for name, (begin, end, first, last) in zip(
            self.held, self.pieces[s.n_switches - 1], strict=True
        ):
            part = min(max((time - begin) / (end - begin), 0.0), 1.0)
            found[name] = float(first + part * (last - first))
        return found

    # -- after a run -------------------------------------------------------------------------------

    def tables(self) -> dict[str, Any]:
        """All inputs of the run as tables of time, by which it can be repeated."""
        found = dict(self.task.inputs)
        switching = self.kinds[:, 1:].any(axis=1)
        count = self._fields.n_switches
        # A switch takes effect within the tiny step that crosses it.
        times = self.instants[switching][:count] + 0.5 * self.width
        first, last = self.task.span
        begins = min(first, times[0] - 1.0) if count else first
        ends = times[-1] + self.loop.period if count else max(last, first + 1.0)
        edges = np.concatenate([[begins], times, [ends]])
        for k, name in enumerate(self.held):
            start = self.loop.initial.get(name, 0.0)
            begin, end, value, final = self.pieces[:count, k].T
            rows = np.array([edges[1:-1], edges[2:]]).T
            tau = np.clip((rows - begin[:, None]) / (end - begin)[:, None], 0.0, 1.0)
            values = value[:, None] + tau * (final - value)[:, None]
            found[name] = InputTable(edges, np.concatenate([[[start, start]], values]))
        return found

    def samples_taken(self) -> SampleTable:
        """What was measured, commanded and remembered up to the end of the run."""
        count = self._fields.n_samples
        return SampleTable(
            self.samples[:count],
            {name: self.read[:count, k] for k, name in enumerate(self.measured)},
            {name: self.commands[1 : count + 1, k] for k, name in enumerate(self.loop.commands)},
            {symbol.name: self.memory[:count, k] for k, symbol in enumerate(self.loop.memory)},
        )


def _measured(loop: SampledLoop, kernel: Kernel) -> dict[str, sympy.Expr]:
    """The measured quantities by name: what the law reads, or all that there is."""
    system = kernel.equations.system
    every: dict[str, sympy.Expr] = {
        s.name: s for s in (*system.coordinates, *system.velocities, *system.momenta)
    }
    every |= {s.name: s for s in kernel.equations.state}
    every |= dict(system.outputs)
    own = dict(loop.measure or {})
    if not loop.is_native:
        velocities = {s.name: s for s in (*system.coordinates, *system.velocities)}
        used = own or velocities or {s.name: s for s in kernel.equations.state}
    else:
        written = [*loop.expressions, *(expression for _, expression in loop.memory.values())]
        symbols = sorted(set().union(*(e.free_symbols for e in written)), key=str)
        other = {time_symbol, *kernel.parameters, *loop.memory, *loop.schedule}
        names = [s.name for s in symbols if s not in other and s.name not in loop.commands]
        used = {}
        for name in names:
            if name not in own and name not in every:
                near = nearest(name, [*own, *every])
                raise ModelError(
                    f"The sampled law reads `{name}`, which is not measured",
                    ", ".join([*own, *every])[:120],
                    f"did you mean {near}" if near else "use numbers, or name it in measure",
                )
            used[name] = own.get(name, every.get(name))
    unknown = [n for n in (*loop.noise, *loop.quantum) if n not in (*used, *loop, *loop.commands)]
    if unknown:
        raise ModelError(
            f"`{unknown[0]}` has noise or a quantum and is neither measured nor an input",
            ", ".join([*used, *loop])[:120], "leave it out, or let the law read it",
        )  # fmt: skip
    return used


def _programs(loop: SampledLoop, kernel: Kernel, measured: Mapping[str, sympy.Expr]) -> list[Any]:
    """The programs that measure, command and remember; None for what there is not."""
    observe = None
    if measured:
        column = kernel.lower(list(measured.values()))
        observe = straight_line("observe_samples", kernel._inputs(), [column])
    if not loop.is_native:
        return [observe, None, None]
    algebra = GraphAlgebra()
    vector = algebra.vector
    remembered = [expression for _, expression in loop.memory.values()]
    reads = {s.name: s for e in (*loop.expressions, *remembered) for s in e.free_symbols}
    names = [*measured], [*loop.commands]
    known = [[reads.get(name, sympy.Symbol(name)) for name in each] for each in names]
    symbols = [
        vector([time_symbol]), vector(known[0]), vector(list(kernel.parameters)),
        vector(known[1]), vector([*loop.memory, *loop.schedule]),
    ]  # fmt: skip
    law = straight_line("sampled_law", symbols, [vector(list(loop.expressions))])
    update = straight_line("update_memory", symbols, [vector(remembered)]) if remembered else None
    return [observe, law, update]
