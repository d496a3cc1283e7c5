"""Bloch and others, Internet Supplement, section 5.3: Lagrangian mechanics without coordinates (5.3.1 to 5.3.19).

Vectors and one-forms on TQ are pairs (a, b) of components along q and along v. Random systems of `tangent` are the ground;
the library gives momenta, energies, Hessians, rows and accelerations, the independent implementation differentiates by complex
steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.system import System
from ..independent.random_systems import random_states, twin, twin_probe
from ..independent.tangent_bundle_systems import Place, over_places, places, tangent_system
from ..independent.tangent_forms import (
    energy_form,
    fundamental,
    in_second_chart,
    lagrangian_form,
    library_derivatives,
    library_form,
    principal,
    pulled,
    random_vector,
    second_chart,
)
from ..numeric import Probe, derivative, distance, largest, worst
from ..row_registry import Corrected, claim

EVERY = ("free", "linear", "affine", "nonlinear")
RANDOM = "random Lagrangians, free and under linear, affine and nonlinear conditions"
FREE = "random Lagrangians that are not quadratic in the velocities"


# -- second-order fields -----------------------------------------------------------------------------------------------


@claim(
    "B-5.3.1",
    "Motions obey a second-order equation q_ddot = f(q, q_dot)",
    how=f"{RANDOM}: library accelerations against d'Alembert's principle with multipliers by complex steps",
)
def second_order_equation() -> float:
    return over_places(lambda p: distance(p.accelerations, p.twin.accelerations(p.q, p.v)[0]), *EVERY)


@claim(
    "B-5.3.2",
    "It is the first-order system q_dot = v, v_dot = f(q, v)",
    how="library motion of a random system against SciPy on (v, f) with the independent implementation's f, over half a second",
    tolerance=1e-8,
)
def first_order_system() -> float:
    from scipy.integrate import solve_ivp

    place = places("free")[0]
    n, names = place.twin.size, [symbol.name for symbol in place.probe.equations.state]
    motion = simulate(place.probe.equations, dict(zip(names, place.state, strict=True)), (0, 0.5), rtol=1e-11)

    def field(_: float, y: Any) -> Any:
        return np.concatenate([y[n:], place.twin.accelerations(y[:n], y[n:])[0]])

    reference = solve_ivp(field, (0, 0.5), place.state, "DOP853", rtol=1e-10, atol=1e-11)
    return distance(motion.y[:, -1], reference.y[:, -1])


@claim(
    "B-5.3.3",
    "The field is X = v d/dq + f d/dv: it projects to v",
    how=f"{RANDOM}: the library's rates of q; the same from Hamilton's form, where v = M^-1 (p - m)",
)
def special_field() -> float:
    by_velocities = over_places(lambda p: distance(p.probe.rates(0.0, p.state)[: p.twin.size], p.v), *EVERY)
    found = [by_velocities]
    for kind in ("free", "velocity"):
        for time, q, p in random_states(kind):
            rates = twin_probe(kind).rates(time, np.concatenate([q, p]))
            found.append(distance(rates[:3], twin(kind).velocities(q, p, time)))
    return worst(found)


@claim(
    "B-5.3.4",
    "The vertical lift of a d/dq is a d/dv: the derivative of L along it is p . a",
    how=f"{FREE}: library momenta against complex steps of L(q, v + w a)",
)
def vertical_lift() -> float:
    def residual(p: Place) -> float:
        by_steps = derivative(lambda w: p.twin.lagrangian(p.q, p.v + w[0] * p.z), [0.0])[0]
        return distance(p.probe.blocks(0.0, p.state).momenta @ p.z, by_steps)

    return over_places(residual, "free")


@claim(
    "B-5.3.5",
    "P is a tensor field: computed in any chart, the lift of the projection of a vector is the same vector",
    how="random systems stated to the library in two charts: P of the library's field and of random vectors, carried over",
)
def principal_tensor() -> float:
    def residual(p: Place) -> float:
        state, carry = in_second_chart(p)
        here, there = p.probe.rates(0.0, p.state), second_chart(p.twin.kind).rates(0.0, state)
        w = random_vector(p, 5)
        return largest(
            distance(carry @ there, here),
            distance(carry @ principal(there), principal(here)),
            distance(carry @ principal(w), principal(carry @ w)),
        )

    return over_places(residual, "free", "linear")


@claim(
    "B-5.3.6",
    "P(a d/dq + b d/dv) = a d/dv: along it a condition f changes by f_v a",
    how="random systems under linear, affine and nonlinear conditions: the library's rows against complex steps of f along P W",
)
def principal_tensor_in_coordinates() -> float:
    return over_places(
        lambda p: distance(_rows(p) @ random_vector(p, 6)[: p.twin.size], _along(p, principal(random_vector(p, 6)))), *EVERY[1:]
    )


def _rows(place: Place) -> Any:
    """The library's f_v (m, n)."""
    return place.probe.blocks(0.0, place.state).A


