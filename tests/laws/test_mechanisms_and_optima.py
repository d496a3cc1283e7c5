"""Random mechanisms and optimal control problems beside answers of other origin: a few of those of
`python -m soak mechanisms` and `python -m soak optimal-control`; and errors are found.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from soak import mechanisms, optimal_control

import dalembert as da


@pytest.mark.parametrize("number", range(3))
def test_a_mechanism_agrees_with_itself_and_with_newton_and_euler(number: int) -> None:
    found = mechanisms.look(number)
    assert not found.faults
    assert found.counts["compared: energy"] == 1
    own = ("Newton and Euler", "loop", "momentum")[number]
    assert found.counts[f"compared: {own}"] == 1


def test_another_gravity_than_newton_and_euler_have_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mechanisms, "GRAVITY", (0.3, -0.5, -9.8100001))
    one = mechanisms.specimen(0)
    monkeypatch.setattr(mechanisms, "GRAVITY", (0.3, -0.5, -9.81))
    monkeypatch.setattr(mechanisms, "specimen", lambda number: one)
    assert any("Newton" in fault for fault in mechanisms.look(0).faults)


def test_a_force_from_outside_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The momentum of a mechanism that hangs on nothing changes by a small weight."""
    one = mechanisms.specimen(2)
    heavy = da.bodies.Mechanism(
        one.mechanism.joints, one.mechanism.elements, gravity=(0, 0, -1e-5), name="heavy"
    )
    monkeypatch.setattr(mechanisms, "specimen", lambda number: replace(one, mechanism=heavy))
    assert any("momentum" in fault for fault in mechanisms.look(2).faults)


@pytest.mark.parametrize("number", range(4))
def test_an_optimum_is_that_of_riccati_or_pontryagin(number: int) -> None:
    found = optimal_control.look(number)
    assert not found.faults
    own = ("Riccati", "Pontryagin")[number % 2]
    assert found.counts[f"compared: cost beside {own}"] == 1


@pytest.mark.parametrize("number", range(2))
def test_another_system_than_was_optimised_is_found(
    monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    right = optimal_control._optimised
    monkeypatch.setattr(
        optimal_control, "_optimised", lambda one: right(replace(one, mass=1.001 * one.mass))
    )
    assert optimal_control.look(number).faults
