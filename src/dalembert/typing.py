"""The types that public signatures are written in.

They are for annotations and for checkers; nothing is tested against them at run time. SymPy's
classes are those of the installed SymPy. Its package carries no marker for type checkers: pyright
reads its source, mypy takes its classes for `Any`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing
    import sympy
    from numpy.typing import NDArray

__all__ = [
    "Array",
    "ArrayLike",
    "BoolArray",
    "BySymbol",
    "ComplexArray",
    "Condition",
    "DataFrame",
    "Expression",
    "Fields",
    "IntArray",
    "Labelled",
    "Matrix",
    "Numbers",
    "Parameters",
    "Path",
    "Progress",
    "Ranges",
    "Samples",
    "Span",
    "Start",
    "Symbol",
    "Symbols",
    "Values",
    "Vector",
]

Value = TypeVar("Value", covariant=True)

#: An expression of SymPy, or a number.
Expression: TypeAlias = "sympy.Expr | float | np.floating[Any] | np.integer[Any]"
#: What a constraint is stated by: an expression that vanishes, or a relation.
Condition: TypeAlias = "sympy.Basic"
#: A symbol, SymPy's ``q(t)``, or a name.
Symbol: TypeAlias = "sympy.Expr | str"
Symbols: TypeAlias = "Sequence[Symbol]"
ArrayLike: TypeAlias = "numpy.typing.ArrayLike"
#: An array of floats; docstrings give its shape.
Array: TypeAlias = "NDArray[np.float64]"
#: A float, or an array of floats of any shape.
Numbers: TypeAlias = "float | NDArray[np.float64]"
ComplexArray: TypeAlias = "NDArray[np.complex128]"
IntArray: TypeAlias = "NDArray[np.intp]"
BoolArray: TypeAlias = "NDArray[np.bool_]"
#: Components (n,), and a matrix (n, m), of expressions or numbers.
Vector: TypeAlias = "Sequence[Expression] | sympy.MatrixBase | NDArray[np.generic]"
Matrix: TypeAlias = "Sequence[Sequence[Expression]] | sympy.MatrixBase | NDArray[np.generic]"
Path: TypeAlias = "str | os.PathLike[str]"
#: (t0, t1)
Span: TypeAlias = "Sequence[float]"
#: Called with the fraction done, and the time reached or the number of runs.
Progress: TypeAlias = "Callable[[float, float], None]"


class BySymbol(Protocol[Value]):
    """A mapping whose keys are symbols or names.

    `Mapping` is invariant in its keys and would refuse a ``dict[Velocity, float]``; this is not.
    """

    def __getitem__(self, key: Any, /) -> Value: ...
    def __iter__(self) -> Iterator[Symbol]: ...
    def __len__(self) -> int: ...
    def __contains__(self, key: object, /) -> bool: ...
    def get(self, key: Any, /) -> Value | None: ...
    def keys(self) -> AbstractSet[Symbol]: ...
    def items(self) -> AbstractSet[tuple[Symbol, Value]]: ...
    def values(self) -> Collection[Value]: ...


class Labelled(Protocol):
    """One value for each name: a Series of pandas, an array of xarray with one dimension."""

    @property
    def name(self) -> object: ...
    def to_numpy(self) -> object: ...


class DataFrame(Protocol):
    """Columns of values with names: a DataFrame."""

    @property
    def columns(self) -> object: ...
    def to_numpy(self) -> object: ...


#: Numbers or expressions by symbol or name.
Values: TypeAlias = BySymbol["Expression"]
#: (low, high) by symbol or name.
Ranges: TypeAlias = BySymbol["tuple[float, float]"]
#: Vector fields by name: components by coordinate, or in the order of the coordinates.
Fields: TypeAlias = BySymbol["Values | Vector"]
#: Parameters of one run: by name, or in the order of the system's own.
Parameters: TypeAlias = "Values | Labelled | Sequence[Expression] | NDArray[np.generic]"
#: A start of one run.
Start: TypeAlias = "Values | Labelled"
#: Numbers, or arrays of them for many runs, by symbol or name.
Samples: TypeAlias = "BySymbol[Expression | ArrayLike] | DataFrame"
