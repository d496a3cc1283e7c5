"""What may change the energy of a system by its statement, and is not an error of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..model.flow_system import Flow
    from ..model.system import System
    from .constraints import Constraint
    from .symbols import Velocity

__all__ = ["energy_changes"]


def energy_changes(system: System | Flow) -> str:
    """What the statement of a system names that may do work, as words; empty where nothing does.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> u = da.inputs("u")
    >>> energy_changes(
    ...     da.System([x], kinetic=x.dot**2 / 2, dissipation=x.dot**2, forces={x: u}, inputs=[u])
    ... )
    'inputs and dissipation'
    """
    return system.cache.get("energy changes", lambda: _named(system))


def _named(system: System | Flow) -> str:
    from .symbols import t

    inputs = set(getattr(system, "inputs", ()))
    forces = getattr(system, "forces", {}).values()
    energies = (getattr(system, name, None) for name in ("lagrangian", "hamiltonian"))
    bilateral = getattr(system, "bilateral", ())
    named = {
        "inputs": any(inputs & force.free_symbols for force in forces),
        "forces": any(not inputs & force.free_symbols for force in forces),
        "dissipation": getattr(system, "dissipation", 0) != 0,
        "time in the energy": any(
            t in energy.free_symbols for energy in energies if energy is not None
        ),
        "moving or nonideal constraints": any(_may_work(c, system.velocities) for c in bilateral),
        "friction": any(c.has_friction for c in getattr(system, "unilateral", ())),
        "impacts": any(c.restitution != 1 for c in getattr(system, "unilateral", ())),
    }
    words = [word for word, is_there in named.items() if is_there]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _may_work(constraint: Constraint, velocities: Sequence[Velocity]) -> bool:
    """Whether a constraint is nonideal, contains time, or asks for velocities at rest."""
    import sympy

    from .symbols import t

    if constraint.work or t in constraint.expression.free_symbols:
        return True
    at_rest = constraint.expression.xreplace(dict.fromkeys(velocities, sympy.S.Zero))
    return constraint.is_velocity_level and at_rest != 0
