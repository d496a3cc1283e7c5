"""`principle_integrands`: three forms of Hamilton's principle, one integrand, and an integral that
knows the motions.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, pi, sin

import dalembert as da
from core_systems import random_system
from dalembert.algebra.graph import GraphAlgebra
from dalembert.analysis.path import path_of, reduction_along
from dalembert.analysis.variational.principles import FORMS, PrincipleIntegrands
from dalembert.errors import FormError, ModelError

T = da.t
NAMES = [
    name
    for name in da.gallery.names("mechanical")
    for system in [da.gallery.load(name).system]
    if system.image is None and not system.unilateral and name != "blow-up"
]


@cache
def short_motion(name: str) -> da.Motion:
    scenario = da.gallery.load(name)
    first, last = scenario.simulate["span"]
    return da.simulate(scenario, span=(first, min(last, first + 0.8)))


def free_coordinates(motion: da.Motion) -> list[Any]:
    split = reduction_along(path_of(motion), GraphAlgebra()).split
    return [motion.system.coordinates[k] for k in split.independent]


def vanishing(motion: da.Motion) -> dict[Any, sympy.Expr]:
    """A variation that is zero at both ends."""
    first, last = motion.t[0], motion.t[-1]
    bump = (T - first) * (last - T) / (last - first) ** 2
    return {
        q: (k + 1) * bump + sin((k + 1) * pi * (T - first) / (last - first))
        for k, q in enumerate(free_coordinates(motion))
    }


def staying(motion: da.Motion) -> dict[Any, sympy.Expr]:
    """A variation that is zero nowhere in particular."""
    return {q: cos(T + k) + k for k, q in enumerate(free_coordinates(motion))}


@pytest.mark.parametrize("name", [name for name in NAMES if "vakonomic" not in name])
def test_the_forms_agree_and_integrate_to_the_boundary_term(name: str) -> None:
    motion = short_motion(name)
    inside = da.variational.principle_integrands(motion, vanishing(motion))
    assert inside.spread < 1e-12
    assert abs(inside.boundary) < 1e-11 * max(1.0, inside.size)
    assert inside.defect < 1e-9
    outside = da.variational.principle_integrands(motion, staying(motion))
    assert outside.spread < 1e-12
    assert outside.defect < 1e-9
    assert abs(outside.boundary) > 1e-4 * outside.size


@pytest.mark.parametrize("name", ["nonholonomic-particle-vakonomic", "rolling-disk-vakonomic"])
def test_a_curve_that_is_no_motion_has_equal_integrands_but_another_integral(name: str) -> None:
    motion = short_motion(name)
    found = da.variational.principle_integrands(motion, vanishing(motion))
    assert found.spread < 1e-12
    assert found.defect > 1e-4


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kinds", ["", "v", "hv", "ra", "av"])
def test_random_systems(kinds: str, seed: int) -> None:
    system = random_system(seed, n=len(kinds) + 2, kinds=kinds)
    random = np.random.default_rng(seed)
    start = {
        s.name: float(random.uniform(-0.5, 0.5)) for s in (*system.coordinates, *system.velocities)
    }
    motion = da.simulate(system, start, (0.2, 0.7))
    found = da.variational.principle_integrands(motion, staying(motion))
    assert found.spread < 1e-12
    assert found.defect < 1e-10


@pytest.mark.parametrize("form", ["lagrange", "voronets", "vakonomic"])
def test_nonlinear_constraints(form: str) -> None:
    """With chi = 0 the vakonomic curve has other accelerations, which A contains: the forms still
    agree on it.
    """
    q1, q2, q3 = da.coordinates("q1 q2 q3")
    base = random_system(4, n=3, kinds="")
    climb = da.velocity(
        q3.dot - q2 * q1.dot**2 - sin(q3) * sympy.sqrt(1 + q2.dot**2) - T * q1, name="climb"
    )
    system = base.replacing(constraints=[climb])
    motion = da.simulate(system, {q1: 0.3, q2: 0.5, q1.dot: 0.7, q2.dot: -0.4}, (0, 0.6), form=form)
    found = da.variational.principle_integrands(
        motion, {q1: T * (0.6 - T), q2: sin(5 * pi * T / 0.6)}, independent=[q1, q2]
    )
    assert found.spread < 1e-12
    assert np.abs(found.hoelder_constraints).max() > 1e-3
    if form == "vakonomic":
        assert found.defect > 1e-5
    else:
        assert found.defect < 1e-10


@pytest.mark.long
def test_hoelders_integrand_is_the_change_of_the_lagrangian_on_the_varied_curve() -> None:
    """The independent implementation is a difference quotient of L itself, with d(delta q)/dt by
    differences in time.
    """
    motion = da.simulate(da.gallery.load("rolling-disk"), span=(0, 1), at=np.linspace(0, 1, 2001))
    system = motion.system
    found = da.variational.principle_integrands(motion, vanishing(motion))
    displaced = found.displacements
    rates = np.gradient(displaced, motion.t, axis=1, edge_order=2)
    inner = slice(5, -5)
    assert np.abs(rates - found.hoelder_velocities)[:, inner].max() < 1e-4
    symbols = (*system.coordinates, *system.velocities)
    numbers = {symbol: motion.parameters[symbol.name] for symbol in system.parameters}
    action = sympy.lambdify(symbols, system.lagrangian.subs(numbers), "numpy")
    q = np.array([motion[s] for s in system.coordinates])
    v = np.array([motion[s] for s in system.velocities])
    step = 1e-5
    change = (
        action(*(q + step * displaced), *(v + step * rates))
        - action(*(q - step * displaced), *(v - step * rates))
    ) / (2 * step)
    assert np.abs(change - found.hoelder)[inner].max() < 1e-4 * np.abs(found.hoelder).max()


def test_the_two_rules_of_variation_differ_on_the_constraints() -> None:
    motion = short_motion("rolling-disk")
    found = da.variational.principle_integrands(motion, vanishing(motion))
    assert np.abs(found.suslov_constraints).max() < 1e-14
    assert np.abs(found.hoelder_constraints).max() > 1e-2
    table = da.variational.transitivity(da.gallery.load("rolling-disk"))
    place = len(motion.t) // 2
    state = {
        s.name: float(motion[s][place])
        for s in (*motion.system.coordinates, *motion.system.velocities)
    }
    coefficients = table.at(state, motion.parameters).coefficients
    assert np.allclose(
        coefficients.T @ found.displacements[:3, place],
        found.hoelder_constraints[:, place],
        atol=1e-13,
    )


def test_integrable_constraints_have_one_rule() -> None:
    motion = short_motion("elastic-pendulum-printed")
    found = da.variational.principle_integrands(motion, vanishing(motion))
    assert np.abs(found.hoelder_constraints).max() < 1e-12


def test_forces_without_potential_enter_by_their_virtual_work() -> None:
    motion = short_motion("knife-edge")
    found = da.variational.principle_integrands(motion, vanishing(motion))
    work = np.sum(
        [
            motion["u1"] * cosine * found.displacements[k]
            for k, cosine in enumerate((np.cos(motion["varphi"]), np.sin(motion["varphi"])))
        ],
        axis=0,
    )
    assert np.allclose(found.work, work + motion["u2"] * found.displacements[2], atol=1e-14)
    assert (
        abs(np.trapezoid(found.work, motion.t)) > 1e-3
    )  # without it the integral would not vanish


def test_inputs_given_as_functions() -> None:
    motion = da.simulate(
        da.gallery.load("knife-edge"),
        span=(0, 1),
        inputs={"u1": lambda t, state: 0.3 * np.cos(3 * t), "u2": lambda t, state: 0.2},
    )
    assert da.variational.principle_integrands(motion, vanishing(motion)).defect < 1e-9


@pytest.mark.parametrize("form", ["hamilton", "maggi", "hamel"])
def test_the_form_of_the_motion_does_not_matter(form: str) -> None:
    motion = da.simulate(da.gallery.load("rolling-disk"), span=(0, 0.8), form=form)
    assert da.variational.principle_integrands(motion, vanishing(motion)).defect < 1e-9


def test_motions_that_run_backward() -> None:
    motion = da.simulate(da.gallery.load("rolling-disk"), span=(0.5, 0))
    found = da.variational.principle_integrands(motion, staying(motion))
    assert found.defect < 1e-9
    assert abs(found.integral) > 1e-3


def test_functions_with_derivatives_and_sequences() -> None:
    motion = short_motion("appell")
    by_expression = da.variational.principle_integrands(motion, {"q1": sin(3 * T)})
    by_function = da.variational.principle_integrands(
        motion, [(lambda t: np.sin(3 * t), lambda t: 3 * np.cos(3 * t)), 0]
    )
    for form in FORMS:
        assert np.allclose(getattr(by_expression, form), getattr(by_function, form), atol=1e-13)


@pytest.mark.parametrize(
    ("variation", "message"),
    [
        ({"q3": 1}, "not an independent coordinate"),
        ({"q1": np.sin}, "needs its derivative"),
        ({"q1": da.Coordinate("q2")}, "function of time"),
        ([1, 2, 3], "one function of time for each"),
    ],
)
def test_variations_that_make_no_sense(variation: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        da.variational.principle_integrands(short_motion("appell"), variation)


def test_motions_that_cannot_be_varied() -> None:
    with pytest.raises(FormError, match="image"):
        da.variational.principle_integrands(
            da.simulate(da.gallery.load("linked-particles"), span=(0, 0.2)), {}
        )
    with pytest.raises(ModelError, match="Motion is needed"):
        da.variational.principle_integrands(da.gallery.load("appell"), {})  # type: ignore[arg-type]
    turned = da.simulate(da.gallery.load("knife-edge"), {"varphi_dot": 2.0}, (0, 3))
    assert np.ptp(turned["varphi"]) > np.pi
    with pytest.raises(ModelError, match="do not stay independent"):
        da.variational.principle_integrands(turned, {"varphi": 1})


def test_it_is_shown_and_stored() -> None:
    motion = short_motion("rolling-disk")
    found: PrincipleIntegrands = da.variational.principle_integrands(motion, vanishing(motion))
    assert found.text().splitlines()[0] == "Rolling disk"
    assert "<table>" in found._repr_html_()
    assert "| Integrands | |" in found._repr_markdown_()
    data = found.to_json()
    assert json.loads(json.dumps(data)) == data
