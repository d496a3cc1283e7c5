"""Moreau's time steps: exact cases at first order, and the event-driven motion."""

import math

import numpy as np
import pytest
from sympy import cos, sin, sqrt

import dalembert as da
from dalembert.errors import FormError, ModelError, StartError

G = 9.81
ORDER = 3.0  # a step ten times smaller makes errors of first order at least so many times smaller


def moved(system, start, span, step, **options):
    """The motion by time steps, which must have solved its contacts."""
    motion = da.simulate(system, start, span, method="moreau", step=step, **options)
    assert motion.success, motion.message
    assert motion.statistics.get("unconverged_steps", 0) == 0
    return motion


def ball_on_floor():
    x, y, theta = da.coordinates("x y theta")
    floor = da.unilateral(y >= 0.1, friction=0.3, tangent=x.dot - 0.1 * theta.dot, name="floor")
    kinetic = (x.dot**2 + y.dot**2 + 0.004 * theta.dot**2) / 2
    return da.System([x, y, theta], kinetic=kinetic, potential=G * y, constraints=[floor])


@pytest.mark.long
def test_a_ball_with_back_spin_ends_rolling():
    start = {"x_dot": 2, "theta_dot": -10, "y": 0.1}
    motion = moved(ball_on_floor(), start, (0, 2), 1e-2)
    assert motion["x_dot"][-1] == pytest.approx(8 / 7, abs=1e-12)
    when = (2 - 8 / 7) / (0.3 * G)
    x = 2 * when - 0.15 * G * when**2 + 8 / 7 * (2 - when)
    assert motion["x"][-1] == pytest.approx(x, abs=1e-4)
    floor = motion.contacts["floor"]
    assert floor.normal == pytest.approx(G, abs=1e-9)
    assert floor.friction[0, 0] == pytest.approx(-0.3 * G, abs=1e-9)
    assert floor.friction[0, -1] == pytest.approx(0, abs=1e-9)
    assert motion.reactions["floor"].force[:, 0] == pytest.approx([-0.3 * G, G, 0.03 * G])


@pytest.mark.parametrize(("mu", "slides"), [(0.5, False), (0.2, True)])
def test_a_block_on_an_incline(mu, slides):
    x, y = da.coordinates("x y")
    angle = math.radians(20)
    floor = da.unilateral(y >= 0, friction=mu, tangent=x.dot, name="floor")
    potential = G * (math.cos(angle) * y - math.sin(angle) * x)
    block = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=potential,
                      constraints=[floor])  # fmt: skip
    motion = moved(block, {}, (0, 2), 1e-2)
    exact = 2 * G * (math.sin(angle) - mu * math.cos(angle)) if slides else 0.0
    assert motion["x"][-1] == pytest.approx(exact, abs=1e-12)


def test_bounces_converge_to_the_exact_impacts_at_first_order():
    h = da.coordinates("h")
    floor = da.unilateral(h >= 0, restitution=0.8, name="floor")
    ball = da.System([h], kinetic=h.dot**2 / 2, potential=G * h, constraints=[floor])
    for step in (1e-2, 1e-3, 1e-4):
        motion = moved(ball, {h: 1.0}, (0, 5), step)
        hits = motion.t[1:][np.diff(np.sign(motion["h_dot"])) > 0][:3]
        fall = math.sqrt(2 / G)
        exact = [fall, fall * (1 + 2 * 0.8), fall * (1 + 2 * 0.8 + 2 * 0.64)]
        assert np.abs(hits - exact).max() < 3 * step
        assert abs(motion["h"][-1]) < 1e-12  # at rest after infinitely many impacts at 3.9 s
        assert motion["h"].min() > -1e-4 * step


def test_a_mass_on_a_belt_sticks_and_lets_go():
    """In the belt's frame: it sticks until the spring pulls with mu m g, then swings."""
    x, y = da.coordinates("x y")
    speed, k, mu = 0.2, 20.0, 0.2
    floor = da.unilateral(y >= 0, friction=mu, tangent=x.dot - speed, name="belt")
    block = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * y + k / 2 * x**2,
                      constraints=[floor])  # fmt: skip
    hold, w = mu * G / k, math.sqrt(k)
    errors = []
    for step in (1e-2, 1e-3):
        motion = moved(block, {x.dot: speed}, (0, 3), step)
        late = np.maximum(motion.t - hold / speed, 0)
        exact = np.where(motion.t < hold / speed, speed * motion.t,
                         hold + speed / w * np.sin(w * late))  # fmt: skip
        errors.append(np.abs(motion["x"] - exact).max())
    assert errors[1] < errors[0] / ORDER
    assert errors[1] < 5e-4


