r"""Lie algebras by structure constants: brackets, ad, series of ideals, Killing form.

    [e_a, e_b] = C^c_ab e_c,        ad(xi)^c_b = xi^a C^c_ab,        K(xi, eta) = tr(ad(xi) ad(eta))

Constants are an array of shape (d, d, d) with C^c_ab at [a, b, c]. Subspaces are given by
orthonormal columns (d, r).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..typing import Array, ArrayLike
from .subspaces import annihilator, span

if TYPE_CHECKING:
    from .lie_identify import DirectSum

__all__ = ["LieAlgebra"]

#: Constants smaller than this part of the largest one are rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class LieAlgebra:
    """A real Lie algebra with a basis.

    Attributes
    ----------
    names : tuple of str
        The basis.
    constants : array (d, d, d)
        C^c_ab at [a, b, c]; it cannot be written to.

    Raises
    ------
    ModelError
        Where the constants are not antisymmetric or break Jacobi's identity.

    Examples
    --------
    >>> heisenberg = LieAlgebra.from_brackets("x p 1", {("x", "p"): {"1": 1}})
    >>> heisenberg.identify().name, heisenberg.lower_central_series
    ('Heisenberg', (3, 1, 0))
    """

    names: tuple[str, ...]
    constants: Array

    def __post_init__(self) -> None:
        table = np.array(self.constants, dtype=float)
        names, d = tuple(self.names), len(self.names)
        if table.shape != (d, d, d) or not np.all(np.isfinite(table)):
            raise ModelError(
                "Structure constants must be finite numbers by three indices of the basis",
                seen=f"shape {table.shape} for {d} names",
                remedy="give C^c_ab at [a, b, c]",
            )
        table[np.abs(table) < ROUNDING * np.max(np.abs(table), initial=0.0)] = 0.0
        table.setflags(write=False)
        object.__setattr__(self, "names", names)
        object.__setattr__(self, "constants", table)
        size = np.max(np.abs(table), initial=0.0)
        if np.max(np.abs(table + np.swapaxes(table, 0, 1)), initial=0.0) > ROUNDING * size:
            what = "Structure constants must be antisymmetric in their lower indices"
            raise ModelError(what, remedy="check C^c_ab = -C^c_ba")
        if self.jacobi_residual > ROUNDING * size * size:
            raise ModelError(
                "These structure constants break Jacobi's identity",
                seen=f"a residual of {self.jacobi_residual:.1e}",
                remedy="check the brackets of the basis",
            )

    @classmethod
    def from_brackets(
        cls, names: str | Sequence[str], brackets: Mapping[tuple[str, str], Mapping[str, float]]
    ) -> LieAlgebra:
        """By ``{(a, b): {c: value}}`` for nonzero brackets; the opposite ones follow."""
        basis = tuple(names.split() if isinstance(names, str) else names)
        place = {name: k for k, name in enumerate(basis)}
        table = np.zeros((len(basis),) * 3)
        for (a, b), combination in brackets.items():
            for c, value in combination.items():
                table[place[a], place[b], place[c]] = float(value)
                table[place[b], place[a], place[c]] = -float(value)
        return cls(basis, table)

    @property
    def dimension(self) -> int:
        """d."""
        return len(self.names)

    def bracket(self, xi: ArrayLike, eta: ArrayLike) -> Any:
        """[xi, eta], (d,)."""
        return np.einsum("a,b,abc->c", self.element(xi), self.element(eta), self.constants)

    def ad(self, xi: ArrayLike) -> Any:
        """The matrix (d x d) of eta -> [xi, eta]; its transpose is ad* on momentum components."""
        return np.einsum("a,abc->cb", self.element(xi), self.constants)

    def element(self, xi: ArrayLike) -> Array:
        """Components (d,) of an element, checked."""
        vector = np.asarray(xi, dtype=float)
        if vector.shape != (self.dimension,):
            what = "An element of the Lie algebra needs a component for each vector of the basis"
            seen, remedy = f"shape {vector.shape}", f"give components along {', '.join(self.names)}"
            raise ModelError(what, seen, remedy)
        return vector

    # -- identities and forms ----------------------------------------------------------------------

    @cached_property
    def jacobi_residual(self) -> float:
        """The largest component of [a, [b, c]] + [b, [c, a]] + [c, [a, b]] over the basis."""
        twice = np.einsum("bcd,ade->abce", self.constants, self.constants)
        cyclic = twice + np.transpose(twice, (1, 2, 0, 3)) + np.transpose(twice, (2, 0, 1, 3))
        return float(np.max(np.abs(cyclic), initial=0.0))

    @cached_property
    def killing_form(self) -> Any:
        """K_ab = tr(ad(e_a) ad(e_b)), (d, d)."""
        return np.einsum("acd,bdc->ab", self.constants, self.constants)

    @cached_property
    def killing_signature(self) -> tuple[int, int, int]:
        """How many directions of the Killing form are positive, negative and null."""
        values = np.linalg.eigvalsh(self.killing_form) if self.dimension else np.zeros(0)
        floor = 1e-11 * np.max(np.abs(self.constants), initial=0.0) ** 2
        positive, negative = int(np.sum(values > floor)), int(np.sum(values < -floor))
        return positive, negative, self.dimension - positive - negative

    # -- ideals ------------------------------------------------------------------------------------

    @cached_property
    def is_abelian(self) -> bool:
        """Whether every bracket vanishes."""
        return not np.any(self.constants)

    @cached_property
    def centre(self) -> Array:
        """What has vanishing brackets with everything, (d, r)."""
        d = self.dimension
        return annihilator(self.constants.reshape(d, d * d)) if d else np.zeros((0, 0))

    def brackets_of(self, first: Array, second: Array) -> Array:
        """A basis of the span of all brackets of two subspaces, (d, r)."""
        table = np.einsum("ai,bj,abc->cij", first, second, self.constants)
        scale = float(np.max(np.abs(self.constants), initial=0.0)) or None
        return span(table.reshape(self.dimension, -1), scale=scale)

    @cached_property
    def derived(self) -> Array:
        """The derived algebra [g, g], (d, r)."""
        whole = np.eye(self.dimension)
        return self.brackets_of(whole, whole)

    @cached_property
    def derived_series(self) -> tuple[int, ...]:
        """Dimensions of g, [g, g], [[g, g], [g, g]], ... down to where they stay."""
        return self._series(lambda ideal: self.brackets_of(ideal, ideal))

    @cached_property
    def lower_central_series(self) -> tuple[int, ...]:
        """Dimensions of g, [g, g], [g, [g, g]], ... down to where they stay."""
        return self._series(lambda ideal: self.brackets_of(np.eye(self.dimension), ideal))

    def _series(self, following: Callable[[Array], Array]) -> tuple[int, ...]:
        ideal, found = np.eye(self.dimension), [self.dimension]
        while True:
            ideal = following(ideal)
            if ideal.shape[1] == found[-1]:
                return tuple(found)
            found.append(ideal.shape[1])

    @property
    def is_solvable(self) -> bool:
        """Whether the derived series ends at zero."""
        return self.derived_series[-1] == 0

    @property
    def is_nilpotent(self) -> bool:
        """Whether the lower central series ends at zero."""
        return self.lower_central_series[-1] == 0

    @property
    def is_semisimple(self) -> bool:
        """Whether the Killing form is regular (Cartan)."""
        return self.dimension > 0 and self.killing_signature[2] == 0

    @cached_property
    def radical(self) -> Array:
        """The largest solvable ideal, (d, r): what is orthogonal to [g, g] in the Killing form."""
        return annihilator(self.killing_form @ self.derived) if self.dimension else np.zeros((0, 0))

    # -- others from this one ----------------------------------------------------------------------

    def restricted(self, basis: ArrayLike, names: Sequence[str] | None = None) -> LieAlgebra:
        """The subalgebra with the independent columns of `basis` (d, r) as its basis.

        Raises
        ------
        ModelError
            Where a bracket leaves it.
        """
        columns = np.asarray(basis, dtype=float)
        brackets = np.einsum("ai,bj,abc->ijc", columns, columns, self.constants)
        axes, triangle = np.linalg.qr(columns)
        components = np.einsum("ck,ijc->ijk", axes, brackets)
        rest = brackets - np.einsum("ck,ijk->ijc", axes, components)
        size, largest = np.max(np.abs(self.constants), initial=0.0), np.max(np.abs(columns))
        outside = np.max(np.abs(rest), initial=0.0)
        if outside > 1e-7 * size * largest**2:
            seen = f"brackets {outside:.1e} outside"
            raise ModelError("These elements do not span a subalgebra", seen)
        r = columns.shape[1]
        table = np.linalg.solve(triangle, components.reshape(-1, r).T).T.reshape(components.shape)
        basis_names = tuple(names or (f"e{k + 1}" for k in range(r)))
        return LieAlgebra(basis_names, (table - np.swapaxes(table, 0, 1)) / 2)

    def identify(self) -> DirectSum:
        """Its name, as a direct sum of known ones; see `dalembert.geometry.lie_identify`."""
        from .lie_identify import identify

        return identify(self)

    def __str__(self) -> str:
        return f"<LieAlgebra {self.identify().name}: {', '.join(self.names)}>"

    __repr__ = __str__
