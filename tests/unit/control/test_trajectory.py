"""Direct optimal control against closed forms, Pontryagin's principle and SciPy."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import simpson, solve_ivp
from scipy.optimize import brentq
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import Phase, optimise_phases
from dalembert.control.trajectory.iterations import IterationWatch
from dalembert.control.trajectory.schemes import bernstein, find_scheme
from dalembert.errors import DalembertError, ModelError, RunError, StartError

x, y, theta = da.coordinates("x y theta")
u, w = da.inputs("u w")
optimise, integral, at_end, at_start = (
    da.control.optimise,
    da.control.integral,
    da.control.at_end,
    da.control.at_start,
)
BLOCK = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u], name="block")
M1, M2, LENGTH, G = 1.0, 0.3, 0.5, 9.81
CART = da.System(
    [x, theta],
    kinetic=M1 / 2 * x.dot**2
    + M2
    / 2
    * ((x.dot + LENGTH * theta.dot * cos(theta)) ** 2 + (LENGTH * theta.dot * sin(theta)) ** 2),
    potential=-M2 * G * LENGTH * cos(theta),
    forces={x: u},
    inputs=[u],
    name="cart-pole",
)
SWING: dict[str, Any] = {
    "start": {x: 0, theta: 0},
    "end": {x: 1, theta: pi},
    "at_rest": True,
    "bounds": {u: (-20, 20), x: (-2, 2)},
}
ROD = da.System(
    [x, y],
    kinetic=(x.dot**2 + y.dot**2) / 2,
    potential=G * y,
    constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    forces={x: -y * u, y: x * u},
    inputs=[u],
)


def kelly(_: float, state: Any, force: float) -> list[float]:
    """Rates of the cart-pole as Kelly prints them (SIAM Review 59, 2017, equations 6.1 and 6.2)."""
    _, q, v, rate = state
    s, c = np.sin(q), np.cos(q)
    below = M1 + M2 * s**2
    cart = (LENGTH * M2 * s * rate**2 + force + M2 * G * c * s) / below
    pole = -(LENGTH * M2 * c * s * rate**2 + force * c + (M1 + M2) * G * s) / (LENGTH * below)
    return [v, rate, cart, pole]


# -- closed forms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "transcription", ["gauss4", "gauss6", "radau5", "lobatto6", "hermite-simpson"]
)
def test_a_block_is_moved_by_an_input_that_is_linear_in_time(transcription: str) -> None:
    found = optimise(
        BLOCK, integral(u**2), {x: 0}, {x: 1}, (0, 1), at_rest=True, transcription=transcription
    )
    times = np.linspace(0, 1, 41)
    assert found.cost == pytest.approx(12.0, rel=1e-9)
    assert np.allclose(found.inputs["u"].at(times), 6 - 12 * times, atol=1e-6)
    assert found.replay_distance < 1e-8


def test_the_least_time_of_a_block_has_one_switch() -> None:
    found = optimise(
        BLOCK, at_end(da.t), {x: 0}, {x: 1}, (0, (0.5, 5)), at_rest=True, bounds={u: (-1, 1)}
    )
    assert found.cost == pytest.approx(2.0, rel=1e-6)
    assert np.max(np.abs(found.inputs["u"].coefficients)) <= 1.0
    assert np.allclose(found.inputs["u"].at([0.1, 0.9]), 1.0, atol=1e-5)
    assert np.allclose(found.inputs["u"].at([1.1, 1.9]), -1.0, atol=1e-5)


def test_the_brachistochrone_is_a_cycloid() -> None:
    v, gravity = da.coordinates("v"), 9.80665
    angle = brentq(lambda a: 5 * (a - np.sin(a)) - 10 * (1 - np.cos(a)), 0.5, 6)
    fastest = angle * np.sqrt(5 / (1 - np.cos(angle)) / gravity)
    slide = da.Flow({x: v * sin(u), y: v * cos(u), v: gravity * cos(u)}, inputs=[u])
    found = optimise(
        slide, at_end(da.t), {x: 0, y: 0, v: 0}, {x: 10, y: 5}, (0, (0.5, 5)),
        bounds={u: (0, pi)}, guess={x: 5 * da.t, y: 2.5 * da.t, v: 5 * da.t, u: 1, da.t: 2},
    )  # fmt: skip
    assert found.cost == pytest.approx(fastest, rel=1e-8)


def test_an_integral_may_be_a_condition() -> None:
    """x = 30 t^2 (1 - t)^2 encloses the area 1 with the least effort, 720."""
    found = optimise(
        BLOCK, integral(u**2), {x: 0}, {x: 0}, (0, 1), at_rest=True, conditions=[integral(x) - 1]
    )
    assert found.cost == pytest.approx(720.0, rel=1e-9)
    assert found.motion.sol(0.5)[0] == pytest.approx(30 / 16, rel=1e-8)


def test_a_gait_is_periodic_and_its_inputs_keep_their_bounds_between_nodes() -> None:
    """A rolling disk goes 4 (1 - cos 1) sideways in a cycle of 4, with rates of at most one."""
    r, h = da.coordinates("r h")
    disk = da.Flow({r: u, h: w, x: cos(h) * u, y: sin(h) * u}, inputs=[u, w])
    s = pi * da.t / 2
    found = optimise(
        disk, -at_end(y), {r: 0, x: 0, y: 0}, None, (0, 4), periodic=[r, h],
        bounds={u: (-1, 1), w: (-1, 1), h: (-1.5, 1.5)},
        guess={r: sin(s) / 2, h: -cos(s) / 2, y: da.t / 4, u: cos(s), w: sin(s)},
    )  # fmt: skip
    assert found.cost == pytest.approx(-4 * (1 - np.cos(1.0)), rel=1e-6)
    assert all(np.max(np.abs(table.coefficients)) <= 1 for table in found.inputs.values())
    assert found.motion["h"][-1] == pytest.approx(found.motion["h"][0], abs=1e-6)


def test_a_parameter_may_be_an_unknown() -> None:
    """A mass m moved with int u^2 + 6/m least: 12 m^2 + 6/m has its minimum at m^3 = 1/4."""
    m = da.parameters("m", positive=True)
    heavy = da.System([x], kinetic=m / 2 * x.dot**2, forces={x: u}, inputs=[u])
    found = optimise(
        heavy, integral(u**2) + 6 / m, {x: 0}, {x: 1}, (0, 1), at_rest=True,
        parameters={m: (0.1, 10)},
    )  # fmt: skip
    assert found.parameters["m"] == pytest.approx(0.25 ** (1 / 3), rel=1e-6)
    assert found.cost == pytest.approx(12 * 0.25 ** (2 / 3) + 6 / 0.25 ** (1 / 3), rel=1e-8)


# -- independent implementations -------------------------------------------------------------------


def test_least_effort_is_the_extremal_of_pontryagin() -> None:
    found = optimise(CART, integral(u**2), span=(0, 2), **SWING)
    extremal = da.control.optimal(
        CART, u**2, {x: 0, theta: 0, x.dot: 0, theta.dot: 0},
        {x: 1, theta: pi, x.dot: 0, theta.dot: 0}, (0, 2),
    )  # fmt: skip
    assert found.cost == pytest.approx(extremal.cost, rel=1e-7)
    assert found.replay_distance <= found.tolerance
    assert np.allclose(found.costates[:, 0], list(extremal.costates.values()), rtol=1e-4)
    again = found.extremal()
    assert again.is_minimum
    assert again.cost == pytest.approx(extremal.cost, rel=1e-10)


def test_scipy_follows_the_plan_with_the_inputs_found() -> None:
    found = optimise(CART, integral(u**2), span=(0, 2), **SWING)
    state = found.states[:, 0]
    table = found.inputs["u"]
    for k in range(len(found.t) - 1):
        first, last = found.t[k], found.t[k + 1]
        inside = last - 1e-12  # the table jumps at its times
        piece = solve_ivp(
            lambda t, z, inside=inside: kelly(t, z, table(min(t, inside))), (first, last), state,
            method="DOP853", rtol=1e-11, atol=1e-12,
        )  # fmt: skip
        state = piece.y[:, -1]
    assert np.allclose(state, found.states[:, -1], atol=2e-6)
    assert np.allclose(found.states[:, -1], [1, np.pi, 0, 0], atol=1e-8)


def test_the_least_time_of_the_cart_pole_has_bounded_inputs_and_its_singular_arc() -> None:
    """1.167090858 is from six phases with free durations, by an independent program."""
    found = optimise(CART, at_end(da.t), span=(0, (0.5, 4)), guess={da.t: 2}, **SWING)
    assert found.cost == pytest.approx(1.167090858, rel=1e-6)
    assert np.max(np.abs(found.inputs["u"].coefficients)) <= 20.0
    assert found.replay_distance <= 1e-6
    assert found.is_within_tolerance
    with pytest.raises(ModelError, match="a free time"):
        found.extremal()
    (note,) = found.notes
    assert "singular arc from t = 0.171" in note
    kinds = [arc.bound if arc.kind == "bang" else arc.kind for arc in found.arcs]
    assert kinds == [20.0, -20.0, "singular", -20.0, 20.0, -20.0]
    singular = found.arcs[2]
    assert 0.28 < singular.end - singular.start < 0.30
    assert singular.switching < 1e-5 < min(a.switching for a in found.arcs if a.kind == "bang")
    phases = [
        Phase(CART, intervals=6, bounds={} if arc.bound is None else {u: (arc.bound, arc.bound)})
        for arc in found.arcs
    ]
    times = [0.0, *(arc.end for arc in found.arcs)]
    phases = [
        replace(phase, duration=(0.5 * (b - a), 2 * (b - a)))
        for phase, a, b in zip(phases, times[:-1], times[1:], strict=True)
    ]
    ends = {name: {**SWING[name], x.dot: 0, theta.dot: 0} for name in ("start", "end")}
    exact = optimise_phases(
        phases, at_end(da.t), ends["start"], ends["end"], bounds=SWING["bounds"], guess=found,
        tolerance=1e-8,
    )  # fmt: skip
    assert abs(exact.cost / 1.167090858 - 1) < 1e-9


@pytest.mark.long
def test_several_starts_rank_local_optima() -> None:
    """A pendulum swings up in 4 with a weak torque: 25.16444, or 36.1753 with one swing more."""
    found = optimise(
        ROD, integral(u**2), {x: 0, y: -1}, {x: 0, y: 1}, (0, 4), at_rest=True,
        bounds={u: (-5, 5)}, starts=6, seed=0, tolerance=1e-4, refinements=1,
    )  # fmt: skip
    costs = [own.cost for own in found.optima]
    assert costs == sorted(costs)
    assert len(costs) > 1
    assert found.cost == pytest.approx(25.16444, rel=1e-4)


def test_progress_is_told_and_an_interruption_keeps_what_was_found() -> None:
    said: list[float] = []

    def stop(part: float, meshes: float) -> None:
        said.append(part)
        if meshes == 2:
            raise KeyboardInterrupt

    found = optimise(
        CART, at_end(da.t), span=(0, (0.5, 4)), guess={da.t: 2}, progress=stop, **SWING
    )
    assert said == sorted(said)
    assert len(found.rounds) == 2 <= len(said)
    assert "interrupted" in found.notes[0]
    assert not found.is_within_tolerance


def test_ctrl_c_inside_the_solver_keeps_its_best_iterate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal arrives while IPOPT evaluates, where CasADi would take it for a failure."""
    look = IterationWatch.eval

    def eval_and_send(self: IterationWatch, results: Any) -> list[int]:
        if self.count == 10:
            threading.Timer(1e-3, os.kill, (os.getpid(), signal.SIGINT)).start()
        return look(self, results)

    monkeypatch.setattr(IterationWatch, "eval", eval_and_send)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        found = optimise(CART, at_end(da.t), span=(0, (0.5, 4)), guess={da.t: 2}, **SWING)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    (only,) = found.rounds
    assert 10 < only.iterations < 50
    assert found.status == "User_Requested_Stop"
    assert "its best iterate is returned" in found.notes[0]


