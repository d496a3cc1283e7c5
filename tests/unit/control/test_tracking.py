"""Tracking, plans and estimates against discrete Riccati equations, SciPy and Monte Carlo."""

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.control import kalman_filter, mpc, sampled, track
from dalembert.errors import ModelError

x, theta = da.coordinates("x theta")
u, w = da.inputs("u w")
MASS = da.System([x], kinetic=x.dot**2 / 2, potential=-2 * x**2, forces={x: u}, inputs=[u])
CART = da.System(
    [x, theta],
    kinetic=0.65 * x.dot**2 + 0.15 * (x.dot * theta.dot * sympy.cos(theta) + theta.dot**2 / 4),
    potential=-0.15 * 9.81 * sympy.cos(theta),
    forces={x: u}, inputs=[u], name="cart-pole",
)  # fmt: skip
T = 0.1


def discrete(period=T):
    """x_ddot = 4 x + u, held for a period."""
    block = np.zeros((3, 3))
    block[:2, :2], block[1, 2] = [[0, 1], [4, 0]], 1.0
    both = scipy.linalg.expm(block * period)
    return both[:2, :2], both[:2, 2:]


def regulator(weights, effort, period=T):
    A, B = discrete(period)
    Q, R = np.diag(weights) * period, np.eye(1) * effort * period
    P = scipy.linalg.solve_discrete_are(A, B, Q, R)
    return np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)[0]


def test_tracking_a_rest_is_the_discrete_regulator():
    rest = da.simulate(MASS, {}, (0, 20), inputs={u: 0.0})
    loop = track(rest, T, weights={x: 3.0, x.dot: 0.5}, effort=0.2)
    gains = {s.name: values for s, values in loop.schedule.items()}
    found = [gains["gain_u_x"][0], gains["gain_u_x_dot"][0]]
    assert np.allclose(found, regulator([3.0, 0.5], 0.2), rtol=1e-5)


def test_the_cost_of_a_tracked_deviation_is_least():
    times = T * np.arange(11)
    given = np.sin(3 * (times[:-1] + 0.05))
    table = da.control.input_table(times, [*given, 0.0], "hold")
    plan = da.simulate(CART, {theta: 0.4}, (0, 1), inputs={u: table})
    loop = track(plan, T, effort=0.1)

    def cost(change):
        held = da.control.input_table(times, [*(given + change), 0.0], "hold")
        off = da.simulate(CART, START, (0, 1), inputs={u: held}, at=times).y - plan.sol(times)
        return T * np.sum(off[:, :-1] ** 2) + 0.1 * T * np.sum(change**2) + np.sum(off[:, -1] ** 2)

    size = 1e-3
    START = {x: size, theta: 0.4 - size}
    run = da.simulate(CART, START, (0, 1), inputs=loop)
    change = run.samples.commands["u"] - given
    own = cost(change)
    rng = np.random.default_rng(0)
    for _ in range(6):
        assert cost(change + 0.3 * size * rng.standard_normal(10)) > own
    assert cost(np.zeros(10)) > own


def test_tracking_with_constraints_is_that_of_the_reduced_system():
    y = da.coordinates("y")
    linked = da.System(
        [x, y], kinetic=x.dot**2 / 2 + y.dot**2, potential=sympy.cos(x), forces={y: u}, inputs=[u],
        constraints=[da.holonomic(y - x, name="link")],
    )  # fmt: skip
    single = da.System(
        [x], kinetic=3 * x.dot**2 / 2, potential=sympy.cos(x), forces={x: u}, inputs=[u]
    )
    table = da.control.input_table([0, 1, 2], [0.0, 0.3, -0.2])
    plan = da.simulate(linked, {x: 0.3, y: 0.3}, (0, 2), inputs={u: table}, form="lagrange")
    other = da.simulate(single, {x: 0.3}, (0, 2), inputs={u: table})
    loop = track(plan, 0.05, weights={x: 1, y: 3, x.dot: 0.5, y.dot: 0.5}, effort=0.05)
    same = track(other, 0.05, weights={x: 4, x.dot: 1}, effort=0.05)
    found = da.simulate(linked, {x: 0.4, y: 0.4}, (0, 2), inputs=loop, form="lagrange", at=[2.0])
    expected = da.simulate(single, {x: 0.4}, (0, 2), inputs=same, at=[2.0])
    assert abs(found["x"][-1] - expected["x"][-1]) < 1e-7
    assert abs(expected["x"][-1] - other["x"][-1]) < 0.02


