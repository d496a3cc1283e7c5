"""Where does a Chaplygin sleigh end up?

A rigid body slides on ice on one knife edge. Nothing brakes it, its energy is conserved, and yet it
always ends up running straight ahead. How far does it turn before that? The answer has a closed
form, which the simulation should meet.
"""

from math import acos, degrees, pi, sqrt

from sympy import cos, sin

import dalembert as da

x, y, theta = da.coordinates("x y theta")
m, J, a = da.parameters("m J a", positive=True)

sleigh = da.System(
    coordinates=[x, y, theta],
    kinetic=m
    / 2
    * ((x.dot - a * theta.dot * sin(theta)) ** 2 + (y.dot + a * theta.dot * cos(theta)) ** 2)
    + J / 2 * theta.dot**2,
    constraints=[da.velocity(x.dot * sin(theta) - y.dot * cos(theta), name="blade")],
    outputs={"speed": x.dot * cos(theta) + y.dot * sin(theta)},
    name="Chaplygin sleigh",
)
print(da.derive(sleigh).text(), "\n")

values = {"m": 1.0, "J": 0.5, "a": 0.2}
motion = da.simulate(sleigh, start={x.dot: 0.5, theta.dot: 1.0}, span=(0, 60), parameters=values)

# With k^2 = m / (J + m a^2), the point (v, w/k) moves on a circle of radius V, and theta grows by
# its angle / (a k).
k = sqrt(values["m"] / (values["J"] + values["m"] * values["a"] ** 2))
final_speed = sqrt(0.5**2 + (1.0 / k) ** 2)
turn = (pi - acos(-0.5 / final_speed)) / (values["a"] * k)

print(
    f"speed   {motion['speed'][0]:.3f} -> {motion['speed'][-1]:.9f}   closed form {final_speed:.9f}"
)
print(f"turned  {degrees(motion['theta'][-1]):.6f} degrees        closed form {degrees(turn):.6f}")
print(f"energy drift {max(abs(motion.energy / motion.energy[0] - 1)):.1e}")
print(f"blade slips by at most {motion.worst_residual['velocity']:.1e}")
