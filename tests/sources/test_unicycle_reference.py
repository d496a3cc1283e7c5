"""The unicycle's linear feedback against reference data: gains, spectra, and the motion of the closed loop."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da

(RECORD,) = json.loads((Path(__file__).parent / "data" / "unicycle.json").read_text())["systems"]
SHAPE = ("theta", "kappa", "theta_dot", "kappa_dot")


def on_quotient(system: da.System) -> da.Equations:
    theta, kappa, psi, phi, x, y = system.coordinates
    R = next(letter for letter in system.parameters if letter.name == "R")
    ahead, aside = {x: sympy.cos(phi), y: sympy.sin(phi)}, {x: -sympy.sin(phi), y: sympy.cos(phi)}
    group = {"ahead": ahead, "aside": aside, "turn": {phi: 1}, "roll": {psi: 1}}
    return da.reduce(system, group, section=[[0, 0, 1, 0], [-R, 0, 0, 1]], reconstruct=False)


@cache
def placed() -> Any:
    system = da.gallery.load("unicycle-rider").system
    opened = on_quotient(system.replacing(inputs=list(system.inputs)))
    return da.place_poles(opened, RECORD["desired_poles"], {"p_2": RECORD["p2_steady"]}, parameters=RECORD["params"], letters=SHAPE)


@cache
def closed() -> da.Equations:
    return on_quotient(da.feedback(da.gallery.load("unicycle-rider").system, placed()))


def settles(tilt: float) -> bool:
    start = {"theta": tilt, "p_2": 0.5}
    motion = da.simulate(closed(), start, (0, 60), parameters=RECORD["params"], rtol=1e-9)
    return bool(np.max(np.abs(motion["theta"])) < 0.5 and abs(motion["kappa_dot"][-1]) < 1e-8)


def test_the_gains_are_those_of_the_reference() -> None:
    expected = [RECORD["gains"][name] for name in ("k1", "k2", "k3", "k4")]
    np.testing.assert_allclose([placed().gains["u"][name] for name in SHAPE], expected, rtol=1e-6)


def test_open_and_closed_spectra() -> None:
    open_loop = np.array([complex(*pair) for pair in RECORD["eigenvalues_open_loop"]])
    found = placed().parts.linearisation.eigenvalues
    np.testing.assert_allclose(np.sort(found.real), np.sort(open_loop.real), atol=1e-9)
    np.testing.assert_allclose(np.sort(found.imag), np.sort(open_loop.imag), atol=1e-9)
    kinds = [kind for _, kind in placed().eigenvalues]
    assert kinds == ["controllable"] * 4 + ["momentum level"] * 2
    np.testing.assert_allclose([value.real for value, _ in placed().eigenvalues], [-2, -2.5, -3, -3.5, 0, 0], atol=1e-9)


def test_states_on_the_quotient() -> None:
    start = dict(zip((*SHAPE, "p_1", "p_2"), RECORD["initial"], strict=True))
    system = da.feedback(da.gallery.load("unicycle-rider").system, {"u": dict(zip(SHAPE, RECORD["gains"].values(), strict=True))})
    motion = da.simulate(on_quotient(system), start, (0, 3), parameters=RECORD["params"], rtol=1e-12, at=[0.0, *RECORD["times"]])
    np.testing.assert_allclose(motion.y[:, 1:].T, RECORD["states"], rtol=0, atol=RECORD["tol"])


def test_states_of_the_gallery_with_constraints() -> None:
    scenario = da.gallery.load("unicycle-balanced")
    motion = da.simulate(scenario, span=(0, 3), form="lagrange", rtol=1e-12, at=[0.0, *RECORD["times"]])
    found = np.array([*(motion[name] for name in SHAPE), motion["p1"], motion["p2"]])
    np.testing.assert_allclose(found[:, 0], RECORD["initial"], atol=1e-12)
    np.testing.assert_allclose(found[:, 1:].T, RECORD["states"], rtol=0, atol=10 * RECORD["tol"])


def test_lyapunov_and_malkin() -> None:
    judged = da.stability(closed(), {"p_2": 0.5}, RECORD["params"])
    assert (judged.verdict, judged.neutral, judged.manifold) == ("stable", 2, True)
    assert "not always to this one" in judged.theorem


@pytest.mark.parametrize("side", [1, -1])
def test_the_basin_is_small(side: int) -> None:
    assert settles(0.0013 * side)
    assert not settles(0.0014 * side)
    assert not settles(0.02 * side)
