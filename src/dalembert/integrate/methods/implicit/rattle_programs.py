"""RATTLE: what it needs of a system, and the programs of its steps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ....algebra.sparse_factor import SparseFactor, columns_of, dense
from ....codegen.passes.unrolled import unrolled_elimination
from ....codegen.program import Program, straight_line
from ....errors import FormError
from ....formulations.equations import Equations
from ....model.symbols import t
from ....model.work_clock import work
from ....runtime.kernel import Kernel, kernel_of
from ..compositions import composition
from ..fixed.fixed_steps import method_step
from ..hypotheses import refuse_dependent_constraints, refuse_other_constraints
from ..method import FixedStep, Method
from .rattle import rattle_step

if TYPE_CHECKING:
    from ..fixed.fixed_run import FixedRun

__all__ = ["METHODS", "PositionSteps", "position_steps"]


@dataclass(frozen=True)
class PositionSteps:
    """The programs of a system for steps by positions; n coordinates, m constraints.

    Attributes
    ----------
    fields, substep, velocity : int
        Addresses of the programs (q) -> a (n), entries of D = M^-1 G^T; of one RATTLE step but for
        the velocities at its end, see `_substep`; and (q, v) -> what the velocities lose (n).
    entries : int
        How many entries of D are not zero.
    conditions : int
        m.
    """

    fields: int
    substep: int
    velocity: int
    entries: int
    conditions: int


def check_position_steps(equations: Equations, method: str) -> None:
    """Refuse what steps by positions cannot follow."""
    system = equations.system
    if equations.form != "lagrange":
        raise FormError(
            f"The method {method} takes its steps in positions and velocities",
            seen=f'the form "{equations.form}"',
            remedy='use form="lagrange", for a system stated by its Lagrangian',
        )
    refuse_other_constraints(equations, method)
    refuse_dependent_constraints(equations, method)
    kernel = kernel_of(equations, system.parameters)
    algebra, graph = kernel.algebra, kernel.graph
    q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
    if algebra.depends(graph.metric, ca.vertcat(q, v, algebra.vector([t]))):
        raise FormError(
            f"The method {method} needs a constant mass matrix",
            seen="one that depends on the state or on time",
            remedy=(
                "state the system in Cartesian coordinates with constraints, or use method gauss4"
            ),
        )
    if algebra.depends(graph.force, v) or kernel.free_inputs:
        raise FormError(
            f"The method {method} needs forces that depend on positions and time alone",
            seen=(
                "inputs given as functions"
                if kernel.free_inputs
                else "a force that depends on velocities"
            ),
            remedy="use method gauss4, or dop853 where there are constraints",
        )


def position_steps(kernel: Kernel) -> PositionSteps:
    """The programs, compiled once and kept with the kernel."""
    return kernel.cache.get("position steps", lambda: _compiled(kernel))


@work("compile")
def _compiled(kernel: Kernel) -> PositionSteps:
    model = _Model(kernel)
    fields = straight_line("position_fields", kernel._inputs(), [model.acceleration, model.entries])
    substep = _substep(model)
    velocity = 0
    if model.m:
        derivative, directions = model.derivative, model.directions
        lost = directions @ unrolled_elimination(
            ca.sparsify(derivative @ directions), kernel.graph.velocity.residual
        )
        velocity = kernel.load_program(
            straight_line("velocity_loss", kernel._inputs(), [ca.densify(lost)])
        )
    return PositionSteps(
        kernel.load_program(fields),
        kernel.load_program(substep),
        velocity,
        int(model.entries.numel()),
        int(model.m),
    )


class _Model:
    """Graph expressions of a system: g (m), G (m x n), a (n) and D = M^-1 G^T (n x m), sparse."""

    def __init__(self, kernel: Kernel) -> None:
        graph, none = kernel.graph, ca.SX(0, 1)
        self.kernel = kernel
        self.q = kernel.algebra.vector(kernel.equations.system.coordinates)
        self.v = kernel.algebra.vector(kernel.equations.system.velocities)
        self.residual, n = graph.position.residual, self.q.numel()
        self.m = self.residual.numel()
        self.derivative = ca.jacobian(self.residual, self.q)
        mass = SparseFactor(ca.sparsify(graph.metric))
        self.acceleration = dense(mass.solve(columns_of(ca.sparsify(graph.force))[0]), n)
        columns = [dense(mass.solve(row), n) for row in columns_of(ca.sparsify(self.derivative.T))]
        self.directions = ca.sparsify(ca.horzcat(*columns)) if self.m else ca.SX(n, 0)
        entries: list[Any] = self.directions.nonzeros()
        self.entries = ca.vertcat(*entries) if entries else none

    def at(self, expression: ca.SX, place: ca.SX) -> ca.SX:
        """An expression of q at another place."""
        return ca.substitute(expression, self.q, place)


def _substep(model: _Model) -> Program:
    """One step of size h from y + low + d, where d is what a composition has added so far, with two
    corrections of it.

    In: t at the end, y (2n), low (2n) in the place of the inputs, and w = d (2n), a (n), entries of
    D, multipliers l (m), h, 0. Out, in the same order: d, a, entries of D at the new position, l,
    the last correction of the position, and the size of it.
    """
    kernel, q, m = model.kernel, model.q, model.m
    n, count = q.numel(), model.entries.numel()
    low, d, a, entries = (
        ca.SX.sym("low", 2 * n),
        ca.SX.sym("d", 2 * n),
        ca.SX.sym("a", n),
        ca.SX.sym("e", count),
    )
    multipliers, h, spare = ca.SX.sym("l", m), ca.SX.sym("h"), ca.SX.sym("s")
    found, along = (
        multipliers,
        ca.SX(model.directions.sparsity(), entries) if count else ca.SX(n, m),
    )
    push = d[n:] + h / 2 * a
    free = d[:n] + h * (model.v + (low[n:] + push)) - along @ found
    place = q + (low[:n] + free)
    change = ca.SX(n, 1)
    for _ in range(2 if m else 0):
        more = unrolled_elimination(
            ca.sparsify(model.at(model.derivative, place) @ along), model.at(model.residual, place)
        )
        found, change = found + more, along @ more
        free = free - change
        place = q + (low[:n] + free)
    push = push - along @ found / h
    fields = model.at(ca.vertcat(model.acceleration, model.entries), place)
    push = push + h / 2 * fields[:n]
    results = [free, push, fields, found, _largest(change), _largest(place)]
    time, y, parameters, *_ = kernel._inputs()
    return straight_line(
        "substep",
        [time, y, parameters, low, ca.vertcat(d, a, entries, multipliers, h, spare)],
        [ca.densify(ca.vertcat(*results))],
    )


def _largest(column: ca.SX) -> ca.SX:
    found = ca.SX(0)
    for k in range(column.numel()):
        found = ca.fmax(found, ca.fabs(column[k]))
    return found


def _prepare(run: FixedRun, order: int) -> None:
    """Bind the programs and arrays of steps by positions."""
    bind, fields, n = run.context.fields.bind, run.context.fields, run.kernel.n_state // 2
    steps, weights = position_steps(run.kernel), composition(order)
    m, count = steps.conditions, steps.entries
    fields.field_program, fields.substep_program = steps.fields, steps.substep
    fields.velocity_program, fields.n_stages = steps.velocity, len(weights)
    fields.n_conditions, fields.n_directions = m, count
    for name, numbers in (
        ("weights", weights),
        ("forces", np.zeros(2 * m + 1)),
        ("substep", np.zeros(3 * n + count + m + 2)),
        ("substep_end", np.zeros(3 * n + count + m + 2)),
        ("lost", np.zeros(n)),
    ):
        bind(name, numbers)


METHODS = tuple(
    Method(
        f"rattle{order}",
        "RATTLE" + (f", composed to order {order}" if order > 2 else "") + "; symplectic",
        order,
        FixedStep(
            ((method_step, rattle_step),),
            partial(_prepare, order=order),
            ends_on_constraints=True,
            allows_adapt=True,
        ),
        "lagrange",
        check_position_steps,
        is_symplectic=True,
    )
    for order in (2, 4, 6, 8)
)
