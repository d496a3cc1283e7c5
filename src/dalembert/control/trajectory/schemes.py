r"""Collocation schemes, and inputs as polynomials in Bernstein's basis.

On an interval of length h a scheme with s stages at c_i demands

    X_i = x_0 + h sum_j a_ij f(X_j),     x_1 = x_0 + h sum_j b_j f(X_j)

(E. Hairer, S. P. Norsett, G. Wanner: Solving Ordinary Differential Equations I, II.7). Gauss's
schemes have order 2s, Radau's (IIA) 2s - 1, Lobatto's (IIIA) 2s - 2; the trapezoid is Lobatto's
with two stages, Hermite-Simpson's with three.

Discrete mechanics and optimal control (S. Ober-Bloebaum, O. Junge, J. E. Marsden, ESAIM: Control,
Optimisation and Calculus of Variations 17, 2011) makes the action of the discrete Lagrangian L_d =
h sum_i b_i L(Q_i, V_i) stationary, of polynomials from q_0 to q_1, with the virtual work of forces
at the same places. With Gauss's places that is Gauss's scheme on Hamilton's equations (E. Hairer,
C. Lubich, G. Wanner: Geometric Numerical Integration, VI.6.2); with one place it is the midpoint
rule, and constraints A(q) v = 0 hold there, as in the discrete principle of Lagrange and
d'Alembert. These are "dmoc2", "dmoc4", ...

An input is a polynomial u(tau) = sum_j B_j(tau) c_j on each interval. Bernstein's polynomials B_j
are not negative and add up to one, so that bounds on the coefficients c_j are bounds on the input
everywhere, not at the stages alone (G. G. Lorentz: Bernstein Polynomials, section 1.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.polynomial import Polynomial, legendre

from ...errors import ModelError, nearest
from ...typing import Array

__all__ = ["ChosenScheme", "Scheme", "bernstein", "find_scheme", "interpolation", "usual_scheme"]

ALIASES = {"trapezoid": "lobatto2", "hermite-simpson": "lobatto4"}
FAMILIES = {"gauss": 0, "radau": 1, "lobatto": 2, "dmoc": 0}
MOST_STAGES = 12
#: Ten orders pay from this tolerance on: the first mesh of 25 intervals is then often the last.
FINE = 1e-5


@dataclass(frozen=True, eq=False)
class Scheme:
    """A collocation scheme with s stages.

    Attributes
    ----------
    name : str
    order : int
    stages : array (s,)
        c, from 0 to 1.
    mix, weights : arrays (s, s), (s,)
        a and b.
    degree : int
        Of the inputs on an interval.
    is_continuous : bool
        Whether inputs are continuous from one interval to the next.
    is_variational : bool
        Whether its steps are those of a discrete Lagrangian, in Hamilton's form.
    """

    name: str
    order: int
    stages: Array
    mix: Array
    weights: Array
    degree: int
    is_continuous: bool
    is_variational: bool = False

    @property
    def starts_at_node(self) -> bool:
        return bool(self.stages[0] == 0.0)

    @property
    def ends_at_node(self) -> bool:
        return bool(self.stages[-1] == 1.0)

    @property
    def own(self) -> list[int]:
        """The stages that are not nodes."""
        count = len(self.stages)
        return [
            i
            for i in range(count)
            if not (i == 0 and self.starts_at_node) and not (i == count - 1 and self.ends_at_node)
        ]

    @property
    def places(self) -> Array:
        """Where the state is known on an interval: both nodes and the stages between."""
        return np.concatenate([[0.0], self.stages[self.own], [1.0]])


@lru_cache(maxsize=64)
def find_scheme(name: str) -> Scheme:
    """The scheme of a name: a family and its order, or "trapezoid" or "hermite-simpson".

    >>> find_scheme("hermite-simpson").weights * 6
    array([1., 4., 1.])
    """
    known = ALIASES.get(name, name)
    family = known.rstrip("0123456789")
    digits = known[len(family) :]
    lost = FAMILIES.get(family)
    if lost is None or not digits or (int(digits) + lost) % 2:
        near = nearest(name, [*ALIASES, "gauss2", "gauss4", "gauss6", "radau3", "radau5", "dmoc2"])
        raise ModelError(
            f"There is no transcription `{name}`",
            "gauss2, gauss4, ..., radau1, radau3, ..., lobatto2, lobatto4, ..., trapezoid,"
            " hermite-simpson, dmoc2, dmoc4, ...",
            f"did you mean {near}" if near else "choose one of these",
        )
    order = int(digits)
    count = (order + lost) // 2
    if not (2 if family == "lobatto" else 1) <= count <= MOST_STAGES:
        raise ModelError(
            f"The transcription `{name}` has {count} stages",
            f"from 1 to {MOST_STAGES}",
            "choose a lower order and more intervals",
        )
    stages = _stages("gauss" if family == "dmoc" else family, count)
    mix = np.array([_integrals(stages, upper) for upper in stages])
    return Scheme(
        known, order, stages, mix, _integrals(stages, 1.0), count - 1, family == "lobatto",
        family == "dmoc",
    )  # fmt: skip


class ChosenScheme(NamedTuple):
    """A scheme that was not asked for by name, and why it was taken."""

    scheme: Scheme
    reason: str


def usual_scheme(tolerance: float, inputs_switch: bool, several: bool = False) -> ChosenScheme:
    """The scheme for a tolerance, inputs that may jump between bounds, and several starts.

    >>> usual_scheme(1e-8, inputs_switch=False).scheme.name
    'gauss10'
    """
    if inputs_switch:
        return ChosenScheme(find_scheme("gauss6"), "an input may jump between its bounds")
    if several:
        return ChosenScheme(find_scheme("gauss6"), "several starts are searched")
    if tolerance > FINE:
        return ChosenScheme(find_scheme("gauss6"), f"for tolerances above {FINE:g}")
    return ChosenScheme(find_scheme("gauss10"), f"inputs do not jump, tolerance below {FINE:g}")


def _stages(family: str, count: int) -> Array:
    """The places of Gauss, Radau (with the right end) or Lobatto (with both), in [0, 1]."""
    top = np.eye(count + 1)[count]
    if family == "gauss":
        roots = legendre.legroots(top)
    elif family == "radau":
        roots = legendre.legroots(top - np.eye(count + 1)[count - 1])
    else:
        inner = legendre.legroots(legendre.legder(np.eye(count)[count - 1]))
        roots = np.concatenate([[-1.0], inner, [1.0]])
    found = (np.sort(np.real(roots)) + 1.0) / 2.0
    if family != "gauss":
        found[-1] = 1.0
    return np.asarray(found, dtype=float)


def _integrals(stages: Array, upper: float) -> Array:
    """The integrals from 0 to `upper` of the Lagrange polynomials of the stages, (s,)."""
    found = np.zeros(len(stages))
    for j, stage in enumerate(stages):
        others = np.delete(stages, j)
        lagrange = Polynomial(np.atleast_1d(np.poly(others))[::-1] / np.prod(stage - others))
        found[j] = lagrange.integ()(upper)
    return found


def bernstein(degree: int, places: Array) -> Array:
    """Bernstein's polynomials of a degree at places (k,), as an array (k, degree + 1).

    >>> bernstein(2, np.array([0.5])).tolist()
    [[0.25, 0.5, 0.25]]
    """
    tau = np.asarray(places, dtype=float)[:, None]
    j = np.arange(degree + 1)
    binomials = np.array([math.comb(degree, int(k)) for k in j])
    table: Array = binomials * tau**j * (1.0 - tau) ** (degree - j)
    return table


def interpolation(known: Array, places: Array) -> Array:
    """The Lagrange polynomials through known places (k,) at others (m,), as an array (m, k).

    >>> interpolation(np.array([0.0, 1.0]), np.array([0.25])).tolist()
    [[0.75, 0.25]]
    """
    table = np.ones((len(places), len(known)))
    for j, own in enumerate(known):
        others = np.delete(known, j)
        table[:, j] = np.prod((places[:, None] - others) / (own - others), axis=1)
    return table
