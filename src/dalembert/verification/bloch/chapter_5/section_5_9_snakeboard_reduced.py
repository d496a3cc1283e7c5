"""Bloch and others, Internet Supplement, section 5.9: the snakeboard divided by SE(2), on the
Hamiltonian side (5.9.64-5.9.76).

On M the chart is (x, y, theta, psi, phi, p_psi, p_phi, p) with the nonholonomic momentum p.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

import numpy as np
import sympy
from numpy import cos, sin, tan

from ....analysis.symmetry.two_form_formulas import two_form_formulas
from ....errors import RunError
from ....formulations.reduction.bundle_equations import bundle_of
from ....typing import Array
from ...independent.planar_bundles import frame, planar
from ...independent.planar_charts import reduced_form, wedge
from ...numeric import Residual, derivative, distance, gallery_probe
from ...row_registry import Corrected, listed
from .section_5_9_states import (
    DP,
    DP_PHI,
    DP_PSI,
    DPHI,
    DPSI,
    DTHETA,
    OFF,
    Snakeboard,
    boards,
    lagrangian_off,
    library_blocks,
    library_rates,
    library_state,
    moved,
)


@listed("B-5.9.64", over=boards)
def lagrangian(b: Snakeboard) -> Residual:
    u = b.s.u + OFF
    x, y, theta, psi, phi = u
    found = b.m * (x**2 + y**2) / 2 + b.inertia * theta**2 / 2 + b.J0 * psi**2 / 2
    found = found + b.J0 * psi * theta + b.J1 * phi**2
    return distance(lagrangian_off(b.s, u), found)


@listed("B-5.9.64-section", over=boards)
def section(b: Snakeboard) -> Residual:
    own = bundle_of(b.s.planar.system, b.s.planar.group).section
    value = [float(x.xreplace({s: getattr(b, s.name) for s in x.free_symbols})) for x in own]
    expected = np.array([-2 * b.r * cos(b.phi) ** 2, 0.0, sin(2 * b.phi)])
    return library_blocks(b.s, "lagrange").A @ b.symmetry[:5], np.cross(value, expected)


@listed("B-5.9.64-momentum", over=boards)
def momentum(b: Snakeboard) -> Residual:
    probe = gallery_probe("snakeboard", "lagrange").with_parameters(**b.s.planar.parameters)
    output = probe.equations.system.outputs["p"]
    found = probe.value([output], 0.0, library_state(b.s, "lagrange"))[0]
    a, side, turn = b.symmetry[:3]
    about = (b.inertia * b.theta_dot + b.J0 * b.psi_dot) * turn
    return distance(found, b.m * (a * b.x_dot + side * b.y_dot) + about), distance(found, b.p)


@listed("B-Figure-5.9.2", over=boards)
def angular_momentum(b: Snakeboard) -> Corrected:
    inside = np.linalg.solve(b.s.library.frame, b.s.xi) + b.s.library.connection @ b.s.v
    p = float(b.s.library.inertia[0, 0] * float(inside[0]))
    side = b.r * b.cot * np.array([-sin(b.theta), cos(b.theta)])  # from P to the middle
    moment = b.m * (side[0] * b.y_dot - side[1] * b.x_dot)
    about = b.inertia * b.theta_dot + b.J0 * b.psi_dot + moment
    return Corrected(distance(p, sin(2 * b.phi) * about), distance(p, about))


#: A_psi, Gamma, B_{psi phi}, F_phi, the section and its inertia at m = r = 1, J0 = 1/4, J1 = 1/10,
#: phi = 1/2, in 80-bit arithmetic.
AT_HALF = (
    [-0.10518387310098706, 0.0, 0.057462211766482536],
    [-0.5, 0.0, 0.27315124492189524],
    [-0.13507557646703494, 0.0, 0.21036774620197413],
    [0.0, 0.0, 0.6492232052047624],
    [-1.5403023058681398, 0.0, 0.8414709848078965],
    3.0806046117362795,
)


@listed("B-5.9.65")
def connection() -> Residual:
    def residual(b: Snakeboard) -> Residual:
        c, mr = b.s.library, b.m * b.r
        found = c.frame @ c.connection
        A = [-b.J0 / (2 * b.m * b.r) * sin(2 * b.phi), 0, b.J0 / b.inertia * sin(b.phi) ** 2]
        lift = [-1 / (2 * mr), 0, tan(b.phi) / (2 * b.inertia)]
        return distance(found[:, 0], A), found[:, 1], distance(c.frame @ c.lift[:, 0], lift)

    values = {"m": 1.0, "r": 1.0, "J0": 0.25, "J1": 0.1}
    c = planar("snakeboard").coefficients.at({"psi": 0.0, "phi": 0.5}, values)
    columns = (c.connection[:, 0], c.lift[:, 0], c.curvature[:, 0, 1], c.lift_derivative[:, 0, 1])
    found = (*(c.frame @ column for column in columns), c.frame[:, 0], c.inertia[0, 0])
    return boards.worst(residual), *map(distance, found, AT_HALF)


@listed("B-5.9.65-singular")
def singular_shapes() -> Residual:
    board = planar("snakeboard")
    straight = board.coefficients.at({"psi": 0.0, "phi": 0.0}, board.parameters)
    right = np.array([0.0, np.pi / 2])
    try:
        board.coefficients.at({"psi": 0.0, "phi": np.pi / 2}, board.parameters)
        return 1.0
    except RunError:
        pass
    rank = np.linalg.matrix_rank(board.full_rows(np.concatenate([np.zeros(3), right])), tol=1e-10)
    lift = np.array([-1 / (2 * board.parameters["m"] * board.parameters["r"]), 0, 0])
    gap = distance(straight.frame @ straight.lift[:, 0], lift)
    return gap, rank - 1, board.section(right)[:, 0]


def _body_momenta(b: Snakeboard) -> Array:
    """Momenta along, across and about the board of the library's form on M (3,)."""
    return np.asarray(frame(b.theta).T @ b.library_momenta[:3])


