"""The symbols that a form integrates, and those that a motion shows: all velocities, also where the
form keeps some.

    form:  (q, some velocities, or quasi-velocities)     <->     motion:  (q, q_dot)

A form whose independent velocities may be chosen anew has other symbols after each choice; the
motion has the same throughout.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import RunError
from ..runtime.gauss.constrained_solve import solve_rows

if TYPE_CHECKING:
    import casadi as ca
    import sympy

    from ..formulations.equations import Equations
    from ..runtime.context import Context
    from ..runtime.kernel import Kernel
    from ..typing import Array

__all__ = [
    "own_states",
    "reported_symbols",
    "shown_states",
    "state_with_velocities",
    "states_with_velocities",
    "symbols_by_velocities",
]


def reported_symbols(equations: Equations) -> tuple[sympy.Symbol, ...]:
    """The symbols of a motion's state: all velocities, even if the form keeps only some."""
    if equations.rechoose is None:
        return equations.state
    return (*equations.system.coordinates, *equations.system.velocities)


def shown_states(context: Context, times: Array, states: Array) -> Array:
    """States (nt, n) of a form as a motion shows them, with all velocities."""
    equations = context.kernel.equations
    if equations.rechoose is None:
        return states
    n = len(equations.system.coordinates)
    if not len(times):
        return np.zeros((0, 2 * n))
    velocities = context.kernel.velocities(times, states, context.parameters)
    return np.concatenate((states[:, :n], velocities), axis=1)


def own_states(context: Context, times: Array, states: Array) -> Array:
    """States (nt, n_shown) that a motion shows, in the symbols of the form (nt, n)."""
    equations = context.kernel.equations
    if equations.rechoose is None:
        return states
    n = len(equations.system.coordinates)
    return states_with_velocities(
        context.kernel, times, states[:, :n], states[:, n:], context.parameters
    )


def state_with_velocities(
    kernel: Kernel, time: float, q: Array, velocities: Array, p: Array
) -> Any:
    """The state (n_state,) of a form at coordinates and velocities that obey the constraints."""
    states: Any = states_with_velocities(
        kernel, np.array([time]), np.array([q]), np.array([velocities]), p
    )[0]
    return states


def states_with_velocities(
    kernel: Kernel, times: Array, coordinates: Array, velocities: Array, p: Array
) -> Array:
    """The states (nt, n_state) of a form at times, coordinates (nt, n) and velocities (nt, n)."""
    system, state = kernel.equations.system, kernel.equations.state
    n_q = len(system.coordinates)
    level = list(range(n_q, len(state)))
    places = {symbol: k for k, symbol in enumerate(system.velocities)}
    states = np.zeros((len(times), len(state)))
    states[:, :n_q] = coordinates
    for k in level:
        if state[k] in places:
            states[:, k] = velocities[:, places[state[k]]]
    if all(state[k] in places for k in level):
        return states
    import casadi as ca

    u = np.zeros(len(kernel.free_inputs))
    if kernel.graph.own_symbols is not None:
        given, values = symbols_by_velocities(kernel)
        function = ca.Function("own_symbols", [*kernel._inputs(), given], [values])
        for y, time, target in zip(states, times, velocities, strict=True):
            y[level] = np.asarray(function(time, y, p, u, np.zeros(0), target), dtype=float).ravel()
        return states
    wanted = ca.SX.sym("wanted", n_q)
    # Beside the constraints, which the velocities obey, a form may tie symbols of its state.
    tied = ca.SX(kernel.graph.velocity.residual)[len(system.bilateral) :]
    conditions = ca.vertcat(kernel.lower(system.velocities) - wanted, tied)
    symbols = kernel.algebra.vector([state[k] for k in level])
    function = ca.Function(
        "match", [*kernel._inputs(), wanted], [conditions, ca.jacobian(conditions, symbols)]
    )
    guesses = [np.full(len(level), guess) for guess in (0.0, 0.7, -0.4)]
    for y, time, target in zip(states, times, velocities, strict=True):
        for guess in guesses:
            y[level] = np.where([state[k] in places for k in level], y[level], guess)
            if _matched(function, time, y, p, u, target, level):
                guesses[0] = y[level].copy()
                break
        else:
            raise RunError(
                f'No state of the form "{kernel.equations.form}" has the velocities that were'
                " given",
                seen=f"t = {time:.9g}, "
                + ", ".join(
                    f"{s.name} = {v:.6g}" for s, v in zip(system.velocities, target, strict=True)
                ),
                remedy='give velocities that obey the constraints, or use the form "lagrange"',
            )
    return states


def symbols_by_velocities(kernel: Kernel) -> tuple[ca.SX, ca.SX]:
    """A column of velocities (n x 1), and the symbols of a form as functions of it.

    Some velocities may be symbols of the state themselves, and are other symbols here.
    """
    import casadi as ca

    velocities = kernel.equations.system.velocities
    given = ca.SX.sym("velocities", len(velocities))
    own = ca.substitute(kernel.graph.own_symbols, kernel.algebra.vector(velocities), given)
    return given, own


def _matched(
    function: ca.Function,
    time: float,
    y: Array,
    p: Array,
    u: Array,
    target: Array,
    level: list[int],
) -> bool:
    """Newton's method for symbols that give the wanted velocities; whether it converged.

    Each velocity is compared with the terms that it is the sum of, so that units do not matter.
    """
    for _ in range(50):
        value, rows = (
            np.asarray(b, dtype=float) for b in function(time, y, p, u, np.zeros(0), target)
        )
        if not np.all(np.isfinite(rows)):
            return False
        wanted = np.concatenate([np.abs(target), np.zeros(len(rows) - len(target))])
        sizes = wanted + np.abs(rows) @ np.abs(y[level])
        if np.all(np.abs(value.ravel()) <= 1e-14 * sizes):
            return True
        step = solve_rows(rows, -value)  # the velocities are in the range of the rows
        y[level] += step
        if np.all(np.abs(step) <= 1e-15 * np.abs(y[level])):
            break
    return bool(np.max(np.abs(value)) <= 1e-9 * np.max(sizes))
