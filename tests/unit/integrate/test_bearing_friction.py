"""Friction by the norm of a joint's reactions, against exact answers and independent models."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.io.files import loads

G = 9.81
B = da.bodies


def pendulum(**friction: Any) -> da.bodies.Mechanism:
    """A body of 2 kg, 0.5 m below its bearing, with 0.1 kg m^2 about its centre of mass."""
    arm = B.Body("arm", mass=2, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    return B.Mechanism([B.revolute("h", B.ground(), arm, axis="y", **friction)], gravity=(0, 0, -G))


def swings(acceleration: Callable[[Any, Any, float], float], start: float) -> list[float]:
    """The times at which a pendulum with dry friction turns, until it does not move again."""
    found, angle, time = [], start, 0.0
    while True:
        side = -math.copysign(1.0, angle)

        def rates(t: float, y: Any, side: float = side) -> list[float]:
            return [y[1], acceleration(y[0], y[1], side)]

        def stop(t: float, y: Any) -> float:
            return float(y[1])

        stop.direction, stop.terminal = -side, True  # type: ignore[attr-defined]
        if side * acceleration(angle, 0.0, side) <= 0:
            return found
        ends = solve_ivp(
            rates, (time, time + 10), [angle, 1e-300 * side], "DOP853", events=stop,
            rtol=1e-13, atol=1e-14,
        )  # fmt: skip
        time, angle = float(ends.t[-1]), float(ends.y[0, -1])
        found.append(time)


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
def test_a_pendulum_in_a_dry_bearing_turns_and_stops_when_an_independent_model_does(
    coordinates: Any,
) -> None:
    radius, friction = 0.1, 0.5
    system = pendulum(friction=friction, radius=radius).system(coordinates)
    start = pendulum(friction=friction, radius=radius).start({"h": 1.5}, "joint")
    if coordinates == "maximal":
        start = {"h": 1.5, "arm_qw": math.cos(0.75), "arm_qy": math.sin(0.75)}
    motion = da.simulate(system, start, (0, 6))

    def acceleration(angle: float, rate: float, side: float) -> float:
        z = 0.0
        for _ in range(20):  # a contraction by 0.08
            pull = 2 * math.hypot(
                G * math.cos(angle) + 0.5 * rate**2, 0.5 * z + G * math.sin(angle)
            )
            z = -(2 * G * 0.5 * math.sin(angle) + side * friction * radius * pull) / 0.6
        return z

    turns = swings(acceleration, 1.5)
    assert [change.time for change in motion.modes[1:]] == pytest.approx(turns, abs=1e-8)
    assert [change.mode for change in motion.modes] == ["slips"] * len(turns) + ["sticks"]
    bearing = motion.contacts["h_bearing"]
    assert bearing.normal[-1] == pytest.approx(2 * G, rel=1e-9)
    moving = motion.t < turns[0]
    rubbing = np.abs(bearing.friction[0, moving])
    assert rubbing == pytest.approx(friction * radius * bearing.normal[moving], rel=1e-9)


def test_the_friction_circle_decides_where_a_pendulum_stays() -> None:
    # At rest the reaction is the weight: it stays where L sin(angle) <= mu r, whatever the mass.
    lock = math.asin(0.5 * 0.1 / 0.5)
    system = pendulum(friction=0.2, static_friction=0.5, radius=0.1).system()
    for angle, mode in ((lock * (1 - 1e-9), "sticks"), (lock * (1 + 1e-9), "slips")):
        found = da.simulate(system, {"h": angle}, (0, 1e-3))
        assert [change.mode for change in found.modes] == [mode]


def test_a_slider_is_pressed_by_its_weight_and_a_force_across() -> None:
    cart = B.Body("cart", mass=2)
    slide = B.prismatic("s", B.ground(), cart, axis="x", friction=0.3)
    push = B.wrench("push", cart, force=(0, 15 * da.t, 0))
    system = B.Mechanism([slide, push], gravity=(0, 0, -G)).system()
    motion = da.simulate(system, {"s_dot": 3.0}, (0, 2), rtol=1e-11)
    # v' = -0.3 sqrt(g^2 + (7.5 t)^2), by the primitive of the root.
    ratio = 7.5 / G

    def lost(t: float) -> float:
        x = ratio * t
        return 0.3 * G / ratio * 0.5 * (x * math.hypot(1, x) + math.asinh(x))

    ends = motion.modes[-1]
    assert ends.mode == "sticks" and lost(ends.time) == pytest.approx(3.0, rel=1e-10)
    assert motion.contacts["s_bearing"].normal[-1] == pytest.approx(math.hypot(2 * G, 30), 1e-12)


def test_two_bearings_load_each_other() -> None:
    """A double pendulum of two point masses; the loads of both pins are one nonlinear problem."""
    masses, lengths, friction = (2.0, 1.0), (0.6, 0.4), (0.04, 0.03)
    first = B.Body("first", mass=masses[0], com=(0, 0, -lengths[0]))
    second = B.Body("second", mass=masses[1], com=(0, 0, -lengths[1]))
    upper = B.revolute("a", B.ground(), first, axis="y", friction=friction[0], radius=1)
    lower = B.revolute(
        "b", first, second, axis="y", at=(0, 0, -lengths[0]), friction=friction[1], radius=1
    )
    system = B.Mechanism([upper, lower], gravity=(0, 0, -G)).system()
    span = (0.0, 0.25)  # both angles fall without a turn
    motion = da.simulate(system, {"a": 1.0, "b": 0.5, "b_dot": -1.0}, span, rtol=1e-12)
    assert {change.mode for change in motion.modes} == {"slips"} and len(motion.modes) == 2

    def rates(t: float, y: Any) -> list[float]:
        a, b, va, vb = y
        angles, spins = np.array([a, a + b]), np.array([va, va + vb])
        outward = np.array([-np.sin(angles), -np.cos(angles)])
        along = np.array([-np.cos(angles), np.sin(angles)])

        def forces(z: Any) -> Any:
            turns = np.array([z[0], z[0] + z[1]])
            moved = np.array(lengths) * (turns * along - spins**2 * outward)
            places = np.cumsum(moved, axis=1)
            lower = masses[1] * (places[:, 1] + [0, G])
            return lower, lower + masses[0] * (places[:, 0] + [0, G])

        def rest(z: Any, rubs: Any) -> Any:
            """Virtual work of inertia and weight at the masses, and of the friction."""
            lower, upper = forces(z)
            arms = lengths[0] * along[:, 0], lengths[1] * along[:, 1]
            whole = (upper - lower) @ arms[0] + lower @ (arms[0] + arms[1])
            return np.array([whole, lower @ arms[1]]) - rubs

        z, zero = np.zeros(2), np.zeros(2)
        for _ in range(30):
            lower, upper = forces(z)
            sizes = np.array([np.linalg.norm(upper), np.linalg.norm(lower)])
            rubs = -np.array(friction) * sizes * np.sign([va, vb])
            matrix = np.array([rest(e, zero) - rest(zero, zero) for e in np.eye(2)]).T
            z = np.linalg.solve(matrix, -rest(zero, rubs))
        return [va, vb, *z]

    exact = solve_ivp(rates, span, [1.0, 0.5, -1e-300, -1.0], "DOP853", rtol=1e-12, atol=1e-13)
    ends = [motion[name][-1] for name in ("a", "b", "a_dot", "b_dot")]
    assert ends == pytest.approx(exact.y[:, -1].tolist(), abs=1e-9)


def test_a_norm_in_a_scalar_model_and_its_file(tmp_path: Any) -> None:
    x, y = da.coordinates("x y")
    phi = da.coordinates("phi")
    pins = [da.holonomic(x, name="pin_x"), da.holonomic(y, name="pin_y")]
    limit = da.velocity(phi.dot, friction=0.01, normal=["pin_x", "pin_y"], name="pin")
    rotor = da.System(
        [x, y, phi],
        kinetic=(x.dot**2 + y.dot**2 + phi.dot**2) / 2,
        forces={x: 3, y: -4},
        constraints=[*pins, limit],
    )
    motion = da.simulate(rotor, {phi.dot: 1}, (0, 25))
    assert motion.modes[-1].time == pytest.approx(20, rel=1e-12)
    assert motion.contacts["pin"].normal == pytest.approx(5.0)
    da.save_model(da.Scenario(rotor), tmp_path / "rotor.toml")
    (again,) = da.load_model(tmp_path / "rotor.toml").system.unilateral
    assert again.entry() == limit.entry() == {"friction": 0.01, "normal": "pin_x, pin_y"}


def test_a_bearing_that_locks_itself_stops_at_once() -> None:
    # mu r (m L/I) > 1: friction makes more load than it needs (Painleve); an impact stops the slip.
    arm = B.Body("arm", mass=2, com=(0, 0, -0.05), inertia=(1e-3, 1e-3, 1e-3))
    hinge = B.revolute("h", B.ground(), arm, axis="y", friction=2, radius=0.1)
    system = B.Mechanism([hinge], gravity=(0, 0, -G)).system()
    motion = da.simulate(system, {"h": 1.0, "h_dot": 3.0}, (0, 1))
    assert motion.modes[0].mode == "sticks" and "Painleve" in motion.modes[0].reason
    assert motion["h"][-1] == pytest.approx(1.0, abs=1e-12)


def test_a_bearing_rubs_in_an_impact() -> None:
    """A blow on a body that is free to turn, by a stop: its bearing takes an impulse as well."""
    rod = B.Body("rod", mass=3, com=(0.2, 0, 0), inertia=(1, 0.05, 1))
    friction, radius = 0.4, 0.1
    hinge = B.revolute(
        "h", B.ground(), rod, axis="y", friction=friction, radius=radius, limits=(None, 1),
        restitution=0.5,
    )  # fmt: skip
    system = B.Mechanism([hinge]).system()
    motion = da.simulate(system, {"h_dot": 2.0}, (0, 2))
    (time, name), *_ = motion.impacts
    place = int(np.searchsorted(motion.t, time))
    before, after = motion["h_dot"][place], motion["h_dot"][place + 1]
    assert name == "h_upper" and after == pytest.approx(-0.5 * before, rel=1e-12)
    # In flight only the centrifugal force presses: N^2 = (m L)^2 (w^4 + w'^2), I w' = -mu r N.
    inertia, arm = 0.05 + 3 * 0.2**2, 3 * 0.2
    rate = (
        friction * radius * arm / inertia / math.sqrt(1 - (friction * radius * arm / inertia) ** 2)
    )
    assert before == pytest.approx(2.0 * math.exp(-rate * 1.0), rel=1e-9)


def test_a_model_file_states_bearings() -> None:
    text = """
        gravity = [0, 0, -9.81]
        [bodies.arm]
        mass = 2
        com = [0, 0, -0.5]
        [joints.h]
        kind = "revolute"
        child = "arm"
        axis = "y"
        friction = "mu"
        radius = 0.1
        [parameters]
        mu = 0.5
    """
    (limit,) = loads(text).system.unilateral
    mu = da.parameters("mu")
    assert limit.friction == 0.1 * mu and limit.normal == ("h_across1_held", "h_across2_held")


@pytest.mark.parametrize(
    "make",
    [
        lambda: B.revolute("h", B.ground(), B.Body("a"), friction=0.1),
        lambda: B.prismatic("h", B.ground(), B.Body("a"), friction=0.1, radius=1),
        lambda: B.revolute("h", B.ground(), B.Body("a"), radius=0.1),
        lambda: B.spherical("h", B.ground(), B.Body("a"), friction=0.1),
    ],
)
def test_incomplete_statements_of_bearings_are_errors(make: Callable[[], Any]) -> None:
    with pytest.raises(ModelError, match="`h`"):
        make()
