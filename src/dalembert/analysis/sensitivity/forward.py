r"""Forward sensitivities: how a whole motion changes with parameters and with its start.

    S_dot = f_y S + f_p,        S(t0) = the derivative of the consistent start

is carried along the steps that the motion took, by the same method
(`integrate.sensitive.tangent_steps`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

import numpy as np

from ...errors import ModelError
from ...formulations.equations import Equations
from ...integrate.motion import Motion
from ...integrate.options import ModelOptions
from ...model.flow_system import Flow
from ...model.read_only import ReadOnlyArrays
from ...model.scenario import Scenario
from ...model.system import System
from ...typing import Array, ArrayLike, IntArray, Span, Start, Symbol, Symbols
from .observed import ObservedDerivatives
from .question import Question, ask, name_of

__all__ = ["Sensitivities", "carry", "sensitivities"]


@dataclass(frozen=True, repr=False)
class Sensitivities(ReadOnlyArrays):
    """The derivatives of a motion by k quantities, at its times.

    Attributes
    ----------
    motion : Motion
    wrt : tuple of str (k,)
        Parameters, and symbols of the start.
    t : array (nt,)
    start : array (n, k)
        The derivative of the consistent start, in the symbols of ``motion.state``.
    """

    motion: Motion
    wrt: tuple[str, ...]
    t: Array
    _question: Question = field(repr=False)
    _states: list[Array] = field(repr=False)
    _derivatives: list[Array] = field(repr=False)
    _places: list[IntArray] = field(repr=False)

    def __repr__(self) -> str:
        by = ", ".join(self.wrt)
        return f"<Sensitivities of {self.motion.system.name} by {by}, {len(self.t)} times>"

    @property
    def start(self) -> Any:
        names, question = [symbol.name for symbol in self.motion.state], self._question
        run = question.runs[0]
        seen = question.observe(run, names, run.times[:1], run.states[:1])
        return _chained(seen, question.start_derivatives[None], question.directions)[0]

    def of(self, quantity: Symbol) -> Array:
        """The derivative (k, nt) of a quantity: a name of the motion, or an expression."""
        return self.table([quantity])[:, 0].T

    def __getitem__(self, key: Symbol | tuple[Symbol, Symbol]) -> Any:
        """``s["x"]`` (k, nt), or ``s["x", "m"]`` (nt,)."""
        if not isinstance(key, tuple):
            return self.of(key)
        quantity, by = key
        name = name_of(by)
        if name not in self.wrt:
            remedy = "add it to wrt"
            raise ModelError(f"Nothing was differentiated by `{name}`", ", ".join(self.wrt), remedy)
        return self.of(quantity)[self.wrt.index(name)]

    def table(self, quantities: Sequence[Symbol]) -> Array:
        """The derivatives of several quantities, (nt, q, k)."""
        found = np.zeros((len(self.t), len(quantities), len(self.wrt)))
        seen = self._observed(quantities)
        for (places, observed), derivatives in zip(seen, self._derivatives, strict=True):
            found[places] = _chained(observed, derivatives, self._question.directions)
        return found

    def values(self, quantities: Sequence[Symbol]) -> Array:
        """The quantities themselves, (nt, q), at the states that the derivatives belong to."""
        found = np.zeros((len(self.t), len(quantities)))
        for places, observed in self._observed(quantities):
            found[places] = observed.values
        return found

    def _observed(
        self, quantities: Sequence[Symbol]
    ) -> Iterator[tuple[IntArray, ObservedDerivatives]]:
        """The places of each segment, and the quantities there."""
        question = self._question
        for run, states, places in zip(question.runs, self._states, self._places, strict=True):
            yield places, question.observe(run, quantities, self.t[places], states)

    def to_dict(self) -> Mapping[str, Array]:
        """Every state symbol with its derivatives, (k, nt) by name."""
        names = [symbol.name for symbol in self.motion.state]
        table = self.table(names)
        return {name: table[:, k].T for k, name in enumerate(names)}


def _chained(seen: ObservedDerivatives, derivatives: Array, directions: Array) -> Any:
    """h_y S + h_x dx for derivatives (nt, k, n_state) and directions (k, nx), as (nt, q, k)."""
    by_state = np.einsum("tqi,tki->tqk", seen.by_state, derivatives)
    return by_state + np.einsum("tqx,kx->tqk", seen.by_parameters, directions)


def sensitivities(
    model: System | Flow | Equations | Scenario | Motion,
    wrt: Symbols,
    start: Start | None = None,
    span: Span | None = None,
    *,
    given: Symbols | None = None,
    at: ArrayLike | None = None,
    **options: Unpack[ModelOptions],
) -> Sensitivities:
    """The exact derivatives of a motion by parameters and start values.

    Parameters
    ----------
    model : System, Flow, Equations, Scenario or Motion
    wrt : sequence of symbols or names
        Parameters, or coordinates, velocities and momenta at the start.
    start, span, options
        As `simulate` takes them, where `model` is not a motion yet.
    given : sequence of names
        For a motion with constraints: the values of its start that were given. The others are
        completed from the constraints, and change with these.
    at : sequence of times
        Where derivatives are kept; those of the motion by default.

    Returns
    -------
    Sensitivities
        Of the numbers that the motion's own steps give, with their sizes held; steps that are too
        long for a derivative are cut first. Their errors are of the order of the motion's
        tolerance.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k", positive=True)
    >>> model = da.System([x], kinetic=x.dot**2/2, potential=k/2*x**2)
    >>> run = {"start": {x: 1.0}, "span": (0, 1), "parameters": {k: 4.0}}
    >>> found = da.analysis.sensitivities(model, [k, x], **run, at=[0, 1])
    >>> import numpy as np
    >>> bool(np.allclose(found["x", k][-1], -np.sin(2)/4, atol=1e-10))      # x = cos(sqrt(k) t)
    True
    >>> bool(np.allclose(found["x", x][-1], np.cos(2), atol=1e-10))
    True
    """
    stored = {} if isinstance(model, Motion) or at is None else {"at": at}
    question = ask(model, wrt, start, span, given, {**options, **stored})
    times = question.motion.t if at is None else np.atleast_1d(np.asarray(at, dtype=float))
    return carry(question, times)


def carry(question: Question, times: Array) -> Sensitivities:
    """The sensitivities at some times."""
    places = question.split(times)
    derivatives, states, found = question.start_derivatives, [], []
    for number, (run, here) in enumerate(zip(question.runs, places, strict=True)):
        columns = np.hstack([derivatives, question.directions])
        at_states, at_derivatives, derivatives = run.tangents(columns, times[here])
        states.append(at_states)
        found.append(at_derivatives)
        if number + 1 < len(question.runs):
            derivatives = question.across(number, derivatives, question.directions)
    return Sensitivities(question.motion, question.names, times, question, states, found, places)
