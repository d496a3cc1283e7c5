"""Boundary problems on groups and orbits from random pairs: the share that converged, and the cost
where it is known.

    python benchmarks/optimal_control.py [--pairs 100] [--seed 1]

Each row joins random pairs of places in unit time. Where the cost is known in closed form the table
gives the largest relative difference from it:

    rigid body with J = 1    |log(Q_0^T Q_T)|^2 / 2                    rest to rest by torques    6
    |log(Q_0^T Q_T)|^2 sphere                   angle^2 / 2 4 x 2 frames             sum of squared
    principal angles / 4, for ends turned in their planes to be as near to the start as
                             can be; for other ends that is less than the cost, and the table gives
                             how often it was

"conjugate" counts extremals with a conjugate point on the way, "long" those where a long way was
the cheapest found.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import svdvals
from scipy.stats import special_ortho_group

import dalembert as da
from dalembert.control.optimal.rotations import turns
from dalembert.errors import RunError

Pair = tuple[Any, Any]


def rotations(n: int, random: Any) -> Pair:
    return special_ortho_group.rvs(n, random_state=random), special_ortho_group.rvs(
        n, random_state=random
    )


def vectors(n: int, random: Any) -> Pair:
    first, last = random.normal(size=(2, n, 1))
    return first / np.linalg.norm(first), last / np.linalg.norm(last)


def frames(p: int, q: int, random: Any, aligned: bool) -> Pair:
    """Two frames of q orthonormal vectors; aligned where Q_0^T Q_T is symmetric and positive."""
    first, last = (np.linalg.qr(random.normal(size=(p, q)))[0] for _ in range(2))
    if aligned:
        u, _, v = np.linalg.svd(first.T @ last)
        last = last @ (u @ v).T
    elif np.linalg.det(first.T @ last) < 0 and p == q:
        last[:, 0] *= -1
    return first, last


def squared_turn(pair: Pair) -> float:
    return turns(pair[0].T @ pair[1], 1)[0].length ** 2


def squared_angles(pair: Pair) -> float:
    return float(np.sum(np.arccos(np.clip(svdvals(pair[0].T @ pair[1]), -1, 1)) ** 2))


Row = tuple[str, Callable[[Any], Pair], Callable[[Pair], Any], Callable[[Pair], float] | None, bool]


def rows() -> list[Row]:
    """What is run: a name, pairs, the solution, the cost that is known, and whether that is only a
    lower bound.
    """
    found: list[Row] = []
    for n, inertias in ((3, [1, 2, 3]), (4, [1, 2, 3, 4])):
        for name, values in (("J = 1", [0.5] * n), (f"Lambda = {inertias}", inertias)):
            body, torque = da.lie.rigid_body(values), da.control.torque_flow(values)
            known = name == "J = 1"

            def turned(pair: Pair, flow: Any = body) -> Any:
                return da.control.optimal_on_group(flow, *pair, (0, 1))

            def driven(pair: Pair, flow: Any = torque) -> Any:
                return da.control.rest_to_rest(flow, *pair, (0, 1), ways=2)

            def pairs(random: Any, n: int = n) -> Pair:
                return rotations(n, random)

            found.append(
                (
                    f"SO({n}) rigid body, {name}",
                    pairs,
                    turned,
                    (lambda p: squared_turn(p) / 2) if known else None,
                    False,
                )
            )
            found.append(
                (
                    f"SO({n}) rest to rest, {name}",
                    pairs,
                    driven,
                    (lambda p: 6 * squared_turn(p)) if known else None,
                    False,
                )
            )
    for n in (3, 5):
        sphere = da.lie.sphere_flow(n)

        def joined(pair: Pair, flow: Any = sphere) -> Any:
            return da.control.optimal_on_group(flow, *pair, (0, 1))

        def ends(random: Any, n: int = n) -> Pair:
            return vectors(n, random)

        found.append((f"sphere in {n} dimensions", ends, joined, squared_arc, False))
    moved = da.lie.grassmannian_flow(4, 2)

    def carried(pair: Pair) -> Any:
        return da.control.optimal_on_group(moved, *pair, (0, 1))

    found.append(
        (
            "4 x 2 frames, aligned",
            lambda random: frames(4, 2, random, True),
            carried,
            lambda p: squared_angles(p) / 4,
            False,
        )
    )
    found.append(
        (
            "4 x 2 frames, any",
            lambda random: frames(4, 2, random, False),
            carried,
            lambda p: squared_angles(p) / 4,
            True,
        )
    )
    return found


def squared_arc(pair: Pair) -> float:
    first, last = pair[0].ravel(), pair[1].ravel()
    return float(np.arctan2(np.linalg.norm(last - first * (first @ last)), first @ last) ** 2 / 2)


def main() -> None:
    reader = argparse.ArgumentParser(
        description="Boundary problems on groups and orbits from random pairs."
    )
    reader.add_argument("--pairs", type=int, default=100)
    reader.add_argument("--seed", type=int, default=1)
    options = reader.parse_args()
    print(
        f"{'problem':<42} {'converged':>9} {'boundary':>9} {'conjugate':>9} {'long':>5}"
        f" {'cost/known - 1':>15} {'s':>5}"
    )
    for name, pairs, solve, known, is_bound in rows():
        random, began = np.random.default_rng(options.seed), time.perf_counter()
        solved, boundary, conjugate, other, gaps = 0, 0.0, 0, 0, []
        for _ in range(options.pairs):
            pair = pairs(random)
            try:
                extremal = solve(pair)
            except RunError:
                continue
            solved += 1
            boundary = max(boundary, extremal.residual)
            conjugate += not extremal.is_minimum
            other += extremal.branch.startswith("long")
            if known is not None:
                gaps.append(extremal.cost / known(pair) - 1)
        if is_bound:
            said = f">= in {np.mean(np.array(gaps) > -1e-9):.0%}"
        else:
            said = f"{np.max(np.abs(gaps)):.0e}" if gaps else "not known"
        seconds = time.perf_counter() - began
        print(
            f"{name:<42} {solved:>5}/{options.pairs:<3} {boundary:>9.0e} {conjugate:>9} {other:>5}"
            f" {said:>15} {seconds:>5.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
