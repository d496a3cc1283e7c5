r"""Poisson structures: brackets of functions on a space, given by a field of skew matrices.

    {f, g} = (df)^T Pi(x) dg,      x_dot = Pi(x) dH,      f_dot = {f, H}

Pi is skew and obeys Jacobi's identity

    sum_l Pi_il d_l Pi_jk + Pi_jl d_l Pi_ki + Pi_kl d_l Pi_ij = 0      for all i < j < k.

Its rank is even at each point. Functions C with Pi dC = 0 are Casimirs, which every Hamiltonian
conserves (Bloch, Supplement, section 3.13: the sum of the momenta of hinged bodies is one).

A map phi takes Pi to D(phi) Pi D(phi)^T, which is a structure on its image only where that is a
function of phi alone. That and Jacobi's identity are checked, symbolically where possible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..errors import ModelError
from ..typing import Array, Expression, Matrix, Values
from . import subspaces
from .casimirs import independent_functions, polynomial_casimirs
from .vanishing import DIGITS, generic_rank, value, vanish

if TYPE_CHECKING:
    from ..algebra.structure import Verdict
    from .lie import LieGroup
    from .lie_algebra import LieAlgebra

__all__ = ["PoissonStructure", "jacobi_identity", "jacobiator"]

#: A structure constant that is nearer than this to a whole number is one.
WHOLE = 1e-12


def jacobiator(
    matrix: Matrix, symbols: Sequence[sympy.Symbol]
) -> dict[tuple[int, int, int], sympy.Expr]:
    """The left sides of Jacobi's identity, i < j < k, of a skew matrix (n, n) in n symbols.

    >>> x, y, z = sympy.symbols("x y z")
    >>> jacobiator([[0, y, 0], [-y, 0, 1], [0, -1, 0]], [x, y, z])
    {(0, 1, 2): -1}
    """
    table, n = _read(matrix, symbols), len(symbols)

    def term(i: int, j: int, k: int) -> sympy.Expr:
        rates = [
            (l, sympy.diff(table[j, k], x)) for l, x in enumerate(symbols) if table[j, k].has(x)
        ]
        return sum(table[i, l] * rate for l, rate in rates)

    triples = combinations(range(n), 3)
    return {(i, j, k): term(i, j, k) + term(j, k, i) + term(k, i, j) for i, j, k in triples}


def jacobi_identity(matrix: Matrix, symbols: Sequence[sympy.Symbol]) -> Verdict:
    """Whether a matrix of expressions (n, n) is a Poisson tensor: skew, with Jacobi's identity.

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
    return closed if not closed.holds or skew.is_proved else skew


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
    certificate : Verdict
        Jacobi's identity.

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
    certificate: Verdict = field(repr=False)

    def __init__(self, matrix: Matrix, symbols: Sequence[sympy.Symbol]) -> None:
        names = tuple(symbols)
        table = _read(matrix, names)
        certificate = jacobi_identity(table, names)
        if not certificate.holds:
            pairs = combinations_with_replacement(range(len(names)), 2)
            skew = vanish([table[i, j] + table[j, i] for i, j in pairs]).holds
            fault = "breaks the identity of Jacobi" if skew else "is not skew"
            remedy = "correct the matrix; jacobiator(...) names the triples of symbols"
            raise ModelError(f"The matrix {fault}: no Poisson structure", certificate.by, remedy)
        object.__setattr__(self, "matrix", sympy.ImmutableMatrix(table))
        object.__setattr__(self, "symbols", names)
        object.__setattr__(self, "certificate", certificate)

    # -- constructions -----------------------------------------------------------------------------

    @classmethod
    def canonical(
        cls, positions: Sequence[sympy.Symbol], momenta: Sequence[sympy.Symbol]
    ) -> PoissonStructure:
        """{q_i, p_j} = 1 where i = j, and 0 elsewhere; symbols (q, p).

        >>> q, p = sympy.symbols("q p")
        >>> PoissonStructure.canonical([q], [p]).field(p**2 / 2 + sympy.cos(q)).T
        Matrix([[p, sin(q)]])
        """
        n = len(positions)
        one, zero = sympy.eye(n), sympy.zeros(n, n)
        blocks = sympy.BlockMatrix([[zero, one], [-one, zero]])
        return cls(sympy.Matrix(blocks), (*positions, *momenta))

    @classmethod
    def symplectic(cls, form: Matrix, symbols: Sequence[sympy.Symbol]) -> PoissonStructure:
        """The structure of a symplectic form Omega(X, Y) = X^T W Y: i_X Omega = dH for X = Pi dH.

        Pi = (W^T)^-1; dq ^ dp has the matrix ((0, 1), (-1, 0)) in the symbols (q, p).

        Raises
        ------
        ModelError
            Where the form is degenerate, not skew or not closed.

        >>> theta, z = sympy.symbols("theta z")
        >>> PoissonStructure.symplectic([[0, 1], [-1, 0]], [theta, z]).bracket(theta, z)
        1
        """
        table = _read(form, symbols)
        if generic_rank(table) < len(symbols):
            what = "A symplectic form must not be degenerate"
            raise ModelError(what, f"rank below {len(symbols)}", "give a regular matrix")
        inverse = (table.T.adjugate() / table.det(method="berkowitz")).applyfunc(sympy.cancel)
        return cls(inverse, symbols)

    @classmethod
    def lie_poisson(
        cls,
        algebra: LieGroup | LieAlgebra | Array | Sequence[Sequence[Sequence[Expression]]],
        symbols: Sequence[sympy.Symbol] | None = None,
        sign: int = 1,
    ) -> PoissonStructure:
        """{x_i, x_j} = sign c_ijk x_k on the dual of a Lie algebra with [e_i, e_j] = c_ijk e_k.

        Its Hamiltonian fields are x_dot = -sign ad*_xi x with xi = dH: the equations of Lie and
        Poisson, which are those of Euler and Poincare by their momenta.

        Parameters
        ----------
        algebra : LieGroup, LieAlgebra, or nested sequence or array (n, n, n)
            Source of c, or c itself by i, j and k; checked by the structure's Jacobi identity.
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
            raise ModelError("The sign of a Lie-Poisson structure is 1 or -1", sign, "choose one")
        constants: Any = getattr(getattr(algebra, "algebra", algebra), "constants", algebra)
        momenta = [sympy.Symbol(f"p_{k + 1}", real=True) for k in range(len(constants))]
        names = momenta if symbols is None else symbols

        def entry(row: Sequence[Expression]) -> sympy.Expr:
            return sign * sum(_whole(c) * x for c, x in zip(row, names, strict=True))

        n = range(len(names))
        return cls([[entry(constants[i][j]) for j in n] for i in n], names)

    def product(self, other: PoissonStructure) -> PoissonStructure:
        """Both structures side by side on the space of all symbols, which must differ."""
        shared = {*self.symbols} & {*other.symbols}
        if shared:
            seen = sorted(map(str, shared))
            raise ModelError("Both structures share symbols", seen, "rename some of them")
        matrix = sympy.diag(self.matrix, other.matrix)
        return PoissonStructure(matrix, (*self.symbols, *other.symbols))

    # -- brackets and fields -----------------------------------------------------------------------

    def gradient(self, function: Expression) -> sympy.Matrix:
        """df (n, 1)."""
        return sympy.Matrix([sympy.diff(function, symbol) for symbol in self.symbols])

    def bracket(self, first: Expression, second: Expression) -> sympy.Expr:
        """{f, g}."""
        return (self.gradient(first).T * self.matrix * self.gradient(second))[0]

    def field(self, hamiltonian: Expression) -> sympy.Matrix:
        """Pi dH (n, 1): the rates of the symbols."""
        return self.matrix * self.gradient(hamiltonian)

    # -- rank --------------------------------------------------------------------------------------

    def at(self, point: Values) -> Array:
        """Pi at a point, (n, n): values of symbols and parameters, by symbol or by name."""
        values = self._values(point)
        numbers = [value(entry, values) for entry in self.matrix]
        if not all(number.is_Number and number.is_finite for number in numbers):
            missing = sorted({str(symbol) for number in numbers for symbol in number.free_symbols})
            what = "The structure has no value at this point"
            raise ModelError(what, seen=missing or point, remedy="give every symbol")
        return np.array(numbers, dtype=float).reshape(self.matrix.shape)

    def rank(self, point: Values) -> int:
        """The rank at a point: the dimension of the symplectic leaf through it."""
        return int(subspaces.span(self.at(point)).shape[1])

    @property
    def generic_rank(self) -> int:
        """The rank at almost all points, and for almost all values of parameters."""
        return generic_rank(self.matrix)

    # -- Casimirs ----------------------------------------------------------------------------------

    def is_casimir(self, function: Expression) -> Verdict:
        """Whether {f, g} = 0 for every g."""
        return vanish(list(self.field(function)))

    def casimirs(
        self, degree: int = 1, among: Sequence[sympy.Expr] | None = None
    ) -> tuple[sympy.Expr, ...]:
        """Independent Casimirs among polynomials, or combinations of given functions.

        Linear algebra on the coefficients finds them; functions of earlier ones are left out.

        Parameters
        ----------
        among : sequence of expressions
            Functions whose combinations with constant coefficients are tried instead of monomials.
        """
        found = polynomial_casimirs(self.matrix, self.symbols, degree, among)
        return independent_functions([f for f in found if self.is_casimir(f).holds], self.symbols)

    # -- maps --------------------------------------------------------------------------------------

    def maps_to(
        self, other: PoissonStructure, images: Mapping[sympy.Symbol, Expression]
    ) -> Verdict:
        """Whether a map is Poisson: {f o phi, g o phi} = {f, g}' o phi for all f and g.

        Parameters
        ----------
        images : mapping of each symbol of `other` to a function of the symbols here
        """
        table = self._images(images, other.symbols)
        derivative = self._derivative([table[y] for y in other.symbols])
        carried = derivative * self.matrix * derivative.T
        wanted = other.matrix.xreplace(table)
        n = len(other.symbols)
        return vanish([carried[i, j] - wanted[i, j] for i in range(n) for j in range(i)])

    def pushforward(
        self, images: Mapping[sympy.Symbol, Expression], section: Mapping[sympy.Symbol, Expression]
    ) -> PoissonStructure:
        """The structure on the image of a map: D(phi) Pi D(phi)^T, written in the new symbols.

        Parameters
        ----------
        images : mapping of new symbols to functions of the symbols here
        section : mapping of the symbols here to functions of the new ones
            A right inverse: one point over each image. For a change of symbols it is the inverse.

        Raises
        ------
        ModelError
            Where the section does not lie over the image, or the brackets of the images are no
            functions of the images.

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
            what = "The section does not lie over the image of the map"
            raise ModelError(what, seen=section, remedy="give a right inverse")
        derivative = self._derivative([table[y] for y in symbols])
        carried = (derivative * self.matrix * derivative.T).xreplace(over).applyfunc(sympy.expand)
        found = PoissonStructure(carried, symbols)
        if not self.maps_to(found, images).holds:
            raise ModelError(
                "The brackets of the images are no functions of the images",
                seen=", ".join(map(str, symbols)),
                remedy="reduce by an invariant map, or give all invariants of the symmetry",
            )
        return found

    def restricted(self, values: Mapping[sympy.Symbol, Expression]) -> PoissonStructure:
        """The structure on the submanifold where some symbols are given functions of the others.

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
            what, remedy = "Hamiltonian fields leave the submanifold", "restrict to Casimir levels"
            raise ModelError(what, seen=table, remedy=remedy)
        rows = [place[x] for x in kept]
        return PoissonStructure(on.extract(rows, rows), kept)

    # -- reading -----------------------------------------------------------------------------------

    def _values(self, point: Values) -> dict[sympy.Symbol, sympy.Expr]:
        known = {symbol.name: symbol for symbol in {*self.symbols, *self.matrix.free_symbols}}
        names = {getattr(key, "name", str(key)): number for key, number in point.items()}
        return {known[name]: _number(number) for name, number in names.items() if name in known}

    def _images(
        self, images: Mapping[sympy.Symbol, Expression], symbols: Sequence[sympy.Symbol]
    ) -> dict[sympy.Symbol, sympy.Expr]:
        missing = [str(y) for y in symbols if y not in images]
        if missing:
            what = "The map does not give every symbol of its image"
            raise ModelError(what, seen=missing, remedy="add what is missing")
        return {y: sympy.Integer(0) + images[y] for y in symbols}

    def _derivative(self, functions: Sequence[sympy.Expr]) -> sympy.Matrix:
        return sympy.Matrix([[sympy.diff(f, x) for x in self.symbols] for f in functions])

    def __iter__(self) -> Iterator[sympy.Symbol]:
        return iter(self.symbols)


def _number(entry: Expression | str) -> sympy.Expr:
    """A number or an expression; text is refused, because SymPy would execute it."""
    if isinstance(entry, sympy.Basic):
        return entry
    if isinstance(entry, str):
        raise _given_as_text(entry)
    if isinstance(entry, int | np.integer):
        return sympy.Integer(int(entry))
    return sympy.Float(float(entry), DIGITS)


def _whole(entry: Expression) -> sympy.Expr:
    """A number or an expression; structure constants of matrices are rounded to integers."""
    if isinstance(entry, float | np.floating) and abs(float(entry) - round(float(entry))) < WHOLE:
        return sympy.Integer(round(float(entry)))
    return _number(entry)


def _given_as_text(text: str) -> ModelError:
    what = "A Poisson structure was given as text"
    return ModelError(what, seen=text[:60], remedy="give expressions of SymPy")


def _read(matrix: Matrix, symbols: Sequence[sympy.Symbol]) -> sympy.Matrix:
    if isinstance(matrix, str):
        raise _given_as_text(matrix)
    rows = matrix.tolist() if isinstance(matrix, sympy.MatrixBase) else matrix
    table = sympy.Matrix([[_number(entry) for entry in row] for row in rows])
    n = len(symbols)
    if table.shape != (n, n) or len({*symbols}) != n:
        what = "A Poisson structure needs a square matrix with a row for each symbol"
        seen = f"{table.rows} x {table.cols} for {', '.join(map(str, symbols))}"
        raise ModelError(what, seen, "give n x n expressions and n different symbols")
    return table
