"""Model files: round trips, what they may say, and that hostile ones end in one clear error."""

from __future__ import annotations

import time
from collections import Counter

import pytest
import sympy
from hostile_models import GOOD, hostile_models

import dalembert as da
from dalembert.errors import DalembertError, ExpressionError, FileError, ModelError
from dalembert.model.constraints import (
    HolonomicConstraint,
    MomentumConstraint,
    UnilateralConstraint,
    VelocityConstraint,
)
from dalembert.model.io.files import dumps, load_model, loads, save_model
from dalembert.model.symbols import Coordinate, Parameter, t

HOSTILE = list(hostile_models())

FULL = """
name = "Everything \\"quoted\\" \\\\ θ"
source = "A context"
summary = "Two lines\\nof text"
coordinates = ["x", "y", "lambda", "h"]
lagrangian = "m*(x_dot**2 + y_dot**2 + lambda_dot**2 + h_dot**2)/2 - m*g*h \
- where(x > 0, k*x**2/2, 0.1*k*x**4)"
dissipation = "c*x_dot**2/2"
constraints = [
    "x**2 + y**2 = l**2",
    {expression = "x_dot*sin(lambda) - y_dot*cos(lambda)", name = "blade", \
work = {x = "-mu*Abs(x_dot)", y = 0}},
    "p_x + t = 0",
    {expression = "h >= 0", restitution = "e/2", name = "floor"},
    {expression = "h - 10", kind = "unilateral"},
]
[parameters]
m = 1
g = 9.81
k = "m*g/l"
l = "2*e"
e = 0.1
c = 1e-300
mu = 0.2
unused = 3
[forces]
x = "u + w - c*x_dot"
[inputs]
u = "sin(t)*x_dot"
w = {free = true}
[outputs]
angle = "atan2(y, x)"
[start]
x = "l/2"
y_dot = "-pi/2"
p_x = 0
chi_blade = 1.5
[simulate]
t = [10, "-l"]
at = [1, 2.5]
rtol = 1e-10
atol = 1e-12
form = "vakonomic"
method = "dop853"
"""


def test_a_full_file():
    scenario = loads(FULL)
    system = scenario.system
    x, y, angle, h = system.coordinates
    assert angle == Coordinate("lambda")
    assert [type(c) for c in system.constraints] == [
        HolonomicConstraint,
        VelocityConstraint,
        MomentumConstraint,
        UnilateralConstraint,
        UnilateralConstraint,
    ]
    assert [c.name for c in system.constraints] == ["c1", "blade", "c3", "floor", "c5"]
    assert system.constraints[3].expression == -h
    assert system.constraints[3].restitution == Parameter("e") / 2
    assert system.constraints[1].work == {x: -Parameter("mu") * sympy.Abs(x.dot), y: 0}
    assert scenario.parameters == {
        "m": 1.0, "g": 9.81, "k": 9.81 / 0.2, "l": 0.2, "e": 0.1, "c": 1e-300, "mu": 0.2,
        "unused": 3.0
    }  # fmt: skip
    assert scenario.start == {"x": 0.1, "y_dot": float(-sympy.pi / 2), "p_x": 0.0, "chi_blade": 1.5}
    assert scenario.simulate["span"] == (10.0, -0.2)
    assert scenario.simulate["at"] == (1.0, 2.5)
    assert list(system.inputs.values()) == [sympy.sin(t) * x.dot, None]
    assert (scenario.source, scenario.summary) == ("A context", "Two lines\nof text")


def assert_same(first, second):
    assert first.system == second.system
    assert dict(first.parameters) == dict(second.parameters)
    assert dict(first.start) == dict(second.start)
    assert dict(first.simulate) == dict(second.simulate)
    assert (first.source, first.summary) == (second.source, second.summary)


IMAGE = """
coordinates = ["x", "y", "z"]
hamiltonian = "(p_x**2 + p_y**2 + p_z**2)/(2*m)"
[parameters]
m = 1.0
[image]
speeds = ["u1", "u2"]
name = "rolling"
x = "u1"
y = "z**2*u1"
z = "u2"
[start]
u1 = 1
"""


BUNDLE = """
coordinates = ["theta", "x"]
lagrangian = "m*(v**2 + w**2 + 2*v*w*cos(theta))/2 + m*g*l*cos(theta)"
[parameters]
m = 1.0
g = 9.81
l = "m/2"
v0 = 0.3
[bundle]
v = "l*sin(theta)*theta_dot"
w = "x_dot - v0*theta*theta_dot"
[start]
theta = "pi/2"
xi_theta = 0.5
"""


