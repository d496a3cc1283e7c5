"""W7: contact with friction beside MuJoCo and Drake, as they come: error and processor time.

``python benchmarks/w7_contact.py [CASE ...]`` runs the cases in one process and prints a line for
each entry: a block on an incline, a ball with back-spin, a stack of ten boxes, 100 spheres in a
box. An incline is a level floor with tilted gravity. Ours takes `method="moreau"` with the step of
MuJoCo, 2 ms. Boxes of Drake touch with small balls at their lower corners, because its point
contact has one point for a pair of shapes.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

G = 9.81
STEP = 2e-3


@dataclass(frozen=True)
class Solid:
    """A ball of a radius, or a cube of half a side, with a place and a motion."""

    kind: str
    size: float
    mass: float
    place: tuple[float, float, float]
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def inertia(self) -> float:
        """The moment about its middle."""
        factor = 0.4 if self.kind == "ball" else 2.0 / 3.0
        return factor * self.mass * self.size**2


@dataclass(frozen=True)
class Scene:
    """Solids on a floor, with walls of this width, friction, gravity, and a time."""

    solids: tuple[Solid, ...]
    friction: float
    until: float
    gravity: tuple[float, float, float] = (0.0, 0.0, -G)
    width: float = 0.0

    @property
    def walls(self) -> list[tuple[tuple[float, float, float], tuple[float, float, float]]]:
        """Middles and half sides of the walls."""
        if not self.width:
            return []
        half = self.width / 2
        return [
            (
                (x * (half + 0.05), y * (half + 0.05), 1.0),
                (0.05 if x else half + 0.1, 0.05 if y else half + 0.1, 1.0),
            )
            for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
        ]


@dataclass(frozen=True)
class Found:
    """Places (times, solids, 3) at some times, velocities at the end, and seconds of steps."""

    places: Any
    velocities: Any
    seconds: float
    note: str = ""


def dalembert(scene: Scene, times: Any) -> Found:
    import dalembert as da

    b = da.bodies
    shapes = {"ball": b.ball, "box": lambda half: b.box((2 * half,) * 3)}
    bodies = [
        b.Body(f"s{k}", s.mass, inertia=(s.inertia,) * 3, shapes=[shapes[s.kind](s.size)])
        for k, s in enumerate(scene.solids)
    ]
    walls = [b.box([2 * x for x in half], at=at) for at, half in scene.walls]
    ground = b.ground([b.half_space(), *walls])
    heap = b.contacts("heap", [ground, *bodies], friction=scene.friction)
    joints = [b.free(body.name, ground, body) for body in bodies]
    mechanism = b.Mechanism([*joints, heap], gravity=scene.gravity)
    given: dict[str, Any] = {}
    for k, s in enumerate(scene.solids):
        given |= {f"s{k}_{c}": x for c, x in zip("xyz", s.place, strict=True)}
        given[f"s{k}_dot"] = b.twist(spin=s.spin, velocity=s.velocity)
    start, system = mechanism.start(given), mechanism.system()
    da.simulate(system, start, (0, STEP), method="moreau", step=STEP)  # compiles
    began = time.process_time()
    motion = da.simulate(
        system, start, (0, scene.until), method="moreau", step=STEP, at=times, every=10**6
    )
    seconds = time.process_time() - began
    every = range(len(bodies))
    places = np.array([[motion[f"s{k}_{c}"] for c in "xyz"] for k in every])
    speeds = np.array([[motion[f"s{k}_{c}_dot"][-1] for c in "xyz"] for k in every])
    return Found(places.transpose(2, 0, 1), speeds, seconds, motion.message)


def mjcf(scene: Scene, corners: bool) -> str:
    """The scene for MuJoCo and Drake."""
    mu = f'friction="{scene.friction} 0 0"'
    parts = [f'<geom name="floor" type="plane" size="50 50 1" {mu}/>']
    for at, half in scene.walls:
        pos, size = " ".join(map(repr, at)), " ".join(map(repr, half))
        parts.append(f'<geom type="box" pos="{pos}" size="{size}" {mu}/>')
    for k, s in enumerate(scene.solids):
        h, r = s.size, 1e-4
        geoms = f'<geom type="sphere" size="{h}" {mu}/>'
        if s.kind == "box":
            geoms = f'<geom type="box" size="{h} {h} {h}" {mu}/>'
            if corners:
                geoms += "".join(
                    f'<geom type="sphere" size="{r}" {mu}'
                    f' pos="{a * (h - r)} {c * (h - r)} {r - h}"/>'
                    for a in (-1, 1)
                    for c in (-1, 1)
                )
        parts.append(
            f'<body name="s{k}"><freejoint/><inertial pos="0 0 0" mass="{s.mass}"'
            f' diaginertia="{s.inertia} {s.inertia} {s.inertia}"/>{geoms}</body>'
        )
    pull = " ".join(map(repr, scene.gravity))
    body = "".join(parts)
    return f'<mujoco><option gravity="{pull}"/><worldbody>{body}</worldbody></mujoco>'


def mujoco(scene: Scene, times: Any) -> Found:
    import mujoco as mj

    model = mj.MjModel.from_xml_string(mjcf(scene, corners=False))
    data = mj.MjData(model)
    for k, s in enumerate(scene.solids):
        data.qpos[7 * k : 7 * k + 7] = [*s.place, 1, 0, 0, 0]
        data.qvel[6 * k : 6 * k + 6] = [*s.velocity, *s.spin]
    places, seconds = [], 0.0
    for until in times:
        began = time.process_time()
        while data.time < until - STEP / 2:
            mj.mj_step(model, data)
        seconds += time.process_time() - began
        places.append(data.qpos.reshape(-1, 7)[:, :3].copy())
    return Found(np.array(places), data.qvel.reshape(-1, 6)[:, :3].copy(), seconds)


def drake(scene: Scene, times: Any) -> Found:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import AddMultibodyPlant, MultibodyPlantConfig
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    config = MultibodyPlantConfig(time_step=1e-3, contact_model="point")
    plant, _ = AddMultibodyPlant(config, builder)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "scene.xml"
        file.write_text(mjcf(scene, corners=True), encoding="utf-8")
        Parser(plant).AddModels(str(file))
    plant.Finalize()
    simulator = Simulator(builder.Build())
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    bodies = [plant.GetBodyByName(f"s{k}") for k in range(len(scene.solids))]
    _place(plant, context, bodies, scene)
    places, seconds = [], 0.0
    for until in times:
        began = time.process_time()
        simulator.AdvanceTo(until)
        seconds += time.process_time() - began
        places.append([plant.EvalBodyPoseInWorld(context, x).translation() for x in bodies])
    speeds = [plant.EvalBodySpatialVelocityInWorld(context, x).translational() for x in bodies]
    return Found(np.array(places), np.array(speeds), seconds)


def _place(plant: Any, context: Any, bodies: list[Any], scene: Scene) -> None:
    from pydrake.math import RigidTransform
    from pydrake.multibody.math import SpatialVelocity

    for body, s in zip(bodies, scene.solids, strict=True):
        plant.SetFreeBodyPose(context, body, RigidTransform(np.array(s.place)))
        twist = SpatialVelocity(np.array(s.spin), np.array(s.velocity))
        plant.SetFreeBodySpatialVelocity(context, body, twist)


ENTRIES: dict[str, Callable[[Scene, Any], Found]] = {
    "dalembert": dalembert,
    "mujoco": mujoco,
    "drake": drake,
}


def incline(run: Callable[[Scene, Any], Found]) -> tuple[str, Found]:
    """A block on an incline of 20 degrees, friction 0.2: how far it slides in 2 s."""
    angle, mu = math.radians(20), 0.2
    pull = (G * math.sin(angle), 0.0, -G * math.cos(angle))
    found = run(Scene((Solid("box", 0.1, 1.0, (0, 0, 0.1)),), mu, 2.0, pull), np.array([2.0]))
    exact = 2 * G * (math.sin(angle) - mu * math.cos(angle))
    return f"error {abs(found.places[-1, 0, 0] - exact):.2g} m of {exact:.3g}", found


def backspin(run: Callable[[Scene, Any], Found]) -> tuple[str, Found]:
    """A ball thrown with back-spin: its speed when it rolls."""
    solid = Solid("ball", 0.1, 1.0, (0, 0, 0.1), (2.0, 0, 0), (0, -10.0, 0))
    found = run(Scene((solid,), 0.3, 2.0), np.array([2.0]))
    return f"error {abs(found.velocities[0, 0] - 8 / 7):.2g} m/s", found


def stack(run: Callable[[Scene, Any], Found]) -> tuple[str, Found]:
    """Ten boxes at rest for 10 s."""
    boxes = tuple(Solid("box", 0.05, 1.0, (0, 0, 0.05 + 0.1 * k)) for k in range(10))
    found = run(Scene(boxes, 0.5, 10.0), np.array([10.0]))
    drift = np.hypot(*found.places[-1].T[:2]).max()
    return f"sideways {drift:.2g} m, top sinks {0.95 - found.places[-1, 9, 2]:.2g} m", found


def spheres(run: Callable[[Scene, Any], Found], until: float = 3.0) -> tuple[str, Found]:
    """100 spheres that fall into a box: the deepest penetration in 3 s."""
    rng, r = np.random.default_rng(1), 0.05
    grid = [(0.12 * (a - 1.5), 0.12 * (b - 1.5), 0.1 + 0.12 * c)
            for c in range(7) for a in range(4) for b in range(4)][:100]  # fmt: skip
    solids = [
        Solid("ball", r, 0.5, tuple(np.array(g) + rng.uniform(-0.005, 0.005, 3))) for g in grid
    ]
    times = np.round(np.arange(0.1, until + 0.01, 0.1), 6)
    found = run(Scene(tuple(solids), 0.5, until, width=0.5), times)
    deepest = 0.0
    for places in found.places:
        apart = np.linalg.norm(places[:, None] - places[None], axis=2) + 10 * np.eye(100)
        wall = np.abs(places[:, :2]).max() + r - 0.25
        deepest = max(deepest, 2 * r - apart.min(), r - places[:, 2].min(), wall)
    return f"deepest {deepest:.2g} m, {found.seconds / until:.2f} s a simulated second", found


CASES = {case.__name__: case for case in (incline, backspin, stack, spheres)}


def main() -> None:
    """Run cases and entries that are named, or all."""
    cases = [name for name in sys.argv[1:] if name in CASES] or list(CASES)
    entries = [name for name in sys.argv[1:] if name in ENTRIES] or list(ENTRIES)
    for case in cases:
        for entry in entries:
            said, found = CASES[case](ENTRIES[entry])
            print(
                f"W7, {case}, {entry}, {said}, cpu {found.seconds:.3g} s {found.note}", flush=True
            )


if __name__ == "__main__":
    main()
