r"""Lie groups of matrices: rotations, rigid motions, translations, products, any generators.

Elements are matrices, elements of the Lie algebra are components in a basis of matrices E_a:

    hat(xi) = xi^a E_a,  Ad_g xi = vee(g hat(xi) g^-1),  ad_xi eta = [xi, eta],
        [E_a, E_b] = C^c_ab E_c.

The bases are those of body velocities xi = g^-1 g_dot: hat(u) v = u x v on so(3); (e_x, e_y, e_th)
on se(2) with [e_th, e_x] = e_y and [e_th, e_y] = -e_x; translations before rotations on every
se(n); -tr(a b)/2 has length one for each generator of so(n).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy

from ..errors import ModelError
from ..typing import Array, ArrayLike
from .lie_algebra import LieAlgebra
from .matrix_groups import (
    MEMBER,
    Generated,
    MatrixGroup,
    Motions,
    Rotations,
    Translations,
    averaged_exponential,
)
from .subspaces import span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .lie_charts import GroupChart

__all__ = ["LieGroup"]

#: A matrix whose part outside the Lie algebra is larger than this, relatively, is no element of it.
OUTSIDE = 1e-7
#: The tangent of the exponential map is inverted up to this condition number.
INVERTIBLE = 1e10


@dataclass(frozen=True, eq=False, repr=False)
class LieGroup:
    """A Lie group of matrices with a basis of its Lie algebra.

    Groups are made by `SO`, `SE`, `R`, `product` and `from_generators`.

    Attributes
    ----------
    name : str
    names : tuple of str
        The basis of the Lie algebra.
    generators : array (d, N, N)
        The matrices E_a; they cannot be written to.
    blocks : tuple of MatrixGroup
        The groups along the diagonal.

    Examples
    --------
    >>> plane = LieGroup.SE(2)
    >>> g = plane.exp([1.0, 0.0, np.pi / 2])
    >>> g[:2, 2].round(4).tolist(), abs(plane.log(g)).round(4).tolist()
    ([0.6366, 0.6366], [1.0, 0.0, 1.5708])
    >>> plane.bracket([0, 0, 1], [1, 0, 0]).tolist()
    [0.0, 1.0, 0.0]
    """

    name: str
    names: tuple[str, ...]
    generators: Array
    blocks: tuple[MatrixGroup, ...]

    def __post_init__(self) -> None:
        matrices = np.array(self.generators, dtype=float)
        matrices.setflags(write=False)
        object.__setattr__(self, "generators", matrices)

    # -- which groups there are --------------------------------------------------------------------

    @classmethod
    def SO(cls, n: int) -> LieGroup:
        """Rotations of n axes; generators turn about axes 1, 2, 3 (SO(3)), or axis i towards j."""
        _check_size(n, 2, "SO")
        small = {2: ("e_th",), 3: ("e1", "e2", "e3")}.get(n)
        names = small or tuple(f"e{i + 1}{j + 1}" for i, j in combinations(range(n), 2))
        return cls(f"SO({n})", names, _rotations(n), (Rotations(n),))

    @classmethod
    def SE(cls, n: int) -> LieGroup:
        """Rigid motions ((R, p), (0, 1)) of n dimensions; translations first in the basis."""
        _check_size(n, 2, "SE")
        turning = cls.SO(n)
        wide = np.zeros((turning.dimension, n + 1, n + 1))
        wide[:, :n, :n] = turning.generators
        names = (*_axes(n), *turning.names)
        return cls(f"SE({n})", names, np.concatenate([_translations(n), wide]), (Motions(n),))

    @classmethod
    def SU(cls, n: int) -> LieGroup:
        """Unitary n x n matrices A + i B of determinant one, as real ((A, -B), (B, A)).

        The basis is orthogonal in tr(a b): turns of axis i towards axis j (r), i times symmetric
        matrices (s), and diagonal ones (d).

        >>> spin = LieGroup.SU(2)
        >>> spin.names, spin.size, spin.algebra.identify().name
        (('r12', 's12', 'd1'), 4, 'so(3)')
        """
        _check_size(n, 2, "SU")
        names, matrices = _unitary(n)
        return cls(f"SU({n})", names, matrices, (Generated(2 * n),))

    @classmethod
    def R(cls, n: int = 1) -> LieGroup:
        """Translations of n-dimensional space, by matrices ((1, p), (0, 1))."""
        _check_size(n, 1, "R")
        return cls("R" if n == 1 else f"R^{n}", _axes(n), _translations(n), (Translations(n),))

    @classmethod
    def product(cls, *groups: LieGroup) -> LieGroup:
        """The direct product, by matrices with the factors along the diagonal.

        >>> LieGroup.product(LieGroup.SO(2), LieGroup.SE(2)).names
        ('e_th', 'e_x', 'e_y', 'e_th_2')
        """
        size, matrices, names = sum(group.size for group in groups), [], list[str]()
        first = 0
        for number, group in enumerate(groups, start=1):
            wide = np.zeros((group.dimension, size, size))
            wide[:, first : first + group.size, first : first + group.size] = group.generators
            names += [name if name not in names else f"{name}_{number}" for name in group.names]
            matrices.append(wide)
            first += group.size
        blocks = tuple(block for group in groups for block in group.blocks)
        name = " x ".join(group.name for group in groups)
        return cls(name, tuple(names), np.concatenate(matrices), blocks)

    @classmethod
    def from_generators(
        cls, generators: ArrayLike, names: Sequence[str] = (), name: str = ""
    ) -> LieGroup:
        """The connected group whose Lie algebra has these matrices (d, N, N) as a basis.

        Raises
        ------
        ModelError
            Where they depend on each other, or a bracket of two of them is no combination of them.
        """
        matrices = np.array(generators, dtype=float)
        if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not len(matrices):
            seen, remedy = f"shape {matrices.shape}", "give d x N x N numbers"
            raise ModelError("Generators must be square matrices", seen, remedy)
        basis = tuple(names) or tuple(f"e{k + 1}" for k in range(len(matrices)))
        if len(basis) != len(matrices):
            seen, remedy = f"{len(basis)} names", f"give {len(matrices)}"
            raise ModelError("Every generator needs a name", seen, remedy)
        if span(matrices.reshape(len(matrices), -1).T).shape[1] < len(matrices):
            raise ModelError("The generators are dependent", ", ".join(basis), "give a basis")
        group = cls(name, basis, matrices, (Generated(matrices.shape[1]),))
        algebra = group.algebra
        return cls(name or f"the group of {algebra.identify().name}", basis, matrices, group.blocks)

    # -- sizes and the Lie algebra -----------------------------------------------------------------

    @property
    def dimension(self) -> int:
        """d, the number of generators."""
        return len(self.names)

    @property
    def size(self) -> int:
        """N, the number of rows of its matrices."""
        return int(self.generators.shape[1])

    @property
    def identity(self) -> Array:
        """The matrix of the identity, (N, N)."""
        return np.eye(self.size)

    @cached_property
    def algebra(self) -> LieAlgebra:
        """The Lie algebra in this basis."""
        d = self.dimension
        table = np.zeros((d, d, d))
        for a, b in combinations(range(d), 2):
            first, second = self.generators[a], self.generators[b]
            try:
                table[a, b] = self.vee(first @ second - second @ first)
            except ModelError as error:
                names = f"`{self.names[a]}` and `{self.names[b]}`"
                what = f"The bracket of {names} is no combination of the generators"
                raise ModelError(what, remedy="add it to the generators") from error
            table[b, a] = -table[a, b]
        return LieAlgebra(self.names, table)

    @property
    def structure_constants(self) -> Array:
        """C^c_ab at [a, b, c], (d, d, d)."""
        return self.algebra.constants

    @property
    def is_abelian(self) -> bool:
        """Whether its Lie algebra is abelian."""
        return self.algebra.is_abelian

    def bracket(self, xi: ArrayLike, eta: ArrayLike) -> Any:
        """[xi, eta], (d,)."""
        return self.algebra.bracket(xi, eta)

    def ad(self, xi: ArrayLike) -> Any:
        """The matrix (d, d) of eta -> [xi, eta]."""
        return self.algebra.ad(xi)

    def hat(self, xi: ArrayLike) -> Array:
        """xi^a E_a, (N, N)."""
        return np.tensordot(np.asarray(xi, dtype=float), self.generators, axes=1)

    def vee(self, matrix: ArrayLike) -> Array:
        """The components (d,) of a matrix in the Lie algebra.

        Raises
        ------
        ModelError
            Where the matrix is no combination of the generators.
        """
        entries = np.asarray(matrix, dtype=float).ravel()
        axes, triangle = self._factors
        along = axes.T @ entries
        outside = float(np.max(np.abs(entries - axes @ along)))
        size = float(np.max(np.abs(entries)))
        if outside > OUTSIDE * max(size, 1e-300):
            what = f"The matrix is not in the Lie algebra of {self.name}"
            remedy = f"give a combination of {', '.join(self.names)}"
            raise ModelError(what, f"a part of {outside:.1e} outside", remedy)
        return np.linalg.solve(triangle, along)

    @cached_property
    def _factors(self) -> tuple[Array, Array]:
        return np.linalg.qr(self.generators.reshape(self.dimension, -1).T)

    # -- the exponential map -----------------------------------------------------------------------

    def exp(self, xi: ArrayLike) -> Array:
        """The element (N, N) that the constant body velocity xi reaches in unit time."""
        return self._by_block("exponential", self.hat(self.algebra.element(xi)))

    def log(self, element: ArrayLike) -> Array:
        """The components (d,) of the principal logarithm of an element: exp(log(g)) = g.

        Raises
        ------
        ModelError
            Where the matrix is not in the group, or at half a turn, where there are two.
        """
        return self.vee(self._by_block("logarithm", self._checked(element)))

    def contains(self, element: ArrayLike) -> bool:
        """Whether a matrix is an element; for given generators, by its principal logarithm."""
        try:
            self._checked(element)
            if any(isinstance(block, Generated) for block in self.blocks):
                self.log(element)
        except ModelError:
            return False
        return True

    def _checked(self, element: ArrayLike) -> Array:
        matrix = np.asarray(element, dtype=float)
        if matrix.shape != (self.size, self.size) or not np.all(np.isfinite(matrix)):
            what = f"An element of {self.name} is a matrix of {self.size} rows"
            raise ModelError(what, seen=f"shape {matrix.shape}")
        inside, departure = np.zeros_like(matrix), 0.0
        for block, part in self._parts(matrix):
            departure = max(departure, block.departure(part.copy()))
        for place in self._places():
            inside[place, place] = matrix[place, place]
        departure = max(departure, float(np.max(np.abs(matrix - inside))))
        if departure > MEMBER:
            seen, remedy = f"a departure of {departure:.1e}", "bring it back to the group first"
            raise ModelError(f"The matrix is not an element of {self.name}", seen, remedy)
        return matrix

    def _places(self) -> list[slice]:
        ends = np.cumsum([0, *(block.size for block in self.blocks)])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    def _parts(self, matrix: Array) -> list[tuple[MatrixGroup, Array]]:
        places = zip(self.blocks, self._places(), strict=True)
        return [(block, matrix[place, place]) for block, place in places]

    def _by_block(self, function: str, matrix: Array) -> Array:
        found = np.zeros((self.size, self.size))
        for (block, part), place in zip(self._parts(matrix), self._places(), strict=True):
            found[place, place] = getattr(block, function)(part)
        return found

    # -- the adjoint representation and the tangent of exp -----------------------------------------

    def adjoint(self, element: ArrayLike) -> Array:
        """Ad_g, (d, d): components of g E_b g^-1 in column b."""
        matrix = self._checked(element)
        inverse = np.linalg.inv(matrix)
        return np.column_stack([self.vee(matrix @ E @ inverse) for E in self.generators])

    def coadjoint(self, element: ArrayLike) -> Array:
        """The coadjoint action on momenta (d, d): (Ad_{g^-1})^T; Ad_g^* is ``adjoint(g).T``."""
        return self.adjoint(np.linalg.inv(self._checked(element))).T

    def dexp(self, xi: ArrayLike, side: str = "left") -> Any:
        r"""The tangent of exp, trivialised, (d, d).

        With g = exp(xi(t)), g^-1 g_dot = dexp(xi, "left") xi_dot, and "right" for g_dot g^-1:

            left: (1 - exp(-ad))/ad,        right: (exp(ad) - 1)/ad.
        """
        sign = {"left": -1.0, "right": 1.0}.get(side)
        if sign is None:
            what = "The tangent of exp is trivialised on the left or on the right"
            raise ModelError(what, seen=repr(side), remedy='pass "left" or "right"')
        return averaged_exponential(sign * self.ad(xi))

    def dexp_inverse(self, xi: ArrayLike, side: str = "left") -> Any:
        """The inverse of `dexp` (d, d): xi_dot from body ("left") or spatial velocity.

        Raises
        ------
        ModelError
            Where it does not exist: at whole turns.
        """
        tangent = self.dexp(xi, side)
        if self.dimension and not np.linalg.cond(tangent) < INVERTIBLE:
            what = "The exponential map is singular here"
            seen = f"xi = {np.round(np.asarray(xi, dtype=float), 6).tolist()}"
            raise ModelError(what, seen, "stay below a whole turn")
        return np.linalg.solve(tangent, np.eye(self.dimension))

    def chart(self, symbols: Sequence[sympy.Symbol], order: Sequence[str] = ()) -> GroupChart:
        """Coordinates g = exp(s_1 E_1) exp(s_2 E_2) ... as SymPy expressions (`lie_charts`)."""
        from .lie_charts import group_chart

        return group_chart(self, symbols, order)

    def __str__(self) -> str:
        return f"<LieGroup {self.name}: {', '.join(self.names)}>"

    __repr__ = __str__


def _check_size(n: int, least: int, kind: str) -> None:
    if not isinstance(n, int) or n < least:
        raise ModelError(f"{kind}(n) needs a whole number n of at least {least}", seen=repr(n))


def _axes(n: int) -> tuple[str, ...]:
    if n <= 3:
        return tuple(f"e_{axis}" for axis in "xyz"[:n])
    return tuple(f"t{k + 1}" for k in range(n))


def _unitary(n: int) -> tuple[tuple[str, ...], Array]:
    """An orthogonal basis of su(n) in its real form, with names."""
    found: dict[str, NDArray[np.complexfloating[Any, Any]]] = {}
    for i, j in combinations(range(n), 2):
        turn, bend = np.zeros((n, n)), np.zeros((n, n))
        turn[i, j], turn[j, i] = 1.0, -1.0
        bend[i, j] = bend[j, i] = 1.0
        found[f"r{i + 1}{j + 1}"] = turn + 0j
        found[f"s{i + 1}{j + 1}"] = 1j * bend
    for k in range(1, n):
        found[f"d{k}"] = 1j * np.diag([1.0] * k + [-float(k)] + [0.0] * (n - k - 1))
    real = [np.block([[m.real, -m.imag], [m.imag, m.real]]) for m in found.values()]
    return tuple(found), np.array(real)


def _translations(n: int) -> Array:
    matrices = np.zeros((n, n + 1, n + 1))
    for k in range(n):
        matrices[k, k, n] = 1.0
    return matrices


def _rotations(n: int) -> Array:
    """The turn of axis i towards axis j; for three axes about axis 1, 2, 3 in this order."""
    planes = [(1, 2), (2, 0), (0, 1)] if n == 3 else list(combinations(range(n), 2))
    matrices = np.zeros((len(planes), n, n))
    for place, (i, j) in enumerate(planes):
        matrices[place, j, i], matrices[place, i, j] = 1.0, -1.0
    return matrices
