"""Equations of textbooks, written out by hand as accelerations: systems that roll, slide along
blades, or dissipate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import sympy
from numpy import cos, sin

import dalembert as da

from .differential_hand import G, Hand


def chaplygin_sleigh() -> Hand:
    x, y, theta = da.coordinates(
        "x y theta"
    )  # of the blade's contact; the centre of mass is `ahead` of it
    m, inertia, ahead = 1.5, 0.7, 0.4
    centre = [x + ahead * sympy.cos(theta), y + ahead * sympy.sin(theta)]
    speeds = [sum(sympy.diff(c, q) * q.dot for q in (x, y, theta)) for c in centre]
    blade = da.velocity(y.dot * sympy.cos(theta) - x.dot * sympy.sin(theta), name="blade")
    kinetic = m * sum(s**2 for s in speeds) / 2 + inertia * theta.dot**2 / 2
    system = da.System([x, y, theta], lagrangian=kinetic, constraints=[blade])

    def rates(q: Any, v: Any) -> tuple[Any, Any, Any, Any]:
        along, turn = v[0] * cos(q[2]) + v[1] * sin(q[2]), v[2]
        return along, turn, ahead * turn**2, -m * ahead / (inertia + m * ahead**2) * along * turn

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        s, c = sin(q[2]), cos(q[2])
        along, turn, a, turning = rates(q, v)
        return [a * c - along * turn * s, a * s + along * turn * c, turning]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        along, turn, _, turning = rates(q, v)
        side = m * (along * turn + ahead * turning)
        return [-side * sin(q[2]), side * cos(q[2]), 0.0]

    source = "Bloch, Nonholonomic Mechanics and Control, sect. 1.7; Neimark and Fufaev, chapter III"
    start = {theta: 0.6, x.dot: 1.2 * np.cos(0.6), y.dot: 1.2 * np.sin(0.6), theta.dot: 0.8}
    return Hand("Chaplygin's sleigh", source, system, start, accelerations, reaction)


def knife_edge() -> Hand:
    x, y, phi = da.coordinates("x y phi")  # x points down the incline
    m, inertia, derivative = 1.1, 0.3, 0.5
    pull = G * float(np.sin(derivative))
    blade = da.velocity(x.dot * sympy.sin(phi) - y.dot * sympy.cos(phi), name="blade")
    kinetic = m * (x.dot**2 + y.dot**2) / 2 + inertia * phi.dot**2 / 2
    system = da.System([x, y, phi], kinetic=kinetic, potential=-m * pull * x, constraints=[blade])

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        s, c = sin(q[2]), cos(q[2])
        along = v[0] * c + v[1] * s
        return [pull * c**2 - along * v[2] * s, pull * s * c + along * v[2] * c, 0.0]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        a = accelerations(t, q, v)
        return [m * (a[0] - pull), m * a[1], 0.0]

    start = {phi: 0.3, x.dot: 0.8 * np.cos(0.3), y.dot: 0.8 * np.sin(0.3), phi.dot: 1.1}
    source = "Bloch, Nonholonomic Mechanics and Control, sect. 1.6; Neimark and Fufaev, chapter I"
    return Hand("knife edge on an incline", source, system, start, accelerations, reaction)


def snakeboard() -> Hand:
    """With J + J_r + 2 J_w = m l^2: xi with v = l xi cos(phi), theta_dot = xi sin(phi) obeys one
    equation; see the sources.
    """
    x, y, theta, psi, phi = symbols = da.coordinates("x y theta psi phi")
    m, length, rotor, wheels = 1.6, 0.9, 0.5, 0.2
    kinetic = m * (x.dot**2 + y.dot**2 + length**2 * theta.dot**2) / 2
    kinetic += rotor * psi.dot**2 / 2 + rotor * psi.dot * theta.dot + wheels * phi.dot**2
    back = (
        -sympy.sin(theta - phi) * x.dot
        + sympy.cos(theta - phi) * y.dot
        - length * sympy.cos(phi) * theta.dot
    )
    front = (
        -sympy.sin(theta + phi) * x.dot
        + sympy.cos(theta + phi) * y.dot
        + length * sympy.cos(phi) * theta.dot
    )
    constraints = [da.velocity(back, name="back"), da.velocity(front, name="front")]
    system = da.System(symbols, lagrangian=kinetic, constraints=constraints)

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        heading, steering, turn = q[2], q[4], v[2]
        along = v[0] * cos(heading) + v[1] * sin(heading)
        xi = (along / length * cos(steering)) + turn * sin(steering)
        s, c, w = sin(steering), cos(steering), v[4]
        change = rotor * xi * w * s * c / (m * length**2 - rotor * s**2)
        turning = change * s + xi * w * c
        a = length * (change * c - xi * w * s)
        sx, cx = sin(heading), cos(heading)
        return [a * cx - along * turn * sx, a * sx + along * turn * cx, turning, -turning, 0.0]

    xi, steer, heading = 0.9, 0.5, 0.2
    speed = length * xi * np.cos(steer)
    start = {
        theta: heading,
        phi: steer,
        x.dot: speed * np.cos(heading),
        y.dot: speed * np.sin(heading),
    }

    start |= {theta.dot: xi * np.sin(steer), psi.dot: 0.7, phi.dot: 0.6}
    source = (
        "Ostrowski, Lewis, Murray and Burdick 1994; Bloch, Krishnaprasad, Marsden and Murray 1996,"
        " sect. 8.4"
    )
    return Hand("snakeboard", source, system, start, accelerations)


def rolling_disk() -> Hand:
    """A thin disk that rolls and falls; see below for the frame: e1 along the rim, e2 up in its
    plane, e3 its axis.

    With w = psi_dot + phi_dot cos(theta):

    (A + m r^2) theta_ddot = A phi_dot^2 sin cos - (C + m r^2) phi_dot w sin - m g r cos,
    (C + m r^2) w_dot = m r^2 theta_dot phi_dot sin,   A (phi_ddot sin + 2 phi_dot theta_dot cos) =
    C w theta_dot.
    """
    x, y, theta, phi, psi = symbols = da.coordinates(
        "x y theta phi psi"
    )  # (x, y) of the centre, theta = pi/2 upright
    m, r = 1.2, 0.5
    across, along = m * r**2 / 4, m * r**2 / 2
    st, ct, sp, cp = sympy.sin(theta), sympy.cos(theta), sympy.sin(phi), sympy.cos(phi)
    spin = psi.dot + phi.dot * ct
    kinetic = m * (x.dot**2 + y.dot**2 + (r * ct * theta.dot) ** 2) / 2
    kinetic += across * (theta.dot**2 + phi.dot**2 * st**2) / 2 + along * spin**2 / 2
    rolling = [
        da.velocity(x.dot - r * (theta.dot * sp * st - spin * cp), name="rolling_x"),
        da.velocity(y.dot + r * (theta.dot * cp * st + spin * sp), name="rolling_y"),
    ]
    system = da.System(symbols, kinetic=kinetic, potential=m * G * r * st, constraints=rolling)

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        s, c = sin(q[2]), cos(q[2])
        nutation, precession = v[2], v[3]
        w = v[4] + precession * c
        w_dot = m * r**2 * nutation * precession * s / (along + m * r**2)
        fall = (
            across * precession**2 * s * c - (along + m * r**2) * precession * w * s - m * G * r * c
        )
        fall = fall / (across + m * r**2)
        veer = (along * w * nutation / across - 2 * precession * nutation * c) / s
        a = (
            r * (precession * nutation * s - w_dot),
            -r * (precession * c * w + nutation**2),
            r * (fall + precession * s * w),
        )
        cx, sx = cos(q[3]), sin(q[3])
        level = a[2] * s - a[1] * c  # across the rim, along (sin phi, -cos phi)
        return [
            a[0] * cx + level * sx,
            a[0] * sx - level * cx,
            fall,
            veer,
            w_dot - veer * c + precession * nutation * s,
        ]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        a = accelerations(t, q, v)
        push, cx, sx = (m * a[0], m * a[1]), cos(q[3]), sin(q[3])
        rim = r * (push[0] * cx + push[1] * sx)
        return [*push, r * sin(q[2]) * (push[1] * cx - push[0] * sx), rim * cos(q[2]), rim]

    at = {theta: 1.2, phi: 0.3, theta.dot: 0.2, phi.dot: 0.6, psi.dot: 4.0}
    w = 4.0 + 0.6 * np.cos(1.2)
    at |= {x.dot: r * (0.2 * np.sin(0.3) * np.sin(1.2) - w * np.cos(0.3))}
    at |= {y.dot: -r * (0.2 * np.cos(0.3) * np.sin(1.2) + w * np.sin(0.3))}
    source = (
        "Bloch, Nonholonomic Mechanics and Control, sect. 1.5; Landau and Lifshitz, Mechanics,"
        " sect. 38; Routh, chapter V"
    )
    return Hand("falling rolling disk", source, system, at, accelerations, reaction)


def upright_coin() -> Hand:
    x, y, psi, phi = symbols = da.coordinates("x y psi phi")
    m, r, roll, turn = 0.9, 0.4, 0.11, 0.06
    rolling = [
        da.velocity(x.dot - r * psi.dot * sympy.cos(phi), name="rolling_x"),
        da.velocity(y.dot - r * psi.dot * sympy.sin(phi), name="rolling_y"),
    ]
    drive, steer = 0.7, 0.2
    kinetic = m * (x.dot**2 + y.dot**2) / 2 + roll * psi.dot**2 / 2 + turn * phi.dot**2 / 2
    forces = {psi: drive * sympy.cos(da.t), phi: steer}
    system = da.System(symbols, lagrangian=kinetic, constraints=rolling, forces=forces)

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        a, c, s = drive * cos(t) / (roll + m * r**2), cos(q[3]), sin(q[3])
        return [r * (a * c - v[2] * v[3] * s), r * (a * s + v[2] * v[3] * c), a, steer / turn]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        a = accelerations(t, q, v)
        return [m * a[0], m * a[1], -m * r**2 * a[2], 0.0]

    start = {
        phi: 0.4,
        psi.dot: 2.0,
        phi.dot: 0.9,
        x.dot: r * 2.0 * np.cos(0.4),
        y.dot: r * 2.0 * np.sin(0.4),
    }
    source = "Bloch, Nonholonomic Mechanics and Control, sect. 1.4"
    return Hand("driven upright coin", source, system, start, accelerations, reaction)


def appell() -> Hand:
    """z_dot = k sqrt(x_dot^2 + y_dot^2): the reaction m g / (1 + k^2) along (-k e, 1), by Chetaev's
    rule.
    """
    x, y, z = da.coordinates("x y z")
    m, k = 1.3, 0.6
    derivative = da.velocity(z.dot - k * sympy.sqrt(x.dot**2 + y.dot**2), name="slope")
    kinetic = m * (x.dot**2 + y.dot**2 + z.dot**2) / 2
    system = da.System([x, y, z], kinetic=kinetic, potential=m * G * z, constraints=[derivative])
    size = G / (1 + k**2)

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        u = np.hypot(v[0], v[1])
        return [-size * k * v[0] / u, -size * k * v[1] / u, -size * k**2]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        a = accelerations(t, q, v)
        return [m * a[0], m * a[1], m * (a[2] + G)]

    start = {x.dot: 3.0, y.dot: 4.0, z.dot: 5.0 * k}
    source = "Appell 1911; Neimark and Fufaev, Dynamics of Nonholonomic Systems, chapter IV"
    return Hand("Appell's nonlinear constraint", source, system, start, accelerations, reaction)


def cylinder_on_incline() -> Hand:
    x, turn = da.coordinates("x turn")
    m, r, derivative = 2.1, 0.3, 0.4
    pull = G * float(np.sin(derivative))
    system = da.System(
        [x, turn],
        kinetic=m * x.dot**2 / 2 + m * r**2 / 4 * turn.dot**2,
        potential=-m * pull * x,
        constraints=[da.velocity(x.dot - r * turn.dot, name="rolling")],
    )
    return Hand(
        "cylinder that rolls down an incline",
        "Goldstein, Poole and Safko, Classical Mechanics, sect. 2.4, with the inertia of a"
        " cylinder",
        system,
        {x.dot: 0.3, turn.dot: 1.0},
        lambda t, q, v: [2 * pull / 3, 2 * pull / (3 * r)],
        lambda t, q, v: [-m * pull / 3, m * pull * r / 3],
    )


def ball_on_turntable() -> Hand:
    """A solid ball on a plate that turns with Omega: v_dot = 2/7 Omega z x v, with
    quasi-coordinates about fixed axes.
    """
    x, y, a, b, c = symbols = da.coordinates(
        "x y a b c"
    )  # rates of a, b, c: the angular velocity along x, y, z
    m, r, rate = 0.8, 0.25, 1.7
    inertia = 2 * m * r**2 / 5
    rolling = [
        da.velocity(x.dot - r * b.dot + rate * y, name="rolling_x"),
        da.velocity(y.dot + r * a.dot - rate * x, name="rolling_y"),
    ]
    kinetic = m * (x.dot**2 + y.dot**2) / 2 + inertia * (a.dot**2 + b.dot**2 + c.dot**2) / 2
    system = da.System(symbols, lagrangian=kinetic, constraints=rolling)
    share = 2 * rate / 7

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        ax, ay = -share * v[1], share * v[0]
        return [ax, ay, -(ay - rate * v[0]) / r, (ax + rate * v[1]) / r, 0.0]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        ax, ay = -share * v[1], share * v[0]
        return [m * ax, m * ay, m * r * ay, -m * r * ax, 0.0]

    start = {x: 0.4, y: -0.2, x.dot: 0.5, y.dot: 0.3, c.dot: 0.2}
    start |= {b.dot: (0.5 + rate * -0.2) / r, a.dot: -(0.3 - rate * 0.4) / r}
    source = (
        "Neimark and Fufaev, Dynamics of Nonholonomic Systems, chapter III; Weltner, Am. J. Phys."
        " 47, 984 (1979)"
    )
    return Hand("ball on a turntable", source, system, start, accelerations, reaction)


def driven_oscillator() -> Hand:
    x = da.coordinates("x")
    m, k, drag, size, rate = 0.9, 5.0, 0.7, 1.3, 2.2
    system = da.System(
        [x],
        kinetic=m * x.dot**2 / 2,
        potential=k * x**2 / 2,
        dissipation=drag * x.dot**2 / 2,
        forces={x: size * sympy.cos(rate * da.t)},
    )
    return Hand(
        "driven and damped oscillator",
        "Landau and Lifshitz, Mechanics, sect. 25 and 26",
        system,
        {x: 0.5, x.dot: -0.3},
        lambda t, q, v: [(size * cos(rate * t) - k * q[0] - drag * v[0]) / m],
        None,
        [(m, (x,))],
    )


def rough_wire() -> Hand:
    """A bead on a line with viscous friction stated as the work of a nonideal constraint (Udwadia
    and Kalaba).
    """
    x, y = da.coordinates("x y")
    m, derivative, drag = 1.1, 0.7, 0.5
    line = da.holonomic(y - derivative * x, name="wire", work={x: -drag * x.dot, y: -drag * y.dot})
    system = da.System(
        [x, y], kinetic=m * (x.dot**2 + y.dot**2) / 2, potential=m * G * y, constraints=[line]
    )

    def accelerations(t: float, q: Any, v: Any) -> list[Any]:
        a = -G * derivative / (1 + derivative**2) - drag / m * v[0]
        return [a, derivative * a]

    def reaction(t: float, q: Any, v: Any) -> list[Any]:
        a = accelerations(t, q, v)
        return [m * a[0], m * (a[1] + G)]

    source = "Udwadia and Kalaba, J. Appl. Mech. 69, 335 (2002), on nonideal constraints"
    start = {x: 0.2, y: 0.2 * derivative, x.dot: 1.0, y.dot: derivative}
    return Hand("bead on a rough wire", source, system, start, accelerations, reaction)


ROLLING: tuple[Callable[[], Hand], ...] = (
    chaplygin_sleigh,
    knife_edge,
    snakeboard,
    rolling_disk,
    upright_coin,
    appell,
    cylinder_on_incline,
    ball_on_turntable,
    driven_oscillator,
    rough_wire,
)
