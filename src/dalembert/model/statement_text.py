"""Systems, flows and scenarios as text: what was stated, a line each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import sympy

from .names import shortened
from .quantities import Quantity
from .text_width import wrapped_formula

if TYPE_CHECKING:
    from .flow_system import Flow
    from .scenario import Scenario
    from .system import System

__all__ = ["flow_text", "scenario_text", "system_text"]

#: Operations of an expression that is printed; of a longer one their number is.
MOST_OPERATIONS = 400
#: Lines of one kind that are printed before the others are counted.
MOST_LINES = 20
_Line = tuple[str, str]


def system_text(system: System) -> str:
    """The statement of a system.

    >>> import dalembert as da
    >>> x, y = da.coordinates("x y")
    >>> g = da.parameters("g")
    >>> print(da.System([x, y], kinetic=(x.dot**2 + y.dot**2)/2, potential=g*y,
    ...     constraints=[da.velocity(y.dot - x*x.dot, name="track")], name="bead"))
    bead
      coordinates       x, y
      kinetic energy    x_dot**2/2 + y_dot**2/2
      potential energy  g*y
      constraint track  velocity: -x*x_dot + y_dot = 0
      parameters        g
    """
    lines: list[_Line] = [("coordinates", ", ".join(q.name for q in system.coordinates))]
    lines += _energies(system)
    lines += _limited(_definitions(system.definitions), "further definitions")
    lines += _limited(
        (
            (
                f"constraint {c.name}",
                f"{c.kind}{'' if c.is_ideal else ', not ideal'}:"
                f" {_shown(c.expression)} {c.relation} 0",
            )
            for c in system.constraints
        ),
        "further constraints",
    )
    lines += _table("force on", system.forces)
    if system.dissipation != 0:
        lines.append(("dissipation", _shown(system.dissipation)))
    lines += _inputs(system.inputs)
    lines += _table("output", system.outputs)
    lines += _names("parameters", system.parameters)
    return _written(system.name, lines)


def flow_text(flow: Flow) -> str:
    """The statement of a first-order system.

    >>> import dalembert as da
    >>> x = da.coordinates("x")
    >>> k = da.parameters("k")
    >>> print(da.Flow({x: -k*x}, name="decay"))
    decay
      rate of x   -k*x
      parameters  k
    """
    lines = list(_table("rate of", flow.rates))
    lines += [(f"relation {c.name}", f"{_shown(c.expression)} = 0") for c in flow.constraints]
    lines += _table("integral", flow.integrals)
    lines += _inputs(flow.inputs)
    lines += _table("output", flow.own_outputs)
    lines += _names("parameters", flow.parameters)
    return _written(flow.name, lines)


def scenario_text(scenario: Scenario) -> str:
    """The statement of a system, the values of its parameters, its start and its run."""
    lines: list[_Line] = []
    for name, values in (("values", scenario.parameters), ("start", scenario.start)):
        if values:
            lines.append((name, ", ".join(f"{key} = {v:.6g}" for key, v in values.items())))
    if scenario.simulate:
        lines.append(
            (
                "simulate",
                ", ".join(f"{k} = {shortened(str(v))}" for k, v in scenario.simulate.items()),
            )
        )
    lines += [("source", scenario.source)] if scenario.source else []
    lines += [("summary", scenario.summary)] if scenario.summary else []
    return "\n".join([str(scenario.system), *_aligned(lines)])


def _energies(system: System) -> Iterator[_Line]:
    if system.kinetic is not None:
        yield "kinetic energy", _shown(system.kinetic)
        if system.potential:
            yield "potential energy", _shown(system.potential)
    elif system.lagrangian is not None:
        yield "Lagrangian", _shown(system.lagrangian)
    if system.hamiltonian is not None:
        yield "Hamiltonian", _shown(system.hamiltonian)
    yield from _table("fibre velocity", system.bundle)


def _definitions(quantities: Iterable[Quantity]) -> Iterator[_Line]:
    for quantity in quantities:
        yield f"define {quantity.name}", _shown(quantity.definition)


def _inputs(inputs: Mapping[sympy.Symbol, sympy.Expr | None]) -> Iterator[_Line]:
    for symbol, law in inputs.items():
        yield f"input {symbol.name}", "free" if law is None else _shown(law)


def _table(
    word: str, values: Mapping[sympy.Symbol, sympy.Expr] | Mapping[str, sympy.Expr]
) -> list[_Line]:
    return _limited(
        ((f"{word} {key}", _shown(value)) for key, value in values.items()), f"further {word}"
    )


def _names(word: str, symbols: Iterable[sympy.Symbol]) -> Iterator[_Line]:
    names = [symbol.name for symbol in symbols]
    if names:
        more = f" and {len(names) - MOST_LINES} more" if len(names) > MOST_LINES else ""
        yield word, ", ".join(names[:MOST_LINES]) + more


def _limited(lines: Iterable[_Line], further: str) -> list[_Line]:
    found = list(lines)
    if len(found) <= MOST_LINES:
        return found
    return [*found[:MOST_LINES], (further, str(len(found) - MOST_LINES))]


def _shown(expression: sympy.Expr) -> str:
    """An expression, or a word on its size."""
    for count, _ in enumerate(sympy.preorder_traversal(expression)):
        if count > MOST_OPERATIONS:
            return f"(more than {MOST_OPERATIONS} operations)"
    return str(expression)


def _written(name: str, lines: list[_Line]) -> str:
    return "\n".join([wrapped_formula(name), *_aligned(lines)])


def _aligned(lines: list[_Line]) -> list[str]:
    column = max((len(label) for label, _ in lines), default=0) + 4
    return [
        wrapped_formula(value, f"  {label}".ljust(column), " " * column) for label, value in lines
    ]
