"""Ride a rolling disk to a place beside it in the least time, while friction can hold it.

The force at the contact is the reaction of the rolling constraints; it may not exceed mu m g. The
torques alone would allow a faster ride, whose wheel would slip.
"""

import numpy as np
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import at_end, optimise, reaction

x, y, roll, heading = da.coordinates("x y roll heading")
drive, turn = da.inputs("drive turn")
disk = da.System(
    [x, y, roll, heading],
    kinetic=(x.dot**2 + y.dot**2) / 2 + roll.dot**2 / 4 + heading.dot**2 / 8,
    constraints=[
        da.velocity(x.dot - roll.dot * cos(heading), name="along x"),
        da.velocity(y.dot - roll.dot * sin(heading), name="along y"),
    ],
    forces={roll: drive, heading: turn},
    inputs=[drive, turn],
    drawing=[
        da.draw.trace((x, y)),
        da.draw.link(
            (x - 0.2 * cos(heading), y - 0.2 * sin(heading)),
            (x + 0.2 * cos(heading), y + 0.2 * sin(heading)),
            width=5,
        ),
    ],
    name="rolling disk",
)
friction = reaction("along x", x) ** 2 + reaction("along y", y) ** 2
limit = (0.3 * 9.81) ** 2
s = da.t / 3


def ride(**bounds):
    return optimise(
        disk,
        at_end(da.t),
        {x: 0, y: 0, roll: 0, heading: 0},
        {x: 2, y: 1, heading: 0},
        (0, (1, 8)),
        at_rest=True,
        bounds={drive: (-6, 6), turn: (-2, 2), heading: (-1.4, 1.4), **bounds.get("more", {})},
        guess={x: 2 * s, y: s, heading: sin(pi * s) / 2, roll: 2.2 * s, da.t: 3},
        tolerance=1e-4,
    )


held, free = ride(more={friction: (None, limit)}), ride()
for name, found in (("with friction", held), ("without slip limit", free)):
    force = sum(
        found.motion.reactions[constraint].force[k] ** 2
        for k, constraint in enumerate(("along x", "along y"))
    )
    print(f"{name}: {found.cost:.4f} s, force at most {np.sqrt(np.max(force)):.3f} N")
force = np.hypot(
    held.motion.reactions["along x"].force[0], held.motion.reactions["along y"].force[1]
)
print(f"  replay distance      {held.replay_distance:.1e}")
print(f"  friction exceeded by {max(0.0, np.max(force) - 0.3 * 9.81):.1e}")