def test_a_lagrangian_on_a_bundle():
    """Fibre velocities are symbols of the Lagrangian, which is also known in the velocities."""
    system = loads(BUNDLE).system
    theta, x = system.coordinates
    m, g, l, v0 = (Parameter(name) for name in ("m", "g", "l", "v0"))
    v, w = system.bundle
    assert (v, w) == da.speeds("v w")
    assert dict(system.bundle) == {
        v: l * sympy.sin(theta) * theta.dot,
        w: x.dot - v0 * theta * theta.dot,
    }
    assert system.bundle_lagrangian == m * (
        v**2 + w**2 + 2 * v * w * sympy.cos(theta)
    ) / 2 + m * g * l * sympy.cos(theta)
    assert system.lagrangian == system.bundle_lagrangian.xreplace(dict(system.bundle))
    assert system.parameters == (g, l, m, v0)


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('theta_dot"\nw', 'theta_dot**2"\nw', "must be linear"),
        ('theta_dot"\nw', 'theta_dot + 1"\nw', "must be linear"),
        ('theta_dot"\nw', 't*theta_dot"\nw', "without time"),
        ('"l*sin(theta)*theta_dot"', '"2*w"', "must be linear"),
        ('"l*sin(theta)*theta_dot"', '"l*sin(theta)*theta_dott"', "In `bundle.v`"),
        ('"m*(v**2', '"m*(theta_dot**2', "not in the velocities"),
        ("[bundle]", "[bundel]", "nearest known key is `bundle`"),
        ("w = ", "m = ", "means both the parameter m and the speed m"),
        ("w = ", "x_dot = ", "means both the velocity of x and the speed x_dot"),
    ],
)
def test_faults_of_a_bundle(old, new, part):
    with pytest.raises(ModelError, match=part):
        loads(BUNDLE.replace(old, new, 1))


def test_a_bundle_does_not_go_with_a_hamiltonian():
    text = 'coordinates = ["x"]\nhamiltonian = "p_x**2/2"\n[bundle]\nv = "x_dot"\n'
    with pytest.raises(ModelError, match="A bundle goes with a Lagrangian"):
        loads(text)


def test_kinetic_and_potential_on_a_bundle_stay_apart():
    x = da.coordinates("x")
    v = da.speeds("v")
    system = da.System(
        [x], kinetic=v**2 * (1 + x**2), potential=-x * (1 + x), bundle={v: x * x.dot}
    )
    again = loads(dumps(da.Scenario(system))).system
    assert again == system
    assert again.kinetic == x**2 * x.dot**2 * (1 + x**2)


@pytest.mark.parametrize(
    "text", [FULL, GOOD, IMAGE, BUNDLE, 'coordinates = ["pi"]\nkinetic = "pi_dot**2/2"']
)
def test_round_trip(text, tmp_path):
    scenario = loads(text)
    assert_same(loads(dumps(scenario)), scenario)
    save_model(scenario, tmp_path / "model.toml")
    assert_same(load_model(tmp_path / "model.toml"), scenario)
    assert_same(load_model(str(tmp_path / "model.toml")), scenario)


def test_pi_beside_a_symbol_called_pi():
    p = da.coordinates("pi")
    system = da.System(
        [p], kinetic=p.dot**2 / 2, outputs={"turns": p / (2 * sympy.pi)}, potential=sympy.pi
    )
    again = loads(dumps(da.Scenario(system))).system
    assert again == system


def plain(expression):
    """The expression with parameters that are real and nothing more."""
    return expression.xreplace(
        {symbol: Parameter(symbol.name) for symbol in expression.atoms(Parameter)}
    )


@pytest.mark.parametrize("name", da.gallery.names())
def test_every_gallery_system_survives_a_file(name):
    scenario = da.gallery.load(name)
    again = loads(dumps(scenario))
    assert [plain(e) for e in scenario.system.expressions()] == list(again.system.expressions())
    assert scenario.system.coordinates == again.system.coordinates
    assert [(c.name, type(c)) for c in scenario.system.constraints] == [
        (c.name, type(c)) for c in again.system.constraints
    ]
    assert dict(scenario.parameters) == again.parameters
    assert dict(scenario.start) == again.start
    assert dict(scenario.simulate) == again.simulate


def test_the_design_example():
    scenario = loads(
        'name = "Nonholonomic particle"\ncoordinates = ["x", "y", "z"]\n'
        'hamiltonian = "(p_x**2 + p_y**2 + p_z**2)/(2*m)"\nconstraints = ["z**2*p_x - p_y = 0"]\n'
        "[parameters]\nm = 1.0\n[start]\nx = 0.0\nz = 1.0\np_x = 1.0\np_z = 0.3\n"
        '[simulate]\nt = [0, 10]\nrtol = 1e-10\nform = "hamilton"\nmethod = "dop853"\n'
    )
    assert scenario.simulate == {
        "span": (0.0, 10.0),
        "rtol": 1e-10,
        "form": "hamilton",
        "method": "dop853",
    }
    assert isinstance(scenario.system.constraints[0], MomentumConstraint)


def test_faults_are_collected():
    text = (
        GOOD.replace("m = 1.0", "m = nan").replace('"m*g*y"', '"m*gg*y"').replace("rtol", "rtoll")
    )
    with pytest.raises(ModelError) as caught:
        loads(text)
    message = str(caught.value)
    assert "3 faults" in message
    assert all(
        word in message
        for word in ("parameters.m", "nearest known name is `g`", "nearest known key is `rtol`")
    )


