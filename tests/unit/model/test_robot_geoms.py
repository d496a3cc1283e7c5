"""Geoms of MJCF: mass and inertia of meshes, what is not computed, and drawings."""

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.io.robots.load import load_mechanism
from dalembert.model.io.robots.mesh_files import Mesh, UniformSolid, mesh_solid
from dalembert.model.io.robots.mjcf_geoms import joined

pytestmark = pytest.mark.filterwarnings("ignore::dalembert.errors.UnreadPartsWarning")

CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)


def box_mesh(low, high):
    return Mesh.hull(np.asarray(low) + CUBE * (np.asarray(high, float) - low))


def horseshoe():
    """Three boxes that touch, as one mesh that is neither convex nor star-shaped."""
    boxes = [
        box_mesh((0, 0, 0), (1, 0.2, 0.3)),
        box_mesh((0, 0.2, 0), (0.2, 1, 0.3)),
        box_mesh((0.8, 0.2, 0), (1, 1.4, 0.3)),
    ]
    vertices = np.vstack([part.vertices for part in boxes])
    triangles = np.vstack([part.triangles + 8 * k for k, part in enumerate(boxes)])
    return boxes, Mesh(vertices, triangles)


def solid_box(low, high):
    """A box of density one, from its sides."""
    sides = np.asarray(high, float) - low
    mass = np.prod(sides)
    squares = mass * sides**2 / 12
    return UniformSolid(mass, np.asarray(low) + sides / 2, np.diag(squares.sum() - squares))


def equal(one, other, tolerance=1e-12):
    return (
        one.mass == pytest.approx(other.mass, rel=tolerance)
        and np.allclose(one.centre, other.centre, rtol=0, atol=tolerance)
        and np.allclose(one.tensor, other.tensor, rtol=0, atol=tolerance)
    )


def test_the_exact_solid_of_a_mesh_is_that_of_its_parts():
    parts = [
        ((0, 0, 0), (1, 0.2, 0.3)),
        ((0, 0.2, 0), (0.2, 1, 0.3)),
        ((0.8, 0.2, 0), (1, 1.4, 0.3)),
    ]
    expected = joined([solid_box(*part) for part in parts])
    assert equal(mesh_solid(horseshoe()[1], "exact"), expected)


def test_a_convex_mesh_has_one_solid_by_all_rules_of_volume():
    corners = np.random.default_rng(3).normal(size=(40, 3))
    exact, legacy, convex = (
        mesh_solid(Mesh.hull(corners), rule) for rule in ("exact", "legacy", "convex")
    )
    assert equal(legacy, exact) and equal(convex, exact)


def test_the_rules_of_volume_differ_for_a_mesh_that_is_not_convex():
    """MuJoCo 4.0 gives these masses and first moments for the same mesh, in single precision."""
    mesh = horseshoe()[1]
    legacy, convex, shell = (mesh_solid(mesh, rule) for rule in ("legacy", "convex", "shell"))
    assert (legacy.mass, convex.mass, shell.mass) == pytest.approx(
        (0.36086996, 0.372, 3.36), abs=1e-7
    )
    assert legacy.tensor[0, 0] == pytest.approx(0.04348923, abs=1e-7)
    assert convex.tensor[1, 1] == pytest.approx(0.0331328, abs=1e-7)
    assert shell.tensor[2, 2] == pytest.approx(1.04310476, abs=1e-6)


def write(folder, geom, asset="", compiler=""):
    path = folder / "model.xml"
    path.write_text(
        f"<mujoco><compiler {compiler}/><asset>{asset}</asset><worldbody><body name='b'>"
        f"<joint name='hinge' axis='0 1 0'/>{geom}</body></worldbody></mujoco>"
    )
    return path


def words(array):
    return " ".join(map(str, np.asarray(array).ravel().tolist()))


def test_a_mesh_of_a_box_weighs_what_the_box_does(tmp_path):
    placed = "pos='0.3 -0.2 0.5' quat='0.9 0.1 0.3 -0.2' density='700'"
    as_box = load_mechanism(write(tmp_path, f"<geom type='box' size='0.1 0.2 0.3' {placed}/>"))
    asset = f"<mesh name='m' scale='0.2 0.4 0.6' vertex='{words(CUBE - 0.5)}'/>"
    as_mesh = load_mechanism(write(tmp_path, f"<geom type='mesh' mesh='m' {placed}/>", asset))
    for one, other in zip(as_box.bodies, as_mesh.bodies, strict=True):
        assert float(one.mass) == pytest.approx(float(other.mass), rel=1e-12)
        for name in ("com", "inertia"):
            values = [np.array(getattr(body, name), dtype=float) for body in (one, other)]
            assert np.allclose(*values, rtol=0, atol=1e-11)


