"""A section that degenerates along a motion ends the motion, and says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import dalembert as da

x, w, z, y = da.coordinates("x w z y")
PARTICLE = da.System(
    [x, w, z, y],
    kinetic=(x.dot**2 + w.dot**2 + z.dot**2 + y.dot**2) / 2,
    constraints=[da.velocity(z.dot - y * x.dot, name="tilt")],
)
GROUP = {"u": {x: 1}, "s": {w: 1}, "v": {z: 1}}
ALONG, ACROSS = [1, 0, y], [0, 1, 0]
#: Sections of one distribution: the first is regular, the others lose rank at y = 1.
SECTIONS: dict[str, list[list[Any]]] = {
    "regular": [ALONG, ACROSS],
    "a column vanishes": [[1 - y, 0, y * (1 - y)], ACROSS],
    "columns become dependent": [ALONG, [1, 1 - y, y]],
}
START = {y: 0.5, y.dot: 1.0, "p_1": 1.0, "p_2": 1.2}


@pytest.mark.parametrize("reconstruct", [False, True])
@pytest.mark.parametrize("kind", [kind for kind in SECTIONS if kind != "regular"])
def test_a_section_that_degenerates_ends_the_motion(kind: str, reconstruct: bool) -> None:
    found = da.symmetry.reduce(PARTICLE, GROUP, section=SECTIONS[kind], reconstruct=reconstruct)
    motion = da.simulate(found, START, (0, 2))
    assert not motion.outcome.is_success
    assert motion.t[-1] == pytest.approx(0.5, abs=1e-6)
    assert "section of the reduction degenerates" in motion.message


def test_a_regular_section_goes_on_as_scipy_says() -> None:
    found = da.symmetry.reduce(PARTICLE, GROUP, section=SECTIONS["regular"])
    motion = da.simulate(found, START, (0, 2), rtol=1e-11)
    assert motion.outcome.is_success

    def rates(_: float, s: np.ndarray) -> list[float]:
        """p = (1 + y^2) u along (1, y): p_dot = u v y_dot, y_ddot = 0 with z_dot = y u."""
        place, speed, p = s
        return [speed, 0.0, p / (1 + place**2) * place * speed]

    own = solve_ivp(rates, (0, 2), [0.5, 1.0, 1.0], "DOP853", rtol=1e-12, atol=1e-13)
    assert motion["p_1"][-1] == pytest.approx(own.y[2, -1], rel=1e-9)


def test_a_gait_through_a_degenerate_section_ends() -> None:
    section = SECTIONS["a column vanishes"]
    gait = da.symmetry.follow_shape(PARTICLE, GROUP, {y: 0.5 + da.t}, section=section)
    motion = da.simulate(gait, {"p_1": 0.5}, (0, 2))
    assert not motion.outcome.is_success and motion.t[-1] == pytest.approx(0.5, abs=1e-6)


def test_given_steps_do_not_pass_over_it() -> None:
    found = da.symmetry.reduce(PARTICLE, GROUP, section=SECTIONS["a column vanishes"])
    motion = da.simulate(found, START, (0, 2), method="rk4", step=0.08)
    assert not motion.outcome.is_success and motion.t[-1] < 0.6
