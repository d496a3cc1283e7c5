"""Shorter graphs: equal values, zeros that show, no lost digits."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import dalembert as da
from dalembert.codegen.passes.trigonometric_graph import shortened
from dalembert.runtime.kernel import Kernel


def test_turning_a_tensor_leaves_no_angle() -> None:
    angle, v, w = ca.SX.sym("a"), ca.SX.sym("v"), ca.SX.sym("w")
    turn = ca.vertcat(
        ca.horzcat(ca.cos(angle), -ca.sin(angle)), ca.horzcat(ca.sin(angle), ca.cos(angle))
    )
    (found,) = shortened(
        [ca.vertcat(angle, v, w)], [ca.SX(turn.T @ ca.diag(ca.vertcat(3, 3)) @ turn)]
    )
    assert found.nnz() == 2
    assert not ca.depends_on(found, angle)


def test_a_square_of_a_difference_stays_one() -> None:
    x = ca.SX.sym("x", 2)
    (found,) = shortened([x], [(x[0] - x[1]) ** 2 + 0 * x[0]])
    value = float(ca.Function("f", [x], [found])([1.0, 1.0 + 1e-12]))
    assert value == pytest.approx((1.0 - (1.0 + 1e-12)) ** 2, rel=1e-10)


def test_cosines_near_a_right_angle_keep_their_digits() -> None:
    x = ca.SX.sym("x")
    (found,) = shortened([x], [ca.cos(x) ** 2 * x + 2 * x * ca.cos(x) ** 2])
    place = np.pi / 2 - 1e-9
    assert float(ca.Function("f", [x], [found])(place)) == pytest.approx(
        3 * place * np.cos(place) ** 2, rel=1e-12
    )


@pytest.mark.parametrize("name", da.gallery.names("mechanical"))
def test_blocks_are_what_they_were(name: str) -> None:
    system = da.gallery.load(name).system
    equations = da.derive(system)
    kernel = Kernel(equations)
    short, plain = kernel.graph, equations.blocks(kernel.algebra)
    inputs = kernel._inputs(ca.vertcat(short.unknowns, short.multipliers))
    names = ("metric", "force", "rows", "right", "rates")
    functions = [
        ca.Function("f", inputs, [ca.densify(getattr(graph, key)) for key in names])
        for graph in (short, plain)
    ]
    random = np.random.default_rng(4)
    for _ in range(3):
        values = [random.uniform(0.2, 1.2, block.numel()) for block in inputs]
        for found, expected in zip(*(function(*values) for function in functions), strict=True):
            scale = 1.0 + np.max(np.abs(np.array(expected)), initial=0.0)
            np.testing.assert_allclose(
                np.array(found), np.array(expected), rtol=0, atol=1e-13 * scale
            )


def test_the_rolling_disk_in_independent_velocities_forgets_its_heading() -> None:
    system = da.gallery.load("rolling-disk").system
    kernel = Kernel(da.derive(system, "maggi"))
    heading = kernel.algebra.vector([system.coordinates[1]])
    assert not ca.depends_on(kernel.graph.metric, heading)
    assert kernel.graph.metric.nnz() == 5


def test_products_of_sums_with_numbers_are_multiplied_out() -> None:
    """(2 s + 3 c)(5 s + 7 c) - 29 s c = 10 s^2 + 21 c^2, of which 10 leaves its angle."""
    x = ca.SX.sym("x")
    s, c = ca.sin(x), ca.cos(x)
    product = (2 * s + 3 * c) * (5 * s + 7 * c)
    (found,) = shortened([x], [product - 29 * s * c - 11 * c**2])
    assert not ca.depends_on(found, x) and float(found) == pytest.approx(10.0, rel=1e-14)
