"""Servo constraints: least norms against quadratic programs, hand-derived laws, known indices and
zero dynamics.
"""

from __future__ import annotations

import importlib
import warnings
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.optimize import minimize
from sympy import cos, sin

import dalembert as da
from dalembert.control.servo.affine import Instants
from dalembert.control.servo.servo import Servo
from dalembert.errors import ModelError, RunError, UnusedParameterWarning

ENTRIES = ["tracking-double-pendulum", "tracking-crane", "formation-satellites", "lorenz-on-sphere"]


def module_of(name: str) -> Any:
    module = da.gallery.path_of(name).removesuffix(".py").replace("/", ".")
    return importlib.import_module(f"dalembert.gallery.{module}")


@cache
def loop_of(name: str) -> Servo:
    """The loop that the library derives for the plant and the requirements of a gallery entry."""
    scenario, plant = da.gallery.load(name), module_of(name).plant()
    k = da.parameters("k", positive=True)
    near = {**scenario.start, **scenario.parameters}
    return da.control.servo(
        plant[0] if isinstance(plant, tuple) else plant,
        module_of(name).requirements(),
        rate=k,
        near=near,
    )


def double_pendulum() -> tuple[da.System, sympy.Expr]:
    a, b = da.coordinates("a b")
    m, g = da.parameters("m g", positive=True)
    kinetic = m * a.dot**2 + m / 2 * b.dot**2 + m * a.dot * b.dot * cos(a - b)
    return da.System([a, b], kinetic=kinetic, potential=-m * g * (2 * cos(a) + cos(b))), -cos(
        a
    ) - cos(b)


PENDULUM = {"m": 1.3, "g": 9.81}
WEIGHTS: dict[str, Any] = {
    "gauss": "gauss",
    "one": 1,
    "diagonal": [3, 1],
    "matrix": sympy.Matrix([[2, 1], [1, 4]]),
}


@cache
def held_height(weight: str) -> Servo:
    system, height = double_pendulum()
    return da.control.servo(
        system, {"height": height + 1 + sin(da.t) / 5}, weight=WEIGHTS[weight], rate=3
    )


def random_states(symbols: Any, count: int = 4) -> list[dict[str, float]]:
    random = np.random.default_rng(3)
    return [
        {s.name: float(random.uniform(-0.9, 0.9)) for s in symbols}
        | {"t": float(random.uniform(0, 2))}
        for _ in range(count)
    ]


# -- the norm is the least one ---------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_weighted_norm_is_the_least(weight: str) -> None:
    """Against a quadratic program in the force alone: requirement rates by the kernel of the plant,
    not by the servo's rows.
    """
    loop = held_height(weight)
    system, height = double_pendulum()
    phi = height + 1 + sin(da.t) / 5
    q, v = list(system.coordinates), sympy.Matrix(system.velocities)
    rate = (sympy.Matrix([phi]).jacobian(q) * v)[0] + sympy.diff(phi, da.t)
    kernel = da.derive(system).compile()
    pushed = [da.derive(system.replacing(forces={c: 1})).compile() for c in q]
    values = np.array([PENDULUM[p.name] for p in kernel.parameters])
    for place in random_states(loop.dynamics.symbols):
        state = np.array([place[s.name] for s in (*system.coordinates, *system.velocities)])
        free = kernel.rates(place["t"], state, values)[2:]
        columns = np.array([k.rates(place["t"], state, values)[2:] - free for k in pushed]).T
        probe = Instants({**PENDULUM, **place})
        derivative = probe.here([sympy.diff(phi, c) for c in q])[0]
        bias = (
            (sympy.Matrix([rate]).jacobian(q) * v)[0] + sympy.diff(rate, da.t) + 6 * rate + 9 * phi
        )
        right = -float(probe.here([bias])[0, 0]) - derivative @ free
        N = probe.here(list(loop.weight), 2)
        row = derivative @ columns
        found = minimize(
            lambda u, N=N: u @ N @ u,
            np.zeros(2),
            jac=lambda u, N=N: 2 * N @ u,
            constraints={
                "type": "eq",
                "fun": lambda u, row=row, right=right: row @ u - right,
                "jac": lambda u, row=row: row,
            },
            options={"ftol": 1e-15, "maxiter": 200},
        )
        effort = probe.here(list(loop.efforts.values()))[0]
        assert found.success and row @ effort == pytest.approx(right, rel=1e-10)
        assert np.allclose(effort, found.x, rtol=1e-5, atol=1e-6)
        assert effort @ N @ effort <= found.fun * (1 + 1e-9)
        for other in np.random.default_rng(0).normal(size=(5, 2)):
            moved = effort + other - row * (row @ other) / (row @ row)
            assert effort @ N @ effort <= moved @ N @ moved


