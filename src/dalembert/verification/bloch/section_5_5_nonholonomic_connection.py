"""Bloch and others, Internet Supplement, section 5.5: the nonholonomic connection.

Random systems on S x SE(2) x R, of each kind of Table 5.5.1. The independent implementations find S, its complements and the
projections by singular values at configurations away from the identity.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sympy import cos, sin

from ... import gallery
from ...analysis.symmetry.connections import connection
from ...errors import FormError
from ...model.constraints import velocity
from ...model.symbols import coordinates
from ...model.system import System
from ..independent.principal_bundles import GROUP, SHAPE, SIZE, G, R, Spot, bundle_system, over_spots, spots
from ..numeric import distance, excess, largest, null_space
from ..row_registry import Corrected, claim

RANDOM = "random invariant systems with the group SE(2) x R"
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


@cache
def _bound_shape() -> tuple[System, dict[str, dict[Any, Any]]]:
    """A body with a clamped heading, and the shifts: the constraint binds the shape."""
    x, y, theta = coordinates("x y theta")
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    return System([x, y, theta], kinetic=kinetic, constraints=[velocity(theta.dot, name="clamp")]), {"a": {x: 1}, "b": {y: 1}}


@claim(
    "B-5.5.24",
    "D + T Orb = TQ in all cases of the table; a constraint that binds the shape is refused",
    how=f"{RANDOM}: ranks by singular values; a body with a clamped heading and the group of shifts",
)
def dimension_assumption() -> float:
    def residual(spot: Spot) -> float:
        rows = spot.twin.rows(spot.q)
        D = null_space(rows) if len(rows) else np.eye(SIZE)
        together = int(np.linalg.matrix_rank(np.hstack([D, spot.twin.generators(spot.q)]), tol=1e-10))
        return float(abs(together - SIZE))

    try:
        connection(*_bound_shape())
        refused = 1.0
    except FormError as error:
        refused = 0.0 if "bind the shape" in str(error) else 1.0
    return largest(over_spots(residual), refused)


@claim(
    "B-5.5.24-base",
    "where D + T Orb is not TQ, the horizontal space D n S^perp has dimension dim(D + T Orb) - dim G < dim Q/G: the base of the"
    " connection must be smaller than Q/G, with larger fibres; the print says bigger",
    how=f"{RANDOM}, with a further constraint on the shape: dimensions by singular values; the clamped body, which the library"
    " takes once its heading belongs to the group",
)
def another_base() -> Corrected:
    gaps, missing = [], []
    for spot in spots("general"):
        twin = spot.twin
        rows = np.vstack([twin.rows(spot.q), [1.0, -0.4, 0, 0, 0, 0]])
        K, D = twin.generators(spot.q), null_space(rows)
        S = K @ null_space(rows @ K)
        level = null_space(np.vstack([rows, S.T @ twin.mass(spot.q)])).shape[1]
        together = int(np.linalg.matrix_rank(np.hstack([D, K]), tol=1e-10))
        gaps += [abs(level - (together - GROUP)), abs(together - SIZE + 1)]
        missing.append(SIZE - GROUP + 1 - level)
    system, shifts = _bound_shape()
    taken = connection(system, shifts | {"c": {system.coordinates[2]: 1}})
    return Corrected(largest(*gaps, float(taken.shape != ())), float(min(missing)))


@claim(
    "B-5.5.25",
    "A^sym = (I^-1 J^nhc)_Q is an equivariant projection onto S = D n T Orb, whatever S does along the shape",
    how=f"{RANDOM}: the library's A^sym at q and at g q against the orthogonal projection onto S by singular values",
)
def nonholonomic_symmetric_part() -> float:
    def residual(spot: Spot) -> float:
        twin, push = spot.twin, spot.pushed
        S, M = twin.momentum_directions(spot.q), twin.mass(spot.q)
        here, there = (twin.connection.split(place).symmetric for place in (spot.place, spot.there))
        return largest(
            distance(here, S @ np.linalg.solve(S.T @ M @ S, S.T @ M)),
            distance(here @ here, here),
            distance(push @ here, there @ push),
        )

    return over_spots(residual, "general", "horizontal")


@claim(
    "B-5.5.25-kinematic",
    "A^kin is the projection onto U along D; the orthogonal projection onto U, which the print offers as its default, does not"
    " take D to zero, because horizontal vectors need not be orthogonal to the orbit",
    how=f"{RANDOM}, U orthogonal to S: the library's A^kin and the orthogonal projection by the metric, on D",
)
def kinematic_projection() -> Corrected:
    def gap(spot: Spot, printed: bool) -> float:
        twin, found = spot.twin, spot.twin.connection.split(spot.place)
        U, M, D = found.complement, twin.mass(spot.q), null_space(twin.rows(spot.q))
        across = U @ np.linalg.solve(U.T @ M @ U, U.T @ M)
        return distance((across if printed else found.kinematic) @ D, np.zeros_like(D))

    return Corrected(over_spots(lambda s: gap(s, False), "general"), over_spots(lambda s: gap(s, True), "general"))


@claim(
    "B-5.5.25-momenta",
    "constraints and momenta together: A^kin(q) q_dot = 0 and A^sym(q) q_dot = (I^-1 p)_Q with the nonholonomic momentum"
    " p_b = <L_v, (e_b)_Q>, hence xi = -A_loc r_dot + Gamma p",
    how=f"{RANDOM}: the library's projections, section and Gamma at velocities that obey the constraints",
)
def constraints_and_momenta() -> float:
    def residual(spot: Spot) -> float:
        twin, w = spot.twin, spot.speeds
        split, found = twin.connection.split(spot.place), twin.connection.at(spot.shape)
        p = found.section.T @ twin.body_momentum(spot.q, spot.v)
        body = np.linalg.inv(twin.speeds(spot.q))[:, G]
        return largest(
            distance(split.kinematic @ spot.v, np.zeros(SIZE)),
            distance(split.symmetric @ spot.v, body @ found.section @ np.linalg.solve(found.locked_inertia, p)),
            distance(w[G], -found.connection @ w[R] + found.momentum_lift @ p),
        )

    return over_spots(residual, "general", "horizontal")


@claim(
    "B-Definition-5.5.10",
    "the horizontal space is the orthogonal complement of S within D, and complements the orbit",
    how=f"{RANDOM}: the library's horizontal vectors against the independent implementation's kernel, as projections",
)
def horizontal_space() -> float:
    def residual(spot: Spot) -> float:
        twin, found = spot.twin, spot.twin.connection.split(spot.place).horizontal
        reference = twin.horizontal(spot.q)
        first, second = (basis @ np.linalg.pinv(basis) for basis in (found, reference))
        whole = np.hstack([found, twin.generators(spot.q)])
        return largest(distance(first, second), abs(np.linalg.matrix_rank(whole, tol=1e-10) - SIZE))

    return over_spots(residual)


@claim(
    "B-Proposition-5.5.11",
    "the nonholonomic connection is a principal connection: A(xi_Q) = xi and A(g q)(g v) = Ad_g A(q) v",
    how=f"{RANDOM}: Ad_g of the library's body components at q and at g q, with the explicit tangent of the action",
)
def principal() -> float:
    def residual(spot: Spot) -> float:
        twin = spot.twin
        here = twin.adjoint(spot.q[G]) @ twin.connection.split(spot.place).body_form
        there = twin.adjoint(spot.moved[G]) @ twin.connection.split(spot.there).body_form
        return largest(
            distance(here @ twin.generators(spot.q), np.eye(GROUP)),
            distance(there @ spot.pushed, twin.adjoint(spot.g) @ here),
            distance(here, twin.form(spot.q)),
        )

    return over_spots(residual)


@claim(
    "B-Proposition-5.5.12",
    "regarded as an Ehresmann connection it is A^kin + A^sym for U orthogonal to S, and its local form is A_loc",
    how=f"{RANDOM}: the sum of the library's projections against the independent implementation with that horizontal space; "
    "Ad_g of the library's"
    " A_loc",
)
def as_sum_of_projections() -> float:
    def residual(spot: Spot) -> float:
        twin = spot.twin
        local = twin.connection.at(spot.shape).connection
        body = np.hstack([local, np.eye(GROUP)]) @ twin.speeds(spot.q)
        form = twin.adjoint(spot.q[G]) @ body
        return largest(distance(spot.projections(None, True), twin.vertical(spot.q)), distance(form, twin.form(spot.q)))

    return over_spots(residual)


@claim(
    "B-5.5.26",
    "A does not depend on the complement U where A^sym acts on what A^kin leaves, and on D A^kin + A^sym does not either; the"
    " sum in print changes with U off the constraints",
    how=f"{RANDOM}: the library's parts for an orthogonal and for an oblique U",
)
def independence_of_the_complement() -> Corrected:
    def gap(spot: Spot, printed: bool) -> float:
        first, second = (spot.projections(U, printed) for U in (None, spot.oblique))
        return distance(first, second)

    def allowed(spot: Spot) -> float:
        D = null_space(spot.twin.rows(spot.q))
        first, second = (spot.projections(U, True) @ D for U in (None, spot.oblique))
        return distance(first, second)

    kinds = ("general", "horizontal")
    right = largest(over_spots(lambda s: gap(s, False), *kinds), over_spots(allowed, *kinds))
    return Corrected(right, over_spots(lambda s: gap(s, True), *kinds))


@claim(
    "B-Table-5.5.1",
    "unconstrained where D = TQ, purely kinematic where S = 0, horizontal symmetries where S is the orbit of one subgroup, else"
    " general: the ball on a rotating plate is of the third kind, snakeboard and sleigh are of the fourth",
    how=f"the library's kind for {RANDOM} of each case, and for the gallery's systems",
)
def kinds_of_connections() -> float:
    expected = {
        "free": "unconstrained",
        "kinematic": "purely kinematic",
        "horizontal": "horizontal symmetries",
        "general": "general",
    }
    wrong = [kind for kind, name in expected.items() if bundle_system(kind).connection.kind != name]
    for name, kind in (
        ("snakeboard", "general"),
        ("chaplygin-sleigh", "general"),
        ("ball-on-rotating-plate", "horizontal symmetries"),
    ):
        scenario = gallery.load(name)
        if connection(scenario, _plane_or_turns(scenario.system)).kind != kind:
            wrong.append(name)
    return float(len(wrong))


def _plane_or_turns(system: System) -> dict[str, dict[Any, Any]]:
    q = {symbol.name: symbol for symbol in system.coordinates}
    if "theta" not in q:
        return {name: {symbol: 1} for name, symbol in (("a", q["turn_x"]), ("b", q["turn_y"]), ("c", q["turn_z"]))}
    x, y, angle = q["x"], q["y"], q["theta"]
    return {"ahead": {x: cos(angle), y: sin(angle)}, "aside": {x: -sin(angle), y: cos(angle)}, "turn": {angle: 1}}


@claim(
    "B-5.5-rank",
    "the dimension of S may jump: on the snakeboard at phi = pi/2 it is 2, and e and I_loc vanish there",
    how="the library's search from phi = -3 to 3 against pi/2; its section and I_loc just beside, explicit rows by singular"
    " values",
)
def jumps_of_rank() -> float:
    scenario = gallery.load("snakeboard")
    system = scenario.system
    r, phi = (next(s for s in (*system.parameters, *system.coordinates) if s.name == name) for name in ("r", "phi"))
    section = [[-2 * r * cos(phi) ** 2, 0, sin(2 * phi)]]
    found = connection(scenario, _plane_or_turns(system), section=section)
    jumps = found.rank_jumps(within={phi: (-3.0, 3.0)})
    beside = found.at({phi: np.pi / 2 - 1e-5})
    rows = [[-1.0, 0, 0], [1.0, 0, 0]]
    return largest(
        distance([jump.place["phi"] for jump in jumps], [-np.pi / 2, np.pi / 2]),
        *(abs(jump.dimension - 2) + abs(jump.generic - 1) for jump in jumps),
        abs(3 - np.linalg.matrix_rank(rows) - 2),
        excess(np.max(np.abs(beside.section)) - 1e-4),
        excess(np.max(np.abs(beside.locked_inertia)) - 1e-8),
        float(len(found.shape) != SHAPE),
    )
