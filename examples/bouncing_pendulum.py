"""When does a pendulum come to rest against a sloping wall?

The wall holds the angle at 0.3 rad or more, and gravity presses the bob onto it. Each impact keeps
70 % of the speed, so the bounces become shorter and shorter: infinitely many in a finite time. The
run passes that point, rests, and reports the force on the wall.
"""

from math import sin

from sympy import Rational, cos

import dalembert as da

theta = da.coordinates("theta")
m, l, g, e = da.parameters("m l g e", positive=True)

pendulum = da.System(
    coordinates=[theta],
    kinetic=m / 2 * (l * theta.dot) ** 2,
    potential=-m * g * l * cos(theta),
    constraints=[da.unilateral(theta >= Rational(3, 10), restitution=e, name="wall")],
    name="Pendulum against a wall",
)
values = {"m": 1.0, "l": 1.0, "g": 9.81, "e": 0.7}
motion = da.simulate(pendulum, {theta: 1.2}, (0, 15), parameters=values)

times = [time for time, _ in motion.impacts]
print(motion.message)
print(
    f"{len(times)} impacts, the first at {times[0]:.6f} s, the second at {times[1]:.6f} s, the last"
    f" at {times[-1]:.6f} s"
)
print(f"angle at the end   {motion['theta'][-1]:.12f}")
force = motion.reactions["wall"].force[0, -1]
print(f"moment of the wall {force:.9f}   m g l sin(0.3) = {9.81 * sin(0.3):.9f}")