@pytest.mark.parametrize("transcription", ["gauss6", "radau5"])
def test_a_trajectory_is_a_warm_start_with_its_multipliers(transcription: str) -> None:
    """With 19 N instead of 20 N: mesh and active bounds are known, the optimum is the same."""
    tight = {**SWING, "bounds": {u: (-19, 19), x: (-2, 2)}}
    asked: dict[str, Any] = {"span": (0, (0.5, 4)), "transcription": transcription}
    asked |= {"tolerance": 1e-4, "refinements": 1}
    before = optimise(CART, at_end(da.t), guess={da.t: 2}, **asked, **SWING)
    cold = optimise(CART, at_end(da.t), guess={da.t: 2}, **asked, **tight)
    warm = optimise(CART, at_end(da.t), guess=before, **asked, **tight)
    assert warm.cost == pytest.approx(cold.cost, rel=1e-3)
    assert warm.rounds[0].intervals == before.rounds[-1].intervals
    assert warm.iterations < cold.iterations / 2
    again = optimise(CART, at_end(da.t), guess=warm, **asked, **tight)
    assert again.iterations < cold.iterations / 2
    assert again.cost == pytest.approx(warm.cost, rel=1e-6)


def test_a_trajectory_of_another_problem_is_an_ordinary_guess() -> None:
    """Other transcriptions and other inputs take the motion alone."""
    before = optimise(BLOCK, integral(u**2), {x: 0}, {x: 1}, (0, 1), at_rest=True, intervals=7)
    other = optimise(
        BLOCK, integral(u**2), {x: 0}, {x: 2}, (0, 1), at_rest=True, guess=before,
        transcription="radau5", intervals=9,
    )  # fmt: skip
    assert other.rounds[0].intervals == 9
    same = optimise(
        BLOCK, integral(u**2), {x: 0}, {x: 2}, (0, 1), at_rest=True, guess=before, intervals=9,
        conditions=[integral(x) >= 0],
    )  # fmt: skip
    assert same.rounds[0].intervals == 7
    assert other.cost == pytest.approx(48.0, rel=1e-8)
    assert same.cost == pytest.approx(48.0, rel=1e-8)