@pytest.mark.parametrize("linear", [True, False])
def test_a_plan_without_active_bounds_is_the_regulator(linear):
    loop = mpc(MASS, T, 12, {}, weights={x: 3.0, x.dot: 0.5}, effort=0.2, linear=linear, substeps=8)
    motion = da.simulate(MASS, {x: 0.3, x.dot: -0.1}, (0, 2), inputs=loop)
    states = motion.sol(motion.samples.times)
    expected = -regulator([3.0, 0.5], 0.2) @ states
    assert np.max(np.abs(motion.samples.commands["u"] - expected)) < 1e-5


def test_the_first_plan_is_the_optimum_of_the_nonlinear_program():
    loop = mpc(
        CART, 0.05, 15, {theta: np.pi}, weights={x: 2.0, theta: 5.0}, effort=0.05, end=3.0,
        bounds={u: (-6, 6)}, substeps=4,
    )  # fmt: skip
    start = {"x": 0.2, "theta": np.pi + 0.2, "x_dot": 0.0, "theta_dot": 0.0}
    law = loop.law.fresh()
    law(0.0, start)
    model, weights = law.model, np.array([2.0, 5.0, 1.0, 1.0]) * 0.05

    def cost(inputs):
        states = model.simulated(0.0, np.array(list(start.values())), inputs[:, None], 0.05)
        off = states - [0, np.pi, 0, 0]
        return (
            np.sum(off[1:15] ** 2 * weights) + 3 * np.sum(off[15] ** 2 * weights)
            + 0.05 * 0.05 * np.sum(inputs**2)
        )  # fmt: skip

    best = scipy.optimize.minimize(
        cost, np.zeros(15), bounds=[(-6, 6)] * 15, method="L-BFGS-B",
        options={"maxiter": 3000, "ftol": 1e-15, "gtol": 1e-10, "maxfun": 200000},
    )  # fmt: skip
    assert np.max(np.abs(law.plan[1])) == pytest.approx(6.0)
    assert cost(law.plan[1][:, 0]) <= best.fun * (1 + 1e-7)


@pytest.mark.parametrize("linear", [True, False])
def test_failed_plans_are_counted_where_the_caller_sees_them(linear, monkeypatch):
    """Runs copy the law; what fails in them is told by the law of the loop."""
    loop = mpc(MASS, T, 5, {x: 1}, bounds={u: (-0.1, 0.1)}, linear=linear)
    da.simulate(MASS, {}, (0, 5 * T), inputs=loop)
    assert loop.law.failures == 0
    monkeypatch.setattr("dalembert.control.tracking.mpc._quadratic", lambda *_: None)
    for runs in (1, 2):
        da.simulate(MASS, {}, (0, 5 * T - 1e-9), inputs=loop)
        assert loop.law.failures == 5 * runs


def test_plans_keep_bounds_and_meet_delays():
    bounds = {u: (-20, 20), x: (-0.5, 0.35)}
    loop = mpc(
        CART, 0.02, 40, {theta: np.pi}, weights={x: 10, theta: 10}, effort=0.1, bounds=bounds,
        delay=0.015,
    )  # fmt: skip
    start = {x: 0.3, theta: np.pi + 0.3}
    motion = da.simulate(CART, start, (0, 4), inputs=loop)
    assert motion["x"].max() < 0.352 and abs(motion["u"]).max() <= 20
    assert np.max(np.abs(motion.y[:, -1] - [0, np.pi, 0, 0])) < 0.02
    blind = mpc(CART, 0.02, 40, {theta: np.pi}, weights={x: 10, theta: 10}, effort=0.1)
    read = {s.name: s for s in (x, theta, x.dot, theta.dot)}
    late = sampled(blind.law, 0.02, inputs=[u], delay=0.015, measure=read)
    other = da.simulate(CART, start, (0, 4), inputs=late)
    costs = [
        np.trapezoid(10 * m["x"] ** 2 + 10 * (m["theta"] - np.pi) ** 2 + 0.1 * m["u"] ** 2, m.t)
        for m in (da.simulate(CART, start, (0, 4), inputs=_with_delay()), other)
    ]
    assert costs[0] < costs[1]


def _with_delay():
    return mpc(CART, 0.02, 40, {theta: np.pi}, weights={x: 10, theta: 10}, effort=0.1, delay=0.015)


