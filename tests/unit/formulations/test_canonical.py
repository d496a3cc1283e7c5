"""The canonical forms on the constraints: their momenta by definition, their motion by independent
implementations, and where they do not exist.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from sympy import cos, sin, sqrt

import dalembert as da
from agreement import instants, numbered, symbols_at, worst_gap
from core_systems import random_system
from dalembert.errors import FormError

FORMS = ("canonical-voronets", "canonical-quasi")


def records(system: da.System) -> list[da.Equations]:
    """Both forms, the second of both kinds."""
    return [
        da.derive(system, FORMS[0]),
        *(da.derive(system, FORMS[1], kind=kind) for kind in ("first", "second")),
    ]


# -- momenta ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("stated", ["lagrangian", "kinetic"])
@pytest.mark.parametrize("form", FORMS)
def test_the_momenta_are_derivatives_of_the_lagrangian_on_the_constraints(
    form: str, stated: str
) -> None:
    """y_s = dL_c/dv_s with L_c(q, v_I, t) = L(q, v_I, phi(q, v_I, t), t) (Rumyantsev 3.5, 3.19),
    differentiated by SymPy.

    They are not the momenta dL/dv_s.
    """
    system = random_system(14, n=4, kinds="cc", stated=stated)
    solved = {}
    for constraint in system.bilateral:
        v = next(
            v
            for v in reversed(system.velocities)
            if constraint.expression.has(v) and v not in solved
        )
        solved[v] = v - constraint.expression
    lagrangian = system.lagrangian.xreplace(solved)
    for instant in instants(system, 2, 2):
        symbols = symbols_at(da.derive(system, form), instant)
        state, values = (*system.coordinates, *system.velocities), (*instant.q, *instant.v)
        numbers = dict(zip(state, values, strict=True)) | {da.t: instant.time}
        assert {name for name in symbols if name.startswith("y_")} == {"y_q1", "y_q2"}
        for q in system.coordinates[:2]:
            assert symbols[f"y_{q.name}"] == pytest.approx(
                float(sympy.diff(lagrangian, q.dot).xreplace(numbers)), abs=1e-12
            )
            momentum = float(sympy.diff(system.lagrangian, q.dot).xreplace(numbers))
            assert symbols[f"y_{q.name}"] != pytest.approx(momentum, abs=1e-3)


def test_the_canonical_equations_of_a_sleigh_in_its_own_words() -> None:
    """A skate: L_c = (1 + tan^2 theta) x_dot^2/2 + theta_dot^2/2, so that y_theta stays, and y_x =
    p_x + tan(theta) p_y.
    """
    x, y, theta = da.coordinates("x y theta")
    blade = da.velocity(y.dot - sympy.tan(theta) * x.dot, name="blade")
    system = da.System(
        [x, y, theta], kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2, constraints=[blade]
    )
    for form in FORMS:
        motion = da.simulate(
            system, {"x_dot": 0.7, "theta_dot": 0.5}, (0, 1), form=form, at=[0, 0.5, 1]
        )
        assert np.allclose(motion["y_theta"], 0.5, atol=1e-11)
        assert np.allclose(
            motion["y_x"], motion["p_x"] + np.tan(motion["theta"]) * motion["p_y"], atol=1e-11
        )
        assert np.allclose(
            motion["y_x"] * np.cos(motion["theta"]), 0.7, atol=1e-10
        )  # the speed along the blade stays


# -- the same motion -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kinds",
    ["h", "v", "t", "cc", *(pytest.param(k, marks=pytest.mark.long) for k in ("m", "ra", "hvd"))],
)
@pytest.mark.parametrize("stated", ["lagrangian", "hamiltonian"])
def test_canonical_forms_move_as_lagrange(kinds: str, stated: str) -> None:
    system = random_system(
        33 + len(kinds), n=2 + len(kinds.rstrip("d")), kinds=kinds, stated=stated
    )
    assert worst_gap(system, records(system), count=1) < 1e-9


@pytest.mark.parametrize(
    "name", ["chaplygin-sleigh", "knife-edge", "rolling-disk", "snakeboard", "appell"]
)
def test_canonical_forms_of_the_gallery(name: str) -> None:
    scenario = da.gallery.load(name)
    system = numbered(scenario.system, scenario.parameters)
    assert worst_gap(system, records(system), seed=3) < 1e-9


def test_appells_particle_in_canonical_form() -> None:
    """A constraint nonlinear in the velocities on which L is quadratic: the speed falls as w0 - g a
    t/(1 + a^2).
    """
    scenario = da.gallery.load("appell")
    motion = da.simulate(scenario, form="canonical-voronets", at=[0.0, 0.5, 1.0])
    a, g = (scenario.parameters[name] for name in "ag")
    speed = 5 - g * a / (1 + a**2) * motion.t
    assert np.allclose(motion["horizontal_speed"], speed, atol=1e-9)
    assert np.allclose(
        np.hypot(motion["y_q1"], motion["y_q2"]), (1 + a**2) * speed, atol=1e-9
    )  # (1 + a^2) m w


@pytest.mark.long
def test_nonlinear_constraints_whose_lagrangian_on_them_is_quadratic() -> None:
    """phi homogeneous of degree one in the velocities, with coefficients of position and time: H
    exists on the constraints.
    """
    q1, q2, q3 = da.coordinates("q1:4")
    derivative = (1 + sin(q1) / 3) * sqrt(q1.dot**2 + (2 + cos(da.t)) * q2.dot**2)
    kinetic = (q1.dot**2 + q2.dot**2 + (1 + q1**2) * q3.dot**2) / 2
    constraint = da.velocity(q3.dot - derivative, name="f")
    system = da.System(
        [q1, q2, q3],
        kinetic=kinetic,
        potential=q1 * q2 + q3,
        constraints=[constraint],
        forces={q3: q1.dot},
    )
    found = instants(system, 5, 2)
    assert len(found) == 2
    assert worst_gap(system, records(system), seed=5) < 1e-9


# -- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_a_lagrangian_that_is_not_quadratic_on_the_constraints(form: str) -> None:
    """Without a formula for v(q, y, t) the state keeps the velocities, and y are outputs."""
    x, y = da.coordinates("x y")
    relativistic = da.System(
        [x, y],
        lagrangian=-sqrt(1 - x.dot**2 - y.dot**2),
        constraints=[da.velocity(y.dot - x * x.dot, name="f")],
    )
    for system in (random_system(3, n=3, kinds="s"), relativistic):
        equations = da.derive(system, form)
        assert equations.state == (*system.coordinates, *system.velocities)
        assert all(symbol.name.startswith("y_") for symbol in equations.unknowns)
        assert worst_gap(system, [equations]) < 1e-10


@pytest.mark.parametrize("form", FORMS)
def test_a_lagrangian_that_is_singular_on_the_constraints_is_refused(form: str) -> None:
    x, y, z = da.coordinates("x y z")
    system = da.System(
        [x, y, z],
        kinetic=x.dot**2 / 2 + z.dot * x.dot,
        potential=y**2,
        constraints=[da.velocity(z.dot - x.dot, name="f")],
    )
    with pytest.raises(FormError, match=r'singular.*rank 1 of 2.*use the form "lagrange"'):
        da.derive(system, form)


@pytest.mark.parametrize("form", FORMS)
def test_a_singular_lagrangian_that_is_regular_on_the_constraints_is_taken(form: str) -> None:
    """Hamilton's form needs the whole mass matrix, these only what the constraints leave of it."""
    x, y = da.coordinates("x y")
    system = da.System(
        [x, y],
        kinetic=x.dot**2 / 2,
        potential=y**2 + x * y,
        constraints=[da.velocity(y.dot - x * x.dot, name="f")],
    )
    with pytest.raises(FormError, match="singular"):
        da.derive(system, "hamilton")
    motion = da.simulate(system, {x: 0.5, x.dot: 0.4}, (0, 1), form=form, rtol=1e-11)
    plain = da.simulate(system, {x: 0.5, x.dot: 0.4}, (0, 1), form="lagrange", rtol=1e-11)
    assert np.allclose(motion.y[:, -1], plain.y[:, -1], atol=1e-9)


def test_the_form_in_quasi_velocities_needs_constraints_and_knows_its_kinds() -> None:
    free = random_system(3, n=2, kinds="")
    with pytest.raises(FormError, match="needs constraints"):
        da.derive(free, "canonical-quasi")
    assert worst_gap(free, [da.derive(free, "canonical-voronets")]) < 1e-10  # Hamilton's equations
    with pytest.raises(FormError, match='kind="first"'):
        da.derive(random_system(3, n=3, kinds="v"), "canonical-quasi", kind="both")
