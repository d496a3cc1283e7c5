"""Bloch and others, Internet Supplement, section 2.9: principal connections and their curvature.

Random connections over two shape symbols with the groups SE(2) and SO(3). The library works from
the local form in symbols; the independent implementations are complex steps of the form on the
whole space, with group elements as matrices: products of exponentials, g = exp(s_1 E_1) exp(s_2
E_2) exp(s_3 E_3), and A_loc a matrix of sinusoids. With the spatial velocities g_dot g^-1 the
connection of the left action is

    A(q) = [Ad_g A_loc(r), right form],

and that of the right action, whose generators are left-invariant, is [Ad_{g^-1} A_loc(r), left
form].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import sympy

from ....geometry.group_coordinates import GroupCoordinates
from ....geometry.lie import LieGroup
from ....geometry.principal_connections import PrincipalConnection
from ....typing import Array
from ...independent.random_systems import Sinusoid, draw_sinusoids
from ...numeric import Residual, apart, derivative, distance
from ...row_registry import listed
from ...samples import Generator, sampler

#: Indices of the components of an element of the Lie algebra in its matrix.
GROUPS = {"SE(2)": ((0, 2), (1, 2), (1, 0)), "SO(3)": ((2, 1), (0, 2), (1, 0))}
SHAPE, GROUP, SIZE = 2, 3, 5
R, G = slice(0, SHAPE), slice(SHAPE, SIZE)


@dataclass(frozen=True)
class MatrixBundle:
    """A random connection over one group."""

    name: str
    sinusoids: tuple[Sinusoid, ...]

    # -- the group ---------------------------------------------------------------------------------

    @property
    def generators(self) -> Array:
        """E_a, (3, 3, 3): translations and rotation of the plane, or rotations about three axes."""
        E = np.zeros((3, 3, 3))
        if self.name == "SE(2)":
            E[0, 0, 2] = E[1, 1, 2] = E[2, 1, 0] = 1.0
            E[2, 0, 1] = -1.0
            return E
        for axis in range(3):
            first, second = (axis + 1) % 3, (axis + 2) % 3
            E[axis, second, first], E[axis, first, second] = 1.0, -1.0
        return E

    def vee(self, matrix: Array) -> Any:
        """Components of a matrix in the Lie algebra, (3,)."""
        return np.array([matrix[index] for index in GROUPS[self.name]])

    def bracket(self, first: Array, second: Array) -> Any:
        """[xi, eta] by the commutator of matrices."""
        a, b = (np.tensordot(np.asarray(xi), self.generators, axes=1) for xi in (first, second))
        return self.vee(a @ b - b @ a)

    def factor(self, axis: int, angle: float) -> Any:
        """exp(angle E_axis): these generators have E^3 = 0 or E^3 = -E."""
        E = self.generators[axis]
        if not np.any(E @ E):
            return np.eye(3) + angle * E
        return np.eye(3) + np.sin(angle) * E + (1 - np.cos(angle)) * E @ E

    def element(self, symbols: Array) -> Any:
        """g, (3, 3)."""
        product: Any = np.eye(3)
        for axis in range(GROUP):
            product = product @ self.factor(axis, symbols[axis])
        return product

    def symbols(self, g: Array) -> Any:
        """The symbols of an element near the identity."""
        if self.name == "SE(2)":
            return np.array([g[0, 2], g[1, 2], np.arctan2(g[1, 0], g[0, 0])])
        first, last = np.arctan2(-g[1, 2], g[2, 2]), np.arctan2(-g[0, 1], g[0, 0])
        return np.array([first, np.arcsin(g[0, 2]), last])

    def adjoint(self, g: Array) -> Any:
        """Ad_g, (3, 3)."""
        inverse = np.linalg.inv(g)
        return np.stack([self.vee(g @ E @ inverse) for E in self.generators], axis=1)

    def right_form(self, symbols: Array) -> Any:
        """g_dot g^-1 from the rates of the symbols, (3, 3)."""
        columns: list[Any] = []
        before: Any = np.eye(3)
        for axis in range(GROUP):
            columns.append(self.vee(before @ self.generators[axis] @ np.linalg.inv(before)))
            before = before @ self.factor(axis, symbols[axis])
        return np.stack(columns, axis=1)

    # -- the connection ----------------------------------------------------------------------------

    def local(self, r: Array) -> Any:
        """A_loc, (3, 2)."""
        return np.array([f(r) for f in self.sinusoids]).reshape(GROUP, SHAPE)

    def form(self, q: Array) -> Any:
        """A(q) of the left action, (3, 5)."""
        g = self.element(q[G])
        return np.hstack([self.adjoint(g) @ self.local(q[R]), self.right_form(q[G])])

    def right_action_form(self, q: Array) -> Any:
        """A(q) of the right action, (3, 5)."""
        inverse = np.linalg.inv(self.element(q[G]))
        return self.adjoint(inverse) @ np.hstack([self.local(q[R]), self.right_form(q[G])])

    def exterior(
        self, q: Array, u: Array, v: Array, form: Callable[[Array], Any] | None = None
    ) -> Any:
        """dA(u, v) by complex steps of the coefficients, (3,)."""
        table = derivative(lambda x: (form or self.form)(x).ravel(), q).reshape(GROUP, SIZE, SIZE)
        return np.einsum("aji,i,j->a", table, u, v) - np.einsum("aji,i,j->a", table, v, u)

    def orbit(self, q: Array) -> Any:
        """xi_Q of the left action in columns, (5, 3)."""
        return np.vstack([np.zeros((SHAPE, GROUP)), np.linalg.inv(self.right_form(q[G]))])

    def vertical(self, q: Array, v: Array) -> Any:
        """[A(v)]_Q."""
        return self.orbit(q) @ (self.form(q) @ v)

    def curvature(self, q: Array, u: Array, v: Array) -> Any:
        """B(u, v) = dA(hor u, hor v)."""
        return self.exterior(q, u - self.vertical(q, u), v - self.vertical(q, v))

    # -- the action --------------------------------------------------------------------------------

    def moved(self, h: Array, q: Array) -> Any:
        """h q for an element h, (5,)."""
        return np.concatenate([q[R], self.symbols(h @ self.element(q[G]))])

    def pushed(self, h: Array, q: Array, v: Array) -> Any:
        """The tangent vector h v at h q: the spatial velocity turns by Ad_h."""
        there = self.moved(h, q)
        spatial = self.adjoint(h) @ self.right_form(q[G]) @ v[G]
        return np.concatenate([v[R], np.linalg.solve(self.right_form(there[G]), spatial)])


@dataclass(frozen=True)
class ConnectionSample:
    """A configuration q of a random bundle with vectors to evaluate forms on.

    Two velocities u and v, two spatial velocities (2, 3), a group element h and a covector mu.
    """

    model: MatrixBundle
    q: Array
    u: Array
    v: Array
    spatial: Array
    h: Array
    mu: Array

    @property
    def fixed(self) -> Array:
        """A covector that the coadjoint action of SE(2) leaves alone."""
        return np.array([0.0, 0.0, self.mu[2]])

    @property
    def there(self) -> ConnectionSample:
        """The same configuration moved by h, with its velocities."""
        model, h = self.model, self.h
        u, v = (model.pushed(h, self.q, w) for w in (self.u, self.v))
        return ConnectionSample(model, model.moved(h, self.q), u, v, self.spatial, h, self.mu)


@cache
def matrix_bundle(name: str) -> MatrixBundle:
    """A random connection over one group."""
    random = np.random.default_rng([4, list(GROUPS).index(name)])
    return MatrixBundle(name, draw_sinusoids(random, SHAPE * GROUP, SHAPE, 0.4, 0.9, 1.5))


class Library:
    """The library's connection with the same local form, as functions of numbers."""

    def __init__(self, model: MatrixBundle, sign: int = 1) -> None:
        symbols = sympy.symbols("r1 r2 s1 s2 s3", real=True)
        group = LieGroup.SE(2) if model.name == "SE(2)" else LieGroup.SO(3)
        local = sympy.Matrix(GROUP, SHAPE, [sign * f(symbols[R]) for f in model.sinusoids])
        coordinates = GroupCoordinates.of_chart(group.chart(symbols[G]))
        self.connection = PrincipalConnection(coordinates, symbols[R], local)
        self._symbols = symbols

    def value(self, block: sympy.NDimArray | sympy.MatrixBase, q: Array) -> Any:
        """A matrix or array of expressions at a configuration."""
        return _function(block, self._symbols)(*q)


