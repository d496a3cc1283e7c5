"""The gradient of a motion by ten parameters: backward, forward, by differences, and by JAX where
it is installed.

    python benchmarks/gradients.py [--repeats 7]

Each row is one system over the span of its scenario in at least a thousand steps. "plain" is
processor time of one motion; the others are in plain motions, each with the motion that it needs.
Errors are relative to the largest entry: of the backward gradient against the forward one, and
against central differences of two sizes, extrapolated. Where jax and diffrax are installed, one
system is differentiated by them as well, with the same equations (`Equations.to_jax`), a method of
order 8 and steps of the same size; compilation is not counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import dalembert as da

SYSTEMS = (
    "three-planar-bodies",
    "snakeboard-gait",
    "rolling-disk",
    "unicycle-rider",
    "planar-chain",
)
RTOL = 1e-10


def cost(run: Callable[[], Any], repeats: int) -> float:
    """The median processor time of some runs, the first not counted."""
    run()
    spent = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        spent.append(time.process_time() - began)
    return statistics.median(spent)


class Case:
    """One system, and what is differentiated: the square of its first coordinate at the end of the
    motion.
    """

    def __init__(self, name: str) -> None:
        scenario = da.gallery.load(name)
        self.name, self.start = name, dict(scenario.start)
        self.end = min(float(scenario.simulate["span"][1]), 5.0)
        first = da.simulate(scenario, span=(0, self.end), rtol=RTOL)
        self.equations = first.equations
        self.options = {"rtol": RTOL, "max_step": self.end / 1000}
        self.values = dict(first.parameters)
        self.names = [symbol.name for symbol in self.equations.system.parameters][:10]
        self.final = self.equations.system.coordinates[0] ** 2

    def motion(self, values: dict[str, float] | None = None) -> Any:
        return da.simulate(
            self.equations,
            self.start,
            (0, self.end),
            parameters=values or self.values,
            **self.options,
        )

    def backward(self) -> Any:
        return da.analysis.gradient(
            self.equations,
            self.names,
            self.start,
            (0, self.end),
            parameters=self.values,
            final=self.final,
            **self.options,
        )

    def forward(self) -> Any:
        found = da.analysis.sensitivities(
            self.equations,
            self.names,
            self.start,
            (0, self.end),
            parameters=self.values,
            **self.options,
        )
        return found.of(self.final)[:, -1]

    def differences(self) -> Any:
        found = []
        for name in self.names:
            size = 1e-4 * abs(self.values[name] or 1.0)

            def derivative(push: float, name: str = name) -> float:
                ends = [
                    self.motion(self.values | {name: self.values[name] + s * push}).y[0, -1] ** 2
                    for s in (1, -1)
                ]
                return float(ends[0] - ends[1]) / (2 * push)

            found.append((4 * derivative(size / 2) - derivative(size)) / 3)
        return np.array(found)


def row(case: Case, repeats: int) -> None:
    motion, back, ahead = case.motion(), case.backward(), case.forward()
    largest = np.max(np.abs(ahead))
    gap, miss = (
        np.max(np.abs(back.values - other)) / largest for other in (ahead, case.differences())
    )
    plain = cost(case.motion, repeats)
    print(
        f"{case.name:20} {len(case.names):3} {motion.statistics['steps']:6} {1e3 * plain:8.2f} ms"
        f" {cost(case.backward, repeats) / plain:9.2f} {cost(case.forward, repeats) / plain:9.2f}"
        f" {2 * len(case.names):9} {gap:10.1e} {miss:10.1e}"
    )


def by_jax(case: Case, repeats: int) -> None:
    """The same gradient through diffrax: reverse mode with checkpoints."""
    if any(importlib.util.find_spec(name) is None for name in ("jax", "diffrax")):
        print("jax and diffrax are not installed here")
        return
    import diffrax
    import jax

    jax.config.update("jax_enable_x64", True)
    rates = case.equations.to_jax()
    case.start = dict(case.motion().start)  # the state itself, whatever the scenario gives it by
    start = jax.numpy.array([case.start[name] for name in rates.state])
    values = jax.numpy.array([case.values[name] for name in rates.parameters])

    def end(p: Any) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(rates), diffrax.Dopri8(), 0.0, case.end, case.end / 1000, start, args=p,
            max_steps=8192, stepsize_controller=diffrax.ConstantStepSize(),
        )  # fmt: skip
        return solution.ys[-1, 0] ** 2

    plain, derivative = jax.jit(end), jax.jit(jax.grad(end))
    found = np.asarray(derivative(values))[[rates.parameters.index(name) for name in case.names]]
    ours = case.backward().values
    native = cost(case.backward, repeats)
    theirs = cost(lambda: derivative(values).block_until_ready(), repeats)
    alone = cost(lambda: plain(values).block_until_ready(), repeats)
    print(
        f"diffrax on {case.name}: gradient {1e3 * theirs:.1f} ms, {theirs / alone:.1f} of its own"
        f" motions, {theirs / native:.1f} times the time here; difference"
        f" {np.max(np.abs(found - ours)) / np.max(np.abs(ours)):.1e}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    print(
        f"{'system':20} {'by':>3} {'steps':>6} {'plain':>11} {'backward':>9} {'forward':>9}"
        f" {'differ.':>9} {'to forward':>10} {'to differ.':>10}"
    )
    cases = [Case(name) for name in SYSTEMS]
    for case in cases:
        row(case, arguments.repeats)
    by_jax(next(case for case in cases if case.name == "three-planar-bodies"), arguments.repeats)


if __name__ == "__main__":
    main()
