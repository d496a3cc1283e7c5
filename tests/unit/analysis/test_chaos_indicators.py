"""Chaos indicators: closed forms, lanes beside single runs, constraints, stores, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.errors import FileError, ModelError
from dalembert.integrate.ensemble.indicators import Indicators

x, y = da.coordinates("x y")
EVERY = ("exponent", "fli", "megno", "mean_megno", "sali", "gali2", "gali3")


def henon_heiles() -> da.System:
    return da.System(
        coordinates=[x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=(x**2 + y**2) / 2 + x**2 * y - y**3 / 3,
    )


@pytest.mark.parametrize("method", ["taylor", "dop853"])
def test_a_saddle_has_its_closed_forms(method: str) -> None:
    flow = da.Flow({x: 2 * x, y: -y}, name="Saddle")
    at = np.array([0.0, 0.4, 3.0])
    found = da.analysis.chaos_indicators(
        flow, {x: [0.0, 0.1]}, ("exponent", "fli", "megno", "mean_megno", "gali2"),
        start={y: 0.2}, span=(0, 3), at=at, method=method, rtol=1e-11,
    )  # fmt: skip
    begin = Indicators(("gali2",)).directions(2)
    dense = np.linspace(0.0, 3.0, 60_001)
    both = np.exp(np.multiply.outer(dense, [2.0, -1.0]))[:, None] * begin
    growth = np.log(np.linalg.norm(both[:, 0], axis=1))
    step = np.diff(dense)
    integral = np.append(0.0, np.cumsum((growth[1:] + growth[:-1]) / 2 * step))
    megno = 2 * growth[1:] - 2 * integral[1:] / dense[1:]
    areas = np.append(0.0, np.cumsum((np.append(0.0, megno[:-1]) + megno) / 2 * step))
    units = both / np.linalg.norm(both, axis=2)[..., None]
    volume = np.abs(np.linalg.det(units))
    for k, place in ((1, 8000), (2, 60_000)):
        t = dense[place]
        np.testing.assert_allclose(found["exponent"][:, k], growth[place] / t, rtol=1e-9)
        largest = np.max(growth[: place + 1])
        np.testing.assert_allclose(found["fli"][:, k], largest, atol=1e-9)
        np.testing.assert_allclose(found["megno"][:, k], megno[place - 1], rtol=1e-6)
        np.testing.assert_allclose(found["mean_megno"][:, k], areas[place] / t, rtol=1e-4)
        np.testing.assert_allclose(found["gali2"][:, k], volume[place], rtol=1e-8)
    assert np.all(np.isnan(found["exponent"][:, 0])) and np.all(found["megno"][:, 0] == 0)


def test_growth_beyond_every_number_is_followed() -> None:
    """exp(6000) is no double; the deviation is kept as a vector times a power of two."""
    flow = da.Flow({x: 6 * x, y: -y}, name="Saddle")
    found = da.analysis.chaos_indicators(flow, start={x: 0.0, y: 0.0}, span=(0, 1000))
    assert found["exponent"][-1] == pytest.approx(6.0, abs=1e-3)
    assert found["megno"][-1] == pytest.approx(6000.0, rel=1e-3)
    assert found["mean_megno"][-1] == pytest.approx(3000.0, rel=1e-3)


def test_expansions_in_lanes_agree_with_single_runs() -> None:
    """The variational expansion beside the tangents of dop853's own steps."""
    values: dict[str, Any] = {
        "y": [0.1, -0.2, 0.3, -0.45, 0.0], "y_dot": [0.1, 0.05, 0.0, 0.1, 0.2],
        "x_dot": [0.45, 0.4, 0.4, 0.3, 0.3],
    }  # fmt: skip
    common: dict[str, Any] = {
        "start": {"x": 0.0}, "paired": True, "span": (0, 30), "at": [12.3, 30.0],
        "rtol": 1e-11, "atol": 1e-11,
    }  # fmt: skip
    lanes, single = (
        da.analysis.chaos_indicators(henon_heiles(), values, EVERY, method=method, **common)
        for method in ("taylor", "dop853")
    )
    for name in EVERY:
        tolerance = 0.05 if name == "fli" else 1e-6  # its maximum is looked for between steps
        np.testing.assert_allclose(lanes[name], single[name], atol=tolerance)
    np.testing.assert_allclose(lanes.states, single.states, atol=1e-8)


def bars() -> da.System:
    """A double pendulum in Cartesian coordinates: eight symbols, two constraints."""
    a, b, p, q = da.coordinates("a b p q")
    return da.System(
        [a, b, p, q],
        kinetic=(a.dot**2 + b.dot**2 + p.dot**2 + q.dot**2) / 2,
        potential=9.81 * (b + q),
        constraints=[
            da.holonomic(a**2 + b**2 - 1, name="first"),
            da.holonomic((p - a) ** 2 + (q - b) ** 2 - 1, name="second"),
        ],
    )


