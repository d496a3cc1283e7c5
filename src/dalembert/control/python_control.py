"""Models and controllers of the package `control` (python-control), which is an extra.

`to_control` makes an input/output system of equations, or a state space of a linearisation;
`from_control` makes a model of a continuous state space, and a sampled law of a discrete one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import sympy

from ..analysis.stability.linearisation import Linearisation
from ..errors import MissingExtraError, ModelError
from ..formulations.equations import Equations
from ..formulations.registry import derive
from ..integrate.sampling.loop import SampledLoop, sampled
from ..model.flow_system import Flow
from ..model.symbols import Coordinate, Input, as_expression, by_name, name_of
from ..model.system import System
from ..model.values import numbers_by_name
from ..runtime.kernel import kernel_of
from ..typing import Array, BySymbol, Expression, Symbols, Values

__all__ = ["from_control", "to_control"]


class ControlSystem(Protocol):
    """What systems of the package `control` have in common."""

    name: str
    dt: float | bool | None
    ninputs: int
    noutputs: int
    input_labels: list[str]
    output_labels: list[str]


def _package() -> Any:
    try:
        import control
    except ImportError:
        raise MissingExtraError("control", "control") from None
    return control


def to_control(
    model: System | Flow | Equations | Linearisation,
    parameters: Values | None = None,
    outputs: BySymbol[Expression] | Symbols | None = None,
    period: float | None = None,
) -> ControlSystem:
    """Make a system of the package `control` of a model or of its linearisation.

    Parameters
    ----------
    model : System, Flow, Equations or Linearisation
        A linearisation becomes a `control.StateSpace` of its independent variables; others become a
        `control.NonlinearIOSystem`, whose parameters can be changed there by name.
    parameters : mapping of parameter to value
        Of a model.
    outputs : sequence of symbols, or mapping of name to expression
        What the system puts out; its state by default. Of a linearisation: symbols of the state.
    period : float
        Of a discrete-time system, whose inputs are held, for a linearisation; continuous by
        default.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, potential=2*x**2, forces={x: u}, inputs=[u])
    >>> plant = to_control(da.analysis.linearise(mass), outputs=[x])  # doctest: +SKIP
    >>> import control  # doctest: +SKIP
    >>> control.ss2tf(plant).den_list[0][0].round(9).tolist()  # doctest: +SKIP
    [1.0, 0.0, 4.0]
    """
    package = _package()
    if isinstance(model, Linearisation):
        return _linear(package, model, outputs, period)
    if period is not None:
        raise ModelError(
            "A nonlinear system of the package control is continuous here", f"period {period:g}",
            "linearise it first, or sample it by da.control.sampled",
        )  # fmt: skip
    equations = model if isinstance(model, Equations) else derive(model)
    kernel = kernel_of(equations, equations.system.parameters)
    names = [symbol.name for symbol in kernel.parameters]
    given = numbers_by_name(parameters)
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        raise ModelError(
            "Every parameter needs a value, and only these",
            f"missing {missing}, unknown {unknown}"[:120], "pass parameters={m: 1.0, ...}",
        )  # fmt: skip
    table = _outputs(kernel, outputs)
    import casadi as ca

    observe = ca.Function(
        "outputs", kernel._inputs()[:4], [ca.densify(kernel.lower(list(table.values())))]
    )

    def numbers(params: Mapping[str, float]) -> list[float]:
        return [params.get(name, given[name]) for name in names]

    def update(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        return np.asarray(kernel.rates(float(t), x, numbers(params), np.atleast_1d(u)), dtype=float)

    def output(t: float, x: Array, u: Array, params: Mapping[str, float]) -> Array:
        found = observe(float(t), x, numbers(params), np.atleast_1d(u))
        return np.asarray(found, dtype=float).ravel()

    found: ControlSystem = package.nlsys(
        update, output, states=[s.name for s in equations.state],
        inputs=[s.name for s in kernel.free_inputs], outputs=list(table), params=dict(given),
        name=equations.system.name or "system",
    )  # fmt: skip
    return found


def _outputs(kernel: Any, given: BySymbol[Expression] | Symbols | None) -> dict[str, sympy.Expr]:
    system, equations = kernel.equations.system, kernel.equations
    known = {s.name: s for s in (*system.coordinates, *system.velocities, *equations.state)}
    known |= dict(system.outputs)
    if given is None:
        return {s.name: s for s in equations.state}
    if isinstance(given, Mapping):
        return {name: as_expression(value) for name, value in by_name(given, "outputs").items()}
    names = [name_of(key) for key in ([given] if isinstance(given, (str, sympy.Basic)) else given)]
    for name in names:
        if name not in known:
            raise ModelError(f"There is no output `{name}`", ", ".join(known)[:120], "use these")
    return {name: known[name] for name in names}


def _linear(package: Any, line: Linearisation, outputs: Any, period: float | None) -> ControlSystem:
    """A state space of the independent variables of a linearisation."""
    names = list(line.symbols)
    if isinstance(outputs, Mapping):
        raise ModelError(
            "Outputs of a linearisation are symbols of its state", str(list(outputs))[:60],
            "pass outputs=[x]",
        )  # fmt: skip
    if outputs is None:
        C, shown = np.eye(len(line.independent)), list(line.independent)
    else:
        shown = [name_of(key) for key in ([outputs] if isinstance(outputs, str) else outputs)]
        for name in shown:
            if name not in names:
                raise ModelError(f"There is no `{name}` here", ", ".join(names)[:120], "use these")
        C = line.basis[[names.index(name) for name in shown]]
    found = package.ss(
        line.matrix, line.input_matrix, C, np.zeros((len(C), len(line.inputs))),
        states=list(line.independent), inputs=list(line.inputs), outputs=shown,
    )  # fmt: skip
    if period is None:
        system: ControlSystem = found
        return system
    held = package.c2d(found, period, method="zoh")
    discrete: ControlSystem = package.ss(
        held, states=list(line.independent), inputs=list(line.inputs), outputs=shown
    )
    return discrete


def from_control(
    system: ControlSystem,
    commands: Sequence[Input] = (),
    measured: Sequence[Expression] = (),
    references: Values | None = None,
    *,
    delay: float = 0.0,
    bounds: BySymbol[Sequence[float | None]] | None = None,
    rate: BySymbol[float] | None = None,
    quantum: BySymbol[float] | None = None,
    noise: BySymbol[float] | None = None,
    seed: int = 0,
) -> Flow | SampledLoop:
    """Make a model of a continuous system of the package `control`, and a law of a discrete one.

    Parameters
    ----------
    system : control.StateSpace or TransferFunction
        A continuous one becomes a `Flow` with inputs and outputs of the same names. A discrete one,
        with its period, becomes a sampled law, compiled, whose memory is the state of the
        controller.
    commands : sequence of inputs
        That a law sets: the outputs of the controller, in order.
    measured : sequence of symbols
        That a law reads: the inputs of the controller, in order.
    references : mapping of measured symbol to number
        The controller reads the measured value minus this.
    delay, bounds, rate, quantum, noise, seed
        As in `sampled`.

    Examples
    --------
    >>> import dalembert as da
    >>> import control  # doctest: +SKIP
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> lead = control.tf([-30, 27], [1, -0.1], 0.05)  # doctest: +SKIP
    >>> loop = from_control(lead, [u], [x])  # doctest: +SKIP
    >>> loop.period  # doctest: +SKIP
    0.05
    """
    package = _package()
    space = package.ss(system)
    A, B, C, D = (np.asarray(block, dtype=float) for block in (space.A, space.B, space.C, space.D))
    if space.dt is None or space.dt is True:
        raise ModelError(
            "The time base of the system is not known", f"dt = {space.dt}",
            "give the period, as in control.tf(num, den, 0.01), or 0 for a continuous one",
        )  # fmt: skip
    if space.dt == 0:
        return _flow(space, A, B, C, D)
    commanded, read = list(commands), [as_expression(own) for own in measured]
    if len(commanded) != len(C) or len(read) != B.shape[1]:
        raise ModelError(
            "A law names as many inputs and measured quantities as the controller has",
            f"{len(commanded)} of {len(C)} commands, {len(read)} of {B.shape[1]} measured",
            "pass commands=[u], measured=[x]",
        )  # fmt: skip
    target = numbers_by_name(references)
    off = [own - target.get(getattr(own, "name", ""), 0.0) for own in read]
    memory = list(sympy.symbols([f"controller_{k}" for k in range(len(A))], real=True))

    def rows(by_memory: Array, by_read: Array) -> list[sympy.Expr]:
        return [
            sympy.Add(*(float(a) * z for a, z in zip(first, memory, strict=True) if a))
            + sympy.Add(*(float(b) * y for b, y in zip(second, off, strict=True) if b))
            for first, second in zip(by_memory, by_read, strict=True)
        ]

    law = dict(zip(commanded, rows(C, D), strict=True))
    remembered = {z: (0.0, e) for z, e in zip(memory, rows(A, B), strict=True)}
    return sampled(
        law,
        float(space.dt),
        memory=remembered,
        delay=delay,
        bounds=bounds,
        rate=rate,
        quantum=quantum,
        noise=noise,
        seed=seed,
    )


def _flow(space: Any, A: Array, B: Array, C: Array, D: Array) -> Flow:
    """A continuous state space as a flow."""
    states = [Coordinate(_name(label)) for label in space.state_labels]
    inputs = [Input(_name(label)) for label in space.input_labels]

    def rows(first: Array, second: Array) -> list[sympy.Expr]:
        return [
            sympy.Add(*(float(a) * x for a, x in zip(own, states, strict=True) if a))
            + sympy.Add(*(float(b) * u for b, u in zip(other, inputs, strict=True) if b))
            for own, other in zip(first, second, strict=True)
        ]

    names = [_name(label) for label in space.output_labels]
    taken = {s.name for s in (*states, *inputs)}
    outputs = {f"{n}_out" if n in taken else n: e for n, e in zip(names, rows(C, D), strict=True)}
    return Flow(
        dict(zip(states, rows(A, B), strict=True)), inputs=inputs, outputs=outputs,
        name=str(space.name),
    )  # fmt: skip


def _name(label: str) -> str:
    """A label as a name of a symbol: x[0] becomes x_0."""
    return label.replace("[", "_").replace("]", "")
