"""What the examples of optimised trajectories find, drawn from the motions they compute."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib import colormaps

from dalembert.plotting.style import LIGHT, Picture

from .files import FOLDER, still

COLOURS = colormaps["viridis"]
Corners = Callable[[dict[str, float]], list[tuple[float, float]]]


def optimised_trajectories() -> None:
    """Gaits, parking, a lane change, swing-ups, a step, a ride: frames run from dark to light."""
    picture = Picture(LIGHT, figsize=(13.0, 9.0), layout="constrained")
    axes = picture.subplots(3, 4)
    _gaits(*axes[0, :2])
    _vehicles(*axes[0, 2:])
    _swing_ups(*axes[1])
    _walker(axes[2, 0])
    _disk(*axes[2, 1:])
    still("trajectories.png", picture)


def swing_up_animation() -> None:
    """The animation of the ninth tutorial: three pendulums."""
    _animate("three-pendulums.gif", "cart_with_pendulums", "3", size=(360, 400))


def trailers_animation() -> None:
    """A car parks with two trailers."""
    _animate("two-trailers.gif", "park_trailers", "2", duration=6.0, size=(480, 220))


def walker_animation() -> None:
    """The step of a biped."""
    _animate("walker-step.gif", "walker_step", duration=2.0, size=(360, 340))


def racer_animation() -> None:
    """A cycle of a roller racer."""
    _animate("roller-racer.gif", "roller_racer_gait", duration=3.0, size=(480, 220))


def snakeboard_animation() -> None:
    """A cycle of a snakeboard."""
    _animate("snakeboard.gif", "snakeboard_gait", duration=4.0, size=(480, 300))


def bicycle_animation() -> None:
    """A bicycle changes its lane."""
    _animate("lane-change.gif", "bicycle_lane_change", duration=2.4, size=(280, 210), follow=True)


def cart_animations() -> None:
    """One pendulum in the least time, and two by the least effort."""
    _animate("least-time.gif", "cart_pole_swing_up", duration=3.0, size=(360, 300), of="fast")
    _animate("two-pendulums.gif", "cart_with_pendulums", "2", size=(360, 400))


def disk_animation() -> None:
    """A rolling disk rides in the least time without slip."""
    _animate("disk-without-slip.gif", "disk_without_slip", size=(400, 260), of="held")


def _animate(
    name: str, example: str, *arguments: str, duration: float = 3.0, size: tuple[int, int],
    of: str = "", follow: bool = False,
) -> None:  # fmt: skip
    """The animation of the motion of an example, or of one of its trajectories."""
    found = _example(example, *arguments)
    motion = found[of].motion if of else found["motion"]
    options = {"follow": found["place"]} if follow else {}
    motion.animate(FOLDER / name, duration=duration, fps=12.5, size=size, **options)


def _example(name: str, *arguments: str) -> dict[str, Any]:
    """The variables of an example after its run."""
    before, sys.argv = sys.argv, [name, *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            path = FOLDER.parents[1] / "examples" / f"{name}.py"
            return runpy.run_path(str(path), run_name="__main__")
    finally:
        sys.argv = before


def _frames(axes: Any, motion: Any, count: int, corners: Corners, **options: Any) -> None:
    """Poses at even times; equal scales, unless told otherwise."""
    names = [symbol.name for symbol in motion.state]
    for part in np.linspace(0, 1, count):
        k = int(np.argmin(np.abs(motion.t - motion.t[0] - part * (motion.t[-1] - motion.t[0]))))
        points = np.array(corners({name: motion[name][k] for name in names}))
        axes.plot(*points.T, "o-", color=COLOURS(part), markersize=2, linewidth=1.1)
    axes.set(**{"aspect": "equal", "adjustable": "datalim"} | options)


def _gaits(racer: Any, board: Any) -> None:
    motion = _example("roller_racer_gait")["motion"]

    def corners(at: dict[str, float]) -> list[tuple[float, float]]:
        angle = at["heading"] + at["hinge"]
        hinge = at["x"] + 0.3 * np.cos(at["heading"]), at["y"] + 0.3 * np.sin(at["heading"])
        return [
            (at["x"], at["y"]), hinge,
            (hinge[0] - 0.1 * np.cos(angle), hinge[1] - 0.1 * np.sin(angle)),
        ]  # fmt: skip

    racer.plot(motion["x"], motion["y"], "black", linewidth=0.8)
    _frames(racer, motion, 5, corners, title="roller racer, 1 m in a cycle", xlabel="x, m")
    motion = _example("snakeboard_gait")["motion"]
    board.plot(motion["rotor"], motion["wheels"], label="shape: rotor, wheels")
    board.plot(10 * motion["x"], 10 * motion["y"], label="path: 10 x, 10 y")
    board.set(title="snakeboard, 0.1 m in a cycle", xlabel="rad, and 0.1 m")
    board.legend(fontsize=7)


def _vehicles(train: Any, bicycle: Any) -> None:
    motion = _example("park_trailers", "2")["motion"]

    def corners(at: dict[str, float]) -> list[tuple[float, float]]:
        x, y = at["x"], at["y"]
        points = [(x + np.cos(at["heading"]), y + np.sin(at["heading"])), (x, y)]
        for name in ("trailer1", "trailer2"):
            x, y = x - np.cos(at[name]), y - np.sin(at[name])
            points.append((x, y))
        return points

    train.plot(motion["x"], motion["y"], "black", linewidth=0.8)
    _frames(train, motion, 7, corners, title="car parks with two trailers", xlabel="x, m")
    motion = _example("bicycle_lane_change")["motion"]
    bicycle.plot(motion["x"], motion["y"], label="y, m")
    for name in ("steer", "lean"):
        bicycle.plot(motion["x"], 10 * motion[name], label=f"{name}, 0.1 rad")
    bicycle.set(title="lane change of a bicycle", xlabel="x, m")
    bicycle.legend(fontsize=7)


def _swing_ups(one: Any, least_time: Any, two: Any, three: Any) -> None:
    found = _example("cart_pole_swing_up")
    _frames(one, found["fast"].motion, 14, _pendulums, title="cart-pole, least time")
    for name in ("effort", "fast"):
        plan = found[name]
        times = np.linspace(*plan.span, 1200)
        label = {"effort": "least effort", "fast": "least time"}[name]
        least_time.plot(times, plan.inputs["u"].at(times), label=label)
    least_time.set(title="its force within 10 N", xlabel="t, s", ylabel="N")
    least_time.legend(fontsize=7)
    for axes, count in ((two, 2), (three, 3)):
        motion = _example("cart_with_pendulums", str(count))["motion"]
        _frames(axes, motion, 16, _pendulums, title=f"{count} pendulums, least effort")


def _pendulums(at: dict[str, float]) -> list[tuple[float, float]]:
    x, y = at["x"], 0.0
    points = [(x, y)]
    angles = ("theta", "angle1", "angle2", "angle3")
    for name in (each for each in angles if each in at):
        x, y = x + 0.5 * np.sin(at[name]), y - 0.5 * np.cos(at[name])
        points.append((x, y))
    return points


def _walker(axes: Any) -> None:
    def corners(at: dict[str, float]) -> list[tuple[float, float]]:
        points = [(at["x"], at["y"])]
        # Up the stance leg, to the head and back, down the swing leg.
        for arm, k in ((0.4, 1), (0.4, 2), (0.625, 3), (-0.625, 3), (-0.4, 4), (-0.4, 5)):
            angle = at[f"q{k}"]
            points.append(
                (points[-1][0] - arm * np.sin(angle), points[-1][1] + arm * np.cos(angle))
            )
        return points

    axes.axhline(0, color="black", linewidth=0.8)
    plan = _example("walker_step")["step"].phases[0]
    _frames(axes, plan.motion, 5, corners, title="periodic step of a biped")


def _disk(path: Any, force: Any, torques: Any) -> None:
    found = _example("disk_without_slip")
    for name, label in (("held", "within friction"), ("free", "no limit")):
        motion = found[name].motion
        path.plot(motion["x"], motion["y"], label=label)
        across = [motion.reactions[f"along {c}"].force[k] for k, c in enumerate("xy")]
        force.plot(motion.t, np.hypot(*across), label=label)
    force.axhline(0.3 * 9.81, color="black", linewidth=0.8, linestyle="--")
    path.set(title="rolling disk, least time", xlabel="x, m", ylabel="y, m")
    force.set(title="force at its contact", xlabel="t, s", ylabel="N")
    path.legend(fontsize=7)
    plan = found["held"]
    times = np.linspace(*plan.span, 1200)
    for name, table in plan.inputs.items():
        torques.plot(times, table.at(times), label=name)
    torques.set(title="its torques within friction", xlabel="t, s", ylabel="N m")
    torques.legend(fontsize=7)
