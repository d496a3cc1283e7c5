"""Quaternions (w, x, y, z) of rotations in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...typing import Array

__all__ = ["quaternion_of", "quaternion_rates", "rotation_of"]


def quaternion_of(rotation: Array) -> Array:
    """The quaternion (w, x, y, z) of a rotation matrix, by its largest part (Shepperd)."""
    R = rotation
    trace = float(np.trace(R))
    squares = np.array([1 + trace, *(1 - trace + 2 * np.diag(R))])
    w, x, y = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    xy, xz, yz = R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1]
    columns = [
        (squares[0], w, x, y),
        (w, squares[1], xy, xz),
        (x, xy, squares[2], yz),
        (y, xz, yz, squares[3]),
    ]
    best = np.array(columns[int(np.argmax(squares))])
    found: Array = best / np.linalg.norm(best)
    return found


def quaternion_rates(parts: Array, spin: Array) -> Array:
    """q_dot = q (0, w) / 2, with the angular velocity in the turned axes."""
    w, vector = parts[0], parts[1:]
    return np.array([-vector @ spin, *(w * spin + np.cross(vector, spin))]) / 2


def rotation_of(parts: Array) -> Array:
    """The rotation matrix of a quaternion (w, x, y, z) other than zero."""
    w, x, y, z = parts / np.linalg.norm(parts)
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    found: Array = np.eye(3) + 2 * w * skew + 2 * skew @ skew
    return found
