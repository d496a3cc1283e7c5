r"""The nonlinear program of a transcribed trajectory, and its solution by IPOPT.

Unknowns are the states at the nodes and at the stages between them, the unknowns z and mu of the
Gauss problem at every stage (where they are not written out), Bernstein's coefficients of the
inputs, the free times and the free parameters. One function of an interval states its equations;
it is mapped over the intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ...typing import Array
from .schemes import Scheme, bernstein
from .statement import Range, Statement

__all__ = ["Iterate", "Program", "Unknowns"]

IPOPT: dict[str, Any] = {
    "print_level": 0,
    "sb": "yes",
    "tol": 1e-9,
    "max_iter": 1500,
    "honor_original_bounds": "yes",
}

#: Free times are at least this far apart.
LEAST_DURATION = 1e-6


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
    multipliers : array
        Of the rows of the program, in its order.
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

    @property
    def converged(self) -> bool:
        return self.status in ("Solve_Succeeded", "Solved_To_Acceptable_Level")


class Program:
    """The program of a statement on a mesh."""

    def __init__(
        self,
        statement: Statement,
        scheme: Scheme,
        edges: Array,
        ends: Ends | None = None,
        options: dict[str, Any] | None = None,
        scale: Array | None = None,
    ) -> None:
        self.statement, self.scheme, self.edges = statement, scheme, np.asarray(edges, dtype=float)
        self.count = len(edges) - 1
        d = statement.dynamics
        self.n, self.m, self.nw = len(d.state), len(d.inputs), int(d.unknowns.numel())
        self.scale = np.ones(self.nw) if scale is None else scale
        self.ends = ends or Ends.of(statement)
        self._build(options or {})

    # -- one interval ------------------------------------------------------------------------------

    def _interval(self) -> ca.Function:
        """The equations of one interval: defects, balances, path bounds, integrals."""
        statement, scheme = self.statement, self.scheme
        d = statement.dynamics
        quantities = statement.quantities
        point = ca.Function(
            "point", d.arguments,
            [d.rates, d.balance, statement.path_values, quantities.integrands],
        )  # fmt: skip
        n, s = self.n, len(scheme.stages)
        x0, x1 = ca.SX.sym("x0", n), ca.SX.sym("x1", n)
        own = ca.SX.sym("xs", n, len(scheme.own))
        w, c = ca.SX.sym("w", self.nw, s), ca.SX.sym("c", self.m, scheme.degree + 1)
        time, h = ca.SX.sym("t"), ca.SX.sym("h")
        p = ca.SX.sym("p", len(d.parameters))
        inputs = c @ ca.DM(bernstein(scheme.degree, scheme.stages)).T
        states = [own[:, k] for k in range(len(scheme.own))]
        if scheme.starts_at_node:
            states = [x0, *states]
        if scheme.ends_at_node:
            states = [*states, x1]
        scale = ca.DM(self.scale)
        found = [
            point(time + float(scheme.stages[i]) * h, states[i], w[:, i] * scale, inputs[:, i], p)
            for i in range(s)
        ]
        rates = ca.horzcat(*(each[0] for each in found))
        mix, weights = ca.DM(scheme.mix), ca.DM(scheme.weights)
        defects = [
            states[i] - x0 - h * (rates @ mix[i, :].T)
            for i in range(s)
            if not (i == 0 and scheme.starts_at_node)
        ]
        if not scheme.ends_at_node:
            defects.append(x1 - x0 - h * (rates @ weights))
        balances = ca.vertcat(*(each[1] for each in found)) if self.nw else ca.SX(0, 1)
        paths = ca.vertcat(*(each[2] for each in found)) if statement.path else ca.SX(0, 1)
        integrals = h * (ca.horzcat(*(each[3] for each in found)) @ weights)
        return ca.Function(
            "interval", [time, h, x0, own, x1, w, c, p],
            [ca.vertcat(*defects), balances, paths, integrals],
        )  # fmt: skip

    # -- the whole ---------------------------------------------------------------------------------

    def _build(self, options: dict[str, Any]) -> None:
        statement, scheme, N, n, m = self.statement, self.scheme, self.count, self.n, self.m
        s, own = len(scheme.stages), len(scheme.own)
        X = ca.MX.sym("X", n, N + 1)
        S = ca.MX.sym("S", n, N * own)
        W = ca.MX.sym("W", self.nw, N * s)
        self.columns = N * scheme.degree + 1 if scheme.is_continuous else N * (scheme.degree + 1)
        C = ca.MX.sym("C", m, self.columns)
        loose = [k for k, time in enumerate(statement.times) if not time.is_fixed]
        T = ca.MX.sym("T", len(loose))
        free = [k for k, each in enumerate(statement.parameters) if not each.is_fixed]
        P = ca.MX.sym("P", len(free))
        self.loose, self.free = loose, free
        first, last = (
            T[loose.index(k)] if k in loose else ca.MX(time.low)
            for k, time in enumerate(statement.times)
        )
        numbers: list[ca.MX] = [ca.MX(each.low) for each in statement.parameters]
        for place, k in enumerate(free):
            numbers[k] = P[place]
        p = ca.vertcat(*numbers) if numbers else ca.MX(0, 1)
        widths, duration = np.diff(self.edges), last - first
        H, starts = ca.DM(widths).T * duration, first + ca.DM(self.edges[:-1]).T * duration
        inputs = C[:, self._shared().tolist()] if scheme.is_continuous else C
        piece = self._interval()
        columns = [starts, H, X[:, :N], S, X[:, 1:], W, inputs, ca.repmat(p, 1, N)]
        defects, balances, paths, integrals = piece.map(N)(*columns)
        totals = ca.sum2(integrals)
        values, numbers_at = self._values(totals, X, inputs, first, last, p)
        rows = [
            ca.vec(defects),
            ca.vec(balances),
            ca.vec(paths),
            self._node_paths(starts, last, X, p),
        ]
        rows += [values[1:], self._end_rows(X), duration if loose else ca.MX(0, 1)]
        rows = [ca.reshape(row, int(row.numel()), 1) for row in rows]
        self.sizes = [int(row.numel()) for row in rows]
        unknowns = ca.veccat(X, S, W, C, T, P)
        self._arguments = unknowns, numbers_at
        self.shapes = [(n, N + 1), (n, N * own), (self.nw, N * s), (m, self.columns)]
        problem = {"x": unknowns, "f": values[0], "g": ca.vertcat(*rows)}
        self.problem = problem
        merged = {"print_time": False, "ipopt": IPOPT | options.pop("ipopt", {})} | options
        self.solver = ca.nlpsol("trajectory", "ipopt", problem, merged)

    def _shared(self) -> Array:
        """The columns of continuous inputs that each interval uses."""
        d = self.scheme.degree
        return np.array([d * k + j for k in range(self.count) for j in range(d + 1)], dtype=int)

    def _values(
        self, totals: ca.MX, X: ca.MX, C: ca.MX, first: ca.MX, last: ca.MX, p: ca.MX
    ) -> tuple[ca.MX, list[ca.MX]]:
        """The cost and the conditions, and what they are computed from."""
        statement, q = self.statement, self.statement.quantities
        d = statement.dynamics
        none = ca.DM.zeros(self.nw)
        at = []
        for column, time, x, u in (
            (q.starts, first, X[:, 0], C[:, 0]),
            (q.ends, last, X[:, -1], C[:, -1]),
        ):
            function = ca.Function("end", d.arguments, [column])
            at.append(function(time, x, none, u, p))
        arguments = [totals, *at, p]
        return q.value(*arguments), arguments

    def _weights(self, vector: Array, lam: Array) -> Array:
        """The derivatives of the Lagrange function by the integrals."""
        value = self.statement.quantities.value
        symbols = value.sx_in()
        table = ca.jacobian(value(*symbols), symbols[0])
        if table.numel() and not table.is_constant():
            numbers = ca.Function("numbers", [self._arguments[0]], self._arguments[1])(vector)
            table = ca.SX(ca.Function("weights", symbols, [table])(*numbers))
        derivatives = np.asarray(ca.densify(ca.DM(table)), dtype=float).reshape(table.shape)
        first = sum(self.sizes[:4])
        multipliers = lam[first : first + self.sizes[4]]
        weights: Array = derivatives[0] + multipliers @ derivatives[1:]
        return weights

    def _node_paths(self, starts: ca.MX, last: ca.MX, X: ca.MX, p: ca.MX) -> ca.MX:
        """Bounds on expressions of the state at the nodes, where these are not stages."""
        statement, d = self.statement, self.statement.dynamics
        rows = [k for k, bound in enumerate(statement.path) if bound.of_state]
        self.node_rows = [] if self.scheme.starts_at_node or not rows else rows
        if not self.node_rows:
            return ca.MX(0, 1)
        function = ca.Function("nodes", d.arguments, [statement.path_values[rows]])
        count = self.count + 1
        none = ca.DM.zeros(self.nw, count), ca.DM.zeros(self.m, count)
        times = ca.horzcat(starts, last)
        return ca.vec(function.map(count)(times, X, *none, ca.repmat(p, 1, count)))

    def _end_rows(self, X: ca.MX) -> ca.MX:
        """Combinations of the states at the ends that are asked for."""
        start, end = self.ends.start, self.ends.end
        return ca.vertcat(
            start.residuals(X[:, 0]) if start.residuals else ca.MX(0, 1),
            ca.DM(end.rows) @ X[:, -1],
        )

    # -- bounds ------------------------------------------------------------------------------------

    def bounds(self) -> tuple[Array, Array, Array, Array]:
        """Least and most of the unknowns and of the rows."""
        (low, rows_low), (high, rows_high) = self._sides(0), self._sides(1)
        return low, high, rows_low, rows_high

    def _sides(self, side: int) -> tuple[Array, Array]:
        """The lower (0) or upper (1) bounds of the unknowns and of the rows."""
        statement, N, s = self.statement, self.count, len(self.scheme.stages)
        infinite, ends = (-np.inf, np.inf)[side], self.ends

        def column(ranges: Sequence[Range]) -> Array:
            return np.array([own[side] for own in ranges], dtype=float)

        nodes = np.tile(column(statement.states), (N + 1, 1))
        nodes[0], nodes[-1] = column(ends.start.ranges), column(ends.end.ranges)
        unknowns = [
            nodes.ravel(),
            np.tile(column(statement.states), N * len(self.scheme.own)),
            np.full(N * s * self.nw, infinite),
            np.tile(column(statement.inputs), self.columns),
            column([statement.times[k] for k in self.loose]),
            column([statement.parameters[k] for k in self.free]),
        ]
        rows = [
            np.zeros(self.sizes[0] + self.sizes[1]),
            np.tile(column([own.range for own in statement.path]), N * s),
            np.tile(column([statement.path[k].range for k in self.node_rows]), N + 1),
            column([own for _, own in statement.conditions]),
            np.zeros(ends.start.count),
            column(ends.end.row_ranges),
            np.full(1 if self.loose else 0, (LEAST_DURATION, np.inf)[side]),
        ]
        return np.concatenate(unknowns), np.concatenate(rows)

    # -- solving -----------------------------------------------------------------------------------

    def vector(self, found: Unknowns) -> Array:
        """Unknowns as IPOPT takes them."""
        inputs = found.inputs
        if self.scheme.is_continuous:
            d = self.scheme.degree
            inputs = np.concatenate([inputs[:, :d].reshape(-1, self.m), inputs[-1:, d]])
        scaled = found.instant / self.scale if self.nw else found.instant
        return np.concatenate(
            [
                found.nodes.ravel(), found.stages.ravel(), scaled.ravel(), inputs.ravel(),
                np.array([found.times[k] for k in self.loose]), found.parameters[self.free],
            ]
        )  # fmt: skip

    def read(self, vector: Array) -> Unknowns:
        """Unknowns from IPOPT's."""
        N, s, scheme = self.count, len(self.scheme.stages), self.scheme
        sizes = np.cumsum([rows * columns for rows, columns in self.shapes] + [len(self.loose)])
        nodes, stages, instant, inputs, times, free = np.split(vector, sizes)
        coefficients = inputs.reshape(-1, self.m)
        if scheme.is_continuous:
            coefficients = coefficients[self._shared()]
        ends = [time.low for time in self.statement.times]
        for place, k in enumerate(self.loose):
            ends[k] = float(times[place])
        parameters = np.array([each.low for each in self.statement.parameters])
        parameters[self.free] = free
        return Unknowns(
            self.edges, (ends[0], ends[1]), nodes.reshape(N + 1, self.n),
            stages.reshape(N, len(scheme.own), self.n),
            instant.reshape(N, s, self.nw) * self.scale,
            coefficients.reshape(N, scheme.degree + 1, self.m), parameters,
        )  # fmt: skip

    def solve(self, guess: Unknowns) -> Iterate:
        """Solve from a guess."""
        low, high, rows_low, rows_high = self.bounds()
        first = np.clip(self.vector(guess), low, high)
        found = self.solver(x0=first, lbx=low, ubx=high, lbg=rows_low, ubg=rows_high)
        stats = self.solver.stats()
        vector, rows, lam = (np.asarray(found[k], dtype=float).ravel() for k in ("x", "g", "lam_g"))
        missed = np.maximum(rows_low - rows, rows - rows_high)
        worst = int(np.argmax(missed)) if missed.size else 0
        unknowns = self.read(vector)
        return Iterate(
            unknowns, float(found["f"]), self._costates(lam, unknowns),
            int(stats.get("iter_count", 0)), str(stats["return_status"]),
            float(np.max(missed, initial=0.0)), self.row_name(worst), self._weights(vector, lam),
            lam[sum(self.sizes[:2]) : sum(self.sizes[:3])].reshape(
                self.count, len(self.scheme.stages), -1
            ),
        )  # fmt: skip

    def row_name(self, row: int) -> str:
        """What a row of the program says, in words."""
        edges = np.cumsum(self.sizes)
        kind = int(np.searchsorted(edges, row, side="right"))
        within = row - (int(edges[kind - 1]) if kind else 0)
        statement = self.statement
        if kind in (0, 1):
            return "the equations of motion"
        if kind == 2:
            return f"the bound on {statement.path[within % len(statement.path)].name}"
        if kind == 3:
            return (
                f"the bound on {statement.path[self.node_rows[within % len(self.node_rows)]].name}"
            )
        if kind == 4:
            return f"the condition {statement.conditions[within][0]}"
        return "the ends" if kind == 5 else "the order of the times"

    def _costates(self, lam: Array, found: Unknowns) -> tuple[Array, Array]:
        """Costates from the multipliers of the defects; `stage` is that of the rate there.

        The multiplier of h b_i f_i in the sum of all rows is the costate of stage i.
        """
        scheme, N, n = self.scheme, self.count, self.n
        s = len(scheme.stages)
        table = lam[: self.sizes[0]].reshape(N, -1, n)
        rows = [i for i in range(s) if not (i == 0 and scheme.starts_at_node)]
        mix = scheme.mix[rows]
        if not scheme.ends_at_node:
            mix = np.vstack([mix, scheme.weights])
        stage = np.einsum("krn,ri->kin", table, mix) / scheme.weights[:, None]
        nodes = np.empty((N + 1, n))
        nodes[:-1] = table.sum(axis=1)
        nodes[-1] = stage[-1, -1] if scheme.ends_at_node else table[-1, -1]
        return nodes, stage


@dataclass(frozen=True, eq=False)
class StartEnd:
    """Ranges of the state at the start, and residuals of constraints that must vanish there."""

    ranges: tuple[Range, ...]
    residuals: Callable[[ca.MX], ca.MX] | None = None
    count: int = 0


@dataclass(frozen=True, eq=False)
class LastEnd:
    """Ranges of the state at the end, and combinations `rows` (k, n) of it with their ranges."""

    ranges: tuple[Range, ...]
    rows: Array
    row_ranges: tuple[Range, ...] = ()


@dataclass(frozen=True, eq=False)
class Ends:
    """What is asked of the state at both ends, without conditions that constraints repeat."""

    start: StartEnd
    end: LastEnd

    @staticmethod
    def of(statement: Statement) -> Ends:
        """The ends as stated."""
        n = len(statement.states)
        return Ends(StartEnd(statement.start), LastEnd(statement.end, np.zeros((0, n))))
