"""What the method claims, measured: order 8 on nonlinear problems, order 7 between steps, errors
that follow rtol.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from scipy.special import ellipj, ellipk

import dalembert as da
from dalembert.integrate.methods.adaptive import dop853_coefficients as table

X, Y = da.coordinates("x y")
KEPLER = da.System(
    [X, Y], kinetic=(X.dot**2 + Y.dot**2) / 2, potential=-1 / sympy.sqrt(X**2 + Y**2)
)
ECCENTRICITY = 0.5
PERIHELION = {X: 1 - ECCENTRICITY, Y.dot: np.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))}
ROD = da.System(
    [X, Y],
    kinetic=(X.dot**2 + Y.dot**2) / 2,
    potential=Y,
    constraints=[da.holonomic(X**2 + Y**2 - 1, name="rod")],
)
#: The pendulum starts at rest at a right angle.
AMPLITUDE = np.pi / 2


def kepler(t: Any) -> np.ndarray:
    """Positions on the ellipse by Kepler's equation."""
    mean = np.asarray(t, dtype=float)
    anomaly = mean + ECCENTRICITY * np.sin(mean)
    for _ in range(50):
        anomaly -= (anomaly - ECCENTRICITY * np.sin(anomaly) - mean) / (
            1 - ECCENTRICITY * np.cos(anomaly)
        )
    return np.array(
        [np.cos(anomaly) - ECCENTRICITY, np.sqrt(1 - ECCENTRICITY**2) * np.sin(anomaly)]
    )


def pendulum(t: Any) -> np.ndarray:
    """Positions of the pendulum by Jacobi's elliptic functions."""
    m = np.sin(AMPLITUDE / 2) ** 2
    sn, _, _, _ = ellipj(ellipk(m) - np.asarray(t, dtype=float), m)
    angle = 2 * np.arcsin(np.sqrt(m) * sn)
    return np.array([np.sin(angle), -np.cos(angle)])


CASES: dict[str, tuple[da.System, dict, Any, float]] = {
    "kepler": (KEPLER, PERIHELION, kepler, 5.0),
    "constrained pendulum": (ROD, {X: 1.0, Y: 0.0}, pendulum, 6.0),
}


def fixed(case: str, steps: int, form: str | None = None) -> da.Motion:
    """A run with equal steps: the tolerance is so loose that nothing else decides."""
    system, start, _, end = CASES[case]
    h = end / steps
    motion = da.simulate(
        system,
        start,
        (0, end),
        rtol=0.1,
        atol=1e3,
        max_step=h * (1 + 1e-12),
        first_step=h * (1 + 1e-12),
        form=form,
    )
    assert motion.statistics["rejected"] == 0 and abs(motion.statistics["steps"] - steps) <= 1
    return motion


def derivatives(sizes: list[int], errors: list[float]) -> np.ndarray:
    return np.diff(np.log(errors)) / -np.diff(np.log(sizes))


@pytest.mark.parametrize("form", ["lagrange", "hamilton"])
@pytest.mark.parametrize("case", CASES)
def test_the_order_is_eight(case: str, form: str) -> None:
    exact, end = CASES[case][2:]
    sizes = [24, 34, 48, 68] if case == "kepler" else [10, 14, 20, 28]
    errors = [float(np.abs(fixed(case, n, form).y[:2, -1] - exact(end)).max()) for n in sizes]
    assert min(errors) > 1e-14
    measured = np.log(errors[0] / errors[-1]) / np.log(sizes[-1] / sizes[0])
    assert 7.5 < measured < 10.0, (errors, derivatives(sizes, errors))


def test_the_order_between_the_steps_is_seven() -> None:
    """The polynomial inside each step, measured at places that are no nodes of the method."""
    sizes, errors = [24, 34, 48, 68], []
    for n in sizes:
        motion = fixed("kepler", n)
        inside = (
            motion.t[:-1, None] + np.diff(motion.t)[:, None] * np.array([0.23, 0.5, 0.81])
        ).ravel()
        errors.append(float(np.abs(motion.sol(inside)[:2] - kepler(inside)).max()))
    measured = np.log(errors[0] / errors[-1]) / np.log(sizes[-1] / sizes[0])
    assert 6.5 < measured < 9.0, (errors, derivatives(sizes, errors))


def test_a_step_is_exact_for_polynomials_up_to_its_order() -> None:
    """x'' = t^5 gives x of degree 7, x_dot of degree 6: one step has no error but rounding; t^9 has
    one.
    """
    for power, is_exact in ((5, True), (9, False)):
        system = da.System([X], kinetic=X.dot**2 / 2, forces={X: da.t**power})
        motion = da.simulate(system, {}, (0, 1), rtol=0.1, atol=1e3, first_step=1.0)
        error = abs(motion["x"][-1] - 1 / ((power + 1) * (power + 2)))
        assert bool(error < 1e-15) == is_exact, (power, error)


