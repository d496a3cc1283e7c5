"""Adjoint gradients: against forward sensitivities to rounding, against finite differences, and
what they cost.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from differences import differences

x, y = da.coordinates("x y")
m, l, g = da.parameters("m l g", positive=True)
PENDULUM = da.System(
    [x, y],
    kinetic=m / 2 * (x.dot**2 + y.dot**2),
    potential=m * g * y,
    constraints=[da.holonomic(x**2 + y**2 - l**2, name="rod")],
    name="Pendulum in the plane",
)


def chain() -> tuple[Any, dict[str, float], dict[str, float]]:
    """Three hinged bars under gravity, with ten parameters."""
    angles = da.coordinates("a b c")
    lengths = da.parameters("l1 l2 l3", positive=True)
    masses = da.parameters("m1 m2 m3", positive=True)
    weight, damping, spring, drive = da.parameters("g d s e")
    kinetic, potential, place = 0, 0, [0, 0]
    for angle, length, mass in zip(angles, lengths, masses, strict=True):
        place = [place[0] + length * sympy.sin(angle), place[1] - length * sympy.cos(angle)]
        velocity = [sum(sympy.diff(p, q) * q.dot for q in angles) for p in place]
        kinetic += mass / 2 * (velocity[0] ** 2 + velocity[1] ** 2)
        potential += mass * weight * place[1]
    system = da.System(
        list(angles),
        kinetic=kinetic,
        potential=potential + spring / 2 * (angles[1] - angles[0]) ** 2,
        forces={angles[0]: -damping * angles[0].dot + drive * sympy.sin(2 * da.t)},
        name="Three bars",
    )
    values = {
        "l1": 1.0,
        "l2": 0.8,
        "l3": 0.5,
        "m1": 1.0,
        "m2": 0.7,
        "m3": 0.4,
        "g": 9.81,
        "d": 0.05,
        "s": 0.6,
        "e": 0.3,
    }
    return system, values, {"a": 0.5, "b": 0.4, "c": 0.6}


@pytest.mark.long
def test_ten_parameters_of_a_thousand_steps() -> None:
    """To 1e-6 of finite differences, to 1e-9 of forward sensitivities, for less than six plain
    simulations.
    """
    system, values, start = chain()
    equations, names = da.derive(system, "lagrange"), list(values)
    a, b, c = system.coordinates
    options: dict[str, Any] = {"rtol": 1e-12, "max_step": 0.02}
    final = sympy.sin(a + b) + c.dot**2 / 10

    def end(numbers: Any) -> Any:
        motion = da.simulate(
            equations, start, (0, 20), parameters=dict(zip(names, numbers, strict=True)), **options
        )
        return np.sin(motion["a"][-1] + motion["b"][-1]) + motion["c_dot"][-1] ** 2 / 10

    found = da.analysis.gradient(
        equations, names, start, (0, 20), parameters=values, final=final, **options
    )
    assert found.motion.statistics["steps"] >= 1000
    forward = da.analysis.sensitivities(
        equations, names, start, (0, 20), parameters=values, **options
    )
    size = np.max(np.abs(found.values))
    np.testing.assert_allclose(found.values, forward.of(final)[:, -1], atol=1e-9 * size)
    np.testing.assert_allclose(
        found.values, differences(end, list(values.values()), 1e-5), atol=1e-6 * size
    )

    def cost(run: Callable[[], Any]) -> float:
        spent = []
        for _ in range(5):
            began = time.process_time()
            run()
            spent.append(time.process_time() - began)
        return min(spent)

    plain = cost(lambda: da.simulate(equations, start, (0, 20), parameters=values, **options))
    both = cost(
        lambda: da.analysis.gradient(
            equations, names, start, (0, 20), parameters=values, final=final, **options
        )
    )
    assert both < 6 * plain


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_every_kind_of_objective_on_a_holonomic_constraint(form: str) -> None:
    equations = da.derive(PENDULUM, form)
    names, values = ["m", "l", "g", "x", "x_dot"], [1.3, 1.1, 9.8, 0.6, 0.3]
    times = np.linspace(0, 3, 9)
    random = np.random.default_rng(5)
    data = {"t": times, "x": random.normal(size=9), "energy": random.normal(size=9)}
    data["x"][4] = np.nan
    objective: dict[str, Any] = {
        "final": x * y + l,
        "integral": y.dot**2 * m,
        "data": data,
        "sigma": {"x": 0.5, "energy": 2.0},
    }

    def gradient(numbers: Any, wrt: list[str]) -> Any:
        table = dict(zip(names, numbers, strict=True))
        start = {name: table.pop(name) for name in ("x", "x_dot")}
        return da.analysis.gradient(
            equations, wrt, start, (0, 3), parameters=table, rtol=1e-12, **objective
        )

    found = gradient(values, names)
    assert found.value == pytest.approx(sum(found.parts.values())) and len(found.parts) == 3
    derivatives = differences(lambda numbers: gradient(numbers, ["m"]).value, values)
    np.testing.assert_allclose(found.values, derivatives, rtol=1e-7, atol=1e-6)


@pytest.mark.long
def test_the_rolling_disk_backwards_agrees_with_forwards() -> None:
    disk = da.gallery.load("rolling-disk")
    start = {name: value for name, value in disk.start.items() if name not in ("x_dot", "y_dot")}
    wrt = ["m", "r", "g", "A", "C", "theta", "psi_dot", "phi"]
    for form in ("lagrange", "maggi"):
        motion = da.simulate(
            disk.system, start, (0, 3), parameters=disk.parameters, rtol=1e-10, form=form
        )
        final = disk.system.coordinates[3] ** 2 + disk.system.velocities[0]
        back = da.analysis.gradient(motion, wrt, final=final, given=list(start))
        ahead = da.analysis.sensitivities(motion, wrt, given=list(start))
        np.testing.assert_allclose(back.values, ahead.of(final)[:, -1], rtol=1e-10, atol=1e-10)


def test_the_projection_is_part_of_the_gradient() -> None:
    """Without it the tangents leave the constraints, and the gradient is that of another motion."""
    motion = da.simulate(
        PENDULUM,
        {"x": 0.6},
        (0, 30),
        parameters={"m": 1.0, "l": 1.1, "g": 9.8},
        rtol=1e-6,
        form="lagrange",
    )
    drifting = da.simulate(
        PENDULUM,
        {"x": 0.6},
        (0, 30),
        parameters={"m": 1.0, "l": 1.1, "g": 9.8},
        rtol=1e-6,
        form="lagrange",
        project=False,
    )
    rod = x**2 + y**2 - l**2
    kept, left = (
        da.analysis.sensitivities(one, [l], given=["x"]).of(rod) for one in (motion, drifting)
    )
    assert np.max(np.abs(kept)) < 1e-12 < 1e-6 < np.max(np.abs(left))
    for one in (motion, drifting):
        back = da.analysis.gradient(one, [l, g], given=["x"], final=x)
        np.testing.assert_allclose(
            back.values, da.analysis.sensitivities(one, [l, g], given=["x"])["x"][:, -1], rtol=1e-9
        )


def test_at_an_equilibrium_the_derivative_chooses_its_own_steps() -> None:
    """Nothing moves, so that nothing limits the steps of the motion; its neighbours swing."""
    rest = da.System(
        [x], kinetic=x.dot**2 / 2, potential=-9 * sympy.cos(x), forces={x: m * sympy.sin(7 * da.t)}
    )
    motion = da.simulate(rest, {x: 0.0}, (0, 10), parameters={m: 0.0})
    assert np.max(np.diff(motion.segments[0].step_t)) > 2.0
    found = da.analysis.gradient(motion, [x, m], final=x)
    exact = [np.cos(30.0), (np.sin(70.0) - 7 / 3 * np.sin(30.0)) / (9 - 49)]
    np.testing.assert_allclose(found.values, exact, atol=1e-8)
    np.testing.assert_allclose(
        da.analysis.sensitivities(motion, [x, m])["x"][:, -1], exact, atol=1e-8
    )


@pytest.mark.parametrize("kind", ["linear", "constant"])
def test_inputs_on_a_grid(kind: str) -> None:
    u = da.inputs("u")
    driven = da.System(
        [x], kinetic=m / 2 * x.dot**2, potential=sympy.cos(x), forces={x: u}, inputs=[u]
    )
    grid = da.analysis.gridded_input("u", np.linspace(0, 2, 5), kind)
    numbers = np.array([0.1, 0.5, -0.3, 0.2, 0.8])
    equations = da.derive(driven.driven({u: grid.expression}), "lagrange")
    expected = np.interp(0.7, grid.times, numbers) if kind == "linear" else numbers[1]

    def gradient(values: Any, wrt: Any) -> Any:
        parameters = grid.values(values) | {"m": 1.2}
        return da.analysis.gradient(
            equations,
            wrt,
            {x: 0.3},
            (0, 2),
            parameters=parameters,
            final=x**2,
            integral=u**2,
            rtol=1e-11,
        )

    found = gradient(numbers, list(grid.parameters))
    motion = da.simulate(
        equations, {x: 0.3}, (0, 2), parameters=grid.values(numbers) | {"m": 1.2}, at=[0.7]
    )
    assert motion["u"][0] == pytest.approx(expected)
    derivatives = differences(lambda values: gradient(values, [m]).value, numbers, 1e-3)
    np.testing.assert_allclose(found.values, derivatives, atol=2e-6)


def test_backwards_in_time_and_what_is_refused() -> None:
    spring = da.System([x], kinetic=m / 2 * x.dot**2, potential=x**2 / 2)
    found = da.analysis.gradient(spring, [m, x], {x: 1.0}, (2, 0), parameters={m: 1.0}, final=x)
    np.testing.assert_allclose(found.values, [np.sin(2.0), np.cos(2.0)], atol=1e-9)
    with pytest.raises(da.errors.ModelError, match="nothing to differentiate"):
        da.analysis.gradient(spring, [m], {x: 1.0}, (0, 2), parameters={m: 1.0})
    with pytest.raises(da.errors.ModelError, match="function of the state"):
        da.analysis.gradient(spring, [m], {x: 1.0}, (0, 2), parameters={m: 1.0}, final=x.ddot**2)
    with pytest.raises(da.errors.ModelError, match="did you mean x_dot"):
        da.analysis.gradient(spring, [m], {x: 1.0}, (0, 2), parameters={m: 1.0}, final="x_ddot")
    with pytest.raises(da.errors.ModelError, match="outside the motion"):
        da.analysis.gradient(
            spring, [m], {x: 1.0}, (0, 2), parameters={m: 1.0}, data={"t": [3.0], "x": [1.0]}
        )
