"""Systems that the tests of the core share: the gallery in every form that applies, and random
mechanisms.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import sympy

import dalembert as da
from dalembert.formulations.registry import applicability
from dalembert.model.constraints import HolonomicConstraint, MomentumConstraint

#: The forms with unknowns of their own; the others are written on a choice of independent
#: velocities.
BASIC_FORMS = ("lagrange", "hamilton", "vakonomic", "implicit-lagrangian")
#: Gallery entries that hold the system of another one, for a motion of another kind.
SAME_SYSTEM = ("appell-vakonomic", "nonholonomic-particle-vakonomic", "rolling-disk-vakonomic")


@cache
def equations_of(name: str, form: str) -> da.Equations:
    """The equations of a gallery system in one form, derived once for all tests."""
    return da.derive(system_of(name), form)


@cache
def system_of(name: str) -> Any:
    """The system of a gallery entry, read once, so that its forms share what is found about it."""
    return da.gallery.load(name).system


@cache
def forms_of(name: str) -> tuple[str, ...]:
    """The forms whose hypotheses a gallery system meets."""
    return tuple(form for form, fault in applicability(system_of(name)).items() if fault is None)


def every_form() -> tuple[tuple[str, str], ...]:
    """Every gallery system with every form whose hypotheses it meets."""
    names = [name for name in da.gallery.names("mechanical") if name not in SAME_SYSTEM]
    return tuple((name, form) for name in names for form in forms_of(name))


def gallery_forms() -> tuple[tuple[str, str], ...]:
    """The same with the basic forms alone; without an image the implicit form is one on independent
    velocities.
    """
    return tuple(
        (name, form)
        for name, form in every_form()
        if form in BASIC_FORMS
        and (form != "implicit-lagrangian" or system_of(name).image is not None)
    )


def parameter_numbers(name: str, system: da.System) -> dict[str, float]:
    """The gallery's values of a system's parameters."""
    given = da.gallery.load(name).parameters
    return {symbol.name: float(given[symbol.name]) for symbol in system.parameters}


def random_mass_matrix(random: np.random.Generator, n: int) -> np.ndarray:
    """A well-conditioned symmetric positive definite matrix."""
    factor = random.uniform(-1, 1, (n, n))
    return factor @ factor.T / n + np.eye(n)


def total(terms: Any) -> sympy.Expr:
    """The sum of many terms, made at once."""
    return sympy.Add(*terms)


def random_system(
    seed: int,
    *,
    n: int = 3,
    kinds: str = "hv",
    gyroscopic: bool = True,
    forced: bool = True,
    stated: str = "lagrangian",
    parametric: bool = False,
    driven: bool = False,
    contact: bool = False,
) -> Any:
    """A random mechanism with n coordinates.

    L = v^T M(q) v / 2 + a(q, t) . v - V(q, t); `kinds` are its constraints: h(olonomic),
    r(heonomic), v(elocity, not integrable), a(ffine in the velocities), n(onlinear in the
    velocities), s(olvable: nonlinear in the first velocity alone), t(ime in the coefficients),
    w(ork: linear in the velocities and not ideal), m(omentum), e(xplicit in a coordinate),
    c(haplygin's: explicit in a velocity), and at the end of the list d(ependent on the others),
    which leave everything else as it is. `stated` says how the energies are written: "lagrangian",
    "kinetic", "hamiltonian", "bundle" (n + 1 fibre velocities), "planar" (SE(2) acts on the first
    three coordinates), "cyclic" (the coordinates that the constraints give occur nowhere), "parts"
    (bodies, springs and dampers). A `parametric` system has symbols in the place of about every
    third number, see `values_of`; one that is `driven` has inputs with laws in time and state in
    its forces; `contact` adds a wall that is one-sided.
    """
    mechanism = _Mechanism(seed, n, kinds)
    mechanism.parametric = parametric
    return mechanism.system(stated, gyroscopic, forced, driven, contact)


def values_of(system: da.System) -> dict[str, float]:
    """The values of a random system's parameters: c<k> has the k-th value of a sequence in 0.2 to
    0.9.
    """
    return {
        symbol.name: 0.2 + 0.7 * (0.618034 * int(symbol.name[1:]) % 1.0)
        for symbol in system.parameters
    }


class _Mechanism:
    """Draws the parts of a random system one after the other."""

    def __init__(self, seed: int, n: int, kinds: str) -> None:
        self.random = np.random.default_rng(seed)
        self.n, self.kinds = n, kinds
        self.q = tuple(da.Coordinate(f"q{k + 1}") for k in range(n))
        self.v = tuple(c.dot for c in self.q)
        self.bound = sum(kind in "ec" for kind in kinds)
        self.shown = n  # the coordinates that sinusoids may contain
        self.parametric = False

    def number(self) -> sympy.Expr:
        if self.parametric and self.random.uniform() < 0.3:
            return da.Parameter(f"c{self.random.integers(1, 9)}")
        return sympy.Float(float(np.round(self.random.uniform(0.2, 0.9), 3)))

    def wave(self) -> sympy.Expr:
        first, second = self.random.integers(0, self.shown, 2)
        size, inner = self.number(), self.q[first] + self.number() * self.q[second] + self.number()
        return size * sympy.sin(
            inner, evaluate=False
        )  # or else SymPy looks for multiples of pi, for milliseconds

    def system(
        self,
        stated: str,
        gyroscopic: bool,
        forced: bool,
        driven: bool = False,
        contact: bool = False,
    ) -> da.System:
        q, v, n, number, wave = self.q, self.v, self.n, self.number, self.wave
        if stated == "cyclic":
            self.shown = max(1, n - self.bound)
        energies: dict[str, Any]
        if stated == "lagrangian":
            terms = self.bilinear(v)
            terms += [(wave() * v[k]) ** 2 / 2 for k in range(n)]
            terms += [-(c**2) / 2 for c in q] + [-wave()]
            if gyroscopic:
                terms += [(wave() + number() * sympy.cos(da.t)) * v[k] for k in range(n)]
                terms += [number() * sympy.sin(da.t) * q[0]]
            energies = {"lagrangian": total(terms)}
        else:
            energies = self.energies(stated, gyroscopic)
        base = [
            self.constraint(place, kind) for place, kind in enumerate(self.kinds) if kind != "d"
        ]
        forces = {q[0]: wave() - number() * v[0]} if forced else {}
        if forced:
            forces[q[-1]] = forces.get(q[-1], 0) + number() * sympy.sin(da.t) * v[0]
        dissipation = number() * v[-1] ** 2 / 2 if forced else 0
        copies = [
            self.dependent(base, place) for place, kind in enumerate(self.kinds) if kind == "d"
        ]
        inputs = self.inputs(forces) if driven else {}
        walls = (
            [da.unilateral(q[0] + number() * q[-1] - 2, restitution=number(), name="wall")]
            if contact
            else []
        )
        constraints = [*base, *copies, *walls]
        return da.System(
            q,
            constraints=constraints,
            forces=forces,
            dissipation=dissipation,
            inputs=inputs,
            **energies,
        )

    def inputs(self, forces: dict[Any, Any]) -> dict[Any, Any]:
        """Two inputs in the forces: one with a law in time, one with a law in time and state."""
        first, second = da.inputs("drive1 drive2")
        place = self.q[int(self.random.integers(0, self.n))]
        forces[place] = forces.get(place, 0) + (self.number() + self.wave()) * first
        forces[self.q[-1]] = forces.get(self.q[-1], 0) + second
        feedback = -self.number() * self.v[0] + self.wave()
        return {first: self.number() * sympy.sin(2 * da.t), second: feedback * sympy.cos(da.t)}

    # -- energies ----------------------------------------------------------------------------------

    def energies(self, stated: str, gyroscopic: bool) -> dict[str, Any]:
        """Energies in other words than a Lagrangian of the velocities; M(q) is full, and depends on
        the coordinates.
        """
        q, p = self.q, tuple(c.momentum for c in self.q)
        if stated == "parts":
            return {"parts": self.parts()}
        stored = [c**2 / 2 for c in q[: self.shown]] + [
            self.wave(),
            -self.number() * sympy.sin(da.t) * q[0],
        ]
        potential = total(stored)
        if stated == "hamiltonian":
            return {
                "hamiltonian": total(
                    [*self.quadratic(p), *(self.linear(p) if gyroscopic else ()), potential]
                )
            }
        if stated == "bundle":
            symbols = da.speeds(f"u1:{self.n + 2}")
            fibre = {u: total((self.number() + self.wave()) * w for w in self.v) for u in symbols}
            drift = self.linear(symbols) if gyroscopic else []
            return {
                "lagrangian": total([*self.bilinear(symbols), *drift, -potential]),
                "bundle": fibre,
            }
        if stated == "planar":
            turn, others = q[2], (*self.v[2:],)
            ahead = self.v[0] * sympy.cos(turn) + self.v[1] * sympy.sin(turn)
            aside = self.v[1] * sympy.cos(turn) - self.v[0] * sympy.sin(turn)
            body = (ahead, aside, *others)
            kinetic = self.bilinear(body)
            if self.n > 3:
                kinetic.append(
                    (self.number() * sympy.sin(q[3]) * body[0] + self.number() * body[1]) ** 2 / 2
                )
        else:
            kinetic = self.quadratic(self.v)
        return {
            "kinetic": total([*kinetic, *(self.linear(self.v) if gyroscopic else ())]),
            "potential": potential,
        }

    def parts(self) -> list[Any]:
        """Particles on the coordinates, coupled by springs and a damper, in a field of gravity."""
        q, number = self.q, self.number
        made: list[Any] = []
        for k, c in enumerate(q):
            place = [c + number() * sympy.sin(q[k - 1]), number() * sympy.cos(c)]
            made += [da.particle(1 + number(), place), da.gravity(1 + number(), place[1], 1)]
            made.append(da.spring(number(), c))
        made.append(da.damper(number(), q[-1]))
        return made

    def bilinear(self, symbols: Any) -> list[Any]:
        """The terms of w^T M w / 2 with a constant matrix."""
        mass = random_mass_matrix(self.random, len(symbols))
        pairs = [(i, j) for i in range(len(symbols)) for j in range(i, len(symbols))]
        return [
            float(mass[i, j]) * (0.5 if i == j else 1.0) * symbols[i] * symbols[j] for i, j in pairs
        ]

    def quadratic(self, symbols: Any) -> list[Any]:
        return [*self.bilinear(symbols), total(self.wave() * symbol for symbol in symbols) ** 2 / 2]

    def linear(self, symbols: Any) -> list[Any]:
        return [(self.wave() + self.number() * sympy.cos(da.t)) * symbol for symbol in symbols]

    # -- constraints -------------------------------------------------------------------------------

    def constraint(self, place: int, kind: str) -> Any:
        q, v, number, wave = self.q, self.v, self.number, self.wave
        name = f"{kind}{place}"
        row = total((number() + wave()) * w for w in v)
        match kind:
            case "h":
                return da.holonomic(total(number() * c for c in q) + wave() - number(), name=name)
            case "r":
                return da.holonomic(
                    total(number() * c for c in q) + wave() - sympy.sin(da.t), name=name
                )
            case "v":
                return da.velocity(row, name=name)
            case "w":
                return da.velocity(
                    row, name=name, work={q[0]: wave() - number() * v[-1], q[-1]: number()}
                )
            case "a":
                return da.velocity(row - number() * sympy.cos(da.t) + wave(), name=name)
            case "n":
                return da.velocity(row + number() * total(w**2 for w in v) - number(), name=name)
            case "s":
                return da.velocity(row + number() * v[0] ** 2 + wave() * v[0] ** 3, name=name)
            case "t":
                return da.velocity(
                    row + number() * sympy.sin(da.t) * v[0] + number() * sympy.cos(da.t) * v[-1],
                    name=name,
                )
            case "m":
                momenta = [(number() + wave()) * c.momentum for c in q]
                return da.momentum(total(momenta) - number() * sympy.sin(da.t), name=name)
        last = self.n - 1 - sum(symbol in "ec" for symbol in self.kinds[:place])
        self.shown, shown = max(1, self.n - self.bound), self.shown
        if kind == "e":
            found = da.holonomic(q[last] - wave() - number() * sympy.sin(q[0] + da.t), name=name)
        else:
            found = da.velocity(
                v[last] - total((number() + wave()) * w for w in v[: self.shown]), name=name
            )
        self.shown = shown
        return found

    def dependent(self, base: list[Any], place: int) -> Any:
        """A constraint that the others imply: at position level where they all are, else at
        velocity level.
        """
        name = f"d{place}"
        if all(isinstance(c, HolonomicConstraint) for c in base) and self.random.uniform() < 0.6:
            return da.holonomic(
                total((self.number() + self.wave()) * c.expression for c in base), name=name
            )
        if all(isinstance(c, MomentumConstraint) for c in base):
            return da.momentum(
                total((self.number() + self.wave()) * c.expression for c in base), name=name
            )
        rows = [c for c in base if not isinstance(c, MomentumConstraint)]
        return da.velocity(
            total((self.number() + self.wave()) * self.rate(c) for c in rows), name=name
        )

    def rate(self, constraint: Any) -> Any:
        """A constraint at velocity level."""
        if not isinstance(constraint, HolonomicConstraint):
            return constraint.expression
        along = total(sympy.diff(constraint.expression, c) * c.dot for c in self.q)
        return along + sympy.diff(constraint.expression, da.t)


def consistent_state(
    system: da.System, seed: int, form: str = "lagrange", time: float = 0.4
) -> tuple[Any, da.Motion]:
    """A random state of a form that obeys the constraints at `time`, and the zero-length motion
    that holds it.
    """
    random = np.random.default_rng(seed)
    start = {
        s.name: float(random.uniform(-0.8, 0.8)) for s in (*system.coordinates, *system.velocities)
    }
    motion = da.simulate(system, start, (time, time), form=form)
    return motion.y[:, 0], motion
