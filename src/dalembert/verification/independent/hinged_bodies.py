"""Hinged planar bodies, by the library and as NumPy functions of hinge vectors and angles.

The numeric side follows the hinges from body to body, subtracts the centre of mass, and sums the
squares of velocities; derivatives are complex steps. States are x = (angles of the hinges, mu_1,
..., mu_N).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy

from ...algebra.graph import GraphAlgebra
from ...formulations.registry import derive
from ...model.builders.planar_bodies import PlanarBodies, planar_tree
from ...typing import Array
from ..numeric import Probe, derivative
from ..samples import Sampler

CHAIN = {count: tuple(range(1, count)) for count in (2, 3, 4, 5)}
TREE = (1, 1, 2)


def turn(angle: float) -> Any:
    """R(angle) (2, 2)."""
    return np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])


@dataclass(frozen=True, eq=False)
class Bodies:
    """Masses, inertias and hinge vectors as numbers."""

    parents: tuple[int, ...]
    masses: Array
    inertias: Array
    hinges: dict[tuple[int, int], Array]

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

    def angles(self, joints: Array) -> Any:
        """Absolute angles (N,) with the first body at zero."""
        found = [0.0 * joints[0]]
        for a, parent in enumerate(self.parents):
            found.append(found[parent - 1] + joints[a])
        return np.array(found)

    def relative(self, angles: Array) -> Any:
        """Differences along the hinges, child less parent (N - 1, ...)."""
        return np.array([angles[k] - angles[p - 1] for k, p in enumerate(self.parents, start=1)])

    def arms(self) -> Any:
        """c (N, N, 2) with r_i = sum_k R_k c_ik, from the common centre of mass."""
        table = np.zeros((self.count, self.count, 2))
        for child, parent in enumerate(self.parents, start=2):
            table[child - 1] = table[parent - 1]
            table[child - 1, parent - 1] += self.hinges[parent, child]
            table[child - 1, child - 1] -= self.hinges[child, parent]
        return table - np.tensordot(self.masses, table, axes=1) / sum(self.masses)

    def inertia(self, joints: Sequence[float] | Array) -> Any:
        """J (N, N), by sums of m_i |r_i_dot|^2."""
        angles, arms = self.angles(np.asarray(joints)), self.arms()
        turned = np.array(
            [[turn(angles[k]) @ arms[i, k] for k in range(self.count)] for i in range(self.count)]
        )
        return np.diag(self.inertias) + np.einsum("i,ikc,ilc->kl", self.masses, turned, turned)

    def split(self, x: Array) -> tuple[Any, Any]:
        """The angles of the hinges and the momenta of a state."""
        return x[: self.count - 1], x[self.count - 1 :]

    def rates(self, x: Array) -> Any:
        """w = J^-1 mu (N,)."""
        joints, momenta = self.split(x)
        return np.linalg.solve(self.inertia(joints), momenta)

    def energy(self, x: Array) -> Any:
        """1/2 mu^T J^-1 mu."""
        return self.split(x)[1] @ self.rates(x) / 2

    def gradient(self, x: Array) -> Any:
        """dH by complex steps (2N - 1,)."""
        return derivative(self.energy, x)

    def locked(self, joints: Sequence[float] | Array) -> Any:
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

    def __call__(self, point: Sequence[float] | Array, values: dict[str, float]) -> tuple[Any, Any]:
        """Values (k,) and their derivatives (k, n)."""
        found = self._function.call(
            [np.asarray(point, dtype=float), [values[symbol.name] for symbol in self._others]]
        )
        return np.array(found[0], dtype=float).ravel(), np.array(found[1], dtype=float)


def library_rates(model: Bodies, x: Array, offset: float = 0.7) -> Any:
    """Rates of (hinge angles, momenta) by the library's Hamilton equations of absolute angles."""
    joints, momenta = model.split(x)
    probe = full_probe(model.parents).with_parameters(**model.values)
    found = probe.rates(0.0, np.concatenate([model.angles(joints) + offset, momenta]))
    return np.concatenate([model.relative(found[: model.count]), found[model.count :]])


@cache
def bodies(parents: tuple[int, ...], seed: int = 0) -> Bodies:
    """Random bodies with hinge vectors of any direction."""
    random = np.random.default_rng([seed, *parents])
    count = len(parents) + 1
    joined = list(enumerate(parents, start=2))
    pairs = [pair for child, parent in joined for pair in ((parent, child), (child, parent))]
    hinges = {}
    for pair in pairs:
        length = random.uniform(0.4, 1.2)
        hinges[pair] = length * turn(random.uniform(0, 2 * np.pi))[:, 0]
    return Bodies(parents, random.uniform(0.5, 2.0, count), random.uniform(0.3, 1.5, count), hinges)


@cache
def collinear(count: int, seed: int = 0) -> Bodies:
    """A random chain with its hinges on the axis of each body, ahead and behind."""
    other = bodies(CHAIN[count], seed)
    hinges = {}
    for pair, d in other.hinges.items():
        hinges[pair] = np.array([(1.0 if pair[1] > pair[0] else -1.0) * np.linalg.norm(d), 0.0])
    return Bodies(other.parents, other.masses, other.inertias, hinges)


class BodySample(NamedTuple):
    """Random bodies at a random state x."""

    model: Bodies
    x: Array


def states(*shapes: tuple[int, ...], count: int = 3) -> Sampler[BodySample]:
    """Random bodies of some shapes, each at random angles and momenta."""

    def draw(parents: tuple[int, ...], seed: int) -> BodySample:
        model, random = bodies(parents, seed), np.random.default_rng([seed, 77])
        angles = random.uniform(-np.pi, np.pi, model.count - 1)
        return BodySample(model, np.concatenate([angles, random.uniform(-1.5, 1.5, model.count)]))

    return Sampler(lambda _: [draw(parents, seed) for parents in shapes for seed in range(count)])
