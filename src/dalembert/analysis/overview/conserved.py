r"""Conserved quantities that can be seen without integrating: the energy, and momenta along constant directions.

The energy changes by dE/dt = -L_t + Q . v + (reaction) . v. The momentum c . p along a constant direction c of the
coordinates is conserved where neither L nor the applied force pushes along c and no constraint reacts along it, A c = 0; a
cyclic coordinate that no constraint touches is the plainest case. Generic consistent states suggest directions and can
refute; what is called conserved is proved by the structure of the expressions (`algebra.structure`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.structure import Verdict, equilibrated
from ...errors import RunError
from ...formulations.forms.lagrange import applied_force
from ...model.symbols import t
from ...runtime.context import Context
from ...runtime.gauss.constrained_solve import rank
from ..anatomy import GENERIC, Anatomy
from ..sampling import evaluate

__all__ = ["Conserved", "conserved_momenta", "energy_verdict", "reaction_power"]

#: A rate below this, relative to its terms, is rounding.
ROUNDING = 1e-9
#: Degrees k of constraints for which Euler's relation f_v . v = k f is asked.
DEGREES = (1, 2, 3, 0)


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
    status : str
        "proved", or "not established" where no state was found at which it changes, and no proof that it does not.
    """

    name: str
    expression: sympy.Expr | None
    why: str
    status: str = "proved"


def reaction_power(anatomy: Anatomy, place: int) -> Verdict:
    """Whether the reaction of a two-sided constraint has no power on any motion, f_v . v = 0 where f = 0 (Bloch 5.3).

    Euler's relation f_v . v = k f proves it; a consistent state with another value refutes it.
    """
    algebra, graph = anatomy.kernel.algebra, anatomy.kernel.graph
    row, residual = anatomy.rows[place, :], anatomy.residual[place]
    rounded = None
    for degree in DEGREES:
        found = algebra.vanishing(row @ graph.velocities - degree * residual)
        if found.is_proved:
            return Verdict("proved", f"homogeneous of degree {degree} in the velocities", holds_to_rounding=True)
        if rounded is None and found.holds_to_rounding:
            rounded = found
    if rounded is not None:
        return rounded
    terms = anatomy.row_values[:, place, :] * anatomy.samples.velocities
    if np.any(np.abs(terms.sum(axis=1)) > ROUNDING * np.abs(terms).sum(axis=1)):
        return Verdict("refuted", "its power differs from zero at a consistent state")
    return Verdict("not established", f"its power is zero at {len(terms)} consistent states")


def energy_verdict(anatomy: Anatomy) -> Verdict:
    """Whether the energy is conserved, with the reasons."""
    system = anatomy.system
    if any(value is None for value in system.inputs.values()):
        return Verdict("not established", "the inputs may do work")
    working = [c.name for k, c in enumerate(system.bilateral) if not reaction_power(anatomy, k).is_proved]
    if not working and _forces_are_powerless(anatomy):
        return Verdict("proved", _why_energy(anatomy), holds_to_rounding=True)
    return _sampled_energy(anatomy, working)


def _forces_are_powerless(anatomy: Anatomy) -> bool:
    """Whether the energies are proved to be free of time, and the applied forces to have no power."""
    system, kernel = anatomy.system, anatomy.kernel
    algebra, graph = kernel.algebra, kernel.graph
    if not algebra.independence(graph.energy, anatomy.time).is_proved:
        return False
    force = applied_force(system, algebra, graph.momenta)
    power = algebra.inner(algebra.substitute(force, algebra.vector(system.velocities), graph.velocities), graph.velocities)
    if system.inputs:
        laws = kernel.lower(list(system.inputs.values()))
        power = algebra.substitute(power, algebra.vector(list(system.inputs)), laws)
    return algebra.vanishing(power).is_proved