def test_deviations_stay_tangent_to_constraints() -> None:
    """Four admissible directions span a volume; a fifth has none in the eight symbols."""
    angle = np.array([0.3, 1.0, 2.0])
    values = {
        "a": np.sin(angle), "b": -np.cos(angle), "p": np.sin(angle) + np.sin(2 * angle / 3),
        "q": -np.cos(angle) - np.cos(2 * angle / 3),
    }  # fmt: skip
    rest = dict.fromkeys(("a_dot", "b_dot", "p_dot", "q_dot"), 0.0)
    common: dict[str, Any] = {
        "start": rest, "paired": True, "span": (0, 4), "rtol": 1e-11, "atol": 1e-11,
    }  # fmt: skip
    names = ("exponent", "mean_megno", "gali4")
    lanes, single = (
        da.analysis.chaos_indicators(bars(), values, names, method=method, **common)
        for method in ("taylor", "dop853")
    )
    for name in names:
        np.testing.assert_allclose(lanes[name], single[name], atol=1e-7)
    assert np.all(lanes["gali4"] > 1e-5)
    fifth = da.analysis.chaos_indicators(bars(), values, "gali5", **common)
    assert fifth.counts == {"start refused": 3} and "4 admissible" in str(fifth.messages[0])


@pytest.mark.long
def test_henon_heiles_has_its_published_exponent() -> None:
    """About 0.047 in the chaotic sea at E = 1/8 (C. Skokos, Lect. Notes Phys. 790 (2010) 63-135).

    Averages over 1e5 of single orbits still scatter by a tenth.
    """
    heights = np.array([-0.25, -0.016, -0.1, 0.0])
    speeds = np.sqrt(1 / 4 - heights**2 + 2 * heights**3 / 3)
    found = da.analysis.chaos_indicators(
        henon_heiles(), {y: heights, x.dot: speeds}, EVERY,
        start={x: 0.0, y.dot: 0.0}, paired=True, span=(0, 100_000),
    )  # fmt: skip
    values = {name: found.final[name] for name in EVERY}
    chaotic = values["exponent"] > 0.01
    assert chaotic.tolist() == [True, True, True, False]
    rates = values["exponent"][chaotic]
    assert np.mean(rates) == pytest.approx(0.047, abs=0.006)
    np.testing.assert_allclose(values["megno"][chaotic], rates * 1e5, rtol=0.3)
    np.testing.assert_allclose(values["mean_megno"][chaotic], rates * 1e5 / 2, rtol=0.3)
    assert values["mean_megno"][3] == pytest.approx(2.0, abs=0.05)
    assert values["exponent"][3] < 3e-4 and values["sali"][3] > 1e-8
    assert np.all(values["sali"][chaotic] < 1e-8)


def test_maps_go_into_stores_and_are_the_same_by_any_blocks(tmp_path: Path) -> None:
    values = {y: [0.1, 0.2, 0.3], x.dot: [0.2, 0.3, 0.4]}
    common: dict[str, Any] = {"span": (0, 40), "at": [20.0, 40.0], "seed": 3}
    whole = da.analysis.chaos_indicators(henon_heiles(), values, EVERY, **common)
    path = tmp_path / "map.zarr"
    stored = da.analysis.chaos_indicators(
        henon_heiles(), values, EVERY, store=path, chunk=2, workers=2, **common
    )
    for name in EVERY:
        np.testing.assert_array_equal(whole[name], stored[name])
    again = da.sweep(henon_heiles(), values, indicators=EVERY, store=path, resume=True, **common)
    np.testing.assert_array_equal(whole["megno"], again["megno"])
    assert whole.to_xarray()["sali"].dims == ("y_start", "x_dot_start", "time")
    with pytest.raises(FileError, match="made from"):
        da.sweep(henon_heiles(), values, indicators="fli", store=path, resume=True, **common)


def test_switching_systems_are_followed_one_by_one() -> None:
    import sympy

    system = da.System(
        [x], kinetic=x.dot**2 / 2, potential=x**2 / 2 + sympy.Piecewise((x**3, x > 0), (0, True))
    )
    found = da.analysis.chaos_indicators(system, {x: [0.3, 0.5]}, span=(0, 20))
    assert found.statistics["method"] == "dop853" and found.success
    assert np.all(np.isfinite(found["mean_megno"]))
    with pytest.raises(ModelError, match="equations that are analytic"):
        da.analysis.chaos_indicators(system, {x: [0.3]}, span=(0, 20), method="taylor")


def test_what_cannot_be_asked_is_said() -> None:
    system = henon_heiles()
    for asked, span, options, message in (
        ("meno", (0, 1), {}, "did you mean"),
        ("gali9", (0, 1), {}, "4 directions"),
        ((), (0, 1), {}, "at least one"),
        ("fli", (1, 0), {}, "forward in time"),
        ("fli", (0, 1), {"method": "radau9"}, "taylor or dop853"),
    ):
        with pytest.raises(ModelError, match=message):
            da.analysis.chaos_indicators(system, {y: [0.1]}, asked, span=span, **options)
