"""Hard cases of contact: each ends with the right motion, or with a sentence that says why not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dalembert as da
from contact_specimens import broken_laws, followed
from dalembert.errors import StartError

G = 9.81
X, Y, TURN, Z = da.coordinates("x y theta z")


def block(friction: Any, mass: float = 1.0, **contact: Any) -> da.System:
    floor = da.unilateral(Y >= 0, friction=friction, tangent=X.dot, name="floor", **contact)
    kinetic = mass * (X.dot**2 + Y.dot**2) / 2
    return da.System([X, Y], kinetic=kinetic, potential=mass * G * Y, constraints=[floor])


@pytest.mark.parametrize("depth", [1e-6, 1e-3, 1.0])
def test_penetration_at_the_start_is_an_error_with_its_depth(depth: float) -> None:
    with pytest.raises(StartError, match=r"breaks the one-sided constraint `floor`") as caught:
        da.simulate(block(0.3), {Y: -depth, X.dot: 1}, (0, 1))
    assert f"{depth:.3g}" in str(caught.value)


def test_penetration_by_rounding_at_the_start_rests() -> None:
    motion = da.simulate(block(0.3), {Y: -1e-16, X.dot: 1}, (0, 1))
    assert motion["x"][-1] == pytest.approx(1 / (2 * 0.3 * G), abs=1e-10)


@pytest.mark.parametrize("friction", [0.0, 1e6])
def test_friction_of_zero_and_of_a_million(friction: float) -> None:
    slides = da.simulate(block(friction), {X.dot: 1}, (0, 1))
    expected = 1.0 if friction == 0 else 1 / (2 * friction * G)
    assert slides["x"][-1] == pytest.approx(expected, rel=1e-9)
    assert slides.outcome is da.Outcome.FINISHED
    wheel = da.System(
        [X, TURN],
        kinetic=(X.dot**2 + TURN.dot**2 / 2) / 2,
        constraints=[da.velocity(X.dot - TURN.dot, friction=friction, load=G, name="rolls")],
    )
    rolls = da.simulate(wheel, {X.dot: 1}, (0, 1))
    assert rolls["x_dot"][-1] == pytest.approx(1.0 if friction == 0 else 2 / 3, abs=1e-9)


@pytest.mark.parametrize("ratio", [1e8, 1e-8])
def test_a_mass_ratio_of_1e8_between_a_block_and_what_it_lies_on(ratio: float) -> None:
    """A block on a cart: they move together after mu g t (1 + m/M) = v, with the momentum kept."""
    on = da.unilateral(Y >= 0, friction=0.4, tangent=X.dot - Z.dot, name="on")
    system = da.System(
        [X, Y, Z],
        kinetic=(X.dot**2 + Y.dot**2 + ratio * Z.dot**2) / 2,
        potential=G * Y,
        constraints=[on],
    )
    time = 1 / (0.4 * G * (1 + 1 / ratio))
    motion = da.simulate(system, {X.dot: 1}, (0, 2 * time))
    assert motion.modes[-1].mode == "sticks"
    assert motion.modes[-1].time == pytest.approx(time, rel=1e-9)
    assert motion["x_dot"][-1] == pytest.approx(1 / (1 + ratio), rel=1e-9)


def test_contacts_that_are_stated_twice_share_their_force_or_say_so() -> None:
    floors = [
        da.unilateral(Y >= 0, friction=0.2, tangent=X.dot, name=name) for name in ("one", "two")
    ]
    system = da.System(
        [X, Y],
        kinetic=(X.dot**2 + Y.dot**2) / 2,
        potential=G * Y,
        forces={X: 1.0},
        constraints=floors,
    )
    held = da.simulate(system, {}, (0, 1))
    assert held.outcome is da.Outcome.FINISHED and np.abs(held["x"]).max() < 1e-12
    pushes = sum(held.contacts[c.name].normal for c in floors)
    assert pushes == pytest.approx(G, rel=1e-12)
    slides = da.simulate(system, {X.dot: 1}, (0, 1))
    if slides.outcome is da.Outcome.FINISHED:
        assert slides["x_dot"][-1] == pytest.approx(1 + 1 - 0.2 * G, abs=1e-9)
    else:
        assert "not determined" in slides.message and "depend" in slides.message


@pytest.mark.parametrize("miss", [1e-3, 1e-7, -1e-7, -1e-3])
def test_grazing_a_contact_hits_it_or_passes_it(miss: float) -> None:
    """A point on a parabola whose top is `miss` below a ceiling."""
    height = 1.0
    ceiling = da.unilateral(height >= Y, friction=0.3, tangent=X.dot, name="ceiling")
    system = da.System(
        [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=G * Y, constraints=[ceiling]
    )
    start = {Y: 0, Y.dot: math.sqrt(2 * G * (height - miss)), X.dot: 1}
    motion = da.simulate(system, start, (0, 0.8))
    assert motion.outcome is da.Outcome.FINISHED
    assert len(motion.impacts) == (miss < 0)
    hit = math.sqrt(2 * G * -miss) if miss < 0 else 0.0
    assert motion["x_dot"][-1] == pytest.approx(1 - 0.3 * hit, abs=1e-7)
    assert motion["y"].max() <= height + 1e-9


def test_a_limit_that_other_constraints_hold_already_is_named_or_holds() -> None:
    guide = da.holonomic(X - Y, name="guide")
    rubs = da.velocity(X.dot - Y.dot, friction=0.3, load=1.0, name="rubs")
    system = da.System(
        [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, forces={X: 1.0}, constraints=[guide, rubs]
    )
    motion = da.simulate(system, {}, (0, 1))
    if motion.outcome is da.Outcome.FINISHED:
        assert motion["x"][-1] == pytest.approx(0.25, abs=1e-9)
    else:
        assert "rubs" in motion.message or "not determined" in motion.message


def test_a_stack_at_rest_at_the_origin_is_not_violated_by_rounding() -> None:
    """Both gaps are rounding alone, and the upper one has no acceleration at the start."""
    x, low, z, high = da.coordinates("x low z high")
    contacts = [
        da.unilateral(-low, friction=0.0, tangent=x.dot, name="floor"),
        da.unilateral(low - high, friction=0.3, tangent=z.dot - x.dot, name="block"),
    ]
    speeds = x.dot**2 + low.dot**2 + (z.dot**2 + high.dot**2) / 3
    stack = da.System(
        [x, low, z, high],
        kinetic=0.0319 * speeds / 2,
        potential=0.0319 * 5.7567 * (low + high / 3),
        constraints=contacts,
    )
    motion = da.simulate(stack, {x.dot: 0.0843, z.dot: -0.9997}, (0, 1))
    assert motion.outcome is da.Outcome.FINISHED, motion.message
    assert abs(float(motion["x_dot"][-1]) - float(motion["z_dot"][-1])) < 1e-9  # momentum is shared
    assert abs(float(motion["x_dot"][-1]) - (0.0843 - 0.9997 / 3) / (4 / 3)) < 1e-9


def test_blocks_that_fall_together_stay_together_without_a_force() -> None:
    """Their contact has no force until the lower one lands: rounding must not open and close it."""
    motion = followed(1032)
    assert motion.outcome is da.Outcome.FINISHED, motion.message
    assert broken_laws(motion) == []


@pytest.mark.long
def test_blocks_that_fall_together_hit_the_floor_alike_in_other_units() -> None:
    """In free fall the force between them is rounding, in whatever units."""
    metres, millimetres = followed(682), followed(682, 1000.0)
    for name in ("x", "y", "z", "theta"):
        assert millimetres[name][-1] / 1000 == pytest.approx(metres[name][-1], abs=1e-9)
    assert len(metres.impacts) == len(millimetres.impacts)


@pytest.mark.parametrize("number", [276, 929])
def test_forces_of_contacts_that_share_directions_are_inside_their_cones(number: int) -> None:
    """A ball in a corner with resistance to rolling, and a puck on a table beside a wall."""
    motion = followed(number)
    assert motion.outcome is da.Outcome.FINISHED, motion.message
    assert broken_laws(motion) == []


def test_a_wall_takes_over_where_the_table_alone_cannot_hold() -> None:
    """A block in a corner pressed on the wall: what a rough table cannot hold, the wall holds."""
    contacts = [
        da.unilateral(Y >= 0, friction=0.1, tangent=(X.dot, Z.dot), name="table"),
        da.unilateral(X >= 0, friction=0.5, tangent=(Z.dot, Y.dot), name="wall"),
    ]
    pull = 3.0 * da.t
    system = da.System(
        [X, Y, Z],
        kinetic=(X.dot**2 + Y.dot**2 + Z.dot**2) / 2,
        potential=G * Y,
        forces={X: -10.0, Z: pull},
        constraints=contacts,
    )
    motion = da.simulate(system, {}, (0, 1.5))
    # Both together hold 0.1 g + 0.5 * 10, which the pull reaches after 1.99 s.
    assert motion.outcome is da.Outcome.FINISHED, motion.message
    assert np.abs(motion["z"]).max() < 1e-12
    for name, friction in (("table", 0.1), ("wall", 0.5)):
        history = motion.contacts[name]
        rub = np.linalg.norm(history.friction, axis=0)
        assert (rub <= friction * history.normal * (1 + 1e-9) + 1e-9).all(), name


def anisotropic_point(**friction: Any) -> da.System:
    table = da.unilateral(Z >= 0, tangent=(X.dot, Y.dot), name="table", **friction)
    kinetic = (X.dot**2 + Y.dot**2 + Z.dot**2) / 2
    return da.System([X, Y, Z], kinetic=kinetic, potential=G * Z, constraints=[table])


def test_anisotropic_friction_is_an_ellipse_of_largest_dissipation() -> None:
    """Along an axis a point stops after v^2/(2 mu g); across, P_i = -N mu_i^2 w_i/|mu w|."""
    mu = (0.4, 0.1)
    system = anisotropic_point(friction=mu)
    for name, coefficient in zip("xy", mu, strict=True):
        motion = da.simulate(system, {f"{name}_dot": 1}, (0, 2))
        assert motion[name][-1] == pytest.approx(1 / (2 * coefficient * G), abs=1e-9)
    oblique = da.simulate(system, {X.dot: 1, Y.dot: 1}, (0, 0.1))
    history = oblique.contacts["table"]
    slip, rub = history.slip, history.friction
    assert np.allclose(slip, [oblique["x_dot"], oblique["y_dot"]])
    squares = np.array([[m**2] for m in mu])
    expected = -G * squares * slip / np.sqrt((squares * slip**2).sum(axis=0))
    assert np.abs(rub - expected).max() < 1e-9
    stepped = da.simulate(
        system, {X.dot: 1, Y.dot: 1}, (0, 0.1), method="moreau", step=1e-4, at=oblique.t[-1:]
    )
    assert stepped["y_dot"][-1] == pytest.approx(oblique["y_dot"][-1], abs=1e-4)
    assert stepped.contacts["table"].friction[:, -1] == pytest.approx(rub[:, -1], abs=1e-2)


def test_anisotropic_friction_that_is_no_ellipse_is_an_error() -> None:
    for friction, words in (
        ({"friction": (0.4, 0.1), "static_friction": (0.4, 0.2)}, "same ratio"),
        ({"friction": (0.4, 0.0)}, "positive in both"),
        ({"friction": (0.4, 0.1, 0.2)}, "each of two directions"),
    ):
        with pytest.raises(da.errors.ModelError, match=words):
            anisotropic_point(**friction)
