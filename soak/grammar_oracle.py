"""The accelerations of a statement in 40 digits: derivatives by SymPy, the equations of Gauss's
principle by mpmath; no module of the library is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

import mpmath
import sympy

from .grammar_trees import DIGITS, Statement

__all__ = ["Answer", "NotGenericError", "Oracle"]

#: Relative rounding of what the library reads and computes, with which the oracle is disturbed.
ROUNDING = 2.2e-16
#: Above this condition of the scaled equations a system is not compared.
MOST = 1e9


#: Derivatives of switches, away from them.
SWITCHES = {
    "DiracDelta": lambda *_: mpmath.mpf(0),
    "Heaviside": lambda x, *_: mpmath.mpf(int(x > 0)),
}


class NotGenericError(Exception):
    """The equations have no finite value at the state, or are too near to a singular one."""


@dataclass(frozen=True)
class Answer:
    """Accelerations, how far rounding moves each, and how far rounding of the momenta does."""

    accelerations: tuple[float, ...]
    sensitivity: tuple[float, ...]
    momentum_sensitivity: tuple[float, ...]


class Oracle:
    """The equations of a statement, differentiated once."""

    def __init__(self, found: Statement) -> None:
        symbols = found.symbols()
        self.found = found
        self.names = list(found.values())
        self.symbols = [symbols[name] for name in self.names]
        t = symbols["t"]
        q = [symbols[name] for name in found.names]
        v = [symbols[f"{name}_dot"] for name in found.names]
        lagrangian = found.kinetic.expression(symbols) - found.potential.expression(symbols)
        momenta = [lagrangian.diff(u) for u in v]
        self.mass = sympy.Matrix([[p.diff(u) for u in v] for p in momenta])
        self.force = sympy.Matrix(
            [
                force.expression(symbols)
                + lagrangian.diff(x)
                - sum(p.diff(y) * u for y, u in zip(q, v, strict=True))
                - p.diff(t)
                for force, x, p in zip(found.forces, q, momenta, strict=True)
            ]
        )
        level = []
        for kind, tree in found.constraints:
            own = tree.expression(symbols)
            if kind == "position":
                own = sum(own.diff(x) * u for x, u in zip(q, v, strict=True)) + own.diff(t)
            level.append(own)
        self.rows = sympy.Matrix([[own.diff(u) for u in v] for own in level])
        self.right = sympy.Matrix(
            [
                -sum(own.diff(x) * u for x, u in zip(q, v, strict=True)) - own.diff(t)
                for own in level
            ]
        )
        blocks = [self.mass, self.force, self.rows, self.right, sympy.Matrix(momenta)]
        self.function = sympy.lambdify(
            self.symbols, [list(block) for block in blocks], [SWITCHES, "mpmath"], cse=True
        )

    def answer(self) -> Answer:
        """At the state of the statement; NotGenericError where it means nothing."""
        chance = Random(5)
        point = [Fraction(x) for x in self.found.values().values()]
        with mpmath.workdps(DIGITS):
            exact = self._solved([_mpf(x) for x in point], None)
            moved = [
                self._solved(
                    [_mpf(x) * (1 + ROUNDING * chance.uniform(-1, 1)) for x in point], chance
                )
                for _ in range(3)
            ]
            with mpmath.workprec(53):  # rounding inside the expressions
                moved.append(self._solved([_mpf(x) for x in point], None))
            by_momenta = self._solved(self._with_rounded_momenta(point, chance), None)
            spread = [max(abs(other[k] - exact[k]) for other in moved) for k in range(len(exact))]
            apart = [abs(x - y) for x, y in zip(by_momenta, exact, strict=True)]
        return Answer(*(tuple(map(float, column)) for column in (exact, spread, apart)))

    def _with_rounded_momenta(self, point: list[Fraction], chance: Random) -> list[Any]:
        """A point whose velocities are those of momenta that are rounded."""
        exact = [_mpf(x) for x in point]
        n = len(self.found.names)
        mass, *_, momenta = self.function(*exact)
        change = mpmath.matrix([p * ROUNDING * chance.uniform(-1, 1) for p in momenta])
        try:
            moved = mpmath.lu_solve(_square(mass, n), change)
        except ZeroDivisionError as error:
            raise NotGenericError("the momenta do not determine the velocities") from error
        return [*exact[: n + 1], *(v + dv for v, dv in zip(exact[n + 1 :], moved, strict=True))]

    def _solved(self, point: list[Any], chance: Random | None) -> list[Any]:
        """The accelerations at a point; with random numbers, of equations that are rounded."""
        try:
            blocks = self.function(*point)
        except (ZeroDivisionError, ValueError, OverflowError, TypeError, NameError) as error:
            raise NotGenericError(str(error)) from error
        if any(isinstance(x, mpmath.mpc) or not mpmath.isfinite(x) for b in blocks for x in b):
            raise NotGenericError("no finite real value")
        if chance is not None:
            blocks = [
                [x * (1 + ROUNDING * chance.uniform(-1, 1)) for x in block] for block in blocks
            ]
        n, m = len(self.found.names), len(self.found.constraints)
        mass, force, rows, right, _ = blocks
        matrix, column = mpmath.zeros(n + m), mpmath.zeros(n + m, 1)
        for i in range(n):
            column[i] = force[i]
            for j in range(n):
                matrix[i, j] = mass[i * n + j]
            for k in range(m):
                matrix[i, n + k] = -rows[k * n + i]
                matrix[n + k, i] = rows[k * n + i]
        for k in range(m):
            column[n + k] = right[k]
        _check_condition(matrix, n)
        return list(mpmath.lu_solve(matrix, column)[:n])


def _square(entries: list[Any], n: int) -> Any:
    return mpmath.matrix([[entries[i * n + j] for j in range(n)] for i in range(n)])


def _mpf(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def _check_condition(matrix: Any, n: int) -> None:
    """The condition after the rows and columns are scaled."""
    size = matrix.rows
    scaled = matrix.copy()
    for _ in range(4):
        for i in range(size):
            most = max(abs(scaled[i, j]) for j in range(size))
            if most == 0:
                raise NotGenericError("a row is zero")
            for j in range(size):
                scaled[i, j] /= most
        for j in range(size):
            most = max(abs(scaled[i, j]) for i in range(size))
            if most == 0:
                raise NotGenericError("a column is zero")
            for i in range(size):
                scaled[i, j] /= most
    try:
        inverse = scaled**-1
    except ZeroDivisionError as error:
        raise NotGenericError("singular") from error
    if mpmath.mnorm(scaled, 1) * mpmath.mnorm(inverse, 1) > MOST:
        raise NotGenericError("nearly singular")
