r"""Hamiltonian systems on Dirac structures with ports, as flows.

    (x_dot, f, dH, e) in D(x)        (Moreau and van der Schaft, definition 2, with ports)

Every element takes the power e f: storage dH . x_dot, a resistor e = R f, a source by its given
effort or flow; the sum vanishes, so that dH/dt = - sum of e f over the ports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sympy

from ...errors import ModelError
from ...geometry.dirac_manifolds import DiracManifold
from ...model.constraints import holonomic
from ...model.flow_system import Flow
from ...model.symbols import Coordinate, Input, as_expression, t
from ...typing import Expression
from .implicit_systems import explicit_system

__all__ = ["system"]


def system(
    structure: DiracManifold,
    hamiltonian: Expression,
    *,
    resistors: Mapping[str, Expression] | None = None,
    efforts: Mapping[str, Expression] | None = None,
    flows: Mapping[str, Expression] | None = None,
    inputs: Mapping[Input, Expression | None] | Sequence[Input] = (),
    name: str = "Dirac system",
) -> Flow:
    """The system (D(x), H) as a `Flow`, with every port closed.

    Parameters
    ----------
    structure : DiracManifold
        Its symbols must be made with `coordinates`.
    hamiltonian : expression of the symbols, parameters and t
    resistors : mapping of port to R
        e = R f: it takes the power R f^2.
    efforts, flows : mappings of port to expression
        Sources, by effort or by flow; expressions of t, of the symbols, or inputs.
    inputs : sequence of Input, or mapping of Input to an expression of time

    Returns
    -------
    Flow
        Outputs are ``flow_<port>``, ``effort_<port>`` and, with ports, ``stored_energy``. Where dH
        must lie among the admissible efforts, these relations and what follows from them
        are constraints of the flow, and a start is completed from them.

    Raises
    ------
    ModelError
        For open ports, contradictory equations, and rates that D and H leave undetermined.

    Examples
    --------
    >>> import dalembert as da
    >>> q, p = da.coordinates("q p")
    >>> m, k, c = da.parameters("m k c", positive=True)
    >>> open_mass = DiracManifold.canonical([q], [p]).opened([[1, 0]], ["damper"])
    >>> damped = system(open_mass, p**2 / (2 * m) + k * q**2 / 2, resistors={"damper": c})
    >>> damped.rates[p]
    -c*p/m - k*q
    """
    energy = as_expression(hamiltonian)
    state = [s for s in structure.symbols if isinstance(s, Coordinate)]
    strange = [str(s) for s in structure.symbols if s not in state]
    if strange:
        raise ModelError(
            "The symbols of a Dirac system must be coordinates",
            seen=", ".join(strange),
            remedy="make them with da.coordinates",
        )
    closures = _closures(structure, resistors or {}, efforts or {}, flows or {})
    n = len(state)
    gradient = [sympy.diff(energy, s) for s in state]
    rows, right = [], []
    for i in range(structure.of_flows.rows):
        F, E = structure.of_flows.row(i), structure.of_efforts.row(i)
        row = {s.dot.name: F[j] for j, s in enumerate(state)}
        row |= {f"flow {port}": F[n + k] for k, port in enumerate(structure.ports)}
        row |= {f"effort {port}": E[n + k] for k, port in enumerate(structure.ports)}
        rows.append(row)
        right.append(-sum(E[j] * gradient[j] for j in range(n)))
    for row, value in closures:
        rows.append(row)
        right.append(value)
    others = [f"{word} {port}" for port in structure.ports for word in ("flow", "effort")]
    drives = dict(inputs) if isinstance(inputs, Mapping) else dict.fromkeys(inputs)
    found = explicit_system(state, others, rows, right, drives)
    is_closed = not structure.ports and not energy.has(t)
    outputs = {key.replace(" ", "_"): value for key, value in found.others.items()}
    return Flow(
        found.rates,
        inputs=drives,
        integrals={"energy": energy} if is_closed else {},
        outputs=outputs if is_closed else outputs | {"stored_energy": energy},
        constraints=[
            holonomic(e, name=f"admissible_{k + 1}") for k, e in enumerate(found.relations)
        ],
        name=name,
    )


def _closures(
    structure: DiracManifold,
    resistors: Mapping[str, Expression],
    efforts: Mapping[str, Expression],
    flows: Mapping[str, Expression],
) -> list[tuple[dict[str, sympy.Expr], sympy.Expr]]:
    """One equation for each port."""
    tables = {"resistors": resistors, "efforts": efforts, "flows": flows}
    named = [port for table in tables.values() for port in table]
    wrong = [port for port in named if port not in structure.ports or named.count(port) > 1]
    wrong += [port for port in structure.ports if port not in named]
    if wrong:
        raise ModelError(
            "Each port needs one resistor, effort or flow",
            seen=", ".join(dict.fromkeys(wrong)),
            remedy=f"close each of {', '.join(structure.ports) or 'no ports'} once",
        )
    one = sympy.Integer(1)
    found = [
        ({f"effort {port}": one, f"flow {port}": -as_expression(value)}, sympy.Integer(0))
        for port, value in resistors.items()
    ]
    found += [({f"effort {port}": one}, as_expression(value)) for port, value in efforts.items()]
    found += [({f"flow {port}": one}, as_expression(value)) for port, value in flows.items()]
    return found
