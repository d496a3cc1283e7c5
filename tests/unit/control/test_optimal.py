"""Two-point problems against exact answers: linear ones, circles in the Heisenberg group, the pendulum in the unicycle."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq
from sympy import cos, sin

import dalembert as da

x, y, z, v, theta, T = da.coordinates("x y z v theta T")
u, w = da.inputs("u w")
CART = da.Flow({x: v, v: u}, inputs=[u], name="cart")
HEISENBERG = da.Flow({x: u, y: w, z: (x * w - y * u) / 2}, inputs=[u, w], name="Heisenberg")
UNICYCLE = da.Flow({x: u * cos(theta), y: u * sin(theta), theta: w}, inputs=[u, w], name="unicycle")
EFFORT = (u**2 + w**2) / 2
ORIGIN = {x: 0, y: 0, z: 0}


# -- linear problems ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("ends", "length"), [((0, 0, 1, 0), 1.0), ((0.3, -1.0, 2.0, 0.5), 1.7)], ids=["rest", "general"])
def test_a_cart_is_moved_by_an_input_that_is_linear_in_time(ends: Any, length: float) -> None:
    """x is the cubic through both ends, u its second derivative."""
    x0, v0, x1, v1 = ends
    found = da.optimal(CART, u**2 / 2, {x: x0, v: v0}, {x: x1, v: v1}, (0, length))
    gap, h = x1 - x0, length
    first = 6 * gap / h**2 - (4 * v0 + 2 * v1) / h
    slope = -12 * gap / h**3 + 6 * (v0 + v1) / h**2
    assert np.allclose(found.motion["u"], first + slope * found.motion.t, atol=1e-9)
    assert found.cost == pytest.approx((first**2 * h + first * slope * h**2 + slope**2 * h**3 / 3) / 2, rel=1e-10)
    assert found.residual < 1e-10
    assert found.conjugate_points == ()
    assert "minimum among neighbouring" in found.verdict


def test_a_system_and_a_flow_state_the_same_problem() -> None:
    q = da.coordinates("q")
    m = da.parameters("m", positive=True)
    mass = da.System([q], kinetic=m * q.dot**2 / 2, forces={q: u}, inputs=[u])
    found = da.optimal(mass, u**2 / 2, {q: 0, q.dot: 0}, {q: 1, q.dot: 0}, (0, 1), parameters={m: 2})
    assert found.cost == pytest.approx(4 * 6, rel=1e-10)


def test_costates_vanish_at_free_ends() -> None:
    """Without a speed asked for at one end, u falls to zero there: 3/2 in place of 6."""
    end = da.optimal(CART, u**2 / 2, {x: 0, v: 0}, {x: 1}, (0, 1))
    start = da.optimal(CART, u**2 / 2, {x: 0}, {x: 1, v: 0}, (0, 1), free=[v])
    assert end.cost == pytest.approx(1.5, rel=1e-10)
    assert start.cost == pytest.approx(1.5, rel=1e-10)
    assert abs(end.motion["lambda_v"][-1]) < 1e-9
    assert abs(start.motion["lambda_v"][0]) < 1e-9
    assert "free end" in end.verdict


def test_a_free_duration_is_a_letter() -> None:
    """int u^2/2 + 1 from rest to rest over 1: 6/T^3 + T is least at T^4 = 18; the Hamiltonian vanishes there."""
    cart = da.Flow({x: T * v, v: T * u, T: 0}, inputs=[u])
    found = da.optimal(cart, T * (u**2 / 2 + 1), {x: 0, v: 0, T: 2.0}, {x: 1, v: 0}, (0, 1), free=[T], guess={u: 3 - 6 * da.t})
    assert found.motion["T"][0] == pytest.approx(18**0.25, rel=1e-9)
    assert found.cost == pytest.approx(4 / 3 * 18**0.25, rel=1e-10)
    assert abs(found.motion["H"][0]) < 1e-8


def test_an_oscillator_is_conjugate_after_half_a_period() -> None:
    """L = (u^2 - x^2)/2: extremals are sines, which meet at pi. Before it they are minima, beyond it not."""
    line = da.Flow({x: u}, inputs=[u])
    early = da.optimal(line, (u**2 - x**2) / 2, {x: 0}, {x: 1}, (0, 2))
    assert early.is_minimum
    assert early.cost == pytest.approx(0.5 / np.tan(2.0), rel=1e-9)
    late = da.optimal(line, (u**2 - x**2) / 2, {x: 0}, {x: 1}, (0, 4), guess={"lambda_x": -1.0})
    assert late.conjugate_points[0].time == pytest.approx(np.pi, abs=1e-9)
    assert not late.is_minimum
    assert "not a minimum beyond" in late.verdict
    assert "3.14159" in str(late)


# -- Heisenberg --------------------------------------------------------------------------------------------------------


def cheapest(place: tuple[float, float, float]) -> float:
    """The cost in unit time by the isoperimetric problem: an arc over a chord c that encloses z, |psi| <= pi its half turn.

    z / c^2 = (2 psi - sin 2 psi) / (8 sin^2 psi), length = c psi / sin psi.
    """
    a, b, area = place
    chord = np.hypot(a, b)
    if chord == 0:
        return 2 * np.pi * abs(area)
    if area == 0:
        return chord**2 / 2
    half = brentq(
        lambda s: (2 * s - np.sin(2 * s)) / (8 * np.sin(s) ** 2) - abs(area) / chord**2, 1e-6, np.pi - 1e-6, xtol=1e-15
    )
    return (chord * half / np.sin(half)) ** 2 / 2


@pytest.mark.parametrize(
    "place", [(0.0, 0.0, 1.0), (0.0, 0.0, -0.4), (1.0, 0.5, 1.0), (1.0, 0.0, 0.05), (0.3, -0.2, -0.7)], ids=str
)
def test_heisenberg_extremals_are_arcs_of_least_length(place: tuple[float, float, float]) -> None:
    found = da.optimal(HEISENBERG, EFFORT, ORIGIN, dict(zip([x, y, z], place, strict=True)), (0, 1))
    assert found.cost == pytest.approx(cheapest(place), rel=1e-8)
    speed = np.hypot(found.motion["u"], found.motion["w"])
    assert np.ptp(speed) < 1e-9 * speed[0]
    radius = speed[0] / abs(found.costates["lambda_z"])
    centre = np.array([found.motion["x"] - found.motion["w"] / found.costates["lambda_z"],
                       found.motion["y"] + found.motion["u"] / found.costates["lambda_z"]])  # fmt: skip
    assert np.ptp(centre, axis=1).max() < 1e-8 * (1 + radius)
    assert found.is_minimum


def test_the_end_above_the_start_is_conjugate_to_it() -> None:
    """Every circle through the start that encloses z arrives there: the first conjugate point is the end itself."""
    found = da.optimal(HEISENBERG, EFFORT, ORIGIN, {x: 0, y: 0, z: 1}, (0, 1))
    assert [point.multiplicity for point in found.conjugate_points] == [1]
    assert found.conjugate_points[0].time == pytest.approx(1.0, abs=1e-6)
    assert "end is conjugate" in found.verdict
    # Full turns, and the solutions of tan s = s between them.
    further = [point.time for point in found.conjugate_until(2.2)]
    tangent = brentq(lambda s: np.sin(s) - s * np.cos(s), 4.0, 4.7, xtol=1e-15)
    assert further == pytest.approx([1.0, tangent / np.pi, 2.0], abs=1e-7)


def test_an_extremal_of_a_turn_and_a_half_is_no_minimum() -> None:
    """Three half turns of a unit circle: the full turn is its conjugate point, and one arc to the same end is cheaper."""
    rate = 3 * np.pi
    start = {"lambda_x": rate, "lambda_y": 0.0, "lambda_z": rate}
    problem = da.optimal(HEISENBERG, EFFORT, ORIGIN, {x: 0.0, y: 2.0, z: 3 * np.pi / 2}, (0, 1), guess=start)
    assert problem.costates["lambda_z"] == pytest.approx(rate, rel=1e-9)
    assert problem.conjugate_points[0].time == pytest.approx(2 / 3, abs=1e-8)
    assert not problem.is_minimum
    other = da.optimal(HEISENBERG, EFFORT, ORIGIN, {x: 0.0, y: 2.0, z: 3 * np.pi / 2}, (0, 1))
    assert other.is_minimum
    assert other.cost < 0.9 * problem.cost


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_other_first_inputs_find_the_same_cost(seed: int) -> None:
    found = da.optimal(HEISENBERG, EFFORT, ORIGIN, {x: 0.4, y: 0.1, z: 0.6}, (0, 1), seed=seed)
    assert found.cost == pytest.approx(cheapest((0.4, 0.1, 0.6)), rel=1e-8)


# -- unicycle ----------------------------------------------------------------------------------------------------------


@cache
def parked() -> Any:
    """A unicycle that moves aside."""
    return da.optimal(UNICYCLE, EFFORT, {x: 0, y: 0, theta: 0}, {x: 0, y: 1, theta: 0}, (0, 1))


def test_the_heading_of_a_unicycle_moves_as_a_pendulum() -> None:
    """theta_ddot = r^2/2 sin 2(theta - a), with r and a of the constant costates of x and y."""
    motion = parked().motion
    strength, angle = np.hypot(motion["lambda_x"], motion["lambda_y"]), np.arctan2(motion["lambda_y"], motion["lambda_x"])
    assert np.ptp(strength) < 1e-9
    pull = strength**2 / 2 * np.sin(2 * (motion["theta"] - angle))
    assert np.allclose(motion["theta_ddot"], pull, atol=1e-8 * np.max(np.abs(pull)))


def test_extremals_are_vakonomic_motions() -> None:
    """The same curve from another derivation: the form "pontryagin" of a mechanical system with the cost as Lagrangian."""
    blade = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
    )
    found = parked()
    start = {f"xi_{name}": found.costates[f"lambda_{name}"] for name in ("x", "y", "theta")}
    motion = da.simulate(
        da.derive(blade, "pontryagin"), start | {"x": 0, "y": 0, "theta": 0}, (0, 1), rtol=1e-12, at=[0.4, 1.0]
    )
    for name in ("x", "y", "theta"):
        there = found.motion.sol(0.4)[[q.name for q in found.motion.state].index(name)]
        assert motion[name][0] == pytest.approx(there, abs=1e-8)
        assert motion[name][-1] == pytest.approx(found.motion[name][-1], abs=1e-8)


def test_turning_on_the_spot_is_cheapest_where_nothing_else_is_asked() -> None:
    found = da.optimal(UNICYCLE, EFFORT, {x: 0, y: 0, theta: 0}, {x: 0, y: 0, theta: 1}, (0, 1))
    assert found.cost == pytest.approx(0.5, rel=1e-9)


# -- mechanical systems ------------------------------------------------------------------------------------------------


def test_a_falling_cat_turns_by_moving_its_arms() -> None:
    """A body with two arms and no angular momentum: arms return, the body has turned, and the momentum stays zero."""
    theta, a, b = da.coordinates("theta a b")
    arms = [sympy.Matrix([s * cos(theta), s * sin(theta)]) + sympy.Matrix([cos(theta + e), sin(theta + e)])
            for s, e in ((1, a), (-1, b))]  # fmt: skip
    rates = {theta: theta.dot, a: a.dot, b: b.dot}
    speeds = [sum((sympy.diff(arm, q) * rate for q, rate in rates.items()), sympy.zeros(2, 1)) for arm in arms]
    kinetic = theta.dot**2 + sum((speed.dot(speed) / 2 for speed in speeds), sympy.Integer(0))
    momentum = sympy.expand(sympy.diff(kinetic, theta.dot))
    turning = sympy.solve(momentum, theta.dot)[0].subs({a.dot: u, b.dot: w})
    cat = da.Flow({theta: turning, a: u, b: w}, inputs=[u, w], name="falling cat")
    found = da.optimal(cat, EFFORT, {theta: 0, a: 1, b: 1}, {theta: 0.15, a: 1, b: 1}, (0, 1))
    motion = found.motion
    along = sympy.lambdify([theta, a, b, theta.dot, a.dot, b.dot], momentum)
    values = along(*(motion[name] for name in ("theta", "a", "b", "theta_dot", "a_dot", "b_dot")))
    assert np.max(np.abs(values)) < 1e-9
    assert motion["theta"][-1] == pytest.approx(0.15, abs=1e-9)
    assert abs(motion["a"][-1] - 1) < 1e-9
    assert np.ptp(motion["a"]) > 0.1
    assert np.ptp(motion["H"]) < 1e-8 * motion["H"][0]
    assert found.cost == pytest.approx(motion["H"][0], rel=1e-9)


def test_a_blade_with_multipliers_and_one_on_its_own_speeds_cost_the_same() -> None:
    """Rest to rest aside: a system whose velocities obey a relation, and the flow without it."""
    rolling, turning = da.coordinates("s r")
    blade = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
        forces={x: u * cos(theta), y: u * sin(theta), theta: w},
        inputs=[u, w],
    )
    flow = da.Flow(
        {x: rolling * cos(theta), y: rolling * sin(theta), theta: turning, rolling: u, turning: w}, inputs=[u, w], name="blade"
    )
    here, there = {x: 0, y: 0, theta: 0}, {x: 0, y: 1, theta: 0}
    rest, own_rest = {x.dot: 0, y.dot: 0, theta.dot: 0}, {rolling: 0, turning: 0}
    first = da.optimal(blade, EFFORT, here | rest, there | rest, (0, 2))
    second = da.optimal(flow, EFFORT, here | own_rest, there | own_rest, (0, 2))
    assert first.cost == pytest.approx(second.cost, rel=1e-9)
    assert first.motion.worst_residual["position"] < 1e-8


def test_a_pendulum_swings_up_with_less_torque_than_its_weight() -> None:
    q = da.coordinates("q")
    pendulum = da.System([q], kinetic=q.dot**2 / 2, potential=-9.81 * cos(q), forces={q: u}, inputs=[u])
    found = da.optimal(pendulum, u**2 / 2, {q: 0, q.dot: 0}, {q: np.pi, q.dot: 0}, (0, 3))
    assert found.residual < 1e-10
    assert np.max(np.abs(found.motion["u"])) < 9.81
    # What the torque does is what the pendulum gains.
    work = np.trapezoid(found.motion["u"] * found.motion["v_q"], found.motion.t)
    assert work == pytest.approx(2 * 9.81, rel=2e-2)


def test_more_arcs_find_the_same_extremal() -> None:
    ends = {x: 0, y: 0, theta: 0}, {x: 0.5, y: 0.5, theta: 1}
    costs = [da.optimal(UNICYCLE, EFFORT, *ends, (0, 1), segments=count).cost for count in (1, 3, 8)]
    assert np.ptp(costs) < 1e-9


def test_several_ways_find_the_cheapest_of_several_minima() -> None:
    """On a circle of letters (cos, sin) a turn by 3 either way is a minimum among neighbours; the short one is cheaper."""
    c, s = da.coordinates("c s")
    circle = da.Flow({c: -s * u, s: c * u}, inputs=[u], constraints=[da.holonomic(c**2 + s**2 - 1, name="circle")])
    end = {c: np.cos(3), s: np.sin(3)}
    found = da.optimal(circle, u**2 / 2, {c: 1, s: 0}, end, (0, 1), ways=4)
    assert found.cost == pytest.approx(9 / 2, rel=1e-9)
    assert len(found.branches) > 1
    assert [way.cost for way in found.branches] == sorted(way.cost for way in found.branches)
    assert "way" in found.branch


def test_an_end_gives_a_letter_once() -> None:
    """`x_dot` and `v_x` are one letter, and the last of the two was taken."""
    x, u = da.coordinates("x"), da.inputs("u")
    pushed = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(da.errors.StartError, match="twice"):
        da.optimal(pushed, u**2, {x: 0, x.dot: 0, "v_x": 3}, {x: 1, x.dot: 0}, (0, 1))