@cache
def _function(
    block: sympy.NDimArray | sympy.MatrixBase, symbols: Sequence[sympy.Symbol]
) -> Callable[..., Any]:
    """The block as a function, made once."""
    flat = sympy.lambdify(symbols, list(sympy.flatten(block)), "numpy", cse=True)
    return lambda *q: np.array(flat(*q), dtype=float).reshape(block.shape)


@cache
def library(name: str, sign: int = 1) -> Library:
    """The library's connection of a random bundle; `sign` reverses its local form."""
    return Library(matrix_bundle(name), sign)


@sampler(*GROUPS, seed=6, count=4)
def samples(name: str, random: Generator) -> ConnectionSample:
    """Random configurations of one bundle."""
    model = matrix_bundle(name)
    q = random.uniform(-0.6, 0.6, SIZE)
    u, v = random.uniform(-1, 1, (2, SIZE))
    h = model.element(random.uniform(-0.5, 0.5, GROUP))
    spatial = random.uniform(-1, 1, (2, GROUP))
    return ConnectionSample(model, q, u, v, spatial, h, random.uniform(0.3, 1, GROUP))


# -- rows ------------------------------------------------------------------------------------------


def _on(s: ConnectionSample, block: str) -> Any:
    """A block of the library's connection at the configuration."""
    lib = library(s.model.name)
    return lib.value(getattr(lib.connection, block), s.q)


