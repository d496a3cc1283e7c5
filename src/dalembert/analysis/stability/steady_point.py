"""Points for linearisation: on the constraints, moved to a nearby steady motion, reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from ...codegen.backends.interpreter import interpret
from ...errors import ModelError, RunError, StartError, nearest
from ...integrate.start import consistent_start
from ...runtime.gauss.constrained_solve import rank, solve
from ...typing import Array
from .linear_field import LinearField
from .symmetry_directions import Directions
from .tangent_space import EPSILON, scales

__all__ = ["check_gaps", "consistent_point", "moved_values", "polished", "shown_moves"]

#: A value of a point counts as moved where it changes by more than this, relative to the point.
MOVED = 1e-12


def consistent_point(field: LinearField, asked: Mapping[str, float], polish: bool) -> Any:
    """The asked state, completed from the constraints and moved to them if `polish` allows."""
    system = field.kernel.equations.system
    known = dict.fromkeys((*field.names, *(s.name for s in (*system.velocities, *system.momenta))))
    for name in asked:
        if name not in known:
            near = nearest(name, known)
            remedy = f"did you mean {near}" if near else "use one of these"
            raise ModelError(f"The state has no variable `{name}`", ", ".join(known), remedy)
    kernel, p = field.kernel, field.values
    try:
        start = consistent_start(kernel.plain_context(p), 0.0, asked, p, project_start=polish)
    except StartError as error:
        remedy = "give a point on them" + (
            "" if polish else ", or pass polish=True to move it there"
        )
        seen = str(error).splitlines()[0]
        raise RunError("The point does not obey the constraints", seen, remedy) from error
    return start.state


def moved_values(
    field: LinearField, point: Array, asked: Mapping[str, float]
) -> dict[str, tuple[float | None, float]]:
    """What was asked for and what was taken, for the variables of a point that are not as given."""
    system = field.kernel.equations.system
    taken = dict(zip(field.names, map(float, point), strict=True))
    velocities = (*system.velocities, *system.momenta)
    hidden = [s for s in velocities if s.name in asked and s.name not in taken]
    if hidden:
        values = _evaluated(field, point, hidden)
        taken |= dict(zip((s.name for s in hidden), map(float, values), strict=True))
    limit = MOVED * float(np.max(np.abs(point), initial=0.0))
    found: dict[str, tuple[float | None, float]] = {}
    for name in dict.fromkeys((*asked, *field.names)):
        if abs(taken[name] - asked.get(name, 0.0)) > limit:
            found[name] = (asked.get(name), taken[name])
    return found


def check_gaps(field: LinearField, point: Array) -> None:
    """Raise for a point at or beyond a one-sided constraint: the motion near it is not smooth."""
    one_sided = getattr(field.kernel.equations.system, "unilateral", ())
    if not one_sided:
        return
    for limit in (c for c in one_sided if not c.is_one_sided):
        what = f"The friction limit `{limit.name}` has no linear motion near a point"
        remedy = f'linearise system.touching(["{limit.name}"]) where it holds'
        raise RunError(what, "a reaction that jumps where the slip starts", remedy)
    values = _evaluated(field, point, [c.expression for c in one_sided])
    for constraint, value in zip(one_sided, values, strict=True):
        if value > -1e-9 * float(np.max(scales(point))):
            what = f"The one-sided constraint `{constraint.name}` is closed or broken at the point"
            remedy = f'linearise system.touching(["{constraint.name}"]) where it stays closed'
            raise RunError(what, f"its expression is {value:.3g}, and must be negative", remedy)


def _evaluated(field: LinearField, point: Array, expressions: Sequence[sympy.Expr]) -> Any:
    program = field.kernel.event_program("point", expressions)
    return interpret(program, (np.zeros(1), point, field.values, field.inputs, np.zeros(0)))


def polished(field: LinearField, directions: Directions, start: Array) -> tuple[Array, Array]:
    """A nearby steady point by Newton's method, and the next step; else the start."""
    y, best, before = start.copy(), np.inf, start
    for _ in range(40):
        try:
            value = field(y)
        except RunError:  # the start is given back
            return start, np.zeros_like(start)
        xi, X = directions.rates(y, value.rates), directions.at(y)
        left = value.rates - X @ xi
        left, across = _across(X, left), value.matrix - directions.derivative(y, xi)
        terms = value.sizes + np.abs(value.matrix) @ np.abs(y)
        size = np.concatenate([value.residual_sizes, terms])
        whole = np.concatenate([value.residual, left])
        if np.all(np.abs(whole) <= 64 * EPSILON * size):
            return y, np.zeros_like(y)
        J = np.vstack([value.jacobian, _across(X, across)])
        try:
            # Normal equations through the Gauss problem: the least change that removes the rest.
            step = solve(J.T @ J, -J.T @ whole, gauge=True).z
        except RunError:  # no step: the start is given back
            return start, np.zeros_like(start)
        length = float(np.max(np.abs(step), initial=0.0))
        if not np.isfinite(length):
            return start, np.zeros_like(start)
        small = 1e-13 * (float(np.max(np.abs(y), initial=0.0)) or 1.0)
        if length <= small and length >= best / 2:
            return before, step
        best, before = length, y
        y = y + step
        if length == 0.0:
            return y, step
    return y, step


def _across(X: Array, vectors: Array) -> Array:
    """Vectors without their part in the span of X."""
    kept = rank(X.T).independent if X.size else []
    if not len(kept):
        return vectors
    Q, _ = np.linalg.qr(X[:, kept])
    return vectors - Q @ (Q.T @ vectors)


def shown_moves(moved: Mapping[str, tuple[float | None, float]]) -> list[tuple[str, str]]:
    """The variables that are not as given, in a labelled sentence; nothing where there are none."""
    parts = []
    for name, (asked, taken) in moved.items():
        given = f"{name} {asked:.6g} -> {taken:.6g}" if asked is not None else ""
        parts.append(given or f"{name} = {taken:.6g} (not given)")
    return [("not as given", ", ".join(parts))] if parts else []
