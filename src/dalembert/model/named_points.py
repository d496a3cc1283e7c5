"""Named points: their positions are outputs of a system, and so columns of every motion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import Faults, ModelError
from ..typing import Values
from .drawing import Drawing, PointMark
from .names import check_name

__all__ = ["drawn_outputs", "merged_outputs", "position_outputs"]


def position_outputs(name: str, position: Sequence[Any]) -> dict[str, Any]:
    """The outputs of a point called `name`: ``name_x``, ``name_y``, and ``name_z`` in space.

    >>> position_outputs("tip", (1, 2))
    {'tip_x': 1, 'tip_y': 2}
    """
    check_name(name, "name of a point")
    if len(position) > 3:
        raise ModelError(
            f"The position of the point `{name}` has more than three components",
            seen=len(position),
            remedy="give x, y and z",
        )
    return {f"{name}_{axis}": value for axis, value in zip("xyz", position, strict=False)}


def drawn_outputs(drawing: Drawing | None) -> dict[str, Any]:
    """The positions of the points of a drawing that have names."""
    shapes = () if drawing is None else drawing.shapes
    found: dict[str, Any] = {}
    for shape in shapes:
        if isinstance(shape, PointMark) and shape.name:
            found |= position_outputs(shape.name, shape.position)
    return found


def merged_outputs(
    stated: Values | None, points: Mapping[str, Any], faults: Faults
) -> dict[Any, Any]:
    """Stated outputs with those of named points, or others; one name has one meaning."""
    outputs = dict(stated or {})
    for name, value in points.items():
        if outputs.setdefault(name, value) != value:
            faults.add(
                f"Two quantities are called `{name}`",
                seen="an output beside the position of a point or a quasi-velocity",
                remedy="name one of them otherwise",
            )
    return outputs
