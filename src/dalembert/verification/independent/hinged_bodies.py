"""Hinged planar bodies stated twice: by the library, and as plain NumPy functions of hinge vectors and angles.

The numeric side follows the hinges from body to body, subtracts the centre of mass, and sums the squares of velocities;
derivatives are complex steps. States are x = (angles of the hinges, mu_1, ..., mu_N).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...formulations.registry import derive
from ...model.builders.planar_bodies import PlanarBodies, planar_tree
from ..numeric import Probe, derivative

__all__ = ["Bodies", "Lowered", "bodies", "collinear", "full_probe", "library_rates", "shape", "states"]

CHAIN = {count: tuple(range(1, count)) for count in (2, 3, 4, 5)}
TREE = (1, 1, 2)


def turn(angle: Any) -> Any:
    """R(angle) (2, 2)."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@dataclass(frozen=True, eq=False)
class Bodies:
    """Masses, inertias and hinge vectors as numbers."""

    parents: tuple[int, ...]
    masses: Any
    inertias: Any
    hinges: dict[tuple[int, int], Any]

    @property
    def count(self) -> int:
        return len(self.masses)

    @property
    def values(self) -> dict[str, float]:
        """The library's parameters."""
        found = {f"m{i}": float(m) for i, m in enumerate(self.masses, start=1)}
        found |= {f"I{i}": float(value) for i, value in enumerate(self.inertias, start=1)}
        for (i, j), vector in self.hinges.items():
            found |= {f"d{i}{j}{axis}": float(c) for axis, c in zip("xy", vector, strict=True)}
        return found

    def angles(self, joints: Any) -> Any:
        """Absolute angles (N,) with the first body at zero."""
        found = [0.0 * joints[0]]
        for a, parent in enumerate(self.parents):
            found.append(found[parent - 1] + joints[a])
        return np.array(found)

    def arms(self) -> Any:
        """c (N, N, 2) with r_i = sum_k R_k c_ik, from the common centre of mass."""
        table = np.zeros((self.count, self.count, 2))
        for child, parent in enumerate(self.parents, start=2):
            table[child - 1] = table[parent - 1]
            table[child - 1, parent - 1] += self.hinges[parent, child]
            table[child - 1, child - 1] -= self.hinges[child, parent]
        return table - np.tensordot(self.masses, table, axes=1) / sum(self.masses)

    def inertia(self, joints: Any) -> Any:
        """J (N, N), by sums of m_i |r_i_dot|^2."""
        angles, arms = self.angles(np.asarray(joints)), self.arms()
        turned = np.array([[turn(angles[k]) @ arms[i, k] for k in range(self.count)] for i in range(self.count)])
        return np.diag(self.inertias) + np.einsum("i,ikc,ilc->kl", self.masses, turned, turned)

    def split(self, x: Any) -> tuple[Any, Any]:
        """The angles of the hinges and the momenta of a state."""
        return x[: self.count - 1], x[self.count - 1 :]

    def rates(self, x: Any) -> Any:
        """w = J^-1 mu (N,)."""
        joints, momenta = self.split(x)
        return np.linalg.solve(self.inertia(joints), momenta)

    def energy(self, x: Any) -> Any:
        """1/2 mu^T J^-1 mu."""
        return self.split(x)[1] @ self.rates(x) / 2

    def gradient(self, x: Any) -> Any:
        """dH by complex steps (2N - 1,)."""
        return derivative(self.energy, x)

    def locked(self, joints: Any) -> Any:
        """1^T J 1."""
        return self.inertia(joints).sum()


@cache
def shape(parents: tuple[int, ...]) -> PlanarBodies:
    """The library's bodies, with symbols for everything."""
    return planar_tree(parents)


@cache
def full_probe(parents: tuple[int, ...]) -> Probe:
    """The library's Hamilton equations in the absolute angles, compiled once for all values."""
    system = shape(parents).system()
    return Probe(derive(system, "hamilton"), {p.name: 1.0 for p in system.parameters})


class Lowered:
    """Expressions of the library as numbers."""

    def __init__(self, expressions: Sequence[sympy.Expr], symbols: Sequence[sympy.Symbol]) -> None:
        algebra = GraphAlgebra()
        column, x = algebra.vector(expressions), algebra.vector(symbols)
        self._others = [symbol for symbol in algebra.symbols if symbol not in {*symbols}]
        outputs = [ca.densify(block) for block in (column, ca.jacobian(column, x))]
        self._function = ca.Function("lowered", [x, algebra.vector(self._others)], outputs)

    def __call__(self, point: Any, values: dict[str, float]) -> tuple[Any, Any]:
        """Values (k,) and their derivatives (k, n)."""
        found = self._function.call([np.asarray(point, dtype=float), [values[symbol.name] for symbol in self._others]])
        return np.array(found[0], dtype=float).ravel(), np.array(found[1], dtype=float)


def library_rates(twin: Bodies, x: Any, offset: float = 0.7) -> Any:
    """The rates of (angles of hinges, momenta) by the library's Hamilton equations of the absolute angles."""
    joints, momenta = twin.split(x)
    probe = full_probe(twin.parents).with_parameters(**twin.values)
    found = probe.rates(0.0, np.concatenate([twin.angles(joints) + offset, momenta]))
    speeds = found[: twin.count]
    relative = [speeds[child - 1] - speeds[parent - 1] for child, parent in enumerate(twin.parents, start=2)]
    return np.concatenate([relative, found[twin.count :]])


@cache
def bodies(parents: tuple[int, ...], seed: int = 0) -> Bodies:
    """Random bodies with hinge vectors of any direction."""
    random = np.random.default_rng([seed, *parents])
    count = len(parents) + 1
    pairs = [pair for child, parent in enumerate(parents, start=2) for pair in ((parent, child), (child, parent))]
    hinges = {pair: random.uniform(0.4, 1.2) * turn(random.uniform(0, 2 * np.pi))[:, 0] for pair in pairs}
    return Bodies(parents, random.uniform(0.5, 2.0, count), random.uniform(0.3, 1.5, count), hinges)


@cache
def collinear(count: int, seed: int = 0) -> Bodies:
    """A random chain with its hinges on the axis of each body, ahead and behind."""
    other = bodies(CHAIN[count], seed)
    signs = {pair: 1.0 if pair[1] > pair[0] else -1.0 for pair in other.hinges}
    hinges = {pair: np.array([signs[pair] * np.linalg.norm(d), 0.0]) for pair, d in other.hinges.items()}
    return Bodies(other.parents, other.masses, other.inertias, hinges)


def states(parents: tuple[int, ...], count: int = 3) -> Iterator[tuple[Bodies, Any]]:
    """Random bodies, each at random angles and momenta."""
    for seed in range(count):
        twin = bodies(parents, seed)
        random = np.random.default_rng([seed, 77])
        yield (
            twin,
            np.concatenate([random.uniform(-np.pi, np.pi, twin.count - 1), random.uniform(-1.5, 1.5, twin.count)]),
        )
