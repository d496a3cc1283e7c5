r"""Isospectral symplectic Runge-Kutta methods for matrices that move by a group, X' = A X - X B.

Each generator A has factors g' = A g and h' = -h A with h g = 1. Gauss's method is applied to both,

    L_i = h b_i A_i G_i,    G_i = 1 + sum_j mu_ij L_j,        R_i = -h b_i H_i A_i,    H_i = 1 +
    sum_j mu_ij R_j,

with A_i at the stage G_i X H_i, and X_new = g X h with g = 1 + sum L_j, h = 1 + sum R_j. It keeps h
g = 1, which is quadratic: a step is a similarity, and keeps the spectrum; one stage is Cayley's
transform. Symbols that no action moves take Gauss's method itself. K. Modin, M. Viviani:
Lie-Poisson methods for isospectral flows, Found. Comput. Math. 20 (2020) 889-921, where X stands
for a reduced point of the cotangent bundle of GL(n).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ....runtime.projection import MISSING, evaluate
from ...run_fields import FixedFields
from ..fixed.fixed_steps import method_step
from ..implicit.collocation import (
    begin_stages,
    bind_stages,
    implicit_step,
    stage_increments,
    sum_stages,
)
from ..method import FixedStep, Method
from .group_tables import bind_actions, check_actions
from .matrices import add_product
from .orbit_steps import (
    call_generators,
    fill_matrices,
    moved_symbols,
    refine_skew_factors,
    transpose_skew_factors,
)

if TYPE_CHECKING:
    from ..fixed.fixed_run import FixedRun

__all__ = ["METHODS", "begin_matrices", "rest_increments", "rest_sum"]

ONES: Any = np.ones(3)


@native
def begin_matrices(context: FixedFields) -> None:
    """matrices <- those of the flow at the state where a step begins."""
    fill_matrices(context, context.y)


@native
def combined_factors(context: FixedFields, weights: Reals, unknowns: Reals) -> None:
    """LEFT and RIGHT <- the sums over the stages of weights times the unknowns."""
    width = context.n_stage_unknowns
    for k in range(context.n_generators):
        size = context.generator_size[k] * context.generator_size[k]
        left, right = (
            context.left + context.generator_place[k],
            context.right + context.generator_place[k],
        )
        for e in range(size):
            left[e] = 0.0
            right[e] = 0.0
        for j in range(context.n_stages):
            row = unknowns + (j * width + context.generator_unknown[k])
            for e in range(size):
                left[e] += weights[j] * row[e]
            if context.generator_skew[k] == 0:
                row = row + size
                for e in range(size):
                    right[e] += weights[j] * row[e]
    transpose_skew_factors(context)


@native
def rest_sum(context: FixedFields, weights: Reals, unknowns: Reals, delta: Reals) -> None:
    """delta of symbols that no action moves <- sums over stages of weights times unknowns."""
    width, rest = context.n_stage_unknowns, context.rest
    for r in range(context.n_rest):
        total = 0.0
        for j in range(context.n_stages):
            total += weights[j] * unknowns[(j + 1) * width - context.n_rest + r]
        delta[rest[r]] = total


@native
def rest_increments(context: FixedFields, time: float, scale: float, y: Reals, fresh: Reals) -> int:
    """The last places of fresh <- scale times the rates of the symbols that no action moves."""
    if context.n_rest == 0:
        return 0
    rest, rate = context.rest, context.stages
    status = evaluate(context, time, y, rate)
    if status == SINGULAR or status == MISSING or status == CONTRADICTORY:
        return status
    first = context.n_stage_unknowns - context.n_rest
    for r in range(context.n_rest):
        fresh[first + r] = scale * rate[rest[r]]
    return 0


@native
def isospectral_stage(
    context: FixedFields, i: int, t: float, h: float, unknowns: Reals, fresh: Reals
) -> int:
    """fresh <- the increments of the factors at stage i of `unknowns` (stages x n_unknowns)."""
    ns, stages = context.n_state, context.n_stages
    y, stage = context.y, context.stage
    mix, nodes, weights = context.mix + i * stages, context.nodes, context.weights
    combined_factors(context, mix, unknowns)
    moved_symbols(context, True, stage)
    rest_sum(context, mix, unknowns, stage)
    for c in range(ns):
        stage[c] += y[c]
    time, scale = t + nodes[i] * h, h * weights[i]
    call_generators(context, time, stage)
    for k in range(context.n_generators):
        n, size = context.generator_size[k], context.generator_size[k] * context.generator_size[k]
        generator, out = (
            context.generators + context.generator_place[k],
            fresh + context.generator_unknown[k],
        )
        for e in range(size):
            out[e] = scale * generator[e]
        add_product(n, n, n, scale, generator, context.left + context.generator_place[k], out)
        if context.generator_skew[k] == 0:
            out = out + size
            for e in range(size):
                out[e] = -scale * generator[e]
            add_product(n, n, n, -scale, context.right + context.generator_place[k], generator, out)
    return rest_increments(context, time, scale, stage, fresh)


@native
def isospectral_end(context: FixedFields) -> None:
    """delta <- what the step adds to the state; the unknowns are transported to its end."""
    counts, delta, unknowns = context.counts, context.delta, context.unknowns_now
    combined_factors(context, ONES, unknowns)
    refine_skew_factors(context)
    moved_symbols(context, False, delta)
    rest_sum(context, ONES, unknowns, delta)
    transported(context, unknowns)
    if counts.remembered > 0:
        transported(context, context.before)


@native
def transported(context: FixedFields, unknowns: Reals) -> None:
    """Transport increments to the end of a step: L_i <- L_i h, R_i <- g R_i."""
    width, work = context.n_stage_unknowns, context.matrix_work
    for k in range(context.n_generators):
        n, size = context.generator_size[k], context.generator_size[k] * context.generator_size[k]
        for j in range(context.n_stages):
            row = unknowns + (j * width + context.generator_unknown[k])
            for e in range(size):
                work[e] = row[e]
            add_product(n, n, n, 1.0, work, context.right + context.generator_place[k], row)
            if context.generator_skew[k] == 0:
                row = row + size
                for e in range(size):
                    work[e] = row[e]
                add_product(n, n, n, 1.0, context.left + context.generator_place[k], work, row)


def _prepare(run: FixedRun, stages: int) -> None:
    bind_stages(run, stages, bind_actions(run, is_linear=True))


METHODS = tuple(
    Method(
        f"isospectral{2 * stages}",
        f"isospectral Runge-Kutta method with {stages} stage{'s' * (stages > 1)}; keeps spectra",
        2 * stages,
        FixedStep(
            (
                (method_step, implicit_step),
                (begin_stages, begin_matrices),
                (stage_increments, isospectral_stage),
                (sum_stages, isospectral_end),
            ),
            partial(_prepare, stages=stages),
        ),
        check=check_actions,
        moves_by_group=True,
    )
    for stages in (1, 2, 3)
)
