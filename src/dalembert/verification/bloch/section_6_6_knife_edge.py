"""Bloch and others, Internet Supplement, section 6.6: the knife edge, its reduced equations, brackets, holonomy and feedback.

All constants are one. The library gives accelerations, reactions, motions, controllability and loops; independent
implementations are complex steps of the variables z, brackets by SymPy, and the covector that annihilates the rates.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy

from ... import gallery
from ...analysis.stability.stability import stability
from ...control.steering.controllability import controllability
from ...control.steering.fibration import fibration, kinematic_flow
from ...control.steering.holonomy import holonomy, holonomy_loop
from ...control.steering.loop_feedback import stabilise_by_loops
from ...formulations.registry import derive
from ...integrate.simulate import simulate
from ...model.flow_system import Flow
from ...model.symbols import Parameter, coordinates, inputs
from ..numeric import Probe, derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

RANDOM = "random states and inputs"


# -- both descriptions ---------------------------------------------------------------------------------------------------


@cache
def blade() -> Probe:
    """The gallery's knife edge with unit constants and inputs that are parameters."""
    system = gallery.load("knife-edge").system.driven({"u1": Parameter("push"), "u2": Parameter("torque")})
    return Probe(derive(system, "lagrange"), {"m": 1.0, "J": 1.0, "push": 0.0, "torque": 0.0})


@cache
def reduced() -> Flow:
    """The reduced equations (6.6.18) to (6.6.22) as a flow."""
    z1, z2, z3, z4, z5 = coordinates("z1 z2 z3 z4 z5")
    u1, u2 = inputs("u1 u2")
    return Flow({z1: z4, z2: z5, z3: -z1 * z5, z4: u1 + u2 * z3 - z1 * z5**2, z5: u2}, inputs=[u1, u2], name="Knife edge in z")


def variables(state: Any) -> Any:
    """z_1, ..., z_5 of (x, y, varphi, x_dot, y_dot, varphi_dot)."""
    x, y, phi, u, v, w = state
    c, s = np.cos(phi), np.sin(phi)
    return np.array([x * c + y * s, phi, -x * s + y * c, u * c + v * s - w * (x * s - y * c), w])


@cache
def samples() -> tuple[tuple[Any, Any], ...]:
    """Random states on the constraint with random inputs (u_1, u_2)."""
    random = np.random.default_rng(66)
    found = []
    for _ in range(6):
        x, y, phi, speed, turn = random.uniform(-2, 2, 5)
        found.append((np.array([x, y, phi, speed * np.cos(phi), speed * np.sin(phi), turn]), random.uniform(-2, 2, 2)))
    return tuple(found)


def rates_of(state: Any, u: Any) -> Any:
    """The library's rates of the six symbols."""
    return blade().with_parameters(push=float(u[0]), torque=float(u[1])).rates(0.0, state)


def multiplier(state: Any) -> float:
    """lambda = -(x_dot cos + y_dot sin) varphi_dot."""
    _, _, phi, u, v, w = state
    return float(-(u * np.cos(phi) + v * np.sin(phi)) * w)


def _accelerations(row: int) -> float:
    """The library's acceleration against the printed right side with that multiplier."""

    def printed(state: Any, u: Any) -> tuple[float, ...]:
        c, s, force = np.cos(state[2]), np.sin(state[2]), multiplier(state)
        return force * s + u[0] * c, -force * c + u[0] * s, u[1]

    return worst([distance(rates_of(state, u)[3 + row], printed(state, u)[row]) for state, u in samples()])


@claim("B-6.6.14", "x'' = lambda sin varphi + u1 cos varphi", how=f"{RANDOM}: the library's accelerations")
def along_x() -> float:
    return _accelerations(0)


@claim("B-6.6.15", "y'' = -lambda cos varphi + u1 sin varphi", how=f"{RANDOM}: the library's accelerations")
def along_y() -> float:
    return _accelerations(1)


