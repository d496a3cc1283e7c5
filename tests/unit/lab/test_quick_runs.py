"""Runs that follow a slider: packed columns, and models that are read once for all values."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from lab_client import PENDULUM

from dalembert.lab.answers.running import run
from dalembert.lab.answers.scenarios import scenario_of
from dalembert.lab.messages import encoded
from dalembert.lab.packed_columns import packed, unpacked_json
from dalembert.lab.workers.worker_handlers import _NoJobContext
from dalembert.model.io.files import loads

WITH_FORMULA = PENDULUM.replace("theta = 0.5", 'theta = "0.1*l"')
DERIVED = PENDULUM.replace("g = 9.81", 'g = "9.81*m"')


def request(text: str, **more: Any) -> dict[str, Any]:
    return {"text": text, "id": "one", "frames": 80, "steps": 100_000} | more


def test_a_packed_result_holds_the_numbers_of_a_plain_one() -> None:
    plain = run(request(PENDULUM), _NoJobContext())
    again = json.loads(unpacked_json(encoded(run(request(PENDULUM, packed=True), _NoJobContext()))))
    for name, values in plain["state"].items():
        assert again["state"][name] == values, name
    assert again["t"] == list(plain["t"]) and again["energy"] == plain["energy"]


def test_positions_have_single_precision_and_missing_numbers_stay_missing() -> None:
    points = [0.1 * k for k in range(40)]
    gaps = [float("nan"), *points]
    found = json.loads(unpacked_json(encoded(packed({"data": points, "gaps": gaps}))))
    assert found["data"] == pytest.approx(points, rel=1e-7) and found["data"] != points
    assert found["gaps"][0] is None and found["gaps"][1:] == points


@pytest.mark.parametrize("text", [PENDULUM, WITH_FORMULA, DERIVED])
@pytest.mark.parametrize("values", [{"l": 3.0}, {"m": 4.0}, {"l": 3.5, "m": 0.5}])
def test_values_of_parameters_give_what_reading_the_text_with_them_gives(
    text: str, values: dict[str, float]
) -> None:
    scenario_of({"text": text})
    found, read = scenario_of({"text": text, "parameters": values}), loads(text, values)
    assert found.parameters == read.parameters and found.start == read.start
    assert found.simulate == read.simulate


def test_values_of_a_first_request_are_not_kept_for_later_ones() -> None:
    text = PENDULUM.replace("theta = 0.5", "theta = 0.625")  # a text that no other test reads
    assert scenario_of({"text": text, "parameters": {"m": 7.0}}).parameters["m"] == 7.0
    later = scenario_of({"text": text, "parameters": {"l": 3.0}})
    assert later.parameters == loads(text, {"l": 3.0}).parameters
    assert scenario_of({"text": text}).parameters == loads(text).parameters


def test_states_between_steps_agree_with_a_run_that_stops_there() -> None:
    """The native loop over many times gives what a run that ends at each time gives."""
    from dalembert import simulate

    scenario = loads(PENDULUM)
    motion = simulate(scenario, span=(0, 4))
    times = np.array([3.1, 0.0, 0.7, 0.7, 2.9, 4.0, 1.3])
    states = motion.sol(times)
    for k, time in enumerate(times):
        if time > 0:
            end = simulate(scenario, span=(0, time)).y[:, -1]
            assert np.abs(states[:, k] - end).max() < 1e-8
