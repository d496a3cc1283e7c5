"""Pontryagin's equations of control problems: what they are, what they need, and what is refused in
a sentence.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.control.optimal.maximum import check_legendre, extremal_flow
from dalembert.control.optimal.problem import control_problem
from dalembert.errors import DalembertError, FormError, ModelError, RunError, StartError

x, y, z, v, theta = da.coordinates("x y z v theta")
u, w = da.inputs("u w")
HEISENBERG = da.Flow({x: u, y: w, z: (x * w - y * u) / 2}, inputs=[u, w], name="Heisenberg")
CART = da.Flow({x: v, v: u}, inputs=[u], name="cart")


def symbols(names: str) -> Any:
    return da.coordinates(names)


def test_the_equations_of_heisenberg_are_those_of_a_charge_in_a_field() -> None:
    flow = extremal_flow(control_problem(HEISENBERG, (u**2 + w**2) / 2))
    p, q, r = symbols("lambda_x lambda_y lambda_z")
    velocity_x, velocity_y = p - y * r / 2, q + x * r / 2
    assert sympy.expand(flow.rates[x] - velocity_x) == 0
    assert sympy.expand(flow.rates[y] - velocity_y) == 0
    # The velocity turns at the rate lambda_z, which is the Lorentz force.
    turning = sum(sympy.diff(velocity_x, s) * rate for s, rate in flow.rates.items())
    assert sympy.expand(turning + r * velocity_y) == 0
    assert flow.rates[r] == 0
    assert sympy.expand(flow.integrals["H"] - (velocity_x**2 + velocity_y**2) / 2) == 0


def test_the_flow_goes_the_road_of_other_flows() -> None:
    flow = extremal_flow(control_problem(HEISENBERG, (u**2 + w**2) / 2))
    assert r"\lambda" in da.derive(flow).latex()
    assert da.describe(flow).integrals["H"] < 1e-12
    motion = da.simulate(flow, {"lambda_x": 1.0, "lambda_z": 2.0}, (0, 1))
    assert np.ptp(motion["H"]) < 1e-9
    assert np.allclose(motion["u"] ** 2 + motion["w"] ** 2, 2 * motion["running_cost"])


@pytest.mark.parametrize(
    "cost",
    [(u**2 + u * w + 3 * w**2) / 2 + x * u, (1 + x**2) * u**2 + w**2 + da.t * w],
    ids=["mixed", "weighted"],
)
def test_the_inputs_maximise_the_hamiltonian(cost: Any) -> None:
    """Against the function lambda . X - L itself, at random states and inputs beside the chosen
    ones.
    """
    flow = extremal_flow(control_problem(HEISENBERG, cost))
    costates = symbols("lambda_x lambda_y lambda_z")
    rates = [u, w, (x * w - y * u) / 2]
    function = sum(c * r for c, r in zip(costates, rates, strict=True)) - cost
    random = np.random.default_rng(3)
    for _ in range(5):
        state = dict(zip([x, y, z, *costates, da.t], random.normal(size=7), strict=True))
        chosen = {s: flow.own_outputs[s.name].subs(state) for s in (u, w)}
        best = float(function.subs(state).subs(chosen))
        for _ in range(5):
            other = {s: value + random.normal() for s, value in chosen.items()}
            assert float(function.subs(state).subs(other)) < best


def test_time_in_the_cost_leaves_no_integral() -> None:
    assert "H" not in extremal_flow(control_problem(CART, (1 + da.t) * u**2)).integrals
    assert "H" in extremal_flow(control_problem(CART, u**2)).integrals


def test_velocities_of_a_system_become_symbols() -> None:
    q = symbols("q")
    m = da.parameters("m", positive=True)
    system = da.System([q], kinetic=m * q.dot**2 / 2, potential=q**4, forces={q: u}, inputs=[u])
    problem = control_problem(system, u**2 + q.dot**2)
    speed = symbols("v_q")
    assert problem.symbols == (q, speed)
    assert sympy.simplify(problem.rates[1] - (u - 4 * q**3) / m) == 0
    assert sympy.expand(problem.cost - u**2 - speed**2) == 0


def wrong(kind: type[DalembertError], words: str, *call: Any, **options: Any) -> None:
    with pytest.raises(kind, match=words) as caught:
        da.control.optimal(*call, **options)
    assert caught.value.remedy


CALL = ({x: 0, v: 0}, {x: 1, v: 0}, (0, 1))


def test_what_is_refused() -> None:
    wrong(ModelError, "no free input", da.Flow({x: v, v: -x}), v**2, *CALL)
    wrong(ModelError, "no free input", CART.driven({u: 1}), u**2, *CALL)
    wrong(ModelError, "Flow or a System", "cart", u**2, *CALL)
    wrong(ModelError, "The cost contains y", CART, u**2 + y, *CALL)
    wrong(FormError, "affine", da.Flow({x: v, v: u**3}, inputs=[u]), u**2, *CALL)
    wrong(FormError, "quadratic", CART, u**4, *CALL)
    wrong(FormError, "convex", CART, -(u**2), *CALL)
    wrong(FormError, "convex", HEISENBERG, u**2, {x: 0, y: 0, z: 0}, {z: 1}, (0, 1))
    wrong(FormError, "convex", CART, (x - 5) * u**2, *CALL)
    wrong(ModelError, "forward", CART, u**2, CALL[0], CALL[1], (1, 0))
    wrong(ModelError, "two times", CART, u**2, CALL[0], CALL[1], 1.0)


def test_ends_that_are_refused() -> None:
    wrong(StartError, "start of `v` is missing", CART, u**2, {x: 0}, {x: 1}, (0, 1))
    wrong(StartError, "no symbol of the model", CART, u**2, {x: 0, v: 0}, {"q": 1}, (0, 1))
    wrong(StartError, "finite", CART, u**2, {x: float("nan"), v: 0}, {x: 1}, (0, 1))
    circle = da.Flow(
        {x: -y * u, y: x * u},
        inputs=[u],
        constraints=[da.holonomic(x**2 + y**2 - 1, name="circle")],
    )
    wrong(StartError, "end breaks a relation", circle, u**2, {x: 1, y: 0}, {x: 1, y: 1}, (0, 1))
    wrong(StartError, "start breaks a relation", circle, u**2, {x: 2, y: 0}, {x: 1, y: 0}, (0, 1))
    wrong(ModelError, "cannot be free at the end", circle, u**2, {x: 1, y: 0}, {x: 1}, (0, 1))


@pytest.mark.long
def test_an_end_out_of_reach_is_said_with_its_residual() -> None:
    stuck = da.Flow({x: u, y: 0}, inputs=[u])
    with pytest.raises(RunError, match="could not be met") as caught:
        da.control.optimal(stuck, u**2, {x: 0, y: 0}, {x: 1, y: 1}, (0, 1), nodes=8)
    assert "residual" in str(caught.value.seen)
    assert "out of reach" in str(caught.value.remedy)


def test_guesses_are_checked() -> None:
    wrong(ModelError, "guess names `q`", CART, u**2, *CALL, guess={"q": 1})
    wrong(ModelError, "lacks the costate lambda_v", CART, u**2, *CALL, guess={"lambda_x": 1})
    wrong(ModelError, "function of time", CART, u**2, *CALL, guess={x: y})


def test_a_state_dependent_weight_is_followed_where_it_is_positive() -> None:
    """u weighted by 1 + x^2 on a line: by s = int sqrt(1 + x^2) dx the least cost between 0 and 1
    is s^2 / 2.
    """
    found = da.control.optimal(
        da.Flow({x: u}, inputs=[u]), (1 + x**2) * u**2 / 2, {x: 0}, {x: 1}, (0, 1)
    )
    length = (np.sqrt(2) + np.arcsinh(1)) / 2
    assert found.cost == pytest.approx(length**2 / 2, rel=1e-10)


def test_inputs_that_are_given_are_not_chosen() -> None:
    drift = da.Flow({x: u + w}, inputs={u: None, w: sin(da.t)})
    found = da.control.optimal(drift, u**2 / 2, {x: 0}, {x: 1}, (0, 1))
    assert found.cost == pytest.approx(float(1 - (1 - cos(1))) ** 2 / 2, rel=1e-9)


def test_names_of_the_model_are_kept_or_asked_for() -> None:
    H = da.parameters("H")
    found = da.control.optimal(
        da.Flow({x: H * u}, inputs=[u]), u**2 / 2, {x: 0}, {x: 1}, (0, 1), parameters={H: 2}
    )
    assert found.cost == pytest.approx(1 / 8)
    assert "hamiltonian" in str(found)
    other = symbols("lambda_x")
    wrong(
        FormError,
        "needs? the name `lambda_x`",
        da.Flow({x: u, other: x}, inputs=[u]),
        u**2,
        {x: 0, other: 0},
        {x: 1},
        (0, 1),
    )


def test_legendres_condition_does_not_depend_on_units() -> None:
    check_legendre([[1e-16]])
    check_legendre([[1e-20, 0.0], [0.0, 1e6]])
    for bad in ([[0.0]], [[-1e-20, 0.0], [0.0, 1e6]], [[1e-16, 1.0], [1.0, 1e16]]):
        with pytest.raises(FormError, match="Legendre"):
            check_legendre(bad)
