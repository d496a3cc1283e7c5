"""Systems outside the documents: reduced, reconstructed, judged and steered, each beside SciPy.

The figures that tests record stand in docs/bloch-systems.md (scripts/bloch_table.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from scipy.integrate import solve_ivp
from sympy import cos, sin

import dalembert as da
from recorded_differences import Record, apart
from sympy_multipliers import Multipliers, of_system

u = da.inputs("u")


def plane(x: Any, y: Any, angle: Any) -> dict[str, Any]:
    ahead, aside = {x: cos(angle), y: sin(angle)}, {x: -sin(angle), y: cos(angle)}
    return {"ahead": ahead, "aside": aside, "turn": {angle: 1}}


def by_scipy(own: Multipliers, q: Any, v: Any, end: float, at: Any = None) -> np.ndarray:
    start = np.concatenate([q, v])
    found = solve_ivp(own.rates, (0, end), start, "DOP853", t_eval=at, rtol=1e-11, atol=1e-12)
    return np.array(found.y)


# -- roller racer ----------------------------------------------------------------------------------


def test_roller_racer_is_reduced_and_reconstructed(record_property: Record) -> None:
    x, y, theta, phi = da.coordinates("x y theta phi")
    values = {"m": 1.3, "I1": 0.4, "I2": 0.15, "d1": 0.5, "d2": 0.2}
    m, I1, I2, d1, d2 = da.parameters("m I1 I2 d1 d2", positive=True)
    spin = I1 / 2 * theta.dot**2 + I2 / 2 * (theta.dot + phi.dot) ** 2
    reach = d1 * theta.dot * cos(phi) + d2 * (theta.dot + phi.dot)
    front = -x.dot * sin(theta + phi) + y.dot * cos(theta + phi) + reach
    rows = [da.velocity(y.dot * cos(theta) - x.dot * sin(theta)), da.velocity(front)]
    kinetic = m / 2 * (x.dot**2 + y.dot**2) + spin
    racer = da.System([x, y, theta, phi], kinetic=kinetic, constraints=rows)
    own = of_system(racer, values)
    q = np.array([0.0, 0.0, 0.3, 0.6])
    v = own.allowed(q, np.array([0.7, 0.1, 0.2, 0.5]))
    reduced = da.symmetry.reduce(racer, plane(x, y, theta), reconstruct=True)
    names = ("x", "y", "theta", "phi")
    start = dict(zip(names, q, strict=True))
    start |= {f"{name}_dot": value for name, value in zip(names, v, strict=True)}
    motion = da.simulate(reduced, start, (0, 0.8), parameters=values, rtol=1e-11)
    assert motion.outcome.is_success
    end = by_scipy(own, q, v, 0.8)[:4, -1]
    assert apart(record_property, "roller racer", [motion[s][-1] for s in names], end) < 1e-8
    assert not any(c.integrable for c in racer.describe().constraints)


# -- trikke ----------------------------------------------------------------------------------------


def trikke(springs: bool = False) -> tuple[da.System, tuple[Any, ...]]:
    """A steered post and two arms with a wheel each: three constraints on SE(2)."""
    x, y, theta, phi, left, right = da.coordinates("x y theta phi left right")
    rows = [da.velocity(y.dot * cos(theta + phi) - x.dot * sin(theta + phi), name="post")]
    for arm in (left, right):
        slip = y.dot * cos(theta + arm) - x.dot * sin(theta + arm) - (theta.dot + arm.dot)
        rows.append(da.velocity(slip, name=f"{arm.name}_wheel"))
    kinetic = (x.dot**2 + y.dot**2 + theta.dot**2) / 2
    kinetic += (phi.dot**2 + left.dot**2 + right.dot**2) / 2
    rest = (phi**2 + (left - 1) ** 2 + 2 * (right + 1) ** 2) / 2 if springs else 0
    q = (x, y, theta, phi, left, right)
    return da.System(list(q), kinetic=kinetic, potential=rest, constraints=rows), q


def test_trikke_is_purely_kinematic_and_its_gait_is_a_holonomy(record_property: Record) -> None:
    system, (x, y, theta, phi, left, right) = trikke()
    found = da.symmetry.connection(system, plane(x, y, theta))
    assert found.kind == "purely kinematic"
    t = da.t
    path = {
        phi: sympy.Rational(2, 5) + sin(2 * sympy.pi * t) / 5,
        left: sympy.Rational(7, 10) + (1 - cos(2 * sympy.pi * t)) / 10,
        right: -sympy.Rational(7, 10) + (1 - cos(2 * sympy.pi * t)) / 8,
    }
    made = da.control.holonomy(found, path, (0, 1))

    def rates(s: float, g: np.ndarray) -> np.ndarray:
        angle, w = g[2], 2 * np.pi
        shape = [0.4 + np.sin(w * s) / 5, 0.7 + (1 - np.cos(w * s)) / 10]
        shape.append(-0.7 + (1 - np.cos(w * s)) / 8)
        speed = [0.0, w * np.sin(w * s) / 10, w * np.sin(w * s) / 8]
        A = [[-np.sin(angle + a), np.cos(angle + a), 0.0 if k == 0 else -1.0]
             for k, a in enumerate(shape)]  # fmt: skip
        return np.linalg.solve(A, speed)

    own = solve_ivp(rates, (0, 1), np.zeros(3), "DOP853", rtol=1e-12, atol=1e-13)
    assert apart(record_property, "trikke", made.displacement, own.y[:, -1]) < 1e-9
    assert np.abs(made.displacement).max() > 1e-3


def test_trikke_with_springs_is_reduced_and_reconstructed(record_property: Record) -> None:
    """The motion of the shapes alone on D/SE(2), beside multipliers by SciPy."""
    system, (x, y, theta, *_) = trikke(springs=True)
    reduced = da.symmetry.reduce(system, plane(x, y, theta), reconstruct=True)
    assert not any(symbol.name.startswith("p_") for symbol in reduced.state)
    own = of_system(system, {})
    q = np.array([0.1, -0.2, 0.3, 0.4, 0.7, -0.7])
    v = own.allowed(q, np.array([0.2, 0.1, 0.0, 0.5, 0.6, -0.4]))
    names = [s.name for s in system.coordinates]
    start = dict(zip(names, q, strict=True))
    start |= {f"{name}_dot": value for name, value in zip(names, v, strict=True)}
    motion = da.simulate(reduced, start, (0, 0.8), rtol=1e-11)
    assert motion.outcome.is_success
    end = by_scipy(own, q, v, 0.8)[:6, -1]
    found = [motion[name][-1] for name in names]
    assert apart(record_property, "trikke with springs", found, end) < 1e-8
    assert np.abs(end - q).max() > 0.05


# -- Chaplygin's ball and the spherical robot ------------------------------------------------------


def rolling_ball(rotor: bool) -> tuple[da.System, Any]:
    """A ball with three inertias on a plane, by Euler angles; a rotor on its third axis."""
    a, b, c, s, x, y = da.coordinates("a b c s x y")
    w = [
        a.dot * sin(b) * sin(c) + b.dot * cos(c),
        a.dot * sin(b) * cos(c) - b.dot * sin(c),
        a.dot * cos(b) + c.dot,
    ]
    kinetic = (2 * w[0] ** 2 + 3 * w[1] ** 2 + 4 * w[2] ** 2) / 2 + (x.dot**2 + y.dot**2) / 2
    q = [a, b, c, x, y]
    if rotor:
        kinetic += ((w[2] + s.dot) ** 2 - w[2] ** 2 + w[2] ** 2) / 4
        q = [a, b, c, s, x, y]
    space = [b.dot * cos(a) + c.dot * sin(a) * sin(b), b.dot * sin(a) - c.dot * cos(a) * sin(b)]
    rows = [da.velocity(x.dot - space[1]), da.velocity(y.dot + space[0])]  # radius 1
    return da.System(q, kinetic=kinetic, constraints=rows), (x, y)


@pytest.mark.parametrize("name", ["Chaplygin's ball", "spherical robot"])
def test_a_ball_is_reduced_by_translations(name: str, record_property: Record) -> None:
    rotor = name == "spherical robot"
    system, (x, y) = rolling_ball(rotor)
    group = {"right": {x: 1}, "up": {y: 1}}
    assert da.symmetry.connection(system, group).kind == "purely kinematic"
    own, n = of_system(system, {}), len(system.coordinates)
    q = np.array([0.2, 1.1, 0.4, *([0.1] if rotor else []), 0.0, 0.0])
    v = own.allowed(q, np.array([0.5, -0.4, 0.8, *([0.9] if rotor else []), 0.3, 0.1]))
    reduced = da.symmetry.reduce(system, group, reconstruct=True)
    names = [s.name for s in system.coordinates]
    start = dict(zip(names, q, strict=True))
    start |= {f"{name}_dot": value for name, value in zip(names, v, strict=True)}
    motion = da.simulate(reduced, start, (0, 1.5), rtol=1e-11)
    end = by_scipy(own, q, v, 1.5)
    reached = [motion[s][-1] for s in names]
    assert apart(record_property, name, reached, end[:n, -1]) < 1e-8
    if not rotor:
        # Chaplygin's integrals: K = I w + m r^2 (w - (w . g) g) has constant |K| and K . g.
        kept = []
        for state in (end[:, 0], end[:, -1]):
            (b, c), (a_dot, b_dot, c_dot) = state[1:3], state[n : n + 3]
            w = np.array([
                a_dot * np.sin(b) * np.sin(c) + b_dot * np.cos(c),
                a_dot * np.sin(b) * np.cos(c) - b_dot * np.sin(c),
                a_dot * np.cos(b) + c_dot,
            ])  # fmt: skip
            g = np.array([np.sin(b) * np.sin(c), np.sin(b) * np.cos(c), np.cos(b)])
            K = np.array([2, 3, 4]) * w + w - (w @ g) * g
            kept.append([K @ K, K @ g])
        assert apart(record_property, f"{name} (integrals)", kept[0], kept[1]) < 1e-8


# -- rattleback ------------------------------------------------------------------------------------


def test_rattleback_is_reduced_and_moves_as_its_body_equations_say(record_property: Record) -> None:
    """An ellipsoid with inertias askew to its axes: momentum about the contact, by SciPy alone."""
    a, b, c, x, y = da.coordinates("a b c x y")
    g_body = sympy.Matrix([sin(b) * sin(c), sin(b) * cos(c), cos(b)])
    turned = [sympy.Matrix([[cos(s), -sin(s), 0], [sin(s), cos(s), 0], [0, 0, 1]]) for s in (a, c)]
    tilt = sympy.Matrix([[1, 0, 0], [0, cos(b), -sin(b)], [0, sin(b), cos(b)]])
    R = turned[0] * tilt * turned[1]
    w = sympy.Matrix([
        a.dot * sin(b) * sin(c) + b.dot * cos(c),
        a.dot * sin(b) * cos(c) - b.dot * sin(c),
        a.dot * cos(b) + c.dot,
    ])  # fmt: skip
    axes, inertia = (
        np.array([4.0, 1.0, 0.25]),
        np.array([[0.3, 0.05, 0], [0.05, 1.2, 0], [0, 0, 1.4]]),
    )
    squared = sympy.diag(*axes.tolist())
    height = sympy.sqrt((g_body.T * squared * g_body)[0])
    contact = -squared * g_body / height
    centre = -(R * w.cross(contact))
    rise = sum(sympy.diff(height, s) * s.dot for s in (b, c))
    kinetic = (w.T * sympy.Matrix(inertia) * w)[0] / 2 + (x.dot**2 + y.dot**2 + rise**2) / 2
    rows = [da.velocity(x.dot - centre[0]), da.velocity(y.dot - centre[1])]
    stone = da.System([a, b, c, x, y], kinetic=kinetic, potential=9.81 * height, constraints=rows)

    def body(_: float, s: np.ndarray) -> np.ndarray:
        """M' = M x w + m r' x (w x r) + m g r x gamma for M = I w + m r x (w x r)."""
        omega, gamma = s[:3], s[3:]
        gamma_dot = np.cross(gamma, omega)
        h = np.sqrt(gamma @ (axes * gamma))
        r = -axes * gamma / h
        h_dot = (axes * gamma) @ gamma_dot / h
        r_dot = -axes * gamma_dot / h + axes * gamma * h_dot / h**2
        J = inertia + (r @ r) * np.eye(3) - np.outer(r, r)
        M = J @ omega
        right = np.cross(M, omega) + np.cross(r_dot, np.cross(omega, r)) + 9.81 * np.cross(r, gamma)
        # J w' = M' - (dJ/dt) w
        J_dot = 2 * (r @ r_dot) * np.eye(3) - np.outer(r_dot, r) - np.outer(r, r_dot)
        return np.concatenate([np.linalg.solve(J, right - J_dot @ omega), gamma_dot])

    start = {"a": 0.1, "b": 0.4, "c": 0.7, "a_dot": 0.3, "b_dot": -0.5, "c_dot": 0.8}
    whole = da.simulate(stone, start, (0, 0.6), rtol=1e-11)
    reduced = da.symmetry.reduce(stone, plane(x, y, a), reconstruct=True)
    assert [s.name for s in reduced.state if s.name.startswith("p_")] == ["p_1"]
    motion = da.simulate(reduced, whole.start, (0, 0.6), rtol=1e-11)
    assert [motion[s][-1] - whole[s][-1] for s in "abcxy"] == pytest.approx([0] * 5, abs=1e-8)
    numbers = {s: start[s.name] for s in (a, b, c, a.dot, b.dot, c.dot)}
    begin = np.array([*w.subs(numbers), *g_body.subs(numbers)], dtype=float)
    own = solve_ivp(body, (0, 0.6), begin, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    last = {s: float(motion[s.name][-1]) for s in numbers}
    found = np.array([*w.subs(last), *g_body.subs(last)], dtype=float)
    assert apart(record_property, "rattleback", found, own) < 1e-7


# -- balanced by matching --------------------------------------------------------------------------


def wheel_pendulum() -> tuple[da.System, dict[str, float]]:
    a, b = da.coordinates("q1 q2")
    I, J, m, g = da.parameters("I J m g", positive=True)
    kinetic = I / 2 * a.dot**2 + J / 2 * (a.dot + b.dot) ** 2
    system = da.System([a, b], kinetic=kinetic, potential=m * g * cos(a), forces={b: u}, inputs=[u])
    return system, {"I": 0.1, "J": 0.02, "m": 0.3, "g": 9.81}


def acrobot() -> tuple[da.System, dict[str, float]]:
    a, b = da.coordinates("q1 q2")
    kinetic = (23 + 12 * cos(b)) * a.dot**2 / 6 + (16 + 6 * cos(b)) * a.dot * b.dot / 3
    kinetic += sympy.Rational(8, 3) * b.dot**2
    potential = 9.81 * (3 * cos(a) + 2 * cos(a + b))
    system = da.System([a, b], kinetic=kinetic, potential=potential, forces={b: u}, inputs=[u])
    return system, {}


@pytest.mark.parametrize("name", ["inertia-wheel pendulum", "acrobot"])
def test_upright_pendulums_are_balanced(name: str, record_property: Record) -> None:
    system, values = acrobot() if name == "acrobot" else wheel_pendulum()
    found = da.control.match(system, parameters=values)
    assert found.definite and found.eigenvalues.real.max() < 0
    numbers = {p: values[p.name] for p in system.parameters}
    law = next(iter(found.control.values())).subs(numbers)
    pushed = next(iter(system.forces))
    lagrangian = system.lagrangian.subs(numbers)
    own = Multipliers(system.coordinates, system.velocities, lagrangian, (), {}, {pushed: law})
    start = np.array([0.02, 0.0, 0.0, 0.0])
    motion = solve_ivp(own.rates, (0, 60), start, "LSODA", rtol=1e-8, atol=1e-10)
    assert apart(record_property, f"{name} (end)", motion.y[[0, 2, 3], -1], 0) < 1e-3
