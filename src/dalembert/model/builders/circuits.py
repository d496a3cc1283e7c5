r"""Circuits of capacitors and inductors as mechanical systems.

A circuit has two Lagrangians (Moreau and van der Schaft, section I and reference 12). With q_dot
the current of a branch and phi_dot its voltage, W the energy of an element and T its coenergy,

    by charges:   L = sum T_L(q_dot) - sum W_C(q),       at each node the currents sum to zero
    (Kirchhoff's current law) by fluxes:    L = sum T_C(phi_dot) - sum W_L(phi),   around each loop
    the voltages sum to zero (his voltage law)

The laws are velocity constraints: the charge that capacitors trap between them, and the flux that
inductors trap in a loop, keep the values of the start. The rows of the nodes sum to zero and loops
depend on each other; no row has to be left out. The multiplier of a node is its potential, that of
a loop its current.

Nothing with inertia flows around a loop of capacitors when charges are the coordinates, nor across
a cutset of inductors when fluxes are: there the other description is taken. A description that is
forced on such a circuit takes the missing law, which is then one on positions, as a further
constraint: the voltages W'(q) around the loop, or the currents W'(phi) of the cutset.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from ...errors import DalembertError, ModelError, nearest, raise_collected
from ...typing import Expression, Matrix
from ..constraints import Constraint, holonomic, velocity
from ..symbols import Coordinate, Velocity, as_expression, as_matrix
from ..system import System
from .circuit_graph import Graph, Signed

__all__ = ["lc_circuit"]

KINDS = ("capacitor", "inductor")
DESCRIPTIONS = ("charges", "fluxes")
#: The node that completes the columns of an incidence matrix with one entry.
GROUND = "0"


@dataclass(frozen=True)
class Element:
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


def lc_circuit(
    branches: Mapping[str, Sequence[Expression | str]],
    incidence: Matrix | None = None,
    *,
    nodes: Sequence[str | int] = (),
    by: str = "auto",
    loops: str | Matrix | Sequence[Mapping[str, int]] = "fundamental",
    name: str = "LC circuit",
) -> System:
    """A circuit of capacitors and inductors as a `System`.

    Parameters
    ----------
    branches : mapping of name to (kind, from, to, value), or to (kind, value) with an `incidence`
    matrix
        The kind is "capacitor" or "inductor"; a current is positive from the first node to the
        second. The value is a capacitance or inductance, or for a nonlinear element its energy as
        an expression of its own symbol: the charge ``q_<name>`` of a capacitor, the flux
        ``phi_<name>`` of an inductor. A coenergy is an expression of the voltage ``phi_<name>.dot``
        or the current ``q_<name>.dot``.
    incidence : matrix (nodes x branches)
        1 where a branch leaves a node, -1 where it enters it; the ground is the node "0".
    nodes : sequence of names
        The rows of `incidence`; numbers from 1 without it.
    by : "auto", "charges" or "fluxes"
        The description; "auto" takes charges, or fluxes where capacitors form a loop or an element
        asks for them.
    loops : "fundamental", "all", a loop matrix (loops x branches), or a sequence of loops {name: 1
    or -1}
        The loops of the description by fluxes. They may depend on each other and must span all of
        them.

    Returns
    -------
    System
        With a coordinate ``q_<name>`` or ``phi_<name>`` for each branch, and as outputs
        ``charge_<name>`` and ``voltage_<name>`` of capacitors, ``flux_<name>`` and
        ``current_<name>`` of inductors.

    Examples
    --------
    >>> C, L = sympy.symbols("C L", positive=True)
    >>> circuit = lc_circuit({"C1": ("capacitor", "a", "0", C), "L1": ("inductor", "a", "0", L)})
    >>> circuit.lagrangian
    L*q_L1_dot**2/2 - q_C1**2/(2*C)
    >>> [str(constraint.expression) for constraint in circuit.constraints]
    ['q_C1_dot + q_L1_dot', '-q_C1_dot - q_L1_dot']
    """
    elements, graph = _read(branches, incidence, nodes)
    chosen = _choose(elements, graph, by)
    if chosen == "charges":
        rows = {f"node_{node}": graph.incidence(node) for node in graph.nodes}
        missing = graph.fundamental_loops(
            [e.name for e in elements.values() if e.kind == "capacitor"]
        )
        missing_rows = _named(missing, "loop")
    else:
        rows = _named(_read_loops(graph, loops), "loop")
        missing_rows = _named(
            graph.fundamental_cutsets([e.name for e in elements.values() if e.kind == "inductor"]),
            "cutset",
        )
    constraints: list[Constraint] = [
        velocity(
            _sum({b: sign * elements[b].coordinate(chosen).dot for b, sign in row.items()}),
            name=label,
        )
        for label, row in rows.items()
    ]
    constraints += [
        holonomic(
            _sum({b: sign * elements[b].force(chosen) for b, sign in row.items()}), name=label
        )
        for label, row in missing_rows.items()
    ]
    parts = {e.name: e.part(chosen) for e in elements.values()}
    return System(
        coordinates=[e.coordinate(chosen) for e in elements.values()],
        kinetic=_sum({b: part for b, part in parts.items() if elements[b].is_inertia(chosen)}),
        potential=_sum(
            {b: part for b, part in parts.items() if not elements[b].is_inertia(chosen)}
        ),
        constraints=constraints,
        outputs={key: value for e in elements.values() for key, value in e.outputs(chosen).items()},
        name=name,
    )


def _sum(terms: Mapping[str, Any]) -> sympy.Expr:
    return sympy.Add(*terms.values())


def _named(tables: Sequence[Signed], stem: str) -> dict[str, Signed]:
    """Tables by the branches they hold; a number tells those apart that hold the same."""
    found: dict[str, Signed] = {}
    for table in tables:
        label = base = "_".join([stem, *table])
        number = 1
        while label in found:
            number += 1
            label = f"{base}_{number}"
        found[label] = table
    return found


# -- which description -----------------------------------------------------------------------------


def _choose(elements: Mapping[str, Element], graph: Graph, by: str) -> str:
    """The description that was asked for, or the first that determines the motion."""
    if by not in ("auto", *DESCRIPTIONS):
        near = nearest(str(by), DESCRIPTIONS)
        raise ModelError(
            f"There is no description by {by}",
            seen="charges, fluxes, auto",
            remedy=f"did you mean {near}" if near else "choose one of these",
        )
    stated = {description: _stated_otherwise(elements, description) for description in DESCRIPTIONS}
    if by != "auto":
        if stated[by]:
            raise ModelError(
                f"The circuit cannot be described by {by}",
                seen=stated[by],
                remedy=_restate(elements, by),
            )
        return by
    loops = graph.fundamental_loops([e.name for e in elements.values() if e.kind == "capacitor"])
    cutsets = graph.fundamental_cutsets([e.name for e in elements.values() if e.kind == "inductor"])
    against = {
        "charges": stated["charges"] or _told(loops, "the capacitors {} form a loop"),
        "fluxes": stated["fluxes"] or _told(cutsets, "the inductors {} form a cutset"),
    }
    for description, reason in against.items():
        if not reason:
            return description
    forced = [description for description in DESCRIPTIONS if not stated[description]]
    raise ModelError(
        "No description of the circuit determines its motion by Kirchhoff's laws alone",
        seen="; ".join(f"by {description}, {reason}" for description, reason in against.items()),
        remedy=(
            f'pass by="{forced[0]}", which adds the law that is missing as a constraint'
            if forced
            else _restate(elements, "charges")
        ),
    )


def _told(tables: Sequence[Signed], sentence: str) -> str:
    return sentence.format(", ".join(tables[0])) if tables else ""


def _stated_otherwise(elements: Mapping[str, Element], by: str) -> str:
    """Which elements were stated by an energy that this description has no use for."""
    names = [e.name for e in elements.values() if e.part(by) is None]
    return (
        f"{', '.join(names)} given by the energy that the other description needs" if names else ""
    )


def _restate(elements: Mapping[str, Element], by: str) -> str:
    wrong = next(e for e in elements.values() if e.part(by) is None)
    if wrong.is_inertia(by):
        return (
            f"give the {wrong.kind} {wrong.name} by its coenergy, an expression of {wrong.driven}"
        )
    return f"give the {wrong.kind} {wrong.name} by its energy, an expression of {wrong.stored}"


# -- reading ---------------------------------------------------------------------------------------


def _read(
    branches: Mapping[str, Sequence[Any]], incidence: Any | None, nodes: Sequence[Any]
) -> tuple[dict[str, Element], Graph]:
    """Elements and graph, with every fault in one message."""
    if not isinstance(branches, Mapping) or not branches:
        raise ModelError(
            "A circuit needs its branches by name",
            seen=branches,
            remedy='pass {"C1": ("capacitor", "a", "b", C), ...}',
        )
    faults: list[DalembertError] = []
    shape = ("kind", "from", "to", "value") if incidence is None else ("kind", "value")
    ends = {} if incidence is None else _ends(list(branches), incidence, nodes, faults)
    elements: dict[str, Element] = {}
    for name, words in branches.items():
        if isinstance(words, str) or not isinstance(words, Sequence) or len(words) != len(shape):
            faults.append(
                ModelError(
                    f"The branch `{name}` must be ({', '.join(shape)})",
                    seen=words,
                    remedy="give these in order",
                )
            )
            continue
        if incidence is None:
            ends[name] = (str(words[1]), str(words[2]))
        _check_branch(name, words[0], ends.get(name), faults)
        elements[name] = Element(str(name), str(words[0]), as_expression(words[-1]))
        _check_value(elements[name], faults)
    raise_collected(faults)
    return elements, Graph(ends)


def _check_branch(
    name: str, kind: str, ends: tuple[str, str] | None, faults: list[DalembertError]
) -> None:
    if kind not in KINDS:
        near = nearest(str(kind), KINDS)
        remedy = f"did you mean {near}" if near else "use capacitor or inductor"
        faults.append(
            ModelError(
                f"The branch `{name}` is neither a capacitor nor an inductor",
                seen=kind,
                remedy=remedy,
            )
        )
    if ends is not None and ends[0] == ends[1]:
        faults.append(
            ModelError(
                f"Both ends of the branch `{name}` are at node {ends[0]}", remedy="leave it out"
            )
        )
    for word in (f"q_{name}", *(f"node_{node}" for node in ends or ())):
        if not word.isidentifier():
            faults.append(
                ModelError(
                    "Branches and nodes are named by symbols, digits and underscores",
                    seen=word,
                    remedy="rename it",
                )
            )


def _check_value(element: Element, faults: list[DalembertError]) -> None:
    value, kind, own = element.value, element.kind, {element.stored, element.driven}
    foreign = sorted(
        (s for s in value.free_symbols if isinstance(s, Coordinate | Velocity) and s not in own),
        key=str,
    )
    if foreign:
        faults.append(
            ModelError(
                f"The value of the {kind} `{element.name}` contains {', '.join(map(str, foreign))}",
                remedy=f"write its energy in {element.stored}, or its coenergy in {element.driven}",
            )
        )
    elif own <= value.free_symbols:
        faults.append(
            ModelError(
                f"The {kind} `{element.name}` is given by energy and coenergy at once",
                seen=value,
                remedy="give one of them",
            )
        )
    elif value.is_number and not value.is_positive:
        faults.append(
            ModelError(
                f"The {kind} `{element.name}` needs a positive value",
                seen=value,
                remedy="give one above zero",
            )
        )


def _ends(
    names: Sequence[str], incidence: Matrix, nodes: Sequence[Any], faults: list[DalembertError]
) -> dict[str, tuple[str, str]]:
    """The ends of each branch from the columns of an incidence matrix."""
    matrix = as_matrix(incidence)
    labels = [str(node) for node in nodes] or [str(k + 1) for k in range(matrix.rows)]
    if matrix.cols != len(names) or matrix.rows != len(labels):
        faults.append(
            ModelError(
                "The incidence matrix must have a row for each node and a column for each branch",
                seen=(
                    f"{matrix.rows} x {matrix.cols} for {len(labels)} nodes and {len(names)}"
                    " branches"
                ),
                remedy="give it in the order of the nodes and branches",
            )
        )
        return {}
    found: dict[str, tuple[str, str]] = {}
    for k, name in enumerate(names):
        column = list(matrix[:, k])
        leaves = [label for label, entry in zip(labels, column, strict=True) if entry == 1]
        enters = [label for label, entry in zip(labels, column, strict=True) if entry == -1]
        others = [entry for entry in column if entry not in (-1, 0, 1)]
        if others or max(len(leaves), len(enters)) != 1:
            faults.append(
                ModelError(
                    f"The column of `{name}` must hold one 1 and one -1",
                    seen=column,
                    remedy="1 where it leaves a node",
                )
            )
            continue
        found[name] = ((leaves or [GROUND])[0], (enters or [GROUND])[0])
    return found


def _read_loops(graph: Graph, loops: Any) -> list[Signed]:
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
