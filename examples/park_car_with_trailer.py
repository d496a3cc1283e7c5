"""Park a car with a trailer beside where it stands: steering, speed, hitch angle and acceleration
are bounded, and the time is free.

The rolling wheels leave no way sideways; the car has to go forth and back. The cost weighs time
against comfort. The guess is a sketch of the manoeuvre.
"""

import numpy as np
from sympy import cos, pi, sin, tan

import dalembert as da
from dalembert.control import integral, optimise

x, y, heading, trailer, speed, steer = state = da.coordinates("x y heading trailer speed steer")
push, turn = da.inputs("push turn")
car = da.Flow(
    {
        x: speed * cos(heading),
        y: speed * sin(heading),
        heading: speed * tan(steer),
        trailer: speed * sin(heading - trailer),
        speed: push,
        steer: turn,
    },
    inputs=[push, turn],
    name="car with trailer",
)
s = da.t / 8
found = optimise(
    car,
    integral(1 + (push**2 + turn**2) / 10),
    dict.fromkeys(state, 0),
    dict.fromkeys(state, 0) | {y: 1},
    (0, (2, 20)),
    bounds={
        speed: (-1, 1),
        steer: (-0.6, 0.6),
        push: (-1, 1),
        turn: (-1, 1),
        heading - trailer: (-pi / 4, pi / 4),
    },
    guess={
        x: 1.5 * sin(pi * s),
        y: s,
        heading: 0.3 * sin(2 * pi * s),
        trailer: 0.2 * sin(2 * pi * s),
        speed: 0.5 * cos(pi * s),
        da.t: 8,
    },
    tolerance=1e-4,
)
motion = found.motion
hitch = np.abs(motion["heading"] - motion["trailer"])
print(f"parked after {found.span[1]:.3f} s at a cost of {found.cost:.4f}")
print(f"  replay distance      {found.replay_distance:.1e}")
print(f"  parked off by        {max(abs(motion['x'][-1]), abs(motion['y'][-1] - 1)):.1e}")
print(f"  hitch exceeded by    {max(0.0, np.max(hitch) - np.pi / 4):.1e}")
print(f"  changes of direction {np.sum(np.diff(np.sign(motion['speed'][1:-1])) != 0)}")
