r"""Elements of the group of a bundle as matrices, from the values of its coordinates.

Coordinates of the second kind are a product, g = exp(s_1 x_1) exp(s_2 x_2) ...
(`GroupCoordinates`), and any matrices with the brackets of the frame turn it into one of matrices.
They are those of the group where it is known: given with its chart, or one of R^k, SO(3), SE(2),
SE(3) by its structure constants. Otherwise the adjoint representation is joined with the sum of
what no bracket reaches,

    rho(x) = diag(ad_x, ((0, pi x), (0, 0))),        pi : g -> g/[g, g],

which tells all elements apart near the identity unless the centre meets [g, g], as in the
Heisenberg group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.linalg import expm

from ...errors import ModelError
from ...formulations.reduction.bundle_equations import Bundle
from ...geometry.lie import LieGroup
from ...model.read_only import ReadOnlyArrays
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array

__all__ = ["Displacement", "ElementMatrices"]

#: Structure constants that differ by more than this are different.
SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Displacement(ReadOnlyArrays):
    """An element of a group of dimension k.

    Attributes
    ----------
    coordinates : mapping of name to value (k,)
        In the symbols of the group coordinates.
    matrix : array (N, N)
        The element in the matrices of `group`; where that is None they leave the centre out.
    group : LieGroup or None
    """

    coordinates: Mapping[str, float]
    matrix: Array
    group: LieGroup | None

    @property
    def logarithm(self) -> Array:
        """The constant body velocity (k,) that arrives here in unit time.

        Raises
        ------
        ModelError
            At half a turn, where there are two, and for groups without matrices.
        """
        if self.group is None:
            what = "This group has no matrices that tell its elements apart"
            raise ModelError(what, "a centre inside the brackets", "read the coordinates instead")
        return self.group.log(self.matrix)

    def __str__(self) -> str:
        values = self.coordinates.items()
        return ", ".join(f"{name} {round(value, 12) + 0.0:+.6g}" for name, value in values)


class ElementMatrices:
    """The matrices of the elements of a bundle's group.

    Parameters
    ----------
    bundle : Bundle
    parameters : mapping of name to value
        Those that the frame contains.
    """

    def __init__(self, bundle: Bundle, parameters: Mapping[str, float]) -> None:
        self.names = tuple(q.name for q in bundle.group_symbols)
        constants = np.asarray(bundle.constants, dtype=float)
        self.generators, self.group = _generators(constants, bundle.matrices)
        symbols = bundle.group_coordinates
        own = [s for s in symbols.frame.free_symbols if s.name in parameters]
        values = {s: float(parameters[s.name]) for s in own}
        self.identity = dict(zip(self.names, map(float, symbols.identity), strict=True))
        self._factors = [
            (self.names[place], np.array([float(entry.subs(values)) for entry in velocity]))
            for place, velocity in symbols.factors
        ]

    def element(self, values: Mapping[str, float]) -> Displacement:
        """The element with these coordinates."""
        product = np.eye(self.generators.shape[1])
        for name, velocity in self._factors:
            xi = (values[name] - self.identity[name]) * velocity
            product = product @ self.exponential(xi)
        return Displacement({name: float(values[name]) for name in self.names}, product, self.group)

    def exponential(self, xi: Array) -> Array:
        """exp(xi), (N, N)."""
        return self.group.exp(xi) if self.group else expm(np.tensordot(xi, self.generators, axes=1))


def _generators(constants: Array, given: LieGroup | None) -> tuple[Array, LieGroup | None]:
    """Matrices (k, N, N) with these brackets, and their group where they are independent."""
    k = len(constants)
    standard = {3: [LieGroup.SE(2), LieGroup.SO(3)], 6: [LieGroup.SE(3)]}.get(k, [])
    for group in (*([given] if given else []), LieGroup.R(k), *standard):
        if np.allclose(group.structure_constants, constants, rtol=0, atol=SAME):
            return group.generators, group
    across = np.array([constants[a].T for a in range(k)])
    outside = rank(constants.reshape(-1, k), SAME).null_space
    m = outside.shape[1]
    wide = np.zeros((k, k + m + 1, k + m + 1))
    wide[:, :k, :k] = across
    wide[:, k : k + m, -1] = outside
    try:
        return wide, LieGroup.from_generators(wide)
    except ModelError:  # the closure is no group of matrices
        return wide, None
