"""Bloch and others, Internet Supplement, section 5.3: mechanics without coordinates (to 5.3.19).

Vectors and one-forms on TQ are pairs (a, b) of components along q and along v, of random systems
on tangent bundles; the library gives momenta, energies, Hessians, rows and accelerations, the
independent implementation differentiates by complex steps.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy

from ....formulations.registry import derive
from ....integrate.simulate import simulate
from ....model.system import System
from ....typing import Array
from ...independent.random_systems import Point, random_probe, random_states, random_system
from ...independent.tangent_bundle_systems import TangentSample, samples, tangent_system
from ...independent.tangent_forms import (
    energy_form,
    fundamental,
    in_second_chart,
    lagrangian_form,
    library_derivatives,
    library_forms,
    principal,
    pulled,
    random_vector,
    second_chart,
)
from ...numeric import Probe, Residual, Residuals, derivative, distance, worst
from ...row_registry import listed

CONDITIONS = ("linear", "affine", "nonlinear")
every, bound = samples.of("free", *CONDITIONS), samples.of(*CONDITIONS)

# -- second-order fields ---------------------------------------------------------------------------


listed("B-5.3.1", over=every)(
    lambda s: distance(s.accelerations, s.model.accelerations(s.q, s.v)[0])
)


@listed("B-5.3.2", over=samples.of("free").first(1))
def first_order_system(s: TangentSample) -> Residual:
    from scipy.integrate import solve_ivp

    n, equations = s.model.size, s.probe.equations
    start = dict(zip((symbol.name for symbol in equations.state), s.state, strict=True))
    motion = simulate(equations, start, (0, 0.5), rtol=1e-11)

    def field(_: float, y: Array) -> Any:
        return np.concatenate([y[n:], s.model.accelerations(y[:n], y[n:])[0]])

    reference = solve_ivp(field, (0, 0.5), s.state, "DOP853", rtol=1e-10, atol=1e-11)
    return distance(motion.y[:, -1], reference.y[:, -1])


@listed("B-5.3.3")
def special_field() -> Residuals:
    for kind in ("free", "velocity"):
        for time, q, p in random_states(kind):
            rates = random_probe(kind).rates(time, np.concatenate([q, p]))
            yield distance(rates[:3], random_system(kind).velocities(q, p, time))


@listed("B-5.3.4", over=samples.of("free"))
def vertical_lift(s: TangentSample) -> Residual:
    by_steps = derivative(lambda w: s.model.lagrangian(s.q, s.v + w[0] * s.z), [0.0])[0]
    return distance(s.blocks.momenta @ s.z, by_steps)


@listed("B-5.3.5", over=samples.of("free", "linear"))
def principal_tensor(s: TangentSample) -> Residual:
    state, carry = in_second_chart(s)
    here, there = s.rates, second_chart(s.model.kind).rates(0.0, state)
    w = random_vector(s, 5)
    return (
        distance(carry @ there, here),
        distance(carry @ principal(there), principal(here)),
        distance(carry @ principal(w), principal(carry @ w)),
    )


def _along(s: TangentSample, vector: Array) -> Any:
    """The derivative of f along a vector on TQ, by complex steps (m,)."""
    a, b = vector[: s.model.size], vector[s.model.size :]
    return derivative(lambda w: s.model.condition(s.q + w[0] * a, s.v + w[0] * b), [0.0])[:, 0]


@listed("B-5.3.6", over=bound)
def principal_tensor_in_coordinates(s: TangentSample) -> Residual:
    w = random_vector(s, 6)
    return distance(s.blocks.A @ w[: s.model.size], _along(s, principal(w)))


@listed("B-5.3.7", over=samples.of("free"))
def dual_tensor(s: TangentSample) -> Residual:
    n, kept = s.model.size, pulled(library_derivatives(s)[1])
    by_hessian = distance(kept[:n], s.blocks.G @ s.v)
    return distance(kept, pulled(energy_form(s))), by_hessian, kept[n:]


@listed("B-5.3.8", over=bound)
def pairing(s: TangentSample) -> Residual:
    w, forms = random_vector(s, 8), s.constraint_forms
    expected = forms @ principal(w)
    by_forms = np.array([pulled(form) for form in forms]) @ w
    return distance(s.blocks.A @ w[: s.model.size], expected), distance(by_forms, expected)


@listed("B-5.3.9", over=samples.of("linear", "nonlinear"))
def dual_tensor_in_two_charts(s: TangentSample) -> Residual:
    (state, carry), n = in_second_chart(s), s.model.size
    return distance(second_chart(s.model.kind).blocks(0.0, state).A, s.blocks.A @ carry[:n, :n])


@listed("B-5.3-fundamental", over=every)
def fundamental_field(s: TangentSample) -> Residual:
    stretched = derivative(lambda w: s.model.lagrangian(s.q, s.v * np.exp(w[0])), [0.0])[0]
    momentum = distance(s.blocks.momenta @ s.v, stretched)
    if s.model.kind == "free":
        return momentum
    return momentum, distance(s.blocks.A @ s.v, _along(s, fundamental(s.v)))


@listed("B-5.3.10", over=every)
def special_where_principal(s: TangentSample) -> Residual:
    missed = principal(s.rates + np.concatenate([s.z, s.q])) - fundamental(s.v)
    exact = distance(principal(s.rates), fundamental(s.v))
    return exact, distance(missed, fundamental(s.z))


# -- the Lagrangian's forms ------------------------------------------------------------------------


@listed("B-5.3.11", over=samples.of("free"))
def impulse_form(s: TangentSample) -> Residual:
    n = s.model.size
    differential = derivative(lambda y: s.model.lagrangian(y[:n], y[n:]), s.state)
    by_form = distance(library_forms(s, s.accelerations)[0], pulled(differential))
    return by_form, distance(np.concatenate([s.blocks.momenta, np.zeros(n)]), pulled(differential))


@listed("B-5.3.12", over=samples.of("free"))
def two_form(s: TangentSample) -> Residual:
    return distance(library_forms(s, s.accelerations)[1], lagrangian_form(s))


@listed("B-5.3.13", over=samples.of("free"))
def energy_function(s: TangentSample) -> Residual:
    stretched = derivative(lambda w: s.model.lagrangian(s.q, s.v * (1 + w[0])), [0.0])[0]
    return distance(s.blocks.energy, stretched - s.model.lagrangian(s.q, s.v))


@listed("B-5.3.14", over=samples.of("free"))
def legendre_pairing(s: TangentSample) -> Residual:
    closed, L = s.model.momenta(s.q, s.v) @ s.v, s.model.lagrangian(s.q, s.v)
    return distance(s.blocks.momenta @ s.v, closed), distance(s.blocks.energy + L, closed)


@cache
def _pushed() -> Probe:
    """The free random system under forces that depend on place and velocity."""
    stated = tangent_system("free").system
    assert stated.lagrangian is not None
    force = _push(stated.coordinates, stated.velocities)
    table = dict(zip(stated.coordinates, force, strict=True))
    system = System(stated.coordinates, lagrangian=stated.lagrangian, forces=table)
    return Probe(derive(system, "lagrange"), {})


def _push(q: Point, v: Point) -> list[Any]:
    cosine = sympy.cos if isinstance(q[0], sympy.Expr) else np.cos
    return [2 * cosine(q[k] + k) - v[(k + 1) % 3] ** 2 / 2 for k in range(3)]


def _push_form(s: TangentSample) -> Any:
    """Q dq of the force (6,)."""
    return np.concatenate([np.array(_push(s.q, s.v)), np.zeros(3)])


@listed("B-5.3.15", over=samples.of("free"), misprint={"sign": 1})
def lagrange_dalembert_principle(s: TangentSample, sign: int = -1) -> Residual:
    field = _pushed().rates(0.0, s.state)
    return distance(lagrangian_form(s).T @ field, energy_form(s) + sign * _push_form(s))


@listed("B-Definition-5.3.1", over=samples.of("free"), misprint={"printed": True})
def field_in_the_first_slot(s: TangentSample, printed: bool = False) -> Residual:
    field, other = _pushed().rates(0.0, s.state), random_vector(s, 1)
    form, work = lagrangian_form(s), energy_form(s) - _push_form(s)
    if printed:
        return distance(np.concatenate([s.v, s.z]) @ form @ field, work @ field)
    return distance(field @ form @ other, work @ other)


listed("B-5.3.16", over=samples.of("free"))(
    lambda s: distance(np.linalg.solve(lagrangian_form(s).T, energy_form(s)), s.rates)
)


@listed("B-5.3.17", over=samples.of("free"), misprint={"printed": True})
def two_form_on_the_field(s: TangentSample, printed: bool = False) -> Residual:
    n, field, other = s.model.size, s.rates, random_vector(s, 17)
    mixed, second = library_derivatives(s)[0][:, :n], s.blocks.G
    v, a, b = field[:n], other[:n], other[n:]
    last = v if printed else field[n:]
    written = float(-(a @ mixed @ v - v @ mixed @ a) + v @ second @ b - a @ second @ last)
    return distance(written, field @ lagrangian_form(s) @ other)


def _derivative_by_place(s: TangentSample) -> Any:
    """L_q by complex steps (n,)."""
    return derivative(lambda x: s.model.lagrangian(x, s.v), s.q)


@listed("B-5.3.18", over=samples.of("free"), misprint={"printed": True})
def differential_of_energy(s: TangentSample, printed: bool = False) -> Residual:
    n, other = s.model.size, random_vector(s, 18)
    a, b, p = other[:n], other[n:], s.blocks.momenta
    second = s.v @ library_derivatives(s)[0][:, :n] @ a
    start = p @ b + second + s.v @ s.blocks.G @ b - _derivative_by_place(s) @ a
    return distance(start - p @ (s.v if printed else b), energy_form(s) @ other)


@listed("B-5.3.18-along-q", over=samples.of("free"), misprint={"printed": True})
def coefficients_along_positions(s: TangentSample, printed: bool = False) -> Residual:
    mixed, last = library_derivatives(s)[0][:, : s.model.size], s.v if printed else s.accelerations
    left = -mixed @ s.v + mixed.T @ s.v - s.blocks.G @ last
    return distance(left, -_derivative_by_place(s) + mixed.T @ s.v)


@listed("B-5.3.18-along-v", over=samples.of("free"))
def coefficients_along_velocities(s: TangentSample) -> Residual:
    n, field = s.model.size, np.concatenate([s.v, s.z])
    return distance((lagrangian_form(s).T @ field)[n:], library_derivatives(s)[1][n:])


listed("B-5.3.19", over=samples.of("free"))(
    lambda s: worst(s.model.euler(s.q, s.v, s.accelerations))
)
