"""Methods whose steps are equations of the model: their programs, kept with the kernel, and the arrays of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from ....codegen.program import straight_line
from ....runtime.kernel import Kernel
from ..compositions import composition
from .canonical_steps import CANONICAL_METHODS, canonical_equations, check_canonical_steps
from .energy_steps import check_energy_steps, energy_equations
from .nonholonomic_steps import check_velocity_steps, dla_equations, leapfrog_equations
from .root_equations import StepEquations, StepSymbols

__all__ = ["ROOT_METHODS", "check_root_steps", "hold_roots", "root_form"]


@dataclass(frozen=True)
class Scheme:
    """A symmetric method, of order 2 where it is composed: its equations, what it refuses, and the form of its steps."""

    equations: Callable[[Kernel, StepSymbols], StepEquations]
    check: Callable[[Any, str], None]
    form: str


SCHEMES = {
    "dla": Scheme(dla_equations, check_velocity_steps, "lagrange"),
    "nonholonomic-leapfrog": Scheme(leapfrog_equations, check_velocity_steps, "lagrange"),
    "energy": Scheme(energy_equations, check_energy_steps, "hamilton"),
} | {name: Scheme(canonical_equations(name), check_canonical_steps, "hamilton") for name in CANONICAL_METHODS}
#: The scheme of each method, and the order of the composition of its steps; a single step is one of order 2.
ROOT_METHODS = {
    "dla": ("dla", 2),
    "dla4": ("dla", 4),
    "dla6": ("dla", 6),
    "nonholonomic-leapfrog": ("nonholonomic-leapfrog", 2),
    "nonholonomic-leapfrog4": ("nonholonomic-leapfrog", 4),
    "nonholonomic-leapfrog6": ("nonholonomic-leapfrog", 6),
    "energy2": ("energy", 2),
    "energy4": ("energy", 4),
    "energy6": ("energy", 6),
} | {name: (name, 2) for name in CANONICAL_METHODS}


def root_form(method: str) -> str | None:
    """The form that a method takes its steps in, where it is one of these."""
    return SCHEMES[ROOT_METHODS[method][0]].form if method in ROOT_METHODS else None


def check_root_steps(equations: Any, method: str) -> None:
    """Refuse what a method cannot follow."""
    SCHEMES[ROOT_METHODS[method][0]].check(equations, method)


@dataclass(frozen=True)
class _Compiled:
    """Addresses of the programs, and the table of the sets of equations (sets x ROOT_COLUMNS)."""

    begin: int
    end: int
    table: Any
    width: int


def _compiled(kernel: Kernel, scheme: str) -> _Compiled:
    """The programs of a scheme, compiled once and kept with the kernel."""
    kept: dict[str, _Compiled] = kernel.__dict__.setdefault("_root_steps", {})
    if scheme not in kept:
        symbols = StepSymbols(kernel)
        found = SCHEMES[scheme].equations(kernel, symbols)
        unknowns = ca.vertcat(*(stage.unknowns for stage in found.stages))
        rows, first, factors, everyone = [], 0, 0, (0, kernel.n_state)
        for k, stage in enumerate(found.stages):
            size = stage.unknowns.numel()
            matrix = ca.jacobian(stage.residual, stage.unknowns)
            residual_address = _load(kernel, symbols, unknowns, f"{scheme}_residual_{k}", [stage.residual])
            matrix_address = _load(kernel, symbols, unknowns, f"{scheme}_matrix_{k}", [matrix])
            rows.append(
                [residual_address, matrix_address, size, first, stage.increments, factors, *(stage.symbols or everyone)]
            )
            first, factors = first + size, factors + size**2
        kept[scheme] = _Compiled(
            _load(kernel, symbols, unknowns, f"{scheme}_begin", [found.guess]),
            _load(kernel, symbols, unknowns, f"{scheme}_end", [found.end]),
            np.array(rows, np.int64),
            first,
        )
    return kept[scheme]


def _load(kernel: Kernel, symbols: StepSymbols, unknowns: Any, name: str, outputs: Sequence[Any]) -> int:
    time, y, parameters, *_ = kernel._inputs()
    further = ca.vertcat(symbols.added, unknowns, symbols.h)
    program = straight_line(name.replace("-", "_"), [time, y, parameters, symbols.low, further], list(outputs))
    return kernel.load_program(program)


def hold_roots(run: Any) -> None:
    """The programs and arrays of a run, in its context."""
    scheme, order = ROOT_METHODS[run.task.method]
    steps, weights, ns = _compiled(run.kernel, scheme), composition(order), run.kernel.n_state
    count, sets, width = len(weights), len(steps.table), steps.width
    fields = run.context.fields
    fields.root_begin, fields.root_end, fields.root_width = steps.begin, steps.end, width
    fields.n_root_stages = sets
    for name, numbers in (
        ("weights", weights),
        ("root_table", steps.table),
        ("root_step", np.full(1, np.nan)),
        ("root_input", np.zeros(ns + width + 1)),
        ("roots_now", np.zeros((count, width))),
        ("roots_before", np.zeros((count, width))),
        ("roots_earlier", np.zeros((count, width))),
        ("root_factors", np.zeros((count, width * width))),
        ("root_diagonals", np.zeros((count, width))),
        ("root_scales", np.zeros((count, width))),
        ("root_order", np.zeros((count, width), np.int64)),
        ("root_kept", np.zeros((count, sets), np.int64)),
        ("root_residual", np.zeros(2 * width)),
    ):
        run.context.fields.bind(name, numbers)
