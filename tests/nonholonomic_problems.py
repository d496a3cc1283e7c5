"""Nonholonomic systems that several tests of integrators run on."""

from __future__ import annotations

from sympy import cos, diff, sin

import dalembert as da

__all__ = [
    "CHAOTIC_START",
    "CONTACT_START",
    "TRANSMISSION_START",
    "contact_oscillator",
    "transmission",
]

CONTACT_START = {"x": 1.1, "y": 1.0, "z": -0.55, "y_dot": 0.3, "z_dot": 0.2, "x_dot": -0.2}
CHAOTIC_START = {"x": 1.5, "y": 1.0, "z": -0.9, "y_dot": 0.8, "z_dot": 0.7}  # with the coupling 6
TRANSMISSION_START = {"x": 1.0, "y": 0.3, "s": 1.0, "s_dot": 0.1, "x_dot": 0.5}


def contact_oscillator(coupling: float = 0.3, **further) -> da.System:
    """Three oscillators with x_dot + y z_dot = 0 (R. McLachlan, M. Perlmutter, J. Nonlinear Sci. 16
    (2006), 5.2).
    """
    x, y, z = da.coordinates("x y z")
    return da.System(
        [x, y, z],
        kinetic=(x.dot**2 + y.dot**2 + z.dot**2) / 2,
        potential=(x**2 + y**2 + z**2 + coupling * x**2 * z**2) / 2,
        **{"constraints": [da.velocity(x.dot + y * z.dot, name="contact")]} | further,
    )


def transmission(gauge: float = 0.0) -> da.System:
    """A continuously variable transmission driven by a pendulum (after K. Modin, O. Verdier, Numer.
    Math. 145 (2020) 405).

    Two oscillators are coupled by a belt whose ratio depends on the pendulum's angle s. `gauge`
    times the rate of a function of positions is added to the Lagrangian, which changes no motion.
    """
    x, y, s = coordinates = da.coordinates("x y s")
    function = sin(s + 0.3) + sin(x + 0.7) * cos(y - 0.4) / 2 + 0.3 * cos(s) * x
    rate = sum(diff(function, q) * q.dot for q in coordinates)
    return da.System(
        [x, y, s],
        lagrangian=(x.dot**2 + y.dot**2 + s.dot**2) / 2
        - (x**2 + 2 * y**2) / 2
        + cos(s)
        - 1
        + gauge * rate,
        constraints=[da.velocity(cos(s) * y.dot - sin(s) * x.dot, name="belt")],
    )
