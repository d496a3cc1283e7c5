"""Rolling as a joint, against the gallery's own energies, Newton and Euler, and exact integrals."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
import whipple_bicycle
from dalembert.gallery.wheels.whipple_bicycle import mechanism as bicycle

b = da.bodies


def state_of(motion, system):
    names = [q.name for q in system.coordinates]
    return {name: motion[name][0] for q in names for name in (q, f"{q}_dot")}


def rates(system, values, parameters):
    kernel = da.derive(system, "lagrange").compile()
    state = [values[symbol.name] for symbol in (*system.coordinates, *system.velocities)]
    found = kernel.rates(0.0, state, [parameters[p.name] for p in kernel.parameters])
    return dict(zip((q.name for q in system.coordinates), found[len(state) // 2 :], strict=True))


def test_the_bicycle_moves_as_its_energies_say():
    reference, values = whipple_bicycle.system(), whipple_bicycle.BENCHMARK
    start = {"x_dot": 5, "phi": 0.2, "delta": 0.3, "phi_dot": 0.4, "delta_dot": -0.6, "psi": 0.3}
    state = state_of(da.simulate(reference, start, (0, 0.001), parameters=values), reference)
    expected = rates(reference, state, values)
    found = rates(bicycle().system(), state, values)
    worst = max(abs(found[q] - expected[q]) for q in expected)
    assert worst < 1e-12 * max(map(abs, expected.values()))


@pytest.mark.parametrize(
    "speed", [5, *(pytest.param(speed, marks=pytest.mark.long) for speed in (1, 4, 6, 10))]
)
def test_the_bicycle_has_its_published_eigenvalues(speed):
    found = da.linearise(
        bicycle().system(), {"x_dot": speed}, whipple_bicycle.BENCHMARK, symmetry=()
    )
    for value in whipple_bicycle.PUBLISHED[speed]:
        assert min(abs(found.eigenvalues - value)) < 1e-12


def disk(angles=None, surface=None, **names):
    wheel = b.Body("wheel", mass=1.0, inertia=(0.0625, 0.125, 0.0625))
    moves = b.free("w", b.ground(), wheel, angles=angles, **names)
    rolls = b.rolling("edge", wheel, surface or b.disk(0.5), on=b.ground())
    return wheel, b.Mechanism([moves, rolls], gravity=(0, 0, -9.81))


def test_a_disk_rolls_as_in_the_gallery():
    """The gallery's disk has the tilt theta from the vertical, heading phi, turn psi."""
    scenario = da.gallery.load("rolling-disk")
    own = da.simulate(scenario, span=(0, 2), rtol=1e-12)
    start = scenario.start
    # centre of the gallery's disk, and its axis, as functions of its coordinates
    theta, phi = start["theta"], start["phi"]
    th, ph, xd, yd = (start[f"{q}_dot"] for q in ("theta", "phi", "x", "y"))
    r = 0.5
    v = np.array(
        [
            xd - r * (np.cos(theta) * th * np.sin(phi) + np.sin(theta) * np.cos(phi) * ph),
            yd + r * (np.cos(theta) * th * np.cos(phi) - np.sin(theta) * np.sin(phi) * ph),
            -r * np.sin(theta) * th,
        ]
    )
    _, mechanism = disk("zxy", coordinates="x y z phi tilt turn")
    system = mechanism.system()
    state = {
        "x": -r * np.sin(theta) * np.sin(phi),
        "y": r * np.sin(theta) * np.cos(phi),
        "z": r * np.cos(theta),
        "phi": phi,
        "tilt": -theta,
        "turn": 0.0,
        "x_dot": v[0],
        "y_dot": v[1],
        "z_dot": v[2],
        "phi_dot": ph,
        "tilt_dot": -th,
        "turn_dot": -start["psi_dot"],
    }
    found, expected = rates(system, state, {}), rates(scenario.system, start, scenario.parameters)
    assert found["phi"] == pytest.approx(expected["phi"], abs=1e-12)
    assert found["tilt"] == pytest.approx(-expected["theta"], abs=1e-12)
    assert found["turn"] == pytest.approx(-expected["psi"], abs=1e-12)
    motion = da.simulate(system, state, (0, 2), rtol=1e-12, atol=1e-12)
    for key, other in (("edge_contact_x", "x"), ("edge_contact_y", "y"), ("phi", "phi")):
        assert motion[key][-1] == pytest.approx(own[other][-1], abs=1e-8)


