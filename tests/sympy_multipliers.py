"""Lagrange's equations with multipliers by SymPy and NumPy alone: no code of the library runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import sympy


class Multipliers:
    """M a = f + A^T mu, A a = b of L(q, v) with rows linear in v, as functions of numbers."""

    def __init__(
        self,
        coordinates: Sequence[sympy.Symbol],
        velocities: Sequence[sympy.Symbol],
        lagrangian: sympy.Expr,
        constraints: Sequence[sympy.Expr] = (),
        values: Mapping[str, float] | None = None,
        forces: Mapping[sympy.Symbol, sympy.Expr] | None = None,
    ) -> None:
        q, v, self.n = list(coordinates), list(velocities), len(coordinates)
        numbers = values or {}

        def fixed(expression: sympy.Expr) -> sympy.Expr:
            return expression.subs(
                {s: numbers[s.name] for s in expression.free_symbols if s.name in numbers}
            )

        L = fixed(lagrangian)
        p = sympy.Matrix([L.diff(x) for x in v])
        mass = p.jacobian(v)
        push = sympy.Matrix([(forces or {}).get(x, sympy.Integer(0)) for x in q])
        force = sympy.Matrix([L.diff(x) for x in q]) - p.jacobian(q) * sympy.Matrix(v)
        force = force + push.applyfunc(fixed)
        rows = sympy.Matrix([fixed(c) for c in constraints]) if constraints else sympy.zeros(0, 1)
        A = rows.jacobian(v) if constraints else sympy.zeros(0, self.n)
        b = -(A * sympy.Matrix(v)).jacobian(q) * sympy.Matrix(v) if constraints else rows
        self._function = sympy.lambdify([q, v], [mass, force, A, b], "numpy", cse=True)

    def accelerations(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """a (n,) at a consistent state."""
        mass, force, A, b = (np.array(x, dtype=float) for x in self._function(q, v))
        m = A.shape[0] if A.size else 0
        if not m:
            return np.linalg.solve(mass, force).ravel()
        matrix = np.block([[mass, -A.T], [A, np.zeros((m, m))]])
        return np.linalg.solve(matrix, np.vstack([force, b])).ravel()[: self.n]

    def allowed(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The velocity that the rows allow nearest to v."""
        A = np.array(self._function(q, v)[2], dtype=float)
        return v - np.linalg.pinv(A) @ (A @ v) if A.size else v

    def rates(self, _: float, y: np.ndarray) -> np.ndarray:
        """For SciPy's integrators."""
        q, v = y[: self.n], y[self.n :]
        return np.concatenate([v, self.accelerations(q, v)])


def of_system(system: object, values: Mapping[str, float]) -> Multipliers:
    """The same from the expressions that a system was stated with."""
    lagrangian = system.lagrangian  # type: ignore[attr-defined]
    rows = [c.expression for c in system.constraints]  # type: ignore[attr-defined]
    forces = dict(system.forces)  # type: ignore[attr-defined]
    inputs = {u: e for u, e in system.inputs.items() if e is not None}  # type: ignore[attr-defined]
    forces = {q: sympy.sympify(e).subs(inputs) for q, e in forces.items()}
    q, v = system.coordinates, system.velocities  # type: ignore[attr-defined]
    return Multipliers(q, v, lagrangian, rows, values, forces)