def _along(place: Place, vector: Any) -> Any:
    """The derivative of f along a vector on TQ, by complex steps (m,)."""
    n = place.twin.size
    return derivative(lambda w: place.twin.condition(place.q + w[0] * vector[:n], place.v + w[0] * vector[n:]), [0.0])[:, 0]


@claim(
    "B-5.3.7",
    "P^*(a dq + b dv) = b dq: of the energy's differential it keeps L_vv v dq",
    how=f"{FREE}: derivative of the library's energy by v against its Hessian and against complex steps",
)
def dual_tensor() -> float:
    def residual(p: Place) -> float:
        n = p.twin.size
        kept = pulled(library_derivatives(p)[1])
        by_hessian = p.probe.blocks(0.0, p.state).G @ p.v
        return largest(distance(kept, pulled(energy_form(p))), distance(kept[:n], by_hessian), worst(kept[n:]))

    return over_places(residual, "free")


@claim(
    "B-5.3.8",
    "The pairing of P^*theta with c d/dq + d d/dv is that of theta with P of it, b . c",
    how="differentials of random linear, affine and nonlinear conditions: rows of the library's reactions on random vectors"
    " against complex steps",
)
def pairing() -> float:
    def residual(p: Place) -> float:
        w = random_vector(p, 8)
        forms = np.hstack(p.twin.forms(p.q, p.v))
        return largest(
            distance(_rows(p) @ w[: p.twin.size], forms @ principal(w)),
            distance(np.array([pulled(form) for form in forms]) @ w, forms @ principal(w)),
        )

    return over_places(residual, *EVERY[1:])


@claim(
    "B-5.3.9",
    "P^* is the same in every chart: reaction forms are carried over like any one-form on Q",
    how="conditions stated to the library in two charts: rows in one against rows in the other times the chart's derivative",
)
def dual_tensor_in_two_charts() -> float:
    def residual(p: Place) -> float:
        state, carry = in_second_chart(p)
        n = p.twin.size
        there = second_chart(p.twin.kind).blocks(0.0, state).A
        return distance(there, _rows(p) @ carry[:n, :n])

    return over_places(residual, "linear", "nonlinear")


@claim(
    "B-5.3-fundamental",
    "The fundamental field Phi = v d/dv is the vertical lift of the velocity: it stretches velocities",
    how=f"{RANDOM}: p . v and f_v v of the library against complex steps of L and f at stretched velocities",
)
def fundamental_field() -> float:
    def residual(p: Place) -> float:
        stretched = derivative(lambda w: p.twin.lagrangian(p.q, p.v * np.exp(w[0])), [0.0])[0]
        found = [distance(p.probe.blocks(0.0, p.state).momenta @ p.v, stretched)]
        if p.twin.kind != "free":
            found.append(distance(_rows(p) @ p.v, _along(p, fundamental(p.v))))
        return worst(found)

    return over_places(residual, *EVERY)


@claim(
    "B-5.3.10",
    "A field is of second order exactly where P X = Phi",
    how=f"{RANDOM}: P of the library's field; a field with other velocities misses Phi by the lift of their difference",
)
def special_where_principal() -> float:
    def residual(p: Place) -> float:
        field, other = p.probe.rates(0.0, p.state), np.concatenate([p.z, p.q])
        missed = principal(field + other) - fundamental(p.v)
        return largest(distance(principal(field), fundamental(p.v)), distance(missed, fundamental(p.z)))

    return over_places(residual, *EVERY)


# -- the Lagrangian's forms --------------------------------------------------------------------------------------------


@claim(
    "B-5.3.11",
    "P^*dL = L_v dq, a form without components along v",
    how=f"{FREE}: library momenta against complex steps of L",
)
def impulse_form() -> float:
    def residual(p: Place) -> float:
        n = p.twin.size
        differential = derivative(lambda y: p.twin.lagrangian(y[:n], y[n:]), p.state)
        momenta = p.probe.blocks(0.0, p.state).momenta
        return distance(np.concatenate([momenta, np.zeros(n)]), pulled(differential))

    return over_places(residual, "free")


