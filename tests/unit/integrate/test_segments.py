"""What a motion keeps of each of its segments: their number may go into the thousands."""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from nonholonomic_problems import transmission


@pytest.mark.long
def test_segments_of_one_kernel_share_a_context_that_has_no_room_for_steps():
    system = transmission()
    x, y, s = system.coordinates
    start = {x: 0.5, y: 0.2, s: 0.3, s.dot: 2.6, x.dot: 0.1}
    motion = da.simulate(system, start, (0, 40), form="voronets", method="gauss4", step=0.05)
    contexts = {id(segment.context): segment.context for segment in motion.segments}
    assert len(motion.segments) > 20
    assert len(contexts) == len({segment.context.kernel for segment in motion.segments}) < 5
    assert not any(
        name in context.fields.arrays
        for context in contexts.values()
        for name in ("step_times", "step_states")
    )
    whole = da.simulate(system, start, (0, 40), form="lagrange", method="gauss4", step=0.05)
    assert np.allclose(motion.sol([13.333, 39.99]), whole.sol([13.333, 39.99]), atol=1e-4)
    assert np.ptp(motion.energy) < 1e-4
