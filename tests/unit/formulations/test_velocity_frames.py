"""Global frames of constraint distributions: what is chosen, that it is proved, and its motions."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import Symbol, cos, simplify, sin, sqrt, tanh

import dalembert as da
from dalembert.algebra.signs import nowhere_zero
from dalembert.algebra.simplify.simplifier import FACTORED_BITS, is_small_quotient
from dalembert.formulations import velocity_frames
from dalembert.formulations.velocity_frames import MOST_TERMS, global_frame

SPEED_FORMS = ("maggi", "hamel", "gibbs-appell", "kane")


def sleigh() -> da.System:
    x, y, theta = da.coordinates("x y theta")
    m, J, a = da.parameters("m J a", positive=True)
    centre = (x.dot - a * theta.dot * sin(theta)) ** 2 + (y.dot + a * theta.dot * cos(theta)) ** 2
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    kinetic = m / 2 * centre + J / 2 * theta.dot**2
    return da.System([x, y, theta], kinetic=kinetic, constraints=[blade])


@pytest.mark.parametrize("form", SPEED_FORMS)
def test_a_sleigh_is_written_in_forward_speed_and_turn_rate(form: str) -> None:
    """Chaplygin's u_dot = a w^2, w_dot = -m a u w/(J + m a^2), without a cotangent."""
    equations = da.derive(sleigh(), form)
    assert [symbol.name for symbol in equations.state[3:]] == ["v_xy", "theta_dot"]
    assert equations.text().splitlines() == [
        "x_dot = v_xy*cos(theta)",
        "y_dot = v_xy*sin(theta)",
        "v_xy_dot = a*theta_dot**2",
        "theta_ddot = -a*m*theta_dot*v_xy/(J + a**2*m)",
    ]


@pytest.mark.parametrize("form", [*SPEED_FORMS, "canonical-quasi", "hamel-orthonormal", "lagrange"])
def test_a_sleigh_passes_every_heading_without_another_choice(form: str) -> None:
    """Against Chaplygin's equations integrated by SciPy alone; columns are as in every form."""
    m, J, a, u, w = 1.3, 0.7, 0.4, 0.5, 1.1

    def rates(_: float, s: Any) -> list[float]:
        turn = -m * a * s[3] * s[4] / (J + m * a**2)
        return [s[3] * np.cos(s[2]), s[3] * np.sin(s[2]), s[4], a * s[4] ** 2, turn]

    times = np.linspace(0, 6, 13)
    start = [0, 0, -0.7, u, w]
    expected = solve_ivp(rates, (0, 6), start, "DOP853", times, rtol=1e-13, atol=1e-14).y
    start = {"theta": -0.7, "x_dot": u * np.cos(0.7), "y_dot": -u * np.sin(0.7), "theta_dot": w}
    values = {"m": m, "J": J, "a": a}
    motion = da.simulate(
        sleigh(), start, (0, 6), parameters=values, form=form, rtol=1e-12, at=times
    )
    assert not motion.switches
    for name, column in zip(("x", "y", "theta"), expected, strict=False):
        assert np.abs(motion[name] - column).max() < 1e-10
    assert np.abs(motion["x_dot"] - expected[3] * np.cos(expected[2])).max() < 1e-10
    force = motion.reactions["blade"].force  # m (du_y - ...) across the blade, by Newton's law
    across = m * (
        expected[3] * expected[4] + a * (-m * a * expected[3] * expected[4]) / (J + m * a**2)
    )
    assert np.abs(-sin_cos(force, expected[2]) - across).max() < 1e-9


def sin_cos(force: Any, theta: Any) -> Any:
    """The component of a force along (sin theta, -cos theta)."""
    return force[0] * np.sin(theta) - force[1] * np.cos(theta)


