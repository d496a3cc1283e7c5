"""Bloch and others, Internet Supplement, section 7.7: geodesics of spheres (7.7.33 to 7.7.35).

Random unit vectors with momenta across them in three and four dimensions. The library gives
accelerations under the constraint |q| = 1, the flow on the sphere, its motions and their closed
form; independent implementations are block matrices, complex steps and great circles.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from ....formulations.registry import derive
from ....geometry.exact_flows import two_sided_motion
from ....model.builders.symmetric_spaces import sphere_flow
from ....model.constraints import holonomic
from ....model.flow_system import Flow
from ....model.symbols import coordinates
from ....model.system import System
from ....typing import Array
from ...independent.matrix_flows import (
    APART,
    SampledPath,
    bracket,
    exponential,
    flow_rates,
    gap,
    path_of,
)
from ...numeric import Probe, Residual, derivative, distance, excess
from ...row_registry import listed
from ...samples import Sampler
from .section_7_7_samples import still
from .section_7_7_symmetric_spaces import dagger, lifted, paired, turning, unitary_basis


class Tangent(NamedTuple):
    """A unit vector q (n,) with p (n,) across it."""

    q: Array
    p: Array


def _tangents(n: int) -> list[Tangent]:
    random = np.random.default_rng(733)
    found = []
    for _ in range(3):
        q = random.standard_normal(n)
        q /= np.linalg.norm(q)
        p = random.standard_normal(n)
        found.append(Tangent(q, p - (p @ q) * q))
    return found


spheres = Sampler(lambda n: _tangents(int(n)), ("3", "4"))


@cache
def _particle(n: int) -> Probe:
    """A free particle with the constraint |q|^2 = 1."""
    symbols = coordinates(" ".join(f"q{k}" for k in range(n)))
    free = sum(s.dot**2 for s in symbols) / 2
    sphere = holonomic(sum(s**2 for s in symbols) - 1, name="sphere")
    return Probe(derive(System(symbols, kinetic=free, constraints=[sphere])), {})


@listed("B-7.7.33", over=spheres)
def particle_on_sphere(s: Tangent) -> Residual:
    n = len(s.q)
    found = _particle(n).rates(0.0, np.concatenate(s))[n:]
    return distance(found, -(s.p @ s.p) * s.q)


@cache
def _flow(n: int) -> tuple[Flow, Probe]:
    flow = sphere_flow(n)
    return flow, Probe(derive(flow), {})


@listed("B-7.7.34", over=spheres)
def sphere_hamiltonian(s: Tangent) -> Residual:
    q, p = s
    n = len(q)
    by = derivative(lambda z: (z[:n] @ z[:n]) * (z[n:] @ z[n:]) / 2, np.concatenate([q, p]))
    by_q, by_p = by[:n], by[n:]
    rates = flow_rates(*_flow(n), q=q[:, None], p=p[:, None])
    return (
        distance(rates["q"].ravel(), by_p),
        distance(rates["p"].ravel(), -by_q),
        distance(by_p, p),
        distance(-by_q, -(p @ p) * q),
        q @ by_p,
        p @ by_p - q @ by_q,
    )


@cache
def _sphere_path() -> SampledPath:
    q, p = spheres("4")[0]
    return path_of(sphere_flow(4), q=q[:, None], p=p[:, None])


@listed("B-7.7.35")
def lifted_vectors() -> Residual:
    def residual(s: Tangent) -> Residual:
        inside = bracket(lifted(s.p[:, None]), lifted(s.q[:, None]))
        return gap(inside, paired(np.outer(s.q, s.p) - np.outer(s.p, s.q), np.zeros((1, 1))))

    path = _sphere_path()
    turns = path["p"] @ dagger(path["q"]) - path["q"] @ dagger(path["p"])
    return spheres.worst(residual), still(turns)


@listed("B-Proposition-7.7.16")
def sphere_by_brackets() -> Residual:
    def residual(s: Tangent) -> Residual:
        q, p = s
        Q, P = lifted(q[:, None]), lifted(p[:, None])
        inside, slanted = bracket(P, Q), lifted((p + 0.3 * q)[:, None])
        off = bracket(Q, bracket(slanted, Q)) - slanted
        return (
            gap(bracket(Q, inside), P),
            gap(bracket(P, inside), -(p @ p) * Q),
            excess(APART - np.max(np.abs(off))),
        )

    (q, p), path = spheres("4")[0], _sphere_path()
    speed = np.linalg.norm(p)
    angle = (speed * path.t)[:, None]
    circle = np.cos(angle) * q + np.sin(angle) * p / speed
    return spheres.worst(residual), distance(path["q"][:, :, 0], circle)


@listed("B-Exercise-7.7-1")
def sphere_as_control() -> Residual:
    random = np.random.default_rng(71)

    def residual(s: Tangent) -> Residual:
        q, p = s
        basis = np.array([e.real for e in unitary_basis(len(q), False)])
        map_of = np.array([e @ q for e in basis]).T
        least = np.tensordot(np.linalg.pinv(map_of) @ p, basis, axes=1)
        U = np.outer(p, q) - np.outer(q, p)
        # A unit of time, from q to the vector at this angle.
        angle = 1.1
        along = angle * U / np.linalg.norm(p)
        end, cost = exponential(along) @ q, np.sum(along * along) / 2 / 4
        kernel = turning(random, len(q), False)
        kernel = kernel - np.outer(kernel @ q, q) + np.outer(q, kernel @ q)
        return (
            gap(least, U),
            distance(np.arccos(q @ end), angle),
            distance(cost, angle**2 / 4),
            excess(np.sum(U * U) - np.sum((U + kernel) ** 2)),
            kernel @ q,
        )

    return spheres.worst(residual)


@listed("B-7.7-conjugate")
def conjugate_points() -> Residual:
    random = np.random.default_rng(72)

    def residual(s: Tangent) -> Residual:
        def end(v: Array, t: float) -> Array:
            return two_sided_motion(s.q[:, None], v[:, None], [t])[0][0, :, 0]

        unit = s.p / np.linalg.norm(s.p)
        other = random.standard_normal(len(s.q))
        other -= (other @ s.q) * s.q
        meeting = [end(v, np.pi) for v in (unit, other / np.linalg.norm(other))]
        long, short = 4.0 * unit, -(2 * np.pi - 4.0) * unit
        longer = excess(float(APART + short @ short - long @ long))
        return *(gap(m, -s.q) for m in meeting), gap(end(long, 1.0), end(short, 1.0)), longer

    return spheres.worst(residual)


@listed("B-7.7-sphere-integrable")
def integrable_sphere() -> Residual:
    def squares(z: Array, k: int) -> Any:
        q, p = z[: len(z) // 2], z[len(z) // 2 :]
        return sum((q[i] * p[j] - q[j] * p[i]) ** 2 for i, j in combinations(range(k), 2))

    def residual(s: Tangent) -> Residual:
        q, p = s
        n, state = len(q), np.concatenate([q, p])
        all_squares = derivative(
            lambda z: np.array([squares(z, k) for k in range(2, n + 1)]), state
        )
        fixed = np.array([np.concatenate([q, 0 * q]), np.concatenate([p, q])])
        forms = np.array([*all_squares, *fixed])
        brackets = [a[:n] @ b[n:] - a[n:] @ b[:n] for a, b in combinations(forms, 2)][:-1]
        return *brackets, float(np.linalg.matrix_rank(forms, tol=1e-9) != n - 1 + 2)

    path = _sphere_path()
    states = np.concatenate([path["q"][:, :, 0], path["p"][:, :, 0]], axis=1)
    kept = [np.array([squares(z, k) for z in states]) for k in (2, 3, 4)]
    return spheres.worst(residual), *map(still, kept)
