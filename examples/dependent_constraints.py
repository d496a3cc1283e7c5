"""A swing that hangs on three rods where two would do: what does each rod carry?

The three rod constraints are dependent: any two imply the third. Multipliers of single rods are
then not unique, and a solver that inverts a matrix fails. The motion and the total reaction are
unique all the same; dalembert finds the rank at every step, gives the multipliers of least norm,
and keeps all three rods at their length.
"""

import numpy as np
from sympy import cos, sin

import dalembert as da

x, y, angle = da.coordinates("x y angle")
m, J, l, w, g = da.parameters("m J l w g", positive=True)


def rod(offset: int) -> object:
    """A rod of length l from (offset w, 0) down to the platform's point at the same offset."""
    dx = x + offset * w * cos(angle) - offset * w
    dy = y + offset * w * sin(angle)
    return da.holonomic(
        (dx**2 + dy**2 - l**2) / (2 * l), name={-1: "left", 0: "middle", 1: "right"}[offset]
    )


def swing(*offsets: int) -> da.System:
    """The platform on the rods at these offsets."""
    return da.System(
        coordinates=[x, y, angle],
        parts=[da.body(m, J, [x, y], angle=angle), da.gravity(m, y, g)],
        constraints=[rod(offset) for offset in offsets],
        name="Swing",
    )


run = {
    "start": {"x": 0.6, "y": -0.8, "angle": 0.0},
    "span": (0, 10),
    "parameters": {"m": 2.0, "J": 0.3, "l": 1.0, "w": 0.5, "g": 9.81},
    "at": np.linspace(0, 10, 101),
}
three, two = da.simulate(swing(-1, 0, 1), **run), da.simulate(swing(-1, 1), **run)

rows = da.derive(swing(-1, 0, 1)).symbolic.rows.subs({x: 0.6, y: -0.8, angle: 0, l: 1, w: 0.5})
print(f"rank of the three rows     {rows.rank()}")
print(
    "tension at the start       ",
    {name: round(float(-r.multiplier[0, 0]), 4) for name, r in three.reactions.items()},
)
print(
    "with two rods              ",
    {name: round(float(-r.multiplier[0, 0]), 4) for name, r in two.reactions.items()},
)
print(f"largest difference in x    {np.abs(three['x'] - two['x']).max():.1e}")
print(f"... in the total reaction  {np.abs(three.total_reaction - two.total_reaction).max():.1e}")
print(f"rods keep their length to  {three.worst_residual['position']:.1e}")
