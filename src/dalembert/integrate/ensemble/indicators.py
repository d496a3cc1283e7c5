r"""Indicators of chaos by deviations from a motion, w' = f_y w, w(0) a unit vector:

    exponent     log |w(T)| / T                       goes to the maximal Lyapunov exponent
    fli          max over t of log |w(t)|             the fast Lyapunov indicator
    megno        Y = 2/T int t d log|w|               goes to 2, or grows as exponent * T
    mean_megno   1/T int Y dt                         goes to 2, or grows as exponent * T / 2
    sali         min |u_1 +- u_2|                     u_c = w_c / |w_c|; goes to 0 in chaos
    gali2, ...   |u_1 ^ ... ^ u_k|                    the volume that k of them span

(C. Froeschlé, E. Lega and R. Gonczi, Celest. Mech. Dyn. Astron. 67 (1997) 41-62; P. M. Cincotta,
C. M. Giordano and C. Simó, Physica D 182 (2003) 151-178; C. Skokos, T. C. Bountis and C.
Antonopoulos, Physica D 231 (2007) 30-54.)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...errors import ModelError, nearest
from ...typing import Array

__all__ = ["NAMES", "Deviations", "Indicators"]

#: The indicators of one deviation and of two; `gali` takes the number of its deviations behind it.
NAMES = ("exponent", "fli", "megno", "mean_megno", "sali")
_AVERAGED = ("megno", "mean_megno")
LOG_TWO = float(np.log(2.0))


class Deviations(NamedTuple):
    """Deviations of many runs at their times; a deviation is a vector times a power of two.

    Attributes
    ----------
    vectors : array (k, nt, count, n)
    powers : array (k, nt, count)
    largest : array (k, nt, 1)
        The largest squared length of the first vector so far, on the scale of its power.
    means : array (k, nt, 1)
        The integral of L/t.
    integral : array (k, nt)
        L, the integral of the logarithm of the first deviation's length.
    """

    vectors: Any
    powers: Any
    largest: Any
    means: Any
    integral: Any

    @classmethod
    def empty(cls, nt: int, count: int, n: int) -> Deviations:
        """The deviations of no runs."""
        one = np.zeros((0, nt, 1))
        return cls(np.zeros((0, nt, count, n)), np.zeros((0, nt, count)), one, one, one[..., 0])


@dataclass(frozen=True)
class Indicators:
    """The indicators that are asked for.

    Attributes
    ----------
    names : tuple of str
    seed : int
        Of the directions in which deviations begin.
    """

    names: tuple[str, ...]
    seed: int = 0

    @classmethod
    def read(cls, names: str | Iterable[str], seed: int = 0) -> Indicators:
        """Check the names of indicators."""
        asked = (names,) if isinstance(names, str) else tuple(names)
        for name in asked:
            if name in NAMES or _volume(name) >= 2:
                continue
            near = nearest(str(name), NAMES)
            raise ModelError(
                f"There is no chaos indicator `{name}`",
                seen=", ".join([*NAMES, "gali2, gali3, ..."]),
                remedy=f"did you mean {near}" if near else "use one of these",
            )
        if not asked or len(set(asked)) < len(asked):
            raise ModelError(
                "Chaos indicators are asked for once each, and at least one",
                seen=", ".join(asked) or "none",
                remedy="pass indicators=['megno', 'exponent']",
            )
        if not isinstance(seed, int) or seed < 0:
            raise ModelError("seed must be a whole number, not negative", seen=seed)
        return cls(asked, seed)

    @property
    def count(self) -> int:
        """How many deviations they need."""
        return max(2 if name == "sali" else max(1, _volume(name)) for name in self.names)

    @property
    def is_averaged(self) -> bool:
        """Whether the logarithm of the first deviation is integrated."""
        return any(name in _AVERAGED for name in self.names)

    def directions(self, n: int) -> Array:
        """Orthonormal random directions (count, n), the same for all runs."""
        if self.count > n:
            raise ModelError(
                f"There are {n} directions in the space of states",
                seen=f"{self.count} deviations",
                remedy="ask for a volume of fewer",
            )
        random = np.random.default_rng(self.seed).normal(size=(n, self.count))
        return np.ascontiguousarray(np.linalg.qr(random)[0].T)

    def values(self, elapsed: Array, found: Deviations) -> Array:
        """The indicators (k, nt, n_names) at times that have passed since the start."""
        with np.errstate(divide="ignore", invalid="ignore"):
            lengths = np.linalg.norm(found.vectors, axis=-1)
            units = found.vectors / lengths[..., None]
            growth = np.log(lengths[..., 0]) + LOG_TWO * found.powers[..., 0]
            columns = [self._value(name, elapsed, found, growth, units) for name in self.names]
        return np.stack(columns, axis=-1)

    def _value(
        self, name: str, elapsed: Array, found: Deviations, growth: Array, units: Array
    ) -> Array:
        if name == "exponent":
            return growth / elapsed
        if name == "fli":
            begun: Array = np.log(found.largest[..., 0]) / 2 + LOG_TWO * found.powers[..., 0]
            return begun
        if name in _AVERAGED:
            rest = growth if name == "megno" else found.integral / elapsed
            less = found.integral if name == "megno" else found.means[..., 0]
            means: Array = np.where(elapsed == 0.0, 0.0, 2.0 * (rest - less / elapsed))
            return means
        if name == "sali":
            apart = (units[..., 0, :] - units[..., 1, :], units[..., 0, :] + units[..., 1, :])
            sizes = [np.linalg.norm(each, axis=-1) for each in apart]
            least: Array = np.minimum(*sizes)
            return least
        own = units[..., : _volume(name), :]
        fine = np.isfinite(own).all(axis=(-1, -2))
        volumes = np.full(fine.shape, np.nan)
        triangles = np.linalg.qr(np.swapaxes(own[fine], -1, -2), mode="r")
        volumes[fine] = np.abs(np.prod(np.diagonal(triangles, axis1=-2, axis2=-1), axis=-1))
        return volumes


def _volume(name: object) -> int:
    """How many deviations span the volume of an indicator `gali<k>`; 0 for another name."""
    text = str(name)
    number = text.removeprefix("gali")
    is_volume = text.startswith("gali") and number.isascii() and number.isdigit()
    return int(number) if is_volume and len(number) < 4 else 0
