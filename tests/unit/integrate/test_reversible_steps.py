"""Steps that vary with the state and stay reversible: energies, reversal to rounding, independent
implementations, and what is refused.
"""

from __future__ import annotations

import numpy as np
import pytest
from sympy import sqrt

import dalembert as da
from dalembert.errors import FormError, ModelError, RunError

x, y, z = da.coordinates("x y z")
RADIUS = sqrt(x**2 + y**2)
PLANET = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=-1 / RADIUS)
ECCENTRICITY = 0.9
START = {"x": 1 - ECCENTRICITY, "y_dot": np.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))}
PERIOD = 2 * np.pi
SIZE = RADIUS**1.5


def orbit(method: str, step: float, turns: float, adapt=SIZE, start=START, **options) -> da.Motion:
    motion = da.simulate(
        PLANET, start, (0, turns * PERIOD), method=method, step=step, adapt=adapt, **options
    )
    assert motion.success, motion.message
    return motion


def hand_made(
    step: float, until: float, reversible: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Verlet's method in plain Python, with the reversible control or with h = step * s at the
    beginning of each step.
    """
    a, b, u, v = START["x"], 0.0, 0.0, START["y_dot"]
    time, rows, density = 0.0, [], (a * a + b * b) ** -0.75
    half = -0.75 * step * (a * u + b * v) / (a * a + b * b)
    density += half
    while time < until:
        r = a * a + b * b
        rows.append((time, a, b, u, v))
        h = step / density if reversible else step * r**0.75
        u, v = u - h / 2 * a / r**1.5, v - h / 2 * b / r**1.5
        a, b = a + h * u, b + h * v
        r = a * a + b * b
        u, v = u - h / 2 * a / r**1.5, v - h / 2 * b / r**1.5
        time += h
        density -= 1.5 * step * (a * u + b * v) / r
    table = np.array(rows).T
    energy = (table[3] ** 2 + table[4] ** 2) / 2 - 1 / np.hypot(table[1], table[2])
    return table[0], table[1:], energy


def drift(times: np.ndarray, energy: np.ndarray) -> float:
    """The change of the energy over the whole time, by a straight line through means over whole
    turns.
    """
    turns = (times / PERIOD).astype(int)
    means = np.array([energy[turns == k].mean() for k in range(turns.max())])
    return float(np.polyfit(np.arange(len(means)), means, 1)[0] * len(means))


def test_it_is_the_control_of_the_paper() -> None:
    motion = orbit("rattle2", 0.02, 3)
    times, states, _ = hand_made(0.02, 3 * PERIOD, reversible=True)
    assert np.allclose(motion.t[: len(times)], times, atol=1e-10)
    assert np.allclose(motion.y[:, : len(times)], states, atol=1e-9)


def test_the_energy_stays_where_an_ordinary_control_drifts() -> None:
    motion = orbit("rattle2", 0.05, 60)
    ours = drift(motion.t[:-1], motion.energy[:-1])
    times, _, energy = hand_made(0.05, 60 * PERIOD, reversible=False)
    ordinary = drift(times, energy)
    assert abs(ordinary) > 1e-3
    assert abs(ours) < abs(ordinary) / 30


def test_steps_follow_the_size() -> None:
    motion = orbit("rattle4", 0.02, 5)
    steps = np.diff(motion.t)[:-1]
    middle = np.hypot(*(motion.y[:2, :-2] + motion.y[:2, 1:-1]) / 2) ** 1.5
    assert np.allclose(steps / middle, 0.02, rtol=0.01)
    assert steps.max() / steps.min() > 80
    assert motion.t[-1] == 5 * PERIOD
    equal = da.simulate(
        PLANET, START, (0, 5 * PERIOD), method="rattle4", step=5 * PERIOD / len(motion.t)
    )
    assert np.ptp(equal.energy) > 100 * np.ptp(motion.energy)


@pytest.mark.parametrize(
    "method",
    ["rattle2", "rattle6", "gauss4", "lobatto2", "lobatto6", "galerkin4", "variational-midpoint"],
)
def test_reversed_velocities_lead_back_to_the_start(method: str) -> None:
    there = orbit(method, 0.05, 4)
    last = there.y[:, -2] * [
        1,
        1,
        -1,
        -1,
    ]  # the step that ends at the end of the span is a shorter one
    start = dict(zip((symbol.name for symbol in there.state), last, strict=True))
    steps = da.ReversibleSteps(SIZE, density=there.statistics["density"])
    back = da.simulate(PLANET, start, (0, there.t[-2]), method=method, step=0.05, adapt=steps)
    assert len(back.t) == len(there.t) - 1
    assert np.allclose(back.y[:, -1] * [1, 1, -1, -1], there.y[:, 0], atol=2e-11)
    if method == "rattle2":  # without the density that the run ended with, its steps are others
        afresh = da.simulate(PLANET, start, (0, there.t[-2]), method=method, step=0.05, adapt=SIZE)
        assert np.abs(afresh.y[:, -1] * [1, 1, -1, -1] - there.y[:, 0]).max() > 1e-6


def test_time_may_run_backwards() -> None:
    there = orbit("rattle2", 0.05, 2)
    start = dict(zip((symbol.name for symbol in there.state), there.y[:, -2], strict=True))
    steps = da.ReversibleSteps(SIZE, density=there.statistics["density"])
    back = da.simulate(PLANET, start, (there.t[-2], 0), method="rattle2", step=0.05, adapt=steps)
    assert np.allclose(back.y[:, -1], there.y[:, 0], atol=1e-11)


@pytest.mark.parametrize("method", ["rattle2", "lobatto4"])
def test_the_length_of_arc(method: str) -> None:
    motion = orbit(method, 0.1, 3, "arclength")
    radius, steps = np.hypot(*motion.y[:2]), np.diff(motion.t)
    speed = np.sqrt(motion.y[2] ** 2 + motion.y[3] ** 2 + radius**-4)
    assert np.allclose(steps[:-1] * (speed[:-2] + speed[1:-1]) / 2, 0.1, rtol=0.15)
    flow = da.Flow({x: y, y: -(x**3)})
    around = da.simulate(flow, {x: 3.0}, (0, 5), method="gauss4", step=0.05, adapt="arclength")
    lengths = np.hypot(*np.diff(around.y))
    assert np.allclose(lengths[:-1], 0.05, rtol=0.05)


@pytest.mark.long
def test_a_constrained_system_keeps_its_constraints() -> None:
    """A particle on a sphere that a strong centre attracts."""
    near = sqrt((x - 1) ** 2 + y**2 + z**2 + 0.01)
    bead = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=-1 / near,
        constraints=[da.holonomic(x**2 + y**2 + z**2 - 1, name="sphere")],
    )
    start = {"x": -0.6, "y": 0.8, "z": 0.0, "z_dot": 0.05}
    for method in ("rattle4", "lobatto4"):
        motion = da.simulate(bead, start, (0, 50), method=method, step=0.02, adapt=near)
        assert motion.worst_residual["position"] < 1e-14
        assert motion.worst_residual["velocity"] < 1e-13
        assert np.ptp(motion.energy) < 1e-5


@pytest.mark.parametrize("method", ["dla", "nonholonomic-leapfrog4", "energy2"])
def test_constraints_of_velocities(method: str) -> None:
    slider = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=(x**2 + 2 * y**2 + z**2) / 2 + x**2 * z**2,
        constraints=[da.velocity(z.dot - y * x.dot, name="slide")],
    )
    start, size = {"x": 0.6, "y": 0.3, "z": 0.1, "x_dot": 0.2, "y_dot": 0.5}, 1 / (1 + x**2 + y**2)
    there = da.simulate(slider, start, (0, 10), method=method, step=0.05, adapt=size)
    signs = [1, 1, 1, -1, -1, -1]
    turned = dict(zip((symbol.name for symbol in there.state), there.y[:, -2] * signs, strict=True))
    steps = da.ReversibleSteps(size, density=there.statistics["density"])
    back = da.simulate(slider, turned, (0, there.t[-2]), method=method, step=0.05, adapt=steps)
    assert np.allclose(back.y[:, -1] * signs, there.y[:, 0], atol=1e-12)
    assert there.worst_residual["velocity"] < 1e-14


def test_times_between_steps() -> None:
    asked = np.linspace(0, 2 * PERIOD, 9)
    motion = orbit("rattle4", 0.02, 2)
    at = orbit("rattle4", 0.02, 2, at=asked)
    assert np.array_equal(at.t, asked)
    assert np.allclose(at.y, motion.sol(asked), atol=1e-10)
    few = orbit("rattle4", 0.02, 2, every=10)
    assert np.allclose(few.y[:, 1], motion.y[:, 10], atol=1e-13)
    with pytest.raises(RunError, match="store every step"):
        few.sol(1.0)


def test_it_comes_back_from_a_file(tmp_path) -> None:
    motion = orbit("rattle4", 0.02, 1)
    motion.save(tmp_path / "orbit.nc")
    loaded = da.load(tmp_path / "orbit.nc")
    assert np.array_equal(loaded.y, motion.y)
    again = da.simulate(loaded.scenario)
    assert np.allclose(again.y, motion.y, atol=1e-12)


def test_a_density_that_vanishes_ends_with_a_sentence() -> None:
    motion = da.simulate(PLANET, START, (0, 10), method="rattle2", step=5.0, adapt=SIZE)
    assert not motion.success
    assert "smaller step" in motion.message


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"method": "dop853", "adapt": SIZE}, ModelError, "chooses its steps"),
        ({"method": "rattle2", "step": 0.1, "adapt": "area"}, ModelError, "area"),
        ({"method": "rattle2", "step": 0.1, "adapt": z}, ModelError, "no symbol"),
        ({"method": "rattle2", "step": 0.1, "adapt": 3}, ModelError, "expression"),
        ({"method": "rattle2", "step": 0.1, "adapt": -SIZE}, ModelError, "positive"),
        ({"method": "rattle2", "adapt": SIZE}, ModelError, "needs a step"),
        (
            {"method": "gauss2", "step": 0.1, "adapt": "arclength", "form": "kane"},
            FormError,
            "symmetric",
        ),
    ],
)
def test_what_it_cannot_do_is_refused(options, kind, words) -> None:
    with pytest.raises(kind, match=words):
        da.simulate(PLANET, START, (0, 1), **options)


def test_methods_without_a_symmetric_step_are_refused() -> None:
    spinning = da.gallery.load("rigid-body")
    with pytest.raises(FormError, match="symmetric"):
        da.simulate(spinning, method="rkmk4", step=0.1, span=(0, 1), adapt="arclength")
