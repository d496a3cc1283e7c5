"""Moreau and van der Schaft: the optimal control problem and its extremals (eqs. 1 to 6).

Random systems of `image_systems`: one whose image is not involutive, one whose image is, with
structure functions, and one with more speeds than directions. The library gives velocities, rates
and motions of the forms "pontryagin", "implicit-lagrangian", "implicit-hamiltonian" and
"vakonomic"; the independent implementation differentiates by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp

from ...formulations.dirac.control_bundles import ControlBundle
from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...model.symbols import coordinates, speeds
from ...typing import Array
from ..independent.image_systems import SIZE, ImageSample, image_system, kernel_system, samples
from ..numeric import (
    STEP,
    Probe,
    Residual,
    Residuals,
    StateBlocks,
    derivative,
    distance,
    excess,
    null_space,
)
from ..row_registry import listed

REGULAR = ("curved", "flat")
SPAN = 1.0
#: Two numbers that are said to differ must differ by this.
APART = 1e-3

regular, every = samples.of(*REGULAR), samples.of(*REGULAR, "crowded")


@cache
def probe(kind: str, form: str) -> Probe:
    """The library's equations of a random system."""
    return Probe(derive(image_system(kind).system, form), {})


def lagrangian_state(s: ImageSample) -> Array:
    """(x, u), the state of "implicit-lagrangian"."""
    return np.concatenate([s.x, s.u])


def hamiltonian_state(s: ImageSample) -> Array:
    """(x, p, u), the state of "implicit-hamiltonian"."""
    return np.concatenate([s.x, s.p, s.u])


def blocks_of(s: ImageSample, form: str = "implicit-lagrangian") -> StateBlocks:
    """The library's blocks of an implicit form."""
    state = hamiltonian_state(s) if form == "implicit-hamiltonian" else lagrangian_state(s)
    return probe(s.model.kind, form).blocks(0.0, state)


def extremal_state(s: ImageSample) -> Array:
    """(x, xi), the state of "pontryagin"."""
    return np.concatenate([s.x, s.xi])


def extremal_rates(s: ImageSample) -> tuple[Array, Array, Array]:
    """x_dot, xi_dot and x_ddot of the library's extremals (n,) each."""
    context, state = probe(s.model.kind, "pontryagin"), extremal_state(s)
    rates = context.rates(0.0, state)
    return rates[:SIZE], rates[SIZE:], context.observe(0.0, state)["accelerations"]


def optimal_speeds(s: ImageSample) -> Any:
    """The u that the costate determines, by the independent implementation."""
    return s.model.optimal_speeds(s.x, s.xi)


# -- the problem -----------------------------------------------------------------------------------


listed("M-1", over=every)(
    lambda s: (
        distance(blocks_of(s).velocities, s.rate),
        s.model.rows(s.x) @ blocks_of(s).velocities,
    )
)


@cache
def _general() -> Probe:
    """Extremals of a bundle whose fibre is no function of (x, x_dot): three v over two x."""
    (x, y), (u, w, *v) = coordinates("x y"), speeds("u w v1 v2 v3")
    fibre = dict(zip(v, (u * (1 + y**2), w, x * u - y * w), strict=True))
    cost = (v[0] ** 2 + 2 * v[1] ** 2 + v[2] ** 2) / 2 - x * y
    bundle = ControlBundle({x: u + x * w, y: sympy.cos(x) * w}, fibre, cost, [u, w])
    return Probe(derive(bundle.extremals()), {})


def _general_action(s: Array) -> Any:
    """L(x, F(x, u)) - xi . E u at s = (x, y, xi_x, xi_y, u, w)."""
    v = np.array([s[4] * (1 + s[1] ** 2), s[5], s[0] * s[4] - s[1] * s[5]])
    cost = (v[0] ** 2 + 2 * v[1] ** 2 + v[2] ** 2) / 2 - s[0] * s[1]
    return cost - s[2] * (s[4] + s[0] * s[5]) - s[3] * np.cos(s[0]) * s[5]


