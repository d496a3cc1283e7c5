r"""Inputs as piecewise polynomials of time, which native code reads without being built anew.

On the interval from t_k to t_k+1, with tau from 0 to 1,

    u(t) = sum_j B_j(tau) c_kj,     B_j(tau) = (d over j) tau^j (1 - tau)^(d - j),

so that the least and the greatest coefficient of a piece bound the input on it.
"""

from __future__ import annotations

import bisect
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError
from ..model.read_only import read_only
from ..model.scenario import Scenario
from ..model.symbols import name_of
from ..model.values import real_number
from .events.stop_times import SPACINGS, Stop, merged, stop_times

if TYPE_CHECKING:
    from ..runtime.kernel import Kernel
    from ..typing import Array, ArrayLike, IntArray
    from .options import Inputs, Model
    from .task import Task

__all__ = ["InputTable", "all_stops", "constant", "input_table", "packed", "with_constants"]


class InputTable:
    """An input given by a table; it stands where a function ``f(t, state)`` stands.

    Attributes
    ----------
    times : array (K + 1,)
        Ascending. Before the first and after the last the input stays what it is there.
    coefficients : array (K, d + 1)
        Bernstein's coefficients of each piece.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> mass = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    >>> push = InputTable([0.0, 1.0, 2.0], [[1.0], [-1.0]])
    >>> round(float(da.simulate(mass, {}, (0, 2), inputs={u: push})["x"][-1]), 9)
    1.0
    """

    def __init__(self, times: ArrayLike, coefficients: ArrayLike) -> None:
        table, pieces = np.array(times, dtype=float), np.array(coefficients, dtype=float)
        if table.ndim != 1 or pieces.ndim != 2 or len(table) != len(pieces) + 1 or not pieces.size:
            raise ModelError(
                "A table of an input needs one more time than it has pieces",
                f"times {table.shape}, coefficients {pieces.shape}",
                "give times (K + 1,) and coefficients (K, d + 1)",
            )
        if not (np.all(np.isfinite(table)) and np.all(np.diff(table) > 0)):
            raise ModelError(
                "The times of a table must be finite and ascend", str(table[:5]), "sort them"
            )
        if not np.all(np.isfinite(pieces)):
            raise ModelError(
                "The values of a table must be finite", str(pieces[:2])[:60], "replace NaN"
            )
        self.times, self.coefficients = read_only(table), read_only(pieces)
        self._times: list[float] = table.tolist()
        self._pieces: list[list[float]] = pieces.tolist()

    def __repr__(self) -> str:
        kind = f"{len(self._pieces)} pieces of degree {self.coefficients.shape[1] - 1}"
        return f"<InputTable of {kind}, t = {self._times[0]:g} to {self._times[-1]:g}>"

    def __call__(self, time: float, state: object = None) -> float:
        """The input at a time, by de Casteljau's rule."""
        times = self._times
        k = min(max(bisect.bisect_right(times, time) - 1, 0), len(self._pieces) - 1)
        tau = min(max((time - times[k]) / (times[k + 1] - times[k]), 0.0), 1.0)
        row = self._pieces[k]
        while len(row) > 1:
            row = [a + tau * (b - a) for a, b in pairwise(row)]
        return row[0]

    def at(self, times: ArrayLike) -> Array:
        """The input at many times."""
        moments = np.asarray(times, dtype=float)
        return np.array([self(float(time)) for time in moments.ravel()]).reshape(moments.shape)

    @property
    def breaks(self) -> Array:
        """The times within the table at which the input or a derivative of it jumps."""
        found = self.times[1:-1]
        if not len(found):
            return found
        rows, widths = self.coefficients, np.diff(self.times)
        size = float(np.max(np.abs(rows)))
        jumps = np.abs(rows[1:, 0] - rows[:-1, -1]) > 1e-15 * size
        left, right = rows[:-1], rows[1:]
        for order in range(1, rows.shape[1]):
            left, right = np.diff(left, axis=1), np.diff(right, axis=1)
            before = left[:, -1] / widths[:-1] ** order
            after = right[:, 0] / widths[1:] ** order
            scale = np.maximum(np.abs(before), np.abs(after))
            jumps |= np.abs(after - before) > 1e-12 * scale
        kinks: Array = found[jumps]
        return kinks


def input_table(times: ArrayLike, values: ArrayLike, between: str = "linear") -> InputTable:
    """An input from samples: linear between them, or held until the next ("hold").

    Parameters
    ----------
    times : sequence (K + 1,)
        Ascending.
    values : sequence (K + 1,)
    between : "linear" or "hold"

    Examples
    --------
    >>> input_table([0, 1, 2], [0, 4, 4])(0.25), input_table([0, 1, 2], [0, 4, 4], "hold")(1.5)
    (1.0, 4.0)
    """
    table = np.asarray(values, dtype=float).ravel()
    if between == "linear":
        return InputTable(times, np.stack([table[:-1], table[1:]], axis=1))
    if between != "hold":
        raise ModelError(
            "Between the samples of an input there is a rule", repr(between)[:40],
            'pass between="linear" or "hold"',
        )  # fmt: skip
    return InputTable(times, table[:-1, None])


def with_constants(inputs: Inputs | None, model: Model, method: str | None) -> Inputs | None:
    """Inputs whose numbers are tables, so that no equations are built for another number.

    That is so for free inputs of a model that is run by "dop853", also where "auto" takes it.
    """
    if not isinstance(inputs, Mapping) or method not in (None, "auto", "dop853"):
        return inputs
    if isinstance(model, Scenario) and "method" in model.simulate:
        return inputs
    system = getattr(model, "system", model)
    free = {s.name for s, law in getattr(system, "inputs", {}).items() if law is None}
    return {
        key: constant(real_number(value))
        if name_of(key) in free and not callable(value) and np.isfinite(real_number(value))
        else value
        for key, value in inputs.items()
    }


def constant(value: float) -> InputTable:
    """An input that does not change."""
    return InputTable([0.0, 1.0], [[value]])


def packed(tables: list[InputTable]) -> tuple[IntArray, Array]:
    """Tables as native code reads them: sizes (4 for each) and data; see `KernelFields`."""
    sizes, data, place = [], [], 0
    for table in tables:
        pieces, width = table.coefficients.shape
        sizes += [pieces, width, place, place + pieces + 1]
        data += [table.times, table.coefficients.ravel()]
        place += pieces + 1 + pieces * width
    return np.array(sizes, dtype=np.int64), np.concatenate(data)


def all_stops(kernel: Kernel, task: Task) -> list[Stop]:
    """Where a run stops on its way, in its direction: switches of the model, breaks of tables."""
    found = stop_times(kernel, task.parameters, task.span)
    breaks = [table.breaks for table in task.inputs.values() if isinstance(table, InputTable)]
    low, high = min(task.span), max(task.span)
    width = SPACINGS * float(np.spacing(max(abs(low), abs(high))))
    times = np.unique(np.concatenate(breaks)) if breaks else np.zeros(0)
    inside = times[(times > low + 2 * width) & (times < high - 2 * width)]
    if not len(inside):
        return found
    ahead = task.span[0] <= task.span[1]
    forward = found if ahead else [Stop(stop.after, stop.before) for stop in found]
    forward = forward + [Stop(float(time) - width, float(time) + width) for time in inside]
    together = merged(sorted(forward))
    return together if ahead else [Stop(s.after, s.before) for s in reversed(together)]
