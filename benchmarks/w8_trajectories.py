"""W8: trajectories: the cart-pole beside five packages, and problems with known optima.

``python benchmarks/w8_trajectories.py ENTRY PROBLEM`` measures one entry: lines of user code, CPU
seconds to build and to solve, the relative difference of the cost from the known optimum, the
final error, and how far bounds are exceeded between nodes. The final error of the cart-pole is the
largest distance between the plan and SciPy's replay of its inputs; that of the other problems,
which are ours alone, is the distance of the replay by `simulate`.
"""

from __future__ import annotations

import ast
import inspect
import statistics
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import w8_peers as peers
from harness import Clock, Entry, Workload, cpu_seconds, report, serve
from scipy.integrate import solve_ivp
from w8_peers import FORCE, RAIL, Plan, even, rates

STATEMENT = "statement of the problem"
CART = ("cart-effort", "cart-time")
PROBLEMS = (
    *CART, "biped", "block-effort", "block-time", "brachistochrone", "heisenberg", "disk-gait",
    "car-with-trailer", "snakeboard-gait", "snakeboard-relaxed", "pendulum-on-rod", "four-bar",
    "identify", "acrobot",
)  # fmt: skip
#: Readings in one process; an entry that takes longer than so many seconds is read once.
REPEATS, LONG = 5, 5.0


@dataclass(frozen=True)
class Task:
    """How an entry solves a problem, and the functions whose lines its user writes."""

    solve: Callable[[], Iterator[Plan | None]]
    written: tuple[Callable[..., Any], ...]


def by_peer(make: Callable[..., Iterator[Plan | None]], *numbers: int | None) -> Any:
    """An entry of the cart-pole."""
    return lambda size: Task(partial(make, *numbers, size == "cart-time"), (make, rates))


def dalembert(tolerance: float, size: str, **options: str) -> Task:
    """Our entry; deriving, transcribing and solving are one call."""
    import w8_problems

    make = w8_problems.PROBLEMS[size].solve

    def solve() -> Iterator[Plan | None]:
        yield None
        found = make(tolerance=tolerance, **options)
        yield None
        yield plan_of(found, size in CART)

    return Task(solve, (make, w8_problems.cart_pole) if size in CART else (make,))


def plan_of(found: Any, is_cart: bool) -> Plan:
    """The nodes of a trajectory and its inputs between them."""
    distance, beyond = found.replay_distance, found.bound_violation
    if not is_cart:
        none = np.zeros(0)
        return Plan(none, none, [], [], found.cost, found.iterations, "", distance, beyond)
    table = found.inputs["u"]
    places = np.linspace(0, 1, table.coefficients.shape[1])
    inside = np.clip(places, 1e-12, 1 - 1e-12)
    inputs = table.at(table.times[:-1, None] + np.diff(table.times)[:, None] * inside)
    return even(table.times, found.states, places, inputs, found.cost, found.iterations)


def replayed(plan: Plan) -> tuple[float, float]:
    """The largest distance between the plan and SciPy's replay, and what exceeds a bound."""
    state, worst, beyond = plan.states[:, 0], 0.0, 0.0
    for k, (first, last) in enumerate(zip(plan.times[:-1], plan.times[1:], strict=True)):
        at, width = plan.places[k], last - first
        u = np.polynomial.Polynomial.fit(
            at, plan.inputs[k], len(at) - 1, domain=[0, 1], window=[0, 1]
        )

        def right(t: float, x: Any, first: float = first, width: float = width, u: Any = u) -> Any:
            return rates(x, u((t - first) / width), np.sin, np.cos)

        run = solve_ivp(
            right, (first, last), state, method="DOP853", rtol=1e-11, atol=1e-13, dense_output=True
        )
        state = run.y[:, -1]
        inside = np.linspace(0.02, 0.98, 13)
        rail = np.max(np.abs(run.sol(first + inside * width)[0])) - RAIL
        beyond = max(beyond, float(np.max(np.abs(u(inside))) - FORCE), float(rail))
        worst = max(worst, float(np.max(np.abs(state - plan.states[:, k + 1]))))
    return worst, beyond


