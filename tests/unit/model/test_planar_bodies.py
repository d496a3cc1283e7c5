"""Hinged planar bodies: the inertia matrix against bodies with positions, the reduced motion
against the whole one.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.builders.planar_bodies import PlanarBodies, planar_chain, planar_tree
from dalembert.model.symbols import Parameter

SHAPES = {"two": (1,), "chain": (1, 2, 3), "star": (1, 1, 1), "tree": (1, 1, 2, 3, 3)}
TIMES = np.linspace(0.0, 4.0, 9)


def random_values(bodies: PlanarBodies, seed: int = 0) -> dict[str, float]:
    random = np.random.default_rng(seed)
    return {p.name: float(random.uniform(0.4, 1.4)) for p in bodies.system().parameters}


def numbers(expressions, values: dict) -> np.ndarray:
    table = sympy.Matrix(expressions)
    known = {s: sympy.Float(values[s.name]) for s in table.free_symbols}
    return np.array(table.xreplace(known).evalf().tolist(), dtype=float)


def energy_by_positions(bodies: PlanarBodies) -> sympy.Expr:
    """sum of `body` parts at the places of the bodies: an independent implementation of 1/2 w^T J
    w.
    """
    parts = [
        da.body(m, inertia, list(bodies.place(i)), angle=angle)
        for i, (m, inertia, angle) in enumerate(
            zip(bodies.masses, bodies.inertias, bodies.angles, strict=True), start=1
        )
    ]
    return sum(part.kinetic for part in parts)


@pytest.mark.parametrize("parents", SHAPES.values(), ids=SHAPES)
def test_the_energy_is_that_of_bodies_at_their_places(parents):
    bodies = planar_tree(parents)
    random = np.random.default_rng(3)
    values = random_values(bodies)
    for angle in bodies.angles:
        values |= {angle.name: random.uniform(-3, 3), angle.dot.name: random.uniform(-1, 1)}
    both = numbers([bodies.kinetic, energy_by_positions(bodies)], values).ravel()
    assert both[0] == pytest.approx(both[1], rel=1e-12)


@pytest.mark.parametrize("parents", SHAPES.values(), ids=SHAPES)
def test_hinges_coincide_and_the_common_centre_stays(parents):
    bodies = planar_tree(parents)
    values = random_values(bodies, 1) | {a.name: 0.3 * k - 1 for k, a in enumerate(bodies.angles)}
    places = {i: bodies.place(i) for i in range(1, bodies.count + 1)}

    def end(i: int, j: int) -> sympy.Matrix:
        angle, d = bodies.angles[i - 1], bodies.hinges[i, j]
        c, s = sympy.cos(angle), sympy.sin(angle)
        return places[i] + sympy.Matrix([c * d[0] - s * d[1], s * d[0] + c * d[1]])

    for child, parent in enumerate(bodies.parents, start=2):
        assert np.abs(numbers(end(child, parent) - end(parent, child), values)).max() < 1e-14
    middle = sum((m * places[i] for i, m in enumerate(bodies.masses, start=1)), sympy.zeros(2, 1))
    assert np.abs(numbers(middle, values)).max() < 1e-14


def test_the_inertia_of_two_and_three_bodies_in_closed_form():
    """eps_ij = m_i m_j / M; lambda_(x,y)(a) = x . y cos a + (x cross y) sin a (Bloch, 3.13.59,
    corrected).
    """
    bodies = planar_chain(3)
    d = {pair: sympy.Matrix(vector) for pair, vector in bodies.hinges.items()}
    m1, m2, m3 = bodies.masses
    eps12, eps23, eps31 = (a * b / (m1 + m2 + m3) for a, b in ((m1, m2), (m2, m3), (m3, m1)))
    a, b = bodies.joints

    def lam(v, w, angle):
        return v.dot(w) * sympy.cos(angle) + (v[0] * w[1] - v[1] * w[0]) * sympy.sin(angle)

    between = d[2, 3] - d[2, 1]
    i1, i2, i3 = bodies.inertias
    expected = {
        (0, 0): i1 + (eps12 + eps31) * d[1, 2].dot(d[1, 2]),
        (1, 1): (
            i2
            + eps12 * d[2, 1].dot(d[2, 1])
            + eps23 * d[2, 3].dot(d[2, 3])
            + eps31 * between.dot(between)
        ),
        (2, 2): i3 + (eps23 + eps31) * d[3, 2].dot(d[3, 2]),
        (0, 1): eps12 * lam(-d[2, 1], d[1, 2], a) + eps31 * lam(between, d[1, 2], a),
        (1, 2): eps23 * lam(-d[3, 2], d[2, 3], b) + eps31 * lam(-d[3, 2], between, b),
        (0, 2): eps31 * lam(-d[3, 2], d[1, 2], a + b),
    }
    for place, entry in expected.items():
        assert sympy.simplify(sympy.expand(bodies.inertia[place] - entry)) == 0, place
    pair = planar_chain(2)
    first, second = (sympy.Matrix(pair.hinges[key]) for key in ((1, 2), (2, 1)))
    eps = pair.masses[0] * pair.masses[1] / sum(pair.masses)
    assert sympy.simplify(pair.inertia[0, 1] + eps * lam(second, first, pair.joints[0])) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "parents", [(1,), (1, 2), (1, 2, 3, 4), (1, 1, 2)], ids=["two", "three", "five", "tree"]
)
def test_the_reduced_motion_is_that_of_the_whole(parents):
    bodies = planar_tree(parents)
    values = random_values(bodies, 2)
    random = np.random.default_rng(5)
    joints, momenta = (
        random.uniform(-1, 1, bodies.count - 1),
        random.uniform(-0.5, 1.0, bodies.count),
    )
    beyond = np.array(bodies.beyond.tolist(), dtype=float)
    start = {
        angle.name: value for angle, value in zip(bodies.angles, beyond @ joints + 0.4, strict=True)
    }
    start |= {f"p_{angle.name}": value for angle, value in zip(bodies.angles, momenta, strict=True)}
    whole = da.simulate(
        bodies.system(), start=start, span=(0, 4), at=TIMES, parameters=values, rtol=1e-12
    )
    reduced = da.simulate(
        bodies.reduced_system(),
        start=bodies.reduced_start(joints, momenta),
        span=(0, 4),
        at=TIMES,
        parameters=values | {"mu": float(momenta.sum())},
        rtol=1e-12,
    )
    for joint in bodies.joints:
        assert np.abs(whole[joint.name] - reduced[joint.name]).max() < 1e-9
    for i in range(1, bodies.count + 1):
        assert np.abs(whole[f"p_theta{i}"] - reduced[f"mu_{i}"]).max() < 1e-9
    assert np.abs(whole["theta1_dot"] - reduced["theta1_rate"]).max() < 1e-9
    assert np.abs(whole.energy - reduced.energy).max() < 1e-10
    assert np.ptp(whole["p_theta1"]) > 1e-3


def test_the_gallery_chains_are_these_bodies():
    for name, count in (("two-planar-bodies", 2), ("three-planar-bodies", 3), ("planar-chain", 5)):
        scenario = da.gallery.load(name)
        assert scenario.system.kinetic == planar_chain(count).kinetic
        assert set(scenario.parameters) == {p.name for p in scenario.system.parameters}


def test_numbers_may_stand_for_symbols():
    bodies = planar_chain(2, masses=[1, 3], inertias=[2, 0.5], hinges={(1, 2): (1, 0)})
    assert {p.name for p in bodies.system().parameters} == {"d21x", "d21y"}
    length = Parameter("L", positive=True)
    scaled = planar_chain(3, hinges={(1, 2): (length, 0), (2, 1): (-length, 0)})
    assert scaled.inertia.has(length)
    joints = planar_chain(11).joints
    assert joints[0].name == "theta_21" and joints[-1].name == "theta_11_10"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: planar_chain(1), "two bodies or more"),
        (lambda: planar_chain(2.0), "two bodies or more"),
        (lambda: planar_tree([]), "two bodies or more"),
        (lambda: planar_tree([2]), "Body 2 must hang"),
        (lambda: planar_tree([1, 3]), "Body 3 must hang"),
        (lambda: planar_chain(3, masses=[1, 2]), "3 values of m"),
        (lambda: planar_chain(3, hinges={(1, 3): (1, 0)}), "no such hinge"),
    ],
)
def test_wrong_calls_are_refused(call, says):
    with pytest.raises(ModelError, match=says):
        call()
