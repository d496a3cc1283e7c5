"""W10: chaos indicators of 4 096 orbits of Henon and Heiles to t = 1000, E = 1/8.

``python benchmarks/w10_chaos.py ENTRY RTOL`` measures one entry at one tolerance: seconds to derive
and compile, seconds for all runs on one core, and the median error of log abs(w), the growth of a
deviation. The driver compares times at equal error, read between the tolerances.

``python benchmarks/w10_chaos.py map`` makes a map of 250 000 orbits on all cores.

The library keeps the exponent and MEGNO, as heyoka does with a tangent by hand and the integral of
its logarithm; from the matrix of `var_ode_sys` follows the exponent alone. heyoka takes as many
orbits at a time as it recommends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from harness import Clock, Entry, Workload, cpu_seconds, median_cpu, report, serve

COUNT, DURATION, CHECKED, ENERGY = 4096, 1000.0, 64, 1 / 8
Task = Callable[[], np.ndarray]


@cache
def starts(count: int = COUNT) -> np.ndarray:
    """(x, y, x', y') of orbits on the section x = 0, (count, 4)."""
    random, found = np.random.default_rng(11), np.zeros((0, 4))
    while len(found) < count:
        y, v = random.uniform(-0.43, 0.67, count), random.uniform(-0.5, 0.5, count)
        square = 2 * ENERGY - v**2 - y**2 + 2 * y**3 / 3
        new = np.array([0 * y, y, np.sqrt(np.maximum(square, 0)), v]).T
        found = np.vstack([found, new[square > 0]])
    return found[:count]


def direction() -> np.ndarray:
    """The deviation with which every run begins, (4,)."""
    from dalembert.integrate.ensemble.indicators import Indicators

    return Indicators(("exponent",)).directions(4)[0]


def rates(y: Any) -> list[Any]:
    """The rates of the orbit and of one deviation, from eight numbers."""
    return [
        y[2], y[3], -y[0] - 2 * y[0] * y[1], -y[1] - y[0] * y[0] + y[1] * y[1],
        y[6], y[7], -y[4] - 2 * (y[0] * y[5] + y[1] * y[4]),
        -y[5] - 2 * y[0] * y[4] + 2 * y[1] * y[5],
    ]  # fmt: skip


def library_map(points: np.ndarray, rtol: float, workers: int | None) -> Any:
    """The ensemble of the library."""
    import dalembert as da

    x, y = da.coordinates("x y")
    system = da.System(
        coordinates=[x, y],
        kinetic=(x.dot**2 + y.dot**2) / 2,
        potential=(x**2 + y**2) / 2 + x**2 * y - y**3 / 3,
    )
    over = dict(zip([x, y, x.dot, y.dot], points.T, strict=True))
    return da.analysis.chaos_indicators(
        system, over, ("exponent", "megno"), paired=True, span=(0.0, DURATION),
        rtol=rtol, atol=rtol, workers=workers,
    )  # fmt: skip


def dalembert(rtol: float) -> Task:
    def run() -> np.ndarray:
        found = library_map(starts(), rtol, 1)
        return np.asarray(found["exponent"][:, -1]) * DURATION

    return run


def _batches(integrator: Any, states: np.ndarray, width: int) -> np.ndarray:
    batches = states.reshape(-1, width, states.shape[1]).transpose(0, 2, 1)
    found = np.empty((len(batches), width, states.shape[1]))
    for k, batch in enumerate(np.ascontiguousarray(batches)):
        integrator.set_time(0.0)
        integrator.state[:] = batch
        integrator.propagate_until(DURATION)
        found[k] = integrator.state.T
    return found.reshape(states.shape)


def heyoka_tangent(rtol: float) -> Task:
    """One tangent by hand, with the integral that MEGNO needs."""
    import heyoka as hy

    hy.llvm_state.set_diskcache_enabled(False)
    width = hy.recommended_simd_size()
    symbols = hy.make_vars(*(f"y{k}" for k in range(8)), "integral")
    tangent = symbols[4:8]
    system = list(zip(symbols, rates(symbols), strict=False))
    system.append((symbols[8], 0.5 * hy.log(hy.sum([w * w for w in tangent]))))
    integrator = hy.taylor_adaptive_batch(system, np.zeros((9, width)), tol=rtol)
    begin = np.hstack([starts(), np.tile(direction(), (COUNT, 1)), np.zeros((COUNT, 1))])

    def run() -> np.ndarray:
        found = _batches(integrator, begin, width)
        growth: np.ndarray = np.log(np.linalg.norm(found[:, 4:8], axis=1))
        _ = 2 * growth - 2 * found[:, 8] / DURATION
        return growth

    return run


def heyoka_variational(rtol: float) -> Task:
    """heyoka's own variational equations by the four initial values."""
    import heyoka as hy

    hy.llvm_state.set_diskcache_enabled(False)
    width = hy.recommended_simd_size()
    symbols = hy.make_vars(*(f"y{k}" for k in range(4)))
    system = list(zip(symbols, rates([*symbols] * 2), strict=False))
    varied = hy.var_ode_sys(system, hy.var_args.vars, order=1)
    integrator = hy.taylor_adaptive_batch(varied, np.zeros((20, width)), tol=rtol)
    begin = np.hstack([starts(), np.tile(np.eye(4).ravel(), (COUNT, 1))])

    def run() -> np.ndarray:
        found = _batches(integrator, begin, width)
        grown = found[:, 4:].reshape(-1, 4, 4) @ direction()
        return np.asarray(np.log(np.linalg.norm(grown, axis=1)))

    return run


