"""What a run with fixed steps must hold before it counts as finished: its constraints and its
energy.

A method without error control takes whatever its equations give. Where these have several roots, or
nearly none, as beside a loss of rank, a step may solve them to rounding and still leave the motion.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from ....codegen.passes.magnitudes import magnitudes
from ....codegen.program import straight_line
from ....formulations.constraint_equations import velocity_level
from ....model.flow_system import Flow
from ....model.symbols import t
from ....model.system import System
from ....model.work_clock import work
from ....runtime.kernel import Kernel
from ....runtime.native_functions import functions
from ...outcome import Outcome, Termination
from ...segment import Segment
from ...termination import lost_rank
from ..method import FixedStep
from ..table import find_method

if TYPE_CHECKING:
    from ....typing import Array
    from ...driver import Driver
    from ...task import Task

__all__ = ["departure", "untrue"]

#: A residual above this part of the largest size of the terms of its constraint is no rounding.
HELD = 1e-6
#: A conserved energy may change by at most this part of p v, twice the kinetic energy.
GAINED = 0.25
#: What is below this part of the terms of an energy is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class _Checks:
    """A native program: residuals (m), sizes of their terms (m), energy, its size, p v."""

    address: int
    names: tuple[str, ...]

    def values(self, kernel: Kernel, segment: Segment, parameters: Array) -> Array:
        """The table of a segment, a row for each step."""
        count, width = len(segment.step_t), 2 * len(self.names) + 3
        none, result = np.zeros(len(kernel.free_inputs) + 1), np.empty((count, width))
        blocks = [
            np.ascontiguousarray(b, dtype=float)
            for b in (segment.step_t, segment.step_y, parameters)
        ]
        strides = np.array([1, kernel.n_state, 0, 0, 0])
        functions()["map_rows"](self.address, count, width, strides, *blocks, none, none, result)
        return result


@dataclass(frozen=True)
class Departure:
    """The first step of a segment that leaves the motion, and what is wrong there as a clause."""

    step: int
    clause: str


def departure(task: Task, segment: Segment) -> Departure | None:
    """Where a segment leaves its constraints or its conserved energy; None if it does not."""
    kernel = segment.context.kernel
    ends_on = _ends_on_constraints(task)
    checks = kernel.cache.get(("fixed checks", ends_on), lambda: _compiled(kernel, ends_on))
    table, m = checks.values(kernel, segment, segment.context.parameters), len(checks.names)
    residuals, sizes = np.abs(table[:, :m]), np.maximum.accumulate(table[:, m : 2 * m], axis=0)
    off = ~(residuals <= HELD * sizes)
    first = int(np.argmax(off.any(axis=1))) if off.any() else len(table)
    energy = None
    if not _are_driven(task.equations.system):
        energy = _gain(table[:first, 2 * m :], _dissipates(task))
    if energy is not None:
        return energy
    if first == len(table):
        return None
    number = int(np.argmax(residuals[first] / (sizes[first] + 1e-300)))
    return Departure(
        first,
        f"the constraint `{checks.names[number]}` has the residual {residuals[first, number]:.3g}, "
        f"with terms of size {sizes[first, number]:.3g}",
    )


def _gain(table: Array, dissipates: bool) -> Departure | None:
    """Where an energy that is conserved has changed by as much as there is kinetic energy.

    Contacts may dissipate it; their bound is then that of the least energy so far.
    """
    energies, sizes, scale = table.T
    gained = (
        energies - np.minimum.accumulate(energies) if dissipates else np.abs(energies - energies[0])
    )
    wrong = gained > GAINED * np.maximum.accumulate(scale) + ROUNDING * np.maximum.accumulate(sizes)
    if not wrong.any():
        return None
    first = int(np.argmax(wrong))
    return Departure(first, f"the energy, which is conserved, has changed by {gained[first]:.3g}")


def untrue(driver: Driver) -> Termination | None:
    """The ending of a run with fixed steps that left its motion, truncated there; else None."""
    record, run = driver.record, driver.run
    for number, segment in enumerate(record.segments):
        found = departure(driver.task, segment)
        if found is None:
            continue
        kept = max(found.step, 1)
        last, bad = float(segment.step_t[kept - 1]), float(segment.step_t[found.step])
        record.segments[number:] = [
            replace(segment, step_t=segment.step_t[:kept], step_y=segment.step_y[:kept])
        ]
        record.reached = int(np.sum(record.at <= last if record.forward else record.at >= last))
        run.y[:], run.clock.t = segment.step_y[kept - 1], last
        reason = lost_rank(driver)
        if reason is not None:
            return Termination.singular(last, f"{reason}. At t = {bad:.9g} {found.clause}")
        return Termination(
            Outcome.UNSOLVED,
            f"The steps of {driver.task.method} left the motion after t = {last:.9g}: at t ="
            f" {bad:.9g} {found.clause}. Take a smaller step, or look for a state at which the"
            " constraints lose rank.",
        )
    return None


def _are_driven(system: System | Flow) -> bool:
    """Whether contacts move of themselves, as belts do, and so bring energy."""
    still = dict.fromkeys(system.velocities, 0)
    found: bool = system.cache.get(
        "contacts are driven",
        lambda: any(
            c.expression.has(t) or any(w.has(t) or w.subs(still) != 0 for w in c.tangent)
            for c in system.unilateral
        ),
    )
    return found


def _dissipates(task: Task) -> bool:
    step = find_method(task.method).step
    return isinstance(step, FixedStep) and step.dissipates


def _ends_on_constraints(task: Task) -> bool:
    """Whether steps end on the constraints, by their own equations or by projection."""
    step = find_method(task.method).step
    return bool(task.project) or (isinstance(step, FixedStep) and step.ends_on_constraints)


@work("compile")
def _compiled(kernel: Kernel, on_constraints: bool) -> _Checks:
    system, graph, inputs = kernel.equations.system, kernel.graph, kernel._inputs()
    is_flow = isinstance(system, Flow)
    residual, names = ca.SX(0, 1), list[str]()
    if on_constraints and not is_flow:
        levels = [
            [c.name for c in system.bilateral if c.is_position_level],
            [c.name for c in system.bilateral],
        ]
        for column, level in zip(graph.residuals, levels, strict=True):
            count = int(column.numel())
            names += level if len(level) == count else [f"row {k + 1}" for k in range(count)]
            residual = ca.vertcat(residual, column)
    energy = ca.SX(graph.energy) if _conserves_energy(kernel) else ca.SX(0)
    sizes, size = magnitudes(inputs, residual), magnitudes(inputs, energy)
    scale = size if is_flow else ca.fabs(ca.dot(graph.momenta, graph.velocities))
    columns = [ca.densify(ca.SX(column)) for column in (residual, sizes, energy, size, scale)]
    program = straight_line("fixed_checks", inputs, columns)
    return _Checks(kernel.load_program(program), tuple(names))


def _conserves_energy(kernel: Kernel) -> bool:
    """Whether structure conserves the energy: no force, input or time; linear constraints."""
    system, algebra = kernel.equations.system, kernel.algebra
    if isinstance(system, Flow):
        return "energy" in system.integrals
    if (
        not isinstance(system, System)
        or system.image is not None
        or kernel.equations.form == "vakonomic"
    ):
        return False
    if (
        system.forces
        or system.inputs
        or system.dissipation != 0
        or not all(c.is_ideal for c in system.bilateral)
    ):
        return False
    if any(c.is_momentum_level for c in system.bilateral):
        return False
    level = velocity_level(system, algebra)
    v, time = algebra.vector(system.velocities), algebra.vector([t])
    if algebra.depends(ca.vertcat(ca.SX(kernel.graph.energy), level.residual), time):
        return False
    if algebra.depends(ca.jacobian(level.residual, v), v):
        return False
    return bool(ca.simplify(ca.substitute(level.residual, v, ca.SX.zeros(v.numel()))).is_zero())
