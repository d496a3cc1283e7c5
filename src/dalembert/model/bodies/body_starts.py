r"""Starts of joints: orientations as rotations, velocities as twists.

A joint carries its child's frame to R, p in its parent's frame. With the angular velocity w of the
child, in the child's axes (body) or in the parent's (space, mixed), the velocity of a twist is

    body:   R^T p_dot          space:   p_dot - w x p          mixed:   p_dot

where the space velocity is that of the point of the child at the origin of the parent's frame.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from ...errors import StartError
from ..symbols import name_of
from ..values import real_number
from .joints import Joint
from .quaternions import quaternion_of, rotation_of
from .steps import Ball, Slide, Turn
from .vectors import Rotation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...typing import BySymbol

__all__ = ["JointStart", "Twist", "expanded_start", "twist"]

Array: TypeAlias = "NDArray[np.float64]"
TwistFrame = Literal["body", "space", "mixed"]


@dataclass(frozen=True)
class Twist:
    """The velocity of a joint's child relative to its parent; `twist` makes it.

    >>> Twist((0.0, 0.0, 1.0)).frame
    'body'
    """

    spin: tuple[float, float, float]
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frame: TwistFrame = "body"


#: What a start may give for a joint, or for a coordinate or velocity.
JointStart: TypeAlias = "float | Rotation | Twist"


def twist(
    spin: Sequence[float] = (0, 0, 0),
    velocity: Sequence[float] = (0, 0, 0),
    frame: TwistFrame = "body",
) -> Twist:
    """An angular velocity and a velocity of a free or spherical joint, for a start.

    Parameters
    ----------
    frame : "body", "space" or "mixed"
        Both in the child's axes, the velocity at the origin of the child's frame; both in the
        parent's axes, the velocity at the origin of the parent's frame; or both in the parent's
        axes, the velocity at the origin of the child's frame.

    >>> twist((0, 0, 2), frame="space").spin
    (0.0, 0.0, 2.0)
    """
    if frame not in ("body", "space", "mixed"):
        raise StartError(
            "A twist is given in one of three ways",
            seen=repr(frame),
            remedy='pass "body", "space" or "mixed"',
        )
    return Twist(_three(spin, "spin"), _three(velocity, "velocity"), frame)


def _three(values: Sequence[float], what: str) -> tuple[float, float, float]:
    numbers = [float(real_number(value)) for value in values]
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise StartError(f"The {what} of a twist is three finite numbers", seen=values)
    return numbers[0], numbers[1], numbers[2]


def expanded_start(joints: Sequence[Joint], given: BySymbol[JointStart]) -> dict[str, float]:
    """Values of coordinates and velocities, from rotations and twists of joints by their names."""
    by_name = {joint.name: joint for joint in joints}
    rates = {f"{name}_dot": joint for name, joint in by_name.items()}
    found: dict[str, float] = {}
    moving: list[tuple[Joint, Twist]] = []
    for key, value in given.items():
        name = name_of(key)
        if isinstance(value, Rotation):
            joint = _oriented(by_name.get(name), name, "rotation")
            _merged(found, _coordinates(joint, value), name)
        elif isinstance(value, Twist):
            moving.append((_oriented(rates.get(name), name, "twist"), value))
        else:
            _merged(found, {name: real_number(value)}, name)
    for joint, value in moving:
        _merged(found, _rates(joint, value, found), f"{joint.name}_dot")
    return found


def _merged(found: dict[str, float], more: Mapping[str, float], name: str) -> None:
    both = sorted(set(found) & set(more))
    if both:
        raise StartError(
            f"The start gives `{both[0]}` twice", seen=f"by `{name}` as well", remedy="keep one"
        )
    found |= more


def _oriented(joint: Joint | None, name: str, what: str) -> Joint:
    if joint is None or joint.kind not in ("free", "spherical"):
        raise StartError(
            f"The start gives a {what} for `{name}`",
            seen=f"a {joint.kind} joint" if joint else "no joint",
            remedy="name a free or spherical joint"
            + (", followed by _dot" if what == "twist" else ""),
        )
    return joint


def _coordinates(joint: Joint, rotation: Rotation) -> dict[str, float]:
    """The quaternion or the angles of a rotation."""
    try:
        rows = [[float(entry) for entry in row] for row in rotation.rows]
    except TypeError:
        raise StartError(
            f"The rotation of `{joint.name}` is not in numbers",
            seen=rotation.rows[0][0],
            remedy="give its angles as numbers",
        ) from None
    if isinstance(joint.steps[-1], Ball):
        parts = map(float, quaternion_of(np.array(rows)))
        return dict(zip((q.name for q in joint.coordinates[-4:]), parts, strict=True))
    from scipy.spatial.transform import Rotation as Turned

    turns = [step for step in joint.steps if isinstance(step, Turn)]
    sequence = "".join("XYZ"[[float(e) for e in step.axis].index(1.0)] for step in turns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of angles that are not unique
        angles = Turned.from_matrix(rows).as_euler(sequence)
    names = (q.name for q in joint.coordinates[-3:])
    return dict(zip(names, map(float, angles), strict=True))


def _rates(joint: Joint, value: Twist, start: Mapping[str, float]) -> dict[str, float]:
    """The rates of a joint's coordinates for a twist, in the position of a start."""
    names = [q.name for q in joint.coordinates]
    home = {names[-4]: 1.0} if isinstance(joint.steps[-1], Ball) else {}
    q = np.array([start.get(name, home.get(name, 0.0)) for name in names])
    where = dict(zip(names, q, strict=True))
    axes, turning = _orientation(joint, where)
    position = np.zeros(3)
    for step in joint.steps:
        if isinstance(step, Slide):
            position += where[str(step.distance)] * np.array(step.direction, dtype=float)
    spin, velocity = np.array(value.spin), np.array(value.velocity)
    if value.frame == "body":
        moved = axes @ velocity
    else:
        moved = velocity + (np.cross(spin, position) if value.frame == "space" else 0.0)
        spin = axes.T @ spin
    rates = _solved(joint, turning, spin)
    if joint.kind == "free":
        rates = np.concatenate([moved, rates])
    elif np.any(moved):
        raise StartError(
            f"The joint `{joint.name}` turns only", seen="a velocity", remedy="give its spin alone"
        )
    return {f"{name}_dot": float(rate) for name, rate in zip(names, rates, strict=True)}


