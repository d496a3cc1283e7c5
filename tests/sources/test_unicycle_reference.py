"""The unicycle's linear feedback against reference data: gains, spectra, and the motion of the
closed loop.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da

DATA = json.loads((Path(__file__).parent / "data" / "motions.json").read_text())
(RECORD,) = (record for record in DATA if record["id"] == "B_unicycle_rider.linear-feedback")
POLES = [-2.0, -2.5, -3.0, -3.5]
#: Of the open loop, from the reference data: (growth, frequency).
GROWTH, FREQUENCY = 3.3914338402590385, 5.827967368980649
SHAPE = ("theta", "kappa", "theta_dot", "kappa_dot")


def on_quotient(system: da.System) -> da.Equations:
    _, _, psi, phi, x, y = system.coordinates
    R = next(symbol for symbol in system.parameters if symbol.name == "R")
    ahead, aside = {x: sympy.cos(phi), y: sympy.sin(phi)}, {x: -sympy.sin(phi), y: sympy.cos(phi)}
    group = {"ahead": ahead, "aside": aside, "turn": {phi: 1}, "roll": {psi: 1}}
    return da.symmetry.reduce(
        system, group, section=[[0, 0, 1, 0], [-R, 0, 0, 1]], reconstruct=False
    )


@cache
def placed() -> Any:
    system = da.gallery.load("unicycle-rider").system
    opened = on_quotient(system.replacing(inputs=list(system.inputs)))
    return da.control.place_poles(
        opened, POLES, {"p_2": 0.5}, parameters=RECORD["parameters"], symbols=SHAPE
    )


@cache
def closed() -> da.Equations:
    return on_quotient(da.control.feedback(da.gallery.load("unicycle-rider").system, placed()))


def settles(tilt: float) -> bool:
    start = {"theta": tilt, "p_2": 0.5}
    motion = da.simulate(closed(), start, (0, 60), parameters=RECORD["parameters"], rtol=1e-9)
    return bool(np.max(np.abs(motion["theta"])) < 0.5 and abs(motion["kappa_dot"][-1]) < 1e-8)


@pytest.mark.long
def test_the_gains_are_those_of_the_reference() -> None:
    expected = [RECORD["gains"][name] for name in ("k1", "k2", "k3", "k4")]
    np.testing.assert_allclose([placed().gains["u"][name] for name in SHAPE], expected, rtol=1e-6)


def test_open_and_closed_spectra() -> None:
    found = placed().parts.linearisation.eigenvalues
    np.testing.assert_allclose(np.sort(found.real), [-GROWTH, 0, 0, 0, 0, GROWTH], atol=1e-9)
    np.testing.assert_allclose(np.sort(found.imag), [-FREQUENCY, 0, 0, 0, 0, FREQUENCY], atol=1e-9)
    kinds = [kind for _, kind in placed().eigenvalues]
    assert kinds == ["controllable"] * 4 + ["momentum level"] * 2
    np.testing.assert_allclose(
        [value.real for value, _ in placed().eigenvalues], [*POLES, 0, 0], atol=1e-9
    )


def test_states_of_the_gallery() -> None:
    scenario = da.gallery.load("unicycle-balanced")
    assert dict(scenario.start) == RECORD["start"]
    motion = da.simulate(scenario, span=(0, 3), form="lagrange", rtol=1e-12, at=RECORD["times"])
    for name, values in RECORD["expected"].items():
        np.testing.assert_allclose(
            motion[name], values, rtol=0, atol=10 * RECORD["tolerance"], err_msg=name
        )


@pytest.mark.long
def test_states_on_the_quotient() -> None:
    expected = RECORD["expected"]
    start = {name: expected[name][0] for name in SHAPE} | {
        "p_1": expected["p1"][0],
        "p_2": expected["p2"][0],
    }
    system = da.control.feedback(
        da.gallery.load("unicycle-rider").system,
        {"u": dict(zip(SHAPE, RECORD["gains"].values(), strict=True))},
    )
    motion = da.simulate(
        on_quotient(system),
        start,
        (0, 3),
        parameters=RECORD["parameters"],
        rtol=1e-12,
        at=RECORD["times"],
    )
    for name, symbol in {**{name: name for name in SHAPE}, "p1": "p_1", "p2": "p_2"}.items():
        np.testing.assert_allclose(
            motion[symbol], expected[name], rtol=0, atol=RECORD["tolerance"], err_msg=name
        )


@pytest.mark.long
def test_lyapunov_and_malkin() -> None:
    judged = da.stability(closed(), {"p_2": 0.5}, RECORD["parameters"])
    assert (judged.verdict, judged.neutral, judged.manifold) == ("stable", 2, True)
    assert "not always to this one" in judged.theorem


@pytest.mark.parametrize("side", [1, -1])
def test_the_basin_is_small(side: int) -> None:
    assert settles(0.0013 * side)
    assert not settles(0.0014 * side)
    assert not settles(0.02 * side)
