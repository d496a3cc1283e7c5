"""One-sided constraints: contacts, with friction where it is stated."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import sympy

from ...errors import DalembertError, ModelError
from ...typing import Condition, Expression
from ..names import shortened
from ..symbols import Coordinate, Velocity, as_expression
from .constraint import Constraint, EntryReader, Place, vanishing
from .friction_limits import affine_faults
from .held_contacts import ContactPhase, SlidingContact
from .on_positions import HolonomicConstraint
from .on_velocities import TangentConstraint

if TYPE_CHECKING:
    from ..system_reader import Reader

__all__ = ["IMPACT_LAWS", "KIND", "UnilateralConstraint", "unilateral"]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
RANGE = "must lie between 0 and 1"
IMPACTS = "0 is a plastic and 1 an elastic impact"
#: Laws of impact: Newton's in rounds of contacts that approach, Poisson's and Moreau's for all
#: contacts that touch at once.
IMPACT_LAWS = ("newton", "poisson", "moreau")
SLIDING = "write the velocity of the contact point in coordinates, velocities, parameters and t"


@dataclass(frozen=True)
class UnilateralConstraint(Constraint):
    """g(q, t) <= 0, with restitution when it is reached, and Coulomb friction while it is closed.

    Attributes
    ----------
    restitution, tangential_restitution : expressions of parameters
    friction, static_friction : expressions
        The coefficients while the contact slips and while it sticks.
    tangent : tuple of one or two expressions
        The velocity of the contact point in the tangent plane, affine in the velocities.
    law : one of `IMPACT_LAWS`
    anisotropy : expression of parameters
        The friction in the second tangent direction by that in the first. `tangent` has its second
        velocity times this, so that the cone of the forces conjugate to it is circular.
    """

    restitution: sympy.Expr = ZERO
    friction: sympy.Expr = ZERO
    static_friction: sympy.Expr = ZERO
    tangent: tuple[sympy.Expr, ...] = ()
    tangential_restitution: sympy.Expr = ZERO
    law: str = "newton"
    anisotropy: sympy.Expr = ONE

    kind, restricts, wording = "unilateral", Coordinate, "one-sided"
    remedy = HolonomicConstraint.remedy
    relation, gives_row = "<=", False
    foreign_keys: ClassVar = {"work": ("is one-sided and has work", "remove work")}

    @property
    def has_friction(self) -> bool:
        """Whether friction was stated."""
        return bool(self.tangent)

    def held(self, phase: ContactPhase | None = None) -> tuple[Constraint, ...]:
        """The two-sided constraints that a closed contact is, in a phase; without friction if None.

        A contact that slips is one row, whose reaction brings its friction along; a contact that
        sticks has a row for each tangent direction as well.
        """
        leading = None if phase is None else phase.leading
        if phase is None or leading is None or phase.leader:
            return (HolonomicConstraint(self.expression, self.name),)
        if leading:
            angle = None if phase.start is None else phase.start[0]
            slides = (self.friction, self.tangent, leading, angle)
            return (SlidingContact(self.expression, self.name, {}, *slides),)
        rows = [
            TangentConstraint(value, f"{self.name}_tangent{k}", {}, self.name)
            for k, value in enumerate(self.tangent, start=1)
            if k not in phase.carried
        ]
        return (HolonomicConstraint(self.expression, self.name), *rows)

    def expressions(self) -> Iterator[sympy.Expr]:
        yield from super().expressions()
        yield self.restitution
        yield from (self.friction, self.static_friction, self.tangential_restitution)
        yield from (self.anisotropy, *self.tangent)

    def places(self) -> Iterator[Place]:
        yield from super().places()
        for value in (self.restitution, self.tangential_restitution, self.anisotropy):
            yield Place(value, (), "use numbers and parameters only")
        for value in (self.friction, self.static_friction):
            yield Place(value, (Coordinate, Velocity), "use coordinates, velocities and parameters")
        for value in self.tangent:
            yield Place(value, (Coordinate, Velocity), SLIDING)

    def faults(self) -> Iterator[DalembertError]:
        yield from super().faults()
        name = self.name
        if self.friction != 0 and not self.tangent:
            yield ModelError(
                f"The one-sided constraint `{name}` has friction and no tangent",
                seen=f"friction = {self.friction}",
                remedy="give tangent= the velocity of the contact point in the tangent plane",
            )
        if len(self.tangent) > 2:
            yield ModelError(
                f"The one-sided constraint `{name}` has more than two tangent directions",
                seen=f"{len(self.tangent)}",
                remedy="give one in a plane and two in space",
            )
        yield from affine_faults(name, "tangent velocity", self.tangent, SLIDING)
        if self.law not in IMPACT_LAWS:
            yield ModelError(
                f"The impact law of `{name}` is not known",
                seen=repr(self.law),
                remedy=f"use one of {', '.join(IMPACT_LAWS)}",
            )
        elif self.law == "poisson" and self.tangential_restitution != 0:
            yield ModelError(
                f"Poisson's law has no tangential restitution, which `{name}` states",
                seen=f"tangential_restitution = {self.tangential_restitution}",
                remedy='use law="newton" or law="moreau"',
            )
        for word, value in (("friction", self.friction), ("static", self.static_friction)):
            if value.is_number and not 0 <= float(value) < float("inf"):
                yield ModelError(
                    f"The coefficient of {word} of `{name}` must not be negative",
                    seen=str(value),
                    remedy="give a number such as 0.3",
                )

    def _read(self, reader: Reader, name: str, where: str) -> dict[str, Any]:
        found = super()._read(reader, name, where)
        for key in (
            "restitution", "friction", "static_friction", "tangential_restitution", "anisotropy",
        ):  # fmt: skip
            found[key] = reader.expression(getattr(self, key), f"{key} of {where}")
        found["tangent"] = tuple(
            reader.expression(value, f"tangent of {where}") for value in self.tangent
        )
        return found

    @classmethod
    def is_stated_by(cls, relation: str, symbols: Collection[type[sympy.Symbol]]) -> bool:
        return relation == "at most"

    @classmethod
    def from_entry(cls, expression: sympy.Expr, name: str, entry: EntryReader) -> Constraint:
        cls._check_keys(entry)
        values = {}
        for key in ("restitution", "tangential_restitution"):
            values[key] = entry.expression(key)
            value = entry.value(values[key])
            if value is not None and not 0 <= value <= 1:
                what = f"The {key.replace('_', ' ')} of `{{where}}` {RANGE}"
                entry.fault(ModelError, what, seen=shortened(value), remedy=IMPACTS)
        friction = entry.expressions("friction") or (ZERO,)
        static = entry.expressions("static_friction") or friction
        rubs = _Friction.of(name, friction, static, entry.expressions("tangent"))
        return cls(
            expression,
            name,
            {},
            values["restitution"],
            rubs.kinetic,
            rubs.static,
            rubs.tangent,
            values["tangential_restitution"],
            entry.text("law", "newton"),
            rubs.anisotropy,
        )

    def entry(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key in ("restitution", "friction", "tangential_restitution"):
            if getattr(self, key) != 0:
                found[key] = getattr(self, key)
        if self.static_friction != self.friction:
            found["static_friction"] = self.static_friction
        if self.tangent:
            found["tangent"] = self.tangent
        if self.anisotropy != 1:
            first, second = self.tangent
            found["tangent"] = (first, sympy.cancel(second / self.anisotropy))
            for key in ("friction", "static_friction"):
                if key in found:
                    found[key] = (found[key], found[key] * self.anisotropy)
        if self.law != "newton":
            found["law"] = self.law
        return found


@dataclass(frozen=True)
class _Friction:
    """Friction in one or two directions, as a circular cone of scaled velocities."""

    kinetic: sympy.Expr
    static: sympy.Expr
    tangent: tuple[sympy.Expr, ...]
    anisotropy: sympy.Expr = ONE

    @classmethod
    def of(
        cls,
        name: str,
        kinetic: tuple[sympy.Expr, ...],
        static: tuple[sympy.Expr, ...],
        tangent: tuple[sympy.Expr, ...],
    ) -> _Friction:
        """Read a coefficient, or one for each of two directions."""
        if len(kinetic) == len(static) == 1:
            return cls(kinetic[0], static[0], tangent)
        if not len(kinetic) == len(static) == len(tangent) == 2:
            raise ModelError(
                f"Anisotropic friction of `{name}` has a coefficient for each of two directions",
                seen=f"{len(kinetic)} of friction, {len(static)} static, {len(tangent)} directions",
                remedy="give friction=(mu1, mu2), static_friction in the same way, and tangent="
                "(w1, w2)",
            )
        if any(value.is_number and not 0 < float(value) < float("inf") for value in kinetic):
            raise ModelError(
                f"Anisotropic friction of `{name}` must be positive in both directions",
                seen=f"friction = {kinetic}",
                remedy="state frictionless directions by a tangent of one direction",
            )
        ratio = kinetic[1] / kinetic[0]
        if sympy.simplify(static[1] * kinetic[0] - static[0] * kinetic[1]) != 0:
            raise ModelError(
                f"The static friction of `{name}` must have the same ratio in both directions as"
                " the friction",
                seen=f"friction = {kinetic}, static_friction = {static}",
                remedy="give static_friction=(s*mu1, s*mu2)",
            )
        return cls(kinetic[0], static[0], (tangent[0], ratio * tangent[1]), ratio)


KIND = UnilateralConstraint


def unilateral(
    condition: Condition,
    restitution: Expression = 0,
    name: str = "",
    *,
    friction: Expression | Sequence[Expression] = 0,
    tangent: Expression | Sequence[Expression] = (),
    static_friction: Expression | Sequence[Expression] | None = None,
    tangential_restitution: Expression = 0,
    law: str = "newton",
) -> UnilateralConstraint:
    """The one-sided constraint g(q, t) <= 0, or a SymPy relation that says which side is allowed.

    Parameters
    ----------
    condition : expression or relation
    restitution : number or parameter
        The ratio of the normal speeds after and before an impact, from 0 to 1.
    name : str
    friction : number or expression
        Coulomb's coefficient while the contact slips. The friction is at most `friction` times the
        normal force, which is measured along g: let g be a length, so that both are forces. A pair
        is anisotropic friction, (P_1 / mu_1)^2 + (P_2 / mu_2)^2 <= N^2, of largest dissipation.
    tangent : expression, or sequence of one or two
        The velocity of the contact point in the tangent plane, affine in the velocities: one
        direction for motions in a plane, two orthogonal ones in space.
    static_friction : number or expression
        The coefficient while it sticks; `friction` by default.
    tangential_restitution : number or parameter
        How much of the slip an impact that grips reverses, from 0 to 1.
    law : "newton", "poisson" or "moreau"
        What several contacts do that hit or touch at one instant; see the page on contact.

    Examples
    --------
    >>> from dalembert.model.symbols import coordinates
    >>> x, height = coordinates("x h")
    >>> unilateral(height >= 0, restitution=0.5, name="floor").expression
    -h
    >>> unilateral(height >= 0, friction=0.3, tangent=x.dot, name="floor").tangent
    (x_dot,)
    """
    if isinstance(condition, (sympy.Le, sympy.Lt)):
        expression = condition.lhs - condition.rhs
    elif isinstance(condition, (sympy.Ge, sympy.Gt)):
        expression = condition.rhs - condition.lhs
    else:
        expression = vanishing(condition)
    for word, given in (
        ("restitution", restitution),
        ("tangential restitution", tangential_restitution),
    ):
        value = as_expression(given)
        if value.is_number and not 0 <= float(value) <= 1:
            raise ModelError(
                f"The {word} of the one-sided constraint `{name or expression}` {RANGE}",
                seen=given,
                remedy=IMPACTS,
            )
    kinetic, directions = _expressions(friction), _expressions(tangent)
    static = kinetic if static_friction is None else _expressions(static_friction)
    rubs = _Friction.of(name or str(expression), kinetic, static, directions)
    return UnilateralConstraint(
        expression,
        name,
        {},
        as_expression(restitution),
        rubs.kinetic,
        rubs.static,
        rubs.tangent,
        as_expression(tangential_restitution),
        law,
        rubs.anisotropy,
    )


def _expressions(given: Expression | Sequence[Expression]) -> tuple[sympy.Expr, ...]:
    several = given if isinstance(given, Sequence) else (given,)
    return tuple(as_expression(value) for value in several)
