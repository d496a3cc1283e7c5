"""Methods of SymPy's mechanics become systems that have SymPy's own accelerations."""

from __future__ import annotations

from typing import Any

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

import dalembert as da
from dalembert.errors import ModelError, StartError
from dalembert.formulations.from_sympy.kane_kinematics import independent_rows
from dalembert.formulations.from_sympy.sympy_methods import from_sympy
from dalembert.model.constraints import HolonomicConstraint, VelocityConstraint
from dalembert.model.forces import rate
from sympy_right_sides import Draw, checked

CLOCK = dynamicsymbols._t


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


@pytest.mark.long
def test_lagrange_pendulum_with_a_torque_and_an_input():
    N, (P, R), q = double_pendulum()
    m, g, c = sympy.symbols("m g c")
    u = dynamicsymbols("u")
    L = m * (P.vel(N).magnitude() ** 2 + R.vel(N).magnitude() ** 2) / 2 + m * g * dot(
        R.pos_from(P), N.x
    )
    method = LagrangesMethod(
        L, q, forcelist=[(R, -c * R.vel(N)), (P, u * N.y + sympy.sin(CLOCK) * N.x)], frame=N
    )
    system = checked(method)
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
    system = checked(method)
    assert [type(c) for c in system.constraints] == [HolonomicConstraint, VelocityConstraint]


@pytest.mark.long
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
    system = checked(method)
    # Nothing is missing where velocities are rates of positions: the forces are those of the loads,
    # linear in rates.
    v = system.velocities
    assert all(force.diff(a, b) == 0 for force in system.forces.values() for a in v for b in v)


@pytest.mark.long
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
    system = checked(
        KanesMethod(N, q, u, kinematic, bodies=[body], forcelist=[(B, -c * u[0] * B.x)])
    )
    assert len(system.forces) <= 3


def rolling_disk() -> KanesMethod:
    """The rolling disk of SymPy's own documentation, with the rolling built into the velocity of
    the centre.
    """
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
    disk = RigidBody(
        "disk", center, R, m, (inertia(L, m / 4 * r**2, m / 2 * r**2, m / 4 * r**2), center)
    )
    return KanesMethod(
        N, [q1, q2, q3], [u1, u2, u3], kinematic, bodies=[disk], forcelist=[(center, -m * g * Y.z)]
    )


@pytest.mark.long
def test_kane_rolling_disk_keeps_the_force_that_lagrange_misses():
    system = checked(rolling_disk())
    assert any(force.has(*system.velocities) for force in system.forces.values()), (
        "the naive Lagrangian is wrong here"
    )
    # The missing force is quadratic in the velocities and does no work; the weight does not depend
    # on them.
    values, power = Draw(7), sympy.S.Zero
    for q, force in system.forces.items():
        power += (force - force.xreplace(dict.fromkeys(system.velocities, 0))) * q.dot
    assert abs(float(power.xreplace({s: values[s] for s in power.free_symbols}))) < 1e-9


@pytest.mark.long
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
    assert [type(c) for c in checked(method).constraints] == [HolonomicConstraint]


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
    assert [type(c) for c in checked(method).constraints] == [VelocityConstraint]


# -- velocities that are declared ------------------------------------------------------------------


def two_rods(spin_of: Any) -> KanesMethod:
    """Two rods whose directions are space-fixed angles; `spin_of` declares the angular velocity of
    each.
    """
    angles, rates = dynamicsymbols("a1 b1 a2 b2"), dynamicsymbols("w1 d1 w2 d2")
    l, m, g, I1, I2 = sympy.symbols("l m g I1 I2")
    N, A, B, origin = ReferenceFrame("N"), ReferenceFrame("A"), ReferenceFrame("B"), Point("O")
    A.orient_space_fixed(N, (angles[0], angles[1], 0), "312")
    B.orient_space_fixed(A, (angles[2], angles[3], 0), "312")
    spin_of(N, A, B, rates)
    origin.set_vel(N, 0)
    elbow, tip = Point("E"), Point("T")
    elbow.set_pos(origin, -l * A.y)
    tip.set_pos(elbow, -l * B.y)
    elbow.v2pt_theory(origin, N, A)
    tip.v2pt_theory(elbow, N, B)
    bodies = [RigidBody("rod", tip, B, m, (inertia(B, I1, I2, I1), tip)), Particle("bob", elbow, m)]
    loads = [(tip, -m * g * N.y), (elbow, -m * g * N.y)]
    kinematic = [u - q.diff() for q, u in zip(angles, rates, strict=True)]
    return KanesMethod(N, angles, rates, kinematic, bodies=bodies, forcelist=loads)


