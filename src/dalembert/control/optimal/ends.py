r"""The ends of a control problem: which symbols are given, which are free, and what relations leave of both.

At the start the unknowns are the costates of the symbols that are given, and the symbols that are free, whose costates vanish.
At the end the symbols that are given must be met, and the costates of the others vanish (transversality). Where the symbols
obey relations g(x) = 0, costates are chosen in the kernel of g_x: the rest of them moves nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, StartError
from ...model.symbols import t
from ...runtime.gauss.constrained_solve import rank, solve
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

    start: Any
    end: Any
    start_fixed: Any
    end_fixed: Any
    end_rows: Any


class Relations:
    """What the symbols obey, with numbers."""

    def __init__(self, problem: ControlProblem, symbols: Any, numbers: Any, span: tuple[float, float]) -> None:
        self.symbols, self.n = problem.symbols, len(problem.symbols)
        self.count = len(problem.relations)
        algebra = GraphAlgebra()
        column, x = algebra.vector(problem.relations), algebra.vector(problem.symbols)
        inputs = [x, algebra.vector(symbols), algebra.vector([t])]
        self._function = ca.Function("relations", inputs, [column, algebra.jacobian(column, x)])
        self._numbers, self._time = numbers, span[0]

    def at(self, place: Any) -> tuple[Any, Any]:
        """Residuals (k,) and derivatives (k, n)."""
        values, derivatives = self._function(place, self._numbers, self._time)
        return np.asarray(values, dtype=float).ravel(), np.asarray(derivatives, dtype=float).reshape(self.count, self.n)

    def frame(self, place: Any) -> Any:
        """An orthonormal basis (n, d) of the directions that the relations leave."""
        return np.eye(self.n) if not self.count else rank(self.at(place)[1], SMALL).null_space

    def converged(self, state: Any, arrived: Any) -> Any:
        """Symbols and costates (2n,) with the symbols moved to the relations, and costates across them from another state."""
        place, costate = state[: self.n].copy(), state[self.n :]
        for _ in range(4):
            values, derivatives = self.at(place)
            place += solve(np.eye(self.n), np.zeros(self.n), derivatives, -values).z
        frame = self.frame(place)
        across = arrived[self.n :]
        return np.concatenate([place, across + frame @ (frame.T @ (costate - across))])

    def check(self, place: Any, where: str) -> None:
        values, _ = self.at(place)
        worst = float(np.max(np.abs(values), initial=0.0))
        if not worst <= BROKEN:
            raise StartError(
                f"The {where} breaks a relation of the symbols",
                seen=f"a residual of {worst:.3g} (limit {BROKEN:g})",
                remedy="give values that obey the constraints of the model",
            )


def ends_of(problem: ControlProblem, start: Any, end: Any, free: Sequence[Any], relations: Relations) -> Ends:
    first, last = problem.values(start, "start"), problem.values(end, "end")
    loose = [getattr(key, "name", str(key)) for key in ([free] if isinstance(free, (str, sympy.Symbol)) else free)]
    loose = [problem.other_names.get(name, name) for name in loose]
    names = [symbol.name for symbol in problem.symbols]
    unknown = [name for name in loose if name not in names]
    missing = [name for name in names if name not in first and name not in loose]
    if unknown or missing:
        raise StartError(
            f"`{unknown[0]}` is no symbol of the model" if unknown else f"The start of `{missing[0]}` is missing",
            seen=", ".join(names if unknown else first),
            remedy="use one of these names" if unknown else f"give it, or make it free: free=[{missing[0]!r}]",
        )
    begin = np.array([first.get(name, 0.0) for name in names])
    arrive = np.array([last.get(name, value) for name, value in zip(names, begin, strict=True)])
    start_fixed, end_fixed = np.array([name not in loose for name in names]), np.array([name in last for name in names])
    if relations.count:
        relations.check(begin, "start")
        relations.check(arrive, "end")
        bound = set().union(*(relation.free_symbols for relation in problem.relations))
        held = np.array([symbol in bound for symbol in problem.symbols])
        for fixed, where in ((start_fixed, "start"), (end_fixed, "end")):
            if np.any(held & ~fixed):
                raise ModelError(
                    f"Symbols that obey relations cannot be free at the {where}",
                    seen=names[int(np.argmax(held & ~fixed))],
                    remedy="give all of them, or choose independent symbols",
                )
    rows = np.eye(len(names))[end_fixed]
    if relations.count:
        # Relations bind symbols that are given alone; what is left of these directions is asked for.
        rows = rank(relations.at(arrive)[1][:, end_fixed], SMALL).null_space.T @ rows
    return Ends(begin, arrive, start_fixed, end_fixed, rows)


def boundary_of(problem: ControlProblem, ends: Ends, relations: Relations) -> Boundary:
    """Costates of fixed symbols and free symbols are unknown at the start; the rest is zero or given."""
    n = len(problem.symbols)
    tangent = relations.frame(ends.start)
    if relations.count:
        directions = np.vstack([np.zeros_like(tangent), tangent])
        loose = np.flatnonzero(~ends.start_fixed)
        if loose.size:
            keep = np.all(np.abs(tangent[loose]) < 1e-12, axis=0)
            directions = np.hstack([directions[:, keep], np.eye(2 * n)[:, loose]])
    else:
        directions = np.array([np.eye(2 * n)[n + k if ends.start_fixed[k] else k] for k in range(n)]).T
    fixed = ends.end_fixed

    def missed(state: Any) -> tuple[Any, Any]:
        values = np.where(fixed, state[:n] - ends.end, state[n:])
        derivatives = np.zeros((n, 2 * n))
        derivatives[np.arange(n), np.where(fixed, np.arange(n), n + np.arange(n))] = 1.0
        return values, derivatives

    return Boundary(np.concatenate([ends.start, np.zeros(n)]), directions, missed)
