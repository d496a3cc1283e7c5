"""The classical Runge-Kutta method: against its formula in NumPy, its order, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert import gallery
from dalembert.errors import DalembertError

X, Y = da.coordinates("x y")
WELL = da.System(
    [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=X**2 / 2 + Y**4 / 4 + X * Y**2
)
START = {X: 0.3, Y: 0.4, X.dot: 0.2, Y.dot: -0.1}


def rates(z: np.ndarray) -> np.ndarray:
    x, y, u, v = z
    return np.array([u, v, -x - y**2, -(y**3) - 2 * x * y])


def by_formula(h: float, steps: int) -> np.ndarray:
    z = np.array([0.3, 0.4, 0.2, -0.1])
    for _ in range(steps):
        a = rates(z)
        b = rates(z + h / 2 * a)
        c = rates(z + h / 2 * b)
        z = z + h / 6 * (a + 2 * b + 2 * c + rates(z + h * c))
    return z


def test_steps_are_those_of_the_formula_and_of_order_four() -> None:
    motion = da.simulate(WELL, START, (0, 4), method="rk4", step=0.1)
    assert motion.y[:, -1] == pytest.approx(by_formula(0.1, 40), abs=1e-14)
    assert motion.statistics["nfev"] == 160
    exact = by_formula(1e-3, 4000)
    ends = [da.simulate(WELL, START, (0, 4), method="rk4", step=h).y[:, -1] for h in (0.1, 0.05)]
    first, second = (np.max(np.abs(end - exact)) for end in ends)
    assert np.log2(first / second) == pytest.approx(4, abs=0.2)
    assert motion.sol(1.2) == pytest.approx(by_formula(0.1, 12), abs=1e-13)


def test_velocity_constraints_hold_and_positions_are_refused() -> None:
    sleigh = gallery.load("chaplygin-sleigh")
    motion = da.simulate(sleigh, method="rk4", step=0.02, span=(0, 2), form="lagrange")
    assert motion.worst_residual["velocity"] < 1e-13
    with pytest.raises(DalembertError, match="does not end its steps on constraints of positions"):
        da.simulate(gallery.load("spherical-pendulum"), method="rk4", step=0.01)
