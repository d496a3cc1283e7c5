"""Feedback from random starts: Brockett's form on so(n) by its algorithm, and the knife edge by
loops.

    python benchmarks/so_stabilisation.py [--starts 50] [--largest 8] [--knife 200]

For each n, and each way to seed x again: the passes that were used (at most n // 2), the largest
norm at the end, the largest change of the eigenvalues of Y^T Y in step 1, and the time that all
starts took.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import dalembert as da


def so(n: int, starts: int, seed: str) -> str:
    random = np.random.default_rng(n)
    began = time.perf_counter()
    found = []
    for number in range(starts):
        square = random.normal(size=(n, n))
        found.append(
            da.control.stabilise_so(
                random.normal(size=n), square - square.T, seed=seed, random=number
            )
        )
    passes = [len(one.passes) for one in found]
    kept = max(
        float(np.abs(p.aligned - p.before).max() / p.before[0]) for one in found for p in one.passes
    )
    return (
        f"n = {n}, {seed:11s}: {sum(one.success for one in found)} of {starts} arrived, passes"
        f" {min(passes)} to {max(passes)} (limit {n // 2}), largest norm"
        f" {max(one.final_norm for one in found):.1e}, spectrum kept to {kept:.0e},"
        f" {time.perf_counter() - began:.1f} s"
    )


def knife_edge(starts: int) -> str:
    z1, z2, z3, z4, z5 = symbols = da.coordinates("z1 z2 z3 z4 z5")
    u1, u2 = da.inputs("u1 u2")
    flow = da.Flow(
        {z1: z4, z2: z5, z3: -z1 * z5, z4: u1 + u2 * z3 - z1 * z5**2, z5: u2}, inputs=[u1, u2]
    )
    plan = da.control.fibration(flow)
    began = time.perf_counter()
    norms = []
    for start in np.random.default_rng(0).uniform(-3, 3, (starts, 5)):
        norms.append(
            da.control.stabilise_by_loops(plan, dict(zip(symbols, start, strict=True))).norms[-1]
        )
    arrived = sum(norm < 1e-6 for norm in norms)
    return (
        f"knife edge: {arrived} of {starts} below 1e-6, largest {max(norms):.1e},"
        f" {time.perf_counter() - began:.1f} s"
    )


def main() -> None:
    reader = argparse.ArgumentParser(description="Feedback from random starts.")
    reader.add_argument("--starts", type=int, default=50)
    reader.add_argument("--largest", type=int, default=8)
    reader.add_argument("--knife", type=int, default=200)
    options = reader.parse_args()
    print(knife_edge(options.knife))
    for n in range(3, options.largest + 1):
        for seed in ("eigenvector", "random"):
            print(so(n, options.starts, seed), flush=True)


if __name__ == "__main__":
    main()
