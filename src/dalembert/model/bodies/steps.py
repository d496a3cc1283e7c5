r"""Steps from one frame to the next: pure translations and pure rotations, fixed or moving.

Each step carries the twist (w, v) of a frame, in its own components, to the next frame, and its
pose (R, r) in space as well. With a translation d and a rotation E (columns: the new axes),

    translation:   w' = w,              v' = v + w x d + d_dot,     r' = r + R d,   R' = R
    rotation:      w' = E^T w + Omega,  v' = E^T v,                 r' = r,         R' = R E

where Omega is the angular velocity of the step in the new axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import sympy

from ..forces import rate
from ..quantities import define
from .vectors import IDENTITY, Rotation, Triple, add, cosine_and_sine, cross, dot, scale, turn

if TYPE_CHECKING:
    from .body import Frame

__all__ = ["Ball", "Fixed", "Shift", "Slide", "Step", "Turn"]
__all__ += ["inverted", "named_triple", "placing", "rates_along", "with_plane_turns"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
AXES = "xyz"
#: The least sine between the axis of a turn and the axis in front of it that fixes a plane.
LEAST_TILT = 1e-3


@dataclass(frozen=True)
class Shift:
    """A translation that does not change: an offset on a body."""

    offset: Triple


@dataclass(frozen=True)
class Fixed:
    """A rotation that does not change: axes on a body."""

    rotation: Rotation


@dataclass(frozen=True)
class Slide:
    """A translation along a direction, by a function of coordinates and time."""

    direction: Triple
    distance: sympy.Expr


@dataclass(frozen=True)
class Turn:
    """A rotation about a unit axis, by an angle that is a function of coordinates and time."""

    axis: Triple
    angle: sympy.Expr


@dataclass(frozen=True)
class Ball:
    """A rotation by a quaternion (w, x, y, z) of any norm."""

    name: str
    parts: tuple[sympy.Expr, sympy.Expr, sympy.Expr, sympy.Expr]

    @property
    def norm(self) -> sympy.Expr:
        """|q|^2."""
        return define(f"N_{self.name}", sum((part**2 for part in self.parts), ZERO))

    @property
    def rotation(self) -> Rotation:
        """The matrix of the normalised quaternion, as named quantities."""
        w, x, y, z = self.parts
        two = define(f"s_{self.name}", 2 / self.norm)
        rows = (
            (ONE - two * (y * y + z * z), two * (x * y - w * z), two * (x * z + w * y)),
            (two * (x * y + w * z), ONE - two * (x * x + z * z), two * (y * z - w * x)),
            (two * (x * z - w * y), two * (y * z + w * x), ONE - two * (x * x + y * y)),
        )
        x_row, y_row, z_row = (
            named_triple(f"E_{self.name}_{axis}", row) for axis, row in zip(AXES, rows, strict=True)
        )
        return Rotation((x_row, y_row, z_row))

    @property
    def spin(self) -> Triple:
        """The angular velocity 2 vec(conj(q) q_dot) / |q|^2, in the turned axes."""
        w, x, y, z = self.parts
        dw, dx, dy, dz = (rate(part) for part in self.parts)
        two = define(f"s_{self.name}", 2 / self.norm)
        spin = (
            two * (w * dx - x * dw - y * dz + z * dy),
            two * (w * dy - y * dw - z * dx + x * dz),
            two * (w * dz - z * dw - x * dy + y * dx),
        )
        return named_triple(f"O_{self.name}", spin)


Step: TypeAlias = Shift | Fixed | Slide | Turn | Ball


def rates_along(step: Step) -> tuple[sympy.Expr, ...]:
    """The rates along a step: none, one, or the spin of a ball."""
    match step:
        case Slide(_, distance):
            return (rate(distance),)
        case Turn(_, angle):
            return (rate(angle),)
        case Ball():
            return step.spin
    return ()


def named_triple(stem: str, vector: Triple) -> Triple:
    """A vector whose components have names."""
    x, y, z = (define(f"{stem}_{axis}", part) for axis, part in zip(AXES, vector, strict=True))
    return (x, y, z)


def shared(stem: str, vector: Triple) -> Triple:
    """A vector whose sums have names, before they are multiplied."""
    if not any(isinstance(entry, sympy.Add) for entry in vector):
        return vector
    return named_triple(stem, vector)


def inverted(steps: Sequence[Step]) -> Iterator[Step]:
    """The steps back."""
    for step in reversed(steps):
        match step:
            case Shift(offset):
                yield Shift(scale(-ONE, offset))
            case Fixed(rotation):
                yield Fixed(rotation.inverse)
            case Slide(direction, distance):
                yield Slide(direction, -distance)
            case Turn(axis, angle):
                yield Turn(axis, -angle)
            case Ball(name, (w, x, y, z)):
                yield Ball(f"{name}_back", (w, -x, -y, -z))


def placing(frame: Frame) -> list[Step]:
    """The steps from a body to a frame on it."""
    found: list[Step] = []
    if any(entry != 0 for entry in frame.position):
        found.append(Shift(frame.position))
    if frame.rotation != IDENTITY:
        found.append(Fixed(frame.rotation))
    return found


def with_plane_turns(steps: Sequence[Step]) -> Iterator[Step]:
    """Steps in which skew axes in front of a turn about a coordinate axis are turns in planes.

    With numbers, E = E_z(a) E_x(b) E_z(c) for a turn about z, and c joins its angle: three turns of
    two components each take fewer operations than nine entries and a turn.
    """
    waiting: Step | None = None
    for step in steps:
        parts = _plane_turns(waiting, step) if isinstance(waiting, Fixed) else None
        if parts is not None:
            yield from parts
            waiting = None
            continue
        if waiting is not None:
            yield waiting
        waiting = step
    if waiting is not None:
        yield waiting


def _plane_turns(fixed: Fixed, step: Step) -> list[Step] | None:
    """Turns in planes for a skew rotation and the turn behind it; None for others."""
    entries = [entry for row in fixed.rotation.rows for entry in row]
    places = (
        [k for k, entry in enumerate(step.axis) if entry != 0] if isinstance(step, Turn) else []
    )
    if not isinstance(step, Turn) or len(places) != 1:
        return None
    if not all(isinstance(entry, sympy.Float) for entry in entries):
        return None
    along = places[0]
    first, second = (along + 1) % 3, (along + 2) % 3
    rows = [[float(entry) for entry in row] for row in fixed.rotation.rows]
    across = math.hypot(rows[along][first], rows[along][second])
    if across < LEAST_TILT:
        return None
    angles = (
        math.atan2(rows[first][along], -rows[second][along]),
        math.atan2(across, rows[along][along]),
        math.atan2(rows[along][first], rows[along][second]),
    )
    units = [(ONE, ZERO, ZERO), (ZERO, ONE, ZERO), (ZERO, ZERO, ONE)]
    planes: list[Step] = [
        Fixed(turn(units[axis], *cosine_and_sine(sympy.Float(angle))))
        for axis, angle in zip((along, first), angles, strict=False)
    ]
    angle = step.angle + step.axis[along] * sympy.Float(angles[2])
    return [*planes, Turn(step.axis, angle)]


def rotation_of(step: Fixed | Turn | Ball) -> Rotation:
    """The matrix of a rotating step."""
    match step:
        case Fixed(rotation):
            return rotation
        case Turn(axis, angle):
            return turn(axis, *cosine_and_sine(angle))
    return step.rotation


def turned_back(step: Fixed | Turn | Ball, vector: Triple, stem: str) -> Triple:
    """E^T a: a vector in the axes after a rotating step."""
    if isinstance(step, Turn):
        places = [k for k, entry in enumerate(step.axis) if entry != 0]
        if len(places) == 1:
            vector = shared(stem, vector)
            along = places[0]
            first, second = (along + 1) % 3, (along + 2) % 3
            cosine, sine = cosine_and_sine(step.axis[along] * step.angle)
            found = list(vector)
            found[first] = cosine * vector[first] + sine * vector[second]
            found[second] = cosine * vector[second] - sine * vector[first]
            return (found[0], found[1], found[2])
    return rotation_of(step).inverse.applied(shared(stem, vector))


def twist_after(step: Step, twist: tuple[Triple, Triple], stem: str) -> tuple[Triple, Triple]:
    """The twist (w, v) after a step."""
    spin, velocity = twist
    match step:
        case Shift(offset):
            return spin, add(velocity, cross(spin, offset))
        case Slide(direction, distance):
            moved = add(velocity, cross(spin, scale(distance, direction)))
            return spin, add(moved, scale(rate(distance), direction))
        case Turn(axis, angle):
            own = scale(rate(angle), axis)
        case Ball():
            own = step.spin
        case _:
            own = (ZERO, ZERO, ZERO)
    return (
        add(turned_back(step, spin, f"a{stem}"), own),
        turned_back(step, velocity, f"u{stem}"),
    )


def pose_after(step: Step, pose: tuple[Rotation, Triple], stem: str) -> tuple[Rotation, Triple]:
    """The pose (R, r) after a step."""
    axes, position = pose
    match step:
        case Shift(offset):
            return axes, add(position, axes.applied(offset))
        case Slide(direction, distance):
            return axes, add(position, axes.applied(scale(distance, direction)))
    rows = [turned_back(step, row, f"{stem}_{AXES[k]}") for k, row in enumerate(axes.rows)]
    return Rotation((rows[0], rows[1], rows[2])), position


def fall_after(step: Step, fall: tuple[Triple, sympy.Expr], stem: str) -> tuple[Triple, sympy.Expr]:
    """The acceleration of gravity in the axes after a step, and the potential of its origin."""
    gravity, potential = fall
    match step:
        case Shift(offset):
            return gravity, potential - dot(gravity, offset)
        case Slide(direction, distance):
            return gravity, potential - distance * dot(gravity, direction)
    return turned_back(step, gravity, stem), potential
