r"""Global frames of the directions that affine constraints allow, found without a division.

The constraints A(q, t) v + b(q, t) = 0 fall apart into blocks of rows that share velocities. In a
block with r rows the velocities D are solved for,

    |D| = r       with det A_D nowhere zero:  v_D = -A_D^-1 (A_k v_k + b),
    |D| = r + 1   with m . m nowhere zero:    v_D = m w - A_D^T (A_D A_D^T)^-1 (A_k v_k + b),

where m are the signed minors of A_D without their common factors, so that A_D m = 0, and
w = m . v_D / (m . m) is a new speed. The velocities v_k stay independent. A row with a velocity
that no other row contains, and whose coefficient is nowhere zero, is solved for it after the
others, so that a steered wheel does not enter the speed of the body behind it. For a blade,
A = (sin theta, -cos theta), m = (cos theta, sin theta) and w is the speed along it. That an
expression is nowhere zero is proved (`algebra/signs.py`), or the frame is not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, islice

import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.signs import nowhere_zero
from ..algebra.simplify.simplifier import (
    expand_angles,
    expansion_size,
    lowest_terms,
    simplify,
)
from ..algebra.tree import TreeAlgebra
from ..errors import FormError
from ..model.symbols import Parameter
from ..model.system import System
from .constraint_equations import velocity_level
from .constraint_jacobian import constraint_rows
from .forms import lagrange
from .reduction.kernel_frame import oriented, signed_minors
from .velocity_splits import Split, choose_split, steady_columns

__all__ = ["VelocityFrame", "global_frame"]

#: The largest problem that is looked at: velocities, rows of a block, sets D in it, operations of
#: all constraints and of the coefficients of a block.
MOST_VELOCITIES, MOST_ROWS, MOST_SETS, MOST_OPERATIONS, MOST_IN_BLOCK = 30, 4, 40, 400, 40
#: The least determinant of the columns that are solved for, of rows of length one, at most generic
#: states: velocities lose as many digits as it is small.
LEAST_DETERMINANT = 1e-6
#: The most terms of the sum of the squares of minors that is shown to vanish nowhere.
MOST_TERMS = 50


@dataclass(frozen=True)
class VelocityFrame:
    """Speeds w of a form and the velocities v = V(q, w, t) on the constraints.

    Attributes
    ----------
    speeds, rates : tuples of symbols (k,)
        w, some of which may be velocities of coordinates, and w_dot.
    definition : tuple of expressions (k,)
        w as functions of q, v and t; empty where it is not known.
    rows : tuple of int
        The places of the constraints that are solved.
    velocities : tuple of expressions (n,) or None
        V, where it is known without solving.
    solved : tuple of int
        The places of the velocities D that move with the values of the constraints while the speeds
        stay; all of them where it is empty.
    last : tuple of (int, int)
        Places of a row among `rows` and of the velocity that it is solved for after the others.
    split : Split or None
        How the constraints are solved first, where they are not affine in all velocities.
    is_implicit : bool
        Whether V is not written out: the state has all velocities.
    is_steady : bool
        Whether it is proved to be as good at every state.
    """

    speeds: tuple[sympy.Symbol, ...]
    rates: tuple[sympy.Symbol, ...]
    definition: tuple[sympy.Expr, ...]
    rows: tuple[int, ...]
    velocities: tuple[sympy.Expr, ...] | None = None
    solved: tuple[int, ...] = ()
    last: tuple[tuple[int, int], ...] = ()
    split: Split | None = None
    is_implicit: bool = False
    is_steady: bool = False

    @property
    def freedom(self) -> int:
        """The number of speeds."""
        return len(self.speeds)


def global_frame(system: System) -> VelocityFrame | None:
    """A frame that is regular at every state, where a partition of the velocities is not.

    None where there is no constraint, where the constraints are not affine in the velocities, where
    the partition of the velocities cannot degenerate either, or where no frame is proved to be
    global.
    """
    return system.cache.get("global frame", lambda: _found(system))


def _found(system: System) -> VelocityFrame | None:
    if system.image is not None or not 0 < len(system.coordinates) <= MOST_VELOCITIES:
        return None
    try:
        split = choose_split(system)
    except FormError:
        return None
    if split.is_steady or split.is_implicit or not split.dependent:
        return None
    algebra = TreeAlgebra()
    by_momenta = any(c.is_momentum_level for c in system.bilateral)
    momenta = lagrange.lagrangian_and_momenta(system, algebra)[1] if by_momenta else None
    residual = algebra.part(velocity_level(system, algebra, momenta).residual, split.rows, [0])
    v = algebra.vector(system.velocities)
    if sum(entry.count_ops() for entry in residual) > MOST_OPERATIONS:
        return None
    matrix = algebra.jacobian(residual, v).applyfunc(lowest_terms)
    if matrix.free_symbols & set(system.velocities):
        return None
    rest = algebra.substitute(residual, v, algebra.zeros(len(v))).applyfunc(lowest_terms)
    steady = steady_columns(system)
    blocks: list[_Block] = []
    for rows, places in _components(matrix, range(matrix.rows)):
        found = _blocks(matrix, rest, rows, places, steady)
        if found is None:
            return None
        blocks += found
    if not _is_well_scaled(system, split, blocks):
        return None
    return _joined(system, split, matrix, rest, blocks)


def _is_well_scaled(system: System, split: Split, blocks: Iterable[_Block]) -> bool:
    """Whether no block is solved for velocities whose coefficients are too small in its rows."""
    samples = np.array(constraint_rows(system).generic().samples)
    for block in blocks:
        if block.direction is None:
            rows = samples[:, [split.rows[row] for row in block.rows]]
            sizes = np.abs(np.linalg.det(rows[:, :, block.solved]))
            if np.median(sizes) < LEAST_DETERMINANT:
                return False
    return True


@dataclass(frozen=True)
class _Block:
    """The velocities D (`solved`) of some rows, and the direction m in them, if |D| = r + 1."""

    rows: list[int]
    solved: list[int]
    direction: list[sympy.Expr] | None
    is_regular: bool
    is_last: bool = False


def _components(matrix: sympy.Matrix, among: Iterable[int]) -> list[tuple[list[int], list[int]]]:
    """Rows that share velocities, with these."""
    found: list[tuple[set[int], set[int]]] = []
    for row in among:
        rows, places = {row}, {k for k in range(matrix.cols) if matrix[row, k] != 0}
        for other in [pair for pair in found if pair[1] & places]:
            found.remove(other)
            rows, places = rows | other[0], places | other[1]
        found.append((rows, places))
    return [(sorted(rows), sorted(places)) for rows, places in found]


def _blocks(
    matrix: sympy.Matrix,
    rest: sympy.Matrix,
    rows: list[int],
    places: list[int],
    steady: set[int],
) -> list[_Block] | None:
    """How the rows of a component are solved, in an order in which each uses earlier ones."""
    whole = _block(matrix, rest, rows, places, steady)
    if whole is not None and whole.direction is None:
        return [whole]
    last, left = _solved_last(matrix, rows)
    if last:
        first = [_block(matrix, rest, few, own, steady) for few, own in _components(matrix, left)]
        if all(block is not None for block in first):
            return [*(block for block in first if block is not None), *last]
    return None if whole is None else [whole]


def _solved_last(matrix: sympy.Matrix, rows: list[int]) -> tuple[list[_Block], list[int]]:
    """Rows that one velocity of their own is solved for, in order, and the rows before them."""
    found, left = list[_Block](), list(rows)

    def own(row: int) -> list[int]:
        others = [other for other in left if other != row]
        return [
            k
            for k in range(matrix.cols)
            if matrix[row, k] != 0
            and all(matrix[other, k] == 0 for other in others)
            and nowhere_zero(matrix[row, k])
        ]

    while len(left) > 1:
        pair = next(((row, k) for row in left for k in own(row)[-1:]), None)
        if pair is None:
            break
        found.insert(0, _Block([pair[0]], [pair[1]], None, True, True))
        left.remove(pair[0])
    return found, left


def _block(
    matrix: sympy.Matrix,
    rest: sympy.Matrix,
    rows: list[int],
    places: list[int],
    steady: set[int],
) -> _Block | None:
    """A set D that is good everywhere; one whose coefficients do not depend on the state first."""
    count = len(rows)
    if count > MOST_ROWS or len(places) < count:
        return None
    if sum(int(entry.count_ops()) for entry in matrix.extract(rows, places)) > MOST_IN_BLOCK:
        return None
    ordered = sorted(places, key=lambda k: (k not in steady, -k))
    for chosen in islice(combinations(ordered, count), MOST_SETS):
        inside = matrix.extract(rows, sorted(chosen))
        if nowhere_zero(lowest_terms(inside.det(method="berkowitz"))):
            return _Block(rows, sorted(chosen), None, True)
    within = []
    for chosen in islice(combinations(places, count + 1), MOST_SETS):
        inside = matrix.extract(rows, list(chosen))
        direction = _direction(inside)
        if direction is None:
            continue
        regular = nowhere_zero(lowest_terms((inside * inside.T).det(method="berkowitz")))
        alone = len(places) == count + 1 and all(rest[row] == 0 for row in rows)
        if regular or alone:
            within.append(_Block(rows, list(chosen), direction, regular))
    return min(within, key=_length, default=None)


def _length(block: _Block) -> int:
    return sum(int(entry.count_ops()) for entry in block.direction or [])


def _direction(inside: sympy.Matrix) -> list[sympy.Expr] | None:
    """The signed minors without common factors, if they nowhere vanish together."""
    minors = signed_minors(inside)
    if sum(expansion_size(entry) ** 2 for entry in minors) > MOST_TERMS:
        return None
    present = [expand_angles(entry) for entry in minors if entry != 0]
    if not present:
        return None
    circular = sorted(set().union(*(e.atoms(sympy.sin, sympy.cos) for e in present)), key=str)
    plain = {wave: sympy.Dummy() for wave in circular}
    back = {symbol: wave for wave, symbol in plain.items()}
    try:
        common = reduce(sympy.gcd, [entry.xreplace(plain) for entry in present])
        kept = [
            lowest_terms(sympy.cancel(expand_angles(e).xreplace(plain) / common).xreplace(back))
            for e in minors
        ]
    except sympy.PolynomialError:
        kept = minors
    if not nowhere_zero(lowest_terms(sympy.Add(*(entry**2 for entry in kept)))):
        return None
    return oriented(kept)


def _joined(
    system: System,
    split: Split,
    matrix: sympy.Matrix,
    rest: sympy.Matrix,
    blocks: list[_Block],
) -> VelocityFrame | None:
    """The frame of all blocks, if the oracle proves that it obeys the constraints."""
    v = list(system.velocities)
    values: list[sympy.Expr] = list(v)
    solved = {place for block in blocks for place in block.solved}
    taken = {s.name for s in _symbols_of(system)}
    speeds: dict[int, tuple[sympy.Symbol, sympy.Symbol, sympy.Expr]] = {
        k: (v[k], q.ddot, v[k]) for k, q in enumerate(system.coordinates) if k not in solved
    }
    for block in blocks:
        inside = matrix.extract(block.rows, block.solved)
        others = [k for k in range(len(v)) if k not in block.solved]
        known = sympy.Matrix(len(others), 1, [values[k] for k in others])
        carried = matrix.extract(block.rows, others) * known
        driven = carried + rest.extract(block.rows, [0])
        if block.direction is None:
            found = -inside.LUsolve(driven)
        elif any(entry != 0 for entry in driven):
            found = -inside.T * (inside * inside.T).LUsolve(driven)
        else:
            found = sympy.zeros(len(block.solved), 1)
        for number, place in enumerate(block.solved):
            values[place] = simplify(found[number])
        if block.direction is not None:
            name = _name([system.coordinates[k].name for k in block.solved], taken)
            taken |= {name, f"{name}_dot"}
            speed, m = Parameter(name), [simplify(entry) for entry in block.direction]
            along = sympy.Add(*(e * v[k] for e, k in zip(m, block.solved, strict=True)))
            square = simplify(sympy.Add(*(e**2 for e in m)))
            speeds[block.solved[0]] = (speed, Parameter(f"{name}_dot"), along / square)
            for entry, place in zip(m, block.solved, strict=True):
                values[place] += entry * speed
    order = sorted(speeds)
    frame = VelocityFrame(
        speeds=tuple(speeds[k][0] for k in order),
        rates=tuple(speeds[k][1] for k in order),
        definition=tuple(speeds[k][2] for k in order),
        rows=split.rows,
        velocities=tuple(values),
        solved=tuple(sorted(solved - {block.solved[0] for block in blocks if block.is_last})),
        last=tuple((block.rows[0], block.solved[0]) for block in blocks if block.is_last),
        is_steady=all(block.is_regular for block in blocks),
    )
    return frame if _obeys(matrix, rest, frame) else None


def _obeys(matrix: sympy.Matrix, rest: sympy.Matrix, frame: VelocityFrame) -> bool:
    """Whether A V + b vanishes identically, by the structure oracle."""
    algebra = GraphAlgebra()
    assert frame.velocities is not None
    left = matrix * sympy.Matrix(frame.velocities) + rest
    return algebra.vanishing(algebra.vector(list(left))).is_proved


def _symbols_of(system: System) -> set[sympy.Symbol]:
    every = (*system.coordinates, *system.velocities, *system.momenta, *system.parameters)
    named = {Parameter(name) for name in (*system.outputs, "t", "energy")}
    return {*every, *system.inputs, *(q.ddot for q in system.coordinates), *named}


def _name(coordinates: Sequence[str], taken: set[str]) -> str:
    """``v_`` and the coordinates that move with the speed; numbered where that is taken or long."""
    joined = f"v_{''.join(coordinates)}"
    candidates = [joined] if len(joined) <= 12 else []
    candidates += [f"v_{k}" for k in range(1, len(taken) + 3)]
    return next(name for name in candidates if name not in taken and f"{name}_dot" not in taken)
