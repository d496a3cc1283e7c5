"""What RATTLE needs of a system: constant mass, forces of positions, holonomic constraints; and the programs of its steps."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca

from ..compiled.kernel import Kernel, kernel_of
from ..compiled.program import straight_line
from ..compiled.unrolled import unrolled_elimination, unrolled_solve
from ..errors import FormError
from ..formulations.equations import Equations
from ..model.constraints import HolonomicConstraint
from ..model.symbols import t

__all__ = ["PositionSteps", "check_position_steps", "position_steps"]


@dataclass(frozen=True)
class PositionSteps:
    """The programs of a system for steps by positions; n coordinates, m constraints.

    Attributes
    ----------
    fields, corrections, push, velocity : int
        Addresses of the programs (q) -> a (n), entries of D = M^-1 G^T; (q; w = entries of D at the start) -> what the position
        (n) and the multipliers (m) change by; (w = entries of D, multipliers l) -> D l (n); and (q, v) -> what the velocities
        lose (n).
    entries : int
        How many entries of D are not zero.
    conditions : int
        m.
    """

    fields: int
    corrections: int
    push: int
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
    other = [c.name for c in system.bilateral if not isinstance(c, HolonomicConstraint) or c.work]
    if other:
        raise FormError(
            f"The method {method} needs constraints of positions that do no work",
            seen=f"`{other[0]}`",
            remedy="use method dop853, which ends every step on all constraints",
        )
    kernel = kernel_of(equations, system.parameters)
    algebra, graph = kernel.algebra, kernel.graph
    q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
    if algebra.depends(graph.metric, ca.vertcat(q, v, algebra.vector([t]))):
        raise FormError(
            f"The method {method} needs a constant mass matrix",
            seen="one that depends on the state or on time",
            remedy="state the system in Cartesian coordinates with constraints, or use method gauss4",
        )
    if algebra.depends(graph.force, v) or kernel.free_inputs:
        raise FormError(
            f"The method {method} needs forces that depend on positions and time alone",
            seen="inputs given as functions" if kernel.free_inputs else "a force that depends on velocities",
            remedy="use method gauss4, or dop853 where there are constraints",
        )


def position_steps(kernel: Kernel) -> PositionSteps:
    """The programs, compiled once and kept with the kernel."""
    kept: PositionSteps | None = kernel.__dict__.get("_position_steps")
    if kept is None:
        kept = _compiled(kernel)
        kernel.__dict__["_position_steps"] = kept
    return kept


def _compiled(kernel: Kernel) -> PositionSteps:
    graph, algebra = kernel.graph, kernel.algebra
    q = algebra.vector(kernel.equations.system.coordinates)
    none = ca.SX(0, 1)
    n, residual = q.numel(), graph.position.residual
    slope = ca.jacobian(residual, q)
    m = residual.numel()
    acceleration = unrolled_solve(graph.metric, graph.force, ca.SX(0, n), none).z
    # Column by column, so that entries that are zero stay unwritten.
    directions = ca.horzcat(*[unrolled_solve(graph.metric, slope[k, :].T, ca.SX(0, n), none).z for k in range(m)])
    directions = ca.sparsify(ca.SX(n, 0) if not m else directions)
    places = directions.sparsity()
    letters = ca.SX.sym("d", places.nnz())
    before = ca.SX(places, letters) if places.nnz() else ca.SX(n, m)
    entries = ca.vertcat(*directions.nonzeros()) if places.nnz() else none
    fields = kernel.load_program(straight_line("position_fields", kernel._inputs(), [acceleration, entries]))
    if not m:
        return PositionSteps(fields, 0, 0, 0, 0, 0)
    change, multipliers = unrolled_elimination(ca.sparsify(slope @ before), residual), ca.SX.sym("l", m)
    moved = straight_line("position_corrections", kernel._inputs(letters), [ca.densify(before @ change), change])
    pushed = straight_line("push", kernel._inputs(ca.vertcat(letters, multipliers)), [ca.densify(before @ multipliers)])
    lost = directions @ unrolled_elimination(ca.sparsify(slope @ directions), graph.velocity.residual)
    loss = straight_line("velocity_loss", kernel._inputs(), [ca.densify(lost)])
    corrections, push, velocity = (kernel.load_program(program) for program in (moved, pushed, loss))
    return PositionSteps(fields, corrections, push, velocity, int(places.nnz()), int(m))