def _pair(table: Array, u: Array, v: Array) -> Any:
    """A two-form, or several, on two vectors."""
    return np.einsum("...ij,i,j->...", table, u, v)


def _curvature(s: ConnectionSample) -> Any:
    """The library's B(u, v) on the whole space (3,)."""
    return _pair(_on(s, "curvature_on_space"), s.u, s.v)


def _covector_block(s: ConnectionSample, block: str, mu: Array) -> Any:
    """alpha_mu, B_mu or d alpha_mu by the library, from those of the basis by linearity."""
    lib = library(s.model.name)
    rows = np.eye(GROUP, dtype=int).tolist()
    tables = [lib.value(getattr(lib.connection, block)(row), s.q) for row in rows]
    return np.tensordot(np.asarray(mu), np.array(tables), axes=1)


def _two_form(s: ConnectionSample, mu: Array) -> Any:
    """The library's B_mu(u, v)."""
    return _pair(_covector_block(s, "two_form", mu), s.u, s.v)


def _dual(s: ConnectionSample) -> Any:
    """Ad_h^* mu."""
    return s.model.adjoint(s.h).T @ s.mu


# -- Cartan's structure equation -------------------------------------------------------------------


@listed("B-Theorem-2.9.13")
def structure_equation() -> Residual:
    found: list[Residual] = []
    reversed_signs = []
    for s in samples:
        A, bend = s.model.form(s.q), _curvature(s)
        plain, bracket = s.model.exterior(s.q, s.u, s.v), s.model.bracket(A @ s.u, A @ s.v)
        turned = s.model.adjoint(s.model.element(s.q[G]))
        local = turned @ _pair(_on(s, "curvature"), s.u[R], s.v[R])
        others = (s.model.curvature(s.q, s.u, s.v), plain - bracket)
        found += [*(distance(bend, other) for other in others), distance(local, bend)]
        reversed_signs.append(distance(bend, plain + bracket))
    return found, apart(min(reversed_signs))


@listed("B-Lemma-2.9.13", over=samples)
def mixed_directions(s: ConnectionSample) -> Residual:
    A, table = s.model.form(s.q), _on(s, "exterior")
    down_u, down_v = s.model.vertical(s.q, s.u), s.model.vertical(s.q, s.v)
    mixed, vertical = _pair(table, s.u - down_u, down_v), _pair(table, down_u, down_v)
    return mixed, distance(vertical, s.model.bracket(A @ s.u, A @ s.v))


listed("B-Corollary-2.9.14", over=samples)(
    lambda s: distance(_curvature(s.there), s.model.adjoint(s.h) @ _curvature(s))
)


@listed("B-Corollary-2.9.14-right", over=samples)
def right_actions(s: ConnectionSample) -> Residual:
    model = s.model

    def bend(q: Array, u: Array, v: Array) -> Any:
        A = model.right_action_form(q)
        return model.exterior(q, u, v, model.right_action_form) + model.bracket(A @ u, A @ v)

    found, g = bend(s.q, s.u, s.v), model.element(s.q[G])
    lib = library(model.name, sign=-1)
    local = _pair(lib.value(lib.connection.curvature, s.q), s.u[R], s.v[R])
    there = np.concatenate([s.q[R], model.symbols(g @ s.h)])

    def carried(v: Array) -> Any:  # right translations leave the spatial velocity alone
        spatial = model.right_form(s.q[G]) @ v[G]
        return np.concatenate([v[R], np.linalg.solve(model.right_form(there[G]), spatial)])

    back, turned = map(model.adjoint, map(np.linalg.inv, (g, s.h)))
    moved = bend(there, carried(s.u), carried(s.v))
    return distance(found, -back @ local), distance(moved, turned @ found)


