"""Bloch and others, Internet Supplement, section 9.4: linear feedback of the unicycle, and
controlled Lagrangians.

Linear feedback is recomputed from the printed Routhian with complex steps and companion matrices.
Matching (9.4.17 to 9.4.24) is looked at on the pendulum on a cart, whose controlled Lagrangian the
library's gallery holds: Christoffel symbols here come from complex steps, accelerations from the
library's Lagrange equations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy import cos, sin

from .... import gallery
from ....control.feedback.linear import LinearFeedback, controllable_part, feedback, place_poles
from ....control.feedback.matching import match
from ....formulations.equations import Equations
from ....formulations.reduction.bundle_equations import bundle_of, equations_on
from ....integrate.simulate import simulate
from ....model.system import System
from ....typing import Array
from ...independent import matched_cart_pendulum as cart_pendulum
from ...independent.matched_cart_pendulum import (
    CartState,
    christoffel,
    closed_loop,
    controlled_metric,
    controlled_potential,
    energy_rate,
    masses,
    metric,
    open_loop,
    passive_velocity,
    potential,
    wanted_accelerations,
)
from ...independent.unicycle_with_rider import (
    bodies,
    bundle,
    printed_inertia,
    printed_metric,
    printed_routhian,
    swing_factors,
)
from ...numeric import Residual, derivative, distance, excess, worst
from ...row_registry import Corrected, listed

POLES = np.array([-2.0, -2.5, -3.0, -3.5])
ROLLING = 0.5  # p_2 of the steady motion
SHAPE = ("theta", "kappa", "theta_dot", "kappa_dot")

# -- linear feedback -------------------------------------------------------------------------------


def printed_rates(z: Array, u: complex = 0.0) -> Array:
    """Rates of (theta, kappa, theta_dot, kappa_dot, p_1, p_2) by the printed equations, (6,)."""
    r, v, p = z[:2], z[2:4], z[4:]
    turn = np.linalg.solve(printed_inertia(r), p)
    swing = swing_factors(r) @ v

    def by_routhian(place: int) -> Array:
        step, unit = 1e-5, np.eye(6)[place]
        a, b, c, d = (printed_routhian(z + factor * step * unit) for factor in (1, -1, 2, -2))
        return np.asarray((8 * (a - b) - (c - d)) / (12 * step))

    body = bodies()
    table = -(np.array([[-2.0, 1.0], [1.0, 0.0]])) * body["mu"] * (body["R"] + body["r"])
    bend = table * body["rho"] * sin(r[1]) * v[1] @ v  # d/dt of the metric, by kappa
    right = np.array([by_routhian(0), by_routhian(1) + u]) - bend
    accelerations = np.linalg.solve(printed_metric(r), right)
    return np.concatenate([v, accelerations, [turn[1] * swing, -turn[0] * swing]])


@cache
def printed_linearisation() -> tuple[Array, Array]:
    """A (6, 6) and B (6,) at theta = kappa = 0, p = (0, 1/2)."""
    at = np.array([0, 0, 0, 0, 0, ROLLING], dtype=float)
    A = derivative(printed_rates, at)
    B = derivative(lambda u: printed_rates(at.astype(complex), u[0]), np.zeros(1))[:, 0]
    return A, B


def _on_quotient(system: System) -> Equations:
    """The library's reduced equations of the unicycle."""
    here = bundle()
    fields = here.frame.fields.items()
    group = {name: dict(zip(system.coordinates, field, strict=True)) for name, field in fields}
    section = [list(here.section.col(a)) for a in range(here.section.cols)]
    return equations_on(bundle_of(system, group, section=section), reconstruct=False)


@cache
def opened() -> Equations:
    """The library's reduced equations with the torque left free."""
    system = gallery.load("unicycle-rider").system
    return _on_quotient(system.replacing(inputs=list(system.inputs)))


@cache
def placed() -> LinearFeedback:
    """The library's gains for the four poles."""
    return place_poles(opened(), list(POLES), {"p_2": ROLLING}, parameters=bodies(), symbols=SHAPE)


def gains() -> Array:
    return np.array([placed().gains["u"][name] for name in SHAPE])


def rolling_speed() -> float:
    """psi_dot_0 of the steady motion."""
    return float(np.linalg.solve(printed_inertia(np.zeros(2)), np.array([0.0, ROLLING]))[1])


@listed("B-9.4.16-unstable")
def unstable_rolling() -> Residual:
    parts = controllable_part(opened(), {"p_2": ROLLING}, bodies())
    found, (A, B) = parts.linearisation, printed_linearisation()
    zeros = np.sum(np.abs(found.eigenvalues) < 1e-6)
    grows = float(np.max(found.eigenvalues.real)) > 1.0
    if zeros != 2 or not grows or len(parts.of_kind("momentum level")) != 2:
        return np.inf
    return distance(found.matrix, A), distance(found.input_matrix[:, 0], B)


