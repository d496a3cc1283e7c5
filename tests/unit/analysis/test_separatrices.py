"""Orbits that leave saddles against closed forms, and the homoclinic orbit of two hinged bodies."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos

import dalembert as da
from dalembert.errors import FormError, ModelError

q = da.coordinates("q")
PENDULUM = da.System([q], kinetic=q.dot**2 / 2, potential=-cos(q), name="Pendulum")
WELLS = da.System([q], kinetic=q.dot**2 / 2, potential=q**4 / 4 - q**2 / 2, name="Two wells")
FALL = da.System(
    [q], kinetic=q.dot**2 / 2, potential=q**2 / 2 - q**3 / 3, name="Well beside a fall"
)


def test_the_folded_state_of_two_bodies_has_a_homoclinic_orbit() -> None:
    """Section 3.13: it keeps the energy of the folded state, mu^2/(2 (I1 + I2 - 2 eps d1 d2)), and
    comes back to it.
    """
    d1, d2, eps, mu = 0.8, 0.6, 2 / 3, 2.5
    bodies = da.planar_chain(
        2, masses=[1, 2], inertias=[0.5, 0.7], hinges={(1, 2): (d1, 0), (2, 1): (-d2, 0)}
    )
    locked = 0.5 + eps * d1**2 + 0.7 + eps * d2**2 - 2 * eps * d1 * d2
    orbits = da.analysis.separatrices(bodies.reduced_system(), {"mu": mu})
    assert len(orbits) == 2
    for orbit, side in zip(orbits, (1, -1), strict=True):
        assert orbit.kind == "homoclinic" and orbit.saddle.point["theta_21"] == pytest.approx(np.pi)
        assert (
            np.allclose(orbit.motion.energy, mu**2 / (2 * locked), atol=1e-9)
            and orbit.energy_drift < 1e-9
        )
        assert orbit.distance < 1e-4
        angle = orbit.motion["theta_21"]
        assert side * (angle[-1] - angle[0]) == pytest.approx(
            2 * np.pi, abs=1e-3
        )  # once around, through the stretched state
        rate = orbit.motion["theta_21_dot"]
        direction = rate[0] / (angle[0] - np.pi)
        assert direction == pytest.approx(orbit.saddle.growth_rate, rel=1e-6)
        # It leaves along the unstable direction, and comes back along the stable one.
        times = np.linspace(orbit.motion.t[-1] / 2, orbit.motion.t[-1], 4001)
        place, speed = orbit.motion.sol(times)
        gap = place - np.pi - side * 2 * np.pi
        near = np.flatnonzero(np.abs(gap) < 2e-3)[0]
        assert speed[near] / gap[near] == pytest.approx(-direction, rel=1e-3)


def test_a_pendulum_that_just_turns_over() -> None:
    """q_dot = +- 2 cos(q/2)."""
    for orbit in da.analysis.separatrices(PENDULUM):
        times = np.linspace(0, orbit.motion.t[-1], 101)
        angle, rate = orbit.motion.sol(times)
        assert np.allclose(np.abs(rate), 2 * np.abs(np.cos(angle / 2)), atol=1e-7)
        assert orbit.kind == "homoclinic" and orbit.energy_drift < 1e-10


def test_on_the_line_its_saddles_are_two() -> None:
    """Seen without the circle, the orbits join -pi and pi; those that go outwards leave."""
    orbits = da.analysis.separatrices(PENDULUM, within={q: (-4.0, 4.0)})
    ends = {
        (round(o.saddle.point["q"], 3), o.target and round(o.target.point["q"], 3))
        for o in orbits
        if not o.arrives
    }
    assert ends == {(-3.142, 3.142), (3.142, -3.142), (-3.142, None), (3.142, None)}
    assert {o.kind for o in orbits if o.target} == {"heteroclinic"}
    for orbit in orbits:
        assert abs(orbit.motion["q"][-1]) < 4.0 + 1e-9


@pytest.mark.long
def test_two_wells() -> None:
    """q = sqrt(2)/cosh(t): as far as sqrt(2) on each side."""
    orbits = da.analysis.separatrices(WELLS, within={"q": (-2, 2)})
    assert [orbit.kind for orbit in orbits] == ["homoclinic"] * 2
    for orbit, side in zip(orbits, (1, -1), strict=True):
        times = np.linspace(0, orbit.motion.t[-1], 20001)
        place = orbit.motion.sol(times)[0]
        assert np.max(side * place) == pytest.approx(np.sqrt(2), abs=1e-7)
        middle = times[np.argmax(side * place)]
        assert np.allclose(place, side * np.sqrt(2) / np.cosh(times - middle), atol=2e-3)


def test_what_leaves_the_region_is_open_and_so_is_what_comes_in() -> None:
    orbits = da.analysis.separatrices(FALL, within={q: (-1, 2)})
    assert sorted((o.kind, o.arrives) for o in orbits) == [
        ("homoclinic", False),
        ("open", False),
        ("open", True),
    ]
    out, back = (
        next(o for o in orbits if o.kind == "open" and o.arrives == way) for way in (False, True)
    )
    assert out.motion["q"][-1] == pytest.approx(2.0) and back.motion["q"][-1] == pytest.approx(2.0)
    assert out.motion["q_dot"][-1] == pytest.approx(
        -back.motion["q_dot"][-1], rel=1e-6
    )  # mirrored in time


@pytest.mark.long
def test_the_departure_sets_the_error_of_the_energy() -> None:
    """The tangent leaves the level of the saddle with the third power of the distance: FALL has a
    cubic potential.
    """
    drifts = [
        max(
            o.energy_drift for o in da.analysis.separatrices(FALL, within={q: (-1, 2)}, departure=d)
        )
        for d in (1e-2, 1e-3)
    ]
    assert drifts[0] / drifts[1] == pytest.approx(1e3, rel=0.05)


@pytest.mark.parametrize(
    "model",
    [
        da.System([*da.coordinates("x y")], kinetic=sum(c.dot**2 for c in da.coordinates("x y"))),
        PENDULUM.replacing(dissipation=q.dot**2),
        PENDULUM.replacing(forces={q: 1}),
        da.derive(PENDULUM, "lagrange"),
    ],
    ids=["two", "damped", "forced", "equations"],
)
def test_other_systems_are_refused(model: object) -> None:
    with pytest.raises(FormError, match="one coordinate"):
        da.analysis.separatrices(model)


def test_a_region_of_something_else_is_refused() -> None:
    with pytest.raises(ModelError, match="one of the coordinate"):
        da.analysis.separatrices(FALL, within={"x": (-1, 2)})
