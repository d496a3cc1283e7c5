r"""Whether every motion of a system is stationary among curves that obey the constraints.

With the constraints solved as v_a = phi_a(q, v_s, t) and mu_a the multipliers of f_a = v_a - phi_a,
a motion does so where some chi(t) obeys (Rumyantsev 4.3 - 4.5)

    A_s^a chi_a = 0,        chi_dot_a = -mu_a - chi_b dphi_b/dq_a

The first, differentiated along the motion any number of times, gives affine conditions on chi at
one state,

    P_0 = A,  s_0 = 0,  P_(i+1) = D P_i + P_i K,  s_(i+1) = D s_i - P_i mu,  P_i chi + s_i = 0,
        K = -(dphi/dq_D)^T

with D the derivative along the flow of the equations of motion. Where an order adds no rank and no
contradiction on an open set, no further one does: its rows are combinations of those before it,
with coefficients that are functions of the state, and so are their derivatives. So the question is
decided at generic states after at most r + 1 derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError
from ...formulations.forms.voronets import derive_on, transitivity
from ...formulations.independent_velocities import Reduction, Split
from ...model.symbols import t
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from ..anatomy import Anatomy, take_apart
from ..path import unit_rows
from .transitivity import transitivity_sizes

if TYPE_CHECKING:
    from ...algebra.protocol import Block

__all__ = ["Prolongation", "prolonged"]

#: Time, coordinates, velocities and parameters of a state.
_Point = list[Any]
#: The most instructions that a derivative along the flow may take.
MOST_INSTRUCTIONS = 300_000
#: Relative sizes below which a row is rounding, and unit rows are dependent.
ZERO, SAME = 1e-9, 1e-6
#: States where the determinant of the solved columns is below this part of the best are skipped.
WELL_SOLVED = 0.1


@dataclass(frozen=True)
class Prolongation:
    """The conditions on chi at generic states.

    Attributes
    ----------
    ranks : tuple of tuples of int
        The rank of the conditions up to each order, to where they close or contradict each other.
    consistent : tuple of bool
        Whether some chi meets them all.
    closed : tuple of bool
        Whether they were followed to their end.
    unknowns : int
        r, the number of multipliers.
    """

    ranks: tuple[tuple[int, ...], ...]
    consistent: tuple[bool, ...]
    closed: tuple[bool, ...]
    unknowns: int

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.ranks)

    @property
    def verdict(self) -> bool | None:
        """True where every state admits a chi, False where most contradict, None if undecided."""
        if not self.states:
            return None
        if all(self.consistent):
            return True if all(self.closed) else None
        return False if sum(self.consistent) < self.states / 2 else None

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        where = f"at {self.states} random states"
        orders = max(len(ranks) for ranks in self.ranks) - 1 if self.states else 0
        derivatives = f"{orders} derivative{'s' * (orders != 1)}"
        if self.verdict is True:
            found = max(ranks[-1] for ranks in self.ranks)
            free, left = self.unknowns - found, "any chi serves"
            if found:
                left = f"chi is fixed up to {free} of {self.unknowns} directions"
            closed = f"the conditions chi A = 0 and their {derivatives} close with rank {found}"
            return f"{where} {closed}: {left}"
        if self.verdict is False:
            against = f"at {self.states - sum(self.consistent)} of {self.states} random states"
            return f"{against} chi A = 0 and its {derivatives} contradict each other"
        if not self.states:
            return "no generic state was found"
        if all(self.consistent):
            return f"the derivatives grew too large after order {orders}"
        only = f"{sum(self.consistent)} of {self.states} random states only"
        return f"chi A = 0 and its {derivatives} are consistent at {only}"


def prolonged(
    system: System, split: Split, parameters: Mapping[str, Any], start: Mapping[str, Any], n: int
) -> Prolongation:
    """The conditions on chi and their derivatives along the motion, at `n` generic states."""
    flow = _Flow(system, split)
    points = _points(take_apart(system, parameters, start, 2 * n + 1), split)[:n]
    tracks = [_Track(scale) for scale in flow.scales(points)]
    for order in range(len(split.dependent) + 2):
        condition = flow.condition(order)
        if condition is None:
            break
        for track, (matrix, rest) in zip(tracks, flow.values(condition, points), strict=True):
            track.add(order, matrix, rest)
        if all(track.ended for track in tracks):
            break
    kept = [track for track in tracks if track.ranks]
    return Prolongation(
        ranks=tuple(tuple(track.ranks) for track in kept),
        consistent=tuple(track.consistent for track in kept),
        closed=tuple(track.ended for track in kept),
        unknowns=len(split.dependent),
    )


class _Flow:
    """The motion on independent velocities as a vector field, with the conditions on chi."""

    def __init__(self, system: System, split: Split) -> None:
        free = [symbol.name for symbol, value in system.inputs.items() if value is None]
        if free:
            what = "The motion is not determined while an input is free"
            raise ModelError(what, ", ".join(free), f"pass system.driven({{{free[0]!r}: ...}})")
        reduction = Reduction(system, GraphAlgebra(), split)
        algebra = reduction.algebra
        self.reduction, self.algebra, self.system = reduction, algebra, system
        record = derive_on(reduction)
        metric, force = self._driven(record.metric), self._driven(record.force)
        self.z = algebra.solve(metric, force)
        full = reduction.full
        accelerations = reduction.frame @ reduction.z + reduction.drift
        reaction = reduction.here(full.metric) @ accelerations - reduction.here(full.force)
        self.reaction = self._moving(algebra.part(reaction, split.dependent, [0]))
        through = reduction.map.by_places(reduction.solved)
        self.turning = -algebra.part(through, range(len(split.dependent)), split.dependent).T
        rest = algebra.zeros(len(split.independent))
        self.conditions = [(self._moving(transitivity(reduction)), rest)]

    def _driven(self, block: ca.SX) -> Block:
        """A block with the inputs that the system gives as expressions put in."""
        algebra, system, here = self.algebra, self.system, self.reduction.here
        given = {symbol: value for symbol, value in system.inputs.items() if value is not None}
        if not given:
            return block
        momenta, values = self.reduction.momenta_at_velocity, algebra.vector(list(given.values()))
        values = algebra.substitute(values, algebra.vector(system.momenta), momenta)
        return algebra.substitute(block, algebra.vector(list(given)), here(values))

    def _moving(self, block: ca.SX) -> Block:
        """A block on the motion: inputs and accelerations put in."""
        return self.algebra.substitute(self._driven(block), self.reduction.z, self.z)

    def along(self, block: ca.SX) -> Block:
        """The derivative of a matrix of (q, v_I, t) along the motion."""
        rate = self.algebra.substitute(self.reduction.rate(ca.vec(block)), self.reduction.z, self.z)
        return ca.reshape(rate, block.shape[0], block.shape[1])

    def condition(self, order: int) -> tuple[ca.SX, ca.SX] | None:
        """P_i and s_i; None where they have grown too large."""
        while len(self.conditions) <= order:
            matrix, rest = self.conditions[-1]
            following = self.along(matrix) + matrix @ self.turning
            self.conditions.append((following, self.along(rest) - matrix @ self.reaction))
        found = self.conditions[order]
        function = ca.Function("size", self.symbols(), [ca.densify(block) for block in found])
        return found if function.n_instructions() < MOST_INSTRUCTIONS else None

    def symbols(self) -> list[ca.SX]:
        reduction, vector = self.reduction, self.algebra.vector
        return [vector([t]), reduction.q, reduction.v, vector(self.system.parameters)]

    def values(self, blocks: Sequence[ca.SX], points: Sequence[_Point]) -> list[list[Array]]:
        """Blocks at points, each point a list of arrays."""
        function = ca.Function("values", self.symbols(), [ca.densify(block) for block in blocks])
        found = (function.call(point) for point in points)
        return [[np.asarray(block, dtype=float) for block in point] for point in found]

    def scales(self, points: Sequence[_Point]) -> list[tuple[float, float, float]]:
        """At each point the size of the terms of A, of the momenta, and a rate of change."""
        reduction = self.reduction
        momenta = reduction.here(reduction.momenta_at_velocity)
        sizes_of_terms = self._moving(transitivity_sizes(reduction))
        blocks = [sizes_of_terms, momenta, reduction.velocities, self.z, self.reaction]
        found = []
        for sizes, p, v, z, mu in self.values(blocks, points):
            speed = _largest(v) or 1.0
            rate = max(1.0, speed, _largest(z) / speed)
            found.append((_largest(sizes) or 1.0, (_largest(p) + _largest(mu) / rate) or 1.0, rate))
        return found


class _Track:
    """The growing affine conditions at one state."""

    def __init__(self, scale: tuple[float, float, float]) -> None:
        self.scale = scale
        self.rows: list[Array] = []
        self.ranks: list[int] = []
        self.consistent, self.ended = True, not np.all(np.isfinite(scale))

    def add(self, order: int, matrix: Array, rest: Array) -> None:
        """Take up the conditions of one more order."""
        if self.ended:
            return
        size, momentum, rate = self.scale
        rows = np.hstack([matrix, rest / momentum]) / (size * rate**order)
        if not np.all(np.isfinite(rows)):  # a state at the edge of the model says nothing
            self.ended = True
            self.ranks.clear()
            return
        rows[np.max(np.abs(rows), axis=1, initial=0.0) < ZERO] = 0.0
        self.rows.append(rows)
        table = np.vstack(self.rows)
        narrow, wide = rank(table[:, :-1], SAME).rank, rank(table, SAME).rank
        self.consistent = narrow == wide
        grown = not self.ranks or narrow > self.ranks[-1]
        self.ranks.append(narrow)
        self.ended = not self.consistent or narrow == 0 or not grown


def _points(anatomy: Anatomy, split: Split) -> list[_Point]:
    """Generic states at which the constraints are well solved for the dependent velocities."""
    samples = anatomy.samples
    rows = unit_rows(anatomy.row_values)[np.ix_(range(len(samples)), split.rows, split.dependent)]
    quality = np.abs(np.linalg.det(rows))
    quality[0] = 0.0 if samples.start and len(samples) > 1 else quality[0]
    return [
        [samples.times[k], samples.coordinates[k], samples.velocities[k], samples.parameters]
        for k in np.flatnonzero(quality > WELL_SOLVED * np.max(quality))
    ]


def _largest(values: Array) -> float:
    return float(np.max(np.abs(values), initial=0.0))
