"""Contacts between the shapes of bodies, by formulas and in numbers."""

import math

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FormError, ModelError, StartError

b = da.bodies
G = 9.81


def free_bodies(shapes, mass=1.0, inertia=0.01):
    return [
        b.Body(f"b{k}", mass, inertia=(inertia,) * 3, shapes=[shape])
        for k, shape in enumerate(shapes)
    ]


def scene(bodies, floor=(), gravity=G, **coefficients):
    """Free bodies on a floor, with contacts between any two."""
    table = b.ground(list(floor) or [b.half_space()])
    heap = b.contacts("heap", [table, *bodies], **coefficients)
    joints = [b.free(body.name, table, body) for body in bodies]
    return b.Mechanism([*joints, heap], gravity=(0, 0, -gravity))


def stepped(mechanism, start, until, step):
    motion = da.simulate(
        mechanism.system(), mechanism.start(start), (0, until), method="moreau", step=step
    )
    assert motion.success, motion.message
    assert motion.statistics["unconverged_steps"] == 0
    return motion


def test_a_ball_on_a_plane_is_the_same_by_formula_and_in_numbers():
    (ball,) = free_bodies([b.ball(0.1)], inertia=0.004)
    table = b.ground([b.half_space()])
    start = {"b0_z": 0.1, "b0_x_dot": 2.0, "b0_dot": b.twist(velocity=(2, 0, 0), spin=(0, -10, 0))}
    by_formula = b.Mechanism(
        [b.free("b0", table, ball), b.contact("floor", ball, table, friction=0.3)],
        gravity=(0, 0, -G),
    )
    first = by_formula.start({key: start[key] for key in ("b0_z", "b0_dot")})
    exact = da.simulate(by_formula.system(), first, (0, 0.5), rtol=1e-11)
    assert exact["b0_x_dot"][-1] == pytest.approx(8 / 7, abs=1e-9)
    for mechanism in (by_formula, scene([ball], friction=0.3)):
        motion = da.simulate(mechanism.system(), first, (0, 0.5), method="moreau", step=2.5e-3)
        assert motion["b0_x_dot"][-1] == pytest.approx(8 / 7, abs=1e-4)
        assert motion["b0_x"][-1] == pytest.approx(exact["b0_x"][-1], abs=1e-3)
        assert motion["b0_z"] == pytest.approx(0.1, abs=1e-7)


def test_a_leg_in_a_plane_rubs_in_that_plane_only():
    """A slider on a vertical rail with a leg: no motion across the plane of the hinge."""
    hip = b.Body("hip", 2, inertia=(0.01, 0.01, 0.01))
    foot = b.ball(0.02, at=(0, 0, -0.3))
    leg = b.Body("leg", 1, com=(0, 0, -0.15), inertia=(0.01, 0.01, 0.001), shapes=[foot])
    ground = b.ground([b.half_space()])
    joints = [
        b.prismatic("rail", ground, hip, axis="z", friction_loss=1.0),
        b.revolute("turn", hip, leg, axis="y", friction_loss=0.05),
    ]
    touches = b.contact("foot", leg, ground, friction=0.6)
    system = b.Mechanism([*joints, touches], gravity=(0, 0, -G)).system()
    (contact,) = (c for c in system.unilateral if c.name == "foot")
    assert len(contact.tangent) == 1
    start = {"rail": 0.4, "turn": 0.3}
    exact = da.simulate(system, start, (0, 0.4))
    assert exact.success and {c.contact for c in exact.modes} >= {"foot", "rail_friction"}
    motion = da.simulate(system, start, (0, 0.4), method="moreau", step=2.5e-4)
    for name in ("rail", "turn"):
        assert motion[name][-1] == pytest.approx(exact[name][-1], abs=2e-3)
    pole = b.Body("pole", 1, shapes=[b.ball(0.1)])
    falls = [
        b.prismatic("fall", ground, pole, axis="z"),
        b.contact("end", pole, ground, friction=1),
    ]
    dropped = b.Mechanism(falls, gravity=(0, 0, -G)).system()
    assert da.simulate(dropped, {"fall": 0.2}, (0, 1))["fall"][-1] == pytest.approx(0.1, abs=1e-9)


