"""The nonlinear program of several phases: their programs side by side, and what joins them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...typing import Array, IntArray
from .ipopt_solution import IpoptSolution, Multipliers, RawIterate, Sides
from .nonlinear_program import Iterate, NonlinearProgram, Unknowns
from .phase_links import EndPoint, PhaseLink
from .pieces import Globals, PieceEnds
from .problem_assembly import Piece
from .problem_statement import Quantities, Range, Statement
from .schemes import Scheme

__all__ = ["JoinedIterate", "JoinedProgram", "PhasedProblem"]


@dataclass(frozen=True, eq=False)
class PhasedProblem:
    """Phases, what joins them, and cost and conditions of the whole.

    Attributes
    ----------
    statements : tuple of Statement
        Their costs are the part of the whole that is integrals with constant factors.
    links : tuple of PhaseLink
    quantities : Quantities
        The rest of the cost, then the conditions, of the start of the first phase, the end of the
        last, and parameters.
    conditions : tuple of (name, Range)
    parameters : tuple of symbols
        That `quantities` takes.
    integral_parameters : tuple of (phase, integral, symbol)
        Symbols that stand for the integrals of a phase, where the cost is not linear in them.
    """

    statements: tuple[Statement, ...]
    links: tuple[PhaseLink, ...]
    quantities: Quantities
    conditions: tuple[tuple[str, Range], ...]
    parameters: tuple[sympy.Symbol, ...]
    integral_parameters: tuple[tuple[int, sympy.Basic, sympy.Symbol], ...] = ()


@dataclass(frozen=True, eq=False)
class JoinedIterate:
    """What IPOPT returned: an iterate of each phase, and the unknowns of the links."""

    raw: RawIterate
    phases: tuple[Iterate, ...]
    links: tuple[Array, ...]
    worst: str


class JoinedProgram:
    """The program of a problem, on a mesh for each phase."""

    def __init__(
        self, problem: PhasedProblem, scheme: Scheme, meshes: Sequence[Array],
        ends: Sequence[PieceEnds], scales: Sequence[Array], options: dict[str, Any] | None = None,
        elastic: bool = False,
    ) -> None:  # fmt: skip
        self.problem, self.options, self.elastic = problem, dict(options or {}), elastic
        self.programs = [
            NonlinearProgram(statement, scheme, edges, own, scale=scale, elastic=elastic)
            for statement, edges, own, scale in zip(
                problem.statements, meshes, ends, scales, strict=True
            )
        ]
        sizes = [*(each.size for each in self.programs), *(link.size for link in problem.links)]
        self.starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self.names, self.ranges, piece = self._joint()
        self.slacks = len(self.names) if elastic else 0
        self.pieces = [
            replace(own, indices=own.indices + first)
            for program, first in zip(self.programs, self.starts, strict=False)
            for own in program.pieces
        ]
        self.pieces.append(piece)

    @property
    def size(self) -> int:
        return int(self.starts[-1]) + 2 * self.slacks

    def _places(self, k: int) -> IntArray:
        """The unknowns of a phase, or of a link."""
        return np.arange(self.starts[k], self.starts[k + 1])

    def _joint(self) -> tuple[list[str], list[Range], Piece]:
        """Links, conditions, cost of the ends, and parameters that phases share."""
        points, symbols, places = self._end_points()
        numbers: dict[str, ca.SX] = {}
        for point, _ in reversed(points):
            numbers |= dict(point.numbers)
        found: list[tuple[str, Range, ca.SX]] = []
        for k, link in enumerate(self.problem.links):
            own = ca.SX.sym(f"link{k}", link.size)
            symbols.append(own)
            places.append(self._places(len(self.programs) + k))
            found += link.constraints(points[link.before][1], points[link.after][0], own)
        found += _shared_parameters([first for first, _ in points])
        cost, conditions = self._whole(points[0][0], points[-1][1], numbers)
        found += conditions
        names = [name for name, _, value in found for _ in range(value.numel())]
        ranges = [own for _, own, value in found for _ in range(value.numel())]
        rows = ca.vertcat(*(value for _, _, value in found)) if found else ca.SX(0, 1)
        if self.elastic:
            slack = ca.SX.sym("slack", 2 * len(names))
            symbols.append(slack)
            places.append(int(self.starts[-1]) + np.arange(2 * len(names)))
            rows = rows - slack[: len(names)] + slack[len(names) :]
            cost = ca.sum1(slack)
        indices = np.concatenate(places).astype(int)[None, :]
        data, table = ca.SX(0, 1), np.zeros((0, 1))
        return names, ranges, Piece(data, ca.vertcat(*symbols), rows, ca.SX(cost), table, indices)

    def _end_points(self) -> tuple[list[tuple[EndPoint, EndPoint]], list[ca.SX], list[IntArray]]:
        """Both ends of each phase as symbols, these symbols, and where they stand."""
        points, symbols, places = [], [], []
        for program, offset in zip(self.programs, self.starts, strict=False):
            layout, g = program.layout, Globals(program.layout)
            d = program.statement.dynamics
            x = [ca.SX.sym(name, layout.n) for name in ("xa", "xb")]
            u = [ca.SX.sym(name, layout.m) for name in ("ua", "ub")]
            numbers = {s.name: g.parameters[k] for k, s in enumerate(d.parameters)}
            first = EndPoint(d, g.first, x[0], u[0], numbers)
            points.append((first, EndPoint(d, g.last, x[1], u[1], numbers)))
            symbols += [*x, *u, g.symbols]
            nodes = layout.block(0).reshape(-1, layout.n)
            columns = layout.inputs_of(np.array([0, layout.columns - 1]))
            own = [nodes[0], nodes[-1], columns[0], columns[1], g.places]
            places += [offset + each for each in own]
        return points, symbols, places

    def _whole(
        self, first: EndPoint, last: EndPoint, numbers: dict[str, ca.SX]
    ) -> tuple[ca.SX, list[tuple[str, Range, ca.SX]]]:
        """The cost of the ends, and the conditions of the whole."""
        q = self.problem.quantities
        column = [numbers[s.name] for s in self.problem.parameters]
        values = q.value(
            ca.SX(0, 1), first.values(q.starts), last.values(q.ends),
            ca.vertcat(*column) if column else ca.SX(0, 1),
        )  # fmt: skip
        rows = [
            (f"the condition {name}", own, values[k])
            for k, (name, own) in enumerate(self.problem.conditions, start=1)
        ]
        return values[0], rows

    def bounds(self) -> Sides:
        """Least and most of the unknowns and of the rows."""
        sides = [program.bounds() for program in self.programs]
        own = int(self.starts[-1] - self.starts[len(self.programs)])
        found = []
        for side in (0, 1):
            infinite, none = (-np.inf, np.inf)[side], (0.0, np.inf)[side]
            more = [np.full(own, infinite), np.full(2 * self.slacks, none)]
            found.append(np.concatenate([*(each[side] for each in sides), *more]))
        for side in (0, 1):
            more = [np.array([each[side] for each in self.ranges], dtype=float)]
            found.append(np.concatenate([*(each[2 + side] for each in sides), *more]))
        return found[0], found[1], found[2], found[3]

    def vector(self, guess: Sequence[Unknowns], links: Sequence[Array]) -> Array:
        """Unknowns as IPOPT takes them."""
        parts = [own.vector(each) for own, each in zip(self.programs, guess, strict=True)]
        return np.concatenate([*parts, *links, np.zeros(2 * self.slacks)])

    @cached_property
    def solution(self) -> IpoptSolution:
        return IpoptSolution(self.pieces, self.size, self.options)

    def check_finite(self, guess: Sequence[Unknowns], links: Sequence[Array]) -> None:
        """Raise for a cost or a row that is not a number at the guess."""
        self.solution.check_finite(self.vector(guess, links), self.bounds(), self.row_name)

    def solve(self, guess: Sequence[Unknowns], links: Sequence[Array]) -> JoinedIterate:
        """Solve from a guess."""
        raw = self.solution.find(self.vector(guess, links), self.bounds())
        phases, row = [], 0
        for k, program in enumerate(self.programs):
            count = sum(piece.size for piece in program.pieces)
            places = self._places(k)
            lam = Multipliers(raw.multipliers.bounds[places], raw.multipliers.rows[row:][:count])
            own = replace(raw, vector=raw.vector[places], worst_row=0, multipliers=lam)
            phases.append(program.iterate(own))
            row += count
        first = len(self.programs)
        links = tuple(raw.vector[self._places(first + k)] for k in range(len(self.problem.links)))
        return JoinedIterate(raw, tuple(phases), links, self.row_name(raw.worst_row))

    def row_name(self, row: int) -> str:
        """What a row says, in words."""
        for k, program in enumerate(self.programs):
            count = sum(piece.size for piece in program.pieces)
            if row < count:
                return f"{program.row_name(row)} in phase {k + 1}"
            row -= count
        return self.names[row]

    def unmet(self, found: JoinedIterate, least: float = 1e-6) -> list[str]:
        """What an elastic program had to violate, in words."""
        words = [
            f"{text} in phase {k + 1}"
            for k, (program, own) in enumerate(zip(self.programs, found.phases, strict=True))
            for text in program.unmet(own, least)
        ]
        slacks = found.raw.vector[int(self.starts[-1]) :].reshape(2, -1)
        amounts = np.abs(slacks[0] - slacks[1])
        for k in np.argsort(-amounts):
            if amounts[k] > least:
                words.append(f"{self.names[k]} (off by {amounts[k]:.3g})")
        return list(dict.fromkeys(words))


def _shared_parameters(firsts: Sequence[EndPoint]) -> list[tuple[str, Range, ca.SX]]:
    """Free parameters of one name are one parameter."""
    seen: dict[str, ca.SX] = {}
    found = []
    for point in firsts:
        for name, value in point.numbers.items():
            if ca.SX(value).is_constant():
                continue
            if name in seen:
                found.append((f"the parameter {name}", Range(0.0, 0.0), value - seen[name]))
            seen.setdefault(name, value)
    return found
