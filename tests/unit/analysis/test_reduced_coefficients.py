"""Coefficients of the reduced equations: identities, closed forms, other sections, and wrong
tensors that must be noticed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin, tan

import dalembert as da
from dalembert.analysis.symmetry import reduced_coefficients as module
from dalembert.analysis.symmetry.reduced_coefficients import (
    CoefficientField,
    ReducedCoefficients,
    reduced_coefficients,
)
from dalembert.errors import FormError, ModelError, RunError
from dalembert.formulations.reduction.bundle_equations import bundle_of
from dalembert.verification.independent.planar_bundles import planar, samples


def symbols(system: da.System) -> dict[str, Any]:
    return {s.name: s for s in (*system.coordinates, *system.parameters)}


def se2(system: da.System, heading: str = "theta") -> dict[str, dict[Any, Any]]:
    q = symbols(system)
    x, y, angle = q["x"], q["y"], q[heading]
    return {
        "ahead": {x: cos(angle), y: sin(angle)},
        "aside": {x: -sin(angle), y: cos(angle)},
        "turn": {angle: 1},
    }


def wheel(system: da.System) -> dict[str, dict[Any, Any]]:
    return se2(system, "phi") | {"spin": {symbols(system)["psi"]: 1}}


#: Gallery systems with their groups and a shape.
CASES = {
    "snakeboard": (se2, {"psi": 0.2, "phi": 0.6}),
    "bicycle": (se2, {"psi": 0.15, "phi": 0.3}),
    "unicycle-rider": (wheel, {"theta": 0.2, "kappa": -0.1}),
    "rolling-disk": (wheel, {"theta": 0.3}),
    "chaplygin-sleigh": (se2, {}),
}


def coefficients(name: str, **shape: float) -> ReducedCoefficients:
    scenario = da.gallery.load(name)
    group, place = CASES[name]
    return reduced_coefficients(scenario, group(scenario.system), place | shape)


def random_coefficients(place: tuple[float, float] = (0.3, -0.4)) -> ReducedCoefficients:
    return planar("random").coefficients.at(dict(zip(("r1", "r2"), place, strict=True)))


EVERY = [*CASES, "random"]


def found(name: str) -> ReducedCoefficients:
    return random_coefficients() if name == "random" else coefficients(name)


# -- identities ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_the_basis_is_a_basis_of_the_lie_algebra(name: str) -> None:
    c = found(name)
    C = c.structure
    assert np.allclose(C, -np.swapaxes(C, 1, 2), atol=1e-12)
    jacobi = np.einsum("eab,dec->dabc", C, C)
    assert np.allclose(
        jacobi
        + np.moveaxis(jacobi, (1, 2, 3), (2, 3, 1))
        + np.moveaxis(jacobi, (1, 2, 3), (3, 1, 2)),
        0,
        atol=1e-12,
    )
    assert np.linalg.cond(c.frame) < 1e3


@pytest.mark.parametrize("name", EVERY)
def test_the_first_vectors_are_orthogonal_to_the_others(name: str) -> None:
    c, m = found(name), found(name).count
    assert np.allclose(c.inertia, c.inertia.T) and np.all(np.linalg.eigvalsh(c.inertia) > 0)
    assert np.allclose(c.lift[:m], c.inverse) and np.allclose(c.lift[m:], 0, atol=1e-12)
    assert np.allclose(c.lam[:m], 0, atol=1e-12)
    assert np.allclose(c.curvature, -np.swapaxes(c.curvature, 1, 2))


@pytest.mark.parametrize("name", EVERY)
def test_they_were_checked(name: str) -> None:
    assert found(name).residual < 1e-13


@pytest.mark.parametrize("kind", ["random", "snakeboard", "bicycle"])
def test_momenta_and_shape_move_as_with_multipliers(kind: str) -> None:
    """The equations with these coefficients, at accelerations of Lagrange's equations in all
    coordinates.
    """
    for s in samples(kind):
        accelerations, momentum_rates = s.exact
        assert np.allclose(s.library.momentum_rate(s.v, s.p), momentum_rates, atol=1e-12)

        def momenta(r: Any, v: Any, p: Any, s: Any = s) -> Any:
            on_shape, on_body = s.planar.body_momenta(r, v, p)
            return on_shape - s.planar.connection(r).T @ on_body

        step = 1e-20j
        by_shape = [
            np.imag(s.planar.on_constraints(s.r + step * unit, s.v + 0j, s.p + 0j)) / 1e-20 for unit
            in np.eye(2)
        ]  # fmt: skip
        left = s.along(momenta, accelerations, momentum_rates) - np.array(by_shape)
        assert np.allclose(left, s.library.shape_force(s.v, s.p), atol=1e-12)
        assert np.allclose(left, s.library.compact_shape_force(s.v, s.p), atol=1e-12)


def test_the_random_system_is_one_where_nothing_vanishes() -> None:
    c = random_coefficients()
    assert c.count == 2 and c.structure.shape == (3, 3, 3) and c.lam.shape == (3, 2)
    for table in (
        c.quadratic,
        c.transport,
        c.shape_drive,
        c.shape_curvature,
        c.curvature,
        c.lift_derivative,
        c.gamma,
        c.lam[2:],
    ):
        assert np.max(np.abs(table)) > 1e-2
    assert (
        np.max(np.abs(planar("random").rows(np.array([0.3, -0.4]))[:, :2])) > 0.1
    )  # the constraint contains r_dot


def test_another_section_is_another_way_to_write_the_same_motion() -> None:
    """e' = f e has p' = f p, so that p'_dot = f_dot p + f p_dot."""
    scenario = da.gallery.load("snakeboard")
    phi = symbols(scenario.system)["phi"]
    group = se2(scenario.system)
    plain = bundle_of(scenario.system, group).section
    factor = 2 + sin(phi) ** 2
    place = {"psi": 0.2, "phi": 0.6}
    first = reduced_coefficients(scenario, group, place)
    second = reduced_coefficients(
        scenario, group, place, section=[[factor * x for x in plain.col(0)]]
    )
    v, p = np.array([0.4, -0.7]), np.array([0.9])
    f, derivative = 2 + np.sin(0.6) ** 2, np.sin(1.2)
    assert np.allclose(
        second.momentum_rate(v, f * p), derivative * v[1] * p + f * first.momentum_rate(v, p)
    )
    assert np.allclose(first.frame @ first.connection, second.frame @ second.connection)
    for name in ("curvature", "lift_derivative"):
        scale = (
            f if name == "lift_derivative" else 1.0
        )  # Gamma' p' = Gamma p, so that Gamma' = Gamma / f
        here, there = (np.tensordot(c.frame, getattr(c, name), 1) for c in (first, second))
        extra = (
            0.0
            if name == "curvature"
            else np.array([0.0, derivative / f]) * (first.frame @ first.lift)[:, :, None]
        )
        assert np.allclose(scale * there, here - extra)


