"""Feedback by controlled Lagrangians for two coordinates (x, s), where the metric is a function of
the unactuated x.

With g~ and U~ that match, and a force Y of the closed loop that does no work (zero where s has a
constant inertia), the input is that of Bloch's Supplement, 9.4.22 to 9.4.24:

    u = bend_s + dU/ds - (g g~^-1 (bend~ + dU~ - Y))_s - d (g^-1 g~ q_dot)_s
"""

from __future__ import annotations

from dataclasses import dataclass

from sympy import Expr, Matrix, cos, diff, sin

from ...model.drawing import Drawing, Link, PointMark, Polyline, Trace
from ...model.forces import gravity, particle
from ...model.symbols import Coordinate, Input, Parameter, coordinates, inputs, parameters
from ...model.system import System

__all__ = ["CartPendulum", "bend", "controlled_energy", "inverse", "law", "powerless_force"]


def inverse(matrix: Matrix) -> Matrix:
    """Of a matrix (2 x 2), without expanding it."""
    (a, b), (c, d) = matrix.tolist()
    return Matrix([[d, -b], [-c, a]]) / (a * d - b * c)


def bend(metric: Matrix, x: Coordinate, s: Coordinate) -> Matrix:
    """The terms of d/dt (g q_dot) - d/dq (kinetic energy) quadratic in velocities (2 x 1)."""
    across, own = diff(metric[0, 0], x), diff(metric[1, 1], x)
    return Matrix(
        [
            across * x.dot**2 / 2 - own * s.dot**2 / 2,
            diff(metric[0, 1], x) * x.dot**2 + own * x.dot * s.dot,
        ]
    )


def powerless_force(
    metric: Matrix, wanted: Matrix, lift: Expr, x: Coordinate, s: Coordinate
) -> Matrix:
    """Y of the closed loop for the field lambda = (-1, lift), with q_dot . Y = 0 (2 x 1)."""
    turn = diff(lift, x)
    mixed = -diff(wanted[0, 1], x) + wanted[1, 1] * turn - diff(metric[0, 1], x)
    own = -diff(wanted[1, 1], x) - diff(metric[1, 1], x)
    size = (own * lift - mixed) * x.dot - own * (s.dot + lift * x.dot) / 2
    return Matrix([-size * s.dot, size * x.dot])


def law(
    metric: Matrix,
    wanted: Matrix,
    derivatives: Matrix,
    damping: Parameter,
    x: Coordinate,
    s: Coordinate,
    beside: Matrix | None = None,
) -> Expr:
    """The input u: `wanted` is g~, `derivatives` is dU~, `beside` is Y; U does not depend on s."""
    velocity = Matrix([x.dot, s.dot])
    push = bend(wanted, x, s) + derivatives - (Matrix([0, 0]) if beside is None else beside)
    forces = bend(metric, x, s) - metric * inverse(wanted) * push
    return forces[1] - damping * (inverse(metric) * wanted * velocity)[1]


def controlled_energy(wanted: Matrix, potential: Expr, x: Coordinate, s: Coordinate) -> Expr:
    """E~."""
    velocity = Matrix([x.dot, s.dot])
    return (velocity.T * wanted * velocity)[0] / 2 + potential


@dataclass(frozen=True)
class CartPendulum:
    """A pendulum (m, l) on a cart (M), at the angle phi from the upward vertical.

    >>> CartPendulum.symbols().system().coordinates
    (phi, s)
    """

    phi: Coordinate
    s: Coordinate
    m: Parameter
    M: Parameter
    l: Parameter
    g: Parameter
    u: Input
    values: dict[str, float]

    @classmethod
    def symbols(cls) -> CartPendulum:
        """With the masses of Bloch, Leonard and Marsden."""
        phi, s = coordinates("phi s")
        m, M, l, g = parameters("m M l g", positive=True)
        return cls(phi, s, m, M, l, g, inputs("u"), {"m": 0.14, "M": 0.44, "l": 0.215, "g": 9.8})

    @property
    def bob(self) -> tuple[Expr, Expr]:
        """Where the mass is."""
        return self.s + self.l * sin(self.phi), self.l * cos(self.phi)

    def system(
        self, control: Expr | int = 0, name: str = "Pendulum on a cart", **outputs: Expr
    ) -> System:
        """With a force u on the cart."""
        return System(
            coordinates=[self.phi, self.s],
            parts=[
                particle(self.M, [self.s, 0]),
                particle(self.m, list(self.bob)),
                gravity(self.m, self.bob[1], self.g),
            ],
            forces={self.s: self.u},
            inputs={self.u: control},
            outputs=outputs,
            name=name,
        )

    def drawing(self) -> Drawing:
        """The cart as a box on its rail."""
        s, l = self.s, self.l
        wide, high = l / 2, l / 3
        corners = [(s - wide, -high), (s + wide, -high), (s + wide, 0), (s - wide, 0)]
        box = (*corners, corners[0])
        return Drawing(
            shapes=(
                Link((s - 4 * l, -high), (s + 4 * l, -high), width=1.5, color="ground"),
                Trace(self.bob),
                Polyline(box, width=2.0),
                Link((s, 0), self.bob, width=2.5),
                PointMark(self.bob, size=12.0, color="accent"),
            )
        )
