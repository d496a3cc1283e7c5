"""Mass, centre and tensor of inertia of the solid shapes of MJCF."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...names import shortened
from .mjcf_settings import Settings, least_turn
from .xml_reader import Node

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["UniformSolid", "joined", "numeric", "solid"]

Array: TypeAlias = "NDArray[np.float64]"
DENSITY = 1000.0


@dataclass(frozen=True)
class UniformSolid:
    """A mass, its centre (3,) and its tensor of inertia (3, 3) about the centre."""

    mass: float
    centre: Array
    tensor: Array


def numeric(rows: Sequence[Sequence[object]]) -> Array:
    """A matrix of SymPy numbers as an array."""
    return np.array([[float(entry) for entry in row] for row in rows])  # type: ignore[arg-type]


def joined(solids: Sequence[UniformSolid]) -> UniformSolid:
    """Several solids as one, by the theorem of parallel axes.

    >>> ball = UniformSolid(1.0, np.array([1.0, 0, 0]), np.zeros((3, 3)))
    >>> both = joined([ball, UniformSolid(1.0, np.array([-1.0, 0, 0]), np.zeros((3, 3)))])
    >>> both.mass, float(both.centre[0]), float(both.tensor[2, 2])
    (2.0, 0.0, 2.0)
    """
    mass = sum(each.mass for each in solids)
    if mass == 0:
        return UniformSolid(0.0, np.zeros(3), np.zeros((3, 3)))
    centre = sum((each.mass * each.centre for each in solids), np.zeros(3)) / mass
    tensor = np.zeros((3, 3))
    for each in solids:
        d = each.centre - centre
        tensor += each.tensor + each.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return UniformSolid(float(mass), centre, tensor)


def solid(node: Node, settings: Settings) -> UniformSolid | None:
    """The mass of a <geom>; None for a plane."""
    kind = node.text("type", "sphere")
    if kind == "plane" or node.attributes.get("mass", "").strip() in ("0", "0.0"):
        return None
    if kind not in _SHAPES:
        node.fault(
            f"The mass of a geom of type {shortened(kind)} is not computed",
            remedy="give its body an <inertial>, or the geom mass 0",
        )
    count, shape = _SHAPES[kind]
    centre, axes, size = _placed(node, settings, kind, count)
    if any(value <= 0 for value in size):
        node.fault("The sizes of a geom are positive", size)
    volume, moments = shape(*size)
    mass = node.number("mass", node.number("density", DENSITY) * volume)
    if mass < 0:
        node.fault("The mass of a geom is not negative", mass)
    return UniformSolid(
        mass, centre, axes @ np.diag([mass * moment for moment in moments]) @ axes.T
    )


def _placed(
    node: Node, settings: Settings, kind: str, count: int
) -> tuple[Array, Array, list[float]]:
    """Centre, axes and sizes of a geom."""
    words = node.text("size").split()
    if "fromto" in node.attributes:
        ends = np.array(node.numbers("fromto", 6)).reshape(2, 3)
        along = ends[1] - ends[0]
        length = float(np.linalg.norm(along))
        if kind not in ("capsule", "cylinder") or length == 0:
            node.fault("`fromto` gives the two ends of a capsule or a cylinder", shortened(kind))
        if not words:
            node.fault(f"A geom of type {kind} has a size", remedy='write size="radius"')
        size = [Node("geom", {"size": words[0]}, node.line).number("size"), length / 2]
        return ends.mean(axis=0), numeric(least_turn(list(along)).rows), size
    if len(words) < count:
        node.fault(f"A geom of type {kind} has {count} sizes", shortened(node.text("size")))
    size = Node("geom", {"size": " ".join(words[:count])}, node.line).numbers("size", count)
    centre = np.array(node.numbers("pos", 3, (0.0, 0.0, 0.0)))
    return centre, numeric(settings.rotation(node).rows), size


def _sphere(r: float) -> tuple[float, tuple[float, ...]]:
    return 4 / 3 * math.pi * r**3, (2 / 5 * r**2,) * 3


def _ellipsoid(a: float, b: float, c: float) -> tuple[float, tuple[float, ...]]:
    moments = ((b**2 + c**2) / 5, (a**2 + c**2) / 5, (a**2 + b**2) / 5)
    return 4 / 3 * math.pi * a * b * c, moments


def _box(a: float, b: float, c: float) -> tuple[float, tuple[float, ...]]:
    return 8 * a * b * c, ((b**2 + c**2) / 3, (a**2 + c**2) / 3, (a**2 + b**2) / 3)


def _cylinder(r: float, h: float) -> tuple[float, tuple[float, ...]]:
    across = (3 * r**2 + 4 * h**2) / 12
    return 2 * math.pi * r**2 * h, (across, across, r**2 / 2)


def _capsule(r: float, h: float) -> tuple[float, tuple[float, ...]]:
    """A cylinder of half length h with two half balls, whose centres are 3 r / 8 beyond."""
    tube, balls = 2 * math.pi * r**2 * h, 4 / 3 * math.pi * r**3
    part = tube / (tube + balls)
    across = part * (3 * r**2 + 4 * h**2) / 12
    across += (1 - part) * (2 / 5 * r**2 + h**2 + 3 / 4 * r * h)
    return tube + balls, (across, across, part * r**2 / 2 + (1 - part) * 2 / 5 * r**2)


#: The number of sizes of each shape; its volume and its principal moments per mass.
_SHAPES: dict[str, tuple[int, Callable[..., tuple[float, tuple[float, ...]]]]] = {
    "sphere": (1, _sphere),
    "ellipsoid": (3, _ellipsoid),
    "box": (3, _box),
    "cylinder": (2, _cylinder),
    "capsule": (2, _capsule),
}
