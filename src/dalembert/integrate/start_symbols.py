"""What a start may name: the symbols of a form, velocities, momenta, and outputs that move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import casadi as ca
import sympy

from ..formulations.equations import Equations
from ..formulations.forms.lagrange import lagrangian_and_momenta
from ..model.atoms import leaves
from ..model.symbols import name_of
from ..model.system import System
from ..runtime.kernel import kernel_of

__all__ = [
    "fibre_velocities",
    "moving_outputs",
    "moving_quantities",
    "own_symbols",
    "start_form",
    "start_names",
]


def start_form(equations: Equations, given: Iterable[Any]) -> str | None:
    """The form in whose symbols a start is made consistent, by what it names; None for the form's
    own.

    Momenta are the symbols of Hamilton's form, but what is missing beside velocities are
    velocities: they are zero, or what the constraints leave, in every form. The same holds of a
    start that names neither, unless the Hamiltonian was stated.
    """
    system = equations.system
    if equations.start_form is not None or equations.form != "hamilton":
        return equations.start_form
    named = {name_of(key) for key in given}
    velocities = {v.name for v in system.velocities}
    if velocities <= named or any(p.name in named for p in system.momenta):
        return None
    if (velocities | moving_quantities(system).keys()) & named:
        return "lagrange"
    return (
        None if system.hamiltonian is not None or _has_no_momenta_at_rest(equations) else "lagrange"
    )


def start_names(equations: Equations) -> list[str]:
    """What a start may name: state, velocities, momenta, fibre velocities, moving outputs."""
    system = equations.system
    symbols = (*equations.state, *system.velocities, *system.momenta)
    return list(dict.fromkeys([*(symbol.name for symbol in symbols), *moving_quantities(system)]))


def moving_outputs(system: System) -> dict[str, sympy.Expr]:
    """The outputs that depend on velocities or momenta: a start may give them instead."""
    moving = {*system.velocities, *system.momenta}
    return {
        name: value
        for name, value in system.outputs.items()
        if not moving.isdisjoint(leaves(value))
    }


def moving_quantities(system: System) -> dict[str, sympy.Expr]:
    """All that a start may give in place of velocities and momenta, by name; found once."""
    return system.cache.get("moving quantities", lambda: _moving_quantities(system))


def _moving_quantities(system: System) -> dict[str, sympy.Expr]:
    return {v.name: value for v, value in fibre_velocities(system).items()} | moving_outputs(system)


def own_symbols(equations: Equations, given: Iterable[Any]) -> list[str]:
    """The names in a start that only the form has, such as quasi-velocities."""
    system = equations.system
    shared = {s.name for s in (*system.coordinates, *system.velocities, *system.momenta)}
    own = {s.name for s in equations.state} - shared
    return [name for name in map(name_of, given) if name in own]


def fibre_velocities(system: object) -> Mapping[Any, Any]:
    """The fibre velocities of a system on a bundle by its velocities; none for any other."""
    return system.bundle if isinstance(system, System) else {}


def _has_no_momenta_at_rest(equations: Equations) -> bool:
    """Whether momenta vanish with the velocities, as without terms that are linear in these."""
    system = equations.system
    algebra = kernel_of(equations, system.parameters).algebra
    momenta = lagrangian_and_momenta(system, algebra)[1]
    at_rest = ca.substitute(
        momenta, algebra.vector(system.velocities), ca.SX.zeros(len(system.velocities))
    )
    return bool(ca.sparsify(ca.simplify(at_rest)).nnz() == 0)