def _sampled_energy(anatomy: Anatomy, working: list[str]) -> Verdict:
    """The energy at consistent states, which can refute that it is conserved."""
    samples = anatomy.motion
    kernel = samples.kernel
    energy, symbols = kernel.graph.energy, kernel.algebra.vector([*kernel.equations.state, t])
    derivatives = evaluate(kernel, ca.gradient(energy, symbols), samples)[:, :, 0]
    context = Context(kernel, samples.parameters)
    changes, tried = False, 0
    for derivative, time, state in zip(derivatives, samples.times, samples.states, strict=True):
        try:
            rates = np.append(context.rates(time, state, np.zeros(len(kernel.free_inputs))), 1.0)
        except RunError:
            continue
        tried += 1
        terms = derivative * rates
        changes |= bool(abs(terms.sum()) > ROUNDING * np.abs(terms).sum())
    if not tried:
        return Verdict("not established", "the motion is not determined")
    if not changes:
        return Verdict("not established", f"the powers cancel at {tried} consistent states, without a proof")
    reasons = []
    if anatomy.kernel.algebra.independence(anatomy.kernel.graph.energy, anatomy.time).is_refuted:
        reasons.append("the energy contains time")
    if anatomy.system.forces or anatomy.system.dissipation != 0:
        reasons.append("applied forces do work")
    if any(not constraint.is_ideal for constraint in anatomy.system.bilateral):
        reasons.append("a nonideal constraint does work")
    if working:
        reasons.append(f"the reaction of {', '.join(working)} does work")
    return Verdict("refuted", "; ".join(reasons) or "its rate does not vanish")


def _why_energy(anatomy: Anatomy) -> str:
    why = "no time in the energies, no power of forces, no power of reactions"
    if anatomy.kernel.algebra.depends(anatomy.residual, anatomy.time):
        why += " (time in a constraint that is homogeneous in the velocities does not break it)"
    return f"{why}; between impacts" if anatomy.system.unilateral else why


def conserved_momenta(anatomy: Anatomy) -> list[Conserved]:
    """Independent momenta c . p that are conserved, cyclic coordinates first; each with its status."""
    system = anatomy.system
    if any(value is None for value in system.inputs.values()) and system.forces:
        return []
    rows = np.vstack([anatomy.impulse_rates, *anatomy.every_row])
    units = _units(rows)
    found = []
    for direction in _echelon(rank(rows * units, GENERIC).null_space.T * units, units):
        coefficients = [_recognised(value, anatomy) for value in direction]
        if any(value is None for value in coefficients):
            continue
        momentum = sympy.Add(*(c * q.momentum for c, q in zip(coefficients, system.coordinates, strict=True)))
        moving = [q.name for q, c in zip(system.coordinates, coefficients, strict=True) if c != 0]
        if not _is_free_direction(anatomy, coefficients):
            why = f"no state was found at which it changes, among {len(anatomy.samples)}, and no proof that it does not"
            found.append(Conserved(str(momentum), momentum, why, "not established"))
            continue
        if len(moving) == 1:
            why = f"{moving[0]} is cyclic, and no constraint touches it"
        else:
            why = f"nothing pushes or holds the system when {', '.join(moving)} move together"
        found.append(Conserved(str(momentum), momentum, f"{why}; between impacts" if system.unilateral else why))
    return sorted(found, key=lambda item: len(item.name))


def _is_free_direction(anatomy: Anatomy, coefficients: list[Any]) -> bool:
    """Whether it is proved that L or H is invariant along c, and that neither forces nor reactions act along it."""
    system, kernel = anatomy.system, anatomy.kernel
    algebra, graph = kernel.algebra, kernel.graph
    c, shift = algebra.vector(coefficients), algebra.scalar(sympy.Dummy("shift", real=True))
    moved = algebra.substitute(algebra.scalar(system.energy_function), anatomy.coordinates, anatomy.coordinates + shift * c)
    force = algebra.substitute(
        applied_force(system, algebra, graph.momenta), algebra.vector(system.velocities), graph.velocities
    )
    if system.inputs:
        laws = kernel.lower([sympy.S.Zero if law is None else law for law in system.inputs.values()])
        force = algebra.substitute(force, algebra.vector(list(system.inputs)), laws)
    pushes = algebra.stack([algebra.inner(force, c), anatomy.rows @ c])
    if not (algebra.independence(moved, shift).is_proved and algebra.vanishing(pushes).is_proved):
        return False
    frame = anatomy.image_frame
    return frame is None or algebra.rank(algebra.columns([frame, c])).at_most == algebra.rank(frame).value


def _units(rows: Any) -> Any:
    """Powers of a thousand, one for each column (n,), that bring the columns to about the same size."""
    scales = equilibrated(rows)[1]
    return 1000.0 ** np.round(np.log(scales[0] / np.exp(np.log(scales[0]).mean())) / np.log(1000.0))


def _echelon(directions: Any, units: Any) -> Any:
    """The same span (k x n) with a column of its own, where it is one, for every vector; entries of rounding are zero."""
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
    sizes = np.abs(table) / units
    return np.where(sizes < ROUNDING * sizes.max(axis=1, keepdims=True, initial=0.0), 0.0, table)


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