@claim("B-6.6.16", "varphi'' = u2", how=f"{RANDOM}: the library's accelerations")
def turning() -> float:
    return _accelerations(2)


@claim(
    "B-6.6-multiplier",
    "The force of the constraint is lambda (sin varphi, -cos varphi, 0) with lambda = -(x_dot cos + y_dot sin) varphi_dot",
    how=f"{RANDOM}: the library's reaction",
)
def reaction() -> float:
    found = []
    for state, u in samples():
        probe = blade().with_parameters(push=float(u[0]), torque=float(u[1]))
        expected = multiplier(state) * np.array([np.sin(state[2]), -np.cos(state[2]), 0.0])
        found.append(distance(probe.reaction(0.0, state), expected))
    return worst(found)


@claim(
    "B-6.6.17",
    "x_dot sin varphi - y_dot cos varphi = 0 has the degree of nonholonomy two at any configuration",
    how="the library's growth vector (2, 3) of the kinematics at random configurations",
)
def degree() -> float:
    flow = kinematic_flow(gallery.load("knife-edge").system)
    found = [controllability(flow, dict(zip(("x", "y", "varphi"), state[:3], strict=True))) for state, _ in samples()]
    return float(any(one.growth != (2, 3) or one.degree_of_nonholonomy != 2 for one in found))


@claim(
    "B-6.6-manifold",
    "The constraint manifold M has five dimensions, and any configuration at rest is an equilibrium without inputs",
    how=f"{RANDOM}: the derivative of the constraint, and the library's rates at rest",
)
def manifold() -> float:
    found = []
    for state, _ in samples():
        row = derivative(lambda y: y[3] * np.sin(y[2]) - y[4] * np.cos(y[2]), state)
        rest = np.concatenate([state[:3], np.zeros(3)])
        found += [float(np.linalg.norm(row) < 0.5), np.abs(rates_of(rest, np.zeros(2))).max()]
    return worst(found)


def _reduced_rate(row: int) -> float:
    """d z_i / dt by the derivative of z along the library's rates, against the reduced equation."""
    found = []
    for state, u in samples():
        z1, _, z3, z4, z5 = variables(state)
        expected = (z4, z5, -z1 * z5, u[0] + u[1] * z3 - z1 * z5**2, u[1])[row]
        found.append(distance((derivative(variables, state) @ rates_of(state, u))[row], expected))
    return worst(found)


@claim("B-6.6.18", "z1' = z4", how=f"{RANDOM}: complex steps of z along the library's rates")
def rate_1() -> float:
    return _reduced_rate(0)


@claim("B-6.6.19", "z2' = z5", how=f"{RANDOM}: complex steps of z along the library's rates")
def rate_2() -> float:
    return _reduced_rate(1)


@claim("B-6.6.20", "z3' = -z1 z5", how=f"{RANDOM}: complex steps of z along the library's rates")
def rate_3() -> float:
    return _reduced_rate(2)


@claim("B-6.6.21", "z4' = u1 + u2 z3 - z1 z5^2", how=f"{RANDOM}: complex steps of z along the library's rates")
def rate_4() -> float:
    return _reduced_rate(3)


@claim("B-6.6.22", "z5' = u2", how=f"{RANDOM}: complex steps of z along the library's rates")
def rate_5() -> float:
    return _reduced_rate(4)


@claim(
    "B-6.6-motion",
    "Motions of (6.6.18) to (6.6.22) are those of the knife edge in the variables z",
    how="the gallery's knife edge against the flow under the same inputs, ten units of time",
    tolerance=1e-8,
)
def motions() -> float:
    scenario = gallery.load("knife-edge")
    times = np.linspace(0, 10, 21)
    motion = simulate(scenario, at=times, rtol=1e-12)
    names = ("x", "y", "varphi", "x_dot", "y_dot", "varphi_dot")
    expected = variables(np.stack([motion[name] for name in names]))
    given = {"u1": lambda t, _: 0.1, "u2": lambda t, _: 0.2 * np.sin(t)}
    start = dict(zip(("z1", "z2", "z3", "z4", "z5"), expected[:, 0], strict=True))
    found = simulate(reduced(), start, (0, 10), inputs=given, at=times, rtol=1e-12)
    return distance([found[name] for name in start], expected)


