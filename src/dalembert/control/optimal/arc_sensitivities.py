r"""Arcs of a flow with their exact derivatives, in native code.

    y_dot = Y(y, t),      S_dot = Y_y S,      c_dot = L(y, t)                 y (n,), S (n, k), c the cost

are one set of equations that goes the road of every other: derivation, kernel, DOP853.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import sympy

from ...errors import RunError
from ...formulations.blocks import Blocks, Projection
from ...formulations.equations import Equations
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Parameter, Velocity

__all__ = ["Arc", "Arcs"]

#: Arcs are followed to this tolerance, so that boundary conditions can be met to 1e-10.
TOLERANCE = 1e-12
ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Arc:
    """The end of an arc: state (n,), derivatives along k directions (n, k), cost; the motion itself."""

    state: Any
    derivatives: Any
    cost: float
    motion: Any


@dataclass(frozen=True)
class Neighbours:
    """What stands in the motions of neighbours where a `System` stands: their symbols, and nothing that would be observed."""

    original: Flow
    coordinates: tuple[Coordinate, ...]

    momenta: tuple[Any, ...] = ()
    constraints: tuple[Any, ...] = ()
    bilateral: tuple[Any, ...] = ()
    unilateral: tuple[Any, ...] = ()
    inputs: Mapping[Any, Any] = field(default_factory=dict)
    outputs: Mapping[str, Any] = field(default_factory=dict)
    forces: Mapping[Any, Any] = field(default_factory=dict)
    energy_function: sympy.Expr = ZERO
    dissipation: sympy.Expr = ZERO

    @cached_property
    def velocities(self) -> tuple[Velocity, ...]:
        """The rates as symbols."""
        return tuple(symbol.dot for symbol in self.coordinates)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Those of the flow."""
        return self.original.parameters

    @property
    def name(self) -> str:
        """That of the flow."""
        return self.original.name


class Arcs:
    """Arcs of one flow with numbers for its parameters."""

    def __init__(self, flow: Flow, cost: sympy.Expr, parameters: Any) -> None:
        self.flow, self.cost, self.parameters = flow, cost, parameters
        # Kept with the flow, so that another problem of the same flow compiles nothing.
        self._equations: dict[Any, Equations] = flow.__dict__.setdefault("_variational", {})

    def with_parameters(self, parameters: Any) -> Arcs:
        """The same equations with other numbers."""
        return Arcs(self.flow, self.cost, parameters)

    def run(self, first: float, last: float, state: Any, directions: Any, at: Any = None, sizes: Any = None) -> Arc:
        """Follow one arc with the derivatives along some directions (n, k) at its start, measured by `sizes` (n,)."""
        n, count = directions.shape
        equations = self._variational(count)
        start = np.concatenate([state, directions.T.ravel(), [0.0]])
        symbols = [symbol.name for symbol in equations.state]
        motion = simulate(
            equations,
            dict(zip(symbols, start.tolist(), strict=True)),
            (first, last),
            parameters=self.parameters,
            rtol=TOLERANCE,
            atol=None if sizes is None else TOLERANCE / 100 * np.concatenate([np.ones(n), np.tile(sizes, count), [1.0]]),
            at=[first, last] if at is None else at,
            project=False,
            project_start=False,
            max_steps=20_000,
        )
        if not motion.success or not np.all(np.isfinite(motion.y[:, -1])):
            raise RunError("An arc of the extremal could not be followed", seen=motion.message)
        end = motion.y[:, -1]
        return Arc(end[:n], end[n : n + n * count].reshape(count, n).T, float(end[-1]), motion)

    def _variational(self, count: int) -> Equations:
        key = (count, self.cost)
        if key not in self._equations:
            self._equations[key] = variational_equations(self.flow, self.cost, count)
        return self._equations[key]


def variational_equations(flow: Flow, cost: sympy.Expr, count: int) -> Equations:
    """The flow with k = `count` neighbours of each motion in the first order, and the cost on the way."""
    neighbours = [[Coordinate(f"d{k}_{symbol.name}") for symbol in flow.coordinates] for k in range(count)]
    state = (*flow.coordinates, *(symbol for column in neighbours for symbol in column), Coordinate("accumulated_cost"))
    unknowns = tuple(Parameter(f"{symbol.name}_rate") for symbol in state)

    def derivation(algebra: Any) -> Blocks:
        symbols, z = algebra.vector(flow.coordinates), algebra.vector(unknowns)
        field = algebra.vector(flow.rates.values())
        derivative = algebra.jacobian(field, symbols)
        columns = [derivative @ algebra.vector(column) for column in neighbours]
        rates = algebra.stack([field, *columns, algebra.vector([cost])])
        one, size = algebra.jacobian(z, z), len(state)
        nothing = Projection(algebra.zeros(0), algebra.zeros(0, size), one)
        return Blocks(
            metric=one,
            force=rates,
            rows=algebra.zeros(0, size),
            right=algebra.zeros(0),
            unknowns=z,
            multipliers=algebra.zeros(0),
            rates=z,
            velocities=rates,
            accelerations=algebra.zeros(size),
            momenta=algebra.zeros(0),
            energy=algebra.scalar(sympy.Integer(0)),
            reactions={},
            position=nothing,
            velocity=nothing,
            residuals=(algebra.zeros(0), algebra.zeros(0)),
            free=rates,
            dual_rows=algebra.zeros(size, 0),
        )

    return Equations(
        system=Neighbours(flow, state),  # type: ignore[arg-type]
        form="variational",
        citation="Equations of variation",
        state=state,
        unknowns=unknowns,
        row_names=(),
        derivation=derivation,
    )
