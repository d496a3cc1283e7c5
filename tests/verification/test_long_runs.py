"""Every method with fixed steps over many steps: measured orders, energies that stay, rounding, and
runs of any length.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.integrate.methods.table import fixed_methods

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "benchmarks")]

import long_run  # noqa: E402
import method_problems as measured  # noqa: E402

PAIRS = [(kind, method) for kind, methods in measured.SUITS.items() for method in methods]
AT_HOME = [(measured.HOME[method], method) for method in fixed_methods()]
QUICK = (
    "gauss4",
    "rattle2",
    "rattle6",
    "lobatto4",
    "galerkin4",
    "variational-midpoint",
    "isospectral4",
    "rkmk4",
    "rk4",
    "dla",
    "energy2",
)


def is_steady(found: Any, method: str, steps: int) -> bool:
    """Whether a line through the energy rises by less than a part of its oscillation, or by no more
    than rounding does.
    """
    return abs(found.rise) < 0.1 * found.largest + 1e-15 * steps**0.5 * measured.claimed_order(
        method
    )


def test_every_method_has_a_problem_and_a_place_in_the_documentation() -> None:
    assert {method for _, method in PAIRS} == set(fixed_methods()) == set(measured.HOME)
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    kept = json.loads((ROOT / "docs" / "methods.json").read_text(encoding="utf-8"))["methods"]
    for method in fixed_methods():
        assert f"| `{method}` |" in page
        assert abs(kept[method]["order"] - measured.claimed_order(method)) < 0.3
        assert kept[method]["steps"] >= 1_000_000


@pytest.mark.parametrize(("kind", "method"), [pair for pair in AT_HOME if pair[1] in QUICK])
def test_orders_and_energies(kind: str, method: str) -> None:
    check(kind, method, 20_000)


@pytest.mark.long
@pytest.mark.parametrize(("kind", "method"), PAIRS)
def test_orders_and_energies_over_a_million_steps(kind: str, method: str) -> None:
    check(kind, method, 1_000_000)


def check(kind: str, method: str, steps: int) -> None:
    problem = measured.PROBLEMS[kind]
    order = measured.measured_order(problem, method, measured.exact_end(problem))
    assert order == pytest.approx(measured.claimed_order(method), abs=0.3)
    found = measured.drift(problem, method, steps)
    if method in measured.DRIFTING:
        assert not is_steady(found, method, steps)
        assert abs(found.rise) > 0.5 * found.largest
    else:
        assert is_steady(found, method, steps), found
    assert found.largest > 1e-17


# -- rounding --------------------------------------------------------------------------------------


def starts(count: int) -> Any:
    return np.random.default_rng(7).uniform(0.4, 1.0, (count, 4))


def root_mean_square(runs: list[Any]) -> float:
    return float(np.sqrt(np.mean([run[-1] ** 2 for run in runs])))


def compared(steps: int, count: int) -> tuple[float, float]:
    """The error of the angular momentum after some steps, over some starts: with compensation and
    with plain sums.
    """
    ours, plain = [], []
    for start in starts(count):
        named = dict(zip(long_run.START, start, strict=True))
        ours.append(long_run.momentum_error(long_run.library_run(steps, start=named), start))
        plain.append(long_run.momentum_error(long_run.plain_run(steps, start), start))
    return root_mean_square(ours), root_mean_square(plain)


@pytest.mark.long
def test_compensated_sums_lose_less_than_plain_ones() -> None:
    ours, plain = compared(20_000, 8)
    assert plain > 1e-14
    assert ours < plain / 8


@pytest.mark.long
def test_rounding_is_a_random_walk_that_compensation_makes_shorter() -> None:
    few, many = compared(100_000, 8), compared(10_000_000, 8)
    assert many[0] < many[1] / 8
    assert many[0] < 1e-13
    growth = np.log(many[1] / few[1]) / np.log(100)
    assert 0.25 < growth < 0.8  # a bias would grow like n, a random walk like its root


@pytest.mark.long
def test_ten_million_steps_are_stored_sparsely_and_at_the_right_times() -> None:
    steps, every = 10_000_000, 100_000
    x, y = da.coordinates("x y")
    motion = da.simulate(
        long_run.well(),
        long_run.START,
        (1.0, 1.0 + steps * 0.1),
        method="rattle2",
        step=0.1,
        every=every,
        at=[1.0 + 0.1 * k for k in (1, 3_333_333, 9_999_999)],
        max_steps=steps,
    )
    assert motion.statistics["steps"] == steps
    assert len(motion.segments[0].step_t) == steps // every + 1
    times = 1.0 + 0.1 * every * np.arange(steps // every + 1)
    assert np.array_equal(motion.t, [1.0 + 0.1 * k for k in (1, 3_333_333, 9_999_999)])
    assert np.allclose(motion.segments[0].step_t, times, rtol=4e-16, atol=0)
    momentum = motion.y[0] * motion.y[3] - motion.y[1] * motion.y[2]
    assert (
        np.ptp(momentum) < 3e-12
    )  # products with 0.1 round in one direction more often: 1e-19 a step
    assert {symbol.name for symbol in motion.state} >= {x.name, y.name}


@pytest.mark.long
def test_an_eccentric_orbit_with_reversible_steps_for_a_hundred_thousand_steps() -> None:
    """No drift, where the same method with a step read off the state drifts."""
    x, y = da.coordinates("x y")
    size = (x**2 + y**2) ** 0.75
    planet = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=-((x**2 + y**2) ** -0.5)
    )
    start = {"x": 0.1, "y_dot": 19**0.5}
    motion = da.simulate(planet, start, (0, 600.0 * np.pi), method="rattle2", step=0.02, adapt=size)
    assert len(motion.t) > 100_000
    energy, turns = motion.energy[:-1], (motion.t[:-1] / (2 * np.pi)).astype(int)
    means = np.array([energy[turns == k].mean() for k in range(turns.max())])
    rise = np.polyfit(np.arange(len(means)), means, 1)[0] * len(means)
    assert abs(rise) < 0.02 * np.ptp(energy)
    assert plain_control_rise(0.02, 600.0 * np.pi) > 5 * np.ptp(energy)


def plain_control_rise(step: float, until: float) -> float:
    """How far the energy goes with h = step * s(q) at the beginning of each step, in plain
    Python.
    """
    a, b, u, v, time = 0.1, 0.0, 0.0, 19**0.5, 0.0
    first = (u * u + v * v) / 2 - (a * a + b * b) ** -0.5
    while time < until:
        r = a * a + b * b
        h = step * r**0.75
        u, v = u - h / 2 * a / r**1.5, v - h / 2 * b / r**1.5
        a, b = a + h * u, b + h * v
        r = a * a + b * b
        u, v = u - h / 2 * a / r**1.5, v - h / 2 * b / r**1.5
        time += h
    return abs((u * u + v * v) / 2 - (a * a + b * b) ** -0.5 - first)
