r"""Forces of a tree of bodies by recursive Newton-Euler equations, in the axes of each body.

Their kinetic energy and weight give the same forces, d/dt L_v - L_q, but the derivatives of an
energy pass ten vectors from body to body where these equations pass five. Outwards go the angular
velocity w, its rate a, and the acceleration g of the origin, minus gravity; inwards the torque n
about the origin and the force f. With B = [a]x + [w]x [w]x, which is formed once for each body,

    translation d:  g' = g + B d + 2 w x d_dot + d_ddot,       n = n' + d x f'
    rotation E:     w' = E^T w + Omega,  a' = E^T a + (E^T w) x Omega + Omega_dot,  g' = E^T g
    body:           f = m g + B h,       n_x = (B S)_zy - (B S)_yz (cyclic) + (h x g)_x

for the velocity d_dot or Omega of a step in the axes behind it, the moment of mass h = m c, and
the second moments S = sum m r r^T (Featherstone, Rigid Body Dynamics Algorithms, 2008, ch. 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import casadi as ca
import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.scalars import minus, plus, times
from ..model.bodies.body import GROUND, Body
from ..model.bodies.body_tree import BodyTree
from ..model.bodies.steps import Ball, Fixed, Shift, Slide, Step, Turn, rates_along, rotation_of

__all__ = ["inertial_force"]

Scalar: TypeAlias = Any  # SX, for which CasADi has no types
Vector: TypeAlias = tuple[Scalar, Scalar, Scalar]
Matrix: TypeAlias = tuple[Vector, Vector, Vector]

_TWO = ca.SX(2)


def inertial_force(
    algebra: GraphAlgebra, tree: BodyTree, q: ca.SX, v: ca.SX, a: ca.SX | None = None
) -> ca.SX:
    """L_q - d/dt L_v for accelerations a, or without their part where they are None, (n x 1)."""
    rates = algebra.vector(tree.rates)
    drift = ca.jtimes(rates, q, v)
    by_velocity = ca.jacobian(rates, v)
    others = algebra.scalar(tree.others)
    momenta = ca.gradient(others, v)
    change = ca.jtimes(momenta, q, v)
    if a is not None:
        drift += by_velocity @ a
        change += ca.jtimes(momenta, v, a)
    bodies = _Recursion(algebra, tree, ca.vertsplit(rates), ca.vertsplit(drift)).forces()
    needed = by_velocity.T @ ca.vertcat(*bodies) + change
    return ca.densify(ca.gradient(others, q) - needed)


@dataclass(frozen=True)
class _MovingFrame:
    """Angular velocity, its rate, and the acceleration of the origin, in the frame's own axes."""

    spin: Vector
    turning: Vector
    acceleration: Vector

    @cached_property
    def rows(self) -> Matrix:
        """B = [a]x + [w]x [w]x."""
        (x, y, z), (a, b, c) = self.spin, self.turning
        xx, yy, zz, xy, xz, yz = (
            times(*pair) for pair in ((x, x), (y, y), (z, z), (x, y), (x, z), (y, z))
        )
        return (
            (-plus(yy, zz), minus(xy, c), plus(xz, b)),
            (plus(xy, c), -plus(xx, zz), minus(yz, a)),
            (minus(xz, b), plus(yz, a), -plus(xx, yy)),
        )


