"""Park a car with trailers beside where it stands: `park_trailers.py 2` for two, one by default.

Every wheel rolls without slipping sideways, so that the train has to go forth and back; hitches may
not fold, steering, speed and acceleration are bounded, and the time is free. The cost weighs time
against comfort. The guess is a sketch of the manoeuvre.
"""

import sys

import numpy as np
from sympy import cos, pi, sin, tan

import dalembert as da
from dalembert.control import integral, optimise

count = int(sys.argv[1]) if sys.argv[1:] in (["1"], ["2"]) else 1
x, y, heading, speed, steer = da.coordinates("x y heading speed steer")
trailers = [da.coordinates(f"trailer{k}") for k in range(1, count + 1)]
push, turn = da.inputs("push turn")
rates = {x: speed * cos(heading), y: speed * sin(heading), heading: speed * tan(steer)}
pulled, before, hitch = speed, heading, (x, y)
shapes = [da.draw.trace(hitch), da.draw.link(hitch, (x + cos(heading), y + sin(heading)), width=6)]
for trailer in trailers:
    rates[trailer] = pulled * sin(before - trailer)
    pulled, before = pulled * cos(before - trailer), trailer
    axle = hitch[0] - cos(trailer), hitch[1] - sin(trailer)
    shapes += [da.draw.link(hitch, axle), da.draw.point(hitch, size=5)]
    shapes += [
        da.draw.link((axle[0] + 0.3 * cos(trailer), axle[1] + 0.3 * sin(trailer)), axle, width=6)
    ]
    hitch = axle
train = da.Flow(
    rates | {speed: push, steer: turn},
    inputs=[push, turn],
    drawing=shapes,
    name=f"car with {count} trailer{'s' * (count > 1)}",
)
state, hitches = (
    list(train.coordinates),
    list(zip([heading, *trailers[:-1]], trailers, strict=True)),
)
seconds = 4 + 4 * count
s = da.t / seconds
found = optimise(
    train,
    integral(1 + (push**2 + turn**2) / 10),
    dict.fromkeys(state, 0),
    dict.fromkeys(state, 0) | {y: 1},
    (0, (2, 30)),
    bounds={
        **dict.fromkeys((speed, push, turn), (-1, 1)),
        steer: (-0.6, 0.6),
        **{front - rear: (-pi / 4, pi / 4) for front, rear in hitches},
    },
    guess={
        x: (0.5 + count) * sin(pi * s),
        y: s,
        heading: 0.3 * sin(2 * pi * s),
        **{trailer: (0.25 - 0.05 * k) * sin(2 * pi * s) for k, trailer in enumerate(trailers, 1)},
        speed: 0.55 * cos(pi * s),
        da.t: seconds,
    },
    tolerance=1e-3 if count > 1 else 1e-4,
)
motion = found.motion
folded = [np.abs(motion[front.name] - motion[rear.name]) for front, rear in hitches]
ends = [motion[each.name][-1] - (each is y) for each in (x, y, heading, *trailers)]
print(f"parked after {found.span[1]:.3f} s at a cost of {found.cost:.4f}")
print(f"  replay distance      {found.replay_distance:.1e}")
print(f"  parked off by        {np.max(np.abs(ends)):.1e}")
print(f"  hitch exceeded by    {max(0.0, np.max(folded) - np.pi / 4):.1e}")
print(f"  changes of direction {np.sum(np.diff(np.sign(motion['speed'][1:-1])) != 0)}")
