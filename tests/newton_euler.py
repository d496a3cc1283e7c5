"""Newton-Euler recursion in NumPy, in space, without anything of the library's own mechanics.

A tree is a list of links, parents first. Each link says on which one it hangs, where its joint is
(offset and rotation in the parent), what the joint does, and its mass, centre of mass and inertia.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation


@dataclass
class Link:
    """`kind` is "revolute", "prismatic" or "screw" with a `lead` per radian."""

    parent: int
    kind: str
    offset: np.ndarray
    turned: np.ndarray
    axis: np.ndarray
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    lead: float = 0.0


def inverse_dynamics(links, q, qd, qdd, gravity):
    """Generalised forces that give the accelerations `qdd`, by the recursive algorithm."""
    count = len(links)
    frames, moves = [], []
    for k, link in enumerate(links):
        if link.parent < 0:
            R, p = np.eye(3), np.zeros(3)
            w, a, v, acc = np.zeros(3), np.zeros(3), np.zeros(3), -np.asarray(gravity, dtype=float)
        else:
            (R, p), (w, a, v, acc) = frames[link.parent], moves[link.parent]
        p_joint = p + R @ link.offset
        r = p_joint - p
        v, acc = v + np.cross(w, r), acc + np.cross(a, r) + np.cross(w, np.cross(w, r))
        R = R @ link.turned
        axis = R @ link.axis
        slide = {"revolute": 0.0, "prismatic": 1.0, "screw": link.lead}[link.kind]
        turn = 0.0 if link.kind == "prismatic" else 1.0
        d = axis * slide * q[k]
        acc = (
            acc
            + np.cross(a, d)
            + np.cross(w, np.cross(w, d))
            + 2 * np.cross(w, axis * slide * qd[k])
            + axis * slide * qdd[k]
        )
        v = v + np.cross(w, d) + axis * slide * qd[k]
        a = a + np.cross(w, axis * turn * qd[k]) + axis * turn * qdd[k]
        w = w + axis * turn * qd[k]
        R = R @ Rotation.from_rotvec(link.axis * turn * q[k]).as_matrix()
        frames.append((R, p_joint + d))
        moves.append((w, a, v, acc))
    forces = [np.zeros(3) for _ in links]
    torques = [np.zeros(3) for _ in links]  # about the origin of the link
    found = np.zeros(count)
    for k in reversed(range(count)):
        link, (R, p), (w, a, _, acc) = links[k], frames[k], moves[k]
        c = R @ link.com
        inertia = R @ link.inertia @ R.T
        middle = acc + np.cross(a, c) + np.cross(w, np.cross(w, c))
        forces[k] = forces[k] + link.mass * middle
        torques[k] = (
            torques[k] + np.cross(c, link.mass * middle) + inertia @ a + np.cross(w, inertia @ w)
        )
        axis = R @ link.axis
        slide = {"revolute": 0.0, "prismatic": 1.0, "screw": link.lead}[link.kind]
        turn = 0.0 if link.kind == "prismatic" else 1.0
        found[k] = turn * axis @ torques[k] + slide * axis @ forces[k]
        if link.parent >= 0:
            r = p - frames[link.parent][1]
            forces[link.parent] = forces[link.parent] + forces[k]
            torques[link.parent] = torques[link.parent] + torques[k] + np.cross(r, forces[k])
    return found


def accelerations(links, q, qd, gravity):
    """Accelerations without applied forces: the mass matrix column by column, then a solve."""
    count = len(links)
    bias = inverse_dynamics(links, q, qd, np.zeros(count), gravity)
    mass = np.array(
        [inverse_dynamics(links, q, np.zeros(count), unit, np.zeros(3)) for unit in np.eye(count)]
    ).T
    return np.linalg.solve(mass, -bias), mass, bias


def random_tree(rng, count, kinds=("revolute", "prismatic", "screw")):
    """A tree of `count` links with possible inertias."""
    links = []
    for k in range(count):
        axes = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
        second = np.diag(rng.uniform(0.01, 0.1, 3))
        inertia = axes @ (np.trace(second) * np.eye(3) - second) @ axes.T
        links.append(
            Link(
                parent=int(rng.integers(-1, k)) if k else -1,
                kind=str(rng.choice(kinds)),
                offset=rng.uniform(-0.5, 0.5, 3),
                turned=Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix(),
                axis=[np.eye(3)[int(rng.integers(3))], _unit(rng)][int(rng.integers(2))],
                mass=float(rng.uniform(0.5, 2.0)),
                com=rng.uniform(-0.3, 0.3, 3),
                inertia=(inertia + inertia.T) / 2,
                lead=float(rng.uniform(-0.3, 0.3)),
            )
        )
    return links


def _unit(rng):
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)
