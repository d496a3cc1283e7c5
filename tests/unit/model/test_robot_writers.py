"""Mechanisms to URDF and MJCF and back: the same coordinates and the same accelerations."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileError, ModelError, UnreadPartsWarning
from dalembert.model.io.robots.relations import actuators

b = da.bodies
ROBOTS = Path(__file__).parents[3] / "examples" / "robots"
INERTIA = [[0.31, 0.02, -0.03], [0.02, 0.42, 0.01], [-0.03, 0.01, 0.53]]


def loaded(path: Path, **options: object) -> da.bodies.Mechanism:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnreadPartsWarning)
        return b.load_mechanism(path, **options)


def written(mechanism: da.bodies.Mechanism, path: Path, **options: object) -> da.bodies.Mechanism:
    """The mechanism after a way through a file."""
    b.save_mechanism(mechanism, path, **options)
    return loaded(path, inputs=True)


def rates(mechanism: da.bodies.Mechanism, state: dict[str, float], values: object) -> dict:
    system = mechanism.system()
    names = [q.name for q in system.coordinates]
    kernel = da.derive(system, "lagrange").compile()
    array = np.array([state[n] for n in names] + [state[f"{n}_dot"] for n in names])
    inputs = {u.name: state.get(u.name, 0.0) for u in system.inputs}
    parameters = [values[symbol] for symbol in system.parameters]
    found = kernel.rates(0.0, array, parameters, inputs)
    return dict(zip(names, found[len(names) :], strict=True))


def assert_same(first, second, values=None, seeds=(1, 2)) -> None:
    system = first.system()
    assert {q.name for q in system.coordinates} == {q.name for q in second.system().coordinates}
    names = [*(s.name for q in system.coordinates for s in (q, q.dot)), *map(str, system.inputs)]
    for seed in seeds:
        numbers = np.random.default_rng(seed).uniform(-1, 1, len(names))
        state = dict(zip(names, numbers, strict=True))
        here, there = rates(first, state, values or {}), rates(second, state, {})
        size = max(map(abs, here.values()))
        for name in here:
            assert there[name] == pytest.approx(here[name], abs=1e-12 * size), name


def chain(*, quaternion: bool) -> tuple[da.bodies.Mechanism, dict]:
    """Joints of all kinds that URDF can state, with offsets on both sides and a parameter."""
    m, l = da.parameters("m l", positive=True)
    at = {"at": (0.1, -0.2, l), "rotation": b.angles("zyx", 0.4, 1.1, -0.3)}
    on = {"child_at": (0.3, 0.1, 0.2), "child_rotation": b.rotation_vector(0.5, 0.2, 1.9)}
    bodies = [b.Body(name, m, (0.1, 0.2, -l), INERTIA) for name in "abcdefg"]
    u = da.inputs("u_hinge")
    return b.Mechanism(
        [
            b.free("f", b.ground(), bodies[0], None if quaternion else "zyx"),
            b.revolute("hinge", bodies[0], bodies[1], (1, 2, 3), damping=0.3, force=u, **at, **on),
            b.prismatic("slide", bodies[2], bodies[1], (1, -2, 3), **at, **on),
            b.universal("u", bodies[2], bodies[3], ("z", "x"), damping=(0.1, 0.2), **at, **on),
            b.cylindrical("c", bodies[4], bodies[3], "-y", **at, **on),
            b.planar("p", bodies[4], bodies[5], **at, **on),
            b.weld("w", bodies[6], bodies[5], **at, **on),
        ],
        gravity=(0, 0, -9.81),
        name='a "chain" & <more>',
    ), {m: 1.3, l: 0.7}


@pytest.mark.parametrize("suffix", ["urdf", "xml"])
def test_an_arm_comes_back(suffix: str, tmp_path: Path) -> None:
    arm = loaded(ROBOTS / "arm.urdf", inputs=True)
    if suffix == "xml":  # which has no largest speeds
        with pytest.warns(UnreadPartsWarning, match="speed of `shoulder`"):
            again = written(arm, tmp_path / "arm.xml", partial=True)
    else:
        again = written(arm, tmp_path / "arm.urdf")
    assert_same(arm, again)
    for joint in arm.joints:
        first, second = joint.axes[0], again.joint(joint.name).axes[0]
        assert first.effort == second.effort and first.limits == second.limits
        assert suffix == "xml" or first.speed == second.speed


def test_balls_references_springs_and_actuators_of_mjcf_come_back(tmp_path: Path) -> None:
    cart = loaded(ROBOTS / "cart_arm.xml", inputs=True)
    assert_same(cart, written(cart, tmp_path / "cart.xml"))


@pytest.mark.parametrize("suffix", [pytest.param("urdf", marks=pytest.mark.long), "xml"])
@pytest.mark.parametrize(
    "quaternion",
    [pytest.param(True, id="quaternion"), pytest.param(False, id="angles", marks=pytest.mark.long)],
)
def test_joints_of_every_kind_come_back(suffix: str, quaternion: bool, tmp_path: Path) -> None:
    mechanism, values = chain(quaternion=quaternion)
    path = tmp_path / f"chain.{suffix}"
    again = written(mechanism, path, parameters=values)
    assert_same(mechanism, again, values)
    assert again.name == mechanism.name
    b.save_mechanism(again, tmp_path / f"again.{suffix}")
    assert_same(again, loaded(tmp_path / f"again.{suffix}", inputs=True))


def test_loops_and_relations_come_back_in_mjcf(tmp_path: Path) -> None:
    rods = [b.Body(n, 1.0, (0.5, 0, 0.1), (0.01, 0.2, 0.2)) for n in ("one", "two", "three")]
    q1, q5 = da.coordinates("q1 q5")
    wheel = b.Body("wheel", 1.0, inertia=(0.1, 0.1, 0.2))
    four_bar = b.Mechanism(
        [
            b.revolute("q1", b.ground(), rods[0]),
            b.revolute("q2", rods[0], rods[1], at=(1, 0, 0)),
            b.revolute("q3", b.ground(), rods[2], at=(2.5, 0, 0)),
            b.revolute("q4", rods[1], rods[2], at=(3, 0, 0), child_at=(2, 0, 0)),
            b.prismatic("q5", b.ground(), wheel, "x"),
            b.coupling("cam", 2 * q5 - q1**3 - 0.5 * q1),
        ],
        gravity=(0, -9.81, 0),
    )
    again = written(four_bar, tmp_path / "loop.xml")
    assert [joint.name for joint in again.loops] == ["q4", "q4_axis"]
    closed = b.assemble(four_bar, {"q1": 0.5}, {"q2": 0.5, "q3": 1.5}).values
    motions = [
        da.simulate(each.system(), {**closed, "q1_dot": 2.0}, (0, 1)) for each in (four_bar, again)
    ]
    for name in ("q1", "q3", "q5"):
        assert motions[1][name][-1] == pytest.approx(motions[0][name][-1], abs=1e-8)
    with pytest.raises(ModelError, match="`q4`, which closes a loop"):
        b.save_mechanism(four_bar, tmp_path / "loop.urdf")


def test_a_gear_is_a_mimic_joint(tmp_path: Path) -> None:
    small, large = (
        b.revolute(q, b.ground(), b.Body(f"{q}_wheel", 1.0, (0.1, 0, 0), INERTIA))
        for q in ("small", "large")
    )
    mechanism = b.Mechanism(
        [small, large, b.gear("teeth", small, large, -3)], gravity=(0, 0, -9.81)
    )
    for name in ("gear.urdf", "gear.xml"):
        again = written(mechanism, tmp_path / name)
        (relation,) = again.system().bilateral
        ratio = relation.expression.diff(da.coordinates("large")) / relation.expression.diff(
            da.coordinates("small")
        )
        assert float(ratio) == pytest.approx(3)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"stiffness": 3}, "stiffness of `q`"),
        ({"armature": 0.1}, "armature of `q`"),
        ({"force": da.coordinates("q")}, "the force along `q`"),
        ({"limits": (None, 1)}, "the one limit of `q`"),
    ],
)
def test_what_a_format_cannot_state_is_named(options: dict, named: str, tmp_path: Path) -> None:
    body = b.Body("arm", 1.0, (0, 0, -1))
    mechanism = b.Mechanism([b.revolute("q", b.ground(), body, **options)], gravity=(0, 0, -9.81))
    path = tmp_path / "arm.urdf"
    with pytest.raises(ModelError, match=named):
        b.save_mechanism(mechanism, path)
    assert not path.exists()
    with pytest.warns(UnreadPartsWarning, match=named):
        b.save_mechanism(mechanism, path, partial=True)
    assert b.load_mechanism(path).joint("q").kind == "revolute"


def test_refusals(tmp_path: Path) -> None:
    m = da.parameters("m")
    body = b.Body("arm", m, (0, 0, -1))
    mechanism = b.Mechanism([b.revolute("q", b.ground(), body)], gravity=(0, 0, -9.81))
    with pytest.raises(ModelError, match="m has no value"):
        b.save_mechanism(mechanism, tmp_path / "arm.urdf")
    with pytest.raises(FileError, match="URDF or MJCF"):
        b.save_mechanism(mechanism, tmp_path / "arm.stl", {m: 1})
    screw = b.Mechanism([b.screw("q", b.ground(), body, lead=1)], gravity=(0, 0, -9.81))
    with pytest.raises(ModelError, match="`q` cannot be written"):
        b.save_mechanism(screw, tmp_path / "arm.urdf", {m: 1})


@pytest.mark.parametrize("factor", ["x", "x_dot", "u"])
def test_a_force_that_is_not_affine_is_no_actuator(factor: str) -> None:
    """u q has nothing left over beside its gain, which is no number."""
    x, u = da.coordinates("x"), da.inputs("u")
    other = {"x": x, "x_dot": x.dot, "u": u}[factor]
    tree: Any = SimpleNamespace(values={})
    assert actuators(u * other, x, tree) is None
    (motor,) = actuators(3 * u, x, tree) or ()
    assert motor.kind == "motor"
