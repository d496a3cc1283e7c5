"""The variables of a unit by value reference: time, parameters, inputs, state, rates, observed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from .c_model import CModel, ObservedField

__all__ = ["UnitVariable", "unit_variables"]


@dataclass(frozen=True)
class UnitVariable:
    """A variable as the model description lists it.

    Attributes
    ----------
    reference : int
        Its value reference.
    name, causality, variability, description : str
    initial : str or None
    start : float or None
    derivative_of : int or None
        The value reference of the state that this is the rate of.
    """

    reference: int
    name: str
    causality: str
    variability: str
    initial: str | None
    start: float | None
    description: str
    derivative_of: int | None = None


def unit_variables(model: CModel) -> tuple[UnitVariable, ...]:
    """The variables of a model; no two have the same name."""
    found: list[UnitVariable] = []
    taken: set[str] = set()
    for variable in _listed(model):
        plain = "".join(c if c.isprintable() else " " for c in variable.name)  # what XML can hold
        name, number = plain, 2
        while name in taken:
            name, number = f"{plain} ({number})", number + 1
        taken.add(name)
        found.append(replace(variable, name=name))
    return tuple(found)


def _listed(model: CModel) -> Iterator[UnitVariable]:
    task, references = model.task, count()
    assert task.parameters is not None and task.start is not None
    yield UnitVariable(next(references), "time", "independent", "continuous", None, None, "time")
    for (_, name), value in zip(model.parameters, task.parameters, strict=True):
        kind = ("parameter", "tunable", "exact", float(value), "parameter")
        yield UnitVariable(next(references), name, *kind)
    for _, name in model.inputs:
        what = "input, held over a communication step"
        yield UnitVariable(next(references), name, "input", "continuous", None, 0.0, what)
    states: list[tuple[int, str]] = []
    for (_, name), value in zip(model.state, task.start, strict=True):
        states.append((next(references), name))
        kind = ("output", "continuous", "exact", float(value), "state")
        yield UnitVariable(states[-1][0], name, *kind)
    for state, name in states:
        rate = ("local", "continuous", "calculated", None, f"rate of {name}")
        yield UnitVariable(next(references), f"der({name})", *rate, state)
    symbols = {name for _, name in model.state}
    for quantity in model.observed:
        for entry, reference in zip(quantity.entries or ("",), references, strict=False):
            name, what = _named(model, quantity, entry)
            if name not in symbols:
                causality = "local" if "residual" in quantity.name else "output"
                found = (causality, "continuous", "calculated", None, what)
                yield UnitVariable(reference, name, *found)


def _named(model: CModel, quantity: ObservedField, entry: str) -> tuple[str, str]:
    """The name of an entry of an observed quantity, and what it is."""
    system = model.task.kernel.equations.system
    kind, _, word = quantity.name.partition(" ")
    if kind in ("velocities", "momenta"):
        names = (q.name for q in system.coordinates)
        symbols = dict(zip(names, getattr(system, kind, ()), strict=False))
        if entry in symbols:
            what = "velocity" if kind == "velocities" else "momentum"
            return symbols[entry].name, f"{what} of {entry}"
    if kind == "accelerations":
        return f"{entry}_ddot", f"acceleration of {entry}"
    if kind == "multipliers":
        return f"multiplier.{entry}", f"multiplier of the constraint {entry}"
    if kind == "reaction":
        return f"reaction.{word}.{entry}", f"generalised force of the constraint {word} on {entry}"
    if kind in ("output", "input"):
        return f"{word}.{entry}" if entry else word, f"{kind} of the model"
    return f"{quantity.field}.{entry}" if entry else quantity.field, quantity.name
