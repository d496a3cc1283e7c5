r"""Principal connections on S x G for a left action, from their local form.

With shape symbols r, group symbols g and the body velocity xi = g^-1 g_dot (`GroupCoordinates`),

    A(q) q_dot = Ad_g (xi + A_loc(r) r_dot),  horizontal:  xi = -A_loc(r) r_dot
        (Bloch, Supplement 2.9)
    B = dA(hor, hor) = dA - [A, A] = Ad_g (dA_loc - [A_loc, A_loc])         (Cartan, Theorem 2.9.13)

In components, with C^a_bc of the Lie algebra,

    B^a_{al be} = d_al A^a_be - d_be A^a_al - C^a_bc A^b_al A^c_be                     (`curvature`)
    B^a_{al be} = d_be A^a_al - d_al A^a_be - C^a_bc A^b_be A^c_al             (`curvature_swapped`)

The second is the order of the reduced equations (5.9.53), and the negative of the first. The
bracket has this sign because [xi_Q, eta_Q] = -[xi, eta]_Q for a left action. Columns X(r) of body
velocities have the covariant derivative

    F^a_{i al} = d_al X^a_i - C^a_bc A^b_al X^c_i                             (5.9.54 for X = Gamma)

A covector mu gives the forms alpha_mu = <mu, A> with J(alpha_mu) = mu, and B_mu = <mu, B> (2.9.2,
2.9.3). They obey d alpha_mu = B_mu where the coadjoint action leaves mu alone (2.9.16), and only
there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import sympy

from ..algebra.tree_derivatives import partial_derivative
from ..errors import ModelError
from ..typing import Vector
from .group_coordinates import GroupCoordinates, exact_number
from .vanishing import vanish

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..algebra.structure import Verdict

__all__ = ["PrincipalConnection"]


def _plain(expression: sympy.Expr) -> sympy.Expr:
    return expression


@dataclass(frozen=True, eq=False, repr=False)
class PrincipalConnection:
    """A connection by its local form; s shape symbols, group dimension k, n = s + k coordinates.

    Attributes
    ----------
    group : GroupCoordinates
    shape : tuple of symbols (s,)
    local : matrix (k x s)
        A_loc, in shape symbols and parameters.
    write : callable
        Makes expressions shorter; they stay as they are by default.

    Raises
    ------
    ModelError
        Where the local form has another shape, or contains group symbols.

    Examples
    --------
    >>> from dalembert.geometry.lie import LieGroup
    >>> x, y, theta, a, b = sympy.symbols("x y theta a b")
    >>> plane = GroupCoordinates.of_chart(LieGroup.SE(2).chart((x, y, theta)))
    >>> crawler = PrincipalConnection(plane, (a, b), sympy.Matrix([[b, 0], [0, 0], [0, a]]))
    >>> crawler.curvature[:, 0, 1]
    [-1, a*b, 1]
    >>> crawler.cartan().holds, crawler.is_fixed([0, 0, 1]), crawler.is_fixed([1, 0, 0])
    (True, True, False)
    """

    group: GroupCoordinates
    shape: tuple[sympy.Symbol, ...]
    local: sympy.MatrixBase
    write: Callable[[sympy.Expr], sympy.Expr] = field(default=_plain)

    def __post_init__(self) -> None:
        local, k, s = sympy.ImmutableMatrix(self.local), self.group.dimension, len(self.shape)
        foreign = sorted(str(symbol) for symbol in local.free_symbols & set(self.group.symbols))
        if local.shape != (k, s) or foreign:
            seen = f"{local.rows} x {local.cols}" + (
                f" with {', '.join(foreign)}" if foreign else ""
            )
            raise ModelError(
                "The local form of a connection is a matrix of expressions of the shape",
                seen=seen,
                remedy=f"give {k} rows for {', '.join(self.group.names)}, and {s} columns",
            )
        object.__setattr__(self, "local", local)

    @property
    def coordinates(self) -> tuple[sympy.Symbol, ...]:
        """Shape symbols, then group symbols."""
        return (*self.shape, *self.group.symbols)

    # -- on the shape ------------------------------------------------------------------------------

    def bracket(self, first: sympy.MatrixBase, second: sympy.MatrixBase) -> sympy.MatrixBase:
        """[X, Y] of two columns (k x 1) of body velocities."""
        return self.group.ad(list(first)) * second

    @cached_property
    def curvature(self) -> sympy.NDimArray:
        """B = dA - [A, A] of the local form, an array (k, s, s) with B^a_{al be} at [a, al, be]."""
        s = len(self.shape)
        table = [[sympy.zeros(self.group.dimension, 1) for _ in range(s)] for _ in range(s)]
        for al in range(s):
            for be in range(al):
                first, second = self.local[:, al], self.local[:, be]
                bend = second.diff(self.shape[al]) - first.diff(self.shape[be])
                table[al][be] = (bend - self.bracket(first, second)).applyfunc(self.write)
                table[be][al] = -table[al][be]
        return _array(self.group.dimension, s, s, lambda a, al, be: table[al][be][a])

    @cached_property
    def curvature_swapped(self) -> sympy.NDimArray:
        """B in the order of (5.9.53), d_be A_al - d_al A_be - [A_be, A_al]: minus `curvature`."""
        return -self.curvature

    def covariant_derivative(self, columns: sympy.MatrixBase) -> sympy.NDimArray:
        """dX/dr - [A, X] of columns X (k x m) of body velocities, an array (k, m, s)."""
        m, s = columns.shape[1], len(self.shape)

        def derivative(i: int, al: int) -> sympy.MatrixBase:
            bracket = self.bracket(self.local[:, al], columns[:, i])
            return (columns[:, i].diff(self.shape[al]) - bracket).applyfunc(self.write)

        found = [[derivative(i, al) for al in range(s)] for i in range(m)]
        return _array(self.group.dimension, m, s, lambda a, i, al: found[i][al][a])

    # -- on the whole space ------------------------------------------------------------------------

    @cached_property
    def horizontal_lift(self) -> sympy.MatrixBase:
        """Horizontal vectors over the shape velocities, in columns (n x s): (1, -e(g) A_loc)."""
        lower = (-self.group.frame * self.local).applyfunc(self.write)
        return _stacked(sympy.eye(len(self.shape)), lower)

    @cached_property
    def generators(self) -> sympy.MatrixBase:
        """xi_Q for the basis of the Lie algebra, in columns (n x k)."""
        upper = sympy.zeros(len(self.shape), self.group.dimension)
        return _stacked(upper, self.group.generators)

    @cached_property
    def form(self) -> sympy.MatrixBase:
        """A(q), (k x n): spatial velocities from (r_dot, g_dot)."""
        body = sympy.Matrix.hstack(sympy.Matrix(self.local), sympy.Matrix(self.group.left_form))
        return sympy.ImmutableMatrix((self.group.adjoint * body).applyfunc(self.write))

    @cached_property
    def exterior(self) -> sympy.NDimArray:
        """dA on the whole space, an array (k, n, n): dA^a(d_i, d_j) = d_i A^a_j - d_j A^a_i."""
        n, rate = len(self.coordinates), self._derivative
        return _array(self.group.dimension, n, n, lambda a, i, j: rate(a, j, i) - rate(a, i, j))

    def _derivative(self, a: int, i: int, j: int) -> sympy.Expr:
        return partial_derivative(self.form[a, i], self.coordinates[j])

    @cached_property
    def curvature_on_space(self) -> sympy.NDimArray:
        """B on the whole space, Ad_g B_loc on the shape parts, an array (k, n, n)."""
        s, n = len(self.shape), len(self.coordinates)
        turned = self.group.adjoint

        def entry(a: int, i: int, j: int) -> sympy.Expr:
            if i >= s or j >= s:
                return sympy.S.Zero
            parts = (turned[a, b] * self.curvature[b, i, j] for b in range(self.group.dimension))
            return sympy.Add(*parts)

        return _array(self.group.dimension, n, n, entry)

    # -- covectors ---------------------------------------------------------------------------------

    def one_form(self, mu: Vector) -> sympy.MatrixBase:
        """alpha_mu = A(q)^* mu, a row (1 x n)."""
        return sympy.ImmutableMatrix((self._covector(mu) * self.form).applyfunc(self.write))

    def two_form(self, mu: Vector) -> sympy.MatrixBase:
        """B_mu = <mu, B>, (n x n)."""
        return self._paired(mu, self.curvature_on_space)

    def exterior_of(self, mu: Vector) -> sympy.MatrixBase:
        """d alpha_mu, (n x n)."""
        return self._paired(mu, self.exterior)

    def is_fixed(self, mu: Vector) -> bool:
        """Whether the coadjoint action fixes mu, <mu, [xi, eta]> = 0: then d alpha_mu = B_mu."""
        numbers = np.array([float(value) for value in self._covector(mu)])
        moved = np.abs(np.tensordot(self.group.constants, numbers, axes=([2], [0])))
        return bool(np.max(moved, initial=0.0) <= 1e-12 * np.max(np.abs(numbers), initial=0.0))

    def _covector(self, mu: Vector) -> sympy.MatrixBase:
        entries = list(mu)
        if any(isinstance(entry, str) for entry in entries):
            what, remedy = "A covector was given as text", "give numbers or expressions"
            raise ModelError(what, seen=repr(entries)[:60], remedy=remedy)
        row = sympy.Matrix([entries])
        if row.shape != (1, self.group.dimension):
            raise ModelError(
                "A covector has a component for each vector of the basis",
                seen=f"{row.cols} components",
                remedy=f"give {', '.join(self.group.names)}",
            )
        return row

    def _paired(self, mu: Vector, table: sympy.NDimArray) -> sympy.MatrixBase:
        row, n = self._covector(mu), len(self.coordinates)

        def entry(i: int, j: int) -> sympy.Expr:
            return sympy.Add(*(row[a] * table[a, i, j] for a in range(self.group.dimension)))

        return sympy.ImmutableMatrix(sympy.Matrix(n, n, entry).applyfunc(self.write))

    # -- checks ------------------------------------------------------------------------------------

    def reproduces_generators(self) -> Verdict:
        """Whether A(xi_Q) = xi."""
        return self._checked(
            lambda here: [here.form @ here.generators - np.eye(self.group.dimension, dtype=int)]
        )

    def equivariance(self) -> Verdict:
        """Whether A(g q)(g v) = Ad_g A(q) v, along each generator: L_{xi_Q} A = ad_xi A."""
        constants = np.vectorize(exact_number, otypes=[object])(self.group.constants)

        def rest(here: _Place) -> list[NDArray[np.object_]]:
            flow = np.einsum("jb,aij->bai", here.generators, here.derivatives)
            carried = np.einsum("aj,jbi->bai", here.form, here.generator_derivatives)
            return [flow + carried - np.einsum("bca,ci->bai", constants, here.form)]

        return self._checked(rest)

    def cartan(self) -> Verdict:
        """Whether dA(u, v) - [A(u), A(v)] = dA(hor u, hor v) = Ad_g B_loc for all u, v."""
        constants = np.vectorize(exact_number, otypes=[object])(self.group.constants)

        def rest(here: _Place) -> list[NDArray[np.object_]]:
            plain = np.swapaxes(here.derivatives, 1, 2) - here.derivatives
            level = np.eye(len(self.coordinates), dtype=int) - here.generators @ here.form
            lifted = np.einsum("auv,ui,vj->aij", plain, level, level)
            bracket = np.einsum("bca,bi,cj->aij", constants, here.form, here.form)
            return [plain - bracket - lifted, lifted - here.curvature]

        return self._checked(rest)

    def _checked(self, rest: Callable[[_Place], list[NDArray[np.object_]]]) -> Verdict:
        """Whether the rest vanishes identically."""
        on_form = (self.form, self._form_derivatives)
        on_group = (self.generators, self._generator_derivatives, self.curvature_on_space)
        here = _Place(*(_as_objects(block.tolist()) for block in (*on_form, *on_group)))
        return vanish([sympy.S.Zero + entry for block in rest(here) for entry in block.ravel()])

    @cached_property
    def _form_derivatives(self) -> sympy.NDimArray:
        """d_j A^a_i at [a, i, j], an array (k, n, n)."""
        n = len(self.coordinates)
        return _array(self.group.dimension, n, n, self._derivative)

    @cached_property
    def _generator_derivatives(self) -> sympy.NDimArray:
        """d_j K_a^i at [i, a, j], an array (n, k, n)."""
        n, q, K = len(self.coordinates), self.coordinates, self.generators
        return _array(n, self.group.dimension, n, lambda i, a, j: partial_derivative(K[i, a], q[j]))

    def __str__(self) -> str:
        shape, group = ", ".join(map(str, self.shape)), ", ".join(map(str, self.group.symbols))
        return f"<PrincipalConnection over ({shape}) with group ({group})>"

    __repr__ = __str__


def _stacked(upper: sympy.MatrixBase, lower: sympy.MatrixBase) -> sympy.MatrixBase:
    return sympy.ImmutableMatrix(sympy.Matrix.vstack(upper, sympy.Matrix(lower)))


def _as_objects(block: Sequence[object]) -> Any:
    """An array of expressions or exact numbers."""
    return np.array(block, dtype=object) + sympy.S.Zero


class _Place(NamedTuple):
    """The form and its companions as arrays of expressions."""

    form: NDArray[np.object_]
    derivatives: NDArray[np.object_]
    generators: NDArray[np.object_]
    generator_derivatives: NDArray[np.object_]
    curvature: NDArray[np.object_]


def _array(
    first: int, second: int, third: int, entry: Callable[[int, int, int], sympy.Expr]
) -> sympy.NDimArray:
    entries = [entry(a, i, j) for a in range(first) for i in range(second) for j in range(third)]
    return sympy.ImmutableDenseNDimArray(entries, (first, second, third))
