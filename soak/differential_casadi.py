"""An independent implementation that is written straight in CasADi: Lagrange's equations with
multipliers, derivatives by its own differentiation.

For L(q, v, t) with rows A(q, v, t) a = b,

    M a = f + A^T mu,   M = L_vv,   f = Q + L_q - L_vq v - L_vt,

for H(q, p, t) the same with M = H_pp^-1 and f = Q - H_q + M (H_pq v + H_pt). NumPy solves it, by
least squares where rows depend on each other. The very same graph can be walked in numbers of 50
digits, which is the third opinion on a disagreement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import mpmath
import numpy as np
import sympy

import dalembert as da

from .differential_cases import State, Statement, Word

DIGITS = 50
#: Rows that others make up to this are dropped: the numbers of a statement are doubles, so rows
#: depend to their digits.
RANK = mpmath.mpf(10) ** -11
_WORDS = (
    "sin",
    "cos",
    "tan",
    "sqrt",
    "exp",
    "log",
    "asin",
    "acos",
    "atan",
    "atan2",
    "sinh",
    "cosh",
    "tanh",
    "sign",
)
_FUNCTIONS = {name: getattr(ca, name) for name in _WORDS} | {
    "Abs": ca.fabs,
    "fabs": ca.fabs,
    "pi": np.pi,
    "max": ca.fmax,
}


class Reference:
    """The equations of a statement as CasADi has them."""

    def __init__(self, statement: Statement) -> None:
        self.statement = statement
        n = len(statement.coordinates)
        t, q, v, p = ca.SX.sym("t"), ca.SX.sym("q", n), ca.SX.sym("v", n), ca.SX.sym("p", n)
        u = ca.SX.sym("u", max(1, len(statement.speeds)))
        self.symbols = [
            da.t,
            *statement.coordinates,
            *statement.velocities,
            *statement.momenta,
            *statement.speeds,
        ]
        self.values = [
            t,
            *(s[k] for s in (q, v, p) for k in range(n)),
            *(u[k] for k in range(len(statement.speeds))),
        ]
        energy = statement.lagrangian if statement.hamiltonian is None else statement.hamiltonian
        groups = (
            [energy],
            statement.forces,
            statement.prescribed,
            [row.expression for row in statement.rows],
            statement.image,
        )
        energy, forces, prescribed, written, image = self.read(groups)
        if statement.hamiltonian is None:
            inertia, momenta = self._by_lagrangian(energy, t, q, v, forces), ca.gradient(energy, v)
        else:
            inertia, momenta = self._by_hamiltonian(energy, t, q, v, p, forces), p
        rows = self._rows(written, t, q, v, p, momenta)
        frame = ca.jacobian(image, u)
        turning = ca.jtimes(image, q, v) + ca.jacobian(image, t)
        blocks = [*inertia, *rows, prescribed, frame, turning]
        self.function = ca.Function(
            "blocks", [t, q, v, p, u], [ca.densify(ca.SX(block)) for block in blocks]
        )

    def read(self, groups: Any) -> list[Any]:
        """Groups of expressions of SymPy as columns of CasADi, by SymPy's own writer of Python
        functions.
        """
        flat = [expression for group in groups for expression in group]
        values = iter(sympy.lambdify(self.symbols, flat, modules=[_FUNCTIONS])(*self.values))
        return [
            ca.vertcat(*(ca.SX(next(values)) for _ in group)) if group else ca.SX(0, 1)
            for group in groups
        ]

    def _by_lagrangian(self, lagrangian: Any, t: Any, q: Any, v: Any, forces: Any) -> list[Any]:
        """M, f, and nothing of a Hamiltonian."""
        momenta = ca.gradient(lagrangian, v)
        force = (
            forces + ca.gradient(lagrangian, q) - ca.jtimes(momenta, q, v) - ca.jacobian(momenta, t)
        )
        return [ca.jacobian(momenta, v), force, ca.SX(0, 1), ca.SX(0, 1)]

    def _by_hamiltonian(
        self, hamiltonian: Any, t: Any, q: Any, v: Any, p: Any, forces: Any
    ) -> list[Any]:
        """H_pp, Q - H_q, H_p, and H_pq v + H_pt."""
        rates = ca.gradient(hamiltonian, p)
        drift = ca.jtimes(rates, q, v) + ca.jacobian(rates, t)
        return [ca.jacobian(rates, p), forces - ca.gradient(hamiltonian, q), rates, drift]

    def _rows(self, written: Any, t: Any, q: Any, v: Any, p: Any, momenta: Any) -> list[Any]:
        """Residuals at each level, rows in v and in p, and right sides; a momentum constraint of L
        is one of velocities.
        """
        n, levels = q.numel(), [row.level for row in self.statement.rows]
        residuals, rows, right, in_momenta = [], [], [], []
        for k, level in enumerate(levels):
            value = written[k]
            if level == "position":
                value = ca.jtimes(value, q, v) + ca.jacobian(value, t)
            elif level == "momentum" and self.statement.hamiltonian is None:
                value = ca.substitute(value, p, momenta)
            residuals.append(value)
            along = ca.jtimes(value, q, v) + ca.jacobian(value, t)
            right.append(-along)
            rows.append(ca.jacobian(value, v))
            in_momenta.append(ca.jacobian(value, p))
        position = ca.vertcat(
            *(written[k] for k, level in enumerate(levels) if level == "position")
        )
        stacked = [
            ca.vertcat(*x) if x else ca.SX(0, n if x in (rows, in_momenta) else 1)
            for x in (rows, in_momenta, right)
        ]
        return [*stacked, ca.vertcat(*residuals), position, ca.jacobian(position, q)]

    # -- one state ---------------------------------------------------------------------------------

    def gauss_problem(self, state: State, arithmetic: Arithmetic) -> tuple[Any, Any, Any, Any, Any]:
        """M, f, A, b of M a = f + A^T mu, A a = b, and the prescribed part of the reaction, in one
        arithmetic or another.
        """
        p = np.zeros(len(state.q))
        if self.statement.hamiltonian is not None:
            p = self._momenta(state, arithmetic)
        metric, force, _, drift, rows, in_momenta, right, _, _, _, prescribed, *_ = self._blocks(
            state, p, arithmetic
        )
        if self.statement.hamiltonian is not None:
            metric = arithmetic.inverse(metric)
            force = force + metric @ drift
            turned = in_momenta @ metric
            right = right + turned @ drift
            rows = rows + turned
        return metric, force, rows, right, prescribed

    def _blocks(self, state: State, p: Any, arithmetic: Arithmetic) -> list[Any]:
        speeds = state.speeds if len(state.speeds) else np.zeros(1)
        blocks = arithmetic.evaluate(self.function, [[state.time], state.q, state.v, p, speeds])
        matrices = (0, 4, 5, 9, 11)
        return [block if k in matrices else block.reshape(-1) for k, block in enumerate(blocks)]

    def _momenta(self, state: State, arithmetic: Arithmetic) -> Any:
        """The momenta at which H_p = v, by Newton's method: one step where H is quadratic in
        them.
        """
        p = np.zeros(len(state.q)) * state.q
        for _ in range(40):
            metric, _, rates, *_ = self._blocks(state, p, arithmetic)
            step = arithmetic.inverse(metric) @ (state.v - rates)
            p = p + step
            if max(abs(x) for x in step) < arithmetic.small:
                break
        return p

    def word(self, state: State) -> Word:
        """Accelerations and reactions in double precision."""
        metric, force, rows, right, prescribed = self.gauss_problem(state, DOUBLES)
        n, m = len(force), len(right)
        if self.statement.image:
            return self._by_image(state, metric, force)
        matrix = np.block([[metric, -rows.T], [rows, np.zeros((m, m))]])
        scale = 1.0 / np.maximum(1e-300, np.abs(matrix).max(axis=1))
        solution = np.linalg.lstsq(
            matrix * scale[:, None], np.concatenate([force, right]) * scale, rcond=1e-12
        )[0]
        multipliers = solution[n:]
        dependent = m and np.linalg.matrix_rank(rows, tol=1e-9) < m
        each = (
            {}
            if dependent
            else {row.name: rows[k] * multipliers[k] for k, row in enumerate(self.statement.rows)}
        )
        return Word(
            solution[:n], rows.T @ multipliers + prescribed, {} if prescribed.any() else each
        )

    def _by_image(self, state: State, metric: Any, force: Any) -> Word:
        """With v = E u: E^T M E u_dot = E^T (f - M E_dot u); what is left over is the reaction."""
        *_, frame, turning = self._blocks(state, np.zeros(len(state.q)), DOUBLES)
        rates = np.linalg.lstsq(
            frame.T @ metric @ frame, frame.T @ (force - metric @ turning), rcond=1e-12
        )[0]
        a = frame @ rates + turning
        return Word(a, metric @ a - force)

    def exactly(self, state: State) -> Word:
        """The same in 50 digits, at the consistent state next to the given one."""
        with mpmath.workdps(DIGITS):
            exact = EXACT
            refined = self._refined(
                State(
                    mpmath.mpf(state.time),
                    *(
                        np.array([mpmath.mpf(float(x)) for x in y])
                        for y in (state.q, state.v, state.speeds)
                    ),
                ),
                exact,
            )
            metric, force, rows, right, prescribed = self.gauss_problem(refined, exact)
            kept = exact.independent(rows)
            n, m = len(force), len(kept)
            matrix = mpmath.zeros(n + m, n + m)
            for i in range(n):
                for j in range(n):
                    matrix[i, j] = metric[i, j]
                for j, k in enumerate(kept):
                    matrix[i, n + j], matrix[n + j, i] = -rows[k, i], rows[k, i]
            solution = mpmath.lu_solve(matrix, mpmath.matrix([*force, *(right[k] for k in kept)]))
            reaction = [
                prescribed[i] + sum(rows[k, i] * solution[n + j] for j, k in enumerate(kept))
                for i in range(n)
            ]
            each = {
                self.statement.rows[k].name: [float(x * solution[n + j]) for x in rows[k]]
                for j, k in enumerate(kept)
            }
            single = each if len(kept) == len(right) and not prescribed.any() else {}
            return Word(
                np.array([float(x) for x in solution[:n]]),
                np.array([float(x) for x in reaction]),
                single,
            )

    def _refined(self, state: State, exact: Arithmetic) -> State:
        """Newton's method on the constraints of positions, then of velocities, with least steps."""
        if not self.statement.rows:
            return state
        q, v = state.q, state.v
        for _ in range(4):
            here = State(state.time, q, v, state.speeds)
            *_, residual, rows = self._blocks(here, np.zeros(len(q)), exact)[:10]
            q = q - exact.least_step(rows, residual) if len(residual) else q
        for _ in range(5):
            here = State(state.time, q, v, state.speeds)
            p = (
                self._momenta(here, exact)
                if self.statement.hamiltonian is not None
                else np.zeros(len(q))
            )
            blocks = self._blocks(here, p, exact)
            rows = (
                blocks[4]
                if self.statement.hamiltonian is None
                else blocks[4] + blocks[5] @ exact.inverse(blocks[0])
            )
            v = v - exact.least_step(rows, blocks[7])
        return State(state.time, q, v, state.speeds)


