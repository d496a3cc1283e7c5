"""The table of a model file to a scenario, with every fault collected."""

from __future__ import annotations

import graphlib
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sympy

from ...errors import DalembertError, ExpressionError, FileError, ModelError, StartError, nearest, raise_collected
from ..constraints import Constraint, ImageConstraint, UnilateralConstraint
from ..flow_system import Flow
from ..method_names import AUTO, FIXED_STEP, METHODS, unknown_method
from ..names import check_name, shortened
from ..scenario import Scenario
from ..symbols import Coordinate, Input, Momentum, Multiplier, Parameter, Speed, Velocity, t
from ..system import System
from .expressions import evaluate, parse, parse_relation
from .file_drawing import read_drawing
from .file_flows import FLOW_TABLES, check_no_energies, read_flow
from .file_writer import KINDS, OPTIONS

__all__ = ["read_scenario"]

MOST_COORDINATES = 1000
MOST_ENTRIES = 5000
MOST_FAULTS = 30

_ENERGIES = ("lagrangian", "kinetic", "potential", "hamiltonian")
_TEXTS = ("name", "source", "summary")
_TABLES = ("parameters", "forces", "inputs", "outputs", "image", "bundle", "start", "simulate", *FLOW_TABLES)
_KEYS = (*_TEXTS, "coordinates", *_ENERGIES, "constraints", "dissipation", *_TABLES, "drawing")
_CONSTRAINT_KEYS = ("expression", "name", "kind", "restitution", "work")


def read_scenario(table: Mapping[str, Any]) -> Scenario:
    """The scenario that the table of a model file states, or one error with all its faults."""
    reader = _Reader(table)
    try:
        return reader.scenario()
    except _UnreadableError:
        raise_collected(reader.faults)
        raise AssertionError("a reader stops only at faults") from None


class _UnreadableError(Exception):
    """Reading ends, because of its faults."""