class _Recursion:
    """One pass outwards and one inwards."""

    def __init__(
        self, algebra: GraphAlgebra, tree: BodyTree, rates: list[Scalar], drift: list[Scalar]
    ) -> None:
        self._algebra, self._tree = algebra, tree
        self._rates, self._drift = rates, drift

    def forces(self) -> list[Scalar]:
        """The forces along all rates."""
        zero = ca.SX(0)
        still: Vector = (zero, zero, zero)
        weight = self._vector(self._tree.gravity)
        motions = {GROUND: _MovingFrame(still, still, (-weight[0], -weight[1], -weight[2]))}
        firsts: dict[str, list[int]] = {}
        count = 0
        for name, edge in self._tree.edges.items():
            motion, firsts[name] = motions[edge.parent], []
            for step in edge.steps:
                size = len(rates_along(step))
                own = slice(count, count + size)
                firsts[name].append(count)
                motion = self._after(step, motion, self._rates[own], self._drift[own])
                count += size
            motions[name] = motion
        wrenches = dict.fromkeys(motions, (still, still))
        for body in self._tree.bodies:
            wrenches[body.name] = self._load(body, motions[body.name])
        found = [zero] * count
        for name, edge in reversed(list(self._tree.edges.items())):
            torque, force = wrenches[name]
            for step, first in zip(reversed(edge.steps), reversed(firsts[name]), strict=True):
                torque, force = self._before(step, torque, force, found, first)
            behind = wrenches[edge.parent]
            wrenches[edge.parent] = (_sum(behind[0], torque), _sum(behind[1], force))
        return found

    def _vector(self, triple: Sequence[sympy.Expr]) -> Vector:
        x, y, z = (self._algebra.scalar(entry) for entry in triple)
        return x, y, z

    def _rotation(self, step: Fixed | Turn | Ball) -> Matrix:
        first, second, third = (self._vector(row) for row in rotation_of(step).rows)
        return first, second, third

    def _shift(self, step: Shift | Slide) -> Vector:
        if isinstance(step, Shift):
            return self._vector(step.offset)
        return _scaled(self._algebra.scalar(step.distance), self._vector(step.direction))

    def _after(
        self, step: Step, motion: _MovingFrame, rates: list[Scalar], drift: list[Scalar]
    ) -> _MovingFrame:
        """The motion of the frame behind a step."""
        if isinstance(step, Shift | Slide):
            moved = _sum(motion.acceleration, _applied(motion.rows, self._shift(step)))
            if isinstance(step, Slide):
                along = self._vector(step.direction)
                sliding = _scaled(times(_TWO, rates[0]), along)
                moved = _sum(moved, _cross(motion.spin, sliding), _scaled(drift[0], along))
            return _MovingFrame(motion.spin, motion.turning, moved)
        spin, turning, acceleration = (
            self._turned_back(step, vector)
            for vector in (motion.spin, motion.turning, motion.acceleration)
        )
        match step:
            case Turn():
                axis = self._vector(step.axis)
                own, rate = _scaled(rates[0], axis), _scaled(drift[0], axis)
            case Ball():
                own = (rates[0], rates[1], rates[2])
                rate = (drift[0], drift[1], drift[2])
            case _:
                return _MovingFrame(spin, turning, acceleration)
        turning = _sum(turning, _cross(spin, own), rate)
        return _MovingFrame(_sum(spin, own), turning, acceleration)

    def _turned_back(self, step: Fixed | Turn | Ball, vector: Vector) -> Vector:
        first, second, third = self._rotation(step)
        columns = zip(first, second, third, strict=True)
        x, y, z = (_dot(column, vector) for column in columns)
        return x, y, z

    def _load(self, body: Body, motion: _MovingFrame) -> tuple[Vector, Vector]:
        """Torque about the origin and force that move a body."""
        moment = self._vector([body.mass * entry for entry in body.com])
        rows = motion.rows
        mass = self._algebra.scalar(body.mass)
        force = _sum(_scaled(mass, motion.acceleration), _applied(rows, moment))
        seconds = [self._vector(row) for row in _second_moments(body)]  # symmetric
        torque = [
            minus(_dot(rows[last], seconds[middle]), _dot(rows[middle], seconds[last]))
            for middle, last in ((1, 2), (2, 0), (0, 1))
        ]
        levered = _cross(moment, motion.acceleration)
        return _sum((torque[0], torque[1], torque[2]), levered), force

    def _before(
        self, step: Step, torque: Vector, force: Vector, found: list[Scalar], first: int
    ) -> tuple[Vector, Vector]:
        """The wrench in front of a step; what acts along the step is written into `found`."""
        if isinstance(step, Shift | Slide):
            if isinstance(step, Slide):
                found[first] = _dot(self._vector(step.direction), force)
            return _sum(torque, _cross(self._shift(step), force)), force
        if isinstance(step, Turn):
            found[first] = _dot(self._vector(step.axis), torque)
        elif isinstance(step, Ball):
            found[first : first + 3] = torque
        rows = self._rotation(step)
        return _applied(rows, torque), _applied(rows, force)


def _second_moments(body: Body) -> list[list[sympy.Expr]]:
    """sum m r r^T about the origin of the frame: (tr J / 2) 1 - J + m c c^T."""
    half = body.inertia.trace() / 2
    return [
        [
            (half if i == j else sympy.S.Zero)
            - body.inertia[i, j]
            + body.mass * body.com[i] * body.com[j]
            for j in range(3)
        ]
        for i in range(3)
    ]


def _dot(left: Vector, right: Vector) -> Scalar:
    return plus(plus(times(left[0], right[0]), times(left[1], right[1])), times(left[2], right[2]))


def _applied(rows: Matrix, vector: Vector) -> Vector:
    return _dot(rows[0], vector), _dot(rows[1], vector), _dot(rows[2], vector)


def _scaled(factor: Scalar, vector: Vector) -> Vector:
    return times(factor, vector[0]), times(factor, vector[1]), times(factor, vector[2])


def _sum(*vectors: Vector) -> Vector:
    x, y, z = vectors[0]
    for vector in vectors[1:]:
        x, y, z = plus(x, vector[0]), plus(y, vector[1]), plus(z, vector[2])
    return x, y, z


def _cross(a: Vector, b: Vector) -> Vector:
    return (
        minus(times(a[1], b[2]), times(a[2], b[1])),
        minus(times(a[2], b[0]), times(a[0], b[2])),
        minus(times(a[0], b[1]), times(a[1], b[0])),
    )
