"""Pontryagin's extremals: vakonomic motions in other symbols, d'Alembert's where the fields are in
involution, stationary.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from agreement import evidence, extremal_words, gap_of, instants, worst_gap
from core_systems import random_system
from dalembert.errors import FormError
from dalembert.formulations.forms.pontryagin import is_involutive


def disk_on_a_line() -> da.System:
    """The constraint y_dot = x z_dot, which is not integrable, on a free particle."""
    x, y, z = da.coordinates("x y z")
    return da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        constraints=[da.velocity(y.dot - x * z.dot, name="f")],
    )


def foliated(seed: int = 0, twisted: bool = False) -> tuple[da.System, da.System]:
    """Velocities in two fields that are in involution (or not), mixed by functions of the position;
    and the same by a row.

    The fields are tangent to the surfaces q3 - sin(q1) q2 = c, or to the distribution q3_dot =
    sin(q1) q2_dot.
    """
    plain = random_system(90 + seed, n=3, kinds="", forced=False)
    q1, q2, q3 = plain.coordinates
    derivative = 0 if twisted else cos(q1) * q2
    first, second = (1, 0, derivative), (0, 1, sin(q1))
    mixed = [[(1 + q2**2 / 9) * a + sin(q3) * b / 4 for a, b in zip(first, second, strict=True)]]
    mixed += [[cos(q1) * a / 5 + 2 * b for a, b in zip(first, second, strict=True)]]
    u = da.speeds("u1 u2")
    velocities = {
        q: sum(field[k] * w for field, w in zip(mixed, u, strict=True))
        for k, q in enumerate(plain.coordinates)
    }
    row = da.velocity(q3.dot - derivative * q1.dot - sin(q1) * q2.dot, name="f")
    return plain.replacing(constraints=[da.image(velocities, u)]), plain.replacing(
        constraints=[row]
    )


# -- the vakonomic motion --------------------------------------------------------------------------


@pytest.mark.parametrize("stated", ["lagrangian", "hamiltonian", "bundle"])
@pytest.mark.parametrize("kinds", ["v", "a", "t", "r", "hv", "vvd", "hd"])
def test_extremals_are_the_vakonomic_motions(kinds: str, stated: str) -> None:
    """With xi = p + chi . f_v: the same accelerations and force; linear, affine, moving and
    dependent constraints.
    """
    system = random_system(97 + len(kinds), n=4, kinds=kinds, stated=stated)
    random = np.random.default_rng(1)
    for instant in instants(system, 6, 2):
        chi = random.normal(size=len(kinds))
        words = extremal_words(system, instant, chi)
        vakonomic, pontryagin = words["vakonomic"], words["pontryagin"]
        assert vakonomic is not None and pontryagin is not None
        assert gap_of(vakonomic, pontryagin)[0] < 1e-9
        ideal = evidence(da.derive(system, "lagrange"), instant)
        assert ideal is not None
        differs = gap_of(ideal, pontryagin)[0]
        assert differs < 1e-9 if set(kinds) <= set("rhd") else differs > 1e-4


def test_along_a_whole_motion() -> None:
    """Started from the costate of a vakonomic motion, and compared where it ends; H = xi . V - L is
    conserved.
    """
    system = disk_on_a_line()
    x, y, z = system.coordinates
    start = {x: 0.5, x.dot: 0.2, y.dot: 0.5, z.dot: 1.0}
    vakonomic = da.simulate(system, start | {"chi_f": 0.8}, (0, 1), form="vakonomic", rtol=1e-12)
    costate = {"xi_x": 0.2, "xi_y": 0.5 + 0.8, "xi_z": 1.0 - 0.8 * 0.5}
    motion = da.simulate(
        system, {x: 0.5} | costate, (0, 1), form="pontryagin", rtol=1e-12, at=[0, 0.5, 1]
    )
    assert [s.name for s in motion.state] == ["x", "y", "z", "xi_x", "xi_y", "xi_z"]
    for q in (x, y, z):
        assert motion[q][-1] == pytest.approx(vakonomic[q][-1], abs=1e-10)
        assert motion[q.dot][-1] == pytest.approx(vakonomic[q.dot][-1], abs=1e-10)
    assert np.allclose(motion["xi_y"], 1.3, atol=1e-11) and np.allclose(
        motion["xi_z"], 0.6, atol=1e-11
    )  # y and z are cyclic
    assert np.ptp(motion.energy) < 1e-11
    assert motion.worst_residual["velocity"] < 1e-12


def test_extremals_are_stationary() -> None:
    """The action of admissible neighbours differs at second order; y is free at the end, at the
    price xi_y.

    The constraint y_dot = x z_dot is solved for y, which leaves free curves (x, z) with their ends
    held.
    """
    times = np.linspace(0, 1, 2001)
    motion = da.simulate(
        disk_on_a_line(),
        {"x": 0.5, "xi_x": 0.2, "xi_y": 1.3, "xi_z": 0.6},
        (0, 1),
        form="pontryagin",
        at=times,
    )
    h = times[1] - times[0]

    def action(curve_x: np.ndarray, curve_z: np.ndarray) -> np.ndarray:
        vx, vz = np.diff(curve_x) / h, np.diff(curve_z) / h
        vy = (curve_x[1:] + curve_x[:-1]) / 2 * vz
        return np.array([np.sum(vx**2 + vy**2 + vz**2) * h / 2, np.sum(vy) * h])

    e, price = 1e-3, motion["xi_y"][0]
    for bump_x, bump_z in (
        (times * (1 - times), np.sin(np.pi * times)),
        (np.sin(2 * np.pi * times), times**2 * (1 - times)),
    ):
        change = (action(*(motion[c] + e * b for c, b in (("x", bump_x), ("z", bump_z)))) - action(
            *(motion[c] - e * b for c, b in (("x", bump_x), ("z", bump_z)))
        )) / (2 * e)  # fmt: skip
        assert abs(change[0] - price * change[1]) < 1e-5
        assert (
            abs(change[0] - motion["y_dot"][0] * change[1]) > 1e-3
        )  # at the price p_y of d'Alembert's motion it is not


# -- involution ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_in_involution_the_costate_can_be_eliminated(seed: int) -> None:
    """(12)-(14) give d'Alembert's motion, on any fields that span the same plane, and so do the
    extremals themselves.
    """
    image, rows = foliated(seed)
    assert is_involutive(image) and is_involutive(rows)
    eliminated = [
        da.derive(system, "pontryagin", eliminate_costate=True) for system in (image, rows)
    ]
    for instant in instants(rows, 2, 2):
        expected = evidence(da.derive(rows, "lagrange"), instant)
        for record in eliminated:
            found = evidence(record, instant)
            assert expected is not None and found is not None
            assert gap_of(expected, found)[0] < 1e-10
        words = extremal_words(rows, instant, np.array([0.7 - seed]))
        assert words["pontryagin"] is not None and gap_of(expected, words["pontryagin"])[0] < 1e-9


@pytest.mark.parametrize("seed", range(2))
def test_without_involution_the_costate_stays(seed: int) -> None:
    """It is refused, with the two ways on; and the extremals are other motions."""
    image, rows = foliated(seed, twisted=True)
    assert not is_involutive(image) and not is_involutive(rows)
    for system in (image, rows):
        with pytest.raises(
            FormError, match=r"not in involution.*keep the costate.*implicit-lagrangian"
        ):
            da.derive(system, "pontryagin", eliminate_costate=True)
    (instant,) = instants(rows, 2, 1)
    expected = evidence(da.derive(rows, "lagrange"), instant)
    words = extremal_words(rows, instant, np.array([0.7]))
    assert expected is not None and words["pontryagin"] is not None
    assert gap_of(expected, words["pontryagin"])[0] > 1e-3


def test_one_field_that_turns_with_time_is_not_in_involution() -> None:
    """y_dot = sin(t) x_dot is not integrable in (x, y, t) although one field has no brackets: the
    extremals differ.
    """
    x, y = da.coordinates("x y")
    kinetic, potential = (x.dot**2 + y.dot**2) / 2, x**2 / 2 + x * y
    turning = da.System(
        [x, y],
        kinetic=kinetic,
        potential=potential,
        constraints=[da.velocity(y.dot - sin(da.t) * x.dot, name="f")],
    )
    with pytest.raises(FormError, match="a change in time, that leaves their span"):
        da.derive(turning, "pontryagin", eliminate_costate=True)
    (instant,) = instants(turning, 3, 1)
    expected = evidence(da.derive(turning, "lagrange"), instant)
    word = extremal_words(turning, instant, np.array([0.7]))["pontryagin"]
    assert expected is not None and word is not None and gap_of(expected, word)[0] > 1e-3

    u = da.speeds("u")
    scaled = turning.replacing(
        constraints=[da.image({x: (2 + sin(da.t)) * u, y: (4 + 2 * sin(da.t)) * u}, [u])]
    )
    still = turning.replacing(constraints=[da.velocity(y.dot - 2 * x.dot, name="f")])
    found = evidence(
        da.derive(scaled, "pontryagin", eliminate_costate=True), instants(still, 3, 1)[0]
    )
    plain = evidence(da.derive(still, "lagrange"), instants(still, 3, 1)[0])
    assert found is not None and plain is not None and gap_of(found, plain)[0] < 1e-10


def test_holonomic_constraints_are_in_involution() -> None:
    system = random_system(91, n=4, kinds="hh")
    assert is_involutive(system)
    assert worst_gap(system, [da.derive(system, "pontryagin", eliminate_costate=True)]) < 1e-9


# -- refusals --------------------------------------------------------------------------------------


def refused() -> dict[str, tuple[Any, str]]:
    x, y, z = da.coordinates("x y z")
    u1, u2 = da.speeds("u1 u2")
    free = da.System([x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2)
    double = da.image({x: u1 + u2, y: 2 * u1 + 2 * u2, z: 0}, [u1, u2])
    single = da.image({x: u1, y: u2, z: x * u2}, [u1, u2])
    extra = da.velocity(x.dot - y.dot, name="extra")
    relativistic = da.System(
        [x, y],
        lagrangian=-sympy.sqrt(1 - x.dot**2 - y.dot**2),
        constraints=[da.velocity(y.dot - x * x.dot)],
    )
    slow = da.System(
        [x, y], kinetic=(x.dot - y.dot) ** 2, potential=x, constraints=[da.velocity(y.dot - x.dot)]
    )
    return {
        "no constraints": (free, 'use the form "lagrange"'),
        "no freedom": (random_system(2, n=2, kinds="hv"), "no freedom"),
        "nonlinear constraints": (
            random_system(2, n=3, kinds="s"),
            'nonlinear.*use the form "vakonomic"',
        ),
        "constraints beside an image": (
            free.replacing(constraints=[single, extra]),
            "all constraints in the image",
        ),
        "fields that depend on each other": (
            free.replacing(constraints=[double]),
            "does not determine the speeds.*rank 1 of 2",
        ),
        "a Lagrangian that is not quadratic": (relativistic, "not quadratic"),
        "a Lagrangian that is singular on the fields": (slow, "rank 0 of 1"),
    }


@pytest.mark.parametrize("fault", list(refused()))
def test_problems_without_normal_extremals_are_refused(fault: str) -> None:
    system, message = refused()[fault]
    with pytest.raises(FormError, match=message):
        da.derive(system, "pontryagin")
