"""A system at generic consistent states: rows, momenta, forces and mass matrix.

The parts are those of Lagrange's equations for a system stated by its Lagrangian, in the symbols
(q, q_dot), and those of Hamilton's for one stated by its Hamiltonian, in (q, p). Reactions act
along the velocity rows A = f_v in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError, StartError, nearest
from ..formulations.registry import derive
from ..integrate.start import consistent_start
from ..integrate.start_symbols import moving_outputs
from ..model.scenario import Scenario
from ..model.symbols import t
from ..model.system import System
from ..model.values import numbers_by_name, used_parameters
from ..runtime.context import Context
from ..runtime.gauss.constrained_solve import rank
from ..runtime.kernel import Kernel, kernel_of
from ..typing import Array, Values
from .sampling import Samples, consistent_states, evaluate

if TYPE_CHECKING:
    from ..algebra.protocol import Block

__all__ = ["Anatomy", "common", "read_model", "stated_kernel", "take_apart", "velocity_rows"]

#: Ranks at generic states: a singular value below this, relatively, is zero.
GENERIC = 1e-9
#: How far from the start its neighbours are drawn.
NEAR = (0.05, 0.02)


@dataclass(frozen=True)
class Anatomy:
    """Parts of a system; n coordinates, m rows, points generic states.

    Attributes
    ----------
    system : System
    kernel : Kernel
        Of the system without its image and one-sided constraints, by "lagrange" or "hamilton".
    samples : Samples
        States of `kernel` that obey all constraints, the image included.
    motion : Samples
        The same states in the symbols of the form that moves the whole system.
    near : Samples or None
        States next to the start, on the same branch of the constraints; None where an image gives
        the velocities.
    """

    system: System
    kernel: Kernel
    samples: Samples
    motion: Samples
    near: Samples | None = None

    def values(self, block: Block) -> Array:
        """An expression of the kernel's graph at all samples, (points, rows, columns)."""
        return evaluate(self.kernel, block, self.samples)

    # -- symbols -----------------------------------------------------------------------------------

    @property
    def coordinates(self) -> Block:
        """q, (n x 1)."""
        return self.kernel.algebra.vector(self.system.coordinates)

    @property
    def time(self) -> Block:
        """t, (1 x 1)."""
        return self.kernel.algebra.vector([t])

    @property
    def fibre(self) -> Block:
        """q_dot, or p where the system was stated by its Hamiltonian, (n x 1)."""
        symbols = self.kernel.equations.state[len(self.system.coordinates) :]
        return self.kernel.algebra.vector(symbols)

    # -- expressions -------------------------------------------------------------------------------

    @property
    def residual(self) -> Block:
        """f of every two-sided constraint at velocity level, (m x 1)."""
        return self.kernel.graph.velocity.residual

    @cached_property
    def rows(self) -> Block:
        """A = f_v, (m x n)."""
        return velocity_rows(self.kernel)

    @cached_property
    def image_frame(self) -> Block | None:
        """E with q_dot = E u, (n x k), or None."""
        image = self.system.image
        if image is None:
            return None
        algebra = self.kernel.algebra
        velocities = algebra.vector([image.velocities[q] for q in self.system.coordinates])
        return algebra.jacobian(velocities, algebra.vector(image.speeds))

    # -- numbers -----------------------------------------------------------------------------------

    @cached_property
    def row_values(self) -> Array:
        """A at the samples, (points, m, n)."""
        return self.values(self.rows)

    @cached_property
    def every_row(self) -> list[Array]:
        """A with rows that annihilate the image below it, (m + n - k, n) at each sample."""
        if self.image_frame is None:
            return list(self.row_values)
        frames = zip(self.row_values, self.values(self.image_frame), strict=True)
        return [np.vstack([rows, rank(frame.T, GENERIC).null_space.T]) for rows, frame in frames]

    @cached_property
    def rank(self) -> int:
        """The rank of all rows next to the start; other branches of the constraints may differ."""
        rows: Iterable[Array] = self.every_row
        if self.near is not None:
            rows = evaluate(self.kernel, self.rows, self.near)
        return common(rank(block, GENERIC).rank for block in rows)

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The ranks that occur at consistent states, in order."""
        return tuple(sorted({self.rank, *(rank(block, GENERIC).rank for block in self.every_row)}))

    @cached_property
    def impulse_rates(self) -> Array:
        """p_dot without the reactions, (points, n), with entries of rounding set to zero."""
        graph, algebra = self.kernel.graph, self.kernel.algebra
        if graph.free is not None:
            rates = terms = graph.free
        else:
            transport = algebra.along(graph.momenta, self.coordinates, graph.velocities)
            transport = transport + algebra.jacobian(graph.momenta, self.time)
            rates, terms = graph.force + transport, algebra.columns([graph.force, transport])
        values, sizes = self.values(rates)[:, :, 0], np.max(np.abs(self.values(terms)), axis=(0, 2))
        is_zero = [algebra.vanishing(rates[k]).holds_to_rounding for k in range(rates.shape[0])]
        return np.where((np.abs(values) < 1e-12 * sizes) | np.array(is_zero), 0.0, values)


def velocity_rows(kernel: Kernel) -> Block:
    """A = f_v of a kernel in the symbols of the statement, (m x n)."""
    graph = kernel.graph
    return graph.rows if graph.dual_rows is None else graph.dual_rows.T


def common(numbers: Iterable[int]) -> int:
    """The number that occurs most often; the largest of several.

    >>> common([2, 3, 3, 1])
    3
    """
    values, counts = np.unique(np.asarray(list(numbers)), return_counts=True)
    return int(values[counts == counts.max()].max())


def read_model(
    model: System | Scenario, parameters: Values | None, start: Values | None
) -> tuple[System, dict[str, Any], dict[str, Any]]:
    """The system, with parameters and start by name; arguments override those of a scenario."""
    system = model.system if isinstance(model, Scenario) else model
    if not isinstance(system, System):
        what = "A System or a Scenario with a System is needed"
        raise ModelError(what, seen=type(system).__name__, remedy="pass da.System(...)")
    values: dict[str, Any] = {}
    beginning: dict[str, Any] = {}
    if isinstance(model, Scenario):
        known = {symbol.name for symbol in system.parameters}
        values = {name: value for name, value in model.parameters.items() if name in known}
        beginning = dict(model.start)
    given = numbers_by_name(parameters)
    values |= used_parameters(given, [symbol.name for symbol in system.parameters])
    beginning = _in_state(system, values, beginning | numbers_by_name(start))
    _check_start(system, beginning)
    return system, values, beginning


def _in_state(
    system: System, values: Mapping[str, Any], start: Mapping[str, Any]
) -> dict[str, Any]:
    """A start that names outputs, such as quasi-velocities, in coordinates and velocities.

    Where parameters have no values yet, states are looked for without these outputs.
    """
    named = moving_outputs(system).keys() & start.keys()
    if not named:
        return dict(start)
    parameters = [values.get(symbol.name, np.nan) for symbol in system.parameters]
    if not np.all(np.isfinite(parameters)):
        return {name: value for name, value in start.items() if name not in named}
    p, kernel = np.asarray(parameters, dtype=float), stated_kernel(system)
    found = consistent_start(Context(kernel, p), 0.0, start, p).state
    symbols = kernel.equations.state
    return {s.name: float(value) for s, value in zip(symbols, found, strict=True)}


def _check_start(system: System, start: Mapping[str, Any]) -> None:
    """Every name is a symbol of the state in some form."""
    speeds = system.image.speeds if system.image is not None else ()
    symbols = (*system.coordinates, *system.velocities, *system.momenta, *speeds)
    known = [*(s.name for s in symbols), *(f"chi_{c.name}" for c in system.bilateral)]
    for name in start:
        if name not in known:
            near = nearest(name, known)
            what = f"The start names `{name}`, which is no part of the state"
            remedy = f"did you mean {near}" if near else "use one of these names"
            raise StartError(what, ", ".join(known), remedy)


def stated_kernel(system: System) -> Kernel:
    """The kernel in the symbols of the statement, without image and one-sided constraints."""
    whole = system.bilateral == system.constraints
    bare = system if whole else system.replacing(constraints=system.bilateral)
    form = "hamilton" if system.is_hamiltonian else "lagrange"
    return kernel_of(derive(bare, form), system.parameters)


def take_apart(
    system: System, parameters: Mapping[str, Any], start: Mapping[str, Any], n: int = 8
) -> Anatomy:
    """The anatomy of a system at `n` generic consistent states."""
    kernel = stated_kernel(system)
    if system.image is None:
        samples = _states(kernel, parameters, start, n)
        near = _near(kernel, parameters, start) if system.bilateral else None
        return Anatomy(system, kernel, samples, samples, near)
    mover = kernel_of(derive(system.touching(()), "implicit-lagrangian"), system.parameters)
    motion = _states(mover, parameters, start, n)
    fibre = motion.momenta if system.is_hamiltonian else motion.velocities
    states = np.hstack([motion.coordinates, fibre])
    return Anatomy(system, kernel, replace(motion, kernel=kernel, states=states), motion)


def _near(
    kernel: Kernel, parameters: Mapping[str, Any], start: Mapping[str, Any]
) -> Samples | None:
    """States next to the start, where there is one on the constraints."""
    try:
        return consistent_states(kernel, parameters, start, 4, determined=False, radii=NEAR)
    except (ModelError, StartError):  # no consistent state is near
        return None


def _states(
    kernel: Kernel, parameters: Mapping[str, Any], start: Mapping[str, Any], n: int
) -> Samples:
    """Generic states where the motion is determined; where it nowhere is, consistent ones."""
    try:
        return consistent_states(kernel, parameters, start, n)
    except StartError:
        return consistent_states(kernel, parameters, start, n, determined=False)
