"""The robots of W6: files that every entry reads, a state of each, and exact accelerations.

Chains, trees, a quadruped and a humanoid are generated. Public robots are read from the folder that
the variable BENCH_ROBOTS names, where there is one: UR5, Panda, Solo12 and Talos as ``ur5.urdf``,
``panda.urdf``, ``solo12.urdf``, ``talos_full.urdf``, without shapes, damping and mimics.
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np

GRAVITY = 9.81
FREE = ("quadruped", "humanoid", "solo12", "talos_full")
MOVING = ("revolute", "continuous", "prismatic")


def parents_of(name: str) -> list[int]:
    """The parent of each link 1, 2, ..., where 0 is the base."""
    if name == "quadruped":
        return [0, 1, 2, 0, 4, 5, 0, 7, 8, 0, 10, 11]
    if name == "humanoid":  # four limbs of eleven joints, a neck of two
        limbs = [limb for first in (1, 12, 23, 34) for limb in (0, *range(first, first + 10))]
        return [*limbs[:44], 0, 45]
    size = int(name.removeprefix("chain").removeprefix("tree"))
    return list(range(size)) if name.startswith("chain") else [k // 2 for k in range(1, size + 1)]


def written(name: str) -> str:
    """A generated robot: rods of 0.3 m that turn about x, y and z in turn."""
    root = ET.Element("robot", name=name)
    base = ET.SubElement(root, "link", name="link0")
    if name in FREE:
        _inertial(base, "8.0", "0.2", "0.25", "0.1")
    for number, parent in enumerate(parents_of(name), start=1):
        _inertial(
            ET.SubElement(root, "link", name=f"link{number}"), "1.0", "0.01", "0.012", "0.003"
        )
        # not "continuous": Pinocchio would be given cosines and sines that others have to find
        joint = ET.SubElement(root, "joint", name=f"joint{number}", type="revolute")
        ET.SubElement(joint, "limit", lower="-9", upper="9", effort="1e6", velocity="1e6")
        turn = number % 3
        angles = " ".join(repr(factor * turn) for factor in (0.3, -0.2, 0.1))
        ET.SubElement(joint, "origin", xyz="0 0 0" if parent == 0 else "0 0 0.3", rpy=angles)
        ET.SubElement(joint, "parent", link=f"link{parent}")
        ET.SubElement(joint, "child", link=f"link{number}")
        ET.SubElement(joint, "axis", xyz=("1 0 0", "0 1 0", "0 0 1")[turn])
    return ET.tostring(root, encoding="unicode")


def _inertial(link: ET.Element, mass: str, xx: str, yy: str, zz: str) -> None:
    inertial = ET.SubElement(link, "inertial")
    ET.SubElement(inertial, "origin", xyz="0 0 0.15", rpy="0 0 0")
    ET.SubElement(inertial, "mass", value=mass)
    ET.SubElement(inertial, "inertia", ixx=xx, iyy=yy, izz=zz, ixy="0", ixz="0", iyz="0")


@dataclass(frozen=True)
class Task:
    """A robot file and a state of it: joints by name; a free base in space axes."""

    path: Path
    root: str
    free: bool
    joints: tuple[str, ...]
    q: np.ndarray
    v: np.ndarray
    position: np.ndarray
    quaternion: np.ndarray  # w, x, y, z
    spin: np.ndarray
    velocity: np.ndarray

    @property
    def turned(self) -> np.ndarray:
        """The rotation matrix of the base."""
        return turn_of(self.quaternion)


def turn_of(quaternion: np.ndarray) -> np.ndarray:
    w, x, y, z = quaternion
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + 2 * w * skew + 2 * skew @ skew


def task_of(name: str, folder: Path) -> Task:
    """The file of a robot, written into a folder where it is generated."""
    path = folder / f"{name}.urdf"
    if name.startswith(("chain", "tree", "quadruped", "humanoid")):
        path.write_text(written(name))
    else:
        source = Path(os.environ.get("BENCH_ROBOTS", "none")) / f"{name}.urdf"
        if not source.exists():
            raise SystemExit(f"{name}.urdf is not installed: name its folder by BENCH_ROBOTS")
        path.write_text(source.read_text())
    root = ET.parse(path).getroot()
    joints = tuple(j.get("name", "") for j in root.iter("joint") if j.get("type") in MOVING)
    rng = np.random.default_rng(len(joints))
    q, v = rng.uniform(-1, 1, len(joints)), rng.uniform(-1, 1, len(joints))
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    children = {_end(joint, "child") for joint in root.iter("joint")}
    base = next(
        link.get("name", "") for link in root.iter("link") if link.get("name") not in children
    )
    return Task(path, base, name in FREE, joints, q, v, rng.uniform(-1, 1, 3), quaternion,
                rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3))  # fmt: skip


# -- an independent answer: recursive Newton-Euler equations in space axes ------------------------


def exact(task: Task) -> np.ndarray:
    """The accelerations of the joints without efforts, (n,), refined in long double."""
    robot = _Robot(task)
    n = len(task.joints) + 6 * task.free
    found = np.zeros(n, dtype=np.longdouble)
    bias = robot.forces(found)
    columns = [robot.forces(column) - bias for column in np.eye(n, dtype=np.longdouble)]
    matrix = np.array(columns, dtype=float).T
    for _ in range(6):
        found -= np.linalg.solve(matrix, robot.forces(found).astype(float))
    return (found[6:] if task.free else found).astype(float)


class _Robot:
    """Poses and velocities of all links, and the generalised forces of given accelerations."""

    def __init__(self, task: Task) -> None:
        root = ET.parse(task.path).getroot()
        self.task = task
        self.links = {link.get("name"): link for link in root.iter("link")}
        self.above = {_end(joint, "child"): joint for joint in root.iter("joint")}
        self.places = {name: k for k, name in enumerate(task.joints)}
        self.order: list[str] = []
        for name in self.links:
            self._list(name)

    def _list(self, name: str) -> None:
        if name in self.order:
            return
        if name in self.above:
            self._list(_end(self.above[name], "parent"))
        self.order.append(name)

    def forces(self, a: np.ndarray) -> np.ndarray:
        """tau = M a + h in long double; accelerations of a base: angular, then linear."""
        task, shift = self.task, 6 * self.task.free
        states: dict[str, tuple] = {}
        loads: dict[str, list[np.ndarray]] = {}
        lift = np.array([0, 0, GRAVITY], dtype=np.longdouble)
        for name in self.order:
            joint = self.above.get(name)
            if joint is None:
                zero = np.zeros(3)
                base = (np.eye(3), zero, zero, zero, zero, lift)
                if task.free:
                    base = (
                        task.turned,
                        task.position,
                        task.spin,
                        task.velocity,
                        a[:3],
                        a[3:6] + lift,
                    )
                states[name] = base
            else:
                states[name] = self._moved(joint, states[_end(joint, "parent")], a[shift:])
            loads[name] = self._load(name, states[name])
        tau = np.zeros(len(a), dtype=np.longdouble)
        for name in reversed(self.order):
            joint = self.above.get(name)
            force, torque = loads[name]
            if joint is None:
                if task.free:
                    tau[:6] = [*torque, *force]
                continue
            parent = _end(joint, "parent")
            lever = states[name][1] - states[parent][1]
            loads[parent][0] = loads[parent][0] + force
            loads[parent][1] = loads[parent][1] + torque + np.cross(lever, force)
            place = self.places.get(joint.get("name", ""))
            if place is not None:
                axis = states[name][0] @ _axis(joint)
                slides = joint.get("type") == "prismatic"
                tau[shift + place] = axis @ (force if slides else torque)
        return tau

    def _moved(self, joint: ET.Element, state: tuple, a: np.ndarray) -> tuple:
        axes, at, w, v, dw, dv = state
        offset, turned = _origin(joint)
        arm = axes @ offset
        axes = axes @ turned
        v, dv = v + np.cross(w, arm), dv + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))
        at = at + arm
        place = self.places.get(joint.get("name", ""))
        if place is None:
            return axes, at, w, v, dw, dv
        q, rate = np.longdouble(self.task.q[place]), np.longdouble(self.task.v[place])
        axis = axes @ _axis(joint)
        if joint.get("type") == "prismatic":
            arm, slide = q * axis, rate * axis
            dv = dv + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)) + 2 * np.cross(w, slide)
            return axes, at + arm, w, v + np.cross(w, arm) + slide, dw, dv + a[place] * axis
        x, y, z = _axis(joint)
        skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        axes = axes @ (np.eye(3) + np.sin(q) * skew + (1 - np.cos(q)) * skew @ skew)
        dw = dw + a[place] * axis + np.cross(w, rate * axis)
        return axes, at, w + rate * axis, v, dw, dv

    def _load(self, name: str, state: tuple) -> list[np.ndarray]:
        """Force and torque, about the origin of the link, that move it."""
        axes, _, w, _, dw, dv = state
        inertial = self.links[name].find("inertial")
        if inertial is None:
            return [np.zeros(3), np.zeros(3)]
        offset, turned = _origin(inertial)
        mass = float(inertial.find("mass").get("value"))  # type: ignore[union-attr, arg-type]
        entries = inertial.find("inertia")
        tensor = np.zeros((3, 3))
        for i, first in enumerate("xyz"):
            for j, second in enumerate("xyz"):
                key = "i" + "".join(sorted(first + second))
                tensor[i, j] = 0.0 if entries is None else float(entries.get(key, "0"))
        tensor = axes @ turned @ tensor @ turned.T @ axes.T
        arm = axes @ offset
        force = mass * (dv + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)))
        return [force, tensor @ dw + np.cross(w, tensor @ w) + np.cross(arm, force)]


def _end(joint: ET.Element, role: str) -> str:
    return joint.find(role).get("link", "")  # type: ignore[union-attr]


def _numbers(node: ET.Element | None, key: str, default: str) -> np.ndarray:
    words = (default if node is None else node.get(key, default)).split()
    return np.array([float(word) for word in words], dtype=np.longdouble)


def _axis(joint: ET.Element) -> np.ndarray:
    axis = _numbers(joint.find("axis"), "xyz", "1 0 0")
    return axis / np.linalg.norm(axis)


def _origin(node: ET.Element) -> tuple[np.ndarray, np.ndarray]:
    origin = node.find("origin")
    roll, pitch, yaw = _numbers(origin, "rpy", "0 0 0")
    turned = np.eye(3)
    for k, angle in ((2, yaw), (1, pitch), (0, roll)):
        half = np.zeros(4, dtype=np.longdouble)
        half[0], half[k + 1] = np.cos(angle / 2), np.sin(angle / 2)
        turned = turned @ turn_of(half)
    return _numbers(origin, "xyz", "0 0 0"), turned
