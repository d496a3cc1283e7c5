"""A motion as a curve: its coordinates, velocities and accelerations at any times, and expressions of them along it.

Integrals along a motion are composite Gauss quadratures on the steps of its own dense output, long steps divided, so that
they are as exact as the motion is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np

from ..algebra.graph import GraphAlgebra
from ..errors import FormError, ModelError, nearest
from ..formulations.constraint_equations import velocity_level
from ..formulations.forms.lagrange import lagrangian_and_momenta
from ..formulations.independent_velocities import Reduction, Split, choose_split
from ..integrate.motion import Motion
from ..model.symbols import t
from ..model.system import System

__all__ = ["NODES", "Path", "check_rows", "integration_table", "path_of", "reduction_along", "split_of", "unit_rows"]

#: Gauss nodes in each panel, and the least number of panels.
NODES, PANELS = 6, 24
#: Below this a choice of independent velocities cannot be used along a motion: 1 is best, 0 is degenerate.
LEAST_QUALITY = 1e-5


@dataclass(frozen=True)
class Path:
    """A motion at the Gauss nodes of its panels, or at times of its own.

    Attributes
    ----------
    motion : Motion
        The same motion, stored at `motion.t`.
    edges : array (panels + 1,)
        The ends of the panels; empty where the times are not Gauss nodes.
    """

    motion: Motion
    edges: Any

    @property
    def times(self) -> Any:
        """The times, (nt,)."""
        return self.motion.t

    @property
    def system(self) -> System:
        """The system that moved."""
        return self.motion.system

    @cached_property
    def symbols(self) -> tuple[Any, ...]:
        """Everything that may occur in an expression along a motion: t, q, q_dot, q_ddot, parameters and inputs."""
        system = self.system
        accelerations = (q.ddot for q in system.coordinates)
        return (t, *system.coordinates, *system.velocities, *accelerations, *system.parameters, *system.inputs)

    @cached_property
    def values(self) -> Any:
        """The symbols along the motion, (symbols, nt)."""
        columns, constants = self.motion.columns, self.motion.parameters
        rows = [constants[s.name] if s in self.system.parameters else columns[s.name] for s in self.symbols]
        return np.array([np.broadcast_to(np.asarray(row, dtype=float), self.times.shape) for row in rows])

    def state(self, place: int) -> dict[str, float]:
        """Every symbol by name at one of the times."""
        return {symbol.name: float(value) for symbol, value in zip(self.symbols, self.values[:, place], strict=True)}

    def along(self, algebra: Any, blocks: Sequence[Any], extra: Any = None, numbers: Any = None) -> list[Any]:
        """Blocks of a graph algebra along the motion, each (nt, rows, columns).

        `extra` is a column of further symbols and `numbers` (symbols, nt) their values.
        """
        symbols = algebra.vector(self.symbols)
        further = ca.SX(0, 1) if extra is None else extra
        function = ca.Function("along", [symbols, further], [ca.densify(block) for block in blocks])
        count = len(self.times)
        given = np.zeros((0, count)) if numbers is None else numbers
        found = function.map(count).call([self.values, given])
        shapes = [block.shape for block in blocks]
        tables = [np.asarray(table, dtype=float) for table in found]
        return [
            np.moveaxis(table.reshape(rows, count, columns), 1, 0)
            for table, (rows, columns) in zip(tables, shapes, strict=True)
        ]

    def integral(self, values: Any) -> Any:
        """The integral over time of values (nt, ...) at the Gauss nodes."""
        weights = np.diff(self.edges)[:, None] * integration_table()[2][None, :]
        return np.tensordot(weights.ravel(), values, axes=1)


def path_of(motion: Motion, times: Any = None) -> Path:
    """A motion at times of its own, or at the Gauss nodes of its steps."""
    if times is not None:
        return Path(_resampled(motion, np.asarray(times, dtype=float)), np.zeros(0))
    first, last = float(motion.segments[0].step_t[0]), float(motion.segments[-1].step_t[-1])
    if first == last:
        raise ModelError("The motion has no duration", seen=f"t = {first:g}", remedy="simulate over a span of time")
    longest = abs(last - first) / PANELS
    edges = [first]
    for segment in motion.segments:
        for end in segment.step_t:
            parts = int(np.ceil(abs(end - edges[-1]) / longest - 1e-9))
            edges.extend(np.linspace(edges[-1], end, parts + 1)[1:] if parts else [])
    panels = np.array(edges)
    nodes = panels[:-1, None] + np.diff(panels)[:, None] * integration_table()[0][None, :]
    return Path(_resampled(motion, nodes.ravel()), panels)


def _resampled(motion: Motion, times: Any) -> Motion:
    """The same motion stored at other times."""
    starts = np.array([segment.step_t[0] for segment in motion.segments])
    sign = -1.0 if motion.segments[-1].step_t[-1] < starts[0] else 1.0
    owner = np.clip(np.searchsorted(sign * starts, sign * times, side="right") - 1, 0, len(starts) - 1)
    return replace(motion, t=times, y=np.ascontiguousarray(motion.sol(times)), owner=owner)


def integration_table() -> tuple[Any, Any, Any]:
    """Gauss nodes c (s,) on [0, 1], the polynomials (s, s + 1) that integrate between them, and the weights (s,).

    Row j of the second holds the coefficients, by rising powers of x, of the integral from 0 to x of the polynomial that is
    one at node j and zero at the others.

    >>> nodes, integrals, weights = integration_table()
    >>> bool(abs(weights @ nodes**5 - 1/6) < 1e-14)
    True
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    nodes, weights = (nodes + 1) / 2, weights / 2
    rows = []
    for j in range(NODES):
        others = np.delete(nodes, j)
        basis = np.polynomial.Polynomial.fromroots(others) / np.prod(nodes[j] - others)
        rows.append(basis.integ().coef)
    return nodes, np.array(rows), weights


