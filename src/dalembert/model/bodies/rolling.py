r"""Rolling without slipping as a joint, with exact constraints.

With the contact point c, the unit normal n and two tangents t_k of the surface that is rolled on,

    n . (c - p) = 0,       t_k . (u_1 - u_2) = 0,

where u_1 and u_2 are the velocities of the two bodies' material points at c, and p is a point of
the plane. On a surface that is not a plane, the contact point on it has coordinates without mass,
and c = p(x, y) takes the place of the first condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import sympy

from ...errors import ModelError
from ..constraints import Constraint, holonomic, velocity
from ..frozen_table import FrozenTable
from ..named_points import position_outputs
from ..symbols import as_expression
from .body import Frame, Place, as_frame
from .contributions import Contribution
from .kinematics import Kinematics
from .rolling_surfaces import (
    ImplicitSurface,
    RollingContact,
    RollingGround,
    RollingSurface,
    Touch,
    plane,
    sphere,
    wheel_axis,
)
from .steps import named_triple
from .vectors import IDENTITY, Triple, add, cross, dot, scale, unit_axis

if TYPE_CHECKING:
    from ...typing import Expression

__all__ = ["ball_on_surface", "knife_edge", "no_spin", "rolling"]

ONE = sympy.Integer(1)


@dataclass(frozen=True)
class Rolling:
    """A surface of one body that rolls on a surface of another; `rolling` makes it."""

    name: str
    wheel: Frame
    surface: RollingSurface
    base: Frame
    ground: RollingGround
    slips: bool
    spins: bool
    limits: FrozenTable[str, sympy.Expr]

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by; its surfaces contain parameters only."""
        return tuple(self.limits.values())

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """Constraints at position and velocity level, contact coordinates and outputs."""
        contact = self.ground.contact(self.name)
        base, wheel = kinematics.axes(self.base), kinematics.axes(self.wheel)
        normal = base.applied(contact.normal)
        seen = named_triple(f"k_{self.name}", wheel.inverse.applied(normal))
        touch = self.surface.touch(self.name, seen)
        place = self.wheel.moved(touch.point, IDENTITY)
        spot = kinematics.position(place)
        axis = wheel_axis(self.surface)
        if axis is not None and len(contact.tangents) > 2:
            across = base.inverse.applied(wheel.applied(axis))
            contact = replace(contact, tangents=_wheel_tangents(self.name, contact.normal, across))
        if self.limits:
            contact = _with_unit_tangents(contact)
        positions = self._positions(contact, touch, spot, kinematics)
        rows = self._velocities(contact, place, spot, kinematics, positions[0].name)
        return Contribution(
            constraints=(*positions, *rows),
            coordinates=(*contact.coordinates, *touch.coordinates),
            outputs=position_outputs(f"{self.name}_contact", spot),
        )

    def _positions(
        self, contact: RollingContact, touch: Touch, spot: Triple, kinematics: Kinematics
    ) -> list[Constraint]:
        base = kinematics.axes(self.base)
        apart = add(spot, scale(-ONE, kinematics.position(self.base)))
        if contact.point is None:
            residuals = [dot(base.applied(contact.normal), apart)]
        else:
            residuals = list(add(base.inverse.applied(apart), scale(-ONE, contact.point)))
            if self.limits:  # the first multiplier is the normal force
                ways = (contact.normal, *contact.tangents)
                residuals = [dot(way, (residuals[0], residuals[1], residuals[2])) for way in ways]
        residuals += [*contact.residuals, *touch.residuals]
        if touch.normal is not None:
            outward = kinematics.axes(self.wheel).applied(touch.normal)
            residuals += [dot(outward, base.applied(tangent)) for tangent in contact.tangents]
        count = len(residuals)
        return [
            holonomic(residual, name=f"{self.name}_{k}" if count > 1 else self.name)
            for k, residual in enumerate(residuals, start=1)
        ]

    def _velocities(
        self,
        contact: RollingContact,
        place: Frame,
        spot: Triple,
        kinematics: Kinematics,
        normal: str,
    ) -> list[Constraint]:
        slip = kinematics.velocity(place)
        turning = kinematics.spin(self.wheel)
        if not self.base.body.is_ground:
            other = kinematics.position(Frame(self.base.body))
            lever = add(spot, scale(-ONE, other))
            spin = kinematics.spin(self.base)
            carried = add(kinematics.velocity(Frame(self.base.body)), cross(spin, lever))
            slip = add(slip, scale(-ONE, carried))
            turning = add(turning, scale(-ONE, spin))
        base = kinematics.axes(self.base)
        slides = [dot(base.applied(tangent), slip) for tangent in contact.tangents]
        rows: list[Constraint] = []
        if not self.slips and not self.limits:
            rows += [
                velocity(value, name=f"{self.name}_slip{k}")
                for k, value in enumerate(slides, start=1)
            ]
        spin_row = dot(base.applied(contact.normal), turning)
        if not self.spins:
            rows.append(velocity(spin_row, name=f"{self.name}_spin"))
        rolls = [dot(base.applied(tangent), turning) for tangent in contact.tangents]
        return rows + self._rough(normal, slides, [spin_row], rolls)

    def _rough(
        self,
        normal: str,
        slides: Sequence[sympy.Expr],
        spin: Sequence[sympy.Expr],
        rolls: Sequence[sympy.Expr],
    ) -> list[Constraint]:
        """The friction limits of slip, spin and roll, with the normal force as their load."""
        parts = (("friction", "slip", slides), ("spinning_friction", "spin", spin))
        return [
            velocity(
                tuple(values),
                name=f"{self.name}_{word}",
                friction=self.limits[key],
                static_friction=self.limits.get(f"static_{key}", self.limits[key]),
                normal=normal,
            )
            for key, word, values in (*parts, ("rolling_friction", "roll", rolls))
            if self.limits.get(key, 0) != 0
        ]


