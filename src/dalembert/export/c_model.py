"""The names and default values that exported code shows to its callers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..errors import ModelError
from ..model.names import shortened
from ..runtime.kernel import Kernel
from .c_names import export_word, identifier, identifiers, is_taken
from .export_task import ExportTask
from .run_in_c import STATUSES

__all__ = ["CModel", "ObservedField", "c_model"]

#: Constants of the header, which symbols of the state must not be called: sizes, statuses, its
#: guard and that of the program. Characters of a name, which becomes that of files.
LONGEST_NAME = 100
_CONSTRAINTS = ("POSITION_CONSTRAINTS", "VELOCITY_CONSTRAINTS")
SIZES = ("STATE", "INPUTS", "PARAMETERS", "UNKNOWNS", "ROWS", *_CONSTRAINTS)
CONSTANTS = frozenset({*(f"N_{word}" for word in SIZES), *STATUSES, "H", "MAIN"})


@dataclass(frozen=True)
class ObservedField:
    """One observed quantity.

    Attributes
    ----------
    field : str
        Its field in the C structure.
    name : str
        Its name in the model, such as ``reaction rolling``.
    first, size : int
        Where it stands among all that is observed.
    entries : tuple of str
        What each of its entries belongs to: a coordinate, a constraint; empty for a single number.
    """

    field: str
    name: str
    first: int
    size: int
    entries: tuple[str, ...]


@dataclass(frozen=True)
class CModel:
    """A task with the names that its text uses.

    Attributes
    ----------
    task : ExportTask
    name : str
        What every public name begins with.
    state, parameters, inputs : tuple of (str, str)
        Identifiers and names of the model.
    rows : tuple of str
        The constraints behind the multipliers.
    observed : tuple of ObservedField
    """

    task: ExportTask
    name: str
    state: tuple[tuple[str, str], ...]
    parameters: tuple[tuple[str, str], ...]
    inputs: tuple[tuple[str, str], ...]
    rows: tuple[str, ...]
    observed: tuple[ObservedField, ...]

    @property
    def head(self) -> str:
        """What every public constant begins with."""
        return self.name.upper()

    def seen(self, name: str) -> ObservedField | None:
        """An observed quantity by its name in the model, where there is one."""
        return next((quantity for quantity in self.observed if quantity.name == name), None)


def c_model(task: ExportTask, name: str | None = None) -> CModel:
    """The names of a task; `name` is that of the system by default."""
    kernel = task.kernel
    if name is not None and export_word(name) != name:
        raise ModelError(
            "The name of an export must be an identifier of C, and that of no standard file",
            shortened(name),
            f"did you mean {export_word(name)[:LONGEST_NAME]}",
        )
    word = name or export_word(kernel.equations.system.name.lower()[:LONGEST_NAME])[:LONGEST_NAME]
    if len(word) > LONGEST_NAME:
        what = f"The name of an export has at most {LONGEST_NAME} characters"
        raise ModelError(what, f"{len(word)}", "shorten it")
    inputs = _pairs([symbol.name for symbol in kernel.free_inputs])
    symbols = [symbol.name for symbol in kernel.equations.state]
    taken = CONSTANTS | {f"INPUT_{name}" for name, _ in inputs}
    taken |= {found for found in map(identifier, symbols) if is_taken(f"{word.upper()}_{found}")}
    parameters, rows = [s.name for s in kernel.parameters], tuple(kernel.multiplier_names)
    state = _pairs(symbols, taken)
    return CModel(task, word, state, _pairs(parameters), inputs, rows, _observed(kernel))


def _pairs(names: Sequence[str], taken: Iterable[str] = ()) -> tuple[tuple[str, str], ...]:
    return tuple(zip(identifiers(names, taken), names, strict=True))


def _observed(kernel: Kernel) -> tuple[ObservedField, ...]:
    """Everything that the kernel observes, and has entries."""
    system = kernel.equations.system
    coordinates = tuple(symbol.name for symbol in system.coordinates)
    places = {name: place for name, place in kernel.observed.items() if place.stop > place.start}
    found = []
    for field, (name, place) in zip(identifiers(places), places.items(), strict=True):
        size = place.stop - place.start
        kind = name.split(" ")[0]
        entries: tuple[str, ...] = ()
        if name in ("velocities", "accelerations", "momenta"):
            entries = coordinates
        elif name == "multipliers":
            entries = tuple(kernel.multiplier_names)
        elif name == "velocity residual":
            entries = tuple(constraint.name for constraint in system.bilateral)
        elif name == "position residual":
            entries = tuple(c.name for c in system.bilateral if c.is_position_level)
        elif kind == "reaction":
            entries = coordinates
            if kernel.large:
                chosen = kernel.large.reaction_places[name.removeprefix("reaction ")]
                entries = tuple(coordinates[k] for k in chosen)
        if len(entries) != size:
            entries = () if size == 1 else tuple(str(k) for k in range(size))
        found.append(ObservedField(field, name, place.start, size, entries))
    return tuple(found)
