"""One-sided constraints: impacts at exact times, rest without chatter, release, several contacts at
once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import FormError, ModelError, StartError
from dalembert.integrate.contact.contact import Contacts
from dalembert.integrate.contact.contact_values import ContactValues

H, X, Y = da.coordinates("h x y")
G, E = da.parameters("g e", positive=True)


def ball(restitution: Any, **more: Any) -> da.System:
    return da.System(
        [H], kinetic=H.dot**2 / 2, potential=G * H,
        constraints=[da.unilateral(H >= 0, restitution=restitution, name="floor")],
        **more,
    )  # fmt: skip


def bounce_times(
    restitution: float, count: int, height: float = 1.0, g: float = 10.0
) -> np.ndarray:
    first = np.sqrt(2 * height / g)
    flights = 2 * first * restitution ** np.arange(1, count)
    return first + np.concatenate([[0.0], np.cumsum(flights)])


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
@pytest.mark.parametrize("restitution", [1.0, 0.8, 0.5])
def test_a_bouncing_ball_hits_at_the_exact_times(restitution: float, form: str) -> None:
    expected = bounce_times(restitution, 6)
    end = float(expected[-1] + 1e-3)
    motion = da.simulate(
        ball(restitution), {H: 1.0}, (0, end), parameters={G: 10.0}, form=form, rtol=1e-12
    )
    assert motion.outcome is da.Outcome.FINISHED
    assert [t for t, _ in motion.impacts] == pytest.approx(expected, rel=1e-12)
    assert {name for _, name in motion.impacts} == {"floor"}
    assert motion["h"].min() > -1e-13


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("speed", [1e-1, 1e-3, 1e-5])
def test_a_ball_that_is_thrown_up_from_the_floor_falls_on_it(speed: float, method: str) -> None:
    """Its flight ends far within the first step; the gap is zero where it begins and positive where
    it is first looked at.
    """
    motion = da.simulate(
        ball(0.5), {H: 0.0, H.dot: speed}, (0, 5), parameters={G: 10.0}, method=method
    )
    assert motion.impacts[0][0] == pytest.approx(speed / 5, rel=1e-11)
    assert motion["h"].min() > -1e-13


@pytest.mark.parametrize("method", ["dop853", "taylor"])
@pytest.mark.parametrize("below", [1e-2, 1e-4, 1e-8])
def test_a_ceiling_just_below_the_highest_point_is_hit(below: float, method: str) -> None:
    ceiling = da.unilateral(H - 5 + below <= 0, restitution=0, name="ceiling")
    thrown = da.System([H], kinetic=H.dot**2 / 2, potential=G * H, constraints=[ceiling])
    motion = da.simulate(
        thrown, {H.dot: 10.0}, (0, 1.9), parameters={G: 10.0}, first_step=1.9, method=method
    )
    assert [t for t, _ in motion.impacts] == pytest.approx(
        [1 - np.sqrt(below / 5)], abs=1e-4 * np.sqrt(below)
    )
    assert motion["h"].max() <= 5 - below + 1e-13


def test_the_restitution_may_be_a_parameter() -> None:
    motion = da.simulate(ball(E), {H: 1.0}, (0, 2), parameters={G: 10.0, E: 0.5}, rtol=1e-12)
    count = len(motion.impacts)
    assert [t for t, _ in motion.impacts][:6] == pytest.approx(
        bounce_times(0.5, 6), rel=1e-11
    ) and count >= 6


def test_an_elastic_ball_keeps_its_energy() -> None:
    motion = da.simulate(ball(1), {H: 1.0}, (0, 20), parameters={G: 10.0}, rtol=1e-11)
    assert np.abs(motion.energy - 10.0).max() < 1e-8
    assert len(motion.impacts) == int((20 / np.sqrt(0.2) - 1) // 2) + 1


def test_velocities_jump_by_newtons_law_and_positions_do_not() -> None:
    motion = da.simulate(ball(0.6), {H: 1.0}, (0, 1), parameters={G: 10.0})
    time = motion.impacts[0][0]
    before, after = motion.y[:, np.flatnonzero(motion.t == time)].T
    assert before[0] == pytest.approx(after[0], abs=1e-13)
    assert after[1] == pytest.approx(-0.6 * before[1], rel=1e-12)


def test_a_plastic_ball_rests() -> None:
    motion = da.simulate(ball(0), {H: 1.0}, (0, 5), parameters={G: 10.0})
    assert len(motion.impacts) == 1
    late = motion.t > 0.45
    assert np.abs(motion["h"][late]).max() < 1e-14 and np.abs(motion["h_dot"][late]).max() < 1e-14
    assert motion.reactions["floor"].force[0, -1] == pytest.approx(10.0)
    assert motion.reactions["floor"].force[0, 0] == 0.0


def test_a_ball_that_bounces_forever_comes_to_rest() -> None:
    """Zeno: infinitely many impacts before t = t1 (1 + e) / (1 - e); the motion passes that time in
    bounded steps.
    """
    restitution, first = 0.5, np.sqrt(0.2)
    rest = first * (1 + restitution) / (1 - restitution)
    motion = da.simulate(ball(restitution), {H: 1.0}, (0, 10), parameters={G: 10.0}, rtol=1e-10)
    assert motion.outcome is da.Outcome.FINISHED and motion.t[-1] == 10
    assert 10 < len(motion.impacts) < 60
    assert motion.impacts[-1][0] == pytest.approx(rest, abs=1e-6)
    assert motion.statistics["steps"] < 2000
    late = motion.t > rest + 1e-3
    assert late.any() and np.abs(motion["h"][late]).max() < 1e-12
    assert motion.reactions["floor"].force[0, -1] == pytest.approx(10.0)


def test_resting_where_it_starts() -> None:
    motion = da.simulate(ball(0.5), {H: 0.0}, (0, 2), parameters={G: 10.0})
    assert not motion.impacts
    assert np.abs(motion["h"]).max() < 1e-14
    assert motion.reactions["floor"].multiplier[0] == pytest.approx(-10.0)


def test_a_contact_pushes_and_never_pulls() -> None:
    """A lift that accelerates: sin(t) - 1/2 beats gravity at t = asin(...); the ball leaves without
    an impact.
    """
    lift = ball(0, forces={H: 20 * da.t})
    motion = da.simulate(lift, {H: 0.0}, (0, 1), parameters={G: 10.0}, rtol=1e-12)
    assert not motion.impacts
    released = 0.5
    assert np.abs(motion["h"][motion.t <= released]).max() < 1e-13
    flown = np.maximum(motion.t - released, 0)
    assert np.allclose(motion["h"], 20 / 6 * flown**3, atol=1e-10)
    assert motion.reactions["floor"].force.min() > -1e-9


@pytest.mark.parametrize(
    "imposed", [20 * da.t, lambda t, state: 20 * t], ids=["expression", "function"]
)
def test_release_by_an_input(imposed: Any) -> None:
    u = da.inputs("u")
    system = ball(0, forces={H: u}, inputs=[u])
    motion = da.simulate(
        system, {H: 0.0}, (0, 1), parameters={G: 10.0}, inputs={u: imposed}, rtol=1e-11
    )
    assert motion["h"][-1] == pytest.approx(20 / 6 * 0.5**3, abs=1e-8)


@pytest.mark.parametrize(
    "imposed", [sympy.Integer(15), lambda t, state: 15.0], ids=["expression", "function"]
)
def test_a_start_that_is_lifted_at_once_leaves_at_once(imposed: Any) -> None:
    u = da.inputs("u")
    system = ball(0, forces={H: u}, inputs=[u])
    motion = da.simulate(system, {H: 0.0}, (0, 1), parameters={G: 10.0}, inputs={u: imposed})
    assert motion["h"][-1] == pytest.approx(2.5, abs=1e-8)


def test_sliding_off_a_dome() -> None:
    """A particle that slides from the top of a sphere leaves it at cos(theta) = 2/3."""
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        potential=Y,
        constraints=[da.unilateral(X**2 + Y**2 >= 1, name="dome")],
    )
    motion = da.simulate(system, {X: 0.0, Y: 1.0, X.dot: 1e-3, Y.dot: 0.0}, (0, 12), rtol=1e-11,
                         events=[da.event(Y + 1, terminal=True)])  # fmt: skip
    radius = np.hypot(motion["x"], motion["y"])
    leaving = np.argmax(radius > 1 + 1e-9)
    assert motion.outcome is da.Outcome.STOPPED and not motion.impacts
    assert motion["y"][leaving - 1] == pytest.approx(2 / 3, abs=1e-5)
    assert np.abs(radius[:leaving] - 1).max() < 1e-9
    assert np.abs(motion.energy - motion.energy[0]).max() < 1e-9


def test_two_contacts_one_after_the_other() -> None:
    """Between a floor and a ceiling without gravity: the hits come at regular times."""
    box = da.System(
        [H],
        kinetic=H.dot**2 / 2,
        constraints=[
            da.unilateral(H >= 0, 1, name="floor"),
            da.unilateral(H <= 1, 1, name="ceiling"),
        ],
    )
    motion = da.simulate(box, {H: 0.25, H.dot: 1.0}, (0, 5))
    assert [name for _, name in motion.impacts] == ["ceiling", "floor"] * 2 + ["ceiling"]
    assert [t for t, _ in motion.impacts] == pytest.approx(0.75 + np.arange(5), abs=1e-12)
    assert motion["h"].min() >= 0 - 1e-12 and motion["h"].max() <= 1 + 1e-12


def test_into_a_corner() -> None:
    """A plastic particle that hits the floor, slides, and stops at the wall: two resting contacts
    at once.
    """
    floor_and_wall = corner(
        10 * Y - X, da.unilateral(Y >= 0, name="floor"), da.unilateral(X <= 1, name="wall")
    )
    motion = da.simulate(floor_and_wall, {X: 0.0, Y: 0.2, X.dot: 0.5}, (0, 4), rtol=1e-11)
    assert [name for _, name in motion.impacts] == ["floor", "wall"]
    assert motion.y[:, -1] == pytest.approx([1.0, 0.0, 0.0, 0.0], abs=1e-12)
    assert motion.total_reaction[:, -1] == pytest.approx([-1.0, 10.0])
    wall = (-0.5 + np.sqrt(0.25 + 2)) / 1
    assert motion.impacts[1][0] == pytest.approx(wall, abs=1e-10)


def test_both_at_the_same_instant() -> None:
    corner = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        constraints=[da.unilateral(Y >= 0, 1, name="floor"), da.unilateral(X >= 0, 1, name="wall")],
    )
    motion = da.simulate(corner, {X: 1.0, Y: 1.0, X.dot: -1.0, Y.dot: -1.0}, (0, 3))
    assert motion.outcome is da.Outcome.FINISHED
    assert sorted(name for _, name in motion.impacts) == ["floor", "wall"]
    assert motion.y[:, -1] == pytest.approx([2.0, 2.0, 1.0, 1.0], abs=1e-9)


def test_a_contact_does_not_hold_by_pulling_at_an_impact() -> None:
    """A particle that slides into a ramp of 45 degrees leaves the floor: plastic, v = (1, 0)
    becomes (1/2, 1/2).
    """
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        potential=Y,
        constraints=[da.unilateral(Y >= 0, name="floor"), da.unilateral(Y >= X - 1, name="ramp")],
    )
    motion = da.simulate(system, {X.dot: 1.0}, (0, 1.2), rtol=1e-11)
    assert [name for _, name in motion.impacts] == ["ramp"]
    assert motion.impacts[0][0] == pytest.approx(1.0, abs=1e-11)
    s = 0.2
    along = s / np.sqrt(2) - s**2 / 2 / np.sqrt(2)
    assert motion.y[:2, -1] == pytest.approx([1 + along / np.sqrt(2), along / np.sqrt(2)], abs=1e-9)


def test_an_impulse_that_drives_others_together() -> None:
    """Newton's cradle of three equal elastic balls a hair apart: the last one flies off with the
    whole speed.
    """
    a, b, c = da.coordinates("a b c")
    cradle = da.System(
        [a, b, c],
        kinetic=(a.dot**2 + b.dot**2 + c.dot**2) / 2,
        constraints=[da.unilateral(a <= b, 1, name="ab"), da.unilateral(b <= c, 1, name="bc")],
    )
    motion = da.simulate(cradle, {a: -1.0, b: 0.0, c: 1e-8, a.dot: 1.0}, (0, 2))
    assert motion.outcome is da.Outcome.FINISHED
    assert motion.y[3:, -1] == pytest.approx([0.0, 0.0, 1.0], abs=1e-9)
    assert np.ptp(motion.energy) < 1e-9


def corner(potential: Any, *planes: Any) -> da.System:
    return da.System(
        [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=potential, constraints=planes
    )


SHARP = corner(
    3.6 * X - 4.2 * Y,
    da.unilateral(-0.99 * X - 0.15 * Y - 1 <= 0, restitution=0, name="a"),
    da.unilateral(0.92 * X + 0.4 * Y - 1 <= 0, restitution=0.2, name="b"),
)
SHARP_START = {X: 0, Y: 0, X.dot: 0.5, Y.dot: -1.4}


def test_a_contact_beside_the_one_that_hits_is_not_lost() -> None:
    """Pressed into a corner: it comes to rest there, although rounding puts one gap beyond zero
    where the other is hit.
    """
    motion = da.simulate(SHARP, SHARP_START, (0, 8))
    assert motion.outcome is da.Outcome.FINISHED
    tip = np.linalg.solve([[-0.99, -0.15], [0.92, 0.4]], [1, 1])
    assert motion.y[:, -1] == pytest.approx([*tip, 0, 0], abs=1e-9)
    assert motion.segments[-1].mode == ("a", "b")


@pytest.mark.long
@pytest.mark.parametrize("restitution", [0.0, 0.2, 0.6])
def test_a_groove_in_which_bouncing_never_ends(restitution: float) -> None:
    """Infinitely many series of infinitely many impacts before one instant, in bounded work."""
    groove = corner(
        10 * Y,
        da.unilateral(Y >= X, restitution=restitution, name="a"),
        da.unilateral(Y >= -X / 2, restitution=restitution, name="b"),
    )
    motion = da.simulate(groove, {X: -0.4, Y: 1.5}, (0, 5))
    assert motion.outcome is da.Outcome.FINISHED
    assert motion.y[:, -1] == pytest.approx([0, 0, 0, 0], abs=1e-9)
    assert len(motion.impacts) < 1000
    assert motion.total_reaction[:, -1] == pytest.approx([0.0, 10.0])


def test_max_steps_counts_the_steps_between_impacts() -> None:
    motion = da.simulate(SHARP, SHARP_START, (0, 8), max_steps=9)
    assert motion.outcome is da.Outcome.TOO_MANY_STEPS and motion.t[-1] < 4


def test_a_violated_contact_is_never_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the care for gaps at zero the corner is left on the wrong side, which the run
    says.
    """
    monkeypatch.setattr(Contacts, "watch", lambda self, driver: None)
    monkeypatch.setattr(Contacts, "_rest", lambda self, driver, closed, t, y: ((), y, np.inf))
    monkeypatch.setattr(ContactValues, "moved_aside", lambda self, driver, mode, t, y, slow: y)
    motion = da.simulate(SHARP, SHARP_START, (0, 8))
    assert motion.outcome is da.Outcome.UNSOLVED
    assert "`a` is violated" in motion.message or "`b` is violated" in motion.message


