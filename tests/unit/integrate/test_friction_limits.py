"""Velocity constraints that hold by friction, against exact answers and independent models."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from sympy import Piecewise, cos, sin

import dalembert as da
from dalembert.errors import FormError, ModelError

G = 9.81
RADIUS = 0.1
X, Y, TURN = da.coordinates("x y theta")
PHI = da.coordinates("phi")


def wheel(friction: float, angle: float = 0.0, **more: Any) -> da.System:
    """A disk of unit mass that an ideal constraint keeps on an incline; rolling has a limit."""
    return da.System(
        [X, Y, TURN],
        kinetic=(X.dot**2 + Y.dot**2 + 0.5 * RADIUS**2 * TURN.dot**2) / 2,
        potential=G * (math.cos(angle) * Y - math.sin(angle) * X),
        constraints=[
            da.holonomic(Y - RADIUS, name="floor"),
            da.velocity(
                X.dot - RADIUS * TURN.dot, friction=friction, normal="floor", name="rolling"
            ),
        ],
        **more,
    )


def words(motion: da.Motion) -> list[tuple[str, str, str]]:
    return [(change.contact, change.mode, change.reason) for change in motion.modes]


# -- dry friction at a rate ------------------------------------------------------------------------


def test_dry_friction_stops_a_wheel_and_holds_it() -> None:
    hinge = da.friction_loss(PHI.dot, 0.5, name="hinge")
    system = da.System([PHI], kinetic=PHI.dot**2 / 2, constraints=[hinge], forces={PHI: 0.4})
    motion = da.simulate(system, {PHI.dot: 1}, (0, 20))
    assert motion.modes[-1].time == pytest.approx(10, abs=1e-12)
    assert motion["phi"][-1] == pytest.approx(5, abs=1e-11) and motion["phi_dot"][-1] == 0
    assert motion.reactions["hinge"].force[0, [0, -1]] == pytest.approx([-0.5, -0.4], abs=1e-12)
    assert motion.contacts["hinge"].normal == pytest.approx(0.5)


def test_a_spring_with_dry_friction_loses_the_same_in_each_half_swing() -> None:
    slide = da.friction_loss(X.dot, 0.3, name="slide")
    system = da.System(
        [X], kinetic=X.dot**2 / 2, potential=2 * X**2, constraints=[slide], name="spring"
    )
    motion = da.simulate(system, {X: 1.0}, (0, 12))
    # Turning points 1, -(1 - 2 d), 1 - 4 d, ... with d = loss/k, until |x| <= d.
    d, turns = 0.3 / 4, [1.0]
    while abs(turns[-1]) > d:
        turns.append(math.copysign(2 * d, turns[-1]) - turns[-1])
    times = [change.time for change in motion.modes[1:]]
    assert times == pytest.approx([k * math.pi / 2 for k in range(1, len(turns))], abs=1e-9)
    assert motion["x"][-1] == pytest.approx(turns[-1], abs=1e-9)
    assert words(motion)[-1] == ("slide", "sticks", "its slip ended")


def test_static_friction_may_be_larger_than_kinetic() -> None:
    slide = da.friction_loss(X.dot, 1.0, name="slide", static=1.5)
    system = da.System([X], kinetic=X.dot**2 / 2, forces={X: 0.5 * da.t}, constraints=[slide])
    motion = da.simulate(system, {}, (0, 4))
    assert words(motion)[1] == ("slide", "slips", "its friction reached the limit")
    assert motion.modes[1].time == pytest.approx(3, abs=1e-10)
    # v' = t/2 - 1 from t = 3
    assert motion["x_dot"][-1] == pytest.approx((16 - 9) / 4 - 1, abs=1e-10)


def test_dry_friction_of_joints() -> None:
    b = da.bodies
    arm = b.Body("arm", mass=1, com=(0, 0, -1), inertia=(0, 0, 0))
    hinge = b.revolute("hinge", b.ground(), arm, axis="y", friction_loss=2.0)
    system = b.Mechanism([hinge], gravity=(0, 0, -G)).system()
    held = da.simulate(system, {"hinge": 0.2}, (0, 1))
    assert words(held) == [("hinge_friction", "sticks", "at the start")]
    falls = da.simulate(system, {"hinge": 1.0}, (0, 2))

    def rates(t: float, y: Any) -> list[float]:
        return [y[1], -G * math.sin(y[0]) + 2.0]

    def stop(t: float, y: Any) -> float:
        return float(y[1])

    stop.direction = 1  # type: ignore[attr-defined]
    found = solve_ivp(rates, (0, 2), [1.0, 0.0], events=stop, rtol=1e-12, atol=1e-13)
    assert falls.modes[1].time == pytest.approx(float(found.t_events[0][0]), abs=1e-9)


# -- rolling with a limit --------------------------------------------------------------------------


@pytest.mark.parametrize("friction", [0.0, 0.05, 0.1213, 0.1214, 0.5, 1e6])
def test_a_wheel_on_an_incline_on_both_sides_of_the_threshold(friction: float) -> None:
    angle = math.radians(20)  # it rolls where friction >= tan(angle)/3 = 0.12132
    motion = da.simulate(wheel(friction, angle), {Y: RADIUS}, (0, 2))
    rolls = friction >= math.tan(angle) / 3
    slides = math.sin(angle) - friction * math.cos(angle)
    expected = G * (math.sin(angle) / 1.5 if rolls else slides) * 2
    assert motion["x"][-1] == pytest.approx(expected, rel=1e-12)
    assert words(motion) == [("rolling", "sticks" if rolls else "slips", "at the start")]
    floor, rolling = motion.reactions["floor"].force, motion.reactions["rolling"].force
    assert floor[1] == pytest.approx(G * math.cos(angle), rel=1e-12)
    rubs = min(math.sin(angle) / 3, friction * math.cos(angle)) * G
    assert rolling[:, -1] == pytest.approx([-rubs, 0, rubs * RADIUS], rel=1e-11, abs=1e-12)


def test_a_driven_wheel_slips_and_grips_again() -> None:
    # A torque that passes the limit and comes back: all instants by quadrature.
    torque = 0.6 * sin(math.pi * da.t) * Piecewise((1, da.t < 1), (0, True))
    motion = da.simulate(wheel(0.2, forces={TURN: torque}), {Y: RADIUS}, (0, 2))
    limit = 0.2 * G
    need = lambda t: 0.6 * math.sin(math.pi * t) / RADIUS * (2 / 3)  # noqa: E731
    starts = brentq(lambda t: need(t) - limit, 0, 0.5)
    speed = 0.6 * (1 - math.cos(math.pi * starts)) / math.pi / (1.5 * RADIUS)

    def slip(t: float) -> float:
        wound = 0.6 * (math.cos(math.pi * starts) - math.cos(math.pi * min(t, 1))) / math.pi
        turning = (wound - limit * RADIUS * (t - starts)) / (0.5 * RADIUS**2)
        return limit * (t - starts) - RADIUS * turning

    ends = brentq(slip, starts + 0.05, 2)
    assert words(motion)[:3] == [
        ("rolling", "sticks", "at the start"),
        ("rolling", "slips", "its friction reached the limit"),
        ("rolling", "sticks", "its slip ended"),
    ]
    assert [c.time for c in motion.modes[1:3]] == pytest.approx([starts, ends], abs=1e-9)
    place = int(np.searchsorted(motion.t, ends))
    gripped = speed + limit * (ends - starts)
    first = motion.t[place]
    assert place < len(motion.t) and first >= ends
    rest = 0.6 * (math.cos(math.pi * min(ends, 1)) - math.cos(math.pi * min(first, 1))) / math.pi
    assert motion["x_dot"][place] == pytest.approx(gripped + rest / (1.5 * RADIUS), abs=1e-8)


def test_a_limit_with_a_given_load_is_that_of_the_weight() -> None:
    by_weight = da.System(
        [X, TURN],
        kinetic=(X.dot**2 + 0.5 * RADIUS**2 * TURN.dot**2) / 2,
        constraints=[da.velocity(X.dot - RADIUS * TURN.dot, friction=0.3, load=G, name="rolling")],
    )
    motion = da.simulate(by_weight, {X.dot: 2}, (0, 1))
    assert motion.modes[1].time == pytest.approx(2 / (3 * 0.3 * G), abs=1e-12)
    assert motion["x_dot"][-1] == pytest.approx(4 / 3, abs=1e-12)


def test_a_force_that_presses_may_change_its_sign() -> None:
    # A bead on a hoop in a level plane of no gravity: N = m v^2 / r inwards; and on a straight
    # guide whose load cos(t) changes its sign: |N| counts.
    guide = da.holonomic(Y, name="guide")
    slides = da.velocity(X.dot, friction=0.5, normal="guide", name="bead")
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        forces={Y: cos(da.t), X: 1.0},
        constraints=[guide, slides],
    )
    motion = da.simulate(system, {X.dot: 1}, (0, 3))
    lost = 0.5 * (1 + (1 - math.sin(3)))  # the integral of |cos| from 0 to 3, halved
    assert motion["x_dot"][-1] == pytest.approx(1 + 3 - lost, abs=1e-9)
    reason = "the force that presses on it changed its sign"
    assert [(c.time, c.reason) for c in motion.modes[1:]] == [
        (pytest.approx(math.pi / 2, abs=1e-9), reason)
    ]


def test_a_bead_on_a_hoop_slows_down_exponentially() -> None:
    hoop = da.holonomic((X**2 + Y**2) ** 0.5 - 1, name="hoop")
    along = (X * Y.dot - Y * X.dot) / (X**2 + Y**2) ** 0.5
    rubs = da.velocity(along, friction=0.25, normal="hoop", name="bead")
    system = da.System([X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, constraints=[hoop, rubs])
    motion = da.simulate(system, {X: 1, Y.dot: 2}, (0, 3), atol=1e-12, rtol=1e-12)
    # v' = -mu v^2  =>  v = v0 / (1 + mu v0 t)
    speed = math.hypot(motion["x_dot"][-1], motion["y_dot"][-1])
    assert speed == pytest.approx(2 / (1 + 0.25 * 2 * 3), abs=1e-10)


def test_limits_on_a_contact_resist_rolling_and_leave_with_it() -> None:
    # A ball on a floor with rolling resistance: a = -f g / (r k), k = 7/5, from rolling to rest.
    floor = da.unilateral(
        Y >= RADIUS, friction=0.5, tangent=X.dot - RADIUS * TURN.dot, name="floor"
    )
    resists = da.velocity(TURN.dot, friction=0.002, normal="floor", name="resistance")
    system = da.System(
        [X, Y, TURN],
        kinetic=(X.dot**2 + Y.dot**2 + 0.4 * RADIUS**2 * TURN.dot**2) / 2,
        potential=G * Y,
        constraints=[floor, resists],
    )
    motion = da.simulate(system, {Y: RADIUS, X.dot: 0.5, TURN.dot: 5}, (0, 10))
    slowing = 0.002 * G / (RADIUS * 1.4)
    assert motion.modes[-1].contact == "resistance" and motion.modes[-1].mode == "sticks"
    assert motion.modes[-1].time == pytest.approx(0.5 / slowing, abs=1e-9)
    assert motion["x"][-1] == pytest.approx(0.125 / slowing, abs=1e-9)
    thrown = da.simulate(system, {Y: 1.0, TURN.dot: 5}, (0, 0.2))
    assert thrown.modes == () and thrown["theta_dot"][-1] == 5


def test_a_ball_of_bodies_slides_and_rolls() -> None:
    b = da.bodies
    ball = b.Body("ball", mass=1, inertia=(0.4 * RADIUS**2,) * 3)
    table = b.ground()
    contact = b.rolling("contact", ball, b.sphere(RADIUS), table, friction=0.2)
    system = b.Mechanism([b.free("ball", table, ball), contact], gravity=(0, 0, -G)).system()
    start = {"ball_z": RADIUS, "ball_x_dot": 2.0, "ball_y_dot": 0.3}
    motion = da.simulate(system, start, (0, 1))
    ends = math.hypot(2, 0.3) / (3.5 * 0.2 * G)
    assert words(motion) == [
        ("contact_slip", "slips", "at the start"),
        ("contact_slip", "sticks", "its slip ended"),
    ]
    assert motion.modes[1].time == pytest.approx(ends, abs=1e-9)
    found = [motion[f"ball_{axis}_dot"][-1] for axis in "xy"]
    assert found == pytest.approx([2 * 5 / 7, 0.3 * 5 / 7], abs=1e-9)
    assert motion.contacts["contact_slip"].normal == pytest.approx(G, rel=1e-9)


def rattleback(**friction: float) -> da.System:
    """The rattleback of Kane and Levinson (Int. J. Non-Linear Mech. 17 (1982))."""
    b = da.bodies
    inertia = [[2e-4, -2e-5, 0], [-2e-5, 16e-4, 0], [0, 0, 17e-4]]
    stone, table = b.Body("stone", mass=1, inertia=inertia), b.ground()
    surface = b.ellipsoid(0.2, 0.03, 0.02)
    contact = b.rolling("contact", stone.point((0, 0, 0.01)), surface, table, **friction)
    return b.Mechanism([b.free("stone", table, stone), contact], gravity=(0, 0, -G)).system()


def spin_of(motion: da.Motion) -> Any:
    """The angular velocity about the vertical, of a body with a quaternion."""
    w, x, y, z = (motion[f"stone_q{k}"] for k in "wxyz")
    rates = [motion[f"stone_q{k}_dot"] for k in "wxyz"]
    return 2 * (w * rates[3] - z * rates[0] - y * rates[1] + x * rates[2])


def test_a_rattleback_reverses_with_friction() -> None:
    half = math.radians(0.25)
    w, x = math.cos(half), math.sin(half)
    start = {"stone_z": 0.01, "stone_qw": w, "stone_qx": x}
    start |= {"stone_qy_dot": 2.5 * x, "stone_qz_dot": -2.5 * w}
    motion = da.simulate(rattleback(friction=0.7), start, (0, 6))
    spin, energy = spin_of(motion), motion.energy
    assert spin[0] < -4.9 and spin.max() > 3.5
    assert words(motion) == [
        ("contact_slip", "slips", "at the start"),
        ("contact_slip", "sticks", "its slip ended"),
    ]
    rolls = motion.t > motion.modes[1].time
    assert np.diff(energy).max() < 1e-10 * energy[0]
    assert np.ptp(energy[rolls]) < 1e-9 * energy[0]
    history = motion.contacts["contact_slip"]
    rub = np.linalg.norm(history.friction, axis=0)[rolls]
    assert (rub <= 0.7 * history.normal[rolls] * (1 + 1e-9)).all()


# -- statements ------------------------------------------------------------------------------------


def test_a_model_file_states_friction_limits(tmp_path: Path) -> None:
    pair = da.velocity(
        (X.dot, Y.dot), friction=0.3, static_friction=0.4, normal="floor", name="table"
    )
    z = da.coordinates("z")
    system = da.System(
        [X, Y, z],
        kinetic=(X.dot**2 + Y.dot**2 + z.dot**2) / 2,
        potential=G * z,
        constraints=[
            da.holonomic(z, name="floor"),
            pair,
            da.friction_loss(X.dot, 0.1, name="rail"),
        ],
    )
    path = tmp_path / "model.toml"
    start = {X.dot: 1.0, Y.dot: 0.5}
    da.save_model(da.Scenario(system, start=start), path)
    again = da.load_model(path)
    assert [c.entry() for c in again.system.unilateral] == [c.entry() for c in system.unilateral]
    stated = da.simulate(system, {X.dot: 1, Y.dot: 0.5}, (0, 1))
    assert da.simulate(again, span=(0, 1))["x"][-1] == pytest.approx(stated["x"][-1], abs=1e-12)
    motion = tmp_path / "motion.npz"
    stated.save(motion)
    loaded = da.load(motion)
    assert loaded.modes == stated.modes
    assert np.allclose(loaded.reactions["table"].force, stated.reactions["table"].force)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: da.velocity(X.dot, friction=0.3), "needs one load"),
        (lambda: da.velocity(X.dot, friction=0.3, normal="wall"), "has the load of `wall`"),
        (lambda: da.velocity(X.dot**2, friction=0.3, load=1), "affine"),
        (lambda: da.velocity(X.dot, friction=-0.3, load=1), "must not be negative"),
        (lambda: da.velocity(X.dot, normal="floor"), "without friction"),
        (lambda: da.velocity(X.dot, friction=1, normal=("a", "b")), "has the load of `a`"),
        (lambda: da.friction_loss(X.dot, -1), "must not be negative"),
    ],
)
def test_wrong_limits_are_errors(wrong: Any, says: str) -> None:
    with pytest.raises(ModelError, match=says):
        da.System([X], kinetic=X.dot**2 / 2, constraints=[wrong()])


def test_what_cannot_follow_a_limit_says_so() -> None:
    system = wheel(0.3)
    with pytest.raises(FormError, match="has no friction"):
        da.simulate(system, {Y: RADIUS}, (0, 1), form="hamilton")
    with pytest.raises(ModelError, match="followed forwards"):
        da.simulate(system, {Y: RADIUS}, (1, 0))


def test_what_is_said_of_a_system_knows_its_friction() -> None:
    system = wheel(0.3)
    said = " ".join(str(system.describe()).split())
    assert "below the limit, and slips beyond" in said
    assert "between impacts, while no friction acts" in said
    with pytest.raises(da.errors.RunError, match="friction limit `rolling` has no linear motion"):
        da.linearise(system, {Y: RADIUS, X.dot: -1})
    held = system.touching(["rolling"])
    assert [c.name for c in held.bilateral] == ["floor", "rolling_tangent1"]
    rolls = da.simulate(held, {Y: RADIUS, X.dot: 1}, (0, 1))
    assert rolls["x_dot"][-1] == pytest.approx(rolls["theta_dot"][-1] * RADIUS, abs=1e-12)
    found = da.symmetry.discover_symmetries(system)
    assert "without friction" in found.energy
