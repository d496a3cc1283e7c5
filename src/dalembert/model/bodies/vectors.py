"""Vectors of three expressions and rotations between frames.

A vector is a tuple of three SymPy expressions. A rotation matrix has the axes of the new frame, in
components of the old one, as its columns: a vector a of the new frame is R a in the old one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import sympy

from ...errors import ModelError
from ..symbols import as_expression, as_matrix

if TYPE_CHECKING:
    from ...typing import Expression, Matrix

__all__ = [
    "IDENTITY",
    "Rotated",
    "Rotation",
    "Triple",
    "across",
    "add",
    "angles",
    "as_rotation",
    "as_triple",
    "cross",
    "dot",
    "quaternion",
    "rotation_vector",
    "scale",
    "unit_axis",
]

Triple: TypeAlias = tuple[sympy.Expr, sympy.Expr, sympy.Expr]
#: Three rows of a rotation matrix.
Rows: TypeAlias = tuple[Triple, Triple, Triple]

ZERO, ONE = sympy.Integer(0), sympy.Integer(1)
_UNITS: dict[str, Triple] = {"x": (ONE, ZERO, ZERO), "y": (ZERO, ONE, ZERO), "z": (ZERO, ZERO, ONE)}
#: Entries of a numeric rotation matrix that differ less from 0, 1 or -1 are these numbers.
_ROUNDING = 2.0**-52


def as_triple(value: Sequence[Expression], what: str) -> Triple:
    """Three numbers or expressions."""
    try:
        entries = tuple(as_expression(entry) for entry in value)
    except TypeError:
        entries = ()
    if len(entries) != 3:
        raise ModelError(f"The {what} has three components", seen=value, remedy="pass (x, y, z)")
    return entries


def add(a: Triple, b: Triple) -> Triple:
    """The sum of two vectors."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def scale(factor: Expression, a: Triple) -> Triple:
    """A vector times a scalar."""
    return (factor * a[0], factor * a[1], factor * a[2])


def dot(a: Triple, b: Triple) -> sympy.Expr:
    """The inner product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Triple, b: Triple) -> Triple:
    """The vector product."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


def unit_axis(axis: str | Sequence[Expression]) -> Triple:
    """A unit vector from "x", "-y", ... or from three components of any length.

    >>> unit_axis("-y"), unit_axis((0, 3, 4))
    ((0, -1, 0), (0, 3/5, 4/5))
    """
    if isinstance(axis, str):
        unsigned = axis.removeprefix("-")
        if unsigned not in _UNITS:
            raise ModelError(
                "There is no such axis",
                seen=repr(axis),
                remedy='use "x", "y", "z" or three numbers',
            )
        return scale(-ONE if axis.startswith("-") else ONE, _UNITS[unsigned])
    given = as_triple(axis, "axis")
    length = sympy.sqrt(sum((entry**2 for entry in given), ZERO))
    if length == 0:
        raise ModelError("An axis has a direction", seen=axis, remedy="pass a vector that is not 0")
    return _exact(scale(ONE / length, given))


def _products(rows: Rows, vector: Triple) -> Triple:
    x, y, z = rows
    return (dot(x, vector), dot(y, vector), dot(z, vector))


def _exact(vector: Triple) -> Triple:
    """A vector without the rounding of numbers next to 0, 1 and -1."""
    return tuple(_near(entry) for entry in vector)  # type: ignore[return-value]


def _near(entry: sympy.Expr) -> sympy.Expr:
    if isinstance(entry, sympy.Float):
        for number in (0, 1, -1):
            if abs(float(entry) - number) <= _ROUNDING:
                return sympy.Integer(number)
    return entry


@dataclass(frozen=True)
class Rotation:
    """A rotation between two frames; `angles`, `quaternion` and `rotation_vector` make it.

    Attributes
    ----------
    rows : three rows of the matrix R
        A vector a of the turned frame has the components R a in the other one.

    Examples
    --------
    >>> import dalembert as da
    >>> turned = da.bodies.angles("z", sympy.pi / 2)
    >>> turned.applied((1, 0, 0)), turned.inverse.applied((1, 0, 0))
    ((0, 1, 0), (0, -1, 0))
    """

    rows: Rows

    @property
    def inverse(self) -> Rotation:
        """The rotation back: the transposed matrix."""
        return Rotation(tuple(zip(*self.rows, strict=True)))  # type: ignore[arg-type]

    @property
    def columns(self) -> Rows:
        """The axes of the turned frame."""
        return self.inverse.rows

    def applied(self, vector: Sequence[Expression]) -> Triple:
        """R a."""
        a = as_triple(vector, "vector")
        return _products(self.rows, a)

    def __matmul__(self, other: Rotation) -> Rotation:
        columns = other.columns
        x, y, z = (_products(columns, row) for row in self.rows)
        return Rotation((x, y, z))

    @property
    def is_identity(self) -> bool:
        """Whether nothing is turned."""
        return self == IDENTITY


IDENTITY = Rotation((_UNITS["x"], _UNITS["y"], _UNITS["z"]))
#: How a rotation may be given: a `Rotation`, or a 3 x 3 matrix.
Rotated: TypeAlias = "Rotation | Matrix | None"


