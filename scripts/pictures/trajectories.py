"""What the examples of optimised trajectories find, drawn from the motions they compute."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from typing import Any

import numpy as np
from matplotlib import colormaps

from dalembert.plotting.style import LIGHT, Picture

from .files import FOLDER, still

COLOURS = colormaps["viridis"]


def optimised_trajectories() -> None:
    """Six examples: gaits, parking with two trailers, a lane change, swing-ups."""
    picture = Picture(LIGHT, figsize=(10.5, 6.0), layout="constrained")
    (racer, bicycle, train), (board, two, three) = picture.subplots(2, 3)
    _racer(racer, _motion("roller_racer_gait"))
    motion = _motion("bicycle_lane_change")
    for name, factor in (("y", 1), ("steer", 10), ("lean", 10)):
        label = name if factor == 1 else f"{factor} {name}"
        bicycle.plot(motion["x"], factor * motion[name], label=label)
    bicycle.set(title="lane change of a bicycle", xlabel="x")
    bicycle.legend(fontsize=7)
    motion = _motion("park_trailers", "2")
    train.plot(motion["x"], motion["y"], "black", linewidth=0.8)
    _frames(train, motion, 7, _train)
    train.set(title="parking with two trailers", aspect="equal", adjustable="datalim")
    motion = _motion("snakeboard_gait")
    board.plot(motion["rotor"], motion["wheels"])
    board.set(title="gait of a snakeboard", xlabel="rotor", ylabel="wheels")
    for axes, count in ((two, 2), (three, 3)):
        motion = _motion("cart_with_pendulums", str(count))
        _frames(axes, motion, 16, _pendulums)
        axes.set(title=f"cart with {count} pendulums", aspect="equal", adjustable="datalim")
    still("trajectories.png", picture)


def three_pendulums_animation() -> None:
    """The animation of the ninth tutorial."""
    _motion("cart_with_pendulums", "3").animate(
        FOLDER / "three-pendulums.gif", duration=3.0, fps=12.5, size=(360, 400)
    )


def _motion(example: str, *arguments: str) -> Any:
    before, sys.argv = sys.argv, [example, *arguments]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            path = FOLDER.parents[1] / "examples" / f"{example}.py"
            return runpy.run_path(str(path), run_name="__main__")["motion"]
    finally:
        sys.argv = before


def _frames(axes: Any, motion: Any, count: int, corners: Any) -> None:
    for part in np.linspace(0, 1, count):
        k = int(np.argmin(np.abs(motion.t - motion.t[0] - part * (motion.t[-1] - motion.t[0]))))
        points = np.array(corners({name: motion[name][k] for name in _names(motion)}))
        axes.plot(*points.T, "o-", color=COLOURS(part), markersize=2, linewidth=0.9)


def _names(motion: Any) -> list[str]:
    return [symbol.name for symbol in motion.state]


def _racer(axes: Any, motion: Any) -> None:
    axes.plot(motion["x"], motion["y"], label="rear axle")

    def corners(at: dict[str, float]) -> list[tuple[float, float]]:
        angle = at["heading"] + at["hinge"]
        hinge = at["x"] + 0.3 * np.cos(at["heading"]), at["y"] + 0.3 * np.sin(at["heading"])
        front = hinge[0] - 0.1 * np.cos(angle), hinge[1] - 0.1 * np.sin(angle)
        return [(at["x"], at["y"]), hinge, front]

    _frames(axes, motion, 5, corners)
    axes.set(title="gait of a roller racer", xlabel="x", ylabel="y")
    axes.legend(fontsize=7)


def _train(at: dict[str, float]) -> list[tuple[float, float]]:
    x, y = at["x"], at["y"]
    points = [(x + np.cos(at["heading"]), y + np.sin(at["heading"])), (x, y)]
    for name in ("trailer1", "trailer2"):
        x, y = x - np.cos(at[name]), y - np.sin(at[name])
        points.append((x, y))
    return points


def _pendulums(at: dict[str, float]) -> list[tuple[float, float]]:
    x, y = at["x"], 0.0
    points = [(x, y)]
    for name in sorted(each for each in at if each.startswith("angle") and each[-1].isdigit()):
        x, y = x + 0.5 * np.sin(at[name]), y - 0.5 * np.cos(at[name])
        points.append((x, y))
    return points
