r"""Contacts between bodies: by a formula where the pair of shapes has one, in numbers elsewhere.

A ball, or a vertex, of one body and a plane of another have the gap n . (c - p) - r, and two balls
without friction the gap |c_1 - c_2| - r_1 - r_2. These are one-sided constraints of the system, and
every method that follows contacts follows them. Contacts of other pairs are found in numbers along
the motion, by `method="moreau"`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations_with_replacement, product
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy

from ...errors import MissingExtraError, ModelError
from ..constraints import Constraint, unilateral
from ..constraints.shape_contacts import BodyPose, ShapeContacts, Solid
from ..drawing import ReactionArrow
from ..symbols import as_expression
from .body import Body, Frame
from .contributions import Contribution
from .kinematics import Kinematics
from .shapes import Geometry
from .steps import named_triple
from .vectors import IDENTITY, Triple, add, cross, dot, scale

if TYPE_CHECKING:
    from ...typing import Expression

__all__ = ["BodyContacts", "contact", "contacts"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
#: Shapes that touch, in the order in which pairs of them are named.
SOLIDS = ("ball", "capsule", "box", "cylinder", "rim", "hull", "plane")
#: Pairs without a plane that have formulas, and shapes whose other pairs the library coal knows.
PAIRS = {("ball", "ball"), ("ball", "capsule"), ("capsule", "capsule"), ("ball", "box"),
         ("box", "box")}  # fmt: skip
CONVEX = {"ball", "capsule", "box", "cylinder", "hull"}


@dataclass(frozen=True)
class BodyContacts:
    """Contacts between several bodies; `contact` and `contacts` make it.

    >>> from dalembert.bodies import Body, ball, contact, ground, half_space
    >>> marble = Body("marble", 1, shapes=[ball(0.1)])
    >>> contact("floor", marble, ground([half_space()]), friction=0.3).in_numbers
    False
    """

    name: str
    bodies: tuple[Body, ...]
    friction: sympy.Expr
    static_friction: sympy.Expr
    restitution: sympy.Expr
    tangential_restitution: sympy.Expr
    law: str
    in_numbers: bool

    @property
    def is_rough(self) -> bool:
        """Whether friction was stated."""
        return bool(self.static_friction != 0)

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by; its coefficients contain parameters only."""
        return ()

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """One-sided constraints, or contacts in numbers."""
        if self.in_numbers:
            return Contribution(constraints=(self._scene(kinematics),))
        touches = [
            each
            for one, two in product(_solids(self.bodies[0]), _solids(self.bodies[1]))
            for each in _touches(self.bodies, one, two, kinematics, self.is_rough)
        ]
        names = [f"{self.name}_{k}" for k in range(1, len(touches) + 1)]
        if len(touches) == 1:
            names = [self.name]
        found: list[Constraint] = [
            unilateral(
                -each.gap,
                name=name,
                restitution=self.restitution,
                friction=self.friction if each.slip else ZERO,
                static_friction=self.static_friction if each.slip else ZERO,
                tangent=each.slip,
                tangential_restitution=self.tangential_restitution,
                law=self.law,
            )
            for name, each in zip(names, touches, strict=True)
        ]
        arrows = [
            ReactionArrow(name, each.point, directions=each.directions)
            for name, each in zip(names, touches, strict=True)
        ]
        return Contribution(constraints=tuple(found), drawn=tuple(arrows))

    def _scene(self, kinematics: Kinematics) -> ShapeContacts:
        poses, solids = [], []
        for number, body in enumerate(self.bodies):
            axes, origin = kinematics.pose(body)
            frame = Frame(body)
            poses.append(
                BodyPose(
                    body.name,
                    tuple(entry for row in axes.rows for entry in row),
                    tuple(origin),
                    tuple(kinematics.velocity(frame)),
                    tuple(kinematics.spin(frame)),
                )
            )
            solids += [_solid(number, shape) for shape in _solids(body)]
        numbers = {body.name: k for k, body in enumerate(self.bodies)}
        apart = tuple(
            (numbers[name], numbers[edge.parent])
            for name, edge in kinematics.edges.items()
            if name in numbers and edge.parent in numbers and not _is_free(edge.steps)
        )
        return ShapeContacts(
            ZERO,
            self.name,
            bodies=tuple(poses),
            solids=tuple(solids),
            apart=apart,
            restitution=self.restitution,
            tangential_restitution=self.tangential_restitution,
            friction=self.friction,
            static_friction=self.static_friction,
        )


def _is_free(steps: Sequence[Any]) -> bool:
    """Whether the steps of a joint leave all six motions."""
    from .steps import Ball, Slide, Turn

    moving = [step for step in steps if isinstance(step, (Ball, Slide, Turn))]
    return sum(3 if isinstance(step, Ball) else 1 for step in moving) >= 6


