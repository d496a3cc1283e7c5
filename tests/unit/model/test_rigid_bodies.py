"""The rigid body as a flow: symbols, sides, the symmetric form, and what it conserves."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.linalg import expm

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.rigid_rotations import (
    manakov_integrals,
    momentum_of_pair,
    spatial_momentum,
    symmetric_partner,
    velocity_of_momentum,
)


def start_of(n: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.random.default_rng(n).standard_normal((2, n, n))
    Q, M = expm(values[0] - values[0].T), values[1] - values[1].T
    return Q, M / np.linalg.norm(M, 2)


def run(body, n, **options):
    Q, M = start_of(n)
    Lambda = {f"Lambda_{i + 1}": 0.5 + 0.7 * i for i in range(n)}
    start = body.start(
        **{
            name: value
            for name, value in {"Q": Q, "M": M, **options}.items()
            if name in body.matrices
        }
    )
    return da.simulate(body, start, (0, 6), parameters=Lambda, at=[0, 2, 6], rtol=1e-12), list(
        Lambda.values()
    )


@pytest.mark.long
def test_symbols():
    body = da.lie.rigid_body(3)
    assert [q.name for q in body.coordinates][-3:] == ["M_12", "M_13", "M_23"]
    assert len(body.coordinates) == 12
    assert [p.name for p in body.parameters] == ["Lambda_1", "Lambda_2", "Lambda_3"]
    assert list(body.integrals) == ["energy", "m_12", "m_13", "m_23", "k2_z0", "k3_z1"]
    assert "M_1_12" in {q.name for q in da.lie.rigid_body(12, attitude=False).coordinates}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("n", [2, 3, 4])
class TestEverySide:
    def test_rates_are_those_of_the_matrices(self, n, side):
        body, (Q, M) = da.lie.rigid_body([1 + i for i in range(n)], side), start_of(n)
        point = body.start(Q=Q, M=M)
        rates = {
            q.name: float(rate.subs({q: point[q.name] for q in body.coordinates}))
            for q, rate in body.rates.items()
        }
        Omega = velocity_of_momentum([1 + i for i in range(n)], M)
        turned, bracket = (
            (Q @ Omega, M @ Omega - Omega @ M)
            if side == "left"
            else (Omega @ Q, Omega @ M - M @ Omega)
        )
        for i in range(n):
            for j in range(n):
                assert rates[f"Q_{i + 1}{j + 1}"] == pytest.approx(turned[i, j], abs=1e-14)
                if i < j:
                    assert rates[f"M_{i + 1}{j + 1}"] == pytest.approx(bracket[i, j], abs=1e-14)

    @pytest.mark.long
    def test_every_integral_has_a_vanishing_rate(self, n, side):
        """At any matrices, rotations or not; derivatives along the rates by a complex step."""
        for symmetric in (False, True):
            body = da.lie.rigid_body([1 + 0.7 * i for i in range(n)], side, symmetric=symmetric)
            rates = sympy.lambdify(body.coordinates, list(body.rates.values()), cse=True)
            integrals = sympy.lambdify(body.coordinates, list(body.integrals.values()), cse=True)
            point = np.random.default_rng(n).standard_normal(len(body.coordinates))
            moved = np.array(integrals(*(point + 1e-30j * np.array(rates(*point)))))
            for name, value in zip(body.integrals, moved, strict=True):
                assert abs(value.imag) < 1e-42 * (1 + abs(value.real)), name
            pushed = np.array(
                integrals(*(point + 1e-30j))
            )  # another direction: the rates are not zero by themselves
            assert np.max(np.abs(pushed.imag)) > 1e-31

    @pytest.mark.long
    def test_motions_conserve(self, n, side):
        Q, M = start_of(n)
        plain, Lambda = run(da.lie.rigid_body(n, side), n)
        paired, _ = run(
            da.lie.rigid_body(n, side, symmetric=True), n, P=symmetric_partner(Q, M, side)
        )
        assert np.allclose(plain["Q"], paired["Q"], atol=1e-10)
        assert np.allclose(plain["M"], momentum_of_pair(paired["Q"], paired["P"], side), atol=1e-10)
        expected = spatial_momentum(Q, M, side)
        for motion in (plain, paired):
            for name in motion.system.integrals:
                values = motion.energy if name == "energy" else motion[name]
                assert np.ptp(values) <= 1e-11 * (1 + abs(values[0])), name
            assert np.allclose(motion["m_12"], expected[0, 1], atol=1e-11)
        for name, values in manakov_integrals(Lambda, plain["M"]).items():
            assert np.allclose(plain[name.replace(" ", "_")], values, rtol=1e-11, atol=1e-13)
        assert np.allclose(np.swapaxes(plain["Q"], 1, 2) @ plain["Q"], np.eye(n), atol=1e-12)


def test_without_attitude():
    whole, _ = run(da.lie.rigid_body(4), 4)
    alone, _ = run(da.lie.rigid_body(4, attitude=False), 4)
    assert len(alone.system.coordinates) == 6
    assert np.allclose(whole["M"], alone["M"], atol=1e-10)


def test_left_and_right_differ_unless_transposed():
    n = 3
    Q, M = start_of(n)
    left, Lambda = run(da.lie.rigid_body(n), n)
    right, _ = run(da.lie.rigid_body(n, "right"), n)
    assert np.max(np.abs(left["M"][-1] - right["M"][-1])) > 0.01
    body = da.lie.rigid_body(Lambda, "right")
    turned = da.simulate(body, body.start(Q=Q.T, M=-M), (0, 6), at=[0, 2, 6], rtol=1e-12)
    assert np.allclose(np.swapaxes(turned["Q"], 1, 2), left["Q"], atol=1e-10)


class TestErrors:
    def test_inertia_of_a_plane(self):
        with pytest.raises(ModelError, match=r"plane \(1, 2\)"):
            da.lie.rigid_body([-2, 1, 3])
        assert da.lie.rigid_body([-0.5, 1, 3]).name == "rigid body on SO(3)"

    def test_calls(self):
        with pytest.raises(ModelError, match="left or right"):
            da.lie.rigid_body(3, "middle")
        with pytest.raises(ModelError, match="two axes"):
            da.lie.rigid_body(1)
        with pytest.raises(ModelError, match="attitude"):
            da.lie.rigid_body(3, symmetric=True, attitude=False)
