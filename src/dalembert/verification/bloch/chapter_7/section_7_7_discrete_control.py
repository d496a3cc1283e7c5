"""Bloch and others, Internet Supplement, 7.7.25 and 7.7.26: the discrete two-point problem.

The independent implementation is an optimiser of SciPy on exponential coordinates.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm
from scipy.optimize import minimize

from ....control.optimal.discrete_extremals import (
    DiscreteExtremal,
    discrete_body_extremal,
    discrete_group_extremal,
)
from ....geometry.lie import LieGroup
from ....typing import Array
from ...numeric import Residual, distance
from ...row_registry import Corrected, listed

LAMBDA, STEPS = np.array([1.0, 2.0, 3.0]), 4
WAY = np.array([0.5, -0.8, 0.6])


def _hat(w: Array) -> Array:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def _extremal() -> DiscreteExtremal:
    return discrete_body_extremal(LAMBDA, np.eye(3), expm(_hat(WAY)), STEPS)


@listed("B-7.7.25-two-point")
def two_point_problem() -> Corrected:
    """The extremal maximises the sum; as a minimum its second variation has the wrong sign."""
    end = expm(_hat(WAY))

    def turns(free: Array) -> list[Array]:
        first = [expm(_hat(w)) for w in free.reshape(-1, 3)]
        rest = end
        for U in first:
            rest = U.T @ rest
        return [*first, rest]

    def cost(free: Array) -> float:
        return -float(sum(np.trace(LAMBDA[:, None] * U) for U in turns(free)))

    start = np.tile(WAY / STEPS, STEPS - 1)
    best = minimize(cost, start, method="BFGS", options={"gtol": 1e-9})
    found = _extremal()
    lower = max(cost(best.x + 0.05 * e) - best.fun for e in np.eye(len(start)))
    return Corrected(abs(found.cost + best.fun), float(lower))


@listed("B-7.7.26-evolution")
def evolution_equations() -> Residual:
    found = _extremal()
    gaps = [
        distance(U * LAMBDA - (U * LAMBDA).T, M)
        for U, M in zip(found.controls, found.momenta, strict=True)
    ]
    pairs = zip(found.places, found.partners, found.momenta, strict=False)
    gaps += [distance(Q.T @ P - P.T @ Q, M) for Q, P, M in pairs]
    return gaps, distance(found.places[-1], expm(_hat(WAY)))


@listed("B-7.7.26-groups")
def extremals_on_rigid_motions() -> Residual:
    """Discrete extremals on SE(3): one spatial momentum, and the end reached."""
    group = LieGroup.SE(3)
    end = group.exp([0.4, 0.6, -0.5, 0.3, 0.2, 0.7])
    inertia = [1.0, 2.0, 3.0, 4.0, 5.0, 2.0]
    found = discrete_group_extremal(group, inertia, np.eye(4), end, (0, 1), 8)
    pairs = zip(found.places[1:], found.momenta, strict=True)
    spatial = [np.linalg.solve(group.adjoint(g).T, m) for g, m in pairs]
    return [distance(m, spatial[0]) for m in spatial], distance(found.places[-1], end)
