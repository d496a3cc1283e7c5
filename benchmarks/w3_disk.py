"""W3: a disk that rolls without slipping for 100 s, 1001 stored states, from its Lagrangian and
constraints.

``python benchmarks/w3_disk.py ENTRY RTOL`` measures one entry at one tolerance: seconds to derive
and compile, seconds to integrate, and the errors of energy, constraints and final position.
Tolerances mean different things to different methods, so the driver compares times at equal final
error, read between the tolerances.
"""

from __future__ import annotations

import numpy as np
import w3_peers as peers
from harness import Clock, Entry, Workload, cpu_seconds, median_cpu, per_call, report, serve
from w3_model import (
    DURATION,
    NAMES,
    TIMES,
    Solver,
    errors,
    from_full,
    full_start,
    lagrangian,
    rolling,
)


def dalembert(rtol: float, method: str = "taylor") -> Solver:
    import sympy

    import dalembert as da

    q = da.coordinates(" ".join(NAMES))
    v = [coordinate.dot for coordinate in q]
    rows = [
        da.velocity(row, name=name)
        for row, name in zip(rolling(sympy, q, v), ("roll_x", "roll_y"), strict=True)
    ]
    system = da.System(coordinates=q, lagrangian=lagrangian(sympy, q, v), constraints=rows)
    start = dict(zip([*q, *v], full_start(), strict=True))

    def run() -> np.ndarray:
        return da.simulate(
            system, start, (0.0, DURATION), at=TIMES, rtol=rtol, atol=rtol, method=method
        ).y

    run()  # compiles what a run needs
    return Solver(run, from_full)


GENERIC, HAND, KANE = "Lagrangian and constraints", "equations by hand", "vectors"
OURS = (
    "sympy",
    "dalembert.integrate.task",
    "dalembert.formulations.registry",
    "dalembert.runtime.kernel",
)
MECHANICS = ("sympy", "sympy.physics.mechanics", "scipy.integrate")
DIFFRAX = ("jax", "diffrax")
LADDER = ("1e-8", "1e-10", "1e-12", "1e-13")
ENTRIES = (
    Entry("dalembert", GENERIC, dalembert, OURS),
    Entry("dalembert-dop853", GENERIC, lambda rtol: dalembert(rtol, "dop853"), OURS),
    Entry("dalembert-first-run", GENERIC, dalembert, OURS, sizes=("1e-10",), first_run=True),
    Entry(
        "heyoka-null-space",
        GENERIC,
        peers.heyoka_null_space,
        ("heyoka",),
        sizes=(*LADDER, "2.2e-16"),
    ),
    Entry("casadi-cvodes-adams", GENERIC, peers.casadi_cvodes, ("casadi",)),
    Entry(
        "casadi-cvodes-adams-C",
        GENERIC,
        lambda rtol: peers.casadi_cvodes(rtol, jit=True),
        ("casadi",),
        compiler=True,
    ),
    Entry(
        "casadi-cvodes-bdf",
        GENERIC,
        lambda rtol: peers.casadi_cvodes(rtol, adams=False),
        ("casadi",),
    ),
    Entry("casadi-idas", GENERIC, peers.casadi_idas, ("casadi",)),
    Entry(
        "casadi-C+scipy-dop853",
        GENERIC,
        peers.casadi_c,
        ("casadi", "scipy.integrate"),
        compiler=True,
    ),
    Entry("jax+diffrax-dopri8", GENERIC, peers.jax_multipliers, DIFFRAX),
    Entry("sympy-lagrange+scipy-dop853", GENERIC, peers.sympy_lagrange, MECHANICS),
    Entry("sympy-kane+scipy-dop853", KANE, peers.sympy_kane, MECHANICS),
    Entry(
        "pydy-cython+scipy-dop853",
        KANE,
        peers.pydy_cython,
        (*MECHANICS, "pydy.codegen.ode_function_generators"),
        compiler=True,
    ),
    Entry("heyoka-hand", HAND, peers.heyoka_hand, ("heyoka",), sizes=(*LADDER, "2.2e-16")),
    Entry(
        "heyoka-long-double",
        "reference",
        lambda rtol: peers.heyoka_hand(rtol, np.longdouble),
        ("heyoka",),
        sizes=("1e-19",),
    ),
    Entry("jax-hand+diffrax-dopri8", HAND, peers.jax_hand, DIFFRAX),
    Entry("numba-hand+scipy-dop853", HAND, peers.numba_dop853, ("numba", "scipy.integrate")),
    Entry("sundials-adams-hand", HAND, peers.sundials_adams, ("sksundae", "numba")),
    Entry("sundials-ida-hand", HAND, peers.sundials_ida, ("sksundae", "numba")),
)
WORKLOAD = Workload(
    key="W3",
    title="rolling disk for 100 s with 1001 outputs: from Lagrangian and constraints to the motion",
    script="w3_disk.py",
    entries=ENTRIES,
    sizes=LADDER,
    quick_sizes=("1e-10",),
    label="rtol",
    by_metric=(
        "derive_compile_s",
        "integrate_s",
        "total_s",
        "script_s",
        "energy_error",
        "constraint_error",
        "final_error",
    ),
    shown_size="1e-10",
    equal_error=(1e-6, 1e-8, 1e-10, 1e-12),
)


def measure(entry: Entry, size: str) -> None:
    name = WORKLOAD.row_name(size)
    clock = Clock()
    solver = entry.build(float(size))
    cpu, wall = clock.read()
    found = errors(*solver.unpack(solver.run()))
    whole = cpu_seconds()
    error = found["final_error"]
    if not error < 1e-2:
        report(name, entry.name, "status", f"wrong: final error {error:.1e}", error)
        return
    integrate_cpu = per_call(
        solver.run, repeats=5, least=0.1
    )  # in bunches: the processor's clock may tick every 4 ms
    _, integrate_wall = median_cpu(solver.run)
    report(name, entry.name, "derive_compile_s", cpu, error)
    report(name, entry.name, "derive_compile_wall_s", wall, error)
    report(name, entry.name, "integrate_s", integrate_cpu, error)
    report(name, entry.name, "integrate_wall_s", integrate_wall, error)
    report(name, entry.name, "total_s", cpu + integrate_cpu, error)
    report(name, entry.name, "script_s", whole, error)
    for metric, value in found.items():
        report(name, entry.name, metric, value, error)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
