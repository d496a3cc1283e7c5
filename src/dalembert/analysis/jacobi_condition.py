r"""Whether the variational motion is the mechanical one: the condition of applicability of the Hamilton-Jacobi method.

    lambda_l e_l . delta q = 0,   e_l = df_l/dq - d/dt df_l/dv,   on displacements with df_l/dv . delta q = 0         (5.10)

Where it holds, lambda_l e_l = (lambda C) f_v with C = e f_v^T (f_v f_v^T)^-1, and (5.11) beside the mechanical equations
p' - L_q = mu f_v says how the multipliers go along with a mechanical motion,

    lambda' = -mu + lambda C,

which is linear: the best start of lambda is found by least squares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np

from ..algebra.graph import GraphAlgebra
from ..compiled.book import Book
from ..compiled.constrained_solve import rank, solve
from ..compiled.kernel import kernel_of, parameter_values
from ..errors import DalembertError, ModelError, RunError
from ..formulations.lagrange import lagrangian_and_momenta
from ..formulations.registry import derive
from ..formulations.rows import velocity_level
from ..integrate.motion import Motion
from ..model.symbols import t
from ..model.system import System
from .sampling import consistent_states

__all__ = ["AlongMotion", "Applicability", "applicability", "condition_along"]

#: What is left of the condition, relative to its terms, where it holds: at states, and along a motion.
SAME, SAME_ALONG = 1e-8, 1e-6
#: What is smaller than this, relative to its terms, is rounding.
ROUNDING = 1e-10
#: Multipliers are measured against at least this part of the momenta.
FLOOR = 1e-6
#: Gauss nodes of a panel on (0, 1), and how many panels a motion is cut into at most.
GAUSS_NODES = (np.polynomial.legendre.leggauss(6)[0] + 1) / 2
MOST_PANELS = 300


@dataclass(frozen=True)
class Applicability:
    """Whether every motion of the canonical equations is one of the mechanical system.

    Attributes
    ----------
    applies : bool or None
        None where no state was found at which to decide it.
    worst : float
        What is left of the condition relative to its terms, at most, at generic states with arbitrary multipliers.
    states : int
    sentence : str
    """

    applies: bool | None
    worst: float
    states: int
    sentence: str


@dataclass(frozen=True)
class AlongMotion:
    """Condition (5.10) along one motion.

    Attributes
    ----------
    applies : bool
    worst : float
        What is left of the condition along the motion, relative to the largest of its terms.
    multipliers : mapping of name to float
        ``chi_<constraint>`` at the first time: those of a vakonomic motion, the best ones for another.
    sentence : str
    """

    applies: bool
    worst: float
    multipliers: Mapping[str, float]
    sentence: str


class _Condition:
    """f_v, e and the size of its terms, as functions of (t, q, v, q_ddot); m constraints, n coordinates."""

    def __init__(self, system: System) -> None:
        algebra = GraphAlgebra()
        q, v, time = algebra.vector(system.coordinates), algebra.vector(system.velocities), algebra.vector([t])
        a = algebra.vector([coordinate.ddot for coordinate in system.coordinates])
        _, momenta = lagrangian_and_momenta(system, algebra)
        residual = velocity_level(system, algebra, momenta).residual
        rows = algebra.jacobian(residual, v)
        by_place = algebra.jacobian(residual, q)
        fastest = ca.mmax(ca.fabs(v)) * ca.SX.ones(len(system.coordinates))
        changes, sizes = [], []
        for place in range(rows.shape[0]):
            row = rows[place, :].T
            slopes = algebra.jacobian(row, q), algebra.jacobian(row, v), algebra.jacobian(row, time)
            changes.append((slopes[0] @ v + slopes[1] @ a + slopes[2]).T)
            sizes.append((ca.fabs(slopes[0]) @ fastest + ca.fabs(slopes[1]) @ ca.fabs(a) + ca.fabs(slopes[2])).T)
        blocks = [rows, by_place - algebra.stack(changes), ca.fabs(by_place) + algebra.stack(sizes)]
        letters = [time, q, v, a, algebra.vector(system.parameters)]
        self.function = ca.Function("condition", letters, [ca.densify(block) for block in blocks])

    def __call__(self, time: float, q: Any, v: Any, a: Any, parameters: Any) -> tuple[Any, Any, Any]:
        """f_v, e and the size of e, (m, n) each."""
        values = self.function.call([time, q, v, a, parameters])
        rows, twist, size = (np.asarray(value, dtype=float) for value in values)
        return rows, twist, size


def _left(rows: Any, twist: Any) -> Any:
    """e on a basis of the displacements that the rows allow, (m, n - r)."""
    return twist @ rank(rows).null_space


def applicability(system: System, parameters: Mapping[str, Any], start: Mapping[str, Any], n: int = 10) -> Applicability:
    """Condition (5.10) at generic states of the variational problem, with arbitrary multipliers."""
    if not system.bilateral:
        return Applicability(True, 0.0, 0, "every motion: no constraints, so this is the ordinary Hamilton-Jacobi equation")
    kernel = kernel_of(derive(system, "vakonomic"), system.parameters)
    try:
        samples = consistent_states(kernel, parameters, start, n)
    except DalembertError as error:
        return Applicability(None, float("nan"), 0, f"not decided: {error}")
    condition, book, count = _Condition(system), Book(kernel, samples.parameters), len(system.coordinates)
    worst, tried = 0.0, 0
    for time, state in zip(samples.times, samples.states, strict=True):
        try:
            rates = book.rates(time, state)
        except RunError:
            continue
        q, v, chi = state[:count], state[count : 2 * count], state[2 * count :]
        rows, twist, size = condition(time, q, v, rates[count : 2 * count], samples.parameters)
        tried += 1
        worst = max(worst, float(np.max(np.abs(chi @ _left(rows, twist)), initial=0.0) / (np.max(np.abs(chi) @ size) + 1e-300)))
    if not tried:
        return Applicability(None, float("nan"), 0, "not decided: the variational motion is determined at no state tried")
    applies = worst < SAME
    if applies:
        sentence = f"every motion: (5.10) holds at {tried} generic states with arbitrary multipliers"
    else:
        sentence = (
            f"not in general: (5.10) fails at generic states, by {worst:.2g} of its terms; the method gives the motion of the "
            "variational problem, and along(motion) tells whether a mechanical motion is one of these"
        )
    return Applicability(applies, worst, tried, sentence)


# -- along a motion ------------------------------------------------------------------------------------------------


def condition_along(motion: Motion) -> AlongMotion:
    """Condition (5.10) along a motion: with its own multipliers where it is vakonomic, with the best ones otherwise."""
    system = motion.system
    if not system.bilateral:
        return AlongMotion(True, 0.0, {}, "the method applies: no constraints")
    if len(motion.t) < 2:
        raise ModelError("A motion of one point says nothing", remedy="simulate a span of time")
    edges = _edges(motion)
    dense = _at_nodes(motion, edges)
    parameters = parameter_values(system.parameters, dict(motion.parameters))
    condition = _Condition(system)
    letters = (system.coordinates, system.velocities, [q.ddot for q in system.coordinates])
    q, v, a = (np.array([dense[letter] for letter in group]).T for group in letters)
    blocks = [condition(*point, parameters) for point in zip(dense.t, q, v, a, strict=True)]
    names = [f"chi_{c.name}" for c in system.bilateral]
    if motion.equations.form == "vakonomic":
        multipliers = np.array([dense[name] for name in names]).T
        beginning = {name: float(motion[name][0]) for name in names}
    else:
        independent = list(rank(blocks[0][0]).independent)
        blocks = [tuple(part[independent] for part in block) for block in blocks]
        transfer, rest = _costate_flow(edges, blocks, dense.total_reaction.T)
        first = _best_start(blocks, transfer, rest)
        multipliers = transfer @ first + rest
        beginning = dict.fromkeys(names, 0.0) | {names[k]: float(value) for k, value in zip(independent, first, strict=True)}
    pairs = list(zip(blocks, multipliers, strict=True))
    least = FLOOR * np.max(np.abs([dense[p] for p in system.momenta])) / max(np.max(np.abs(block[0])) for block in blocks)
    left = max(float(np.max(np.abs(own @ _left(block[0], block[1])), initial=0.0)) for block, own in pairs)
    terms = max(float(np.max((np.abs(own) + least) @ block[2])) for block, own in pairs)
    worst = left / terms if terms > 0 else 0.0
    return AlongMotion(worst < SAME_ALONG, worst, beginning, _sentence(worst, beginning, motion.equations.form))


def _sentence(worst: float, beginning: Mapping[str, float], form: str) -> str:
    own = ", ".join(f"{name} = {value:.6g}" for name, value in beginning.items())
    if worst < SAME_ALONG:
        return f"the method applies to this motion: it is mechanical and variational, with {own} at its start ({worst:.1e})"
    if form == "vakonomic":
        return f"this motion of the variational problem is not a mechanical one: (5.10) fails by {worst:.2g} of its terms"
    return f"the method does not apply to this motion: with the best multipliers (5.10) fails by {worst:.2g} of its terms"


def _edges(motion: Motion) -> Any:
    """Times between which the motion is smooth: those of its steps, not too many."""
    steps = np.unique(np.concatenate([segment.step_t for segment in motion.segments]))
    low, high = sorted((float(motion.t[0]), float(motion.t[-1])))
    steps = np.unique(np.concatenate([[low], steps[(steps > low) & (steps < high)], [high]]))
    if len(steps) > MOST_PANELS + 1:
        steps = steps[np.unique(np.linspace(0, len(steps) - 1, MOST_PANELS + 1).astype(int))]
    return steps if motion.t[-1] > motion.t[0] else steps[::-1]


def _at_nodes(motion: Motion, edges: Any) -> Motion:
    """The same motion at the nodes of every panel, from its dense output."""
    times = (edges[:-1, None] + np.diff(edges)[:, None] * GAUSS_NODES).ravel()
    ends = np.array([segment.step_t[-1] for segment in motion.segments[:-1]])
    forward = 1.0 if edges[-1] > edges[0] else -1.0
    owner = np.searchsorted(forward * ends, forward * times)
    return replace(motion, t=times, y=motion.sol(times), owner=owner)


def _costate_flow(edges: Any, blocks: Sequence[tuple[Any, ...]], reaction: Any) -> tuple[Any, Any]:
    """lambda at the nodes as T lambda(0) + s, (nodes, m, m) and (nodes, m), by collocation panel by panel."""
    order, m = len(GAUSS_NODES), len(blocks[0][0])
    powers = np.vander(GAUSS_NODES, order, increasing=True)
    weights = (GAUSS_NODES[:, None] ** np.arange(1, order + 1) / np.arange(1, order + 1)) @ np.linalg.inv(powers)
    whole = (1.0 / np.arange(1, order + 1)) @ np.linalg.inv(powers)
    pushes = -np.array([np.linalg.solve(rows @ rows.T, rows @ own) for (rows, _, _), own in zip(blocks, reaction, strict=True)])
    rates = np.array([np.linalg.solve(rows @ rows.T, rows @ twist.T) for rows, twist, _ in blocks])
    transfer, rest = np.zeros((len(blocks), m, m)), np.zeros((len(blocks), m))
    now = np.hstack([np.eye(m), np.zeros((m, 1))])
    for panel, length in enumerate(np.diff(edges)):
        nodes = slice(panel * order, (panel + 1) * order)
        coupling = np.einsum("ij,jab->iajb", weights, rates[nodes]).reshape(order * m, order * m)
        right = np.tile(now, (order, 1))
        right[:, m] += length * (weights @ pushes[nodes]).reshape(order * m)
        found = np.linalg.solve(np.eye(order * m) - length * coupling, right).reshape(order, m, m + 1)
        transfer[nodes], rest[nodes] = found[:, :, :m], found[:, :, m]
        now = now + length * np.einsum("i,iab->ab", whole, rates[nodes] @ found)
        now[:, m] += length * (whole @ pushes[nodes])
    return transfer, rest


def _best_start(blocks: Sequence[tuple[Any, ...]], transfer: Any, rest: Any) -> Any:
    """lambda(0) that leaves least of (5.10) along the motion, itself least where it is not unique."""
    lefts = [_left(rows, twist).T for rows, twist, _ in blocks]
    table = np.vstack([left @ flow for left, flow in zip(lefts, transfer, strict=True)])
    terms = max(float(np.max(size.T @ np.abs(flow))) for (_, _, size), flow in zip(blocks, transfer, strict=True))
    first = np.zeros(transfer.shape[1])
    table[np.abs(table).max(axis=1, initial=0.0) <= ROUNDING * terms] = 0.0
    independent = rank(table).independent
    if not len(independent):
        return first
    span = table[independent]
    for _ in range(3):
        left = np.concatenate([part @ (flow @ first + own) for part, flow, own in zip(lefts, transfer, rest, strict=True)])
        inner = table @ span.T
        first = first + span.T @ solve(inner.T @ inner, -inner.T @ left).z
    return first
