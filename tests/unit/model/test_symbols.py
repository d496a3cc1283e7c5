"""Symbols know the names of their derivatives and momenta, and compare by role and name."""

from __future__ import annotations

import pickle

import pytest
import sympy

import dalembert as da
from dalembert.model.symbols import Acceleration, Coordinate, Momentum, Parameter, Velocity


def test_a_coordinate_and_its_kin():
    theta = da.coordinates("theta")
    assert (theta.dot.name, theta.ddot.name, theta.momentum.name) == (
        "theta_dot",
        "theta_ddot",
        "p_theta",
    )
    assert isinstance(theta.dot, Velocity) and isinstance(theta.ddot, Acceleration)
    assert theta.dot.coordinate == theta == theta.momentum.coordinate


@pytest.mark.parametrize(
    "name", ["I", "E", "S", "N", "Q", "beta", "gamma", "lambda", "p_x", "x_dot"]
)
def test_any_name_has_kin_that_lead_back(name):
    q = Coordinate(name)
    assert q.dot.coordinate == q and q.momentum.coordinate == q
    assert all(symbol.is_real for symbol in (q, q.dot, q.ddot, q.momentum))


def test_equal_names_of_different_roles_differ():
    assert Coordinate("x") == Coordinate("x")
    assert hash(Coordinate("x")) == hash(Coordinate("x"))
    assert Coordinate("x") != Parameter("x") != sympy.Symbol("x", real=True)
    assert Velocity("p_x") != Momentum("p_x")


def test_one_symbol_or_several():
    assert da.coordinates("x").name == "x"
    assert [q.name for q in da.coordinates("q1:4")] == ["q1", "q2", "q3"]
    m, k = da.parameters("m k", positive=True)
    assert m.is_positive and k.is_positive and m.is_real
    assert da.parameters("a").is_positive is None
    assert da.inputs("u").name == "u"
    assert len(da.speeds("u1 u2")) == 2


def test_symbols_survive_calculus_and_pickling():
    x = da.coordinates("x")
    expression = sympy.sin(x) * x.dot**2
    assert sympy.diff(expression, x) == sympy.cos(x) * x.dot**2
    assert sympy.diff(expression, x.dot) == 2 * sympy.sin(x) * x.dot
    again = pickle.loads(pickle.dumps(expression))
    assert again == expression
    assert {type(symbol) for symbol in again.free_symbols} == {Coordinate, Velocity}
    assert sympy.sqrt(x**2) == sympy.Abs(x)
    assert da.t.is_real and da.t.name == "t"
