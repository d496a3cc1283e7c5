"""Facts about a system that take a moment: rank, forms that apply, what its motions keep."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from typing import Any, TypeVar

from ...analysis.anatomy import GENERIC, Anatomy, common, read_model, take_apart
from ...analysis.overview.conserved import conserved_momenta, energy_verdict
from ...errors import DalembertError, FormError
from ...formulations.forms.flow import FORM
from ...formulations.registry import default_form, fastest_form, find_form, forms
from ...model.flow_system import Flow
from ...model.scenario import Scenario
from ...model.system import System
from ...runtime.gauss.constrained_solve import rank
from .scenarios import RecentItems

__all__ = ["character_of", "conserved_of"]

#: No rank and no forms are worked out, at every keystroke, for systems with more coordinates.
MOST_ANALYSED = 30
#: Seconds of processor time in which forms are tried, and those whose search is long, last.
FORM_SECONDS = 0.5
SLOW_FORMS = ("poincare-chetaev",)
#: Momenta that are kept are not looked for, at every run, among products of more parameters.
MOST_PARAMETERS = 12
#: States at which a rank is taken.
STATES = 3

Found = TypeVar("Found")
#: A system, and something about it.
_found = RecentItems[tuple[System | Flow, Any]](64)


def _kept(what: str, scenario: Scenario, find: Callable[[Scenario], Found], numbers: bool) -> Found:
    """Something about a system, found once, or once for each set of parameters with `numbers`."""
    system = scenario.system
    key = (what, id(system), tuple(scenario.parameters.values()) if numbers else ())
    entry = _found.get(key)
    if entry is None or entry[0] is not system:
        entry = _found.put(key, (system, find(scenario)))
    found: Found = entry[1]
    return found


def character_of(scenario: Scenario) -> dict[str, Any]:
    """Rank, freedom, forms, and notes on them."""
    system: Any = scenario.system
    n, stated = len(system.coordinates), scenario.simulate.get("form")
    if isinstance(system, Flow):
        offered = [{"name": FORM, "applies": True, "why": None}]
        count = len(system.constraints)
        return {
            "rank": count,
            "degrees_of_freedom": n - count,
            "forms": offered,
            "default_form": FORM,
            "notes": [],
        }
    notes = []
    if any(value is None for value in system.inputs.values()):
        notes.append("A free input has no value here: write an expression for it to run the model.")
    if n > MOST_ANALYSED:
        notes.append(
            f"Rank and forms are not worked out for more than {MOST_ANALYSED} coordinates."
        )
        chosen = stated or default_form(system)
        offered = [{"name": chosen, "applies": True, "why": None}]
        return {
            "rank": None,
            "degrees_of_freedom": None,
            "forms": offered,
            "default_form": chosen,
            "notes": notes,
        }
    independent, note = _kept("rank", scenario, _rank, numbers=True)
    return {
        "rank": independent,
        "degrees_of_freedom": None if independent is None else n - independent,
        "forms": _kept("forms", scenario, lambda scenario: _forms(scenario.system), numbers=False),
        "default_form": (
            stated
            or (default_form(system) if "atol" in scenario.simulate else fastest_form(system))
        ),
        "notes": [*notes, *note],
    }


def _rank(scenario: Scenario) -> tuple[int | None, list[str]]:
    """The rank of the constraints at generic states, and what there is to say about it."""
    try:
        anatomy = _anatomy(scenario)
    except DalembertError as error:
        return None, [str(error)]
    independent = common(rank(rows, GENERIC).rank for rows in anatomy.every_row)
    if independent < max(len(rows) for rows in anatomy.every_row):
        return independent, [
            "Some constraints depend on each other: reactions are those of least norm."
        ]
    return independent, []


def _anatomy(scenario: Scenario) -> Anatomy:
    return take_apart(*read_model(scenario, None, None), n=STATES)


def _forms(system: System) -> list[dict[str, Any]]:
    """Every form with the hypothesis that fails; those that a large system left no time for are
    offered untried.
    """
    found: dict[Any, dict[str, Any]] = {}
    ends = clock.process_time() + FORM_SECONDS
    for name in sorted(forms(), key=SLOW_FORMS.count):
        form = find_form(name)
        if form in found:  # another name for the same form
            continue
        entry: dict[str, Any] = {"name": name, "applies": True, "why": None}
        if clock.process_time() < ends:
            try:
                form.hypotheses(system)
            except FormError as error:
                entry |= {"applies": False, "why": str(error)}
        found[form] = entry
    order = list(forms())
    return sorted(found.values(), key=lambda entry: order.index(entry["name"]))


def conserved_of(scenario: Scenario) -> list[tuple[str, Any]]:
    """What a motion keeps, by name, as expressions; None stands for the energy."""
    system: Any = scenario.system
    if isinstance(system, Flow):
        return [
            (name, None if name == "energy" else value) for name, value in system.integrals.items()
        ]
    return list(_kept("laws", scenario, _laws, numbers=True))


def _laws(scenario: Scenario) -> list[tuple[str, Any]]:
    try:
        anatomy = _anatomy(scenario)
        found: list[tuple[str, Any]] = (
            [("energy", None)] if energy_verdict(anatomy).is_proved else []
        )
        if len(scenario.parameters) > MOST_PARAMETERS:
            return found
        return found + [
            (item.name, item.expression)
            for item in conserved_momenta(anatomy)
            if item.status == "proved"
        ]
    except DalembertError:  # the list is an extra of the page
        return []
