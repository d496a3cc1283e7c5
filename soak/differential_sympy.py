"""SymPy's own mechanics as peers: LagrangesMethod on energies, KanesMethod on bodies.

Both are used as their documentation shows, up to `mass_matrix_full` and `forcing_full`; numbers are
put in by `lambdify`, and NumPy solves. A generalised force Q on a coordinate q is a force Q N.x at
a point whose velocity is q_dot N.x.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
import sympy
from sympy.physics import mechanics as me

import dalembert as da

from .differential_bodies import Bodies
from .differential_cases import State, Statement, Word

TIME = me.dynamicsymbols._t


class NotStatedError(Exception):
    """The peer has no way to state such a system."""


class Symbols:
    """Functions of time in the place of symbols, and back."""

    def __init__(self, statement: Statement) -> None:
        self.q = [sympy.Function(q.name)(TIME) for q in statement.coordinates]
        self.v = [q.diff(TIME) for q in self.q]
        self.plain_q = [sympy.Symbol(f"{q.name}_") for q in statement.coordinates]
        self.plain_v = [sympy.Symbol(f"{v.name}_") for v in statement.velocities]
        self.time = sympy.Symbol("t_")
        self.forth = dict(
            zip((*statement.coordinates, *statement.velocities), (*self.q, *self.v), strict=True)
        ) | {da.t: TIME}
        self.back = dict(zip((*self.v, *self.q), (*self.plain_v, *self.plain_q), strict=True)) | {
            TIME: self.time
        }

    def function(self, blocks: list[Any], more: Any = ()) -> Callable[..., Any]:
        """Blocks as a function of time, positions, velocities and further symbols."""
        table = self.back | {symbol: sympy.Symbol(f"more{k}_") for k, symbol in enumerate(more)}
        plain = [block.xreplace(table) for block in blocks]
        arguments = [self.time, self.plain_q, self.plain_v, [table[symbol] for symbol in more]]
        return sympy.lambdify(arguments, plain, modules="numpy", cse=True)  # type: ignore[no-any-return]


def lagrangian_of(statement: Statement) -> sympy.Expr:
    """L; where H is given, by Legendre's transformation, which is easy where H is quadratic in the
    momenta.
    """
    if statement.lagrangian is not None:
        return statement.lagrangian
    h, p = statement.hamiltonian, sympy.Matrix(statement.momenta)
    assert h is not None
    derivatives = sympy.Matrix([sympy.diff(h, symbol) for symbol in p])
    metric = derivatives.jacobian(p)
    if metric.free_symbols & set(statement.momenta):
        raise NotStatedError("the Hamiltonian is not quadratic in the momenta")
    v, rest = (
        sympy.Matrix(statement.velocities),
        derivatives.xreplace(dict.fromkeys(p, sympy.Integer(0))),
    )
    found = metric.LUsolve(v - rest)
    table = dict(zip(p, found, strict=True))
    return (v.T * found)[0] - h.xreplace(table)


class LagrangePeer:
    """LagrangesMethod: M a - A^T lambda = f with the derivatives of the constraints, as its
    `mass_matrix_full` has it.
    """

    def __init__(self, statement: Statement) -> None:
        if statement.image:
            raise NotStatedError("velocities that are the image of speeds")
        self.statement, self.symbols = statement, Symbols(statement)
        lagrangian, forth = lagrangian_of(statement), self.symbols.forth
        momenta = {
            p: sympy.diff(lagrangian, v)
            for p, v in zip(statement.momenta, statement.velocities, strict=True)
        }
        if any(row.level == "momentum" for row in statement.rows):
            momenta = {p: value.xreplace(forth) for p, value in momenta.items()}
        holonomic = [row for row in statement.rows if row.level == "position"]
        others = [row for row in statement.rows if row.level != "position"]
        self.names = [row.name for row in (*holonomic, *others)]
        frame = me.ReferenceFrame("N")
        self.method = me.LagrangesMethod(
            lagrangian.xreplace(forth),
            self.symbols.q,
            forcelist=generalised_forces(statement, self.symbols, frame),
            frame=frame,
            hol_coneqs=[row.expression.xreplace(forth) for row in holonomic],
            nonhol_coneqs=[row.expression.xreplace(momenta).xreplace(forth) for row in others],
        )
        self.method.form_lagranges_equations()
        prescribed = sympy.Matrix([force.xreplace(forth) for force in statement.prescribed])
        rows = (
            self.method.coneqs.jacobian(sympy.Matrix(self.symbols.v))
            if self.names
            else sympy.Matrix()
        )
        self.function = self.symbols.function(
            [self.method.mass_matrix_full, self.method.forcing_full, rows, prescribed]
        )

    def word(self, state: State) -> Word:
        """Accelerations and reactions."""
        n, m = len(state.q), len(self.names)
        matrix, right, rows, prescribed = self.function(state.time, state.q, state.v, [])
        solution = np.linalg.solve(np.asarray(matrix, float), np.asarray(right, float).ravel())
        multipliers, rows = solution[2 * n :], np.asarray(rows, float).reshape(m, n)
        each = {name: rows[k] * multipliers[k] for k, name in enumerate(self.names)}
        given = np.asarray(prescribed, float).ravel()
        dependent = m and np.linalg.matrix_rank(rows, tol=1e-9) < m
        return Word(
            solution[n : 2 * n],
            rows.T @ multipliers + given,
            {} if dependent or given.any() else each,
        )


def generalised_forces(
    statement: Statement, symbols: Symbols, frame: Any, potential: sympy.Expr | None = None
) -> list[Any]:
    """A force along N.x at a point for each coordinate on which one acts; None of them for a force
    that is zero.
    """
    found = []
    for k, force in enumerate(statement.forces):
        along = (
            force if potential is None else force - sympy.diff(potential, statement.coordinates[k])
        )
        if along == 0:
            continue
        point = me.Point(f"P{k}")
        point.set_vel(frame, symbols.v[k] * frame.x)
        found.append((point, along.xreplace(symbols.forth) * frame.x))
    return found


class KanePeer:
    """KanesMethod on particles and rigid bodies, with u = q_dot or with quasi-speeds u = Y(q) q_dot
    + z(q, t).

    The dependent speeds are those in which the rows are best conditioned at `state`. KanesMethod
    has no multipliers; with `reactions` the total one is M a - f of KanesMethod without the
    constraints.
    """

    def __init__(
        self, statement: Statement, bodies: Bodies, state: State, quasi: bool, reactions: bool
    ) -> None:
        if statement.image or any(row.level == "momentum" for row in statement.rows):
            raise NotStatedError("momenta, or an image of speeds")
        self.statement, self.symbols, self.bodies = statement, Symbols(statement), bodies
        self.frame = me.ReferenceFrame("N")
        n, forth, symbols = len(statement.coordinates), self.symbols.forth, self.symbols
        self.u = list(me.dynamicsymbols(f"u1:{n + 1}"))
        turned, shift = bodies.frame_of_speeds() if quasi else (sympy.eye(n), sympy.zeros(n, 1))
        self.speeds = (turned * sympy.Matrix(statement.velocities) + shift).xreplace(forth)
        rows = sympy.Matrix([self._rate(row) for row in statement.rows])
        self.function = self.reaction = None
        dependent = self._choice(rows, turned, state) if len(rows) else []
        method = self._method(rows, dependent)
        order = [*(k for k in range(n) if k not in dependent), *dependent]
        self.place = [order.index(k) for k in range(n)]
        rate = self.speeds.diff(TIME).xreplace({v.diff(TIME): sympy.Integer(0) for v in symbols.v})
        values = [
            method.mass_matrix_full,
            method.forcing_full,
            turned.xreplace(forth),
            rate,
            self.speeds,
        ]
        self.function = symbols.function(values, self.u)
        if reactions and len(rows) and not quasi:
            free = self._method(sympy.Matrix(), [])
            self.reaction = symbols.function([free.mass_matrix, free.forcing], self.u)

    def _rate(self, row: Any) -> sympy.Expr:
        expression = row.expression.xreplace(self.symbols.forth)
        return expression.diff(TIME) if row.level == "position" else expression

    def _choice(self, rows: Any, turned: Any, state: State) -> list[int]:
        """The columns with the largest determinant at a state."""
        in_v = self.symbols.function(
            [rows.jacobian(sympy.Matrix(self.symbols.v)), turned.xreplace(self.symbols.forth)]
        )
        matrix, frame = (
            np.asarray(block, float) for block in in_v(state.time, state.q, state.v, [])
        )
        in_speeds = matrix @ np.linalg.inv(frame)
        m, n = in_speeds.shape
        if m >= n:
            raise NotStatedError("no independent speed is left")
        return list(
            max(
                combinations(range(n), m),
                key=lambda columns: abs(np.linalg.det(in_speeds[:, list(columns)])),
            )
        )

    def _method(self, rows: Any, dependent: list[int]) -> Any:
        free = [u for k, u in enumerate(self.u) if k not in dependent]
        kinematics = [u - value for u, value in zip(self.u, self.speeds, strict=True)]
        method = me.KanesMethod(
            self.frame,
            q_ind=self.symbols.q,
            u_ind=free,
            u_dependent=[self.u[k] for k in dependent],
            kd_eqs=kinematics,
            velocity_constraints=list(rows),
        )
        loads = generalised_forces(self.statement, self.symbols, self.frame, self.bodies.potential)
        parts, weights = self.bodies.in_sympy(self.symbols.forth, self.frame)
        method.kanes_equations(parts, [*loads, *weights])
        return method

    def word(self, state: State) -> Word:
        """Accelerations q_ddot = Y^-1 (u_dot - Y_dot q_dot - z_dot), and the total reaction where
        it was asked for.
        """
        assert self.function is not None
        n = len(state.q)
        empty = [0.0] * n
        *_, speeds = self.function(state.time, state.q, state.v, empty)
        u = np.asarray(speeds, float).ravel()
        matrix, right, turned, rate, _ = self.function(state.time, state.q, state.v, u)
        solution = np.linalg.solve(np.asarray(matrix, float), np.asarray(right, float).ravel())
        rates = solution[n:][self.place]
        a = np.linalg.solve(np.asarray(turned, float), rates - np.asarray(rate, float).ravel())
        if self.reaction is None:
            return Word(a)
        metric, force = self.reaction(state.time, state.q, state.v, u)
        return Word(a, np.asarray(metric, float) @ a - np.asarray(force, float).ravel())


def sign_of_multipliers() -> float:
    """The multiplier that LagrangesMethod's `eom` asks for, over the one that its
    `mass_matrix_full` gives, for a pendulum.
    """
    x, y = me.dynamicsymbols("x y")
    lagrangian = (x.diff(TIME) ** 2 + y.diff(TIME) ** 2) / 2 - 10 * y
    method = me.LagrangesMethod(lagrangian, [x, y], hol_coneqs=[(x**2 + y**2 - 1) / 2])
    equations = method.form_lagranges_equations()
    at = {x.diff(TIME): 0, y.diff(TIME): 0, x: 0, y: -1}
    solved = method.mass_matrix_full.subs(at).LUsolve(method.forcing_full.subs(at))
    rates = {x.diff(TIME, 2): solved[2], y.diff(TIME, 2): solved[3]}
    asked = sympy.solve(equations.subs(rates).subs(at)[1], method.lam_vec[0])[0]
    return float(asked / solved[4])
