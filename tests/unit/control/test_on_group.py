"""Boundary problems on groups, spheres and orbits against geodesic distances, and against the
general tool.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import sympy
from scipy.linalg import expm, logm
from scipy.stats import special_ortho_group

import dalembert as da
from dalembert.control.optimal.rotations import logarithm_derivative, logarithms, skew_entries
from dalembert.errors import ModelError, RunError, StartError


def rotation(n: int, seed: int) -> Any:
    return special_ortho_group.rvs(n, random_state=seed)


def skew(n: int, seed: int) -> Any:
    entries = np.random.default_rng(seed).normal(size=(n, n))
    return (entries - entries.T) / 2


@cache
def body(n: int, equal: bool) -> da.Flow:
    return da.lie.rigid_body([0.5] * n if equal else list(range(1, n + 1)))


# -- logarithms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_every_turn_is_a_logarithm_and_the_first_is_the_principal_one(n: int) -> None:
    target = rotation(n, 7)
    found = logarithms(target)
    assert len(found) == 2 ** (n // 2)
    for turn in found:
        assert np.allclose(expm(turn.logarithm), target, atol=1e-12)
        assert turn.length**2 == pytest.approx(np.sum(turn.logarithm**2) / 2)
    assert np.allclose(found[0].logarithm, np.real(logm(target)), atol=1e-10)
    assert [turn.is_principal for turn in found] == [True] + [False] * (len(found) - 1)


def test_half_turns_have_logarithms() -> None:
    for target in (np.diag([1.0, -1.0, -1.0]), np.diag([-1.0, -1.0, -1.0, -1.0])):
        assert np.allclose(expm(logarithms(target)[0].logarithm), target, atol=1e-12)


@pytest.mark.parametrize("n", [3, 4])
def test_the_derivative_of_the_logarithm(n: int) -> None:
    target, direction, step = expm(skew(n, 1)), skew(n, 2), 1e-6
    ahead, behind = (
        skew_entries(logarithms(target @ expm(s * direction), 1)[0].logarithm)
        for s in (step, -step)
    )
    derivative = logarithm_derivative(logarithms(target, 1)[0].logarithm) @ skew_entries(direction)
    assert np.allclose((ahead - behind) / (2 * step), derivative, atol=1e-8)


# -- rigid bodies ----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 4])
@pytest.mark.parametrize("seed", [1, 2])
def test_equal_inertias_give_the_geodesic_distance(n: int, seed: int) -> None:
    first, last = rotation(n, seed), rotation(n, seed + 10)
    found = da.control.optimal_on_group(body(n, True), first, last, (0, 2))
    assert found.cost == pytest.approx(
        np.sum(np.real(logm(first.T @ last)) ** 2) / 2 / 4, rel=1e-10
    )
    assert found.residual < 1e-10
    assert found.branch.startswith("short")
    assert np.allclose(found.motion["Q"][-1], last, atol=1e-9)


def test_a_long_way_is_listed_and_its_conjugate_point_is_the_full_turn() -> None:
    """Neighbours meet after a full turn, in the two directions across the axis."""
    last = expm(3.0 * np.array([[0, -1, 0], [1, 0, 0], [0, 0, 0.0]]))
    found = da.control.optimal_on_group(body(3, True), np.eye(3), last, (0, 1))
    assert [way.cost for way in found.branches] == pytest.approx(
        [9 / 2, (2 * np.pi - 3) ** 2 / 2], rel=1e-10
    )
    points = found.conjugate_until(2.5)
    assert [point.multiplicity for point in points] == [2]
    assert points[0].time == pytest.approx(2 * np.pi / 3, abs=1e-6)


@pytest.mark.long
def test_unequal_inertias_agree_with_the_general_tool() -> None:
    """The same problem in nine entries of Q with inputs, relations and costates for all of them."""
    symbols = da.coordinates("Q_11 Q_12 Q_13 Q_21 Q_22 Q_23 Q_31 Q_32 Q_33")
    Q, (u, v, w) = sympy.Matrix(3, 3, symbols), da.inputs("u v w")
    product = Q.T * Q - sympy.eye(3)
    kinematics = da.Flow(
        dict(zip(symbols, Q * sympy.Matrix([[0, -w, v], [w, 0, -u], [-v, u, 0]]), strict=True)),
        inputs=[u, v, w],
        constraints=[
            da.holonomic(product[i, j], name=f"o_{i}{j}") for i in range(3) for j in range(i, 3)
        ],
        matrices={"Q": Q},
    )
    last = expm(skew(3, 3))
    general = da.control.optimal(
        kinematics,
        (5 * u**2 + 4 * v**2 + 3 * w**2) / 2,
        {"Q": np.eye(3)},
        {"Q": last},
        (0, 1),
        segments=1,
    )
    special = da.control.optimal_on_group(body(3, False), np.eye(3), last, (0, 1))
    assert general.cost == pytest.approx(special.cost, rel=1e-9)
    assert np.allclose(general.motion["Q"][-1], last, atol=1e-8)
    assert general.conjugate_points == special.conjugate_points == ()
    until = [tool.conjugate_until(9.0) for tool in (general, special)]
    assert [p.time for p in until[0]] == pytest.approx([p.time for p in until[1]], abs=1e-6)
    assert until[0]


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 4])
def test_left_and_right_bodies_cost_the_same_for_inverse_turns(n: int) -> None:
    """Q(t)^T of a left body is a right one that turns backwards: their costs between inverse ends
    agree.
    """
    first, last = rotation(n, 1), rotation(n, 2)
    left = da.control.optimal_on_group(body(n, False), first, last, (0, 1), ways=1)
    right = da.control.optimal_on_group(
        da.lie.rigid_body(list(range(1, n + 1)), "right"), first.T, last.T, (0, 1), ways=1
    )
    assert left.cost == pytest.approx(right.cost, rel=1e-9)


def test_continuation_from_easy_inertias_arrives_at_the_same_extremal() -> None:
    from dalembert.control.optimal.first_guesses import _led_by_parameters, approached, guesses
    from dalembert.control.optimal.group_problem import GroupProblem

    values = {"Lambda_1": 0.1, "Lambda_2": 1.0, "Lambda_3": 3.0}
    problem = GroupProblem.read(
        da.lie.rigid_body(3), np.eye(3), rotation(3, 8), None, None, values, (0.0, 1.0)
    )
    ((_, guess),) = guesses(problem, None, 1, 0)
    led = _led_by_parameters(problem, guess, dict.fromkeys(values, 1.0))
    moved = approached(problem.arcs, problem.boundary, problem.span, guess)
    assert led is not None
    assert moved is not None
    assert led.cost == pytest.approx(moved.cost, rel=1e-9)
    assert np.allclose(led.unknowns, moved.unknowns, rtol=1e-7, atol=1e-8)


# -- rest to rest ----------------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 4])
def test_a_ball_is_turned_about_a_fixed_axis_by_the_cubic(n: int) -> None:
    first, last = rotation(n, 4), rotation(n, 5)
    found = da.control.rest_to_rest([1.0] * n, first, last, (0, 2), ways=1)
    turn = np.real(logm(first.T @ last))
    assert found.cost == pytest.approx(6 * 4 * np.sum(turn**2) / 2 / 8, rel=1e-9)
    share = found.motion.t / 2
    angle = 3 * share**2 - 2 * share**3
    expected = np.array([first @ expm(a * turn) for a in angle])
    assert np.allclose(found.motion["Q"], expected, atol=1e-8)


def test_torques_of_a_general_body_begin_and_end_at_rest_and_keep_the_costate_in_space() -> None:
    last = rotation(3, 6)
    found = da.control.rest_to_rest([1, 2, 3], np.eye(3), last, (0, 1))
    motion = found.motion
    assert np.max(np.abs(motion["M"][[0, -1]])) < 1e-8
    assert np.allclose(motion["Q"][-1], last, atol=1e-8)
    spatial = motion["Q"] @ motion["Pi"] @ np.swapaxes(motion["Q"], 1, 2)
    assert np.max(np.abs(spatial - spatial[0])) < 1e-7 * np.max(np.abs(spatial))
    # A ball with the largest or the least inertia of this body needs more or less.
    turn = logarithms(last, 1)[0].length ** 2
    assert 6 * 3**2 * turn < found.cost < 6 * 5**2 * turn


@pytest.mark.long
def test_conjugate_points_from_rest_to_rest_do_not_depend_on_units() -> None:
    """A slower turn is the same one in other units: its conjugate point stays, simple, at the same
    part of the span.
    """
    from dalembert.control.optimal.rest_to_rest import _canonical

    last = expm(2.5 * np.array([[0, 0.6, -0.48], [-0.6, 0, 0.64], [0.48, -0.64, 0.0]]))
    parts = []
    for length in (1.0, 30.0):
        found = da.control.rest_to_rest([0.1, 1, 5], np.eye(3), last, (0, length), ways=1)
        parts.append(
            [
                (point.time / length, point.multiplicity)
                for point in found.conjugate_until(3 * length)
            ]
        )
    assert [time for time, _ in parts[0]] == pytest.approx([time for time, _ in parts[1]], rel=1e-6)
    assert parts[0] and all(multiplicity == 1 for part in parts for _, multiplicity in part)
    # Neighbours with one start span an isotropic plane.
    start = np.concatenate([np.eye(3).ravel(), np.zeros(3), list(found.costates.values())])
    arc = found.search.arcs.run(0.0, 20.0, start, found.search.directions)
    X, P = _canonical(3).read(arc.state, arc.derivatives)
    assert np.max(np.abs(X.T @ P - P.T @ X)) < 1e-8 * np.max(np.abs(X.T @ P))


def test_ends_that_are_no_rotations_are_refused() -> None:
    with pytest.raises(StartError, match="end is not a rotation"):
        da.control.rest_to_rest([1, 2, 3], np.eye(3), np.diag([1, 1, -1]), (0, 1))


# -- spheres and orbits ----------------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 5])
def test_spheres_have_great_circles_that_meet_at_the_antipode(n: int) -> None:
    first, last = np.random.default_rng(n).normal(size=(2, n))
    first, last = first / np.linalg.norm(first), last / np.linalg.norm(last)
    found = da.control.optimal_on_group(da.lie.sphere_flow(n), first, last, (0, 1))
    angle = np.arccos(first @ last)
    assert found.cost == pytest.approx(angle**2 / 2, rel=1e-10)
    assert [way.cost for way in found.branches][1] == pytest.approx(
        (2 * np.pi - angle) ** 2 / 2, rel=1e-10
    )
    points = found.conjugate_until(1.5 * np.pi / angle)
    assert [point.multiplicity for point in points] == [n - 2]
    assert points[0].time == pytest.approx(np.pi / angle, abs=1e-6)


def test_the_long_way_round_a_sphere_is_no_minimum() -> None:
    first, last = np.array([1.0, 0, 0]), np.array([np.cos(2.0), np.sin(2.0), 0])
    found = da.control.optimal_on_group(
        da.lie.sphere_flow(3), first, last, (0, 1), guess=[0, 2 - 2 * np.pi, 0]
    )
    assert found.cost == pytest.approx((2 * np.pi - 2) ** 2 / 2, rel=1e-10)
    assert found.conjugate_points[0].time == pytest.approx(np.pi / (2 * np.pi - 2), abs=1e-8)
    assert "not a minimum beyond" in found.verdict


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_aligned_frames_are_joined_along_principal_angles(seed: int) -> None:
    """Q_0^T Q_T symmetric and positive: a geodesic of planes, whose frame does not turn in them."""
    random = np.random.default_rng(seed)
    first, last = (np.linalg.qr(random.normal(size=(4, 2)))[0] for _ in range(2))
    left, cosines, right = np.linalg.svd(first.T @ last)
    found = da.control.optimal_on_group(
        da.lie.grassmannian_flow(4, 2), first, last @ (left @ right).T, (0, 1)
    )
    assert found.cost == pytest.approx(np.sum(np.arccos(cosines) ** 2) / 4, rel=1e-9)
    # The same planes with frames turned in them are farther.
    turned = da.control.optimal_on_group(da.lie.grassmannian_flow(4, 2), first, last, (0, 1))
    assert turned.cost > found.cost


def test_the_orbit_of_a_vector_of_so3_is_a_sphere() -> None:
    first, last = skew(3, 1), skew(3, 2)
    last *= np.linalg.norm(first) / np.linalg.norm(last)
    found = da.control.optimal_on_group(da.lie.orbit_flow(3), first, last, (0, 1))
    cosine = np.sum(first * last) / np.sum(first * first)
    assert found.cost == pytest.approx(np.arccos(cosine) ** 2 / 2, rel=1e-9)


def test_complex_lines_are_joined_by_their_angle() -> None:
    """i (z z* - 1/2) moves by U(2) in its real form: the cost is the squared angle of two lines,
    doubled by that form.
    """
    random = np.random.default_rng(4)
    lines = [
        v / np.linalg.norm(v) for v in random.normal(size=(2, 2)) + 1j * random.normal(size=(2, 2))
    ]

    def place(v: Any) -> Any:
        a = 1j * (np.outer(v, v.conj()) - np.eye(2) / 2)
        return np.block([[a.real, -a.imag], [a.imag, a.real]])

    flow = da.lie.orbit_flow(da.lie.LieGroup.SU(2))
    found = da.control.optimal_on_group(flow, place(lines[0]), place(lines[1]), (0, 1))
    angle = np.arccos(abs(np.vdot(*lines)))
    assert found.cost == pytest.approx(2 * angle**2 / 2, rel=1e-9)


@pytest.mark.long
def test_brocketts_potential_costs_what_the_action_says() -> None:
    """1/2 |u|^2 - V by the quadrature along the motion; without the potential the same ends cost
    less.
    """
    n = np.array([[0, 1.0, 0.2], [-1.0, 0, 0.5], [-0.2, -0.5, 0]])
    flow = da.lie.orbit_flow(3, brockett=n.tolist())
    x = flow.matrices["x"]
    across = x * sympy.Matrix(n.tolist()) - sympy.Matrix(n.tolist()) * x
    stored = sum((entry**2 for entry in across), sympy.Integer(0)) / 4
    first, last = skew(3, 1), skew(3, 2)
    last *= np.linalg.norm(first) / np.linalg.norm(last)
    with pytest.raises(ModelError, match="not the cost"):
        da.control.optimal_on_group(flow, first, last, (0, 1))
    found = da.control.optimal_on_group(
        flow, first, last, (0, 1), cost=flow.integrals["energy"] + 2 * stored
    )
    times = np.linspace(0, 1, 2001)
    states = found.motion.sol(times)
    values = {symbol.name: states[k] for k, symbol in enumerate(found.motion.state)}
    places, costates = (
        np.array([[[0 * times, values[f"{k}_12"], values[f"{k}_13"]],
                   [-values[f"{k}_12"], 0 * times, values[f"{k}_23"]],
                   [-values[f"{k}_13"], -values[f"{k}_23"], 0 * times]]])[0].transpose(2, 0, 1)
        for k in "xp"
    )  # fmt: skip
    inputs, pulled = costates @ places - places @ costates, places @ n - n @ places
    running = np.sum(inputs**2, axis=(1, 2)) / 4 + np.sum(pulled**2, axis=(1, 2)) / 4
    assert found.cost == pytest.approx(np.trapezoid(running, times), rel=1e-6)
    assert found.cost > da.control.optimal_on_group(da.lie.orbit_flow(3), first, last, (0, 1)).cost


# -- what is refused -------------------------------------------------------------------------------


def test_ends_that_cannot_be_joined_are_refused() -> None:
    with pytest.raises(StartError, match="reflection"):
        da.control.optimal_on_group(body(3, True), np.eye(3), np.diag([1, 1, -1]), (0, 1))
    with pytest.raises(StartError, match="breaks the constraint"):
        da.control.optimal_on_group(body(3, True), np.eye(3), 2 * np.eye(3), (0, 1))
    with pytest.raises(StartError, match="orbit of the start"):
        da.control.optimal_on_group(
            da.lie.grassmannian_flow(3, 2), np.eye(3, 2), 2 * np.eye(3, 2), (0, 1)
        )
    with pytest.raises(StartError, match="dimensions"):
        da.control.optimal_on_group(body(3, True), np.eye(3), np.eye(2), (0, 1))


def test_flows_that_are_not_of_this_kind_are_refused() -> None:
    x, y = da.coordinates("x y")
    with pytest.raises(ModelError, match="Flow with matrices"):
        da.control.optimal_on_group(da.Flow({x: y, y: -x}), [1], [0], (0, 1))
    with pytest.raises(ModelError, match="no matrix"):
        da.control.optimal_on_group(body(3, True), np.eye(3), np.eye(3), (0, 1), place="R")
    with pytest.raises(ModelError, match="no costates"):
        da.control.optimal_on_group(
            da.lie.toda(2, full=True), np.eye(2), np.eye(2), (0, 1), place="A"
        )
    with pytest.raises(ModelError, match="all costates"):
        da.control.optimal_on_group(body(3, True), np.eye(3), rotation(3, 1), (0, 1), guess=[1.0])


def test_a_search_that_fails_says_how_far_it_came(monkeypatch: pytest.MonkeyPatch) -> None:
    from dalembert.control.optimal import first_guesses as ways
    from dalembert.control.optimal import shooting

    monkeypatch.setattr(shooting, "MOST_STEPS", 1)
    monkeypatch.setattr(ways, "SMALLEST", 1.0)
    with pytest.raises(RunError, match="No extremal") as caught:
        da.control.optimal_on_group(body(3, False), np.eye(3), rotation(3, 8), (0, 1), ways=1)
    assert "residual" in str(caught.value.seen)


def test_a_report_reads_as_text_and_as_a_table() -> None:
    found = da.control.optimal_on_group(body(3, True), np.eye(3), rotation(3, 1), (0, 1))
    assert "abnormal" in str(found)
    assert "Ways tried" in str(found)
    assert "<table>" in found._repr_html_()


def test_a_cost_that_is_quadratic_only_at_samples_is_not_taken() -> None:
    plain = body(3, False)
    w = next(q for q in plain.coordinates if q not in plain.matrices["Q"].free_symbols)
    bent = da.Flow(
        plain.rates,
        matrices=plain.matrices,
        constraints=plain.constraints,
        integrals={"energy": plain.integrals["energy"] + sympy.Max(w - 50, 0) ** 2},
    )
    with pytest.raises(ModelError, match="not shown to be quadratic"):
        da.control.optimal_on_group(bent, np.eye(3), rotation(3, 2), (0, 1))


def test_ends_that_are_rotations_make_no_flow_of_rotations() -> None:
    """Q_dot = Q W with a W that stretches: the end is met in all four entries, not in its angle
    alone.
    """
    Q, W = (
        sympy.Matrix(2, 2, da.coordinates(" ".join(f"{name}_{k}" for k in (11, 12, 21, 22))))
        for name in "QW"
    )
    rates = {
        **dict(zip(Q, Q * W, strict=True)),
        **dict.fromkeys(W, sympy.Integer(0)),
        W[0, 0]: W[1, 0],
    }
    flow = da.Flow(rates, matrices={"Q": Q, "W": W}, integrals={"energy": sum(w**2 for w in W) / 2})
    end = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    assert np.allclose(
        da.control.optimal_on_group(flow, np.eye(2), end, (0, 1)).motion["Q"][-1], end, atol=1e-8
    )
