"""`da.draw`: every shape stands where its expressions say, arrows mean what they say, and any model
can be animated.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy.physics.mechanics import dynamicsymbols

import dalembert as da
from dalembert.errors import ModelError
from dalembert.plotting.scenes.scene import build_scene

VALUES = {"m": 2.0, "g": 9.81, "l": 1.5}


def pendulum(*shapes, **options):
    x, y = da.coordinates("x y")
    m, g, l = da.parameters("m g l", positive=True)
    return da.System(
        [x, y],
        kinetic=m * (x.dot**2 + y.dot**2) / 2,
        potential=m * g * y,
        constraints=[da.holonomic(x**2 + y**2 - l**2, name="rod")],
        drawing=list(shapes) or None,
        **options,
    )


@pytest.fixture(scope="module")
def swing():
    x, y = da.coordinates("x y")
    return da.simulate(pendulum(da.draw.point((x, y))), {x: 1.5, y: 0.0}, (0, 2), parameters=VALUES)


@pytest.fixture(scope="module")
def disk():
    """A wheel that rolls: phi is its angle."""
    phi = da.coordinates("phi")
    system = da.System([phi], kinetic=phi.dot**2 / 2)
    return da.simulate(system, {phi.dot: 2.0}, (0, 3), at=np.linspace(0, 3, 7))


def parts(motion, *shapes, times=None, **axes):
    drawing = da.draw.drawing(*shapes, **axes)
    return build_scene(motion, drawing, np.linspace(0, 2, 9) if times is None else times)


def test_a_system_carries_its_drawing_to_the_animation():
    x, y = da.coordinates("x y")
    stated = pendulum(da.draw.link((0, 0), (x, y)), [da.draw.point((x, y)), da.draw.trace((x, y))])
    motion = da.simulate(stated, {x: 1.5, y: 0.0}, (0, 1), parameters=VALUES)
    assert len(motion.animate().drawing.shapes) == 3
    assert da.Scenario(stated).drawing == stated.drawing
    assert stated.replacing(name="other").drawing == stated.drawing
    other = da.draw.drawing(da.draw.point((y, x)))
    assert da.Scenario(stated, drawing=other).drawing == other
    assert stated == pendulum()  # how it looks is no part of what it is


def test_the_drawing_is_saved_with_the_motion(swing, tmp_path):
    swing.save(tmp_path / "swing.nc")
    assert da.load(tmp_path / "swing.nc").animate().drawing == swing.system.drawing


def test_names_of_coordinates_are_a_drawing_where_they_are_positions(swing):
    x, y, z, x1, y1, q = da.coordinates("x y z x1 y1 q")
    from dalembert.model.drawing import default_drawing

    def drawn(*coordinates):
        found = default_drawing(
            da.System(list(coordinates), kinetic=sum(c.dot**2 for c in coordinates))
        )
        return None if found is None else [shape.position for shape in found.shapes]

    assert drawn(x, y) == [(x, y)] * 2
    assert drawn(x, y, z) == [(x, y, z)] * 2
    assert drawn(x, y, x1, y1, q) == [(x, y), (x1, y1)] * 2
    assert drawn(q) is None and drawn(x) is None and drawn(x, y1) is None


def test_velocity_is_the_rate_of_the_position(swing):
    x, y = da.coordinates("x y")
    at = (x + y**2, sympy.sin(x) + da.t)
    arrow = parts(swing, da.draw.velocity(at, scale=1.0)).parts[0]
    times, step = np.linspace(0, 2, 9), 1e-5

    def position(t):
        u, v = swing.sol(t)[:2]
        return np.stack([u + v**2, np.sin(u) + t], axis=-1)

    inside = slice(1, -1)
    rate = (position(times[inside] + step) - position(times[inside] - step)) / (2 * step)
    np.testing.assert_allclose((arrow.points[:, 1] - arrow.points[:, 0])[inside], rate, atol=1e-6)


def test_velocity_of_dynamicsymbols():
    s = dynamicsymbols("s")
    system = da.System(
        [s], kinetic=s.diff() ** 2 / 2, drawing=[da.draw.velocity((s**2, 0), scale=1.0)]
    )
    q = da.coordinates("s")
    assert system.drawing.shapes[0].components == (2 * q * q.dot, 0)


def test_the_reaction_balances_the_other_forces(swing):
    """m a = m g + F along the whole motion."""
    x, y = da.coordinates("x y")
    arrow = parts(swing, da.draw.reaction("rod", (x, y), scale=1.0), times=swing.t).parts[0]
    force = arrow.points[:, 1] - arrow.points[:, 0]
    needed = 2.0 * np.stack([swing["x_ddot"], swing["y_ddot"] + 9.81], axis=-1)
    np.testing.assert_allclose(force, needed, atol=1e-9)


def test_a_reaction_in_other_coordinates_is_a_force_in_the_picture():
    """In polar coordinates, too, m a = m g + F in the components of the picture."""
    r, theta = da.coordinates("r theta")
    m, g, l = da.parameters("m g l", positive=True)
    bob = (r * sympy.cos(theta), r * sympy.sin(theta))
    polar = da.System(
        [r, theta],
        kinetic=m * (r.dot**2 + r**2 * theta.dot**2) / 2,
        potential=m * g * bob[1],
        constraints=[da.holonomic(r - l, name="rod")],
    )
    motion = da.simulate(
        polar, {r: 1.5, theta: 0.0}, (0, 2), parameters=VALUES, at=[0, 0.3, 0.6, 1.0, 1.5, 2.0]
    )
    arrow = parts(motion, da.draw.reaction("rod", bob, scale=1.0), times=motion.t).parts[0]
    c, s = np.cos(motion["theta"]), np.sin(motion["theta"])
    inward, along = -1.5 * motion["theta_dot"] ** 2, 1.5 * motion["theta_ddot"]
    needed = 2.0 * np.stack([inward * c - along * s, inward * s + along * c + 9.81], axis=-1)
    np.testing.assert_allclose(arrow.points[:, 1] - arrow.points[:, 0], needed, atol=1e-9)


def test_what_is_no_force_at_a_point_is_refused():
    """The moment that holds an angle acts at no point that does not move with it."""
    x, y, theta = da.coordinates("x y theta")
    system = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        potential=theta**2,
        constraints=[da.velocity(theta.dot - x.dot, name="gear")],
    )
    motion = da.simulate(system, {theta: 1.0, y.dot: 1.0}, (0, 1))
    with pytest.raises(ModelError, match="no force at this point alone"):
        parts(motion, da.draw.reaction("gear", (2 * x, 2 * y)), times=motion.t)
    arrow = parts(
        motion, da.draw.reaction("gear", (2 * x, 2 * y), along=(x, y), scale=1.0), times=motion.t
    ).parts[0]
    np.testing.assert_allclose(
        arrow.points[:, 1, 0] - arrow.points[:, 0, 0], motion["x_ddot"], atol=1e-10
    )
    with pytest.raises(ModelError, match="did you mean `gear`"):
        parts(motion, da.draw.reaction("gaer", (x, y)), times=motion.t)


@pytest.fixture(scope="module")
def driven():
    """A wheel with the moment tau about its hub, rolling without slip."""
    s, phi = da.coordinates("s phi")
    m, r, tau = da.parameters("m r tau", positive=True)
    system = da.System(
        [s, phi],
        kinetic=m * s.dot**2 / 2 + m * r**2 * phi.dot**2 / 4,
        forces={phi: -tau},
        constraints=[da.velocity(s.dot + r * phi.dot, name="rolling")],
    )
    return da.simulate(
        system, {}, (0, 1), parameters={"m": 2.0, "r": 0.3, "tau": 1.0}, at=[0, 0.5, 1]
    )


@pytest.mark.parametrize("none", [0, 0.0, None, sympy.Integer(0)], ids=repr)
def test_a_reaction_may_have_no_force_in_a_direction(driven, none):
    """The traction at the contact of a wheel drives it: m a = F, along the ground."""
    s = da.coordinates("s")
    r = da.parameters("r", positive=True)
    arrow = parts(
        driven, da.draw.reaction("rolling", (s, -r), along=(s, none), scale=1.0), times=driven.t
    ).parts[0]
    force = arrow.points[:, 1] - arrow.points[:, 0]
    np.testing.assert_allclose(force[:, 0], 2.0 * driven["s_ddot"], rtol=1e-12)
    assert (force[:, 0] > 1).all() and (force[:, 1] == 0).all()
    with pytest.raises(ModelError, match="no force at this point alone"):
        parts(driven, da.draw.reaction("rolling", (s, -r)), times=driven.t)


@pytest.fixture(scope="module")
def tied():
    x, y = da.coordinates("x y")
    tie = da.holonomic(x - y, name="tie")
    system = da.System([x, y], kinetic=x.dot**2 / 2 + y.dot**2, potential=x, constraints=[tie])
    return da.simulate(system, {}, (0, 1), at=[0, 0.5, 1])


def test_of_many_forces_with_the_same_work_the_least_is_drawn(tied):
    """Q = J^T F has solutions F without full rank of J = dr/dq, too; the least of them lies in the
    range of J.
    """
    x, y = da.coordinates("x y")
    Q = tied.reactions["tie"].force
    assert np.abs(Q).min() > 0.5
    for position in ((x - y, 0), (x, -y), (x - y, 2 * (x - y)), (2 * x, x + y)):
        J = np.array([[float(sympy.diff(entry, q)) for q in (x, y)] for entry in position])
        arrow = parts(tied, da.draw.reaction("tie", position, scale=1.0), times=tied.t).parts[0]
        F = (arrow.points[:, 1] - arrow.points[:, 0]).T
        np.testing.assert_allclose(J.T @ F, Q, atol=1e-12)
        across = np.array([J[1, 0], -J[0, 0]]) if np.linalg.det(J) == 0 else np.zeros(2)
        np.testing.assert_allclose(across @ F, 0, atol=1e-12)


@pytest.mark.parametrize(
    "position", [lambda x, y: (x + y, 0), lambda x, y: (x, 0), lambda x, y: (1, 2)]
)
def test_without_full_rank_what_no_force_can_do_is_refused(tied, position):
    with pytest.raises(ModelError, match="no force at this point alone"):
        parts(tied, da.draw.reaction("tie", position(*da.coordinates("x y"))), times=tied.t)


def test_a_system_refuses_a_reaction_along_what_is_no_coordinate_of_it():
    x, y, z = da.coordinates("x y z")
    with pytest.raises(ModelError, match="drawing contains z"):
        pendulum(da.draw.reaction("rod", (x, y), along=(x, z)))
    assert pendulum(da.draw.reaction("rod", (x, y), along=("x", 0))).drawing.shapes[0].along == (
        "x",
        None,
    )


def test_automatic_arrows_of_one_group_share_a_scale(swing):
    x, y = da.coordinates("x y")
    scene = parts(
        swing,
        da.draw.point((x, y)),
        da.draw.vector((0, 0), (1, 0)),
        da.draw.vector((0, 0), (0, 3)),
        da.draw.vector((0, 0), (0, 50), group="other"),
    )
    short, long, other = ((p.points[0, 1] - p.points[0, 0]) for p in scene.parts[1:])
    assert long[1] == pytest.approx(3 * short[0]) and other[1] == pytest.approx(long[1])
    assert 0.1 < long[1] / 3.0 < 0.3  # of a picture about three wide


def test_a_wheel_shows_its_angle(disk):
    phi = da.coordinates("phi")
    _, spokes, mark = parts(
        disk, da.draw.wheel((phi, 1), 0.5, -2 * phi, spokes=4), times=disk.t
    ).parts
    angle = 2.0 * disk.t
    np.testing.assert_allclose(
        spokes.points[:, 1],
        np.stack([angle + 0.5 * np.cos(2 * angle), 1 - 0.5 * np.sin(2 * angle)], -1),
    )
    hub = np.stack([angle, np.ones_like(angle)], -1)
    area = np.linalg.det(np.stack([spokes.points[:, 1] - hub, mark.points[:, 0] - hub], axis=-1))
    np.testing.assert_allclose(area, 0, atol=1e-12)


def test_a_wheel_in_space_turns_in_its_plane(disk):
    phi = da.coordinates("phi")
    upright = da.draw.wheel((0, 0, 1), 1, phi, axes=((1, 0, 0), (0, 0, 1)), spokes=1)
    from dalembert.plotting.scenes.solids import solids_of

    _, spokes, _ = solids_of(disk, [upright], disk.t, 3)
    angle = 2.0 * disk.t
    np.testing.assert_allclose(
        spokes.points[:, 1], np.stack([np.cos(angle), 0 * angle, 1 + np.sin(angle)], -1), atol=1e-12
    )


def test_bodies_keep_their_size_and_turn(disk):
    phi = da.coordinates("phi")
    at = (3 * phi, 1)
    box, ellipse, polygon = parts(
        disk,
        da.draw.body(at, phi, box=(2, 1)),
        da.draw.body(at, phi, ellipse=(2, 1)),
        da.draw.body(at, phi, polygon=[(0, 0), (1, 0), (0, 2)]),
        times=disk.t,
    ).parts
    sides = np.linalg.norm(np.diff(box.points, axis=1), axis=-1)
    np.testing.assert_allclose(sides, np.tile([2, 1, 2, 1], (7, 1)))
    radii = np.linalg.norm(
        ellipse.points - np.stack([6 * disk.t, np.ones(7)], -1)[:, None], axis=-1
    )
    assert radii.max() == pytest.approx(2) and radii.min() == pytest.approx(1)
    corner = polygon.points[:, 1] - polygon.points[:, 0]
    np.testing.assert_allclose(
        corner, np.stack([np.cos(2 * disk.t), np.sin(2 * disk.t)], -1), atol=1e-12
    )


def test_ground_text_frame_and_spring(disk):
    phi = da.coordinates("phi")
    scene = parts(
        disk,
        da.draw.ground((-1, 0), (1, 0)),
        da.draw.text((phi, 0), "here $x"),
        da.draw.frame((0, 1), phi, size=0.5),
        da.draw.spring((0, 0), (phi, 1)),
        times=disk.t,
    )
    ground, first, second, _ = scene.parts
    assert ground.points[..., 1].max() == 0 and ground.points[..., 1].min() < 0  # hatches below
    u, v = (p.points[:, 1] - p.points[:, 0] for p in (first, second))
    np.testing.assert_allclose(np.linalg.norm(u, axis=1), 0.5)
    np.testing.assert_allclose(np.linalg.det(np.stack([u, v], axis=-2)), 0.25)
    assert [t.text for t in scene.texts] == ["here $x"] and all(
        p.kind != "text" for p in scene.parts
    )
    disk.animate(fps=4, size=(200, 150)).frame(0)


@pytest.mark.long
def test_every_shape_is_painted_in_every_medium(swing, tmp_path):
    x, y = da.coordinates("x y")
    shapes = [
        da.draw.ground((-1, 0), (1, 0)),
        da.draw.wheel((x, y), 0.2, x),
        da.draw.velocity((x, y)),
        da.draw.reaction("rod", (x, y)),
        da.draw.text((x, y), "bob"),
    ]
    motion = da.simulate(pendulum(*shapes), {x: 1.5, y: 0.0}, (0, 1), parameters=VALUES)
    animation = motion.animate(fps=5, size=(200, 200), style="dark")
    assert np.ptp(animation.frame(2).astype(int)) > 100
    for suffix in (".png", ".svg", ".pdf"):
        assert animation.save(tmp_path / f"all{suffix}").stat().st_size > 3000


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x: da.draw.point((x,)), "2 or 3 components"),
        (lambda x: da.draw.body((x, 0)), "box, an ellipse and a polygon"),
        (lambda x: da.draw.wheel((x, 0), 1, spokes=0), "spokes"),
        (lambda x: da.draw.vector((x, 0), (1, 2, 3)), "as many components"),
        (lambda x: da.draw.reaction("c", (x, 0), along=(x,)), "as many components"),
        (
            lambda x: da.draw.reaction("c", (x, 0), along=x),
            r"one coordinate for each component \(seen: x\): pass along=",
        ),
        (lambda x: da.draw.reaction("c", (x, 0), along="xy"), "one coordinate for each component"),
        (lambda x: da.draw.reaction("c", (x, 0), along=(x, 1)), "along coordinates, or 0"),
        (lambda x: da.draw.reaction("c", (x, 0), along=(-x, 0)), "along coordinates, or 0"),
        (lambda x: da.draw.reaction("c", (x, 0), along=(x.dot, 0)), "along coordinates, or 0"),
        (lambda x: da.draw.reaction("c", (x, 0), along=(0, None)), "at least one coordinate"),
        (lambda x: da.draw.frame((x, 0, 0)), "needs its axes"),
        (lambda x: da.draw.velocity((x.dot, 0)), "coordinates and time"),
        (lambda x: da.System([x], kinetic=x.dot**2, drawing=[3]), "consists of shapes"),
        (
            lambda x: da.System(
                [x], kinetic=x.dot**2, drawing=[da.draw.point((da.coordinates("w"), 0))]
            ),
            "contains w",
        ),
        (lambda x: da.draw.drawing(), "at least one shape"),
    ],
)
def test_wrong_shapes_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make(da.coordinates("x"))


def test_shapes_of_space_say_their_plane(disk):
    with pytest.raises(ModelError, match="needs the plane"):
        parts(disk, da.draw.wheel((0, 0, 1), 1))
    with pytest.raises(ModelError, match="all be plane or all spatial"):
        parts(disk, da.draw.point((0, 0)), da.draw.point((0, 0, 0)))
