"""Bloch and others, Internet Supplement, section 3.13: where two hinged bodies are in equilibrium (3.13.45 to 3.13.51).

Random pairs of bodies at random states. The library gives J, its derivatives and the rates of (theta, mu_1, mu_2), the latter
by Hamilton's equations of the absolute angles; independent implementations are closed forms with eps, lambda and I~, and
complex steps of the energy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...analysis.symmetry.planar_reduction import relative_equilibria
from ..independent.hinged_bodies import CHAIN, Bodies, Lowered, bodies, collinear, library_rates, shape, states, turn
from ..numeric import derivative, distance, excess, largest, worst
from ..row_registry import Corrected, claim

PAIR = CHAIN[2]
RANDOM = "random pairs of bodies at random states"
#: Two numbers that are said to differ must differ by this.
APART = 1e-3


@dataclass(frozen=True)
class Pair:
    """The closed forms of two bodies."""

    twin: Bodies

    @property
    def eps(self) -> float:
        """m1 m2 / (m1 + m2)."""
        m1, m2 = self.twin.masses
        return float(m1 * m2 / (m1 + m2))

    @property
    def hinges(self) -> tuple[Any, Any]:
        """d12 and d21."""
        return self.twin.hinges[1, 2], self.twin.hinges[2, 1]

    @property
    def own(self) -> tuple[float, float]:
        """I~_1 and I~_2."""
        return tuple(i + self.eps * d @ d for i, d in zip(self.twin.inertias, self.hinges, strict=True))  # type: ignore[return-value]

    def lam(self, theta: Any, derivative: int = 0) -> Any:
        """lambda = -d12 . R(theta) d21, or a derivative of it."""
        first, second = self.hinges
        return -first @ turn(theta + derivative * np.pi / 2) @ second

    def delta(self, theta: Any) -> Any:
        """The determinant of J."""
        return self.own[0] * self.own[1] - (self.eps * self.lam(theta)) ** 2

    def rates(self, x: Any) -> Any:
        """w_1 and w_2 by the inverse of J in closed form (2,)."""
        (i1, i2), c = self.own, self.eps * self.lam(x[0])
        return np.array([i2 * x[1] - c * x[2], i1 * x[2] - c * x[1]]) / self.delta(x[0])

    def gradient(self, x: Any) -> Any:
        """dH (3,): -eps lambda' w_1 w_2, w_1, w_2."""
        w = self.rates(x)
        return np.array([-self.eps * self.lam(x[0], 1) * w[0] * w[1], *w])

    def turning(self, theta: float, rate: float) -> Any:
        """The state (3,) where both bodies turn at one rate."""
        c = self.eps * self.lam(theta)
        return np.array([theta, rate * (self.own[0] + c), rate * (self.own[1] + c)])


@cache
def _inertia() -> Lowered:
    pair = shape(PAIR)
    return Lowered(list(pair.inertia), pair.joints)


def _derivative_of_inertia(twin: Bodies, theta: float) -> Any:
    """dJ/dtheta of the library (2, 2)."""
    return _inertia()([theta], twin.values)[1].reshape(2, 2)


def over_pairs(residual: Callable[[Pair, Any], float], count: int = 4) -> float:
    """The worst residual over random pairs and states."""
    return worst(residual(Pair(twin), x) for twin, x in states(PAIR, count))


@claim(
    "B-3.13.45",
    "mu_1_dot = H_theta = -mu_2_dot, so that both momenta stand still just where H_theta = 0",
    how=f"{RANDOM}: the library's rates against complex steps of H",
)
def standing_momenta() -> float:
    def residual(p: Pair, x: Any) -> float:
        found, derivative_of_energy = library_rates(p.twin, x), p.twin.gradient(x)[0]
        return distance(found[1:], [derivative_of_energy, -derivative_of_energy])

    return over_pairs(residual)


@claim(
    "B-3.13.46",
    "H_theta = -1/2 mu^T J^-1 J' J^-1 mu",
    how=f"{RANDOM}: the library's mu_1_dot against J and J' by complex steps",
)
def derivative_of_the_energy() -> float:
    def residual(p: Pair, x: Any) -> float:
        bend = derivative(lambda a: p.twin.inertia(a).ravel(), x[:1]).reshape(2, 2)
        w = p.twin.rates(x)
        return distance(library_rates(p.twin, x)[1], -w @ bend @ w / 2)

    return over_pairs(residual)


