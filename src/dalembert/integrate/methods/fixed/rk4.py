r"""The classical Runge-Kutta method of order 4 (W. Kutta, Z. Math. Phys. 46 (1901) 435-453).

    k_1 = f(t, y),  k_2 = f(t + h/2, y + h k_1/2),  k_3 = f(t + h/2, y + h k_2/2),
    k_4 = f(t + h, y + h k_3),      y <- y + h (k_1 + 2 k_2 + 2 k_3 + k_4) / 6

for comparisons: its energy drifts at a rate of h^4, and nothing controls the error of a step. Each
step is projected onto the constraints of velocities, as those of all methods with given steps are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....codegen.native.language import native
from ....runtime.gauss.solve_status import DEPENDENT
from ....runtime.projection import evaluate
from ...run_fields import FixedFields
from ..hypotheses import refuse_positions
from ..method import FixedStep, Method
from .fixed_steps import method_step

if TYPE_CHECKING:
    from .fixed_run import FixedRun

__all__ = ["METHODS"]


@native
def rk4_step(context: FixedFields, t: float, h: float) -> int:
    """delta <- h (k_1 + 2 k_2 + 2 k_3 + k_4) / 6; each k takes the place of the one before."""
    ns = context.n_state
    y, stage, rate, delta = context.y, context.stage, context.stages, context.delta
    counts = context.counts
    for c in range(ns):
        stage[c] = y[c]
        delta[c] = 0.0
    for k in range(4):
        reach = 0.0 if k == 0 else 1.0 if k == 3 else 0.5
        share = 1.0 / 6.0 if k == 0 or k == 3 else 1.0 / 3.0
        counts.evaluations += 1
        status = evaluate(context, t + reach * h, stage, rate)
        if status > DEPENDENT:
            return status
        ahead = h if k == 2 else 0.5 * h
        for c in range(ns):
            delta[c] += share * h * rate[c]
            stage[c] = y[c] + ahead * rate[c]
    return 0


def _prepare(run: FixedRun) -> None:
    """Bind nothing: the arrays of every run are enough."""


METHODS = (
    Method(
        "rk4",
        "classical Runge-Kutta method, for comparisons; its energy drifts",
        order=4,
        step=FixedStep(((method_step, rk4_step),), _prepare),
        check=refuse_positions,
    ),
)
