"""Poses in numbers: a rotation matrix and a position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from ...bodies.vectors import Rotation

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["FilePose", "numeric", "roll_pitch_yaw"]

Array: TypeAlias = "NDArray[np.float64]"


def numeric(rows: Sequence[Sequence[object]]) -> Array:
    """A matrix of SymPy numbers as an array."""
    return np.array([[float(entry) for entry in row] for row in rows])  # type: ignore[arg-type]


@dataclass(frozen=True)
class FilePose:
    """A rotation (3, 3), whose columns are the axes, and a position (3,) in another frame."""

    axes: Array
    origin: Array

    @classmethod
    def identity(cls) -> FilePose:
        """The frame itself."""
        return cls(np.eye(3), np.zeros(3))

    @property
    def inverse(self) -> FilePose:
        """The other frame in this one."""
        return FilePose(self.axes.T, -self.axes.T @ self.origin)

    def __matmul__(self, inner: FilePose) -> FilePose:
        """A pose that is given in this one."""
        return FilePose(self.axes @ inner.axes, self.origin + self.axes @ inner.origin)

    def moved(self, at: list[float], rotation: Rotation) -> FilePose:
        """A frame that is given in this one by its position and rotation."""
        return self @ FilePose(numeric(rotation.rows), np.array(at))

    def local(self, position: ArrayLike) -> list[float]:
        """A position of the other frame, in this one."""
        return [float(entry) for entry in self.axes.T @ (np.asarray(position) - self.origin)]


def roll_pitch_yaw(axes: Array) -> list[float]:
    """The angles of R = Rz(yaw) Ry(pitch) Rx(roll).

    Roll is computed after yaw is undone, so that the three give R also where yaw and roll are not
    unique.

    >>> [round(angle, 12) for angle in roll_pitch_yaw(np.eye(3)[[1, 0, 2]] * [1, -1, 1])]
    [0.0, -0.0, 1.570796326795]
    """
    yaw = math.atan2(axes[1, 0], axes[0, 0])
    pitch = math.atan2(-axes[2, 0], math.hypot(axes[0, 0], axes[1, 0]))
    c, s = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(s * axes[0, 2] - c * axes[1, 2], c * axes[1, 1] - s * axes[0, 1])
    return [roll, pitch, yaw]
