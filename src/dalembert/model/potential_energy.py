"""The potential energy that a system was stated by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import sympy

if TYPE_CHECKING:
    from .system import System

__all__ = ["potential_energy"]


def potential_energy(system: System) -> sympy.Expr | None:
    """V(q, t), as stated, or -L(q, 0, t); None if no velocity zero shows in H."""
    found = system.cache.get("potential energy", lambda: (_potential(system),))[0]
    return found if found is None or isinstance(found, sympy.Expr) else None


def _potential(system: System) -> sympy.Expr | None:
    if system.potential is not None:
        return system.potential
    at_rest: dict[sympy.Symbol, sympy.Expr]
    if system.hamiltonian is not None:
        at_rest = dict.fromkeys(system.momenta, sympy.S.Zero)
        velocities = (sympy.diff(system.hamiltonian, p).xreplace(at_rest) for p in system.momenta)
        if any(velocity != 0 for velocity in velocities):
            return None
        value = system.hamiltonian.xreplace(at_rest)
    else:
        at_rest = dict.fromkeys(system.velocities, sympy.S.Zero)
        value = -system.energy_function.xreplace(at_rest)
    return None if value.has(sympy.nan, sympy.zoo, sympy.oo, -sympy.oo) else value
