r"""Poisson structures: brackets of functions on a space, given by a field of skew matrices.

    {f, g} = (df)^T Pi(x) dg,      x_dot = Pi(x) dH,      f_dot = {f, H}

Pi is skew and obeys Jacobi's identity

    sum_l Pi_il d_l Pi_jk + Pi_jl d_l Pi_ki + Pi_kl d_l Pi_ij = 0      for all i < j < k.

Its rank is even at each point. Functions C with Pi dC = 0 are Casimirs: every Hamiltonian conserves them (Bloch and others,
Supplement, section 3.13, where the sum of the momenta of hinged bodies is one).

A map phi takes Pi to D(phi) Pi D(phi)^T, which is a structure on its image only where that is a function of phi alone. That and
Jacobi's identity are checked, symbolically where the work is bounded, and at random points elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import sympy

from ..errors import ModelError
from ..typing import Matrix, Values
from . import subspaces
from .casimirs import independent_functions, polynomial_casimirs
from .vanishing import DIGITS, Certificate, generic_rank, value, vanish

__all__ = ["PoissonStructure", "jacobi_identity", "jacobiator"]

#: A structure constant that is nearer than this to a whole number is one.
WHOLE = 1e-12


def jacobiator(matrix: Any, symbols: Sequence[sympy.Symbol]) -> dict[tuple[int, int, int], sympy.Expr]:
    """The left sides of Jacobi's identity for i < j < k, of any skew SymPy matrix (n, n) in n symbols.

    >>> x, y, z = sympy.symbols("x y z")
    >>> jacobiator([[0, y, 0], [-y, 0, 1], [0, -1, 0]], [x, y, z])
    {(0, 1, 2): -1}
    """
    table, n = _read(matrix, symbols), len(symbols)
    places = {
        (a, b): [l for l in range(n) if table[a, b].has(symbols[l])] for a in range(n) for b in range(n) if table[a, b] != 0
    }

    def term(i: int, j: int, k: int) -> sympy.Expr:
        return sum(table[i, l] * sympy.diff(table[j, k], symbols[l]) for l in places.get((j, k), ()))

    return {(i, j, k): term(i, j, k) + term(j, k, i) + term(k, i, j) for i, j, k in combinations(range(n), 3)}


def jacobi_identity(matrix: Any, symbols: Sequence[sympy.Symbol]) -> Certificate:
    """Whether a matrix of expressions (n, n) is skew and obeys Jacobi's identity; true where it is a Poisson tensor.

    >>> x, y, z = sympy.symbols("x y z")
    >>> jacobi_identity([[0, z, -y], [-z, 0, x], [y, -x, 0]], [x, y, z]).by
    'symbolically'
    >>> jacobi_identity([[0, y, 0], [-y, 0, 1], [0, -1, 0]], [x, y, z]).holds
    False
    """
    table = _read(matrix, symbols)
    skew = vanish([table[i, j] + table[j, i] for i in range(len(symbols)) for j in range(i + 1)])
    if not skew.holds:
        return skew
    closed = vanish(list(jacobiator(table, symbols).values()))
    return closed if not closed.holds or skew.by == "symbolically" else Certificate(True, skew.by, closed.worst, closed.where)


@dataclass(frozen=True, init=False, eq=False)
class PoissonStructure:
    r"""A Poisson structure by its matrix in named symbols.

    Parameters
    ----------
    matrix : SymPy matrix (n, n), or rows of expressions
        Pi, with Pi_ij = {x_i, x_j}; other symbols than the n are parameters.
    symbols : sequence of n symbols

    Attributes
    ----------
    matrix, symbols
    certificate : Certificate
        What Jacobi's identity rests on.

    Raises
    ------
    ModelError
        Where the matrix is not skew or breaks Jacobi's identity.

    Examples
    --------
    The rigid body, whose bracket comes from so(3):

    >>> x, y, z = sympy.symbols("x y z")
    >>> body = PoissonStructure([[0, -z, y], [z, 0, -x], [-y, x, 0]], [x, y, z])
    >>> body.bracket(x, y), body.generic_rank, body.casimirs(degree=2)
    (-z, 2, (x**2 + y**2 + z**2,))
    """

    matrix: sympy.ImmutableMatrix
    symbols: tuple[sympy.Symbol, ...]
    certificate: Certificate = field(repr=False)

    def __init__(self, matrix: Matrix, symbols: Sequence[sympy.Symbol]) -> None:
        names = tuple(symbols)
        table = _read(matrix, names)
        certificate = jacobi_identity(table, names)
        if not certificate.holds:
            skew = vanish([table[i, j] + table[j, i] for i in range(len(names)) for j in range(i + 1)]).holds
            raise ModelError(
                f"The matrix is no Poisson structure: it {'breaks the identity of Jacobi' if skew else 'is not skew'}",
                seen=certificate.by,
                remedy="correct the matrix; jacobiator(...) names the triples of symbols",
            )
        object.__setattr__(self, "matrix", sympy.ImmutableMatrix(table))
        object.__setattr__(self, "symbols", names)
        object.__setattr__(self, "certificate", certificate)

    # -- constructions ---------------------------------------------------------------------------------------------

    @classmethod
    def canonical(cls, positions: Sequence[sympy.Symbol], momenta: Sequence[sympy.Symbol]) -> PoissonStructure:
        """{q_i, p_j} = 1 where i = j, and 0 elsewhere; symbols (q, p).

        >>> q, p = sympy.symbols("q p")
        >>> PoissonStructure.canonical([q], [p]).field(p**2 / 2 + sympy.cos(q)).T
        Matrix([[p, sin(q)]])
        """
        n = len(positions)
        one, zero = sympy.eye(n), sympy.zeros(n, n)
        return cls(sympy.Matrix(sympy.BlockMatrix([[zero, one], [-one, zero]])), (*positions, *momenta))

    @classmethod
    def lie_poisson(cls, algebra: Any, symbols: Sequence[sympy.Symbol] | None = None, sign: int = 1) -> PoissonStructure:
        """The structure {x_i, x_j} = sign c_ijk x_k on the dual of a Lie algebra with [e_i, e_j] = c_ijk e_k.

        Its Hamiltonian fields are x_dot = -sign ad*_xi x with xi = dH: the equations of Lie and Poisson, which are those of
        Euler and Poincare by their momenta.

        Parameters
        ----------
        algebra : LieGroup, LieAlgebra, or nested sequence or array (n, n, n)
            Where c is taken from, or c itself by i, j and k. Its Jacobi identity is checked with that of the structure.
        symbols : sequence of n symbols
            p_1, p_2, ... unless given: the momenta of `reduce`.
        sign : 1 or -1
            -1 belongs to left-invariant systems, such as the rigid body.

        >>> from dalembert.geometry.lie import LieGroup
        >>> body = PoissonStructure.lie_poisson(LieGroup.SO(3), sign=-1)
        >>> body.matrix[0, 1], body.casimirs(degree=2)
        (-p_3, (p_1**2 + p_2**2 + p_3**2,))
        """
        if sign not in (1, -1):
            raise ModelError("The sign of a Lie-Poisson structure must be 1 or -1", seen=sign, remedy="choose one")
        algebra = getattr(algebra, "algebra", algebra)
        constants = getattr(algebra, "constants", algebra)
        names = [sympy.Symbol(f"p_{k + 1}", real=True) for k in range(len(constants))] if symbols is None else symbols
        rows = [
            [sign * sum(_whole(c) * x for c, x in zip(constants[i][j], names, strict=True)) for j, _ in enumerate(names)]
            for i, _ in enumerate(names)
        ]
        return cls(rows, names)

    def product(self, other: PoissonStructure) -> PoissonStructure:
        """Both structures side by side on the space of all symbols, which must differ."""
        shared = {*self.symbols} & {*other.symbols}
        if shared:
            raise ModelError(
                "Both structures use the same symbols", seen=sorted(map(str, shared)), remedy="rename some of them"
            )
        return PoissonStructure(sympy.diag(self.matrix, other.matrix), (*self.symbols, *other.symbols))

    # -- brackets and fields ---------------------------------------------------------------------------------------

    def gradient(self, function: Any) -> sympy.Matrix:
        """df (n, 1)."""
        return sympy.Matrix([sympy.diff(function, symbol) for symbol in self.symbols])

    def bracket(self, first: Any, second: Any) -> sympy.Expr:
        """{f, g}."""
        return (self.gradient(first).T * self.matrix * self.gradient(second))[0]

    def field(self, hamiltonian: Any) -> sympy.Matrix:
        """Pi dH (n, 1): the rates of the symbols."""
        return self.matrix * self.gradient(hamiltonian)

    # -- rank ------------------------------------------------------------------------------------------------------

    def at(self, point: Values) -> Any:
        """Pi at a point, (n, n): values of symbols and parameters, by symbol or by name."""
        values = self._values(point)
        numbers = [value(entry, values) for entry in self.matrix]
        if not all(number.is_Number and number.is_finite for number in numbers):
            missing = sorted({str(symbol) for number in numbers for symbol in number.free_symbols})
            raise ModelError("The structure has no value at this point", seen=missing or point, remedy="give every symbol")
        return np.array(numbers, dtype=float).reshape(self.matrix.shape)

    def rank(self, point: Mapping[Any, Any]) -> int:
        """The rank at a point: the dimension of the symplectic leaf through it."""
        return int(subspaces.span(self.at(point)).shape[1])

    @property
    def generic_rank(self) -> int:
        """The rank at almost all points, and for almost all values of parameters."""
        return generic_rank(self.matrix)

    # -- Casimirs --------------------------------------------------------------------------------------------------

    def is_casimir(self, function: Any) -> Certificate:
        """Whether {f, g} = 0 for every g."""
        return vanish(list(self.field(function)))

    def casimirs(self, degree: int = 1, among: Sequence[sympy.Expr] | None = None) -> tuple[sympy.Expr, ...]:
        """Independent Casimirs among the polynomials of the symbols up to a degree, or among combinations of given functions.

        They are found by linear algebra on the coefficients. Of those that are found, functions of earlier ones are left out.

        Parameters
        ----------
        among : sequence of expressions
            Functions whose combinations with constant coefficients are tried instead of monomials.
        """
        found = polynomial_casimirs(self.matrix, self.symbols, degree, among)
        return independent_functions([f for f in found if self.is_casimir(f).holds], self.symbols)

    # -- maps ------------------------------------------------------------------------------------------------------

    def maps_to(self, other: PoissonStructure, images: Mapping[sympy.Symbol, Any]) -> Certificate:
        """Whether a map is Poisson: {f o phi, g o phi} = {f, g}' o phi for all f and g.

        Parameters
        ----------
        images : mapping of each symbol of `other` to a function of the symbols here
        """
        table = self._images(images, other.symbols)
        derivative = sympy.Matrix([[sympy.diff(table[y], x) for x in self.symbols] for y in other.symbols])
        carried = derivative * self.matrix * derivative.T
        wanted = other.matrix.xreplace(table)
        n = len(other.symbols)
        return vanish([carried[i, j] - wanted[i, j] for i in range(n) for j in range(i)])

    def pushforward(self, images: Mapping[sympy.Symbol, Any], section: Mapping[sympy.Symbol, Any]) -> PoissonStructure:
        """The structure on the image of a map: D(phi) Pi D(phi)^T, written in the new symbols.

        Parameters
        ----------
        images : mapping of new symbols to functions of the symbols here
        section : mapping of the symbols here to functions of the new ones
            A right inverse: one point over each image. For a change of symbols it is the inverse.

        Raises
        ------
        ModelError
            Where the section does not lie over the image, or the brackets of the images are no functions of the images.

        Examples
        --------
        Two turning bodies seen from each other:

        >>> a, b, p, q, theta = sympy.symbols("a b p q theta")
        >>> both = PoissonStructure.canonical([a, b], [p, q])
        >>> both.pushforward({theta: b - a, p: p, q: q}, {a: 0, b: theta}).matrix
        Matrix([
        [ 0, -1, 1],
        [ 1,  0, 0],
        [-1,  0, 0]])
        """
        symbols = tuple(images)
        table = self._images(images, symbols)
        over = {x: sympy.Integer(0) + section.get(x, x) for x in self.symbols}
        lifted = vanish([table[y].xreplace(over) - y for y in symbols])
        if not lifted.holds:
            raise ModelError("The section does not lie over the image of the map", seen=section, remedy="give a right inverse")
        derivative = sympy.Matrix([[sympy.diff(table[y], x) for x in self.symbols] for y in symbols])
        carried = (derivative * self.matrix * derivative.T).xreplace(over).applyfunc(sympy.expand)
        found = PoissonStructure(carried, symbols)
        if not self.maps_to(found, images).holds:
            raise ModelError(
                "The brackets of the images are no functions of the images",
                seen=", ".join(map(str, symbols)),
                remedy="reduce by a map that is invariant under the symmetry, or give all of its invariants",
            )
        return found

    def restricted(self, values: Mapping[sympy.Symbol, Any]) -> PoissonStructure:
        """The structure on the submanifold where some symbols are given functions of the others and of parameters.

        Every Hamiltonian field must stay on it, as on level sets of Casimirs.

        >>> x, y, z = sympy.symbols("x y z", positive=True)
        >>> sphere = PoissonStructure([[0, z, -y], [-z, 0, x], [y, -x, 0]], [x, y, z])
        >>> sphere.restricted({z: sympy.sqrt(1 - x**2 - y**2)}).matrix[0, 1]
        sqrt(-x**2 - y**2 + 1)
        """
        table = {symbol: sympy.Integer(0) + function for symbol, function in values.items()}
        kept = [x for x in self.symbols if x not in table]
        unknown = sorted(str(x) for x in table if x not in self.symbols)
        circular = sorted(str(x) for f in table.values() for x in f.free_symbols if x in table)
        if unknown or circular or not kept:
            raise ModelError(
                "Symbols of the structure must be given as functions of the other ones",
                seen=unknown or circular or "all symbols",
                remedy="solve for some of its own symbols",
            )
        place = {x: k for k, x in enumerate(self.symbols)}
        on = self.matrix.xreplace(table)
        drift = [
            on[place[z], k] - sum(sympy.diff(f, x) * on[place[x], k] for x in kept)
            for z, f in table.items()
            for k in range(len(self.symbols))
        ]
        if not vanish(drift).holds:
            raise ModelError(
                "Hamiltonian fields leave the submanifold", seen=table, remedy="restrict to level sets of Casimirs"
            )
        rows = [place[x] for x in kept]
        return PoissonStructure(on.extract(rows, rows), kept)

    # -- reading ---------------------------------------------------------------------------------------------------

    def _values(self, point: Values) -> dict[sympy.Symbol, sympy.Expr]:
        known = {symbol.name: symbol for symbol in {*self.symbols, *self.matrix.free_symbols}}
        names = {getattr(key, "name", str(key)): number for key, number in point.items()}
        return {known[name]: _number(number) for name, number in names.items() if name in known}

    def _images(self, images: Mapping[sympy.Symbol, Any], symbols: Sequence[sympy.Symbol]) -> dict[sympy.Symbol, sympy.Expr]:
        missing = [str(y) for y in symbols if y not in images]
        if missing:
            raise ModelError("The map does not give every symbol of its image", seen=missing, remedy="add what is missing")
        return {y: sympy.Integer(0) + images[y] for y in symbols}

    def __iter__(self) -> Iterator[sympy.Symbol]:
        return iter(self.symbols)


def _number(entry: Any) -> sympy.Expr:
    """A number or an expression; text is refused, because SymPy would execute it."""
    if isinstance(entry, sympy.Basic):
        return entry
    if isinstance(entry, str):
        raise ModelError("A Poisson structure was given as text", seen=entry[:60], remedy="give expressions of SymPy")
    if isinstance(entry, int | np.integer):
        return sympy.Integer(int(entry))
    return sympy.Float(float(entry), DIGITS)


def _whole(entry: Any) -> sympy.Expr:
    """A number or an expression; structure constants of matrices are whole numbers up to rounding."""
    if isinstance(entry, float | np.floating) and abs(float(entry) - round(float(entry))) < WHOLE:
        return sympy.Integer(round(float(entry)))
    return _number(entry)


def _read(matrix: Any, symbols: Sequence[sympy.Symbol]) -> sympy.Matrix:
    rows = [list(matrix.row(i)) for i in range(matrix.rows)] if isinstance(matrix, sympy.MatrixBase) else matrix
    if isinstance(rows, str):
        raise ModelError("A Poisson structure was given as text", seen=rows[:60], remedy="give expressions of SymPy")
    table = sympy.Matrix([[_number(entry) for entry in row] for row in rows])
    n = len(symbols)
    if table.shape != (n, n) or len({*symbols}) != n:
        raise ModelError(
            "A Poisson structure needs a square matrix with a row for each symbol",
            seen=f"{table.rows} x {table.cols} for {', '.join(map(str, symbols))}",
            remedy="give n x n expressions and n different symbols",
        )
    return table