def test_quaternions_and_angles_roll_alike_and_stay_on_the_ground():
    results = []
    for angles in (None, "zxy"):
        _, mechanism = disk(angles)
        start = {"w_z": 0.5, "w_x_dot": 1.0}
        start |= {"w_qx": 0.05} if angles is None else {"w_2": 2 * np.arctan2(0.05, 1)}
        motion = da.simulate(mechanism.system(), start, (0, 2), rtol=1e-11, atol=1e-11)
        results.append(motion)
        assert abs(motion["edge_contact_z"]).max() < 1e-12
    assert np.ptp(results[0].energy) < 1e-8 * abs(results[0].energy[0])


@pytest.mark.long
def test_a_thin_torus_and_an_ellipsoid_tend_to_disk_and_sphere():
    heights = {}
    for name, surface in {
        "disk": b.disk(0.5),
        "torus": b.torus(0.5, 1e-9),
        "sphere": b.sphere(0.5),
        "ellipsoid": b.ellipsoid(0.5, 0.5, 0.5),
        "implicit": b.implicit(lambda x, y, z: x**2 + y**2 + z**2 - 0.25),
    }.items():
        _, mechanism = disk("zxy", surface)
        start = {"w_z": 0.5, "w_x_dot": 1.0, "w_2": 0.2, "w_1_dot": 0.3}
        if name == "implicit":
            start |= {"edge_sz": -0.4}
        motion = da.simulate(mechanism.system(), start, (0, 1), rtol=1e-11, atol=1e-11)
        heights[name] = [motion[f"w_{k}"][-1] for k in ("x", "y", "z", "1", "2")]
    assert np.allclose(heights["disk"], heights["torus"], atol=1e-6)
    assert np.allclose(heights["sphere"], heights["ellipsoid"], atol=1e-9)
    assert np.allclose(heights["sphere"], heights["implicit"], atol=1e-8)


@pytest.mark.long
def test_a_ball_in_a_bowl_stays_in_it_and_oscillates_as_a_pendulum():
    """Small oscillations of a rolling ball: omega^2 = g / ((R - r) (1 + 2/5))."""
    R, r = 2.0, 0.5
    ball = b.Body("ball", mass=1.3, inertia=(0.4 * 1.3 * r**2,) * 3)
    moves = b.free("m", b.ground(), ball)
    bowl = b.implicit(lambda x, y, z: x**2 + y**2 + z**2 - R**2, inside=True)
    dish = b.height_field(lambda x, y: -((R**2 - x**2 - y**2) ** 0.5))
    ends = []
    for ground, extra in ((bowl, {"c_sz": -R}), (dish, {})):
        rolls = b.rolling("c", ball, b.sphere(r), on=b.ground(), ground=ground)
        system = b.Mechanism([moves, rolls], gravity=(0, 0, -9.81)).system()
        period = 2 * np.pi / np.sqrt(9.81 / ((R - r) * 1.4))
        start = {"m_x": 1e-4, "m_z": -(R - r), **extra}
        motion = da.simulate(system, start, (0, period), rtol=1e-11, atol=1e-13)
        ends.append(motion["m_x"][-1])
        assert abs(motion["m_x"][-1] / motion["m_x"][0] - 1) < 1e-4
    assert abs(ends[0] - ends[1]) < 1e-10


def test_a_ball_rolls_on_a_ball_that_is_held():
    """On top of a sphere, rolling: the height falls, the distance of centres stays."""
    top = b.Body("top", mass=1.0, inertia=(0.4,) * 3)
    moves = b.free("m", b.ground(), top)
    other = b.implicit(lambda x, y, z: x**2 + y**2 + z**2 - 4)
    rolls = b.rolling("c", top, b.sphere(1), on=b.ground(), ground=other)
    system = b.Mechanism([moves, rolls], gravity=(0, 0, -9.81)).system()
    motion = da.simulate(system, {"m_z": 3, "m_x": 0.1, "c_sz": 2}, (0, 1), rtol=1e-11, atol=1e-11)
    distance = np.sqrt(sum(motion[f"m_{k}"] ** 2 for k in "xyz"))
    assert np.allclose(distance, 3, atol=1e-11)
    square = sum(motion[f"m_{k}_dot"] ** 2 for k in "xyz")
    fallen = motion["m_z"][0] - motion["m_z"]
    assert np.allclose(square, 10 / 7 * 9.81 * fallen, atol=1e-9)


