"""The gait of least effort that carries a snakeboard 0.1 m ahead in each cycle.

Rotor and wheels are accelerated within bounds. After a cycle the shape, its rates and the momentum
return and the board does not: it has gone along x. Several random starts are ranked.
"""

import numpy as np
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import integral, optimise

x, y, heading, rotor, wheels = da.coordinates("x y heading rotor wheels")
spin, steer, momentum = da.coordinates("spin steer momentum")
a, b = da.inputs("a b")
mass, half, inertia = 6.0, 0.2, 0.016
rolling = (momentum - inertia * sin(wheels) * spin) / (mass * half**2)
ends = [(x + s * half * cos(heading), y + s * half * sin(heading)) for s in (-1, 1)]
turned = [heading - wheels, heading + wheels]
board = da.Flow(
    {
        x: half * rolling * cos(wheels) * cos(heading),
        y: half * rolling * cos(wheels) * sin(heading),
        heading: rolling * sin(wheels),
        rotor: spin,
        wheels: steer,
        spin: a,
        steer: b,
        momentum: inertia * cos(wheels) * spin * steer,
    },
    inputs=[a, b],
    drawing=[
        da.draw.trace((x, y)),
        da.draw.link(*ends),
        *(
            da.draw.link(
                (px + 0.06 * sin(angle), py - 0.06 * cos(angle)),
                (px - 0.06 * sin(angle), py + 0.06 * cos(angle)),
            )
            for (px, py), angle in zip(ends, turned, strict=True)
        ),
        da.draw.link(
            (x, y), (x + 0.12 * cos(heading + rotor), y + 0.12 * sin(heading + rotor)), color="body"
        ),
    ],
    name="snakeboard",
)
found = optimise(
    board,
    integral(a**2 + b**2),
    dict.fromkeys([x, y, heading, rotor, momentum], 0),
    {x: 0.1, y: 0, heading: 0, momentum: 0},
    (0, 2 * pi),
    periodic=[rotor, wheels, spin, steer],
    bounds={a: (-4, 4), b: (-4, 4), wheels: (-1.2, 1.2)},
    guess={rotor: sin(da.t), wheels: 0.7 * cos(da.t)},
    starts=4,
    tolerance=1e-4,
)
motion = found.motion
print(f"one cycle of 0.1 m takes {found.cost:.5f} of effort")
print("  local optima met     " + ", ".join(f"{own.cost:.4f}" for own in found.optima))
print(f"  replay distance      {found.replay_distance:.1e}")
print(f"  shape open by        {abs(motion['wheels'][-1] - motion['wheels'][0]):.1e}")
most = max(np.max(np.abs(table.coefficients)) for table in found.inputs.values())
print(f"  bounds exceeded by   {max(0.0, most - 4):.1e}")
