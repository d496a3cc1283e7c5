"""How do pendulums of many lengths swing from many heights, and does every one meet its closed
form?

A pendulum that is let go at the angle a has sin(theta/2) = k cn(w t)/dn(w t), with k = sin(a/2) and
w^2 = g/l (elliptic functions of parameter k^2, after Jacobi). A sweep makes all the runs at once
and keeps them in a Zarr store, which any program can read, and which the same call would go on with
if it were killed on the way.
"""

import tempfile
from pathlib import Path

import numpy as np
import xarray as xr
from scipy.special import ellipj
from sympy import cos

import dalembert as da

theta = da.coordinates("theta")
m, l, g = da.parameters("m l g", positive=True)
pendulum = da.System(
    [theta],
    kinetic=m / 2 * (l * theta.dot) ** 2,
    potential=-m * g * l * cos(theta),
    name="Pendulum",
)

with tempfile.TemporaryDirectory() as folder:
    store = Path(folder) / "pendulums.zarr"
    over = {l: np.linspace(0.5, 2.0, 16), theta: np.linspace(0.1, 3.1, 25)}
    runs = da.sweep(
        pendulum,
        over,
        parameters={m: 1.0, g: 9.81},
        span=(0, 5),
        at=np.linspace(0, 5, 6),
        store=store,
    )
    table = xr.open_zarr(store).load()

print(runs)
k = np.sin(table["theta_start"] / 2)
frequency = np.sqrt(9.81 / table["l"])
phase, modulus = xr.broadcast(frequency * table["time"], k**2)
_, cn, dn, _ = ellipj(phase, modulus)
exact = 2 * np.arcsin(k * cn / dn)
print(f"largest distance from the closed form {float(abs(table['theta'] - exact).max()):.1e}")
print(f"largest drift of an energy {runs.energy_drift.max():.1e}")

worst = runs.energy_drift.argmax()
motion = runs.motion(np.unravel_index(worst, runs.shape))
print(f"the worst of them again, with all its {len(motion.t)} steps: {motion.outcome}")
