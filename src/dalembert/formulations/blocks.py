"""The Gauss problem of a formulation, and everything that is read off its solution.

Every second-order form of mechanics is one small problem at each instant:

    find z minimising (z - a)^T G (z - a) / 2  subject to  A z = b,    with G a = f,

that is G z = f + A^T mu and A z = b, with the least-norm mu where rows of A depend on each other. A
formulation states the blocks G, f, A, b in its own unknowns z; nothing after it needs to know which
formulation it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block, Scalar

__all__ = ["GaussBlocks", "Hessian", "Projection", "WhenRead"]


class Hessian:
    """The matrix of second derivatives of a scalar, formed when it is first read."""

    def __init__(self, algebra: Algebra, scalar: Scalar, symbols: Block) -> None:
        self.algebra, self.scalar, self.symbols = algebra, scalar, symbols

    @cached_property
    def matrix(self) -> Any:
        """The matrix (n x n)."""
        return self.algebra.hessian(self.scalar, self.symbols)[0]


class WhenRead(Mapping[str, Any]):
    """A mapping that is made when it is first read, such as thousands of reactions."""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self._make = make

    @cached_property
    def _table(self) -> Mapping[str, Any]:
        return self._make()

    def __getitem__(self, key: str) -> Any:
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


@dataclass(frozen=True)
class Projection:
    """A projection onto constraints: the least step d in a metric with rows @ d = -residual.

    Attributes
    ----------
    residual : column (k x 1)
        What must vanish.
    rows : matrix (k x n)
        Its derivative along a step d in the space of the unknowns.
    lift : matrix (n_state x n)
        The change of the state that the step d makes.
    metric : matrix (n x n) or None
        The metric of the step; that of the Gauss problem where it is None.
    """

    residual: Any
    rows: Any
    lift: Any
    metric: Any | None = None


@dataclass(frozen=True)
class GaussBlocks:
    """Expressions in one algebra; n unknowns, m rows, n_state state symbols.

    Attributes
    ----------
    stated_metric : matrix (n x n) or Hessian
        G, symmetric; a `Hessian` is formed when `metric` is first read.
    force : column (n x 1)
        f.
    rows, right : matrix (m x n) and column (m x 1)
        A and b.
    unknowns, multipliers : columns of symbols (n x 1), (m x 1)
        z and mu, the symbols that `rates`, `accelerations` and `reactions` are written in.
    rates : column (n_state x 1)
        The time derivative of the state.
    velocities, accelerations : columns (one entry for each coordinate)
        q_dot as a function of the state, q_ddot as a function of state, z and mu.
    momenta : column or None
        Canonical momenta as functions of the state.
    energy : scalar
        Jacobi's energy function p . v - L, or H.
    reactions : mapping of constraint name to column
        The generalised force of each constraint, by coordinate.
    position, velocity : Projection
        Residuals at position and at velocity level with the steps that remove them. A form whose
        velocities obey the constraints by construction has none at velocity level.
    residuals : pair of columns
        What is left of the holonomic constraints, and of all two-sided ones at velocity level.
    row_multipliers : column or None
        Multipliers of the constraints in a form that has no rows, read off the equations it does
        not solve.
    chart_quality : scalar or None
        How far the choice of independent velocities is from degenerating: 1 is best, 0 is the end.
    own_symbols : column or None
        The symbols of the state that are neither coordinates nor velocities, as functions of q,
        q_dot and t.
    free : column (n x 1) or None
        The unconstrained a, where it is known without solving with G.
    section : row or None
        Minors of the section of a reduction: a motion is singular where all of them vanish.
    dual_rows : matrix (n x m) or None
        G^-1 A^T, where it is known without solving with G.
    """

    stated_metric: Any
    force: Any
    rows: Any
    right: Any
    unknowns: Any
    multipliers: Any
    rates: Any
    velocities: Any
    accelerations: Any
    momenta: Any
    energy: Any
    reactions: Mapping[str, Any]
    position: Projection
    velocity: Projection
    residuals: tuple[Any, Any]
    outputs: Mapping[str, Any] = field(default_factory=dict)
    row_multipliers: Any | None = None
    chart_quality: Any | None = None
    own_symbols: Any | None = None
    free: Any | None = None
    dual_rows: Any | None = None
    section: Any | None = None

    @classmethod
    def of_rates(
        cls, algebra: Algebra, unknowns: Block, known: Block, **others: Any
    ) -> GaussBlocks:
        """The record of unknowns with known values: G is the identity, and there are no rows.

        `others` are further fields. By default the unknowns are the rates of all symbols, and
        nothing is reported.
        """
        size, none, one = known.shape[0], algebra.zeros(0), algebra.jacobian(unknowns, unknowns)
        nothing = Projection(none, algebra.zeros(0, size), one)
        given: dict[str, Any] = {
            "rates": unknowns,
            "velocities": known,
            "momenta": none,
            "reactions": {},
            "position": nothing,
            "velocity": nothing,
            "residuals": (none, none),
        } | others
        return cls(
            stated_metric=one,
            force=known,
            rows=algebra.zeros(0, size),
            right=none,
            unknowns=unknowns,
            multipliers=none,
            free=known,
            dual_rows=algebra.zeros(size, 0),
            **given,
        )

    @property
    def hessian(self) -> Hessian | None:
        """What G is the matrix of second derivatives of, where it is known; nothing is formed."""
        given = self.stated_metric
        return given if isinstance(given, Hessian) else None

    @property
    def metric(self) -> Any:
        """G, (n x n)."""
        return self.stated_metric if self.hessian is None else self.hessian.matrix

    def substituted(self, algebra: Algebra, symbols: Block, values: Block) -> GaussBlocks:
        """Every block with some symbols replaced."""

        def change(item: Any) -> Any:
            if item is None:
                return None
            if isinstance(item, tuple):
                return tuple(change(value) for value in item)
            if isinstance(item, Mapping):
                return {key: change(value) for key, value in item.items()}
            if isinstance(item, Projection):
                return Projection(
                    change(item.residual), change(item.rows), change(item.lift), change(item.metric)
                )
            return algebra.substitute(item, symbols, values)

        changed = {
            f.name: change(getattr(self, f.name))
            for f in fields(self)
            if f.name not in _NOT_SUBSTITUTED
        }
        hessian = self.hessian
        kept = hessian is not None and not algebra.depends(hessian.scalar, symbols)
        return replace(self, **changed, stated_metric=hessian if kept else change(self.metric))


_NOT_SUBSTITUTED = {"unknowns", "multipliers", "stated_metric"}
