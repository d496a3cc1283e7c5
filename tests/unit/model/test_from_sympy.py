"""Systems from SymPy's mechanics have SymPy's own accelerations."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import (
    KanesMethod,
    LagrangesMethod,
    Particle,
    Point,
    ReferenceFrame,
    RigidBody,
    dot,
    dynamicsymbols,
    inertia,
)

from dalembert.errors import ModelError
from dalembert.model.constraints import HolonomicConstraint, VelocityConstraint
from dalembert.model.forces import rate
from dalembert.model.from_sympy import from_sympy
from dalembert.model.symbols import t
from dalembert.model.system import System

CLOCK = dynamicsymbols._t


def our_accelerations(system: System, values: dict[str, float]) -> np.ndarray:
    """q_ddot by Lagrange's equations with multipliers, in NumPy: the shortest rival of every formulation."""
    q, v = list(system.coordinates), list(system.velocities)
    L = system.lagrangian
    gradient = sympy.Matrix([L.diff(s) for s in v])
    mass = gradient.jacobian(v)
    force = sympy.Matrix([L.diff(s) + system.forces.get(s, 0) for s in q]) - gradient.jacobian(q) * sympy.Matrix(v)
    force -= gradient.diff(t)
    rows = sympy.Matrix(
        [rate(c.expression) if isinstance(c, HolonomicConstraint) else c.expression for c in system.constraints]
    )
    count = len(system.constraints)
    A = rows.jacobian(v) if count else sympy.zeros(0, len(q))
    b = -(rows.jacobian(q) * sympy.Matrix(v) + rows.diff(t)) if count else sympy.zeros(0, 1)

    def number(matrix: sympy.Matrix) -> np.ndarray:
        table = {s: values[s.name] for s in matrix.free_symbols}
        return np.array(matrix.xreplace(table).evalf().tolist(), dtype=float).reshape(matrix.shape)

    left = np.block([[number(mass), -number(A).T], [number(A), np.zeros((count, count))]])
    right = np.concatenate([number(force).ravel(), number(b).ravel()])
    return np.linalg.lstsq(left, right, rcond=1e-12)[0][: len(q)]


def sympy_values(expression: sympy.Matrix, values: dict[str, float], rates: dict[sympy.Expr, float]) -> np.ndarray:
    table = {s: values[s.func.__name__] for s in expression.atoms(sympy.core.function.AppliedUndef)}
    table |= {s: values[s.name] for s in expression.free_symbols if s != CLOCK} | {CLOCK: values["t"]}
    numbers = expression.xreplace(rates).xreplace(table).evalf()
    return np.array(numbers.tolist(), dtype=float).reshape(expression.shape)


