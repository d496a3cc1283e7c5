"""[bodies] and [joints] of a model file, against the same mechanisms stated in Python."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.cli import main
from dalembert.errors import ModelError
from dalembert.model.io.files import dumps, loads

b = da.bodies

ARM = """
name = "Double pendulum"
gravity = [0, 0, "-g"]
[parameters]
m = 1.0
l = 0.5
g = 9.81
[inputs]
u = "sin(t)"
[bodies.upper]
mass = "m"
com = [0, 0, "-l/2"]
inertia = ["m*l**2/12", "m*l**2/12", 0]
shapes = [{capsule = [0.02, "l"], at = [0, 0, "-l/2"]}]
[bodies.lower]
mass = "m"
com = [0, 0, "-l/2"]
inertia = [["m*l**2/12", 0, 0], [0, "m*l**2/12", 0], [0, 0, 0]]
[joints.shoulder]
kind = "revolute"
child = "upper"
axis = "y"
damping = 0.1
force = "u - shoulder_dot**3"
[joints.elbow]
kind = "revolute"
parent = "upper"
child = "lower"
at = [0, 0, "-l"]
rotation = {zyx = [0.3, 0, 0]}
axis = [0, 1, 0]
limits = [-2, 2]
[outputs]
sum = "shoulder + elbow"
[start]
shoulder = 1.0
[simulate]
t = [0, 2]
"""

#: One of each kind; its parts are compared with those of `everything`.
EVERYTHING = """
gravity = [0, 0, -9.81]
[bodies.ground]
shapes = [{line = [[0, 0, 0], [1, 0, 0]]}]
[bodies.a]
mass = 1.5
com = [0.1, 0.2, 0.3]
inertia = [0.3, 0.4, 0.5]
inertia_rotation = {vector = [0, 0, 0.3]}
[bodies.b]
mass = 1.0
inertia = [0.3, 0.4, 0.5]
[bodies.c]
mass = 1.0
com = [0.2, 0, 0]
inertia = [0.3, 0.4, 0.5]
[bodies.d]
mass = 2.0
inertia = [0.3, 0.3, 0.3]
[bodies.w]
mass = 1.0
inertia = [0.0625, 0.125, 0.0625]
[joints.q1]
kind = "universal"
child = "a"
axes = ["z", "x"]
stiffness = [1, 2]
rest = [0.1, 0]
[joints.q2]
kind = "screw"
parent = "a"
child = "b"
lead = 0.5
at = [1, 0, 0]
rotation = {quaternion = [1, 0, 0.2, 0]}
[joints.q3]
kind = "cylindrical"
child = "c"
axis = "-y"
armature = [0, 0.1]
[joints.q4]
kind = "spherical"
child = "d"
angles = "zxz"
at = [0, 3, 0]
[joints.q5]
kind = "free"
child = "w"
[joints.roll]
kind = "rolling"
child = "w"
surface = {disk = 0.5, axis = "y"}
[joints.tie]
kind = "spring"
parent = "b"
child = "d"
child_at = [0.1, 0.1, 0]
stiffness = 30
length = 0.2
damping = 0.4
[joints.mount]
kind = "bushing"
parent = "c"
child = "a"
stiffness = [1, 2, 3, 4, 5, 6]
damping = [0.1, 0, 0, 0, 0, 0.1]
[joints.push]
kind = "wrench"
child = "d"
child_at = [0, 0, 1]
force = [0, "cos(t)", 0]
torque = [1, 0, 0]
follows = true
[joints.teeth]
kind = "coupling"
relation = "q1_1 - 2*q3_angle"
[joints.blade]
kind = "knife-edge"
child = "c"
child_at = [0.5, 0, 0]
axis = "z"
[joints.stay]
kind = "no-spin"
child = "d"
axis = "x"
"""


def everything() -> da.System:
    ground = b.ground()
    turned = b.rotation_vector(0, 0, 0.3)
    inertia = (0.3, 0.4, 0.5)
    one = b.Body("a", 1.5, (0.1, 0.2, 0.3), inertia, inertia_axes=turned)
    two, three = b.Body("b", 1.0, inertia=inertia), b.Body("c", 1.0, (0.2, 0, 0), inertia)
    four = b.Body("d", 2.0, inertia=(0.3, 0.3, 0.3))
    wheel = b.Body("w", 1.0, inertia=(0.0625, 0.125, 0.0625))
    q1, angle = da.coordinates("q1_1 q3_angle")
    push = {"force": (0, da.bodies.angles("z", da.t).rows[0][0], 0), "torque": (1, 0, 0)}
    tilted = b.quaternion(1, 0, 0.2, 0)
    return b.Mechanism(
        [
            b.universal("q1", ground, one, ("z", "x"), stiffness=[1, 2], rest=[0.1, 0]),
            b.screw("q2", one, two, lead=0.5, at=(1, 0, 0), rotation=tilted),
            b.cylindrical("q3", ground, three, "-y", armature=[0, 0.1]),
            b.spherical("q4", ground, four, "zxz", at=(0, 3, 0)),
            b.free("q5", ground, wheel),
            b.rolling("roll", wheel, b.disk(0.5), ground),
            b.spring("tie", two, four.point((0.1, 0.1, 0)), 30, 0.2, 0.4),
            b.bushing("mount", three, one, (1, 2, 3, 4, 5, 6), (0.1, 0, 0, 0, 0, 0.1)),
            b.wrench("push", four.point((0, 0, 1)), **push, follows=True),
            b.coupling("teeth", q1 - 2 * angle),
            b.knife_edge("blade", three.point((0.5, 0, 0)), ground, "z"),
            b.no_spin("stay", four, ground, "x"),
        ],
        gravity=(0, 0, -9.81),
    ).system()


def accelerations(system: da.System, seed: int) -> np.ndarray:
    start = np.random.default_rng(seed).uniform(0.2, 0.9, 2 * len(system.coordinates))
    return da.derive(system, "lagrange").compile().rates(0.3, start, ())


def test_an_arm_moves_as_the_one_that_python_states() -> None:
    scenario = loads(ARM)
    m, l, g = da.parameters("m l g", positive=True)
    upper, lower = (
        b.Body(name, m, (0, 0, -l / 2), (m * l**2 / 12, m * l**2 / 12, 0))
        for name in ("upper", "lower")
    )
    u, q = da.inputs("u"), da.coordinates("shoulder")
    turned = b.angles("zyx", 0.3, 0, 0)
    same = b.Mechanism(
        [
            b.revolute("shoulder", b.ground(), upper, "y", damping=0.1, force=u - q.dot**3),
            b.revolute("elbow", upper, lower, "y", at=(0, 0, -l), rotation=turned, limits=(-2, 2)),
        ],
        gravity=(0, 0, -g),
    ).system()
    motion = da.simulate(scenario)
    driven = same.replacing(inputs={u: sympy.sin(da.t)})
    values = {m: 1, l: 0.5, g: 9.81}
    expected = da.simulate(driven, {"shoulder": 1.0}, (0, 2), parameters=values)
    assert motion["elbow"][-1] == pytest.approx(expected["elbow"][-1], rel=1e-12)
    assert motion["sum"][-1] == pytest.approx(motion["shoulder"][-1] + motion["elbow"][-1])
    assert len(scenario.system.unilateral) == 2 and scenario.drawing is not None


def test_every_kind_of_joint_is_the_one_of_python() -> None:
    read, stated = loads(EVERYTHING).system, everything()
    assert [q.name for q in read.coordinates] == [q.name for q in stated.coordinates]
    assert [c.name for c in read.constraints] == [c.name for c in stated.constraints]
    for seed in (1, 2):
        assert accelerations(read, seed) == pytest.approx(accelerations(stated, seed), rel=1e-12)


def test_rolling_on_hills_has_contact_coordinates_that_the_file_may_name() -> None:
    text = """
