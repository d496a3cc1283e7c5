"""Bloch and others, Internet Supplement, section 5.9: the snakeboard divided by SE(2), on the Hamiltonian side (5.9.64-5.9.76).

On M the chart is (x, y, theta, psi, phi, p_psi, p_phi, p) with the nonholonomic momentum p.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ...errors import RunError
from ...formulations.reduction.bundle_equations import bundle_of
from ..independent.planar_bundles import frame, planar_probe, spots
from ..independent.planar_charts import (
    canonical_rates,
    chart_of_library,
    free_momenta,
    gap_of_spans,
    library_differential,
    library_form,
    library_two_form,
    momentum_rates,
    reduced_form,
    velocities_of,
    wedge,
)
from ..numeric import Probe, derivative, distance, gallery_probe, largest, null_space, worst
from ..row_registry import Corrected, claim
from .section_5_9_snakeboard import Board

#: Covectors of the chart.
DX, DY, DTHETA, DPSI, DPHI, DP_PSI, DP_PHI, DP = np.eye(8)
STATES = "random states of the snakeboard"


class Reduced(Board):
    """A state of the snakeboard in the chart with p."""

    @property
    def c(self) -> Any:
        """(x, y, theta, psi, phi, p_psi, p_phi, p)."""
        return np.concatenate([self.s.q, self.momenta[3:], self.s.p])

    def velocities(self, c: Any) -> Any:
        """The inverse of FL on D in the chart, from one dense system."""
        field = frame(c[2]) @ self.s.planar.section(c[3:5])[:, 0]
        picks = np.zeros((3, 5), dtype=field.dtype)
        picks[0, 3], picks[1, 4], picks[2, :3] = 1, 1, field
        return velocities_of(self.s.planar, c[:5], picks, c[5:])

    @property
    def symmetry(self) -> Any:
        """The printed field of V and H (8,)."""
        c2, s2 = np.cos(self.phi) ** 2, np.sin(2 * self.phi)
        return -2 * self.r * c2 * (np.cos(self.theta) * DX + np.sin(self.theta) * DY) + s2 * DTHETA

    @property
    def allowed(self) -> Any:
        """The printed span of H (8, 6)."""
        return np.column_stack([self.symmetry, np.eye(8)[:, 3:]])

    @cached_property
    def rates(self) -> Any:
        """The rates of the chart along the library's motion (8,): on M, and p by its reduced equations."""
        return np.concatenate([canonical_rates(self.s)[0], momentum_rates(self.s)[3:], self.s.rates[1]])

    @property
    def along(self) -> Any:
        """cos(theta) dx + sin(theta) dy."""
        return np.cos(self.theta) * DX + np.sin(self.theta) * DY

    @property
    def across(self) -> Any:
        """-sin(theta) dx + cos(theta) dy."""
        return -np.sin(self.theta) * DX + np.cos(self.theta) * DY

    # -- terms that print uses again and again -----------------------------------------------------------------------

    @property
    def first(self) -> Any:
        """d of the momentum along the board, without its dphi part."""
        return self.m * self.r * np.sin(2 * self.phi) / (2 * self.D) * DP_PSI - self.m * self.r / (2 * self.D) * DP

    @property
    def first_turn(self) -> Any:
        """Its derivative by phi."""
        J0, mr2, phi = self.J0, self.inertia, self.phi
        at = self.m * self.r * (mr2 * np.cos(2 * phi) + J0 * np.sin(phi) ** 2) / self.D**2 * self.p_psi
        return float(at - self.m * self.r * J0 * np.sin(2 * phi) / (2 * self.D**2) * self.p)

    @property
    def third(self) -> Any:
        """d p_theta without its dphi part."""
        mr2 = self.inertia
        by_p = (mr2 - self.J0) * np.tan(self.phi) / (2 * self.D)
        return mr2 * np.cos(self.phi) ** 2 / self.D * DP_PSI + by_p * DP

    @property
    def third_turn(self) -> Any:
        """Its derivative by phi."""
        J0, mr2, phi = self.J0, self.inertia, self.phi
        at = mr2 * (J0 - mr2) * np.sin(2 * phi) / self.D**2 * self.p_psi
        secant = mr2 / np.cos(phi) ** 2 + J0 * np.tan(phi) ** 2 * np.cos(2 * phi)
        return float(at + (mr2 - J0) * secant / (2 * self.D**2) * self.p)

    @property
    def ahead(self) -> float:
        """The momentum along the board on M."""
        return float(self.m * self.r * (np.sin(2 * self.phi) * self.p_psi - self.p) / (2 * self.D))


