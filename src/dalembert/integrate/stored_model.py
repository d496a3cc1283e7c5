"""A compiled model on disk: what a run needs that was made once before, without expressions.

The record is plain data under a key that stands for all it was made from, signed like object code
(`codegen.object_cache`). `StoredModel` answers the questions that a run, and those who print its
motion, ask of a System, its Equations and its Kernel, by names where these have symbols. Only
ordinary runs are stored: one segment of steps that a tolerance chose, in which nothing was decided
on the way; everything else is made from the model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..codegen.backends.llvm import store, stored
from ..model.cache import Cache
from ..runtime.stored_kernel import NotStoredError, StoredKernel, written_kernel
from .energy_columns import energy_names
from .events.watches import CONTROLLED, RowWatch, has_unwatched_rows, row_watch
from .outcome import Outcome
from .task_record import Task

if TYPE_CHECKING:
    from ..typing import Array
    from .motion import Motion

__all__ = ["StoredModel", "StoredSymbol", "keep_model", "stored_model"]

#: The method whose programs are all in the code of the kernel.
METHOD = "dop853"
#: A record that is longer is not read.
MOST_CHARACTERS = 10_000_000


@dataclass(frozen=True)
class StoredSymbol:
    """A symbol by its name; a coordinate has further ones for its derivatives and its momentum."""

    name: str

    def __str__(self) -> str:
        return self.name

    @property
    def dot(self) -> StoredSymbol:
        """The velocity of this coordinate."""
        return StoredSymbol(f"{self.name}_dot")

    @property
    def ddot(self) -> StoredSymbol:
        """The acceleration of this coordinate."""
        return StoredSymbol(f"{self.name}_ddot")

    @property
    def momentum(self) -> StoredSymbol:
        """The canonical momentum of this coordinate."""
        return StoredSymbol(f"p_{self.name}")


@dataclass(frozen=True)
class StoredConstraint:
    """A two-sided constraint by its name."""

    name: str
    is_position_level: bool


@dataclass(frozen=True, eq=False)
class StoredSystem:
    """The names of a system, and what is told of it."""

    name: str
    coordinates: tuple[StoredSymbol, ...]
    velocities: tuple[StoredSymbol, ...]
    momenta: tuple[StoredSymbol, ...]
    parameters: tuple[StoredSymbol, ...]
    inputs: Mapping[StoredSymbol, bool]
    outputs: tuple[str, ...]
    bilateral: tuple[StoredConstraint, ...]
    is_hamiltonian: bool
    kinetic: bool | None
    integrals: tuple[str, ...]
    cache: Cache
    unilateral: tuple[StoredConstraint, ...] = ()


@dataclass(frozen=True, eq=False)
class StoredEquations:
    """The symbols and properties of a form; `rechoose` says whether it keeps some velocities."""

    system: StoredSystem
    form: str
    state: tuple[StoredSymbol, ...]
    rechoose: bool | None


@dataclass(frozen=True)
class StoredScenario:
    """Where a model comes from."""

    source: str


@dataclass(frozen=True)
class StoredModel:
    """A model as it was compiled for a call, and the start of that call.

    Attributes
    ----------
    call : mapping
        What the run was asked to do, as `Motion.call` has it.
    start : array (n_state,)
        The consistent start, in the symbols of the form.
    report : list of str
        What was completed or moved for it.
    """

    kernel: StoredKernel
    equations: StoredEquations
    call: dict[str, Any]
    parameters: Array
    start: Array
    report: list[str]
    scenario: StoredScenario | None = field(default=None)

    def task(self, progress: Callable[[float, float], None] | None) -> Task:
        """The task that the call asked for."""
        call = self.call
        equations: Any = self.equations
        scenario: Any = self.scenario
        return Task(
            equations=equations,
            parameters=self.parameters,
            start=call["start"],
            span=(call["span"][0], call["span"][1]),
            at=call["at"],
            events=(),
            inputs={},
            method=call["method"],
            rtol=call["rtol"],
            atol=np.array(call["atol"]),
            project=call["project"],
            project_start=call["project_start"],
            max_step=np.inf if call["max_step"] is None else call["max_step"],
            first_step=call["first_step"],
            max_steps=call["max_steps"],
            progress=progress,
            scenario=scenario,
            method_reason=call["method_reason"],
            through_singular=call["through_singular"],
        )


# -- writing ---------------------------------------------------------------------------------------


def keep_model(key: str, motion: Motion, told: Mapping[str, str]) -> bool:
    """Store the model behind a motion under a key, if its run was an ordinary one.

    `told` are sentences about the system that are found in its expressions.
    """
    if not _is_ordinary(motion):
        return False
    text = json.dumps(_written(motion, told))
    if len(text) <= MOST_CHARACTERS:
        store(key, text.encode())
    return len(text) <= MOST_CHARACTERS


def _is_ordinary(motion: Motion) -> bool:
    """Whether nothing but steps made a motion, so that its kernel makes it again."""
    from ..formulations.constraint_jacobian import rank_is_assumed
    from .events.stop_times import has_stops, model_switches
    from .termination import leaves_rows_out

    decided = (motion.impacts, motion.modes, motion.switches, motion.event_names, motion.samples)
    if motion.outcome is not Outcome.FINISHED or len(motion.segments) != 1 or any(decided):
        return False
    call, segment, system = motion.call, motion.segments[0], motion.system
    kernel = segment.context.kernel
    if call["functions"] or call["tables"] or call["method"] != METHOD or segment.interpolated:
        return False
    if system.unilateral or kernel.free_inputs or segment.context.fields.n_events:
        return False
    if "generic rank" in system.cache and rank_is_assumed(system):
        return False
    equations = kernel.equations
    is_partial = leaves_rows_out(equations) or getattr(system, "matrices", None)
    is_unusual = has_stops(kernel) or model_switches(kernel) or has_unwatched_rows(kernel)
    return not (is_partial or is_unusual)


def _written(motion: Motion, told: Mapping[str, str]) -> dict[str, Any]:
    segment, system = motion.segments[0], motion.system
    kernel, arrays = segment.context.kernel, {"at", "atol"}
    watch = row_watch(kernel)
    call = {name: value for name, value in motion.call.items() if name not in arrays}
    at, atol = motion.call["at"], motion.call["atol"]
    call |= {"at": None if at is None else list(map(float, at)), "atol": list(map(float, atol))}
    return {
        "kernel": written_kernel(kernel),
        "watch": None if watch is None else [watch.entries, list(watch.numbers)],
        "controlled": kernel.cache.get(CONTROLLED, lambda: True),  # known since the run began
        "form": motion.equations.form,
        "state": [s.name for s in kernel.equations.state],
        "rechoose": kernel.equations.rechoose is not None,
        "system": {
            "name": system.name,
            "coordinates": [q.name for q in system.coordinates],
            "velocities": [v.name for v in system.velocities],
            "momenta": [p.name for p in system.momenta],
            "parameters": list(motion.parameters),
            "inputs": [u.name for u in system.inputs],
            "outputs": list(system.outputs),
            "bilateral": [[c.name, c.is_position_level] for c in system.bilateral],
            "is_hamiltonian": bool(system.is_hamiltonian),
            "has_kinetic": getattr(system, "kinetic", None) is not None,
            "integrals": list(getattr(system, "integrals", ("energy",))),
            "energy_names": list(energy_names(motion)),
        },
        "told": dict(told),
        "call": call,
        "parameters": segment.context.parameters.tolist(),
        "start": segment.step_y[0].tolist(),
        "report": list(motion.start_report),
        "source": None if motion.scenario is None else motion.scenario.source,
    }


# -- reading ---------------------------------------------------------------------------------------


def stored_model(key: str) -> StoredModel | None:
    """The model under a key; None where there is none that can be read."""
    data = stored(key)
    if data is None or len(data) > MOST_CHARACTERS:
        return None
    try:
        return _read(json.loads(data))
    except (KeyError, TypeError, ValueError, IndexError, RecursionError, NotStoredError):
        return None


def _read(data: Mapping[str, Any]) -> StoredModel:
    stated, call = data["system"], dict(data["call"])
    symbols = {
        name: tuple(map(StoredSymbol, stated[name]))
        for name in ("coordinates", "velocities", "momenta", "parameters", "inputs")
    }
    cache = Cache("system")
    system = StoredSystem(
        name=str(stated["name"]),
        coordinates=symbols["coordinates"],
        velocities=symbols["velocities"],
        momenta=symbols["momenta"],
        parameters=symbols["parameters"],
        inputs=dict.fromkeys(symbols["inputs"], True),
        outputs=tuple(stated["outputs"]),
        bilateral=tuple(StoredConstraint(*pair) for pair in stated["bilateral"]),
        is_hamiltonian=bool(stated["is_hamiltonian"]),
        kinetic=True if stated["has_kinetic"] else None,
        integrals=tuple(stated["integrals"]),
        cache=cache,
    )
    for name, value in (("energy names", tuple(stated["energy_names"])), *data["told"].items()):
        cache.get(name, lambda value=value: value)  # type: ignore[misc]
    state = tuple(map(StoredSymbol, data["state"]))
    equations = StoredEquations(system, data["form"], state, data["rechoose"] or None)
    kernel = StoredKernel(data["kernel"], equations)
    controlled, watch = bool(data["controlled"]), None
    if data["watch"] is not None:
        entries, numbers = data["watch"]
        watch = RowWatch(kernel.address("row_watch"), int(entries), tuple(numbers))
    kernel.cache.get("row watch", lambda: watch)
    kernel.cache.get("unwatched rows", lambda: None)
    kernel.cache.get(CONTROLLED, lambda: controlled)
    call["at"] = None if call["at"] is None else np.array(call["at"], dtype=float)
    source = data["source"]
    return StoredModel(
        kernel, equations, call, np.array(data["parameters"], dtype=float),
        np.array(data["start"], dtype=float), list(data["report"]),
        None if source is None else StoredScenario(str(source)),
    )  # fmt: skip