@pytest.mark.long
def test_kane_takes_the_angular_velocity_that_is_declared():
    def spin_of(N: Any, A: Any, B: Any, rates: Any) -> None:
        A.set_ang_vel(N, rates[0] * N.z + rates[1] * N.x)  # not that of the angles
        B.set_ang_vel(N, rates[2] * N.z + rates[3] * N.x)

    checked(two_rods(spin_of))


@pytest.mark.long
def test_kane_takes_the_accelerations_that_are_declared():
    def spin_of(N: Any, A: Any, B: Any, rates: Any) -> None:
        B.set_ang_acc(N, rates[0] * rates[1] * B.x + rates[2].diff() * N.z)

    method = two_rods(spin_of)
    bob = method.bodies[1].point
    bob.set_acc(method._inertial, method.u[0] ** 2 * method._inertial.x)
    checked(method)


@pytest.mark.long
def test_kane_true_angular_velocities_leave_nothing_to_add():
    system = checked(two_rods(lambda *_: None))
    assert not any(force.has(*system.velocities) for force in system.forces.values())


def test_kane_with_a_mass_that_changes():
    x, u = dynamicsymbols("x u")
    m, c = sympy.symbols("m c")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, u * N.x)
    checked(
        KanesMethod(N, [x], [u], [x.diff() - u], bodies=[Particle("p", P, m + c * x**2 + CLOCK)])
    )


def test_a_missing_force_beyond_a_threshold_is_kept():
    """It vanishes for x < 2, but not identically."""
    x, y, u, v = dynamicsymbols("x y u v")
    m = sympy.Symbol("m")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, u * N.x + v * N.y + sympy.Max(x - 2, 0) * v * N.z)
    method = KanesMethod(
        N, [x, y], [u, v], [x.diff() - u, y.diff() - v], bodies=[Particle("p", P, m)]
    )
    assert checked(method, scale=4.0).forces


def test_a_row_that_wakes_up_is_kept():
    x, y = da.coordinates("x y")
    known = [rate(x**2 + y**2 - 1)]
    sleeping = x * x.dot + y * y.dot + sympy.Max(x - 2, 0) * y.dot
    assert independent_rows([3 * known[0], sleeping], known, [x, y]) == [sleeping]


# -- speeds ----------------------------------------------------------------------------------------


def wheel_on_a_line(**options: Any) -> KanesMethod:
    """A wheel with a pendulum at its axle; its angle does not matter, and it has a speed alone."""
    q, u, v, torque = dynamicsymbols("q u v T")
    m, J, r, l, g = sympy.symbols("m J r l g")
    N, W = ReferenceFrame("N"), ReferenceFrame("W")
    A = N.orientnew("A", "Axis", [q, N.z])
    A.set_ang_vel(N, u * N.z)
    W.set_ang_vel(N, v * N.z)
    axle, bob = Point("O"), Point("B")
    axle.set_vel(N, -r * v * N.x)
    bob.set_pos(axle, -l * A.y)
    bob.v2pt_theory(axle, N, A)
    bodies = [RigidBody("wheel", axle, W, m, (inertia(N, 0, 0, J), axle)), Particle("bob", bob, m)]
    loads = [(bob, -m * g * N.y), (W, torque * N.z)]
    return KanesMethod(N, [q], [u, v], [q.diff() - u], bodies=bodies, forcelist=loads, **options)


def test_a_speed_without_a_coordinate_gets_one():
    system = checked(wheel_on_a_line())
    assert [q.name for q in system.coordinates] == ["q", "v_integral"]
    assert [symbol.name for symbol in system.inputs] == ["T"]


@pytest.mark.long
def test_speeds_are_outputs_and_starts():
    system = from_sympy(wheel_on_a_line())
    values = {"m": 1.0, "J": 0.3, "r": 0.2, "l": 0.7, "g": 9.81}
    motion = da.simulate(
        system, {"q": 0.4, "u": -0.5, "v": 2.0}, (0, 1), parameters=values, inputs={"T": 0}
    )
    assert motion["u"][0] == -0.5 and motion["v"][0] == 2.0
    np.testing.assert_array_equal(motion["v"], motion["v_integral_dot"])
    for form in ("hamilton", "maggi", "kane"):
        other = da.simulate(
            system,
            {"q": 0.4, "u": -0.5, "v": 2.0},
            (0, 1),
            parameters=values,
            inputs={"T": 0},
            form=form,
        )
        np.testing.assert_allclose(other["v"][-1], motion["v"][-1], rtol=1e-8)


