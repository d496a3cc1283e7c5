"""The cart-pole in CasADi by hand, Drake, rockit, pycollo and opty, as their users state it.

Each entry is a generator: up to its first ``yield`` it builds (derives, transcribes, compiles), up
to the second it solves, and then it hands over a `Plan`. The lines of a user are those up to the
second ``yield``, and those of the rates. Guesses are straight lines with zero inputs; IPOPT's
tolerance is 1e-8 everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

END = np.array([1.0, np.pi, 0.0, 0.0])
FORCE, RAIL, SECONDS, LEAST, MOST = 20.0, 2.0, 2.0, 0.5, 4.0
IPOPT = {"print_level": 0, "sb": "yes", "tol": 1e-8, "max_iter": 3000}


@dataclass(frozen=True)
class Plan:
    """Nodes, states (4, N + 1), and for each interval places in [0, 1] with the inputs there.

    Problems other than the cart-pole leave these empty, and have their replay distance and the
    largest violation of a bound instead.
    """

    times: np.ndarray
    states: np.ndarray
    places: list[np.ndarray]
    inputs: list[np.ndarray]
    cost: float
    iterations: int
    status: str = ""
    distance: float = 0.0
    violation: float = 0.0


def even(
    times: Any, states: Any, places: Any, inputs: Any, cost: float, count: int, status: str = ""
) -> Plan:
    """A plan whose intervals all have the same places; inputs (N, k)."""
    table = np.asarray(inputs, dtype=float)
    at = [np.asarray(places, dtype=float)] * len(table)
    return Plan(np.asarray(times), np.asarray(states), at, list(table), cost, count, status)


def rates(x: Any, u: Any, sin: Any, cos: Any) -> list[Any]:
    """Kelly's cart-pole: 1 kg, 0.3 kg, 0.5 m."""
    s, c = sin(x[1]), cos(x[1])
    below = 1 + 0.3 * s**2
    cart = (0.15 * s * x[3] ** 2 + u + 0.3 * 9.81 * c * s) / below
    pole = -(0.15 * c * s * x[3] ** 2 + u * c + 1.3 * 9.81 * s) / (0.5 * below)
    return [x[2], x[3], cart, pole]


def casadi_by_hand(count: int, order: int | None, fastest: bool) -> Iterator[Plan | None]:
    """Collocation as a user of CasADi writes it: Hermite-Simpson (None), or Radau of an order."""
    import casadi as ca

    x, u, T = ca.SX.sym("x", 4), ca.SX.sym("u"), ca.SX.sym("T")
    h = T / count
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
        at, derivative = [f(xs[:, j], us[j]) for j in range(d)], ca.horzcat(x0, xs) @ C
        defects = ca.vertcat(*(derivative[:, j] - h * at[j][0] for j in range(d)))
        cost = h * sum(B[j] * at[j][1] for j in range(d))
    piece = ca.Function("piece", [x0, xs, us, T], [defects, cost])
    X, S, E = ca.MX.sym("X", 4, count + 1), ca.MX.sym("S", 4, count * (d - 1)), ca.MX.sym("E")
    U = ca.MX.sym("U", 1, 2 * count + 1 if order is None else count * k)
    ends = [ca.horzcat(S[:, j * (d - 1) : (j + 1) * (d - 1)], X[:, j + 1]) for j in range(count)]
    inputs = ca.horzcat(*(U[2 * j : 2 * j + 3] for j in range(count))) if order is None else U
    rows, costs = piece.map(count)(X[:, :-1], ca.horzcat(*ends), inputs, ca.repmat(E, 1, count))
    aim = E if fastest else ca.sum2(costs)
    program = {"x": ca.veccat(X, S, U, E), "f": aim, "g": ca.vec(rows)}
    solver = ca.nlpsol("solver", "ipopt", program, {"print_time": False, "ipopt": IPOPT})
    nodes = np.linspace(0, 1, count + 1)
    own = np.array(places[1:2] if order is None else places[:-1])
    inner = (nodes[:-1, None] + own / count).ravel()
    lines = [np.outer(nodes, END).ravel(), np.outer(inner, END).ravel()]
    first = np.concatenate([*lines, np.zeros(U.numel()), [SECONDS]])
    sides = []
    for sign, time in ((-1, LEAST), (1, MOST)):
        side = np.tile([sign * RAIL, *[sign * np.inf] * 3], count + 1 + S.shape[1])
        side[:4], side[4 * count : 4 * count + 4] = 0.0, END
        side = np.append(side, np.full(U.numel(), sign * FORCE))
        sides.append(np.append(side, time if fastest else SECONDS))
    yield None
    found = solver(x0=first, lbx=sides[0], ubx=sides[1], lbg=0, ubg=0)
    yield None
    read = ca.Function("read", [program["x"]], [X, inputs, E])
    states, values, end = (np.array(part) for part in read(found["x"]))
    stats = solver.stats()
    yield even(
        nodes * end.item(), states, places, values.reshape(count, k), float(found["f"]),
        stats["iter_count"], stats["return_status"],
    )  # fmt: skip