@pytest.mark.long
def test_other_weights_give_other_forces() -> None:
    place = {**PENDULUM, **random_states(held_height("one").dynamics.symbols)[0]}
    found = {
        name: Instants(place).here(list(held_height(name).efforts.values()))[0] for name in WEIGHTS
    }
    for name in WEIGHTS:
        assert name == "one" or not np.allclose(found[name], found["one"], rtol=1e-3)


@pytest.mark.long
def test_with_the_weight_of_gauss_the_loop_moves_like_the_constrained_system() -> None:
    loop, (system, height) = held_height("gauss"), double_pendulum()
    ideal = system.replacing(constraints=[da.holonomic(height + 1 + sin(da.t) / 5, name="height")])
    start = loop.start({"a": 0.6, "b": 0.4, "a_dot": 0.2}, PENDULUM)
    times = np.linspace(0, 2, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        held = loop.simulate(start, (0, 2), parameters=PENDULUM, at=times)
    free = da.simulate(ideal, start, (0, 2), parameters=PENDULUM, at=times)
    assert np.abs(held.y - free.y).max() < 1e-8
    assert (
        np.abs(np.array([held["u_a"], held["u_b"]]) - free.reactions["height"].force).max() < 1e-7
    )


# -- the examples ----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("name", ENTRIES)
def test_the_law_in_the_gallery_is_the_law_that_is_derived(name: str) -> None:
    loop, stated = loop_of(name), da.gallery.load(name).system.inputs
    random = np.random.default_rng(5)
    for _ in range(4):
        symbols = {s for e in (*loop.efforts.values(), *stated.values()) for s in e.free_symbols}
        probe = Instants({s.name: float(random.uniform(0.3, 1.2)) for s in symbols})
        derived, by_hand = (
            probe.here([loop.efforts[u] for u in stated])[0],
            probe.here(list(stated.values()))[0],
        )
        assert np.allclose(derived, by_hand, rtol=1e-11, atol=1e-11)


@pytest.mark.long
@pytest.mark.parametrize("name", ENTRIES)
def test_requirements_hold_from_a_start_that_holds_them(name: str) -> None:
    loop, scenario = loop_of(name), da.gallery.load(name)
    start = loop.start(scenario.start, scenario.parameters)
    motion = da.simulate(
        loop.system, start, scenario.simulate["span"], parameters=scenario.parameters, rtol=1e-11
    )
    assert motion.success
    assert max(np.abs(motion[f"error_{error}"]).max() for error in loop.requirements) < 1e-9
    assert motion["effort"].min() >= 0 and motion["effort"].max() > 0


@pytest.mark.parametrize("name", ENTRIES)
def test_requirements_converge_from_a_start_off_them(name: str) -> None:
    scenario = da.gallery.load(name)
    motion = da.simulate(scenario)
    for error in module_of(name).requirements():
        size = np.abs(motion[f"error_{error}"])
        assert size.max() > 1e-3 and size[-1] < 1e-8 * (1 + size.max())


def test_the_crane_has_index_five_and_nothing_moves_on_its_own() -> None:
    loop = loop_of("tracking-crane")
    assert (loop.kind, loop.first_rank, loop.index, loop.internal) == ("underactuated", 1, 5, 0)
    assert dict(loop.degrees) == {
        "across": 4,
        "up": 2,
    }  # the rope hangs: the winch answers for the height


@pytest.mark.parametrize(
    ("name", "kind", "index", "internal"),
    [
        ("tracking-double-pendulum", "exact", 3, 0),
        ("formation-satellites", "exact", 3, 4),
        ("lorenz-on-sphere", "underdetermined", 2, 2),
    ],
)
def test_kinds_and_indices(name: str, kind: str, index: int, internal: int) -> None:
    loop = loop_of(name)
    assert (loop.kind, loop.index, loop.internal) == (kind, index, internal)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_chain_of_masses_has_the_index_of_its_length(n: int) -> None:
    """The force at one end, the requirement at the other: each spring takes two
    differentiations.
    """
    x = [da.Coordinate(f"x{k}") for k in range(n)]
    u = da.inputs("u")
    springs = sum(((a - b) ** 2 for a, b in pairwise(x)), sympy.S.Zero)
    chain = da.System(
        x, kinetic=sum(q.dot**2 for q in x) / 2, potential=springs, forces={x[0]: u}, inputs=[u]
    )
    loop = da.control.servo(chain, {"end": x[-1] - sin(da.t)}, rate=2)
    assert (loop.index, loop.internal) == (2 * n + 1, 0)
    assert loop.kind == "exact"
    motion = loop.simulate(loop.start({}), (0, 4))
    assert np.abs(motion["error_end"]).max() < 1e-9


# -- internal dynamics -----------------------------------------------------------------------------


def cart(damping: Any = 0) -> tuple[da.System, Any, Any]:
    x, q = da.coordinates("x q")
    g = da.parameters("g", positive=True)
    u = da.inputs("u")
    kinetic = x.dot**2 + x.dot * q.dot * cos(q) + q.dot**2 / 2
    system = da.System(
        [x, q],
        kinetic=kinetic,
        potential=g * cos(q),
        dissipation=damping * q.dot**2 / 2,
        forces={x: u},
        inputs=[u],
    )
    return system, x, q


@pytest.mark.parametrize(
    ("angle", "damping", "verdict", "eigenvalues"),
    [
        (0.0, 0, "unstable", [3.0, -3.0]),
        (np.pi, 0, "marginal", [3.0j, -3.0j]),
        (np.pi, 2, "stable", [-1 + np.sqrt(8) * 1j, -1 - np.sqrt(8) * 1j]),
    ],
    ids=["upright", "hanging", "hanging-damped"],
)
def test_internal_dynamics_are_those_of_the_pendulum(
    angle: float, damping: int, verdict: str, eigenvalues: list[complex]
) -> None:
    """With the cart held, the pendulum is left: q_ddot + c q_dot - g q = 0 upright."""
    system, x, q = cart(damping)
    loop = da.control.servo(system, {"cart": x - sin(da.t)}, rate=2)
    found = loop.internal_dynamics({q: angle}, {"g": 9.0})
    assert (loop.internal, found.verdict) == (2, verdict)
    assert np.allclose(found.eigenvalues, eigenvalues, atol=1e-7)


@pytest.mark.long
def test_the_reaction_of_a_height_makes_a_hanging_link_unstable() -> None:
    """At rest with b = 0 the reaction 2 m g carries the first link: b_ddot = (2 - 1) g sin(b)."""
    found = held_height("gauss").internal_dynamics({"a": 0.9, "b": 0.2}, PENDULUM)
    assert abs(found.rest["b"]) < 1e-8 and np.allclose(
        found.eigenvalues, [np.sqrt(9.81), -np.sqrt(9.81)], atol=1e-7
    )


@pytest.mark.long
def test_constraints_of_the_plant_are_no_internal_dynamics() -> None:
    """A cart and a bob on a rod, in Cartesian symbols: the same eigenvalues as with an angle."""
    s, x, y = da.coordinates("s x y")
    u = da.inputs("u")
    rod = da.holonomic((x - s) ** 2 + y**2 - 1, name="rod")
    system = da.System(
        [s, x, y],
        kinetic=(s.dot**2 + x.dot**2 + y.dot**2) / 2,
        potential=9 * y,
        constraints=[rod],
        forces={s: u},
        inputs=[u],
    )
    loop = da.control.servo(system, {"cart": s})
    found = loop.internal_dynamics({"y": 1.0, "x": 0.01})
    assert loop.internal == 2 and np.allclose(found.eigenvalues, [3.0, -3.0], atol=1e-7)


def test_an_unstable_inside_is_warned_of_before_the_run() -> None:
    system, x, _ = cart()
    loop = da.control.servo(system, {"cart": x})
    with pytest.warns(UserWarning, match=r"not minimum phase.*3"):
        loop.simulate({"q": 0.001}, (0, 0.1), parameters={"g": 9.0})


def test_a_damper_between_masses_leaves_one_stable_state_inside() -> None:
    """x_2 held: c x_1_dot + k x_1 = 0 is left."""
    a, b = da.coordinates("a b")
    u = da.inputs("u")
    pair = da.System(
        [a, b],
        kinetic=(a.dot**2 + b.dot**2) / 2,
        potential=3 * (a - b) ** 2,
        dissipation=(a.dot - b.dot) ** 2,
        forces={a: u},
        inputs=[u],
    )
    loop = da.control.servo(pair, {"far": b})
    found = loop.internal_dynamics({}, {})
    assert (loop.degrees["far"], loop.internal) == (3, 1)
    assert found.verdict == "stable" and found.eigenvalues[0] == pytest.approx(-3.0, abs=1e-8)


# -- wrong use -------------------------------------------------------------------------------------


def test_too_few_actuators_are_named_with_the_rank() -> None:
    system, x, q = cart()
    with pytest.raises(ModelError, match=r"cannot hold.*rank 1 of the 2.*1 actuators"):
        da.control.servo(system, {"cart": x, "angle": q})


def test_a_requirement_that_no_actuator_moves_is_named() -> None:
    x, y = da.coordinates("x y")
    u = da.inputs("u")
    apart = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, forces={x: u}, inputs=[u])
    with pytest.raises(ModelError, match=r"cannot hold the requirement `other`.*rank 0 of the 1 "):
        da.control.servo(apart, {"other": y - sin(da.t)})


