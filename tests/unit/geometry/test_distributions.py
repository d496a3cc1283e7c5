"""Brackets, kernels, growth vectors and Frobenius, against identities and textbook
distributions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy
from sympy import cos, exp, sin

from dalembert.algebra.graph import GraphAlgebra
from dalembert.algebra.tree import TreeAlgebra
from dalembert.geometry import distributions as d
from dalembert.runtime.gauss.constrained_solve import rank

x, y, z, w, u, t, theta, phi, psi = sympy.symbols("x y z w u t theta phi psi", real=True)
POINTS = 6


def graph_chart(symbols: Sequence[sympy.Symbol], seed: int = 1) -> d.SampledChart:
    """A chart on CasADi's graph with random points."""
    algebra = GraphAlgebra()
    column = algebra.vector(symbols)
    points = np.random.default_rng(seed).uniform(0.2, 1.4, (POINTS, len(symbols)))

    def values(block: Any) -> Any:
        function = ca.Function("block", [column], [ca.densify(block)])
        return np.array([np.asarray(function(point), dtype=float) for point in points])

    return d.SampledChart(algebra, column, values, rank)


def tree_chart(symbols: Sequence[sympy.Symbol], seed: int = 1) -> d.SampledChart:
    """The same chart on SymPy's trees."""
    algebra = TreeAlgebra()
    points = np.random.default_rng(seed).uniform(0.2, 1.4, (POINTS, len(symbols)))

    def values(block: Any) -> Any:
        tables = [block.subs(dict(zip(symbols, point, strict=True))).evalf() for point in points]
        return np.array(
            [
                [[float(table[i, j]) for j in range(table.cols)] for i in range(table.rows)]
                for table in tables
            ]
        )

    return d.SampledChart(algebra, algebra.vector(symbols), values, rank)


def rows_of(chart: d.SampledChart, forms: Sequence[Sequence[Any]]) -> Any:
    vector = chart.algebra.vector
    return chart.algebra.stack([vector([sympy.S(c) for c in form]).T for form in forms])


def growth(symbols: Sequence[sympy.Symbol], forms: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    chart = graph_chart(symbols)
    return d.lie_closure(chart, d.kernel_fields(chart, rows_of(chart, forms))).growth


def integrable(symbols: Sequence[sympy.Symbol], forms: Sequence[Sequence[Any]]) -> list[bool]:
    chart = graph_chart(symbols)
    rows = rows_of(chart, forms)
    closure = d.lie_closure(chart, d.kernel_fields(chart, rows))
    return [bool(r < d.TOLERANCE) for r in d.integrability_residuals(chart, rows, closure)]


KNIFE = ([x, y, theta], [[sin(theta), -cos(theta), 0]])
DISK = ([theta, psi, phi, x, y], [[0, cos(phi), 0, 1, 0], [0, sin(phi), 0, 0, 1]])
MARTINET = ([x, y, z], [[-(y**2), 0, 1]])
ENGEL = ([x, y, z, w], [[-z, 1, 0, 0], [-w, 0, 1, 0]])
CHAINED = ([x, y, z, w, u], [[-z, 1, 0, 0, 0], [-w, 0, 1, 0, 0], [-u, 0, 0, 1, 0]])


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (KNIFE, (2, 3)),
        (DISK, (3, 4, 5)),
        (MARTINET, (2, 3)),
        (ENGEL, (2, 3, 4)),
        (CHAINED, (2, 3, 4, 5)),
        (([x, y, z, w, u], [[-y, 0, -w, 0, 1]]), (4, 5)),  # contact in five dimensions
        (([x, y], [[cos(x + 5 * y), -sin(x + 5 * y)]]), (1,)),  # one form in two coordinates
        (([x, y, z], [[x, y, z]]), (2,)),
        (([x, y, t], [[1, -t, 0]]), (2, 3)),  # a row that turns with time
        (([x, y, t], [[1, 0, -sin(t)]]), (2,)),
    ],
)
def test_growth_of_textbook_distributions(system: Any, expected: tuple[int, ...]) -> None:
    assert growth(*system) == expected


@pytest.mark.parametrize("count", [1, 2, 3])
def test_contact_forms_of_every_dimension(count: int) -> None:
    bases, derivatives = sympy.symbols(f"a1:{count + 1}"), sympy.symbols(f"b1:{count + 1}")
    form = [*(-b for b in derivatives), *([0] * count), 1]
    assert growth([*bases, *derivatives, z], [form]) == (2 * count, 2 * count + 1)


def test_brackets_are_antisymmetric_and_obey_jacobi() -> None:
    chart = graph_chart([x, y, z])
    fields = [
        chart.algebra.vector([sin(y * z), x**2, y]),
        chart.algebra.vector([z, exp(x) * y, x * y]),
        chart.algebra.vector([x * z, cos(x), z**2 + y]),
    ]
    a, b, c = fields
    swapped = chart.values(d.bracket(chart, a, b) + d.bracket(chart, b, a))
    assert np.abs(swapped).max() < 1e-13
    cyclic = [(a, b, c), (b, c, a), (c, a, b)]
    jacobi = sum(chart.values(d.bracket(chart, p, d.bracket(chart, q, r))) for p, q, r in cyclic)
    assert np.abs(jacobi).max() < 1e-11


