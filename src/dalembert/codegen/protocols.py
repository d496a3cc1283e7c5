"""What the passes and backends read of a kernel and its Gauss problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import casadi as ca
import sympy

if TYPE_CHECKING:
    from ..model.cache import Cache
    from .program import Program

__all__ = [
    "ConstraintProjection",
    "EquationsRecord",
    "GaussProblem",
    "HessianMatrix",
    "KernelPrograms",
]


class ConstraintProjection(Protocol):
    """The least step d in `metric` (n x n) with rows (k x n) @ d = -residual (k x 1)."""

    @property
    def residual(self) -> ca.SX: ...
    @property
    def rows(self) -> ca.SX: ...
    @property
    def lift(self) -> ca.SX: ...
    @property
    def metric(self) -> ca.SX | None: ...


class HessianMatrix(Protocol):
    """The second derivatives of a scalar, formed when `matrix` (n x n) is read."""

    scalar: ca.SX
    symbols: ca.SX

    @property
    def matrix(self) -> ca.SX: ...


class GaussProblem(Protocol):
    """The blocks G, f, A, b of G z = f + A^T mu, A z = b, and the rates that follow from z, mu."""

    metric: Any  # a descriptor: read as the matrix (n x n), also where it is given as a `Hessian`

    @property
    def force(self) -> ca.SX: ...
    @property
    def rows(self) -> ca.SX: ...
    @property
    def right(self) -> ca.SX: ...
    @property
    def free(self) -> ca.SX | None: ...
    @property
    def unknowns(self) -> ca.SX: ...
    @property
    def hessian(self) -> HessianMatrix | None: ...
    @property
    def rates(self) -> ca.SX: ...
    @property
    def reactions(self) -> Mapping[str, ca.SX]: ...
    @property
    def position(self) -> ConstraintProjection: ...
    @property
    def velocity(self) -> ConstraintProjection: ...


class EquationsRecord(Protocol):
    """A record of equations: what is compiled to a kernel."""

    @property
    def system(self) -> Any: ...
    @property
    def state(self) -> Sequence[sympy.Symbol]: ...
    @property
    def unknowns(self) -> Sequence[sympy.Symbol]: ...
    @property
    def row_names(self) -> Sequence[str]: ...
    @property
    def has_gauge(self) -> bool: ...
    @property
    def blocks(self) -> Any: ...
    @property
    def cache(self) -> Cache: ...


class KernelPrograms(Protocol):
    """The sizes, symbols and programs of a kernel."""

    n: int
    m: int
    free_inputs: tuple[sympy.Symbol, ...]

    @property
    def graph(self) -> Any: ...
    @property
    def equations(self) -> Any: ...
    @property
    def solved(self) -> object | None: ...
    @property
    def large(self) -> object | None: ...
    @property
    def _unknown_symbols(self) -> ca.SX: ...
    def _inputs(self, extra: ca.SX | None = None) -> list[ca.SX]: ...
    def program(self, name: str) -> Program: ...
    def residual_scale(self, projection: ConstraintProjection) -> ca.SX: ...
