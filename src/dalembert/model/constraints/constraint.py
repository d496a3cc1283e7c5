"""What every kind of constraint is: the data of a constraint, and what the library asks of a kind.

A constraint is data: an expression that must vanish (or not be positive), a name, and, for a
nonideal one, the generalised force whose virtual work it does. Formulations differentiate it, in
the algebra they are run on.

The reaction of an ideal constraint with velocity row A does no work on the virtual displacements A
dq = 0 (Chetaev's rule where the constraint is nonlinear in the velocities). A nonideal one does the
work of `work` on them (Udwadia and Kalaba): the reaction is then C + A^T mu with the prescribed
generalised force C.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import sympy

from ...errors import DalembertError, FileError, ModelError
from ..frozen_table import FrozenTable
from ..symbols import Coordinate, Momentum, Velocity, as_expression, t

if TYPE_CHECKING:
    from ...algebra.protocol import Algebra, Block
    from ...typing import Condition
    from ..system import System
    from ..system_reader import Reader

__all__ = ["CONTACT_KEYS", "LIMIT_KEYS", "Constraint", "EntryReader", "Place", "vanishing"]


#: What model files state of contacts alone.
CONTACT_KEYS = (
    "restitution",
    "friction",
    "static_friction",
    "tangent",
    "tangential_restitution",
    "law",
)
#: What model files state of friction limits alone.
LIMIT_KEYS = ("normal", "load", "second")


class Place(NamedTuple):
    """An expression of a constraint, the symbols it may contain, and what to do with others."""

    expression: sympy.Expr
    symbols: tuple[type[sympy.Symbol], ...]
    remedy: str


class EntryReader(Protocol):
    """What a kind may ask about the table that states a constraint in a model file."""

    def __contains__(self, key: str) -> bool:
        """Whether the table has a key."""

    def expression(self, key: str, default: float = 0) -> sympy.Expr:
        """The expression under a key."""

    def expressions(self, key: str) -> tuple[sympy.Expr, ...]:
        """The expression or the list of expressions under a key; none where it is missing."""

    def text(self, key: str, default: str) -> str:
        """The text under a key."""

    def by_coordinate(self, key: str) -> Mapping[Any, sympy.Expr]:
        """The expressions by coordinate under a key."""

    def value(self, expression: sympy.Expr) -> float | None:
        """The number that the parameters of the file give an expression, or None."""

    def fault(self, kind: type[DalembertError], what: str, **parts: str) -> None:
        """Add a fault; `what` names the constraint by ``{where}``."""


@dataclass(frozen=True)
class Constraint:
    """An expression that must vanish along the motion.

    A kind of constraint is a subclass, listed in `dalembert.model.constraints.kinds`. Its class
    attributes and methods say all that the rest of the library asks of the kind.

    Attributes
    ----------
    expression : sympy.Expr
        The left side; the right side is zero.
    name : str
        What results and messages call it; a `System` names the nameless ones ``c1``, ``c2``, ...
    work : mapping of coordinate to expression
        The generalised force C whose virtual work a nonideal constraint does; empty for an ideal
        one.
    """

    expression: sympy.Expr
    name: str = ""
    work: Mapping[Any, sympy.Expr] = field(default_factory=FrozenTable)

    #: The name of the kind in model files and reports.
    kind: ClassVar[str]
    #: The symbols that the constraint restricts: each must contain one of them.
    restricts: ClassVar[type[sympy.Symbol]]
    #: The kind in a sentence.
    wording: ClassVar[str]
    #: What to write where the expression contains symbols that have no place in it.
    remedy: ClassVar[str]
    #: The relation of the expression to zero.
    relation: ClassVar[str] = "="
    #: Whether the constraint is a row of Gauss's problem at every instant.
    gives_row: ClassVar[bool] = True
    #: Whether a model file lists it under `constraints`.
    is_listed: ClassVar[bool] = True
    #: Keys of other kinds in a model file, with what is wrong and what to do.
    foreign_keys: ClassVar[Mapping[str, tuple[str, str]]] = {
        key: (f"has a {key.replace('_', ' ')} and is not one-sided", "state it with <= or >=")
        for key in CONTACT_KEYS
    } | {key: (f"has a {key} and no friction limit", f"remove {key}") for key in LIMIT_KEYS}

    @property
    def is_ideal(self) -> bool:
        """Whether the reaction does no virtual work."""
        return not self.work

    @property
    def is_position_level(self) -> bool:
        """Whether it is a row that ties positions: g(q, t) = 0."""
        return self.gives_row and self.restricts is Coordinate

    @property
    def is_velocity_level(self) -> bool:
        """Whether it is a row written in velocities: f(q, q_dot, t) = 0."""
        return self.gives_row and self.restricts is Velocity

    @property
    def is_momentum_level(self) -> bool:
        """Whether it is a row written in momenta: phi(p, q, t) = 0."""
        return self.gives_row and self.restricts is Momentum

    @property
    def is_one_sided(self) -> bool:
        """Whether it bounds its expression instead of keeping it at zero."""
        return self.relation != "="

    def named(self, name: str) -> Constraint:
        """The same constraint under another name."""
        return replace(self, name=name)

    # -- what it states ----------------------------------------------------------------------------

    def conditions(self) -> tuple[sympy.Expr, ...]:
        """The expressions that the condition itself is stated by."""
        return (self.expression,)

    def expressions(self) -> Iterator[sympy.Expr]:
        """Every expression of the constraint."""
        yield self.expression
        yield from self.work.values()

    def places(self) -> Iterator[Place]:
        """Its expressions besides `work`, with the symbols that they may contain."""
        yield Place(self.expression, (Coordinate, self.restricts), self.remedy)

    def faults(self) -> Iterator[DalembertError]:
        """What is wrong with it by itself: it must restrict what it is about."""
        if not self.expression.atoms(self.restricts):
            on_positions = self.expression.atoms(Coordinate)
            yield ModelError(
                f"The constraint `{self.name}` contains no {self.restricts.__name__.lower()}",
                seen=f"{self.expression} = 0",
                remedy=(
                    "use holonomic(...) for a constraint on positions"
                    if on_positions
                    else "remove it, or write the condition it stands for"
                ),
            )

    # -- what follows from it ----------------------------------------------------------------------

    def velocity_residual(self, system: System, algebra: Algebra, momenta: Block | None) -> Block:
        """What must vanish at velocity level, f(q, q_dot, t), (1 x 1).

        That is g_q q_dot + g_t on positions, f itself on velocities, and phi(p, q, t) on momenta,
        with `momenta` p(q, q_dot, t) in the place of p where they are given.
        """
        residual = algebra.vector([self.expression])
        if self.is_position_level:
            q, v = algebra.vector(system.coordinates), algebra.vector(system.velocities)
            return algebra.along(residual, q, v) + algebra.jacobian(residual, algebra.vector([t]))
        if self.is_momentum_level and momenta is not None:
            return algebra.substitute(residual, algebra.vector(system.momenta), momenta)
        return residual

    # -- reading and writing -----------------------------------------------------------------------

    def read(self, reader: Reader, name: str) -> Constraint:
        """The constraint in the symbols of a system."""
        return replace(self, **self._read(reader, name, f"constraint `{name}`"))

    def _read(self, reader: Reader, name: str, where: str) -> dict[str, Any]:
        work = {}
        for key, value in self.work.items():
            q = reader.coordinate(key, f"work of {where}")
            if q is not None:
                work[q] = reader.expression(value, f"work of {where}")
        expression = reader.expression(self.expression, where)
        return {"name": name, "expression": expression, "work": FrozenTable(work)}

    @classmethod
    def is_stated_by(cls, relation: str, symbols: Collection[type[sympy.Symbol]]) -> bool:
        """Whether a model file that names no kind means this one.

        Parameters
        ----------
        relation : "equality" or "at most"
        symbols : of `Velocity` and `Momentum`, those that occur
        """
        return False

    @classmethod
    def from_entry(cls, expression: sympy.Expr, name: str, entry: EntryReader) -> Constraint:
        """The constraint that an entry of a model file states."""
        cls._check_keys(entry)
        return cls(expression, name, entry.by_coordinate("work"))

    @classmethod
    def _check_keys(cls, entry: EntryReader) -> None:
        for key, (wrong, remedy) in cls.foreign_keys.items():
            if key in entry:
                entry.fault(FileError, f"`{{where}}` {wrong}", remedy=remedy)

    def entry(self) -> dict[str, Any]:
        """What a model file states of it besides the relation, the name and the work.

        Each value is an expression, a tuple of expressions, or a text.
        """
        return {}


def vanishing(condition: Condition) -> sympy.Expr:
    """The expression that an equation or an expression wants to vanish."""
    if isinstance(condition, sympy.Equality):
        return condition.lhs - condition.rhs
    if isinstance(condition, sympy.core.relational.Relational):
        raise ModelError(
            "A two-sided constraint must be an expression or an equation",
            seen=condition,
            remedy="use unilateral(...)",
        )
    return as_expression(condition) if isinstance(condition, (int, float)) else condition
