"""The thresholds of the constrained solve, each from both sides: three times above it one verdict,
three times below the other.

The numbers are those that `factorisations` and `verdicts` state. A threshold that is moved by a
factor of ten fails here.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalembert.errors import ContradictionError, SingularError
from dalembert.runtime.gauss.constrained_solve import rank, solve

EYE, ZEROS = np.eye(2), np.zeros(2)


@pytest.mark.parametrize(("part", "expected"), [(3e-11, 2), (3e-12, 1)])
def test_a_row_depends_on_another_below_1e_11_of_its_length(part: float, expected: int) -> None:
    """In the plain rank, and in the solve with a definite and with an indefinite metric."""
    rows = np.array([[1.0, 0.0], [1.0, part]])
    assert rank(rows).rank == expected
    assert rank(1e-6 * rows).rank == expected
    assert solve(EYE, ZEROS, rows, ZEROS).rank == expected
    assert (
        solve(np.diag([1.0, -1.0]), ZEROS, rows, ZEROS, definite=False, gauge=True).rank == expected
    )


@pytest.mark.parametrize("definite", [True, False])
def test_a_dependent_row_contradicts_beyond_1e_6_of_its_terms(definite: bool) -> None:
    """x = 1 twice, the second time not quite: what is missed is measured by |b| and by what the
    rows imply, here 2 together.
    """
    rows = np.array([[1.0, 0.0], [1.0, 0.0]])
    near = solve(EYE, ZEROS, rows, [1.0, 1.0 + 6e-7], definite=definite)
    assert near.rank == 1
    assert near.z[0] == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ContradictionError):
        solve(EYE, ZEROS, rows, [1.0, 1.0 + 6e-6], definite=definite)


def test_what_is_missed_by_less_than_1e_12_is_rounding() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert solve(EYE, ZEROS, rows, [0.0, 3e-13]).rank == 1
    with pytest.raises(ContradictionError):
        solve(EYE, ZEROS, rows, [0.0, 3e-12])


def test_the_worst_of_two_contradictory_rows_is_named() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    for right, row in (([0.0, 0.1, 0.5], 2), ([0.0, 0.5, 0.1], 1)):
        with pytest.raises(ContradictionError) as caught:
            solve(EYE, ZEROS, rows, right)
        assert caught.value.row == row


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_unknowns_are_determined_down_to_1e_11_of_the_metric(unit: float) -> None:
    """The second singular value of [[1, 1], [1, 1 + e]] is e/2; the metric may be in any unit."""

    def metric(part: float) -> np.ndarray:
        return unit * np.array([[1.0, 1.0], [1.0, 1.0 + part]])

    found = solve(metric(1e-10), metric(1e-10) @ [1.0, 0.0])
    assert np.allclose(found.z, [1.0, 0.0], atol=1e-5)
    assert 1e9 < found.condition < 1e12
    with pytest.raises(SingularError):
        solve(metric(3e-12), metric(3e-12) @ [1.0, 0.0])


@pytest.mark.parametrize(("part", "least", "most"), [(3e-7, 1e6, 1e7), (3e-8, 1.0, 2.0)])
def test_rows_help_a_metric_whose_pivot_is_below_1e_7(
    part: float, least: float, most: float
) -> None:
    """With z_1 - z_2 = 1/2 the sum of both equations of motion has 7/(4 + e) for z_2, whatever G is
    worth without the row.
    """
    found = solve([[1.0, 1.0], [1.0, 1.0 + part]], [3.0, 5.0], [[1.0, -1.0]], [0.5])
    second = 7.0 / (4.0 + part)
    assert np.allclose(found.z, [second + 0.5, second], rtol=5e-15 * most, atol=0)
    assert least < found.condition < most


def test_an_indefinite_metric_is_measured_by_its_own_size_where_the_rows_leave_it() -> None:
    """On z_1 + z_2 = b the metric [[1, 1], [1, 1 - e]] is worth e/2: the difference of the
    equations is e z_2 = f_1 - f_2.
    """
    part = 2.0**-20
    found = solve([[1.0, 1.0], [1.0, 1.0 - part]], [3.0, 5.0], [[1.0, 1.0]], [0.5], definite=False)
    assert np.allclose(found.z, [2.0 / part + 0.5, -2.0 / part], rtol=1e-8, atol=0)
    assert found.multipliers.tolist() == pytest.approx([-2.5], rel=1e-8)


@pytest.mark.parametrize("rows", [None, [[1.0, 0.0]]])
def test_where_nothing_is_left_of_a_metric_the_least_pivot_is_zero(
    rows: list[list[float]] | None,
) -> None:
    metric = np.diag([0.0 if rows is None else 1.0, 0.0])
    with pytest.raises(SingularError, match=r"least pivot 0\.0e\+00"):
        solve(metric, [0.0, 1.0], rows)


def test_a_gauge_carries_forces_up_to_1e_9_of_the_others() -> None:
    metric = np.diag([1.0, 0.0])
    assert solve(metric, [1.0, 3e-10], gauge=True).z.tolist() == [1.0, 0.0]
    with pytest.raises(SingularError):
        solve(metric, [1.0, 3e-9], gauge=True)


def test_a_singular_metric_is_helped_by_the_rows() -> None:
    """G without inertia along a row, and G of rank one across it: z and mu are those of G + w A^T
    A, which is regular.
    """
    found = solve(np.diag([1.0, 0.0]), [3.0, 5.0], [[0.0, 2.0]], [4.0])
    assert np.allclose(found.z, [3.0, 2.0], rtol=1e-14)
    assert found.multipliers.tolist() == pytest.approx([-2.5], rel=1e-14)
    found = solve(np.ones((2, 2)), [3.0, 5.0], [[1.0, -1.0]], [0.5])
    assert np.allclose(found.z, [2.25, 1.75], rtol=1e-14)
    assert found.multipliers.tolist() == pytest.approx([1.0], rel=1e-14)
