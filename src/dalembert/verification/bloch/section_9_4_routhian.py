"""Bloch and others, Internet Supplement, section 9.4: the unicycle with rider, its nonholonomic Routhian and steady states.

The print's functions are written in NumPy and differentiated by complex steps; motions are those of the library's Lagrange
equations with multipliers, with a torque u on the limb. Shape coordinates are (theta, kappa), momenta (p_1, p_2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import cos, sin

from ... import gallery
from ...formulations.reduction.bundle_equations import equations_on
from ...integrate.simulate import simulate
from ..independent.unicycle_with_rider import (
    TORQUE,
    Ride,
    bodies,
    bundle,
    constrained_lagrangian,
    library_lagrangian,
    over_rides,
    printed_inertia,
    printed_lagrangian,
    printed_metric,
    printed_routhian,
    reduced_probe,
    swing_factors,
    whole,
)
from ..numeric import derivative, distance, largest, worst
from ..row_registry import claim

STATES = "random states of the unicycle"

# -- the model -------------------------------------------------------------------------------------------------------------


@claim(
    "B-9.4-symmetry",
    "SO(2) x SE(2) leaves L and the constraints alone",
    how=f"{STATES}, moved by random group elements: the library's L and constraint residuals",
)
def symmetry() -> float:
    def residual(ride: Ride) -> float:
        alpha, beta, a, b = np.random.default_rng(5).uniform(-2, 2, 4)
        c, s = np.cos(beta), np.sin(beta)
        turn = np.array([[c, -s], [s, c]])
        q = np.concatenate([ride.q[:2], ride.q[2:4] + np.array([alpha, beta]), turn @ ride.q[4:] + np.array([a, b])])
        v = np.concatenate([ride.v[:4], turn @ ride.v[4:]])
        off = whole().blocks(0.0, np.concatenate([q, v])).constraint
        return largest(library_lagrangian(q, v) - library_lagrangian(ride.q, ride.v), *off)

    return over_rides(residual)


@claim(
    "B-9.4-lagrangian",
    "L = K_disk + m v_m^2/2 + mu v_mu^2/2 - U with the printed K_disk, v_m^2, v_mu^2 and U",
    how=f"{STATES}, off the constraints: against the library's L, which is made from positions of the masses",
)
def lagrangian() -> float:
    def residual(ride: Ride) -> float:
        v = ride.v + np.array([0.0, 0.0, 0.0, 0.0, 0.7, -0.4])
        return distance(printed_lagrangian(ride.q, v), library_lagrangian(ride.q, v))

    return over_rides(residual)


@claim(
    "B-9.4-constraints",
    "Rolling without slipping: x_dot = -psi_dot R cos(phi), y_dot = -psi_dot R sin(phi)",
    how=f"{STATES}: the library's constraint residuals at the printed velocities, and off them",
)
def constraints() -> float:
    def residual(ride: Ride) -> float:
        slip = np.array([0.3, -0.2])
        moved = ride.v + np.concatenate([np.zeros(4), slip])
        on, off = (whole().blocks(0.0, np.concatenate([ride.q, v])).constraint for v in (ride.v, moved))
        return largest(*on, *(off - slip))

    return over_rides(residual)


@claim(
    "B-9.4-equations",
    "d/dt L_c by theta_dot, kappa_dot, phi_dot, psi_dot = dL_c/dtheta, dL_c/dkappa + u, A cos(theta) theta_dot psi_dot"
    " + B cos(kappa - theta) (kappa_dot - theta_dot) psi_dot, and minus the same with phi_dot",
    how=f"{STATES}: L_c from the printed L, along the accelerations of the library's equations with multipliers",
)
def constrained_equations() -> float:
    def residual(ride: Ride) -> float:
        swing = float(swing_factors(ride.r) @ ride.v[:2])
        z = np.concatenate([ride.r, ride.v[:2], ride.turning])
        by = derivative(constrained_lagrangian, z)
        momenta = np.concatenate([printed_metric(ride.r) @ ride.v[:2], ride.p])
        on_shape = derivative(lambda y: printed_metric(y[:2]) @ y[2:], z[:4]) @ np.concatenate(
            [ride.v[:2], ride.accelerations[:2]]
        )
        rates = np.concatenate([on_shape, ride.p_rates])
        right = np.array([by[0], by[1] + TORQUE, swing * ride.turning[1], -swing * ride.turning[0]])
        return largest(distance(momenta, by[2:]), distance(rates, right))

    return over_rides(residual)


# -- the Routhian ------------------------------------------------------------------------------------------------------------


@claim(
    "B-9.4-momenta",
    "p_1 = dL_c/dphi_dot = I_11 phi_dot + I_12 psi_dot, p_2 = dL_c/dpsi_dot = I_21 phi_dot + I_22 psi_dot",
    how=f"{STATES}: the printed I_ab against complex steps of L_c, and against the library's nonholonomic momenta and inertia",
)
def momenta() -> float:
    def residual(ride: Ride) -> float:
        by = derivative(constrained_lagrangian, np.concatenate([ride.r, ride.v[:2], ride.turning]))
        p = whole().blocks(0.0, np.concatenate([ride.q, ride.v])).momenta
        R, phi = bodies()["R"], ride.q[3]
        library = np.array([p[3], p[2] - R * (p[4] * np.cos(phi) + p[5] * np.sin(phi))])
        return largest(
            distance(ride.p, by[4:]),
            distance(ride.p, library),
            distance(printed_inertia(ride.r), ride.coefficients.inertia),
        )

    return over_rides(residual)


@claim(
    "B-9.4-routhian",
    "R = (g_11 theta_dot^2 + 2 g_12 theta_dot kappa_dot + g_22 kappa_dot^2)/2 - I^ab p_a p_b/2 - U, with the printed g_ab",
    how=f"{STATES}: against L_c - p_1 phi_dot - p_2 psi_dot, which has no terms that mix shape and group",
)
def routhian() -> float:
    def residual(ride: Ride) -> float:
        z = np.concatenate([ride.r, ride.v[:2], ride.turning])
        return distance(printed_routhian(ride.z), constrained_lagrangian(z) - ride.p @ ride.turning)

    return over_rides(residual)


def shape_gap(ride: Ride, place: int, force: float) -> float:
    """d/dt dR/dr_dot - nabla R - force for one shape coordinate, along the library's motion."""
    r, v = ride.r, ride.v[:2]
    motion = np.concatenate([v, ride.accelerations[:2]])
    rates = derivative(lambda y: printed_metric(y[:2]) @ y[2:], np.concatenate([r, v])) @ motion
    by_velocity = derivative(printed_routhian, ride.z)[2:4]
    right = ride.covariant(printed_routhian)[place] + force
    return largest(distance(printed_metric(r) @ v, by_velocity), distance(rates[place], right))


