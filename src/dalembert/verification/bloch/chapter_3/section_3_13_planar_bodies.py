"""Bloch and others, Internet Supplement, section 3.13: equilibria of two hinged bodies.

Equations 3.13.45 to 3.13.51, with random pairs of bodies at random states. The library gives J, its
derivatives and the rates of (theta, mu_1, mu_2), the latter by Hamilton's equations of the absolute
angles; independent implementations are closed forms with eps, lambda and I~, and complex steps of
the energy.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ....analysis.symmetry.planar_reduction import relative_equilibria
from ....typing import Array
from ...independent.hinged_bodies import (
    CHAIN,
    Bodies,
    Lowered,
    bodies,
    collinear,
    library_rates,
    shape,
    states,
    turn,
)
from ...numeric import Residual, Residuals, apart, derivative, distance
from ...row_registry import Corrected, listed
from ...samples import Sampler

PAIR = CHAIN[2]


@dataclass(frozen=True)
class HingedPair:
    """The closed forms of two bodies."""

    model: Bodies

    @property
    def eps(self) -> float:
        """m1 m2 / (m1 + m2)."""
        m1, m2 = self.model.masses
        return float(m1 * m2 / (m1 + m2))

    @property
    def hinges(self) -> tuple[Array, Array]:
        """d12 and d21."""
        return self.model.hinges[1, 2], self.model.hinges[2, 1]

    @property
    def lengths(self) -> float:
        """d1 d2."""
        first, second = self.hinges
        return float(np.linalg.norm(first) * np.linalg.norm(second))

    @property
    def own(self) -> tuple[float, float]:
        """I~_1 and I~_2."""
        (i1, i2), (d1, d2) = self.model.inertias, self.hinges
        return i1 + self.eps * d1 @ d1, i2 + self.eps * d2 @ d2

    def lam(self, theta: float, derivative: int = 0) -> Any:
        """lambda = -d12 . R(theta) d21, or a derivative of it."""
        first, second = self.hinges
        return -first @ turn(theta + derivative * np.pi / 2) @ second

    def delta(self, theta: float) -> Any:
        """The determinant of J."""
        return self.own[0] * self.own[1] - (self.eps * self.lam(theta)) ** 2

    def rates(self, x: Array) -> Any:
        """w_1 and w_2 by the inverse of J in closed form (2,)."""
        (i1, i2), c = self.own, self.eps * self.lam(x[0])
        return np.array([i2 * x[1] - c * x[2], i1 * x[2] - c * x[1]]) / self.delta(x[0])

    def gradient(self, x: Array) -> Any:
        """dH (3,): -eps lambda' w_1 w_2, w_1, w_2."""
        w = self.rates(x)
        return np.array([-self.eps * self.lam(x[0], 1) * w[0] * w[1], *w])

    def turning(self, theta: float, rate: float) -> Any:
        """The state (3,) where both bodies turn at one rate."""
        c = self.eps * self.lam(theta)
        return np.array([theta, rate * (self.own[0] + c), rate * (self.own[1] + c)])


class PairSample(NamedTuple):
    """A random pair of bodies at a random state x = (theta, mu_1, mu_2)."""

    p: HingedPair
    x: Array

    @property
    def rates(self) -> Any:
        """The library's rates of x (3,)."""
        return library_rates(self.p.model, self.x)

    @property
    def bend(self) -> Any:
        """dJ/dtheta of the library (2, 2)."""
        return _derivative_of_inertia(self.p.model, self.x[0])


pairs = states(PAIR, count=4).map(lambda s: PairSample(HingedPair(s.model), s.x))
straight = Sampler(lambda _: [HingedPair(collinear(2, seed)) for seed in range(4)])


@cache
def _inertia() -> Lowered:
    pair = shape(PAIR)
    return Lowered(list(pair.inertia), pair.joints)


def _derivative_of_inertia(model: Bodies, theta: float) -> Any:
    """dJ/dtheta of the library (2, 2)."""
    return _inertia()([theta], model.values)[1].reshape(2, 2)


@listed("B-3.13.45", over=pairs)
def standing_momenta(s: PairSample) -> Residual:
    by_angle = s.p.model.gradient(s.x)[0]
    return distance(s.rates[1:], [by_angle, -by_angle])


@listed("B-3.13.46", over=pairs)
def derivative_of_the_energy(s: PairSample) -> Residual:
    bend = derivative(lambda a: s.p.model.inertia(a).ravel(), s.x[:1]).reshape(2, 2)
    w = s.p.model.rates(s.x)
    return distance(s.rates[1], -w @ bend @ w / 2)


@listed("B-3.13.47", over=pairs)
def derivative_of_the_inertia(s: PairSample) -> Residual:
    p, theta = s.p, s.x[0]
    own, c, bend = p.own, p.eps * p.lam(theta), p.eps * p.lam(theta, 1)
    values, _ = _inertia()(s.x[:1], p.model.values)
    return distance(values, [own[0], c, c, own[1]]), distance(s.bend, [[0, bend], [bend, 0]])


