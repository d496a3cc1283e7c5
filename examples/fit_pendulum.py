"""Weigh nothing, measure an angle: gravity, friction and the length of a rod from a noisy film of a
pendulum.

The bob is a point in the plane, and its rod a constraint. The film shows the angle alone, so that
length and gravity are told apart only by the constraint on the start, which is given as a height.
The fit uses exact derivatives of every motion, also of how the start follows the constraint; the
gradient at its end says how much the last angle knows of each number.
"""

import numpy as np
import sympy

import dalembert as da

x, y = da.coordinates("x y")
m, l, g, c = da.parameters("m l g c", positive=True)
pendulum = da.System(
    [x, y],
    kinetic=m / 2 * (x.dot**2 + y.dot**2),
    potential=m * g * y,
    forces={x: -c * x.dot, y: -c * y.dot},
    constraints=[da.holonomic(x**2 + y**2 - l**2, name="rod")],
    name="Pendulum in the plane",
)
equations = da.derive(pendulum, "lagrange")
angle = sympy.atan2(x, -y)

truth = {"m": 1.0, "l": 1.3, "g": 9.81, "c": 0.12}
film = da.simulate(equations, {y: -1.0}, (0, 10), parameters=truth, at=np.linspace(0, 10, 201))
seen = np.arctan2(film["x"], -film["y"]) + 0.01 * np.random.default_rng(4).normal(size=201)
seen[90:110] = np.nan  # someone walked through the picture

guess = {"m": 1.0, "l": 1.4, "g": 9.0, "c": 0.2}
found = da.analysis.fit(
    equations,
    {"t": film.t, "angle": seen},
    [l, g, c],
    {y: -1.0},
    parameters=guess,
    observe={"angle": angle},
    sigma=0.01,
)
print(found.summary())
for name, value in truth.items():
    if name in found.parameters:
        print(
            f"  {name} is off by {abs(found[name] - value) / found.uncertainty[name]:.2f} standard"
            " errors"
        )

last = da.analysis.gradient(
    equations, [l, g, c, y], {y: -1.0}, (0, 10), parameters=truth, final=angle
)
print(
    "the last angle moves by",
    ", ".join(f"{value:.4f} per {name}" for name, value in zip(last.wrt, last.values, strict=True)),
)
ahead = da.analysis.sensitivities(equations, [l, g, c, y], {y: -1.0}, (0, 10), parameters=truth).of(
    angle
)[:, -1]
print(f"forward and backward differ by {np.max(np.abs(ahead - last.values)):.1e}")
