"""Forms on independent velocities leave out rows that depend on others: only those that follow from
them.
"""

from __future__ import annotations

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.errors import FormError
from dalembert.formulations.constraint_jacobian import constraint_rows
from dalembert.formulations.independent_velocities import choose_split

FORMS = (
    "maggi",
    "voronets",
    "hamel",
    "kane",
    "gibbs-appell",
    "constrained-lagrangian",
    "canonical-voronets",
)
x, y, z = da.coordinates("x y z")


def particle(*rows: object) -> da.System:
    kinetic = (x.dot**2 + y.dot**2 + 2 * z.dot**2) / 2
    return da.System(
        [x, y, z], kinetic=kinetic, potential=x * y, constraints=[da.velocity(row) for row in rows]
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "second", [x.dot - cos(da.t), 2 * x.dot - 3, x.dot - y], ids=["time", "constant", "position"]
)
def test_a_row_that_says_something_else_is_refused_by_name(form, second):
    with pytest.raises(FormError, match="does not follow from them") as caught:
        da.derive(particle(x.dot - 1, second), form)
    assert "constraint" in str(caught.value) and "lagrange" in str(caught.value)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e12])
def test_units_of_rows_change_nothing(unit):
    """x' = 1 and x' = 1.01 in any unit contradict each other; x' = y stated again in another one
    does not.
    """
    for first, second in (
        (x.dot - 1, unit * (x.dot - 1.01)),
        (unit * (x.dot - 1), x.dot - 1.01),
        (x.dot - y, unit * (x.dot - y * y)),
    ):
        with pytest.raises(FormError, match="does not follow from them"):
            da.derive(particle(first, second), "maggi")
    for same in ((x.dot - y, unit * (x.dot - y)), (unit * (x.dot - y), x.dot - y)):
        assert len(choose_split(particle(*same)).rows) == 1
    again = [
        da.holonomic(x**2 + y**2 - 1, name="one"),
        da.holonomic(unit * ((x**2 + y**2) ** 2 - 1), name="again"),
    ]
    system = da.System([x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, constraints=again)
    assert len(choose_split(system).rows) == 1


@pytest.mark.parametrize(
    "form", [form for form in FORMS if form != "constrained-lagrangian"]
)  # which needs homogeneous rows
def test_a_row_that_follows_is_left_out(form):
    once, twice = particle(x.dot - y), particle(x.dot - y, 2 * x.dot - 2 * y)
    start = {y: 0.4, x.dot: 0.4, z.dot: 0.2}
    motions = [da.simulate(system, start, (0, 1), form=form) for system in (once, twice)]
    assert np.allclose(motions[0].y[:, -1], motions[1].y[:, -1], atol=1e-12)


def test_a_row_that_follows_only_where_the_others_hold_is_left_out():
    crank = [
        da.holonomic(x**2 + y**2 - 1, name="one"),
        da.holonomic((x**2 + y**2) ** 2 - 1, name="again"),
    ]
    system = da.System(
        [x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, potential=y, constraints=crank
    )
    motion = da.simulate(system, {x: 1.0, y: 0.0, y.dot: 0.3}, (0, 2), form="maggi")
    assert motion.success and np.max(np.abs(motion["x"] ** 2 + motion["y"] ** 2 - 1)) < 1e-9


@pytest.mark.parametrize("many", [False, True])
def test_a_row_that_could_not_be_judged_beforehand_is_judged_along_the_motion(many, monkeypatch):
    """Where no generic state was found to ask at, a motion that breaks the row does not end as
    finished.
    """
    monkeypatch.setattr(
        "dalembert.formulations.constraint_jacobian.ConstraintRows.contradicted", lambda *_: None
    )
    start = {x.dot: 1.0, y.dot: np.array([0.3, 0.4]) if many else 0.3}
    found = da.simulate(particle(x.dot - 1, x.dot - cos(da.t)), start, (0, 1), form="maggi")
    outcomes = [found.motion((k,)).outcome for k in range(2)] if many else [found.outcome]
    assert all(outcome == da.Outcome.CONTRADICTORY for outcome in outcomes)
    if many:
        assert all(str(outcome) == "constraints contradict" for outcome in np.ravel(found.outcomes))
    else:
        assert "taken to follow from the others" in found.message


@pytest.mark.long
def test_a_multiple_of_a_constraint_is_left_out_where_its_factor_has_directions_of_its_own():
    """f g = 0 beside g = 0: the row f g_q + g f_q has entries of rounding on the constraints, which
    are no second direction.
    """
    w = da.coordinates("w")
    g = x - 0.565 * sin(y + da.t) - 0.839 * sin(y + 0.597 * z + 0.669)
    rows = [
        da.holonomic(g, name="once"),
        da.holonomic((0.812 + 0.459 * sin(0.586 * w + z + 0.667)) * g, name="multiple"),
    ]
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2 + w.dot**2) / 2
    once, twice = (
        da.System([x, y, z, w], kinetic=kinetic, potential=x * w, constraints=rows[:k])
        for k in (1, 2)
    )
    start = da.simulate(once, {y: 0.3, w: 0.2, w.dot: 1.0}, (0, 0)).start
    motions = [
        da.simulate(system, start, (0, 1), form="maggi", at=[1.0]) for system in (once, twice)
    ]
    assert motions[1].success, motions[1].message
    assert np.allclose(motions[0].y[:, -1], motions[1].y[:, -1], atol=1e-9)


def test_a_choice_that_a_form_asks_for_is_not_the_choice_of_the_others():
    row = y * x.dot + (2 + x) * z.dot
    best = choose_split(particle(row)).independent
    asked = particle(row)
    other = choose_split(asked, allowed=lambda split: split.independent != best)
    assert other.independent != best and choose_split(asked).independent == best


def test_rows_at_a_state_take_what_is_not_given_as_zero():
    rows = constraint_rows(particle(y * x.dot + z.dot))
    assert np.allclose(rows.near({}), [[[0, 0, 1]]], atol=0)
    assert np.allclose(rows.near({"y": 1.0}), [[[1, 0, 1] / np.sqrt(2)]], rtol=1e-15)