@claim(
    "B-5.3.12",
    "Omega_L = -d(P^*dL) = -L_{q^j v^i} dq^j ^ dq^i + L_{v^j v^i} dq^j ^ dv^i, the canonical form behind the Legendre map",
    how=f"{FREE}: the formula with the library's second derivatives against dq ^ dp pulled back by complex steps",
)
def two_form() -> float:
    return over_places(lambda p: distance(library_form(p), lagrangian_form(p)), "free")


@claim(
    "B-5.3.13",
    "The energy is H_L = dL(Phi) - L",
    how=f"{FREE}: the library's energy against complex steps of L at stretched velocities",
)
def energy_function() -> float:
    def residual(p: Place) -> float:
        stretched = derivative(lambda w: p.twin.lagrangian(p.q, p.v * (1 + w[0])), [0.0])[0]
        return distance(p.probe.blocks(0.0, p.state).energy, stretched - p.twin.lagrangian(p.q, p.v))

    return over_places(residual, "free")


@claim(
    "B-5.3.14",
    "dL(Phi) = L_v . v = p . v",
    how=f"{FREE}: library momenta and energy: their difference is L",
)
def legendre_pairing() -> float:
    def residual(p: Place) -> float:
        blocks = p.probe.blocks(0.0, p.state)
        closed = p.twin.momenta(p.q, p.v) @ p.v
        return largest(distance(blocks.momenta @ p.v, closed), distance(blocks.energy + p.twin.lagrangian(p.q, p.v), closed))

    return over_places(residual, "free")


@cache
def _pushed() -> Probe:
    """The free random system under forces that depend on place and velocity."""
    stated = tangent_system("free").system
    assert stated.lagrangian is not None
    force = _push(stated.coordinates, stated.velocities, sympy.cos)
    table = dict(zip(stated.coordinates, force, strict=True))
    return Probe(derive(System(stated.coordinates, lagrangian=stated.lagrangian, forces=table), "lagrange"), {})


def _push(q: Any, v: Any, cosine: Callable[[Any], Any]) -> list[Any]:
    return [2 * cosine(q[k] + k) - v[(k + 1) % 3] ** 2 / 2 for k in range(3)]


@claim(
    "B-5.3.15",
    "Omega_L(X, Y) = dH_L(Y) + omega(Y) for every Y, where the exterior force is Q dq = -omega; the text calls omega itself"
    " the force",
    how="random systems under forces: the library's field in Omega_L and dH_L by complex steps, with either sign of the force",
)
def lagrange_dalembert_principle() -> Corrected:
    right, printed = [], []
    for p in places("free"):
        field = _pushed().rates(0.0, p.state)
        left = lagrangian_form(p).T @ field
        force = np.concatenate([np.array(_push(p.q, p.v, np.cos)), np.zeros(3)])
        right.append(distance(left, energy_form(p) - force))
        printed.append(distance(left, energy_form(p) + force))
    return Corrected(worst(right), worst(printed))


@claim(
    "B-Definition-5.3.1",
    "The field of the motions stands in the first slot and Y is any vector; the text gives the name Y to the field",
    how="random systems under forces: the principle with the library's field first and random vectors second, and the other way"
    " round with random fields of second order",
)
def field_in_the_first_slot() -> Corrected:
    right, printed = [], []
    for p in places("free"):
        field, other = _pushed().rates(0.0, p.state), random_vector(p, 1)
        force = np.concatenate([np.array(_push(p.q, p.v, np.cos)), np.zeros(3)])
        form, work = lagrangian_form(p), energy_form(p) - force
        right.append(distance(field @ form @ other, work @ other))
        printed.append(distance(np.concatenate([p.v, p.z]) @ form @ field, work @ field))
    return Corrected(worst(right), worst(printed))


@claim(
    "B-5.3.16",
    "With X = v d/dq + v_dot d/dv and Y arbitrary the principle determines X: it comes out as a second-order field",
    how=f"{FREE}: i_X Omega_L = dH_L solved densely, against the library's rates",
)
def field_from_the_principle() -> float:
    return over_places(
        lambda p: distance(np.linalg.solve(lagrangian_form(p).T, energy_form(p)), p.probe.rates(0.0, p.state)), "free"
    )


