"""Texts and model files made by a grammar: right ones keep their meaning through writing and
reading, wrong ones are named.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import dalembert as da
from dalembert.errors import DalembertError
from dalembert.model.io.files import dumps, loads

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[3]))
from soak.fuzz.targets import checked

from strategies import broken_models, expression_texts, model_tables, toml_text

QUICK = settings(max_examples=20, deadline=None, derandomize=True, database=None)


@QUICK
@given(expression_texts())
def test_expressions_keep_their_value(text: str) -> None:
    """Written and read again they are the same, and Python's own grammar gives the text the same
    value.
    """
    checked("expression", text.encode())


def accelerations(scenario: da.Scenario) -> np.ndarray:
    """The accelerations, outputs and energy at the start; no loop is compiled for this."""
    try:
        motion = da.simulate(scenario.replacing(simulate={}), span=(0, 0))
    except DalembertError as error:
        return np.array([str(error)])
    return np.array([float(motion[name][0]) for name in motion.names])


@pytest.mark.long
@settings(QUICK, max_examples=40)
@given(model_tables())
def test_model_files_keep_their_accelerations(table: dict) -> None:
    try:
        first = loads(toml_text(table))
    except DalembertError:  # such as a constant that has no value
        return
    again = loads(dumps(first))
    assert (again.parameters, again.start, again.simulate) == (
        first.parameters,
        first.start,
        first.simulate,
    )
    before, after = accelerations(first), accelerations(again)
    if before.dtype.kind == "f":
        np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)
    else:
        assert after.dtype.kind != "f"


@QUICK
@given(model_tables())
def test_model_files_are_read(table: dict) -> None:
    checked("model", toml_text(table).encode())


@pytest.mark.long
@QUICK
@given(broken_models())
def test_an_error_names_what_is_wrong(broken: tuple[dict, str]) -> None:
    table, word = broken
    with pytest.raises(DalembertError, match=word):
        loads(toml_text(table))