def test_the_sign_of_the_bracket() -> None:
    chart = graph_chart([x, y])
    one, shear = (
        chart.algebra.vector([sympy.S(1), sympy.S(0)]),
        chart.algebra.vector([sympy.S(0), x]),
    )
    assert np.allclose(chart.values(d.bracket(chart, one, shear))[:, :, 0], [0.0, 1.0])


def test_kernel_fields_are_annihilated_and_independent() -> None:
    symbols = [x, y, z, w, u]
    chart = graph_chart(symbols)
    rows = rows_of(
        chart,
        [
            [sin(y), x, 1 + z**2, w * u, 0],
            [1, y, z, w, u],
            [1 + sin(y), x + y, 1 + z + z**2, w * u + w, u],
        ],
    )
    fields = d.kernel_fields(chart, rows)
    assert fields.shape == (5, 3)  # the third row is the sum of the others
    assert np.abs(chart.values(rows @ fields)).max() < 1e-12
    assert chart.algebra.rank(fields).value == 3


def test_a_frame_restricts_the_kernel() -> None:
    chart = graph_chart([x, y, z])
    frame = chart.algebra.columns(
        [chart.algebra.vector([sympy.S(1), y, sympy.S(0)]), chart.algebra.vector([z, x, x])]
    )
    fields = d.kernel_fields(chart, rows_of(chart, [[y, -1, z]]), frame)
    assert fields.shape == (3, 1)
    stacked = [
        np.hstack(pair) for pair in zip(chart.values(frame), chart.values(fields), strict=True)
    ]
    assert all(rank(matrix).rank == 2 for matrix in stacked)


def test_dependent_columns_are_left_out() -> None:
    chart = graph_chart([x, y])
    a, b = chart.algebra.vector([x, y]), chart.algebra.vector([y, x])
    assert d.independent_columns(chart, chart.algebra.columns([a, b, a + b])).shape == (2, 2)


@pytest.mark.parametrize("factor", [1, exp(x * z), 1 / (2 + sin(y))])
def test_exact_forms_stay_integrable_under_any_factor(factor: Any) -> None:
    potential = x * y**2 + sin(z) * x
    form = [factor * sympy.diff(potential, symbol) for symbol in (x, y, z)]
    assert integrable([x, y, z], [form]) == [True]
    chart = graph_chart([x, y, z])
    assert d.frobenius_residual(chart, rows_of(chart, [form])) < 1e-12


def test_a_row_may_be_integrable_only_because_of_another() -> None:
    contact = [-y, 0, 1]
    assert integrable([x, y, z], [contact]) == [False]
    assert integrable([x, y, z], [contact, [1, 0, 0]]) == [True, True]


def test_a_row_that_survives_first_brackets_may_still_fall() -> None:
    """dy - z dx of Engel's distribution: its differential vanishes on the kernel, and yet it has no
    integral.
    """
    symbols, forms = ENGEL
    chart = graph_chart(symbols)
    fields = d.kernel_fields(chart, rows_of(chart, forms))
    first = d.lie_closure(chart, fields)
    assert first.growth == (2, 3, 4)
    assert (
        np.abs(
            chart.values(rows_of(chart, forms[:1]) @ d.bracket(chart, fields[:, 0], fields[:, 1]))
        ).max()
        < 1e-13
    )
    assert integrable(symbols, forms) == [False, False]


def test_one_integral_among_two_rows() -> None:
    """A sphere, and a contact form beside it: the first row is a differential, the second is
    not.
    """
    symbols = [x, y, z, w]
    assert integrable(symbols, [[x, y, z, 0], [0, -z, 0, 1]]) == [True, False]


def test_frobenius_residual_sees_the_turn_of_the_knife_edge() -> None:
    chart = graph_chart(KNIFE[0])
    # d omega = cos(theta) d theta ^ dx + sin(theta) d theta ^ dy is one on the blade's direction
    # and the turn.
    assert d.frobenius_residual(chart, rows_of(chart, KNIFE[1])) == pytest.approx(1.0)


@pytest.mark.parametrize("system", [KNIFE, MARTINET, ENGEL])
def test_both_algebras_agree(system: Any) -> None:
    chart = tree_chart(system[0])
    fields = d.kernel_fields(chart, rows_of(chart, system[1]))
    assert d.lie_closure(chart, fields).growth == growth(*system)


def test_involutive_or_not() -> None:
    chart = graph_chart([x, y, z])
    flat = chart.algebra.columns(
        [
            chart.algebra.vector([sympy.S(1), sympy.S(0), y]),
            chart.algebra.vector([sympy.S(0), sympy.S(1), x]),
        ]
    )
    bent = chart.algebra.columns(
        [
            chart.algebra.vector([sympy.S(1), sympy.S(0), y]),
            chart.algebra.vector([sympy.S(0), sympy.S(1), -x]),
        ]
    )
    assert d.is_involutive(chart, flat)
    assert not d.is_involutive(chart, bent)


def test_a_closure_that_is_too_large_says_so() -> None:
    chart = graph_chart(CHAINED[0])
    timid = d.SampledChart(
        chart.algebra, chart.symbols, chart.values, chart.rank, lambda block: False
    )
    closure = d.lie_closure(timid, d.kernel_fields(timid, rows_of(timid, CHAINED[1])))
    assert not closure.complete
    assert closure.growth == (2,)
