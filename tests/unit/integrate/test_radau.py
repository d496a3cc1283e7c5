"""Radau IIA methods: tables, order, stiff equations, constraints, events, dense output, Jacobians,
and where they are the wrong choice.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sympy import Abs, Max, cos, sin, sqrt

import dalembert as da
from dalembert.codegen.native.native_module import NativeModule
from dalembert.integrate.methods.implicit import sparse_lu
from dalembert.integrate.methods.implicit.radau import hold_radau
from dalembert.integrate.methods.implicit.radau_tables import radau_table
from dalembert.integrate.methods.table import find_method
from dalembert.integrate.native_run import native_functions
from dalembert.integrate.run_fields import RunFields
from dalembert.runtime import rates_jacobian
from dalembert.runtime.context import Context
from dalembert.runtime.kernel import kernel_of

ORDERS = (5, 9, 13)


def pendulum() -> da.System:
    angle = da.coordinates("angle")
    return da.System([angle], kinetic=angle.dot**2 / 2, potential=-cos(angle))


def rod(**more: Any) -> da.System:
    x, y = da.coordinates("x y")
    rods = [da.holonomic(x**2 + y**2 - 1, name="rod")]
    return da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.81 * y, constraints=rods, **more
    )


def spring(damping: float) -> da.System:
    """A pendulum on a stiff spring, damped along it."""
    x, y = da.coordinates("x y")
    r = sqrt(x**2 + y**2)
    return da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y + 5000 * (r - 1) ** 2,
        dissipation=damping / 2 * ((x * x.dot + y * y.dot) / r) ** 2,
    )


# -- what a step is made of ------------------------------------------------------------------------


@pytest.mark.parametrize("stages", [3, 5, 7])
def test_tables_meet_the_order_conditions(stages: int) -> None:
    table = radau_table(stages)
    matrix, c = np.linalg.inv(table.derivatives), table.nodes
    for k in range(1, stages + 1):  # collocation
        np.testing.assert_allclose(matrix @ c ** (k - 1), c**k / k, atol=1e-14)
    for k in range(1, 2 * stages):  # the quadrature, stiffly accurate
        assert matrix[-1] @ c ** (k - 1) == pytest.approx(1 / k, abs=1e-14)
    blocks = np.zeros((stages, stages))
    blocks[0, 0] = table.real
    for k, (a, b) in enumerate(table.pairs):
        blocks[1 + 2 * k : 3 + 2 * k, 1 + 2 * k : 3 + 2 * k] = [[a, -b], [b, a]]
    np.testing.assert_allclose(
        table.vectors @ blocks @ table.inverse, table.derivatives, atol=1e-11
    )


def test_the_estimate_of_three_stages_is_that_of_hairer_and_wanner() -> None:
    root = np.sqrt(6.0)
    expected = np.array([-13 - 7 * root, -13 + 7 * root, -1]) / 3
    np.testing.assert_allclose(radau_table(3).error, expected, rtol=1e-13)


@pytest.mark.parametrize(("size", "share"), [(4, 0.9), (30, 0.1), (40, 0.03)])
def test_sparse_factors_solve_real_and_complex_systems(size: int, share: float) -> None:
    random = np.random.default_rng(size)
    jacobian = (random.random((size, size)) < share) * random.normal(size=(size, size))
    rows, columns = (np.ascontiguousarray(part) for part in np.nonzero(jacobian))
    values = jacobian[rows, columns].copy()
    pattern = sparse_lu.elimination_pattern(size, rows, columns)
    names = ("shifted", "factor_real", "solve_real", "factor_complex", "solve_complex")
    native = NativeModule([getattr(sparse_lu, name) for name in names]).functions
    where = (size, pattern.row_first, pattern.columns, pattern.diagonals)
    count, work = len(pattern.columns), np.zeros(2 * size)
    real, imaginary = np.zeros(count), np.zeros(count)
    shift = (size, count, len(rows), pattern.places, pattern.diagonals)
    right = random.normal(size=(2, size))
    native["shifted"](*shift, 3.0, values, real)
    assert native["factor_real"](*where, real, work)
    x = np.ascontiguousarray(right[0][pattern.order])
    native["solve_real"](*where, real, x)
    found = np.linalg.solve(3.0 * np.eye(size) - jacobian, right[0])
    np.testing.assert_allclose(x, found[pattern.order], atol=1e-12)
    native["shifted"](*shift, 2.0, values, real)
    imaginary[pattern.diagonals] = 1.5
    assert native["factor_complex"](*where, real, imaginary, work)
    x, y = (np.ascontiguousarray(part[pattern.order]) for part in right)
    native["solve_complex"](*where, real, imaginary, x, y)
    both = np.linalg.solve((2.0 + 1.5j) * np.eye(size) - jacobian, right[0] + 1j * right[1])
    np.testing.assert_allclose(x + 1j * y, both[pattern.order], atol=1e-12)


def test_a_vanishing_pivot_is_reported() -> None:
    pattern = sparse_lu.elimination_pattern(1, np.array([0]), np.array([0]))
    factor = NativeModule([sparse_lu.factor_real]).functions["factor_real"]
    where = (1, pattern.row_first, pattern.columns, pattern.diagonals)
    assert not factor(*where, np.zeros(1), np.zeros(2))


def test_entries_products_and_differences_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """The three ways to the Jacobian, by differences of the rates themselves."""
    state = np.array([0.6, -0.9, 0.3, 0.2])
    found = {}
    for way, most in (("entries", 40_000), ("product", 0)):
        kernel = kernel_of(da.derive(spring(10.0)), ())
        monkeypatch.setattr(rates_jacobian, "MOST_INSTRUCTIONS", most)
        context = prepared(kernel, 3, state)
        assert bool(context.fields.radau.jacobian_program) == (way == "entries")
        found[way] = jacobian_at(context, state)
    monkeypatch.setattr(rates_jacobian, "regular_rates", refused)
    context = prepared(kernel_of(da.derive(spring(10.0)), ()), 3, state)
    assert not context.fields.radau.jacobian_program + context.fields.radau.tangent_program
    found["differences"] = jacobian_at(context, state)
    np.testing.assert_allclose(found["product"], found["entries"], rtol=1e-13, atol=1e-12)
    size = np.abs(found["entries"]).max()
    np.testing.assert_allclose(found["differences"], found["entries"], atol=1e-6 * size)


def refused(*arguments: Any) -> Any:
    raise da.errors.FormError("The solve cannot be written out", seen="a test", remedy="none")


def prepared(kernel: Any, stages: int, state: Any, parameters: Any = ()) -> Context:
    """A context that takes Radau steps, held to rounding."""
    context, size = Context(kernel, np.array(parameters), RunFields), len(state)
    context.fields.bind("atol", np.full(size, 1e-14))
    context.fields.clock.rtol = 1e-14
    context.fields.bind("stages", np.zeros((2, size + 1)))
    context.fields.bind("stage", np.zeros(size))
    hold_radau(context, stages, 0.0, state)
    return context


def jacobian_at(context: Context, state: Any) -> Any:
    step = native_functions(find_method("radau5").step)["solve_step"]
    step(context.fields, 0.0, 1e-3, state, state)
    radau = context.fields.radau
    result = np.zeros((len(state), len(state)))
    result[radau.arrays["value_rows"], radau.arrays["value_columns"]] = radau.arrays["values"]
    return result


@pytest.mark.parametrize(("order", "counts"), [(5, (16, 32)), (9, (5, 10)), (13, (4, 6))])
def test_measured_order_on_a_nonlinear_problem(order: int, counts: tuple[int, int]) -> None:
    exact = da.simulate(pendulum(), {"angle": 2.0}, (0, 3), rtol=1e-14, at=[3.0]).y[:, 0]
    kernel, stages = kernel_of(da.derive(pendulum()), ()), (order + 1) // 2
    step = native_functions(find_method(f"radau{order}").step)["solve_step"]
    errors = []
    for count in counts:
        state = np.array([2.0, 0.0])
        context, h = prepared(kernel, stages, state), 3.0 / count
        for k in range(count):
            guess = state + h * context.rates(k * h, state)
            assert step(context.fields, k * h, h, state, guess) == 0
            state = state + context.fields.radau.arrays["increments"][-1]
        errors.append(np.abs(state - exact).max())
    measured = np.log(errors[0] / errors[1]) / np.log(counts[1] / counts[0])
    assert abs(measured - order) < 0.15 * order


# -- runs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
def test_a_motion_is_right_to_its_tolerance(order: int, rtol: float) -> None:
    exact = da.simulate(rod(), {"x": 1.0}, (0, 3), rtol=1e-13, at=[3.0])
    found = da.simulate(rod(), {"x": 1.0}, (0, 3), rtol=rtol, method=f"radau{order}", at=[3.0])
    assert np.abs(found.y - exact.y).max() < 20 * rtol * np.abs(exact.y).max()
    assert found.worst_residual["position"] < 1e-13
    assert found.worst_residual["velocity"] < 1e-12


@pytest.mark.parametrize("order", ORDERS)
def test_a_decay_that_is_over_does_not_bound_the_steps(order: int) -> None:
    """With a decay within 1e-7 of a time unit an explicit method would take ten million steps."""
    found = da.simulate(
        spring(1e7), {"x": 1.0}, (0, 5), rtol=1e-7, method=f"radau{order}", at=[5.0]
    )
    assert found.success and "stiff" not in found.message
    assert found.statistics["steps"] < 1500
    # As the damping grows the spring becomes a rod that creeps: the radial force balances damping.
    other = da.simulate(spring(1e7), {"x": 1.0}, (0, 5), rtol=1e-10, method="radau9", at=[5.0])
    assert np.abs(found.y - other.y).max() < 1e-5


@pytest.mark.parametrize("order", ORDERS)
def test_a_stiff_problem_with_a_known_solution(order: int) -> None:
    """Prothero and Robinson: y' = -1e6 (y - cos t) - sin t has the solution cos t."""
    y = da.coordinates("y")
    flow = da.Flow({y: -(10**6) * (y - cos(da.t)) - sin(da.t)})
    found = da.simulate(flow, {"y": 1.0}, (0, 10), rtol=1e-8, method=f"radau{order}")
    np.testing.assert_allclose(found["y"], np.cos(found.t), atol=1e-8)
    assert found.statistics["steps"] < 400
    times = np.linspace(0, 10, 77)
    np.testing.assert_allclose(found.sol(times)[0], np.cos(times), atol=2e-8)


