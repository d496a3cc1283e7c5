"""Consistent starts: completed where they are not given in full, moved to the constraints where they break them.

What is given is held; what is missing is chosen so that the constraints hold, with the least change from zero. A start that
breaks a constraint although it is complete is moved to the nearest consistent one in the kinetic metric, and that is
reported; or it is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..codegen.dense_function import DenseFunction
from ..codegen.passes.magnitudes import magnitudes
from ..errors import ContradictionError, DalembertError, RunError, StartError, nearest, raise_collected
from ..formulations.equations import Equations
from ..formulations.forms.lagrange import lagrangian_and_momenta
from ..model.atoms import leaves
from ..model.constraints import HolonomicConstraint
from ..model.names import shortened
from ..model.symbols import name_of
from ..model.system import System
from ..model.values import real_number
from ..runtime.diagnosis import explain
from ..runtime.gauss.constrained_solve import solve
from ..runtime.gauss.solve_status import REGULAR, SINGULAR
from ..runtime.kernel import kernel_of

__all__ = [
    "Start",
    "changed_symbols",
    "consistent_start",
    "excess",
    "fibre_velocities",
    "in_velocities",
    "moving_outputs",
    "moving_quantities",
    "own_symbols",
    "relative",
    "start_form",
    "start_names",
    "term_sizes",
]

#: Blocks at a state, and at the values of further symbols.
_Function = Callable[..., list[Any]]

#: Where the search for missing coordinates begins; at zero a constraint may have no derivative.
GUESSES = (0.0, 0.1, -0.1, 1.0)
#: No more symbols are completed from the constraints at once: that solve is dense.
MOST_COMPLETED = 5000
#: What rounding makes of the residual of a constraint, relative to its terms; a start with more is moved, and said to be.
ROUNDING = 5e-13
#: Symbols that move by less than this part of the state, though no constraint was broken, are not said to be moved; nor are
#: those that move by less than this part of the largest move, where one was.
MOVED, SHARE_TOLD = 1e-12, 1e-6
#: A start that was moved or completed has no larger residuals than this, relative to their terms.
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


def consistent_start(context: Any, time: float, given: Mapping[Any, Any], p: Any, project_start: bool = True) -> Start:
    """The start of a run.

    Raises
    ------
    StartError
        For unknown names, values that are not finite, and starts that cannot be made consistent.
    """
    return _Starter(context, time, p, project_start).run(given)


def start_form(equations: Equations, given: Iterable[Any]) -> str | None:
    """The form in whose symbols a start is made consistent, by what it names; None for the form's own.

    Momenta are the symbols of Hamilton's form, but what is missing beside velocities are velocities: they are zero, or what
    the constraints leave, in every form. The same holds of a start that names neither, unless the Hamiltonian was stated.
    """
    system = equations.system
    if equations.start_form is not None or equations.form != "hamilton":
        return equations.start_form
    named = {name_of(key) for key in given}
    velocities = {v.name for v in system.velocities}
    if velocities <= named or any(p.name in named for p in system.momenta):
        return None
    if (velocities | moving_quantities(system).keys()) & named:
        return "lagrange"
    return None if system.hamiltonian is not None or _has_no_momenta_at_rest(equations) else "lagrange"


def start_names(equations: Equations) -> list[str]:
    """What a start may name: the state, velocities, momenta, fibre velocities, and outputs that depend on these."""
    system = equations.system
    symbols = (*equations.state, *system.velocities, *system.momenta)
    return list(dict.fromkeys([*(symbol.name for symbol in symbols), *moving_quantities(system)]))


def moving_outputs(system: Any) -> dict[str, sympy.Expr]:
    """The outputs of a system that depend on velocities or momenta: a start may give them in place of these."""
    moving = {*system.velocities, *system.momenta}
    return {name: value for name, value in system.outputs.items() if not moving.isdisjoint(leaves(value))}


def moving_quantities(system: Any) -> dict[str, sympy.Expr]:
    """Everything beside velocities and momenta that a start may give in place of them: such outputs, and fibre velocities."""
    return {v.name: value for v, value in fibre_velocities(system).items()} | moving_outputs(system)


def own_symbols(equations: Equations, given: Iterable[Any]) -> list[str]:
    """The names in a start that only the form has, such as quasi-velocities and momenta on the constraints."""
    system = equations.system
    shared = {s.name for s in (*system.coordinates, *system.velocities, *system.momenta)}
    own = {s.name for s in equations.state} - shared
    return [name for name in map(name_of, given) if name in own]


def in_velocities(equations: Equations, context: Any, time: float, given: Mapping[Any, Any], p: Any) -> Mapping[Any, Any]:
    """A start in symbols that only the form has, as one in velocities; those that are not given are zero.

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
    system, values = equations.system, {name_of(key): real_number(value) for key, value in given.items()}
    both = [s.name for s in (*system.velocities, *system.momenta) if s.name in values]
    wrong = [name for name in own if not np.isfinite(values[name])]
    if both or wrong:
        raise StartError(
            f"The start of `{wrong[0]}` must be a finite number" if wrong else "The start gives velocities in two ways",
            seen=", ".join(wrong or [*own, *both]),
            remedy="give a number" if wrong else f"give {', '.join(own)}, or velocities, but not both",
        )
    rest = {key: value for key, value in given.items() if name_of(key) not in own}
    positions = consistent_start(context, time, rest, p).state[: len(system.coordinates)]
    velocities = _velocities(equations, time, positions, values, p)
    if equations.rechoose is not None and not np.all(np.isfinite(velocities)):
        here = {s.name: float(value) for s, value in zip(system.parameters, p, strict=True)}
        here |= {q.name: float(value) for q, value in zip(system.coordinates, positions, strict=True)}
        other = equations.rechoose(here)
        if set(own) <= {s.name for s in other.state}:
            velocities = _velocities(other, time, positions, values, p)
    if not np.all(np.isfinite(velocities)):
        raise StartError(
            f"The velocities do not follow from {', '.join(own)} at this start",
            seen=f'the form "{equations.form}" with the independent velocities {", ".join(equations.chart) or "of its own"}',
            remedy="give velocities",
        )
    return rest | {v.name: float(value) for v, value in zip(system.velocities, velocities, strict=True)}


