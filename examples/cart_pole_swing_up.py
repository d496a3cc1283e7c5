"""Swing a pole up with at most 10 N on a rail of 1.2 m: with the least effort, and in the least
time.

Bounds hold everywhere, not at the nodes of the mesh alone: an input is a polynomial on each
interval whose Bernstein coefficients are bounded, and states are checked along the replayed motion.
In the least time the force jumps between its bounds; the mesh is refined where it does.
"""

import numpy as np
from sympy import cos, pi, sin

import dalembert as da
from dalembert.control import at_end, integral, optimise

x, theta = da.coordinates("x theta")
u = da.inputs("u")
cart = da.System(
    [x, theta],
    kinetic=x.dot**2 / 2
    + 0.15 * ((x.dot + 0.5 * theta.dot * cos(theta)) ** 2 + (0.5 * theta.dot * sin(theta)) ** 2),
    potential=-0.15 * 9.81 * cos(theta),
    forces={x: u},
    inputs=[u],
    drawing=[
        da.draw.link((-0.7, 0), (0.7, 0)),
        da.draw.point((x, 0)),
        da.draw.link((x, 0), (x + 0.5 * sin(theta), -0.5 * cos(theta))),
        da.draw.point((x + 0.5 * sin(theta), -0.5 * cos(theta))),
    ],
    name="cart with pole",
)
task = {
    "start": {x: 0, theta: 0},
    "end": {x: 0, theta: pi},
    "at_rest": True,
    "bounds": {u: (-10, 10), x: (-0.6, 0.6)},
}
effort = optimise(cart, integral(u**2), span=(0, 2.5), **task)
fast = optimise(cart, at_end(da.t), span=(0, (0.5, 4)), guess={da.t: 2}, tolerance=1e-5, **task)
for name, found in (("effort", effort), ("time", fast)):
    print(f"least {name}: {found.cost:.6f} in {found.span[1]:.4f} s")
    print(f"  replay distance       {found.replay_distance:.1e}")
    print(f"  rail exceeded by      {max(0.0, np.max(np.abs(found.motion['x'])) - 0.6):.1e}")
    print(f"  force exceeded by     {np.max(np.abs(found.inputs['u'].coefficients)) - 10:.1e}")
