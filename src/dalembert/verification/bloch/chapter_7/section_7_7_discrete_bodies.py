"""Bloch and others, Internet Supplement, section 7.7: the discrete rigid body of Moser and Veselov
(7.7.49 to 7.7.54).

Random attitudes, momenta and positive inertias for n = 3, 4 and 5. The library solves for the
rotation of a step and runs the map; independent implementations are products of matrices, complex
steps of the sum that is made stationary, and the continuous body.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ....errors import ModelError
from ....geometry.discrete_rotations import discrete_momentum, discrete_rotation, largest_factor
from ....geometry.rigid_rotations import symmetric_partner
from ....integrate.methods.groups.discrete_body import discrete_rigid_body
from ....integrate.simulate import simulate
from ....model.builders.rigid_bodies import rigid_body
from ....typing import Array
from ...independent.matrix_flows import APART, algebra, gap, rotation, skew
from ...numeric import Residual, Residuals, derivative, distance, excess, worst
from ...row_registry import Corrected, listed
from ...samples import Sampler
from .section_7_7_samples import Entries, still

#: Steps of a chain whose sum is varied.
LINKS = 3


class DiscreteBody(NamedTuple):
    """Lambda (n,), Q and M, with M a part of the largest that a step takes and below two."""

    inertias: Array
    Q: Array
    M: Array

    @property
    def L(self) -> Array:
        return np.diag(self.inertias)

    @property
    def n(self) -> int:
        return len(self.inertias)

    @property
    def turn(self) -> Array:
        """The library's rotation of a step."""
        return np.asarray(discrete_rotation(self.inertias, self.M))

    @property
    def P(self) -> Array:
        """The partner of Q."""
        return symmetric_partner(self.Q, self.M)


def _starts(n: int) -> list[DiscreteBody]:
    random = np.random.default_rng(749 + n)
    found = []
    for _ in range(2):
        inertias, M = random.uniform(0.5, 2.0, n), skew(random, n)
        size = min(largest_factor(inertias, M), 2 / np.linalg.norm(M, 2))
        Q = rotation(random, n)
        found.append(DiscreteBody(inertias, Q, M * size * random.uniform(0.4, 0.8)))
    return found


starts = Sampler(lambda n: _starts(int(n)), ("3", "4", "5"))
#: The first start of three and of four axes.
small = starts.of("3", "4").first(1)


@cache
def chain(n: int) -> tuple[list[Array], list[Array]]:
    """The attitudes Q_0 ... and the rotations U_0 ... of a chain, by the library's rotations."""
    s = starts(str(n))[0]
    attitudes, turns, M = [s.Q], [], s.M
    for _ in range(LINKS):
        turns.append(discrete_rotation(s.inertias, M))
        M = turns[-1].T @ M @ turns[-1]
        attitudes.append(attitudes[-1] @ turns[-1])
    return attitudes, turns


def momentum(Q: Array, P: Array) -> Array:
    return Q.T @ P - P.T @ Q


@listed("B-7.7.49", over=starts)
def discrete_pairs(s: DiscreteBody) -> Residuals:
    motion = discrete_rigid_body(s.inertias, s.M, s.Q, steps=3)
    Q, P = s.Q, s.P
    for k in range(3):
        U = discrete_rotation(s.inertias, momentum(Q, P))
        Q, P = Q @ U, P @ U
        M = momentum(Q, P)
        yield gap(motion.Q[k + 1], Q), gap(motion.M[k + 1], M), gap(M, s.L @ U - U.T @ s.L)


@listed("B-7.7.49-invariants", over=starts)
def invariants(s: DiscreteBody) -> Residuals:
    motion = discrete_rigid_body(s.inertias, s.M, s.Q, steps=400, every=40)
    yield [still(motion.Q @ motion.M @ np.swapaxes(motion.Q, 1, 2))]
    one, square = np.eye(s.n), np.diag(s.inertias**2)
    for z in (0.4, 1.1, -2.0):
        yield still(np.linalg.det(square + z * motion.M - z * z * one))


@listed("B-7.7.49-continuous", over=small)
def order_of_the_map(s: DiscreteBody) -> Residual:
    body = rigid_body(s.inertias.tolist())
    start = body.start(Q=s.Q, M=s.M)
    end = simulate(body, start, (0, 1), at=[0.0, 1.0], rtol=1e-12, atol=1e-13)["Q"][-1]
    runs = [discrete_rigid_body(s.inertias, s.M, s.Q, steps=k, step=1 / k) for k in (40, 80, 160)]
    errors = np.array([np.max(np.abs(run.Q[-1] - end)) for run in runs])
    orders = np.log2(errors[:-1] / errors[1:])
    return excess(np.max(np.abs(orders - 2)) - 0.1), excess(errors[-1] - 1e-3)


@listed("B-7.7.50", over=starts)
def rotation_of_a_step(s: DiscreteBody) -> Residual:
    U, L, one = s.turn, s.L, np.eye(s.n)
    parts = [discrete_rotation(s.inertias, x * s.M) for x in np.linspace(0, 1, 7)]
    return (
        gap(U @ L - L @ U.T, s.M),
        gap(discrete_momentum(s.inertias, U), s.M),
        gap(U.T @ U, one),
        distance(np.linalg.det(U), 1.0),
        gap(parts[0], one),
        excess(worst(b - a for a, b in pairwise(parts)) - 0.5),
    )


