"""Runs with fixed steps: what is stored, what lies between, how they end, what is refused, and that
files keep them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.integrate.methods.fixed.step_grid import SLACK
from dalembert.integrate.methods.table import fixed_methods
from dalembert.model.builders.bracket_flows import toda
from dalembert.model.io.files import dumps, loads
from moving_matrices import ON_GROUPS, ORDERS, body, skew

X, Y, V = da.coordinates("x y v")
K = da.parameters("k")
PENDULUM = da.System([X], kinetic=X.dot**2 / 2, potential=-sympy.cos(X), name="Pendulum")
BODY = body([1.0, 2.0, 3.5])
START = BODY.start(M=skew(3, 2, 2.0), Q=np.eye(3))


def swing(**options: Any) -> da.Motion:
    return da.simulate(PENDULUM, {X: 1.0}, (0, 2), method="gauss4", **options)


def test_every_method_has_its_tests() -> None:
    """The others have files of their own; tests/verification/test_long_runs.py measures them
    all.
    """
    assert set(ORDERS) == {
        name
        for name in fixed_methods()
        if name.startswith(("gauss", "isospectral", "lie-", "rkmk"))
    }


# -- what is stored --------------------------------------------------------------------------------


def test_every_step_is_stored_with_everything_observed() -> None:
    motion = swing(step=0.1)
    assert np.array_equal(motion.t, [*(0.1 * np.arange(20)), 2.0])
    assert (
        motion.statistics["steps"] == 20
        and motion.statistics["step"] == 0.1
        and "rtol" not in motion.statistics
    )
    assert np.allclose(motion["x_ddot"], -np.sin(motion["x"]), atol=1e-15)
    assert np.allclose(motion.energy, motion["x_dot"] ** 2 / 2 - np.cos(motion["x"]), atol=1e-15)


def test_every_so_many_steps_and_always_the_last() -> None:
    all_steps, some = swing(step=0.1), swing(step=0.1, every=7)
    assert np.allclose(some.t, [0, 0.7, 1.4, 2.0])
    assert np.array_equal(some.y, all_steps.y[:, [0, 7, 14, 20]])


def test_times_asked_for_are_those_of_steps() -> None:
    chosen, all_steps = swing(step=0.1, at=[2.0, 0.3, 0.0, 1.1]), swing(step=0.1)
    assert np.allclose(chosen.t, [2.0, 0.3, 0.0, 1.1], atol=1e-15)
    assert np.array_equal(chosen.y, all_steps.y[:, [20, 3, 0, 11]])


def test_backwards() -> None:
    forth = swing(step=0.1)
    end = {"x": forth["x"][-1], "x_dot": forth["x_dot"][-1]}
    back = da.simulate(PENDULUM, end, (2, 0), method="gauss4", step=0.1)
    assert back.t[0] == 2.0 and back.t[-1] == 0.0
    assert np.allclose(back.y[:, ::-1], forth.y, atol=1e-14)


def test_a_span_of_no_length() -> None:
    motion = da.simulate(PENDULUM, {X: 1.0}, (1, 1), method="gauss4", step=0.1)
    assert motion.success and motion.t.tolist() == [1.0]


def test_more_steps_than_a_buffer_holds() -> None:
    motion = da.simulate(PENDULUM, {X: 1.0}, (0, 100), method="gauss2", step=0.01)
    assert len(motion.t) == 10_001 and np.allclose(np.diff(motion.t), 0.01)


def test_against_dop853_with_a_small_step() -> None:
    exact = da.simulate(PENDULUM, {X: 1.0}, (0, 2), rtol=1e-13, at=[2.0])
    motion = da.simulate(PENDULUM, {X: 1.0}, (0, 2), method="gauss6", step=0.01)
    assert np.allclose(motion.y[:, -1], exact.y[:, 0], atol=1e-13)


# -- between the steps -----------------------------------------------------------------------------


@pytest.mark.parametrize("every", [1, 7])
def test_dense_output(every: int) -> None:
    motion, exact = (
        swing(step=0.02, every=every),
        da.simulate(PENDULUM, {X: 1.0}, (0, 2), rtol=1e-13),
    )
    times = np.array([1.99, 0.0, 0.011, 1.2345, 0.3, 2.0])
    assert np.abs(motion.sol(times) - exact.sol(times)).max() < 1e-8
    assert motion.sol(times.reshape(2, 3)).shape == (2, 2, 3)
    assert np.allclose(motion.sol(0.3), swing(step=0.02).y[:, 15], atol=1e-15)
    with pytest.raises(da.errors.ModelError, match="outside the motion"):
        motion.sol(2.5)


def test_dense_output_of_a_stiff_run() -> None:
    motion = da.simulate(
        STIFF, {X: 2.0}, (0, 5), parameters={K: 1000.0}, method="gauss4", step=0.05, every=10
    )
    assert np.isfinite(motion.sol(np.linspace(0.01, 4.9, 7))).all()


# -- the implicit equations ------------------------------------------------------------------------

STIFF = da.Flow({X: V, V: K * (1 - X**2) * V - X}, name="van der Pol")


@pytest.mark.parametrize("method", ["gauss2", "gauss4", "gauss6"])
def test_newton_takes_over_where_sweeps_do_not_contract(method: str) -> None:
    """h |f_y| = 150: sweeps would diverge. The slow motion along the attractor is followed."""
    motion = da.simulate(STIFF, {X: 2.0}, (0, 20), parameters={K: 1000.0}, method=method, step=0.05)
    exact = da.simulate(STIFF, {X: 2.0}, (0, 20), parameters={K: 1000.0}, rtol=1e-10, at=[20.0])
    assert (
        motion.success
        and motion.statistics["nfev"] > motion.statistics["sweeps"] * int(method[-1]) // 2
    )
    assert np.abs(motion.y[:, -1] - exact.y[:, 0]).max() < 1e-7


def test_stages_that_run_away_are_no_singularity() -> None:
    """x' = -50 x^3 from far out: sweeps overflow at once, Newton's method follows x = x_0 / sqrt(1
    + 100 x_0^2 t).
    """
    decay = da.Flow({X: -50 * X**3})
    motion = da.simulate(decay, {X: 3.0}, (0, 1), method="gauss4", step=0.01)
    assert motion.success, motion.message
    assert motion["x"][-1] == pytest.approx(3.0 / np.sqrt(901.0), rel=0.01)


@pytest.mark.parametrize("stiffness", [30.0, 3000.0], ids=["sweeps", "newton"])
def test_a_step_against_a_reference_with_either_solver(stiffness: float) -> None:
    """h |f_y|^(1/2) is 0.5, where sweeps contract, and 5, where they do not."""
    quick = da.System([X], kinetic=X.dot**2 / 2, potential=K * X**2 / 2 + X**4)
    motion = da.simulate(
        quick, {X: 1.0}, (0, 0.1), parameters={K: stiffness}, method="gauss4", step=0.1
    )
    theirs = _gauss4(
        lambda y: np.array([y[1], -stiffness * y[0] - 4 * y[0] ** 3]), np.array([1.0, 0.0]), 0.1
    )
    assert np.allclose(motion.y[:, 1], theirs, rtol=0, atol=1e-10)


def _gauss4(rates: Any, y: np.ndarray, h: float) -> np.ndarray:
    """One step by full Newton iterations with differences."""
    r = np.sqrt(3.0) / 6
    a = np.array([[0.25, 0.25 - r], [0.25 + r, 0.25]])

    def residual(flat: np.ndarray) -> np.ndarray:
        k = flat.reshape(2, -1)
        return (k - np.array([rates(row) for row in y + h * a @ k])).ravel()

    k = np.tile(rates(y), 2)
    for _ in range(30):
        jacobian = np.array(
            [(residual(k + d) - residual(k - d)) / 2e-5 for d in 1e-5 * np.eye(len(k))]
        ).T
        k = k - np.linalg.solve(jacobian, residual(k))
    return y + h / 2 * k.reshape(2, -1).sum(axis=0)


def test_rest_stays_at_rest() -> None:
    """Increments that are all zero converge at once."""
    motion = da.simulate(BODY, BODY.start(Q=np.eye(3)), (0, 1), method="isospectral4", step=0.1)
    assert motion.success and np.array_equal(motion.y[:, -1], motion.y[:, 0])


# -- endings ---------------------------------------------------------------------------------------


def test_a_step_that_has_no_solution_ends_the_run_with_what_was_reached() -> None:
    """x' = x^2 is infinite at t = 1."""
    motion = da.simulate(da.Flow({X: X**2}), {X: 1.0}, (0, 2), method="gauss4", step=0.01, every=30)
    assert motion.outcome is da.Outcome.UNSOLVED and not motion.success
    assert "smaller step" in motion.message and "gauss4" in motion.message
    assert motion.t[-1] == pytest.approx(0.99) and np.isfinite(motion.y).all()
    assert motion.t[-2] == pytest.approx(0.9)
    assert motion["x"][3] == pytest.approx(1 / (1 - 0.9), rel=1e-4)