def _solids(body: Body) -> list[Geometry]:
    return [shape for shape in body.shapes if shape.kind in SOLIDS]


def _solid(number: int, shape: Geometry) -> Solid:
    sizes = [*shape.sizes, ZERO, ZERO, ZERO][:3]
    if shape.kind == "box":
        sizes = [size / 2 for size in sizes]
    elif shape.kind in ("capsule", "cylinder"):
        sizes[1] = sizes[1] / 2
    return Solid(
        shape.kind,
        number,
        tuple(sizes),
        tuple(shape.position),
        tuple(entry for row in shape.rotation.rows for entry in row),
        tuple(tuple(point) for point in shape.points),
    )


def _vertices(shape: Geometry) -> Iterator[tuple[Triple, sympy.Expr]]:
    """The balls, of radius zero at corners, that a shape touches a plane with."""
    half = [size / 2 for size in shape.sizes]
    match shape.kind:
        case "ball":
            yield (ZERO, ZERO, ZERO), shape.sizes[0]
        case "capsule":
            for side in (half[1], -half[1]):
                yield (ZERO, ZERO, side), shape.sizes[0]
        case "box":
            for signs in product((1, -1), repeat=3):
                x, y, z = (sign * side for sign, side in zip(signs, half, strict=True))
                yield (x, y, z), ZERO
        case "hull":
            for point in shape.points:
                yield point, ZERO


class _Touch(NamedTuple):
    """A gap, the velocities with which the first body slides there, the point, and the directions
    of the forces on the first body."""

    gap: sympy.Expr
    slip: tuple[sympy.Expr, ...]
    point: Triple
    directions: tuple[Triple, ...]


def _touches(
    bodies: Sequence[Body], one: Geometry, two: Geometry, kinematics: Kinematics, rough: bool
) -> Iterator[_Touch]:
    """The places where a pair of shapes may touch."""
    first, second = bodies
    if one.kind == "plane":
        first, second, one, two = second, first, two, one
    place = Frame(first).moved(one.position, one.rotation)
    base = Frame(second).moved(two.position, two.rotation)
    if two.kind != "plane":
        apart = add(kinematics.position(place), scale(-ONE, kinematics.position(base)))
        named = named_triple(f"d_{first.name}_{second.name}", apart)
        length = sympy.sqrt(dot(named, named))
        normal = scale(1 / sympy.sqrt(dot(apart, apart)), apart)
        point = add(kinematics.position(base), scale(two.sizes[0], normal))
        yield _Touch(length - one.sizes[0] - two.sizes[0], (), point, (normal,))
        return
    axes = kinematics.axes(base)
    normal, tangents = axes.columns[2], axes.columns[:2]
    for vertex, radius in _vertices(one):
        corner = place.moved(vertex, IDENTITY)
        apart = add(kinematics.position(corner), scale(-ONE, kinematics.position(base)))
        gap = dot(normal, apart) - radius
        slip = add(
            kinematics.velocity(corner), cross(kinematics.spin(place), scale(-radius, normal))
        )
        if not second.is_ground:
            touching = add(apart, scale(-radius, normal))
            carried = add(kinematics.velocity(base), cross(kinematics.spin(base), touching))
            slip = add(slip, scale(-ONE, carried))
        point = add(kinematics.position(corner), scale(-radius, normal))
        slips = [(dot(tangent, slip), tangent) for tangent in tangents] if rough else []
        moving = [pair for pair in slips if pair[0] != 0]  # a mechanism may move in a plane
        rubs, ways = tuple(rub for rub, _ in moving), tuple(way for _, way in moving)
        yield _Touch(gap, rubs, point, (normal, *ways))


def _has_formula(one: Geometry, two: Geometry, rough: bool) -> bool:
    kinds = {one.kind, two.kind}
    if "plane" in kinds:
        return bool(kinds - {"plane"}) and kinds <= {"plane", "ball", "capsule", "box", "hull"}
    return kinds == {"ball"} and not rough


