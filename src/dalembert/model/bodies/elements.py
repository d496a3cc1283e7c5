"""Springs, dampers, bushings and wrenches between bodies; gears, couplings and distances."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import sympy

from ...errors import ModelError
from ..constraints import holonomic
from ..quantities import define
from ..symbols import Coordinate, as_expression
from .body import Frame, Place, as_frame
from .closures import apart, unturned
from .contributions import Contribution, generalised_forces
from .joints import Joint
from .steps import named_triple
from .vectors import Triple, add, as_triple, cross, dot, scale

if TYPE_CHECKING:
    from ...typing import Expression
    from .kinematics import Kinematics

__all__ = ["bushing", "coupling", "damper", "distance", "gear", "spring", "wrench"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)


@dataclass(frozen=True)
class SpringDamper:
    """A spring and a damper along the line between two points."""

    name: str
    first: Frame
    second: Frame
    stiffness: sympy.Expr
    length: sympy.Expr
    damping: sympy.Expr

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by."""
        return (self.stiffness, self.length, self.damping)

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """V = k (|d| - l)^2 / 2 and R = c (d |d| / dt)^2 / 2."""
        line = named_triple(f"d_{self.name}", apart(self.first, self.second, kinematics))
        square = dot(line, line)
        if self.length == 0 and self.damping == 0:
            return Contribution(potential=(self.stiffness / 2 * square,))
        size = define(f"l_{self.name}", sympy.sqrt(square))
        rates = add(kinematics.velocity(self.second), scale(-ONE, kinematics.velocity(self.first)))
        rate = dot(line, rates) / size if self.damping != 0 else ZERO
        return Contribution(
            potential=(self.stiffness / 2 * (size - self.length) ** 2,),
            dissipation=(self.damping / 2 * rate**2,),
        )


def spring(
    name: str,
    first: Place,
    second: Place,
    stiffness: Expression,
    length: Expression = 0,
    damping: Expression = 0,
) -> SpringDamper:
    """A spring between two points, with its length at rest, and a damper beside it.

    >>> from dalembert.bodies import Body, ground
    >>> spring("s", ground(), Body("mass").point((0, 0, 1)), stiffness=100, length=0.5).length
    0.500000000000000
    """
    return SpringDamper(
        name,
        as_frame(first, f"The spring `{name}`"),
        as_frame(second, f"The spring `{name}`"),
        as_expression(stiffness),
        as_expression(length),
        as_expression(damping),
    )


def damper(name: str, first: Place, second: Place, damping: Expression) -> SpringDamper:
    """A damper along the line between two points.

    >>> from dalembert.bodies import Body, ground
    >>> damper("d", ground(), Body("mass").point((0, 0, 1)), 3).damping
    3
    """
    return spring(name, first, second, 0, 0, damping)


@dataclass(frozen=True)
class Bushing:
    """Springs and dampers along and about the three axes of a frame."""

    name: str
    first: Frame
    second: Frame
    stiffness: tuple[sympy.Expr, ...]
    damping: tuple[sympy.Expr, ...]

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by."""
        return (*self.stiffness, *self.damping)

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """Energies of the relative displacement and rotation, in the axes of the first frame."""
        here, there = kinematics.axes(self.first), kinematics.axes(self.second)
        line = apart(self.first, self.second, kinematics)
        turned = unturned(here, there)
        shown = [*here.inverse.applied(line), *(entry / 2 for entry in turned)]
        spin = kinematics.spin(self.first)
        velocity = add(
            kinematics.velocity(self.second), scale(-ONE, kinematics.velocity(self.first))
        )
        rates = [
            *here.inverse.applied(add(velocity, scale(-ONE, cross(spin, line)))),
            *here.inverse.applied(add(kinematics.spin(self.second), scale(-ONE, spin))),
        ]
        pairs = zip(self.stiffness, shown, strict=True)
        losses = zip(self.damping, rates, strict=True)
        return Contribution(
            potential=tuple(k / 2 * value**2 for k, value in pairs if k != 0),
            dissipation=tuple(c / 2 * value**2 for c, value in losses if c != 0),
        )


def bushing(
    name: str,
    first: Place,
    second: Place,
    stiffness: Sequence[Expression],
    damping: Sequence[Expression] = (0,) * 6,
) -> Bushing:
    """An elastic connection: three stiffnesses along and three about the axes of the first frame.

    The rotations are those of the skew part of the relative rotation, sin(angle) about one axis.

    >>> from dalembert.bodies import Body, ground
    >>> bushing("mount", ground(), Body("engine"), (1e4,) * 3 + (10,) * 3).stiffness[5]
    10
    """
    if len(stiffness) != 6 or len(damping) != 6:
        raise ModelError(
            f"The bushing `{name}` has six stiffnesses and six dampings",
            seen=f"{len(stiffness)} and {len(damping)}",
            remedy="give three along and three about the axes",
        )
    return Bushing(
        name,
        as_frame(first, f"The bushing `{name}`"),
        as_frame(second, f"The bushing `{name}`"),
        tuple(as_expression(value) for value in stiffness),
        tuple(as_expression(value) for value in damping),
    )


@dataclass(frozen=True)
class Wrench:
    """A force at a point and a torque, in space or in the axes of the frame they act on."""

    name: str
    frame: Frame
    force: Triple
    torque: Triple
    follows: bool

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by."""
        return (*self.force, *self.torque)

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """Q_j = F . dv/dq_dot_j + M . dw/dq_dot_j."""
        if self.follows:
            spin, velocity = kinematics.twist(self.frame.body)
            back = self.frame.rotation.inverse
            velocity = back.applied(add(velocity, cross(spin, self.frame.position)))
            spin = back.applied(spin)
        else:
            velocity, spin = kinematics.velocity(self.frame), kinematics.spin(self.frame)
        pairs = zip((*self.force, *self.torque), (*velocity, *spin), strict=True)
        return Contribution(forces=generalised_forces(pairs))


