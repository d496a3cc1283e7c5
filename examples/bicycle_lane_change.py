"""A leaning bicycle changes its lane: it steers the wrong way first.

N. Getz's bicycle: both wheels roll without slipping sideways, which is a constraint of velocities
for each; the mass is a point at the height 1 over the frame, which leans and falls by itself. The
torque at the handlebar and the push at the rear wheel are bounded. Least effort moves the bicycle
by 2 to the left at 5 m/s, upright at both ends.
"""

import numpy as np
from sympy import cos, pi, sin, tan

import dalembert as da
from dalembert.control import integral, optimise

x, y, heading, lean, steer = da.coordinates("x y heading lean steer")
torque, push = da.inputs("torque push")
back, height, wheelbase, steering_inertia = 0.5, 1.0, 1.0, 0.1
place = (
    x + back * cos(heading) + height * sin(lean) * sin(heading),
    y + back * sin(heading) - height * sin(lean) * cos(heading),
    height * cos(lean),
)
lengthways, up = (
    (cos(heading), sin(heading), 0),
    (
        sin(lean) * sin(heading),
        -sin(lean) * cos(heading),
        cos(lean),
    ),
)
hubs = [
    tuple(
        start + arm * along + 0.3 * high
        for start, along, high in zip((x, y, 0), lengthways, up, strict=True)
    )
    for arm in (0, wheelbase)
]
front = (cos(heading + steer), sin(heading + steer), 0)
speeds = [sum(part.diff(q) * q.dot for q in (x, y, heading, lean)) for part in place]
ahead = x.dot * cos(heading) + y.dot * sin(heading)
bicycle = da.System(
    [x, y, heading, lean, steer],
    kinetic=sum(each**2 for each in speeds) / 2 + steering_inertia / 2 * steer.dot**2,
    potential=9.81 * place[2],
    constraints=[
        da.velocity(y.dot * cos(heading) - x.dot * sin(heading), name="rear wheel"),
        da.velocity(heading.dot - ahead * tan(steer) / wheelbase, name="front wheel"),
    ],
    forces={steer: torque, x: push * cos(heading), y: push * sin(heading)},
    inputs=[torque, push],
    drawing=[
        da.draw.trace((x, y, 0)),
        da.draw.circle(hubs[0], 0.3, axes=[lengthways, up], color="link"),
        da.draw.circle(hubs[1], 0.3, axes=[front, up], color="link"),
        da.draw.link(*hubs),
        da.draw.link((x + back * cos(heading), y + back * sin(heading), 0), place),
        da.draw.point(place),
    ],
    name="bicycle",
)
upright = dict.fromkeys([y, heading, lean, steer, heading.dot, lean.dot, steer.dot, y.dot], 0)
found = optimise(
    bicycle,
    integral(100 * torque**2 + push**2),
    upright | {x: 0, x.dot: 5},
    upright | {y: 2, x.dot: 5},
    (0, 3),
    bounds={torque: (-1, 1), push: (-5, 5), lean: (-pi / 4, pi / 4), steer: (-0.5, 0.5)},
    guess={x: 5 * da.t, x.dot: 5},
    tolerance=1e-4,
)
motion = found.motion
slip = [motion[name] for name in ("y_dot", "x_dot", "heading")]
slip = np.max(np.abs(slip[0] * np.cos(slip[2]) - slip[1] * np.sin(slip[2])))
wrong = np.min(motion["steer"][: len(motion.t) // 3])
print(f"the bicycle is in the other lane after {motion['x'][-1]:.3f} m")
print(f"  replay distance    {found.replay_distance:.1e}")
print(f"  in the lane to     {abs(motion['y'][-1] - 2):.1e}")
print(f"  rear wheel slips   {slip:.1e}")
print(f"  steers first by    {wrong:.4f} rad")
