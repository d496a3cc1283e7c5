"""What a motion must obey: constraints on positions, velocities, momenta, images of speeds, and one-sided ones.

A constraint is data: an expression that must vanish (or not be positive), a name, and, for a nonideal one, the
generalised force whose virtual work it does. Nothing is differentiated here; the formulations do that, in the algebra
they are run on.

The reaction of an ideal constraint with velocity row A does no work on the virtual displacements A dq = 0 (Chetaev's
rule where the constraint is nonlinear in the velocities). A nonideal one does the work of `work` on them (Udwadia and
Kalaba): the reaction is then C + A^T mu with the prescribed generalised force C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import sympy

from ..errors import ModelError
from ..typing import Condition, Expression, Matrix, Symbols, Values
from .frozen_table import FrozenTable
from .symbols import Speed, as_expression, as_matrix

__all__ = [
    "Constraint",
    "HolonomicConstraint",
    "ImageConstraint",
    "MomentumConstraint",
    "UnilateralConstraint",
    "VelocityConstraint",
    "holonomic",
    "image",
    "momentum",
    "unilateral",
    "velocity",
]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Constraint:
    """An expression that must vanish along the motion.

    Attributes
    ----------
    expression : sympy.Expr
        The left side; the right side is zero.
    name : str
        What results and messages call it; a `System` names the nameless ones ``c1``, ``c2``, ...
    work : mapping of coordinate to expression
        The generalised force C whose virtual work a nonideal constraint does; empty for an ideal one.
    """

    expression: sympy.Expr
    name: str = ""
    work: Mapping[Any, sympy.Expr] = field(default_factory=FrozenTable)

    @property
    def is_ideal(self) -> bool:
        """Whether the reaction does no virtual work."""
        return not self.work

    def named(self, name: str) -> Constraint:
        """The same constraint under another name."""
        return replace(self, name=name)


@dataclass(frozen=True)
class HolonomicConstraint(Constraint):
    """g(q, t) = 0."""


@dataclass(frozen=True)
class VelocityConstraint(Constraint):
    """f(q, q_dot, t) = 0: linear, affine or nonlinear in the velocities."""


@dataclass(frozen=True)
class MomentumConstraint(Constraint):
    """phi(p, q, t) = 0 (Udwadia's form)."""


@dataclass(frozen=True)
class UnilateralConstraint(Constraint):
    """g(q, t) <= 0, with Newton's restitution when it is reached."""

    restitution: sympy.Expr = ZERO


@dataclass(frozen=True)
class ImageConstraint(Constraint):
    """q_dot = E(q, t) u: the velocities as combinations of speeds (Moreau and van der Schaft, image representation).

    Attributes
    ----------
    speeds : tuple of Speed
        The speeds u. They may be more than the freedom they span.
    velocities : mapping of coordinate to expression
        q_dot for every coordinate, linear in the speeds.
    """

    expression: sympy.Expr = ZERO
    speeds: tuple[Speed, ...] = ()
    velocities: Mapping[Any, sympy.Expr] = field(default_factory=dict)


def _vanishing(condition: Any) -> Any:
    """The expression that an equation or an expression wants to vanish."""
    if isinstance(condition, sympy.Equality):
        return condition.lhs - condition.rhs
    if isinstance(condition, sympy.core.relational.Relational):
        raise ModelError(
            "A two-sided constraint must be an expression or an equation", seen=condition, remedy="use unilateral(...)"
        )
    return as_expression(condition) if isinstance(condition, (int, float)) else condition


def holonomic(condition: Condition, name: str = "", *, work: Values | None = None) -> HolonomicConstraint:
    """The constraint g(q, t) = 0 on positions.

    >>> from dalembert.model.symbols import coordinates
    >>> x, y = coordinates("x y")
    >>> holonomic(x**2 + y**2 - 1, name="circle").name
    'circle'
    """
    return HolonomicConstraint(_vanishing(condition), name, FrozenTable(work or {}))


def velocity(condition: Condition, name: str = "", *, work: Values | None = None) -> VelocityConstraint:
    """The constraint f(q, q_dot, t) = 0 on velocities, by Chetaev's rule where it is nonlinear in them.

    >>> from dalembert.model.symbols import coordinates
    >>> x, y, theta = coordinates("x y theta")
    >>> velocity(x.dot*sympy.sin(theta) - y.dot*sympy.cos(theta), name="blade").expression
    x_dot*sin(theta) - y_dot*cos(theta)
    >>> velocity(sympy.Eq(x.dot, 3*y.dot)).expression
    x_dot - 3*y_dot
    """
    return VelocityConstraint(_vanishing(condition), name, FrozenTable(work or {}))


def momentum(condition: Condition, name: str = "", *, work: Values | None = None) -> MomentumConstraint:
    """The constraint phi(p, q, t) = 0 on canonical momenta (Udwadia, eq. 2).

    >>> from dalembert.model.symbols import coordinates
    >>> x, y, z = coordinates("x y z")
    >>> momentum(z**2*x.momentum - y.momentum, name="blade").expression
    p_x*z**2 - p_y
    """
    return MomentumConstraint(_vanishing(condition), name, FrozenTable(work or {}))


def unilateral(condition: Condition, restitution: Expression = 0, name: str = "") -> UnilateralConstraint:
    """The one-sided constraint g(q, t) <= 0, or a SymPy relation that says which side is allowed.

    `restitution` is the ratio of the normal speeds after and before an impact, from 0 to 1.

    >>> from dalembert.model.symbols import coordinates
    >>> height = coordinates("h")
    >>> unilateral(height >= 0, restitution=0.5, name="floor").expression
    -h
    """
    if isinstance(condition, (sympy.Le, sympy.Lt)):
        expression = condition.lhs - condition.rhs
    elif isinstance(condition, (sympy.Ge, sympy.Gt)):
        expression = condition.rhs - condition.lhs
    else:
        expression = _vanishing(condition)
    value = as_expression(restitution)
    if value.is_number and not 0 <= float(value) <= 1:
        raise ModelError(
            f"The restitution of the one-sided constraint `{name or expression}` must lie between 0 and 1",
            seen=restitution,
            remedy="0 is a plastic and 1 an elastic impact",
        )
    return UnilateralConstraint(expression, name, {}, value)


def image(
    velocities: Values | Matrix,
    speeds: Sequence[Speed] = (),
    name: str = "image",
    *,
    coordinates: Symbols = (),
) -> ImageConstraint:
    """The constraint q_dot = E(q, t) u with speeds u.

    Parameters
    ----------
    velocities : mapping, matrix or sequence
        Either ``{coordinate: expression linear in the speeds}``, or the matrix E (n x k) with `coordinates`.
    speeds : sequence of Speed
        The speeds; made as ``u1``, ``u2``, ... where a matrix comes without them.

    >>> from dalembert.model.symbols import coordinates, speeds
    >>> x, y = coordinates("x y")
    >>> u = speeds("u")
    >>> image({x: u, y: 2*u}, [u]).speeds
    (u,)
    """
    if isinstance(velocities, Mapping):
        columns = tuple(speeds)
        table = {key: as_expression(value) for key, value in velocities.items()}
    else:
        matrix = as_matrix(velocities)
        columns = tuple(speeds) or tuple(Speed(f"u{k + 1}") for k in range(matrix.cols))
        if len(coordinates) != matrix.rows or len(columns) != matrix.cols:
            raise ModelError(
                "The image matrix must have a row for each coordinate and a column for each speed",
                seen=f"{matrix.rows} x {matrix.cols} for {len(coordinates)} coordinates and {len(columns)} speeds",
                remedy="pass coordinates=[...] and speeds=[...] of these lengths",
            )
        table = dict(zip(coordinates, matrix * sympy.Matrix(columns), strict=True))
    if not columns:
        raise ModelError("An image constraint needs its speeds", remedy="pass speeds=[u1, ...]")
    return ImageConstraint(sympy.Integer(0), name, FrozenTable(), columns, FrozenTable(table))