def check_rows(system: System) -> None:
    """The variational analysis speaks of two-sided constraints that give rows."""
    if system.image is not None:
        raise FormError(
            f"The image constraint `{system.image.name}` gives velocities, not rows",
            remedy="state the constraint by velocity(...)",
        )
    if system.unilateral:
        raise FormError(
            "The variational analysis needs two-sided constraints",
            seen=f"the one-sided constraint `{system.unilateral[0].name}`",
            remedy="pass system.touching([...]) with those that are closed",
        )


def split_of(system: System, independent: Sequence[Any] | None = None) -> Split:
    """The choice of independent velocities: by name of velocity or coordinate, or the best one at generic states."""
    check_rows(system)
    if independent is None:
        return choose_split(system)
    names = {str(getattr(item, "name", item)) for item in independent}
    known = [name for q in system.coordinates for name in (q.name, q.dot.name)]
    for name in names:
        if name not in known:
            guess = nearest(name, known)
            raise ModelError(
                f"The system has no velocity `{name}`",
                seen=", ".join(known),
                remedy=f"did you mean {guess}" if guess else "name coordinates or velocities",
            )
    places = tuple(k for k, q in enumerate(system.coordinates) if names & {q.name, q.dot.name})
    return choose_split(system, None, lambda split: split.independent == places)


def reduction_along(path: Path, algebra: Any, independent: Sequence[Any] | None = None) -> Reduction:
    """The system on velocities that stay independent along the whole path: the given ones, or the best such choice."""
    system = path.system
    check_rows(system)
    places = np.unique(np.linspace(0, len(path.times) - 1, 3).astype(int))
    if independent is not None:
        candidates = [split_of(system, independent)]
    else:
        candidates = [choose_split(system), *(choose_split(system, path.state(place)) for place in places)]
    rows = _rows_along(path)
    for split in candidates:
        if not split.dependent or _is_regular(rows[np.ix_(range(len(rows)), split.rows, split.dependent)]):
            return Reduction(system, algebra, split)
    names = " or ".join(dict.fromkeys(_named(system, split.independent) for split in candidates))
    raise ModelError(
        f"The velocities {names} do not stay independent along the motion",
        seen="the constraints cannot be solved for the others all the way",
        remedy="pass a shorter motion, or other velocities as independent=",
    )


def _named(system: System, places: Sequence[int]) -> str:
    return ", ".join(system.velocities[k].name for k in places)


def _rows_along(path: Path) -> Any:
    """f_v at the ends of the path and along it, with rows of length one, (nt, m, n)."""
    algebra, system = GraphAlgebra(), path.system
    _, momenta = lagrangian_and_momenta(system, algebra)
    residual = velocity_level(system, algebra, momenta).residual
    block = algebra.jacobian(residual, algebra.vector(system.velocities))
    ends = path_of(path.motion, path.edges[[0, -1]]) if len(path.edges) else path
    (inside,), (outside,) = path.along(algebra, [block]), ends.along(algebra, [block])
    return unit_rows(np.concatenate([outside, inside]))


def unit_rows(rows: Any) -> Any:
    """Rows (..., m, n) scaled to length one; rows of zeros stay zero."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _is_regular(columns: Any) -> bool:
    """Whether square matrices (nt, r, r) along a path stay away from singular ones, between the nodes too."""
    determinants = np.linalg.det(columns)
    return bool(np.all(determinants > LEAST_QUALITY) or np.all(determinants < -LEAST_QUALITY))