gravity = [0, 0, -9.81]
[parameters]
a = 0.05
[bodies.coin]
mass = 1.0
inertia = [0.0625, 0.125, 0.0625]
[joints.c]
kind = "free"
child = "coin"
[joints.edge]
kind = "rolling"
child = "coin"
surface = {disk = 0.5}
ground = {height = "a*sin(x)*cos(y)"}
[outputs]
advance = "edge_x"
[start]
c_z = 0.5
c_x_dot = 2.0
edge_x = 0.0
"""
    motion = da.simulate(loads(text), span=(0, 1))
    height = 0.05 * np.sin(motion["edge_contact_x"]) * np.cos(motion["edge_contact_y"])
    assert motion["edge_contact_z"] == pytest.approx(height, abs=1e-12)
    assert motion["advance"] == pytest.approx(motion["edge_contact_x"], abs=1e-12)


def test_maximal_coordinates_further_constraints_and_forces() -> None:
    crank = """
coordinates = "{}"
gravity = [0, 0, -9.81]
{}
[bodies.one]
mass = 1.0
com = [0, 0, -1]
inertia = [0.1, 0.1, 0.1]
[joints.q]
kind = "revolute"
child = "one"
axis = "y"
"""
    maximal = loads(crank.format("maximal", ""))
    assert maximal.system.coordinates[0].name == "one_x"
    start = {"one_qw": np.cos(0.2), "one_qy": np.sin(0.2)}
    turned = da.simulate(maximal, start, (0, 1))
    plain = da.simulate(loads(crank.format("joint", "")), {"q": 0.4}, (0, 1))
    assert 2 * np.arctan2(turned["one_qy"][-1], turned["one_qw"][-1]) == pytest.approx(
        plain["q"][-1], abs=1e-8
    )
    held = loads(crank.format("joint", 'constraints = ["q = 0.3"]') + '[forces]\nq = "-q_dot"')
    assert held.system.forces and held.system.bilateral[0].name == "c1"


def test_what_was_read_can_be_written_and_read_again() -> None:
    scenario = loads(EVERYTHING)
    again = loads(dumps(scenario))
    for seed in (1, 2):
        found = accelerations(again.system, seed)
        assert found == pytest.approx(accelerations(scenario.system, seed), rel=1e-12)


@pytest.mark.parametrize(
    "command",
    [
        ("run", "--json", "--at", "0,1"),
        ("check", "--json"),
        ("derive", "--form", "lagrange", "--format", "latex"),
    ],
)
def test_the_command_line_takes_it(command: tuple[str, ...], tmp_path: Path, capsys) -> None:
    path = tmp_path / "arm.toml"
    path.write_text(ARM)
    assert main([command[0], str(path), *command[1:]]) == 0
    out = capsys.readouterr().out
    assert out and ("--json" not in command or json.loads(out))


FAULTS = {
    "no body": ('child = "upper"', 'child = "uper"', "did you mean upper"),
    "kind": ('kind = "revolute"', 'kind = "revolut"', "did you mean revolute"),
    "key": ("damping = 0.1", "dampin = 0.1", "nearest known key is `damping`"),
    "axis": ('axis = "y"', 'axis = "w"', "an axis such as"),
    "zero axis": ("axis = [0, 1, 0]", "axis = [0, 0, 0]", "direction"),
    "three": ('com = [0, 0, "-l/2"]', "com = [0, 0]", "array of 3"),
    "symbol": ('mass = "m"', 'mass = "M"', "`M` is not known"),
    "mass": ('mass = "m"', "mass = -1", "negative"),
    "inertia": ('inertia = ["m*l**2/12", "m*l**2/12", 0]', "inertia = [1, 1, 3]", "impossible"),
    "loose": ("[outputs]", "[bodies.third]\nmass = 1.0\n[outputs]", "No joint leads to"),
    "energies": ("gravity =", 'kinetic = "m"\ngravity =', "bodies or energies"),
    "coordinates": ("gravity =", 'coordinates = ["x"]\ngravity =', "maximal"),
    "name twice": ("[joints.elbow]", "[joints.m]", "means both"),
    "infinite": ("damping = 0.1", "damping = inf", "finite number"),
    "flag": ("[joints.elbow]", "[joints.r]\nkind = 'rolling'\nchild = 'upper'\nslips = 1\n"
             "surface = {disk = 1}\n[joints.elbow]", "true or false"),
    "no surface": ("[joints.elbow]", "[joints.r]\nkind = 'rolling'\nchild = 'upper'\n"
                   "[joints.elbow]", "a table with one of disk"),
    "itself": ('child = "lower"', 'child = "upper"', "connects a body with itself"),
    "start": ("shoulder = 1.0", "shouldr = 1.0", "nearest known name is `shoulder`"),
}  # fmt: skip


@pytest.mark.parametrize("label", FAULTS)
def test_a_fault_is_named_with_its_place(label: str) -> None:
    old, new, said = FAULTS[label]
    assert old in ARM
    with pytest.raises(ModelError) as caught:
        loads(ARM.replace(old, new, 1))
    assert said in str(caught.value)


@pytest.mark.parametrize(("bodies", "coordinates"), [(301, "planar"), (200, "free")])
def test_sizes_are_bounded(bodies: int, coordinates: str) -> None:
    parts = [f"[bodies.b{k}]\nmass = 1.0" for k in range(bodies)]
    parts += [f'[joints.j{k}]\nkind = "{coordinates}"\nchild = "b{k}"' for k in range(bodies)]
    with pytest.raises(ModelError, match="more than"):
        loads("\n".join(parts))


WILD = [
    "0", "-1", "1e308", "-1e308", "1e-320", "inf", "nan", "true", '""', '"x"', '"1/0"', '"0/0"',
    '"10**400"', '"sqrt(-1)"', '"shoulder_ddot"', '"t"', '"log(0)"', "[]", "[[]]", "{}", "[1]",
    '["x", "y", "z"]', "[0, 0, 0]", "[1e308, 1e308, 1e308]", "[nan, 0, 0]", '{zyx = [1, 2]}',
    '{quaternion = [0, 0, 0, 0]}', '{disk = -1}', '{disk = 0}', '{implicit = "x"}', '"ground"',
    '{height = "1/0"}', '["' + "a" * 3000 + '"]', '"' + "(" * 2000 + '"', "1979-05-27",
]  # fmt: skip


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 12))]
)
def test_wild_values_end_in_a_sentence_or_a_model(seed: int) -> None:
    """Each value of two models is replaced by each wild one in turn, by twelfths."""
    count = 0
    for text in (ARM, EVERYTHING):
        lines = text.splitlines()
        for place, line in enumerate(lines):
            key, sign, _ = line.partition(" = ")
            for value in WILD if sign else ():
                count += 1
                if count % 12 != seed:
                    continue
                changed = [*lines[:place], f"{key} = {value}", *lines[place + 1 :]]
                began = time.process_time()
                try:
                    loads("\n".join(changed))
                except ModelError as error:
                    assert len(str(error)) < 12_000
                assert time.process_time() - began < 10, (key, value)
