"""The rigid bodies of Bloch 7.7 against reference data: continuous, symmetric, discrete."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import dalembert as da
from dalembert.geometry.discrete_rotations import discrete_rotation
from dalembert.geometry.rigid_rotations import operator_norm, symmetric_partner

RECORDS = json.loads((Path(__file__).parent / "data" / "matrix_flows.json").read_text())["systems"]
DATA = {record["id"]: record for record in RECORDS}
CONTINUOUS = ["rigid_body_so3.free", "rigid_body_so4.free4"]
NEAR = {"rtol": 0, "atol": 1e-12}


@cache
def motion_of(name: str, symmetric: bool) -> da.Motion:
    record = DATA[name]
    body = da.lie.rigid_body(len(record["params"]["Lambda"]), symmetric=symmetric)
    start = (
        record["initial"]
        if not symmetric
        else {"Q": record["initial"]["Q"], "P": record["symmetric"]["P0"]}
    )
    values = {f"Lambda_{i}": value for i, value in enumerate(record["params"]["Lambda"], start=1)}
    span = (0, record["times"][-1])
    return da.simulate(
        body, body.start(**start), span, parameters=values, at=record["times"], rtol=1e-13
    )


@pytest.mark.parametrize("name", CONTINUOUS)
class TestContinuous:
    def test_states(self, name):
        motion = motion_of(name, symmetric=False)
        for k, state in enumerate(DATA[name]["states"]):
            np.testing.assert_allclose(motion["Q"][k], state["Q"], **NEAR)
            np.testing.assert_allclose(motion["M"][k], state["M"], **NEAR)

    @pytest.mark.long
    def test_symmetric_form(self, name):
        record, motion = DATA[name], motion_of(name, symmetric=True)
        P0 = symmetric_partner(record["initial"]["Q"], record["initial"]["M"])
        np.testing.assert_allclose(P0, record["symmetric"]["P0"], **NEAR)
        for k, state in enumerate(record["states"]):
            np.testing.assert_allclose(motion["Q"][k], state["Q"], **NEAR)
            np.testing.assert_allclose(motion["P"][k], record["symmetric"]["P_states"][k], **NEAR)
            np.testing.assert_allclose(motion["M_12"][k], state["M"][0][1], **NEAR)

    @pytest.mark.long
    def test_invariants(self, name):
        invariants = DATA[name]["invariants"]
        for symmetric in (False, True):
            motion = motion_of(name, symmetric)
            np.testing.assert_allclose(motion.energy, invariants["energy"], **NEAR)
            np.testing.assert_allclose(motion["k2_z0"], invariants["casimir_trM2"], **NEAR)
            np.testing.assert_allclose(motion["m_12"], invariants["spatial_momentum"][0][1], **NEAR)
        np.testing.assert_allclose(
            operator_norm(motion_of(name, False)["M"]), invariants["op_norm_M"], **NEAR
        )


def test_exact_solution():
    record = DATA["rigid_body_so3.free"]
    exact = da.lie.exact_free_body(
        record["params"]["Lambda"],
        record["initial"]["M"],
        record["initial"]["Q"],
        t=record["times"],
    )
    for k, state in enumerate(record["states"]):
        np.testing.assert_allclose(exact.Q[k], state["Q"], rtol=0, atol=1e-14)
        np.testing.assert_allclose(exact.M[k], state["M"], rtol=0, atol=1e-14)


def test_discrete_body():
    record = DATA["moser_veselov_so3.basic"]
    start, steps = record["initial"], record["steps"]
    motion = da.lie.discrete_rigid_body(
        record["params"]["Lambda"], start["M"], start["Q"], steps=steps[-1]
    )
    for k, state in zip(steps, record["states"], strict=True):
        np.testing.assert_allclose(motion.Q[k], state["Q"], rtol=0, atol=record["tol"])
        np.testing.assert_allclose(motion.M[k], state["M"], rtol=0, atol=record["tol"])
        np.testing.assert_allclose(
            motion.Q[k - 1].T @ motion.Q[k], state["U_used"], rtol=0, atol=record["tol"]
        )
        if "P" in state:
            np.testing.assert_allclose(motion.P[k], state["P"], rtol=0, atol=record["tol"])
    np.testing.assert_allclose(
        motion.spatial_momentum[-1], record["invariants"]["spatial_momentum"], **NEAR
    )


def test_second_rotation():
    record = DATA["value.P_from_M"]
    np.testing.assert_allclose(
        symmetric_partner(np.eye(3), record["inputs"]["M"]), record["outputs"]["P"], **NEAR
    )
    assert operator_norm(record["inputs"]["M"]) == pytest.approx(
        record["outputs"]["op_norm_M"], abs=1e-14
    )


def test_rotation_of_a_step():
    record = DATA["value.moser_veselov_U"]
    inputs = record["inputs"]
    expected = record["outputs"]["U"]
    np.testing.assert_allclose(
        discrete_rotation(inputs["Lambda"], inputs["M"]), expected, rtol=0, atol=record["tol"]
    )
    native = da.lie.discrete_rigid_body(inputs["Lambda"], inputs["M"], steps=1)
    np.testing.assert_allclose(native.Q[1], expected, rtol=0, atol=record["tol"])
