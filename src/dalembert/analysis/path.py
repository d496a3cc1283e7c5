"""A motion as a curve: coordinates, velocities, accelerations and expressions along it.

Integrals along a motion are composite Gauss quadratures on the steps of its own dense output, long
steps divided, so that they are as exact as the motion is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..errors import FormError, ModelError, nearest
from ..formulations.constraint_equations import velocity_level
from ..formulations.forms.lagrange import lagrangian_and_momenta
from ..formulations.independent_velocities import Reduction, Split, choose_split
from ..integrate.motion import Motion
from ..integrate.segment import even_places
from ..model.symbols import t
from ..model.system import System
from ..typing import Array, ArrayLike, Symbols

__all__ = ["NODES", "MotionPath", "check_rows", "integration_table", "path_of", "reduction_along"]
__all__ += ["split_of", "unit_rows"]

#: Gauss nodes in each panel, and the least number of panels.
NODES, PANELS = 6, 24
#: The least quality of independent velocities along a motion, between 0 (degenerate) and 1.
LEAST_QUALITY = 1e-5


@dataclass(frozen=True)
class MotionPath:
    """A motion at the Gauss nodes of its panels, or at times of its own.

    Attributes
    ----------
    motion : Motion
        The same motion, stored at `motion.t`.
    edges : array (panels + 1,)
        The ends of the panels; empty where the times are not Gauss nodes.
    """

    motion: Motion
    edges: Array

    @property
    def times(self) -> Array:
        """The times, (nt,)."""
        return self.motion.t

    @property
    def system(self) -> System:
        """The system that moved."""
        return self.motion.system

    @cached_property
    def symbols(self) -> tuple[sympy.Symbol, ...]:
        """All symbols of an expression along a motion: t, q, q_dot, q_ddot, parameters, inputs."""
        system = self.system
        accelerations = (q.ddot for q in system.coordinates)
        states = (*system.coordinates, *system.velocities, *accelerations)
        return (t, *states, *system.parameters, *system.inputs)

    @cached_property
    def values(self) -> Array:
        """The symbols along the motion, (symbols, nt)."""
        columns, constants = self.motion.columns, self.motion.parameters
        inside = self.system.parameters
        rows = [constants[s.name] if s in inside else columns[s.name] for s in self.symbols]
        shape = self.times.shape
        return np.array([np.broadcast_to(np.asarray(row, dtype=float), shape) for row in rows])

    def state(self, place: int) -> dict[str, float]:
        """Every symbol by name at one of the times."""
        values = zip(self.symbols, self.values[:, place], strict=True)
        return {symbol.name: float(value) for symbol, value in values}

    def along(
        self,
        algebra: GraphAlgebra,
        blocks: Sequence[ca.SX],
        extra: ca.SX | None = None,
        numbers: Array | None = None,
    ) -> list[Array]:
        """Blocks of a graph algebra along the motion, each (nt, rows, columns).

        `extra` is a column of further symbols and `numbers` (symbols, nt) their values.
        """
        symbols = algebra.vector(self.symbols)
        further = ca.SX(0, 1) if extra is None else extra
        function = ca.Function("along", [symbols, further], [ca.densify(block) for block in blocks])
        count = len(self.times)
        given = np.zeros((0, count)) if numbers is None else numbers
        found = function.map(count).call([self.values, given])
        tables = zip((np.asarray(table, dtype=float) for table in found), blocks, strict=True)
        return [
            np.moveaxis(table.reshape(block.shape[0], count, block.shape[1]), 1, 0)
            for table, block in tables
        ]

    def integral(self, values: Array) -> Array:
        """The integral over time of values (nt, ...) at the Gauss nodes."""
        weights = np.diff(self.edges)[:, None] * integration_table()[2][None, :]
        return np.tensordot(weights.ravel(), values, axes=1)


def path_of(motion: Motion, times: ArrayLike | None = None) -> MotionPath:
    """A motion at times of its own, or at the Gauss nodes of its steps."""
    if times is not None:
        return MotionPath(_resampled(motion, np.asarray(times, dtype=float)), np.zeros(0))
    first, last = float(motion.segments[0].step_t[0]), float(motion.segments[-1].step_t[-1])
    if first == last:
        remedy = "simulate over a span of time"
        raise ModelError("The motion has no duration", f"t = {first:g}", remedy)
    longest = abs(last - first) / PANELS
    edges = [first]
    for segment in motion.segments:
        for end in segment.step_t:
            parts = int(np.ceil(abs(end - edges[-1]) / longest - 1e-9))
            edges.extend(np.linspace(edges[-1], end, parts + 1)[1:] if parts else [])
    panels = np.array(edges)
    nodes = panels[:-1, None] + np.diff(panels)[:, None] * integration_table()[0][None, :]
    return MotionPath(_resampled(motion, nodes.ravel()), panels)


def _resampled(motion: Motion, times: Array) -> Motion:
    """The same motion stored at other times."""
    starts = np.array([segment.step_t[0] for segment in motion.segments])
    sign = -1.0 if motion.segments[-1].step_t[-1] < starts[0] else 1.0
    after = np.searchsorted(sign * starts, sign * times, side="right")
    owner = np.clip(after - 1, 0, len(starts) - 1)
    return replace(motion, t=times, y=np.ascontiguousarray(motion.sol(times)), owner=owner)


def integration_table() -> tuple[Array, Array, Array]:
    """Gauss nodes c (s,) on [0, 1], their integrating polynomials (s, s + 1) and weights (s,).

    Row j of the second holds the coefficients, by rising powers of x, of the integral from 0 to x
    of the polynomial that is one at node j and zero at the others.

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
        what = f"The image constraint `{system.image.name}` gives velocities, not rows"
        raise FormError(what, remedy="state the constraint by velocity(...)")
    if system.unilateral:
        what = "The variational analysis needs two-sided constraints"
        remedy = "pass system.touching([...]) with those that are closed"
        raise FormError(what, f"the one-sided constraint `{system.unilateral[0].name}`", remedy)


