"""A drawing as expressions of a kernel's graph, so that compiled code can place its shapes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...errors import ModelError
from ...model.drawing import Drawing, ReactionArrow
from ...typing import Expression
from ..motion_samples import Array, finite_span
from .page_scene import look_of, scaled_solids, spring_points
from .reaction_forces import named_directly
from .solids import (
    drawn_expressions,
    length_of,
    solids_from,
    tipped,
    usual_breadth,
)

if TYPE_CHECKING:
    from ...integrate.motion import Motion
    from ...runtime.kernel import Kernel

__all__ = ["graph_scene"]

#: Times at which the motion says how long arrows and how broad springs are.
PROBES = 200
#: Numbers of a drawing that a page computes at every time.
MOST_NUMBERS = 30_000


def graph_scene(motion: Motion, drawing: Drawing, kernel: Kernel) -> tuple[dict[str, Any], ca.SX]:
    """The scene of a drawing as a page takes it, and the column of its numbers.

    Each shape of the record has `first` and `shape`: where its points (k, d) stand in the column;
    a ball has the place of its radius. The scales of arrows and breadths of springs are those that
    suit the motion.

    Raises
    ------
    ModelError
        Where the drawing is too large, or has symbols that are not those of the model.
    """
    dimension = drawing.dimension
    known = {} if motion.scenario is None else motion.scenario.parameters
    own = {symbol.name for symbol in kernel.parameters}
    given = {name: value for name, value in known.items() if name not in own}
    expressions = [
        entry.subs({s: given[s.name] for s in entry.free_symbols if s.name in given})
        for entry in _exact(drawn_expressions(drawing.shapes, dimension))
    ]
    table = _objects(kernel.lower(expressions)).reshape(-1, 1)
    solids = solids_from(drawing.shapes, dimension, table, lambda shape: _force(kernel, shape))
    probes = scaled_solids(motion, drawing, np.linspace(*finite_span(motion), PROBES))
    shapes: list[dict[str, Any]] = []
    numbers: list[Any] = []
    for solid, probe in zip(solids, probes, strict=True):
        found = look_of(probe)
        if solid.arrow:
            points = tipped(replace(solid, scale=probe.scale)).points
        elif solid.coils:
            ends = probe.points[:, 1] - probe.points[:, 0]
            points = spring_points(solid.points, solid.coils, usual_breadth(length_of(ends)))
        else:
            points = solid.points
        found |= {"first": len(numbers), "shape": list(points.shape[1:])}
        numbers += points.ravel().tolist()
        if solid.ball is not None:
            found["radius_at"] = len(numbers)
            numbers += solid.ball.ravel().tolist()
        shapes.append(found)
    if len(numbers) > MOST_NUMBERS:
        what = f"The drawing has more than {MOST_NUMBERS} numbers at every time"
        raise ModelError(what, len(numbers), "draw simpler outlines for a page that runs")
    record = {
        "dimension": dimension,
        "limits": None if drawing.limits is None else [list(x) for x in drawing.limits[:dimension]],
        "labels": list(drawing.labels[:dimension]),
        "shapes": shapes,
    }
    return record, ca.vertcat(*numbers)


def _exact(entries: Sequence[Expression]) -> list[sympy.Expr]:
    """Entries as expressions, also those that are numbers."""
    return [e if isinstance(e, sympy.Basic) else sympy.Float(e) for e in entries]


def _objects(column: ca.SX) -> Array:
    """A column as an array of expressions."""
    found: Array = np.empty(column.numel(), dtype=object)
    for k in range(column.numel()):
        found[k] = column[k]
    return found


def _force(kernel: Kernel, shape: ReactionArrow) -> Array:
    """A reaction as a force (1, d) at the point r(q): the least F with Q = (dr/dq)^T F."""
    coordinates = kernel.equations.system.coordinates
    names = [q.name for q in coordinates]
    if shape.constraint not in kernel.graph.reactions:
        what = f"The form {kernel.equations.form} has no reaction of `{shape.constraint}`"
        raise ModelError(what, ", ".join(kernel.graph.reactions), "name one of its constraints")
    if shape.directions:
        what = f"The page that runs has no arrow of the contact `{shape.constraint}`"
        raise ModelError(what, "directions of its force", "draw it with along=(...)")
    force = ca.densify(kernel.graph.reactions[shape.constraint])
    along = shape.along or named_directly(shape.position, names)
    if along is not None:
        parts = [ca.SX(0) if name is None else force[names.index(name)] for name in along]
        return _objects(ca.vertcat(*parts))[None]
    entries = _exact(shape.position)
    rows = [kernel.lower([sympy.diff(entry, q) for q in coordinates]).T for entry in entries]
    jacobian = ca.densify(ca.vertcat(*rows))
    found = kernel.algebra.solve(jacobian @ jacobian.T, jacobian @ force)
    return _objects(found)[None]