def test_two_balls_exchange_their_velocities():
    mechanism = scene(free_bodies([b.ball(0.1), b.ball(0.1)]), gravity=0, restitution=1.0)
    start = {"b0_z": 1, "b1_z": 1, "b1_x": 0.3051, "b0_x_dot": 1.0}
    motion = stepped(mechanism, start, 0.3, 1e-2)
    assert motion["b0_x_dot"][-1] == pytest.approx(0, abs=1e-9)
    assert motion["b1_x_dot"][-1] == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize(
    ("shape", "height"),
    [
        (b.box((0.2, 0.3, 0.4)), 0.2),
        (b.capsule(0.1, 0.4, rotation=b.angles("y", math.pi / 2)), 0.1),
        (b.cylinder(0.1, 0.4), 0.2),
        (b.rim(0.3, 0.02), 0.02),
        (b.hull([(1, 0, -0.1), (-1, 1, -0.1), (-1, -1, -0.1), (0, 0, 0.3)]), 0.1),
    ],
)
def test_solids_rest_on_a_plane(shape, height):
    mechanism = scene(free_bodies([shape], inertia=0.05), friction=0.5)
    motion = stepped(mechanism, {"b0_z": height}, 0.3, 1e-2)
    for name, at in (("b0_x", 0), ("b0_y", 0), ("b0_z", height), ("b0_qw", 1)):
        assert motion[name] == pytest.approx(at, abs=1e-9)


@pytest.mark.parametrize(("mu", "slides"), [(0.5, False), (0.2, True)])
def test_a_box_on_an_inclined_box(mu, slides):
    angle = math.radians(20)
    (block,) = free_bodies([b.box((0.2, 0.2, 0.2))], inertia=1 / 150)
    slab = b.box((20, 4, 1), at=(0, 0, -0.5))
    table = b.ground([slab])
    heap = b.contacts("heap", [table, block], friction=mu)
    pull = (G * math.sin(angle), 0, -G * math.cos(angle))
    mechanism = b.Mechanism([b.free("b0", table, block), heap], gravity=pull)
    motion = stepped(mechanism, {"b0_z": 0.1}, 1.0, 5e-3)
    exact = 0.5 * G * (math.sin(angle) - mu * math.cos(angle)) if slides else 0.0
    assert motion["b0_x"][-1] == pytest.approx(exact, abs=1e-7)
    assert motion["b0_qy"] == pytest.approx(0, abs=1e-7)


def test_a_stack_of_boxes_stays():
    boxes = free_bodies([b.box((0.1, 0.1, 0.1))] * 4, inertia=1 / 600)
    start = {f"b{k}_z": 0.05 + 0.1 * k for k in range(4)}
    system = scene(boxes, friction=0.5).system()
    motion = da.simulate(system, start, (0, 1), method="moreau", step=1e-2)
    assert motion.success
    assert motion.statistics["contact_residual"] < 1e-4  # of what gravity does in a step
    for k in range(4):
        assert motion[f"b{k}_z"] == pytest.approx(0.05 + 0.1 * k, abs=1e-6)
        assert motion[f"b{k}_x"] == pytest.approx(0, abs=1e-6)


@pytest.mark.long
def test_ten_boxes_rest_on_each_other_for_ten_seconds():
    boxes = free_bodies([b.box((0.1, 0.1, 0.1))] * 10, inertia=1 / 600)
    start = {f"b{k}_z": 0.05 + 0.1 * k for k in range(10)}
    system = scene(boxes, friction=0.5).system()
    motion = da.simulate(system, start, (0, 10), method="moreau", step=2e-3)
    assert motion.success, motion.message
    assert motion.statistics["contact_residual"] < 1e-5
    for k in range(10):
        assert abs(motion[f"b{k}_z"] - start[f"b{k}_z"]).max() < 1e-8
        assert np.hypot(motion[f"b{k}_x"], motion[f"b{k}_y"]).max() < 1e-8


