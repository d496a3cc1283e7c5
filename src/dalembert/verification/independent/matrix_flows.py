"""Compact Lie algebras of matrices in NumPy, with random elements and the library's flows.

Every algebra has a basis of real skew matrices that is orthonormal in <a, b> = tr(a^T b)/2; su(n)
is written by real matrices of twice the size. Nothing here conjugates, so that complex steps pass
through.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np
import sympy
from numpy.typing import NDArray

from ...formulations.registry import derive
from ...geometry.lie import LieGroup
from ...integrate.simulate import simulate
from ...model.builders.bracket_flows import orbit_flow
from ...model.flow_system import Flow
from ...typing import Array, ArrayLike
from ..numeric import Probe, distance, panel_nodes, pseudo_inverse

#: All algebras, and those whose flows the library states in symbols.
ALGEBRAS = ("so(3)", "so(4)", "su(2)", "su(3)")
LIBRARY = ("so(3)", "su(2)", "so(4)")
#: Two numbers that are said to differ must differ by this.
APART = 1e-3
SPAN = 1.0
#: Matrices (..., N, N), real or complex.
Matrices: TypeAlias = "NDArray[np.inexact[Any]]"


def bracket(a: Matrices, b: Matrices) -> Any:
    """[a, b] = a b - b a, also of stacked matrices."""
    return a @ b - b @ a


def inner(a: Matrices, b: Matrices) -> Any:
    """<a, b> = tr(a^T b)/2, which is -tr(a b)/2 of skew matrices; stacks give a number each."""
    return np.sum(a * b, axis=(-2, -1)) / 2


def exponential(a: Matrices) -> Any:
    """exp of a matrix by its series and squares."""
    halvings = max(0, int(np.ceil(np.log2(1e-300 + np.max(np.abs(a)) * len(a))))) + 2
    one = np.eye(len(a))
    found = one
    for k in range(14, 0, -1):
        found = one + a @ found / (k * 2**halvings)
    for _ in range(halvings):
        found = found @ found
    return found


def gap(value: ArrayLike, expected: ArrayLike) -> float:
    """`distance` of complex arrays, by their real and imaginary parts."""
    return distance(*(np.stack([np.real(item), np.imag(item)]) for item in (value, expected)))


def skew(random: np.random.Generator, n: int, size: float = 1.0) -> Any:
    """A random skew matrix (n, n)."""
    upper = np.triu(size * random.standard_normal((n, n)), 1)
    return upper - upper.T


def rotation(random: np.random.Generator, n: int) -> Any:
    """A random rotation (n, n)."""
    q, r = np.linalg.qr(random.standard_normal((n, n)))
    q = q * np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else q @ np.diag([-1.0, *np.ones(n - 1)])


@dataclass(frozen=True, eq=False)
class MatrixAlgebra:
    """A compact Lie algebra.

    Attributes
    ----------
    basis : array (d, N, N)
        Orthonormal.
    stated : what `orbit_flow` takes for it
    lengths : array (d,)
        The lengths of the vectors of the library's basis, which has the same directions.
    """

    name: str
    basis: Array
    stated: int | LieGroup
    lengths: Array

    @property
    def dimension(self) -> int:
        return len(self.basis)

    def vector(self, matrix: Matrices) -> Any:
        """Components (..., d)."""
        return np.einsum("aij,...ij->...a", self.basis, matrix) / 2

    def matrix(self, vector: Matrices) -> Any:
        return np.tensordot(vector, self.basis, axes=1)

    def ad(self, x: Array) -> Any:
        """y -> [x, y] as a matrix (d, d)."""
        return self.vector(bracket(x, self.basis)).T

    def inverse(self, x: Array, y: Array) -> Any:
        """ad_x^-1 y in the image of ad_x."""
        return self.matrix(pseudo_inverse(self.ad(x)) @ self.vector(y))

    def kernel(self, x: Array) -> Any:
        """An orthonormal basis (d, k) of what commutes with x."""
        _, sizes, right = np.linalg.svd(self.ad(x))
        return right[sizes < 1e-10 * sizes[0]].T

    def image_part(self, x: Array, y: Array) -> Any:
        """The part of y in the image of ad_x."""
        found, kernel = self.vector(y), self.kernel(x)
        return self.matrix(found - kernel @ (kernel.T @ found))

    def random(self, random: np.random.Generator, size: float = 0.7) -> Any:
        return self.matrix(size * random.standard_normal(self.dimension))


@cache
def algebra(name: str) -> MatrixAlgebra:
    """so(n) or su(n) by its name."""
    n = int(name[3:-1])
    if name.startswith("so"):
        basis = np.zeros((n * (n - 1) // 2, n, n))
        for k, (i, j) in enumerate(combinations(range(n), 2)):
            basis[k, i, j], basis[k, j, i] = 1.0, -1.0
        return MatrixAlgebra(name, basis, n, np.ones(len(basis)))
    group = LieGroup.SU(n)
    matrices = np.array(group.generators, dtype=float)
    lengths = np.sqrt(inner(matrices, matrices))
    return MatrixAlgebra(name, matrices / lengths[:, None, None], group, lengths)


def points(name: str, count: int = 2) -> Iterator[tuple[MatrixAlgebra, Array, Array]]:
    """An algebra with random x and p."""
    random = np.random.default_rng(771 + ALGEBRAS.index(name))
    for _ in range(count):
        yield algebra(name), algebra(name).random(random), algebra(name).random(random)


# -- what the flows are made with ------------------------------------------------------------------


def target(name: str) -> Any:
    """Brockett's n, with whole numbers in the library's basis."""
    here = algebra(name)
    numbers = np.array([2.0, -1.0, 1.0, 1.0, -2.0, 3.0, 1.0, -1.0])[: here.dimension]
    return here.matrix(numbers * here.lengths)


def inertia(name: str) -> Any:
    """The diagonal of an operator J, (d,)."""
    return 1 + np.arange(algebra(name).dimension) / 2


def potential(x: Array | sympy.MatrixBase, slanted: Array) -> Any:
    """V(x) = <x, c>^3/8 + tr(x^4)/16, for numbers and for symbols."""
    rows, columns = x.shape
    along = sum(x[i, j] * int(slanted[i, j]) for i in range(rows) for j in range(columns)) / 2
    square = x @ x
    return along**3 / 8 + (square @ square).trace() / 16


def _options(name: str, kind: str) -> dict[str, Any]:
    if kind == "brockett":
        return {"brockett": target(name).round().astype(int).tolist()}
    if kind == "potential":
        return {"potential": lambda x: potential(x, target(name).round())}
    return {"inertia": inertia(name).tolist()} if kind == "inertia" else {}


@cache
def _orbit(name: str, kind: str) -> tuple[Flow, Probe]:
    flow = orbit_flow(algebra(name).stated, **_options(name, kind))
    return flow, Probe(derive(flow), {})


def orbit_rates(here: MatrixAlgebra, kind: str, x: Array, p: Array) -> tuple[Any, Any]:
    """x_dot and p_dot of the library's flow, as matrices."""
    state = np.concatenate([here.vector(m) / here.lengths for m in (x, p)])
    found = _orbit(here.name, kind)[1].rates(0.0, state).reshape(2, -1) * here.lengths
    return here.matrix(found[0]), here.matrix(found[1])