def test_a_start_may_name_the_speeds_beside_velocities() -> None:
    values = {"m": 1, "J": 1, "a": 0.2}
    start = {"theta": 0.3, "v_xy": 0.5, "theta_dot": 1.0}
    motion = da.simulate(sleigh(), start, (0, 1), parameters=values, form="hamel")
    assert motion["v_xy"][0] == pytest.approx(0.5, abs=1e-15)
    assert motion["x_dot"][0] == pytest.approx(0.5 * np.cos(0.3), abs=1e-15)
    again = da.simulate(sleigh(), start, (0, 1), parameters=values, form="hamel")
    assert (again.y == motion.y).all()


def test_names_of_speeds_do_not_collide() -> None:
    x, y, theta = da.coordinates("x y theta")
    (v_xy,) = da.parameters(["v_xy"], positive=True)
    blade = da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")
    kinetic = v_xy * (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    system = da.System([x, y, theta], kinetic=kinetic, constraints=[blade])
    assert [s.name for s in da.derive(system, "maggi").state[3:]] == ["v_1", "theta_dot"]


def test_factors_are_divided_out_and_a_lost_rank_is_watched() -> None:
    """The rows of two wheels lose their rank at phi = pi/2; the frame does not, and says so."""
    x, y, theta, phi = da.coordinates("x y theta phi")
    (r,) = da.parameters(["r"], positive=True)
    front, back = theta + phi, theta - phi
    wheels = [
        da.velocity(-sin(a) * x.dot + cos(a) * y.dot - s * r * cos(phi) * theta.dot, name=name)
        for a, s, name in ((front, 1, "front"), (back, -1, "back"))
    ]
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2 + phi.dot**2) / 2
    board = da.System([x, y, theta, phi], kinetic=kinetic, constraints=wheels)
    frame = global_frame(board)
    assert frame is not None
    assert not frame.is_steady
    start = {"phi": 0.2, "phi_dot": 0.1, "theta_dot": 0.3}
    motions = [
        da.simulate(board, start, (0, 2), parameters={r: 0.4}, form=form, rtol=1e-12, at=[0, 1, 2])
        for form in ("lagrange", *SPEED_FORMS)
    ]
    for motion in motions[1:]:
        assert np.abs(motion.y - motions[0].y).max() < 1e-10


@pytest.mark.parametrize(
    "row", ["x*x_dot - y*y_dot", "x_dot*cos(theta)**2 - y_dot*sin(theta)", "x_dot*y - y_dot*(x-1)"]
)
def test_rows_that_may_vanish_keep_the_partition(row: str) -> None:
    """(x, y), (cos^2, sin) and (y, x - 1): no proof, no frame; the second one is nowhere zero, but
    not by squares of sines.
    """
    import sympy

    x, y, theta = da.coordinates("x y theta")
    symbols = {s.name: s for s in (x, y, theta, x.dot, y.dot, theta.dot)}
    constraint = da.velocity(sympy.sympify(row, symbols), name="row")
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    system = da.System([x, y, theta], kinetic=kinetic, constraints=[constraint])
    frame = global_frame(system)
    if "cos" in row:
        assert frame is None or frame.is_steady
    else:
        assert frame is None
        assert {s.name for s in da.derive(system, "maggi").state[3:]} <= {
            "x_dot",
            "y_dot",
            "theta_dot",
        }


def test_signs_are_proved_or_not() -> None:
    x, y = Symbol("x", real=True), Symbol("y", real=True)
    r, s = Symbol("r", positive=True), Symbol("s", real=True)
    assert nowhere_zero(r**2 * cos(x) ** 2 + sin(x) ** 2)
    assert nowhere_zero(1 + cos(x) ** 2 * sin(y) ** 2 * r)
    assert nowhere_zero(-3 * (2 + sin(2 * x) ** 2))
    for vanishing in (cos(x) ** 2, s**2 * cos(x) ** 2 + sin(x) ** 2, 2 * sin(x) ** 2 - 1, r - 1):
        assert not nowhere_zero(vanishing)
    assert not nowhere_zero(sqrt(x**2))


