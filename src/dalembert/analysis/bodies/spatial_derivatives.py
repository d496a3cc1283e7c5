r"""First derivatives of the inverse dynamics of a tree of bodies, in closed form.

A step of a joint (a turn, a slide, the three turns of a ball) has the column J_j of spatial motion,
in space axes about one origin. A small motion along J_j carries all that hangs on it along; beside
that, velocities and accelerations of the body k change by

    delta V_k = psi_j,     delta A_k = alpha_j + psi_j x V_k,
    psi_j = V_p x J_j,     alpha_j = A_p x J_j + V_p x psi_j          (p: the body before the step),

and with a rate along J_j by J_j and chi_j + J_j x V_k, chi_j = psi_j + V_j x J_j. The force
F = I A + V x* I V of a body then changes by I alpha + B psi and I chi + B J, where

    B psi = (D psi_w, -2 f x psi_w),   D = [w]x (2 J - tr J) - 2 [m c]x [v]x,   f = m v + w x m c.

I, D, f and F are summed over what hangs on a step, so that each pair of a step and one before it
takes five inner products (after Carpentier and Mansard, "Analytical derivatives of rigid body
dynamics algorithms", RSS 2018), which `tree_columns` collects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import casadi as ca
import sympy

from ...algebra.graph import GraphAlgebra
from ...model.atoms import leaves
from ...model.bodies.body import GROUND, Body
from ...model.bodies.body_tree import BodyTree
from ...model.bodies.kinematics import Edge
from ...model.bodies.steps import Ball, Fixed, Shift, Slide, Turn, rates_along, rotation_of
from ...model.symbols import t

__all__ = ["SpatialTree", "StepColumns", "cross_force", "is_fixed_in_time"]

Block: TypeAlias = Any  # SX, for which CasADi has no types


def is_fixed_in_time(edges: Iterable[Edge]) -> bool:
    """Whether no step of a tree is driven by time."""
    driven = (
        step.angle if isinstance(step, Turn) else step.distance
        for edge in edges
        for step in edge.steps
        if isinstance(step, Turn | Slide)
    )
    return not any(t in leaves(value) for value in driven)


@dataclass
class _Sum:
    """What hangs on a step: mass, its moments, force, and the matrices of velocities."""

    mass: Block = field(default_factory=lambda: ca.SX(0))
    first: Block = field(default_factory=lambda: ca.SX.zeros(3))  # mass times position
    second: Block = field(default_factory=lambda: ca.SX.zeros(3, 3))  # tensor about the origin
    force: Block = field(default_factory=lambda: ca.SX.zeros(6))
    turning: Block = field(default_factory=lambda: ca.SX.zeros(3, 3))  # D
    momentum: Block = field(default_factory=lambda: ca.SX.zeros(3))  # f

    def add(self, other: _Sum) -> None:
        self.mass += other.mass
        self.first += other.first
        self.second += other.second
        self.force += other.force
        self.turning += other.turning
        self.momentum += other.momentum

    def inertia(self, motion: Block) -> Block:
        """I a, for an acceleration or velocity a."""
        return _inertia(self.mass, self.first, self.second, motion)

    def rotating(self, motion: Block) -> Block:
        """B a."""
        spin = motion[:3]
        return ca.vertcat(self.turning @ spin, -2 * _cross(self.momentum, spin))


@dataclass(frozen=True)
class _FrameMotion:
    """A frame of the tree in space, its spatial velocity and acceleration, and the last step."""

    axes: Block
    position: Block
    velocity: Block
    acceleration: Block
    last: StepColumns | None = None
    #: Whether nothing has turned yet: positions are counted from here.
    is_straight: bool = True


@dataclass(frozen=True)
class StepColumns:
    """The columns J, psi, alpha and chi of a step, (6 x k) each, those before them, their sum."""

    before: StepColumns | None
    first: int
    columns: Block
    psi: Block
    alpha: Block
    chi: Block
    hanging: _Sum

    @property
    def places(self) -> list[int]:
        """The numbers of its own columns."""
        return list(range(self.first, self.first + self.columns.shape[1]))

    def way(self) -> list[StepColumns]:
        """The steps before this one."""
        found, unit = [], self.before
        while unit is not None:
            found.append(unit)
            unit = unit.before
        return found


class SpatialTree:
    """A tree of bodies in the graph algebra.

    Parameters
    ----------
    algebra : GraphAlgebra
    tree : BodyTree

    Attributes
    ----------
    rates : column (s x 1)
        The rates along all steps, as functions of coordinates and velocities.
    """

    def __init__(self, algebra: GraphAlgebra, tree: BodyTree) -> None:
        self._algebra, self._edges, self._bodies = algebra, tree.edges, tree.bodies
        self._gravity = algebra.vector(list(tree.gravity))
        self.rates = algebra.vector(tree.rates)

    def units(self, rates: Block, accelerations: Block) -> list[StepColumns]:
        """The steps that move, for rates and accelerations along the steps, (s x 1) each."""
        units: list[StepColumns] = []
        still = ca.SX.zeros(6)
        ground = _FrameMotion(
            ca.SX.eye(3), ca.SX.zeros(3), still, ca.vertcat(ca.SX.zeros(3), -self._gravity)
        )
        places = {GROUND: ground}
        count = 0
        for name, edge in self._edges.items():
            place = places[edge.parent]
            for step in edge.steps:
                size = len(rates_along(step))
                own = slice(count, count + size)
                place = self._after(step, place, count, rates[own], accelerations[own])
                if size:
                    assert place.last is not None
                    units.append(place.last)
                count += size
            places[name] = place
        for body in self._bodies:
            place = places[body.name]
            if place.last is not None:
                place.last.hanging.add(self._load(body, place))
        for unit in reversed(units):
            if unit.before is not None:
                unit.before.hanging.add(unit.hanging)
        return units

    def force(self, units: Sequence[StepColumns]) -> Block:
        """The forces along all steps, (s x 1)."""
        return ca.vertcat(*(unit.columns.T @ unit.hanging.force for unit in units))

    def _vector(self, triple: Sequence[sympy.Expr]) -> Block:
        return self._algebra.vector(list(triple))

    def _after(
        self, step: object, place: _FrameMotion, first: int, rates: Block, accelerations: Block
    ) -> _FrameMotion:
        """The frame after a step; `first` is the number of its first column."""
        axes, position = place.axes, place.position
        if isinstance(step, Shift):
            return self._moved(place, axes @ self._vector(step.offset))
        if isinstance(step, Slide):
            along = axes @ self._vector(step.direction)
            columns = ca.vertcat(ca.SX.zeros(3), along)
            moved = self._moved(place, along * self._algebra.scalar(step.distance))
            return _driven(moved, place, first, columns, rates, accelerations)
        assert isinstance(step, Fixed | Turn | Ball)
        rows = rotation_of(step).rows
        turned = axes @ ca.vertcat(*(self._vector(row).T for row in rows))
        after = _FrameMotion(
            turned, position, place.velocity, place.acceleration, place.last, is_straight=False
        )
        if isinstance(step, Fixed):
            return after
        spins = axes @ self._vector(step.axis) if isinstance(step, Turn) else turned
        columns = ca.vertcat(spins, ca.skew(position) @ spins)
        return _driven(after, place, first, columns, rates, accelerations)

    def _moved(self, place: _FrameMotion, step: Block) -> _FrameMotion:
        """A frame beside another; the origin of space is where the tree first turns."""
        position = place.position if place.is_straight else place.position + step
        return _FrameMotion(
            place.axes, position, place.velocity, place.acceleration, place.last, place.is_straight
        )

    def _load(self, body: Body, place: _FrameMotion) -> _Sum:
        """What one body adds to the step that it hangs on."""
        mass = self._algebra.scalar(body.mass)
        centre = place.position + place.axes @ self._vector(body.com)
        tensor = ca.vertcat(*(self._vector(body.inertia.row(k)).T for k in range(3)))
        first = mass * centre
        second = place.axes @ tensor @ place.axes.T
        second += ca.dot(first, centre) * ca.SX.eye(3) - first @ centre.T
        spin, velocity = place.velocity[:3], place.velocity[3:]
        momentum = _inertia(mass, first, second, place.velocity)
        force = _inertia(mass, first, second, place.acceleration)
        force += cross_force(place.velocity, momentum)
        turning = ca.skew(spin) @ (2 * second - ca.trace(second) * ca.SX.eye(3))
        turning -= 2 * ca.skew(first) @ ca.skew(velocity)
        return _Sum(mass, first, second, force, turning, momentum[3:])


def _driven(
    after: _FrameMotion,
    before: _FrameMotion,
    first: int,
    columns: Block,
    rates: Block,
    accelerations: Block,
) -> _FrameMotion:
    """A frame that moves along columns (6 x k) of motion."""
    moved = columns @ rates
    velocity = before.velocity + moved
    acceleration = before.acceleration + columns @ accelerations
    acceleration += _cross_motion(before.velocity) @ moved
    psi = _cross_motion(before.velocity) @ columns
    alpha = _cross_motion(before.acceleration) @ columns + _cross_motion(before.velocity) @ psi
    is_single = columns.shape[1] == 1
    chi = 2 * psi if is_single else psi + _cross_motion(velocity) @ columns
    unit = StepColumns(before.last, first, columns, psi, alpha, chi, _Sum())
    return _FrameMotion(after.axes, after.position, velocity, acceleration, unit, after.is_straight)


def _cross(a: Block, b: Block) -> Block:
    return ca.skew(a) @ b


def _cross_motion(a: Block) -> Block:
    """The matrix of a x b for motions (w, v)."""
    spin = ca.skew(a[:3])
    return ca.blockcat([[spin, ca.SX(3, 3)], [ca.skew(a[3:]), spin]])


def cross_force(a: Block, f: Block) -> Block:
    """a x* f of a motion (w, v) and a force (torque, force)."""
    return ca.vertcat(
        _cross(a[:3], f[:3]) + _cross(a[3:], f[3:]),
        _cross(a[:3], f[3:]),
    )


def _inertia(mass: Block, first: Block, second: Block, a: Block) -> Block:
    return ca.vertcat(second @ a[:3] + _cross(first, a[3:]), mass * a[3:] - _cross(first, a[:3]))
