"""Derivatives of motions are refused, with the time, where the rank of the constraints changes or
the rates jump.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

x, y = da.coordinates("x y")
a, c = da.parameters("a c", positive=True)
PLANE = (x.dot**2 + y.dot**2) / 2
Max = sympy.Max


def time_of(error: pytest.ExceptionInfo[ModelError]) -> float:
    return float(re.search(r"t = ([0-9.e+-]*[0-9])", str(error.value.seen))[1])


def difference(
    system: Any, start: dict[Any, float], span: tuple[float, float], by: Any, of: Any
) -> float:
    """The central difference of the end of a motion by a start value; a is 0.5."""
    ends = [
        da.simulate(system, start | {by: start[by] + h}, span, parameters={a: 0.5}, rtol=1e-12)[of][
            -1
        ]
        for h in (1e-5, -1e-5)
    ]
    return float(ends[0] - ends[1]) / 2e-5


LATE = da.System(
    [x, y],
    kinetic=PLANE,
    potential=a * y,
    constraints=[da.velocity(Max(x - 1, 0) * (y.dot - x.dot / 2), name="late")],
)
LATE_START = {x: 0.0, y: 0.0, x.dot: 1.0, y.dot: 0.3}
CHANGES = {
    "a row that wakes up": (LATE, LATE_START, 1.0),
    "a row that follows from another and stops to": (
        da.System(
            [x, y],
            kinetic=PLANE,
            potential=a * y,
            constraints=[
                da.velocity(x.dot, name="one"),
                da.velocity(x.dot + Max(y - 1, 0) * y.dot, name="two"),
            ],
        ),
        {x: 0.0, y: 0.0, y.dot: 2.0},
        4 - 2 * np.sqrt(3),
    ),
    "a row that begins at a time": (
        da.System(
            [x, y],
            kinetic=PLANE,
            potential=a * y,
            constraints=[da.velocity(Max(da.t - 1, 0) * (y.dot - x.dot / 2), name="late")],
        ),
        LATE_START,
        1.0,
    ),
}


@pytest.mark.parametrize("label", CHANGES)
def test_a_change_of_rank_is_refused_with_its_time(label: str) -> None:
    """The derivative was that of the system without the constraint that wakes up; or the motion
    itself ends there.
    """
    system, start, when = CHANGES[label]
    refused = "becomes independent along the motion|did not reach its end"
    options = {"parameters": {a: 0.5}, "form": "lagrange"}
    for span in ((0, 2), (0, 1.5)):
        with pytest.raises(ModelError, match=refused) as caught:
            da.analysis.sensitivities(system, [a], start, span, **options)
        assert time_of(caught) == pytest.approx(when, abs=1e-6)
    with pytest.raises(ModelError, match=refused):
        da.analysis.gradient(system, [a], start, (0, 2), final=y, **options)
    with pytest.raises(ModelError, match=refused):
        da.analysis.fit(
            system, {"t": np.array([0.0, 2.0]), "x": np.array([0.0, 1.0])}, [a], start, **options
        )
    with pytest.raises(ModelError, match=refused):
        da.analysis.lyapunov(system, start, (0, 2), interval=0.01, **options)
    before = da.analysis.sensitivities(system, [a], start, (0, 0.9 * when), **options)
    assert np.all(np.isfinite(before.of(x)))


def test_a_row_that_vanishes_at_the_start_alone_is_refused() -> None:
    """No function switches there; the derivative was that of a free particle."""
    row = da.velocity(x * (y.dot - x.dot / 2), name="row")
    system = da.System([x, y], kinetic=PLANE, potential=a * (y + x / 3), constraints=[row])
    start = {x: 0.0, y: 0.0, x.dot: 1.0, y.dot: 0.5}
    assert da.simulate(system, start, (0, 1), parameters={a: 0.5}, form="lagrange").success
    with pytest.raises(ModelError, match="becomes independent along the motion") as caught:
        da.analysis.sensitivities(system, [a], start, (0, 1), parameters={a: 0.5}, form="lagrange")
    assert time_of(caught) == pytest.approx(0.0, abs=1e-6)


def test_a_row_that_always_follows_from_another_is_differentiated() -> None:
    circle = x**2 + y**2 - 1
    repeated = [da.holonomic(circle, name="one"), da.holonomic(circle * (2 + x), name="two")]
    system = da.System([x, y], kinetic=PLANE, potential=a * y, constraints=repeated)
    once = system.replacing(constraints=repeated[:1])
    found, wanted = (
        da.analysis.sensitivities(
            s, [a], {x: 0.6, y: -0.8}, (0, 5), parameters={a: 0.5}, form="lagrange", at=[5.0]
        ).of(y)
        for s in (system, once)
    )
    assert found == pytest.approx(wanted, rel=1e-7)


def line(force: Any, **more: Any) -> da.System:
    return da.System([x], kinetic=x.dot**2 / 2, forces={x: force}, **more)


RIGHT = {x: 0.0, x.dot: 1.0}
JUMPS = {
    "a piece of another force": (line(sympy.Piecewise((-a, x > 1), (0, True))), RIGHT, 1.0),
    "dry friction": (line(-a * sympy.sign(x.dot) - 1), RIGHT, 2 / 3),
    "a potential with a kink": (
        da.System([x], kinetic=x.dot**2 / 2, potential=a * abs(x - 1)),
        RIGHT,
        2 * (np.sqrt(2) - 1),
    ),
    "steps": (line(a * sympy.floor(2 * x)), RIGHT, 0.5),
    "a Heaviside function": (line(-a * sympy.Heaviside(x - 1)), RIGHT, 1.0),
}


@pytest.mark.parametrize("label", JUMPS)
def test_a_jump_of_the_rates_is_refused_with_its_time(label: str) -> None:
    """The jump of the derivative was left out: 2.0 in place of 1.5 in the first case, by the
    velocity at the start.
    """
    system, start, when = JUMPS[label]
    with pytest.raises(ModelError, match="The equations jump along the motion") as caught:
        da.analysis.sensitivities(system, [x.dot], start, (0, 2), parameters={a: 0.5})
    assert time_of(caught) == pytest.approx(when, abs=1e-6)
    for call in (
        lambda: da.analysis.gradient(system, [a], start, (0, 2), parameters={a: 0.5}, final=x),
        lambda: da.analysis.lyapunov(system, start, (0, 2), parameters={a: 0.5}, interval=0.01),
        lambda: da.analysis.fit(
            system,
            {"t": np.array([0.0, 2.0]), "x": np.array([0.0, 1.0])},
            [a],
            start,
            parameters={a: 0.5},
        ),
    ):
        with pytest.raises(ModelError, match="The equations jump"):
            call()
    done = da.analysis.sensitivities(
        system, [x.dot], start, (0, time_of(caught) / 2), parameters={a: 0.5}
    )
    assert np.all(np.isfinite(done.of(x)))


def test_a_motion_backwards_in_time_is_looked_at_too() -> None:
    system = JUMPS["a piece of another force"][0]
    with pytest.raises(ModelError, match="The equations jump") as caught:
        da.analysis.sensitivities(system, [x], {x: 3.0, x.dot: 1.0}, (2, 0), parameters={a: 0.5})
    assert time_of(caught) == pytest.approx(2 - 2 * (np.sqrt(3) - 1), abs=1e-6)


def test_a_time_of_switching_is_felt_only_by_what_it_depends_on() -> None:
    """The end T of a push has a derivative of its own, which was zero; its strength a has none
    there.
    """
    switched = line(sympy.Piecewise((a, da.t < c), (0, True)))
    values = {a: 0.5, c: 1.0}
    by_strength = da.analysis.sensitivities(
        switched, [a], RIGHT, (0, 2), parameters=values, at=[2.0]
    )
    assert by_strength.of(x).item() == pytest.approx(1.5, abs=1e-7)
    with pytest.raises(ModelError, match="jump") as caught:
        da.analysis.sensitivities(switched, [a, c], RIGHT, (0, 2), parameters=values)
    assert time_of(caught) == pytest.approx(1.0, abs=1e-9)


def test_an_integrand_that_jumps_is_refused() -> None:
    free = line(a)
    late = sympy.Piecewise((1, x > 1), (0, True))
    with pytest.raises(ModelError, match="jump"):
        da.analysis.gradient(free, [a], RIGHT, (0, 2), parameters={a: 0.5}, integral=late)
    smooth = da.analysis.gradient(
        free, [a], RIGHT, (0, 2), parameters={a: 0.5}, integral=late * (x - 1)
    )
    assert np.isfinite(smooth[a])


@pytest.mark.parametrize(
    "system",
    [
        line(-a * Max(x - 1, 0)),
        line(-a * abs(x - 1)),
        line(sympy.Piecewise((-a * (x - 1), x > 1), (0, True))),
        da.System([x], kinetic=x.dot**2 / 2, potential=a * Max(x - 1, 0) ** 2),
        da.System(
            [x], lagrangian=x.dot**2 / 2 + a * Max(x.dot - sympy.Rational(1, 2), 0) ** 4 - a * x
        ),
    ],
)
def test_kinks_are_differentiated(system: da.System) -> None:
    """The derivative is continuous where the rates are, whatever switches there."""
    found = da.analysis.sensitivities(
        system, [x.dot], RIGHT, (0, 3), parameters={a: 0.5}, at=[3.0], rtol=1e-12
    )
    assert found.of(x).item() == pytest.approx(
        difference(system, RIGHT, (0, 3), x.dot, x), rel=1e-5
    )


def test_many_kinks_are_told_from_jumps() -> None:
    """A ball between springs with play, over a hundred crossings."""
    system = line(-40 * a * (Max(x - 1, 0) - Max(-x - 1, 0)))
    found = da.analysis.sensitivities(
        system, [x.dot], {x: 0.0, x.dot: 2.0}, (0, 60), parameters={a: 0.5}, at=[60.0]
    )
    assert found.of(x).item() == pytest.approx(
        difference(system, {x: 0.0, x.dot: 2.0}, (0, 60), x.dot, x), rel=1e-4
    )
