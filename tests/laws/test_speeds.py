"""Forms in speeds of every sort beside a dense solution, on a few of the random systems of the
soak; and a wrong symbol is found.
"""

from __future__ import annotations

import pytest
from soak.speeds import look

from dalembert.formulations.forms import hamel


@pytest.mark.parametrize("number", range(4))
def test_forms_in_speeds_agree_with_a_dense_solution(number: int) -> None:
    found = look(number)
    assert not found["faults"]
    assert sum(found["counts"].values()) >= 4


def test_a_wrong_symbol_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Numbers whose forms contain Hamel's, with W of the opposite sign."""
    right = hamel.transitivity
    monkeypatch.setattr(hamel, "transitivity", lambda reduction: -right(reduction))
    faults = [fault for number in (1, 2, 3) for fault in look(number)["faults"]]
    assert any("hamel" in fault for fault in faults)
