r"""Quantities conserved by structure: the energy, and momenta along constant directions.

The energy changes by dE/dt = -L_t + Q . v + (reaction) . v. The momentum c . p along a constant
direction c of the coordinates is conserved where neither L nor the applied force pushes along c and
no constraint reacts along it, A c = 0; a cyclic coordinate that no constraint touches is the
plainest case. Generic consistent states suggest directions and can refute; what is called conserved
is proved by the structure of the expressions (`algebra.structure`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
import sympy

from ...algebra.structure import Verdict, equilibrated
from ...errors import RunError
from ...formulations.forms.lagrange import applied_force
from ...model.symbols import t
from ...runtime.context import Context
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array
from ..anatomy import GENERIC, Anatomy, velocity_rows
from ..sampling import evaluate

if TYPE_CHECKING:
    from ...algebra.protocol import Block
    from ...model.system import System
    from ...runtime.kernel import Kernel

__all__ = [
    "Conserved",
    "conserved_momenta",
    "energy_is_conserved",
    "energy_verdict",
    "reaction_power",
]

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
        "proved", or "not established" where neither a change nor a proof was found.
    """

    name: str
    expression: sympy.Expr | None
    why: str
    status: str = "proved"


def reaction_power(anatomy: Anatomy, place: int) -> Verdict:
    """Whether the reaction of a two-sided constraint has no power, f_v . v = 0 (Bloch 5.3).

    Euler's relation f_v . v = k f proves it; a consistent state with another value refutes it.
    """
    found = _euler_relation(anatomy.kernel, place)
    if found.holds:
        return found
    terms = anatomy.row_values[:, place, :] * anatomy.samples.velocities
    if np.any(np.abs(terms.sum(axis=1)) > ROUNDING * np.abs(terms).sum(axis=1)):
        return Verdict("refuted", "its power differs from zero at a consistent state")
    return Verdict("not established", f"its power is zero at {len(terms)} consistent states")


def _euler_relation(kernel: Kernel, place: int) -> Verdict:
    """Whether f_v . v = k f for some degree k."""
    rest = Verdict("not established", "Euler's relation is not proved for any degree")
    row, residual = velocity_rows(kernel)[place, :], kernel.graph.velocity.residual[place]
    power = row @ kernel.graph.velocities
    for degree in DEGREES:
        found = kernel.algebra.vanishing(power - degree * residual)
        if found.is_proved:
            why = f"homogeneous of degree {degree} in the velocities"
            return Verdict("proved", why, holds_to_rounding=True)
        if found.holds and not rest.holds:
            rest = found
    return rest


def energy_is_conserved(kernel: Kernel) -> bool:
    """Whether it is proved that the energy contains no time, and forces and reactions no power.

    `kernel` is that of `stated_kernel`, and its inputs have laws.
    """
    constraints = range(len(kernel.equations.system.bilateral))
    reactions = all(_euler_relation(kernel, place).is_proved for place in constraints)
    return reactions and _forces_are_powerless(kernel)


def energy_verdict(anatomy: Anatomy) -> Verdict:
    """Whether the energy is conserved, with the reasons."""
    system = anatomy.system
    if any(value is None for value in system.inputs.values()):
        return Verdict("not established", "the inputs may do work")
    if energy_is_conserved(anatomy.kernel):
        return Verdict("proved", _why_energy(anatomy), holds_to_rounding=True)
    powers = [(c.name, reaction_power(anatomy, k)) for k, c in enumerate(system.bilateral)]
    return _sampled_energy(anatomy, [name for name, power in powers if not power.is_proved])


def _forces_are_powerless(kernel: Kernel) -> bool:
    """Whether the energies are proved to be free of time, and the forces to have no power."""
    system, algebra, graph = kernel.equations.system, kernel.algebra, kernel.graph
    if not algebra.independence(graph.energy, algebra.vector([t])).is_proved:
        return False
    power = algebra.inner(_force(kernel), graph.velocities)
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
        except RunError:  # no rates at this sample; `tried` counts the others
            continue
        tried += 1
        terms = derivative * rates
        changes |= bool(abs(terms.sum()) > ROUNDING * np.abs(terms).sum())
    if not tried:
        return Verdict("not established", "the motion is not determined")
    if not changes:
        why = f"the powers cancel at {tried} consistent states, without a proof"
        return Verdict("not established", why)
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
    return f"{why}{_while(anatomy.system)}"


