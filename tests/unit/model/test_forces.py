"""Bodies, springs and forces give the energies of textbooks, and virtual work comes out the same in
any coordinates.
"""

from __future__ import annotations

import random

import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError
from dalembert.model.forces import SystemPart, sum_parts

theta, phi, psi, r = da.coordinates("theta phi psi r")
m, J, g, k, c = da.parameters("m J g k c", positive=True)


def same(first, second):
    return sympy.simplify(sympy.expand(first - second)) == 0


def test_rate_is_the_total_derivative():
    assert da.rate(r * cos(theta) * da.t) == r.dot * cos(theta) * da.t - r * sin(
        theta
    ) * theta.dot * da.t + r * cos(theta)
    assert da.rate(3) == 0


def test_a_particle_in_polar_coordinates():
    assert same(
        da.particle(m, [r * cos(theta), r * sin(theta)]).kinetic,
        m * (r.dot**2 + r**2 * theta.dot**2) / 2,
    )


def test_a_planar_body():
    assert same(da.body(m, J, [r, 0], angle=theta).kinetic, m * r.dot**2 / 2 + J * theta.dot**2 / 2)


def test_rotation_and_angular_velocity_agree():
    R = sympy.rot_axis3(-phi) * sympy.rot_axis1(-theta) * sympy.rot_axis3(-psi)
    omega = [
        phi.dot * sin(theta) * sin(psi) + theta.dot * cos(psi),
        phi.dot * sin(theta) * cos(psi) - theta.dot * sin(psi),
        phi.dot * cos(theta) + psi.dot,
    ]
    A, B, C = sympy.symbols("A B C")
    by_rotation = da.body(m, [A, B, C], [0, 0, 0], rotation=R).kinetic
    by_omega = da.body(m, sympy.diag(A, B, C), [0, 0, 0], angular_velocity=omega).kinetic
    assert same(by_omega, sum(i * w**2 for i, w in zip((A, B, C), omega, strict=True)) / 2)
    symbols = sorted((by_rotation - by_omega).free_symbols, key=str)
    difference = sympy.lambdify(symbols, by_rotation - by_omega, modules="math")
    for seed in range(5):  # simplifying the difference would take SymPy half a minute
        assert (
            abs(
                difference(*random.Random(seed).choices([0.3, -0.7, 1.1, 0.9, 2.3], k=len(symbols)))
            )
            < 1e-12
        )


def test_gravity_springs_and_dampers():
    assert da.gravity(m, -r * cos(theta), g).potential == -m * g * r * cos(theta)
    assert da.spring(k, r - 1).potential == k * (r - 1) ** 2 / 2
    assert same(da.damper(c, r * sin(theta)).dissipation, c * da.rate(r * sin(theta)) ** 2 / 2)


def test_weight_as_force_and_as_potential_agree():
    place = [r * sin(theta), -r * cos(theta)]
    potential = da.gravity(m, place[1], g).potential
    forces = da.force([0, -m * g], at=place).forces
    for q in (r, theta):
        assert same(forces[q], -potential.diff(q))


def test_torque_is_the_scalar_case():
    assert da.force(k, at=theta).forces == {theta: k}


def test_parts_add_up():
    parts = [
        da.particle(m, [r]),
        da.spring(k, r),
        da.damper(c, r),
        da.force(1, at=r),
        da.force(2, at=r),
    ]
    total = sum_parts(parts)
    assert total == SystemPart(
        m * r.dot**2 / 2, k * r**2 / 2, c * r.dot**2 / 2, {r: sympy.Integer(3)}
    )
    system = da.System([r], parts=parts, kinetic=r.dot**2, forces={r: 4})
    assert system.kinetic == m * r.dot**2 / 2 + r.dot**2
    assert system.forces[r] == 7


def test_what_is_refused():
    with pytest.raises(ModelError, match="exactly one of"):
        da.body(m, J, [r, 0])
    with pytest.raises(ModelError, match="exactly one of"):
        da.body(m, J, [r, 0], angle=theta, rotation=sympy.eye(3))
    with pytest.raises(ModelError, match="3 x 3"):
        da.body(m, [1, 2], [0, 0, 0], rotation=sympy.eye(3))
    with pytest.raises(ModelError, match="same number of components"):
        da.force([1, 2], at=[r])
