"""Consistent starts of many runs at once.

The same completion and projection as `start.consistent_start`, by the same native solves, for all
runs side by side. What does not go smoothly for a run (no convergence, a residual that stays, a
start that must be refused) is not decided here: the run is left to the driver, which has the words
for it.
"""

from __future__ import annotations

from collections.abc import Hashable

import casadi as ca
import numpy as np

from ...codegen.passes.magnitudes import magnitudes
from ...runtime.context import Context
from ...runtime.gauss.gauss_problem import order_size, work_size
from ...runtime.gauss.solve_status import CONTRADICTORY, REGULAR, SINGULAR
from ...runtime.native_functions import functions
from ...runtime.projection import MISSING
from ...typing import Array, BoolArray, IntArray
from ..residual_sizes import LIMIT, ROUNDING, excess, relative, term_sizes
from ..start import GUESSES
from .batch_functions import Rowwise, kept_rowwise
from .chunks import RunPlan

__all__ = ["consistent_states"]

MOST_STEPS = 60


def consistent_states(plan: RunPlan, parameters: Array, values: Array) -> tuple[Array, BoolArray]:
    """The starts of k runs in the symbols of the form.

    Parameters
    ----------
    parameters : array (k, n_par)
    values : array (k, len(plan.given))

    Returns
    -------
    states : array (k, n_state)
    fine : array (k,) of bool
        Whether the start was made; the others are left to the driver.
    """
    with plan._lock:
        starter = plan.cache.get("starter", lambda: _BatchStarter(plan))
        return starter.run(np.ascontiguousarray(parameters), np.ascontiguousarray(values))


