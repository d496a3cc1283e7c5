"""Brockett's form on so(n): the algorithm from random starts, its invariants, and why x must be
seeded again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.control.steering.so_feedback import spectrum
from dalembert.errors import ModelError

J2 = np.array([[0.0, 1.0], [-1.0, 0.0]])


def start(n: int, seed: int) -> tuple[Any, Any]:
    random = np.random.default_rng(100 * n + seed)
    square = random.normal(size=(n, n))
    return random.normal(size=n), square - square.T


def blocks(*sizes: float) -> Any:
    """A skew matrix with the pairs +- i size."""
    whole = np.zeros((2 * len(sizes), 2 * len(sizes)))
    for k, size in enumerate(sizes):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = size * J2
    return whole


@pytest.mark.parametrize("seed", ["eigenvector", "random"])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_as_many_passes_as_pairs(n: int, seed: str) -> None:
    for number in range(2):
        found = da.control.stabilise_so(*start(n, number), seed=seed)
        assert found.success and found.final_norm < 1e-6
        assert len(found.passes) == n // 2
        for k, one in enumerate(found.passes):
            # Step 1 keeps the spectrum; step 3 takes the largest pair out and leaves the others.
            assert np.allclose(one.aligned, one.before, rtol=1e-7, atol=1e-9)
            expected = np.concatenate([one.before[2:], [0.0, 0.0]])
            assert np.allclose(one.after, expected, rtol=1e-6, atol=1e-8)
            assert one.misalignment < 1e-6
            assert one.seeded == (k > 0)


@pytest.mark.parametrize("n", [3, 4])
def test_motions_are_those_of_the_form(n: int) -> None:
    """Along every stage the rates of Y are x u^T - u x^T with the reported inputs, and areas are
    what they sweep.
    """
    found = da.control.stabilise_so(*start(n, 7))
    for part in found.stages.parts:
        motion = part.motion
        x, u, rate = (
            [motion[f"{symbol}_{k}{dot}"] for k in range(1, n + 1)]
            for symbol, dot in (("x", ""), ("u", ""), ("x", "_dot"))
        )
        assert np.allclose(u, rate, atol=1e-12)
        assert np.allclose(motion["Y_12_dot"], x[0] * u[1] - u[0] * x[1], atol=1e-10)


def test_multiple_eigenvalues_take_a_pass_each() -> None:
    found = da.control.stabilise_so([0.3, 0.2, -0.5, 0.8], blocks(2.0, 2.0))
    assert found.success and len(found.passes) == 2


@pytest.mark.parametrize(
    ("x", "Y"),
    [
        ([0.0, 0, 0, 0], blocks(3.0, 1.0)),
        ([0.0, 0, 1, 0], blocks(3.0, 1.0)),
        ([1.0, 0, 0, 0], blocks(2.0, 2.0 - 1e-9)),
    ],
    ids=["zero", "in another eigenspace", "two that are nearly one"],
)
def test_starts_that_cannot_align_are_seeded(x: Any, Y: Any) -> None:
    found = da.control.stabilise_so(x, Y)
    assert found.success and len(found.passes) == 2


def test_a_start_that_is_home_needs_nothing() -> None:
    found = da.control.stabilise_so([0.0, 0, 0], np.zeros((3, 3)))
    assert found.success and found.passes == () and len(found.stages) == 0
    only_x = da.control.stabilise_so([1.0, 2, 3], np.zeros((3, 3)))
    assert only_x.success and [part.name for part in only_x.stages.parts] == ["return"]


def test_without_new_seeds_the_second_pass_only_shrinks_x() -> None:
    """After step 3 x is in the plane that was emptied: step 1 for the next pair keeps Y and takes x
    to zero.
    """
    flow = da.control.brockett_form(4)
    Y = blocks(3.0, 1.0)
    start = {"x_1": 1.0, **flow.start(Y=Y)}
    emptied = da.simulate(flow.driven(da.control.brockett_law(flow, beta=1)), start, (0, 25))
    left = emptied["Y"][-1]
    assert np.allclose(spectrum(left), [1, 1, 0, 0], atol=1e-9)
    again = {q.name: emptied[q.name][-1] for q in flow.coordinates}
    stuck = da.simulate(
        flow.driven(da.control.brockett_law(flow, alpha=1, gamma=1)), again, (0, 25)
    )
    assert np.allclose(stuck["Y"][-1], left, atol=1e-9)
    assert max(abs(stuck[f"x_{k}"][-1]) for k in (1, 2, 3, 4)) < 1e-9
    assert da.control.stabilise_so([1.0, 0, 0, 0], Y).success


def test_radial_moves_never_change_Y() -> None:
    flow = da.control.brockett_form(5)
    x, Y = start(5, 3)
    begin = {f"x_{k}": value for k, value in enumerate(x, start=1)} | flow.start(Y=Y)
    law = {
        u: sum(flow.coordinates[j] ** 2 for j in range(5)) * flow.coordinates[k]
        for k, u in enumerate(flow.inputs)
    }
    motion = da.simulate(flow.driven(law), begin, (0, 0.05))
    assert np.allclose(motion["Y"][-1], Y, atol=1e-12)


def test_Y_collects_areas() -> None:
    """Round a unit circle in the first plane: Y_12 = 2 pi, twice the area."""
    flow = da.control.brockett_form(3)
    law = {"u_1": lambda t, _: -np.sin(t), "u_2": lambda t, _: np.cos(t), "u_3": lambda t, _: 0.0}
    motion = da.simulate(flow, {"x_1": 1.0}, (0, 2 * np.pi), inputs=law)
    assert motion["Y"][-1] == pytest.approx(
        2 * np.pi * np.array([[0, 1, 0], [-1, 0, 0], [0, 0, 0]]), abs=1e-8
    )


def test_the_form_is_controllable_and_no_smooth_feedback_stabilises_it() -> None:
    found = da.control.controllability(da.control.brockett_form(3))
    assert found.growth == (3, 6)
    assert found.brockett is not None and found.brockett.verdict == "fails"


def test_wrong_use_says_so() -> None:
    with pytest.raises(ModelError, match="skew"):
        da.control.stabilise_so([1.0, 0], [[0, 1], [1, 0]])
    with pytest.raises(ModelError, match="skew"):
        da.control.stabilise_so([1.0, 0, 0], [[0, 1], [-1, 0]])
    with pytest.raises(ModelError, match="seed"):
        da.control.stabilise_so([1.0, 0], J2, seed="lucky")
    with pytest.raises(ModelError, match="2 to 20"):
        da.control.brockett_form(1)
