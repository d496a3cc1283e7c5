"""Random mechanisms: trees of all joints, with loops closed by rods, springs and masses of any
size, in joint and in maximal coordinates, beside Newton and Euler's recursion, and along motions.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import dalembert as da
import newton_euler
from dalembert import bodies as b
from dalembert.errors import DalembertError, StartError

from .comparisons import Found, look_at_cases
from .harness import Options, Report
from .random_worker import TooLongError, time_limit

__all__ = ["Specimen", "look", "run", "specimen"]

SYSTEMS = 1000
SECONDS = 120.0
#: Accelerations may differ by this between coordinates, relative to the largest of a body, times
#: the ratio of the masses: a light body on a heavy one is that much worse to solve for.
LIMIT = 1e-10
#: Energy and momentum along a motion, relative to their largest terms, and what a loop may open.
KEPT, OPEN = 1e-7, 1e-9
KINDS: dict[str, dict[str, Any]] = {
    "revolute": {"axis": (1, 2, 2)},
    "prismatic": {"axis": (2, 1, 2)},
    "screw": {"axis": "y", "lead": 0.3},
    "cylindrical": {"axis": "x"},
    "universal": {"axes": ("z", "x")},
    "planar": {},
    "spherical": {},
    "free": {},
    "weld": {},
}
GRAVITY = (0.3, -0.5, -9.81)


@dataclass(frozen=True)
class Specimen:
    """A mechanism and its start; `links` where it is a tree that Newton and Euler's recursion
    takes, `floats` where no force acts from outside.
    """

    mechanism: b.Mechanism
    start: Mapping[str, float]
    ratio: float
    links: Any = None
    floats: bool = False
    loops: int = 0


def run(options: Options, report: Report) -> None:
    """Looks at mechanisms until the time is over or all of them are done."""
    look_at_cases(options, report, look, SYSTEMS, "mechanism")


def specimen(number: int) -> Specimen:
    """A random mechanism; every third is a tree of joints with one coordinate."""
    rng = np.random.default_rng([28, number])
    return _simple_tree(rng) if number % 3 == 0 else _general(rng, floats=number % 3 == 2)


def _scales(rng: np.random.Generator, count: int) -> tuple[Any, float]:
    """Factors of masses, and the ratio of the largest to the smallest."""
    sizes = 10 ** rng.uniform(-1, 1, count) if rng.random() < 0.5 else np.ones(count)
    sizes *= 10 ** rng.uniform(-6, 6)
    return sizes, float(sizes.max() / sizes.min())


def _simple_tree(rng: np.random.Generator) -> Specimen:
    links = newton_euler.random_tree(rng, int(rng.integers(1, 6)))
    sizes, ratio = _scales(rng, len(links))
    made, joints = [], []
    for k, (link, size) in enumerate(zip(links, sizes, strict=True)):
        link.mass, link.inertia = link.mass * size, link.inertia * size
        made.append(b.Body(f"b{k}", mass=link.mass, com=link.com, inertia=link.inertia))
        parent = b.ground() if link.parent < 0 else made[link.parent]
        extra = {"lead": 2 * np.pi * link.lead} if link.kind == "screw" else {}
        frame = parent.frame(link.offset, link.turned)
        joints.append(
            getattr(b, link.kind)(f"q{k}", frame, made[k], axis=tuple(link.axis), **extra)
        )
    names = [joint.coordinates[0].name for joint in joints]
    start = {name: float(rng.uniform(-1, 1)) for name in names}
    start |= {f"{name}_dot": float(rng.uniform(-2, 2)) for name in names}
    return Specimen(b.Mechanism(joints, gravity=GRAVITY), start, ratio, links)


def _general(rng: np.random.Generator, floats: bool) -> Specimen:
    """Joints of all kinds; rods close loops between places that are apart, and springs act."""
    count = int(rng.integers(2, 5))
    sizes, ratio = _scales(rng, count)
    made, joints = [], []
    for k, size in enumerate(sizes):
        second = rng.uniform(0.01, 0.1, 3) * size
        body = b.Body(
            f"b{k}",
            mass=float(size * rng.uniform(0.5, 2)),
            com=tuple(rng.uniform(-0.3, 0.3, 3)),
            inertia=tuple(second.sum() - second),
            inertia_axes=_rotation(rng),
        )
        kind = "free" if floats and not k else str(rng.choice(list(KINDS)[: 7 + 2 * (k > 0)]))
        parent = b.ground() if not k else made[int(rng.integers(k))]
        frame = parent.frame(tuple(rng.uniform(-0.5, 0.5, 3)), _rotation(rng))
        joints.append(getattr(b, kind)(f"q{k}", frame, body, **KINDS[kind]))
        made.append(body)
    gravity = (0, 0, 0) if floats else GRAVITY
    tree = b.Mechanism(joints, gravity=gravity)
    start = _start(rng, joints)
    model = b.BodyModel(tree)
    places = [body.point(tuple(rng.uniform(-0.5, 0.5, 3))) for body in made]
    if not floats:
        places.append(b.ground().point((0.1, 0.9, 0.4)))
    where = [
        model.pose(place, model.array(_coordinates_of(tree, start))).position for place in places
    ]
    elements: list[Any] = []
    for k in range(int(rng.integers(0, 3))):
        i, j = rng.choice(len(places), 2, replace=False)
        apart = float(np.linalg.norm(where[i] - where[j]))
        if apart > 0.2 and len(model.names) > 2 + k:
            elements.append(b.distance(f"rod{k}", places[i], places[j], apart))
    loops = len(elements)
    if rng.random() < 0.5:
        i, j = rng.choice(len(places), 2, replace=False)
        elements.append(b.spring("s", places[i], places[j], float(30 * sizes.max()), 0.3))
    return Specimen(
        b.Mechanism(joints, elements, gravity=gravity), start, ratio, None, floats, loops
    )


def _rotation(rng: np.random.Generator) -> Any:
    return Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()


def _start(rng: np.random.Generator, joints: list[Any]) -> dict[str, Any]:
    """Coordinates and velocities; rotations and twists of free and spherical joints."""
    start: dict[str, Any] = {}
    for joint in joints:
        names = [q.name for q in joint.coordinates]
        if any(name.endswith("_qw") for name in names):
            start[joint.name] = b.angles("zyx", *map(float, rng.uniform(-0.8, 0.8, 3)))
            start[f"{joint.name}_dot"] = b.twist(spin=tuple(rng.uniform(-1, 1, 3)))
            names = [name for name in names if not name.split("_")[-1].startswith("q")]
        for name in names:
            start[name] = float(rng.uniform(-0.8, 0.8))
    return start


def _coordinates_of(mechanism: b.Mechanism, start: Mapping[str, Any]) -> dict[str, float]:
    given = mechanism.start(start)
    return {name: value for name, value in given.items() if not name.endswith("_dot")}


def look(number: int) -> Found:
    """One mechanism: in other coordinates, beside an independent recursion, and along a motion."""
    found = Found()
    try:
        with time_limit(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _compare(specimen(number), found)
    except TooLongError:
        found.counts["not compared: too long"] += 1
    except DalembertError as error:
        found.counts[f"refused: {type(error).__name__}"] += 1
        if not isinstance(error, StartError):
            found.faults.append(f"refused by {type(error).__name__}: {error}")
    except Exception as error:
        found.faults.append(f"{type(error).__name__}: {error}")
    return found


def _compare(one: Specimen, found: Found) -> None:
    limit = LIMIT * one.ratio
    found.counts["loops"] += one.loops
    apart = b.agreement(one.mechanism, one.start)
    found.note("joint and maximal coordinates", apart, limit)
    system = one.mechanism.system()
    if one.links is not None:
        kernel = da.derive(system, "lagrange").compile()
        q, v = (
            np.array([one.start[f"{c.name}{end}"] for c in system.coordinates])
            for end in ("", "_dot")
        )
        ours = kernel.rates(0.0, np.array([*q, *v]))[len(q) :]
        theirs, *_ = newton_euler.accelerations(one.links, q, v, GRAVITY)
        scale = max(1.0, float(np.abs(theirs).max()))
        found.note("Newton and Euler", float(np.abs(ours - theirs).max()) / scale, limit)
    motion = da.simulate(
        system, one.mechanism.start(one.start), (0, 0.2), rtol=1e-10, max_steps=20_000
    )
    if not motion.success:
        found.counts[f"motion: {motion.outcome.value}"] += 1
        return
    model = b.BodyModel(one.mechanism)
    q, v = (
        np.array([motion[s.name] for s in symbols]).T
        for symbols in (system.coordinates, system.velocities)
    )
    energy = np.asarray(motion.energy)
    size = max(float(np.abs(motion["kinetic"]).max()), float(np.ptp(motion["kinetic"])))
    found.note("energy", float(np.abs(energy - energy[0]).max()) / size, KEPT)
    if one.loops:
        found.note("loop", motion.worst_residual["position"], OPEN)
    if one.floats:
        momentum = model.momentum(q, v)
        scales = np.array([np.abs(part).max() for part in np.split(momentum, 2, axis=1)])
        change = np.abs(momentum - momentum[0]).max(axis=0)
        gap = float((change / np.repeat(scales, 3)).max())
        found.note("momentum", gap, KEPT)