def contact(
    name: str,
    first: Body,
    second: Body,
    *,
    friction: Expression = 0,
    restitution: Expression = 0,
    static_friction: Expression | None = None,
    tangential_restitution: Expression = 0,
    law: str = "newton",
) -> BodyContacts:
    """Contact between the shapes of two bodies.

    Pairs with a plane, and balls without friction, become one-sided constraints ``name``, or
    ``name_1``, ``name_2``, ... where there are several, with the arguments of `unilateral`.
    Contacts of other pairs are found in numbers, for `method="moreau"`.

    Parameters
    ----------
    name : str
    first, second : bodies with `shapes`
        Of the ground, or of bodies that joints move.
    friction, restitution, static_friction, tangential_restitution, law : see `unilateral`

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> ball = b.Body("ball", mass=1, inertia=(0.004, 0.004, 0.004), shapes=[b.ball(0.1)])
    >>> table = b.ground([b.half_space()])
    >>> touches = b.contact("table", ball, table, friction=0.3)
    >>> system = b.Mechanism([b.free("ball", table, ball), touches], gravity=(0, 0, -9.81)).system()
    >>> [c.name for c in system.unilateral], len(system.unilateral[0].tangent)
    (['table'], 2)
    """
    found = _checked(name, (first, second))
    rubs, sticks = _frictions(friction, static_friction)
    pairs = product(_solids(first), _solids(second))
    in_numbers = not all(_has_formula(one, two, sticks != 0) for one, two in pairs)
    bounces = (as_expression(restitution), as_expression(tangential_restitution))
    return BodyContacts(name, found, rubs, sticks, *bounces, law, in_numbers)


def contacts(
    name: str,
    bodies: Sequence[Body],
    *,
    friction: Expression = 0,
    restitution: Expression = 0,
    static_friction: Expression | None = None,
    tangential_restitution: Expression = 0,
) -> BodyContacts:
    """Contacts between any two of many bodies, found in numbers for `method="moreau"`.

    Bodies that a joint connects do not touch each other, unless it is a free one.

    Parameters
    ----------
    name : str
    bodies : sequence of bodies with `shapes`
        The ground among them, if it is touched.
    friction, restitution, static_friction, tangential_restitution : see `unilateral`

    Examples
    --------
    >>> import dalembert as da
    >>> b = da.bodies
    >>> marbles = [b.Body(f"m{k}", 1, inertia=(1, 1, 1), shapes=[b.ball(1)]) for k in range(2)]
    >>> table = b.ground([b.half_space()])
    >>> heap = b.contacts("heap", [table, *marbles], friction=0.5)
    >>> joints = [b.free(m.name, table, m) for m in marbles]
    >>> system = b.Mechanism([*joints, heap], gravity=(0, 0, -9.81)).system()
    >>> start = {"m0_z": 1, "m1_z": 3}
    >>> motion = da.simulate(system, start, (0, 0.1), method="moreau", step=0.01)
    >>> bool(abs(motion["m1_z"][-1] - 3) < 1e-9)
    True
    """
    found = _checked(name, tuple(bodies))
    bounces = (as_expression(restitution), as_expression(tangential_restitution))
    return BodyContacts(
        name, found, *_frictions(friction, static_friction), *bounces, "moreau", True
    )


def _frictions(friction: Expression, static: Expression | None) -> tuple[sympy.Expr, sympy.Expr]:
    """The coefficients while a contact slips and while it sticks."""
    rubs = as_expression(friction)
    return rubs, rubs if static is None else as_expression(static)


def _checked(name: str, bodies: tuple[Body, ...]) -> tuple[Body, ...]:
    """Bodies with shapes, each of which has a distance to those of the others."""
    if len(bodies) < 2 or len({body.name for body in bodies}) < len(bodies):
        raise ModelError(
            f"The contact `{name}` is between two bodies or more, each once",
            seen=", ".join(body.name for body in bodies),
            remedy="name different bodies",
        )
    for body in bodies:
        if not isinstance(body, Body) or not _solids(body):
            raise ModelError(
                f"The body `{body.name}` has no shape that could touch in `{name}`",
                seen=", ".join(shape.kind for shape in body.shapes) or "no shapes",
                remedy=f"give it shapes=[...] of {', '.join(SOLIDS)}",
            )
    owners: dict[str, set[str]] = {}
    for body in bodies:
        for shape in _solids(body):
            owners.setdefault(shape.kind, set()).add(body.name)
    for one, two in combinations_with_replacement(SOLIDS, 2):
        meet = owners.get(one, set()) and owners.get(two, set())
        if meet and len(owners[one] | owners[two]) > 1:
            _check_pair(name, one, two)
    return bodies


def _check_pair(name: str, one: str, two: str) -> None:
    if (two == "plane" and one != "plane") or (one, two) in PAIRS:
        return
    if one == two == "plane":
        raise ModelError(
            f"Two bodies of `{name}` have planes, which have no distance",
            remedy="give one of them a box",
        )
    if not {one, two} <= CONVEX:
        raise ModelError(
            f"`{name}` needs the distance of a {one} and a {two}, which is not known here",
            seen="a rim meets planes only",
            remedy="make up the shape of balls, capsules or boxes",
        )
    if find_spec("coal") is None:
        raise MissingExtraError("coal", "contact-shapes")
