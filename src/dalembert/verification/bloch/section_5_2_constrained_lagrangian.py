"""Bloch and others, Internet Supplement, section 5.2: the constrained Lagrangian and the curvature of the constraints.

Random systems with constraints s_dot^a = -A^a_al(r, s) r_dot^al, three base velocities and two fibre ones; one connection
is curved, the other flat. Independent implementations are complex steps of A, of the forms omega^a = ds^a + A^a_al dr^al and of
the Lagrangian.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ... import gallery
from ...algebra.graph import GraphAlgebra
from ...analysis.anatomy import take_apart
from ...analysis.overview.integrability import classify
from ...formulations.forms import constrained_lagrangian
from ...formulations.independent_velocities import Reduction
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.system import System
from ..independent.tangent_bundle_systems import FLAT, Place, connection, over_places, places, tangent_probe, tangent_system
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

BASE, FIBRE = slice(0, 3), slice(3, 5)
RANDOM = "random Lagrangians with curved and with flat random connections"
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


# -- the connection as numbers -----------------------------------------------------------------------------------------


def _connection(place: Place, q: Any) -> Any:
    """A^a_al by the independent implementation (2, 3)."""
    return np.array(connection(place.twin.kind, place.twin.sinusoids, q))


def _lift(place: Place, base: Any) -> Any:
    """The horizontal vector over a vector of the base (5,)."""
    return np.concatenate([base, -_connection(place, place.q) @ base])


def _exterior(place: Place, first: Any, second: Any) -> Any:
    """d omega^b(X, Y) for the forms omega^b = ds^b + A^b_al dr^al, by complex steps of their coefficients (2,)."""

    def coefficients(x: Any) -> Any:
        return np.hstack([_connection(place, x), np.eye(2)]).ravel()

    derivatives = derivative(coefficients, place.q).reshape(2, 5, 5)  # form, component, direction of the derivative
    return np.einsum("bji,i,j->b", derivatives, first, second) - np.einsum("bji,i,j->b", derivatives, second, first)


def _curvature(place: Place) -> Any:
    """B^b_{al be} as printed, by complex steps of A (2, 3, 3)."""
    A = _connection(place, place.q)
    derivatives = derivative(lambda x: _connection(place, x).ravel(), place.q).reshape(2, 3, 5)
    by_base = derivatives[:, :, BASE] - np.swapaxes(derivatives[:, :, BASE], 1, 2)
    along_fibre = np.einsum("ax,bya->bxy", A, derivatives[:, :, FIBRE])
    return by_base + along_fibre - np.swapaxes(along_fibre, 1, 2)


# -- the constrained Lagrangian as numbers -----------------------------------------------------------------------------


def _velocity(place: Place, q: Any, base: Any) -> Any:
    return np.concatenate([base, -_connection(place, q) @ base])


def _constrained(place: Place, q: Any, base: Any) -> Any:
    """L_c(r, s, r_dot)."""
    return place.twin.lagrangian(q, _velocity(place, q, base))


def _constrained_momenta(place: Place, q: Any, base: Any) -> Any:
    """dL_c/dr_dot in closed form, p_r - A^T p_s (3,)."""
    p = place.twin.momenta(q, _velocity(place, q, base))
    return p[BASE] - _connection(place, q).T @ p[FIBRE]


def _left_side(place: Place, accelerations: Any) -> Any:
    """d/dt dL_c/dr_dot - dL_c/dr + A^a dL_c/ds^a along the curve with these base accelerations (3,)."""
    base = place.v[BASE]
    inertia = derivative(
        lambda w: _constrained_momenta(place, place.q + w[0] * place.v, base + w[0] * accelerations),
        [0.0],
    )[:, 0]
    by_place = derivative(lambda x: _constrained(place, x, base), place.q)
    return inertia - by_place[BASE] + _connection(place, place.q).T @ by_place[FIBRE]


def _fibre_momenta(place: Place) -> Any:
    """dL/ds_dot before the constraints are imposed, at a velocity that obeys them (2,)."""
    return place.twin.momenta(place.q, place.v)[FIBRE]


# -- the library -------------------------------------------------------------------------------------------------------


@cache
def _reduction(kind: str) -> tuple[Reduction, Callable[..., Any]]:
    """The library's reduction to base velocities, with a function (q, r_dot) -> A, B^1, B^2, L_c and its derivatives."""
    reduction = Reduction(tangent_system(kind).system, GraphAlgebra())
    algebra = reduction.algebra
    constrained = reduction.here(reduction.lagrangian)
    parts = [constrained_lagrangian.connection(reduction), *constrained_lagrangian.curvature(reduction)]
    parts += [algebra.gradient(constrained, reduction.independent), algebra.gradient(constrained, reduction.q)]
    return reduction, ca.Function("reduced", [reduction.q, reduction.independent], parts)


