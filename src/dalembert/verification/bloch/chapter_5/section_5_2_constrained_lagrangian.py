"""Bloch and others, Internet Supplement, section 5.2: constrained Lagrangian and curvature.

Random systems with constraints s_dot^a = -A^a_al(r, s) r_dot^al, three base velocities and two
fibre ones; one connection is curved, the other flat. Independent implementations are complex steps
of A, of the forms omega^a = ds^a + A^a_al dr^al and of the Lagrangian.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Any

import casadi as ca
import numpy as np
import sympy

from .... import gallery
from ....algebra.graph import GraphAlgebra
from ....analysis.anatomy import take_apart
from ....analysis.overview.integrability import classify
from ....formulations.forms import constrained_lagrangian
from ....formulations.independent_velocities import Reduction
from ....formulations.registry import derive
from ....integrate.simulate import simulate
from ....model.system import System
from ....typing import Array
from ...independent.tangent_bundle_systems import (
    FLAT,
    TangentSample,
    samples,
    tangent_probe,
    tangent_system,
)
from ...numeric import Probe, Residual, StateBlocks, apart, derivative, distance, worst
from ...row_registry import listed

BASE, FIBRE = slice(0, 3), slice(3, 5)
connected = samples.of("bent", "flat")

# -- the connection as numbers ---------------------------------------------------------------------


def _connection_derivatives(s: TangentSample) -> Any:
    """dA^a_al/dq by complex steps (2, 3, 5)."""
    return derivative(lambda x: s.model.connection(x).ravel(), s.q).reshape(2, 3, 5)


def _lift(s: TangentSample, base: Array, q: Array | None = None) -> Any:
    """The horizontal vector over a vector of the base (5,), at q or at the sample."""
    return np.concatenate([base, -s.model.connection(s.q if q is None else q) @ base])


def _exterior(s: TangentSample, first: Array, second: Array) -> Any:
    """d omega^b(X, Y) for omega^b = ds^b + A^b_al dr^al, by complex steps (2,)."""

    def coefficients(x: Array) -> Any:
        return np.hstack([s.model.connection(x), np.eye(2)]).ravel()

    table = derivative(coefficients, s.q).reshape(2, 5, 5)  # form, component, direction
    pair = partial(np.einsum, "bji,i,j->b", table)
    return pair(first, second) - pair(second, first)


def _curvature(s: TangentSample) -> Any:
    """B^b_{al be} as printed, by complex steps of A (2, 3, 3)."""
    A, table = s.model.connection(s.q), _connection_derivatives(s)
    by_base = table[:, :, BASE] - np.swapaxes(table[:, :, BASE], 1, 2)
    along_fibre = np.einsum("ax,bya->bxy", A, table[:, :, FIBRE])
    return by_base + along_fibre - np.swapaxes(along_fibre, 1, 2)


# -- the constrained Lagrangian as numbers ---------------------------------------------------------


def _constrained(s: TangentSample, q: Array, base: Array) -> Any:
    """L_c(r, s, r_dot)."""
    return s.model.lagrangian(q, _lift(s, base, q))


def _constrained_momenta(s: TangentSample, q: Array, base: Array) -> Any:
    """dL_c/dr_dot in closed form, p_r - A^T p_s (3,)."""
    p = s.model.momenta(q, _lift(s, base, q))
    return p[BASE] - s.model.connection(q).T @ p[FIBRE]


def _left_side(s: TangentSample, accelerations: Array) -> Any:
    """d/dt dL_c/dr_dot - dL_c/dr + A^a dL_c/ds^a at these base accelerations (3,)."""
    base = s.v[BASE]

    def momenta(w: Array) -> Any:
        return _constrained_momenta(s, s.q + w[0] * s.v, base + w[0] * accelerations)

    by_place = derivative(lambda x: _constrained(s, x, base), s.q)
    inertia = derivative(momenta, [0.0])[:, 0]
    return inertia - by_place[BASE] + s.model.connection(s.q).T @ by_place[FIBRE]


def _fibre_momenta(s: TangentSample) -> Any:
    """dL/ds_dot before the constraints are imposed, at a velocity that obeys them (2,)."""
    return s.model.momenta(s.q, s.v)[FIBRE]


# -- the library -----------------------------------------------------------------------------------


@cache
def _reduction(kind: str) -> tuple[Reduction, ca.Function]:
    """The library's reduction, with (q, r_dot) -> A, B^1, B^2 and the derivatives of L_c."""
    reduction = Reduction(tangent_system(kind).system, GraphAlgebra())
    constrained, q, w = reduction.here(reduction.lagrangian), reduction.q, reduction.independent
    parts = [constrained_lagrangian.connection(reduction)]
    parts += constrained_lagrangian.curvature(reduction)
    parts += [reduction.algebra.gradient(constrained, symbols) for symbols in (w, q)]
    return reduction, ca.Function("reduced", [q, w], parts)


