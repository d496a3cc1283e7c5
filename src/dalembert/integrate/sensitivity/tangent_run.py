"""Derivatives of one segment of a motion: its context with derivative programs and native loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ...codegen.native.native_module import NativeModule
from ...errors import RunError
from ...runtime.context import Context
from ...runtime.kernel import Kernel
from ...runtime.kernel_derivatives import Derivatives, ReferencePoint, independent_rows
from ...typing import Array
from ..run_fields import TangentFields
from . import adjoint_steps, tangent_steps

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel
    from ..segment import Segment

__all__ = ["SensitiveRun", "derivative_functions", "tangent_projection"]


@lru_cache(maxsize=1)
def derivative_functions() -> dict[str, Any]:
    """The native loops of derivatives, compiled once."""
    entries: list[Callable[..., Any]] = [
        tangent_steps.follow_tangents,
        tangent_steps.follow_states,
        tangent_steps.refine,
        adjoint_steps.follow_adjoint,
    ]
    return NativeModule(entries).functions


class SensitiveRun:
    """One segment of a motion with the exact derivatives of its steps.

    Parameters
    ----------
    segment : Segment
    parameters : sequence of symbols (nx,)
        Those that derivatives are taken by.
    projected : bool
        Whether the steps ended on the constraints.
    limit : float
        The largest error of a step that the derivative may make, relative to its size; steps with
        more are cut.
    integrand : SymPy expression or None
        What the adjoint integrates.

    Attributes
    ----------
    times, states : arrays (steps + 1,) and (steps + 1, n_state)
        The steps along which derivatives are carried: those of the motion, and more between them
        where they were cut.
    """

    def __init__(
        self,
        segment: Segment,
        parameters: Sequence[Any],
        projected: bool,
        limit: float,
        integrand: sympy.Expr | None = None,
    ) -> None:
        self.segment, self.kernel = segment, segment.context.kernel
        self.projected = projected and self.kernel.is_constrained
        self.times = np.ascontiguousarray(segment.step_t)
        self.states = np.ascontiguousarray(segment.step_y)
        self.ns = self.kernel.n_state
        instant = ReferencePoint(float(self.times[0]), self.states[0], segment.context.parameters)
        self.derivatives = _derivatives(self.kernel, tuple(parameters), instant, integrand)
        self.size = self.derivatives.size
        self.context = Context(self.kernel, segment.context.parameters, TangentFields)
        if self.projected:
            self.context.prepare_projection()
        if segment.context.fields.blocks:
            self.context.complete()
        self._ready, self._limit = "", limit
        self.context.fields.bind("probe", self._probe())
        self.context.fields.n_directions = self.size
        self.context.fields.is_projected = int(self.projected)
        self.context.fields.bind("stages", np.zeros((13, self.ns + 1)))
        self.context.fields.bind("stage_states", np.zeros((12, self.ns)))

    @property
    def steps(self) -> int:
        """The number of steps."""
        return len(self.times) - 1

    def states_at(self, at: Array) -> Array:
        """States (nt, n_state) at times that go the way of the motion, by steps of their own."""
        times, found = np.ascontiguousarray(at, dtype=float), np.zeros((len(at), self.ns))
        status = derivative_functions()["follow_states"](
            self.context.fields, self.steps, self.times, self.states, len(times), times, found
        )
        self._check(status)
        return found

    def tangents(
        self, columns: Array, at: Array, first: int = 0, last: int | None = None
    ) -> tuple[Array, Array, Array]:
        """Carry columns (k, n_state + nx) from step `first` to `last`, with cut steps.

        Returns
        -------
        states (nt, n_state) and derivatives (nt, k, n_state) at some times on the way, derivatives
        (k, n_state) at the end
        """
        count = len(columns)
        width = min(self.derivatives.most_columns, count + 1)
        padded = -(-(count + 1) // width) * width
        self._prepare_tangents(padded, width)
        carried = np.zeros((padded, self.size))
        carried[:count] = columns
        times = np.ascontiguousarray(at, dtype=float)
        states = np.zeros((len(times), self.ns))
        derivatives = np.zeros((len(times), padded, self.ns))
        spare = np.zeros(max(padded * self.size, self.ns))
        steps = (self.steps if last is None else last) - first
        ratios = self.context.fields.bind("ratios", np.zeros(steps + 1))
        status = derivative_functions()["follow_tangents"](
            self.context.fields,
            steps,
            self.times[first:],
            self.states[first:],
            carried,
            spare,
            len(times),
            times,
            states,
            derivatives,
        )
        self._check(status, first)
        if last is None and np.max(ratios) > self._limit and self.refine():
            return self.tangents(columns, at)
        return states, derivatives[:, :count], carried[:count, : self.ns]

    def adjoint(
        self, gradient: Array, weight: float, at: Array, at_gradients: Array
    ) -> tuple[Array, float]:
        """Pull a gradient (n_state + nx) from end to beginning: the result, and the integral."""
        self._prepare_adjoint()
        pulled, integral = np.array(gradient, dtype=float), np.array([weight, 0.0])
        ratios = self.context.fields.bind("ratios", np.zeros(self.steps + 1))
        status = derivative_functions()["follow_adjoint"](
            self.context.fields, self.steps, self.times, self.states, pulled, integral,
            len(at), np.ascontiguousarray(at, dtype=float), np.ascontiguousarray(at_gradients,
            dtype=float),
        )  # fmt: skip
        self._check(status)
        if np.max(ratios) > self._limit and self.refine():
            return self.adjoint(gradient, weight, at, at_gradients)
        return pulled, float(integral[1])

    def refine(self, known: bool = True) -> bool:
        """Halve the steps whose derivative error exceeds the limit; whether there were any.

        It is known from a derivative that was carried before, or is found now.
        """
        if not known:
            self.context.fields.bind("ratios", np.full(self.steps + 1, np.inf))
        self._prepare_tangents(1, 1)
        column, room, count = np.zeros(self.size), 2 * self.steps + 64, 0
        while count == 0:
            times, states = np.zeros(room), np.zeros((room, self.ns))
            count = derivative_functions()["refine"](
                self.context.fields,
                self.steps,
                self.times,
                self.states,
                column,
                self._limit,
                room,
                times,
                states,
            )
            self._check(count)
            room *= 4
        changed = count > len(self.times)
        self.times, self.states = times[:count].copy(), states[:count].copy()
        return changed

    def _probe(self) -> Array:
        """A generic direction: the symbols by one, the parameters by their size."""
        random = np.random.default_rng(7)
        places = [self.kernel.parameters.index(symbol) for symbol in self.derivatives.parameters]
        values = np.abs(self.segment.context.parameters[places])
        sizes = np.concatenate([np.ones(self.ns), np.where(values > 0, values, 1.0)])
        signs = random.choice([-1.0, 1.0], self.size)
        probe: Array = sizes * random.uniform(0.5, 1.0, self.size) * signs
        return probe

    def _prepare_tangents(self, padded: int, width: int) -> None:
        fields = self.context.fields
        if (fields.n_columns, fields.width) == (padded, width) and self._ready == "tangents":
            return
        self._ready = "tangents"
        fields.n_columns, fields.width = padded, width
        fields.tangent = _address(self.derivatives, "tangent", width)
        for level, where in (("position", "position_tangent"), ("velocity", "velocity_tangent")):
            if self._has(level):
                setattr(
                    fields,
                    where,
                    _address(self.derivatives, "evaluate_on_constraints", level, width),
                )
        self.context.fields.bind("stage_derivatives", np.zeros((12, padded, self.ns)))
        self.context.fields.bind("moved", np.zeros((padded, self.size)))
        self.context.fields.bind("pushed", np.zeros(self.ns * (width + 1) + 2))

    def _prepare_adjoint(self) -> None:
        fields = self.context.fields
        if self._ready == "adjoint":
            return
        self._prepare_tangents(1, 1)
        self._ready = "adjoint"
        fields.adjoint = _address(self.derivatives, "adjoint")
        for level, where in (("position", "position_adjoint"), ("velocity", "velocity_adjoint")):
            if self._has(level):
                setattr(fields, where, _address(self.derivatives, "pull_projection", level))
        self.context.fields.bind("stage_pulls", np.zeros((12, self.ns)))
        self.context.fields.bind("seed", np.zeros(self.ns + 1))
        self.context.fields.bind("pulled", np.zeros(self.size + 2))
        self.context.fields.bind("scratch", np.zeros(2 * self.size + self.ns + 2))

    def _has(self, level: str) -> bool:
        count = self.kernel.n_positions if level == "position" else self.kernel.n_velocities
        return bool(self.projected and count)

    def _check(self, status: int, first: int = 0) -> None:
        if status < 0:
            raise RunError(
                "The derivative of the motion is not determined",
                seen=f"t = {self.times[first - 1 - status]:.9g}",
                remedy="end the span before, or use another form",
            )


def tangent_projection(kernel: Kernel, instant: ReferencePoint, columns: int) -> tuple[int, int]:
    """Native code that makes columns tangent to constraints of positions and of velocities, or 0.

    The rows are those that are independent at an instant.
    """
    derivatives = _derivatives(kernel, (), instant, None)
    has = {"position": kernel.n_positions, "velocity": kernel.n_velocities}
    found = [
        _address(derivatives, "evaluate_on_constraints", level, columns) if count else 0
        for level, count in has.items()
    ]
    return found[0], found[1]


def _derivatives(
    kernel: Kernel,
    parameters: tuple[Any, ...],
    instant: ReferencePoint,
    integrand: sympy.Expr | None,
) -> Derivatives:
    """The derivatives of a kernel, cached with it, so that another run compiles nothing."""
    rows = independent_rows(kernel, instant)
    return kernel.cache.get(
        ("derivatives", parameters, integrand, rows),
        lambda: Derivatives(kernel, parameters, instant, rows, integrand),
    )


def _address(derivatives: Derivatives, name: str, *arguments: str | int) -> int:
    """The native code of one of the programs, kept with the derivatives."""
    return derivatives.cache.get(
        (name, *arguments),
        lambda: int(derivatives.kernel.load_program(getattr(derivatives, name)(*arguments))),
    )
