r"""The pieces of a transcribed trajectory: intervals, nodes and ends, over one layout of unknowns.

Unknowns are the states at the nodes and at the stages between them, the unknowns z and mu of the
Gauss problem at every stage (where they are not written out), Bernstein's coefficients of the
inputs, the free times and parameters, and the integrals that conditions contain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np

from ...typing import Array, IntArray
from .problem_assembly import Piece
from .problem_statement import Range, Statement
from .schemes import Scheme, bernstein

__all__ = ["Globals", "LastEnd", "Layout", "PieceEnds", "StartEnd", "pieces_of"]


@dataclass(frozen=True, eq=False)
class StartEnd:
    """Ranges of the state at the start, and residuals of constraints that must vanish there.

    Residuals are a function of time, state and parameters.
    """

    ranges: tuple[Range, ...]
    residuals: Callable[[ca.SX, ca.SX, ca.SX], ca.SX] | None = None
    count: int = 0


@dataclass(frozen=True, eq=False)
class LastEnd:
    """Ranges of the state at the end, and combinations `rows` (k, n) of it with their ranges."""

    ranges: tuple[Range, ...]
    rows: Array
    row_ranges: tuple[Range, ...] = ()


@dataclass(frozen=True, eq=False)
class PieceEnds:
    """What is asked of the state at both ends, without conditions that constraints repeat."""

    start: StartEnd
    end: LastEnd

    @staticmethod
    def of(statement: Statement) -> PieceEnds:
        """The ends as stated."""
        n = len(statement.states)
        return PieceEnds(StartEnd(statement.start), LastEnd(statement.end, np.zeros((0, n))))


class Layout:
    """Where the unknowns of a mesh stand: nodes, stages, z and mu, inputs, times, and so on."""

    def __init__(
        self, statement: Statement, scheme: Scheme, edges: Array, elastic: bool = False
    ) -> None:
        d, N = statement.dynamics, len(edges) - 1
        self.statement, self.scheme, self.edges, self.count = statement, scheme, edges, N
        self.n, self.m, self.nw = len(d.state), len(d.inputs), int(d.unknowns.numel())
        self.s, self.own = len(scheme.stages), len(scheme.own)
        self.columns = N * scheme.degree + 1 if scheme.is_continuous else N * (scheme.degree + 1)
        self.loose = [k for k, time in enumerate(statement.times) if not time.is_fixed]
        self.free = [k for k, each in enumerate(statement.parameters) if not each.is_fixed]
        self.totals = 0 if self.is_direct else int(statement.quantities.integrands.numel())
        of_state = [k for k, bound in enumerate(statement.path) if bound.of_state]
        self.node_rows = [] if scheme.starts_at_node else of_state
        asked = [*statement.start, *statement.end]
        self.relaxed_ends = (
            [k for k, own in enumerate(asked) if np.isfinite(own.low) or np.isfinite(own.high)]
            if elastic
            else []
        )
        self.slacks = (len(statement.conditions) + len(self.relaxed_ends)) if elastic else 0
        self.path_slacks = len(statement.path) if elastic else 0
        counts = [
            self.n * (N + 1), self.n * N * self.own, self.nw * N * self.s, self.m * self.columns,
            len(self.loose), len(self.free), self.totals, 2 * self.slacks, self.path_slacks,
        ]  # fmt: skip
        self.edges_of_blocks = np.concatenate([[0], np.cumsum(counts)]).astype(int)
        self.elastic = elastic

    @property
    def size(self) -> int:
        return int(self.edges_of_blocks[-1])

    @cached_property
    def is_direct(self) -> bool:
        """Whether integrals stand in the cost alone, with constant factors."""
        value = self.statement.quantities.value
        symbols = value.sx_in()
        result = value(*symbols)
        if not symbols[0].numel():
            return True
        factors = ca.jacobian(result[0], symbols[0])
        others = result.numel() > 1 and ca.depends_on(result[1:], symbols[0])
        return bool(factors.is_constant()) and not others

    @cached_property
    def factors(self) -> Array:
        """The derivatives of the cost by the integrals, where these stand in it alone."""
        value = self.statement.quantities.value
        symbols = value.sx_in()
        table = ca.jacobian(value(*symbols)[0], symbols[0])
        return np.asarray(ca.densify(ca.DM(table)), dtype=float).ravel()

    def block(self, k: int) -> IntArray:
        """The places of a block: nodes, stages, z and mu, inputs, times, parameters, ..."""
        return np.arange(self.edges_of_blocks[k], self.edges_of_blocks[k + 1])

    @property
    def shared(self) -> IntArray:
        """The columns of inputs (N, d + 1) that each interval uses."""
        d = self.scheme.degree
        step = d if self.scheme.is_continuous else d + 1
        table: IntArray = step * np.arange(self.count)[:, None] + np.arange(d + 1)
        return table

    def inputs_of(self, columns: IntArray) -> IntArray:
        """The places of columns of inputs, a row (..., m) for each."""
        table: IntArray = self.edges_of_blocks[3] + columns[..., None] * self.m + np.arange(self.m)
        return table


class Globals:
    """Free times and parameters as symbols, and all times and parameters made of them."""

    def __init__(self, layout: Layout) -> None:
        statement = layout.statement
        times, free = ca.SX.sym("T", len(layout.loose)), ca.SX.sym("P", len(layout.free))
        self.symbols = ca.vertcat(times, free)
        self.first, self.last = (
            times[layout.loose.index(k)] if k in layout.loose else ca.SX(time.low)
            for k, time in enumerate(statement.times)
        )
        numbers = [ca.SX(each.low) for each in statement.parameters]
        for place, k in enumerate(layout.free):
            numbers[k] = free[place]
        self.parameters = ca.vertcat(*numbers) if numbers else ca.SX(0, 1)
        self.places = np.concatenate([layout.block(4), layout.block(5)])

    @property
    def duration(self) -> ca.SX:
        return self.last - self.first


def pieces_of(layout: Layout, ends: PieceEnds, scale: Array) -> list[Piece]:
    """The pieces of the program: intervals, integrals that conditions contain, nodes, ends."""
    found = [*_intervals(layout, scale)]
    if layout.node_rows:
        found.append(_nodes(layout))
    found.append(_ends(layout, ends))
    return found


def _intervals(layout: Layout, scale: Array) -> list[Piece]:
    """Defects, balances and bounds on expressions of one interval, and its integrals."""
    statement, scheme, N = layout.statement, layout.scheme, layout.count
    d, q, g = statement.dynamics, statement.quantities, Globals(layout)
    results = [d.rates, d.balance, statement.path_values, q.integrands]
    point = ca.Function("point", d.arguments, results)
    n, s, own = layout.n, layout.s, layout.own
    x0, x1, xs = ca.SX.sym("x0", n), ca.SX.sym("x1", n), ca.SX.sym("xs", n, own)
    w, c = ca.SX.sym("w", layout.nw, s), ca.SX.sym("c", layout.m, scheme.degree + 1)
    data, slack = ca.SX.sym("data", 2), ca.SX.sym("slack", layout.path_slacks)
    time, h = g.first + data[0] * g.duration, data[1] * g.duration
    inputs = c @ ca.DM(bernstein(scheme.degree, scheme.stages)).T
    states = [xs[:, k] for k in range(own)]
    states = [x0] * scheme.starts_at_node + states + [x1] * scheme.ends_at_node
    at = [
        point(time + float(c_i) * h, x, w[:, i] * ca.DM(scale), inputs[:, i], g.parameters)
        for i, (c_i, x) in enumerate(zip(scheme.stages, states, strict=True))
    ]
    rates = ca.horzcat(*(each[0] for each in at))
    weights, first = ca.DM(scheme.weights), int(scheme.starts_at_node)
    defects = [states[i] - x0 - h * (rates @ ca.DM(scheme.mix[i])) for i in range(first, s)]
    if not scheme.ends_at_node:
        defects.append(x1 - x0 - h * (rates @ weights))
    paths = [each[2] for each in at] if statement.path else []
    if layout.elastic and paths:
        paths = [ca.vertcat(row - slack, row + slack) for row in paths]
    rows = ca.vertcat(*defects, *(each[1] for each in at), *paths)
    integrals = h * (ca.horzcat(*(each[3] for each in at)) @ weights)
    symbols = ca.vertcat(x0, ca.vec(xs), x1, ca.vec(w), ca.vec(c), g.symbols, slack)
    nodes, k = layout.block(0).reshape(N + 1, n), np.ones((N, 1), dtype=int)
    indices = np.concatenate(
        [
            nodes[:-1], layout.block(1).reshape(N, -1), nodes[1:],
            layout.block(2).reshape(N, -1), layout.inputs_of(layout.shared).reshape(N, -1),
            k * g.places, k * layout.block(8),
        ],
        axis=1,
    )  # fmt: skip
    table = np.stack([layout.edges[:-1], np.diff(layout.edges)])
    is_direct = layout.is_direct and not layout.elastic
    cost = ca.dot(ca.DM(layout.factors), integrals) if is_direct and q.integrands.numel() else 0
    found = [Piece(data, symbols, rows, ca.SX(cost), table, indices)]
    if layout.totals:
        total = ca.SX.sym("total", layout.totals)
        with_total = np.concatenate([indices, k * layout.block(6)], axis=1)
        rest = total / N - integrals
        every = ca.vertcat(symbols, total)
        found.append(Piece(data, every, rest, ca.SX(0), table, with_total, is_summed=True))
    return found


def _nodes(layout: Layout) -> Piece:
    """Bounds on expressions of the state at the nodes, where these are not stages."""
    statement, N, g = layout.statement, layout.count, Globals(layout)
    d, rows = statement.dynamics, layout.node_rows
    x, data = ca.SX.sym("x", layout.n), ca.SX.sym("part")
    slack = ca.SX.sym("slack", len(rows) if layout.elastic else 0)
    function = ca.Function("nodes", d.arguments, [statement.path_values[rows]])
    none = ca.SX.zeros(layout.nw), ca.SX.zeros(layout.m)
    values = function(g.first + data * g.duration, x, *none, g.parameters)
    if layout.elastic:
        values = ca.vertcat(values - slack, values + slack)
    k = np.ones((N + 1, 1), dtype=int)
    slacks = layout.block(8)[rows] if layout.elastic else layout.block(8)
    nodes = layout.block(0).reshape(N + 1, -1)
    indices = np.concatenate([nodes, k * g.places, k * slacks], axis=1)
    symbols = ca.vertcat(x, g.symbols, slack)
    return Piece(data, symbols, values, ca.SX(0), layout.edges[None, :], indices)


def _ends(layout: Layout, ends: PieceEnds) -> Piece:
    """The cost at the ends, conditions, what is asked of the state at the ends, the duration."""
    statement, g, n, m = layout.statement, Globals(layout), layout.n, layout.m
    q, d = statement.quantities, statement.dynamics
    xa, xb = ca.SX.sym("xa", n), ca.SX.sym("xb", n)
    ua, ub = ca.SX.sym("ua", m), ca.SX.sym("ub", m)
    totals, slack = ca.SX.sym("totals", layout.totals), ca.SX.sym("slack", 2 * layout.slacks)
    path_slack, none = ca.SX.sym("path_slack", layout.path_slacks), ca.SX.zeros(layout.nw)
    at = [
        ca.Function("end", d.arguments, [column])(time, x, none, u, g.parameters)
        for column, time, x, u in ((q.starts, g.first, xa, ua), (q.ends, g.last, xb, ub))
    ]
    integrals = totals if layout.totals else ca.SX.zeros(q.integrands.numel())
    values = q.value(integrals, *at, g.parameters)
    conditions = values[1:, 0] if values.numel() > 1 else ca.SX(0, 1)
    cost, rows = values[0], [conditions]
    if layout.elastic:
        cost = ca.sum1(slack) + ca.sum1(path_slack) + 0 * values[0]
        both = ca.vertcat(conditions, ca.vertcat(xa, xb)[layout.relaxed_ends])
        rows = [both - slack[: layout.slacks] + slack[layout.slacks :]]
    if ends.start.residuals is not None:
        rows.append(ends.start.residuals(g.first, xa, g.parameters))
    if len(ends.end.rows) and not layout.elastic:
        rows.append(ca.DM(ends.end.rows) @ xb)
    if layout.loose:
        rows.append(g.duration)
    nodes, columns = layout.block(0).reshape(-1, n), np.array([0, layout.columns - 1])
    indices = np.concatenate(
        [
            nodes[0], nodes[-1], layout.inputs_of(columns).ravel(), g.places, layout.block(6),
            layout.block(7), layout.block(8),
        ]
    )  # fmt: skip
    symbols = ca.vertcat(xa, xb, ua, ub, g.symbols, totals, slack, path_slack)
    data, table = ca.SX(0, 1), np.zeros((0, 1))
    return Piece(data, symbols, ca.vertcat(*rows), cost, table, indices[None, :])