@claim(
    "B-9.4.9",
    "d/dt dR/dtheta_dot = nabla_theta R",
    how=f"{STATES}: along the accelerations of the library's equations with multipliers",
)
def tilt_equation() -> float:
    return over_rides(lambda ride: shape_gap(ride, 0, 0.0))


@claim(
    "B-9.4.10",
    "d/dt dR/dkappa_dot = nabla_kappa R + u",
    how=f"{STATES}: along the accelerations of the library's equations with multipliers",
)
def limb_equation() -> float:
    return over_rides(lambda ride: shape_gap(ride, 1, TORQUE))


def momentum_gap(ride: Ride, place: int) -> float:
    """The printed rate of a momentum against that along the library's motion, full and reduced."""
    turn = np.linalg.solve(printed_inertia(ride.r), ride.p)
    swing = float(swing_factors(ride.r) @ ride.v[:2])
    printed = np.array([turn[1] * swing, -turn[0] * swing])
    reduced = reduced_probe().rates(0.0, ride.z)[4:]
    return largest(distance(printed[place], ride.p_rates[place]), distance(printed[place], reduced[place]))


@claim(
    "B-9.4.11",
    "p_1_dot = (I^21 p_1 + I^22 p_2) (A cos(theta) theta_dot + B cos(kappa - theta) (kappa_dot - theta_dot))",
    how=f"{STATES}: along the library's motion with multipliers, and by its reduced equations",
)
def first_momentum_equation() -> float:
    return over_rides(lambda ride: momentum_gap(ride, 0))


@claim(
    "B-9.4.12",
    "p_2_dot = -(I^11 p_1 + I^12 p_2) (A cos(theta) theta_dot + B cos(kappa - theta) (kappa_dot - theta_dot))",
    how=f"{STATES}: along the library's motion with multipliers, and by its reduced equations",
)
def second_momentum_equation() -> float:
    return over_rides(lambda ride: momentum_gap(ride, 1))


@claim(
    "B-9.4.12-derivatives",
    "The printed nabla_theta and nabla_kappa, with D^b_{a al} p_b in their brackets",
    how=f"{STATES}: on functions of shape and momenta, with the library's coefficients D^b_{{a al}}",
)
def covariant_derivatives() -> float:
    def tried(z: Any) -> Any:
        return sin(z[0] - 0.3 * z[1]) * z[4] ** 2 + z[5] * z[4] * cos(z[1]) + z[5] ** 3

    def residual(ride: Ride) -> float:
        by = derivative(tried, ride.z)
        there = by[:2] + np.einsum("bax,b,a->x", ride.coefficients.transport, ride.p, by[4:])
        return distance(ride.covariant(tried), there)

    return over_rides(residual)


# -- the class of systems it belongs to ----------------------------------------------------------------------------------


@claim(
    "B-9.4.13",
    "d/dt dR/dr_dot^al = nabla_al R + (0, u): the shape equations of the class",
    how=f"{STATES}: nabla with the library's coefficients, along its motion with multipliers",
)
def shape_equations() -> float:
    def residual(ride: Ride) -> float:
        by = derivative(printed_routhian, ride.z)
        covariant = by[:2] + np.einsum("bax,b,a->x", ride.coefficients.transport, ride.p, by[4:])
        motion = np.concatenate([ride.v[:2], ride.accelerations[:2]])
        rates = derivative(lambda y: printed_metric(y[:2]) @ y[2:], ride.z[:4]) @ motion
        return distance(rates, covariant + np.array([0.0, TORQUE]))

    return over_rides(residual)