def test_walls_that_meet_end_the_motion() -> None:
    """A particle between a floor and a ceiling that comes down to it has no motion after they meet
    at t = 1.
    """
    press = da.System(
        [H],
        kinetic=H.dot**2 / 2,
        constraints=[
            da.unilateral(H >= 0, 0.5, name="floor"),
            da.unilateral(1 - da.t >= H, 0.5, name="ceiling"),
        ],
    )
    motion = da.simulate(press, {H: 0.3, H.dot: 1.0}, (0, 2))
    assert not motion.success and motion.t[-1] == pytest.approx(1.0)


@pytest.mark.long
def test_decisions_at_one_instant_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rest that is never found: the impacts fall on one instant, and the run says so instead of
    going on for ever.
    """
    monkeypatch.setattr(Contacts, "_rest", lambda self, driver, closed, t, y: ((), y, np.inf))
    monkeypatch.setattr(ContactValues, "moved_aside", lambda self, driver, mode, t, y, slow: y)
    motion = da.simulate(ball(0.0), {H: 1.0}, (0, 2), parameters={G: 10.0})
    assert motion.outcome is da.Outcome.UNSOLVED and motion.t[-1] == pytest.approx(np.sqrt(0.2))
    assert "impacts and releases" in motion.message and "floor" in motion.message


def test_an_impact_at_the_start_that_is_not_determined_ends_the_motion() -> None:
    """Floor and ceiling are one, and move apart at once: no velocity obeys both."""
    press = da.System(
        [H],
        kinetic=H.dot**2 / 2,
        constraints=[
            da.unilateral(da.t <= H, 0, name="floor"),
            da.unilateral(-da.t >= H, 0, name="ceiling"),
        ],
    )
    motion = da.simulate(press, {H: 0.0, H.dot: 0.0}, (0, 1))
    assert motion.outcome is da.Outcome.SINGULAR and motion.t[-1] == 0


def test_a_moving_floor() -> None:
    """Rheonomic contact: an elastic ball on a floor that rises with speed 1 gains twice that
    speed.
    """
    system = da.System(
        [H], kinetic=H.dot**2 / 2, constraints=[da.unilateral(da.t <= H, 1, name="floor")]
    )
    motion = da.simulate(system, {H: 2.0, H.dot: -1.0}, (0, 4), rtol=1e-12)
    assert motion.impacts[0][0] == pytest.approx(1.0, abs=1e-12)
    assert motion["h_dot"][-1] == pytest.approx(3.0, abs=1e-11)
    assert motion["h"][-1] == pytest.approx(1.0 + 3 * 3, abs=1e-10)


def test_carried_by_a_moving_floor() -> None:
    """On a floor that shakes with amplitude a the ball lifts off where a w^2 sin(w t) = g."""
    floor = sympy.sin(5 * da.t) / 2
    system = da.System(
        [H],
        kinetic=H.dot**2 / 2,
        potential=10 * H,
        constraints=[da.unilateral(floor <= H, name="floor")],
    )
    motion = da.simulate(system, {H: 0.0, H.dot: 2.5}, (0, 0.6), rtol=1e-11)
    off = np.arcsin(0.8) / 5
    carried = motion.t <= off
    assert np.allclose(motion["h"][carried], np.sin(5 * motion.t[carried]) / 2, atol=1e-12)
    flown = motion.t[~carried] - off
    height = 0.4 + 2.5 * 0.6 * flown - 5 * flown**2
    free = height > np.sin(5 * motion.t[~carried]) / 2 + 1e-9
    assert free.any() and np.allclose(motion["h"][~carried][free], height[free], atol=1e-8)


def test_impact_beside_a_two_sided_constraint() -> None:
    """A pendulum that hits an elastic wall at the bottom swings back as it came."""
    rod = da.holonomic(X**2 + Y**2 - 1, name="rod")
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        potential=Y,
        constraints=[rod, da.unilateral(X >= 0, 1, name="wall")],
    )
    free = system.replacing(constraints=[rod])
    times = np.linspace(0, 3.2, 9)
    hit = da.simulate(system, {X: 1.0, Y: 0.0}, (0, 3.2), at=times, rtol=1e-11)
    swung = da.simulate(free, {X: 1.0, Y: 0.0}, (0, 3.2), at=times, rtol=1e-11)
    assert len(hit.impacts) == 1
    reordered = da.simulate(
        system.replacing(constraints=system.constraints[::-1]),
        {X: 1.0, Y: 0.0},
        (0, 3.2),
        rtol=1e-9,
    )
    assert max(reordered.worst_residual.values()) < 1e-10
    assert np.allclose(hit["x"], np.abs(swung["x"]), atol=1e-8)
    assert np.allclose(hit["y"], swung["y"], atol=1e-8)
    assert max(hit.worst_residual.values()) < 1e-10


def test_the_impulse_is_the_least_change_in_the_kinetic_metric() -> None:
    """A rod that falls on its tip: the jump of the momenta is along the row of the contact."""
    x, y, a = da.coordinates("x y a")
    tip = y + sympy.sin(a) / 2
    system = da.System(
        [x, y, a],
        kinetic=(x.dot**2 + y.dot**2) / 2 + a.dot**2 / 24,
        potential=10 * y,
        constraints=[da.unilateral(tip >= 0, sympy.Rational(1, 2), name="tip")],
    )
    start = {y: 0.5, a: -0.6, a.dot: 0.3}
    motion = da.simulate(system, start, (0, 0.3), rtol=1e-12)
    time = motion.impacts[0][0]
    before, after = motion.y[:, np.flatnonzero(motion.t == time)[:2]].T
    row = np.array([0.0, 1.0, np.cos(before[2]) / 2])
    jump = np.diag([1, 1, 1 / 12]) @ (after[3:] - before[3:])
    assert np.allclose(jump, row * jump[1], atol=1e-12) and jump[1] > 0
    assert row @ after[3:] == pytest.approx(-0.5 * (row @ before[3:]), rel=1e-10)


def test_a_start_on_the_wrong_side_is_refused() -> None:
    with pytest.raises(StartError, match="floor"):
        da.simulate(ball(0.5), {H: -0.1}, (0, 1), parameters={G: 10.0})


def test_a_start_that_moves_into_the_contact_hits_at_once() -> None:
    motion = da.simulate(ball(0.5), {H: 0.0, H.dot: -2.0}, (0, 0.1), parameters={G: 10.0})
    assert motion.impacts[0] == (0.0, "floor")
    assert motion["h_dot"][-1] == pytest.approx(1.0 - 1.0, abs=1e-9)


def test_restitution_outside_its_range_is_refused() -> None:
    for value in (-0.1, 1.1):
        with pytest.raises(ModelError, match="restitution"):
            da.unilateral(H, restitution=value)
    with pytest.raises(ModelError, match="restitution"):
        da.simulate(ball(E), {H: 1.0}, (0, 1), parameters={G: 10.0, E: 1.5})


def test_chosen_times_across_impacts() -> None:
    expected = bounce_times(0.8, 3)
    times = np.linspace(0, float(expected[2]), 50)
    motion = da.simulate(
        ball(0.8),
        {H: 1.0},
        (0, float(expected[2]) + 0.1),
        parameters={G: 10.0},
        at=times,
        rtol=1e-12,
    )
    first = times <= expected[0]
    assert np.allclose(motion["h"][first], 1 - 5 * times[first] ** 2, atol=1e-11)
    second = (times > expected[0]) & (times < expected[1])
    flown = times[second] - expected[0]
    assert np.allclose(motion["h"][second], 0.8 * np.sqrt(20) * flown - 5 * flown**2, atol=1e-11)
    assert np.allclose(motion.sol(times)[0], motion["h"], atol=1e-9)


def test_users_events_beside_contacts() -> None:
    motion = da.simulate(
        ball(1), {H: 1.0}, (0, 2), parameters={G: 10.0}, events=[H - 0.5], rtol=1e-12
    )
    period = 2 * np.sqrt(0.2)
    first = np.sqrt(0.1)
    expected = sorted(
        t for k in range(4) for t in (k * period + first, (k + 1) * period - first) if t < 2
    )
    assert motion.t_events[0] == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_units_of_time_do_not_matter(scale: float) -> None:
    """The same ball in microseconds and in megaseconds: as many impacts, at the same times in its
    own units.
    """
    reference = da.simulate(ball(0.5), {H: 1.0}, (0, 2), parameters={G: 10.0})
    motion = da.simulate(ball(0.5), {H: 1.0}, (0, 2 * scale), parameters={G: 10.0 / scale**2})
    assert motion.outcome is da.Outcome.FINISHED
    few = min(len(motion.impacts), len(reference.impacts), 12)
    assert few >= 10
    assert [t / scale for t, _ in motion.impacts][:few] == pytest.approx(
        [t for t, _ in reference.impacts][:few], rel=1e-7
    )


@pytest.mark.parametrize("form", ["maggi", "gibbs-appell", "vakonomic"])
def test_forms_that_cannot_follow_contacts_say_so(form: str) -> None:
    system = ball(0.5).replacing(coordinates=[H, X], kinetic=(H.dot**2 + X.dot**2) / 2,
                                 constraints=[*ball(0.5).constraints, da.velocity(X.dot - H.dot,
                                 name="tie")])  # fmt: skip
    with pytest.raises(FormError, match=r"floor.*lagrange"):
        da.simulate(system, {H: 1.0}, (0, 1), parameters={G: 10.0}, form=form)


def test_contact_in_the_image_form() -> None:
    """Two speeds for one freedom: the ball falls by its image and hits as ever."""
    u = da.speeds("u")
    fall = da.System(
        [H, X],
        kinetic=(H.dot**2 + X.dot**2) / 2,
        potential=G * H,
        constraints=[
            da.image({H: u, X: 0 * u}, [u]),
            da.unilateral(H >= 0, sympy.Rational(1, 2), name="floor"),
        ],
    )
    end = float(bounce_times(0.5, 4)[-1] + 1e-3)
    motion = da.simulate(fall, {H: 1.0}, (0, end), parameters={G: 10.0}, rtol=1e-12)
    assert motion.equations.form == "implicit-lagrangian"
    assert [t for t, _ in motion.impacts] == pytest.approx(bounce_times(0.5, 4), rel=1e-11)