@pytest.mark.parametrize("name", ["trapezoid", "hermite-simpson", "gauss4", "radau3"])
def test_schemes_have_their_order(name: str) -> None:
    """The error of the cost falls by two to the order when the mesh is halved."""
    order = {"radau3": 3}.get(name, find_scheme(name).order)
    exact = 58.8076674645
    errors = [
        abs(
            optimise(
                CART, integral(u**2), span=(0, 2), transcription=name, intervals=n, refinements=0,
                **SWING,
            ).transcribed_cost
            - exact
        )
        for n in (60, 120)
    ]  # fmt: skip
    assert np.log2(errors[0] / errors[1]) > order - 0.4


def test_gauss_in_momenta_is_discrete_mechanics() -> None:
    """Nodes of "gauss2" in Hamilton's form obey the forced discrete Euler-Lagrange equations of

    L_d = h L((q_k + q_k+1)/2, (q_k+1 - q_k)/h), here written for the cart-pole by hand.
    """
    found = optimise(
        CART, integral(u**2), span=(0, 2), form="hamilton", transcription="gauss2", intervals=40,
        refinements=0, **SWING,
    )  # fmt: skip
    h, q = 2 / 40, found.states[:2].T
    force = found.inputs["u"].coefficients[:, 0]

    def slopes(a: Any, b: Any, push: float) -> tuple[Any, Any]:
        """D_1 and D_2 of L_d, each with half of the force's impulse."""
        (_, angle), (v, rate) = (a + b) / 2, (b - a) / h
        s, c = np.sin(angle), np.cos(angle)
        p = np.array(
            [(M1 + M2) * v + M2 * LENGTH * c * rate, M2 * LENGTH * (c * v + LENGTH * rate)]
        )
        along = np.array([0.0, -M2 * LENGTH * s * (v * rate + G)])
        impulse = np.array([push, 0.0])
        return h / 2 * (along + impulse) - p, h / 2 * (along + impulse) + p

    for k in range(1, 40):
        after = slopes(q[k], q[k + 1], force[k])[0]
        before = slopes(q[k - 1], q[k], force[k - 1])[1]
        assert np.allclose(after + before, 0.0, atol=1e-8)


