"""Equations on independent velocities at a point, expanded to second-order matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import sympy

from ...algebra.graph import GraphAlgebra
from ...algebra.graph_expressions import expressions_of
from ...algebra.graph_layers import GraphLayers
from ...algebra.simplify.simplifier import simplify
from ...errors import FormError, ModelError, RunError
from ...formulations.blocks import GaussBlocks
from ...formulations.equations import Equations
from ...geometry.vanishing import vanish
from ...model.symbols import t

__all__ = ["SecondOrderPoint"]


class SecondOrderPoint:
    """Equations on independent velocities at a point."""

    def __init__(
        self,
        equations: Equations,
        at: Mapping[str, sympy.Expr],
        given: Mapping[sympy.Symbol, sympy.Expr],
        pushes: Mapping[str, sympy.Expr],
        is_exact: bool,
    ) -> None:
        self.equations, self.system, self.is_exact = equations, equations.system, is_exact
        self.algebra = GraphAlgebra()
        self.blocks: GaussBlocks = equations.blocks(self.algebra)
        self.speeds = [s for s in equations.state if s not in self.system.coordinates]
        self.inputs = [s for s, value in self.system.inputs.items() if value is None]
        known = [s.name for s in (*equations.state, *self.system.velocities)]
        strange = [name for name in at if name not in known]
        strange += [name for name in pushes if name not in [s.name for s in self.inputs]]
        if strange:
            raise ModelError(
                f"The linearised system has no variable `{strange[0]}`",
                seen=", ".join([*known, *(s.name for s in self.inputs)]),
                remedy="use one of these",
            )
        self.at = {s.name: at.get(s.name, sympy.S.Zero) for s in equations.state}
        values = {s: self.at[s.name] for s in equations.state}
        values |= {s: pushes.get(s.name, sympy.S.Zero) for s in self.inputs}
        values = {s: e.xreplace(dict(given)) for s, e in values.items()} | dict(given)
        #: Values that the graph would round, such as pi, are put into expressions instead.
        self.exact = {s: e for s, e in values.items() if is_exact and not _is_plain(e)}
        self.values = {s: e for s, e in values.items() if s not in self.exact}

    def here(self, block: ca.SX) -> ca.SX:
        """A block at the point, but for the values in `exact`."""
        symbols, values = list(self.values), list(self.values.values())
        return ca.substitute(block, self.algebra.vector(symbols), self.algebra.vector(values))

    def expressions(self, block: ca.SX) -> list[sympy.Expr]:
        """The entries of a block at the point, column by column."""
        entries = expressions_of(self.algebra.symbols, block)
        return [simplify(entry.xreplace(self.exact)) if self.exact else entry for entry in entries]

    def matrices(self) -> dict[str, Any]:
        """The fields of `LinearMatrices` but for its notes."""
        blocks, algebra = self.blocks, self.algebra
        q, u = algebra.vector(self.system.coordinates), algebra.vector(self.speeds)
        rates = blocks.rates[: q.numel()]
        force, metric = blocks.force, blocks.metric
        everything = ca.veccat(metric, force, rates)
        if not algebra.independence(everything, algebra.vector([t])).is_proved:
            raise FormError(
                "The equations depend on time: they have no constant matrices",
                seen=self.system.name,
                remedy="use da.analysis.floquet where they are periodic",
            )
        grounds = self._check_point(rates)
        F = self.here(ca.jacobian(rates, u))
        stiffness = -self.here(ca.jacobian(force, q)) @ F
        damping = -self.here(ca.jacobian(force, u))
        push = self.here(ca.jacobian(force, algebra.vector(self.inputs)))
        parts = [self.here(metric), *_halves(damping), *_halves(stiffness), push, F]
        M, C, G, K, N, B, basis = self._expressions([ca.densify(ca.SX(part)) for part in parts])
        names = tuple(s.name.removesuffix("_dot") for s in self.speeds)
        return {
            "coordinates": names, "mass": M, "damping": C, "gyroscopic": G, "stiffness": K,
            "circulatory": N, "inputs": tuple(s.name for s in self.inputs), "input_matrix": B,
            "basis": basis, "point": self.at, "grounds": grounds,
        }  # fmt: skip

    def _check_point(self, rates: ca.SX) -> tuple[str, ...]:
        """Raise where the point is not steady; what is left to prove otherwise."""
        grounds = []
        if self.is_exact:
            names = [s.name for s in self.speeds]
            grounds += self._check_zero(self.here(self.blocks.force), names, "balanced")
            gaps = self.here(self.blocks.position.residual)
            grounds += self._check_zero(gaps, ["a constraint"] * gaps.numel(), "on the constraints")
        essential = self._essential(rates)
        for k in essential:
            if not self._is_zero(self.here(rates[k])):
                raise RunError(
                    "The point is no equilibrium and no steady motion",
                    seen=f"{self.system.coordinates[k].name} changes, and the equations contain it",
                    remedy="give velocities along cyclic coordinates alone",
                )
        turned = self.here(ca.jacobian(rates, self.algebra.vector(self.system.coordinates)))
        if not all(self._is_zero(turned[i, j]) for i in essential for j in essential):
            raise FormError(
                "Deviations from this steady motion obey no equations of second order",
                seen="velocities along the constraints that change with the coordinates",
                remedy="use the state space of da.linearise",
            )
        return tuple(grounds)

    def _check_zero(self, column: ca.SX, names: Sequence[str], words: str) -> list[str]:
        grounds = []
        for name, left in zip(names, self.expressions(column), strict=True):
            verdict = vanish([left])
            if verdict.status == "refuted":
                raise RunError(
                    "The point is no equilibrium and no steady motion",
                    seen=f"what is left for {name} is {left}",
                    remedy="give a point where it vanishes, or values of all parameters",
                )
            if not verdict.is_proved:
                grounds.append(f"the point is {words}")
        return grounds

    def _is_zero(self, entry: ca.SX) -> bool:
        (value,) = self.expressions(ca.SX(entry))
        if not self.is_exact:
            return abs(float(value)) < 1e-9
        return vanish([value]).is_proved

    def _essential(self, rates: ca.SX) -> list[int]:
        """The places of coordinates that the dynamics contain, also through rates of others."""
        coordinates = self.algebra.vector(self.system.coordinates)

        def contained(block: ca.SX) -> set[int]:
            return {
                k
                for k in range(coordinates.numel())
                if not self.algebra.independence(block, coordinates[k]).is_proved
            }

        found = contained(ca.veccat(self.blocks.metric, self.blocks.force))
        pending = list(found)
        while pending:
            fresh = contained(rates[pending.pop()]) - found
            found |= fresh
            pending += fresh
        return sorted(found)

    def _expressions(self, parts: list[ca.SX]) -> list[sympy.Matrix]:
        """The matrices of SymPy: in closed form where that is short, plain otherwise."""
        closed = None if self.exact else GraphLayers(self.algebra.symbols).closed(parts)
        if closed is not None:
            return closed
        return [sympy.Matrix(*p.shape[::-1], self.expressions(p)).T for p in parts]


def _is_plain(value: sympy.Expr) -> bool:
    """Whether a value consists of symbols and simple rational numbers, which a graph keeps."""
    if not (value.is_Symbol or value.is_Rational):
        return False
    return not value.is_Rational or (abs(value.p) < 1000 and value.q < 1000)


def _halves(matrix: ca.SX) -> tuple[ca.SX, ca.SX]:
    """The symmetric and the skew part."""
    return (matrix + matrix.T) / 2, (matrix - matrix.T) / 2