def _library(s: TangentSample) -> tuple[Any, Any, Any, Any]:
    """A (2, 3), B (2, 3, 3), dL_c/dr_dot (3,) and dL_c/d(r, s) (5,) by the library."""
    values = _reduction(s.model.kind)[1](s.q, s.v[BASE])
    A, first, second, momenta, by_place = (np.array(item, dtype=float) for item in values)
    return A, np.array([first, second]), momenta.ravel(), by_place.ravel()


def _reduced_state(s: TangentSample) -> tuple[Probe, Any]:
    """The library's equations in this form, and (q, r_dot)."""
    probe = tangent_probe(s.model.kind, "constrained-lagrangian")
    return probe, np.concatenate([s.q, s.v[BASE]])


def _accelerations(s: TangentSample) -> Any:
    """The library's base accelerations in this form (3,)."""
    probe, state = _reduced_state(s)
    return probe.rates(0.0, state)[5:]


def _blocks(s: TangentSample) -> StateBlocks:
    """The library's blocks in this form."""
    probe, state = _reduced_state(s)
    return probe.blocks(0.0, state)


def _force(s: TangentSample, curvature: Array) -> Any:
    """(dL/ds_dot^b) B^b_{al be} r_dot^be (3,)."""
    return np.einsum("b,bxy,y->x", _fibre_momenta(s), curvature, s.v[BASE])


@listed("B-5.2.17")
def constrained_equations() -> Residual:
    found: list[Residual] = []
    opposite = []
    for s in connected:
        z, force = _accelerations(s), _force(s, _library(s)[1])
        left, exact = _left_side(s, z), s.model.accelerations(s.q, s.v)[0][BASE]
        found += [distance(left, -force), distance(z, exact)]
        if s.model.kind == "bent":
            opposite.append(distance(left, force))
    return found, apart(min(opposite))


@listed("B-5.2.18", over=connected)
def curvature_formula(s: TangentSample) -> Residual:
    A, B, _, _ = _library(s)
    return distance(A, s.model.connection(s.q)), distance(B, _curvature(s))


@listed("B-5.2.17-momenta", over=connected)
def constrained_momenta(s: TangentSample) -> Residual:
    return distance(_library(s)[2], _constrained_momenta(s, s.q, s.v[BASE]))


@listed("B-5.2.17-base", over=connected, given={"along": BASE})
@listed("B-5.2.17-fibre", over=connected, given={"along": FIBRE})
def constrained_derivative(s: TangentSample, along: slice) -> Residual:
    plain = derivative(lambda x: s.model.lagrangian(x, s.v), s.q)
    turning = derivative(lambda x: s.model.connection(x) @ s.v[BASE], s.q)
    return distance(_library(s)[3][along], (plain - _fibre_momenta(s) @ turning)[along])


@listed("B-5.2.17-substitution", over=connected)
def substitution(s: TangentSample) -> Residual:
    base, A = s.z[BASE], s.model.connection(s.q)

    def rates(w: Array) -> Any:
        return s.model.connection(s.q + w[0] * s.v) @ (s.v[BASE] + w[0] * base)

    full = np.concatenate([base, -derivative(rates, [0.0])[:, 0]])
    allowed = np.vstack([np.eye(3), -A])
    by_euler = allowed.T @ s.model.euler(s.q, s.v, full)
    wide, narrow = s.blocks, _blocks(s)
    return (
        distance(narrow.G @ base - narrow.f, by_euler),
        distance(allowed.T @ (wide.G @ full - wide.f), by_euler),
        distance(_left_side(s, base), by_euler - _force(s, _curvature(s))),
    )


