"""Generic consistent states of a system: random ones, moved to the constraints, where the motion is determined.

They can refute a statement and suggest one; `algebra.structure` proves. States are drawn around the given start (or
around zero), nearer to it where the model is not defined further away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..errors import ModelError, RunError, StartError
from ..integrate.start import LIMIT, consistent_start
from ..model.symbols import by_name
from ..model.values import numbers_by_name
from ..runtime.context import Context
from ..runtime.gauss.constrained_solve import solve
from ..runtime.gauss.solve_status import REGULAR
from ..runtime.kernel import Kernel, parameter_values

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
    parameters: Any
    times: Any
    states: Any
    coordinates: Any
    velocities: Any
    momenta: Any
    start: bool

    def __len__(self) -> int:
        return len(self.times)


def generic_parameters(symbols: Any, given: Mapping[Any, Any] | None, random: Any) -> Any:
    """Values of all parameters, (n,): the given ones, and random ones between 0.5 and 1.5 for the others.

    >>> x = sympy.Symbol("x", real=True)
    >>> generic_parameters([x], {"x": 2}, np.random.default_rng(0))
    array([2.])
    """
    table = by_name(given, "mapping of parameters")
    for symbol in symbols:
        sign = -1.0 if symbol.is_negative else 1.0
        table.setdefault(symbol.name, sign * random.uniform(0.5, 1.5))
    return parameter_values(symbols, table)


def evaluate(kernel: Kernel, block: Any, samples: Samples) -> Any:
    """Values (n, rows, columns) of an expression of the kernel's graph at all samples."""
    function = ca.Function("block", kernel._inputs(), [ca.densify(block)])
    inputs = np.zeros(len(kernel.free_inputs))
    return np.array(
        [
            np.asarray(function(time, state, samples.parameters, inputs, np.zeros(0)), dtype=float)
            for time, state in zip(samples.times, samples.states, strict=True)
        ]
    ).reshape(len(samples), *block.shape)


def consistent_states(
    kernel: Kernel,
    parameters: Mapping[Any, Any] | None = None,
    start: Mapping[Any, Any] | None = None,
    n: int = 8,
    seed: int = 7,
    determined: bool = True,
    radii: Sequence[float] = RADII,
) -> Samples:
    """`n` random states on the constraints, at random times, where the accelerations are determined.

    Parameters
    ----------
    parameters : mapping of name to value
        Those that are missing are drawn at random.
    start : mapping of name to value
        The middle of the cloud. Names that are no symbols of this kernel are passed over. Where it is consistent it is the
        first of the states.
    determined : bool
        Whether states that leave the accelerations open, or determine them badly, are passed over.
    radii : sequence of float
        How far from the middle states are drawn, before they are moved to the constraints.

    Raises
    ------
    StartError
        Where no state could be found.
    """
    random = np.random.default_rng(seed)
    known = {s.name for s in (*kernel.equations.state, *_motion_symbols(kernel))}
    middle = numbers_by_name(start)
    middle = {name: value for name, value in middle.items() if name in known}
    complaint: Exception | None = None
    for _ in range(1 if parameters is not None and len(parameters) == len(kernel.parameters) else 6):
        values = generic_parameters(kernel.parameters, parameters, random)
        sampler = _Sampler(kernel, values, random, determined, radii)
        found, complaint = sampler.draw(middle, n)
        if found:
            return sampler.gathered(found, bool(middle) and sampler.start_is_first)
    raise StartError(
        "No state was found that obeys the constraints and determines the motion",
        seen=str(complaint) if complaint else None,
        remedy="pass parameters= and start= from which to look",
    )


def _motion_symbols(kernel: Kernel) -> tuple[sympy.Symbol, ...]:
    system = kernel.equations.system
    return (*system.velocities, *system.momenta)


class _Sampler:
    """Draws states of one kernel for one set of parameters."""

    def __init__(self, kernel: Kernel, parameters: Any, random: Any, determined: bool, radii: Sequence[float]) -> None:
        self.kernel, self.parameters, self.random, self.determined = kernel, parameters, random, determined
        self.radii = radii
        self.context = Context(kernel, parameters)
        g = kernel.graph
        blocks = [ca.densify(block) for block in (g.metric, g.force, g.rows, g.right)]
        residuals = ca.densify(ca.vertcat(g.position.residual, g.velocity.residual))
        self.function = ca.Function("sample", kernel._inputs(), [*blocks, residuals])
        self.start_is_first = False

    def draw(self, middle: dict[str, float], n: int) -> tuple[list[tuple[float, Any]], Exception | None]:
        """Up to n pairs of a time and a state; and the last complaint."""
        complaint: Exception | None = None
        try:
            center = consistent_start(self.context, 0.0, middle, self.parameters).state
        except (ModelError, RunError) as error:
            center, complaint = self._named(middle), error
        found: list[tuple[float, Any]] = []
        if middle and complaint is None and self._is_generic(0.0, center, np.inf):
            found.append((0.0, center))
            self.start_is_first = True
        for radius in [*self.radii] * 4:
            for _ in range(n):
                if len(found) >= n:
                    return found, complaint
                time = float(self.random.uniform(0.0, 2.0))
                y = center + radius * self.random.uniform(-1.0, 1.0, len(center)) * np.maximum(np.abs(center), 1.0)
                if self.context.project(time, y) == REGULAR and self._is_generic(time, y, CONDITION):
                    found.append((time, y))
        return found, complaint

    def _named(self, middle: dict[str, float]) -> Any:
        return np.array([middle.get(s.name, 0.0) for s in self.kernel.equations.state])

    def _is_generic(self, time: float, y: Any, worst_condition: float) -> bool:
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
        except RunError:
            return False
        return record.has_gauge or bool(solution.condition < worst_condition)

    def gathered(self, found: list[tuple[float, Any]], start_is_first: bool) -> Samples:
        """The pairs as arrays, with the coordinates, velocities and momenta that belong to them."""
        times, states = np.array([t for t, _ in found]), np.array([y for _, y in found])
        kernel, n = self.kernel, len(self.kernel.equations.system.coordinates)
        bare = Samples(kernel, self.parameters, times, states, states[:, :n], states, states, start_is_first)
        velocities = evaluate(kernel, kernel.graph.velocities, bare)[:, :, 0]
        momenta = evaluate(kernel, kernel.graph.momenta, bare)[:, :, 0]
        return Samples(kernel, self.parameters, times, states, states[:, :n], velocities, momenta, start_is_first)
