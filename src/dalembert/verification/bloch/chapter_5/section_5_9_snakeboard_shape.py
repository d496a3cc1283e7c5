"""Bloch and others, Internet Supplement, section 5.9: the snakeboard's reduced equations on both
sides (5.9.72-5.9.81).

With them the free and driven motions, against numbers that were computed in extended precision.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import cos, sin, tan

from .... import gallery
from ....formulations.reduction.bundle_equations import reduce
from ....integrate.simulate import simulate
from ....typing import Array, Numbers
from ...independent.planar_bundles import planar
from ...numeric import Residual, Residuals, derivative, distance, worst
from ...row_registry import Corrected, listed
from .section_5_9_snakeboard_reduced import body_velocity
from .section_5_9_states import (
    DP,
    DP_PHI,
    DP_PSI,
    DPHI,
    DPSI,
    DTHETA,
    Snakeboard,
    boards,
    lagrangian_off,
    library_blocks,
)


@listed("B-5.9.72-contraction", over=boards)
def contraction(b: Snakeboard) -> Corrected:
    ahead, turn = np.array([cos(b.theta), sin(b.theta)]) @ b.rates[:2], b.rates[2]
    psi, phi, p_psi, p_phi, p = b.rates[3:]
    mr, mr2 = b.m * b.r, b.inertia

    def printed(last: float) -> Array:
        """i_X Omega_M with `last` beside the last term along the board."""
        return np.asarray(
            ahead * (b.first + b.first_turn * DPHI)
            + turn * (b.third + b.third_turn * DPHI)
            + psi * DP_PSI + phi * DP_PHI - p_psi * DPSI - p_phi * DPHI
            - turn * b.ahead * b.across
            - b.first_turn * phi * b.along
            - b.third_turn * phi * DTHETA
            - mr * sin(2 * b.phi) / (2 * b.D) * p_psi * b.along
            - mr2 * cos(b.phi) ** 2 / b.D * p_psi * DTHETA
            + mr / (2 * b.D) * last * b.along
            - (mr2 - b.J0) * tan(b.phi) / (2 * b.D) * p * DTHETA
        )  # fmt: skip

    found = b.form.T @ b.rates
    return Corrected(distance(printed(p), found), distance(printed(1.0), found))


def hamiltonian(
    b: Snakeboard, c: Array, first: Callable[[float], float] = lambda phi: sin(2 * phi)
) -> Numbers:
    """h in (psi, phi, p_psi, p_phi, p), with a factor of p_psi in the first bracket."""
    phi, p_psi, p_phi, p = c[1:]
    D = b.inertia - b.J0 * sin(phi) ** 2
    ahead = p / (2 * D) - first(phi) / (2 * D) * p_psi
    about = tan(phi) / (2 * D) * p - sin(phi) ** 2 / D * p_psi
    rest = p_psi**2 / (2 * b.J0) + p_phi**2 / (4 * b.J1)
    return np.asarray(b.inertia / 2 * ahead**2 + (b.inertia - b.J0) / 2 * about**2 + rest)


def _energy(b: Snakeboard) -> float:
    return library_blocks(b.s, "reduced").energy


@listed("B-5.9.72-hamiltonian", over=boards)
def reduced_hamiltonian(b: Snakeboard) -> Corrected:
    printed = hamiltonian(b, b.chart[3:], lambda phi: sin(phi) ** 2)
    return Corrected(*(distance(h, _energy(b)) for h in (hamiltonian(b, b.chart[3:]), printed)))


def _differential(b: Snakeboard) -> Array:
    """The printed dh (8,)."""
    s2, s, t = sin(2 * b.phi), sin(b.phi) ** 2, tan(b.phi)

    def over(function: Callable[[Array], Numbers]) -> Array:
        """d of a function of phi over D."""
        quotient = derivative(
            lambda x: function(x[0]) / (b.inertia - b.J0 * sin(x[0]) ** 2), [b.phi]
        )
        return np.asarray(quotient[0] * DPHI)

    first = b.inertia * (b.p - s2 * b.p_psi) / (2 * b.D)
    second = (b.inertia - b.J0) * (t * b.p - 2 * s * b.p_psi) / (2 * b.D)
    return np.asarray(
        first * (DP / (2 * b.D) - s2 / (2 * b.D) * DP_PSI)
        + first * (b.p * over(lambda x: 0.5) - b.p_psi * over(lambda x: sin(2 * x) / 2))
        + second * (t / (2 * b.D) * DP - s / b.D * DP_PSI)
        + second * (b.p * over(lambda x: tan(x) / 2) - b.p_psi * over(lambda x: sin(x) ** 2))
        + b.p_psi / b.J0 * DP_PSI
        + b.p_phi / (2 * b.J1) * DP_PHI
    )


@listed("B-5.9.72-differential", over=boards)
def reduced_differential(b: Snakeboard) -> Residual:
    found = _differential(b)
    by_steps = derivative(lambda c: hamiltonian(b, c), b.chart[3:])
    expected = np.concatenate([np.zeros(3), by_steps])
    return distance(found, expected), distance(found @ b.allowed, b.differential(b.allowed))


@listed("B-5.9.72-pushed", over=boards)
def pushed_down(b: Snakeboard) -> Residual:
    psi, phi, p_psi, p_phi, _ = b.rates[3:]
    ahead, turn = body_velocity(b, psi)
    found = (
        ahead * (b.first + b.first_turn * DPHI)
        + turn * (b.third + b.third_turn * DPHI)
        + psi * DP_PSI + phi * DP_PHI - p_psi * DPSI - p_phi * DPHI
    )  # fmt: skip
    return distance(found[3:], b.differential(b.allowed[:, 1:]))


# -- the reduced Hamilton equations ----------------------------------------------------------------


@listed("B-5.9.73", over=boards)
def rotor_rate(b: Snakeboard) -> Residual:
    found = -tan(b.phi) / (2 * b.D) * b.p + b.inertia / (b.J0 * b.D) * b.p_psi
    return distance(b.rates[3], found)


@listed("B-5.9.74", over=boards)
def steering_rate(b: Snakeboard) -> Residual:
    return distance(b.rates[4], b.p_phi / (2 * b.J1))


@listed("B-5.9.75", over=boards, given={"place": 5})
@listed("B-5.9.76", over=boards, given={"place": 6})
def kept_momentum(b: Snakeboard, place: int) -> Residual:
    return worst(b.rates[place])


# -- the Lagrangian side ---------------------------------------------------------------------------


@listed("B-5.9.77", over=boards)
def shape_equations(b: Snakeboard) -> Residual:
    def momenta(r: Array, v: Array, p: Array) -> Array:
        first = b.J0 * v[0] * (1 - b.J0 / b.inertia * sin(r[1]) ** 2)
        return np.array([first, 2 * b.J1 * v[1]])

    by_shape = derivative(lambda r: constrained_lagrangian(b, r, b.s.v, b.s.p), b.s.r)
    left = b.s.along(momenta) - by_shape
    return distance(left, b.s.library.compact_shape_force(b.s.v, b.s.p))


@listed("B-5.9.78", over=boards)
def reduced_lagrangian(b: Snakeboard) -> Residual:
    w = np.concatenate([b.s.v, b.s.xi + np.array([0.2, -0.3, 0.4])])
    psi, phi, one, two, three = w
    found = b.m * (one**2 + two**2) / 2 + b.inertia * three**2 / 2
    found += b.J0 * psi**2 / 2 + b.J0 * psi * three + b.J1 * phi**2
    return distance(lagrangian_off(b.s, b.s.planar.velocities(b.s.q, w)), found)


def constrained_lagrangian(b: Snakeboard, r: Array, v: Array, p: Array) -> Numbers:
    """The printed l_c(r, r_dot, p)."""
    first = -(b.J0**2) / (2 * b.inertia) * sin(r[1]) ** 2 * v[0] ** 2
    second = p[0] ** 2 / (8 * b.inertia * cos(r[1]) ** 2)
    return np.asarray(first + second + b.J0 * v[0] ** 2 / 2 + b.J1 * v[1] ** 2)


@listed("B-5.9.79", over=boards)
def lagrangian_on_constraints(b: Snakeboard) -> Residual:
    return distance(constrained_lagrangian(b, b.s.r, b.s.v, b.s.p), _energy(b))


@listed("B-5.9.79-momenta", over=boards)
def body_momenta(b: Snakeboard) -> Residual:
    found = np.linalg.solve(b.s.library.frame.T, b.s.library.body_momenta(b.s.v, b.s.p))
    ahead = (b.J0 * sin(2 * b.phi) * b.psi_dot - b.p) / (2 * b.r)
    about = -b.J0 * sin(b.phi) ** 2 * b.psi_dot + tan(b.phi) / 2 * b.p + b.J0 * b.psi_dot
    return distance(found, [ahead, 0.0, about])


def _curvature(b: Snakeboard) -> Array:
    return np.asarray(np.einsum("ab,bxy->axy", b.s.library.frame, b.s.library.curvature)[:, 0, 1])


@listed("B-5.9.79-curvature-1", over=boards)
def first_curvature(b: Snakeboard) -> Residual:
    return distance(_curvature(b)[0], -b.J0 / (b.m * b.r) * cos(2 * b.phi))


@listed("B-5.9.79-curvature-3", over=boards)
def third_curvature(b: Snakeboard) -> Corrected:
    sizes = (b.inertia, b.m * b.r)
    return Corrected(*(distance(_curvature(b)[2], b.J0 / x * sin(2 * b.phi)) for x in sizes))


@listed("B-5.9.79-lift", over=boards)
def derivative_of_the_lift(b: Snakeboard) -> Residual:
    F = np.einsum("ab,bx->ax", b.s.library.frame, b.s.library.lift_derivative[:, 0])
    return distance(F[2, 1], 1 / (2 * b.inertia * cos(b.phi) ** 2)), F[0, 0], F[2, 0], F[0, 1]


@listed("B-5.9.80", over=boards)
def rotor_equation(b: Snakeboard) -> Corrected:
    left = (1 - b.J0 / b.inertia * sin(b.phi) ** 2) * b.s.rates[0][0]
    first = b.J0 / (2 * b.inertia) * sin(2 * b.phi) * b.psi_dot * b.phi_dot
    last = b.phi_dot * b.p / (2 * b.inertia)
    return Corrected(distance(left, first - last), distance(left, first - b.J0 * last))


@listed("B-5.9.81", over=boards)
def steering_equation(b: Snakeboard) -> Residual:
    return worst(b.J1 * b.s.rates[0][1])


# -- motions ---------------------------------------------------------------------------------------

#: Times, start of the reduced state (psi, phi, psi_dot, phi_dot, p), p at the times, and p_psi and
#: p_phi, in 80-bit arithmetic: coasting, and with wheels that pass through the straight position.
FREE = (
    (
        (1.0, 2.0, 4.0),
        (0.0, 0.5, 0.7, 0.2, 1.245550055368853),
        (1.1261238161651554, 0.938384620330149, 0.413682272772657),
        (0.25, 0.04),
    ),
    (
        (1.0, 2.0, 3.0),
        (0.0, -0.4, -0.5, 0.3, -1.092941698657115),
        (-1.2391217377388881, -1.2525223776835621, -1.1255887849951005),
        (-0.0625, 0.06),
    ),
)


@listed("B-5.9.76-motion")
def free_motions() -> Residuals:
    board, values = planar("snakeboard"), {"m": 1.0, "r": 1.0, "J0": 0.25, "J1": 0.1}
    equations = reduce(board.system, board.group, section=board.written_section)
    for times, numbers, p, kept in FREE:
        start = dict(zip((symbol.name for symbol in equations.state), numbers, strict=True))
        span = (0.0, times[-1])
        motion = simulate(equations, start, span, at=times, rtol=1e-13, parameters=values)
        rotor = values["J0"] * (motion["psi_dot"] + motion["turn"])
        reached = np.stack([motion["p_1"], rotor, 2 * values["J1"] * motion["phi_dot"]], axis=1)
        yield distance(reached, [[value, *kept] for value in p])


#: p at these times of the driven board, in 80-bit arithmetic.
DRIVEN = {
    2.0: 0.005183558539914014,
    6.283185307179586: 0.020874887200953755,
    12.566370614359172: 0.041749774401907525,
}


@listed("B-5.9.71-gait")
def gait() -> Residual:
    from scipy.integrate import solve_ivp

    scenario = gallery.load("snakeboard-gait")
    times, expected = list(DRIVEN), list(DRIVEN.values())
    motion = simulate(scenario, span=(0.0, 13.0), at=times, rtol=1e-12)
    J0 = scenario.parameters["J0"]

    def rate(t: float, p: Array) -> Array:
        phi, phi_dot, psi_dot = 0.3 * sin(t), 0.3 * cos(t), 0.7 * cos(t)
        return np.asarray(2 * J0 * cos(phi) ** 2 * phi_dot * psi_dot - tan(phi) * phi_dot * p)

    options = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-14, "t_eval": times}
    reference = solve_ivp(rate, (0.0, 13.0), [0.0], **options)
    return distance(motion["p"], expected), distance(reference.y[0], expected)
