"""A boundary problem of a flow of places and costates, with numbers: symbols, what the ends must obey, what is to be met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...errors import ModelError, StartError
from ...model.flow_system import Flow
from ...model.symbols import as_expression
from ...runtime.gauss.constrained_solve import rank
from ...runtime.kernel import parameter_values
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
    start: Any
    end: Any
    cost: sympy.Expr
    table: Mapping[str, float]
    span: tuple[float, float]

    @staticmethod
    def read(flow: Any, start: Any, end: Any, place: Any, cost: Any, parameters: Any, span: Any) -> GroupProblem:
        if not isinstance(flow, Flow) or not flow.matrices:
            raise ModelError(
                "A boundary problem on a group needs a Flow with matrices",
                seen=type(flow).__name__,
                remedy="pass one of da.lie: rigid_body(...), sphere_flow(...), grassmannian_flow(...) or orbit_flow(...)",
            )
        name = next(iter(flow.matrices)) if place is None else place
        if name not in flow.matrices:
            raise ModelError(f"The flow has no matrix `{name}`", seen=", ".join(flow.matrices), remedy="name one of these")
        numbers = parameter_values(flow.parameters, parameters or {})
        table = dict(zip((symbol.name for symbol in flow.parameters), numbers.tolist(), strict=True))
        shape = flow.matrices[name].shape
        ends = []
        for value, where in ((start, "start"), (end, "end")):
            array = np.asarray(value, dtype=float)
            if array.size != shape[0] * shape[1]:
                raise StartError(f"The {where} of `{name}` has other dimensions", seen=array.shape, remedy=f"give {shape}")
            ends.append(array.reshape(shape))
        integrand = flow.integrals.get("energy") if cost is None else as_expression(cost)
        if integrand is None:
            raise ModelError("The flow does not say its cost", seen="no integral `energy`", remedy="pass cost=...")
        problem = GroupProblem(flow, name, ends[0], ends[1], integrand, table, span)
        problem._check_linear(cost is None)
        problem._check_ends()
        return problem

    # -- symbols ---------------------------------------------------------------------------------------------------

    @cached_property
    def place_index(self) -> list[int]:
        inside = self.flow.matrices[self.place].free_symbols
        return [k for k, symbol in enumerate(self.flow.coordinates) if symbol in inside]

    @cached_property
    def costate_index(self) -> list[int]:
        return [k for k in range(len(self.flow.coordinates)) if k not in set(self.place_index)]

    def vector(self, matrix: Any) -> Any:
        """The symbols of the place (n,) that give it a value."""
        found = self.flow.start(**{self.place: matrix})
        return np.array([found[self.flow.coordinates[k].name] for k in self.place_index])

    @cached_property
    def start_vector(self) -> Any:
        return self.vector(self.start)

    @cached_property
    def end_vector(self) -> Any:
        return self.vector(self.end)

    @cached_property
    def _frame_function(self) -> Any:
        algebra = GraphAlgebra()
        symbols = algebra.vector(self.flow.coordinates)
        x, c = symbols[self.place_index], symbols[self.costate_index]
        rates = algebra.vector(self.flow.rates.values())[self.place_index]
        inputs = [x, c, algebra.vector(self.flow.parameters)]
        energy = algebra.vector([self.cost])
        return ca.Function("frame", inputs, [ca.densify(ca.jacobian(rates, c)), rates, energy])

    def frame(self, place: Any, costate: Any | None = None) -> Any:
        """K (n, c) at a place."""
        values = list(self.table.values())
        return np.asarray(
            self._frame_function(place, np.zeros(len(self.costate_index)) if costate is None else costate, values)[0]
        )

    def tangent(self, place: Any) -> Any:
        """An orthonormal basis (n, d) of the directions in which a place can move."""
        return _complement(rank(self.frame(place).T, FELT).null_space)

    @cached_property
    def directions(self) -> Any:
        """An orthonormal basis (c, d) of the costates at the start that move it."""
        return _complement(rank(self.frame(self.start_vector), FELT).null_space)

    @cached_property
    def is_rotation(self) -> bool:
        """Whether both ends are orthogonal matrices Q and Q^-1 Q_dot or Q_dot Q^-1 is skew, so that all between are."""
        rows, columns = self.start.shape
        if rows != columns or len(self.place_index) != rows * rows:
            return False
        if not all(np.allclose(m.T @ m, np.eye(rows), atol=SAME) for m in (self.start, self.end)):
            return False
        matrix, algebra = self.flow.matrices[self.place], GraphAlgebra()
        Q, rate = (
            algebra.vector(list(entries)).reshape((rows, rows)) for entries in (matrix, matrix.xreplace(self.flow.rates))
        )
        velocities = (algebra.solve_square(Q, rate), algebra.solve_square(Q.T, rate.T))
        return any(algebra.vanishing(velocity + velocity.T).holds_to_rounding for velocity in velocities)

    # -- what must hold --------------------------------------------------------------------------------------------

    def _check_linear(self, by_energy: bool) -> None:
        """The place must move linearly in the costates; energy is the cost where it is quadratic in them."""
        if not self.costate_index:
            raise ModelError(
                "The flow has no costates", seen="symbols of the place alone", remedy="state x and p, or use optimal"
            )
        algebra = GraphAlgebra()
        costates = algebra.vector([self.flow.coordinates[k] for k in self.costate_index])
        rates = algebra.vector([list(self.flow.rates.values())[k] for k in self.place_index])
        linear = algebra.homogeneity(rates, costates, 1), algebra.degree(rates, costates, 1)
        if not all(verdict.holds_to_rounding for verdict in linear):
            raise ModelError(
                f"`{self.place}` is not shown to move linearly in the other symbols",
                seen="; ".join(verdict.grounds for verdict in linear if not verdict.holds_to_rounding),
                remedy="name the matrix of the place: place=...",
            )
        quadratic = algebra.homogeneity(algebra.scalar(self.cost), costates, 2)
        if by_energy and not quadratic.holds_to_rounding:
            raise ModelError(
                "The energy is not the cost where there is a potential",
                seen=f"an energy that is not shown to be quadratic in the costates: {quadratic.grounds}",
                remedy="pass the integrand as cost=...",
            )

    def _check_ends(self) -> None:
        """Constraints and invariants that speak of the place alone."""
        symbols = {self.flow.coordinates[k] for k in self.place_index}
        numbers = {symbol: self.table[symbol.name] for symbol in self.flow.parameters}
        values = [
            {**numbers, **dict(zip((self.flow.coordinates[k] for k in self.place_index), vector, strict=True))}
            for vector in (self.start_vector, self.end_vector)
        ]
        for constraint in self.flow.constraints:
            if constraint.expression.free_symbols <= {*symbols, *numbers}:
                for table, where in zip(values, ("start", "end"), strict=True):
                    off = abs(float(constraint.expression.xreplace(table)))
                    if not off <= SAME:
                        raise StartError(
                            f"The {where} breaks the constraint `{constraint.name}`", seen=f"a residual of {off:.3g}",
                            remedy="give a place that obeys it",
                        )  # fmt: skip
        for name, integral in self.flow.integrals.items():
            if integral.free_symbols <= {*symbols, *numbers}:
                first, last = (float(integral.xreplace(table)) for table in values)
                if not abs(first - last) <= SAME * (1 + abs(first)):
                    raise StartError(
                        "The end does not lie on the orbit of the start",
                        seen=f"{name} is {first:.9g} and {last:.9g}",
                        remedy="give ends with the same invariants",
                    )
        if self.is_rotation and np.linalg.det(self.start) * np.linalg.det(self.end) < 0:
            raise StartError("The end is a reflection of the start", seen="determinants 1 and -1", remedy="give two rotations")

    # -- the search ------------------------------------------------------------------------------------------------

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
        return Boundary(base, directions, self._missed_rotation if self.is_rotation else self._missed)

    def _missed(self, state: Any) -> tuple[Any, Any]:
        derivatives = np.zeros((len(self.place_index), len(state)))
        derivatives[np.arange(len(self.place_index)), self.place_index] = 1.0
        return state[self.place_index] - self.end_vector, derivatives

    def _missed_rotation(self, state: Any) -> tuple[Any, Any]:
        """log(Q_T^T Q) and its derivative."""
        n = len(self.start)
        values, derivatives = missed_rotation(state[self.place_index].reshape(n, n), self.end)
        wide = np.zeros((len(values), len(state)))
        wide[:, self.place_index] = derivatives
        return values, wide


def _complement(basis: Any) -> Any:
    """An orthonormal basis of what is orthogonal to some orthonormal columns (n, k)."""
    return rank(basis.T, FELT).null_space if basis.shape[1] else np.eye(basis.shape[0])
