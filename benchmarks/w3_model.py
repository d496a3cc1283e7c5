"""The rolling disk of W3: model, start, reference, and what an entry hands over.

Coordinates q = (x, y, psi, theta, phi): centre above the plane, heading, tilt from the vertical,
spin. Rolling fixes the horizontal velocity of the centre. The state of the equations by hand is (q,
psi', theta', w) with w = phi' + psi' sin(theta), the spin about the disk's axis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

MASS, RADIUS, GRAVITY = 1.0, 1.0, 9.81
ACROSS, ALONG = (
    MASS * RADIUS**2 / 4,
    MASS * RADIUS**2 / 2,
)  # moments of inertia about a diameter and the axis
NAMES = ("x", "y", "psi", "theta", "phi")
POSITION = np.array([0.0, 0.0, 0.0, 0.3, 0.0])
SPEEDS = np.array([-0.4, 0.0, 3.5])  # psi', theta', phi'
DURATION = 100.0
TIMES = np.linspace(0, DURATION, 1001)
#: q after 100 s: heyoka's Taylor method in long double with tolerance 1e-19 on the equations by
#: hand. The entry `heyoka-long-double` computes it anew.
FINAL = np.array(
    [
        -1.794357250753404,
        -9.901373531261353,
        -66.35392408527964,
        0.3027839685356777,
        361.7267839190197,
    ]
)


@dataclass(frozen=True)
class Solver:
    """`run` integrates to the end and stores the state at `TIMES`; `unpack` gives q and q_dot, each
    (5, 1001).
    """

    run: Callable[[], Any]
    unpack: Callable[[Any], tuple[np.ndarray, np.ndarray]]


def centre_velocity(q: Any, speeds: Any) -> tuple[Any, Any]:
    """x' and y' by rolling, from q and (psi', theta', phi')."""
    spin = speeds[2] + speeds[0] * np.sin(q[3])
    sway = speeds[1] * np.cos(q[3])
    return (
        RADIUS * (spin * np.cos(q[2]) + sway * np.sin(q[2])),
        RADIUS * (spin * np.sin(q[2]) - sway * np.cos(q[2])),
    )


def full_start() -> np.ndarray:
    """q and q_dot at the start, (10,)."""
    return np.concatenate([POSITION, centre_velocity(POSITION, SPEEDS), SPEEDS])


def reduced_start() -> np.ndarray:
    """The start of the equations by hand, (8,)."""
    return np.concatenate([POSITION, SPEEDS[:2], [SPEEDS[2] + SPEEDS[0] * np.sin(POSITION[3])]])


def from_full(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return states[:5], states[5:]


def from_speeds(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """From q and (psi', theta', phi'), (8, nt)."""
    q, speeds = states[:5], states[5:]
    return q, np.array([*centre_velocity(q, speeds), *speeds])


def from_reduced(states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    q, (turn, fall, spin) = states[:5], states[5:]
    return from_speeds(np.array([*q, turn, fall, spin - turn * np.sin(q[3])]))


def lagrangian(functions: Any, q: Any, v: Any) -> Any:
    """L with the sin and cos of any package."""
    sin, cos = functions.sin(q[3]), functions.cos(q[3])
    x, y, turn, fall, roll = v
    return (
        MASS / 2 * (x**2 + y**2 + RADIUS**2 * sin**2 * fall**2)
        + ACROSS / 2 * (fall**2 + turn**2 * cos**2)
        + ALONG / 2 * (roll + turn * sin) ** 2
        - MASS * GRAVITY * RADIUS * cos
    )


def rolling(functions: Any, q: Any, v: Any) -> list[Any]:
    """The two expressions that vanish when the disk rolls."""
    psi, theta = q[2], q[3]
    spin = v[4] + v[2] * functions.sin(theta)
    sway = v[3] * functions.cos(theta)
    return [
        v[0] - RADIUS * (spin * functions.cos(psi) + sway * functions.sin(psi)),
        v[1] - RADIUS * (spin * functions.sin(psi) - sway * functions.cos(psi)),
    ]


def rates_by_hand(sin: Any, cos: Any, state: Any) -> list[Any]:
    """Newton and Euler's equations, reduced by hand: the rates of the eight states."""
    _, _, psi, theta, _, turn, fall, spin = state
    s, c, inertia = sin(theta), cos(theta), MASS * RADIUS**2
    return [
        RADIUS * (spin * cos(psi) + fall * c * sin(psi)),
        RADIUS * (spin * sin(psi) - fall * c * cos(psi)),
        turn,
        fall,
        spin - turn * s,
        (2 * ACROSS * turn * fall * s - ALONG * fall * spin) / (ACROSS * c),
        (
            -ACROSS * turn * turn * s * c
            + (ALONG + inertia) * turn * spin * c
            + MASS * GRAVITY * RADIUS * s
        )
        / (ACROSS + inertia),
        -inertia * turn * fall * c / (ALONG + inertia),
    ]


def energy(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The energy at every time, (nt,)."""
    return lagrangian(np, q, v) + 2 * MASS * GRAVITY * RADIUS * np.cos(q[3])


def errors(q: np.ndarray, v: np.ndarray) -> dict[str, float]:
    """Largest relative energy error, largest slip, and the distance of the last q from the
    reference.
    """
    energies = energy(q, v)
    return {
        "energy_error": float(np.max(np.abs(energies / energies[0] - 1))),
        "constraint_error": float(np.max(np.abs(rolling(np, q, v)))),
        "final_error": float(np.max(np.abs(q[:, -1] - FINAL))),
    }
