"""Compact Lie algebras of matrices in NumPy, with random elements, beside the library's flows on them.

Every algebra has a basis of real skew matrices that is orthonormal in <a, b> = tr(a^T b)/2; su(n) is written by real matrices
of twice the size. Nothing here conjugates, so that complex steps pass through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from ...formulations.registry import derive
from ...geometry.lie import LieGroup
from ...integrate.simulate import simulate
from ...model.builders.bracket_flows import orbit_flow
from ...model.flow_system import Flow
from ..numeric import Probe, distance, panel_nodes, pseudo_inverse, worst
from ..row_registry import Corrected

__all__ = [
    "ALGEBRAS",
    "APART",
    "LIBRARY",
    "SPAN",
    "Algebra",
    "Path",
    "algebra",
    "both",
    "bracket",
    "exponential",
    "flow_rates",
    "gap",
    "inertia",
    "inner",
    "orbit_energy",
    "orbit_path",
    "orbit_rates",
    "over_points",
    "path_of",
    "points",
    "potential",
    "rotation",
    "skew",
    "target",
]

#: All algebras, and those whose flows the library states in symbols.
ALGEBRAS = ("so(3)", "so(4)", "su(2)", "su(3)")
LIBRARY = ("so(3)", "su(2)", "so(4)")
#: Two numbers that are said to differ must differ by this.
APART = 1e-3
SPAN = 1.0


def bracket(a: Any, b: Any) -> Any:
    """[a, b] = a b - b a, also of stacked matrices."""
    return a @ b - b @ a


def inner(a: Any, b: Any) -> Any:
    """<a, b> = tr(a^T b)/2, which is -tr(a b)/2 of skew matrices; stacks give a number each."""
    return np.sum(a * b, axis=(-2, -1)) / 2


def exponential(a: Any) -> Any:
    """exp of a matrix by its series and squares."""
    halvings = max(0, int(np.ceil(np.log2(1e-300 + np.max(np.abs(a)) * len(a))))) + 2
    one = np.eye(len(a))
    found = one
    for k in range(14, 0, -1):
        found = one + a @ found / (k * 2**halvings)
    for _ in range(halvings):
        found = found @ found
    return found


def gap(value: Any, expected: Any) -> float:
    """`distance` of complex arrays, by their real and imaginary parts."""
    parts = [np.stack([np.real(item), np.imag(item)]) for item in (np.asarray(value), np.asarray(expected))]
    return distance(*parts)


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
class Algebra:
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
    basis: Any
    stated: Any
    lengths: Any

    @property
    def dimension(self) -> int:
        return len(self.basis)

    def vector(self, matrix: Any) -> Any:
        """Components (..., d)."""
        return np.einsum("aij,...ij->...a", self.basis, matrix) / 2

    def matrix(self, vector: Any) -> Any:
        return np.tensordot(vector, self.basis, axes=1)

    def ad(self, x: Any) -> Any:
        """y -> [x, y] as a matrix (d, d)."""
        return self.vector(bracket(x, self.basis)).T

    def inverse(self, x: Any, y: Any) -> Any:
        """ad_x^-1 y in the image of ad_x."""
        return self.matrix(pseudo_inverse(self.ad(x)) @ self.vector(y))

    def kernel(self, x: Any) -> Any:
        """An orthonormal basis (d, k) of what commutes with x."""
        _, sizes, right = np.linalg.svd(self.ad(x))
        return right[sizes < 1e-10 * sizes[0]].T

    def image_part(self, x: Any, y: Any) -> Any:
        """The part of y in the image of ad_x."""
        found, kernel = self.vector(y), self.kernel(x)
        return self.matrix(found - kernel @ (kernel.T @ found))

    def random(self, random: np.random.Generator, size: float = 0.7) -> Any:
        return self.matrix(size * random.standard_normal(self.dimension))


@cache
def algebra(name: str) -> Algebra:
    """so(n) or su(n) by its name."""
    n = int(name[3:-1])
    if name.startswith("so"):
        basis = np.zeros((n * (n - 1) // 2, n, n))
        for k, (i, j) in enumerate(combinations(range(n), 2)):
            basis[k, i, j], basis[k, j, i] = 1.0, -1.0
        return Algebra(name, basis, n, np.ones(len(basis)))
    group = LieGroup.SU(n)
    matrices = np.array(group.generators, dtype=float)
    lengths = np.sqrt(inner(matrices, matrices))
    return Algebra(name, matrices / lengths[:, None, None], group, lengths)


def points(name: str, count: int = 2) -> Iterator[tuple[Algebra, Any, Any]]:
    """An algebra with random x and p."""
    random = np.random.default_rng(771 + ALGEBRAS.index(name))
    for _ in range(count):
        yield algebra(name), algebra(name).random(random), algebra(name).random(random)


def over_points(residual: Callable[[Algebra, Any, Any], float], names: tuple[str, ...] = ALGEBRAS, count: int = 2) -> float:
    """The worst residual over algebras and random points."""
    return worst(residual(*point) for name in names for point in points(name, count))


def both(residual: Callable[[Algebra, Any, Any, bool], float], names: tuple[str, ...] = ALGEBRAS) -> Corrected:
    """The worst residuals of a corrected form and of the printed one over algebras and random points."""

    def over(printed: bool) -> float:
        return over_points(lambda here, x, p: residual(here, x, p, printed), names)

    return Corrected(over(False), over(True))


# -- what the flows are made with ----------------------------------------------------------------------------------------


def target(name: str) -> Any:
    """Brockett's n, with whole numbers in the library's basis."""
    here = algebra(name)
    numbers = np.array([2.0, -1.0, 1.0, 1.0, -2.0, 3.0, 1.0, -1.0])[: here.dimension]
    return here.matrix(numbers * here.lengths)


def inertia(name: str) -> Any:
    """The diagonal of an operator J, (d,)."""
    return 1 + np.arange(algebra(name).dimension) / 2


def potential(x: Any, slanted: Any) -> Any:
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


def orbit_rates(here: Algebra, kind: str, x: Any, p: Any) -> tuple[Any, Any]:
    """x_dot and p_dot of the library's flow, as matrices."""
    state = np.concatenate([here.vector(m) / here.lengths for m in (x, p)])
    found = _orbit(here.name, kind)[1].rates(0.0, state).reshape(2, -1) * here.lengths
    return here.matrix(found[0]), here.matrix(found[1])


