"""The restricted and the reduced two-form: closed exactly where it must be, the same motion, and
curvature where it is not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sympy import cos, sin

import dalembert as da
from dalembert.analysis.symmetry import reduced_two_form as reduced_module
from dalembert.analysis.symmetry.reduced_two_form import ReducedTwoFormField, reduced_two_form
from dalembert.analysis.symmetry.restricted_two_form import (
    TwoFormField,
    cyclic,
    jacobi_failure,
    restricted_two_form,
)
from dalembert.errors import FormError, ModelError, RunError, SingularError, StartError
from dalembert.formulations.reduction.bundle_equations import bundle_of
from dalembert.formulations.velocity_splits import _splits, choose_split
from dalembert.verification.independent.planar_bundles import planar, samples


def se2(system: da.System, heading: str = "theta") -> dict[str, dict[Any, Any]]:
    q = {c.name: c for c in system.coordinates}
    x, y, angle = q["x"], q["y"], q[heading]
    return {
        "ahead": {x: cos(angle), y: sin(angle)},
        "aside": {x: -sin(angle), y: cos(angle)},
        "turn": {angle: 1},
    }


def on_surfaces(by_velocity: bool) -> da.System:
    """Two surfaces in four dimensions, stated by positions or by velocities."""
    x, y, z, w = q = da.coordinates("x y z w")
    surfaces = (z - sin(x) * y**2, w + x * y + z**2)
    kinetic = (
        (1 + x**2) * x.dot**2 + y.dot**2 + z.dot**2 * (2 + cos(w)) + w.dot**2 + x.dot * z.dot
    ) / 2
    if by_velocity:
        rows = [
            da.velocity(sum(g.diff(c) * c.dot for c in q), name=f"f{k}")
            for k, g in enumerate(surfaces)
        ]
    else:
        rows = [da.holonomic(g, name=f"f{k}") for k, g in enumerate(surfaces)]
    return da.System(q, kinetic=kinetic, potential=x * y, constraints=rows)


# -- before reduction ------------------------------------------------------------------------------


@pytest.mark.parametrize("by_velocity", [True, False], ids=["velocities", "positions"])
def test_integrable_constraints_leave_a_closed_form(by_velocity: bool) -> None:
    place = {"x": 0.4, "y": 0.7, "x_dot": 0.5, "y_dot": -0.8}
    z = np.sin(0.4) * 0.49
    found = restricted_two_form(on_surfaces(by_velocity), place | {"z": z, "w": -0.28 - z**2})
    assert np.abs(found.derivative).max() < 1e-13 and np.abs(found.jacobi).max() < 1e-13
    assert found.residual < 1e-13


@pytest.mark.parametrize("name", ["snakeboard", "bicycle", "rolling-disk", "unicycle-rider"])
def test_nonholonomic_constraints_do_not(name: str) -> None:
    found = restricted_two_form(da.gallery.load(name))
    assert np.abs(found.derivative).max() > 0.1 and np.abs(found.jacobi).max() > 0.1
    assert found.residual < 1e-12
    for table in (found.derivative, found.jacobi):
        assert np.allclose(table, -np.swapaxes(table, 0, 1), atol=1e-12)
        assert np.allclose(table, -np.swapaxes(table, 1, 2), atol=1e-12)


def test_jacobis_identity_can_fail_where_the_extended_form_is_closed() -> None:
    """z' = y x' at y = 0: d omega vanishes there with dp_z/dy_x = y/(1 + y^2), the brackets {z, .}
    know better.
    """
    x, y, z = da.coordinates("x y z")
    slope = da.velocity(z.dot - y * x.dot, name="slope")
    particle = da.System(
        [x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, constraints=[slope]
    )
    for height in (0.0, 1.3):
        found = restricted_two_form(particle, {x.dot: 0.7, y.dot: -0.4, y: height})
        assert found.names == ("x", "y", "z", "y_x", "y_y")
        # X_x = d/dx + y d/dz and X_y = d/dy have [X_x, X_y] = -d/dz
        assert found.derivative[0, 1, 2] == pytest.approx(-height / (1 + height**2), abs=1e-14)
        assert found.derivative_on([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 2, 0]) == pytest.approx(
            2 * found.derivative[0, 1, 2]
        )
        assert np.abs(found.jacobi).max() > 0.2


def test_the_field_of_the_form_is_the_motion() -> None:
    scenario = da.gallery.load("snakeboard")
    found = TwoFormField(scenario.system, choose_split(scenario.system)).at(
        {**scenario.start, **scenario.parameters}
    )
    assert np.allclose(
        found.matrix.T @ np.linalg.lstsq(found.frame, found.field, rcond=None)[0],
        found.differential,
        atol=1e-13,
    )
    equations = da.derive(scenario.system, "bates-sniatycki")
    state = dict(zip(found.names, found.point, strict=True))
    values = {s.name: scenario.parameters[s.name] for s in scenario.system.parameters}
    rates = equations.function()(0.0, [state[s.name] for s in equations.state], values)
    assert np.allclose(found.field, rates, atol=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_brackets_are_those_of_the_motion(seed: int) -> None:
    """{z, H} is the motion, and brackets do not depend on the choice of independent velocities."""
    system = planar("snakeboard").system
    spot = samples("snakeboard")[seed]
    names = [q.name for q in system.coordinates]
    values = dict(zip(names, spot.q, strict=True)) | {
        f"{n}_dot": u for n, u in zip(names, spot.u, strict=True)
    }
    values |= planar("snakeboard").parameters
    charts = []
    for split in _splits(system, None, None, implicit=False):
        charts.append(TwoFormField(system, split).at(values))
    assert len(charts) > 1
    for found in charts:
        assert np.allclose(found.bivector, -found.bivector.T)
        assert np.allclose(found.bivector[:5, :5], 0, atol=1e-13)  # coordinates commute
        assert np.allclose(found.field[:5], spot.u, atol=1e-12)
        # {q_i, q_j} = 0 and {q_i, y_s} = F_is: the directions of the constraints
        assert np.allclose(found.bivector[:5, 5:], found.frame[:5, :3], atol=1e-12)


def test_given_velocities_and_momenta_are_held_or_refused() -> None:
    """z' = y x' at y = 2: z' given alone makes x' follow, whichever of them are independent; all
    three must agree.
    """
    x, y, z = da.coordinates("x y z")
    slope = da.velocity(z.dot - y * x.dot, name="slope")
    particle = da.System(
        [x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, constraints=[slope]
    )
    found = restricted_two_form(particle, {y: 2.0, z.dot: 3.0, y.dot: 0.5})
    assert found.velocities == pytest.approx({"x_dot": 1.5, "y_dot": 0.5, "z_dot": 3.0})
    assert found.field[:3] == pytest.approx([1.5, 0.5, 3.0])
    same = restricted_two_form(particle, {y: 2.0, "p_x": 1.5, "p_y": 0.5, "p_z": 3.0})
    assert same.field == pytest.approx(found.field)
    with pytest.raises(StartError, match="slope"):
        restricted_two_form(particle, {y: 2.0, x.dot: 1.0, y.dot: 0.5, z.dot: 3.0})
    m = da.parameters("m", positive=True)
    heavy = da.System(
        [x, y],
        kinetic=m * (x.dot**2 + y.dot**2) / 2,
        constraints=[da.velocity(y.dot - da.t * x.dot)],
    )
    with pytest.raises(ModelError, match="m"):
        restricted_two_form(heavy, {x.dot: 1.0})
    assert restricted_two_form(heavy, {x.dot: 1.0, da.t: 2.0}, {m: 3.0}).velocities[
        "y_dot"
    ] == pytest.approx(2.0)


def test_a_degenerate_state_is_refused() -> None:
    x, y = da.coordinates("x y")
    system = da.System([x, y], kinetic=(x**2 * x.dot**2 + y.dot**2) / 2)
    with pytest.raises(SingularError):
        restricted_two_form(system, {x: 0.0, y: 0.1})


def test_small_helpers() -> None:
    random = np.random.default_rng(2)
    table = random.normal(size=(3, 3, 3))
    assert cyclic(table)[0, 1, 2] == pytest.approx(table[0, 1, 2] + table[1, 2, 0] + table[2, 0, 1])
    # so(3): {x_i, x_j} = eps_ijk x_k obeys Jacobi's identity, with a constant added it does not
    levi = np.zeros((3, 3, 3))
    levi[0, 1, 2] = levi[1, 2, 0] = levi[2, 0, 1] = 1
    levi[1, 0, 2] = levi[2, 1, 0] = levi[0, 2, 1] = -1
    x = np.array([0.3, -0.7, 0.4])
    assert np.allclose(jacobi_failure(levi @ x, levi), 0)
    skewed = levi.copy()
    skewed[0, 1, 0], skewed[1, 0, 0] = 1, -1
    assert np.abs(jacobi_failure(skewed @ x, skewed)).max() > 0.1


# -- after reduction -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["random", "snakeboard", "bicycle"])
def test_the_reduced_form_gives_the_motion_of_the_other_side(kind: str) -> None:
    """Hamiltonian side (two-form), Lagrangian side (reduce), and multipliers in all coordinates."""
    for s in samples(kind):
        found = s.planar.two_form.at(s.numbers)
        assert np.allclose(found.field, np.concatenate([s.v, *s.exact]), atol=1e-12)
        assert found.residual < 1e-13
        inside = np.linalg.solve(found.form.T, found.differential)
        assert np.allclose(found.directions @ inside, found.field, atol=1e-11)
        assert np.allclose(found.form, -found.form.T)
        assert np.linalg.matrix_rank(found.bivector, tol=1e-9) == found.form.shape[0]


def test_how_much_of_the_symmetry_is_left() -> None:
    """H_bar has dimension 2s where the momenta commute, and more where they do not."""
    assert samples("snakeboard")[0].planar.two_form.at(
        samples("snakeboard")[0].numbers
    ).form.shape == (
        4,
        4,
    )
    random = samples("random")[0]
    found = random.planar.two_form.at(random.numbers)
    assert found.form.shape == (6, 6) and found.derivative is None
    with pytest.raises(FormError, match="do not commute"):
        found.derivative_on(*np.eye(4)[:3])


def test_chaplygins_case_is_the_restricted_form() -> None:
    """Snakeboard under translations alone: no momenta, d omega on T(D/G) is that before
    reduction.
    """
    scenario = da.gallery.load("snakeboard")
    x, y = scenario.system.coordinates[:2]
    place = {
        "theta": 0.3,
        "psi": 0.2,
        "phi": 0.5,
        "theta_dot": 0.4,
        "psi_dot": 0.2,
        "phi_dot": -0.3,
    }
    found = reduced_two_form(scenario, {"u": {x: 1}, "w": {y: 1}}, place)
    system = scenario.system
    split = choose_split(system, None, lambda s: s.independent == (2, 3, 4))
    before = TwoFormField(system, split).at(
        {"x": 0.0, "y": 0.0} | place | dict(scenario.parameters)
    )
    field = TwoFormField(system, split)
    step = 1e-6
    names = list(place)

    def momenta(values: dict[str, float]) -> np.ndarray:
        return field.at({"x": 0.0, "y": 0.0} | values | dict(scenario.parameters)).point[5:]

    carry = np.eye(6)  # from (r, r_dot) to (r, y)
    for column, name in enumerate(names):
        ahead, back = (momenta(place | {name: place[name] + h}) for h in (step, -step))
        carry[3:, column] = (ahead - back) / (2 * step)
    there = np.einsum("abc,ai,bj,ck->ijk", before.derivative, carry, carry, carry)
    assert np.abs(found.derivative).max() > 1
    assert np.allclose(found.derivative, there, atol=1e-6)


def test_a_wrong_sign_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        reduced_module.ReducedTwoFormField,
        "_turning",
        lambda self, mu, right=ReducedTwoFormField._turning: -right(self, mu),
    )
    system = da.gallery.load("snakeboard").system
    field = ReducedTwoFormField(bundle_of(system, se2(system)))
    values = {
        "psi": 0.1,
        "phi": 0.4,
        "psi_dot": 0.3,
        "phi_dot": -0.6,
        "p_1": 0.7,
        "m": 1.3,
        "r": 0.8,
        "J0": 0.25,
        "J1": 0.1,
    }
    field.at(
        values
    )  # one momentum, across the board nothing moves: the bracket does not matter here
    spot = samples("random")[0]
    with pytest.raises(RunError, match="Lagrangian side"):
        ReducedTwoFormField(spot.planar.bundle).at(spot.numbers)


def test_names_are_read_carefully() -> None:
    scenario = da.gallery.load("snakeboard")
    with pytest.raises(ModelError, match="`p_1` has no value"):
        reduced_two_form(
            scenario,
            se2(scenario.system),
            {"psi": 0.1, "phi": 0.4, "psi_dot": 0.3, "phi_dot": -0.6},
        )
    x, y = da.coordinates("x y")
    driven = da.System([x, y], lagrangian=(x.dot**2 + y.dot**2) / 2 - y**2 * sin(da.t))
    with pytest.raises(FormError, match="time"):
        reduced_two_form(driven, {"u": {x: 1}}, {"y": 0.1, "y_dot": 0.2, "p_1": 0.3})