def states() -> list[Reduced]:
    """The states at which the snakeboard is looked at."""
    return [Reduced(s) for s in spots("snakeboard")]


def over_states(residual: Any) -> float:
    """The worst residual."""
    return worst(residual(b) for b in states())


def corrected(pair: Any) -> Corrected:
    """Residuals of the right and of the printed form at all states."""
    found = [pair(b) for b in states()]
    return Corrected(worst(right for right, _ in found), worst(printed for _, printed in found))


@claim(
    "B-5.9.64",
    "L = m (x_dot^2 + y_dot^2)/2 + m r^2 theta_dot^2/2 + J0 psi_dot^2/2 + J0 psi_dot theta_dot + J1 phi_dot^2",
    how=f"{STATES}, off the constraints: p . v less the energy of the library's Lagrange equations",
)
def lagrangian() -> float:
    def residual(b: Reduced) -> float:
        u = b.s.u + np.array([0.3, -0.2, 0.5, 0.1, -0.4])
        blocks = planar_probe("snakeboard", "lagrange").blocks(0.0, np.concatenate([b.s.q, u]))
        x, y, theta, psi, phi = u
        found = b.m * (x**2 + y**2) / 2 + b.inertia * theta**2 / 2 + b.J0 * psi**2 / 2 + b.J0 * psi * theta + b.J1 * phi**2
        return distance(blocks.momenta @ u - blocks.energy, found)

    return over_states(residual)


@claim(
    "B-5.9.64-section",
    "The constraints leave a d/dx + b d/dy + c d/dtheta of the symmetries, a = -2 r cos(phi)^2 cos(theta), b = -2 r cos(phi)^2"
    " sin(theta), c = sin(2 phi)",
    how=f"{STATES}: the library's rows on the field; the section it finds by itself is parallel to it",
)
def section() -> float:
    def residual(b: Reduced) -> float:
        rows = planar_probe("snakeboard", "lagrange").blocks(0.0, np.concatenate([b.s.q, b.s.u])).A
        own = bundle_of(b.s.planar.system, b.s.planar.group).section
        value = np.array([float(x.xreplace({s: getattr(b, s.name) for s in x.free_symbols})) for x in own])
        expected = np.array([-2 * b.r * np.cos(b.phi) ** 2, 0.0, np.sin(2 * b.phi)])
        return largest(worst(rows @ b.symmetry[:5]), worst(np.cross(value, expected)))

    return over_states(residual)


@claim(
    "B-5.9.64-momentum",
    "p = m a x_dot + m b y_dot + m r^2 c theta_dot + J0 c psi_dot, without slipping sideways",
    how=f"{STATES}: the output p of the gallery's snakeboard against the formula; the rows of 5.9.9 and 5.9.10 hold",
)
def momentum() -> float:
    def residual(b: Reduced) -> float:
        probe: Probe = gallery_probe("snakeboard", "lagrange").with_parameters(**b.s.planar.parameters)
        state = np.concatenate([b.s.q, b.s.u])
        found = probe.value([probe.equations.system.outputs["p"]], 0.0, state)[0]
        a, side, turn = b.symmetry[:3]
        formula = b.m * (a * b.x_dot + side * b.y_dot) + (b.inertia * b.theta_dot + b.J0 * b.psi_dot) * turn
        return largest(distance(found, formula), distance(found, b.p))

    return over_states(residual)


@claim(
    "B-Figure-5.9.2",
    "p is sin(2 phi) times the angular momentum about P, which is r cot(phi) beside the board's middle; the caption lacks the"
    " factor",
    how=f"{STATES}: p = I Omega with the library's inertia and connection against the angular momentum of board and rotor",
)
def angular_momentum() -> Corrected:
    def pair(b: Reduced) -> tuple[float, float]:
        p = float(b.s.library.inertia[0, 0] * _omega(b))
        side = b.r * b.cot * np.array([-np.sin(b.theta), np.cos(b.theta)])  # from P to the middle
        about = b.inertia * b.theta_dot + b.J0 * b.psi_dot + b.m * (side[0] * b.y_dot - side[1] * b.x_dot)
        return distance(p, np.sin(2 * b.phi) * about), distance(p, about)

    return corrected(pair)


