"""Compiled equations of motion: every function of a form as native code, made on first use.

A kernel knows no formulation. It reads the blocks of an `Equations` record in the graph algebra and
makes these programs, all with the signature of `program.INPUTS` (t, y, p, u, w) -> out:

    fast           rates (n_state), health (1): the whole right-hand side, solve included
    blocks         G (n*n), f (n), A (m*n), b (m): for `gauss_problem`, where `fast` is not trusted
    rates          w = (z, mu) -> rates (n_state)
    position_step  step (n_state), residual (k), scale (k), health (1): a Newton step
    velocity_step  the same at velocity level (m)
    position_parts residual (k), scale (k), rows (k*n), G (n*n), lift (n_state*n): the same for
    velocity_parts `gauss_problem`
    observe        w = (z, mu) -> velocities, accelerations, momenta, energy, reactions, residuals,
                   outputs, inputs
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ..algebra.graph import GraphAlgebra
from ..algebra.sparse_factor import Budget, TooManyOperationsError
from ..codegen.backends.interpreter import interpret
from ..codegen.backends.llvm import NativeLibrary, native_library
from ..codegen.passes.dense_solve import WIDTH, dense_solve_text, padded, row_length
from ..codegen.passes.lifted_solve import SPARSE_SHARE, lifted_solution
from ..codegen.passes.sparse_solve import LargeSystem
from ..codegen.passes.trigonometric_graph import shortened
from ..codegen.passes.unrolled import (
    UnrolledSolution,
    is_generically_healthy,
    unrolled_solve,
)
from ..codegen.program import Program, straight_line
from ..errors import ModelError
from ..model.cache import Cache
from ..model.parameter_values import numbers_for, parameter_values
from ..model.symbols import t
from ..model.work_clock import work
from ..typing import Array, Parameters
from .context import Context
from .kernel_programs import BUILDERS, observed_columns
from .native_kernel import NativeKernel

if TYPE_CHECKING:
    from ..codegen.protocols import ConstraintProjection, EquationsRecord

__all__ = ["Kernel", "compile_equations", "has_kernel", "kernel_of", "parameter_values"]

#: Most unknowns of an unrolled solve, with and without constraints; beyond, loops are faster.
UNROLLED_CONSTRAINED, UNROLLED_FREE = 24, 14
UNROLLED_INSTRUCTIONS = 120_000
#: The same for a solve by shared velocities, whose length is proportional to the unknowns; the
#: alternative is to form a dense G.
LIFTED_INSTRUCTIONS = 2_000_000
#: Most operations of the factors of larger problems, unrolled if G is sparse.
SPARSE_OPERATIONS = 40_000


def compile_equations(
    equations: EquationsRecord,
    backend: str = "llvm",
    parameters: Sequence[sympy.Symbol] | None = None,
) -> Kernel:
    """The kernel of an `Equations` record. Backends: "llvm" (native), "numpy" (vectorised).

    `parameters` are those of the system by default; a system that is one of several modes takes
    those of the whole.
    """
    if backend not in ("llvm", "numpy"):
        raise ModelError(
            f"There is no backend `{backend}`", seen="llvm, numpy", remedy="choose one of these"
        )
    return Kernel(equations, backend, parameters)


def kernel_of(
    equations: EquationsRecord,
    parameters: Sequence[sympy.Symbol],
    algebra: GraphAlgebra | None = None,
) -> Kernel:
    """The kernel of a record of equations, compiled once and kept with it.

    Kernels of one system that are made one after another may share an `algebra`, in which what
    their derivations have in common is derived once.
    """
    kernel: Kernel = equations.cache.get(
        ("kernel", tuple(parameters)),
        lambda: Kernel(equations, parameters=parameters, algebra=algebra),
    )
    return kernel


def has_kernel(equations: EquationsRecord, parameters: Sequence[sympy.Symbol]) -> bool:
    """Whether the kernel of a record of equations has been compiled."""
    return ("kernel", tuple(parameters)) in equations.cache


class Kernel(NativeKernel):
    """Native functions of one form of a system, compiled lazily and kept with the kernel."""

    @work("derive")
    def __init__(
        self,
        equations: EquationsRecord,
        backend: str = "llvm",
        parameters: Sequence[sympy.Symbol] | None = None,
        algebra: GraphAlgebra | None = None,
        shorten: bool = True,
    ) -> None:
        self.equations: Any = equations
        self.backend = backend
        self.algebra = algebra or GraphAlgebra()
        if getattr(equations.system, "repetition", None) is not None:
            equations.system.repetition.lower(self.algebra)
        self.graph = equations.blocks(self.algebra)
        system = equations.system
        self.parameters: tuple[sympy.Symbol, ...] = tuple(
            system.parameters if parameters is None else parameters
        )
        self.free_inputs: tuple[sympy.Symbol, ...] = tuple(
            s for s, value in system.inputs.items() if value is None
        )
        self.n_state = len(equations.state)
        self.n_coordinates = len(system.coordinates)
        self.n = len(equations.unknowns)
        self.m = len(equations.row_names)
        self.n_positions = int(self.graph.position.residual.numel())
        self.n_velocities = int(self.graph.velocity.residual.numel())
        #: Whether there is anything to project onto.
        self.is_constrained = bool(self.n_positions or self.n_velocities)
        is_small = max(self.n, self.m) <= UNROLLED_CONSTRAINED
        if shorten and is_small and self._lifted is None:
            self._shorten()
        self._libraries: list[NativeLibrary] = []
        self._addresses: dict[str, int] = {}
        self._loaded: dict[Program, int] = {}
        self._programs: dict[str, Program] = {}
        #: Programs and functions that other packages derive from this kernel.
        self.cache = Cache("kernel")
        self._local = threading.local()

    def _shorten(self) -> None:
        """The blocks of the equations with fewer operations."""
        g = self.graph
        names = ("stated_metric", "force", "rows", "right", "rates")
        blocks = [g.metric, g.force, g.rows, g.right, g.rates]
        found = shortened(self._inputs(self._unknown_symbols), blocks)
        self.graph = replace(g, **dict(zip(names, found, strict=True)))

    # -- symbols -----------------------------------------------------------------------------------

    @cached_property
    def _unknown_symbols(self) -> ca.SX:
        symbols: ca.SX = ca.vertcat(self.graph.unknowns, self.graph.multipliers)
        return symbols

    def _inputs(self, extra: ca.SX | None = None) -> list[ca.SX]:
        return [*self._symbols, ca.SX(0, 1) if extra is None else extra]

    @cached_property
    def _symbols(self) -> list[ca.SX]:
        vector = self.algebra.vector
        return [
            vector([t]),
            vector(self.equations.state),
            vector(self.parameters),
            vector(self.free_inputs),
        ]

    def lower(self, expressions: Sequence[sympy.Expr]) -> ca.SX:
        """Expressions of the system's symbols, parameters and time as a column over the state."""
        system, vector = self.equations.system, self.algebra.vector
        column = vector(expressions)
        given = {symbol: value for symbol, value in system.inputs.items() if value is not None}
        column = self.algebra.substitute(column, vector(list(given)), vector(list(given.values())))
        in_state = set(self.equations.state)
        if not set(system.momenta) <= in_state:
            column = self.algebra.substitute(column, vector(system.momenta), self.graph.momenta)
        if not set(system.velocities) <= in_state:
            column = self.algebra.substitute(
                column, vector(system.velocities), self.graph.velocities
            )
        return column

    # -- programs ----------------------------------------------------------------------------------

    def program(self, name: str) -> Program:
        """A program by name, as listed in the module's head."""
        if name not in self._programs:
            self._programs[name] = BUILDERS[name](self)
        return self._programs[name]

    def event_program(self, name: str, expressions: Sequence[sympy.Expr]) -> Program:
        """The program of further scalar expressions, such as events."""
        return straight_line(name, self._inputs(), [self.lower(expressions)])

    @cached_property
    @work("compile")
    def large(self) -> LargeSystem | None:
        """The programs of a large system with a sparse metric, where well conditioned."""
        g = self.graph
        if (
            max(self.n, self.m) <= UNROLLED_CONSTRAINED
            or g.free is not None
            or self._lifted is not None
        ):
            return None
        found = LargeSystem(self) if g.metric.nnz() <= SPARSE_SHARE * self.n**2 else None
        return found if found is not None and found.fast is not None else None

    @cached_property
    @work("compile")
    def solved(self) -> UnrolledSolution | None:
        """The solve in straight-line code, or None where it is too large or never healthy."""
        g = self.graph
        if g.free is not None and not self.m:
            return UnrolledSolution(g.free, ca.SX(0, 1), ca.SX(1))
        if self._lifted is not None:
            return self._lifted
        is_small = max(self.n, self.m) <= (
            UNROLLED_CONSTRAINED if self.m or g.free is not None else UNROLLED_FREE
        )
        if not is_small and g.metric.nnz() > SPARSE_SHARE * self.n**2:
            return None
        if max(self.n, self.m) > UNROLLED_CONSTRAINED and g.free is None and self.large is None:
            return None  # the same solve was tried there
        try:
            return self._unrolled(Budget(SPARSE_OPERATIONS))
        except TooManyOperationsError:  # the native solve serves
            return None

    @property
    def has_written_solve(self) -> bool:
        """Whether the solve is straight-line code."""
        return self.large is not None or self.solved is not None

    @property
    def has_unknowns(self) -> bool:
        """Whether z and mu exist as native code of their own, without a rank decision."""
        return self.large is not None or self._lifted is not None

    @cached_property
    def _lifted(self) -> UnrolledSolution | None:
        """The solve without G, by the velocities that its energy shares, if that is cheaper."""
        solution = lifted_solution(self.graph) if self.equations.is_definite else None
        if solution is not None and self._is_generically_healthy(
            solution.health, LIFTED_INSTRUCTIONS
        ):
            return solution
        return None

    def _unrolled(self, budget: Budget) -> UnrolledSolution | None:
        """The solve written out; None where it is never healthy."""
        g = self.graph
        blocks = (g.metric, g.force, g.rows, g.right)
        for augment in (False, True):
            solution = unrolled_solve(
                *blocks,
                free=g.free,
                dual_rows=g.dual_rows,
                augment=augment,
                definite=self.equations.is_definite,
                determined=not self.equations.has_gauge,
                budget=budget,
            )
            if self._is_generically_healthy(solution.health):
                return solution
            if not self.m or g.free is not None:
                return None
        return None

    def _is_generically_healthy(
        self, health: ca.SX, most_instructions: int = UNROLLED_INSTRUCTIONS
    ) -> bool:
        """Whether the solve works at some random state; if not, `gauss_problem` is used."""
        return is_generically_healthy(self._inputs(), health, most_instructions)

    def residual_scale(self, projection: ConstraintProjection) -> ca.SX:
        """The sum of each residual's derivatives by the variables that a step changes, (k x 1).

        The derivatives are those by the state, whatever the unknowns of the step are: at position
        level in Hamilton's form these have the unit of a momentum. The scale is multiplied by the
        largest state variable. Momenta count by what they do themselves, and beside the coordinates
        as velocities do, so that the unit of mass changes nothing.
        """
        state, dual = self._symbols[1], self.graph.dual_rows
        moved = sorted(set(ca.sparsify(projection.lift).sparsity().row()))
        scale = ca.sum2(ca.fabs(ca.jacobian(projection.residual, state[moved])))
        if dual is None or projection is not self.graph.velocity or not projection.residual.numel():
            return scale
        coordinates, momenta = (
            ca.mmax(ca.fabs(part))
            for part in (state[: self.n_coordinates], state[self.n_coordinates :])
        )
        size = ca.fmax(ca.sum2(ca.fabs(dual.T)) * coordinates, scale * momenta)
        return size / ca.fmax(ca.fmax(coordinates, momenta), 1e-300)

    @property
    def multiplier_names(self) -> tuple[str, ...]:
        """The constraints that the observed multipliers belong to."""
        if self.graph.row_multipliers is None:
            return tuple(self.equations.row_names)
        return tuple(constraint.name for constraint in self.equations.system.bilateral)

    @cached_property
    def observed(self) -> dict[str, slice]:
        """Where each observed quantity stands in the output of `observe`."""
        places, start = {}, 0
        for key, column in observed_columns(self).items():
            places[key] = slice(start, start + column.numel())
            start += column.numel()
        return places

    @cached_property
    def _velocity_count(self) -> int:
        return int(self.graph.velocities.numel())

    def energies(self, times: Array, states: Array, parameters: Parameters) -> Array | None:
        """The energy at many states of a large system, (nt,), where it needs no solve; else None.

        Small systems have it with everything else that is observed.
        """
        if (
            self.n <= UNROLLED_CONSTRAINED
            or self.free_inputs
            or ca.depends_on(ca.SX(self.graph.energy), self._unknown_symbols)
        ):
            return None
        return self._mapped("energy", 1, times, states, parameters)[:, 0]

    # -- native code -------------------------------------------------------------------------------

    @property
    def loaded_code(self) -> dict[str, list[str]]:
        """The functions in native code so far, by the identity of their code in the cache."""
        return {library.identity: list(library.addresses) for library in self._libraries}

    def address(self, name: str) -> int:
        """The address of a native function, compiled now if need be."""
        if name not in self._addresses:
            self._load(name)
        return self._addresses[name]

    @work("compile")
    def load(self, names: Iterable[str]) -> None:
        """Compile several programs, all but "fast", into one library: loading it costs more."""
        missing = [name for name in names if name not in self._addresses]
        if missing:
            library = native_library([self.program(name) for name in missing])
            self._libraries.append(library)
            self._addresses |= library.addresses

    @work("compile")
    def _load(self, name: str) -> None:
        if name == "fast" and self.large is None and self.solved is None:
            programs, further = self._dense_programs()
        else:
            programs, further = [self.program(name)], ""
        library = native_library(programs, further, [name])
        self._libraries.append(library)
        self._addresses |= library.addresses

    @work("compile")
    def load_program(self, program: Program) -> int:
        """Native code of a program that is not the kernel's own; loaded once per program."""
        if program not in self._loaded:
            library = native_library([program])
            self._libraries.append(library)
            self._loaded[program] = library.addresses[program.name]
        return self._loaded[program]

    def _dense_programs(self) -> tuple[list[Program], str]:
        """The right-hand side by a looped dense solve: blocks, solve, rates."""
        size = padded(self.n) * row_length(self.n)
        text = (
            dense_solve_text(self.n)
            + f"""
define void @fast(ptr %t, ptr %y, ptr %p, ptr %u, ptr %w, ptr %out) nounwind {{
  %array = alloca double, i64 {size}, align 32
  %z = alloca double, i64 {self.n + WIDTH}, align 32
  call void @dense_blocks(ptr %t, ptr %y, ptr %p, ptr %u, ptr %w, ptr %array)
  %health = call double @dense_solve(ptr %array, ptr %z)
  call void @rates(ptr %t, ptr %y, ptr %p, ptr %u, ptr %z, ptr %out)
  %last = getelementptr double, ptr %out, i64 {self.n_state}
  store double %health, ptr %last
  ret void
}}
"""
        )
        return [self.program("dense_blocks"), self.program("rates")], text

    @cached_property
    def has_fast(self) -> bool:
        """Whether the whole right-hand side exists as native code without a rank decision."""
        if self.has_written_solve:
            return True
        return self.m == 0 and self.equations.is_definite and not self.equations.has_gauge

    # -- plain use ---------------------------------------------------------------------------------

    def rates(
        self, time: float, state: Array, parameters: Parameters = (), inputs: Parameters = ()
    ) -> Array:
        """The time derivative of the state, as an array (n_state,)."""
        y = numbers_for(self.equations.state, state, "state")
        p = parameter_values(self.parameters, parameters)
        u = numbers_for(self.free_inputs, inputs, "inputs")
        if self.backend == "numpy":
            return self._interpreted_rates(time, y, p, u)
        return self.plain_context(p).rates(time, y, u)

    def plain_context(self, p: Array) -> Context:
        """A context for single evaluations, one for each thread."""
        context: Context | None = getattr(self._local, "context", None)
        if context is None:
            context = self._local.context = Context(self, p)
        context.parameters[:] = p
        if self.free_inputs:
            context.fields.arrays["input_values"][:] = 0.0
        context.forget_choices()
        return context

    def _interpreted_rates(self, time: float, y: Array, p: Array, u: Array) -> Array:
        from .gauss.constrained_solve import solve

        n, m = self.n, self.m
        out = interpret(self.program("blocks"), (np.array([time]), y, p, u, np.zeros(0)))
        G, f, A, b = np.split(out, np.cumsum([n * n, n, m * n]))
        solution = solve(
            G.reshape(n, n), f, A.reshape(m, n), b,
            definite=self.equations.is_definite, gauge=self.equations.has_gauge,
        )  # fmt: skip
        w = np.concatenate([solution.z, solution.multipliers])
        return interpret(self.program("rates"), (np.array([time]), y, p, u, w))

    def time_native(
        self, time: float, state: Array, parameters: Parameters = (), repeats: int = 1000
    ) -> float:
        """Seconds for one evaluation of the rates in a native loop."""
        y = np.ascontiguousarray(state, dtype=float).reshape(self.n_state)
        return Context(self, parameter_values(self.parameters, parameters)).time_rates(
            time, y, repeats
        )
