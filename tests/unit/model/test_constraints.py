"""Constraints as users write them."""

from __future__ import annotations

import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

x, y = da.coordinates("x y")
u, w = da.speeds("u w")


@pytest.mark.parametrize("make", [da.holonomic, da.velocity, da.momentum])
def test_equations_and_expressions_say_the_same(make):
    assert make(sympy.Eq(x, y)).expression == x - y == make(x - y).expression
    assert make(x, name="a").name == "a"
    assert make(x).is_ideal and not make(x, work={x: 1}).is_ideal
    assert make(x).named("b").name == "b" and type(make(x).named("b")) is type(make(x))


@pytest.mark.parametrize("make", [da.holonomic, da.velocity, da.momentum])
def test_inequalities_belong_to_unilateral(make):
    with pytest.raises(ModelError, match="unilateral"):
        make(x <= 1)


@pytest.mark.parametrize(
    ("condition", "expression"),
    [(x <= 1, x - 1), (x < y, x - y), (x >= 1, 1 - x), (x > y, y - x), (x - 1, x - 1)],
)
def test_one_sided(condition, expression):
    assert da.unilateral(condition).expression == expression


@pytest.mark.parametrize("restitution", [-0.1, 1.1, sympy.Integer(2)])
def test_restitution_has_bounds(restitution):
    with pytest.raises(ModelError, match="between 0 and 1"):
        da.unilateral(x <= 0, restitution=restitution)


def test_restitution_may_be_a_parameter():
    e = da.parameters("e")
    assert da.unilateral(x <= 0, restitution=e).restitution == e
    assert da.unilateral(x <= 0, restitution=0.5).restitution == 0.5


def test_images_by_table_and_by_matrix_agree():
    by_table = da.image({x: u, y: x * u + w}, [u, w])
    by_matrix = da.image(sympy.Matrix([[1, 0], [x, 1]]), [u, w], coordinates=[x, y])
    assert by_table.velocities == by_matrix.velocities
    assert by_table.speeds == by_matrix.speeds == (u, w)
    assert [s.name for s in da.image(sympy.eye(2), coordinates=[x, y]).speeds] == ["u1", "u2"]


def test_images_need_speeds_and_shapes():
    with pytest.raises(ModelError, match="needs its speeds"):
        da.image({x: u})
    with pytest.raises(ModelError, match="a row for each coordinate"):
        da.image(sympy.eye(3), coordinates=[x, y])
    with pytest.raises(ModelError, match="a column for each speed"):
        da.image(sympy.eye(2), [u], coordinates=[x, y])
