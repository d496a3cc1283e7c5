"""Numbers that a user gives by the name or the symbol of a symbol."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..errors import ModelError, UnusedParameterWarning, nearest, warn
from .names import shortened

if TYPE_CHECKING:
    import sympy

    from ..typing import Numbers

__all__ = ["check_sign", "numbers_by_name", "real_array", "real_number", "used_parameters"]

Value = TypeVar("Value")


def numbers_by_name(*tables: Any) -> dict[str, float]:
    """Finite numbers by name, from mappings or labelled values; later ones win.

    Raises
    ------
    ModelError
        Where a mapping gives a name twice, or a value that is no finite number.

    Examples
    --------
    >>> numbers_by_name({"m": 1, "g": 9.81}, None, {"m": 2})
    {'m': 2.0, 'g': 9.81}
    """
    from .symbols import by_name

    found: dict[str, float] = {}
    for table in tables:
        for name, value in by_name(table, "mapping").items():
            found[name] = _finite(name, value)
    return found


def _finite(name: str, value: Any) -> float:
    number = real_number(value)
    if not np.isfinite(number):
        raise ModelError(
            f"The value of `{name}` must be a finite number",
            seen=shortened(value),
            remedy="give it a number",
        )
    return number


def real_number(value: Any) -> float:
    """A real number as a float; NaN for text, a complex number or an array of several.

    >>> import sympy
    >>> real_number(sympy.Rational(1, 4)), real_number("0.25"), real_number(np.complex128(1 + 2j))
    (0.25, nan, nan)
    """
    if type(value) is float:
        return value
    if isinstance(value, (str, bytes, bytearray)) or getattr(value, "ndim", 0) > 0:
        return float("nan")
    kind = getattr(getattr(value, "dtype", None), "kind", "f")
    if kind == "O":  # a number in an array
        return real_number(value.item())
    if kind not in "fiub":
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def real_array(values: Any) -> Any:
    """Real numbers as an array of floats; what is masked is NaN, and None too.

    Raises
    ------
    TypeError, ValueError
        Where something is no real number.

    Examples
    --------
    >>> real_array(np.ma.masked_array([1, 2], mask=[False, True]))
    array([ 1., nan])
    """
    # Only what derives from an array may be masked: to ask about others would load `numpy.ma`.
    derives = isinstance(values, np.ndarray) and type(values) is not np.ndarray
    if derives and isinstance(values, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    array = np.asarray(values)
    if array.dtype.kind == "O":
        for value in array.flat:
            if isinstance(value, (str, bytes, complex)):
                raise TypeError(f"no real number: {value!r}")
    elif array.dtype.kind not in "fiub":
        raise TypeError(f"no real numbers: {array.dtype}")
    return np.array(array, dtype=float)


def check_sign(symbol: sympy.Symbol, values: Numbers) -> None:
    """Raise if a parameter declared positive or negative has a value of the other sign."""
    if symbol.is_nonnegative:
        declared = "positive" if symbol.is_positive else "nonnegative"
        wrong = np.ravel(values)[np.ravel(values) < 0]
    elif symbol.is_nonpositive:
        declared = "negative" if symbol.is_negative else "nonpositive"
        wrong = np.ravel(values)[np.ravel(values) > 0]
    else:
        return
    if wrong.size:
        raise ModelError(
            f"The parameter {symbol.name} is declared {declared}, and formulas were simplified by"
            " that",
            seen=f"{wrong[0]:g}",
            remedy="give it this sign, or declare it without one",
        )


def used_parameters(given: Mapping[str, Value], known: Iterable[str]) -> dict[str, Value]:
    """The values of parameters that a system has.

    A set with a value for each of them may have more, as published sets do: that is a warning.

    Raises
    ------
    ModelError
        Where a name is no parameter of the system, and one of its own is not given: it may be a
        misspelling.

    Examples
    --------
    >>> used_parameters({"lenght": 1.0, "m": 2.0}, ["m", "length"])
    Traceback (most recent call last):
    ...
    dalembert.errors.ModelError: The system has no parameter `lenght` (seen: m, length): did you
    mean length?
    """
    names = list(known)
    unused = [name for name in given if name not in names]
    if not unused:
        return dict(given)
    seen = ", ".join(names) or "no parameters"
    if any(name not in given for name in names):
        near = nearest(unused[0], names)
        remedy = f"did you mean {near}" if near else "remove it"
        raise ModelError(f"The system has no parameter `{unused[0]}`", seen=seen, remedy=remedy)
    listed = f"parameter `{unused[0]}`" if len(unused) == 1 else f"parameters {', '.join(unused)}"
    warn(
        UnusedParameterWarning(
            f"The system does not use the {listed}",
            seen=seen,
            remedy="check the name, or leave it out",
        )
    )
    return {name: value for name, value in given.items() if name in names}
