"""Random optimal control problems with answers of other origin: linear systems with quadratic costs
beside the Riccati equation, and with bounded inputs beside Pontryagin's principle.

Found inputs are replayed by SciPy on the matrices that the model was made of.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.optimize import root

import dalembert as da
from dalembert.control import integral, optimise
from dalembert.errors import DalembertError

from .comparisons import Found, look_at_cases
from .harness import Options, Report
from .random_worker import TooLongError, time_limit

__all__ = ["Problem", "look", "problem", "run"]

SYSTEMS = 500
SECONDS = 120.0
#: Costs may differ by this, relatively; what is bounded has corners between nodes.
COST, BOUNDED_COST = 2e-6, 1e-4
#: Replayed ends, relative to the largest state; `optimise` has a tolerance of 1e-6.
REPLAY = 1e-4


@dataclass(frozen=True)
class Problem:
    """M q_ddot + C q_dot + K q = B u from q0, v0 within a time; the cost is the integral of
    z^T Q z + u^T R u, z = (q, q_dot). `bound` limits inputs, which then lead to rest at zero.
    """

    mass: Any
    damping: Any
    stiffness: Any
    inputs: Any
    state_cost: Any
    input_cost: Any
    start: Any
    span: float
    bound: float | None = None

    @property
    def matrices(self) -> tuple[Any, Any]:
        """A (2n, 2n) and B (2n, m) of z_dot = A z + B u."""
        n = len(self.mass)
        inverse = np.linalg.inv(self.mass)
        a = np.block(
            [[np.zeros((n, n)), np.eye(n)], [-inverse @ self.stiffness, -inverse @ self.damping]]
        )
        return a, np.vstack([np.zeros((n, self.inputs.shape[1])), inverse @ self.inputs])


def run(options: Options, report: Report) -> None:
    """Looks at problems until the time is over or all of them are done."""
    look_at_cases(options, report, look, SYSTEMS, "problem")


def problem(number: int) -> Problem:
    """A random problem; every other one has bounded inputs and no cost of the state."""
    rng = np.random.default_rng([25, number])
    n = int(rng.integers(1, 4))
    m = int(rng.integers(1, n + 1))

    def positive(size: int, least: float) -> Any:
        factor = rng.normal(size=(size, size))
        return factor @ factor.T / size + least * np.eye(size)

    size = 10 ** rng.uniform(-3, 3)
    mass = size * positive(n, 0.3)
    stiffness = (
        size * rng.choice([0.0, 1.0]) * (positive(n, 0.1) - rng.choice([0.0, 0.8]) * np.eye(n))
    )
    damping = size * rng.choice([0.0, 0.3]) * positive(n, 0.0)
    inputs = size * (np.eye(n)[:, :m] + 0.3 * rng.normal(size=(n, m)))
    found = Problem(
        mass,
        damping,
        stiffness,
        inputs,
        positive(2 * n, 0.1),
        positive(m, 0.3),
        rng.uniform(-1, 1, 2 * n),
        float(rng.uniform(0.8, 2.5)),
    )
    if number % 2 == 0:
        return found
    free = Problem(
        mass, damping, stiffness, np.linalg.cholesky(mass), 0 * found.state_cost,
        np.eye(n), found.start, found.span,
    )  # fmt: skip
    peak = max(np.abs(_least_effort(free, s)).max() for s in np.linspace(0, free.span, 50))
    return Problem(
        *(getattr(free, name) for name in list(free.__dataclass_fields__)[:-1]),
        bound=float(peak * rng.uniform(0.7, 1.3)),
    )


def _least_effort(one: Problem, at: float) -> Any:
    """The input without bounds that leads to zero: -B^T e^(A^T (T - t)) W^-1 e^(A T) z0."""
    a, b = one.matrices
    return (
        -b.T
        @ expm(a.T * (one.span - at))
        @ np.linalg.solve(_gramian(a, b, one.span), expm(a * one.span) @ one.start)
    )


def _gramian(a: Any, b: Any, span: float) -> Any:
    """The integral of e^(A s) B B^T e^(A^T s), by Van Loan's exponential."""
    k = len(a)
    block = expm(np.block([[-a, b @ b.T], [np.zeros((k, k)), a.T]]) * span)
    return block[k:, k:].T @ block[:k, k:]


