r"""Multipliers of a solved mesh as the first multipliers of another one.

Multipliers of the defects are costates, which are interpolated; those of bounds and of equations at
instants are densities times widths. IPOPT starts from them near the solution, where a start from
unknowns alone has to find out again which bounds are active.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...typing import Array, IntArray
from .ipopt_solution import Multipliers
from .nonlinear_program import Iterate, NonlinearProgram
from .pieces import Layout
from .problem_assembly import Piece
from .problem_statement import Statement
from .schemes import Scheme, interpolation

__all__ = ["WARM", "WarmStart", "multipliers_on_mesh"]

#: Options of IPOPT with given multipliers.
WARM: dict[str, Any] = {
    "warm_start_init_point": "yes",
    "warm_start_bound_push": 1e-6,
    "warm_start_bound_frac": 1e-6,
    "warm_start_slack_bound_push": 1e-6,
    "warm_start_slack_bound_frac": 1e-6,
    "warm_start_mult_bound_push": 1e-6,
    "mu_init": 1e-5,
}


class WarmStart(NamedTuple):
    """A solution to start another program from: its layout, pieces and iterate."""

    layout: Layout
    pieces: Sequence[Piece]
    iterate: Iterate

    def serves(self, statement: Statement, scheme: Scheme) -> bool:
        """Whether a problem has the same states, inputs and transcription."""
        own, other = self.layout.statement.dynamics, statement.dynamics
        names = [[s.name for s in (*d.state, *d.inputs)] for d in (own, other)]
        return names[0] == names[1] and self.layout.scheme.name == scheme.name

    @staticmethod
    def of(program: NonlinearProgram, iterate: Iterate) -> WarmStart:
        """The solution of a program, without its solver."""
        return WarmStart(program.layout, program.pieces, iterate)


def multipliers_on_mesh(warm: WarmStart, after: NonlinearProgram) -> Multipliers | None:
    """The multipliers of a solution on the mesh of `after`; None where the programs differ."""
    if _shape(warm.layout, warm.pieces) != _shape(after.layout, after.pieces):
        return None
    where = _MeshOverlap(warm.layout.edges, after.layout.edges)
    return Multipliers(_of_bounds(warm, after.layout, where), _of_rows(warm, after, where))


def _shape(layout: Layout, pieces: Sequence[Piece]) -> tuple[object, ...]:
    """What programs on different meshes have in common: transcription, unknowns, rows."""
    unknowns = (layout.n, layout.m, layout.nw, layout.loose, layout.free, layout.totals)
    rows = [int(piece.rows.numel()) for piece in pieces]
    return layout.scheme.name, unknowns, rows


class _MeshOverlap:
    """Where the intervals and nodes of a mesh lie on another one."""

    def __init__(self, old: Array, new: Array) -> None:
        middles = (new[:-1] + new[1:]) / 2
        self.parent: IntArray = np.clip(np.searchsorted(old, middles) - 1, 0, len(old) - 2)
        self.first = (new[:-1] - old[self.parent]) / np.diff(old)[self.parent]
        self.ratio: Array = np.diff(new) / np.diff(old)[self.parent]
        self.node: IntArray = np.argmin(np.abs(new[:, None] - old), axis=1)
        self.share = _spread(new) / _spread(old)[self.node]
        self.share[[0, -1]] = 1.0

    def within(self, places: Array) -> Array:
        """Places (k,) of each new interval as places (N, k) of its parent."""
        found: Array = np.clip(self.first[:, None] + self.ratio[:, None] * places, 0.0, 1.0)
        return found

    def densities(self, table: Array, places: Array) -> Array:
        """Values (N, k, ...) at places of intervals, from those at the nearest old ones."""
        nearest = np.argmin(np.abs(self.within(places)[:, :, None] - places), axis=2)
        found = table[self.parent[:, None], nearest]
        return np.asarray(found * self.ratio.reshape(-1, *[1] * (found.ndim - 1)), dtype=float)


def _spread(edges: Array) -> Array:
    """Half the widths beside each node."""
    widths = np.diff(edges)
    return np.asarray((np.append(widths, 0.0) + np.append(0.0, widths)) / 2, dtype=float)


def _of_bounds(warm: WarmStart, b: Layout, where: _MeshOverlap) -> Array:
    a, scheme, lam = warm.layout, b.scheme, warm.iterate.multipliers.bounds
    nodes, stages, instant, inputs = (lam[a.block(k)] for k in range(4))
    own = scheme.stages[scheme.own]
    at_nodes = nodes.reshape(a.count + 1, a.n)[where.node] * where.share[:, None]
    at_stages = stages.reshape(a.count, a.own, a.n)
    at_stages = where.densities(at_stages, own) if a.own else np.zeros((b.count, 0, b.n))
    at_instants = instant.reshape(a.count, a.s, a.nw)
    at_instants = where.densities(at_instants, scheme.stages)
    columns = inputs.reshape(a.columns, a.m)[a.shared.ravel()].reshape(a.count, -1, a.m)
    places = np.linspace(0.0, 1.0, scheme.degree + 1)
    at_inputs = np.zeros((b.columns, b.m))
    at_inputs[b.shared.ravel()] = where.densities(columns, places).reshape(-1, b.m)
    rest = [lam[a.block(k)] for k in range(4, 9)]
    tables = (at_nodes, at_stages, at_instants, at_inputs, *rest)
    return np.concatenate([each.ravel() for each in tables])


def _of_rows(warm: WarmStart, after: NonlinearProgram, where: _MeshOverlap) -> Array:
    a, b, scheme = warm.layout, after.layout, after.scheme
    lam, parts, first = warm.iterate.multipliers.rows, [], 0
    for k, (old, new) in enumerate(zip(warm.pieces, after.pieces, strict=True)):
        own = lam[first : first + old.size]
        first += old.size
        if k == 0:
            defects = a.n * (a.own + 1)
            rest = own.reshape(a.count, -1)[:, defects:]
            instants = rest[:, : a.s * a.nw].reshape(a.count, a.s, a.nw)
            paths = rest[:, a.s * a.nw :].reshape(a.count, a.s, -1)
            table = [_defects(scheme, where, warm.iterate.costates)]
            table += [where.densities(each, scheme.stages) for each in (instants, paths)]
            own = np.concatenate([each.reshape(b.count, -1) for each in table], axis=1)
        elif old.size != new.size:
            own = own.reshape(a.count + 1, -1)[where.node] * where.share[:, None]
        parts.append(own.ravel())
    return np.concatenate(parts)


def _defects(scheme: Scheme, where: _MeshOverlap, costates: tuple[Array, Array]) -> Array:
    """Multipliers (N, rows, n) of the defects whose costates are some.

    The costate of stage i is sum_r T_r a_ri / b_i, the last row with a_ri = b_i.
    """
    nodes, stages = costates
    begins, ends = scheme.starts_at_node, scheme.ends_at_node
    at = np.concatenate([[0.0][begins:], scheme.stages, [1.0][ends:]])
    first_nodes, last_nodes = nodes[:-1, None][:, begins:], nodes[1:, None][:, ends:]
    known = np.concatenate([first_nodes, stages, last_nodes], axis=1)[where.parent]
    places = where.within(np.append(scheme.stages, 1.0))
    values = np.stack(
        [interpolation(at, own) @ table for own, table in zip(places, known, strict=True)]
    )
    first = int(begins)
    wanted = values[:, first:-1] * scheme.weights[first:, None]
    last = values[:, -1:]
    if not ends:
        wanted = wanted - scheme.weights[first:, None] * last
    rows = np.linalg.solve(scheme.mix[first:, first:].T, wanted)
    return np.asarray(rows if ends else np.concatenate([rows, last], axis=1), dtype=float)