def lines_of(function: Callable[..., Any]) -> int:
    """Lines of code up to the second ``yield``, without docstring, blanks and comments."""
    text = textwrap.dedent(inspect.getsource(function))
    (tree,) = ast.parse(text).body
    assert isinstance(tree, ast.FunctionDef)
    first = tree.body[1 if ast.get_docstring(tree) else 0].lineno
    yields = sorted(node.lineno for node in ast.walk(tree) if isinstance(node, ast.Yield))
    last = yields[1] if len(yields) > 1 else tree.end_lineno
    chosen = [line.strip() for line in text.splitlines()[first - 1 : last]]
    return sum(bool(line) and line[0] != "#" and line != "yield None" for line in chosen)


OURS = (
    "sympy",
    "casadi",
    "dalembert.control.trajectory.optimise",
    "dalembert.formulations.registry",
    "dalembert.integrate.task",
    "dalembert.runtime.kernel",
)
ENTRIES = (
    Entry("dalembert", STATEMENT, partial(dalembert, 1e-6), OURS),
    Entry("dalembert-5e-3", STATEMENT, partial(dalembert, 5e-3), OURS, sizes=CART),
    Entry("dalembert-1e-8", STATEMENT, partial(dalembert, 1e-8), OURS, sizes=("cart-effort",)),
    Entry(
        "casadi-hs50", STATEMENT, by_peer(peers.casadi_by_hand, 50, None), ("casadi",), sizes=CART
    ),
    *(
        Entry(
            f"casadi-radau5x{count}", STATEMENT, by_peer(peers.casadi_by_hand, count, 5),
            ("casadi",), sizes=("cart-effort",),
        )
        for count in (30, 50)
    ),
    Entry("drake", STATEMENT, by_peer(peers.drake, 50), ("pydrake.all",), sizes=CART),
    Entry("rockit", STATEMENT, by_peer(peers.rockit, 50), ("rockit",), sizes=CART),
    Entry("pycollo", STATEMENT, by_peer(peers.pycollo, 10), ("pycollo",), sizes=CART),
    Entry("opty", STATEMENT, by_peer(peers.opty, 200), ("opty",), compiler=True, sizes=CART),
)  # fmt: skip
WORKLOAD = Workload(
    key="W8",
    title="trajectories: cart-pole beside others, and problems with known optima",
    script="w8_trajectories.py",
    entries=ENTRIES,
    sizes=PROBLEMS,
    quick_sizes=CART[:1],
    label="",
    by_size=("cost_gap",),
    by_metric=(
        "lines", "derive_compile_s", "solve_s", "total_s", "first_total_s", "cost_gap",
        "final_error", "between", "iterations",
    ),
    shown_size="cart-effort",
)  # fmt: skip


def measure(entry: Entry, size: str) -> None:
    import w8_problems

    name, optimum = WORKLOAD.row_name(size), w8_problems.PROBLEMS[size].optimum
    task, readings = entry.build(size), []
    plan: Plan | None = None
    while len(readings) < REPEATS:
        clock, steps = Clock(), task.solve()
        next(steps)
        built, _ = clock.read()
        next(steps)
        total, wall = clock.read()
        plan = next(steps)
        readings.append((built, total - built, total, wall))
        if total > LONG:
            break
    assert plan is not None
    error, beyond = replayed(plan) if size in CART else (plan.distance, plan.violation)
    # The first reading has what is loaded on the first use; it counts where it is the only one.
    built, solved, total, wall = (
        statistics.median(column) for column in zip(*(readings[1:] or readings), strict=True)
    )
    rows: dict[str, float] = {
        "lines": sum(lines_of(each) for each in task.written),
        "derive_compile_s": built, "solve_s": solved, "total_s": total, "total_wall_s": wall,
        "first_total_s": readings[0][2], "cost": float(plan.cost),
        "final_error": error, "between": max(beyond, 0.0), "iterations": plan.iterations,
        "script_s": cpu_seconds(),
    }  # fmt: skip
    rows["cost_gap"] = (float(plan.cost) - optimum) / abs(optimum)
    for metric, value in rows.items():
        report(name, entry.name, metric, value, error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
