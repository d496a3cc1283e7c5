"""The Poincare-Chetaev equations: structure constants of known groups, Euler's equations, and
frames that are no group's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from agreement import kernel_of, worst_gap
from core_systems import random_system
from dalembert.errors import FormError
from dalembert.formulations.forms.poincare_chetaev import found_frame
from dalembert.formulations.reduction.group_frame import given_frame, structure_constants

LEVI_CIVITA = np.zeros((3, 3, 3))
for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI_CIVITA[i, j, k], LEVI_CIVITA[j, i, k] = 1.0, -1.0


def euler_angles() -> tuple[Any, dict[Any, Any], dict[str, dict[Any, Any]]]:
    """Angles (precession, nutation, spin), the body's angular velocity in them, and the fields
    along its axes.
    """
    phi, theta, psi = da.coordinates("phi theta psi")
    rates = {
        "W1": phi.dot * sin(theta) * sin(psi) + theta.dot * cos(psi),
        "W2": phi.dot * sin(theta) * cos(psi) - theta.dot * sin(psi),
        "W3": phi.dot * cos(theta) + psi.dot,
    }
    frame = {
        "W1": {
            phi: sin(psi) / sin(theta),
            theta: cos(psi),
            psi: -sin(psi) * cos(theta) / sin(theta),
        },
        "W2": {
            phi: cos(psi) / sin(theta),
            theta: -sin(psi),
            psi: -cos(psi) * cos(theta) / sin(theta),
        },
        "W3": {psi: 1},
    }
    return (phi, theta, psi), rates, frame


def random_frame(system: da.System, seed: int) -> dict[str, dict[Any, Any]]:
    """n independent fields whose brackets have coefficients that depend on the position."""
    random = np.random.default_rng(seed)
    q = system.coordinates
    return {
        f"w{a + 1}": {
            c: float(random.uniform(-0.4, 0.4)) + sin(q[b - 1]) / 4 + 2 * int(a == b)
            for b, c in enumerate(q)
        }
        for a in range(len(q))
    }


# -- structure constants ---------------------------------------------------------------------------


def test_the_body_frame_of_the_plane_is_found() -> None:
    """[e_theta, e_x] = e_y, [e_theta, e_y] = -e_x, [e_x, e_y] = 0: SE(2)."""
    system = da.gallery.load("chaplygin-sleigh").system
    frame = found_frame(system)
    assert frame is not None and frame.group == "SE(2) on (x, y, theta)"
    expected = np.zeros((3, 3, 3))
    expected[2, 0, 1], expected[0, 2, 1] = 1, -1
    expected[2, 1, 0], expected[1, 2, 0] = -1, 1
    assert np.array_equal(structure_constants(system, frame)[0], expected)


def test_a_heading_that_turns_the_other_way_is_found() -> None:
    x, y, theta = da.coordinates("x y theta")
    ahead = x.dot * cos(theta) - y.dot * sin(theta)
    aside = x.dot * sin(theta) + y.dot * cos(theta)
    system = da.System(
        [theta, x, y], kinetic=ahead**2 / 2 + aside**2 + theta.dot * ahead / 3 + theta.dot**2
    )
    assert found_frame(system) is not None
    assert worst_gap(system, [da.derive(system, "poincare-chetaev")]) < 1e-10


def test_the_body_frame_of_a_rigid_body_is_that_of_rotations() -> None:
    """[e_a, e_b] = +eps_abc e_c for the left-invariant fields of SO(3)."""
    (phi, theta, psi), rates, frame = euler_angles()
    system = da.System([phi, theta, psi], kinetic=sum(w**2 for w in rates.values()) / 2)
    constants = structure_constants(system, given_frame(system, frame))[0]
    assert np.array_equal(constants, LEVI_CIVITA)


def test_structure_constants_are_those_of_a_lie_algebra() -> None:
    """Antisymmetric, and the Jacobi identity holds, on a frame whose constants contain a
    parameter-free scale.
    """
    x, y, theta, s = da.coordinates("x y theta s")
    system = da.System([x, y, theta, s], kinetic=sum(q.dot**2 for q in (x, y, theta, s)) / 2)
    frame = {
        "a": {x: 2 * cos(theta), y: 2 * sin(theta)},
        "b": {x: -sin(theta), y: cos(theta)},
        "c": {theta: 3, s: 1},
        "d": {s: 1},
    }
    c = structure_constants(system, given_frame(system, frame))[0]
    assert c is not None and c[2, 0, 1] == pytest.approx(6.0)
    assert np.allclose(c, -c.transpose(1, 0, 2))
    cyclic = np.einsum("abe,ecd->abcd", c, c)
    assert np.allclose(
        cyclic + cyclic.transpose(1, 2, 0, 3) + cyclic.transpose(2, 0, 1, 3), 0, atol=1e-12
    )


def test_structure_functions_that_are_not_constant_are_told_apart() -> None:
    system = random_system(2, n=3, kinds="")
    assert structure_constants(system, given_frame(system, random_frame(system, 1)))[0] is None


# -- Euler's equations -----------------------------------------------------------------------------


def test_a_free_rigid_body_obeys_eulers_equations() -> None:
    """I_1 W_1' = (I_2 - I_3) W_2 W_3 and so on, at random states; the orientation does not
    enter.
    """
    inertia = (1.3, 2.1, 0.6)
    angles, rates, frame = euler_angles()
    kinetic = sum(i * w**2 for i, w in zip(inertia, rates.values(), strict=True)) / 2
    kernel = kernel_of(
        da.derive(da.System(angles, kinetic=kinetic), "poincare-chetaev", frame=frame)
    )
    random = np.random.default_rng(0)
    for _ in range(3):
        w = random.normal(size=3)
        state = np.concatenate([random.uniform(0.5, 1.2, 3), w])
        expected = np.cross(inertia * w, w) / inertia
        assert np.allclose(kernel.rates(0.0, state)[3:], expected, atol=1e-12)


def test_eulers_equations_are_written() -> None:
    """The text of the equations has no angles in it."""
    angles, rates, frame = euler_angles()
    I1, I2, I3 = da.parameters("I1 I2 I3", positive=True)
    kinetic = sum(i * w**2 for i, w in zip((I1, I2, I3), rates.values(), strict=True)) / 2
    lines = da.derive(da.System(angles, kinetic=kinetic), "poincare-chetaev", frame=frame).lines()
    dynamics = [left - right for left, right in lines[3:]]
    W1, W2, W3, D1, D2, D3 = (
        da.Parameter(name) for name in ("W1", "W2", "W3", "W1_dot", "W2_dot", "W3_dot")
    )
    euler = {
        D1: (I2 - I3) * W2 * W3 / I1,
        D2: (I3 - I1) * W3 * W1 / I2,
        D3: (I1 - I2) * W1 * W2 / I3,
    }
    assert len(dynamics) == 3
    for line, rate in zip(dynamics, euler, strict=True):
        assert line.has(rate) and not line.has(*angles)
        assert line.xreplace(euler).simplify() == 0


def test_a_heavy_top_held_by_a_constraint() -> None:
    """Forces, a potential and constraints keep their place on the frame, with their multipliers."""
    angles, rates, frame = euler_angles()
    phi, theta, psi = angles
    kinetic = sum(i * w**2 for i, w in zip((1.3, 2.1, 0.6), rates.values(), strict=True)) / 2
    held = da.velocity(rates["W3"] - theta.dot * cos(phi) - sin(da.t) / 2, name="held")
    system = da.System(
        angles,
        kinetic=kinetic,
        potential=cos(theta) + phi / 3,
        constraints=[held],
        forces={psi: -psi.dot * theta},
    )
    assert worst_gap(system, [da.derive(system, "poincare-chetaev", frame=frame)], seed=7) < 1e-9


# -- the same motion on any frame ------------------------------------------------------------------


@pytest.mark.parametrize("kinds", ["", "h", "va", "n", "rvd", "m"])
def test_any_frame_gives_the_same_motion(kinds: str) -> None:
    """Also frames whose structure functions are not constant, with constraints of all kinds."""
    system = random_system(40 + len(kinds), n=3, kinds=kinds)
    assert (
        worst_gap(system, [da.derive(system, "poincare-chetaev", frame=random_frame(system, 3))])
        < 1e-9
    )


def test_a_planar_system_on_the_frame_that_is_found() -> None:
    system = random_system(6, n=4, kinds="hv", stated="planar")
    record = da.derive(system, "poincare-chetaev")
    assert [s.name for s in record.state[4:]] == ["w_q1", "w_q2", "w_q3", "w_q4"]
    assert worst_gap(system, [record]) < 1e-9


def test_what_is_left_of_a_constraint_is_told_by_its_level() -> None:
    """A bead beside its ring: x^2 + y^2 - 4 at the level of positions, 2 x x_dot + 2 y y_dot at
    that of velocities.
    """
    x, y = da.coordinates("x y")
    ring = da.holonomic(x**2 + y**2 - 4, name="ring")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, constraints=[ring])
    record = da.derive(
        system, "poincare-chetaev", frame={"a": {x: 2}, "b": {x: 1, y: 1}}
    )  # x_dot = 2 a + b, y_dot = b
    position, velocity = record.to_casadi().residuals(0, [3, 1, 5, 7], [], [])
    assert (float(position), float(velocity)) == pytest.approx((6, 2 * 3 * 17 + 2 * 1 * 7))


# -- refusals --------------------------------------------------------------------------------------


def test_without_a_frame_the_remedy_is_named() -> None:
    with pytest.raises(FormError, match=r"No group frame was found.*pass frame="):
        da.derive(random_system(1, n=3, kinds="v"), "poincare-chetaev")
    with pytest.raises(FormError, match="image"):
        da.derive(da.gallery.load("linked-particles").system, "poincare-chetaev")


def bad_frames() -> dict[str, tuple[Any, str]]:
    x, y, z = da.coordinates("x y z")
    scale = da.parameters("scale")
    plain = {"a": {x: 1}, "b": {y: 1}}
    return {
        "too few": ({"a": {x: 1}}, "all coordinates"),
        "dependent": ({"a": {x: 1, y: x}, "b": {x: 2, y: 2 * x}}, "independent vector fields"),
        "none": ({}, "independent vector fields"),
        "time": (plain | {"b": {y: da.t}}, "written in coordinates and parameters"),
        "velocities": (plain | {"b": {y: x.dot}}, "written in coordinates and parameters"),
        "a stranger's component": (plain | {"b": {z: 1}}, "components by coordinate"),
        "a stranger's symbol": (plain | {"b": {y: z}}, "written in coordinates and parameters"),
        "a parameter that the system does not have": (
            plain | {"b": {y: scale}},
            "written in coordinates and parameters",
        ),
        "a name that is none": ({"a": {x: 1}, "b c": {y: 1}}, "a name of its own"),
        "a name that is taken": ({"a": {x: 1}, "x_dot": {y: 1}}, "a name of its own"),
    }


@pytest.mark.parametrize("fault", list(bad_frames()))
def test_frames_that_cannot_be_used_are_refused(fault: str) -> None:
    x, y = da.coordinates("x y")
    system = da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2)
    frame, message = bad_frames()[fault]
    with pytest.raises(FormError, match=message):
        da.derive(system, "poincare-chetaev", frame=frame)
