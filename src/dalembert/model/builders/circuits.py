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
from typing import Any

import sympy

from ...errors import ModelError, nearest
from ...typing import Expression, Matrix
from ..constraints import Constraint, holonomic, velocity
from ..system import System
from .circuit_graph import Graph, Signed
from .circuit_reader import CircuitElement, read_circuit, read_loops

__all__ = ["lc_circuit"]

DESCRIPTIONS = ("charges", "fluxes")


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
    elements, graph = read_circuit(branches, incidence, nodes)
    chosen = _choose(elements, graph, by)
    if chosen == "charges":
        rows = {f"node_{node}": graph.incidence(node) for node in graph.nodes}
        missing = graph.fundamental_loops(
            [e.name for e in elements.values() if e.kind == "capacitor"]
        )
        missing_rows = _named(missing, "loop")
    else:
        rows = _named(read_loops(graph, loops), "loop")
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


def _choose(elements: Mapping[str, CircuitElement], graph: Graph, by: str) -> str:
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


def _stated_otherwise(elements: Mapping[str, CircuitElement], by: str) -> str:
    """Which elements were stated by an energy that this description has no use for."""
    names = [e.name for e in elements.values() if e.part(by) is None]
    return (
        f"{', '.join(names)} given by the energy that the other description needs" if names else ""
    )


def _restate(elements: Mapping[str, CircuitElement], by: str) -> str:
    wrong = next(e for e in elements.values() if e.part(by) is None)
    if wrong.is_inertia(by):
        return (
            f"give the {wrong.kind} {wrong.name} by its coenergy, an expression of {wrong.driven}"
        )
    return f"give the {wrong.kind} {wrong.name} by its energy, an expression of {wrong.stored}"
