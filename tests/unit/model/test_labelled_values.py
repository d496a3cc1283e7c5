"""Values that carry names are read by these, never by position; what is no number is refused."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sympy
import xarray

import dalembert as da
from dalembert.errors import DalembertError, ModelError
from dalembert.model.labels import labelled
from dalembert.model.values import numbers_by_name, real_array, real_number

pandas = pytest.importorskip("pandas")
x = da.coordinates("x")
k, m = da.parameters("k m", positive=True)
#: The parameters of the oscillator are in the order k, m.
OSCILLATOR = da.System([x], kinetic=m * x.dot**2 / 2, potential=k / 2 * x**2)
VALUES = {"m": 2.0, "k": 8.0}


def record() -> Any:
    return np.array((2.0, 8.0), dtype=[("m", float), ("k", float)])


SHAPES: dict[str, Callable[[], Any]] = {
    "mapping": lambda: VALUES,
    "Series": lambda: pandas.Series(VALUES),
    "row": lambda: pandas.DataFrame({name: [0.0, value] for name, value in VALUES.items()}).iloc[1],
    "Series of symbols": lambda: pandas.Series([2.0, 8.0], index=[m, k]),
    "DataArray": lambda: xarray.DataArray([2.0, 8.0], coords={"name": ["m", "k"]}),
    "Dataset": lambda: xarray.Dataset(VALUES),
    "record": record,
    "named tuple": lambda: namedtuple("Values", "m k")(2.0, 8.0),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_parameters_are_read_by_their_labels(shape: str) -> None:
    """A Series was read by position: the mass became the stiffness."""
    given = SHAPES[shape]()
    assert da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=given).parameters == VALUES
    assert numbers_by_name(given) == VALUES
    scenario = da.Scenario(OSCILLATOR, given, {"x": 1.0}, {"span": (0, 1)})
    assert da.simulate(scenario).parameters == VALUES


def test_what_has_no_labels_is_read_in_the_order_of_the_parameters() -> None:
    for given in ([8.0, 2.0], (8.0, 2.0), np.array([8.0, 2.0]), pandas.Series([8.0, 2.0])):
        assert da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=given).parameters == VALUES


def test_a_start_is_read_by_its_labels() -> None:
    start = pandas.Series({"x_dot": 3.0, "x": 1.0})
    assert da.simulate(OSCILLATOR, start, (0, 1), parameters=VALUES).start == {
        "x": 1.0,
        "x_dot": 3.0,
    }


def test_labels_that_mean_nothing_are_refused() -> None:
    for given in (pandas.Series({"m": 1.0, "kk": 2.0}), pandas.Series([1.0, 2.0], index=[4, 7])):
        with pytest.raises(ModelError):
            da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=given)
    with pytest.raises(ModelError, match="twice"):
        labelled(pandas.Series([1.0, 2.0, 3.0], index=["m", "k", "m"]))


def test_a_table_gives_one_run_for_each_row() -> None:
    table = pandas.DataFrame({"m": [2.0, 3.0], "k": [8.0, 1.0]}, index=["first", "second"])
    runs = da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=table)
    assert runs["m"].tolist() == [2.0, 3.0] and runs["k"].tolist() == [8.0, 1.0]
    alone = da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=table.loc["second"])
    assert runs.final["x"][1] == alone["x"][-1]


def test_arrays_of_many_runs_belong_together_by_their_labels() -> None:
    first = pandas.Series([1.0, 2.0], index=["a", "b"])
    turned = pandas.Series([1.0, 2.0], index=["b", "a"])
    for start, parameters in (
        ({"x": 1.0}, {"m": first, "k": turned}),
        ({"x": turned}, {"m": first, "k": 1.0}),
    ):
        with pytest.raises(ModelError, match="different labels"):
            da.simulate(OSCILLATOR, start, (0, 1), parameters=parameters)
    with pytest.raises(ModelError, match="different labels"):
        da.sweep(
            OSCILLATOR, over={"m": first, "k": turned}, start={"x": 1.0}, span=(0, 1), paired=True
        )
    runs = da.sweep(OSCILLATOR, over={"m": first, "k": turned}, start={"x": 1.0}, span=(0, 1))
    assert runs.shape == (2, 2)


def test_arrays_with_named_dimensions_are_broadcast_by_them() -> None:
    masses = xarray.DataArray([1.0, 2.0, 3.0], dims="mass")
    stiffnesses = xarray.DataArray([4.0, 5.0], dims="stiffness")
    runs = da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters={"m": masses, "k": stiffnesses})
    assert runs.shape == (3, 2) and runs["k"][0].tolist() == [4.0, 5.0]
    other = xarray.DataArray([1.0, 2.0], coords={"run": [1, 2]})
    with pytest.raises(ModelError, match="different labels"):
        da.simulate(
            OSCILLATOR,
            {x: 1.0},
            (0, 1),
            parameters={"m": other, "k": other.assign_coords(run=[2, 3])},
        )


# -- what is no number -----------------------------------------------------------------------------

NO_NUMBERS: dict[str, Any] = {
    "text": "1.0",
    "bytes": b"1",
    "NumPy's text": np.str_("1"),
    "text in an array": np.array("1.0"),
    "complex": 1 + 2j,
    "NumPy's complex": np.complex128(1 + 2j),
    "complex in an array": np.array(1 + 2j),
    "a date": np.datetime64("2020-01-01"),
    "nothing": None,
    "not a number": float("nan"),
}


@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_what_is_no_number_is_refused_everywhere(kind: str) -> None:
    """Text was converted, and of complex numbers the imaginary part was lost."""
    wrong = NO_NUMBERS[kind]
    assert np.isnan(real_number(wrong))
    calls: list[Callable[[], Any]] = [
        lambda: da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters={"m": wrong, "k": 1.0}),
        lambda: da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=[1.0, wrong]),
        lambda: da.simulate(OSCILLATOR, {x: wrong}, (0, 1), parameters=VALUES),
        lambda: da.simulate(OSCILLATOR, {x: wrong}, (0, 1), parameters={"m": [1.0, 2.0], "k": 1.0}),
        lambda: da.simulate(OSCILLATOR, {x: 1.0}, (0, wrong), parameters=VALUES),
        lambda: da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=VALUES, at=[0.0, wrong]),
        lambda: da.simulate(
            da.Scenario(OSCILLATOR, {"m": wrong, "k": 1.0}, {"x": 1.0}, {"span": (0, 1)})
        ),
        lambda: da.sweep(
            OSCILLATOR, over={"m": [1.0, 2.0]}, start={"x": wrong}, parameters={"k": 1}, span=(0, 1)
        ),
        lambda: numbers_by_name({"m": wrong}),
    ]
    for call in calls:
        with pytest.raises(DalembertError):
            call()


@pytest.mark.parametrize(
    "option", ["rtol", "atol", "max_step", "first_step", "max_steps", "step", "every"]
)
def test_options_in_text_are_refused(option: str) -> None:
    base = {"method": "gauss4", "step": 0.1} if option in ("step", "every") else {}
    with pytest.raises(ModelError):
        da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=VALUES, **(base | {option: "1"}))


def test_a_span_in_text_is_refused() -> None:
    for span in ("01", b"01", ("0", "1"), "0"):
        with pytest.raises(ModelError, match="The span must"):
            da.simulate(OSCILLATOR, {x: 1.0}, span, parameters=VALUES)
    motion = da.simulate(OSCILLATOR, {x: 1.0}, (0, 1), parameters=VALUES)
    with pytest.raises(ModelError, match="needs times"):
        motion.sol("0.5")


def test_numbers_of_every_kind_are_taken() -> None:
    from decimal import Decimal
    from fractions import Fraction

    numbers = (
        1,
        0.5,
        True,
        np.float32(0.5),
        np.int8(3),
        np.array(2.0),
        np.array(2, dtype=object),
        sympy.pi,
    )
    numbers += (sympy.Rational(1, 3), Decimal("0.1"), Fraction(1, 7), xarray.DataArray(1.0))
    for number in numbers:
        assert real_number(number) == float(number)
    assert real_array([1, sympy.Rational(1, 2), np.float32(0.25)]).tolist() == [1.0, 0.5, 0.25]
    assert np.isnan(real_array([1, None])[1]) and np.isnan(real_number([1.0]))
    for wrong in (["1"], [1, "2"], [b"1"], [1j], np.array([1 + 0j]), [np.datetime64("2020-01-01")]):
        with pytest.raises((TypeError, ValueError)):
            real_array(wrong)