def _orientation(joint: Joint, where: Mapping[str, float]) -> tuple[Array, Array]:
    """R, and the matrix from the rates of the last coordinates to the spin in the child's axes."""
    last = joint.steps[-1]
    if isinstance(last, Ball):
        w, x, y, z = parts = np.array([where[str(part)] for part in last.parts])
        if not np.any(parts):
            raise StartError(f"The quaternion of `{joint.name}` is zero", remedy="give another")
        rows = np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
        return rotation_of(parts), 2 * rows / (parts @ parts)
    from scipy.spatial.transform import Rotation as Turned

    axes: Array = np.eye(3)
    columns: list[Array] = []
    for step in joint.steps:
        if isinstance(step, Turn):
            axis = np.array(step.axis, dtype=float)
            own = Turned.from_rotvec(where[str(step.angle)] * axis).as_matrix()
            columns = [own.T @ column for column in columns] + [axis]
            axes = axes @ own
    return axes, np.array(columns).T


def _solved(joint: Joint, turning: Array, spin: Array) -> Array:
    if turning.shape == (3, 4):
        square = turning @ turning.T  # 4 / |q|^2 times the identity
        found: Array = turning.T @ spin / square[0, 0]
        return found
    if abs(np.linalg.det(turning)) < 1e-9:
        raise StartError(
            f"The angles of `{joint.name}` are singular in this position",
            remedy="state the joint without angles=, by a quaternion",
        )
    return np.asarray(np.linalg.solve(turning, spin), dtype=np.float64)