# -- closed forms ----------------------------------------------------------------------------------


@pytest.mark.long
def test_the_snakeboard_in_symbols() -> None:
    """Bloch 5.9.65 and the momentum equation p_dot = 2 J0 cos^2 phi_dot psi_dot - tan(phi) phi_dot
    p.
    """
    system = da.gallery.load("snakeboard").system
    q = symbols(system)
    phi, r, m, J0 = q["phi"], q["r"], q["m"], q["J0"]
    c = reduced_coefficients(
        system, se2(system), section=[[-2 * r * cos(phi) ** 2, 0, sin(2 * phi)]]
    )

    def same(left: Any, right: Any) -> bool:
        return bool(sympy.simplify(left - right) == 0)

    assert same(c.inertia[0, 0], 4 * m * r**2 * cos(phi) ** 2)
    assert same(c.transport[0, 0, 1], -tan(phi)) and c.transport[0, 0, 0] == 0
    assert same(c.shape_drive[0, 1, 0] + c.shape_drive[1, 0, 0], 2 * J0 * cos(phi) ** 2)
    fixed = c.frame @ c.curvature.reshape(3, 4)
    expected = [-J0 * cos(2 * phi) / (m * r), 0, J0 * sin(2 * phi) / (m * r**2)]
    assert all(same(value, wanted) for value, wanted in zip(fixed[:, 1], expected, strict=True))


@pytest.mark.long
def test_symbols_have_the_values_of_numbers() -> None:
    scenario = da.gallery.load("rolling-disk")
    group = wheel(scenario.system)
    written, numbers = (
        reduced_coefficients(scenario.system, group),
        reduced_coefficients(scenario, group, {"theta": 0.3}),
    )
    values = dict(scenario.parameters) | {"theta": 0.3}

    def number(x: Any) -> float:
        return float(x.xreplace({s: sympy.Float(values[s.name]) for s in x.free_symbols}))

    for name in (
        "frame",
        "structure",
        "inertia",
        "inverse_derivative",
        "lam",
        "lift_derivative",
        "transport",
        "shape_curvature",
    ):
        table = getattr(written, name)
        value = np.array([number(sympy.S(x)) for x in table.flat]).reshape(table.shape)
        assert np.allclose(value, getattr(numbers, name), atol=1e-12), name