@listed("B-5.9.66", over=boards)
def body_momenta(b: Snakeboard) -> Residual:
    about = b.inertia * cos(b.phi) ** 2 * b.p_psi + (b.inertia - b.J0) * tan(b.phi) / 2 * b.p
    return distance(_body_momenta(b), [b.ahead, 0, about / b.D])


@listed("B-5.9.66-momentum", over=boards)
def momentum_by_momenta(b: Snakeboard) -> Residual:
    places = (b, Snakeboard(moved(b.s, 1.3)))
    return [distance(x.s.planar.section(x.s.r)[:, 0] @ _body_momenta(x), x.p) for x in places]


@listed("B-5.9.67", over=boards)
def distribution(b: Snakeboard) -> Residual:
    return b.gap_of_allowed()


@listed("B-5.9.68", over=boards)
def symmetries(b: Snakeboard) -> Residual:
    return b.gap_of_symmetry()


@listed("B-5.9.68-form", over=boards)
def pulled_back_form(b: Snakeboard) -> Residual:
    printed = (
        wedge(b.along, b.first)
        + wedge(b.along, b.first_turn * DPHI)
        + wedge(DTHETA, b.third)
        + wedge(DTHETA, b.third_turn * DPHI)
        + wedge(b.across, b.ahead * DTHETA)
        + wedge(DPSI, DP_PSI)
        + wedge(DPHI, DP_PHI)
    )
    return distance(printed, b.form)


def _kernel(b: Snakeboard) -> Array:
    """The printed covector whose kernel in H is U (8,)."""
    by_psi = 2 * b.inertia * cos(b.phi) ** 2 / b.D * b.p_psi
    by_p = (b.inertia + b.J0 * cos(2 * b.phi)) * tan(b.phi) / b.D * b.p
    return np.asarray(DP + (by_p - by_psi) * DPHI)


@listed("B-5.9.68-contraction", over=boards)
def contraction_with_the_section(b: Snakeboard) -> Residual:
    c2, s2 = -2 * b.r * cos(b.phi) ** 2, sin(2 * b.phi)
    groups = c2 * b.first + c2 * b.first_turn * DPHI + s2 * b.third + s2 * b.third_turn * DPHI
    there = b.symmetry @ b.form @ b.allowed
    return distance(groups @ b.allowed, there), distance(_kernel(b) @ b.allowed, there)


@listed("B-5.9.69", over=boards)
def complement(b: Snakeboard) -> Residual:
    # The library's chart is (r, r_dot, p): p_psi depends on psi_dot alone in d p, so that only
    # dphi and dp remain.
    row = reduced_form(b.s).matrix[0]  # on e, lifts of d/dpsi and d/dphi, d/d(r_dot), d/dp
    return distance(row, [0.0, 0.0, _kernel(b)[4], 0.0, 0.0, 1.0]), _kernel(b) @ b.rates