def test_crossed_boxes_touch_with_their_edges():
    """Two long boxes on edge, one across the other: the edges cross in one point."""
    boxes = free_bodies([b.box((2, 0.1, 0.1)), b.box((2, 0.1, 0.1))])
    half = 0.05 * math.sqrt(2)
    mechanism = scene(boxes, gravity=0, restitution=1.0)
    start = {
        "b0_z": 1.0,
        "b0": b.angles("x", math.pi / 4),
        "b1_z": 1.0 + 2 * half + 0.0051,
        "b1": b.angles("zx", math.pi / 2, math.pi / 4),
        "b1_z_dot": -1.0,
    }
    motion = stepped(mechanism, start, 0.05, 1e-3)
    assert motion["b0_z_dot"][-1] == pytest.approx(-1, abs=1e-6)
    assert motion["b1_z_dot"][-1] == pytest.approx(0, abs=1e-6)


def test_balls_on_boxes_and_capsules():
    """A ball on a box and one on a capsule that lie on the ground stay there."""
    floor = [b.box((1, 1, 1), at=(0, 0, -0.5)), b.capsule(0.2, 1, at=(3, 0, 0))]
    mechanism = scene(free_bodies([b.ball(0.1), b.ball(0.1)]), floor, friction=0.5)
    motion = stepped(mechanism, {"b0_z": 0.1, "b1_x": 3.0, "b1_z": 0.8}, 0.2, 1e-2)
    assert motion["b0_z"] == pytest.approx(0.1, abs=1e-9)
    assert motion["b1_z"] == pytest.approx(0.8, abs=1e-6)


@pytest.mark.long
def test_random_spheres_do_not_overlap_and_lose_energy():
    rng = np.random.default_rng(3)
    balls = free_bodies([b.ball(0.1)] * 8, inertia=0.004)
    start = {}
    for k in range(8):
        x, y = 0.15 * (k % 2) + 0.01 * rng.uniform(), 0.15 * (k // 2 % 2)
        start |= {f"b{k}_x": x, f"b{k}_y": y, f"b{k}_z": 0.11 + 0.21 * (k // 4)}
    start["b1_x"] = start["b5_x"] = 0.25
    start["b2_y"] = start["b6_y"] = start["b3_y"] = start["b7_y"] = 0.25
    start["b3_x"] = start["b7_x"] = 0.25
    motion = da.simulate(
        scene(balls, friction=0.5).system(), start, (0, 1), method="moreau", step=5e-3
    )
    assert motion.success
    places = np.array([[motion[f"b{k}_{c}"] for c in "xyz"] for k in range(8)])
    for k in range(8):
        assert places[k, 2].min() > 0.1 - 1e-6
        for other in range(k):
            apart = np.linalg.norm(places[k] - places[other], axis=0)
            assert apart.min() > 0.2 - 1e-6
    assert np.diff(motion.energy).max() < 1e-5


def test_what_contacts_between_bodies_refuse():
    ball, rim = (
        b.Body("ball", 1, inertia=(1, 1, 1), shapes=[b.ball(0.1)]),
        b.Body("roll", 1, inertia=(1, 1, 1), shapes=[b.rim(0.1, 0.01)]),
    )
    with pytest.raises(ModelError, match="distance of a ball and a rim"):
        b.contact("touch", ball, rim)
    with pytest.raises(ModelError, match="no shape that could touch"):
        b.contact("touch", ball, b.Body("bare", 1))
    mechanism = scene(free_bodies([b.ball(0.1), b.ball(0.1)]), friction=0.5)
    start = {"b0_z": 0.1, "b1_z": 0.3}
    with pytest.raises(FormError, match="found in numbers"):
        da.simulate(mechanism.system(), start, (0, 1))
    with pytest.raises(StartError, match="overlap"):
        da.simulate(mechanism.system(), start | {"b1_z": 0.25}, (0, 1), method="moreau", step=0.1)
