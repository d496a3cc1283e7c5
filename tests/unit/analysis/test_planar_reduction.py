"""Hinged bodies on their reduced space: bracket, Hamiltonian, energy and Casimirs, relative
equilibria.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.analysis.stability.energy_casimir import energy_casimir
from dalembert.analysis.symmetry.planar_reduction import (
    reduced_hamiltonian,
    reduced_structure,
    relative_equilibria,
)
from dalembert.errors import ModelError, RunError
from dalembert.model.builders.planar_bodies import planar_chain, planar_tree

PAIR = {"masses": [1, 2], "inertias": [0.5, 0.7], "hinges": {(1, 2): (0.8, 0), (2, 1): (-0.6, 0)}}
EPS, D1, D2 = 2 / 3, 0.8, 0.6
OWN = (0.5 + EPS * D1**2, 0.7 + EPS * D2**2)


def straight(count: int, middle: float = 1.0, half: float = 1.0):
    """A chain of bodies with unit hinges; those of inner bodies are `half` as long."""
    hinges = {}
    for k in range(1, count):
        hinges[k, k + 1] = (half if k > 1 else 1.0, 0)
        hinges[k + 1, k] = (-half if k + 1 < count else -1.0, 0)
    masses = [1.0, *[middle] * (count - 2), 1.0]
    return planar_chain(count, masses=masses, inertias=[1.0] * count, hinges=hinges)


@pytest.mark.parametrize("parents", [(1,), (1, 2, 3), (1, 1, 2)], ids=["two", "chain", "tree"])
def test_the_bracket_is_reduced_from_the_canonical_one(parents):
    bodies = planar_tree(parents)
    structure = reduced_structure(bodies)
    n = bodies.count
    for a, joint in enumerate(bodies.joints):
        for i, momentum in enumerate(bodies.momenta, start=1):
            expected = 1 if i == a + 2 else -1 if i == parents[a] else 0
            assert structure.bracket(joint, momentum) == expected
    assert structure.generic_rank == 2 * (n - 1)
    assert structure.casimirs(degree=2) == (sum(bodies.momenta),)


def test_hamiltons_equations_on_the_reduced_space_are_those_of_the_whole():
    """Pi dH against the momenta and angles of a simulated chain, by the derivative of its dense
    output.
    """
    bodies = straight(3, 0.7)
    symbols = (*bodies.joints, *bodies.momenta)
    energy = reduced_hamiltonian(bodies)
    field = reduced_structure(bodies).field(energy)
    motion = da.simulate(
        bodies.reduced_system(),
        start=bodies.reduced_start([0.4, -0.9], [1.0, 0.3, -0.2]),
        span=(0, 2),
        parameters={"mu": 1.1},
        at=np.linspace(0, 2, 2001),
        rtol=1e-12,
    )
    states = np.array([motion[symbol.name] for symbol in symbols])
    for k in (300, 1500):
        point = dict(zip(symbols, map(sympy.Float, states[:, k]), strict=True))
        rates = np.array(field.xreplace(point).evalf().tolist(), dtype=float).ravel()
        measured = (
            states[:, k - 2] - 8 * states[:, k - 1] + 8 * states[:, k + 1] - states[:, k + 2]
        ) / (12 * 1e-3)
        assert np.abs(rates - measured).max() < 1e-9
        assert float(energy.xreplace(point).evalf()) == pytest.approx(motion.energy[k], abs=1e-11)


@pytest.mark.parametrize(("theta", "sign"), [(0.0, 1), (np.pi, -1)], ids=["stretched", "folded"])
def test_energy_and_casimir_of_two_bodies(theta, sign):
    bodies = planar_chain(2, **PAIR)
    coupling, rate = sign * EPS * D1 * D2, 0.9
    delta = OWN[0] * OWN[1] - coupling**2
    momenta = rate * (np.array(OWN) + coupling)
    point = {"theta_21": theta, "mu_1": momenta[0], "mu_2": momenta[1]}
    found = energy_casimir(
        reduced_structure(bodies), reduced_hamiltonian(bodies), [sum(bodies.momenta)], point
    )
    assert found.multipliers == pytest.approx([-rate])
    inverse = np.array([[OWN[1], -coupling], [-coupling, OWN[0]]]) / delta
    expected = np.zeros((3, 3))
    expected[0, 0], expected[1:, 1:] = coupling * rate**2, inverse + 0.4
    assert np.abs(found.second_variation(0.4) - expected).max() < 1e-12
    square = abs(coupling) * rate**2 * (sum(OWN) + 2 * coupling) / delta
    assert np.max(np.abs(found.eigenvalues)) == pytest.approx(np.sqrt(square))
    if sign > 0:
        assert found.stability == "stable"
        assert found.least_curvature == pytest.approx(-1 / (sum(OWN) + 2 * coupling))
        assert np.linalg.eigvalsh(found.second_variation(0.0))[0] > 0
    else:
        assert found.stability == "unstable" and found.least_curvature is None
        for curvature in (-100.0, 0.0, 100.0):
            values = np.linalg.eigvalsh(found.second_variation(curvature))
            assert values[0] < 0 < values[-1]


def test_the_method_refuses_what_is_no_equilibrium_or_no_casimir():
    bodies = planar_chain(2, **PAIR)
    structure, energy = reduced_structure(bodies), reduced_hamiltonian(bodies)
    point = {"theta_21": 0.4, "mu_1": 1.0, "mu_2": 0.2}
    with pytest.raises(RunError, match="not critical"):
        energy_casimir(structure, energy, [sum(bodies.momenta)], point)
    with pytest.raises(ModelError, match="no Casimirs"):
        energy_casimir(structure, energy, [bodies.momenta[0]], point)
    with pytest.raises(ModelError, match="no value"):
        energy_casimir(structure, energy, [sum(bodies.momenta)], {"mu_1": 1.0, "mu_2": 0.2})


def test_two_bodies_turn_stretched_or_folded():
    found = relative_equilibria(planar_chain(2, **PAIR), total=-1.3)
    stretched, folded = found.found
    assert found.complete and len(found) == 2
    assert (stretched.stability, folded.stability) == ("stable", "unstable")
    assert folded.angles[0] == pytest.approx(np.pi)
    assert stretched.rate == pytest.approx(-1.3 / (sum(OWN) + 2 * EPS * D1 * D2))
    assert sum(stretched.momenta) == pytest.approx(-1.3)


@pytest.mark.parametrize(("middle", "count"), [(0.3, 6), (1.9, 6), (2.1, 4), (5.0, 4)])
def test_three_bodies_have_four_or_six(middle, count):
    """For these hinges 1/A, 1/B and 1/C are a triangle for middle masses below 2."""
    found = relative_equilibria(straight(3, middle, 0.5))
    assert found.complete and len(found) == count and found.of_hinges.zeros.index == 0
    assert [e.stability for e in found.found].count("stable") == 1
    bent = [e.angles for e in found.found if np.max(np.abs(np.sin(e.angles))) > 1e-6]
    assert len(bent) == count - 4
    if bent:
        assert np.abs(bent[0] + bent[1]).max() < 1e-12


def test_both_linearisations_agree():
    """Routh's function with its gyroscopic terms, and Pi times the Hessian of H + Phi(C), at every
    relative equilibrium.
    """
    hinges = {(1, 2): (1, 0.2), (2, 1): (-0.5, 0.1), (2, 3): (0.5, -0.3), (3, 2): (-1, 0)}
    bodies = planar_chain(3, masses=[1, 0.4, 1.3], inertias=[1, 0.6, 0.8], hinges=hinges)
    structure, energy, casimir = (
        reduced_structure(bodies),
        reduced_hamiltonian(bodies),
        sum(bodies.momenta),
    )
    gyroscopic = []
    for e in relative_equilibria(bodies, total=3.0).found:
        values = [*e.angles, *e.momenta]
        point = dict(zip(structure.symbols, values, strict=True))
        method = energy_casimir(structure, energy, [casimir], point)
        for value in e.linear.eigenvalues:
            assert np.min(np.abs(method.eigenvalues - value)) < 1e-9
        assert np.min(np.abs(method.eigenvalues)) < 1e-9
        gyroscopic.append(abs(e.linear.gyroscopic[0, 1]))
    assert max(gyroscopic) > 1e-2


@pytest.mark.long
def test_relative_equilibria_are_kept_by_the_whole_motion():
    bodies = straight(3, 0.3, 0.5)
    for e in relative_equilibria(bodies, total=2.0).found:
        beyond = np.array(bodies.beyond.tolist(), dtype=float)
        start = dict(zip(("theta1", "theta2", "theta3"), beyond @ e.angles, strict=True))
        start |= {f"p_theta{i}": float(value) for i, value in enumerate(e.momenta, start=1)}
        motion = da.simulate(bodies.system(), start=start, span=(0, 1), rtol=1e-11)
        for k, joint in enumerate(bodies.joints):
            assert np.abs(motion[joint.name] - e.angles[k]).max() < 1e-9
        assert np.abs(motion["theta1_dot"] - e.rate).max() < 1e-9


def test_four_bodies_are_searched_completely():
    found = relative_equilibria(straight(4))
    assert found.complete and found.of_hinges.zeros.index == 0 and len(found) >= 8
    collinear = [e for e in found.found if np.max(np.abs(np.sin(e.angles))) < 1e-9]
    assert len(collinear) == 8


def test_a_hinge_at_a_centre_of_mass_and_no_momentum():
    loose = planar_chain(2, masses=[1, 1], inertias=[1, 1], hinges={(1, 2): (0, 0), (2, 1): (1, 0)})
    assert not relative_equilibria(loose, most_boxes=200).complete
    with pytest.raises(ModelError, match="not zero"):
        relative_equilibria(loose, total=0.0)
