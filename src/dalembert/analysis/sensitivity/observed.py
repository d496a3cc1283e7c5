"""Quantities along a motion with their derivatives by state and parameters, many states at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import sympy

from ...codegen.backends.interpreter import interpret
from ...codegen.program import Program, straight_line
from ...errors import ModelError, nearest

__all__ = ["Observed", "observe"]


class Observed(NamedTuple):
    """Values (nt, q), derivatives by the state (nt, q, n_state) and by the asked parameters (nt, q, nx)."""

    values: Any
    by_state: Any
    by_parameters: Any


def observe(kernel: Any, quantities: Sequence[Any], parameters: Sequence[Any], times: Any, states: Any, p: Any) -> Observed:
    """Observe quantities, names or expressions, at states (nt, n_state)."""
    kept: dict[Any, Program] = kernel.__dict__.setdefault("_observed_derivatives", {})
    key = (tuple(quantities), tuple(parameters))
    if key not in kept:
        kept[key] = _program(kernel, quantities, parameters)
    nt, q, ns, nx = len(times), len(quantities), kernel.n_state, len(parameters)
    if not nt:
        return Observed(np.zeros((0, q)), np.zeros((0, q, ns)), np.zeros((0, q, nx)))
    u = np.zeros((len(kernel.free_inputs), 1))
    inputs = (np.asarray(times)[None, :], np.asarray(states).T, np.asarray(p)[:, None], u, np.zeros((0, 1)))
    out = interpret(kept[key], inputs).reshape(-1, nt)
    values, derivatives = out[:q].T, out[q:].reshape(ns + nx, q, nt)
    return Observed(
        values, np.moveaxis(derivatives[:ns], (0, 1, 2), (2, 1, 0)), np.moveaxis(derivatives[ns:], (0, 1, 2), (2, 1, 0))
    )


def _program(kernel: Any, quantities: Sequence[Any], parameters: Sequence[Any]) -> Program:
    column = ca.vertcat(*[_lowered(kernel, item) for item in quantities])
    symbols = ca.vertcat(kernel.algebra.vector(kernel.equations.state), kernel.algebra.vector(parameters))
    known = ca.vertcat(*kernel._inputs())
    strange = [s.name() for s in ca.symvar(column) if not ca.depends_on(known, s)]
    if strange:
        raise ModelError(
            "A quantity is no function of the state",
            seen=", ".join(strange),
            remedy="write it in coordinates, velocities or momenta, parameters and t",
        )
    return straight_line("observed_slopes", kernel._inputs(), [column, ca.densify(ca.jacobian(column, symbols))])


def _lowered(kernel: Any, item: Any) -> Any:
    """One quantity as an expression of the kernel's symbols."""
    if isinstance(item, sympy.Expr) and not isinstance(item, sympy.Symbol):
        return kernel.lower([item])
    if isinstance(item, (int, float)):
        return ca.SX(float(item))
    name = str(getattr(item, "name", item))
    graph, system = kernel.graph, kernel.equations.system
    if name in graph.outputs:
        return graph.outputs[name]
    if name == "energy":
        return graph.energy
    table = _symbols(kernel)
    if name not in table:
        near = nearest(name, [*table, *system.outputs])
        raise ModelError(
            f"There is no quantity `{name}` to differentiate",
            seen=", ".join([*table, *system.outputs, "energy"]),
            remedy=f"did you mean {near}" if near else "use one of these names, or an expression",
        )
    return kernel.lower([table[name]])


def _symbols(kernel: Any) -> Mapping[str, Any]:
    system = kernel.equations.system
    every = (*kernel.equations.state, *system.velocities, *system.momenta, *system.inputs, *kernel.parameters)
    return {symbol.name: symbol for symbol in every}
