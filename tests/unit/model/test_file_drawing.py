"""Drawings in model files: what is written is read back, and draws the same; everything else is
refused.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.drawing import (
    BodyShape,
    Circle,
    Ground,
    Link,
    PointMark,
    Polyline,
    ReactionArrow,
    Spring,
    TextLabel,
    Trace,
    Vector,
    Wheel,
)
from dalembert.model.io.file_drawing import MOST_POINTS, MOST_SHAPES
from dalembert.model.io.files import dumps, loads

SLEIGH = """
coordinates = ["x", "y", "theta"]
kinetic = "m*(x_dot**2 + y_dot**2)/2 + J*theta_dot**2/2"
constraints = [{expression = "x_dot*sin(theta) - y_dot*cos(theta) = 0", name = "blade"}]
[parameters]
m = 1.0
J = 0.5
[start]
x_dot = 1.0
theta_dot = 0.7
[simulate]
t = [0, 2]
"""

EVERY_SHAPE = """
[[drawing]]
point = ["x", "y"]
size = 6
[[drawing]]
link = [["x", "y"], ["x + cos(theta)", "y + sin(theta)"]]
width = 3.5
color = "accent"
[[drawing]]
spring = [["0", "0"], ["x", "y"]]
coils = 7
[[drawing]]
polyline = [["0", "0"], ["x", "y"], [1, 2.5]]
closed = true
[[drawing]]
circle = {center = ["x", "y"], radius = "J"}
[[drawing]]
wheel = {center = ["x", "y"], radius = 0.3, angle = "theta", spokes = 7}
[[drawing]]
body = {at = ["x", "y"], angle = "theta", box = [1, "J"]}
[[drawing]]
body = {at = ["x", "y"], polygon = [[0, 0], [1, 0], [0, 1]]}
color = "#336699"
[[drawing]]
vector = {at = ["x", "y"], components = ["x_dot", "y_dot"]}
scale = 0.5
[[drawing]]
velocity = ["x", "y"]
[[drawing]]
reaction = {constraint = "blade", at = ["x", "y"], along = [0, "y"]}
[[drawing]]
ground = [[-1, 0], [1, 0]]
[[drawing]]
text = {at = ["x", "y"], words = "bob"}
[[drawing]]
frame = {at = ["x", "y"], angle = "theta"}
[[drawing]]
trace = ["x", "y"]
[[drawing]]
limits = [[-1, 3], [-2, 2]]
labels = ["u", "v"]
"""


def scene_of(scenario, times=(0.0, 0.4, 1.7)):
    from dalembert.plotting.scenes.scene import build_scene

    motion = scenario if hasattr(scenario, "sol") else da.simulate(scenario)
    return build_scene(motion, motion.scenario.drawing, np.array(times))


def assert_same_scene(first, second):
    np.testing.assert_allclose(first.window, second.window, rtol=1e-12)
    for name in ("parts", "traces", "texts"):
        one, two = getattr(first, name), getattr(second, name)
        assert [(p.kind, p.color, p.width, p.fill, p.text) for p in one] == [
            (p.kind, p.color, p.width, p.fill, p.text) for p in two
        ]
        for a, b in zip(one, two, strict=True):
            np.testing.assert_allclose(a.points, b.points, rtol=0, atol=1e-12)


def test_every_shape_is_read():
    drawing = loads(SLEIGH + EVERY_SHAPE).drawing
    kinds = [type(shape) for shape in drawing.shapes]
    assert kinds == [
        *(
            PointMark,
            Link,
            Spring,
            Polyline,
            Circle,
            Wheel,
            BodyShape,
            BodyShape,
            Vector,
            Vector,
            ReactionArrow,
            Ground,
            TextLabel,
        ),
        *(Vector, Vector, Trace),
    ]
    assert drawing.limits == ((-1, 3), (-2, 2)) and drawing.labels == ("u", "v")
    theta = da.coordinates("theta")
    assert drawing.shapes[1].end[1] == da.coordinates("y") + sympy.sin(theta)
    assert drawing.shapes[7].color == "#336699"


def test_a_written_drawing_draws_the_same():
    first = loads(SLEIGH + EVERY_SHAPE)
    text = dumps(first)
    second = loads(text)
    assert dumps(second) == text
    assert (
        "spokes = 7}" in text and 'along = [0, "y"]}' in text
    )  # whole numbers are written as such
    assert_same_scene(scene_of(first), scene_of(second))


@pytest.mark.parametrize("name", ["cart-pendulum", "rolling-disk", "bicycle"])
def test_gallery_drawings_survive_a_file(name):
    scenario = da.gallery.load(name)
    motion = da.simulate(scenario)
    again = loads(dumps(scenario))
    from dalembert.plotting.scenes.scene import build_scene

    times = np.linspace(motion.t[0], motion.t[-1], 7)
    assert_same_scene(
        build_scene(motion, scenario.drawing, times), build_scene(motion, again.drawing, times)
    )


@pytest.mark.long
def test_every_gallery_drawing_can_be_written():
    for name in da.gallery.names():
        text = dumps(da.gallery.load(name))
        assert dumps(loads(text)) == text, name


def test_the_drawing_of_a_system_is_written_too():
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, drawing=[da.draw.point((x, 2 * y))]
    )
    assert loads(dumps(da.Scenario(system))).drawing.shapes == (PointMark((x, 2 * y)),)


@pytest.mark.parametrize(
    ("table", "message"),
    {
        'points = ["x", "y"]': "nearest known key is `point`",
        'point = ["x", "y"]\nsiz = 3': "nearest known key is `size`",
        'wheel = {centre = ["x", "y"], radius = 1}': "nearest known key is `center`",
        'point = ["x", "y"]\ntrace = ["x", "y"]': "one shape",
        "color = 'body'": "one shape",
        'point = ["x"]': "2 or 3 components",
        'point = ["x", "y", "theta", "x"]': "2 or 3 components",
        'link = [["x", "y"]]': "2 positions",
        'point = ["x", "z"]': "`z` is not known",
        'point = ["x", "__import__(\'os\')"]': "drawing",
        'reaction = {constraint = "blade", at = ["x", "y"], along = ["x", 1]}': (
            "name coordinates, or 0"
        ),
        'reaction = {constraint = "blade", at = ["x", "y"], along = ["x", "J"]}': (
            "name coordinates, or 0"
        ),
        'reaction = {constraint = "blade", at = ["x", "y"], along = ["x"]}': "as many components",
        'point = ["x", "y"]\nsize = -1': "positive",
        'point = ["x", "y"]\nsize = inf': "finite",
        'point = ["x", "y"]\ncolor = "url(javascript:1)"': "colour",
        'reaction = {constraint = "blades", at = ["x", "y"]}': "did you mean `blade`",
        'wheel = {center = ["x", "y"]}': "has no `radius`",
        'body = {at = ["x", "y"]}': "box, an ellipse and a polygon",
        'wheel = {center = ["x", "y"], radius = 1, spokes = 1000}': "spokes",
        'text = {at = ["x", "y"], words = "a\\nb"}': "one line of text",
        "limits = [[1, 0], [0, 1]]": "smaller to the larger",
        'wheel = ["x", "y"]': "must be a table",
        'vector = {at = ["x", "y"], components = ["1", "2", "3"]}': "as many components",
        'polyline = [["x", "y"], ["x", true]]': "expression",
    }.items(),
    ids=lambda value: value[:24],
)
def test_wrong_tables_are_refused(table, message):
    with pytest.raises(ModelError, match=message):
        loads(f"{SLEIGH}\n[[drawing]]\n{table}\n")


def test_counts_are_bounded():
    with pytest.raises(ModelError, match="at most"):
        loads(SLEIGH + '[[drawing]]\npoint = ["x", "y"]\n' * (MOST_SHAPES + 1))
    many = ", ".join(["[0, 0]"] * (MOST_POINTS + 1))
    with pytest.raises(ModelError, match="array of 1 to"):
        loads(SLEIGH + f"[[drawing]]\npolyline = [{many}]\n")
    with pytest.raises(ModelError, match="array of tables"):
        loads(SLEIGH.replace("[parameters]", "[drawing]\npoint = 1\n[parameters]"))


def test_every_fault_is_found():
    with pytest.raises(ModelError, match="2 faults"):
        loads(SLEIGH + '[[drawing]]\npoint = ["x"]\n[[drawing]]\nlimk = 1\n')


def test_every_shape_survives_a_result_file():
    """What `Motion.save` keeps of a drawing is plain, and draws the same."""
    import json

    from dalembert.integrate.storage.stored_drawing import drawing_from, drawing_record
    from dalembert.plotting.scenes.scene import build_scene

    motion = da.simulate(loads(SLEIGH + EVERY_SHAPE))
    again = drawing_from(json.loads(json.dumps(drawing_record(motion))), motion.system)
    times = np.array([0.0, 0.9])
    assert_same_scene(
        build_scene(motion, motion.scenario.drawing, times), build_scene(motion, again, times)
    )
