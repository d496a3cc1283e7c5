"""What a system keeps of the tree of bodies whose energies it states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import sympy

from ..atoms import leaves
from ..symbols import Coordinate, Parameter
from .body import Body
from .kinematics import Edge
from .steps import Ball, Fixed, Shift, Slide, Step, Turn, rates_along
from .vectors import Triple

__all__ = ["BodyTree"]


@dataclass(frozen=True)
class BodyTree:
    """The tree of bodies behind a Lagrangian, for equations that need no derivatives of energies.

    Attributes
    ----------
    edges : mapping of body name to Edge
        Parents come before their children.
    bodies : tuple of Body
    gravity : three expressions
    others : expression
        The Lagrangian of springs, rotors and all else but the bodies.
    """

    edges: Mapping[str, Edge]
    bodies: tuple[Body, ...]
    gravity: Triple
    others: sympy.Expr

    @property
    def rates(self) -> list[sympy.Expr]:
        """The rates along all steps, as functions of coordinates and velocities."""
        return [rate for step in self._steps() for rate in rates_along(step)]

    @property
    def is_plain(self) -> bool:
        """Whether steps depend on coordinates alone, and all else on parameters alone."""
        fixed: list[sympy.Expr] = [*self.gravity]
        moving: list[sympy.Expr] = []
        for body in self.bodies:
            fixed += [body.mass, *body.com, *body.inertia]
        for step in self._steps():
            match step:
                case Shift(offset):
                    fixed += offset
                case Fixed(rotation):
                    fixed += [entry for row in rotation.rows for entry in row]
                case Slide(direction, distance):
                    fixed += direction
                    moving.append(distance)
                case Turn(axis, angle):
                    fixed += axis
                    moving.append(angle)
                case Ball():
                    moving += step.parts
        return _consist_of(fixed, Parameter) and _consist_of(moving, Parameter | Coordinate)

    def _steps(self) -> Iterable[Step]:
        return (step for edge in self.edges.values() for step in edge.steps)


def _consist_of(expressions: Iterable[sympy.Expr], kinds: object) -> bool:
    """Whether expressions have no symbols but those of some kinds."""
    return all(
        leaf.is_number or isinstance(leaf, kinds)  # type: ignore[arg-type]
        for expression in expressions
        for leaf in leaves(expression)
    )
