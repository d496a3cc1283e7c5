"""Park a car with two trailers beside where it stands.

Every wheel rolls without slipping sideways, so that the train has to go forth and back; hitches
may not fold, steering and speed are bounded. The cost weighs time against comfort.
"""

import numpy as np
from sympy import cos, pi, sin, tan

import dalembert as da
from dalembert.control import integral, optimise

names = "x y heading first second speed steer"
x, y, heading, first, second, speed, steer = state = da.coordinates(names)
push, turn = da.inputs("push turn")
pulled = speed * cos(heading - first)
train = da.Flow(
    {
        x: speed * cos(heading),
        y: speed * sin(heading),
        heading: speed * tan(steer),
        first: speed * sin(heading - first),
        second: pulled * sin(first - second),
        speed: push,
        steer: turn,
    },
    inputs=[push, turn],
    name="car with two trailers",
)
s = da.t / 12
found = optimise(
    train,
    integral(1 + (push**2 + turn**2) / 10),
    dict.fromkeys(state, 0),
    dict.fromkeys(state, 0) | {y: 1},
    (0, (4, 30)),
    bounds={
        speed: (-1, 1),
        steer: (-0.6, 0.6),
        push: (-1, 1),
        turn: (-1, 1),
        heading - first: (-pi / 4, pi / 4),
        first - second: (-pi / 4, pi / 4),
    },
    guess={
        x: 2.5 * sin(pi * s),
        y: s,
        heading: 0.3 * sin(2 * pi * s),
        first: 0.2 * sin(2 * pi * s),
        second: 0.15 * sin(2 * pi * s),
        speed: 0.6 * cos(pi * s),
        da.t: 12,
    },
    tolerance=1e-3,
)
motion = found.motion
folded = [motion["heading"] - motion["first"], motion["first"] - motion["second"]]
ends = [motion[name][-1] for name in ("x", "heading", "first", "second")]
print(f"parked after {found.span[1]:.3f} s at a cost of {found.cost:.4f}")
print(f"  replay distance      {found.replay_distance:.1e}")
print(f"  parked off by        {max(np.max(np.abs(ends)), abs(motion['y'][-1] - 1)):.1e}")
print(f"  hitch exceeded by    {max(0.0, np.max(np.abs(folded)) - np.pi / 4):.1e}")
