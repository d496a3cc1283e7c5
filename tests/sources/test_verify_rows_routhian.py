"""The rows of Bloch's section 9.4 on the unicycle's Routhian: each holds, and each would notice an
error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dalembert.verification.bloch.chapter_9 import section_9_4_routhian as rows
from dalembert.verification.independent import unicycle_with_rider as unicycle
from dalembert.verification.row_registry import _CLAIMS

CLAIMS = {item.id: item for item in _CLAIMS.values() if item.module == rows.__name__}


@pytest.mark.parametrize("identifier", CLAIMS)
def test_a_row_is_reproduced(identifier: str) -> None:
    row = CLAIMS[identifier].row()
    assert row.verdict == "reproduced", row


def test_every_numbered_result_up_to_the_steady_states_has_a_row() -> None:
    assert {f"B-9.4.{number}" for number in range(9, 17)} <= set(CLAIMS)


def turned(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: -function(*arguments)


def swapped(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: function(*arguments)[::-1]


def heavier(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: function(*arguments) + 0.01 * np.eye(2)


def scaled(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: 1.01 * function(*arguments)


WRONG = {
    "swing-sign": (
        "swing_factors",
        turned,
        {"B-9.4-equations", "B-9.4.11", "B-9.4.12", "B-9.4.12-derivatives"},
    ),
    "swing-order": (
        "swing_factors",
        swapped,
        {"B-9.4-equations", "B-9.4.11", "B-9.4.12", "B-9.4.12-derivatives"},
    ),
    "inertia": (
        "printed_inertia",
        heavier,
        {"B-9.4-momenta", "B-9.4-routhian", "B-9.4.11", "B-9.4.14"},
    ),
    "inertia-scale": (
        "printed_inertia",
        scaled,
        {"B-9.4-momenta", "B-9.4.9", "B-9.4.10", "B-9.4.11", "B-9.4.13"},
    ),
    "metric": (
        "printed_metric",
        heavier,
        {"B-9.4-routhian", "B-9.4.9", "B-9.4.10", "B-9.4.13", "B-9.4.16-upright"},
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_in_a_formula_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, spoiled, affected = WRONG[name]
    wrong = spoiled(getattr(unicycle, function))
    # Without what was computed already.
    states = tuple(unicycle.UnicycleSample(ride.q, ride.free) for ride in unicycle.rides())
    for module in (unicycle, rows):
        monkeypatch.setattr(module, function, wrong)
    monkeypatch.setattr(unicycle, "rides", lambda: states)
    noticed = {
        identifier for identifier in affected if CLAIMS[identifier].row().verdict != "reproduced"
    }
    assert noticed == affected
