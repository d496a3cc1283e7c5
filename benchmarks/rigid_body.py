"""Steps of the discrete rigid body (Moser and Veselov): how many a second, how much of it outside
native code, what drifts.

    python benchmarks/rigid_body.py [--steps 1000000] [--repeats 3]

Each line is a body of n axes with random inertias and a momentum that turns it by the given angle
in the first step. Seconds are CPU seconds of the process, the median of the repeats. The drift is
the worst over the whole run, at a thousand samples; below it is that of the same map in plain
doubles, with each U made orthogonal to rounding, over fewer steps.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

import dalembert as da
from dalembert.geometry.discrete_rotations import largest_factor

SIZES = (3, 4, 8)
SHARES = (0.02, 0.3)


def body(n: int) -> tuple[Any, Any]:
    """Inertias, and a momentum at the limit of what a step can take."""
    random = np.random.default_rng(n)
    Lambda, values = random.uniform(0.5, 3, n), random.standard_normal((n, n))
    M = values - values.T
    return Lambda, M * largest_factor(Lambda, M)


def plain_doubles(Lambda: Any, M: Any, steps: int) -> dict[str, float]:
    """The drift of the same map with Newton's iteration and products in doubles, M carried on by
    U^T M U.
    """
    n = Lambda.size
    rows, columns = np.triu_indices(n, 1)
    first, Q, U = M.copy(), np.eye(n), np.eye(n)
    energy = np.sum(M**2 / (Lambda[:, None] + Lambda)) / 4
    for _ in range(steps):
        for _ in range(6):
            X = U * Lambda
            operator = np.kron(X.T, np.eye(n)) + np.kron(np.eye(n), X.T)  # on eta, row after row
            picked = operator.reshape(n, n, n, n)[rows, columns]
            matrix = picked[:, rows, columns] - picked[:, columns, rows]
            turn = np.zeros((n, n))
            turn[rows, columns] = np.linalg.solve(matrix, (M - (X - X.T))[rows, columns])
            turn = turn - turn.T
            U = np.linalg.solve(np.eye(n) - turn / 2, (np.eye(n) + turn / 2) @ U)
            if np.max(np.abs(turn)) < 1e-9:
                break
        U = U @ (3 * np.eye(n) - U.T @ U) / 2
        Q, M = Q @ U, U.T @ M @ U
        M = (M - M.T) / 2
    return {
        "orthogonality": float(np.max(np.abs(Q.T @ Q - np.eye(n)))),
        "spatial momentum": float(np.max(np.abs(Q @ M @ Q.T - first)) / np.max(np.abs(first))),
        "energy": float(abs(np.sum(M**2 / (Lambda[:, None] + Lambda)) / 4 / energy - 1)),
    }


def main() -> None:
    reader = argparse.ArgumentParser(description="Steps of the discrete rigid body.")
    reader.add_argument("--steps", type=int, default=1_000_000)
    reader.add_argument("--repeats", type=int, default=3)
    reader.add_argument(
        "--plain", type=int, default=10_000, help="steps of the map in plain doubles"
    )
    options = reader.parse_args()
    da.lie.discrete_rigid_body([1.0, 2.0], np.zeros((2, 2)), steps=1)  # compiles
    for n in SIZES:
        Lambda, limit = body(n)
        for share in SHARES:
            times, motion = [], None
            for _ in range(options.repeats):
                begun = time.process_time()
                every = max(options.steps // 1000, 1)
                motion = da.lie.discrete_rigid_body(
                    Lambda, share * limit, steps=options.steps, every=every
                )
                times.append(time.process_time() - begun)
            assert motion is not None
            used = motion.statistics
            turned = np.degrees(
                np.max(np.abs(np.angle(np.linalg.eigvals(_first_rotation(Lambda, share * limit)))))
            )
            outside = 1 - used["native_seconds"] / used["seconds"]
            drift = "  ".join(f"{name} {value:.1e}" for name, value in motion.drift().items())
            speed, corrections = (
                options.steps / statistics.median(times),
                used["corrections"] / options.steps,
            )
            print(
                f"n = {n}, {turned:5.1f} degrees a step: {speed:10,.0f} steps/s, outside"
                f" {outside:.2%}"
            )
            print(f"    {corrections:.2f} corrections a step")
            print(f"    drift over {options.steps:,} steps: {drift}")
            plain = plain_doubles(Lambda, share * limit, options.plain)
            print(
                f"    in plain doubles over {options.plain:,}:  "
                + "  ".join(f"{k} {v:.1e}" for k, v in plain.items())
            )


def _first_rotation(Lambda: Any, M: Any) -> Any:
    return da.lie.discrete_rigid_body(Lambda, M, steps=1).Q[1]


if __name__ == "__main__":
    main()
