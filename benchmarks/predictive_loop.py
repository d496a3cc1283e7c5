"""A cart balances a double pendulum by plans at every sample, with noise and delay, many times.

    python benchmarks/predictive_loop.py [--runs 100] [--seconds 3]

Positions are measured with noise, an extended Kalman filter estimates the state, a plan of 30
periods of 20 ms is improved at every sample (one quadratic program), commands take effect 8 ms
later, and a random force acts on the cart. One thread; processor time per second of closed loop.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sympy import cos, sin

import dalembert as da

PERIOD, DELAY, HORIZON = 0.02, 0.008, 30


def cart() -> da.System:
    """1 kg with two rods of 0.3 kg and 0.5 m, whose angles are measured from upright."""
    x, a, b = da.coordinates("x a b")
    u = da.inputs("u")
    m, length, g = 0.3, 0.5, 9.81
    first = (x + length / 2 * sin(a), length / 2 * cos(a))
    second = (x + length * sin(a) + length / 2 * sin(b), length * cos(a) + length / 2 * cos(b))
    rates = {x: x.dot, a: a.dot, b: b.dot}

    def speed(point: tuple[da.typing.Expression, da.typing.Expression]) -> da.typing.Expression:
        return sum(sum(e.diff(q) * v for q, v in rates.items()) ** 2 for e in point)

    kinetic = x.dot**2 / 2 + m / 2 * (speed(first) + speed(second))
    kinetic += m * length**2 / 24 * (a.dot**2 + b.dot**2)
    return da.System(
        [x, a, b], kinetic=kinetic, potential=m * g * (first[1] + second[1]), forces={x: u},
        inputs=[u], name="cart with double pendulum",
    )  # fmt: skip


def loop(system: da.System) -> da.control.SampledLoop:
    """The filter and the plan."""
    noise = {"x": 0.001, "a": 0.002, "b": 0.002}
    seen = da.control.kalman_filter(
        system, PERIOD, list(system.coordinates), noise=noise, process={"u": 0.5}, delay=DELAY,
        spread={"x": 0.1, "a": 0.1, "b": 0.1, "x_dot": 0.1, "a_dot": 0.1, "b_dot": 0.1},
    )  # fmt: skip
    return da.control.mpc(
        system, PERIOD, HORIZON, {}, weights={"x": 5, "a": 20, "b": 20}, effort=0.02,
        bounds={"u": (-30, 30), "x": (-1, 1)}, delay=DELAY, estimator=seen,
        noise={**noise, "u": 0.5}, seed=1,
    )  # fmt: skip


def main() -> None:
    """Run and print."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--runs", type=int, default=100)
    options.add_argument("--seconds", type=float, default=3.0)
    given = options.parse_args()
    system = cart()
    law = loop(system)
    da.simulate(system, {"a": 0.05}, (0, 0.1), inputs=law)
    draw = np.random.default_rng(0)
    starts = {
        "x": draw.uniform(-0.2, 0.2, given.runs),
        "a": draw.uniform(-0.08, 0.08, given.runs),
        "b": draw.uniform(-0.08, 0.08, given.runs),
    }
    began = time.process_time()
    runs = da.simulate(system, starts, (0, given.seconds), inputs=law, workers=1)
    spent = time.process_time() - began
    final = np.max(np.abs([runs.final["a"], runs.final["b"]]), axis=0)
    samples = given.runs * given.seconds / PERIOD
    print(f"{given.runs} runs of {given.seconds:g} s: {np.sum(final < 0.1)} upright at the end")
    print(f"{spent:.2f} s of processor time, {spent / given.runs / given.seconds:.4f} per second")
    print(f"{1e3 * spent / samples:.2f} ms per sample (period {1e3 * PERIOD:g} ms)")
    off = np.max(np.abs(runs.final["x"]))
    print(f"largest angle at the end {np.max(final):.3f}, position {off:.3f}")


if __name__ == "__main__":
    main()
