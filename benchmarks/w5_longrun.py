"""W5: a spherical double pendulum in Cartesian coordinates for a long time, with steps of 0.01.

``python benchmarks/w5_longrun.py ENTRY STEPS`` measures one entry: seconds to derive and compile,
time of a step, largest error of the energy and of the rods at 10 000 stored states, and the
derivative of the energy.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import w5_peers as peers
from harness import Clock, Entry, Workload, cpu_seconds, report, serve
from w5_model import GRAVITY, START, STEP, constraint_error, energy_derivative, energy_error

NAMES = "x1 y1 z1 x2 y2 z2"
GENERIC, HAND = "Lagrangian and constraints", "equations by hand"
STORED = 10_000


def dalembert(method: str, steps: int) -> Any:
    import dalembert as da

    x1, y1, z1, x2, y2, z2 = q = da.coordinates(NAMES)
    system = da.System(
        q,
        kinetic=sum(c.dot**2 for c in q) / 2,
        potential=GRAVITY * (z1 + z2),
        constraints=[
            da.holonomic((x1**2 + y1**2 + z1**2 - 1) / 2, name="upper"),
            da.holonomic(((x2 - x1) ** 2 + (y2 - y1) ** 2 + (z2 - z1) ** 2 - 1) / 2, name="lower"),
        ],
    )
    start = dict(zip([*q, *(c.dot for c in q)], START, strict=True))

    def states(count: int, every: int) -> Any:
        motion = da.simulate(
            system,
            start,
            (0.0, count * STEP),
            method=method,
            step=STEP,
            every=every,
            max_steps=10**9,
            project_start=False,
        )
        return motion.y.T[1:]

    states(10, 1)
    return states


OURS = (
    "sympy",
    "dalembert.integrate.task",
    "dalembert.formulations.registry",
    "dalembert.runtime.kernel",
)
ENTRIES = (
    *(
        Entry(f"dalembert-{method}", GENERIC, partial(dalembert, method), OURS)
        for method in ("rattle2", "rattle4", "rattle6", "rattle8")
    ),
    Entry("numba-rattle-hand", HAND, peers.numba_rattle, ("numba",)),
    Entry("heyoka-hand", HAND, peers.heyoka_reduced, ("heyoka",)),
)
WORKLOAD = Workload(
    key="W5",
    title="spherical double pendulum in Cartesian coordinates, steps of 0.01",
    script="w5_longrun.py",
    entries=ENTRIES,
    sizes=("100000", "1000000"),
    quick_sizes=("100000",),
    label="steps",
    by_metric=(
        "derive_compile_s",
        "us_a_step",
        "energy_error",
        "energy_slope",
        "constraint_error",
        "script_s",
    ),
    shown_size="1000000",
)


def measure(entry: Entry, size: str) -> None:
    name, steps = WORKLOAD.row_name(size), int(size)
    clock = Clock()
    states = entry.build(steps)
    cpu, _ = clock.read()
    before = cpu_seconds()
    found = states(steps, max(1, steps // STORED))
    seconds = cpu_seconds() - before
    error = energy_error(found)
    if not np.all(np.isfinite(found)):
        report(name, entry.name, "status", "not finite", None)
        return
    report(name, entry.name, "derive_compile_s", cpu, error)
    report(name, entry.name, "us_a_step", seconds / steps * 1e6, error)
    report(name, entry.name, "energy_error", error, error)
    report(name, entry.name, "energy_slope", abs(energy_derivative(found)), error)
    report(name, entry.name, "constraint_error", constraint_error(found), error)
    report(name, entry.name, "script_s", cpu_seconds(), error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