def orbit_energy(here: Algebra, kind: str, x: Any, p: Any) -> float:
    """The energy of the library's flow."""
    state = np.concatenate([here.vector(m) / here.lengths for m in (x, p)])
    flow, probe = _orbit(here.name, kind)
    return float(probe.value([flow.integrals["energy"]], 0.0, state)[0])


@cache
def _places(flow: Flow) -> dict[str, Any]:
    """For each matrix, the symbol of each entry by its number, and its factor; -1 and 0 where an entry is zero."""
    numbers = {q: k for k, q in enumerate(flow.coordinates)}
    found = {}
    for name, matrix in flow.matrices.items():
        symbols, factors = np.full(matrix.shape, -1), np.zeros(matrix.shape)
        for i in range(matrix.rows):
            for j in range(matrix.cols):
                for symbol in matrix[i, j].free_symbols:
                    symbols[i, j], factors[i, j] = numbers[symbol], float(matrix[i, j].coeff(symbol))
        found[name] = symbols, factors
    return found


def flow_rates(flow: Flow, probe: Probe, **matrices: Any) -> dict[str, Any]:
    """The rates of the matrices of a flow, whose entries are symbols up to a factor, at some values of them."""
    places = _places(flow)
    state = np.zeros(len(flow.coordinates))
    for name, value in matrices.items():
        symbols, factors = places[name]
        state[symbols[factors != 0]] = value[factors != 0] / factors[factors != 0]
    rates = probe.rates(0.0, state)
    return {name: factors * rates[symbols] for name, (symbols, factors) in places.items()}


@dataclass(frozen=True, eq=False)
class Path:
    """A motion of the library at nodes of a quadrature from 0 to `SPAN`, the ends first and last."""

    t: Any
    weights: Any
    matrices: dict[str, Any]

    def __getitem__(self, name: str) -> Any:
        """A matrix along the motion (nt, n, m)."""
        return self.matrices[name]

    def integral(self, values: Any) -> Any:
        return self.weights @ np.asarray(values)


def path_of(flow: Flow, panels: int = 9, **start: Any) -> Path:
    """The library's motion of a flow from some values of its matrices."""
    nodes, weights = panel_nodes(0.0, SPAN, panels)
    times = np.concatenate([[0.0], nodes, [SPAN]])
    motion = simulate(flow, flow.start(**start), (0, SPAN), at=times, rtol=1e-12, atol=1e-13)
    return Path(times, np.concatenate([[0.0], weights, [0.0]]), {name: np.asarray(motion[name]) for name in flow.matrices})


@cache
def orbit_path(name: str, kind: str) -> Path:
    """A motion of the library's flow on an orbit."""
    _, x, p = next(points(name, 1))
    return path_of(_orbit(name, kind)[0], x=x, p=p)
