"""Group coordinates and principal connections by their local form, against matrices and against
each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from sympy import cos, sin

from dalembert.errors import ModelError
from dalembert.geometry.group_coordinates import GroupCoordinates
from dalembert.geometry.lie import LieGroup
from dalembert.geometry.principal_connections import PrincipalConnection
from dalembert.geometry.vanishing import vanish

A, B, C = sympy.symbols("a b c", real=True)
R1, R2 = sympy.symbols("r1 r2", real=True)

CHARTS = {
    "plane": (LieGroup.SE(2), ()),
    "plane, heading first": (LieGroup.SE(2), ("e_th", "e_y", "e_x")),
    "Cardan": (LieGroup.SO(3), ()),
    "Euler": (LieGroup.SO(3), ("e3", "e1", "e3")),
    "shifts": (LieGroup.R(3), ()),
}


def coordinates(name: str) -> tuple[LieGroup, Any, GroupCoordinates]:
    group, order = CHARTS[name]
    chart = group.chart((A, B, C), order)
    if name == "Euler":  # its frame is singular at the identity
        return (
            group,
            chart,
            GroupCoordinates(
                group.names,
                (A, B, C),
                sympy.ImmutableMatrix(chart.left_frame),
                group.structure_constants,
                (0, sympy.Integer(1), 0),
            ),
        )
    return group, chart, GroupCoordinates.of_chart(chart)


def numbers(matrix: Any, point: dict[Any, float]) -> Any:
    return np.array(matrix.subs(point).evalf().tolist(), dtype=float)


@pytest.mark.parametrize("name", list(CHARTS))
def test_the_adjoint_matrix_is_that_of_the_group(name: str) -> None:
    group, chart, found = coordinates(name)
    point = {A: 0.4, B: 0.7, C: -0.3}
    g = numbers(chart.matrix, point)
    first = numbers(chart.matrix, dict(zip((A, B, C), found.identity, strict=True)))
    expected = group.adjoint(np.linalg.inv(first) @ g)
    assert np.allclose(numbers(found.adjoint, point), expected, atol=1e-12)
    assert np.allclose(numbers(found.adjoint_inverse, point) @ expected, np.eye(3), atol=1e-12)
    assert np.allclose(numbers(found.left_form, point), numbers(chart.left_form, point), atol=1e-12)
    right = numbers(chart.right_frame, point) @ group.adjoint(first)
    assert np.allclose(numbers(found.generators, point), right, atol=1e-12)


@pytest.mark.parametrize("name", list(CHARTS))
def test_generators_commute_with_the_frame(name: str) -> None:
    """Left translations leave left-invariant fields alone."""
    _, _, found = coordinates(name)
    symbols = list(found.symbols)
    rest = []
    for a in range(3):
        for b in range(3):
            e, K = found.frame[:, a], found.generators[:, b]
            rest += list(K.jacobian(symbols) * e - e.jacobian(symbols) * K)
    point = {A: 0.4, B: 0.7, C: -0.3}
    assert max(abs(float(entry.subs(point))) for entry in rest) < 1e-12


def test_a_scaled_symbol() -> None:
    """x = r times the symbol: the body velocity of the symbol carries the parameter."""
    r = sympy.Symbol("r", positive=True)
    group = LieGroup.SE(2)
    frame = sympy.ImmutableMatrix([[cos(C) / r, -sin(C) / r, 0], [sin(C), cos(C), 0], [0, 0, 1]])
    found = GroupCoordinates(group.names, (A, B, C), frame, group.structure_constants, (0, 0, 0))
    point = {A: 0.4, B: 0.7, C: -0.3, r: 1.6}
    g = group.chart((A, B, C)).matrix.subs({A: 1.6 * 0.4, B: 0.7, C: -0.3})
    assert np.allclose(
        numbers(found.adjoint, point), group.adjoint(np.array(g.tolist(), dtype=float))
    )


def test_symbols_of_another_kind_are_refused() -> None:
    """Polar coordinates of the plane: exp of no fixed velocity moves one of them alone."""
    rho, angle, theta = sympy.symbols("rho angle theta", real=True)
    to_plane = sympy.Matrix([[cos(angle), -rho * sin(angle)], [sin(angle), rho * cos(angle)]])
    body = sympy.Matrix([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])
    frame = sympy.eye(3)
    frame[:2, :2] = to_plane.inv() * body
    group = LieGroup.SE(2)
    polar = GroupCoordinates(
        group.names,
        (rho, angle, theta),
        sympy.ImmutableMatrix(frame),
        group.structure_constants,
        (sympy.Integer(1), 0, 0),
    )
    with pytest.raises(ModelError, match="second kind"):
        _ = polar.adjoint


# -- connections -----------------------------------------------------------------------------------


def crawler(name: str = "plane") -> PrincipalConnection:
    _, _, found = coordinates(name)
    return PrincipalConnection(
        found,
        (R1, R2),
        sympy.Matrix([[R2 * sin(R1), R1], [R1 * R2, cos(R2)], [R1**2, sin(R1 + R2)]]),
    )


@pytest.mark.parametrize("name", ["plane", "Cardan", "shifts"])
def test_a_local_form_makes_a_connection(name: str) -> None:
    connection = crawler(name)
    assert connection.reproduces_generators().holds
    assert connection.equivariance().holds
    assert connection.cartan().holds


def test_cartans_equation_notices_another_bracket() -> None:
    """With the constants of the opposite algebra the equation fails."""
    right = crawler()
    group = right.group
    wrong = GroupCoordinates(
        group.names, group.symbols, group.frame, -np.asarray(group.constants), group.identity
    )
    connection = PrincipalConnection(wrong, right.shape, right.local)
    object.__setattr__(wrong, "_legs", group._legs)
    assert not connection.cartan().holds


def pure_gauge() -> tuple[Any, Any]:
    """k^-1 dk of a map k(r1, r2) into the group, and Ad_{k^-1}."""
    _, chart, found = coordinates("plane")
    k = {A: R1 * R2, B: sin(R1), C: R1 + R2**2}
    form = chart.left_form.subs(k, simultaneous=True) * sympy.Matrix([k[A], k[B], k[C]]).jacobian(
        [R1, R2]
    )
    return form, found.adjoint_inverse.subs(k, simultaneous=True)


def test_flat_connections_have_no_curvature() -> None:
    """A = -k^-1 dk, whose horizontal curves are g_0 k(r); the other sign is not flat, since the
    group does not commute.
    """
    form, _ = pure_gauge()
    group = coordinates("plane")[2]
    flat, bent = (
        sympy.flatten(PrincipalConnection(group, (R1, R2), sign * form).curvature)
        for sign in (-1, 1)
    )
    assert vanish([sympy.expand(entry) for entry in flat]).holds
    assert not vanish([sympy.expand(entry) for entry in bent]).holds


def test_the_two_orders_of_indices() -> None:
    connection = crawler()
    local, shape = connection.local, connection.shape
    for al, be in ((0, 1), (1, 0)):
        printed = (
            local[:, al].diff(shape[be])
            - local[:, be].diff(shape[al])
            - connection.bracket(local[:, be], local[:, al])
        )
        assert vanish(
            [connection.curvature_swapped[a, al, be] - printed[a] for a in range(3)]
        ).holds
        assert vanish([connection.curvature[a, be, al] - printed[a] for a in range(3)]).holds


def test_the_covariant_derivative_of_a_turned_constant_vanishes() -> None:
    """X = Ad_{k^-1} eta is parallel for A = -k^-1 dk."""
    form, back = pure_gauge()
    connection = PrincipalConnection(coordinates("plane")[2], (R1, R2), -form)
    derivative = sympy.flatten(connection.covariant_derivative(back * sympy.Matrix([1, 2, 3])))
    assert vanish([sympy.expand(entry) for entry in derivative]).holds


def test_the_shape_of_the_local_form_is_checked() -> None:
    _, _, found = coordinates("plane")
    with pytest.raises(ModelError, match="3 rows"):
        PrincipalConnection(found, (R1, R2), sympy.zeros(2, 2))
    with pytest.raises(ModelError, match="with a"):
        PrincipalConnection(found, (R1,), sympy.Matrix([A, 0, 0]))
    assert "r1, r2" in repr(crawler())


def test_symbols_of_the_second_kind_are_not_found_by_samples() -> None:
    x, y = sympy.symbols("x y", real=True)
    frame = sympy.ImmutableMatrix([[1 + sympy.Max(x - 50, 0), 0], [0, 1]])
    bent = GroupCoordinates(
        ("e_x", "e_y"), (x, y), frame, np.zeros((2, 2, 2)), (sympy.S.Zero, sympy.S.Zero)
    )
    with pytest.raises(ModelError, match="second kind"):
        _ = bent.adjoint
