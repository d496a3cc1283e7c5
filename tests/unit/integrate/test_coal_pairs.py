"""Contacts of hulls and cylinders, whose distances the package coal finds."""

import math
from importlib import util
from itertools import product

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import MissingExtraError, ModelError, RunError
from dalembert.integrate.methods.contact import coal_pairs, solid_distances

b = da.bodies
G = 9.81
CORNERS = list(product((-0.5, 0.5), repeat=3))


@pytest.fixture
def package():
    pytest.importorskip("coal", reason="the extra contact-shapes is not installed")


def turn(axis, angle):
    """A rotation about an axis (Rodrigues)."""
    x, y, z = np.asarray(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def hulls_at(first, second, margin=1.0):
    """Two unit cubes as hulls at their axes and middles."""
    solid = coal_pairs.ConvexSolid(solid_distances.HULL, np.zeros(3), np.array(CORNERS))
    placed = [
        coal_pairs.PlacedSolid(solid, np.concatenate([np.ravel(axes), middle]))
        for axes, middle in (first, second)
    ]
    return coal_pairs.ConvexPair(*placed, margin)


FACE_UP = np.eye(3)
CORNER_DOWN = turn((1, -1, 0), math.acos(1 / math.sqrt(3)))
ALONG_X, ALONG_Y = turn((1, 0, 0), math.pi / 4), turn((0, 1, 0), math.pi / 4)


@pytest.mark.extras
@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("gap", [0.1, 1e-3, 1e-8, -1e-8, -1e-3, -0.05])
@pytest.mark.parametrize(
    ("first", "second", "reach", "count"),
    [
        (turn((0, 0, 1), 0.3), FACE_UP, 1.0, 8),  # a face on a face: an octagon
        (CORNER_DOWN, FACE_UP, 0.5 + math.sqrt(0.75), 1),
        (ALONG_X, FACE_UP, 0.5 + math.sqrt(0.5), 2),
        (ALONG_X, ALONG_Y, math.sqrt(2.0), 1),  # an edge across an edge
    ],
)
def test_cubes_as_hulls_have_the_distances_of_cubes(first, second, reach, count, gap):
    frame = turn((1, 2, 3), 0.7)  # the same in a frame that lies askew
    up = frame[:, 2]
    pair = hulls_at((frame @ first, (reach + gap) * up), (frame @ second, np.zeros(3)), gap + 1e-3)
    found = pair.contacts()
    assert len(found) == count
    for contact in found:
        assert contact.normal == pytest.approx(up, abs=1e-6)
        assert (contact.first - contact.second) @ contact.normal == pytest.approx(gap, abs=1e-9)
    if count == 8:  # all corners lie on the bounds of both faces
        places = np.array([contact.second @ frame for contact in found])
        turned = places @ turn((0, 0, 1), 0.3)
        for own in (places, turned):
            assert abs(own[:, :2]).max() == pytest.approx(0.5, abs=1e-9)
    assert not hulls_at((first, (0, 0, reach + 2)), (second, np.zeros(3))).contacts()


def cube(side):
    return b.hull(side * np.array(CORNERS))


def heap_of(shapes, floor, gravity=(0, 0, -G), friction=0.5):
    bodies = [
        b.Body(f"b{k}", 1.0, inertia=(1 / 600,) * 3, shapes=[shape])
        for k, shape in enumerate(shapes)
    ]
    table = b.ground([floor])
    heap = b.contacts("heap", [table, *bodies], friction=friction)
    return b.Mechanism(
        [*(b.free(body.name, table, body) for body in bodies), heap], gravity=gravity
    )


LYING = b.angles("y", math.pi / 2)
SLAB = b.box((1, 1, 0.1), at=(0, 0, -0.05))


@pytest.mark.extras
@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("shapes", "floor"),
    [
        ((cube(0.1), cube(0.1)), b.half_space()),
        ((cube(0.1), b.box((0.1, 0.1, 0.1)), cube(0.1)), SLAB),
        ((cube(0.1), b.cylinder(0.05, 0.1), b.cylinder(0.05, 0.1)), SLAB),
        ((cube(0.1), b.ball(0.05)), b.half_space()),
        ((b.cylinder(0.05, 0.2, rotation=LYING),), SLAB),
        ((b.capsule(0.05, 0.2, rotation=LYING),), SLAB),
    ],
)
def test_solids_rest_on_each_other_without_drift(shapes, floor):
    mechanism = heap_of(shapes, floor)
    start = {f"b{k}_z": 0.05 + 0.1 * k for k in range(len(shapes))}
    motion = da.simulate(
        mechanism.system(), mechanism.start(start), (0, 1), method="moreau", step=1e-2
    )
    assert motion.success, motion.message
    assert motion.statistics["contact_residual"] < 1e-4
    for k in range(len(shapes)):
        for name, at in (("x", 0), ("y", 0), ("z", 0.05 + 0.1 * k), ("qw", 1)):
            assert motion[f"b{k}_{name}"] == pytest.approx(at, abs=1e-7)


@pytest.mark.extras
@pytest.mark.usefixtures("package")
def test_a_cylinder_rolls_down_a_hull():
    angle, r = 0.2, 0.05
    slope = b.hull([(5 * x, y, z - 0.5) for x, y, z in CORNERS])
    roller = b.cylinder(r, 0.2, rotation=b.angles("x", math.pi / 2))
    pull = (G * math.sin(angle), 0, -G * math.cos(angle))
    mechanism = heap_of([roller], slope, gravity=pull)
    motion = da.simulate(
        mechanism.system(), mechanism.start({"b0_z": r}), (0, 0.5), method="moreau", step=1e-3
    )
    exact = G * math.sin(angle) / (1 + (1 / 600) / r**2) / 2 * 0.5**2
    assert motion["b0_x"][-1] == pytest.approx(exact, rel=1e-3)
    assert motion["b0_z"] == pytest.approx(r, abs=1e-5)
    assert motion["b0_y"] == pytest.approx(0, abs=1e-6)


@pytest.mark.extras
@pytest.mark.usefixtures("package")
def test_what_fails_beneath_native_code_is_said(monkeypatch):
    def failing(self):
        raise ArithmeticError("lost")

    monkeypatch.setattr(coal_pairs.ConvexPair, "contacts", failing)
    mechanism = heap_of([cube(0.1), cube(0.1)], b.half_space())
    start = mechanism.start({"b0_z": 0.05, "b1_z": 0.15})
    with pytest.raises(RunError, match="not found by coal"):
        da.simulate(mechanism.system(), start, (0, 0.1), method="moreau", step=1e-2)


@pytest.mark.extras
@pytest.mark.usefixtures("package")
def test_a_flat_hull_has_no_volume():
    flat = b.hull([(0.1, 0, 0), (0, 0.1, 0), (-0.1, 0, 0), (0, -0.1, 0)])
    mechanism = heap_of([flat, cube(0.1)], b.half_space())
    start = mechanism.start({"b0_z": 0.05, "b1_z": 0.15})
    with pytest.raises(ModelError, match="needs one with a volume"):
        da.simulate(mechanism.system(), start, (0, 0.1), method="moreau", step=1e-2)


def test_without_coal_the_error_names_the_command(monkeypatch):
    found = util.find_spec

    def missing(name, *more):
        return None if name == "coal" else found(name, *more)

    monkeypatch.setattr("dalembert.model.bodies.contacts.find_spec", missing)
    with pytest.raises(MissingExtraError, match=r"dalembert\[contact-shapes\]"):
        heap_of([cube(0.1), b.ball(0.05)], b.half_space())
    heap_of([cube(0.1)], b.half_space())
