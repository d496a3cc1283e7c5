r"""The derivative of a start by what was given for it: values, and parameters of the constraints.

A start is made consistent by steps of least length, s = argmin s^T G s / 2 with A s = -r. With the
multipliers nu of a step, G s = A^T nu, the derivative along any direction is a problem of the same
kind,

    G ds = -dG s + dA^T nu + A^T dnu,      A ds = -dr - dA s

so that the steps of `start` are taken again, each with its derivative beside it: the tangents obey
the constraints, and what was held stays held. Newton's method converges quadratically, and its
derivative with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...codegen.dense_function import DenseFunction
from ...errors import ContradictionError, ModelError, RunError
from ...formulations.registry import derive
from ...runtime.gauss.constrained_solve import rank, solve, solve_rows
from ...runtime.kernel import kernel_of
from ...typing import Array
from ..residual_sizes import LIMIT
from ..start import GUESSES
from ..start_symbols import moving_quantities, own_symbols, start_form

if TYPE_CHECKING:
    from ...runtime.kernel import Kernel

__all__ = ["own_tangents", "shown_tangents", "start_tangents"]

#: Steps shorter than this, relative to the state, change no derivative.
SMALL = 1e-14
#: How far the start that is differentiated may lie from the one that was used.
AGREEMENT = 1e-7
#: The size of a state that is zero.
TINY = 1e-300


def start_tangents(
    kernel: Kernel,
    time: float,
    given: Mapping[str, float],
    p: Array,
    wrt: Sequence[str | sympy.Symbol],
    used: Array,
) -> Array:
    """The derivative of the consistent start, (k, n_state), by names of values and parameters.

    Parameters
    ----------
    kernel : Kernel
        That of the form which is integrated.
    wrt : sequence of str or symbols
        A name is a given start value; a symbol is a parameter of the kernel.
    used : array
        The start of the motion, in the symbols that it was made consistent in (see
        `start.start_form`).

    Raises
    ------
    RunError
        Where the given values do not lead to the start that was used.
    """
    equations = kernel.equations
    own = own_symbols(equations, given) if equations.start_form is not None else []
    if own:
        raise ModelError(
            f"Derivatives follow a start that is given in velocities, not in `{own[0]}`",
            seen=f'the form "{equations.form}"',
            remedy="start from motion.start, which has the velocities",
        )
    form = start_form(equations, given)
    other = kernel if form is None else kernel_of(derive(equations.system, form), kernel.parameters)
    found = _TangentStart(other, time, given, p, wrt)
    reached = found.y[: len(used)]
    missed = float(np.max(np.abs(reached - used), initial=0.0))
    if not missed <= AGREEMENT * (1.0 + np.max(np.abs(used), initial=0.0)):
        raise RunError(
            "The given values do not lead to the start of the motion",
            seen=f"{', '.join(given) or 'none'}, which miss it by {missed:.3g}",
            remedy="name every value that was given",
        )
    if other is kernel:
        return found.derivatives.T.copy()
    n = len(equations.system.coordinates)
    return own_tangents(kernel, time, reached, found.derivatives[: 2 * n].T, p, found.by_parameters)


class _TangentStart:
    """The steps of `start` to a consistent state, each with its derivative beside it.

    Attributes
    ----------
    y : array (n_state,)
    derivatives : array (n_state, k)
    by_parameters : array (n_parameters, k)
        Along which parameter each column goes.
    """

    def __init__(
        self, kernel: Kernel, time: float, given: Mapping[str, float], p: Array, wrt: Sequence[Any]
    ) -> None:
        self.kernel, self.time, self.p, self.wrt = kernel, time, p, tuple(wrt)
        self.state = kernel.equations.state
        self.given = {name: float(value) for name, value in given.items()}
        self.n_q = len(kernel.equations.system.coordinates)
        self.by_parameters = np.zeros((len(kernel.parameters), len(self.wrt)))
        for c, item in enumerate(self.wrt):
            if item in kernel.parameters:
                self.by_parameters[kernel.parameters.index(item), c] = 1.0
        self.y = np.array([self.given.get(symbol.name, 0.0) for symbol in self.state])
        self.derivatives = np.array([self._asked(symbol.name) for symbol in self.state]).reshape(
            len(self.state), len(self.wrt)
        )
        if kernel.n_positions:
            self._complete_positions()
            self._move("position")
        self._complete_velocities()
        if kernel.n_velocities:
            self._move("velocity")

    def _asked(self, name: str) -> list[float]:
        """The derivative of a given value by each of the asked ones."""
        return [float(name == item) for item in self.wrt]

    def _complete_positions(self) -> None:
        free = [k for k in range(self.n_q) if self.state[k].name not in self.given]
        if not free:
            return
        step = self._search(free, {})
        if step.worst(self.y) <= LIMIT:
            # Values not given are zero; they would be completed if the constraints changed.
            if step.is_solvable(self.y):
                _, self.y, self.derivatives = step.follow(self.y, self.derivatives)
            return
        derivatives = self.derivatives.copy()
        derivatives[free] = 0.0  # the search begins at a guess
        for guess in GUESSES:
            trial = self.y.copy()
            trial[free] = guess
            converged, y, found = step.follow(trial, derivatives)
            if converged:
                self.y, self.derivatives = y, found
                return

    def _complete_velocities(self) -> None:
        system = self.kernel.equations.system
        level = [
            k for k in range(self.n_q, len(self.state)) if not self.state[k].name.startswith("chi_")
        ]
        wanted = [s for s in (*system.velocities, *system.momenta) if s.name in self.given]
        wanted += [
            self.state[k]
            for k in level
            if self.state[k].name in self.given and self.state[k] not in set(wanted)
        ]
        named = {s.name: s for s in wanted}
        named |= {
            name: value for name, value in moving_quantities(system).items() if name in self.given
        }
        indirect = named.keys() - {s.name for s in self.state}
        if not (self.kernel.m or indirect) or not level:
            return
        both, alone = self._search(level, named), self._search(level, named, False)
        converged, y, derivatives = both.follow(self.y, self.derivatives)
        if converged and not np.any(both.contradicted):
            self.y, self.derivatives = y, derivatives
            return
        # A fully given start that violates the constraints is projected, not completed.
        _, first, held = alone.follow(self.y, self.derivatives)
        if np.any(alone.contradicted):
            raise RunError(
                "The start tells more than is independent, and so has no derivative",
                seen=", ".join(named),
                remedy="give velocities, momenta or outputs, but not more than one of them",
            )
        self.y, self.derivatives = (
            (y, np.where(both.contradicted, held, derivatives)) if converged else (first, held)
        )

    def _move(self, level: str) -> None:
        projection = getattr(self.kernel.graph, level)
        metric = self.kernel.graph.metric if projection.metric is None else projection.metric
        blocks = (projection.residual, projection.rows, metric, projection.lift)
        _, self.y, self.derivatives = _DifferentiatedStep(self, level, lambda: blocks).follow(
            self.y, self.derivatives
        )

    def _search(
        self, free: list[int], wanted: Mapping[str, Any], constrained: bool = True
    ) -> _DifferentiatedStep:
        """The step that solves for some state entries: their level's constraints, wanted values."""
        kernel = self.kernel

        def blocks() -> tuple[Any, Any, Any, Any]:
            level = kernel.graph.position if free[0] < self.n_q else kernel.graph.velocity
            parts = [kernel.lower(list(wanted.values()))] if wanted else []
            residual = (
                ca.vertcat(*parts, level.residual)
                if constrained
                else ca.vertcat(ca.SX(0, 1), *parts)
            )
            symbols = kernel.algebra.vector([self.state[k] for k in free])
            lift = ca.DM(kernel.n_state, len(free))
            for column, k in enumerate(free):
                lift[k, column] = 1.0
            return residual, ca.jacobian(residual, symbols), ca.DM.eye(len(free)), lift

        step = _DifferentiatedStep(self, (tuple(free), tuple(wanted), constrained), blocks)
        step.goal[: len(wanted)] = [self.given[name] for name in wanted]
        for row, name in enumerate(wanted):
            step.held[row] = self._asked(name)
        return step