@listed("B-5.2.17-degenerate", over=connected)
def degenerate_lagrangian(s: TangentSample) -> Residual:
    reduction, blocks = _reduction(s.model.kind)[0], _blocks(s)
    lagrangian = reduction.here(reduction.lagrangian)
    value = float(blocks.momenta @ blocks.velocities - blocks.energy)
    depends = float(reduction.algebra.depends(lagrangian, reduction.dependent))
    return depends, distance(value, _constrained(s, s.q, s.v[BASE]))


@listed("B-5.2.17-cyclic")
def cyclic_fibre_coordinate() -> Residual:
    nodes, weights = np.polynomial.legendre.leggauss(40)
    times = np.concatenate([[0.0], 1.0 + nodes, [2.0]])
    motion = simulate(gallery.load("constrained-particle"), span=(0.0, 2.0), at=times, rtol=1e-12)
    gained = motion["p_z"][-1] - motion["p_z"][0]
    work = weights @ motion.total_reaction[2][1:-1]
    return distance(work, gained), apart(abs(gained))


@listed("B-5.2.19", over=connected)
def exterior_derivative(s: TangentSample) -> Residual:
    first, second = s.z[BASE], s.q[BASE] - 0.4 * s.v[BASE]
    A, table = s.model.connection(s.q), _connection_derivatives(s)
    table = table[:, :, BASE] - np.einsum("bxa,ay->bxy", table[:, :, FIBRE], A)  # b, al, be
    wedge = np.einsum("y,x->xy", first, second) - np.einsum("y,x->xy", second, first)
    found = _exterior(s, _lift(s, first), _lift(s, second))
    bend = np.einsum("bxy,y,x->b", _library(s)[1], first, second)
    return distance(np.einsum("bxy,xy->b", table, wedge), found), distance(bend, found)


@listed("B-5.2.20", over=samples.of("bent"), misprint={"contraction": "bxy,x->by"})
def contracted_derivative(s: TangentSample, contraction: str = "bxy,y->bx") -> Residual:
    bend = np.einsum(contraction, _library(s)[1], s.v[BASE])
    found = np.stack([_exterior(s, s.v, _lift(s, e)) for e in np.eye(3)], axis=1)
    return distance(bend, found)


@listed("B-5.2.21")
def equations_by_exterior_derivative() -> Residual:
    def gap(s: TangentSample, vectors: Iterable[Array]) -> float:
        force = [_fibre_momenta(s) @ _exterior(s, s.v, e) for e in vectors]
        return distance(_left_side(s, _accelerations(s)), -np.array(force))

    right = [gap(s, [_lift(s, e) for e in np.eye(3)]) for s in connected]
    return right, apart(max(gap(s, np.eye(3, 5)) for s in samples("bent")))


@cache
def _plugged_in(level: tuple[float, float]) -> Probe:
    """Lagrange's equations on a leaf of the flat connection, with s = s(r) put into L first."""
    stated = tangent_system("flat").system
    r, s = stated.coordinates[:3], stated.coordinates[3:]
    exponents = [sum(float(FLAT[a, k]) * r[k] ** 2 for k in range(3)) for a in range(2)]
    leaf = {x: level[a] * sympy.exp(-exponents[a] / 2) for a, x in enumerate(s)}
    rates = {x.dot: sum(sympy.diff(place, y) * y.dot for y in r) for x, place in leaf.items()}
    assert stated.lagrangian is not None
    system = System(r, lagrangian=stated.lagrangian.xreplace({**rates, **leaf}))
    return Probe(derive(system, "lagrange"), {})


@listed("B-5.2-holonomic")
def holonomic_case() -> Residual:
    found: list[Residual] = []
    for s in samples.of("flat").first(2):
        grown = np.exp(FLAT @ s.q[BASE] ** 2 / 2)
        first, second = (float(x) for x in s.q[FIBRE] * grown)
        on_leaf = _plugged_in((first, second)).rates(0.0, np.concatenate([s.q[BASE], s.v[BASE]]))
        found += [_library(s)[1], distance(_accelerations(s), on_leaf[3:])]
    bent = [apart(worst(_library(s)[1])) for s in samples("bent")]
    judged = [
        classify(take_apart(tangent_system(kind).system, {}, {})) for kind in ("flat", "bent")
    ]
    verdicts = [c.integrable for facts in judged for c in facts.constraints]
    return found, bent, float(verdicts != [True, True, False, False])
