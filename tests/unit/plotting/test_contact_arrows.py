"""Arrows of contact forces: normal force and friction in directions of the picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.drawing import ReactionArrow
from dalembert.plotting.scenes.solids import solids_of
from dalembert.typing import Array

B = da.bodies
G = 9.81


def block(**arrow: Any) -> da.System:
    """A block of unit mass that slides to the right on a floor, with the arrow of its contact."""
    x, y = da.coordinates("x y")
    return da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=G * y,
        constraints=[da.unilateral(y >= 0, friction=0.5, tangent=x.dot, name="floor")],
        drawing=[da.draw.reaction("floor", (x, y), **arrow)],
    )


def arrows(motion: da.Motion, times: Array) -> Array:
    """The points (arrows, nt, d) and the forces there of the arrows of a drawing."""
    shapes = [s for s in motion.system.drawing.shapes if isinstance(s, ReactionArrow)]
    solids = solids_of(motion, shapes, times, len(shapes[0].position))
    return np.array([[solid.points[:, 0], solid.points[:, 1]] for solid in solids])


def test_an_arrow_has_the_normal_force_and_the_friction() -> None:
    motion = da.simulate(block(directions=[(0, 1), (1, 0)]), {"x_dot": 2.0}, (0, 0.6))
    slips, sticks = 0.1, 0.5  # the slip ends after 2/(0.5 g) = 0.408
    ((points, forces),) = arrows(motion, np.array([slips, sticks]))
    assert points[0] == pytest.approx([2 * slips - G / 4 * slips**2, 0], abs=1e-9)
    assert forces[0] == pytest.approx([-0.5 * G, G], rel=1e-9)
    assert forces[1] == pytest.approx([0, G], abs=1e-9)


@pytest.mark.parametrize("method", [{}, {"method": "moreau", "step": 1e-3}])
def test_mechanisms_draw_the_forces_of_their_contacts(method: dict[str, Any]) -> None:
    # A ball on a plane that is tilted by 0.3 about y, and slides down.
    tilt, mu = 0.3, 0.05
    ball = B.Body("ball", 1, inertia=(0.004,) * 3, shapes=[B.ball(0.1)])
    plane = B.ground([B.half_space(rotation=B.angles("zyx", 0, tilt, 0))])
    touches = B.contact("floor", ball, plane, friction=mu)
    free = B.free("ball", plane, ball)
    mechanism = B.Mechanism([free, touches], gravity=(0, 0, -G))
    normal = np.array([np.sin(tilt), 0, np.cos(tilt)])
    down = np.array([np.cos(tilt), 0, -np.sin(tilt)])
    start = dict(zip(("ball_x", "ball_y", "ball_z"), 0.1 * normal, strict=True))
    motion = da.simulate(mechanism.system(), start, (0, 0.4), **method)
    ((points, forces),) = arrows(motion, np.array([0.2]))
    pressed = G * np.cos(tilt)
    assert forces[0] == pytest.approx(pressed * (normal - mu * down), abs=2e-6)
    assert points[0] @ normal == pytest.approx(0, abs=1e-9)


def test_two_balls_push_along_the_line_between_them() -> None:
    one, two = (B.Body(n, 1, inertia=(0.004,) * 3, shapes=[B.ball(0.1)]) for n in ("one", "two"))
    joints = [B.free("one", B.ground(), one), B.free("two", B.ground(), two)]
    pushes = [B.wrench("a", one, force=(3, 0, 0)), B.wrench("b", two, force=(-3, 0, 0))]
    mechanism = B.Mechanism([*joints, *pushes, B.contact("pair", one, two)])
    motion = da.simulate(mechanism.system(), {"two_x": 0.2}, (0, 0.1))
    ((points, forces),) = arrows(motion, np.array([0.05]))
    assert points[0] == pytest.approx([0.1, 0, 0], abs=1e-9)
    assert forces[0] == pytest.approx([-3, 0, 0], abs=1e-9)


def test_a_model_file_states_directions(tmp_path: Path) -> None:
    stated = block(directions=[(0, 1), (1, 0)])
    da.save_model(da.Scenario(stated), tmp_path / "block.toml")
    assert da.load_model(tmp_path / "block.toml").system.drawing == stated.drawing


@pytest.mark.parametrize(
    ("arrow", "words"),
    [
        ({"directions": [(0, 1)]}, "has 2 components"),
        ({"directions": [(0, 1), (1, 0)], "along": ("x", "y")}, "leave one of them out"),
    ],
)
def test_directions_that_do_not_fit_are_errors(arrow: dict[str, Any], words: str) -> None:
    arrow = {key: da.coordinates("x y") if key == "along" else v for key, v in arrow.items()}
    with pytest.raises(ModelError, match=words):
        arrows(da.simulate(block(**arrow), {"x_dot": 2.0}, (0, 0.1)), np.array([0.0]))


def test_a_constraint_without_a_contact_has_no_directions() -> None:
    x, y = da.coordinates("x y")
    arrow = da.draw.reaction("rail", (x, y), directions=[(0, 1)])
    bead = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        constraints=[da.holonomic(y, name="rail")],
        drawing=[arrow],
    )
    with pytest.raises(ModelError, match="no contact `rail`"):
        arrows(da.simulate(bead, {"x_dot": 2.0}, (0, 0.1)), np.array([0.0]))
