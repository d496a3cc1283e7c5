"""Elements of a circuit, and the reading of a circuit with every fault in one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from ...errors import Faults, ModelError, nearest, raise_collected
from ...typing import Matrix
from ..symbols import Coordinate, Velocity, as_expression, as_matrix
from .circuit_graph import Graph, Signed

__all__ = ["CircuitElement", "read_circuit", "read_loops"]

KINDS = ("capacitor", "inductor")
#: The node that completes the columns of an incidence matrix with one entry.
GROUND = "0"


@dataclass(frozen=True)
class CircuitElement:
    """A capacitor or an inductor, and what is known of it.

    Attributes
    ----------
    name : str
    kind : "capacitor" or "inductor"
    value : sympy.Expr
        Its capacitance or inductance; its energy as a function of the charge q_<name> or the flux
        phi_<name>; or its coenergy as a function of the voltage phi_<name>_dot or the current
        q_<name>_dot.
    """

    name: str
    kind: str
    value: sympy.Expr

    @property
    def charge(self) -> Coordinate:
        """The charge that has flowed through the branch."""
        return Coordinate(f"q_{self.name}")

    @property
    def flux(self) -> Coordinate:
        """The time integral of the voltage along the branch."""
        return Coordinate(f"phi_{self.name}")

    def coordinate(self, by: str) -> Coordinate:
        """The symbol of the branch in one description."""
        return self.charge if by == "charges" else self.flux

    @property
    def stored(self) -> Coordinate:
        """What the energy is a function of."""
        return self.charge if self.kind == "capacitor" else self.flux

    @property
    def driven(self) -> Velocity:
        """The argument of the coenergy: the voltage of a capacitor, the current of an inductor."""
        return self.flux.dot if self.kind == "capacitor" else self.charge.dot

    def is_inertia(self, by: str) -> bool:
        """Whether the element enters by its coenergy, as a mass does."""
        return (self.kind == "inductor") == (by == "charges")

    def part(self, by: str) -> sympy.Expr | None:
        """T of an inertia, W of a spring; None if the element was stated by the other one."""
        symbol, other = (
            (self.driven, self.stored) if self.is_inertia(by) else (self.stored, self.driven)
        )
        if self.value.has(symbol):
            return self.value
        if self.value.has(other):
            return None
        return self.value * symbol**2 / 2 if self.is_inertia(by) else symbol**2 / (2 * self.value)

    def force(self, by: str) -> sympy.Expr:
        """W' of a spring: the voltage of a capacitor, the current of an inductor."""
        return sympy.diff(self.part(by), self.stored)

    def outputs(self, by: str) -> dict[str, sympy.Expr]:
        """Charge and voltage of a capacitor, flux and current of an inductor, by name."""
        moving = self.is_inertia(by)
        stored = sympy.diff(self.part(by), self.driven) if moving else self.stored
        driven = self.driven if moving else self.force(by)
        names = ("charge", "voltage") if self.kind == "capacitor" else ("flux", "current")
        return {f"{names[0]}_{self.name}": stored, f"{names[1]}_{self.name}": driven}


def read_circuit(
    branches: Mapping[str, Sequence[Any]], incidence: Any | None, nodes: Sequence[Any]
) -> tuple[dict[str, CircuitElement], Graph]:
    """Elements and graph, with every fault in one message."""
    if not isinstance(branches, Mapping) or not branches:
        raise ModelError(
            "A circuit needs its branches by name",
            seen=branches,
            remedy='pass {"C1": ("capacitor", "a", "b", C), ...}',
        )
    faults = Faults()
    shape = ("kind", "from", "to", "value") if incidence is None else ("kind", "value")
    ends = {} if incidence is None else _ends(list(branches), incidence, nodes, faults)
    elements: dict[str, CircuitElement] = {}
    for name, words in branches.items():
        if isinstance(words, str) or not isinstance(words, Sequence) or len(words) != len(shape):
            faults.add(
                f"The branch `{name}` must be ({', '.join(shape)})",
                seen=words,
                remedy="give these in order",
            )
            continue
        if incidence is None:
            ends[name] = (str(words[1]), str(words[2]))
        _check_branch(name, words[0], ends.get(name), faults)
        elements[name] = CircuitElement(str(name), str(words[0]), as_expression(words[-1]))
        _check_value(elements[name], faults)
    raise_collected(faults)
    return elements, Graph(ends)


def _check_branch(name: str, kind: str, ends: tuple[str, str] | None, faults: Faults) -> None:
    if kind not in KINDS:
        near = nearest(str(kind), KINDS)
        remedy = f"did you mean {near}" if near else "use capacitor or inductor"
        if kind in ("resistor", "voltage", "current", "transformer", "gyrator"):
            remedy = "use da.dirac.circuit, which takes it"
        faults.add(
            f"The branch `{name}` is neither a capacitor nor an inductor", seen=kind, remedy=remedy
        )
    if ends is not None and ends[0] == ends[1]:
        faults.add(f"Both ends of the branch `{name}` are at node {ends[0]}", remedy="leave it out")
    for word in (f"q_{name}", *(f"node_{node}" for node in ends or ())):
        if not word.isidentifier():
            faults.add(
                "Branches and nodes are named by symbols, digits and underscores",
                seen=word,
                remedy="rename it",
            )


