r"""Isospectral symplectic Runge-Kutta methods for matrices that move by a group, X' = A X - X B.

Each generator A has factors g' = A g and h' = -h A with h g = 1. Gauss's method is applied to both,

    L_i = h b_i A_i G_i,    G_i = 1 + sum_j mu_ij L_j,        R_i = -h b_i H_i A_i,    H_i = 1 + sum_j mu_ij R_j,

with A_i at the stage G_i X H_i, and X_new = g X h with g = 1 + sum L_j, h = 1 + sum R_j. It keeps h g = 1, which is quadratic:
a step is a similarity, and keeps the spectrum; one stage is Cayley's transform. Symbols that no action moves take Gauss's
method itself. K. Modin, M. Viviani: Lie-Poisson methods for isospectral flows, Found. Comput. Math. 20 (2020) 889-921, where
X stands for a reduced point of the cotangent bundle of GL(n).
"""

from __future__ import annotations

from ....codegen.native.language import Reals, native
from ....runtime.gauss.solve_status import CONTRADICTORY, SINGULAR
from ....runtime.projection import MISSING, evaluate
from ...run_fields import FixedFields
from ..fixed.fixed_fields import GENERATOR_COLUMNS, PLACE, SIZE, SKEW, SOURCE, UNKNOWN
from .matrices import add_product
from .orbit_steps import call_generators, moved_symbols, refine_skew_factors, transpose_skew_factors

__all__ = ["isospectral_end", "isospectral_stage", "rest_increments", "rest_sum", "transported"]


@native
def combined_factors(context: FixedFields, weights: Reals, unknowns: Reals) -> None:
    """LEFT and RIGHT <- the sums over the stages of weights times the unknowns."""
    width = context.n_stage_unknowns
    for k in range(context.n_generators):
        table = context.generator_table + k * GENERATOR_COLUMNS
        size = table[SIZE] * table[SIZE]
        left, right = context.left + table[PLACE], context.right + table[PLACE]
        for e in range(size):
            left[e] = 0.0
            right[e] = 0.0
        for j in range(context.n_stages):
            row = unknowns + (j * width + table[UNKNOWN])
            for e in range(size):
                left[e] += weights[j] * row[e]
            if table[SKEW] == 0:
                row = row + size
                for e in range(size):
                    right[e] += weights[j] * row[e]
    transpose_skew_factors(context)


@native
def rest_sum(context: FixedFields, weights: Reals, unknowns: Reals, delta: Reals) -> None:
    """delta of the symbols that no action moves <- the sums over the stages of weights times the unknowns."""
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
def isospectral_stage(context: FixedFields, i: int, t: float, h: float, unknowns: Reals, fresh: Reals) -> int:
    """fresh <- the increments of the factors at stage i of the increments `unknowns` (stages x n_unknowns)."""
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
        table = context.generator_table + k * GENERATOR_COLUMNS
        n, size = table[SIZE], table[SIZE] * table[SIZE]
        generator, out = context.generators + table[SOURCE], fresh + table[UNKNOWN]
        for e in range(size):
            out[e] = scale * generator[e]
        add_product(n, n, n, scale, generator, context.left + table[PLACE], out)
        if table[SKEW] == 0:
            out = out + size
            for e in range(size):
                out[e] = -scale * generator[e]
            add_product(n, n, n, -scale, context.right + table[PLACE], generator, out)
    return rest_increments(context, time, scale, stage, fresh)


@native
def isospectral_end(context: FixedFields, ones: Reals, unknowns: Reals, delta: Reals) -> None:
    """delta <- what the step adds to the state."""
    combined_factors(context, ones, unknowns)
    refine_skew_factors(context)
    moved_symbols(context, False, delta)
    rest_sum(context, ones, unknowns, delta)


@native
def transported(context: FixedFields, unknowns: Reals) -> None:
    """The increments of a step before as seen from its end: L_i <- L_i h, R_i <- g R_i, with g and h of the last step."""
    width, work = context.n_stage_unknowns, context.matrix_work
    for k in range(context.n_generators):
        table = context.generator_table + k * GENERATOR_COLUMNS
        n, size = table[SIZE], table[SIZE] * table[SIZE]
        for j in range(context.n_stages):
            row = unknowns + (j * width + table[UNKNOWN])
            for e in range(size):
                work[e] = row[e]
            add_product(n, n, n, 1.0, work, context.right + table[PLACE], row)
            if table[SKEW] == 0:
                row = row + size
                for e in range(size):
                    work[e] = row[e]
                add_product(n, n, n, 1.0, context.left + table[PLACE], work, row)