@claim(
    "B-9.4.14",
    "p_a_dot = D^b_{a al} p_b r_dot^al: parallel transport, without terms in p p and r_dot r_dot",
    how=f"{STATES}: the library's coefficients, of which the others vanish, along its motion with multipliers",
)
def momentum_equations() -> float:
    def residual(ride: Ride) -> float:
        found = ride.coefficients
        rates = np.einsum("bax,b,x->a", found.transport, ride.p, ride.v[:2])
        return largest(distance(rates, ride.p_rates), *found.quadratic.ravel(), *found.shape_drive.ravel())

    return over_rides(residual)


@claim(
    "B-9.4.15",
    "nabla_al R = dR/dr^al for the unicycle: D^b_{a al} p_b dR/dp_a vanishes identically",
    how=f"{STATES}: the library's coefficients on the printed R",
)
def covariant_derivative_of_the_routhian() -> float:
    def residual(ride: Ride) -> float:
        by = derivative(printed_routhian, ride.z)
        return distance(np.einsum("bax,b,a->x", ride.coefficients.transport, ride.p, by[4:]), np.zeros(2))

    return over_rides(residual)


@claim(
    "B-9.4.15-curvature",
    "The curvature of the nonholonomic connection vanishes",
    how=f"{STATES}: B of the library's coefficients, checked there against brackets of horizontal lifts",
)
def curvature() -> float:
    return over_rides(lambda ride: worst(ride.coefficients.curvature.ravel()))


# -- steady states -----------------------------------------------------------------------------------------------------------


def steady(p: Any) -> Any:
    """A shape with nabla R = 0 for given momenta and no torque, near upright, by Newton's method."""
    r = np.array([0.05, 0.05])

    def push(r: Any, place: int) -> Any:
        z = np.concatenate([r, np.zeros(2), p])
        return derivative(printed_routhian, z)[place]

    for _ in range(60):
        value = np.array([push(r, 0), push(r, 1)])
        step = 1e-6
        table = [[(push(r + step * e, k) - push(r - step * e, k)) / (2 * step) for e in np.eye(2)] for k in (0, 1)]
        change = np.linalg.solve(np.array(table), value)
        r = r - change
        if np.max(np.abs(change)) < 1e-15:
            break
    return r


@claim(
    "B-9.4.16",
    "r = r_0, p = p^0 is a steady motion where nabla_1 R = nabla_2 R = 0, for each p^0",
    how="shapes that solve the printed conditions for random momenta: the library's reduced rates vanish there",
)
def steady_states() -> float:
    random = np.random.default_rng(16)

    def gap(p: Any) -> float:
        z = np.concatenate([steady(p), np.zeros(2), p])
        return largest(*reduced_probe().rates(0.0, z))

    return worst(gap(p) for p in random.uniform(-0.6, 0.6, (4, 2)))


@claim(
    "B-9.4.16-upright",
    "theta = kappa = 0 is steady just where p_1 p_2 = 0: rolling straight, or turning on the spot",
    how="the library's reduced rates at theta = kappa = 0; with both momenta they are what the derivative of I^12 says",
)
def upright_states() -> float:
    rates = reduced_probe().rates
    still = [rates(0.0, np.array([0, 0, 0, 0, *p])) for p in ([0.0, 0.9], [0.7, 0.0])]
    p = np.array([0.7, 0.9])
    derivatives = derivative(printed_routhian, np.concatenate([np.zeros(4), p]))[:2]
    moving = printed_metric(np.zeros(2)) @ rates(0.0, np.concatenate([np.zeros(4), p]))[2:4]
    if not np.max(np.abs(derivatives)) > 0.1:
        return np.inf
    return largest(*(largest(*rate) for rate in still), distance(moving, derivatives))


@claim(
    "B-9.4.12-reconstruction",
    "The full motion is that of (theta, kappa, p_1, p_2) with the reconstruction of x, y, phi and psi",
    how="the library's reduced equations with the group carried along against its equations with multipliers, to t = 0.6",
    tolerance=1e-9,
)
def reconstruction() -> float:
    scenario = gallery.load("unicycle-rider")
    options: dict[str, Any] = {"parameters": scenario.parameters, "rtol": 1e-12, "at": [0.0, 0.3, 0.6]}
    full = simulate(scenario.system, scenario.start, (0, 0.6), form="lagrange", **options)
    rebuilt = simulate(equations_on(bundle(), reconstruct=True), scenario.start, (0, 0.6), **options)
    names = [q.name for q in scenario.system.coordinates]
    same = [distance(rebuilt[name], full[name]) for name in names]
    return largest(*same, distance(rebuilt["p_1"], full["p1"]), distance(rebuilt["p_2"], full["p2"]))
