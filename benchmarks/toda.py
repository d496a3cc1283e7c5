"""The Toda lattice of n particles from its statement to the motion, beside SciPy's `solve_ivp` at
equal error.

    python benchmarks/toda.py [--particles 100] [--repeats 5] [--error 1e-9]

The error is that of the diagonal at the end, against the closed form by factorisation. For each
program the tolerance is lowered by powers of ten until it is reached; the time is then the median
of the repeats. SciPy gets the rates as vectorised NumPy, which is the best that can be done by
hand.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

os.environ["DALEMBERT_CACHE"] = "off"

import numpy as np
from scipy.integrate import solve_ivp

import dalembert as da
from dalembert.geometry.exact_flows import toda_motion


def rates(t: float, y: Any) -> Any:
    """a' = 2 (b_before^2 - b^2), b' = b (a - a_next)."""
    n = (len(y) + 1) // 2
    a, b = y[:n], y[n:]
    square = np.concatenate([[0.0], b * b, [0.0]])
    return np.concatenate([2 * (square[:-1] - square[1:]), b * (a[:-1] - a[1:])])


def reached(run: Callable[[float], Any], exact: Any, error: float) -> tuple[float, float]:
    """The largest tolerance, a power of ten, with which the error is small enough, and the
    error.
    """
    for power in range(5, 15):
        found = float(np.max(np.abs(run(10.0**-power) - exact)))
        if found <= error:
            return 10.0**-power, found
    return 1e-14, found


def main() -> None:
    reader = argparse.ArgumentParser(description="The Toda lattice beside SciPy.")
    reader.add_argument("--particles", type=int, default=100)
    reader.add_argument("--repeats", type=int, default=5)
    reader.add_argument("--error", type=float, default=1e-9)
    options = reader.parse_args()
    n, end = options.particles, 4.0
    random = np.random.default_rng(1)
    a, b = random.normal(size=n), random.uniform(0.3, 0.7, n - 1)
    exact = np.diag(toda_motion(np.diag(a) + np.diag(b, 1) + np.diag(b, -1), [end])[0])
    da.simulate(da.lie.toda(2), {"a_1": 1.0, "b_1": 0.1}, (0, 1))  # the shared loops are compiled

    begun = time.process_time()
    flow = da.lie.toda(n)
    equations = da.derive(flow)
    equations.compile()
    start = dict(zip([q.name for q in flow.coordinates], np.concatenate([a, b]), strict=True))
    da.simulate(equations, start, (0, 1e-6), at=[1e-6])
    made = time.process_time() - begun
    print(
        f"{n} particles, t = {end:g}; stated, derived and compiled in {made:.2f} s of processor"
        " time"
    )

    def ours(tolerance: float) -> Any:
        motion = da.simulate(equations, start, (0, end), rtol=tolerance, at=[end])
        times.append(motion.statistics["integrate_seconds"])
        return motion.y[:n, -1]

    def scipy(tolerance: float) -> Any:
        before = time.perf_counter()
        found = solve_ivp(
            rates, (0, end), np.concatenate([a, b]), "DOP853", rtol=tolerance, atol=tolerance / 100
        )
        times.append(time.perf_counter() - before)
        return found.y[:n, -1]

    medians = {}
    for name, run in (("dalembert", ours), ("scipy DOP853", scipy)):
        times: list[float] = []
        tolerance, error = reached(run, exact, options.error)
        times.clear()
        for _ in range(options.repeats):
            run(tolerance)
        medians[name] = statistics.median(times)
        print(
            f"  {name:14s} rtol {tolerance:.0e}  error {error:.1e}  {medians[name] * 1e3:9.2f} ms"
        )
    print(
        f"  ratio {medians['scipy DOP853'] / medians['dalembert']:.1f}; with compilation, the first"
        f" run costs {made:.2f} s"
    )


if __name__ == "__main__":
    main()
