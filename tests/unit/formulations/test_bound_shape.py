"""Reduction where the constraints also bind the shape, beside multipliers by SymPy and SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError
from sympy_multipliers import of_system

x, y, theta, r1, r2, r3 = da.coordinates("x y theta r1 r2 r3")
KINETIC = (x.dot**2 + y.dot**2) / 2 + (2 + cos(r1)) * theta.dot**2 / 2
KINETIC += (r1.dot**2 + r2.dot**2 + 2 * r3.dot**2) / 2 + theta.dot * r1.dot * sin(r2) / 3
KINETIC += (x.dot * cos(theta) + y.dot * sin(theta)) * r3.dot * cos(r1) / 4
BLADE = da.velocity(y.dot * cos(theta) - x.dot * sin(theta), name="blade")
#: On the shape alone, and mixed with the blade, which has to be solved for first.
ALONE = da.velocity(r3.dot - r1 * r2.dot, name="twist")
MIXED = da.velocity(
    r3.dot - r1 * r2.dot + cos(r2) * (y.dot * cos(theta) - x.dot * sin(theta)), name="twist"
)
GROUP: dict[str, Any] = {
    "ahead": {x: cos(theta), y: sin(theta)},
    "aside": {x: -sin(theta), y: cos(theta)},
    "turn": {theta: 1},
}
Q = [x, y, theta, r1, r2, r3]
PLACE = np.array([0.0, 0.0, 0.3, 0.4, -0.2, 0.6])


def system(row: Any) -> da.System:
    return da.System(Q, kinetic=KINETIC, potential=r3**2 / 2 + r1**2, constraints=[BLADE, row])


@pytest.mark.parametrize("row", [ALONE, MIXED], ids=["alone", "mixed"])
def test_the_shape_keeps_its_constraint_as_scipy_says(row: Any) -> None:
    stated = system(row)
    own = of_system(stated, {})
    v = own.allowed(PLACE, np.array([0.7, 0.2, -0.4, 0.5, 0.6, 0.1]))
    reduced = da.symmetry.reduce(stated, GROUP, reconstruct=True)
    start = {s.name: a for s, a in zip(Q, PLACE, strict=True)}
    start |= {s.dot.name: a for s, a in zip(Q, v, strict=True)}
    motion = da.simulate(reduced, start, (0, 1.5), rtol=1e-11)
    end = solve_ivp(own.rates, (0, 1.5), [*PLACE, *v], "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    assert motion.outcome.is_success
    assert [motion[s.name][-1] for s in Q] == pytest.approx(list(end[:6]), abs=1e-8)
    # On D/G alone: shape and momenta without the group.
    small = da.symmetry.reduce(stated, GROUP)
    begin = {name: motion[name][0] for name in (s.name for s in small.state)}
    shape = da.simulate(small, begin, (0, 1.5), rtol=1e-11)
    assert [shape[s.name][-1] for s in (r1, r2, r3)] == pytest.approx(list(end[3:6]), abs=1e-8)
    assert np.abs(shape["r3_dot"] - shape["r1"] * shape["r2_dot"]).max() < 1e-9


def test_what_is_left_of_the_base_is_said() -> None:
    found = da.symmetry.reduce(system(ALONE), GROUP)
    verdict = next(v for claim, v in found.hypotheses.items() if "span all directions" in claim)
    assert verdict.is_refuted and "leave 2 of 3 directions of the base" in verdict.grounds
    assert found.row_names == ("twist",)
    free = da.symmetry.reduce(da.System(Q, kinetic=KINETIC, constraints=[BLADE]), GROUP)
    assert not any("span all directions" in claim for claim in free.hypotheses)


def test_connections_still_need_all_directions() -> None:
    with pytest.raises(FormError, match="bind the shape"):
        da.symmetry.connection(system(ALONE), GROUP)
