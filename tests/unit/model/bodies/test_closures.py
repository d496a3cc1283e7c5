"""Joint against maximal coordinates, loops, elements and assembly."""

from __future__ import annotations

import numpy as np
import pytest
from test_tree import GRAVITY, mechanism

import dalembert as da
from newton_euler import accelerations, inverse_dynamics, random_tree

b = da.bodies


def rod(name, length, mass=1.0):
    moment = mass * length**2 / 12
    return b.Body(name, mass=mass, com=(length / 2, 0, 0), inertia=(1e-3 * moment, moment, moment))


KINDS = {
    "weld": {},
    "revolute": {"axis": (1, 2, 2)},
    "prismatic": {"axis": (1, 2, 2)},
    "screw": {"axis": "y", "lead": 0.3},
    "cylindrical": {"axis": "x"},
    "universal": {"axes": ("z", "x")},
    "planar": {},
    "spherical": {},
    "free": {},
}


@pytest.mark.parametrize("kind", KINDS)
def test_joint_and_maximal_coordinates_agree(kind):
    first, second = rod("first", 1.0), rod("second", 0.7, 2.0)
    turned = b.angles("zyx", 0.3, -0.4, 0.9)
    hinge = b.revolute("hinge", b.ground(), first, axis="y", at=(0.1, 0.2, 0.3), rotation=turned)
    joint = getattr(b, kind)(
        "joint",
        first,
        second,
        at=(1, 0.1, 0),
        rotation=turned,
        child_at=(0, 0.1, 0.2),
        **KINDS[kind],
    )
    system = b.Mechanism([hinge, joint], gravity=GRAVITY)
    rng = np.random.default_rng(3)
    start = {
        q.name: value for q, value in zip(joint.coordinates, rng.uniform(-1, 1, 7), strict=False)
    }
    start |= {
        q.dot.name: 0.5 - value for q, value in zip(joint.coordinates, start.values(), strict=True)
    }
    assert b.agreement(system, {"hinge": 0.4, "hinge_dot": 1.3, **start}) < 1e-10


def test_forces_along_joints_act_alike_in_maximal_coordinates():
    k, c = da.parameters("k c", positive=True)
    first, second = rod("first", 1.0), rod("second", 0.7, 2.0)
    joints = [
        b.revolute("p", b.ground(), first, axis="y", damping=c),
        b.revolute("q", first, second, axis="x", at=(1, 0, 0), stiffness=k, rest=0.3),
        b.spring("s", b.ground().point((0, 1, 0)), second.point((0.7, 0, 0)), k, 0.5, damping=c),
        b.bushing("mount", b.ground().point((0.5, 0, 0.1)), first, (k, 1, 2, k, 1, 2), (c,) * 6),
        b.wrench("push", second.point((0.7, 0, 0)), force=(1, k, 3), torque=(0.3, 0, c)),
        b.wrench("jet", second.point((0.7, 0, 0)), force=(1, k, 3), follows=True),
    ]
    system = b.Mechanism(joints, gravity=GRAVITY)
    start = {"p": 0.4, "q": -0.8, "p_dot": 1.0, "q_dot": -2.0}
    assert b.agreement(system, start, {"k": 3.0, "c": 0.4}) < 1e-10


def four_bar(rotation=None):
    base = b.ground().frame(rotation=rotation)
    crank, coupler, rocker = rod("crank", 1.0), rod("coupler", 3.0), rod("rocker", 2.0)
    return b.Mechanism(
        [
            b.revolute("q1", base, crank, damping=0.1),
            b.revolute("q2", crank, coupler, at=(1, 0, 0)),
            b.revolute("q3", base, rocker, at=(2.5, 0, 0)),
            b.revolute("q4", coupler, rocker, at=(3, 0, 0), child_at=(2, 0, 0)),
        ],
        gravity=(0, -9.81, 0),
    )


