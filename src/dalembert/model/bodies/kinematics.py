"""Twists and poses of the bodies of a tree, as quantities that are passed on from body to body."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import sympy

from ..quantities import define
from .body import GROUND, Body, Frame
from .steps import AXES, Step, fall_after, named_triple, pose_after, twist_after
from .vectors import IDENTITY, Rotation, Triple, add, cross

__all__ = ["Edge", "Kinematics"]

ZERO = sympy.Integer(0)
NULL: Triple = (ZERO, ZERO, ZERO)
Carried = TypeVar("Carried")


@dataclass(frozen=True)
class Edge:
    """How a body hangs in the tree: on which one, and the steps from its frame to this one's."""

    parent: str
    steps: tuple[Step, ...]


class Kinematics:
    """Where the bodies of a tree are, and how they move.

    Parameters
    ----------
    edges : mapping of body name to Edge
        In an order in which parents come before their children.
    gravity : three expressions
        The acceleration of gravity in space.
    """

    def __init__(self, edges: Mapping[str, Edge], gravity: Triple = NULL) -> None:
        self.edges = edges
        self._twists: dict[str, tuple[Triple, Triple]] = {GROUND: (NULL, NULL)}
        self._poses: dict[str, tuple[Rotation, Triple]] = {GROUND: (IDENTITY, NULL)}
        self._falls: dict[str, tuple[Triple, sympy.Expr]] = {GROUND: (gravity, ZERO)}

    def _carried(
        self,
        body: str,
        known: dict[str, Carried],
        after: Callable[[Step, Carried, str], Carried],
        stem: str,
        named: Callable[[str, Carried], Carried],
    ) -> Carried:
        """What is passed on along the tree, at one of its bodies."""
        way = [body]
        while way[-1] not in known:
            way.append(self.edges[way[-1]].parent)
        for name in reversed(way[:-1]):
            value = known[self.edges[name].parent]
            for number, step in enumerate(self.edges[name].steps, start=1):
                value = after(step, value, f"{stem}_{name}{number}")
            known[name] = named(name, value)
        return known[body]

    def twist(self, body: Body) -> tuple[Triple, Triple]:
        """Angular velocity and velocity of the origin, in the axes of the body."""
        return self._carried(body.name, self._twists, twist_after, "", _named_twist)

    def pose(self, body: Body) -> tuple[Rotation, Triple]:
        """The axes of the body and its origin, in space."""
        return self._carried(body.name, self._poses, pose_after, "D", _named_pose)

    def fall(self, body: Body) -> tuple[Triple, sympy.Expr]:
        """Gravity in the axes of the body, and the potential per mass at its origin."""
        return self._carried(body.name, self._falls, fall_after, "f", _named_fall)

    # -- points and frames -------------------------------------------------------------------------

    def axes(self, frame: Frame) -> Rotation:
        """The axes of a frame in space."""
        return self.pose(frame.body)[0] @ frame.rotation

    def position(self, frame: Frame) -> Triple:
        """The origin of a frame in space."""
        rotation, origin = self.pose(frame.body)
        return add(origin, rotation.applied(frame.position))

    def velocity(self, frame: Frame) -> Triple:
        """The velocity of the origin of a frame, in space."""
        spin, velocity = self.twist(frame.body)
        rotation, _ = self.pose(frame.body)
        return rotation.applied(add(velocity, cross(spin, frame.position)))

    def spin(self, frame: Frame) -> Triple:
        """The angular velocity of a frame, in space."""
        return self.pose(frame.body)[0].applied(self.twist(frame.body)[0])


def _named_twist(name: str, value: tuple[Triple, Triple]) -> tuple[Triple, Triple]:
    return named_triple(f"w_{name}", value[0]), named_triple(f"v_{name}", value[1])


def _named_pose(name: str, value: tuple[Rotation, Triple]) -> tuple[Rotation, Triple]:
    rows: Sequence[Any] = [
        named_triple(f"R_{name}_{AXES[k]}", row) for k, row in enumerate(value[0].rows)
    ]
    return Rotation((rows[0], rows[1], rows[2])), named_triple(f"r_{name}", value[1])


def _named_fall(name: str, value: tuple[Triple, sympy.Expr]) -> tuple[Triple, sympy.Expr]:
    return named_triple(f"g_{name}", value[0]), define(f"V_{name}", value[1])