class _DifferentiatedStep:
    """One least step to residual = goal and its derivative, as numbers.

    Attributes
    ----------
    goal, held : arrays (m,) and (m, k)
        What the residual shall be, and its derivative.
    contradicted : array of bool (k,)
        Along which columns no step exists.
    """

    def __init__(
        self, start: _TangentStart, key: Hashable, build: Callable[[], tuple[Any, Any, Any, Any]]
    ) -> None:
        self.start = start
        functions = start.kernel.cache.get(("start step", key), lambda: self._functions(build()))
        self.blocks, self.push, self.n, self.m = functions
        self.goal, self.held = np.zeros(self.m), np.zeros((self.m, len(start.wrt)))
        self.contradicted = np.zeros(len(start.wrt), bool)

    def _functions(self, given: tuple[Any, Any, Any, Any]) -> tuple[Any, Any, int, int]:
        inputs = self.start.kernel._inputs()
        symbols = ca.vertcat(inputs[1], inputs[2])
        blocks = [ca.densify(ca.SX(block)) for block in given]
        residual, rows, metric, lift = blocks
        n, m = metric.shape[0], residual.numel()
        s, nu = ca.SX.sym("s", n), ca.SX.sym("nu", m)
        parts = (metric @ s - rows.T @ nu, residual + rows @ s, lift @ s)
        derivatives = [ca.densify(ca.jacobian(part, symbols)) for part in parts]
        return DenseFunction(inputs, blocks), DenseFunction([*inputs, s, nu], derivatives), n, m

    def _inputs(self, y: Array) -> list[Array | float]:
        return [
            self.start.time,
            y,
            self.start.p,
            np.zeros(len(self.start.kernel.free_inputs)),
            np.zeros(0),
        ]

    def _numbers(self, y: Array) -> tuple[Array, ...]:
        residual, rows, metric, lift = self.blocks(*self._inputs(y))
        return residual.ravel() - self.goal, rows.reshape(self.m, self.n), metric, lift

    def worst(self, y: Array) -> float:
        """The distance to the goal, relative to the state, independent of constraint factors."""
        missed, rows, _, _ = self._numbers(y)
        lengths = np.linalg.norm(rows, axis=1) * max(float(np.max(np.abs(y), initial=0.0)), TINY)
        return float(np.max(np.abs(missed) / np.where(lengths > 0, lengths, 1.0), initial=0.0))

    def is_solvable(self, y: Array) -> bool:
        """Whether the rows are independent at a state."""
        rows = self._numbers(y)[1]
        return bool(np.all(np.isfinite(rows)) and rank(rows).rank == self.m)

    def follow(self, y: Array, derivatives: Array) -> tuple[bool, Array, Array]:
        """Iterate from y: whether the goal is met, the state, its derivatives (n_state, k)."""
        for _ in range(80):
            try:
                lifted, derivatives = self._once(y, derivatives)
            except (RunError, FloatingPointError):  # the goal is not met
                return False, y, derivatives
            y = y + lifted
            if not np.all(np.isfinite(y)):
                return False, y, derivatives
            # The derivative converges one step behind: it was taken once more where nothing moves.
            if np.max(np.abs(lifted), initial=0.0) <= SMALL * (
                1.0 + np.max(np.abs(y), initial=0.0)
            ):
                break
        return self.worst(y) <= LIMIT, y, derivatives

    def _once(self, y: Array, derivatives: Array) -> tuple[Array, Array]:
        missed, rows, metric, lift = self._numbers(y)
        definite = self.start.kernel.equations.is_definite
        found = solve(metric, np.zeros(self.n), rows, -missed, definite=definite, gauge=True)
        numbers = self.push(*self._inputs(y), found.z, found.multipliers)
        directions = np.vstack([derivatives, self.start.by_parameters])
        force, change, moved = (block @ directions for block in numbers)
        moved += derivatives
        for c in range(derivatives.shape[1]):
            right = self.held[:, c] - change[:, c]
            if not np.any(right) and not np.any(force[:, c]):
                continue
            try:
                moved[:, c] += (
                    lift @ solve(metric, -force[:, c], rows, right, definite=definite, gauge=True).z
                )
            except ContradictionError:
                self.contradicted[c] = True
        return lift @ found.z, moved


