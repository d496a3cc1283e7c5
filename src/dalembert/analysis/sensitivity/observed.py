"""Quantities along a motion with their derivatives by state and parameters, many states at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np
import sympy

from ...codegen.backends.interpreter import interpret
from ...codegen.program import Program, straight_line
from ...errors import ModelError, nearest
from ...typing import Array, Symbol

if TYPE_CHECKING:
    from ...algebra.protocol import Block
    from ...runtime.kernel import Kernel

__all__ = ["ObservedDerivatives", "observe"]


class ObservedDerivatives(NamedTuple):
    """Values (nt, q), derivatives by state (nt, q, n_state) and by asked parameters (nt, q, nx)."""

    values: Array
    by_state: Array
    by_parameters: Array


def observe(
    kernel: Kernel,
    quantities: Sequence[Symbol],
    parameters: Sequence[sympy.Symbol],
    times: Array,
    states: Array,
    p: Array,
) -> ObservedDerivatives:
    """Observe quantities, names or expressions, at states (nt, n_state)."""
    key = ("observed derivatives", tuple(quantities), tuple(parameters))
    program = kernel.cache.get(key, lambda: _program(kernel, quantities, parameters))
    nt, q, ns, nx = len(times), len(quantities), kernel.n_state, len(parameters)
    if not nt:
        return ObservedDerivatives(np.zeros((0, q)), np.zeros((0, q, ns)), np.zeros((0, q, nx)))
    u, none = np.zeros((len(kernel.free_inputs), 1)), np.zeros((0, 1))
    inputs = (np.asarray(times)[None, :], np.asarray(states).T, np.asarray(p)[:, None], u, none)
    out = interpret(program, inputs).reshape(-1, nt)
    derivatives = np.moveaxis(out[q:].reshape(ns + nx, q, nt), (0, 1, 2), (2, 1, 0))
    return ObservedDerivatives(out[:q].T, derivatives[:, :, :ns], derivatives[:, :, ns:])


def _program(
    kernel: Kernel, quantities: Sequence[Symbol], parameters: Sequence[sympy.Symbol]
) -> Program:
    column, vector = ca.vertcat(*[_lowered(kernel, x) for x in quantities]), kernel.algebra.vector
    symbols = ca.vertcat(vector(kernel.equations.state), vector(parameters))
    known = ca.vertcat(*kernel._inputs())
    strange = [s.name() for s in ca.symvar(column) if not ca.depends_on(known, s)]
    if strange:
        remedy = "write it in coordinates, velocities or momenta, parameters and t"
        raise ModelError("A quantity is no function of the state", ", ".join(strange), remedy)
    outputs = [column, ca.densify(ca.jacobian(column, symbols))]
    return straight_line("observed_derivatives", kernel._inputs(), outputs)


def _lowered(kernel: Kernel, item: Symbol | float) -> Block:
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
        what = f"There is no quantity `{name}` to differentiate"
        remedy = f"did you mean {near}" if near else "use one of these names, or an expression"
        raise ModelError(what, ", ".join([*table, *system.outputs, "energy"]), remedy)
    return kernel.lower([table[name]])


def _symbols(kernel: Kernel) -> Mapping[str, sympy.Symbol]:
    system, state = kernel.equations.system, kernel.equations.state
    every = (*state, *system.velocities, *system.momenta, *system.inputs, *kernel.parameters)
    return {symbol.name: symbol for symbol in every}
