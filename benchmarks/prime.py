"""Compile dalembert's native loops, which are the same for every model, on models that no workload
uses.

The peers come with compiled integrators; ours are compiled once on a machine and kept. The driver
runs this before the entries of dalembert, and hands each of them a copy of the cache that it
leaves: the loops are known, the model is new. The entry `dalembert-first-run` begins with an empty
cache.
"""

from __future__ import annotations

import sympy

import dalembert as da


def main() -> None:
    x, y = da.coordinates("x y")
    free = da.System(coordinates=[x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=9.81 * y)
    kernel = da.derive(free).compile()
    kernel.rates(0.0, [0.0, 0.0, 1.0, 1.0])
    kernel.time_native(0.0, [0.0, 0.0, 1.0, 1.0], (), 10)
    blade = da.velocity(x.dot * sympy.sin(x) - y.dot * sympy.cos(x), name="blade")
    skating = da.System(coordinates=[x, y], kinetic=free.kinetic, constraints=[blade])
    for at in (None, [0.0, 0.5, 1.0]):
        da.simulate(skating, {x: 1.0, x.dot: 1.0}, (0.0, 1.0), at=at)
    da.simulate(skating, {x: 1.0, x.dot: 1.0}, (0.0, 1.0), at=[0.5], method="taylor")
    for method in ("gauss2", "rattle4"):
        da.simulate(free, {x.dot: 1.0}, (0.0, 1.0), method=method, step=0.5)
    da.simulate(
        skating,
        start={x: [1.0, 1.1], x.dot: [1.0, 1.2]},
        span=(0.0, 1.0),
        at=[1.0],
        method="taylor",
    )


if __name__ == "__main__":
    main()
