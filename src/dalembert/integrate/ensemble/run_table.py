"""The table of many runs: their axes and the variables over them, in memory and on disk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import ModelError
from ...model.read_only import ReadOnlyArrays, read_only
from ...typing import Array
from .chunks import NOT_RUN, OUTCOMES

if TYPE_CHECKING:
    from .chunks import Results

__all__ = ["MESSAGE", "MESSAGE_BEFORE", "SweepAxis", "Table", "Variable", "laid_out"]

#: What a message is, and what it was in stores that kept none of runs that finished.
MESSAGE = "how a run ended that did not finish, and diagnostics on one that did"
MESSAGE_BEFORE = "how a run ended that did not finish"
DIAGNOSTICS = "what limits the accuracy of a run"


class SweepAxis(NamedTuple):
    """Values that differ from run to run.

    Attributes
    ----------
    name : str
        A parameter, or a symbol whose start it is.
    is_start : bool
    values : array
        Broadcasts against those of the others to the shape of the runs.
    is_derived : bool
        Whether it follows from others, and gives no axis its name.
    """

    name: str
    is_start: bool
    values: Array
    is_derived: bool = False

    @property
    def label(self) -> str:
        """The name of the coordinate; the start of a state symbol has its own."""
        return f"{self.name}_start" if self.is_start else self.name


class Variable(NamedTuple):
    """A variable of the table: its axes, its number type, and the value of missing entries."""

    dims: tuple[str, ...]
    kind: Any
    empty: Any
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Table(ReadOnlyArrays):
    """The layout of an ensemble.

    Attributes
    ----------
    dims, shape : the axes of the runs
    coordinates : mapping of name to (dims, values)
    times : array (nt,)
    symbols : tuple of str
    attributes : mapping
        What was simulated and how.
    with_diagnostics : bool
        Whether diagnostics are a variable; stores of earlier versions have them in messages alone.
    outputs : tuple of str
        What is kept beside the states, at the same times.
    """

    dims: tuple[str, ...]
    shape: tuple[int, ...]
    coordinates: Mapping[str, tuple[tuple[str, ...], Any]]
    times: Array
    symbols: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    with_diagnostics: bool = True
    outputs: tuple[str, ...] = ()

    @cached_property
    def own_names(self) -> dict[str, str]:
        """Names of what is not a symbol of the model, lengthened where a symbol has the same."""
        taken = {*self.symbols, *self.outputs, *self.coordinates, *self.dims}
        found = {}
        for name in ("time", "outcome", "message", "diagnostics", "steps", "energy_drift"):
            chosen = name
            while chosen in taken:
                chosen += "_"
            found[name] = chosen
        return found

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """Every variable over the runs, in the order of writing: the outcome is the last."""
        own = self.own_names
        along = (*self.dims, own["time"])
        names = (*self.symbols, *self.outputs)
        table = {name: Variable(along, np.float64, np.nan, {}) for name in names}
        table[own["steps"]] = Variable(self.dims, np.int64, 0, {"long_name": "steps of the run"})
        drift = {"long_name": "largest distance of the energy from that of the start"}
        table[own["energy_drift"]] = Variable(self.dims, np.float64, np.nan, drift)
        table[own["message"]] = Variable(self.dims, str, "", {"long_name": MESSAGE})
        if self.with_diagnostics:
            table[own["diagnostics"]] = Variable(self.dims, str, "", {"long_name": DIAGNOSTICS})
        codes = [NOT_RUN, *range(len(OUTCOMES))]
        meanings = " ".join(name.replace(" ", "_") for name in ("not run", *OUTCOMES))
        outcome = {
            "long_name": "how the run ended",
            "flag_values": codes,
            "flag_meanings": meanings,
        }
        table[own["outcome"]] = Variable(self.dims, np.int8, NOT_RUN, outcome)
        return table

    def columns(self, results: Results, shape: tuple[int, ...]) -> dict[str, Any]:
        """The arrays of `chunks.Results` by variable name, for a block of runs of this shape."""
        own = self.own_names
        states = results.states.reshape(*shape, len(self.times), len(self.symbols))
        outputs = results.outputs.reshape(*shape, len(self.times), len(self.outputs))
        found: dict[str, Any] = {name: states[..., k] for k, name in enumerate(self.symbols)}
        found |= {name: outputs[..., k] for k, name in enumerate(self.outputs)}
        found[own["steps"]] = results.steps.reshape(shape)
        found[own["energy_drift"]] = results.drift.reshape(shape)
        found[own["message"]] = np.array(results.messages, dtype=object).reshape(shape)
        if self.with_diagnostics:
            told = np.array(results.diagnostics, dtype=object)
            found[own["diagnostics"]] = told.reshape(shape)
        found[own["outcome"]] = results.codes.reshape(shape)
        return {name: read_only(values) for name, values in found.items()}


def laid_out(
    axes: list[SweepAxis],
) -> tuple[tuple[int, ...], tuple[str, ...], dict[str, tuple[tuple[str, ...], Any]]]:
    """The shape of the runs, its axis names, and the coordinates with the axes they vary along.

    An axis along which one array varies, and no other one, has its name; others are called run, or
    run_0, run_1, ...
    """
    try:
        shape = np.broadcast_shapes(*(axis.values.shape for axis in axes))
    except ValueError:
        seen = ", ".join(f"{axis.name} {axis.values.shape}" for axis in axes)
        raise ModelError(
            "The arrays of parameters and starts do not fit together",
            seen=seen,
            remedy="give them one length, or shapes that broadcast such as (50, 1) and (20,)",
        ) from None
    if 0 in shape:
        raise ModelError(
            "There is no run to make", seen=f"shape {shape}", remedy="give at least one value"
        )
    along = {axis.label: _varying(axis.values, shape) for axis in axes}
    derived = {axis.label for axis in axes if axis.is_derived}
    dims: list[str] = []
    for k in range(len(shape)):
        alone = [label for label, places in along.items() if k in places and label not in derived]
        fits = len(alone) == 1 and along[alone[0]] == (k,)
        dims.append(alone[0] if fits else "run" if len(shape) == 1 else f"run_{k}")
    coordinates: dict[str, tuple[tuple[str, ...], Any]] = {}
    for axis in axes:
        places = along[axis.label]
        wide = np.broadcast_to(axis.values, shape)
        narrow = wide[tuple(slice(None) if k in places else 0 for k in range(len(shape)))]
        coordinates[axis.label] = tuple(dims[k] for k in places), np.array(narrow)
    return tuple(shape), tuple(dims), coordinates


def _varying(values: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The axes of the whole along which an array extends."""
    shift = len(shape) - values.ndim
    return tuple(
        k + shift for k in range(values.ndim) if values.shape[k] > 1 or shape[k + shift] == 1
    )