@pytest.mark.parametrize("form", ["lagrange", "hamilton", "maggi"])
def test_any_form_takes_it(form: str) -> None:
    exact = da.simulate(rod(), {"x": 1.0}, (0, 2), rtol=1e-12, at=[2.0])["x"]
    found = da.simulate(rod(), {"x": 1.0}, (0, 2), rtol=1e-9, method="radau9", form=form, at=[2.0])
    assert found.statistics["form"] == form
    assert abs(found["x"] - exact).max() < 1e-8


@pytest.mark.parametrize("order", [5, 9])
def test_events_times_and_dense_output(order: int) -> None:
    x = da.coordinates("x")
    given: Any = {"method": f"radau{order}", "rtol": 1e-9}
    exact = da.simulate(rod(), {"x": 1.0}, (0, 5), rtol=1e-13, events=[x])
    found = da.simulate(rod(), {"x": 1.0}, (0, 5), events=[x], **given)
    np.testing.assert_allclose(found.t_events[0], exact.t_events[0], atol=1e-9)
    few, many = np.linspace(0, 5, 31), np.linspace(0, 5, 400)  # by steps of their own; between
    for times in (few, many):
        at = da.simulate(rod(), {"x": 1.0}, (0, 5), at=times, **given)
        np.testing.assert_allclose(at.y, exact.sol(times), atol=2e-8)
    np.testing.assert_allclose(found.sol(few), exact.sol(few), atol=2e-8)
    back = da.simulate(rod(), dict(zip(("x", "y", "x_dot", "y_dot"), found.y[:, -1], strict=True)),
                       (5, 0), **given)  # fmt: skip
    np.testing.assert_allclose(back.y[:, -1], found.y[:, 0], atol=1e-7)
    stopped = da.simulate(rod(), {"x": 1.0}, (0, 5), events=[da.event(x, terminal=True)], **given)
    assert stopped.t[-1] == pytest.approx(exact.t_events[0][0], abs=1e-9)
    assert abs(stopped["x"][-1]) < 1e-9