def body_velocity(b: Snakeboard, psi_dot: float) -> tuple[float, float]:
    """The printed velocities along and about the board."""
    ahead = b.J0 / (2 * b.m * b.r) * sin(2 * b.phi) * psi_dot - b.p / (2 * b.m * b.r)
    turn = -b.J0 / b.inertia * sin(b.phi) ** 2 * psi_dot + tan(b.phi) / (2 * b.inertia) * b.p
    return float(ahead), float(turn)


@listed("B-5.9.70", over=boards)
def reconstruction(b: Snakeboard) -> Residual:
    ahead, turn = body_velocity(b, b.psi_dot)
    found = library_rates(b.s, "reconstructed")[:3]
    return distance(found, [ahead * cos(b.theta), ahead * sin(b.theta), turn])


@listed("B-5.9.71", over=boards)
def momentum_equation(b: Snakeboard) -> Residual:
    first = 2 * b.inertia * cos(b.phi) ** 2 / b.D * b.p_psi * b.phi_dot
    second = (b.inertia + b.J0 * cos(2 * b.phi)) * tan(b.phi) / b.D * b.p * b.phi_dot
    by_shape = 2 * b.J0 * cos(b.phi) ** 2 * b.phi_dot * b.psi_dot - tan(b.phi) * b.phi_dot * b.p
    rate = b.s.rates[1][0]
    return distance(rate, first - second), distance(rate, by_shape)


@listed("B-5.9.71-link", over=boards)
def link(b: Snakeboard) -> Residual:
    def formula(phi: Array | float, p_theta: Array | float) -> Array:
        cot = 1 / tan(phi)
        whole = 2 * (b.inertia - b.J0 * sin(phi) ** 2) * cot * p_theta
        return (whole - 2 * b.inertia * cos(phi) ** 2 * cot * b.p_psi) / (b.inertia - b.J0)

    size = 2 * b.J1 * (1 - b.J0 / b.inertia * sin(b.phi) ** 2)
    rate = b.cot * b.p_phi * (b.p_theta - b.p_psi) / size
    along = derivative(lambda w: formula(b.phi + w[0] * b.rates[4], b.p_theta + w[0] * rate), [0.0])
    return distance(formula(b.phi, b.p_theta), b.p), distance(along[0], b.s.rates[1][0])


@listed("B-5.9.72", over=boards)
def equation_on_the_complement(b: Snakeboard) -> Residual:
    return b.gap_on_complement(_kernel(b))


@cache
def _formulas(planar_kind: str) -> Callable[..., list[Array]]:
    """Rates, H_bar, the form on it and h of the snakeboard as functions of the sample's numbers."""
    board = planar(planar_kind)
    q = {x.name: x for x in (*board.system.coordinates, *board.system.parameters)}
    wide = -2 * q["r"] * sympy.cos(q["phi"]) ** 2
    section = {q["x"]: wide * sympy.cos(q["theta"]), q["y"]: wide * sympy.sin(q["theta"])}
    section[q["theta"]] = sympy.sin(2 * q["phi"])
    chart = {"p_psi": {q["psi"]: 1}, "p_phi": {q["phi"]: 1}, "p": section}
    found = two_form_formulas(board.system, chart, board.group).reduced
    assert found is not None
    parts = [found.rates, found.directions, found.form, found.hamiltonian]
    constants = [q[name] for name in ("m", "r", "J0", "J1")]
    function = sympy.lambdify([list(found.chart), constants], parts, "numpy")
    return cast("Callable[..., list[Array]]", function)


@listed("B-5.9.72-formulas", over=boards)
def formulas(b: Snakeboard) -> Residual:
    evaluate, constants = _formulas(b.s.planar.kind), [b.m, b.r, b.J0, b.J1]
    place = np.array([b.psi, b.phi, b.p_psi, b.p_phi, b.p])
    rates, directions, form, _ = evaluate(place, constants)
    psi_dot = -tan(b.phi) * b.p / (2 * b.D) + b.inertia * b.p_psi / (b.J0 * b.D)
    phi_dot = b.p_phi / (2 * b.J1)
    first = 2 * b.inertia * cos(b.phi) ** 2 / b.D * b.p_psi * phi_dot
    second = (b.inertia + b.J0 * cos(2 * b.phi)) * tan(b.phi) / b.D * b.p * phi_dot
    derivatives = derivative(lambda z: evaluate(z, constants)[3], place)
    inside = np.array([psi_dot, phi_dot, 0.0, 0.0])
    return (
        distance(np.ravel(rates), [psi_dot, phi_dot, 0.0, 0.0, first - second]),
        distance(directions @ inside, np.ravel(rates)),
        distance(form.T @ inside, directions.T @ np.ravel(derivatives)),
    )