@pytest.mark.long
def test_dependent_requirements_are_dropped_and_contradictory_ones_refused() -> None:
    system, x, _ = cart()
    loop = da.control.servo(system, {"cart": x - sin(da.t), "twice": 2 * x - 2 * sin(da.t)})
    assert loop.redundant == ("twice",) and list(loop.degrees) == ["cart"]
    with pytest.raises(ModelError, match="contradicts"):
        da.control.servo(system, {"cart": x, "elsewhere": x - 1})


def test_a_start_at_which_actuators_lose_their_hold_is_refused() -> None:
    x, y = da.coordinates("x y")
    plane = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2)
    loop = da.control.servo(plane, {"hyperbola": x * y})
    assert loop.rank_at({x: 0.3}) == 1 and loop.rank_at({}) == 0
    with pytest.raises(ModelError, match=r"lose their hold.*rank 0 of 1"):
        loop.simulate({}, (0, 1))
    with pytest.raises(RunError, match="No state was found"):
        da.control.servo(plane, {"nowhere": x**2 + y**2 + 1}).start({x: 0.4})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"requirements": {}}, "needs a requirement"),
        ({"requirements": {"r": sympy.Symbol("w")}}, "contains w"),
        ({"weight": [1, 2, 3]}, "symmetric matrix with a row for each actuator"),
        ({"weight": "heavy"}, "must be a matrix"),
        ({"actuators": [da.Coordinate("nobody")]}, "Actuators are inputs"),
        ({"actuators": [da.Input("nobody")]}, "no input of the model"),
    ],
    ids=["none", "foreign", "shape", "word", "coordinate", "input"],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    system, height = double_pendulum()
    with pytest.raises(ModelError, match=message):
        da.control.servo(system, **({"requirements": {"height": height}} | options))