def _written_out(p: Place, field: Any, other: Any, last: Any) -> float:
    """The printed Omega_L(X, Y) with `last` in the place of the second bracket's last symbol."""
    n = p.twin.size
    momenta, _ = library_derivatives(p)
    mixed, second = momenta[:, :n], p.probe.blocks(0.0, p.state).G
    v, a, b = field[:n], other[:n], other[n:]
    return float(-(a @ mixed @ v - v @ mixed @ a) + v @ second @ b - a @ second @ last)


@claim(
    "B-5.3.17",
    "Omega_L(X, Y) = -L_{q^j v^i}(v^j a^i - a^j v^i) + L_{v^j v^i}(v^j b^i - a^j v_dot^i); the print has a^j v^i last",
    how=f"{FREE}: the library's field and second derivatives in the formula, against dq ^ dp pulled back",
)
def two_form_on_the_field() -> Corrected:
    right, printed = [], []
    for p in places("free"):
        field, other = p.probe.rates(0.0, p.state), random_vector(p, 17)
        found = field @ lagrangian_form(p) @ other
        right.append(distance(_written_out(p, field, other, field[p.twin.size :]), found))
        printed.append(distance(_written_out(p, field, other, field[: p.twin.size]), found))
    return Corrected(worst(right), worst(printed))


def _derivative_by_place(place: Place) -> Any:
    """L_q by complex steps (n,)."""
    return derivative(lambda x: place.twin.lagrangian(x, place.v), place.q)


@claim(
    "B-5.3.18",
    "dH_L(Y) = L_v b + L_{q^j v^i} v^i a^j + L_{v^j v^i} v^i b^j - L_q a - L_v b; the last line in print ends in L_v v",
    how=f"{FREE}: library momenta and second derivatives, L_q by complex steps, against complex steps of the energy",
)
def differential_of_energy() -> Corrected:
    right, printed = [], []
    for p in places("free"):
        n, other = p.twin.size, random_vector(p, 18)
        a, b = other[:n], other[n:]
        momenta, blocks = library_derivatives(p)[0], p.probe.blocks(0.0, p.state)
        by_place = _derivative_by_place(p)
        start = blocks.momenta @ b + p.v @ momenta[:, :n] @ a + p.v @ blocks.G @ b - by_place @ a
        found = energy_form(p) @ other
        right.append(distance(start - blocks.momenta @ b, found))
        printed.append(distance(start - blocks.momenta @ p.v, found))
    return Corrected(worst(right), worst(printed))


@claim(
    "B-5.3.18-along-q",
    "The coefficients of a^i give -L_{q^j v^i} v^j + L_{q^i v^j} v^j - L_{v^j v^i} v_dot^j = -L_{q^i} + L_{q^i v^j} v^j; the"
    " print has v^j for v_dot^j",
    how=f"{FREE}: library accelerations and second derivatives, L_q by complex steps",
)
def coefficients_along_positions() -> Corrected:
    def residual(p: Place, last: Any) -> float:
        n = p.twin.size
        mixed, second = library_derivatives(p)[0][:, :n], p.probe.blocks(0.0, p.state).G
        by_place = _derivative_by_place(p)
        return distance(-mixed @ p.v + mixed.T @ p.v - second @ last, -by_place + mixed.T @ p.v)

    right = over_places(lambda p: residual(p, p.accelerations), "free")
    return Corrected(right, over_places(lambda p: residual(p, p.v), "free"))


@claim(
    "B-5.3.18-along-v",
    "The coefficients of b^i are the same on both sides, whatever the acceleration",
    how=f"{FREE}: v-components of Omega_L on a field of second order with random accelerations, and of the library's dH_L",
)
def coefficients_along_velocities() -> float:
    def residual(p: Place) -> float:
        n, field = p.twin.size, np.concatenate([p.v, p.z])
        return distance((lagrangian_form(p).T @ field)[n:], library_derivatives(p)[1][n:])

    return over_places(residual, "free")


@claim(
    "B-5.3.19",
    "What is left is Lagrange's equation d/dt L_v = L_q",
    how=f"{FREE}: complex steps of the momenta along the library's accelerations",
)
def lagrange_equation() -> float:
    return over_places(lambda p: worst(p.twin.euler(p.q, p.v, p.accelerations)), "free")
