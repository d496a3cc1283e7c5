"""The scene of a motion as compact numbers for the player of a report.

Points in the picture's plane become whole numbers of 16 bits, 30000 to half of the longer side of
the window, in base 64; what never moves is kept once.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import matplotlib.colors
import numpy as np

from ...model.drawing import Drawing
from ..motion_samples import Array, finite_span
from ..scenes.animation import pace_of
from ..scenes.scene import Scene, ScenePart, build_scene
from ..style import ROLES

if TYPE_CHECKING:
    from ...integrate.motion import Motion

__all__ = ["packed_scene"]

HALF, FAR = 30_000.0, -32768
#: Frames, and the numbers of all moving parts together.
FEWEST_FRAMES, MOST_FRAMES, MOST_NUMBERS = 60, 400, 240_000
#: Points of a trace.
TRACE_POINTS = 4_000


def packed_scene(motion: Motion, drawing: Drawing) -> dict[str, Any]:
    """What ``report_page/player.js`` plays."""
    start, stop = finite_span(motion)
    probe = build_scene(motion, drawing, np.linspace(start, stop, 5))
    moving = [part for part in probe.parts if not part.is_still]
    numbers = sum(2 * part.points.shape[1] * (1 if part.shadow is None else 2) for part in moving)
    frames = int(np.clip(MOST_NUMBERS // max(numbers, 1), FEWEST_FRAMES, MOST_FRAMES))
    times = np.linspace(start, stop, frames)
    scene = build_scene(motion, drawing, times, max(TRACE_POINTS // frames, 1))
    (left, right), (bottom, top) = scene.window
    middle = np.array([(left + right) / 2, (bottom + top) / 2])
    half = np.array([right - left, top - bottom]) / 2
    unit = HALF / _reach(scene, middle, float(half.max()))
    seconds = abs(stop - start) / pace_of(abs(stop - start))
    step = abs(stop - start) / (frames - 1) if stop != start else 1.0

    def code(points: Array) -> str:
        return _coded((points - middle) * unit)

    traces = [{"color": _color(t.color), "size": 1, "points": code(t.points)} for t in scene.traces]
    return {
        "times": [float(f"{time:.9g}") for time in times],
        "decimals": int(np.clip(np.ceil(-np.log10(max(step, 1e-9))), 1, 6)),
        "rate": (frames - 1) / max(seconds, 1e-9),
        "finer": scene.finer,
        "opening": 0.0 if scene.traces == () else 0.35,
        "aspect": float(np.clip(scene.aspect, 0.6, 2.4)),
        "extent": [float(x) for x in half * unit],
        "floor": _floor(scene, middle, unit),
        "parts": [_part(part, code, scene.floor is not None) for part in scene.parts],
        "traces": traces,
        "texts": [_part(part, code, False) | {"text": part.text} for part in scene.texts],
    }


def _reach(scene: Scene, middle: Array, half: float) -> float:
    """Half of the longer side, or how far the scene goes beyond it, within reason."""
    farthest = half
    for part in (*scene.parts, *scene.traces, *scene.texts):
        distance = np.abs(part.points - middle)
        finite = distance[np.isfinite(distance)]
        farthest = max(farthest, float(finite.max(initial=0.0)))
    return min(farthest, 20 * half)


def _coded(values: Array) -> str:
    whole = np.full(values.shape, FAR, dtype="<i2")
    inside = np.isfinite(values) & (np.abs(values) < 32_767)
    whole[inside] = np.round(values[inside]).astype("<i2")
    return base64.b64encode(np.ascontiguousarray(whole).tobytes()).decode()


def _part(part: ScenePart, code: Callable[[Array], str], is_spatial: bool) -> dict[str, Any]:
    still = part.is_still
    frames = slice(0, 1) if still else slice(None)
    found: dict[str, Any] = {
        "kind": part.kind,
        "color": _color(part.color),
        "width": part.width,
        "size": part.points.shape[1],
        "points": code(part.points[frames]),
        "still": still,
    }
    if part.kind == "area":
        found |= {"fill": part.fill, "ground": part.is_ground}
    if part.shadow is not None:
        found["shadow"] = code(part.shadow[frames])
    if is_spatial:
        found["depth"] = [float(f"{value:.4g}") for value in part.depth[frames]]
    return found


def _color(name: str) -> str:
    """A role, or a colour as browsers know it."""
    if name in (*ROLES, "ink", "muted", "grid", "background"):
        return name
    return matplotlib.colors.to_hex(name)


def _floor(scene: Scene, middle: Array, unit: float) -> list[list[int]]:
    if scene.floor is None:
        return []
    lines = [((line - middle) * unit).ravel() for line in scene.floor.lines]
    return [[round(float(x)) for x in line] for line in lines]
