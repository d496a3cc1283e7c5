"""A motion and the parameters and start values by which it is differentiated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ...errors import ModelError, nearest
from ...integrate.motion import Motion
from ...integrate.outcome import Outcome
from ...integrate.sensitivity.saltation import check_contacts, saltation
from ...integrate.sensitivity.smoothness import check_jumps, check_ranks
from ...integrate.sensitivity.start_tangent import own_tangents, shown_tangents, start_tangents
from ...integrate.sensitivity.tangent_run import SensitiveRun
from ...integrate.simulate import simulate
from ...integrate.start_symbols import moving_outputs, start_form
from ...model.scenario import Scenario
from ...model.symbols import by_name
from ...typing import Array, ArrayLike, IntArray, Span, Start, Symbol, Symbols
from .observed import ObservedDerivatives, observe

if TYPE_CHECKING:
    from ...formulations.equations import Equations
    from ...model.flow_system import Flow
    from ...model.system import System

__all__ = ["Question", "ask", "name_of"]

#: The most tolerances of a motion that one step may add to the relative error of a derivative.
SLACK = 10.0


def name_of(item: Symbol) -> str:
    """The name of a symbol, or the name itself."""
    return str(getattr(item, "name", item))


def check_single(motion: Motion | Sequence[Motion]) -> None:
    """Raise where arrays in the start or the parameters made many motions of one question."""
    if not isinstance(motion, Motion):
        what = "One motion is differentiated at a time"
        remedy = "give one number for each value, and ask for the runs one by one"
        raise ModelError(what, f"arrays that make {len(motion)} runs", remedy)


def ask(
    model: System | Flow | Equations | Scenario | Motion,
    wrt: Symbols,
    start: Start | None,
    span: Span | None,
    given: Symbols | None,
    options: Mapping[str, Any],
    integrand: sympy.Expr | None = None,
) -> Question:
    """Read a call: a motion as it is, or a model that is simulated with the options of `simulate`.

    Raises
    ------
    ModelError
        Where a motion is passed together with what would make another, or does not tell its start.
    """
    if not isinstance(model, Motion):
        if given is not None:
            remedy = "leave it out; `start` tells it"
            raise ModelError("`given` speaks of a motion", type(model).__name__, remedy)
        is_named = isinstance(model, Scenario) and "method" in model.simulate
        steps = {} if is_named else {"method": "dop853"}
        motion = simulate(model, start, span, **{**steps, **options})
        check_single(motion)
        stated = dict(model.start) if isinstance(model, Scenario) else {}
        stated |= by_name(start, "start")
        return Question(motion, wrt, stated, integrand)
    if start is not None or span is not None or options:
        extra = ["start"] * (start is not None) + ["span"] * (span is not None) + list(options)
        remedy = "pass the system in place of the motion, or leave these out"
        raise ModelError("A motion is differentiated as it is", ", ".join(extra), remedy)
    if given is None and model.system.bilateral:
        what = "A motion with constraints does not tell which values its start was given"
        remedy = "pass given=[...] with their names; the others are completed from the constraints"
        raise ModelError(what, ", ".join(model.start), remedy)
    names = list(model.start) if given is None else [name_of(item) for item in given]
    values = {**model.start, **_outputs_at_start(model, names)}
    unknown = [name for name in names if name not in values]
    if unknown:
        remedy = "use one of these names"
        raise ModelError(f"The start has no value `{unknown[0]}`", ", ".join(model.start), remedy)
    return Question(model, wrt, {name: values[name] for name in names}, integrand)


class Question:
    """Derivatives of a motion by k quantities.

    Attributes
    ----------
    names : tuple of str (k,)
        A parameter, or a symbol of the start.
    parameters : tuple of symbols (nx,)
        The parameters among them.
    start_derivatives : array (k, n_state)
        The derivative of the start, in the symbols of the first segment.
    directions : array (k, nx)
        Which column belongs to which parameter.
    runs : list of SensitiveRun
        One for each segment.
    """

    def __init__(
        self,
        motion: Motion,
        wrt: Symbols,
        given: Mapping[str, float],
        integrand: sympy.Expr | None = None,
    ) -> None:
        self.motion, self.integrand = motion, integrand
        _refuse(motion)
        self.kernel = motion.segments[0].context.kernel
        self.values = motion.segments[0].context.parameters
        items = [wrt] if isinstance(wrt, str) or not isinstance(wrt, Sequence) else list(wrt)
        table = {symbol.name: symbol for symbol in self.kernel.parameters}
        symbols = _start_symbols(motion)
        self.names = tuple(_known(name_of(item), table, symbols) for item in items)
        if len(set(self.names)) != len(self.names):
            raise ModelError("A quantity is asked for twice", seen=", ".join(self.names))
        self.parameters = tuple(table[name] for name in self.names if name in table)
        self.directions = np.zeros((len(self.names), len(self.parameters)))
        self.given = dict(given)
        for c, name in enumerate(self.names):
            if name in table:
                self.directions[c, self.parameters.index(table[name])] = 1.0
            elif name not in self.given:
                values = {**motion.start, **_outputs_at_start(motion, [name])}
                self.given[name] = values.get(name, 0.0)

    @property
    def has_contacts(self) -> bool:
        """Whether contacts change along the motion."""
        modes = {segment.mode for segment in self.motion.segments}
        return bool(self.motion.impacts) or len(modes) > 1

    @property
    def sign(self) -> float:
        """Whether the motion goes forward in time."""
        segments = self.motion.segments
        return -1.0 if segments[-1].step_t[-1] < segments[0].step_t[0] else 1.0

    @cached_property
    def runs(self) -> list[SensitiveRun]:
        projected = bool(self.motion.statistics.get("projections", 0))
        limit = SLACK * float(self.motion.statistics.get("rtol", 1e-10))
        common = (self.parameters, projected, limit, self.integrand)
        found = [SensitiveRun(segment, *common) for segment in self.motion.segments]
        for run in found:
            check_ranks(run)
            check_jumps(run)
        return found

    @cached_property
    def start_derivatives(self) -> Any:
        table = {symbol.name: symbol for symbol in self.parameters}
        wrt = [table.get(name, name) for name in self.names]
        first = self.motion.segments[0]
        time, used = float(first.step_t[0]), first.step_y[0]
        if start_form(self.kernel.equations, self.given) is not None:
            n = len(self.motion.system.coordinates)
            velocities = self.kernel.velocities([time], [used], self.values)[0]
            used = np.concatenate([used[:n], velocities])
        return start_tangents(self.kernel, time, self.given, self.values, wrt, used)

    def observe(
        self, run: SensitiveRun, quantities: Sequence[Symbol], times: Array, states: Array
    ) -> ObservedDerivatives:
        """Quantities with their derivatives at states of one segment."""
        p = run.context.parameters
        return observe(run.kernel, quantities, self.parameters, times, states, p)

    def by_parameters(self, directions: Array) -> Array:
        """Directions (k, nx) of the asked parameters among all of the kernel's, (n_p, k)."""
        every = np.zeros((len(self.kernel.parameters), len(directions)))
        for k, symbol in enumerate(self.parameters):
            every[self.kernel.parameters.index(symbol)] = directions[:, k]
        return every

    def across(self, number: int, derivatives: Array, directions: Array) -> Any:
        """Derivatives (k, n_state) at the end of a segment in the symbols of the next."""
        before, after = self.runs[number], self.runs[number + 1]
        time, y, every = float(before.times[-1]), before.states[-1], self.by_parameters(directions)
        if self.has_contacts:
            if self.integrand is not None:
                what = "An integral over a motion through contacts is not differentiated"
                raise ModelError(what, str(self.integrand)[:60], "make it a coordinate of a flow")
            parts = (before.segment, after.segment)
            return saltation(self.motion, *parts, derivatives, every)
        full = before.segment.full_y[-1]
        shown = shown_tangents(before.kernel, time, y, derivatives, self.values, every)
        return own_tangents(after.kernel, time, full, shown, self.values, every)

    def split(self, times: ArrayLike) -> list[IntArray]:
        """Which of some times (nt,) lie in each segment, each in the order of the motion."""
        flat, sign = np.asarray(times, dtype=float), self.sign
        first, last = self.motion.segments[0].step_t[0], self.motion.segments[-1].step_t[-1]
        if flat.size and (np.min(sign * flat) < sign * first or np.max(sign * flat) > sign * last):
            what = "A derivative was asked for outside the motion"
            remedy = f"stay between {min(first, last):g} and {max(first, last):g}"
            raise ModelError(what, f"{np.min(flat):g} to {np.max(flat):g}", remedy)
        order = np.argsort(sign * flat, kind="stable")
        ends = np.array([sign * segment.step_t[-1] for segment in self.motion.segments[:-1]])
        owner = np.searchsorted(ends, sign * flat[order], side="right")
        return [order[owner == k] for k in range(len(self.motion.segments))]