def _omega(b: Reduced) -> float:
    """The locked velocity along the section, by the library's frame and connection."""
    inside = np.linalg.solve(b.s.library.frame, b.s.xi) + b.s.library.connection @ b.s.v
    return float(inside[0])


#: A, Gamma, B_{psi phi}, F_phi, the section and its inertia at m = r = 1, J0 = 1/4, J1 = 1/10, phi = 1/2, in 80-bit arithmetic.
AT_HALF = {
    "A_psi": [-0.10518387310098706, 0.0, 0.057462211766482536],
    "Gamma": [-0.5, 0.0, 0.27315124492189524],
    "B": [-0.13507557646703494, 0.0, 0.21036774620197413],
    "F_phi": [0.0, 0.0, 0.6492232052047624],
    "e": [-1.5403023058681398, 0.0, 0.8414709848078965],
    "I": 3.0806046117362795,
}


@claim(
    "B-5.9.65",
    "A = (-J0/(2 m r) sin(2 phi) e_x + J0/(m r^2) sin(phi)^2 e_theta) dpsi, Gamma = -e_x/(2 m r) + tan(phi) e_theta/(2 m r^2)",
    how=f"{STATES}: the library's A and Gamma; at phi = 1/2 also against numbers in extended precision",
)
def connection() -> float:
    def residual(b: Reduced) -> float:
        c = b.s.library
        A = np.array([-b.J0 / (2 * b.m * b.r) * np.sin(2 * b.phi), 0, b.J0 / b.inertia * np.sin(b.phi) ** 2])
        lift = np.array([-1 / (2 * b.m * b.r), 0, np.tan(b.phi) / (2 * b.inertia)])
        found = c.frame @ c.connection
        return largest(distance(found[:, 0], A), worst(found[:, 1]), distance(c.frame @ c.lift[:, 0], lift))

    c = states()[0].s.planar.coefficients.at({"psi": 0.0, "phi": 0.5}, {"m": 1.0, "r": 1.0, "J0": 0.25, "J1": 0.1})
    found = {"A_psi": c.frame @ c.connection[:, 0], "Gamma": c.frame @ c.lift[:, 0], "B": c.frame @ c.curvature[:, 0, 1]}
    found |= {"F_phi": c.frame @ c.lift_derivative[:, 0, 1], "e": c.frame[:, 0], "I": c.inertia[0, 0]}
    return largest(over_states(residual), *(distance(value, AT_HALF[name]) for name, value in found.items()))


@claim(
    "B-5.9.65-singular",
    "phi = 0 is no singularity of A and Gamma; at phi = pi/2 the constraints lose a rank, and the section vanishes",
    how="the library's coefficients at phi = 0, its refusal at phi = pi/2, and the rank there by singular values",
)
def singular_shapes() -> float:
    field, board = states()[0].s.planar.coefficients, states()[0].s.planar
    straight = field.at({"psi": 0.0, "phi": 0.0}, board.parameters)
    right = np.array([0.0, np.pi / 2])
    try:
        field.at({"psi": 0.0, "phi": np.pi / 2}, board.parameters)
        refused = 1.0
    except RunError:
        refused = 0.0
    e = board.section(right)
    rank = np.linalg.matrix_rank(board.full_rows(np.concatenate([np.zeros(3), right])), tol=1e-10)
    lift = np.array([-1 / (2 * board.parameters["m"] * board.parameters["r"]), 0, 0])
    return largest(distance(straight.frame @ straight.lift[:, 0], lift), refused, abs(rank - 1), worst(e[:, 0]))


def _body_momenta(b: Reduced) -> Any:
    """cos(theta) p_x + sin(theta) p_y, the same across, and p_theta, of the library's form on M (3,)."""

    state = np.concatenate([b.s.q, free_momenta(b.s.planar, b.s.q, b.s.u)])
    p = planar_probe("snakeboard", "bates-sniatycki").blocks(0.0, state).momenta
    return frame(b.theta).T @ p[:3]


@claim(
    "B-5.9.66",
    "On M the momenta along, across and about the board are m r (sin(2 phi) p_psi - p)/(2D), 0 and (m r^2 cos(phi)^2 p_psi +"
    " (m r^2 - J0) tan(phi) p/2)/D, D = m r^2 - J0 sin(phi)^2",
    how=f"{STATES}: momenta of the library's form on M",
)
def body_momenta() -> float:
    def residual(b: Reduced) -> float:
        about = (b.inertia * np.cos(b.phi) ** 2 * b.p_psi + (b.inertia - b.J0) * np.tan(b.phi) / 2 * b.p) / b.D
        return distance(_body_momenta(b), [b.ahead, 0, about])

    return over_states(residual)


