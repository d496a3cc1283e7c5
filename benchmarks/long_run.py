"""What rounding does to a motion of very many steps: ``python benchmarks/long_run.py [STEPS]
[--method rattle2]``.

A particle in the central well V = r^2/2 + r^4/4, by Verlet's method (`rattle2`), 10^8 steps unless
told otherwise. The method keeps the angular momentum exactly, so that its error is rounding alone;
the energy oscillates within a bound that belongs to the step. A thousand states are stored, so that
a run of any length needs the same few hundred kilobytes; the time of step n is t0 + n h, not a sum.
Beside it stands the same method in a loop that adds its increments without compensation.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np

import dalembert as da
from dalembert.codegen.native.language import Reals, native
from dalembert.codegen.native.native_module import NativeModule

STEP, STORED = 0.02, 1000
START = {"x": 1.0, "y": 0.3, "x_dot": -0.2, "y_dot": 0.9}
BEGINNING = tuple(START.values())


@native
def plain_verlet(count: int, every: int, h: float, state: Reals, out: Reals) -> None:
    """Verlet's method for V = r^2/2 + r^4/4 with plain sums; out (count/every, 4) <- every so many
    states.
    """
    x, y, u, v = state[0], state[1], state[2], state[3]
    field = -1.0 - (x * x + y * y)
    for k in range(count):
        u += h / 2.0 * (field * x)
        v += h / 2.0 * (field * y)
        x += h * u
        y += h * v
        field = -1.0 - (x * x + y * y)
        u += h / 2.0 * (field * x)
        v += h / 2.0 * (field * y)
        if (k + 1) % every == 0:
            row = out + ((k + 1) // every - 1) * 4
            row[0], row[1], row[2], row[3] = x, y, u, v


def plain_run(count: int, start: Any = BEGINNING, every: int | None = None) -> Any:
    """States (stored, 4) of the plain loop."""
    between = every or max(1, count // STORED)
    out = np.zeros((count // between, 4))
    NativeModule([plain_verlet]).functions["plain_verlet"](
        count, between, STEP, np.array(start, dtype=float), out
    )
    return out


def well() -> da.System:
    """The particle."""
    x, y = da.coordinates("x y")
    square = x**2 + y**2
    return da.System(
        [x, y], kinetic=(x.dot**2 + y.dot**2) / 2, potential=square / 2 + square**2 / 4
    )


def library_run(count: int, method: str = "rattle2", start: Any = None) -> Any:
    """States (stored, 4) of the library, whose sums are compensated."""
    motion = da.simulate(
        well(), START if start is None else start, (0.0, count * STEP), method=method,
        form="lagrange", step=STEP,
        every=max(1, count // STORED), max_steps=count + 1,
    )  # fmt: skip
    if not motion.success:
        raise RuntimeError(motion.message)
    return motion.y.T[1:]


def momentum_error(states: Any, start: Any = BEGINNING) -> Any:
    """The error of the angular momentum, relative."""
    first = start[0] * start[3] - start[1] * start[2]
    return (states[:, 0] * states[:, 3] - states[:, 1] * states[:, 2]) / first - 1


def energy_error(states: Any, start: Any = BEGINNING) -> Any:
    """The error of the energy, relative."""

    def energy(x: Any, y: Any, u: Any, v: Any) -> Any:
        square = x * x + y * y
        return (u * u + v * v) / 2 + square / 2 + square * square / 4

    first = energy(*start)
    return (energy(*states.T) - first) / first


def report(name: str, states: Any, count: int, seconds: float) -> None:
    """One line of results."""
    momentum, energy = momentum_error(states), energy_error(states)
    times = np.linspace(0, count * STEP, len(energy))
    rise = float(np.polyfit(times, energy, 1)[0]) * count * STEP
    print(
        f"{name:<24} {seconds:7.1f} s CPU   energy: largest {np.abs(energy).max():.2e}, rise"
        f" {rise:+.1e}   angular momentum: largest {np.abs(momentum).max():.2e}, last"
        f" {momentum[-1]:+.1e}"
    )


def main() -> None:
    """Both runs, and the memory they took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("steps", type=int, nargs="?", default=10**8)
    parser.add_argument("--method", default="rattle2")
    given = parser.parse_args()
    library_run(1000, given.method)
    for name, run in (
        (given.method, lambda: library_run(given.steps, given.method)),
        ("plain sums", lambda: plain_run(given.steps)),
    ):
        before = time.process_time()
        states = run()
        report(
            f"{name}, {given.steps:.0e} steps", states, given.steps, time.process_time() - before
        )
    print(f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
