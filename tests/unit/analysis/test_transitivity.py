"""`transitivity`: the coefficients of Rumyantsev's (1.10) and (1.21), their relations, and what
their vanishing means.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

import dalembert as da
from dalembert.analysis.variational.transitivity import Transitivity
from dalembert.errors import FormError, ModelError

INTEGRABLE = {
    "spherical-pendulum": True,
    "elastic-pendulum-arc": True,
    "elastic-pendulum-printed": True,
    "elastic-pendulum-steered": True,
    "appell": False,
    "rolling-disk": False,
    "nonholonomic-particle": False,
    "two-particles-incline": False,
    "chaplygin-sleigh": False,
    "ball-on-rotating-plate": False,
}


@cache
def found(name: str) -> Transitivity:
    return da.variational.transitivity(da.gallery.load(name))


def random_values(system: da.System, seed: int) -> dict[str, float]:
    random = np.random.default_rng(seed)
    symbols = (
        da.t,
        *system.coordinates,
        *system.velocities,
        *(q.ddot for q in system.coordinates),
        *system.parameters,
    )
    return {symbol.name: float(random.uniform(0.3, 1.1)) for symbol in symbols}


def split_values(
    result: Transitivity, values: dict[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """The state and the parameters that `at` takes."""
    constants = {symbol.name for symbol in result.system.parameters}
    bound = {name.replace("_dot", "_ddot") for name in result.dependent}
    state = {
        name: value for name, value in values.items() if name not in constants and name not in bound
    }
    return state, {name: values[name] for name in constants}


@pytest.mark.long
@pytest.mark.parametrize("name", INTEGRABLE)
def test_it_vanishes_just_where_every_constraint_is_integrable(name: str) -> None:
    """By Frobenius' theorem on the one hand, by the coefficients on the other."""
    facts = da.describe(da.gallery.load(name)).constraints
    assert found(name).vanishes is INTEGRABLE[name] is all(fact.integrable for fact in facts)


@pytest.mark.parametrize(
    "name",
    [
        "appell",
        "rolling-disk",
        "chaplygin-sleigh",
        "elastic-pendulum-printed",
        "spherical-pendulum",
    ],
)
def test_symbols_of_quasi_velocities_and_of_their_inverse_are_the_same_defect(name: str) -> None:
    result = found(name)
    symbols = result.at(*split_values(result, random_values(result.system, 3)))
    size = 1.0 + np.abs(symbols.W).max()
    assert np.abs(symbols.W + symbols.derivatives @ symbols.T).max() < 1e-13 * size
    k = len(result.independent)
    assert np.abs(symbols.W[k:] + symbols.matrix @ symbols.coefficients.T).max() < 1e-13 * size
    assert np.abs(symbols.W[:k]).max() < 1e-13 * size  # eta_s = v_s commutes


def test_the_sign_between_w_and_a_is_minus_and_not_as_printed() -> None:
    symbols = found("appell").at(
        {"q1_dot": 0.7, "q2_dot": -0.4, "q1_ddot": 0.3, "q2_ddot": 0.9},
        {"a": 0.5, "m": 1, "g": 9.81},
    )
    assert np.allclose(symbols.matrix, 1.0)  # the constraint is stated solved
    assert np.abs(symbols.coefficients).max() > 0.1
    assert np.allclose(symbols.W[2], -symbols.coefficients[:, 0], atol=1e-14)
    assert not np.allclose(symbols.W[2], symbols.coefficients[:, 0])


def test_the_rolling_disk_has_the_printed_coefficients() -> None:
    result = found("rolling-disk")
    _, psi, phi = da.coordinates("theta psi phi")
    r = da.parameters("r", positive=True)
    expected = sympy.Matrix(
        [
            [0, 0],
            [phi.dot * r * sin(phi), -phi.dot * r * cos(phi)],
            [-psi.dot * r * sin(phi), psi.dot * r * cos(phi)],
        ]
    )
    assert sympy.simplify(sympy.Matrix(result.coefficients) - expected) == sympy.zeros(3, 2)
    assert (result.independent, result.dependent) == (
        ("theta_dot", "psi_dot", "phi_dot"),
        ("x_dot", "y_dot"),
    )


