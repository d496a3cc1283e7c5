"""Bloch and others, Internet Supplement, section 6.6: the knife edge, its reduced equations,
brackets, holonomy and feedback.

All constants are one. The library gives accelerations, reactions, motions, controllability and
loops; independent implementations are complex steps of the variables z, brackets by SymPy, and the
covector that annihilates the rates.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import sympy
from numpy import cos, sin

from .... import gallery
from ....analysis.stability.stability import stability
from ....control.steering.controllability import Controllability, controllability
from ....control.steering.fibration import fibration, kinematic_flow
from ....control.steering.holonomy import Holonomy, holonomy
from ....control.steering.holonomy_loops import holonomy_loop
from ....control.steering.loop_feedback import stabilise_by_loops
from ....formulations.registry import derive
from ....integrate.simulate import simulate
from ....model.flow_system import Flow
from ....model.symbols import Parameter, coordinates, inputs
from ....typing import Array
from ...numeric import Probe, Residual, Residuals, derivative, distance, excess
from ...row_registry import Corrected, listed
from ...samples import Sampler

Z = ("z1", "z2", "z3", "z4", "z5")


# -- both descriptions -----------------------------------------------------------------------------


@cache
def blade() -> Probe:
    """The gallery's knife edge with unit constants and inputs that are parameters."""
    given = {"u1": Parameter("push"), "u2": Parameter("torque")}
    system = gallery.load("knife-edge").system.driven(given)
    return Probe(derive(system, "lagrange"), {"m": 1.0, "J": 1.0, "push": 0.0, "torque": 0.0})


@cache
def reduced() -> Flow:
    """The reduced equations (6.6.18) to (6.6.22) as a flow."""
    z1, z2, z3, z4, z5 = coordinates(" ".join(Z))
    u1, u2 = inputs("u1 u2")
    rates = {z1: z4, z2: z5, z3: -z1 * z5, z4: u1 + u2 * z3 - z1 * z5**2, z5: u2}
    return Flow(rates, inputs=[u1, u2], name="Knife edge in z")


def variables(state: Array) -> Array:
    """z_1, ..., z_5 of (x, y, varphi, x_dot, y_dot, varphi_dot)."""
    x, y, phi, u, v, w = state
    c, s = cos(phi), sin(phi)
    return np.array([x * c + y * s, phi, -x * s + y * c, u * c + v * s - w * (x * s - y * c), w])


class DrivenState(NamedTuple):
    """A state on the constraint (6,) with inputs (u_1, u_2)."""

    y: Array
    u: Array

    @property
    def probe(self) -> Probe:
        return blade().with_parameters(push=float(self.u[0]), torque=float(self.u[1]))

    @property
    def rates(self) -> Array:
        """The library's rates (6,)."""
        return np.asarray(self.probe.rates(0.0, self.y))

    @property
    def multiplier(self) -> float:
        """lambda = -(x_dot cos + y_dot sin) varphi_dot."""
        _, _, phi, u, v, w = self.y
        return float(-(u * cos(phi) + v * sin(phi)) * w)


@Sampler
def samples(kind: str) -> list[DrivenState]:
    random = np.random.default_rng(66)
    found = []
    for _ in range(6):
        x, y, phi, speed, turn = random.uniform(-2, 2, 5)
        state = np.array([x, y, phi, speed * cos(phi), speed * sin(phi), turn])
        found.append(DrivenState(state, random.uniform(-2, 2, 2)))
    return found


@listed("B-6.6.14", over=samples, given={"row": 0})
@listed("B-6.6.15", over=samples, given={"row": 1})
@listed("B-6.6.16", over=samples, given={"row": 2})
def accelerations(s: DrivenState, row: int) -> Residual:
    c, si, force = cos(s.y[2]), sin(s.y[2]), s.multiplier
    printed = (force * si + s.u[0] * c, -force * c + s.u[0] * si, s.u[1])
    return distance(s.rates[3 + row], printed[row])


