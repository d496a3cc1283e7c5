"""Robots from URDF and MJCF files, against accelerations that MuJoCo 4.0.0 computes for them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hostile_robots import MJCF, URDF, hostile_files

import dalembert as da
from dalembert.errors import (
    DalembertError,
    FileError,
    ModelError,
    RenamedPartsWarning,
    UnreadPartsWarning,
)

ROBOTS = Path(__file__).parents[3] / "examples" / "robots"

#: q, v, effort and acceleration of waist, shoulder, elbow, roll, pitch, grip.
ARM = [
    (
        [0.25, 0.794, 0.551, -0.55, -0.4, 0.747],
        [-0.989, 0.642, 0.594, -0.064, -0.394, -0.443],
        [-0.49, -0.11, 0.009, 0.107, 0.991, 0.585],
        [-0.06692531575903003, 36.999246987818616, -19.404595764929894,
         2.3858538085525547, 24.628611735917836, 6.933553909044359],
    ),
    (
        [0.244, 0.978, -0.569, -0.68, 0.225, -0.912],
        [-0.929, 0.03, -0.068, 0.834, 0.258, 0.028],
        [-0.006, -0.505, -0.976, -0.615, 0.384, -0.599],
        [-1.5820473246718383, 34.93337123378611, -35.108538428794276,
         -19.92710670134062, 19.967543604033313, -5.973452566535599],
    ),
]  # fmt: skip

#: Positions, velocities, controls and accelerations of the cart with an arm and of the ball;
#: quaternions are (w, x, y, z), angular velocities in the axes of the body.
CART_QPOS = [0.21182162470025673, 0.7122630841250848, -0.35584038728036627, 0.9663547840705614,
             -0.1255221385136464, -0.051146847840553, 0.21860151875701797, 0.9091991363691613,
             1.0495936876730596, 0.5275591132430684, 0.6889169111245168, 0.027354808910809384,
             -0.12210938079665298, 0.7139569336574622]  # fmt: skip
CART_QVEL = [-0.39361034141671003, -0.09300422103869699, -0.7319166055056705, -0.19377402710574154,
             -0.5930895186477008, -0.475373319116301, 0.5007293452601052, -0.43918248402792015,
             -0.029618051136729884, 0.9614743996024773, 0.9233143873275735,
             0.4495798815470673]  # fmt: skip
CART_CTRL = {"u_m": 0.08245371109486843, "u_p": -0.44621759190925836}
CART_QACC = {"x": 1.2681622208237935, "a": -25.770729081098555, "b": -52.413883915218705,
             "f_x": 0.4131750266134017, "f_y": 0.10441441809601652,
             "f_z": -9.844572072852557}  # fmt: skip

PENDULUM = """\
<robot name="pendulum">
  <link name="{base}"/>
  <link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/></inertial>{more}</link>
  <joint name="hinge" type="{kind}">
    <parent link="{base}"/><child link="arm"/><axis xyz="0 1 0"/>{inside}
  </joint>
