"""Consistent starts: completed where they are not given in full, moved to the constraints where
they break them.

What is given is held; what is missing is chosen so that the constraints hold, with the least change
from zero. A start that breaks a constraint although it is complete is moved to the nearest
consistent one in the kinetic metric, and that is reported; or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ..codegen.dense_function import DenseFunction
from ..errors import (
    ContradictionError,
    Faults,
    RunError,
    StartError,
    nearest,
    raise_collected,
)
from ..formulations.equations import Equations
from ..model.names import shortened
from ..model.symbols import name_of
from ..model.values import real_number
from ..runtime.diagnosis import explain
from ..runtime.gauss.constrained_solve import solve
from ..runtime.gauss.solve_status import REGULAR, SINGULAR
from ..runtime.kernel import kernel_of
from .residual_sizes import LIMIT, ROUNDING, excess, relative, scaled_terms, term_sizes
from .start_symbols import moving_quantities, own_symbols, start_names

if TYPE_CHECKING:
    from ..runtime.context import Context
    from ..typing import Array, ArrayLike

__all__ = [
    "Start",
    "changed_symbols",
    "consistent_start",
    "in_velocities",
]

#: Blocks at a state, and at the values of further symbols.
_Function = Callable[..., list[Any]]

#: Where the search for missing coordinates begins; at zero a constraint may have no derivative.
GUESSES = (0.0, 0.1, -0.1, 1.0)
#: A derivative that is a smaller share of the largest one of its constraint is rounding.
NOTHING = 1e-13
#: No more symbols are completed from the constraints at once: that solve is dense.
MOST_COMPLETED = 5000
#: Symbols that move by less than this part of the state, though no constraint was broken, are not
#: said to be moved; nor are those that move by less than this part of the largest move, where one
#: was.
MOVED, SHARE_TOLD = 1e-12, 1e-6


@dataclass(frozen=True)
class Start:
    """A state that obeys the constraints, and what had to be done for it.

    Attributes
    ----------
    state : array (n_state,)
    report : tuple of str
        One sentence for each thing that was completed or moved.
    """

    state: Any
    report: tuple[str, ...]


def consistent_start(
    context: Context, time: float, given: Mapping[Any, Any], p: Array, project_start: bool = True
) -> Start:
    """The start of a run.

    Raises
    ------
    StartError
        For unknown names, values that are not finite, and starts that cannot be made consistent.
    """
    return StartSolver(context, time, p, project_start).run(given)


def in_velocities(
    equations: Equations, context: Context, time: float, given: Mapping[Any, Any], p: Array
) -> Mapping[Any, Any]:
    """A start in symbols that only the form has, as one in velocities; those that are not given are
    zero.

    Parameters
    ----------
    context : Context
        Of the form in which the start is made consistent, which completes the coordinates first.

    Raises
    ------
    StartError
        Where velocities or momenta are given as well.
    """
    own = own_symbols(equations, given)
    if not own:
        return given
    system, values = (
        equations.system,
        {name_of(key): real_number(value) for key, value in given.items()},
    )
    kept = {s.name for s in equations.state}
    moving = (s.name for s in (*system.velocities, *system.momenta))
    both = [name for name in moving if name in values and name not in kept]
    wrong = [name for name in own if not np.isfinite(values[name])]
    if both or wrong:
        raise StartError(
            (
                f"The start of `{wrong[0]}` must be a finite number"
                if wrong
                else "The start gives velocities in two ways"
            ),
            seen=", ".join(wrong or [*own, *both]),
            remedy=(
                "give a number" if wrong else f"give {', '.join(own)}, or velocities, but not both"
            ),
        )
    rest = {key: value for key, value in given.items() if name_of(key) not in own}
    positions = consistent_start(context, time, rest, p).state[: len(system.coordinates)]
    velocities = _velocities(equations, time, positions, values, p)
    if equations.rechoose is not None and not np.all(np.isfinite(velocities)):
        here = {s.name: float(value) for s, value in zip(system.parameters, p, strict=True)}
        here |= {
            q.name: float(value) for q, value in zip(system.coordinates, positions, strict=True)
        }
        other = equations.rechoose(here)
        if set(own) <= {s.name for s in other.state}:
            velocities = _velocities(other, time, positions, values, p)
    if not np.all(np.isfinite(velocities)):
        raise StartError(
            f"The velocities do not follow from {', '.join(own)} at this start",
            seen=(
                f'the form "{equations.form}" with the independent velocities'
                f" {', '.join(equations.chart) or 'of its own'}"
            ),
            remedy="give velocities",
        )
    return rest | {
        v.name: float(value) for v, value in zip(system.velocities, velocities, strict=True)
    }


def _velocities(
    equations: Equations, time: float, positions: Array, values: Mapping[str, float], p: Array
) -> Any:
    """All velocities (n,) from values of the form's own symbols, zero where not given."""
    system = equations.system
    symbols = equations.state[len(system.coordinates) :]
    state = np.array([[*positions, *(values.get(s.name, 0.0) for s in symbols)]])
    return kernel_of(equations, system.parameters).velocities(np.array([time]), state, p)[0]


