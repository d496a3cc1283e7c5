r"""Kinetic and potential energy, the Lagrangian and the action along a motion.

    L = p . q_dot - E,    S(t) = int_{t_0}^{t} L dt,    T = L + V

with what every motion observes: momenta p = L_v, velocities and the energy E. V and T are those
that the system was stated by. A Lagrangian that was stated whole, or a Hamiltonian, has
V(q, t) = -L(q, 0, t) and T = E - V: terms that are linear in the velocities have no part in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from ..model.read_only import read_only
from ..typing import Array
from .methods.method import FixedStep
from .methods.table import find_method
from .quadrature import integrate_along

if TYPE_CHECKING:
    from ..model.system import System
    from .motion import Motion

__all__ = ["MEANINGS", "Columns", "energies_without_solve", "energy_names", "sampled_at"]

#: Nodes of Gauss's rule on a step; where a state between steps takes a step of its own, fewer.
NODES, FEW_NODES = 5, 2


def energies_without_solve(motion: Motion) -> Array | None:
    """The energy along a motion, (nt,), where it needs no accelerations; None if it may.

    Only kernels of many unknowns have a program of their own for it.
    """
    began, found = perf_counter(), np.empty(len(motion.t))
    for number, segment in enumerate(motion.segments):
        where, context = motion.owner == number, segment.context
        states = motion._states[number]
        values = context.kernel.energies(motion.t[where], states, context.parameters)
        if values is None:
            return None
        found[where] = values
    motion.statistics["energy_seconds"] = perf_counter() - began
    return read_only(found)


class Columns(Mapping[str, Array]):
    """The columns of a motion by name; energies and the action are computed when first read.

    Attributes
    ----------
    energy_names : tuple of str
        Those of "kinetic", "potential", "lagrangian" and "action" that the motion has, and that no
        symbol or output of the system is called.
    """

    def __init__(self, motion: Motion, table: Mapping[str, Array]) -> None:
        self._motion, self._values = motion, dict(table)
        known = {} if motion.computed is None else motion.computed.energies
        self.energy_names = tuple(name for name in energy_names(motion) if name not in table)
        if motion.computed is not None and any(v is None for v in motion.system.inputs.values()):
            self.energy_names = tuple(name for name in self.energy_names if name in known)
        self._values |= {name: known[name] for name in self.energy_names if name in known}
        self._names = tuple(dict.fromkeys((*table, *self.energy_names)))

    def __getitem__(self, name: str) -> Array:
        if name not in self._values and name in self.energy_names:
            self._values[name] = read_only(_COLUMNS[name](self._motion))
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def energies(self) -> dict[str, Array]:
        """Those that were computed, and all where they cannot be computed again from a copy."""
        is_last = any(value is None for value in self._motion.system.inputs.values())
        return {name: self[name] for name in self.energy_names if is_last or name in self._values}


def energy_names(motion: Motion) -> tuple[str, ...]:
    """The energies that this motion has; none of a flow or a reduced system."""
    system = motion.system
    return system.cache.get("energy names", lambda: _energy_names(system))


def _energy_names(system: System) -> tuple[str, ...]:
    from ..model.potential_energy import potential_energy
    from ..model.system import System

    if not isinstance(system, System):
        return ()
    if potential_energy(system) is None:
        return ("lagrangian", "action")
    return tuple(MEANINGS)


def _values_of_potential(motion: Motion) -> Array:
    if motion.computed is None and not any(s.context.kernel.free_inputs for s in motion.segments):
        found = np.empty(len(motion.t))
        for number, segment in enumerate(motion.segments):
            where, context = motion.owner == number, segment.context
            states = motion._states[number]
            found[where] = context.kernel.potentials(motion.t[where], states, context.parameters)
        return found
    from ..algebra.tabulate import tabulated
    from ..model.potential_energy import potential_energy

    value = potential_energy(motion.system)
    assert value is not None
    symbols = sorted(value.free_symbols, key=lambda symbol: str(symbol.name))
    known = motion.parameters
    arguments = [known[s.name] if s.name in known else motion[s.name] for s in symbols]
    return np.array(np.broadcast_to(tabulated(symbols, [value])(arguments)[0], motion.t.shape))


def _kinetic(motion: Motion) -> Array:
    if motion.system.kinetic is None:
        return motion.energy - _values_of_potential(motion)
    return _lagrangian(motion) + _values_of_potential(motion)


def _lagrangian(motion: Motion) -> Array:
    observed = motion._observed
    total = np.sum(observed["momenta"] * observed["velocities"], axis=0) - observed["energy"][0]
    return np.asarray(total, dtype=float)


def _action(motion: Motion) -> Array:
    """S at the stored times, from the start of the motion."""
    if not len(motion.t) or motion.segments[0].step_t[0] == motion.t[-1]:
        return np.zeros(len(motion.t))
    step = find_method(motion.statistics["method"]).step
    nodes = FEW_NODES if isinstance(step, FixedStep) else NODES
    lagrangian = integrate_along(motion, lambda t: _lagrangian(sampled_at(motion, t)), nodes=nodes)
    return np.asarray(lagrangian.values[0], dtype=float)


def sampled_at(motion: Motion, times: Array) -> Motion:
    """The same motion stored at other times: its dense states, and everything computed from them.

    Parameters
    ----------
    times : array (k,)
        Inside the motion.
    """
    backward = motion.segments[-1].step_t[-1] < motion.segments[0].step_t[0]
    sign = -1.0 if backward else 1.0
    begins = np.array([sign * segment.step_t[0] for segment in motion.segments])
    owner = np.clip(np.searchsorted(begins, sign * times, side="right") - 1, 0, None)
    states = np.ascontiguousarray(motion.sol(times))
    return replace(motion, t=times, y=states, owner=owner, computed=None)


_COLUMNS: Mapping[str, Callable[[Motion], Array]] = {
    "kinetic": _kinetic,
    "potential": _values_of_potential,
    "lagrangian": _lagrangian,
    "action": _action,
}
#: The columns with their meaning, in the order of tables.
MEANINGS: Mapping[str, str] = {
    "kinetic": "kinetic energy T",
    "potential": "potential energy V",
    "lagrangian": "Lagrangian L = p . q_dot - E",
    "action": "action, the integral of L from the start of the motion",
}
