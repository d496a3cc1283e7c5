r"""A first guess of an extremal by direct transcription: the implicit midpoint rule, and IPOPT.

    minimise    sum h L(x_k+1/2, u_k, t_k+1/2)
    subject to  x_k+1 - x_k - h X(x_k+1/2, u_k, t_k+1/2) = 0

The midpoint rule is symplectic, so that the multipliers of its defects are costates at the
midpoints, to the second order in h. Where the inputs do not move the place in all directions (a
norm that is conserved, and given at the end) the multipliers are not unique, and IPOPT may return
large ones. The part of them that the inputs do not feel is removed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ...algebra.graph import GraphAlgebra
from ...model.symbols import t
from ...runtime.gauss.constrained_solve import rank
from ...typing import Array, BoolArray
from .ends import Ends
from .problem import ControlProblem

if TYPE_CHECKING:
    from .search import TimeFunction, TwoPointTask

__all__ = ["Draft", "transcribe"]

#: Costates that move inputs by less than this, relatively, do not move them.
UNFELT = 1e-9
IPOPT = {"print_level": 0, "sb": "yes", "max_iter": 800, "tol": 1e-8}
QUIET: dict[str, Any] = {"print_time": False, "ipopt": IPOPT}


@dataclass(frozen=True)
class Draft:
    """A transcribed solution on a grid of N steps.

    Attributes
    ----------
    times, states : arrays (N + 1,) and (N + 1, n)
    midpoints, costates : arrays (N,) and (N, n)
    cost : float
    message : str
        What IPOPT said.
    """

    times: Array
    states: Array
    midpoints: Array
    costates: Array
    cost: float
    message: str

    def at(self, time: float) -> Array:
        """Symbols and costates (2n,) at a time, linearly between and beyond the grid points."""
        x = [np.interp(time, self.times, column) for column in self.states.T]
        k = int(np.clip(np.searchsorted(self.midpoints, time) - 1, 0, len(self.midpoints) - 2))
        share = (time - self.midpoints[k]) / (self.midpoints[k + 1] - self.midpoints[k])
        return np.concatenate([x, (1 - share) * self.costates[k] + share * self.costates[k + 1]])


def transcribe(
    task: TwoPointTask, nodes: int, seed: int, guess: Mapping[str, TimeFunction], bend: float = 0.0
) -> Draft:
    """Solve the transcribed problem.

    Parameters
    ----------
    guess : mapping of name to function of time
        First guesses of symbols and inputs; otherwise symbols go straight from start to end, and
        inputs are small random numbers.
    bend : float
        How far the straight way is bent by random sinusoids, relative to its length.
    """
    problem, ends, span, values = task.problem, task.ends, task.span, task.numbers
    n, m = len(problem.symbols), len(problem.inputs)
    step, algebra = (span[1] - span[0]) / nodes, GraphAlgebra()
    blocks = ([t], problem.symbols, problem.inputs, task.symbols)
    arguments = [algebra.vector(block) for block in blocks]
    rates_now = algebra.vector(problem.rates)
    function = ca.Function("rates", arguments, [rates_now, algebra.vector([problem.cost])])
    derivatives = [ca.densify(ca.jacobian(rates_now, arguments[k])) for k in (1, 2)]
    jacobians = ca.Function("jacobians", arguments, derivatives)
    x, u = ca.MX.sym("x", n, nodes + 1), ca.MX.sym("u", m, nodes)
    midpoints = np.asarray(span[0] + step * (np.arange(nodes) + 0.5), dtype=float)
    numbers = ca.repmat(ca.DM(np.asarray(values)), 1, nodes)
    middle = (x[:, 1:] + x[:, :-1]) / 2
    rates, costs = function.map(nodes)(ca.DM(midpoints).T, middle, u, numbers)
    defects = x[:, 1:] - x[:, :-1] - step * rates
    arrival = ca.DM(ends.end_rows) @ (x[:, -1] - ca.DM(ends.end))
    unknowns, conditions = ca.veccat(x, u), ca.veccat(defects, arrival)
    program = {"x": unknowns, "f": step * ca.sum2(costs), "g": conditions}
    solver = ca.nlpsol("transcription", "ipopt", program, QUIET)
    first, low, high = _guesses(problem, ends, span, nodes, seed, guess, bend)
    try:
        found: Mapping[str, Any] = solver(x0=first, lbx=low, ubx=high, lbg=0.0, ubg=0.0)
    except RuntimeError as error:  # a function that is not defined at the guess
        found = {"x": first, "lam_g": np.zeros(n * nodes + len(ends.end_rows)), "f": np.nan}
        message = str(error).splitlines()[-1][:100]
    else:
        message = str(solver.stats()["return_status"])
    solution, multipliers = (np.asarray(found[key], dtype=float).ravel() for key in ("x", "lam_g"))
    states = solution[: n * (nodes + 1)].reshape(nodes + 1, n)
    inputs = solution[n * (nodes + 1) :].reshape(nodes, m)
    tables = [
        [np.asarray(block, dtype=float) for block in jacobians(time, (low + high) / 2, own, values)]
        for time, low, high, own in zip(midpoints, states[:-1], states[1:], inputs, strict=True)
    ]
    costates = multipliers[: n * nodes].reshape(nodes, n)
    costates = _felt(costates, tables, step, ~ends.start_fixed)
    times = np.linspace(span[0], span[1], nodes + 1)
    return Draft(times, states, midpoints, costates, float(found["f"]), message)


def _felt(costates: Array, tables: list[list[Array]], step: float, free: BoolArray) -> Array:
    """Costates (N, n) without the part that neither inputs nor free symbols at the start feel.

    Multipliers l_k that differ from others by a solution of (1 + h/2 A_k)^T l_k = (1 - h/2 A_k-1)^T
    l_k-1 with B_k^T l_k = 0 meet the same conditions.
    """
    n = costates.shape[1]
    one = np.eye(n)
    carried: list[Array] = [one]
    try:
        for before, (A, _) in pairwise(tables):
            right = (one - step / 2 * before[0]).T @ carried[-1]
            carried.append(np.asarray(np.linalg.solve((one + step / 2 * A).T, right), dtype=float))
    except np.linalg.LinAlgError:  # the guess is used as it is
        return costates
    seen = [B.T @ own for (_, B), own in zip(tables, carried, strict=True)]
    seen.append(((one + step / 2 * tables[0][0]).T)[free])
    rows = np.vstack(seen)
    if not np.all(np.isfinite(rows)):
        return costates
    sizes = np.linalg.norm(rows, axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    unfelt = rank(rows / sizes, UNFELT).null_space
    excess = unfelt @ (unfelt.T @ (sizes * costates[0])) / sizes
    felt: Array = costates - np.array([own @ excess for own in carried])
    return felt


def _guesses(
    problem: ControlProblem, ends: Ends, span: tuple[float, float], nodes: int, seed: int,
    guess: Mapping[str, TimeFunction], bend: float,
) -> tuple[Array, Array, Array]:  # fmt: skip
    """Where IPOPT begins, and the bounds that hold the start."""
    random = np.random.default_rng(seed)
    share = np.linspace(0.0, 1.0, nodes + 1)[:, None]
    states = (1 - share) * ends.start + share * np.where(ends.end_fixed, ends.end, ends.start)
    inputs = random.normal(0.0, 0.3, (nodes, len(problem.inputs))).cumsum(axis=0) / np.sqrt(nodes)
    inputs = inputs + random.normal(0.0, 0.5, len(problem.inputs))
    size = bend * max(1.0, float(np.linalg.norm(ends.end - ends.start)))
    for wave in (1, 2):
        states += size / wave * np.sin(np.pi * wave * share) * random.normal(size=len(ends.start))
    times = np.linspace(span[0], span[1], nodes + 1)
    for k, symbol in enumerate(problem.symbols):
        if symbol.name in guess:
            states[:, k] = [guess[symbol.name](time) for time in times]
    for k, symbol in enumerate(problem.inputs):
        if symbol.name in guess:
            inputs[:, k] = [guess[symbol.name](time) for time in (times[1:] + times[:-1]) / 2]
    first = np.concatenate([states.ravel(), inputs.ravel()])
    low, high = np.full(first.size, -np.inf), np.full(first.size, np.inf)
    fixed = np.flatnonzero(ends.start_fixed)
    low[fixed] = high[fixed] = first[fixed] = ends.start[fixed]
    return first, low, high
