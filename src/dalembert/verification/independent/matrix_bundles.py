"""Connections on S x G for groups of matrices, as plain NumPy functions of complex numbers, beside the library's.

Group elements are products of exponentials, g = exp(s_1 E_1) exp(s_2 E_2) exp(s_3 E_3), on SE(2) and on SO(3); the shape has
two symbols, and A_loc is a matrix of sinusoids. With the spatial velocities g_dot g^-1 the connection of the left action is

    A(q) = [Ad_g A_loc(r), right form],

and that of the right action, whose generators are left-invariant, is [Ad_{g^-1} A_loc(r), left form].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ...geometry.group_coordinates import GroupCoordinates
from ...geometry.lie import LieGroup
from ...geometry.principal_connections import PrincipalConnection
from ..numeric import derivative, worst
from .random_systems import Wave

__all__ = ["GROUPS", "Here", "MatrixBundle", "library", "matrix_bundle", "over_places", "places"]

#: The places of the components of an element of the Lie algebra in its matrix.
GROUPS = {"SE(2)": ((0, 2), (1, 2), (1, 0)), "SO(3)": ((2, 1), (0, 2), (1, 0))}
SHAPE, GROUP, SIZE = 2, 3, 5
R, G = slice(0, SHAPE), slice(SHAPE, SIZE)


@dataclass(frozen=True)
class MatrixBundle:
    """A random connection over one group."""

    name: str
    sinusoids: tuple[Wave, ...]

    # -- the group -----------------------------------------------------------------------------------------------

    @property
    def generators(self) -> Any:
        """E_a, (3, 3, 3), by their definition: shifts and turns of the plane, or turns about three axes."""
        E = np.zeros((3, 3, 3))
        if self.name == "SE(2)":
            E[0, 0, 2] = E[1, 1, 2] = E[2, 1, 0] = 1.0
            E[2, 0, 1] = -1.0
            return E
        for axis in range(3):
            first, second = (axis + 1) % 3, (axis + 2) % 3
            E[axis, second, first], E[axis, first, second] = 1.0, -1.0
        return E

    def vee(self, matrix: Any) -> Any:
        """Components of a matrix in the Lie algebra, (3,)."""
        return np.array([matrix[place] for place in GROUPS[self.name]])

    def bracket(self, first: Any, second: Any) -> Any:
        """[xi, eta] by the commutator of matrices."""
        a, b = (np.tensordot(np.asarray(xi), self.generators, axes=1) for xi in (first, second))
        return self.vee(a @ b - b @ a)

    def factor(self, axis: int, angle: Any) -> Any:
        """exp(angle E_axis): these generators have E^3 = 0 or E^3 = -E."""
        E = self.generators[axis]
        if not np.any(E @ E):
            return np.eye(3) + angle * E
        return np.eye(3) + np.sin(angle) * E + (1 - np.cos(angle)) * E @ E

    def element(self, symbols: Any) -> Any:
        """g, (3, 3)."""
        product = np.eye(3)
        for axis in range(GROUP):
            product = product @ self.factor(axis, symbols[axis])
        return product

    def symbols(self, g: Any) -> Any:
        """The symbols of an element near the identity."""
        if self.name == "SE(2)":
            return np.array([g[0, 2], g[1, 2], np.arctan2(g[1, 0], g[0, 0])])
        return np.array([np.arctan2(-g[1, 2], g[2, 2]), np.arcsin(g[0, 2]), np.arctan2(-g[0, 1], g[0, 0])])

    def adjoint(self, g: Any) -> Any:
        """Ad_g, (3, 3)."""
        inverse = np.linalg.inv(g)
        return np.stack([self.vee(g @ E @ inverse) for E in self.generators], axis=1)

    def right_form(self, symbols: Any) -> Any:
        """g_dot g^-1 from the rates of the symbols, (3, 3)."""
        columns, before = [], np.eye(3)
        for axis in range(GROUP):
            columns.append(self.vee(before @ self.generators[axis] @ np.linalg.inv(before)))
            before = before @ self.factor(axis, symbols[axis])
        return np.stack(columns, axis=1)

    # -- the connection ------------------------------------------------------------------------------------------

    def local(self, r: Any) -> Any:
        """A_loc, (3, 2)."""
        return np.array([[self.sinusoids[SHAPE * a + k](r, 0) for k in range(SHAPE)] for a in range(GROUP)])

    def form(self, q: Any) -> Any:
        """A(q) of the left action, (3, 5)."""
        g = self.element(q[G])
        return np.hstack([self.adjoint(g) @ self.local(q[R]), self.right_form(q[G])])

    def right_action_form(self, q: Any) -> Any:
        """A(q) of the right action, (3, 5)."""
        inverse = np.linalg.inv(self.element(q[G]))
        return self.adjoint(inverse) @ np.hstack([self.local(q[R]), self.right_form(q[G])])

    def exterior(self, q: Any, u: Any, v: Any, form: Callable[[Any], Any] | None = None) -> Any:
        """dA(u, v) by complex steps of the coefficients, (3,)."""
        derivatives = derivative(lambda x: (form or self.form)(x).ravel(), q).reshape(GROUP, SIZE, SIZE)
        return np.einsum("aji,i,j->a", derivatives, u, v) - np.einsum("aji,i,j->a", derivatives, v, u)

    def orbit(self, q: Any) -> Any:
        """xi_Q of the left action in columns, (5, 3)."""
        return np.vstack([np.zeros((SHAPE, GROUP)), np.linalg.inv(self.right_form(q[G]))])

    def vertical(self, q: Any, v: Any) -> Any:
        """[A(v)]_Q."""
        return self.orbit(q) @ (self.form(q) @ v)

    def curvature(self, q: Any, u: Any, v: Any) -> Any:
        """B(u, v) = dA(hor u, hor v)."""
        return self.exterior(q, u - self.vertical(q, u), v - self.vertical(q, v))

    # -- the action ----------------------------------------------------------------------------------------------

    def moved(self, h: Any, q: Any) -> Any:
        """h q for an element h, (5,)."""
        return np.concatenate([q[R], self.symbols(h @ self.element(q[G]))])

    def pushed(self, h: Any, q: Any, v: Any) -> Any:
        """The tangent vector h v at h q: the spatial velocity turns by Ad_h."""
        there = self.moved(h, q)
        spatial = self.adjoint(h) @ self.right_form(q[G]) @ v[G]
        return np.concatenate([v[R], np.linalg.solve(self.right_form(there[G]), spatial)])


@dataclass(frozen=True)
class Here:
    """A random bundle at a configuration q, with two velocities, two spatial velocities, a group element and a covector."""

    twin: MatrixBundle
    q: Any
    u: Any
    v: Any
    shift: Any
    h: Any
    mu: Any

    @property
    def fixed(self) -> Any | None:
        """A covector that the coadjoint action leaves alone; None where only 0 is."""
        return np.array([0.0, 0.0, self.mu[2]]) if self.twin.name == "SE(2)" else None


@cache
def matrix_bundle(name: str) -> MatrixBundle:
    """A random connection over one group."""
    random = np.random.default_rng([4, list(GROUPS).index(name)])

    def wave() -> Wave:
        amplitude, phase = (round(float(x), 3) for x in random.uniform(0.4, 0.9, 2))
        return Wave(amplitude, tuple(round(float(x), 3) for x in random.uniform(-1.5, 1.5, SHAPE)), 0.0, phase)

    return MatrixBundle(name, tuple(wave() for _ in range(SHAPE * GROUP)))


class Library:
    """The library's connection with the same local form, as functions of numbers."""

    def __init__(self, twin: MatrixBundle, sign: int = 1) -> None:
        symbols = sympy.symbols("r1 r2 s1 s2 s3", real=True)
        group = LieGroup.SE(2) if twin.name == "SE(2)" else LieGroup.SO(3)
        local = [[sign * twin.sinusoids[SHAPE * a + k](symbols[R], 0) for k in range(SHAPE)] for a in range(GROUP)]
        coordinates = GroupCoordinates.of_chart(group.chart(symbols[G]))
        self.connection = PrincipalConnection(coordinates, symbols[R], sympy.Matrix(local))
        self._symbols = symbols

    def value(self, block: Any, q: Any) -> Any:
        """A matrix or array of expressions at a configuration."""
        return _function(block, self._symbols)(*q)