def test_drifts_of_time_are_part_of_a_frame() -> None:
    """A blade on a turntable: an affine constraint, against Lagrange's form."""
    x, y, theta = da.coordinates("x y theta")
    (w,) = da.parameters(["w"])
    blade = da.velocity(
        (x.dot + w * y) * sin(theta) - (y.dot - w * x) * cos(theta) + sin(da.t), name="blade"
    )
    system = da.System(
        [x, y, theta],
        kinetic=(x.dot**2 + y.dot**2 + theta.dot**2) / 2,
        constraints=[blade],
        forces={x: -y.dot, theta: x},
    )
    assert global_frame(system) is not None
    start = {"x": 0.3, "y": -0.2, "theta": 0.1, "theta_dot": 1.5, "x_dot": 0.4}
    motions = [
        da.simulate(system, start, (0, 3), parameters={w: 0.7}, form=form, rtol=1e-12, at=[0, 3])
        for form in ("lagrange", *SPEED_FORMS, "canonical-quasi")
    ]
    for motion in motions[1:]:
        assert not motion.switches
        assert np.abs(motion.y - motions[0].y).max() < 1e-10


def test_equations_and_motions_in_speeds_are_stored(tmp_path: Path) -> None:
    """Files and pickles keep the speeds; independent velocities may still be asked for by name."""
    values = {"m": 1, "J": 1, "a": 0.2}
    motion = da.simulate(
        sleigh(), {"v_xy": 0.5, "theta_dot": 1}, (0, 1), parameters=values, form="hamel"
    )
    motion.save(tmp_path / "sleigh.nc")
    again = da.load(tmp_path / "sleigh.nc")
    for name in ("v_xy", "x_dot", "theta"):
        assert (again[name] == motion[name]).all()
    equations = da.derive(sleigh(), "hamel")
    copied = pickle.loads(pickle.dumps(equations))
    assert copied.chart == ("v_xy", "theta_dot")
    assert copied.text() == equations.text()
    by_name = equations.rechoose(["x_dot", "theta_dot"])
    assert [s.name for s in by_name.state[3:]] == ["x_dot", "theta_dot"]
    assert by_name.rechoose(["v_xy", "theta_dot"]).chart == ("v_xy", "theta_dot")


def test_values_of_constraints_do_not_move_the_speeds_of_a_frame() -> None:
    """The solved velocity depends on others that are speeds; a second row repeats the first."""
    x, y, z = da.coordinates("x y z")
    row = z.dot - x.dot * (2 + sin(y)) - y.dot * (1 + cos(x) / 2)
    energy = (x.dot**2 + 2 * y.dot**2 + 3 * z.dot**2) / 2 + x.dot * z.dot * cos(z) / 3
    rows = [da.velocity(row, name="first"), da.velocity((3 + sin(x)) * row, name="again")]
    system = da.System([x, y, z], lagrangian=energy - x * y, constraints=rows)
    state = np.array([0.3, 0.5, -0.2, 0.7, -0.4])
    found = []
    for form, kind in (("maggi", {}), ("hamel", {}), ("hamel", {"kind": "second"})):
        equations = da.derive(system, form, **kind)
        assert [symbol.name for symbol in equations.state] == ["x", "y", "z", "x_dot", "y_dot"]
        found.append(equations.compile().rates(0.0, state))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-12)


