"""Mechanisms that are trees, against a Newton-Euler recursion and by identities."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.model.io.files import dumps, loads
from dalembert.presentation.equation_printer import Line, Written, _with_definitions
from newton_euler import accelerations, inverse_dynamics, random_tree

b = da.bodies
GRAVITY = (0.3, -0.2, -9.81)


def mechanism(links, reverse=False):
    """The links as bodies; every other joint is stated from child to parent where `reverse`."""
    made, joints = [], []
    for k, link in enumerate(links):
        body = b.Body(f"b{k}", mass=link.mass, com=link.com, inertia=link.inertia)
        parent = b.ground() if link.parent < 0 else made[link.parent]
        frame = parent.frame(link.offset, link.turned)
        made.append(body)
        make = getattr(b, link.kind)
        extra = {"lead": 2 * np.pi * link.lead} if link.kind == "screw" else {}
        if reverse and k % 2:
            joints.append(make(f"q{k}", body, frame, axis=tuple(-link.axis), **extra))
        else:
            joints.append(make(f"q{k}", frame, body, axis=tuple(link.axis), **extra))
    return b.Mechanism(joints, gravity=GRAVITY)


def computed(system, q, qd):
    kernel = da.derive(system, "lagrange").compile()
    return kernel.rates(0.0, np.array([*q, *qd]))[len(q) :]


@pytest.mark.parametrize(("seed", "count"), [(0, 1), (1, 3), (2, 6), (3, 9)])
def test_random_trees_have_the_accelerations_of_newton_and_euler(seed, count):
    rng = np.random.default_rng(seed)
    links = random_tree(rng, count)
    q, qd = rng.uniform(-1, 1, (2, count))
    expected, _, _ = accelerations(links, q, qd, GRAVITY)
    for reverse in (False, True):
        found = computed(mechanism(links, reverse).system(), q, qd)
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10 * abs(expected).max())


@pytest.mark.long
def test_a_humanoid_is_solved_through_shared_velocities():
    """A base of six axes, four limbs of eleven joints and a neck of two, in oblique frames."""
    rng = np.random.default_rng(8)
    links = random_tree(rng, 52, kinds=("revolute",))
    limbs = [limb for first in (6, 17, 28, 39) for limb in (5, *range(first, first + 10))]
    for link, parent in zip(links, [*range(-1, 5), *limbs, 5, 50], strict=True):
        link.parent = parent
    for k, link in enumerate(links[:6]):
        link.kind, link.axis = ("prismatic", "revolute")[k // 3], np.eye(3)[k % 3]
        link.offset, link.turned = np.zeros(3), np.eye(3)
        if k < 5:
            link.mass, link.inertia = 0.0, np.zeros((3, 3))
    kernel = da.derive(mechanism(links).system(), "lagrange").compile()
    q, qd = rng.uniform(-1, 1, (2, 52))
    expected, _, _ = accelerations(links, q, qd, GRAVITY)
    found = kernel.rates(0.0, np.array([*q, *qd]))[52:]
    assert kernel._lifted is not None
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * abs(expected).max())


def test_a_long_chain_is_solved_through_shared_velocities():
    rng = np.random.default_rng(5)
    links = random_tree(rng, 30, kinds=("revolute",))
    for k, link in enumerate(links):
        link.parent = k - 1
    system = mechanism(links).system()
    kernel = da.derive(system, "lagrange").compile()
    q, qd = rng.uniform(-1, 1, (2, 30))
    expected, _, _ = accelerations(links, q, qd, GRAVITY)
    found = kernel.rates(0.0, np.array([*q, *qd]))[30:]
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * abs(expected).max())
    assert kernel._lifted is not None


@pytest.mark.long
def test_the_work_of_a_chain_grows_linearly():
    counts = {}
    for count in (30, 60):
        links = random_tree(np.random.default_rng(6), count, kinds=("revolute",))
        for k, link in enumerate(links):
            link.parent, link.axis = k - 1, np.eye(3)[k % 3]
        kernel = da.derive(mechanism(links).system(), "lagrange").compile()
        counts[count] = len(kernel.program("fast").instructions)
    assert counts[60] < 2.2 * counts[30]


def test_velocity_terms_are_skew():
    """With C from Christoffel's symbols, v . (M_dot - 2 C) v = 0: forces f give power v . f."""
    rng = np.random.default_rng(7)
    links = random_tree(rng, 4)
    system = mechanism(links).system()
    motion = da.simulate(
        system,
        {q.name: value for q, value in zip(system.coordinates, rng.uniform(-1, 1, 4), strict=True)},
        (0, 1),
        rtol=1e-12,
    )
    assert np.allclose(motion.energy, motion.energy[0], rtol=0, atol=1e-9)


