"""The inverse of ad_x, the normal metric and Brockett's accelerations, against definitions and the
flow.
"""

from __future__ import annotations

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.orbits import brockett_acceleration, inverse_bracket, normal_metric


def commutator(a, b):
    return a @ b - b @ a


def skew(n: int, seed: int, complex: bool = False) -> np.ndarray:
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(n, n)) + (1j * random.normal(size=(n, n)) if complex else 0)
    return matrix - matrix.conj().T


CASES = {"so3": (3, False), "so5": (5, False), "su3": (3, True), "su4": (4, True)}


@pytest.mark.parametrize("case", CASES)
def test_it_inverts_the_bracket_on_its_image(case: str) -> None:
    n, complex = CASES[case]
    x, u, w = (skew(n, seed, complex) for seed in (1, 2, 3))
    xi = commutator(x, u)
    found = inverse_bracket(x, xi)
    assert np.allclose(commutator(x, found), xi)
    # The result lies in the image: it is orthogonal to what commutes with x.
    for kernel in (x, x @ x @ x):
        assert np.trace(kernel @ found) == pytest.approx(0, abs=1e-10)
    eta = commutator(x, w)
    assert normal_metric(x, xi, eta) == pytest.approx(normal_metric(x, eta, xi))
    assert normal_metric(x, xi, xi) > 0
    # The control in the image is the cheapest of all that give the same velocity.
    assert normal_metric(x, xi, xi) <= np.real(-np.trace(u @ u)) / 2 + 1e-12


def test_repeated_eigenvalues_are_no_trouble() -> None:
    x = np.kron(np.diag([1.0, 1.0, 2.0]), [[0, -1], [1, 0]])
    u = skew(6, 4)
    found = inverse_bracket(x, commutator(x, u))
    assert np.allclose(commutator(x, found), commutator(x, u))


def test_what_is_no_velocity_is_refused() -> None:
    x = skew(4, 5)
    with pytest.raises(ModelError, match="commutes with x"):
        inverse_bracket(x, x)
    with pytest.raises(ModelError, match="skew"):
        inverse_bracket(np.eye(3), x[:3, :3])


def test_brocketts_accelerations_are_those_of_the_flow() -> None:
    target = np.array([[0.0, -1.0, 0.2], [1.0, 0.0, 0.5], [-0.2, -0.5, 0.0]])
    flow = da.lie.orbit_flow(3, brockett=target.tolist())
    names = [q.name for q in flow.coordinates]
    motion = da.simulate(
        flow, dict(zip(names, [0.4, -0.7, 0.2, 0.9, 0.1, -0.3], strict=True)), (0, 2), at=[0, 1, 2]
    )
    for k in range(3):
        x, p = motion["x"][k], motion["p"][k]
        velocity = commutator(x, commutator(p, x))
        found = brockett_acceleration(x, velocity, target)
        expected = [motion[f"x_{pair}_ddot"][k] for pair in ("12", "13", "23")]
        assert np.allclose([found[0, 1], found[0, 2], found[1, 2]], expected, atol=1e-9)
        # Without the inverse of ad_x, with x_dot itself, it would be another motion.
        assert not np.allclose(inverse_bracket(x, velocity), velocity, atol=1e-3)