@pytest.mark.long
def test_a_steered_wheel_is_solved_for_its_own_rate() -> None:
    """The roller racer in forward speed and turn rate, checked by hand and beside other forms."""
    x, y, theta, phi = da.coordinates("x y theta phi")
    m, I_1, I_2, d_1, d_2 = da.parameters("m I_1 I_2 d_1 d_2", positive=True)
    front = -sin(theta + phi) * x.dot + cos(theta + phi) * y.dot
    front += (d_1 * cos(phi) + d_2) * theta.dot + d_2 * phi.dot
    turning = I_1 / 2 * theta.dot**2 + I_2 / 2 * (theta.dot + phi.dot) ** 2
    racer = da.System(
        [x, y, theta, phi],
        kinetic=m / 2 * (x.dot**2 + y.dot**2) + turning,
        constraints=[
            da.velocity(-sin(theta) * x.dot + cos(theta) * y.dot, name="rear"),
            da.velocity(front, name="front"),
        ],
    )
    frame = global_frame(racer)
    assert [s.name for s in frame.speeds] == ["v_xy", "theta_dot"] and frame.is_steady
    v = frame.speeds[0]
    by_hand = (v * sin(phi) - (d_1 * cos(phi) + d_2) * theta.dot) / d_2
    assert simplify(frame.velocities[3] - by_hand) == 0
    for form, most in (("maggi", 700), ("gibbs-appell", 700), ("hamel", 700)):
        assert len(da.derive(racer, form).text()) < most
    assert da.compare(racer).worst < 1e-10


def test_no_proof_is_tried_on_long_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of many terms with measured numbers share no factor, and their squares take minutes."""
    seen: list[Any] = []
    monkeypatch.setattr(velocity_frames, "nowhere_zero", lambda e: bool(seen.append(e)))
    coordinates = da.coordinates("x y a b c d e f")
    x, y, *others = coordinates
    kinetic = sum(q.dot**2 for q in coordinates) / 2
    for count in (2, 6):
        first, second = (
            sum((k + shift) / 7 * z for k, z in enumerate(others[:count])) for shift in (1, 3)
        )
        row = da.velocity(first * x.dot + second * y.dot, name="row")
        seen.clear()
        assert global_frame(da.System(coordinates, kinetic=kinetic, constraints=[row])) is None
        assert len(seen) == (2 if 2 * count**2 > MOST_TERMS else 3)


def test_what_is_factored_has_few_digits() -> None:
    """Factors are sought modulo a prime as long as all numbers together."""
    a, b = Symbol("a"), Symbol("b")
    digits = 53
    few, many = (
        sum((2**digits + 2 * k + 1) * a**k * b for k in range(count))
        for count in (2, FACTORED_BITS // digits + 1)
    )
    assert is_small_quotient(few) and not is_small_quotient(many)
    assert is_small_quotient((0.5 * a + 0.25) * b)
    assert not is_small_quotient(sum(k / 7 * a**k * b for k in range(1, 12)))


@pytest.mark.parametrize("function", [cos, tanh])
def test_large_multiples_of_an_angle_are_not_expanded(function: Any) -> None:
    """tanh(200 x y) as a quotient of degree 200 ended in a RecursionError."""
    x, y, z = da.coordinates("x y z")
    rolling = da.velocity((2 + y) * x.dot + function(200 * x * y) * y.dot + x * z.dot)
    plane = da.velocity(7 * x.dot - y.dot + 2 * z.dot)
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    system = da.System([x, y, z], kinetic=kinetic, potential=z, constraints=[rolling, plane])
    start = {"x": 18.5, "y": 41.0, "z": -8.0, "x_dot": 1.0}
    ends = [
        da.simulate(system, start, (0, 0.01), form=form, rtol=1e-11)["z"][-1]
        for form in ("lagrange", "maggi", "hamel", "gibbs-appell")
    ]
    np.testing.assert_allclose(ends, ends[0], rtol=1e-9)


def test_a_velocity_with_a_tiny_coefficient_is_not_solved_for() -> None:
    """That of z_dot vanishes nowhere; solving for it loses twelve of sixteen digits."""
    x, y, z = da.coordinates("x y z")
    row = da.velocity((1 + z**2) * 10**12 * x.dot + sin(z) * y.dot + 0.7 * z.dot, name="row")
    kinetic = (x.dot**2 + y.dot**2 + z.dot**2) / 2
    system = da.System([x, y, z], kinetic=kinetic, constraints=[row])
    assert global_frame(system) is None
    assert da.derive(system, "maggi").state[3:] == (y.dot, z.dot)
