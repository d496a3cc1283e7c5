"""A constraint on momenta: is Hamilton's road the same as Lagrange's?

A particle is stated by its Hamiltonian, with the constraint z^2 p_x = p_y on its momenta (a
nonholonomic constraint). Hamilton's form integrates (q, p), Lagrange's form (q, q_dot). Both are
derived from the one statement, and agree on the motion and on the reaction.
"""

import numpy as np

import dalembert as da

x, y, z = da.coordinates("x y z")
m, k = da.parameters("m k", positive=True)

particle = da.System(
    coordinates=[x, y, z],
    hamiltonian=(x.momentum**2 + y.momentum**2 + z.momentum**2) / (2 * m)
    + k * (x**2 + y**2 + z**2) / 2,
    constraints=[da.momentum(z**2 * x.momentum - y.momentum, name="blade")],
    name="Nonholonomic particle",
)
print(da.derive(particle, "hamilton").text(), "\n")

start = {"x": 0.0, "y": 1.0, "z": 1.0, "p_x": 1.0, "p_z": 0.3}
times = np.linspace(0, 10, 201)
motions = {
    form: da.simulate(
        particle, start, (0, 10), parameters={"m": 2.0, "k": 1.0}, form=form, at=times
    )
    for form in ("hamilton", "lagrange")
}
by_p, by_v = motions["hamilton"], motions["lagrange"]

print(f"the start was completed: {' '.join(by_p.start_report)}")
print(
    "state          ",
    *(symbol.name for symbol in by_p.equations.state),
    "|",
    *(s.name for s in by_v.equations.state),
)
for name in ("x", "p_y", "z_ddot", "energy"):
    print(f"{name:<7} differs by {np.abs(by_p[name] - by_v[name]).max():.1e}")
print(f"reaction differs by {np.abs(by_p.total_reaction - by_v.total_reaction).max():.1e}")
