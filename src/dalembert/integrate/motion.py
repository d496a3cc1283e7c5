"""The result of a run: immutable, readable by name, and compatible with SciPy's.

Everything beyond the state (accelerations, reactions, energy, residuals) is computed when it is
first asked for, by the same kernel that made the motion.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..model.read_only import ReadOnlyArrays, read_only
from ..typing import Array, ArrayLike, Path, Symbol
from .energy_columns import Columns, energies_without_solve
from .methods.table import find_method
from .motion_pictures import MotionPictures
from .outcome import Outcome, Termination
from .reactions import Reaction, ReactionForce, Reactions, missing_quantity
from .segment import Computed, Residuals, Segment
from .state_symbols import own_states

if TYPE_CHECKING:
    import xarray

    from ..formulations.equations import Equations
    from ..model.scenario import Scenario
    from ..model.system import System
    from .contact.contact_history import ContactHistory
    from .contact.contact_modes import ContactChange
    from .sampling.sampler import SampleTable

__all__ = ["Motion", "Reaction", "load"]


@dataclass(frozen=True, repr=False, eq=False)
class Motion(ReadOnlyArrays, MotionPictures):
    """A motion of a system. Its arrays are read-only: take a copy to change one.

    A motion is equal to itself alone. It can be pickled, and then holds what a saved one does:
    every quantity by name, and native code is made again where dense output is asked for.

    Attributes
    ----------
    t : array (nt,)
    y : array (n_state, nt)
    outcome : Outcome
    message : str
        How the run ended, and the diagnostics behind it, in sentences.
    diagnostics : tuple of str
        What limits the accuracy of the motion, a sentence each. Files of versions before 0.2 have
        them in the message alone.
    t_events, y_events : lists of arrays
        Times (k,) and states (k, n_state) of each event.
    impacts : tuple of (time, constraint name)
    modes : tuple of (time, contact, mode, reason)
        When and why contacts opened, closed, stuck or slipped.
    switches : tuple of (time, sentence)
        Where other independent velocities were chosen.
    state : tuple of symbols
        The symbols of y: those of the form, with all velocities where it keeps only the independent
        ones.
    start, start_report : the consistent start that was used, and what was completed or moved for it
    statistics : dict
    call : mapping
        What the run was asked to do and what it was made with, as plain data; `dalembert.rerun`
        repeats it.
    samples : SampleTable or None
        What a sampled law measured and commanded.

    Examples
    --------
    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> free = da.System(coordinates=[x], kinetic=x.dot**2/2)
    >>> motion = da.simulate(free, {x.dot: 2.0}, (0, 1), at=[0, 0.5, 1])
    >>> motion["x"].round(12).tolist()
    [0.0, 1.0, 2.0]
    """

    equations: Equations
    parameters: Mapping[str, float]
    t: Array
    y: Array
    segments: tuple[Segment, ...] = field(repr=False)
    owner: Any = field(repr=False)
    termination: Termination
    event_names: tuple[str, ...] = ()
    t_events: list[Array] = field(default_factory=list)
    y_events: list[Array] = field(default_factory=list)
    impacts: tuple[tuple[float, str], ...] = ()
    modes: tuple[ContactChange, ...] = ()
    switches: tuple[tuple[float, str], ...] = ()
    state: tuple[Any, ...] = ()
    start: Mapping[str, float] = field(default_factory=dict)
    start_report: tuple[str, ...] = ()
    statistics: dict[str, Any] = field(default_factory=dict)
    scenario: Scenario | None = field(default=None, repr=False)
    call: Mapping[str, Any] = field(default_factory=dict, repr=False)
    computed: Computed | None = field(default=None, repr=False)
    samples: SampleTable | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        from .storage.stored_motion import without_native_code

        state = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"segments": without_native_code(self), "computed": self._computed()}

    def __copy__(self) -> Motion:
        """The same arrays, which cannot be changed, in tables that can."""
        tables = {
            name: deepcopy(getattr(self, name))
            for name in ("parameters", "start", "statistics", "call")
        }
        return replace(self, computed=self._computed(), **tables)

    def __deepcopy__(self, _: Any) -> Motion:
        return self.__copy__()

    def _computed(self) -> Computed:
        """What every named quantity is read off."""
        return Computed(self._observed, self._own_symbols, self.columns.energies())

    def __repr__(self) -> str:
        reach = (
            f"t = {self.t[0]:g} to {self.t[-1]:g}, {len(self.t)} points"
            if len(self.t)
            else "no points"
        )
        return (
            f"<Motion of {self.system.name}: {self.outcome.value}, {reach}, form"
            f" {self.equations.form}>"
        )

    # -- SciPy's names -----------------------------------------------------------------------------

    @property
    def system(self) -> System:
        """The system that moved."""
        return self.equations.system

    @property
    def outcome(self) -> Outcome:
        """How the run ended."""
        return self.termination.outcome

    @property
    def message(self) -> str:
        """How the run ended, and its diagnostics, in sentences."""
        return self.termination.message

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """What limits the accuracy of the motion, a sentence each."""
        return self.termination.diagnostics

    @property
    def success(self) -> bool:
        """Whether the run reached its end or an event that was to stop it."""
        return self.outcome.is_success

    @property
    def status(self) -> int:
        """SciPy's code: 0 finished, 1 stopped by an event, -1 failed."""
        return {Outcome.FINISHED: 0, Outcome.STOPPED: 1}.get(self.outcome, -1)

    @property
    def nfev(self) -> int:
        """The number of evaluations of the right-hand side."""
        return int(self.statistics.get("nfev", 0))

    def sol(self, t: ArrayLike) -> Array:
        """Dense output: the state at any time of the motion, (n_state,) or (n_state, ...)."""
        from .dense import dense_states

        return dense_states(self, t)

    # -- by name -----------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> Columns:
        """Every named quantity as an array (nt,)."""
        system, observed = self.system, self._observed
        table: dict[str, Any] = {"t": self.t}
        table |= {symbol.name: self.y[k] for k, symbol in enumerate(self.state)}
        table |= self._own_symbols
        for key, symbols in (("velocities", system.velocities), ("momenta", system.momenta)):
            for k, symbol in enumerate(symbols):
                table.setdefault(symbol.name, observed[key][k])
        for k, q in enumerate(system.coordinates):
            table[q.ddot.name] = observed["accelerations"][k]
        if "energy" in getattr(system, "integrals", ("energy",)):  # only flows may have none
            table["energy"] = observed["energy"][0]
        for name in system.outputs:
            table[name] = observed[f"output {name}"][0]
        for symbol in system.inputs:
            table[symbol.name] = observed[f"input {symbol}"][0]
        return Columns(self, {name: read_only(values) for name, values in table.items()})

    @property
    def own_names(self) -> tuple[str, ...]:
        """The symbols that only the form of the equations has, such as quasi-velocities."""
        return tuple(self._own_symbols)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that ``motion[name]`` takes."""
        return tuple(self.columns)

    def __getitem__(self, key: Symbol) -> Array:
        name = getattr(key, "name", key)
        if name in getattr(self.system, "matrices", ()):
            return self._matrix(name)
        if name not in self.columns:
            raise missing_quantity(str(name), self.columns, self._forces)
        return self.columns[name]

    def _matrix(self, name: str) -> Array:
        """A matrix of a flow along the motion, (nt, rows, columns), affine in the symbols."""
        from ..model.flow_matrices import affine_coefficients

        matrix = self.system.matrices[name]  # type: ignore[attr-defined]
        found = np.zeros((len(self.t), *matrix.shape))
        for place in np.ndindex(*matrix.shape):
            found[(slice(None), *place)] = float(matrix[place].as_coeff_Add()[0])
            for symbol, derivative in affine_coefficients(matrix[place]).items():
                if symbol.free_symbols:
                    found[(slice(None), *place)] += float(derivative) * self.columns[symbol.name]
        return found

    @property
    def energy(self) -> Array:
        """The energy p . q_dot - L, or H, along the motion, (nt,)."""
        return self["energy"] if self._energies is None else self._energies

    @cached_property
    def _energies(self) -> Array | None:
        return energies_without_solve(self) if self.computed is None else None

    @cached_property
    def reactions(self) -> Mapping[str, Reaction]:
        """The reaction of each constraint by name, ``motion.reactions["rolling"].force``."""
        observed, none = self._observed, np.zeros((0, len(self.t)))
        forces = self._forces
        never = dict.fromkeys((c.name for c in self.system.unilateral), np.zeros((1, len(self.t))))
        if self.system.unilateral and self.stepped_forces is not None:
            normal = {c.name for c in self.system.unilateral if c.is_one_sided}
            never |= {name: -self.stepped_forces[name][:1] for name in normal}
        multipliers = {
            name: observed.get(f"multiplier {name}", never.get(name, none)) for name in forces
        }
        return Reactions(len(self.system.coordinates), forces, multipliers)

    @cached_property
    def stepped_forces(self) -> Mapping[str, Array] | None:
        """Normal force and friction of each contact by time steps; None for other methods."""
        from .contact.contact_history import stepped_forces

        is_stepped = find_method(self.statistics["method"]).steps_contacts
        return stepped_forces(self) if is_stepped else None

    @cached_property
    def contacts(self) -> Mapping[str, ContactHistory]:
        """Each contact by name: ``motion.contacts["floor"].normal``, its gap, slip and friction."""
        from .contact.contact_history import contact_history

        return {c.name: contact_history(self, c) for c in self.system.unilateral}

    @cached_property
    def _forces(self) -> dict[str, ReactionForce]:
        """What was observed of each reaction."""
        prefix, places = "reaction ", dict[str, list[int]]()
        blocks = {
            key.removeprefix(prefix): block
            for key, block in self._observed.items()
            if key.startswith(prefix)
        }
        if any(0 < len(block) < len(self.system.coordinates) for block in blocks.values()):
            for segment in reversed(self.segments):
                large = segment.context.kernel.large
                places |= large.reaction_places if large is not None else {}
        forces = {name: ReactionForce(block, places.get(name)) for name, block in blocks.items()}
        nowhere = ReactionForce(np.zeros((0, len(self.t))), [])
        if self.system.unilateral and self.stepped_forces is not None:
            from .contact.contact_history import stepped_reaction

            stepped = {c.name: stepped_reaction(self, c) for c in self.system.unilateral}
            return forces | {name: ReactionForce(force, None) for name, force in stepped.items()}
        return forces | dict.fromkeys(self._never_closed, nowhere)

    @property
    def _never_closed(self) -> list[str]:
        """The one-sided constraints that never close along the motion: their reaction is zero."""
        return [
            c.name for c in self.system.unilateral if f"reaction {c.name}" not in self._observed
        ]

    @property
    def total_reaction(self) -> Array:
        """The generalised force of all constraints together, (n, nt)."""
        total = np.zeros((len(self.system.coordinates), len(self.t)))
        for force in self._forces.values():
            if force.places is None:
                total += force.entries
            else:
                np.add.at(total, force.places, force.entries)
        return total

    @cached_property
    def residuals(self) -> Residuals:
        """What is left of each constraint at position and at velocity level."""
        position, velocity = (self._observed[f"{k} residual"] for k in ("position", "velocity"))
        return Residuals(
            {name: position[k] for k, name in enumerate(_holonomic(self.system))},
            {name: velocity[k] for k, name in enumerate(_bilateral(self.system))},
        )

    @property
    def worst_residual(self) -> dict[str, float]:
        """The largest residual at each level; 0 where there is none."""
        tables = {"position": self.residuals.position, "velocity": self.residuals.velocity}
        return {
            level: float(max((np.max(np.abs(v)) for v in table.values() if len(v)), default=0.0))
            for level, table in tables.items()
        }

    @cached_property
    def _observed(self) -> Mapping[str, Array]:
        """Everything observed, (k, nt) by key; what a mode does not have is zero there."""
        if self.computed is not None:
            return self.computed.observed
        began = perf_counter()
        parts: dict[str, Any] = {}
        count = len(self.t)
        for number, segment in enumerate(self.segments):
            where = np.flatnonzero(self.owner == number)
            kernel = segment.context.kernel
            inputs = np.zeros((len(where), len(kernel.free_inputs)))
            values, _ = segment.context.observe(
                np.ascontiguousarray(self.t[where]), self._states[number], inputs
            )
            table = {
                key: values[:, place].T
                for key, place in kernel.observed.items()
                if key != "multipliers"
            }
            multipliers = values[:, kernel.observed["multipliers"]].T
            table |= {
                f"multiplier {n}": multipliers[k : k + 1]
                for k, n in enumerate(kernel.multiplier_names)
            }
            table |= {
                f"input {s}": inputs[:, k : k + 1].T for k, s in enumerate(kernel.free_inputs)
            }
            for key, symbols in (
                ("position residual", _holonomic),
                ("velocity residual", _bilateral),
            ):
                present = symbols(kernel.equations.system)
                table[key] = table[key][[present.index(name) for name in symbols(self.system)]]
            for key, block in table.items():
                parts.setdefault(key, np.zeros((block.shape[0], count)))[:, where] = block
        self.statistics["observe_seconds"] = perf_counter() - began
        return {key: read_only(block) for key, block in parts.items()}

    @cached_property
    def _states(self) -> list[Any]:
        """For each segment its part of the motion in the symbols of the form, (points, n)."""
        found = []
        for number, segment in enumerate(self.segments):
            where = np.flatnonzero(self.owner == number)
            found.append(
                np.ascontiguousarray(own_states(segment.context, self.t[where], self.y[:, where].T))
            )
        return found

    @cached_property
    def _own_symbols(self) -> Mapping[str, Array]:
        """Symbols that only the form has, such as quasi-velocities; nan if a segment has others."""
        if self.computed is not None:
            return self.computed.own_symbols
        found: dict[str, Any] = {}
        if self.equations.rechoose is None:
            return found
        shown = {symbol.name for symbol in self.state}
        for number, (segment, states) in enumerate(zip(self.segments, self._states, strict=True)):
            where = np.flatnonzero(self.owner == number)
            for k, symbol in enumerate(segment.context.kernel.equations.state):
                if symbol.name not in shown:
                    column = found.setdefault(symbol.name, np.full(len(self.t), np.nan))
                    column[where] = states[:, k]
        return found

    # -- elsewhere ---------------------------------------------------------------------------------

    def to_xarray(self) -> xarray.Dataset:
        """An `xarray.Dataset` over time, with parameters, model and versions as attributes."""
        from .storage.save import to_xarray

        return to_xarray(self)

    def to_dataframe(self) -> Any:
        """A pandas `DataFrame` with time as index."""
        from .storage.save import to_dataframe

        return to_dataframe(self)

    def save(self, path: Path) -> None:
        """Write a netCDF file with everything needed to read the motion back; see `load`."""
        from .storage.save import save

        save(self, path)


def _bilateral(system: System) -> list[str]:
    """The names of the two-sided constraints, in the order of their residuals."""
    return [c.name for c in system.bilateral]


def _holonomic(system: System) -> list[str]:
    return [c.name for c in system.bilateral if c.is_position_level]


def load(path: Path) -> Motion:
    """Read a motion that `Motion.save` wrote.

    >>> import dalembert as da, tempfile
    >>> motion = da.simulate(da.gallery.load("chaplygin-sleigh"), span=(0, 1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     motion.save(f"{folder}/sleigh.nc")
    ...     again = load(f"{folder}/sleigh.nc")
    >>> bool((again["theta"] == motion["theta"]).all())
    True
    """
    from .storage.save import load as read

    return read(path)
