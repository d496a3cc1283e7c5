"""A drawing along a motion as numbers that the page draws: points in the plane or in space, before
any camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...model.drawing import Drawing
from ...plotting.motion_samples import Array
from ...plotting.scenes.solids import SceneSolid, scaled_arrows, solids_of, zigzag

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["packed", "scene_of"]

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
    solids = solids_of(motion, drawing.shapes, times, dimension)
    low, high = _box(drawing, [solid for solid in solids if not solid.arrow], dimension)
    size = float(np.max(high - low))
    solids = scaled_arrows(solids, size)
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


def _shape(solid: SceneSolid, decimals: int) -> dict[str, Any]:
    """One solid as the page draws it, whatever shape of the drawing it comes from."""
    part, points = solid.part, solid.points
    found: dict[str, Any] = {"color": part.color}
    match part.kind:
        case "dot":
            found |= {"kind": "point", "size": part.width}
        case "text":
            found |= {"kind": "text", "size": part.width, "text": part.text}
        case "trace":
            found |= {"kind": "trace", "width": part.width}
            return found | {"points": packed(points, decimals, still=False)}
        case "area" if solid.ball is not None:
            found |= {"kind": "ball", "width": part.width, "fill": part.fill}
            found["radius"] = np.round(
                solid.ball[:1] if np.ptp(solid.ball) == 0 else solid.ball, decimals
            ).tolist()
        case "area":
            found |= {"kind": "polyline", "width": part.width, "fill": part.fill, "closed": True}
        case _ if solid.arrow:
            found |= {"kind": "arrow", "width": part.width, "group": solid.arrow}
        case _ if solid.coils:
            found |= {"kind": "spring", "width": part.width}
            points = _spring(points, solid.coils)
        case _:
            found |= {"kind": "link" if points.shape[1] == 2 else "polyline", "width": part.width}
    return found | {"points": packed(points, decimals)}


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


def _spring(ends: Array, coils: int) -> Array:
    """A zigzag between two points; in space it lies in the upright plane through them."""
    if ends.shape[2] == 2:
        return zigzag(ends, coils)
    along = ends[:, 1] - ends[:, 0]
    length = np.linalg.norm(along, axis=-1)
    unit = along / np.maximum(length, 1e-300)[:, None]
    across = np.array([0.0, 0.0, 1.0]) - unit[:, 2:] * unit
    flat = np.linalg.norm(across, axis=-1, keepdims=True)
    across = np.where(flat > 1e-6, across / np.maximum(flat, 1e-300), np.array([1.0, 0.0, 0.0]))
    plane = np.zeros((len(ends), 2, 2))
    plane[:, 1, 0] = length
    drawn = zigzag(plane, coils)
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