def fibre_velocities(system: Any) -> Mapping[Any, Any]:
    """The fibre velocities of a system on a bundle, as expressions of its velocities; none for any other."""
    return system.bundle if isinstance(system, System) else {}


def _velocities(equations: Equations, time: float, positions: Any, values: Mapping[str, float], p: Any) -> Any:
    """All velocities where the symbols of the form beside the coordinates have values, or are zero, (n,)."""
    system = equations.system
    symbols = equations.state[len(system.coordinates) :]
    state = np.array([[*positions, *(values.get(s.name, 0.0) for s in symbols)]])
    return kernel_of(equations, system.parameters).velocities(np.array([time]), state, p)[0]


def changed_symbols(equations: Equations, state: Any, given: Mapping[Any, Any]) -> list[str]:
    """A sentence where symbols of the form have other values than they were given, after another choice of velocities."""
    found = {s.name: float(value) for s, value in zip(equations.state, state, strict=True)}
    wanted = {name_of(key): real_number(value) for key, value in given.items()}
    system = equations.system
    shared = {s.name for s in (*system.coordinates, *system.velocities, *system.momenta)}
    other = [n for n in found if n in wanted and n not in shared and abs(found[n] - wanted[n]) > LIMIT * (1 + abs(wanted[n]))]
    if not other:
        return []
    changes = ", ".join(f"{name} {wanted[name]:.6g} -> {found[name]:.6g}" for name in other)
    return [f"Other independent velocities were chosen, in which the same start reads {changes}."]


def _has_no_momenta_at_rest(equations: Equations) -> bool:
    """Whether momenta vanish with the velocities, as without terms that are linear in these."""
    system = equations.system
    algebra = kernel_of(equations, system.parameters).algebra
    momenta = lagrangian_and_momenta(system, algebra)[1]
    at_rest = ca.substitute(momenta, algebra.vector(system.velocities), ca.SX.zeros(len(system.velocities)))
    return bool(ca.sparsify(ca.simplify(at_rest)).nnz() == 0)


def excess(residual: Any, size: Any, limit: float = LIMIT) -> Any:
    """How far residuals (..., m) are above a part of their terms, which have sizes (..., m); 0 where none is.

    The largest excess of each state, (...,), relative to the terms: a factor of a constraint changes nothing.
    """
    part = relative(residual, size)
    return np.max(np.where(part <= limit, 0.0, part), axis=-1, initial=0.0)


