"""Modes of contact are derived and compiled once for a system, however often it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.runtime.kernel import Kernel


def ball() -> da.System:
    """A ball of radius 0.1 in a plane, on a floor with friction."""
    x, y, turn = da.coordinates("x y turn")
    mu = da.parameters("mu", positive=True)
    floor = da.unilateral(y >= 0.1, friction=mu, tangent=x.dot - 0.1 * turn.dot, name="floor")
    return da.System(
        [x, y, turn],
        kinetic=(x.dot**2 + y.dot**2 + 0.004 * turn.dot**2) / 2,
        potential=9.81 * y,
        constraints=[floor],
    )


@pytest.mark.parametrize("options", [{}, {"method": "moreau", "step": 0.01}])
def test_a_second_run_compiles_nothing(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    system, start = ball(), {"x_dot": 2.0, "turn_dot": -10.0, "y": 0.3}
    first = da.simulate(system, start, (0, 1), parameters={"mu": 0.3}, **options)
    made: list[tuple[str, ...]] = []
    begin = Kernel.__init__

    def counted(self: Kernel, equations: Any, *rest: Any, **named: Any) -> None:
        made.append(equations.row_names)
        begin(self, equations, *rest, **named)

    monkeypatch.setattr(Kernel, "__init__", counted)
    again = da.simulate(system, start, (0, 1), parameters={"mu": 0.3}, **options)
    assert made == []
    assert np.array_equal(first["x"], again["x"]) and first.modes == again.modes
    other = da.simulate(system, start, (0, 1), parameters={"mu": 0.2}, **options)
    fresh = da.simulate(ball(), start, (0, 1), parameters={"mu": 0.2}, **options)
    assert made and np.array_equal(other["x"], fresh["x"]) and other.modes == fresh.modes


def test_friction_that_a_parameter_takes_away_leaves_no_trace() -> None:
    system, start = ball(), {"x_dot": 2.0, "y": 0.1}
    for mu, mode in ((0.3, "slips"), (0.0, "closed"), (0.3, "slips")):
        motion = da.simulate(system, start, (0, 0.1), parameters={"mu": mu})
        assert motion.modes[0].mode == mode
        assert motion["x_dot"][-1] == pytest.approx(2 - mu * 9.81 * 0.1, rel=1e-12)


def test_kernels_of_one_mode_keep_the_parameters_they_were_made_for() -> None:
    x, y = da.coordinates("x y")
    pull, height = da.parameters("pull height", positive=True)
    system = da.System(
        [x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=pull * y,
        constraints=[da.unilateral(y >= height, name="floor")],
    )
    free = system.touching(())
    assert free is system.touching([]) and free.parameters == (pull,)
    values = {"pull": 9.81, "height": 0.5}
    alone = da.simulate(free, {"y": 1.0}, (0, 0.1), parameters={"pull": 9.81})
    with_floor = da.simulate(system, {"y": 1.0}, (0, 1), parameters=values)
    assert alone["y"][-1] == pytest.approx(1 - 9.81 * 0.005, rel=1e-12)
    assert with_floor["y"][-1] == pytest.approx(0.5, abs=1e-12)
