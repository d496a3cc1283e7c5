"""Bloch and others, Internet Supplement, section 9.4: linear feedback of the unicycle, and controlled Lagrangians.

Linear feedback is recomputed from the printed Routhian with complex steps and companion matrices. Matching (9.4.17 to 9.4.24)
is looked at on the pendulum on a cart, whose controlled Lagrangian the library's gallery holds: Christoffel symbols here come
from complex steps, accelerations from the library's Lagrange equations.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from ... import gallery
from ...control.feedback.linear import controllable_part, feedback, place_poles
from ...control.feedback.matching import match
from ...formulations.reduction.bundle_equations import bundle_of, equations_on
from ...integrate.simulate import simulate
from ..independent.matched_cart_pendulum import (
    christoffel,
    closed_loop,
    controlled_metric,
    controlled_potential,
    energy_rate,
    masses,
    metric,
    open_loop,
    over_states,
    passive_velocity,
    potential,
    states,
    wanted_accelerations,
)
from ..independent.unicycle_with_rider import bodies, bundle, printed_inertia, printed_metric, printed_routhian, swing_factors
from ..numeric import derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

POLES = np.array([-2.0, -2.5, -3.0, -3.5])
ROLLING = 0.5  # p_2 of the steady motion
SHAPE = ("theta", "kappa", "theta_dot", "kappa_dot")

# -- linear feedback ---------------------------------------------------------------------------------------------------------


def printed_rates(z: Any, u: Any = 0.0) -> Any:
    """Rates of (theta, kappa, theta_dot, kappa_dot, p_1, p_2) by the printed equations, (6,); z may be complex."""
    r, v, p = z[:2], z[2:4], z[4:]
    turn = np.linalg.solve(printed_inertia(r), p)
    swing = swing_factors(r) @ v

    def by_routhian(place: int) -> Any:
        step = 1e-5
        moved = [np.array(z, dtype=z.dtype) for _ in range(4)]
        for k, factor in enumerate((1, -1, 2, -2)):
            moved[k][place] = moved[k][place] + factor * step
        a, b, c, d = (printed_routhian(m) for m in moved)
        return (8 * (a - b) - (c - d)) / (12 * step)

    kappa_derivative = (
        -(np.array([[-2.0, 1.0], [1.0, 0.0]])) * bodies()["mu"] * (bodies()["R"] + bodies()["r"]) * bodies()["rho"]
    )
    bend = kappa_derivative * np.sin(r[1]) * v[1] @ v  # d/dt of the metric, which depends on kappa
    right = np.array([by_routhian(0), by_routhian(1) + u]) - bend
    return np.concatenate([v, np.linalg.solve(printed_metric(r), right), [turn[1] * swing, -turn[0] * swing]])


@cache
def printed_linearisation() -> tuple[Any, Any]:
    """A (6, 6) and B (6,) at theta = kappa = 0, p = (0, 1/2)."""
    at = np.array([0, 0, 0, 0, 0, ROLLING], dtype=float)
    A = derivative(printed_rates, at)
    B = derivative(lambda u: printed_rates(at.astype(complex), u[0]), np.zeros(1))[:, 0]
    return A, B


@cache
def opened() -> Any:
    """The library's reduced equations with the torque left free."""
    system = gallery.load("unicycle-rider").system
    return _on_quotient(system.replacing(inputs=list(system.inputs)))


def _on_quotient(system: Any) -> Any:
    here = bundle()
    group = {name: dict(zip(system.coordinates, field, strict=True)) for name, field in here.frame.fields.items()}
    section = [list(here.section.col(a)) for a in range(here.section.cols)]
    return equations_on(bundle_of(system, group, section=section), reconstruct=False)


@cache
def placed() -> Any:
    """The library's gains for the four poles."""
    return place_poles(opened(), list(POLES), {"p_2": ROLLING}, parameters=bodies(), symbols=SHAPE)


def matched_spectra(found: Any, expected: Any) -> float:
    """The worst distance between two sets of eigenvalues, sorted by real part."""
    order = [np.sort_complex(np.asarray(values, dtype=complex)) for values in (found, expected)]
    return largest(*np.abs(order[0] - order[1]))


@claim(
    "B-9.4.16-unstable",
    "Rolling straight, slowly, is unstable without control: the linearised equations have two zero eigenvalues, and of the"
    " others one is positive",
    how="the library's linearised reduced equations against complex steps of the printed ones; both momenta are the zeros",
    tolerance=1e-9,
)
def unstable_rolling() -> float:
    parts = controllable_part(opened(), {"p_2": ROLLING}, bodies())
    A, B = printed_linearisation()
    same = largest(distance(parts.linearisation.matrix, A), distance(parts.linearisation.input_matrix[:, 0], B))
    values = parts.linearisation.eigenvalues
    zeros = np.sum(np.abs(values) < 1e-6)
    grows = float(np.max(values.real)) > 1.0
    return same if zeros == 2 and grows and len(parts.of_kind("momentum level")) == 2 else np.inf


