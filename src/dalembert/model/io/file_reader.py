"""The table of a model file to a scenario, with every fault collected."""

from __future__ import annotations

import graphlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

from ...errors import (
    DalembertError,
    ModelError,
    raise_collected,
)
from ..constraints import Constraint, ImageConstraint
from ..constraints.constraint import CONTACT_KEYS, LIMIT_KEYS
from ..constraints.kinds import LISTED, inferred_kind
from ..flow_system import Flow
from ..names import check_name, shortened
from ..quantities import define
from ..scenario import Scenario
from ..symbols import Coordinate, Input, Multiplier, Parameter, Speed
from ..system import System
from .expressions import evaluate, parse, parse_relation
from .file_bodies import (
    BODY_KEYS,
    BodiesReader,
    check_no_bodies,
    extended_system,
    joint_starts,
    states_bodies,
)
from .file_drawing import read_drawing
from .file_flows import FLOW_TABLES, check_no_energies, read_flow
from .run_reader import RunReader
from .table_reader import UnreadableError

if TYPE_CHECKING:
    from ...model.io.files import Toml

__all__ = ["MODEL_KEYS", "read_scenario"]

MOST_COORDINATES = 1000
MOST_DEFINITIONS = 20_000

_ENERGIES = ("lagrangian", "kinetic", "potential", "hamiltonian")
_TEXTS = ("name", "source", "summary")
_TABLES = (
    "parameters",
    "definitions",
    "home",
    "forces",
    "inputs",
    "outputs",
    "image",
    "bundle",
    "quasi_velocities",
    "start",
    "simulate",
    *FLOW_TABLES,
)
_KEYS = (*_TEXTS, "coordinates", *_ENERGIES, "constraints", "dissipation", *_TABLES, "drawing")
#: Every key and table of a model file.
MODEL_KEYS = (*_KEYS, *BODY_KEYS)
_CONSTRAINT_KEYS = ("expression", "name", "kind", "work", *CONTACT_KEYS, *LIMIT_KEYS)


def read_scenario(table: Mapping[str, Any]) -> Scenario:
    """The scenario that the table of a model file states, or one error with all its faults."""
    reader = _ModelReader(table)
    try:
        return reader.scenario()
    except UnreadableError:
        raise_collected(reader.faults)
        raise AssertionError("a reader stops only at faults") from None