def test_the_filter_is_that_of_kalman_for_a_linear_system():
    A, B = discrete()
    Q, R = B @ B.T * 0.3**2, np.eye(1) * 0.05**2
    rng = np.random.default_rng(4)
    state, P = np.array([0.2, 0.0]), np.diag([0.1**2, 0.2**2])
    for kind in ("extended", "unscented"):
        mean, cov = state.copy(), P.copy()
        own = kalman_filter(
            MASS, T, [x], noise={x: 0.05}, process={u: 0.3}, start={x: 0.2}, kind=kind,
            spread={x: 0.1, x.dot: 0.2}, substeps=6,
        )  # fmt: skip
        for _ in range(25):
            y, force = rng.standard_normal() * 0.2, rng.standard_normal()
            S = cov[:1, :1] + R
            gain = cov[:, :1] / S
            mean, cov = mean + gain[:, 0] * (y - mean[0]), cov - gain @ S @ gain.T
            own.update({"x": y})
            assert np.allclose(own.state, mean, atol=1e-7) and np.allclose(
                own.covariance, cov, atol=1e-8
            )
            mean, cov = A @ mean + B[:, 0] * force, A @ cov @ A.T + Q
            own.predict([force])
        steady = scipy.linalg.solve_discrete_are(A.T, np.eye(2)[:, :1], Q, R)
        assert np.allclose(own.covariance, steady, rtol=2e-3, atol=1e-6)


def test_missing_measurements_are_skipped():
    own = kalman_filter(MASS, T, [x, x.dot], noise={x: 0.05, x.dot: 0.1}, spread=0.5)
    other = kalman_filter(MASS, T, [x], noise={x: 0.05}, spread=0.5)
    own.update({"x": 0.3, "x_dot": float("nan")})
    other.update({"x": 0.3})
    assert np.allclose(own.state, other.state) and np.allclose(own.covariance, other.covariance)
    before = own.state.copy()
    own.update({})
    assert np.array_equal(own.state, before)


@pytest.mark.parametrize("kind", ["extended", "unscented"])
def test_innovations_of_a_pendulum_have_the_predicted_covariance(kind):
    own = kalman_filter(
        CART, 0.02, [x, theta], noise={x: 0.01, theta: 0.02}, process={u: 1.0},
        start={theta: 1.0}, spread=0.05, kind=kind,
    )  # fmt: skip
    seen = []

    class Recorded:
        def __init__(self):
            self.filter = own.fresh()

        def __call__(self, t, measured):
            self.filter.update(measured)
            e, S = self.filter.innovation, self.filter.innovation_covariance
            seen.append(float(e @ np.linalg.solve(S, e)))
            self.filter.predict([0.0])
            return 0.0

    loop = sampled(
        Recorded(), 0.02, inputs=[u], measure={x: x, theta: theta},
        noise={x: 0.01, theta: 0.02, u: 1.0}, seed=2,
    )  # fmt: skip
    da.simulate(CART, {theta: 1.02}, (0, 20), inputs=loop)
    assert abs(np.mean(seen) - 2.0) < 0.2  # chi-square with two degrees of freedom


def test_an_estimate_stays_on_the_constraints():
    a, b = da.coordinates("a b")
    rod = da.holonomic(a**2 + b**2 - 1, name="rod")
    pendulum = da.System(
        [a, b], kinetic=(a.dot**2 + b.dot**2) / 2, potential=9.81 * b, forces={a: u},
        inputs=[u], constraints=[rod],
    )  # fmt: skip
    for kind in ("extended", "unscented"):
        own = kalman_filter(
            pendulum, 0.02, [a], noise={a: 0.01}, process={u: 0.5}, start={a: 0.1, b: -1.0},
            spread=0.2, form="lagrange", kind=kind,
        )  # fmt: skip
        loop = sampled(
            own.law(lambda t, y: 0.0), 0.02, inputs=[u], measure={a: a}, noise={a: 0.01}, seed=1
        )
        motion = da.simulate(pendulum, {a: 0.3, b: -0.95}, (0, 4), inputs=loop, form="lagrange")
        law = own.law(lambda t, y: 0.0).fresh()
        for k, t in enumerate(motion.samples.times):
            law(float(t), {"a": float(motion.samples.measured["a"][k])})
            s = law.filter.state
            assert abs(s[0] ** 2 + s[1] ** 2 - 1) < 1e-9 and abs(s[:2] @ s[2:]) < 1e-9
        end = motion.sol(motion.samples.times[-1] + 0.02 - 1e-9)
        assert np.max(np.abs(law.filter.state[:2] - end[:2])) < 0.02
        V = np.array([[s[0], s[1], 0, 0]]) / np.hypot(s[0], s[1])
        assert np.max(np.abs(law.filter.covariance @ V.T)) < 1e-3 * np.max(law.filter.covariance)