# -- Proposition 6.6.4 ---------------------------------------------------------------------------------------------------


@cache
def fields() -> tuple[Any, Any, Any, Any]:
    """The symbols, f, g1 and g2 in SymPy."""
    flow = reduced()
    u1, u2 = flow.inputs
    rates = sympy.Matrix(list(flow.rates.values()))
    return sympy.Matrix(flow.coordinates), rates.subs({u1: 0, u2: 0}), rates.diff(u1), rates.diff(u2)


def bracket(a: Any, b: Any) -> Any:
    """[a, b] = Db a - Da b."""
    symbols = fields()[0]
    return (b.jacobian(symbols) * a - a.jacobian(symbols) * b).applyfunc(sympy.expand)


def equilibria() -> list[dict[str, float]]:
    """Some points (z1, z2, z3, 0, 0)."""
    random = np.random.default_rng(9)
    return [{}] + [dict(zip(("z1", "z2", "z3"), random.uniform(-2, 2, 3), strict=True)) for _ in range(3)]


@claim(
    "B-Proposition-6.6.4-1",
    "A smooth feedback makes the equilibria z1 = z2 = 0, transverse to the fibre, attracting: u2 = v2,"
    " u1 = v1 - v2 z3 + z1 z5^2 with v_i = -4 z_i - 4 z_i'",
    how="the library's verdict (Lyapunov and Malkin), the four eigenvalues -2, and motions from random starts",
    tolerance=1e-8,
)
def smooth_to_a_manifold() -> float:
    flow = reduced()
    z1, z2, z3, z4, z5 = flow.coordinates
    v1, v2 = -4 * z1 - 4 * z4, -4 * z2 - 4 * z5
    equations = derive(flow.driven({"u1": v1 - v2 * z3 + z1 * z5**2, "u2": v2}))
    verdict = stability(equations, {"z3": 0.7})
    found = [float(verdict.verdict != "stable" or not verdict.manifold)]
    # Double eigenvalues move by the root of the rounding: their symmetric functions do not.
    found.append(distance(np.poly(verdict.linearisation.matrix), np.poly([0.0, -2.0, -2.0, -2.0, -2.0])))
    for start in np.random.default_rng(2).uniform(-2, 2, (4, 5)):
        motion = simulate(equations, dict(zip(("z1", "z2", "z3", "z4", "z5"), start, strict=True)), (0.0, 20.0))
        found += [abs(motion[name][-1]) for name in ("z1", "z2", "z4", "z5")]
    return worst(found)


@claim(
    "B-Proposition-6.6.4-2",
    "No smooth feedback stabilises an equilibrium: (0, z1, 1, 0, 0) annihilates all rates, which so miss its own multiples",
    how="Brockett's condition by the library at four equilibria, and the covector at random states",
)
def no_smooth_feedback() -> float:
    found = [float(found.brockett is None or found.brockett.verdict != "fails") for found in reports()]
    random = np.random.default_rng(4)
    for z1, _, z3, z4, z5, u1, u2 in random.uniform(-2, 2, (6, 7)):
        rates = np.array([z4, z5, -z1 * z5, u1 + u2 * z3 - z1 * z5**2, u2])
        found.append(float(np.array([0.0, z1, 1.0, 0.0, 0.0]) @ rates))
    return worst(found)


@cache
def reports() -> tuple[Any, ...]:
    """What the library says at some equilibria."""
    return tuple(controllability(reduced(), place) for place in equilibria())