class _ModelReader(RunReader):
    """Reads one table; `faults` grows on the way."""

    def scenario(self) -> Scenario:
        self._check_keys(self.table, MODEL_KEYS, "the model file")
        texts = {
            key: self._text(self.table[key], f"`{key}`") for key in _TEXTS if key in self.table
        }
        bodies = BodiesReader(self.table, self._fault) if states_bodies(self.table) else None
        coordinates = self._coordinates(bodies)
        check_no_energies(self.table, self._fault)
        check_no_bodies(self.table, self._fault)
        tables = {key: self._table(key) for key in _TABLES}
        speeds = self._names("image.speeds", tables["image"].get("speeds", []), MOST_COORDINATES)
        self._declare(coordinates, tables, speeds)
        bundle = {
            Speed(name): self._expression(value, f"bundle.{name}")
            for name, value in tables["bundle"].items()
        }
        parameters = self._parameters(tables["parameters"])
        self._definitions(tables["definitions"])
        home = self._home(tables["home"], coordinates)
        energies = {
            key: self._expression(self.table[key], key) for key in _ENERGIES if key in self.table
        }
        dissipation = self._expression(self.table.get("dissipation", 0), "dissipation")
        mechanical = None
        if bodies is not None:
            mechanical = self._mechanical(bodies, texts.get("name", "mechanism"), tables)
            coordinates = [q.name for q in mechanical.coordinates]
        forces = self._by_coordinate(tables["forces"], "forces", coordinates)
        inputs = {
            Input(name): self._input(value, f"inputs.{name}")
            for name, value in tables["inputs"].items()
        }
        outputs, quasi = (
            {
                name: self._expression(value, f"{key}.{name}")
                for name, value in tables[key].items()
                if self._is_name(name)
            }
            for key in ("outputs", "quasi_velocities")
        )
        constraints = self._constraints(coordinates)
        if "image" in self.table:
            constraints += self._image(tables["image"], coordinates, speeds)
        start = self._start(
            tables["start"],
            coordinates,
            [*speeds, *(s.name for s in bundle), *quasi],
            [constraint.name for constraint in constraints],
        )
        options = self._options(tables["simulate"])
        names = [constraint.name for constraint in constraints]
        drawing = read_drawing(self.table.get("drawing", []), self._expression, self._fault, names)
        more: dict[str, Any] = {"inputs": inputs, "outputs": outputs, "drawing": drawing}
        flow = (
            self._flow(tables, coordinates, constraints, texts, more)
            if "rates" in self.table
            else None
        )
        if self.faults:
            raise UnreadableError
        about = (texts.get("source", ""), texts.get("summary", ""))
        if mechanical is not None:
            system = extended_system(mechanical, constraints, forces, inputs, outputs)
            drawing = drawing or system.drawing
            system = system.replacing(quasi_velocities=quasi, drawing=drawing)
            return Scenario(system, parameters, start, options, *about, drawing)
        more |= {"constraints": constraints, "forces": forces, "dissipation": dissipation}
        more |= {"bundle": bundle, "quasi_velocities": quasi, "home": home, **energies}
        symbols = [Coordinate(name) for name in coordinates]
        stated: Any = flow or System(symbols, name=texts.get("name", "system"), **more)
        return Scenario(stated, parameters, start, options, *about, drawing)

    def _coordinates(self, bodies: BodiesReader | None) -> list[str]:
        """The names of the coordinates, of which there are some and not too many."""
        if bodies is None:
            stated = self.table.get("coordinates", [])
            coordinates = self._names("coordinates", stated, MOST_COORDINATES)
        else:
            coordinates = bodies.coordinates()
        if len(coordinates) > MOST_COORDINATES:
            self._wrong(
                f"There are more than {MOST_COORDINATES} coordinates",
                seen=len(coordinates),
                remedy="use Python",
            )
            raise UnreadableError
        if not coordinates:
            if not self.faults:
                self._wrong(
                    "The model file has no coordinates",
                    remedy='write coordinates = ["x", ...], or [joints] that move',
                )
            raise UnreadableError
        return coordinates

    def _mechanical(
        self, bodies: BodiesReader, name: str, tables: dict[str, Mapping[str, Any]]
    ) -> System:
        """The system that bodies and joints state; its further coordinates become known."""
        statement = bodies.statement
        mechanism = bodies.mechanism(self.symbols, name)
        if mechanism is None:
            raise UnreadableError
        system: System | None = self._attempt("joints", None, mechanism.system, statement)
        if system is None:
            raise UnreadableError
        stated = {q.name for q in system.coordinates}
        for q in [symbol for symbol in self.symbols.values() if isinstance(symbol, Coordinate)]:
            if q.name not in stated:
                for gone in (q, q.dot, q.ddot, q.momentum):
                    del self.symbols[gone.name], self.owners[gone.name]
        self._declare([name for name in stated if name not in self.symbols], {}, [])
        tables["start"] = self._attempt(
            "start", {}, joint_starts, tables["start"], mechanism, statement, self.values
        )
        return system

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

    # -- the symbols -------------------------------------------------------------------------------

    def _declare(
        self, coordinates: list[str], tables: Mapping[str, Mapping[str, Any]], speeds: list[str]
    ) -> None:
        """Every symbol of the model with its meaning; no name may have two."""
        for name in coordinates:
            q = Coordinate(name)
            self._symbol(q, f"the coordinate {name}")
            for symbol, what in (
                (q.dot, "velocity"),
                (q.ddot, "acceleration"),
                (q.momentum, "momentum"),
            ):
                if what == "momentum" and "rates" in self.table and symbol.name in coordinates:
                    continue  # a flow has no momenta, and may call a symbol so
                self._symbol(symbol, f"the {what} of {name}", checked=True)
        for kind, names in (
            (Parameter, tables.get("parameters", ())),
            (Input, tables.get("inputs", ())),
            (Speed, (*speeds, *tables.get("bundle", ()))),
        ):
            for name in names:
                self._symbol(kind(name), f"the {kind.__name__.lower()} {name}")
        entries = self.table.get("constraints", [])
        for number, entry in enumerate(entries if isinstance(entries, list) else [], start=1):
            name = (entry.get("name") if isinstance(entry, dict) else None) or f"c{number}"
            for symbol in (Multiplier(f"mu_{name}"), Multiplier(f"lambda_{name}")):
                self.symbols.setdefault(
                    symbol.name, symbol
                )  # known so that the system can refuse it

    def _symbol(self, symbol: sympy.Symbol, owner: str, checked: bool = False) -> None:
        name = symbol.name
        if not checked and not self._is_name(name):
            return
        if name in self.owners:
            self._fault(
                ModelError(
                    f"The name `{name}` means both {self.owners[name]} and {owner}",
                    remedy="rename one of them",
                )
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
                formulas[name] = self._attempt(
                    f"parameters.{name}", sympy.Integer(1), parse, value, symbols
                )
            else:
                self.values[symbols[name]] = self._number(value, f"parameters.{name}", symbols)
        needs = {
            name: {symbol.name for symbol in formula.free_symbols}
            for name, formula in formulas.items()
        }
        try:
            order = list(graphlib.TopologicalSorter(needs).static_order())
        except graphlib.CycleError as error:
            circle = " -> ".join(error.args[1][:10])
            self._fault(
                ModelError(
                    "Parameters are defined by each other", seen=circle, remedy="give one a number"
                )
            )
            return {}
        for name in order:
            if name in formulas:
                value = self._attempt(
                    f"parameters.{name}", 1.0, evaluate, formulas[name], self.values
                )
                self.values[symbols[name]] = value
        return {name: self.values[symbols[name]] for name in symbols}

    def _definitions(self, table: Mapping[str, Any]) -> None:
        """Named quantities, each of which later ones and all expressions may contain."""
        if len(table) > MOST_DEFINITIONS:
            self._wrong(f"There are more than {MOST_DEFINITIONS} definitions", seen=len(table))
            return
        for name, value in table.items():
            if not self._is_name(name):
                continue
            if name in self.owners:
                owner = self.owners[name]
                what = f"The name `{name}` means both {owner} and a definition"
                self._fault(ModelError(what, remedy="rename one of them"))
                continue
            expression = self._expression(value, f"definitions.{name}")
            self.symbols[name] = define(name, expression)
            self.owners[name] = f"the quantity {name}"

    def _home(self, table: Mapping[str, Any], coordinates: list[str]) -> dict[str, float]:
        self._check_keys(table, coordinates, "`home`, whose keys are coordinates")
        return {
            name: self._number(value, f"home.{name}", {})
            for name, value in table.items()
            if name in coordinates
        }

    # -- the parts of the system -------------------------------------------------------------------

    def _by_coordinate(
        self, table: Any, where: str, coordinates: list[str]
    ) -> dict[str, sympy.Expr]:
        if not isinstance(table, dict):
            self._wrong_type(where, "a table by coordinate", table)
            return {}
        self._check_keys(table, coordinates, f"`{where}`, whose keys are coordinates")
        return {
            key: self._expression(value, f"{where}.{key}")
            for key, value in table.items()
            if key in coordinates
        }

    def _input(self, value: Toml, where: str) -> sympy.Expr | None:
        if isinstance(value, dict) and value.keys() == {"free"} and value["free"] is True:
            return None
        return self._expression(value, where)

    def _constraints(self, coordinates: list[str]) -> list[Constraint]:
        entries = self.table.get("constraints", [])
        if not isinstance(entries, list):
            self._wrong_type("constraints", "an array of relations", entries)
            return []
        if len(entries) > MOST_COORDINATES:
            self._wrong(f"There are more than {MOST_COORDINATES} constraints", seen=len(entries))
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

    def _constraint(
        self, entry: Mapping[str, Any], where: str, coordinates: list[str]
    ) -> Constraint | None:
        self._check_keys(entry, _CONSTRAINT_KEYS, f"`{where}`")
        text = entry.get("expression")
        if not isinstance(text, str):
            self._wrong_type(f"{where}.expression", "a relation in quotes", text)
            return None
        relation, expression = parse_relation(text, self.symbols)
        kind = entry.get("kind", inferred_kind(relation, expression, entry).kind)
        if not isinstance(kind, str) or kind not in LISTED:
            self._wrong_type(f"{where}.kind", f"one of {', '.join(LISTED)}", kind)
            return None
        one_sided = LISTED[kind].relation != "="
        if one_sided != (relation == "at most") and (not one_sided or "=" in text):
            raise ModelError(
                f"The constraint `{where}` is {kind} and its relation is not",
                seen=shortened(text),
                remedy="use <= for one-sided constraints and = for the others",
            )
        name = self._text(entry.get("name", ""), f"name of `{where}`")
        if "name" in entry and not (name.isprintable() and 0 < len(name) <= 100):
            self._wrong_type(f"{where}.name", "one line of text", name)
        return LISTED[kind].from_entry(expression, name, _Entry(self, entry, where, coordinates))

    def _image(
        self, table: Mapping[str, Any], coordinates: list[str], speeds: list[str]
    ) -> list[Constraint]:
        velocities = {
            key: value
            for key, value in table.items()
            if key in coordinates or key not in ("speeds", "name")
        }
        name = (
            self._text(table["name"], "name of `image`")
            if "name" in table and "name" not in coordinates
            else "image"
        )
        if not speeds:
            self._wrong("The image has no speeds", remedy='write speeds = ["u1", ...]')
        found = self._by_coordinate(velocities, "image", coordinates)
        symbols = tuple(Speed(name) for name in speeds)
        return [ImageConstraint(sympy.Integer(0), name or "image", {}, symbols, found)]


@dataclass(frozen=True)
class _Entry:
    """The table that states a constraint, as its kind reads it."""

    reader: _ModelReader
    table: Mapping[str, Any]
    where: str
    coordinates: list[str]

    def __contains__(self, key: str) -> bool:
        return key in self.table

    def expression(self, key: str, default: float = 0) -> sympy.Expr:
        return self.reader._expression(self.table.get(key, default), f"{self.where}.{key}")

    def expressions(self, key: str) -> tuple[sympy.Expr, ...]:
        given = self.table.get(key, [])
        listed = given if isinstance(given, list) else [given]
        return tuple(self.reader._expression(value, f"{self.where}.{key}") for value in listed)

    def text(self, key: str, default: str) -> str:
        return self.reader._text(self.table.get(key, default), f"{key} of `{self.where}`")

    def by_coordinate(self, key: str) -> Mapping[Any, sympy.Expr]:
        table = self.table.get(key, {})
        return self.reader._by_coordinate(table, f"{self.where}.{key}", self.coordinates)

    def value(self, expression: sympy.Expr) -> float | None:
        values = self.reader.values
        return None if expression.free_symbols - set(values) else evaluate(expression, values)

    def fault(self, kind: type[DalembertError], what: str, **parts: str) -> None:
        self.reader._fault(kind(what.format(where=self.where), **parts))
