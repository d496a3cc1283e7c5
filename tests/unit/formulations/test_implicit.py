"""The implicit forms on bundles: more or fewer fibre velocities than coordinates, closed forms,
images that lose rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from agreement import evidence, gap_of, instants, worst_gap
from core_systems import random_system
from dalembert.errors import FormError
from dalembert.formulations.fibre_velocities import legendre_state
from dalembert.model.constraints import ImageConstraint

FORMS = ("implicit-lagrangian", "implicit-hamiltonian")


def bar() -> da.System:
    """A bar of unit mass guided by a massless pendulum of unit length, on the bundle of its own
    velocity.
    """
    theta = da.coordinates("theta")
    v = da.speeds("v")
    return da.System(
        [theta],
        lagrangian=v**2 / 2 + sympy.Rational(981, 100) * cos(theta),
        bundle={v: sin(theta) * theta.dot},
    )


# -- bundles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kinds", ["", "v", "h", "t", "cvd"])
def test_more_fibre_velocities_than_coordinates(kinds: str) -> None:
    """L(q, u) in n + 1 fibre velocities is L(q, sigma q_dot): the implicit forms against Lagrange's
    equations of that.
    """
    system = random_system(60 + len(kinds), n=3, kinds=kinds, stated="bundle")
    assert len(system.bundle) == 4
    assert worst_gap(system, [da.derive(system, form) for form in FORMS]) < 1e-9


def test_fewer_fibre_velocities_than_coordinates() -> None:
    """L is singular in q_dot, and regular in the one fibre velocity; a constraint makes the motion
    determined.
    """
    x, y = da.coordinates("x y")
    v = da.speeds("v")
    lagrangian = v**2 / 2 - x**2 - y**2 / 2
    system = da.System(
        [x, y],
        lagrangian=lagrangian,
        bundle={v: (1 + y**2) * x.dot + x * y.dot},
        constraints=[da.velocity(y.dot - cos(x) * x.dot, name="f")],
        forces={x: -y.dot},
    )
    start = {x: 0.3, y: 0.2, x.dot: 0.5}
    plain = da.simulate(system, start, (0, 1), form="lagrange", rtol=1e-11)
    for form in FORMS:
        motion = da.simulate(system, start, (0, 1), form=form, rtol=1e-11)
        assert np.allclose(motion.y[:, -1], plain.y[:, -1], atol=1e-9), form
        assert np.allclose(motion.total_reaction[:, -1], plain.total_reaction[:, -1], atol=1e-8), (
            form
        )
    with pytest.raises(FormError, match="singular"):
        da.derive(system, "hamilton")


@pytest.mark.parametrize("form", FORMS)
def test_the_bar_falls_freely(form: str) -> None:
    """l cos(theta) = l cos(theta0) - v0 t + g t^2/2, with v0 = l sin(theta0) theta0_dot; the
    momentum of the bar is m v.
    """
    system, start = bar(), {"theta": 2.0, "theta_dot": 0.8}
    motion = da.simulate(system, start, (0, 0.4), form=form, rtol=1e-12)
    v0 = np.sin(2.0) * 0.8
    assert np.allclose(
        np.cos(motion["theta"]), np.cos(2.0) - v0 * motion.t + 9.81 * motion.t**2 / 2, atol=1e-10
    )
    assert np.allclose(
        np.sin(motion["theta"]) * motion["theta_dot"], v0 - 9.81 * motion.t, atol=1e-9
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_rigid_body_on_the_bundle_of_its_angular_velocity(form: str) -> None:
    """L = I_a w_a^2/2 in body components w = sigma(q) q_dot: Euler's equations I w' = I w x w."""
    phi, theta, psi = da.coordinates("phi theta psi")
    w = da.speeds("w1:4")
    sigma = {
        w[0]: phi.dot * sin(theta) * sin(psi) + theta.dot * cos(psi),
        w[1]: phi.dot * sin(theta) * cos(psi) - theta.dot * sin(psi),
        w[2]: phi.dot * cos(theta) + psi.dot,
    }
    inertia = np.array([1.3, 2.1, 0.6])
    lagrangian = sum(i * u**2 for i, u in zip(inertia, w, strict=True)) / 2
    system = da.System([phi, theta, psi], lagrangian=lagrangian, bundle=sigma)
    assert legendre_state(system).is_hyperregular is True
    of = sympy.lambdify([[phi, theta, psi], system.velocities], list(sigma.values()))
    for instant in instants(system, 3, 2):
        word = evidence(da.derive(system, form), instant)
        assert word is not None
        h, spin = 1e-5, np.array(of(instant.q, instant.v))
        ahead, behind = (
            of(instant.q + s * instant.v, instant.v + s * word["accelerations"]) for s in (h, -h)
        )
        assert np.allclose(
            (np.array(ahead) - behind) / (2 * h),
            np.cross(inertia * spin, spin) / inertia,
            atol=1e-8,
        )
        assert word["energy"][0] == pytest.approx(inertia @ spin**2 / 2, rel=1e-12)


# -- images ----------------------------------------------------------------------------------------


def in_image(system: da.System, fields: list[list[Any]], name: str = "w") -> da.System:
    """A system whose velocities are combinations of vector fields, given as columns by
    coordinate.
    """
    speeds = [da.Speed(f"{name}{k + 1}") for k in range(len(fields))]
    velocities = {
        q: sum(field[k] * u for field, u in zip(fields, speeds, strict=True))
        for k, q in enumerate(system.coordinates)
    }
    return system.replacing(constraints=[da.image(velocities, speeds)])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("stated", ["lagrangian", "bundle", "hamiltonian"])
def test_fields_that_depend_on_each_other_leave_the_motion_unique(form: str, stated: str) -> None:
    """Three fields that span a plane: accelerations and reaction are those of the velocity
    constraint.
    """
    rows = random_system(70, n=3, kinds="v", stated=stated)
    q1 = rows.coordinates[0]
    f = rows.constraints[0].expression
    A = [sympy.diff(f, v) for v in rows.velocities]
    fields = [[A[1], -A[0], 0], [0, A[2], -A[1]], [A[1] * q1, -A[0] * q1 + A[2], -A[1]]]
    image = in_image(rows, fields)
    for instant in instants(rows, 5, 2):
        one, two = (
            evidence(da.derive(rows, "lagrange"), instant),
            evidence(da.derive(image, form), instant),
        )
        assert one is not None and two is not None
        assert gap_of(one, two)[0] < 1e-9
    assert isinstance(image.constraints[0], ImageConstraint)


@pytest.mark.parametrize("form", FORMS)
def test_linked_particles_at_zero_distance(form: str) -> None:
    """The third field vanishes there: the pair moves as one particle of mass m1 + m2 on both
    springs, and u3 is free.
    """
    scenario = da.gallery.load("linked-particles-zero-distance")
    values, start = scenario.parameters, scenario.start
    mass, stiffness = values["m1"] + values["m2"], values["k1"] + values["k2"]
    motion = da.simulate(scenario, span=(0, 2), at=[0, 0.7, 2.0], form=form)
    assert motion.success
    rate = np.sqrt(stiffness / mass)
    middle = {"x1": 0.0, "x2": -values["g"] * mass / stiffness}
    for k, (name, other) in enumerate((("x1", "x3"), ("x2", "x4")), start=1):
        swing = (start[name] - middle[name]) * np.cos(rate * motion.t) + start[
            f"u{k}"
        ] / rate * np.sin(rate * motion.t)
        assert np.allclose(motion[name], middle[name] + swing, atol=1e-9)
        assert np.allclose(motion[other], motion[name], atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_a_constraint_beside_the_image_with_work_of_its_own(form: str) -> None:
    """The reaction of the image is its own: the force that the other constraint prescribes is not
    in it.
    """
    x, y, theta = da.coordinates("x y theta")
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    rough = da.velocity(theta.dot - x.dot, name="rough", work={x: 1 - 2 * x.dot, theta: y.momentum})
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    by_rows = da.System(
        [x, y, theta], kinetic=kinetic, constraints=[blade, rough], forces={x: 1 + y.dot}
    )
    u1, u2 = da.speeds("u1 u2")
    image = da.image({x: u1 * cos(theta), y: u1 * sin(theta), theta: u2}, [u1, u2], name="blade")
    by_image = by_rows.replacing(constraints=[image, rough])
    start = {"theta": 0.4, "u1": 0.3, "u2": 0.3 * np.cos(0.4)}
    motion = da.simulate(by_image, start, (0, 0), form=form)
    plain = da.simulate(
        by_rows,
        {s: motion[s][0] for s in (*by_rows.coordinates, *by_rows.velocities)},
        (0, 0),
        form="lagrange",
    )
    for name in ("blade", "rough"):
        assert np.allclose(motion.reactions[name].force, plain.reactions[name].force, atol=1e-12), (
            name
        )


# -- Legendre --------------------------------------------------------------------------------------


def test_what_is_known_of_the_legendre_transformation() -> None:
    on_bundle = legendre_state(bar())
    assert (on_bundle.rank, on_bundle.size, on_bundle.is_regular, on_bundle.is_hyperregular) == (
        1,
        1,
        True,
        True,
    )
    theta = bar().coordinates[0]
    plain = legendre_state(da.System([theta], lagrangian=bar().lagrangian))
    assert (plain.is_regular, plain.is_hyperregular) == (True, None)
    assert "not decided" in plain.reason
    x, y = da.coordinates("x y")
    singular = legendre_state(da.System([x, y], kinetic=(x.dot + y.dot) ** 2, potential=x))
    assert (singular.rank, singular.size, singular.is_regular, singular.is_hyperregular) == (
        1,
        2,
        False,
        False,
    )
    assert (
        legendre_state(da.System([x], hamiltonian=x.momentum**2 / 2 + x**2)).is_hyperregular is True
    )
    m = da.parameters("m", positive=True)
    assert legendre_state(da.System([x], kinetic=m * x.dot**2 / 2)).is_hyperregular is True


def test_the_hamiltonian_form_needs_a_regular_legendre_transformation() -> None:
    x, y = da.coordinates("x y")
    constraint = da.velocity(y.dot - x.dot * x, name="f")
    system = da.System([x, y], kinetic=x.dot**2 / 2, potential=y, constraints=[constraint])
    with pytest.raises(
        FormError, match=r'not hyperregular.*rank 1 of 2.*bundle.*"implicit-lagrangian"'
    ):
        da.derive(system, "implicit-hamiltonian")
    assert da.derive(system, "implicit-lagrangian").form == "implicit-lagrangian"


@pytest.mark.parametrize("kinds", ["a", "n", "s", "r"])
def test_constraints_without_an_image_are_refused(kinds: str) -> None:
    """Affine, nonlinear and moving constraints have no linear image."""
    system = random_system(80, n=3, kinds=kinds)
    for form in FORMS:
        with pytest.raises(FormError):
            da.derive(system, form)


def test_an_implicit_form_needs_constraints_or_a_bundle() -> None:
    system = random_system(80, n=2, kinds="")
    for form in FORMS:
        with pytest.raises(FormError, match=r'neither.*use the form "lagrange"'):
            da.derive(system, form)


# -- the Hamiltonian side in momenta ---------------------------------------------------------------


def test_the_hamiltonian_form_is_written_in_momenta() -> None:
    """The state of the bar is (theta, p), p_dot = -m g by (49), and the text names p."""
    equations = da.derive(bar(), "implicit-hamiltonian")
    assert [s.name for s in equations.state] == ["theta", "p_v"]
    assert "p_v_dot" in equations.text() and "p_{v}" in equations.latex()
    assert equations.text() != da.derive(bar(), "implicit-lagrangian").text()
    rate = equations.function()(0.0, [1.1, 0.4], {})
    assert np.allclose(rate, [0.4 / np.sin(1.1), -9.81], atol=1e-12)


def test_momenta_start_and_are_reported() -> None:
    """A start by p is the start by the velocity that belongs to it."""
    by_momentum = da.simulate(bar(), {"theta": 2.0, "p_v": 0.3}, (0, 0.2), form=FORMS[1])
    rate = 0.3 / np.sin(2.0)
    by_velocity = da.simulate(bar(), {"theta": 2.0, "theta_dot": rate}, (0, 0.2), form=FORMS[1])
    assert np.allclose(by_momentum["p_v"], 0.3 - 9.81 * by_momentum.t, atol=1e-10)
    assert np.allclose(by_momentum.y[:, -1], by_velocity.y[:, -1], atol=1e-9)


def test_linked_particles_in_momenta() -> None:
    """(37)-(39): x_dot = H_p and the three sums of p_dot + H_x, at random states on the image."""
    system = da.gallery.load("linked-particles").system
    equations = da.derive(system, "implicit-hamiltonian")
    names = [s.name for s in equations.state]
    assert names[4:] == ["p_x1", "p_x2", "p_x3", "p_x4", "u1", "u2", "u3"]
    values = {"m1": 1.3, "m2": 0.7, "g": 9.81, "k1": 2.0, "k2": 0.5}
    random = np.random.default_rng(4)
    for x in (random.uniform(-1, 1, 4), np.array([0.3, -0.2, 0.3, -0.2])):
        u = random.uniform(-1, 1, 3)
        v = np.array([u[0], u[1], u[0] + (x[1] - x[3]) * u[2], u[1] - (x[0] - x[2]) * u[2]])
        p = np.array([1.3, 1.3, 0.7, 0.7]) * v
        rates = np.asarray(equations.function()(0.0, [*x, *p, *u], values))
        pull = np.array([2.0, 2.0, 0.5, 0.5]) * x + 9.81 * np.array([0, 1.3, 0, 0.7])
        e = rates[4:8] + pull
        assert np.allclose(rates[:4], v, atol=1e-14)
        assert np.allclose([e[0] + e[2], e[1] + e[3]], 0.0, atol=1e-12)
        assert abs((x[1] - x[3]) * e[2] - (x[0] - x[2]) * e[3]) < 1e-12


def test_an_image_that_depends_on_time_and_a_further_constraint() -> None:
    """Speeds along a turning frame, and a row beside them: both implicit forms from one start."""
    x, y, z = da.coordinates("x y z")
    u1, u2, u3 = da.speeds("u1 u2 u3")
    turned = {
        x: cos(da.t) * u1 - sin(da.t) * u2,
        y: sin(da.t) * u1 + cos(da.t) * u2,
        z: u3 + x * u1,
    }
    system = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + 2 * y.dot**2 + (1 + x**2) * z.dot**2) / 2,
        potential=x**2 + y * z,
        constraints=[
            da.image(turned, [u1, u2, u3]),
            da.velocity(z.dot - y * x.dot, name="f"),
        ],
    )
    start = {x: 0.3, y: 0.5, u1: 0.4, u2: -0.3}
    one, two = (
        da.simulate(system, start, (0, 1), form=form, rtol=1e-11, at=[0, 0.5, 1]) for form in FORMS
    )
    for name in ("x", "y", "z", "x_dot", "z_dot", "z_ddot"):
        assert np.allclose(one[name], two[name], atol=1e-8), name
    assert np.allclose(one.total_reaction, two.total_reaction, atol=1e-7)