class _BatchStarter:
    """What all runs share: which symbols are given, and the functions of the constraints."""

    def __init__(self, plan: RunPlan) -> None:
        self.plan, self.kernel = plan, plan.start_kernel
        self.time = plan.task.span[0]
        system = self.system = self.kernel.equations.system
        state = self.state = self.kernel.equations.state
        self.names = [symbol.name for symbol in state]
        self.context = Context(self.kernel, np.zeros(len(self.kernel.parameters)))
        symbols = {*self.names, *(s.name for s in (*system.velocities, *system.momenta))}
        self.is_known = symbols.issuperset(plan.given)
        self.places = {name: k for k, name in enumerate(plan.given)}
        self.free_positions = [
            k for k, q in enumerate(system.coordinates) if q.name not in self.places
        ]
        self.form_places = self._places_in_form()
        self.inputs = self.kernel._inputs()[:4]
        if self.is_known:
            self._make_functions()

    def _make_functions(self) -> None:
        graph, state, vector = self.kernel.graph, self.state, self.kernel.algebra.vector
        residual = graph.position.residual
        size = magnitudes(self.kernel._inputs(), graph.position.residual)
        self.position = self._kept("position", [residual, term_sizes(self.kernel, "position")])
        if self.kernel.n_positions and self.free_positions:
            jacobian = ca.jacobian(graph.position.residual, vector(self.system.coordinates))[
                :, self.free_positions
            ]
            key = ("positions", *self.free_positions)
            self.position_newton = self._kept(key, [residual, jacobian, size], ca.SX(0, 1))
        n_q = len(self.system.coordinates)
        self.level = [k for k in range(n_q, len(state)) if not state[k].name.startswith("chi_")]
        wanted = [
            s for s in (*self.system.velocities, *self.system.momenta) if s.name in self.places
        ]
        known = set(wanted)
        wanted += [
            state[k] for k in self.level if state[k].name in self.places and state[k] not in known
        ]
        residual = graph.velocity.residual
        self.velocity = self._kept("velocity", [residual, term_sizes(self.kernel, "velocity")])
        in_state = set(state)
        self.is_indirect = any(symbol not in in_state for symbol in wanted)
        self.is_open = bool(self.kernel.m) and any(
            state[k].name not in self.places for k in self.level
        )
        self.wanted = [self.places[s.name] for s in wanted]
        asked = ca.SX.sym("asked", len(wanted))
        conditions = self.kernel.lower(wanted) - asked if wanted else ca.SX(0, 1)
        both = ca.vertcat(conditions, residual)
        jacobian = ca.jacobian(both, vector([state[k] for k in self.level]))
        size = magnitudes(self.kernel._inputs(asked), both)
        self.velocity_newton = self._kept(
            ("velocities", *(s.name for s in wanted)), [both, jacobian, size], asked
        )

    def _kept(self, key: Hashable, blocks: list[ca.SX], *further: ca.SX) -> Rowwise:
        """Blocks as functions of (t, y, p, u) and more, with the bits of a single call."""

        def written() -> ca.Function:
            return ca.Function(
                "start", [*self.inputs, *further], [ca.densify(block) for block in blocks]
            )

        return kept_rowwise(self.kernel, ("start", key), written, fused=False)

    def _places_in_form(self) -> list[int] | None:
        """Indices of the form's symbols in the start; None if they must be solved for."""
        equations = self.plan.task.equations
        if self.kernel is self.plan.kernel:
            return list(range(len(self.state)))
        table = {
            symbol: k
            for k, symbol in enumerate((*self.system.coordinates, *self.system.velocities))
        }
        found = [table.get(symbol, -1) for symbol in equations.state]
        return None if -1 in found else found

    def run(self, parameters: Array, values: Array) -> tuple[Array, BoolArray]:
        count = len(parameters)
        y = np.zeros((count, len(self.state)))
        nothing = np.zeros((count, self.plan.kernel.n_state)), np.zeros(count, bool)
        if not self.is_known or self.form_places is None:
            return nothing
        fine: BoolArray = np.all(np.isfinite(parameters), axis=1) & np.all(
            np.isfinite(values), axis=1
        )
        for k, name in enumerate(self.names):
            if name in self.places:
                y[:, k] = values[:, self.places[name]]
        self._project_positions(y, parameters, values, fine)
        self._project_velocities(y, parameters, values, fine)
        fine &= np.isfinite(y).all(axis=1)
        return np.ascontiguousarray(y[:, self.form_places]), fine

    def _project_positions(self, y: Array, p: Array, values: Array, fine: BoolArray) -> None:
        if not self.kernel.n_positions:
            return
        if self.free_positions:
            away = np.flatnonzero(fine & (self._excess(self.position, y, p, fine, ROUNDING) > 0))
            trial = y[away]
            trial[:, self.free_positions] = GUESSES[0]
            good = self._newton(
                self.position_newton, trial, p[away], np.zeros((len(away), 0)), self.free_positions
            )
            y[away], fine[away] = trial, good
        self._move(self.position, 0, y, p, fine)

    def _project_velocities(self, y: Array, p: Array, values: Array, fine: BoolArray) -> None:
        if self.is_indirect or self.is_open:
            moved = self.is_indirect or self._worst(self.velocity, y, p, fine) > 0.0
            some = np.flatnonzero(fine & moved)
            trial = y[some]
            good = self._newton(
                self.velocity_newton, trial, p[some], values[some][:, self.wanted], self.level
            )
            y[some], fine[some] = trial, good
        if self.kernel.n_velocities:
            self._move(self.velocity, 1, y, p, fine)

    # -- tools -------------------------------------------------------------------------------------

    def _values(self, function: Rowwise, y: Array, p: Array, *further: Array) -> list[Array]:
        """The outputs of a function for all rows of y, each as an array (k, rows, columns)."""
        count = len(y)
        return function(
            np.full((count, 1), self.time),
            y,
            p,
            np.zeros((count, len(self.kernel.free_inputs))),
            *further,
        )

    def _worst(self, function: Rowwise, y: Array, p: Array, fine: BoolArray) -> Array:
        """The largest residual of each run, (k,); NaN for those that are not fine any more."""
        worst, some = np.full(len(y), np.nan), np.flatnonzero(fine)
        if some.size:
            worst[some] = np.abs(self._values(function, y[some], p[some])[0]).max(
                axis=(1, 2), initial=0.0
            )
        return worst

    def _excess(
        self, function: Rowwise, y: Array, p: Array, fine: BoolArray, limit: float = LIMIT
    ) -> Array:
        """Excess of each run's residuals over what is allowed, (k,); NaN for failed runs."""
        found, some = np.full(len(y), np.nan), np.flatnonzero(fine)
        if some.size:
            residual, size = (block[:, :, 0] for block in self._values(function, y[some], p[some]))
            found[some] = excess(residual, size, limit)
        return found

    def _newton(
        self, function: Rowwise, y: Array, p: Array, asked: Array, free: list[int]
    ) -> BoolArray:
        """Newton's method with least steps, per run, over some symbols; whether it converged."""
        good, previous = np.zeros(len(y), bool), np.full(len(y), np.inf)
        active, before = np.arange(len(y)), np.zeros((len(y), 1, 1))
        for _ in range(MOST_STEPS):
            if not active.size:
                break
            value, rows, size = self._values(function, y[active], p[active], asked[active])
            worst = relative(value, np.maximum(size, before)).max(axis=(1, 2), initial=0.0)
            finite = np.isfinite(worst) & np.isfinite(rows).all(axis=(1, 2))
            done = finite & (
                (worst < 1e-15) | ((worst < 1e-10) & (worst >= 0.5 * previous[active]))
            )
            good[active[done]] = True
            previous[active] = worst
            on = finite & ~done
            active, value, rows, before = active[on], value[on], rows[on], size[on]
            if active.size:
                steps, solved = _least_steps(rows, -value[:, :, 0])
                active, steps, before = active[solved], steps[solved], before[solved]
                y[np.ix_(active, free)] += steps
        return good

    def _move(self, function: Rowwise, level: int, y: Array, p: Array, fine: BoolArray) -> None:
        """Project every run at one level; runs that keep their residual or may not move fail."""
        worst = self._worst(function, y, p, fine)
        fine &= np.isfinite(worst)
        if not self.plan.task.project_start:
            fine &= self._excess(function, y, p, fine, ROUNDING) == 0
        some = np.flatnonzero(fine)
        if not some.size:
            return
        statuses = self._projected(some, level, y, p)
        if MISSING in statuses:
            self.context.complete()
            statuses = self._projected(some, level, y, p)
        fine[some] &= statuses == REGULAR
        fine &= self._excess(function, y, p, fine) == 0

    def _projected(self, some: IntArray, level: int, y: Array, p: Array) -> IntArray:
        """Project some rows of y (k, n_state) by the function of a single run; the statuses."""
        self.context.prepare_projection()
        statuses = np.zeros(len(some), np.int64)
        width = p.shape[1]
        functions()["project_rows"](
            self.context.fields, self.time, len(some), some, y, width, p, level, statuses
        )
        return statuses


def _least_steps(rows: Array, right: Array) -> tuple[Array, BoolArray]:
    """The least step of each run with rows (k, m, n) @ step = right (k, m), and if it exists."""
    count, m, n = rows.shape
    rows, right = np.ascontiguousarray(rows), np.ascontiguousarray(right)
    steps, statuses = np.zeros((count, n)), np.zeros(count, np.int64)
    solve = functions()["gauss_solve"]
    metric, force, multipliers, info = np.eye(n), np.zeros(n), np.zeros(max(1, m)), np.zeros(4)
    work, order = np.zeros(work_size(n, m)), np.zeros(order_size(n, m), np.int64)
    for k in range(count):
        statuses[k] = solve(
            n, m, metric, force, rows[k], right[k], steps[k], multipliers, True, False, work, order,
            info, np.zeros(1, np.int64)
        )  # fmt: skip
    return steps, (statuses != SINGULAR) & (statuses != CONTRADICTORY)
