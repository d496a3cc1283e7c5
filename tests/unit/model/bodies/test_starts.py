"""Starts of free and spherical joints by rotations and twists, against SciPy's rotations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation as Turned

import dalembert as da
from dalembert.errors import ModelError, StartError
from dalembert.model.io.files import loads

b = da.bodies
BODY = b.Body("top", 2.0, (0.1, 0.2, 0.3), (1.0, 1.1, 1.2))
MATRIX = Turned.from_euler("ZYX", [0.3, -0.7, 1.1]).as_matrix()
SPIN, VELOCITY = np.array([0.3, -1.2, 0.8]), np.array([1.0, 2.0, -0.5])
WAYS = {
    "angles": b.angles("zyx", 0.3, -0.7, 1.1),
    "quaternion": b.quaternion(*np.roll(3 * Turned.from_matrix(MATRIX).as_quat(), 1)),
    "rotation vector": b.rotation_vector(*Turned.from_matrix(MATRIX).as_rotvec()),
    "matrix": b.angles("zyx", 0.3, -0.7, 1.1) @ b.angles(""),
}


def pose(start: dict[str, float], sequence: str | None, later: float = 0.0) -> tuple:
    """Rotation and position that SciPy has for coordinates, moved on by their rates."""

    def value(name: str) -> float:
        return start[name] + later * start.get(f"{name}_dot", 0.0)

    at = np.array([start.get(f"f_{x}", 0.0) + later * start.get(f"f_{x}_dot", 0.0) for x in "xyz"])
    if sequence is None:
        return Turned.from_quat([value(f"f_q{part}") for part in "xyzw"]).as_matrix(), at
    angles = [value(f"f_{k}") for k in (1, 2, 3)]
    return Turned.from_euler(sequence.upper(), angles).as_matrix(), at


@pytest.mark.parametrize("sequence", [None, "zyx", "zxz", "xyz"])
@pytest.mark.parametrize("way", WAYS)
def test_a_rotation_gives_the_coordinates(way: str, sequence: str | None) -> None:
    mechanism = b.Mechanism([b.free("f", b.ground(), BODY, sequence)])
    start = mechanism.start({"f": WAYS[way], "f_x": 0.5})
    found, at = pose(start, sequence)
    assert found == pytest.approx(MATRIX, abs=1e-14) and at[0] == 0.5


@pytest.mark.parametrize("sequence", [None, "zyx", "zxz"])
@pytest.mark.parametrize("frame", ["body", "space", "mixed"])
@pytest.mark.parametrize("joint", ["free", "spherical"])
def test_a_twist_gives_the_rates(joint: str, frame: str, sequence: str | None) -> None:
    make = getattr(b, joint)
    mechanism = b.Mechanism([make("f", b.ground(), BODY, sequence)])
    place = {"f_x": 0.3, "f_y": -0.4, "f_z": 0.9} if joint == "free" else {}
    velocity = VELOCITY if joint == "free" else 0 * VELOCITY
    twist = b.twist(SPIN, velocity, frame)
    start = mechanism.start({"f": WAYS["angles"], "f_dot": twist, **place})
    step = 1e-6
    (ahead, there), (behind, before) = (pose(start, sequence, s) for s in (step, -step))
    rate, moved = (ahead - behind) / (2 * step), (there - before) / (2 * step)
    around = rate @ MATRIX.T if frame != "body" else MATRIX.T @ rate  # [w]x
    spin = np.array([around[2, 1], around[0, 2], around[1, 0]])
    assert spin == pytest.approx(SPIN, abs=1e-8)
    if joint == "free":
        at = np.array(list(place.values()))
        expected = {
            "body": MATRIX @ VELOCITY,
            "mixed": VELOCITY,
            "space": VELOCITY + np.cross(SPIN, at),
        }[frame]
        assert moved == pytest.approx(expected, abs=1e-8)


def test_a_motion_begins_with_the_twist() -> None:
    mechanism = b.Mechanism([b.free("f", b.ground(), BODY)])
    start = mechanism.start({"f": WAYS["angles"], "f_dot": b.twist((0, 0, 2), (1, 0, 0))})
    motion = da.simulate(mechanism.system(), start, (0, 0.1))
    model = b.BodyModel(mechanism)
    q = [motion[name][0] for name in model.names]
    v = [motion[f"{name}_dot"][0] for name in model.names]
    spin = model.jacobian(BODY, q)[:3] @ v
    assert MATRIX.T @ spin == pytest.approx([0, 0, 2], abs=1e-12)


def test_assembling_is_a_method_and_takes_rotations() -> None:
    arm = b.Body("arm", 1.0, (0.5, 0, 0))
    mechanism = b.Mechanism(
        [
            b.spherical("f", b.ground(), BODY),
            b.revolute("q", BODY, arm, at=(1, 0, 0)),
            b.distance("rod", arm.point((1, 0, 0)), b.ground(), 1.5),
        ]
    )
    found = mechanism.assemble(hold={"f": WAYS["angles"]}, guess={"q": 1.0})
    assert pose(found.values, None)[0] == pytest.approx(MATRIX, abs=1e-14)
    assert found.residual < 1e-12
    tip = b.BodyModel(mechanism).pose(arm.point((1, 0, 0)), list(found.values.values())).position
    assert np.linalg.norm(tip) == pytest.approx(1.5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"q": b.angles("x", 1)}, "a revolute joint"),
        ({"none": b.angles("x", 1)}, "no joint"),
        ({"f": b.twist((0, 0, 1))}, "followed by _dot"),
        ({"f": b.angles("x", 1), "f_qx": 0.1}, "gives `f_qx` twice"),
        ({"f": b.angles("x", da.parameters("a"))}, "not in numbers"),
    ],
)
def test_what_fits_no_joint_is_named(given: dict, said: str) -> None:
    arm = b.Body("arm", 1.0, (0.5, 0, 0))
    joints = [b.free("f", b.ground(), BODY), b.revolute("q", BODY, arm, at=(1, 0, 0))]
    with pytest.raises(StartError, match=said):
        b.Mechanism(joints).start(given)


def test_twists_that_cannot_be() -> None:
    ball = b.Mechanism([b.spherical("f", b.ground(), BODY, "zyx")])
    with pytest.raises(StartError, match="turns only"):
        ball.start({"f_dot": b.twist(velocity=(1, 0, 0))})
    with pytest.raises(StartError, match="singular"):
        ball.start({"f_2": np.pi / 2, "f_dot": b.twist((0, 0, 1))})
    with pytest.raises(StartError, match="three ways"):
        b.twist((0, 0, 1), frame="world")


TOP = """
[parameters]
a = 0.2
[bodies.top]
mass = 1.0
inertia = [1.0, 1.0, 0.5]
[joints.f]
kind = "free"
child = "top"
[start]
f_x = "2*a"
f = {zyx = [0, "a", 0]}
f_dot = {spin = [0, 0, 30], velocity = [1, 0, 0], frame = "mixed"}
"""


def test_a_model_file_starts_the_same_way() -> None:
    scenario = loads(TOP)
    mechanism = b.Mechanism([b.free("f", b.ground(), b.Body("top", 1.0, inertia=(1, 1, 0.5)))])
    twist = b.twist((0, 0, 30), (1, 0, 0), "mixed")
    expected = mechanism.start({"f_x": 0.4, "f": b.angles("zyx", 0, 0.2, 0), "f_dot": twist})
    assert dict(scenario.start) == pytest.approx(expected, abs=1e-14)
    for wrong in ("f = {zyx = [0]}", "f = {zyx = [0, 1, nan]}", "g = {x = [1]}", "f = {}"):
        with pytest.raises(ModelError):
            loads(TOP.replace('f = {zyx = [0, "a", 0]}', wrong))
    with pytest.raises(ModelError, match="nearest known key"):
        loads(TOP.replace("frame =", "fram ="))


def test_a_ball_in_a_bowl_keeps_its_energy_and_contact() -> None:
    marble = b.Body("marble", 1.0, inertia=(0.004, 0.004, 0.004))
    bowl = b.implicit(lambda x, y, z: x**2 + y**2 + z**2 - 4, inside=True)
    mechanism = b.Mechanism(
        [
            b.free("f", b.ground(), marble),
            b.ball_on_surface("c", marble, 0.1, b.ground(), bowl),
        ],
        gravity=(0, 0, -9.81),
    )
    start = mechanism.start({"f_x": 1.0, "f_y": 0.0, "f_z": -np.sqrt(1.9**2 - 1)})
    near = {"c_sx": 1.0, "c_sy": 0.0, "c_sz": -1.6}
    found = mechanism.assemble(hold=start, guess=near).values
    motion = da.simulate(mechanism.system(), {**found, "f_y_dot": 1.0}, (0, 2), rtol=1e-11)
    centre = np.array([motion[f"f_{x}"] for x in "xyz"])
    assert np.linalg.norm(centre, axis=0) == pytest.approx(1.9, abs=1e-11)
    assert motion.energy == pytest.approx(motion.energy[0], rel=1e-9)
