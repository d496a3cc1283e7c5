"""``method="auto"``: which method it takes, that the reason says why, and that it is the method
asked for by name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import Abs, Matrix, cos, sin, sqrt, tanh

import dalembert as da
from dalembert.errors import ModelError


def pendulum(inertia: Any = 1) -> da.System:
    angle = da.coordinates("angle")
    return da.System([angle], kinetic=inertia * angle.dot**2 / 2, potential=-cos(angle))


def rod(**more: Any) -> da.System:
    x, y = da.coordinates("x y")
    rods = [da.holonomic(x**2 + y**2 - 1, name="rod")]
    return da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.81 * y, constraints=rods, **more
    )


def spring(damping: float) -> da.System:
    """A pendulum on a stiff spring, damped along it."""
    x, y = da.coordinates("x y")
    r = sqrt(x**2 + y**2)
    return da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y + 5000 * (r - 1) ** 2,
        dissipation=damping / 2 * ((x * x.dot + y * y.dot) / r) ** 2,
    )


def hat(v: Any) -> Any:
    return Matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def chosen(model: Any, start: Any = None, span: Any = (0, 1), **options: Any) -> da.Motion:
    motion = da.simulate(model, start, span, method="auto", **options)
    statistics = motion.statistics
    assert statistics["method_reason"].startswith(f"{statistics['method']}, because ")
    return motion


def test_single_runs_contacts_and_functions_take_runge_kutta_steps() -> None:
    angle = da.coordinates("angle")
    u = da.inputs("u")
    plain = {"kinetic": angle.dot**2 / 2}
    kinked = da.System([angle], potential=Abs(angle), **plain)
    floor = da.System(
        [angle], potential=-angle, constraints=[da.unilateral(angle, name="floor")], **plain
    )
    pushed = da.System([angle], forces={angle: u}, inputs=[u], **plain)
    for motion, word in (
        (chosen(pendulum(), {"angle": 2.0}), "any system"),
        (chosen(kinked, {"angle": 0.1}, (0, 300)), "any system"),
        (chosen(floor, {"angle": -1.0}), "contacts"),
        (chosen(pushed, {}, inputs={u: lambda t, state: 0.0}), "function of Python"),
    ):
        assert motion.statistics["method"] == "dop853"
        assert word in motion.statistics["method_reason"]


def test_nothing_said_is_auto() -> None:
    motion = da.simulate(pendulum(), {"angle": 1.0}, (0, 1))
    asked, named = (
        da.simulate(pendulum(), {"angle": 1.0}, (0, 1), method=method)
        for method in ("auto", "dop853")
    )
    assert motion.statistics["method_reason"] == asked.statistics["method_reason"]
    assert "method_reason" not in named.statistics
    np.testing.assert_array_equal(motion.y, named.y)


def test_many_runs_are_expanded_in_lanes_where_that_pays() -> None:
    """By threads and by blocks the same method, and the same bits as by its name."""
    starts, span = np.linspace(0.1, 2.0, 60), (0, 200)
    runs = da.simulate(pendulum(), {"angle": starts}, span)
    named = da.simulate(pendulum(), {"angle": starts}, span, method="taylor")
    assert runs.statistics["method"] == "taylor" and "lanes" in runs.statistics["method_reason"]
    np.testing.assert_array_equal(runs.states, named.states)
    blocks = da.sweep(pendulum(), over={"angle": starts}, span=span, chunk=7)
    assert blocks.statistics["method"] == "taylor"
    np.testing.assert_array_equal(blocks.states, named.states)
    few = da.simulate(pendulum(), {"angle": starts[:3]}, (0, 1))
    assert few.statistics["method"] == "dop853"
    named = da.simulate(pendulum(), {"angle": starts[:3]}, (0, 1), method="dop853")
    np.testing.assert_array_equal(few.states, named.states)


def test_many_runs_of_kinked_or_stiff_equations_are_not_expanded() -> None:
    angle = da.coordinates("angle")
    kinked = da.System([angle], kinetic=angle.dot**2 / 2, potential=Abs(angle))
    runs = da.simulate(kinked, {"angle": np.linspace(0.1, 1, 8)}, (0, 100))
    assert runs.statistics["method"] == "dop853"
    damped = da.simulate(spring(1e5), {"x": [1.0, 1.01]}, (0, 2), rtol=1e-6)
    assert damped.statistics["method"] == "radau9" and damped.success


def test_what_is_tried_first_of_many_runs_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of one run, however long it is; Ctrl-C within it ends the call."""
    from dalembert.integrate import task as tasks

    tried: list[int] = []

    def followed(task: Any) -> da.Motion:
        motion = tasks.Driver(task).execute()
        tried.append(int(motion.statistics["steps"]))
        return motion

    monkeypatch.setattr(tasks, "followed", followed)
    runs = da.simulate(pendulum(), {"angle": [2.0, 2.1]}, (0, 40_000))
    assert runs.success and 7000 < tried[0] <= 8192
    steps = int(runs.statistics["method_reason"].split("takes ")[1].split(" steps")[0])
    alone = da.simulate(pendulum(), {"angle": 2.0}, (0, 40_000), at=[40_000.0])
    assert tried[0] < alone.statistics["steps"] == pytest.approx(steps, rel=0.02)

    def stopped(task: Any) -> da.Motion:
        def stop(*_: object) -> None:
            raise KeyboardInterrupt

        return tasks.Driver(replace(task, progress=stop)).execute()

    monkeypatch.setattr(tasks, "followed", stopped)
    with pytest.raises(KeyboardInterrupt):
        da.simulate(pendulum(), {"angle": [2.0, 2.1]}, (0, 40_000))