@listed("B-6.6-multiplier", over=samples)
def reaction(s: DrivenState) -> Residual:
    expected = s.multiplier * np.array([sin(s.y[2]), -cos(s.y[2]), 0.0])
    return distance(s.probe.reaction(0.0, s.y), expected)


@listed("B-6.6.17", over=samples)
def degree(s: DrivenState) -> Residual:
    flow = kinematic_flow(gallery.load("knife-edge").system)
    found = controllability(flow, dict(zip(("x", "y", "varphi"), s.y[:3], strict=True)))
    return float(found.growth != (2, 3) or found.degree_of_nonholonomy != 2)


@listed("B-6.6-manifold", over=samples)
def manifold(s: DrivenState) -> Residual:
    row = derivative(lambda y: y[3] * sin(y[2]) - y[4] * cos(y[2]), s.y)
    rest = DrivenState(np.concatenate([s.y[:3], np.zeros(3)]), np.zeros(2))
    return float(np.linalg.norm(row) < 0.5), rest.rates


@listed("B-6.6.18", over=samples, given={"row": 0})
@listed("B-6.6.19", over=samples, given={"row": 1})
@listed("B-6.6.20", over=samples, given={"row": 2})
@listed("B-6.6.21", over=samples, given={"row": 3})
@listed("B-6.6.22", over=samples, given={"row": 4})
def reduced_rates(s: DrivenState, row: int) -> Residual:
    z1, _, z3, z4, z5 = variables(s.y)
    expected = (z4, z5, -z1 * z5, s.u[0] + s.u[1] * z3 - z1 * z5**2, s.u[1])[row]
    return distance((derivative(variables, s.y) @ s.rates)[row], expected)


@listed("B-6.6-motion")
def motions() -> Residual:
    times = np.linspace(0, 10, 21)
    motion = simulate(gallery.load("knife-edge"), at=times, rtol=1e-12)
    names = ("x", "y", "varphi", "x_dot", "y_dot", "varphi_dot")
    expected = variables(np.stack([motion[name] for name in names]))
    given = {"u1": lambda t, _: 0.1, "u2": lambda t, _: 0.2 * np.sin(t)}
    start = dict(zip(Z, expected[:, 0], strict=True))
    found = simulate(reduced(), start, (0, 10), inputs=given, at=times, rtol=1e-12)
    return distance([found[name] for name in start], expected)


# -- Proposition 6.6.4 -----------------------------------------------------------------------------


@cache
def fields() -> tuple[sympy.Matrix, sympy.Matrix, sympy.Matrix, sympy.Matrix]:
    """The symbols, f, g1 and g2 in SymPy."""
    flow = reduced()
    u1, u2 = flow.inputs
    rates = sympy.Matrix(list(flow.rates.values()))
    drift = rates.subs({u1: 0, u2: 0})
    return sympy.Matrix(flow.coordinates), drift, rates.diff(u1), rates.diff(u2)


def bracket(a: sympy.Matrix, b: sympy.Matrix) -> sympy.Matrix:
    """[a, b] = Db a - Da b."""
    symbols = fields()[0]
    return (b.jacobian(symbols) * a - a.jacobian(symbols) * b).applyfunc(sympy.expand)


@cache
def reports() -> tuple[Controllability, ...]:
    """What the library says at some equilibria (z1, z2, z3, 0, 0)."""
    numbers = np.random.default_rng(9).uniform(-2, 2, (3, 3))
    places = [{}, *(dict(zip(Z[:3], row, strict=True)) for row in numbers)]
    return tuple(controllability(reduced(), place) for place in places)