@pytest.mark.long
@pytest.mark.parametrize("method", ["isospectral2", "lie-verlet"])
def test_sweeps_on_a_group_that_do_not_contract(method: str) -> None:
    fast = BODY.start(M=skew(3, 2, 200.0), Q=np.eye(3))
    motion = da.simulate(BODY, fast, (0, 2), method=method, step=1.0)
    assert motion.outcome is da.Outcome.UNSOLVED and motion.t.tolist() == [0.0]


@pytest.mark.long
def test_values_that_are_not_finite() -> None:
    Q = sympy.Matrix(2, 2, list(da.coordinates("q1 q2 q3 q4")))
    side = sympy.ImmutableMatrix([[0, sympy.log(2 - da.t)], [-sympy.log(2 - da.t), 0]])
    flow = da.Flow(
        dict(zip(list(Q), list(side * Q), strict=True)),
        matrices={"Q": Q},
        actions=[da.lie.Action("Q", side)],
    )
    for method in ("rkmk4", "isospectral4", "lie-verlet"):
        motion = da.simulate(flow, flow.start(Q=np.eye(2)), (0, 4), method=method, step=0.1)
        assert not motion.success and np.isfinite(motion.y).all()
        assert motion.t[-1] == pytest.approx(1.9, abs=0.11)