# -- ways to say the same --------------------------------------------------------------------------


@pytest.mark.long
def test_a_hamiltonian_and_a_lagrangian_need_the_same_effort() -> None:
    q, r = da.coordinates("q r")
    u = da.inputs("u")
    lagrangian = da.System(
        [q, r],
        kinetic=q.dot**2 * (1 + r**2) / 2 + r.dot**2,
        potential=cos(q) + r**2 * q,
        forces={q: u},
        inputs=[u],
    )
    H = q.momentum**2 / (1 + r**2) / 2 + r.momentum**2 / 4 + cos(q) + r**2 * q
    hamiltonian = da.System([q, r], hamiltonian=H, forces={q: u}, inputs=[u])
    times = np.linspace(0, 1.5, 7)
    runs = [
        da.simulate(
            da.control.servo(s, {"q": q - sin(da.t)}, rate=2).system,
            {"r": 0.3, speed: 0.4},
            (0, 1.5),
            at=times,
        )
        for s, speed in ((lagrangian, "r_dot"), (hamiltonian, "r_dot"))
    ]
    assert np.abs(runs[0]["u"] - runs[1]["u"]).max() < 1e-8
    assert np.abs(runs[0]["r"] - runs[1]["r"]).max() < 1e-9


@pytest.mark.long
def test_a_rod_as_a_constraint_and_an_angle_need_the_same_thrust() -> None:
    x, y, angle = da.coordinates("x y angle")
    thrust = {"thrust": {x: -y, y: x}}
    rod = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=9 * y,
        constraints=[da.holonomic(x**2 + y**2 - 1)],
    )
    swing = da.System([angle], kinetic=angle.dot**2 / 2, potential=9 * sin(angle))
    path = cos(da.t) / 2
    first = da.control.servo(rod, {"x": x - path}, actuators=thrust, rate=2)
    second = da.control.servo(
        swing, {"x": cos(angle) - path}, actuators={"thrust": {angle: 1}}, rate=2
    )
    assert (first.index, first.internal) == (second.index, second.internal) == (3, 0)
    times = np.linspace(0, 3, 7)
    start = {"x": np.cos(0.8), "y": np.sin(0.8), "x_dot": 0.0, "y_dot": 0.0}
    one = da.simulate(first.system, start, (0, 3), at=times)
    other = da.simulate(second.system, {"angle": 0.8}, (0, 3), at=times)
    assert np.abs(one["x"] - np.cos(other["angle"])).max() < 1e-8
    assert np.abs(one["thrust"] - other["thrust"]).max() < 1e-6


