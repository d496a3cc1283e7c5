"""The laws of wide systems hold on a few of them, and each fails when a sign in the library is
wrong.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy
from soak.random_laws import Findings
from soak.random_systems import order
from soak.random_worker import look
from soak.wide_flow import IndependentFlow, differences
from soak.wide_laws import look_at_wide
from soak.wide_systems import FIRST_WIDE, TOPICS, Wide, by_absolute_value, by_cases, maximum, wide
from soak.wide_units import drawn_units

import dalembert as da
import dalembert.formulations.forms.lagrange as lagrange
import dalembert.formulations.reduction.bundle_equations as reduction
import dalembert.formulations.reduction.routh as routh_module
import dalembert.runtime.kernel_derivatives as derivatives

x, y = da.coordinates("x y")


def specimen(topic: str, kinds: str = "", n: int = 2, stated: str = "kinetic", **more: Any) -> Wide:
    """A wide system near the origin, in units of one and without terms that switch, unless told
    otherwise.
    """
    plain = {
        "written": "Max",
        "switching": False,
        "in_units": False,
        "forced": True,
        "gyroscopic": True,
    } | more
    words = {key: plain.pop(key) for key in ("gyroscopic", "forced")}
    return Wide(
        11,
        n,
        kinds,
        stated,
        **words,
        parametric=False,
        driven=False,
        contact=False,
        topic=topic,
        **plain,
    )


def laws(found: Findings) -> set[str]:
    """The laws that were broken."""
    return {fault.split(":")[0] for fault in found.faults}


WITHOUT_FAULT = {
    "motions": specimen("motions", "v", 3, "lagrangian", switching=True, in_units=True),
    "linearise": specimen("linearise", "", switching=True, in_units=True),
    "constrained equilibria": specimen("linearise", "hv", 3, switching=True, in_units=True),
    "routh": specimen("routh", n=3, switching=True, in_units=True),
    "reduce": specimen("reduce", n=4, switching=True, in_units=True),
    "sensitivities": specimen("sensitivities", "a", 3, switching=True, in_units=True),
}


@pytest.mark.long
@pytest.mark.parametrize("label", WITHOUT_FAULT)
def test_the_laws_hold(label: str) -> None:
    found = look_at_wide(WITHOUT_FAULT[label])
    assert found.faults == [] and found.ending == "finished" and found.gaps
    if label in ("routh", "reduce"):
        assert found.counts[f"{label} refused rightly"] == 1


@pytest.mark.long
def test_specimens_are_of_all_kinds() -> None:
    drawn = [wide(number) for number in range(FIRST_WIDE, FIRST_WIDE + 500)]
    assert {s.topic for s in drawn} == set(TOPICS)
    assert {s.written for s in drawn} == {"Max", "Abs", "Piecewise"}
    assert {s.n for s in drawn} == {1, 2, 3, 4}
    assert set("".join(s.kinds for s in drawn if s.topic == "motions")) == set("hrvanstwmec")
    assert wide(FIRST_WIDE + 17) == drawn[17]
    sizes = np.array([drawn_units(s.random(2), s.n).energy for s in drawn])
    assert sizes.min() < 1e-11 and sizes.max() > 1e11
    assert order()[0] == FIRST_WIDE and len(order()) == len(set(order())) == 15_000
    assert look(FIRST_WIDE + 1)["topic"] == "linearise"


@pytest.mark.long
def test_units_and_other_words_for_the_maximum_leave_a_motion_as_it_is() -> None:
    """The independent implementation says the same of a system and of the same one in units."""
    for word in (by_absolute_value, by_cases):
        for value in (-0.3, 0.4):
            assert float(word(x).subs(x, value)) == float(maximum(x).subs(x, value))
    plain = da.System(
        [x, y],
        kinetic=x.dot**2 / 2 + (2 + sympy.sin(x)) * y.dot**2 / 2,
        potential=x**2 + sympy.Max(y - 1, 0) ** 3,
        forces={y: -x.dot + da.t},
        dissipation=y.dot**2,
    )
    units = drawn_units(np.random.default_rng(3), 2)
    q, v = np.array([0.3, 0.9]), np.array([-0.2, 0.8])
    known = IndependentFlow(plain).end(0.2, 0.7, [*q, *v])
    there, moving = units.state(q, v)
    scaled = IndependentFlow(units.system(plain))
    rates = scaled.rates(0.2 / units.clock, np.concatenate([there, moving]))
    wanted = IndependentFlow(plain).rates(0.2, np.concatenate([q, v]))
    sizes = np.concatenate([units.clock / units.scales, units.clock**2 / units.scales])
    assert rates == pytest.approx(wanted * sizes, rel=1e-9)
    assert np.all(np.isfinite(known))


@pytest.mark.long
def test_the_independent_flow_is_exact_across_switches() -> None:
    """x'' = max(t - c, 0) and y'' = 1 - max(y' - c, 0) have closed forms, wherever c is."""
    for c in np.linspace(0.01, 0.49, 5):
        free = da.System([x], kinetic=x.dot**2 / 2, forces={x: sympy.Max(da.t - float(c), 0)})
        end = IndependentFlow(free).end(0.0, 0.5, [0.0, 0.0])
        assert end == pytest.approx([(0.5 - c) ** 3 / 6, (0.5 - c) ** 2 / 2], rel=1e-11, abs=1e-13)
        slowed = da.System(
            [y], kinetic=y.dot**2 / 2, forces={y: 1 - sympy.Max(y.dot - float(c), 0)}
        )
        late = 0.5 - float(c)  # y' = t until it is c, then y' = c + 1 - exp(c - t)
        there = [c**2 / 2 + (c + 1) * late - 1 + np.exp(-late), c + 1 - np.exp(-late)]
        assert IndependentFlow(slowed).end(0.0, 0.5, [0.0, 0.0]) == pytest.approx(there, rel=1e-11)


def test_differences_shorten_their_step_beside_a_switch() -> None:
    found = differences(lambda h: np.array([np.sin(h), abs(h - 3e-4)]))
    assert found.value == pytest.approx([1.0, -1.0], abs=1e-9) and found.error < 1e-8
    at_switch = differences(
        lambda h: np.array([h * abs(h)])
    )  # whose second derivative jumps at zero itself
    assert 0 < abs(at_switch.value[0]) < at_switch.error
    noise = np.random.default_rng(1)
    noisy = differences(lambda h: np.array([h + 1e-6 * noise.standard_normal()]))
    assert abs(noisy.value[0] - 1.0) < 10 * noisy.error


# -- every law can fail ----------------------------------------------------------------------------


def against_dissipation(
    system: da.System, algebra: Any, momenta: Any, force: Any = lagrange.applied_force
) -> Any:
    """Applied forces with the sign of the dissipation turned."""
    v = algebra.vector(system.velocities)
    return force(system, algebra, momenta) + 2 * algebra.gradient(
        algebra.scalar(system.dissipation), v
    )


@pytest.mark.long
@pytest.mark.parametrize("form", ["lagrange", None])
def test_motions_see_the_sign_of_the_dissipation(
    form: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = specimen("motions", "v" if form else "", 2, "lagrangian")
    monkeypatch.setattr("soak.wide_laws.FORMS", ("lagrange",))
    assert look_at_wide(drawn).faults == []
    monkeypatch.setattr(lagrange, "applied_force", against_dissipation)
    assert "wide forms" in laws(look_at_wide(drawn)) or "wide motions" in laws(look_at_wide(drawn))


@pytest.mark.long
def test_linearise_sees_the_sign_of_the_dissipation(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = specimen("linearise")
    assert look_at_wide(drawn).faults == []
    monkeypatch.setattr(lagrange, "applied_force", against_dissipation)
    assert laws(look_at_wide(drawn)) >= {"linearise"}


@pytest.mark.long
def test_linearise_sees_a_sign_and_a_verdict_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, real, judge = specimen("linearise"), da.linearise, da.stability

    def turned(*arguments: Any, **options: Any) -> Any:
        found = real(*arguments, **options)
        return replace(found, eigenvalues=-found.eigenvalues)

    monkeypatch.setattr(da, "linearise", turned)
    assert laws(look_at_wide(drawn)) == {"linearise"}
    monkeypatch.setattr(da, "linearise", real)
    opposite = {"unstable": "asymptotically stable"}
    monkeypatch.setattr(
        da,
        "stability",
        lambda *a, **b: replace(f := judge(*a, **b), verdict=opposite.get(f.verdict, "unstable")),
    )
    assert laws(look_at_wide(drawn)) == {"stability"}


@pytest.mark.long
def test_routh_sees_the_sign_of_a_momentum(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, real = specimen("routh", n=3), routh_module._lagrangian
    monkeypatch.setattr(
        routh_module,
        "_lagrangian",
        lambda system, cyclic, momenta: real(system, cyclic, [-p for p in momenta]),
    )
    found = look_at_wide(drawn)
    assert any("is open" in fault for fault in found.faults) and "routh" in laws(found)


@pytest.mark.long
def test_reduce_sees_the_sign_of_the_structure_constants(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, real = specimen("reduce", n=4), reduction.structure_constants

    def turned(*arguments):
        constants, verdict = real(*arguments)
        return -np.asarray(constants), verdict

    monkeypatch.setattr(reduction, "structure_constants", turned)
    found = look_at_wide(drawn)
    assert any("is open" in fault for fault in found.faults) and "reduce" in laws(found)


@pytest.mark.long
def test_a_hidden_term_must_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routh_module, "_check_hypotheses", lambda *a: None)
    found = look_at_wide(specimen("routh", n=3))
    assert any("routh: accepted a coordinate" in fault for fault in found.faults)


@pytest.mark.long
def test_derivatives_see_a_sign(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = specimen("sensitivities", "v", 2)
    assert look_at_wide(drawn).faults == []
    real = derivatives.ca.jtimes
    monkeypatch.setattr(derivatives.ca, "jtimes", lambda f, x, w, *more: -real(f, x, w, *more))
    found = look_at_wide(drawn)
    assert {"sensitivities"} == laws(found)
    assert any("forward" in fault for fault in found.faults) and any(
        "adjoint" in fault for fault in found.faults
    )


@pytest.mark.long
@pytest.mark.parametrize("number", [10127, 10395])
def test_systems_that_once_stuck_at_a_switch(number: int) -> None:
    """Far from the origin a tiny step moves the state by less than its rounding; momenta and
    positions have other units.
    """
    assert look(number)["faults"] == []


@pytest.mark.long
@pytest.mark.parametrize("number", [11741, 12704])
def test_systems_that_switch_beside_a_difference(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An equilibrium 1.24e-4 from a switch, and a motion through switches: right, and a part in ten
    thousand is seen.
    """
    row = look(number)
    assert row["faults"] == [] and max(row["gaps"].values()) < 1e-7
    eigenvalues, gradient = da.linearise, da.analysis.gradient

    def changed(*a: Any, **b: Any) -> Any:
        found = eigenvalues(*a, **b)
        return replace(found, eigenvalues=found.eigenvalues * (1 + 1e-4))

    monkeypatch.setattr(da, "linearise", changed)
    monkeypatch.setattr(
        da.analysis,
        "gradient",
        lambda *a, **b: replace(f := gradient(*a, **b), values=f.values * (1 + 1e-4)),
    )
    faults = look(number)["faults"]
    assert (
        len(faults) == 1
        and "is open" in faults[0]
        and ("eigenvalues" in faults[0] or "adjoint" in faults[0])
    )