def wrench(
    name: str,
    place: Place,
    force: Sequence[Expression] = (0, 0, 0),
    torque: Sequence[Expression] = (0, 0, 0),
    *,
    follows: bool = False,
) -> Wrench:
    """A force at a point and a torque on its body, in space, or turning with the body.

    >>> import dalembert as da
    >>> u = da.inputs("u")
    >>> rocket = da.bodies.Body("rocket", mass=1)
    >>> wrench("thrust", rocket.point((0, 0, -1)), force=(0, 0, u), follows=True).force
    (0, 0, u)
    """
    return Wrench(
        name,
        as_frame(place, f"The wrench `{name}`"),
        as_triple(force, f"force of `{name}`"),
        as_triple(torque, f"torque of `{name}`"),
        follows,
    )


@dataclass(frozen=True)
class Coupling:
    """A relation between coordinates of joints that must vanish."""

    name: str
    relation: sympy.Expr

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by."""
        return (self.relation,)

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """Its constraint."""
        return Contribution(constraints=(holonomic(self.relation, name=self.name),))


def coupling(name: str, relation: Expression) -> Coupling:
    """A holonomic relation between coordinates of joints.

    >>> import dalembert as da
    >>> a, c = da.coordinates("a c")
    >>> coupling("rack", c - 0.1 * a).relation
    -0.1*a + c
    """
    return Coupling(name, as_expression(relation))


def gear(name: str, first: Joint, second: Joint, ratio: Expression) -> Coupling:
    """A gear between two joints of one axis: the first coordinate is `ratio` times the second.

    >>> from dalembert.bodies import Body, ground, revolute
    >>> small, large = (revolute(q, ground(), Body(f"{q}_wheel")) for q in ("small", "large"))
    >>> gear("teeth", small, large, ratio=-3).relation
    3*large + small
    """
    found: list[Coordinate] = []
    for joint in (first, second):
        if len(joint.coordinates) != 1:
            raise ModelError(
                f"The gear `{name}` connects joints of one axis",
                seen=f"`{joint.name}`, {joint.kind}",
                remedy="state a relation of its coordinates with coupling(...)",
            )
        found += joint.coordinates
    return Coupling(name, found[0] - as_expression(ratio) * found[1])


@dataclass(frozen=True)
class Distance:
    """A distance that two points keep."""

    name: str
    first: Frame
    second: Frame
    length: sympy.Expr

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by."""
        return (self.length,)

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """|d|^2 = l^2."""
        line = named_triple(f"d_{self.name}", apart(self.first, self.second, kinematics))
        residual = dot(line, line) - self.length**2
        return Contribution(constraints=(holonomic(residual, name=self.name),))


def distance(name: str, first: Place, second: Place, length: Expression) -> Distance:
    """A rod without mass between two points, by the constraint that keeps its length.

    >>> from dalembert.bodies import Body, ground
    >>> distance("rod", ground(), Body("bob", mass=1), 2).length
    2
    """
    frames = [as_frame(place, f"The distance `{name}`") for place in (first, second)]
    return Distance(name, frames[0], frames[1], as_expression(length))
