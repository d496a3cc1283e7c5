"""Bloch and others, Internet Supplement, section 5.9: the snakeboard's reduced equations on both sides (5.9.72-5.9.81).

With them the free and driven motions, against numbers that were computed in extended precision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import gallery
from ...formulations.reduction.bundle_equations import reduce
from ...integrate.simulate import simulate
from ..independent.planar_bundles import planar, planar_probe
from ..independent.planar_charts import library_differential, library_two_form
from ..numeric import derivative, distance, largest, worst
from ..row_registry import Corrected, claim
from .section_5_9_snakeboard_reduced import DP, DP_PHI, DP_PSI, DPHI, DPSI, DTHETA, STATES, Reduced, corrected, over_states


def _contracted(b: Reduced, last: float) -> Any:
    """The printed i_X Omega_M (8,), with `last` beside the last term along the board."""
    ahead, turn = np.array([np.cos(b.theta), np.sin(b.theta)]) @ b.rates[:2], b.rates[2]
    psi, phi, p_psi, p_phi, p = b.rates[3:]
    mr, mr2 = b.m * b.r, b.inertia
    return (
        ahead * (b.first + b.first_turn * DPHI)
        + turn * (b.third + b.third_turn * DPHI)
        + psi * DP_PSI + phi * DP_PHI - p_psi * DPSI - p_phi * DPHI
        - turn * b.ahead * b.across
        - b.first_turn * phi * b.along
        - b.third_turn * phi * DTHETA
        - mr * np.sin(2 * b.phi) / (2 * b.D) * p_psi * b.along
        - mr2 * np.cos(b.phi) ** 2 / b.D * p_psi * DTHETA
        + mr / (2 * b.D) * last * b.along
        - (mr2 - b.J0) * np.tan(b.phi) / (2 * b.D) * p * DTHETA
    )  # fmt: skip


@claim(
    "B-5.9.72-contraction",
    "i_X Omega_M in the chart with p; its last term along cos(theta) dx + sin(theta) dy is m r p_dot/(2D), and the print lacks"
    " p_dot there",
    how=f"{STATES}: the printed terms with the library's rates against the library's Omega_M",
)
def contraction() -> Corrected:
    def pair(b: Reduced) -> tuple[float, float]:
        found = library_two_form(b.s, b.velocities, b.c).T @ b.rates
        return distance(_contracted(b, b.rates[7]), found), distance(_contracted(b, 1.0), found)

    return corrected(pair)


def hamiltonian(b: Reduced, c: Any, first: Any = None) -> Any:
    """h in (psi, phi, p_psi, p_phi, p), with another factor of p_psi in the first bracket where it is given."""
    phi, p_psi, p_phi, p = c[1:]
    D = b.inertia - b.J0 * np.sin(phi) ** 2
    factor = np.sin(2 * phi) if first is None else first(phi)
    ahead = p / (2 * D) - factor / (2 * D) * p_psi
    about = np.tan(phi) / (2 * D) * p - np.sin(phi) ** 2 / D * p_psi
    rest = p_psi**2 / (2 * b.J0) + p_phi**2 / (4 * b.J1)
    return b.inertia / 2 * ahead**2 + (b.inertia - b.J0) / 2 * about**2 + rest


def _energy(b: Reduced) -> float:
    state = np.concatenate([b.s.r, b.s.v, b.s.p])
    return planar_probe("snakeboard", "reduced").blocks(0.0, state).energy


@claim(
    "B-5.9.72-hamiltonian",
    "h = m r^2/2 ((p - sin(2 phi) p_psi)/(2D))^2 + p_psi^2/(2 J0) + (m r^2 - J0)/2 (...)^2 + p_phi^2/(4 J1); the print has"
    " sin(phi)^2 in the first bracket",
    how=f"{STATES}: both against the energy of the library's reduced equations",
)
def reduced_hamiltonian() -> Corrected:
    def pair(b: Reduced) -> tuple[float, float]:
        printed = hamiltonian(b, b.c[3:], lambda phi: np.sin(phi) ** 2)
        return distance(hamiltonian(b, b.c[3:]), _energy(b)), distance(printed, _energy(b))

    return corrected(pair)


def _differential(b: Reduced) -> Any:
    """The printed dh (8,)."""
    s2, s, t = np.sin(2 * b.phi), np.sin(b.phi) ** 2, np.tan(b.phi)

    def over(function: Any) -> Any:
        value = derivative(lambda phi: function(phi[0]) / (b.inertia - b.J0 * np.sin(phi[0]) ** 2), [b.phi])[0]
        return value * DPHI

    first = b.inertia * (b.p - s2 * b.p_psi) / (2 * b.D)
    second = (b.inertia - b.J0) * (t * b.p - 2 * s * b.p_psi) / (2 * b.D)
    return (
        first * (DP / (2 * b.D) - s2 / (2 * b.D) * DP_PSI)
        + first * (b.p * over(lambda x: 0.5) - b.p_psi * over(lambda x: np.sin(2 * x) / 2))
        + second * (t / (2 * b.D) * DP - s / b.D * DP_PSI)
        + second * (b.p * over(lambda x: np.tan(x) / 2) - b.p_psi * over(lambda x: np.sin(x) ** 2))
        + b.p_psi / b.J0 * DP_PSI
        + b.p_phi / (2 * b.J1) * DP_PHI
    )


@claim(
    "B-5.9.72-differential",
    "dh, in six groups",
    how=f"{STATES}: the printed form on H against the library's dH_H, and against complex steps of h",
)
def reduced_differential() -> float:
    def residual(b: Reduced) -> float:
        by_steps = np.concatenate([np.zeros(3), derivative(lambda c: hamiltonian(b, c), b.c[3:])])
        there = library_differential(b.s, b.velocities, b.c, b.allowed)
        return largest(distance(_differential(b), by_steps), distance(_differential(b) @ b.allowed, there))

    return over_states(residual)


@claim(
    "B-5.9.72-pushed",
    "Pushed down, i_X Omega_M is (x_dot cos + y_dot sin) and theta_dot times the differentials of the momenta along and about"
    " the board, plus the terms of shape; it equals dh",
    how=f"{STATES}: the printed terms with the library's rates against its dh on d/dpsi, d/dphi, d/dp_psi, d/dp_phi and d/dp",
)
def pushed_down() -> float:
    def residual(b: Reduced) -> float:
        psi, phi, p_psi, p_phi, _ = b.rates[3:]
        ahead = b.J0 / (2 * b.m * b.r) * np.sin(2 * b.phi) * psi - b.p / (2 * b.m * b.r)
        turn = -b.J0 / b.inertia * np.sin(b.phi) ** 2 * psi + np.tan(b.phi) / (2 * b.inertia) * b.p
        found = (
            ahead * (b.first + b.first_turn * DPHI)
            + turn * (b.third + b.third_turn * DPHI)
            + psi * DP_PSI + phi * DP_PHI - p_psi * DPSI - p_phi * DPHI
        )  # fmt: skip
        there = library_differential(b.s, b.velocities, b.c, b.allowed[:, 1:])
        return distance(found[3:], there)

    return over_states(residual)


# -- the reduced Hamilton equations ------------------------------------------------------------------------------------------


@claim(
    "B-5.9.73",
    "psi_dot = -tan(phi) p/(2D) + m r^2 p_psi/(J0 D)",
    how=f"{STATES}: velocities of the library's form on M",
)
def rotor_rate() -> float:
    return over_states(lambda b: distance(b.rates[3], -np.tan(b.phi) / (2 * b.D) * b.p + b.inertia / (b.J0 * b.D) * b.p_psi))


@claim("B-5.9.74", "phi_dot = p_phi/(2 J1)", how=f"{STATES}: velocities of the library's form on M")
def steering_rate() -> float:
    return over_states(lambda b: distance(b.rates[4], b.p_phi / (2 * b.J1)))


@claim("B-5.9.75", "p_psi_dot = 0", how=f"{STATES}: momenta along the motion of the library's form on M")
def rotor_momentum() -> float:
    return over_states(lambda b: b.rates[5])


@claim("B-5.9.76", "p_phi_dot = 0", how=f"{STATES}: momenta along the motion of the library's form on M")
def steering_momentum() -> float:
    return over_states(lambda b: b.rates[6])


# -- the Lagrangian side -----------------------------------------------------------------------------------------------------


@claim(
    "B-5.9.77",
    "d/dt dl_c/dr_dot - dl_c/dr = -dl/dxi^b (B^b r_dot + F^b p) for the snakeboard",
    how=f"{STATES}: the library's B, F and lambda against complex steps of the printed l_c along its motion",
)
def shape_equations() -> float:
    def residual(b: Reduced) -> float:
        def momenta(r: Any, v: Any, p: Any) -> Any:
            first = b.J0 * v[0] * (1 - b.J0 / b.inertia * np.sin(r[1]) ** 2)
            return np.array([first, 2 * b.J1 * v[1]])

        by_shape = derivative(lambda r: constrained_lagrangian(b, r, b.s.v, b.s.p), b.s.r)
        return distance(b.s.along(momenta) - by_shape, b.s.library.compact_shape_force(b.s.v, b.s.p))

    return over_states(residual)


@claim(
    "B-5.9.78",
    "l = m (xi_1^2 + xi_2^2)/2 + m r^2 xi_3^2/2 + J0 psi_dot^2/2 + J0 psi_dot xi_3 + J1 phi_dot^2",
    how=f"{STATES}, off the constraints: p . v less the energy of the library's Lagrange equations at the velocities g xi",
)
def reduced_lagrangian() -> float:
    def residual(b: Reduced) -> float:
        w = np.concatenate([b.s.v, b.s.xi + np.array([0.2, -0.3, 0.4])])
        u = b.s.planar.velocities(b.s.q, w)
        blocks = planar_probe("snakeboard", "lagrange").blocks(0.0, np.concatenate([b.s.q, u]))
        psi, phi, one, two, three = w
        found = b.m * (one**2 + two**2) / 2 + b.inertia * three**2 / 2
        found += b.J0 * psi**2 / 2 + b.J0 * psi * three + b.J1 * phi**2
        return distance(blocks.momenta @ u - blocks.energy, found)

    return over_states(residual)


def constrained_lagrangian(b: Reduced, r: Any, v: Any, p: Any) -> Any:
    """The printed l_c(r, r_dot, p)."""
    first = -(b.J0**2) / (2 * b.inertia) * np.sin(r[1]) ** 2 * v[0] ** 2
    return first + p[0] ** 2 / (8 * b.inertia * np.cos(r[1]) ** 2) + b.J0 * v[0] ** 2 / 2 + b.J1 * v[1] ** 2


@claim(
    "B-5.9.79",
    "l_c = -J0^2 sin(phi)^2 psi_dot^2/(2 m r^2) + sec(phi)^2 p^2/(8 m r^2) + J0 psi_dot^2/2 + J1 phi_dot^2",
    how=f"{STATES}: against l of the library's body velocity, without potential its energy",
)
def lagrangian_on_constraints() -> float:
    return over_states(lambda b: distance(constrained_lagrangian(b, b.s.r, b.s.v, b.s.p), _energy(b)))


@claim(
    "B-5.9.79-momenta",
    "dl/dxi_1 = m (J0 sin(2 phi) psi_dot - p)/(2 m r), dl/dxi_2 = 0, dl/dxi_3 = m r^2 (-J0 sin(phi)^2 psi_dot/(m r^2) +"
    " tan(phi) p/(2 m r^2)) + J0 psi_dot",
    how=f"{STATES}: dl/dxi by the library's lambda and frame",
)
def body_momenta() -> float:
    def residual(b: Reduced) -> float:
        found = np.linalg.solve(b.s.library.frame.T, b.s.library.body_momenta(b.s.v, b.s.p))
        ahead = (b.J0 * np.sin(2 * b.phi) * b.psi_dot - b.p) / (2 * b.r)
        about = -b.J0 * np.sin(b.phi) ** 2 * b.psi_dot + np.tan(b.phi) / 2 * b.p + b.J0 * b.psi_dot
        return distance(found, [ahead, 0.0, about])

    return over_states(residual)


def _curvature(b: Reduced) -> Any:
    return np.einsum("ab,bxy->axy", b.s.library.frame, b.s.library.curvature)[:, 0, 1]


@claim(
    "B-5.9.79-curvature-1",
    "B^1_12 = -J0 cos(2 phi)/(m r)",
    how=f"{STATES}: the library's curvature",
)
def first_curvature() -> float:
    return over_states(lambda b: distance(_curvature(b)[0], -b.J0 / (b.m * b.r) * np.cos(2 * b.phi)))


@claim(
    "B-5.9.79-curvature-3",
    "B^3_12 = J0 sin(2 phi)/(m r^2); the print has m r",
    how=f"{STATES}: the library's curvature",
)
def third_curvature() -> Corrected:
    return corrected(
        lambda b: (
            distance(_curvature(b)[2], b.J0 / b.inertia * np.sin(2 * b.phi)),
            distance(_curvature(b)[2], b.J0 / (b.m * b.r) * np.sin(2 * b.phi)),
        )
    )


@claim(
    "B-5.9.79-lift",
    "F^3_2 = sec(phi)^2/(2 m r^2), and F^1_1 = F^3_1 = F^1_2 = 0",
    how=f"{STATES}: the library's F",
)
def derivative_of_the_lift() -> float:
    def residual(b: Reduced) -> float:
        F = np.einsum("ab,bx->ax", b.s.library.frame, b.s.library.lift_derivative[:, 0])
        return largest(distance(F[2, 1], 1 / (2 * b.inertia * np.cos(b.phi) ** 2)), F[0, 0], F[2, 0], F[0, 1])

    return over_states(residual)


@claim(
    "B-5.9.80",
    "(1 - J0 sin(phi)^2/(m r^2)) psi_ddot = J0 sin(2 phi) psi_dot phi_dot/(2 m r^2) - phi_dot p/(2 m r^2); the print has J0 in"
    " the last term too",
    how=f"{STATES}: shape accelerations of the library's reduced equations",
)
def rotor_equation() -> Corrected:
    def pair(b: Reduced) -> tuple[float, float]:
        left = (1 - b.J0 / b.inertia * np.sin(b.phi) ** 2) * b.s.rates[0][0]
        first = b.J0 / (2 * b.inertia) * np.sin(2 * b.phi) * b.psi_dot * b.phi_dot
        last = b.phi_dot * b.p / (2 * b.inertia)
        return distance(left, first - last), distance(left, first - b.J0 * last)

    return corrected(pair)


@claim("B-5.9.81", "J1 phi_ddot = 0", how=f"{STATES}: shape accelerations of the library's reduced equations")
def steering_equation() -> float:
    return over_states(lambda b: b.J1 * b.s.rates[0][1])


# -- motions -----------------------------------------------------------------------------------------------------------------

#: Times, start of the reduced state (psi, phi, psi_dot, phi_dot, p), and (p, p_psi, p_phi) at the times, in 80-bit arithmetic.
FREE = {
    "coasting": (
        (1.0, 2.0, 4.0), (0.0, 0.5, 0.7, 0.2, 1.245550055368853),
        ((1.1261238161651554, 0.25, 0.04), (0.938384620330149, 0.25, 0.04), (0.413682272772657, 0.25, 0.04)),
    ),
    "wheels through straight": (
        (1.0, 2.0, 3.0), (0.0, -0.4, -0.5, 0.3, -1.092941698657115),
        ((-1.2391217377388881, -0.0625, 0.06), (-1.2525223776835621, -0.0625, 0.06), (-1.1255887849951005, -0.0625, 0.06)),
    ),
}  # fmt: skip


@claim(
    "B-5.9.76-motion",
    "Free motions: p changes, p_psi and p_phi do not; also where the wheels pass through the straight position",
    how="library runs of the reduced equations against p, p_psi, p_phi from extrapolation in extended precision",
)
def free_motions() -> float:
    found = []
    board, values = planar("snakeboard"), {"m": 1.0, "r": 1.0, "J0": 0.25, "J1": 0.1}
    equations = reduce(board.system, board.group, section=board.written_section)
    names = [symbol.name for symbol in equations.state]
    for times, start, expected in FREE.values():
        motion = simulate(
            equations, dict(zip(names, start, strict=True)), (0.0, times[-1]), at=times, rtol=1e-13, parameters=values
        )
        rotor = values["J0"] * (motion["psi_dot"] + motion["turn"])
        reached = np.stack([motion["p_1"], rotor, 2 * values["J1"] * motion["phi_dot"]], axis=1)
        found.append(distance(reached, expected))
    return worst(found)


#: p at these times of the driven board, in 80-bit arithmetic.
DRIVEN = {2.0: 0.005183558539914014, 6.283185307179586: 0.020874887200953755, 12.566370614359172: 0.041749774401907525}


@claim(
    "B-5.9.71-gait",
    "p_dot holds for any forcing of the shape: a gait of rotor and wheels makes momentum",
    how="library run of the gallery's driven snakeboard, whose shape is prescribed, against p from extrapolation in extended"
    " precision; SciPy on p_dot = 2 J0 cos(phi)^2 phi_dot psi_dot - tan(phi) phi_dot p",
    tolerance=1e-10,
)
def gait() -> float:
    from scipy.integrate import solve_ivp

    scenario = gallery.load("snakeboard-gait")
    motion = simulate(scenario, span=(0.0, 13.0), at=list(DRIVEN), rtol=1e-12)
    J0 = scenario.parameters["J0"]

    def rate(t: float, p: Any) -> Any:
        phi, phi_dot, psi_dot = 0.3 * np.sin(t), 0.3 * np.cos(t), 0.7 * np.cos(t)
        return 2 * J0 * np.cos(phi) ** 2 * phi_dot * psi_dot - np.tan(phi) * phi_dot * p

    reference = solve_ivp(rate, (0.0, 13.0), [0.0], "DOP853", rtol=1e-12, atol=1e-14, t_eval=list(DRIVEN))
    expected = list(DRIVEN.values())
    return largest(distance(motion["p"], expected), distance(reference.y[0], expected))
