"""Kernels: native code against NumPy on every gallery system and form, projections, and what is
refused.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from core_systems import (
    consistent_state,
    equations_of,
    gallery_forms,
    parameter_numbers,
    random_system,
)
from dalembert.codegen.native.native_module import NativeModule
from dalembert.errors import ModelError, SingularError
from dalembert.model.parameter_values import parameter_values
from dalembert.runtime import projection as native_loops
from dalembert.runtime.context import Context
from dalembert.runtime.diagnosis import vanishing
from dalembert.runtime.gauss.solve_status import REGULAR
from dalembert.runtime.kernel import compile_equations, kernel_of


@cache
def short_motion(name: str, form: str) -> da.Motion:
    """The beginning of a gallery motion: states that obey the constraints."""
    scenario = da.gallery.load(name)
    first = scenario.simulate["span"][0]
    start = {
        k: v for k, v in scenario.start.items() if form == "vakonomic" or not k.startswith("chi_")
    }
    if form == "vakonomic":
        names = [s.name for s in equations_of(name, form).state if s.name.startswith("chi_")]
        start |= {n: 0.2 for n in names if n not in start}
    return da.simulate(
        equations_of(name, form), start, (first, first + 0.02), parameters=parameter_numbers(name,
        scenario.system), events=(),
    )  # fmt: skip


def free_input_values(kernel: Any) -> np.ndarray:
    return np.linspace(0.3, 0.7, len(kernel.free_inputs))


@pytest.mark.parametrize(("name", "form"), gallery_forms())
def test_native_code_and_numpy_give_the_same_rates(name: str, form: str) -> None:
    motion, equations = short_motion(name, form), equations_of(name, form)
    native, plain = (
        kernel_of(equations, equations.system.parameters),
        compile_equations(equations, "numpy"),
    )
    numbers, inputs = parameter_numbers(name, equations.system), free_input_values(plain)
    for k in (0, -1):
        fast = native.rates(motion.t[k], motion.y[:, k], numbers, inputs)
        slow = plain.rates(motion.t[k], motion.y[:, k], numbers, inputs)
        assert np.allclose(fast, slow, rtol=1e-9, atol=1e-9 * (1 + np.abs(slow).max()))


@pytest.mark.parametrize(("name", "form"), gallery_forms())
def test_rates_solve_the_equations(name: str, form: str) -> None:
    """The accelerations that native code finds obey G z = f + A^T mu, A z = b, evaluated by
    CasADi.
    """
    equations, motion = equations_of(name, form), short_motion(name, form)
    kernel = kernel_of(equations, equations.system.parameters)
    g = kernel.graph
    function = ca.Function("blocks", kernel._inputs(), [g.metric, g.force, g.rows, g.right])
    p = parameter_values(kernel.parameters, parameter_numbers(name, equations.system))
    y, t, u = motion.y[:, -1], motion.t[-1], free_input_values(kernel)
    G, f, A, b = (np.asarray(item, dtype=float) for item in function(t, y, p, u, np.zeros(0)))
    place = len(equations.system.coordinates)
    z = kernel.rates(t, y, p, u)[place : place + kernel.n]
    size = 1 + np.abs(G).max() * np.abs(z).max() + np.abs(f).max()
    reaction = G @ z - f.ravel()
    multipliers = np.linalg.lstsq(A.T, reaction, rcond=1e-12)[0]
    assert np.abs(reaction - A.T @ multipliers).max() < 1e-9 * size
    assert np.abs(A @ z - b.ravel()).max(initial=0.0) < 1e-9 * size


def test_the_equations_as_a_plain_function() -> None:
    x = da.coordinates("x")
    m, k, c = da.parameters("m k c", positive=True)
    system = da.System(
        [x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, dissipation=c / 2 * x.dot**2
    )
    function = da.derive(system).function()
    expected = [0.3, -(3 * 0.5 + 0.7 * 0.3) / 2]
    assert np.allclose(function(0.0, [0.5, 0.3], {m: 2, k: 3, "c": 0.7}), expected, atol=1e-15)
    assert np.allclose(
        function(0.0, [0.5, 0.3], [0.7, 3, 2]), expected, atol=1e-15
    )  # c, k, m by name


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 1.0}, "m has no value"),
        ({"k": 1.0, "mm": 1.0}, "did you mean it by `mm`"),
        ({"k": np.nan, "m": 1.0}, "finite"),
        ({"k": "one", "m": 1.0}, "number"),
        ([1.0], "2 parameters"),
        ([1.0, np.inf], "finite"),
    ],
)
def test_wrong_parameters_are_named(given: Any, message: str) -> None:
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    system = da.System([x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2)
    with pytest.raises(ModelError, match=message):
        da.derive(system).function()(0.0, [0.0, 0.0], given)


def test_unknown_backends_are_named() -> None:
    x = da.coordinates("x")
    with pytest.raises(ModelError, match="backend"):
        da.derive(da.System([x], kinetic=x.dot**2 / 2)).compile("fortran")


def test_a_singular_state_is_an_error_with_its_reason() -> None:
    r = da.coordinates("r")
    system = da.System([r], kinetic=r**2 * r.dot**2 / 2, potential=r)
    for backend in ("llvm", "numpy"):
        kernel = da.derive(system).compile(backend)
        assert np.allclose(kernel.rates(0.0, [2.0, 1.0])[1], -(1 + 2 * 1.0) / 4)
        with pytest.raises(SingularError):
            kernel.rates(0.0, [0.0, 1.0])


def free_sets(y: Any, inertia: Any) -> dict[str, da.System]:
    """A coordinate y beside others that say nothing of it: solved dense, with a row, by a sparse
    and by a lifted metric.
    """
    x, z = da.coordinates("x z")
    many, angles = da.coordinates("q1:41"), da.coordinates("a1:9")
    pairs = list(pairwise(many))
    sparse = sum(q.dot**2 for q in many) + sum(a.dot * b.dot for a, b in pairs) / 2
    stretch = sum((a - b) ** 2 for a, b in pairs)
    tips = [
        sum(f(a) * a.dot for a in angles[:k]) for k in range(1, 9) for f in (sympy.cos, sympy.sin)
    ]
    own = inertia * y.dot**2 / 2
    row = da.velocity(x.dot - z.dot)
    return {
        "two": da.System([x, y], kinetic=x.dot**2 / 2 + own, potential=x**2 / 2),
        "row": da.System([x, z, y], kinetic=(x.dot**2 + z.dot**2) / 2 + own, constraints=[row]),
        "sparse": da.System([*many, y], kinetic=sparse / 2 + own, potential=stretch),
        "lifted": da.System([*angles, y], kinetic=sum(v**2 for v in tips) / 2 + own),
    }


@pytest.mark.parametrize("name", ["two", "row", "sparse", "lifted"])
def test_a_coordinate_that_nothing_drives_needs_inertia(name: str) -> None:
    """With M y'' = 0 it goes on as it is; where M = 0, stated or as the value of a parameter, y''
    may be anything.
    """
    y, M = da.coordinates("y"), da.parameters("M")
    for inertia, values, is_determined in ((M, [2.0], True), (M, [0.0], False), (0, [], False)):
        kernel = da.derive(free_sets(y, inertia)[name], "lagrange").compile()
        written_out = {"sparse": kernel.large, "lifted": kernel._lifted}.get(name, kernel.solved)
        assert (written_out is not None) == (inertia != 0)
        state = np.ones(kernel.n_state)
        if is_determined:
            assert kernel.rates(0.0, state, values)[-1] == 0
        else:
            with pytest.raises(SingularError, match="not determined"):
                kernel.rates(0.0, state, values)


def test_dependent_rows_go_through_native_code_too() -> None:
    """The same constraint three times, once scaled: no straight-line solve exists, the motion is
    the same.
    """
    x, y = da.coordinates("x y")
    circle = x**2 + y**2 - 1
    rows = [
        da.holonomic(circle, name="a"),
        da.holonomic(5 * circle, name="b"),
        da.velocity(x * x.dot + y * y.dot, name="c"),
    ]
    one, three = (
        da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=y, constraints=r)
        for r in (rows[:1], rows)
    )
    state = [0.6, -0.8, 0.8, 0.6]
    expected = da.derive(one).compile().rates(0.0, state)
    for backend in ("llvm", "numpy"):
        assert np.allclose(
            da.derive(three).compile(backend).rates(0.0, state), expected, atol=1e-14
        )


def test_large_systems_use_the_looped_solve() -> None:
    """More unknowns than are unrolled, with and without constraints, against NumPy."""
    n = 18
    random = np.random.default_rng(4)
    q = da.coordinates(f"q1:{n + 1}")
    kinetic = sum((1 + 0.1 * k) * c.dot**2 for k, c in enumerate(q)) / 2
    kinetic += sum(sympy.sin(a - b) * a.dot * b.dot for a, b in pairwise(q)) / 10
    potential = sum(sympy.cos(c) for c in q)
    free = da.System(q, kinetic=kinetic, potential=potential)
    tied = free.replacing(
        constraints=[
            da.holonomic(q[0] - q[1] ** 2 / 2, name="tie"),
            da.velocity(q[2].dot - q[3], name="v"),
        ]
    )
    state = random.uniform(-0.5, 0.5, 2 * n)
    for system in (free, tied):
        equations = da.derive(system)
        assert np.allclose(
            equations.compile().rates(0.0, state),
            equations.compile("numpy").rates(0.0, state),
            rtol=1e-10,
            atol=1e-10,
        )


def test_expressions_are_lowered_onto_the_state_of_each_form() -> None:
    system = random_system(3, n=2, kinds="", forced=False)
    q = system.coordinates
    momentum = sympy.diff(system.lagrangian, q[0].dot)
    state, _ = consistent_state(system, 1)
    numbers = dict(zip((*q, *system.velocities), state, strict=True)) | {da.t: 0.4}
    expected = float(momentum.xreplace(numbers))
    for form in ("lagrange", "hamilton"):
        kernel = da.derive(system, form).compile()
        function = ca.Function("p", kernel._inputs(), [kernel.lower([q[0].momentum, q[0].dot])])
        y = da.simulate(
            system, dict(zip((*q, *system.velocities), state, strict=True)), (0.4, 0.4), form=form
        ).y[:, 0]
        found = np.asarray(function(0.4, y, [], [], [])).ravel()
        assert np.allclose(found, [expected, state[2]], atol=1e-12)


def test_timing_runs_the_native_loop() -> None:
    x = da.coordinates("x")
    kernel = da.derive(da.System([x], kinetic=x.dot**2 / 2, potential=x**4)).compile()
    assert 0 <= kernel.time_native(0.0, [1.0, 0.0], repeats=1000) < 1e-4


# -- projection ------------------------------------------------------------------------------------


def pendulum_context() -> tuple[Context, Any]:
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + 4 * y.dot**2 + x.dot * y.dot) / 2,
        constraints=[da.holonomic(x**2 + y**2 - 1, name="rod")],
    )
    kernel = da.derive(system).compile()
    return Context(kernel, np.zeros(0)), np.array([[1.0, 0.5], [0.5, 4.0]])


def test_projection_converges_quadratically() -> None:
    context, _ = pendulum_context()
    start, errors = np.array([0.9, 0.8, 0.3, -0.2]), []
    for steps in range(7):
        y = start.copy()
        context.project(0.0, y, 0, 0, steps)
        errors.append(abs(y[0] ** 2 + y[1] ** 2 - 1))
    assert errors[0] > 0.1
    for before, after in pairwise(errors):
        assert after <= max(2.0 * before**2, 4e-16)
    assert errors[-1] < 4e-16


def test_velocities_are_projected_in_the_kinetic_metric() -> None:
    """The change of the momenta is a combination of the rows, so that the change of the velocities
    is the least.
    """
    context, mass = pendulum_context()
    y = np.array([0.6, 0.8, 0.3, -0.2])
    before = y.copy()
    assert context.project(0.0, y) == REGULAR
    assert np.array_equal(y[:2], before[:2])
    row = y[:2]
    assert abs(row @ y[2:]) < 1e-16
    change = mass @ (y[2:] - before[2:])
    assert abs(change[0] * row[1] - change[1] * row[0]) < 1e-15


def test_positions_are_projected_in_the_kinetic_metric() -> None:
    """For a small distance e the step is M-orthogonal to the constraint up to e^2, and nothing is
    nearer.
    """
    context, mass = pendulum_context()
    for e in (1e-2, 1e-3, 1e-4):
        start = np.array([0.6 + e, 0.8 - 0.3 * e, 0.0, 0.0])
        y = start.copy()
        assert context.project(0.0, y, 0, 0) == REGULAR
        step, row = y[:2] - start[:2], y[:2]
        change = mass @ step
        assert abs(change[0] * row[1] - change[1] * row[0]) < 3 * e**2
        distance = step @ mass @ step
        for angle in (-0.05, 0.05):
            turned = (
                np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ y[:2]
            )
            assert (turned - start[:2]) @ mass @ (turned - start[:2]) > distance


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_both_forms_project_to_the_same_point(form: str) -> None:
    system = random_system(11, n=3, kinds="hv", forced=False)
    expected, _ = consistent_state(system, 5)
    start = {
        s: float(v)
        for s, v in zip((*system.coordinates, *system.velocities), expected, strict=True)
    }
    pushed = {s: v + 0.01 * np.sin(7.0 * k) for k, (s, v) in enumerate(start.items())}
    motion = da.simulate(system, pushed, (0.4, 0.4), form=form)
    reference = da.simulate(system, pushed, (0.4, 0.4), form="lagrange")
    assert motion.start_report
    for symbol in start:
        assert abs(motion[symbol][0] - reference[symbol][0]) < 1e-8, symbol
    assert max(motion.worst_residual.values()) < 1e-14


def test_a_projection_that_cannot_succeed_says_so() -> None:
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        constraints=[da.holonomic(x**2 + y**2 + 1, name="impossible")],
    )
    context = Context(da.derive(system).compile(), np.zeros(0))
    assert context.project(0.0, np.array([0.5, 0.2, 0.0, 0.0])) != REGULAR


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_a_result_is_finite_only_in_all_of_its_places(wrong: float) -> None:
    """The sums of four that look at them begin at the first place and end at the last."""
    is_finite = NativeModule([native_loops.is_finite]).functions["is_finite"]
    for n in range(1, 10):
        assert is_finite(n, np.ones(n))
        for place in range(n):
            values = np.ones(n + 1)
            values[place] = wrong
            assert not is_finite(n, values)
        values = np.append(np.ones(n), wrong)
        assert is_finite(n, values)  # what stands behind is not looked at


def test_a_row_that_is_left_out_and_about_to_vanish_does_not_hold_up_a_projection() -> None:
    """Of g = 0 and (t - 1/2) g = 0 the second says nothing at t = 1/2, and nearby it is told by the
    rounding of g.
    """
    x, y = da.coordinates("x y")
    curve = y - sympy.Rational(2, 5) * sympy.sin(2 * x)
    constraints = [da.holonomic(curve), da.holonomic((da.t - sympy.Rational(1, 2)) * curve)]
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=constraints)
    context = Context(da.derive(system, "lagrange").compile(), np.zeros(0))
    derivative = 0.8 * np.cos(0.6)
    for time, beside in ((1.5, 0.0), (0.5 + 1e-9, 1e-16), (0.5 - 1e-9, -1e-16)):
        state = np.array([0.3, 0.4 * np.sin(0.6) + beside, 1.0, derivative + 1e-3])
        assert context.project(time, state, 1, 1) == REGULAR
        assert state[3] == pytest.approx(derivative * state[2], rel=1e-14)


def test_what_an_earlier_solve_found_does_not_leave_a_row_out_of_straight_line_code() -> None:
    """Of x' = y' and x' = y' - z y' the second is redundant at z = 0, nearly so at z = 1e-9, and
    counts at z = 1.
    """
    x, y, z = da.coordinates("x y z")
    constraints = [da.velocity(x.dot - y.dot), da.velocity(x.dot - y.dot + z * y.dot)]
    system = da.System(
        [x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, constraints=constraints
    )
    context = Context(da.derive(system, "lagrange").compile(), np.zeros(0))
    state = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    assert context.project(0.0, state, 1, 1) == REGULAR
    assert state.tolist() == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    context.rates(0.0, np.array([0.0, 0.0, 1e-9, 0.0, 0.0, 1.0]))
    state[2] = 1.0
    assert context.project(0.0, state, 1, 1) == REGULAR
    assert np.allclose(state, [0.0, 0.0, 1.0, 0.0, 0.0, 1.0], rtol=0, atol=1e-15)


# -- what is told ----------------------------------------------------------------------------------


def test_an_expression_vanishes_below_1e_6_of_what_it_was() -> None:
    """Or below 1e-6, or below 1e-12 where it was not a number before."""
    x, y = da.coordinates("x y")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=1 / (x + sympy.log(y)))
    kernel = da.derive(system).compile()

    def told(place: float, start: Any) -> bool:
        reason = vanishing(kernel, 0.0, np.array([place, 1.0, 0.0, 0.0]), np.zeros(0), start)
        assert reason is None or "denominator of x + log(y)" in reason
        return reason is not None

    for start, limit in (
        (None, 1e-6),
        (np.array([1e3, 1.0, 0.0, 0.0]), 1e-3),
        (np.array([1.0, -1.0, 0.0, 0.0]), 1e-12),
    ):
        assert [told(share * limit, start) for share in (3.0, -3.0, 0.3, -0.3, 0.0)] == [
            False,
            False,
            True,
            True,
            True,
        ]


def test_a_parameter_keeps_the_sign_that_it_was_declared_with() -> None:
    """sqrt(l**2) is l for SymPy where l is positive: with l = -1 the force had the wrong sign,
    without a word.
    """
    x = da.coordinates("x")
    positive, negative = (
        da.parameters("positive", positive=True),
        da.parameters("negative", negative=True),
    )
    pushed = da.System(
        [x], kinetic=x.dot**2 / 2, forces={x: sympy.sqrt(positive**2) + sympy.sqrt(negative**2)}
    )
    assert (
        abs(
            da.simulate(pushed, {}, (0, 1), parameters={positive: 1, negative: -1}, at=[1])["x"][0]
            - 1
        )
        < 1e-12
    )
    for given, word in (
        ({positive: -1, negative: -1}, "positive"),
        ({positive: 1, negative: [-1, 1]}, "negative"),
    ):
        with pytest.raises(da.errors.ModelError, match=f"declared {word}"):
            da.simulate(pushed, {}, (0, 1), parameters=given)
    assert da.simulate(pushed, {}, (0, 1), parameters={positive: 0, negative: 0}).success
