r"""Arcs of a flow with their exact derivatives, in native code.

    y_dot = Y(y, t),      S_dot = Y_y S,      c_dot = L(y, t)       y (n,), S (n, k), c the cost

are one set of equations that goes the road of every other: derivation, kernel, DOP853.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import sympy

from ...algebra.protocol import Algebra
from ...errors import RunError
from ...formulations.blocks import GaussBlocks
from ...formulations.equations import Equations
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.cache import Cache
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Parameter, Velocity
from ...typing import Array, ArrayLike

__all__ = ["Arc", "Arcs"]

#: Arcs are followed to this tolerance, so that boundary conditions can be met to 1e-10.
TOLERANCE = 1e-12
ZERO = sympy.Integer(0)


@dataclass(frozen=True)
class Arc:
    """The end of an arc: state (n,), derivatives along k directions (n, k), cost; the motion."""

    state: Array
    derivatives: Array
    cost: float
    motion: Motion


@dataclass(frozen=True)
class Neighbours:
    """A stand-in for `System` in the motions of neighbours: their symbols, and no observables."""

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
    cache: Cache = field(default_factory=lambda: Cache("results of neighbours"), repr=False)

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

    def __init__(self, flow: Flow, cost: sympy.Expr, parameters: Mapping[str, float]) -> None:
        self.flow, self.cost, self.parameters = flow, cost, parameters

    def with_parameters(self, parameters: Mapping[str, float]) -> Arcs:
        """The same equations with other numbers."""
        return Arcs(self.flow, self.cost, parameters)

    def run(
        self, first: float, last: float, state: Array, directions: Array,
        at: ArrayLike | None = None, sizes: Array | None = None,
    ) -> Arc:  # fmt: skip
        """Follow an arc and its derivatives along directions (n, k), measured by `sizes` (n,)."""
        n, count = directions.shape
        equations = variational_equations(self.flow, self.cost, count)
        start = np.concatenate([state, directions.T.ravel(), [0.0]])
        symbols = [symbol.name for symbol in equations.state]
        atol = None
        if sizes is not None:
            atol = TOLERANCE / 100 * np.concatenate([np.ones(n), np.tile(sizes, count), [1.0]])
        motion = simulate(
            equations, dict(zip(symbols, start.tolist(), strict=True)), (first, last),
            parameters=self.parameters, rtol=TOLERANCE, atol=atol,
            at=[first, last] if at is None else at,
            project=False, project_start=False, max_steps=20_000,
        )  # fmt: skip
        if not motion.success or not np.all(np.isfinite(motion.y[:, -1])):
            raise RunError("An arc of the extremal could not be followed", seen=motion.message)
        end = motion.y[:, -1]
        return Arc(end[:n], end[n : n + n * count].reshape(count, n).T, float(end[-1]), motion)


# Cached, so that another problem of the same flow compiles nothing.
@lru_cache(maxsize=32)
def variational_equations(flow: Flow, cost: sympy.Expr, count: int) -> Equations:
    """The flow with k = `count` neighbours of each motion in the first order, and its cost."""
    names = [symbol.name for symbol in flow.coordinates]
    neighbours = [[Coordinate(f"d{k}_{name}") for name in names] for k in range(count)]
    variations = [symbol for column in neighbours for symbol in column]
    state = (*flow.coordinates, *variations, Coordinate("accumulated_cost"))
    unknowns = tuple(Parameter(f"{symbol.name}_rate") for symbol in state)

    def derivation(algebra: Algebra) -> GaussBlocks:
        symbols, z = algebra.vector(flow.coordinates), algebra.vector(unknowns)
        field = algebra.vector(flow.rates.values())
        derivative = algebra.jacobian(field, symbols)
        columns = [derivative @ algebra.vector(column) for column in neighbours]
        rates = algebra.stack([field, *columns, algebra.vector([cost])])
        still, nothing = algebra.zeros(len(state)), algebra.scalar(sympy.Integer(0))
        return GaussBlocks.of_rates(algebra, z, rates, accelerations=still, energy=nothing)

    return Equations(
        system=Neighbours(flow, state),  # type: ignore[arg-type]
        form="variational",
        citation="Equations of variation",
        state=state,
        unknowns=unknowns,
        row_names=(),
        derivation=derivation,
    )