@claim(
    "B-3.13.47",
    "J' has eps lambda' off the diagonal and zeros on it, with lambda(theta) = -d12 . R(theta) d21",
    how=f"{RANDOM}: the library's J and dJ/dtheta against the closed form",
)
def derivative_of_the_inertia() -> float:
    def residual(p: Pair, x: Any) -> float:
        own, c, bend = p.own, p.eps * p.lam(x[0]), p.eps * p.lam(x[0], 1)
        values, _ = _inertia()(x[:1], p.twin.values)
        return largest(
            distance(values, [own[0], c, c, own[1]]),
            distance(_derivative_of_inertia(p.twin, x[0]), [[0, bend], [bend, 0]]),
        )

    return over_pairs(residual)


@claim(
    "B-3.13.48",
    "H_theta = -1/2 w^T J' w, with w = J^-1 mu on both sides; the print has mu on the right",
    how=f"{RANDOM}: the library's mu_1_dot and dJ/dtheta, w by a dense solve",
)
def derivative_by_rates() -> Corrected:
    def residual(p: Pair, x: Any, printed: bool) -> float:
        w = p.twin.rates(x)
        return distance(library_rates(p.twin, x)[1], -w @ _derivative_of_inertia(p.twin, x[0]) @ (x[1:] if printed else w) / 2)

    return Corrected(over_pairs(lambda p, x: residual(p, x, False)), over_pairs(lambda p, x: residual(p, x, True)))


@claim(
    "B-3.13.49",
    "H_theta = -eps lambda' w_1 w_2, and vanishes in equilibrium",
    how=f"{RANDOM}: the library's mu_1_dot against the closed form",
)
def derivative_in_closed_form() -> float:
    return over_pairs(lambda p, x: distance(library_rates(p.twin, x)[1], p.gradient(x)[0]))


@claim(
    "B-3.13-equal-rates",
    "theta_dot = 0 just where I~_2 mu_1 - eps lambda mu_2 = I~_1 mu_2 - eps lambda mu_1, that is w_1 = w_2; the print exchanges"
    " I~_1 and I~_2",
    how=f"{RANDOM}: the difference of the sides over the determinant of J against the library's theta_dot",
)
def equal_rates() -> Corrected:
    def residual(p: Pair, x: Any, printed: bool) -> float:
        (i1, i2), c = p.own[:: -1 if printed else 1], p.eps * p.lam(x[0])
        sides = i2 * x[1] - c * x[2] - (i1 * x[2] - c * x[1])
        return distance(-sides / p.delta(x[0]), library_rates(p.twin, x)[0])

    return Corrected(over_pairs(lambda p, x: residual(p, x, False)), over_pairs(lambda p, x: residual(p, x, True)))


@claim(
    "B-3.13-equilibria",
    "The equilibria are (i) w_1 = w_2 = 0, and (ii) w_1 = w_2 with lambda' = 0",
    how="random pairs: the library's relative equilibria, complete by proof, against the zeros of lambda' in closed form; its"
    " rates there, without momentum, and elsewhere",
)
def all_equilibria() -> float:
    found = []
    for seed in range(4):
        p = Pair(bodies(PAIR, seed))
        found_by_library = relative_equilibria(shape(PAIR), p.twin.values, 1.3)
        first, second = (float(np.arctan2(d[1], d[0])) for d in p.hinges)
        expected = np.exp(1j * (first - second + np.array([0.0, np.pi])))
        angles = np.exp(1j * np.array([e.angles[0] for e in found_by_library.found]))
        found += [
            worst(np.min(np.abs(angles[:, None] - expected), axis=0)),
            float(not (found_by_library.complete and len(angles) == 2)),
            worst(library_rates(p.twin, np.array([0.4, 0.0, 0.0]))),
            excess(APART - np.max(np.abs(library_rates(p.twin, p.turning(first - second + 0.9, 1.1))))),
        ]
        found += [worst(library_rates(p.twin, np.array([*e.angles, *e.momenta]))) for e in found_by_library.found]
    return worst(found)


