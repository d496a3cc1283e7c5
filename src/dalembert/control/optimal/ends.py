r"""The ends of a control problem: which symbols are given or free, and what relations leave.

At the start the unknowns are the costates of the symbols that are given, and the symbols that are
free, whose costates vanish. At the end the symbols that are given must be met, and the costates of
the others vanish (transversality). Where the symbols obey relations g(x) = 0, costates are chosen
in the kernel of g_x: the rest of them moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, StartError
from ...model.symbols import Parameter, t
from ...runtime.gauss.constrained_solve import rank, solve
from ...typing import Array, ArrayLike, BoolArray, BySymbol, Expression, Symbols
from .problem import ControlProblem
from .shooting import Boundary

__all__ = ["Ends", "Relations", "boundary_of", "ends_of"]

#: A start or an end whose relations are off by more than this breaks them.
BROKEN = 1e-8
#: Relations whose derivatives differ by less than this, relatively, are one.
SMALL = 1e-8


@dataclass(frozen=True)
class Ends:
    """What is asked of the symbols at the two ends; n symbols.

    Attributes
    ----------
    start, end : arrays (n,)
        Values; those of free symbols are guesses.
    start_fixed, end_fixed : arrays of bool (n,)
    end_rows : array (q, n)
        Combinations of the symbols that are asked for at the end: rows (x - end) = 0.
    """

    start: Array
    end: Array
    start_fixed: BoolArray
    end_fixed: BoolArray
    end_rows: Array


class Relations:
    """What the symbols obey, with numbers."""

    def __init__(
        self,
        problem: ControlProblem,
        symbols: Sequence[Parameter],
        numbers: Array,
        span: tuple[float, float],
    ) -> None:
        self.symbols, self.n = problem.symbols, len(problem.symbols)
        self.count = len(problem.relations)
        algebra = GraphAlgebra()
        column, x = algebra.vector(problem.relations), algebra.vector(problem.symbols)
        inputs = [x, algebra.vector(symbols), algebra.vector([t])]
        self._function = ca.Function("relations", inputs, [column, algebra.jacobian(column, x)])
        self._numbers, self._time = numbers, span[0]

    def at(self, place: Array) -> tuple[Array, Array]:
        """Residuals (k,) and derivatives (k, n)."""
        values, derivatives = self._function(place, self._numbers, self._time)
        matrix = np.asarray(derivatives, dtype=float).reshape(self.count, self.n)
        return np.asarray(values, dtype=float).ravel(), matrix

    def frame(self, place: Array) -> Array:
        """An orthonormal basis (n, d) of the directions that the relations leave."""
        if not self.count:
            return np.eye(self.n)
        basis: Array = rank(self.at(place)[1], SMALL).null_space
        return basis

    def converged(self, state: Array, arrived: Array) -> Array:
        """A state (2n,) on the relations, with the costates across them from another state."""
        place, costate = state[: self.n].copy(), state[self.n :]
        for _ in range(4):
            values, derivatives = self.at(place)
            place += solve(np.eye(self.n), np.zeros(self.n), derivatives, -values).z
        frame = self.frame(place)
        across = arrived[self.n :]
        return np.concatenate([place, across + frame @ (frame.T @ (costate - across))])

    def check(self, place: Array, where: str) -> None:
        values, _ = self.at(place)
        worst = float(np.max(np.abs(values), initial=0.0))
        if not worst <= BROKEN:
            raise StartError(
                f"The {where} breaks a relation of the symbols",
                f"a residual of {worst:.3g} (limit {BROKEN:g})",
                "give values that obey the constraints of the model",
            )


def ends_of(
    problem: ControlProblem,
    start: BySymbol[Expression | ArrayLike],
    end: BySymbol[Expression | ArrayLike],
    free: Symbols,
    relations: Relations,
) -> Ends:
    first, last = problem.values(start, "start"), problem.values(end, "end")
    given = [free] if isinstance(free, (str, sympy.Symbol)) else free
    loose = [getattr(key, "name", str(key)) for key in given]
    loose = [problem.other_names.get(name, name) for name in loose]
    names = [symbol.name for symbol in problem.symbols]
    unknown = [name for name in loose if name not in names]
    missing = [name for name in names if name not in first and name not in loose]
    if unknown:
        what = f"`{unknown[0]}` is no symbol of the model"
        raise StartError(what, ", ".join(names), "use one of these names")
    if missing:
        remedy = f"give it, or make it free: free=[{missing[0]!r}]"
        raise StartError(f"The start of `{missing[0]}` is missing", ", ".join(first), remedy)
    begin = np.array([first.get(name, 0.0) for name in names])
    arrive = np.array([last.get(name, value) for name, value in zip(names, begin, strict=True)])
    start_fixed = np.array([name not in loose for name in names])
    end_fixed = np.array([name in last for name in names])
    if relations.count:
        relations.check(begin, "start")
        relations.check(arrive, "end")
        bound = set().union(*(relation.free_symbols for relation in problem.relations))
        held = np.array([symbol in bound for symbol in problem.symbols])
        for fixed, where in ((start_fixed, "start"), (end_fixed, "end")):
            if np.any(held & ~fixed):
                raise ModelError(
                    f"Symbols that obey relations cannot be free at the {where}",
                    names[int(np.argmax(held & ~fixed))],
                    "give all of them, or choose independent symbols",
                )
    rows = np.eye(len(names))[end_fixed]
    if relations.count:
        # Relations bind symbols that are given alone; the directions that they leave are met.
        rows = rank(relations.at(arrive)[1][:, end_fixed], SMALL).null_space.T @ rows
    return Ends(begin, arrive, start_fixed, end_fixed, rows)


def boundary_of(problem: ControlProblem, ends: Ends, relations: Relations) -> Boundary:
    """Unknowns at the start are costates of fixed symbols and free symbols; the rest is known."""
    n = len(problem.symbols)
    tangent = relations.frame(ends.start)
    if relations.count:
        directions = np.vstack([np.zeros_like(tangent), tangent])
        loose = np.flatnonzero(~ends.start_fixed)
        if loose.size:
            keep = np.all(np.abs(tangent[loose]) < 1e-12, axis=0)
            directions = np.hstack([directions[:, keep], np.eye(2 * n)[:, loose]])
    else:
        unknown = [n + k if ends.start_fixed[k] else k for k in range(n)]
        directions = np.array([np.eye(2 * n)[k] for k in unknown]).T
    fixed = ends.end_fixed

    def missed(state: Array) -> tuple[Array, Array]:
        values = np.where(fixed, state[:n] - ends.end, state[n:])
        derivatives = np.zeros((n, 2 * n))
        derivatives[np.arange(n), np.where(fixed, np.arange(n), n + np.arange(n))] = 1.0
        return values, derivatives

    return Boundary(np.concatenate([ends.start, np.zeros(n)]), directions, missed)