def test_a_ball_on_a_turning_plate_follows_the_gallery():
    """A ball on a turntable: its centre turns on a circle with 2/7 of the plate's rate."""
    plate = b.Body("plate")
    ball = b.Body("ball", mass=1.0, inertia=(0.4,) * 3)
    joints = [
        b.revolute("turn", b.ground(), plate, armature=1e9),
        b.free("m", b.ground(), ball),
        b.rolling("c", ball, b.sphere(1), on=plate),
    ]
    system = b.Mechanism(joints).system()
    period = 2 * np.pi / (2 / 7)
    start = {"turn_dot": 1.0, "m_x": 1.0, "m_z": 1.0, "m_y_dot": 0.3}
    motion = da.simulate(system, start, (0, period), rtol=1e-11, atol=1e-11)
    assert motion["m_x"][-1] == pytest.approx(motion["m_x"][0], abs=1e-6)
    assert motion["m_y"][-1] == pytest.approx(motion["m_y"][0], abs=1e-6)


def test_a_snakeboard_of_bodies_moves_as_the_gallery_says():
    scenario = da.gallery.load("snakeboard")
    m, r, J0, J1 = (scenario.parameters[name] for name in ("m", "r", "J0", "J1"))
    board = b.Body("board", mass=m, inertia=(1, 1, m * r**2 - J0 - 2 * J1), check=False)
    rotor = b.Body("rotor", inertia=(0, 0, J0), check=False)
    back = b.Body("back", inertia=(0, 0, J1), check=False)
    front = b.Body("front", inertia=(0, 0, J1), check=False)
    x, phi = da.coordinates("front_angle phi")
    joints = [
        b.planar("p", b.ground(), board, coordinates="x y theta"),
        b.revolute("psi", board, rotor),
        b.revolute("phi", board, back, at=(-r, 0, 0)),
        b.revolute("front_angle", board, front, at=(r, 0, 0)),
        b.coupling("mirror", x + phi),
        b.knife_edge("back_wheels", back, on=b.ground()),
        b.knife_edge("front_wheels", front, on=b.ground()),
    ]
    system = b.Mechanism(joints).system()
    start = dict(scenario.start)
    state = start | {"front_angle": -start["phi"], "front_angle_dot": -start["phi_dot"]}
    expected = rates(scenario.system, start, scenario.parameters)
    found = rates(system, state, {})
    assert all(abs(found[q] - expected[q]) < 1e-12 for q in expected)


def test_no_spin_and_slipping_are_options():
    ball = b.Body("ball", mass=1.0, inertia=(0.4,) * 3)
    moves = b.free("m", b.ground(), ball)
    for options, count in (({}, 4), ({"spins": False}, 5), ({"slips": True}, 2)):
        rolls = b.rolling("c", ball, b.sphere(1), on=b.ground(), **options)
        assert len(b.Mechanism([moves, rolls]).system().constraints) == count
    rubber = b.no_spin("rubber", ball, b.ground())
    assert len(b.Mechanism([moves, rubber]).system().constraints) == 2


def test_a_coin_on_hills_keeps_its_energy_and_its_contact():
    coin = b.Body("coin", mass=1.0, inertia=(0.0625, 0.125, 0.0625))
    hills = b.height_field(lambda x, y: 0.2 * sin(x) * cos(y))
    joints = [
        b.free("c", b.ground(), coin),
        b.rolling("edge", coin, b.disk(0.5), on=b.ground(), ground=hills),
    ]
    system = b.Mechanism(joints, gravity=(0, 0, -9.81)).system()
    start = {"c_z": 0.6, "c_x_dot": 2.0, "c_qx": 0.02}
    motion = da.simulate(system, start, (0, 3), rtol=1e-11, atol=1e-11)
    assert np.ptp(motion.energy) < 1e-7 * abs(motion.energy[0])
    x, y, z = (motion[f"edge_contact_{k}"] for k in "xyz")
    assert abs(z - 0.2 * np.sin(x) * np.cos(y)).max() < 1e-12


def test_a_start_is_not_completed_through_derivatives_that_are_rounding():
    """The height of a torus does not depend on its heading and turn, up to rounding."""
    _, mechanism = disk("zxy", b.torus(0.5, 1e-3))
    start = {"w_z": 0.5, "w_x_dot": 1.0, "w_2": 0.2, "w_1_dot": 0.3}
    motion = da.simulate(mechanism.system(), start, (0, 0.1))
    assert max(abs(motion[f"w_{k}"][0]) for k in ("1", "3")) < 1e-6
