"""The nonlinear program of a transcribed trajectory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...typing import Array
from .ipopt_solution import (
    CONVERGED,
    STOPPED,
    IpoptSolution,
    Multipliers,
    RawIterate,
    Sides,
    Solver,
)
from .pieces import Layout, PieceEnds, pieces_of
from .problem_statement import Range, Statement
from .schemes import Scheme

__all__ = ["Iterate", "NonlinearProgram", "Unknowns"]

#: A bound is active where a value is as near to it, or its multiplier is above this.
ACTIVE = 1e-6


@dataclass(frozen=True, eq=False)
class Unknowns:
    """Values of the unknowns on a mesh of N intervals; n states, m inputs, s stages, degree d.

    Attributes
    ----------
    edges : array (N + 1,)
        From 0 to 1.
    times : (t0, t1)
    nodes : array (N + 1, n)
    stages : array (N, s_own, n)
        At the stages that are not nodes.
    instant : array (N, s, nw)
        z and mu.
    inputs : array (N, d + 1, m)
        Bernstein's coefficients.
    parameters : array
        All of them, the free ones among them.
    """

    edges: Array
    times: tuple[float, float]
    nodes: Array
    stages: Array
    instant: Array
    inputs: Array
    parameters: Array


@dataclass(frozen=True, eq=False)
class Iterate:
    """What IPOPT returned.

    Attributes
    ----------
    unknowns : Unknowns
    cost : float
    multipliers : Multipliers
        Of the bounds of the unknowns, and of the rows of the program.
    costates : arrays (N + 1, n) and (N, s, n)
        At the nodes and at the stages: minus the derivative of the least cost.
    iterations : int
    status : str
    violation : float
        The largest violation of a row, which `worst` names.
    weights : array
        The derivatives of the cost by its integrals, those of conditions with their multipliers.
    path_multipliers : array (N, s, k)
        Of the bounds on expressions at the stages.
    vector : array
        All unknowns as IPOPT has them.
    """

    unknowns: Unknowns
    cost: float
    costates: tuple[Array, Array]
    iterations: int
    status: str
    violation: float
    worst: str
    weights: Array
    path_multipliers: Array
    vector: Array
    multipliers: Multipliers

    @property
    def is_stopped(self) -> bool:
        """Whether Ctrl-C ended the solve; this is then its best iterate."""
        return self.status == STOPPED

    @property
    def converged(self) -> bool:
        return self.status in CONVERGED


class NonlinearProgram:
    """The program of a statement on a mesh.

    Where it is `elastic`, ends, conditions and bounds on expressions may be violated, and the cost
    is the sum of the violations: what cannot be met, and by how much.
    """

    def __init__(
        self,
        statement: Statement,
        scheme: Scheme,
        edges: Array,
        ends: PieceEnds | None = None,
        options: dict[str, Any] | None = None,
        scale: Array | None = None,
        elastic: bool = False,
        solver: Solver | None = None,
    ) -> None:
        self.statement, self.scheme, self.edges = statement, scheme, np.asarray(edges, dtype=float)
        self.layout = Layout(statement, scheme, self.edges, elastic)
        self.count = self.layout.count
        self.scale = np.ones(self.layout.nw) if scale is None else scale
        self.ends = ends or PieceEnds.of(statement)
        self.pieces = pieces_of(self.layout, self.ends, self.scale)
        self.options, self.solver = dict(options or {}), solver

    @cached_property
    def size(self) -> int:
        """The number of unknowns."""
        return self.layout.size

    @cached_property
    def solution(self) -> IpoptSolution:
        """The solver of the program, made when it is first asked for."""
        return IpoptSolution(self.pieces, self.size, self.options, self.solver, self.layout)

    @property
    def excess(self) -> int:
        """How many equations and fixed unknowns there are beyond the number of unknowns."""
        low, high, rows_low, rows_high = self.bounds()
        return int(np.sum(low == high) + np.sum(rows_low == rows_high)) - self.size

    # -- bounds ------------------------------------------------------------------------------------

    def bounds(self) -> Sides:
        """Least and most of the unknowns and of the rows."""
        (low, rows_low), (high, rows_high) = self._sides(0), self._sides(1)
        return low, high, rows_low, rows_high

    def _sides(self, side: int) -> tuple[Array, Array]:
        """The lower (0) or upper (1) bounds of the unknowns and of the rows."""
        statement, layout, ends = self.statement, self.layout, self.ends
        N, s, infinite = layout.count, layout.s, (-np.inf, np.inf)[side]

        def column(ranges: Sequence[Range]) -> Array:
            return np.array([own[side] for own in ranges], dtype=float)

        nodes = np.tile(column(statement.states), (N + 1, 1))
        if not layout.elastic:
            nodes[0], nodes[-1] = column(ends.start.ranges), column(ends.end.ranges)
        unknowns = [
            nodes.ravel(),
            np.tile(column(statement.states), N * layout.own),
            np.full(N * s * layout.nw, infinite),
            np.tile(column(statement.inputs), layout.columns),
            column([statement.times[k] for k in layout.loose]),
            column([statement.parameters[k] for k in layout.free]),
            np.full(layout.totals, infinite),
            np.full(2 * layout.slacks + layout.path_slacks, (0.0, np.inf)[side]),
        ]
        path = self._path_column(side, list(range(len(statement.path))))
        rows = [
            np.tile(np.concatenate([np.zeros(self._defects + s * layout.nw), np.tile(path, s)]), N),
            np.zeros(layout.totals),
            np.tile(self._path_column(side, layout.node_rows), N + 1),
            column([own for _, own in statement.conditions]),
        ]
        if layout.elastic:
            asked = [*statement.start, *statement.end]
            rows.append(column([asked[k] for k in layout.relaxed_ends]))
        rows.append(np.zeros(ends.start.count))
        if not layout.elastic:
            rows.append(column(ends.end.row_ranges))
        rows.append(np.full(1 if layout.loose else 0, statement.duration[side]))
        return np.concatenate(unknowns), np.concatenate(rows)

    def _path_column(self, side: int, rows: list[int]) -> Array:
        found = np.array([self.statement.path[k].range[side] for k in rows], dtype=float)
        if not self.layout.elastic:
            return found
        none = np.full(len(rows), np.inf)
        return np.concatenate([-none, found] if side == 0 else [found, none])

    # -- solving -----------------------------------------------------------------------------------

    def vector(self, found: Unknowns) -> Array:
        """Unknowns as IPOPT takes them."""
        layout, inputs = self.layout, np.zeros((self.layout.columns, self.layout.m))
        inputs[layout.shared.ravel()] = found.inputs.reshape(layout.shared.size, layout.m)
        scaled = found.instant / self.scale if layout.nw else found.instant
        return np.concatenate(
            [
                found.nodes.ravel(), found.stages.ravel(), scaled.ravel(), inputs.ravel(),
                np.array([found.times[k] for k in layout.loose]), found.parameters[layout.free],
                np.zeros(layout.totals + 2 * layout.slacks + layout.path_slacks),
            ]
        )  # fmt: skip

    def read(self, vector: Array) -> Unknowns:
        """Unknowns from IPOPT's."""
        layout, scheme = self.layout, self.scheme
        N, n = layout.count, layout.n
        nodes, stages, instant, inputs, times, free = (vector[layout.block(k)] for k in range(6))
        coefficients = inputs.reshape(layout.columns, layout.m)[layout.shared.ravel()]
        ends = [time.low for time in self.statement.times]
        for place, k in enumerate(layout.loose):
            ends[k] = float(times[place])
        parameters = np.array([each.low for each in self.statement.parameters])
        parameters[layout.free] = free
        return Unknowns(
            self.edges, (ends[0], ends[1]), nodes.reshape(N + 1, n),
            stages.reshape(N, layout.own, n), instant.reshape(N, layout.s, layout.nw) * self.scale,
            coefficients.reshape(N, scheme.degree + 1, layout.m), parameters,
        )  # fmt: skip

    def solve(self, guess: Unknowns, multipliers: Multipliers | None = None) -> Iterate:
        """Solve from a guess, and from multipliers if there are any."""
        return self.iterate(self.solution.find(self.vector(guess), self.bounds(), multipliers))

    def iterate(self, found: RawIterate) -> Iterate:
        """What a solution of the program says of the trajectory."""
        layout = self.layout
        rows = found.multipliers.rows
        table = rows[: self.pieces[0].size].reshape(self.count, -1)
        paths = layout.s * len(self.statement.path) * (1 + layout.elastic)
        return Iterate(
            unknowns=self.read(found.vector),
            cost=found.cost,
            costates=self._costates(table[:, : self._defects].reshape(self.count, -1, layout.n)),
            iterations=found.iterations,
            status=found.status,
            violation=found.violation,
            worst=self.row_name(found.worst_row),
            weights=self._weights(rows),
            path_multipliers=table[:, table.shape[1] - paths :].reshape(self.count, layout.s, -1),
            vector=found.vector,
            multipliers=found.multipliers,
        )

    def check_finite(self, guess: Unknowns) -> None:
        """Raise for a cost or a row that is not a number at the guess."""
        self.solution.check_finite(self.vector(guess), self.bounds(), self.row_name)

    @property
    def _defects(self) -> int:
        """The rows of an interval that are defects."""
        return self.layout.n * (self.layout.own + 1)

    def _weights(self, lam: Array) -> Array:
        """The derivatives of the Lagrange function by the integrals."""
        if not self.layout.totals:
            return self.layout.factors
        first = self.pieces[0].size
        return np.asarray(-lam[first : first + self.layout.totals], dtype=float)

    def row_name(self, row: int) -> str:
        """What a row of the program says, in words."""
        statement, layout = self.statement, self.layout
        for piece in self.pieces[:-1]:
            if row >= piece.size:
                row -= piece.size
                continue
            place = row % int(piece.rows.numel())
            if piece is self.pieces[0] and place < self._defects + layout.s * layout.nw:
                return "the equations of motion"
            if piece is self.pieces[0]:
                place = (place - self._defects - layout.s * layout.nw) % len(statement.path)
                return f"the bound on {statement.path[place].name}"
            if piece.is_summed:
                return "an integral"
            return f"the bound on {statement.path[layout.node_rows[place]].name}"
        if row < len(statement.conditions):
            return f"the condition {statement.conditions[row][0]}"
        return "an end"

    def unmet(self, iterate: Iterate, least: float = 1e-6) -> list[str]:
        """What an elastic program had to violate, in words."""
        layout, statement = self.layout, self.statement
        slacks = iterate.vector[layout.block(7)].reshape(2, -1)
        amounts, n = slacks[0] - slacks[1], layout.n
        names = [f"the condition {name}" for name, _ in statement.conditions]
        for k in layout.relaxed_ends:
            where = "start" if k < n else "end"
            names.append(f"the {where} of {statement.dynamics.state[k % n].name}")
        names += [f"the bound on {bound.name}" for bound in statement.path]
        amounts = np.concatenate([amounts, iterate.vector[layout.block(8)]])
        order = np.argsort(-np.abs(amounts))
        return [
            f"{names[k]} (off by {abs(amounts[k]):.3g})" for k in order if abs(amounts[k]) > least
        ]

    def active_bounds(self, iterate: Iterate) -> list[str]:
        """Names of states, inputs and expressions that reach a bound along the trajectory."""
        statement, found = self.statement, iterate.unknowns
        names = [symbol.name for symbol in (*statement.dynamics.state, *statement.dynamics.inputs)]
        n, m = self.layout.n, self.layout.m
        columns = [*found.nodes[1:-1].T, *(found.inputs[:, :, k].ravel() for k in range(m))]
        ranges = [*statement.states, *statement.inputs]
        active = [
            name
            for k, (name, own, values) in enumerate(zip(names, ranges, columns, strict=True))
            if np.any(np.minimum(values - own.low, own.high - values) < ACTIVE)
            and not (k >= n and own.is_fixed)
        ]
        force = np.max(np.abs(iterate.path_multipliers), axis=(0, 1), initial=0.0)
        count = len(statement.path)
        force = np.max(force.reshape(-1, count), axis=0) if count else force
        return active + [
            own.name for own, size in zip(statement.path, force, strict=False) if size > ACTIVE
        ]

    def _costates(self, table: Array) -> tuple[Array, Array]:
        """Costates from the multipliers (N, rows, n) of the defects.

        The multiplier of h b_i f_i in the sum of all rows is the costate of stage i.
        """
        scheme = self.scheme
        mix = scheme.mix[int(scheme.starts_at_node) :]
        if not scheme.ends_at_node:
            mix = np.vstack([mix, scheme.weights])
        stage = np.einsum("krn,ri->kin", table, mix) / scheme.weights[:, None]
        nodes = np.empty((self.count + 1, self.layout.n))
        nodes[:-1] = table.sum(axis=1)
        nodes[-1] = stage[-1, -1] if scheme.ends_at_node else table[-1, -1]
        return nodes, stage