def changed_symbols(equations: Equations, state: Array, given: Mapping[Any, Any]) -> list[str]:
    """Report symbols of the form whose values differ from those given, after a new choice."""
    own = own_symbols(equations, given)
    if not own:
        return []
    found = {s.name: float(value) for s, value in zip(equations.state, state, strict=True)}
    wanted = {name_of(key): real_number(value) for key, value in given.items()}
    other = [
        name
        for name in found
        if name in own and abs(found[name] - wanted[name]) > LIMIT * (1 + abs(wanted[name]))
    ]
    if not other:
        return []
    changes = ", ".join(f"{name} {wanted[name]:.6g} -> {found[name]:.6g}" for name in other)
    return [f"Other independent velocities were chosen, in which the same start reads {changes}."]


def _change(before: float, after: float) -> str:
    """A change in words that show it, however small."""
    old, new = f"{before:.6g}", f"{after:.6g}"
    return f"{old} -> {new}" if old != new else f"{old}, by {after - before:.2g}"


class StartSolver:
    def __init__(self, context: Context, time: float, p: Array, project_start: bool) -> None:
        self.context, self.kernel, self.time, self.p = context, context.kernel, time, p
        self.project_start = project_start
        self.system = self.kernel.equations.system
        self.n_q = len(self.system.coordinates)
        self.home: Mapping[Any, float] = getattr(self.system, "home", {})
        self.report: list[str] = []

    def run(self, given: Mapping[Any, Any]) -> Start:
        values = self._read(given)
        y = np.zeros(self.kernel.n_state)
        for k, symbol in enumerate(self.kernel.equations.state):
            y[k] = values.get(symbol.name, self.home.get(symbol, 0.0))
        self._project_positions(y, values)
        self._project_velocities(y, values)
        return Start(y, tuple(self.report))

    # -- reading -----------------------------------------------------------------------------------

    def _read(self, given: Mapping[Any, Any]) -> dict[str, float]:
        faults = Faults()
        known = start_names(self.kernel.equations)
        recognised = set(known)
        values: dict[str, float] = {}
        for key, value in given.items():
            name = name_of(key)
            if name not in recognised:
                near = nearest(name, known)
                faults.append(
                    StartError(
                        f"The start names `{name}`, which is no part of the state",
                        seen=", ".join(known),
                        remedy=f"did you mean {near}" if near else "use one of these names",
                    )
                )
                continue
            number = real_number(value)
            if not np.isfinite(number):
                fault = f"The start of `{name}` must be a finite number"
                faults.append(StartError(fault, seen=shortened(value), remedy="give it a number"))
                continue
            values[name] = number
        if faults:
            raise_collected(faults)
        return values

    # -- positions ---------------------------------------------------------------------------------

    def _project_positions(self, y: Array, values: dict[str, float]) -> None:
        if not self.kernel.n_positions:
            return
        free = [k for k, q in enumerate(self.system.coordinates) if q.name not in values]
        if free and self._excess("position", y, ROUNDING):
            conditions = self._position_conditions(free)
            for guess in GUESSES:
                trial = y.copy()
                trial[free] += guess
                if self._newton(trial, conditions, free):
                    y[:] = trial
                    self._say_completed(y, free)
                    break
        self._move_to_constraints(y, "position", bool(self.report))

    def _position_conditions(self, free: list[int]) -> _Function:
        """Conditions on the free coordinates; derivatives that are rounding count as zero."""

        def blocks() -> list[Any]:
            residual = self.kernel.graph.position.residual
            coordinates = self.kernel.algebra.vector(self.system.coordinates)
            size = scaled_terms(self.kernel._inputs(), residual, coordinates)
            return [residual, ca.jacobian(residual, coordinates), size]

        everything = self._function("positions", blocks)

        def on_free(y: Array, values: ArrayLike = ()) -> list[Any]:
            residual, derivative, size = everything(y)
            largest = np.max(np.abs(derivative), axis=1, keepdims=True)
            rows = derivative[:, free]
            return [residual, np.where(np.abs(rows) > NOTHING * largest, rows, 0.0), size]

        return on_free

    # -- velocities --------------------------------------------------------------------------------

    def _project_velocities(self, y: Array, values: dict[str, float]) -> None:
        state = self.kernel.equations.state
        level = [k for k in range(self.n_q, len(state)) if not state[k].name.startswith("chi_")]
        wanted = [s for s in (*self.system.velocities, *self.system.momenta) if s.name in values]
        known = set(wanted)
        wanted += [state[k] for k in level if state[k].name in values and state[k] not in known]
        named = {s.name: s for s in wanted}
        named |= {
            name: value for name, value in moving_quantities(self.system).items() if name in values
        }
        free = [k for k in level if state[k].name not in values]
        indirect = named.keys() - {s.name for s in state}
        numbers, is_completed = np.array([values[name] for name in named]), False
        if indirect or (free and self.kernel.m and self._worst("velocity", y) > 0.0):
            trial = y.copy()
            if self._newton(trial, self._velocity_conditions(named, level, True), level, numbers):
                changed, is_completed = [k for k in free if trial[k] != y[k]], True
                y[:] = trial
                if not indirect:
                    self._say_completed(y, changed)
            elif indirect and not self._newton(
                y, self._velocity_conditions(named, level, False), level, numbers
            ):
                raise StartError(
                    f"The start values of {', '.join(named)} cannot be met together",
                    remedy="give velocities, momenta or outputs, but not contradictory ones",
                )
        self._move_to_constraints(y, "velocity", is_completed)

    def _velocity_conditions(
        self, wanted: Mapping[str, sympy.Expr], level: list[int], constrained: bool
    ) -> _Function:
        """Conditions that symbols and outputs take values w, and their derivative in a level."""
        state, w = self.kernel.equations.state, ca.SX.sym("w", len(wanted))

        def blocks() -> list[Any]:
            conditions = self.kernel.lower(list(wanted.values())) - w if wanted else ca.SX(0, 1)
            if constrained:
                conditions = ca.vertcat(conditions, self.kernel.graph.velocity.residual)
            symbols = self.kernel.algebra.vector([state[k] for k in level])
            size = scaled_terms(self.kernel._inputs(w), conditions, symbols)
            return [conditions, ca.jacobian(conditions, symbols), size]

        return self._function(("velocities", constrained, *wanted), blocks, w)

    # -- tools -------------------------------------------------------------------------------------

    def _function(
        self, key: Hashable, blocks: Callable[[], list[Any]], symbols: ca.SX | None = None
    ) -> _Function:
        """Blocks as functions of the state and of further symbols; made once for a kernel."""
        function: DenseFunction = self.kernel.cache.get(
            ("start", key), lambda: DenseFunction(self.kernel._inputs(symbols), blocks())
        )
        u = np.zeros(len(self.kernel.free_inputs))

        def evaluate(y: Array, values: ArrayLike = ()) -> list[Any]:
            return function(self.time, y, self.p, u, values)

        return evaluate

    def _residual(self, level: str, y: Array) -> tuple[Any, Any]:
        """What is left of the constraints of a level, and the size of their terms, (m,) each."""

        def blocks() -> list[Any]:
            residual = getattr(self.kernel.graph, level).residual
            return [residual, term_sizes(self.kernel, level)]

        value, size = self._function(level, blocks)(y)
        return value.ravel(), size.ravel()

    def _worst(self, level: str, y: Array) -> float:
        value, _ = self._residual(level, y)
        return float(np.max(np.abs(value))) if value.size else 0.0

    def _excess(self, level: str, y: Array, limit: float = LIMIT) -> float:
        return float(excess(*self._residual(level, y), limit))

    def _newton(
        self, y: Array, conditions: _Function, free: list[int], values: ArrayLike = ()
    ) -> bool:
        """Solve conditions = 0 over entries of y by least Newton steps; whether it converged."""
        if len(free) > MOST_COMPLETED:
            raise StartError(
                "The start is not complete, and the system is too large to complete it from the"
                " constraints",
                seen=f"{len(free)} symbols to solve for (limit {MOST_COMPLETED})",
                remedy="give all coordinates and all velocities, or a start at rest",
            )
        previous, before = np.inf, np.zeros(1)
        for _ in range(60):
            value, rows, size = conditions(y, values)
            # The terms themselves may vanish at the solution: those of the step before count as
            # well.
            worst, before = (
                float(np.max(relative(value, np.maximum(size, before)), initial=0.0)),
                size,
            )
            if not np.isfinite(worst) or not np.all(np.isfinite(rows)):
                return False
            if worst < 1e-15 or (worst < 1e-10 and worst >= 0.5 * previous):
                return True
            previous = worst
            try:
                step = solve(np.eye(len(free)), np.zeros(len(free)), rows, -value.ravel()).z
            except RunError:  # no step from here; another way is tried
                return False
            y[free] += step
        return False

    def _say_completed(self, y: Array, places: list[int]) -> None:
        if places:
            state = self.kernel.equations.state
            found = ", ".join(f"{state[k].name} = {y[k]:.6g}" for k in places)
            self.report.append(f"Completed from the constraints: {found}.")

    def _move_to_constraints(self, y: Array, level: str, is_completed: bool) -> None:
        if not getattr(self.kernel.graph, level).residual.numel():
            return
        value, size = self._residual(level, y)
        if not np.all(np.isfinite(value)):
            raise explain(self.kernel, SINGULAR, self.time, y, self.p, self.context.info)
        part = relative(value, size)
        place = int(np.argmax(part))
        name, worst = self._residual_names(level)[place], abs(float(value[place]))
        is_broken = not part[place] <= (LIMIT if is_completed else ROUNDING)
        if is_broken and not self.project_start:
            raise StartError(
                f"The constraint `{name}` has residual {worst:.3g} at the start, at {level} level",
                seen=f"{part[place]:.2g} of its terms, and rounding makes {ROUNDING:g}",
                remedy="pass project_start=True, or start from motion.start",
            )
        before = y.copy()
        status = self._project(y, level)
        if status == SINGULAR and not is_broken:
            raise explain(self.kernel, SINGULAR, self.time, before, self.p, self.context.info)
        if status != REGULAR or (is_broken and self._excess(level, y)):
            self._check_contradiction(before, level, self._residual_names(level))
            raise StartError(
                f"The start cannot be moved to the constraint `{name}`, which has residual"
                f" {worst:.3g} at {level} level",
                remedy="give values that are closer to the constraints",
            )
        self._say_moved(before, y, is_broken, f"whose residual was {worst:.3g} at {level} level")

    def _say_moved(self, before: Array, y: Array, is_broken: bool, why: str) -> None:
        """Report what was moved by more than rounding, or all if a constraint was broken."""
        ways = np.abs(y - before)
        least = SHARE_TOLD * float(np.max(ways)) if is_broken else MOVED * float(np.max(np.abs(y)))
        moved = [k for k in range(len(y)) if ways[k] > least]
        if moved:
            state = self.kernel.equations.state
            changes = ", ".join(f"{state[k].name} {_change(before[k], y[k])}" for k in moved)
            self.report.append(f"Moved to the constraints, {why}: {changes}.")

    def _check_contradiction(self, y: Array, level: str, names: list[str]) -> None:
        """Raise where constraints exclude each other, so that no move can help."""
        projection = getattr(self.kernel.graph, level)
        metric = self.kernel.graph.metric if projection.metric is None else projection.metric
        blocks = [metric, projection.rows, projection.residual]
        metric, rows, residual = self._function(("contradiction", level), lambda: blocks)(y)
        try:
            solve(metric, np.zeros(len(metric)), rows, -residual.ravel(), gauge=True)
        except ContradictionError as error:
            raise ContradictionError(
                f"The constraint `{names[error.row]}` contradicts the others at the start",
                seen=", ".join(names),
                remedy="remove or correct one of them",
            ) from None
        except RunError:  # singular rows are judged where the start is projected
            return

    def _residual_names(self, level: str) -> list[str]:
        constraints = self.system.bilateral
        if level == "position":
            return [c.name for c in constraints if c.is_position_level]
        count = int(self.kernel.graph.velocity.residual.numel()) - len(constraints)
        return [c.name for c in constraints] + ["momenta of the speeds"] * count

    def _project(self, y: Array, level: str) -> int:
        number = 0 if level == "position" else 1
        return int(self.context.project(self.time, y, number, number))