class _Reader:
    """Reads one table; `faults` grows on the way."""

    def __init__(self, table: Mapping[str, Any]) -> None:
        self.table = table
        self.faults: list[DalembertError] = []
        self.symbols: dict[str, sympy.Symbol] = {"t": t}
        self.owners: dict[str, str] = {"t": "time"}
        self.values: dict[Any, float] = {}

    def scenario(self) -> Scenario:
        self._check_keys(self.table, _KEYS, "the model file")
        texts = {key: self._text(self.table[key], f"`{key}`") for key in _TEXTS if key in self.table}
        coordinates = self._names("coordinates", self.table.get("coordinates", []), MOST_COORDINATES)
        if not coordinates:
            if not self.faults:
                self._fault(FileError("The model file has no coordinates", remedy='write coordinates = ["x", ...]'))
            raise _UnreadableError
        check_no_energies(self.table, self._fault)
        tables = {key: self._table(key) for key in _TABLES}
        speeds = self._names("image.speeds", tables["image"].get("speeds", []), MOST_COORDINATES)
        self._declare(coordinates, tables, speeds)
        bundle = {Speed(name): self._expression(value, f"bundle.{name}") for name, value in tables["bundle"].items()}
        parameters = self._parameters(tables["parameters"])
        energies = {key: self._expression(self.table[key], key) for key in _ENERGIES if key in self.table}
        dissipation = self._expression(self.table.get("dissipation", 0), "dissipation")
        forces = self._by_coordinate(tables["forces"], "forces", coordinates)
        inputs = {Input(name): self._input(value, f"inputs.{name}") for name, value in tables["inputs"].items()}
        outputs = {
            name: self._expression(value, f"outputs.{name}") for name, value in tables["outputs"].items() if self._is_name(name)
        }
        constraints = self._constraints(coordinates)
        if "image" in self.table:
            constraints += self._image(tables["image"], coordinates, speeds)
        start = self._start(
            tables["start"], coordinates, [*speeds, *(s.name for s in bundle)], [constraint.name for constraint in constraints]
        )
        options = self._options(tables["simulate"])
        names = [constraint.name for constraint in constraints]
        drawing = read_drawing(self.table.get("drawing", []), self._expression, self._fault, names)
        more = {"inputs": inputs, "outputs": outputs, "drawing": drawing}
        flow = self._flow(tables, coordinates, constraints, texts, more) if "rates" in self.table else None
        if self.faults:
            raise _UnreadableError
        if flow is not None:
            return Scenario(flow, parameters, start, options, texts.get("source", ""), texts.get("summary", ""), drawing)  # type: ignore[arg-type]
        system = System(
            [Coordinate(name) for name in coordinates],
            constraints=constraints,
            forces=forces,
            dissipation=dissipation,
            inputs=inputs,
            outputs=outputs,
            bundle=bundle,
            name=texts.get("name", "system"),
            drawing=drawing,
            **energies,
        )
        return Scenario(system, parameters, start, options, texts.get("source", ""), texts.get("summary", ""), drawing)

    def _flow(
        self,
        tables: Mapping[str, Mapping[str, Any]],
        coordinates: list[str],
        constraints: list[Constraint],
        texts: Mapping[str, str],
        more: Mapping[str, Any],
    ) -> Flow | None:
        """A first-order system, stated by rates."""
        return read_flow(
            tables,
            coordinates,
            self._expression,
            self._fault,
            constraints=constraints,
            name=texts.get("name", "flow"),
            **more,
        )

    # -- faults and plain values -------------------------------------------------------------------------------------

    def _fault(self, fault: DalembertError) -> None:
        self.faults.append(fault)
        if len(self.faults) >= MOST_FAULTS:
            raise _UnreadableError

    def _attempt(self, where: str, fallback: Any, read: Callable[..., Any], *arguments: Any) -> Any:
        """What `read` gives; its fault is kept, with the place, and `fallback` given."""
        try:
            return read(*arguments)
        except ModelError as fault:
            if isinstance(fault, ExpressionError):
                fault = ExpressionError(f"In `{where}`: {fault.what}", fault.seen, fault.remedy)
            self._fault(fault)
            return fallback

    def _check_keys(self, table: Mapping[str, Any], known: Iterable[str], where: str) -> None:
        known = tuple(known)
        for key in table:
            if key not in known:
                match = nearest(key, known)
                remedy = f"the nearest known key is `{match}`" if match else f"use one of {', '.join(known[:20])}"
                self._fault(FileError(f"The key {shortened(key)} is not known in {where}", remedy=remedy))

    def _wrong_type(self, where: str, wanted: str, value: Any) -> None:
        self._fault(FileError(f"`{where}` must be {wanted}", seen=shortened(value), remedy=f"write {wanted}"))

    def _text(self, value: Any, where: str) -> str:
        if isinstance(value, str):
            return value
        self._fault(FileError(f"The {where} must be text", seen=shortened(value), remedy="put it into quotes"))
        return ""

    def _table(self, key: str) -> Mapping[str, Any]:
        value = self.table.get(key, {})
        if not isinstance(value, dict):
            self._wrong_type(key, f"a table, [{key}]", value)
            return {}
        if len(value) > MOST_ENTRIES:
            self._fault(FileError(f"The table [{key}] has more than {MOST_ENTRIES} entries", seen=len(value)))
            return {}
        return value

    def _names(self, where: str, value: Any, most: int) -> list[str]:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            self._wrong_type(where, "an array of names", value)
            return []
        if len(value) > most:
            self._fault(FileError(f"`{where}` has more than {most} names", seen=len(value), remedy="use Python"))
            return []
        for name in sorted({name for name in value if value.count(name) > 1}):
            self._fault(FileError(f"`{where}` lists {shortened(name)} twice", remedy="list each name once"))
        return list(dict.fromkeys(value))

    def _number(self, value: Any, where: str, symbols: Mapping[str, sympy.Symbol]) -> float:
        """A finite number, or a constant expression of parameters."""
        if isinstance(value, str):
            expression = self._attempt(where, sympy.Integer(1), parse, value, symbols)
            return float(self._attempt(where, 1.0, evaluate, expression, self.values))
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            self._wrong_type(where, "a number", value)
            return 1.0
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            self._fault(FileError(f"`{where}` must be finite", seen=shortened(value), remedy="choose a finite value"))
            return 1.0
        return number

    def _expression(self, value: Any, where: str) -> sympy.Expr:
        if isinstance(value, str):
            return self._attempt(where, sympy.Integer(0), parse, value, self.symbols)
        if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 1000:
            return sympy.Integer(value)
        if isinstance(value, float) and math.isfinite(value):
            return sympy.Float(value)
        self._wrong_type(where, "an expression in quotes or a finite number", value)
        return sympy.Integer(0)

    # -- the symbols -------------------------------------------------------------------------------------------------

    def _declare(self, coordinates: list[str], tables: Mapping[str, Mapping[str, Any]], speeds: list[str]) -> None:
        """Every symbol of the model with its meaning; no name may have two."""
        for name in coordinates:
            q = Coordinate(name)
            self._symbol(q, f"the coordinate {name}")
            for symbol, what in ((q.dot, "velocity"), (q.ddot, "acceleration"), (q.momentum, "momentum")):
                self._symbol(symbol, f"the {what} of {name}", checked=True)
        for kind, names in (
            (Parameter, tables["parameters"]),
            (Input, tables["inputs"]),
            (Speed, (*speeds, *tables["bundle"])),
        ):
            for name in names:
                self._symbol(kind(name), f"the {kind.__name__.lower()} {name}")
        entries = self.table.get("constraints", [])
        for number, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
            name = (entry.get("name") if isinstance(entry, dict) else None) or f"c{number}"
            for symbol in (Multiplier(f"mu_{name}"), Multiplier(f"lambda_{name}")):
                self.symbols.setdefault(symbol.name, symbol)  # known so that the system can refuse it

    def _symbol(self, symbol: sympy.Symbol, owner: str, checked: bool = False) -> None:
        name = symbol.name
        if not checked and not self._is_name(name):
            return
        if name in self.owners:
            self._fault(
                ModelError(f"The name `{name}` means both {self.owners[name]} and {owner}", remedy="rename one of them")
            )
            return
        self.symbols[name], self.owners[name] = symbol, owner

    def _is_name(self, name: str) -> bool:
        count = len(self.faults)
        self._attempt(shortened(name), None, check_name, name)
        return len(self.faults) == count

    def _parameters(self, table: Mapping[str, Any]) -> dict[str, float]:
        """Values of all parameters, those given by expressions after those they need."""
        symbols = {name: Parameter(name) for name in table if name in self.symbols}
        formulas: dict[str, sympy.Expr] = {}
        for name in symbols:
            value = table[name]
            if isinstance(value, str):
                formulas[name] = self._attempt(f"parameters.{name}", sympy.Integer(1), parse, value, symbols)
            else:
                self.values[symbols[name]] = self._number(value, f"parameters.{name}", symbols)
        needs = {name: {symbol.name for symbol in formula.free_symbols} for name, formula in formulas.items()}
        try:
            order = list(graphlib.TopologicalSorter(needs).static_order())
        except graphlib.CycleError as error:
            circle = " -> ".join(error.args[1][:10])
            self._fault(ModelError("Parameters are defined by each other", seen=circle, remedy="give one a number"))
            return {}
        for name in order:
            if name in formulas:
                value = self._attempt(f"parameters.{name}", 1.0, evaluate, formulas[name], self.values)
                self.values[symbols[name]] = value
        return {name: self.values[symbols[name]] for name in symbols}

    # -- the parts of the system -------------------------------------------------------------------------------------

    def _by_coordinate(self, table: Any, where: str, coordinates: list[str]) -> dict[str, sympy.Expr]:
        if not isinstance(table, dict):
            self._wrong_type(where, "a table by coordinate", table)
            return {}
        self._check_keys(table, coordinates, f"`{where}`, whose keys are coordinates")
        return {key: self._expression(value, f"{where}.{key}") for key, value in table.items() if key in coordinates}

    def _input(self, value: Any, where: str) -> sympy.Expr | None:
        if isinstance(value, dict) and value.keys() == {"free"} and value["free"] is True:
            return None
        return self._expression(value, where)

    def _constraints(self, coordinates: list[str]) -> list[Constraint]:
        entries = self.table.get("constraints", [])
        if not isinstance(entries, list):
            self._wrong_type("constraints", "an array of relations", entries)
            return []
        if len(entries) > MOST_COORDINATES:
            self._fault(FileError(f"There are more than {MOST_COORDINATES} constraints", seen=len(entries)))
            return []
        found = []
        for number, entry in enumerate(entries, start=1):
            where = f"constraints[{number}]"
            if isinstance(entry, str):
                entry = {"expression": entry}
            if not isinstance(entry, dict):
                self._wrong_type(where, "a relation in quotes or a table", entry)
                continue
            constraint = self._attempt(where, None, self._constraint, entry, where, coordinates)
            if constraint is not None:
                found.append(constraint.named(constraint.name or f"c{number}"))
        return found

    def _constraint(self, entry: Mapping[str, Any], where: str, coordinates: list[str]) -> Constraint | None:
        self._check_keys(entry, _CONSTRAINT_KEYS, f"`{where}`")
        text = entry.get("expression")
        if not isinstance(text, str):
            self._wrong_type(f"{where}.expression", "a relation in quotes", text)
            return None
        relation, expression = parse_relation(text, self.symbols)
        kind = entry.get("kind", self._kind(relation, expression))
        if not isinstance(kind, str) or kind not in KINDS:
            self._wrong_type(f"{where}.kind", f"one of {', '.join(KINDS)}", kind)
            return None
        if (kind == "unilateral") != (relation == "at most") and not (kind == "unilateral" and "=" not in text):
            raise ModelError(
                f"The constraint `{where}` is {kind} and its relation is not",
                seen=shortened(text),
                remedy="use <= for one-sided constraints and = for the others",
            )
        return self._stated(kind, expression, entry, where, coordinates)

    def _kind(self, relation: str, expression: sympy.Expr) -> str:
        if relation == "at most":
            return "unilateral"
        if expression.atoms(Velocity):
            return "velocity"
        return "momentum" if expression.atoms(Momentum) else "holonomic"

    def _stated(
        self, kind: str, expression: sympy.Expr, entry: Mapping[str, Any], where: str, coordinates: list[str]
    ) -> Constraint:
        name = self._text(entry.get("name", ""), f"name of `{where}`")
        if "name" in entry and not (name.isprintable() and 0 < len(name) <= 100):
            self._wrong_type(f"{where}.name", "one line of text", name)
        if kind != "unilateral":
            if "restitution" in entry:
                self._fault(FileError(f"`{where}` has a restitution and is not one-sided", remedy="state it with <= or >="))
            return KINDS[kind](expression, name, self._by_coordinate(entry.get("work", {}), f"{where}.work", coordinates))
        if "work" in entry:
            self._fault(FileError(f"`{where}` is one-sided and has work", remedy="remove work"))
        restitution = self._expression(entry.get("restitution", 0), f"{where}.restitution")
        if not restitution.free_symbols - set(self.values) and not 0 <= evaluate(restitution, self.values) <= 1:
            self._fault(
                ModelError(
                    f"The restitution of `{where}` must lie between 0 and 1",
                    seen=shortened(evaluate(restitution, self.values)),
                    remedy="0 is a plastic and 1 an elastic impact",
                )
            )
        return UnilateralConstraint(expression, name, {}, restitution)

    def _image(self, table: Mapping[str, Any], coordinates: list[str], speeds: list[str]) -> list[Constraint]:
        velocities = {key: value for key, value in table.items() if key in coordinates or key not in ("speeds", "name")}
        name = self._text(table["name"], "name of `image`") if "name" in table and "name" not in coordinates else "image"
        if not speeds:
            self._fault(FileError("The image has no speeds", remedy='write speeds = ["u1", ...]'))
        found = self._by_coordinate(velocities, "image", coordinates)
        symbols = tuple(Speed(name) for name in speeds)
        return [ImageConstraint(sympy.Integer(0), name or "image", {}, symbols, found)]

    # -- the run -----------------------------------------------------------------------------------------------------

    def _start(
        self, table: Mapping[str, Any], coordinates: list[str], speeds: list[str], constraints: list[str]
    ) -> dict[str, float]:
        known = {*coordinates, *speeds, *(f"{q}_dot" for q in coordinates), *(f"p_{q}" for q in coordinates)}
        known |= {f"chi_{name}" for name in constraints} | {f"xi_{q}" for q in coordinates}
        symbols = {symbol.name: symbol for symbol in self.values}
        values = {}
        for key, value in table.items():
            if key not in known:
                match = nearest(key, known)
                remedy = f"the nearest known name is `{match}`" if match else "name coordinates, velocities or momenta"
                self._fault(StartError(f"The start names {shortened(key)}, which the model does not have", remedy=remedy))
                continue
            values[key] = self._number(value, f"start.{key}", symbols)
        return values

    def _options(self, table: Mapping[str, Any]) -> dict[str, Any]:
        self._check_keys(table, OPTIONS, "[simulate]")
        symbols = {symbol.name: symbol for symbol in self.values}
        options: dict[str, Any] = {}
        for key, value in table.items():
            where = f"simulate.{key}"
            if key in ("t", "at"):
                if not isinstance(value, list) or not value:
                    self._wrong_type(where, "an array of numbers", value)
                    continue
                options[OPTIONS[key]] = tuple(self._number(item, where, symbols) for item in value)
            elif key in ("form", "method", "adapt"):
                options[key] = self._text(value, f"option `{where}`")
            elif key in OPTIONS:
                options[key] = self._number(value, where, symbols)
        self._check_options(options)
        return options

    def _check_options(self, options: Mapping[str, Any]) -> None:
        span = options.get("span")
        if span is not None and (len(span) != 2 or span[0] == span[1]):
            self._fault(FileError("`simulate.t` must be two different times", seen=span, remedy="write t = [0, 10]"))
        elif span is not None and any(not min(span) <= time <= max(span) for time in options.get("at", ())):
            self._fault(FileError("`simulate.at` has times outside `simulate.t`", seen=span, remedy="extend t"))
        for key, remedy in (("rtol", "1e-10"), ("atol", "1e-12"), ("step", "0.01"), ("every", "10")):
            if options.get(key, 1.0) <= 0:
                self._fault(FileError(f"`simulate.{key}` must be positive", seen=options[key], remedy=f"write {remedy}"))
        self._check_method(options)

    def _check_method(self, options: Mapping[str, Any]) -> None:
        """A method chooses its steps by tolerances, or is told its step."""
        method = options.get("method", "dop853")
        if method not in METHODS:
            self._fault(unknown_method(shortened(method), FileError))
            return
        if method == AUTO:  # which takes a step or tolerances
            return
        wrong = ("rtol", "atol") if method in FIXED_STEP else ("step", "every")
        for key in (key for key in wrong if key in options):
            what = "takes fixed steps" if method in FIXED_STEP else "chooses its steps"
            remedy = "write a step instead" if method in FIXED_STEP else "choose a method such as gauss4"
            self._fault(FileError(f"The method {method} {what}", seen=f"simulate.{key} = {options[key]:g}", remedy=remedy))
        if method in FIXED_STEP and "step" not in options:
            self._fault(
                FileError(f"The method {method} needs a step", seen="no simulate.step", remedy="write step = 0.01, say")
            )
