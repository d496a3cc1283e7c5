"""Drawings of flows of matrices: a turning brick, vectors on a sphere, entries as bars."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import sympy

from ..drawing import Circle, Drawing, Link, PointMark, Polyline, Shape, Trace

__all__ = ["bars", "brick", "vectors_on_sphere"]

GRID = "#9aa3ad"


def brick(rotation: sympy.Matrix, sides: Sequence[float]) -> Drawing:
    """A brick with half sides (a, b, c) turned by a rotation (3 x 3), and the path of a face."""
    corners = {
        signs: tuple(
            rotation * sympy.Matrix([s * side for s, side in zip(signs, sides, strict=True)])
        )
        for signs in product((-1, 1), repeat=3)
    }

    def face(first: int) -> list[Any]:
        return [corners[first, j, k] for j, k in ((-1, -1), (-1, 1), (1, 1), (1, -1))]

    tip = tuple(rotation * sympy.Matrix([sides[0], 0, 0]))
    edges = [
        Link(corners[-1, j, k], corners[1, j, k], width=1.5, color="body")
        for j, k in product((-1, 1), repeat=2)
    ]
    reach = 1.1 * max(float(side) for side in sides)
    return Drawing(
        shapes=(
            Polyline(face(-1), closed=True),
            Polyline(face(1), closed=True, color="accent"),
            *edges,
            PointMark(tip, size=6.0, color="accent"),
            Trace(tip),
        ),
        limits=((-reach, reach),) * 3,
    )


def vectors_on_sphere(vectors: Sequence[Sequence[Any]], radius: float = 1.0) -> Drawing:
    """Vectors in space as arrows from the centre of a sphere of three circles, with their paths."""
    axes = ((1, 0, 0), (0, 1, 0), (0, 0, 1))
    circles = [
        Circle((0, 0, 0), radius, axes=(axes[k], axes[(k + 1) % 3]), color=GRID) for k in range(3)
    ]
    shapes: list[Shape] = []
    for number, vector in enumerate(vectors):
        color = ("accent", "body", "link")[number % 3]
        shapes += [
            Link((0, 0, 0), tuple(vector), color=color),
            PointMark(tuple(vector), size=7.0, color=color),
            Trace(tuple(vector)),
        ]
    return Drawing(shapes=(*circles, *shapes), limits=((-1.1 * radius, 1.1 * radius),) * 3)


def bars(values: Sequence[Any], between: Sequence[Any] = (), height: float = 1.0) -> Drawing:
    """Numbers as bars side by side, such as a diagonal; those `between` neighbours as dots."""
    shapes: list[Shape] = [Link((0.5, 0), (len(values) + 0.5, 0), width=1.0, color=GRID)]
    for k, value in enumerate(values, start=1):
        shapes += [
            Link((k, 0), (k, value), width=6.0, color="body"),
            PointMark((k, value), size=7.0, color="body"),
        ]
    shapes += [
        PointMark((k + 0.5, value), size=7.0, color="accent")
        for k, value in enumerate(between, start=1)
    ]
    return Drawing(
        shapes=tuple(shapes),
        limits=((0.2, len(values) + 0.8), (-1.1 * height, 1.1 * height)),
        labels=("place", "entry", ""),
    )
