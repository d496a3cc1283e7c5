"""Conserved quantities that can be seen without integrating: the energy, and momenta along constant directions.

The energy changes by dE/dt = -L_t + Q . v + (reaction) . v. The momentum c . p along a constant direction c of the
coordinates is conserved where neither L nor the applied force pushes along c and no constraint reacts along it, A c = 0; a
cyclic coordinate that no constraint touches is the plainest case. Both are decided at generic consistent states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ..compiled.book import Book
from ..compiled.constrained_solve import rank
from ..errors import RunError
from ..model.symbols import t
from .anatomy import GENERIC, Anatomy
from .sampling import evaluate

__all__ = ["Conserved", "conserved_momenta", "energy_verdict"]

#: A rate below this, relative to its terms, is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Conserved:
    """A quantity that keeps its value.

    Attributes
    ----------
    name : str
        "energy", or the momentum as text.
    expression : sympy.Expr or None
        In momenta and parameters; None for the energy.
    why : str
    """

    name: str
    expression: sympy.Expr | None
    why: str


def energy_verdict(anatomy: Anatomy, working: list[str]) -> tuple[bool, str]:
    """Whether the energy is conserved, and why or why not; `working` names the constraints whose reaction does work."""
    samples = anatomy.motion
    kernel = samples.kernel
    energy, letters = kernel.graph.energy, kernel.algebra.vector([*kernel.equations.state, t])
    slopes = evaluate(kernel, ca.gradient(energy, letters), samples)[:, :, 0]
    book = Book(kernel, samples.parameters)
    conserved, tried = True, 0
    for slope, time, state in zip(slopes, samples.times, samples.states, strict=True):
        try:
            rates = np.append(book.rates(time, state, np.zeros(len(kernel.free_inputs))), 1.0)
        except RunError:
            continue
        tried += 1
        terms = slope * rates
        conserved &= bool(abs(terms.sum()) <= ROUNDING * np.abs(terms).sum())
    if anatomy.system.inputs and any(value is None for value in anatomy.system.inputs.values()):
        return False, "the inputs may do work"
    if not tried:
        return False, "the motion is not determined"
    if conserved:
        return True, _why_energy(anatomy, bool(working))
    reasons = []
    if np.any(np.abs(slopes[:, -1]) > ROUNDING * np.max(np.abs(slopes))):
        reasons.append("the energy contains time")
    if anatomy.system.forces or anatomy.system.dissipation != 0:
        reasons.append("applied forces do work")
    if any(not constraint.is_ideal for constraint in anatomy.system.bilateral):
        reasons.append("a nonideal constraint does work")
    if working:
        reasons.append(f"the reaction of {', '.join(working)} does work")
    return False, "; ".join(reasons) or "its rate does not vanish"


def _why_energy(anatomy: Anatomy, some_work: bool) -> str:
    if some_work:
        return "the powers cancel at every state tried"
    why = "no time in the energies, no power of forces, no power of reactions"
    if anatomy.kernel.algebra.depends(anatomy.residual, anatomy.time):
        why += " (time in a constraint that is homogeneous in the velocities does not break it)"
    return f"{why}; between impacts" if anatomy.system.unilateral else why


def conserved_momenta(anatomy: Anatomy) -> list[Conserved]:
    """Independent momenta c . p that are conserved, cyclic coordinates first."""
    system = anatomy.system
    if any(value is None for value in system.inputs.values()) and system.forces:
        return []
    rows = np.vstack([anatomy.impulse_rates, *anatomy.every_row])
    directions = rank(rows, GENERIC).null_space.T
    found = []
    for direction in _echelon(directions):
        coefficients = [_recognised(value, anatomy) for value in direction]
        if any(value is None for value in coefficients):
            continue
        momentum = sympy.Add(*(c * q.momentum for c, q in zip(coefficients, system.coordinates, strict=True)))
        moving = [q.name for q, c in zip(system.coordinates, coefficients, strict=True) if c != 0]
        if len(moving) == 1:
            why = f"{moving[0]} is cyclic, and no constraint touches it"
        else:
            why = f"nothing pushes or holds the system when {', '.join(moving)} move together"
        found.append(Conserved(str(momentum), momentum, f"{why}; between impacts" if system.unilateral else why))
    return sorted(found, key=lambda item: len(item.name))


def _echelon(directions: Any) -> Any:
    """The same span (k x n) with a column of its own, where it is one, for every vector."""
    table = np.array(directions)
    free = list(range(table.shape[0]))
    while free:
        sizes = np.abs(table[free])
        i, j = np.unravel_index(int(np.argmax(sizes > 0.99 * sizes.max())), sizes.shape)
        row = free.pop(int(i))
        table[row] /= table[row, j]
        for other in range(table.shape[0]):
            if other != row:
                table[other] -= table[other, j] * table[row]
    table[np.abs(table) < 1e-9] = 0.0
    return table


def _recognised(value: float, anatomy: Anatomy) -> sympy.Expr | None:
    """A small rational number, or a product of at most two powers of parameters, with this value."""
    for number, above, below in _simple_numbers(anatomy):
        if number != 0 and abs(abs(value / number) - 1.0) < 1e-9:
            expression = sympy.Mul(*above) / sympy.Mul(*below)
            return expression if value / number > 0 else -expression
    return sympy.S.Zero if value == 0.0 else None


def _simple_numbers(anatomy: Anatomy) -> Iterator[tuple[float, tuple[Any, ...], tuple[Any, ...]]]:
    """Values with the factors above and below their fraction bars; most are looked at and never written."""
    for bottom in range(1, 7):
        for top in range(1, 7):
            yield top / bottom, (sympy.Integer(top),), (sympy.Integer(bottom),)
    known = list(zip(anatomy.samples.parameters, anatomy.kernel.parameters, strict=True))
    inverse = [1 / value if value else 0.0 for value, _ in known]
    for (value, symbol), below in zip(known, inverse, strict=True):
        yield value, (symbol,), ()
        yield below, (), (symbol,)
    for first, one in known:
        for (second, other), below in zip(known, inverse, strict=True):
            yield first * below, (one,), (other,)
            yield first * second, (one, other), ()
