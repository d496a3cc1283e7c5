"""What acts along the axes of a joint, and the keywords that state it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import sympy

from ...errors import ModelError
from ..symbols import Coordinate, as_expression
from .vectors import Rotated

if TYPE_CHECKING:
    from ...typing import Expression

__all__ = ["Axis", "Bearing", "GivenOptions", "JointOptions", "axis_of", "bearing_of"]

ZERO = sympy.Integer(0)
#: A number or an expression for the one axis of a joint, or one for each of its axes.
PerAxis: TypeAlias = "Expression | Sequence[Expression]"


@dataclass(frozen=True)
class Axis:
    """One motion of a joint, with what acts along it.

    Attributes
    ----------
    coordinates : tuple of Coordinate
        One, or the four of a quaternion (w, x, y, z).
    stiffness, rest, damping, armature : expressions
        Of a spring with its rest position, a damper, and a rotor that turns with the coordinate.
    force : expression, or three for a quaternion (a torque in the axes of the child)
    limits : pair of expressions or None
    friction_loss : expression
        The dry friction along the axis.
    effort, speed : expressions or None
        The largest force (torque) and speed of its drive. They are data; no equation contains them.
    """

    coordinates: tuple[Coordinate, ...]
    stiffness: sympy.Expr = ZERO
    rest: sympy.Expr = ZERO
    damping: sympy.Expr = ZERO
    armature: sympy.Expr = ZERO
    force: tuple[sympy.Expr, ...] = ()
    limits: tuple[Any, Any] | None = None
    restitution: sympy.Expr = ZERO
    effort: sympy.Expr | None = None
    speed: sympy.Expr | None = None
    friction_loss: sympy.Expr = ZERO

    @property
    def is_ball(self) -> bool:
        """Whether this is a rotation by a quaternion."""
        return len(self.coordinates) == 4

    @property
    def is_passive(self) -> bool:
        """Whether nothing acts along this axis."""
        numbers = (
            self.stiffness, self.damping, self.armature, self.friction_loss, *self.force
        )  # fmt: skip
        return self.limits is None and all(number == 0 for number in numbers)


#: A force along one axis; three for a quaternion; one entry for each axis of several.
Force: TypeAlias = "Expression | Sequence[Expression | Sequence[Expression]]"
Limits: TypeAlias = "tuple[Expression | None, Expression | None]"


class JointOptions(TypedDict, total=False):
    """The keywords that every joint takes; `revolute` explains them."""

    at: Sequence[Expression]
    rotation: Rotated
    child_at: Sequence[Expression]
    child_rotation: Rotated
    stiffness: PerAxis
    rest: PerAxis
    damping: PerAxis
    armature: PerAxis
    force: Force
    limits: Limits | Sequence[Limits | None] | None
    restitution: Expression
    effort: PerAxis | None
    speed: PerAxis | None
    friction_loss: PerAxis
    friction: Expression
    static_friction: Expression | None
    radius: Expression
    coordinates: str | Sequence[str | Coordinate] | None


@dataclass(frozen=True)
class GivenOptions:
    """The keywords of a joint with their defaults."""

    at: Sequence[Expression] = (0, 0, 0)
    rotation: Rotated = None
    child_at: Sequence[Expression] = (0, 0, 0)
    child_rotation: Rotated = None
    stiffness: PerAxis = 0
    rest: PerAxis = 0
    damping: PerAxis = 0
    armature: PerAxis = 0
    force: Any = 0
    limits: Any = None
    restitution: Expression = 0
    effort: PerAxis | None = None
    speed: PerAxis | None = None
    friction_loss: PerAxis = 0
    friction: Expression = 0
    static_friction: Expression | None = None
    radius: Expression | None = None
    coordinates: Any = None


@dataclass(frozen=True)
class Bearing:
    """Coulomb's friction along the one axis of a joint, by the force across the axis.

    Two coordinates across the axis are held at zero; their multipliers are the force.

    Attributes
    ----------
    across : pair of Coordinate
    friction, static_friction : expressions
        The largest force or torque along the axis by the force across it: the coefficients, times
        the radius of the bearing where the joint turns.
    """

    across: tuple[Coordinate, Coordinate]
    friction: sympy.Expr
    static_friction: sympy.Expr


def bearing_of(name: str, kind: str, given: GivenOptions) -> Bearing | None:
    """The friction that the keywords of a joint state; None where they state none."""
    stated = as_expression(given.friction)
    static = stated if given.static_friction is None else as_expression(given.static_friction)
    if stated.is_zero and static.is_zero:
        if given.radius is not None:
            raise ModelError(
                f"The joint `{name}` has a radius and no friction",
                seen=f"radius={given.radius}",
                remedy="give friction=, or remove the radius",
            )
        return None
    turns = kind == "revolute"
    if not turns and kind != "prismatic":
        raise ModelError(
            f"The joint `{name}` takes no friction by its reaction",
            seen=f"friction={stated} of a {kind} joint",
            remedy="use revolute or prismatic joints, or friction_loss=, friction of a given size",
        )
    if turns != (given.radius is not None):
        raise ModelError(
            f"The friction of the joint `{name}` needs a radius where it turns, and none where it"
            " slides",
            seen=f"radius={given.radius} of a {kind} joint",
            remedy="give radius=, that of the bearing" if turns else "remove the radius",
        )
    arm = as_expression(given.radius) if given.radius is not None else sympy.Integer(1)
    across = (Coordinate(f"{name}_across1"), Coordinate(f"{name}_across2"))
    return Bearing(across, stated * arm, static * arm)


def axis_of(
    name: str, place: int, group: tuple[Coordinate, ...], count: int, given: GivenOptions
) -> Axis:
    """The axis at a place among those of a joint, from the keywords of the joint."""

    def one(key: str) -> Any:
        value = getattr(given, key)
        if isinstance(value, (list, tuple)):
            if len(value) != count:
                raise ModelError(
                    f"The joint `{name}` takes {count} values as `{key}`", seen=len(value)
                )
            return value[place]
        if count > 1 and value != 0:
            raise ModelError(
                f"The joint `{name}` has {count} axes",
                seen=f"{key}={value}",
                remedy=f"pass one value of `{key}` for each of them",
            )
        return value

    is_ball = len(group) == 4
    force, limits = given.force, given.limits
    if count > 1:
        force = 0 if isinstance(force, (int, float)) and force == 0 else one("force")
        limits = None if limits is None else one("limits")
    if is_ball and limits is not None:
        raise ModelError(
            f"The limits of the joint `{name}` are given for its angles",
            remedy='pass angles="zyx" as well, say',
        )
    if limits is not None and len(limits) != 2:
        raise ModelError(
            f"The limits of `{name}` are a pair", seen=limits, remedy="pass (low, high)"
        )
    forces = force if isinstance(force, (list, tuple)) else (force,)
    if any(value != 0 for value in forces) and len(forces) != (3 if is_ball else 1):
        raise ModelError(
            f"The force along `{name}` has {3 if is_ball else 1} components", seen=len(forces)
        )
    return Axis(
        group,
        as_expression(one("stiffness")),
        as_expression(one("rest")),
        as_expression(one("damping")),
        as_expression(one("armature")),
        tuple(as_expression(value) for value in forces) if any(v != 0 for v in forces) else (),
        None if limits is None else (limits[0], limits[1]),
        as_expression(given.restitution),
        None if given.effort is None else as_expression(one("effort")),
        None if given.speed is None else as_expression(one("speed")),
        as_expression(one("friction_loss")),
    )
