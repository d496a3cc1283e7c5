"""What bodies, joints and elements add to a system, and how it is summed up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import sympy

from ..atoms import leaves
from ..builders.renaming import sum_of_terms
from ..constraints import (
    Constraint,
    FrictionLimit,
    friction_loss,
    holonomic,
    unilateral,
    velocity,
)
from ..drawing import Shape
from ..symbols import Coordinate, Velocity
from .body import Body
from .joint_options import Axis
from .joints import Joint
from .steps import Ball
from .vectors import add, cross, dot

if TYPE_CHECKING:
    from .kinematics import Kinematics

__all__ = ["Contribution", "Element", "along_axes", "generalised_forces", "of_body", "total"]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Contribution:
    """Terms of a system: energies, Rayleigh's function, forces, constraints, coordinates, outputs.

    `home` gives values of coordinates where a start gives none; `drawn` belongs to the drawing.
    """

    kinetic: tuple[sympy.Expr, ...] = ()
    potential: tuple[sympy.Expr, ...] = ()
    dissipation: tuple[sympy.Expr, ...] = ()
    forces: Mapping[Coordinate, sympy.Expr] = field(default_factory=dict)
    constraints: tuple[Constraint, ...] = ()
    coordinates: tuple[Coordinate, ...] = ()
    outputs: Mapping[str, sympy.Expr] = field(default_factory=dict)
    home: Mapping[Coordinate, float] = field(default_factory=dict)
    drawn: tuple[Shape, ...] = ()


class Element(Protocol):
    """Something between bodies that is no joint of the tree: a spring, a gear, rolling."""

    @property
    def name(self) -> str:
        """Its name."""

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by."""

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """What it adds to a system whose bodies move like this."""


def of_body(body: Body, kinematics: Kinematics) -> Contribution:
    """The energies of a rigid body.

    T = m |v + w x c|^2 / 2 + w . J w / 2,  V = -m g . (r + R c), with the twist in its own axes.
    """
    if body.mass == 0 and body.inertia.is_zero_matrix:
        return Contribution()
    spin, velocity = kinematics.twist(body)
    middle = add(velocity, cross(spin, body.com))
    motive = [body.mass / 2 * component**2 for component in middle]
    for i in range(3):
        motive.append(body.inertia[i, i] / 2 * spin[i] ** 2)
        motive += [body.inertia[i, j] * spin[i] * spin[j] for j in range(i)]
    gravity, level = kinematics.fall(body)
    return Contribution(
        kinetic=tuple(motive), potential=(body.mass * (level - dot(gravity, body.com)),)
    )


def along_axes(joint: Joint) -> Contribution:
    """Springs, dampers, rotors, forces, limits and quaternion norms along the axes of a joint."""
    parts = [_along_ball(joint, axis) if axis.is_ball else _along_axis(axis) for axis in joint.axes]
    return total([*parts, _bearing(joint)])


def _bearing(joint: Joint) -> Contribution:
    """Friction by the force across the axis of a joint."""
    bearing = joint.bearing
    if bearing is None:
        return Contribution()
    held = [holonomic(q, name=f"{q.name}_held") for q in bearing.across]
    limit = velocity(
        joint.coordinates[0].dot,
        f"{joint.name}_bearing",
        friction=bearing.friction,
        static_friction=bearing.static_friction,
        normal=[each.name for each in held],
    )
    return Contribution(constraints=(*held, limit), coordinates=bearing.across)


def _along_axis(axis: Axis) -> Contribution:
    (q,) = axis.coordinates
    limits = []
    low, high = axis.limits or (None, None)
    if low is not None:
        limits.append(unilateral(low - q, axis.restitution, name=f"{q.name}_lower"))
    if high is not None:
        limits.append(unilateral(q - high, axis.restitution, name=f"{q.name}_upper"))
    rough = _dry_friction(axis, {f"{q.name}_friction": q.dot})
    return Contribution(
        kinetic=(axis.armature / 2 * q.dot**2,),
        potential=(axis.stiffness / 2 * (q - axis.rest) ** 2,),
        dissipation=(axis.damping / 2 * q.dot**2,),
        forces={q: axis.force[0]} if axis.force else {},
        constraints=(*limits, *rough),
        coordinates=(q,),
    )


