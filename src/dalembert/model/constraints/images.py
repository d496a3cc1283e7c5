"""Image constraints: velocities as combinations of speeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import DalembertError, ModelError
from ...typing import Matrix, Symbols, Values
from ..frozen_table import FrozenTable
from ..symbols import Coordinate, Speed, as_expression, as_matrix
from .constraint import Constraint, Place

if TYPE_CHECKING:
    from ..system_reader import Reader

__all__ = ["KIND", "ImageConstraint", "image", "is_linear"]

ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class ImageConstraint(Constraint):
    """q_dot = E(q, t) u: velocities as combinations of speeds (Moreau and van der Schaft).

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

    kind, restricts, wording = "image", Speed, "on velocities"
    remedy = "write it in coordinates, speeds, parameters and t"
    gives_row = is_listed = False

    def conditions(self) -> tuple[sympy.Expr, ...]:
        return tuple(self.velocities.values())

    def expressions(self) -> Iterator[sympy.Expr]:
        yield from super().expressions()
        yield from self.velocities.values()

    def places(self) -> Iterator[Place]:
        for value in self.velocities.values():
            yield Place(value, (Coordinate, Speed), self.remedy)

    def faults(self) -> Iterator[DalembertError]:
        for q, value in self.velocities.items():
            if not is_linear(value, self.speeds):
                yield ModelError(
                    f"The velocity of `{q}` in the image `{self.name}` must be linear in the"
                    " speeds without a rest",
                    seen=value,
                    remedy="use velocity(...) for affine and nonlinear constraints",
                )

    def _read(self, reader: Reader, name: str, where: str) -> dict[str, Any]:
        changes = super()._read(reader, name, where)
        table = {
            reader.coordinate(key, where): reader.expression(value, where)
            for key, value in self.velocities.items()
        }
        missing = [q.name for q in reader.coordinates if q not in table]
        if missing:
            what = f"The image `{name}` gives no velocity for {', '.join(missing)}"
            reader.faults.add(what, remedy="give one for each")
        full = FrozenTable({q: table.get(q, ZERO) for q in reader.coordinates})
        return changes | {"velocities": full}


KIND = ImageConstraint


def is_linear(value: sympy.Expr, symbols: Sequence[sympy.Symbol]) -> bool:
    """Whether an expression is linear and homogeneous in some symbols."""
    if any(sympy.diff(value, symbol).has(*symbols) for symbol in symbols):
        return False
    rest = value.xreplace(dict.fromkeys(symbols, sympy.S.Zero))
    return bool(rest == 0 or sympy.expand(rest) == 0)


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
        Either ``{coordinate: expression linear in the speeds}``, or the matrix E (n x k) with
        `coordinates`.
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
                seen=(
                    f"{matrix.rows} x {matrix.cols} for {len(coordinates)} coordinates and"
                    f" {len(columns)} speeds"
                ),
                remedy="pass coordinates=[...] and speeds=[...] of these lengths",
            )
        table = dict(zip(coordinates, matrix * sympy.Matrix(columns), strict=True))
    if not columns:
        raise ModelError("An image constraint needs its speeds", remedy="pass speeds=[u1, ...]")
    return ImageConstraint(ZERO, name, FrozenTable(), columns, FrozenTable(table))
