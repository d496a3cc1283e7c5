"""Taylor coefficients of native code against repeated differentiation of the right-hand side."""

from __future__ import annotations

import ctypes
from typing import Any

import casadi as ca
import numpy as np
import pytest

from dalembert.codegen.program import straight_line
from dalembert.codegen.taylor.expansion import Expansion, expansion
from dalembert.errors import FormError

ORDER = 12
#: Right-hand sides f(x, y, t, p) with the functions of a package.
RIGHT_SIDES = {
    "product": lambda m, x, y, t, p: (x * y, -x * x + t),
    "quotient": lambda m, x, y, t, p: (x / (1 + y * y), 1 / (2 + x)),
    "sine": lambda m, x, y, t, p: (m.sin(x * y), m.cos(x) * y),
    "tangent": lambda m, x, y, t, p: (m.tan(x / 3), m.tanh(y)),
    "exponential": lambda m, x, y, t, p: (m.exp(-x), m.log(2 + y)),
    "root": lambda m, x, y, t, p: (m.sqrt(1 + x * x), y**1.5),
    "hyperbolic": lambda m, x, y, t, p: (m.sinh(x) - m.cosh(y), y),
    "inverse": lambda m, x, y, t, p: (m.atan(x), m.asin(y / 3) - m.acos(x / 3)),
    "exponent that moves": lambda m, x, y, t, p: (x**y, (1 + x) ** (p * t)),
    "hypotenuse": lambda m, x, y, t, p: (m.hypot(x, y), m.hypot(x, p) / y),
    "time": lambda m, x, y, t, p: (m.sin(p * t) * x, t * t * y),
    "parameter": lambda m, x, y, t, p: (p * x - y / p, p * p),
}


def called(found: Expansion, t: Any, y: Any, p: Any, order: int = ORDER) -> tuple[Any, Any]:
    """Health (lanes,) and coefficients (order + 1, n, lanes), at t (1, lanes), y (n, lanes), p (k,
    lanes).
    """
    lanes, n = found.lanes, len(y)
    arrays = [np.array(block, dtype=float, order="C").reshape(-1, lanes) for block in (t, y, p)]
    work, out = np.zeros(found.work_size), np.zeros(found.out_size)
    work[0] = order
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 6)(found.address)
    function(*(a.ctypes.data for a in (*arrays, np.zeros(4), work, out)))
    return out[:lanes], out[lanes : lanes * (1 + (order + 1) * n)].reshape(order + 1, n, lanes)


def program_of(name: str) -> Any:
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p")
    right = RIGHT_SIDES[name](ca, y[0], y[1], t, p)
    return straight_line(
        "fast", [t, y, p, ca.SX(0, 1), ca.SX(0, 1)], [ca.vertcat(*right), ca.SX(1)]
    )


def by_derivatives(name: str, t0: float, y0: Any, p0: float, order: int) -> Any:
    """The coefficients (order + 1, 2) by differentiating the right-hand side along itself."""
    t, y, p = ca.SX.sym("t"), ca.SX.sym("y", 2), ca.SX.sym("p")
    rate = ca.vertcat(*RIGHT_SIDES[name](ca, y[0], y[1], t, p))
    derivatives, factorial = [y], 1.0
    here = rate
    for k in range(1, order + 1):
        factorial *= k
        derivatives.append(here / factorial)
        here = ca.jtimes(here, y, rate) + ca.jacobian(here, t)
    return np.array(ca.Function("f", [t, y, p], [ca.horzcat(*derivatives)])(t0, y0, p0)).T


@pytest.mark.parametrize("name", RIGHT_SIDES)
def test_coefficients(name: str) -> None:
    t0, y0, p = 0.4, [0.7, 0.3], 1.3
    _, found = called(expansion(program_of(name), 2), [t0], y0, [p])
    np.testing.assert_allclose(
        found[:8, :, 0], by_derivatives(name, t0, y0, p, 7), rtol=1e-10, atol=1e-13
    )


@pytest.mark.parametrize("name", RIGHT_SIDES)
def test_lanes_know_nothing_of_each_other(name: str) -> None:
    program = program_of(name)
    four = expansion(program, 2, 4)
    random = np.random.default_rng(5)
    y, p, t = (
        random.uniform(0.2, 0.9, (2, 4)),
        random.uniform(0.8, 1.5, (1, 4)),
        random.uniform(0, 1, (1, 4)),
    )
    _, together = called(four, t, y, p)
    for lane in range(4):
        _, alone = called(expansion(program, 2), t[0, lane], y[:, lane], p[:, lane])
        scale = np.max(np.abs(alone), axis=(1, 2), keepdims=True)[:, :, 0]
        np.testing.assert_allclose(together[:, :, lane] / scale, alone[:, :, 0] / scale, atol=1e-13)
    shuffled = [3, 0, 2, 1]
    _, again = called(four, t[:, shuffled], y[:, shuffled], p[:, shuffled])
    np.testing.assert_array_equal(again, together[:, :, shuffled])


def test_the_order_may_be_any() -> None:
    found = expansion(program_of("sine"), 2)
    _, low = called(found, [0.0], [0.7, 0.3], [1.0], order=5)
    _, high = called(found, [0.0], [0.7, 0.3], [1.0], order=20)
    np.testing.assert_array_equal(low, high[:6])


@pytest.mark.parametrize("name", ["fabs", "sign", "floor", "fmin", "if_else"])
def test_what_is_not_analytic_is_refused(name: str) -> None:
    """A magnitude, a sign, a least value and cases have no coefficients across their edges."""
    y = ca.SX.sym("y")
    node = {"fmin": lambda: ca.fmin(y, 1), "if_else": lambda: ca.if_else(y > 0, y, -2 * y)}.get(
        name, lambda: getattr(ca, name)(y)
    )()
    program = straight_line(
        "fast", [ca.SX.sym("t"), y, ca.SX(0, 1), ca.SX(0, 1), ca.SX(0, 1)], [node, ca.SX(1)]
    )
    with pytest.raises(FormError, match="analytic"):
        expansion(program, 1)


@pytest.mark.parametrize("p0", [-0.7, 0.0, 0.7, 1.9])
def test_of_parameters_alone_they_are_constants(p0: float) -> None:
    y, p = ca.SX.sym("y"), ca.SX.sym("p")
    for node in (
        ca.sign(p),
        ca.fabs(p),
        ca.floor(p),
        ca.fmin(p, 1),
        ca.fmax(p, 1),
        ca.if_else(p > 0, p, -2 * p),
    ):
        program = straight_line(
            "fast", [ca.SX.sym("t"), y, p, ca.SX(0, 1), ca.SX(0, 1)], [node * y, ca.SX(1)]
        )
        _, found = called(expansion(program, 1), [0.0], [1.5], [p0], order=3)
        factor = float(ca.Function("f", [p], [node])(p0))
        np.testing.assert_allclose(
            found[:4, 0, 0], 1.5 * factor ** np.arange(4) / [1, 1, 2, 6], rtol=1e-15, atol=0
        )


def test_a_function_without_a_rule_is_refused() -> None:
    y = ca.SX.sym("y")
    program = straight_line(
        "fast", [ca.SX.sym("t"), y, ca.SX(0, 1), ca.SX(0, 1), ca.SX(0, 1)], [ca.asinh(y), ca.SX(1)]
    )
    with pytest.raises(FormError, match="no rule for the function asinh"):
        expansion(program, 1)