@listed("B-7.7.50-branch")
def branches() -> Residual:
    def lowest(turn: Array, inertias: Array) -> float:
        """The least real part of the spectrum of U Lambda."""
        return float(np.min(np.linalg.eigvals(turn * inertias).real))

    inertias, angle = np.array([0.6, 1.9, 1.2]), 1.45
    turn, other = _axial(angle), _axial(np.pi - angle)
    M, scaled = discrete_momentum(inertias, turn), turn * inertias
    return (
        [excess(-lowest(s.turn, s.inertias)) for s in starts],
        gap(discrete_rotation(inertias, M), turn),
        gap(discrete_momentum(inertias, other), M),
        excess(APART - np.max(np.abs(turn - other))),
        excess(APART + np.linalg.eigvalsh(scaled + scaled.T)[0]),
        excess(APART + lowest(other, inertias)),
    )


def _axial(angle: float) -> Array:
    """A turn about the third axis."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


@listed("B-7.7.50-limit")
def limit_of_a_step() -> Residual:
    inertias, found = np.array([0.8, 1.7, 1.1]), []
    limit = inertias[0] + inertias[1]
    unit = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    for part in (0.3, 0.9, 0.999):
        M = part * limit * unit
        found.append(gap(discrete_rotation(inertias, M), _axial(np.arcsin(part))))
        found.append(distance(largest_factor(inertias, M), 1 / part))
    try:
        discrete_rotation(inertias, 1.001 * limit * unit)
        return 1.0
    except ModelError:
        return found


def _exponential(eta: Entries) -> Entries:
    """exp of a small matrix by its series."""
    found = np.eye(len(eta))
    for k in range(10, 0, -1):
        found = np.eye(len(eta)) + eta @ found / k
    return found


def _derivative_of_sum(s: DiscreteBody, at: Array) -> Array:
    """The derivative of sum tr(Lambda U_k) after Q_k -> Q_k exp(eta_k) inside, with fixed ends."""
    one, turns, here = np.eye(s.n), chain(s.n)[1], algebra(f"so({s.n})")

    def total(c: Entries) -> Any:
        etas = here.matrix(c.reshape(LINKS - 1, -1))
        ends = [one, *map(_exponential, etas), one]
        backs = [one, *(_exponential(-eta) for eta in etas), one]
        return sum(np.trace(s.L @ backs[k] @ U @ ends[k + 1]) for k, U in enumerate(turns))

    return derivative(total, at)


@listed("B-7.7.51")
def stationary_sum() -> Corrected:
    right: list[Residual] = []
    printed = []
    for s in small:
        count = (LINKS - 1) * algebra(f"so({s.n})").dimension
        h, steps = 1e-4, 1e-4 * np.eye(count)
        columns = [(_derivative_of_sum(s, e) - _derivative_of_sum(s, -e)) / (2 * h) for e in steps]
        sizes = np.linalg.eigvalsh((np.array(columns) + np.array(columns).T) / 2)
        right += [_derivative_of_sum(s, np.zeros(count)), excess(sizes[-1] + APART)]
        printed.append(excess(-sizes[0]))
    return Corrected(right, min(printed))


@listed("B-7.7.52", over=small)
def joined_ends(s: DiscreteBody) -> Residual:
    attitudes, turns = chain(s.n)
    L, product = s.L, attitudes[0]
    for U in turns:
        product = product @ U
    count = (LINKS - 1) * algebra(f"so({s.n})").dimension
    return (
        gap(product, attitudes[-1]),
        gap(product.T @ product, np.eye(s.n)),
        [gap(L @ a - a.T @ L, b @ L - L @ b.T) for a, b in pairwise(turns)],
        excess(APART - worst(_derivative_of_sum(s, np.full(count, 0.05)))),
    )


@listed("B-7.7.53", over=starts)
def costates(s: DiscreteBody) -> Residual:
    P, U, n = s.P, s.turn, s.n
    following = P @ U
    by_q = derivative(lambda z: np.sum(following * (z.reshape(n, n) @ U)), s.Q.ravel())
    return gap(by_q.reshape(n, n), P)


@listed("B-7.7.54", over=starts)
def momenta_of_pairs(s: DiscreteBody) -> Residuals:
    Q, P, L = s.Q, s.P, s.L
    spatial = P @ Q.T - Q @ P.T
    for _ in range(4):
        M = momentum(Q, P)
        U = discrete_rotation(s.inertias, M)
        yield gap(U @ L - L @ U.T, M), gap(P @ Q.T - Q @ P.T, spatial)
        Q, P = Q @ U, P @ U


@listed("B-Theorem-7.7.26", over=starts, misprint={"sign": -1.0})
def discrete_maximum_principle(s: DiscreteBody, sign: float = 1.0) -> Residual:
    here, U, one = algebra(f"so({s.n})"), s.turn, np.eye(s.n)
    costate = (s.P @ U).T @ s.Q

    def hamiltonian(c: Entries) -> Any:
        turned = (one + here.matrix(c)) @ U
        return np.trace(costate @ turned) + sign * np.trace(s.L @ turned)

    return derivative(hamiltonian, np.zeros(here.dimension))