@claim(
    "B-5.9.66-momentum",
    "p = -2 r cos(phi)^2 (cos(theta) p_x + sin(theta) p_y) + sin(2 phi) p_theta is invariant",
    how=f"{STATES}: momenta of the library's form on M, at two group elements",
)
def momentum_by_momenta() -> float:
    def residual(b: Reduced) -> float:
        return distance(b.s.planar.section(b.s.r)[:, 0] @ _body_momenta(b), b.p)

    moved = [Reduced(type(b.s)(b.s.planar, b.s.g + 1.3, b.s.r, b.s.v, b.s.p, b.s.a)) for b in states()]
    return largest(over_states(residual), *(residual(b) for b in moved))


@claim(
    "B-5.9.67",
    "H is spanned by the field of the section, d/dpsi, d/dphi, d/dp_psi, d/dp_phi and d/dp",
    how=f"{STATES}: the printed fields carried to the library's chart against its frame of H",
)
def distribution() -> float:
    return over_states(
        lambda b: gap_of_spans(chart_of_library(b.s.planar, b.velocities, b.c) @ b.allowed, library_form(b.s).frame)
    )


@claim(
    "B-5.9.68",
    "V and H is spanned by the field of the section",
    how=f"{STATES}: what of the library's H moves the group alone, with p_psi, p_phi, p and the shape held",
)
def symmetries() -> float:
    def residual(b: Reduced) -> float:
        derivatives = chart_of_library(b.s.planar, b.velocities, b.c)
        inside, *_ = np.linalg.lstsq(derivatives, library_form(b.s).frame, rcond=None)  # the library's H in the chart

        return gap_of_spans(inside @ null_space(inside[3:]), b.symmetry[:, None])

    return over_states(residual)


def _form(b: Reduced) -> Any:
    """The printed Omega_M (8, 8)."""
    return (
        wedge(b.along, b.first)
        + wedge(b.along, b.first_turn * DPHI)
        + wedge(DTHETA, b.third)
        + wedge(DTHETA, b.third_turn * DPHI)
        + wedge(b.across, b.ahead * DTHETA)
        + wedge(DPSI, DP_PSI)
        + wedge(DPHI, DP_PHI)
    )


@claim(
    "B-5.9.68-form",
    "Omega_M in the chart with p, seven groups of wedges",
    how=f"{STATES}: the printed wedges against the library's Omega_M",
)
def pulled_back_form() -> float:
    return over_states(lambda b: distance(_form(b), library_two_form(b.s, b.velocities, b.c)))


def _kernel(b: Reduced) -> Any:
    """The printed covector whose kernel in H is U (8,)."""
    by_psi = 2 * b.inertia * np.cos(b.phi) ** 2 / b.D * b.p_psi
    by_p = (b.inertia + b.J0 * np.cos(2 * b.phi)) * np.tan(b.phi) / b.D * b.p
    return DP + (by_p - by_psi) * DPHI


@claim(
    "B-5.9.68-contraction",
    "The field of the section in Omega_M, on H, is dp - 2 m r^2 cos^2 p_psi/D dphi + (m r^2 + J0 cos(2 phi)) tan(phi) p/D dphi;"
    " its terms along dp_psi cancel",
    how=f"{STATES}: the four printed groups of terms, and their sum, against the library's two-form",
)
def contraction_with_the_section() -> float:
    def residual(b: Reduced) -> float:
        c2, s2 = -2 * b.r * np.cos(b.phi) ** 2, np.sin(2 * b.phi)
        groups = c2 * b.first + c2 * b.first_turn * DPHI + s2 * b.third + s2 * b.third_turn * DPHI
        there = b.symmetry @ library_two_form(b.s, b.velocities, b.c) @ b.allowed
        return largest(distance(groups @ b.allowed, there), distance(_kernel(b) @ b.allowed, there))

    return over_states(residual)


