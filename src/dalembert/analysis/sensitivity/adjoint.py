r"""Adjoint gradients of one number of a motion by all parameters and the start.

    J = F(y(t1), p) + int L(y, p, t) dt + 1/2 sum_ij ((h_j(y(t_i), p) - d_ij) / sigma_ij)^2

is differentiated backwards along the steps that the motion took
(`integrate.sensitive.adjoint_steps`), and at the start by the derivative of the consistent start.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

import numpy as np
import sympy

from ...errors import ModelError
from ...formulations.equations import Equations
from ...integrate.motion import Motion
from ...integrate.options import SimulateOptions
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Array, BySymbol, Expression, IntArray, Span, Start, Symbol, Symbols
from .data import Data, Measured, Sigma, read_data
from .question import Question, ask, name_of

if TYPE_CHECKING:
    from ...integrate.sensitivity.tangent_run import SensitiveRun

__all__ = ["Gradient", "gradient"]


@dataclass(frozen=True, repr=False)
class Gradient:
    """A number J that a motion gives, and its gradient.

    Attributes
    ----------
    value : float
        J.
    wrt : tuple of str (k,)
    values : array (k,)
        dJ by each of them.
    by_start : mapping of str to float
        dJ by each symbol that was integrated, at the start, without regard to constraints.
    motion : Motion
    parts : mapping of str to float
        What "final", "integral" and "data" contribute to J.
    """

    value: float
    wrt: tuple[str, ...]
    values: Array
    by_start: Mapping[str, float]
    motion: Motion = field(repr=False)
    parts: Mapping[str, float]

    def __getitem__(self, key: Symbol) -> float:
        name = name_of(key)
        if name not in self.wrt:
            remedy = "add it to wrt"
            raise ModelError(f"Nothing was differentiated by `{name}`", ", ".join(self.wrt), remedy)
        return float(self.values[self.wrt.index(name)])

    def __repr__(self) -> str:
        pairs = zip(self.wrt, self.values, strict=True)
        rows = ", ".join(f"{name}: {value:.6g}" for name, value in pairs)
        return f"<Gradient of {self.value:.9g} by {rows}>"


def gradient(
    model: System | Flow | Equations | Scenario | Motion,
    wrt: Symbols,
    start: Start | None = None,
    span: Span | None = None,
    *,
    final: Symbol | None = None,
    integral: Expression | None = None,
    data: Measured | None = None,
    observe: BySymbol[Symbol] | None = None,
    sigma: Sigma | None = None,
    given: Symbols | None = None,
    **options: Unpack[SimulateOptions],
) -> Gradient:
    """The gradient of a number that a motion gives, by the discrete adjoint of its steps.

    Parameters
    ----------
    model : System, Flow, Equations, Scenario or Motion
    wrt : sequence of symbols or names
        Parameters, or coordinates, velocities and momenta at the start.
    start, span, given, options
        As in `sensitivities`.
    final : expression or name
        F, at the end of the motion.
    integral : expression
        L; its integral is found to the order of the method on the steps of the motion.
    data, observe, sigma
        What was measured, as `fit` takes it: half the sum of squares.

    Returns
    -------
    Gradient
        Of the numbers that the motion's own steps give, with their sizes held; steps that are too
        long for a derivative are cut first. Its error is of the order of the motion's tolerance.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k", positive=True)
    >>> oscillator = da.System([x], kinetic=x.dot**2/2, potential=k/2*x**2)
    >>> run = {"start": {x: 1.0}, "span": (0, 1), "parameters": {k: 4.0}}
    >>> found = da.analysis.gradient(oscillator, [k, x], **run, final=x**2)
    >>> import numpy as np
    >>> bool(np.allclose(found.values, [-np.cos(2)*np.sin(2)/2, 2*np.cos(2)**2], atol=1e-10))
    True
    """
    if final is None and integral is None and data is None:
        remedy = "pass final=, integral= or data="
        raise ModelError("There is nothing to differentiate", remedy=remedy)
    measured = None if data is None else read_data(data, observe, sigma)
    integrand = None if integral is None else _integrand(integral)
    question = ask(model, wrt, start, span, given, options, integrand)
    return _pulled_back(question, final, measured)


def _integrand(integral: Expression) -> sympy.Expr:
    if isinstance(integral, (int, float)):
        return sympy.Float(integral)
    if isinstance(integral, sympy.Expr):
        return integral
    remedy = "write it in the system's symbols"
    raise ModelError("The integrand must be an expression", str(integral)[:60], remedy)


def _pulled_back(question: Question, final: Symbol | None, data: Data | None) -> Gradient:
    nx = len(question.parameters)
    parts: dict[str, float] = {}
    by_parameters, last = np.zeros(nx), question.runs[-1]
    pulled = np.zeros(last.ns)
    if final is not None:
        seen = question.observe(last, [final], last.times[-1:], last.states[-1:])
        parts["final"] = float(seen.values[0, 0])
        pulled += seen.by_state[0, 0]
        by_parameters += seen.by_parameters[0, 0]
    times = np.zeros(0) if data is None else data.t
    places, total, area = question.split(times), 0.0, 0.0
    for number in reversed(range(len(question.runs))):
        run, here = question.runs[number], places[number]
        at_gradients = np.zeros((len(here), run.ns))
        if data is not None and len(here):
            cost, at_gradients, more = _misfit(question, run, data, here)
            total += cost
            by_parameters += more
        weight = 0.0 if question.integrand is None else 1.0
        ends = np.concatenate([pulled, np.zeros(nx)])
        found, value = run.adjoint(ends, weight, times[here], at_gradients)
        pulled, by_parameters, area = found[: run.ns], by_parameters + found[run.ns :], area + value
        if number:
            pulled, by_parameters = _across(question, number - 1, pulled, by_parameters)
    if question.integrand is not None:
        parts["integral"] = area
    if data is not None:
        parts["data"] = total
    values = question.start_derivatives @ pulled + question.directions @ by_parameters
    symbols = [symbol.name for symbol in question.kernel.equations.state]
    by_start = dict(zip(symbols, pulled.tolist(), strict=True))
    return Gradient(sum(parts.values()), question.names, values, by_start, question.motion, parts)


def _misfit(
    question: Question, run: SensitiveRun, data: Data, here: IntArray
) -> tuple[float, Array, Array]:
    """Half the sum of squares at some times of data, its gradients by states and parameters."""
    t, measured, sigma = data.t[here], data.measured[here], data.sigma[here]
    seen = question.observe(run, data.quantities, t, run.states_at(t))
    residual = np.where(measured, (seen.values - data.values[here]) / sigma, 0.0)
    push = residual / np.where(measured, sigma, 1.0)
    by_state = np.einsum("tq,tqi->ti", push, seen.by_state)
    by_parameters = np.einsum("tq,tqx->x", push, seen.by_parameters)
    return float(np.sum(residual**2)) / 2, by_state, by_parameters


def _across(
    question: Question, number: int, pulled: Array, by_parameters: Array
) -> tuple[Array, Array]:
    """The gradient by the end of a segment, from that by the start of the next in other symbols."""
    before, nx = question.runs[number], len(question.parameters)
    unit = np.eye(before.ns + nx)
    table = question.across(number, unit[:, : before.ns], unit[:, before.ns :])
    back = table @ pulled
    return back[: before.ns], by_parameters + back[before.ns :]