def test_a_plan_from_estimates_balances_with_noise():
    seen = kalman_filter(
        CART, 0.02, [x, theta], noise={x: 0.002, theta: 0.005}, process={u: 0.3},
        start={theta: np.pi}, spread=0.1, delay=0.01,
    )  # fmt: skip
    loop = mpc(
        CART, 0.02, 30, {theta: np.pi}, weights={x: 10, theta: 10}, effort=0.1, delay=0.01,
        bounds={u: (-20, 20)}, estimator=seen, noise={x: 0.002, theta: 0.005, u: 0.3}, seed=5,
    )  # fmt: skip
    runs = da.simulate(CART, {x: np.full(5, 0.2), theta: np.pi + 0.1}, (0, 3), inputs=loop)
    assert runs.success and np.max(np.abs(runs.final["theta"] - np.pi)) < 0.1
    assert len(np.unique(runs.final["x"])) == 5


def at_rest():
    return da.simulate(MASS, {}, (0, 1), inputs={u: 0.0})


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mpc(MASS, 0.0, 10, {}), "positive period"),
        (lambda: mpc(MASS, 0.1, 10, {"z": 1.0}), "target names `z`"),
        (lambda: mpc(MASS, 0.1, 10, {}, bounds={u: (1, -1)}), "exclude each other"),
        (lambda: mpc(MASS, 0.1, 10, {}, effort=0.0), "effort positive"),
        (lambda: mpc(MASS, 0.1, 10, {}, effort={"v": 2.0}), "no `v` here"),
        (lambda: kalman_filter(MASS, 0.1, [x], noise={}), "must be positive"),
        (lambda: kalman_filter(MASS, 0.1, ["z"], noise={"z": 1.0}), "cannot be measured"),
        (lambda: kalman_filter(MASS, 0.1, [x], noise={x: 1.0}, kind="particle"), "kind"),
        (lambda: track(at_rest(), 7.0), "samples"),
        (lambda: track(at_rest(), 0.1, weights={u: 2.0}), "no `u` here"),
        (lambda: track(at_rest(), 0.1, end_weight=-1.0), "weight of the end"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said(call, words):
    with pytest.raises(ModelError, match=words):
        call()


def test_loops_of_a_reduced_model_do_not_see_the_pose():
    """A sleigh on D/SE(2) has the momenta p_1' = u and p_2' = w: scalar Riccati recursions.

    Loops of the equations on the quotient control the sleigh from any pose.
    """
    x, y, theta = da.coordinates("x y theta")
    u, w = da.inputs("u w")
    sleigh = da.System(
        [x, y, theta], kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
        forces={x: u * cos(theta), y: u * sin(theta), theta: w}, inputs=[u, w],
    )  # fmt: skip
    se2 = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: 1},
    }
    reduced = da.symmetry.reduce(sleigh, se2)
    push = {u: da.control.input_table([0, 2], [1, -1]), w: 0.2}
    plan = da.simulate(reduced, {"p_1": 0.5, "p_2": 0.1}, (0, 2), inputs=push)
    period, count = 0.1, 20
    law = da.control.track(plan, period, weights={"p_1": 3}, effort=0.5, end_weight=2)
    P, gains = 3.0 * 2, []
    for _ in range(count):
        gains.append(P * period / (0.5 * period + period**2 * P))
        P = 3.0 * period + P * (1 - period * gains[-1])
    off = 0.3
    for gain in reversed(gains):
        off *= 1 - period * gain
    whole = da.symmetry.reduce(sleigh, se2, reconstruct=True)
    for turned in (0.0, 2.0):
        start = {"p_1": 0.8, "p_2": 0.1, theta: turned, x: 5.0}
        moved = da.simulate(whole, start, (0, 2), inputs=law, rtol=1e-10)
        assert moved["p_1"][-1] - plan["p_1"][-1] == pytest.approx(off, abs=1e-9)
        assert moved["theta"][-1] - turned == pytest.approx(0.2 + 0.4, abs=1e-9)
    seen = da.control.kalman_filter(
        reduced, period, ["p_1"], noise={"p_1": 0.01}, process={u: 0.1, w: 0.1}
    )
    ahead = da.control.mpc(
        reduced, period, 20, {"p_1": 1.0}, bounds={u: (-1, 1)}, estimator=seen, noise={"p_1": 0.01}
    )
    ended = da.simulate(reduced, {"p_1": 0.0, "p_2": 0.0}, (0, 4), inputs=ahead)
    assert ended["p_1"][-1] == pytest.approx(1.0, abs=0.05)
