"""What is exported: a kernel, values of its parameters, a consistent start, tolerances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import ModelError
from ..formulations.equations import Equations
from ..integrate.driver import Driver
from ..integrate.options import RunOptions
from ..integrate.task import Task, read_task
from ..integrate.tolerances import LEAST_RTOL, LOCAL_SHARE
from ..integrate.velocity_partition import THRESHOLDS
from ..model.labels import labelled
from ..model.parameter_values import parameter_values
from ..model.symbols import by_name
from ..runtime.kernel import Kernel, kernel_of
from ..typing import Array, ArrayLike, Parameters, Span, Start

__all__ = ["ExportTask", "read_export"]

#: Below this quality independent velocities cost digits; a native run chooses others long before.
LEAST_QUALITY = 0.01
#: The rows that an exported program prints unless it is told otherwise.
ROWS = 200


@dataclass(frozen=True)
class ExportTask:
    """Everything that an export needs, checked.

    Attributes
    ----------
    kernel : Kernel
        Of the form with the independent velocities that suit the start.
    parameters : array or None
    start : array (n_state,) or None
        Consistent with the constraints.
    span : (float, float) or None
    step : float or None
        The time between the rows that the program prints.
    rtol : float
        The tolerance of the motion, as in `simulate`.
    atol : array (n_state,)
    threshold : float or None
        The quality of the independent velocities at which a run ends.
    """

    kernel: Kernel
    parameters: Array | None
    start: Array | None
    span: tuple[float, float] | None
    step: float | None
    rtol: float
    atol: Array
    threshold: float | None

    @property
    def local_rtol(self) -> float:
        """What each step is held to."""
        return max(LOCAL_SHARE * self.rtol, LEAST_RTOL)

    @property
    def local_atol(self) -> Array:
        """What each step is held to, for each symbol of the state."""
        return LOCAL_SHARE * self.atol


def read_export(
    equations: Equations,
    parameters: Parameters | None = None,
    start: Start | None = None,
    span: Span | None = None,
    rtol: float = 1e-10,
    atol: ArrayLike | None = None,
    step: float | None = None,
) -> ExportTask:
    """A call of an export, read and checked.

    Raises
    ------
    ModelError
        For what exported code cannot honour: one-sided constraints, which need decisions at
        impacts.
    """
    _check_contacts(equations)
    if start is not None and parameters is None and equations.system.parameters:
        names = ", ".join(symbol.name for symbol in equations.system.parameters)
        what = "A start is made consistent with given parameters"
        raise ModelError(what, "no parameters", f"give {names}")
    start, parameters = labelled(start), labelled(parameters)
    if parameters is not None and not isinstance(parameters, Mapping):
        symbols = equations.system.parameters
        parameters = dict(zip(symbols, parameter_values(symbols, parameters), strict=True))
    known = parameters is not None or not equations.system.parameters
    values = parameter_values(equations.system.parameters, parameters or {}) if known else None
    task = _run_task(equations, parameters if known else None, start, span, rtol, atol)
    kernel, state, threshold = kernel_of(equations, equations.system.parameters), None, None
    if start is not None:
        driver = Driver(task)
        driver.mode, driver.kernel = (), kernel
        state = driver._start().state
        kernel, threshold = driver.kernel, driver.chart.threshold
    if kernel.equations.rechoose is None or kernel.equations.chart_is_steady:
        threshold = None
    elif state is None:
        threshold = LEAST_QUALITY
    else:
        threshold = min(LEAST_QUALITY, threshold or THRESHOLDS[-1])
    interval = None if span is None else task.span
    every = _printed_step(step, interval)
    atols = _for_state(task.atol, kernel)
    return ExportTask(kernel, values, state, interval, every, task.rtol, atols, threshold)


def _check_contacts(equations: Equations) -> None:
    if equations.system.unilateral:
        raise ModelError(
            "One-sided constraints and friction limits cannot be exported: what follows an impact"
            " or the end of a slip is decided between the steps",
            f"`{equations.system.unilateral[0].name}`",
            "export the system without it, or with it held: system.touching([...])",
        )


def _run_task(
    equations: Equations, parameters: Parameters | None, start: Start | None, span: Span | None,
    rtol: float, atol: ArrayLike | None,
) -> Task:  # fmt: skip
    """The call of `simulate` that the exported run repeats; free inputs are zero at its start."""
    symbols = equations.system.parameters
    values = dict.fromkeys(symbols, 1.0) if parameters is None else parameters
    inputs = {symbol: _zero for symbol, value in equations.system.inputs.items() if value is None}
    given = by_name(start, "start")
    interval = (0.0, 1.0) if span is None else span
    options = RunOptions(values, method="dop853", rtol=rtol, atol=atol, inputs=inputs)
    return read_task(equations, given, interval, options)


def _zero(t: float, state: Array) -> float:
    return 0.0


def _for_state(atol: ArrayLike, kernel: Kernel) -> Array:
    """Tolerances for the state of the chosen kernel."""
    values = np.asarray(atol, dtype=float)
    return values if len(values) == kernel.n_state else np.full(kernel.n_state, values.min())


def _printed_step(step: float | None, span: tuple[float, float] | None) -> float | None:
    if span is None:
        if step is not None:
            what = "A step between printed rows needs a span"
            raise ModelError(what, f"step={step}", "pass span=(t0, t1)")
        return None
    length = abs(span[1] - span[0])
    value = length / ROWS if step is None else float(step)
    if length and (not value > 0 or not np.isfinite(value) or length / value > 1e7):
        what = "The step between printed rows must be positive, and not too small"
        raise ModelError(what, step, "pass step=0.01")
    return value
