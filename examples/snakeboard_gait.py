"""The gait that carries a snakeboard farthest in one cycle, with bounded rates of rotor and wheels.

Shape and momentum return after a cycle, the board does not: x(T) is what is made large. The problem
has many local optima; several random starts are ranked.
"""

import numpy as np
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import at_end, optimise

rotor, wheels, momentum, heading, x, y = da.coordinates("rotor wheels momentum heading x y")
a, b = da.inputs("a b")
mass, half, inertia = 6.0, 0.2, 0.016
spin = (momentum - inertia * sin(wheels) * a) / (mass * half**2)
board = da.Flow(
    {
        rotor: a,
        wheels: b,
        momentum: inertia * cos(wheels) * a * b,
        heading: spin * sin(wheels),
        x: half * spin * cos(wheels) * cos(heading),
        y: half * spin * cos(wheels) * sin(heading),
    },
    inputs=[a, b],
    name="snakeboard",
)
found = optimise(
    board,
    -at_end(x),
    {rotor: 0, momentum: 0, heading: 0, x: 0, y: 0},
    {momentum: 0, heading: 0, y: 0},
    (0, 2 * pi),
    periodic=[rotor, wheels],
    bounds={a: (-1, 1), b: (-1, 1), wheels: (-1.2, 1.2)},
    guess={rotor: sin(da.t), wheels: 0.7 * cos(da.t), a: cos(da.t), b: -0.7 * sin(da.t)},
    starts=3,
    tolerance=1e-4,
)
motion = found.motion
print(f"one cycle goes {-found.cost:.5f} m")
print("  local optima met     " + ", ".join(f"{-own.cost:.4f}" for own in found.optima))
print(f"  replay distance      {found.replay_distance:.1e}")
print(f"  shape open by        {abs(motion['wheels'][-1] - motion['wheels'][0]):.1e}")
most = max(np.max(np.abs(table.coefficients)) for table in found.inputs.values())
print(f"  rates exceeded by    {most - 1:.1e}")
