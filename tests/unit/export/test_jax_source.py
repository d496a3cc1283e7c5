"""The JAX source of every built-in system gives the rates that our native code gives.

JAX itself is not needed: the text runs with `jax.numpy` played by NumPy, whose functions have the
same names.
"""

from __future__ import annotations

import ast
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dalembert as da
from dalembert.export.jax_source import jax_source


@pytest.fixture(autouse=True)
def numpy_as_jax(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    stand_in: Any = types.ModuleType("jax")
    stand_in.numpy = np
    stand_in.lax = types.SimpleNamespace(cond=lambda test, yes, no: yes() if test else no())
    monkeypatch.setitem(sys.modules, "jax", stand_in)
    monkeypatch.setitem(sys.modules, "jax.numpy", np)
    with np.errstate(all="ignore"):
        yield


def module(kernel: Any) -> dict[str, Callable[..., Any]]:
    names: dict[str, Any] = {}
    exec(compile(jax_source(kernel), "rates.py", "exec"), names)
    return names


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name == "snakeboard-gait"))
        for name in da.gallery.names()
    ],
)
def test_rates_agree_along_the_motion(name: str) -> None:
    motion = da.simulate(da.gallery.load(name))
    kernel, values = motion.equations.compile(), list(motion.parameters.values())
    names = module(kernel)
    assert names["STATE"] == [symbol.name for symbol in motion.equations.state]
    assert names["PARAMETERS"] == list(motion.parameters)
    for k in sorted({int(k) for k in np.linspace(0, 0.9 * (len(motion.t) - 1), 5)}):
        state = np.array([motion[symbol.name][k] for symbol in motion.equations.state])
        expected = kernel.rates(motion.t[k], state, values)
        scale = 1 + np.max(np.abs(expected))
        found = names["rates"](motion.t[k], state, values)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * scale)
        by_solve = names["_solve"](motion.t[k], state, values, ())
        np.testing.assert_allclose(by_solve, expected, rtol=0, atol=1e-12 * scale)


def test_contradictory_and_undetermined_rates_are_not_numbers() -> None:
    x, y = da.coordinates("x y")
    kinetic = (x.dot**2 + y.dot**2) / 2
    rows = [da.velocity(x.dot - y.dot), da.velocity(x.dot - y.dot - da.t)]
    contradictory = da.System(coordinates=[x, y], kinetic=kinetic, constraints=rows)
    massless = da.System(coordinates=[x, y], kinetic=x.dot**2 / 2, potential=y**2 / 2)
    for system in (contradictory, massless):
        rates = module(da.derive(system).compile())["rates"]
        assert np.all(np.isnan(rates(0.0, [0.0, 1.0, 1.0, 1.0], [])))


def test_unknowns_that_constraints_leave_undetermined_are_not_numbers() -> None:
    """y has no inertia, no force and no constraint: every rate would do. With inertia all rates are
    determined.
    """
    x, y, z = da.coordinates("x y z")
    rows = [da.velocity(x.dot - z.dot)]
    for inertia, expected in ((0, np.isnan), (1, np.isfinite)):
        kinetic = (x.dot**2 + inertia * y.dot**2 + z.dot**2) / 2
        names = module(
            da.derive(da.System([x, y, z], kinetic=kinetic, constraints=rows), "lagrange").compile()
        )
        for rates in (names["rates"], names["_solve"]):
            assert np.all(expected(rates(0.0, np.array([0.0, 0.0, 0.0, 1.0, 0.0, 1.0]), [], ())))


def test_free_inputs_are_an_argument() -> None:
    x = da.coordinates("x")
    u = da.inputs("u")
    system = da.System(coordinates=[x], kinetic=x.dot**2 / 2, forces={x: u * x}, inputs=[u])
    names = module(da.derive(system).compile())
    np.testing.assert_allclose(names["rates"](0.0, [2.0, 3.0], [], [5.0]), [3.0, 10.0])
    assert names["INPUTS"] == ["u"]


def test_conditions_joined_by_and_or() -> None:
    import sympy

    x = da.coordinates("x")
    force = sympy.Piecewise(
        (x**2, sympy.And(x > 0, x < 1)), (3 * x, sympy.Or(x < -1, x > 2)), (7, True)
    )
    names = module(
        da.derive(da.System(coordinates=[x], kinetic=x.dot**2 / 2, forces={x: force})).compile()
    )
    found = [names["rates"](0.0, [place, 0.0], [])[1] for place in (-2.0, -1.0, 0.0, 0.5, 1.0, 3.0)]
    assert found == [-6.0, 7.0, 7.0, 0.25, 7.0, 9.0]


def test_names_cannot_break_out() -> None:
    x = da.coordinates("x")
    system = da.System(coordinates=[x], kinetic=x.dot**2 / 2, name='""" + 1\nimport os\n"""\\')
    tree = ast.parse(jax_source(da.derive(system).compile()))
    imported = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    assert imported == ["jax", "jax.numpy"]