</robot>
"""


def urdf(folder: Path, text: str | None = None, **parts: str) -> Path:
    path = folder / "robot.urdf"
    given = {"base": "world", "kind": "continuous", "inside": "", "more": ""} | parts
    path.write_text(PENDULUM.format(**given) if text is None else text)
    return path


def rates_of(mechanism: da.bodies.Mechanism, q: dict, v: dict, inputs: dict) -> dict[str, float]:
    system = mechanism.system()
    kernel = da.derive(system, "lagrange").compile()
    names = [symbol.name for symbol in system.coordinates]
    state = np.array([q[name] for name in names] + [v[name] for name in names])
    found = kernel.rates(0.0, state, (), inputs)[len(names) :]
    return dict(zip(names, found, strict=True))


def quaternion_rate(q: np.ndarray, spin: np.ndarray) -> np.ndarray:
    """q_dot = q (0, spin) / 2 for an angular velocity in the axes of the body."""
    w, x, y, z = q
    return 0.5 * np.array([[-x, -y, -z], [w, -z, y], [z, w, -x], [-y, x, w]]) @ spin


@pytest.mark.parametrize("sample", ARM, ids=["first", "second"])
def test_an_arm_from_urdf_accelerates_as_in_mujoco(sample) -> None:
    names = ["waist", "shoulder", "elbow", "roll", "pitch", "grip"]
    q, v, effort, expected = (dict(zip(names, values, strict=True)) for values in sample)
    with pytest.warns(UnreadPartsWarning, match="effort of <limit>"):
        mechanism = da.bodies.load_mechanism(ROBOTS / "arm.urdf", limits=False, inputs=True)
    found = rates_of(mechanism, q, v, {f"u_{name}": value for name, value in effort.items()})
    for name in names:
        assert found[name] == pytest.approx(expected[name], rel=1e-11)


def test_classes_geoms_references_and_actuators_of_mjcf_act_as_in_mujoco() -> None:
    with pytest.warns(UnreadPartsWarning, match="shape of contact"):
        mechanism = da.bodies.load_mechanism(ROBOTS / "cart_arm.xml", inputs=True)
    q = dict(zip(["x", "a", "b"], CART_QPOS, strict=False))
    v = dict(zip(["x", "a", "b"], CART_QVEL, strict=False))
    q |= {f"f_{axis}": x for axis, x in zip("xyz", CART_QPOS[7:10], strict=True)}
    v |= {f"f_{axis}": x for axis, x in zip("xyz", CART_QVEL[6:9], strict=True)}
    for stem, at, of in (("c_q", 3, 3), ("f_q", 10, 9)):
        parts = np.array(CART_QPOS[at : at + 4])
        rate = quaternion_rate(parts, np.array(CART_QVEL[of : of + 3]))
        q |= {f"{stem}{part}": x for part, x in zip("wxyz", parts, strict=True)}
        v |= {f"{stem}{part}": x for part, x in zip("wxyz", rate, strict=True)}
    found = rates_of(mechanism, q, v, CART_CTRL)
    for name, expected in CART_QACC.items():
        assert found[name] == pytest.approx(expected, rel=1e-11)


def test_a_model_starts_in_the_pose_of_the_file_and_runs() -> None:
    with pytest.warns(UnreadPartsWarning):
        scenario = da.load_model(ROBOTS / "cart_arm.xml")
    assert [scenario.start[f"f_{axis}"] for axis in "xyz"] == [1, 1, 1]
    motion = da.simulate(scenario, span=(0, 0.5))
    assert motion.success and motion.worst_residual["position"] < 1e-12
    # the ball falls freely; gravity is (0.3, 0, -9.81)
    centre = motion["f_x"] + 1j * motion["f_z"]
    assert np.isfinite(centre).all() and motion["f_z"][-1] < 1


def test_loops_and_relations_of_mjcf_are_constraints(tmp_path: Path) -> None:
    link = '<geom type="capsule" size="0.02" fromto="0 0 0 {}"/>'
    path = tmp_path / "loop.xml"
    path.write_text(
        '<mujoco><worldbody><body name="l1"><joint name="j1" axis="0 1 0"/>'
        + link.format("0 0 1")
        + '<body name="l2" pos="0 0 1"><joint name="j2" axis="0 1 0"/>'
        + link.format("2 0 0")
        + '<body name="l3" pos="2 0 0"><joint name="j3" axis="0 1 0"/>'
        + link.format("0 0 -1")
        + "</body></body></body>"
        + "".join(
            f'<body name="g{k}" pos="0 {k} 0"><joint name="g{k}"/>'
            '<geom size="0.1" pos="1 0 0"/></body>'
            for k in (1, 2)
        )
        + '</worldbody><equality><connect body1="l3" anchor="0 0 -1"/>'
        + '<joint joint1="g1" joint2="g2" polycoef="0 -2 0 0 0"/></equality></mujoco>'
    )
    with pytest.warns(UnreadPartsWarning):
        scenario = da.load_model(path)
    motion = da.simulate(scenario, {"j1": 0.1, "g1_dot": 1.0}, (0, 0.9))
    assert motion.success and motion.worst_residual["position"] < 1e-12
    # a parallelogram, whose second and fourth bars stay level with the first and third
    assert motion["j2"] == pytest.approx(-motion["j1"], abs=1e-10)
    assert motion["g1"] == pytest.approx(-2 * motion["g2"], abs=1e-12)
    assert motion.energy[-1] == pytest.approx(motion.energy[0], abs=1e-8)


@pytest.mark.parametrize(
    ("kind", "inside", "names"),
    [
        ("fixed", "", []),
        ("floating", "", ["hinge_x", "hinge_y", "hinge_z", *(f"hinge_q{p}" for p in "wxyz")]),
        ("planar", "", ["hinge_x", "hinge_y", "hinge_angle"]),
        ("revolute", '<limit lower="-1" upper="1"/>', ["hinge"]),
    ],
)
def test_kinds_of_joints(kind: str, inside: str, names: list[str], tmp_path: Path) -> None:
    mechanism = da.bodies.load_mechanism(urdf(tmp_path, kind=kind, inside=inside))
    assert [symbol.name for symbol in mechanism.joint("hinge").coordinates] == names
    assert len(mechanism.joint("hinge").axes) == 0 or mechanism.system() is not None


def test_the_plane_of_a_planar_joint_is_across_its_axis(tmp_path: Path) -> None:
    mechanism = da.bodies.load_mechanism(urdf(tmp_path, kind="planar"))
    position = mechanism.position(mechanism.body("arm"))
    assert position[1] == 0 and {str(symbol) for symbol in position[0].free_symbols} <= {
        "hinge_x",
        "hinge_y",
    }


def test_a_free_base_and_names_that_are_no_identifiers(tmp_path: Path) -> None:
    path = urdf(tmp_path, base="base-link")
    with pytest.warns(RenamedPartsWarning, match="'base-link' is base_link"):
        mechanism = da.bodies.load_mechanism(path, base="free")
    assert mechanism.joint("base").kind == "free" and mechanism.body("base_link").mass == 0


def test_a_mimic_joint_follows_its_leader(tmp_path: Path) -> None:
    text = PENDULUM.format(base="world", kind="continuous", inside="", more="").replace(
        "</robot>",
        '<link name="b"><inertial><origin xyz="1 0 0"/><mass value="1"/></inertial></link>'
        '<joint name="c" type="continuous"><parent link="world"/><child link="b"/>'
        '<axis xyz="0 1 0"/>'
        '<mimic joint="hinge" multiplier="-2" offset="0.5"/></joint></robot>',
    )
    scenario = da.load_model(urdf(tmp_path, text))
    motion = da.simulate(scenario, {"hinge": 0.2}, (0, 1))
    assert motion["c"] == pytest.approx(0.5 - 2 * motion["hinge"], abs=1e-12)


def test_what_is_not_taken_over_is_named(tmp_path: Path) -> None:
    path = urdf(tmp_path, more="<collision/><visual/>")
    with pytest.warns(UnreadPartsWarning, match=r"<collision> \(1\)"):
        da.bodies.load_mechanism(path)


def test_joints_without_dry_friction_have_no_friction_limit(tmp_path: Path) -> None:
    path = urdf(tmp_path, inside='<dynamics damping="0.5"/>')
    assert da.bodies.load_mechanism(path).system().constraints == ()


def stl(path: Path, corners: Sequence[Sequence[float]]) -> None:
    """A binary STL file of one triangle."""
    numbers = np.array([[0, 0, 1], *corners], dtype="<f4").tobytes()
    path.write_bytes(bytes(80) + (1).to_bytes(4, "little") + numbers + bytes(2))


SHAPES = (
    '<visual><origin xyz="0 0 1"/><geometry><box size="1 2 3"/></geometry></visual>'
    '<visual><geometry><cylinder radius="0.1" length="0.4"/></geometry></visual>'
    '<visual><geometry><sphere radius="0.2"/></geometry></visual>'
)


def test_shapes_of_links_are_drawn(tmp_path: Path) -> None:
    mechanism = da.bodies.load_mechanism(urdf(tmp_path, more=SHAPES))
    (shapes,) = (body.shapes for body in mechanism.bodies if body.shapes)
    assert [shape.kind for shape in shapes] == ["box", "cylinder", "ball"]
    assert [float(x) for x in shapes[0].position] == [0, 0, 1]
    with pytest.warns(UnreadPartsWarning, match=r"<visual> \(3\)"):
        bare = da.bodies.load_mechanism(urdf(tmp_path, more=SHAPES), shapes=False)
    assert not any(body.shapes for body in bare.bodies)
    with pytest.raises(ModelError, match="not negative"):
        da.bodies.load_mechanism(urdf(tmp_path, more=SHAPES.replace("0.2", "-0.2")))


def test_meshes_are_drawn_by_their_outlines(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    stl(tmp_path / "part.stl", [[0, 0, 0], [2, 0, 0], [0, 1, 0]])
    scaled = '<mesh filename="package://any/part.stl" scale="1 2 1"/>'
    path = urdf(tmp_path, more=f"<visual><geometry>{scaled}</geometry></visual>")
    (shapes,) = (body.shapes for body in da.bodies.load_mechanism(path).bodies if body.shapes)
    (outline,) = shapes  # a flat part has one outline
    points = {tuple(map(float, point)) for point in outline.points}
    assert points == {(0, 0, 0), (2, 0, 0), (0, 2, 0)}


@pytest.mark.parametrize("name", ["../part.stl", "/etc/passwd.stl", "none.stl", "part.exe"])
def test_meshes_outside_the_folder_are_counted(tmp_path: Path, name: str) -> None:
    stl(tmp_path / "part.stl", [[0, 0, 0], [2, 0, 0], [0, 1, 0]])
    (tmp_path / "in").mkdir()
    text = f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
    path = urdf(tmp_path / "in", more=text)
    with pytest.warns(UnreadPartsWarning, match="not in the folder"):
        mechanism = da.bodies.load_mechanism(path)
    assert not any(body.shapes for body in mechanism.bodies)


def test_a_mesh_that_cannot_be_read_is_counted(tmp_path: Path) -> None:
    pytest.importorskip("trimesh")
    (tmp_path / "bad.stl").write_bytes(b"\xff" * 99)
    (tmp_path / "bomb.dae").write_text('<!DOCTYPE a [<!ENTITY b "c">]><COLLADA>&b;</COLLADA>')
    text = "".join(
        f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'
        for name in ("bad.stl", "bomb.dae")
    )
    with pytest.warns(UnreadPartsWarning, match=r"cannot be read \(2\)"):
        da.bodies.load_mechanism(urdf(tmp_path, more=text))


def test_dry_friction_of_joints_is_taken_over_and_written(tmp_path: Path) -> None:
    path = urdf(tmp_path, inside='<dynamics damping="0.5" friction="1.25"/>')
    mechanism = da.bodies.load_mechanism(path)
    written = tmp_path / "again.urdf"
    da.bodies.save_mechanism(mechanism, written)
    other = tmp_path / "again.xml"
    da.bodies.save_mechanism(mechanism, other)
    for found in (mechanism, *map(da.bodies.load_mechanism, (written, other))):
        (axis,) = found.joint("hinge").axes
        assert float(axis.friction_loss) == 1.25 and float(axis.damping) == 0.5
        (limit,) = (c for c in found.system().constraints if c.kind == "friction")
        assert float(limit.load) == 1.25 and limit.expression.name == "hinge_dot"


@pytest.mark.parametrize("limits", [True, False])
def test_efforts_and_speeds_are_data_of_a_joint_and_named(limits: bool, tmp_path: Path) -> None:
    limit = '<limit lower="-1" upper="1" effort="40" velocity="3"/>'
    path = urdf(tmp_path, kind="revolute", inside=limit)
    with pytest.warns(UnreadPartsWarning) as caught:
        mechanism = da.bodies.load_mechanism(path, limits=limits)
    (axis,) = mechanism.joint("hinge").axes
    assert (float(axis.effort), float(axis.speed)) == (40.0, 3.0) and (
        axis.limits is not None
    ) == limits
    assert "effort of <limit> (data of the joint, not enforced) (1)" in str(caught[0].message)
    assert "velocity of <limit>" in str(caught[0].message)


@pytest.mark.parametrize(
    ("kind", "inside", "named"),
    [
        ("revolute", '<limit lowr="-1" upper="1"/>', "'lowr' of <limit> (1)"),
        ("continuous", '<dynamics dampin="1"/>', "'dampin' of <dynamics> (1)"),
        ("planar", '<dynamics damping="1"/>', "<dynamics> of a planar joint (1)"),
    ],
)
def test_attributes_that_nothing_reads_are_named(
    kind: str, inside: str, named: str, tmp_path: Path
) -> None:
    with pytest.warns(UnreadPartsWarning) as caught:
        da.bodies.load_mechanism(urdf(tmp_path, kind=kind, inside=inside))
    assert named in str(caught[0].message)


def test_ranges_and_settings_of_mjcf_are_named(tmp_path: Path) -> None:
    path = tmp_path / "robot.xml"
    path.write_text(
        '<mujoco><compiler discardvisual="true"/><worldbody><body>'
        '<joint name="j" actuatorfrcrange="-3 2"/><geom size="1" mass="1"/>'
        "</body></worldbody></mujoco>"
    )
    with pytest.warns(UnreadPartsWarning) as caught:
        mechanism = da.bodies.load_mechanism(path)
    assert mechanism.joint("j").axes[0].effort == 3.0
    assert mechanism.body("body").mass == 1.0
    assert "actuatorfrcrange" in str(caught[0].message)
    assert "discardvisual" in str(caught[0].message)


def test_the_command_line_says_what_is_not_taken_over_in_one_line(capsys) -> None:
    from dalembert.cli import main

    assert main(["derive", str(ROBOTS / "cart_arm.xml"), "--form", "lagrange"]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Warning: Parts of the robot") and line.endswith(".")


def test_impossible_inertias_are_named_with_their_line(tmp_path: Path) -> None:
    impossible = '<mass value="2"/><inertia ixx="1" iyy="1" izz="3"/>'
    text = PENDULUM.format(base="world", kind="continuous", inside="", more="")
    path = urdf(tmp_path, text.replace('<mass value="2"/>', impossible))
    with pytest.raises(ModelError, match="Line 3: The inertia of `arm` is impossible"):
        da.bodies.load_mechanism(path)
    assert da.bodies.load_mechanism(path, check=False).body("arm").inertia[2, 2] == 3.0


BOMB = '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><robot name="&b;"/>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>'
MASS = '<robot name="r"><link name="a"><inertial><mass value="{}"/></inertial></link></robot>'
HOSTILE = {
    "empty": "",
    "text": "hello",
    "bomb": BOMB,
    "outside": OUTSIDE,
    "deep": "<robot>" + "<a>" * 5000 + "</a>" * 5000 + "</robot>",
    "many": "<robot name='r'>" + "<link/>" * 60_000 + "</robot>",
    "attributes": "<robot " + " ".join(f'a{k}="1"' for k in range(500)) + "/>",
    "other root": "<sdf/>",
    "no link": '<robot name="r"/>',
    "two roots": '<robot name="r"><link name="a"/><link name="b"/></robot>',
    "nan": MASS.format("nan"),
    "word": MASS.format("1_0"),
    "huge": MASS.format("1e999"),
    "loop": '<robot name="r"><link name="a"/><link name="b"/>'
    '<joint name="j" type="fixed"><parent link="a"/><child link="b"/></joint>'
    '<joint name="k" type="fixed"><parent link="b"/><child link="a"/></joint></robot>',
    "self": '<robot name="r"><link name="a"/><link name="b"/>'
    '<joint name="j" type="fixed"><parent link="b"/><child link="b"/></joint></robot>',
    "mujoco without body": "<mujoco/>",
    "include outside": '<mujoco><include file="../../etc/passwd"/></mujoco>',
    "include itself": '<mujoco><include file="robot.urdf"/></mujoco>',
    "mesh": '<mujoco><worldbody><body><joint/><geom type="mesh"/></body></worldbody></mujoco>',
    "class": '<mujoco><worldbody><body><joint class="x"/></body></worldbody></mujoco>',
    "misspelt": '<mujoco><worldbody><body><joint dampin="1"/></body></worldbody></mujoco>',
    "replicate": '<mujoco><worldbody><replicate count="9"/></worldbody></mujoco>',
    "actuator": '<mujoco><worldbody><body><joint/><geom size="1"/></body></worldbody>'
    '<equality><connect body1="x" anchor="0 0 0"/></equality></mujoco>',
}


@pytest.mark.filterwarnings("ignore::dalembert.errors.DalembertWarning")
def test_the_ur5_holds_its_weight() -> None:
    """Stretched out, its shoulder carries every mass times its distance; the base carries none."""
    model = da.bodies.BodyModel(da.bodies.load_mechanism(ROBOTS / "ur5.urdf", limits=False))
    pan, lift, *_ = model.bias([0.0] * 6, [0.0] * 6)
    wrist = (2 * 1.219 + 0.1879) * (0.425 + 0.39225)
    moment = 9.81 * (8.393 * 0.28 + 2.275 * (0.425 + 0.25) + wrist)
    assert abs(pan) < 1e-12 and lift == pytest.approx(-moment, rel=1e-12)


GENERATED = {label: (kind, text) for label, kind, text in hostile_files()}
#: Mutations that leave something legal, by how many of them may.
MOST_LEGAL = 12


def ended(path: Path) -> str:
    """The sentence in which reading a file ends; "" for a sound one."""
    began = time.process_time()
    try:
        da.load_model(path)
        da.bodies.load_mechanism(path, inputs=True, limits=False)
        message = ""
    except DalembertError as error:
        message = str(error)
        assert isinstance(error, (FileError, ModelError)) and message.endswith((".", "?"))
        assert len(message) < 700 and "root:" not in message and "Traceback" not in message
    assert time.process_time() - began < 5
    return message


@pytest.mark.filterwarnings("ignore::dalembert.errors.DalembertWarning")
@pytest.mark.parametrize("label", HOSTILE)
def test_hostile_files_end_in_a_sentence(label: str, tmp_path: Path) -> None:
    assert ended(urdf(tmp_path, HOSTILE[label]))


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::dalembert.errors.DalembertWarning")
def test_generated_hostile_files_end_in_a_sentence(tmp_path: Path) -> None:
    legal = []
    for label, (kind, text) in GENERATED.items():
        path = tmp_path / f"robot.{kind}"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        if not ended(path):
            legal.append(label)
    assert len(GENERATED) - len(legal) >= 200 and len(legal) <= MOST_LEGAL, legal
    assert {path.name for path in tmp_path.iterdir()} == {"robot.urdf", "robot.xml"}


@pytest.mark.filterwarnings("ignore::dalembert.errors.DalembertWarning")
@pytest.mark.parametrize(("kind", "text"), [("urdf", URDF), ("xml", MJCF)])
def test_the_files_that_hostile_ones_are_made_from_are_sound(kind, text, tmp_path: Path) -> None:
    path = tmp_path / f"robot.{kind}"
    path.write_text(text)
    assert not ended(path)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    for path in (tmp_path / "none.urdf", tmp_path):
        with pytest.raises(FileError):
            da.bodies.load_mechanism(path)
