"""Joints between bodies: which motions they leave, and what acts along these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import sympy

from ...errors import ModelError
from ..symbols import Coordinate, as_expression
from .body import Frame, Place, as_frame
from .joint_options import Axis, Bearing, GivenOptions, JointOptions, axis_of, bearing_of
from .steps import Ball, Slide, Step, Turn
from .vectors import Triple, across, as_rotation, as_triple, unit_axis

if TYPE_CHECKING:
    from ...typing import Expression

__all__ = [
    "Joint",
    "cylindrical",
    "free",
    "planar",
    "prismatic",
    "revolute",
    "screw",
    "spherical",
    "universal",
    "weld",
]

Direction: TypeAlias = "str | Sequence[Expression]"


@dataclass(frozen=True)
class Joint:
    """A joint; functions such as `revolute` make it.

    Attributes
    ----------
    name, kind : str
    parent, child : Frame
        The frames that the joint connects. They coincide where all coordinates are zero (a
        quaternion: 1, 0, 0, 0).
    steps : tuple
        The motion from the frame on the parent to that on the child.
    axes : tuple of Axis
    bearing : Bearing or None
        The friction by the force across the axis.

    >>> from dalembert.bodies import Body, ground
    >>> weld("glue", ground(), Body("a")).child.body.name
    'a'
    """

    name: str
    kind: str
    parent: Frame
    child: Frame
    steps: tuple[Step, ...]
    axes: tuple[Axis, ...]
    bearing: Bearing | None = None

    @property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates of the joint."""
        own = tuple(q for axis in self.axes for q in axis.coordinates)
        return own if self.bearing is None else (*own, *self.bearing.across)

    @property
    def is_passive(self) -> bool:
        """Whether nothing acts along its axes."""
        return self.bearing is None and all(axis.is_passive for axis in self.axes)


def _made(
    name: str,
    kind: str,
    parent: Place,
    child: Place,
    ends: Sequence[str],
    steps: Any,
    options: JointOptions,
) -> Joint:
    """A joint with one axis for each end of a coordinate's name; a quaternion's end is "q"."""
    try:
        given = GivenOptions(**options)
    except TypeError:
        unknown = sorted(set(options) - set(GivenOptions.__dataclass_fields__))
        raise ModelError(
            f"The joint `{name}` has no option {', '.join(unknown)}",
            remedy=f"use some of {', '.join(GivenOptions.__dataclass_fields__)}",
        ) from None
    if not isinstance(name, str) or not name.isidentifier():
        raise ModelError("A joint needs an identifier as its name", seen=repr(name))
    frames = [
        as_frame(place, f"The joint `{name}`").moved(
            as_triple(at, f"offset of the joint `{name}`"), as_rotation(rotation)
        )
        for place, at, rotation in (
            (parent, given.at, given.rotation),
            (child, given.child_at, given.child_rotation),
        )
    ]
    groups = _coordinates(name, ends, given.coordinates)
    axes = tuple(axis_of(name, k, group, len(groups), given) for k, group in enumerate(groups))
    bearing, motion = bearing_of(name, kind, given), list[Step](steps(groups))
    if bearing is not None:
        sides = across(direction_of(motion))
        motion += [Slide(side, q) for side, q in zip(sides, bearing.across, strict=True)]
    found = Joint(name, kind, frames[0], frames[1], tuple(motion), axes, bearing)
    if found.parent.body == found.child.body:
        raise ModelError(
            f"The joint `{name}` connects a body with itself", seen=found.parent.body.name
        )
    return found


def direction_of(steps: Sequence[Step]) -> Triple:
    """The axis of the first turn or slide of a joint."""
    step = next(step for step in steps if isinstance(step, (Turn, Slide)))
    return step.axis if isinstance(step, Turn) else step.direction