def test_contacts_switches_inputs_and_dependent_constraints() -> None:
    x, u = da.coordinates("x"), da.inputs("u")
    free: Any = {"kinetic": x.dot**2 / 2}
    ball = da.System(
        [x], potential=9.81 * x, constraints=[da.unilateral(-x, 0.7, name="floor")], **free
    )
    kink = da.System([x], potential=Abs(x), **free)
    pushed = da.System([x], potential=x**2 / 2, forces={x: u}, inputs=[u], **free)
    pulse = {u: lambda t, state: 50 * np.exp(-(((t - 2.3) / 0.01) ** 2)) - state["x_dot"]}
    y = da.coordinates("y")
    twice = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9.81 * y,
        constraints=[
            da.holonomic(x**2 + y**2 - 1, name="rod"),
            da.holonomic(2 * x**2 + 2 * y**2 - 2, name="again"),
        ],
    )
    for system, more in ((ball, {}), (kink, {}), (pushed, {"inputs": pulse}), (twice, {})):
        exact = da.simulate(system, {"x": 1.0}, (0, 4), rtol=1e-12, **more)
        found = da.simulate(system, {"x": 1.0}, (0, 4), rtol=1e-9, method="radau5", **more)
        assert found.success
        np.testing.assert_allclose(found.y[:, -1], exact.y[:, -1], atol=1e-8)


