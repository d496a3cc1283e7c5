"""Rigid bodies, and points and frames that are fixed on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import sympy

from ...errors import ModelError
from ..symbols import as_expression, as_matrix
from .vectors import IDENTITY, Rotated, Rotation, Triple, add, as_rotation, as_triple

if TYPE_CHECKING:
    from ...typing import Expression, Matrix
    from .shapes import Geometry

__all__ = ["Body", "Frame", "Place", "Point", "as_frame", "ground", "inertia"]

ZERO = sympy.Integer(0)
GROUND = "ground"
#: Principal moments may break the triangle inequality by this share, for rounded figures of files.
ROUNDED = 1e-6


def inertia(
    xx: Expression,
    yy: Expression,
    zz: Expression,
    xy: Expression = 0,
    xz: Expression = 0,
    yz: Expression = 0,
) -> sympy.ImmutableDenseMatrix:
    """A tensor of inertia from its moments and products (xy is the entry, not its negative).

    >>> inertia(1, 2, 3, xy=0.1)[0, 1]
    0.100000000000000
    """
    return sympy.ImmutableDenseMatrix(as_matrix([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))


@dataclass(frozen=True, init=False)
class Body:
    """A rigid body with a frame of its own, in which everything on it is given.

    Parameters
    ----------
    name : str
    mass : expression
    com : three expressions
        The centre of mass in the frame of the body.
    inertia : 3 x 3 matrix, or three principal moments
        About the centre of mass, along the axes of the body (or of `inertia_axes`).
    inertia_axes : rotation
        The frame in which `inertia` is given, where it is not that of the body.
    shapes : geometry primitives, see `box`, `cylinder`, `ball`, `capsule`, `line`, `trace`
        How the body looks.
    check : bool
        Whether impossible numbers (a negative mass, moments that no distribution of mass has) are
        an error. False goes on with them.

    Examples
    --------
    >>> import dalembert as da
    >>> arm = da.bodies.Body("arm", mass=2, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    >>> arm.point((0, 0, -1)).position
    (0, 0, -1)
    """

    name: str
    mass: sympy.Expr
    com: Triple
    inertia: sympy.ImmutableDenseMatrix
    shapes: tuple[Geometry, ...] = field(compare=False, repr=False)

    def __init__(
        self,
        name: str,
        mass: Expression = 0,
        com: Sequence[Expression] = (0, 0, 0),
        inertia: Matrix | Sequence[Expression] | None = None,
        *,
        inertia_axes: Rotated = None,
        shapes: Sequence[Geometry] = (),
        check: bool = True,
    ) -> None:
        if not isinstance(name, str) or not name.isidentifier():
            raise ModelError("A body needs an identifier as its name", seen=repr(name))
        tensor = _tensor(inertia, name)
        turned = as_rotation(inertia_axes)
        if not turned.is_identity:
            axes = sympy.Matrix(turned.rows)
            tensor = sympy.ImmutableDenseMatrix(axes * tensor * axes.T)
        values = {
            "name": name,
            "mass": as_expression(mass),
            "com": as_triple(com, f"centre of mass of `{name}`"),
            "inertia": tensor,
            "shapes": tuple(shapes),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        if check:
            _check_possible(self)

    @property
    def is_ground(self) -> bool:
        """Whether this is the frame in which everything moves."""
        return self.name == GROUND

    def point(self, position: Sequence[Expression], name: str = "") -> Point:
        """A point that is fixed on the body."""
        return Point(self, as_triple(position, f"point on `{self.name}`"), name)

    def frame(
        self, at: Sequence[Expression] = (0, 0, 0), rotation: Rotated = None, name: str = ""
    ) -> Frame:
        """A frame that is fixed on the body."""
        return Frame(self, as_triple(at, f"frame on `{self.name}`"), as_rotation(rotation), name)


def ground(shapes: Sequence[Geometry] = ()) -> Body:
    """The frame in which everything moves.

    >>> ground().is_ground
    True
    """
    return Body(GROUND, shapes=shapes)


@dataclass(frozen=True)
class Point:
    """A point on a body; `Body.point` makes it.

    >>> Body("arm").point((0, 0, 1)).body.name
    'arm'
    """

    body: Body
    position: Triple
    name: str = ""


@dataclass(frozen=True)
class Frame:
    """A frame on a body: its origin and axes in the frame of the body; `Body.frame` makes it.

    >>> Body("arm").frame((0, 0, 1)).rotation.is_identity
    True
    """

    body: Body
    position: Triple = (ZERO, ZERO, ZERO)
    rotation: Rotation = IDENTITY
    name: str = ""

    def moved(self, at: Triple, rotation: Rotation) -> Frame:
        """A frame given in this one."""
        return Frame(
            self.body,
            add(self.position, self.rotation.applied(at)),
            self.rotation @ rotation,
            self.name,
        )


#: What a joint or a force is attached to.
Place: TypeAlias = "Body | Point | Frame"


def as_frame(place: Place, what: str) -> Frame:
    """A body, a point or a frame as a frame."""
    match place:
        case Frame():
            return place
        case Point():
            return Frame(place.body, place.position, IDENTITY, place.name)
        case Body():
            return Frame(place)
    raise ModelError(
        f"{what} is attached to a body, or to a point or a frame on it",
        seen=type(place).__name__,
        remedy="pass Body(...), body.point(...) or body.frame(...)",
    )


def _tensor(given: Any, name: str) -> sympy.ImmutableDenseMatrix:
    if given is None:
        return sympy.ImmutableDenseMatrix(sympy.zeros(3, 3))
    matrix = as_matrix(given)
    if matrix.shape in ((3, 1), (1, 3)):
        matrix = sympy.diag(*matrix)
    if matrix.shape != (3, 3):
        raise ModelError(
            f"The inertia of `{name}` must be 3 x 3, or three principal moments", seen=matrix.shape
        )
    if matrix != matrix.T:
        raise ModelError(
            f"The inertia of `{name}` is not symmetric",
            seen=matrix.tolist(),
            remedy="give the same product of inertia on both sides of the diagonal",
        )
    return sympy.ImmutableDenseMatrix(matrix)


def _check_possible(body: Body) -> None:
    """Raise ModelError where no distribution of mass has these numbers.

    The principal moments A <= B <= C of a body are sums of two of the three second moments of its
    mass, which are not negative: A >= 0 and C <= A + B.
    """
    remedy = "correct the figures, or pass check=False to go on with them"
    if body.mass.is_number and body.mass < 0:
        raise ModelError(f"The mass of `{body.name}` is negative", seen=body.mass, remedy=remedy)
    if any(not entry.is_number for entry in body.inertia):
        return
    import numpy as np

    tensor = np.array(body.inertia.tolist(), dtype=float)
    size = float(abs(tensor).max()) or 1.0
    moments = np.linalg.eigvalsh(tensor / size)
    slack = ROUNDED * max(abs(moments).max(), 0.0)
    seen = "principal moments " + ", ".join(f"{moment * size:.6g}" for moment in moments)
    if moments[0] < -slack:
        raise ModelError(
            f"The inertia of `{body.name}` is impossible: a principal moment is negative",
            seen=seen,
            remedy=remedy,
        )
    if moments[2] > moments[0] + moments[1] + slack:
        raise ModelError(
            f"The inertia of `{body.name}` is impossible: one principal moment exceeds the sum of"
            " the other two",
            seen=seen,
            remedy=remedy,
        )
