"""Values with names: a Series or DataFrame, an array of xarray, a record of NumPy, a named tuple.

They are recognised by their attributes, so that none of these packages has to be imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ModelError

__all__ = ["aligned", "labelled"]


def labelled(given: Any) -> Any:
    """A mapping from names to values where `given` has names, else `given` as it is.

    A Series whose index only counts (0, 1, 2, ...) has no names. A DataFrame gives its columns.

    Raises
    ------
    ModelError
        Where a name comes twice.

    Examples
    --------
    >>> from collections import namedtuple
    >>> labelled(namedtuple("Values", "m g")(2.0, 9.81))
    {'m': 2.0, 'g': 9.81}
    >>> labelled([2.0, 9.81])
    [2.0, 9.81]
    """
    if given is None or isinstance(given, (Mapping, list)):
        return given
    if isinstance(given, tuple):
        return dict(given._asdict()) if hasattr(given, "_asdict") else given
    fields = getattr(getattr(given, "dtype", None), "names", None)
    if fields:
        return {name: given[name] for name in fields}
    if hasattr(given, "columns") and hasattr(given, "items"):
        return _unique(list(given.columns), [column for _, column in given.items()])
    index = getattr(given, "index", None)
    if index is not None and not callable(index) and hasattr(given, "items"):
        labels = list(index)
        return (
            given.to_numpy() if labels == list(range(len(labels))) else _unique(labels, list(given))
        )
    dims: tuple[Any, ...] = getattr(given, "dims", ())
    coordinates = getattr(given, "coords", {})
    if len(dims) == 1 and dims[0] in coordinates:
        return _unique(coordinates[dims[0]].values.tolist(), list(given.values))
    return given


def _unique(labels: list[Any], values: list[Any]) -> dict[Any, Any]:
    twice = [label for label in labels if labels.count(label) > 1]
    if twice:
        raise ModelError(
            f"The labels give `{twice[0]}` twice", seen=str(labels)[:80], remedy="give it once"
        )
    return dict(zip(labels, values, strict=True))


def aligned(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays of many runs, aligned by their labels; those without labels unchanged.

    Series must have one index in one order. Arrays of xarray are broadcast by the names of their
    dimensions, whose coordinates must be equal.

    Raises
    ------
    ModelError
        Where the labels of two arrays differ.
    """
    found = dict(arrays)
    series = {name: a for name, a in found.items() if hasattr(a, "index") and not callable(a.index)}
    for name, other in list(series.items())[1:]:
        first = next(iter(series))
        if not series[first].index.equals(other.index):
            raise _apart(first, name)
    dimensioned = {
        name: a for name, a in found.items() if hasattr(a, "dims") and hasattr(a, "coords")
    }
    if dimensioned:
        import xarray

        try:
            parts = xarray.broadcast(*xarray.align(*dimensioned.values(), join="exact"))
        except ValueError:
            raise _apart(*(*dimensioned, "another")[:2]) from None
        found |= {name: part.values for name, part in zip(dimensioned, parts, strict=True)}
    return found


def _apart(first: str, second: str) -> ModelError:
    return ModelError(
        f"The values of `{first}` and `{second}` have different labels",
        seen="two indexes",
        remedy="give columns of one table, or arrays without labels, which are paired by position",
    )
