"""What several gallery systems share: the elastic pendulum, the frame of a tilted wheel, chains of planar bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sympy import Expr, Matrix, cos, sin, sqrt

from ..model.constraints import Constraint
from ..model.drawing import Circle, Drawing, Link, Point, Shape, Spring, Trace
from ..model.forces import Part, body, particle
from ..model.symbols import Coordinate, coordinates, parameters
from ..model.system import System

__all__ = ["ElasticPendulum", "TiltedWheel", "planar_chain", "point_in_space", "segment_along"]


class ElasticPendulum:
    """A mass M on a spring of rest length l that swings in a plane (Gavin, eqs. 32 to 45).

    Its coordinates are the angle theta from the downward vertical and the stretch u; the mass is at
    ((l + u) sin theta, -(l + u) cos theta), and the potential vanishes where it hangs at rest length.

    >>> ElasticPendulum().system().coordinates
    (theta, u)
    """

    def __init__(self) -> None:
        self.angle, self.stretch = coordinates("theta u")
        self.mass, self.length, self.stiffness, self.g = parameters("M l K g", positive=True)
        reach = self.length + self.stretch
        self.position = (reach * sin(self.angle), -reach * cos(self.angle))
        self.values = {"M": 1.0, "l": 1.0, "K": 25.6, "g": 9.8}

    def system(self, constraints: Sequence[Constraint] = (), name: str = "Elastic pendulum") -> System:
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
                Point(self.position, size=14.0),
            )
        )


@dataclass(frozen=True)
class TiltedWheel:
    """A wheel that touches the ground at (x, y), tilted by theta from the vertical, heading along phi, turned by psi.

    The centre is at (x - r sin(theta) sin(phi), y + r sin(theta) cos(phi), r cos(theta)). A positive rate of psi rolls
    the wheel against its heading: x_dot = -r psi_dot cos(phi), y_dot = -r psi_dot sin(phi) (Rumyantsev, example 4.2).
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

    def axle(self, radius: Any) -> Matrix:
        """The point at distance `radius` above the contact, in the wheel's plane."""
        return self.ground + radius * self.upward

    def shapes(self, radius: Any) -> tuple[Shape, ...]:
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
            Point(tuple(self.ground), size=5.0, color="ground"),
        )


@dataclass(frozen=True)
class _PlanarChain:
    """Angles, kinetic energy and drawing of coupled planar bodies; see `planar_chain`."""

    angles: tuple[Coordinate, ...]
    energy: Part
    drawing: Drawing


def planar_chain(count: int) -> _PlanarChain:
    """`count` planar rigid bodies, hinged in a row, seen from their common centre of mass (Bloch, section 3.13).

    Body i has mass m_i, inertia I_i and the absolute angle theta_i; in its own axes the hinge to its neighbour j is at
    d_ij from its centre of mass. With no linear momentum the kinetic energy is

        T = sum_i (I_i theta_i_dot^2 + m_i |r_i_dot|^2) / 2
        r_{i+1} - r_i = R_i d_{i,i+1} - R_{i+1} d_{i+1,i},      sum_i m_i r_i = 0,

    and the momentum of theta_i is the mu_i of the source.

    >>> planar_chain(2).angles
    (theta1, theta2)
    """
    angles = tuple(Coordinate(f"theta{i}") for i in range(1, count + 1))
    masses = parameters(f"m1:{count + 1}", positive=True)
    inertias = parameters(f"I1:{count + 1}", positive=True)

    def hinge(i: int, j: int) -> Matrix:
        """The hinge of body i with body j, from the centre of mass of body i, in space."""
        along, across = parameters(f"d{i}{j}x d{i}{j}y")
        c, s = cos(angles[i - 1]), sin(angles[i - 1])
        return Matrix([c * along - s * across, s * along + c * across])

    offsets = [Matrix([0, 0])]
    for i in range(1, count):
        offsets.append(offsets[-1] + hinge(i, i + 1) - hinge(i + 1, i))
    total = sum(masses)
    center = sum((m * r for m, r in zip(masses, offsets, strict=True)), Matrix([0, 0])) / total
    places = [r - center for r in offsets]
    energy = Part()
    for m, inertia, r, angle in zip(masses, inertias, places, angles, strict=True):
        energy = energy + body(m, inertia, list(r), angle=angle)

    shapes: list[Shape] = [Trace(tuple(places[0])), Trace(tuple(places[-1]))]
    for i, r in enumerate(places, start=1):
        before = hinge(i, i - 1) if i > 1 else -hinge(i, i + 1)
        after = hinge(i, i + 1) if i < count else -hinge(i, i - 1)
        shapes.append(Link(tuple(r + before), tuple(r), width=5.0))
        shapes.append(Link(tuple(r), tuple(r + after), width=5.0))
    shapes += [Point(tuple(places[i - 1] + hinge(i, i + 1)), size=6.0, color="ground") for i in range(1, count)]
    shapes += [Point(tuple(r)) for r in places]
    shapes.append(Point((0, 0), size=4.0, color="accent"))
    return _PlanarChain(angles, energy, Drawing(shapes=tuple(shapes)))


def point_in_space(mass: Any, names: str) -> tuple[tuple[Coordinate, ...], Expr]:
    """Cartesian coordinates of a particle, and its kinetic energy.

    >>> from dalembert.model.symbols import parameters
    >>> point_in_space(parameters("m"), "x y")[1]
    m*(x_dot**2 + y_dot**2)/2
    """
    place = coordinates(names)
    return place, particle(mass, place).kinetic


def segment_along(point: Sequence[Any], direction: Sequence[Any], length: Any, **style: Any) -> Link:
    """A link of `length` with its middle at `point`, along `direction`, which need not be a unit vector."""
    norm = sqrt(sum(component**2 for component in direction))
    half = [length * component / (2 * norm) for component in direction]
    return Link(
        tuple(p - h for p, h in zip(point, half, strict=True)),
        tuple(p + h for p, h in zip(point, half, strict=True)),
        **style,
    )
