"""Equations of textbooks, written out by hand as accelerations: systems without constraints, or
with holonomic ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy import cos, sin, tan

import dalembert as da

from .differential_bodies import Bodies, Body
from .differential_cases import Case, State, Word, motion_case

G = 9.81


@dataclass(frozen=True)
class Hand:
    """A system of a textbook: `accelerations(t, q, v)` and, where the context has it, `reaction(t,
    q, v)`, both written out.

    `points` are masses with their positions, for KanesMethod, where the system is made of
    particles.
    """

    name: str
    source: str
    system: da.System
    start: Mapping[Any, float]
    accelerations: Callable[[float, Any, Any], Sequence[Any]]
    reaction: Callable[[float, Any, Any], Sequence[Any]] | None = None
    points: Sequence[tuple[float, Sequence[Any]]] = ()
    seconds: float = 0.6
    dependent: bool = False

    def case(self) -> Case:
        """The case of a motion from the start."""
        motion = da.simulate(self.system, self.start, (0.0, self.seconds), rtol=1e-11, atol=1e-12)
        bodies = None
        if self.points:
            potential = self.system.potential
            bodies = Bodies(
                self.system.coordinates,
                tuple(Body(m, _space(r)) for m, r in self.points),
                potential,
                0.0,
                1,
            )
        return motion_case(
            f"hand: {self.name}", self.system, motion, self.dependent, tags={"hand"}, bodies=bodies
        )

    def word(self, state: State) -> Word:
        """What the context says."""
        given = (state.time, state.q, state.v)
        reaction = None if self.reaction is None else np.array(self.reaction(*given), float)
        return Word(np.array(self.accelerations(*given), float), reaction)


def _space(position: Sequence[Any]) -> tuple[Any, ...]:
    return (*position, *[sympy.Integer(0)] * (3 - len(position)))


def kinetic_of(coordinates: Sequence[Any], points: Sequence[tuple[float, Sequence[Any]]]) -> Any:
    """The sum of m r_dot^2 / 2."""
    return Bodies(tuple(coordinates), tuple(Body(m, _space(r)) for m, r in points)).kinetic


def double_pendulum() -> Hand:
    a, b = da.coordinates("a b")
    m1, m2, l1, l2 = 1.3, 0.7, 1.1, 0.8
    first = (l1 * sympy.sin(a), -l1 * sympy.cos(a))
    second = (first[0] + l2 * sympy.sin(b), first[1] - l2 * sympy.cos(b))
    points = [(m1, first), (m2, second)]
    system = da.System(
        [a, b], kinetic=kinetic_of([a, b], points), potential=G * (m1 * first[1] + m2 * second[1])
    )

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        d, (w1, w2) = q[0] - q[1], v
        below = 2 * m1 + m2 - m2 * cos(2 * d)
        one = -G * (2 * m1 + m2) * sin(q[0]) - m2 * G * sin(q[0] - 2 * q[1])
        one -= 2 * sin(d) * m2 * (w2**2 * l2 + w1**2 * l1 * cos(d))
        two = w1**2 * l1 * (m1 + m2) + G * (m1 + m2) * cos(q[0]) + w2**2 * l2 * m2 * cos(d)
        return [one / (l1 * below), 2 * sin(d) * two / (l2 * below)]

    source = "Landau and Lifshitz, Mechanics, sect. 5, problem 1"
    return Hand(
        "double pendulum",
        source,
        system,
        {a: 1.0, b: -0.4, a.dot: 0.3, b.dot: 1.2},
        accelerations,
        None,
        points,
    )


def spherical_pendulum() -> Hand:
    theta, phi = da.coordinates("theta phi")
    m, length = 0.9, 1.2
    place = [
        length * f
        for f in (
            sympy.sin(theta) * sympy.cos(phi),
            sympy.sin(theta) * sympy.sin(phi),
            -sympy.cos(theta),
        )
    ]
    system = da.System(
        [theta, phi], kinetic=kinetic_of([theta, phi], [(m, place)]), potential=m * G * place[2]
    )

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        return [
            sin(q[0]) * cos(q[0]) * v[1] ** 2 - G / length * sin(q[0]),
            -2 * v[0] * v[1] / tan(q[0]),
        ]

    start = {theta: 0.9, phi: 0.2, theta.dot: -0.3, phi.dot: 2.1}
    source = "Landau and Lifshitz, Mechanics, sect. 14, problem 1"
    return Hand("spherical pendulum", source, system, start, accelerations, None, [(m, place)])


def pendulum_by_its_rod(copies: int = 1) -> Hand:
    """The tension of the rod in Cartesian coordinates; also with the rod stated several times."""
    x, y = da.coordinates("x y")
    m, length = 1.4, 1.1
    rods = [
        da.holonomic((k + 1) * (x**2 + y**2 - length**2) / 2, name=f"rod{k}") for k in range(copies)
    ]
    system = da.System(
        [x, y], kinetic=m * (x.dot**2 + y.dot**2) / 2, potential=m * G * y, constraints=rods
    )

    def pull(q: Any, v: Any) -> Any:
        return -m * (v[0] ** 2 + v[1] ** 2 - G * q[1]) / length**2

    start = {
        x: length * np.sin(0.8),
        y: -length * np.cos(0.8),
        x.dot: 1.5 * np.cos(0.8),
        y.dot: 1.5 * np.sin(0.8),
    }
    return Hand(
        f"pendulum by its rod, stated {copies} times" if copies > 1 else "pendulum by its rod",
        "Taylor, Classical Mechanics, sect. 7.10",
        system,
        start,
        lambda t, q, v: [pull(q, v) * q[0] / m, pull(q, v) * q[1] / m - G],
        lambda t, q, v: [pull(q, v) * q[0], pull(q, v) * q[1]],
        [(m, (x, y))] if copies == 1 else (),
        dependent=copies > 1,
    )


def bead_on_hoop() -> Hand:
    theta = da.coordinates("theta")
    m, radius, rate = 0.6, 0.9, 4.0
    turn = rate * da.t
    place = [
        radius * f
        for f in (
            sympy.sin(theta) * sympy.cos(turn),
            sympy.sin(theta) * sympy.sin(turn),
            -sympy.cos(theta),
        )
    ]
    points = [(m, place)]
    system = da.System([theta], kinetic=kinetic_of([theta], points), potential=m * G * place[2])
    return Hand(
        "bead on a rotating hoop",
        "Taylor, Classical Mechanics, example 7.6",
        system,
        {theta: 0.5, theta.dot: 0.4},
        lambda t, q, v: [(rate**2 * cos(q[0]) - G / radius) * sin(q[0])],
        None,
        points,
    )


def atwood_machine() -> Hand:
    x, y = da.coordinates("x y")
    m1, m2, inertia = 1.7, 1.1, 0.4  # inertia of the pulley over the square of its radius
    system = da.System(
        [x, y],
        kinetic=m1 * x.dot**2 / 2 + m2 * y.dot**2 / 2 + inertia * x.dot**2 / 2,
        potential=-m1 * G * x - m2 * G * y,
        constraints=[da.holonomic(x + y - 3, name="rope")],
    )
    a = (m1 - m2) * G / (m1 + m2 + inertia)
    pull = -m2 * (G + a)
    return Hand(
        "Atwood's machine with a pulley",
        "Taylor, Classical Mechanics, example 7.3 and sect. 7.10",
        system,
        {x: 1.0, y: 2.0, x.dot: 0.2, y.dot: -0.2},
        lambda t, q, v: [a, -a],
        lambda t, q, v: [pull, pull],
    )


def charged_particle() -> Hand:
    x, y, z = q = da.coordinates("x y z")
    m, charge, field, along = 1.2, 0.8, 2.5, 0.6
    velocity = [c.dot for c in q]
    gauge = (-field * y / 2, field * x / 2, 0)
    lagrangian = m * sum(v**2 for v in velocity) / 2 + charge * sum(
        a * v for a, v in zip(gauge, velocity, strict=True)
    )
    system = da.System(q, lagrangian=lagrangian + charge * along * x)
    w = charge * field / m
    return Hand(
        "charged particle in crossed fields",
        "Goldstein, Poole and Safko, Classical Mechanics, sect. 1.5; Landau and Lifshitz, Fields,"
        " sect. 22",
        system,
        {x: 0.3, y: -0.2, x.dot: 1.0, y.dot: 0.5, z.dot: -0.7},
        lambda t, q, v: [w * v[1] + charge * along / m, -w * v[0], 0.0],
    )


def kepler() -> Hand:
    r, phi = da.coordinates("r phi")
    m, k = 1.1, 3.0
    system = da.System([r, phi], kinetic=m * (r.dot**2 + r**2 * phi.dot**2) / 2, potential=-k / r)
    return Hand(
        "Kepler in polar coordinates",
        "Goldstein, Poole and Safko, Classical Mechanics, sect. 3.2",
        system,
        {r: 1.0, phi: 0.3, r.dot: 0.2, phi.dot: 1.7},
        lambda t, q, v: [q[0] * v[1] ** 2 - k / (m * q[0] ** 2), -2 * v[0] * v[1] / q[0]],
        None,
        [(m, (r * sympy.cos(phi), r * sympy.sin(phi)))],
    )


def cart_pendulum() -> Hand:
    x, theta = da.coordinates("x theta")
    push, heavy, m, length = 0.8, 1.5, 0.6, 0.7
    points = [(heavy, (x,)), (m, (x + length * sympy.sin(theta), length * sympy.cos(theta)))]
    system = da.System(
        [x, theta],
        kinetic=kinetic_of([x, theta], points),
        potential=m * G * length * sympy.cos(theta),
        forces={x: push},
    )

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        s, c, w = sin(q[1]), cos(q[1]), v[1]
        below = heavy + m * s**2
        force = push + m * length * w**2 * s
        return [
            (force - m * G * s * c) / below,
            ((heavy + m) * G * s - force * c) / (length * below),
        ]

    source = "Astrom and Murray, Feedback Systems, example 3.3"
    return Hand(
        "cart with a pendulum",
        source,
        system,
        {theta: 0.4, theta.dot: -0.9, x.dot: 0.5},
        accelerations,
        None,
        points,
    )


def heavy_top() -> Hand:
    theta, phi, psi = da.coordinates("theta phi psi")
    across, along, weight = 0.9, 0.35, 2.4
    spin = psi.dot + phi.dot * sympy.cos(theta)
    system = da.System(
        [theta, phi, psi],
        kinetic=across * (theta.dot**2 + phi.dot**2 * sympy.sin(theta) ** 2) / 2
        + along * spin**2 / 2,
        potential=weight * sympy.cos(theta),
    )

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        s, c = sin(q[0]), cos(q[0])
        turn = along * (v[2] + v[1] * c)
        nutation = (across * v[1] ** 2 * c - turn * v[1] + weight) * s / across
        precession = (turn * v[0] - 2 * across * v[0] * v[1] * c) / (across * s)
        return [nutation, precession, v[1] * v[0] * s - precession * c]

    start = {theta: 0.7, phi: 0.1, psi: -0.3, theta.dot: 0.2, phi.dot: 0.9, psi.dot: 9.0}
    source = (
        "Goldstein, Poole and Safko, Classical Mechanics, sect. 5.7; Landau and Lifshitz,"
        " Mechanics, sect. 35"
    )
    return Hand("heavy symmetric top", source, system, start, accelerations)


def elastic_pendulum() -> Hand:
    r, theta = da.coordinates("r theta")
    m, k, rest = 0.8, 14.0, 0.9
    points = [(m, (r * sympy.sin(theta), -r * sympy.cos(theta)))]
    potential = -m * G * r * sympy.cos(theta) + k * (r - rest) ** 2 / 2
    system = da.System([r, theta], kinetic=kinetic_of([r, theta], points), potential=potential)
    return Hand(
        "elastic pendulum",
        "Morin, Introduction to Classical Mechanics, sect. 6.1",
        system,
        {r: 1.1, theta: 0.6, r.dot: -0.4, theta.dot: 0.8},
        lambda t, q, v: [
            q[0] * v[1] ** 2 + G * cos(q[1]) - k / m * (q[0] - rest),
            -(2 * v[0] * v[1] + G * sin(q[1])) / q[0],
        ],
        None,
        points,
    )


def triple_pendulum() -> Hand:
    q = da.coordinates("a b c")
    masses, lengths = (1.0, 0.8, 0.6), (0.7, 0.9, 0.5)
    points, x, y = [], 0, 0
    for m, length, angle in zip(masses, lengths, q, strict=True):
        x, y = x + length * sympy.sin(angle), y - length * sympy.cos(angle)
        points.append((m, (x, y)))
    system = da.System(
        q, kinetic=kinetic_of(q, points), potential=sum(m * G * r[1] for m, r in points)
    )

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        below = [sum(masses[k:]) for k in range(3)]
        weight = [[below[max(i, j)] * lengths[i] * lengths[j] for j in range(3)] for i in range(3)]
        matrix = [[weight[i][j] * cos(q[i] - q[j]) for j in range(3)] for i in range(3)]
        right = [
            -sum(weight[i][j] * sin(q[i] - q[j]) * v[j] ** 2 for j in range(3))
            - below[i] * G * lengths[i] * sin(q[i])
            for i in range(3)
        ]
        return list(np.linalg.solve(np.array(matrix), np.array(right)))

    start = dict(zip((*q, *(c.dot for c in q)), (0.5, -0.9, 1.3, 0.4, 1.1, -0.6), strict=True))
    source = (
        "Whittaker, Analytical Dynamics, sect. 44; Wittenburg, Dynamics of Multibody Systems,"
        " chapter 5"
    )
    return Hand("planar chain of three links", source, system, start, accelerations, None, points)


def driven_pivot() -> Hand:
    theta = da.coordinates("theta")
    m, length, size, rate = 0.7, 1.0, 0.25, 6.0
    points = [
        (m, (length * sympy.sin(theta), size * sympy.cos(rate * da.t) - length * sympy.cos(theta)))
    ]
    system = da.System(
        [theta], kinetic=kinetic_of([theta], points), potential=m * G * points[0][1][1]
    )
    return Hand(
        "pendulum on a pivot that oscillates upright",
        "Landau and Lifshitz, Mechanics, sect. 5, problem 3c",
        system,
        {theta: 0.8, theta.dot: 0.5},
        lambda t, q, v: [-(G - size * rate**2 * cos(rate * t)) / length * sin(q[0])],
        None,
        points,
    )


def bead_on_turning_wire() -> Hand:
    x, y = da.coordinates("x y")
    m, rate = 0.9, 1.4
    wire = da.holonomic(y * sympy.cos(rate * da.t) - x * sympy.sin(rate * da.t), name="wire")
    system = da.System([x, y], kinetic=m * (x.dot**2 + y.dot**2) / 2, constraints=[wire])

    def outward(t: float, q: Any, v: Any) -> tuple[Any, Any, Any, Any]:
        c, s = cos(rate * t), sin(rate * t)
        return q[0] * c + q[1] * s, v[0] * c + v[1] * s, c, s

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        _, speed, c, s = outward(t, q, v)  # r_ddot = w^2 r, and across it Coriolis' 2 w r_dot
        return [-2 * rate * speed * s, 2 * rate * speed * c]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        return [m * a for a in accelerations(t, q, v)]

    source = "Goldstein, Poole and Safko, Classical Mechanics, sect. 1.6, example 3"
    start = {x: 0.6, x.dot: 0.3, y.dot: 0.6 * rate}
    return Hand(
        "bead on a turning wire", source, system, start, accelerations, reaction, [(m, (x, y))]
    )


def particle_in_cone() -> Hand:
    r, phi = da.coordinates("r phi")
    m, half = 1.0, 0.5
    s, c = float(np.sin(half)), float(np.cos(half))
    points = [(m, (r * s * sympy.cos(phi), r * s * sympy.sin(phi), r * c))]
    system = da.System([r, phi], kinetic=kinetic_of([r, phi], points), potential=m * G * c * r)
    return Hand(
        "particle in a cone",
        "Landau and Lifshitz, Mechanics, sect. 14, problem 2",
        system,
        {r: 1.0, r.dot: 0.3, phi.dot: 5.0},
        lambda t, q, v: [q[0] * s**2 * v[1] ** 2 - G * c, -2 * v[0] * v[1] / q[0]],
        None,
        points,
    )


def sliding_ladder() -> Hand:
    x, y, theta = da.coordinates("x y theta")
    m, half = 2.0, 1.3  # theta from the wall; the centre at (half sin, half cos)
    floor = da.holonomic(y - half * sympy.cos(theta), name="floor")
    wall = da.holonomic(x - half * sympy.sin(theta), name="wall")
    inertia = m * half**2 / 3
    system = da.System(
        [x, y, theta],
        kinetic=m * (x.dot**2 + y.dot**2) / 2 + inertia * theta.dot**2 / 2,
        potential=m * G * y,
        constraints=[floor, wall],
    )

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        s, c, w = sin(q[2]), cos(q[2]), v[2]
        a = 3 * G / (4 * half) * s
        return [half * (a * c - w**2 * s), -half * (a * s + w**2 * c), a]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        a = accelerations(t, q, v)
        return [m * a[0], m * (a[1] + G), inertia * a[2]]

    start = {x: half * np.sin(0.4), y: half * np.cos(0.4), theta: 0.4, theta.dot: 0.2}
    start |= {x.dot: half * np.cos(0.4) * 0.2, y.dot: -half * np.sin(0.4) * 0.2}
    source = "Meriam and Kraige, Dynamics, sect. 6.5; Whittaker, Analytical Dynamics, chapter V"
    return Hand("sliding ladder", source, system, start, accelerations, reaction)


def pendulum_by_three_rods() -> Hand:
    """The same pendulum with its rod stated three times."""
    return pendulum_by_its_rod(3)


HOLONOMIC: tuple[Callable[[], Hand], ...] = (
    double_pendulum,
    spherical_pendulum,
    pendulum_by_its_rod,
    pendulum_by_three_rods,
    bead_on_hoop,
    atwood_machine,
    charged_particle,
    kepler,
    cart_pendulum,
    heavy_top,
    elastic_pendulum,
    triple_pendulum,
    driven_pivot,
    bead_on_turning_wire,
    particle_in_cone,
    sliding_ladder,
)
