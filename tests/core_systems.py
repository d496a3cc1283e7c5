"""Systems that the tests of the core share: the gallery in every form that applies, and random mechanisms."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
import sympy

import dalembert as da
from dalembert.formulations.registry import applicability

#: The forms with unknowns of their own; the others are written on a choice of independent velocities.
BASIC_FORMS = ("lagrange", "hamilton", "vakonomic", "implicit-lagrangian")
#: Gallery entries that hold the system of another one, for a motion of another kind.
SAME_SYSTEM = ("appell-vakonomic", "nonholonomic-particle-vakonomic", "rolling-disk-vakonomic")


@cache
def equations_of(name: str, form: str) -> da.Equations:
    """The equations of a gallery system in one form, derived once for all tests."""
    return da.derive(da.gallery.load(name).system, form)


@lru_cache(maxsize=1)
def every_form() -> tuple[tuple[str, str], ...]:
    """Every gallery system with every form whose hypotheses it meets."""
    found = []
    for name in da.gallery.names():
        if name not in SAME_SYSTEM:
            judged = applicability(da.gallery.load(name).system)
            found += [(name, form) for form, fault in judged.items() if fault is None]
    return tuple(found)


def gallery_forms() -> tuple[tuple[str, str], ...]:
    """The same with the basic forms alone."""
    return tuple(pair for pair in every_form() if pair[1] in BASIC_FORMS)


def parameter_numbers(name: str, system: da.System) -> dict[str, float]:
    """The gallery's values of a system's parameters."""
    given = da.gallery.load(name).parameters
    return {symbol.name: float(given[symbol.name]) for symbol in system.parameters}


def random_mass_matrix(random: np.random.Generator, n: int) -> np.ndarray:
    """A well-conditioned symmetric positive definite matrix."""
    factor = random.uniform(-1, 1, (n, n))
    return factor @ factor.T / n + np.eye(n)


def random_system(seed: int, *, n: int = 3, kinds: str = "hv", gyroscopic: bool = True, forced: bool = True) -> Any:
    """A random mechanism with n coordinates.

    L = v^T M(q) v / 2 + a(q, t) . v - V(q, t); `kinds` are its constraints: h(olonomic), r(heonomic), v(elocity, not
    integrable), a(ffine in the velocities), n(onlinear in the velocities).
    """
    random = np.random.default_rng(seed)
    q = tuple(da.Coordinate(f"q{k + 1}") for k in range(n))
    v = tuple(c.dot for c in q)

    def number() -> sympy.Float:
        return sympy.Float(float(np.round(random.uniform(0.2, 0.9), 3)))

    def wave() -> sympy.Expr:
        first, second = random.integers(0, n, 2)
        return number() * sympy.sin(q[first] + number() * q[second] + number())

    mass = random_mass_matrix(random, n)
    kinetic = sum(float(mass[i, j]) * v[i] * v[j] for i in range(n) for j in range(n)) / 2
    kinetic += sum((wave() * v[k]) ** 2 for k in range(n)) / 2
    lagrangian = kinetic - sum(c**2 for c in q) / 2 - wave()
    if gyroscopic:
        lagrangian += sum((wave() + number() * sympy.cos(da.t)) * v[k] for k in range(n)) + number() * sympy.sin(da.t) * q[0]
    constraints = []
    for place, kind in enumerate(kinds):
        name = f"{kind}{place}"
        row = sum((number() + wave()) * v[k] for k in range(n))
        if kind == "h":
            constraints.append(da.holonomic(sum(number() * c for c in q) + wave() - number(), name=name))
        elif kind == "r":
            constraints.append(da.holonomic(sum(number() * c for c in q) + wave() - sympy.sin(da.t), name=name))
        elif kind == "v":
            constraints.append(da.velocity(row, name=name))
        elif kind == "a":
            constraints.append(da.velocity(row - number() * sympy.cos(da.t) + wave(), name=name))
        else:
            constraints.append(da.velocity(row + number() * sum(w**2 for w in v) - number(), name=name))
    forces = {q[0]: wave() - number() * v[0], q[-1]: number() * sympy.sin(da.t) * v[0]} if forced else {}
    dissipation = number() * v[-1] ** 2 / 2 if forced else 0
    return da.System(q, lagrangian=lagrangian, constraints=constraints, forces=forces, dissipation=dissipation)


def consistent_state(system: da.System, seed: int, form: str = "lagrange", time: float = 0.4) -> tuple[Any, da.Motion]:
    """A random state of a form that obeys the constraints at `time`, and the zero-length motion that holds it."""
    random = np.random.default_rng(seed)
    start = {s.name: float(random.uniform(-0.8, 0.8)) for s in (*system.coordinates, *system.velocities)}
    motion = da.simulate(system, start, (time, time), form=form)
    return motion.y[:, 0], motion
