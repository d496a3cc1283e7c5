"""Integrals of cost and conditions over several phases."""

from __future__ import annotations

from collections.abc import Sequence

import sympy

from ...model.symbols import Parameter
from .problem_statement import Bound, Range
from .trajectory_quantities import TimeIntegral

__all__ = ["PhaseIntegrals"]


class PhaseIntegrals:
    """The integrals of cost and conditions over several phases.

    Where the cost is linear in them and no condition contains one, a phase adds its part to the
    cost. Else the integrals of a phase are unknowns of it, under names of their own.
    """

    def __init__(
        self, cost: sympy.Expr, conditions: Sequence[tuple[sympy.Expr, Range]], count: int
    ) -> None:
        expressions = [cost, *(e for e, _ in conditions)]
        nodes = sorted(set().union(*(e.atoms(TimeIntegral) for e in expressions)), key=str)
        dummies = {node: sympy.Dummy() for node in nodes}
        written = cost.xreplace(dummies)
        factors = [sympy.diff(written, dummy) for dummy in dummies.values()]
        is_direct = all(factor.is_number for factor in factors)
        is_direct = is_direct and not any(e.atoms(TimeIntegral) for e, _ in conditions)
        whole = sum((f * n for f, n in zip(factors, nodes, strict=True)), sympy.Integer(0))
        self.part = whole if is_direct else sympy.Integer(0)
        self.whole = self.part
        self.table: list[tuple[int, sympy.Basic, sympy.Symbol]] = (
            []
            if is_direct
            else [
                (k, node, Parameter(f"integral{j + 1}_of_phase{k + 1}"))
                for k in range(count)
                for j, node in enumerate(nodes)
            ]
        )

    def conditions(self, k: int) -> list[sympy.Expr]:
        """What makes the unknowns of a phase its integrals."""
        return [node - symbol for phase, node, symbol in self.table if phase == k]

    def parameters(self, k: int) -> dict[str, Bound]:
        return {symbol.name: (None, None) for phase, _, symbol in self.table if phase == k}

    def outer(self, expression: sympy.Expr) -> sympy.Expr:
        """An expression with integrals over all phases written as sums of these unknowns."""
        sums: dict[sympy.Basic, sympy.Expr] = {}
        for _, node, symbol in self.table:
            sums[node] = sums.get(node, sympy.Integer(0)) + symbol
        return expression.xreplace(sums)
