"""Runs with fixed steps look at their constraints and their energy before they call themselves
finished.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da

BARS = da.coordinates("x0 y0 x1 y1 x2 y2")
GRAVITY = sympy.Rational(981, 100)
X, Y = da.coordinates("x y")
CANONICAL = (
    "lobatto2",
    "lobatto4",
    "lobatto6",
    "variational-midpoint",
    "galerkin4",
    "galerkin-lobatto4",
)


def four_bars() -> da.System:
    """Two four-bar linkages in a row, of uniform bars of 1 kg and 1 m: flat, they may fold in
    several ways.
    """
    x, y = BARS[0::2], BARS[1::2]
    kinetic = sum((x[k].dot ** 2 + y[k].dot ** 2) / 6 for k in range(3))
    potential = sum(GRAVITY * y[k] / 2 for k in range(3))
    rods = [da.holonomic((x[k] - k) ** 2 + y[k] ** 2 - 1, name=f"bar{k}") for k in range(3)]
    for k in range(2):
        one, two = (x[k].dot, y[k].dot), (x[k + 1].dot, y[k + 1].dot)
        kinetic += sum(a**2 + b**2 + a * b for a, b in zip(one, two, strict=True)) / 6
        potential += GRAVITY * (y[k] + y[k + 1]) / 2
        rods.append(
            da.holonomic((x[k + 1] - x[k]) ** 2 + (y[k + 1] - y[k]) ** 2 - 1, name=f"coupler{k}")
        )
    return da.System(list(BARS), kinetic=kinetic, potential=potential, constraints=rods)


def start() -> dict[Any, float]:
    upright: dict[Any, float] = {}
    for k in range(3):
        upright |= {
            BARS[2 * k]: k,
            BARS[2 * k + 1]: 1.0,
            BARS[2 * k].dot: 1.0,
            BARS[2 * k + 1].dot: 0.0,
        }
    return upright


@pytest.mark.parametrize("method", CANONICAL)
def test_steps_that_leave_the_constraints_beside_a_loss_of_rank_are_not_finished(
    method: str,
) -> None:
    motion = da.simulate(four_bars(), start(), (0, 3), method=method, step=0.01)
    assert motion.outcome in (da.Outcome.UNSOLVED, da.Outcome.SINGULAR), motion.message
    assert motion.t[-1] == pytest.approx(0.72, abs=0.03)  # where the bars lie flat
    assert motion.worst_residual["velocity"] < 1e-4
    assert np.abs(motion.energy - motion.energy[0]).max() < 0.01
    assert "`bar" in motion.message or "`coupler" in motion.message


def test_asked_times_end_with_the_steps_that_hold() -> None:
    times = np.arange(0, 301, 25) * 0.01
    motion = da.simulate(four_bars(), start(), (0, 3), method="lobatto4", step=0.01, at=times)
    assert not motion.success and motion.t.tolist() == pytest.approx([0, 0.25, 0.5])


@pytest.mark.long
def test_many_runs_say_the_same() -> None:
    begins = start() | {
        BARS[0].dot: np.array([1.0, 1.1]),
        BARS[2].dot: np.array([1.0, 1.1]),
        BARS[4].dot: np.array([1.0, 1.1]),
    }
    runs = da.simulate(four_bars(), begins, (0, 2), method="galerkin4", step=0.01, at=[0.5, 2.0])
    assert "finished" not in list(runs.outcomes)
    assert np.isfinite(runs.states[:, 0]).all() and np.isnan(runs.states[:, 1]).all()


def test_an_energy_that_nothing_gives_is_not_finished() -> None:
    """Kepler's pericentre passed in one step: the constraint-free orbit leaves with energy from
    nowhere.
    """
    kepler = da.System(
        [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=-1 / sympy.sqrt(X**2 + Y**2)
    )
    motion = da.simulate(kepler, {X: 1.0, Y.dot: 0.005}, (0, 3), method="rattle2", step=0.01)
    assert motion.outcome is da.Outcome.UNSOLVED and "energy" in motion.message
    assert motion.t[-1] == pytest.approx(np.pi / (2 * np.sqrt(2)), abs=0.05)
    assert np.abs(motion.energy - motion.energy[0]).max() < 5


def test_work_is_no_reason_to_stop() -> None:
    """A force that drives a particle from rest: all of its energy is work."""
    driven = da.System([X], kinetic=X.dot**2 / 2, forces={X: 3 + sympy.sin(da.t)})
    damped = da.System([X], kinetic=X.dot**2 / 2, forces={X: -5 * X.dot})
    for system, begin in ((driven, {}), (damped, {X.dot: 10.0})):
        assert da.simulate(system, begin, (0, 5), method="gauss4", step=0.05).success


def test_a_kick_between_the_steps_that_are_kept_is_no_reason_to_stop() -> None:
    kick = sympy.Piecewise((100, (da.t > 1) & (da.t < 1.1)), (0, True))
    kicked = da.System([X], kinetic=X.dot**2 / 2, forces={X: kick})
    motion = da.simulate(kicked, {X.dot: 0.1}, (0, 2), method="gauss4", step=0.01, every=200)
    assert motion.success and motion["x_dot"][-1] > 5


def test_a_coarse_step_is_still_finished() -> None:
    pendulum = da.System([X], kinetic=X.dot**2 / 2, potential=-sympy.cos(X))
    assert da.simulate(pendulum, {X: 2.5}, (0, 100), method="rattle2", step=0.5).success
