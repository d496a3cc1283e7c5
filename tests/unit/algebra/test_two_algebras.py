"""One derivation, two algebras: the blocks of every gallery system agree to rounding at random
states.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import casadi as ca
import numpy as np
import pytest
import sympy

import dalembert as da
from core_systems import BASIC_FORMS, equations_of, every_form, parameter_numbers, random_system
from dalembert.algebra.graph import GraphAlgebra
from dalembert.algebra.tree import TreeAlgebra
from dalembert.formulations.blocks import GaussBlocks, Projection

#: Trees of these swell beyond use: the inverse of a full mass matrix written out. Independent
#: implementation forms test them elsewhere.
SWOLLEN = {
    ("rolling-disk", "hamilton"),
    ("three-planar-bodies", "hamilton"),
    ("planar-chain", "hamilton"),
    ("unicycle-rider", "hamilton"),
}
#: With these every form is compared in a quick run; the other systems only in the basic forms.
QUICK = ("nonholonomic-particle", "spherical-pendulum", "snakeboard")
#: A pair of these whose trees take seconds.
HEAVY = ("driven-double-pendulum", "implicit-lagrangian")
#: Forms that invert a matrix of the model: their trees swell on all but the smallest systems.
INVERTING = (
    "hamel-orthonormal",
    "canonical-voronets",
    "canonical-quasi",
    "bates-sniatycki",
    "implicit-hamiltonian",
    "pontryagin",
)
SMALLEST = ("constrained-particle",)
PAIRS = [
    pytest.param(
        name,
        form,
        marks=[]
        if (form in BASIC_FORMS or name in (*QUICK, *SMALLEST)) and (name, form) != HEAVY
        else [pytest.mark.long],
    )
    for name, form in every_form()
    if (name, form) not in SWOLLEN and (form not in INVERTING or name in SMALLEST)
]


def named_blocks(blocks: GaussBlocks) -> dict[str, Any]:
    """Every block that holds expressions, by a flat name."""
    found: dict[str, Any] = {}
    for name in ["metric", *(field.name for field in fields(blocks)[1:])]:
        value = getattr(blocks, name)
        if value is None or name in ("unknowns", "multipliers"):
            continue
        if isinstance(value, Projection):
            found |= {
                f"{name}.{part}": getattr(value, part) for part in ("residual", "rows", "lift")
            }
        elif isinstance(value, tuple):
            found |= {f"{name}.{place}": item for place, item in enumerate(value)}
        elif hasattr(value, "items"):
            found |= {f"{name}.{key}": item for key, item in value.items()}
        else:
            found[name] = value
    return found


def symbols_of(equations: da.Equations, blocks: GaussBlocks) -> list[sympy.Symbol]:
    system = equations.system
    free = [symbol for symbol, value in system.inputs.items() if value is None]
    velocities = [v for v in system.velocities if v not in equations.state]
    return [
        da.t,
        *equations.state,
        *velocities,
        *system.parameters,
        *free,
        *blocks.unknowns,
        *blocks.multipliers,
    ]


def tree_values(
    blocks: dict[str, Any], symbols: list[Any], points: list[Any]
) -> list[dict[str, Any]]:
    matrices = {
        key: sympy.Matrix([item]) if isinstance(item, sympy.Expr) else item
        for key, item in blocks.items()
    }
    flat = [entry for matrix in matrices.values() for entry in matrix]
    function = sympy.lambdify(symbols, flat, modules="numpy", cse=True)
    found = []
    for point in points:
        numbers, start, table = np.array(function(*point), dtype=float), 0, {}
        for key, matrix in matrices.items():
            table[key] = numbers[start : start + len(matrix)].reshape(matrix.shape)
            start += len(matrix)
        found.append(table)
    return found


def graph_values(
    algebra: GraphAlgebra, blocks: dict[str, Any], symbols: list[Any], point: Any
) -> dict[str, Any]:
    function = ca.Function("blocks", [algebra.vector(symbols)], list(blocks.values()))
    return dict(
        zip(blocks, (np.asarray(item, dtype=float) for item in function.call([point])), strict=True)
    )


@pytest.mark.parametrize(("name", "form"), PAIRS)
def test_the_algebras_agree_on_every_block(name: str, form: str) -> None:
    equations, random = equations_of(name, form), np.random.default_rng(5)
    symbolic, algebra = equations.symbolic, GraphAlgebra()
    symbols = symbols_of(equations, symbolic)
    tree, graph = named_blocks(symbolic), named_blocks(equations.blocks(algebra))
    assert tree.keys() == graph.keys()
    numbers = parameter_numbers(name, equations.system)
    points = [[numbers.get(s.name, value) for s, value in zip(symbols, row, strict=True)]
              for row in random.uniform(0.3, 1.1, (2, len(symbols)))]  # fmt: skip
    for point, expected in zip(points, tree_values(tree, symbols, points), strict=True):
        found = graph_values(algebra, graph, symbols, point)
        for key, values in expected.items():
            size = 1.0 + np.max(np.abs(values), initial=0.0)
            assert found[key].shape == values.shape, key
            assert np.max(np.abs(found[key] - values), initial=0.0) < 2e-12 * size, key


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_the_algebras_agree_on_random_systems(seed: int) -> None:
    system = random_system(seed, n=2, kinds="ran"[: 1 + seed % 3])
    for form in ("lagrange", "hamilton", "vakonomic"):
        equations, algebra = da.derive(system, form), GraphAlgebra()
        symbolic = equations.symbolic
        symbols = symbols_of(equations, symbolic)
        point = np.random.default_rng(seed).uniform(-0.9, 0.9, len(symbols))
        tree, graph = named_blocks(symbolic), named_blocks(equations.blocks(algebra))
        (expected,) = tree_values(tree, symbols, [point])
        found = graph_values(algebra, graph, symbols, point)
        for key, values in expected.items():
            assert np.allclose(found[key], values, rtol=1e-12, atol=1e-12), (form, key)


def test_derivatives_are_those_of_finite_differences() -> None:
    """An independent implementation that shares nothing with either algebra."""
    x, y = da.coordinates("x y")
    expression = sympy.exp(x * y) * sympy.sin(x) / (1 + y**2) + sympy.sqrt(1 + x**2)
    algebra = GraphAlgebra()
    symbols = algebra.vector([x, y])
    second, first = algebra.hessian(algebra.scalar(expression), symbols)
    function = ca.Function("f", [symbols], [algebra.scalar(expression), first, second])
    point, step = np.array([0.4, -0.7]), 1e-5
    value, derivative, curvature = (np.asarray(item) for item in function(point))
    for k in range(2):
        move = step * np.eye(2)[k]
        ahead, behind = function(point + move), function(point - move)
        assert abs((float(ahead[0]) - float(behind[0])) / (2 * step) - derivative[k, 0]) < 1e-9
        assert np.allclose(
            (np.asarray(ahead[1]) - np.asarray(behind[1]))[:, 0] / (2 * step),
            curvature[k],
            atol=1e-9,
        )
    assert np.isfinite(value).all()


def test_small_algebra_of_both() -> None:
    """Each function of the protocol, on shapes that are easy to get wrong: nothing, one, a row."""
    x, y = da.coordinates("x y")
    for algebra in (GraphAlgebra(), TreeAlgebra()):
        symbols, empty = algebra.vector([x, y]), algebra.vector([])
        assert tuple(empty.shape) == (0, 1)
        assert tuple(algebra.zeros(2, 3).shape) == (2, 3)
        assert tuple(algebra.jacobian(empty, symbols).shape) == (0, 2)
        assert tuple(algebra.along(empty, symbols, symbols).shape) == (0, 1)
        assert tuple(algebra.stack([symbols, symbols]).shape) == (4, 1)
        assert tuple(algebra.columns([symbols, symbols, symbols]).shape) == (2, 3)
        product = algebra.vector([x * y])
        assert algebra.depends(product, symbols) and not algebra.depends(
            algebra.vector([da.t]), symbols
        )
        changed = algebra.substitute(product, symbols, algebra.vector([y, y]))
        assert not algebra.depends(changed, algebra.vector([x]))


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_small_solve_solves(n: int) -> None:
    random = np.random.default_rng(n)
    factor = random.normal(size=(n, n))
    matrix, right = factor @ factor.T + np.eye(n), random.normal(size=(n, 2))
    graph = np.asarray(ca.evalf(GraphAlgebra().solve(ca.SX(matrix), ca.SX(right))))
    tree = np.array(TreeAlgebra().solve(sympy.Matrix(matrix), sympy.Matrix(right)), dtype=float)
    assert np.allclose(matrix @ graph, right, atol=1e-12)
    assert np.allclose(tree, graph, atol=1e-11)


def test_the_generic_rank_does_not_depend_on_units() -> None:
    x, y = da.coordinates("x y")
    algebra = GraphAlgebra()
    regular = algebra.jacobian(
        algebra.vector([1e-9 * (x + sympy.sin(y)), 1e9 * (x * y)]), algebra.vector([x, y])
    )
    dependent = algebra.jacobian(
        algebra.vector([1e-9 * (x + y), 1e9 * (x + y) ** 2]), algebra.vector([x, y])
    )
    assert algebra.rank(regular).value == 2
    assert algebra.rank(dependent).value == 1
    assert algebra.rank(algebra.zeros(2, 2)).value == 0