def _library(place: Place) -> tuple[Any, Any, Any, Any]:
    """A (2, 3), B (2, 3, 3), dL_c/dr_dot (3,) and dL_c/d(r, s) (5,) by the library."""
    found = [np.array(item, dtype=float) for item in _reduction(place.twin.kind)[1](place.q, place.v[BASE])]
    return found[0], np.array(found[1:3]), found[3].ravel(), found[4].ravel()


def _probe(place: Place) -> Probe:
    return tangent_probe(place.twin.kind, "constrained-lagrangian")


def _accelerations(place: Place) -> Any:
    """The library's base accelerations in this form (3,)."""
    return _probe(place).rates(0.0, np.concatenate([place.q, place.v[BASE]]))[5:]


def _curvature_force(place: Place) -> Any:
    """(dL/ds_dot^b) B^b_{al be} r_dot^be with the library's curvature (3,)."""
    return np.einsum("b,bxy,y->x", _fibre_momenta(place), _library(place)[1], place.v[BASE])


def _apart(gap: float) -> float:
    """0 where a gap is there, else what is missing of it."""
    return excess(APART - gap)


@claim(
    "B-5.2.17",
    "d/dt dL_c/dr_dot - dL_c/dr + A^a dL_c/ds^a = -(dL/ds_dot^b) B^b r_dot, with dL/ds_dot taken before the constraints are"
    " imposed; the other sign of the curvature is another motion",
    how=f"{RANDOM}: library accelerations and curvature in complex steps of L_c, and the accelerations against multipliers",
)
def constrained_equations() -> float:
    def residual(place: Place) -> float:
        z = _accelerations(place)
        with_multipliers, _ = place.twin.accelerations(place.q, place.v)
        return largest(distance(_left_side(place, z), -_curvature_force(place)), distance(z, with_multipliers[BASE]))

    turned = [distance(_left_side(p, _accelerations(p)), _curvature_force(p)) for p in places("bent")]
    return largest(over_places(residual, "bent", "flat"), _apart(min(turned)))


@claim(
    "B-5.2.18",
    "B^b_{al be} = d_be A^b_al - d_al A^b_be + A^a_al d_{s^a} A^b_be - A^a_be d_{s^a} A^b_al",
    how=f"{RANDOM}: the library's curvature against complex steps of A",
)
def curvature_formula() -> float:
    def residual(place: Place) -> float:
        A, B, _, _ = _library(place)
        return largest(distance(A, _connection(place, place.q)), distance(B, _curvature(place)))

    return over_places(residual, "bent", "flat")


@claim(
    "B-5.2.17-momenta",
    "dL_c/dr_dot^al = dL/dr_dot^al - A^b_al dL/ds_dot^b",
    how=f"{RANDOM}: derivative of the library's L_c against momenta in closed form and A",
)
def constrained_momenta() -> float:
    return over_places(
        lambda p: distance(_library(p)[2], _constrained_momenta(p, p.q, p.v[BASE])),
        "bent",
        "flat",
    )


def _derivatives_of_constrained(place: Place) -> Any:
    """dL/dq - dL/ds_dot^b dA^b_be/dq r_dot^be, the printed derivatives of L_c by the coordinates (5,)."""
    plain = derivative(lambda x: place.twin.lagrangian(x, place.v), place.q)
    turning = derivative(lambda x: _connection(place, x) @ place.v[BASE], place.q)
    return plain - _fibre_momenta(place) @ turning


@claim(
    "B-5.2.17-base",
    "dL_c/dr^al = dL/dr^al - dL/ds_dot^b (dA^b_be/dr^al) r_dot^be",
    how=f"{RANDOM}: derivative of the library's L_c against complex steps of L and of A",
)
def constrained_derivative_by_base() -> float:
    return over_places(lambda p: distance(_library(p)[3][BASE], _derivatives_of_constrained(p)[BASE]), "bent", "flat")