@claim(
    "B-5.9.69",
    "U is the kernel of that form",
    how=f"{STATES}: on the shape and p, against the row of the library's two-form on D/G; the library's motion is in it",
)
def complement() -> float:
    def residual(b: Reduced) -> float:
        # The library's chart is (r, r_dot, p): p_psi depends on psi_dot alone in d p, so that only dphi and dp remain.
        row = reduced_form(b.s).matrix[0]  # on e, lifts of d/dpsi and d/dphi, d/d(r_dot), d/dp
        expected = np.concatenate([[0.0, 0.0, _kernel(b)[4]], np.zeros(2), [1.0]])
        return largest(distance(row, expected), abs(_kernel(b) @ b.rates))

    return over_states(residual)


@claim(
    "B-5.9.70",
    "The motion in U reconstructs x_dot, y_dot = (J0 sin(2 phi) psi_dot - p)/(2 m r) times cos(theta), sin(theta), and"
    " theta_dot = -J0 sin(phi)^2 psi_dot/(m r^2) + tan(phi) p/(2 m r^2)",
    how=f"{STATES}: rates of the library's reconstructed equations",
)
def reconstruction() -> float:
    def residual(b: Reduced) -> float:
        ahead = b.J0 / (2 * b.m * b.r) * np.sin(2 * b.phi) * b.psi_dot - b.p / (2 * b.m * b.r)
        turn = -b.J0 / b.inertia * np.sin(b.phi) ** 2 * b.psi_dot + np.tan(b.phi) / (2 * b.inertia) * b.p
        found = planar_probe("snakeboard", "reconstructed").rates(0.0, b.s.z)[:3]
        return distance(found, [ahead * np.cos(b.theta), ahead * np.sin(b.theta), turn])

    return over_states(residual)


@claim(
    "B-5.9.71",
    "p_dot = 2 m r^2 cos(phi)^2 p_psi phi_dot/D - (m r^2 + J0 cos(2 phi)) tan(phi) p phi_dot/D",
    how=f"{STATES}: momentum rates of the library's reduced equations; they are also 2 J0 cos(phi)^2 phi_dot psi_dot - tan(phi)"
    " phi_dot p",
)
def momentum_equation() -> float:
    def residual(b: Reduced) -> float:
        first = 2 * b.inertia * np.cos(b.phi) ** 2 / b.D * b.p_psi * b.phi_dot
        second = (b.inertia + b.J0 * np.cos(2 * b.phi)) * np.tan(b.phi) / b.D * b.p * b.phi_dot
        by_shape = 2 * b.J0 * np.cos(b.phi) ** 2 * b.phi_dot * b.psi_dot - np.tan(b.phi) * b.phi_dot * b.p
        return largest(distance(b.s.rates[1][0], first - second), distance(b.s.rates[1][0], by_shape))

    return over_states(residual)


@claim(
    "B-5.9.71-link",
    "p = (2 (m r^2 - J0 sin(phi)^2) cot(phi) p_theta - 2 m r^2 cos(phi)^2 cot(phi) p_psi)/(m r^2 - J0), which turns 5.9.71 into"
    " 5.9.11",
    how=f"{STATES}: the formula at the library's momenta, and its rate along p_theta_dot of 5.9.11 and the library's phi_dot",
)
def link() -> float:
    def residual(b: Reduced) -> float:
        def formula(phi: Any, p_theta: Any, p_psi: Any) -> Any:
            cot = 1 / np.tan(phi)
            whole = 2 * (b.inertia - b.J0 * np.sin(phi) ** 2) * cot * p_theta
            return (whole - 2 * b.inertia * np.cos(phi) ** 2 * cot * p_psi) / (b.inertia - b.J0)

        gap = b.p_theta - b.p_psi
        rate = b.cot * b.p_phi * gap / (2 * b.J1 * (1 - b.J0 / b.inertia * np.sin(b.phi) ** 2))
        moved = derivative(lambda w: formula(b.phi + w[0] * b.rates[4], b.p_theta + w[0] * rate, b.p_psi), [0.0])[0]
        return largest(distance(formula(b.phi, b.p_theta, b.p_psi), b.p), distance(moved, b.s.rates[1][0]))

    return over_states(residual)


@claim(
    "B-5.9.72",
    "i_X Omega_M = dH_M on U",
    how=f"{STATES}: the library's motion in its two-form on the fields of H that lie in U, against its dH",
)
def equation_on_the_complement() -> float:
    def residual(b: Reduced) -> float:

        fields = b.allowed @ null_space((_kernel(b) @ b.allowed)[None, :])
        form = library_two_form(b.s, b.velocities, b.c)
        return distance(fields.T @ form.T @ b.rates, library_differential(b.s, b.velocities, b.c, fields))

    return over_states(residual)
