"""Section 7.7: points of orbits, and what the rows on matrices that move share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ....typing import Array
from ...independent import matrix_flows
from ...independent.matrix_flows import (
    ALGEBRAS,
    LIBRARY,
    SPAN,
    Matrices,
    MatrixAlgebra,
    SampledPath,
    bracket,
    gap,
    inner,
    orbit_rates,
    potential,
    target,
)
from ...numeric import derivative
from ...samples import Sampler

#: A matrix of real or complex entries.
Entries: TypeAlias = Matrices
#: H(x, p) of two matrices, which may take complex steps.
Energy: TypeAlias = Callable[[Entries, Entries], Any]


class OrbitPoint(NamedTuple):
    """An algebra with elements x and p of it, and the kind of flow that moves them."""

    here: MatrixAlgebra
    x: Array
    p: Array
    kind: str = "free"

    @property
    def rates(self) -> tuple[Array, Array]:
        """x_dot and p_dot of the library's flow of this kind."""
        return orbit_rates(self.here, self.kind, self.x, self.p)

    def stored(self, x: Entries) -> Any:
        """V(x) of this kind of flow."""
        if self.kind == "brockett":
            across = bracket(x, target(self.here.name))
            return -inner(across, across) / 2
        if self.kind == "potential":
            return potential(x, target(self.here.name).round())
        return 0 * x[0, 0]

    def pull(self, x: Array) -> Array:
        """V_x as a matrix, by complex steps."""
        here = self.here
        by = derivative(lambda c: self.stored(here.matrix(c)), here.vector(x))
        return np.asarray(here.matrix(by))

    def energy(self, x: Entries, p: Entries) -> Any:
        """1/2 |[p, x]|^2 + V(x), eq. 7.7.11."""
        return inner(bracket(p, x), bracket(p, x)) / 2 + self.stored(x)

    def canonical(self, energy: Energy) -> tuple[Array, Array]:
        """x_dot = H_p and p_dot = -H_x by complex steps of H(x, p)."""
        here, d = self.here, self.here.dimension
        state = np.concatenate([here.vector(self.x), here.vector(self.p)])
        found = derivative(lambda z: energy(here.matrix(z[:d]), here.matrix(z[d:])), state)
        return here.matrix(found[d:]), -here.matrix(found[:d])


#: The kinds of flows whose Hamiltonian has a potential, by algebra.
DRIVEN = (
    ("so(3)", "brockett"),
    ("so(3)", "potential"),
    ("su(2)", "brockett"),
    ("su(2)", "potential"),
    ("so(4)", "brockett"),
)

points = Sampler(lambda name: (OrbitPoint(*found) for found in matrix_flows.points(name)), ALGEBRAS)
#: Points of the algebras whose flows the library states.
library_points = points.of(*LIBRARY)
brockett_points = library_points.map(lambda s: s._replace(kind="brockett"))
driven_points = Sampler(
    lambda both: (s._replace(kind=both.split()[1]) for s in points(both.split()[0])),
    map(" ".join, DRIVEN),
)


def gaps(found: Iterable[Entries], expected: Iterable[Entries]) -> list[float]:
    """`gap` of each of some matrices from that of the same place in others."""
    return [gap(a, b) for a, b in zip(found, expected, strict=True)]


def still(values: Entries) -> float:
    """How far a history departs from its start."""
    return gap(values, np.broadcast_to(values[0], np.shape(values)))


def wave(path: SampledPath, tilted: bool = False) -> tuple[Array, Array]:
    """A function of time that vanishes at both ends, and its rate, both (nt, 1, 1)."""
    angle, factor = np.pi * path.t / SPAN, 1 + path.t if tilted else np.ones_like(path.t)
    rate = np.pi / SPAN * np.cos(angle) * factor
    rate = rate + np.sin(angle) if tilted else rate
    return (np.sin(angle) * factor)[:, None, None], rate[:, None, None]