# -- constraints -----------------------------------------------------------------------------------


def swung(**more: Any) -> Any:
    start, end = {x: 0, y: -1}, {x: sympy.sin(2), y: -sympy.cos(2)}
    return optimise(ROD, integral(u**2), start, end, (0, 1.5), at_rest=True, **more)


def test_multipliers_are_unknowns_and_the_cost_is_that_of_one_coordinate() -> None:
    angle = da.System(
        [theta], kinetic=theta.dot**2 / 2, potential=-G * cos(theta), forces={theta: u}, inputs=[u]
    )
    one = optimise(angle, integral(u**2), {theta: 0}, {theta: 2}, (0, 1.5), at_rest=True)
    found = swung()
    assert found.cost == pytest.approx(one.cost, rel=1e-6)
    assert found.iterations < 60
    assert found.motion.worst_residual["position"] < 1e-8
    assert found.motion["y"][-1] == pytest.approx(-np.cos(2.0), abs=1e-6)


@pytest.mark.long
def test_reactions_may_be_bounded() -> None:
    """The tension of the rod is v^2 - g y; a bound on it is kept along the whole motion."""
    free = swung()
    tension = -da.control.multiplier("rod") * 2
    most = float(np.max(-2 * free.motion.reactions["rod"].multiplier))
    bound = swung(bounds={tension: (None, most - 2.0)})
    assert bound.cost > free.cost * (1 + 1e-4)
    motion = bound.motion
    pulled = motion["x_dot"] ** 2 + motion["y_dot"] ** 2 - G * motion["y"]
    assert np.max(pulled) <= most - 2.0 + 1e-4
    force = da.control.reaction("rod", x)
    again = swung(bounds={tension: (None, most - 2.0), force: (-1e3, 1e3)})
    assert again.cost == pytest.approx(bound.cost, rel=1e-5)