def linear_system() -> tuple[da.System, Any, Any]:
    """Two rheonomic constraints that are affine in the velocities, with coefficients of all
    coordinates.
    """
    q = da.coordinates("q1 q2 q3 q4")
    t = da.t
    derivatives = sympy.Matrix([[sin(q[2]) * q[1], q[3] + t], [cos(q[0] + q[3]), q[2] * q[3] * t]])
    rest = sympy.Matrix([q[0] * q[2] + sin(t), q[1] + q[3] * q[0]])
    rows = [
        q[2 + a].dot - derivatives[a, 0] * q[0].dot - derivatives[a, 1] * q[1].dot - rest[a]
        for a in range(2)
    ]
    constraints = [da.velocity(row, name=f"row{k}") for k, row in enumerate(rows)]
    system = da.System(q, kinetic=sum(c.dot**2 for c in q) / 2, constraints=constraints)
    return system, derivatives, rest


def test_linear_constraints_have_the_special_form_of_the_coefficients() -> None:
    """A_s^l = da_ls/dt - (da_li/dq_s) v_i - da_l/dq_s - a_js ((da_li/dq_j) v_i + da_l/dq_j), below
    Rumyantsev's (1.13).
    """
    system, derivatives, rest = linear_system()
    q = system.coordinates
    free, bound = q[:2], q[2:]
    velocities = [
        free[0].dot,
        free[1].dot,
        *(derivatives @ sympy.Matrix([c.dot for c in free]) + rest),
    ]

    def rate(entry: sympy.Expr) -> sympy.Expr:
        return sympy.diff(entry, da.t) + sum(
            sympy.diff(entry, c) * v for c, v in zip(q, velocities, strict=True)
        )

    def pull(row: int, symbol: Any) -> sympy.Expr:
        return sum(
            sympy.diff(derivatives[row, i], symbol) * free[i].dot for i in range(2)
        ) + sympy.diff(rest[row], symbol)

    expected = sympy.Matrix(
        2,
        2,
        lambda s, row: (
            rate(derivatives[row, s])
            - pull(row, free[s])
            - sum(derivatives[j, s] * pull(row, bound[j]) for j in range(2))
        ),
    )
    result = da.variational.transitivity(system, independent=free)
    values = random_values(system, 8)
    numbers = {symbol: values[symbol.name] for symbol in expected.free_symbols}
    state, constants = split_values(result, values)
    assert np.allclose(
        result.at(state, constants).coefficients,
        np.array(expected.subs(numbers), dtype=float),
        rtol=1e-12,
    )


@pytest.mark.parametrize(
    "name", ["appell", "rolling-disk", "chaplygin-sleigh", "constrained-particle"]
)
def test_formulas_and_numbers_agree(name: str) -> None:
    result = found(name)
    values = random_values(result.system, 5)
    symbols = result.at(*split_values(result, values))
    for formula, numbers in (
        (result.coefficients, symbols.coefficients),
        (result.W, symbols.W),
        (result.T, symbols.T),
    ):
        table = {symbol: values[symbol.name] for symbol in formula.free_symbols}
        assert np.allclose(
            np.array(formula.subs(table), dtype=float), numbers, rtol=1e-12, atol=1e-13
        )


def test_accelerations_of_the_motion_are_taken_where_none_are_given() -> None:
    result, constants = found("appell"), {"a": 0.5, "m": 1.0, "g": 9.81}
    on_motion = result.at({"q1_dot": 0.7, "q2_dot": -0.4}, constants).coefficients
    assert np.abs(on_motion).max() < 1e-15  # the heading of every motion is constant
    assert (
        np.abs(
            result.at(
                {"q1_dot": 0.7, "q2_dot": -0.4, "q1_ddot": 1, "q2_ddot": 1}, constants
            ).coefficients
        ).max()
        > 0.1
    )