def test_a_singularity_is_named() -> None:
    fall = da.System([X], kinetic=X.dot**2 / 2, potential=sympy.sqrt(X))
    motion = da.simulate(fall, {X: 1.0}, (0, 5), method="gauss4", step=0.01)
    assert not motion.success and motion.t[-1] < 3.0 and np.isfinite(motion.y).all()


def test_too_many_steps() -> None:
    motion = swing(step=0.1, max_steps=7)
    assert motion.outcome is da.Outcome.TOO_MANY_STEPS and motion.t[-1] == pytest.approx(0.7)
    assert "Raise max_steps or step." in motion.message


def test_progress_and_interruption() -> None:
    seen = []

    def progress(fraction: float, t: float) -> None:
        seen.append(fraction)
        if fraction > 0.1:
            raise KeyboardInterrupt

    motion = da.simulate(
        PENDULUM, {X: 1.0}, (0, 10_000), method="gauss2", step=0.01, every=100, progress=progress
    )
    assert motion.outcome is da.Outcome.INTERRUPTED and seen == sorted(seen)
    assert 0.1 < motion.t[-1] / 10_000 < 1 and np.isfinite(motion.y).all()


# -- systems of all kinds --------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["lagrange", "maggi", "hamel", "voronets"])
def test_nonholonomic_systems(form: str) -> None:
    """The sleigh turns through the place where its independent velocities must be chosen anew."""
    sleigh = da.gallery.load("chaplygin-sleigh")
    exact = da.simulate(sleigh, span=(0, 8), rtol=1e-12, at=[8.0], form=form)
    motion = da.simulate(sleigh, span=(0, 8), method="gauss6", step=0.01, form=form)
    assert np.abs(motion.y[:, -1] - exact.y[:, 0]).max() < 1e-11
    assert motion.worst_residual["velocity"] < 1e-13
    assert len(motion.switches) == (1 if form == "voronets" else 0)  # others have a global frame
    inside = np.array([0.123, 0.777, 5.4321])
    assert (
        np.abs(
            motion.sol(inside) - da.simulate(sleigh, span=(0, 8), rtol=1e-12, form=form).sol(inside)
        ).max()
        < 1e-10
    )


