"""The programs of a kernel by name; `kernel` lists what they read and write."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import casadi as ca

from ..codegen.passes.dense_solve import padded, row_length
from ..codegen.passes.unrolled import unrolled_solve
from ..codegen.program import Program, straight_line
from ..codegen.protocols import ConstraintProjection
from ..model.potential_energy import potential_energy

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["BUILDERS", "observed_columns"]

LEVELS = ("position", "velocity")


def _fast(kernel: Kernel) -> Program:
    g = kernel.graph
    if kernel.large is not None and kernel.large.fast is not None:
        return kernel.large.fast
    if kernel.solved is not None:
        rates = kernel.algebra.substitute(
            g.rates, kernel._unknown_symbols, ca.vertcat(kernel.solved.z, kernel.solved.multipliers)
        )
        return straight_line("fast", kernel._inputs(), [rates, kernel.solved.health])
    raise AssertionError("there is no straight-line solve")


def _dense_blocks(kernel: Kernel) -> Program:
    """[G f] in the layout of `dense`: upper triangle, padded rows; the rest is untouched."""
    rows, stride = padded(kernel.n), row_length(kernel.n)
    table = ca.SX.nan(rows, stride)
    skip: set[int] = set()
    for i in range(rows):
        for j in range(stride):
            if i < kernel.n and i <= j < kernel.n:
                table[i, j] = kernel.graph.metric[i, j]
            elif i < kernel.n and j == rows:
                table[i, j] = kernel.graph.force[i]
            elif j < i:
                skip.add(i * stride + j)
            else:
                table[i, j] = 1.0 if i == j else 0.0
    return straight_line("dense_blocks", kernel._inputs(), [table.T], skip=skip)


def _blocks(kernel: Kernel) -> Program:
    g = kernel.graph
    return straight_line("blocks", kernel._inputs(), [g.metric, g.force, g.rows.T, g.right])


def _rates(kernel: Kernel) -> Program:
    return straight_line("rates", kernel._inputs(kernel._unknown_symbols), [kernel.graph.rates])


def _step_program(kernel: Kernel, name: str, projection: ConstraintProjection) -> Program:
    g = kernel.graph
    written = kernel.large.step(name, projection) if kernel.large is not None else None
    if written is not None:
        return written
    lifted = kernel._lifted
    if lifted is not None and lifted.step is not None:
        parts = [projection.lift @ lifted.step(-projection.residual), projection.residual]
        parts += [kernel.residual_scale(projection), lifted.health]
        return straight_line(name, kernel._inputs(), parts)
    metric = g.metric if projection.metric is None else projection.metric
    n = metric.shape[0]
    known = g.dual_rows is not None and name == "velocity_step" and projection.metric is None
    solution = unrolled_solve(
        metric,
        ca.SX(n, 1),
        projection.rows,
        -projection.residual,
        free=ca.SX(n, 1) if known else None,
        dual_rows=g.dual_rows if known else None,
        augment=not known and not _is_regular(kernel, metric),
    )
    parts = [projection.lift @ solution.z, projection.residual, kernel.residual_scale(projection)]
    return straight_line(name, kernel._inputs(), [*parts, solution.health])


def _is_regular(kernel: Kernel, metric: ca.SX) -> bool:
    n = metric.shape[0]
    return kernel._is_generically_healthy(
        unrolled_solve(metric, ca.SX(n, 1), ca.SX(0, n), ca.SX(0, 1)).health
    )


def _parts_program(kernel: Kernel, name: str, projection: ConstraintProjection) -> Program:
    scale = kernel.residual_scale(projection)
    metric = kernel.graph.metric if projection.metric is None else projection.metric
    parts = [projection.residual, scale, projection.rows.T, metric, projection.lift.T]
    return straight_line(name, kernel._inputs(), parts)


def observed_columns(kernel: Kernel) -> dict[str, Any]:
    g = kernel.graph
    columns = {
        "velocities": g.velocities,
        "accelerations": g.accelerations,
        "momenta": g.momenta,
        "energy": g.energy,
        "position residual": g.residuals[0],
        "velocity residual": g.residuals[1],
        "multipliers": g.multipliers if g.row_multipliers is None else g.row_multipliers,
    }
    columns |= {
        f"reaction {name}": force.nz[:] if kernel.large else force
        for name, force in g.reactions.items()
    }
    columns |= {f"output {name}": value for name, value in g.outputs.items()}
    given = {
        symbol: value
        for symbol, value in kernel.equations.system.inputs.items()
        if value is not None
    }
    columns |= {f"input {symbol}": kernel.lower([value]) for symbol, value in given.items()}
    return columns


def _unknowns(kernel: Kernel) -> Program:
    if kernel._lifted is not None:
        parts = [kernel._lifted.z, kernel._lifted.multipliers, kernel._lifted.health]
        return straight_line("unknowns", kernel._inputs(), parts)
    assert kernel.large is not None and kernel.large.unknowns is not None
    return kernel.large.unknowns


def _velocities(kernel: Kernel) -> Program:
    return straight_line("velocities", kernel._inputs(), [kernel.graph.velocities])


def _energy(kernel: Kernel) -> Program:
    return straight_line("energy", kernel._inputs(), [ca.SX(kernel.graph.energy)])


def _potential(kernel: Kernel) -> Program:
    value = potential_energy(kernel.equations.system)
    assert value is not None
    return straight_line("potential", kernel._inputs(), [kernel.lower([value])])


def _observe(kernel: Kernel) -> Program:
    columns = [ca.densify(ca.vec(ca.SX(column))) for column in observed_columns(kernel).values()]
    return straight_line("observe", kernel._inputs(kernel._unknown_symbols), columns)


def _projected(
    build: Callable[[Kernel, str, ConstraintProjection], Program], level: str, part: str
) -> Callable[[Kernel], Program]:
    return lambda kernel: build(kernel, f"{level}_{part}", getattr(kernel.graph, level))


#: Program -> the function that makes it for a kernel.
BUILDERS: dict[str, Callable[[Kernel], Program]] = {
    "fast": _fast,
    "dense_blocks": _dense_blocks,
    "blocks": _blocks,
    "rates": _rates,
    "unknowns": _unknowns,
    "velocities": _velocities,
    "energy": _energy,
    "potential": _potential,
    "observe": _observe,
    **{f"{level}_step": _projected(_step_program, level, "step") for level in LEVELS},
    **{f"{level}_parts": _projected(_parts_program, level, "parts") for level in LEVELS},
}
