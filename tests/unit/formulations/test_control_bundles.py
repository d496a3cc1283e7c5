"""Control bundles whose fibre is not sigma of the velocities, and problems between two ends that an
image states, against complex steps, SciPy and closed forms.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from dalembert.dirac import ControlBundle
from dalembert.errors import FormError, ModelError

x, y, z = da.coordinates("x y z")
u, w, v1, v2, v3 = da.speeds("u w v1 v2 v3")
STEP = 1e-30


def general() -> ControlBundle:
    """Three fibre velocities over two coordinates and two controls, no function of x_dot alone."""
    return ControlBundle(
        {x: u + x * w, y: cos(x) * w},
        {v1: u * (1 + y**2), v2: w, v3: x * u - y * w},
        (v1**2 + 2 * v2**2 + v3**2) / 2 - x * y,
        [u, w],
    )


def derivative(function, point, direction):
    return np.imag(function(np.asarray(point) + 1j * STEP * np.asarray(direction))) / STEP


def lam(s):
    """Lambda(x, y, xi_x, xi_y, u, w) by hand."""
    X, Y, a, b, U, W = s
    cost = ((U * (1 + Y**2)) ** 2 + 2 * W**2 + (X * U - Y * W) ** 2) / 2 - X * Y
    return cost - a * (U + X * W) - b * np.cos(X) * W


def test_extremals_of_a_general_bundle() -> None:
    """(3)-(6) by complex steps of Lambda along the library's rates and motion."""
    flow = general().extremals()
    start = {"x": 0.3, "y": -0.2, "xi_x": 0.5, "xi_y": 0.8}
    motion = da.simulate(flow, start, (0, 2), rtol=1e-12)
    names = ["x", "y", "xi_x", "xi_y", "u", "w"]
    columns = np.array([motion[n] for n in names])
    rates = np.array([motion[f"{n}_dot"] for n in names])
    one = np.eye(6)
    for s, rate in zip(columns.T, rates.T, strict=True):
        assert np.allclose(rate[:2], [s[4] + s[0] * s[5], np.cos(s[0]) * s[5]], atol=1e-12)
        assert np.allclose(rate[2:4], [derivative(lam, s, one[k]) for k in (0, 1)], atol=1e-10)
        assert max(abs(derivative(lam, s, one[k])) for k in (4, 5)) < 1e-10
    assert np.ptp(motion.energy) < 1e-10
    assert np.allclose(motion["v3"], motion["x"] * motion["u"] - motion["y"] * motion["w"])


def test_controls_may_enter_the_velocities_nonlinearly() -> None:
    """x_dot = u + u^3: the control follows from xi = u / (1 + 3 u^2) at each instant."""
    bundle = ControlBundle({x: u + u**3}, {v1: u}, v1**2 / 2 - x, [u])
    motion = da.simulate(bundle.extremals(), {"x": 0.0, "u": 0.1}, (0, 0.1), rtol=1e-12)

    def field(_, s):  # xi' = -1, so that u' (1 - 3 u^2) / (1 + 3 u^2)^2 = -1
        return [s[1] + s[1] ** 3, -((1 + 3 * s[1] ** 2) ** 2) / (1 - 3 * s[1] ** 2)]

    end = solve_ivp(field, (0, 0.1), [0.0, 0.1], "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    assert np.allclose([motion["x"][-1], motion["u"][-1]], end, atol=1e-10)


@pytest.mark.long
def test_the_costate_can_be_eliminated_in_involution() -> None:
    """Two fields on a plane: the same x from (12)-(14) as from the extremals."""
    bundle = general()
    assert bundle.involutivity.is_proved
    full = da.simulate(
        bundle.extremals(), {"x": 0.3, "y": -0.2, "xi_x": 0.5, "xi_y": 0.8}, (0, 2), rtol=1e-12
    )
    start = {n: full[n][0] for n in ("x", "y", "u", "w")}
    short = da.simulate(bundle.without_costate(), start, (0, 2), rtol=1e-12)
    for n in ("x", "y", "u", "w"):
        assert abs(full[n][-1] - short[n][-1]) < 1e-8, n


def test_it_cannot_where_brackets_leave_the_span() -> None:
    bundle = ControlBundle({x: u, y: w, z: x * w}, {v1: u, v2: w}, (v1**2 + v2**2) / 2, [u, w])
    assert bundle.involutivity.is_refuted
    with pytest.raises(FormError, match="not in involution"):
        bundle.without_costate()
    with pytest.raises(FormError, match="does not determine"):
        ControlBundle({x: u + w}, {v1: u + w}, v1**2, [u, w]).extremals()
    with pytest.raises(ModelError, match="different speeds"):
        ControlBundle({x: u}, {x: u}, u**2, [u])


def test_ends_are_joined_straight_from_an_image() -> None:
    """Heisenberg's problem: the shortest loop around an area A costs 2 pi A in unit time."""
    image = da.image({x: u, y: w, z: x * w}, [u, w])
    lagrangian = (x.dot**2 + y.dot**2) / 2
    system = da.System([x, y, z], lagrangian=lagrangian, constraints=[image])
    found = da.control.optimal(
        system, lagrangian, {x: 0, y: 0, z: 0}, {x: 0, y: 0, z: 1}, (0, 1), ways=3
    )
    assert abs(found.cost - 2 * np.pi) < 1e-7


def test_the_ends_of_a_holonomic_image_give_the_motion() -> None:
    """A pendulum by its image: the extremal between two ends is the motion with these ends."""
    turn = da.image({x: cos(z) * u, y: sin(z) * u, z: u}, [u])
    lagrangian = (x.dot**2 + y.dot**2 + z.dot**2) / 2 - x
    system = da.System([x, y, z], lagrangian=lagrangian, constraints=[turn])
    motion = da.simulate(system, {x: 0, y: -1.0, z: 0.3, u: 0.5}, (0, 1), rtol=1e-12)
    ends = {q: motion[q.name][-1] for q in (x, y, z)}
    found = da.control.optimal(system, lagrangian, {x: 0, y: -1.0, z: 0.3}, {z: ends[z]}, (0, 1))
    assert abs(found.motion["u"][0] - 0.5) < 1e-6
