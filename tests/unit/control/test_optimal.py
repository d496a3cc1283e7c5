"""Two-point problems against exact answers: linear ones, circles in the Heisenberg group, the
pendulum in the unicycle.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import mpmath
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
NO_COSTATES = {"lambda_x": 0, "lambda_v": 0}


# -- linear problems -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "length"), [((0, 0, 1, 0), 1.0), ((0.3, -1.0, 2.0, 0.5), 1.7)], ids=["rest", "general"]
)
def test_a_cart_is_moved_by_an_input_that_is_linear_in_time(ends: Any, length: float) -> None:
    """x is the cubic through both ends, u its second derivative."""
    x0, v0, x1, v1 = ends
    found = da.control.optimal(CART, u**2 / 2, {x: x0, v: v0}, {x: x1, v: v1}, (0, length))
    gap, h = x1 - x0, length
    first = 6 * gap / h**2 - (4 * v0 + 2 * v1) / h
    derivative = -12 * gap / h**3 + 6 * (v0 + v1) / h**2
    assert np.allclose(found.motion["u"], first + derivative * found.motion.t, atol=1e-9)
    assert found.cost == pytest.approx(
        (first**2 * h + first * derivative * h**2 + derivative**2 * h**3 / 3) / 2, rel=1e-10
    )
    assert found.residual < 1e-10
    assert found.conjugate_points == ()
    assert "minimum among neighbouring" in found.verdict


def test_a_system_and_a_flow_state_the_same_problem() -> None:
    q = da.coordinates("q")
    m = da.parameters("m", positive=True)
    mass = da.System([q], kinetic=m * q.dot**2 / 2, forces={q: u}, inputs=[u])
    found = da.control.optimal(
        mass, u**2 / 2, {q: 0, q.dot: 0}, {q: 1, q.dot: 0}, (0, 1), parameters={m: 2}
    )
    assert found.cost == pytest.approx(4 * 6, rel=1e-10)


def test_costates_vanish_at_free_ends() -> None:
    """Without a speed asked for at one end, u falls to zero there: 3/2 in place of 6."""
    end = da.control.optimal(CART, u**2 / 2, {x: 0, v: 0}, {x: 1}, (0, 1))
    start = da.control.optimal(CART, u**2 / 2, {x: 0}, {x: 1, v: 0}, (0, 1), free=[v])
    assert end.cost == pytest.approx(1.5, rel=1e-10)
    assert start.cost == pytest.approx(1.5, rel=1e-10)
    assert abs(end.motion["lambda_v"][-1]) < 1e-9
    assert abs(start.motion["lambda_v"][0]) < 1e-9
    assert "free end" in end.verdict


def test_a_free_duration_is_a_symbol() -> None:
    """int u^2/2 + 1 from rest to rest over 1: 6/T^3 + T is least at T^4 = 18; the Hamiltonian
    vanishes there.
    """
    cart = da.Flow({x: T * v, v: T * u, T: 0}, inputs=[u])
    found = da.control.optimal(
        cart,
        T * (u**2 / 2 + 1),
        {x: 0, v: 0, T: 2.0},
        {x: 1, v: 0},
        (0, 1),
        free=[T],
        guess={u: 3 - 6 * da.t},
    )
    assert found.motion["T"][0] == pytest.approx(18**0.25, rel=1e-9)
    assert found.cost == pytest.approx(4 / 3 * 18**0.25, rel=1e-10)
    assert abs(found.motion["H"][0]) < 1e-8


def test_an_oscillator_is_conjugate_after_half_a_period() -> None:
    """L = (u^2 - x^2)/2: extremals are sines, which meet at pi. Before it they are minima, beyond
    it not.
    """
    line = da.Flow({x: u}, inputs=[u])
    early = da.control.optimal(line, (u**2 - x**2) / 2, {x: 0}, {x: 1}, (0, 2))
    assert early.is_minimum
    assert early.cost == pytest.approx(0.5 / np.tan(2.0), rel=1e-9)
    late = da.control.optimal(
        line, (u**2 - x**2) / 2, {x: 0}, {x: 1}, (0, 4), guess={"lambda_x": -1.0}
    )
    assert late.conjugate_points[0].time == pytest.approx(np.pi, abs=1e-9)
    assert not late.is_minimum
    assert "not a minimum beyond" in late.verdict
    assert "3.14159" in str(late)


# -- conjugate points and rank ---------------------------------------------------------------------


def chain(n: int, length: float) -> Any:
    """n integrators moved by 1 from rest to rest, and the least cost e^T G^-1 e / 2 with the exact
    Gramian G.
    """
    symbols = da.coordinates(" ".join(f"x{k}" for k in range(n)))
    flow = da.Flow(dict(zip(symbols, [*symbols[1:], u], strict=True)), inputs=[u])
    end = {q: float(q is symbols[0]) for q in symbols}
    found = da.control.optimal(flow, u**2 / 2, dict.fromkeys(symbols, 0), end, (0, length))
    span = sympy.Rational(length)
    gramian = sympy.Matrix(
        n,
        n,
        lambda i, j: span ** (1 + i + j) / (sympy.factorial(i) * sympy.factorial(j) * (1 + i + j)),
    )
    return found, float(gramian.inv()[n - 1, n - 1] / 2)


@pytest.mark.parametrize(
    ("n", "length"), [(2, 1e-3), (4, 40.0), (5, 2.5), (5, 1.0), (6, 1.0), (6, 2.5)], ids=str
)
def test_chains_of_integrators_are_solved_and_have_no_conjugate_points(
    n: int, length: float
) -> None:
    """The cost is strictly convex. Neighbours leave the start like t^(2n - 1): near it they seem to
    meet.
    """
    found, least = chain(n, length)
    assert found.cost == pytest.approx(least, rel=1e-8)
    assert found.conjugate_points == () and found.is_minimum and found.rank_deficit == 0


@pytest.mark.long
def test_two_symbols_with_one_rate_are_a_loss_of_rank_and_no_conjugate_point() -> None:
    a, b = da.coordinates("a b")
    found = da.control.optimal(
        da.Flow({a: u, b: u}, inputs=[u]), u**2 / 2, {a: 0, b: 0}, {a: 1, b: 1}, (0, 1)
    )
    assert found.cost == pytest.approx(0.5, rel=1e-10)
    assert found.conjugate_points == () and found.rank_deficit == 1
    assert "do not move the end in 1 direction" in str(found)
    curved = da.control.optimal(
        da.Flow({a: u, b: u}, inputs=[u]), (u**2 - a**2) / 2, {a: 0, b: 0}, {a: 1, b: 1}, (0, 2)
    )
    (point,) = curved.conjugate_until(4.0)
    assert point.time == pytest.approx(np.pi, abs=1e-8) and point.multiplicity == 1


@pytest.mark.long
def test_quaternions_without_their_norm_meet_after_a_full_turn() -> None:
    """Rotations by 1.2 a unit of time: neighbours meet after 2 pi, in the two directions across the
    axis.
    """
    q = da.coordinates("q0 q1 q2 q3")
    w = da.inputs("w1 w2 w3")
    frame = sympy.Matrix(
        [[-q[1], -q[2], -q[3]], [q[0], -q[3], q[2]], [q[3], q[0], -q[1]], [-q[2], q[1], q[0]]]
    )
    flow = da.Flow(dict(zip(q, frame * sympy.Matrix(w) / 2, strict=True)), inputs=w)
    end = dict(zip(q, [np.cos(0.6), np.sin(0.6), 0, 0], strict=True))
    found = da.control.optimal(
        flow, sum(s**2 for s in w) / 2, dict(zip(q, [1, 0, 0, 0], strict=True)), end, (0, 1)
    )
    assert found.cost == pytest.approx(1.2**2 / 2, rel=1e-9)
    assert found.conjugate_points == () and found.rank_deficit == 1
    (point,) = found.conjugate_until(6.0)
    assert point.time == pytest.approx(2 * np.pi / 1.2, abs=1e-6) and point.multiplicity == 2


def test_great_circles_meet_at_the_antipode() -> None:
    place, spin = sympy.Matrix(da.coordinates("x y z")), sympy.Matrix(da.inputs("w1 w2 w3"))
    flow = da.Flow(dict(zip(place, spin.cross(place), strict=True)), inputs=list(spin))
    end = dict(zip(place, [np.cos(0.8), np.sin(0.8), 0], strict=True))
    found = da.control.optimal(
        flow, spin.dot(spin) / 2, dict(zip(place, [1, 0, 0], strict=True)), end, (0, 1)
    )
    assert found.cost == pytest.approx(0.32, rel=1e-9) and found.rank_deficit == 1
    (point,) = found.conjugate_until(1.5 * np.pi / 0.8)
    assert point.time == pytest.approx(np.pi / 0.8, abs=1e-7) and point.multiplicity == 1


@pytest.mark.parametrize("size", [1.0, 1e-5, 1e-9, 1e6])
def test_a_clamped_beam_buckles_where_it_should_in_any_units(size: float) -> None:
    """The fourth derivative of x is k x, x and its first derivative vanish at both ends: cosh(s)
    cos(s) = 1, s = k^(1/4) t.
    """
    k = 3.0
    flow = da.Flow({x: v, v: size * u}, inputs=[u])
    found = da.control.optimal(
        flow, (u**2 - k * x**2 / size**2) / 2, {x: 0, v: 0}, {x: 0, v: 0}, (0, 2), guess=NO_COSTATES
    )
    first, second = (
        brentq(lambda s: np.cos(s) - 1 / np.cosh(s), *ends, xtol=1e-15)
        for ends in ((4, 5), (7, 8.5))
    )
    times = [point.time for point in found.conjugate_until(6.2)]
    assert times == pytest.approx([first / k**0.25, second / k**0.25], abs=1e-7)


@pytest.mark.long
def test_conjugate_points_of_random_linear_problems_are_those_of_the_exponential() -> None:
    """dx/dlambda is a block of exp(t H): its determinant, to 40 digits on a fine grid, is an
    independent implementation without scaling.
    """
    random = np.random.default_rng(7)
    met = 0
    for _ in range(6):
        A, B = random.integers(-2, 3, (2, 2)), random.integers(1, 3, (2, 1))
        Q = random.integers(-3, 4, (2, 2))
        Q = Q + Q.T
        if np.linalg.matrix_rank(np.hstack([B, A @ B])) < 2:
            continue
        rates = sympy.Matrix(A) * sympy.Matrix([x, v]) + sympy.Matrix(B) * u
        cost = (u**2 + (sympy.Matrix([[x, v]]) * sympy.Matrix(Q) * sympy.Matrix([x, v]))[0]) / 2
        flow = da.Flow(dict(zip((x, v), rates, strict=True)), inputs=[u])
        found = da.control.optimal(
            flow, cost, {x: 0, v: 0}, {x: 0, v: 0}, (0, 0.1), guess=NO_COSTATES
        )
        H = mpmath.matrix(np.block([[A, B @ B.T], [Q, -A.T]]).tolist())
        with mpmath.workdps(40):
            step = mpmath.expm(H * mpmath.mpf(3) / 600)
            power, signs = mpmath.eye(4), []
            for _ in range(600):
                power = power * step
                signs.append(mpmath.sign(power[0, 2] * power[1, 3] - power[0, 3] * power[1, 2]))
        changes = [3 * (k + 1.5) / 600 for k in range(599) if signs[k] != signs[k + 1]]
        times = [point.time for point in found.conjugate_until(3.0)]
        assert times == pytest.approx(changes, abs=3 / 600)
        met += len(times)
    assert met >= 3


def test_unstable_problems_have_no_conjugate_points_that_rounding_made() -> None:
    """A cart with two pendulums, linearised about the top: growth by e^13, and still strictly
    convex.
    """
    symbols = da.coordinates("s s1 p p1 r r1")
    s0, s1, p0, p1, r0, r1 = symbols
    flow = da.Flow(
        {s0: s1, s1: u, p0: p1, p1: 9.81 * p0 - u, r0: r1, r1: 19.62 * r0 - 2 * u}, inputs=[u]
    )
    end = {q: float(q is s0) for q in symbols}
    found = da.control.optimal(flow, u**2 / 2, dict.fromkeys(symbols, 0), end, (0, 3))
    assert found.conjugate_points == () and found.rank_deficit == 0


@pytest.mark.long
def test_conjugate_points_of_a_pendulum_are_the_index_of_its_second_variation() -> None:
    """Morse: as many negative eigenvalues of int du^2 - lambda f'' dx^2 over loops as there are
    conjugate points before.
    """
    pendulum = da.Flow({x: v, v: -9.81 * sin(x) + u}, inputs=[u])
    up = da.control.optimal(pendulum, u**2 / 2, {x: 0, v: 0}, {x: np.pi, v: 0}, (0, 3))
    assert up.conjugate_points == ()
    random, met = np.random.default_rng(4), 0
    for _ in range(4):
        costates = dict(
            zip(("lambda_x", "lambda_v"), random.normal(0, [60, 20]).tolist(), strict=True)
        )
        motion = da.simulate(up.flow, {"x": 0, "v": 0} | costates, (0, 4), rtol=1e-11)
        end = {q: float(motion.sol(0.5)[k]) for k, q in enumerate((x, v))}
        found = da.control.optimal(pendulum, u**2 / 2, {x: 0, v: 0}, end, (0, 0.5), guess=costates)
        times = [point.time for point in found.conjugate_until(4.0)]
        for until in np.arange(0.5, 4.01, 0.7):
            if all(abs(time - until) > 0.05 for time in times):
                assert index_of_second_variation(motion, until) == sum(
                    time < until for time in times
                )
        met += len(times)
    assert met >= 2


def index_of_second_variation(motion: Any, until: float, steps: int = 400) -> int:
    h = until / steps
    middle = h * (np.arange(steps) + 0.5)
    angle, costate = motion.sol(middle)[[0, 3]]
    moved, places = np.zeros((2, steps)), []
    for k in range(steps):
        derivative = np.array([[0.0, 1.0], [-9.81 * np.cos(angle[k]), 0.0]])
        push = np.zeros((2, steps))
        push[1, k] = h
        after = np.linalg.solve(
            np.eye(2) - h / 2 * derivative, (np.eye(2) + h / 2 * derivative) @ moved + push
        )
        places.append((moved + after)[0] / 2)
        moved = after
    form = h * np.eye(steps) - h * np.transpose(places) @ np.diag(
        costate * 9.81 * np.sin(angle)
    ) @ np.array(places)
    loops = np.linalg.svd(moved)[2][2:].T
    return int(np.sum(np.linalg.eigvalsh(loops.T @ form @ loops) < 0))


# -- Heisenberg ------------------------------------------------------------------------------------


def cheapest(place: tuple[float, float, float]) -> float:
    """The cost in unit time by the isoperimetric problem: an arc over a chord c that encloses z,
    |psi| <= pi its half turn.

    z / c^2 = (2 psi - sin 2 psi) / (8 sin^2 psi), length = c psi / sin psi.
    """
    a, b, area = place
    chord = np.hypot(a, b)
    if chord == 0:
        return 2 * np.pi * abs(area)
    if area == 0:
        return chord**2 / 2
    half = brentq(
        lambda s: (2 * s - np.sin(2 * s)) / (8 * np.sin(s) ** 2) - abs(area) / chord**2,
        1e-6,
        np.pi - 1e-6,
        xtol=1e-15,
    )
    return (chord * half / np.sin(half)) ** 2 / 2


@pytest.mark.parametrize(
    "place",
    [(0.0, 0.0, 1.0), (0.0, 0.0, -0.4), (1.0, 0.5, 1.0), (1.0, 0.0, 0.05), (0.3, -0.2, -0.7)],
    ids=str,
)
def test_heisenberg_extremals_are_arcs_of_least_length(place: tuple[float, float, float]) -> None:
    found = da.control.optimal(
        HEISENBERG, EFFORT, ORIGIN, dict(zip([x, y, z], place, strict=True)), (0, 1)
    )
    assert found.cost == pytest.approx(cheapest(place), rel=1e-8)
    speed = np.hypot(found.motion["u"], found.motion["w"])
    assert np.ptp(speed) < 1e-9 * speed[0]
    radius = speed[0] / abs(found.costates["lambda_z"])
    turning = found.costates["lambda_z"]
    centre = np.array(
        [
            found.motion["x"] - found.motion["w"] / turning,
            found.motion["y"] + found.motion["u"] / turning,
        ]
    )
    assert np.ptp(centre, axis=1).max() < 1e-8 * (1 + radius)
    assert found.is_minimum


@pytest.mark.long
def test_the_end_above_the_start_is_conjugate_to_it() -> None:
    """Every circle through the start that encloses z arrives there: the first conjugate point is
    the end itself.
    """
    found = da.control.optimal(HEISENBERG, EFFORT, ORIGIN, {x: 0, y: 0, z: 1}, (0, 1))
    assert [point.multiplicity for point in found.conjugate_points] == [1]
    assert found.conjugate_points[0].time == pytest.approx(1.0, abs=1e-6)
    assert "end is conjugate" in found.verdict
    # Full turns, and the solutions of tan s = s between them.
    further = [point.time for point in found.conjugate_until(2.2)]
    tangent = brentq(lambda s: np.sin(s) - s * np.cos(s), 4.0, 4.7, xtol=1e-15)
    assert further == pytest.approx([1.0, tangent / np.pi, 2.0], abs=1e-7)


@pytest.mark.long
def test_an_extremal_of_a_turn_and_a_half_is_no_minimum() -> None:
    """Three half turns of a unit circle: the full turn is its conjugate point, and one arc to the
    same end is cheaper.
    """
    rate = 3 * np.pi
    start = {"lambda_x": rate, "lambda_y": 0.0, "lambda_z": rate}
    problem = da.control.optimal(
        HEISENBERG, EFFORT, ORIGIN, {x: 0.0, y: 2.0, z: 3 * np.pi / 2}, (0, 1), guess=start
    )
    assert problem.costates["lambda_z"] == pytest.approx(rate, rel=1e-9)
    assert problem.conjugate_points[0].time == pytest.approx(2 / 3, abs=1e-8)
    assert not problem.is_minimum
    other = da.control.optimal(
        HEISENBERG, EFFORT, ORIGIN, {x: 0.0, y: 2.0, z: 3 * np.pi / 2}, (0, 1)
    )
    assert other.is_minimum
    assert other.cost < 0.9 * problem.cost


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_other_first_inputs_find_the_same_cost(seed: int) -> None:
    found = da.control.optimal(
        HEISENBERG, EFFORT, ORIGIN, {x: 0.4, y: 0.1, z: 0.6}, (0, 1), seed=seed
    )
    assert found.cost == pytest.approx(cheapest((0.4, 0.1, 0.6)), rel=1e-8)


# -- unicycle --------------------------------------------------------------------------------------


@cache
def parked() -> Any:
    """A unicycle that moves aside."""
    return da.control.optimal(
        UNICYCLE, EFFORT, {x: 0, y: 0, theta: 0}, {x: 0, y: 1, theta: 0}, (0, 1)
    )


def test_the_heading_of_a_unicycle_moves_as_a_pendulum() -> None:
    """theta_ddot = r^2/2 sin 2(theta - a), with r and a of the constant costates of x and y."""
    motion = parked().motion
    strength, angle = (
        np.hypot(motion["lambda_x"], motion["lambda_y"]),
        np.arctan2(motion["lambda_y"], motion["lambda_x"]),
    )
    assert np.ptp(strength) < 1e-9
    pull = strength**2 / 2 * np.sin(2 * (motion["theta"] - angle))
    assert np.allclose(motion["theta_ddot"], pull, atol=1e-8 * np.max(np.abs(pull)))


def test_extremals_are_vakonomic_motions() -> None:
    """The same curve from another derivation: the form "pontryagin" of a mechanical system with the
    cost as Lagrangian.
    """
    blade = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
    )
    found = parked()
    start = {f"xi_{name}": found.costates[f"lambda_{name}"] for name in ("x", "y", "theta")}
    motion = da.simulate(
        da.derive(blade, "pontryagin"),
        start | {"x": 0, "y": 0, "theta": 0},
        (0, 1),
        rtol=1e-12,
        at=[0.4, 1.0],
    )
    for name in ("x", "y", "theta"):
        there = found.motion.sol(0.4)[[q.name for q in found.motion.state].index(name)]
        assert motion[name][0] == pytest.approx(there, abs=1e-8)
        assert motion[name][-1] == pytest.approx(found.motion[name][-1], abs=1e-8)


def test_turning_on_the_spot_is_cheapest_where_nothing_else_is_asked() -> None:
    found = da.control.optimal(
        UNICYCLE, EFFORT, {x: 0, y: 0, theta: 0}, {x: 0, y: 0, theta: 1}, (0, 1)
    )
    assert found.cost == pytest.approx(0.5, rel=1e-9)


# -- mechanical systems ----------------------------------------------------------------------------


@pytest.mark.long
def test_a_falling_cat_turns_by_moving_its_arms() -> None:
    """A body with two arms and no angular momentum: arms return, the body has turned, and the
    momentum stays zero.
    """
    theta, a, b = da.coordinates("theta a b")
    arms = [sympy.Matrix([s * cos(theta), s * sin(theta)]) + sympy.Matrix([cos(theta + e), sin(theta
    + e)])
            for s, e in ((1, a), (-1, b))]  # fmt: skip
    rates = {theta: theta.dot, a: a.dot, b: b.dot}
    speeds = [
        sum((sympy.diff(arm, q) * rate for q, rate in rates.items()), sympy.zeros(2, 1))
        for arm in arms
    ]
    kinetic = theta.dot**2 + sum((speed.dot(speed) / 2 for speed in speeds), sympy.Integer(0))
    momentum = sympy.expand(sympy.diff(kinetic, theta.dot))
    turning = sympy.solve(momentum, theta.dot)[0].subs({a.dot: u, b.dot: w})
    cat = da.Flow({theta: turning, a: u, b: w}, inputs=[u, w], name="falling cat")
    found = da.control.optimal(
        cat, EFFORT, {theta: 0, a: 1, b: 1}, {theta: 0.15, a: 1, b: 1}, (0, 1)
    )
    motion = found.motion
    along = sympy.lambdify([theta, a, b, theta.dot, a.dot, b.dot], momentum)
    values = along(*(motion[name] for name in ("theta", "a", "b", "theta_dot", "a_dot", "b_dot")))
    assert np.max(np.abs(values)) < 1e-9
    assert motion["theta"][-1] == pytest.approx(0.15, abs=1e-9)
    assert abs(motion["a"][-1] - 1) < 1e-9
    assert np.ptp(motion["a"]) > 0.1
    assert np.ptp(motion["H"]) < 1e-8 * motion["H"][0]
    assert found.cost == pytest.approx(motion["H"][0], rel=1e-9)


@pytest.mark.long
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
        {x: rolling * cos(theta), y: rolling * sin(theta), theta: turning, rolling: u, turning: w},
        inputs=[u, w],
        name="blade",
    )
    here, there = {x: 0, y: 0, theta: 0}, {x: 0, y: 1, theta: 0}
    rest, own_rest = {x.dot: 0, y.dot: 0, theta.dot: 0}, {rolling: 0, turning: 0}
    first = da.control.optimal(blade, EFFORT, here | rest, there | rest, (0, 2))
    second = da.control.optimal(flow, EFFORT, here | own_rest, there | own_rest, (0, 2))
    assert first.cost == pytest.approx(second.cost, rel=1e-9)
    assert first.motion.worst_residual["position"] < 1e-8


def test_a_pendulum_swings_up_with_less_torque_than_its_weight() -> None:
    q = da.coordinates("q")
    pendulum = da.System(
        [q], kinetic=q.dot**2 / 2, potential=-9.81 * cos(q), forces={q: u}, inputs=[u]
    )
    found = da.control.optimal(pendulum, u**2 / 2, {q: 0, q.dot: 0}, {q: np.pi, q.dot: 0}, (0, 3))
    assert found.residual < 1e-10
    assert np.max(np.abs(found.motion["u"])) < 9.81
    # What the torque does is what the pendulum gains.
    work = np.trapezoid(found.motion["u"] * found.motion["v_q"], found.motion.t)
    assert work == pytest.approx(2 * 9.81, rel=2e-2)


@pytest.mark.long
def test_more_arcs_find_the_same_extremal() -> None:
    ends = {x: 0, y: 0, theta: 0}, {x: 0.5, y: 0.5, theta: 1}
    costs = [
        da.control.optimal(UNICYCLE, EFFORT, *ends, (0, 1), segments=count).cost
        for count in (1, 3, 8)
    ]
    assert np.ptp(costs) < 1e-9


@pytest.mark.long
def test_several_ways_find_the_cheapest_of_several_minima() -> None:
    """On a circle of symbols (cos, sin) a turn by 3 either way is a minimum among neighbours; the
    short one is cheaper.
    """
    c, s = da.coordinates("c s")
    circle = da.Flow(
        {c: -s * u, s: c * u},
        inputs=[u],
        constraints=[da.holonomic(c**2 + s**2 - 1, name="circle")],
    )
    end = {c: np.cos(3), s: np.sin(3)}
    found = da.control.optimal(circle, u**2 / 2, {c: 1, s: 0}, end, (0, 1), ways=4)
    assert found.cost == pytest.approx(9 / 2, rel=1e-9)
    assert len(found.branches) > 1
    assert [way.cost for way in found.branches] == sorted(way.cost for way in found.branches)
    assert "way" in found.branch


def test_an_end_gives_a_symbol_once() -> None:
    """`x_dot` and `v_x` are one symbol, and the last of the two was taken."""
    x, u = da.coordinates("x"), da.inputs("u")
    pushed = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])
    with pytest.raises(da.errors.StartError, match="twice"):
        da.control.optimal(pushed, u**2, {x: 0, x.dot: 0, "v_x": 3}, {x: 1, x.dot: 0}, (0, 1))