@claim(
    "B-3.13-antiparallel",
    "theta = 0 is stretched out, with lambda = d1 d2, where d12 and d21 are antiparallel in the reference configuration; the"
    " print has them parallel",
    how="random collinear pairs: lambda of the library's J at theta = 0, and the distance of the bodies in its drawing",
)
def antiparallel_hinges() -> Corrected:
    right: list[float] = []
    printed: list[float] = []
    for seed in range(4):
        p = Pair(collinear(2, seed))
        lengths = [float(np.linalg.norm(d)) for d in p.hinges]
        other = Bodies(PAIR, p.twin.masses, p.twin.inertias, {(1, 2): p.hinges[0], (2, 1): -p.hinges[1]})
        for residuals, twin in ((right, p.twin), (printed, other)):
            coupling = _inertia()([0.0], twin.values)[0][1] / p.eps
            residuals.append(largest(distance(coupling, lengths[0] * lengths[1]), distance(_apart(twin), sum(lengths))))
    return Corrected(worst(right), min(printed))


def _apart(twin: Bodies) -> float:
    """The distance of two centres of mass at theta = 0, in the library's places."""
    pair = shape(PAIR)
    places = Lowered([*pair.place(1), *pair.place(2)], pair.angles)([0.3, 0.3], twin.values)[0]
    return float(np.hypot(*(places[2:] - places[:2])))


@claim(
    "B-3.13-slope",
    "With collinear hinge vectors lambda' = (d12 . d21) sin(theta), so that in case (ii) theta is 0 or pi",
    how="random collinear pairs: derivatives of the library's J, and its proved relative equilibria",
)
def collinear_derivative() -> float:
    found = []
    for seed in range(3):
        p = Pair(collinear(2, seed))
        inner = float(p.hinges[0] @ p.hinges[1])
        found += [
            distance(_derivative_of_inertia(p.twin, theta)[0, 1] / p.eps, inner * np.sin(theta)) for theta in (0.4, 1.9, -2.2)
        ]
        angles = sorted(float(e.angles[0]) for e in relative_equilibria(shape(PAIR), p.twin.values).found)
        found.append(distance(angles, [0.0, np.pi]))
    return worst(found)


@claim(
    "B-3.13-zero-hinge",
    "Where d12 or d21 is zero, every theta is an equilibrium of bodies that turn at one rate",
    how="random pairs with one hinge at a centre of mass: the library's rates at random angles, and its search, which proves"
    " none",
)
def zero_hinge() -> float:
    found = []
    for seed, pair in enumerate(((1, 2), (2, 1))):
        other = bodies(PAIR, seed)
        p = Pair(Bodies(PAIR, other.masses, other.inertias, {**other.hinges, pair: np.zeros(2)}))
        found += [worst(library_rates(p.twin, p.turning(theta, 0.8))) for theta in (0.3, 1.7, -2.5)]
        search = relative_equilibria(shape(PAIR), p.twin.values, most_boxes=500)
        found.append(float(search.complete or len(search) > 0))
    return worst(found)


@claim(
    "B-3.13.50",
    "H_theta = -eps lambda' w_1 w_2, H_mu_1 = w_1, H_mu_2 = w_2 with w = J^-1 mu in closed form; the print has no minus",
    how=f"{RANDOM}: the closed forms against the library's mu_1_dot, and w_1 and w_2 against complex steps",
)
def derivatives_of_the_energy() -> Corrected:
    def residual(p: Pair, x: Any, sign: float) -> float:
        found = p.gradient(x)
        theta_dot = library_rates(p.twin, x)[0]
        return largest(
            distance(sign * found[0], library_rates(p.twin, x)[1]),
            distance(found[1:], p.twin.gradient(x)[1:]),
            distance(found[2] - found[1], theta_dot),
        )

    return Corrected(over_pairs(lambda p, x: residual(p, x, 1.0)), over_pairs(lambda p, x: residual(p, x, -1.0)))


@claim(
    "B-3.13.51",
    "d(H + Phi(mu_1 + mu_2)) = H_theta dtheta + (H_mu_1 + Phi') dmu_1 + (H_mu_2 + Phi') dmu_2",
    how=f"{RANDOM} with Phi = sin: complex steps of H + Phi against the library's rates and the closed w",
)
def first_variation() -> float:
    def residual(p: Pair, x: Any) -> float:
        total = x[1] + x[2]
        whole = derivative(lambda y: p.twin.energy(y) + np.sin(y[1] + y[2]), x)
        return distance(whole, [library_rates(p.twin, x)[1], *(p.rates(x) + np.cos(total))])

    return over_pairs(residual)
