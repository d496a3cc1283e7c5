"""Bloch and others, Internet Supplement, section 5.5: connections of systems with symmetry.

Random systems on S x SE(2) x R of each kind of Table 5.5.1. Momenta and their rates are complex
steps along the library's accelerations, with the generators and Ad_g of the action explicit; S, its
complements and the projections are found by singular values away from the identity.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin

from .... import gallery
from ....analysis.symmetry.connections import connection
from ....errors import FormError
from ....formulations.reduction.bundle_equations import reduce
from ....integrate.simulate import simulate
from ....model.constraints import velocity
from ....model.symbols import Coordinate, coordinates
from ....model.system import System
from ....typing import Array
from ...independent.principal_bundles import (
    GROUP,
    SHAPE,
    SIZE,
    BundleSample,
    G,
    R,
    bundle_system,
    samples,
)
from ...numeric import Residual, Residuals, apart, distance, excess, null_space
from ...row_registry import Corrected, listed

#: The Lie algebra of the horizontal symmetries: SE(2).
H = slice(0, 3)


def _locked(s: BundleSample) -> Any:
    """I(q) of the horizontal symmetries, (3, 3)."""
    K = s.generators[:, H]
    return K.T @ s.mass @ K


def _moving(s: BundleSample) -> Any:
    """(I(q)^-1 mu)_Q with mu = J_H of the velocity, (6,)."""
    mu = s.model.momentum_map(s.q, s.v)[H]
    return s.generators[:, H] @ np.linalg.solve(_locked(s), mu)


@listed("B-5.5.16", over=samples.of("free"))
def unconstrained_reconstruction(s: BundleSample) -> Residual:
    model, found, w = s.model, s.model.connection.at(s.shape), s.speeds
    p = model.adjoint(s.q[G]).T @ model.momentum_map(s.q, s.v)
    inverse = np.linalg.inv(found.locked_inertia)
    return (
        distance(w[G], -found.connection @ w[R] + inverse @ p),
        distance(found.momentum_lift, inverse),
        s.rate(model.momentum_map),
        distance(p, model.body_momentum(s.q, s.v)),
    )


# -- horizontal symmetries -------------------------------------------------------------------------


@listed("B-5.5.17")
def conserved_momentum() -> Residual:
    model, s = bundle_system("horizontal"), samples("horizontal")[0]
    rates = [s.rate(model.momentum_map) for s in samples("horizontal")]
    equations = reduce(model.system, model.group, reconstruct=True)
    start, times = s.place | s.by_name(s.v, suffix="_dot"), [0.0, 0.5, 1.0, 1.5]
    motion = simulate(equations, start, (0, 1.5), rtol=1e-12, at=times)
    q, v = (np.array([motion[f"{name}{end}"] for name in s.place]).T for end in ("", "_dot"))
    values = np.array([model.momentum_map(*state)[H] for state in zip(q, v, strict=True)])
    drift = distance(values, np.broadcast_to(values[0], values.shape))
    return [rate[H] for rate in rates], drift, apart(min(abs(rate[3]) for rate in rates))


@listed("B-5.5.18", over=samples.of("horizontal"))
def symmetric_part(s: BundleSample) -> Residual:
    K, found = s.generators[:, H], s.model.connection.split(s.place).symmetric
    expected = K @ np.linalg.solve(_locked(s), K.T @ s.mass)
    return distance(found, expected), distance(found @ found, found), distance(found @ K, K)


@listed("B-5.5.19", over=samples.of("horizontal"), given={"projection": "symmetric"})
def conservation_as_constraint(s: BundleSample, projection: str) -> Residual:
    return distance(getattr(s.model.connection.split(s.place), projection) @ s.v, _moving(s))


@listed("B-5.5.20", over=samples.of("horizontal", "general"))
def kinematic_part(s: BundleSample) -> Residuals:
    for U in (None, s.oblique):
        here = s.model.connection.split(s.place, complement=U)
        moved = s.model.connection.split(s.there, complement=U)
        rank = np.linalg.matrix_rank(here.kinematic, tol=1e-10)
        yield here.kinematic @ s.allowed, float(rank - len(s.model.rows(s.q)))
        yield distance(here.kinematic @ here.complement, here.complement)
        yield distance(s.pushed @ here.kinematic, moved.kinematic @ s.pushed)


@listed("B-5.5.21")
def ehresmann_connection() -> Corrected:
    def gap(s: BundleSample, U: Array | None, printed: bool) -> Residual:
        A, K = s.projections(U, printed), s.generators
        return distance(A @ A, A), distance(A @ K, K)

    both = samples("horizontal", "general")
    right = [(gap(s, s.oblique, False), gap(s, None, True)) for s in both]
    return Corrected(right, [gap(s, s.oblique, True) for s in both])


@listed("B-Definition-5.5.9", over=samples.of("kinematic", "free"))
def extreme_cases(s: BundleSample) -> Residual:
    kinematic = s.model.kind == "kinematic"
    K, rows = s.generators, s.model.rows(s.q) if kinematic else s.generators.T @ s.mass
    found = s.model.connection.split(s.place)
    rest = found.symmetric if kinematic else found.kinematic
    return distance(found.connection, K @ np.linalg.solve(rows @ K, rows)), rest


listed("B-5.5.22", over=samples.of("horizontal"), given={"projection": "connection"})(
    conservation_as_constraint
)


@listed("B-5.5.22-inertia")
def inertia_along_the_orbit() -> Residual:
    gaps, same = [], []
    for s in samples("horizontal"):
        found, Ad = s.model.connection.momentum_map, s.model.adjoint(s.g)[H, H]
        here, there = (found.inertia(place)[H, H] for place in (s.place, s.there))
        back, mu = np.linalg.inv(Ad), s.mu[H]
        moved = np.linalg.solve(there, mu)
        gaps += [distance(there, back.T @ here @ back), distance(here, _locked(s))]
        gaps.append(distance(moved, Ad @ np.linalg.solve(here, Ad.T @ mu)))
        same.append(distance(moved, Ad @ np.linalg.solve(here, mu)))
    return gaps, apart(min(same))


@listed("B-5.5.23")
def reconstruction() -> Residual:
    gaps: list[Residual] = []
    still = []
    for s in samples("horizontal"):
        model, w = s.model, s.speeds
        found, mu = model.connection.at(s.shape), model.momentum_map(s.q, s.v)
        p = found.section.T @ model.adjoint(s.q[G]).T @ mu
        omega = found.section @ np.linalg.solve(found.locked_inertia, p)
        gaps.append(distance(found.momentum_lift @ p, omega))
        gaps.append(distance(w[G], -found.connection @ w[R] + omega))
        gaps.append(s.rate(model.momentum_map)[H])
        still.append(np.max(np.abs(s.rate(model.body_momentum)[H])))
    return gaps, apart(min(still))


@cache
def _bound_shape() -> tuple[System, dict[str, dict[Coordinate, int]]]:
    """A body with a clamped heading, and the shifts: the constraint binds the shape."""
    x, y, theta = coordinates("x y theta")
    kinetic, clamp = (x.dot**2 + y.dot**2 + theta.dot**2) / 2, velocity(theta.dot, name="clamp")
    return System([x, y, theta], kinetic=kinetic, constraints=[clamp]), {"a": {x: 1}, "b": {y: 1}}


def _rank(*columns: Array) -> int:
    return int(np.linalg.matrix_rank(np.hstack(columns), tol=1e-10))


@listed("B-5.5.24")
def dimension_assumption() -> Residual:
    try:
        connection(*_bound_shape())
        refused = 1.0
    except FormError as error:
        refused = 0.0 if "bind the shape" in str(error) else 1.0
    return [_rank(s.allowed, s.generators) - SIZE for s in samples], refused


@listed("B-5.5.24-base")
def another_base() -> Corrected:
    gaps, missing = [], []
    for s in samples("general"):
        rows = np.vstack([s.model.rows(s.q), [1.0, -0.4, 0, 0, 0, 0]])
        S = s.generators @ null_space(rows @ s.generators)
        level = null_space(np.vstack([rows, S.T @ s.mass])).shape[1]
        together = _rank(null_space(rows), s.generators)
        gaps += [abs(level - (together - GROUP)), abs(together - SIZE + 1)]
        missing.append(SIZE - GROUP + 1 - level)
    system, shifts = _bound_shape()
    taken = connection(system, shifts | {"c": {system.coordinates[2]: 1}})
    return Corrected([gaps, float(taken.shape != ())], float(min(missing)))


def _two_shifts(_: float, z: Array) -> Array:
    """Rates of (x, y, a, b, c) and their velocities: multipliers of a particle, all by hand."""
    (a, b, c), v = z[2:5], z[5:]
    mass = np.diag([1.0, 2.0, 1.0, 1.0, 1.0])
    mass[0, 3] = mass[3, 0] = 1 / 3
    rows = np.array([[0, 0, 0, -a, 1.0], [-b, 1, -c, 0, 0]])
    known = np.array([v[2] * v[3], v[3] * v[0] + v[4] * v[2]])
    saddle = np.block([[mass, -rows.T], [rows, np.zeros((2, 2))]])
    force = np.array([0.0, 0.0, -a, -b, -0.5])
    return np.concatenate([v, np.linalg.solve(saddle, np.concatenate([force, known]))[:5]])


@listed("B-5.5.24-reduced")
def reduced_with_bound_shape() -> Residual:
    x, y, a, b, c = coordinates("x y a b c")
    kinetic = (x.dot**2 + 2 * y.dot**2 + a.dot**2 + b.dot**2 + c.dot**2) / 2 + x.dot * b.dot / 3
    rows = [velocity(c.dot - a * b.dot), velocity(y.dot - b * x.dot - c * a.dot)]
    potential = (a**2 + b**2 + c) / 2
    system = System([x, y, a, b, c], kinetic=kinetic, potential=potential, constraints=rows)
    reduced = reduce(system, {"e_x": {x: 1}, "e_y": {y: 1}}, reconstruct=True)
    start = np.array([0.0, 0.0, 0.3, -0.2, 0.1, 0.4, 0.0, 0.5, 0.6, 0.0])
    start[6], start[9] = start[3] * start[5] + start[4] * start[7], start[2] * start[8]
    names = [s.name for s in (*system.coordinates, *system.velocities)]
    motion = simulate(reduced, dict(zip(names, start, strict=True)), (0, 2), rtol=1e-11)
    exact = solve_ivp(_two_shifts, (0, 2), start, method="DOP853", rtol=1e-12, atol=1e-12)
    ends = [motion[name][-1] for name in names[:5]]
    judged = [verdict.status for verdict in reduced.hypotheses.values()]
    return distance(np.array(ends), exact.y[:5, -1]), float(judged.count("refuted") != 1)


@listed("B-5.5.25", over=samples.of("general", "horizontal"))
def nonholonomic_symmetric_part(s: BundleSample) -> Residual:
    S, M, split = s.model.momentum_directions(s.q), s.mass, s.model.connection.split
    here, there = (split(place).symmetric for place in (s.place, s.there))
    expected = S @ np.linalg.solve(S.T @ M @ S, S.T @ M)
    moved = distance(s.pushed @ here, there @ s.pushed)
    return distance(here, expected), distance(here @ here, here), moved


@listed("B-5.5.25-kinematic", over=samples.of("general"), misprint={"printed": True})
def kinematic_projection(s: BundleSample, printed: bool = False) -> Residual:
    found, M = s.model.connection.split(s.place), s.mass
    U = found.complement
    across = U @ np.linalg.solve(U.T @ M @ U, U.T @ M)
    return distance((across if printed else found.kinematic) @ s.allowed, np.zeros_like(s.allowed))


@listed("B-5.5.25-momenta", over=samples.of("general", "horizontal"))
def constraints_and_momenta(s: BundleSample) -> Residual:
    model, w = s.model, s.speeds
    split, found = model.connection.split(s.place), model.connection.at(s.shape)
    p = found.section.T @ model.body_momentum(s.q, s.v)
    body = np.linalg.inv(model.speeds(s.q))[:, G]
    moving = body @ found.section @ np.linalg.solve(found.locked_inertia, p)
    return (
        split.kinematic @ s.v,
        distance(split.symmetric @ s.v, moving),
        distance(w[G], -found.connection @ w[R] + found.momentum_lift @ p),
    )


@listed("B-Definition-5.5.10", over=samples)
def horizontal_space(s: BundleSample) -> Residual:
    found = s.model.connection.split(s.place).horizontal
    bases = found, s.model.horizontal(s.q)
    gap = distance(*(basis @ np.linalg.pinv(basis) for basis in bases))
    return gap, _rank(found, s.generators) - SIZE


@listed("B-Proposition-5.5.11", over=samples)
def principal(s: BundleSample) -> Residual:
    model, split = s.model, s.model.connection.split
    here = model.adjoint(s.q[G]) @ split(s.place).body_form
    there = model.adjoint(s.moved[G]) @ split(s.there).body_form
    return (
        distance(here @ s.generators, np.eye(GROUP)),
        distance(there @ s.pushed, model.adjoint(s.g) @ here),
        distance(here, model.form(s.q)),
    )


@listed("B-Proposition-5.5.12", over=samples)
def as_sum_of_projections(s: BundleSample) -> Residual:
    local = s.model.connection.at(s.shape).connection
    body = np.hstack([local, np.eye(GROUP)]) @ s.model.speeds(s.q)
    form = s.model.adjoint(s.q[G]) @ body
    whole = distance(s.projections(None, True), s.model.vertical(s.q))
    return whole, distance(form, s.model.form(s.q))


@listed("B-5.5.26")
def independence_of_the_complement() -> Corrected:
    def gap(s: BundleSample, printed: bool, allowed: bool = False) -> float:
        D = s.allowed if allowed else np.eye(SIZE)
        return distance(*(s.projections(U, printed) @ D for U in (None, s.oblique)))

    both = samples("general", "horizontal")
    right = [(gap(s, False), gap(s, True, allowed=True)) for s in both]
    return Corrected(right, [gap(s, True) for s in both])


@listed("B-Table-5.5.1")
def kinds_of_connections() -> Residual:
    names = ("unconstrained", "purely kinematic", "horizontal symmetries", "general")
    kinds = ("free", "kinematic", "horizontal", "general")
    found = [bundle_system(kind).connection.kind for kind in kinds]
    for name in ("snakeboard", "chaplygin-sleigh", "ball-on-rotating-plate"):
        scenario = gallery.load(name)
        found.append(connection(scenario, _plane_or_turns(scenario.system)).kind)
    expected = [*names, "general", "general", "horizontal symmetries"]
    return [float(a != b) for a, b in zip(found, expected, strict=True)]


def _plane_or_turns(system: System) -> dict[str, dict[Coordinate, sympy.Expr]]:
    q = {symbol.name: symbol for symbol in system.coordinates}
    if "theta" not in q:
        return {f"about_{axis}": {q[f"turn_{axis}"]: 1} for axis in "xyz"}
    x, y, angle = q["x"], q["y"], q["theta"]
    c, s = cos(angle), sin(angle)
    return {"ahead": {x: c, y: s}, "aside": {x: -s, y: c}, "turn": {angle: 1}}


@listed("B-5.5-rank")
def jumps_of_rank() -> Residual:
    scenario = gallery.load("snakeboard")
    system = scenario.system
    symbols = {s.name: s for s in (*system.parameters, *system.coordinates)}
    r, phi = symbols["r"], symbols["phi"]
    section = [[-2 * r * cos(phi) ** 2, 0, sin(2 * phi)]]
    found = connection(scenario, _plane_or_turns(system), section=section)
    jumps = found.rank_jumps(within={phi: (-3.0, 3.0)})
    beside = found.at({phi: np.pi / 2 - 1e-5})
    rows = [[-1.0, 0, 0], [1.0, 0, 0]]
    return (
        distance([jump.place["phi"] for jump in jumps], [-np.pi / 2, np.pi / 2]),
        [abs(jump.dimension - 2) + abs(jump.generic - 1) for jump in jumps],
        float(3 - np.linalg.matrix_rank(rows) - 2),
        excess(np.max(np.abs(beside.section)) - 1e-4),
        excess(np.max(np.abs(beside.locked_inertia)) - 1e-8),
        float(len(found.shape) != SHAPE),
    )
