"""Systems of the gallery whose motion is known in closed form, at other parameters than the
gallery's.
"""

from __future__ import annotations

import numpy as np
from reference_motions import distance

import dalembert as da

TIMES = np.linspace(0.0, 3.0, 13)


def run(name: str, **options: object) -> da.Motion:
    """A gallery system at `TIMES`, to twelve digits."""
    return da.simulate(
        da.gallery.load(name), **({"at": TIMES, "span": (0.0, 3.0), "rtol": 1e-12} | options)
    )


def test_the_spherical_pendulum_keeps_its_vertical_angular_momentum() -> None:
    motion = run(
        "spherical-pendulum",
        parameters={"m": 2.5, "L": 1.3},
        start={"x": 0.5, "z": 1.2, "p_x": 0.0, "p_z": 0.0},
    )
    assert np.ptp(motion["angular_momentum"]) < 1e-10
    assert np.ptp(motion.energy) < 1e-9


def test_the_nonholonomic_particle() -> None:
    """p_x = c / sqrt(1 + z^4) and p_z constant, whatever the mass (Udwadia, eqs. 43 to 46)."""
    motion = run("nonholonomic-particle", parameters={"m": 3.0})
    z = 0.5 + 0.8 / 3.0 * TIMES
    assert distance(motion["z"], z) < 1e-11
    assert distance(motion["p_x"], np.sqrt((1 + 0.5**4) / (1 + z**4))) < 1e-11
    assert distance(motion["p_y"], z**2 * np.sqrt((1 + 0.5**4) / (1 + z**4))) < 1e-11


def test_the_two_particles_on_the_incline() -> None:
    """The rod turns at (w1 - w2) / L and w_i' = -g sin(alpha) cos(beta) (Udwadia, eqs. 47 to
    66).
    """
    w1, w2, L, m1, m2, alpha = 0.8, -0.7, 1.5, 0.6, 1.9, 0.3
    motion = run(
        "two-particles-incline",
        parameters={"m1": m1, "m2": m2, "L": L, "alpha": alpha},
        start={"x1": L, "p_y1": m1 * w1, "p_y2": m2 * w2},
    )
    rate = (w1 - w2) / L
    angle = np.unwrap(np.arctan2(motion["y1"] - motion["y2"], motion["x1"] - motion["x2"]))
    assert distance(angle, rate * TIMES) < 1e-10
    speed = w1 - 9.81 * np.sin(alpha) * np.sin(rate * TIMES) / rate
    assert distance(motion["x1_dot"], -speed * np.sin(rate * TIMES)) < 1e-10
    assert distance(motion["y1_dot"], speed * np.cos(rate * TIMES)) < 1e-10


def test_a_homogeneous_rheonomic_constraint_keeps_the_energy() -> None:
    motion = run(
        "driven-double-pendulum", parameters={"m2": 0.4, "l1": 0.7, "alpha": -1.2, "omega": 3.3}
    )
    assert np.ptp(motion.energy) < 1e-9 * np.abs(motion.energy).max()


def test_the_forced_oscillator() -> None:
    M, K, C, F0, Omega, u0, v0 = 1.7, 20.0, 0.9, 2.0, 3.1, -0.3, 0.4
    values = {"M": M, "K": K, "C": C, "F0": F0, "Omega": Omega}
    motion = run("forced-oscillator", parameters=values, start={"u": u0, "u_dot": v0})
    response = F0 / (K - M * Omega**2 + 1j * C * Omega)
    decay, ringing = C / (2 * M), np.sqrt(K / M - (C / (2 * M)) ** 2)
    a = u0 - response.real
    b = (v0 - (1j * Omega * response).real + decay * a) / ringing
    transient = np.exp(-decay * TIMES) * (a * np.cos(ringing * TIMES) + b * np.sin(ringing * TIMES))
    assert distance(motion["u"], transient + (response * np.exp(1j * Omega * TIMES)).real) < 1e-11


def test_the_printed_constraint_of_the_elastic_pendulum_is_integrable() -> None:
    motion = run(
        "elastic-pendulum-printed", parameters={"b": 2.0, "l": 1.4}, start={"theta_dot": 0.7}
    )
    assert np.ptp(motion["leaf"]) < 1e-10


def test_the_elastic_pendulum_bounces_off_the_wall() -> None:
    scenario = da.gallery.load("elastic-pendulum-wall")
    motion = da.simulate(scenario)
    reach = (scenario.parameters["l"] + motion["u"]) * np.sin(motion["theta"])
    assert motion.success
    assert reach.max() < scenario.parameters["w"] + 1e-8
    assert reach.max() > scenario.parameters["w"] - 1e-3
    assert (np.diff(motion.energy) < 1e-7).all()
    assert motion.energy[-1] < motion.energy[0] - 1e-3


def test_the_linked_particles_fall_and_spin_evenly() -> None:
    motion = run("linked-particles", parameters={"m1": 0.7, "m2": 1.1, "g": 3.0})
    height = (0.7 * motion["x2"] + 1.1 * motion["x4"]) / 1.8
    rise = (0.7 * 2.0 + 1.1 * -0.5) / 1.8
    assert distance(height, rise * TIMES - 1.5 * TIMES**2) < 1e-10
    assert distance(motion["u3"], np.full(TIMES.shape, -2.5)) < 1e-10
    assert distance(motion["distance_squared"], np.ones(TIMES.shape)) < 1e-10


