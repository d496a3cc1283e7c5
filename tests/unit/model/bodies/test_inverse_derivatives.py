"""Derivatives of inverse dynamics in closed form, against derivatives of the energies' graph."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from test_tree import GRAVITY, mechanism

import dalembert as da
from dalembert.analysis.bodies import body_model
from newton_euler import random_tree

b = da.bodies
GIVEN = {"m": 1.3, "k": 40.0}


def worst(model: b.BodyModel, seed: int = 3) -> float:
    """The largest difference between both derivatives, beside the largest entry."""
    graph = b.BodyModel(model.mechanism, GIVEN)
    q, v, a = np.random.default_rng(seed).uniform(-1, 1, (3, 2, len(model.names)))
    found = np.concatenate(model.inverse_derivatives(q, v, a), axis=-1)
    state = ca.vertcat(graph._q, graph._v, graph._a)
    expected = graph.evaluate("graph", lambda: ca.jacobian(graph._inverse(), state), q, v, a)
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_random_trees_of_turning_sliding_and_screwing_joints(seed: int, reverse: bool):
    links = random_tree(np.random.default_rng(seed), 7)
    assert worst(b.BodyModel(mechanism(links, reverse))) < 1e-12


def limbs() -> b.Mechanism:
    """Quaternions, angles, a screw, springs, rotors and parameters."""
    m, k = da.parameters("m k")
    base, arm, hand, tip, nut = (
        b.Body(name, m * (1 + n), (0.1, 0.2, -0.3), (0.1, 0.2, 0.25))
        for n, name in enumerate(("base", "arm", "hand", "tip", "nut"))
    )
    return b.Mechanism(
        [
            b.free("base", b.ground(), base),
            b.spherical("s", base, arm, at=(0.2, 0, 0.4), stiffness=2.0, armature=0.1),
            b.spherical("e", hand, arm, at=(0, 0.3, 0.1), angles="zxy"),
            b.cylindrical("c", hand, tip, (1, 2, 3), armature=(0.2, 0.1)),
            b.screw("n", tip, nut, "x", lead=0.2),
            b.spring("w", base.point((0, 0, 1)), tip.point((0, 1, 0)), stiffness=k, length=0.5),
        ],
        gravity=GRAVITY,
    )


@pytest.mark.parametrize("coordinates", ["joint", "maximal"])
def test_recursive_newton_euler_equations_give_the_derivatives_of_the_energies(coordinates):
    model = b.BodyModel(limbs(), GIVEN, coordinates)
    assert model.system.body_tree is not None
    q, v, a = np.random.default_rng(4).uniform(-1, 1, (3, 2, len(model.names)))
    found = model.inverse_dynamics(q, v, a)
    by_energy = model.evaluate("energy", lambda: model._force_of(model._lagrangian()), q, v, a)
    assert np.allclose(found, by_energy[..., 0], rtol=1e-12, atol=1e-12)


def test_a_changed_system_or_a_driven_joint_takes_the_energies():
    x, load = da.coordinates("x"), b.Body("load", 2, (0.1, 0, 0))
    swing = b.Mechanism([b.revolute("q", b.ground(), load, "y")], gravity=GRAVITY).system()
    assert swing.body_tree is not None
    heavier = swing.replacing(kinetic=2 * swing.kinetic, potential=swing.potential)
    assert heavier.body_tree is None
    first, second = (
        da.derive(system, "lagrange").compile().rates(0.0, np.array([0.3, 0.2]))[1]
        for system in (swing, heavier)
    )
    assert first == pytest.approx(2 * second)
    stray = b.Body("stray", 1, (x, 0, 0))
    moved = b.Mechanism([b.prismatic("x", b.ground(), load, "x"), b.revolute("a", load, stray)])
    assert moved.system().body_tree is None


@pytest.mark.parametrize("native", [False, True])
def test_quaternions_angles_springs_rotors_and_parameters(
    native: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(body_model, "LEAST_LOOPS", 0)
    m, k = da.parameters("m k")
    base, arm, hand, tip = (
        b.Body(name, m * (1 + n), (0.1, 0.2, -0.3), (0.1, 0.2, 0.25))
        for n, name in enumerate(("base", "arm", "hand", "tip"))
    )
    joints = [
        b.free("base", b.ground(), base),
        b.spherical("s", base, arm, at=(0.2, 0, 0.4), stiffness=2.0, damping=0.3, armature=0.1),
        b.spherical("e", hand, arm, at=(0, 0.3, 0.1), angles="zxy"),
        b.cylindrical("c", hand, tip, (1, 2, 3), armature=(0.2, 0.1)),
        b.spring("w", base.point((0, 0, 1)), tip.point((0, 1, 0)), stiffness=k, length=0.5),
    ]
    closed = b.Mechanism(joints, gravity=GRAVITY)
    model = b.BodyModel(closed, GIVEN, native=native)
    assert (model._pair_loops() is not None) and worst(model) < 1e-12


def test_loops_of_a_tree_whose_limbs_are_listed_in_turn(monkeypatch: pytest.MonkeyPatch):
    # runs of nine, four, two and one rows next to each other, with gaps between them
    monkeypatch.setattr(body_model, "LEAST_LOOPS", 0)
    parents = [0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 3, 10, 11, 12, 0, 15]
    bodies = [b.ground(), *(b.Body(f"b{k}", 1.0 + k, (0, 0.1, 0.2), (1, 2, 2)) for k in range(16))]
    joints = [
        b.revolute(f"q{k}", bodies[parent], bodies[k + 1], "xyz"[k % 3], at=(0.1, 0, 0.3))
        for k, parent in enumerate(parents)
    ]
    model = b.BodyModel(b.Mechanism(joints, gravity=GRAVITY), native=True)
    assert worst(model) < 1e-12


def test_a_screw_has_no_loops():
    body = b.Body("body", 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25))
    screw = b.Mechanism([b.screw("q", b.ground(), body, lead=0.1)], gravity=GRAVITY)
    model = b.BodyModel(screw, native=True)
    assert model._pair_loops() is None and worst(model) < 1e-12


def test_a_position_far_from_the_origin_costs_no_digits():
    body, arm = (b.Body(name, 1.0, (0.1, 0.2, 0.3), (0.1, 0.2, 0.25)) for name in ("body", "arm"))
    joints = [b.free("f", b.ground(), body), b.revolute("q", body, arm, (1, 1, 0), at=(0.1, 0, 0))]
    model = b.BodyModel(b.Mechanism(joints, gravity=GRAVITY))
    q, v, a = np.random.default_rng(0).uniform(-1, 1, (3, len(model.names)))
    here = model.inverse_derivatives(q, v, a)
    q[:3] += 1e6
    for first, second in zip(here, model.inverse_derivatives(q, v, a), strict=True):
        assert np.array_equal(first, second)


def test_joints_driven_by_time_take_the_graph(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(body_model, "SpatialTree", None)
    arm = b.Body("arm", 1.0, (1, 0, 0), (0.1, 0.1, 0.1))
    turned = b.Mechanism([b.revolute("q", b.ground(), arm)], gravity=GRAVITY)
    with pytest.raises(TypeError):
        worst(b.BodyModel(turned))
    monkeypatch.setattr(body_model, "is_fixed_in_time", lambda edges: False)
    assert worst(b.BodyModel(turned)) < 1e-15