def test_reactions_may_cost() -> None:
    """The cost is that of another run of `simulate`, by Simpson's rule; reactions cost nothing."""
    ends = ({x: 0, y: -1}, {x: np.sin(1), y: -np.cos(1)}, (0, 1.5))
    squares = sum(da.control.reaction("rod", q) ** 2 for q in (x, y))
    found = optimise(ROD, integral(u**2 + squares / 10), *ends, at_rest=True)
    again = da.simulate(
        ROD, {x: 0, y: -1}, (0, 1.5), inputs=found.inputs, rtol=1e-11, at=np.linspace(0, 1.5, 2001)
    )
    force = np.sum(again.reactions["rod"].force[:2] ** 2, axis=0)
    total = simpson(found.inputs["u"].at(again.t) ** 2 + force / 10, x=again.t)
    assert found.cost == pytest.approx(total, rel=1e-8)
    cheap = optimise(ROD, integral(u**2), *ends, at_rest=True)
    weight = simpson(cheap.inputs["u"].at(cheap.motion.t) ** 2, x=cheap.motion.t)
    assert weight < simpson(found.inputs["u"].at(again.t) ** 2, x=again.t)


def test_start_and_end_times_may_both_be_free() -> None:
    """T + 12 / T^3 is least at T^4 = 36."""
    found = optimise(
        BLOCK, integral(u**2) + at_end(da.t) - at_start(da.t), {x: 0}, {x: 1}, ((-3, 0), (0.5, 9)),
        at_rest=True, guess={da.t: 2},
    )  # fmt: skip
    first, last = found.span
    assert last - first == pytest.approx(36**0.25, rel=1e-6)
    assert found.cost == pytest.approx(36**0.25 + 12 / 36**0.75, rel=1e-9)