def _coordinates(name: str, ends: Sequence[str], given: Any) -> list[tuple[Coordinate, ...]]:
    names: list[list[str]] = []
    for end in ends:
        stem = f"{name}_{end}" if end else name
        names.append([f"{stem}{part}" for part in "wxyz"] if end == "q" else [stem])
    if given is not None:
        flat = list(given.split()) if isinstance(given, str) else list(given)
        if len(flat) != sum(map(len, names)):
            raise ModelError(
                f"The joint `{name}` has {sum(map(len, names))} coordinates",
                seen=f"{len(flat)} names",
                remedy="name each of them",
            )
        queue = iter(flat)
        names = [[_name(next(queue)) for _ in group] for group in names]
    return [tuple(Coordinate(each) for each in group) for group in names]


def _name(item: Any) -> str:
    return str(getattr(item, "name", item))


def weld(name: str, parent: Place, child: Place, **options: Unpack[JointOptions]) -> Joint:
    """Hold two frames together.

    >>> from dalembert.bodies import Body, ground
    >>> weld("glue", ground(), Body("a")).coordinates
    ()
    """
    return _made(name, "weld", parent, child, (), lambda _: (), options)


def revolute(
    name: str, parent: Place, child: Place, axis: Direction = "z", **options: Unpack[JointOptions]
) -> Joint:
    """A hinge: the child turns about an axis of the joint's frame.

    Parameters
    ----------
    name : str
        The name of the joint and of its coordinate.
    parent, child : bodies, or points or frames on them
    axis : "x", "-y", ... or three components
    at, rotation, child_at, child_rotation
        Offsets of the joint's frame on the parent and on the child.
    stiffness, rest, damping, armature
        V = k (q - rest)^2 / 2, R = c q_dot^2 / 2, T = J q_dot^2 / 2 along the coordinate.
    force : expression
        The generalised force along the coordinate; inputs in it are inputs of the system.
    limits : (low, high)
        One-sided constraints, with `restitution`; None leaves a side open.
    friction_loss : number or expression
        Dry friction along the coordinate, as `dalembert.friction_loss` states it.
    friction, static_friction, radius : numbers or expressions
        Coulomb's friction of a journal bearing: a torque of at most `static_friction` times
        `radius` times the force across the axis while it sticks, and of `friction` times both while
        it turns. A prismatic joint takes no radius: the limit is a force. The joint then has two
        coordinates across its axis, ``name_across1`` and ``name_across2``, that are held at zero.
    effort, speed : expression
        The largest force and speed of its drive: data that no equation contains.
    coordinates : names
        In place of the name of the joint.

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> arm = b.Body("arm", mass=1, com=(0, 0, -1))
    >>> b.revolute("shoulder", b.ground(), arm, axis="y", damping=0.1).coordinates
    (shoulder,)
    """
    direction = unit_axis(axis)
    return _made(
        name, "revolute", parent, child, ("",), lambda q: (Turn(direction, q[0][0]),), options
    )


def prismatic(
    name: str, parent: Place, child: Place, axis: Direction = "z", **options: Unpack[JointOptions]
) -> Joint:
    """A slider: the child moves along an axis; options as for `revolute`.

    >>> from dalembert.bodies import Body, ground
    >>> prismatic("s", ground(), Body("a"), axis="x", stiffness=3).axes[0].stiffness
    3
    """
    direction = unit_axis(axis)
    return _made(
        name, "prismatic", parent, child, ("",), lambda q: (Slide(direction, q[0][0]),), options
    )


def screw(
    name: str,
    parent: Place,
    child: Place,
    axis: Direction = "z",
    *,
    lead: Expression,
    **options: Unpack[JointOptions],
) -> Joint:
    """A screw: the child turns about an axis and moves `lead` along it in one turn.

    >>> from dalembert.bodies import Body, ground
    >>> screw("s", ground(), Body("a"), lead=0.5).coordinates
    (s,)
    """
    direction, advance = unit_axis(axis), as_expression(lead) / (2 * sympy.pi)
    return _made(
        name,
        "screw",
        parent,
        child,
        ("",),
        lambda q: (Slide(direction, advance * q[0][0]), Turn(direction, q[0][0])),
        options,
    )


