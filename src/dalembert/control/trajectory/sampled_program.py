"""The program of a trajectory with measured samples, and the regression that it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca
import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.sparse.linalg

from ...analysis.sensitivity.data import Data
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, IntArray
from .boundary_conditions import consistent_ends
from .guesses import Course, on_mesh
from .ipopt_solution import RawIterate, Sides
from .nonlinear_program import Iterate, NonlinearProgram
from .pieces import Globals, Layout
from .polynomials import located
from .problem_assembly import Piece
from .problem_statement import StatedNames, Statement
from .schemes import Scheme, bernstein, interpolation
from .solution_search import size_of_unknowns

__all__ = ["SampledProgram", "SolvedProgram"]

#: Most steps towards parameters that match the guess.
MATCHES = 20
#: Width of the bounds of a step where a parameter lies at its own.
TINY = 1e-12


class SolvedProgram(NamedTuple):
    """A solution of the program, raw and read."""

    raw: RawIterate
    iterate: Iterate


class SampledProgram:
    """A program whose cost has the squares of residuals at sample times.

    Inputs that are `known` stay what they are on the course.
    """

    def __init__(
        self, statement: Statement, scheme: Scheme, edges: Array, course: Course, data: Data,
        known: Sequence[str],
    ) -> None:  # fmt: skip
        self.statement, self.data = statement, data
        self.guess = on_mesh(statement, scheme, edges, course)
        ends = consistent_ends(statement, self.guess)
        scale = size_of_unknowns(self.guess.instant)
        self.program = NonlinearProgram(statement, scheme, edges, ends, scale=scale)
        self.layout = self.program.layout
        names = [symbol.name for symbol in statement.dynamics.inputs]
        self.known = [k for k, name in enumerate(names) if name in known]
        self.unknown_inputs = [k for k in range(len(names)) if k not in self.known]
        self.samples, self.residuals = _samples(self.layout, data, scale)
        self.program.pieces.insert(-1, self.samples)
        self.starts = self._free_starts(ends.start.count)

    def solve(self, barrier: float | None) -> SolvedProgram:
        """Solve from the course."""
        if barrier is not None:
            self.program.options = {"ipopt": {"mu_init": barrier}}
        first = self.program.vector(self.guess)
        solution, sides = self.program.solution, self._sides(first)
        solution.check_finite(first, sides, self.program.row_name)
        if barrier is None:
            first = self._matched(first)
        raw = solution.find(first, sides)
        return SolvedProgram(raw, self.program.iterate(raw))

    def _matched(self, first: Array) -> Array:
        """Unknowns whose parameters fit the equations of motion best, at the states of the guess.

        A poor guess of parameters would otherwise pull the states away from the data. Rows with
        large residuals, as in gaps of the data, count less.
        """
        places, rows = self.layout.block(5), self._motion_rows()
        if self.layout.nw or not len(places):
            return first
        jacobian = self.program.solution.solver.get_function("nlp_jac_g")
        low, high, _, _ = self.program.bounds()
        found = first.copy()
        for _ in range(MATCHES):
            values, table = jacobian(found, np.zeros(0))
            missed = np.asarray(values, dtype=float).ravel()[rows]
            by_parameters = scipy.sparse.csc_matrix(table.sparse())[rows][:, places].toarray()
            if not (np.all(np.isfinite(missed)) and np.all(np.isfinite(by_parameters))):
                return first
            usual = np.median(np.abs(missed[missed != 0.0])) if np.any(missed) else 1.0
            weights = 1.0 / np.sqrt(1.0 + (missed / usual) ** 2)
            own = found[places]
            step = scipy.optimize.lsq_linear(
                weights[:, None] * by_parameters, -weights * missed,
                (low[places] - own - TINY, high[places] - own + TINY),
            ).x  # fmt: skip
            moved = np.clip(own + step, low[places], high[places])
            if np.allclose(moved, found[places], rtol=1e-6, atol=1e-12):
                break
            found[places] = moved
        return found

    def _sides(self, first: Array) -> Sides:
        low, high, rows_low, rows_high = self.program.bounds()
        held = self._input_places(self.known)
        low[held] = high[held] = first[held]
        return low, high, rows_low, rows_high

    def _input_places(self, which: Sequence[int]) -> IntArray:
        """Where the coefficients of some inputs stand."""
        places = self.layout.inputs_of(np.arange(self.layout.columns))
        return np.asarray(places[:, list(which)].ravel(), dtype=int)

    def input_errors(self, course: Course) -> Array:
        """How far the polynomials of known inputs are from them, on each interval."""
        N, places = self.layout.count, np.linspace(0.0, 1.0, 9)[1:-1]
        if not self.known:
            return np.zeros(N)
        edges = self.program.edges
        parts = edges[:-1, None] + np.diff(edges)[:, None] * places
        exact = course.inputs(parts.ravel()).reshape(N, len(places), -1)
        table = bernstein(self.program.scheme.degree, places)
        taken = np.einsum("ij,kjm->kim", table, self.guess.inputs)
        off = np.abs(exact - taken)[:, :, self.known]
        found: Array = np.max(off, axis=(1, 2)) / np.maximum(1.0, np.max(np.abs(exact)))
        return found

    # -- unknowns ----------------------------------------------------------------------------------

    def _free_starts(self, constraints: int) -> list[int]:
        """Symbols whose values at the start are independent unknowns."""
        free = [k for k, own in enumerate(self.statement.start) if not own.is_fixed]
        if not constraints or not free:
            return free
        d = self.statement.dynamics
        g, (time, x, _, _, p) = d.kernel.graph, d.arguments
        residual = ca.vertcat(g.position.residual, g.velocity.residual)
        table = ca.Function("rows", [time, x, p], [ca.densify(ca.jacobian(residual, x))])
        rows = table(self.guess.times[0], self.guess.nodes[0], self.guess.parameters)
        columns = np.asarray(rows, dtype=float)[:, free]
        dependent = [free[int(k)] for k in rank(columns.T).independent]
        return [k for k in free if k not in dependent]

    @property
    def unknown_names(self) -> tuple[str, ...]:
        """Free parameters, then starts."""
        d = self.statement.dynamics
        found = [d.parameters[k].name for k in self.layout.free]
        return (*found, *(d.state[k].name for k in self.starts))

    @property
    def _unknown_places(self) -> IntArray:
        return np.concatenate([self.layout.block(5), self.layout.block(0)[self.starts]]).astype(int)

    def unknown_values(self, found: SolvedProgram) -> Array:
        """The values of parameters and starts."""
        return np.asarray(found.raw.vector[self._unknown_places], dtype=float)

    def at_bounds(self, found: SolvedProgram) -> Array:
        """Which of them lie at a bound."""
        low, high, _, _ = self.program.bounds()
        places, values = self._unknown_places, self.unknown_values(found)
        width = 1e-7 * np.maximum(1.0, np.abs(values))
        near = (values - low[places] < width) | (high[places] - values < width)
        return np.asarray(near, dtype=int)

    # -- the regression ----------------------------------------------------------------------------

    def regression(self, found: SolvedProgram) -> tuple[Array, Array]:
        """Residuals of the data, and derivatives of all residuals beside the unknown inputs.

        Along the equations of motion A dv = 0, changes of parameters, starts and inputs determine
        those of all other unknowns.
        """
        vector = found.raw.vector
        residuals, rows = self._residuals(vector)
        own, inputs = self._unknown_places, self._input_places(self.unknown_inputs)
        chosen = np.concatenate([own, inputs])
        held = np.concatenate([chosen, self._held()])
        dependent = np.setdiff1d(np.arange(self.layout.size), held)
        A = self._equations(vector)
        by_rest = scipy.sparse.csc_matrix(A[:, dependent])
        moved = -scipy.sparse.linalg.splu(by_rest).solve(A[:, chosen].toarray())
        J = rows[:, chosen].toarray() + rows[:, dependent] @ moved
        J = np.vstack([J, self._input_rows(vector, len(own))])
        by_own, by_inputs = J[:, : len(own)], J[:, len(own) :]
        if by_inputs.shape[1]:
            basis, _ = np.linalg.qr(by_inputs)
            by_own = by_own - basis @ (basis.T @ by_own)
        return residuals, np.asarray(by_own, dtype=float)

    def _held(self) -> IntArray:
        """Unknowns of the program that are given: known inputs, fixed starts."""
        fixed = [k for k, own in enumerate(self.statement.start) if own.is_fixed]
        nodes = self.layout.block(0)[fixed]
        return np.concatenate([self._input_places(self.known), nodes]).astype(int)

    def _residuals(self, vector: Array) -> tuple[Array, scipy.sparse.csr_matrix]:
        """Residuals of the data that were measured, and their derivatives by all unknowns."""
        piece, q = self.samples, int(self.residuals.numel())
        table = ca.densify(ca.jacobian(self.residuals, piece.unknowns))
        function = piece.mapped("residuals", [], [ca.densify(self.residuals), ca.vec(table)])
        found, columns = function(piece.table, vector[piece.indices].T)
        values: Array = np.asarray(found, dtype=float).T
        count = piece.indices.shape[1]
        local = np.asarray(columns, dtype=float).T.reshape(piece.count, count, q)
        places = np.broadcast_to(piece.indices[:, :, None], local.shape)
        rows = np.arange(piece.count)[:, None, None] * q + np.arange(q)
        rows = np.broadcast_to(rows, local.shape)
        shape = (piece.count * q, self.layout.size)
        matrix = scipy.sparse.coo_matrix(
            (local.ravel(), (rows.ravel(), places.ravel())), shape=shape
        ).tocsr()
        here = self.data.measured
        return values[here], matrix[np.flatnonzero(here.ravel())]

    def _equations(self, vector: Array) -> scipy.sparse.csc_matrix:
        """The derivatives of the equations of motion, and of the constraints at the start."""
        jacobian = self.program.solution.solver.get_function("nlp_jac_g")
        _, found = jacobian(vector, np.zeros(0))
        matrix, ends = scipy.sparse.csc_matrix(found.sparse()), self.program.pieces[-1].size
        first = matrix.shape[0] - ends + len(self.statement.conditions)
        start = first + np.arange(self.program.ends.start.count)
        return scipy.sparse.csc_matrix(matrix[np.concatenate([self._motion_rows(), start])])

    def _motion_rows(self) -> IntArray:
        """The rows that are defects and balances."""
        layout, piece = self.layout, self.program.pieces[0]
        width = int(piece.rows.numel())
        own = layout.n * (layout.own + 1) + layout.s * layout.nw
        return (width * np.arange(layout.count)[:, None] + np.arange(own)).ravel()

    def _input_rows(self, vector: Array, own: int) -> Array:
        """Derivatives of residuals that are the prior of unknown inputs: a root of its Hessian."""
        inputs = self._input_places(self.unknown_inputs)
        if not len(inputs):
            return np.zeros((0, own))
        hessian = _prior_hessian(self.program, vector)[np.ix_(inputs, inputs)]
        values, basis = np.linalg.eigh(hessian)
        root = np.sqrt(np.clip(values, 0.0, None))[:, None] * basis.T
        return np.hstack([np.zeros((len(inputs), own)), root])


def _prior_hessian(program: NonlinearProgram, vector: Array) -> Array:
    """The second derivatives of the running cost, which is quadratic in the inputs."""
    piece = program.pieces[0]
    table = ca.densify(ca.hessian(piece.cost, piece.unknowns)[0])
    values = piece.mapped("hessian", [], [ca.vec(table)])(piece.table, vector[piece.indices].T)
    count = piece.indices.shape[1]
    local = np.asarray(values, dtype=float).T.reshape(piece.count, count, count)
    found = np.zeros((program.size, program.size))
    for places, own in zip(piece.indices, local, strict=True):
        found[np.ix_(places, places)] += own
    return found


def _samples(layout: Layout, data: Data, scale: Array) -> tuple[Piece, ca.SX]:
    """Half the squares of the residuals at each sample time, and the residuals themselves."""
    statement, scheme, g = layout.statement, layout.scheme, Globals(layout)
    d, n, s, own = statement.dynamics, layout.n, layout.s, layout.own
    names, q = StatedNames(d), len(data.quantities)
    column = d.lower([names.read(quantity, "data") for quantity in data.quantities])
    first, last = (time.low for time in statement.times)
    k, places = located(layout.edges, (data.t - first) / (last - first))
    x0, x1, xs = ca.SX.sym("x0", n), ca.SX.sym("x1", n), ca.SX.sym("xs", n, own)
    w, c = ca.SX.sym("w", layout.nw, s), ca.SX.sym("c", layout.m, scheme.degree + 1)
    along = [scheme.places, scheme.stages]
    widths = [own + 2, s, scheme.degree + 1, 1, q, q]
    parts = ca.vertsplit(ca.SX.sym("data", sum(widths)), np.cumsum([0, *widths]).tolist())
    at = ca.Function("sample", d.arguments, [column])(
        parts[3], ca.horzcat(x0, xs, x1) @ parts[0], (w @ parts[1]) * ca.DM(scale), c @ parts[2],
        g.parameters,
    )  # fmt: skip
    residuals = ca.if_else(parts[5] > 0, (at - parts[4]) * parts[5], 0)
    table = np.concatenate(
        [
            interpolation(along[0], places).T, interpolation(along[1], places).T,
            bernstein(scheme.degree, places).T, data.t[None, :],
            np.where(data.measured, data.values, 0.0).T,
            np.where(data.measured, 1.0 / data.sigma, 0.0).T,
        ]
    )  # fmt: skip
    N = layout.count
    nodes = layout.block(0).reshape(N + 1, n)
    indices = np.concatenate(
        [
            nodes[k], layout.block(1).reshape(N, -1)[k], nodes[k + 1],
            layout.block(2).reshape(N, -1)[k],
            layout.inputs_of(layout.shared).reshape(N, -1)[k],
            np.tile(g.places, (len(k), 1)),
        ],
        axis=1,
    ).astype(int)  # fmt: skip
    symbols = ca.vertcat(x0, ca.vec(xs), x1, ca.vec(w), ca.vec(c), g.symbols)
    cost = ca.sumsqr(residuals) / 2
    piece = Piece(ca.vertcat(*parts), symbols, ca.SX(0, 1), cost, table, indices)
    return piece, residuals
