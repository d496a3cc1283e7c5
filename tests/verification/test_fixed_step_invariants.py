"""What the methods with fixed steps keep over many steps, and what they do not; symmetry under
reversed time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy

import dalembert as da
from dalembert.model.builders.bracket_flows import double_bracket, orbit_flow
from dalembert.model.builders.symmetric_spaces import grassmannian_flow
from moving_matrices import ON_GROUPS, ORDERS, body, skew

X, Y = da.coordinates("x y")
SYMMETRIC = [method for method in ORDERS if method != "rkmk4"]
PENDULUM = da.System([X], kinetic=X.dot**2 / 2, potential=-sympy.cos(X))
BODIES = {n: body([1.0, 1.5, 2.2, 3.1][:n]) for n in (3, 4)}


def long_run(n: int, method: str, steps: int, h: float = 0.05) -> da.Motion:
    flow = BODIES[n]
    start = flow.start(M=skew(n, 2, 4.0), Q=np.eye(n))
    motion = da.simulate(
        flow, start, (0, steps * h), method=method, step=h, every=max(1, steps // 500)
    )
    assert motion.success, motion.message
    return motion


def spread(values: Any) -> float:
    return float(np.abs(values - values[0]).max())


def assert_kept(motion: da.Motion, method: str, limit: float) -> None:
    M, Q = motion["M"], motion["Q"]
    turned, n = np.swapaxes(Q, 1, 2), Q.shape[1]
    size = np.linalg.norm(M[0])
    assert spread(np.sort(np.linalg.eigvalsh(1j * M), axis=1)) < limit * size
    assert spread(np.einsum("tij,tij->t", M, M)) < limit * size**2
    assert np.abs(turned @ Q - np.eye(n)).max() < limit
    if method in ON_GROUPS or n == 3:
        assert spread(Q @ M @ turned) < limit * size


@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize("n", [3, 4])
def test_spectrum_casimirs_and_attitude_over_a_hundred_thousand_steps(n: int, method: str) -> None:
    assert_kept(long_run(n, method, 100_000), method, 2e-13)


@pytest.mark.long
@pytest.mark.parametrize("method", ORDERS)
@pytest.mark.parametrize("n", [3, 4])
def test_spectrum_casimirs_and_attitude_over_a_million_steps(n: int, method: str) -> None:
    motion = long_run(n, method, 1_000_000)
    assert_kept(motion, method, 1e-12)
    if method != "rkmk4":
        derivative = np.polyfit(motion.t, motion.energy, 1)[0] * motion.t[-1]
        assert abs(derivative) < 0.1 * np.ptp(motion.energy) + 1e-12 * motion.energy[0]


def test_gauss_on_symbols_does_not_know_the_group() -> None:
    """Q M Q^T is of third degree in the symbols for n = 4: Gauss's method keeps M and Q on their
    orbits but not this.
    """
    motion = long_run(4, "gauss2", 2000)
    Q, M = motion["Q"], motion["M"]
    assert spread(Q @ M @ np.swapaxes(Q, 1, 2)) > 1e-6


@pytest.mark.long
@pytest.mark.parametrize("n", [3, 4])
def test_the_energy_of_symmetric_methods_has_no_derivative(n: int) -> None:
    """A hundred thousand steps at a coarse step: bounded for symmetric methods, a straight line for
    the explicit one.
    """
    drifts = {}
    for method in ("isospectral2", "lie-verlet", "rkmk4"):
        motion = long_run(n, method, 100_000, 0.1)
        early, late = np.split(np.abs(motion.energy[:-1] / motion.energy[0] - 1), 2)
        drifts[method] = late.max() / early.max()
    assert drifts["isospectral2"] < 1.2 and drifts["lie-verlet"] < 1.2
    assert drifts["rkmk4"] == pytest.approx(2.0, abs=0.1)


def test_a_general_integrator_at_the_same_step_drifts() -> None:
    flow, h, steps = BODIES[3], 0.1, 20_000
    start = flow.start(M=skew(3, 2, 4.0), Q=np.eye(3))
    free = da.simulate(
        flow, start, (0, h * steps), rtol=0.1, atol=1e3, first_step=h, max_step=h, at=[0, h * steps]
    )
    Q = free["Q"][-1]
    assert (
        np.abs(Q.T @ Q - np.eye(3)).max()
        > 100 * np.abs(_gram(long_run(3, "isospectral6", steps, h))).max()
    )


def _gram(motion: da.Motion) -> Any:
    Q = motion["Q"][-1]
    return Q.T @ Q - np.eye(len(Q))


@pytest.mark.parametrize("method", ["gauss2", "gauss4", "gauss6"])
def test_gauss_keeps_quadratic_invariants_of_systems(method: str) -> None:
    """Angular momentum of a nonlinear central motion is quadratic; the energy is not, and stays
    bounded.
    """
    central = da.System([X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=(X**2 + Y**2) ** 2 / 4)
    motion = da.simulate(
        central, {X: 1.0, Y.dot: 0.5}, (0, 10_000), method=method, step=0.1, every=100
    )
    momentum = motion["x"] * motion["y_dot"] - motion["y"] * motion["x_dot"]
    assert spread(momentum) < 2e-14
    early, late = np.split(np.abs(motion.energy[:-1] - motion.energy[0]), 2)
    assert 1e-13 < late.max() < 1.5 * early.max()


@pytest.mark.parametrize("method", ["gauss2", "gauss4", "gauss6"])
def test_gauss_keeps_areas_of_phase_space(method: str) -> None:
    """The derivative of a step, by differences, has determinant one for a pendulum; that of an
    explicit one has not.
    """
    hamiltonian = da.derive(PENDULUM, "hamilton")

    def flow(x: float, p: float) -> np.ndarray:
        return da.simulate(hamiltonian, {"x": x, "p_x": p}, (0, 2.0), method=method, step=0.5).y[
            :, -1
        ]

    d = 1e-4
    columns = [
        (flow(1.0 + a, 0.4 + b) - flow(1.0 - a, 0.4 - b)) / (2 * d) for a, b in ((d, 0.0), (0.0, d))
    ]
    assert np.linalg.det(np.array(columns).T) == pytest.approx(1.0, abs=1e-7)


@pytest.mark.parametrize("method", ORDERS)
def test_symmetry_under_reversed_time(method: str) -> None:
    """Forth and back with the same step is the identity for symmetric methods, and only for
    these.
    """
    flow, h, steps = BODIES[4], 0.1, 200
    start = flow.start(M=skew(4, 2, 4.0), Q=np.eye(4))
    forth = da.simulate(flow, start, (0, h * steps), method=method, step=h)
    end = dict(zip((s.name for s in forth.state), forth.y[:, -1], strict=True))
    back = da.simulate(flow, end, (h * steps, 0), method=method, step=h, project_start=False)
    error = np.abs(back.y[:, -1] - forth.y[:, 0]).max()
    if method in SYMMETRIC:
        assert error < 1e-12
    else:
        assert error > 1e-9


@pytest.mark.parametrize("method", ON_GROUPS)
def test_singular_values_under_two_sided_actions(method: str) -> None:
    flow = grassmannian_flow(3, 2, left_inertia=[1, 2, 3], right_inertia=[1, 1.7])
    values = np.random.default_rng(5).normal(size=len(flow.coordinates)) * 0.5
    start = {q.name: float(v) for q, v in zip(flow.coordinates, values, strict=True)}
    motion = da.simulate(flow, start, (0, 1000), method=method, step=0.05, every=50)
    for name in ("Q", "P"):
        assert spread(np.linalg.svd(motion[name], compute_uv=False)) < 1e-13


@pytest.mark.parametrize("method", ["isospectral4", "rkmk4"])
def test_a_dissipative_bracket_flow_keeps_its_spectrum_and_sorts(method: str) -> None:
    flow = double_bracket(4)
    entries = np.random.default_rng(6).normal(size=(4, 4))
    matrix = (entries + entries.T) / 2
    motion = da.simulate(flow, flow.start(x=matrix), (0, 40), method=method, step=0.05)
    last = motion["x"][-1]
    assert spread(np.linalg.eigvalsh(motion["x"])) < 1e-13
    assert np.allclose(np.diag(last), np.linalg.eigvalsh(matrix), atol=1e-6) or np.allclose(
        np.diag(last), np.linalg.eigvalsh(matrix)[::-1], atol=1e-6
    )


@pytest.mark.parametrize("method", ["isospectral4", "lie-verlet", "rkmk4"])
def test_symbols_that_no_action_moves(method: str) -> None:
    """With a potential only x moves by the group; p is then a plain symbol, and the spectrum of x
    stays.
    """
    flow = orbit_flow(3, brockett=[[0, 1, 0], [-1, 0, 0.5], [0, -0.5, 0]])
    assert len(flow.actions) == 1
    start = dict(
        zip((q.name for q in flow.coordinates), [0.5, -0.3, 0.7, 0.2, 0.4, -0.6], strict=True)
    )
    motion = da.simulate(flow, start, (0, 500), method=method, step=0.05, every=20)
    assert (
        spread(motion["x_trace_2"]) < 1e-14 and spread(np.linalg.eigvalsh(1j * motion["x"])) < 1e-14
    )
    assert spread(motion["p"]) > 0.1


def test_between_the_steps_the_invariants_stay() -> None:
    motion = long_run(4, "isospectral2", 1000)
    inside = np.linspace(0.013, 49.0, 57)
    symbols = {s.name: row for s, row in zip(motion.state, motion.sol(inside), strict=True)}
    Q = np.array([[symbols[f"q{i}{j}"] for j in range(4)] for i in range(4)]).transpose(2, 0, 1)
    assert np.abs(np.swapaxes(Q, 1, 2) @ Q - np.eye(4)).max() < 1e-13
