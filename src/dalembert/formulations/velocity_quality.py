"""How far the speeds of a form are from degenerating, and the multipliers that they leave out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy

from .velocity_frames import VelocityFrame
from .velocity_splits import Split

if TYPE_CHECKING:
    from ..algebra.protocol import Block
    from .independent_velocities import Reduction

__all__ = ["row_multipliers", "speed_quality"]


def speed_quality(on: Reduction, rows: Block) -> Any:
    """How well speeds and constraints determine the velocities: 1 is best, 0 not at all.

    The squared determinant of the dependent columns, or of all rows, each of length one.
    """
    algebra, choice = on.algebra, on.choice
    one, every = algebra.scalar(sympy.Integer(1)), range(len(on.system.coordinates))
    if (choice.is_steady and isinstance(choice, VelocityFrame)) or (
        not choice.rows and not _is_stated(choice)
    ):
        return one
    solved = algebra.part(rows, choice.rows, every)
    if isinstance(choice, Split):
        columns = algebra.part(solved, range(len(choice.rows)), choice.dependent)
        return _volume(algebra, algebra.determinant(columns) ** 2, solved)
    if choice.velocities is not None:
        quality = _volume(algebra, algebra.determinant(solved @ solved.T), solved)
        if choice.definition:
            return quality
        gram = algebra.determinant(on.frame.T @ on.frame)
        return quality * _volume(algebra, gram, on.frame.T)
    whole = algebra.stack([on.here(algebra.jacobian(on.given, on.v)), solved])
    quality = _volume(algebra, algebra.determinant(whole) ** 2, whole)
    if choice.split is not None and choice.rows:
        columns = algebra.part(solved, range(len(choice.rows)), choice.split.dependent)
        quality = quality * _volume(algebra, algebra.determinant(columns) ** 2, solved)
    return quality


def row_multipliers(on: Reduction, rows: Block, reaction: Block) -> Any:
    """mu with A^T mu = reaction, from the dependent coordinates; zero for dependent rows."""
    algebra, choice = on.algebra, on.choice
    count = len(on.system.bilateral)
    if not choice.rows:
        return algebra.zeros(count)
    if isinstance(choice, Split):
        solved = algebra.part(rows, choice.rows, choice.dependent).T
        found = algebra.solve_square(solved, algebra.part(reaction, choice.dependent, [0]))
    else:
        solved = algebra.part(rows, choice.rows, range(len(on.system.coordinates)))
        found = algebra.solve(solved @ solved.T, solved @ reaction)
    last = len(choice.rows)
    places = [choice.rows.index(k) if k in choice.rows else last for k in range(count)]
    return algebra.part(algebra.stack([found, algebra.zeros(1)]), places, [0])


def _is_stated(choice: Split | VelocityFrame) -> bool:
    return isinstance(choice, VelocityFrame) and choice.velocities is None


def _volume(algebra: Any, square: Any, rows: Any) -> Any:
    """A squared determinant for rows of length one."""
    for k in range(rows.shape[0]):
        row = algebra.part(rows, [k], range(rows.shape[1])).T
        square = square / algebra.inner(row, row)
    return square