@claim(
    "B-5.2.17-fibre",
    "dL_c/ds^a = dL/ds^a - dL/ds_dot^b (dA^b_be/ds^a) r_dot^be",
    how=f"{RANDOM}: derivative of the library's L_c against complex steps of L and of A",
)
def constrained_derivative_by_fibre() -> float:
    return over_places(lambda p: distance(_library(p)[3][FIBRE], _derivatives_of_constrained(p)[FIBRE]), "bent", "flat")


@claim(
    "B-5.2.17-substitution",
    "Off the motion too, the expression of L_c is that of L along the allowed directions less dL/ds_dot^b B^b r_dot",
    how=f"{RANDOM} at random base accelerations: the library's equations in this form and its multiplier form, against complex"
    " steps of L",
)
def substitution() -> float:
    def residual(place: Place) -> float:
        base = place.z[BASE]
        turned = derivative(lambda w: _connection(place, place.q + w[0] * place.v) @ (place.v[BASE] + w[0] * base), [0.0])
        full = np.concatenate([base, -turned[:, 0]])
        allowed = np.vstack([np.eye(3), -_connection(place, place.q)])
        by_euler = allowed.T @ place.twin.euler(place.q, place.v, full)
        wide = place.probe.blocks(0.0, place.state)
        narrow = _probe(place).blocks(0.0, np.concatenate([place.q, place.v[BASE]]))
        force = np.einsum("b,bxy,y->x", _fibre_momenta(place), _curvature(place), place.v[BASE])
        return largest(
            distance(narrow.G @ base - narrow.f, by_euler),
            distance(allowed.T @ (wide.G @ full - wide.f), by_euler),
            distance(_left_side(place, base), by_euler - force),
        )

    return over_places(residual, "bent", "flat")


@claim(
    "B-5.2.17-degenerate",
    "L_c does not depend on s_dot",
    how=f"{RANDOM}: symbols of the library's L_c, and its value from a state without s_dot against L where A gives s_dot",
)
def degenerate_lagrangian() -> float:
    found = []
    for kind in ("bent", "flat"):
        reduction = _reduction(kind)[0]
        constrained = reduction.here(reduction.lagrangian)
        found += [float(reduction.algebra.depends(constrained, reduction.dependent))]
        found += [distance(_constrained_value(p), _constrained(p, p.q, p.v[BASE])) for p in places(kind)]
    return worst(found)


def _constrained_value(place: Place) -> float:
    """The library's L_c as momenta . velocities less its energy."""
    blocks = _probe(place).blocks(0.0, np.concatenate([place.q, place.v[BASE]]))
    return float(blocks.momenta @ blocks.velocities - blocks.energy)


@claim(
    "B-5.2.17-cyclic",
    "A cyclic s of a constrained system has no conserved momentum: p_s changes by the force of the constraint",
    how="the particle z' = y x', where z is cyclic: p_z along a library motion against the integral of the library's reaction,"
    " and against its start",
    tolerance=1e-9,
)
def cyclic_fibre_coordinate() -> float:
    nodes, weights = np.polynomial.legendre.leggauss(40)
    times = np.concatenate([[0.0], 1.0 + nodes, [2.0]])
    motion = simulate(gallery.load("constrained-particle"), span=(0.0, 2.0), at=times, rtol=1e-12)
    gained = motion["p_z"][-1] - motion["p_z"][0]
    return largest(distance(weights @ motion.total_reaction[2][1:-1], gained), _apart(abs(gained)))


@claim(
    "B-5.2.19",
    "On horizontal vectors d omega^b = d_be A^b_al dr^be ^ dr^al - d_{s^a} A^b_al A^a_be dr^be ^ dr^al",
    how=f"{RANDOM}: exterior derivative by complex steps on two random horizontal vectors, against the formula and against the"
    " library's curvature",
)
def exterior_derivative() -> float:
    def residual(place: Place) -> float:
        first, second = place.z[BASE], place.q[BASE] - 0.4 * place.v[BASE]
        A = _connection(place, place.q)
        derivatives = derivative(lambda x: _connection(place, x).ravel(), place.q).reshape(2, 3, 5)
        table = derivatives[:, :, BASE] - np.einsum("bxa,ay->bxy", derivatives[:, :, FIBRE], A)  # b, al, be
        wedge = np.einsum("y,x->xy", first, second) - np.einsum("y,x->xy", second, first)
        found = _exterior(place, _lift(place, first), _lift(place, second))
        bend = np.einsum("bxy,y,x->b", _library(place)[1], first, second)
        return largest(distance(np.einsum("bxy,xy->b", table, wedge), found), distance(bend, found))

    return over_places(residual, "bent", "flat")