def test_reduced_equations_and_the_way_back() -> None:
    sleigh = da.gallery.load("chaplygin-sleigh")
    x, y, theta = sleigh.system.coordinates
    cosine, sine = sympy.cos(theta), sympy.sin(theta)
    group = {"ahead": {x: cosine, y: sine}, "aside": {x: -sine, y: cosine}, "turn": {theta: 1}}
    reduced = da.symmetry.reduce(sleigh.system, group)
    start = {symbol.name: 0.5 for symbol in reduced.state}
    options: dict[str, Any] = {"parameters": sleigh.parameters}
    fixed = da.simulate(reduced, start, (0, 2), method="gauss6", step=0.01, **options)
    exact = da.simulate(reduced, start, (0, 2), rtol=1e-12, at=fixed.t, **options)
    assert np.abs(fixed.y - exact.y).max() < 1e-12
    assert np.abs(da.symmetry.reconstruct(fixed).y - da.symmetry.reconstruct(exact).y).max() < 1e-8


def test_inputs_as_functions_and_as_expressions() -> None:
    u = da.inputs("u")
    driven = PENDULUM.replacing(forces={X: u}, inputs=[u])

    def torque(t: float, state: Any) -> float:
        return float(np.sin(2 * t) - 0.1 * state["x_dot"])

    options: dict[str, Any] = {"method": "gauss4", "step": 0.05}
    called = da.simulate(driven, {X: 1.0}, (0, 2), inputs={u: torque}, **options)
    formula = da.simulate(
        driven, {X: 1.0}, (0, 2), inputs={u: sympy.sin(2 * da.t) - 0.1 * X.dot}, **options
    )
    assert np.allclose(called.y, formula.y, atol=1e-13)
    assert np.allclose(called["u"], formula["u"], atol=1e-13)
    assert np.allclose(called.sol(0.333), formula.sol(0.333), atol=1e-13)


def test_generators_that_depend_on_an_input() -> None:
    u = da.inputs("u")
    a, b = da.coordinates("a b")
    Q = sympy.Matrix([[a, -b], [b, a]])
    side = sympy.ImmutableMatrix([[0, -u], [u, 0]])
    flow = da.Flow(
        {a: -u * b, b: u * a}, inputs=[u], matrices={"Q": Q}, actions=[da.lie.Action("Q", side)]
    )
    motion = da.simulate(
        flow, {a: 1.0}, (0, 1), inputs={u: lambda t, state: 2 * t}, method="lie-verlet", step=0.1
    )
    assert motion["a"][-1] == pytest.approx(np.cos(1.0), abs=1e-14)


