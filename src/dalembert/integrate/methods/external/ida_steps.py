r"""Steps by IDA of SUNDIALS on the stabilised index-2 formulation of a constrained system.

With positions q, velocities v, holonomic constraints g(t, q) = 0 with G = g_q, and all constraints
at velocity level phi(t, q, v) = 0 with A = phi_v, Gear, Gupta and Leimkuhler add multipliers eta to
the kinematics, so that both levels can be demanded at once:

    q_dot = v + G^T eta
    M v_dot = f + A^T lambda
    0 = g(t, q)
    0 = phi(t, q, v)

(C. W. Gear, B. Leimkuhler, G. K. Gupta: Automatic integration of Euler-Lagrange equations with
constraints, Journal of Computational and Applied Mathematics 12-13 (1985) 77-90.) On solutions eta
= 0. The multipliers are followed as derivatives of what IDA integrates, eta = H_dot and lambda =
Lambda_dot: the formulas are the same, their unknowns have the size of impulses, and the index is
one less (C. W. Gear: Differential-algebraic equation index transformations, SIAM Journal on
Scientific and Statistical Computing 9 (1988) 39-47). The residual and its derivative are exact,
from the graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np

from ....codegen.program import Program, straight_line
from ....runtime.gauss.constrained_solve import solve
from ....runtime.kernel import Kernel
from ....runtime.kernel_derivatives import ReferencePoint, independent_rows
from .native_program import NativeProgram
from .sundials import SundialsSteps, sundials_module

if TYPE_CHECKING:
    from ....runtime.context import Context
    from ....typing import Array
    from .external_task import ExternalTask

__all__ = ["IdaSteps"]

#: The tolerance of the multipliers, whose errors would only shorten the steps.
NOT_TESTED = 1e10


class Formulation(NamedTuple):
    """The programs of the formulation, for some independent rows.

    `residual` is F(x, x_dot) (N), `derivative` is F_x + c F_(x_dot) (N x N by columns), with w =
    (x_dot, c); neither depends on the integrated multipliers in x. `blocks` are G, f, A, b of the
    Gauss problem, for a start.
    """

    residual: Program
    derivative: Program
    blocks: Any
    size: int


def formulation(
    kernel: Kernel, position: tuple[int, ...], velocity: tuple[int, ...]
) -> Formulation:
    """The formulation of a kernel in the form lagrange, kept with it."""
    return kernel.cache.get(
        ("ggl", position, velocity), lambda: _formulated(kernel, list(position), list(velocity))
    )


def _formulated(kernel: Kernel, position: list[int], velocity: list[int]) -> Formulation:
    graph, system = kernel.graph, kernel.equations.system
    q, v = kernel.algebra.vector(system.coordinates), kernel.algebra.vector(system.velocities)
    n, k, m = q.numel(), len(position), len(velocity)
    rate, c = ca.SX.sym("rate", 2 * n + k + m), ca.SX.sym("c")
    q_dot, v_dot, eta, multipliers = ca.vertsplit(rate, [0, n, 2 * n, 2 * n + k, 2 * n + k + m])
    level, both = graph.position.residual[position], graph.velocity.residual[velocity]
    rows = graph.rows[velocity, :]
    residual = ca.vertcat(
        q_dot - v - ca.jacobian(level, q).T @ eta,
        graph.metric @ v_dot - graph.force - rows.T @ multipliers,
        level,
        both,
    )
    state = ca.vertcat(q, v)
    by_state = ca.horzcat(ca.jacobian(residual, state), ca.SX(residual.numel(), k + m))
    inputs = kernel._inputs()[:-1]
    return Formulation(
        straight_line("ggl_residual", [*inputs, rate], [residual]),
        straight_line(
            "ggl_derivative",
            [*inputs, ca.vertcat(rate, c)],
            [by_state + c * ca.jacobian(residual, rate)],
        ),
        ca.Function(
            "ggl_blocks", kernel._inputs(), [graph.metric, graph.force, graph.rows, graph.right]
        ),
        int(residual.numel()),
    )


class IdaSteps(SundialsSteps):
    """See `run.Steps`. The formulation keeps the constraints; projections are not given back."""

    def __init__(self, task: ExternalTask, context: Context) -> None:
        super().__init__(task, context)
        self._kind = sundials_module("ida").IDA
        self._kernel = context.kernel

    def begin(self, t: float, y: Array) -> None:
        """Stand at a consistent state, with the multipliers that belong to it."""
        kernel, parameters = self._kernel, np.asarray(self.task.parameters, dtype=float)
        self.t, self.y = t, y
        kept = independent_rows(kernel, ReferencePoint(t, y, parameters))
        made = formulation(kernel, kept.position, kept.velocity)
        self._residual = NativeProgram(kernel, made.residual, parameters)
        self._derivative = NativeProgram(kernel, made.derivative, parameters)
        self._size, ns = made.size, kernel.n_state
        rates = self.context.rates(t, y)
        start, derivative = np.zeros(made.size), np.zeros(made.size)
        start[:ns], derivative[:ns] = y, rates
        count = len(kept.velocity)
        if count:
            derivative[made.size - count :] = self._multipliers(made, t, y, list(kept.velocity))
        atol = np.concatenate([self.atol, np.full(made.size - ns, NOT_TESTED)])
        options = self._options() | {"atol": atol, "jacfn": self._fill_derivative}
        self._solver = self._made(self._kind, self._fill_residual, (t, start, derivative), options)

    def _multipliers(self, made: Formulation, t: float, y: Array, kept: list[int]) -> Any:
        blocks = made.blocks(
            t, y, np.asarray(self.task.parameters, dtype=float), np.zeros(0), np.zeros(0)
        )
        metric, force, rows, right = (np.asarray(block, dtype=float) for block in blocks)
        definite = bool(self._kernel.equations.is_definite)
        return solve(metric, force, rows[kept], right[kept], definite=definite).multipliers

    def evaluate_on_constraints(self, y: Array) -> None:
        """Nothing: the states of the integrator are its own."""

    def _fill_residual(self, t: float, x: Array, rate: Array, residual: Array) -> None:
        self.evaluations += 1
        residual[:] = self._residual(t, x[: self._kernel.n_state], rate)

    def _fill_derivative(
        self, t: float, x: Array, rate: Array, residual: Array, c: float, derivative: Array
    ) -> None:
        derivative[:, :] = (
            self._derivative(t, x[: self._kernel.n_state], rate, c)
            .reshape(self._size, self._size)
            .T
        )
