"""Momentum maps of actions that are not lifted, checked with SymPy and NumPy alone."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.lie import LieGroup, PoissonStructure
from dalembert.symmetry import poisson_momentum_map

x, y, z, theta = sympy.symbols("x y z theta", real=True)
PLANE = PoissonStructure.symplectic([[0, 1], [-1, 0]], [x, y])


def turns(a, b, c):
    return {"e1": {b: -c, c: b}, "e2": {c: -a, a: c}, "e3": {a: -b, b: a}}


def test_rotations_of_a_sphere_in_angle_and_height():
    sphere = PoissonStructure.symplectic([[0, 1], [-1, 0]], [theta, z])
    s = sympy.sqrt(1 - z**2)
    rotations = {
        "e1": {theta: -z / s * sympy.cos(theta), z: s * sympy.sin(theta)},
        "e2": {theta: -z / s * sympy.sin(theta), z: -s * sympy.cos(theta)},
        "e3": {theta: 1},
    }
    found = poisson_momentum_map(sphere, rotations, angles=[theta])
    assert found.existence.is_proved and found.equivariance.is_proved
    expected = sympy.Matrix([s * sympy.cos(theta), s * sympy.sin(theta), z])
    assert (sympy.Matrix(found.momentum) - expected).applyfunc(sympy.simplify).is_zero_matrix


def test_the_area_that_a_field_stretches_has_no_momentum_map():
    found = poisson_momentum_map(PLANE, {"s": {x: x, y: y}})
    assert found.canonical.is_refuted and found.existence.is_refuted and found.momentum is None


def test_a_torus_turned_in_itself_has_no_momentum_map():
    on_torus = poisson_momentum_map(PLANE, {"e1": {x: 1}}, angles=[x, y])
    on_cylinder = poisson_momentum_map(PLANE, {"e1": {x: 1}}, angles=[x])
    assert on_torus.canonical.is_proved and on_torus.existence.is_refuted
    assert "not single-valued round y" in on_torus.existence.grounds
    assert on_cylinder.existence.is_proved and on_cylinder.momentum[0] == y


def test_a_field_across_the_leaves_has_no_momentum_map():
    """A shift of a Casimir is canonical where the bracket does not depend on it."""
    flat = PoissonStructure([[0, 1, 0], [-1, 0, 0], [0, 0, 0]], [x, y, z])
    found = poisson_momentum_map(flat, {"up": {z: 1}})
    assert found.canonical.is_proved and found.existence.is_refuted
    assert "symplectic leaves" in found.existence.grounds


def test_coadjoint_action_has_the_identity_as_momentum_map():
    mu = sympy.symbols("m1:4", real=True)
    dual = PoissonStructure.lie_poisson(LieGroup.SO(3), mu)
    found = poisson_momentum_map(dual, turns(*mu))
    assert tuple(found.momentum) == mu and found.equivariance.is_proved
    assert np.allclose(found.constants, LieGroup.SO(3).algebra.constants)


def test_the_cocycle_of_translations_is_no_coboundary_but_that_of_shifted_turns_is():
    shifts = {"e1": {x: 1}, "e2": {y: 1}}
    found = poisson_momentum_map(PLANE, shifts)
    first, second = found.momentum
    bracket = sympy.diff(first, x) * sympy.diff(second, y)
    bracket -= sympy.diff(first, y) * sympy.diff(second, x)
    assert found.cocycle[0, 1] == bracket != 0
    assert found.equivariance.is_refuted and found.equivariant is None
    # [a, b] = b acts on (q, p) by q -> e^a q + b: J_a = q p + c has the cocycle of c.
    q, p = sympy.symbols("q p", real=True)
    line = PoissonStructure.canonical([q], [p])
    affine = poisson_momentum_map(line, {"a": {q: q, p: -p}, "b": {q: 1}}, among=None)
    assert affine.equivariance.is_proved
    mu = sympy.symbols("m1:4", real=True)
    affine_bracket = [[0, mu[2] + 1, -mu[1]], [-mu[2] - 1, 0, mu[0]], [mu[1], -mu[0], 0]]
    moved = poisson_momentum_map(
        PoissonStructure(affine_bracket, mu),
        {
            "e1": {mu[1]: -(mu[2] + 1), mu[2]: mu[1]},
            "e2": {mu[2]: -mu[0], mu[0]: mu[2] + 1},
            "e3": {mu[0]: -mu[1], mu[1]: mu[0]},
        },
    )
    assert moved.cocycle[0, 1] == 1 and moved.equivariance.is_proved
    assert moved.equivariant[2] - mu[2] == 1


def test_the_polytope_of_two_spheres_is_a_rectangle_and_samples_fill_it():
    m = sympy.symbols("m1:7", real=True)
    one, two = (PoissonStructure.lie_poisson(LieGroup.SO(3), part) for part in (m[:3], m[3:]))
    torus = {"a": {m[0]: -m[1], m[1]: m[0]}, "b": {m[3]: -m[4], m[4]: m[3]}}
    found = poisson_momentum_map(one.product(two), torus)
    level = {m[0] ** 2 + m[1] ** 2 + m[2] ** 2: 4, m[3] ** 2 + m[4] ** 2 + m[5] ** 2: 1}
    shape = found.polytope(level)
    assert sorted(map(tuple, shape.vertices)) == [(-2, -1), (-2, 1), (2, -1), (2, 1)]
    random = np.random.default_rng(1).normal(size=(200, 2, 3))
    random /= np.linalg.norm(random, axis=2, keepdims=True)
    images = random[:, :, 2] * [2, 1]
    assert np.max(shape.excess(images)) <= 1e-12
    with pytest.raises(ModelError, match="needs the momentum map of a torus"):
        poisson_momentum_map(one, turns(*m[:3])).polytope({m[0] ** 2: 1})
    with pytest.raises(ModelError, match="not isolated"):
        poisson_momentum_map(one.product(two), {"a": torus["a"]}).fixed_points(level)


def test_lifted_actions_agree_with_the_other_momentum_map():
    q = da.coordinates("x y z")
    particle = da.System(q, kinetic=sum(c.dot**2 for c in q) / 2)
    lifted = da.symmetry.momentum_map(particle, turns(*q))
    p = particle.momenta
    fields = turns(*q)
    for name, own in turns(*p).items():
        fields[name] = fields[name] | own
    general = poisson_momentum_map(PoissonStructure.canonical(q, p), fields)
    assert (sympy.Matrix(general.momentum) - sympy.Matrix(lifted.momentum)).expand().is_zero_matrix
    assert general.equivariance.is_proved


def test_a_degenerate_form_and_unknown_components_are_refused():
    with pytest.raises(ModelError, match="must not be degenerate"):
        PoissonStructure.symplectic([[0, 0], [0, 0]], [x, y])
    with pytest.raises(ModelError, match="does not have"):
        poisson_momentum_map(PLANE, {"e": {z: 1}})
    with pytest.raises(ModelError, match="generators of an action"):
        poisson_momentum_map(PLANE, {})
