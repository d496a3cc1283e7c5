"""How does a model made with sympy.physics.mechanics run here?

A double pendulum by Kane's method, as SymPy's users write it: frames, points, bodies, loads,
kinematic equations. `da.from_sympy` makes a `System` of it, and everything else follows.
"""

import numpy as np
import sympy
from sympy.physics.mechanics import KanesMethod, Particle, Point, ReferenceFrame, dynamicsymbols

import dalembert as da

q1, q2, u1, u2 = dynamicsymbols("q1 q2 u1 u2")
m, l, g = sympy.symbols("m l g")

frame, first, second = ReferenceFrame("N"), ReferenceFrame("A"), ReferenceFrame("B")
first.orient_axis(frame, q1, frame.z)
second.orient_axis(frame, q2, frame.z)
first.set_ang_vel(frame, u1 * frame.z)
second.set_ang_vel(frame, u2 * frame.z)
pivot, elbow, tip = Point("O"), Point("P"), Point("R")
pivot.set_vel(frame, 0)
elbow.set_pos(pivot, l * first.x)
tip.set_pos(elbow, l * second.x)
elbow.v2pt_theory(pivot, frame, first)
tip.v2pt_theory(elbow, frame, second)

method = KanesMethod(
    frame,
    q_ind=[q1, q2],
    u_ind=[u1, u2],
    kd_eqs=[q1.diff() - u1, q2.diff() - u2],
    bodies=[Particle("elbow", elbow, m), Particle("tip", tip, m)],
    forcelist=[(elbow, m * g * frame.x), (tip, m * g * frame.x)],
)
system = da.from_sympy(method, name="Double pendulum")
print("coordinates", *system.coordinates, "  parameters", *system.parameters)

motion = da.simulate(
    system, {"q1": 2.0, "q2": 1.0}, (0, 20), parameters={"m": 1.0, "l": 1.0, "g": 9.81}
)
# SymPy's loads are forces, so `motion.energy` is kinetic; the weight's potential is added by hand.
total = motion.energy - 9.81 * (2 * np.cos(motion["q1"]) + np.cos(motion["q2"]))
print(f"{motion.message} {motion.statistics['steps']} steps")
print(f"angles at the end {motion['q1'][-1]:.6f}, {motion['q2'][-1]:.6f}")
print(f"kinetic plus potential energy drifts by {abs(total - total[0]).max() / abs(total[0]):.1e}")
