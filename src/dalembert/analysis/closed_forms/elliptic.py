r"""Jacobi's elliptic functions and the integral of the third kind, by the complementary parameter.

    u = F(phi, m),   sn u = sin phi,  cn u = cos phi,  dn u = sqrt(1 - m sin^2 phi),      m1 = 1 - m

They are wanted near m = 1, the separatrix, where m itself has lost what tells one motion from
another; m1 has not. For m1 = 0 they are hyperbolic functions, and have no period.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import elliprf, elliprj

from ...typing import Array, Numbers

__all__ = ["Jacobi", "first_kind", "jacobi", "quarter_period", "third_kind"]

#: The iteration of means, which squares the difference, stops at half of the digits.
AGREED = 1e-9


class Jacobi(NamedTuple):
    """The three functions, and the amplitude phi, which grows by pi in every half period."""

    sn: Array
    cn: Array
    dn: Array
    phi: Array


def quarter_period(m1: float) -> float:
    """K, infinite for m1 = 0.

    >>> round(quarter_period(1.0) / np.pi, 12)
    0.5
    """
    return float(elliprf(0.0, m1, 1.0)) if m1 > 0 else np.inf


def jacobi(u: Numbers, m1: float) -> Jacobi:
    r"""sn, cn, dn and phi at u for 0 <= m1 <= 1, by descending means (R. Bulirsch 1965).

    >>> found = jacobi(0.5, 0.0)
    >>> bool(np.isclose(found.sn, np.tanh(0.5)) and np.isclose(found.cn, found.dn))
    True
    """
    argument = np.asarray(u, dtype=float)
    if m1 <= 0:
        sn, cn = np.tanh(argument), 1 / np.cosh(np.clip(argument, -700, 700))
        return Jacobi(sn, cn, cn, np.arctan(np.sinh(np.clip(argument, -700, 700))))
    half = 2 * quarter_period(m1)
    turns = np.round(argument / half)
    sn, cn, dn = _first_half(argument - turns * half, m1)
    sign = np.where(turns % 2 == 0, 1.0, -1.0)
    return Jacobi(sign * sn, sign * cn, dn, np.pi * turns + np.arctan2(sn, cn))


def _first_half(u: Array, m1: float) -> tuple[Array, Array, Array]:
    """sn, cn, dn for |u| <= K."""
    means, roots = [1.0], [float(np.sqrt(m1))]
    while abs(means[-1] - roots[-1]) > AGREED * means[-1]:
        mean = (means[-1] + roots[-1]) / 2
        roots.append(float(np.sqrt(means[-1] * roots[-1])))
        means.append(mean)
    last = (means[-1] + roots[-1]) / 2
    sn, cn, dn = np.sin(last * u), np.cos(last * u), np.ones_like(u)
    safe = np.where(sn == 0, 1.0, sn)
    ratio = cn / safe
    c = last * ratio
    for mean, root in zip(reversed(means), reversed(roots), strict=True):
        ratio = ratio * c
        c = c * dn
        dn = (root + ratio) / (mean + ratio)
        ratio = c / mean
    size = 1 / np.sqrt(c * c + 1)
    moved = np.where(sn < 0, -size, size)
    at_zero = sn == 0
    sn, cn = np.where(at_zero, 0.0, moved), np.where(at_zero, 1.0, c * moved)
    return sn, cn, np.where(at_zero, 1.0, dn)


def first_kind(phi: float, m1: float) -> float:
    """F(phi, m) for |phi| <= pi; infinite at a quarter turn for m1 = 0.

    >>> round(first_kind(0.3, 1.0), 12)
    0.3
    """
    turns = np.round(phi / np.pi)
    s, c = np.sin(phi - np.pi * turns), np.cos(phi - np.pi * turns)
    whole = 2 * turns * quarter_period(m1) if turns else 0.0
    return float(whole + s * elliprf(c * c, c * c + m1 * s * s, 1.0))


def third_kind(n: float, u: Numbers, phi: Numbers, m1: float) -> Any:
    r"""The integral of du/(1 - n sn^2 u) from 0 to u, for n <= 0, where phi is the amplitude of u.

    By Carlson's R_J; with b^2 = -n, for m1 = 0 it is (u + b arctan(b tanh u))/(1 + b^2).
    """
    if m1 <= 0:
        b = np.sqrt(-n)
        return (u + b * np.arctan(b * np.tanh(u))) / (1 + b * b)
    turns = np.round(phi / np.pi)
    s, c = np.sin(phi - np.pi * turns), np.cos(phi - np.pi * turns)
    whole = float(elliprj(0.0, m1, 1.0, 1.0 - n))
    part = s**3 * elliprj(c * c, c * c + m1 * s * s, 1.0, 1.0 - n * s * s)
    return u + n / 3 * (2 * turns * whole + part)
