r"""Verlet's method on a Lie group: two half steps by the same generator, taken where they meet.

    u = h A(exp(u/2) X exp(-u/2)),        X_new = exp(u) X exp(-u)

The first half is implicit and the second explicit, each the adjoint of the other, so that the
method is symmetric and of order 2; both halves stay on the orbit of X. Symbols that no action moves
take the midpoint rule with it. (E. Hairer, C. Lubich, G. Wanner: Geometric Numerical Integration,
IV.8.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....codegen.native.language import Reals, native
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
from .isospectral import begin_matrices, rest_increments, rest_sum
from .matrices import exponential_less_one
from .orbit_steps import call_generators, moved_symbols, refine_skew_factors, transpose_skew_factors

if TYPE_CHECKING:
    from ..fixed.fixed_run import FixedRun

__all__ = ["METHODS", "exponential_factors", "scaled_generators"]


@native
def exponential_factors(context: FixedFields, scale: float, unknowns: Reals) -> None:
    """LEFT <- exp(scale u) - 1 and RIGHT <- exp(-scale u) - 1 for the element u of each algebra."""
    algebra, work = context.algebra, context.matrix_work
    for k in range(context.n_generators):
        n, source, place = (
            context.generator_size[k],
            unknowns + context.generator_unknown[k],
            context.generator_place[k],
        )
        for e in range(n * n):
            algebra[e] = scale * source[e]
        exponential_less_one(n, context.generator_skew[k] != 0, algebra, context.left + place, work)
        if context.generator_skew[k] == 0:
            for e in range(n * n):
                algebra[e] = -algebra[e]
            exponential_less_one(n, False, algebra, context.right + place, work)
    transpose_skew_factors(context)


@native
def scaled_generators(context: FixedFields, scale: float, out: Reals) -> None:
    """out <- scale times the generators, as unknowns."""
    for k in range(context.n_generators):
        generator, target = (
            context.generators + context.generator_place[k],
            out + context.generator_unknown[k],
        )
        for e in range(context.generator_size[k] * context.generator_size[k]):
            target[e] = scale * generator[e]


@native
def verlet_stage(
    context: FixedFields, i: int, t: float, h: float, unknowns: Reals, fresh: Reals
) -> int:
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
def verlet_end(context: FixedFields) -> None:
    """delta <- what the step adds to the state."""
    unknowns, delta = context.unknowns_now, context.delta
    exponential_factors(context, 1.0, unknowns)
    refine_skew_factors(context)
    moved_symbols(context, False, delta)
    rest_sum(context, context.weights, unknowns, delta)


def _prepare(run: FixedRun) -> None:
    bind_stages(run, 1, bind_actions(run, is_linear=False))


METHODS = (
    Method(
        "lie-verlet",
        "Verlet's method on a Lie group: two half steps by one generator; stays on the orbits",
        2,
        FixedStep(
            (
                (method_step, implicit_step),
                (begin_stages, begin_matrices),
                (stage_increments, verlet_stage),
                (sum_stages, verlet_end),
            ),
            _prepare,
        ),
        check=check_actions,
        moves_by_group=True,
    ),
)