@listed("B-Proposition-6.6.4-1")
def smooth_to_a_manifold() -> Residuals:
    flow = reduced()
    z1, z2, z3, z4, z5 = flow.coordinates
    v1, v2 = -4 * z1 - 4 * z4, -4 * z2 - 4 * z5
    equations = derive(flow.driven({"u1": v1 - v2 * z3 + z1 * z5**2, "u2": v2}))
    judged = stability(equations, {"z3": 0.7})
    # Double eigenvalues move by the root of the rounding: their symmetric functions do not.
    polynomial = np.poly(judged.linearisation.matrix)
    yield [
        float(judged.verdict != "stable" or not judged.manifold),
        distance(polynomial, np.poly([0.0, -2.0, -2.0, -2.0, -2.0])),
    ]
    for start in np.random.default_rng(2).uniform(-2, 2, (4, 5)):
        motion = simulate(equations, dict(zip(Z, start, strict=True)), (0.0, 20.0))
        yield [motion[name][-1] for name in ("z1", "z2", "z4", "z5")]


@listed("B-Proposition-6.6.4-2")
def no_smooth_feedback() -> Residual:
    tests = [found.brockett for found in reports()]
    found = [float(test is None or test.verdict != "fails") for test in tests]
    for z1, _, z3, z4, z5, u1, u2 in np.random.default_rng(4).uniform(-2, 2, (6, 7)):
        rates = np.array([z4, z5, -z1 * z5, u1 + u2 * z3 - z1 * z5**2, u2])
        found.append(float(np.array([0.0, z1, 1.0, 0.0, 0.0]) @ rates))
    return found


@listed("B-Proposition-6.6.4-3")
def strongly_accessible() -> Residual:
    _, f, g1, g2 = fields()
    columns = [g1, g2, bracket(g1, f), bracket(g2, f), bracket(g2, bracket(f, bracket(g1, f)))]
    determinant = sympy.expand(sympy.Matrix.hstack(*columns).det())
    missing = [float(not found.is_strongly_accessible) for found in reports()]
    return float(determinant != 1), missing


@listed("B-Proposition-6.6.4-4")
def small_time() -> Residual:
    _, f, g1, g2 = fields()
    rest = dict(zip(fields()[0], (0.7, -0.4, 1.3, 0, 0), strict=True))
    lower = sympy.Matrix.hstack(g1, g2, bracket(f, g1), bracket(f, g2)).subs(rest)
    found = [float(one.small_time != "controllable") for one in reports()]
    for g in (g1, g2):
        square = bracket(g, bracket(f, g)).subs(rest)
        both = np.array(sympy.Matrix.hstack(lower, square), dtype=float)
        found.append(float(np.linalg.matrix_rank(both) != np.linalg.matrix_rank(both[:, :-1])))
    return found


# -- holonomy --------------------------------------------------------------------------------------


def _around(a: float, b: float) -> Holonomy:
    """What the loop (0, 0), (a, 0), (a, b), (0, b) does to z3."""
    return holonomy(reduced(), [(0, 0), (a, 0), (a, b), (0, b)])


@listed("B-6.6-holonomy")
def loop_integral() -> Corrected:
    around = [(a * b, _around(a, b)) for a, b in ((0.8, 1.3), (-1.1, 0.6), (2.0, -0.5))]
    right = [np.array([x.displacement, x.by_curvature]) + area for area, x in around]
    return Corrected(right, min(abs(float(x.displacement[0]) - area) for area, x in around))


@listed("B-6.6-loop")
def wanted_loop() -> Residual:
    found = [float(holonomy_loop(reduced(), 0.0).path is not None)]
    for z3 in (2.0, -0.7):
        corners = holonomy_loop(reduced(), -z3).corners
        if corners is None:
            return np.inf
        (a, b), side = corners[2], np.sqrt(abs(z3))
        found += [a - side * np.sign(z3), b - side, z3 + _around(a, b).displacement[0]]
    return found


@listed("B-6.6-feedback")
def feedback() -> Residual:
    plan = fibration(reduced())
    starts = np.random.default_rng(6).uniform(-2, 2, (20, 5))
    found = [stabilise_by_loops(plan, dict(zip(Z, start, strict=True))) for start in starts]
    return [one.norms[-1] for one in found], excess(max(one.rounds for one in found) - 1)
