"""Motions through positions where constraints lose rank: the branch, the energy, the refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.gallery.bodies import four_bars
from dalembert.integrate.events.singular_crossing import HermitePolynomial

VALUES = {"m": 1.0, "l": 1.0, "g": 9.81}


def upright(loops: int) -> dict[str, float]:
    """Cranks above their joints that turn at 1 rad/s, as in the IFToMM benchmark A02."""
    start = {f"a{k}": np.pi for k in range(loops + 1)}
    return start | {f"b{k}": -np.pi for k in range(1, loops + 1)} | {"a0_dot": 1.0}


def pendulum(loops: int, times: np.ndarray) -> np.ndarray:
    """Angle and rate of the pendulum that parallel cranks are, by SciPy."""
    stiffness = ((loops + 1) / 2 + loops) / ((loops + 1) / 3 + loops) * 9.81
    return solve_ivp(
        lambda t, y: [y[1], -stiffness * np.sin(y[0])],
        (0.0, float(times[-1])),
        [np.pi, 1.0],
        method="DOP853",
        rtol=3e-14,
        atol=1e-15,
        t_eval=times,
    ).y


@pytest.mark.parametrize(("loops", "coordinates"), [(1, "joint"), (5, "joint"), (1, "maximal")])
def test_four_bars_turn_through_the_position_where_all_rods_align(loops, coordinates):
    mechanism, times = four_bars.mechanism(loops), np.linspace(0.0, 4.0, 401)
    start = upright(loops)
    if coordinates == "maximal":
        start = {
            **{f"crank{k}_x": float(k) for k in range(loops + 1)},
            **{f"crank{k}_qy": 1.0 for k in range(loops + 1)},
            **{f"crank{k}_qw": 0.0 for k in range(loops + 1)},
            **{f"coupler{k}_x": k - 1.0 for k in range(1, loops + 1)},
            **{f"coupler{k}_z": 1.0 for k in range(1, loops + 1)},
            "crank0_qw_dot": -0.5,
        }
    motion = da.simulate(
        mechanism.system(coordinates),
        start,
        (0.0, 4.0),
        parameters=VALUES,
        at=times,
        through_singular=True,
    )
    assert motion.outcome == "finished"
    assert np.ptp(motion.energy) < 1e-8
    angle, rate = pendulum(loops, times)
    if coordinates == "joint":
        assert np.max(np.abs(motion["a0"] - angle)) < 1e-8
        assert np.max(np.abs(motion["a0_dot"] - rate)) < 1e-7
        assert "the branch with continuous velocity was taken" in motion.message
    else:
        assert np.max(np.abs(np.abs(motion["crank0_qw"]) - np.abs(np.cos(angle / 2)))) < 1e-8


def test_a_run_ends_before_its_velocities_are_decided_by_rounding():
    system = four_bars.mechanism(5).system()
    motion = da.simulate(system, {"a0_dot": 8.0}, (0.0, 1.0), parameters=VALUES)
    assert motion.outcome == "became singular"
    assert abs(motion["a0"][-1] - np.pi / 2) < 1e-3
    assert np.ptp(motion.energy) < 1e-7


def test_events_on_the_way_are_met_once_and_stop_a_run():
    system = four_bars.mechanism(1).system()
    level = da.event(system.coordinates[0] - 3 * np.pi / 2, name="level")
    options = {"parameters": VALUES, "through_singular": True}
    motion = da.simulate(system, upright(1), (0.0, 2.0), events=[level], **options)
    assert len(motion.t_events[0]) == 1
    ending = da.event(system.coordinates[0] - 3 * np.pi / 2, terminal=True)
    stopped = da.simulate(system, upright(1), (0.0, 2.0), events=[ending], **options)
    assert stopped.outcome == "stopped by event"
    assert abs(stopped["a0"][-1] - 3 * np.pi / 2) < 1e-9
    assert abs(stopped.t[-1] - motion.t_events[0][0]) < 1e-9


def particle(curve):
    x, y = da.coordinates("x y")
    kinetic = (x.dot**2 + y.dot**2) / 2
    return da.System(
        coordinates=[x, y], kinetic=kinetic, constraints=[da.holonomic(curve(x, y), name="c")]
    )


@pytest.mark.parametrize(
    ("curve", "reason"),
    [
        (lambda x, y: y**2 - x**3, "it was not crossed, because"),
        (lambda x, y: y**2 - x**4, "branches touch there"),
    ],
)
def test_cusps_and_touching_branches_end_a_motion(curve, reason):
    start = {"x": 1.0, "y": 1.0, "x_dot": -1.0}
    motion = da.simulate(particle(curve), start, (0.0, 5.0), through_singular=True)
    assert motion.outcome == "became singular"
    assert reason in motion.message
    assert np.ptp(motion.energy) < 1e-8


def test_a_particle_keeps_to_its_branch_where_curves_cross():
    """The parabola y = x^2 + x meets the line y = 0 at the origin."""
    system = particle(lambda x, y: y * (y - x**2 - x))
    start = {"x": 1.0, "y": 2.0, "x_dot": -1.0}
    motion = da.simulate(system, start, (0.0, 2.0), through_singular=True)
    assert motion.outcome == "finished"
    assert motion["x"][-1] < -0.5
    assert np.max(np.abs(motion["y"] - motion["x"] ** 2 - motion["x"])) < 1e-9


def test_a_saved_motion_keeps_the_option(tmp_path):
    system = four_bars.mechanism(1).system()
    options = {"parameters": VALUES, "through_singular": True}
    motion = da.simulate(system, upright(1), (0.0, 1.0), **options)
    motion.save(tmp_path / "m.nc")
    loaded = da.load(tmp_path / "m.nc")
    assert loaded.call["through_singular"]
    assert [segment.interpolated for segment in loaded.segments] == [False, True, False]
    (crossing,) = (segment for segment in loaded.segments if segment.interpolated)
    times = np.linspace(crossing.step_t[0], crossing.step_t[-1], 21)
    angle, rate = pendulum(1, times)
    for kept in (motion, loaded):
        states = kept.sol(times)
        assert np.max(np.abs(states[0] - angle)) < 1e-8
        assert np.max(np.abs(states[3] - rate)) < 1e-7


def test_derivatives_of_a_motion_across_a_singular_position_are_refused():
    system = four_bars.mechanism(1).system()
    motion = da.simulate(system, upright(1), (0.0, 1.0), parameters=VALUES, through_singular=True)
    with pytest.raises(da.errors.ModelError, match="end the span before that position"):
        da.analysis.sensitivities(motion, ["g"], given=["a0", "a0_dot"])


def test_many_runs_pass_as_one_does():
    system = four_bars.mechanism(1).system()
    start = upright(1) | {"a0_dot": np.array([1.0, 1.5])}
    runs = da.simulate(system, start, (0.0, 2.0), parameters=VALUES, through_singular=True)
    one = da.simulate(system, upright(1), (0.0, 2.0), parameters=VALUES, through_singular=True)
    assert abs(runs.final["a0"][0] - one["a0"][-1]) < 1e-9


def test_hermite_interpolation_is_exact_for_its_degree():
    times = np.array([0.0, 0.3, 0.7])
    polynomial = HermitePolynomial.through(times, times[:, None] ** 5, 5 * times[:, None] ** 4)
    value, rate = polynomial(1.1)
    assert abs(value[0] - 1.1**5) < 1e-13
    assert abs(rate[0] - 5 * 1.1**4) < 1e-12
