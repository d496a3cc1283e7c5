"""Consistent starts: completed where they are not given in full, moved to the constraints where they break them.

What is given is held; what is missing is chosen so that the constraints hold, with the least change from zero. A start that
breaks a constraint although it is complete is moved to the nearest consistent one in the kinetic metric, and that is
reported; or it is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..compiled.constrained_solve import solve
from ..compiled.trouble import explain
from ..compiled.verdicts import REGULAR, SINGULAR
from ..errors import ContradictionError, DalembertError, RunError, StartError, nearest, raise_collected
from ..model.constraints import HolonomicConstraint

__all__ = ["Start", "consistent_start"]

#: Where the search for missing coordinates begins; at zero a constraint may have no slope.
GUESSES = (0.0, 0.1, -0.1, 1.0)
#: A start is moved, and said to be, where a constraint's residual is larger than this.
LIMIT = 1e-9


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


def consistent_start(book: Any, time: float, given: Mapping[Any, Any], p: Any, project_start: bool = True) -> Start:
    """The start of a run.

    Raises
    ------
    StartError
        For unknown names, values that are not finite, and starts that cannot be made consistent.
    """
    return _Starter(book, time, p, project_start).run(given)


class _Starter:
    def __init__(self, book: Any, time: float, p: Any, project_start: bool) -> None:
        self.book, self.kernel, self.time, self.p = book, book.kernel, time, p
        self.project_start = project_start
        self.system = self.kernel.equations.system
        self.n_q = len(self.system.coordinates)
        self.report: list[str] = []

    def run(self, given: Mapping[Any, Any]) -> Start:
        values = self._read(given)
        y = np.zeros(self.kernel.n_state)
        for k, symbol in enumerate(self.kernel.equations.state):
            if symbol.name in values:
                y[k] = values[symbol.name]
        self._settle_positions(y, values)
        self._settle_velocities(y, values)
        return Start(y, tuple(self.report))

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self, given: Mapping[Any, Any]) -> dict[str, float]:
        faults: list[DalembertError] = []
        known = [s.name for s in self.kernel.equations.state]
        known += [s.name for s in (*self.system.velocities, *self.system.momenta) if s.name not in known]
        values: dict[str, float] = {}
        for key, value in given.items():
            name = getattr(key, "name", str(key))
            if name not in known:
                near = nearest(name, known)
                faults.append(
                    StartError(
                        f"The start names `{name}`, which is no part of the state",
                        seen=", ".join(known),
                        remedy=f"did you mean {near}" if near else "use one of these names",
                    )
                )
                continue
            try:
                number = float(value)
            except (TypeError, ValueError):
                number = np.nan
            if not np.isfinite(number):
                faults.append(StartError(f"The start of `{name}` must be a finite number", seen=value))
                continue
            values[name] = number
        raise_collected(faults)
        return values

    # -- positions -----------------------------------------------------------------------------------------------

    def _settle_positions(self, y: Any, values: dict[str, float]) -> None:
        if not self.kernel.n_positions:
            return
        residual = self.kernel.graph.position.residual
        letters = self.kernel.algebra.vector(self.system.coordinates)
        free = [k for k, q in enumerate(self.system.coordinates) if q.name not in values]
        if free and self._worst(residual, y) > LIMIT:
            jacobian = ca.jacobian(residual, letters)
            for guess in GUESSES:
                trial = y.copy()
                trial[free] = guess
                if self._newton(trial, residual, jacobian[:, free], free):
                    y[:] = trial
                    self._say_completed(y, free)
                    break
        self._move_to_constraints(y, "position", residual)

    # -- velocities ----------------------------------------------------------------------------------------------

    def _settle_velocities(self, y: Any, values: dict[str, float]) -> None:
        state = self.kernel.equations.state
        level = [k for k in range(self.n_q, len(state)) if not state[k].name.startswith("chi_")]
        letters = self.kernel.algebra.vector([state[k] for k in level])
        wanted = [s for s in (*self.system.velocities, *self.system.momenta) if s.name in values]
        known = set(wanted)
        wanted += [state[k] for k in level if state[k].name in values and state[k] not in known]
        residual = self.kernel.graph.velocity.residual
        free = [k for k in level if state[k].name not in values]
        conditions = self._conditions(wanted, values)
        indirect = [s for s in wanted if s not in set(state)]
        if self.kernel.m or indirect:
            both = ca.vertcat(conditions, residual)
            jacobian = ca.jacobian(both, letters)
            trial = y.copy()
            if self._newton(trial, both, jacobian, level):
                changed = [k for k in free if trial[k] != y[k]]
                y[:] = trial
                if not indirect:
                    self._say_completed(y, changed)
            elif indirect and not self._newton(y, conditions, ca.jacobian(conditions, letters), level):
                raise StartError(
                    f"The start values of {', '.join(s.name for s in wanted)} cannot be met together",
                    remedy="give velocities, or momenta, but not contradictory ones of both",
                )
        self._move_to_constraints(y, "velocity", residual)

    def _conditions(self, wanted: list[sympy.Symbol], values: dict[str, float]) -> Any:
        if not wanted:
            return ca.SX(0, 1)
        return self.kernel.lower(wanted) - ca.vertcat(*[values[s.name] for s in wanted])

    # -- tools ---------------------------------------------------------------------------------------------------

    def _function(self, *blocks: Any) -> Any:
        function = ca.Function("start", self.kernel._inputs(), list(blocks))
        u = np.zeros(len(self.kernel.free_inputs))
        return lambda y: [np.asarray(b, dtype=float) for b in function.call([self.time, y, self.p, u, np.zeros(0)])]

    def _worst(self, residual: Any, y: Any) -> float:
        (value,) = self._function(residual)(y)
        return float(np.max(np.abs(value))) if value.size else 0.0

    def _newton(self, y: Any, residual: Any, jacobian: Any, free: list[int]) -> bool:
        """Solve residual = 0 over some entries of y by Newton's method with least steps; whether it converged."""
        function = self._function(residual, jacobian)
        previous = np.inf
        for _ in range(60):
            value, rows = function(y)
            worst = float(np.max(np.abs(value))) if value.size else 0.0
            if not np.isfinite(worst) or not np.all(np.isfinite(rows)):
                return False
            if worst < 1e-15 or (worst < 1e-10 and worst >= 0.5 * previous):
                return True
            previous = worst
            try:
                step = solve(np.eye(len(free)), np.zeros(len(free)), rows, -value.ravel()).z
            except RunError:
                return False
            y[free] += step
        return False

    def _say_completed(self, y: Any, places: list[int]) -> None:
        if places:
            state = self.kernel.equations.state
            found = ", ".join(f"{state[k].name} = {y[k]:.6g}" for k in places)
            self.report.append(f"Completed from the constraints: {found}.")

    def _move_to_constraints(self, y: Any, level: str, residual: Any) -> None:
        count = residual.numel()
        if not count:
            return
        (value,) = self._function(residual)(y)
        worst = float(np.max(np.abs(value)))
        names = self._residual_names(level)
        if not np.isfinite(worst):
            raise explain(self.kernel, SINGULAR, self.time, y, self.p, self.book.info)
        if worst > LIMIT and not self.project_start:
            name = names[int(np.argmax(np.abs(value)))]
            raise StartError(
                f"The constraint `{name}` has residual {worst:.3g} at the start, at {level} level (limit {LIMIT:g})",
                remedy="pass project_start=True, or start from motion.start",
            )
        before = y.copy()
        status = self._project(y, level)
        if status == SINGULAR and worst <= LIMIT:
            raise explain(self.kernel, SINGULAR, self.time, before, self.p, self.book.info)
        if status != REGULAR or self._worst(residual, y) > LIMIT:
            self._check_contradiction(before, level, names)
            name = names[int(np.argmax(np.abs(value)))]
            raise StartError(
                f"The start cannot be moved to the constraint `{name}`, which has residual {worst:.3g} at {level} level",
                remedy="give values that are closer to the constraints",
            )
        if worst > LIMIT:
            state = self.kernel.equations.state
            moved = [k for k in range(len(y)) if abs(y[k] - before[k]) > 1e-12 * (1 + abs(y[k]))]
            changes = ", ".join(f"{state[k].name} {before[k]:.6g} -> {y[k]:.6g}" for k in moved)
            self.report.append(f"Moved to the constraints, whose residual was {worst:.3g} at {level} level: {changes}.")

    def _check_contradiction(self, y: Any, level: str, names: list[str]) -> None:
        """Raise where constraints exclude each other, so that no move can help."""
        projection = getattr(self.kernel.graph, level)
        metric = self.kernel.graph.metric if projection.metric is None else projection.metric
        metric, rows, residual = self._function(metric, projection.rows, projection.residual)(y)
        try:
            solve(metric, np.zeros(len(metric)), rows, -residual.ravel(), gauge=True)
        except ContradictionError as error:
            raise ContradictionError(
                f"The constraint `{names[error.row]}` contradicts the others at the start",
                seen=", ".join(names),
                remedy="remove or correct one of them",
            ) from None
        except RunError:
            return

    def _residual_names(self, level: str) -> list[str]:
        constraints = self.system.bilateral
        if level == "position":
            return [c.name for c in constraints if isinstance(c, HolonomicConstraint)]
        return [c.name for c in constraints]

    def _project(self, y: Any, level: str) -> int:
        number = 0 if level == "position" else 1
        return int(self.book.project(self.time, y, number, number))
