"""Linear feedback: parts that inputs move, poles, quadratic cost, closed loops, and what is
refused.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

import dalembert as da
from dalembert.errors import FormError, ModelError

CART = da.gallery.load("cart-pendulum")


def three_masses(pushed: int) -> da.System:
    """Masses in a row, joined by springs; the first `pushed` of them are pushed."""
    x = da.coordinates("x y z")
    u = [da.Input(f"u{k}") for k in range(pushed)]
    potential = ((x[0] - x[1]) ** 2 + 2 * (x[1] - x[2]) ** 2) / 2
    kinetic = sum(q.dot**2 for q in x) / 2
    return da.System(
        x, kinetic=kinetic, potential=potential, forces=dict(zip(x, u, strict=False)), inputs=u
    )


def spectrum(system: da.System, parameters: dict[str, float]) -> np.ndarray:
    return np.sort_complex(da.linearise(system, parameters=parameters).eigenvalues)


def test_the_input_matrix_is_the_derivative_of_the_rates_by_the_input() -> None:
    (u,) = CART.system.inputs
    found = da.linearise(CART.system.replacing(inputs=[u]), parameters=CART.parameters)
    b = CART.parameters
    determinant = b["m"] * b["l"] ** 2 * b["M"]
    assert found.inputs == ("u",)
    np.testing.assert_allclose(
        found.input_matrix[:, 0],
        [0, 0, -b["m"] * b["l"] / determinant, b["m"] * b["l"] ** 2 / determinant],
    )


@pytest.mark.parametrize(
    "poles", [[-1, -2, -3, -4], [-2, -2, -2, -2], [-1 + 2j, -1 - 2j, -3, -3]], ids=str
)
def test_one_input_places_any_poles(poles: list[complex]) -> None:
    found = da.control.place_poles(CART, poles)
    closed = da.control.feedback(CART, found)
    wanted = np.poly(poles)
    np.testing.assert_allclose(
        np.poly(da.linearise(closed).matrix), wanted, atol=1e-8 * np.max(np.abs(wanted))
    )


def test_the_closed_loop_is_a_system_that_settles() -> None:
    closed = da.control.feedback(CART, da.control.place_poles(CART, [-3, -3.5, -4, -4.5]))
    motion = da.simulate(closed, {"phi": 0.05}, (0, 12))
    assert np.max(np.abs(motion.y[:, -1])) < 1e-8
    gains = da.control.place_poles(CART, [-3, -3.5, -4, -4.5]).gains["u"]
    np.testing.assert_allclose(
        motion["u"], sum(gain * motion[name] for name, gain in gains.items()), atol=1e-10
    )


def test_several_inputs_place_poles() -> None:
    poles = [-1, -1.5, -2, -2.5, -3, -3.5]
    system = three_masses(2)
    closed = da.control.feedback(system, da.control.place_poles(system, poles))
    np.testing.assert_allclose(
        spectrum(closed, {}), np.sort_complex(np.array(poles, dtype=complex)), atol=1e-6
    )


def test_a_pole_that_repeats_too_often_for_several_inputs_is_refused() -> None:
    with pytest.raises(FormError, match="poles"):
        da.control.place_poles(three_masses(2), [-1] * 6)


def test_the_quadratic_cost_is_that_of_riccati() -> None:
    found = da.control.lqr(CART, weights={"phi": 3.0}, effort=0.5)
    line = found.parts.linearisation
    Q, R = np.diag([3.0, 1, 1, 1]), np.array([[0.5]])
    P = scipy.linalg.solve_continuous_are(line.matrix, line.input_matrix, Q, R)
    expected = -np.linalg.solve(R, line.input_matrix.T @ P)[0]
    np.testing.assert_allclose(list(found.gains["u"].values()), expected, rtol=1e-8)
    assert all(value.real < 0 for value, _ in found.eigenvalues)


def test_the_quadratic_cost_is_least_among_neighbours() -> None:
    """Costs of closed loops by Lyapunov's equation."""
    found = da.control.lqr(CART)
    line = found.parts.linearisation
    best = np.array(list(found.gains["u"].values()))

    def cost(gains: np.ndarray) -> float:
        A = line.matrix + np.outer(line.input_matrix, gains)
        return float(
            np.trace(
                scipy.linalg.solve_continuous_lyapunov(A.T, -(np.eye(4) + np.outer(gains, gains)))
            )
        )

    random = np.random.default_rng(0)
    assert all(cost(best) < cost(best * (1 + 1e-2 * random.normal(size=4))) for _ in range(8))