class Draw(dict):
    """Random values by name, the same for both sides."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.source = np.random.default_rng(seed)

    def __missing__(self, key: str) -> float:
        self[key] = self.source.uniform(0.3, 1.3)
        return self[key]


def check_lagrange(method: LagrangesMethod) -> System:
    method.form_lagranges_equations()
    system = from_sympy(method)
    for seed in range(3):
        values = Draw(seed)
        rates = {q.diff(CLOCK): values[f"{q.func.__name__}_dot"] for q in method.q}
        left = sympy_values(method.mass_matrix_full, values, rates)
        right = sympy_values(method.forcing_full, values, rates)
        theirs = np.linalg.solve(left, right)[len(method.q) : 2 * len(method.q), 0]
        np.testing.assert_allclose(our_accelerations(system, values), theirs, rtol=1e-9, atol=1e-9)
    return system


def check_kane(method: KanesMethod) -> System:
    if method._fr is None:
        method.kanes_equations(method.bodies, method.loads or None)
    system = from_sympy(method)
    kinematic = sympy.Matrix([method.kindiffdict()[q.diff(CLOCK)] for q in method.q])
    for seed in range(3):
        values = Draw(seed)
        left = sympy_values(method.mass_matrix, values, {})
        right = sympy_values(method.forcing, values, {})
        speed_rates = np.linalg.solve(left, right)[:, 0]
        q_dot = sympy_values(kinematic, values, {})[:, 0]
        rates = {q.diff(CLOCK): float(value) for q, value in zip(method.q, q_dot, strict=True)}
        rates |= {u.diff(CLOCK): float(value) for u, value in zip(method.u, speed_rates, strict=True)}
        theirs = sympy_values(kinematic.diff(CLOCK), values, rates)[:, 0]
        values |= {f"{q.func.__name__}_dot": float(value) for q, value in zip(method.q, q_dot, strict=True)}
        np.testing.assert_allclose(our_accelerations(system, values), theirs, rtol=1e-8, atol=1e-8)
    return system


def double_pendulum() -> tuple[ReferenceFrame, list[Point], list[sympy.Expr]]:
    q1, q2 = dynamicsymbols("q1 q2")
    l1, l2 = sympy.symbols("l1 l2")
    N = ReferenceFrame("N")
    A, B = N.orientnew("A", "Axis", [q1, N.z]), N.orientnew("B", "Axis", [q2, N.z])
    origin = Point("O")
    origin.set_vel(N, 0)
    P, R = origin.locatenew("P", l1 * A.x), Point("R")
    R.set_pos(P, l2 * B.x)
    P.v2pt_theory(origin, N, A)
    R.v2pt_theory(P, N, B)
    return N, [P, R], [q1, q2]


def test_lagrange_pendulum_with_a_torque_and_an_input():
    N, (P, R), q = double_pendulum()
    m, g, c = sympy.symbols("m g c")
    u = dynamicsymbols("u")
    L = m * (P.vel(N).magnitude() ** 2 + R.vel(N).magnitude() ** 2) / 2 + m * g * dot(R.pos_from(P), N.x)
    method = LagrangesMethod(L, q, forcelist=[(R, -c * R.vel(N)), (P, u * N.y + sympy.sin(CLOCK) * N.x)], frame=N)
    system = check_lagrange(method)
    assert [symbol.name for symbol in system.inputs] == ["u"]
    assert {symbol.name for symbol in system.parameters} == {"m", "g", "c", "l1", "l2"}


def test_lagrange_with_holonomic_and_nonholonomic_constraints():
    x, y, th = dynamicsymbols("x y th")
    m, J, k = sympy.symbols("m J k", positive=True)
    L = m * (x.diff() ** 2 + y.diff() ** 2) / 2 + J * th.diff() ** 2 / 2 - k * x**2 / 2
    method = LagrangesMethod(
        L,
        [x, y, th],
        hol_coneqs=[x**2 + y**2 - 1],
        nonhol_coneqs=[x.diff() * sympy.sin(th) - y.diff() * sympy.cos(th) + CLOCK * th.diff()],
    )
    system = check_lagrange(method)
    assert [type(c) for c in system.constraints] == [HolonomicConstraint, VelocityConstraint]


def test_kane_double_pendulum_of_particles():
    N, (P, R), (q1, q2) = double_pendulum()
    u1, u2 = dynamicsymbols("u1 u2")
    m, g = sympy.symbols("m g")
    method = KanesMethod(
        N,
        [q1, q2],
        [u1, u2],
        [q1.diff() - u1, q2.diff() - u2],
        bodies=[Particle("a", P, m), Particle("b", R, 2 * m)],
        forcelist=[(P, m * g * N.x), (R, 2 * m * g * N.x - u1 * N.y)],
    )
    system = check_kane(method)
    # Nothing is missing where velocities are rates of positions: the forces are those of the loads, linear in rates.
    v = system.velocities
    assert all(force.diff(a, b) == 0 for force in system.forces.values() for a in v for b in v)


def test_kane_rigid_body_with_body_fixed_speeds():
    q = dynamicsymbols("q1:4")
    u = dynamicsymbols("u1:4")
    N, B = ReferenceFrame("N"), ReferenceFrame("B")
    B.orient(N, "Body", q, "ZXZ")
    spin = B.ang_vel_in(N)
    kinematic = [dot(spin, axis) - speed for axis, speed in zip(B, u, strict=True)]
    B.set_ang_vel(N, sum((speed * axis for axis, speed in zip(B, u, strict=True)), 0 * B.x))
    center = Point("C")
    center.set_vel(N, 0)
    I1, I2, I3, c = sympy.symbols("I1 I2 I3 c")
    body = RigidBody("body", center, B, sympy.Symbol("m"), (inertia(B, I1, I2, I3), center))
    system = check_kane(KanesMethod(N, q, u, kinematic, bodies=[body], forcelist=[(B, -c * u[0] * B.x)]))
    assert len(system.forces) <= 3


def rolling_disk() -> KanesMethod:
    """The rolling disk of SymPy's own documentation, with the rolling built into the velocity of the centre."""
    q1, q2, q3 = dynamicsymbols("q1:4")
    u1, u2, u3 = dynamicsymbols("u1:4")
    r, m, g = sympy.symbols("r m g")
    N = ReferenceFrame("N")
    Y = N.orientnew("Y", "Axis", [q1, N.z])
    L = Y.orientnew("L", "Axis", [q2, Y.x])
    R = L.orientnew("R", "Axis", [q3, L.y])
    spin = R.ang_vel_in(N)
    R.set_ang_vel(N, u1 * L.x + u2 * L.y + u3 * L.z)
    contact = Point("C")
    contact.set_vel(N, 0)
    center = contact.locatenew("D", r * L.z)
    center.v2pt_theory(contact, N, R)
    kinematic = [dot(spin - R.ang_vel_in(N), axis) for axis in L]
    disk = RigidBody("disk", center, R, m, (inertia(L, m / 4 * r**2, m / 2 * r**2, m / 4 * r**2), center))
    return KanesMethod(N, [q1, q2, q3], [u1, u2, u3], kinematic, bodies=[disk], forcelist=[(center, -m * g * Y.z)])