def test_a_loop_with_redundant_rows_runs_in_both_coordinates():
    linkage = four_bar(b.angles("xy", 0.4, 0.3))
    found = b.assemble(linkage, hold={"q1": 0.5}, guess={"q2": 0.5, "q3": 1.5})
    assert found.redundant == 3  # five conditions of a hinge, of which the plane needs two
    assert found.freedom == 0
    assert found.residual < 1e-12
    start = dict(found.values)
    assert b.agreement(linkage, start | {"q1_dot": 2.0}) < 1e-9
    motion = da.simulate(linkage.system(), start | {"q1_dot": 2.0}, (0, 3), rtol=1e-10)
    x = np.cos(motion["q1"]) + 3 * np.cos(motion["q1"] + motion["q2"])
    y = np.sin(motion["q1"]) + 3 * np.sin(motion["q1"] + motion["q2"])
    assert np.allclose(np.hypot(x - 2.5, y), 2, atol=1e-11)


def test_other_branches_are_found_and_impossible_holds_are_named():
    linkage = four_bar()
    found = b.assemble(linkage, hold={"q1": 0.5}, guess={"q2": 0.5, "q3": 1.5}, search=20)
    assert any(
        abs(np.sin((other["q3"] - found.values["q3"]) / 2)) > 0.1 for other in found.branches
    )
    with pytest.raises(da.errors.StartError, match="over-determined"):
        b.assemble(linkage, hold={"q1": 0.5, "q2": 0.0, "q3": 0.0})
    with pytest.raises(da.errors.ModelError, match="no coordinate `q9`"):
        b.assemble(linkage, hold={"q9": 0.5})


def test_a_loop_joint_with_a_spring_has_coordinates_of_its_own():
    crank, coupler, rocker = rod("crank", 1.0), rod("coupler", 3.0), rod("rocker", 2.0)
    joints = [
        b.revolute("q1", b.ground(), crank),
        b.revolute("q2", crank, coupler, at=(1, 0, 0)),
        b.revolute("q3", b.ground(), rocker, at=(2.5, 0, 0)),
        b.revolute("q4", coupler, rocker, at=(3, 0, 0), child_at=(2, 0, 0), stiffness=5.0),
    ]
    linkage = b.Mechanism(joints, gravity=(0, -9.81, 0))
    assert "q4" in [q.name for q in linkage.system().coordinates]
    found = b.assemble(linkage, hold={"q1": 0.5}, guess={"q2": 0.5, "q3": 1.5, "q4": 1.0})
    angle = found.values["q3"] - found.values["q1"] - found.values["q2"]
    assert np.sin((found.values["q4"] - angle) / 2) == pytest.approx(0, abs=1e-9)
    motion = da.simulate(linkage.system(), dict(found.values), (0, 1), rtol=1e-10)
    assert np.ptp(motion.energy) < 1e-7


def test_gears_distances_and_couplings():
    small, large = b.Body("small", inertia=(1, 1, 1.0)), b.Body("large", inertia=(1, 1, 1.5))
    first = b.revolute("s", b.ground(), small, force=2.0)
    second = b.revolute("l", b.ground(), large, at=(1, 0, 0))
    system = b.Mechanism([first, second, b.gear("teeth", first, second, ratio=-3)]).system()
    kernel = da.derive(system, "lagrange").compile()
    found = kernel.rates(0.0, [0.0, 0.0, 0.0, 0.0])
    assert found[2] == pytest.approx(2.0 / (1.0 + 1.5 / 9), abs=1e-12)
    bob = b.Body("bob", mass=1.0)
    hung = b.Mechanism(
        [b.free("m", b.ground(), bob, angles="zyx"), b.distance("rope", b.ground(), bob, 2.0)],
        gravity=(0, 0, -9.81),
    )
    assert [c.name for c in hung.system().constraints] == ["rope"]