@listed("B-Corollary-2.9.14-proof", over=samples, misprint={"moved": False})
def bracket_of_moved_vectors(s: ConnectionSample, moved: bool = True) -> Residual:
    there, A = s.there, _on(s, "form")
    form = _on(there, "form") if moved else A
    expected = s.model.adjoint(s.h) @ s.model.bracket(A @ s.u, A @ s.v)
    return distance(s.model.bracket(form @ there.u, form @ there.v), expected)


@listed("B-2.9.1", over=samples)
def curvature_on_the_base(s: ConnectionSample) -> Residual:
    there, orbit = s.there, s.model.orbit(s.there.q)
    u, v = there.u + orbit @ s.spatial[0], there.v + orbit @ s.spatial[1]
    moved = _pair(_on(there, "curvature_on_space"), u, v)
    return distance(np.linalg.solve(s.model.adjoint(s.h), moved), _curvature(s))


# -- the forms of a covector -----------------------------------------------------------------------


@listed("B-2.9.2", over=samples)
def forms_of_covectors(s: ConnectionSample) -> Residual:
    return distance(_covector_block(s, "one_form", s.mu)[0], s.model.form(s.q).T @ s.mu)


@listed("B-Proposition-2.9.15", over=samples)
def equivariance_of_forms(s: ConnectionSample) -> Residual:
    momentum = _covector_block(s, "one_form", s.mu)[0] @ s.model.orbit(s.q)
    moved = _covector_block(s.there, "one_form", s.mu)[0] @ s.there.u
    turned = _covector_block(s, "one_form", _dual(s))[0] @ s.u
    return distance(momentum, s.mu), distance(moved, turned)


@listed("B-2.9.3", over=samples)
def two_forms_of_covectors(s: ConnectionSample) -> Residual:
    turned = distance(_two_form(s.there, s.mu), _two_form(s, _dual(s)))
    return distance(_two_form(s, s.mu), s.mu @ s.model.curvature(s.q, s.u, s.v)), turned


@listed("B-2.9.4", over=samples.of("SE(2)"), misprint={"fixed": False})
def two_form_on_the_base(s: ConnectionSample, fixed: bool = True) -> Residual:
    mu = s.fixed if fixed else s.mu
    return distance(_two_form(s.there, mu), _two_form(s, mu))


def _exterior_gap(s: ConnectionSample, mu: Array) -> float:
    """d alpha_mu - B_mu, both by the library."""
    gap = _covector_block(s, "exterior_of", mu) - _covector_block(s, "two_form", mu)
    return float(np.max(np.abs(gap)))


@listed("B-Proposition-2.9.16")
def closed_up_to_curvature() -> Residual:
    def gaps(s: ConnectionSample) -> Residual:
        table = derivative(lambda x: s.model.form(x).T @ s.mu, s.q)
        by_steps = distance(_covector_block(s, "exterior_of", s.mu), table.T - table)
        return by_steps, distance(_two_form(s.there, s.mu), _two_form(s, _dual(s)))

    upright, ahead = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    lib = library("SE(2)").connection
    verdicts = 0.0 if lib.is_fixed([0, 0, 1]) and not lib.is_fixed([1, 0, 0]) else 1.0
    closed = [_exterior_gap(s, upright) for s in samples("SE(2)")]
    differs = apart(min(_exterior_gap(s, ahead) for s in samples))
    return [gaps(s) for s in samples], closed, differs, verdicts


@listed("B-Proposition-2.9.16-proof")
def horizontal_parts() -> Residual:
    def gaps(s: ConnectionSample) -> Residual:
        down, bend = s.model.vertical(s.q, s.u), _two_form(s, s.mu)
        others = (s.model.vertical(s.q, s.v), down)
        values = [s.mu @ s.model.exterior(s.q, s.u - down, s.v - other) for other in others]
        return [distance(value, bend) for value in values]

    def closed(s: ConnectionSample) -> Residual:
        plain = _pair(_covector_block(s, "exterior_of", s.fixed), s.u, s.v)
        return distance(_two_form(s, s.fixed), plain)

    return [gaps(s) for s in samples], [closed(s) for s in samples("SE(2)")]


@listed("B-2.9-definition", over=samples)
def connection_forms(s: ConnectionSample) -> Residual:
    model, there, A = s.model, s.there, _on(s, "form")
    lifted = _on(s, "horizontal_lift") @ s.u[R]
    return (
        distance(A @ model.orbit(s.q), np.eye(GROUP)),
        distance(_on(s, "generators"), model.orbit(s.q)),
        distance(_on(there, "form") @ there.u, model.adjoint(s.h) @ A @ s.u),
        distance(A, model.form(s.q)),
        distance(lifted, s.u - model.vertical(s.q, s.u)),
        A @ lifted,
    )
