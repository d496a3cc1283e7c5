"""Systems of many coordinates, whose native code goes other ways than that of small ones: chains,
rods, full masses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy

import dalembert as da
from core_systems import random_mass_matrix

from .differential_cases import Case, motion_case

#: What can be asked for, with the numbers of parts that are gone through.
LARGE = (
    ("chain", (8, 16, 30)),
    ("rods", (6, 14, 24)),
    ("rods and a copy", (6, 12)),
    ("full", (10, 18)),
)


def large_case(kind: str, parts: int, seed: int) -> Case:
    """A large system with random numbers, along a short motion."""
    random = np.random.default_rng([seed, parts])
    makers = {"chain": chain, "rods": rods, "rods and a copy": rods, "full": full}
    system, start = makers[kind](random, parts)
    if kind == "rods and a copy":
        first = system.constraints[0]
        copy = da.holonomic(first.expression * (1 + system.coordinates[0] ** 2), name="copy")
        system = system.replacing(constraints=[*system.constraints, copy])
    motion = da.simulate(system, start, (0.0, 0.05), rtol=1e-11, atol=1e-12)
    return motion_case(
        f"large_case({kind!r}, {parts}, {seed})", system, motion, "copy" in kind, 2, tags={"large"}
    )


def chain(random: np.random.Generator, parts: int) -> tuple[da.System, dict[Any, float]]:
    """A pendulum of many links, in angles from the vertical: the energy shares the velocities of
    the joints.
    """
    angles = da.coordinates(f"a1:{parts + 1}")
    across: Any = sympy.Integer(0)
    along: Any = sympy.Integer(0)
    height: Any = sympy.Integer(0)
    kinetic: Any = sympy.Integer(0)
    potential: Any = sympy.Integer(0)
    for angle in angles:
        mass, length = (sympy.Float(float(x)) for x in random.uniform(0.5, 1.5, 2).round(2))
        across += length * sympy.cos(angle) * angle.dot
        along += length * sympy.sin(angle) * angle.dot
        height -= length * sympy.cos(angle)
        kinetic += mass * (across**2 + along**2) / 2
        potential += mass * sympy.Float(9.81) * height
    start = {angle: float(random.uniform(-1, 1)) for angle in angles} | {
        a.dot: float(random.uniform(-1, 1)) for a in angles
    }
    return da.System(angles, kinetic=kinetic, potential=potential), start


def rods(random: np.random.Generator, parts: int) -> tuple[da.System, dict[Any, float]]:
    """Particles in space, each on a rod to the one before: sparse masses, sparse rows."""
    symbols = da.coordinates(f"x1:{3 * parts + 1}")
    places = np.cumsum(random.uniform(0.3, 1.0, (parts, 3)), axis=0)
    constraints, kinetic, potential = [], sympy.Integer(0), sympy.Integer(0)
    before: Any = (sympy.Integer(0),) * 3
    there = np.zeros(3)
    for k in range(parts):
        here = symbols[3 * k : 3 * k + 3]
        mass = sympy.Float(float(np.round(random.uniform(0.5, 1.5), 2)))
        kinetic += mass * sum(c.dot**2 for c in here) / 2
        potential += mass * sympy.Float(9.81) * here[2]
        reach = sympy.Float(float(np.sum((places[k] - there) ** 2)))
        constraints.append(
            da.holonomic(
                sum((a - b) ** 2 for a, b in zip(here, before, strict=True)) - reach, name=f"rod{k}"
            )
        )
        before, there = here, places[k]
    start = {symbol: float(x) for symbol, x in zip(symbols, places.ravel(), strict=True)}
    return da.System(symbols, kinetic=kinetic, potential=potential, constraints=constraints), start


def full(random: np.random.Generator, parts: int) -> tuple[da.System, dict[Any, float]]:
    """A full mass matrix that depends on the coordinates, with two constraints of velocities."""
    q = da.coordinates(f"q1:{parts + 1}")
    mass = random_mass_matrix(random, parts)
    kinetic = (
        sum(float(mass[i, j]) * a.dot * b.dot for i, a in enumerate(q) for j, b in enumerate(q)) / 2
    )
    numbers = random.uniform(0.2, 0.9, (3, parts)).round(3)
    kinetic += (
        sum(
            sympy.Float(float(x)) * sympy.sin(c) * c.dot for x, c in zip(numbers[0], q, strict=True)
        )
        ** 2
        / 2
    )
    rows = [
        da.velocity(
            sum(
                (sympy.Float(float(x)) + sympy.cos(q[k])) * c.dot
                for x, c in zip(numbers[k + 1], q, strict=True)
            )
        )
        for k in range(2)
    ]
    start = {c: float(random.uniform(-1, 1)) for c in q} | {
        c.dot: float(random.uniform(-1, 1)) for c in q[2:]
    }
    return (
        da.System(q, kinetic=kinetic, potential=sum(c**2 for c in q) / 2, constraints=rows),
        start,
    )
