"""Closed contacts as two-sided constraints: what a mode of a run derives its equations from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import sympy

from ..symbols import Coordinate, Velocity
from .constraint import Constraint, Place
from .on_positions import HolonomicConstraint

ZERO = sympy.Integer(0)

__all__ = ["ContactPhase", "SlidingContact", "SlidingFriction"]

#: The phases of a closed contact with friction by their word in a mode: the leading direction.
_LEADING = {"sticks": 0, "slips+1": 1, "slips-1": -1, "slips+2": 2, "slips-2": -2}
FOLLOWS, WITHOUT, STARTS = "sticks with ", "sticks without ", "starts "
REVERSED = " reversed"
_WORDS = {leading: word for word, leading in _LEADING.items()}


class ContactPhase(NamedTuple):
    """A closed contact and what it does in its tangent plane.

    Attributes
    ----------
    name : str
    leading : int or None
        None without friction, 0 where it sticks; where it slips, the number of the tangent
        direction in which it does so fastest, with the sign of that velocity.
    leader : str
        Where it sticks and its tangent velocity depends on that of another contact which sticks:
        that one, which carries the friction of both.
    start : tuple of two floats or None
        Where a slip in space has just begun: the angle of its direction, which stays as it is until
        the slip has reached a speed.
    side : 1 or -1
        Where its load is the reaction of a two-sided constraint: -1 if the multiplier of that is
        positive. One-sided constraints push with a negative one.
    carried : tuple of int
        Where it sticks: the numbers of the tangent directions that other closed contacts hold
        already, and in which it has no friction of its own.
    """

    name: str
    leading: int | None = None
    leader: str = ""
    start: tuple[float, float] | None = None
    side: int = 1
    carried: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """The entry of a mode."""
        end = REVERSED if self.side < 0 else ""
        if self.leader:
            return f"{self.name} {FOLLOWS}{self.leader}"
        if self.carried:
            return f"{self.name} {WITHOUT}{' '.join(map(str, self.carried))}"
        if self.start is not None:
            return f"{self.name} {STARTS}{self.start[0]!r} {self.start[1]!r}{end}"
        return self.name if self.leading is None else f"{self.name} {_WORDS[self.leading]}{end}"

    def is_carried_by_others(self, directions: int) -> bool:
        """Whether other contacts hold all of its tangent directions."""
        return bool(self.leader) or 0 < len(self.carried) == directions

    @classmethod
    def of(cls, label: str, name: str) -> ContactPhase | None:
        """The phase of a contact that an entry of a mode says, or None if it is another's.

        >>> ContactPhase.of("floor slips-1", "floor")
        ContactPhase(name='floor', leading=-1, leader='', start=None, side=1, carried=())
        """
        if label == name:
            return cls(name)
        word = label.removeprefix(f"{name} ")
        if word != label and word.startswith(FOLLOWS):
            return cls(name, 0, word.removeprefix(FOLLOWS))
        if word != label and word.startswith(WITHOUT):
            return cls(name, 0, carried=tuple(map(int, word.removeprefix(WITHOUT).split())))
        side = -1 if word.endswith(REVERSED) else 1
        word = word.removesuffix(REVERSED)
        if word != label and word.startswith(STARTS):
            angle, speed = map(float, word.removeprefix(STARTS).split())
            return cls(name, 1, start=(angle, speed), side=side)
        if word == label or word not in _LEADING:
            return None
        return cls(name, _LEADING[word], side=side)


@dataclass(frozen=True)
class SlidingContact(HolonomicConstraint):
    """A closed contact that slips: its reaction is A^T mu with Coulomb's friction along.

    With the normal force N = -mu and the slip w(q, q_dot, t), (k,), the friction is the generalised
    force -c N W^T w / |w|, with W = w_v. It is written in the ratios of w to its leading component,
    w / |w| = sign (1, r) / sqrt(1 + r^2), which is smooth where w passes through zero.

    Attributes
    ----------
    friction : sympy.Expr
    tangent : tuple of expressions
    leading : int
        Number and sign of the leading component of w.
    angle : float or None
        The direction of the friction where a slip in space has just begun, in place of that of w.
    """

    friction: sympy.Expr = ZERO
    tangent: tuple[sympy.Expr, ...] = ()
    leading: int = 1
    angle: float | None = None

    def expressions(self) -> Iterator[sympy.Expr]:
        yield from super().expressions()
        yield from (self.friction, *self.tangent)

    def places(self) -> Iterator[Place]:
        yield from super().places()
        for value in (self.friction, *self.tangent):
            yield Place(value, (Coordinate, Velocity), self.remedy)


@dataclass(frozen=True)
class SlidingFriction(Constraint):
    """The friction of a slip w that a friction limit does not hold; it gives no row.

    With the load N, the friction is the generalised force -c N W^T w / |w|, with W = w_v. N is
    -side mu of the constraint `normal`, the norm |mu| of several, or `load`.

    Attributes
    ----------
    friction, tangent, leading, angle : as of `SlidingContact`
    normal : tuple of str
    load : sympy.Expr
    side : 1 or -1
    """

    friction: sympy.Expr = ZERO
    tangent: tuple[sympy.Expr, ...] = ()
    leading: int = 1
    angle: float | None = None
    normal: tuple[str, ...] = ()
    load: sympy.Expr = ZERO
    side: int = 1

    kind, restricts, wording = "friction", Velocity, "slipping"
    remedy = "write it in coordinates, velocities (q.dot), parameters and t"
    gives_row = is_listed = False

    def expressions(self) -> Iterator[sympy.Expr]:
        yield from super().expressions()
        yield from (self.friction, self.load, *self.tangent)
