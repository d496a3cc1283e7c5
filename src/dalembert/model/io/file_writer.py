"""Scenario to the text of a model file."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import ModelError
from ..constraints import Constraint, ImageConstraint
from ..constraints.kinds import inferred_kind
from ..flow_system import Flow
from ..quantities import Quantity, definitions_in
from ..scenario import Scenario
from ..system import System
from .expressions import format
from .file_drawing import drawing_sections
from .file_flows import flow_sections

if TYPE_CHECKING:
    from typing import SupportsFloat

__all__ = ["OPTIONS", "written_scenario"]

#: Key under [simulate] -> option of `simulate`.
_SAME = ("at", "rtol", "atol", "form", "method", "step", "every", "adapt", "through_singular")
OPTIONS = {"t": "span"} | {name: name for name in _SAME}


def written_scenario(scenario: Scenario, drawing: bool = True) -> str:
    """The text of a model file that states `scenario`, with its drawing unless told otherwise."""
    system: Any = scenario.system
    given = {str(key): value for key, value in scenario.parameters.items()}
    missing = [symbol.name for symbol in system.parameters if symbol.name not in given]
    if missing:
        raise ModelError(
            f"The parameters {', '.join(missing)} have no value",
            remedy="give the scenario a value for each, because a model file states them all",
        )
    symbols = {
        *given,
        *(q.name for q in system.coordinates),
        *(symbol.name for symbol in system.inputs),
    }
    speeds = (*(system.image.speeds if system.image else ()), *system.bundle)
    writer = _ModelWriter(symbols | {u.name for u in speeds})
    stated = flow_sections(system, writer.expression) if isinstance(system, Flow) else {}
    forces = {} if isinstance(system, Flow) else system.forces
    outputs = system.own_outputs if isinstance(system, Flow) else system.outputs
    quasi = {} if isinstance(system, Flow) else system.quasi_velocities
    outputs = {name: value for name, value in outputs.items() if name not in quasi}
    sections = [
        writer.head(scenario),
        *(_section(name, entries) for name, entries in stated.items()),
        _section("parameters", {name: _number(value) for name, value in given.items()}),
        _section(
            "definitions",
            {
                each.name: writer.expression(each.definition)
                for each in _definitions(scenario, drawing)
            },
        ),
        _section("forces", {q.name: writer.expression(value) for q, value in forces.items()}),
        _section(
            "inputs",
            {
                u.name: "{free = true}" if value is None else writer.expression(value)
                for u, value in system.inputs.items()
            },
        ),
        _section("outputs", {name: writer.expression(value) for name, value in outputs.items()}),
        _section(
            "quasi_velocities", {name: writer.expression(value) for name, value in quasi.items()}
        ),
        _section("image", writer.image(system.image)),
        _section(
            "bundle", {v.name: writer.expression(value) for v, value in system.bundle.items()}
        ),
        _section(
            "home", {q.name: _number(value) for q, value in getattr(system, "home", {}).items()}
        ),
        _section("start", {str(key): _number(value) for key, value in scenario.start.items()}),
        _section("simulate", _options(scenario.simulate)),
        *drawing_sections(scenario.drawing if drawing else None, writer.expression, _text, _number),
    ]
    return "\n".join(section for section in sections if section)


def _definitions(scenario: Scenario, drawing: bool) -> Iterator[Quantity]:
    """The named quantities of the system, and of its drawing where that is written."""
    drawn = scenario.drawing.expressions() if drawing and scenario.drawing is not None else ()
    return definitions_in([*scenario.system.expressions(), *drawn])


def _section(name: str, entries: Mapping[str, str]) -> str:
    lines = [f"{_key(key)} = {value}" for key, value in entries.items()]
    return "\n".join([f"[{name}]", *lines, ""]) if lines else ""


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: SupportsFloat) -> str:
    double = float(value)
    if not math.isfinite(double):
        raise ModelError(
            "A model file holds finite numbers only", seen=value, remedy="choose a finite value"
        )
    return repr(double)


def _options(options: Mapping[str, Any]) -> dict[str, str]:
    keys = {option: key for key, option in OPTIONS.items()}
    entries = {}
    for option, value in options.items():
        if option not in keys:
            raise ModelError(
                f"A model file has no place for the option `{option}`",
                remedy=f"keep to {', '.join(keys)}",
            )
        if value is None:
            continue
        if option in ("form", "method", "adapt"):
            entries[keys[option]] = _text(str(value))
        elif option in ("span", "at"):
            entries[keys[option]] = f"[{', '.join(map(_number, value))}]"
        elif isinstance(value, bool):
            entries[keys[option]] = str(value).lower()
        else:
            entries[keys[option]] = _number(value)
    return entries


class _ModelWriter:
    """Writes the expressions of a system whose symbols are `symbols`."""

    def __init__(self, symbols: Collection[str]) -> None:
        self.symbols = symbols

    def expression(self, value: sympy.Expr) -> str:
        return _text(format(value, taken=self.symbols))

    def head(self, scenario: Scenario) -> str:
        system = scenario.system
        lines = [f"name = {_text(system.name)}"]
        lines += [
            f"{key} = {_text(getattr(scenario, key))}"
            for key in ("source", "summary")
            if getattr(scenario, key)
        ]
        lines.append(f"coordinates = [{', '.join(_text(q.name) for q in system.coordinates)}]")
        if not isinstance(system, Flow):
            lines += [
                f"{key} = {self.expression(value)}" for key, value in _energies(system).items()
            ]
            if system.dissipation != 0:
                lines.append(f"dissipation = {self.expression(system.dissipation)}")
        entries = self.constraints([c for c in system.constraints if c.is_listed])
        if entries:
            lines.append("constraints = [")
            lines += [f"    {entry}," for entry in entries]
            lines.append("]")
        return "\n".join([*lines, ""])

    def constraints(self, constraints: Sequence[Constraint]) -> list[str]:
        return [
            self.constraint(constraint, f"c{k}")
            for k, constraint in enumerate(constraints, start=1)
        ]

    def constraint(self, constraint: Constraint, default_name: str) -> str:
        shown, kind = format(constraint.expression, taken=self.symbols), type(constraint)
        relation = _text(f"{shown} {constraint.relation} 0")
        entries = {"expression": relation}
        if constraint.name != default_name:
            entries["name"] = _text(constraint.name)
        stated = "at most" if constraint.is_one_sided else "equality"
        if inferred_kind(stated, constraint.expression, constraint.entry()) is not kind:
            entries["kind"] = _text(kind.kind)
        entries |= {key: self._entry(value) for key, value in constraint.entry().items()}
        if constraint.work:
            work = (
                f"{_key(q.name)} = {self.expression(value)}" for q, value in constraint.work.items()
            )
            entries["work"] = f"{{{', '.join(work)}}}"
        if len(entries) == 1:
            return relation
        return "{" + ", ".join(f"{key} = {value}" for key, value in entries.items()) + "}"

    def _entry(self, value: sympy.Expr | tuple[sympy.Expr, ...] | str) -> str:
        """What a kind of constraint states under one of its keys."""
        if isinstance(value, str):
            return _text(value)
        if isinstance(value, tuple):
            return f"[{', '.join(map(self.expression, value))}]"
        return self.expression(value)

    def image(self, image: ImageConstraint | None) -> dict[str, str]:
        if image is None:
            return {}
        entries = {"speeds": f"[{', '.join(_text(u.name) for u in image.speeds)}]"}
        if image.name != "image":
            entries["name"] = _text(image.name)
        return entries | {q.name: self.expression(value) for q, value in image.velocities.items()}


def _energies(system: System) -> dict[str, sympy.Expr]:
    if system.hamiltonian is not None:
        return {"hamiltonian": system.hamiltonian}
    stated = (
        system.energy_function if system.bundle_lagrangian is None else system.bundle_lagrangian
    )
    if system.kinetic is None or system.potential is None:
        return {"lagrangian": stated}
    kinetic = stated + system.potential if system.bundle else system.kinetic
    return {"kinetic": kinetic} | ({"potential": system.potential} if system.potential != 0 else {})
