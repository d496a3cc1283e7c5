"""Inputs as tables: values against SciPy's Bernstein polynomials, motions against exact ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import sympy
from scipy.interpolate import BPoly

import dalembert as da
from dalembert.errors import ModelError
from dalembert.integrate.input_table import InputTable, input_table

x = da.coordinates("x")
u = da.inputs("u")
MASS = da.System([x], kinetic=x.dot**2 / 2, forces={x: u}, inputs=[u])


def test_values_are_those_of_bernstein_polynomials() -> None:
    random = np.random.default_rng(3)
    times, rows = np.cumsum(random.uniform(0.1, 1.0, 7)), random.normal(size=(6, 4))
    at = random.uniform(times[0], times[-1], 50)
    assert np.allclose(InputTable(times, rows).at(at), BPoly(rows.T, times)(at), atol=1e-13)


@pytest.mark.parametrize("span", [(0.0, 3.0), (3.0, 0.0)], ids=["forward", "backward"])
def test_a_motion_passes_jumps_and_kinks_exactly(span: tuple[float, float]) -> None:
    """u = 1, then -2, then a ramp from 0 to 3: x is piecewise a cubic."""
    table = InputTable([0, 1, 2, 3], [[1, 1], [-2, -2], [0, 3]])
    end = {x: 0.5 + 1 - 1 - 1 + 0.5, x.dot: 1 - 2 + 1.5}
    start = {x: 0.0} if span[0] == 0 else end
    motion = da.simulate(MASS, start, span, inputs={u: table}, rtol=1e-10)
    expected = end if span[0] == 0 else {x: 0.0, x.dot: 0.0}
    assert motion["x"][-1] == pytest.approx(expected[x], abs=1e-12)
    assert motion["x_dot"][-1] == pytest.approx(expected[x.dot], abs=1e-12)


def test_breaks_are_where_something_jumps() -> None:
    smooth = InputTable([0, 1, 3], [[0, 1], [1, 3]])
    assert smooth.breaks.tolist() == []
    assert input_table([0, 1, 2, 3], [0, 1, 1, 2]).breaks.tolist() == [1, 2]
    assert input_table([0, 1, 2, 3], [5, 5, 1, 2], "hold").breaks.tolist() == [2]


@pytest.mark.parametrize(
    ("times", "rows"), [([0, 1], [[1], [2]]), ([1, 0], [[1]]), ([0, 1], [[np.nan]]), ([0], [])]
)
def test_tables_that_make_no_sense_are_refused(times: list[float], rows: list[list[float]]) -> None:
    with pytest.raises(ModelError):
        InputTable(times, rows)


def test_numbers_and_tables_do_not_build_equations_anew() -> None:
    """The same equations, and so the same kernel, serve every number and every table."""
    motions = [
        da.simulate(MASS, {}, (0, 1), inputs={u: law})
        for law in (1.0, 2, sympy.Rational(5, 2), input_table([0, 1], [0, 1]))
    ]
    assert len({id(motion.equations) for motion in motions}) == 1
    assert [round(float(motion["x"][-1]), 12) for motion in motions] == [
        0.5, 1.0, 1.25, round(1 / 6, 12),
    ]  # fmt: skip
    assert motions[1]["u"].tolist() == [2.0] * len(motions[1].t)


def test_native_code_reads_tables_as_python_does() -> None:
    random = np.random.default_rng(5)
    times, rows = np.linspace(0, 2, 8), random.normal(size=(7, 5))
    table = InputTable(times, rows)
    at = np.sort(random.uniform(0, 2, 40))
    motion = da.simulate(MASS, {}, (0, 2), inputs={u: table}, at=at)
    same = da.simulate(MASS, {}, (0, 2), inputs={u: lambda t, _: table(t)}, at=at)
    assert np.allclose(motion["u"], table.at(at), atol=1e-13)
    assert np.allclose(motion["x"], same["x"], atol=1e-9)
    exact = BPoly(rows.T, times).antiderivative(2)
    assert np.allclose(motion["x"], exact(at), atol=1e-11)


def test_a_saved_motion_with_tables_can_be_run_again(tmp_path: Path) -> None:
    motion = da.simulate(MASS, {}, (0, 2), inputs={u: input_table([0, 1, 2], [0, 3, 1])})
    motion.save(tmp_path / "motion.nc")
    assert str(da.rerun(tmp_path / "motion.nc")) == "The rerun gives the same bits."