def _wheel_tangents(name: str, normal: Triple, axis: Triple) -> tuple[Triple, Triple]:
    """The direction in which a wheel rolls, and that across; they vanish where it lies flat."""
    ahead = named_triple(f"g_{name}", cross(axis, normal))
    return ahead, named_triple(f"h_{name}", cross(normal, ahead))


def _with_unit_tangents(contact: RollingContact) -> RollingContact:
    """The same place with orthogonal unit tangents, along which friction is isotropic."""
    if contact.point is None:
        return contact
    first = contact.tangents[0]
    along = scale(1 / sympy.sqrt(dot(first, first)), first)
    return replace(contact, tangents=(along, cross(contact.normal, along)))


def _limits(
    name: str, ground: RollingGround | None, **given: Expression | None
) -> FrozenTable[str, sympy.Expr]:
    """The friction that was stated, by its word; faults of what cannot have it."""
    found = {key: as_expression(value) for key, value in given.items() if value is not None}
    if found and isinstance(ground, ImplicitSurface):
        raise ModelError(
            f"Rolling `{name}` has friction on a surface without two tangents everywhere",
            seen="implicit(...)",
            remedy="use plane() or height_field(...)",
        )
    if found and "friction" not in found:
        raise ModelError(
            f"Rolling `{name}` has {' and '.join(found)} and no friction",
            remedy="give friction=, the coefficient of Coulomb's friction",
        )
    return FrozenTable(found)


def rolling(
    name: str,
    wheel: Place,
    surface: RollingSurface,
    on: Place,
    ground: RollingGround | None = None,
    *,
    slips: bool = False,
    spins: bool = True,
    friction: Expression | None = None,
    static_friction: Expression | None = None,
    spinning_friction: Expression | None = None,
    rolling_friction: Expression | None = None,
) -> Rolling:
    """A body whose surface rolls on a plane, a height field, or a surface of another body.

    Parameters
    ----------
    name : str
        Also of the outputs ``name_contact_x``, ``_y``, ``_z``, the contact point in space.
    wheel : body, or a point or frame on it
        The frame in which `surface` is given.
    surface : `disk`, `torus`, `sphere`, `ellipsoid`, or `implicit` (convex)
    on : body, or a point or frame on it
        The frame in which `ground` is given.
    ground : `plane` (the default), `height_field` or `implicit`
    slips : bool
        Whether the contact only keeps the surfaces together.
    spins : bool
        Whether the body may turn about the normal; False adds the constraint that it does not.
    friction, static_friction : numbers or expressions
        Coulomb's coefficients while it slips and while it rolls: with them it rolls only while the
        friction suffices, as ``name_slip`` in `motion.modes` says. Without them it always rolls.
    spinning_friction, rolling_friction : numbers or expressions
        Lengths: the largest torques about the normal and in the tangent plane, by normal force.

    Examples
    --------
    A ball that rolls on a table has three degrees of freedom:

    >>> import dalembert as da
    >>> b = da.bodies
    >>> ball = b.Body("ball", mass=1, inertia=(0.4, 0.4, 0.4))
    >>> table = b.ground()
    >>> moves = b.free("ball_motion", table, ball)
    >>> rolls = b.rolling("contact", ball, b.sphere(1), table)
    >>> [c.name for c in b.Mechanism([moves, rolls]).system().constraints]
    ['ball_motion_norm', 'contact', 'contact_slip1', 'contact_slip2']
    """
    if slips and friction is not None:
        raise ModelError(
            f"Rolling `{name}` slips freely and has friction",
            seen=f"slips=True, friction={friction}",
            remedy="leave out slips",
        )
    limits = _limits(
        name,
        ground,
        friction=friction,
        static_friction=static_friction,
        spinning_friction=spinning_friction,
        rolling_friction=rolling_friction,
    )
    frame = as_frame(wheel, f"Rolling `{name}`")
    base = as_frame(on, f"Rolling `{name}`")
    if frame.body == base.body:
        raise ModelError(f"`{name}` rolls on its own body", seen=base.body.name)
    if not hasattr(surface, "touch"):
        raise ModelError(
            f"`{name}` needs a surface that rolls",
            seen=type(surface).__name__,
            remedy="pass disk(...), torus(...), sphere(...), ellipsoid(...) or implicit(...)",
        )
    return Rolling(name, frame, surface, base, ground or plane(), slips, spins, limits)