@claim(
    "B-Proposition-6.6.4-3",
    "g1, g2, [g1, f], [g2, f], [g2, [f, [g1, f]]] have determinant 1, and so dimension 5: the system is strongly accessible",
    how="the determinant by SymPy, and the library's rank at four equilibria",
)
def strongly_accessible() -> float:
    _, f, g1, g2 = fields()
    columns = [g1, g2, bracket(g1, f), bracket(g2, f), bracket(g2, bracket(f, bracket(g1, f)))]
    determinant = sympy.expand(sympy.Matrix.hstack(*columns).det())
    ranks = [float(not found.is_strongly_accessible) for found in reports()]
    return largest(float(determinant != 1), *ranks)


@claim(
    "B-Proposition-6.6.4-4",
    "The system is small-time locally controllable: good brackets span at degree four, and no bad one below it is left",
    how="Sussmann's condition by the library at four equilibria; the bad brackets of degree three by SymPy",
)
def small_time() -> float:
    _, f, g1, g2 = fields()
    rest = dict(zip(fields()[0], (0.7, -0.4, 1.3, 0, 0), strict=True))
    lower = sympy.Matrix.hstack(g1, g2, bracket(f, g1), bracket(f, g2)).subs(rest)
    found = []
    for g in (g1, g2):
        square = bracket(g, bracket(f, g)).subs(rest)
        both = np.array(sympy.Matrix.hstack(lower, square), dtype=float)
        found.append(float(np.linalg.matrix_rank(both) != np.linalg.matrix_rank(both[:, :-1])))
    found += [float(one.small_time != "controllable") for one in reports()]
    return worst(found)


# -- holonomy ------------------------------------------------------------------------------------------------------------


def _fibre_after(a: float, b: float) -> Any:
    """What the loop (0, 0), (a, 0), (a, b), (0, b) does to z3."""
    return holonomy(reduced(), [(0, 0), (a, 0), (a, b), (0, b)])


SIDES = ((0.8, 1.3), (-1.1, 0.6), (2.0, -0.5))


@claim(
    "B-6.6-holonomy",
    "Round (0, 0), (z1, 0), (z1, z2), (0, z2) z3 moves by -z1 z2; the printed z3 = z1 z2 is the start that this takes to zero",
    how="three loops, along the path and by curvature",
    tolerance=1e-9,
)
def loop_integral() -> Corrected:
    moved = [(a * b, _fibre_after(a, b)) for a, b in SIDES]
    right = [largest(found.displacement[0] + area, found.by_curvature[0] + area) for area, found in moved]
    return Corrected(worst(right), min(abs(float(found.displacement[0]) - area) for area, found in moved))


@claim(
    "B-6.6-loop",
    "a* = sqrt|z3| sign z3 and b* = sqrt|z3| take z3 to zero; z3 = 0 needs no loop",
    how="the library's loops for z3 = 2, -0.7 and 0, and their holonomy",
    tolerance=1e-9,
)
def wanted_loop() -> float:
    found = []
    for z3 in (2.0, -0.7):
        loop = holonomy_loop(reduced(), -z3)
        a, b = loop.corners[2]
        found += [a - np.sqrt(abs(z3)) * np.sign(z3), b - np.sqrt(abs(z3)), z3 + _fibre_after(a, b).displacement[0]]
    return largest(*found, float(holonomy_loop(reduced(), 0.0).path is not None))


@claim(
    "B-6.6-feedback",
    "The feedback by loops brings the knife edge to the origin",
    how="the library's piecewise law from 20 random starts of all five variables",
    tolerance=1e-6,
)
def feedback() -> float:
    plan = fibration(reduced())
    starts = np.random.default_rng(6).uniform(-2, 2, (20, 5))
    found = [stabilise_by_loops(plan, dict(zip(("z1", "z2", "z3", "z4", "z5"), start, strict=True))) for start in starts]
    return largest(*(one.norms[-1] for one in found), excess(max(one.rounds for one in found) - 1))