def turn(axis: Triple, cosine: sympy.Expr, sine: sympy.Expr) -> Rotation:
    """The rotation about a unit axis, R = c 1 + (1 - c) a a^T + s [a]x (Rodrigues)."""
    rows = []
    skew = (
        (ZERO, -axis[2], axis[1]),
        (axis[2], ZERO, -axis[0]),
        (-axis[1], axis[0], ZERO),
    )
    for i in range(3):
        row = []
        for j in range(3):
            along = axis[i] * axis[j]
            entry = along + cosine * ((ONE if i == j else ZERO) - along) + sine * skew[i][j]
            row.append(_near(entry))
        rows.append((row[0], row[1], row[2]))
    return Rotation((rows[0], rows[1], rows[2]))


def cosine_and_sine(angle: sympy.Expr) -> tuple[sympy.Expr, sympy.Expr]:
    """cos and sin, exact for numbers next to multiples of pi/2."""
    if isinstance(angle, sympy.Float):
        value = float(angle)
        return _near(sympy.Float(math.cos(value))), _near(sympy.Float(math.sin(value)))
    return sympy.cos(angle), sympy.sin(angle)


def angles(sequence: str, *values: Expression) -> Rotation:
    """A rotation by angles about axes that turn with the frame, in any sequence.

    ``angles("zyx", yaw, pitch, roll)`` turns about z, then about the new y, then about the new x.
    The same rotation about fixed axes has the sequence and the angles in reverse order.

    >>> angles("zx", 0, sympy.pi).rows
    ((1, 0, 0), (0, -1, 0), (0, 0, -1))
    """
    if len(sequence) != len(values) or any(axis not in _UNITS for axis in sequence):
        raise ModelError(
            "A sequence names one axis, x, y or z, for each angle",
            seen=f"{sequence!r} and {len(values)} angles",
            remedy='write angles("zyx", yaw, pitch, roll), say',
        )
    found = IDENTITY
    for axis, value in zip(sequence, values, strict=True):
        found = found @ turn(_UNITS[axis], *cosine_and_sine(as_expression(value)))
    return found


def quaternion(w: Expression, x: Expression, y: Expression, z: Expression) -> Rotation:
    """The rotation of a quaternion w + x i + y j + z k of any norm.

    >>> quaternion(1, 0, 0, 1).applied((1, 0, 0))
    (0, 1, 0)
    """
    parts = tuple(as_expression(part) for part in (w, x, y, z))
    norm = sum((part**2 for part in parts), ZERO)
    if norm == 0:
        raise ModelError("A quaternion of norm 0 is no rotation", remedy="pass (1, 0, 0, 0), say")
    a, b, c, d = parts
    two = 2 / norm
    return Rotation(
        (
            (ONE - two * (c * c + d * d), two * (b * c - a * d), two * (b * d + a * c)),
            (two * (b * c + a * d), ONE - two * (b * b + d * d), two * (c * d - a * b)),
            (two * (b * d - a * c), two * (c * d + a * b), ONE - two * (b * b + c * c)),
        )
    )


def rotation_vector(x: Expression, y: Expression, z: Expression) -> Rotation:
    """The rotation about the direction of a vector, by its length in radians.

    >>> rotation_vector(0, 0, sympy.pi).applied((1, 2, 3))
    (-1, -2, 3)
    """
    given = as_triple((x, y, z), "rotation vector")
    length = sympy.sqrt(sum((entry**2 for entry in given), ZERO))
    if length == 0:
        return IDENTITY
    return turn(_exact(scale(ONE / length, given)), *cosine_and_sine(length))


def as_rotation(value: Rotated) -> Rotation:
    """A rotation from what a user may write."""
    if value is None:
        return IDENTITY
    if isinstance(value, Rotation):
        return value
    matrix = as_matrix(value)
    if matrix.shape != (3, 3):
        raise ModelError(
            "A rotation is a 3 x 3 matrix",
            seen=matrix.shape,
            remedy="pass angles(...), quaternion(...) or rotation_vector(...)",
        )
    x, y, z = (_exact(tuple(matrix.row(k))) for k in range(3))
    found = Rotation((x, y, z))
    numbers = matrix if not matrix.free_symbols else None
    if numbers is not None:
        error = (numbers * numbers.T - sympy.eye(3)).norm()
        if float(error) > 1e-6 or float(numbers.det()) < 0:
            raise ModelError(
                "The matrix is no rotation",
                seen=f"R R^T differs from 1 by {float(error):.2g}",
                remedy="pass orthonormal axes of a right-handed frame as columns",
            )
    return found


def across(axis: Triple) -> tuple[Triple, Triple]:
    """Two unit vectors across an axis."""
    places = [k for k, entry in enumerate(axis) if entry != 0]
    if len(places) == 1:
        units = [unit_axis(axis) for axis in "xyz"]
        return units[(places[0] + 1) % 3], units[(places[0] + 2) % 3]
    numbers = [abs(float(entry)) if entry.is_number else 1.0 for entry in axis]
    least = min(range(3), key=lambda k: numbers[k])
    first = unit_axis(cross(axis, unit_axis("xyz"[least])))
    return first, cross(axis, first)