def cylindrical(
    name: str, parent: Place, child: Place, axis: Direction = "z", **options: Unpack[JointOptions]
) -> Joint:
    """The child moves along an axis and turns about it: ``name_shift``, ``name_angle``.

    >>> from dalembert.bodies import Body, ground
    >>> cylindrical("c", ground(), Body("a")).coordinates
    (c_shift, c_angle)
    """
    direction = unit_axis(axis)
    return _made(
        name,
        "cylindrical",
        parent,
        child,
        ("shift", "angle"),
        lambda q: (Slide(direction, q[0][0]), Turn(direction, q[1][0])),
        options,
    )


def universal(
    name: str,
    parent: Place,
    child: Place,
    axes: tuple[Direction, Direction] = ("x", "y"),
    **options: Unpack[JointOptions],
) -> Joint:
    """A universal joint: turns about an axis of the parent, then about one of the child.

    >>> from dalembert.bodies import Body, ground
    >>> universal("u", ground(), Body("a"), axes=("z", "x")).coordinates
    (u_1, u_2)
    """
    first, second = (unit_axis(axis) for axis in axes)
    return _made(
        name,
        "universal",
        parent,
        child,
        ("1", "2"),
        lambda q: (Turn(first, q[0][0]), Turn(second, q[1][0])),
        options,
    )


def planar(name: str, parent: Place, child: Place, **options: Unpack[JointOptions]) -> Joint:
    """The child moves in the plane x, y of the joint's frame and turns about z.

    Its coordinates are ``name_x``, ``name_y``, ``name_angle``.

    >>> from dalembert.bodies import Body, ground
    >>> planar("p", ground(), Body("a")).coordinates
    (p_x, p_y, p_angle)
    """
    x, y, z = (unit_axis(axis) for axis in "xyz")
    return _made(
        name,
        "planar",
        parent,
        child,
        ("x", "y", "angle"),
        lambda q: (Slide(x, q[0][0]), Slide(y, q[1][0]), Turn(z, q[2][0])),
        options,
    )


def spherical(
    name: str,
    parent: Place,
    child: Place,
    angles: str | None = None,
    **options: Unpack[JointOptions],
) -> Joint:
    """A ball joint, by a quaternion, or by `angles` in a sequence such as "zyx".

    The coordinates are ``name_qw``, ..., ``name_qz``, whose norm is kept, or ``name_1`` to
    ``name_3``, which have a singular position.

    >>> from dalembert.bodies import Body, ground
    >>> spherical("s", ground(), Body("a")).coordinates
    (s_qw, s_qx, s_qy, s_qz)
    """
    ends, steps = _rotation(name, angles, 0)
    return _made(name, "spherical", parent, child, ends, steps, options)


def free(
    name: str,
    parent: Place,
    child: Place,
    angles: str | None = None,
    **options: Unpack[JointOptions],
) -> Joint:
    """All six motions: ``name_x``, ``name_y``, ``name_z``, and a rotation as in `spherical`.

    >>> from dalembert.bodies import Body, ground
    >>> free("f", ground(), Body("a"), angles="zyx").coordinates
    (f_x, f_y, f_z, f_1, f_2, f_3)
    """
    ends, turning = _rotation(name, angles, 3)
    directions = [unit_axis(axis) for axis in "xyz"]

    def steps(q: list[tuple[Coordinate, ...]]) -> tuple[Step, ...]:
        slides = tuple(Slide(axis, q[k][0]) for k, axis in enumerate(directions))
        return (*slides, *turning(q))

    return _made(name, "free", parent, child, ("x", "y", "z", *ends), steps, options)


def _rotation(name: str, angles: str | None, first: int) -> tuple[tuple[str, ...], Any]:
    """The ends of coordinates' names, and the steps, of a rotation in space."""
    if angles is None:
        return ("q",), lambda q: (Ball(name, q[first]),)
    sequence = [unit_axis(axis) for axis in angles]
    if len(sequence) != 3:
        raise ModelError(
            f"The joint `{name}` needs three angles", seen=angles, remedy='pass "zyx", say'
        )
    return ("1", "2", "3"), lambda q: tuple(
        Turn(axis, q[first + k][0]) for k, axis in enumerate(sequence)
    )
