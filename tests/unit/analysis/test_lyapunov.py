"""Lyapunov exponents: linear flows, sums of divergences, pairs of a Hamiltonian flow, constraints,
Lorenz.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dalembert as da

x, y, z = da.coordinates("x y z")
c = da.parameters("c")


def bars(damping: Any = 0) -> Any:
    """A double pendulum in Cartesian coordinates: eight symbols, two holonomic constraints."""
    a, b, p, q = da.coordinates("a b p q")
    return da.System(
        [a, b, p, q],
        kinetic=(a.dot**2 + b.dot**2 + p.dot**2 + q.dot**2) / 2,
        potential=9.81 * (b + q),
        forces={symbol: -damping * symbol.dot for symbol in (a, b, p, q)} if damping else {},
        constraints=[
            da.holonomic(a**2 + b**2 - 1, name="first"),
            da.holonomic((p - a) ** 2 + (q - b) ** 2 - 1, name="second"),
        ],
    )


LIFTED = {"a": 1.0, "b": 0.0, "p": 2.0, "q": 0.0}


def test_a_linear_flow_has_its_eigenvalues() -> None:
    flow = da.Flow({x: -x + 3 * y, y: 0.5 * y, z: -4 * z + x}, name="Triangle")
    found = da.analysis.lyapunov(flow, {z: 1.0}, (0, 30), transient=12.0, rtol=1e-9)
    np.testing.assert_allclose(found.exponents, [0.5, -1.0, -4.0], atol=1e-4)
    assert found.kaplan_yorke == pytest.approx(1.5, abs=1e-3)


@pytest.mark.long
def test_exponents_live_on_the_constraints() -> None:
    found = da.analysis.lyapunov(bars(), LIFTED, (0, 100), transient=5.0, rtol=1e-9)
    assert found.dimension == 4 and len(found.exponents) == 4
    assert found.exponents[0] > 5 * found.uncertainty[0] > 0
    np.testing.assert_allclose(found.exponents + found.exponents[::-1], 0.0, atol=0.05)
    assert abs(found.sum) < 0.05
    largest = da.analysis.lyapunov(found.motion, count=1, transient=5.0)
    assert largest.exponents[0] == pytest.approx(found.exponents[0], abs=1e-6)


def test_damping_contracts_by_its_rate() -> None:
    """Both degrees of freedom lose momentum at the rate c: volumes of (q, p) shrink by 2 c on the
    average.
    """
    found = da.analysis.lyapunov(
        bars(c), LIFTED, (0, 60), transient=2.0, parameters={c: 0.2}, rtol=1e-9
    )
    assert found.sum == pytest.approx(-0.4, abs=0.05)


def test_lorenz_contracts_by_its_divergence() -> None:
    s, r, b = da.parameters("s r b")
    lorenz = da.Flow({x: s * (y - x), y: x * (r - z) - y, z: x * y - b * z}, name="Lorenz")
    values = {s: 10.0, r: 28.0, b: 8 / 3}
    found = da.analysis.lyapunov(
        lorenz,
        {x: 1.0, y: 2.0, z: 20.0},
        (0, 400),
        parameters=values,
        transient=20.0,
        interval=0.5,
        rtol=1e-8,
    )
    assert found.sum == pytest.approx(-(10 + 1 + 8 / 3), abs=1e-6)
    errors = np.abs(found.exponents - [0.9056, 0.0, -14.5721])
    assert np.all(errors < 5 * found.uncertainty) and np.all(errors < 0.06)
    assert np.all(found.uncertainty > 0)
    assert found.kaplan_yorke == pytest.approx(2.062, abs=0.005)
    assert found.history.shape == (len(found.t), 3)
    np.testing.assert_allclose(found.history[-1], found.exponents)


@pytest.mark.long
def test_lorenz_to_three_digits() -> None:
    s, r, b = da.parameters("s r b")
    lorenz = da.Flow({x: s * (y - x), y: x * (r - z) - y, z: x * y - b * z}, name="Lorenz")
    values = {s: 10.0, r: 28.0, b: 8 / 3}
    found = da.analysis.lyapunov(
        lorenz,
        {x: 1.0, y: 2.0, z: 20.0},
        (0, 20_000),
        parameters=values,
        transient=20.0,
        interval=0.5,
        rtol=1e-8,
    )
    np.testing.assert_allclose(found.exponents, [0.9056, 0.0, -14.5721], atol=0.003)


def test_wrong_questions_are_refused() -> None:
    flow = da.Flow({x: -x}, name="Decay")
    with pytest.raises(da.errors.ModelError, match="There are 1 exponents"):
        da.analysis.lyapunov(flow, {x: 1.0}, (0, 10), count=2)
    with pytest.raises(da.errors.ModelError, match="forward"):
        da.analysis.lyapunov(flow, {x: 1.0}, (10, 0))
    with pytest.raises(da.errors.ModelError, match="too few"):
        da.analysis.lyapunov(flow, {x: 1.0}, (0, 10), interval=2.0)