def test_the_coefficients_satisfy_the_conditions_of_quadrature() -> None:
    """sum b c^k = 1 / (k + 1) up to k = 7, and the rows of A sum to c."""
    A, C = np.asarray(table.A), np.asarray(table.C)
    b, c = A[12, :12], C[:12]
    for k in range(8):
        assert b @ c**k == pytest.approx(1 / (k + 1), abs=1e-14)
    assert abs(b @ c**8 - 1 / 9) > 1e-7
    for s in range(1, 16):
        assert A[s].sum() == pytest.approx(C[s] if s != 12 else 1.0, abs=1e-13)


def test_a_reference_makes_the_same_errors() -> None:
    """SciPy's DOP853 with the same fixed steps ends at the same point, to rounding."""

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[2:], -y[:2] / np.hypot(*y[:2]) ** 3])

    end, steps = 5.0, 20
    start = [PERIHELION[X], 0.0, 0.0, PERIHELION[Y.dot]]
    h = end / steps * (1 + 1e-12)
    reference = solve_ivp(
        rates, (0, end), start, method="DOP853", rtol=0.1, atol=1e3, max_step=h, first_step=h
    )
    ours = fixed("kepler", steps)
    assert len(reference.t) == len(ours.t)
    assert np.allclose(reference.y[:, -1], ours.y[:, -1], rtol=1e-12, atol=1e-12)


TOLERANCES = [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-13]


@pytest.mark.parametrize("case", CASES)
def test_errors_follow_the_tolerance(case: str) -> None:
    system, start, exact, end = CASES[case]
    errors = []
    for rtol in TOLERANCES:
        motion = da.simulate(system, start, (0, end), rtol=rtol, at=[end])
        errors.append(float(np.abs(motion.y[:2, 0] - exact(end)).max()))
    assert errors == sorted(errors, reverse=True)
    assert all(error < 10 * rtol for error, rtol in zip(errors, TOLERANCES, strict=True)), errors
    assert errors[-1] < 1e-12


@pytest.mark.parametrize("case", CASES)
def test_the_default_tolerance_means_what_it_says(case: str) -> None:
    system, start, exact, end = CASES[case]
    times = np.linspace(0, end, 101)
    motion = da.simulate(system, start, (0, end), at=times)
    assert np.abs(motion.y[:2] - exact(times)).max() < 2e-10


def test_work_grows_like_the_eighth_root_of_the_tolerance() -> None:
    counts = [da.simulate(KEPLER, PERIHELION, (0, 5), rtol=rtol).nfev for rtol in (1e-5, 1e-13)]
    assert 4 < counts[1] / counts[0] < 14  # (1e8)^(1/8) = 10


def test_projection_keeps_the_constraint_and_does_not_spoil_the_motion() -> None:
    system, start, exact, _ = CASES["constrained pendulum"]
    kept = da.simulate(system, start, (0, 60), rtol=1e-8)
    loose = da.simulate(system, start, (0, 60), rtol=1e-8, project=False)
    assert max(kept.worst_residual.values()) < 2e-15
    assert loose.worst_residual["position"] > 1e-11
    errors = [np.abs(m.y[:2, -1] - exact(60.0)).max() for m in (kept, loose)]
    assert errors[0] < 1e-6 and errors[0] < 10 * errors[1]


def test_energy_and_constraints_over_a_hundred_swings() -> None:
    system, start, exact, _ = CASES["constrained pendulum"]
    period = 4 * ellipk(np.sin(AMPLITUDE / 2) ** 2)
    motion = da.simulate(
        system, start, (0, 100 * period), rtol=1e-11, at=np.linspace(0, 100 * period, 101)
    )
    assert max(motion.worst_residual.values()) < 2e-15
    assert np.abs(motion.energy).max() < 1e-9
    assert np.abs(motion.y[:2] - exact(motion.t)).max() < 1e-7


@pytest.mark.long
def test_drift_over_ten_thousand_swings() -> None:
    """The residual stays at rounding, the energy drifts no faster than linearly."""
    system, start, _, _ = CASES["constrained pendulum"]
    period = 4 * ellipk(np.sin(AMPLITUDE / 2) ** 2)
    ends = [100, 1000, 10_000]
    motion = da.simulate(
        system, start, (0, ends[-1] * period), rtol=1e-11, at=[n * period for n in ends]
    )
    assert max(motion.worst_residual.values()) < 2e-15
    drifts = np.abs(motion.energy)
    assert drifts[-1] < 1e-7
    assert drifts[-1] < 200 * max(drifts[0], 1e-13)


@pytest.mark.long
def test_twenty_thousand_revolutions() -> None:
    end = 2 * np.pi * 20_000
    motion = da.simulate(KEPLER, PERIHELION, (0, end), rtol=1e-13, at=[end / 100, end])
    drift = np.abs(motion.energy + 0.5)
    assert drift[0] < 1e-11 and drift[1] < 200 * max(drift[0], 1e-14)
    assert abs(motion["x"][0] - PERIHELION[X]) < 1e-6
