"""Measured data as times, quantities and weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...errors import ModelError
from ...integrate.motion import Motion
from ...model.symbols import by_name
from ...model.values import real_array
from ...typing import Array, ArrayLike, BoolArray, BySymbol, DataFrame, Symbol
from .question import name_of

__all__ = ["Data", "read_data"]

_TIME = ("t", "time")


class Dataset(Protocol):
    """A Dataset of xarray."""

    @property
    def data_vars(self) -> object: ...


#: Measured values by name, with their times under ``t``.
Measured: TypeAlias = "Motion | Dataset | DataFrame | BySymbol[ArrayLike]"
#: Standard deviations: of all values, or by the name of a column.
Sigma: TypeAlias = "ArrayLike | BySymbol[ArrayLike]"


@dataclass(frozen=True)
class Data:
    """Measured values at nt times.

    Attributes
    ----------
    t : array (nt,)
    names : tuple of str (q,)
        The columns of the data.
    quantities : tuple (q,)
        What each column measures: a name of the motion, or an expression.
    values : array (nt, q)
        NaN where nothing was measured.
    sigma : array (nt, q)
        The standard deviation of each value; 1 where none is given.
    has_sigma : bool
        Whether they were given.
    """

    t: Array
    names: tuple[str, ...]
    quantities: tuple[Symbol, ...]
    values: Array
    sigma: Array
    has_sigma: bool

    @property
    def measured(self) -> BoolArray:
        """Where there is a value, (nt, q)."""
        return ~np.isnan(self.values)

    @property
    def count(self) -> int:
        """The number of values."""
        return int(np.sum(self.measured))


def read_data(
    data: Measured, observe: BySymbol[Symbol] | None = None, sigma: Sigma | None = None
) -> Data:
    """Data from a Motion, Dataset, DataFrame, or a mapping of names to arrays (times under `t`).

    Parameters
    ----------
    observe : mapping of a name in the data to an expression or a name of the motion
        For columns with other names than the motion; of a motion or dataset only these are used.
    sigma : number, array (nt,) or mapping of names to these
        Standard deviations.
    """
    named = by_name(observe, "mapping of observations")
    times, columns = _columns(data, list(named))
    if not columns:
        raise ModelError("The data have no measured quantity", "times alone", "add arrays by name")
    try:
        t = np.atleast_1d(real_array(times))
    except (TypeError, ValueError):
        remedy = "give real numbers"
        raise ModelError("The times of the data must be numbers", str(times)[:60], remedy) from None
    if t.ndim != 1 or not np.all(np.isfinite(t)):
        what = "The times of the data must be finite numbers in one row"
        raise ModelError(what, seen=f"shape {t.shape}")
    measured = [_column(name, column, len(t), False) for name, column in columns.items()]
    values = np.column_stack(measured)
    if np.all(np.isnan(values)):
        raise ModelError("The data hold no value", seen="NaN throughout")
    table = sigma if isinstance(sigma, Mapping) else dict.fromkeys(columns, sigma)
    table = by_name(table, "mapping of sigma")
    unknown = [name for name in table if name not in columns]
    if unknown:
        what = f"sigma names `{unknown[0]}`, which is not in the data"
        raise ModelError(what, seen=", ".join(columns))
    told = [table.get(name) is not None for name in columns]
    if any(told) and not all(told):
        raise ModelError("sigma must be told for every column or for none", seen=", ".join(table))
    spreads: dict[str, Any] = {
        name: 1.0 if table.get(name) is None else table[name] for name in columns
    }
    spread = np.column_stack([_column(name, x, len(t), True) for name, x in spreads.items()])
    if not np.all(spread[~np.isnan(values)] > 0):
        raise ModelError("sigma must be positive", seen=f"{np.nanmin(spread):g}")
    quantities = tuple(named.get(name, name) for name in columns)
    return Data(t, tuple(columns), quantities, values, spread, all(told) and bool(told))


def _columns(data: Any, wanted: list[str]) -> tuple[ArrayLike, dict[str, ArrayLike]]:
    """The times, and the columns by name."""
    if isinstance(data, Motion):
        names = wanted or [symbol.name for symbol in data.state]
        return data.t, {name: data[name] for name in names}
    if hasattr(data, "data_vars"):
        return _variables(data, wanted)
    is_frame = hasattr(data, "columns") and hasattr(data, "index")
    if is_frame and not any(name in data.columns for name in _TIME):
        return np.asarray(data.index), {str(name): np.asarray(data[name]) for name in data.columns}
    keys = list(getattr(data, "columns", ())) or (list(data) if isinstance(data, Mapping) else [])
    table = {name_of(key): data[key] for key in keys}
    time_name = next((name for name in _TIME if name in table), None)
    if time_name is None:
        remedy = "pass a Motion, a Dataset, or a mapping with times under `t`"
        raise ModelError("Data need times", ", ".join(table) or type(data).__name__, remedy)
    return table.pop(time_name), table


def _variables(data: Any, wanted: list[str]) -> tuple[ArrayLike, dict[str, ArrayLike]]:
    """The times of a dataset, and its variables by name."""
    known = {*data.coords, *data.dims, *data.data_vars}
    time = next((data[name] for name in _TIME if name in known), None)
    if time is None:
        remedy = "name its dimension t"
        raise ModelError("The dataset has no time", ", ".join(map(str, data.dims)), remedy)
    along = (str(name) for name in data.data_vars if data[name].dims == time.dims)
    names = wanted or [name for name in along if name not in _TIME]
    missing = [name for name in names if name not in data.data_vars]
    if missing:
        what = f"The dataset has no variable `{missing[0]}`"
        raise ModelError(what, seen=", ".join(map(str, data.data_vars)))
    return time.values, {name: data[name].values for name in names}


def _column(name: str, column: ArrayLike, count: int, spread: bool) -> Any:
    try:
        values = real_array(column)
    except (TypeError, ValueError):
        what = f"The column `{name}` of the data must hold numbers"
        raise ModelError(what, seen=str(column)[:60]) from None
    if spread and values.ndim == 0:
        return np.full(count, float(values))
    if values.shape != (count,):
        what = f"The column `{name}` must have one value for each of {count} times"
        raise ModelError(what, seen=f"shape {values.shape}")
    if np.any(np.isinf(values)):
        remedy = "write NaN where nothing was measured"
        raise ModelError(f"The column `{name}` of the data is not finite", remedy=remedy)
    return values
