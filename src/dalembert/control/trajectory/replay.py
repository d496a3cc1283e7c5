"""The inputs of a transcribed trajectory through `simulate`: what the system does with them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np

from ...errors import DalembertError
from ...integrate.input_table import InputTable
from ...integrate.motion import Motion
from ...integrate.simulate import simulate
from ...typing import Array
from .guesses import Course, gauss_unknowns
from .nonlinear_program import Unknowns
from .problem_statement import Statement

__all__ = ["Replay", "input_tables", "replay"]

#: Places and weights of the quadrature of the cost on each interval.
PLACES, WEIGHTS = (np.array(each) for each in np.polynomial.legendre.leggauss(6))


@dataclass(frozen=True, eq=False)
class Replay:
    """A replayed trajectory.

    Attributes
    ----------
    motion : Motion or None
        None where `simulate` refused to start.
    distance : float
        The largest distance from the planned states at the nodes, of symbols that grow beyond one
        relative to their size.
    miss : array (N + 1,)
        That distance at each node.
    cost : float
        Of the replayed motion.
    violation : float
        How far bounds of states and expressions are exceeded along the motion.
    violated : str
        Which bound that is.
    beyond : array (N,)
        The largest violation on each interval.
    integrals : array or None
        Those of the cost and of conditions.
    singular : float or None
        A node at which an integrand is not finite, so that its integral may diverge.
    """

    motion: Motion | None
    distance: float
    miss: Array
    cost: float
    violation: float
    violated: str
    beyond: Array
    integrals: Array | None
    singular: float | None = None


def input_tables(statement: Statement, found: Unknowns) -> dict[str, InputTable]:
    """The inputs as tables that `simulate` takes."""
    first, last = found.times
    times = first + found.edges * (last - first)
    times[-1] = last
    return {
        symbol.name: InputTable(times, found.inputs[:, :, k])
        for k, symbol in enumerate(statement.dynamics.inputs)
    }


def replay(statement: Statement, found: Unknowns, rtol: float) -> Replay:
    """Simulate the inputs from the first node on."""
    dynamics, N = statement.dynamics, len(found.edges) - 1
    names = [symbol.name for symbol in dynamics.state]
    first, last = found.times
    nodes = first + found.edges * (last - first)
    nodes[-1] = last
    widths = np.diff(nodes)
    between = nodes[:-1, None] + widths[:, None] * (PLACES + 1.0) / 2.0
    lost = Replay(None, np.inf, np.full(N + 1, np.inf), np.nan, np.nan, "", np.zeros(N), None)
    used = {s.name for s in dynamics.kernel.parameters}
    parameters = {
        s.name: float(value)
        for s, value in zip(dynamics.parameters, found.parameters, strict=True)
        if s.name in used
    }
    times = np.concatenate([nodes[:-1, None], between], axis=1).ravel()
    try:
        motion = simulate(
            dynamics.equations, dict(zip(names, found.nodes[0].tolist(), strict=True)),
            (first, last), parameters=parameters, at=np.append(times, last), rtol=rtol,
            inputs=input_tables(statement, found) or None,
        )  # fmt: skip
    except DalembertError:
        return lost
    if not motion.success or len(motion.t) != len(times) + 1:
        return replace(lost, motion=motion)
    rows = {symbol.name: k for k, symbol in enumerate(motion.state)}
    states = np.stack(
        [motion.y[rows[name]] if name in rows else motion[name] for name in names], axis=1
    )
    per = len(PLACES) + 1
    at_nodes = np.concatenate([states[:-1:per], states[-1:]])
    scale = np.maximum(1.0, np.max(np.abs(found.nodes), axis=0))
    miss = np.max(np.abs(at_nodes - found.nodes) / scale, axis=1)
    measured = _measured(statement, found, nodes, states, motion)
    return Replay(motion, float(np.max(miss)), miss, *measured)


def _measured(
    statement: Statement, found: Unknowns, nodes: Array, states: Array, motion: Motion
) -> tuple[float, float, str, Array, Array, float | None]:
    """The cost of the motion, what it exceeds, its integrals and where these are singular."""
    dynamics, N, per = statement.dynamics, len(found.edges) - 1, len(PLACES) + 1
    inside = states[:-1].reshape(N, per, -1)
    times = motion.t[:-1].reshape(N, per)
    u = np.stack(
        [table.at(times) for table in input_tables(statement, found).values()], axis=2
    ) if dynamics.inputs else np.zeros((N, per, 0))  # fmt: skip
    course = Course(found.times, found.parameters, lambda s: states, lambda s: states)
    parts = (times - times[0, 0]) / (found.times[1] - found.times[0])
    w = gauss_unknowns(statement, course, parts, inside, u)
    q = statement.quantities
    function = ca.Function("along", dynamics.arguments, [q.integrands, statement.path_values]).map(
        N * per
    )
    flat = [
        times.reshape(1, -1), inside.reshape(N * per, -1).T, w.reshape(N * per, -1).T,
        u.reshape(N * per, -1).T, np.tile(found.parameters[:, None], (1, N * per)),
    ]  # fmt: skip
    integrands, path = (np.asarray(each, dtype=float) for each in function(*flat))
    table = integrands.reshape(len(integrands), N, per)[:, :, 1:]
    totals = np.einsum("ikj,j,k->i", table, WEIGHTS / 2.0, np.diff(nodes))
    ends = []
    for column, place, time, inputs in (
        (q.starts, states[0], nodes[0], found.inputs[0, 0]),
        (q.ends, states[-1], nodes[-1], found.inputs[-1, -1]),
    ):
        at = ca.Function("end", dynamics.arguments, [column])
        zero = np.zeros(dynamics.unknowns.numel())
        ends.append(at(time, place, zero, inputs, found.parameters))
    cost = float(np.asarray(q.value(totals, *ends, found.parameters)).ravel()[0])
    found_path = path.reshape(len(path), N, per)
    at_nodes = integrands.reshape(len(integrands), N, per)[:, :, 0]
    infinite = np.flatnonzero(~np.all(np.isfinite(at_nodes), axis=0))
    singular = float(nodes[infinite[0]]) if infinite.size else None
    violations = _violations(statement, inside, found_path)
    return cost, *violations, np.asarray(totals, dtype=float), singular


def _violations(statement: Statement, states: Array, path: Array) -> tuple[float, str, Array]:
    worst, name = 0.0, ""
    beyond = np.zeros(len(states))
    rows = [
        (symbol.name, own, states[:, :, k])
        for k, (symbol, own) in enumerate(
            zip(statement.dynamics.state, statement.states, strict=True)
        )
    ]
    rows += [(own.name, own.range, path[k]) for k, own in enumerate(statement.path)]
    for label, own, values in rows:
        over = np.max(np.maximum(own.low - values, values - own.high), axis=1)
        beyond = np.maximum(beyond, over)
        if np.max(over) > worst:
            worst, name = float(np.max(over)), label
    return worst, name, beyond