def test_appells_particle() -> None:
    m, g, a = 2.0, 3.7, 0.8
    motion = run(
        "appell",
        parameters={"m": m, "g": g, "a": a},
        start={"q3_dot": 4.0},
        span=(0, 2),
        at=TIMES[TIMES <= 2],
    )
    speed = 5 - g * a / (1 + a**2) * motion.t
    assert distance(motion["q1_dot"], 0.6 * speed) < 1e-10
    assert distance(motion["q3_dot"], a * speed) < 1e-10
    assert (
        distance(
            motion.reactions["slope"].multiplier[0], np.full(motion.t.shape, m * g / (1 + a**2))
        )
        < 1e-10
    )


def test_the_upright_disk_rolls_straight_or_spins_in_place() -> None:
    straight = run(
        "rolling-disk",
        start={
            "theta": 0.0,
            "theta_dot": 0.0,
            "phi": 0.0,
            "phi_dot": 0.0,
            "x_dot": -1.5,
            "y_dot": 0,
        },
    )
    assert distance(straight["x"], -1.5 * TIMES) < 1e-11
    assert np.abs(straight["theta"]).max() < 1e-12
    spinning = run(
        "rolling-disk",
        start={
            "theta": 0.0,
            "theta_dot": 0.0,
            "phi": 0.0,
            "psi_dot": 0.0,
            "x_dot": 0.0,
            "y_dot": 0.0,
        },
    )
    assert distance(spinning["phi"], 0.7 * TIMES) < 1e-11


def test_the_particle_in_a_potential_stays_within_its_bound() -> None:
    """|q| <= r0 cosh(s t) + (r0' / s) sinh(s t), s = sqrt(2 b), r0' = sqrt(2 (E/m + b r0^2))
    (Bloch, section 2.1).
    """
    m, b = 1.8, 0.3
    motion = run("particle-in-potential", parameters={"m": m, "b": b, "c": 1.1})
    r0, s = motion["radius"][0], np.sqrt(2 * b)
    rate = np.sqrt(2 * (motion.energy[0] / m + b * r0**2))
    assert (
        motion["radius"] <= r0 * np.cosh(s * TIMES) + rate / s * np.sinh(s * TIMES) + 1e-12
    ).all()


def test_the_blow_up_is_reported_at_its_time() -> None:
    for eps in (1.0, 2.0, 3.0):
        motion = da.simulate(
            da.gallery.load("blow-up"), parameters={"eps": eps}, start={"q_dot": eps / 2}
        )
        assert motion.outcome is da.Outcome.BLEW_UP
        assert 0.99 < motion.t[-1] < 1.0 + 1e-6
        early = motion.t < 0.9
        assert distance(motion["q"][early], (1 - motion.t[early]) ** (-eps / 2)) < 1e-7


def test_the_planar_bodies_keep_their_angular_momentum() -> None:
    values = {
        "m1": 0.7,
        "m3": 1.4,
        "I2": 0.6,
        "d12y": 0.3,
        "d21x": -0.8,
        "d23y": -0.4,
        "d32x": -0.5,
        "d32y": 0.2,
    }
    motion = run("three-planar-bodies", parameters=values)
    assert np.ptp(motion["p_theta1"] + motion["p_theta2"] + motion["p_theta3"]) < 1e-11
    assert np.ptp(motion.energy) < 1e-11


def test_the_constrained_particle() -> None:
    motion = run(
        "constrained-particle",
        parameters={"m": 0.3},
        start={"y": 0.4, "x_dot": 0.8, "y_dot": -0.5, "z_dot": 0.32},
    )
    assert distance(motion["y"], 0.4 - 0.5 * TIMES) < 1e-12
    assert distance(motion["noether"], np.full(TIMES.shape, 0.8 * np.sqrt(1 + 0.4**2))) < 1e-11


def test_the_snakeboard_conserves_what_nobody_pushes() -> None:
    motion = run("snakeboard", parameters={"m": 2.0, "J0": 0.4})
    for name in ("p_psi", "p_phi", "energy"):
        assert np.ptp(motion[name]) < 1e-11, name
    root = np.sqrt(1 - 0.4 / 2.0 * np.sin(motion["phi"]) ** 2)
    assert np.ptp(motion["theta_dot"] * root / np.sin(motion["phi"])) < 1e-11


def test_the_sleigh_tends_to_a_straight_line() -> None:
    """With v = E sin(s), w = F cos(s): v^2 + (I/m + a^2) w^2 is constant, v grows and w dies
    out.
    """
    motion = run(
        "chaplygin-sleigh",
        parameters={"m": 2.0, "I": 0.5, "a": 0.4},
        span=(0, 20),
        at=np.linspace(0, 20, 41),
    )
    v, w = motion["speed"], motion["theta_dot"]
    assert np.ptp(v**2 + (0.25 + 0.16) * w**2) < 1e-11
    assert (np.diff(v) > -1e-12).all()
    assert abs(w[-1]) < 1e-3


def test_the_ball_on_the_plate_moves_on_a_circle() -> None:
    k2, r, Omega = 0.4, 0.5, 1.7
    turn_x = (Omega * 1.0 - 0.5) / r
    motion = run(
        "ball-on-rotating-plate",
        parameters={"k2": k2, "r": r, "Omega": Omega},
        start={"turn_x_dot": turn_x},
    )
    rate = k2 * Omega / (k2 + r**2)
    assert distance(motion["x_dot"], -0.5 * np.sin(rate * TIMES)) < 1e-11
    assert distance(motion["y_dot"], 0.5 * np.cos(rate * TIMES)) < 1e-11
    assert np.ptp(motion["omega_z"]) < 1e-12
    assert np.ptp(motion.energy) > 1e-2