def test_kane_rolling_disk_keeps_the_force_that_lagrange_misses():
    system = check_kane(rolling_disk())
    assert any(force.has(*system.velocities) for force in system.forces.values()), "the naive Lagrangian is wrong here"
    # The missing force is quadratic in the velocities and does no work; the weight does not depend on them.
    values = Draw(7)
    power = sum(force.subs(dict.fromkeys(system.velocities, 0)) * -q.dot + force * q.dot for q, force in system.forces.items())
    assert abs(float(power.xreplace({s: values[s.name] for s in power.free_symbols}))) < 1e-9


def test_kane_dependent_speeds_become_one_constraint():
    x, y, u, v = dynamicsymbols("x y u v")
    m, g, length = sympy.symbols("m g l")
    N, origin, P = ReferenceFrame("N"), Point("O"), Point("P")
    origin.set_vel(N, 0)
    P.set_pos(origin, x * N.x + y * N.y)
    P.set_vel(N, u * N.x + v * N.y)
    method = KanesMethod(
        N,
        [x],
        [u],
        [x.diff() - u, y.diff() - v],
        q_dependent=[y],
        u_dependent=[v],
        configuration_constraints=[x**2 + y**2 - length**2],
        velocity_constraints=[x * u + y * v],
        bodies=[Particle("p", P, m)],
        forcelist=[(P, -m * g * N.y)],
    )
    assert [type(c) for c in check_kane(method).constraints] == [HolonomicConstraint]


def test_kane_with_fewer_speeds_than_coordinates():
    x, y, th, v, w = dynamicsymbols("x y th v w")
    m, J, F = sympy.symbols("m J F")
    N = ReferenceFrame("N")
    B = N.orientnew("B", "Axis", [th, N.z])
    B.set_ang_vel(N, w * N.z)
    center = Point("C")
    center.set_vel(N, v * B.x)
    body = RigidBody("sleigh", center, B, m, (inertia(B, 0, 0, J), center))
    method = KanesMethod(
        N,
        [x, y, th],
        [v, w],
        [x.diff() - v * sympy.cos(th), y.diff() - v * sympy.sin(th), th.diff() - w],
        bodies=[body],
        forcelist=[(center, F * N.x)],
    )
    assert [type(c) for c in check_kane(method).constraints] == [VelocityConstraint]


def test_what_is_refused():
    x, u, aux = dynamicsymbols("x u aux")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, u * N.x)
    bare = KanesMethod(N, [x], [u], [x.diff() - u])
    with pytest.raises(ModelError, match="no bodies"):
        from_sympy(bare)
    auxiliary = KanesMethod(N, [x], [u], [x.diff() - u], u_auxiliary=[aux], bodies=[Particle("p", P, 1)])
    with pytest.raises(ModelError, match="auxiliary"):
        from_sympy(auxiliary)
    with pytest.raises(ModelError, match="LagrangesMethod"):
        from_sympy(x)
    f = dynamicsymbols("f")
    with pytest.raises(ModelError, match="rates of inputs"):
        from_sympy(LagrangesMethod(x.diff() ** 2 / 2 + x * f.diff(), [x]))
