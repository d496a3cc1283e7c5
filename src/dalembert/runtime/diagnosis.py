"""Explain in terms of the model why the equations do not determine the motion at a state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ..errors import ContradictionError, NoInertiaError, RunError, SingularError
from ..model.hazards import hazards, stated_expressions
from ..model.names import shortened
from ..typing import Array
from .gauss.solve_status import CONTRADICTORY

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["explain", "undefined", "vanishing"]


def vanishing(
    kernel: Kernel, time: float, y: Array, p: Array, scale: Array | None = None, limit: float = 1e-6
) -> str | None:
    """A clause that names the expression that vanishes or is undefined at a state, or None.

    `scale` is an earlier state: an expression counts as vanishing where it has fallen below `limit`
    times its value there.
    """
    found = hazards(kernel.equations.system)
    if not found:
        return None
    function = ca.Function(
        "hazards", kernel._inputs(), [kernel.lower([h.expression for h in found])]
    )
    u = np.zeros(len(kernel.free_inputs))
    values = np.asarray(function(time, y, p, u, np.zeros(0))).ravel()
    before = (
        np.ones(len(found))
        if scale is None
        else np.asarray(function(time, scale, p, u, np.zeros(0))).ravel()
    )
    for hazard, value, reference in zip(found, values, before, strict=True):
        small = limit * max(abs(reference), 1e-300) if np.isfinite(reference) else 1e-12
        if abs(value) <= small:
            return f"the {hazard.role} of {hazard.expression} in {hazard.place} reaches zero"
    return None


def undefined(kernel: Kernel, time: float, y: Array, p: Array) -> str | None:
    """A clause that names the expression without a finite value at a state, or None."""
    found = stated_expressions(kernel.equations.system)
    known = {*kernel.algebra.symbols}
    found = [(place, expression) for place, expression in found if expression.free_symbols <= known]
    function = ca.Function(
        "values", kernel._inputs(), [kernel.lower([expression for _, expression in found])]
    )
    values = np.asarray(
        function(time, y, p, np.zeros(len(kernel.free_inputs)), np.zeros(0))
    ).ravel()
    for (place, expression), value in zip(found, values, strict=True):
        if not np.isfinite(value):
            what = "not a number" if np.isnan(value) else "infinite"
            verb = "are" if place == "the energies" else "is"
            return f"{place} {verb} {what} there: {shortened(expression)}"
    graph = kernel.graph
    blocks = {
        "inertias": graph.metric,
        "forces": graph.force,
        "rows of the constraints": graph.rows,
        "right sides of the constraints": graph.right,
    }
    names = [name for name, block in blocks.items() if block.numel()]
    together = ca.Function("blocks", kernel._inputs(), [ca.densify(blocks[name]) for name in names])
    numbers = together.call([time, y, p, np.zeros(len(kernel.free_inputs)), np.zeros(0)])
    for name, block in zip(names, numbers, strict=True):
        if not np.all(np.isfinite(np.asarray(block))):
            return (
                f"the {name} that follow from the model leave the range of numbers there, though"
                " its expressions do not"
            )
    return None


def explain(kernel: Kernel, status: int, time: float, y: Array, p: Array, info: Array) -> RunError:
    """The error that says what is wrong at a state that could not be evaluated."""
    where = f"at t = {time:.9g}"
    if status == CONTRADICTORY:
        row = int(info[2])
        name = kernel.equations.row_names[row] if 0 <= row < kernel.m else "?"
        return ContradictionError(
            f"The constraint `{name}` contradicts the constraints it depends on {where}",
            seen=f"rank {int(info[0])} of {kernel.m} rows",
            remedy="remove or correct one of them",
        )
    reason = vanishing(kernel, time, y, p) or undefined(kernel, time, y, p)
    if reason:
        return SingularError(
            f"The motion is not determined {where}: {reason}", remedy="start elsewhere"
        )
    rows = f"{kernel.m} constraint rows" if kernel.m else "no constraints"
    if kernel.graph.metric.nnz() == 0 and kernel.n:
        return NoInertiaError(
            f"The accelerations are not determined {where}: the Lagrangian is at most affine in the"
            " velocities, so that its equations are of first order",
            seen=f"{kernel.n} unknowns, {rows}, a mass matrix of zeros",
            remedy="state the first-order equations as a Flow; derive(system).text() prints them",
        )
    return SingularError(
        f"The motion is not determined {where}: the mass matrix is singular on the directions that"
        " the constraints allow",
        seen=f"{kernel.n} unknowns, {rows}, rank {int(info[0])}",
        remedy="add the missing inertia, choose other coordinates, or start elsewhere",
    )
