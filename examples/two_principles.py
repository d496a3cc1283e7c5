"""Does a skate minimise its action? Two principles, two motions.

D'Alembert's principle lets the reaction do no work on virtual displacements. The vakonomic
principle makes the action stationary among all curves that obey the constraint. Where the
constraint can be integrated they agree; for a skate on an incline they do not. Real skates follow
d'Alembert; optimal control problems follow the other.
"""

import numpy as np
from sympy import cos, sin

import dalembert as da

x, y, phi = da.coordinates("x y phi")
m, J, g = da.parameters("m J g", positive=True)

skate = da.System(
    coordinates=[x, y, phi],
    kinetic=m / 2 * (x.dot**2 + y.dot**2) + J / 2 * phi.dot**2,
    potential=-m * g * x,
    constraints=[da.velocity(x.dot * sin(phi) - y.dot * cos(phi), name="blade")],
    name="Skate on an incline",
)
run = {
    "start": {"phi_dot": 1.0},
    "span": (0, 6 * np.pi),
    "parameters": {"m": 1.0, "J": 1.0, "g": 1.0},
    "at": np.linspace(0, 6 * np.pi, 200),
}
dalembert = da.simulate(skate, **run)
vakonomic = da.simulate(skate, form="vakonomic", **run)

exact = np.sin(dalembert.t) ** 2 / 2
print("x is the way down the incline; the skate starts with no speed and a spin of 1 rad/s")
print(f"d'Alembert: x stays between 0 and {dalembert['x'].max():.4f}, it does not slide down")
print(f"            x = sin(t)^2 / 2 holds to {np.abs(dalembert['x'] - exact).max():.1e}")
print(f"vakonomic:  x reaches {vakonomic['x'].max():.4f}")
print(
    "both obey the blade, to"
    f" {max(m.worst_residual['velocity'] for m in (dalembert, vakonomic)):.1e}"
)
