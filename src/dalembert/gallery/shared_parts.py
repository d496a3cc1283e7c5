"""What gallery systems share: the elastic pendulum, a tilted wheel, points and sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sympy import Expr, Matrix, cos, sin, sqrt

from ..model.constraints import Constraint
from ..model.drawing import Circle, Drawing, Link, PointMark, Shape, Spring, Trace
from ..model.forces import particle
from ..model.symbols import Coordinate, coordinates, parameters
from ..model.system import System
from ..typing import Expression

#: The source documents.
BLOCH = "Bloch and others, Nonholonomic Mechanics and Control, Supplement"
UDWADIA = "Udwadia, Constrained motion of Hamiltonian systems"
RUMYANTSEV = "Rumyantsev, Forms of Hamilton's principle for nonholonomic systems"
GAVIN = "Gavin, Generalized Coordinates, Lagrange's Equations, and Constraints"
MOREAU = "Moreau and van der Schaft, Implicit Lagrangian equations"
#: Components of a point or a direction.
Place: TypeAlias = "Sequence[Expression] | Matrix"

__all__ = [
    "BLOCH",
    "GAVIN",
    "MOREAU",
    "RUMYANTSEV",
    "UDWADIA",
    "ElasticPendulum",
    "TiltedWheel",
    "point_in_space",
    "segment_along",
]


class ElasticPendulum:
    """A mass M on a spring of rest length l that swings in a plane (Gavin, eqs. 32 to 45).

    Its coordinates are the angle theta from the downward vertical and the stretch u; the mass is at
    ((l + u) sin theta, -(l + u) cos theta), and the potential vanishes where it hangs at rest
    length.

    >>> ElasticPendulum().system().coordinates
    (theta, u)
    """

    def __init__(self) -> None:
        self.angle, self.stretch = coordinates("theta u")
        self.mass, self.length, self.stiffness, self.g = parameters("M l K g", positive=True)
        reach = self.length + self.stretch
        self.position = (reach * sin(self.angle), -reach * cos(self.angle))
        self.values = {"M": 1.0, "l": 1.0, "K": 25.6, "g": 9.8}

    def system(
        self, constraints: Sequence[Constraint] = (), name: str = "Elastic pendulum"
    ) -> System:
        """The pendulum under `constraints`."""
        theta, u, M, l = self.angle, self.stretch, self.mass, self.length
        return System(
            coordinates=[theta, u],
            kinetic=M / 2 * (((l + u) * theta.dot) ** 2 + u.dot**2),
            potential=M * self.g * (l - (l + u) * cos(theta)) + self.stiffness / 2 * u**2,
            constraints=constraints,
            name=name,
        )

    def drawing(self, extra: Sequence[Shape] = ()) -> Drawing:
        """The spring, the mass and its path, after the shapes `extra`."""
        support = self.length / 4
        return Drawing(
            shapes=(
                *extra,
                Link((-support, 0), (support, 0), width=4.0, color="ground"),
                Trace(self.position),
                Spring((0, 0), self.position),
                PointMark(self.position, size=14.0),
            )
        )


@dataclass(frozen=True)
class TiltedWheel:
    """A wheel that touches the ground at (x, y), tilted by theta from the vertical, heading along
    phi, turned by psi.

    The centre is at (x - r sin(theta) sin(phi), y + r sin(theta) cos(phi), r cos(theta)). A
    positive rate of psi rolls the wheel against its heading: x_dot = -r psi_dot cos(phi), y_dot =
    -r psi_dot sin(phi) (Rumyantsev, example 4.2).
    """

    tilt: Coordinate
    turn: Coordinate
    heading: Coordinate
    contact: tuple[Coordinate, Coordinate]

    @property
    def forward(self) -> Matrix:
        """The unit vector along the heading."""
        return Matrix([cos(self.heading), sin(self.heading), 0])

    @property
    def sideways(self) -> Matrix:
        """The horizontal unit vector towards which the wheel tilts."""
        return Matrix([-sin(self.heading), cos(self.heading), 0])

    @property
    def upward(self) -> Matrix:
        """The unit vector in the wheel's plane from the contact to the centre."""
        return sin(self.tilt) * self.sideways + cos(self.tilt) * Matrix([0, 0, 1])

    @property
    def ground(self) -> Matrix:
        """The point of contact."""
        return Matrix([*self.contact, 0])

    def axle(self, radius: Expr) -> Matrix:
        """The point at distance `radius` above the contact, in the wheel's plane."""
        return self.ground + radius * self.upward

    def shapes(self, radius: Expr) -> tuple[Shape, ...]:
        """Rim, spokes, point of contact and its path."""
        center = self.axle(radius)
        spoke = radius * (cos(self.turn) * self.upward - sin(self.turn) * self.forward)
        cross = radius * (sin(self.turn) * self.upward + cos(self.turn) * self.forward)
        return (
            Trace(tuple(self.ground)),
            Circle(tuple(center), radius, axes=(tuple(self.forward), tuple(self.upward))),
            Link(tuple(center - cross), tuple(center + cross), width=1.0),
            Link(tuple(center - spoke), tuple(center), width=1.0),
            Link(tuple(center), tuple(center + spoke), color="accent"),
            PointMark(tuple(self.ground), size=5.0, color="ground"),
        )


def point_in_space(mass: Expr, names: str) -> tuple[tuple[Coordinate, ...], Expr]:
    """Cartesian coordinates of a particle, and its kinetic energy.

    >>> from dalembert.model.symbols import parameters
    >>> point_in_space(parameters("m"), "x y")[1]
    m*(x_dot**2 + y_dot**2)/2
    """
    place = coordinates(names)
    return place, particle(mass, place).kinetic


def segment_along(point: Place, direction: Place, length: Expression, **style: Any) -> Link:
    """A link of `length` with its middle at `point`, along `direction` of any length."""
    norm = sqrt(sum(component**2 for component in direction))
    half = [length * component / (2 * norm) for component in direction]
    return Link(
        tuple(p - h for p, h in zip(point, half, strict=True)),
        tuple(p + h for p, h in zip(point, half, strict=True)),
        **style,
    )