def test_the_choice_of_independent_velocities_is_the_users() -> None:
    x, _, theta = da.gallery.load("chaplygin-sleigh").system.coordinates
    other = da.variational.transitivity(
        da.gallery.load("chaplygin-sleigh"), independent=["x_dot", theta]
    )
    assert other.independent == ("x_dot", "theta_dot")
    assert other.dependent == ("y_dot",)
    assert sympy.simplify(other.coefficients[1, 0] + x.dot / cos(theta) ** 2) == 0
    with pytest.raises(ModelError, match="did you mean theta"):
        da.variational.transitivity(da.gallery.load("chaplygin-sleigh"), independent=["x", "thet"])
    with pytest.raises(FormError, match="dependent"):
        da.variational.transitivity(da.gallery.load("chaplygin-sleigh"), independent=["x", "y"])


def test_a_state_where_the_choice_degenerates_is_refused() -> None:
    sleigh = da.gallery.load("chaplygin-sleigh")
    result = da.variational.transitivity(sleigh, independent=["y", "theta"])
    with pytest.raises(ModelError, match="independent="):
        result.at({"theta": 0.0, "theta_dot": 1.0}, sleigh.parameters)
    with pytest.raises(ModelError, match="no `thetta`"):
        result.at({"thetta": 1.0}, sleigh.parameters)
    with pytest.raises(ModelError, match="no value"):
        found("appell").at({"q1_dot": 1.0})


def test_constraints_that_give_no_rows_are_refused() -> None:
    with pytest.raises(FormError, match="image"):
        da.variational.transitivity(da.gallery.load("linked-particles"))
    with pytest.raises(FormError, match="one-sided"):
        da.variational.transitivity(da.gallery.load("elastic-pendulum-wall"))


def test_a_free_system_has_none() -> None:
    result = da.variational.transitivity(da.gallery.load("two-planar-bodies"))
    assert result.coefficients.shape == (len(result.independent), 0)
    assert result.vanishes
    assert "no constraints" in result.text()


def test_it_is_shown_and_stored() -> None:
    result = found("rolling-disk")
    text = result.text()
    assert text.splitlines()[0] == "Rolling disk"
    assert "phi_dot*r*sin(phi)" in text
    assert "<table>" in result._repr_html_()
    assert result._repr_markdown_().startswith("### Rolling disk")
    assert r"\dot{\phi}" in result.latex()
    data = result.to_json()
    assert json.loads(json.dumps(data)) == data
    assert "yes: every A_s^a vanishes" in found("spherical-pendulum").text()


@pytest.mark.parametrize(
    ("derivative", "vanishes"),
    [(sympy.Max, None), (lambda y, _: sympy.Float(1e-12) * y, False)],
    ids=["beyond samples", "small coefficient"],
)
def test_constraints_are_not_integrable_by_samples(derivative: Any, vanishes: bool | None) -> None:
    x, y, z = da.coordinates("x y z")
    row = da.velocity(z.dot - (1 + derivative(y - 1e6, 0)) * x.dot, name="slope")
    particle = da.System([x, y, z], kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2, constraints=[row])
    result = da.variational.transitivity(particle, independent=[x, y])
    assert result.vanishes is vanishes
    assert ("not established" in result.text()) is (vanishes is None)


def test_implicit_velocities_are_printed_with_their_constraint() -> None:
    """x_dot**2 + y_dot**2 + z_dot**2 = 1 + z**2 is affine in no velocity."""
    x, y, z = da.coordinates("x y z")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    speed = da.velocity(x.dot**2 + y.dot**2 + z.dot**2 - 1 - z**2, name="speed")
    point = da.System([x, y, z], kinetic=kinetic, constraints=[speed])
    found = da.variational.transitivity(point, independent=[x, z])
    line = next(line for line in str(found).splitlines() if line.strip().startswith("y_dot "))
    assert "follows from" in line and "(`speed`)" in line and "y_dot**2" in line