class Arithmetic:
    """Double precision: how a function is evaluated and small matrices are inverted."""

    small: Any = 1e-15

    def evaluate(self, function: Any, inputs: list[Any]) -> list[Any]:
        return [
            np.asarray(block, dtype=float)
            for block in function.call([ca.DM(list(map(float, x))) for x in inputs])
        ]

    def inverse(self, matrix: Any) -> Any:
        return np.linalg.inv(matrix)

    def independent(self, rows: Any) -> list[int]:
        raise NotImplementedError

    def least_step(self, rows: Any, residual: Any) -> Any:
        raise NotImplementedError


class Digits(Arithmetic):
    """Fifty digits: the instructions of the function one by one, in mpmath."""

    small = mpmath.mpf(10) ** (5 - DIGITS)

    def evaluate(self, function: Any, inputs: list[Any]) -> list[Any]:
        """Walks through the graph of a function of CasADi."""
        work: dict[int, Any] = {}
        outputs = [
            np.full(function.size_out(k), mpmath.mpf(0), dtype=object)
            for k in range(function.n_out())
        ]
        for k in range(function.n_instructions()):
            code, into, of = (
                function.instruction_id(k),
                function.instruction_output(k),
                function.instruction_input(k),
            )
            if code == ca.OP_OUTPUT:
                block = outputs[into[0]]
                place, rows = into[1], block.shape[0]
                block[place % rows, place // rows] = work[of[0]]
            elif code == ca.OP_INPUT:
                work[into[0]] = mpmath.mpf(inputs[of[0]][of[1]])
            elif code == ca.OP_CONST:
                work[into[0]] = mpmath.mpf(function.instruction_constant(k))
            else:
                work[into[0]] = _OPERATIONS[code](*(work[x] for x in of))
        return outputs

    def inverse(self, matrix: Any) -> Any:
        return np.array((mpmath.matrix(matrix.tolist()) ** -1).tolist(), dtype=object).reshape(
            matrix.shape
        )

    def independent(self, rows: Any) -> list[int]:
        """The first rows that are not made of those before, by Gram and Schmidt."""
        kept: list[int] = []
        basis: list[Any] = []
        for k, row in enumerate(rows):
            rest = row.copy()
            for one in basis + basis:
                rest = rest - one * (one @ rest)
            size = mpmath.sqrt(rest @ rest)
            if size > RANK * mpmath.sqrt(row @ row):
                kept.append(k)
                basis.append(rest / size)
        return kept

    def least_step(self, rows: Any, residual: Any) -> Any:
        """The smallest step that takes independent residuals away."""
        kept = self.independent(rows)
        part = rows[kept]
        weights = self.inverse(part @ part.T) @ residual[kept]
        return part.T @ weights


_OPERATIONS: dict[int, Callable[..., Any]] = {
    ca.OP_ADD: lambda x, y: x + y,
    ca.OP_SUB: lambda x, y: x - y,
    ca.OP_MUL: lambda x, y: x * y,
    ca.OP_DIV: lambda x, y: x / y,
    ca.OP_NEG: lambda x: -x,
    ca.OP_SQ: lambda x: x * x,
    ca.OP_TWICE: lambda x: 2 * x,
    ca.OP_INV: lambda x: 1 / x,
    ca.OP_POW: lambda x, y: x**y,
    ca.OP_CONSTPOW: lambda x, y: x**y,
    ca.OP_SQRT: mpmath.sqrt,
    ca.OP_SIN: mpmath.sin,
    ca.OP_COS: mpmath.cos,
    ca.OP_TAN: mpmath.tan,
    ca.OP_EXP: mpmath.exp,
    ca.OP_LOG: mpmath.log,
    ca.OP_ATAN2: mpmath.atan2,
    ca.OP_FABS: abs,
    ca.OP_SIGN: mpmath.sign,
    ca.OP_ASSIGN: lambda x: x,
}
DOUBLES, EXACT = Arithmetic(), Digits()