@claim(
    "B-9.4-feedback-elimination",
    "Near rolling straight p_1 = psi_dot_0 ((A - B) theta + B kappa) + const and p_2 = const, A and B the script symbols",
    how="complex steps of the printed momentum equations (9.4.11) and (9.4.12)",
)
def eliminated_momentum() -> float:
    A, _ = printed_linearisation()
    psi = np.linalg.solve(printed_inertia(np.zeros(2)), np.array([0.0, ROLLING]))[1]
    return largest(distance(A[4, 2:4], psi * swing_factors(np.zeros(2))), *A[4, [0, 1, 4, 5]], *A[5])


@claim(
    "B-9.4-feedback",
    "u = k_1 theta + k_2 kappa + k_3 theta_dot + k_4 kappa_dot gives the linearised equations any four eigenvalues beside the"
    " two zeros of the momenta",
    how="the library's gains for -2, -2.5, -3, -3.5 in the printed equations, linearised by complex steps",
    tolerance=1e-8,
)
def linear_feedback() -> float:
    A, B = printed_linearisation()
    gains = np.array([placed().gains["u"][name] for name in SHAPE] + [0.0, 0.0])
    return matched_spectra(np.linalg.eigvals(A + np.outer(B, gains)), [*POLES, 0.0, 0.0])


@claim(
    "B-9.4-feedback-gains",
    "The gains are those of the four equations that are left when p_1 is eliminated",
    how="Ackermann's formula on the eliminated 4 x 4 matrices in NumPy, against the library's",
    tolerance=1e-9,
)
def gains_by_elimination() -> float:
    A, B = printed_linearisation()
    psi = np.linalg.solve(printed_inertia(np.zeros(2)), np.array([0.0, ROLLING]))[1]
    small = A[:4, :4].copy()
    small[:, :2] += np.outer(A[:4, 4], psi * swing_factors(np.zeros(2)))
    columns = np.column_stack([np.linalg.matrix_power(small, k) @ B[:4] for k in range(4)])
    wanted = np.eye(4)
    for pole in POLES:
        wanted = wanted @ (small - pole * np.eye(4))
    gains = -np.linalg.solve(columns.T, np.eye(4)[:, 3]) @ wanted
    return distance([placed().gains["u"][name] for name in SHAPE], gains)


@claim(
    "B-9.4-feedback-malkin",
    "With the Lyapunov-Malkin theorem this gives stability of the whole system: a motion that starts nearby tends to a steady"
    " motion nearby, which is not the one that was stabilised",
    how="the library's closed loop to t = 60: the printed rates vanish at its end, where theta is 8 thousandths",
    tolerance=1e-7,
)
def nearby_steady_motion() -> float:
    closed = _on_quotient(feedback(gallery.load("unicycle-rider").system, {"u": placed().gains["u"]}))
    start = {"theta": 0.002, "kappa": -0.001, "p_1": 0.0005, "p_2": 0.502}
    end = simulate(closed, start, (0, 60), parameters=bodies(), rtol=1e-12).y[:, -1]
    u = float(np.array([placed().gains["u"][name] for name in SHAPE]) @ end[:4])
    moved = abs(end[0]) > 1e-3 and abs(end[0]) < 0.02 and abs(end[5] - ROLLING) > 1e-4
    return largest(*printed_rates(end.astype(complex), u).real) if moved else np.inf


# -- controlled Lagrangians ------------------------------------------------------------------------------------------------


def library_control(q: Any, v: Any) -> float:
    """u of the gallery's closed loop, without its dissipation."""
    probe = closed_loop()
    (law,) = probe.equations.system.inputs.values()
    found = float(probe.value([law], 0.0, np.concatenate([q, v]))[0])
    return found + masses()["d"] * passive_velocity(q, v)


@claim(
    "B-9.4.17",
    "d/dt dL/dq_dot = dL/dq + u on actuated coordinates alone, with L = g q_dot q_dot / 2 - U",
    how="the pendulum on a cart at random states: g and U in NumPy, Christoffel symbols by complex steps, against the library",
)
def controlled_equations() -> float:
    force = 0.7

    def residual(q: Any, v: Any) -> float:
        accelerations = open_loop(force).rates(0.0, np.concatenate([q, v]))[2:]
        return distance(accelerations, wanted_accelerations(metric, potential, q, v, np.array([0.0, force])))

    return over_states(residual)