@pytest.mark.long
@pytest.mark.parametrize("method", ["gauss4", "isospectral4", "rkmk4"])
def test_files_keep_such_motions(method: str, tmp_path: Any) -> None:
    motion = da.simulate(BODY, START, (0, 2), method=method, step=0.05, every=4)
    motion.save(tmp_path / "body.nc")
    read = da.load(tmp_path / "body.nc")
    assert (
        np.array_equal(read.y, motion.y)
        and read.statistics["step"] == 0.05
        and read.statistics["every"] == 4
    )
    assert np.array_equal(read["M"], motion["M"])
    assert np.array_equal(read.sol([0.111, 1.5]), motion.sol([0.111, 1.5]))
    again = da.simulate(read.scenario)
    assert np.array_equal(again.y, motion.y)


# -- calls that are wrong --------------------------------------------------------------------------

WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no step": ({"method": "gauss4"}, "gauss4 needs a step"),
    "tolerance": (
        {"method": "gauss4", "step": 0.1, "rtol": 1e-8},
        "takes fixed steps .seen: rtol = 1e-08",
    ),
    "absolute tolerance": (
        {"method": "gauss4", "step": 0.1, "atol": 1e-8},
        "takes fixed steps .seen: atol",
    ),
    "largest step": (
        {"method": "gauss4", "step": 0.1, "max_step": 0.1},
        "takes fixed steps .seen: max_step",
    ),
    "first step": (
        {"method": "gauss4", "step": 0.1, "first_step": 0.1},
        "takes fixed steps .seen: first_step",
    ),
    "step of dop853": (
        {"method": "dop853", "step": 0.1},
        "dop853 chooses its steps .seen: step = 0.1",
    ),
    "every of dop853": (
        {"method": "dop853", "every": 3},
        "dop853 chooses its steps .seen: every = 3",
    ),
    "negative step": ({"method": "gauss4", "step": -0.1}, "must be positive"),
    "no number": ({"method": "gauss4", "step": "tiny"}, "must be positive"),
    "span": (
        {"method": "gauss4", "step": 0.3},
        "no whole number of steps .seen: 2 in steps of 0.3",
    ),
    "at": ({"method": "gauss4", "step": 0.1, "at": [0.25]}, "lies between two steps"),
    "every": ({"method": "gauss4", "step": 0.1, "every": 2.5}, "every must be a whole number"),
    "events": ({"method": "gauss4", "step": 0.1, "events": [X]}, "does not look for events"),
    "name": ({"method": "gaus4", "step": 0.1}, "did you mean gauss4"),
    "no group": ({"method": "rkmk4", "step": 0.1}, "needs a flow whose matrices move by a group"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_refused_in_three_parts(case: str) -> None:
    options, words = WRONG[case]
    with pytest.raises(da.errors.DalembertError, match=words) as caught:
        da.simulate(PENDULUM, {X: 1.0}, (0, 2), **options)
    assert caught.value.seen and caught.value.remedy


def test_the_step_that_is_proposed_fits() -> None:
    with pytest.raises(da.errors.ModelError) as caught:
        da.simulate(PENDULUM, {X: 1.0}, (0, 1), method="gauss4", step=0.34)
    step = float(str(caught.value.remedy).split("step=")[1].split(",")[0])
    assert (
        abs(1 / step - 3) < SLACK
        and da.simulate(PENDULUM, {X: 1.0}, (0, 1), method="gauss4", step=step).success
    )


def test_constraints_of_positions_and_contacts_are_refused() -> None:
    rod = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[da.holonomic(X**2 + Y**2 - 1, name="rod")],
        potential=Y,
    )
    with pytest.raises(da.errors.FormError, match=r"such as `rod`.*dop853"):
        da.simulate(rod, {X: 1.0}, (0, 1), method="gauss4", step=0.1)
    wall = da.gallery.load("elastic-pendulum-wall")
    with pytest.raises(da.errors.FormError, match="one-sided constraint"):
        da.simulate(wall, span=(0, 1), method="gauss4", step=0.1)


