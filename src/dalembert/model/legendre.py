"""Between Lagrangians and Hamiltonians, in whichever algebra a derivation runs on.

For L = v^T M(q,t) v / 2 + m(q,t)^T v + c(q,t) the momentum is p = M v + m, and H = p . v - L =
(p-m)^T M^-1 (p-m) / 2 - c (Udwadia, eqs. 4-7). H is not T + V where m or c is not zero. The way
back is the same map with the symbols exchanged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import FormError

if TYPE_CHECKING:
    from ..algebra.protocol import Algebra, Block, Scalar

__all__ = ["conjugate", "conjugate_symbols"]


def conjugate_symbols(algebra: Algebra, function: Scalar, symbols: Block, values: Block) -> Any:
    """x with d function / d x = values, for a function that is quadratic in the symbols x.

    Parameters
    ----------
    function : scalar
        L(q, v, t) with symbols v, or H(q, p, t) with symbols p.
    symbols, values : columns (n x 1)
        v and the momenta p to be matched, or p and the velocities v.

    Returns
    -------
    column (n x 1)
        v(q, p, t) = M^-1 (p - m), or p(q, v, t).
    """
    second, first = algebra.hessian(function, symbols)
    plain = not algebra.depends(second, symbols)
    second = algebra.without(second, symbols)
    if second is None:
        raise FormError(
            "The Legendre transformation needs an energy that is quadratic in the velocities or"
            " momenta",
            seen="second derivatives that are not shown to be independent of them",
            remedy="use the form the system was stated in",
        )
    if plain:
        rest = algebra.substitute(first, symbols, algebra.zeros(symbols.shape[0]))
    else:  # written with the symbols, such as sqrt(x**2)**2, so that they cannot be put to zero
        rest = algebra.without(first - second @ symbols, symbols)
    return algebra.solve(second, values - rest)


def conjugate(algebra: Algebra, function: Scalar, symbols: Block, values: Block) -> tuple[Any, Any]:
    """The Legendre transform of `function`, and its symbols as functions of the values.

    Returns H(q, p, t) and v(q, p, t) for L and the symbols v; L(q, v, t) and p(q, v, t) for H and
    the symbols p.
    """
    matched = conjugate_symbols(algebra, function, symbols, values)
    transform = algebra.inner(values, matched) - algebra.substitute(function, symbols, matched)
    return transform, matched
