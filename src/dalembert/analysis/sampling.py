"""Generic consistent states: random states, projected, at which the motion is determined.

They can refute a statement and suggest one; `algebra.structure` proves. States are drawn around the
given start (or around zero), nearer to it where the model is not defined further away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..errors import ModelError, RunError, StartError
from ..integrate.residual_sizes import LIMIT
from ..integrate.start import consistent_start
from ..model.parameter_values import parameter_values
from ..model.symbols import by_name
from ..model.values import numbers_by_name
from ..runtime.context import Context
from ..runtime.gauss.constrained_solve import solve
from ..runtime.gauss.solve_status import REGULAR
from ..runtime.kernel import Kernel
from ..typing import Array

__all__ = ["Samples", "consistent_states", "evaluate", "generic_parameters"]

#: How far from the start states are drawn: first far, then nearer.
RADII = (1.0, 0.7, 0.7, 0.4, 0.2, 0.1, 0.03)
#: A state where the Gauss problem is worse conditioned than this is not generic.
CONDITION = 1e5


@dataclass(frozen=True)
class Samples:
    """States of a kernel that obey the constraints.

    Attributes
    ----------
    kernel : Kernel
    parameters : array (n_parameters,)
        In the order of ``kernel.parameters``.
    times : array (n,)
    states : array (n, n_state)
    coordinates, velocities, momenta : arrays (n, n_coordinates)
    start : bool
        Whether the first state is the start that was given.
    """

    kernel: Kernel
    parameters: Array
    times: Array
    states: Array
    coordinates: Array
    velocities: Array
    momenta: Array
    start: bool

    def __len__(self) -> int:
        return len(self.times)


def generic_parameters(
    symbols: Sequence[sympy.Symbol], given: Mapping[Any, Any] | None, random: np.random.Generator
) -> Any:
    """Values of all parameters, (n,): given ones, and random ones in (0.5, 1.5) for the rest.

    >>> x = sympy.Symbol("x", real=True)
    >>> generic_parameters([x], {"x": 2}, np.random.default_rng(0))
    array([2.])
    """
    table = by_name(given, "mapping of parameters")
    for symbol in symbols:
        sign = -1.0 if symbol.is_negative else 1.0
        table.setdefault(symbol.name, sign * random.uniform(0.5, 1.5))
    return parameter_values(symbols, table)


def evaluate(kernel: Kernel, block: ca.SX, samples: Samples) -> Array:
    """Values (n, rows, columns) of an expression of the kernel's graph at all samples."""
    function = ca.Function("block", kernel._inputs(), [ca.densify(block)])
    rest = (samples.parameters, np.zeros(len(kernel.free_inputs)), np.zeros(0))
    states = zip(samples.times, samples.states, strict=True)
    values = [np.asarray(function(time, y, *rest), dtype=float) for time, y in states]
    return np.array(values).reshape(len(samples), *block.shape)


def consistent_states(
    kernel: Kernel,
    parameters: Mapping[Any, Any] | None = None,
    start: Mapping[Any, Any] | None = None,
    n: int = 8,
    seed: int = 7,
    determined: bool = True,
    radii: Sequence[float] = RADII,
) -> Samples:
    """`n` random states on the constraints, at random times, with determined accelerations.

    Parameters
    ----------
    parameters : mapping of name to value
        Those that are missing are drawn at random.
    start : mapping of name to value
        The middle of the cloud, and the first state where it is consistent; foreign names are
        skipped.
    determined : bool
        Whether to skip states that leave the accelerations open, or determine them badly.
    radii : sequence of float
        Distances from the middle, before the projection onto the constraints.

    Raises
    ------
    StartError
        Where no state could be found.
    """
    random = np.random.default_rng(seed)
    known = {s.name for s in (*kernel.equations.state, *_motion_symbols(kernel))}
    middle = {name: x for name, x in numbers_by_name(start).items() if name in known}
    complaint: Exception | None = None
    is_complete = parameters is not None and len(parameters) == len(kernel.parameters)
    for _ in range(1 if is_complete else 6):
        values = generic_parameters(kernel.parameters, parameters, random)
        sampler = _Sampler(kernel, values, random, determined, radii)
        found, complaint = sampler.draw(middle, n)
        if found:
            return sampler.gathered(found, bool(middle) and sampler.start_is_first)
    what = "No state was found that obeys the constraints and determines the motion"
    remedy = "pass parameters= and start= from which to look"
    raise StartError(what, str(complaint) if complaint else None, remedy)


