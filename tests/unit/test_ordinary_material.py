"""Calls with ordinary material that ended in an error of Python, or in a value that meant
nothing.
"""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import DalembertWarning, ModelError, UnusedParameterWarning

x, y, z = da.coordinates("x y z")
k, m = da.parameters("k m", positive=True)
u, w = da.inputs("u w")
OSCILLATOR = da.System([x], kinetic=m * x.dot**2 / 2, potential=k * x**2 / 2)
KNIFE = da.Flow({x: u, y: w, z: -x * w}, inputs=[u, w])


# -- steering --------------------------------------------------------------------------------------


@pytest.mark.long
def test_loops_stabilise_a_base_of_three_symbols() -> None:
    """The loop began at a place of two symbols, whatever the base: zip() complained."""
    found = da.control.stabilise_by_loops(
        da.control.brockett_form(3), {"x_1": 0.1, "Y_12": 0.3, "Y_13": -0.2, "Y_23": 0.5}
    )
    assert found.success and max(abs(value) for value in found.final.values()) < 1e-6


def test_a_loop_begins_at_a_place_of_the_base() -> None:
    with pytest.raises(ModelError, match="begins at a place of the base"):
        da.control.holonomy_loop(KNIFE, -2.0, around=(0.0, 0.0, 0.0))


def test_the_curvature_is_integrated_near_the_path() -> None:
    """Strips began at zero, where this curvature has a pole: 816 instead of -3/2."""
    bent = da.Flow({x: u, y: w, z: w / x}, inputs=[u, w])
    found = da.control.holonomy(bent, [(1, 0), (2, 0), (2, 3), (1, 3)])
    assert found.displacement[0] == pytest.approx(-1.5, abs=1e-9)
    assert found.by_curvature[0] == pytest.approx(-1.5, abs=1e-9) and found.area == pytest.approx(
        3.0
    )


def test_holonomy_has_no_area_over_three_symbols() -> None:
    found = da.control.holonomy(
        da.control.brockett_form(3), [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 1)]
    )
    assert (
        found.area is None and found.by_curvature is None and np.isfinite(found.displacement).all()
    )
    assert "nan" not in str(found)


@pytest.mark.parametrize(
    ("path", "span"),
    [
        ([(1, 0), (np.nan, 0), (2, 3)], None),
        ([("1", "0"), ("2", "0"), ("2", "3")], None),
        ({x: sympy.log(da.t - 1), y: 0 * da.t}, (0, 1)),
        ({x: sympy.sin(da.t), y: sympy.cos(da.t)}, ("0", "1")),
    ],
    ids=["nan", "text", "nowhere", "text as a span"],
)
def test_paths_that_are_nowhere_are_refused(path: Any, span: Any) -> None:
    """A path without a value was closed, and its area nan."""
    with pytest.raises(ModelError):
        da.control.holonomy(KNIFE, path, span)


# -- ports -----------------------------------------------------------------------------------------


def test_a_state_space_is_an_impulse_response() -> None:
    A, B = np.array([[0.0, 1.0], [-4.0, 0.0]]), np.array([[0.0], [1.0]])
    place, speed = np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])
    assert da.control.is_hamiltonian_impulse_response((A, B, place)).holds
    assert not da.control.is_hamiltonian_impulse_response((A, B, speed)).holds
    assert da.control.is_hamiltonian_impulse_response(
        (A.tolist(), B.tolist(), place.tolist(), [[2.0]])
    ).holds
    from scipy.signal import StateSpace

    assert da.control.is_hamiltonian_impulse_response(StateSpace(A, B, place, [[0.0]])).holds
    for wrong in ((A, B.T, place), (A, B), [A, B, place], "sin"):
        with pytest.raises(ModelError):
            da.control.is_hamiltonian_impulse_response(wrong)


# -- functions -------------------------------------------------------------------------------------


def test_a_function_takes_the_inputs_that_are_free() -> None:
    pushed = da.derive(
        da.System([x], kinetic=m * x.dot**2 / 2, forces={x: u - w}, inputs=[u, w])
    ).function()
    for inputs in ([3.0, 1.0], {"w": 1.0, "u": 3.0}, {u: 3.0, w: 1.0}):
        assert pushed(0.0, [0.0, 5.0], {"m": 2.0}, inputs).tolist() == [5.0, 1.0]
    assert pushed(0.0, {"x_dot": 5.0, "x": 0.0}, [2.0], inputs=[3.0, 1.0]).tolist() == [5.0, 1.0]
    for state, inputs in (
        ([0.0, 5.0], ()),
        ([0.0], [3.0, 1.0]),
        ([0.0, 5.0], {"u": 1.0}),
        (["0", "5"], [3.0, 1.0]),
    ):
        with pytest.raises(ModelError, match="must"):
            pushed(0.0, state, {"m": 2.0}, inputs)