@claim(
    "B-5.2.20",
    "d omega^b(q_dot, .) = B^b_{al be} r_dot^be dr^al on horizontal vectors; the last line in print has r_dot^al dr^be, which"
    " is the opposite",
    how="curved random connections: the library's curvature against the exterior derivative by complex steps",
)
def contracted_derivative() -> Corrected:
    right, printed = [], []
    for place in places("bent"):
        bend = np.einsum("bxy,y->bx", _library(place)[1], place.v[BASE])
        turned = np.einsum("bxy,x->by", _library(place)[1], place.v[BASE])
        found = np.stack([_exterior(place, place.v, _lift(place, e)) for e in np.eye(3)], axis=1)
        right.append(distance(bend, found))
        printed.append(distance(turned, found))
    return Corrected(worst(right), worst(printed))


@claim(
    "B-5.2.21",
    "The equations are L_c's variational derivative = -(dL/ds_dot^a) d omega^a(q_dot, d/dr^al), where d/dr^al stands for its"
    " horizontal lift as in 5.2.19",
    how=f"{RANDOM}: library accelerations, exterior derivative by complex steps; the bare vector d/dr gives another number"
    " where A depends on s",
)
def equations_by_exterior_derivative() -> float:
    def force(place: Place, vectors: Any) -> Any:
        return np.array([_fibre_momenta(place) @ _exterior(place, place.v, e) for e in vectors])

    def residual(place: Place) -> float:
        lifted = [_lift(place, e) for e in np.eye(3)]
        return distance(_left_side(place, _accelerations(place)), -force(place, lifted))

    gaps = [distance(_left_side(p, _accelerations(p)), -force(p, np.eye(3, 5))) for p in places("bent")]
    return largest(over_places(residual, "bent", "flat"), _apart(max(gaps)))


@cache
def _plugged_in(level: tuple[float, float]) -> Probe:
    """Lagrange's equations on a leaf of the flat connection, with s = s(r) put into L first."""
    stated = tangent_system("flat").system
    r, s = stated.coordinates[:3], stated.coordinates[3:]
    leaf = {
        x: level[a] * sympy.exp(-sum(float(FLAT[a, k]) * r[k] ** 2 for k in range(3)) / 2) for a, x in enumerate(s)
    }  # fmt: skip
    rates = {x.dot: sum(sympy.diff(place, y) * y.dot for y in r) for x, place in leaf.items()}
    assert stated.lagrangian is not None
    return Probe(derive(System(r, lagrangian=stated.lagrangian.xreplace({**rates, **leaf})), "lagrange"), {})


@claim(
    "B-5.2-holonomic",
    "Where the constraints are holonomic the curvature vanishes, and the constraints may be put into L before Lagrange's"
    " equations are written; where they are not, it does not vanish",
    how="flat random connections: the library's curvature, its verdict on integrability, and its accelerations against"
    " Lagrange's equations on the leaf; curved ones: the curvature",
)
def holonomic_case() -> float:
    found = []
    for place in places("flat", 2):
        grown = np.exp(FLAT @ place.q[BASE] ** 2 / 2)
        leaf = _plugged_in(tuple(float(x) for x in place.q[FIBRE] * grown))
        on_leaf = leaf.rates(0.0, np.concatenate([place.q[BASE], place.v[BASE]]))[3:]
        found += [worst(_library(place)[1].ravel()), distance(_accelerations(place), on_leaf)]
    found += [_apart(worst(_library(place)[1].ravel())) for place in places("bent")]
    judged = [classify(take_apart(tangent_system(kind).system, {}, {})) for kind in ("flat", "bent")]
    verdicts = [c.integrable for facts in judged for c in facts.constraints]
    return worst([*found, float(verdicts != [True, True, False, False])])
