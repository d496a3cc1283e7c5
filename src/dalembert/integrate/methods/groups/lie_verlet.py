r"""Verlet's method on a Lie group: two half steps by the same generator, taken where they meet.

    u = h A(exp(u/2) X exp(-u/2)),        X_new = exp(u) X exp(-u)

The first half is implicit and the second explicit, each the adjoint of the other, so that the method is symmetric and of
order 2; both halves stay on the orbit of X. Symbols that no action moves take the midpoint rule with it. (E. Hairer, C. Lubich,
G. Wanner: Geometric Numerical Integration, IV.8.)
"""

from __future__ import annotations

from ....codegen.native.language import Reals, native
from ...run_fields import FixedFields
from ..fixed.fixed_fields import GENERATOR_COLUMNS, PLACE, SIZE, SKEW, SOURCE, UNKNOWN
from .isospectral import rest_increments, rest_sum
from .matrices import exponential_less_one
from .orbit_steps import call_generators, moved_symbols, refine_skew_factors, transpose_skew_factors

__all__ = ["exponential_factors", "verlet_end", "verlet_stage"]


@native
def exponential_factors(context: FixedFields, scale: float, unknowns: Reals) -> None:
    """LEFT <- exp(scale u) - 1 and RIGHT <- exp(-scale u) - 1 for the element u of each algebra."""
    algebra, work = context.algebra, context.matrix_work
    for k in range(context.n_generators):
        table = context.generator_table + k * GENERATOR_COLUMNS
        n, source, place = table[SIZE], unknowns + table[UNKNOWN], table[PLACE]
        for e in range(n * n):
            algebra[e] = scale * source[e]
        exponential_less_one(n, table[SKEW] != 0, algebra, context.left + place, work)
        if table[SKEW] == 0:
            for e in range(n * n):
                algebra[e] = -algebra[e]
            exponential_less_one(n, False, algebra, context.right + place, work)
    transpose_skew_factors(context)


@native
def scaled_generators(context: FixedFields, scale: float, out: Reals) -> None:
    """out <- scale times the generators, as unknowns."""
    for k in range(context.n_generators):
        table = context.generator_table + k * GENERATOR_COLUMNS
        generator, target = context.generators + table[SOURCE], out + table[UNKNOWN]
        for e in range(table[SIZE] * table[SIZE]):
            target[e] = scale * generator[e]


@native
def verlet_stage(context: FixedFields, t: float, h: float, unknowns: Reals, fresh: Reals) -> int:
    """fresh <- h A where the two halves meet, for the elements `unknowns` of the algebras."""
    y, stage = context.y, context.stage
    exponential_factors(context, 0.5, unknowns)
    moved_symbols(context, True, stage)
    rest_sum(context, context.mix, unknowns, stage)
    for c in range(context.n_state):
        stage[c] += y[c]
    call_generators(context, t + 0.5 * h, stage)
    scaled_generators(context, h, fresh)
    return rest_increments(context, t + 0.5 * h, h, stage, fresh)


@native
def verlet_end(context: FixedFields, unknowns: Reals, delta: Reals) -> None:
    """delta <- what the step adds to the state."""
    exponential_factors(context, 1.0, unknowns)
    refine_skew_factors(context)
    moved_symbols(context, False, delta)
    rest_sum(context, context.weights, unknowns, delta)