def _dry_friction(axis: Axis, rates: Mapping[str, sympy.Expr]) -> list[FrictionLimit]:
    """Dry friction along an axis: at its rate, or at each component of the spin of a ball."""
    if axis.friction_loss.is_zero:  # also 0.0, which is not equal to 0 for SymPy
        return []
    return [friction_loss(rate, axis.friction_loss, name) for name, rate in rates.items()]


def _along_ball(joint: Joint, axis: Axis) -> Contribution:
    r"""A quaternion: its norm is kept, and the energy is regular beside it.

    The rotation depends on q / |q| alone. The term k (q . q_dot / |q|^2)^2 / 2 vanishes with its
    derivatives where the norm is kept, and makes the metric regular in all four coordinates.
    """
    ball = next(
        step for step in joint.steps if isinstance(step, Ball) and step.parts == axis.coordinates
    )
    body = joint.child.body
    scale = 4 * (body.inertia.trace() / 3 + body.mass * dot(body.com, body.com))
    radial = sum((q * q.dot for q in axis.coordinates), ZERO) / ball.norm
    norm = sum((q**2 for q in axis.coordinates), -sympy.Integer(1))
    w = axis.coordinates[0]
    forces = generalised_forces(
        tuple(zip(axis.force, ball.spin, strict=True)) if axis.force else ()
    )
    rotor = (axis.armature / 2 * dot(ball.spin, ball.spin),) if axis.armature != 0 else ()
    return Contribution(
        kinetic=((scale if scale != 0 else 1) / 2 * radial**2, *rotor),
        potential=(2 * axis.stiffness * (1 - w**2 / ball.norm),) if axis.stiffness != 0 else (),
        dissipation=(axis.damping / 2 * dot(ball.spin, ball.spin),) if axis.damping != 0 else (),
        forces=forces,
        constraints=(
            holonomic(norm, name=f"{joint.name}_norm"),
            *_dry_friction(
                axis,
                {f"{joint.name}_friction_{k}": w for k, w in zip("xyz", ball.spin, strict=True)},
            ),
        ),
        coordinates=axis.coordinates,
        home={w: 1.0},
    )


def generalised_forces(
    pairs: Iterable[tuple[sympy.Expr, sympy.Expr]],
) -> dict[Coordinate, sympy.Expr]:
    """Q_j = sum F dv/dq_dot_j for force components F and the velocities v that they act along."""
    found: dict[Coordinate, sympy.Expr] = {}
    for force, speed in pairs:
        if force == 0:
            continue
        moving = [symbol for symbol in leaves(speed) if isinstance(symbol, Velocity)]
        for symbol in sorted(moving, key=lambda symbol: symbol.name):
            term = force * speed.diff(symbol)
            found[symbol.coordinate] = found.get(symbol.coordinate, ZERO) + term
    return found


def total(parts: Iterable[Contribution]) -> Contribution:
    """The sum of contributions."""
    listed = list(parts)
    forces: dict[Coordinate, sympy.Expr] = {}
    for part in listed:
        for q, value in part.forces.items():
            forces[q] = forces.get(q, ZERO) + value

    def terms(name: str) -> tuple[sympy.Expr, ...]:
        return tuple(term for part in listed for term in getattr(part, name) if term != 0)

    return Contribution(
        terms("kinetic"),
        terms("potential"),
        terms("dissipation"),
        forces,
        tuple(constraint for part in listed for constraint in part.constraints),
        tuple(dict.fromkeys(q for part in listed for q in part.coordinates)),
        {key: value for part in listed for key, value in part.outputs.items()},
        {key: value for part in listed for key, value in part.home.items()},
        tuple(shape for part in listed for shape in part.drawn),
    )


def summed(terms: Iterable[sympy.Expr]) -> sympy.Expr:
    """A sum of many terms, in linear time."""
    return sum_of_terms([(term, 1) for term in terms])
