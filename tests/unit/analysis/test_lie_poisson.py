"""Q = G: the reduced equations are those of Euler and Poincare, and the Hamiltonian field of the
Lie-Poisson bracket.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError

GROUPS = {
    "SO(3)": (lambda: da.lie.LieGroup.SO(3), ["e3", "e1", "e3"], {1: 1.0}),
    "SE(2)": (lambda: da.lie.LieGroup.SE(2), (), {}),
    "R x SE(2)": (
        lambda: da.lie.LieGroup.product(da.lie.LieGroup.R(1), da.lie.LieGroup.SE(2)),
        (),
        {},
    ),
}


def left_invariant(name: str) -> tuple[Any, Any, Any, Any]:
    """A group, the system L = xi . A xi/2 on a chart with a random A, its reduced equations,
    and A.
    """
    make, order, unit = GROUPS[name]
    group = make()
    symbols = da.coordinates(" ".join(f"q{k}" for k in range(group.dimension)))
    chart = group.chart(symbols, order) if order else group.chart(symbols)
    random = np.random.default_rng(len(name))
    root = random.integers(-2, 3, (group.dimension, group.dimension))
    A = sympy.Matrix(root @ root.T + 2 * np.eye(group.dimension, dtype=int))
    xi = sympy.Matrix(chart.body_velocity())
    system = da.System(symbols, kinetic=(xi.T * A * xi)[0] / 2, name=name)
    identity = {symbols[k]: value for k, value in unit.items()}
    return group, system, da.symmetry.reduce(system, chart, identity=identity), A


@pytest.mark.parametrize("name", GROUPS)
def test_reduced_equations_are_the_hamiltonian_field_of_the_bracket(name: str) -> None:
    group, _, equations, A = left_invariant(name)
    p = equations.state
    structure = da.lie.PoissonStructure.lie_poisson(group, p, sign=-1)
    assert structure.certificate.holds and structure.certificate.by == "symbolically"
    momentum = sympy.Matrix(p)
    field = structure.field((momentum.T * A.inv() * momentum)[0] / 2)
    inverse = np.linalg.inv(np.array(A, dtype=float))
    for value in np.random.default_rng(7).uniform(-1, 1, (4, group.dimension)):
        rates = equations.function()(0.0, value, {})
        by_bracket = np.array(
            field.xreplace(dict(zip(p, map(sympy.Float, value), strict=True))), dtype=float
        ).ravel()
        xi = inverse @ value
        coadjoint = group.ad(xi).T @ value  # <p, [xi, e_a]>
        assert np.allclose(rates, by_bracket, atol=1e-12) and np.allclose(
            rates, coadjoint, atol=1e-12
        )
    wrong = da.lie.PoissonStructure.lie_poisson(group, p).field(
        (momentum.T * A.inv() * momentum)[0] / 2
    )
    assert sympy.simplify(wrong + field) == sympy.zeros(*field.shape) and any(
        entry != 0 for entry in field
    )


@pytest.mark.parametrize("name", GROUPS)
def test_casimirs_stay_constant_and_other_functions_do_not(name: str) -> None:
    group, _, equations, _ = left_invariant(name)
    p = equations.state
    casimirs = da.lie.PoissonStructure.lie_poisson(group, p, sign=-1).casimirs(degree=2)
    assert len(casimirs) == {"SO(3)": 1, "SE(2)": 1, "R x SE(2)": 2}[name]
    start = dict(
        zip(
            (symbol.name for symbol in p),
            np.random.default_rng(3).uniform(0.4, 1.2, len(p)),
            strict=True,
        )
    )
    motion = da.simulate(equations, start, (0, 6), rtol=1e-12)
    values = [motion[symbol.name] for symbol in p]
    for casimir in casimirs:
        along = sympy.lambdify(p, casimir)(*values)
        assert np.ptp(along) < 1e-10
    assert max(np.ptp(value) for value in values) > 1e-2


def test_the_bracket_of_a_group_is_that_of_its_constants() -> None:
    group = da.lie.LieGroup.SO(3)
    x, y, z = symbols = sympy.symbols("x y z")
    cross = da.lie.PoissonStructure([[0, z, -y], [-z, 0, x], [y, -x, 0]], symbols)
    for source in (group, group.algebra, group.structure_constants):
        assert da.lie.PoissonStructure.lie_poisson(source, symbols).matrix == cross.matrix
    assert [symbol.name for symbol in da.lie.PoissonStructure.lie_poisson(group)] == [
        "p_1",
        "p_2",
        "p_3",
    ]
    with pytest.raises(ModelError, match="sign"):
        da.lie.PoissonStructure.lie_poisson(group, sign=0)
