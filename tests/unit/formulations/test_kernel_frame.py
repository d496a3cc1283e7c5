"""Frames of the kernels of rows that turn with the shape."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
import sympy

from dalembert.algebra.graph import GraphAlgebra
from dalembert.formulations.reduction.kernel_frame import kernel_frame

r = sympy.Symbol("r", real=True)


def rows_of(seed: int, count: int, k: int) -> sympy.Matrix:
    random = np.random.default_rng(seed)

    def entry() -> sympy.Expr:
        constant, factor, phase = (
            sympy.Rational(str(round(x, 2))) for x in random.uniform(-1, 1, 3)
        )
        return constant / 4 + factor * sympy.sin(r + phase)

    return sympy.Matrix(count, k, lambda *_: entry())


def at(matrix: sympy.Matrix, shape: float) -> np.ndarray:
    algebra = GraphAlgebra()
    table = algebra.columns([algebra.vector(matrix.col(j)) for j in range(matrix.cols)])
    return np.asarray(
        ca.Function("at", list(algebra.symbols.values()), [ca.densify(table)])(shape), dtype=float
    )


@pytest.mark.long
@pytest.mark.parametrize(("count", "k"), [(1, 3), (1, 4)])
def test_a_frame_stays_regular_where_minors_of_the_rows_vanish(count: int, k: int) -> None:
    rows = rows_of(10 * count + k, count, k)
    frame = kernel_frame(rows, at(rows, 0.7), [r], [sympy.Integer(1)] * k)
    minors = []
    for shape in np.linspace(-np.pi, np.pi, 25):
        columns, here = at(frame, shape), at(rows, shape)
        columns = columns / np.linalg.norm(columns, axis=0)
        assert np.abs(here @ columns).max() < 1e-12
        assert np.linalg.svd(columns, compute_uv=False)[-1] > 1e-2
        minors.append(np.linalg.det(here[:, :count]))
    assert min(minors) < 0 < max(minors)