def test_the_top_of_a_circle_is_not_its_bottom() -> None:
    found = optimise(
        ROD, integral(u**2), {x: 0, y: -1}, {x: 0, y: 1}, (0, 2), at_rest=True,
        guess={x: sin(pi * da.t / 2), y: -cos(pi * da.t / 2)},
    )  # fmt: skip
    assert found.motion["y"][-1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    "form", ["maggi", "hamilton", "hamel", "gibbs-appell", "kane", "poincare-chetaev"]
)
def test_forms_agree_on_a_sleigh(form: str) -> None:
    """Multipliers as unknowns, momenta, independent velocities: one problem, one optimum."""
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    sleigh = da.System(
        [x, y, theta],
        kinetic=(
            (x.dot - theta.dot * sin(theta) / 5) ** 2 + (y.dot + theta.dot * cos(theta) / 5) ** 2
        ) / 2
        + theta.dot**2 / 4,
        constraints=[blade],
        forces={x: u * cos(theta), y: u * sin(theta), theta: w},
        inputs=[u, w],
    )  # fmt: skip

    def solved(form: str) -> Any:
        return optimise(
            sleigh, integral(u**2 + w**2), {x: 0, y: 0, theta: 0}, {x: 1, y: 0.5, theta: 0}, (0, 2),
            at_rest=True, form=form, guess={theta: sin(pi * da.t / 2) / 2},
        )  # fmt: skip

    one, other = solved("lagrange"), solved(form)
    assert other.motion.equations.form == form
    assert other.cost == pytest.approx(one.cost, rel=1e-7)
    assert other.replay_distance <= 1e-6
    with pytest.raises(DalembertError, match="independent velocities"):
        solved("voronets")


def test_guesses_are_motions_extremals_and_trajectories() -> None:
    found = optimise(CART, integral(u**2), span=(0, 2), **SWING)
    for guess in (found, found.motion, found.extremal()):
        again = optimise(CART, integral(u**2), span=(0, 2), guess=guess, refinements=0, **SWING)
        assert again.iterations < 10
        assert again.transcribed_cost == pytest.approx(found.cost, rel=1e-5)


def test_equations_and_names_state_the_same_problem() -> None:
    named = optimise(
        da.derive(CART, "lagrange"), integral(u**2), {"x": 0, "theta": 0}, {"x": 1, "theta": pi},
        (0, 2), at_rest=True, bounds={"u": (-20, 20), "x_ddot": (-10, 10)}, tolerance=1e-3,
    )  # fmt: skip
    free = optimise(CART, integral(u**2), span=(0, 2), **SWING)
    assert np.min(free.motion["x_ddot"]) < -11
    assert named.bound_violation <= 1e-3
    assert np.min(named.motion["x_ddot"]) > -10 - 2e-3
    assert named.cost > free.cost * 1.001


# -- parts -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["gauss2", "gauss10", "radau1", "radau7", "lobatto2", "lobatto8"])
def test_stages_integrate_polynomials_exactly(name: str) -> None:
    scheme = find_scheme(name)
    for power in range(scheme.order):
        assert scheme.weights @ scheme.stages**power == pytest.approx(1 / (power + 1), abs=1e-12)
    for power in range(len(scheme.stages)):
        expected = scheme.stages ** (power + 1) / (power + 1)
        assert np.allclose(scheme.mix @ scheme.stages**power, expected, atol=1e-12)


def test_bernstein_polynomials_are_positive_and_sum_to_one() -> None:
    table = bernstein(5, np.linspace(0, 1, 17))
    assert np.all(table >= 0)
    assert np.allclose(table.sum(axis=1), 1.0)