@listed("B-3.13.48", over=pairs, misprint={"printed": True})
def derivative_by_rates(s: PairSample, printed: bool = False) -> Residual:
    w = s.p.model.rates(s.x)
    return distance(s.rates[1], -w @ s.bend @ (s.x[1:] if printed else w) / 2)


listed("B-3.13.49", over=pairs)(lambda s: distance(s.rates[1], s.p.gradient(s.x)[0]))


@listed("B-3.13-equal-rates", over=pairs, misprint={"order": -1})
def equal_rates(s: PairSample, order: int = 1) -> Residual:
    (i1, i2), c, x = s.p.own[::order], s.p.eps * s.p.lam(s.x[0]), s.x
    sides = i2 * x[1] - c * x[2] - (i1 * x[2] - c * x[1])
    return distance(-sides / s.p.delta(x[0]), s.rates[0])


@listed(
    "B-3.13-equilibria",
    over=Sampler(lambda _: [HingedPair(bodies(PAIR, seed)) for seed in range(4)]),
)
def all_equilibria(p: HingedPair) -> Residual:
    library = relative_equilibria(shape(PAIR), p.model.values, 1.3)
    first, second = (float(np.arctan2(d[1], d[0])) for d in p.hinges)
    expected = np.exp(1j * (first - second + np.array([0.0, np.pi])))
    angles = np.exp(1j * np.array([e.angles[0] for e in library.found]))
    elsewhere = library_rates(p.model, p.turning(first - second + 0.9, 1.1))
    return (
        np.min(np.abs(angles[:, None] - expected), axis=0),
        float(not (library.complete and len(angles) == 2)),
        library_rates(p.model, np.array([0.4, 0.0, 0.0])),
        apart(np.max(np.abs(elsewhere))),
        [library_rates(p.model, np.array([*e.angles, *e.momenta])) for e in library.found],
    )


@listed("B-3.13-antiparallel")
def antiparallel_hinges() -> Corrected:
    def gap(p: HingedPair, model: Bodies) -> float:
        coupling = _inertia()([0.0], model.values)[0][1] / p.eps
        lengths = [float(np.linalg.norm(d)) for d in p.hinges]
        product = distance(coupling, lengths[0] * lengths[1])
        return max(product, distance(_apart(model), sum(lengths)))

    def parallel(p: HingedPair) -> Bodies:
        hinges = {(1, 2): p.hinges[0], (2, 1): -p.hinges[1]}
        return Bodies(PAIR, p.model.masses, p.model.inertias, hinges)

    right = [gap(p, p.model) for p in straight]
    return Corrected(right, min(gap(p, parallel(p)) for p in straight))


def _apart(model: Bodies) -> float:
    """The distance of two centres of mass at theta = 0, in the library's places."""
    pair = shape(PAIR)
    places = Lowered([*pair.place(1), *pair.place(2)], pair.angles)([0.3, 0.3], model.values)[0]
    return float(np.hypot(*(places[2:] - places[:2])))


@listed("B-3.13-slope", over=Sampler(lambda _: straight()[:3]))
def collinear_derivative(p: HingedPair) -> Residual:
    inner, angles = float(p.hinges[0] @ p.hinges[1]), (0.4, 1.9, -2.2)
    bends = [_derivative_of_inertia(p.model, theta)[0, 1] / p.eps for theta in angles]
    found = relative_equilibria(shape(PAIR), p.model.values).found
    zeros = sorted(float(e.angles[0]) for e in found)
    return distance(bends, inner * np.sin(angles)), distance(zeros, [0.0, np.pi])


@listed("B-3.13-zero-hinge")
def zero_hinge() -> Residuals:
    for seed, pair in enumerate(((1, 2), (2, 1))):
        other = bodies(PAIR, seed)
        hinges = {**other.hinges, pair: np.zeros(2)}
        p = HingedPair(Bodies(PAIR, other.masses, other.inertias, hinges))
        yield [library_rates(p.model, p.turning(theta, 0.8)) for theta in (0.3, 1.7, -2.5)]
        search = relative_equilibria(shape(PAIR), p.model.values, most_boxes=500)
        yield float(search.complete or len(search) > 0)


@listed("B-3.13.50", over=pairs, misprint={"sign": -1.0})
def derivatives_of_the_energy(s: PairSample, sign: float = 1.0) -> Residual:
    found, rates = s.p.gradient(s.x), s.rates
    by_steps = distance(found[1:], s.p.model.gradient(s.x)[1:])
    return distance(sign * found[0], rates[1]), by_steps, distance(found[2] - found[1], rates[0])


@listed("B-3.13.51", over=pairs)
def first_variation(s: PairSample) -> Residual:
    energy, total = s.p.model.energy, s.x[1] + s.x[2]
    whole = derivative(lambda y: energy(y) + np.sin(y[1] + y[2]), s.x)
    return distance(whole, [s.rates[1], *(s.p.rates(s.x) + np.cos(total))])
