"""What systems, flows and scenarios print."""

from __future__ import annotations

import pytest

import dalembert as da


@pytest.mark.parametrize("name", ["rolling-disk", "chaplygin-sleigh", "snakeboard", "lc-circuit"])
def test_a_scenario_prints_its_statement(name: str) -> None:
    scenario = da.gallery.load(name)
    text = str(scenario)
    lines = [line.split("  ")[1] for line in text.splitlines()[1:]]
    for constraint in scenario.system.constraints:
        assert f"constraint {constraint.name}" in lines
    for key, value in scenario.parameters.items():
        assert f"{key} = {value:.6g}" in text
    assert str(scenario.system) in text and scenario.source in text


@pytest.mark.long
def test_long_statements_are_counted_not_written() -> None:
    q = da.coordinates("q1:31")
    coupled = sum(a * b for a in q for b in q)
    chain = da.System(q, kinetic=sum(x.dot**2 for x in q) / 2, potential=coupled, forces={q[0]: 1})
    text = str(chain)
    assert "potential energy  (more than 400 operations)" in text and len(text) < 2000
    forced = chain.replacing(forces=dict.fromkeys(q, -1))
    assert "further force on  10" in str(forced)


def test_definitions_and_inputs_stand_in_the_text() -> None:
    x = da.coordinates("x")
    u = da.inputs("u")
    w = da.define("w", 2 * x.dot)
    text = str(da.System([x], kinetic=w**2, forces={x: u}, inputs=[u]))
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["coordinates", "x"],
        ["kinetic", "energy", "w**2"],
        ["define", "w", "2*x_dot"],
        ["force", "on", "x", "u"],
        ["input", "u", "free"],
    ]
