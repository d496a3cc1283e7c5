"""The discrete rigid body follows the continuous one to second order in its step, and keeps all
that the latter keeps.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.geometry.rigid_rotations import body_energy, manakov_integrals

BODIES = {
    3: ([1.0, 2.0, 3.0], [[0, -0.9, -0.8], [0.9, 0, -0.6], [0.8, 0.6, 0]]),
    4: (
        [1.0, 2.0, 3.0, 4.0],
        [[0, 0.3, -0.2, 0.5], [-0.3, 0, 0.4, 0.1], [0.2, -0.4, 0, -0.6], [-0.5, -0.1, 0.6, 0]],
    ),
}
END = 8.0


@pytest.mark.parametrize("n", BODIES)
def test_second_order_in_the_step(n):
    Lambda, M = BODIES[n]
    if n == 3:
        exact = da.lie.exact_free_body(Lambda, M, t=[END])
        Q_end, M_end = exact.Q[0], exact.M[0]
    else:
        body = da.lie.rigid_body(Lambda)
        run = da.simulate(body, body.start(Q=np.eye(n), M=M), (0, END), at=[END], rtol=1e-13)
        Q_end, M_end = run["Q"][0], run["M"][0]
    errors = []
    for steps in (40, 80, 160, 320):
        motion = da.lie.discrete_rigid_body(Lambda, M, steps=steps, every=steps, step=END / steps)
        errors.append([np.max(np.abs(motion.Q[-1] - Q_end)), np.max(np.abs(motion.M[-1] - M_end))])
    orders = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert np.all(np.abs(orders[-1] - 2.0) < 0.05), orders
    assert np.all(np.abs(orders - 2.0) < 0.2), orders


def test_without_the_scaling_it_is_another_map():
    """The momentum of the map is step * M: with M itself the rotations are larger, and nothing
    converges.
    """
    Lambda, M = BODIES[3]
    exact = da.lie.exact_free_body(Lambda, M, t=[END])
    unscaled = da.lie.discrete_rigid_body(Lambda, 0.5 * np.array(M), steps=80, every=80)
    assert np.max(np.abs(unscaled.Q[-1] - exact.Q[0])) > 0.1


@pytest.mark.parametrize("n", BODIES)
def test_the_error_is_one_of_time_alone(n):
    """The momenta lie on the motion's own level of energy and Manakov's integrals, however long the
    step.
    """
    Lambda, M = BODIES[n]
    motion = da.lie.discrete_rigid_body(Lambda, M, steps=2000, step=0.7)
    continuous = manakov_integrals(Lambda, np.array(M, dtype=float))
    for name, values in manakov_integrals(Lambda, motion.M).items():
        assert np.allclose(values, continuous[name], rtol=1e-13, atol=1e-14)
    assert np.allclose(motion.energy, body_energy(Lambda, M), rtol=1e-14)
    if n == 3:
        exact = da.lie.exact_free_body(Lambda, M, t=motion.t)
        assert np.max(np.abs(exact.M - motion.M)) > 0.1


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 4])
def test_a_million_steps_to_rounding(n):
    Lambda, M = BODIES[n]
    motion = da.lie.discrete_rigid_body(Lambda, M, steps=1_000_000, every=2000, step=0.3)
    for name, value in motion.drift().items():
        assert value < 5e-15, name
