"""The functions of CasADi: against native code in every form, differentiated, integrated, and
honest about rank.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.errors import DalembertError, FormError, ModelError, RunError
from dalembert.formulations.registry import applicability
from dalembert.runtime.context import Context
from dalembert.runtime.gauss.constrained_solve import solve

MECHANICAL = [
    name for name in da.gallery.names() if isinstance(da.gallery.load(name).system, da.System)
]
#: Small ones: a nonlinear constraint, speeds that are not unique.
QUICK = ["appell", "linked-particles-zero-distance"]
#: Vakonomic multipliers are part of the state; where constraints depend on each other their rates
#: are not determined.
REFUSED = {("two-particles-incline", "vakonomic"), ("lc-circuit", "vakonomic")}


def pendulum() -> Any:
    x, y = da.coordinates("x y")
    m, l, g = da.parameters("m l g", positive=True)
    rod = da.holonomic(x**2 + y**2 - l**2, name="rod")
    return da.derive(
        da.System(
            [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=m * g * y, constraints=[rod]
        ),
        "lagrange",
    )


def native(kernel: Any, context: Any, y: Any, u: Any) -> dict[str, Any]:
    """What the kernel observes at a state, with the rates; raises where they are not determined."""
    rates = kernel.rates(0.3, y, context.parameters, u)
    results, _ = context.observe(np.array([0.3]), y[None, :], u[None, :])
    return {"rates": rates} | {key: results[0, place] for key, place in kernel.observed.items()}


def ours(functions: Any, y: Any, p: Any, u: Any) -> dict[str, Any]:
    """The same by CasADi."""
    at = (0.3, y, p, u)
    names = ("rates", "velocities", "accelerations", "momenta", "energy", "multipliers")
    found = {name: np.array(getattr(functions, name)(*at)).ravel() for name in names}
    position, velocity = functions.residuals(*at)
    found |= {
        "position residual": np.array(position).ravel(),
        "velocity residual": np.array(velocity).ravel(),
    }
    forces = np.array(functions.reactions(*at)).reshape(
        len(functions.coordinates), len(functions.constraints)
    )
    return found | {
        f"reaction {name}": forces[:, k] for k, name in enumerate(functions.constraints)
    }


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.long) for name in MECHANICAL],
)
def test_every_form_agrees_with_native_code(name: str) -> None:
    scenario = da.gallery.load(name)
    start = da.simulate(scenario, at=[scenario.simulate["span"][0]]).start
    compared = 0
    for form in [form for form, why in applicability(scenario.system).items() if why is None]:
        try:
            equations = da.derive(scenario.system, form)
            kernel = equations.compile()
        except DalembertError:
            # a form that applies by its hypotheses and has no regular Legendre transformation
            continue
        if (name, form) in REFUSED:
            with pytest.raises(FormError, match="not determined"):
                equations.to_casadi()
            continue
        functions = equations.to_casadi()
        p = np.array([scenario.parameters[symbol.name] for symbol in kernel.parameters])
        context, random = Context(kernel, p), np.random.default_rng(1)
        for size in (0.0, 0.05, 0.05):
            if all(symbol.name in start for symbol in equations.state):
                y = np.array(
                    [start[symbol.name] for symbol in equations.state]
                ) + size * random.normal(size=kernel.n_state)
            else:
                y = random.uniform(0.3, 1.1, kernel.n_state)
            u = random.normal(size=len(kernel.free_inputs))
            try:
                expected, nearby = (
                    native(kernel, context, y, u),
                    native(kernel, context, y * (1 + 2e-15) + 1e-16, u),
                )
            except RunError:
                # rows that depend on each other only on the constraints contradict each other
                # off them

                continue
            found = ours(functions, y, p, u)
            if equations.has_gauge and np.any(np.isnan(found["rates"])):
                continue  # speeds that are not determined, although the motion is
            compared += 1
            for key, value in found.items():
                if not value.size:
                    continue
                scale = 1 + np.max(np.abs(expected[key]))
                rounding = 50 * np.max(
                    np.abs(expected[key] - nearby[key])
                )  # what a change in the last digit makes of it
                np.testing.assert_allclose(
                    value,
                    expected[key],
                    rtol=0,
                    atol=1e-12 * scale + rounding,
                    err_msg=f"{form} {key}",
                )
    assert compared


def test_derivatives_agree_with_differences() -> None:
    equations = pendulum()
    kernel, functions = equations.compile(), equations.to_casadi()
    y, p = np.array([0.6, -0.8, 0.4, 0.3]), np.array([9.81, 1.0, 1.3])
    derivatives = functions.rates.jacobian()(t=0, state=y, parameters=p)
    size = 1e-6
    by_state = [
        (kernel.rates(0.0, y + size * e, p) - kernel.rates(0.0, y - size * e, p)) / (2 * size)
        for e in np.eye(4)
    ]
    by_parameter = [
        (kernel.rates(0.0, y, p + size * e) - kernel.rates(0.0, y, p - size * e)) / (2 * size)
        for e in np.eye(3)
    ]
    np.testing.assert_allclose(
        np.array(derivatives["jac_rates_state"]), np.array(by_state).T, atol=1e-6
    )
    np.testing.assert_allclose(
        np.array(derivatives["jac_rates_parameters"]), np.array(by_parameter).T, atol=1e-6
    )
    forces, mu = (
        np.array(functions.reactions(0, y, p, [])),
        float(functions.multipliers(0, y, p, [])),
    )
    np.testing.assert_allclose(forces.ravel(), 2 * y[:2] * mu, rtol=1e-14)


def test_its_flow_differentiates_like_our_sensitivities() -> None:
    """A motion and its derivative by parameters, by CVODES on CasADi's graph and by our own
    steps.
    """
    x = da.coordinates("x")
    m, k = da.parameters("m k", positive=True)
    system = da.System([x], kinetic=m / 2 * (1 + x**2) * x.dot**2, potential=k * (1 - cos(x)))
    functions = da.derive(system).to_casadi()
    flow = ca.integrator(
        "flow", "cvodes", functions.ode, 0.0, 1.5, {"reltol": 1e-11, "abstol": 1e-12}
    )
    values, start = {"m": 1.3, "k": 2.0}, {"x": 0.7, "x_dot": 0.2}
    x0, p = functions.state_vector(start), functions.parameter_vector(values)
    derivative = ca.Function("slope", *_parameter_derivative(flow))(x0, p)
    options = {"parameters": values, "at": [0.0, 1.5], "rtol": 1e-12, "atol": 1e-13}
    motion = da.simulate(system, start, (0, 1.5), **options)
    np.testing.assert_allclose(np.array(flow(x0=x0, p=p)["xf"])[0, 0], motion["x"][-1], rtol=1e-8)
    found = da.analysis.sensitivities(system, ["k", "m"], start, (0, 1.5), **options)
    np.testing.assert_allclose(
        np.array(derivative)[0], [found["x", "k"][-1], found["x", "m"][-1]], rtol=1e-6
    )


def _parameter_derivative(flow: Any) -> tuple[list[Any], list[Any]]:
    x0, p = ca.MX.sym("x0", 2), ca.MX.sym("p", 2)
    return [x0, p], [ca.jacobian(flow(x0=x0, p=p)["xf"], p)]


def test_both_problems_run_in_casadi_and_agree() -> None:
    scenario = da.gallery.load("rolling-disk")
    start = da.simulate(scenario, at=[0.0]).start
    ends = []
    for form, kind in (("maggi", "ode"), ("lagrange", "dae")):
        functions = da.derive(scenario.system, form).to_casadi()
        x0, p = functions.state_vector(start), functions.parameter_vector(scenario.parameters)
        solver = "cvodes" if kind == "ode" else "idas"
        run = ca.integrator(
            "run", solver, getattr(functions, kind), 0.0, 0.5, {"reltol": 1e-10, "abstol": 1e-11}
        )
        ends.append(np.array(run(x0=x0, p=p)["xf"]).ravel()[:5])
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


def test_dependent_rows_get_the_multipliers_of_least_norm() -> None:
    """A rod that is stated three times, twice with another scale: one row is kept, and mu is
    the smallest there is.
    """
    x, y = da.coordinates("x y")
    m, g, l = da.parameters("m g l", positive=True)
    rods = [da.holonomic(c * (x**2 + y**2 - l**2), name=f"rod{c}") for c in (1, 2, 3)]
    system = da.System(
        [x, y], kinetic=m / 2 * (x.dot**2 + y.dot**2), potential=m * g * y, constraints=rods
    )
    functions = da.derive(system, "lagrange").to_casadi()
    assert len(functions.left_out) == 2 and len(functions.constraints) == 3
    at = (0, [0.6, -0.8, 0.4, 0.3], [9.81, 1.0, 1.3], [])
    G, f, A, b = (np.array(block) for block in functions.gauss(*at))
    smallest = solve(G, f.ravel(), A, b.ravel())
    assert smallest.rank == 1
    np.testing.assert_allclose(
        np.array(functions.multipliers(*at)).ravel(), smallest.multipliers, rtol=1e-12
    )
    np.testing.assert_allclose(
        np.array(functions.reactions(*at)).sum(axis=1), smallest.reaction, rtol=1e-12
    )
    problem = functions.dae
    assert problem["z"].numel() == 3 and problem["alg"].numel() == 3


def test_inputs_are_arguments_and_undetermined_states_are_nan() -> None:
    x = da.coordinates("x")
    u = da.inputs("u")
    driven = da.derive(
        da.System([x], kinetic=cos(x) ** 2 / 2 * x.dot**2, forces={x: u}, inputs=[u])
    ).to_casadi()
    assert driven.inputs == ("u",) and float(driven.rates(0, [0, 0], [], [2.5])[1]) == 2.5
    assert set(driven.ode) == {"t", "x", "u", "ode"}
    slack, centre = pendulum().to_casadi(), (0, [0.0, 0.0, 1.0, 1.0], [9.81, 1.0, 1.0], [])
    assert np.all(np.isnan(np.array(slack.rates(*centre)))) and float(slack.health(*centre)) == 0.0
    assert float(slack.energy(*centre)) == 1.0
    with pytest.raises(ModelError, match="x_dot"):
        driven.state_vector({"x": 1.0})


def test_a_solve_that_no_rows_make_regular_is_refused() -> None:
    x, y = da.coordinates("x y")
    free = da.System([x, y], kinetic=(x.dot + y.dot) ** 2 / 2, potential=x**2 + y**2)
    with pytest.raises(FormError, match="cannot be written out"):
        da.derive(free, "lagrange").to_casadi()


def test_results_are_nan_where_rows_close_up() -> None:
    """Of two lines at an angle a, sin^2 a is the health; below 1e-7 nothing is claimed."""
    x, y = da.coordinates("x y")
    a = da.parameters("a")
    lines = [da.holonomic(y, name="one"), da.holonomic(cos(a) * y - sin(a) * x, name="other")]
    functions = da.derive(
        da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=lines), "lagrange"
    ).to_casadi()
    for angle in (1.0, 1e-2, 1e-3, 1e-4, 1e-5):
        at = (0, [0.0, 0.0, 0.0, 0.0], [angle], [])
        assert float(functions.health(*at)) == pytest.approx(np.sin(angle) ** 2, rel=1e-3)
        assert np.isfinite(np.array(functions.accelerations(*at))).all() == (angle > 3.2e-4)
