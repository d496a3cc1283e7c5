"""The scenario that a request means, and what is kept of models between requests.

Parameters, start and options are numbers around a system: while only they change, the system stays
the same object, with all that was derived and compiled from it.
"""

from __future__ import annotations

import json
import re
import tomllib
import warnings
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Generic, TypeVar

from ...errors import DalembertWarning, ModelError, nearest
from ...gallery import load
from ...integrate.methods.table import AUTO, fixed_methods
from ...model.drawing import drawing_of
from ...model.flow_system import Flow
from ...model.io.files import is_robot_text, loads
from ...model.scenario import Scenario
from ...model.system import System

__all__ = [
    "RecentItems",
    "configured",
    "dimension_of",
    "options_of",
    "reading_warnings",
    "scenario_of",
    "span_of",
    "start_names",
]

#: Tables of a model file that hold numbers around the system.
AROUND = ("source", "summary", "start", "simulate", "drawing")
#: Systems that are kept.
MOST_KEPT = 12
#: For a model that does not say from when to when.
DEFAULT_SPAN = (0.0, 10.0)


Value = TypeVar("Value")


class RecentItems(Generic[Value]):
    """The last few values by key."""

    def __init__(self, most: int) -> None:
        self._most, self._items = most, OrderedDict[Hashable, Value]()

    def get(self, key: Hashable) -> Value | None:
        """The value of a key, or None."""
        if key in self._items:
            self._items.move_to_end(key)
        return self._items.get(key)

    def put(self, key: Hashable, value: Value) -> Value:
        """Keep a value; the oldest goes."""
        self._items[key] = value
        self._items.move_to_end(key)
        while len(self._items) > self._most:
            self._items.popitem(last=False)
        return value


_built_in = RecentItems[Scenario](MOST_KEPT)
_plain = RecentItems[Scenario](MOST_KEPT)
_warnings = RecentItems[tuple[str, ...]](MOST_KEPT)
_systems, _scenarios = RecentItems[System | Flow](MOST_KEPT), RecentItems[Scenario](MOST_KEPT)


def scenario_of(request: dict[str, Any]) -> Scenario:
    """The scenario with the values of a request in place of its own.

    >>> found = scenario_of(
    ...     {"system": "rolling-disk", "parameters": {"m": 2.0}, "start": {"x": 1.0}}
    ... )
    >>> found.parameters["m"], found.start["x"]
    (2.0, 1.0)
    """
    parameters = request.get("parameters") or {}
    scenario = _read(request, parameters)
    _check_parameters(scenario, parameters)
    return scenario.replacing(start=_started(scenario, request.get("start") or {}))


def reading_warnings(request: dict[str, Any]) -> tuple[str, ...]:
    """What there was to say when the text of a request was last read."""
    return _warnings.get(request.get("text")) or ()


def _read(request: dict[str, Any], parameters: dict[str, float]) -> Scenario:
    if "text" not in request:
        name = request["system"]
        scenario = _built_in.get(name) or _built_in.put(name, load(name))
        own = {key: value for key, value in parameters.items() if key in scenario.parameters}
        return scenario.replacing(parameters={**scenario.parameters, **own})
    stated = (request["text"], tuple(sorted(parameters.items())))
    read = _scenarios.get(stated)
    if read is not None:
        return read
    plain = _plain.get(request["text"])
    if plain is not None:
        own = {key: value for key, value in parameters.items() if key in plain.parameters}
        return plain.replacing(parameters={**plain.parameters, **own})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", DalembertWarning)
        scenario = loads(request["text"], parameters, folder=request.get("folder"))
        plain = None
        if _is_plain(request["text"]):
            plain = loads(request["text"]) if parameters else scenario
    _warnings.put(
        request["text"],
        tuple(str(each.message) for each in said if isinstance(each.message, DalembertWarning)),
    )
    key = _key(request["text"])
    system = _systems.get(key)
    if system is None:
        _systems.put(key, scenario.system)
    else:
        scenario = scenario.replacing(system=system)
    _scenarios.put(stated, scenario)
    if plain is not None:
        _plain.put(request["text"], plain.replacing(system=scenario.system))
    return scenario