def _check_value(element: CircuitElement, faults: Faults) -> None:
    value, kind, own = element.value, element.kind, {element.stored, element.driven}
    foreign = sorted(
        (s for s in value.free_symbols if isinstance(s, Coordinate | Velocity) and s not in own),
        key=str,
    )
    if foreign:
        faults.add(
            f"The value of the {kind} `{element.name}` contains {', '.join(map(str, foreign))}",
            remedy=f"write its energy in {element.stored}, or its coenergy in {element.driven}",
        )
    elif own <= value.free_symbols:
        faults.add(
            f"The {kind} `{element.name}` is given by energy and coenergy at once",
            seen=value,
            remedy="give one of them",
        )
    elif value.is_number and not value.is_positive:
        faults.add(
            f"The {kind} `{element.name}` needs a positive value",
            seen=value,
            remedy="give one above zero",
        )


def _ends(
    names: Sequence[str], incidence: Matrix, nodes: Sequence[Any], faults: Faults
) -> dict[str, tuple[str, str]]:
    """The ends of each branch from the columns of an incidence matrix."""
    matrix = as_matrix(incidence)
    labels = [str(node) for node in nodes] or [str(k + 1) for k in range(matrix.rows)]
    if matrix.cols != len(names) or matrix.rows != len(labels):
        faults.add(
            "The incidence matrix must have a row for each node and a column for each branch",
            seen=(
                f"{matrix.rows} x {matrix.cols} for {len(labels)} nodes and {len(names)} branches"
            ),
            remedy="give it in the order of the nodes and branches",
        )
        return {}
    found: dict[str, tuple[str, str]] = {}
    for k, name in enumerate(names):
        column = list(matrix[:, k])
        leaves = [label for label, entry in zip(labels, column, strict=True) if entry == 1]
        enters = [label for label, entry in zip(labels, column, strict=True) if entry == -1]
        others = [entry for entry in column if entry not in (-1, 0, 1)]
        if others or max(len(leaves), len(enters)) != 1:
            faults.add(
                f"The column of `{name}` must hold one 1 and one -1",
                seen=column,
                remedy="1 where it leaves a node",
            )
            continue
        found[name] = ((leaves or [GROUND])[0], (enters or [GROUND])[0])
    return found


def read_loops(graph: Graph, loops: Any) -> list[Signed]:
    """The loops as they were asked for; they close, and none is left out."""
    names = list(graph.ends)
    if isinstance(loops, str):
        if loops not in ("fundamental", "all"):
            raise ModelError(
                f"There are no loops `{loops}`",
                seen="fundamental, all",
                remedy="name one of these, or list the loops",
            )
        return graph.every_loop() if loops == "all" else graph.fundamental_loops(names)
    if not isinstance(loops, sympy.MatrixBase) and all(isinstance(loop, Mapping) for loop in loops):
        tables = [dict(loop) for loop in loops]
    else:
        matrix = as_matrix(loops)
        if matrix.cols != len(names):
            raise ModelError(
                "A loop matrix has a column for each branch",
                seen=f"{matrix.cols} columns for {len(names)} branches",
                remedy="add them",
            )
        tables = [
            {b: matrix[k, j] for j, b in enumerate(names) if matrix[k, j] != 0}
            for k in range(matrix.rows)
        ]
    for loop in tables:
        unknown = [b for b in loop if b not in names]
        if unknown or any(sign not in (-1, 1) for sign in loop.values()):
            raise ModelError(
                "A loop is a table of branches and signs",
                seen=loop,
                remedy=f"use {', '.join(names)} with 1 or -1",
            )
        gap = graph.opening(loop)
        if gap is not None or not loop:
            raise ModelError(
                "A loop does not close",
                seen=f"{loop} at node {gap}",
                remedy="list its branches with their signs",
            )
    _check_all_loops(graph, [{b: int(sign) for b, sign in loop.items()} for loop in tables])
    return [{b: int(loop[b]) for b in names if b in loop} for loop in tables]


def _check_all_loops(graph: Graph, loops: Sequence[Signed]) -> None:
    """The loops span every loop of the circuit."""
    names = list(graph.ends)

    def rank(tables: Sequence[Signed]) -> int:
        return (
            int(
                sympy.Matrix(
                    len(tables), len(names), lambda i, j: tables[i].get(names[j], 0)
                ).rank()
            )
            if tables
            else 0
        )

    found = rank(loops)
    for loop in graph.fundamental_loops(names):
        if rank([*loops, loop]) > found:
            raise ModelError(
                "The loops leave one out",
                seen=", ".join(loop),
                remedy="add it, or one that contains it",
            )