# -- what cannot be done ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "kind", "said"),
    [
        ({"cost": u**2}, ModelError, "stands alone"),
        ({"start": {x: 3}, "bounds": {x: (-1, 1)}}, StartError, "outside its bounds"),
        ({"bounds": {u: (1, -1)}}, ModelError, "exclude each other"),
        ({"span": (2, 1)}, ModelError, "forward"),
        ({"span": ()}, ModelError, "two times"),
        ({"start": {"z": 0}}, ModelError, "no quantity"),
        ({"transcription": "simpson"}, ModelError, "no transcription"),
        ({"parameters": {"m": 1}}, ModelError, "no parameter"),
        ({"conditions": [True]}, ModelError, "condition"),
        ({"bounds": {u: (-1, 1)}}, RunError, r"the end of x .off by 0.375.*bounds .u\)"),
        ({"bounds": {x + x.dot: (None, 0.5)}}, RunError, r"end of x .*bounds .x \+ x_dot"),
        ({"bounds": {x.ddot - u: (1, 2)}}, RunError, r"the bound on -u \+ x_ddot \(off by 1\)"),
        ({"conditions": [integral(x) - 1, integral(x) - 2]}, RunError, "integral.x. - 2"),
        ({"cost": -integral(u**2)}, RunError, "without limit"),
        ({"cost": integral(sympy.log(x - 5))}, ModelError, "no finite number"),
        ({"starts": 0}, ModelError, "starts"),
        ({"starts": 2, "seed": -1}, ModelError, "`seed` must be"),
        ({"intervals": 10**9}, ModelError, "`intervals` must be"),
        ({"intervals": "many"}, ModelError, "`intervals` must be"),
        ({"refinements": -1}, ModelError, "`refinements` must be"),
        ({"bounds": {u: (float("nan"), 1)}}, ModelError, "number or a pair"),
        ({"end": {x: float("inf")}}, ModelError, "number or a pair"),
        ({"guess": {x: [0, float("nan"), 1]}}, ModelError, "no finite number"),
        ({"guess": {x: []}}, ModelError, "list of numbers"),
        ({"cost": sympy.nan}, ModelError, "no finite number"),
        ({"start": {x: 0, "x": 1}}, ModelError, "`x` twice"),
        ({"periodic": [x]}, RunError, r"at_end\(x\) - at_start\(x\)"),
        ({"conditions": [at_end(x) - 2]}, RunError, "the end of x"),
        (
            {"periodic": [x.dot], "up_to": {x: x + da.parameters("a")}},
            ModelError,
            "moves `x`, which does not",
        ),
        ({"bounds": {da.control.reaction("rod", x): (0, 1)}}, ModelError, "no reaction"),
    ],
)
def test_what_cannot_be_met_is_said(
    changed: dict[str, Any], kind: type[DalembertError], said: str
) -> None:
    call: dict[str, Any] = {
        "cost": integral(u**2), "start": {x: 0}, "end": {x: 1}, "span": (0, 1), "at_rest": True,
    }  # fmt: skip
    with pytest.raises(kind, match=said):
        optimise(BLOCK, **(call | changed))