@pytest.mark.parametrize("order", [5, 9])
@pytest.mark.parametrize("rtol", [1e-3, 1e-6])
def test_steps_grow_again_after_an_impact_by_penalty(order: int, rtol: float) -> None:
    """At rest on the floor nothing bounds them: a stale contraction once held them for ever."""
    x, y, spin = da.coordinates("x y spin")
    depth = Max(-y, 0)
    ball = da.System(
        [x, y, spin],
        kinetic=(x.dot**2 + y.dot**2) / 2 + spin.dot**2 / 500,
        potential=9.81 * y + 1e8 / 3 * depth**3,
        dissipation=1e7 / 2 * depth * (y.dot**2 + (x.dot - spin.dot / 10) ** 2),
    )
    found = da.simulate(ball, {"y": 0.5, "x_dot": 1.0}, (0, 3), rtol=rtol, method=f"radau{order}")
    assert found.success and found.statistics["steps"] < 300
    assert found["y"][-1] == pytest.approx(-np.sqrt(9.81e-8), rel=1e-5)
    assert found["x_dot"][-1] == pytest.approx(1 / 1.4, rel=1e-6)


def test_many_runs_and_a_stored_one(tmp_path: Path) -> None:
    given: Any = {"method": "radau9", "rtol": 1e-8}
    runs = da.simulate(spring(1e5), {"x": [1.0, 1.1]}, (0, 1), at=[1.0], **given)
    one = da.simulate(spring(1e5), {"x": 1.1}, (0, 1), **given)
    np.testing.assert_allclose(runs["x"][1], one["x"][-1], rtol=1e-12)
    one.save(tmp_path / "run.nc")
    read = da.load(tmp_path / "run.nc")
    times = np.linspace(0, 1, 9)
    np.testing.assert_allclose(read.sol(times), one.sol(times), atol=1e-14)


# -- outside of what it is for ---------------------------------------------------------------------


def test_it_damps_where_nothing_does() -> None:
    """It is not symplectic: over many periods the energy of a pendulum falls, and only falls."""
    lost = da.simulate(pendulum(), {"angle": 1.0}, (0, 400), rtol=1e-4, method="radau5")
    energy = lost.energy - lost.energy[0]
    quarters = [part.mean() for part in np.array_split(energy, 4)]
    assert energy[-1] < -1e-6 and np.all(np.diff(quarters) < 0)
    kept = da.simulate(pendulum(), {"angle": 1.0}, (0, 400), method="gauss4", step=0.2)
    assert abs(np.polyfit(kept.t, kept.energy - kept.energy[0], 1)[0] * 400) < 1e-8


def test_a_singular_state_ends_the_run_in_words() -> None:
    x = da.coordinates("x")
    falls = da.System([x], kinetic=x.dot**2 / 2, potential=-1 / x)
    motion = da.simulate(falls, {"x": 1.0}, (0, 2), method="radau5", rtol=1e-8)
    assert not motion.success
    assert motion.t[-1] == pytest.approx(np.pi / 2**1.5, abs=1e-4)
