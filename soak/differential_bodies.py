"""Random particles and rigid bodies: once as energies for dalembert, once as bodies for
KanesMethod.

A particle is at r(q, t); a rigid body besides is turned by R = R_z(alpha) R_x(beta) with angles of
(q, t), so that its angular
 velocity along its own axes is (beta_dot, alpha_dot sin beta, alpha_dot cos beta).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import sympy
from sympy.physics import mechanics as me

import dalembert as da
from agreement import instants
from core_systems import random_system

from .differential_cases import SPEED_KINDS, Case, instant_case, motion_case, starting_at, tags_of

GRAVITY = 1.5


@dataclass(frozen=True)
class Body:
    """A mass at a position; with angles and principal moments it is rigid."""

    mass: float
    position: tuple[Any, ...]
    angles: tuple[Any, ...] = ()
    moments: tuple[float, ...] = ()


@dataclass(frozen=True)
class Bodies:
    """Bodies, the potential besides their weight, and what quasi-speeds are drawn from."""

    coordinates: tuple[Any, ...]
    bodies: tuple[Body, ...]
    potential: Any = 0
    gravity: float = GRAVITY
    seed: int = 0

    def rate(self, expression: Any) -> Any:
        """The derivative of an expression of (q, t) along the velocities."""
        along = sum(sympy.diff(expression, q) * q.dot for q in self.coordinates)
        return along + sympy.diff(expression, da.t)

    @cached_property
    def kinetic(self) -> Any:
        """The sum of m r_dot^2 / 2 + (A w_x^2 + B w_y^2 + C w_z^2) / 2."""
        total: Any = sympy.Integer(0)
        for body in self.bodies:
            total += body.mass * sum(self.rate(x) ** 2 for x in body.position) / 2
            if body.angles:
                beta, (first, second) = body.angles[1], map(self.rate, body.angles)
                spin = (second, first * sympy.sin(beta), first * sympy.cos(beta))
                total += (
                    sum(moment * w**2 for moment, w in zip(body.moments, spin, strict=True)) / 2
                )
        return total

    @cached_property
    def weight(self) -> Any:
        """The potential of gravity along -z."""
        return sum(
            (body.mass * self.gravity * body.position[2] for body in self.bodies), sympy.Integer(0)
        )

    def in_sympy(self, forth: Mapping[Any, Any], frame: Any) -> tuple[list[Any], list[Any]]:
        """Particles and rigid bodies of SymPy, and their weights as forces."""
        origin = me.Point("O")
        origin.set_vel(frame, 0)
        found, weights = [], []
        for k, body in enumerate(self.bodies):
            axes = (frame.x, frame.y, frame.z)
            place = sum(
                (
                    sympy.sympify(x).xreplace(forth) * e
                    for x, e in zip(body.position, axes, strict=True)
                ),
                me.Vector(0),
            )
            point = origin.locatenew(f"B{k}", place)
            point.set_vel(frame, place.dt(frame))
            weights.append((point, -body.mass * self.gravity * frame.z))
            if not body.angles:
                found.append(me.Particle(f"body{k}", point, body.mass))
                continue
            alpha, beta = (sympy.sympify(angle).xreplace(forth) for angle in body.angles)
            middle = frame.orientnew(f"A{k}", "Axis", [alpha, frame.z])
            turned = middle.orientnew(f"C{k}", "Axis", [beta, middle.x])
            inertia = me.inertia(turned, *body.moments)
            found.append(me.RigidBody(f"body{k}", point, turned, body.mass, (inertia, point)))
        return found, weights

    def frame_of_speeds(self) -> tuple[Any, Any]:
        """Y(q) and z(q, t) of quasi-speeds: mixed velocities, the first two at times along turned
        axes, and a drift.
        """
        random, n, q = np.random.default_rng(self.seed), len(self.coordinates), self.coordinates
        turned = sympy.eye(n)
        if n > 1 and self.seed % 4 == 0:
            angle = q[-1] + sympy.Float(float(np.round(random.uniform(0.1, 0.9), 2)))
            turned[0, 0], turned[0, 1] = sympy.cos(angle), sympy.sin(angle)
            turned[1, 0], turned[1, 1] = -sympy.sin(angle), sympy.cos(angle)
        for k in range(2 if self.seed % 4 == 0 else 1, n):
            turned[k, k - 1] = sympy.Float(
                float(np.round(random.uniform(0.2, 0.8), 2))
            ) * sympy.sin(q[0])
        shift = sympy.zeros(n, 1)
        shift[0] = sympy.Float(0.3) * sympy.sin(q[0]) + sympy.cos(da.t) / 4
        return turned, shift


def random_bodies(seed: int, coordinates: Sequence[Any], potential: Any) -> Bodies:
    """As many bodies as make the mass matrix regular: particles, and a rigid body where there are
    three coordinates.
    """
    random = np.random.default_rng(seed)
    n = len(coordinates)

    def number() -> sympy.Float:
        return sympy.Float(float(np.round(random.uniform(0.3, 0.9), 2)))

    def place(k: int) -> Any:
        one, other = random.integers(0, n, 2)
        moving = number() * sympy.sin(da.t + coordinates[one]) if random.uniform() < 0.3 else 0
        return coordinates[k % n] + number() * sympy.sin(coordinates[other]) + moving

    bodies = [
        Body(float(number()) + 0.5, (place(k), place(k + 1), number() * coordinates[k % n]))
        for k in range(1 + n // 2)
    ]
    if random.uniform() < 0.4:
        angles = (
            coordinates[0] + number() * coordinates[-1],
            number() * coordinates[-1] + number() * sympy.sin(da.t),
        )
        moments = tuple(float(number()) for _ in range(3))
        bodies.append(
            Body(float(number()), (place(0), place(1), sympy.Integer(0)), angles, moments)
        )
    return Bodies(tuple(coordinates), tuple(bodies), potential, GRAVITY, seed)


def bodies_case(number: int, seed: int) -> Case | None:
    """Random bodies under constraints and forces of a random system; None where no generic state
    was found.
    """
    kinds = SPEED_KINDS[number % len(SPEED_KINDS)]
    n = max(2, 1 + len(kinds)) + (number // len(SPEED_KINDS) % 3 == 2)
    drawn = random_system(
        seed + number, n=n, kinds=kinds, stated="kinetic", gyroscopic=False, forced=number % 3 == 0
    )
    label = f"bodies_case({number}, {seed}): {kinds or 'free'} on {n} coordinates"
    bodies = random_bodies(seed + number, drawn.coordinates, drawn.potential)
    system = da.System(
        drawn.coordinates,
        kinetic=bodies.kinetic,
        potential=drawn.potential + bodies.weight,
        constraints=drawn.constraints,
        forces=drawn.forces,
        dissipation=drawn.dissipation,
    )
    found = instants(system, number, 2)
    if not found:
        return None
    if number % 3:
        return instant_case(label, system, found, "lagrange", tags_of(system, kinds), bodies=bodies)
    motion = starting_at(system, found[0], 0.2)
    return motion_case(
        label, system, motion, "d" in kinds, 2, tags=set(tags_of(system, kinds)), bodies=bodies
    )
