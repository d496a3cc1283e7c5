"""Measured data as times, quantities and weights, from what people have them in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from ...errors import ModelError
from ...integrate.motion import Motion
from ...model.symbols import by_name
from ...model.values import real_array
from ...typing import ArrayLike, BySymbol, Frame, Symbol
from .question import name_of

__all__ = ["Data", "read_data"]

_TIME = ("t", "time")


class Dataset(Protocol):
    """A Dataset of xarray."""

    @property
    def data_vars(self) -> object: ...


#: Measured values by name, with their times under ``t``.
Measured: TypeAlias = "Motion | Dataset | Frame | BySymbol[ArrayLike]"
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
        The standard deviation of each value; 1 where none is told.
    has_sigma : bool
        Whether they were told.
    """

    t: Any
    names: tuple[str, ...]
    quantities: tuple[Any, ...]
    values: Any
    sigma: Any
    has_sigma: bool

    @property
    def measured(self) -> Any:
        """Where there is a value, (nt, q)."""
        return ~np.isnan(self.values)

    @property
    def count(self) -> int:
        """The number of values."""
        return int(np.sum(self.measured))


def read_data(data: Any, observe: BySymbol[Symbol] | None = None, sigma: Any = None) -> Data:
    """Data from a Motion, an xarray Dataset, a pandas DataFrame, or a mapping of names to arrays with times under `t`.

    Parameters
    ----------
    observe : mapping of a name in the data to an expression or a name of the motion
        What columns measure whose names are not those of the motion. With a motion or a dataset as data, only these are used.
    sigma : number, array (nt,) or mapping of names to these
        Standard deviations.
    """
    named = by_name(observe, "mapping of observations")
    times, columns = _columns(data, list(named))
    if not columns:
        raise ModelError("The data have no measured quantity", seen="times alone", remedy="add arrays by name")
    try:
        t = np.atleast_1d(real_array(times))
    except (TypeError, ValueError):
        raise ModelError("The times of the data must be numbers", seen=str(times)[:60], remedy="give real numbers") from None
    if t.ndim != 1 or not np.all(np.isfinite(t)):
        raise ModelError("The times of the data must be finite numbers in one row", seen=f"shape {t.shape}")
    values = np.column_stack([_column(name, column, len(t), False) for name, column in columns.items()])
    if np.all(np.isnan(values)):
        raise ModelError("The data hold no value", seen="NaN throughout")
    table = sigma if isinstance(sigma, Mapping) else dict.fromkeys(columns, sigma)
    table = by_name(table, "mapping of sigma")
    unknown = [name for name in table if name not in columns]
    if unknown:
        raise ModelError(f"sigma names `{unknown[0]}`, which is not in the data", seen=", ".join(columns))
    told = [table.get(name) is not None for name in columns]
    if any(told) and not all(told):
        raise ModelError("sigma must be told for every column or for none", seen=", ".join(table))
    spread = np.column_stack([_column(name, 1.0 if table.get(name) is None else table[name], len(t), True) for name in columns])
    if not np.all(spread[~np.isnan(values)] > 0):
        raise ModelError("sigma must be positive", seen=f"{np.nanmin(spread):g}")
    quantities = tuple(named.get(name, name) for name in columns)
    return Data(t, tuple(columns), quantities, values, spread, all(told) and bool(told))


def _columns(data: Any, wanted: list[str]) -> tuple[Any, dict[str, Any]]:
    """The times, and the columns by name."""
    if isinstance(data, Motion):
        names = wanted or [symbol.name for symbol in data.state]
        return data.t, {name: data[name] for name in names}
    if hasattr(data, "data_vars"):
        time = next((data[name] for name in _TIME if name in data.coords or name in data.dims or name in data.data_vars), None)
        if time is None:
            raise ModelError("The dataset has no time", seen=", ".join(map(str, data.dims)), remedy="name its dimension t")
        names = wanted or [str(name) for name in data.data_vars if data[name].dims == time.dims and str(name) not in _TIME]
        missing = [name for name in names if name not in data.data_vars]
        if missing:
            raise ModelError(f"The dataset has no variable `{missing[0]}`", seen=", ".join(map(str, data.data_vars)))
        return time.values, {name: data[name].values for name in names}
    if hasattr(data, "columns") and hasattr(data, "index") and not any(name in data.columns for name in _TIME):
        return np.asarray(data.index), {str(name): np.asarray(data[name]) for name in data.columns}
    keys = list(getattr(data, "columns", ())) or (list(data) if isinstance(data, Mapping) else [])
    table = {name_of(key): data[key] for key in keys}
    time_name = next((name for name in _TIME if name in table), None)
    if time_name is None:
        raise ModelError(
            "Data need times",
            seen=", ".join(table) or type(data).__name__,
            remedy="pass a Motion, a Dataset, or a mapping with times under `t`",
        )
    return table.pop(time_name), table


def _column(name: str, column: Any, count: int, spread: bool) -> Any:
    try:
        values = real_array(column)
    except (TypeError, ValueError):
        raise ModelError(f"The column `{name}` of the data must hold numbers", seen=str(column)[:60]) from None
    if spread and values.ndim == 0:
        return np.full(count, float(values))
    if values.shape != (count,):
        raise ModelError(f"The column `{name}` must have one value for each of {count} times", seen=f"shape {values.shape}")
    if np.any(np.isinf(values)):
        raise ModelError(f"The column `{name}` of the data is not finite", remedy="write NaN where nothing was measured")
    return values
