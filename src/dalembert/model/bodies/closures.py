"""Joints as constraints between bodies that move already: loops, and all joints in maximal form."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy

from ..constraints import Constraint, holonomic
from ..quantities import define
from .body import Frame
from .joints import Joint, direction_of
from .vectors import Rotation, Triple, across, add, dot, scale, unit_axis

if TYPE_CHECKING:
    from .kinematics import Kinematics

__all__ = ["HAS_CLOSURE", "apart", "closing", "numbered", "unturned", "welding"]

#: Joints that are constraints without coordinates of their own.
HAS_CLOSURE = frozenset(
    ("weld", "revolute", "prismatic", "cylindrical", "universal", "spherical", "planar", "free")
)
ONE = sympy.Integer(1)


def numbered(name: str, residuals: list[sympy.Expr]) -> tuple[Constraint, ...]:
    """Holonomic constraints with the name of a joint and their number.

    In a linkage that moves in a plane, some residuals of a joint vanish for all values of the
    coordinates, up to rounding, and have no direction. The constraints are therefore r - 2 u (u .
    r), u = (1, ..., 1) / sqrt(k), with the same zeros: each has terms of full size, and the solver
    finds those that depend on the others.
    """
    left = [residual for residual in residuals if residual != 0]
    if len(left) > 3:
        mean = define(f"m_{name}", sum(left, ONE * 0) * sympy.Rational(2, len(left)))
        left = [residual - mean for residual in left]
    return tuple(
        holonomic(residual, name=f"{name}_{number}" if len(residuals) > 1 else name)
        for number, residual in enumerate(left, start=1)
    )


def closing(joint: Joint, kinematics: Kinematics) -> list[sympy.Expr]:
    """The residuals that keep two frames related by a joint."""
    line = apart(joint.parent, joint.child, kinematics)
    here, there = kinematics.axes(joint.parent), kinematics.axes(joint.child)
    match joint.kind:
        case "spherical":
            return list(line)
        case "free":
            return []
        case "weld":
            return [*line, *unturned(here, there)]
        case "planar":
            normal = here.applied(unit_axis("z"))
            return [dot(normal, line), *_parallel(here, there, unit_axis("z"))]
    axis = direction_of(joint.steps)
    match joint.kind:
        case "revolute":
            return [*line, *_parallel(here, there, axis)]
        case "universal":
            second = direction_of(joint.steps[1:])
            right = dot(axis, second)
            return [*line, dot(here.applied(axis), there.applied(second)) - right]
    aside = [dot(here.applied(side), line) for side in across(axis)]
    if joint.kind == "cylindrical":
        return [*aside, *_parallel(here, there, axis)]
    return [*aside, *unturned(here, there)]


def welding(first: Frame, second: Frame, kinematics: Kinematics) -> list[sympy.Expr]:
    """The residuals that hold two frames together."""
    return [
        *apart(first, second, kinematics),
        *unturned(kinematics.axes(first), kinematics.axes(second)),
    ]


def apart(first: Frame, second: Frame, kinematics: Kinematics) -> Triple:
    """The way from one origin to another, in space."""
    return add(kinematics.position(second), scale(-ONE, kinematics.position(first)))


def _parallel(here: Rotation, there: Rotation, axis: Triple) -> list[sympy.Expr]:
    """Two conditions: the axis is the same one in both frames."""
    turned = there.applied(axis)
    return [dot(here.applied(side), turned) for side in across(axis)]


def unturned(here: Rotation, there: Rotation) -> list[sympy.Expr]:
    """Three conditions: the axes of both frames agree (the skew part of R^T S vanishes)."""
    a, b = here.columns, there.columns
    return [dot(a[j], b[i]) - dot(a[i], b[j]) for i, j in ((1, 2), (2, 0), (0, 1))]
