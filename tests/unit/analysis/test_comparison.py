"""`compare`: the forms agree on every gallery system, a wrong one is caught, and vakonomic motion
stands apart.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.analysis.overview.comparison import Comparison, compare
from dalembert.formulations import registry
from dalembert.formulations.form import Form
from dalembert.formulations.forms import lagrange


@cache
def compared(name: str) -> Comparison:
    return compare(da.gallery.load(name), n=6)


#: Systems that are compared in every run of the tests; the others in the long ones.
USUAL = ("spherical-pendulum", "elastic-pendulum-arc", "appell", "nonholonomic-particle",
         "rolling-disk", "linked-particles",
         "cart-pendulum")  # fmt: skip
GALLERY = [
    pytest.param(name, marks=[] if name in USUAL else [pytest.mark.long])
    for name in (*da.gallery.names("mechanical"), *da.gallery.names("controlled"))
]


@pytest.mark.long
@pytest.mark.parametrize("name", GALLERY)
def test_all_forms_agree(name: str) -> None:
    found = compared(name)
    assert found.worst < 1e-9, found.text()
    if da.gallery.load(name).system.image is None:
        assert {"lagrange"} <= {form for form, why in found.forms.items() if why is None}
        assert len(found.pair) == 2
    data = found.to_json()
    assert json.loads(json.dumps(data)) == data
    assert found.text().splitlines()[0] == da.gallery.load(name).system.name


VAKONOMIC = {
    "spherical-pendulum": True,
    "elastic-pendulum-arc": True,
    "elastic-pendulum-printed": True,
    "elastic-pendulum-steered": True,
    "appell": True,  # not integrable, and every motion coincides all the same
    "nonholonomic-particle": False,
    "rolling-disk": False,
    "constrained-particle": False,
    "ball-on-rotating-plate": False,
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in USUAL else [pytest.mark.long]) for name in VAKONOMIC],
)
def test_vakonomic_motion_coincides_where_theory_says_so(name: str) -> None:
    apart = compared(name).differing["vakonomic"]
    assert apart.coincides is VAKONOMIC[name]
    if apart.must_coincide:
        assert apart.coincides
    if not apart.coincides:
        assert apart.difference.worst > 1e-3


@pytest.mark.long
def test_random_parameters_and_no_start() -> None:
    x, y, theta = da.coordinates("x y theta")
    m, J, a = da.parameters("m J a", positive=True)
    sleigh = da.System(
        [x, y, theta],
        kinetic=m
        / 2
        * ((x.dot - a * theta.dot * sin(theta)) ** 2 + (y.dot + a * theta.dot * cos(theta)) ** 2)
        + J / 2 * theta.dot**2,
        constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
    )
    found = compare(sleigh, n=4, span=(0, 0.5))
    assert found.worst < 1e-9
    assert any(difference.where.startswith(("state", "motion")) for difference in found.table)


@pytest.mark.long
def test_free_inputs_and_walls_do_not_stop_it() -> None:
    x = da.coordinates("x")
    m = da.parameters("m", positive=True)
    push = da.inputs("push")
    wall = da.unilateral(x - 1, name="wall")
    system = da.System(
        [x], kinetic=m / 2 * x.dot**2, forces={x: push}, inputs=[push], constraints=[wall]
    )
    assert compare(system, n=3).worst < 1e-9


@pytest.mark.long
def test_a_singular_legendre_transformation_is_listed() -> None:
    found = compared("bicycle")
    assert found.forms["hamilton"] is not None
    assert "singular" in found.forms["hamilton"]
    assert all("hamilton" not in difference.pair for difference in found.table)


def test_an_image_is_compared_in_the_implicit_forms() -> None:
    found = compared("linked-particles")
    assert found.pair == ("implicit-lagrangian", "implicit-hamiltonian") and found.worst < 1e-10


def wrong_form(change: Any) -> SimpleNamespace:
    """Lagrange's equations with one block spoiled."""

    def derive(system: Any) -> Any:
        right = lagrange.derive(system)
        return replace(
            right, form="wrong", derivation=lambda algebra: change(right.derivation(algebra))
        )

    return SimpleNamespace(FORM=Form("wrong", "nobody", lagrange.hypotheses, derive))


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "quantities"),
    [
        (
            lambda blocks: replace(blocks, force=1.001 * blocks.force),
            {"accelerations", "reaction", "coordinates", "velocities"},
        ),
        (
            lambda blocks: replace(blocks, reactions={k: -f for k, f in blocks.reactions.items()}),
            {"reaction"},
        ),
    ],
)
def test_a_wrong_form_is_caught(
    change: Any, quantities: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_FORMS", (*registry._FORMS, "wrong"))
    monkeypatch.setitem(sys.modules, "dalembert.formulations.forms.wrong", wrong_form(change))  # type: ignore[arg-type]
    scenario = da.gallery.load("spherical-pendulum")
    found = compare(
        scenario.system.replacing(name="spoiled"), scenario.parameters, scenario.start, n=4
    )
    assert found.worst > 1e-4
    assert "wrong" in found.pair
    assert {d.quantity for d in found.table if "wrong" in d.pair} <= quantities
    assert all(d.worst < 1e-9 for d in found.table if "wrong" not in d.pair)


def test_wrong_names_are_refused() -> None:
    scenario = da.gallery.load("elastic-pendulum-wall")
    with pytest.raises(da.errors.ModelError, match="no parameter `mass`"):
        compare(scenario, parameters={"mass": 1.0})
    with pytest.raises(da.errors.StartError, match="`angle`"):
        compare(scenario, start={"angle": 1.0})
    with pytest.raises(da.errors.ModelError, match="System or a Scenario"):
        compare("pendulum")  # type: ignore[arg-type]