def test_the_frame_of_a_mesh_is_moved_before_it_is_scaled(tmp_path):
    """MuJoCo 4.0 finds this mass and centre for the same file."""
    corners = words(np.random.default_rng(0).normal(size=(12, 3)))
    moved = "refpos='0.1 0.2 0.5' refquat='0.8 0.1 0.5 0.2' scale='1 2 3'"
    asset = f"<mesh name='m' inertia='convex' {moved} vertex='{corners}'/>"
    geom = "<geom type='mesh' mesh='m' pos='1 0 0' density='1'/>"
    (body,) = load_mechanism(write(tmp_path, geom, asset)).bodies
    assert float(body.mass) == pytest.approx(16.1496093, abs=1e-6)
    centre = [float(entry) for entry in body.com]
    assert centre == pytest.approx([1.52600623, -0.82517545, -1.34759211], abs=1e-6)


def test_a_mirrored_mesh_keeps_its_triangles_outwards(tmp_path):
    mesh = horseshoe()[1]
    asset = (
        f"<mesh name='m' inertia='exact' scale='-1 1 1' vertex='{words(mesh.vertices)}'"
        f" face='{words(mesh.triangles)}'/>"
    )
    found = load_mechanism(write(tmp_path, "<geom type='mesh' mesh='m' density='1'/>", asset))
    (body,) = found.bodies
    assert float(body.mass) == pytest.approx(0.18, rel=1e-12)
    assert float(body.com[0]) == pytest.approx(-mesh_solid(mesh, "exact").centre[0], rel=1e-12)


@pytest.mark.parametrize(
    ("geom", "asset", "said"),
    [
        ("<geom type='mesh' mesh='no'/>", "", "no mesh 'no'"),
        ("<geom type='mesh' mesh='m'/>", "<mesh name='m' file='m.stl'/>", "in the folder"),
        ("<geom type='mesh' mesh='m'/>", "<mesh name='m' file='../m.stl'/>", "in the folder"),
        ("<geom type='mesh' mesh='m'/>", "<mesh name='m' vertex='0 0 0 1 1'/>", "triples"),
        ("<geom type='mesh' mesh='m'/>", "<mesh name='m' vertex='0 0 0 1 0 0 0 1 0'/>", "plane"),
        ("<geom type='mesh' mesh='m'/>", "<mesh name='m' vertex='0 0 nan'/>", "finite"),
        ("<geom type='box' size='1 1 1' mesh='m'/>", "<mesh name='m' file='m.stl'/>", "fitted"),
        ("<geom type='box' size='1 1 1' shellinertia='true'/>", "", "shell"),
        (
            "<geom type='mesh' mesh='m'/>",
            f"<mesh name='m' vertex='{words(CUBE)}' face='0 1 9'/>",
            "indices",
        ),
        (
            "<geom type='mesh' mesh='m'/>",
            f"<mesh name='m' inertia='guess' vertex='{words(CUBE)}'/>",
            "legacy",
        ),
    ],
)
def test_a_mass_that_cannot_be_found_is_named(tmp_path, geom, asset, said):
    with pytest.raises(ModelError, match=said):
        load_mechanism(write(tmp_path, geom, asset))


def test_geoms_are_drawn_where_they_are(tmp_path):
    geoms = (
        "<geom type='box' size='0.1 0.2 0.3' pos='1 0 0'/>"
        "<geom type='sphere' size='0.1' group='3'/>"
        "<geom type='capsule' size='0.05' fromto='0 0 0 0 0 1'/>"
        "<geom type='ellipsoid' size='1 2 3'/>"
        "<geom type='mesh' mesh='m' pos='0 0 2'/>"
    )
    asset = f"<mesh name='m' vertex='{words(CUBE)}'/>"
    (body,) = load_mechanism(write(tmp_path, geoms, asset)).bodies
    assert [shape.kind for shape in body.shapes] == ["box", "capsule"] + ["line"] * 6
    assert [float(side) for side in body.shapes[0].sizes] == pytest.approx([0.2, 0.4, 0.6])
    rings = np.array([[list(map(float, p)) for p in ring.points] for ring in body.shapes[2:5]])
    assert np.allclose(np.sum((rings / [1, 2, 3]) ** 2, axis=2), 1)
    heights = [float(point[2]) for ring in body.shapes[5:] for point in ring.points]
    assert min(heights) == 2 and max(heights) == 3
    assert da.load_model(tmp_path / "model.xml").system.drawing


def test_a_robot_that_cannot_move_says_how_to_free_it(tmp_path):
    path = tmp_path / "cube.urdf"
    path.write_text("<robot name='cube'><link name='box'/></robot>")
    with pytest.raises(ModelError, match=r"base=.free"):
        da.load_model(path)
