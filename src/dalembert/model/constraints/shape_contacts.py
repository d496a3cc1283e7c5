"""Contacts between solids on bodies, whose distances are found in numbers along the motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import DalembertError
from ..symbols import Coordinate, Velocity
from .constraint import Constraint, Place

if TYPE_CHECKING:
    from ..system_reader import Reader

__all__ = ["BodyPose", "ShapeContacts", "Solid"]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Solid:
    """A solid on a body: its kind, sizes and place there, in numbers and parameters.

    Attributes
    ----------
    kind : "ball", "capsule", "box", "cylinder", "rim", "hull" or "plane"
    body : int
        The number of its body.
    sizes, position, axes : tuples of expressions
        Three sizes; its middle and the nine entries of its axes in the frame of the body.
    points : tuple of three expressions each
        The vertices of a hull.
    """

    kind: str
    body: int
    sizes: tuple[sympy.Expr, ...]
    position: tuple[sympy.Expr, ...]
    axes: tuple[sympy.Expr, ...]
    points: tuple[tuple[sympy.Expr, ...], ...] = ()


@dataclass(frozen=True)
class BodyPose:
    """Axes (9, row by row), origin, its velocity and the spin of a body, all in space."""

    name: str
    axes: tuple[sympy.Expr, ...]
    origin: tuple[sympy.Expr, ...]
    velocity: tuple[sympy.Expr, ...]
    spin: tuple[sympy.Expr, ...]

    def expressions(self) -> tuple[sympy.Expr, ...]:
        """All of them in one row."""
        return (*self.axes, *self.origin, *self.velocity, *self.spin)


@dataclass(frozen=True)
class ShapeContacts(Constraint):
    """Contacts between any two of several bodies, by the distances of their solids.

    Attributes
    ----------
    bodies : tuple of BodyPose
    solids : tuple of Solid
    apart : tuple of pairs of ints
        Bodies that do not touch each other, as those that a joint connects.
    restitution, tangential_restitution, friction, static_friction : expressions of parameters
    """

    expression: sympy.Expr = ZERO
    bodies: tuple[BodyPose, ...] = ()
    solids: tuple[Solid, ...] = ()
    apart: tuple[tuple[int, int], ...] = ()
    restitution: sympy.Expr = ZERO
    tangential_restitution: sympy.Expr = ZERO
    friction: sympy.Expr = ZERO
    static_friction: sympy.Expr = ZERO

    kind, restricts, wording = "shapes", Coordinate, "between solids"
    remedy = "state the bodies in coordinates, parameters and t"
    relation = "<="
    gives_row = is_listed = False

    @property
    def coefficients(self) -> tuple[sympy.Expr, ...]:
        """Restitution, tangential restitution, friction and static friction."""
        return (self.restitution, self.tangential_restitution, self.friction, self.static_friction)

    def _fixed(self) -> Iterator[sympy.Expr]:
        yield from self.coefficients
        for solid in self.solids:
            yield from (*solid.sizes, *solid.position, *solid.axes)
            for point in solid.points:
                yield from point

    def conditions(self) -> tuple[sympy.Expr, ...]:
        return ()

    def expressions(self) -> Iterator[sympy.Expr]:
        yield from self._fixed()
        for body in self.bodies:
            yield from body.expressions()

    def places(self) -> Iterator[Place]:
        for value in self._fixed():
            yield Place(value, (), "use numbers and parameters only")
        for body in self.bodies:
            for value in body.expressions():
                yield Place(value, (Coordinate, Velocity), self.remedy)

    def faults(self) -> Iterator[DalembertError]:
        return iter(())

    def _read(self, reader: Reader, name: str, where: str) -> dict[str, Any]:
        return {"name": name}
