"""Random systems that lie where the others do not: far from the origin, in units from 1e-12 to
1e12, with terms that switch.

A wide system is made from a plain one, in units of one and near the origin, which an independent
implementation follows (`wide_flow`). Terms that switch, such as Max(q - c, 0)^3, have their
thresholds around the start of the motion, wherever that is in the coordinates of the system that
the library is given. The number of a specimen gives its topic, see `wide_laws`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

import dalembert as da
from agreement import Instant
from core_systems import _Mechanism, random_system
from dalembert.model.constraints import VelocityConstraint

from .random_specimens import Specimen

__all__ = [
    "FIRST_WIDE",
    "TOPICS",
    "Planar",
    "Wide",
    "cyclic_system",
    "frozen",
    "plain_of",
    "planar_system",
    "switched",
    "wide",
]

#: The numbers of wide systems begin here.
FIRST_WIDE = 10_000
TOPICS = ("motions", "linearise", "routh", "reduce", "sensitivities")
#: The kinds of constraints that a motion, an equilibrium without time, and derivatives by
#: parameters are asked for.
KINDS = {
    "motions": "hrvanstwmec",
    "linearise": "hrevct",
    "sensitivities": "hrvaec",
    "routh": "",
    "reduce": "",
}
STATED = {
    "motions": ("lagrangian", "kinetic", "hamiltonian", "planar"),
    "linearise": ("lagrangian", "kinetic"),
    "sensitivities": ("lagrangian", "kinetic"),
    "routh": ("kinetic", "hamiltonian"),
    "reduce": ("kinetic",),
}

Positive = Callable[[Any], Any]


@dataclass(frozen=True)
class Wide(Specimen):
    """A wide system: its topic, how it writes max(x, 0), and whether it has terms that switch and
    units of its own.
    """

    topic: str = "motions"
    written: str = "Max"
    switching: bool = True
    in_units: bool = True

    @property
    def label(self) -> str:
        """What messages call it."""
        words = [word for word in ("switching", "in_units") if getattr(self, word)]
        return ", ".join([super().label, self.topic, *words, self.written])

    def random(self, stream: int) -> np.random.Generator:
        """A stream of random numbers of this system."""
        return np.random.default_rng([71, stream, self.number])

    @property
    def positive(self) -> Positive:
        """max(x, 0) as this system writes it."""
        return {"Max": maximum, "Abs": by_absolute_value, "Piecewise": by_cases}[self.written]


def wide(number: int) -> Wide:
    """The wide specimen with a number, from FIRST_WIDE on."""
    random = np.random.default_rng([73, number])
    topic = TOPICS[number % len(TOPICS)]
    n = int(random.choice([1, 2, 3, 4], p=[0.15, 0.35, 0.35, 0.15]))
    stated = str(random.choice(STATED[topic]))
    least = {"routh": 2, "reduce": 4}.get(topic, 3 if stated == "planar" else 1)
    n = max(n, least)
    count = int(random.integers(0, min(n, 3))) if KINDS[topic] else 0
    kinds = "".join(random.choice(list(KINDS[topic]), size=count)) if count else ""
    if kinds.count("n") > 1:
        kinds = kinds.replace("n", "v", kinds.count("n") - 1)
    gyroscopic, forced, switching, in_units = (
        bool(random.uniform() < share) for share in (0.5, 0.7, 0.7, 0.7)
    )
    written = str(random.choice(["Max", "Abs", "Piecewise"]))
    drawn = (number, n, kinds, stated, gyroscopic, forced, topic == "sensitivities", False, False)
    return Wide(*drawn, topic=topic, written=written, switching=switching, in_units=in_units)


# -- terms that switch -----------------------------------------------------------------------------


def maximum(x: Any) -> Any:
    """max(x, 0)."""
    return sympy.Max(x, 0)


def by_absolute_value(x: Any) -> Any:
    """max(x, 0) in other words."""
    return (x + sympy.Abs(x)) / 2


def by_cases(x: Any) -> Any:
    """max(x, 0) in other words."""
    return sympy.Piecewise((x, x > 0), (0, True))


def added(
    system: da.System, kinetic: Any = 0, potential: Any = 0, forces: Any = None, momenta: Any = 0
) -> da.System:
    """A system with further terms in its energies and forces; `momenta` is added to a Hamiltonian
    instead of `kinetic`.
    """
    pushed = dict(system.forces)
    for q, force in (forces or {}).items():
        pushed[q] = pushed.get(q, 0) + force
    if system.hamiltonian is not None:
        return system.replacing(hamiltonian=system.hamiltonian + momenta + potential, forces=pushed)
    if system.kinetic is not None:
        return system.replacing(
            kinetic=system.kinetic + kinetic, potential=system.potential + potential, forces=pushed
        )
    return system.replacing(lagrangian=system.lagrangian + kinetic - potential, forces=pushed)


def switched(drawn: Wide, system: da.System, instant: Instant, positive: Positive) -> da.System:
    """A plain system with terms that switch near an instant, which stays consistent with its
    constraints.
    """
    if not drawn.switching:
        return system
    random, q = drawn.random(5), system.coordinates
    places = random.integers(0, len(q), 5)
    sizes, offsets = random.uniform(0.2, 0.9, 6), random.uniform(-0.4, 0.4, 6)

    def beyond(k: int, symbols: Any, values: Any) -> Any:
        place = int(places[k])
        return positive(symbols[place] - float(np.round(values[place] + offsets[k], 6)))

    drag = -float(sizes[2]) * beyond(2, system.velocities, instant.v) if drawn.forced else 0
    late = float(sizes[3]) * positive(
        da.t - float(np.round(instant.time + 0.2 + offsets[3] / 2, 6))
    )
    made = added(
        system,
        kinetic=(
            0
            if "m" in drawn.kinds
            else float(sizes[0]) * beyond(0, system.velocities, instant.v) ** 3 / 3
        ),
        momenta=(
            0
            if "m" in drawn.kinds
            else float(sizes[0]) * beyond(0, system.momenta, instant.v) ** 3 / 3
        ),
        potential=float(sizes[1]) * beyond(1, q, instant.q) ** 3,
        forces={q[int(places[3])]: drag + (late if drawn.topic != "linearise" else 0)},
    )
    place, at = int(places[4]), instant.q[int(places[4])]
    later = positive(q[place] - float(np.round(at + abs(offsets[4]) + 0.02, 6))) ** 2
    changed = [
        (
            replace(
                c, expression=c.expression + float(sizes[4]) * later * (q[0].dot if k % 2 else 1)
            )
            if type(c) is VelocityConstraint and drawn.topic == "motions"
            else c
        )
        for k, c in enumerate(system.constraints)
    ]
    return made.replacing(constraints=changed)


# -- systems for a topic ---------------------------------------------------------------------------


def plain_of(drawn: Wide) -> da.System:
    """The plain system of a specimen for motions, equilibria and derivatives, without terms that
    switch.
    """
    system = random_system(
        90_000 + drawn.number,
        n=drawn.n,
        kinds=drawn.kinds,
        stated=drawn.stated,
        gyroscopic=drawn.gyroscopic,
        forced=drawn.forced,
    )
    if drawn.topic == "linearise":
        return frozen(system)
    if drawn.topic == "sensitivities":
        a, b, c = da.parameters("c1 c2 c3")
        q, v = system.coordinates, system.velocities
        return added(
            system,
            kinetic=a * v[0] ** 2 / 2,
            potential=b * sympy.cos(q[-1] + q[0], evaluate=False),
            forces={q[0]: -c * v[-1]},
        )
    return system


def frozen(system: da.System) -> da.System:
    """A system at one instant, t = 0.7, for all times."""
    put = {da.t: sympy.Float(0.7)}
    energies: dict[str, Any] = {"lagrangian": system.lagrangian.xreplace(put)}
    return da.System(
        system.coordinates,
        constraints=[replace(c, expression=c.expression.xreplace(put)) for c in system.constraints],
        forces={q: force.xreplace(put) for q, force in system.forces.items()},
        dissipation=system.dissipation,
        **energies,
    )


def cyclic_system(drawn: Wide) -> tuple[da.System, tuple[Any, ...]]:
    """A system and its cyclic coordinates, the last ones."""
    random = drawn.random(1)
    mechanism = _Mechanism(int(random.integers(1 << 30)), drawn.n, "")
    mechanism.shown = int(random.integers(1, drawn.n))
    energies = mechanism.energies(drawn.stated, drawn.gyroscopic)
    forces = (
        {mechanism.q[0]: mechanism.wave() - mechanism.number() * mechanism.v[0]}
        if drawn.forced
        else {}
    )
    return da.System(mechanism.q, forces=forces, **energies), mechanism.q[mechanism.shown :]


@dataclass(frozen=True)
class Planar:
    """A system on which SE(2) acts, x, y and theta first, and the angle theta as an expression."""

    system: da.System
    angle: Any


def planar_system(drawn: Wide) -> Planar:
    """A system in the plane whose energies and constraints depend on the velocities of the body and
    on its shape.
    """
    random = drawn.random(1)
    mechanism = _Mechanism(int(random.integers(1 << 30)), drawn.n, "")
    q, v, number = mechanism.q, mechanism.v, mechanism.number
    ahead = v[0] * sympy.cos(q[2]) + v[1] * sympy.sin(q[2])
    aside = v[1] * sympy.cos(q[2]) - v[0] * sympy.sin(q[2])
    body = (ahead, aside, *v[2:])
    kinetic = [
        *mechanism.bilinear(body),
        (number() * sympy.sin(q[3]) * body[0] + number() * body[1]) ** 2 / 2,
    ]
    potential = [number() * c**2 / 2 for c in q[3:]] + [number() * sympy.cos(q[3])]
    forces = {q[3]: number() * sympy.sin(q[3]) - number() * v[3]} if drawn.forced else {}
    row = sympy.Add(*((number() + number() * sympy.sin(q[3])) * w for w in body))
    constraints = [da.velocity(row, name="row")] if drawn.gyroscopic else []
    made = da.System(
        q,
        kinetic=sympy.Add(*kinetic),
        potential=sympy.Add(*potential),
        forces=forces,
        constraints=constraints,
    )
    return Planar(in_decimals(made), q[2])


def in_decimals(system: da.System) -> da.System:
    """A system with decimals of nine digits as rational numbers: units that are powers of ten leave
    them exact.
    """

    def put(expression: Any) -> Any:
        table = {f: sympy.Rational(str(round(float(f), 9))) for f in expression.atoms(sympy.Float)}
        return expression.xreplace(table)

    return da.System(
        system.coordinates,
        kinetic=put(system.kinetic),
        potential=put(system.potential),
        forces={q: put(force) for q, force in system.forces.items()},
        constraints=[replace(c, expression=put(c.expression)) for c in system.constraints],
    )
