"""Trajectories with known optima, and the cart-pole beside a program written by hand in CasADi.

    python benchmarks/trajectories.py [--only NAME] [--tolerance 1e-6] [--repeats 9]

The first table gives what `da.control.optimise` finds: the relative difference of the cost of the
*replayed* motion from the known optimum, the replay distance, how far bounds are exceeded along
the motion (inputs between nodes included), iterations, intervals of the last mesh and CPU seconds,
all included. The second one times the cart-pole of least effort, from the statement of the model to
the trajectory, beside Hermite-Simpson's and Radau's collocation by hand, in turns in one process.
The final error of each is the miss of its input when SciPy replays it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
from scipy.integrate import solve_ivp
from trajectory_problems import PROBLEMS, cart_effort

OPTIMUM = 58.8076674645
END = np.array([1.0, np.pi, 0.0, 0.0])


class ByHand(NamedTuple):
    """A plan: nodes, states, and inputs (N, k) at places of each interval."""

    times: Any
    states: Any
    inputs: Any
    places: Any
    cost: float


def rates(x: Any, u: Any, sin: Any, cos: Any) -> list[Any]:
    """Kelly's cart-pole: 1 kg, 0.3 kg, 0.5 m."""
    s, c = sin(x[1]), cos(x[1])
    below = 1 + 0.3 * s**2
    cart = (0.15 * s * x[3] ** 2 + u + 0.3 * 9.81 * c * s) / below
    pole = -(0.15 * c * s * x[3] ** 2 + u * c + 1.3 * 9.81 * s) / (0.5 * below)
    return [x[2], x[3], cart, pole]


def by_hand(count: int, order: int | None) -> ByHand:
    """Collocation as a user of CasADi writes it: Hermite-Simpson (None), or Radau of an order."""
    x, u, h = ca.SX.sym("x", 4), ca.SX.sym("u"), 2.0 / count
    f = ca.Function("f", [x, u], [ca.vertcat(*rates(x, u, ca.sin, ca.cos)), u**2])
    places = [0.0, 0.5, 1.0] if order is None else ca.collocation_points(order, "radau")
    d, k = (2, 3) if order is None else (order, order)
    x0, xs, us = ca.SX.sym("x0", 4), ca.SX.sym("xs", 4, d), ca.SX.sym("us", 1, k)
    if order is None:
        at = [f(a, us[j]) for j, a in enumerate((x0, xs[:, 0], xs[:, 1]))]
        middle = xs[:, 0] - (x0 + xs[:, 1]) / 2 - h / 8 * (at[0][0] - at[2][0])
        last = xs[:, 1] - x0 - h / 6 * (at[0][0] + 4 * at[1][0] + at[2][0])
        defects, cost = ca.vertcat(middle, last), h / 6 * (at[0][1] + 4 * at[1][1] + at[2][1])
    else:
        C, _, B = ca.collocation_coeff(places)
        at, slope = [f(xs[:, j], us[j]) for j in range(d)], ca.horzcat(x0, xs) @ C
        defects = ca.vertcat(*(slope[:, j] - h * at[j][0] for j in range(d)))
        cost = h * sum(B[j] * at[j][1] for j in range(d))
    piece = ca.Function("piece", [x0, xs, us], [defects, cost])
    X, S = ca.MX.sym("X", 4, count + 1), ca.MX.sym("S", 4, count * (d - 1))
    U = ca.MX.sym("U", 1, 2 * count + 1 if order is None else count * k)
    ends = [ca.horzcat(S[:, j * (d - 1) : (j + 1) * (d - 1)], X[:, j + 1]) for j in range(count)]
    inputs = ca.horzcat(*(U[2 * j : 2 * j + 3] for j in range(count))) if order is None else U
    rows, costs = piece.map(count)(X[:, :-1], ca.horzcat(*ends), inputs)
    program = {"x": ca.veccat(X, S, U), "f": ca.sum2(costs), "g": ca.vec(rows)}
    quiet = {"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.tol": 1e-8}
    solver = ca.nlpsol("solver", "ipopt", program, quiet)
    low, high = np.full(4, -np.inf), np.full(4, np.inf)
    low[0], high[0] = -2, 2
    nodes = np.linspace(0, 1, count + 1)
    inner = (
        nodes[:-1, None] + np.array(places[1:2] if order is None else places[:-1]) / count
    ).ravel()
    first = np.concatenate(
        [np.outer(nodes, END).ravel(), np.outer(inner, END).ravel(), np.zeros(U.numel())]
    )
    bounds = [np.tile(side, count + 1 + S.shape[1]) for side in (low, high)]
    for side in bounds:
        side[:4], side[4 * count : 4 * count + 4] = 0.0, END
    lower, upper = (
        np.append(side, np.full(U.numel(), s * 20.0))
        for side, s in zip(bounds, (-1, 1), strict=True)
    )
    found = solver(x0=first, lbx=lower, ubx=upper, lbg=0, ubg=0)
    read = ca.Function("read", [program["x"]], [X, inputs])
    states, values = (np.array(part) for part in read(found["x"]))
    return ByHand(2 * nodes, states, values.reshape(count, k), np.array(places), float(found["f"]))


