"""Poisson structures: the identity of Jacobi as a test, brackets, rank, Casimirs, maps and
restrictions.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st

from dalembert.errors import ModelError
from dalembert.geometry.poisson import PoissonStructure, jacobi_identity, jacobiator
from dalembert.geometry.vanishing import vanish

x, y, z = sympy.symbols("x y z", real=True)
q, p, r = sympy.symbols("q p r", real=True)


def hat(v) -> sympy.Matrix:
    return sympy.Matrix([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def so3(sign: int = 1) -> PoissonStructure:
    constants = np.zeros((3, 3, 3), dtype=int)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        constants[i, j, k], constants[j, i, k] = 1, -1
    return PoissonStructure.lie_poisson(constants, [x, y, z], sign)


# -- the identity of Jacobi ------------------------------------------------------------------------


def brackets_of_coordinates(matrix: sympy.Matrix, symbols) -> list[sympy.Expr]:
    """{x_i, {x_j, x_k}} summed over turns, by nested brackets: an independent implementation of the
    jacobiator.
    """

    def bracket(f, g):
        df, dg = ([sympy.diff(h, a) for a in symbols] for h in (f, g))
        return sum(
            df[i] * matrix[i, j] * dg[j] for i in range(len(symbols)) for j in range(len(symbols))
        )

    triples = [(i, j, k) for i in range(len(symbols)) for j in range(i) for k in range(j)]
    return [
        sum(
            bracket(symbols[a], bracket(symbols[b], symbols[c]))
            for a, b, c in ((i, j, k), (j, k, i), (k, i, j))
        )
        for i, j, k in triples
    ]


@pytest.mark.long
@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(-2, 2), min_size=9, max_size=9))
def test_any_bivector_in_three_dimensions_is_poisson_just_where_its_vector_is_normal_to_its_curl(c):
    """For Pi = hat(v) the identity is v . curl v = 0."""
    v = sympy.Matrix(3, 3, c) * sympy.Matrix([x, y, z]) + sympy.Matrix([y * z, 0, x])
    curl = [
        sympy.diff(v[(k + 2) % 3], (x, y, z)[(k + 1) % 3])
        - sympy.diff(v[(k + 1) % 3], (x, y, z)[(k + 2) % 3])
        for k in range(3)
    ]
    helicity = sympy.expand(sum(a * b for a, b in zip(v, curl, strict=True)))
    assert jacobi_identity(hat(v), [x, y, z]).holds == (helicity == 0)
    found = jacobiator(hat(v), [x, y, z])[0, 1, 2]
    assert sympy.expand(found**2 - helicity**2) == 0


@pytest.mark.parametrize(
    "matrix",
    [hat([x, y, z]), hat([0, 0, y]), hat([sympy.sin(z), 0, x * y]), hat([0, sympy.exp(x), z])],
    ids=str,
)
def test_the_jacobiator_is_the_sum_of_nested_brackets(matrix):
    symbols = [x, y, z]
    ours = next(iter(jacobiator(matrix, symbols).values()))
    (nested,) = brackets_of_coordinates(matrix, symbols)
    assert vanish([ours - nested]).holds or vanish([ours + nested]).holds


def test_a_tensor_that_breaks_the_identity_is_refused_with_its_size():
    wrong = [[0, y, 0], [-y, 0, 1], [0, -1, 0]]
    assert not jacobi_identity(wrong, [x, y, z]).holds
    with pytest.raises(ModelError, match="identity of Jacobi"):
        PoissonStructure(wrong, [x, y, z])
    with pytest.raises(ModelError, match="not skew"):
        PoissonStructure([[0, 1], [1, 0]], [q, p])


def test_a_symmetry_that_is_off_by_little_is_seen():
    assert not jacobi_identity([[0, 1], [-1 - sympy.Rational(1, 10**9), 0]], [q, p]).holds
    bent = hat([x, y, z]) + sympy.Rational(1, 10**9) * hat([y, 0, 0])
    assert not jacobi_identity(bent, [x, y, z]).holds


def test_the_certificate_says_what_it_rests_on():
    """Short expressions are proved, and so is a tensor whose identity would swell when written
    out.
    """
    assert so3().certificate.by == "symbolically"
    new = sympy.symbols("a b c", real=True)
    tangled = {x: new[0], y: new[1] + sympy.sin(new[0] * new[2]), z: new[2] * sympy.exp(new[1])}
    # Pi of so(3) pulled back through a map of symbols: D^-1 hat D^-T is Poisson, but not visibly
    # so.
    derivative = sympy.Matrix([[sympy.diff(tangled[a], b) for b in new] for a in (x, y, z)])
    inverse = derivative.adjugate() / derivative.det()
    pulled = inverse * so3().matrix.xreplace(tangled) * inverse.T
    found = jacobi_identity(pulled, new)
    assert found.holds and found.by == "symbolically"
    spoiled = pulled + sympy.Rational(1, 10**6) * hat([new[1], 0, new[0] * new[2]])
    assert not jacobi_identity(spoiled, new).holds


@pytest.mark.parametrize("text", ["x", [["0", "x"], ["-x", "0"]]])
def test_text_is_refused(text):
    with pytest.raises(ModelError, match="as text"):
        PoissonStructure(text, [q, p])


def test_shape_and_symbols_are_checked():
    with pytest.raises(ModelError, match="square matrix"):
        PoissonStructure([[0, 1], [-1, 0]], [q, p, r])
    with pytest.raises(ModelError, match="different symbols"):
        PoissonStructure([[0, 1], [-1, 0]], [q, q])


# -- brackets and fields ---------------------------------------------------------------------------


def test_brackets_are_skew_derivations_and_fields_are_brackets():
    structure = so3()
    f, g, h = x * y, sympy.sin(z) + x, y**2 * z
    assert vanish([structure.bracket(f, g) + structure.bracket(g, f)]).holds
    assert vanish(
        [structure.bracket(f * g, h) - f * structure.bracket(g, h) - g * structure.bracket(f, h)]
    ).holds
    nested = [
        structure.bracket(a, structure.bracket(b, c))
        for a, b, c in ((f, g, h), (g, h, f), (h, f, g))
    ]
    assert vanish([sum(nested)]).holds
    rates = structure.field(h)
    assert vanish(
        [rates[k] - structure.bracket(symbol, h) for k, symbol in enumerate(structure.symbols)]
    ).holds


def test_the_canonical_structure_gives_hamiltons_equations():
    structure = PoissonStructure.canonical([q], [p])
    energy = p**2 / 2 - sympy.cos(q)
    assert structure.field(energy) == sympy.Matrix([p, -sympy.sin(q)])


@pytest.mark.parametrize("sign", [1, -1])
def test_the_rigid_body_with_either_sign(sign):
    structure = so3(sign)
    assert structure.bracket(x, y) == sign * z
    moments = x**2 / 2 + y**2 / 4 + z**2 / 6
    momenta, rates = sympy.Matrix([x, y, z]), sympy.Matrix([x, y / 2, z / 3])
    assert sympy.expand(structure.field(moments) - sign * rates.cross(momenta)) == sympy.zeros(3, 1)


def test_structure_constants_that_are_no_algebra_are_refused():
    constants = np.zeros((3, 3, 3))
    constants[0, 1] = [0, 1, 0]
    constants[1, 0] = [0, -1, 0]
    constants[1, 2] = [1, 0, 0]
    constants[2, 1] = [-1, 0, 0]
    with pytest.raises(ModelError, match="identity of Jacobi"):
        PoissonStructure.lie_poisson(constants, [x, y, z])
    with pytest.raises(ModelError, match="1 or -1"):
        PoissonStructure.lie_poisson(np.zeros((3, 3, 3)), [x, y, z], sign=2)


# -- rank ------------------------------------------------------------------------------------------


def test_rank_is_two_on_spheres_and_zero_at_the_origin():
    structure = so3()
    assert structure.generic_rank == 2
    assert structure.rank({x: 0.3, "y": -1.0, "z": 2.0}) == 2
    assert structure.rank({x: 0, y: 0, z: 0}) == 0
    assert np.allclose(structure.at({x: 1, y: 2, z: 3}), [[0, 3, -2], [-3, 0, 1], [2, -1, 0]])
    with pytest.raises(ModelError, match="no value at this point"):
        structure.at({x: 1.0})


def test_products_stand_side_by_side():
    both = so3().product(PoissonStructure.canonical([q], [p]))
    assert both.generic_rank == 4 and both.bracket(x, q) == 0
    assert both.bracket(q, p) == 1 and both.bracket(x, y) == z
    with pytest.raises(ModelError, match="share symbols"):
        so3().product(so3())


# -- Casimirs --------------------------------------------------------------------------------------


def test_casimirs_of_the_heavy_top():
    m, g = sympy.symbols("m1:4", real=True), sympy.symbols("g1:4", real=True)
    blocks = sympy.BlockMatrix([[hat(m), hat(g)], [hat(g), sympy.zeros(3, 3)]])
    top = PoissonStructure(sympy.Matrix(blocks), (*m, *g))
    assert top.casimirs(degree=1) == ()
    found = top.casimirs(degree=2)
    assert {sympy.expand(c) for c in found} == {
        sum(a * b for a, b in zip(m, g, strict=True)),
        sum(a**2 for a in g),
    }
    assert top.generic_rank == 6 - len(found)


def test_powers_of_casimirs_are_left_out():
    assert so3().casimirs(degree=4) == (x**2 + y**2 + z**2,)
    assert so3().is_casimir((x**2 + y**2 + z**2) ** 3).by == "symbolically"
    assert not so3().is_casimir(x**2 + y**2).holds


def test_casimirs_with_parameters_and_with_functions_that_are_no_polynomials():
    k = sympy.Symbol("k", positive=True)
    leaning = PoissonStructure([[0, 1, 0], [-1, 0, k], [0, -k, 0]], [q, p, r])
    (found,) = leaning.casimirs()
    assert sympy.expand(found * k - (k * q + r)) == 0
    wavy = PoissonStructure([[0, sympy.cos(r), 0], [-sympy.cos(r), 0, 0], [0, 0, 0]], [q, p, r])
    assert wavy.casimirs(degree=2) == (r,)
    turning = PoissonStructure([[0, 1, 0], [-1, 0, sympy.cos(q)], [0, -sympy.cos(q), 0]], [q, p, r])
    assert turning.casimirs(degree=3) == ()
    (sine,) = turning.casimirs(among=[r, sympy.sin(q), q, p])
    assert turning.is_casimir(sine).holds and sympy.expand(sine / sine.coeff(r)) == r + sympy.sin(q)


def test_a_search_that_is_too_large_says_so():
    symbols = sympy.symbols("a1:9", real=True)
    with pytest.raises(ModelError, match="too many functions"):
        PoissonStructure.canonical(symbols[:4], symbols[4:]).casimirs(degree=6)
    with pytest.raises(ModelError, match="degree of 1 or more"):
        so3().casimirs(degree=0)


# -- maps ------------------------------------------------------------------------------------------


def test_angular_momentum_is_a_poisson_map_to_so3():
    positions, momenta = sympy.symbols("q1:4", real=True), sympy.symbols("p1:4", real=True)
    phase = PoissonStructure.canonical(positions, momenta)
    cross = sympy.Matrix(positions).cross(sympy.Matrix(momenta))
    images = dict(zip((x, y, z), cross, strict=True))
    assert phase.maps_to(so3(), images).by == "symbolically"
    assert not phase.maps_to(so3(-1), images).holds


def test_a_change_of_symbols_and_back():
    new, old = sympy.symbols("e l", positive=True), sympy.symbols("u v", positive=True)
    (e, square), (u, v) = new, old
    structure = PoissonStructure([[0, u * v], [-u * v, 0]], old)
    there, here = {e: sympy.exp(u), square: v**2}, {u: sympy.log(e), v: sympy.sqrt(square)}
    moved = structure.pushforward(there, here)
    assert structure.maps_to(moved, there).holds
    back = moved.pushforward(here, there)
    values = {u: 0.7, v: 1.3}
    assert np.allclose(back.at(values), structure.at(values))


def test_a_map_without_a_structure_on_its_image_is_refused():
    """{q + p^2, p} = 1 is a function on the image, {q, p^2} = 2 p is not a function of (q, p^2)
    alone on both signs of p.
    """
    plane = PoissonStructure.canonical([q], [p])
    a, b = sympy.symbols("a b", real=True)
    with pytest.raises(ModelError, match="no functions of the images"):
        plane.pushforward({a: q, b: p**2}, {q: a, p: sympy.sqrt(b)})
    with pytest.raises(ModelError, match="section"):
        plane.pushforward({a: q, b: p}, {q: a, p: 2 * b})


def test_restriction_to_a_leaf_and_to_what_is_none():
    structure = so3()
    positive = sympy.sqrt(1 - x**2 - y**2)
    sphere = structure.restricted({z: positive})
    assert sphere.symbols == (x, y) and sphere.matrix[0, 1] == positive
    with pytest.raises(ModelError, match="leave the submanifold"):
        structure.restricted({z: x})
    with pytest.raises(ModelError, match="functions of the other ones"):
        structure.restricted({z: z + 1})
    with pytest.raises(ModelError, match="functions of the other ones"):
        structure.restricted({q: x})
