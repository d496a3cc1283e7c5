"""The Gauss solve against NumPy's pseudo-inverse of the whole system of equations, and against its
own invariances.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalembert.errors import ContradictionError, SingularError
from dalembert.runtime.gauss.constrained_solve import solve, solve_rows
from dalembert.runtime.gauss.factorisations import RANK_TOLERANCE

SEEDS = st.integers(0, 10_000)


def reference(G: Any, f: Any, A: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    """z and the smallest mu of G z - A^T mu = f, A z = b, by the pseudo-inverse."""
    n, m = len(f), len(b)
    whole = np.block([[G, -A.T], [A, np.zeros((m, m))]])
    solution = np.linalg.pinv(whole, rcond=1e-10) @ np.concatenate([f, b])
    return solution[:n], solution[n:]


def definite(random: np.random.Generator, n: int) -> np.ndarray:
    factor = random.normal(size=(n, n))
    return factor @ factor.T / n + 0.3 * np.eye(n)


def rows(random: np.random.Generator, m: int, n: int, rank: int) -> np.ndarray:
    """A random m x n matrix of a given rank, well conditioned apart from that."""
    left = np.linalg.qr(random.normal(size=(m, max(rank, 1))))[0][:, :rank]
    right = np.linalg.qr(random.normal(size=(n, max(rank, 1))))[0][:, :rank]
    return left @ np.diag(random.uniform(0.5, 2.0, rank)) @ right.T


def assert_solves(G: Any, f: Any, A: Any, b: Any, solution: Any, tolerance: float = 1e-11) -> None:
    z, mu = reference(G, f, A, b)
    assert np.allclose(solution.z, z, atol=tolerance, rtol=tolerance)
    assert np.allclose(solution.multipliers, mu, atol=tolerance, rtol=tolerance)
    assert np.allclose(solution.reaction, A.T @ mu, atol=tolerance, rtol=tolerance)


@given(SEEDS)
def test_regular_problems(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 9))
    m = int(random.integers(0, n + 1))
    G, f, A, b = (
        definite(random, n),
        random.normal(size=n),
        random.normal(size=(m, n)),
        random.normal(size=m),
    )
    if m and np.linalg.cond(A) > 1e3:
        return
    solution = solve(G, f, A, b)
    assert solution.rank == m
    assert_solves(G, f, A, b, solution)


@given(SEEDS)
def test_it_is_gauss_minimum(seed: int) -> None:
    """No other z that obeys the rows has a smaller (z - a)^T G (z - a)."""
    random = np.random.default_rng(seed)
    n, m = 5, 2
    G, f, A = definite(random, n), random.normal(size=n), random.normal(size=(m, n))
    b = random.normal(size=m)
    found, free = solve(G, f, A, b).z, np.linalg.solve(G, f)
    assert np.allclose(A @ found, b, atol=1e-11)
    kernel = np.linalg.svd(A)[2][m:]
    for direction in random.normal(size=(6, n - m)) @ kernel:
        other = found + 1e-2 * direction
        assert (other - free) @ G @ (other - free) > (found - free) @ G @ (found - free)


@given(SEEDS)
def test_dependent_rows(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, m = int(random.integers(2, 8)), int(random.integers(2, 9))
    rank = int(random.integers(0, min(n, m)))
    G, f, A = definite(random, n), random.normal(size=n), rows(random, m, n, rank)
    b = A @ random.normal(size=n)
    solution = solve(G, f, A, b)
    assert solution.rank == rank
    assert_solves(G, f, A, b, solution)


@given(SEEDS)
def test_multipliers_are_the_smallest(seed: int) -> None:
    """mu has no part in the null space of A^T."""
    random = np.random.default_rng(seed)
    A = rows(random, 6, 5, 3)
    solution = solve(definite(random, 5), random.normal(size=5), A, A @ random.normal(size=5))
    null = np.linalg.svd(A.T)[2][3:]
    assert np.allclose(
        null @ solution.multipliers, 0, atol=1e-11 * (1 + np.abs(solution.multipliers).max())
    )


@given(SEEDS)
def test_the_reaction_does_not_depend_on_the_choice_of_rows(seed: int) -> None:
    """Any rows with the same row space, in any order and number, give the same z and the same
    reaction.
    """
    random = np.random.default_rng(seed)
    n = 5
    G, f, A = definite(random, n), random.normal(size=n), random.normal(size=(2, n))
    if np.linalg.cond(A) > 1e3:
        return
    goal = random.normal(size=n)
    one = solve(G, f, A, A @ goal)
    mixed = random.normal(size=(5, 2)) @ A
    for other in (A[::-1], np.vstack([A, A]), np.vstack([A, np.zeros(n)]), mixed):
        two = solve(G, f, other, other @ goal)
        assert two.rank == 2
        assert np.allclose(two.z, one.z, atol=1e-9)
        assert np.allclose(two.reaction, one.reaction, atol=1e-9)


@given(SEEDS, st.floats(-5, 3))
def test_contradictory_rows_are_never_a_compromise(seed: int, exponent: float) -> None:
    random = np.random.default_rng(seed)
    n, m, rank = 5, 4, 2
    A = rows(random, m, n, rank)
    outside = np.linalg.svd(A)[0][:, rank:] @ random.normal(size=m - rank)
    b = A @ random.normal(size=n) + 10**exponent * outside / np.linalg.norm(outside)
    for matrix, is_definite in (
        (definite(random, n), True),
        (np.diag([1.0, -1.0, 2.0, -2.0, 1.0]), False),
    ):
        with pytest.raises(ContradictionError):
            solve(matrix, random.normal(size=n), A, b, definite=is_definite)


@given(SEEDS)
def test_rounding_in_dependent_rows_is_no_contradiction(seed: int) -> None:
    random = np.random.default_rng(seed)
    A = rows(random, 4, 5, 2)
    b = A @ random.normal(size=5)
    solution = solve(
        definite(random, 5), random.normal(size=5), A, b * (1 + 1e-13 * random.normal(size=4))
    )
    assert solution.rank == 2


def test_rows_of_zeros() -> None:
    G, f = np.diag([1.0, 2.0]), np.array([1.0, 1.0])
    A = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    solution = solve(G, f, A, [0.0, 0.5, 0.0])
    assert solution.rank == 1
    assert np.allclose(solution.z, reference(G, f, A, np.array([0.0, 0.5, 0.0]))[0], atol=1e-14)
    assert solution.multipliers[0] == solution.multipliers[2] == 0
    with pytest.raises(ContradictionError):
        solve(G, f, A, [1e-3, 0.5, 0.0])


@given(SEEDS)
def test_a_mass_matrix_that_is_singular_but_not_on_the_allowed_directions(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, m = 6, 3
    hidden = int(random.integers(1, m + 1))
    factor = random.normal(size=(n, n - hidden))
    G, f, A = factor @ factor.T, random.normal(size=n), random.normal(size=(m, n))
    b = random.normal(size=m)
    kernel = np.linalg.svd(A)[2][m:]
    if np.linalg.eigvalsh(kernel @ G @ kernel.T).min() < 1e-2:
        return
    assert_solves(G, f, A, b, solve(G, f, A, b), tolerance=1e-8)


@given(SEEDS)
def test_undetermined_unknowns_are_an_error(seed: int) -> None:
    random = np.random.default_rng(seed)
    n, m = 5, 2
    A = random.normal(size=(m, n))
    direction = np.linalg.svd(A)[2][m:][0]
    factor = random.normal(size=(n, n))
    factor -= np.outer(direction, direction @ factor)
    for is_definite in (True, False):
        with pytest.raises(SingularError):
            solve(
                factor @ factor.T,
                random.normal(size=n),
                A,
                random.normal(size=m),
                definite=is_definite,
            )


@given(SEEDS)
def test_indefinite_problems(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 7))
    m = int(random.integers(0, n))
    factor = random.normal(size=(n, n))
    G, f = factor + factor.T, random.normal(size=n)
    A, b = random.normal(size=(m, n)), random.normal(size=m)
    whole = np.block([[G, -A.T], [A, np.zeros((m, m))]])
    if np.linalg.cond(whole) > 1e4:
        return
    solution = solve(G, f, A, b, definite=False)
    assert np.allclose(
        np.concatenate([solution.z, solution.multipliers]),
        np.linalg.solve(whole, np.concatenate([f, b])),
        atol=1e-9,
    )


@given(SEEDS)
def test_a_definite_problem_may_be_solved_as_an_indefinite_one(seed: int) -> None:
    random = np.random.default_rng(seed)
    A = rows(random, 3, 5, 2)
    G, f, b = definite(random, 5), random.normal(size=5), A @ random.normal(size=5)
    one, two = solve(G, f, A, b), solve(G, f, A, b, definite=False)
    assert np.allclose(one.z, two.z, atol=1e-10)
    assert np.allclose(one.multipliers, two.multipliers, atol=1e-10)


@given(SEEDS)
def test_a_gauge_gives_the_smallest_solution(seed: int) -> None:
    """Where z is not unique and that is welcome: the equations hold, and z is the smallest that
    solves them.
    """
    random = np.random.default_rng(seed)
    n, m = 5, int(np.random.default_rng(seed).integers(0, 3))
    A = random.normal(size=(m, n))
    factor = random.normal(size=(n, 2))
    G = factor @ factor.T
    b = random.normal(size=m)
    f = G @ random.normal(size=n) + A.T @ random.normal(size=m)
    solution = solve(G, f, A, b, gauge=True)
    assert np.allclose(
        G @ solution.z - A.T @ solution.multipliers, f, atol=1e-8 * (1 + np.abs(solution.z).max())
    )
    assert np.allclose(A @ solution.z, b, atol=1e-9 * (1 + np.abs(solution.z).max()))
    whole = np.vstack([G, A])
    null = np.linalg.svd(whole)[2][np.linalg.matrix_rank(whole) :]
    assert np.allclose(null @ solution.z, 0, atol=1e-8 * (1 + np.abs(solution.z).max()))


def test_a_gauge_does_not_excuse_forces_that_nothing_carries() -> None:
    with pytest.raises(SingularError):
        solve(np.diag([1.0, 0.0]), [1.0, 1.0], gauge=True)
    assert np.allclose(solve(np.diag([1.0, 0.0]), [1.0, 0.0], gauge=True).z, [1.0, 0.0])


def test_a_gauge_without_any_equation() -> None:
    assert solve(np.zeros((3, 3)), np.zeros(3), gauge=True).z.tolist() == [0.0, 0.0, 0.0]
    held = solve(np.zeros((3, 3)), np.zeros(3), [[1.0, 1.0, 0.0]], [2.0], gauge=True)
    assert np.allclose(held.z, [1.0, 1.0, 0.0], atol=1e-15)


@given(SEEDS, st.lists(st.floats(-12, 12), min_size=9, max_size=9))
def test_units_do_not_matter(seed: int, exponents: list[float]) -> None:
    """Other units of the coordinates and of the rows change the numbers, not the motion."""
    random = np.random.default_rng(seed)
    n, m = 5, 4
    A = rows(random, m, n, 3)
    G, f = definite(random, n), random.normal(size=n)
    b = A @ random.normal(size=n)
    reference = solve(G, f, A, b)
    S, R = np.diag(10.0 ** np.array(exponents[:n])), np.diag(10.0 ** np.array(exponents[n:]))
    scaled = solve(S @ G @ S, S @ f, R @ A @ S, R @ b)
    assert scaled.rank == reference.rank == 3
    size = np.abs(reference.z).max() + 1
    assert np.allclose(S @ scaled.z, reference.z, atol=1e-9 * size)
    assert np.allclose(np.linalg.solve(S, scaled.reaction), reference.reaction, atol=1e-9 * size)


@given(SEEDS, st.lists(st.floats(-6, 6), min_size=8, max_size=8))
def test_units_do_not_matter_to_indefinite_problems(seed: int, exponents: list[float]) -> None:
    random = np.random.default_rng(seed)
    n, m = 5, 3
    A = rows(random, m, n, 2)
    G = definite(random, n) @ np.diag([1.0, -1.0, 1.0, -1.0, 1.0])
    G, f = G + G.T, random.normal(size=n)
    kernel = np.linalg.svd(A)[2][2:]
    if np.abs(np.linalg.eigvalsh(kernel @ G @ kernel.T)).min() < 0.1:
        return
    b = A @ random.normal(size=n)
    reference = solve(G, f, A, b, definite=False)
    S, R = np.diag(10.0 ** np.array(exponents[:n])), np.diag(10.0 ** np.array(exponents[n:]))
    scaled = solve(S @ G @ S, S @ f, R @ A @ S, R @ b, definite=False)
    assert scaled.rank == reference.rank == 2
    assert np.allclose(S @ scaled.z, reference.z, atol=1e-6 * (1 + np.abs(reference.z).max()))


def test_a_contradiction_is_seen_in_any_units() -> None:
    for exponent in range(-12, 13, 3):
        unit = 10.0**exponent
        with pytest.raises(ContradictionError):
            solve(np.eye(2), np.zeros(2), unit * np.array([[1.0, 0.0], [1.0, 0.0]]), [0.0, unit])


def test_the_rank_of_two_rows_that_close_up() -> None:
    """From a right angle to less than rounding the rank falls once, and z is right on both
    sides.
    """
    goal, ranks = np.array([0.3, -0.7, 0.2]), []
    G, f = np.diag([1.0, 2.0, 3.0]), np.array([1.0, -1.0, 0.5])
    for exponent in np.linspace(0, 16, 65):
        angle = 10.0**-exponent
        A = np.array([[1.0, 0.0, 0.0], [np.cos(angle), np.sin(angle), 0.0]])
        solution = solve(G, f, A, A @ goal)
        ranks.append(solution.rank)
        if solution.rank == 2:
            assert np.allclose(solution.z[:2], goal[:2], atol=4e-16 / angle + 1e-15)
        else:
            assert angle < 100 * RANK_TOLERANCE
            assert abs(solution.z[0] - goal[0]) < 1e-14
        assert np.allclose(A @ solution.z, A @ goal, atol=1e-10)
    assert ranks == sorted(ranks, reverse=True)
    assert {ranks[0], ranks[-1]} == {1, 2}


@given(SEEDS)
def test_the_rank_falls_once_for_any_directions(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = 4
    G, base, tilt = definite(random, n), random.normal(size=(2, n)), random.normal(size=n)
    f, weights, goal = random.normal(size=n), random.normal(size=2), random.normal(size=n)
    ranks = []
    for exponent in np.linspace(0, 16, 33):
        A = np.vstack([base, weights @ base + 10.0**-exponent * tilt])
        ranks.append(solve(G, f, A, A @ goal).rank)
    assert ranks == sorted(ranks, reverse=True)
    assert ranks[0] == 3 and ranks[-1] == 2


def test_more_rows_than_unknowns() -> None:
    random = np.random.default_rng(2)
    A, goal = random.normal(size=(9, 3)), random.normal(size=3)
    solution = solve(np.eye(3), random.normal(size=3), A, A @ goal)
    assert solution.rank == 3
    assert np.allclose(solution.z, goal, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_singular(bad: float) -> None:
    for place in ("G", "f", "A", "b"):
        blocks = {
            "G": np.eye(2),
            "f": np.ones(2),
            "A": np.array([[1.0, 1.0]]),
            "b": np.array([1.0]),
        }
        blocks[place].flat[0] = bad
        with pytest.raises((SingularError, ContradictionError)):
            solve(**blocks)


def test_the_condition_is_large_where_the_problem_is_nearly_singular() -> None:
    assert solve(np.eye(2), np.ones(2)).condition == 1.0
    nearly = solve(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-6]]), np.ones(2))
    assert 1e5 < nearly.condition < 1e7


@pytest.mark.parametrize("angle", [0.3, 1e-3, 1e-6])
@pytest.mark.parametrize("is_definite", [True, False])
def test_the_condition_is_that_of_the_rows(angle: float, is_definite: bool) -> None:
    """Of the second of two rows at an angle a, sin a is left beside the first; however they are
    turned, and however long.
    """
    plane = np.array([[1.0, 0.0, 0.0], [np.cos(angle), np.sin(angle), 0.0]])
    for seed in range(3):
        random = np.random.default_rng(seed)
        turn = np.linalg.qr(random.normal(size=(3, 3)))[0] if seed else np.eye(3)
        found = solve(
            np.eye(3),
            np.zeros(3),
            np.diag([3.0, 0.2]) @ plane @ turn,
            np.zeros(2),
            definite=is_definite,
        )
        assert found.rank == 2
        assert found.condition == pytest.approx(1 / np.sin(angle), rel=1e-8)


def test_a_row_that_is_about_to_vanish_gives_way_although_more_of_it_is_left() -> None:
    """Three rows in a plane: beside the first, half of the second is left and all of the third,
    which is short and noisy.
    """
    rows = np.array([[1.0, 0.0, 0.0], [np.sqrt(0.75), 0.5, 0.0], [0.0, 1e-9, 0.0]])
    goal = np.array([1.0, 2.0, 0.0])
    right = rows @ goal + [0.0, 0.0, 1e-17]
    for order in ([0, 1, 2], [0, 2, 1], [2, 0, 1]):
        found = solve(np.eye(3), np.zeros(3), rows[order], right[order])
        assert found.rank == 2
        assert np.allclose(found.z, goal, rtol=0, atol=1e-14)


def test_rows_of_a_large_condition_are_solved_without_squaring_it() -> None:
    """An inverse mass matrix of condition 1e8, as Hamilton's form inverts it for the momenta."""
    ratio, light, heavy = 312.0**2, 0.036, 28.8
    inverse = np.array(
        [[1 / light + ratio**2 / heavy, -ratio / heavy], [-ratio / heavy, 1 / heavy]]
    )
    momenta = np.array([-3.0, 2.0])
    found = solve_rows(inverse, inverse @ momenta)
    np.testing.assert_allclose(inverse @ found, inverse @ momenta, rtol=1e-9)
    with pytest.raises(SingularError):
        solve((inverse.T @ inverse), inverse.T @ momenta)
