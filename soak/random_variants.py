"""The same motion in other words: coordinates in other units, constraints in another order,
multiplied and doubled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy

import dalembert as da
from dalembert.model.constraints import UnilateralConstraint

__all__ = ["Variant", "variant_of"]


@dataclass(frozen=True)
class Variant:
    """A system in other words; a coordinate of the first is `scales` times that of the second."""

    system: da.System
    scales: Any

    def start(self, q: Any, v: Any) -> dict[str, float]:
        """A state of the first system in symbols of the second."""
        symbols = (*self.system.coordinates, *self.system.velocities)
        values = np.concatenate([q / self.scales, v / self.scales])
        return {symbol.name: float(value) for symbol, value in zip(symbols, values, strict=True)}


def variant_of(system: da.System, random: np.random.Generator) -> Variant:
    """q = s q' with s from 1e-3 to 1e3, the constraints reversed, times numbers, and one of them
    twice.
    """
    scales = 10.0 ** random.uniform(-3, 3, len(system.coordinates))
    change: dict[Any, Any] = {}
    for q, size in zip(system.coordinates, scales, strict=True):
        s = sympy.Float(float(size))
        change |= {q: s * q, q.dot: s * q.dot, q.momentum: q.momentum / s}

    def put(expression: Any) -> Any:
        """The expression in the new symbols; sinusoids are not simplified, which would take SymPy
        most of the time.
        """
        if expression not in change:
            arguments = [put(argument) for argument in expression.args]
            if isinstance(expression, (sympy.sin, sympy.cos)):
                change[expression] = expression.func(*arguments, evaluate=False)
            else:
                change[expression] = expression.func(*arguments) if arguments else expression
        return change[expression]

    sizes = dict(zip(system.coordinates, scales, strict=True))
    constraints = []
    for constraint in reversed(system.constraints):
        factor = float(random.uniform(0.1, 10.0))
        if not isinstance(constraint, UnilateralConstraint):
            factor *= float(random.choice([-1.0, 1.0]))
        work = {q: float(sizes[q]) * put(value) for q, value in constraint.work.items()}
        constraints.append(
            replace(constraint, expression=factor * put(constraint.expression), work=work)
        )
    doubled = next(
        (c for c in constraints if not c.work and not isinstance(c, UnilateralConstraint)), None
    )
    if doubled is not None:
        constraints.append(replace(doubled, expression=-3 * doubled.expression, name="twice"))
    if system.hamiltonian is not None:
        energies: dict[str, Any] = {"hamiltonian": put(system.hamiltonian)}
    elif system.bundle:
        energies = {"bundle": {u: put(value) for u, value in system.bundle.items()}}
        energies["lagrangian"] = put(system.bundle_lagrangian)
    elif system.kinetic is not None:
        energies = {"kinetic": put(system.kinetic), "potential": put(system.potential)}
    else:
        energies = {"lagrangian": put(system.lagrangian)}
    forces = {q: float(sizes[q]) * put(value) for q, value in system.forces.items()}
    inputs = {u: put(law) for u, law in system.inputs.items()}
    made = da.System(
        system.coordinates,
        constraints=constraints,
        forces=forces,
        dissipation=put(system.dissipation),
        inputs=inputs,
        **energies,
    )
    return Variant(made, scales)