def term_sizes(kernel: Any, level: str) -> Any:
    """The size of the terms of the residuals at position or velocity level, (m,).

    At least what the largest coordinate and the largest velocity or momentum can do, each by itself, because their units
    differ. Where all velocities are rounding beside the coordinates, the state is at rest, and they are judged beside these.
    """
    residual, dual = getattr(kernel.graph, level).residual, kernel.graph.dual_rows
    state = kernel.algebra.vector(kernel.equations.state)
    coordinates, moving = state[: kernel.n_coordinates], state[kernel.n_coordinates :]
    size = _sizes(kernel._inputs(), residual, coordinates, 1.0)
    if level == "position" or not moving.numel():
        return size
    rows = ca.jacobian(residual, moving)
    moved = ca.sum2(ca.fabs(rows)) * ca.mmax(ca.fabs(moving))
    resting = ca.sum2(ca.fabs(rows if dual is None else dual.T)) * ca.mmax(ca.fabs(coordinates))
    return ca.fmax(size, ca.if_else(moved <= ROUNDING * resting, resting, moved))


def _sizes(inputs: list[Any], residual: Any, symbols: Any, share: float = 1e-3) -> Any:
    derivatives = ca.sum2(ca.fabs(ca.jacobian(residual, symbols)))
    return ca.fmax(magnitudes(inputs, residual), share * derivatives * ca.mmax(ca.fabs(symbols)))


