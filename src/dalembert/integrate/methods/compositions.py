"""Symmetric compositions: a step of size h as steps of sizes gamma_i h of a symmetric method of
order 2.

    S_h = R_(gamma_s h) o ... o R_(gamma_1 h),        sum gamma_i = 1,      sum gamma_i^3 = 0, ...

has order 4, 6 or 8 and stays symmetric, and symplectic where R is. The coefficients are those of M.
Suzuki (Phys. Lett. A 146 (1990) 319) for order 4, and of W. Kahan and R.-C. Li (Math. Comp. 66
(1997) 1089) with 9 and 17 steps for orders 6 and 8, which have small errors; see E. Hairer, C.
Lubich, G. Wanner: Geometric Numerical Integration, V.3.2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...typing import Array

__all__ = ["composition"]

_FIFTH = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
#: The first half of the coefficients and the middle one, by order.
_HALVES = {
    2: (1.0,),
    4: (_FIFTH, _FIFTH, 1.0 - 4.0 * _FIFTH),
    6: (
        0.39216144400731413927925056,
        0.33259913678935943859974864,
        -0.70624617255763935980996482,
        0.08221359629355080023149045,
        0.79854399093482996339895035,
    ),
    8: (
        0.13020248308889008087881763,
        0.56116298177510838456196441,
        -0.38947496264484728640807860,
        0.15884190655515560089621075,
        -0.39590389413323757733623154,
        0.18453964097831570709183254,
        0.25837438768632204729397911,
        0.29501172360931029887096624,
        -0.60550853383003451169892108,
    ),
}


def composition(order: int) -> Array:
    """The coefficients gamma_i of a composition of order 2, 4, 6 or 8.

    >>> [len(composition(order)) for order in (2, 4, 6, 8)]
    [1, 5, 9, 17]
    >>> bool(abs(composition(8).sum() - 1) < 1e-15)
    True
    """
    half = _HALVES[order]
    return np.array([*half, *half[-2::-1]])