def _motion_symbols(kernel: Kernel) -> tuple[sympy.Symbol, ...]:
    system = kernel.equations.system
    return (*system.velocities, *system.momenta)


class _Sampler:
    """Draws states of one kernel for one set of parameters."""

    def __init__(
        self,
        kernel: Kernel,
        parameters: Array,
        random: np.random.Generator,
        determined: bool,
        radii: Sequence[float],
    ) -> None:
        self.kernel, self.parameters, self.random = kernel, parameters, random
        self.determined, self.radii = determined, radii
        self.context = Context(kernel, parameters)
        g = kernel.graph
        blocks = [ca.densify(block) for block in (g.metric, g.force, g.rows, g.right)]
        residuals = ca.densify(ca.vertcat(g.position.residual, g.velocity.residual))
        self.function = ca.Function("sample", kernel._inputs(), [*blocks, residuals])
        self.start_is_first = False

    def draw(
        self, middle: dict[str, float], n: int
    ) -> tuple[list[tuple[float, Array]], Exception | None]:
        """Up to n pairs of a time and a state; and the last complaint."""
        complaint: Exception | None = None
        try:
            center = consistent_start(self.context, 0.0, middle, self.parameters).state
        except (ModelError, RunError) as error:
            center, complaint = self._named(middle), error
        found: list[tuple[float, Array]] = []
        if middle and complaint is None and self._is_generic(0.0, center, np.inf):
            found.append((0.0, center))
            self.start_is_first = True
        for radius in [*self.radii] * 4:
            for _ in range(n):
                if len(found) >= n:
                    return found, complaint
                time = float(self.random.uniform(0.0, 2.0))
                step = radius * self.random.uniform(-1.0, 1.0, len(center))
                y = center + step * np.maximum(np.abs(center), 1.0)
                projected = self.context.project(time, y) == REGULAR
                if projected and self._is_generic(time, y, CONDITION):
                    found.append((time, y))
        return found, complaint

    def _named(self, middle: dict[str, float]) -> Array:
        return np.array([middle.get(s.name, 0.0) for s in self.kernel.equations.state])

    def _is_generic(self, time: float, y: Array, worst_condition: float) -> bool:
        """Whether a state is finite, consistent, and determines the unknowns well."""
        if not np.all(np.isfinite(y)):
            return False
        inputs = np.zeros(len(self.kernel.free_inputs))
        values = self.function.call([time, y, self.parameters, inputs, np.zeros(0)])
        G, f, A, b, residual = (np.asarray(value, dtype=float) for value in values)
        if not all(np.all(np.isfinite(part)) for part in (G, f, A, b, residual)):
            return False
        if residual.size and np.max(np.abs(residual)) > LIMIT:
            return False
        if not self.determined:
            return True
        record = self.kernel.equations
        try:
            solution = solve(G, f, A, b, definite=record.is_definite, gauge=record.has_gauge)
        except RunError:  # not determined there: the state is no sample
            return False
        return record.has_gauge or bool(solution.condition < worst_condition)

    def gathered(self, found: list[tuple[float, Array]], start_is_first: bool) -> Samples:
        """The pairs as arrays, with the coordinates, velocities and momenta that belong to them."""
        times, states = np.array([t for t, _ in found]), np.array([y for _, y in found])
        kernel, n = self.kernel, len(self.kernel.equations.system.coordinates)
        fixed, places = (kernel, self.parameters, times, states), states[:, :n]
        bare = Samples(*fixed, places, states, states, start_is_first)
        velocities = evaluate(kernel, kernel.graph.velocities, bare)[:, :, 0]
        momenta = evaluate(kernel, kernel.graph.momenta, bare)[:, :, 0]
        return Samples(*fixed, places, velocities, momenta, start_is_first)
