"""W4: 10 000 disks that roll for 10 s from different starts, final states only, from Lagrangian and
constraints.

``python benchmarks/w4_ensemble.py ENTRY RTOL`` measures one entry at one tolerance: seconds to
derive and compile, seconds for all runs on one core, and the median and largest error of their
final states. Tolerances mean different things to different methods, so the driver compares times at
equal error, read between the tolerances.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from harness import Clock, Entry, Workload, cpu_seconds, median_cpu, report, serve
from w3_model import NAMES, centre_velocity, lagrangian, rates_by_hand, rolling

COUNT, DURATION, CHECKED = 10_000, 10.0, 200
Task = Callable[[], np.ndarray]


@cache
def starts() -> np.ndarray:
    """(x, y, psi, theta, phi, psi', theta', spin) of every run, (COUNT, 8)."""
    random, found = np.random.default_rng(7), np.zeros((COUNT, 8))
    found[:, 3] = random.uniform(0.1, 0.4, COUNT)
    found[:, 5] = random.uniform(-0.8, -0.2, COUNT)
    found[:, 6] = random.uniform(-0.2, 0.2, COUNT)
    found[:, 7] = random.uniform(3.0, 5.0, COUNT)
    return found


def dalembert(rtol: float) -> Task:
    import sympy

    import dalembert as da

    q = da.coordinates(" ".join(NAMES))
    v = [coordinate.dot for coordinate in q]
    rows = [
        da.velocity(row, name=name)
        for row, name in zip(rolling(sympy, q, v), ("roll_x", "roll_y"), strict=True)
    ]
    system = da.System(coordinates=q, lagrangian=lagrangian(sympy, q, v), constraints=rows)
    given = starts().T
    speeds = np.array([given[5], given[6], given[7] - given[5] * np.sin(given[3])])
    values = [*given[:5], *centre_velocity(given[:5], speeds), *speeds]
    start = dict(zip([*q, *v], values, strict=True))

    def run() -> np.ndarray:
        found = da.simulate(
            system,
            start=start,
            span=(0.0, DURATION),
            at=[DURATION],
            method="taylor",
            rtol=rtol,
            atol=rtol,
            workers=1,
        )
        return np.array([np.asarray(found[name])[:, -1] for name in NAMES]).T

    return run


def heyoka_batch(rtol: float) -> Task:
    """heyoka's batch integrator, one object used again and again, on the equations by hand."""
    import heyoka as hy

    hy.llvm_state.set_diskcache_enabled(False)
    width = hy.recommended_simd_size()
    symbols = hy.make_vars(*NAMES, "turn", "fall", "spin")
    system = list(zip(symbols, rates_by_hand(hy.sin, hy.cos, symbols), strict=True))
    integrator = hy.taylor_adaptive_batch(system, np.zeros((8, width)), tol=rtol)
    batches = np.ascontiguousarray(starts().reshape(-1, width, 8).transpose(0, 2, 1))

    def run() -> np.ndarray:
        found = np.empty((len(batches), width, 8))
        for k, batch in enumerate(batches):
            integrator.set_time(0.0)
            integrator.state[:] = batch
            integrator.propagate_until(DURATION)
            found[k] = integrator.state.T
        return found.reshape(-1, 8)[:, :5]

    return run


def heyoka_scalar(rtol: float) -> Task:
    """One trajectory after another with one integrator."""
    import heyoka as hy

    hy.llvm_state.set_diskcache_enabled(False)
    symbols = hy.make_vars(*NAMES, "turn", "fall", "spin")
    system = list(zip(symbols, rates_by_hand(hy.sin, hy.cos, symbols), strict=True))
    integrator = hy.taylor_adaptive(system, np.zeros(8), tol=rtol)

    def run() -> np.ndarray:
        found = np.empty((COUNT, 8))
        for k, start in enumerate(starts()):
            integrator.time = 0.0
            integrator.state[:] = start
            integrator.propagate_until(DURATION)
            found[k] = integrator.state
        return found[:, :5]

    return run


