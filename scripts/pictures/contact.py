"""Contact: the woodpecker toy and Euler's disk."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import dalembert as da
from dalembert.plotting.style import LIGHT, Picture

from .files import still

GRAVITY = 9.81


def contact() -> None:
    """The woodpecker toy with what its sleeve does, and Euler's disk."""
    picture = Picture(LIGHT, figsize=(8.4, 3.0), layout="constrained")
    left, right = picture.subplots(1, 2)
    motion = woodpecker()
    left.plot(motion.t, motion["bird"], label="woodpecker")
    left.plot(motion.t, motion["sleeve"], label="sleeve")
    ends = [*(c.time for c in motion.modes[1:]), motion.t[-1]]
    for change, end in zip(motion.modes, ends, strict=True):
        if change.contact == "lower" and change.mode != "open":
            shade = 0.3 if change.mode == "sticks" else 0.12
            left.axvspan(change.time, end, color="black", alpha=shade, linewidth=0)
    for when, name in motion.impacts:
        if name == "beak":
            left.plot([when], [0.12], "v", color="black", markersize=5)
    left.set(title="Woodpecker toy", xlabel="t (s)", ylabel="angle (rad)")
    left.legend(loc="lower right")
    motion = eulers_disk()
    tilt = np.arcsin(motion["disk_z"] / RADIUS)
    right.plot(motion.t, tilt / tilt[0], label="tilt")
    right.plot(motion.t, motion.energy / motion.energy[0], label="energy")
    right.plot(motion.t, np.sqrt(np.sin(tilt[0]) / np.sin(tilt)), label="steady precession")
    right.set(title="Euler's disk", xlabel="t (s)", ylabel="relative to the start", ylim=(0, 1.6))
    right.legend(loc="upper left")
    still("contact.png", picture)


def contact_arrows() -> None:
    """A ball with back-spin that slides and then rolls, with the force of its contact."""
    x, y, turn = da.coordinates("x y turn")
    r, draw = 0.1, da.draw
    ball = da.System(
        [x, y, turn],
        kinetic=(x.dot**2 + y.dot**2 + 2 * r**2 / 5 * turn.dot**2) / 2,
        potential=GRAVITY * y,
        constraints=[
            da.unilateral(y >= r, friction=0.3, tangent=x.dot + r * turn.dot, name="floor")
        ],
        drawing=draw.drawing(
            draw.ground((-0.25, 0), (1.15, 0)),
            draw.wheel((x, y), r, turn, spokes=3),
            draw.reaction("floor", (x, 0), directions=[(0, 1), (1, 0)]),
            draw.velocity((x, y), color="link"),
            limits=((-0.25, 1.15), (-0.06, 0.36)),
        ),
        name="Ball with back-spin",
    )
    motion = da.simulate(ball, {y: r, x.dot: 2.0, turn.dot: 10.0}, (0, 0.6))
    still("contact_arrows.png", motion.animate(duration=4).overlay(poses=5))


def woodpecker() -> da.Motion:
    """The model of Glocker and Pfeiffer with numbers of Leine, van Campen and Glocker (2003)."""
    y, sleeve, bird = da.coordinates("y sleeve bird")
    light, heavy = 0.0003, 0.0045
    pole, hole, half, arm, reach, beak, long = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201
    speed = y.dot + arm * sleeve.dot + reach * bird.dot
    kinetic = light * y.dot**2 + 5e-9 * sleeve.dot**2 + heavy * speed**2 + 7e-7 * bird.dot**2
    weight = GRAVITY * (light * y + heavy * (y + arm * sleeve + reach * bird))
    across = y.dot + hole * sleeve.dot
    pecks = y.dot + arm * sleeve.dot + (reach - long) * bird.dot

    def touch(gap: Any, tangent: Any, bounce: float, name: str) -> Any:
        return da.unilateral(gap >= 0, bounce, name, friction=0.3, tangent=tangent)

    toy = da.System(
        [y, sleeve, bird],
        kinetic=kinetic / 2,
        potential=weight + 0.0056 * (sleeve - bird) ** 2 / 2,
        constraints=[
            touch(arm + reach - long - pole - beak * bird, pecks, 0.5, "beak"),
            touch(hole - pole + half * sleeve, across, 0.0, "lower"),
            touch(hole - pole - half * sleeve, across, 0.0, "upper"),
        ],
    )
    start = {sleeve: -(hole - pole) / half, bird: -0.2788, y.dot: -0.3411, bird.dot: -7.4583}
    return da.simulate(toy, start, (0, 0.45))


RADIUS = 0.0375


def eulers_disk() -> da.Motion:
    """A disk that rolls in place, with resistance to rolling, from a tilt of 0.3."""
    b, tilt, mass = da.bodies, 0.3, 0.4
    moment = mass * RADIUS**2 / 4
    disk = b.Body("disk", mass=mass, inertia=(moment, moment, 2 * moment))
    ground = b.ground()
    edge = b.disk(RADIUS, axis="z")
    rolls = b.rolling("contact", disk, edge, ground, friction=0.5, rolling_friction=4e-4)
    joints = [b.free("disk", ground, disk), rolls]
    system = b.Mechanism(joints, gravity=(0, 0, -GRAVITY)).system()
    spin = math.sqrt(4 * GRAVITY * math.sin(tilt) / RADIUS)
    w, x = math.cos(tilt / 2), math.sin(tilt / 2)
    start = {"disk_z": RADIUS * math.sin(tilt), "disk_qw": w, "disk_qx": x}
    start |= {"disk_qy_dot": w * spin / 2, "disk_qz_dot": x * spin / 2}
    return da.simulate(system, start, (0, 1.5))