@listed("B-9.4-feedback-elimination")
def eliminated_momentum() -> Residual:
    A, _ = printed_linearisation()
    expected = rolling_speed() * swing_factors(np.zeros(2))
    return distance(A[4, 2:4], expected), A[4, [0, 1, 4, 5]], A[5]


@listed("B-9.4-feedback")
def linear_feedback() -> Residual:
    A, B = printed_linearisation()
    found = np.linalg.eigvals(A + np.outer(B, [*gains(), 0.0, 0.0]))
    return worst(np.abs(np.sort_complex(found) - np.sort_complex([*POLES, 0.0, 0.0])))


@listed("B-9.4-feedback-gains")
def gains_by_elimination() -> Residual:
    A, B = printed_linearisation()
    small = A[:4, :4].copy()
    small[:, :2] += np.outer(A[:4, 4], rolling_speed() * swing_factors(np.zeros(2)))
    columns = np.column_stack([np.linalg.matrix_power(small, k) @ B[:4] for k in range(4)])
    wanted = np.eye(4)
    for pole in POLES:
        wanted = wanted @ (small - pole * np.eye(4))
    return distance(gains(), -np.linalg.solve(columns.T, np.eye(4)[:, 3]) @ wanted)


@listed("B-9.4-feedback-malkin")
def nearby_steady_motion() -> Residual:
    system = gallery.load("unicycle-rider").system
    closed = _on_quotient(feedback(system, {"u": placed().gains["u"]}))
    start = {"theta": 0.002, "kappa": -0.001, "p_1": 0.0005, "p_2": 0.502}
    end = simulate(closed, start, (0, 60), parameters=bodies(), rtol=1e-12).y[:, -1]
    moved = abs(end[0]) > 1e-3 and abs(end[0]) < 0.02 and abs(end[5] - ROLLING) > 1e-4
    rates = printed_rates(end.astype(complex), float(gains() @ end[:4]))
    return rates.real if moved else np.inf


# -- controlled Lagrangians ------------------------------------------------------------------------

#: A metric (2, 2) or a potential as a function of the coordinates.
Field = Callable[[Array], Array]


class DrivenCart(CartState):
    """The pendulum on a cart, driven by a force on the cart or in the gallery's closed loop."""

    @property
    def state(self) -> Array:
        return np.concatenate(self)

    @property
    def control(self) -> float:
        """u of the gallery's closed loop, without its dissipation."""
        probe = closed_loop()
        (law,) = probe.equations.system.inputs.values()
        found = float(probe.value([law], 0.0, self.state)[0])
        return found + masses()["d"] * passive_velocity(*self)

    def accelerations(self, force: float) -> Array:
        """Of the library's pendulum under a force on the cart."""
        return np.asarray(open_loop(force).rates(0.0, self.state)[2:])

    def terms(self, table: Field, height: Field) -> Array:
        """d_a U - h_a^j d_j U~ - g_al T^l_jk q_dot^j q_dot^k for given g~ and U~ (2,)."""
        T = christoffel(table, self.q) - christoffel(metric, self.q)
        h = metric(self.q) @ np.linalg.inv(table(self.q))
        bend = metric(self.q) @ np.einsum("ijk,j,k->i", T, self.v, self.v)
        return np.asarray(derivative(potential, self.q) - h @ derivative(height, self.q) - bend)

    @property
    def energy_rate(self) -> float:
        """dE~/dt along the library's closed loop."""
        return energy_rate(*self, closed_loop().rates(0.0, self.state)[2:])


states = cart_pendulum.states.map(lambda s: DrivenCart(*s))


@listed("B-9.4.17", over=states)
def controlled_equations(s: DrivenCart) -> Residual:
    wanted = wanted_accelerations(metric, potential, *s, np.array([0.0, 0.7]))
    return distance(s.accelerations(0.7), wanted)


@listed("B-9.4.18")
def unstable_equilibrium() -> Residual:
    found, b = controllable_part(gallery.load("cart-pendulum")).linearisation, masses()
    expected = np.sqrt(b["g"] * (b["M"] + b["m"]) / (b["l"] * b["M"]))
    return found.residual, distance(np.max(found.eigenvalues.real), expected)


@listed("B-9.4.19", over=states)
def controlled_lagrangian_equations(s: DrivenCart) -> Residual:
    wanted = wanted_accelerations(controlled_metric, controlled_potential, *s)
    return distance(s.accelerations(s.control), wanted)


