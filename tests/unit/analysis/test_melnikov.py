"""Melnikov's function against closed forms and against the splitting measured with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.errors import ModelError, RunError

q, p, phi, I = sympy.symbols("q p phi I", real=True)
PLANE, ROTOR = (q, p), (phi, I)


@pytest.mark.parametrize("omega", [0.7, 1.0, 2.5])
def test_a_shaken_pendulum_has_its_closed_form(omega):
    found = da.analysis.melnikov(
        p**2 / 2 - sympy.cos(q) + omega * I,
        p * sympy.cos(phi),
        PLANE,
        ROTOR,
        saddle={q: 3.0, p: 0.0},
        action=0.0,
        side=-1,
    )
    assert found.amplitude == pytest.approx(
        2 * np.pi * omega / np.cosh(np.pi * omega / 2), abs=1e-9
    )
    assert found.growth == pytest.approx(1.0) and found.frequency == pytest.approx(omega)
    assert found.integrability.is_refuted and len(found.zeros) == 2
    assert np.abs(found.derivatives) == pytest.approx(found.amplitude, abs=1e-8)


def test_duffings_loop_has_its_closed_form():
    omega = 1.3
    found = da.analysis.melnikov(
        p**2 / 2 - q**2 / 2 + q**4 / 4 + omega * I,
        q * sympy.cos(phi),
        PLANE,
        ROTOR,
        saddle={q: 0.1, p: 0.0},
        action=0.0,
        turn=None,
    )
    closed = np.sqrt(2) * np.pi * omega / np.cosh(np.pi * omega / 2)
    assert found.amplitude == pytest.approx(closed, abs=1e-9)


def test_a_perturbation_that_keeps_an_integral_splits_nothing():
    found = da.analysis.melnikov(
        p**2 / 2 - sympy.cos(q) + I,
        sympy.cos(q) ** 2,
        PLANE,
        ROTOR,
        saddle={q: 3.1, p: 0.0},
        action=0.0,
        side=-1,
    )
    assert found.coincidence.status == found.integrability.status == "not established"


def measured(rates, difference, middle, phases, epsilon, time):
    """(D(T) - D(-T)) / eps along perturbed motions through the middle of the orbit."""
    found = []
    for phase in phases:
        ends = []
        for way in (time, -time):
            run = solve_ivp(
                rates, (0, way), middle(phase), args=(epsilon,), rtol=1e-13, atol=1e-17,
                method="DOP853",
            )  # fmt: skip
            ends.append(difference(run.y[:, -1]))
        found.append((ends[0] - ends[1]) / epsilon)
    return np.array(found)


def test_a_rotor_that_is_coupled_without_perturbation_splits_as_measured():
    """H0 = p^2/2 - I cos q + I^2/2, so that the term with H0_I - Omega_s counts."""
    action = 1.2
    found = da.analysis.melnikov(
        p**2 / 2 - I * sympy.cos(q) + I**2 / 2,
        sympy.cos(q - 2 * phi) + sympy.sin(phi),
        PLANE,
        ROTOR,
        saddle={q: 3.1, p: 0.0},
        action=action,
        side=-1,
    )

    def rates(_t, y, eps):
        a, b, c, d = y
        return [
            b,
            -d * np.sin(a) + eps * np.sin(a - 2 * c),
            -np.cos(a) + d,
            -eps * (2 * np.sin(a - 2 * c) + np.cos(c)),
        ]

    def difference(y):
        # H0 - E_s(I) with 1 + cos q in a form without cancellation
        return y[1] ** 2 / 2 - 2 * y[3] * np.cos(y[0] / 2) ** 2

    def middle(phase):
        return [0.0, -2 * np.sqrt(action), phase, action]

    phases = found.phases[::16]
    values = measured(rates, difference, middle, phases, 1e-10, 8 / np.sqrt(action))
    assert np.max(np.abs(values - found.values[::16])) < 5e-3 * found.amplitude
    assert found.amplitude > 0.1


def chain_energy(theta21, theta32, mu, eps):
    """Three bodies from their places alone: H = mu . J^-1 mu / 2, masses 1, inertias 1, 1, 1/2."""
    d12, d21, d23, d32 = (np.array(v) for v in ((1, 0), (-1, 0), (0.5, 0), (eps, 0)))

    def turned(angle, vector):
        c, s = np.cos(angle), np.sin(angle)
        return np.array([-s * vector[0] - c * vector[1], c * vector[0] - s * vector[1]])

    angles = (0.0, theta21, theta21 + theta32)
    zero = np.zeros(2, dtype=np.result_type(theta21, theta32, float))
    place = np.zeros((3, 3, 2), dtype=zero.dtype)  # velocity of body i by rate of angle j
    place[1, 0], place[1, 1] = turned(angles[0], d12), -turned(angles[1], d21)
    place[2] = place[1]
    place[2, 1] = place[2, 1] + turned(angles[1], d23)
    place[2, 2] = -turned(angles[2], d32)
    place = place - place.mean(axis=0)
    J = np.einsum("iax,ibx->ab", place, place) + np.diag([1.0, 1.0, 0.5])
    return mu @ np.linalg.solve(J, mu) / 2


def test_three_hinged_bodies_split_as_measured():
    eps = da.parameters("eps")
    hinges = {(1, 2): (1, 0), (2, 1): (-1, 0), (2, 3): (0.5, 0), (3, 2): (eps, 0)}
    chain = da.planar_chain(3, masses=[1, 1, 1], inertias=[1, 1, 0.5], hinges=hinges)
    total, spin = 3.0, 0.4
    found = da.symmetry.chain_melnikov(chain, eps, total=total, spin=spin)
    assert found.integrability.is_refuted

    def energy(y, small):
        mu = np.array([-y[1], total + y[1] - y[3], y[3]])
        return chain_energy(y[0], y[2], mu, small)

    def rates(_t, y, small):
        gradient = []
        for k in range(4):
            moved = np.array(y, dtype=complex)
            moved[k] += 1e-30j
            gradient.append(energy(moved, small).imag / 1e-30)
        return [gradient[1], -gradient[0], gradient[3], -gradient[2]]

    samples = np.linspace(-3, 2, 6)

    def saddle_energy(spin_here):
        # H is quadratic in p at q = pi, and least in p at the saddle.
        values = [energy([np.pi, s, 0.0, spin_here], 0.0) for s in samples]
        a, b, c = np.polyfit(samples, values, 2)
        return c - b**2 / (4 * a)

    # The orbit passes q = 2 pi on the energy of the saddle; H is quadratic in p there.
    curve = np.polyfit(samples, [energy([0.0, s, 0.0, spin], 0.0) for s in samples], 2)
    curve[-1] -= saddle_energy(spin)
    near = found.orbit[int(np.argmin(np.abs(found.orbit[:, 0] - 2 * np.pi)))][1]
    p0 = min(np.roots(curve).real, key=lambda value: abs(value - near))
    values = measured(
        rates,
        lambda y: energy(y, 0.0) - saddle_energy(y[3]),
        lambda phase: [2 * np.pi, p0, phase, spin],
        [0.0, np.pi / 2],
        1e-9,
        7 / found.growth,
    )
    assert np.hypot(*values) == pytest.approx(found.amplitude, rel=2e-2)


def test_what_is_no_saddle_or_does_not_return_is_refused():
    options = {"saddle": {q: 0.0, p: 0.0}, "action": 0.0}
    with pytest.raises(ModelError, match="saddle"):
        da.analysis.melnikov(p**2 / 2 - sympy.cos(q) + I, q, PLANE, ROTOR, **options)
    with pytest.raises(RunError, match="does not return"):
        da.analysis.melnikov(p**2 / 2 - q**2 / 2 + I, q, PLANE, ROTOR, turn=None, **options)
    with pytest.raises(ModelError, match="must not depend on the angle"):
        da.analysis.melnikov(p**2 / 2 + sympy.cos(phi), q, PLANE, ROTOR, **options)
    with pytest.raises(ModelError, match="period 2 pi"):
        da.analysis.melnikov(p**2 / 2 - sympy.cos(q) + I, q * phi, PLANE, ROTOR, **options)
    with pytest.raises(ModelError, match="no value"):
        k = sympy.Symbol("k")
        da.analysis.melnikov(k * p**2 / 2 + I, q, PLANE, ROTOR, **options)


def test_the_picture_marks_the_zeros():
    found = da.analysis.melnikov(
        p**2 / 2 - sympy.cos(q) + I,
        p * sympy.cos(phi),
        PLANE,
        ROTOR,
        saddle={q: 3.0, p: 0.0},
        action=0.0,
        side=-1,
    )
    marks = found.plot().axes[1].lines[-1]
    assert np.allclose(marks.get_xdata(), found.zeros)