def test_what_no_input_moves_keeps_its_eigenvalues_and_says_so() -> None:
    x, y = da.coordinates("x y")
    u = da.inputs("u")
    apart = da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=2 * y**2, forces={x: u}, inputs=[u]
    )
    found = da.control.place_poles(apart, [-1, -2])
    kinds = {
        kind: [value for value, label in found.eigenvalues if label == kind]
        for _, kind in found.eigenvalues
    }
    np.testing.assert_allclose(sorted(v.real for v in kinds["controllable"]), [-2, -1], atol=1e-9)
    np.testing.assert_allclose(sorted(v.imag for v in kinds["uncontrollable"]), [-2, 2], atol=1e-9)
    with pytest.raises(FormError, match="rank 2 of 4"):
        da.control.place_poles(apart, [-1, -2, -3, -4])


def test_feedback_of_symbols_that_do_not_tell_the_state_is_refused() -> None:
    with pytest.raises(FormError, match="rank 2 of 4"):
        da.control.place_poles(CART, [-1, -2, -3, -4], symbols=["phi", "phi_dot"])


def test_wrong_names_are_answered() -> None:
    with pytest.raises(ModelError, match="phi_dot"):
        da.control.feedback(CART, {"u": {"phi_dott": 1.0}})
    with pytest.raises(ModelError, match="no input"):
        da.control.controllable_part(CART, inputs=["w"])
    with pytest.raises(ModelError, match="conjugate"):
        da.control.place_poles(CART, [-1 + 1j, -2, -3, -4])
    with pytest.raises(FormError, match="no free input"):
        x = da.coordinates("x")
        da.control.controllable_part(da.System([x], kinetic=x.dot**2 / 2))


@pytest.mark.long
def test_neighbours_of_a_motion_follow_the_linear_equations_along_it() -> None:
    """The difference of two motions against the linearised one, by the midpoint rule."""
    closed = da.control.feedback(CART, da.control.place_poles(CART, [-3, -3.5, -4, -4.5]))
    times = np.linspace(0, 1, 2001)
    base = {"phi": 0.3, "s": 0.1}
    motion = da.simulate(closed, base, (0, 1), at=times, rtol=1e-12)
    other = da.simulate(closed, {**base, "phi": 0.3 + 1e-6}, (0, 1), at=times, rtol=1e-12)
    line = da.analysis.linearise_along(motion)
    z, step = np.array([1e-6, 0.0, 0.0, 0.0]), times[1]
    for A, B in zip(line.matrices[:-1], line.matrices[1:], strict=True):
        middle = (A + B) / 2
        z = np.linalg.solve(np.eye(4) - step / 2 * middle, (np.eye(4) + step / 2 * middle) @ z)
    np.testing.assert_allclose(
        z, other.y[:, -1] - motion.y[:, -1], atol=2e-5 * np.max(np.abs(z)) + 1e-11
    )
    assert line.matrices.shape == (2001, 4, 4) and line.input_matrices.shape == (2001, 4, 0)


def test_gains_of_a_linearisation_are_those_of_its_system():
    x, u = da.coordinates("x"), da.inputs("u")
    mass = da.System([x], kinetic=x.dot**2 / 2, potential=x**2 / 2, forces={x: u}, inputs=[u])
    line = da.analysis.linearise(mass, {x: 0.0})
    for make in (da.control.lqr, lambda model: da.control.place_poles(model, [-1, -2])):
        assert make(line).gains["u"] == pytest.approx(make(mass).gains["u"])
    with pytest.raises(ModelError, match="already has its point"):
        da.control.lqr(line, {x: 0.0})
