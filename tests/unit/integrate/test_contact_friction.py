"""Contacts with friction against exact answers: sticking, slipping, impacts, Painleve."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError, ModelError, StartError

G = 9.81
X, Y, TURN = da.coordinates("x y theta")
C = da.parameters("c", positive=True)


def rate(expression: Any) -> Any:
    return sum(sympy.diff(expression, q) * q.dot for q in (X, Y, TURN))


def words(motion: da.Motion) -> list[tuple[str, str]]:
    return [(change.contact, change.mode) for change in motion.modes]


def point(potential: Any, slip: Any = None, **contact: Any) -> da.System:
    floor = da.unilateral(Y >= 0, tangent=X.dot if slip is None else slip, name="floor", **contact)
    kinetic = (X.dot**2 + Y.dot**2) / 2
    return da.System([X, Y], kinetic=kinetic, potential=potential, constraints=[floor])


def box(half: float, height: float, friction: float, angle: float = 0.0) -> da.System:
    """A block that touches an incline with two corners; TURN is clockwise."""
    inertia = (half**2 + height**2) / 3
    contacts = []
    for name, side in (("left", -half), ("right", half)):
        across = X + side * cos(TURN) - height * sin(TURN)
        above = Y - side * sin(TURN) - height * cos(TURN)
        contacts.append(
            da.unilateral(above >= 0, friction=friction, tangent=rate(across), name=name)
        )
    return da.System(
        [X, Y, TURN],
        kinetic=(X.dot**2 + Y.dot**2 + inertia * TURN.dot**2) / 2,
        potential=G * (math.cos(angle) * Y - math.sin(angle) * X),
        constraints=contacts,
    )


def disk(potential: Any = G * Y, inertia: float = 0.4, **more: Any) -> da.System:
    """A round body of radius 0.1 on a floor; TURN rolls it towards +x."""
    force = more.pop("forces", {})
    floor = da.unilateral(Y >= 0.1, tangent=X.dot - 0.1 * TURN.dot, name="floor", **more)
    return da.System(
        [X, Y, TURN],
        kinetic=(X.dot**2 + Y.dot**2 + inertia * 0.01 * TURN.dot**2) / 2,
        potential=potential,
        constraints=[floor],
        forces=force,
    )


# -- slipping and sticking -------------------------------------------------------------------------

ANGLE = math.radians(20)


@pytest.mark.parametrize("friction", [0.0, 0.2, 0.3639, 0.364, 0.5, 1e6])
def test_a_block_on_an_incline_on_both_sides_of_the_threshold(friction: float) -> None:
    down = G * (math.cos(ANGLE) * Y - math.sin(ANGLE) * X)
    slope = math.sin(ANGLE) - friction * math.cos(ANGLE)
    for system, start in (
        (point(down, friction=friction), {}),
        (box(0.1, 0.1, friction, ANGLE), {Y: 0.1}),
    ):
        motion = da.simulate(system, start, (0, 4))
        assert motion.outcome is da.Outcome.FINISHED
        assert motion["x"][-1] == pytest.approx(max(0.0, 8 * G * slope), abs=1e-12)
        phase = "closed" if friction == 0 else "slips" if slope > 0 else "sticks"
        assert {mode for _, mode in words(motion)} == {phase}


def test_two_corners_share_the_friction_of_a_block_that_sticks() -> None:
    """They hold as long as the friction is below mu (N1 + N2), however the load is shared."""
    pulled = box(0.1, 0.4, 0.5)
    pulled = pulled.replacing(forces={X: da.t, TURN: -0.4 * da.t})  # at the floor: no tipping
    motion = da.simulate(pulled, {Y: 0.4}, (0, 6))
    assert words(motion) == [
        ("left", "sticks"),
        ("right", "sticks"),
        ("left", "slips"),
        ("right", "slips"),
    ]
    begin = 0.5 * G
    assert motion.modes[-1].time == pytest.approx(begin, abs=1e-10)
    assert motion["x"][-1] == pytest.approx((6 - begin) ** 3 / 6, abs=1e-9)


def test_a_ball_with_back_spin_slides_and_then_rolls() -> None:
    motion = da.simulate(
        disk(friction=C), {X.dot: 2, TURN.dot: -10, Y: 0.1}, (0, 2), parameters={C: 0.3}
    )
    end = (5 * 2 - 2 * 0.1 * 10) / 7
    when = (2 - end) / (0.3 * G)
    assert words(motion) == [("floor", "slips"), ("floor", "sticks")]
    assert motion.modes[1].time == pytest.approx(when, abs=1e-12)
    assert motion["x_dot"][-1] == pytest.approx(end, abs=1e-12)
    assert motion["x"][-1] == pytest.approx(
        2 * when - 0.15 * G * when**2 + end * (2 - when), abs=1e-12
    )


def test_an_oscillator_comes_to_rest_where_friction_holds_the_spring() -> None:
    motion = da.simulate(point(G * Y + 5 * X**2, friction=0.1), {X: 1}, (0, 10))
    loss, x, half = 2 * 0.1 * G / 10, 1.0, 0
    while abs(x) > loss / 2:
        x, half = -math.copysign(abs(x) - loss, x), half + 1
    assert motion["x"][-1] == pytest.approx(x, abs=1e-11)
    assert motion.modes[-1].time == pytest.approx(half * math.pi / math.sqrt(10), abs=1e-10)
    assert motion.modes[-1][1:] == ("floor", "sticks", "its slip ended")


def test_the_period_of_a_stick_slip_oscillator() -> None:
    speed, k, static, kinetic = 0.2, 20.0, 0.3, 0.2
    system = point(G * Y + k / 2 * X**2, X.dot - speed, friction=kinetic, static_friction=static)
    motion = da.simulate(system, {X.dot: speed}, (0, 12))
    w, reach = math.sqrt(k), (static - kinetic) * G / k
    period = 2 * (math.pi - math.atan(reach * w / speed)) / w + 2 * reach / speed
    starts = [change.time for change in motion.modes if change.mode == "slips"]
    assert starts[0] == pytest.approx(static * G / k / speed, abs=1e-11)
    assert len(starts) > 6 and np.allclose(np.diff(starts), period, rtol=0, atol=1e-10)
    assert {change.reason for change in motion.modes if change.mode == "slips"} == {
        "its friction reached the limit"
    }


def test_a_disk_rolls_until_its_friction_limit_is_exceeded() -> None:
    """A torque that grows: rolling needs the friction 2 torque / (3 r), then it spins."""
    motion = da.simulate(
        disk(inertia=0.5, friction=0.3, forces={TURN: 0.1 * da.t}), {Y: 0.1}, (0, 8)
    )
    begin = 1.5 * 0.3 * G
    assert motion.modes[-1].time == pytest.approx(begin, abs=1e-11)
    spin = begin**2 / 3 / 0.1 + ((64 - begin**2) / 2 * 0.1 - 0.1 * 0.3 * G * (8 - begin)) / 0.005
    assert motion["theta_dot"][-1] == pytest.approx(spin, rel=1e-11)
    assert motion["x_dot"][-1] == pytest.approx(begin**2 / 3 + 0.3 * G * (8 - begin), rel=1e-11)


def test_a_disk_with_exact_friction_is_the_limit_of_smooth_friction() -> None:
    begin = 1.5 * 0.3 * G

    def smooth(t: float, state: np.ndarray, eps: float) -> list[float]:
        rub = 0.3 * G * math.tanh((state[0] - 0.1 * state[1]) / eps)
        return [-rub, (0.1 * t + 0.1 * rub) / 0.005]

    motion = da.simulate(
        disk(inertia=0.5, friction=0.3, forces={TURN: 0.1 * da.t}), {Y: 0.1}, (0, 6)
    )
    assert motion.t[-1] > begin
    errors = []
    for eps in (1e-2, 1e-3):
        run = solve_ivp(smooth, (0, 6), [0, 0], "Radau", args=(eps,), rtol=1e-9, atol=1e-11)
        errors.append(abs(run.y[0, -1] - motion["x_dot"][-1]))
    assert errors[1] < errors[0] / 5 and errors[1] < 1e-2


def test_friction_may_depend_on_the_slip() -> None:
    """mu = a exp(-x_dot): then exp(x_dot) falls at the constant rate a g."""
    motion = da.simulate(
        point(G * Y, friction=0.1 * sympy.exp(-X.dot), static_friction=0.5), {X.dot: 1}, (0, 4)
    )
    inside = motion.t < motion.modes[-1].time
    speeds = motion["x_dot"][inside]
    assert np.allclose(np.exp(speeds), math.e - 0.1 * G * motion.t[inside], atol=1e-9)
    assert motion.modes[-1].time == pytest.approx((math.e - 1) / (0.1 * G), abs=1e-10)


# -- in space --------------------------------------------------------------------------------------

Z, A, B = da.coordinates("z a b")


def test_a_billiard_ball_slides_on_a_parabola_and_rolls() -> None:
    r, mu = 0.1, 0.2
    slip = (X.dot - r * B.dot, Y.dot + r * A.dot)
    table = da.unilateral(r <= Z, friction=mu, tangent=slip, name="table")
    ball = da.System(
        [X, Y, Z, A, B],
        kinetic=(X.dot**2 + Y.dot**2 + Z.dot**2 + 0.4 * r**2 * (A.dot**2 + B.dot**2)) / 2,
        potential=G * Z,
        constraints=[table],
    )
    start = {Z: r, X.dot: 1.0, Y.dot: 0.3, A.dot: 8.0, B.dot: -12.0}
    motion = da.simulate(ball, start, (0, 2))
    velocity, slipping = np.array([1.0, 0.3]), np.array([2.2, 1.1])
    way = slipping / np.linalg.norm(slipping)
    when = 2 * np.linalg.norm(slipping) / (7 * mu * G)
    end = velocity - mu * G * when * way
    place = velocity * when - mu * G * way * when**2 / 2 + end * (2 - when)
    assert words(motion) == [("table", "slips"), ("table", "sticks")]
    assert motion.modes[1].time == pytest.approx(when, abs=1e-12)
    assert motion.y[:2, -1] == pytest.approx(place, abs=1e-11)
    assert motion.y[5:7, -1] == pytest.approx(end, abs=1e-12)


@pytest.mark.parametrize(("mu", "grips"), [(0.01, False), (0.9, True)])
def test_a_ball_that_falls_with_spin_bounces_aside(mu: float, grips: bool) -> None:
    """One impact in space: friction stops the slip, or is mu times the normal impulse."""
    r, e = 0.1, 0.5
    slip = (X.dot - r * B.dot, Y.dot + r * A.dot)
    table = da.unilateral(Z - r >= 0, restitution=e, friction=mu, tangent=slip, name="table")
    ball = da.System(
        [X, Y, Z, A, B],
        kinetic=(X.dot**2 + Y.dot**2 + Z.dot**2 + 0.4 * r**2 * (A.dot**2 + B.dot**2)) / 2,
        potential=G * Z,
        constraints=[table],
    )
    start = {Z: r + 1, X.dot: 0.3, Y.dot: 0.0, A.dot: 4.0, B.dot: 0.0}
    motion = da.simulate(ball, start, (0, 0.6))
    before = np.array([0.3, 0.4])
    impulse = -before / 3.5 if grips else -mu * (1 + e) * math.sqrt(2 * G) * before / 0.5
    assert motion.impacts[0][0] == pytest.approx(math.sqrt(2 / G), abs=1e-12)
    assert motion.y[5:7, -1] == pytest.approx(np.array([0.3, 0]) + impulse, abs=1e-12)
    assert motion.y[8:, -1] == pytest.approx(
        [4.0 + impulse[1] / (0.4 * r), -impulse[0] / (0.4 * r)], abs=1e-10
    )


@pytest.mark.parametrize("friction", [0.32, 0.4, 0.8])
def test_a_point_that_slides_across_an_incline_turns_and_stops(friction: float) -> None:
    """K |v| + a v_x has a constant rate, which tells when it stops: in a direction that turns."""
    angle = 0.3
    plane = da.unilateral(Z >= 0, friction=friction, tangent=(X.dot, Y.dot), name="plane")
    system = da.System(
        [X, Y, Z],
        kinetic=(X.dot**2 + Y.dot**2 + Z.dot**2) / 2,
        potential=G * (math.cos(angle) * Z - math.sin(angle) * X),
        constraints=[plane],
    )
    motion = da.simulate(system, {Y.dot: 1.0}, (0, 12))
    pull, drag = G * math.sin(angle), friction * G * math.cos(angle)
    assert motion.modes[-1].mode == "sticks"
    assert motion.modes[-1].time == pytest.approx(drag / (drag**2 - pull**2), rel=1e-10)
    assert np.abs(motion.y[3:, -1]).max() < 1e-15


def test_a_point_that_is_pushed_aside_starts_to_slip_along_the_push() -> None:
    plane = da.unilateral(Z >= 0, friction=0.5, tangent=(X.dot, Y.dot), name="plane")
    push = {X: 0.6 * da.t, Y: 0.8 * da.t}
    system = da.System(
        [X, Y, Z],
        kinetic=(X.dot**2 + Y.dot**2 + Z.dot**2) / 2,
        potential=G * Z,
        forces=push,
        constraints=[plane],
    )
    motion = da.simulate(system, {}, (0, 8))
    begin = 0.5 * G
    way = (8 - begin) ** 3 / 6
    assert motion.modes[-1].time == pytest.approx(begin, abs=1e-10)
    assert motion.y[:2, -1] == pytest.approx([0.6 * way, 0.8 * way], abs=1e-8)


def top(
    friction: float,
    inertia: float,
    mass: float,
    radius: float,
    offset: float,
    across: float | None = None,
) -> da.System:
    """A tippe top with the moments `inertia` about its axis and `across`, the same by default."""
    side = inertia if across is None else across
    phi, psi = da.coordinates("phi psi")
    axis = sympy.Matrix([sin(TURN) * cos(phi), sin(TURN) * sin(phi), cos(TURN)])
    spin = (
        phi.dot * sympy.Matrix([0, 0, 1])
        + TURN.dot * sympy.Matrix([-sin(phi), cos(phi), 0])
        + psi.dot * axis
    )
    arm = offset * axis - radius * sympy.Matrix([0, 0, 1])
    slip = sympy.Matrix([X.dot, Y.dot, Z.dot]) + spin.cross(arm)
    roll = psi.dot + phi.dot * cos(TURN)
    return da.System(
        [X, Y, Z, phi, TURN, psi],
        kinetic=mass / 2 * (X.dot**2 + Y.dot**2 + Z.dot**2)
        + side / 2 * (TURN.dot**2 + phi.dot**2 * sin(TURN) ** 2)
        + inertia / 2 * roll**2,
        potential=mass * G * Z,
        constraints=[
            da.unilateral(
                radius - offset * cos(TURN) <= Z,
                friction=friction,
                tangent=(sympy.expand(slip[0]), sympy.expand(slip[1])),
                name="table",
            )
        ],
        outputs={
            "jellett": inertia * roll * (offset - radius * cos(TURN))
            - side * radius * phi.dot * sin(TURN) ** 2
        },
    )


def test_a_tippe_top_keeps_jelletts_invariant_and_grips() -> None:
    """Its slip ends after 0.13 s, and it rolls: smoothed friction, which creeps, does not converge.

    The slip is compared with Newton's and Euler's equations by SciPy.
    """
    m, r, mu = 0.05, 0.025, 0.1
    off, inertia = 0.2 * r, 0.4 * m * r * r
    start = {"theta": 0.1, "z": r - off * math.cos(0.1), "psi_dot": 150.0}
    motion = da.simulate(top(mu, inertia, m, r, off), start, (0, 1))
    jellett = motion["jellett"]
    assert np.ptp(jellett) < 1e-10 * abs(jellett[0])
    assert words(motion)[-1] == ("table", "sticks") and motion.modes[-1].time < 0.13
    assert np.diff(motion.energy).max() < 1e-12 * motion.energy[0]
    rolls = motion.t > motion.modes[-1].time
    assert np.ptp(motion.energy[rolls]) < 1e-9 * motion.energy[0]

    up = np.array([0, 0, 1.0])

    def rates(_: float, state: np.ndarray) -> np.ndarray:
        n, w, v = state[:3], state[3:6], np.array([state[6], state[7], 0.0])
        arm, turning = off * n - r * up, np.cross(w, n)
        v[2] = -off * turning[2]
        slip = (v + np.cross(w, arm)) * (1, 1, 0)
        pull = up - mu * slip / np.linalg.norm(slip)
        lever = np.cross(np.cross(arm, pull) / inertia, n)[2]
        normal = (G - off * np.cross(w, turning)[2]) / (1 / m + off * lever)
        return np.concatenate(
            [turning, normal * np.cross(arm, pull) / inertia, normal * pull[:2] / m]
        )

    n = np.array([math.sin(0.1), 0, math.cos(0.1)])
    run = solve_ivp(rates, (0, 0.1), [*n, *(150 * n), 0, 0], "DOP853", rtol=1e-12, atol=1e-13)
    state = motion.sol(0.1)
    assert math.cos(state[4]) == pytest.approx(run.y[2, -1], abs=1e-9)
    assert state[6:8] == pytest.approx(run.y[6:8, -1], abs=1e-9)


# -- impacts ---------------------------------------------------------------------------------------


@pytest.mark.long
def test_a_tippe_top_that_starts_tilted_inverts() -> None:
    """Most starts grip before the top is level; this one was found by a scan of starts."""
    m, r = 0.02, 0.02
    off, inertia, side = 0.3 * r, 0.4 * m * r * r, 0.45 * m * r * r
    start = {"theta": 0.5, "z": r - off * math.cos(0.5), "psi_dot": 220.0}
    motion = da.simulate(top(0.05, inertia, m, r, off, side), start, (0, 12))
    tilt, jellett = np.degrees(motion["theta"]), motion["jellett"]
    assert tilt[0] < 29 and tilt.max() > 172
    assert np.ptp(jellett) < 1e-11 * abs(jellett[0])
    assert np.diff(motion.energy).max() < 1e-11 * motion.energy[0]
    assert words(motion)[0] == ("table", "slips") and words(motion)[-1] == ("table", "sticks")
    assert motion.modes[-1].time > 11  # inverted, it rolls


def test_a_bouncing_ball_comes_to_rest_at_its_zeno_time() -> None:
    for e in (0.5, 0.8):
        motion = da.simulate(point(G * Y, friction=0.3, restitution=e), {Y: 1.0}, (0, 6))
        first = math.sqrt(2 / G)
        times = first + 2 * first * e * (1 - e ** np.arange(12)) / (1 - e)
        assert [t for t, _ in motion.impacts[:12]] == pytest.approx(times, abs=1e-12)
        zeno = first * (1 + e) / (1 - e)
        assert motion.modes[-1].time == pytest.approx(zeno, abs=1e-9)
        assert motion.modes[-1][1:] == ("floor", "sticks", "its impacts accumulated")


def test_a_rocking_block_loses_what_housner_says() -> None:
    half, height = 0.1, 0.4
    size, alpha = math.hypot(half, height), math.atan2(half, height)
    tilt, k = 0.5 * alpha, 3 * G / (4 * size)
    start = {
        X: -half * math.cos(tilt) + height * math.sin(tilt),
        Y: half * math.sin(tilt) + height * math.cos(tilt),
        TURN: tilt,
    }
    motion = da.simulate(box(half, height, 1.0), start, (0, 1), events=[da.event(TURN.dot)])

    def hit(_: float, state: np.ndarray) -> float:
        return float(state[0])

    hit.terminal, hit.direction = True, -1  # type: ignore[attr-defined]
    run = solve_ivp(lambda _, s: [s[1], -k * math.sin(alpha - s[0])], (0, 9), [tilt, 0], "DOP853",
                    events=hit, rtol=1e-13, atol=1e-14)  # fmt: skip
    after = abs(run.y[1, -1]) * (1 - 1.5 * math.sin(alpha) ** 2)
    peak = alpha - math.acos(math.cos(alpha) + after**2 / (2 * k))
    assert motion.impacts[0] == (pytest.approx(run.t[-1], abs=1e-10), "left")
    turns = [s[2] for t, s in zip(motion.t_events[0], motion.y_events[0], strict=True) if t > 0.4]
    assert turns[0] == pytest.approx(-peak, abs=1e-10)
    assert words(motion)[:3] == [("right", "sticks"), ("right", "open"), ("left", "sticks")]


@pytest.mark.parametrize("tangential", [0.0, 0.6])
@pytest.mark.parametrize(("friction", "grips"), [(0.1, False), (0.9, True)])
def test_a_spinning_ball_that_hits_a_cushion(
    friction: float, grips: bool, tangential: float
) -> None:
    """One impact: v_n+ = -e v_n-, and the slip is reversed by e_t, or friction is too weak."""
    wall = da.unilateral(
        X <= 1, restitution=0.7, friction=friction, tangent=Y.dot + 0.1 * TURN.dot, name="cushion",
        tangential_restitution=tangential,
    )  # fmt: skip
    ball = da.System(
        [X, Y, TURN],
        kinetic=(X.dot**2 + Y.dot**2 + 0.004 * TURN.dot**2) / 2,
        constraints=[wall],
    )
    motion = da.simulate(ball, {X.dot: 2.0, Y.dot: 0.5, TURN.dot: 10.0}, (0, 1))
    slip, mobility = 0.5 + 1.0, 1 + 0.01 / 0.004
    impulse = -(1 + tangential) * slip / mobility if grips else -friction * 1.7 * 2.0
    expected = [-1.4, 0.5 + impulse, 10.0 + 0.1 / 0.004 * impulse]
    assert motion.y[3:, -1] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("law", "expected"),
    [
        ("newton", [0, 0, 0, 0, 1]),
        ("moreau", [-0.6, 0.4, 0.4, 0.4, 0.4]),
        ("poisson", [-0.6, 0.4, 0.4, 0.4, 0.4]),
    ],
)
def test_newtons_cradle_under_each_law(law: str, expected: list[float]) -> None:
    """Four balls that touch: successive pairs, or all contacts at once."""
    q = da.coordinates("q1 q2 q3 q4 q5")
    contacts = [
        da.unilateral(a <= b, restitution=1, name=f"c{k}", law=law)
        for k, (a, b) in enumerate(pairwise(q))
    ]
    cradle = da.System(q, kinetic=sum(each.dot**2 for each in q) / 2, constraints=contacts)
    motion = da.simulate(cradle, {q[0]: -0.1, q[0].dot: 1.0}, (0, 0.5))
    assert motion.y[5:, -1] == pytest.approx(expected, abs=1e-12)
    assert np.ptp(motion.energy) < 1e-12


def test_laws_differ_where_restitutions_do() -> None:
    """Poisson's expansion carries what the compression has stored, Moreau's law does not."""
    found = {}
    a, b, c = da.coordinates("a b c")
    for law in ("moreau", "poisson"):
        cradle = da.System(
            [a, b, c],
            kinetic=(a.dot**2 + b.dot**2 + c.dot**2) / 2,
            constraints=[
                da.unilateral(a <= b, restitution=0, name="ab", law=law),
                da.unilateral(b <= c, restitution=1, name="bc", law=law),
            ],
        )
        motion = da.simulate(cradle, {a: -1.0, a.dot: 1.0}, (0, 1.5))
        found[law] = motion.y[3:, -1]
    assert found["moreau"] == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=1e-12)
    assert found["poisson"] == pytest.approx([1 / 6, 1 / 6, 2 / 3], abs=1e-12)


def test_contacts_that_hit_together_need_one_law() -> None:
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[
            da.unilateral(X <= 1, name="a", law="moreau"),
            da.unilateral(Y <= 1, name="b", law="poisson"),
        ],
    )
    motion = da.simulate(system, {X.dot: 1.0, Y.dot: 1.0}, (0, 2))
    assert not motion.success and "one impact law" in motion.message


# -- Painleve --------------------------------------------------------------------------------------


def rod(friction: float) -> da.System:
    """A rod of length and mass one whose lower tip slides ahead of its centre."""
    tip = da.unilateral(
        sin(TURN) / 2 <= Y, friction=friction, tangent=rate(X + cos(TURN) / 2), name="tip"
    )
    kinetic = (X.dot**2 + Y.dot**2 + TURN.dot**2 / 12) / 2
    return da.System([X, Y, TURN], kinetic=kinetic, potential=G * Y, constraints=[tip])


TILT = math.atan(2.0)


def slide_rod(friction: float, spin: float, span: float = 0.01) -> da.Motion:
    start = {
        TURN: TILT,
        TURN.dot: spin,
        X.dot: 1 + math.sin(TILT) / 2 * spin,
        Y: math.sin(TILT) / 2,
        Y.dot: math.cos(TILT) / 2 * spin,
    }
    return da.simulate(rod(friction), start, (0, span))


def test_painleves_rod_slides() -> None:
    motion = slide_rod(0.5, 0.0)
    assert words(motion) == [("tip", "slips")]


def test_painleves_rod_lifts_off() -> None:
    """It turns so fast that its tip would leave the floor upwards: spin^2 l sin > g."""
    motion = slide_rod(0.5, 5.0)
    assert words(motion) == [] and motion["y"][-1] > math.sin(TILT) / 2


def test_painleves_rod_jams_where_there_is_no_solution() -> None:
    """Inconsistent: friction presses it down. A tangential impact stops its tip at once."""
    motion = slide_rod(2.0, 0.0)
    [change] = motion.modes
    assert (change.mode, change.time) == ("sticks", 0.0) and "no solution" in change.reason
    assert motion.impacts == ((0.0, "tip"),)
    rx, rz = math.cos(TILT) / 2, -math.sin(TILT) / 2
    mobility = np.array([[1 + 12 * rz * rz, -12 * rx * rz], [-12 * rx * rz, 1 + 12 * rx * rx]])
    along, up = np.linalg.solve(mobility, [-1.0, 0.0])
    assert motion["theta_dot"][0] == pytest.approx(-12 * (rx * up - rz * along), abs=1e-12)


def test_painleves_rod_says_where_there_are_several_solutions() -> None:
    """Indeterminate: it may lift off or slide; it lifts off, and the modes tell."""
    motion = slide_rod(2.0, 5.0)
    [change] = motion.modes
    assert change.mode == "open" and "2 solutions" in change.reason
    assert motion["y"][-1] > math.sin(TILT) / 2


# -- what holds, and what is refused ---------------------------------------------------------------


def test_the_energy_that_is_lost_is_the_work_of_friction() -> None:
    times = np.linspace(0, 0.5, 4001)
    start = {X.dot: 2, TURN.dot: -10, Y: 0.1}
    motion = da.simulate(disk(friction=0.3), start, (0, 0.5), at=times)
    power = (motion.reactions["floor"].force * motion.y[3:]).sum(axis=0)
    work = np.concatenate([[0], np.cumsum((power[1:] + power[:-1]) / 2 * np.diff(times))])
    assert np.abs(motion.energy - motion.energy[0] - work).max() < 1e-3
    slides = motion.t < motion.modes[-1].time - 1e-3
    assert np.abs(motion.energy - motion.energy[0] - work)[slides].max() < 1e-9


def test_reactions_have_normal_force_and_friction() -> None:
    motion = da.simulate(disk(friction=0.3), {X.dot: 2, Y: 0.1}, (0, 2))
    force = motion.reactions["floor"].force
    assert force[:, 0] == pytest.approx([-0.3 * G, G, 0.03 * G], abs=1e-12)
    assert force[:, -1] == pytest.approx([0, G, 0], abs=1e-12)
    assert motion.reactions["floor"].multiplier[0] == pytest.approx(-G)


def test_contacts_along_a_motion(tmp_path: Any) -> None:
    """Gap, normal force, slip and friction, also of a motion that was read from a file."""
    motion = da.simulate(
        disk(friction=0.3, restitution=0.5), {X.dot: 2, Y: 0.6}, (0, 3), at=np.linspace(0, 3, 61)
    )
    motion.save(tmp_path / "ball.nc")
    for each in (motion, da.load(tmp_path / "ball.nc")):
        floor = each.contacts["floor"]
        assert floor.gap == pytest.approx(motion["y"] - 0.1, abs=1e-15)
        assert floor.slip[0] == pytest.approx(motion["x_dot"] - 0.1 * motion["theta_dot"])
        assert floor.normal[0] == 0 and floor.normal[-1] == pytest.approx(G)
        assert floor.friction[0] == pytest.approx(motion.reactions["floor"].force[0], abs=1e-12)
        slides = (floor.normal > 0) & (np.abs(floor.slip[0]) > 1e-9)
        assert floor.friction[0][slides] == pytest.approx(-0.3 * floor.normal[slides])
    plane = da.unilateral(Z >= 0, friction=0.5, tangent=(X.dot, Y.dot), name="plane")
    kinetic = (X.dot**2 + Y.dot**2 + Z.dot**2) / 2
    point = da.System([X, Y, Z], kinetic=kinetic, potential=G * Z, constraints=[plane])
    found = da.simulate(point, {X.dot: 3.0, Y.dot: 4.0}, (0, 0.5)).contacts["plane"]
    assert found.friction[:, 0] == pytest.approx([-0.3 * G, -0.4 * G], abs=1e-12)


def test_a_mass_ratio_of_1e8() -> None:
    """A small block on a heavy one that slides: both decelerations are exact."""
    u = da.coordinates("u")
    heavy = da.System(
        [X, Y, u],
        kinetic=(1e-4 * (X.dot**2 + Y.dot**2) + 1e4 * u.dot**2) / 2,
        potential=1e-4 * G * Y,
        constraints=[da.unilateral(Y >= 0, friction=0.2, tangent=X.dot - u.dot, name="top")],
    )
    motion = da.simulate(heavy, {X.dot: 1.0}, (0, 2))
    when = 1 / (0.2 * G * (1 + 1e-8))
    assert motion.modes[-1].time == pytest.approx(when, abs=1e-12)
    assert motion["u_dot"][-1] == pytest.approx(1e-4 / (1e4 + 1e-4), rel=1e-6)


def test_a_motion_with_friction_is_saved_with_its_modes(tmp_path: Any) -> None:
    motion = da.simulate(disk(friction=0.3), {X.dot: 2, Y: 0.1}, (0, 2))
    motion.save(tmp_path / "ball.nc")
    again = da.load(tmp_path / "ball.nc")
    assert again.modes == motion.modes
    assert [s.mode for s in again.segments] == [("floor slips+1",), ("floor sticks",)]
    assert again.sol(0.1) == pytest.approx(motion.sol(0.1), abs=1e-12)


def test_wrong_statements_are_errors() -> None:
    with pytest.raises(ModelError, match="no tangent"):
        da.System([X, Y], kinetic=X.dot**2, constraints=[da.unilateral(Y, friction=0.3)])
    with pytest.raises(ModelError, match="affine"):
        da.System(
            [X, Y], kinetic=X.dot**2, constraints=[da.unilateral(Y, friction=1, tangent=X.dot**2)]
        )
    with pytest.raises(ModelError, match="impact law"):
        da.System([X, Y], kinetic=X.dot**2, constraints=[da.unilateral(Y, law="hertz")])
    with pytest.raises(ModelError, match="nor larger than its static friction"):
        da.simulate(point(G * Y, friction=0.5, static_friction=0.3), {}, (0, 1))
    with pytest.raises(FormError, match="no friction"):
        da.simulate(point(G * Y, friction=0.5), {}, (0, 1), form="hamilton")
    with pytest.raises(StartError, match="breaks the one-sided"):
        da.simulate(point(G * Y, friction=0.5), {Y: -0.1}, (0, 1))


def test_contacts_that_depend_on_each_other_are_named() -> None:
    """Three supports of a block in a plane hold it at rest; slipping they are not determined."""
    contacts = []
    for name, side in (("left", -0.1), ("middle", 0.0), ("right", 0.1)):
        across, above = (
            X + side * cos(TURN) - 0.1 * sin(TURN),
            Y - side * sin(TURN) - 0.1 * cos(TURN),
        )
        contacts.append(da.unilateral(above >= 0, friction=0.3, tangent=rate(across), name=name))
    block = da.System(
        [X, Y, TURN],
        kinetic=(X.dot**2 + Y.dot**2 + 0.01 * TURN.dot**2) / 2,
        potential=G * Y,
        constraints=contacts,
    )
    rests = da.simulate(block, {Y: 0.1}, (0, 1))
    assert rests.success and np.abs(rests.y[3:]).max() < 1e-14
    slides = da.simulate(block, {Y: 0.1, X.dot: 1.0}, (0, 1))
    assert slides.outcome is da.Outcome.SINGULAR
    assert "3 directions in contact, of which 2 are independent" in slides.message


def test_a_motion_that_grazes_a_contact_passes_it() -> None:
    height = da.coordinates("h")
    floor = da.unilateral(height >= 0, restitution=0.5, name="floor")
    lifted = da.System([height], kinetic=height.dot**2 / 2, forces={height: 2}, constraints=[floor])
    motion = da.simulate(lifted, {height: 1.0, height.dot: -2.0}, (0, 2))
    assert motion.success and motion["h"][-1] == pytest.approx(1.0, abs=1e-12)