@pytest.mark.parametrize(("end", "said"), [(3, "the end of x"), (1, "1 more equations than")])
def test_ends_that_leave_nothing_free_are_refused(
    end: float, said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A mass without forces, whose start and end are given: no word of CasADi beside the error."""
    still = da.System([x], kinetic=x.dot**2 / 2)
    with pytest.raises(RunError, match=said):
        optimise(still, integral(x**2), {x: 0, x.dot: 1}, {x: end}, (0, 1))
    assert capfd.readouterr() == ("", "")


def test_an_integral_that_may_diverge_is_not_trusted() -> None:
    """1/x at x = 0: no stage of collocation lies there, the first node does."""
    found = optimise(
        BLOCK, integral(1 / x), {x: 0}, {x: 1}, (0, 1), at_rest=True, bounds={u: (-20, 20)},
        intervals=5, refinements=0,
    )  # fmt: skip
    assert "not finite at t = 0" in found.notes[0]
    assert not found.is_within_tolerance


def test_a_trajectory_is_read_and_drawn() -> None:
    found = optimise(BLOCK, integral(u**2), {x: 0}, {x: 1}, (0, 1), at_rest=True)
    assert "of the replayed motion" in found.report()
    assert len(found.plot().axes) == 3
    assert at_start(x) != at_end(x)


def test_a_guess_at_a_maximum_is_left() -> None:
    """-x^2 is stationary at rest; with |u| <= 1 the block goes as far as it can, x = t^2/2."""
    x = da.coordinates("x")
    u = da.inputs("u")
    block = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    found = da.control.optimise(
        block, -da.control.integral(x**2), {x: 0, x.dot: 0}, {}, (0, 1), bounds={u: (-1, 1)}
    )
    assert found.cost == pytest.approx(-1 / 20, rel=1e-6)
    assert "no minimum" in " ".join(found.notes)


def test_the_transcription_follows_the_tolerance_and_the_inputs() -> None:
    ends = ({x: 0}, {x: 1}, (0, (0.5, 5)))
    cost = da.control.integral(1 + u**2)
    fine, coarse = (
        da.control.optimise(BLOCK, cost, *ends, at_rest=True, tolerance=each)
        for each in (1e-6, 1e-3)
    )
    jumps = da.control.optimise(
        BLOCK, da.control.at_end(da.t), *ends, at_rest=True, bounds={u: (-1, 1)}
    )
    assert (fine.transcription, coarse.transcription) == ("gauss10", "gauss6")
    assert jumps.transcription == "gauss6" and "jump" in jumps.reason
    assert fine.reason in fine.report()
    several = da.control.optimise(BLOCK, cost, *ends, at_rest=True, starts=2)
    assert several.transcription == "gauss6"
    again = da.control.optimise(BLOCK, cost, *ends, at_rest=True, guess=coarse)
    assert again.transcription == "gauss6"
    assert abs(fine.cost - coarse.cost) < 1e-6


def test_a_solver_is_taken_by_its_name() -> None:
    asked = (BLOCK, da.control.integral(u**2), {x: 0}, {x: 1}, (0, 1))
    found = da.control.optimise(*asked, at_rest=True, solver="sqpmethod", intervals=8)
    assert abs(found.cost - 12) < 1e-9
    with pytest.raises(ModelError, match="did you mean ipopt"):
        da.control.optimise(*asked, at_rest=True, solver="iopt")


def test_fatrop_takes_programs_of_one_stage_after_another() -> None:
    """With multipliers, bounds on expressions and conditions at an end; costates are the same."""
    call: dict[str, Any] = {
        "start": {x: 0, y: -1}, "end": {x: np.sin(2), y: -np.cos(2)}, "span": (0, 1.5),
        "bounds": {x**2 + y.dot: (-9, 9), u: (-8, 8)}, "at_rest": True,
        "conditions": [at_end(x * y) <= 1], "tolerance": 1e-4, "refinements": 0,
    }  # fmt: skip
    one, other = (
        optimise(ROD, integral(u**2), solver=solver, **call) for solver in ("fatrop", "ipopt")
    )
    assert one.cost == pytest.approx(other.cost, rel=1e-6)
    assert np.allclose(one.costates, other.costates, atol=1e-3 * np.max(np.abs(other.costates)))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"span": (0, (0.5, 2))}, r"all stages share .seen: times"),
        ({"periodic": [x.dot], "end": {}}, r"two instants .seen: at_end\(x_dot\) - at_start"),
        ({"conditions": [integral(x) - 1]}, "share .seen: integrals"),
        ({"transcription": "radau5"}, "explicit steps .*radau5"),
        ({"cost": (at_end(x) - at_start(x)) ** 2}, "no cost that joins"),
    ],
)
def test_what_fatrop_does_not_take_is_named(changed: dict[str, Any], said: str) -> None:
    call: dict[str, Any] = {
        "cost": integral(u**2), "start": {x: 0}, "end": {x: 1}, "span": (0, 1), "solver": "fatrop",
    }  # fmt: skip
    with pytest.raises(ModelError, match=said):
        optimise(BLOCK, **(call | changed))
