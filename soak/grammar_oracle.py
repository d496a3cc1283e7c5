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

__all__ = ["SWITCHES", "Answer", "NotGenericError", "Oracle", "square"]

#: Relative rounding of what the library reads and computes, with which the oracle is disturbed.
ROUNDING = 2.2e-16
#: Above this condition of the scaled equations a system is not compared.
MOST = 1e9


#: Derivatives of switches, away from them; Max(f, f) has the derivative of f.
SWITCHES = {
    "DiracDelta": lambda *_: mpmath.mpf(0),
    "Heaviside": lambda x, *_: mpmath.mpf(int(x > 0) + int(x >= 0)) / 2,
}


class NotGenericError(Exception):
    """The equations have no finite value at the state, or are too near to a singular one."""


@dataclass(frozen=True)
class Answer:
    """Accelerations, how far rounding moves each, how far rounding of the momenta does, and how far
    rounding of each solve with the mass matrix does: where multipliers are found by such solves,
    and where rates of momenta and of the mass matrix are multiplied by its inverse.
    """

    accelerations: tuple[float, ...]
    sensitivity: tuple[float, ...]
    momentum_sensitivity: tuple[float, ...]
    elimination: tuple[float, ...]
    inverse: tuple[float, ...]


class Oracle:
    """The equations of a statement, differentiated once; its Lagrangian must be real."""

    def __init__(self, found: Statement) -> None:
        symbols = found.symbols()
        self.found = found
        self.names = list(found.values())
        self.symbols = [symbols[name] for name in self.names]
        t = symbols["t"]
        q = [symbols[name] for name in found.names]
        v = [symbols[f"{name}_dot"] for name in found.names]
        lagrangian = found.kinetic.expression(symbols) - found.potential.expression(symbols)
        if lagrangian.has(sympy.zoo, sympy.nan, sympy.oo):
            raise NotGenericError("the Lagrangian is not finite")
        self.lagrangian = lagrangian
        momenta = [lagrangian.diff(u) for u in v]
        self.mass = sympy.Matrix([[p.diff(u) for u in v] for p in momenta])
        # Terms of the forces, n + 3 for each coordinate: what cancels in them is lost by rounding.
        self.terms = sympy.Matrix(
            [
                [force.expression(symbols), lagrangian.diff(x), -p.diff(t)]
                + [-p.diff(y) * u for y, u in zip(q, v, strict=True)]
                for force, x, p in zip(found.forces, q, momenta, strict=True)
            ]
        )
        level = []
        for kind, tree in found.constraints:
            own = tree.expression(symbols)
            if kind == "position":
                own = sum(own.diff(x) * u for x, u in zip(q, v, strict=True)) + own.diff(t)
            level.append(own)
        self.level = level
        self.rows = sympy.Matrix([[own.diff(u) for u in v] for own in level])
        self.right = sympy.Matrix(
            [
                -sum(own.diff(x) * u for x, u in zip(q, v, strict=True)) - own.diff(t)
                for own in level
            ]
        )
        blocks = [self.mass, self.terms, self.rows, self.right, sympy.Matrix(momenta)]
        blocks.append(sympy.Matrix([lagrangian]))
        self.function = sympy.lambdify(
            self.symbols, [list(block) for block in blocks], [SWITCHES, "mpmath"], cse=True
        )

    def answer(self, shift: float = 0.0) -> Answer:
        """At the state of the statement, whose coordinates are rounded where the origin lies
        `shift` away; NotGenericError where it means nothing.
        """
        chance = Random(5)
        point = [Fraction(x) for x in self.found.values().values()]
        coordinates = slice(1, 1 + len(self.found.names))
        point[coordinates] = [Fraction(x + shift) - Fraction(shift) for x in self.found.q]
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
            rounded = self._solved(self._with_rounded_momenta(point, chance), None)
            n = len(exact)
            spread = [max(abs(other[k] - exact[k]) for other in moved) for k in range(n)]
            apart = [abs(x - y) for x, y in zip(rounded, exact, strict=True)]
            columns = [exact, spread, apart]
            for by_momenta in (False, True):
                others = [
                    self._eliminated([_mpf(x) for x in point], chance, by_momenta) for _ in range(3)
                ]
                columns.append([max(abs(o[k] - exact[k]) for o in others) for k in range(n)])
        return Answer(*(tuple(map(float, column)) for column in columns))

    def _with_rounded_momenta(self, point: list[Fraction], chance: Random) -> list[Any]:
        """A point whose velocities are those of momenta that are rounded."""
        exact = [_mpf(x) for x in point]
        n = len(self.found.names)
        mass, *_, momenta, _ = self.function(*exact)

        def rounded(value: Any) -> Any:
            return value * ROUNDING * chance.uniform(-1, 1)

        # M v = p - m is solved with a matrix that is rounded as well.
        speeds = exact[n + 1 :]
        lost = square([rounded(entry) for entry in mass], n) * mpmath.matrix(speeds)
        change = mpmath.matrix([rounded(p) for p in momenta]) + lost
        try:
            moved = mpmath.lu_solve(square(mass, n), change)
        except ZeroDivisionError as error:
            raise NotGenericError("the momenta do not determine the velocities") from error
        return [*exact[: n + 1], *(v + dv for v, dv in zip(exact[n + 1 :], moved, strict=True))]

    def _eliminated(self, point: list[Any], chance: Random, by_momenta: bool) -> list[Any]:
        """The accelerations by solves with a mass matrix that is rounded anew for each, as where
        multipliers are eliminated, and with `by_momenta` as d(M^-1 (p - m))/dt is taken:

            z = a + M^-1 A^T (A M^-1 A^T)^-1 (b - A a),   M a = F
        """
        n, m = len(self.found.names), len(self.found.constraints)
        mass, terms, rows, right, *_ = self.function(*point)

        def solved(column: Any) -> Any:
            disturbed = [x * (1 + ROUNDING * chance.uniform(-1, 1)) for x in mass]
            return mpmath.lu_solve(square(disturbed, n), column)

        try:
            width = n + 3
            pushed = [sum(terms[i * width : i * width + 2]) for i in range(n)]
            carried = [sum(terms[i * width + 2 : (i + 1) * width]) for i in range(n)]
            if by_momenta:
                free = solved(mpmath.matrix(pushed)) + solved(mpmath.matrix(carried))
            else:
                free = solved(mpmath.matrix(pushed) + mpmath.matrix(carried))
            if not m:
                return list(free)
            table = mpmath.matrix([[rows[k * n + i] for i in range(n)] for k in range(m)])
            columns = [solved(table[k, :].T) for k in range(m)]
            products = mpmath.matrix(m, m)
            for k in range(m):
                image = table * solved(table[k, :].T)
                for j in range(m):
                    products[j, k] = image[j]
            multipliers = mpmath.lu_solve(products, mpmath.matrix(right) - table * free)
        except ZeroDivisionError as error:
            raise NotGenericError("singular") from error
        return list(free + sum((columns[k] * multipliers[k] for k in range(m)), free * 0))

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
        mass, terms, rows, right, *_ = blocks
        force = [sum(terms[i * (n + 3) : (i + 1) * (n + 3)]) for i in range(n)]
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
        try:
            return list(mpmath.lu_solve(matrix, column)[:n])
        except ZeroDivisionError as error:
            raise NotGenericError("singular") from error


def square(entries: list[Any], n: int) -> Any:
    """A matrix (n, n) of mpmath from its entries by rows."""
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
