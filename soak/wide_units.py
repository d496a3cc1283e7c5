"""Systems in other units: lengths, times and energies from 1e-12 to 1e12, coordinates counted from
another origin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

import dalembert as da

__all__ = ["ONE", "Units", "drawn_units", "of_lengths"]

#: The units of length and energy are 10 to the power of at most this, that of time half of it.
EXPONENT = 12.0
#: How far from zero the coordinates are counted, in the lengths of the plain system.
ORIGINS = (0.0, 5.0, 40.0)


@dataclass(frozen=True)
class Units:
    """q = scales q' + shifts and t = clock t' between a plain system and the same one in units, L'
    = energy L.

    Attributes
    ----------
    scales, shifts : array (n,)
    clock, energy : float
    """

    scales: Any
    shifts: Any
    clock: float
    energy: float

    def system(self, system: da.System, factors: Any = None) -> da.System:
        """A plain system in these units; `factors` multiply its constraints."""
        put, energy = _Put(self, system.coordinates), number(self.energy)
        s = dict(zip(system.coordinates, self.scales, strict=True))
        factors = np.ones(len(system.constraints)) if factors is None else factors
        constraints = [
            replace(
                c,
                expression=number(factor) * put(c.expression),
                work={q: energy * number(s[q]) * put(force) for q, force in c.work.items()},
            )
            for c, factor in zip(system.constraints, factors, strict=True)
        ]
        energies: dict[str, Any]
        if system.hamiltonian is not None:
            energies = {"hamiltonian": energy * put(system.hamiltonian)}
        elif system.kinetic is not None and not system.bundle:
            energies = {
                "kinetic": energy * put(system.kinetic),
                "potential": energy * put(system.potential),
            }
        else:
            energies = {"lagrangian": energy * put(system.lagrangian)}
        return da.System(
            system.coordinates,
            constraints=constraints,
            forces={q: energy * number(s[q]) * put(force) for q, force in system.forces.items()},
            dissipation=energy * number(self.clock) * put(system.dissipation),
            inputs={u: put(law) for u, law in system.inputs.items()},
            **energies,
        )

    def state(self, q: Any, v: Any) -> tuple[Any, Any]:
        """A state of the plain system in these units."""
        return (np.asarray(q) - self.shifts) / self.scales, np.asarray(v) * self.clock / self.scales

    def plain(self, q: Any, v: Any) -> Any:
        """The way back, as one array (2n,)."""
        return np.concatenate(
            [self.scales * np.asarray(q) + self.shifts, self.scales * np.asarray(v) / self.clock]
        )

    def start(self, system: da.System, q: Any, v: Any) -> dict[str, float]:
        """A state of the plain system by the names of the other."""
        symbols = (*system.coordinates, *system.velocities)
        return {
            s.name: float(x) for s, x in zip(symbols, np.concatenate(self.state(q, v)), strict=True)
        }

    def end(self, motion: da.Motion) -> Any:
        """The last state of a motion in these units, as one of the plain system (2n,)."""
        system = motion.system
        q, v = (
            np.array([motion[s][-1] for s in symbols])
            for symbols in (system.coordinates, system.velocities)
        )
        return self.plain(q, v)

    def atol(self, rtol: float) -> float:
        """An absolute tolerance below which no symbol means anything."""
        return rtol * 1e-2 * float(np.min(np.minimum(1.0, self.clock) / self.scales))


def drawn_units(random: np.random.Generator, n: int, common: bool = False) -> Units:
    """Random units; coordinates differ by factors of up to ten from each other, unless they have
    them in `common`.
    """
    length, energy = 10.0 ** random.uniform(-EXPONENT, EXPONENT, 2)
    clock = 10.0 ** random.uniform(-EXPONENT / 2, EXPONENT / 2)
    own = np.ones(n) if common else 10.0 ** random.uniform(-0.5, 0.5, n)
    shifts = (
        random.uniform(0.5, 1.0, n) * random.choice([-1.0, 1.0], n) * float(random.choice(ORIGINS))
    )
    return Units(length * own, shifts, clock, energy)


def ONE(n: int) -> Units:
    """The units of the plain system."""
    return Units(np.ones(n), np.zeros(n), 1.0, 1.0)


def of_lengths(units: Units) -> Units:
    """Units that are powers of ten, in which the first two coordinates are lengths and the others
    are in radians.
    """
    exponents = np.round(np.log10(units.scales)).astype(int)
    exponents[2:] = 0
    scales = np.array([float(f"1e{k}") for k in exponents])
    clock, energy = (float(f"1e{round(np.log10(value))}") for value in (units.clock, units.energy))
    return Units(scales, np.round(units.shifts, 6), clock, energy)


def number(value: float) -> sympy.Rational:
    """A number with all its decimals."""
    return sympy.Rational(repr(float(value)))


class _Put:
    """Expressions of the plain system in the symbols of the other; sines and cosines are left as
    they are.
    """

    def __init__(self, units: Units, coordinates: Any) -> None:
        clock, energy = number(units.clock), number(units.energy)
        self.known: dict[Any, Any] = {da.t: clock * da.t}
        for q, size, shift in zip(coordinates, units.scales, units.shifts, strict=True):
            s = number(size)
            self.known |= {
                q: s * q + number(shift),
                q.dot: s / clock * q.dot,
                q.momentum: clock / (energy * s) * q.momentum,
            }

    def __call__(self, expression: Any) -> Any:
        if expression not in self.known:
            arguments = [self(argument) for argument in expression.args]
            if isinstance(expression, (sympy.sin, sympy.cos)):
                self.known[expression] = expression.func(*arguments, evaluate=False)
            else:
                self.known[expression] = expression.func(*arguments) if arguments else expression
        return self.known[expression]