def drake(count: int, fastest: bool) -> Iterator[Plan | None]:
    """Drake's direct collocation with SNOPT."""
    import pydrake.all as pd

    x, u = pd.MakeVectorContinuousVariable(4, "x"), pd.MakeVectorContinuousVariable(1, "u")
    system = pd.SymbolicVectorSystem(
        state=x, input=u, dynamics=rates(x, u[0], pd.sin, pd.cos), output=[]
    )
    steps = (LEAST / count, MOST / count) if fastest else (SECONDS / count, SECONDS / count)
    plan = pd.DirectCollocation(system, system.CreateDefaultContext(), count + 1, *steps)
    plan.AddEqualTimeIntervalsConstraints()
    program = plan.prog()
    plan.AddConstraintToAllKnotPoints(pd.le(plan.input(), FORCE))
    plan.AddConstraintToAllKnotPoints(pd.ge(plan.input(), -FORCE))
    plan.AddConstraintToAllKnotPoints(pd.le(plan.state()[:1], RAIL))
    plan.AddConstraintToAllKnotPoints(pd.ge(plan.state()[:1], -RAIL))
    program.AddBoundingBoxConstraint(np.zeros(4), np.zeros(4), plan.initial_state())
    program.AddBoundingBoxConstraint(END, END, plan.final_state())
    if fastest:
        plan.AddFinalCost(plan.time())
    else:
        plan.AddRunningCost(plan.input()[0] ** 2)
    line = pd.PiecewisePolynomial.FirstOrderHold(
        [0.0, SECONDS], np.column_stack([np.zeros(4), END])
    )
    plan.SetInitialTrajectory(pd.PiecewisePolynomial(), line)
    yield None
    found = pd.SnoptSolver().Solve(program, None, None)
    yield None
    U = plan.GetInputSamples(found)[0]
    yield even(
        plan.GetSampleTimes(found), plan.GetStateSamples(found), [0.0, 1.0],
        np.stack([U[:-1], U[1:]], 1), found.get_optimal_cost(), -1,
        str(found.get_solution_result()).split(".")[-1],
    )  # fmt: skip


def rockit(count: int, fastest: bool) -> Iterator[Plan | None]:
    """Multiple shooting with rockit, inputs constant on intervals."""
    import casadi as ca
    from rockit import FreeTime, MultipleShooting, Ocp

    ocp = Ocp(T=FreeTime(SECONDS) if fastest else SECONDS)
    state, u = [ocp.state() for _ in range(4)], ocp.control()
    for x, rate, last in zip(state, rates(state, u, ca.sin, ca.cos), END, strict=True):
        ocp.set_der(x, rate)
        ocp.subject_to(ocp.at_t0(x) == 0)
        ocp.subject_to(ocp.at_tf(x) == last)
        ocp.set_initial(x, last * ocp.t / SECONDS)
    ocp.subject_to((u <= FORCE) >= -FORCE)
    ocp.subject_to((state[0] <= RAIL) >= -RAIL)
    if fastest:
        ocp.subject_to(ocp.T >= LEAST)
    ocp.add_objective(ocp.T if fastest else ocp.integral(u**2))
    ocp.solver("ipopt", {"expand": True, "print_time": False, "ipopt": IPOPT})
    ocp.method(MultipleShooting(N=count, M=2, intg="rk"))
    ocp._transcribe()
    yield None
    found = ocp.solve()
    yield None
    times = found.sample(u, grid="control")[0]
    states = [found.sample(x, grid="control")[1] for x in state]
    inputs = found.sample(u, grid="control")[1][:-1, None]
    yield even(
        times, states, [0.0], inputs, float(found.value(ocp.objective)), found.stats["iter_count"],
        found.stats["return_status"],
    )  # fmt: skip