_FUNCTIONS: dict[Any, Any] = {}


def _function(block: Any, symbols: Any) -> Any:
    """The block as a function, made once."""
    if block not in _FUNCTIONS:
        flat = sympy.lambdify(symbols, list(sympy.flatten(block)), "numpy", cse=True)
        _FUNCTIONS[block] = lambda *q, shape=block.shape: np.array(flat(*q), dtype=float).reshape(shape)
    return _FUNCTIONS[block]


@cache
def library(name: str, sign: int = 1) -> Library:
    """The library's connection of a random bundle; `sign` turns its local form round."""
    return Library(matrix_bundle(name), sign)


@cache
def places(name: str, count: int = 4) -> tuple[Here, ...]:
    """Random places of one bundle."""
    twin = matrix_bundle(name)
    random = np.random.default_rng([6, list(GROUPS).index(name)])
    found = []
    for _ in range(count):
        q = random.uniform(-0.6, 0.6, SIZE)
        u, v = random.uniform(-1, 1, (2, SIZE))
        h = twin.element(random.uniform(-0.5, 0.5, GROUP))
        found.append(Here(twin, q, u, v, random.uniform(-1, 1, (2, GROUP)), h, random.uniform(0.3, 1, GROUP)))
    return tuple(found)


def over_places(residual: Callable[[Here], float], *names: str) -> float:
    """The worst residual over the places of some bundles, of all by default."""
    return worst(residual(here) for name in (names or tuple(GROUPS)) for here in places(name))