def dalembert(**options: Any) -> ByHand:
    found = cart_effort(**options)
    table = found.inputs["u"]
    places = np.linspace(0, 1, table.coefficients.shape[1])
    inside = np.clip(places, 1e-12, 1 - 1e-12)
    inputs = table.at(table.times[:-1, None] + np.diff(table.times)[:, None] * inside)
    return ByHand(table.times, found.states, inputs, places, found.cost)


def miss(plan: ByHand) -> float:
    """The largest distance between the plan and SciPy's replay of its input."""
    state, worst = plan.states[:, 0], 0.0
    for k, (first, last) in enumerate(zip(plan.times[:-1], plan.times[1:], strict=True)):
        polynomial = np.polynomial.Polynomial.fit(
            plan.places, plan.inputs[k], len(plan.places) - 1, domain=[0, 1], window=[0, 1]
        )

        def right(
            t: float, x: Any, first: float = first, last: float = last, u: Any = polynomial
        ) -> Any:
            return rates(x, u((t - first) / (last - first)), np.sin, np.cos)

        run = solve_ivp(right, (first, last), state, method="DOP853", rtol=1e-11, atol=1e-13)
        state = run.y[:, -1]
        worst = max(worst, float(np.max(np.abs(state - plan.states[:, k + 1]))))
    return worst


def timed(tasks: dict[str, Callable[[], ByHand]], repeats: int) -> None:
    """CPU seconds of some tasks, taken in turns."""
    plans = {name: task() for name, task in tasks.items()}
    seconds: dict[str, list[float]] = {name: [] for name in tasks}
    for _ in range(repeats):
        for name, task in tasks.items():
            began = time.process_time()
            task()
            seconds[name].append(time.process_time() - began)
    base = statistics.median(next(iter(seconds.values())))
    print("| cart-pole, effort | CPU s | ratio | gap | miss by SciPy |")
    print("| --- | --- | --- | --- | --- |")
    for name, plan in plans.items():
        spent, gap = statistics.median(seconds[name]), plan.cost / OPTIMUM - 1
        print(f"| {name} | {spent:.3f} | {spent / base:.2f} | {gap:+.1e} | {miss(plan):.1e} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    print("| problem | cost | gap | replay | bounds | iterations | intervals | CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, optimum, solve in PROBLEMS:
        if given.only not in name:
            continue
        began = time.process_time()
        found = solve(tolerance=given.tolerance)
        spent = time.process_time() - began
        gap = "" if optimum is None else f"{(found.cost - optimum) / abs(optimum):+.1e}"
        print(
            f"| {name} | {found.cost:.10g} | {gap} | {found.replay_distance:.0e} |"
            f" {found.bound_violation:.0e} | {found.iterations} | {found.rounds[-1].intervals} |"
            f" {spent:.2f} |",
            flush=True,
        )
    print()
    timed(
        {
            "CasADi by hand, Hermite-Simpson 50": lambda: by_hand(50, None),
            "dalembert, tolerance 5e-3": lambda: dalembert(tolerance=5e-3),
            "CasADi by hand, Radau 5 x 200": lambda: by_hand(200, 5),
            "dalembert, tolerance 1e-6": lambda: dalembert(tolerance=1e-6),
            "dalembert, tolerance 1e-8": lambda: dalembert(tolerance=1e-8),
        },
        given.repeats,
    )


if __name__ == "__main__":
    main()
