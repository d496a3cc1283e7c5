"""What the methods with fixed steps claim, measured: their orders on nonlinear problems, and single
steps against independent implementations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.linalg import expm
from scipy.optimize import fsolve

import dalembert as da
from dalembert.integrate.methods.implicit.gauss_collocation import tableau
from moving_matrices import ORDERS, body, skew

X, Y, V = da.coordinates("x y v")
KEPLER = da.System(
    [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=-1 / sympy.sqrt(X**2 + Y**2)
)
PERIHELION = {X: 0.7, Y.dot: np.sqrt(1.3 / 0.7)}


def two_sided() -> da.Flow:
    """A 2 x 3 matrix turned from both sides, and a symbol that no action moves and that the
    generators depend on.
    """
    X = sympy.Matrix(2, 3, list(da.coordinates("x1 x2 x3 x4 x5 x6")))
    z = da.coordinates("z")
    left = sympy.Matrix([[0, X[0, 2] + z], [-X[0, 2] - z, 0]])
    a, b, c = X[0, 0] * z, X[1, 1] + sympy.sin(da.t), 1 + X[1, 2] ** 2
    right = sympy.Matrix([[0, a, b], [-a, 0, c], [-b, -c, 0]])
    rates = dict(zip(list(X), list(left * X - X * right), strict=True)) | {z: X[0, 1] - z**2 / 2}
    return da.Flow(
        rates,
        matrices={"X": X},
        actions=[da.lie.Action("X", sympy.ImmutableMatrix(left), sympy.ImmutableMatrix(right))],
    )


def similarity() -> da.Flow:
    """A 2 x 2 matrix moved by a generator that is not skew."""
    symbols = da.coordinates("a b c d")
    X = sympy.Matrix(2, 2, list(symbols))
    a, b, c, _ = symbols
    side = sympy.Matrix([[sympy.cos(c), b / 2], [sympy.Rational(3, 10) * a, -c / 3]])
    rates = dict(zip(symbols, list(side * X - X * side), strict=True))
    return da.Flow(
        rates,
        matrices={"X": X},
        actions=[da.lie.Action("X", sympy.ImmutableMatrix(side), sympy.ImmutableMatrix(side))],
    )


BODY = body([1.0, 1.5, 2.2, 3.1])
FLOWS: dict[str, tuple[da.Flow, dict[str, float]]] = {
    "rigid body on SO(4)": (BODY, BODY.start(M=skew(4, 1, 8.0), Q=np.eye(4))),
    "two sides and a symbol": (
        two_sided(),
        {"x1": 0.5, "x2": -0.4, "x3": 0.3, "x4": 0.2, "x5": 0.6, "x6": -0.3, "z": 0.7},
    ),
    "not skew": (similarity(), {"a": 0.6, "b": 0.4, "c": -0.3, "d": 0.2}),
}


def measured(
    model: Any, start: Any, end: float, method: str, sizes: list[int]
) -> tuple[float, list[float]]:
    exact = da.simulate(model, start, (0, end), rtol=1e-13, atol=1e-15, at=[end], project=False).y[
        :, 0
    ]
    errors = []
    for n in sizes:
        motion = da.simulate(model, start, (0, end), method=method, step=end / n)
        assert motion.success, motion.message
        errors.append(float(np.abs(motion.y[:, -1] - exact).max()))
    return float(np.log(errors[0] / errors[-1]) / np.log(sizes[-1] / sizes[0])), errors


@pytest.mark.parametrize("method", ["gauss2", "gauss4", "gauss6"])
@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
def test_orders_of_gauss(method: str, form: str) -> None:
    sizes = {"gauss2": [200, 400], "gauss4": [60, 120], "gauss6": [40, 80]}[method]
    order, errors = measured(da.derive(KEPLER, form), PERIHELION, 4.0, method, sizes)
    assert min(errors) > 1e-13 and abs(order - ORDERS[method]) < 0.3, errors


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize("flow", FLOWS)
def test_orders_on_groups(method: str, flow: str) -> None:
    sizes = [10, 20] if ORDERS[method] == 6 else [32, 64]
    order, errors = measured(*FLOWS[flow], 2.0, method, sizes)
    assert min(errors) > 1e-14 and abs(order - ORDERS[method]) < 0.25, errors


@pytest.mark.parametrize("method", ORDERS)
def test_the_order_between_the_steps_is_that_of_the_method(method: str) -> None:
    flow, start = FLOWS["rigid body on SO(4)"]
    errors, sizes = [], [10, 20] if ORDERS[method] == 6 else [20, 40]
    exact = da.simulate(flow, start, (0, 2), rtol=1e-13, project=False)
    for n in sizes:
        motion = da.simulate(flow, start, (0, 2), method=method, step=2 / n)
        inside = (motion.t[:-1, None] + np.diff(motion.t)[:, None] * np.array([0.23, 0.81])).ravel()
        errors.append(float(np.abs(motion.sol(inside) - exact.sol(inside)).max()))
    assert abs(np.log2(errors[0] / errors[1]) - ORDERS[method]) < 0.4, errors


@pytest.mark.parametrize(("method", "stages"), [("gauss2", 1), ("gauss4", 2), ("gauss6", 3)])
def test_a_step_is_exact_for_polynomials_up_to_its_order(method: str, stages: int) -> None:
    """x' = t^k is quadrature: exact up to k = 2s - 1, and not beyond."""
    for power, is_exact in ((2 * stages - 1, True), (2 * stages, False)):
        motion = da.simulate(da.Flow({X: da.t**power}), {X: 0.0}, (0, 1), method=method, step=1.0)
        assert bool(abs(motion["x"][-1] - 1 / (power + 1)) < 1e-15) == is_exact


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_the_table_of_gauss(stages: int) -> None:
    """mu_ij + mu_ji = 1 in the last digit, and the conditions of collocation sum_j a_ij c_j^k =
    c_i^(k+1) / (k+1).
    """
    table = tableau(stages)
    assert (table.mix + table.mix.T == 1.0).all()
    a = table.mix * table.weights
    for k in range(stages):
        assert np.allclose(a @ table.nodes**k, table.nodes ** (k + 1) / (k + 1), rtol=0, atol=1e-15)
    for k in range(2 * stages):
        assert table.weights @ table.nodes**k == pytest.approx(1 / (k + 1), abs=1e-15)
    polynomial = np.array([[1.0, -2.0, 3.0, 0.5, -1.0, 2.0][: 2 * stages]])
    values = [
        table.weights * np.polyval(polynomial[0], table.nodes + shift)
        for shift in (-2.0, -1.0, 0.0)
    ]
    assert np.allclose(table.long_guess @ np.concatenate(values[:2]), values[2], atol=1e-10)


