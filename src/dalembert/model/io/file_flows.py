"""The parts of a model file that state a flow: [rates], [integrals], [matrices], [actions]."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sympy

from ...errors import DalembertError, FileError
from ..flow_system import Action, Flow
from ..names import shortened
from ..symbols import Coordinate

__all__ = ["FLOW_TABLES", "check_no_energies", "flow_sections", "read_flow"]

FLOW_TABLES = ("rates", "integrals", "matrices", "actions")
#: Keys that belong to mechanical systems.
_MECHANICAL = (
    "lagrangian",
    "kinetic",
    "potential",
    "hamiltonian",
    "dissipation",
    "forces",
    "image",
    "bundle",
    "quasi_velocities",
)
MOST_MATRIX_ENTRIES = 100_000

Fault = Callable[[DalembertError], None]
Read = Callable[[Any, str], sympy.Expr]


def check_no_energies(table: Mapping[str, Any], fault: Fault) -> None:
    """A file states a flow or a mechanical system, not both."""
    stated = [key for key in _MECHANICAL if key in table]
    if "rates" in table and stated:
        fault(
            FileError(
                "A model file states rates or energies",
                seen=f"rates and {', '.join(stated)}",
                remedy="keep one of them",
            )
        )
    elif "rates" not in table:
        for key in ("integrals", "matrices", "actions"):
            if key in table:
                fault(
                    FileError(
                        f"`{key}` belongs to a flow, which has rates",
                        remedy="write a table [rates], or remove it",
                    )
                )


def read_flow(
    tables: Mapping[str, Mapping[str, Any]],
    coordinates: list[str],
    read: Read,
    fault: Fault,
    **parts: Any,
) -> Flow | None:
    """The flow that the tables of a model file state; None if one is missing, told to `fault`."""
    missing = [name for name in coordinates if name not in tables["rates"]]
    strange = [name for name in tables["rates"] if name not in coordinates]
    if missing or strange:
        fault(
            FileError(
                "Every coordinate of a flow needs its rate, and nothing else",
                seen=", ".join(
                    [f"no rate of {n}" for n in missing[:5]]
                    + [f"{shortened(n)} is no coordinate" for n in strange[:5]]
                ),
                remedy="write each coordinate once under [rates]",
            )
        )
        return None
    rates = {Coordinate(name): read(tables["rates"][name], f"rates.{name}") for name in coordinates}
    integrals = {
        name: read(value, f"integrals.{name}") for name, value in tables["integrals"].items()
    }
    matrices = {
        name: _matrix(value, f"matrices.{name}", read, fault)
        for name, value in tables["matrices"].items()
    }
    actions = []
    for name, sides in tables["actions"].items():
        if not isinstance(sides, dict) or not sides or set(sides) - {"left", "right"}:
            fault(
                FileError(
                    f"`actions.{name}` must have left, right or both",
                    seen=shortened(sides),
                    remedy="X' = left X - X right",
                )
            )
            continue
        read_sides = {
            side: _matrix(value, f"actions.{name}.{side}", read, fault)
            for side, value in sides.items()
        }
        actions.append(Action(name, read_sides.get("left"), read_sides.get("right")))
    if any(
        matrix is None for matrix in (*matrices.values(), *(a.left or a.right for a in actions))
    ):
        return None
    return Flow(rates, integrals=integrals, matrices=matrices, actions=actions, **parts)


def _matrix(value: Any, where: str, read: Read, fault: Fault) -> sympy.ImmutableMatrix | None:
    """An array of arrays of expressions."""
    rows = (
        value
        if isinstance(value, list) and value and all(isinstance(row, list) and row for row in value)
        else None
    )
    if rows is None or len({len(row) for row in rows}) != 1:
        fault(
            FileError(
                f"`{where}` must be an array of rows of equal length",
                seen=shortened(value),
                remedy='[["a", "b"], ...]',
            )
        )
        return None
    if len(rows) * len(rows[0]) > MOST_MATRIX_ENTRIES:
        fault(
            FileError(f"`{where}` has more than {MOST_MATRIX_ENTRIES} entries", remedy="use Python")
        )
        return None
    return sympy.ImmutableMatrix([[read(entry, where) for entry in row] for row in rows])


def flow_sections(flow: Flow, write: Callable[[sympy.Expr], str]) -> dict[str, dict[str, str]]:
    """The tables of a model file that state a flow, by name."""

    def rows(matrix: sympy.ImmutableMatrix) -> str:
        lines = (
            f"[{', '.join(write(matrix[i, j]) for j in range(matrix.shape[1]))}]"
            for i in range(matrix.shape[0])
        )
        return f"[{', '.join(lines)}]"

    actions = {}
    for action in flow.actions:
        sides = {"left": action.left, "right": action.right}
        entries = ", ".join(
            f"{side} = {rows(matrix)}" for side, matrix in sides.items() if matrix is not None
        )
        actions[action.matrix] = f"{{{entries}}}"
    return {
        "rates": {q.name: write(value) for q, value in flow.rates.items()},
        "integrals": {name: write(value) for name, value in flow.integrals.items()},
        "matrices": {name: rows(matrix) for name, matrix in flow.matrices.items()},
        "actions": actions,
    }
