"""Dirac structures of systems: lemma 1 by hand, both sides against each other, and motions against
(29) and (30).
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.errors import ModelError
from dalembert.geometry.dirac import DiracStructure, interconnect
from dalembert.geometry.two_forms import is_closed
from dalembert.model.constraints import HolonomicConstraint

SIDES = ["hamiltonian", "lagrangian"]


def canonical(n: int) -> Any:
    return np.block([[np.zeros((n, n)), -np.eye(n)], [np.eye(n), np.zeros((n, n))]])


# -- structures ------------------------------------------------------------------------------------


def test_without_constraints_it_is_the_canonical_form() -> None:
    x, y = da.coordinates("x y")
    system = da.System([x, y], kinetic=(x.dot**2 + sin(x) * y.dot**2) / 2, potential=x * y)
    structure = da.dirac.dirac_structure(system, {x: 0.3, y: 0.1})
    assert structure.labels == ("x", "y", "p_x", "p_y")
    assert np.array_equal(structure.two_form().round(12), canonical(2))
    on_v = da.dirac.dirac_structure(
        system, {x: 0.3, y: 0.1, x.dot: 0.7, y.dot: -0.2}, side="lagrangian"
    )
    assert on_v.labels == ("x", "y", "x_dot", "y_dot")
    # omega^L = d(L_v) ^ dx with signs of (-p_dot, q_dot), L_v = (x_dot, sin(x) y_dot)
    expected = np.zeros((4, 4))
    expected[0, 2], expected[1, 3] = -1.0, -np.sin(0.3)
    expected[1, 0] = -np.cos(0.3) * -0.2
    expected -= expected.T
    assert np.allclose(on_v.two_form(), expected, atol=1e-12)


def link(kind: str) -> da.System:
    """Two particles with a massless link: by its image, by its velocity row, or by its distance."""
    x1, x2, x3, x4 = da.coordinates("x1 x2 x3 x4")
    u1, u2, u3 = da.speeds("u1 u2 u3")
    a, b = x1 - x3, x2 - x4
    constraint = {
        "image": da.image({x1: u1, x2: u2, x3: u1 + b * u3, x4: u2 - a * u3}, [u1, u2, u3]),
        "row": da.velocity(a * (x1.dot - x3.dot) + b * (x2.dot - x4.dot), name="link"),
        "distance": da.holonomic(a**2 + b**2 - 1, name="link"),
    }[kind]
    kinetic = (x1.dot**2 + x2.dot**2) / 2 + x3.dot**2 + x4.dot**2
    return da.System(
        [x1, x2, x3, x4], kinetic=kinetic, potential=x2 + 2 * x4, constraints=[constraint]
    )


APART = {"x1": 0.1, "x2": -0.4, "x3": 0.7, "x4": 0.4}
TOGETHER = {"x1": 0.2, "x2": -0.1, "x3": 0.2, "x4": -0.1}
VELOCITIES = {"x1_dot": 0.1, "x2_dot": 0.2, "x3_dot": 0.3, "x4_dot": 0.4}


@pytest.mark.parametrize("side", SIDES)
def test_image_and_kernel_agree_where_the_particles_are_apart(side: str) -> None:
    by_image, by_row, by_distance = (
        da.dirac.dirac_structure(link(k), APART | VELOCITIES, side=side)
        for k in ("image", "row", "distance")
    )
    assert by_image.dimension == 8 and by_image.admissible_flows.shape[1] == 7
    assert by_image.distance(by_row) < 1e-12
    assert by_image.distance(by_distance) < 1e-12


@pytest.mark.parametrize("side", SIDES)
def test_image_and_kernel_differ_where_the_particles_coincide(side: str) -> None:
    """The image ties the velocities, the row says 0 = 0; the dimension stays 8 in both."""
    by_image, by_row = (
        da.dirac.dirac_structure(link(kind), TOGETHER | VELOCITIES, side=side)
        for kind in ("image", "row")
    )
    assert by_image.dimension == by_row.dimension == 8
    assert by_image.admissible_flows.shape[1] == 6 and by_row.is_symplectic
    assert by_image.distance(by_row) == pytest.approx(1.0)
    assert np.allclose(by_image.admissible_flows[0], by_image.admissible_flows[2], atol=1e-14)
    assert np.allclose(by_image.admissible_flows[1], by_image.admissible_flows[3], atol=1e-14)


def test_the_equations_of_the_link_are_the_printed_ones() -> None:
    """(37) to (39): the flows and efforts of D written out, with u3 eliminated."""
    structure = da.dirac.dirac_structure(link("image"), APART)
    a, b = APART["x1"] - APART["x3"], APART["x2"] - APART["x4"]
    flows, efforts = structure.image
    x, p, derivative_x, derivative_p = flows[:4], flows[4:], efforts[:4], efforts[4:]
    assert np.allclose(x, derivative_p, atol=1e-13)
    assert np.allclose(a * (x[2] - x[0]) + b * (x[3] - x[1]), 0, atol=1e-13)
    assert np.allclose(p[0] + p[2] + derivative_x[0] + derivative_x[2], 0, atol=1e-13)
    assert np.allclose(p[1] + p[3] + derivative_x[1] + derivative_x[3], 0, atol=1e-13)
    assert np.allclose(b * (p[2] + derivative_x[2]) - a * (p[3] + derivative_x[3]), 0, atol=1e-13)


@pytest.mark.parametrize("repeated", [1, 3])
def test_the_link_is_the_interconnection_of_two_free_particles(repeated: int) -> None:
    x1, x2, x3, x4 = da.coordinates("x1 x2 x3 x4")
    first = da.System([x1, x2], kinetic=(x1.dot**2 + x2.dot**2) / 2)
    second = da.System([x3, x4], kinetic=x3.dot**2 + x4.dot**2)
    one = da.dirac.dirac_structure(first, {k: APART[k] for k in ("x1", "x2")})
    other = da.dirac.dirac_structure(second, {k: APART[k] for k in ("x3", "x4")})
    a, b = APART["x1"] - APART["x3"], APART["x2"] - APART["x4"]
    row = np.array([a, b, 0, 0, -a, -b, 0, 0])
    joined = interconnect(one, other, np.outer(np.arange(1, repeated + 1), row))
    order = [0, 1, 4, 5, 2, 3, 6, 7]  # (x1, x2, p1, p2, x3, ...) -> (x1, x2, x3, x4, p1, ...)
    both = DiracStructure(joined.flows[order], joined.efforts[order])
    assert both.distance(da.dirac.dirac_structure(link("row"), APART)) < 1e-12


@pytest.mark.parametrize(
    "name",
    ["rolling-disk", "chaplygin-sleigh", "linked-particles", "two-particles-incline", "lc-circuit"],
)
def test_the_structure_on_velocities_is_the_pull_back_by_the_legendre_map(name: str) -> None:
    scenario = da.gallery.load(name)
    system = scenario.system
    n = len(system.coordinates)
    random = np.random.default_rng(4)
    at = {
        s.name: float(random.uniform(0.2, 1.0)) for s in (*system.coordinates, *system.velocities)
    }
    on_p, on_v = (da.dirac.dirac_structure(system, at, scenario.parameters, side) for side in SIDES)
    values = {s: at[s.name] for s in (*system.coordinates, *system.velocities)}
    values |= {p: scenario.parameters[p.name] for p in system.parameters}
    lagrangian = system.lagrangian
    if lagrangian is None:  # stated by H, with momenta m v
        masses = [1 / sympy.diff(system.hamiltonian, p, 2) for p in system.momenta]
        momenta = [m * v for m, v in zip(masses, system.velocities, strict=True)]
    else:
        momenta = [sympy.diff(lagrangian, v) for v in system.velocities]
    derivatives = (
        sympy.Matrix(momenta).jacobian([*system.coordinates, *system.velocities]).subs(values)
    )
    tangent = np.vstack([np.eye(n, 2 * n), np.array(derivatives, dtype=float)])
    assert on_v.distance(on_p.pulled_back(tangent)) < 1e-10


def test_further_constraints_restrict_an_image() -> None:
    x, y, z = da.coordinates("x y z")
    u, w = da.speeds("u w")
    image = da.image({x: u, y: w, z: y * u}, [u, w])
    system = da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        constraints=[image, da.velocity(x.dot - 2 * y.dot)],
    )
    structure = da.dirac.dirac_structure(system, {x: 0.0, y: 0.5, z: 0.0})
    flows = structure.admissible_flows
    assert flows.shape[1] == 4
    assert np.allclose(flows[2], 0.5 * flows[0]) and np.allclose(flows[0], 2 * flows[1])


# -- bundles ---------------------------------------------------------------------------------------


@cache
def bar() -> da.System:
    """The bar on a massless pendulum, with v = l sin(theta) theta_dot (43, 44)."""
    theta = da.coordinates("theta")
    v = da.speeds("v")
    m, g, l = da.parameters("m g l", positive=True)
    return da.System(
        [theta],
        lagrangian=m * v**2 / 2 + m * g * l * cos(theta),
        bundle={v: l * sin(theta) * theta.dot},
    )


def test_the_bar_has_the_printed_form_and_is_degenerate_at_the_vertical() -> None:
    """(49): (H_theta, H_p) = l sin(theta) (-p_dot, theta_dot)."""
    l, theta = 1.3, 0.7
    structure = da.dirac.dirac_structure(bar(), {"theta": theta}, {"l": l})
    assert structure.labels == ("theta", "p_v")
    assert np.allclose(structure.two_form(), l * np.sin(theta) * canonical(1), atol=1e-13)
    for vertical in (0.0, np.pi):
        singular = da.dirac.dirac_structure(bar(), {"theta": vertical}, {"l": l})
        assert singular.is_presymplectic and not singular.is_symplectic
        assert np.abs(singular.two_form()).max() < 1e-15
    angle, p = sympy.symbols("theta p")
    assert is_closed([[0, -sin(angle)], [sin(angle), 0]], [angle, p])


@pytest.mark.parametrize("side", SIDES)
def test_the_bar_moves_in_its_structure(side: str) -> None:
    values = {"m": 1.2, "g": 9.81, "l": 1.0}
    motion = da.simulate(bar(), {"theta": 1.5, "theta_dot": 0.4}, (0, 0.2), parameters=values)
    assert da.dirac.dirac_residual(motion, side).max() < 1e-12


@cache
def turning_body() -> da.System:
    """A rigid body with its angular velocity in the body as fibre, for z-x-z Euler angles: sigma
    depends on the place.
    """
    phi, theta, psi = da.coordinates("phi theta psi")
    w = da.speeds("w1 w2 w3")
    spin = [
        phi.dot * sin(theta) * sin(psi) + theta.dot * cos(psi),
        phi.dot * sin(theta) * cos(psi) - theta.dot * sin(psi),
        phi.dot * cos(theta) + psi.dot,
    ]
    kinetic = sum(inertia * speed**2 / 2 for inertia, speed in zip((1, 2, 3), w, strict=True))
    return da.System([phi, theta, psi], lagrangian=kinetic, bundle=dict(zip(w, spin, strict=True)))


def test_the_form_of_a_turning_body_is_eulers() -> None:
    """The turning term is the vector product in body axes: dH = (0, w) gives p_dot = p x w (24 to
    26 with E = 1).
    """
    at = {"phi": 0.3, "theta": 1.1, "psi": -0.4, "w1": 0.5, "w2": -0.7, "w3": 1.9}
    structure = da.dirac.dirac_structure(turning_body(), at)
    assert structure.labels[3:] == ("p_w1", "p_w2", "p_w3") and structure.is_symplectic
    w = np.array([0.5, -0.7, 1.9])
    p = np.array([1, 2, 3]) * w
    rate = structure.bivector() @ np.concatenate([np.zeros(3), w])
    assert np.allclose(rate[3:], np.cross(p, w), atol=1e-12)
    by_momenta = da.dirac.dirac_structure(
        turning_body(),
        {k: at[k] for k in ("phi", "theta", "psi")}
        | dict(zip(("p_w1", "p_w2", "p_w3"), p, strict=True)),
    )
    assert by_momenta.distance(structure) < 1e-12


@pytest.mark.parametrize("side", SIDES)
def test_a_turning_body_moves_in_its_structure(side: str) -> None:
    start = {
        "phi": 0.3,
        "theta": 1.1,
        "psi": -0.4,
        "phi_dot": 0.5,
        "theta_dot": 0.2,
        "psi_dot": 1.0,
    }
    motion = da.simulate(turning_body(), start, (0, 2), at=np.linspace(0, 2, 9))
    assert da.dirac.dirac_residual(motion, side).max() < 1e-11


def test_the_fields_of_forms_are_closed() -> None:
    """The pull-back of a closed form is closed: the matrix of D on V* in symbols, for two fibre
    velocities over the plane.
    """
    x, y, p1, p2 = sympy.symbols("x y p1 p2")
    sigma = sympy.Matrix([[1, x * y], [sin(y), x**2]])
    costate = sigma.T * sympy.Matrix([p1, p2])
    tangent = sympy.Matrix.vstack(
        sympy.Matrix([[1, 0, 0, 0], [0, 1, 0, 0]]), costate.jacobian([x, y, p1, p2])
    )
    flat = sympy.Matrix([[0, 0, -1, 0], [0, 0, 0, -1], [1, 0, 0, 0], [0, 1, 0, 0]])
    omega = tangent.T * flat * tangent
    assert is_closed(omega, [x, y, p1, p2])
    assert not is_closed(omega.subs(p1, 1), [x, y, p1, p2])
    v1, v2 = da.speeds("v1 v2")
    a, b = da.coordinates("x y")
    system = da.System(
        [a, b],
        lagrangian=(v1**2 + v2**2) / 2,
        bundle={v1: a.dot + a * b * b.dot, v2: sin(b) * a.dot + a**2 * b.dot},
    )
    values = {x: 0.4, y: 0.9, p1: -0.3, p2: 0.8}
    made = da.dirac.dirac_structure(system, {"x": 0.4, "y": 0.9, "v1": -0.3, "v2": 0.8})
    assert np.allclose(made.two_form(), np.array(omega.subs(values), dtype=float), atol=1e-12)


# -- motions ---------------------------------------------------------------------------------------

#: Vakonomic motions that are not nonholonomic ones.
APART_FROM_NATURE = ("nonholonomic-particle-vakonomic", "rolling-disk-vakonomic")


def has_a_rest(system: da.System) -> bool:
    """Whether a constraint is not homogeneous in the velocities, so that the velocity is no virtual
    displacement.
    """
    rest = dict.fromkeys((*system.velocities, *system.momenta), 0)
    return any(
        (
            c.expression.has(da.t)
            if isinstance(c, HolonomicConstraint)
            else c.expression.subs(rest) != 0
        )
        for c in system.bilateral
    )


@pytest.mark.parametrize("name", da.gallery.names("mechanical"))
def test_motions_of_the_gallery_obey_their_structure(name: str) -> None:
    scenario = da.gallery.load(name)
    system, vakonomic = scenario.system, scenario.simulate.get("form") == "vakonomic"
    begin, end = scenario.simulate["span"]
    motion = da.simulate(
        scenario,
        span=(begin, begin + (end - begin) / 4),
        at=np.linspace(begin, begin + (end - begin) / 4, 5),
    )
    for side in SIDES:
        n = len(system.coordinates)
        assert da.dirac.dirac_structure(scenario, side=side).dimension == n + (
            len(system.bundle) or n
        )
        residual = da.dirac.dirac_residual(motion, side).max()
        if has_a_rest(system) or name in APART_FROM_NATURE:
            assert residual > 1e-3
        elif not vakonomic:
            assert residual < 1e-11


def test_the_gallery_holds_motions_on_both_sides() -> None:
    rests = [
        name for name in da.gallery.names("mechanical") if has_a_rest(da.gallery.load(name).system)
    ]
    assert {"snakeboard-gait", "ball-on-rotating-plate"} <= set(rests)
    assert not {"driven-double-pendulum", "appell", "rolling-disk", "lc-circuit"} & set(rests)


@pytest.mark.parametrize("side", SIDES)
def test_forces_dissipation_inputs_and_time_are_taken_into_account(side: str) -> None:
    x, y = da.coordinates("x y")
    u = da.inputs("u")
    t = da.t
    system = da.System(
        [x, y],
        lagrangian=(1 + sin(t) ** 2) * (x.dot**2 + y.dot**2) / 2 + t * x.dot - x**2 * y,
        forces={x: u - y.dot, y: sin(t)},
        dissipation=x.dot**2 / 4,
        inputs={u: cos(t)},
        constraints=[da.velocity(y.dot - x * x.dot)],
    )
    motion = da.simulate(system, {x: 0.5, x.dot: 1.0}, (0, 2), at=np.linspace(0, 2, 7))
    assert da.dirac.dirac_residual(motion, side).max() < 1e-12


def test_a_hamiltonian_that_is_not_quadratic() -> None:
    """A relativistic particle: D needs no Lagrangian."""
    x, y = da.coordinates("x y")
    energy = sympy.sqrt(1 + x.momentum**2 + y.momentum**2) + x**2 / 2 + y**2
    system = da.System(
        [x, y],
        hamiltonian=energy,
        constraints=[da.momentum(x.momentum * sin(x) - y.momentum * cos(x), name="blade")],
    )
    motion = da.simulate(
        system,
        {x: 0.3, y: 0.1, x.momentum: 1.0, y.momentum: np.tan(0.3)},
        (0, 1),
        at=np.linspace(0, 1, 5),
    )
    assert da.dirac.dirac_residual(motion).max() < 1e-11


def test_the_residual_sees_a_wrong_acceleration() -> None:
    """The same states with the accelerations of another potential leave the structure."""
    x, y = da.coordinates("x y")
    kinetic, blade = (x.dot**2 + y.dot**2) / 2, da.velocity(y.dot - x * x.dot, name="blade")
    right = da.System([x, y], kinetic=kinetic, potential=x**2, constraints=[blade])
    motion = da.simulate(right, {x: 0.5, x.dot: 1.0}, (0, 1), at=[0, 0.5, 1])

    class Wrong:
        system, t, parameters = right, motion.t, motion.parameters

        def __getitem__(self, name: str) -> Any:
            return motion[name] + (0.1 if name == "x_ddot" else 0.0)

    assert da.dirac.dirac_residual(motion).max() < 1e-13
    assert da.dirac.dirac_residual(Wrong()).min() > 1e-2  # type: ignore[arg-type]


# -- states ----------------------------------------------------------------------------------------


def test_a_state_can_be_given_by_velocities_momenta_or_speeds() -> None:
    scenario = da.gallery.load("linked-particles")
    system, values = scenario.system, scenario.parameters
    at = {k: v for k, v in scenario.start.items() if k.startswith("x")}
    velocity = {
        "x1_dot": 0.3,
        "x2_dot": 2.0,
        "x3_dot": 0.3,
        "x4_dot": 2.0 - 2.5,
    }  # x3_dot = u1 + (x2 - x4) u3, ...
    momentum = {f"p_{k[:2]}": (1.0 if k[1] in "12" else 2.0) * v for k, v in velocity.items()}
    by_speeds = da.dirac.dirac_structure(scenario, side="lagrangian")
    for state in (velocity, momentum):
        assert (
            da.dirac.dirac_structure(system, at | state, values, "lagrangian").distance(by_speeds)
            < 1e-12
        )
    assert (
        da.dirac.dirac_structure(system, at).dimension == 8
    )  # on V* neither velocities nor masses matter


def test_what_is_missing_or_unknown_is_said() -> None:
    system = link("image")
    with pytest.raises(ModelError, match="depends on x1, x2, x3, x4"):
        da.dirac.dirac_structure(system)
    with pytest.raises(ModelError, match="did you mean x1"):
        da.dirac.dirac_structure(system, APART | {"x11": 1.0})
    with pytest.raises(ModelError, match="finite number"):
        da.dirac.dirac_structure(system, APART | {"x1": np.nan})
    with pytest.raises(ModelError, match="no parameter"):
        da.dirac.dirac_structure(system, APART, {"m": 1.0})
    with pytest.raises(ModelError, match="did you mean lagrangian"):
        da.dirac.dirac_structure(system, APART, side="lagrange")
    with pytest.raises(ModelError, match="System or a Scenario"):
        da.dirac.dirac_structure("link")  # type: ignore[arg-type]
    with pytest.raises(ModelError, match=r"depends on l \(seen: t, theta\)"):
        da.dirac.dirac_structure(bar(), {"theta": 0.3})
    with pytest.raises(ModelError, match="not defined"):
        da.dirac.dirac_structure(
            da.gallery.load("appell").system,
            dict.fromkeys(("q1", "q2", "q3", "q1_dot", "q2_dot", "q3_dot"), 0.0),
            {"a": 1.0},
        )