def test_moreaus_law_of_newtons_cradle():
    q = da.coordinates("a b c d e")
    gaps = [da.unilateral(q[k + 1] - q[k] >= 1, restitution=1, name=f"c{k}", law="moreau")
            for k in range(4)]  # fmt: skip
    balls = da.System(q, kinetic=sum(x.dot**2 for x in q) / 2, constraints=gaps)
    start = {x.name: float(k) for k, x in enumerate(q)} | {"a": -0.101, "a_dot": 1.0}
    motion = moved(balls, start, (0, 0.2), 1e-2)
    speeds = [motion[f"{x.name}_dot"][-1] for x in q]
    assert speeds == pytest.approx([-0.6, 0.4, 0.4, 0.4, 0.4], abs=1e-9)


def test_simultaneous_impacts_under_newtons_law_are_said():
    q = da.coordinates("a b c")
    gaps = [da.unilateral(q[k + 1] - q[k] >= 1, restitution=1, name=f"c{k}") for k in range(2)]
    balls = da.System(q, kinetic=sum(x.dot**2 for x in q) / 2, constraints=gaps)
    start = {"a": -1.101, "b": 0, "c": 1.101, "a_dot": 1.0, "c_dot": -1.0}
    motion = moved(balls, start, (0, 0.2), 1e-2)
    assert any("Moreau's law" in sentence for sentence in motion.termination.diagnostics)
    assert [motion["a_dot"][-1], motion["c_dot"][-1]] == pytest.approx([-1, 1], abs=1e-9)


def test_a_pendulum_on_a_rod_hits_a_wall_as_with_events():
    """A two-sided constraint and a contact at once."""
    x, y = da.coordinates("x y")
    rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    wall = da.unilateral(x >= -0.3, restitution=0.5, name="wall")
    bob = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * y,
                    constraints=[rod, wall])  # fmt: skip
    start = {x: 0.6, y: -0.8}
    reference = da.simulate(bob, start, (0, 0.9))
    for step in (1e-2, 1e-3, 1e-4):
        motion = moved(bob, start, (0, 0.9), step)
        assert abs(motion["x"][-1] - reference["x"][-1]) < 2 * step
        assert np.abs(motion["x"] ** 2 + motion["y"] ** 2 - 1).max() < 1e-10
        assert np.abs(motion["x"] * motion["x_dot"] + motion["y"] * motion["y_dot"]).max() < 1e-10


def test_without_contacts_steps_have_order_two():
    x, y = da.coordinates("x y")
    rod = da.holonomic(x**2 + y**2 - 1, name="rod")
    bob = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * y, constraints=[rod])
    start = {x: 0.6, y: -0.8}
    reference = da.simulate(bob, start, (0, 0.7))
    errors = [
        abs(moved(bob, start, (0, 0.7), h)["x_dot"][-1] - reference["x_dot"][-1])
        for h in (1e-2, 5e-3, 2.5e-3)
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(2, abs=0.05)
    assert math.log2(errors[1] / errors[2]) == pytest.approx(2, abs=0.05)


def test_friction_in_space_as_with_events():
    """A spinning ball thrown on a table, with two tangent directions."""
    x, y, z, a, b, c = da.coordinates("x y z a b c")  # velocities a, b, c are spins: a sphere
    r = 0.1
    slips = [x.dot - r * b.dot, y.dot + r * a.dot]
    table = da.unilateral(z >= r, friction=0.2, tangent=slips, name="table")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2 + 0.4 * r**2 * (a.dot**2 + b.dot**2 + c.dot**2)) / 2
    ball = da.System([x, y, z, a, b, c], kinetic=kinetic, potential=G * z, constraints=[table])
    start = {"z": r, "x_dot": 1.0, "y_dot": 0.5, "a_dot": 20.0, "b_dot": -15.0}
    reference = da.simulate(ball, start, (0, 1.5))
    motion = moved(ball, start, (0, 1.5), 1e-2)
    for name in ("x_dot", "y_dot", "a_dot", "b_dot"):
        assert motion[name][-1] == pytest.approx(reference[name][-1], abs=1e-9)
    assert motion["x"][-1] == pytest.approx(reference["x"][-1], abs=1e-4)