def test_energies_are_stated_in_shared_quantities():
    links = random_tree(np.random.default_rng(8), 12, kinds=("revolute",))
    for k, link in enumerate(links):
        link.parent = k - 1
    system = mechanism(links).system()
    names = [quantity.name for quantity in system.definitions]
    assert names.index("w_b3_x") < names.index("w_b4_x")
    assert len(system.kinetic.args) <= 12 * len(links)


def test_axis_options_act_along_the_coordinate():
    k, c, J, u = *da.parameters("k c J", positive=True), da.inputs("u")
    arm = b.Body("arm", mass=1, com=(1, 0, 0))
    hinge = b.revolute(
        "a", b.ground(), arm, stiffness=k, rest=0.2, damping=c, armature=J, force=u, limits=(-1, 2)
    )
    system = b.Mechanism([hinge]).system()
    a = system.coordinates[0]
    assert [c.name for c in system.constraints] == ["a_lower", "a_upper"]
    assert tuple(system.inputs) == (u,)
    kernel = da.derive(system, "lagrange").compile()
    values = {"k": 3.0, "c": 0.5, "J": 0.25}
    found = kernel.rates(0.0, [0.7, 0.4], [values[p.name] for p in kernel.parameters], [2.0])[1]
    assert found == pytest.approx((2.0 - 3.0 * 0.5 - 0.5 * 0.4) / 1.25, abs=1e-14)
    assert a.name == "a"


def test_a_thrown_body_turns_as_euler_says():
    """A free asymmetric body: momentum in space and energy stay, through all orientations."""
    body = b.Body("body", mass=2, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.2, 0.25))
    mechanism = b.Mechanism([b.free("base", b.ground(), body)])
    system = mechanism.system()
    start = {"base_qx_dot": 0.05, "base_qy_dot": 3.0, "base_qz_dot": 0.1, "base_x_dot": 1.0}
    motion = da.simulate(system, start, (0, 10), rtol=1e-11, atol=1e-11)
    assert np.ptp(motion.energy) < 1e-8
    norm = sum(motion[f"base_q{part}"] ** 2 for part in "wxyz")
    assert np.allclose(norm, 1, atol=1e-12)
    assert min(motion["base_qw"]) < -0.5  # through half a turn: angles would have locked


def test_quaternions_and_angles_agree():
    accelerations = {}
    for angles in (None, "zyx"):
        body = b.Body("body", mass=2, com=(0.1, 0.2, -0.3), inertia=(0.1, 0.2, 0.25))
        ball = b.spherical("s", b.ground(), body, angles=angles)
        mech = b.Mechanism([ball], gravity=(0, 0, -9.81))
        place = body.point((1.0, 0.0, 0.0))
        start = (
            {"s_qx_dot": 0.2, "s_qy_dot": 0.3, "s_qz_dot": -0.4}
            if angles is None
            else dict(zip(("s_1_dot", "s_2_dot", "s_3_dot"), (-0.8, 0.6, 0.4), strict=True))
        )
        outputs = dict(zip("xyz", mech.position(place), strict=True))
        system = mech.system(outputs={f"tip_{k}": value for k, value in outputs.items()})
        motion = da.simulate(system, start, (0, 0.5), rtol=1e-12, atol=1e-12)
        accelerations[angles] = [motion[f"tip_{k}"][-1] for k in "xyz"]
    assert np.allclose(accelerations[None], accelerations["zyx"], atol=1e-9)


@pytest.mark.parametrize(
    ("inertia", "words"),
    [((1, 1, 3), "exceeds the sum"), ((-0.1, 1, 1), "negative"), ((0.1, 0.2, 0.5), "check=False")],
)
def test_impossible_inertias_are_named(inertia, words):
    with pytest.raises(da.errors.ModelError, match="`stone`.*" + words):
        b.Body("stone", mass=1, inertia=inertia)
    assert b.Body("stone", mass=1, inertia=inertia, check=False).inertia[2, 2] == inertia[2]