# -- results ---------------------------------------------------------------------------------------


def test_a_contact_that_never_closed_has_no_reaction() -> None:
    wall = da.unilateral(x - 5, name="wall")
    motion = da.simulate(
        da.System([x], kinetic=x.dot**2 / 2, constraints=[wall]), {"x_dot": 1.0}, (0, 1)
    )
    assert "wall" in motion.reactions and list(motion.reactions) == ["wall"]
    reaction = motion.reactions["wall"]
    assert reaction.force.shape == (1, len(motion.t)) and not reaction.force.any()
    assert reaction.multiplier.shape == (1, len(motion.t)) and not reaction.multiplier.any()
    assert not motion.total_reaction.any() and not motion.to_xarray()["reaction"].any()
    with pytest.raises(ModelError, match="no reaction of a constraint `floor`"):
        motion.reactions["floor"]


def test_a_picture_is_shown_in_a_window_or_says_why_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    picture = da.simulate(OSCILLATOR, {"x": 1.0}, (0, 1), parameters={"m": 1, "k": 1}).plot()
    monkeypatch.setattr(matplotlib, "get_backend", lambda: "agg")
    pyplot.switch_backend("agg")
    with pytest.raises(ModelError, match=r"no window .* savefig"):
        picture.show()
    assert pyplot.get_fignums() == []
    shown: list[Any] = []
    monkeypatch.setattr(FigureCanvasAgg, "required_interactive_framework", "a window")
    monkeypatch.setattr(pyplot, "show", lambda: shown.append(pyplot.gcf().canvas.figure))
    picture.show()
    pyplot.close("all")
    assert shown == [picture]


# -- parameters ------------------------------------------------------------------------------------

PUBLISHED = {"m": 2.0, "k": 8.0, "g": 9.81, "I_zz": 0.1}


def test_values_that_a_model_does_not_use_are_warned_of() -> None:
    """Sets of published values have more than one model needs; they were refused."""
    with pytest.warns(
        UnusedParameterWarning, match="does not use the parameters g, I_zz"
    ) as caught:
        motion = da.simulate(OSCILLATOR, {"x": 1.0}, (0, 1), parameters=PUBLISHED)
    assert motion.parameters == {"m": 2.0, "k": 8.0} and len(caught) == 1
    assert caught[0].filename == __file__ and issubclass(UnusedParameterWarning, DalembertWarning)
    scenario = da.Scenario(OSCILLATOR, {"m": 2.0, "k": 8.0}, {"x": 1.0}, {"span": (0, 1)})
    for call in (
        lambda: da.simulate(scenario, parameters=PUBLISHED),
        lambda: da.sweep(scenario, over={"m": [1.0, 2.0]}, parameters=PUBLISHED),
        lambda: OSCILLATOR.describe(parameters=PUBLISHED),
    ):
        with pytest.warns(UnusedParameterWarning):
            call()


@pytest.mark.parametrize("given", [{"m": 2.0, "kk": 8.0}, {"mm": 2.0, "k": 8.0}, {"m": 2.0}])
def test_a_name_near_one_that_is_missing_is_an_error(given: dict[str, float]) -> None:
    with pytest.raises(ModelError, match="has no value"):
        da.simulate(OSCILLATOR, {"x": 1.0}, (0, 1), parameters=given)


def test_a_misspelt_name_does_not_leave_the_value_of_a_scenario() -> None:
    length = da.parameters("length", positive=True)
    rod = da.System([x], kinetic=length * x.dot**2 / 2)
    scenario = da.Scenario(rod, {"length": 2.0}, {"x_dot": 1.0}, {"span": (0, 1)})
    with pytest.raises(ModelError, match="did you mean length"):
        da.simulate(scenario, parameters={"lenght": 3.0})
    with pytest.raises(ModelError, match="no parameter `l`"):
        da.sweep(scenario, over={"x_dot": [1.0, 2.0]}, parameters={"l": 3.0})
