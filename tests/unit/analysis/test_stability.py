"""Stability verdicts against known spectra, theorems, and motions that show them."""

from __future__ import annotations

import numpy as np
import pytest
from sympy import Abs, cos, sin

import dalembert as da
from dalembert.analysis.stability.stability import linearise, second_variation, stability
from dalembert.errors import ModelError, RunError

#: Gains that place the poles of the unicycle at -2, -2.5, -3, -3.5 (Bloch and others, section 9.4).
GAINS = {
    "theta": -207.10742935337564,
    "kappa": -14.02628725384511,
    "theta_dot": -61.02806225105107,
    "kappa_dot": -4.4221872347202416,
}


def unicycle(controlled: bool) -> tuple[da.Equations, dict[str, float], dict[str, float]]:
    """The reduced unicycle with its steady state: upright, rolling straight with the momentum p2 =
    0.5.
    """
    scenario = da.gallery.load("unicycle-rider")
    system = scenario.system
    q = {c.name: c for c in system.coordinates}
    if controlled:
        by_name = {s.name: s for s in (*system.coordinates, *system.velocities)}
        system = system.driven({"u": sum(gain * by_name[name] for name, gain in GAINS.items())})
    phi, x, y = q["phi"], q["x"], q["y"]
    group = {
        "a": {x: cos(phi), y: sin(phi)},
        "b": {x: -sin(phi), y: cos(phi)},
        "turn": {phi: 1},
        "spin": {q["psi"]: 1},
    }
    radius = next(p for p in system.parameters if p.name == "R")
    equations = da.symmetry.reduce(system, group, section=[[0, 0, 1, 0], [-radius, 0, 0, 1]])
    return equations, {"p_2": 0.5}, dict(scenario.parameters)


def test_the_unicycle_falls_without_control() -> None:
    equations, at, parameters = unicycle(controlled=False)
    found = stability(equations, at, parameters)
    assert found.verdict == "unstable"
    expected = [
        3.3914338402590385,
        5.827967368980649j,
        -5.827967368980649j,
        0,
        0,
        -3.3914338402590367,
    ]
    values = sorted(
        found.linearisation.eigenvalues, key=lambda v: (round(v.real, 6), round(v.imag, 6))
    )
    assert np.allclose(
        values,
        sorted(expected, key=lambda v: (round(complex(v).real, 6), round(complex(v).imag, 6))),
        atol=1e-7,
    )


def test_lyapunov_and_malkin_hold_the_controlled_unicycle() -> None:
    equations, at, parameters = unicycle(controlled=True)
    found = stability(equations, at, parameters)
    assert (found.verdict, found.neutral, found.manifold) == (
        "stable",
        2,
        True,
    ) and "Malkin" in found.theorem
    assert np.allclose(
        sorted(found.linearisation.eigenvalues.real)[:4], [-3.5, -3.0, -2.5, -2.0], atol=1e-4
    )
    # The motion shows it: it tends to a steady state nearby, with another momentum.
    start = at | {"theta": 0.002, "kappa": -0.001, "p_1": 0.0005, "p_2": 0.502}
    motion = da.simulate(equations, start, (0, 20), parameters=parameters)
    rest = [abs(motion[name][-1]) for name in ("theta_dot", "kappa_dot")]
    assert (
        max(rest) < 1e-7 and abs(motion["p_2"][-1] - 0.5) > 1e-4 and abs(motion["theta"][-1]) < 0.02
    )


def test_centres_are_stable_by_their_energy_or_left_open() -> None:
    x = da.coordinates("x")
    energies = {"kinetic": x.dot**2 / 2, "potential": x**2 / 2}
    found = stability(da.System([x], **energies))
    assert found.verdict == "stable" and "Dirichlet" in found.theorem
    found = stability(da.System([x], **energies, forces={x: -(x.dot**3)}))
    assert found.verdict == "not established" and "imaginary axis" in found.theorem


def test_a_kink_at_the_point_proves_nothing() -> None:
    """-|x| + x^2 has a maximum where its derivative, taken as zero, would make it a minimum."""
    x = da.coordinates("x")
    found = stability(da.System([x], kinetic=x.dot**2 / 2, potential=x**2 - Abs(x)))
    assert found.verdict == "not established" and "switches" in found.theorem
    beside = stability(da.System([x], kinetic=x.dot**2 / 2, potential=x**2 - Abs(x)), {x: 0.4})
    assert beside.verdict == "stable" and beside.linearisation.moved["x"] == (
        0.4,
        pytest.approx(0.5),
    )