def jax_dopri8(rtol: float) -> Task:
    """diffrax's Dopri8 under vmap, on the equations by hand."""
    import diffrax
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    term = diffrax.ODETerm(lambda t, state, _: jnp.stack(rates_by_hand(jnp.sin, jnp.cos, state)))
    control, final = diffrax.PIDController(rtol=rtol, atol=rtol), diffrax.SaveAt(t1=True)

    def one(state: Any) -> Any:
        solved = diffrax.diffeqsolve(
            term,
            diffrax.Dopri8(),
            0.0,
            DURATION,
            0.01,
            state,
            saveat=final,
            max_steps=10**5,
            stepsize_controller=control,
        )
        return solved.ys[0]

    solve, states = jax.jit(jax.vmap(one)), jnp.asarray(starts())
    return lambda: np.asarray(solve(states).block_until_ready())[:, :5]


def reference() -> np.ndarray:
    """The final q of the first runs, (CHECKED, 5): DOP853 of SciPy at its tightest on the equations
    by hand.
    """
    from scipy.integrate import solve_ivp

    first = starts()[:CHECKED]

    def rates(_: float, flat: np.ndarray) -> np.ndarray:
        return np.array(rates_by_hand(np.sin, np.cos, flat.reshape(8, -1))).ravel()

    solved = solve_ivp(
        rates, (0.0, DURATION), first.T.ravel(), method="DOP853", rtol=3e-14, atol=1e-15
    )
    return np.asarray(solved.y[:, -1].reshape(8, -1)[:5].T)


GENERIC, HAND = "Lagrangian and constraints", "equations by hand"
OURS = (
    "sympy",
    "dalembert.integrate.task",
    "dalembert.integrate.ensemble.ensemble",
    "dalembert.integrate.ensemble.engine",
    "dalembert.formulations.registry",
    "dalembert.runtime.kernel",
)
LADDER = ("1e-7", "1e-8", "1e-9", "1e-10", "1e-12")
ENTRIES = (
    Entry("dalembert", GENERIC, dalembert, OURS),
    Entry("heyoka-batch-reused-hand", HAND, heyoka_batch, ("heyoka",)),
    Entry("heyoka-scalar-reused-hand", HAND, heyoka_scalar, ("heyoka",), sizes=("1e-9",)),
    Entry("jax-hand+diffrax-dopri8", HAND, jax_dopri8, ("jax", "diffrax"), sizes=("1e-9",)),
)
WORKLOAD = Workload(
    key="W4",
    title=(
        "10 000 rolling disks for 10 s: from Lagrangian and constraints to their final states, one"
        " core"
    ),
    script="w4_ensemble.py",
    entries=ENTRIES,
    sizes=LADDER,
    quick_sizes=("1e-9",),
    label="rtol",
    by_metric=(
        "derive_compile_s",
        "integrate_s",
        "runs_a_cpu_s",
        "median_error",
        "largest_error",
        "script_s",
    ),
    shown_size="1e-9",
    equal_error=(1e-8, 1e-9, 1e-10),
)


def measure(entry: Entry, size: str) -> None:
    name = WORKLOAD.row_name(size)
    clock = Clock()
    run = entry.build(float(size))
    found = run()
    cpu, _ = clock.read()
    errors = np.max(np.abs(found[:CHECKED] - reference()), axis=1)
    median, largest = float(np.median(errors)), float(np.max(errors))
    if not largest < 1e-2:
        report(name, entry.name, "status", f"wrong: largest error {largest:.1e}", largest)
        return
    seconds, wall = median_cpu(run)
    report(name, entry.name, "derive_compile_s", cpu - seconds, median)
    report(name, entry.name, "integrate_s", seconds, median)
    report(name, entry.name, "integrate_wall_s", wall, median)
    report(name, entry.name, "total_s", cpu, median)
    report(name, entry.name, "runs_a_cpu_s", COUNT / seconds, median)
    report(name, entry.name, "median_error", median, median)
    report(name, entry.name, "largest_error", largest, median)
    report(name, entry.name, "script_s", cpu_seconds(), median)


if __name__ == "__main__":
    serve(WORKLOAD, measure)
