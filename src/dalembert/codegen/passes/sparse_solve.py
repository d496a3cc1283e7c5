"""The programs of a system with many unknowns whose metric is mostly zeros.

The factors of `sparse_factor` are written value by value with `ProgramWriter`; what repeats in them
becomes loops in native code (`reroll`). No array of n x n entries is made. Where the health is poor
the dense solve of `gauss_problem`, which decides rank, takes over as everywhere; where that would
need more than `solve_limits.MOST_DENSE` numbers it is refused in words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ...algebra.sparse_factor import Budget, Column, SparseFactor, TooManyOperationsError
from ...model.without_gc import without_gc
from ..backends.interpreter import interpret
from ..program import INPUTS, Program, straight_line
from ..program_builder import ProgramWriter, Value
from .solve_limits import HEALTHY
from .unrolled import ColumnSolution, solve_columns

if TYPE_CHECKING:
    from ..protocols import ConstraintProjection, KernelPrograms

__all__ = ["LargeSystem"]

#: Operations of the factors: for any system, and for each unknown and row.
OPERATIONS, OPERATIONS_EACH = 40_000, 60
FURTHER = INPUTS.index("w")


class LargeSystem:
    """The programs of a kernel with a sparse solve; `fast` is None if none is well conditioned."""

    def __init__(self, kernel: KernelPrograms) -> None:
        self.kernel, self.graph = kernel, kernel.graph

    @cached_property
    def fast(self) -> Program | None:
        """Rates (n_state) and health (1)."""
        g = self.graph
        symbols, determined = self.kernel._unknown_symbols, not self.kernel.equations.has_gauge
        return self._program(
            "fast", (g.metric, g.force, g.rows, g.right), symbols, g.rates, determined
        )

    @cached_property
    def unknowns(self) -> Program | None:
        """z (n), mu (m) and health (1)."""
        g, symbols = self.graph, self.kernel._unknown_symbols
        determined = not self.kernel.equations.has_gauge
        return self._program(
            "unknowns", (g.metric, g.force, g.rows, g.right), symbols, symbols, determined
        )

    def step(self, name: str, projection: ConstraintProjection) -> Program | None:
        """A Newton step: step (n_state), residual (k), scale (k), pivot ratio (1)."""
        metric = self.graph.metric if projection.metric is None else projection.metric
        symbols = ca.SX.sym("d", metric.shape[0])
        scale = self.kernel.residual_scale(projection)
        after = ca.vertcat(projection.lift @ symbols, projection.residual, scale)
        problem = (metric, ca.SX(metric.shape[0], 1), projection.rows, -projection.residual)
        return self._program(name, problem, symbols, after)

    @cached_property
    def reaction_places(self) -> dict[str, list[int]]:
        """The coordinates of the observed entries of each reaction; the others are zero."""
        return {name: force.sparsity().row() for name, force in self.graph.reactions.items()}

    @without_gc
    def _program(
        self,
        name: str,
        problem: Sequence[ca.SX],
        symbols: ca.SX,
        after: ca.SX,
        determined: bool = False,
    ) -> Program | None:
        for augment in (False, True) if problem[2].shape[0] else (False,):
            try:
                program = self._written(name, problem, symbols, after, augment, determined)
            except TooManyOperationsError:  # another solve serves
                return None
            if self._is_generically_healthy(program):
                return program
        return None

    def _written(
        self,
        name: str,
        problem: Sequence[ca.SX],
        symbols: ca.SX,
        after: ca.SX,
        augment: bool,
        determined: bool,
    ) -> Program:
        """A program that solves, then evaluates `after` with the unknowns substituted."""
        inputs = self.kernel._inputs()
        metric, force, rows, right = (ca.sparsify(block) for block in problem)
        parts = [metric.nz[:], force.nz[:], rows.nz[:], ca.densify(right)]
        writer = ProgramWriter()
        values = writer.inline(straight_line("blocks", inputs, parts))
        ends = np.cumsum([part.numel() for part in parts])
        entries = [values[end - part.numel() : end] for part, end in zip(parts, ends, strict=True)]
        solution = self._solve(writer, [metric, force, rows], entries, augment, determined)
        sizes = metric.shape[0], rows.shape[0]
        unknowns = [
            column.get(k, writer.zero)
            for column, size in zip(solution[:2], sizes, strict=True)
            for k in range(size)
        ]
        read = straight_line("after", self.kernel._inputs(symbols), [after])
        outputs = writer.inline(read, {FURTHER: unknowns})
        return writer.program(
            name, tuple(block.numel() for block in inputs), [*outputs, solution[2]]
        )

    def _solve(
        self,
        writer: ProgramWriter,
        blocks: Sequence[ca.SX],
        entries: Sequence[Sequence[Value]],
        augment: bool,
        determined: bool,
    ) -> tuple[Column, Column, Value]:
        metric, force, rows = (
            _table(block, values) for block, values in zip(blocks, entries, strict=False)
        )
        n, m = blocks[0].shape[0], blocks[2].shape[0]
        whole: list[Column] = [{} for _ in range(n)]
        for (i, j), value in metric.items():
            if i <= j:
                whole[i][j] = whole[j][i] = value
        push: Column = {i: value for (i, _), value in force.items()}
        conditions: list[Column] = [{} for _ in range(m)]
        for (k, i), value in rows.items():
            conditions[k][i] = value
        right = list(entries[3])
        if augment:
            _augment(writer, whole, push, conditions, right)
        budget = Budget(max(OPERATIONS, OPERATIONS_EACH * (n + m)))
        factor = SparseFactor(whole, budget, writer.zero)
        is_definite = self.kernel.equations.is_definite
        found: ColumnSolution = solve_columns(
            writer, factor, push, conditions, right, is_definite, determined
        )
        return found.z, found.multipliers, found.health

    def _is_generically_healthy(self, program: Program) -> bool:
        """Whether one of eight random states has a good, or undefined, pivot ratio."""
        random = np.random.default_rng(20)
        health = Program(program.name, program.sizes, program.instructions, program.outputs[-1:])
        states = ([random.uniform(0.3, 1.1, size) for size in program.sizes] for _ in range(8))
        return any(interpret(health, state)[0] > 10 * HEALTHY for state in states)


def _table(block: ca.SX, values: Sequence[Value]) -> dict[tuple[int, int], Value]:
    """The entries of a sparse matrix by row and column, without zeros."""
    rows, columns = block.sparsity().get_triplet()
    return {
        (i, j): value
        for i, j, value in zip(rows, columns, values, strict=True)
        if not value.is_zero()
    }


def _augment(
    writer: ProgramWriter,
    metric: list[Column],
    push: Column,
    rows: Sequence[Column],
    right: Sequence[Value],
) -> None:
    """Replace G by G + A^T W A and f by f + A^T W b, with row weights tr(G) / n / |a|^2."""
    trace = writer.zero
    for i, row in enumerate(metric):
        trace = trace + row.get(i, writer.zero)
    trace = trace / writer.constant(len(metric))
    for row, value in zip(rows, right, strict=True):
        square = writer.zero
        for entry in row.values():
            square = square + entry * entry
        weight = trace / square
        for i, entry in row.items():
            scaled = weight * entry
            push[i] = push.get(i, writer.zero) + scaled * value
            for j, other in row.items():
                if i <= j:
                    metric[i][j] = metric[j][i] = metric[i].get(j, writer.zero) + scaled * other