def orbit_energy(here: MatrixAlgebra, kind: str, x: Array, p: Array) -> float:
    """The energy of the library's flow."""
    state = np.concatenate([here.vector(m) / here.lengths for m in (x, p)])
    flow, probe = _orbit(here.name, kind)
    return float(probe.value([flow.integrals["energy"]], 0.0, state)[0])


@cache
def _places(flow: Flow) -> dict[str, Any]:
    """The index of the symbol of each entry and its factor, by matrix; -1 and 0 for a zero."""
    indices = {q: k for k, q in enumerate(flow.coordinates)}
    found = {}
    for name, matrix in flow.matrices.items():
        symbols, factors = np.full(matrix.shape, -1), np.zeros(matrix.shape)
        for i, j in product(range(matrix.rows), range(matrix.cols)):
            for symbol in matrix[i, j].free_symbols:
                symbols[i, j] = indices[symbol]
                factors[i, j] = float(matrix[i, j].coeff(symbol))
        found[name] = symbols, factors
    return found


def flow_rates(flow: Flow, probe: Probe, **matrices: Array) -> dict[str, Any]:
    """The rates of the matrices of a flow, whose entries are symbols up to a factor."""
    places = _places(flow)
    state = np.zeros(len(flow.coordinates))
    for name, value in matrices.items():
        symbols, factors = places[name]
        state[symbols[factors != 0]] = value[factors != 0] / factors[factors != 0]
    rates = probe.rates(0.0, state)
    return {name: factors * rates[symbols] for name, (symbols, factors) in places.items()}


@dataclass(frozen=True, eq=False)
class SampledPath:
    """A motion of the library at quadrature nodes from 0 to `SPAN`, the ends first and last."""

    t: Array
    weights: Array
    matrices: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        """A matrix along the motion (nt, n, m)."""
        return self.matrices[name]

    def integral(self, values: ArrayLike) -> Any:
        return self.weights @ np.asarray(values)


def path_of(flow: Flow, panels: int = 9, **start: Array) -> SampledPath:
    """The library's motion of a flow from some values of its matrices."""
    nodes, weights = panel_nodes(0.0, SPAN, panels)
    times = np.concatenate([[0.0], nodes, [SPAN]])
    motion = simulate(flow, flow.start(**start), (0, SPAN), at=times, rtol=1e-12, atol=1e-13)
    matrices = {name: np.asarray(motion[name]) for name in flow.matrices}
    return SampledPath(times, np.concatenate([[0.0], weights, [0.0]]), matrices)


@cache
def orbit_path(name: str, kind: str) -> SampledPath:
    """A motion of the library's flow on an orbit."""
    _, x, p = next(points(name, 1))
    return path_of(_orbit(name, kind)[0], x=x, p=p)
