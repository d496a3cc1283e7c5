"""The Whipple bicycle as a full nonholonomic system, and its published linear equations (Meijaard
and others 2007).

Axes: x ahead, y to the right, z down. Nine coordinates: the rear wheel's centre, yaw, roll and
pitch of the rear frame, the steering angle, and the angles of the wheels. Both wheels touch the
ground (two holonomic constraints) and roll on it without slip (four constraints on velocities).
Nothing is linearised here.
"""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
from sympy import Matrix, cos, diag, eye, pi, sin, sqrt

import dalembert as da

#: The benchmark parameters (Meijaard and others 2007, table 1), in SI units.
BENCHMARK: dict[str, float] = {
    "w": 1.02, "c": 0.08, "lam": float(pi / 10), "g": 9.81,
    "rR": 0.3, "mR": 2.0, "IRxx": 0.0603, "IRyy": 0.12,
    "xB": 0.3, "zB": -0.9, "mB": 85.0, "IBxx": 9.2, "IBxz": 2.4, "IByy": 11.0, "IBzz": 2.8,
    "xH": 0.9, "zH": -0.7, "mH": 4.0, "IHxx": 0.05892, "IHxz": -0.00756, "IHyy": 0.06,
    "IHzz": 0.00708,
    "rF": 0.35, "mF": 3.0, "IFxx": 0.1405, "IFyy": 0.28,
}  # fmt: skip

#: Speed: real and imaginary part of the weave pair (or two real eigenvalues), capsize, caster
#: (ibid., table 2).
PUBLISHED: dict[int, tuple[complex, complex, float, float]] = {
    0: (3.13164324790656, -3.13164324790656, 5.53094371765393, -5.53094371765393),
    1: (3.52696170990070 + 0.80774027519930j, 3.52696170990070 - 0.80774027519930j,
    -3.13423125066578, -7.11008014637442), 2: (2.68234517512745 + 1.68066296590675j,
    2.68234517512745 - 1.68066296590675j, -3.07158645641514, -8.67387984831735), 3:
    (1.70675605663975 + 2.31582447384325j, 1.70675605663975 - 2.31582447384325j, -2.63366137253667,
    -10.35101467245920), 4: (0.41325331521125 + 3.07910818603206j, 0.41325331521125 -
    3.07910818603206j, -1.42944427361326, -12.15861426576447), 5: (-0.77534188219585 +
    4.46486771378823j, -0.77534188219585 - 4.46486771378823j, -0.32286642900409,
    -14.07838969279822), 6: (-1.52644486584142 + 5.87673060598709j, -1.52644486584142 -
    5.87673060598709j, -0.00406690076970, -16.08537123098026), 7: (-2.13875644258362 +
    7.19525913329805j, -2.13875644258362 - 7.19525913329805j, 0.10268170574766, -18.15788466125262),
    8: (-2.69348683581097 + 8.46037971396931j, -2.69348683581097 - 8.46037971396931j,
    0.14327879765713, -20.27940894394569), 9: (-3.21675402252485 + 9.69377351531791j,
    -3.21675402252485 - 9.69377351531791j, 0.15790184030917, -22.43788559040858), 10:
    (-3.72016840437287 + 10.90681139476287j, -3.72016840437287 - 10.90681139476287j,
    0.16105338653172, -24.62459635017404),
}  # fmt: skip