# -- between the symbols of a form and those that a motion shows -----------------------------------


def shown_tangents(
    kernel: Kernel, time: float, y: Array, derivatives: Array, p: Array, by_parameters: Array
) -> Array:
    """Derivatives (k, n_state) of a form as those of (q, q_dot), (k, 2n)."""
    n = len(kernel.equations.system.coordinates)
    inputs = kernel._inputs()
    symbols = ca.vertcat(inputs[1], inputs[2])
    function = ca.Function(
        "velocity_derivatives", inputs, [ca.densify(ca.jacobian(kernel.graph.velocities, symbols))]
    )
    table = np.asarray(
        function(time, y, p, np.zeros(len(kernel.free_inputs)), np.zeros(0)), dtype=float
    )
    return np.hstack([derivatives[:, :n], np.hstack([derivatives, by_parameters.T]) @ table.T])


def own_tangents(
    kernel: Kernel, time: float, full: Array, derivatives: Array, p: Array, by_parameters: Array
) -> Array:
    """Map derivatives (k, 2n) of (q, q_dot) at `full` (2n,) to the form's symbols, (k, n_state)."""
    from ..state_symbols import state_with_velocities, symbols_by_velocities

    system, state = kernel.equations.system, kernel.equations.state
    n = len(system.coordinates)
    places = {symbol: n + k for k, symbol in enumerate(system.velocities)}
    own = np.zeros((len(derivatives), len(state)))
    own[:, :n] = derivatives[:, :n]
    if all(symbol in places for symbol in state[n:]):
        for k, symbol in enumerate(state[n:]):
            own[:, n + k] = derivatives[:, places[symbol]]
        return own
    y = state_with_velocities(kernel, time, full[:n], full[n:], p)
    inputs = kernel._inputs()
    known, symbols = ca.vertcat(inputs[1][:n], inputs[2]), inputs[1][n:]
    free = np.zeros(len(kernel.free_inputs))
    if kernel.graph.own_symbols is not None:
        v, values = symbols_by_velocities(kernel)
        jacobian = ca.densify(ca.jacobian(values, ca.vertcat(known, v)))
        table = ca.Function("own", [*inputs, v], [jacobian])
        number = np.asarray(table(time, y, p, free, np.zeros(0), full[n:]), dtype=float)
        own[:, n:] = np.hstack([derivatives[:, :n], by_parameters.T, derivatives[:, n:]]) @ number.T
        return own
    lowered = kernel.lower(system.velocities)
    tables = ca.Function(
        "derivatives",
        inputs,
        [ca.densify(ca.jacobian(lowered, symbols)), ca.densify(ca.jacobian(lowered, known))],
    )
    rows, rest = (np.asarray(b, dtype=float) for b in tables.call([time, y, p, free, np.zeros(0)]))
    for c in range(len(derivatives)):
        target = derivatives[c, n:] - rest @ np.concatenate(
            [derivatives[c, :n], by_parameters[:, c]]
        )
        try:
            own[c, n:] = solve_rows(rows, target)
        except RunError as error:
            raise RunError("The start of the form has no derivative", seen=str(error)) from error
    return own