def test_a_rocking_block_meets_housners_impact():
    """A slender block on its two corners: it falls back, hits, and loses speed without bouncing."""
    x, y, tilt = da.coordinates("x y tilt")
    b, h, lean = 0.1, 0.4, 0.05
    corners = []
    for name, side in (("left", -b), ("right", b)):
        height = y + side * sin(tilt) - h * cos(tilt)
        slip = x.dot + (-side * sin(tilt) + h * cos(tilt)) * tilt.dot
        corners.append(da.unilateral(height >= 0, friction=3, tangent=slip, name=name))
    inertia = (b**2 + h**2) / 3
    block = da.System([x, y, tilt], kinetic=(x.dot**2 + y.dot**2 + inertia * tilt.dot**2) / 2,
                      potential=G * y, constraints=corners)  # fmt: skip
    start = {tilt: lean, y: b * math.sin(lean) + h * math.cos(lean)}
    size, alpha = math.hypot(b, h), math.atan2(b, h)
    speed = math.sqrt(2 * 3 * G / (4 * size) * (math.cos(alpha - lean) - math.cos(alpha)))
    kept = 1 - 1.5 * math.sin(alpha) ** 2
    errors = []
    for step in (2e-3, 2e-4):
        motion = moved(block, start, (0, 0.45), step)
        errors.append(abs(np.abs(motion["tilt_dot"]).max() - speed))
        after = motion["tilt_dot"][np.argmax(np.abs(motion["tilt_dot"])) + 3 :]
        errors[-1] = max(errors[-1], abs(np.abs(after).max() - kept * speed))
    assert errors[1] < errors[0] / ORDER
    assert errors[1] < 5e-3


def test_states_between_steps_follow_the_contact():
    motion = moved(ball_on_floor(), {"x_dot": 2, "theta_dot": -10, "y": 0.1}, (0, 0.1), 1e-2)
    between = motion.sol(0.0333)
    names = [symbol.name for symbol in motion.state]
    assert between[names.index("y")] == pytest.approx(0.1, abs=1e-12)
    assert between[names.index("x_dot")] == pytest.approx(2 - 0.3 * G * 0.0333, abs=1e-9)


def test_dependent_contacts_share_their_load():
    """Two equal contacts: Gauss-Seidel needs no rank, and the block stays."""
    x, y = da.coordinates("x y")
    feet = [da.unilateral(y >= 0, friction=0.5, tangent=x.dot, name=n) for n in ("left", "right")]
    block = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * y - 3 * x,
                      constraints=feet)  # fmt: skip
    motion = moved(block, {}, (0, 1), 1e-2)
    assert abs(motion["x"][-1]) < 1e-12
    total = motion.contacts["left"].normal + motion.contacts["right"].normal
    assert total == pytest.approx(G, abs=1e-8)


def test_extreme_coefficients_and_masses():
    x, y = da.coordinates("x y")
    for mu, exact in ((0.0, 0.5), (1e6, 0.0)):
        floor = da.unilateral(y >= 0, friction=mu, tangent=x.dot, name="floor")
        block = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=G * y - x,
                          constraints=[floor])  # fmt: skip
        assert moved(block, {}, (0, 1), 1e-2)["x"][-1] == pytest.approx(exact, abs=1e-9)
    z = da.coordinates("z")
    stack = da.System(
        [y, z], kinetic=(y.dot**2 + 1e8 * z.dot**2) / 2, potential=G * (y + 1e8 * z),
        constraints=[da.unilateral(y >= 0, name="floor"), da.unilateral(z >= y, name="top")],
    )  # fmt: skip
    motion = da.simulate(stack, {}, (0, 0.1), method="moreau", step=1e-2)
    told = not motion.success or motion.statistics["unconverged_steps"] > 0
    assert told or abs(motion["z"][-1]) < 1e-9