def _outputs_at_start(motion: Motion, names: Sequence[str]) -> dict[str, float]:
    """The names that are outputs and that a start may give, with their values at the start."""
    return {name: float(motion[name][0]) for name in moving_outputs(motion.system) if name in names}


def _start_symbols(motion: Motion) -> list[str]:
    """Every symbol that a start may be given."""
    system = motion.system
    known = [symbol.name for symbol in motion.segments[0].context.kernel.equations.state]
    velocities = (*system.velocities, *system.momenta)
    shown = [symbol.name for symbol in (*motion.state, *velocities)] + [*moving_outputs(system)]
    return list(dict.fromkeys(shown if motion.equations.start_form else [*known, *shown]))


def _known(name: str, parameters: Mapping[str, Any], symbols: Sequence[str]) -> str:
    if name in parameters or name in symbols:
        return name
    near = nearest(name, [*parameters, *symbols])
    what = f"There is no parameter or start value `{name}` to differentiate by"
    remedy = f"did you mean {near}" if near else "use one of these names"
    raise ModelError(what, ", ".join([*parameters, *symbols]), remedy)


def _refuse(motion: Motion) -> None:
    """Raise where the derivative along the steps is not the derivative of the motion."""
    if motion.statistics.get("method", "dop853") != "dop853":
        what = "Only motions by dop853 are differentiated"
        raise ModelError(what, seen=motion.statistics["method"], remedy='use method="dop853"')
    if not motion.success:
        raise ModelError("The motion did not reach its end", motion.message, "shorten the span")
    if motion.outcome is Outcome.STOPPED:
        what = "The end of the motion is an event, whose time has a derivative of its own"
        raise ModelError(what, seen=motion.message, remedy="simulate to a fixed time")
    if any(segment.interpolated for segment in motion.segments):
        what = "The motion crosses a singular position, where its derivative is not found"
        raise ModelError(what, seen=motion.message, remedy="end the span before that position")
    check_contacts(motion)
    inputs = motion.segments[0].context.kernel.free_inputs
    if inputs:
        raise ModelError(
            "An input given as a Python function has no derivative here",
            seen=", ".join(symbol.name for symbol in inputs),
            remedy="give it as an expression, with parameters or with `da.analysis.gridded_input`",
        )
