"""Two methods, one motion: every system of the gallery by Gauss's method with fixed steps and by
dop853.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.model.constraints import HolonomicConstraint
from dalembert.model.flow_system import Flow

STEPS = 800


@pytest.mark.parametrize("name", da.gallery.names())
def test_fixed_and_chosen_steps_agree(name: str) -> None:
    scenario = da.gallery.load(name)
    first, last = scenario.simulate.get("span", (0.0, 1.0))
    end = first + min(2.0, last - first)
    options = {"span": (first, end), "at": [first, end]}
    system = scenario.system
    holds_positions = not isinstance(system, Flow) and any(
        isinstance(c, HolonomicConstraint) for c in system.bilateral
    )
    if holds_positions or system.unilateral:
        with pytest.raises(da.errors.FormError, match="dop853"):
            da.simulate(scenario, method="gauss6", step=(end - first) / STEPS, **options)
        return
    chosen = da.simulate(scenario, rtol=1e-11, **options)
    fixed = da.simulate(scenario, method="gauss6", step=(end - first) / STEPS, **options)
    assert fixed.success == chosen.success
    if chosen.success:
        assert np.abs(fixed.y - chosen.y).max() < 1e-10 * (1 + np.abs(chosen.y).max())
        for output in system.outputs:
            assert np.allclose(fixed[output], chosen[output], rtol=1e-9, atol=1e-9)