# -- independent implementations: one step each, by the printed formulas
# ------------------------------------------------------------------------

ROOT3, ROOT15 = np.sqrt(3.0), np.sqrt(15.0)
BUTCHER = {
    1: (np.array([[0.5]]), np.array([1.0])),
    2: (np.array([[1 / 4, 1 / 4 - ROOT3 / 6], [1 / 4 + ROOT3 / 6, 1 / 4]]), np.array([0.5, 0.5])),
    3: (
        np.array(
            [
                [5 / 36, 2 / 9 - ROOT15 / 15, 5 / 36 - ROOT15 / 30],
                [5 / 36 + ROOT15 / 24, 2 / 9, 5 / 36 - ROOT15 / 24],
                [5 / 36 + ROOT15 / 30, 2 / 9 + ROOT15 / 15, 5 / 36],
            ]
        ),
        np.array([5 / 18, 4 / 9, 5 / 18]),
    ),
}


def gauss_reference(rates: Any, y: np.ndarray, h: float, stages: int) -> np.ndarray:
    """One step by SciPy's root finder on the stages."""
    a, b = BUTCHER[stages]

    def residual(flat: np.ndarray) -> np.ndarray:
        k = flat.reshape(stages, -1)
        return (k - np.array([rates(row) for row in y + h * a @ k])).ravel()

    k = fsolve(residual, np.tile(rates(y), stages), xtol=1e-14).reshape(stages, -1)
    return y + h * b @ k