def reference() -> np.ndarray:
    """log abs(w) of the first runs, (CHECKED,): DOP853 of SciPy at its tightest, by hand."""
    from scipy.integrate import solve_ivp

    first = np.hstack([starts()[:CHECKED], np.tile(direction(), (CHECKED, 1))])

    def flat_rates(_: float, flat: np.ndarray) -> np.ndarray:
        return np.array(rates(flat.reshape(8, -1))).ravel()

    solved = solve_ivp(
        flat_rates, (0.0, DURATION), first.T.ravel(), method="DOP853", rtol=3e-14, atol=1e-15
    )
    return np.asarray(np.log(np.linalg.norm(solved.y[:, -1].reshape(8, -1)[4:], axis=0)))


STATED, HAND = "Lagrangian", "equations by hand"
ENTRIES = (
    Entry(
        "dalembert", STATED, dalembert,
        ("sympy", "dalembert.integrate.ensemble.sweep", "dalembert.runtime.kernel"),
    ),
    Entry("heyoka-batch-tangent-hand", HAND, heyoka_tangent, ("heyoka",)),
    Entry("heyoka-batch-var_ode_sys", HAND, heyoka_variational, ("heyoka",)),
)  # fmt: skip
LADDER = ("1e-7", "1e-8", "1e-9", "1e-10", "1e-12")
WORKLOAD = Workload(
    key="W10",
    title="4 096 orbits of Henon and Heiles to t = 1000 with chaos indicators, one core",
    script="w10_chaos.py",
    entries=ENTRIES,
    sizes=LADDER,
    quick_sizes=("1e-9",),
    label="rtol",
    by_metric=(
        "derive_compile_s",
        "integrate_s",
        "runs_a_cpu_s",
        "median_error",
        "script_s",
    ),
    shown_size="1e-9",
    equal_error=(1e-6, 1e-7, 1e-8),
)


def measure(entry: Entry, size: str) -> None:
    name = WORKLOAD.row_name(size)
    clock = Clock()
    run = entry.build(float(size))
    found = run()
    cpu, _ = clock.read()
    error = float(np.median(np.abs(found[:CHECKED] - reference())))
    if not error < 1e-2:
        report(name, entry.name, "status", f"wrong: median error {error:.1e}", error)
        return
    seconds, wall = median_cpu(run)
    report(name, entry.name, "derive_compile_s", cpu - seconds, error)
    report(name, entry.name, "integrate_s", seconds, error)
    report(name, entry.name, "integrate_wall_s", wall, error)
    report(name, entry.name, "total_s", cpu, error)
    report(name, entry.name, "runs_a_cpu_s", COUNT / seconds, error)
    report(name, entry.name, "median_error", error, error)
    report(name, entry.name, "script_s", cpu_seconds(), error)


def whole_map() -> None:
    """250 000 orbits at once on all cores."""
    points, began, cpu = starts(250_000), time.perf_counter(), time.process_time()
    found = library_map(points, 1e-8, None)
    wall, spent = time.perf_counter() - began, time.process_time() - cpu
    print(f"{len(found)} orbits: {wall:.1f} s, {spent:.1f} s of processor time, {found.counts}")


if __name__ == "__main__":
    if sys.argv[1:] == ["map"]:
        whole_map()
    else:
        serve(WORKLOAD, measure)
