"""Velocity constraints that hold by friction: up to a limit, beyond which they slip."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, overload

import sympy

from ...errors import DalembertError, ModelError
from ...typing import Condition, Expression, Values
from ..frozen_table import FrozenTable
from ..names import shortened
from ..symbols import Coordinate, Velocity, as_expression
from .constraint import Constraint, EntryReader, Place, vanishing
from .held_contacts import ContactPhase, SlidingFriction
from .on_velocities import TangentConstraint, VelocityConstraint

if TYPE_CHECKING:
    from ..system_reader import Reader

__all__ = ["KIND", "FrictionLimit", "affine_faults", "friction_loss", "velocity"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
REMEDY = VelocityConstraint.remedy


@dataclass(frozen=True)
class FrictionLimit(Constraint):
    """w(q, q_dot, t) = 0 while Coulomb's friction suffices; it slips where it does not.

    The reaction is at most `static_friction` times the load while the constraint holds, and
    `friction` times the load against the slip w while it slips. The load is the size of the
    reaction of another constraint, the norm of the reactions of several, or an expression.

    Attributes
    ----------
    friction, static_friction : expressions
    normal : tuple of str
        The constraint whose multiplier is the load: on positions, or one-sided; several on
        positions, the norm of whose multipliers is the load; () where `load` is given.
    load : sympy.Expr
    second : sympy.Expr or None
        The slip in a second direction, orthogonal to that of `expression`.
    """

    friction: sympy.Expr = ZERO
    static_friction: sympy.Expr = ZERO
    normal: tuple[str, ...] = ()
    load: sympy.Expr = ZERO
    second: sympy.Expr | None = None

    kind, restricts, wording = "friction", Velocity, "on velocities up to a friction limit"
    remedy = REMEDY
    gives_row = False
    foreign_keys: ClassVar = {
        key: (f"has a {key.replace('_', ' ')} and is not one-sided", "state it with <= or >=")
        for key in ("restitution", "tangent", "tangential_restitution", "law")
    } | {"work": ("has a friction limit and work", "remove work")}
    #: No impact of its own loses energy.
    restitution: ClassVar[sympy.Expr] = ONE
    has_friction: ClassVar[bool] = True

    @property
    def tangent(self) -> tuple[sympy.Expr, ...]:
        """The slip: one or two velocities."""
        return (self.expression,) if self.second is None else (self.expression, self.second)

    def held(self, phase: ContactPhase | None = None) -> tuple[Constraint, ...]:
        """The rows of a constraint that holds, or the friction of one that slips."""
        if phase is None or phase.leader:
            return ()
        if not phase.leading:
            return tuple(
                TangentConstraint(value, f"{self.name}_tangent{k}", {}, self.name)
                for k, value in enumerate(self.tangent, start=1)
                if k not in phase.carried
            )
        angle = None if phase.start is None else phase.start[0]
        return (
            SlidingFriction(
                self.expression,
                self.name,
                {},
                self.friction,
                self.tangent,
                phase.leading,
                angle,
                self.normal,
                self.load,
                phase.side,
            ),
        )

    def conditions(self) -> tuple[sympy.Expr, ...]:
        return self.tangent

    def expressions(self) -> Iterator[sympy.Expr]:
        yield from super().expressions()
        yield from (self.friction, self.static_friction, self.load)
        yield from () if self.second is None else (self.second,)

    def places(self) -> Iterator[Place]:
        yield from super().places()
        for value in (self.friction, self.static_friction, self.load):
            yield Place(value, (Coordinate, Velocity), "use coordinates, velocities and parameters")
        if self.second is not None:
            yield Place(self.second, (Coordinate, Velocity), REMEDY)

    def faults(self) -> Iterator[DalembertError]:
        yield from super().faults()
        name = self.name
        if bool(self.normal) == (self.load != 0):
            yield ModelError(
                f"The friction limit of `{name}` needs one load",
                seen=f"normal = {', '.join(self.normal)!r}, load = {self.load}",
                remedy='give normal="floor", the constraint that presses, or load=m*g, a force',
            )
        yield from affine_faults(name, "slip", self.tangent, REMEDY)
        for word in ("friction", "static_friction", "load"):
            value = getattr(self, word)
            if value.is_number and not 0 <= float(value) < float("inf"):
                yield ModelError(
                    f"The {word.replace('_', ' ')} of `{name}` must not be negative",
                    seen=str(value),
                    remedy="give a number such as 0.3",
                )

    def _read(self, reader: Reader, name: str, where: str) -> dict[str, Any]:
        found = super()._read(reader, name, where)
        for key in ("friction", "static_friction", "load"):
            found[key] = reader.expression(getattr(self, key), f"{key} of {where}")
        if self.second is not None:
            found["second"] = reader.expression(self.second, f"second direction of {where}")
        return found

    @classmethod
    def from_entry(cls, expression: sympy.Expr, name: str, entry: EntryReader) -> Constraint:
        cls._check_keys(entry)
        friction = entry.expression("friction", 1 if "load" in entry else 0)
        static = entry.expression("static_friction") if "static_friction" in entry else friction
        second = entry.expression("second") if "second" in entry else None
        load = entry.expression("load")
        normal = _names(entry.text("normal", "").split(","))
        return cls(expression, name, {}, friction, static, normal, load, second)

    def entry(self) -> dict[str, Any]:
        found: dict[str, Any] = {"friction": self.friction}
        if self.static_friction != self.friction:
            found["static_friction"] = self.static_friction
        found |= {"normal": ", ".join(self.normal)} if self.normal else {"load": self.load}
        return found if self.second is None else found | {"second": self.second}


KIND = FrictionLimit


def _names(given: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in (each.strip() for each in given) if name)


def affine_faults(
    name: str, what: str, velocities: Sequence[sympy.Expr], remedy: str
) -> Iterator[DalembertError]:
    """Faults of slips that are not affine in the velocities, or contain none."""
    for value in velocities:
        found = sorted(value.atoms(Velocity), key=str)
        if not found or any(sympy.expand(sympy.diff(value, v)).atoms(Velocity) for v in found):
            yield ModelError(
                f"The {what} of `{name}` must be affine in the velocities",
                seen=shortened(str(value)),
                remedy=remedy,
            )


@overload
def velocity(
    condition: Condition, name: str = "", *, work: Values | None = None
) -> VelocityConstraint: ...
@overload
def velocity(
    condition: Condition | Sequence[Condition],
    name: str = "",
    *,
    friction: Expression,
    static_friction: Expression | None = None,
    normal: str | Sequence[str] = "",
    load: Expression = 0,
) -> FrictionLimit: ...
def velocity(
    condition: Condition | Sequence[Condition],
    name: str = "",
    *,
    work: Values | None = None,
    friction: Expression | None = None,
    static_friction: Expression | None = None,
    normal: str | Sequence[str] = "",
    load: Expression = 0,
) -> VelocityConstraint | FrictionLimit:
    """The constraint f(q, q_dot, t) = 0 on velocities, by Chetaev's rule if nonlinear in them.

    With `friction` it has a limit: it holds while its reaction is at most `static_friction` times
    the load, slips against `friction` times the load where it must, and grips again where it can.

    Parameters
    ----------
    condition : expression or equation; with `friction` also a pair of orthogonal directions
    name : str
    work : mapping of coordinate to expression
        The generalised force of a nonideal constraint.
    friction, static_friction : numbers or expressions
        The coefficients while it slips and while it sticks, which are equal by default.
    normal : str, or several
        The name of the constraint on positions, or of the contact, whose reaction is the load. Let
        it be a length, so that its multiplier is a force. Of several constraints on positions, such
        as those that hold a pin in two orthogonal directions, the load is the norm of their
        multipliers.
    load : expression
        The load itself, such as a weight m*g, instead of `normal`.

    Examples
    --------
    >>> from dalembert.model.symbols import coordinates
    >>> x, y, theta = coordinates("x y theta")
    >>> velocity(x.dot*sympy.sin(theta) - y.dot*sympy.cos(theta), name="blade").expression
    x_dot*sin(theta) - y_dot*cos(theta)
    >>> velocity(sympy.Eq(x.dot, 3*y.dot)).expression
    x_dot - 3*y_dot
    >>> velocity(x.dot - theta.dot, friction=0.3, load=9.81, name="rolling").tangent
    (-theta_dot + x_dot,)
    """
    several = isinstance(condition, Sequence)
    parts = tuple(condition) if isinstance(condition, Sequence) else (condition,)
    if friction is None:
        stated = {"static_friction": static_friction, "normal": normal or None}
        given = [key for key, value in stated.items() if value is not None]
        if several or given or load != 0:
            raise ModelError(
                f"The velocity constraint `{name}` states a friction limit without friction",
                seen=", ".join(given) or "several directions" if several else "load",
                remedy="give friction=, or state a constraint for each direction",
            )
        return VelocityConstraint(vanishing(parts[0]), name, FrozenTable(work or {}))
    if work or not 1 <= len(parts) <= 2:
        raise ModelError(
            f"The friction limit `{name}` takes one or two directions, and no work",
            seen=f"{len(parts)} directions" + (" and work" if work else ""),
            remedy="give one direction in a plane and two in space",
        )
    slips = [vanishing(part) for part in parts]
    return FrictionLimit(
        slips[0],
        name,
        {},
        as_expression(friction),
        as_expression(friction if static_friction is None else static_friction),
        _names([normal] if isinstance(normal, str) else normal),
        as_expression(load),
        slips[1] if len(slips) > 1 else None,
    )


def friction_loss(
    rate: Expression, loss: Expression, name: str = "", *, static: Expression | None = None
) -> FrictionLimit:
    """Dry friction of a given size at a rate: ``-loss`` times the sign of the rate.

    Parameters
    ----------
    rate : expression
        A velocity, such as that of a joint, affine in the velocities.
    loss : number or expression
        The force or torque while it moves.
    static : number or expression
        The largest one while it rests; `loss` by default.

    Examples
    --------
    >>> import dalembert as da
    >>> phi = da.coordinates("phi")
    >>> hinge = da.friction_loss(phi.dot, 0.5, name="hinge")
    >>> wheel = da.System([phi], kinetic=phi.dot**2/2, constraints=[hinge])
    >>> motion = da.simulate(wheel, {phi.dot: 1}, (0, 3))
    >>> round(motion.modes[-1].time, 9), motion.modes[-1].mode
    (2.0, 'sticks')
    """
    limit = as_expression(loss)
    ratio = ONE if static is None else as_expression(static) / limit
    return FrictionLimit(as_expression(rate), name, {}, ONE, ratio, (), limit)
