"""How rough must the floor be for a disk to roll without slipping?

The constraint forces are part of every motion. The reactions of the two rolling constraints are the
components of the friction at the point of contact; the normal force follows from Newton's law for
the height of the centre.
"""

import numpy as np

import dalembert as da

disk = da.gallery.load("rolling-disk")
motion = da.simulate(disk, span=(0, 20))

m, r, g = (motion.parameters[name] for name in ("m", "r", "g"))
theta, rate, acceleration = motion["theta"], motion["theta_dot"], motion["theta_ddot"]

ix, iy = (
    motion.system.coordinates.index(q) for q in motion.system.coordinates if q.name in ("x", "y")
)
friction = np.hypot(motion.total_reaction[ix], motion.total_reaction[iy])
normal = m * (g - r * np.sin(theta) * acceleration - r * np.cos(theta) * rate**2)
needed = friction / normal
worst = int(np.argmax(needed))

print(
    f"{motion.message} {motion.statistics['steps']} steps,"
    f" {1e3 * motion.statistics['integrate_seconds']:.1f} ms"
)
print(f"largest friction           {friction.max():8.4f} N")
print(
    f"normal force               {normal.min():8.4f} to {normal.max():.4f} N (weight {m * g:.4f} N)"
)
print(
    f"needed friction coefficient{needed.max():8.4f} at t = {motion.t[worst]:.4f} s, tilt"
    f" {theta[worst]:.4f} rad"
)
print(f"the disk slips by at most  {motion.worst_residual['velocity']:8.1e} m/s")
print(f"relative energy drift      {np.abs(motion.energy / motion.energy[0] - 1).max():8.1e}")
print(
    "power of the reactions    "
    f" {np.abs((motion.total_reaction * motion.y[5:]).sum(axis=0)).max():8.1e} W"
)
