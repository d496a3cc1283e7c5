r"""The structure algorithm: how often requirements must be differentiated until inputs occur.

Along x_dot = f + g u the requirement h(x, t) = 0 is replaced, again and again, by the law

    e = h_dot + k h = L_f h + h_t + k h + (L_g h) u = 0,

which lets h decay with the rate k where it does not vanish. If L_g h = 0, e is a function of state
and time again and takes the place of h. If L_g h adds to the rank of the rows that are found
already, e = a + D u is a new row. If L_g h = c D depends on them, e - c (a + D u) contains no input
and takes the place of h: the rows are held exactly, so that it vanishes with e (Silverman and
Singh's structure algorithm, with decay). A requirement that takes r differentiations is the end of
a chain with the polynomial (s + k)^r; the differential-algebraic equations of requirement, state
and input have the index max r + 1. What is not held by the chains, n - sum r states, moves on its
own: the internal dynamics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import sympy

from ...algebra.simplify.simplifier import lowest_terms
from ...errors import ModelError
from ...runtime.gauss.constrained_solve import rank
from .affine import AffineField, Instants, small_solve

__all__ = ["Chain", "Inversion", "invert"]

#: Expressions with more operations are left as they are.
LONG = 1500
EFFORT = 40_000


@dataclass
class Chain:
    """A requirement: levels h_0, ..., h_(r-1), and the row a + D u = 0 at their end."""

    name: str
    rate: sympy.Expr
    levels: list[sympy.Expr]
    right: sympy.Expr = sympy.S.Zero
    row: sympy.MatrixBase = field(default_factory=lambda: sympy.zeros(1, 0))
    mixed: bool = False

    @property
    def degree(self) -> int:
        """How many differentiations it takes until an input answers."""
        return len(self.levels)


@dataclass(frozen=True)
class Inversion:
    """The rows a + D u = 0 that hold the requirements.

    Attributes
    ----------
    chains : tuple of Chain
        One for each independent requirement.
    redundant : tuple of str
        Requirements that follow from the others.
    first_rank : int
        The rank of the rows in which inputs appear for the first time; smaller than the number of
        requirements where the inputs reach some of them through the same combination only.
    right : sympy.Matrix (m x 1)
        a(x, t).
    matrix : sympy.Matrix (m x k)
        D(x, t).
    """

    chains: tuple[Chain, ...]
    redundant: tuple[str, ...]
    first_rank: int
    right: sympy.MatrixBase
    matrix: sympy.MatrixBase
    instants: Instants = field(repr=False)

    @property
    def levels(self) -> list[sympy.Expr]:
        """Every function that vanishes where the requirements are held."""
        return [h for chain in self.chains for h in chain.levels]


def invert(
    dynamics: AffineField,
    requirements: Sequence[tuple[str, sympy.Expr, sympy.Expr]],
    near: Mapping[str, float] | None = None,
) -> Inversion:
    """Rows of the inputs that hold requirements (name, expression, rate).

    Where inputs reach several of them through the same combination, one of them is chosen to be
    answered at once: the one that it moves most at the place `near`, and the first of them without
    such a place.

    Raises
    ------
    ModelError
        Where inputs cannot answer for all of them, with the rank that was seen; where two
        contradict each other.
    """
    instants = Instants(near)
    pending = [Chain(name, rate, [h]) for name, h, rate in requirements]
    done: list[Chain] = []
    redundant: list[str] = []
    firsts: list[sympy.MatrixBase] = []
    while pending:
        rest: list[Chain] = []
        for chain in pending:
            _check_state(chain, dynamics, done, len(requirements) - len(redundant))
            h = chain.levels[-1]
            chain.right = dynamics.along_drift(h) + chain.rate * h
            chain.row = dynamics.along_fields(h)
        for chain in _strongest_first(pending, instants):
            h = chain.levels[-1]
            seen = not all(instants.vanishing(entry).holds_to_rounding for entry in chain.row)
            if seen and not chain.mixed:
                chain.mixed = True
                firsts.append(chain.row)
            if seen and instants.rank([*(c.row for c in done), chain.row]) > len(done):
                chain.right = _short(chain.right)
                done.append(chain)
                continue
            following = chain.right
            if seen:
                following = chain.right - _combination(chain.row, done, instants)
            following = _short(following)
            if instants.vanishing(following).holds_to_rounding:
                redundant.append(chain.name)
                continue
            chain.levels.append(following)
            rest.append(chain)
        pending = rest
    order = {name: k for k, (name, _, _) in enumerate(requirements)}
    done.sort(key=lambda chain: order[chain.name])
    columns = len(dynamics.inputs)
    matrix = sympy.Matrix.vstack(sympy.zeros(0, columns), *(c.row for c in done))
    right = sympy.Matrix([c.right for c in done])
    rank_first = instants.rank(firsts)
    return Inversion(tuple(done), tuple(redundant), rank_first, right, matrix, instants)


def _check_state(chain: Chain, dynamics: AffineField, done: Sequence[Chain], wanted: int) -> None:
    """Check that a level contains the state, and that the chain is not longer than the state."""
    h = chain.levels[-1]
    if not h.has(*dynamics.symbols):
        raise ModelError(
            f"The requirement `{chain.name}` contradicts the motion or the other requirements",
            f"after {chain.degree - 1} differentiations {sympy.sstr(h)[:80]} = 0 is left, without"
            " any symbol of the state",
            "write it in the coordinates and velocities, or remove one of the requirements",
        )
    if chain.degree > len(dynamics.symbols) or len(done) == len(dynamics.inputs):
        raise ModelError(
            f"The actuators cannot hold the requirement `{chain.name}`",
            f"rank {len(done)} of the {wanted} that the requirements need, with"
            f" {len(dynamics.inputs)} actuators, after {chain.degree - 1} differentiations of it",
            "add an actuator that moves it, or drop a requirement",
        )


def _strongest_first(chains: Sequence[Chain], instants: Instants) -> list[Chain]:
    """Chains in the order in which inputs move their last levels at the named place."""
    if not instants.has_place:
        return list(chains)

    def strength(chain: Chain) -> float:
        moved = float(np.max(np.abs(instants.here(list(chain.row))), initial=0.0))
        return moved if np.isfinite(moved) else 0.0

    return sorted(chains, key=lambda chain: -strength(chain))


def _combination(row: sympy.MatrixBase, done: Sequence[Chain], instants: Instants) -> sympy.Expr:
    """c a with c D = row: what is subtracted to remove the inputs."""
    matrix = sympy.Matrix.vstack(*(c.row for c in done))
    value = instants(list(matrix), matrix.rows)[0]
    if instants.has_place:
        here = instants.here(list(matrix), matrix.rows)
        is_full = np.all(np.isfinite(here)) and rank(here, 1e-9).rank == matrix.rows
        value = here if is_full else value
    columns = [int(k) for k in rank(value.T, 1e-9).independent]
    square = matrix.extract(list(range(matrix.rows)), columns)
    right = row.extract([0], columns)
    factors = small_solve(square.T, right.T)
    terms = [_short(factor) * c.right for factor, c in zip(factors, done, strict=True)]
    return sum(terms, sympy.S.Zero)


def _short(expression: sympy.Expr) -> sympy.Expr:
    """A shorter form where it is little work."""
    short = expression.count_ops() <= LONG
    return lowest_terms(expression) if short else expression