def look(number: int) -> Found:
    """One problem beside its other answer."""
    found, one = Found(), problem(number)
    try:
        with time_limit(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _compare(one, found)
    except TooLongError:
        found.counts["not compared: too long"] += 1
    except (DalembertError, ArithmeticError, ValueError, TypeError) as error:
        found.faults.append(f"{type(error).__name__}: {error}")
    return found


def _compare(one: Problem, found: Found) -> None:
    if one.bound is None:
        wanted, limit, kind = _riccati(one), COST, "cost beside Riccati"
    else:
        costs = _pontryagin(one)
        if costs is None:
            found.counts["not compared: no extremal found"] += 1
            return
        wanted, limit, kind = costs, BOUNDED_COST, "cost beside Pontryagin"
    answer = _optimised(one)
    found.note(kind, abs(answer.cost - wanted) / wanted, limit)
    end, cost = _replayed(one, answer)
    at_end = np.array([answer.states[k, -1] for k in range(len(end))])
    size = max(1e-3, float(np.abs(answer.states).max()))
    found.note("replayed end", float(np.abs(end - at_end).max()) / size, REPLAY)
    found.note("replayed cost", abs(cost - answer.cost) / wanted, REPLAY)
    if one.bound is not None:
        inputs = np.array(
            [table.at(np.linspace(0, one.span, 400)) for table in answer.inputs.values()]
        )
        found.note("bound of the inputs", float(np.abs(inputs).max()) / one.bound - 1, 1e-9)
        found.note("end at rest", float(np.abs(end).max()) / size, REPLAY)


def _optimised(one: Problem) -> Any:
    """The answer of the library to the problem stated as a system."""
    n, m = one.inputs.shape
    q = [da.coordinates(f"q{k}") for k in range(n)]
    u = [da.inputs(f"u{k}") for k in range(m)]
    v = [x.dot for x in q]

    def form(matrix: Any, column: list[Any]) -> Any:
        return sum(
            float(matrix[i, j]) * column[i] * column[j]
            for i in range(len(column))
            for j in range(len(column))
        )

    forces = {
        q[i]: sum(float(one.inputs[i, j]) * u[j] for j in range(m))
        - sum(float(one.damping[i, j]) * v[j] for j in range(n))
        for i in range(n)
    }
    system = da.System(
        q,
        kinetic=form(one.mass, v) / 2,
        potential=form(one.stiffness, q) / 2,
        forces=forces,
        inputs=u,
    )
    cost = integral(form(one.state_cost, [*q, *v]) + form(one.input_cost, u))
    start = dict(zip([*q, *v], map(float, one.start), strict=True))
    if one.bound is None:
        return optimise(system, cost, start, None, (0, one.span), at_rest=False)
    end = dict.fromkeys([*q, *v], 0.0)
    bounds = dict.fromkeys(u, (-one.bound, one.bound))
    return optimise(system, cost, start, end, (0, one.span), bounds=bounds)


def _riccati(one: Problem) -> float:
    """The least cost z0^T P(0) z0, by the exponential of the Hamiltonian matrix."""
    a, b = one.matrices
    k = len(a)
    matrix = np.block([[a, -b @ np.linalg.solve(one.input_cost, b.T)], [-one.state_cost, -a.T]])
    whole = expm(-matrix * one.span) @ np.vstack([np.eye(k), np.zeros((k, k))])
    return float(one.start @ np.linalg.solve(whole[:k].T, whole[k:].T).T @ one.start)


def _pontryagin(one: Problem) -> float | None:
    """The least cost with inputs u = clip(-B^T lambda / 2) that lead to zero; None where no
    multiplier is found.
    """
    a, b = one.matrices
    times = np.linspace(0, one.span, 4001)
    step = times[1]
    backward = expm(a * step)
    factors = [np.eye(len(a))]
    for _ in times[1:]:
        factors.append(factors[-1] @ backward)
    reach = np.array([f @ b for f in factors[::-1]])  # e^(A (T - t)) B
    weights = np.full(len(times), 2.0)
    weights[1::2], weights[[0, -1]] = 4.0, 1.0
    weights *= step / 3
    drift = factors[-1] @ one.start
    scale = _gramian(a, b, one.span)

    def inputs(multiplier: Any, bound: float) -> Any:
        return np.clip(-np.einsum("tij,i->tj", reach, multiplier), -bound, bound)

    def missed(multiplier: Any, bound: float) -> Any:
        return np.linalg.solve(
            scale, drift + np.einsum("t,tij,tj->i", weights, reach, inputs(multiplier, bound))
        )

    guess = np.linalg.solve(scale, drift)
    peak = float(np.abs(inputs(guess, np.inf)).max())
    for part in np.linspace(1.0, min(1.0, one.bound / peak), 12):
        solved = root(missed, guess, args=(part * peak if part < 1 else max(one.bound, peak),))
        if not solved.success or np.abs(solved.fun).max() > 1e-7 * np.abs(guess).max():
            return None
        guess = solved.x
    values = inputs(guess, one.bound)
    return float(weights @ (values**2).sum(axis=1))


def _replayed(one: Problem, answer: Any) -> tuple[Any, float]:
    """The end and the cost of the inputs, integrated by SciPy."""
    a, b = one.matrices
    tables = list(answer.inputs.values())

    def rates(t: float, z: Any) -> Any:
        u = np.array([float(table.at(np.array([t]))[0]) for table in tables])
        spent = z[:-1] @ one.state_cost @ z[:-1] + u @ one.input_cost @ u
        return np.append(a @ z[:-1] + b @ u, spent)

    done = solve_ivp(
        rates, (0, one.span), np.append(one.start, 0.0), rtol=1e-7, atol=1e-9,
        max_step=one.span / 100,
    )  # fmt: skip
    return done.y[:-1, -1], float(done.y[-1, -1])
