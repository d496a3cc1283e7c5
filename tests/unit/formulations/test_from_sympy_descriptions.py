"""Other descriptions of SymPy's mechanics, and names: systems of joints, matrices, symbols."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import (
    Force,
    JointsMethod,
    KanesMethod,
    LagrangesMethod,
    Particle,
    PinJoint,
    Point,
    PrismaticJoint,
    ReferenceFrame,
    RigidBody,
    SymbolicSystem,
    WeldJoint,
    dynamicsymbols,
    inertia,
)
from sympy.physics.mechanics import System as SympySystem

import dalembert as da
from dalembert.errors import ModelError
from dalembert.formulations.from_sympy.sympy_methods import from_sympy
from dalembert.model.constraints import HolonomicConstraint, VelocityConstraint
from sympy_right_sides import AGREEMENT, Draw, largest_difference, sympy_values

# -- other descriptions ----------------------------------------------------------------------------


def test_a_method_whose_bodies_come_later():
    x, u = dynamicsymbols("x u")
    m, k = sympy.symbols("m k")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, u * N.x)
    method = KanesMethod(N, [x], [u], [x.diff() - u])
    with pytest.raises(ModelError, match="no bodies"):
        from_sympy(method)
    bodies, loads = [Particle("p", P, m)], [(P, -k * x * N.x)]
    system = from_sympy(method, bodies=bodies, loads=loads)
    method.kanes_equations(bodies, loads)
    for found in (system, from_sympy(method)):
        assert largest_difference(method, found) < AGREEMENT


def links_by_joints() -> SympySystem:
    """A carriage with a swinging rod."""
    q1, q2, u1, u2, push = dynamicsymbols("q1 q2 u1 u2 F")
    l, g, k = sympy.symbols("l g k")
    rail, cart, rod = RigidBody("rail"), RigidBody("cart"), RigidBody("rod")
    system = SympySystem.from_newtonian(rail)
    system.add_joints(
        PrismaticJoint("slide", rail, cart, coordinates=q1, speeds=u1, joint_axis=rail.x),
        PinJoint("pin", cart, rod, q2, u2, child_point=l * rod.y, joint_axis=cart.z),
    )
    system.apply_uniform_gravity(-g * system.y)
    system.add_loads(Force(cart, (push - k * q1) * system.x))
    return system


@pytest.mark.long
def test_a_system_of_joints():
    stated = links_by_joints()
    before = from_sympy(stated)
    assert stated.eom_method is None, "reading it changes nothing"
    stated.form_eoms()
    after = from_sympy(stated)
    for system in (before, after):
        assert largest_difference(stated.eom_method, system) < AGREEMENT


@pytest.mark.long
def test_a_system_with_constraints_and_auxiliary_speeds():
    """A point on a parabola whose derivative is a dependent speed; the weight of its support comes
    from an auxiliary one.
    """
    x, y, u, v, w = dynamicsymbols("x y u v w")
    m, g = sympy.symbols("m g")
    stated = SympySystem()
    bob = Particle("bob", mass=m)
    bob.masscenter.set_pos(stated.fixed_point, x * stated.x + y * stated.y)
    bob.masscenter.set_vel(stated.frame, u * stated.x + v * stated.y + w * stated.z)
    stated.add_bodies(bob)
    stated.apply_uniform_gravity(-g * stated.y - g * stated.z)
    stated.add_coordinates(x)
    stated.add_coordinates(y, independent=False)
    stated.add_speeds(u)
    stated.add_speeds(v, independent=False)
    stated.add_auxiliary_speeds(w)
    stated.add_kdes(x.diff() - u, y.diff() - v)
    stated.add_holonomic_constraints(y - x**2)
    system = from_sympy(stated)
    stated.form_eoms()
    assert largest_difference(stated.eom_method, system) < AGREEMENT
    assert [type(c) for c in system.constraints] == [HolonomicConstraint, VelocityConstraint]
    motion = da.simulate(system, {"x": 0.5, "u": 1.0}, (0, 1), parameters={"m": 2.0, "g": 9.81})
    np.testing.assert_allclose(motion.reactions["w"].multiplier, 2.0 * 9.81, rtol=1e-9)


def test_a_system_without_coordinates_is_said():
    wall, block = RigidBody("wall"), RigidBody("block")
    stated = SympySystem.from_newtonian(wall)
    stated.add_joints(WeldJoint("glue", wall, block))
    with pytest.raises(ModelError, match="no coordinates"):
        from_sympy(stated)


def test_a_system_formed_by_lagranges_method():
    x = dynamicsymbols("x")
    k, m = sympy.symbols("k m")
    wall, block = RigidBody("wall"), Particle("block", mass=m)
    block.potential_energy = k * x**2 / 2
    stated = SympySystem.from_newtonian(wall)
    stated.add_joints(PrismaticJoint("slide", wall, block, coordinates=x, speeds=x.diff()))
    stated.form_eoms(LagrangesMethod)
    system = from_sympy(stated)
    assert largest_difference(stated.eom_method, system) < AGREEMENT
    assert system.lagrangian is not None and not system.forces


@pytest.mark.long
def test_joints_methods():
    from sympy.physics.mechanics import Body

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        q1, q2, u1, u2 = dynamicsymbols("q1 q2 u1 u2")
        g, l = sympy.symbols("g l")
        ground, first, second = Body("ground"), Body("first"), Body("second")
        one = PinJoint("one", ground, first, q1, u1, child_point=l * first.x, joint_axis=ground.z)
        two = PinJoint("two", first, second, q2, u2, child_point=l * second.x, joint_axis=first.z)
        for body in (first, second):
            body.apply_force(body.mass * g * ground.x)
        stated = JointsMethod(ground, one, two)
        system = from_sympy(stated)
        stated.form_eoms()
    for found in (system, from_sympy(stated)):
        assert largest_difference(stated.method, found) < AGREEMENT


@pytest.mark.parametrize("kind", ["explicit", "implicit", "kinematic"])
def test_symbolic_systems(kind: str):
    x, y, u, v, push = dynamicsymbols("x y u v F")
    m, k = sympy.symbols("m k")
    mass = sympy.Matrix([[m + m * sympy.cos(x) ** 2, m * sympy.sin(x)], [m * sympy.sin(x), 2 * m]])
    forcing = sympy.Matrix([-k * x + push, -k * y * v])
    speeds = sympy.Matrix([u + v, v * sympy.cos(y)])
    whole, right = sympy.diag(sympy.eye(2), mass), speeds.col_join(forcing)
    solved = whole.LUsolve(right)
    stated = {
        "explicit": lambda: SymbolicSystem([x, y, u, v], solved, output_eqns={"sum": x + y}),
        "implicit": lambda: SymbolicSystem(
            [x, y, u, v], right, mass_matrix=whole, output_eqns={"sum": x + y}
        ),
        "kinematic": lambda: SymbolicSystem(
            [x, y],
            forcing,
            speeds=[u, v],
            mass_matrix=mass,
            coordinate_derivatives=speeds,
            output_eqns={"sum": x + y},
        ),
    }[kind]()
    flow = from_sympy(stated)
    assert (
        isinstance(flow, da.Flow)
        and list(flow.outputs) == ["sum"]
        and [s.name for s in flow.inputs] == ["F"]
    )
    for seed in range(3):
        values = Draw(seed)
        theirs = sympy_values(solved, values).ravel()
        table = {name: values[symbol] for name, symbol in flow.sympy_names.symbols.items()}
        ours = [
            float(e.xreplace({s: table[s.name] for s in e.free_symbols}))
            for e in flow.rates.values()
        ]
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def test_symbolic_systems_that_are_refused():
    x, y = dynamicsymbols("x y")
    right = sympy.Matrix([y, x])
    with pytest.raises(ModelError, match="algebraic constraints"):
        from_sympy(SymbolicSystem([x, y], right, mass_matrix=sympy.diag(1, 0), alg_con=[1]))
    with pytest.raises(ModelError, match="singular"):
        from_sympy(SymbolicSystem([x, y], right, mass_matrix=sympy.Matrix([[1, x], [x, x**2]])))


# -- names -----------------------------------------------------------------------------------------


def test_names_that_are_no_identifiers():
    theta, speed = dynamicsymbols(r"\theta \omega_{1}")
    I, m, other, g = (
        sympy.Symbol("I_{1zz}"),
        sympy.Symbol("m"),
        sympy.Symbol("m", positive=True),
        sympy.Symbol("g^*"),
    )
    N = ReferenceFrame("N")
    B = N.orientnew("B", "Axis", [theta, N.z])
    B.set_ang_vel(N, speed * N.z)
    center = Point("C")
    center.set_vel(N, m * speed * B.x)
    body = RigidBody("b", center, B, other, (inertia(B, 0, 0, I), center))
    method = KanesMethod(
        N, [theta], [speed], [theta.diff() - speed], bodies=[body], forcelist=[(center, g * N.x)]
    )
    with pytest.warns(UserWarning, match=r"I_\{1zz\} is I_1zz"):
        system = from_sympy(method)
    names = system.sympy_names
    assert names.changed["theta"] == r"\theta" and names.changed["omega_1"] == r"\omega_{1}"
    assert names.symbols["theta"] == theta and names.symbols["I_1zz"] == I
    assert {names.symbols["m"], names.symbols["m_2"]} == {m, other}, "two symbols of SymPy stay two"
    numbers = {theta: 0.1, speed: 2.0, I: 1.0, m: 2.0, other: 3.0, g: 0.5}
    values = names.by_name(numbers)
    motion = da.simulate(
        system, {k: values.pop(k) for k in ("theta", "omega_1")}, (0, 1), parameters=values
    )
    assert motion["omega_1"][0] == 2.0
    method.kanes_equations()
    assert largest_difference(method, system) < AGREEMENT
    with pytest.raises(ModelError, match="does not contain"):
        names.by_name({sympy.Symbol("M"): 1.0})


def test_names_that_are_taken():
    x, velocity = dynamicsymbols("x x_dot")
    p, energy = sympy.symbols("p_x energy")
    N, P = ReferenceFrame("N"), Point("P")
    P.set_vel(N, velocity * N.x)
    method = KanesMethod(
        N,
        [x],
        [velocity],
        [x.diff() - velocity],
        bodies=[Particle("p", P, p)],
        forcelist=[(P, energy * N.x)],
    )
    with pytest.warns(UserWarning, match="p_x is p_x_2"):
        system = from_sympy(method)
    assert {parameter.name for parameter in system.parameters} == {"p_x_2", "energy_2"}
    method.kanes_equations()
    assert largest_difference(method, system) < AGREEMENT


def test_what_is_refused():
    x, f = dynamicsymbols("x f")
    with pytest.raises(ModelError, match="takes an object"):
        from_sympy(x)
    with pytest.raises(ModelError, match="rates of inputs"):
        from_sympy(LagrangesMethod(x.diff() ** 2 / 2 + x * f.diff(), [x]))
    with pytest.raises(ModelError, match="undefined function"):
        from_sympy(LagrangesMethod(x.diff() ** 2 / 2 + sympy.Function("V")(x), [x]))
