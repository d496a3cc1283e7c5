"""The discrete rigid body: native steps against the reference solver, conservation, and what it
refuses.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import expm

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.discrete_rotations import discrete_rotation, largest_factor
from dalembert.geometry.rigid_rotations import momentum_of_pair


def body(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Inertias, a momentum at the limit of what a step can take, an attitude."""
    random = np.random.default_rng(100 * seed + n)
    Lambda, values, turn = (
        random.uniform(0.4, 2.5, n),
        random.standard_normal((n, n)),
        random.standard_normal((n, n)),
    )
    M = values - values.T
    return Lambda, M * largest_factor(Lambda, M), expm(turn - turn.T)


def reference_steps(Lambda, M, Q, steps):
    """The map by the reference solver, one step at a time."""
    yield Q, M
    for _ in range(steps):
        U = discrete_rotation(Lambda, M)
        Q, M = Q @ U, U.T @ M @ U
        M = (M - M.T) / 2
        yield Q, M


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 14])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.97])
def test_agrees_with_the_reference_solver(n, share):
    Lambda, limit, Q = body(n)
    steps = 12
    motion = da.lie.discrete_rigid_body(Lambda, share * limit, Q, steps=steps)
    tolerance = 1e-13 if share < 0.9 else 1e-11
    for k, (attitude, momentum) in enumerate(reference_steps(Lambda, share * limit, Q, steps)):
        assert np.allclose(motion.Q[k], attitude, rtol=0, atol=tolerance), k
        assert np.allclose(motion.M[k], momentum, rtol=0, atol=tolerance), k


@pytest.mark.parametrize("n", [2, 3, 4, 8])
@pytest.mark.parametrize("share", [0.02, 0.5, 0.95])
def test_conserves_to_rounding(n, share):
    Lambda, limit, Q = body(n, seed=1)
    motion = da.lie.discrete_rigid_body(Lambda, share * limit, Q, steps=20_000, every=500)
    assert len(motion.k) == 41
    for name, value in motion.drift().items():
        assert value < 3e-15, name
    assert np.ptp(motion.norm) < 1e-14 * motion.norm[0] * n
    assert np.max(np.abs(motion.M - motion.M[0])) > 1e-3 * np.max(np.abs(motion.M)) or n == 2


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_near_the_limit_the_branch_is_kept(n):
    """Newton's iteration from the last rotation leads astray there, and the sign function brings it
    back.
    """
    Lambda, limit, Q = body(n, seed=2)
    motion = da.lie.discrete_rigid_body(Lambda, (1 - 1e-6) * limit, Q, steps=300)
    for k in range(300):
        X = (motion.Q[k].T @ motion.Q[k + 1]) * Lambda
        assert np.min(np.linalg.eigvals(X).real) > 1e-4
    assert max(motion.drift().values()) < 3e-15


def test_second_rotation_follows():
    Lambda, limit, Q = body(3)
    motion = da.lie.discrete_rigid_body(Lambda, 0.2 * limit, Q, steps=30)
    assert np.allclose(momentum_of_pair(motion.Q, motion.P), motion.M, atol=1e-13)
    U = np.swapaxes(motion.Q[:-1], 1, 2) @ motion.Q[1:]
    assert np.allclose(motion.P[1:], motion.P[:-1] @ U, atol=1e-13)
    large = da.lie.discrete_rigid_body(10 * Lambda, 8 * limit, Q, steps=1)
    with pytest.raises(ModelError, match="exceeds 2"):
        large.P  # noqa: B018


def test_steps_and_samples():
    Lambda, limit, Q = body(4)
    every = da.lie.discrete_rigid_body(Lambda, 0.4 * limit, Q, steps=23)
    some = da.lie.discrete_rigid_body(Lambda, 0.4 * limit, Q, steps=23, every=5)
    assert some.k.tolist() == [0, 5, 10, 15, 20]
    assert np.array_equal(some.Q[1:], every.Q[5:21:5])
    assert da.lie.discrete_rigid_body(Lambda, 0.4 * limit, Q, steps=0).Q.shape == (1, 4, 4)
    scaled = da.lie.discrete_rigid_body(Lambda, 4 * limit, Q, steps=23, step=0.1)
    assert np.allclose(scaled.Q, every.Q, atol=1e-13)
    assert np.allclose(scaled.M, 10 * every.M, atol=1e-12)
    assert scaled.t[-1] == pytest.approx(2.3)


def test_units_do_not_matter():
    Lambda, limit, Q = body(3)
    one = da.lie.discrete_rigid_body(Lambda, 0.4 * limit, Q, steps=50)
    for factor in (1e-9, 3e7):
        other = da.lie.discrete_rigid_body(factor * Lambda, 0.4 * factor * limit, Q, steps=50)
        assert np.allclose(other.Q, one.Q, atol=1e-12)


def test_backwards():
    Lambda, limit, Q = body(4)
    there = da.lie.discrete_rigid_body(Lambda, 3 * limit, Q, steps=200, step=0.1)
    back = da.lie.discrete_rigid_body(Lambda, there.M[-1], there.Q[-1], steps=200, step=-0.1)
    assert np.allclose(back.Q[-1], Q, atol=1e-11)
    assert np.allclose(back.M[-1], 3 * limit, atol=1e-11)


def test_at_rest():
    motion = da.lie.discrete_rigid_body([1, 2, 3], np.zeros((3, 3)), steps=10)
    assert np.array_equal(motion.Q, np.broadcast_to(np.eye(3), (11, 3, 3)))


class TestErrors:
    def test_beyond_the_limit(self):
        Lambda, limit, _ = body(4)
        for M in (limit, 1.5 * limit):
            with pytest.raises(ModelError, match=r"too large.*times the largest M.*shorter step"):
                da.lie.discrete_rigid_body(Lambda, M, steps=1)
        da.lie.discrete_rigid_body(Lambda, 1.5 * limit, steps=1, step=0.5)

    @pytest.mark.parametrize(
        "call",
        [
            {"Q": 2 * np.eye(3)},
            {"Q": np.diag([1.0, 1.0, -1.0])},
            {"Q": np.eye(4)},
            {"steps": -1},
            {"every": 0},
            {"step": 0.0},
            {"Lambda": [-0.5, 1, 2]},
            {"M": np.eye(3)},
            {"M": np.full((3, 3), np.nan)},
        ],
        ids=[
            "stretched",
            "mirrored",
            "shape",
            "steps",
            "every",
            "step",
            "inertia",
            "not skew",
            "nan",
        ],
    )
    def test_calls(self, call):
        arguments = {"Lambda": [1, 2, 3], "M": np.zeros((3, 3)), "steps": 1} | call
        with pytest.raises(ModelError):
            da.lie.discrete_rigid_body(**arguments)
