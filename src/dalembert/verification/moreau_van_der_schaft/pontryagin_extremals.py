"""Moreau and van der Schaft, Implicit Lagrangian equations: the optimal control problem and its extremals (1 to 18).

Random systems of `image_systems`: one whose image is not involutive, one whose image is, with structure functions, and one with
more speeds than directions. The library gives velocities, rates and motions of the forms "pontryagin", "implicit-lagrangian",
"implicit-hamiltonian" and "vakonomic"; the independent implementation differentiates by complex steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ..independent.image_systems import SIZE, Spot, image_system, kernel_system, over_spots, spots
from ..numeric import STEP, Probe, derivative, distance, excess, largest, null_space, worst
from ..row_registry import claim

RANDOM = "random systems with images that are involutive, are not, and have a speed too many"
INDEPENDENT = "random systems with an involutive image and with one that is not"
REGULAR = ("curved", "flat")
EVERY = ("curved", "flat", "crowded")
SPAN = 1.0
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


@cache
def probe(kind: str, form: str) -> Probe:
    """The library's equations of a random system."""
    return Probe(derive(image_system(kind).system, form), {})


def lagrangian_state(spot: Spot) -> Any:
    """(x, u), the state of "implicit-lagrangian"."""
    return np.concatenate([spot.x, spot.u])


def extremal_state(spot: Spot) -> Any:
    """(x, xi), the state of "pontryagin"."""
    return np.concatenate([spot.x, spot.xi])


def extremal_rates(spot: Spot) -> tuple[Any, Any, Any]:
    """x_dot, xi_dot and x_ddot of the library's extremals (n,) each."""
    context = probe(spot.twin.kind, "pontryagin")
    rates = context.rates(0.0, extremal_state(spot))
    return rates[:SIZE], rates[SIZE:], context.observe(0.0, extremal_state(spot))["accelerations"]


# -- the problem -------------------------------------------------------------------------------------------------------


@claim(
    "M-1",
    "x_dot = E_a(x) u_a: motions move along the fields only",
    how=f"{RANDOM}: library velocities against E u, and library motions in the rows that annihilate E",
)
def image_of_speeds() -> float:
    def residual(s: Spot) -> float:
        found = probe(s.twin.kind, "implicit-lagrangian").blocks(0.0, lagrangian_state(s)).velocities
        return largest(distance(found, s.rate), worst(s.twin.rows(s.x) @ found))

    return over_spots(residual, *EVERY)


@claim(
    "M-2",
    "v = F_a(x) u_a is a point of a bundle whose fibre need not have the dimension of X; L is a function of (x, v)",
    how=f"{RANDOM}, fibres of dimension 3 over 4 coordinates: the library's energy at (x, u) against L_v . v - L at (x, F u)",
)
def fibre_velocity() -> float:
    def residual(s: Spot) -> float:
        blocks = probe(s.twin.kind, "implicit-lagrangian").blocks(0.0, lagrangian_state(s))
        return distance(blocks.energy, s.twin.energy(s.x, s.v))

    return over_spots(residual, *EVERY)


def _run(kind: str, form: str, state: Any) -> Motion:
    """A library motion of one form from a state, over `SPAN`."""
    names = [symbol.name for symbol in probe(kind, form).equations.state]
    return simulate(probe(kind, form).equations, dict(zip(names, state, strict=True)), (0.0, SPAN), rtol=1e-12)


@cache
def extremal_motion(kind: str) -> Motion:
    """A library extremal."""
    return _run(kind, "pontryagin", extremal_state(spots(kind)[0]))


@cache
def dalembert_motion(kind: str) -> Motion:
    """The library's motion by d'Alembert's principle from the position and velocity of that extremal."""
    s = spots(kind)[0]
    return _run(kind, "implicit-lagrangian", np.concatenate([s.x, s.twin.optimal_speeds(s.x, s.xi)]))


def _extremal_path(kind: str, time: float) -> tuple[Any, Any]:
    """x and x_dot of the extremal; the speeds by the independent implementation."""
    twin, state = image_system(kind), extremal_motion(kind).sol(time)
    x = state[:SIZE]
    return x, twin.frame(x) @ twin.optimal_speeds(x, state[SIZE:])


def _dalembert_path(kind: str, time: float) -> tuple[Any, Any]:
    state = dalembert_motion(kind).sol(time)
    return state[:SIZE], image_system(kind).frame(state[:SIZE]) @ state[SIZE:]


def _first_variations(kind: str, path: Callable[[str, float], tuple[Any, Any]]) -> Any:
    """d/de of the cost for variations of a path that obey the constraint and hold both ends.

    r varies by sines; s follows from the linearised constraint, and only combinations that bring it back to zero are kept.
    """
    from scipy.integrate import solve_ivp

    twin, sinusoids = image_system(kind), np.pi * np.arange(1, 4) / SPAN
    count = 2 * len(sinusoids)

    def field(time: float, y: Any) -> Any:
        x, rate = path(kind, time)
        bumps, bump_rates = (
            np.kron(np.eye(2), np.sin(sinusoids * time)),
            np.kron(np.eye(2), sinusoids * np.cos(sinusoids * time)),
        )
        moved = np.vstack([bumps, y[: 2 * count].reshape(2, count)])
        turned, gains = np.zeros((2, count)), np.zeros(count)
        for k in range(count):
            there = x + 1j * STEP * moved[:, k]
            rows = twin.rows(there)
            turned[:, k] = -np.imag(rows @ rate) / STEP - np.real(rows[:, :2]) @ bump_rates[:, k]
            change = rate + 1j * STEP * np.concatenate([bump_rates[:, k], turned[:, k]])
            gains[k] = np.imag(twin.lagrangian(there, twin.sigma(there) @ change)) / STEP
        return np.concatenate([turned.ravel(), gains])

    end = solve_ivp(field, (0.0, SPAN), np.zeros(3 * count), "DOP853", rtol=1e-7, atol=1e-9).y[:, -1]
    returning = null_space(end[: 2 * count].reshape(2, count))
    return end[2 * count :] @ returning