def test_a_system_without_freedom_and_a_flow_are_judged() -> None:
    x, y = da.coordinates("x y")
    held = da.System(
        [x], kinetic=x.dot**2 / 2, potential=x, constraints=[da.holonomic(x - 1, name="pin")]
    )
    assert stability(held, {x: 1}).verdict == "stable"
    assert stability(da.Flow({x: -x + y**2, y: -2 * y})).verdict == "asymptotically stable"


def test_a_defective_eigenvalue_is_no_obstacle() -> None:
    """Critical damping: a Jordan block at -1, and one at -1e-5."""
    x = da.coordinates("x")
    for rate in (1.0, 1e-5):
        damped = da.System(
            [x], kinetic=x.dot**2 / 2, potential=rate**2 * x**2 / 2, dissipation=rate * x.dot**2
        )
        assert stability(damped).verdict == "asymptotically stable"


def test_a_zero_eigenvalue_without_equilibria_decides_nothing() -> None:
    """A cubic spring with friction: one zero eigenvalue, one equilibrium."""
    x = da.coordinates("x")
    found = stability(
        da.System([x], kinetic=x.dot**2 / 2, potential=x**4 / 4, dissipation=x.dot**2 / 2)
    )
    assert (found.verdict, found.neutral, found.manifold) == ("not established", 1, None)


def test_friction_on_a_level_floor_is_stable_by_malkin() -> None:
    x = da.coordinates("x")
    found = stability(da.System([x], kinetic=x.dot**2 / 2, dissipation=x.dot**2 / 2), {x: 0.7})
    assert (found.verdict, found.neutral) == ("stable", 1)


def test_constrained_systems_are_linearised_on_their_constraints() -> None:
    """A bead in a parabolic bowl: the frequencies of the bowl alone, no spurious ones."""
    x, y = da.coordinates("x y")
    bowl = da.holonomic(y - x**2, name="bowl")
    found = linearise(
        da.System([x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.0 * y, constraints=[bowl])
    )
    moving = [v for v in found.eigenvalues if abs(v) > 1e-9]
    assert np.allclose(sorted(v.imag for v in moving), [-np.sqrt(18), np.sqrt(18)])


def test_newton_moves_a_rough_point_to_the_equilibrium() -> None:
    q = da.coordinates("q")
    pendulum = da.System([q], kinetic=q.dot**2 / 2, potential=-cos(q))
    assert linearise(pendulum, {q: 3.0}).point[0] == pytest.approx(np.pi)
    with pytest.raises(RunError, match="no equilibrium"):
        linearise(pendulum, {q: 1.0}, polish=False)
    with pytest.raises(ModelError, match="q_dot"):
        linearise(pendulum, {"q_dt": 1.0})


@pytest.mark.parametrize("seed", range(5))
def test_some_casimir_function_makes_it_definite_just_where_the_levels_do(seed: int) -> None:
    """Finsler: definite on ker C just where A + w C^T C is, for some w; the independent
    implementation is a search over w.
    """
    random = np.random.default_rng(seed)
    factor = random.standard_normal((4, 4))
    matrix = (factor + factor.T) / 2
    derivative = random.standard_normal(4)
    gradient = -0.7 * derivative
    found = second_variation(gradient, matrix, [derivative], [np.zeros((4, 4))])
    weights = np.concatenate([-np.logspace(-3, 6, 400), np.logspace(-3, 6, 400)])
    spectra = [np.linalg.eigvalsh(matrix + w * np.outer(derivative, derivative)) for w in weights]
    reference = any(values[0] > 0 or values[-1] < 0 for values in spectra)
    assert found.definite == reference and found.multipliers == pytest.approx([0.7])


def test_a_point_that_is_not_critical_is_refused() -> None:
    with pytest.raises(RunError, match="critical"):
        second_variation(
            np.array([1.0, 0.0]), np.eye(2), [np.array([0.0, 1.0])], [np.zeros((2, 2))]
        )
