"""Relative equilibria by the amended potential: exact states, frequencies and verdicts, derived by
hand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from sympy import cos, sin

import dalembert as da
from dalembert.analysis.stability.energy_momentum import energy_momentum
from dalembert.errors import FormError, ModelError

theta, phi = da.coordinates("theta phi")
m, g, L, I0 = da.parameters("m g L I0", positive=True)
BOB = da.System(
    [theta, phi],
    kinetic=m * L**2 / 2 * (theta.dot**2 + (sin(theta) * phi.dot) ** 2),
    potential=-m * g * L * cos(theta),
    name="Spherical pendulum",
)
HOOP = da.System(
    [theta, phi],
    kinetic=(theta.dot**2 + (I0 + sin(theta) ** 2) * phi.dot**2) / 2,
    potential=-cos(theta),
    name="Bead on a hoop",
)


@pytest.mark.parametrize("mu", [0.2, 0.9, 3.0])
def test_a_conical_pendulum_is_stable(mu: float) -> None:
    """cos(theta) = g/(L w^2), mu = m L^2 sin(theta)^2 w, and small swings have the frequency w
    sqrt(1 + 3 cos(theta)^2).
    """
    numbers = {"m": 1.3, "g": 9.81, "L": 0.8}
    found = energy_momentum(BOB, [phi], mu, numbers, within={theta: (0.05, 3.09)})
    (e,) = found.found
    angle = brentq(
        lambda x: mu**2 - (1.3 * 0.8**2 * np.sin(x) ** 2) ** 2 * 9.81 / (0.8 * np.cos(x)),
        0.01,
        np.pi / 2 - 1e-9,
    )
    rate = np.sqrt(9.81 / (0.8 * np.cos(angle)))
    assert found.complete and e.point == pytest.approx({"theta": angle, "phi": 0.0}, abs=1e-9)
    assert e.group_velocity["phi"] == pytest.approx(rate, rel=1e-9)
    assert e.momenta == pytest.approx([0.0, mu], abs=1e-12)
    frequency = rate * np.sqrt(1 + 3 * np.cos(angle) ** 2)
    assert e.second_variation == pytest.approx([frequency**2], rel=1e-9)
    assert e.eigenvalues == pytest.approx([1j * frequency, -1j * frequency], rel=1e-9)
    assert (e.stability, e.variation, e.index) == ("stable", "positive definite", 0)
    motion = da.simulate(
        BOB, {"theta": angle, "phi_dot": rate}, (0, 5), parameters=numbers, rtol=1e-12
    )
    assert np.allclose(motion["theta"], angle, atol=1e-9)


@pytest.mark.parametrize("mu", [0.6, 1.8])
def test_a_bead_on_a_hoop_that_turns_freely(mu: float) -> None:
    """theta = 0 and pi always; cos(theta) = 1/w^2, w = mu/(I0 + sin(theta)^2), where the hoop turns
    faster than 1 at 0.
    """
    inertia = 0.7
    found = energy_momentum(HOOP, ["phi"], {"phi": mu}, {I0: inertia})
    by_angle = {round(e.point["theta"], 6): e for e in found.found}
    fast = mu > inertia
    assert found.complete and len(found) == (4 if fast else 2)
    bottom, top = by_angle[0.0], by_angle[round(np.pi, 6)]
    rate = mu / inertia
    # near theta = 0: theta_ddot = (w^2 - 1) theta, near pi: theta_ddot = (w^2 + 1) (theta - pi),
    # with the momentum held
    assert bottom.second_variation == pytest.approx([1 - rate**2], rel=1e-12)
    assert top.second_variation == pytest.approx([-1 - rate**2], rel=1e-12)
    assert bottom.stability == ("unstable" if fast else "stable") and top.stability == "unstable"
    assert max(top.eigenvalues.real) == pytest.approx(np.sqrt(1 + rate**2), rel=1e-9)
    for e in found.found:
        angle = e.point["theta"]
        if abs(np.sin(angle)) > 1e-6:
            w = e.group_velocity["phi"]
            assert np.cos(angle) == pytest.approx(1 / w**2, rel=1e-9) and e.stability == "stable"


EPS, D1, D2, OWN = 2 / 3, 0.8, 0.6, (0.5 + 2 / 3 * 0.64, 0.7 + 2 / 3 * 0.36)


def test_two_hinged_bodies_are_stable_stretched_and_unstable_folded() -> None:
    """Section 3.13, corrected: the squared frequency is eps d1 d2 w^2 (I1 + I2 + 2 eps d1
    d2)/Delta; at pi the sign turns.
    """
    bodies = da.planar_chain(
        2, masses=[1, 2], inertias=[0.5, 0.7], hinges={(1, 2): (D1, 0), (2, 1): (-D2, 0)}
    )
    system, mu = bodies.system(), 2.5
    first, second = system.coordinates
    found = energy_momentum(system, {"turn": {first: 1, second: 1}}, mu, fixed={first: 0.4})
    assert found.complete and len(found) == 2
    states = sorted(found.found, key=lambda e: abs(np.sin((e.point["theta2"] - 0.4) / 2)))
    for e, side, stability in zip(states, (1, -1), ("stable", "unstable"), strict=True):
        lam = side * EPS * D1 * D2
        locked, delta = sum(OWN) + 2 * lam, OWN[0] * OWN[1] - lam**2
        rate = mu / locked
        square = side * EPS * D1 * D2 * rate**2 * locked / delta
        assert (e.stability, e.index) == (stability, 0 if side == 1 else 1)
        assert e.group_velocity["turn"] == pytest.approx(rate, rel=1e-10)
        assert np.sort_complex(e.eigenvalues**2) == pytest.approx([-square, -square], rel=1e-9)


@pytest.mark.long
def test_its_spectrum_is_that_of_the_linearised_routhian() -> None:
    """Two independent implementation ways to the reduced motion, on a double pendulum that turns
    about the vertical: shape of dimension two.
    """
    a, b, turn = da.coordinates("a b turn")
    x, z = [sin(a), sin(a) + sin(b) / 2], [-cos(a), -cos(a) - cos(b) / 2]
    rates = [a.dot, b.dot]

    def speed(place: Any) -> Any:
        return sum(place.diff(q) * v for q, v in zip((a, b), rates, strict=True))

    kinetic = (
        sum(
            speed(px) ** 2 + speed(pz) ** 2 + (px * turn.dot) ** 2
            for px, pz in zip(x, z, strict=True)
        )
        / 2
    )
    kinetic += turn.dot**2 / 10
    system = da.System([a, b, turn], kinetic=kinetic, potential=sum(z), name="Double pendulum")
    region = {a: (-0.2, 1.5), b: (-0.2, 1.5)}
    found = energy_momentum(system, [turn], 1.2, within=region)
    assert found.complete and len(found) >= 2
    reduced = da.symmetry.routh(system, [turn])
    for e in found.found:
        line = da.linearise(
            reduced, {"a": e.point["a"], "b": e.point["b"]}, {"p_turn": 1.2}, polish=False
        )
        assert line.residual < 1e-12
        assert np.allclose(
            np.sort_complex(np.round(line.eigenvalues, 8)),
            np.sort_complex(np.round(e.eigenvalues, 8)),
            atol=1e-7,
        )
        assert e.index == np.sum(e.second_variation < 0)
    assert {e.stability for e in found.found} == {"stable", "unstable"}


@pytest.mark.parametrize(
    ("mu", "verdict"), [(1.5, "not established"), (0.8, "unstable")], ids=["strong", "weak"]
)
def test_what_gyroscopic_forces_hold_up_is_not_called_stable(mu: float, verdict: str) -> None:
    """A hilltop -(x^2 + y^2)/2 in a magnetic field 2 mu: the spectrum is imaginary where mu^2 > 1,
    and nothing follows.
    """
    x, y, s = da.coordinates("x y s")
    whole = x.dot**2 + y.dot**2 + (s.dot + x * y.dot - y * x.dot) ** 2
    hill = da.System([x, y, s], kinetic=whole / 2, potential=-(x**2 + y**2) / 2)
    (e,) = energy_momentum(hill, [s], mu, within={x: (-1, 1), y: (-1, 1)}).found
    assert (e.variation, e.index, e.stability) == ("negative definite", 2, verdict)
    # r_ddot = r + 2 mu J r_dot: lambda^2 + 1 = +- 2 i mu lambda ... lambda = i (mu +- sqrt(mu^2 -
    # 1)), and conjugates
    root = np.sqrt(complex(mu**2 - 1))
    expected = [way * 1j * (mu + side * root) for way in (1, -1) for side in (1, -1)]
    assert np.sort_complex(np.round(e.eigenvalues, 9)) == pytest.approx(
        np.sort_complex(np.round(expected, 9)), abs=1e-7
    )
    assert "proves nothing" in e.theorem or "positive real part" in e.theorem


@pytest.mark.long
def test_a_free_body_about_its_axes() -> None:
    """Q = G = SO(3), G_mu = SO(2): no shape, so that a maximum of the amended potential is stable
    as well.
    """
    angles = alpha, beta, _ = da.coordinates("alpha beta gamma")
    moments = {"I1": 1.0, "I2": 1.7, "I3": 2.4}
    symbols = da.parameters("I1 I2 I3", positive=True)
    chart = da.lie.LieGroup.SO(3).chart(angles, ["e3", "e1", "e3"])
    spin = chart.body_velocity()
    body = da.System(
        angles, kinetic=sum(j * w**2 for j, w in zip(symbols, spin, strict=True)) / 2, name="Body"
    )
    turns = {f"turn{k}": dict(zip(angles, chart.right_frame[:, k], strict=True)) for k in range(3)}
    found = energy_momentum(
        body, turns, [0, 0, 1.5], moments, fixed={alpha: 0}, within={beta: (0.4, 2.7)}
    )
    assert found.complete and len(found) == 4
    for e in found.found:
        smallest = (
            abs(np.cos(e.point["gamma"])) < 1e-6
        )  # the momentum along axis 1, or along axis 2
        own, first, second = (1.0, 1.7, 2.4) if smallest else (1.7, 1.0, 2.4)
        rate = 1.5 / own
        square = (
            rate**2 * (own - first) * (own - second) / (first * second)
        )  # minus the squared eigenvalue
        assert e.group_velocity["turn2"] == pytest.approx(rate, rel=1e-9)
        assert e.eigenvalues**2 == pytest.approx([-square, -square], rel=1e-7)
        assert (e.stability, e.variation) == (
            ("stable", "negative definite") if smallest else ("unstable", "indefinite")
        )


def test_every_angle_of_a_hinge_without_arm_is_an_equilibrium_and_none_is_claimed() -> None:
    bodies = da.planar_chain(
        2, masses=[1, 2], inertias=[0.5, 0.7], hinges={(1, 2): (0, 0), (2, 1): (-0.6, 0)}
    )
    first, second = bodies.system().coordinates
    found = energy_momentum(
        bodies.system(), {"turn": {first: 1, second: 1}}, 1.0, fixed={first: 0}, most_boxes=2000
    )
    assert not found.complete and len(found) == 0


def test_the_report_says_what_it_rests_on() -> None:
    text = str(energy_momentum(HOOP, [phi], 1.8, {I0: 0.7}))
    assert (
        "Simo, Lewis and" in text
        and "Lyapunov's first method" in text
        and "no others in the region" in text
    )
    assert "81/(50*(I0 + sin(theta)**2))" in text  # mu^2/2 over the locked inertia


def driven(**changes: Any) -> da.System:
    return BOB.replacing(**changes)


@pytest.mark.parametrize(
    ("system", "group", "momentum", "error", "words"),
    [
        (BOB, [theta], 1.0, FormError, "not invariant"),
        (BOB, ["fi"], 1.0, ModelError, "no coordinate `fi`"),
        (BOB, [phi], [1.0, 2.0], ModelError, "for each generator"),
        (BOB, [phi], {"theta": 1.0}, ModelError, "for each generator"),
        (BOB, {"turn": {phi: 1}}, 1.0, ModelError, "does not cross the orbits"),
        (driven(forces={theta: -theta.dot}), [phi], 1.0, FormError, "without forces"),
        (driven(constraints=[da.velocity(phi.dot)]), [phi], 1.0, FormError, "without constraints"),
        (
            da.System([theta, phi], lagrangian=theta.dot**2 + phi.dot**2 + theta * phi.dot),
            [phi],
            1.0,
            FormError,
            "linear in",
        ),
    ],
    ids=["shape", "name", "too-many", "other", "no-slice", "force", "constraint", "gyroscopic"],
)
def test_what_the_method_does_not_cover_is_refused(
    system: da.System, group: Any, momentum: Any, error: type[Exception], words: str
) -> None:
    region = {theta: (0.3, 2.5)}
    if isinstance(group, dict):
        region[phi] = (0.1, 0.2)
    values = {
        name: value
        for name, value in {"m": 1, "g": 9.81, "L": 1}.items()
        if name in {p.name for p in system.parameters}
    }
    with pytest.raises(error, match=words):
        energy_momentum(system, group, momentum, values, within=region)
