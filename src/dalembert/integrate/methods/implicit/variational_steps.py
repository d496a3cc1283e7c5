r"""The equations of a variational step: a discrete Lagrangian of polynomials, forces, and
constraints at the nodes.

Between two steps the motion is the polynomial of degree s through Q_0 = q0, Q_1, ..., Q_s = q1 at
Lobatto's nodes, and the action is a sum over the points c_i of a quadrature,

    L_d = h sum_i b_i L(q(c_i), q'(c_i) / h, t + c_i h),          q(c) = sum_j l_j(c) Q_j

A stationary action with the virtual work of forces and of constraints at the nodes gives

    p0 + d L_d/dQ_0 + F_0 + G(Q_0)^T L_0 = 0,     d L_d/dQ_j + F_j + G(Q_j)^T L_j = 0,  j = 1, ...,
    s - 1 p1 = d L_d/dQ_s + F_s + G(Q_s)^T L_s,         F_j = h sum_i b_i l_j(c_i) Q(q(c_i),
    q'(c_i)/h, t + c_i h) g(Q_j) = 0,  j = 1, ..., s,                   G(q1) H_p(q1, p1) + g_t = 0

(J. E. Marsden, M. West, Acta Numerica 10 (2001) 357, parts 1 to 3; S. Ober-Bloebaum, N. Saake, Adv.
Comput. Math. 41 (2015) 955). A symmetry of L that acts linearly on q is one of L_d, so that its
momentum is kept exactly; the map (q0, p0) -> (q1, p1) is symplectic. Because the l_j add up to one,
p1 - p0 = h sum_i b_i (L_q + Q) + sum_j G^T L_j.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca

from .lobatto_steps import weighted_sum
from .quadratures import polynomial_table
from .root_equations import StageEquations, StepEquations

if TYPE_CHECKING:
    from .canonical_steps import CanonicalModel

__all__ = ["RULES", "variational_equations"]

#: Degree of the polynomials, quadrature and number of its points, by method.
RULES = {
    "variational-midpoint": (1, "gauss", 1),
    "galerkin4": (2, "gauss", 2),
    "galerkin6": (3, "gauss", 3),
    "galerkin-lobatto4": (2, "lobatto", 3),
    "galerkin-lobatto6": (3, "lobatto", 4),
}


def variational_equations(
    model: CanonicalModel, degree: int, kind: str, points: int
) -> StepEquations:
    """The equations for a `canonical_steps.CanonicalModel`, with polynomials of a degree and a
    quadrature.

    Unknowns: increments of Q_1, ..., Q_s, and impulses L_0, ..., L_s.
    """
    n, m, h, table = model.n, model.m, model.step, polynomial_table(degree, kind, points)
    moves = [ca.SX(n, 1), *(ca.SX.sym(f"d{j}", n) for j in range(1, degree + 1))]
    impulses = [ca.SX.sym(f"l{j}", m) for j in range(degree + 1)]
    derivatives = []
    for i, point in enumerate(table.points):
        place = model.position(weighted_sum(table.values[i, 1:], moves[1:]))
        velocity = weighted_sum(table.derivatives[i, 1:], moves[1:]) / h
        derivatives.append(model.derivatives(model.time + float(point) * h, place, velocity))
    times = [model.time + float(c) * h for c in table.control]
    gaps = [
        model.gap(*at) for at in zip(times, (model.position(move) for move in moves), strict=True)
    ]
    reactions = [
        derivative.T @ impulse for (_, derivative), impulse in zip(gaps, impulses, strict=True)
    ]
    residual = []
    for j in range(degree):
        by_place = h * weighted_sum(
            table.weights * table.values[:, j], [derivative[0] for derivative in derivatives]
        )
        by_velocity = weighted_sum(
            table.weights * table.derivatives[:, j], [derivative[1] for derivative in derivatives]
        )
        residual.append(
            by_place + by_velocity + reactions[j] + (model.momentum(ca.SX(n, 1)) if j == 0 else 0)
        )
    residual += [gap for gap, _ in gaps[1:]]
    push = h * weighted_sum(
        table.weights, [derivative[0] for derivative in derivatives]
    ) + weighted_sum([1.0] * (degree + 1), reactions)
    if m:
        residual.append(model.hidden(times[-1], model.position(moves[-1]), model.momentum(push)))
    stage = StageEquations(ca.vertcat(*residual), ca.vertcat(*moves[1:], *impulses), degree * n)
    velocity = model.velocity()
    guess = ca.vertcat(
        *(float(c) * h * velocity for c in table.control[1:]), ca.SX.zeros((degree + 1) * m)
    )
    return StepEquations((stage,), guess, model.symbols.added + ca.vertcat(moves[-1], push))