@cache
def _general_states() -> list[Array]:
    """States with u from eq. 5, which is linear in u: the gradient in u at two points."""
    found = []
    for x in np.random.default_rng(2).uniform(-0.8, 0.8, (4, 4)):

        def by_controls(w: Array, x: Array = x) -> Any:
            return _general_action(np.concatenate([x, w]))

        rest, *moved = (derivative(by_controls, at) for at in (np.zeros(2), *np.eye(2)))
        hessian = np.stack([one - rest for one in moved], axis=1)
        found.append(np.concatenate([x, np.linalg.solve(hessian, -rest)]))
    return found


@listed("M-2")
def points_of_a_bundle() -> Residual:
    found: list[Residual] = [distance(blocks_of(s).energy, s.model.energy(s.x, s.v)) for s in every]
    for s in _general_states():
        seen = _general().observe(0.0, s)
        v = [s[4] * (1 + s[1] ** 2), s[5], s[0] * s[4] - s[1] * s[5]]
        found.append(distance([seen[f"output v{k}"][0] for k in (1, 2, 3)], v))
        found.append(
            distance(_general().rates(0.0, s)[:2], [s[4] + s[0] * s[5], np.cos(s[0]) * s[5]])
        )
    return found


def _run(kind: str, form: str, state: Array) -> Motion:
    """A library motion of one form from a state, over `SPAN`."""
    equations = probe(kind, form).equations
    start = dict(zip([symbol.name for symbol in equations.state], state, strict=True))
    return simulate(equations, start, (0.0, SPAN), rtol=1e-12)


@cache
def extremal_motion(kind: str) -> Motion:
    """A library extremal."""
    return _run(kind, "pontryagin", extremal_state(samples(kind)[0]))


@cache
def dalembert_motion(kind: str) -> Motion:
    """The library's motion by d'Alembert's principle from the start of that extremal."""
    s = samples(kind)[0]
    return _run(kind, "implicit-lagrangian", np.concatenate([s.x, optimal_speeds(s)]))


def _extremal_path(kind: str, time: float) -> tuple[Array, Array]:
    """x and x_dot of the extremal; the speeds by the independent implementation."""
    model, (x, xi) = image_system(kind), np.split(extremal_motion(kind).sol(time), 2)
    return x, model.frame(x) @ model.optimal_speeds(x, xi)


def _dalembert_path(kind: str, time: float) -> tuple[Array, Array]:
    state = dalembert_motion(kind).sol(time)
    return state[:SIZE], image_system(kind).frame(state[:SIZE]) @ state[SIZE:]


def _first_variations(kind: str, path: Callable[[str, float], tuple[Array, Array]]) -> Any:
    """d/de of the cost for variations of a path that obey the constraint and hold both ends.

    r varies by sines; s follows from the linearised constraint, and must return to zero.
    """
    model, sinusoids = image_system(kind), np.pi * np.arange(1, 4) / SPAN
    count = 2 * len(sinusoids)

    def field(time: float, y: Array) -> Array:
        x, rate = path(kind, time)
        bumps, bump_rates = (
            np.kron(np.eye(2), np.sin(sinusoids * time)),
            np.kron(np.eye(2), sinusoids * np.cos(sinusoids * time)),
        )
        moved = np.vstack([bumps, y[: 2 * count].reshape(2, count)])
        turned, gains = np.zeros((2, count)), np.zeros(count)
        for k in range(count):
            there: Any = x + 1j * STEP * moved[:, k]
            rows = model.rows(there)
            turned[:, k] = -np.imag(rows @ rate) / STEP - np.real(rows[:, :2]) @ bump_rates[:, k]
            change = rate + 1j * STEP * np.concatenate([bump_rates[:, k], turned[:, k]])
            gains[k] = np.imag(model.lagrangian(there, model.sigma(there) @ change)) / STEP
        return np.concatenate([turned.ravel(), gains])

    zero = np.zeros(3 * count)
    end = solve_ivp(field, (0.0, SPAN), zero, "DOP853", rtol=1e-7, atol=1e-9).y[:, -1]
    returning = null_space(end[: 2 * count].reshape(2, count))
    return end[2 * count :] @ returning


