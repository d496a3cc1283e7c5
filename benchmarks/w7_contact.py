"""W7: contact with friction beside MuJoCo and Drake, as they come: error and processor time.

``python benchmarks/w7_contact.py ENTRY CASE`` measures one entry: the error against an exact answer
and the seconds of its steps. Cases: a block on an incline that sticks or slides, a ball with
back-spin, a billiard ball, a ball that bounces, a stack of ten boxes at rest, 100 spheres that fall
into a box, and those of `w7_exact_cases`. An incline is a level floor with tilted gravity.
`dalembert` takes `method="moreau"` with the step of MuJoCo, 2 ms; `dalembert-events` follows events
to its default tolerance. Boxes of Drake touch with small balls at their lower corners, because its
point contact has one point for a pair of shapes, and it has no coefficient of restitution.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from harness import Entry, Workload, cpu_seconds, report, serve
from w7_exact_cases import CASES as EXACT
from w7_exact_cases import jellett, measured

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
    restitution: float = 0.0

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
    """Places (times, solids, 3) at some times, velocities at the end, and seconds of steps.

    `unconverged` counts the steps whose contacts were not solved to 1e-6.
    """

    places: Any
    velocities: Any
    seconds: float
    unconverged: float = 0


Run = Callable[[Scene, Any], Found]


def our_mechanism(scene: Scene) -> tuple[Any, dict[str, Any]]:
    """The scene as a mechanism of bodies with shapes, and its start."""
    import dalembert as da

    b = da.bodies
    shapes = {"ball": b.ball, "box": lambda half: b.box((2 * half,) * 3)}
    bodies = [
        b.Body(f"s{k}", s.mass, inertia=(s.inertia,) * 3, shapes=[shapes[s.kind](s.size)])
        for k, s in enumerate(scene.solids)
    ]
    walls = [b.box([2 * x for x in half], at=at) for at, half in scene.walls]
    ground = b.ground([b.half_space(), *walls])
    law = {"friction": scene.friction, "restitution": scene.restitution}
    if len(bodies) == 1:
        touches = b.contact("floor", bodies[0], ground, **law)
    else:
        touches = b.contacts("heap", [ground, *bodies], **law)
    joints = [b.free(body.name, ground, body) for body in bodies]
    mechanism = b.Mechanism([*joints, touches], gravity=scene.gravity)
    given: dict[str, Any] = {}
    for k, s in enumerate(scene.solids):
        given |= {f"s{k}_{c}": x for c, x in zip("xyz", s.place, strict=True)}
        given[f"s{k}_dot"] = b.twist(spin=s.spin, velocity=s.velocity)
    return mechanism, given


def followed(scene: Scene, times: Any, **options: Any) -> Found:
    """The motion of the scene by our library; the first run compiles."""
    import dalembert as da

    mechanism, given = our_mechanism(scene)
    start, system = mechanism.start(given), mechanism.system()
    kept = {"every": 10**6} if options else {}
    compiles = (0, STEP) if options else (0, scene.until)
    da.simulate(system, start, compiles, **options)
    began = time.process_time()
    motion = da.simulate(system, start, (0, scene.until), at=times, **options, **kept)
    seconds = time.process_time() - began
    if not motion.success:
        raise SystemExit(motion.message)
    every = range(len(scene.solids))
    places = np.array([[motion[f"s{k}_{c}"] for c in "xyz"] for k in every])
    speeds = np.array([[motion[f"s{k}_{c}_dot"][-1] for c in "xyz"] for k in every])
    steps = motion.statistics.get("unconverged_steps", 0)
    return Found(places.transpose(2, 0, 1), speeds, seconds, steps)


def dalembert(scene: Scene, times: Any) -> Found:
    return followed(scene, times, method="moreau", step=STEP)


def mjcf(scene: Scene, corners: bool) -> str:
    """The scene for MuJoCo and Drake."""
    mu = f'friction="{scene.friction} 0 0"'
    if scene.restitution:
        # An elastic contact of MuJoCo: stiffness and damping of an oscillator that loses as much.
        stiff, lost = 1e5, -math.log(scene.restitution)
        damping = 2 * lost * math.sqrt(stiff) / math.hypot(math.pi, lost)
        mu += f' solref="{-stiff} {-damping}" solimp="0.99 0.99 0.001"'
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
    return f'<mujoco model="scene"><option gravity="{pull}"/><worldbody>{body}</worldbody></mujoco>'


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


def incline(run: Run, mu: float, until: float) -> tuple[float, Found]:
    """A block on an incline of 20 degrees: how far it slides, in metres."""
    angle = math.radians(20)
    pull = (G * math.sin(angle), 0.0, -G * math.cos(angle))
    scene = Scene((Solid("box", 0.1, 1.0, (0, 0, 0.1)),), mu, until, pull)
    found = run(scene, np.array([until]))
    gained = 0.5 * G * until**2 * (math.sin(angle) - mu * math.cos(angle))
    return abs(float(found.places[-1, 0, 0]) - max(gained, 0.0)), found


def stick(run: Run) -> tuple[float, Found]:
    return incline(run, 0.5, 10.0)


def slide(run: Run) -> tuple[float, Found]:
    return incline(run, 0.2, 2.0)


def backspin(run: Run) -> tuple[float, Found]:
    """A ball thrown with back-spin: its speed when it rolls, in m/s."""
    solid = Solid("ball", 0.1, 1.0, (0, 0, 0.1), (2.0, 0, 0), (0, -10.0, 0))
    found = run(Scene((solid,), 0.3, 2.0), np.array([2.0]))
    return abs(float(found.velocities[0, 0]) - 8 / 7), found


def billiard(run: Run) -> tuple[float, Found]:
    """A ball that slides across a table with spin, on a parabola, and rolls: its place at 2 s."""
    start, slip = np.array([1.0, 0.3]), np.array([2.2, 1.1])
    solid = Solid("ball", 0.1, 1.0, (0, 0, 0.1), (1.0, 0.3, 0), (8.0, -12.0, 0))
    found = run(Scene((solid,), 0.2, 2.0), np.array([2.0]))
    size, push = float(np.linalg.norm(slip)), 0.2 * G
    when, way = 2 * size / (7 * push), slip / size
    end = start - push * when * way
    place = start * when - push * way * when**2 / 2 + end * (2.0 - when)
    return float(np.linalg.norm(found.places[-1, 0, :2] - place)), found


def bounce(run: Run) -> tuple[float, Found]:
    """A ball with restitution 0.8 that falls 1 m: its height at 2 s, after three impacts."""
    scene = Scene((Solid("ball", 0.1, 1.0, (0, 0, 1.1)),), 0.5, 2.0, restitution=0.8)
    found = run(scene, np.array([2.0]))
    speed = math.sqrt(2 * G)
    rest = 2.0 - speed / G
    while rest > 2 * 0.8 * speed / G:
        speed *= 0.8
        rest -= 2 * speed / G
    height = 0.8 * speed * rest - 0.5 * G * rest**2
    return abs(float(found.places[-1, 0, 2]) - 0.1 - height), found


def stack(run: Run) -> tuple[float, Found]:
    """Ten boxes at rest for 10 s: how far one of them moves, in metres."""
    boxes = tuple(Solid("box", 0.05, 1.0, (0, 0, 0.05 + 0.1 * k)) for k in range(10))
    found = run(Scene(boxes, 0.5, 10.0), np.array([10.0]))
    moved = found.places[-1] - np.array([solid.place for solid in boxes])
    return float(np.linalg.norm(moved, axis=1).max()), found


def spheres(run: Run, until: float = 1.0) -> tuple[float, Found]:
    """100 spheres that fall into a box: the deepest penetration, in metres."""
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
    return float(deepest), found


SCENES = "bodies with shapes"
OURS = ("sympy", "dalembert.integrate.simulate", "dalembert.bodies")
CASES = {case.__name__: case for case in (slide, stick, backspin, billiard, bounce, stack, spheres)}
SIZES = (*tuple(CASES)[:-2], *EXACT, "tippetop", "stack", "spheres")
#: Time steps have Moreau's law of impact.
WITHOUT_STEPS = ("cradle_newton", "cradle_poisson")
#: Stacks and heaps depend on more than two directions: they are for time steps. A block on an
#: incline is one with four corners.
WITHOUT_EVENTS = ("slide", "stick", "stack", "spheres")


def _without(left: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(size for size in SIZES if size not in left)


WORKLOAD = Workload(
    key="W7",
    title="Contact with friction: error and seconds of the steps",
    script="w7_contact.py",
    entries=(
        Entry("dalembert", SCENES, dalembert, OURS, sizes=_without(WITHOUT_STEPS)),
        Entry("dalembert-events", SCENES, followed, OURS, sizes=_without(WITHOUT_EVENTS)),
        Entry("mujoco", SCENES, mujoco, ("mujoco",)),
        Entry("drake", SCENES, drake, ("pydrake.multibody.plant",)),
    ),
    sizes=SIZES,
    quick_sizes=("slide", "backspin"),
    label="",
    by_size=("final_error", "integrate_s"),
    shown_size="spheres",
    by_metric=("final_error", "integrate_s", "unconverged_steps", "script_s"),
)


def measure(entry: Entry, size: str) -> None:
    name, unconverged = WORKLOAD.row_name(size), 0.0
    if size in CASES:
        error, found = CASES[size](entry.build)
        seconds, unconverged = found.seconds, found.unconverged
    elif size == "tippetop":
        error, seconds = jellett(entry.name)
    else:
        error, seconds = measured(EXACT[size](), entry.name)
    report(name, entry.name, "final_error", error, error)
    report(name, entry.name, "integrate_s", seconds, error)
    report(name, entry.name, "unconverged_steps", unconverged, error)
    report(name, entry.name, "script_s", cpu_seconds(), error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