@pytest.mark.long
def test_body_fixed_speeds_in_a_start():
    q, u = dynamicsymbols("q1:4"), dynamicsymbols("u1:4")
    N, B, center = ReferenceFrame("N"), ReferenceFrame("B"), Point("C")
    B.orient_body_fixed(N, q, "123")
    kinematic = [dot(B.ang_vel_in(N), axis) - speed for axis, speed in zip(B, u, strict=True)]
    B.set_ang_vel(N, u[0] * B.x + u[1] * B.y + u[2] * B.z)
    center.set_vel(N, 0)
    body = RigidBody("body", center, B, 1, (inertia(B, 1, 2, 3), center))
    system = checked(KanesMethod(N, q, u, kinematic, bodies=[body]))
    start = {"q1": 0.2, "q2": 0.5, "q3": -0.3, "u1": 1.0, "u2": 0.5, "u3": -0.7}
    motion = da.simulate(system, start, (0, 2))
    np.testing.assert_allclose(
        [motion[f"u{k}"][0] for k in (1, 2, 3)], [1.0, 0.5, -0.7], rtol=1e-12
    )
    momentum = (motion["u1"]) ** 2 + (2 * motion["u2"]) ** 2 + (3 * motion["u3"]) ** 2
    np.testing.assert_allclose(momentum, momentum[0], rtol=1e-7)
    with pytest.raises(StartError, match="cannot be met"):
        da.simulate(system, {**start, "q1_dot": 0.0, "q2_dot": 0.0, "q3_dot": 0.0}, (0, 2))


def test_an_auxiliary_speed_brings_its_force_into_evidence():
    q, u, w, force = dynamicsymbols("q u w F")
    m, g, l = sympy.symbols("m g l")
    N = ReferenceFrame("N")
    B = N.orientnew("B", "Axis", [q, N.z])
    B.set_ang_vel(N, u * N.z)
    pivot, bob = Point("O"), Point("P")
    pivot.set_vel(N, w * N.y)
    bob.set_pos(pivot, l * B.x)
    bob.v2pt_theory(pivot, N, B)
    loads = [(bob, m * g * N.x), (pivot, force * N.y)]
    bodies = [Particle("bob", bob, m)]
    method = KanesMethod(
        N, [q], [u], [q.diff() - u], u_auxiliary=[w], bodies=bodies, forcelist=loads
    )
    system = checked(method)
    values = {"m": 2.0, "g": 9.81, "l": 0.7}
    motion = da.simulate(system, {"q": 1.0, "u": 0.3}, (0, 1), parameters=values)
    solved = sympy.solve(method.auxiliary_eqs, force)[force].subs(u.diff(), method.rhs()[1])
    numbers = {m: 2.0, g: 9.81, l: 0.7, q: motion["q"][-1], u: motion["u"][-1]}
    assert abs(float(solved.subs(numbers)) - motion.reactions["w"].multiplier[0, -1]) < 1e-9


def test_acceleration_constraints_must_be_rates():
    x, y, u, v = dynamicsymbols("x y u v")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, u * N.x + v * N.y)

    def method(acceleration: Any) -> KanesMethod:
        return KanesMethod(
            N, [x, y], [u], [x.diff() - u, y.diff() - v], u_dependent=[v], velocity_constraints=[x *
            u - v], acceleration_constraints=[acceleration], bodies=[Particle("p", P, 1)],
        )  # fmt: skip

    checked(method(2 * (x * u.diff() + u**2 - v.diff())))
    with pytest.raises(ModelError, match="not the rates"):
        from_sympy(method(x * u.diff() - v.diff()))


def test_kinematic_equations_that_couple_the_speeds():
    q, u = dynamicsymbols("q1:4"), dynamicsymbols("u1:4")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, sum((speed * axis for speed, axis in zip(u, N, strict=True)), 0 * N.x))
    turned = sympy.rot_axis1(q[0]) * sympy.rot_axis2(q[1]) * sympy.Matrix(u)
    kinematic = [q[k].diff() - turned[k] for k in range(3)]
    checked(
        KanesMethod(N, q, u, kinematic, bodies=[Particle("p", P, 2)], forcelist=[(P, q[2] * N.x)])
    )
