r"""The equations of a Lobatto IIIA-IIIB step for Hamiltonian systems with holonomic constraints.

With a_ij = mu_ij b_j of Lobatto IIIA, ahat_ij = nu_ij b_j of IIIB, R = -H_q + Q and impulses L_j
along G(Q_j)^T:

    Q_i = q0 + sum_j mu_ij d_j,      d_j = h b_j H_p(Q_j, P_j),                      g(Q_i) = 0,  i
    = 2, ..., s P_i = p0 + sum_j nu_ij e_j,      e_j = h b_j R(Q_j, P_j) + G(Q_j)^T L_j q1 = Q_s,
    p1 = p0 + sum_j e_j,                            G(q1) H_p(q1, p1) + g_t = 0

(L. Jay, SIAM J. Numer. Anal. 33 (1996) 368; E. Hairer, C. Lubich, G. Wanner: Geometric Numerical
Integration, VII.1.4). It is symplectic and symmetric on the constraints, with order 2s - 2, for
mass matrices of any kind. With two stages and a constant mass it is RATTLE.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca

from .quadratures import lobatto_pair
from .root_equations import StageEquations, StepEquations

if TYPE_CHECKING:
    from .canonical_steps import CanonicalModel

__all__ = ["STAGES", "lobatto_equations", "weighted_sum"]


#: Stages of each method.
STAGES = {"lobatto2": 2, "lobatto4": 3, "lobatto6": 4}


def lobatto_equations(model: CanonicalModel, stages: int) -> StepEquations:
    """The equations for a `canonical_steps.CanonicalModel`; Q_1 = q0 is no unknown.

    Unknowns: increments of Q_2, ..., Q_s and of P_1, ..., P_s, and impulses L_1, ..., L_s.
    """
    n, m, h, pair = model.n, model.m, model.step, lobatto_pair(stages)
    moves = [ca.SX(n, 1), *(ca.SX.sym(f"d{i}", n) for i in range(1, stages))]
    pushes = [ca.SX.sym(f"e{i}", n) for i in range(stages)]
    impulses = [ca.SX.sym(f"l{i}", m) for i in range(stages)]
    times = [model.time + float(c) * h for c in pair.nodes]
    places = [model.position(move) for move in moves]
    flows = [
        model.flow(*at)
        for at in zip(times, places, (model.momentum(push) for push in pushes), strict=True)
    ]
    gaps = [model.gap(*at) for at in zip(times, places, strict=True)]
    drifts, kicks = [], []
    for weight, (velocity, force), (_, derivative), impulse in zip(
        pair.weights, flows, gaps, impulses, strict=True
    ):
        drifts.append(float(weight) * h * velocity)
        kicks.append(float(weight) * h * force + derivative.T @ impulse)
    residual = [moves[i] - weighted_sum(pair.positions[i], drifts) for i in range(1, stages)]
    residual += [pushes[i] - weighted_sum(pair.momenta[i], kicks) for i in range(stages)]
    residual += [gap for gap, _ in gaps[1:]]
    push = weighted_sum([1.0] * stages, kicks)
    if m:
        residual.append(model.hidden(times[-1], places[-1], model.momentum(push)))
    # Constraints hold positions to a digit of theirs, and so momenta across them to that digit
    # divided by h.
    judged = (stages - 1) * n if m else (2 * stages - 1) * n
    stage = StageEquations(
        ca.vertcat(*residual), ca.vertcat(*moves[1:], *pushes, *impulses), judged
    )
    velocity = model.velocity()
    guess = ca.vertcat(
        *(float(c) * h * velocity for c in pair.nodes[1:]), ca.SX.zeros(stages * (n + m))
    )
    return StepEquations((stage,), guess, model.symbols.added + ca.vertcat(moves[-1], push))


def weighted_sum(weights: Sequence[float], columns: list[Any]) -> ca.SX:
    """The sum of columns with weights; what has the weight zero is left out."""
    total = ca.SX(columns[0].numel(), 1)
    for weight, column in zip(weights, columns, strict=True):
        if weight:
            total = total + float(weight) * column
    return total