@listed("M-sec2-problem")
def optimal_control_problem() -> Residual:
    other = np.max(np.abs(_first_variations("curved", _dalembert_path)))
    return [_first_variations(kind, _extremal_path) for kind in REGULAR], excess(1e-4 - other)


# -- extremals -------------------------------------------------------------------------------------


listed("M-3", over=regular)(
    lambda s: distance(extremal_rates(s)[0], s.model.frame(s.x) @ optimal_speeds(s))
)


@listed("M-4")
def costates_of_extremals() -> Residual:
    general = [
        distance(_general().rates(0.0, s)[2:4], derivative(_general_action, s)[:2])
        for s in _general_states()
    ]
    return [_costates(s) for s in regular], general


def _costates(s: ImageSample) -> Residual:
    model, u = s.model, optimal_speeds(s)
    v = model.fibre_frame(s.x) @ u
    by_place = derivative(lambda y: model.lagrangian(y, v), s.x)
    by_fibre = model.momenta(s.x, v) @ derivative(lambda y: model.fibre_frame(y) @ u, s.x)
    by_frame = s.xi @ derivative(lambda y: model.frame(y) @ u, s.x)
    found, steps = extremal_rates(s)[1], model.extremal_rates(s.x, s.xi)[SIZE:]
    return distance(found, by_place + by_fibre - by_frame), distance(found, steps)


@listed("M-5")
def maximum_conditions() -> Residual:
    general = []
    for s in _general_states():  # the condition stays along the library's extremal
        rate = _general().rates(0.0, s)

        def moved(w: Array, s: Array = s, rate: Array = rate) -> Any:
            return _gradient(s + w[0] * rate)

        general.append(derivative(moved, [0.0]))
    return [_condition(s) for s in regular], general


def _gradient(s: Array) -> Any:
    """L_v F_a - xi E_a of the general bundle."""
    U, W, X, Y = s[4], s[5], s[0], s[1]
    last = X * U - Y * W
    first = U * (1 + Y**2) ** 2 + last * X - s[2]
    return np.array([first, 2 * W - last * Y - s[2] * X - s[3] * np.cos(X)])


def _condition(s: ImageSample) -> Residual:
    p = s.model.momenta(s.x, s.model.sigma(s.x) @ extremal_rates(s)[0])
    return distance(p @ s.model.fibre_frame(s.x), s.xi @ s.model.frame(s.x))


@listed("M-6")
def extremal_fibre_velocity() -> Residual:
    def residual(s: ImageSample) -> float:
        energy = probe(s.model.kind, "pontryagin").blocks(0.0, extremal_state(s)).energy
        v = s.model.fibre_frame(s.x) @ optimal_speeds(s)
        return distance(energy, s.model.energy(s.x, v))

    spread = [float(np.ptp(extremal_motion(kind).energy)) for kind in REGULAR]
    return samples.of(*REGULAR).worst(residual), spread


@listed("M-sec2-vakonomic")
def extremals_are_vakonomic() -> Residuals:
    for kind in REGULAR:
        model, s, system = image_system(kind), samples(kind)[0], kernel_system(kind)
        rate = model.frame(s.x) @ optimal_speeds(s)
        rest = s.xi - model.plain_momenta(s.x, rate)
        chi = np.linalg.lstsq(model.rows(s.x).T, rest, rcond=None)[0]
        symbols = (*system.coordinates, *system.velocities)
        start = {symbol.name: value for symbol, value in zip(symbols, (*s.x, *rate), strict=True)}
        start |= {"chi_f1": float(chi[0]), "chi_f2": float(chi[1])}
        vakonomic = simulate(system, start, (0.0, SPAN), form="vakonomic", rtol=1e-11)
        x, rates, chi = np.split(vakonomic.y[:, -1], [SIZE, 2 * SIZE])
        extremal, other = extremal_motion(kind).y[:, -1], dalembert_motion(kind).y[:SIZE, -1]
        yield distance(extremal[:SIZE], x)
        yield distance(extremal[SIZE:], model.plain_momenta(x, rates) + chi @ model.rows(x))
        gap = distance(extremal[:SIZE], other)
        yield gap if kind == "flat" else excess(APART - gap)
