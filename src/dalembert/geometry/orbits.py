r"""Adjoint orbits of compact groups: inverse of ad_x, normal metric, Brockett's accelerations.

A velocity of the orbit through x is xi = [x, u]. Of all such u the one in the image of ad_x is
unique, u = ad_x^-1 xi, and

    g(xi, eta) = <ad_x^-1 xi, ad_x^-1 eta>,          <a, b> = -tr(a b) / 2       (the normal metric)
    x_ddot = [x_dot, ad_x^-1 x_dot] + ad_x^2 ad_n^2 x                                  (Bloch 7.7.9)

for skew-hermitian matrices, real or complex. Along optimal motions ad_x^-1 x_dot is the control [p,
x].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..typing import ArrayLike

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["brockett_acceleration", "inverse_bracket", "normal_metric"]

#: Relative distance of equal eigenvalues of x, and largest part of xi between them.
EQUAL, OUTSIDE = 1e-10, 1e-8


def inverse_bracket(x: ArrayLike, xi: ArrayLike) -> Any:
    """The u in the image of ad_x with [x, u] = xi.

    Parameters
    ----------
    x, xi : matrices (n, n)
        Skew-hermitian.

    Raises
    ------
    ModelError
        Where xi is no velocity of the orbit: no u has [x, u] = xi.

    Examples
    --------
    >>> x = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0.0]])
    >>> u = np.array([[0, 0, 2], [0, 0, 0.5], [-2, -0.5, 0]])
    >>> np.allclose(inverse_bracket(x, x @ u - u @ x), u)
    True
    """
    place, velocity = _skew(x, "x"), _skew(xi, "xi")
    values, vectors = np.linalg.eigh(-1j * place)
    inside = vectors.conj().T @ velocity @ vectors
    gaps = 1j * (values[:, None] - values[None, :])
    is_open = np.abs(gaps) > EQUAL * max(float(np.max(np.abs(values))), 1e-300)
    left = float(np.max(np.abs(inside[~is_open]), initial=0.0))
    if left > OUTSIDE * max(float(np.max(np.abs(velocity))), 1e-300):
        what = "The velocity does not belong to the orbit: it is no bracket with x"
        seen, remedy = f"a part of size {left:.2g} that commutes with x", "take [x, u] for some u"
        raise ModelError(what, seen, remedy)
    divided = np.where(is_open, inside / np.where(is_open, gaps, 1.0), 0.0)
    found = vectors @ divided @ vectors.conj().T
    return found if np.iscomplexobj(x) or np.iscomplexobj(xi) else found.real


def normal_metric(x: ArrayLike, xi: ArrayLike, eta: ArrayLike) -> float:
    """g(xi, eta) of two velocities of the orbit through x."""
    return float(np.real(-np.trace(inverse_bracket(x, xi) @ inverse_bracket(x, eta)) / 2))


def brockett_acceleration(x: ArrayLike, x_dot: ArrayLike, n: ArrayLike) -> Any:
    """x_ddot of Brockett's problem with potential -|[x, n]|^2 / 2, in Euler-Lagrange form."""
    place, velocity, target = np.asarray(x), np.asarray(x_dot), np.asarray(n)
    control = inverse_bracket(place, velocity)
    force = _bracket(target, _bracket(target, place))
    return _bracket(velocity, control) + _bracket(place, _bracket(place, force))


def _bracket(a: NDArray[Any], b: NDArray[Any]) -> Any:
    return a @ b - b @ a


def _skew(matrix: ArrayLike, name: str) -> NDArray[Any]:
    values = np.asarray(matrix)
    is_square = values.ndim == 2 and values.shape[0] == values.shape[1]
    if not is_square or not np.allclose(values, -values.conj().T, atol=1e-9):
        seen, remedy = f"shape {values.shape}", "a skew matrix, if real"
        raise ModelError(f"`{name}` must be a skew-hermitian matrix", seen, remedy)
    return values