@pytest.mark.parametrize("seed", [0, 1])
def test_numbers_of_a_tree_are_those_of_newton_and_euler(seed):
    rng = np.random.default_rng(seed)
    links = random_tree(rng, 6)
    model = b.BodyModel(mechanism(links))
    q, v, a = rng.uniform(-1, 1, (3, 6))
    _, mass, bias = accelerations(links, q, v, GRAVITY)
    assert np.allclose(model.mass_matrix(q), mass, atol=1e-12)
    assert np.allclose(model.bias(q, v), bias, atol=1e-10)
    expected = inverse_dynamics(links, q, v, a, GRAVITY)
    assert np.allclose(model.inverse_dynamics(q, v, a), expected, atol=1e-10)
    many = rng.uniform(-1, 1, (3, 4, 6))
    assert np.allclose(model.mass_matrix(many)[2, 1], model.mass_matrix(many[2, 1]), atol=1e-14)
    # forward after inverse is the identity
    solved = np.linalg.solve(model.mass_matrix(q), expected - model.bias(q, v))
    assert np.allclose(solved, a, atol=1e-9)


def test_jacobians_are_derivatives_and_m_dot_minus_2c_is_skew():
    rng = np.random.default_rng(4)
    links = random_tree(rng, 5)
    mech = mechanism(links)
    model = b.BodyModel(mech)
    q, v = rng.uniform(-1, 1, (2, 5))
    tip = mech.body("b4").point((0.1, 0.2, 0.3))
    J, h = model.jacobian(tip, q), 1e-6
    ahead, behind = model.pose(tip, q + h * v), model.pose(tip, q - h * v)
    assert np.allclose(J[3:] @ v, (ahead.position - behind.position) / (2 * h), atol=1e-8)
    assert np.allclose(model.twist(tip, q, v), J @ v, atol=1e-13)
    spin = (ahead.rotation - behind.rotation) / (2 * h) @ model.pose(tip, q).rotation.T
    assert np.allclose([spin[2, 1], spin[0, 2], spin[1, 0]], J[:3] @ v, atol=1e-8)
    # v . (M_dot - 2 C) v = 0 with h(q, v) - h(q, 0) = C v
    rate = (model.mass_matrix(q + h * v) - model.mass_matrix(q - h * v)) / (2 * h)
    velocity_terms = model.bias(q, v) - model.bias(q, np.zeros(5))
    assert v @ rate @ v == pytest.approx(2 * v @ velocity_terms, rel=1e-7)


def test_the_centroidal_momentum_of_a_free_tree_is_conserved():
    base, arm = rod("base", 1.0, 3.0), rod("arm", 0.8)
    mech = b.Mechanism(
        [
            b.free("f", b.ground(), base),
            b.revolute("a", base, arm, axis="y", at=(1, 0, 0), stiffness=2.0),
        ]
    )
    system = mech.system()
    start = {"a": 0.7, "f_qx_dot": 0.3, "f_qy_dot": -0.2, "a_dot": 1.0, "f_x_dot": 0.5}
    motion = da.simulate(system, start, (0, 3), rtol=1e-11, atol=1e-11)
    model = b.BodyModel(mech)
    q = np.array([motion[name] for name in model.names]).T
    v = np.array([motion[f"{name}_dot"] for name in model.names]).T
    found = model.momentum(q, v)
    assert np.allclose(found, found[0], atol=1e-8)
    assert abs(found[0]).min() > 1e-3


def test_inverse_kinematics_reaches_a_pose_and_says_where_it_cannot():
    rng = np.random.default_rng(9)
    links = random_tree(rng, 6, kinds=("revolute",))
    for k, link in enumerate(links):
        link.parent = k - 1
    mech = mechanism(links)
    model, tip = b.BodyModel(mech), mech.body("b5").point((0.2, 0.1, 0.3))
    q = rng.uniform(-1, 1, 6)
    goal = model.pose(tip, q)
    guess = {name: value + 0.1 for name, value in zip(model.names, q, strict=True)}
    found = b.inverse_kinematics(mech, tip, goal.position, goal.rotation, guess=guess)
    reached = model.pose(tip, model.array(found))
    assert np.allclose(reached.position, goal.position, atol=1e-10)
    assert np.allclose(reached.rotation, goal.rotation, atol=1e-9)
    with pytest.raises(da.errors.StartError, match="comes within"):
        b.inverse_kinematics(mech, tip, (100, 0, 0))