def test_wrong_mechanisms_are_sentences():
    arm, other = b.Body("arm", mass=1), b.Body("other", mass=1)
    with pytest.raises(da.errors.ModelError, match="not connected with the ground"):
        b.Mechanism([b.revolute("a", arm, other)])
    with pytest.raises(da.errors.ModelError, match="no option stifness"):
        b.revolute("a", b.ground(), arm, stifness=1)
    with pytest.raises(da.errors.ModelError, match="no such axis"):
        b.revolute("a", b.ground(), arm, axis="w")
    with pytest.raises(da.errors.ModelError, match="no rotation"):
        arm.frame(rotation=2 * sympy.eye(3))
    with pytest.raises(da.errors.ModelError, match="with itself"):
        b.revolute("a", arm, arm)


def test_inverse_dynamics_of_the_reference_undoes_its_own_solve():
    rng = np.random.default_rng(11)
    links = random_tree(rng, 5)
    q, qd = rng.uniform(-1, 1, (2, 5))
    found, _, _ = accelerations(links, q, qd, GRAVITY)
    assert np.allclose(inverse_dynamics(links, q, qd, found, GRAVITY), 0, atol=1e-10)


def test_a_mechanism_survives_a_model_file():
    links = random_tree(np.random.default_rng(12), 25, kinds=("revolute",))
    for k, link in enumerate(links):
        link.parent = k - 1
    body = b.Body("top", mass=1, inertia=(1, 1, 1.5))
    for system in (
        mechanism(links).system(),
        b.Mechanism([b.free("f", b.ground(), body)]).system(),
    ):
        text = dumps(da.Scenario(system, {}))
        assert "[definitions]" in text
        again = loads(text).system
        assert again == system
        assert again.home == system.home
    assert "f_qw = 1.0" in text


def test_a_name_cannot_be_defined_twice_in_a_file():
    text = 'coordinates = ["x"]\nkinetic = "w**2"\n[definitions]\nw = "2*x_dot"\nx = "3"\n'
    with pytest.raises(da.errors.ModelError, match="`x` means both the coordinate x"):
        loads(text)


def test_switches_inside_definitions_are_found():
    x = da.coordinates("x")
    step = da.define("step", sympy.sign(x - 1) + x)
    system = da.System([x], kinetic=x.dot**2 / 2, forces={x: -step})
    plain = da.System([x], kinetic=x.dot**2 / 2, forces={x: -(sympy.sign(x - 1) + x)})
    runs = [da.simulate(s, {x: 2.0}, (0, 3), rtol=1e-10) for s in (system, plain)]
    assert len(runs[0].t) == len(runs[1].t)
    assert runs[0]["x"][-1] == pytest.approx(runs[1]["x"][-1], abs=1e-12)


def test_quantities_that_stay_in_printed_equations_are_explained():
    x = da.coordinates("x")
    a = da.define("a", sympy.sin(x) + 1)
    w = da.define("w", a * x.dot)
    written = Written((Line(((w**2, None),), ()),), ())
    assert _with_definitions(written).names == ((a, a.definition), (w, w.definition))


@pytest.mark.parametrize("count", [1, 7])
def test_native_and_interpreted_numbers_agree_and_derivatives_are_those_of_differences(
    count: int,
) -> None:
    m = da.parameters("m")
    upper, lower = (b.Body(name, m, (0.1, 0.2, -0.5), (0.1, 0.2, 0.25)) for name in "ab")
    mechanism = b.Mechanism(
        [
            b.spherical("s", b.ground(), upper),
            b.revolute("q", upper, lower, (1, 2, 3), at=(0, 0.1, -1), damping=0.3),
        ],
        gravity=(0, 0, -9.81),
    )
    native = b.BodyModel(mechanism, {m: 1.3}, native=True)
    plain = b.BodyModel(mechanism, {m: 1.3})
    q, v, a = np.random.default_rng(3).uniform(-1, 1, (3, count, 5))
    assert native.inverse_dynamics(q, v, a) == pytest.approx(
        plain.inverse_dynamics(q, v, a), rel=1e-12
    )
    assert native.mass_matrix(q[0]) == pytest.approx(plain.mass_matrix(q[0]), rel=1e-12)
    found = native.inverse_derivatives(q, v, a)
    assert found[2] == pytest.approx(plain.mass_matrix(q), rel=1e-11, abs=1e-12)
    for matrices, place in zip(found, range(3), strict=True):
        for k in range(5):
            step = np.zeros((3, count, 5))
            step[place, :, k] = 1e-6
            ahead = plain.inverse_dynamics(*(np.array([q, v, a]) + step))
            behind = plain.inverse_dynamics(*(np.array([q, v, a]) - step))
            assert matrices[..., k] == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-6)