@pytest.mark.long
def test_every_form_runs_the_closed_loop() -> None:
    system, x, q = cart()
    loop = da.control.servo(system, {"cart": x - sin(da.t)}, rate=2)
    assert da.compare(loop.system, start={q: 0.3}, parameters={"g": 9.0}).worst < 1e-9


def test_a_requirement_on_velocities_decays_with_its_rate() -> None:
    x, y = da.coordinates("x y")
    plane = da.System([x, y], kinetic=(x.dot**2 + 3 * y.dot**2) / 2)
    loop = da.control.servo(plane, [da.velocity(x.dot - y.dot**2, name="bent")], rate={"bent": 4})
    assert loop.index == 2
    motion = da.simulate(loop.system, {x.dot: 1.0, y.dot: 0.5}, (0, 2))
    assert np.allclose(motion["error_bent"], 0.75 * np.exp(-4 * motion.t), atol=1e-10)


def test_a_flow_is_changed_as_little_as_its_weight_says() -> None:
    x, y = da.coordinates("x y")
    flow = da.Flow({x: y, y: -sin(x)})
    loop = da.control.servo(flow, {"line": x + 2 * y}, weight=[4, 1], rate=1)
    values = Instants({"x": 0.3, "y": 0.7}).here(list(loop.efforts.values()))[0]
    lack = -(0.7 - 2 * np.sin(0.3) + 0.3 + 2 * 0.7)
    assert np.allclose(values, np.array([0.25, 2.0]) * lack / (0.25 + 4.0))


def test_the_report_says_what_a_person_asks() -> None:
    text = str(loop_of("tracking-crane"))
    assert "underactuated" in text and "index" in text and "5" in text


@pytest.mark.long
def test_the_values_of_a_loop_are_all_given_and_all_known() -> None:
    """A start took 1 for parameters that were not given, internal dynamics 0, and both passed over
    unknown names.
    """
    loop = held_height("gauss")
    for question in (loop.start, loop.internal_dynamics):
        with pytest.raises(ModelError, match="no value"):
            question({"a": 0.6, "b": 0.4}, {})
        with pytest.warns(UnusedParameterWarning, match="does not use the parameter `stiffness`"):
            question({"a": 0.6, "b": 0.4}, {**PENDULUM, "stiffness": 1.0})
    with pytest.raises(ModelError, match="no symbol `c`"):
        loop.start({"a": 0.6, "b": 0.4, "c": 0.1}, PENDULUM)