@pytest.mark.parametrize(
    ("old", "new", "kind", "part"),
    [
        ("kinetic =", "kinetc =", ModelError, "nearest known key is `kinetic`"),
        ("x_dot + u", "x_dott + u", ExpressionError, "nearest known name is `x_dot`"),
        ("y_dot = 0.5", "y_dt = 0.5", ModelError, "nearest known name is `y_dot`"),
        ("m = 1.0", "m = 1.0\nm = 2.0", FileError, "each key once"),
        ("m = 1.0", 'm = "2*l*l0"', ExpressionError, "In `parameters.m`"),
        ("t = [0, 10]", "t = [1, 1]", FileError, "two different times"),
    ],
)
def test_faults_name_the_remedy(old, new, kind, part):
    with pytest.raises(kind, match=part.replace("[", r"\[")):
        loads(GOOD.replace(old, new, 1))


def test_paths(tmp_path):
    with pytest.raises(FileError, match="folder"):
        load_model(tmp_path)
    with pytest.raises(FileError, match="no model file"):
        load_model(tmp_path / "missing.toml")
    with pytest.raises(FileError, match="cannot be read"):
        load_model("a\x00b")
    with pytest.raises(FileError, match="cannot be written"):
        save_model(loads(GOOD), tmp_path / "missing" / "model.toml")
    with pytest.raises(FileError, match="plain file"):
        load_model("/dev/zero")
    (tmp_path / "bom.toml").write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert_same(load_model(tmp_path / "bom.toml"), loads(GOOD))


def test_what_a_file_cannot_hold():
    x = da.coordinates("x")
    m = da.parameters("m")
    system = da.System([x], kinetic=m * x.dot**2 / 2)
    with pytest.raises(ModelError, match="parameters m have no value"):
        dumps(da.Scenario(system))
    with pytest.raises(ModelError, match="no place for the option"):
        dumps(da.Scenario(system, {"m": 1.0}, simulate={"max_steps": 3}))
    with pytest.raises(ModelError, match="finite"):
        dumps(da.Scenario(system, {"m": float("nan")}))
    with pytest.raises(ExpressionError, match="gamma"):
        dumps(da.Scenario(da.System([x], kinetic=x.dot**2, potential=sympy.gamma(x))))


def test_there_are_many_hostile_models_with_labels_of_their_own():
    assert len(HOSTILE) >= 200
    assert Counter(label for label, _ in HOSTILE).most_common(1)[0][1] == 1
    assert list(hostile_models()) == HOSTILE
    loads(GOOD)


@pytest.mark.parametrize(("label", "content"), HOSTILE, ids=[label for label, _ in HOSTILE])
def test_hostile_models_end_in_one_clear_error(label, content, tmp_path, capfd):
    path = tmp_path / "model.toml"
    path.write_bytes(content)
    before = time.process_time()
    with pytest.raises(DalembertError) as caught:
        load_model(path)
    assert time.process_time() - before < 30.0
    assert isinstance(caught.value, ModelError)
    first, *others = str(caught.value).split("\n")
    assert first and all(line.startswith("  - ") for line in others)
    assert all(len(line) < 600 and line.isprintable() for line in (first, *others))
    assert len(others) <= 30
    assert capfd.readouterr() == ("", "")


def test_friction_of_a_contact_is_read_and_written() -> None:
    text = """
coordinates = ["x", "y"]
kinetic = "(x_dot**2 + y_dot**2)/2"
potential = "9.81*y"
constraints = [
    {expression = "-y <= 0", name = "floor", restitution = 0.5, friction = "c", \
static_friction = "2*c", tangent = "x_dot", law = "moreau"},
]
[parameters]
c = 0.3
"""
    [floor] = loads(text).system.unilateral
    assert [str(e) for e in (*floor.tangent, floor.friction, floor.static_friction)] == [
        "x_dot",
        "c",
        "2*c",
    ]
    assert floor.law == "moreau" and floor.tangential_restitution == 0
    again = loads(dumps(loads(text))).system
    assert again == loads(text).system
    for wrong, said in (
        (text.replace("moreau", "hertz"), "impact law"),
        (text.replace('tangent = "x_dot", ', ""), "no tangent"),
        (text.replace("-y <= 0", "y = 0"), "is not one-sided"),
        (text.replace("restitution = 0.5", "tangential_restitution = 2"), "between 0 and 1"),
    ):
        with pytest.raises(DalembertError, match=said):
            loads(wrong)


def test_anisotropic_friction_is_read_and_written() -> None:
    text = """
coordinates = ["x", "y", "z"]
kinetic = "(x_dot**2 + y_dot**2 + z_dot**2)/2"
potential = "9.81*z"
constraints = [
    {expression = "-z <= 0", name = "table", friction = ["c", "2*c"], tangent = ["x_dot", "y_dot"]},
]
[parameters]
c = 0.3
"""
    [table] = loads(text).system.unilateral
    assert table.anisotropy == 2 and [str(e) for e in table.tangent] == ["x_dot", "2*y_dot"]
    assert loads(dumps(loads(text))).system == loads(text).system
    with pytest.raises(DalembertError, match="each of two directions"):
        loads(text.replace('["x_dot", "y_dot"]', '"x_dot"'))
