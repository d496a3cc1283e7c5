"""An independent implementation of the motion of a system: accelerations by `differential_casadi`, SciPy's DOP853.

Nothing of a formulation, a kernel or an integrator of the library takes part, so that a wrong sign in any of them shows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da

from .differential_casadi import DOUBLES, Reference
from .differential_cases import State, statement_of

__all__ = ["IndependentFlow"]

RTOL, ATOL = 1e-11, 1e-13
#: A state whose constraints, of length one, are nearer to another rank than this is left out of comparisons.
NEAR = 2e-2
#: As is one that runs away.
LARGE = 100.0


class IndependentFlow:
    """The motions of a plain system without parameters.

    >>> x = da.coordinates("x")
    >>> flow = IndependentFlow(da.System([x], kinetic=x.dot**2/2, potential=x**2/2))
    >>> bool(np.allclose(flow.end(0.0, 1.0, [1.0, 0.0]), [np.cos(1), -np.sin(1)], atol=1e-10))
    True
    """

    def __init__(self, system: da.System) -> None:
        self.reference, self.n = Reference(statement_of(system)), len(system.coordinates)

    def rates(self, time: float, y: Any) -> Any:
        """(v, a) at a state (q, v)."""
        v = y[self.n :]
        return np.concatenate([v, self.reference.word(State(time, y[: self.n], v)).accelerations])

    def end(self, first: float, last: float, y: Any) -> Any:
        """The state (2n,) that another one becomes, nan where it does not get there."""
        found = solve_ivp(self.rates, (first, last), np.asarray(y, float), method="DOP853", rtol=RTOL, atol=ATOL)
        return found.y[:, -1] if found.success else np.full(2 * self.n, np.nan)

    def is_regular(self, first: float, last: float, y: Any) -> bool:
        """Whether a motion stays bounded, and its constraints well apart, at some of its points."""

        def room(_: float, state: Any) -> float:
            return LARGE - float(np.abs(state).max())

        room.terminal = True  # type: ignore[attr-defined]
        times = np.linspace(first, last, 9)
        found = solve_ivp(
            self.rates, (first, last), np.asarray(y, float), method="DOP853", rtol=1e-8, t_eval=times, events=room
        )
        if found.status != 0 or not np.abs(found.y).max() < LARGE:
            return False
        return all(self._is_generic(float(t), state) for t, state in zip(found.t, found.y.T, strict=True))

    def _is_generic(self, time: float, y: Any) -> bool:
        state = State(time, y[: self.n], y[self.n :])
        metric, _, rows, *_ = self.reference.gauss_problem(state, DOUBLES)
        if not np.all(np.isfinite(metric)) or np.linalg.cond(metric) > 1 / NEAR**3 or np.linalg.eigvalsh(metric)[0] <= 0:
            return False
        if not len(rows):
            return True
        scaled = np.linalg.solve(np.linalg.cholesky(metric), rows.T).T
        sizes = np.linalg.svd(scaled / np.linalg.norm(scaled, axis=1, keepdims=True), compute_uv=False)
        return bool(np.all((sizes > NEAR) | (sizes < 1e-12)))

    def growth(self, first: float, last: float, y: Any, random: np.random.Generator, size: float = 1e-6) -> float:
        """How much small differences of the start grow, at least 1."""
        plain = self.end(first, last, y)
        moved = np.asarray(y) + size * random.standard_normal(2 * self.n)
        return max(1.0, float(np.abs(self.end(first, last, moved) - plain).max() / size))

    def tangent(self, time: float, q: Any) -> Any:
        """An orthonormal basis (2n, d) of the directions that keep the constraints at rest, for constraints without time."""
        rest = State(time, q, np.zeros(self.n))
        p = np.zeros(self.n)
        blocks = self.reference._blocks(rest, p, DOUBLES)
        position, rows = blocks[9], blocks[4]
        zero = np.zeros_like(position)
        table = np.block([[position, zero], [np.zeros_like(rows), rows]])
        if not len(table):
            return np.eye(2 * self.n)
        _, sizes, basis = np.linalg.svd(table)
        return basis[int(np.sum(sizes > 1e-9)) :].T

    def on_constraints(self, time: float, y: Any) -> Any:
        """The state next to another one that obeys the constraints."""
        q, v = np.array(y[: self.n]), np.array(y[self.n :])
        for level in (8, 7):
            for _ in range(20):
                blocks = self.reference._blocks(State(time, q, v), np.zeros(self.n), DOUBLES)
                residual, rows = (blocks[8], blocks[9]) if level == 8 else (blocks[7], blocks[4])
                if not len(residual):
                    break
                step = np.linalg.lstsq(rows, residual, rcond=1e-9)[0]
                q, v = (q - step, v) if level == 8 else (q, v - step)
                if np.abs(step).max() < 1e-14:
                    break
        return np.concatenate([q, v])

    def monodromy(self, time: float, span: float, q: Any, size: float = 1e-4) -> Any:
        """The derivative of the flow over a span on the constraint manifold (d, d) at an equilibrium, by differences."""
        basis, still = self.tangent(time, q), np.concatenate([q, np.zeros(self.n)])
        columns = []
        for direction in basis.T:
            ends = [
                self.end(time, time + span, self.on_constraints(time, still + k * size * direction)) for k in (2, 1, -1, -2)
            ]
            columns.append((-ends[0] + 8 * ends[1] - 8 * ends[2] + ends[3]) / (12 * size))
        return basis.T @ np.array(columns).T
