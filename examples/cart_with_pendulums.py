"""Swing up two pendulums, or three, on a cart whose force and rail are bounded.

All hang at the start and stand at the end, at rest; the effort is least. Uniform rods of 0.2 kg and
0.5 m are linked in a row on a cart of 1 kg. Pass 3 for three of them.
"""

import sys

import numpy as np
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import integral, optimise

count = int(sys.argv[1]) if sys.argv[1:] in (["2"], ["3"]) else 2
mass, length, duration = 0.2, 0.5, {2: 2.5, 3: 3.0}[count]
x, *angles = da.coordinates("x " + " ".join(f"angle{k}" for k in range(1, count + 1)))
u = da.inputs("u")
pivot, kinetic, potential = (x, 0), x.dot**2 / 2, 0
shapes = [da.draw.link((-1.2, 0), (1.2, 0)), da.draw.point((x, 0))]
for angle in angles:
    middle = pivot[0] + length / 2 * sin(angle), pivot[1] - length / 2 * cos(angle)
    speeds = [sum(part.diff(q) * q.dot for q in (x, *angles)) for part in middle]
    kinetic += mass / 2 * sum(each**2 for each in speeds) + mass * length**2 / 24 * angle.dot**2
    potential += 9.81 * mass * middle[1]
    tip = 2 * middle[0] - pivot[0], 2 * middle[1] - pivot[1]
    shapes += [da.draw.link(pivot, tip), da.draw.point(tip)]
    pivot = tip
cart = da.System(
    [x, *angles],
    kinetic=kinetic,
    potential=potential,
    forces={x: u},
    inputs=[u],
    drawing=shapes,
    name="cart",
)
found = optimise(
    cart,
    integral(u**2),
    dict.fromkeys([x, *angles], 0),
    {x: 0} | dict.fromkeys(angles, pi),
    (0, duration),
    at_rest=True,
    bounds={u: (-40, 40), x: (-1, 1)},
    intervals=40,
    tolerance=1e-4,
)
motion = found.motion
print(f"{count} pendulums stand after {duration} s with an effort of {found.cost:.3f}")
print(f"  replay distance    {found.replay_distance:.1e}")
print(f"  rail exceeded by   {max(0.0, np.max(np.abs(motion['x'])) - 1):.1e}")
print(f"  force exceeded by  {max(0.0, np.max(np.abs(found.inputs['u'].coefficients)) - 40):.1e}")