@claim(
    "B-9.4.18",
    "q = q_0 is an unstable equilibrium without control",
    how="the upright pendulum: rates of the library vanish there, and it has the eigenvalue sqrt(g (M + m) / (l M))",
)
def unstable_equilibrium() -> float:
    parts = controllable_part(gallery.load("cart-pendulum"))
    b = masses()
    expected = np.sqrt(b["g"] * (b["M"] + b["m"]) / (b["l"] * b["M"]))
    return largest(parts.linearisation.residual, distance(np.max(parts.linearisation.eigenvalues.real), expected))


@claim(
    "B-9.4.19",
    "With the control (9.4.22) the equations are those of L~ = g~ q_dot q_dot / 2 - U~",
    how="the gallery's closed loop without dissipation: library accelerations against Lagrange's equations of L~ in NumPy",
)
def controlled_lagrangian_equations() -> float:
    def residual(q: Any, v: Any) -> float:
        found = open_loop(library_control(q, v)).rates(0.0, np.concatenate([q, v]))[2:]
        return distance(found, wanted_accelerations(controlled_metric, controlled_potential, q, v))

    return over_states(residual)


@claim(
    "B-9.4.20",
    "T = Gamma~ - Gamma, h = g g~^-1, h~ = g~ g^-1: h and h~ are inverse to each other, and 2 g_al T^l_jk is the difference of"
    " d_a g_jk and the Lie derivative of g~ along h_a",
    how="random states of the pendulum, at a g~ that does not match: all derivatives by complex steps",
)
def tensors() -> float:
    def other(q: Any) -> Any:
        return controlled_metric(q) + np.array([[1.0 + 0.3 * np.sin(q[1]), 0.2 * q[0]], [0.2 * q[0], 1.5 + 0.1 * q[0] * q[1]]])

    def residual(q: Any, v: Any) -> float:
        g, new = metric(q), other(q)
        h, back = g @ np.linalg.inv(new), new @ np.linalg.inv(g)
        T = christoffel(other, q) - christoffel(metric, q)

        def field(x: Any) -> Any:
            return (metric(x) @ np.linalg.inv(other(x)))[0]

        by = derivative(lambda x: other(x).ravel(), q).reshape(2, 2, 2)
        turn = new @ derivative(field, q)
        lie = np.einsum("jki,i->jk", by, h[0]) + turn + turn.T
        own = derivative(lambda x: metric(x).ravel(), q).reshape(2, 2, 2)[:, :, 0]
        return largest(distance(h @ back, np.eye(2)), distance(2 * np.einsum("l,ljk->jk", g[0], T), own - lie))

    return over_states(residual)


@claim(
    "B-9.4.21",
    "The matching conditions g_al T^l_jk = 0 and h_a^j d_j U~ = d_a U hold for the controlled Lagrangian of the pendulum",
    how="the gallery's g~ and U~ at random states, Christoffel symbols by complex steps; and the library's own certificate",
)
def matching_conditions() -> float:
    def residual(q: Any, v: Any) -> float:
        T = christoffel(controlled_metric, q) - christoffel(metric, q)
        h = metric(q) @ np.linalg.inv(controlled_metric(q))
        pushed = h[0] @ derivative(controlled_potential, q) - derivative(potential, q)[0]
        return largest(*np.einsum("l,ljk->jk", metric(q)[0], T).ravel(), pushed)

    found = match(gallery.load("cart-pendulum"), region=False)
    return largest(over_states(residual), found.certificate.residual)


@claim(
    "B-Theorem-9.4.7",
    "Theorem 9.4.7 (Hamberg): equations (9.4.17) and (9.4.19) are equivalent just where the matching conditions hold",
    how="random g~ and U~ that do not match: the control (9.4.22) satisfies the actuated equation, and what is left of the"
    " unactuated one is the conditions' residual, which vanishes only with them",
)
def hamberg() -> float:
    def bad_metric(q: Any) -> Any:
        return np.array([[2.0 + 0.5 * np.cos(q[0]), 0.3 * np.sin(q[1])], [0.3 * np.sin(q[1]), 1.5 + 0.2 * q[0] ** 2]])

    def bad_potential(q: Any) -> Any:
        return np.cos(q[0]) * q[1] + q[1] ** 2

    def residual(q: Any, v: Any) -> float:
        T = christoffel(bad_metric, q) - christoffel(metric, q)
        h = metric(q) @ np.linalg.inv(bad_metric(q))
        terms = derivative(potential, q) - h @ derivative(bad_potential, q) - metric(q) @ np.einsum("ijk,j,k->i", T, v, v)
        if not abs(terms[0]) > 1e-2:
            return np.inf
        real = open_loop(float(terms[1])).rates(0.0, np.concatenate([q, v]))[2:]
        gap = metric(q) @ (wanted_accelerations(bad_metric, bad_potential, q, v) - real)
        return largest(gap[0] - terms[0], gap[1])

    return over_states(residual)