def _turn(axis: Any, angle: Any) -> Any:
    """Rodrigues' formula for a unit axis."""
    K = Matrix([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    return eye(3) + sin(angle) * K + (1 - cos(angle)) * K * K


def system() -> da.System:
    """The bicycle; steady running has x_dot = v and everything else from the constraints."""
    x, y, z, psi, phi, theta, delta, rear, front = q = da.coordinates(
        "x y z psi phi theta delta rear front"
    )
    p = {name: da.parameters(name) for name in BENCHMARK}
    e_x, e_y, e_z = (Matrix([int(i == k) for i in range(3)]) for k in range(3))
    yaw, roll, pitch = _turn(e_z, psi), _turn(e_x, phi), _turn(e_y, theta)
    R = yaw * roll * pitch  # from the rear frame to the ground
    steering_axis = Matrix([sin(p["lam"]), 0, cos(p["lam"])])
    S = _turn(steering_axis, delta)  # from the front frame to the rear frame

    # Everything below is in the axes of the rear frame, or of the front frame where the name says
    # so.
    omega = pitch.T * (roll.T * e_z * psi.dot + e_x * phi.dot) + e_y * theta.dot
    centre = R.T * Matrix([x.dot, y.dot, z.dot])
    hub = Matrix([0, 0, -p["rR"]])
    pivot = Matrix([p["w"] + p["c"], 0, 0])
    omega_front = S.T * (omega + steering_axis * delta.dot)
    at_pivot = S.T * (centre + omega.cross(pivot - hub))

    def front_velocity(place: Any) -> Any:
        return at_pivot + omega_front.cross(place - pivot)

    B, H = Matrix([p["xB"], 0, p["zB"]]), Matrix([p["xH"], 0, p["zH"]])
    F = Matrix([p["w"], 0, -p["rF"]])
    v_B, v_H, v_F = centre + omega.cross(B - hub), front_velocity(H), front_velocity(F)
    spin_rear, spin_front = omega + e_y * rear.dot, omega_front + e_y * front.dot
    I_B = Matrix([[p["IBxx"], 0, p["IBxz"]], [0, p["IByy"], 0], [p["IBxz"], 0, p["IBzz"]]])
    I_H = Matrix([[p["IHxx"], 0, p["IHxz"]], [0, p["IHyy"], 0], [p["IHxz"], 0, p["IHzz"]]])
    bodies = [
        (p["mR"], centre, diag(p["IRxx"], p["IRyy"], p["IRxx"]), spin_rear),
        (p["mB"], v_B, I_B, omega),
        (p["mH"], v_H, I_H, omega_front),
        (p["mF"], v_F, diag(p["IFxx"], p["IFyy"], p["IFxx"]), spin_front),
    ]
    kinetic = sum((m * (v.T * v)[0] + (w.T * inertia * w)[0]) / 2 for m, v, inertia, w in bodies)

    def depth(place: Any, steered: bool) -> Any:
        """z of a point of the rear or of the front frame."""
        local = pivot + S * (place - pivot) if steered else place
        return z + ((roll * pitch) * (local - hub))[2]

    heights = [
        (p["mR"], z),
        (p["mB"], depth(B, False)),
        (p["mH"], depth(H, True)),
        (p["mF"], depth(F, True)),
    ]
    potential = -p["g"] * sum(m * height for m, height in heights)

    down_rear = pitch.T * roll.T * e_z
    down_front = S.T * down_rear
    flat_rear, flat_front = (sqrt(d[0] ** 2 + d[2] ** 2) for d in (down_rear, down_front))
    contact_rear = p["rR"] * Matrix([down_rear[0], 0, down_rear[2]]) / flat_rear
    contact_front = p["rF"] * Matrix([down_front[0], 0, down_front[2]]) / flat_front
    # In the axes of the heading: a turn of the whole bicycle leaves each component alone.
    slip_rear = roll * pitch * (centre + spin_rear.cross(contact_rear))
    slip_front = roll * pitch * S * (v_F + spin_front.cross(contact_front))
    constraints = [
        da.holonomic(z + p["rR"] * flat_rear, name="rear_touches"),
        da.holonomic(depth(F, True) + p["rF"] * flat_front, name="front_touches"),
        da.velocity(slip_rear[0], name="rear_ahead"),
        da.velocity(slip_rear[1], name="rear_across"),
        da.velocity(slip_front[0], name="front_ahead"),
        da.velocity(slip_front[1], name="front_across"),
    ]
    return da.System(
        q, kinetic=kinetic, potential=potential, constraints=constraints, name="Whipple bicycle"
    )


def linear_matrices(p: dict[str, Any]) -> tuple[Any, Any, Any, Any]:
    """M, C1, K0, K2 of M q_ddot + v C1 q_dot + (g K0 + v^2 K2) q = 0, q = (roll, steer) (ibid.,
    appendix A).
    """
    w, c, lam, rR, rF = (p[k] for k in ("w", "c", "lam", "rR", "rF"))
    mR, mB, mH, mF = (p[k] for k in ("mR", "mB", "mH", "mF"))
    xB, zB, xH, zH = (p[k] for k in ("xB", "zB", "xH", "zH"))
    sl, cl = mpmath.sin(lam), mpmath.cos(lam)
    mT = mR + mB + mH + mF
    xT = (xB * mB + xH * mH + w * mF) / mT
    zT = (-rR * mR + zB * mB + zH * mH - rF * mF) / mT
    ITxx = (
        p["IRxx"]
        + p["IBxx"]
        + p["IHxx"]
        + p["IFxx"]
        + mR * rR**2
        + mB * zB**2
        + mH * zH**2
        + mF * rF**2
    )
    ITxz = p["IBxz"] + p["IHxz"] - mB * xB * zB - mH * xH * zH + mF * w * rF
    ITzz = p["IRxx"] + p["IBzz"] + p["IHzz"] + p["IFxx"] + mB * xB**2 + mH * xH**2 + mF * w**2
    mA = mH + mF
    xA, zA = (xH * mH + w * mF) / mA, (zH * mH - rF * mF) / mA
    IAxx = p["IHxx"] + p["IFxx"] + mH * (zH - zA) ** 2 + mF * (rF + zA) ** 2
    IAxz = p["IHxz"] - mH * (xH - xA) * (zH - zA) + mF * (w - xA) * (rF + zA)
    IAzz = p["IHzz"] + p["IFxx"] + mH * (xH - xA) ** 2 + mF * (w - xA) ** 2
    uA = (xA - w - c) * cl - zA * sl
    IAll = mA * uA**2 + IAxx * sl**2 + 2 * IAxz * sl * cl + IAzz * cl**2
    IAlx = -mA * uA * zA + IAxx * sl + IAxz * cl
    IAlz = mA * uA * xA + IAxz * sl + IAzz * cl
    mu, SR, SF = c / w * cl, p["IRyy"] / rR, p["IFyy"] / rF
    ST, SA = SR + SF, mA * uA + mu * mT * xT
    M = mpmath.matrix(
        [[ITxx, IAlx + mu * ITxz], [IAlx + mu * ITxz, IAll + 2 * mu * IAlz + mu**2 * ITzz]]
    )
    K0 = mpmath.matrix([[mT * zT, -SA], [-SA, -SA * sl]])
    K2 = mpmath.matrix([[0, (ST - mT * zT) / w * cl], [0, (SA + SF * sl) / w * cl]])
    C1 = mpmath.matrix(
        [
            [0, mu * ST + SF * cl + ITxz / w * cl - mu * mT * zT],
            [-(mu * ST + SF * cl), IAlz / w * cl + mu * (SA + ITzz / w * cl)],
        ]
    )
    return M, C1, K0, K2


def derived(speed: int) -> Any:
    """The four eigenvalues from the published matrices, with 40 digits, for the parameters as
    doubles.
    """
    with mpmath.workdps(40):
        p = {name: mpmath.mpf(value) for name, value in BENCHMARK.items()}
        M, C1, K0, K2 = linear_matrices(p)
        system = mpmath.zeros(4)
        system[:2, 2:], inverse = mpmath.eye(2), M**-1
        system[2:, :2] = -inverse * (p["g"] * K0 + speed**2 * K2)
        system[2:, 2:] = -inverse * (speed * C1)
        values = mpmath.eig(system, left=False, right=False)
        return np.array([complex(value) for value in values])