def ball_on_surface(
    name: str,
    ball: Place,
    radius: Expression,
    on: Place,
    ground: RollingGround | None = None,
    *,
    slips: bool = False,
    spins: bool = True,
    friction: Expression | None = None,
    static_friction: Expression | None = None,
    spinning_friction: Expression | None = None,
    rolling_friction: Expression | None = None,
) -> Rolling:
    """A ball that rolls on a plane, in a bowl, on hills or on another body; see `rolling`.

    >>> from dalembert.bodies import Body, ground, implicit
    >>> marble = Body("marble", mass=1, inertia=(0.4, 0.4, 0.4))
    >>> bowl = implicit(lambda x, y, z: x**2 + y**2 + z**2 - 4, inside=True)
    >>> ball_on_surface("contact", marble, 0.1, ground(), bowl).slips
    False
    """
    return rolling(
        name,
        ball,
        sphere(radius),
        on,
        ground,
        slips=slips,
        spins=spins,
        friction=friction,
        static_friction=static_friction,
        spinning_friction=spinning_friction,
        rolling_friction=rolling_friction,
    )


@dataclass(frozen=True)
class BladeOrSpin:
    """One velocity of a frame, relative to another one, that vanishes."""

    name: str
    frame: Frame
    base: Frame
    axis: Triple
    turns: bool

    def expressions(self) -> Iterable[sympy.Expr]:
        """What it was stated by."""
        return self.axis

    def contribution(self, kinematics: Kinematics) -> Contribution:
        """Its constraint."""
        if self.turns:
            rate = add(kinematics.spin(self.frame), scale(-ONE, kinematics.spin(self.base)))
            along = kinematics.axes(self.base).applied(self.axis)
        else:
            spot = kinematics.position(self.frame)
            lever = add(spot, scale(-ONE, kinematics.position(self.base)))
            carried = add(kinematics.velocity(self.base), cross(kinematics.spin(self.base), lever))
            rate = add(kinematics.velocity(self.frame), scale(-ONE, carried))
            along = kinematics.axes(self.frame).applied(self.axis)
        return Contribution(constraints=(velocity(dot(along, rate), name=self.name),))


def knife_edge(name: str, blade: Place, on: Place, across: str | Triple = "y") -> BladeOrSpin:
    """A blade, a skate or a narrow wheel: its point does not move across it.

    `across` is the forbidden direction, in the frame of the blade.

    >>> from dalembert.bodies import Body, ground
    >>> knife_edge("blade", Body("sleigh").point((1, 0, 0)), ground()).axis
    (0, 1, 0)
    """
    frames = [as_frame(place, f"The blade `{name}`") for place in (blade, on)]
    return BladeOrSpin(name, frames[0], frames[1], unit_axis(across), False)


def no_spin(name: str, body: Place, on: Place, axis: str | Triple = "z") -> BladeOrSpin:
    """A body that does not turn about an axis of another frame, as a ball with a rough spot.

    >>> from dalembert.bodies import Body, ground
    >>> no_spin("rubber", Body("ball"), ground()).axis
    (0, 0, 1)
    """
    frames = [as_frame(place, f"The condition `{name}`") for place in (body, on)]
    return BladeOrSpin(name, frames[0], frames[1], unit_axis(axis), True)