@claim(
    "B-9.4.22",
    "u_al = d_al U - h_al^j d_j U~ - g_al,l T^l_jk q_dot^j q_dot^k",
    how="the gallery's control without dissipation at random states, Christoffel symbols by complex steps",
)
def control_law() -> float:
    def residual(q: Any, v: Any) -> float:
        T = christoffel(controlled_metric, q) - christoffel(metric, q)
        h = metric(q) @ np.linalg.inv(controlled_metric(q))
        terms = (
            derivative(potential, q) - h @ derivative(controlled_potential, q) - metric(q) @ np.einsum("ijk,j,k->i", T, v, v)
        )
        return distance(library_control(q, v), terms[1])

    return over_states(residual)


@claim(
    "B-9.4.23",
    "With dissipation -d_al,j q_dot^j in u the equilibrium becomes asymptotically stable",
    how="the gallery's closed loop from a tilt of 0.9 to t = 40, where it is upright; without dissipation E~ stays",
    tolerance=1e-8,
)
def asymptotic_stability() -> float:
    scenario = gallery.load("cart-pendulum-matched")
    converged = simulate(scenario, span=(0.0, 40.0), rtol=1e-10).y[:, -1]
    kept = simulate(scenario, parameters={"d": 0.0}, span=(0.0, 10.0), rtol=1e-12)["controlled_energy"]
    return largest(*converged, (kept[-1] - kept[0]) / kept[0])


@claim(
    "B-9.4.24",
    "d_2j = d h~_j^2 gives dE~/dt = -d (h~_j^2 q_dot^j)^2: it converges for d > 0 where E~ is positive definite, for d < 0 "
    "where"
    " it is negative definite (printed: d > 0)",
    how="dE~/dt along the library's closed loop at random states; for the negative definite E~ = -(E~ of the gallery) the"
    " largest real part of the linearised closed loop, with d < 0 and as printed",
)
def dissipation() -> Corrected:
    d = masses()["d"]

    def rate(q: Any, v: Any) -> float:
        accelerations = closed_loop().rates(0.0, np.concatenate([q, v]))[2:]
        return distance(energy_rate(q, v, accelerations), -d * passive_velocity(q, v) ** 2)

    def growth(sign: float) -> float:
        """Of u = (9.4.22) - sign d h~ q_dot with h~ of the negative definite g~."""

        g, new = metric(np.zeros(2)), controlled_metric(np.zeros(2))
        passive = (np.linalg.inv(g) @ -new)[1]
        lower = -np.linalg.solve(-new, np.hstack([-second_variation(), sign * d * np.outer(passive, passive)]))
        return float(np.max(np.linalg.eigvals(np.vstack([np.eye(4)[2:], lower])).real))

    return Corrected(largest(over_states(rate), excess(growth(-1.0))), excess(growth(1.0)))


def second_variation() -> Any:
    """Of U~ at the equilibrium, by complex steps of central differences (2, 2)."""
    step = 1e-5
    columns = [
        (derivative(controlled_potential, step * e) - derivative(controlled_potential, -step * e)) / (2 * step)
        for e in np.eye(2)
    ]
    return np.array(columns)


@claim(
    "B-9.4.24-definite",
    "E~ of the pendulum is positive definite at the equilibrium for suitable gains, and is then a Lyapunov function",
    how="eigenvalues of g~ and of the second variation of U~ in NumPy, the sign that the library reports, and dE~/dt <= 0 along"
    " the library's closed loop",
)
def definite_energy() -> float:
    values = [*np.linalg.eigvalsh(controlled_metric(np.zeros(2))), *np.linalg.eigvalsh(second_variation())]
    found = match(gallery.load("cart-pendulum"), region=False)
    turned = match(gallery.load("cart-pendulum"), region=False, negative=True)
    signs = (found.definite, np.sign(found.damping), turned.definite, np.sign(turned.damping)) == (1, 1, -1, -1)
    rates = [energy_rate(q, v, closed_loop().rates(0.0, np.concatenate([q, v]))[2:]) for q, v in states()]
    return worst([excess(-min(values)), excess(max(rates))]) if signs else np.inf