def test_a_free_body_has_eulers_coefficients() -> None:
    """Without shape and constraints: p_dot_b = C^c_ab I^{ad} p_c p_d, that is M_dot = M x Omega."""
    a, b, c = da.coordinates("a b c")
    omega = (
        a.dot * sin(b) * sin(c) + b.dot * cos(c),
        a.dot * sin(b) * cos(c) - b.dot * sin(c),
        a.dot * cos(b) + c.dot,
    )
    values = np.array([1.1, 1.7, 2.3])
    body = da.System(
        [a, b, c], kinetic=sum(float(j) * w**2 for j, w in zip(values, omega, strict=True)) / 2
    )
    fields = {
        "w1": {a: sin(c) / sin(b), b: cos(c), c: -sin(c) * cos(b) / sin(b)},
        "w2": {a: cos(c) / sin(b), b: -sin(c), c: -cos(c) * cos(b) / sin(b)},
        "w3": {c: 1},
    }
    found = reduced_coefficients(body, fields, {}, identity={b: 1.0})
    momentum = values * np.array([0.3, -0.5, 0.9])
    assert np.allclose(found.momentum_rate([], momentum), np.cross(momentum, momentum / values))


# -- what must be refused --------------------------------------------------------------------------


TENSORS = [
    "frame", "structure", "inertia", "inverse", "inverse_derivative", "gamma", "connection",
    "lift", "lam", "curvature",
    "lift_derivative",
]  # fmt: skip


@pytest.mark.parametrize("tensor", TENSORS)
def test_a_wrong_tensor_is_not_returned(tensor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = module.moving_tensors
    place = TENSORS.index(tensor)

    def wrong(*arguments: Any) -> list[Any]:
        tables = right(*arguments)
        tables[place] = tables[place] * 1.001
        return tables

    monkeypatch.setattr(module, "moving_tensors", wrong)
    field = CoefficientField(planar("random").bundle)
    with pytest.raises(RunError, match="do not give the reduced equations"):
        field.at({"r1": 0.3, "r2": -0.4})


def test_a_section_that_vanishes_is_refused() -> None:
    """At phi = pi/2 the snakeboard's constraints lose a rank, and its section vanishes up to
    rounding.
    """
    with pytest.raises(RunError, match="degenerates"):
        coefficients("snakeboard", phi=np.pi / 2)
    assert coefficients("snakeboard", phi=0.0).residual < 1e-13


def test_hypotheses_have_names() -> None:
    plate = da.gallery.load("ball-on-rotating-plate")
    turns = {
        f"w_{name}": {symbols(plate.system)[name]: 1} for name in ("turn_x", "turn_y", "turn_z")
    }
    with pytest.raises(FormError, match="linear in the velocities"):
        reduced_coefficients(plate, turns, {"x": 0.1, "y": 0.2})
    x, y = da.coordinates("x y")
    swept = da.System([x, y], lagrangian=(x.dot**2 + y.dot**2) / 2 + y * x.dot)
    with pytest.raises(FormError, match="kinetic less potential"):
        reduced_coefficients(swept, {"u": {x: 1}}, {y: 0.2})
    driven = da.System([x, y], lagrangian=(x.dot**2 + y.dot**2) / 2 - y**2 * sin(da.t))
    with pytest.raises(FormError, match="time"):
        reduced_coefficients(driven, {"u": {x: 1}}, {y: 0.2})


def test_names_and_values_are_read_carefully() -> None:
    scenario = da.gallery.load("snakeboard")
    group = se2(scenario.system)
    with pytest.raises(ModelError, match="did you mean phi"):
        reduced_coefficients(scenario, group, {"psi": 0.1, "phii": 0.2})
    with pytest.raises(ModelError, match="`phi` has no value"):
        reduced_coefficients(scenario, group, {"psi": 0.1})


def test_applied_forces_do_not_disturb_the_coefficients() -> None:
    scenario = da.gallery.load("snakeboard")
    q = symbols(scenario.system)
    pushed = scenario.system.replacing(
        forces={q["psi"]: 0.3 - q["psi"].dot, q["phi"]: q["phi"] * 2}
    )
    place = {"psi": 0.2, "phi": 0.6}
    plain = reduced_coefficients(scenario, se2(scenario.system), place)
    forced = reduced_coefficients(pushed, se2(pushed), place, scenario.parameters)
    assert np.allclose(plain.transport, forced.transport) and forced.residual < 1e-13
