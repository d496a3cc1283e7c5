"""Forward sensitivities: closed forms, identities of the flow, finite differences, and one form
against another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from differences import differences

x, y = da.coordinates("x y")
m, k, l, g = da.parameters("m k l g", positive=True)
OSCILLATOR = da.System([x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, name="Oscillator")
PENDULUM = da.System(
    [x, y],
    kinetic=m / 2 * (x.dot**2 + y.dot**2),
    potential=m * g * y,
    constraints=[da.holonomic(x**2 + y**2 - l**2, name="rod")],
    name="Pendulum in the plane",
)
HANGING = {"m": 1.3, "l": 1.1, "g": 9.8}


def test_the_oscillator_has_the_derivatives_of_its_closed_form() -> None:
    found = da.analysis.sensitivities(
        OSCILLATOR, [m, k, x, x.dot], {x: 0.7, x.dot: -0.4}, (0, 3), parameters={m: 2.0, k: 3.0}
    )
    symbols = sympy.symbols("m k a b t", positive=True)
    mass, stiffness, a, b, time = symbols
    rate = sympy.sqrt(stiffness / mass)
    closed = a * sympy.cos(rate * time) + b / rate * sympy.sin(rate * time)
    for name, symbol in zip(("m", "k", "x", "x_dot"), symbols, strict=False):
        derivative = sympy.lambdify(symbols, closed.diff(symbol))(2.0, 3.0, 0.7, -0.4, found.t)
        np.testing.assert_allclose(found["x", name], derivative, atol=2e-9)


def test_the_flow_of_hamilton_is_symplectic() -> None:
    theta, u = da.coordinates("theta u")
    stretch = 1 + u
    system = da.System(
        [theta, u],
        kinetic=((stretch * theta.dot) ** 2 + u.dot**2) / 2,
        potential=8 * u**2 - 9 * stretch * sympy.cos(theta),
    )
    symbols = [theta, u, theta.momentum, u.momentum]
    found = da.analysis.sensitivities(
        system, symbols, {"theta": 1.1, "p_u": 0.3}, (0, 5), form="hamilton", rtol=1e-12
    )
    flow = found.table([symbol.name for symbol in symbols])[-1]
    unit = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.eye(2), np.zeros((2, 2))]])
    np.testing.assert_allclose(flow.T @ unit @ flow, unit, atol=1e-9)
    assert np.max(np.abs(flow - np.eye(4))) > 1.0


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
@pytest.mark.parametrize(
    "start",
    [
        {"x": 0.6, "y": -0.7, "x_dot": 0.3},
        {"x": 0.6, "x_dot": 0.5},
        {"x": 0.6, "y": -0.9, "x_dot": 0.5, "y_dot": 0.3},
    ],
    ids=["moved", "completed", "moved-in-full"],
)
def test_starts_are_differentiated_as_they_are_made_consistent(
    form: str, start: dict[str, float]
) -> None:
    names = ["m", "l", "g", *start]
    equations = da.derive(PENDULUM, form)
    options: dict[str, Any] = {"rtol": 1e-12, "at": [0.0, 1.0, 2.0]}
    found = da.analysis.sensitivities(
        equations, names, start, (0, 2), parameters=HANGING, **options
    )

    def motion(values: Any) -> Any:
        table = dict(zip(names, values, strict=True))
        parameters = {name: table.pop(name) for name in HANGING}
        return da.simulate(equations, table, (0, 2), parameters=parameters, **options).y

    derivatives = differences(motion, [*HANGING.values(), *start.values()])
    table = found.table([symbol.name for symbol in found.motion.state])
    np.testing.assert_allclose(np.moveaxis(table, (0, 1, 2), (2, 1, 0)), derivatives, atol=2e-8)
    rod = x**2 + y**2 - l**2
    assert np.max(np.abs(found.of(rod))) < 1e-13
    assert np.max(np.abs(found.of(x * x.dot + y * y.dot))) < 1e-12


def test_the_plane_pendulum_agrees_with_its_angle() -> None:
    theta = da.coordinates("theta")
    polar = da.System(
        [theta], kinetic=m * l**2 / 2 * theta.dot**2, potential=-m * g * l * sympy.cos(theta)
    )
    turned = da.analysis.sensitivities(
        polar, [g, theta], {theta: 0.5}, (0, 4), parameters=HANGING, rtol=1e-12, at=[4.0]
    )
    angle = 0.5
    start = {"x": 1.1 * np.sin(angle), "y": -1.1 * np.cos(angle)}
    plane = da.analysis.sensitivities(
        PENDULUM, [g, x, y], start, (0, 4), parameters=HANGING, rtol=1e-12, at=[4.0]
    )
    np.testing.assert_allclose(plane["x", g], turned.of(l * sympy.sin(theta))[0], atol=1e-9)
    along = plane["x", "x"] * 1.1 * np.cos(angle) + plane["x", "y"] * 1.1 * np.sin(angle)
    np.testing.assert_allclose(along, turned.of(l * sympy.sin(theta))[1], atol=1e-9)


@pytest.mark.long
def test_forms_of_the_rolling_disk_agree() -> None:
    disk = da.gallery.load("rolling-disk")
    start = {name: value for name, value in disk.start.items() if name not in ("x_dot", "y_dot")}
    wrt = ["m", "r", "C", "theta", "psi_dot", "phi"]
    tables = []
    for form in ("maggi", "lagrange"):
        found = da.analysis.sensitivities(
            disk.system,
            wrt,
            start,
            (0, 2),
            parameters=disk.parameters,
            rtol=1e-12,
            at=[2.0],
            form=form,
        )
        tables.append(found.table(["theta", "x", "y_dot", "energy"])[0])
    np.testing.assert_allclose(tables[1], tables[0], atol=1e-8)
    equations = da.derive(disk.system, "lagrange")

    def end(values: Any) -> Any:
        given = start | dict(zip(wrt[3:], values[3:], strict=True))
        parameters = disk.parameters | dict(zip(wrt[:3], values[:3], strict=True))
        motion = da.simulate(equations, given, (0, 2), parameters=parameters, rtol=1e-12, at=[2.0])
        return [motion[name][0] for name in ("theta", "x", "y_dot", "energy")]

    values = [disk.parameters[name] for name in wrt[:3]] + [start[name] for name in wrt[3:]]
    np.testing.assert_allclose(tables[0].T, differences(end, values, 1e-3), atol=1e-5)


def test_another_choice_of_independent_velocities_changes_nothing() -> None:
    theta = da.coordinates("theta")
    skate = da.System(
        [x, y, theta],
        kinetic=m / 2 * (x.dot**2 + y.dot**2) + k / 2 * theta.dot**2,
        potential=m * x,
        constraints=[
            da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="blade")
        ],
    )
    options: dict[str, Any] = {"parameters": {m: 1.0, k: 0.3}, "rtol": 1e-11, "at": [4.0]}
    given, wrt = {theta: 0.4, x.dot: 0.3, theta.dot: 1.1}, [m, k, theta, x.dot]
    one = da.analysis.sensitivities(skate, wrt, given, (0, 4), form="voronets", **options)
    assert one.motion.switches
    for form in ("lagrange", "maggi", "hamel"):
        other = da.analysis.sensitivities(skate, wrt, given, (0, 4), form=form, **options)
        assert not other.motion.switches
        np.testing.assert_allclose(
            one.table(["x", "y", "x_dot"]), other.table(["x", "y", "x_dot"]), rtol=1e-8, atol=1e-8
        )
    back = da.analysis.gradient(one.motion, wrt, given=list(given), final=x * y.dot)
    np.testing.assert_allclose(back.values, one.of(x * y.dot)[:, -1], rtol=1e-10, atol=1e-10)


def test_rows_that_depend_on_each_other_do_no_harm() -> None:
    twice = da.System(
        [x, y],
        kinetic=m / 2 * (x.dot**2 + y.dot**2),
        potential=m * g * y,
        constraints=[
            da.holonomic(x**2 + y**2 - l**2, name="rod"),
            da.holonomic(2 * (x**2 + y**2 - l**2), name="again"),
        ],
    )
    start = {"x": 0.6, "x_dot": 0.5}
    options: dict[str, Any] = {"parameters": HANGING, "form": "lagrange", "at": [1.5]}
    found = da.analysis.sensitivities(twice, [g, l], start, (0, 1.5), **options)
    once = da.analysis.sensitivities(PENDULUM, [g, l], start, (0, 1.5), **options)
    np.testing.assert_allclose(found.table(["x", "y_dot"]), once.table(["x", "y_dot"]), atol=1e-8)


def test_what_cannot_be_differentiated_is_refused() -> None:
    start, options = {x: 1.0}, {"parameters": {m: 1.0, k: 1.0}}
    motion = da.simulate(OSCILLATOR, start, (0, 1), **options)
    with pytest.raises(da.errors.ModelError, match="did you mean"):
        da.analysis.sensitivities(motion, ["x_dott"])
    with pytest.raises(da.errors.ModelError, match="as it is"):
        da.analysis.sensitivities(motion, [m], start)
    with pytest.raises(da.errors.ModelError, match="dop853"):
        da.analysis.sensitivities(
            OSCILLATOR, [m], start, (0, 1), method="gauss4", step=0.1, **options
        )
    with pytest.raises(da.errors.ModelError, match="event"):
        da.analysis.sensitivities(
            OSCILLATOR, [m], start, (0, 9), events=[da.event(x, terminal=True)], **options
        )
    hanging = da.simulate(PENDULUM, {"x": 0.6}, (0, 1), parameters=HANGING)
    with pytest.raises(da.errors.ModelError, match="given"):
        da.analysis.sensitivities(hanging, [g])
    again = da.analysis.sensitivities(hanging, [g], given=["x"])
    fresh = da.analysis.sensitivities(PENDULUM, [g], {"x": 0.6}, (0, 1), parameters=HANGING)
    np.testing.assert_allclose(again["y"], fresh["y"], atol=1e-12)
    u = da.inputs("u")
    driven = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(da.errors.ModelError, match="Python function"):
        da.analysis.sensitivities(driven, [x], {x: 0.0}, (0, 1), inputs={u: lambda t, state: 1.0})
    ball = da.System(
        [x], kinetic=x.dot**2 / 2, potential=9 * x, constraints=[da.unilateral(-x, name="floor")]
    )
    rests = da.analysis.sensitivities(ball, [x], {x: 1.0}, (0, 1), at=[0.1, 1])
    assert rests["x", x] == pytest.approx([1.0, 0.0], abs=1e-12)
    with pytest.raises(da.errors.ModelError, match="Lyapunov"):
        da.analysis.lyapunov(ball, {x: 1.0}, (0, 1))


def test_outputs_that_a_start_gives_are_held_and_differentiated_by() -> None:
    x, y, theta = da.coordinates("x y theta")
    along = x.dot * sympy.cos(theta) + y.dot * sympy.sin(theta)
    sleigh = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        potential=x**2,
        constraints=[
            da.velocity(x.dot * sympy.sin(theta) - y.dot * sympy.cos(theta), name="blade")
        ],
        outputs={"flow": along * (1 + x**2), "turning": theta.dot},
    )
    start = {"x": 0.5, "y": 0.0, "theta": 0.3, "flow": 1.0, "turning": 0.4}
    found = da.analysis.sensitivities(sleigh, ["x", "flow"], start, (0, 1))

    def end(name: str, change: float) -> float:
        moved = {**start, name: start[name] + change}
        return float(da.simulate(sleigh, moved, (0, 1), rtol=1e-12, atol=1e-13)["y"][-1])

    for name in ("x", "flow"):
        difference = (end(name, 1e-5) - end(name, -1e-5)) / 2e-5
        np.testing.assert_allclose(found["y", name][-1], difference, rtol=1e-7)
    motion = da.simulate(sleigh, start, (0, 1))
    again = da.analysis.sensitivities(motion, "flow", given=list(start))
    np.testing.assert_allclose(again["y", "flow"][-1], found["y", "flow"][-1], rtol=1e-9)
    with pytest.raises(da.errors.RunError, match="more than is independent"):
        da.analysis.sensitivities(
            motion, "flow", given=["x", "y", "theta", "x_dot", "y_dot", "theta_dot"]
        )
