r"""Rigid bodies on compact semisimple groups, with the inertia operators of Mishchenko and Fomenko.

With a and b in the Cartan algebra and a symmetric D on it, the sectional operator

    phi(E_alpha) = alpha(b)/alpha(a) E_alpha,      phi(h) = D h,      [phi(M), a] = [M, b]

gives Euler's equations M_dot = [M, Omega], Omega = phi(M), which are the Lax equation of M + z a
with Omega + z b for every z. Hence invariant polynomials of M + z a are conserved, coefficient by
coefficient: (dim g + rank g) / 2 functions in involution, enough for integrability on generic
orbits (Mishchenko and Fomenko 1976, 1978; Bloch and others, Supplement, after 7.7.37). For A the
operator restricted to real matrices is Manakov's, Omega_ij = (b_i - b_j)/(a_i - a_j) M_ij.

The compact algebra has the basis  i alpha_k^v,  E_alpha - E_-alpha,  i (E_alpha + E_-alpha).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import sympy

from ...errors import ModelError
from ...geometry.root_systems import RootSystem
from ...model.flow_system import Action, Flow
from ...model.symbols import Coordinate, as_expression, as_matrix
from ...typing import Array, ArrayLike, ComplexArray, Expression

__all__ = ["CompactAlgebra", "mishchenko_fomenko", "shifted_invariants"]

ZERO = sympy.S.Zero
#: Denominators of structure constants, and how near a number must be.
LARGEST_DENOMINATOR, NEAR = 12, 1e-9
#: The highest degree of integrals that are written out, and the largest dimension for it.
WRITTEN_DEGREE, WRITTEN_DIMENSION = 4, 10


@dataclass(frozen=True)
class CompactAlgebra:
    """The compact Lie algebra of a root system with its basis of skew-Hermitian matrices.

    Attributes
    ----------
    roots : RootSystem

    Examples
    --------
    >>> algebra = CompactAlgebra(RootSystem("G2"))
    >>> algebra.dimension, algebra.names[:3]
    (14, ('h_1', 'h_2', 'x_1'))
    """

    roots: RootSystem

    @cached_property
    def names(self) -> tuple[str, ...]:
        """h_k for the Cartan algebra, x_j and y_j for the j-th positive root."""
        count = len(self.roots.positive_roots)
        cartan = (f"h_{k + 1}" for k in range(self.roots.rank))
        pairs = (f"{key}_{j + 1}" for j in range(count) for key in "xy")
        return (*cartan, *pairs)

    @property
    def dimension(self) -> int:
        """The dimension of the algebra."""
        return len(self.names)

    @cached_property
    def exact_basis(self) -> tuple[sympy.ImmutableMatrix, ...]:
        """The matrices of the basis in symbols, (N x N) each."""
        roots = self.roots
        coroots = (roots.diagonal(roots.coroot(root)) for root in roots.simple_roots)
        found = [sympy.I * h for h in coroots]
        for E in roots.root_vectors:
            found += [E - E.T, sympy.I * (E + E.T)]
        return tuple(sympy.ImmutableMatrix(matrix) for matrix in found)

    @cached_property
    def basis(self) -> ComplexArray:
        """The matrices of the basis, (dim, N, N)."""
        return np.array([np.array(e.evalf().tolist(), dtype=complex) for e in self.exact_basis])

    @cached_property
    def gram(self) -> Array:
        """-Re tr(T_a T_b), positive definite, (dim, dim)."""
        return np.asarray(-np.einsum("aij,bji->ab", self.basis, self.basis).real)

    def components(self, matrix: ComplexArray) -> Array:
        """The components (dim,) of an element of the algebra."""
        inner = -np.einsum("aij,ji->a", self.basis, matrix).real
        return np.asarray(np.linalg.solve(self.gram, inner))

    def matrix(self, components: ArrayLike) -> ComplexArray:
        """The element (N, N) with given components."""
        return np.asarray(np.einsum("a,aij->ij", np.asarray(components, float), self.basis))

    @cached_property
    def constants(self) -> tuple[tuple[int, int, int, sympy.Rational], ...]:
        """(a, b, c, C) of [T_a, T_b] = C T_c + ... with a < b, those that are not zero."""
        found = []
        for a in range(self.dimension):
            for b in range(a + 1, self.dimension):
                left, right = self.basis[a], self.basis[b]
                for c, value in enumerate(self.components(left @ right - right @ left)):
                    near = Fraction(float(value)).limit_denominator(LARGEST_DENOMINATOR)
                    if abs(float(near) - value) > NEAR:
                        what = "A structure constant is not a small fraction"
                        raise ModelError(what, float(value), "choose another root system")
                    if near:
                        constant = sympy.Rational(near.numerator, near.denominator)
                        found.append((a, b, c, constant))
        return tuple(found)

    def bracket(self, left: Sequence[sympy.Expr], right: Sequence[sympy.Expr]) -> list[sympy.Expr]:
        """The components of [left, right] from those of both."""
        terms: list[list[sympy.Expr]] = [[] for _ in self.names]
        for a, b, c, constant in self.constants:
            terms[c].append(constant * (left[a] * right[b] - left[b] * right[a]))
        return [sympy.Add(*parts) for parts in terms]

    def cartan(self, point: ArrayLike) -> ComplexArray:
        """i diag(w_k . x) of a point of the Cartan algebra, (N, N)."""
        return np.diag(1j * (np.array(self.roots.weights) @ np.asarray(point, dtype=float)))


def mishchenko_fomenko(
    roots: str | RootSystem,
    a: Sequence[Expression],
    b: Sequence[Expression],
    D: Sequence[Sequence[Expression]] | None = None,
    *,
    name: str = "",
) -> Flow:
    """Euler's equations M_dot = [M, phi(M)] on a compact semisimple algebra.

    Parameters
    ----------
    roots : str or RootSystem
        "A2", "B2", "G2", ...
    a, b : sequences of d expressions
        Points of the Cartan algebra in the coordinates of the root system; no root vanishes on a.
    D : matrix (rank x rank)
        The operator on the Cartan algebra in the basis of simple coroots; the identity by default.

    Returns
    -------
    Flow
        In the components h_k, x_j, y_j of M (see `CompactAlgebra`), with the matrix M as a real one
        of twice the size and, for algebras of dimension 10 at most, integrals of M + z a up to
        degree 4. `shifted_invariants` has all of them as numbers.

    Raises
    ------
    ModelError
        Where a root vanishes on a, so that the operator is not defined.

    Examples
    --------
    >>> flow = mishchenko_fomenko("A1", [1, -1], [2, -1], [[3]])
    >>> flow.rates[flow.coordinates[0]], sorted(flow.integrals)
    (0, ['energy', 'invariant_2_0', 'invariant_2_1'])
    """
    system = roots if isinstance(roots, RootSystem) else RootSystem(roots)
    algebra, factors = CompactAlgebra(system), _root_factors(system, a, b)
    symbols = [Coordinate(label) for label in algebra.names]
    r = system.rank
    table = sympy.eye(r) if D is None else as_matrix(D)
    if table.shape != (r, r):
        what = "The operator on the Cartan algebra needs a row for each simple root"
        raise ModelError(what, seen=str(table.shape), remedy=f"give {r} x {r}")
    turned = list(table * sympy.Matrix(symbols[:r]))
    turned += [
        factor * symbols[r + 2 * j + side] for j, factor in enumerate(factors) for side in (0, 1)
    ]
    rates = algebra.bracket(symbols, turned)
    gram = sympy.Matrix(len(symbols), len(symbols), lambda i, j: _whole(float(algebra.gram[i, j])))
    self_paired = gram[:r, :r] * table
    if self_paired != self_paired.T:
        what = "The operator on the Cartan algebra must be symmetric in the invariant form"
        raise ModelError(what, seen=str(table.tolist())[:80], remedy="give D with G D = (G D)^T")
    energy = (sympy.Matrix(symbols).T * gram * sympy.Matrix(turned))[0] / 2
    matrix, element = _real(algebra, symbols), _real(algebra, turned)
    integrals = {"energy": sympy.expand(energy)}
    if algebra.dimension <= WRITTEN_DIMENSION:
        integrals |= _written(algebra, symbols, a)
    side = sympy.ImmutableMatrix(-element)
    return Flow(
        dict(zip(symbols, rates, strict=True)),
        integrals=integrals,
        matrices={"M": matrix},
        actions=[Action("M", side, side)],
        name=name or f"rigid body on the compact group of {system}",
    )


def _root_factors(
    system: RootSystem, a: Sequence[Expression], b: Sequence[Expression]
) -> list[sympy.Expr]:
    """alpha(b) / alpha(a) for the positive roots."""
    points = [[as_expression(value) for value in point] for point in (a, b)]
    if any(len(point) != system.dimension for point in points):
        what = f"Points of the Cartan algebra of {system} have {system.dimension} coordinates"
        raise ModelError(what, seen=[len(p) for p in points], remedy="give one number for each")
    found = []
    for root in system.positive_roots:
        below, above = (
            sympy.Add(*(c * x for c, x in zip(root, point, strict=True))) for point in points
        )
        if below == 0:
            what = "The point a is not regular: a root vanishes on it"
            raise ModelError(what, seen=root, remedy="move a off the walls of the Weyl chambers")
        found.append(above / below)
    return found


def _whole(number: float) -> sympy.Rational:
    near = Fraction(number).limit_denominator(LARGEST_DENOMINATOR)
    return sympy.Rational(near.numerator, near.denominator)


def _complex(algebra: CompactAlgebra, components: Sequence[sympy.Expr]) -> sympy.Matrix:
    size = len(algebra.roots.weights)
    pairs = zip(components, algebra.exact_basis, strict=True)
    return sum((c * e for c, e in pairs), sympy.zeros(size, size))


def _real(algebra: CompactAlgebra, components: Sequence[sympy.Expr]) -> sympy.Matrix:
    """R + i S as ((R, -S), (S, R))."""
    size = len(algebra.roots.weights)
    real, imaginary = sympy.zeros(size, size), sympy.zeros(size, size)
    for c, e in zip(components, algebra.exact_basis, strict=True):
        real += c * e.applyfunc(sympy.re)
        imaginary += c * e.applyfunc(sympy.im)
    return real.row_join(-imaginary).col_join(imaginary.row_join(real))


def _written(
    algebra: CompactAlgebra, symbols: Sequence[sympy.Expr], a: Sequence[Expression]
) -> dict[str, sympy.Expr]:
    """Coefficients of z in tr (-i (M + z a))^k for degrees k up to 4, those that depend on M."""
    z, found = sympy.Dummy("z"), {}
    exact = [sympy.nsimplify(as_expression(value), rational=True) for value in a]
    shifted = -sympy.I * _complex(algebra, symbols) + z * algebra.roots.diagonal(exact)
    power, reached = shifted, 1
    for k in (k for k in algebra.roots.degrees if k <= WRITTEN_DEGREE):
        while reached < k - 1:
            power, reached = (power * shifted).applyfunc(sympy.expand), reached + 1
        trace = sympy.Add(*(x * y for x, y in zip(power, shifted.T, strict=True)))
        poly = sympy.Poly(sympy.expand(trace), z)
        for j in range(k):
            coefficient = poly.coeff_monomial(z**j)
            if coefficient.has(*symbols):
                found[f"invariant_{k}_{j}"] = sympy.expand(coefficient)
    return found


def shifted_invariants(roots: str | RootSystem, a: ArrayLike, M: ArrayLike) -> Array:
    """All coefficients of the invariant polynomials of M + z a, as numbers.

    Parameters
    ----------
    a : array (d,)
        A point of the Cartan algebra.
    M : array (dim,)
        Components of the momentum, as in `mishchenko_fomenko`.

    Returns
    -------
    array (sum of the degrees,)
        For each degree k the coefficients of z^0, ..., z^(k-1) in tr (-i (M + z a))^k; for D the
        Pfaffian stands for the trace of degree n. Generically (dim + rank)/2 independent functions.

    Examples
    --------
    >>> found = shifted_invariants("A1", [1.0, -1.0], [0.1, 0.2, 0.3])
    >>> found.round(3).tolist()      # tr, and the component along a
    [0.28, 0.4]
    """
    system = roots if isinstance(roots, RootSystem) else RootSystem(roots)
    algebra = CompactAlgebra(system)
    momentum, shift = -1j * algebra.matrix(M), -1j * algebra.cartan(a)
    found: list[float] = []
    for place, k in enumerate(system.degrees):
        last = place == system.degrees.index(k) and k == system.rank  # one of the two in D4
        function = _pfaffian_of if system.family == "D" and last else _trace_of
        nodes = np.cos(np.pi * (np.arange(k + 1) + 0.5) / (k + 1))
        values = [function(system, momentum + z * shift, k) for z in nodes]
        found += np.linalg.solve(np.vander(nodes, increasing=True), values)[:k].tolist()
    return np.array(found)


def _trace_of(system: RootSystem, matrix: ComplexArray, k: int) -> float:
    return float(np.trace(np.linalg.matrix_power(matrix, k)).real)


def _pfaffian_of(system: RootSystem, matrix: ComplexArray, k: int) -> float:
    form = np.array(system.quadratic_form.tolist(), dtype=float)
    return float(_pfaffian(matrix @ form).real)


def _pfaffian(skew: ComplexArray) -> complex:
    """Along the first row; the size is small."""
    if not len(skew):
        return 1.0
    total = 0j
    for j in range(1, len(skew)):
        kept = [k for k in range(1, len(skew)) if k != j]
        total += (-1) ** (j - 1) * skew[0, j] * _pfaffian(skew[np.ix_(kept, kept)])
    return total