def test_friction_of_a_given_size_as_with_events():
    phi = da.coordinates("phi")
    hinge = da.friction_loss(phi.dot, 0.15, name="hinge")
    rotor = da.System(
        [phi], kinetic=phi.dot**2 / 2, potential=phi**2 / 2, constraints=[hinge]
    )  # turns at -0.7, 0.4, and stops at -0.1
    motion = moved(rotor, {phi: 1.0}, (0, 12), 1e-3)
    assert motion["phi"][-1] == pytest.approx(-0.1, abs=1e-6)
    assert motion["phi_dot"][-1] == 0
    assert motion.contacts["hinge"].friction[0, 1000] == pytest.approx(0.15, rel=1e-12)
    assert motion.contacts["hinge"].friction[0, -2] == pytest.approx(-0.1, abs=1e-6)
    assert motion.reactions["hinge"].force[0, 1000] == pytest.approx(0.15, rel=1e-12)


def test_two_directions_share_a_limit():
    x, y = da.coordinates("x y")
    limit = da.velocity((x.dot, y.dot), friction=0.3, load=G, name="table")
    puck = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[limit])
    motion = moved(puck, {x.dot: 0.8, y.dot: 0.6}, (0, 1), 1e-3)
    assert motion["x"][-1] == pytest.approx(0.8 / (2 * 0.3 * G), abs=1e-6)
    assert motion["y"][-1] == pytest.approx(0.6 / (2 * 0.3 * G), abs=1e-6)


def test_resistance_to_rolling_has_the_impulse_of_its_contact_as_load():
    x, y, turn = da.coordinates("x y turn")
    limits = [  # the limit is stated before its load
        da.velocity(turn.dot, friction=0.002, normal="floor", name="resistance"),
        da.unilateral(y >= 0.1, friction=0.3, tangent=x.dot - 0.1 * turn.dot, name="floor"),
    ]
    ball = da.System(
        [x, y, turn],
        kinetic=(x.dot**2 + y.dot**2 + 0.004 * turn.dot**2) / 2,
        potential=G * y,
        constraints=limits,
    )
    start = {x.dot: 1.0, turn.dot: 10.0, y: 0.1}
    motion = moved(ball, start, (0, 1), 1e-3)
    assert motion["x_dot"][-1] == pytest.approx(1 - 0.002 * G / (0.1 * 1.4), abs=1e-12)
    flying = moved(ball, start | {y: 2.0}, (0, 0.5), 1e-3)
    assert flying["turn_dot"][-1] == 10
    assert np.all(flying.contacts["resistance"].friction == 0)


def test_what_time_steps_refuse():
    x = da.coordinates("x")
    ball = da.System([x], kinetic=x.dot**2 / 2, constraints=[da.unilateral(x >= 0, name="wall")])
    with pytest.raises(StartError, match="breaks the one-sided constraint"):
        da.simulate(ball, {x: -0.1}, (0, 1), method="moreau", step=0.1)
    with pytest.raises(ModelError, match="forwards in time"):
        da.simulate(ball, {x: 0.1}, (1, 0), method="moreau", step=0.1)
    poisson = da.unilateral(x >= 0, law="poisson", name="wall")
    other = da.System([x], kinetic=x.dot**2 / 2, constraints=[poisson])
    with pytest.raises(FormError, match="Poisson"):
        da.simulate(other, {x: 0.1}, (0, 1), method="moreau", step=0.1)
    pendulum = da.System([x], kinetic=x.dot**2 / 2, potential=sqrt(1 + x**2))
    with pytest.raises(FormError, match="positions and velocities"):
        da.simulate(pendulum, {x: 0.1}, (0, 1), method="moreau", form="hamilton", step=0.1)
    y = da.coordinates("y")
    rail = [da.holonomic(y, name="rail"), da.velocity(x.dot, friction=0.1, normal="rail", name="f")]
    bead = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=rail)
    with pytest.raises(FormError, match="reaction of a two-sided constraint"):
        da.simulate(bead, {x.dot: 1.0}, (0, 1), method="moreau", step=0.1)
