r"""The Runge-Kutta-Munthe-Kaas method of order 4: the classical Runge-Kutta method in the Lie
algebra.

    X = exp(u) X_n exp(-u),        u' = dexp_u^-1 A(X) = A - [u, A]/2 + [u, [u, A]]/12 + ...,
    u = 0 at X_n

Symbols that no action moves take the classical method. (H. Munthe-Kaas, Appl. Numer. Math. 29
(1999) 115-127; E. Hairer, C. Lubich, G. Wanner: Geometric Numerical Integration, IV.8.2.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....codegen.native.language import Reals, native
from ...run_fields import FixedFields
from ..fixed.fixed_steps import method_step
from ..implicit.collocation import bind_stages
from ..method import FixedStep, Method
from .group_tables import bind_actions, check_actions
from .isospectral import rest_increments
from .lie_verlet import exponential_factors, scaled_generators
from .matrices import bracket
from .orbit_steps import call_generators, fill_matrices, moved_symbols, refine_skew_factors

if TYPE_CHECKING:
    from ..fixed.fixed_run import FixedRun

__all__ = ["METHODS"]


@native
def from_the_group(context: FixedFields, u: Reals, rate: Reals) -> None:
    """rate <- dexp_u^-1 rate, to the second bracket, for each algebra."""
    work = context.matrix_work
    for k in range(context.n_generators):
        n, here, change = (
            context.generator_size[k],
            u + context.generator_unknown[k],
            rate + context.generator_unknown[k],
        )
        once, twice = work, work + n * n
        bracket(n, here, change, once)
        bracket(n, here, once, twice)
        for e in range(n * n):
            change[e] += twice[e] / 12.0 - 0.5 * once[e]


@native
def displaced(context: FixedFields, is_stage: bool, u: Reals, delta: Reals) -> None:
    """delta <- what the element u of the algebra and of the other symbols adds to the state."""
    rest, first = context.rest, context.n_stage_unknowns - context.n_rest
    exponential_factors(context, 1.0, u)
    if not is_stage:
        refine_skew_factors(context)
    moved_symbols(context, is_stage, delta)
    for r in range(context.n_rest):
        delta[rest[r]] = u[first + r]


@native
def munthe_kaas_step(context: FixedFields, t: float, h: float) -> int:
    """delta <- what a step adds. The unknowns are two rows: the sum of stages, the argument."""
    width, y, stage = context.n_stage_unknowns, context.y, context.stage
    total, fresh, counts = context.unknowns_now, context.fresh, context.counts
    counts.evaluations += 4
    fill_matrices(context, y)
    u = total + width
    for e in range(width):
        total[e] = 0.0
        u[e] = 0.0
    for s in range(4):
        reach = 0.0 if s == 0 else (1.0 if s == 3 else 0.5)
        weight = 1.0 / 6.0 if s == 0 or s == 3 else 1.0 / 3.0
        for c in range(context.n_state):
            stage[c] = y[c]
        if s > 0:
            for e in range(width):
                u[e] = reach * fresh[e]
            displaced(context, True, u, stage)
            for c in range(context.n_state):
                stage[c] += y[c]
        call_generators(context, t + reach * h, stage)
        scaled_generators(context, h, fresh)
        status = rest_increments(context, t + reach * h, h, stage, fresh)
        if status != 0:
            return status
        from_the_group(context, u, fresh)
        for e in range(width):
            total[e] += weight * fresh[e]
    displaced(context, False, total, context.delta)
    return 0


def _prepare(run: FixedRun) -> None:
    bind_stages(run, 2, bind_actions(run, is_linear=False))


METHODS = (
    Method(
        "rkmk4",
        "explicit Runge-Kutta-Munthe-Kaas method in the Lie algebra; stays on the orbits",
        4,
        FixedStep(((method_step, munthe_kaas_step),), _prepare),
        check=check_actions,
        moves_by_group=True,
    ),
)