@claim(
    "M-sec2-problem",
    "Normal extremals make the integral of L stationary among all controls with the same ends; on an image that is not"
    " involutive the motion by d'Alembert's principle does not",
    how="library extremals of random systems: first variations that obey the linearised constraint, by complex steps; the same"
    " along the library's motion by d'Alembert's principle from the same start",
    tolerance=1e-7,
)
def optimal_control_problem() -> float:
    found = [worst(_first_variations(kind, _extremal_path)) for kind in REGULAR]
    return largest(*found, excess(1e-4 - worst(_first_variations("curved", _dalembert_path))))


# -- extremals ---------------------------------------------------------------------------------------------------------


@claim(
    "M-3",
    "Along an extremal x_dot = E_a u_a, with the u that the costate determines",
    how=f"{INDEPENDENT}: the library's rates of x against E u with u solved from eq. 5",
)
def extremal_positions() -> float:
    return over_spots(lambda s: distance(extremal_rates(s)[0], s.twin.frame(s.x) @ s.twin.optimal_speeds(s.x, s.xi)), *REGULAR)


@claim(
    "M-4",
    "xi_dot = L_x + L_v dF_a/dx u_a - xi dE_a/dx u_a",
    how=f"{INDEPENDENT}: the library's rates of xi against the formula and against the derivative of xi . E u - L(x, F u), "
    "complex"
    " steps",
)
def extremal_costates() -> float:
    def residual(s: Spot) -> float:
        twin, u = s.twin, s.twin.optimal_speeds(s.x, s.xi)
        v = twin.fibre_frame(s.x) @ u
        by_place = derivative(lambda y: twin.lagrangian(y, v), s.x)
        by_fibre = twin.momenta(s.x, v) @ derivative(lambda y: twin.fibre_frame(y) @ u, s.x)
        by_frame = s.xi @ derivative(lambda y: twin.frame(y) @ u, s.x)
        found = extremal_rates(s)[1]
        return largest(distance(found, by_place + by_fibre - by_frame), distance(found, twin.extremal_rates(s.x, s.xi)[SIZE:]))

    return over_spots(residual, *REGULAR)


@claim(
    "M-5",
    "L_v F_a = xi E_a: the control maximises xi . E u - L",
    how=f"{INDEPENDENT}: the condition at the library's velocity, with L_v in closed form",
)
def maximum_condition() -> float:
    def residual(s: Spot) -> float:
        v = s.twin.sigma(s.x) @ extremal_rates(s)[0]
        return distance(s.twin.momenta(s.x, v) @ s.twin.fibre_frame(s.x), s.xi @ s.twin.frame(s.x))

    return over_spots(residual, *REGULAR)


@claim(
    "M-6",
    "v = F_a u_a along an extremal; the maximal xi . E u - L is the energy L_v . v - L there, and stays",
    how=f"{INDEPENDENT}: the library's energy of the extremals against L_v . v - L at v = F u; it stays along library motions",
    tolerance=1e-9,
)
def extremal_fibre_velocity() -> float:
    def residual(s: Spot) -> float:
        v = s.twin.fibre_frame(s.x) @ s.twin.optimal_speeds(s.x, s.xi)
        return distance(probe(s.twin.kind, "pontryagin").blocks(0.0, extremal_state(s)).energy, s.twin.energy(s.x, v))

    return largest(over_spots(residual, *REGULAR), *(float(np.ptp(extremal_motion(kind).energy)) for kind in REGULAR))


@claim(
    "M-sec2-vakonomic",
    "The extremals are the vakonomic motions of L(x, sigma x_dot) under the same constraint as rows f, with xi = L_xdot + chi"
    " f_xdot; where the image is not involutive they are not the motions of d'Alembert's principle, where it is they are",
    how="random systems stated to the library by an image and by rows: motions of three forms from one start over one second",
    tolerance=1e-8,
)
def extremals_are_vakonomic() -> float:
    found = []
    for kind in REGULAR:
        twin, s = image_system(kind), spots(kind)[0]
        rate = twin.frame(s.x) @ twin.optimal_speeds(s.x, s.xi)
        chi = np.linalg.lstsq(twin.rows(s.x).T, s.xi - twin.plain_momenta(s.x, rate), rcond=None)[0]
        system = kernel_system(kind)
        symbols = (*system.coordinates, *system.velocities)
        start = {symbol.name: value for symbol, value in zip(symbols, (*s.x, *rate), strict=True)}
        start |= {"chi_f1": float(chi[0]), "chi_f2": float(chi[1])}
        vakonomic = simulate(system, start, (0.0, SPAN), form="vakonomic", rtol=1e-11)
        extremal, other = extremal_motion(kind), dalembert_motion(kind)
        found.append(distance(extremal.y[:SIZE, -1], vakonomic.y[:SIZE, -1]))
        rates = vakonomic.y[SIZE : 2 * SIZE, -1]
        by_rows = twin.plain_momenta(vakonomic.y[:SIZE, -1], rates) + vakonomic.y[2 * SIZE :, -1] @ twin.rows(
            vakonomic.y[:SIZE, -1]
        )
        found.append(distance(extremal.y[SIZE:, -1], by_rows))
        gap = distance(extremal.y[:SIZE, -1], other.y[:SIZE, -1])
        found.append(gap if kind == "flat" else excess(APART - gap))
    return worst(found)
