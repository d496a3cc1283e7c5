"""Fits: known truth with and without noise, coverage of the errors, outliers, bounds, priors, and
what data leave open.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da

x, y = da.coordinates("x y")
m, k, c, l, g = da.parameters("m k c l g", positive=True)
SPRING = da.derive(
    da.System(
        [x], kinetic=m / 2 * x.dot**2, potential=k / 2 * x**2, forces={x: -c * x.dot}, name="Spring"
    ),
    "lagrange",
)
TRUTH = {"m": 1.0, "k": 4.0, "c": 0.3}
TIMES = np.linspace(0, 8, 60)


def measured(noise: float, seed: int = 0) -> dict[str, Any]:
    motion = da.simulate(SPRING, {x: 1.0}, (0, 8), parameters=TRUTH, at=TIMES)
    return {
        "t": TIMES,
        "x": motion["x"] + noise * np.random.default_rng(seed).normal(size=len(TIMES)),
    }


def fitted(data: Any, unknown: Any = ("k", "c", "x"), **options: Any) -> Any:
    return da.analysis.fit(
        SPRING, data, list(unknown), {x: 0.8}, parameters={"m": 1.0, "k": 3.0, "c": 0.1}, **options
    )


def test_exact_data_give_the_truth_back() -> None:
    found = fitted(measured(0.0))
    assert found.converged and not found.warnings
    np.testing.assert_allclose([found["k"], found[c], found["x"]], [4.0, 0.3, 1.0], rtol=1e-8)
    assert found.motion.parameters["k"] == found["k"] and np.max(np.abs(found.residuals)) < 1e-8


@pytest.mark.long
def test_errors_cover_the_truth_as_often_as_they_say() -> None:
    """Over forty sets of noise the normalised error has mean 0 and variance 1, within sampling."""
    scores = []
    for seed in range(40):
        found = fitted(measured(0.02, seed), sigma=0.02)
        scores.append(
            [
                (found[name] - truth) / found.uncertainty[name]
                for name, truth in (("k", 4.0), ("c", 0.3), ("x", 1.0))
            ]
        )
        assert found.intervals["k"][0] < found["k"] < found.intervals["k"][1]
    table = np.array(scores)
    assert np.all(np.abs(np.mean(table, axis=0)) < 4 / np.sqrt(40))
    assert np.all(np.abs(np.var(table, axis=0) - 1) < 4 * np.sqrt(2 / 40))


def test_an_untold_sigma_is_estimated() -> None:
    told, untold = fitted(measured(0.02, 3), sigma=0.02), fitted(measured(0.02, 3))
    assert untold.scale == pytest.approx(0.02, rel=0.3) and told.scale == pytest.approx(
        untold.scale / 0.02
    )
    assert untold.uncertainty["k"] == pytest.approx(told.uncertainty["k"] * told.scale)
    assert told.parameters == pytest.approx(untold.parameters)


def test_what_the_data_cannot_tell_is_named() -> None:
    """Only k/m and c/m move a spring: the combination (m, k, c) is open, the start is not."""
    found = fitted(measured(0.01), ["m", "k", "c", "x"])
    (combination,) = found.undetermined
    values = found.parameters
    lead = next(iter(combination))
    for name in ("m", "k", "c"):
        assert combination[name] * values[lead] == pytest.approx(
            combination[lead] * values[name], rel=1e-4
        )
    assert "x" not in combination and "alone" in found.warnings[0]
    assert (
        all(np.isinf(found.uncertainty[name]) for name in ("m", "k", "c"))
        and 0 < found.uncertainty["x"] < 0.1
    )
    held = fitted(measured(0.01), ["m", "k", "c", "x"], priors={"m": (1.0, 1e-3)})
    assert not held.undetermined and held["k"] == pytest.approx(4.0, rel=0.02)
    assert "not determine" in found.summary() and "+-" in held.summary()


def test_outliers_are_forgiven_where_that_is_asked() -> None:
    data = measured(0.01)
    data["x"][[7, 30]] += 5.0
    plain, robust = fitted(data), fitted(data, loss="cauchy", loss_scale=0.03)
    assert abs(robust["k"] - 4.0) < 0.03 < abs(plain["k"] - 4.0)


@pytest.mark.long
def test_gaps_weights_and_datasets() -> None:
    import xarray

    data = measured(0.01)
    data["x"][::3] = np.nan
    found = fitted(data)
    assert found.data.count == 40 and found["k"] == pytest.approx(4.0, rel=0.02)
    assert np.all(np.isnan(found.residuals[::3]))
    table = xarray.Dataset({"x": ("t", data["x"])}, coords={"t": TIMES})
    assert fitted(table).parameters == pytest.approx(found.parameters)
    doubled = {"t": TIMES, "twice": 2 * data["x"]}
    assert fitted(doubled, observe={"twice": 2 * x}).parameters == pytest.approx(
        found.parameters, rel=1e-6
    )
    sigma = np.where(TIMES < 4, 0.01, 1e3)
    early = {"t": TIMES[TIMES < 4], "x": data["x"][TIMES < 4]}
    weighted, cut = fitted(data, sigma=sigma), fitted(early, sigma=0.01)
    assert weighted.parameters == pytest.approx(cut.parameters, rel=1e-5)


def test_bounds_hold() -> None:
    found = fitted(measured(0.0), bounds={"k": (2.0, 3.5)})
    assert 2.0 <= found["k"] <= 3.5 and found["k"] == pytest.approx(3.5, rel=1e-3)


def test_a_pendulum_in_the_plane_finds_the_length_of_its_rod() -> None:
    """The unknown stands in the constraint, and moves the completed start with it."""
    system = da.System(
        [x, y],
        kinetic=m / 2 * (x.dot**2 + y.dot**2),
        potential=m * g * y,
        constraints=[da.holonomic(x**2 + y**2 - l**2, name="rod")],
    )
    equations = da.derive(system, "lagrange")
    values = {"m": 1.0, "l": 1.3, "g": 9.81}
    truth = da.simulate(equations, {y: -1.2}, (0, 4), parameters=values, at=np.linspace(0, 4, 25))
    data = {"t": truth.t, "angle": np.arctan2(truth["x"], -truth["y"])}
    found = da.analysis.fit(
        equations,
        data,
        [l, g],
        {y: -1.2},
        parameters=values | {"l": 1.4, "g": 9.0},
        observe={"angle": sympy.atan2(x, -y)},
    )
    np.testing.assert_allclose([found[l], found[g]], [1.3, 9.81], rtol=1e-6)


def test_the_picture_shows_data_and_residuals(tmp_path: Path) -> None:
    fitted(measured(0.02)).plot(path=tmp_path / "fit.png", title="Spring")
    assert (tmp_path / "fit.png").stat().st_size > 5000


def test_wrong_calls_are_refused() -> None:
    data = measured(0.0)
    for options, message in (
        ({"unknown": ["q"]}, "no first guess"),
        ({"data": {"x": data["x"]}}, "times"),
        ({"data": {"t": TIMES, "x": data["x"][:5]}}, "one value for each"),
        ({"data": {"t": TIMES, "w": data["x"]}}, "no quantity `w`"),
        ({"bounds": {"k": (5.0, 6.0)}}, "outside its bounds"),
        ({"sigma": -1.0}, "positive"),
        ({"loss": "square"}, "no loss"),
        ({"data": {"t": TIMES[:2], "x": data["x"][:2]}}, "fewer data"),
        ({"priors": {"m": (1, 1)}}, "not asked for"),
    ):
        call = {"data": data} | options
        with pytest.raises(da.errors.ModelError, match=message):
            fitted(call.pop("data"), **call)
