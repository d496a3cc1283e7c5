"""Methods whose steps are equations of the model: their programs, and the arrays of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ....codegen.program import straight_line
from ....formulations.equations import Equations
from ....model.work_clock import work
from ....runtime.kernel import Kernel
from ....typing import IntArray
from ..compositions import composition
from ..fixed.fixed_steps import method_step
from ..method import FixedStep, Method
from .canonical_steps import CANONICAL_METHODS, canonical_equations, check_canonical_steps
from .energy_steps import check_energy_steps, energy_equations
from .nonholonomic_steps import check_velocity_steps, dla_equations, leapfrog_equations
from .root_equations import StepEquations, StepSymbols
from .root_solver import root_step

if TYPE_CHECKING:
    from ..fixed.fixed_run import FixedRun

__all__ = ["METHODS", "SCHEMES"]


@dataclass(frozen=True)
class RootScheme:
    """A symmetric method, of order 2 where it is composed.

    Attributes
    ----------
    equations : writes the equations of a step for a kernel
    check : raises an error that says which hypothesis fails
    form : the form of the equations that its steps are taken in
    names, order : the name of the method by the order of composition, and the order of one step
    """

    name: str
    equations: Callable[[Kernel, StepSymbols], StepEquations]
    check: Callable[[Equations, str], None]
    form: str
    description: str
    names: Mapping[int, str]
    order: int = 2
    is_symplectic: bool = False


_DLA = {2: "dla", 4: "dla4", 6: "dla6"}
_LEAPFROG = {2: "nonholonomic-leapfrog", 4: "nonholonomic-leapfrog4", 6: "nonholonomic-leapfrog6"}
_ENERGY = {2: "energy2", 4: "energy4", 6: "energy6"}
SCHEMES = (
    *(
        RootScheme(
            name,
            canonical_equations(name),
            check_canonical_steps,
            "hamilton",
            description,
            {2: name},
            order,
            is_symplectic=True,
        )
        for name, (order, description) in CANONICAL_METHODS.items()
    ),
    RootScheme(
        "dla",
        dla_equations,
        check_velocity_steps,
        "lagrange",
        "discrete principle of Lagrange and d'Alembert",
        _DLA,
    ),
    RootScheme(
        "nonholonomic-leapfrog",
        leapfrog_equations,
        check_velocity_steps,
        "lagrange",
        "leapfrog for constraints of velocities; reversible",
        _LEAPFROG,
    ),
    RootScheme(
        "energy",
        energy_equations,
        check_energy_steps,
        "hamilton",
        "discrete gradient; keeps the energy",
        _ENERGY,
    ),
)


@dataclass(frozen=True)
class _Compiled:
    """Addresses of the programs, and columns that describe the sets of equations.

    Of each set: its residual and matrix, its size, where its unknowns begin and how many of them
    are increments of the state, where its factors begin, and which symbols of the state it moves.
    """

    begin: int
    end: int
    columns: dict[str, IntArray]
    width: int


_SET = ("residual_program", "matrix_program", "size", "first", "increments", "first_factor")
_COLUMNS = tuple(f"root_{name}" for name in (*_SET, "symbols_from", "symbols_to"))


def _compiled(kernel: Kernel, scheme: RootScheme) -> _Compiled:
    """Compile the programs of a scheme."""
    symbols = StepSymbols(kernel)
    found = scheme.equations(kernel, symbols)
    unknowns = ca.vertcat(*(stage.unknowns for stage in found.stages))

    def load(name: str, output: ca.SX) -> int:
        return _load(kernel, symbols, unknowns, f"{scheme.name}_{name}", [output])

    rows, first, factors, everyone = [], 0, 0, (0, kernel.n_state)
    for k, stage in enumerate(found.stages):
        size = stage.unknowns.numel()
        residual = load(f"residual_{k}", stage.residual)
        matrix = load(f"matrix_{k}", ca.jacobian(stage.residual, stage.unknowns))
        increments, moved = stage.increments, stage.symbols or everyone
        rows.append([residual, matrix, size, first, increments, factors, *moved])
        first, factors = first + size, factors + size**2
    begin, end = load("begin", found.guess), load("end", found.end)
    table = np.array(rows, np.int64).T
    columns = {n: np.ascontiguousarray(c) for n, c in zip(_COLUMNS, table, strict=True)}
    return _Compiled(begin, end, columns, first)


@work("compile")
def _load(
    kernel: Kernel, symbols: StepSymbols, unknowns: ca.SX, name: str, outputs: Sequence[Any]
) -> int:
    time, y, parameters, *_ = kernel._inputs()
    further = ca.vertcat(symbols.added, unknowns, symbols.h)
    program = straight_line(
        name.replace("-", "_"), [time, y, parameters, symbols.low, further], list(outputs)
    )
    return kernel.load_program(program)


def _prepare(run: FixedRun, scheme: RootScheme, composed: int) -> None:
    """Bind the programs and arrays of a run, with steps composed to an order."""
    steps = run.kernel.cache.get(("steps", scheme.name), lambda: _compiled(run.kernel, scheme))
    weights, ns = composition(composed), run.kernel.n_state
    count, sets, width = len(weights), len(steps.columns["root_size"]), steps.width
    fields, bind = run.context.fields, run.context.fields.bind
    fields.root_begin, fields.root_end, fields.root_width = steps.begin, steps.end, width
    fields.n_root_stages, fields.n_stages = sets, count
    for name, column in steps.columns.items():
        bind(name, column)
    for name in ("roots_now", "roots_before", "roots_earlier", "root_diagonals", "root_scales"):
        bind(name, np.zeros((count, width)))
    for name, numbers in (
        ("weights", weights),
        ("root_step", np.full(1, np.nan)),
        ("root_input", np.zeros(ns + width + 1)),
        ("root_factors", np.zeros((count, width * width))),
        ("root_order", np.zeros((count, width), np.int64)),
        ("root_kept", np.zeros((count, sets), np.int64)),
        ("root_residual", np.zeros(2 * width)),
    ):
        bind(name, numbers)


METHODS = tuple(
    Method(
        name,
        scheme.description + (f", composed to order {composed}" if composed > 2 else ""),
        composed if composed > 2 else scheme.order,
        FixedStep(
            ((method_step, root_step),),
            partial(_prepare, scheme=scheme, composed=composed),
            ends_on_constraints=True,
            allows_adapt=True,
        ),
        scheme.form,
        scheme.check,
        scheme.is_symplectic,
    )
    for scheme in SCHEMES
    for composed, name in scheme.names.items()
)