@pytest.mark.long
def test_a_step_takes_the_method_that_keeps_most() -> None:
    angle = da.coordinates("angle")
    disk = da.gallery.load("rolling-disk")
    assert chosen(pendulum(), {"angle": 1.0}, step=0.1).statistics["method"] == "rattle4"
    assert chosen(rod(), {"x": 1.0}, step=0.1).statistics["method"] == "rattle4"
    assert (
        chosen(pendulum(2 + cos(angle)), {"angle": 1.0}, step=0.1).statistics["method"]
        == "lobatto4"
    )
    motion = chosen(disk.system, disk.start, step=0.05, parameters=disk.parameters)
    assert motion.statistics["method"] == "nonholonomic-leapfrog4"
    assert "velocities" in motion.statistics["method_reason"]


@pytest.mark.long
def test_a_flow_stays_on_its_orbits_where_a_group_moves_it() -> None:
    m = da.coordinates("m1 m2 m3")
    M, W = hat(m), hat([m[0], m[1] / 2, m[2] / 3])
    turned = M * W - W * M
    rates = {m[0]: turned[2, 1], m[1]: turned[0, 2], m[2]: turned[1, 0]}
    start = {"m1": 0.3, "m2": 1.0}
    moved = chosen(
        da.Flow(rates, matrices={"M": M}, actions=[da.lie.Action("M", -W, -W)]), start, step=0.1
    )
    assert moved.statistics["method"] == "isospectral4"
    size = moved["m1"] ** 2 + moved["m2"] ** 2 + moved["m3"] ** 2
    np.testing.assert_allclose(size, size[0], rtol=1e-14)
    assert chosen(da.Flow(rates), start, step=0.1).statistics["method"] == "gauss4"


def test_a_step_and_events_are_refused_in_words() -> None:
    angle = da.coordinates("angle")
    with pytest.raises(ModelError, match="does not look for events"):
        chosen(pendulum(), {"angle": 1.0}, step=0.1, events=[angle])


def test_stiff_equations_are_followed_by_implicit_formulas() -> None:
    """A strong damper is stiff, a stiff spring alone is a fast oscillation that must be
    followed.
    """
    for damping, rtol, method in (
        (1e5, 1e-6, "radau9"),
        (1e5, 1e-3, "radau5"),
        (0.0, 1e-6, "dop853"),
        (1.0, 1e-6, "dop853"),
    ):
        motion = chosen(spring(damping), {"x": 1.0}, (0, 10), rtol=rtol)
        assert motion.success and motion.statistics["method"] == method


def test_equations_that_become_stiff_are_followed_by_implicit_steps() -> None:
    """A damper that is switched on smoothly: at the start nothing is stiff."""
    x = da.coordinates("x")
    strength = 10**6 * (1 + tanh(4 * (da.t - 3))) / 2
    system = da.System(
        [x], kinetic=x.dot**2 / 2, forces={x: -strength * (x.dot - cos(da.t)) - sin(da.t)}
    )
    motion = chosen(system, {x.dot: 1.0}, (0, 8), rtol=1e-7)
    assert motion.success and motion.statistics["method"] == "radau9"
    assert "became stiff" in motion.statistics["method_reason"]
    assert motion.statistics["steps"] < 500
    np.testing.assert_allclose(motion["x"][-1], np.sin(8.0), atol=1e-6)
    named = da.simulate(system, {x.dot: 1.0}, (0, 8), rtol=1e-7, method="dop853", max_steps=5000)
    assert not named.success and "stiff" in named.message  # a method that is named is kept


def test_a_long_run_takes_a_symplectic_method_and_a_step() -> None:
    motion = da.simulate(pendulum(), {"angle": 1.0}, (0, 200), goal="long")
    statistics = motion.statistics
    assert statistics["method"] == "rattle4" and "long run" in statistics["method_reason"]
    assert statistics["step"] == pytest.approx(2 * np.pi / 40 / np.sqrt(np.cos(1.0)), rel=0.05)
    error = motion.energy - motion.energy[0]
    assert abs(np.polyfit(motion.t, error, 1)[0] * 200) < 0.1 * np.abs(error).max()
    given = da.simulate(pendulum(), {"angle": 1.0}, (0, 2), goal="long", step=0.1)
    assert given.statistics["step"] == 0.1


def test_goals_are_refused_in_words() -> None:
    x = da.coordinates("x")
    free = da.System([x], kinetic=x.dot**2 / 2)
    with pytest.raises(ModelError, match="There is no goal `fast`"):
        da.simulate(pendulum(), {"angle": 1.0}, (0, 1), goal="fast")
    with pytest.raises(ModelError, match="A goal chooses the method"):
        da.simulate(pendulum(), {"angle": 1.0}, (0, 1), goal="long", method="dop853")
    with pytest.raises(ModelError, match="No step can be proposed"):
        da.simulate(free, {"x": 1.0}, (0, 1), goal="long")


def test_a_model_file_may_ask_for_it_and_the_command_line_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from dalembert.cli import main
    from dalembert.model.io.files import dumps

    scenario = da.Scenario(pendulum(), {}, {"angle": 1.0}, {"span": (0, 1), "method": "auto"})
    path = tmp_path / "pendulum.toml"
    path.write_text(dumps(scenario))
    assert main(["run", str(path)]) == 0
    assert "dop853, because it takes any system" in " ".join(capsys.readouterr().out.split())
