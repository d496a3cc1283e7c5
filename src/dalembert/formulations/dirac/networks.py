r"""Circuits of any linear or nonlinear elements as first-order systems.

The network is a Dirac structure of branch currents i and voltages v (Kirchhoff's laws); elements
close it. In the charges q of capacitors and the fluxes phi of inductors,

    q_dot = i,  v = W'(q);    phi_dot = v,  i = W'(phi);    v = R i;    v = E(t);    i = J(t);

a transformer has v1 = n v2, i2 = -n i1, a gyrator v1 = r i2, v2 = -r i1: neither takes power. The
current of a branch flows from its first node to its second, and v is the potential of the first
less that of the second, so that v i is the power that the branch absorbs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sympy

from ...errors import ModelError, nearest
from ...model.builders.circuit_graph import Graph
from ...model.constraints import holonomic
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, as_expression
from ...typing import Expression
from .implicit_systems import explicit_system

__all__ = ["circuit"]

#: Kinds with one branch, and kinds with two.
ONE = ("capacitor", "inductor", "resistor", "voltage", "current")
TWO = ("transformer", "gyrator")
Row = dict[str, sympy.Expr]
UNIT = sympy.Integer(1)


def circuit(
    branches: Mapping[str, Sequence[Expression | str]],
    *,
    inputs: Mapping[Input, Expression | None] | Sequence[Input] = (),
    name: str = "circuit",
) -> Flow:
    """A circuit as a first-order system in charges and fluxes.

    Parameters
    ----------
    branches : mapping of name to (kind, from, to, value)
        Kinds: "capacitor", "inductor", "resistor", "voltage" and "current" (sources). A transformer
        or gyrator is (kind, from, to, from, to, ratio): two pairs of nodes. The value of a
        capacitor or inductor may be its energy as an expression of the charge ``q_<name>`` or the
        flux ``phi_<name>``. A nonlinear resistor is its voltage as an expression of the current
        ``i_<name>``, or its current as one of the voltage ``v_<name>``, both made with
        `coordinates`. Sources are expressions of time, of states, or inputs.
    inputs : sequence of Input, or mapping of Input to an expression of time
    name : str

    Returns
    -------
    Flow
        With ``q_<name>`` of capacitors and ``phi_<name>`` of inductors, outputs ``i_<branch>``
        and ``v_<branch>`` as far as they are determined, and ``stored_energy``. What capacitors or
        sources tie algebraically is kept as a constraint, and a start is completed from it.

    Examples
    --------
    >>> import dalembert as da
    >>> R, C = da.parameters("R C", positive=True)
    >>> low_pass = circuit({
    ...     "E": ("voltage", "a", "0", 1), "R": ("resistor", "a", "b", R),
    ...     "C": ("capacitor", "b", "0", C),
    ... })
    >>> low_pass.rates[da.coordinates("q_C")]
    -(-1 + q_C/C)/R
    """
    ends, elements = _read(branches)
    graph = Graph(ends)
    state: list[Coordinate] = []
    rows: list[Row] = []
    right: list[sympy.Expr] = []
    energy: sympy.Expr = sympy.Integer(0)
    for node in graph.nodes:
        rows.append({f"i {b}": UNIT * sign for b, sign in graph.incidence(node).items()})
        right.append(sympy.Integer(0))
    for loop in graph.fundamental_loops(list(ends)):
        rows.append({f"v {b}": UNIT * sign for b, sign in loop.items()})
        right.append(sympy.Integer(0))
    for branch, (kind, value) in elements.items():
        own, known, stored, symbols = _element(branch, kind, value)
        rows += own
        right += known
        energy += stored
        state += symbols
    drives = dict(inputs) if isinstance(inputs, Mapping) else dict.fromkeys(inputs)
    if not state:
        raise ModelError(
            "The circuit has no capacitor and no inductor: it has no motion",
            seen=", ".join(elements),
            remedy="add an element that stores energy",
        )
    others = [f"{kind} {b}" for b in ends for kind in ("i", "v")]
    found = explicit_system(state, others, rows, right, drives)
    shown = {q.name for q in state}
    outputs = {key.replace(" ", "_"): value for key, value in found.others.items()}
    return Flow(
        found.rates,
        inputs=drives,
        outputs={key: value for key, value in outputs.items() if key not in shown}
        | {"stored_energy": energy},
        integrals={},
        constraints=[holonomic(e, name=f"law_{k + 1}") for k, e in enumerate(found.relations)],
        name=name,
    )


def _read(
    branches: Mapping[str, Sequence[Any]],
) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, sympy.Expr]]]:
    """The ends of every branch, and the elements."""
    ends: dict[str, tuple[str, str]] = {}
    elements: dict[str, tuple[str, sympy.Expr]] = {}
    for name, words in branches.items():
        kind = str(words[0])
        if kind not in (*ONE, *TWO):
            near = nearest(kind, (*ONE, *TWO))
            raise ModelError(
                f"The branch `{name}` is of an unknown kind",
                seen=kind,
                remedy=f"did you mean {near}" if near else f"use one of {', '.join((*ONE, *TWO))}",
            )
        count = 4 if kind in ONE else 6
        if len(words) != count:
            raise ModelError(
                f"The {kind} `{name}` needs {count - 2} nodes and a value",
                seen=words,
                remedy="give (kind, from, to, value)" if count == 4 else
                "give (kind, from, to, from, to, ratio)",
            )  # fmt: skip
        pairs = (
            {name: words[1:3]} if count == 4 else {f"{name}_1": words[1:3], f"{name}_2": words[3:5]}
        )
        for branch, (tail, head) in pairs.items():
            if str(tail) == str(head):
                raise ModelError(
                    f"Both ends of the branch `{branch}` are at node {tail}", remedy="leave it out"
                )
            ends[branch] = (str(tail), str(head))
        elements[name] = (kind, as_expression(words[-1]))
    return ends, elements


def _element(
    name: str, kind: str, value: sympy.Expr
) -> tuple[list[Row], list[sympy.Expr], sympy.Expr, list[Coordinate]]:
    """Rows with their right-hand sides, the energy, and the symbols of an element."""
    i, v, zero = f"i {name}", f"v {name}", sympy.Integer(0)
    match kind:
        case "capacitor" | "inductor":
            charge = Coordinate(f"{'q' if kind == 'capacitor' else 'phi'}_{name}")
            stored = value if value.has(charge) else charge**2 / (2 * value)
            across = sympy.diff(stored, charge)
            flow, effort = (i, v) if kind == "capacitor" else (v, i)
            rows = [{charge.dot.name: UNIT, flow: -UNIT}, {effort: UNIT}]
            return rows, [zero, across], stored, [charge]
        case "resistor":
            current, voltage = Coordinate(f"i_{name}"), Coordinate(f"v_{name}")
            if value.has(current):
                return [{v: UNIT}, {i: UNIT}], [value, current], zero, [current]
            if value.has(voltage):
                return [{i: UNIT}, {v: UNIT}], [value, voltage], zero, [voltage]
            return [{v: UNIT, i: -value}], [zero], zero, []
        case "voltage" | "current":
            return [{v if kind == "voltage" else i: UNIT}], [value], zero, []
        case "transformer":
            first = {f"v {name}_1": UNIT, f"v {name}_2": -value}
            return [first, {f"i {name}_2": UNIT, f"i {name}_1": value}], [zero, zero], zero, []
    first = {f"v {name}_1": UNIT, f"i {name}_2": -value}
    return [first, {f"v {name}_2": UNIT, f"i {name}_1": value}], [zero, zero], zero, []