def _while(system: System) -> str:
    """When a quantity is conserved that contacts and friction may change, as a clause."""
    if any(c.has_friction for c in system.unilateral):
        return "; between impacts, while no friction acts"
    return "; between impacts" if system.unilateral else ""


def conserved_momenta(anatomy: Anatomy) -> list[Conserved]:
    """Independent conserved momenta c . p with their status, cyclic coordinates first."""
    system = anatomy.system
    if any(value is None for value in system.inputs.values()) and system.forces:
        return []
    rows = np.vstack([anatomy.impulse_rates, *anatomy.every_row])
    units, found = _units(rows), []
    for direction in _echelon(rank(rows * units, GENERIC).null_space.T * units, units):
        coefficients = [_recognised(value, anatomy) for value in direction]
        if any(value is None for value in coefficients):
            continue
        pairs = list(zip(coefficients, system.coordinates, strict=True))
        momentum = sympy.Add(*(c * q.momentum for c, q in pairs))
        moving, status = [q.name for c, q in pairs if c != 0], "proved"
        if not _is_free_direction(anatomy, coefficients):
            why = f"no state of {len(anatomy.samples)} changes it, and no proof was found"
            status = "not established"
        elif len(moving) == 1:
            why = f"{moving[0]} is cyclic, and no constraint touches it"
        else:
            why = f"nothing pushes or holds the system when {', '.join(moving)} move together"
        if status == "proved":
            why = f"{why}{_while(system)}"
        found.append(Conserved(str(momentum), momentum, why, status))
    return sorted(found, key=lambda item: len(item.name))


def _force(kernel: Kernel) -> Block:
    """The applied force, with velocities in the symbols of the kernel."""
    system, algebra, graph = kernel.equations.system, kernel.algebra, kernel.graph
    force = applied_force(system, algebra, graph.momenta)
    return algebra.substitute(force, algebra.vector(system.velocities), graph.velocities)


def _is_free_direction(anatomy: Anatomy, coefficients: list[sympy.Expr]) -> bool:
    """Whether L or H is proved invariant along c, without force or reaction along it."""
    system, kernel, q = anatomy.system, anatomy.kernel, anatomy.coordinates
    algebra = kernel.algebra
    c, shift = algebra.vector(coefficients), algebra.scalar(sympy.Dummy("shift", real=True))
    moved = algebra.substitute(algebra.scalar(system.energy_function), q, q + shift * c)
    force = _force(kernel)
    if system.inputs:
        laws = [sympy.S.Zero if law is None else law for law in system.inputs.values()]
        inputs = algebra.vector(list(system.inputs))
        force = algebra.substitute(force, inputs, kernel.lower(laws))
    pushes = algebra.stack([algebra.inner(force, c), anatomy.rows @ c])
    if not (algebra.independence(moved, shift).is_proved and algebra.vanishing(pushes).is_proved):
        return False
    if (frame := anatomy.image_frame) is None:
        return True
    return algebra.rank(algebra.columns([frame, c])).at_most == algebra.rank(frame).value


def _units(rows: Array) -> Any:
    """Powers of a thousand (n,) that scale the columns to about the same size."""
    scales = equilibrated(rows)[1]
    return 1000.0 ** np.round(np.log(scales[0] / np.exp(np.log(scales[0]).mean())) / np.log(1000.0))


def _echelon(directions: Array, units: Array) -> Array:
    """The same span (k x n) in echelon form where possible, with rounding set to zero."""
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
    """A small rational number, or a product of at most two powers of parameters, of this value."""
    for number, above, below in _simple_numbers(anatomy):
        if number != 0 and abs(abs(value / number) - 1.0) < 1e-9:
            expression = sympy.Mul(*above) / sympy.Mul(*below)
            return expression if value / number > 0 else -expression
    return sympy.S.Zero if value == 0.0 else None


def _simple_numbers(
    anatomy: Anatomy,
) -> Iterator[tuple[float, tuple[sympy.Expr, ...], tuple[sympy.Expr, ...]]]:
    """Values with their numerator and denominator factors, written out on demand."""
    for bottom, top in product(range(1, 7), repeat=2):
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