def generator(M: np.ndarray, inertias: list[float]) -> np.ndarray:
    return -M / np.add.outer(inertias, inertias)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_gauss_against_a_reference(stages: int) -> None:
    pendulum = da.Flow({X: V, V: -sympy.sin(X)})
    motion = da.simulate(
        pendulum, {X: 1.0, V: 0.3}, (0, 0.4), method=f"gauss{2 * stages}", step=0.4
    )
    reference = gauss_reference(
        lambda y: np.array([y[1], -np.sin(y[0])]), np.array([1.0, 0.3]), 0.4, stages
    )
    assert np.allclose(motion.y[:, -1], reference, rtol=0, atol=1e-13)


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_isospectral_against_a_reference(stages: int) -> None:
    """Gauss's method on the cotangent bundle of GL(n): Q' = B Q, P' = -B^T P, W = Q P^T (Modin and
    Viviani 2020).
    """
    inertias, h = [1.0, 2.0, 3.5], 0.3
    flow, M = body(inertias), skew(3, 4, 2.0)
    motion = da.simulate(
        flow, flow.start(M=M, Q=np.eye(3)), (0, h), method=f"isospectral{2 * stages}", step=h
    )

    def rates(flat: np.ndarray) -> np.ndarray:
        q, p = flat.reshape(2, 3, 3)
        b = generator(q @ p.T, inertias)
        return np.concatenate([(b @ q).ravel(), (-b.T @ p).ravel()])

    q, p = gauss_reference(
        rates, np.concatenate([np.eye(3).ravel(), M.T.ravel()]), h, stages
    ).reshape(2, 3, 3)
    assert np.allclose(motion["M"][-1], q @ p.T, rtol=0, atol=1e-12)
    assert np.allclose(motion["Q"][-1], np.linalg.inv(q), rtol=0, atol=1e-12)


def test_lie_verlet_against_a_reference() -> None:
    inertias, h = [1.0, 1.5, 2.2, 3.1], 0.3
    M = skew(4, 4, 2.0)
    motion = da.simulate(BODY, BODY.start(M=M, Q=np.eye(4)), (0, h), method="lie-verlet", step=h)
    u = np.zeros((4, 4))
    for _ in range(100):
        u = h * generator(expm(u / 2) @ M @ expm(-u / 2), inertias)
    assert np.allclose(motion["M"][-1], expm(u) @ M @ expm(-u), rtol=0, atol=1e-13)
    assert np.allclose(motion["Q"][-1], expm(-u), rtol=0, atol=1e-13)


@pytest.mark.parametrize("n", [3, 4])
def test_rkmk_against_a_reference(n: int) -> None:
    inertias, h = [1.0, 1.5, 2.2, 3.1][:n], 0.3
    flow, M = body(inertias), skew(n, 4, 2.0)
    motion = da.simulate(flow, flow.start(M=M, Q=np.eye(n)), (0, h), method="rkmk4", step=h)

    def rate(u: np.ndarray) -> np.ndarray:
        a = generator(expm(u) @ M @ expm(-u), inertias)
        once = u @ a - a @ u
        return a - once / 2 + (u @ once - once @ u) / 12

    k1 = rate(np.zeros((n, n)))
    k2 = rate(h / 2 * k1)
    k3 = rate(h / 2 * k2)
    k4 = rate(h * k3)
    u = h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    assert np.allclose(motion["M"][-1], expm(u) @ M @ expm(-u), rtol=0, atol=1e-13)
    assert np.allclose(motion["Q"][-1], expm(-u), rtol=0, atol=1e-13)


@pytest.mark.parametrize("method", ["rkmk4", "lie-verlet"])
@pytest.mark.parametrize(
    ("n", "size"), [(2, 0.1), (3, 1e-6), (3, 0.3), (3, 7.0), (4, 1e-3), (4, 0.3), (5, 9.0)]
)
def test_the_exponential(method: str, n: int, size: float) -> None:
    """Q' = -A Q with a constant A is an exponential, whatever the method; skew in closed form for n
    = 3, else by series.
    """
    for a in (skew(n, 3, size), skew(n, 3, size) + size * np.diag(np.arange(n) / n)):
        Q = sympy.Matrix(n, n, lambda i, j: da.coordinates(f"q{i}{j}"))
        side = sympy.ImmutableMatrix(-a)
        flow = da.Flow(
            dict(zip(list(Q), list(side * Q), strict=True)),
            matrices={"Q": Q},
            actions=[da.lie.Action("Q", side, None)],
        )
        motion = da.simulate(flow, flow.start(Q=np.eye(n)), (0, 1), method=method, step=1.0)
        exact = expm(-a)
        assert np.abs(motion["Q"][-1] - exact).max() < 2e-14 * max(1.0, np.abs(exact).max()) * max(
            1.0, size
        )
