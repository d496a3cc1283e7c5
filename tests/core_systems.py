"""Systems that the tests of the core share: the gallery in every form that applies, and random mechanisms."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
import sympy

import dalembert as da
from dalembert.formulations.registry import applicability
from dalembert.model.constraints import HolonomicConstraint, MomentumConstraint

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
    for name in da.gallery.names("mechanical"):
        if name not in SAME_SYSTEM:
            judged = applicability(da.gallery.load(name).system)
            found += [(name, form) for form, fault in judged.items() if fault is None]
    return tuple(found)


def gallery_forms() -> tuple[tuple[str, str], ...]:
    """The same with the basic forms alone; without an image the implicit form is one on independent velocities."""
    return tuple(
        (name, form)
        for name, form in every_form()
        if form in BASIC_FORMS and (form != "implicit-lagrangian" or da.gallery.load(name).system.image is not None)
    )


def parameter_numbers(name: str, system: da.System) -> dict[str, float]:
    """The gallery's values of a system's parameters."""
    given = da.gallery.load(name).parameters
    return {symbol.name: float(given[symbol.name]) for symbol in system.parameters}


def random_mass_matrix(random: np.random.Generator, n: int) -> np.ndarray:
    """A well-conditioned symmetric positive definite matrix."""
    factor = random.uniform(-1, 1, (n, n))
    return factor @ factor.T / n + np.eye(n)


def random_system(
    seed: int, *, n: int = 3, kinds: str = "hv", gyroscopic: bool = True, forced: bool = True, stated: str = "lagrangian"
) -> Any:
    """A random mechanism with n coordinates.

    L = v^T M(q) v / 2 + a(q, t) . v - V(q, t); `kinds` are its constraints: h(olonomic), r(heonomic), v(elocity, not
    integrable), a(ffine in the velocities), n(onlinear in the velocities), s(olvable: nonlinear in the first velocity alone),
    t(ime in the coefficients), m(omentum), e(xplicit in a coordinate), c(haplygin's: explicit in a velocity), and at the end of
    the list d(ependent on the others), which leave everything else as it is. `stated` says how the energies are written:
    "lagrangian", "kinetic", "hamiltonian", "bundle" (n + 1 fibre velocities), "planar" (SE(2) acts on the first three
    coordinates), "cyclic" (the coordinates that the constraints give occur nowhere).
    """
    return _Mechanism(seed, n, kinds).system(stated, gyroscopic, forced)


class _Mechanism:
    """Draws the parts of a random system one after the other."""

    def __init__(self, seed: int, n: int, kinds: str) -> None:
        self.random = np.random.default_rng(seed)
        self.n, self.kinds = n, kinds
        self.q = tuple(da.Coordinate(f"q{k + 1}") for k in range(n))
        self.v = tuple(c.dot for c in self.q)
        self.bound = sum(kind in "ec" for kind in kinds)
        self.shown = n  # the coordinates that waves may contain

    def number(self) -> sympy.Float:
        return sympy.Float(float(np.round(self.random.uniform(0.2, 0.9), 3)))

    def wave(self) -> sympy.Expr:
        first, second = self.random.integers(0, self.shown, 2)
        size, inner = self.number(), self.q[first] + self.number() * self.q[second] + self.number()
        return size * sympy.sin(inner, evaluate=False)  # or else SymPy looks for multiples of pi, for milliseconds

    def system(self, stated: str, gyroscopic: bool, forced: bool) -> da.System:
        q, v, n, number, wave = self.q, self.v, self.n, self.number, self.wave
        if stated == "cyclic":
            self.shown = n - self.bound
        energies: dict[str, Any]
        if stated == "lagrangian":
            mass = random_mass_matrix(self.random, n)
            kinetic = sum(float(mass[i, j]) * v[i] * v[j] for i in range(n) for j in range(n)) / 2
            kinetic += sum((wave() * v[k]) ** 2 for k in range(n)) / 2
            lagrangian = kinetic - sum(c**2 for c in q) / 2 - wave()
            if gyroscopic:
                lagrangian += sum((wave() + number() * sympy.cos(da.t)) * v[k] for k in range(n))
                lagrangian += number() * sympy.sin(da.t) * q[0]
            energies = {"lagrangian": lagrangian}
        else:
            energies = self.energies(stated, gyroscopic)
        base = [self.constraint(place, kind) for place, kind in enumerate(self.kinds) if kind != "d"]
        forces = {q[0]: wave() - number() * v[0], q[-1]: number() * sympy.sin(da.t) * v[0]} if forced else {}
        dissipation = number() * v[-1] ** 2 / 2 if forced else 0
        copies = [self.dependent(base, place) for place, kind in enumerate(self.kinds) if kind == "d"]
        return da.System(q, constraints=base + copies, forces=forces, dissipation=dissipation, **energies)

    # -- energies ------------------------------------------------------------------------------------------------------

    def energies(self, stated: str, gyroscopic: bool) -> dict[str, Any]:
        """Energies in other words than a Lagrangian of the velocities; M(q) is full, and depends on the coordinates."""
        q, p = self.q, tuple(c.momentum for c in self.q)
        potential = sum(c**2 for c in q[: self.shown]) / 2 + self.wave() - self.number() * sympy.sin(da.t) * q[0]
        if stated == "hamiltonian":
            return {"hamiltonian": self.quadratic(p) + (self.linear(p) if gyroscopic else 0) + potential}
        if stated == "bundle":
            letters = da.speeds(f"u1:{self.n + 2}")
            fibre = {u: sum((self.number() + self.wave()) * w for w in self.v) for u in letters}
            mass = random_mass_matrix(self.random, len(letters))
            kinetic = sum(float(mass[i, j]) * a * b for i, a in enumerate(letters) for j, b in enumerate(letters)) / 2
            drift = self.linear(letters) if gyroscopic else 0
            return {"lagrangian": kinetic + drift - potential, "bundle": fibre}
        speeds = self.v
        if stated == "planar":
            turn, others = q[2], (*self.v[2:],)
            ahead = self.v[0] * sympy.cos(turn) + self.v[1] * sympy.sin(turn)
            aside = self.v[1] * sympy.cos(turn) - self.v[0] * sympy.sin(turn)
            mass = random_mass_matrix(self.random, self.n)
            body = (ahead, aside, *others)
            kinetic = sum(float(mass[i, j]) * body[i] * body[j] for i in range(self.n) for j in range(self.n)) / 2
            if self.n > 3:
                kinetic += (self.number() * sympy.sin(q[3]) * body[0] + self.number() * body[1]) ** 2 / 2
        else:
            kinetic = self.quadratic(speeds)
        return {"kinetic": kinetic + (self.linear(speeds) if gyroscopic else 0), "potential": potential}

    def quadratic(self, letters: Any) -> Any:
        mass = random_mass_matrix(self.random, len(letters))
        total = sum(float(mass[i, j]) * a * b for i, a in enumerate(letters) for j, b in enumerate(letters)) / 2
        return total + sum(self.wave() * letter for letter in letters) ** 2 / 2

    def linear(self, letters: Any) -> Any:
        return sum((self.wave() + self.number() * sympy.cos(da.t)) * letter for letter in letters)

    # -- constraints ---------------------------------------------------------------------------------------------------

    def constraint(self, place: int, kind: str) -> Any:
        q, v, number, wave = self.q, self.v, self.number, self.wave
        name = f"{kind}{place}"
        row = sum((number() + wave()) * w for w in v)
        match kind:
            case "h":
                return da.holonomic(sum(number() * c for c in q) + wave() - number(), name=name)
            case "r":
                return da.holonomic(sum(number() * c for c in q) + wave() - sympy.sin(da.t), name=name)
            case "v":
                return da.velocity(row, name=name)
            case "a":
                return da.velocity(row - number() * sympy.cos(da.t) + wave(), name=name)
            case "n":
                return da.velocity(row + number() * sum(w**2 for w in v) - number(), name=name)
            case "s":
                return da.velocity(row + number() * v[0] ** 2 + wave() * v[0] ** 3, name=name)
            case "t":
                return da.velocity(row + number() * sympy.sin(da.t) * v[0] + number() * sympy.cos(da.t) * v[-1], name=name)
            case "m":
                momenta = [(number() + wave()) * c.momentum for c in q]
                return da.momentum(sum(momenta) - number() * sympy.sin(da.t), name=name)
        last = self.n - 1 - sum(letter in "ec" for letter in self.kinds[:place])
        self.shown, shown = self.n - self.bound, self.shown
        if kind == "e":
            found = da.holonomic(q[last] - wave() - number() * sympy.sin(q[0] + da.t), name=name)
        else:
            found = da.velocity(v[last] - sum((number() + wave()) * w for w in v[: self.shown]), name=name)
        self.shown = shown
        return found

    def dependent(self, base: list[Any], place: int) -> Any:
        """A constraint that the others imply: at position level where they all are, else at velocity level."""
        name = f"d{place}"
        if all(isinstance(c, HolonomicConstraint) for c in base) and self.random.uniform() < 0.6:
            return da.holonomic(sum((self.number() + self.wave()) * c.expression for c in base), name=name)
        if all(isinstance(c, MomentumConstraint) for c in base):
            return da.momentum(sum((self.number() + self.wave()) * c.expression for c in base), name=name)
        rows = [c for c in base if not isinstance(c, MomentumConstraint)]
        return da.velocity(sum((self.number() + self.wave()) * self.rate(c) for c in rows), name=name)

    def rate(self, constraint: Any) -> Any:
        """A constraint at velocity level."""
        if not isinstance(constraint, HolonomicConstraint):
            return constraint.expression
        along = sum(sympy.diff(constraint.expression, c) * c.dot for c in self.q)
        return along + sympy.diff(constraint.expression, da.t)


def consistent_state(system: da.System, seed: int, form: str = "lagrange", time: float = 0.4) -> tuple[Any, da.Motion]:
    """A random state of a form that obeys the constraints at `time`, and the zero-length motion that holds it."""
    random = np.random.default_rng(seed)
    start = {s.name: float(random.uniform(-0.8, 0.8)) for s in (*system.coordinates, *system.velocities)}
    motion = da.simulate(system, start, (time, time), form=form)
    return motion.y[:, 0], motion