@pytest.mark.parametrize("method", ON_GROUPS)
def test_a_pattern_that_the_group_leaves_is_refused(method: str) -> None:
    """Tridiagonal matrices do not stay tridiagonal under rotations; Gauss's method on their symbols
    does not care.
    """
    lattice, start = toda(3), {"a_1": 1.0, "b_1": 1.0, "b_2": 0.5}
    with pytest.raises(da.errors.FormError, match="out of its pattern"):
        da.simulate(lattice, start, (0, 1), method=method, step=0.1)
    assert da.simulate(lattice, start, (0, 1), method="gauss4", step=0.1).success


def test_a_symbol_that_two_actions_move_is_refused() -> None:
    a, b = da.coordinates("a b")
    turn = sympy.ImmutableMatrix([[0, -1], [1, 0]])
    square = sympy.Matrix([[a, -b], [b, a]])
    column = sympy.Matrix([a, b])
    flow = da.Flow(
        {a: -b, b: a},
        matrices={"S": square, "c": column},
        actions=[da.lie.Action("S", turn), da.lie.Action("c", turn)],
    )
    with pytest.raises(da.errors.FormError, match="moved by two actions"):
        da.simulate(flow, {a: 1.0}, (0, 1), method="rkmk4", step=0.1)


def test_symbols_that_stand_together_in_entries() -> None:
    """Entries a + b and a - b: the symbols are found again by least squares."""
    a, b = da.coordinates("a b")
    turn = sympy.ImmutableMatrix([[0, -1], [1, 0]])
    column = sympy.Matrix([a + b, a - b])
    flow = da.Flow({a: b, b: -a}, matrices={"c": column}, actions=[da.lie.Action("c", turn)])
    motion = da.simulate(flow, {a: 1.0, b: 0.5}, (0, 1), method="rkmk4", step=0.1)
    assert motion["a"][-1] == pytest.approx(np.cos(1.0) + 0.5 * np.sin(1.0), abs=1e-14)


# -- scenarios and files ---------------------------------------------------------------------------

MODEL = """
coordinates = ["x"]
kinetic = "x_dot**2/2"
potential = "-cos(x)"
[start]
x = 1.0
[simulate]
t = [0, 2]
"""


def test_a_model_file_states_a_step() -> None:
    scenario = loads(MODEL + 'method = "gauss4"\nstep = 0.1\nevery = 5\n')
    motion = da.simulate(scenario)
    assert np.array_equal(motion.y, swing(step=0.1, every=5).y)
    assert loads(dumps(scenario)).simulate == scenario.simulate
    other = da.simulate(scenario, method="dop853", rtol=1e-9)
    assert other.statistics["method"] == "dop853"
    with pytest.raises(da.errors.ModelError, match="takes fixed steps"):
        da.simulate(scenario, rtol=1e-9)


def test_a_tolerance_of_a_scenario_does_not_speak_of_fixed_steps() -> None:
    scenario = loads(MODEL + "rtol = 1e-9\n")
    assert np.array_equal(da.simulate(scenario, method="gauss4", step=0.1).y, swing(step=0.1).y)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('method = "gauss4"\n', "needs a step"),
        ('method = "gauss4"\nstep = 0.1\nrtol = 1e-8\n', "takes fixed steps"),
        ('method = "dop853"\nstep = 0.1\n', "chooses its steps"),
        ('method = "gaus4"\nstep = 0.1\n', "did you mean gauss4"),
        ('method = "gauss4"\nstep = -0.1\n', "must be positive"),
    ],
    ids=["no step", "tolerance", "step", "name", "sign"],
)
def test_model_files_that_are_wrong(lines: str, words: str) -> None:
    with pytest.raises(da.errors.DalembertError, match=words):
        loads(MODEL + lines)


def test_steps_that_cannot_be_counted_are_refused():
    x = da.coordinates("x")
    system = da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2)
    with pytest.raises(ModelError, match="lost beside the times"):
        da.simulate(system, {x: 1.0}, (0, 1), method="gauss4", step=1e-300)
