"""Bloch and others, Internet Supplement, section 7.7: geodesics of spheres (7.7.33 to 7.7.35).

Random unit vectors with momenta across them in three and four dimensions. The library gives accelerations under the constraint
|q| = 1, the flow on the sphere, its motions and their closed form; independent implementations are block matrices, complex
steps and great circles.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...geometry.exact_flows import two_sided_motion
from ...model.builders.symmetric_spaces import sphere_flow
from ...model.constraints import holonomic
from ...model.symbols import coordinates
from ...model.system import System
from ..independent.matrix_flows import APART, Path, bracket, exponential, flow_rates, gap, path_of
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import claim
from .section_7_7_symmetric_spaces import dagger, lifted, paired, turning, unitary_basis


def tangent_pairs(n: int, count: int = 3) -> list[tuple[Any, Any]]:
    """Unit vectors q (n,) with p (n,) across them."""
    random = np.random.default_rng(733)
    found = []
    for _ in range(count):
        q = random.standard_normal(n)
        q /= np.linalg.norm(q)
        p = random.standard_normal(n)
        found.append((q, p - (p @ q) * q))
    return found


def over_spheres(residual: Callable[[Any, Any], float]) -> float:
    return worst(residual(*pair) for n in (3, 4) for pair in tangent_pairs(n))


@claim(
    "B-7.7.33",
    "A free particle on the unit sphere has q_ddot = lambda q with lambda = -|q_dot|^2",
    how="three and four dimensions: the library's accelerations of a particle with the constraint |q|^2 = 1",
)
def particle_on_sphere() -> float:
    found = []
    for n in (3, 4):
        symbols = coordinates(" ".join(f"q{k}" for k in range(n)))
        free = sum(s.dot**2 for s in symbols) / 2
        sphere = System(symbols, kinetic=free, constraints=[holonomic(sum(s**2 for s in symbols) - 1, name="sphere")])
        probe = Probe(derive(sphere), {})
        for q, p in tangent_pairs(n):
            found.append(distance(probe.rates(0.0, np.concatenate([q, p]))[n:], -(p @ p) * q))
    return worst(found)


@claim(
    "B-7.7.34",
    "H = 1/2 |q|^2 |p|^2 gives q_dot = p, p_dot = -|p|^2 q where |q| = 1, and keeps |q| = 1, <q, p> = 0",
    how="three and four dimensions: complex steps of H against the library's flow on the sphere",
)
def sphere_hamiltonian() -> float:
    flows = {n: (sphere_flow(n), Probe(derive(sphere_flow(n)), {})) for n in (3, 4)}

    def residual(q: Any, p: Any) -> float:
        n = len(q)
        found = derivative(lambda z: (z[:n] @ z[:n]) * (z[n:] @ z[n:]) / 2, np.concatenate([q, p]))
        rates = flow_rates(*flows[n], q=q[:, None], p=p[:, None])
        return largest(
            distance(rates["q"].ravel(), found[n:]),
            distance(rates["p"].ravel(), -found[:n]),
            distance(found[n:], p),
            distance(-found[:n], -(p @ p) * q),
            abs(q @ found[n:]),
            abs(p @ found[n:] - q @ found[:n]),
        )

    return over_spheres(residual)


@claim(
    "B-7.7.35",
    "Q^ and P^ of vectors are in so(n + 2); [P^, Q^] has the block q p^T - p q^T alone, which the motion keeps",
    how="three and four dimensions: brackets of block matrices, the library's motion",
)
def lifted_vectors() -> float:
    def residual(q: Any, p: Any) -> float:
        inside = bracket(lifted(p[:, None]), lifted(q[:, None]))
        return gap(inside, paired(np.outer(q, p) - np.outer(p, q), np.zeros((1, 1))))

    path = _sphere_path()
    turns = path["p"] @ dagger(path["q"]) - path["q"] @ dagger(path["p"])
    return largest(over_spheres(residual), gap(turns, np.broadcast_to(turns[0], turns.shape)))


@cache
def _sphere_path() -> Path:
    q, p = tangent_pairs(4, 1)[0]
    return path_of(sphere_flow(4), q=q[:, None], p=p[:, None])


@claim(
    "B-Proposition-7.7.16",
    "With q and p as the last column of Q^ and P^ (7.7.35), |q| = 1 and <q, p> = 0, the double brackets (7.7.13) are q_dot = p,"
    " p_dot = -|p|^2 q; without <q, p> = 0 they are not",
    how="three and four dimensions: brackets of block matrices, q_ddot along the library's motion",
)
def sphere_by_brackets() -> float:
    def residual(q: Any, p: Any) -> float:
        Q, P = lifted(q[:, None]), lifted(p[:, None])
        inside = bracket(P, Q)
        slanted = lifted((p + 0.3 * q)[:, None])
        off = bracket(Q, bracket(slanted, Q)) - slanted
        return largest(gap(bracket(Q, inside), P), gap(bracket(P, inside), -(p @ p) * Q), excess(APART - np.max(np.abs(off))))

    (q, p), path = tangent_pairs(4, 1)[0], _sphere_path()
    speed = np.linalg.norm(p)
    circle = np.cos(speed * path.t)[:, None] * q + np.sin(speed * path.t)[:, None] * p / speed
    return largest(over_spheres(residual), distance(path["q"][:, :, 0], circle))


@claim(
    "B-Exercise-7.7-1",
    "Geodesics of a sphere as optimal control: q_dot = U q at the cost 1/4 <U, U> has U = p q^T - q p^T, the least U with its"
    " velocity, and from q to q' in the time T costs angle^2/(4 T)",
    how="three and four dimensions: dense solves over so(n), great circles, the cost of random other controls to the same end",
)
def sphere_as_control() -> float:
    random = np.random.default_rng(71)

    def residual(q: Any, p: Any) -> float:
        n = len(q)
        basis = [e.real for e in unitary_basis(n, False)]
        map_of = np.array([e @ q for e in basis]).T
        least = np.tensordot(np.linalg.pinv(map_of) @ p, np.array(basis), axes=1)
        U = np.outer(p, q) - np.outer(q, p)
        # A unit of time, from q to the vector at this angle.
        angle = 1.1
        along = angle * U / np.linalg.norm(p)
        end, cost = exponential(along) @ q, np.sum(along * along) / 2 / 4
        kernel = turning(random, n, False)
        kernel = kernel - np.outer(kernel @ q, q) + np.outer(q, kernel @ q)
        heavier = excess(np.sum(U * U) - np.sum((U + kernel) ** 2))
        return largest(
            gap(least, U), distance(np.arccos(q @ end), angle), distance(cost, angle**2 / 4), heavier, worst(kernel @ q)
        )

    return over_spheres(residual)


@claim(
    "B-7.7-conjugate",
    "Extremals need not be least: on a sphere all of one speed meet at -q after half a turn, and one that goes on is longer"
    " than the one that goes back",
    how="three and four dimensions: the library's closed form of two-sided motions for q = 1",
)
def conjugate_points() -> float:
    random = np.random.default_rng(72)

    def residual(q: Any, p: Any) -> float:
        unit = p / np.linalg.norm(p)
        other = random.standard_normal(len(q))
        other -= (other @ q) * q
        meeting = [two_sided_motion(q[:, None], v[:, None], [np.pi])[0][0, :, 0] for v in (unit, other / np.linalg.norm(other))]
        long, short = 4.0 * unit, -(2 * np.pi - 4.0) * unit
        ends = [two_sided_motion(q[:, None], v[:, None], [1.0])[0][0, :, 0] for v in (long, short)]
        return largest(*(gap(m, -q) for m in meeting), gap(*ends), excess(APART + short @ short - long @ long))

    return over_spheres(residual)


@claim(
    "B-7.7-sphere-integrable",
    "The geodesic flow of a sphere of n dimensions has n independent integrals in involution, the sums of (q_i p_j - q_j p_i)^2"
    " over the first 2, 3, ..., n + 1 axes",
    how="three and four dimensions: canonical brackets and ranks of derivatives on T*S^n by complex steps; the library's "
    "motion",
)
def integrable_sphere() -> float:
    def squares(z: Any, k: int) -> Any:
        q, p = z[: len(z) // 2], z[len(z) // 2 :]
        return sum((q[i] * p[j] - q[j] * p[i]) ** 2 for i, j in combinations(range(k), 2))

    def residual(q: Any, p: Any) -> float:
        n = len(q)
        state = np.concatenate([q, p])
        derivatives = [derivative(lambda z, k=k: squares(z, k), state) for k in range(2, n + 1)]  # type: ignore[misc]
        fixed = np.array([np.concatenate([q, 0 * q]), np.concatenate([p, q])])
        brackets = [a[:n] @ b[n:] - a[n:] @ b[:n] for a, b in combinations([*derivatives, *fixed], 2)][:-1]
        rank = np.linalg.matrix_rank(np.array([*derivatives, *fixed]), tol=1e-9)
        return largest(*(abs(b) for b in brackets), float(rank != n - 1 + 2))

    path = _sphere_path()
    states = np.concatenate([path["q"][:, :, 0], path["p"][:, :, 0]], axis=1)
    kept = [[squares(z, k) for z in states] for k in (2, 3, 4)]
    return largest(over_spheres(residual), *(distance(v, v[0]) for v in kept))
