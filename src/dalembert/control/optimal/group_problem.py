"""A boundary problem of a flow of places and costates, with numbers: symbols, ends, conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, StartError
from ...model.flow_system import Flow
from ...model.parameter_values import parameter_values
from ...model.symbols import as_expression
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, ArrayLike, Expression, Values
from .arc_sensitivities import Arcs
from .rotations import missed_rotation
from .shooting import Boundary

__all__ = ["GroupProblem"]

#: Directions that K feels less than this, relatively, it does not feel.
FELT = 1e-8
#: Invariants of the place that differ by more than this between the ends exclude each other.
SAME = 1e-8


@dataclass(frozen=True, eq=False)
class GroupProblem:
    """The problem with numbers; n symbols of the place, c costates."""

    flow: Flow
    place: str
    start: Array
    end: Array
    cost: sympy.Expr
    table: Mapping[str, float]
    span: tuple[float, float]

    @staticmethod
    def read(
        flow: Flow, start: ArrayLike, end: ArrayLike, place: str | None, cost: Expression | None,
        parameters: Values | None, span: tuple[float, float],
    ) -> GroupProblem:  # fmt: skip
        if not isinstance(flow, Flow) or not flow.matrices:
            raise ModelError(
                "A boundary problem on a group needs a Flow with matrices",
                type(flow).__name__,
                "pass one of da.lie: rigid_body(...), sphere_flow(...), grassmannian_flow(...) or"
                " orbit_flow(...)",
            )
        name = next(iter(flow.matrices)) if place is None else place
        if name not in flow.matrices:
            what = f"The flow has no matrix `{name}`"
            raise ModelError(what, ", ".join(flow.matrices), "name one of these")
        numbers = parameter_values(flow.parameters, parameters or {}).tolist()
        table = dict(zip((symbol.name for symbol in flow.parameters), numbers, strict=True))
        shape = flow.matrices[name].shape
        ends = []
        for value, where in ((start, "start"), (end, "end")):
            array = np.asarray(value, dtype=float)
            if array.size != shape[0] * shape[1]:
                what = f"The {where} of `{name}` has other dimensions"
                raise StartError(what, array.shape, f"give {shape}")
            ends.append(array.reshape(shape))
        integrand = flow.integrals.get("energy") if cost is None else as_expression(cost)
        if integrand is None:
            what = "The flow does not say its cost"
            raise ModelError(what, "no integral `energy`", "pass cost=...")
        problem = GroupProblem(flow, name, ends[0], ends[1], integrand, table, span)
        problem._check_linear(cost is None)
        problem._check_ends()
        return problem

    # -- symbols -----------------------------------------------------------------------------------

    @cached_property
    def place_index(self) -> list[int]:
        inside = self.flow.matrices[self.place].free_symbols
        return [k for k, symbol in enumerate(self.flow.coordinates) if symbol in inside]

    @cached_property
    def costate_index(self) -> list[int]:
        return [k for k in range(len(self.flow.coordinates)) if k not in set(self.place_index)]

    def vector(self, matrix: ArrayLike) -> Array:
        """The symbols of the place (n,) that give it a value."""
        found = self.flow.start(**{self.place: matrix})
        return np.array([found[self.flow.coordinates[k].name] for k in self.place_index])

    @cached_property
    def start_vector(self) -> Array:
        return self.vector(self.start)

    @cached_property
    def end_vector(self) -> Array:
        return self.vector(self.end)

    @cached_property
    def _frame_function(self) -> ca.Function:
        algebra = GraphAlgebra()
        symbols = algebra.vector(self.flow.coordinates)
        x, c = symbols[self.place_index], symbols[self.costate_index]
        rates = algebra.vector(self.flow.rates.values())[self.place_index]
        inputs = [x, c, algebra.vector(self.flow.parameters)]
        energy = algebra.vector([self.cost])
        return ca.Function("frame", inputs, [ca.densify(ca.jacobian(rates, c)), rates, energy])

    def frame(self, place: Array) -> Array:
        """K (n, c) at a place."""
        costate, values = np.zeros(len(self.costate_index)), list(self.table.values())
        return np.asarray(self._frame_function(place, costate, values)[0])

    def tangent(self, place: Array) -> Array:
        """An orthonormal basis (n, d) of the directions in which a place can move."""
        return _complement(rank(self.frame(place).T, FELT).null_space)

    @cached_property
    def directions(self) -> Array:
        """An orthonormal basis (c, d) of the costates at the start that move it."""
        return _complement(rank(self.frame(self.start_vector), FELT).null_space)

    @cached_property
    def is_rotation(self) -> bool:
        """Whether the ends are orthogonal matrices Q and Q^-1 Q_dot or Q_dot Q^-1 is skew."""
        rows, columns = self.start.shape
        if rows != columns or len(self.place_index) != rows * rows:
            return False
        if not all(np.allclose(m.T @ m, np.eye(rows), atol=SAME) for m in (self.start, self.end)):
            return False
        matrix, algebra = self.flow.matrices[self.place], GraphAlgebra()
        pair = (matrix, matrix.xreplace(self.flow.rates))
        Q, rate = (algebra.vector(list(block)).reshape((rows, rows)) for block in pair)
        velocities = (algebra.solve_square(Q, rate), algebra.solve_square(Q.T, rate.T))
        return any(algebra.vanishing(v + v.T).holds_to_rounding for v in velocities)

    # -- what must hold ----------------------------------------------------------------------------

    def _check_linear(self, by_energy: bool) -> None:
        """Check that the place moves linearly in the costates, and that the energy is the cost."""
        if not self.costate_index:
            remedy = "state x and p, or use optimal"
            raise ModelError("The flow has no costates", "symbols of the place alone", remedy)
        algebra = GraphAlgebra()
        costates = algebra.vector([self.flow.coordinates[k] for k in self.costate_index])
        rates = algebra.vector([list(self.flow.rates.values())[k] for k in self.place_index])
        linear = algebra.homogeneity(rates, costates, 1), algebra.degree(rates, costates, 1)
        if not all(verdict.holds_to_rounding for verdict in linear):
            raise ModelError(
                f"`{self.place}` is not shown to move linearly in the other symbols",
                "; ".join(verdict.grounds for verdict in linear if not verdict.holds_to_rounding),
                "name the matrix of the place: place=...",
            )
        quadratic = algebra.homogeneity(algebra.scalar(self.cost), costates, 2)
        if by_energy and not quadratic.holds_to_rounding:
            raise ModelError(
                "The energy is not the cost where there is a potential",
                f"an energy that is not shown to be quadratic in the costates: {quadratic.grounds}",
                "pass the integrand as cost=...",
            )

    def _check_ends(self) -> None:
        """Check constraints and invariants that involve the place alone."""
        symbols = [self.flow.coordinates[k] for k in self.place_index]
        numbers = {symbol: self.table[symbol.name] for symbol in self.flow.parameters}
        vectors = (self.start_vector, self.end_vector)
        values = [numbers | dict(zip(symbols, vector, strict=True)) for vector in vectors]
        for constraint in self.flow.constraints:
            if constraint.expression.free_symbols <= {*symbols, *numbers}:
                for table, where in zip(values, ("start", "end"), strict=True):
                    off = abs(float(constraint.expression.xreplace(table)))
                    if not off <= SAME:
                        what = f"The {where} breaks the constraint `{constraint.name}`"
                        seen = f"a residual of {off:.3g}"
                        raise StartError(what, seen, "give a place that obeys it")
        for name, integral in self.flow.integrals.items():
            if integral.free_symbols <= {*symbols, *numbers}:
                first, last = (float(integral.xreplace(table)) for table in values)
                if not abs(first - last) <= SAME * (1 + abs(first)):
                    raise StartError(
                        "The end does not lie on the orbit of the start",
                        f"{name} is {first:.9g} and {last:.9g}",
                        "give ends with the same invariants",
                    )
        if self.is_rotation and np.linalg.det(self.start) * np.linalg.det(self.end) < 0:
            what = "The end is a reflection of the start"
            raise StartError(what, "determinants 1 and -1", "give two rotations")

    # -- the search --------------------------------------------------------------------------------

    @cached_property
    def arcs(self) -> Arcs:
        return Arcs(self.flow, self.cost, dict(self.table))

    @cached_property
    def boundary(self) -> Boundary:
        size = len(self.flow.coordinates)
        base = np.zeros(size)
        base[self.place_index] = self.start_vector
        directions = np.zeros((size, self.directions.shape[1]))
        directions[self.costate_index] = self.directions
        end = self._missed_rotation if self.is_rotation else self._missed
        return Boundary(base, directions, end)

    def _missed(self, state: Array) -> tuple[Array, Array]:
        derivatives = np.zeros((len(self.place_index), len(state)))
        derivatives[np.arange(len(self.place_index)), self.place_index] = 1.0
        return state[self.place_index] - self.end_vector, derivatives

    def _missed_rotation(self, state: Array) -> tuple[Array, Array]:
        """log(Q_T^T Q) and its derivative."""
        n = len(self.start)
        values, derivatives = missed_rotation(state[self.place_index].reshape(n, n), self.end)
        wide = np.zeros((len(values), len(state)))
        wide[:, self.place_index] = derivatives
        return values, wide


def _complement(basis: Array) -> Array:
    """An orthonormal basis of what is orthogonal to some orthonormal columns (n, k)."""
    if not basis.shape[1]:
        return np.eye(basis.shape[0])
    found: Array = rank(basis.T, FELT).null_space
    return found