def pycollo(meshes: int, fastest: bool) -> Iterator[Plan | None]:
    """pycollo, which refines its mesh."""
    import pycollo as pc
    import sympy

    *x, u = sympy.symbols("q1 q2 v w u")
    problem = pc.OptimalControlProblem(name="cart-pole")
    phase = problem.new_phase(name="A")
    phase.state_variables, phase.control_variables = x, u
    phase.state_equations = rates(x, u, sympy.sin, sympy.cos)
    phase.bounds.initial_time = 0
    phase.bounds.final_time = [LEAST, MOST] if fastest else SECONDS
    wide = [[-RAIL, RAIL], [-10, 10], [-20, 20], [-30, 30]]
    phase.bounds.state_variables = dict(zip(x, wide, strict=True))
    phase.bounds.control_variables = {u: [-FORCE, FORCE]}
    phase.bounds.initial_state_constraints = dict.fromkeys(x, 0)
    phase.bounds.final_state_constraints = dict(zip(x, END, strict=True))
    phase.guess.time = [0, SECONDS]
    phase.guess.state_variables = [[0, last] for last in END]
    phase.guess.control_variables = [[0, 0]]
    if fastest:
        problem.objective_function = phase.final_time_variable
    else:
        phase.integrand_functions = [u**2]
        phase.bounds.integral_variables, phase.guess.integral_variables = [[0, 1000]], [0]
        problem.objective_function = phase.integral_variables[0]
    problem.settings.console_out_progress = False
    problem.settings.max_mesh_iterations = meshes
    problem.initialise()
    yield None
    problem.solve()
    yield None
    s = problem.solution
    first, last = (np.asarray(time[0]) for time in (s.initial_time, s.final_time))
    times = first + (np.asarray(s.tau[0]) + 1) / 2 * (last - first)
    states, inputs = np.asarray(s.state[0]), np.ravel(s.control[0])
    edges = np.asarray(s.it.mesh.mesh_index_boundaries[0]).astype(int)
    pieces = [slice(a, b + 1) for a, b in pairwise(edges)]
    places = [(times[p] - times[p][0]) / (times[p][-1] - times[p][0]) for p in pieces]
    nodes, each = states[:, edges], [inputs[p] for p in pieces]
    yield Plan(times[edges], nodes, places, each, float(s.objective), -1)


def opty(count: int, fastest: bool) -> Iterator[Plan | None]:
    """opty's midpoint rule; its C code is compiled for the problem."""
    import sympy
    import sympy.physics.mechanics as me
    from opty import Problem, create_objective_function

    h = sympy.Symbol("h", positive=True) if fastest else SECONDS / count
    t, x, u = me.dynamicsymbols._t, me.dynamicsymbols("q1 q2 v w"), me.dynamicsymbols("u")
    right = rates(x, u, sympy.sin, sympy.cos)
    equations = sympy.Matrix([r - s.diff(t) for r, s in zip(right, x, strict=True)])
    last = count * h if fastest else SECONDS
    ends = [s.func(0 * h) for s in x] + [s.func(last) - e for s, e in zip(x, END, strict=True)]
    bounds: dict[Any, Any] = {x[0]: (-RAIL, RAIL), u: (-FORCE, FORCE)}
    aim: Callable[[Any], Any]
    gradient: Callable[[Any], Any]
    if fastest:
        bounds[h] = (LEAST / count, MOST / count)
        aim, gradient = lambda free: count * free[-1], lambda free: count * np.eye(len(free))[-1]
    else:
        aim, gradient = create_objective_function(
            sympy.Integral(u**2, t), x, [u], [], count + 1, h, integration_method="midpoint"
        )
    problem = Problem(
        aim, gradient, equations, x, count + 1, h, instance_constraints=ends, bounds=bounds,
        integration_method="midpoint",
    )  # fmt: skip
    for key, value in IPOPT.items():
        problem.add_option(key, value)
    lines = [np.linspace(0, end, count + 1) for end in END]
    guess = np.concatenate([*lines, np.zeros(count + 1), [SECONDS / count] * fastest])
    yield None
    free, found = problem.solve(guess)
    yield None
    U = free[4 * (count + 1) : 5 * (count + 1)]
    yield even(
        (free[-1] if fastest else h) * np.arange(count + 1), free[: 4 * (count + 1)].reshape(4, -1),
        [0.0, 1.0], np.stack([U[:-1], U[1:]], 1), found["obj_val"], len(problem.obj_value) - 1,
        found["status_msg"].decode()[:40],
    )  # fmt: skip