def _is_plain(text: str) -> bool:
    """Whether values of parameters change nothing else: no number of the text is an expression of
    them.
    """
    if is_robot_text(text):
        return False
    table = tomllib.loads(text)
    parameters = table.get("parameters", {})
    numbers = json.dumps([table.get("start", {}), table.get("simulate", {})], default=str)
    return not any(
        isinstance(value, str) for value in parameters.values()
    ) and parameters.keys().isdisjoint(re.findall(r"\w+", numbers))


def _key(text: str) -> str:
    """The text of a model without numbers around it: parameter names, and all that states it."""
    if is_robot_text(text):
        return text
    table = tomllib.loads(text)
    parameters = list(table.pop("parameters", {}))
    stated = {key: value for key, value in table.items() if key not in AROUND}
    return json.dumps([parameters, stated], sort_keys=False, default=str)


def _check_parameters(scenario: Scenario, parameters: dict[str, float]) -> None:
    known = {*scenario.parameters, *(symbol.name for symbol in scenario.system.parameters)}
    for name in parameters:
        if name not in known:
            near = nearest(name, known)
            remedy = f"did you mean {near}" if near else "leave it out"
            raise ModelError(
                f"The model has no parameter `{name}`", ", ".join(sorted(known)) or "none", remedy
            )


def start_names(scenario: Scenario) -> list[str]:
    """The names that a start may give, in order: coordinates, what moves them, and multipliers of
    vakonomic forms.
    """
    system = scenario.system
    names = [q.name for q in system.coordinates]
    if isinstance(system, Flow):
        return names
    names += [
        symbol.name for symbol in (system.momenta if system.is_hamiltonian else system.velocities)
    ]
    if system.image is not None:
        names += [speed.name for speed in system.image.speeds]
    if scenario.simulate.get("form") == "vakonomic":
        names += [f"chi_{constraint.name}" for constraint in system.bilateral]
    return names


def _started(scenario: Scenario, given: dict[str, float | None]) -> dict[str, float]:
    """The start with other values; None takes one away. A velocity takes the place of its momentum,
    and the other way round.
    """
    references: dict[str, str] = {}
    if not isinstance(scenario.system, Flow):
        references = {q.dot.name: q.momentum.name for q in scenario.system.coordinates}
        references |= {momentum: velocity for velocity, momentum in references.items()}
    start = dict(scenario.start)
    for name, value in given.items():
        start.pop(references.get(name, ""), None)
        if value is None:
            start.pop(name, None)
        else:
            start[name] = value
    return start


def options_of(request: dict[str, Any]) -> dict[str, Any]:
    """What the request itself says about how to simulate, as arguments of `simulate`."""
    return {
        key: request[key]
        for key in ("span", "form", "method", "rtol", "step")
        if request.get(key) is not None
    }


def span_of(scenario: Scenario, request: dict[str, Any]) -> tuple[float, float]:
    """From when to when: as asked for, as the model says, or ten seconds."""
    first, last = request.get("span") or scenario.simulate.get("span") or DEFAULT_SPAN
    return float(first), float(last)


def configured(scenario: Scenario, request: dict[str, Any]) -> Scenario:
    """The scenario that repeats a run when it is written as a model file: what was asked for is
    among its own options.
    """
    options = {key: value for key, value in scenario.simulate.items() if key != "at"} | options_of(
        request
    )
    options["span"] = span_of(scenario, request)
    if options.get("method") != AUTO:
        wrong = (
            ("rtol", "atol")
            if options.get("method") in fixed_methods()
            else ("step", "every", "adapt")
        )
        options = {key: value for key, value in options.items() if key not in wrong}
    return scenario.replacing(simulate=options)


def dimension_of(scenario: Scenario) -> int | None:
    """2 or 3 for a scenario that can be drawn."""
    drawing = drawing_of(scenario, scenario.system)
    return drawing.dimension if drawing is not None and drawing.shapes else None