@listed("B-9.4.20", over=states)
def tensors(s: DrivenCart) -> Residual:
    def other(q: Array) -> Array:
        cross = 0.2 * q[0]
        change = [[1.0 + 0.3 * sin(q[1]), cross], [cross, 1.5 + 0.1 * q[0] * q[1]]]
        return np.asarray(controlled_metric(q) + np.array(change))

    q = s.q
    g, new = metric(q), other(q)
    h, back = g @ np.linalg.inv(new), new @ np.linalg.inv(g)
    T = christoffel(other, q) - christoffel(metric, q)
    by = derivative(lambda x: other(x).ravel(), q).reshape(2, 2, 2)
    turn = new @ derivative(lambda x: (metric(x) @ np.linalg.inv(other(x)))[0], q)
    lie = np.einsum("jki,i->jk", by, h[0]) + turn + turn.T
    own = derivative(lambda x: metric(x).ravel(), q).reshape(2, 2, 2)[:, :, 0]
    left = 2 * np.einsum("l,ljk->jk", g[0], T)
    return distance(h @ back, np.eye(2)), distance(left, own - lie)


@listed("B-9.4.21")
def matching_conditions() -> Residual:
    def residual(s: DrivenCart) -> Residual:
        g, T = metric(s.q), christoffel(controlled_metric, s.q) - christoffel(metric, s.q)
        h = g @ np.linalg.inv(controlled_metric(s.q))
        pushed = h[0] @ derivative(controlled_potential, s.q) - derivative(potential, s.q)[0]
        return np.einsum("l,ljk->jk", g[0], T), pushed

    found = match(gallery.load("cart-pendulum"), region=False)
    return states.worst(residual), found.certificate.residual


@listed("B-Theorem-9.4.7", over=states)
def hamberg(s: DrivenCart) -> Residual:
    def bad_metric(q: Array) -> Array:
        cross = 0.3 * sin(q[1])
        return np.array([[2.0 + 0.5 * cos(q[0]), cross], [cross, 1.5 + 0.2 * q[0] ** 2]])

    def bad_potential(q: Array) -> Array:
        return np.asarray(cos(q[0]) * q[1] + q[1] ** 2)

    terms = s.terms(bad_metric, bad_potential)
    if not abs(terms[0]) > 1e-2:
        return np.inf
    wanted = wanted_accelerations(bad_metric, bad_potential, *s)
    gap = metric(s.q) @ (wanted - s.accelerations(float(terms[1])))
    return gap[0] - terms[0], gap[1]


@listed("B-9.4.22", over=states)
def control_law(s: DrivenCart) -> Residual:
    return distance(s.control, s.terms(controlled_metric, controlled_potential)[1])


@listed("B-9.4.23")
def asymptotic_stability() -> Residual:
    scenario = gallery.load("cart-pendulum-matched")
    converged = simulate(scenario, span=(0.0, 40.0), rtol=1e-10).y[:, -1]
    undamped = simulate(scenario, parameters={"d": 0.0}, span=(0.0, 10.0), rtol=1e-12)
    kept = undamped["controlled_energy"]
    return converged, (kept[-1] - kept[0]) / kept[0]


@listed("B-9.4.24")
def dissipation() -> Corrected:
    d = masses()["d"]

    def growth(sign: float) -> float:
        """Of u = (9.4.22) - sign d h~ q_dot with h~ of the negative definite g~."""
        g, new = metric(np.zeros(2)), controlled_metric(np.zeros(2))
        passive = (np.linalg.inv(g) @ -new)[1]
        forces = np.hstack([-second_variation(), sign * d * np.outer(passive, passive)])
        matrix = np.vstack([np.eye(4)[2:], -np.linalg.solve(-new, forces)])
        return float(np.max(np.linalg.eigvals(matrix).real))

    rates = [distance(s.energy_rate, -d * passive_velocity(*s) ** 2) for s in states]
    return Corrected((rates, excess(growth(-1.0))), excess(growth(1.0)))


def second_variation() -> Array:
    """Of U~ at the equilibrium, by complex steps of central differences (2, 2)."""
    steps, by = 1e-5 * np.eye(2), controlled_potential
    return np.array([(derivative(by, e) - derivative(by, -e)) / (2 * 1e-5) for e in steps])


@listed("B-9.4.24-definite")
def definite_energy() -> Residual:
    scenario = gallery.load("cart-pendulum")
    found, turned = (match(scenario, region=False, negative=sign) for sign in (False, True))
    signs = (found.definite, np.sign(found.damping), turned.definite, np.sign(turned.damping))
    if signs != (1, 1, -1, -1):
        return np.inf
    tables = (controlled_metric(np.zeros(2)), second_variation())
    lowest = min(np.min(np.linalg.eigvalsh(table)) for table in tables)
    return excess(-lowest), excess(max(s.energy_rate for s in states))