def split_of(system: System, independent: Symbols | None = None) -> Split:
    """The independent velocities: by name of velocity or coordinate, or the best generic choice."""
    check_rows(system)
    if independent is None:
        return choose_split(system, implicit=True)
    names = {str(getattr(item, "name", item)) for item in independent}
    known = [name for q in system.coordinates for name in (q.name, q.dot.name)]
    for name in names:
        if name not in known:
            guess = nearest(name, known)
            remedy = f"did you mean {guess}" if guess else "name coordinates or velocities"
            raise ModelError(f"The system has no velocity `{name}`", ", ".join(known), remedy)
    places = tuple(k for k, q in enumerate(system.coordinates) if names & {q.name, q.dot.name})
    return choose_split(system, None, lambda split: split.independent == places, implicit=True)


def reduction_along(
    path: MotionPath, algebra: GraphAlgebra, independent: Symbols | None = None
) -> Reduction:
    """The system on velocities that stay independent along the path: given ones or the best."""
    system = path.system
    check_rows(system)
    places = even_places(len(path.times), 3)
    if independent is not None:
        candidates = [split_of(system, independent)]
    else:
        states = (path.state(place) for place in places)
        chosen = partial(choose_split, system, implicit=True)
        candidates = [chosen(), *(chosen(state) for state in states)]
    rows = _rows_along(path)
    for split in candidates:
        columns = rows[np.ix_(range(len(rows)), split.rows, split.dependent)]
        if not split.dependent or _is_regular(columns):
            return Reduction(system, algebra, split)
    names = " or ".join(dict.fromkeys(_named(system, split.independent) for split in candidates))
    what = f"The velocities {names} do not stay independent along the motion"
    remedy = "pass a shorter motion, or other velocities as independent="
    raise ModelError(what, "the constraints cannot be solved for the others all the way", remedy)


def _named(system: System, places: Sequence[int]) -> str:
    return ", ".join(system.velocities[k].name for k in places)


def _rows_along(path: MotionPath) -> Array:
    """f_v at the ends of the path and along it, with rows of length one, (nt, m, n)."""
    algebra, system = GraphAlgebra(), path.system
    _, momenta = lagrangian_and_momenta(system, algebra)
    residual = velocity_level(system, algebra, momenta).residual
    block = algebra.jacobian(residual, algebra.vector(system.velocities))
    ends = path_of(path.motion, path.edges[[0, -1]]) if len(path.edges) else path
    (inside,), (outside,) = path.along(algebra, [block]), ends.along(algebra, [block])
    return unit_rows(np.concatenate([outside, inside]))


def unit_rows(rows: Array) -> Array:
    """Rows (..., m, n) scaled to length one; rows of zeros stay zero."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1.0)


def _is_regular(columns: Array) -> bool:
    """Whether square matrices (nt, r, r) along a path stay regular, between the nodes too."""
    determinants = np.linalg.det(columns)
    return bool(np.all(determinants > LEAST_QUALITY) or np.all(determinants < -LEAST_QUALITY))