def relative(residual: Any, size: Any) -> Any:
    """Residuals as parts of a size; nothing is no part of nothing."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(residual == 0, 0.0, np.abs(residual) / size)


def _change(before: float, after: float) -> str:
    """A change in words that show it, however small."""
    old, new = f"{before:.6g}", f"{after:.6g}"
    return f"{old} -> {new}" if old != new else f"{old}, by {after - before:.2g}"


class _Starter:
    def __init__(self, context: Any, time: float, p: Any, project_start: bool) -> None:
        self.context, self.kernel, self.time, self.p = context, context.kernel, time, p
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
        self._project_positions(y, values)
        self._project_velocities(y, values)
        return Start(y, tuple(self.report))

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self, given: Mapping[Any, Any]) -> dict[str, float]:
        faults: list[DalembertError] = []
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
        raise_collected(faults)
        return values

    # -- positions -----------------------------------------------------------------------------------------------

    def _project_positions(self, y: Any, values: dict[str, float]) -> None:
        if not self.kernel.n_positions:
            return
        free = [k for k, q in enumerate(self.system.coordinates) if q.name not in values]
        if free and self._excess("position", y, ROUNDING):
            conditions = self._function(("positions", *free), lambda: self._position_conditions(free))
            for guess in GUESSES:
                trial = y.copy()
                trial[free] = guess
                if self._newton(trial, conditions, free):
                    y[:] = trial
                    self._say_completed(y, free)
                    break
        self._move_to_constraints(y, "position", bool(self.report))

    def _position_conditions(self, free: list[int]) -> list[Any]:
        residual = self.kernel.graph.position.residual
        coordinates = self.kernel.algebra.vector(self.system.coordinates)
        derivative = ca.jacobian(residual, coordinates)[:, free]
        return [residual, derivative, _sizes(self.kernel._inputs(), residual, coordinates)]

    # -- velocities ----------------------------------------------------------------------------------------------

    def _project_velocities(self, y: Any, values: dict[str, float]) -> None:
        state = self.kernel.equations.state
        level = [k for k in range(self.n_q, len(state)) if not state[k].name.startswith("chi_")]
        wanted = [s for s in (*self.system.velocities, *self.system.momenta) if s.name in values]
        known = set(wanted)
        wanted += [state[k] for k in level if state[k].name in values and state[k] not in known]
        named = {s.name: s for s in wanted}
        named |= {name: value for name, value in moving_quantities(self.system).items() if name in values}
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
            elif indirect and not self._newton(y, self._velocity_conditions(named, level, False), level, numbers):
                raise StartError(
                    f"The start values of {', '.join(named)} cannot be met together",
                    remedy="give velocities, momenta or outputs, but not contradictory ones",
                )
        self._move_to_constraints(y, "velocity", is_completed)

    def _velocity_conditions(self, wanted: Mapping[str, sympy.Expr], level: list[int], constrained: bool) -> _Function:
        """That some symbols and outputs take values w, with the constraints or without, and the derivative in a level's
        symbols.
        """
        state, w = self.kernel.equations.state, ca.SX.sym("w", len(wanted))

        def blocks() -> list[Any]:
            conditions = self.kernel.lower(list(wanted.values())) - w if wanted else ca.SX(0, 1)
            if constrained:
                conditions = ca.vertcat(conditions, self.kernel.graph.velocity.residual)
            symbols = self.kernel.algebra.vector([state[k] for k in level])
            size = _sizes(self.kernel._inputs(w), conditions, symbols)
            return [conditions, ca.jacobian(conditions, symbols), size]

        return self._function(("velocities", constrained, *wanted), blocks, w)

    # -- tools ---------------------------------------------------------------------------------------------------

    def _function(self, key: Any, blocks: Callable[[], list[Any]], symbols: Any = None) -> _Function:
        """Blocks as functions of the state and of the values of further symbols; made once for a kernel."""
        kept = self.kernel.__dict__.setdefault("_start_functions", {})
        if key not in kept:
            found = blocks()
            kept[key] = DenseFunction(self.kernel._inputs(symbols), found)
        function, u = kept[key], np.zeros(len(self.kernel.free_inputs))

        def evaluate(y: Any, values: Any = ()) -> list[Any]:
            return function(self.time, y, self.p, u, values)  # type: ignore[no-any-return]

        return evaluate

    def _residual(self, level: str, y: Any) -> tuple[Any, Any]:
        """What is left of the constraints of a level, and the size of their terms, (m,) each."""

        def blocks() -> list[Any]:
            residual = getattr(self.kernel.graph, level).residual
            return [residual, term_sizes(self.kernel, level)]

        value, size = self._function(level, blocks)(y)
        return value.ravel(), size.ravel()

    def _worst(self, level: str, y: Any) -> float:
        value, _ = self._residual(level, y)
        return float(np.max(np.abs(value))) if value.size else 0.0

    def _excess(self, level: str, y: Any, limit: float = LIMIT) -> float:
        return float(excess(*self._residual(level, y), limit))

    def _newton(self, y: Any, conditions: _Function, free: list[int], values: Any = ()) -> bool:
        """Solve conditions = 0 over some entries of y by Newton's method with least steps; whether it converged."""
        if len(free) > MOST_COMPLETED:
            raise StartError(
                "The start is not complete, and the system is too large to complete it from the constraints",
                seen=f"{len(free)} symbols to solve for (limit {MOST_COMPLETED})",
                remedy="give all coordinates and all velocities, or a start at rest",
            )
        previous, before = np.inf, np.zeros(1)
        for _ in range(60):
            value, rows, size = conditions(y, values)
            # The terms themselves may vanish at the solution: those of the step before count as well.
            worst, before = float(np.max(relative(value, np.maximum(size, before)), initial=0.0)), size
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

    def _move_to_constraints(self, y: Any, level: str, is_completed: bool) -> None:
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
                f"The start cannot be moved to the constraint `{name}`, which has residual {worst:.3g} at {level} level",
                remedy="give values that are closer to the constraints",
            )
        self._say_moved(before, y, is_broken, f"whose residual was {worst:.3g} at {level} level")

    def _say_moved(self, before: Any, y: Any, is_broken: bool, why: str) -> None:
        """Report what was moved by more than rounding; where a constraint was broken, all that was moved for it."""
        ways = np.abs(y - before)
        least = SHARE_TOLD * float(np.max(ways)) if is_broken else MOVED * float(np.max(np.abs(y)))
        moved = [k for k in range(len(y)) if ways[k] > least]
        if moved:
            state = self.kernel.equations.state
            changes = ", ".join(f"{state[k].name} {_change(before[k], y[k])}" for k in moved)
            self.report.append(f"Moved to the constraints, {why}: {changes}.")

    def _check_contradiction(self, y: Any, level: str, names: list[str]) -> None:
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
        except RunError:
            return

    def _residual_names(self, level: str) -> list[str]:
        constraints = self.system.bilateral
        if level == "position":
            return [c.name for c in constraints if isinstance(c, HolonomicConstraint)]
        return [c.name for c in constraints]

    def _project(self, y: Any, level: str) -> int:
        number = 0 if level == "position" else 1
        return int(self.context.project(self.time, y, number, number))
