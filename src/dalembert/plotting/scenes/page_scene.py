"""A drawing along a motion as numbers that the page draws: points in the plane or in space, before
any camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...model.drawing import Drawing
from ..motion_samples import Array
from .solids import (
    SceneSolid,
    arrow_scales,
    length_of,
    solids_of,
    tipped,
    zigzag,
)

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["look_of", "packed", "scaled_solids", "scene_of", "spring_points"]

#: Digits of positions, relative to the size of the scene.
DIGITS = 5
#: A floor at zero is kept where the scene begins above it within this share of its size.
NEAR_FLOOR = 0.12
MARGIN = 0.05


def scene_of(motion: Motion, drawing: Drawing, times: Array) -> dict[str, Any]:
    """The scene of the interface; a shape that never moves is sent once, as one frame.

    Raises
    ------
    ModelError
        Where a shape has symbols that the motion does not know.
    """
    dimension = drawing.dimension
    solids = scaled_solids(motion, drawing, times)
    low, high = _box(drawing, [solid for solid in solids if not solid.arrow], dimension)
    size = float(np.max(high - low))
    solids = [tipped(solid) for solid in solids]
    if drawing.limits is None:
        low, high = _box(drawing, solids, dimension)
        slack = np.maximum(
            0.3 * float(np.max(high - low)) - (high - low), 0.0
        ) / 2 + MARGIN * float(np.max(high - low))
        if dimension == 3:
            slack[2] = 0.0
        low, high = low - slack, high + slack
    decimals = int(np.clip(DIGITS - np.floor(np.log10(max(size, 1e-300))), 0, 300))
    floor = None
    if dimension == 3:
        floor = 0.0 if 0.0 <= low[2] < NEAR_FLOOR * float(np.max(high - low)) else float(low[2])
    return {
        "dimension": dimension,
        "limits": [[float(a), float(b)] for a, b in zip(low, high, strict=True)],
        "labels": list(drawing.labels[:dimension]),
        "shapes": [_shape(solid, decimals) for solid in solids],
        "floor": floor,
    }


def scaled_solids(motion: Motion, drawing: Drawing, times: Array) -> list[SceneSolid]:
    """The solids of a drawing along a motion; arrows have their scales, but no tips yet."""
    solids = solids_of(motion, drawing.shapes, times, drawing.dimension)
    still = [solid for solid in solids if not solid.arrow]
    low, high = _box(drawing, still, drawing.dimension)
    return arrow_scales(solids, float(np.max(high - low)))


def _shape(solid: SceneSolid, decimals: int) -> dict[str, Any]:
    """One solid as the page draws it, whatever shape of the drawing it comes from."""
    found, points = look_of(solid), solid.points
    if solid.coils:
        points = spring_points(points, solid.coils)
    if solid.ball is not None:
        radius = solid.ball[:1] if np.ptp(solid.ball) == 0 else solid.ball
        found["radius"] = np.round(radius, decimals).tolist()
    return found | {"points": packed(points, decimals, still=found["kind"] != "trace")}


def look_of(solid: SceneSolid) -> dict[str, Any]:
    """What the page has to know of a solid beside its points."""
    part = solid.part
    found: dict[str, Any] = {"color": part.color}
    match part.kind:
        case "dot":
            return found | {"kind": "point", "size": part.width}
        case "text":
            return found | {"kind": "text", "size": part.width, "text": part.text}
        case "trace":
            return found | {"kind": "trace", "width": part.width}
        case "area" if solid.ball is not None:
            return found | {"kind": "ball", "width": part.width, "fill": part.fill}
        case "area":
            found |= {"kind": "polyline", "width": part.width, "fill": part.fill}
            return found | {"closed": True}
        case _ if solid.arrow:
            return found | {"kind": "arrow", "width": part.width, "group": solid.arrow}
        case _ if solid.coils:
            return found | {"kind": "spring", "width": part.width}
    kind = "link" if solid.points.shape[1] == 2 else "polyline"
    return found | {"kind": kind, "width": part.width}


def packed(points: Array, decimals: int, still: bool = True) -> dict[str, Any]:
    """Points (n, k, d) as their shape and their numbers in a row; one frame where they are `still`,
    if that may be.

    >>> packed(np.zeros((5, 2, 2)), 3)
    {'shape': [1, 2, 2], 'data': [0.0, 0.0, 0.0, 0.0]}
    """
    if still and len(points) > 1 and not np.any(np.ptp(points, axis=0)):
        points = points[:1]
    return {
        "shape": list(points.shape),
        "data": (np.round(points, decimals) + 0.0).ravel().tolist(),
    }


def spring_points(ends: Array, coils: int, breadth: float | None = None) -> Array:
    """A zigzag between two points; in space it lies in the upright plane through them."""
    if ends.shape[2] == 2:
        return zigzag(ends, coils, breadth)
    along = ends[:, 1] - ends[:, 0]
    length = length_of(along)
    unit = along / (length + 1e-300)[:, None]
    # An upright spring lies in the plane of x and z: the direction across is never zero.
    across = np.array([1e-9, 0.0, 1.0]) - unit[:, 2:] * unit
    across = across / (length_of(across) + 1e-300)[:, None]
    plane = np.zeros((len(ends), 2, 2), dtype=ends.dtype)
    plane[:, 1, 0] = length
    drawn = zigzag(plane, coils, breadth)
    return np.asarray(
        ends[:, :1] + drawn[..., :1] * unit[:, None] + drawn[..., 1:] * across[:, None]
    )


def _box(drawing: Drawing, solids: Sequence[SceneSolid], dimension: int) -> tuple[Array, Array]:
    """Corners of what the scene shows."""
    if drawing.limits is not None:
        limits = np.asarray(drawing.limits, dtype=float)[:dimension]
        return limits[:, 0], limits[:, 1]
    corners = []
    for solid in solids:
        room = 0.0 if solid.ball is None else float(np.nanmax(solid.ball))
        flat = solid.points.reshape(-1, dimension)
        flat = flat[np.isfinite(flat).all(axis=1)]
        if flat.size:
            corners += [flat.min(axis=0) - room, flat.max(axis=0) + room]
    if not corners:
        raise ModelError(
            "Nothing of the drawing is finite",
            remedy="check its positions at the start of the motion",
        )
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    return low, np.where(high - low > 0, high, low + 1e-9)
