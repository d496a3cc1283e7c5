r"""Exact derivatives of a kernel as programs: of its rates and of its constraint projections.

With x some of the parameters, f the rates (the whole Gauss problem solved in straight-line code),
and r a residual with rows A, metric G and lift B of the step that removes it,

    tangent     (dy, dx)  ->  f_y dy + f_x dx                        for several columns at once
    adjoint     lambda    ->  (f_y^T lambda, f_x^T lambda)           with those of an integrand
    evaluate_on_constraints  (dy, dx) -> - B A^# (r_y dy + r_x dx),  A^# = G^-1 A^T (A G^-1 A^T)^-1
    pull_projection          lambda   -> the transpose of the same

come from forward and reverse automatic differentiation on the graph (A. Griewank, A. Walther:
Evaluating Derivatives, 2nd ed., chapter 3). `evaluate_on_constraints` is the derivative of a Newton
step to the constraints at a state where they hold. All programs have the signature of
`program.INPUTS`; what is pushed or pulled stands in w.

Rows that depend on others are left out: the unknowns do not depend on which of them are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
import sympy

from ..algebra.sparse_factor import Budget, TooManyOperationsError
from ..codegen.passes.solve_limits import HEALTHY
from ..codegen.passes.unrolled import UnrolledSolution, unrolled_solve
from ..codegen.program import Program, straight_line
from ..errors import FormError
from ..model.cache import Cache
from ..typing import Array
from .gauss.constrained_solve import rank

if TYPE_CHECKING:
    from .kernel import Kernel

__all__ = ["Derivatives", "IndependentRows", "ReferencePoint", "independent_rows", "regular_rates"]

#: Most operations of a solve written out for derivatives, and most instructions of the rates.
MOST_OPERATIONS, MOST_INSTRUCTIONS = 150_000, 60_000
#: Most columns per tangent program, and the instructions from which it pushes one.
COLUMNS, LONG = 8, 3_000


#: Operations whose value jumps where their arguments cross each other, zero or an integer.
JUMPING = frozenset({"lt", "le", "eq", "ne", "not", "sign", "floor", "ceil", "fmod", "copysign"})


class ReferencePoint(NamedTuple):
    """A time, a state and parameter values: where it is looked at which rows are independent."""

    time: float
    state: Any
    parameters: Any


class RegularRates(NamedTuple):
    """The rates (n_state x 1) and the pivot ratio of their solve as graph expressions."""

    rates: Any
    health: Any


def regular_rates(kernel: Kernel, instant: ReferencePoint | None = None) -> RegularRates:
    """The rates in straight-line code, without rows dependent on others at an instant or anywhere.

    Raises
    ------
    FormError
        Where the solve is too large to be written out, or never determined by independent rows.
    """
    solution = kernel.solved
    if solution is not None and (
        instant is None or _health(kernel, solution, instant) > 10 * HEALTHY
    ):
        return _with(kernel, solution)
    for place in [instant] if instant is not None else _generic_instants(kernel):
        kept = independent_rows(kernel, place).solve
        for augment in (False, True) if kept else (False,):
            solution = _written_out(kernel, kept, augment)
            if solution is not None and _health(kernel, solution, place) > 10 * HEALTHY:
                return _with(kernel, solution, kept)
    raise FormError(
        f'The solve of the form "{kernel.equations.form}" cannot be written out as one regular'
        " expression",
        seen=f"{kernel.n} unknowns, {kernel.m} constraint rows",
        remedy="use another form, such as maggi, or drop constraints that repeat others",
    )


def _with(
    kernel: Kernel, solution: UnrolledSolution, kept: Sequence[int] | None = None
) -> RegularRates:
    """The rates with the solution put in."""
    g = kernel.graph
    multipliers = solution.multipliers
    if kept is not None and len(kept) < kernel.m:
        if ca.depends_on(g.rates, g.multipliers):
            raise FormError(
                f'The rates of the form "{kernel.equations.form}" depend on multipliers that are'
                " not determined",
                seen=", ".join(kernel.equations.row_names),
                remedy="drop the constraints that repeat others",
            )
        multipliers = ca.SX(kernel.m, 1)
    symbols = ca.vertcat(g.unknowns, g.multipliers)
    rates = kernel.algebra.substitute(g.rates, symbols, ca.vertcat(solution.z, multipliers))
    return RegularRates(ca.densify(rates), solution.health)


def _written_out(kernel: Kernel, kept: Sequence[int], augment: bool) -> UnrolledSolution | None:
    g = kernel.graph
    try:
        return unrolled_solve(
            g.metric,
            g.force,
            g.rows[list(kept), :],
            g.right[list(kept)],
            augment=augment,
            definite=kernel.equations.is_definite,
            determined=not kernel.equations.has_gauge,
            budget=Budget(MOST_OPERATIONS),
        )
    except TooManyOperationsError:  # a solve that decides rank is used instead
        return None


def _values(kernel: Kernel, blocks: Sequence[ca.SX], instant: ReferencePoint) -> list[Array]:
    function = ca.Function("values", kernel._inputs(), list(blocks))
    free = np.zeros(len(kernel.free_inputs))
    found = function.call(
        [instant.time, np.asarray(instant.state), np.asarray(instant.parameters), free, np.zeros(0)]
    )
    return [np.asarray(block, dtype=float) for block in found]


def _health(kernel: Kernel, solution: UnrolledSolution, instant: ReferencePoint) -> float:
    """The health of a solve at an instant; zero where it is not finite."""
    health, z = _values(kernel, [solution.health, solution.z], instant)
    return (
        float(health.squeeze()) if np.all(np.isfinite(health)) and np.all(np.isfinite(z)) else 0.0
    )


class IndependentRows(NamedTuple):
    """Indices of spanning rows: of the solve, and of the position and velocity projections."""

    solve: tuple[int, ...]
    position: tuple[int, ...]
    velocity: tuple[int, ...]


def independent_rows(kernel: Kernel, instant: ReferencePoint) -> IndependentRows:
    """The independent rows of a kernel at an instant."""
    g = kernel.graph
    tables = [g.rows, g.position.rows, g.velocity.rows]
    if not any(table.shape[0] for table in tables):
        return IndependentRows((), (), ())
    dense = [ca.densify(table) for table in tables]
    function = kernel.cache.get("rows", lambda: ca.Function("rows", kernel._inputs(), dense))
    free = np.zeros(len(kernel.free_inputs))
    found = function.call(
        [instant.time, np.asarray(instant.state), np.asarray(instant.parameters), free, np.zeros(0)]
    )
    return IndependentRows(*(_spanning(np.asarray(table, dtype=float)) for table in found))


def _spanning(table: Array) -> tuple[int, ...]:
    if not len(table) or not np.all(np.isfinite(table)):
        return tuple(range(len(table)))
    return tuple(int(k) for k in rank(table).independent)


def _generic_instants(kernel: Kernel) -> list[ReferencePoint]:
    random = np.random.default_rng(20)
    return [
        ReferencePoint(
            0.3,
            random.uniform(0.3, 1.1, kernel.n_state),
            random.uniform(0.3, 1.1, len(kernel.parameters)),
        )
        for _ in range(4)
    ]


class JumpPrograms(NamedTuple):
    """Programs of the rates with the integrand, and of the operations that jump."""

    rates: Program
    switches: Program


def _felt_switches(program: Program, asked: frozenset[int]) -> list[int]:
    """The jumping operations that depend on the state or on a parameter of the derivatives."""
    felt, found = set(), []
    for step in program.instructions:
        if step.operation == "input":
            which, entry = step.data
            depends = which == 1 or (which == 2 and entry in asked)
        else:
            depends = any(a in felt for a in step.arguments)
        if depends:
            felt.add(step.target)
            found += [step.target] if step.operation in JUMPING else []
    return found


def _pruned(program: Program, outputs: Sequence[int]) -> Program:
    """The part of a program that some of its values need, with these as outputs."""
    needed = set(outputs)
    for step in reversed(program.instructions):
        if step.target in needed:
            needed.update(step.arguments)
    kept = [step for step in program.instructions if step.target in needed]
    new = {step.target: k for k, step in enumerate(kept)}
    steps = [
        step._replace(target=new[step.target], arguments=tuple(new[a] for a in step.arguments))
        for step in kept
    ]
    return replace(program, instructions=tuple(steps), outputs=tuple(new[k] for k in outputs))


class Derivatives:
    """The programs listed in the module's head, for some of a kernel's parameters.

    Parameters
    ----------
    kernel : Kernel
    parameters : sequence of symbols (nx,)
        x, in the order in which directions are given.
    instant : ReferencePoint
        Where the solve must be regular; derivatives are asked for along a motion that begins there.
    rows : IndependentRows
        Those at the instant.
    integrand : SymPy expression or None
        What the adjoint integrates along the motion.
    """

    def __init__(
        self,
        kernel: Kernel,
        parameters: Sequence[sympy.Symbol],
        instant: ReferencePoint,
        rows: IndependentRows,
        integrand: sympy.Expr | None = None,
    ) -> None:
        self.kernel, self.parameters = kernel, tuple(parameters)
        self.instant, self.rows = instant, rows
        #: Addresses of programs that were compiled.
        self.cache = Cache("derivative programs")
        self.rates, self.health = regular_rates(kernel, instant)
        self.integrand = ca.SX(0) if integrand is None else kernel.lower([integrand])
        self.symbols = ca.vertcat(
            kernel.algebra.vector(kernel.equations.state), kernel.algebra.vector(self.parameters)
        )
        self.size = int(self.symbols.numel())
        instructions = ca.Function("rates", kernel._inputs(), [self.rates]).n_instructions()
        if instructions > MOST_INSTRUCTIONS:
            raise FormError(
                f'The form "{kernel.equations.form}" is too long to be differentiated in'
                " straight-line code",
                seen=f"{instructions} instructions",
                remedy="use a form with fewer unknowns",
            )
        self.most_columns = 1 if instructions > LONG else COLUMNS

    def tangent(self, columns: int) -> Program:
        """w = (dy, dx) per column -> rates (n_state), pivot ratio (1), tangents (n_state each)."""
        w = ca.SX.sym("w", self.size, columns)
        pushed = ca.jtimes(self.rates, self.symbols, w)
        return straight_line(
            f"tangent_{columns}", self._inputs(w), [self.rates, self.health, pushed]
        )

    def adjoint(self) -> Program:
        """w = (lambda, s) -> (f^T lambda + s L) by y and x, pivot ratio (1), integrand L (1)."""
        ns = self.kernel.n_state
        w = ca.SX.sym("w", ns + 1)
        pulled = ca.jtimes(ca.vertcat(self.rates, self.integrand), self.symbols, w, True)
        return straight_line("adjoint", self._inputs(w), [pulled, self.health, self.integrand])

    def evaluate_on_constraints(self, level: str, columns: int) -> Program:
        """w = (dy, dx) for each column -> changes of dy (n_state for each column), health (1)."""
        w = ca.SX.sym("w", self.size, columns)
        steps, health = [], ca.SX(1)
        for c in range(columns):
            step, health = self._rounded(level, w[:, c])
            steps.append(step)
        return straight_line(f"project_{level}_{columns}", self._inputs(w), [*steps, health])

    def pull_projection(self, level: str) -> Program:
        """w = lambda -> addition of the transposed step to (lambda, x-gradient), ratio (1)."""
        w, direction = ca.SX.sym("w", self.kernel.n_state), ca.SX.sym("direction", self.size)
        step, health = self._rounded(level, direction)
        pulled = ca.jtimes(step, direction, w, True)
        return straight_line(f"pull_{level}", self._inputs(w), [pulled, health])

    @cached_property
    def switching(self) -> JumpPrograms:
        """The rates and the integrand, and their jumps that move with the derivative."""
        rates = straight_line(
            "rates_and_integrand", self.kernel._inputs(), [self.rates, self.integrand]
        )
        asked = frozenset(self.kernel.parameters.index(symbol) for symbol in self.parameters)
        return JumpPrograms(rates, _pruned(rates, _felt_switches(rates, asked)))

    def _rounded(self, level: str, direction: ca.SX) -> tuple[ca.SX, ca.SX]:
        """The change of dy that keeps a level's constraints to first order, and its pivot ratio."""
        kernel = self.kernel
        projection = getattr(kernel.graph, level)
        metric = kernel.graph.metric if projection.metric is None else projection.metric
        kept = list(getattr(self.rows, level))
        change = ca.jtimes(projection.residual[kept], self.symbols, direction)
        solution = None
        for augment in (False, True):  # G may be singular, and definite where the rows vanish
            solution = unrolled_solve(
                metric,
                ca.SX(metric.shape[0], 1),
                projection.rows[kept, :],
                -change,
                augment=augment,
                definite=kernel.equations.is_definite,
            )
            along_one = ca.substitute(solution.z, direction, ca.SX.ones(self.size))
            if (
                _health(
                    kernel,
                    UnrolledSolution(along_one, solution.multipliers, solution.health),
                    self.instant,
                )
                > 10 * HEALTHY
            ):
                break
        assert solution is not None
        return ca.densify(projection.lift @ solution.z), solution.health

    def _inputs(self, w: ca.SX) -> list[ca.SX]:
        return [*self.kernel._inputs()[:-1], ca.vec(w)]
