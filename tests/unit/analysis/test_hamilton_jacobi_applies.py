"""Where `hamilton_jacobi` gives mechanical motions (5.10), which hypotheses it names, and how it
reads.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.optimize import brentq
from separable_systems import (
    SYSTEMS,
    VALUES,
    c,
    derivative,
    k,
    m,
    method,
    particle,
    system_of,
    vakonomic_point,
    values_of,
    x,
    y,
    z,
)
from sympy import cos, sin, sqrt

import dalembert as da
from dalembert.errors import FormError, ModelError, RunError

# -- applicability (5.10) --------------------------------------------------------------------------

APPLIES = {
    "oscillator": True,
    "appell": True,  # not integrable, and every motion is mechanical all the same
    "spherical-pendulum": True,
    "elastic-pendulum-arc": True,
    "elastic-pendulum-steered": True,
    "rolling-disk": False,
    "nonholonomic-particle": False,
    "constrained-particle": False,
    "chaplygin-sleigh": False,
    "steered by x": False,
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] * (name == "rolling-disk")) for name in APPLIES],
)
def test_where_the_method_gives_mechanical_motions(name: str) -> None:
    found = method(name).applicability
    assert found.applies is APPLIES[name]
    assert (found.worst < 1e-12) if APPLIES[name] else (found.worst > 1e-2)
    system = system_of(name)
    n = len(system.coordinates)
    gaps = []
    for seed in range(3) if system.bilateral else ():
        named, *_ = vakonomic_point(name, seed)
        rates = [
            da.derive(system, form).function()(
                named["t"], [named[s.name] for s in da.derive(system, form).state], values_of(name)
            )
            for form in ("lagrange", "vakonomic")
        ]
        gaps.append(np.max(np.abs(rates[0][n : 2 * n] - rates[1][n : 2 * n])))
    assert bool(max(gaps, default=0.0) < 1e-9) is APPLIES[name]


def disk_motion(start: dict[str, float], last: float) -> Any:
    scenario = da.gallery.load("rolling-disk")
    beginning = (
        dict.fromkeys(("theta", "psi", "phi", "x", "y", "theta_dot", "psi_dot", "phi_dot"), 0.0)
        | start
    )
    return da.simulate(
        scenario.system, beginning, (0.0, last), parameters=scenario.parameters, rtol=1e-12
    )


@pytest.mark.long
def test_the_disk_is_both_only_in_steady_rolling_and_in_falling() -> None:
    found = method("rolling-disk")
    steady = {"theta": 0.3, "phi": 0.2, "phi_dot": 0.9}

    def tilt_acceleration(turn: float) -> float:
        return float(disk_motion(steady | {"psi_dot": turn}, 1e-6)["theta_ddot"][0])

    start = steady | {"psi_dot": float(brentq(tilt_acceleration, -50.0, 50.0, xtol=1e-14))}
    rolling = disk_motion(start, 2.0)
    along = found.along(rolling)
    assert along.applies and along.worst < 1e-9
    # With the multipliers that were found, the variational motion is this mechanical one.
    scenario = da.gallery.load("rolling-disk")
    beginning = {name: float(rolling[name][0]) for name in scenario.start} | dict(along.multipliers)
    vakonomic = da.simulate(
        scenario.system,
        beginning,
        (0.0, 2.0),
        parameters=scenario.parameters,
        form="vakonomic",
        at=rolling.t,
    )
    assert (
        max(np.max(np.abs(vakonomic[q] - rolling[q])) for q in scenario.system.coordinates) < 1e-8
    )
    assert found.along(vakonomic).applies

    assert found.along(disk_motion({"theta": 0.3, "theta_dot": 0.1}, 0.3)).applies
    wobbling = found.along(da.simulate(scenario))
    assert not wobbling.applies and wobbling.worst > 1e-3 and wobbling.mechanical < 1e-9
    variational = found.along(da.simulate(da.gallery.load("rolling-disk-vakonomic")))
    assert not variational.applies and variational.worst < 1e-6 and variational.mechanical > 1e-3


def test_a_motion_without_reaction_is_both() -> None:
    """L = |v|^2/2 with z' = y x' along y = const: the multiplier is zero (Rumyantsev's diagnostic
    on 4.6).
    """
    scenario = da.gallery.load("constrained-particle")
    line = da.simulate(
        scenario.system,
        {"y": 0.7, "x_dot": 1.0, "z_dot": 0.7},
        (0.0, 1.0),
        parameters=scenario.parameters,
    )
    found = method("constrained-particle")
    assert found.along(line).applies
    assert not found.along(da.simulate(scenario)).applies


@pytest.mark.long
def test_appells_motion_is_both_with_any_multiplier() -> None:
    found = method("appell")
    assert found.along(da.simulate(da.gallery.load("appell"))).applies
    assert found.along(da.simulate(da.gallery.load("appell-vakonomic"))).applies
    at = np.linspace(0.0, 1.2, 7)
    reference = da.simulate(da.gallery.load("appell"), at=at, rtol=1e-12)
    for chi in (0.0, 0.7, -2.0, 5.0):
        motion = found.motion(at, {"chi_slope": chi})
        assert max(np.max(np.abs(motion[q] - reference[q])) for q in ("q1", "q2", "q3")) < 1e-9


# -- hypotheses ------------------------------------------------------------------------------------


def test_multipliers_beyond_the_branch_are_refused() -> None:
    """The branch is a chi < m w; beyond chi = m w / a the other root of the radical holds."""
    with pytest.raises(RunError, match="branch"):
        method("appell").motion([0.0, 0.1], {"chi_slope": 12.0})


REFUSED = {
    "force": (particle(x).replacing(forces={x: -k * x.dot}), "stand in the Lagrangian"),
    "dissipation": (particle(x).replacing(dissipation=k * x.dot**2 / 2), "stand in the Lagrangian"),
    "image": (
        particle(x, y).replacing(
            constraints=[da.image({x: da.speeds("u"), y: 2 * da.speeds("u")}, [da.speeds("u")])]
        ),
        "image",
    ),
    "impact": (particle(x).replacing(constraints=[da.unilateral(x >= 0)]), "impacts"),
    "radical of another form": (
        particle(x, y, z, constraints=derivative(z.dot - c * sqrt(x.dot**2 + 2 * y.dot**2))),
        "closed form",
    ),
    "two radicals": (
        particle(
            x,
            y,
            z,
            constraints=derivative(
                z.dot - sqrt(x.dot**2 + y.dot**2) - sqrt(x.dot**2 + 2 * y.dot**2)
            ),
        ),
        "closed form",
    ),
    "cubic": (particle(x, y, constraints=derivative(y.dot - x.dot**3)), "closed form"),
    "no mass": (da.System([x, y], kinetic=m / 2 * x.dot**2, potential=k * y**2), "singular"),
    "too large": (
        particle(x, potential=sympy.Add(*(sin(j * x) * cos((j + 1) * x) for j in range(1, 700)))),
        "too large",
    ),
}


@pytest.mark.parametrize(("system", "words"), REFUSED.values(), ids=REFUSED)
def test_failing_hypotheses_are_named(system: da.System, words: str) -> None:
    with pytest.raises(FormError, match=words):
        da.variational.hamilton_jacobi(system)


def test_wrong_calls_are_refused() -> None:
    with pytest.raises(ModelError, match="one way"):
        method("fall").motion(
            [0.0, 1.0, 0.5], {"x": 0.1, "z": 1.0, "x_dot": 1.0, "z_dot": 3.0}, VALUES
        )
    with pytest.raises(ModelError, match="motion of this system"):
        method("fall").along(
            da.simulate(
                SYSTEMS["oscillator"], {"x": 1.0}, (0, 1), parameters=values_of("oscillator")
            )
        )
    with pytest.raises(ModelError, match="System or a Scenario"):
        da.variational.hamilton_jacobi(3)  # type: ignore[arg-type]


def test_names_of_the_model_are_not_taken() -> None:
    """A model whose parameters are called E, alpha_x and pi_x keeps them."""
    E, alpha, pi = da.parameters("E alpha_x pi_x", positive=True)
    found = da.variational.hamilton_jacobi(
        da.System([x, y], kinetic=E / 2 * (alpha * x.dot**2 + pi * y.dot**2), potential=E * y)
    )
    assert found.integral is not None
    own = {s.name for s in found.integral.constants} | {s.name for s in found.momenta.values()}
    assert not own & {"E", "alpha_x", "pi_x"}


@pytest.mark.long
def test_it_reads_as_text_markdown_html_latex_and_data() -> None:
    for name in ("appell", "rolling-disk", "oscillator"):
        found = method(name)
        data = found.to_json()
        assert json.loads(json.dumps(data)) == data
        assert str(found).splitlines()[0] == found.system.name == repr(found).splitlines()[0]
        for shown in (found.text(), found._repr_markdown_(), found._repr_html_()):
            assert "H_1" in shown and "Complete integral" in shown
        assert found.latex().startswith("S_t + ")
        assert found.equation.rhs == 0
    assert "S_{q_{1}}" in method("appell").latex()
