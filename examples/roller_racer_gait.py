"""The gait of least effort that carries a roller racer 1 m ahead in each cycle.

Two bodies with a pair of wheels each are hinged, and the front wheels trail the hinge, which alone
is driven. Swinging it propels the racer: wheels that roll without slipping sideways are constraints
of velocities. After a cycle the hinge and all velocities return, and the racer has gone along x.
"""

import numpy as np
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import at_start, integral, optimise

x, y, heading, hinge = da.coordinates("x y heading hinge")
u = da.inputs("u")
mass, inertia, front_inertia, back, trail = 1.0, 0.1, 0.02, 0.3, 0.1
angle = heading + hinge
pivot = (x + back * cos(heading), y + back * sin(heading))
axle = (pivot[0] - trail * cos(angle), pivot[1] - trail * sin(angle))
speeds = [sum(part.diff(q) * q.dot for q in (x, y, heading, hinge)) for part in axle]
racer = da.System(
    [x, y, heading, hinge],
    kinetic=mass / 2 * (x.dot**2 + y.dot**2)
    + inertia / 2 * heading.dot**2
    + front_inertia / 2 * (heading.dot + hinge.dot) ** 2,
    constraints=[
        da.velocity(y.dot * cos(heading) - x.dot * sin(heading), name="rear wheels"),
        da.velocity(speeds[1] * cos(angle) - speeds[0] * sin(angle), name="front wheels"),
    ],
    forces={hinge: u, x: -0.2 * x.dot, y: -0.2 * y.dot},
    inputs=[u],
    drawing=[da.draw.trace((x, y)), da.draw.link((x, y), pivot), da.draw.link(pivot, axle)]
    + [
        da.draw.link(
            (px + 0.08 * sin(turned), py - 0.08 * cos(turned)),
            (px - 0.08 * sin(turned), py + 0.08 * cos(turned)),
            color="body",
        )
        for (px, py), turned in (((x, y), heading), (axle, angle))
    ],
    name="roller racer",
)
period = 2.0
swing = pi * 2 * da.t / period
found = optimise(
    racer,
    integral(u**2),
    {x: 0, y: 0},
    {x: 1, y: 0},
    (0, period),
    periodic=[heading, hinge, x.dot, hinge.dot],
    bounds={hinge: (-1.2, 1.2), u: (-3, 3), heading: (-1, 1)},
    conditions=[integral(heading), at_start(hinge)],
    guess={x: da.t / 2, x.dot: 0.5, hinge: 0.6 * sin(swing), heading: 0},
    tolerance=1e-4,
)
motion = found.motion
print(f"one cycle of {period} s takes {found.cost:.5f} of effort")
print(f"  replay distance   {found.replay_distance:.1e}")
print(f"  goes ahead by     {motion['x'][-1]:.5f}")
print(f"  shape open by     {abs(motion['hinge'][-1] - motion['hinge'][0]):.1e}")
print(f"  hinge swings to   {np.max(np.abs(motion['hinge'])):.3f} rad")
