"""Momentum maps: their singular points, the locked inertia, and the mechanical connection as a
minimum.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.lie import LieGroup

M = 1.7


def turns(q: Any) -> dict[str, dict[Any, Any]]:
    x, y, z = q
    return {"e1": {y: -z, z: y}, "e2": {z: -x, x: z}, "e3": {x: -y, y: x}}


def particle(shape: Any = (1, 1, 1)) -> tuple[da.System, Any]:
    q = da.coordinates("x y z")
    m = da.parameters("m", positive=True)
    return (
        da.System(
            q,
            kinetic=m / 2 * sum(w * x.dot**2 for w, x in zip(shape, q, strict=True)),
            name="particle",
        ),
        q,
    )


def point(q: Any, p: Any) -> dict[str, float]:
    return dict(
        zip(("x", "y", "z", "p_x", "p_y", "p_z"), (*map(float, q), *map(float, p)), strict=True)
    )


def rotations() -> Any:
    system, q = particle()
    return da.symmetry.momentum_map(system, turns(q))


@pytest.mark.parametrize(
    ("q", "p", "rank"),
    [
        ((0.3, -0.5, 0.8), (1.0, 0.2, -0.4), 3),
        ((0.3, -0.5, 0.8), (-0.6, 1.0, -1.6), 2),
        ((0.3, -0.5, 0.8), (0, 0, 0), 2),
        ((0, 0, 0), (0.3, -0.5, 0.8), 2),
        ((1e-4, 0, 0), (0, 3e5, 0), 3),
        ((0, 0, 0), (0, 0, 0), 0),
    ],
    ids=["generic", "parallel", "at rest", "at the centre", "small and large", "origin"],
)
def test_the_rank_of_the_derivative_is_what_the_isotropy_leaves(q: Any, p: Any, rank: int) -> None:
    """Bloch 3.7.8: rank DJ(z) = dim g - dim g_z; DJ and the generators on phase space are computed
    apart.
    """
    J, z = rotations(), point(q, p)
    isotropy = J.isotropy(z)
    assert J.rank(z) == rank and isotropy.shape == (3, 3 - rank)
    assert np.allclose(J.lifted(z) @ isotropy, 0, atol=1e-9 * (1 + np.abs(J.lifted(z)).max()))
    assert J.is_regular(z) is (rank == 3)
    assert np.allclose(J.at(z, {"m": M}), np.cross(q, p))


def test_the_isotropy_of_a_configuration_is_larger_than_that_of_a_point_of_phase_space() -> None:
    J = rotations()
    place = {"x": 0.0, "y": 0.0, "z": 2.0}
    assert np.allclose(np.abs(J.isotropy(place)[:, 0]), [0, 0, 1])
    assert J.isotropy(place | {"p_x": 1.0, "p_y": 0.0, "p_z": 0.0}).shape[1] == 0


def test_a_regular_point_may_have_a_singular_value() -> None:
    """In the plane q parallel to p is a regular point, and its value 0 is that of the origin, where
    DJ vanishes.
    """
    x, y = da.coordinates("x y")
    J = da.symmetry.momentum_map(
        da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2), {"e": {x: -y, y: x}}
    )
    along, origin = {"x": 1, "y": 2, "p_x": 0.5, "p_y": 1}, {"x": 0, "y": 0, "p_x": 0, "p_y": 0}
    assert J.is_regular(along) and not J.is_regular(origin)
    assert J.at(along) == pytest.approx(J.at(origin))


def test_brackets_of_momenta_are_momenta_of_brackets() -> None:
    """{J_a, J_b} = C^c_ab J_c for a left action, by the derivatives."""
    J, z = rotations(), point((0.3, -0.5, 0.8), (1.0, 0.2, -0.4))
    DJ, n = J.derivative(z), 3
    canonical = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    assert np.allclose(DJ @ canonical @ DJ.T, LieGroup.SO(3).structure_constants @ J.at(z))


def test_the_momentum_from_velocities_is_the_one_from_momenta() -> None:
    J = rotations()
    place, v = {"x": 0.3, "y": -0.5, "z": 0.8}, np.array([0.2, 1.1, -0.7])
    moving = place | dict(zip(("x_dot", "y_dot", "z_dot"), v, strict=True))
    pushed = place | dict(zip(("p_x", "p_y", "p_z"), M * v, strict=True))
    assert np.allclose(J.at(moving, {"m": M}), J.at(pushed, {"m": M}))
    m = J.system.parameters[0]
    assert (
        sympy.expand(
            J.on_velocities[2]
            - m * (J.momentum[2].subs({q.momentum: q.dot for q in J.system.coordinates}))
        )
        == 0
    )


# -- locked inertia and mechanical connection ------------------------------------------------------


def test_the_locked_inertia_of_a_particle() -> None:
    J = rotations()
    q, m = sympy.Matrix(J.system.coordinates), J.system.parameters[0]
    expected = m * (q.dot(q) * sympy.eye(3) - q * q.T)
    assert (J.locked_inertia - expected).applyfunc(sympy.expand).is_zero_matrix
    numbers = J.inertia({"x": 1.0, "y": 2.0, "z": -0.5}, {"m": M})
    assert np.allclose(
        numbers,
        np.array(expected.subs({**dict(zip(q, (1, 2, -0.5), strict=True)), m: M})).astype(float),
    )


@pytest.mark.parametrize(
    ("place", "still"),
    [
        ((0, 0, 1), "e3 leaves it at rest"),
        ((1, 1, 0), "e1 \\+ e2 leaves it at rest"),
        ((2, 0, -1), "e1 - 0.5 e3 leaves it at rest"),
    ],
)
def test_a_singular_inertia_is_refused_with_its_isotropy(place: Any, still: str) -> None:
    with pytest.raises(ModelError, match=still):
        rotations().mechanical_connection(dict(zip("xyz", place, strict=True)), {"m": M})


def test_the_isotropy_at_the_centre_is_the_whole_group() -> None:
    with pytest.raises(
        ModelError, match="e1 leaves it at rest; e2 leaves it at rest; e3 leaves it at rest"
    ):
        rotations().least_covector([0, 0, 1], {"x": 0, "y": 0, "z": 0}, {"m": M})


def two_particles() -> tuple[Any, list[str]]:
    """Two particles in space turn together: the action is free where they are not on one line with
    the centre.
    """
    q = da.coordinates("x1 y1 z1 x2 y2 z2")
    m, k = da.parameters("m k", positive=True)
    system = da.System(
        q, kinetic=m / 2 * sum(x.dot**2 for x in q[:3]) + k / 2 * sum(x.dot**2 for x in q[3:])
    )
    both = {name: turns(q[:3])[name] | turns(q[3:])[name] for name in ("e1", "e2", "e3")}
    return da.symmetry.momentum_map(system, both), [x.name for x in q]


@pytest.mark.parametrize("seed", range(3))
def test_the_mechanical_connection_is_the_covector_of_least_energy(seed: int) -> None:
    """Bloch 3.8.11: alpha_mu = A^* mu is the one beta with J(beta) = mu and the least kinetic
    energy.
    """
    J, names = two_particles()
    random = np.random.default_rng(seed)
    place = dict(zip(names, random.uniform(-1, 1, 6), strict=True))
    masses = {"m": 1.3, "k": 0.6}
    mu = random.uniform(-1, 1, 3)
    K, A, alpha = (
        J.fields(place),
        J.mechanical_connection(place, masses),
        J.least_covector(mu, place, masses),
    )
    inverse = np.diag([1 / 1.3] * 3 + [1 / 0.6] * 3)
    assert (
        np.allclose(K.T @ alpha, mu)
        and np.allclose(alpha, A.T @ mu)
        and np.allclose(A @ K, np.eye(3))
    )
    others = [
        alpha + step - np.linalg.pinv(K.T) @ (K.T @ step) for step in random.uniform(-1, 1, (20, 6))
    ]
    energies = [beta @ inverse @ beta for beta in others]
    assert all(np.allclose(K.T @ beta, mu) for beta in others)
    assert min(energies) > alpha @ inverse @ alpha


def test_horizontal_velocities_have_no_momentum_and_are_orthogonal_to_the_orbit() -> None:
    J, names = two_particles()
    place, masses = (
        dict(zip(names, (0.3, 0.9, -0.2, 1.0, -0.4, 0.5), strict=True)),
        {"m": 1.3, "k": 0.6},
    )
    A, K = J.mechanical_connection(place, masses), J.fields(place)
    v = np.array([0.3, -1.0, 0.4, 0.7, 0.1, -0.6])
    level = v - K @ A @ v
    state = place | dict(zip((f"{name}_dot" for name in names), level, strict=True))
    assert np.allclose(J.at(state, masses), 0, atol=1e-14)
    assert not np.allclose(level, v)


def test_two_particles_on_a_line_with_the_centre_are_refused() -> None:
    J, names = two_particles()
    with pytest.raises(ModelError, match=r"0\.5 e1 \+ e2 leaves it at rest"):
        J.mechanical_connection(
            dict(zip(names, (1, 2, 0, -0.5, -1, 0), strict=True)), {"m": 1.3, "k": 0.6}
        )


def test_generators_that_are_no_isometries_are_refused() -> None:
    system, q = particle((1, 2, 3))
    J = da.symmetry.momentum_map(system, turns(q))
    assert not any(J.isometries.values())
    with pytest.raises(ModelError, match="invariant \\(seen: e1, e2, e3\\)"):
        J.mechanical_connection({"x": 1, "y": 2, "z": 3}, {"m": M})
    assert all(rotations().isometries.values())


def test_noether() -> None:
    """J of a symmetry is constant along motions; that of another action is not."""
    system, q = particle()
    well = system.replacing(potential=sum(x**2 for x in q))
    J = da.symmetry.momentum_map(well, turns(q) | {"shift": {q[0]: 1}})
    start = {"x": 1.0, "y": 0.2, "z": -0.3, "x_dot": 0.1, "y_dot": 0.8, "z_dot": 0.4}
    motion = da.simulate(
        well, start, (0, 3), parameters={"m": M}, rtol=1e-11, at=[0.0, 1.0, 2.0, 3.0]
    )
    names = list(start)
    values = np.array([J.at({name: motion[name][k] for name in names}, {"m": M}) for k in range(4)])
    assert np.ptp(values[:, :3], axis=0).max() < 1e-9 and np.ptp(values[:, 3]) > 0.1


# -- how actions are given -------------------------------------------------------------------------


def test_a_group_action_is_taken_as_it_is() -> None:
    system, q = particle()
    action = da.symmetry.GroupAction(q, LieGroup.SO(3), generators=turns(q))
    J = da.symmetry.momentum_map(system, action)
    assert J.names == ("e1", "e2", "e3") and J.momentum == rotations().momentum
    z = {
        **dict(zip(q, (0.3, -0.5, 0.8), strict=True)),
        **dict(zip((x.momentum for x in q), (-0.6, 1.0, -1.6), strict=True)),
    }
    assert J.isotropy(z).shape == action.isotropy(z).shape


def test_the_generators_of_a_body_frame_are_those_of_the_action() -> None:
    """A rigid body in the plane by its body frame: J is the linear and the angular momentum in
    space.
    """
    x, y, theta = da.coordinates("x y theta")
    body = da.System([x, y, theta], kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2)
    frame = {
        "ahead": {x: cos(theta), y: sin(theta)},
        "aside": {x: -sin(theta), y: cos(theta)},
        "turn": {theta: 1},
    }
    J = da.symmetry.connection(body, frame).momentum_map
    assert list(J.momentum) == [
        x.momentum,
        y.momentum,
        x * y.momentum - y * x.momentum + theta.momentum,
    ]


@pytest.mark.parametrize(
    ("action", "complaint"),
    [
        ({"a": {"w": 1}}, "cannot be used"),
        ({"a": {"x": da.coordinates("w")}}, "cannot be used"),
        ({}, "needs the generators"),
        ("rotations", "needs the generators"),
    ],
)
def test_what_is_no_action_is_refused(action: Any, complaint: str) -> None:
    with pytest.raises(ModelError, match=complaint):
        da.symmetry.momentum_map(particle()[0], action)


def test_text_is_not_read() -> None:
    with pytest.raises(da.errors.ExpressionError, match="text"):
        da.symmetry.momentum_map(particle()[0], {"a": {"x": "y"}})


def test_texts() -> None:
    J = rotations()
    assert J.text().splitlines()[2] == "J_e3 = -p_x*y + p_y*x" and str(J) == J.text()
    assert repr(J) == "<MomentumMap of particle: e1, e2, e3>" and "p_{x}" in J.latex()
    with pytest.raises(ModelError, match="did you mean"):
        J.at({"x": 1, "y": 1, "zz": 1})


@pytest.mark.parametrize(("a", "b"), list(product(range(2), range(2))))
def test_the_inertia_turns_with_the_configuration(a: int, b: int) -> None:
    """I(g q) Ad_g = Ad*_{g^-1} I(q) (Bloch 3.8.5 as corrected): Ad* of the inverse, and not of
    g.
    """
    J, names = two_particles()
    group = LieGroup.SO(3)
    g = group.exp([0.4 + a, -0.3, 0.2 - b])
    q, masses = np.array([0.3, 0.9, -0.2, 1.0, -0.4, 0.5]), {"m": 1.3, "k": 0.6}
    moved = np.concatenate([g @ q[:3], g @ q[3:]])
    here, there = (J.inertia(dict(zip(names, place, strict=True)), masses) for place in (q, moved))
    Ad = group.adjoint(g)
    assert np.allclose(there @ Ad, np.linalg.inv(Ad).T @ here)
    assert not np.allclose(there @ Ad, Ad.T @ here, atol=1e-2)


def test_an_energy_that_is_not_quadratic_has_no_locked_inertia() -> None:
    x, y = da.coordinates("x y")
    fast = da.System([x, y], lagrangian=-sympy.sqrt(1 - x.dot**2 - y.dot**2))
    J = da.symmetry.momentum_map(fast, {"e": {x: -y, y: x}})
    for ask in (J.inertia, J.mechanical_connection):
        with pytest.raises(ModelError, match="quadratic"):
            ask({"x": 1.0, "y": 0.0})
    with pytest.raises(ModelError, match="quadratic"):
        _ = J.locked_inertia
